/*
 * scan_leftmost.c
 *		Leftmost matches, longest or first, in linear time.
 *
 * The machines read up to the first end e of any match; s is the longest
 * match's start there.  A match further left ends beyond e, so its bytes up
 * to e are a suffix of what was read: the failure chain of the state at e
 * names all such starts.  They are tried from the left, each by walking on
 * from its state, up to ACD_LONG_TERM bytes of the term.  Longer terms come
 * from the automaton of the reversed terms, run right to left over a block
 * of text at a time.
 *
 * The match taken ends at e or later and reading resumes at its end, so no
 * byte is read twice, no start tried twice, and each try has a constant cost.
 *
 * Copyright (c) 2026, the acdat_decoder authors; PostgreSQL licence
 */
#include "acd_internal.h"

/* For each start in text[lo, hi), the long term that wins there. */
typedef struct long_block
{
	uint32_t   *winner;			/* index + 1 of a long term, or 0 */
	size_t		capacity;
	size_t		lo;
	size_t		hi;
} long_block;

typedef struct leftmost
{
	acd_cursor *cursor;
	const acd_allocator *allocator;
	bool		(*beats) (const acd_candidate *a, const acd_candidate *b);
	long_block	blocks[ACD_MAX_MACHINES];
} leftmost;

/* The long term that wins at start "at", of those in the chain from "out". */
static uint32_t
long_winner(leftmost *l, const acd_machine *m, uint32_t out, size_t at)
{
	const acd_scan *scan = l->cursor->scan;
	uint32_t	winner = 0;

	if (scan->kind == ACD_LEFTMOST_FIRST && out != 0)
	{
		uint32_t	best = acd_le32(acd_long_record(m, out - 1) + ACD_LONG_BEST);
		uint32_t	term = acd_le32(acd_long_record(m, best) + ACD_LONG_TERM_INDEX);

		if (acd_boundary(scan->boundaries, at + acd_term_len(m, term)))
			return best + 1;
	}
	for (; out != 0; out = acd_le32(acd_long_record(m, out - 1) + ACD_LONG_NEXT))
	{
		uint32_t	term = acd_le32(acd_long_record(m, out - 1) + ACD_LONG_TERM_INDEX);

		l->cursor->work++;
		if (!acd_boundary(scan->boundaries, at + acd_term_len(m, term)))
			continue;
		if (scan->kind == ACD_LEFTMOST_LONGEST)
			return out;
		if (winner == 0)
			winner = out;
		else
		{
			uint32_t	other = acd_le32(acd_long_record(m, winner - 1) + ACD_LONG_TERM_INDEX);

			/* Longer ones come first in the chain and win ties. */
			if (acd_term_priority(m, term) > acd_term_priority(m, other) ||
				(acd_term_priority(m, term) == acd_term_priority(m, other) &&
				 acd_term_id(m, term) < acd_term_id(m, other)))
				winner = out;
		}
	}
	return winner;
}

/*
 * Run the reversed automaton over the block that begins at lo.  To see every
 * term that starts in the block it begins max_len bytes beyond; a block four
 * times as long keeps the total within 1.25 of the text.
 */
static acd_status
fill_block(leftmost *l, uint32_t machine, size_t lo)
{
	acd_cursor *cursor = l->cursor;
	const acd_machine *m = cursor->scan->machines[machine];
	long_block *block = &l->blocks[machine];
	size_t		left = cursor->len - lo;
	size_t		span = (size_t) m->max_len * 4;
	size_t		hi = lo + (left < span ? left : span);
	size_t		from = cursor->len - hi < m->max_len ? cursor->len : hi + m->max_len;
	uint32_t	s = ACD_ROOT;

	if (block->capacity < hi - lo)
	{
		acd_release(l->allocator, block->winner);
		block->capacity = 0;
		block->winner = acd_alloc_array(l->allocator, hi - lo, sizeof(uint32_t));
		if (block->winner == NULL)
			return ACD_ERR_NOMEM;
		block->capacity = hi - lo;
	}
	block->lo = lo;
	block->hi = hi;
	for (size_t p = from; p > lo;)
	{
		acd_status	status;

		s = acd_step(m->long_states, s, cursor->text[--p]);
		if (p < hi)
		{
			uint32_t	out = acd_slot_out(m->long_states, s);

			if (out != 0 && !acd_boundary(cursor->scan->boundaries, p))
				out = 0;
			block->winner[p - lo] = out != 0 ? long_winner(l, m, out, p) : 0;
		}
		status = acd_cursor_work(cursor, 1);
		if (status != ACD_OK)
			return status;
	}
	return ACD_OK;
}

/* Let a match compete. */
static void
compete(leftmost *l, uint32_t machine, uint32_t term, size_t start, size_t end,
		acd_candidate *best, bool *found)
{
	acd_candidate c;

	acd_candidate_set(&c, l->cursor->scan, machine, term, start, end);
	if (!*found || l->beats(&c, best))
		*best = c;
	*found = true;
}

