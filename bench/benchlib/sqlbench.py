"""SQL workloads: the functions over table rows, serial and parallel; and publishing."""

import dataclasses
import hashlib
import shutil
import time

from benchlib import building, compare, decode, disturb, match, paths, registry, rows, schedule, server, tables, texts

UNITS = {"row": "ns/row", "wall": "s", "cpu": "s", "peak": "MiB"}
PUBLISH_UNITS = {"add_terms": "s", "publish": "s", "republish": "s", "peak": "MiB"}
WORKERS = (0, 1, 2)
ONE_STATEMENT_SECONDS = 60          # what takes longer at the warm-up is not timed

SESSION = """SET max_parallel_workers_per_gather = {workers}; SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0; SET statement_timeout = '{seconds}s';"""

GENERATED = 500_000                 # rows; larger tables repeat them
PREPARE = """
CREATE UNLOGGED TABLE data (id integer, v text, dictionary text DEFAULT 'small');
\\copy data (id, v) FROM '{file}'
"""
REPEAT = """
INSERT INTO data SELECT id + {rows} * copy, v FROM data, generate_series(1, {copies}) AS copy;
"""
# The first rows, for engines too slow for all of them.
PART = """
CREATE UNLOGGED TABLE {name} AS SELECT * FROM data WHERE id <= {rows} ORDER BY id;
"""
CORES = {"acdat": "rows-cover", "textbook": "rows-replace"}     # drivers that do the same without SQL
MACHINES = """
CREATE TABLE machines AS SELECT 'small'::text AS dictionary, acdat.compile(pattern) AS machine
	FROM acdat.terms WHERE dictionary = 'bench_small';
"""


@dataclasses.dataclass
class Statements:
    """An engine's statements by operation, with the dictionary written into them."""
    id: str
    table: str
    size: int               # rows of that table
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


def table_of(engine, workload, size):
    """(name, rows) of the table that an engine reads: all rows, or the first "at-most" KiB for a slow one."""
    kib = decode.read_ini(engine.adapter)["sql"].getint("at-most")
    most = size if kib is None else kib * 1024 // tables.VALUE_BYTES[workload.data]
    if most > GENERATED:        # whole copies, whose hits are known
        most -= most % GENERATED
    return ("data", size) if most >= size else (f"data_{most}", most)


def is_large(size):
    """Is a table so large that only the ways that are fast read it, all of it and serially?"""
    return size > GENERATED


def fast_enough(engines, workload, size):
    """The engines to run at a table of a size."""
    return [e for e in engines if e.kind != "sql" or not is_large(size) or table_of(e, workload, size)[0] == "data"]


def read_statements(engines, workload, home, context):
    """The engines that this server and workload can have."""
    size = workload.sizes[context.tier]
    terms = home.work / "terms"     # where the server may read it
    shutil.copyfile(texts.dictionary_file(workload.dictionary), terms)
    terms.chmod(0o644)
    written = spellings(workload.dictionary) | {"{terms}": literal(str(terms))}
    found = []
    for engine in engines:
        if engine.kind != "sql":
            continue
        section = decode.read_ini(engine.adapter)["sql"]
        if section.get("needs") == "acdat" and not home.has_acdat:
            context.report(f"skipped {engine.id}: no acdat_decoder")
            continue

        table, rows_there = table_of(engine, workload, size)

        def fill(statement):
            statement = statement.replace("{table}", table)
            for mark, text in written.items():
                statement = statement.replace(mark, text)
            return statement
        found.append(Statements(engine.id, table, rows_there,
                                {op: fill(section[op]) for op in workload.operations if op in section},
                                fill(section.get("rows", "")), section.get("manner", "")))
    return found


# ---- answers ----

