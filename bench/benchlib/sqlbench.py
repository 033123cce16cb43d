"""SQL workloads: the functions over table rows, serial and parallel; and publishing."""

import dataclasses
import hashlib
import time

from benchlib import building, decode, match, paths, rows, schedule, server, tables, texts

UNITS = {"wall": "s", "cpu": "s", "rate": "rows/s", "peak": "MiB"}
PUBLISH_UNITS = {"add_terms": "s", "publish": "s", "republish": "s", "peak": "MiB"}
WORKERS = (0, 1, 2)
ONE_STATEMENT_SECONDS = 60          # what takes longer at the warm-up is not timed

SESSION = """SET max_parallel_workers_per_gather = {workers}; SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0; SET statement_timeout = '{seconds}s';"""

PREPARE = """
CREATE TABLE data (id integer PRIMARY KEY, v text, dictionary text DEFAULT 'small');
\\copy data (id, v) FROM '{file}'
VACUUM (FREEZE, ANALYZE) data;
"""
MACHINES = """
CREATE TABLE machines AS SELECT 'small'::text AS dictionary, acdat.compile(pattern) AS machine
	FROM acdat.terms WHERE dictionary = 'bench_small';
"""


@dataclasses.dataclass
class Statements:
    """An engine's statements by operation, with the dictionary written into them."""
    id: str
    by_operation: dict
    rows: str               # expression of a redacted row, or ""
    manner: str             # what the rows are compared with


def literal(text):
    return "'" + text.replace("'", "''") + "'"


def escape_regexp(term):
    return "".join("\\" + c if not (c.isalnum() or c.isspace()) else c for c in term)


def spellings(dictionary):
    """The dictionary as each way of writing it in SQL needs it."""
    terms = sorted((t.decode() for t in texts.words.dictionary(dictionary)), key=len, reverse=True)
    nested = "v"
    for term in terms:
        nested = f"replace({nested}, {literal(term)}, '[REDACTED]')"
    return {"{regexp}": literal("|".join(map(escape_regexp, terms))),
            "{like}": "ARRAY[" + ", ".join(literal("%" + t.replace("\\", "\\\\").replace("%", "\\%")
                                                   .replace("_", "\\_") + "%") for t in terms) + "]",
            "{nested}": nested}


def read_statements(engines, workload, home, context):
    """The engines that this server and workload can have."""
    written = spellings(workload.dictionary)
    found = []
    for engine in engines:
        if engine.kind != "sql":
            continue
        section = decode.read_ini(engine.adapter)["sql"]
        if section.get("needs") == "acdat" and not home.has_acdat:
            context.report(f"skipped {engine.id}: no acdat_decoder")
            continue

        def fill(statement):
            for mark, text in written.items():
                statement = statement.replace(mark, text)
            return statement
        found.append(Statements(engine.id, {op: fill(section[op]) for op in workload.operations if op in section},
                                fill(section.get("rows", "")), section.get("manner", "")))
    return found


# ---- answers ----

class Answers:
    """What the oracle says about the table's rows."""

    def __init__(self, command, workload, raw):
        self.raw = raw
        self.driver = match.Driver(command, texts.dictionary_file(workload.dictionary), raw)
        self.count = int(self.driver.ask("verify rows-contains", match.START_SECONDS)[0])
        self.overlapping = 0

    def digest(self, manner):
        """MD5 of the redacted rows, each with its newline."""
        target = paths.BUILD / "expected.redacted"
        self.driver.ask(f"verify {manner} {target}", match.START_SECONDS)
        return hashlib.md5(target.read_bytes()).hexdigest()


def check_engine(engine, session, answers, context, workload):
    """Compare an engine's answers; the operations that may be timed."""
    where = f"{workload.id} {engine.id}"
    usable = []
    for operation, statement in engine.by_operation.items():
        try:
            value = session().ask(statement + ";")
        except RuntimeError as problem:
            context.report(f"skipped {engine.id} {operation} at {workload.id}: {problem}")
            continue
        if operation == "contains" and engine.id not in ("sql_scan", "sql_noop") and int(value) != answers.count:
            context.wrong(f"{where} contains: {value} rows, the oracle {answers.count}")
            continue
        usable.append(operation)
    if engine.rows and "replace" in usable:
        if engine.manner == "changed":
            value = session().ask(f"SELECT count(*) FROM data WHERE {engine.rows} <> v;")
            wanted = str(answers.count)
        else:
            value = session().ask(f"SELECT md5(string_agg({engine.rows} || E'\\n', '' ORDER BY id)) FROM data;")
            wanted = answers.digest(engine.manner)
        if value != wanted:
            context.wrong(f"{where} replace: rows differ from the oracle's")
            usable.remove("replace")
    return usable


# ---- timing ----

