"""Markdown tables and SVG charts from rows; nothing here is typed by hand."""

import math

from benchlib import cli, compare, progress, registry, rows, svg

SAME_OUTPUT = "wal2json_v2"
PAYLOAD, PAYLOAD_V1, ONE_BYTE = "floor_payload", "floor_payload_v1", "floor_one_byte"
NOOP, READ = "sql_noop", "sql_read"


class Page:
    """A Markdown page being written, and its charts."""

    def __init__(self, folder, title):
        self.folder = folder
        self.lines = [f"# {title}", ""]

    def add(self, *lines):
        self.lines += lines

    def heading(self, text):
        self.add("", f"## {text}", "")

    def table(self, head, body):
        self.add("| " + " | ".join(head) + " |", "|" + "|".join(["---"] + ["--:"] * (len(head) - 1)) + "|")
        self.lines += ["| " + " | ".join(line) + " |" for line in body]
        self.add("")

    def chart(self, name, title, unit, entries):
        (self.folder / f"{name}.svg").write_text(svg.bars(title, unit, entries), encoding="utf8")
        self.add(f"![{title}]({name}.svg)", "")

    def write(self, name):
        (self.folder / name).write_text("\n".join(self.lines).rstrip() + "\n", encoding="utf8")


class Results:
    """The rows of a run by their key, with the registry's labels."""

    def __init__(self, all_rows):
        self.rows = all_rows
        self.by_key = {row.key: row for row in all_rows}
        self.by_work = {}
        for row in all_rows:
            self.by_work.setdefault((row.dataset, row.workload, row.metric), []).append(row)
        self.engines = {e.id: e for e in registry.engines()}
        self.workloads = {w.id: w for w in registry.workloads()}

    def get(self, *key):
        return self.by_key.get(key)

    def label(self, engine):
        return self.engines[engine].label if engine in self.engines else engine

    def kind(self, engine):
        return self.engines[engine].kind if engine in self.engines else ""

    def workload_kind(self, dataset):
        return self.workloads[dataset].kind if dataset in self.workloads else ""

    def same_work(self, row):
        """The rows of all engines with a row's dataset, workload and metric."""
        return self.by_work[row.dataset, row.workload, row.metric]

    def datasets(self, kind):
        """The workloads of a kind that have rows, in the registry's order."""
        there = {row.dataset for row in self.rows}
        return [w for w in self.workloads.values() if w.kind == kind and w.id in there]

    def engines_of(self, dataset):
        there = {row.engine for row in self.rows if row.dataset == dataset}
        return [e for e in self.engines if e in there] + sorted(there - set(self.engines) - {""})


def significant(value):
    if value == 0:
        return "0"
    return f"{value:,.{max(0, 2 - int(math.floor(math.log10(abs(value)))))}f}"


def mark(row):
    """* disturbed by other load, ~ standard error over 5 %, ? measured once."""
    return "".join(sign for sign, flag in (("*", "disturbed"), ("~", "imprecise"), ("?", "single"))
                   if flag in row.flags)


def shown(row):
    return significant(row.value) + mark(row) if row else ""


def ratio_text(row, base):
    """How many times the base's value, from pairs of the same round."""
    return times(compare.ratio(row, base))


def above(row, base):
    """Value above a floor's, from pairs of the same round."""
    value = compare.gap(row, base)
    return "" if value is None else significant(value)


def share_of_cost(row, floor, peer):
    """The cost above a floor as a share of a peer's, from triples of the same round."""
    value = compare.share_above(row, floor, peer)
    return "" if value is None else f"{value:.2f}"


def times(value):
    return "" if value is None else f"{value:.2f}"


# ---- match ----

def match_pages(page, results):
    workloads = results.datasets("match")
    if not workloads:
        return
    page.heading("Matching, MiB/s")
    page.add("CPU time of one thread; medians. `*` disturbed by other load, `~` standard error over 5 %, "
             "`?` one sample.",
             "The limits (memchr, memcpy) match nothing: they say what memory allows.", "")
    for workload in workloads:
        engines = results.engines_of(workload.id)
        operations = [op for op in workload.operations
                      if op != "build" and any(results.get(workload.id, e, op, "speed") for e in engines)]
        has_build = any(results.get(workload.id, e, "build", "time") for e in engines)
        page.add(f"### {workload.label}", "", f"`{workload.id}`", "")
        head = ["engine", *operations] + (["build ms"] if has_build else []) + ["artifact MiB", "build MiB"]
        body = []
        for engine in engines:
            cells = [shown(results.get(workload.id, engine, op, "speed")) for op in operations]
            if has_build:
                cells.append(shown(results.get(workload.id, engine, "build", "time")))
            cells.append(shown(results.get(workload.id, engine, "artifact", "size")))
            cells.append(shown(results.get(workload.id, engine, "build", "memory")))
            body.append([results.label(engine), *cells])
        page.table(head, body)
        operation = "rows-replace" if "rows-replace" in operations else operations[0] if operations else ""
        chart(page, results, workload, operation, "speed", "MiB/s")


