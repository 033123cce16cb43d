/*
 * take.c
 *		What each match kind makes of the terms at one start after another.
 *
 * Because starts ascend, a leftmost match is final once a start beyond its
 * own comes, a span once a start at or beyond its end comes, and a match of
 * all_overlapping once a start at or beyond its end comes.
 *
 * Copyright (c) 2026, the acdat_decoder authors; PostgreSQL licence
 */
#include "acd_scan.h"

/* Report a match. */
static acd_status
report(acd_sweep *sweep, size_t start, size_t end)
{
	acd_match	match;

	match.start = start;
	match.end = end;
	match.machine = sweep->best.machine;
	match.term = sweep->best.term;
	sweep->open = false;
	if (sweep->fn(sweep->arg, &match) != 0)
		return ACD_ERR_STOPPED;
	return ACD_OK;
}

/* Report what is final before "start". */
static inline acd_status
settle(acd_sweep *sweep, size_t start)
{
	if (sweep->taker == ACD_TAKE_OVERLAPPING)
		return sweep->nwaiting > 0 ? acd_waiting_report(sweep, start + sweep->prompt) : ACD_OK;
	if (!sweep->open)
		return ACD_OK;
	if (sweep->taker == ACD_TAKE_COVER)
		return start >= sweep->span_end ? report(sweep, sweep->span_start, sweep->span_end) : ACD_OK;
	if (start > sweep->best.start)
	{
		sweep->resume = sweep->best.end;
		return report(sweep, sweep->best.start, sweep->best.end);
	}
	return ACD_OK;
}

/* Make a match the best, field by field: copying one just written stalls. */
static inline void
set_best(acd_sweep *sweep, uint32_t machine, uint32_t term, size_t start, size_t end)
{
	acd_candidate *best = &sweep->best;

	best->start = start;
	best->end = end;
	best->machine = machine;
	best->term = term;
	best->known = false;
}

/* Let a match compete with the best so far where more than length decides. */
static ACD_NOINLINE void
compete(acd_sweep *sweep, uint32_t machine, uint32_t term, size_t start, size_t end)
{
	acd_candidate *best = &sweep->best;
	acd_candidate c = {start, end, machine, term, 0, 0, false};
	bool		wins;

	acd_candidate_know(&c, sweep->scan);
	acd_candidate_know(best, sweep->scan);
	if (sweep->taker == ACD_TAKE_LONGEST)
		wins = acd_beats_by_length(&c, best);
	else if (sweep->taker == ACD_TAKE_FIRST)
		wins = acd_beats_by_priority(&c, best);
	else
		wins = acd_beats_in_span(&c, best);
	if (wins)
		*best = c;
}

/* Note a match for acd_take_repeats. */
static ACD_NOINLINE void
record(acd_sweep *sweep, uint32_t machine, uint32_t term, size_t start, size_t end, bool more)
{
	acd_taken  *taken;

	if (sweep->ntaken++ >= ACD_MAX_TAKEN)
		return;
	taken = &sweep->taken[sweep->ntaken - 1];
	taken->at = (uint32_t) (start - sweep->period_start);
	taken->len = (uint32_t) (end - start);
	taken->machine = machine;
	taken->term = term;
	taken->more = more;
}

/* Take one match; "more" says that shorter ones of the same start may follow. */
static inline acd_status
take(acd_sweep *sweep, uint32_t machine, uint32_t term, size_t start, size_t end, bool more)
{
	if (sweep->taker == ACD_TAKE_ANY)
	{
		sweep->open = true;
		return ACD_ERR_STOPPED;
	}
	if (ACD_UNLIKELY(sweep->recording))
		record(sweep, machine, term, start, end, more);
	if (sweep->taker == ACD_TAKE_OVERLAPPING)
		return acd_waiting_add(sweep, machine, term, start, end, more);

	if (!sweep->open)
	{
		sweep->open = true;
		sweep->span_start = start;
		sweep->span_end = end;
		set_best(sweep, machine, term, start, end);
		return ACD_OK;
	}
	if (sweep->taker != ACD_TAKE_LONGEST || machine != sweep->best.machine)
		compete(sweep, machine, term, start, end);
	else if (end > sweep->best.end)
		set_best(sweep, machine, term, start, end);
	if (end > sweep->span_end)
		sweep->span_end = end;
	return ACD_OK;
}

/* Walk a tree. */
static ACD_NOINLINE acd_status
take_walk(acd_sweep *sweep, uint32_t machine, uint32_t ref, size_t start)
{
	const uint8_t *boundaries = sweep->scan->boundaries;
	acd_walk	walk;
	uint32_t	term;

	acd_walk_begin(&walk, sweep->scan->machines[machine], ref, sweep->text + start, sweep->len - start);
	while ((term = acd_walk_next(&walk)) != 0)
	{
		acd_status	status;

		sweep->matched = true;
		if (!acd_boundary(boundaries, start + walk.depth))
			continue;
		status = take(sweep, machine, term - 1, start, start + walk.depth, false);
		if (status != ACD_OK)
			return status;
	}
	sweep->cost += walk.cost;
	return acd_sweep_poll(sweep, walk.cost);
}

