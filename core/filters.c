/*
 * filters.c
 *		Filling the filters and tables of tiers.
 *
 * Copyright (c) 2026, the acdat_decoder authors; PostgreSQL licence
 */
#include "acd_build.h"

#define MAX_TRIES		64			/* multipliers */
#define MIN_FILTER_BITS	4			/* log2 of words */
#define FOLD_BITS		6			/* a filter is halved while so many bits of a word are set */

/* Bytes of one tier's filters. */
static size_t
filter_bytes(const acd_tier_plan *plan)
{
	return ((size_t) 8 << plan->filter_bits) +
		(plan->starts_bits > 0 ? (size_t) 8 << plan->starts_bits : 0) +
		(plan->offsets_bits > 0 ? (size_t) 1 << plan->offsets_bits : 0);
}

/* Bytes of all filters; at most some MiB. */
size_t
acd_tiers_filter_bytes(const acd_tier_set *set)
{
	size_t		bytes = 0;

	for (uint32_t i = 0; i < set->ntiers; i++)
		bytes += filter_bytes(&set->plans[i]);
	return bytes;
}

/* Bytes of all tables. */
size_t
acd_tiers_table_bytes(const acd_tier_set *set)
{
	size_t		bytes = 0;

	for (uint32_t i = 0; i < set->ntiers; i++)
		bytes += (size_t) ACD_PREFIX_SLOT_SIZE << set->plans[i].table_bits;
	return bytes;
}

/*
 * Fill a tier's table with the multiplier it has.  False if two prefixes
 * cannot be told apart.
 */
static bool
fill_table(const acd_tier_set *set, const acd_tier_plan *plan, const acd_key *keys, unsigned char *table)
{
	const acd_tier *t = &plan->tier;

	for (uint32_t g = plan->first_group; g < plan->first_group + plan->ngroups; g++)
	{
		unsigned char prefix[ACD_MAX_PREFIX] = {0};
		uint64_t	hash;
		uint32_t	tag;
		unsigned char *slot;

		memcpy(prefix, keys[set->groups[g].key].bytes,
			   acd_prefix_len(t, keys[set->groups[g].key].bytes[0]));
		hash = acd_prefix_hash(t, prefix);
		tag = acd_hash_tag(hash);
		for (uint64_t i = hash >> t->table_shift;; i++)
		{
			slot = table + (i & t->table_mask) * ACD_PREFIX_SLOT_SIZE;
			if (acd_le32(slot + ACD_PREFIX_REF) == 0)
				break;
			if (acd_le32(slot + ACD_PREFIX_TAG) == tag)
				return false;
		}
		acd_put32(slot + ACD_PREFIX_TAG, tag);
		acd_put32(slot + ACD_PREFIX_REF, set->groups[g].ref);
	}
	return true;
}

/* Set the bits of a hash in a filter. */
static void
set_bits(unsigned char *filter, uint32_t shift, uint64_t hash)
{
	unsigned char *word = filter + (hash >> shift) * 8;

	acd_put64(word, acd_le64(word) | acd_hash_bits(hash));
}

/* The first 8 bytes of a term as a little-endian word, filled with zeros. */
static uint64_t
first_word(const acd_key *key)
{
	unsigned char first[8] = {0};

	memcpy(first, key->bytes, key->len < 8 ? key->len : 8);
	return acd_le64(first);
}

/*
 * Put a tree's terms, order[lo] .. order[hi - 1], into a start filter.  If one
 * ends within 8 bytes or many differ there, the window alone must do.
 */
static void
fill_starts(const acd_tier *t, const acd_key *keys, const uint32_t *order, uint32_t lo, uint32_t hi,
			unsigned char *filter)
{
	uint64_t	hash = acd_gram_hash(t, first_word(&keys[order[lo]]));
	unsigned char *word = filter + (hash >> t->filter_shift) * 8;

	if (!acd_has_long_keys(t))
		set_bits(filter, t->filter_shift, hash);
	else if (acd_start_keys(keys, order, lo, hi) == 0)
		acd_put64(word, acd_le64(word) | acd_window_bits(hash));
	else
		for (uint32_t i = lo; i < hi; i++)
			acd_put64(word, acd_le64(word) | acd_long_bits(acd_long_hash(t, first_word(&keys[order[i]]))));
}

/* Fill a tier's start filter. */
static void
fill_start_filter(const acd_tier_set *set, const acd_tier_plan *plan, const acd_key *keys, unsigned char *filter)
{
	uint32_t	lo = plan->first;

	for (uint32_t g = plan->first_group; g < plan->first_group + plan->ngroups; g++)
	{
		fill_starts(&plan->tier, keys, set->order, lo, lo + set->groups[g].nterms, filter);
		lo += set->groups[g].nterms;
	}
}

/* Fill a tier's filters of windows and prefixes, and offsets. */
static void
fill_window_filters(const acd_tier_set *set, const acd_tier_plan *plan, const acd_key *keys, unsigned char *filter)
{
	const acd_tier *t = &plan->tier;
	unsigned char *starts = filter + ((size_t) 8 << plan->filter_bits);
	unsigned char *offsets = starts + ((size_t) 8 << plan->starts_bits);

	for (uint32_t g = plan->first_group; g < plan->first_group + plan->ngroups; g++)
	{
		unsigned char prefix[ACD_MAX_PREFIX + 8] = {0};

		memcpy(prefix, keys[set->groups[g].key].bytes,
			   acd_prefix_len(t, keys[set->groups[g].key].bytes[0]));
		for (uint32_t o = 0; o < t->step; o++)
		{
			uint64_t	hash = acd_gram_hash(t, acd_le64(prefix + o));

			set_bits(filter, t->filter_shift, hash);
			offsets[acd_offsets_index(t, hash)] |= (unsigned char) (1u << o);
		}
		set_bits(starts, t->starts_shift, acd_prefix_hash(t, prefix));
	}
}

