/*
 * any.c
 *		Whether anything matches in a text: acd_contains on one machine with
 *		one tier.
 *
 * Most texts of a database are short, and the first match ends the scan, so
 * what counts is how many loads wait for each other before one is certain.
 * Where a prefix is a whole term, the table says so, and comparing its bytes is
 * expected to succeed: a processor goes on to the next text meanwhile.
 *
 * Copyright (c) 2026, the acdat_decoder authors; PostgreSQL licence
 */
#include "acd_sweep.h"

#define FEW_STARTS		4			/* up to so many a window can belong to are looked up before it is known to which */

/* Something matches. */
static inline acd_status
stop(acd_sweep *sweep)
{
	sweep->open = true;
	return ACD_ERR_STOPPED;
}

/* Does the term that is the whole prefix of a tree stand at "start", where the hash is of? */
static ACD_ALWAYS_INLINE bool
is_whole(const acd_sweep *sweep, const acd_machine *machine, const acd_tier *tier, uint32_t ref,
		 uint64_t hash, size_t start)
{
	return sweep->scan->boundaries == NULL &&
		acd_is_whole(machine, tier, ref, hash, sweep->text + start, sweep->len - start);
}

/* Look up what passed a start filter, and walk what is left. */
static acd_status
take_starts(acd_sweep *sweep, const acd_machine *machine, const acd_tier *tier, size_t from,
			const acd_hits *hits, bool *begun)
{
	uint32_t	at[ACD_HITS + 64];
	uint32_t	refs[ACD_HITS + 64];
	uint32_t	n = 0;

	for (uint32_t i = 0; i < hits->n; i++)
		ACD_PREFETCH(tier->table + (hits->hash[i] >> tier->table_shift) * ACD_PREFIX_SLOT_SIZE);
	for (uint32_t i = 0; i < hits->n; i++)
	{
		uint32_t	ref = acd_tier_lookup(tier, hits->hash[i]);

		if (is_whole(sweep, machine, tier, ref, hits->hash[i], from + hits->at[i]))
			return stop(sweep);
		ACD_PREFETCH(machine->nodes + (ref & ACD_REF_MASK));
		at[n] = hits->at[i];
		refs[n] = ref;
		n += ref != 0;
	}
	if (n > 0 && !*begun)
	{
		acd_sweep_begin(sweep);
		*begun = true;
	}
	for (uint32_t i = 0; i < n; i++)
	{
		/* cppcheck-suppress uninitvar; filled up to n */
		acd_status	status = acd_take_tree(sweep, 0, refs[i], from + at[i]);

		if (status != ACD_OK)
			return status;
	}
	return ACD_OK;
}

/* Does anything match? */
acd_status
acd_any_starts(acd_sweep *sweep)
{
	const acd_machine *machine = sweep->scan->machines[0];
	const acd_tier *tier = &machine->tiers[0];
	const acd_filters *filters = acd_filters_of(sweep->scan, machine);
	size_t		last = sweep->len - tier->min_len + 1;
	size_t		pos = 0;
	acd_status	status = ACD_OK;
	bool		begun = false;
	acd_hits	hits;

	if (sweep->len < tier->min_len)
		return ACD_OK;
	hits.limit = 0;
	while (status == ACD_OK && pos < last)
	{
		size_t		from = pos;
		size_t		to = last - from > ACD_STRETCH ? from + ACD_STRETCH : last;
		uint32_t	period;

		status = acd_period_at(sweep, from, &period);
		if (status != ACD_OK)
			break;
		if (period != 0 && to - from > period)
			to = from + period;
		pos = filters->starts(tier, sweep->text, sweep->len, from, to, &hits);
		hits.limit = ACD_HITS_STOP;
		if (hits.n > 0)
			status = take_starts(sweep, machine, tier, from, &hits, &begun);
		if (status == ACD_OK)
			status = acd_sweep_poll(sweep, pos - from);
		if (ACD_UNLIKELY(period != 0) && status == ACD_OK)
			status = acd_period_use(sweep, from, pos == to, &pos);
	}
	return begun ? acd_sweep_end(sweep, status) : status;
}

/*
 * Follow a window that passed the filter to the end, for starts from "from"
 * on and before "to".  Where it can belong to few starts, the table's slots for
 * all of them are loaded while its offsets are, and the filter of prefixes is
 * not asked; else only those that the offsets name are looked up.
 */
static acd_status
take_window(acd_sweep *sweep, const acd_machine *machine, const acd_tier *tier, size_t window,
			size_t from, size_t to)
{
	size_t		low = window < from + tier->step ? from : window - tier->step + 1;
	size_t		high = window < to ? window + 1 : to;
	bool		few = tier->step <= FEW_STARTS;
	uint64_t	hashes[ACD_MAX_STEP];
	uint32_t	refs[ACD_MAX_STEP];
	uint32_t	offsets;

	if (few)
		for (size_t p = low; p < high; p++)
		{
			hashes[p - low] = acd_prefix_hash_at(tier, sweep->text, sweep->len, p);
			ACD_PREFETCH(tier->table + (hashes[p - low] >> tier->table_shift) * ACD_PREFIX_SLOT_SIZE);
		}
	offsets = acd_offsets_at(tier, sweep->text, sweep->len, window);
	for (size_t p = low; p < high; p++)
	{
		refs[p - low] = 0;
		if ((offsets >> (window - p) & 1) == 0)
			continue;
		if (!few)
			hashes[p - low] = acd_prefix_hash_at(tier, sweep->text, sweep->len, p);
		refs[p - low] = acd_tier_lookup(tier, hashes[p - low]);
		ACD_PREFETCH_TWO(machine->nodes + (refs[p - low] & ACD_REF_MASK), 2 * ACD_NODE_SIZE);
	}
	for (size_t p = low; p < high; p++)
	{
		acd_status	status = refs[p - low] != 0 ? acd_take_tree(sweep, 0, refs[p - low], p) : ACD_OK;

		if (status != ACD_OK)
			return status;
	}
	return ACD_OK;
}

/* Begin a scan. */
acd_status
acd_any_windows(acd_sweep *sweep, size_t *pos, bool *begun)
{
	const acd_machine *machine = sweep->scan->machines[0];
	const acd_tier *tier = &machine->tiers[0];
	const acd_filters *filters = acd_filters_of(sweep->scan, machine);
	size_t		last = sweep->len - tier->min_len + 1;
	size_t		step = tier->step;
	acd_status	status = ACD_OK;
	acd_hits	hits;

	hits.limit = 0;
	for (hits.n = 0; status == ACD_OK && hits.n == 0 && *pos < last;)
	{
		size_t		from = *pos;
		size_t		to = last - from > ACD_STRETCH ? from + ACD_STRETCH : last;
		size_t		first = from - from % step + step - 1;
		size_t		last_window = to - 1 - (to - 1) % step + step - 1;
		size_t		next = filters->windows(tier, sweep->text, sweep->len, first, last_window + 1, &hits);

		*pos = next > last_window ? to : next + 1 - step;
		if (hits.n > 0 && !*begun)
		{
			acd_sweep_begin(sweep);
			*begun = true;
		}
		for (uint32_t i = 0; status == ACD_OK && i < hits.n; i++)
			status = take_window(sweep, machine, tier, first + hits.at[i], from, *pos);
		if (status == ACD_OK)
			status = acd_sweep_poll(sweep, *pos - from);
	}
	return status;
}
