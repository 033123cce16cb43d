/*
 * core_automaton.c
 *		The core with all terms in its automaton and nothing before it: what
 *		filters and trees must not be much slower than on any text.
 *
 * Copyright (c) 2026, the acdat_decoder authors; PostgreSQL licence
 */
/* bench: core */
#define AUTOMATON_ALONE 1
#include "acdat.c"
