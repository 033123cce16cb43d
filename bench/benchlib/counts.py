"""User-space instructions of one more iteration: the evidence that survives noise.

A program is run twice, doing its operation once and twice; the difference is
what one iteration costs, without start-up.  Decoding is run to the end of the
stream and to its start instead, so that loading a policy is left out.  perf stat counts where it works,
else callgrind on a small size (which hides AVX-512 from programs).  What runs
beside it does not change a count, so as many run at once as there are cores.
"""

import concurrent.futures
import dataclasses
import os
import queue
import re
import shutil
import subprocess
import tempfile

from benchlib import building, cli, context, database, decode, match, paths, registry, rows, server, sqlbench, texts

TIER = "tiny"
TIMEOUT = 600
BUFFERS = "2048"                    # of a stand-alone backend: setting up more would be most of what it does
SCRIPTS = (".py", ".pl", ".sh")     # an interpreter's instructions say little


def perf_works():
    if shutil.which("perf") is None:
        return False
    done = subprocess.run(["perf", "stat", "-x,", "-e", "instructions:u", "true"], capture_output=True, text=True)
    return done.returncode == 0 and re.search(r"^\d+,", done.stderr, re.M) is not None


def instructions(command, script, use_perf, **options):
    """User-space instructions of a command that reads a script."""
    with tempfile.NamedTemporaryFile("r", prefix="acdat-bench-", suffix=".count") as log:
        if use_perf:
            prefix = ["perf", "stat", "-x,", "-o", log.name, "-e", "instructions:u"]
        else:
            prefix = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
        done = subprocess.run([*prefix, *command], input=script, capture_output=True, text=True, timeout=TIMEOUT,
                              **options)
        if done.returncode != 0:
            raise building.Skip((done.stderr.strip().splitlines() or ["failed"])[-1])
        text = log.read() if use_perf else done.stderr
    found = re.search(r"^(\d+),", text, re.M) if use_perf else re.search(r"Collected *: *(\d+)", text)
    if found is None:
        raise building.Skip("no count in the output")
    return int(found[1])


def difference(command, less, more, use_perf, **options):
    """Instructions that the longer script costs beyond the shorter one."""
    return (instructions(command, more, use_perf, **options)
            - instructions(command, less, use_perf, **options))


# ---- match ----

class Counter:
    """A driver whose instructions can be asked for at any time."""

    def __init__(self, command, files, use_perf):
        self.command = [*command, *map(str, files)]
        self.use_perf = use_perf
        self.driver = None
        if not use_perf:
            # Building is not instrumented; operations are, one at a time.
            prefix = ("valgrind", "--tool=callgrind", "--instr-atstart=no", "--callgrind-out-file=/dev/null")
            self.driver = match.Driver(command, *files, prefix=prefix)
            self.control("-i", "on")

    def control(self, *arguments):
        done = subprocess.run(["callgrind_control", *arguments, str(self.driver.process.pid)], capture_output=True,
                              text=True, timeout=TIMEOUT)
        return done.stdout

    def total(self):
        text = self.control("-e")
        if "Totals" not in text:
            raise building.Skip("callgrind_control gives no totals")
        found = re.search(r"Th 1 +([\d,]+)", text)     # absent until something was counted
        return int(found[1].replace(",", "")) if found else 0

    def spent(self, operation, iterations):
        before = self.total()
        if self.driver.ask(f"time {operation} 1e9 {iterations}", TIMEOUT) is None:
            return None
        return self.total() - before

    def count(self, operation):
        """Instructions of one iteration, None if the engine has no such operation."""
        if self.use_perf:
            return difference(self.command, f"time {operation} 1e9 1\nquit\n", f"time {operation} 1e9 2\nquit\n", True)
        once = self.spent(operation, 1)         # also the warm-up
        if once is None:
            return None
        once = self.spent(operation, 1)
        return self.spent(operation, 2) - once

    def close(self):
        if self.driver is not None:
            self.driver.close()


def count_workload(workload, engine, command, files, report, use_perf):
    """The rows of an engine at a workload."""
    counted = []
    counter = None
    try:
        counter = Counter(command, files, use_perf)
        for operation in workload.operations:
            count = counter.count(operation)
            if count:
                counted.append(rows.single(workload.id, engine.id, operation, "instructions", count, "instructions"))
    except (building.Skip, subprocess.TimeoutExpired) as problem:
        report(f"skipped {engine.id} at {workload.id}: {problem}")
    finally:
        if counter is not None:
            counter.close()
    return counted


