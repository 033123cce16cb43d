"""What rows say about each other: ratios within rounds, the best peer, where we lose."""

import math
import statistics

LOWER_IS_BETTER = {"s", "ms", "ns/row", "MiB", "MB", "instructions", "instructions/byte"}
PEERS = ("match", "decode", "sql")
# The metrics by which an engine is judged, by kind; a peer must be of the same kind.
JUDGED = {"match": ("speed", "time", "size", "memory", "instructions"), "decode": ("wall", "instructions"),
          "sql": ("row", "instructions")}
FLOORS = ("sql_scan", "sql_noop", "sql_read")
NO_PEERS = FLOORS + ("core_automaton",)     # which is a part of ours


def together(*some_rows):
    """Tuples of values of the same round; calm rounds only, if at least two are."""
    there = [(values, any(noise)) for values, noise in
             zip(zip(*(row.samples for row in some_rows)), zip(*(row.disturbed for row in some_rows)))
             if None not in values]
    calm = [values for values, noisy in there if not noisy]
    return calm if len(calm) >= 2 else [values for values, _ in there]


def ratio(row, base):
    """Median of a row's value over another's within rounds; None without a round that has both."""
    ratios = [r / b for r, b in together(row, base) if b] if row and base else []
    return statistics.median(ratios) if ratios else None


def ours(row):
    return row.engine.startswith(("acdat", "sql_acdat"))


def comparable(results, row):
    """Does a row say which engine is better at the same work?"""
    kind = results.kind(row.engine)
    return (ours(row) and row.metric in JUDGED.get(kind, ()) and kind == results.workload_kind(row.dataset))


def peers_of(results, row):
    """Rows of others at the same work."""
    return [other for other in results.same_work(row)
            if not ours(other) and results.kind(other.engine) == results.kind(row.engine)
            and other.engine not in NO_PEERS]


def best_peer(results, row):
    """The best engine of others at a row's work, or None."""
    better = min if row.unit in LOWER_IS_BETTER else max
    return better(peers_of(results, row), key=lambda other: other.value, default=None)


def advantage(row, other):
    """How many times better a row is than another, from pairs of the same round where there are; None for zeros."""
    if not row.value or not other.value:
        return None
    times = ratio(row, other) or row.value / other.value
    return 1 / times if row.unit in LOWER_IS_BETTER else times


def lost(results):
    """[(times worse, row, peer)] for every cell in which a peer is better, worst first."""
    found = []
    for row in results.rows:
        peer = best_peer(results, row) if comparable(results, row) else None
        factor = advantage(row, peer) if peer is not None else None
        if factor is not None and factor < 1:
            found.append((1 / factor, row, peer))
    return sorted(found, key=lambda entry: -entry[0])


def geometric_mean(values):
    values = [v for v in values if v]
    return math.exp(statistics.fmean(map(math.log, values))) if values else None


def share_above(row, floor, peer):
    """The cost above a floor as a share of a peer's, from triples of the same round in which
    the peer is over 5 % above the floor: a share of less is noise.  None without one."""
    if row is None or floor is None or peer is None:
        return None
    shares = [(r - f) / (p - f) for r, f, p in together(row, floor, peer) if p > 1.05 * f]
    return statistics.median(shares) if shares else None


def gap(row, floor):
    """Value above a floor's, from pairs of the same round; None without one."""
    if row is None or floor is None:
        return None
    gaps = [r - f for r, f in together(row, floor)]
    return statistics.median(gaps) if gaps else None
