/*
 * sweep.c
 *		Going through a text from one possible start of a term to the next.
 *
 * Each tier of each machine is a source.  A source's filter is run over a
 * stretch of text, what passes is looked up in its table, and what is found
 * there is a tree to walk.  With several sources the least start goes first.
 *
 * Looking up and walking are done for many starts at a time, each memory
 * access prefetched: a filter's point is that its accesses do not depend on
 * each other as an automaton's do.
 *
 * Copyright (c) 2026, the acdat_decoder authors; PostgreSQL licence
 */
#include "acd_sweep.h"

#define MAX_SOURCES		(ACD_MAX_MACHINES * ACD_MAX_TIERS)
#define MAX_FOUND		(ACD_WINDOW_HITS * 2 * ACD_MAX_STEP)
#define SET_FOUND		512			/* shared by the sources of a set */

/* Trees found, in order of their starts. */
typedef struct found
{
	uint32_t	n;
	uint32_t	at[MAX_FOUND];	/* relative to where the search began */
	uint32_t	ref[MAX_FOUND];
} found;

/* Poll. */
acd_status
acd_sweep_poll_now(acd_sweep *sweep)
{
	sweep->unpolled = 0;
	if (sweep->scan->poll != NULL && sweep->scan->poll(sweep->scan->poll_arg) != 0)
		return ACD_ERR_STOPPED;
	return ACD_OK;
}

/*
 * Turn windows that passed the filter into the starts they can belong to,
 * from "from" on and before "to", that pass the filter of whole prefixes.
 */
static uint32_t
expand_windows(const acd_tier *tier, const unsigned char *text, size_t len, size_t first,
			   size_t from, size_t to, const acd_hits *hits, uint32_t *at, uint64_t *hashes)
{
	unsigned char offsets[ACD_WINDOW_HITS * 2];
	uint32_t	n = 0;

	for (uint32_t i = 0; i < hits->n; i++)
		offsets[i] = (unsigned char) acd_offsets_at(tier, text, len, first + hits->at[i]);
	for (uint32_t i = 0; i < hits->n; i++)
	{
		size_t		window = first + hits->at[i];
		uint32_t	mask = offsets[i];

		/* The farthest offset is the first start. */
		while (mask != 0)
		{
			uint32_t	offset = acd_highest_bit(mask);
			size_t		p = window - offset;
			uint64_t	hash;

			mask &= ~(UINT32_C(1) << offset);
			if (offset >= tier->step || p < from || window < offset || p >= to)
				continue;
			hash = acd_prefix_hash_at(tier, text, len, p);
			at[n] = (uint32_t) (p - from);
			hashes[n] = hash;
			n += acd_filter_has(tier->starts, tier->starts_shift, hash);
		}
	}
	return n;
}

/* Look up hashes, and let the trees found be loaded. */
static inline void
look_up(const acd_machine *machine, const acd_tier *tier, uint32_t n, const uint32_t *at,
		const uint64_t *hashes, found *out)
{
	uint32_t	found_n = 0;

	if (n > 2)
		for (uint32_t i = 0; i < n; i++)
			ACD_PREFETCH(tier->table + (hashes[i] >> tier->table_shift) * ACD_PREFIX_SLOT_SIZE);
	for (uint32_t i = 0; i < n; i++)
	{
		uint32_t	ref = acd_tier_lookup(tier, hashes[i]);

		ACD_PREFETCH_TWO(machine->nodes + (ref & ACD_REF_MASK), 2 * ACD_NODE_SIZE);
		out->at[found_n] = at[i];
		out->ref[found_n] = ref;
		found_n += ref != 0;
	}
	out->n = found_n;
}

/* Find trees of a tier that looks at each start.  Returns where to go on. */
static size_t
find_starts(const acd_sweep *sweep, const acd_machine *machine, const acd_tier *tier,
			const acd_filters *filters, size_t from, size_t to, found *out)
{
	acd_hits	hits;
	size_t		end;

	hits.limit = ACD_HITS_STOP;
	end = filters->starts(tier, sweep->text, sweep->len, from, to, &hits);

	out->n = 0;
	if (hits.n > 0)
		look_up(machine, tier, hits.n, hits.at, hits.hash, out);
	return end;
}

/* Find trees of a tier that looks at windows. */
static size_t
find_windows(const acd_sweep *sweep, const acd_machine *machine, const acd_tier *tier,
			 const acd_filters *filters, size_t from, size_t to, found *out)
{
	size_t		step = tier->step;
	size_t		first = from - from % step + step - 1;
	size_t		last = to - 1 - (to - 1) % step + step - 1;
	acd_hits	hits;
	size_t		next;
	size_t		end;

	hits.limit = ACD_WINDOW_HITS;
	next = filters->windows(tier, sweep->text, sweep->len, first, last + 1, &hits);
	end = next > last ? to : next + 1 - step;
	out->n = 0;
	if (hits.n > 0)
	{
		uint32_t	at[MAX_FOUND];
		uint64_t	hashes[MAX_FOUND];
		uint32_t	n = expand_windows(tier, sweep->text, sweep->len, first, from, end, &hits, at, hashes);

		look_up(machine, tier, n, at, hashes, out);
	}
	return end;
}

