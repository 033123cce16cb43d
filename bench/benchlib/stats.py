"""The few statistics a cell needs.  A sample list may hold None: a round the cell sat out."""

import math
import statistics


def present(samples):
    return [s for s in samples if s is not None]


def standard_error(values):
    """Standard error of the mean; infinite for fewer than two values."""
    if len(values) < 2:
        return math.inf
    return statistics.stdev(values) / math.sqrt(len(values))


def relative_error(values):
    """Standard error over mean, the measure of when a cell is done."""
    mean = statistics.fmean(values) if values else 0.0
    return standard_error(values) / abs(mean) if mean else math.inf


def paired_ratios(samples, base):
    """samples[i] / base[i] over the rounds in which both were measured."""
    return [s / b for s, b in zip(samples, base) if s is not None and b]


def ratio(samples, base):
    """(median, standard error, pairs) of the ratios within rounds; None without a pair."""
    ratios = paired_ratios(samples, base)
    if not ratios:
        return None
    return statistics.median(ratios), standard_error(ratios), len(ratios)


def differs(new, old, threshold=0.05, errors=2.0):
    """How much larger new is than old, relative to old, if that is more than
    the threshold and more than so many combined standard errors; else None."""
    new, old = present(new), present(old)
    if len(new) < 2 or len(old) < 2:
        return None
    old_median = statistics.median(old)
    gap = statistics.median(new) - old_median
    combined = math.hypot(standard_error(new), standard_error(old))
    if old_median <= 0 or gap <= threshold * old_median or gap <= errors * combined:
        return None
    return gap / old_median
