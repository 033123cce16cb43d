"""Building match engines: a C file, a Rust file, or a script that runs as it is."""

import os
import re
import shutil
import subprocess

from benchlib import paths

CFLAGS = ["-std=gnu11", "-O2", "-g", "-Wall", "-Wextra"]
CARGO_HEAD = """[package]
name = "bench-engines"
version = "0.0.0"
edition = "2021"

[profile.release]
opt-level = 3

[dependencies]
"""
RUST = paths.BUILD / "rust"


class Skip(Exception):
    """Why a peer cannot take part; the run goes on without it."""


def run(command, what, **options):
    """Run a build step; its failure skips what it was for."""
    done = subprocess.run(command, capture_output=True, text=True, **options)
    if done.returncode != 0:
        lines = (done.stderr or done.stdout).strip().splitlines()
        errors = [line for line in lines if "error" in line.lower()] or lines or ["failed"]
        raise Skip(f"{what}: {errors[0]}")
    return done.stdout


def newest(files):
    return max((f.stat().st_mtime for f in files), default=0)


def build_c(engine):
    compiler = os.environ.get("CC", "cc")
    if shutil.which(compiler) is None:
        raise Skip(f"no compiler {compiler}")
    directives = engine.directives()
    sources = [paths.BENCH / "driver" / "driver.c", engine.adapter]
    includes = ["-I", str(paths.BENCH / "driver")]
    watched = [paths.BENCH / "driver" / "engine.h"]
    if "core" in directives:
        sources += sorted((engine.root / "core").glob("*.c"))
        watched += sorted((engine.root / "core").glob("*.h"))
        includes += ["-I", str(engine.root / "core")]
    program = paths.BIN / engine.id
    if program.exists() and program.stat().st_mtime > newest(sources + watched):
        return program
    paths.BIN.mkdir(parents=True, exist_ok=True)
    links = " ".join(directives.get("link", [])).split()
    run([compiler, *CFLAGS, *includes, *map(str, sources), *links, "-o", str(program)],
        f"{engine.id} cannot be built")
    return program


def write_cargo_project(engines):
    """One project for all Rust engines, made from their "bench: crate" lines."""
    crates = sorted({crate for e in engines for crate in e.directives().get("crate", [])})
    text = CARGO_HEAD + "".join(re.sub(r"^(\S+) = (.*)$", r"\1 = \2\n", crate) for crate in crates)
    for engine in engines:
        source = os.path.relpath(engine.adapter, RUST)
        text += f'\n[[bin]]\nname = "{engine.id}"\npath = "{source}"\n'
    RUST.mkdir(parents=True, exist_ok=True)
    manifest = RUST / "Cargo.toml"
    if not manifest.exists() or manifest.read_text() != text:
        manifest.write_text(text)


def build_rust(engine):
    if shutil.which("cargo") is None:
        raise Skip("no cargo")
    run(["cargo", "build", "--release", "--quiet", "--bin", engine.id], f"{engine.id} cannot be built", cwd=RUST)
    return RUST / "target" / "release" / engine.id


def build_all(engines, report):
    """{engine id: command} of the engines that can take part."""
    rust = [e for e in engines if e.adapter.suffix == ".rs"]
    if rust:
        write_cargo_project(rust)
    commands = {}
    for engine in engines:
        try:
            if engine.adapter.suffix == ".c":
                commands[engine.id] = [str(build_c(engine))]
            elif engine.adapter.suffix == ".rs":
                commands[engine.id] = [str(build_rust(engine))]
            else:
                commands[engine.id] = [str(engine.adapter)]
        except Skip as reason:
            report(f"skipped {engine.id}: {reason}")
    return commands