static inline size_t
find(const acd_sweep *sweep, const acd_machine *machine, const acd_tier *tier,
	 const acd_filters *filters, size_t from, size_t to, found *out)
{
	return tier->step == 0 ? find_starts(sweep, machine, tier, filters, from, to, out) :
		find_windows(sweep, machine, tier, filters, from, to, out);
}

/* Does the automaton answer for all terms of a machine that start at "pos"? */
static inline bool
backlog_covers(const acd_sweep *sweep, uint32_t machine, size_t pos)
{
	const acd_machine *m = sweep->scan->machines[machine];

	return ACD_UNLIKELY(sweep->backlogs != NULL) && m->nends == m->nterms &&
		pos >= sweep->backlogs[machine].lo && pos < sweep->backlogs[machine].hi;
}

/*
 * The starts the automaton found, as trees that it must answer for.  Returns
 * where to go on.
 */
static size_t
find_in_backlog(const acd_sweep *sweep, uint32_t machine, size_t from, size_t to, found *out)
{
	const acd_backlog *backlog = &sweep->backlogs[machine];
	size_t		pos = from;
	uint32_t	n = 0;

	to = to < backlog->hi ? to : backlog->hi;
	while (pos < to && n < MAX_FOUND)
	{
		out->at[n] = (uint32_t) (pos - from);
		out->ref[n] = ACD_REF_DEEP;
		n += backlog->ends[pos++ - backlog->lo] != 0;
	}
	out->n = n;
	return pos;
}

/* Begin. */
void
acd_sweep_begin(acd_sweep *sweep)
{
	const acd_scan *scan = sweep->scan;

	sweep->allocator = scan->allocator != NULL ? scan->allocator : &acd_libc_allocator;
	sweep->cost = 0;
	sweep->cost_since = 0;
	sweep->cost_limit = ACD_FIRST_COST_LIMIT;
	sweep->stretch = 0;
	sweep->waiting = sweep->first_waiting;
	sweep->nwaiting = 0;
	sweep->first = 0;
	sweep->sorted = true;
	sweep->prompt = scan->nmachines == 1 && scan->machines[0]->ntiers == 1 ? scan->machines[0]->min_len : 0;
	sweep->waiting_capacity = ACD_INLINE_WAITING;
}

/* End. */
acd_status
acd_sweep_end(acd_sweep *sweep, acd_status status)
{
	if (status == ACD_OK)
		status = acd_take_rest(sweep);
	if (sweep->waiting != sweep->first_waiting)
		acd_release(sweep->allocator, sweep->waiting);
	acd_automaton_free(sweep);
	return status;
}

/* Take the trees found from "from" on. */
static acd_status
take_found(acd_sweep *sweep, const acd_machine *machine, size_t from, const found *out)
{
	/* By the time a match is reported its term's record is there. */
	if (out->n > 2 && sweep->taker != ACD_TAKE_ANY && !machine->one_replacement)
		for (uint32_t i = 0; i < out->n; i++)
		{
			uint32_t	term = acd_le32(machine->nodes + (out->ref[i] & ACD_REF_MASK) + ACD_NODE_TERM);

			if (term != 0)
				ACD_PREFETCH_TWO(acd_term_record(machine, term - 1), ACD_TERM_SIZE);
		}
	for (uint32_t i = 0; i < out->n; i++)
	{
		acd_status	status;

		if (from + out->at[i] < sweep->resume)
		{
			sweep->missed = true;
			continue;
		}
		status = acd_take_tree(sweep, 0, out->ref[i], from + out->at[i]);
		if (status != ACD_OK)
			return status;
	}
	return ACD_OK;
}

/*
 * Scan with one machine that has one tier.  Most short texts are done after
 * one call of the filter, so nothing is set up before something is found.
 */
