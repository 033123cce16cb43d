"""How long a run takes: what is expected from earlier runs, and what a stopped run has done."""

from benchlib import paths, rows

MARK = ("", "bench", "elapsed")     # engine, workload, metric of the row that ends a dataset


def mark(dataset, seconds):
    """The row that says a dataset is complete, and how long it took."""
    return rows.single(dataset, *MARK, round(seconds, 1), "s")


def finished(all_rows):
    """{dataset: seconds} of the datasets that are complete."""
    return {row.dataset: row.value for row in all_rows if (row.engine, row.workload, row.metric) == MARK}


def earlier(tier):
    """{dataset: seconds} by the newest run of the tier with all engines, releases first."""
    folders = [f.parent for base in (paths.TRACKED, paths.RUNS) for f in base.rglob("facts.tsv")]
    expected = {}
    for folder in sorted(folders, key=lambda f: (paths.RUNS in f.parents, (f / "facts.tsv").stat().st_mtime)):
        facts = rows.read_facts(folder)
        if facts.get("tier") == tier and facts.get("selection") == "all engines" and (folder / "rows.tsv").exists():
            expected |= finished(rows.read(folder))
    return expected


class Progress:
    """Says after each dataset how much is left."""

    def __init__(self, tier, workloads, report):
        self.left = {w.id: w for w in workloads}
        self.expected = earlier(tier)
        self.report = report
        self.report("expected: " + self.text())

    def text(self):
        """Seconds by kind, e.g. "match 300 s, decode 800 s and 2 unknown"."""
        parts = []
        for kind in dict.fromkeys(w.kind for w in self.left.values()):
            of_kind = [w.id for w in self.left.values() if w.kind == kind]
            known = [self.expected[i] for i in of_kind if i in self.expected]
            unknown = f" and {len(of_kind) - len(known)} unknown" if len(known) < len(of_kind) else ""
            parts.append(f"{kind} {sum(known):.0f} s{unknown}")
        return ", ".join(parts) or "nothing"

    def done(self, dataset, seconds, cpu, phases):
        self.left.pop(dataset, None)
        before = f" (expected {self.expected[dataset]:.0f} s)" if dataset in self.expected else ""
        spent = ", ".join(f"{name} {value:.0f}" for name, value in phases.items())
        self.report(f"{dataset}: {seconds:.0f} s{before}, CPU {cpu:.0f} s; {spent}; left: {self.text()}")


def resume(folder):
    """Drop the rows of what a stopped run had not completed; the datasets it had."""
    there = rows.read(folder)
    complete = finished(there)
    (folder / "rows.tsv").unlink()
    rows.Writer(folder).write([row for row in there if row.dataset in complete])
    return set(complete)
