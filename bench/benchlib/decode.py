"""Decode workloads: the same WAL through every plugin, three ways, against the floors."""

import configparser
import contextlib
import dataclasses
import json
import os
import re
import resource
import subprocess
import time

from benchlib import building, disturb, match, paths, rows, schedule, server, tables, texts

UNITS = {"wall": "s", "user": "s", "cpu": "s", "rate": "rows/s", "peak": "MiB", "client": "s"}
# In a floor's options: bytes per change of another engine, or the quantiles of its records' sizes.
SIZE_OF = re.compile(r"\{sizes? of (\w+)\}")
QUANTILES = 64                      # of the sizes of a plugin's records
# What goes over a connection only repeats what a peek decodes, so it reads a smaller stream.
SHORT = {"tiny": 1, "quick": 1, "full": 5}
COMPARED_ROWS = 20_000              # of a workload at most, received text against redacted rows ...
COMPARED_VALUES = 4 << 20           # ... and bytes of values: the oracle is slow
COMPARED_BYTES = 400 << 20          # no larger stream is parsed
RUN_SECONDS = 600                   # for one measurement
POLL_SECONDS = 0.004
WAYS = ("peek", "recvlogical", "receiver")


@dataclasses.dataclass
class Plugin:
    """A decode engine, read from its adapter; a pipe is one behind another."""
    id: str
    plugin: str
    options: dict
    binary: bool
    changes: str
    text: str                       # json1, json2 or none
    redacts: str                    # no, small or large
    pipe: list                      # command behind pg_recvlogical, or nothing
    home: object = None             # the server it runs on


def read_ini(path):
    parser = configparser.ConfigParser(interpolation=None, comment_prefixes=(";",))
    parser.read(path, encoding="utf8")
    return parser


def read_plugin(engine, by_id):
    if engine.adapter.suffix == ".ini":
        section = read_ini(engine.adapter)["decode"]
        pairs = [p.strip().split("=", 1) for p in section.get("options", "").split(",") if p.strip()]
        return Plugin(engine.id, section["plugin"], dict(pairs), section.getboolean("binary", False),
                      section["changes"], section.get("text", "none"), section.get("redacts", "no"), [])
    directives = engine.directives()
    behind = read_plugin(by_id[directives["behind"][0]], by_id)
    terms = texts.dictionary_file("cjk1114")
    return dataclasses.replace(behind, id=engine.id, redacts=directives["redacts"][0],
                               pipe=[str(engine.adapter), str(terms)])


# ---- a workload's WAL ----

def sections(workload_id):
    """(prepare, changes, settings, checked table, column and form, or None) of workloads/ID.sql."""
    text = (paths.BENCH / "workloads" / f"{workload_id}.sql").read_text(encoding="utf8")
    settings = "".join(f"SET {s};" for s in re.findall(r"^-- bench: set (.*)$", text, re.M))
    check = re.search(r"^-- bench: check (\S+) (\S+)( json)?$", text, re.M)
    head, changes = text.split("-- bench: changes\n")
    prepare = head.split("-- bench: prepare\n")[1]
    return prepare, changes, settings, check.groups() if check else None


