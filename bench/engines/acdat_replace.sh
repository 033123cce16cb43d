#!/bin/sh
# The program of this project as its users run it; ACDAT names it.
# usage: acdat_replace.sh --file TERMS IN OUT
exec "$ACDAT" replace --dictionary="$2" --kind=leftmost_longest "$3" >"$4"