def against_peers(page, results):
    """Each match cell of ours against the best peer and against the textbook automaton."""
    body = []
    factors = {}
    for row in results.rows:
        if results.kind(row.engine) != "match" or row.metric not in ("speed", "time"):
            continue
        peer = compare.best_peer(results, row) if compare.comparable(results, row) else None
        if peer is None:
            continue
        best = compare.advantage(row, peer)
        textbook = results.get(row.dataset, "textbook", row.workload, row.metric)
        plain = compare.advantage(row, textbook) if textbook else None
        automaton = results.get(row.dataset, "core_automaton", row.workload, row.metric)
        alone = compare.advantage(row, automaton) if automaton else None
        group = "build" if row.workload == "build" else "scan"
        factors.setdefault((group, "the best peer"), []).append(best)
        factors.setdefault((group, "the textbook automaton"), []).append(plain)
        body.append([row.dataset, row.workload, f"{shown(row)} {row.unit}", results.label(peer.engine),
                     f"{shown(peer)} {peer.unit}", times(best), times(plain), times(alone)])
    if not body:
        return
    page.heading("Matching against the best peer")
    page.add("Times faster than the best peer of that cell, whichever it is, and than the textbook automaton; "
             "below 1 is slower. Medians of the ratios within a round.", "")
    page.table(["geometric mean of ours /", "cells", "times"],
               [[f"{other}, {'time to build' if group == 'build' else 'speed'}", str(len(values)),
                 times(compare.geometric_mean(values))] for (group, other), values in sorted(factors.items(), reverse=True)])
    page.table(["workload", "operation", "ours", "best peer", "its value", "ours / best peer", "ours / textbook",
                "ours / its automaton alone"], body)


def chart(page, results, workload, operation, metric, unit):
    entries = []
    for engine in results.engines_of(workload.id):
        row = results.get(workload.id, engine, operation, metric)
        if row and results.kind(engine) != "limit":
            error = row.error if math.isfinite(row.error) else None
            entries.append((results.label(engine), row.value, error, svg.colour(engine, results.kind(engine))))
    if len(entries) > 1:
        entries.sort(key=lambda entry: entry[1], reverse=unit not in compare.LOWER_IS_BETTER)
        name = f"{workload.id}-{operation.replace(' ', '').replace('+', '-')}"
        page.chart(name, f"{workload.label}: {operation}", unit, entries)


# ---- file ----

def file_pages(page, results):
    for workload in results.datasets("file"):
        lines = results.get(workload.id, "", "lines", "count")
        ours = results.get(workload.id, "acdat_replace", "replace", "time")
        page.heading("From file to file")
        page.add(f"`{workload.id}`: {workload.label}, {int(lines.value):,} lines. Whole programs, building included.", "")
        body = []
        for engine in results.engines_of(workload.id):
            times_of = {m: results.get(workload.id, engine, "replace", m) for m in ("time", "cpu", "memory")}
            if times_of["time"]:
                body.append([results.label(engine), *map(shown, times_of.values()), ratio_text(times_of["time"], ours)])
        page.table(["program", "wall s", "CPU s", "peak MiB", "wall / acdat replace"], body)


# ---- decode ----

def decode_pages(page, results):
    workloads = results.datasets("decode")
    if not workloads:
        return
    page.heading("Logical decoding")
    page.add("Wall seconds and user CPU seconds of the backend; medians. "
             "Above a floor: median of the differences within a round.", "")
    for workload in workloads:
        changes = results.get(workload.id, "", "stream", "changes")
        page.add(f"### {workload.label}", "",
                 f"`{workload.id}`" + (f", {int(changes.value):,} changes" if changes else ""), "")
        for way in workload.operations:
            body = []
            for engine in results.engines_of(workload.id):
                wall = results.get(workload.id, engine, way, "wall")
                if wall is None:
                    continue
                user = results.get(workload.id, engine, way, "user")
                payload = results.get(workload.id, PAYLOAD, way, "wall")
                one_byte = results.get(workload.id, ONE_BYTE, way, "wall")
                body.append([results.label(engine), shown(wall), shown(user),
                             shown(results.get(workload.id, engine, way, "client")),
                             shown(results.get(workload.id, engine, way, "rate")),
                             shown(results.get(workload.id, engine, "stream", "size")),
                             shown(results.get(workload.id, engine, way, "peak")),
                             above(wall, one_byte), above(wall, payload)])
            if body:
                page.add(f"**{way}**", "")
                page.table(["engine", "wall s", "user s", "client s", "rows/s", "MB", "peak MiB",
                            "s above one byte", "s above payload"], body)
        chart(page, results, workload, workload.operations[0], "wall", "s")