class Stream:
    """A workload's database on one server, with its WAL between a base slot and an end."""

    def __init__(self, home, workload, size, suffix=""):
        self.home = home
        self.workload = workload
        self.database = f"bench_{workload.id}{suffix}"
        self.base = f"base{suffix}"
        prepare, changes, self.settings, self.check = sections(workload.data)
        values = {"rows": str(size)}
        if "{data}" in changes:
            values["data"] = "'" + str(tables.copy_file(workload.data, size)) + "'"

        def fill(script):
            for name, value in values.items():
                script = script.replace("{" + name + "}", value)
            return script
        home.sql(f"CREATE DATABASE {self.database} TEMPLATE bench_base")
        environment = home.environment
        home.environment = dict(environment, PGDATABASE=self.database)      # for pgbench
        try:
            home.sql(fill(prepare), self.database)
            home.sql(f"SELECT 1 FROM pg_create_logical_replication_slot('{self.base}', 'pgoutput')", self.database)
            self.changes = int(home.sql(fill(changes), self.database).split()[-1])
        finally:
            home.environment = environment
        self.end = home.sql("SELECT pg_current_wal_insert_lsn()", self.database)
        if self.check is not None:
            table, column, _form = self.check
            self.compared = int(home.sql(f"SELECT least({COMPARED_ROWS}, 1 + {COMPARED_VALUES} "
                                         f"/ avg(octet_length({column}::text)))::integer FROM {table}", self.database))
        # Something after the end, so that every reader gets there.
        home.sql("SELECT pg_switch_wal(); CHECKPOINT", self.database)

    def drop(self):
        self.home.sql("SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots "
                      f"WHERE database = '{self.database}'")
        self.home.sql(f"DROP DATABASE {self.database}")

    def copy_slot(self, name, plugin):
        self.home.sql(f"SELECT 1 FROM pg_copy_logical_replication_slot('{self.base}', '{name}', false, '{plugin}')",
                      self.database)

    @contextlib.contextmanager
    def slot(self, plugin):
        """A slot at the stream's start, for one reading."""
        self.copy_slot("once", plugin)
        try:
            yield "once"
        finally:
            self.drop_slot("once")

    def drop_slot(self, name):
        """Drop a slot once its walsender is gone."""
        deadline = time.monotonic() + 10
        while True:
            try:
                self.home.sql(f"SELECT pg_drop_replication_slot('{name}')", self.database)
                return
            except RuntimeError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.02)


# ---- reading a stream ----

def quoted(value):
    return "'" + value.replace("'", "''") + "'"


def peek_query(stream, plugin, slot, select):
    name = "pg_logical_slot_peek_binary_changes" if plugin.binary else "pg_logical_slot_peek_changes"
    options = "".join(f", {quoted(k)}, {quoted(v)}" for k, v in plugin.options.items())
    return f"SELECT {select} FROM {name}({quoted(slot)}, {quoted(stream.end)}, NULL{options});"


def peek_slot(stream, plugin):
    """The slot that a plugin's peeks share; they consume nothing."""
    return f"{stream.workload.id}_{plugin.id}".replace("@", "_")


def measure_peek(stream, plugin):
    with server.Session(stream.home, stream.database, stream.settings) as session:
        count, sample = session.timed(peek_query(stream, plugin, peek_slot(stream, plugin), "count(*)"))
    sample["count"] = int(count)
    return sample


def find_walsender(home, known):
    for pid, title in home.backends().items():
        if pid not in known and "walsender" in title:
            return pid
    return None


def client_cpu():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def read_through(stream, commands, out):
    """Run a pipe of commands, the first of which starts a walsender; what it cost."""
    settings = " ".join(f"-c {s[4:].split('=')[0].strip()}={s.split('=')[1].strip().strip(chr(39))}"
                        for s in stream.settings.split(";") if s)
    environment = dict(stream.home.environment, PGDATABASE=stream.database, PGOPTIONS=settings)
    known = stream.home.backends()
    before = client_cpu()
    start = time.perf_counter()
    processes = []
    source = subprocess.DEVNULL
    for number, command in enumerate(commands):
        last = number == len(commands) - 1
        process = subprocess.Popen(command, stdin=source, stdout=out if last else subprocess.PIPE,
                                   stderr=subprocess.PIPE, env=environment)
        if processes:
            source.close()
        source = process.stdout
        processes.append(process)
    usage = None
    while any(p.poll() is None for p in processes):
        if usage is None:
            pid = find_walsender(stream.home, known)
            usage = server.Usage(pid) if pid else None
        else:
            usage.read()
        if time.perf_counter() - start > RUN_SECONDS:
            for process in processes:
                process.kill()
            raise RuntimeError(f"no end within {RUN_SECONDS} s")
        time.sleep(POLL_SECONDS)
    wall = time.perf_counter() - start
    for process in processes:
        error = process.stderr.read().decode(errors="replace").strip()
        process.stderr.close()
        if process.returncode != 0:
            raise RuntimeError(error.splitlines()[0] if error else f"{process.args[0]} failed")
    sample = {"wall": wall, "client": client_cpu() - before}
    if usage is not None and usage.cpu > 0:
        sample |= usage.since()
    return sample


def recvlogical_command(stream, plugin, slot, out):
    command = [str(stream.home.bin / "pg_recvlogical"), "-d", stream.database, "-S", slot, "--start", "-n",
               "--endpos", stream.end, "-f", out, "--fsync-interval=0"]
    for name, value in plugin.options.items():
        command += ["-o", f"{name}={value}"]
    return command