def at_once(function, jobs, run, done):
    """Write the rows that function(job) gives for each job, in the order of the jobs."""
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        try:
            for job, counted in zip(jobs, pool.map(function, jobs)):
                run.write(counted)
                run.report(done(job))
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def count_match(workloads, engines, run, use_perf):
    commands = building.build_all([e for e in engines if e.kind == "match"], run.report)
    jobs = []
    for workload in workloads:
        files = match.files_of(workload, workload.sizes[TIER])
        terms = len(texts.words.dictionary(workload.dictionary))
        for engine in engines:
            limit = engine.directives().get("max-terms")
            if engine.id in commands and engine.adapter.suffix not in SCRIPTS and not (limit and terms > int(limit[0])):
                jobs.append((workload, engine, commands[engine.id], files))
    at_once(lambda job: count_workload(*job, run.report, use_perf), jobs, run,
            lambda job: f"{job[0].id} {job[1].id} counted")


# ---- decode and SQL, in a stand-alone backend ----

@dataclasses.dataclass
class Job:
    """What a statement costs: the longer script's instructions without the shorter one's."""
    dataset: str
    engine: str
    operation: str
    database: str
    settings: str
    less: str
    more: str


class Alone:
    """A stopped server whose backends run alone, each in a copy of the data, their statements on standard input."""

    def __init__(self, home, use_perf):
        self.home = home
        self.use_perf = use_perf
        self.free = queue.SimpleQueue()
        for number in range(os.cpu_count()):
            copy = home.work / f"alone{number}"
            shutil.copytree(home.work / "data", copy)
            if home.user:
                for path in (copy, *copy.rglob("*")):
                    os.chown(path, home.user.pw_uid, home.user.pw_gid)
            self.free.put(copy)

    def count(self, job):
        """The row of a job, in a list."""
        data = self.free.get()
        try:
            command = [str(self.home.bin / "postgres"), "--single", "-B", BUFFERS, "-D", str(data), job.database]
            settings = job.settings.replace(";", "\n") + "\n"
            count = difference(command, settings + job.less + "\n", settings + job.more + "\n", self.use_perf,
                               cwd=self.home.work, env=self.home.environment, **self.home.as_user())
            return [rows.single(job.dataset, job.engine, job.operation, "instructions", count, "instructions")]
        except (building.Skip, subprocess.TimeoutExpired) as problem:
            self.home.report(f"skipped {job.engine} {job.operation} at {job.dataset}: {problem}")
            return []
        finally:
            self.free.put(data)


def count_server(by_kind, engines, run, use_perf):
    """Load everything, stop the server, count statement by statement."""
    home = server.Server(run.report)
    jobs = []
    try:
        home.start()
        run.facts["server"] = home.version()
        database.make_base(home, run)
        plugins = decode.available(engines, home, run)
        for workload in by_kind.get("decode", []):
            stream = decode.Stream(home, workload, workload.sizes[TIER])
            start = home.sql(f"SELECT confirmed_flush_lsn FROM pg_replication_slots WHERE slot_name = '{stream.base}'")
            sizes = {}
            for plugin in sorted(plugins, key=lambda p: decode.sized_after(p) is not None):
                fitted = decode.fitted(plugin, sizes, workload)
                if plugin.pipe or decode.sized_after(fitted) is not None:
                    continue
                slot = decode.peek_slot(stream, plugin)
                size = decode.counted(stream, fitted, run)
                sizes |= decode.sizes_for(stream, fitted, size, plugins)
                query = decode.peek_query(stream, fitted, slot, "count(*)")
                jobs.append(Job(workload.id, plugin.id, "peek", stream.database, stream.settings,
                                query.replace(stream.end, start), query))
            home.sql(f"SELECT pg_drop_replication_slot('{stream.base}')")
        for workload in by_kind.get("sql", []):
            name = f"bench_{workload.id}"
            sqlbench.load(home, name, workload, workload.sizes[TIER], engines)
            for engine in sqlbench.read_statements(engines, workload, home, run):
                jobs += [Job(workload.id, engine.id, f"{operation} +0", name, "", statement + ";",
                             f"{statement};\n{statement};")
                         for operation, statement in engine.by_operation.items()]
        home.shut_down()
        at_once(Alone(home, use_perf).count, jobs, run,
                lambda job: f"{job.dataset} {job.engine} {job.operation} counted")
    finally:
        home.stop()


def run(options):
    use_perf = perf_works()
    if not use_perf and shutil.which("valgrind") is None:
        raise registry.UsageError("neither perf stat nor valgrind works here: bench/bench setup")
    engines, workloads = cli.selected(options, TIER)
    counting = context.Context(TIER, rows.Writer(cli.run_folder(options, "counts-")))
    counting.facts["counted by"] = "perf stat" if use_perf else "callgrind"
    by_kind = {}
    for workload in workloads:
        by_kind.setdefault(workload.kind, []).append(workload)
    if "match" in by_kind:
        count_match(by_kind["match"], engines, counting, use_perf)
    if by_kind.keys() & {"decode", "sql"}:
        count_server(by_kind, engines, counting, use_perf)
    cli.write_facts(counting, engines)
    print(counting.writer.folder.relative_to(paths.ROOT))
    return 0
