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
	if (acd_is_short(scan, text, len))
	{
		acd_hits	hits;

		*found = acd_short_look(scan, text, len, &hits) && acd_short_any(scan, text, len, &hits);
		return ACD_OK;
	}
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

	if (fn == NULL || scan == NULL || !acd_taker_of(scan->kind, &taker))
		return ACD_ERR_ARGUMENT;
	if (acd_is_short(scan, text, len))
	{
		acd_hits	hits;

		return acd_short_look(scan, text, len, &hits) ? acd_short_find(scan, text, len, &hits, fn, arg) : ACD_OK;
	}
	return acd_sweep_run(&sweep, scan, text, len, taker, fn, arg);
}