def measure_recvlogical(stream, plugin, target):
    target.unlink(missing_ok=True)      # pg_recvlogical appends
    with stream.slot(plugin.plugin) as slot:
        if not plugin.pipe:
            return read_through(stream, [recvlogical_command(stream, plugin, slot, str(target))], subprocess.DEVNULL)
        with open(target, "wb") as out:
            return read_through(stream, [recvlogical_command(stream, plugin, slot, "-"), plugin.pipe], out)


def receiver_program():
    source = paths.BENCH / "receiver.c"
    program = paths.BIN / "receiver"
    if not program.exists() or program.stat().st_mtime < source.stat().st_mtime:
        original = os.environ.get("PG_CONFIG", "pg_config")
        include = building.run([original, "--includedir"], "pg_config").strip()
        libdir = building.run([original, "--libdir"], "pg_config").strip()
        paths.BIN.mkdir(parents=True, exist_ok=True)
        building.run([os.environ.get("CC", "cc"), *building.CFLAGS, "-I", include, str(source), "-L", libdir, "-lpq",
                      "-o", str(program)], "receiver.c cannot be built")
    return str(program)


def measure_receiver(stream, plugin):
    """The sample, with messages and bytes received."""
    options = [f"{k}={v}" for k, v in plugin.options.items()]
    with stream.slot(plugin.plugin) as slot, open(paths.BUILD / "received", "w+b") as out:
        sample = read_through(stream, [[receiver_program(), slot, stream.end, *options]], out)
        out.seek(0)
        messages, size = out.read().split()
    return sample | {"messages": int(messages), "bytes": int(size)}


# ---- answers ----

def received_values(path, form, table, column, most, repaired=False):
    """The column's values of the inserts of a received stream, at most so many."""
    values = []
    with open(path, encoding="utf8") as f:
        for line in f:
            if repaired:
                line = BARE_WORD.sub(r'"value":"\1"}', line)
            if form == "json1":
                for change in json.loads(line)["change"]:
                    if change["kind"] == "insert" and change["table"] == table:
                        values.append(change["columnvalues"][change["columnnames"].index(column)])
            elif line.startswith('{"action":"I"'):
                record = json.loads(line)
                if record["table"] == table:
                    values.append(next(c["value"] for c in record["columns"] if c["name"] == column))
            if len(values) >= most:
                return values[:most]
    return values


def as_values(lines):
    """Parsed JSON; what is none stays as it is."""
    values = []
    for line in lines:
        try:
            values.append(json.loads(line) if isinstance(line, str) else line)
        except ValueError:
            values.append(line)
    return values


# A pipe knows no JSON: a number with a term in it becomes a word without quotes.
BARE_WORD = re.compile(r'"value":([^"{}\[]*\[REDACTED\][^"}]*)}')
# What acdat_decoder sends for a value that is no text and holds a term.
MASK = "[REDACTED]"


class Expected:
    """What a column's values must be, by dictionary and manner; from the oracle, and from SQL."""

    def __init__(self, stream, oracle):
        self.stream = stream
        self.oracle = oracle
        self.known = {}

    def rows(self, column_sql):
        table, column, _form = self.stream.check
        return self.stream.home.sql(f"SELECT {column_sql.format(column + '::text')} FROM {table} ORDER BY id "
                                    f"LIMIT {self.stream.compared}", self.stream.database).split("\n")

    def by_oracle(self, dictionary, operation):
        key = dictionary, operation
        if key not in self.known:
            raw = paths.BUILD / "expected.rows"
            target = paths.BUILD / "expected.redacted"
            raw.write_text("\n".join(self.rows("{}")) + "\n", encoding="utf8")
            driver = match.Driver(self.oracle, texts.dictionary_file(dictionary), raw)
            driver.ask(f"verify {operation} {target}", match.START_SECONDS)
            driver.close()
            self.known[key] = target.read_text(encoding="utf8").split("\n")[:-1]
        return self.known[key]

    def of(self, plugin):
        """[(name, rows)]: everything that the plugin's received rows must equal."""
        if plugin.redacts == "no":
            return [("the rows", self.rows("{}"))]
        dictionary = "cjk1114" if plugin.redacts == "small" else self.stream.workload.dictionary
        if plugin.pipe:
            return [("the oracle", self.by_oracle(dictionary, "rows-replace"))]
        policy = plugin.options["policy"]
        wanted = [("the oracle", self.by_oracle(dictionary, "rows-cover")),
                  ("rows redacted in SQL", self.rows("acdat.redact({}, '" + policy + "')"))]
        if self.stream.check[2]:    # not text: a value with a match is masked whole
            raw = self.rows("{}")
            wanted = [(name, [a if a == b else MASK for a, b in zip(raw, rows)]) for name, rows in wanted]
        return wanted