/* Take the terms at a start. */
acd_status
acd_take_tree(acd_sweep *sweep, uint32_t machine, uint32_t ref, size_t start)
{
	acd_status	status = settle(sweep, start);

	if (status != ACD_OK)
		return status;
	if (start < sweep->resume)
	{
		sweep->missed = true;
		return ACD_OK;
	}
	if (!acd_boundary(sweep->scan->boundaries, start))
	{
		sweep->matched = true;	/* for all that is known */
		return ACD_OK;
	}
	if (ACD_UNLIKELY((ref & ACD_REF_DEEP) != 0))
	{
		bool		wanted;

		status = acd_automaton_wanted(sweep, machine, start, &wanted);
		if (status != ACD_OK)
			return status;
		if (wanted)
			return acd_take_chain(sweep, machine, acd_automaton_at(sweep, machine, start), start);
	}
	return take_walk(sweep, machine, ref, start);
}

/* Take one term of the automaton, if it ends at a boundary. */
static acd_status
take_end(acd_sweep *sweep, uint32_t machine, uint32_t end, size_t start, bool *taken)
{
	const acd_machine *m = sweep->scan->machines[machine];
	uint32_t	term = acd_end_term(m, end);
	size_t		len = acd_term_len(m, term);

	/* Always within the text in a verified machine. */
	*taken = len <= sweep->len - start && acd_boundary(sweep->scan->boundaries, start + len);
	return *taken ? take(sweep, machine, term, start, start + len,
						 acd_le32(acd_end_record(m, end) + ACD_END_NEXT) != 0) : ACD_OK;
}

/* Take a chain. */
acd_status
acd_take_chain(acd_sweep *sweep, uint32_t machine, uint32_t end, size_t start)
{
	const acd_machine *m = sweep->scan->machines[machine];
	acd_status	status = settle(sweep, start);
	bool		taken = false;

	sweep->matched = sweep->matched || end != 0;
	if (status != ACD_OK || end == 0 || start < sweep->resume ||
		!acd_boundary(sweep->scan->boundaries, start))
		return status;

	/* The best of the chain is known, and for a span the longest suffices. */
	if (sweep->taker == ACD_TAKE_FIRST || sweep->taker == ACD_TAKE_COVER)
	{
		const unsigned char *record = acd_end_record(m, end - 1);
		uint32_t	best = acd_le32(record + (sweep->taker == ACD_TAKE_FIRST ? ACD_END_FIRST : ACD_END_COVER));

		status = take_end(sweep, machine, best, start, &taken);
		if (status == ACD_OK && taken && sweep->taker == ACD_TAKE_COVER)
			status = take_end(sweep, machine, end - 1, start, &taken);
		if (status != ACD_OK || taken)
			return status;
	}
	for (; end != 0; end = acd_le32(acd_end_record(m, end - 1) + ACD_END_NEXT))
	{
		status = take_end(sweep, machine, end - 1, start, &taken);
		if (status == ACD_OK)
			status = acd_sweep_poll(sweep, 1);
		if (status != ACD_OK)
			return status;
		if (taken && (sweep->taker == ACD_TAKE_LONGEST || sweep->taker == ACD_TAKE_ANY))
			break;
	}
	return ACD_OK;
}

/* Is everything recorded reported at once, in the order in which it was taken? */
static bool
repeats_promptly(const acd_sweep *sweep)
{
	if (sweep->taker != ACD_TAKE_OVERLAPPING || sweep->nwaiting > 0 || sweep->prompt == 0)
		return false;
	for (uint32_t i = 0; i < sweep->ntaken; i++)
		if (sweep->taken[i].more || sweep->taken[i].len > sweep->prompt + 1)
			return false;
	return true;
}

/* Report what was recorded again. */
static acd_status
report_repeats(acd_sweep *sweep, size_t pos, size_t end)
{
	acd_match_fn fn = sweep->fn;
	void	   *arg = sweep->arg;

	while (pos < end)
	{
		size_t		stop = end - pos > ACD_POLL_BYTES / 4 ? pos + ACD_POLL_BYTES / 4 : end;
		size_t		from = pos;
		acd_status	status;

		for (; pos < stop; pos += sweep->period)
			for (uint32_t i = 0; i < sweep->ntaken; i++)
			{
				const acd_taken *taken = &sweep->taken[i];
				acd_match	match;

				match.start = pos + taken->at;
				match.end = match.start + taken->len;
				match.machine = taken->machine;
				match.term = taken->term;
				if (match.start < end && fn(arg, &match) != 0)
					return ACD_ERR_STOPPED;
			}
		status = acd_sweep_poll(sweep, (pos - from) / sweep->period * (sweep->ntaken + sweep->period));
		if (status != ACD_OK)
			return status;
	}
	return ACD_OK;
}

/* Take matches again, the periods that follow being equal. */
acd_status
acd_take_repeats(acd_sweep *sweep, size_t pos, size_t end)
{
	if (repeats_promptly(sweep))
		return report_repeats(sweep, pos, end);
	for (; pos < end; pos += sweep->period)
	{
		acd_status	status = acd_sweep_poll(sweep, sweep->period);

		for (uint32_t i = 0; status == ACD_OK && i < sweep->ntaken; i++)
		{
			const acd_taken *taken = &sweep->taken[i];
			size_t		start = pos + taken->at;

			if (start >= end)
				return ACD_OK;
			status = settle(sweep, start);
			if (status == ACD_OK && start >= sweep->resume)
				status = take(sweep, taken->machine, taken->term, start, start + taken->len, taken->more);
		}
		if (status != ACD_OK)
			return status;
	}
	return ACD_OK;
}

/* Report the rest. */
acd_status
acd_take_rest(acd_sweep *sweep)
{
	if (sweep->taker == ACD_TAKE_ANY)
		return ACD_OK;
	if (sweep->taker == ACD_TAKE_OVERLAPPING)
		return acd_waiting_report(sweep, SIZE_MAX);
	return settle(sweep, SIZE_MAX);
}