def against_wal2json(page, results):
    """Ratios of wall time to the plugin whose output ours is, byte for byte."""
    body = []
    engines = ["acdat_off", "acdat_1114", "acdat_100k", "pipe_perl", "pipe_python", "pgoutput", "floor_payload"]
    for workload in results.datasets("decode"):
        for way in workload.operations:
            base = results.get(workload.id, SAME_OUTPUT, way, "wall")
            cells = [ratio_text(results.get(workload.id, e, way, "wall"), base) for e in engines]
            if any(cells):
                body.append([workload.id, way, *cells])
    if body:
        page.heading("Wall time against wal2json v2, which writes the same and redacts nothing")
        page.add("Below 1 is faster; medians of the ratios within a round.", "")
        page.table(["workload", "way", *(results.label(e) for e in engines)], body)


def cost_of_emitting(page, results):
    """What emitting costs above writing a constant payload of the same size, against wal2json's cost."""
    body = []
    for workload in results.datasets("decode"):
        for way in workload.operations:
            def wall(engine):
                return results.get(workload.id, engine, way, "wall")
            cells = [share_of_cost(wall("acdat_off"), wall(PAYLOAD), wall(SAME_OUTPUT)),
                     share_of_cost(wall("acdat_1114"), wall(PAYLOAD), wall(SAME_OUTPUT)),
                     share_of_cost(wall("acdat_v1_off"), wall(PAYLOAD_V1), wall("wal2json_v1")),
                     share_of_cost(wall("acdat_v1_1114"), wall(PAYLOAD_V1), wall("wal2json_v1")),
                     ratio_text(wall("acdat_1114"), wall("acdat_off")),
                     ratio_text(wall("acdat_off"), wall("test_decoding")),
                     ratio_text(wall("acdat_1114"), wall("test_decoding")),
                     ratio_text(wall("acdat_1114"), wall(SAME_OUTPUT))]
            if any(cells):
                body.append([workload.id, way, *cells])
    if body:
        page.heading("Cost of emitting, redaction off and with 1,114 terms")
        page.add("(ours − payload) / (wal2json − payload): the cost above a constant payload, as a share of what wal2json, "
                 "which redacts nothing, costs above it; by format, each above the floor that writes messages as it does. "
                 "Nothing stands where wal2json is less than 5 % above the floor. Then ratios of wall time. "
                 "Medians within rounds.", "")
        page.table(["workload", "way", "format 2, off", "format 2, on", "format 1, off", "format 1, on", "on / off",
                    "off / test_decoding", "on / test_decoding", "on / wal2json v2"], body)


# ---- SQL ----

def above_noop(page, results):
    """What the functions cost above one that only detoasts, against the textbook automaton and the core alone."""
    body = []
    for workload in results.datasets("sql"):
        for operation in ("contains", "replace"):
            def row(engine):
                return results.get(workload.id, engine, f"{operation} +0", "row")
            for engine in ("sql_acdat", "sql_acdat_policy"):
                ours = compare.gap(row(engine), row(NOOP))
                core = row("acdat")
                if ours is None:
                    continue
                reading = compare.gap(results.get(workload.id, READ, "contains +0", "row"),
                                      results.get(workload.id, NOOP, "contains +0", "row"))
                body.append([workload.id, operation, results.label(engine), significant(ours),
                             above(row("sql_textbook"), row(NOOP)),
                             share_of_cost(row(engine), row(NOOP), row("sql_textbook")), shown(core),
                             f"{core.value / ours:.0%}" if core and ours > 0 else "",
                             significant(reading) if reading is not None else ""])
    if body:
        page.heading("SQL functions above the floor")
        page.add("Serial, nanoseconds a row above a C function that only detoasts its argument, medians of the differences "
                 "within a round; the same of the textbook automaton as a function, and the ratio (ours − floor) / (textbook − floor). "
                 "Last, what the core needs without SQL over the same rows, and its share: the rate of the function "
                 "above the floor as a share of the core's own. The core reads rows that lie one behind the other; what it costs "
                 "above the floor just to read every byte of a value where PostgreSQL has it stands beside.", "")
        page.table(["workload", "operation", "engine", "ours", "textbook", "ours / textbook", "core alone",
                    "share of the core's rate", "reading alone"], body)