def compare_text(stream, plugin, path, expected, context):
    if stream.check is None or plugin.text == "none":
        return
    if path.stat().st_size > COMPARED_BYTES and plugin.text == "json1":
        context.report(f"{stream.workload.id} {plugin.id}: too large to parse, text not compared")
        return
    table, column, as_json = stream.check
    received = received_values(path, plugin.text, table, column, stream.compared, bool(plugin.pipe))
    for name, wanted in expected.of(plugin):
        if as_json:     # spaces and the order of keys are the type's own business
            received, wanted = as_values(received), as_values(wanted)
        if received != wanted:
            differing = sum(a != b for a, b in zip(received, wanted)) + abs(len(received) - len(wanted))
            context.wrong(f"{stream.workload.id} {plugin.id}: {differing} received values differ from {name}")


def counted(stream, plugin, context):
    """Peek once, the warm-up: hold the number of changes to what was made; bytes sent."""
    stream.copy_slot(peek_slot(stream, plugin), plugin.plugin)
    with server.Session(stream.home, stream.database, stream.settings) as session:
        answer = session.ask(peek_query(stream, plugin, peek_slot(stream, plugin),
                                        f"{plugin.changes}, coalesce(sum(octet_length(data)), 0)"))
    count, size = (int(x) for x in answer.split("|"))
    wanted = 0 if plugin.options.get("bytes") == "0" else stream.changes
    if count != wanted:
        context.wrong(f"{stream.workload.id} {plugin.id}: {count} changes, {wanted} were made")
    return size


def record_sizes(stream, plugin):
    """Quantiles of the sizes of a plugin's records of changes, for a floor to write: one size
    would round up to one size of memory chunk."""
    fractions = ",".join(f"{(2 * i + 1) / (2 * QUANTILES):.6f}" for i in range(QUANTILES))
    select = (f"array_to_string(percentile_disc(ARRAY[{fractions}]) WITHIN GROUP (ORDER BY octet_length(data)) "
              "FILTER (WHERE data ~ '^\\{\"action\":\"[DIU]\"'), '/')")
    with server.Session(stream.home, stream.database, stream.settings) as session:
        return session.ask(peek_query(stream, plugin, peek_slot(stream, plugin), select))


def sizes_for(stream, plugin, size, floors):
    """What the floors that write as much as this plugin ask for, by their marks."""
    sizes = {}
    for mark in (f"{{size of {plugin.id}}}", f"{{sizes of {plugin.id}}}"):
        if any(mark in value for floor in floors for value in floor.options.values()):
            sizes[mark] = (str(round(size / stream.changes)) if mark.startswith("{size ")
                           else record_sizes(stream, plugin))
    return sizes


def sized_after(plugin):
    """The engine whose size a floor writes, or None."""
    found = SIZE_OF.search(" ".join(plugin.options.values()))
    return found and found.group(1)


def compared(stream, plugin, expected, context):
    """Warm up the ways over a connection, and hold the text that arrives to what it must be.
    The sample of pg_recvlogical and whether it was disturbed."""
    target = paths.BUILD / "stream"
    with disturb.Watch() as watch:
        sample = measure_recvlogical(stream, plugin, target)
    compare_text(stream, plugin, target, expected, context)
    if not plugin.pipe:
        measure_receiver(stream, plugin)
    return sample, watch.disturbed


def fitted(plugin, sizes, workload):
    """The plugin with the workload's values, and the sizes by their marks, in its options."""
    large = "bench_cjk" if workload.dictionary == "cjk100k" else "bench_ascii"

    def fill(text):
        for mark, value in (sizes | {"bench_large": large}).items():
            text = text.replace(mark, value)
        return text
    options = {name: fill(value) for name, value in plugin.options.items()}
    return dataclasses.replace(plugin, options=options, changes=fill(plugin.changes))


