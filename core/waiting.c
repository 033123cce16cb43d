/*
 * waiting.c
 *		Matches of all_overlapping that wait for others to be reported first.
 *
 * Starts ascend, matches are reported by end, then by start.  Those whose end
 * is beyond the current start stand in a sorted queue as long as each belongs
 * at its end or close to it, as it mostly does; else in a heap, which a sorted
 * array is already, until that is empty.
 *
 * Copyright (c) 2026, the acdat_decoder authors; PostgreSQL licence
 */
#include "acd_scan.h"

#include <stddef.h>

#define MAX_MOVED		8			/* matches that give way in a sorted queue */

/* Is a to be reported before b? */
static inline bool
before(const acd_waiting *a, const acd_waiting *b)
{
	return a->end != b->end ? a->end < b->end : a->start < b->start;
}

/* Take the first one off. */
static acd_waiting
pop(acd_sweep *sweep)
{
	acd_waiting *heap = sweep->waiting;
	acd_waiting first = heap[sweep->first];
	acd_waiting last = heap[sweep->first + --sweep->nwaiting];
	size_t		i = 0;

	if (sweep->sorted || sweep->nwaiting == 0)
	{
		sweep->first = sweep->nwaiting > 0 ? sweep->first + 1 : 0;
		sweep->sorted = true;
		return first;
	}
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

/* Move a queue to the front of its memory. */
static void
move_to_front(acd_sweep *sweep)
{
	memmove(sweep->waiting, sweep->waiting + sweep->first, sweep->nwaiting * sizeof(acd_waiting));
	sweep->first = 0;
}

/* Make room behind the last one. */
static acd_status
make_room(acd_sweep *sweep)
{
	acd_waiting *grown;

	if (sweep->first + sweep->nwaiting < sweep->waiting_capacity)
		return ACD_OK;
	if (sweep->first >= sweep->waiting_capacity / 2)
	{
		move_to_front(sweep);
		return ACD_OK;
	}
	grown = acd_alloc_array(sweep->allocator, sweep->waiting_capacity, 2 * sizeof(acd_waiting));
	if (grown == NULL)
		return ACD_ERR_NOMEM;
	memcpy(grown, sweep->waiting + sweep->first, sweep->nwaiting * sizeof(acd_waiting));
	if (sweep->waiting != sweep->first_waiting)
		acd_release(sweep->allocator, sweep->waiting);
	sweep->waiting = grown;
	sweep->first = 0;
	sweep->waiting_capacity *= 2;
	return ACD_OK;
}

/* Put a match into a sorted queue that has room; false if too far from its end. */
static bool
insert(acd_sweep *sweep, const acd_waiting *w)
{
	acd_waiting *end = sweep->waiting + sweep->first + sweep->nwaiting;
	size_t		moved = 0;

	while (moved < sweep->nwaiting && before(w, end - moved - 1))
		if (++moved > MAX_MOVED)
			return false;
	memmove(end - moved + 1, end - moved, moved * sizeof(acd_waiting));
	end[-(ptrdiff_t) moved] = *w;
	sweep->nwaiting++;
	return true;
}

/* Add a match. */
acd_status
acd_waiting_push(acd_sweep *sweep, uint32_t machine, uint32_t term, size_t start, size_t end)
{
	acd_status	status = make_room(sweep);
	acd_waiting w;
	size_t		i;

	if (status != ACD_OK)
		return status;
	w.start = start;
	w.end = end;
	w.machine = machine;
	w.term = term;
	if (sweep->sorted)
	{
		if (insert(sweep, &w))
			return ACD_OK;
		move_to_front(sweep);
		sweep->sorted = false;
	}
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
	while (sweep->nwaiting > 0 && sweep->waiting[sweep->first].end <= pos)
	{
		acd_waiting w = pop(sweep);
		acd_match	match;
		acd_status	status;

		while (sweep->nwaiting > 0 && sweep->waiting[sweep->first].end == w.end &&
			   sweep->waiting[sweep->first].start == w.start)
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
