/*
 * scan.c
 *		acd_contains, acd_find, and the kind that reports every match.
 *
 * Copyright (c) 2026, the acdat_decoder authors; PostgreSQL licence
 */
#include "acd_internal.h"

/* Does anything match? */
acd_status
acd_contains(const acd_scan *scan, const void *text, size_t len, bool *found)
{
	acd_cursor	cursor;
	acd_status	status;
	bool		hit;

	if (found == NULL)
		return ACD_ERR_ARGUMENT;
	*found = false;
	status = acd_cursor_init(&cursor, scan, text, len);
	if (status != ACD_OK)
		return status;
	for (;;)
	{
		acd_candidate longest;

		status = acd_cursor_next(&cursor, &hit);
		if (status != ACD_OK || !hit)
			return status;
		if (scan->boundaries == NULL || acd_cursor_longest(&cursor, &longest))
		{
			*found = true;
			return ACD_OK;
		}
		status = acd_cursor_work(&cursor, 0);
		if (status != ACD_OK)
			return status;
	}
}

/*
 * Report the matches that end here, longest first.  The chains of all
 * machines are merged by length; of equal patterns the best is reported.
 */
static acd_status
report_ends(acd_cursor *cursor, acd_match_fn fn, void *arg)
{
	const acd_scan *scan = cursor->scan;
	uint32_t	chain[ACD_MAX_MACHINES];

	for (uint32_t m = 0; m < scan->nmachines; m++)
		chain[m] = acd_cursor_valid(cursor, m,
									acd_slot_out(scan->machines[m]->states, cursor->states[m]));
	for (;;)
	{
		acd_candidate best;
		acd_match	match;
		bool		found = false;
		acd_status	status;

		for (uint32_t m = 0; m < scan->nmachines; m++)
		{
			acd_candidate c;

			if (chain[m] == 0)
				continue;
			acd_candidate_set(&c, scan, m, chain[m] - 1,
							  cursor->pos - acd_term_len(scan->machines[m], chain[m] - 1),
							  cursor->pos);
			if (!found || c.start < best.start ||
				(c.start == best.start && acd_beats_by_length(&c, &best)))
				best = c;
			found = true;
		}
		if (!found)
			return acd_cursor_work(cursor, 0);

		for (uint32_t m = 0; m < scan->nmachines; m++)
		{
			const acd_machine *machine = scan->machines[m];

			if (chain[m] != 0 &&
				cursor->pos - acd_term_len(machine, chain[m] - 1) == best.start)
				chain[m] = acd_cursor_valid(cursor, m, acd_term_next(machine, chain[m] - 1));
		}
		match.start = best.start;
		match.end = best.end;
		match.machine = best.machine;
		match.term = best.term;
		if (fn(arg, &match) != 0)
			return ACD_ERR_STOPPED;
		status = acd_cursor_work(cursor, 1);
		if (status != ACD_OK)
			return status;
	}
}

/* Report every match. */
acd_status
acd_scan_overlapping(acd_cursor *cursor, acd_match_fn fn, void *arg)
{
	acd_status	status;
	bool		hit;

	for (;;)
	{
		status = acd_cursor_next(cursor, &hit);
		if (status != ACD_OK || !hit)
			return status;
		status = report_ends(cursor, fn, arg);
		if (status != ACD_OK)
			return status;
	}
}

/* Report the matches of the scan's kind. */
acd_status
acd_find(const acd_scan *scan, const void *text, size_t len, acd_match_fn fn, void *arg)
{
	acd_cursor	cursor;
	acd_status	status;

	if (fn == NULL)
		return ACD_ERR_ARGUMENT;
	status = acd_cursor_init(&cursor, scan, text, len);
	if (status != ACD_OK)
		return status;
	switch (scan->kind)
	{
		case ACD_ALL_OVERLAPPING:
			return acd_scan_overlapping(&cursor, fn, arg);
		case ACD_COVER:
			return acd_scan_cover(&cursor, fn, arg);
		case ACD_LEFTMOST_LONGEST:
		case ACD_LEFTMOST_FIRST:
			return acd_scan_leftmost(&cursor, fn, arg);
	}
	return ACD_ERR_ARGUMENT;
}
