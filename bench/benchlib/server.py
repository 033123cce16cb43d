"""A throwaway PostgreSQL: private copy of the installation, unix socket only, unprivileged user."""

import os
import pathlib
import pwd
import select
import shutil
import subprocess
import tempfile
import time

from benchlib import building, paths

SETTINGS = """
listen_addresses = ''
unix_socket_directories = '{socket}'
wal_level = logical
max_replication_slots = 300
max_wal_senders = 10
wal_sender_timeout = 0
max_wal_size = 64GB
checkpoint_timeout = 1d
fsync = off
full_page_writes = off
autovacuum = off
shared_buffers = 512MB
work_mem = 2GB
temp_buffers = 64MB
maintenance_work_mem = 1GB
max_stack_depth = 7MB
max_parallel_workers = 4
jit = off
log_min_messages = fatal
"""
PLUGINS = "pgoutput, test_decoding, wal2json, decoderbufs, acdat_decoder, bench_floor"
START_SECONDS = 60
STATEMENT_SECONDS = 600


def server_user():
    """None for "as we are"; else the user to run servers as, since PostgreSQL refuses root."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    raise building.Skip("no unprivileged user to run a server as")


class Server:
    """An installation, a data directory and the running server."""

    def __init__(self, report, root=paths.ROOT, name="pg"):
        self.report = report
        self.root = root
        self.user = server_user()
        self.work = pathlib.Path(tempfile.mkdtemp(prefix="acdat-bench-", dir="/tmp" if len(tempfile.gettempdir()) > 60
                                                  else None))
        if self.user:
            os.chown(self.work, self.user.pw_uid, self.user.pw_gid)
        self.pg_config = self.install(name)
        self.bin = pathlib.Path(self.config("--bindir"))
        self.environment = dict(os.environ, PGHOST=str(self.work), PGUSER="bench", PGDATABASE="postgres",
                                PGPORT="5432", PGOPTIONS="", PATH=f"{self.bin}:{os.environ['PATH']}",
                                LC_ALL="C.UTF-8", PGCLIENTENCODING="UTF8")
        self.process = None

    # ---- installation ----

    def as_user(self):
        if not self.user:
            return {}
        return {"user": self.user.pw_uid, "group": self.user.pw_gid, "extra_groups": []}

    def readable(self, path):
        return subprocess.run(["test", "-r", str(path)], **self.as_user()).returncode == 0

    def install(self, name):
        """A copy of the installation with the extension, the peers and our own libraries in it."""
        original = os.environ.get("PG_CONFIG", "pg_config")
        if shutil.which(original) is None:
            raise building.Skip(f"no {original}: set PG_CONFIG")
        paths.BUILD.mkdir(parents=True, exist_ok=True)
        home = paths.BUILD if self.readable(paths.BUILD) else self.work
        self.has_acdat = True
        command = [str(self.root / "scripts" / "scratch-install"), original, str(home / name)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            raise building.Skip("the extension cannot be built: " + done.stderr.strip()[-300:])
        pg_config = done.stdout.strip().splitlines()[-1]
        self.pg_config = pg_config
        here = pathlib.Path(self.config("--pkglibdir"))
        there = pathlib.Path(building.run([original, "--pkglibdir"], "pg_config").strip())
        for library in there.glob("*.so"):      # peers installed since the copy was made
            if not (here / library.name).exists():
                shutil.copy2(library, here / library.name)
        for source in sorted((paths.BENCH / "floor").glob("*.c")):
            building.run([os.environ.get("CC", "cc"), "-std=gnu11", "-O2", "-fPIC", "-shared", "-Wall",
                          "-isystem", self.config("--includedir-server"), "-I", str(paths.BENCH / "driver"), str(source),
                          "-o", str(here / f"{source.stem}.so")], f"{source.name} cannot be built")
        return pg_config

    def config(self, what):
        return building.run([self.pg_config, what], "pg_config").strip()

    def has_library(self, name):
        return (pathlib.Path(self.config("--pkglibdir")) / f"{name}.so").exists()

    # ---- running ----

    def start(self):
        data = self.work / "data"
        building.run([str(self.bin / "initdb"), "-D", str(data), "-U", "bench", "-A", "trust", "-E", "UTF8",
                      "--locale=C", "--no-sync"], "initdb", cwd=self.work, env=self.environment, **self.as_user())
        with open(data / "postgresql.conf", "a", encoding="utf8") as f:
            f.write(SETTINGS.format(socket=self.work))
        # Minors before the setting exists refuse to start with it.
        probe = subprocess.run([str(self.bin / "postgres"), "-D", str(data), "-C", "output_plugin_libraries"],
                               capture_output=True, cwd=self.work, env=self.environment, **self.as_user())
        if probe.returncode == 0:
            with open(data / "postgresql.conf", "a", encoding="utf8") as f:
                f.write(f"output_plugin_libraries = '{PLUGINS}'\n")
        with open(self.work / "log", "wb") as log:
            self.process = subprocess.Popen([str(self.bin / "postgres"), "-D", str(data)], stdout=log, stderr=log,
                                            cwd=self.work, env=self.environment, **self.as_user())
        deadline = time.monotonic() + START_SECONDS
        while subprocess.run([str(self.bin / "pg_isready"), "-q"], env=self.environment).returncode != 0:
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise building.Skip("the server does not start: " + (self.work / "log").read_text()[-300:])
            time.sleep(0.1)
        return self

    def shut_down(self):
        """Stop the server, keep its data."""
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(5)
            except subprocess.TimeoutExpired:
                self.process.send_signal(2)     # fast shutdown
                self.process.wait(60)

    def stop(self):
        self.shut_down()
        shutil.rmtree(self.work, ignore_errors=True)

    def __enter__(self):
        return self.start()

    def __exit__(self, *exception):
        self.stop()

    def sql(self, script, database="postgres", seconds=3600):
        """Run a psql script; its output without the last newline."""
        done = subprocess.run([str(self.bin / "psql"), "-XAtq", "-v", "ON_ERROR_STOP=1", "-d", database, "-f", "-"],
                              input=script, capture_output=True, text=True, env=self.environment, timeout=seconds)
        if done.returncode != 0:
            raise RuntimeError(done.stderr.strip().splitlines()[0] if done.stderr.strip() else "psql failed")
        return done.stdout.removesuffix("\n")

    def version(self):
        return building.run([str(self.bin / "postgres"), "--version"], "postgres").strip()

    def backends(self):
        """{process id: title} of the server's children."""
        pid = self.process.pid
        found = {}
        try:
            with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as f:
                children = f.read().split()
        except OSError:         # a kernel without that file
            children = [name for name in os.listdir("/proc") if name.isdigit() and parent_of(name) == pid]
        for child in children:
            try:
                with open(f"/proc/{child}/cmdline", "rb") as f:
                    found[int(child)] = f.read().rstrip(b"\0").decode("latin1")
            except OSError:
                continue
        return found


