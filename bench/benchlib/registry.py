"""engines.tsv and workloads.tsv, and what an adapter says about itself."""

import csv
import dataclasses
import functools
import os
import pathlib
import re
import subprocess

from benchlib import paths

TIERS = ("tiny", "quick", "full")
DIRECTIVE = re.compile(r"^\W*bench: (\S+) *(.*?)\W*$")
DIRECTIVE_QUOTED = re.compile(r"^\W*bench: (\S+) (.*?)(?: \*/)?$")


class UsageError(Exception):
    """A request that the registry does not know."""


@dataclasses.dataclass(frozen=True)
class Engine:
    id: str
    label: str
    kind: str
    default: bool
    adapter: pathlib.Path
    root: pathlib.Path = paths.ROOT     # the source tree that "core" means

    def packages(self):
        """Debian packages it needs, for the PostgreSQL of PG_CONFIG."""
        return [p.replace("{major}", server_major()) for p in self.directives().get("package", [])]

    def directives(self):
        """{word: [arguments]} of the adapter's lines "bench: WORD ARGUMENT"."""
        found = {}
        with open(self.adapter, encoding="utf8") as f:
            for line in f:
                match = DIRECTIVE_QUOTED.match(line.rstrip())
                if match:
                    found.setdefault(match[1], []).append(match[2].strip())
                else:
                    match = DIRECTIVE.match(line.rstrip())
                    if match:
                        found.setdefault(match[1], []).append("")
        return found


@dataclasses.dataclass(frozen=True)
class Workload:
    id: str
    kind: str
    label: str
    dictionary: str
    data: str
    operations: tuple
    sizes: dict             # by tier, None where it is left out


@functools.cache
def server_major():
    """"15" of the PostgreSQL that PG_CONFIG describes; "" without one."""
    try:
        version = subprocess.run([os.environ.get("PG_CONFIG", "pg_config"), "--version"], capture_output=True,
                                 text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return ""
    return re.search(r"\d+", version)[0]


def read_table(name):
    with open(paths.BENCH / name, encoding="utf8", newline="") as f:
        lines = (line for line in f if line.strip() and not line.startswith("#"))
        yield from csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)


def adapter_of(engine_id):
    found = sorted(paths.ENGINES.glob(engine_id + ".*"))
    if len(found) != 1:
        raise UsageError(f"engine {engine_id} needs exactly one file {paths.ENGINES.name}/{engine_id}.*")
    return found[0]


def engines():
    return [Engine(f["id"], f["label"], f["kind"], f["default"] == "yes", adapter_of(f["id"]))
            for f in read_table("engines.tsv")]


def workloads():
    result = []
    for f in read_table("workloads.tsv"):
        sizes = {tier: None if f[tier] == "-" else int(f[tier]) for tier in TIERS}
        result.append(Workload(f["id"], f["kind"], f["label"], f["dictionary"], f["data"],
                               tuple(f["operations"].split(",")), sizes))
    return result


def chosen(items, names, default, what):
    """The items named by a comma-separated list, or those that default() accepts."""
    if not names:
        return [item for item in items if default(item)]
    wanted = names.split(",")
    unknown = set(wanted) - {item.id for item in items}
    if unknown:
        raise UsageError(f"unknown {what}: {', '.join(sorted(unknown))}; see bench/bench list")
    return [item for item in items if item.id in wanted]
