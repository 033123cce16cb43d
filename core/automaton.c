/*
 * automaton.c
 *		The automaton of reversed terms, for texts that make walking slow.
 *
 * Run from right to left over a stretch of text, the automaton of the
 * reversed terms knows at each byte the longest term that starts there; its
 * chain names the shorter ones.  That is what a walk finds out too, but the
 * automaton reads each byte once however long the terms are: linear time for
 * every match kind.
 *
 * A scan begins by walking and counts what walks through deep trees cost.
 * When that exceeds what running the automaton would cost, it runs it over
 * the next stretch of text, and tries again behind that.
 *
 * A. Aho, M. Corasick, "Efficient string matching: an aid to bibliographic
 * search" (1975).
 *
 * Copyright (c) 2026, the acdat_decoder authors; PostgreSQL licence
 */
#include "acd_scan.h"

#define NEXT_LIMIT		512			/* what it may after a stretch of the automaton */
#define COST_PER_BYTE	2			/* more is left where walking is cheap */
#define FORGET_BYTES	65536		/* after which cost starts anew */
#define MIN_STRETCH		4096		/* bytes; doubled while walking does not pay */
#define MAX_STRETCH		65536
#define LONG_STRETCH	16			/* times the longest term */

/* Give a machine's backlog memory. */
static acd_status
reserve(acd_sweep *sweep, acd_backlog *backlog, size_t bytes)
{
	if (backlog->capacity >= bytes)
		return ACD_OK;
	acd_release(sweep->allocator, backlog->ends);
	backlog->capacity = 0;
	backlog->ends = acd_alloc_array(sweep->allocator, bytes, sizeof(uint32_t));
	if (backlog->ends == NULL)
		return ACD_ERR_NOMEM;
	backlog->capacity = bytes;
	return ACD_OK;
}

/*
 * Run the automaton over the stretch that begins at lo.  To see every term
 * that starts in it, it begins the longest term's length behind it.
 */
static acd_status
run(acd_sweep *sweep, uint32_t machine, size_t lo)
{
	const acd_machine *m = sweep->scan->machines[machine];
	acd_backlog *backlog = &sweep->backlogs[machine];
	size_t		left = sweep->len - lo;
	size_t		span = (size_t) m->ends_max_len * LONG_STRETCH;
	size_t		hi;
	size_t		from;
	uint32_t	s = ACD_ROOT;
	acd_status	status;

	if (sweep->stretch < MIN_STRETCH)
		sweep->stretch = MIN_STRETCH;
	span = span > sweep->stretch ? span : sweep->stretch;
	if (sweep->stretch < MAX_STRETCH)
		sweep->stretch *= 2;
	hi = lo + (left < span ? left : span);
	from = sweep->len - hi < m->ends_max_len ? sweep->len : hi + m->ends_max_len;
	status = reserve(sweep, backlog, hi - lo);
	for (size_t p = from; status == ACD_OK && p > lo;)
	{
		size_t		stop = p - lo > ACD_POLL_BYTES ? p - ACD_POLL_BYTES : lo;

		status = acd_sweep_poll(sweep, p - stop);
		for (; p > hi && p > stop;)
			s = acd_step(m->states, s, sweep->text[--p]);
		for (; p > stop;)
		{
			s = acd_step(m->states, s, sweep->text[--p]);
			backlog->ends[p - lo] = acd_slot_out(m->states, s);
		}
	}
	backlog->lo = lo;
	backlog->hi = status == ACD_OK ? hi : lo;
	return status;
}

/* Choose between walking and the automaton. */
acd_status
acd_automaton_wanted(acd_sweep *sweep, uint32_t machine, size_t start, bool *wanted)
{
	size_t		bytes = sweep->scan->nmachines * sizeof(acd_backlog);
	acd_status	status;

	*wanted = false;
	if (sweep->scan->engine == ACD_ENGINE_TREES)
		return ACD_OK;
	if (sweep->backlogs != NULL)
	{
		const acd_backlog *backlog = &sweep->backlogs[machine];

		*wanted = start >= backlog->lo && start < backlog->hi;
		if (*wanted)
			return ACD_OK;
	}
	if (sweep->scan->engine != ACD_ENGINE_AUTOMATON)
	{
		size_t		passed = start > sweep->cost_since ? start - sweep->cost_since : 0;

		if (passed > FORGET_BYTES)
		{
			sweep->cost = 0;
			sweep->cost_since = start;
			sweep->cost_limit = ACD_FIRST_COST_LIMIT;
			sweep->stretch = 0;
			return ACD_OK;
		}
		if (sweep->cost <= sweep->cost_limit + passed * COST_PER_BYTE)
			return ACD_OK;
	}
	if (sweep->backlogs == NULL)
	{
		sweep->backlogs = sweep->allocator->alloc(sweep->allocator->ctx, bytes);
		if (sweep->backlogs == NULL)
			return ACD_ERR_NOMEM;
		memset(sweep->backlogs, 0, bytes);
	}
	status = run(sweep, machine, start);
	sweep->cost = 0;
	sweep->cost_since = sweep->backlogs[machine].hi;
	sweep->cost_limit = NEXT_LIMIT;
	*wanted = status == ACD_OK;
	return status;
}

/* Free the backlogs. */
void
acd_automaton_free(acd_sweep *sweep)
{
	if (sweep->backlogs == NULL)
		return;
	for (size_t m = 0; m < sweep->scan->nmachines; m++)
		acd_release(sweep->allocator, sweep->backlogs[m].ends);
	acd_release(sweep->allocator, sweep->backlogs);
}
