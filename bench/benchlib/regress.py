"""This tree against another commit: both built, both measured in the same rounds."""

import dataclasses
import statistics
import subprocess
import tarfile

from benchlib import building, cli, compare, context, database, decode, match, paths, registry, rows, server, sqlbench, stats

REF = "@ref"
PARTNERS = {"acdat", "acdat_off", "acdat_1114", "acdat_100k", "acdat_v1_1114"}
# Metrics that can be worse; a speed is turned into time first.
JUDGED = ("speed", "time", "wall", "cpu", "row", "publish", "size")
THRESHOLD = 0.05
ERRORS = 2.0


def export(ref):
    """The tree of a commit below build/bench/ref."""
    done = subprocess.run(["git", "rev-parse", "--verify", "--short=12", ref + "^{commit}"], cwd=paths.ROOT,
                          capture_output=True, text=True)
    if done.returncode != 0:
        raise registry.UsageError(f"no commit {ref}")
    commit = done.stdout.strip()
    tree = paths.BUILD / "ref" / commit
    if not tree.exists():
        partial = tree.with_suffix(".partial")
        partial.mkdir(parents=True, exist_ok=True)
        with subprocess.Popen(["git", "archive", commit], cwd=paths.ROOT, stdout=subprocess.PIPE) as archive:
            with tarfile.open(fileobj=archive.stdout, mode="r|") as tar:
                tar.extractall(partial)
        partial.rename(tree)
    return commit, tree


def run_match(workloads, engines, tree, run):
    ours = next((e for e in engines if e.id == "acdat"), None)
    if ours is None:
        return
    theirs = dataclasses.replace(ours, id=ours.id + REF, root=tree)
    oracle = next(e for e in registry.engines() if e.kind == "oracle")
    commands = building.build_all([ours, theirs, oracle], run.report)
    if theirs.id not in commands:       # the interface has changed: its own adapter knows it
        adapter = tree / ours.adapter.relative_to(paths.ROOT)
        if adapter.exists():
            theirs = dataclasses.replace(theirs, adapter=adapter)
            commands |= building.build_all([theirs], run.report)
    if not {ours.id, theirs.id} <= commands.keys():
        raise building.Skip("one of the two cores cannot be built")
    match.run_workloads(workloads, [ours, theirs], commands, run)


def run_server(by_kind, engines, tree, run):
    oracle_engine = next(e for e in registry.engines() if e.kind == "oracle")
    oracle = building.build_all([oracle_engine], run.report)[oracle_engine.id]
    with server.Server(run.report) as new, server.Server(run.report, tree, "pg-ref") as old:
        for home in (new, old):
            database.make_base(home, run)
            if not home.has_acdat:
                raise building.Skip("one of the two extensions cannot be created")
        plugins = []
        for plugin in decode.available([e for e in engines if e.id in PARTNERS], new, run):
            plugins += [plugin, dataclasses.replace(plugin, id=plugin.id + REF, home=old)]
        if by_kind.get("decode"):
            decode.run(by_kind["decode"], engines, [new, old], oracle, run, plugins)
        ours = [e for e in engines if e.id.startswith("sql_acdat")]
        if by_kind.get("sql"):
            sqlbench.run(by_kind["sql"], ours, {"": new, REF: old}, oracle, run)
        if by_kind.get("publish"):
            sqlbench.run_publish(by_kind["publish"], {"": new, REF: old}, run)


def worse(new, old):
    """(relative change of the cost, whether it is worse), from rounds that measured both.

    Worse is a median ratio over 5 % and over two standard errors, of the ratios within rounds and of
    both sides combined.  The best values must show half of it too: load lengthens most runs, seldom all.
    """
    pairs = compare.together(new, old)
    if new.metric == "speed":
        pairs = [(1 / n, 1 / o) for n, o in pairs if n and o]
    pairs = [(n, o) for n, o in pairs if o]
    if not pairs:
        return 0.0, False
    ratios = [n / o for n, o in pairs]
    change = statistics.median(ratios) - 1
    if new.metric == "size":        # counted, not measured: no error
        return change, change > THRESHOLD
    if len(pairs) < 3:
        return change, False
    news, olds = zip(*pairs)
    found = (change > THRESHOLD and change > ERRORS * stats.standard_error(ratios)
             and stats.differs(news, olds, THRESHOLD, ERRORS) is not None
             and min(news) > (1 + THRESHOLD / 2) * min(olds))
    return change, found


def rows_of(cell):
    """The judged metrics of a measured cell."""
    return [row for row in rows.from_cell(cell, dict.fromkeys(JUDGED, "")) if row.counted()]


def suspicious(cells):
    """The cells that look worse than their partners, and these; in the order given."""
    by_key = {(cell.engine, cell.workload): cell for cell in cells}
    doubted = []
    for cell in cells:
        partner = by_key.get((cell.engine + REF, cell.workload))
        if partner is None:
            continue
        theirs = {row.metric: row for row in rows_of(partner)}
        if any(row.metric in theirs and worse(row, theirs[row.metric])[1] for row in rows_of(cell)):
            doubted += [cell, partner]
    return doubted


def compared(all_rows):
    """[(row, relative change, whether worse by the rule)] of every judged cell that has a partner."""
    by_key = {row.key: row for row in all_rows}
    verdicts = []
    for row in all_rows:
        partner = by_key.get((row.dataset, row.engine + REF, row.workload, row.metric))
        if partner is not None and row.metric in JUDGED:
            verdicts.append((row, *worse(row, partner)))
    return verdicts


def run(options):
    tier = options.tier or "quick"
    commit, tree = export(options.ref)
    engines, workloads = cli.selected(options, tier)
    folder = cli.run_folder(options, "regress-")
    ways = tuple(options.ways.split(",")) if options.ways else ()
    running = context.Context(tier, rows.Writer(folder), False, options.rounds, ways)
    running.facts["reference"] = commit
    running.again = suspicious
    by_kind = {}
    for workload in workloads:
        by_kind.setdefault(workload.kind, []).append(workload)
    if "match" in by_kind:
        run_match(by_kind["match"], engines, tree, running)
    if by_kind.keys() & {"decode", "sql", "publish"}:
        run_server(by_kind, engines, tree, running)
    cli.write_facts(running, engines)
    verdicts = compared(rows.read(folder))
    for row, change, worse in sorted(verdicts, key=lambda v: -v[1]):
        print(f"{'WORSE' if worse else '     '}  {change:+7.1%}  {row.dataset} {row.engine} {row.workload} "
              f"{row.metric}{' (' + row.flags + ')' if row.flags else ''}")
    count = sum(worse for _, _, worse in verdicts)
    print(f"{count} of {len(verdicts)} cells worse than {commit} by more than 5 % and two standard errors; "
          f"{len(running.wrongs)} wrong answers")
    if not verdicts:
        print("bench: nothing was compared")
        return 2
    return 1 if count or running.wrongs else 0
