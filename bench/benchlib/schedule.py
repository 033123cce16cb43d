"""Interleaved rounds: every cell once a round, in an order that rotates."""

import dataclasses
import time

from benchlib import disturb, stats

FEWEST = 3          # samples for an error worth giving ...
SLOW_FACTOR = 4     # ... two if they take many times a cell's time
SLOWEST_FACTOR = 10


@dataclasses.dataclass(frozen=True)
class Limits:
    """When a cell is done: precise enough, or out of time."""
    min_rounds: int
    max_rounds: int
    cell_seconds: float
    target_error: float = 0.05


@dataclasses.dataclass
class Cell:
    """One thing measured: an engine at a workload.

    measure() returns {metric: value}; the metric named by "judge" decides when
    the cell is done.  samples holds one entry a round, None where it sat out.
    """
    dataset: str
    engine: str
    workload: str
    judge: str
    measure: object
    samples: list = dataclasses.field(default_factory=list)
    disturbed: list = dataclasses.field(default_factory=list)
    spent: float = 0.0
    failure: str = ""

    def preload(self, sample, seconds, disturbed=False):
        """Take what was measured already, by the check of answers, as the first round's sample."""
        self.samples.append(sample)
        self.disturbed.append(disturbed)
        self.spent += seconds

    def reset(self):
        """Forget what was measured."""
        self.samples = []
        self.disturbed = []
        self.spent = 0.0

    def series(self, metric):
        """The values of a metric by round."""
        return [None if s is None else s.get(metric) for s in self.samples]

    def judged(self):
        """Values that count for being done: the undisturbed ones."""
        pairs = zip(self.series(self.judge), self.disturbed)
        return [value for value, disturbed in pairs if value is not None and not disturbed]

    def done(self, limits):
        if self.failure:
            return True
        measured = len(stats.present(self.samples))
        for factor, fewest in ((1, FEWEST), (SLOW_FACTOR, 2), (SLOWEST_FACTOR, 1)):
            if self.spent >= factor * limits.cell_seconds and measured >= fewest:
                return True
        if len(self.judged()) < limits.min_rounds:
            return False
        return stats.relative_error(self.judged()) < limits.target_error


def rotated(items, round_number):
    """The items, starting one further each round."""
    if not items:
        return []
    start = round_number % len(items)
    return items[start:] + items[:start]


def fill(cells, rounds):
    """Keep the lists in step, so that rounds pair."""
    for cell in cells:
        while len(cell.samples) < rounds:
            cell.samples.append(None)
            cell.disturbed.append(False)


def run_rounds(cells, limits, report=lambda message: None):
    """Measure the cells until all are done.  Warm-up is the caller's."""
    first = max((len(cell.samples) for cell in cells), default=0)
    fill(cells, first)
    for round_number in range(first, limits.max_rounds):
        active = [cell for cell in rotated(cells, round_number) if not cell.done(limits)]
        if not active:
            break
        for cell in active:
            begin = time.monotonic()
            sample = None
            with disturb.Watch() as watch:
                try:
                    sample = cell.measure()
                except (OSError, ValueError, RuntimeError) as error:
                    cell.failure = str(error)
                    report(f"{cell.dataset} {cell.engine} {cell.workload}: {error}")
            cell.spent += time.monotonic() - begin
            cell.samples.append(sample)
            cell.disturbed.append(watch.disturbed)
        fill(cells, round_number + 1)