def measurement(home, database, statement, workers, count):
    def measure():
        settings = SESSION.format(workers=workers, seconds=10 * ONE_STATEMENT_SECONDS)
        with server.Session(home, database, settings.replace("\n", " ")) as session:
            _value, sample = session.timed(statement + ";")
        return sample | {"rate": count / sample["wall"]}
    return measure


def load(home, database, workload, size):
    """The workload's database: a table of rows, and the machine."""
    home.sql(f"CREATE DATABASE {database} TEMPLATE bench_base")
    home.sql(PREPARE.format(file=tables.copy_file(workload.data, size)), database)
    if home.has_acdat:
        home.sql(MACHINES, database)


def prepare(workload, engines, home, oracle, context, suffix=""):
    """(cells, rows) of a workload on one server, whose answers are checked; "suffix" marks its engines."""
    size = workload.sizes[context.tier]
    database = f"bench_{workload.id}"
    load(home, database, workload, size)
    raw = paths.BUILD / "sql.rows"
    raw.write_text(home.sql("SELECT v FROM data ORDER BY id", database) + "\n", encoding="utf8")
    answers = Answers(oracle, workload, raw)
    counted = [rows.single(workload.id, "", "table", "rows", size, "rows"),
               rows.single(workload.id, "", "table", "hits", answers.count, "rows")]
    sessions = []

    def session():
        """A live session; one that failed is replaced."""
        if not sessions or sessions[-1].process.poll() is not None:
            settings = SESSION.format(workers=0, seconds=ONE_STATEMENT_SECONDS).replace("\n", " ")
            sessions.append(server.Session(home, database, settings))
        return sessions[-1]
    cells = []
    for engine in read_statements(engines, workload, home, context):
        for operation in check_engine(engine, session, answers, context, workload):
            for workers in WORKERS:
                cells.append(schedule.Cell(workload.id, engine.id + suffix, f"{operation} +{workers}", "wall",
                                           measurement(home, database, engine.by_operation[operation], workers,
                                                       size)))
    for open_session in sessions:
        open_session.close()
    answers.driver.close()
    return cells, counted


def run_workload(workload, engines, homes, oracle, context):
    """Load, check and time on every server of {suffix: server}."""
    cells = []
    result = []
    for suffix, home in homes.items():
        more_cells, counted = prepare(workload, engines, home, oracle, context, suffix)
        cells += more_cells
        result = counted
    if not context.check_only:
        for name in sorted({cell.workload for cell in cells}):
            group = [cell for cell in cells if cell.workload == name]
            schedule.run_rounds(group, context.limits, context.report)
            for cell in group:
                result += rows.from_cell(cell, UNITS)
    for home in homes.values():
        home.sql(f"DROP DATABASE bench_{workload.id}")
    return result


def run(workloads, engines, homes, oracle, context):
    for workload in workloads:
        begin = time.monotonic()
        context.write(run_workload(workload, engines, homes, oracle, context))
        context.report(f"{workload.id}: {time.monotonic() - begin:.0f} s")


# ---- publishing ----

def publish_measurement(home, database):
    def measure():
        with server.Session(home, database) as session:
            session.ask("SELECT 1 FROM acdat.create_dictionary('published');")
            session.ask("SELECT 1 FROM acdat.create_policy('published', 'published');")
            _, added = session.timed("SELECT acdat.add_terms('published', (SELECT array_agg(pattern) FROM incoming));")
            _, first = session.timed("SELECT acdat.publish('published');")
            _, again = session.timed("SELECT acdat.publish('published');")
            for name in ("unpublish", "drop_policy", "drop_dictionary"):
                session.ask(f"SELECT 1 FROM acdat.{name}('published');")
        home.sql("VACUUM", database)
        return {"add_terms": added["wall"], "publish": first["wall"], "republish": again["wall"],
                "peak": again["peak"]}
    return measure


def run_publish(workloads, homes, context):
    for home in homes.values():
        if not home.has_acdat:
            context.report("skipped publish: no acdat_decoder")
            return
        home.sql("CREATE DATABASE bench_publish TEMPLATE bench_base")
        home.sql("CREATE TABLE incoming (pattern text)", "bench_publish")
    for workload in workloads:
        begin = time.monotonic()
        for home in homes.values():
            home.sql("TRUNCATE incoming;\n\\copy incoming FROM "
                     + literal(str(texts.dictionary_file(workload.dictionary))), "bench_publish")
        cells = [schedule.Cell(workload.id, "acdat" + suffix, "publish", "publish",
                               publish_measurement(home, "bench_publish"))
                 for suffix, home in homes.items()]
        try:
            for cell in cells:
                cell.measure()      # warm-up
            if not context.check_only:
                schedule.run_rounds(cells, context.limits, context.report)
                for cell in cells:
                    context.write(rows.from_cell(cell, PUBLISH_UNITS))
        except (RuntimeError, building.Skip) as problem:
            context.report(f"skipped {workload.id}: {problem}")
        context.report(f"{workload.id}: {time.monotonic() - begin:.0f} s")
