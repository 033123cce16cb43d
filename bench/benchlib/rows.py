"""The one result format: rows.tsv, with facts.tsv (machine, versions, commit) beside it."""

import csv
import dataclasses
import os
import platform
import statistics
import subprocess
import time

from benchlib import paths, stats


@dataclasses.dataclass
class Row:
    """A cell's metric.  "samples" is by round: None where the cell sat out."""
    dataset: str
    engine: str
    workload: str
    metric: str
    unit: str
    samples: list
    disturbed: list

    def counted(self):
        """The undisturbed values; all of them if fewer than two are."""
        calm = [s for s, d in zip(self.samples, self.disturbed) if s is not None and not d]
        return calm if len(calm) >= 2 else stats.present(self.samples)

    @property
    def value(self):
        return statistics.median(self.counted())

    @property
    def error(self):
        return stats.standard_error(self.counted())

    @property
    def flags(self):
        """"disturbed" if other load cannot be left out, "imprecise" over 5 %, "single" without an error."""
        values = stats.present(self.samples)
        if len(values) < 2:
            return "single" if self.unit in TIMED else ""
        calm = sum(s is not None and not d for s, d in zip(self.samples, self.disturbed))
        flags = ["disturbed"] if calm < 2 else []
        if stats.relative_error(self.counted()) >= 0.05:
            flags.append("imprecise")
        return ",".join(flags)

    @property
    def key(self):
        return self.dataset, self.engine, self.workload, self.metric


TIMED = ("s", "ms", "MiB/s", "rows/s", "ns/row")
COLUMNS = ["dataset", "engine", "workload", "metric", "value", "min", "max", "stderr", "n", "unit",
           "flags", "values"]


def from_cell(cell, units):
    """The rows of a finished cell: one for each metric of "units" that it has."""
    rows = []
    for metric, unit in units.items():
        samples = cell.series(metric)
        if stats.present(samples):
            rows.append(Row(cell.dataset, cell.engine, cell.workload, metric, unit, samples,
                            list(cell.disturbed)))
    return rows


def single(dataset, engine, workload, metric, value, unit):
    """A row of something that is counted, not timed."""
    return Row(dataset, engine, workload, metric, unit, [value], [False])


def number(value):
    return "" if value in (float("inf"), float("-inf")) else f"{value:.6g}" if isinstance(value, float) else str(value)


def exact(value):
    return str(value) if isinstance(value, int) else f"{value:.9g}"


def encode(row):
    values = row.counted()
    listed = " ".join("-" if s is None else exact(s) + ("d" if d else "")
                      for s, d in zip(row.samples, row.disturbed))
    return [row.dataset, row.engine, row.workload, row.metric, exact(row.value), exact(min(values)),
            exact(max(values)), number(row.error), str(len(values)), row.unit, row.flags, listed]


def decode(fields):
    samples = []
    disturbed = []
    for text in fields["values"].split():
        disturbed.append(text.endswith("d"))
        samples.append(None if text == "-" else float(text.rstrip("d")))
    return Row(fields["dataset"], fields["engine"], fields["workload"], fields["metric"],
               fields["unit"], samples, disturbed)


def read(folder):
    with open(folder / "rows.tsv", encoding="utf8", newline="") as f:
        return [decode(fields) for fields in csv.DictReader(f, delimiter="\t", quoting=csv.QUOTE_NONE)]


def read_facts(folder):
    with open(folder / "facts.tsv", encoding="utf8") as f:
        return dict(line.rstrip("\n").split("\t", 1) for line in f if "\t" in line)


class Writer:
    """Appends rows to a run's folder as they are made, so an interrupted run keeps them."""

    def __init__(self, folder):
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / "rows.tsv"
        if not self.path.exists():
            self.path.write_text("\t".join(COLUMNS) + "\n", encoding="utf8")

    def write(self, rows):
        with open(self.path, "a", encoding="utf8") as f:
            for row in rows:
                f.write("\t".join(encode(row)) + "\n")

    def facts(self, facts):
        with open(self.folder / "facts.tsv", "w", encoding="utf8") as f:
            for name, value in facts.items():
                f.write(f"{name}\t{value}\n")


# ---- facts ----

def output(*command):
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True, cwd=paths.ROOT).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def first_match(path, prefix):
    try:
        with open(path, encoding="utf8") as f:
            return next((line.split(":", 1)[1].strip() for line in f if line.startswith(prefix)), "")
    except OSError:
        return ""


def commit():
    """The commit, "-dirty" if a file that could change a result is not as it is there."""
    name = output("git", "describe", "--always", "--abbrev=12")
    changed = output("git", "status", "--porcelain", "--untracked-files=no", "--", ":/", ":(exclude,top)bench/results")
    return name + ("-dirty" if name and changed else "")


def machine_facts():
    """What the figures depend on and no reader could guess."""
    cache = output("getconf", "LEVEL2_CACHE_SIZE")
    return {
        "date": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
        "commit": commit(),
        "processor": first_match("/proc/cpuinfo", "model name") or platform.processor(),
        "cores": str(os.cpu_count()),
        "L2 bytes": cache,
        "memory": first_match("/proc/meminfo", "MemTotal"),
        "kernel": platform.release(),
        "compiler": output("cc", "--version").splitlines()[0] if output("cc", "--version") else "",
        "rust": output("rustc", "--version"),
        "python": platform.python_version(),
        "pressure information": str(os.path.exists("/proc/pressure/cpu")),
    }


def package_versions(packages):
    """{package: version} of the Debian packages that are installed."""
    versions = {}
    for package in packages:
        version = output("dpkg-query", "-W", "-f=${Version}", package)
        if version:
            versions[package] = version
    return versions
