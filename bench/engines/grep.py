#!/usr/bin/env python3
"""GNU grep -F as a whole process: reading the terms and compiling them is in every run.

bench: max-terms 100000

Speaks the protocol of driver.c with one operation, rows-contains (grep -c).
"""

import os
import resource
import subprocess
import sys


def cpu_ns():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (usage.ru_utime + usage.ru_stime) * 1e9


def count_rows(terms, text):
    environment = dict(os.environ, LC_ALL="C")
    done = subprocess.run(["grep", "-a", "-c", "-F", "-f", terms, text],
                          stdout=subprocess.PIPE, env=environment, text=True)
    return int(done.stdout)


def answer(command, terms, text):
    verb, operation, *limits = command + [""] * (2 - len(command))
    if verb == "info":
        with open(text, "rb") as f:
            content = f.read()
        return f"ok 0 0 0 {len(content)} {content.count(10)}"
    if operation != "rows-contains":
        return "unsupported"
    if verb == "verify":
        return f"ok {count_rows(terms, text)} cbf29ce484222325"
    budget = float(limits[0]) * 1e9 if limits else 0
    limit = int(limits[1]) if len(limits) > 1 else 0
    start = cpu_ns()
    iterations = 0
    while True:
        rows = count_rows(terms, text)
        iterations += 1
        spent = cpu_ns() - start
        if spent >= budget or iterations == limit:
            return f"ok {rows} {iterations} {spent / iterations:.1f}"


def main():
    terms, text = sys.argv[1:]
    print("ready", flush=True)
    for line in sys.stdin:
        command = line.split()
        if command == ["quit"]:
            return
        if command[:1] == ["text"]:
            text = line.removeprefix("text ").rstrip("\n")
            print("ok", flush=True)
            continue
        print(answer(command, terms, text), flush=True)


main()
