/*
 * waiting.c
 *		Matches of all_overlapping that wait for others to be reported first.
 *
 * Starts ascend, matches are reported by end, then by start: a heap holds
 * those whose end is beyond the current start.
 *
 * Copyright (c) 2026, the acdat_decoder authors; PostgreSQL licence
 */
#include "acd_scan.h"

/* Is a to be reported before b? */
static inline bool
before(const acd_waiting *a, const acd_waiting *b)
{
	return a->end != b->end ? a->end < b->end : a->start < b->start;
}

/* Take the first one off the heap. */
static acd_waiting
pop(acd_sweep *sweep)
{
	acd_waiting *heap = sweep->waiting;
	acd_waiting first = heap[0];
	acd_waiting last = heap[--sweep->nwaiting];
	size_t		i = 0;

	for (;;)
	{
		size_t		child = 2 * i + 1;

		if (child >= sweep->nwaiting)
			break;
		if (child + 1 < sweep->nwaiting && before(&heap[child + 1], &heap[child]))
			child++;
		if (!before(&heap[child], &last))
			break;
		heap[i] = heap[child];
		i = child;
	}
	heap[i] = last;
	return first;
}

/* Double the memory. */
static acd_status
grow(acd_sweep *sweep)
{
	acd_waiting *grown = acd_alloc_array(sweep->allocator, sweep->waiting_capacity, 2 * sizeof(acd_waiting));

	if (grown == NULL)
		return ACD_ERR_NOMEM;
	memcpy(grown, sweep->waiting, sweep->nwaiting * sizeof(acd_waiting));
	if (sweep->waiting != sweep->first_waiting)
		acd_release(sweep->allocator, sweep->waiting);
	sweep->waiting = grown;
	sweep->waiting_capacity *= 2;
	return ACD_OK;
}

/* Add a match to the heap. */
acd_status
acd_waiting_push(acd_sweep *sweep, uint32_t machine, uint32_t term, size_t start, size_t end)
{
	acd_waiting w;
	size_t		i;

	if (sweep->nwaiting == sweep->waiting_capacity)
	{
		acd_status	status = grow(sweep);

		if (status != ACD_OK)
			return status;
	}
	w.start = start;
	w.end = end;
	w.machine = machine;
	w.term = term;
	for (i = sweep->nwaiting++; i > 0 && before(&w, &sweep->waiting[(i - 1) / 2]); i = (i - 1) / 2)
		sweep->waiting[i] = sweep->waiting[(i - 1) / 2];
	sweep->waiting[i] = w;
	return ACD_OK;
}

/* Does the term of a stand for both, of equal patterns? */
static bool
stands_for(const acd_sweep *sweep, const acd_waiting *a, const acd_waiting *b)
{
	acd_candidate x = {a->start, a->end, a->machine, a->term, 0, 0, false};
	acd_candidate y = {b->start, b->end, b->machine, b->term, 0, 0, false};

	acd_candidate_know(&x, sweep->scan);
	acd_candidate_know(&y, sweep->scan);
	return acd_beats_by_length(&x, &y);
}

/* Report matches. */
acd_status
acd_waiting_report(acd_sweep *sweep, size_t pos)
{
	while (sweep->nwaiting > 0 && sweep->waiting[0].end <= pos)
	{
		acd_waiting w = pop(sweep);
		acd_match	match;
		acd_status	status;

		while (sweep->nwaiting > 0 && sweep->waiting[0].end == w.end &&
			   sweep->waiting[0].start == w.start)
		{
			acd_waiting other = pop(sweep);

			if (stands_for(sweep, &other, &w))
				w = other;
		}
		match.start = w.start;
		match.end = w.end;
		match.machine = w.machine;
		match.term = w.term;
		if (sweep->fn(sweep->arg, &match) != 0)
			return ACD_ERR_STOPPED;
		status = acd_sweep_poll(sweep, 1);
		if (status != ACD_OK)
			return status;
	}
	return ACD_OK;
}