class Answers:
    """What the oracle says about the rows of a table, of which a larger one repeats the first."""

    def __init__(self, command, workload, home, database, table, size):
        self.checked = min(size, GENERATED)
        self.raw = paths.BUILD / f"sql.{table}.rows"
        self.raw.write_text(home.sql(f"SELECT v FROM {table} WHERE id <= {self.checked} ORDER BY id", database)
                            + "\n", encoding="utf8")
        self.driver = match.Driver(command, texts.dictionary_file(workload.dictionary), self.raw)
        self.hits = int(self.driver.ask("verify rows-contains", match.START_SECONDS)[0])
        self.count = self.hits * (size // self.checked)
        self.digests = {}

    def digest(self, manner):
        """MD5 of the checked rows redacted, each with its newline."""
        if manner not in self.digests:
            target = paths.BUILD / "expected.redacted"
            self.driver.ask(f"verify {manner} {target}", match.START_SECONDS)
            self.digests[manner] = hashlib.md5(target.read_bytes()).hexdigest()
        return self.digests[manner]


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
        if operation == "contains" and engine.id not in compare.FLOORS and int(value) != answers.count:
            context.wrong(f"{where} contains: {value} rows, the oracle {answers.count}")
            continue
        usable.append(operation)
    if engine.rows and "replace" in usable:
        if engine.manner == "changed":
            value = session().ask(f"SELECT count(*) FROM {engine.table} WHERE id <= {answers.checked} "
                                  f"AND {engine.rows} <> v;")
            wanted = str(answers.hits)
        else:
            value = session().ask(f"SELECT md5(string_agg({engine.rows} || E'\\n', '' ORDER BY id)) "
                                  f"FROM {engine.table} WHERE id <= {answers.checked};")
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
        return sample | {"row": sample["wall"] * 1e9 / count}
    return measure


def core_measurement(driver, operation, seconds):
    def measure():
        try:
            _answer, _iterations, nanoseconds = driver.ask(f"time {operation} {seconds} 0")
        except building.Skip as reason:
            raise RuntimeError(str(reason)) from None
        return {"row": float(nanoseconds) / int(driver.info[4])}
    return measure


def load(home, database, workload, size, engines):
    """The workload's database: tables of rows, and the machine."""
    generated = min(size, GENERATED)
    home.sql(f"CREATE DATABASE {database} TEMPLATE bench_base")
    home.sql(PREPARE.format(file=tables.copy_file(workload.data, generated)), database)
    if size > generated:
        home.sql(REPEAT.format(rows=generated, copies=size // generated - 1), database)
    parts = {table_of(e, workload, size) for e in engines if e.kind == "sql"}
    for name, rows_there in sorted(parts - {("data", size)}):
        home.sql(PART.format(name=name, rows=rows_there), database)
    home.sql("VACUUM (FREEZE, ANALYZE)", database)
    if home.has_acdat:
        home.sql(MACHINES, database)


def prepare(workload, engines, home, oracle, context, suffix=""):
    """(cells, rows) of a workload on one server, whose answers are checked; "suffix" marks its engines."""
    size = workload.sizes[context.tier]
    database = f"bench_{workload.id}"
    with context.phase("load"):
        load(home, database, workload, size, engines)
    answers = {}
    sessions = []

    def session():
        """A live session; one that failed is replaced."""
        if not sessions or sessions[-1].process.poll() is not None:
            settings = SESSION.format(workers=0, seconds=ONE_STATEMENT_SECONDS).replace("\n", " ")
            sessions.append(server.Session(home, database, settings))
        return sessions[-1]
    cells = []
    with context.phase("check"):
        for engine in read_statements(engines, workload, home, context):
            if engine.table not in answers:
                answers[engine.table] = Answers(oracle, workload, home, database, engine.table, engine.size)
            for operation in check_engine(engine, session, answers[engine.table], context, workload):
                for workers in WORKERS[:1] if is_large(size) else WORKERS:
                    cells.append(schedule.Cell(workload.id, engine.id + suffix, f"{operation} +{workers}", "row",
                                               measurement(home, database, engine.by_operation[operation], workers,
                                                           engine.size)))
    for open_session in sessions:
        open_session.close()
    for of_table in answers.values():
        of_table.driver.close()
    counted = [rows.single(workload.id, "", "table", "rows", size, "rows")]
    counted += [rows.single(workload.id, "", "table", "hits", a.count, "rows")
                for table, a in answers.items() if table == "data"]
    return cells, counted


def core_cells(workload, context):
    """The cores without SQL over the same rows; (drivers, cells)."""
    drivers = []
    cells = []
    raw = paths.BUILD / "sql.data.rows"
    engines = [e for e in registry.engines() if e.id in CORES]
    commands = building.build_all(engines, context.report)
    for engine in engines:
        if engine.id not in commands or not raw.exists():
            continue
        driver = match.start(engine, commands[engine.id], workload,
                             (texts.dictionary_file(workload.dictionary), raw), context.report)
        if driver is None:
            continue
        drivers.append(driver)
        for operation, command in (("contains", "rows-contains"), ("replace", CORES[engine.id])):
            driver.ask(f"time {command} 0 1")       # warm-up
            cells.append(schedule.Cell(workload.id, engine.id, f"{operation} +0", "row",
                                       core_measurement(driver, command, context.sample_seconds)))
    return drivers, cells


def run_workload(workload, engines, homes, oracle, context):
    """Load, check and time on every server of {suffix: server}."""
    engines = fast_enough(engines, workload, workload.sizes[context.tier])
    cells = []
    result = []
    for suffix, home in homes.items():
        more_cells, counted = prepare(workload, engines, home, oracle, context, suffix)
        cells += more_cells
        result = counted
    drivers = []
    if not context.check_only:
        if len(homes) == 1:
            drivers, more_cells = core_cells(workload, context)
            cells += more_cells
        for name in sorted({cell.workload for cell in cells}):
            group = [cell for cell in cells if cell.workload == name]
            context.measure(group, name)
            for cell in group:
                result += rows.from_cell(cell, UNITS)
    for driver in drivers:
        driver.close()
    for home in homes.values():
        home.sql(f"DROP DATABASE bench_{workload.id}")
    return result


def run(workloads, engines, homes, oracle, context):
    for workload in workloads:
        with context.dataset(workload):
            context.write(run_workload(workload, engines, homes, oracle, context))


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
        with context.dataset(workload):
            measure_publish(workload, homes, context)


def measure_publish(workload, homes, context):
    for home in homes.values():
        home.sql("TRUNCATE incoming;\n\\copy incoming FROM "
                 + literal(str(texts.dictionary_file(workload.dictionary))), "bench_publish")
    cells = [schedule.Cell(workload.id, "acdat" + suffix, "publish", "publish",
                           publish_measurement(home, "bench_publish"))
             for suffix, home in homes.items()]
    try:
        for cell in cells:
            begin = time.monotonic()
            with disturb.Watch() as watch:
                sample = cell.measure()     # warm-up, unless it is too slow to repeat
            seconds = time.monotonic() - begin
            if seconds > context.limits.cell_seconds:
                cell.preload(sample, seconds, watch.disturbed)
        if not context.check_only:
            context.measure(cells)
            for cell in cells:
                context.write(rows.from_cell(cell, PUBLISH_UNITS))
    except (RuntimeError, building.Skip) as problem:
        context.report(f"skipped {workload.id}: {problem}")
