/*
 * scan.c
 *		acd_contains and acd_find.
 *
 * Copyright (c) 2026, the acdat_decoder authors; PostgreSQL licence
 */
#include "acd_scan.h"

/* Does anything match? */
acd_status
acd_contains(const acd_scan *scan, const void *text, size_t len, bool *found)
{
	acd_sweep	sweep;
	acd_status	status;

	if (found == NULL)
		return ACD_ERR_ARGUMENT;
	*found = false;
	status = acd_sweep_run(&sweep, scan, text, len, ACD_TAKE_ANY, NULL, NULL);
	if (sweep.open)
	{
		*found = true;
		return ACD_OK;
	}
	return status;
}

/* Report the matches of the scan's kind. */
acd_status
acd_find(const acd_scan *scan, const void *text, size_t len, acd_match_fn fn, void *arg)
{
	acd_sweep	sweep;
	acd_taker	taker;

	if (fn == NULL || scan == NULL)
		return ACD_ERR_ARGUMENT;
	switch (scan->kind)
	{
		case ACD_ALL_OVERLAPPING:
			taker = ACD_TAKE_OVERLAPPING;
			break;
		case ACD_LEFTMOST_LONGEST:
			taker = ACD_TAKE_LONGEST;
			break;
		case ACD_LEFTMOST_FIRST:
			taker = ACD_TAKE_FIRST;
			break;
		case ACD_COVER:
			taker = ACD_TAKE_COVER;
			break;
		default:
			return ACD_ERR_ARGUMENT;
	}
	return acd_sweep_run(&sweep, scan, text, len, taker, fn, arg);
}
