"""What a run carries along: tier, limits, where rows go, and what went wrong."""

import contextlib
import dataclasses
import sys
import time

from benchlib import disturb, progress, rows, schedule

SAMPLE_SECONDS = {"tiny": 0.005, "quick": 0.05, "full": 0.2}
LIMITS = {
    "tiny": schedule.Limits(min_rounds=2, max_rounds=2, cell_seconds=1),
    "quick": schedule.Limits(min_rounds=3, max_rounds=10, cell_seconds=0.5),
    "regress": schedule.Limits(min_rounds=6, max_rounds=16, cell_seconds=1),
    "full": schedule.Limits(min_rounds=3, max_rounds=25, cell_seconds=4),
}


@dataclasses.dataclass
class Context:
    tier: str
    writer: rows.Writer
    check_only: bool = False
    rounds: int = 0                 # 0: as the tier says
    ways: tuple = ()
    wrongs: list = dataclasses.field(default_factory=list)
    facts: dict = dataclasses.field(default_factory=dict)
    skips: list = dataclasses.field(default_factory=list)
    phases: dict = dataclasses.field(default_factory=dict)
    progress: object = None
    again: object = None            # function from measured cells to those to measure once more
    started: float = dataclasses.field(default_factory=time.monotonic)

    @property
    def limits(self):
        limits = LIMITS["regress" if self.again and self.tier == "quick" else self.tier]
        if self.rounds:
            return dataclasses.replace(limits, min_rounds=self.rounds, max_rounds=self.rounds,
                                       cell_seconds=float("inf"))
        return limits

    @property
    def sample_seconds(self):
        return SAMPLE_SECONDS[self.tier]

    def measure(self, cells, phase="measure"):
        """Run rounds of cells; once more those of which "again" doubts what came out."""
        with self.phase(phase):
            schedule.run_rounds(cells, self.limits, self.report)
            doubted = self.again(cells) if self.again else []
            for cell in doubted:
                cell.reset()
            if doubted:
                schedule.run_rounds(doubted, self.limits, self.report)

    def report(self, message):
        """Progress and skipped peers, for the person who waits."""
        if message.startswith("skipped") and message not in self.skips:
            self.skips.append(message)
        print(f"{time.monotonic() - self.started:7.1f}  {message}", file=sys.stderr, flush=True)

    def wrong(self, message):
        """An answer that is not the oracle's: the run goes on and fails at its end."""
        self.wrongs.append(message)
        self.report("WRONG " + message)

    def write(self, new_rows):
        if self.writer is not None:
            self.writer.write(new_rows)

    @contextlib.contextmanager
    def phase(self, name):
        """Account for the time of a part: load, start, check, measure."""
        begin = time.monotonic()
        try:
            yield
        finally:
            self.phases[name] = self.phases.get(name, 0.0) + time.monotonic() - begin

    @contextlib.contextmanager
    def dataset(self, workload):
        """Around all of a workload: its mark at the end, unless an answer was wrong, and what it took."""
        begin = time.monotonic()
        ticks = disturb.own_ticks()
        wrongs = len(self.wrongs)
        self.phases = {}
        yield
        seconds = time.monotonic() - begin
        if len(self.wrongs) == wrongs and not self.check_only:
            self.write([progress.mark(workload.id, seconds)])
        cpu = (disturb.own_ticks() - ticks) / disturb.TICKS
        if self.progress is None:
            self.report(f"{workload.id}: {seconds:.0f} s, CPU {cpu:.0f} s")
        else:
            self.progress.done(workload.id, seconds, cpu, self.phases)
