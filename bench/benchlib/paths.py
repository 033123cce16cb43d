"""Where things are: everything made by a run lives below build/bench of the clone."""

import pathlib

BENCH = pathlib.Path(__file__).resolve().parent.parent
ROOT = BENCH.parent
BUILD = ROOT / "build" / "bench"
DATA = BUILD / "data"
BIN = BUILD / "bin"
RUNS = BUILD / "results"        # one folder a run
TRACKED = BENCH / "results"     # results of releases, in the repository
ENGINES = BENCH / "engines"