static acd_status
run_single(acd_sweep *sweep)
{
	const acd_machine *machine = sweep->scan->machines[0];
	const acd_tier *tier = &machine->tiers[0];
	const acd_filters *filters = acd_filters_of(sweep->scan, machine);
	size_t		last = sweep->len - tier->min_len + 1;
	size_t		pos = 0;
	acd_status	status = ACD_OK;
	bool		begun = false;
	found		out;

	if (sweep->len < tier->min_len)
		return ACD_OK;
	if (sweep->taker == ACD_TAKE_ANY)
		status = acd_any_windows(sweep, &pos, &begun);
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
		if (backlog_covers(sweep, 0, from))
			pos = find_in_backlog(sweep, 0, from, to, &out);
		else
			pos = find(sweep, machine, tier, filters, from, to, &out);
		if (out.n > 0)
		{
			if (!begun)
				acd_sweep_begin(sweep);
			begun = true;
			status = take_found(sweep, machine, from, &out);
		}
		if (status == ACD_OK)
			status = acd_sweep_poll(sweep, pos - from);
		if (ACD_UNLIKELY(period != 0) && status == ACD_OK)
			status = acd_period_use(sweep, from, pos == to, &pos);
		pos = pos > sweep->resume ? pos : sweep->resume;
	}
	return begun ? acd_sweep_end(sweep, status) : status;
}

/* A tier of a machine of a set. */
typedef struct source
{
	const acd_tier *tier;
	const acd_machine *machine;
	const struct source *lead;	/* the machine's first */
	size_t		answered;		/* from there to pos the automaton was asked; SIZE_MAX: nowhere */
	uint32_t	index;			/* of the machine */
	uint32_t	n;				/* trees found */
	uint32_t	i;				/* of which so many are taken */
	size_t		pos;			/* where to look for more */
	size_t		last;			/* behind the last possible start */
	size_t		base;			/* starts are relative to that */
	uint32_t   *at;
	uint32_t   *ref;
} source;

/*
 * The starts the automaton found that a source must take, before "to".  The
 * machine's first source takes those for all, from where it is.  Some starts
 * may still be taken twice, which changes nothing.
 */
static size_t
refill_from_backlog(const acd_sweep *sweep, source *src, size_t to, found *out)
{
	const acd_backlog *backlog = &sweep->backlogs[src->index];
	const source *lead = src->lead;
	size_t		base = src->base;

	if (src->answered > base)
		src->answered = base;
	if (lead == src || (lead->pos <= base && lead->pos < backlog->lo))
		return find_in_backlog(sweep, src->index, base, to, out);
	if (lead->pos > base && lead->answered > base)
	{
		/* These the first source found by its filter, so only its own. */
		size_t		stop = lead->answered < lead->pos ? lead->answered : lead->pos;

		return find_in_backlog(sweep, src->index, base, stop < to ? stop : to, out);
	}
	out->n = 0;
	if (lead->pos > base)
		return lead->pos < to ? lead->pos : to;
	return to < backlog->hi ? to : backlog->hi;
}

/* Find a source's next trees that start before "end". */
static void
refill(acd_sweep *sweep, source *src, size_t end, uint32_t capacity)
{
	const acd_filters *filters = acd_filters_of(sweep->scan, src->machine);
	size_t		to = src->last < end ? src->last : end;
	found		out;

	src->n = src->i = 0;
	if (src->pos < sweep->resume)
	{
		src->pos = sweep->resume;
		sweep->missed = true;
	}
	while (src->n == 0 && src->pos < to)
	{
		src->base = src->pos;
		out.at[capacity] = 0;	/* written by whoever finds so many */
		if (backlog_covers(sweep, src->index, src->pos))
			src->pos = refill_from_backlog(sweep, src, to, &out);
		else
		{
			src->answered = SIZE_MAX;
			src->pos = find(sweep, src->machine, src->tier, filters, src->base, to, &out);
		}
		src->n = out.n;
		if (out.n > capacity)
		{
			src->n = capacity;
			src->pos = src->base + out.at[capacity];
		}
		memcpy(src->at, out.at, src->n * sizeof(uint32_t));
		memcpy(src->ref, out.ref, src->n * sizeof(uint32_t));
	}
}

/* Take the trees that start before "end", least start first. */
static acd_status
merge(acd_sweep *sweep, source *sources, uint32_t nsources, size_t end, uint32_t capacity)
{
	for (;;)
	{
		source	   *least = NULL;
		size_t		start = 0;
		acd_status	status;

		for (uint32_t i = 0; i < nsources; i++)
		{
			source	   *src = &sources[i];

			while (src->i < src->n && src->base + src->at[src->i] < sweep->resume)
			{
				src->i++;
				sweep->missed = true;
			}
			if (src->i == src->n)
			{
				if (src->pos >= end || src->pos >= src->last)
					continue;
				refill(sweep, src, end, capacity);
				if (src->n == 0)
					continue;
			}
			if (least == NULL || src->base + src->at[src->i] < start)
			{
				least = src;
				start = src->base + src->at[src->i];
			}
		}
		if (least == NULL)
			return ACD_OK;
		status = acd_take_tree(sweep, least->index, least->ref[least->i++], start);
		if (status != ACD_OK)
			return status;
	}
}