/* The next multiplier to try. */
static uint64_t
next_multiplier(uint64_t *seed)
{
	uint64_t	z = (*seed += UINT64_C(0x9E3779B97F4A7C15));

	/* splitmix64 */
	z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
	return (z ^ (z >> 31)) | 1;
}

/* Write a tier's record. */
static void
write_tier(const acd_tier_plan *plan, unsigned char *record)
{
	const acd_tier *t = &plan->tier;

	acd_put32(record + ACD_TIER_GROUPS, plan->ngroups);
	acd_put32(record + ACD_TIER_MIN_LEN, t->min_len);
	acd_put32(record + ACD_TIER_MAX_LEN, t->max_len);
	acd_put32(record + ACD_TIER_WINDOW, t->window);
	acd_put32(record + ACD_TIER_STEP, t->step);
	acd_put32(record + ACD_TIER_PREFIX, t->prefix);
	acd_put32(record + ACD_TIER_FILTER_BITS, plan->filter_bits);
	acd_put32(record + ACD_TIER_STARTS_BITS, plan->starts_bits);
	acd_put32(record + ACD_TIER_OFFSETS_BITS, plan->offsets_bits);
	acd_put32(record + ACD_TIER_TABLE_BITS, plan->table_bits);
	acd_put64(record + ACD_TIER_MULTIPLIER, t->multiplier);
	memcpy(record + ACD_TIER_WINDOWS, t->windows, sizeof(t->windows));
	memcpy(record + ACD_TIER_CLASSES, plan->classes, sizeof(plan->classes));
}

/* Number of bits set in a word. */
static uint32_t
count_bits(uint64_t word)
{
	uint32_t	n = 0;

	for (; word != 0; word &= word - 1)
		n++;
	return n;
}

/*
 * Halve a filter while it is emptier than it need be, because many terms
 * have windows in common: the words of a pair are joined.
 */
static void
fold_filter(acd_tier_plan *plan)
{
	size_t		words = (size_t) 1 << plan->filter_bits;
	size_t		old_bytes = words * 8;
	uint64_t	set = 0;

	for (size_t i = 0; i < words; i++)
		set += count_bits(acd_le64(plan->filters + i * 8));
	while (plan->filter_bits > MIN_FILTER_BITS && set < words * FOLD_BITS / 2)
	{
		words /= 2;
		for (size_t i = 0; i < words; i++)
			acd_put64(plan->filters + i * 8, acd_le64(plan->filters + i * 16) | acd_le64(plan->filters + i * 16 + 8));
		plan->filter_bits--;
		plan->tier.filter_shift++;
	}
	if (words * 8 < old_bytes)
		memmove(plan->filters + words * 8, plan->filters + old_bytes, filter_bytes(plan) - words * 8);
}

/*
 * Build filters and tables.  The multiplier depends on all terms, so that
 * nobody can choose terms that collide.
 */
acd_status
acd_tiers_fill(acd_tier_set *set, const acd_allocator *allocator, const acd_key *keys)
{
	uint64_t	seed = acd_xxh64(set->forest.bytes, set->forest.size, 0);

	for (uint32_t i = 0; i < set->ntiers; i++)
	{
		acd_tier_plan *plan = &set->plans[i];
		size_t		bytes = (size_t) ACD_PREFIX_SLOT_SIZE << plan->table_bits;
		int			tries = 0;

		plan->filters = acd_alloc_array(allocator, filter_bytes(plan), 1);
		plan->table = acd_alloc_array(allocator, bytes, 1);
		if (plan->filters == NULL || plan->table == NULL)
			return ACD_ERR_NOMEM;
		memset(plan->filters, 0, filter_bytes(plan));
		do
		{
			if (tries++ == MAX_TRIES)
				return ACD_ERR_TOO_LARGE;	/* does not happen */
			memset(plan->table, 0, bytes);
			plan->tier.multiplier = next_multiplier(&seed);
		} while (!fill_table(set, plan, keys, plan->table));
		if (plan->tier.step == 0)
			fill_start_filter(set, plan, keys, plan->filters);
		else
			fill_window_filters(set, plan, keys, plan->filters);
		fold_filter(plan);
	}
	return ACD_OK;
}

/* Write tiers, filters and tables. */
void
acd_tiers_write(const acd_tier_set *set, unsigned char *tiers, unsigned char *filters, unsigned char *tables)
{
	for (uint32_t i = 0; i < set->ntiers; i++)
	{
		const acd_tier_plan *plan = &set->plans[i];
		size_t		table_bytes = (size_t) ACD_PREFIX_SLOT_SIZE << plan->table_bits;

		memcpy(filters, plan->filters, filter_bytes(plan));
		memcpy(tables, plan->table, table_bytes);
		write_tier(plan, tiers + (size_t) i * ACD_TIER_SIZE);
		filters += filter_bytes(plan);
		tables += table_bytes;
	}
}