def sql_pages(page, results):
    above_noop(page, results)
    for workload in results.datasets("sql"):
        count = results.get(workload.id, "", "table", "rows")
        hits = results.get(workload.id, "", "table", "hits")
        page.heading(f"SQL: {workload.label}")
        page.add(f"`{workload.id}`, {int(count.value):,} rows, {int(hits.value):,} with a term. "
                 "Nanoseconds a row; +N: up to N parallel workers besides the leader. Slow ways read the first rows only. "
                 "The cores run without SQL over the same rows.", "")
        names = sorted({row.workload for row in results.rows if row.dataset == workload.id and row.metric == "row"})
        body = []
        for engine in results.engines_of(workload.id):
            cells = [shown(results.get(workload.id, engine, name, "row")) for name in names]
            peak = next((results.get(workload.id, engine, name, "peak") for name in names
                         if results.get(workload.id, engine, name, "peak")), None)
            if any(cells):
                body.append([results.label(engine), *cells, shown(peak)])
        page.table(["engine", *names, "peak MiB"], body)
        chart(page, results, workload, "replace +0", "row", "ns/row")
    published = results.datasets("publish")
    if published:
        page.heading("Publishing, s")
        page.table(["terms", "add_terms", "publish", "publish again", "peak MiB"],
                   [[w.label, *(shown(results.get(w.id, "acdat", "publish", m))
                                for m in ("add_terms", "publish", "republish", "peak"))] for w in published])


# ---- where we lose ----

def losses(page, results):
    page.heading("Where we lose")
    found = compare.lost(results)
    ours = [row for row in results.rows if compare.comparable(results, row) and compare.best_peer(results, row)]
    page.add(f"Cells in which some peer is better than ours: {len(found)} of {len(ours)}. "
             "The factor is from pairs of the same round; plugins that redact nothing do less work and are "
             "counted all the same, and size and memory of what is built are cells too.", "")
    if found:
        page.table(["workload", "operation", "ours", "value", "best peer", "value", "times worse"],
                   [[row.dataset, row.workload, results.label(row.engine), f"{shown(row)} {row.unit}",
                     results.label(peer.engine), f"{shown(peer)} {peer.unit}", f"{factor:.2f}"]
                    for factor, row, peer in found])


def count_text(results, row):
    """Millions of instructions; of a decoding also against the plugin that writes the same."""
    if row is None:
        return ""
    base = results.get(row.dataset, SAME_OUTPUT, row.workload, "instructions")
    return significant(row.value / 1e6) + (f" ({row.value / base.value:.2f})" if base and base.value > 0 else "")


def counts_page(page, results):
    counted = [row for row in results.rows if row.metric == "instructions"]
    if not counted:
        return
    page.heading("Instructions in user space, millions")
    page.add("Small sizes; one more iteration of the operation. Time is not in it, so noise is not either, "
             "nor are waits for memory; callgrind hides AVX-512. In brackets, for decoding, times the instructions of "
             "wal2json, format 2.", "")
    for dataset in dict.fromkeys(row.dataset for row in counted):
        operations = list(dict.fromkeys(row.workload for row in counted if row.dataset == dataset))
        body = []
        for engine in results.engines_of(dataset):
            cells = [count_text(results, results.get(dataset, engine, op, "instructions")) for op in operations]
            if any(cells):
                body.append([results.label(engine), *cells])
        page.add(f"### {dataset}", "")
        page.table(["engine", *operations], body)


def time_page(page, results):
    """Where the time of the run went."""
    elapsed = progress.finished(results.rows)
    by_kind = {}
    for dataset, seconds in elapsed.items():
        by_kind.setdefault(results.workload_kind(dataset), []).append(seconds)
    if by_kind:
        page.heading("Time the run took")
        page.table(["kind", "workloads", "s"], [[kind, str(len(spent)), f"{sum(spent):.0f}"]
                                                for kind, spent in by_kind.items()])


def facts_page(page, facts):
    page.heading("Machine, versions, commit")
    page.table(["fact", "value"], [[name, value] for name, value in facts.items()])


def write(folders, out):
    folders = folders or [cli.newest_run()]
    all_rows = [row for folder in folders for row in rows.read(folder)]
    results = Results(all_rows)
    out.mkdir(parents=True, exist_ok=True)
    page = Page(out, "acdat_decoder: bench results")
    page.add(f"Made by `bench/bench report` from {len(all_rows)} rows.")
    losses(page, results)
    cost_of_emitting(page, results)
    against_wal2json(page, results)
    against_peers(page, results)
    match_pages(page, results)
    file_pages(page, results)
    decode_pages(page, results)
    sql_pages(page, results)
    counts_page(page, results)
    time_page(page, results)
    for folder in folders:
        facts_page(page, rows.read_facts(folder))
    page.write("README.md")
    print(out / "README.md")
    return 0
