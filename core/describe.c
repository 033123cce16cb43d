/*
 * describe.c
 *		Facts about an open machine.
 *
 * Copyright (c) 2026, the acdat_decoder authors; PostgreSQL licence
 */
#include "acd_internal.h"

/* What scans a machine: by kinds of tiers, then by whether it has an automaton. */
static const char *const engines[3][2] = {
	{"start filter, trees", "start filter, trees, automaton"},
	{"window filter, trees", "window filter, trees, automaton"},
	{"start and window filters, trees", "start and window filters, trees, automaton"}
};

/* Why: the same, then by whether the automaton holds all terms. */
static const char *const reasons[3][3] = {
	{
		"some terms have fewer than 8 bytes",
		"some terms have fewer than 8 bytes; some could make walking slow",
		"some terms have fewer than 8 bytes; most could make walking slow"
	},
	{
		"all terms have 8 bytes or more",
		"all terms have 8 bytes or more; some could make walking slow",
		"all terms have 8 bytes or more; most could make walking slow"
	},
	{
		"short terms are kept apart from longer ones",
		"short terms are kept apart from longer ones; some could make walking slow",
		"short terms are kept apart from longer ones; most could make walking slow"
	}
};

/* Describe an open machine. */
void
acd_machine_describe(const acd_machine *machine, acd_machine_info *info)
{
	int			starts = 0;
	int			windows = 0;
	int			filters;

	for (uint32_t t = 0; t < machine->ntiers; t++)
	{
		starts += machine->tiers[t].step == 0;
		windows += machine->tiers[t].step != 0;
	}
	filters = starts > 0 && windows > 0 ? 2 : windows > 0;
	info->terms = machine->nterms;
	info->states = machine->nnodes;
	info->bytes = machine->size;
	info->min_len = machine->min_len;
	info->max_len = machine->max_len;
	info->version = acd_le16(machine->bytes + ACD_AT_VERSION);
	info->digest = machine->bytes + ACD_AT_DIGEST;
	info->engine = engines[filters][machine->nends > 0];
	info->reason = reasons[filters][machine->nends == 0 ? 0 : machine->nends < machine->nterms ? 1 : 2];
}
