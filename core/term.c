/*
 * term.c
 *		Which of two matches wins.
 *
 * These orders are total: matches that tie in everything are the same pattern
 * in two machines of equal standing, and the lower machine wins.
 *
 * Copyright (c) 2026, the acdat_decoder authors; PostgreSQL licence
 */
#include "acd_internal.h"

/* Look up what decides. */
void
acd_candidate_know(acd_candidate *c, const acd_scan *scan)
{
	if (c->known)
		return;
	c->id = acd_term_id(scan->machines[c->machine], c->term);
	c->priority = acd_term_priority(scan->machines[c->machine], c->term);
	c->known = true;
}

/* By priority, then id, then machine. */
static bool
beats_by_standing(const acd_candidate *a, const acd_candidate *b)
{
	if (a->priority != b->priority)
		return a->priority > b->priority;
	if (a->id != b->id)
		return a->id < b->id;
	return a->machine < b->machine;
}

/* In a cover span: by priority, leftmost start, length, id. */
bool
acd_beats_in_span(const acd_candidate *a, const acd_candidate *b)
{
	if (a->priority != b->priority)
		return a->priority > b->priority;
	if (a->start != b->start)
		return a->start < b->start;
	if (a->end != b->end)
		return a->end > b->end;
	return beats_by_standing(a, b);
}

/* Of matches with one start: the longest. */
bool
acd_beats_by_length(const acd_candidate *a, const acd_candidate *b)
{
	if (a->end != b->end)
		return a->end > b->end;
	return beats_by_standing(a, b);
}

/* Of matches with one start: by priority, id, length. */
bool
acd_beats_by_priority(const acd_candidate *a, const acd_candidate *b)
{
	if (a->priority != b->priority)
		return a->priority > b->priority;
	if (a->id != b->id)
		return a->id < b->id;
	if (a->end != b->end)
		return a->end > b->end;
	return a->machine < b->machine;
}
