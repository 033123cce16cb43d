"""File workloads: a whole program copies a file of lines with their matches replaced."""

import os
import subprocess

from benchlib import building, paths, rows, schedule, texts

UNITS = {"time": "s", "cpu": "s", "memory": "MiB"}
BLOCK_BYTES = 32 * 1024 * 1024  # what is generated; longer files repeat it, which no cache of a processor notices
OPERATION = "replace"
SKIPPED = ("vectorscan", "grep")        # they do not replace


def lines_of(workload, size):
    """A file of so many lines."""
    target = paths.DATA / texts.words.flavour() / f"{workload.id}-{size}.lines"
    if target.exists():
        return target
    block = texts.text_file(workload.data, workload.dictionary, min(BLOCK_BYTES, (size + 1) * 2 * texts.TITLE_BYTES))
    lines = block.read_bytes().removesuffix(b"\n").split(b"\n")[:size]
    whole = b"\n".join(lines) + b"\n"
    partial = target.with_name(target.name + ".partial")
    with open(partial, "wb") as f:
        for _ in range(size // len(lines)):
            f.write(whole)
        f.writelines(line + b"\n" for line in lines[:size % len(lines)])
    partial.rename(target)
    return target


def job(runner, command, terms, lines, out):
    """Run one; its seconds, CPU seconds and peak of memory."""
    done = subprocess.run([*runner, "--run", *command, "--file", str(terms), str(lines), str(out)],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip() or f"exit {done.returncode}")
    wall, cpu, peak_kib = done.stdout.split()
    return {"time": float(wall), "cpu": float(cpu), "memory": int(peak_kib) / 1024}


def expected(commands, workload, terms, tier_lines, context):
    """The digest that outputs must have: the oracle's of few lines, the textbook automaton's of many."""
    judge = "oracle" if tier_lines <= 10000 else "textbook"
    if judge not in commands or "textbook" not in commands:
        context.report(f"skipped {workload.id}: it needs {judge} and textbook")
        return None
    lines = lines_of(workload, tier_lines)
    out = paths.DATA / "file-job.out"
    job(commands[judge], commands[judge], terms, lines, out)
    return texts.digest(out)


def run_workload(workload, engines, commands, context):
    size = workload.sizes[context.tier]
    out = paths.DATA / "file-job.out"
    with context.phase("texts"):
        terms = texts.dictionary_file(workload.dictionary)
        lines = lines_of(workload, size)
        answer = expected(commands, workload, terms, size, context)
    if answer is None:
        return []
    cells = []
    for engine in engines:
        if engine.kind not in ("match", "file") or engine.id not in commands:
            continue
        command = commands[engine.id]

        def measure(command=command):
            return job(commands["textbook"], command, terms, lines, out)

        with context.phase("check"):
            try:
                measure()
            except RuntimeError as reason:
                context.report(f"skipped {engine.id} at {workload.id}: {reason}")
                continue
            if texts.digest(out) != answer:
                context.wrong(f"{workload.id} {engine.id}: another output than expected")
                continue
        cells.append(schedule.Cell(workload.id, engine.id, OPERATION, "time", measure))
    result = [rows.single(workload.id, "", "lines", "count", size, "lines"),
              rows.single(workload.id, "", "lines", "bytes", lines.stat().st_size, "bytes")]
    if not context.check_only:
        context.measure(cells)
        for cell in cells:
            result += rows.from_cell(cell, UNITS)
    out.unlink(missing_ok=True)
    return result


def run(workloads, engines, context):
    """Run all programs that replace."""
    able = [e for e in engines if e.kind in ("match", "oracle", "file") and e.id not in SKIPPED]
    commands = building.build_all(able, context.report)
    if any(e.kind == "file" for e in able):
        program = paths.ROOT / "src" / "bin" / "acdat" / "acdat"
        building.run(["make", "-s", "-C", str(program.parent)], "acdat cannot be built")
        os.environ["ACDAT"] = str(program)
    for workload in workloads:
        with context.dataset(workload):
            context.write(run_workload(workload, able, commands, context))