def parent_of(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="latin1") as f:
            return int(f.read().rsplit(")", 1)[1].split()[1])
    except OSError:
        return 0


# ---- what a backend used ----

class Usage:
    """Last known CPU seconds and peak memory of a process."""

    def __init__(self, pid):
        self.pid = pid
        self.cpu = 0.0
        self.ticks = (0, 0)             # user, system
        self.peak_mib = 0.0

    def read(self):
        """False once the process is gone; the last reading stays."""
        try:
            with open(f"/proc/{self.pid}/schedstat", encoding="ascii") as f:
                cpu = int(f.read().split()[0]) / 1e9
            with open(f"/proc/{self.pid}/stat", encoding="latin1") as f:
                user, system = (int(x) for x in f.read().rsplit(")", 1)[1].split()[11:13])
            with open(f"/proc/{self.pid}/status", encoding="latin1") as f:
                peak = next((int(line.split()[1]) for line in f if line.startswith("VmHWM:")), 0)
        except (OSError, IndexError, ValueError):
            return False
        if peak == 0:       # a zombie keeps its times only
            return False
        self.cpu = cpu
        self.ticks = (user, system)
        self.peak_mib = peak / 1024
        return True


    def since(self, cpu=0.0, ticks=(0, 0)):
        """{user, cpu, peak} since an earlier reading."""
        spent = self.cpu - cpu
        user, system = self.ticks[0] - ticks[0], self.ticks[1] - ticks[1]
        # The scheduler knows the sum in nanoseconds, the split in ticks.
        share = user / (user + system) if user + system else 1.0
        return {"user": spent * share, "cpu": spent, "peak": self.peak_mib}


class Session:
    """A fresh backend behind a psql, to time single statements."""

    def __init__(self, server, database, settings=""):
        self.process = subprocess.Popen([str(server.bin / "psql"), "-XAtq", "-v", "ON_ERROR_STOP=1", "-d", database],
                                        text=True, bufsize=1, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, env=server.environment)
        self.usage = Usage(int(self.ask(settings + " SELECT pg_backend_pid();")))

    def ask(self, statement):
        """The first line of the result of a one-row statement."""
        self.process.stdin.write(statement.replace("\n", " ") + "\n")
        self.process.stdin.flush()
        # psql writes the line at once, so waiting for its first byte is enough.
        ready, _, _ = select.select([self.process.stdout], [], [], STATEMENT_SECONDS)
        line = self.process.stdout.readline() if ready else ""
        if not ready:
            self.process.kill()
            raise RuntimeError(f"no result within {STATEMENT_SECONDS} s")
        if not line:
            error = self.process.stderr.read().strip().splitlines()
            self.process.wait(30)
            raise RuntimeError(error[0] if error else "the session ended")
        return line.rstrip("\n")

    def timed(self, statement):
        """(result, {wall, user, cpu, peak}) of a statement."""
        self.usage.read()
        cpu, ticks = self.usage.cpu, self.usage.ticks
        start = time.perf_counter()
        result = self.ask(statement)
        wall = time.perf_counter() - start
        self.usage.read()
        return result, {"wall": wall} | self.usage.since(cpu, ticks)

    def close(self):
        self.process.stdin.close()
        self.process.wait(30)

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()