/* Let the long term at a start compete. */
static acd_status
try_long(leftmost *l, uint32_t machine, size_t start, acd_candidate *best, bool *found)
{
	const acd_machine *m = l->cursor->scan->machines[machine];
	long_block *block = &l->blocks[machine];
	uint32_t	winner;

	if (start < block->lo || start >= block->hi)
	{
		acd_status	status = fill_block(l, machine, start);

		if (status != ACD_OK)
			return status;
	}
	winner = block->winner[start - block->lo];
	if (winner != 0)
	{
		uint32_t	term = acd_le32(acd_long_record(m, winner - 1) + ACD_LONG_TERM_INDEX);
		size_t		end = start + acd_term_len(m, term);

		/* Always so in a verified machine; in others it bounds the work. */
		if (end >= l->cursor->pos)
			compete(l, machine, term, start, end, best, found);
	}
	return ACD_OK;
}

/*
 * Let the terms of one machine compete that begin at "start", given the
 * machine's state for the bytes from there up to the cursor.
 */
static acd_status
try_start(leftmost *l, uint32_t machine, uint32_t s, size_t start,
		  acd_candidate *best, bool *found)
{
	acd_cursor *cursor = l->cursor;
	const acd_machine *m = cursor->scan->machines[machine];
	size_t		end = cursor->pos;

	while (end - start <= ACD_LONG_TERM)
	{
		uint32_t	out = acd_slot_out(m->states, s);

		if (out != 0 && acd_term_len(m, out - 1) == end - start &&
			acd_boundary(cursor->scan->boundaries, end))
			compete(l, machine, out - 1, start, end, best, found);
		if (end == cursor->len)
			return ACD_OK;
		s = acd_child(m->states, s, cursor->text[end]);
		if (s == ACD_NO_SLOT)
			return ACD_OK;
		end++;
		cursor->work++;
	}
	return m->nlong_terms > 0 ? try_long(l, machine, start, best, found) : ACD_OK;
}

/*
 * Find the match to take, given the longest that ends at the cursor, by
 * following the failure chains of all machines in step, deepest first.
 */
static acd_status
choose(leftmost *l, acd_candidate *best)
{
	acd_cursor *cursor = l->cursor;
	const acd_scan *scan = cursor->scan;
	size_t		nearest = best->start;
	uint32_t	chain[ACD_MAX_MACHINES];

	memcpy(chain, cursor->states, scan->nmachines * sizeof(chain[0]));
	for (;;)
	{
		size_t		depth = 0;
		size_t		start;
		bool		found = false;
		bool		try_it;
		acd_status	status;

		for (size_t m = 0; m < scan->nmachines; m++)
		{
			size_t		d = acd_slot_depth(scan->machines[m]->depths, chain[m]);

			depth = d > depth ? d : depth;
		}
		start = cursor->pos - depth;
		if (start > nearest)
			return ACD_OK;
		try_it = acd_boundary(scan->boundaries, start);
		for (uint32_t m = 0; m < scan->nmachines; m++)
		{
			const acd_machine *machine = scan->machines[m];

			if (acd_slot_depth(machine->depths, chain[m]) != depth)
				continue;
			if (try_it)
			{
				status = try_start(l, m, chain[m], start, best, &found);
				if (status != ACD_OK)
					return status;
			}
			chain[m] = acd_slot_fail(machine->states, chain[m]);
		}
		status = acd_cursor_work(cursor, 1);
		if (status != ACD_OK || found)
			return status;
	}
}

/* Report matches one after another. */
static acd_status
scan_matches(leftmost *l, acd_match_fn fn, void *arg)
{
	acd_cursor *cursor = l->cursor;

	for (;;)
	{
		acd_candidate best;
		acd_match	match;
		acd_status	status;
		bool		hit;

		status = acd_cursor_next(cursor, &hit);
		if (status != ACD_OK || !hit)
			return status;
		if (acd_cursor_longest(cursor, &best))
		{
			status = choose(l, &best);
			if (status != ACD_OK)
				return status;
			match.start = best.start;
			match.end = best.end;
			match.machine = best.machine;
			match.term = best.term;
			if (fn(arg, &match) != 0)
				return ACD_ERR_STOPPED;
			acd_cursor_restart(cursor, best.end);
		}
		status = acd_cursor_work(cursor, 0);
		if (status != ACD_OK)
			return status;
	}
}

/* Report the leftmost matches. */
acd_status
acd_scan_leftmost(acd_cursor *cursor, acd_match_fn fn, void *arg)
{
	leftmost	l;
	acd_status	status;

	l.cursor = cursor;
	l.allocator = cursor->scan->allocator != NULL ? cursor->scan->allocator : &acd_libc_allocator;
	l.beats = cursor->scan->kind == ACD_LEFTMOST_LONGEST ? acd_beats_by_length : acd_beats_by_priority;
	memset(l.blocks, 0, cursor->scan->nmachines * sizeof(l.blocks[0]));
	status = scan_matches(&l, fn, arg);
	for (size_t m = 0; m < cursor->scan->nmachines; m++)
		acd_release(l.allocator, l.blocks[m].winner);
	return status;
}
