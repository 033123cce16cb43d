/*
 * short.c
 *		Texts of up to 64 bytes, as most values of a table are.
 *
 * One call of the filter looks at all of such a text, and in most it finds
 * nothing.  So nothing is set up before, and what may be slow in longer ones
 * is not thought of: the automaton and text that repeats itself.
 *
 * Copyright (c) 2026, the acdat_decoder authors; PostgreSQL licence
 */
#include "acd_filter.h"

/* Find what may be starts. */
bool
acd_short_look(const acd_scan *scan, const void *text, size_t len, acd_hits *hits)
{
	const acd_machine *machine = scan->machines[0];
	const acd_tier *tier = &machine->tiers[0];
	const acd_filters *filters = machine->filters;

	if (len < tier->min_len)
		return false;
	filters->row(tier, text, len, 0, len - tier->min_len + 1, hits);
	return hits->n > 0;
}

/* The longest term of the tree "ref" that starts at a place, + 1; its length. */
static inline uint32_t
longest_of(const acd_scan *scan, const unsigned char *text, size_t room, uint32_t ref, uint32_t *len)
{
	acd_walk	walk;
	uint32_t	longest = 0;
	uint32_t	term;

	acd_walk_begin(&walk, scan->machines[0], ref, text, room);
	while ((term = acd_walk_next(&walk)) != 0)
	{
		longest = term;
		*len = walk.depth;
	}
	return longest;
}

/* Report the leftmost-longest matches. */
static acd_status
find_longest(const acd_scan *scan, const void *text, size_t len, const acd_hits *hits,
			 acd_match_fn fn, void *arg)
{
	const acd_tier *tier = &scan->machines[0]->tiers[0];
	size_t		resume = 0;

	if (hits->n > 1)
		for (uint32_t i = 0; i < hits->n; i++)
			ACD_PREFETCH(tier->table + (hits->hash[i] >> tier->table_shift) * ACD_PREFIX_SLOT_SIZE);
	for (uint32_t i = 0; i < hits->n; i++)
	{
		acd_match	match = {.start = hits->at[i]};
		uint32_t	ref;
		uint32_t	match_len;
		uint32_t	term;

		if (match.start < resume || (ref = acd_tier_lookup(tier, hits->hash[i])) == 0)
			continue;
		term = longest_of(scan, (const unsigned char *) text + match.start, len - match.start, ref, &match_len);
		if (term == 0)
			continue;
		match.end = resume = match.start + match_len;
		match.term = term - 1;
		if (fn(arg, &match) != 0)
			return ACD_ERR_STOPPED;
	}
	return ACD_OK;
}

/* Report the matches that start at hits. */
acd_status
acd_short_find(const acd_scan *scan, const void *text, size_t len, const acd_hits *hits,
			   acd_match_fn fn, void *arg)
{
	acd_sweep	sweep;
	acd_taker	taker;

	if (scan->kind == ACD_LEFTMOST_LONGEST && scan->boundaries == NULL)
		return find_longest(scan, text, len, hits, fn, arg);
	if (!acd_taker_of(scan->kind, &taker))
		return ACD_ERR_ARGUMENT;
	return acd_sweep_short(&sweep, scan, text, len, hits, taker, fn, arg);
}

/* Does a term start at one of the hits? */
bool
acd_short_any(const acd_scan *scan, const void *text, size_t len, const acd_hits *hits)
{
	const acd_machine *machine = scan->machines[0];
	const acd_tier *tier = &machine->tiers[0];
	const unsigned char *bytes = text;
	uint32_t	at[ACD_SHORT_TEXT];
	uint32_t	refs[ACD_SHORT_TEXT];
	uint32_t	n = 0;
	acd_sweep	sweep;

	if (scan->boundaries != NULL)
		return acd_sweep_short(&sweep, scan, text, len, hits, ACD_TAKE_ANY, NULL, NULL) == ACD_ERR_STOPPED;
	if (hits->n > 1)
		for (uint32_t i = 0; i < hits->n; i++)
			ACD_PREFETCH(tier->table + (hits->hash[i] >> tier->table_shift) * ACD_PREFIX_SLOT_SIZE);
	for (uint32_t i = 0; i < hits->n; i++)
	{
		uint32_t	start = hits->at[i];
		uint32_t	ref = acd_tier_lookup(tier, hits->hash[i]);

		if (acd_is_whole(machine, tier, ref, hits->hash[i], bytes + start, len - start))
			return true;
		ACD_PREFETCH(machine->nodes + (ref & ACD_REF_MASK));
		at[n] = start;
		refs[n] = ref;
		n += ref != 0;
	}
	for (uint32_t i = 0; i < n; i++)
	{
		acd_walk	walk;

		acd_walk_begin(&walk, machine, refs[i], bytes + at[i], len - at[i]);
		if (acd_walk_next(&walk) != 0)
			return true;
	}
	return false;
}
