/*
 * period.c
 *		Skipping text that repeats itself.
 *
 * Where each byte of a stretch equals the one a period before it, a term that
 * starts and ends in the stretch, but not in its first period, stands a period
 * earlier as well.  So if nothing starts in the first period, nothing starts
 * in the rest, except where a term could reach beyond the stretch; and if
 * the stretch ends with the text, nothing can.  Comparing text with itself is
 * as fast as reading memory, whatever the terms are.  If something does start
 * there, it need not be looked for again.
 *
 * Copyright (c) 2026, the acdat_decoder authors; PostgreSQL licence
 */
#include "acd_scan.h"

#define MAX_PERIOD		32			/* bytes */
#define SAMPLE			64			/* bytes that are compared to find the period */
#define MIN_GAIN		256			/* bytes that must be skipped for it to be worth it */
#define NEXT_LOOK		512			/* bytes behind text without a period */
#define BLOCK			4096		/* bytes compared at once */

/* The least period of the bytes at p, or 0; reads SAMPLE + MAX_PERIOD. */
static uint32_t
find_period(const unsigned char *p)
{
	uint64_t	first = acd_le64(p);

	for (uint32_t period = 1; period <= MAX_PERIOD; period++)
		if (ACD_UNLIKELY(acd_le64(p + period) == first) && memcmp(p, p + period, SAMPLE) == 0)
			return period;
	return 0;
}

/* How many of n bytes at a and b are equal before the first that are not? */
static size_t
equal_bytes(const unsigned char *a, const unsigned char *b, size_t n)
{
	size_t		i = 0;

	while (n - i >= BLOCK && memcmp(a + i, b + i, BLOCK) == 0)
		i += BLOCK;
	while (n - i >= 8 && acd_le64(a + i) == acd_le64(b + i))
		i += 8;
	while (i < n && a[i] == b[i])
		i++;
	return i;
}

/* Bytes of the longest term of a scan. */
static size_t
longest_term(const acd_scan *scan)
{
	size_t		longest = 0;

	for (size_t m = 0; m < scan->nmachines; m++)
		if (scan->machines[m]->max_len > longest)
			longest = scan->machines[m]->max_len;
	return longest;
}

/* See how far the text from pos on repeats itself. */
static acd_status
measure(acd_sweep *sweep, size_t pos)
{
	size_t		period = sweep->period;
	size_t		end = pos + period;

	while (end < sweep->len)
	{
		size_t		n = sweep->len - end < ACD_POLL_BYTES ? sweep->len - end : ACD_POLL_BYTES;
		size_t		equal = equal_bytes(sweep->text + end - period, sweep->text + end, n);
		acd_status	status = acd_sweep_poll(sweep, equal);

		if (status != ACD_OK)
			return status;
		end += equal;
		if (equal < n)
			break;
	}
	sweep->period_end = end;
	return ACD_OK;
}

/* Behind the last start, from pos on, whose terms cannot reach beyond the repeating text. */
static size_t
last_start(const acd_sweep *sweep, size_t pos)
{
	size_t		longest = longest_term(sweep->scan);

	return sweep->period_end - pos >= longest ? sweep->period_end - longest + 1 : pos;
}

/* Does repeating text begin at pos? */
acd_status
acd_period_look(acd_sweep *sweep, size_t pos, uint32_t *period)
{
	*period = 0;
	if (pos >= sweep->period_end)
	{
		acd_status	status;

		sweep->period = find_period(sweep->text + pos);
		if (sweep->period == 0)
		{
			sweep->period_look = pos + NEXT_LOOK;
			return ACD_OK;
		}
		status = measure(sweep, pos);
		if (status != ACD_OK)
			return status;
	}
	if ((sweep->period_end == sweep->len ? sweep->len : last_start(sweep, pos)) < pos + sweep->period + MIN_GAIN)
	{
		sweep->period_look = sweep->period_end;
		return ACD_OK;
	}
	sweep->period_start = pos;
	sweep->recording = true;
	sweep->missed = false;
	sweep->matched = false;
	sweep->ntaken = 0;
	*period = sweep->period;
	return ACD_OK;
}

/* Make use of it. */
acd_status
acd_period_use(acd_sweep *sweep, size_t pos, bool complete, size_t *next)
{
	size_t		end;

	sweep->recording = false;
	if (sweep->missed || !complete)
		return ACD_OK;			/* try the next period */
	pos += sweep->period;
	sweep->period_look = sweep->period_end;
	if (!sweep->matched)
	{
		*next = sweep->period_end == sweep->len ? sweep->len : last_start(sweep, pos);
		return ACD_OK;
	}
	end = last_start(sweep, pos);
	if (sweep->scan->boundaries != NULL || sweep->ntaken > ACD_MAX_TAKEN || end == pos)
		return ACD_OK;
	*next = end;
	return acd_take_repeats(sweep, pos, end);
}
