"""Match workloads: drivers held to the oracle, then timed in interleaved rounds."""

import json
import select
import subprocess

from benchlib import building, disturb, rows, schedule, texts

UNITS = {"speed": "MiB/s", "time": "ms", "share": "1"}
START_SECONDS = 300         # for building an engine's automaton
ANSWER_SECONDS = 120        # for one command


class WrongAnswer(Exception):
    """An engine that disagrees with the oracle."""


class Driver:
    """A running engine; see driver.c for the protocol."""

    def __init__(self, command, terms, text, prefix=()):
        self.process = subprocess.Popen([*prefix, *command, str(terms), str(text)], text=True, bufsize=1,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if self.reply(START_SECONDS) != "ready":
            self.close()
            raise building.Skip(self.process.stderr.read().strip() or "did not start")

    def reply(self, seconds):
        ready, _, _ = select.select([self.process.stdout], [], [], seconds)
        if not ready:
            self.process.kill()
            raise building.Skip(f"no answer within {seconds} s")
        return self.process.stdout.readline().strip()

    def ask(self, command, seconds=ANSWER_SECONDS):
        """The fields of the answer, None if the engine has no such operation."""
        try:
            self.process.stdin.write(command + "\n")
        except BrokenPipeError:
            raise building.Skip("ended early") from None
        fields = self.reply(seconds).split()
        if fields[:1] == ["ok"]:
            return fields[1:]
        if fields == ["unsupported"]:
            return None
        raise building.Skip(self.process.stderr.read().strip() or "ended early")

    def close(self):
        try:
            self.process.stdin.write("quit\n")
            self.process.stdin.close()
        except (BrokenPipeError, ValueError):
            pass
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def files_of(workload, size_kib):
    return (texts.dictionary_file(workload.dictionary),
            texts.text_file(workload.data, workload.dictionary, size_kib * 1024))


def oracle_answers(command, workload, files):
    """{operation: [count, hash]}, kept beside the text for the next run."""
    terms, text = files
    key = f"{texts.digest(terms)} {texts.digest(text)} {texts.digest(command[0])}"
    cache = text.with_name(f"{workload.id}-{text.stat().st_size}.answers")
    known = json.loads(cache.read_text()) if cache.exists() else {}
    if known.get("key") != key:
        known = {"key": key}
    missing = [op for op in workload.operations if op not in known]
    if missing:
        driver = Driver(command, terms, text)
        for operation in missing:
            known[operation] = driver.ask(f"verify {operation}", START_SECONDS)
        driver.close()
        cache.write_text(json.dumps(known))
    return known


def verified(driver, engine, workload, answers):
    """The operations the engine has, each found to answer as the oracle does."""
    supported = []
    for operation in workload.operations:
        if operation == "build":
            # Nothing to compare, and starting was the warm-up; a script or a limit builds nothing.
            if engine.kind == "match" and engine.adapter.suffix in (".c", ".rs"):
                supported.append(operation)
            continue
        answer = driver.ask(f"verify {operation}")
        if answer is None:
            continue
        if engine.kind != "limit" and answer != answers[operation]:
            raise WrongAnswer(f"{workload.id} {engine.id} {operation}: "
                              f"answers {' '.join(answer)}, the oracle {' '.join(answers[operation])}")
        supported.append(operation)
    return supported


def measurement(driver, operation, seconds):
    def measure():
        try:
            _answer, _iterations, nanoseconds = driver.ask(f"time {operation} {seconds} 0")
        except building.Skip as reason:
            raise RuntimeError(str(reason)) from None
        if operation == "build":
            return {"time": float(nanoseconds) / 1e6}
        return {"speed": driver.text_bytes / 1048576 / (float(nanoseconds) / 1e9)}
    return measure


class Running:
    """Drivers that stay for the next text, as long as the terms are the same."""

    def __init__(self):
        self.terms = None
        self.drivers = {}

    def get(self, engine, command, workload, files, report):
        """A driver with the text, or None with a message."""
        terms, text = files
        if terms != self.terms:
            self.close()
            self.terms = terms
        driver = self.drivers.get(engine.id)
        if driver is not None:
            try:
                if driver.ask(f"text {text}") is None:
                    raise building.Skip("it cannot change its text")
                driver.text_bytes = int(driver.ask("info")[3])
                return driver
            except building.Skip:       # it failed at the last text; a new one may not
                self.drivers.pop(engine.id).close()
        driver = start(engine, command, workload, files, report)
        if driver is not None:
            self.drivers[engine.id] = driver
        return driver

    def close(self):
        for driver in self.drivers.values():
            driver.close()
        self.drivers = {}


def start(engine, command, workload, files, report):
    """A driver, or None with a message."""
    limit = engine.directives().get("max-terms")
    if limit and len(texts.words.dictionary(workload.dictionary)) > int(limit[0]):
        report(f"skipped {engine.id} at {workload.id}: not for more than {limit[0]} terms")
        return None
    try:
        with disturb.Watch() as watch:
            driver = Driver(command, *files)
        driver.disturbed = watch.disturbed
        info = driver.ask("info")
    except building.Skip as reason:
        report(f"skipped {engine.id} at {workload.id}: {reason}")
        return None
    driver.text_bytes = int(info[3])
    driver.info = info
    return driver


def static_rows(engine, workload, driver):
    if engine.kind == "limit" or engine.adapter.suffix not in (".c", ".rs"):
        return []
    size, _build_ns, peak_kib = (int(x) for x in driver.info[:3])
    return [rows.single(workload.id, engine.id, "artifact", "size", size / 1048576, "MiB"),
            rows.single(workload.id, engine.id, "build", "memory", peak_kib / 1024, "MiB")]


def run_workload(workload, engines, commands, context, running):
    """Verify and time one workload; returns the rows."""
    with context.phase("texts"):
        files = files_of(workload, workload.sizes[context.tier])
        answers = oracle_answers(commands["oracle"], workload, files)
    cells = []
    result = []
    for engine in engines:
        if engine.kind == "oracle" or engine.id not in commands:
            continue
        with context.phase("start"):
            driver = running.get(engine, commands[engine.id], workload, files, context.report)
        if driver is None:
            continue
        try:
            with context.phase("check"):
                operations = verified(driver, engine, workload, answers)
        except WrongAnswer as wrong:
            context.wrong(str(wrong))
            continue
        except building.Skip as reason:
            context.report(f"skipped {engine.id} at {workload.id}: {reason}")
            continue
        result += static_rows(engine, workload, driver)
        for operation in operations:
            judge = "time" if operation == "build" else "speed"
            cell = schedule.Cell(workload.id, engine.id, operation, judge,
                                 measurement(driver, operation, context.sample_seconds))
            seconds = int(driver.info[1]) / 1e9
            if operation == "build" and seconds > context.limits.cell_seconds:
                # Too slow to repeat: starting has measured it once.
                cell.preload({"time": seconds * 1e3}, schedule.SLOWEST_FACTOR * seconds, driver.disturbed)
            cells.append(cell)
    if not context.check_only:
        for operation in workload.operations:
            group = [cell for cell in cells if cell.workload == operation]
            context.measure(group)
            for cell in group:
                result += rows.from_cell(cell, UNITS)
    return result


def run_workloads(workloads, engines, commands, context):
    running = Running()
    try:
        for workload in sorted(workloads, key=lambda w: w.dictionary):
            with context.dataset(workload):
                context.write(run_workload(workload, engines, commands, context, running))
    finally:
        running.close()


def run(workloads, engines, context):
    commands = building.build_all([e for e in engines if e.kind in ("match", "limit", "oracle")], context.report)
    run_workloads(workloads, engines, commands, context)
