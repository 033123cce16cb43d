/*
 * scan_cover.c
 *		Spans of matches that share bytes, and the match that stands for each.
 *
 * At each end only the longest match matters for the span's extent, and the
 * best of the end's suffix chain, which is stored with the term, for the
 * winner: two lookups an end, however many terms overlap there.
 *
 * A span is final once no state reaches back into it; a longer match found
 * later may swallow several, so those within reach wait on a stack.
 *
 * Copyright (c) 2026, the acdat_decoder authors; PostgreSQL licence
 */
#include "acd_internal.h"

#define INLINE_SPANS	8

typedef struct span
{
	size_t		start;
	size_t		end;
	acd_candidate winner;
} span;

typedef struct span_stack
{
	const acd_allocator *allocator;
	span	   *spans;			/* disjoint, ascending */
	size_t		used;
	size_t		capacity;
	span		first[INLINE_SPANS];
	void	   *grown;			/* from the allocator, or NULL */
} span_stack;

/* Report the first n spans and drop them. */
static acd_status
report_spans(span_stack *stack, size_t n, acd_match_fn fn, void *arg)
{
	for (size_t i = 0; i < n; i++)
	{
		const span *s = &stack->spans[i];
		acd_match	match;

		match.start = s->start;
		match.end = s->end;
		match.machine = s->winner.machine;
		match.term = s->winner.term;
		if (fn(arg, &match) != 0)
			return ACD_ERR_STOPPED;
	}
	stack->used -= n;
	memmove(stack->spans, stack->spans + n, stack->used * sizeof(span));
	return ACD_OK;
}

/* Move a full stack into twice the memory. */
static acd_status
grow_stack(span_stack *stack)
{
	span	   *grown = acd_alloc_array(stack->allocator, stack->capacity, 2 * sizeof(span));

	if (grown == NULL)
		return ACD_ERR_NOMEM;
	memcpy(grown, stack->spans, stack->used * sizeof(span));
	acd_release(stack->allocator, stack->grown);
	stack->grown = grown;
	stack->spans = grown;
	stack->capacity *= 2;
	return ACD_OK;
}

/*
 * Make room on a full stack: report the spans that no match still being read
 * can reach, which are those before the start of the deepest state.
 */
static acd_status
make_room(span_stack *stack, const acd_cursor *cursor, acd_match_fn fn, void *arg)
{
	const acd_scan *scan = cursor->scan;
	size_t		depth = 0;
	size_t		done = 0;
	acd_status	status;

	for (size_t m = 0; m < scan->nmachines; m++)
	{
		size_t		d = acd_slot_depth(scan->machines[m]->depths, cursor->states[m]);

		depth = d > depth ? d : depth;
	}
	while (done < stack->used && stack->spans[done].end <= cursor->pos - depth)
		done++;
	status = report_spans(stack, done, fn, arg);

	/* Growing unless half became free keeps the moves amortised. */
	if (status == ACD_OK && stack->used > stack->capacity / 2)
		status = grow_stack(stack);
	return status;
}

/* The best match that ends here, by a span's order. */
static void
best_here(acd_cursor *cursor, acd_candidate *best)
{
	const acd_scan *scan = cursor->scan;
	size_t		pos = cursor->pos;
	bool		found = false;

	for (uint32_t m = 0; m < scan->nmachines; m++)
	{
		const acd_machine *machine = scan->machines[m];
		uint32_t	out = acd_slot_out(machine->states, cursor->states[m]);

		while (out != 0)
		{
			uint32_t	term = acd_term_best(machine, out - 1);
			acd_candidate c;

			/* The best of the whole chain, unless it starts at no boundary. */
			if (!acd_boundary(scan->boundaries, pos - acd_term_len(machine, term)))
			{
				term = out - 1;
				out = acd_term_next(machine, term);
				cursor->work++;
				if (!acd_boundary(scan->boundaries, pos - acd_term_len(machine, term)))
					continue;
			}
			else
				out = 0;
			acd_candidate_set(&c, scan, m, term, pos - acd_term_len(machine, term), pos);
			if (!found || acd_beats_in_span(&c, best))
				*best = c;
			found = true;
		}
	}
}

/* Add the matches that end here to the spans. */
static acd_status
add_end(span_stack *stack, acd_cursor *cursor, acd_match_fn fn, void *arg)
{
	acd_candidate longest;
	span		s;

	if (!acd_cursor_longest(cursor, &longest))
		return ACD_OK;
	s.start = longest.start;
	s.end = cursor->pos;
	s.winner = longest;
	best_here(cursor, &s.winner);

	while (stack->used > 0 && stack->spans[stack->used - 1].end > s.start)
	{
		const span *top = &stack->spans[--stack->used];

		if (top->start < s.start)
			s.start = top->start;
		if (acd_beats_in_span(&top->winner, &s.winner))
			s.winner = top->winner;
	}
	if (stack->used == stack->capacity)
	{
		acd_status	status = make_room(stack, cursor, fn, arg);

		if (status != ACD_OK)
			return status;
	}
	stack->spans[stack->used++] = s;
	return ACD_OK;
}

/* Report the spans. */
acd_status
acd_scan_cover(acd_cursor *cursor, acd_match_fn fn, void *arg)
{
	span_stack	stack;
	acd_status	status;
	bool		hit;

	stack.allocator = cursor->scan->allocator != NULL ? cursor->scan->allocator : &acd_libc_allocator;
	stack.spans = stack.first;
	stack.capacity = INLINE_SPANS;
	stack.used = 0;
	stack.grown = NULL;
	for (;;)
	{
		status = acd_cursor_next(cursor, &hit);
		if (status != ACD_OK || !hit)
			break;
		status = add_end(&stack, cursor, fn, arg);
		if (status == ACD_OK)
			status = acd_cursor_work(cursor, 0);
		if (status != ACD_OK)
			break;
	}
	if (status == ACD_OK)
		status = report_spans(&stack, stack.used, fn, arg);
	acd_release(stack.allocator, stack.grown);
	return status;
}
