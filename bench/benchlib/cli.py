"""The command line; its help texts are the reference."""

import argparse
import fcntl
import pathlib
import re
import signal
import sys
import time

from benchlib import building, context, filejob, match, paths, progress, registry, rows, setup, words

DESCRIPTION = """\
Measure acdat_decoder against its peers: matchers, logical decoding, SQL.

  bench setup               install the peers and word lists (Debian packages)
  bench list                engines, workloads, and the sizes of the tiers
  bench check               only compare every answer with the oracle (tier tiny)
  bench quick               everything in about 10 minutes: rough figures
  bench run                 everything, full sizes: the figures of a release
  bench counts              user-space instructions instead of time: survives noise
  bench report              Markdown tables and SVG charts from the rows of a run
  bench regress --ref REF   this tree against another commit; exit 1 if worse
"""
EPILOG = """\
Rows go to build/bench/results/NAME/rows.tsv, facts about the machine beside
them.  PG_CONFIG chooses the PostgreSQL (default: pg_config); the bench copies
it and installs only into the copy.  Exit: 0 good, 1 a wrong answer or a
regression, 2 a request that makes no sense.
"""


def parse(arguments):
    parser = argparse.ArgumentParser(prog="bench/bench", description=DESCRIPTION, epilog=EPILOG,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    selection = argparse.ArgumentParser(add_help=False)
    selection.add_argument("--kind", help="only match, file, decode, sql or publish (comma-separated)")
    selection.add_argument("--engines", help="only these engine ids (comma-separated)")
    selection.add_argument("--workloads", help="only these workload ids (comma-separated)")
    selection.add_argument("--ways", help="decode only: peek, recvlogical, receiver (comma-separated)")
    selection.add_argument("--name", help="name of the run's folder (default: the time)")
    selection.add_argument("--track", action="store_true",
                           help="write to bench/results/VERSION/, to be committed as the results of a release")
    timed = argparse.ArgumentParser(add_help=False, parents=[selection])
    timed.add_argument("--rounds", type=int, default=0, help="exactly so many rounds a cell")
    timed.add_argument("--resume", action="store_true",
                       help="go on with a stopped run (the newest, or --name): what it completed is not repeated")
    tiered = argparse.ArgumentParser(add_help=False)
    tiered.add_argument("--tier", choices=registry.TIERS, help="sizes and time a cell (default: by command)")

    commands.add_parser("setup", help="install peers and word lists")
    commands.add_parser("list", help="show engines and workloads")
    commands.add_parser("check", parents=[selection, tiered], help="compare answers, time nothing")
    commands.add_parser("quick", parents=[timed], help="the quick tier")
    commands.add_parser("run", parents=[timed, tiered], help="the full tier")
    commands.add_parser("counts", parents=[selection], help="instruction counts on small sizes")
    report = commands.add_parser("report", help="write tables and charts")
    report.add_argument("results", nargs="*", type=pathlib.Path,
                        help="folders of rows (default: the newest run)")
    report.add_argument("--out", type=pathlib.Path, default=paths.BUILD / "report", help="folder to write to")
    regress = commands.add_parser("regress", parents=[timed, tiered], help="compare with another commit")
    regress.add_argument("--ref", required=True, help="the commit, branch or tag to compare with")
    return parser.parse_args(arguments)


def selected(options, tier):
    """(engines, workloads) of the request, by tier."""
    kinds = options.kind.split(",") if options.kind else ["match", "file", "decode", "sql", "publish"]
    engines = registry.chosen(registry.engines(), options.engines, lambda e: e.default, "engine")
    if options.engines:
        engines += [e for e in registry.engines() if e.kind in ("oracle", "floor") and e not in engines]
    workloads = registry.chosen(registry.workloads(), options.workloads, lambda w: True, "workload")
    return engines, [w for w in workloads if w.kind in kinds and w.sizes[tier] is not None]


def run_folder(options, prefix=""):
    """Where the rows of this run go; a name used before would mix two runs."""
    name = options.name or prefix + time.strftime("%Y%m%d-%H%M%S")
    if options.track:
        control = (paths.ROOT / "acdat_decoder.control").read_text(encoding="utf8")
        version = re.search(r"^default_version *= *'(.*)'", control, re.M)[1]
        name = options.name or prefix.rstrip("-") or "run"
        folder = paths.TRACKED / version / name
    else:
        folder = paths.RUNS / name
    if getattr(options, "resume", False):
        if not options.name and not options.track:
            folder = newest_run()
        if not (folder / "rows.tsv").exists():
            raise registry.UsageError(f"{folder.relative_to(paths.ROOT)} has nothing to go on with")
        return folder
    if (folder / "rows.tsv").exists():
        raise registry.UsageError(f"{folder.relative_to(paths.ROOT)} has results already")
    return folder


def newest_run():
    runs = sorted((f.parent for f in paths.RUNS.glob("*/rows.tsv")), key=lambda f: (f / "rows.tsv").stat().st_mtime)
    if not runs:
        raise registry.UsageError("no results yet: bench/bench quick")
    return runs[-1]


def resumed(run, workloads):
    """The workloads that a stopped run has not completed, whose facts must be those of this one."""
    before = rows.read_facts(run.writer.folder)
    now = {"commit": rows.machine_facts()["commit"], "tier": run.tier} | run.facts
    for name, value in now.items():
        if before.get(name) != value:
            raise registry.UsageError(f"the stopped run has another {name}: {before.get(name)}, not {value}")
    complete = progress.resume(run.writer.folder)
    return [w for w in workloads if w.id not in complete]


def write_facts(run, engines):
    facts = rows.machine_facts()
    facts["tier"] = run.tier
    facts["dictionary of 1,114 terms"] = words.flavour()
    facts |= run.facts
    packages = list(words.PACKAGES) + [p for e in engines for p in e.packages()]
    for package, version in rows.package_versions(sorted(set(packages))).items():
        facts[f"package {package}"] = version
    for crate in sorted({c for e in engines for c in e.directives().get("crate", [])}):
        facts[f"crate {crate.split()[0]}"] = crate.split('"')[1].lstrip("=")
    facts["wrong answers"] = str(len(run.wrongs))
    for number, message in enumerate(run.skips, 1):
        facts[f"note {number}"] = message
    run.writer.facts(facts)


def run_kinds(run, engines, workloads):
    """Every kind of workload that the selection holds."""
    by_kind = {}
    for workload in workloads:
        by_kind.setdefault(workload.kind, []).append(workload)
    if "match" in by_kind:
        match.run(by_kind["match"], engines, run)
    if "file" in by_kind:
        filejob.run(by_kind["file"], engines, run)
    if by_kind.keys() & {"decode", "sql", "publish"}:
        from benchlib import database
        database.run(by_kind, engines, run)


def selection_fact(options):
    parts = [f"{name} {getattr(options, name)}" for name in ("engines", "ways", "rounds")
             if getattr(options, name, None)]
    return ", ".join(parts) or "all engines"


def measure(options, tier, check_only=False):
    engines, workloads = selected(options, tier)
    writer = rows.Writer(run_folder(options))
    ways = tuple(options.ways.split(",")) if options.ways else ()
    run = context.Context(tier, writer, check_only, getattr(options, "rounds", 0), ways)
    run.facts["selection"] = selection_fact(options)
    if getattr(options, "resume", False):
        workloads = resumed(run, workloads)
    run.progress = progress.Progress(tier, workloads, run.report)
    write_facts(run, engines)
    run_kinds(run, engines, workloads)
    write_facts(run, engines)
    if not check_only:
        print(writer.folder.relative_to(paths.ROOT))
    for message in run.wrongs:
        print(f"wrong answer: {message}", file=sys.stderr)
    print(f"{len(run.wrongs)} wrong answers, {len(run.skips)} peers or cells skipped")
    return 1 if run.wrongs else 0


def show_list():
    print("engine\tkind\tdefault\tlabel")
    for e in registry.engines():
        print(f"{e.id}\t{e.kind}\t{'yes' if e.default else 'no'}\t{e.label}")
    print("\nworkload\tkind\t" + "\t".join(registry.TIERS) + "\tlabel")
    for w in registry.workloads():
        sizes = "\t".join("-" if w.sizes[t] is None else str(w.sizes[t]) for t in registry.TIERS)
        print(f"{w.id}\t{w.kind}\t{sizes}\t{w.label}")
    return 0


def only_run():
    """Two runs in one tree would disturb each other and share files; kept open until the end."""
    paths.BUILD.mkdir(parents=True, exist_ok=True)
    lock = open(paths.BUILD / ".lock", "w", encoding="ascii")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise registry.UsageError("another run is using this tree") from None
    return lock


def dispatch(options):
    if options.command == "setup":
        return setup.install()
    if options.command == "list":
        return show_list()
    if options.command == "check":
        return measure(options, options.tier or "tiny", check_only=True)
    if options.command == "quick":
        return measure(options, "quick")
    if options.command == "run":
        return measure(options, options.tier or "full")
    if options.command == "counts":
        from benchlib import counts
        return counts.run(options)
    if options.command == "regress":
        from benchlib import regress
        return regress.run(options)
    from benchlib import report
    return report.write(options.results, options.out)


def main(arguments):
    options = parse(arguments)
    signal.signal(signal.SIGTERM, signal.default_int_handler)     # so that servers are stopped
    try:
        lock = only_run() if options.command in ("check", "quick", "run", "counts", "regress") else None
        try:
            return dispatch(options)
        finally:
            if lock is not None:
                lock.close()
    except (registry.UsageError, words.MissingData, building.Skip) as problem:
        print(f"bench: {problem}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
