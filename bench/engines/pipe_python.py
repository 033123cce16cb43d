#!/usr/bin/env python3
"""What a user does today: wal2json's lines through one regular expression.

bench: behind wal2json_v2
bench: redacts small
"""

import re
import sys

with open(sys.argv[1], encoding="utf8") as f:
    terms = f.read().splitlines()

# Longest first: an alternation takes the first branch that fits.
pattern = re.compile("|".join(map(re.escape, sorted(terms, key=len, reverse=True))))
sys.stdin.reconfigure(encoding="utf8")
sys.stdout.reconfigure(encoding="utf8")
for line in sys.stdin:
    sys.stdout.write(pattern.sub("[REDACTED]", line))