def with_rate(stream, sample):
    return sample | {"rate": stream.changes / sample["wall"]}


def measurement(stream, plugin, way):
    def measure():
        if way == "peek":
            return with_rate(stream, measure_peek(stream, plugin))
        if way == "recvlogical":
            return with_rate(stream, measure_recvlogical(stream, plugin, paths.BUILD / "stream"))
        return with_rate(stream, measure_receiver(stream, plugin))
    return measure


def cells_of(plugin, stream, short, expected, context):
    """Check a plugin; (its cells, bytes that it sends, 0 for a pipe)."""
    workload = stream.workload
    ways = [way for way in workload.operations
            if (not plugin.pipe or way == "recvlogical") and (not context.ways or way in context.ways)]
    size = 0 if plugin.pipe else counted(stream, plugin, context)
    sample, disturbed = compared(short, plugin, expected, context)
    cells = []
    for way in ways:
        cell = schedule.Cell(workload.id, plugin.id, way, "wall",
                             measurement(stream if way == "peek" else short, plugin, way))
        if plugin.pipe and sample["wall"] > context.limits.cell_seconds:
            # Too slow to repeat: the check has measured it once.
            cell.preload(with_rate(short, sample), schedule.SLOWEST_FACTOR * sample["wall"], disturbed)
        cells.append(cell)
    return cells, size


def load(workload, homes, context):
    """{server: (stream, short stream)}, which are the same one if the tier wants no shorter."""
    size = workload.sizes[context.tier]
    short_size = size // SHORT[context.tier]
    streams = {}
    for home in homes:
        stream = Stream(home, workload, size)
        streams[home] = stream, Stream(home, workload, short_size, "_short") if short_size != size else stream
    return streams


def run_workload(workload, plugins, homes, oracle, context):
    """Load, check, time.  "homes": servers; a plugin runs on its own or the first."""
    with context.phase("load"):
        streams = load(workload, homes, context)
    expected = {home: Expected(short, oracle) for home, (_, short) in streams.items()}
    stream, short = streams[homes[0]]
    result = [rows.single(workload.id, "", "stream", "changes", stream.changes, "rows"),
              rows.single(workload.id, "", "short stream", "changes", short.changes, "rows")]
    sizes = {}
    cells = []
    for plugin in sorted(plugins, key=lambda p: (sized_after(p) is not None, bool(p.pipe))):
        home = plugin.home or homes[0]
        plugin = fitted(plugin, sizes, workload)
        if sized_after(plugin) is not None:
            context.report(f"skipped {plugin.id} at {workload.id}: no {sized_after(plugin)} to take the size from")
            continue
        try:
            with context.phase("check"):
                more, size = cells_of(plugin, *streams[home], expected[home], context)
                sizes |= sizes_for(streams[home][0], plugin, size, plugins)
        except (RuntimeError, ValueError, building.Skip) as problem:
            context.report(f"skipped {plugin.id} at {workload.id}: {problem}")
            continue
        cells += more
        if size:
            result.append(rows.single(workload.id, plugin.id, "stream", "size", size / 1e6, "MB"))
    if not context.check_only:
        for way in workload.operations:
            group = [cell for cell in cells if cell.workload == way]
            context.measure(group, way)
            for cell in group:
                result += rows.from_cell(cell, UNITS)
    for pair in streams.values():
        for each in dict.fromkeys(pair):
            each.drop()
    return result


def available(engines, home, context):
    """The plugins that this server has."""
    by_id = {e.id: e for e in engines}
    found = []
    for engine in engines:
        if engine.kind not in ("decode", "floor"):
            continue
        behind = engine.directives().get("behind", [None])[0]
        if behind is not None and behind not in by_id:
            from benchlib import registry
            by_id |= {e.id: e for e in registry.engines() if e.id == behind}
        plugin = read_plugin(engine, by_id)
        if plugin.plugin != "pgoutput" and not home.has_library(plugin.plugin):
            context.report(f"skipped {engine.id}: this PostgreSQL has no {plugin.plugin}")
            continue
        found.append(plugin)
    return found


def run(workloads, engines, homes, oracle, context, plugins=None):
    plugins = plugins or available(engines, homes[0], context)
    for workload in workloads:
        with context.dataset(workload):
            context.write(run_workload(workload, plugins, homes, oracle, context))