/* Scan with any number of machines and tiers. */
static acd_status
run_set(acd_sweep *sweep)
{
	const acd_scan *scan = sweep->scan;
	uint32_t	at[SET_FOUND];
	uint32_t	ref[SET_FOUND];
	source		sources[MAX_SOURCES];
	uint32_t	nsources = 0;
	uint32_t	capacity;
	acd_status	status = ACD_OK;

	for (uint32_t m = 0; m < scan->nmachines; m++)
		for (uint32_t t = 0; t < scan->machines[m]->ntiers; t++)
			nsources += sweep->len >= scan->machines[m]->tiers[t].min_len;
	if (nsources == 0)
		return ACD_OK;
	capacity = SET_FOUND / nsources;
	nsources = 0;
	for (uint32_t m = 0; m < scan->nmachines; m++)
		for (uint32_t t = 0; t < scan->machines[m]->ntiers; t++)
		{
			const acd_tier *tier = &scan->machines[m]->tiers[t];
			source	   *src;

			if (sweep->len < tier->min_len)
				continue;
			src = &sources[nsources];
			memset(src, 0, sizeof(*src));
			src->tier = tier;
			src->machine = scan->machines[m];
			src->index = m;
			src->answered = SIZE_MAX;
			src->lead = nsources > 0 && sources[nsources - 1].index == m ? sources[nsources - 1].lead : src;
			src->last = sweep->len - tier->min_len + 1;
			src->at = &at[nsources * capacity];
			src->ref = &ref[nsources * capacity];
			nsources++;
		}

	acd_sweep_begin(sweep);
	for (size_t pos = 0; status == ACD_OK && pos < sweep->len;)
	{
		size_t		stop = sweep->len - pos > ACD_STRETCH ? pos + ACD_STRETCH : sweep->len;
		uint32_t	period;

		status = acd_period_at(sweep, pos, &period);
		if (status != ACD_OK)
			break;
		if (period != 0)
			stop = pos + period;
		status = merge(sweep, sources, nsources, stop, capacity);
		if (status == ACD_OK)
			status = acd_sweep_poll(sweep, stop - pos);
		if (period != 0 && status == ACD_OK)
		{
			status = acd_period_use(sweep, pos, true, &stop);
			for (uint32_t i = 0; i < nsources; i++)
				sources[i].pos = sources[i].pos > stop ? sources[i].pos : stop;
		}
		pos = stop > sweep->resume ? stop : sweep->resume;
	}
	return acd_sweep_end(sweep, status);
}

/* Set what each sweep needs. */
static inline void
set_up(acd_sweep *sweep, const acd_scan *scan, const void *text, size_t len,
	   acd_taker taker, acd_match_fn fn, void *arg)
{
	sweep->open = false;
	sweep->scan = scan;
	sweep->text = text;
	sweep->len = len;
	sweep->fn = fn;
	sweep->arg = arg;
	sweep->taker = taker;
	sweep->resume = 0;
	sweep->unpolled = 0;
	sweep->backlogs = NULL;
	sweep->period_look = scan->engine == ACD_ENGINE_AUTO ? 0 : SIZE_MAX;
	sweep->period_end = 0;
	sweep->recording = false;
	sweep->missed = false;
	sweep->matched = false;
}

/* Take what the filter found in a short text. */
acd_status
acd_sweep_short(acd_sweep *sweep, const acd_scan *scan, const void *text, size_t len, const acd_hits *hits,
				acd_taker taker, acd_match_fn fn, void *arg)
{
	const acd_machine *machine = scan->machines[0];
	acd_status	status;
	found		out;

	set_up(sweep, scan, text, len, taker, fn, arg);
	acd_sweep_begin(sweep);
	look_up(machine, &machine->tiers[0], hits->n, hits->at, hits->hash, &out);
	status = take_found(sweep, machine, 0, &out);
	return acd_sweep_end(sweep, status);
}

/* Scan. */
acd_status
acd_sweep_run(acd_sweep *sweep, const acd_scan *scan, const void *text, size_t len,
			  acd_taker taker, acd_match_fn fn, void *arg)
{
	sweep->open = false;
	if (scan == NULL || scan->nmachines > ACD_MAX_MACHINES ||
		(scan->nmachines > 0 && scan->machines == NULL) || (text == NULL && len > 0) ||
		(unsigned) scan->engine > (unsigned) ACD_ENGINE_AUTOMATON ||
		(scan->simd != ACD_SIMD_AUTO && !acd_simd_supported(scan->simd)))
		return ACD_ERR_ARGUMENT;
	set_up(sweep, scan, text, len, taker, fn, arg);
	if (scan->nmachines == 1 && scan->machines[0]->ntiers == 1)
		return taker == ACD_TAKE_ANY && scan->machines[0]->tiers[0].step == 0 ?
			acd_any_starts(sweep) : run_single(sweep);
	return scan->nmachines > 0 ? run_set(sweep) : ACD_OK;
}
