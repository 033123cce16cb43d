/*
 * tiers.c
 *		Dividing terms into tiers, and building each tier's filter and table.
 *
 * A filter is as good as its shortest term is long, so terms of 1 to 3, 4 to
 * 7 and 8 or more bytes have tiers of their own, unless joining two costs
 * the shorter one's filter little.  Tiers of terms of 8 bytes or more look at
 * every step'th window of the text only; the others look at each byte where
 * the first two bytes could begin a term.
 *
 * The filters are Bloom filters whose bits for one window stand in one word:
 * F. Putze, P. Sanders, J. Singler, "Cache-, hash- and space-efficient Bloom
 * filters" (2007).  Looking at every step'th window follows S. Wu, U. Manber,
 * "A fast algorithm for multi-pattern searching" (1994), and L. Salmela,
 * J. Tarhio, J. Kytöjoki, "Multipattern string matching with q-grams" (2006).
 *
 * Copyright (c) 2026, the acdat_decoder authors; PostgreSQL licence
 */
#include "acd_build.h"

#define SHORT_LEN		4			/* terms below are short */
#define LONG_LEN		8			/* terms from here on are long */
#define LONG_WINDOW		6
#define MAX_START_BITS	18			/* log2 of words */
#define MAX_STEP_BITS	19
#define FAST_BITS		14			/* 128 KiB; above, filters are packed denser */
#define JOIN_GRAMS		2			/* joined if that many times the prefixes at most */
#define JOIN_TERMS		8			/* and so many terms per prefix at most */
#define MAX_TRIES		64			/* multipliers */

/* Class of a length: 0 short, 1 middle, 2 long. */
static uint32_t
length_class(uint32_t len)
{
	return len < SHORT_LEN ? 0 : len < LONG_LEN ? 1 : 2;
}

/* What the keys of some classes of length are like. */
typedef struct summary
{
	uint32_t	nterms;
	uint32_t	min_len;
	uint32_t	max_len;
	uint32_t	prefixes;		/* distinct ones of min(window, 8) bytes */
} summary;

/* Look at the keys of the classes whose bits are set in "classes". */
static summary
summarize(const acd_key *keys, uint32_t nkeys, unsigned classes, uint32_t window)
{
	summary		s = {0, ACD_MAX_TERM_LEN, 0, 0};
	uint64_t	last = 0;

	for (uint32_t k = 0; k < nkeys; k++)
	{
		uint32_t	len = keys[k].len;
		uint64_t	prefix = window > 0 ? keys[k].prefix >> (64 - 8 * window) : 0;

		if ((classes >> length_class(len) & 1) == 0)
			continue;
		s.prefixes += s.nterms == 0 || prefix != last;
		last = prefix;
		s.nterms++;
		s.min_len = len < s.min_len ? len : s.min_len;
		s.max_len = len > s.max_len ? len : s.max_len;
	}
	return s;
}

/* Should the classes "longer" be filtered together with "shorter"? */
static bool
should_join(const acd_key *keys, uint32_t nkeys, unsigned shorter, unsigned longer)
{
	summary		a = summarize(keys, nkeys, shorter, 0);
	summary		both;
	uint32_t	window = a.min_len < ACD_MAX_WINDOW ? a.min_len : ACD_MAX_WINDOW;

	a = summarize(keys, nkeys, shorter, window);
	both = summarize(keys, nkeys, shorter | longer, window);
	return both.prefixes <= (uint64_t) a.prefixes * JOIN_GRAMS &&
		both.nterms <= (uint64_t) both.prefixes * JOIN_TERMS;
}

/* Divide the classes into tiers: sets[class] is the set of classes it is in. */
static void
divide(const acd_key *keys, uint32_t nkeys, unsigned sets[3])
{
	unsigned	present = 0;
	unsigned	longer = 0;

	for (uint32_t k = 0; k < nkeys; k++)
		present |= 1u << length_class(keys[k].len);
	for (int c = 2; c >= 0; c--)
	{
		sets[c] = 0;
		if ((present >> c & 1) == 0)
			continue;
		sets[c] = 1u << c;
		if (longer != 0 && should_join(keys, nkeys, sets[c], longer))
			sets[c] |= longer;
		longer = sets[c];
	}
	for (int c = 0; c < 3; c++)
		for (int d = c + 1; d < 3; d++)
			if ((sets[c] >> d & 1) != 0)
				sets[d] = sets[c];
}

/* Let the byte c be in a class; buckets gives each high half its bit. */
static void
add_to_class(unsigned char *tables, unsigned char *buckets, unsigned char c)
{
	if (buckets[c >> 4] == 0)
	{
		unsigned	used = 0;

		for (int i = 0; i < 16; i++)
			used += buckets[i] != 0;
		buckets[c >> 4] = (unsigned char) (1u << (used & 7));
	}
	tables[c & 15] |= buckets[c >> 4];
	tables[16 + (c >> 4)] |= buckets[c >> 4];
}

/* Classes of the first two bytes, or of all bytes the windows can see. */
static void
fill_classes(acd_tier_plan *plan, const acd_key *keys, const uint32_t *order)
{
	unsigned char buckets[2][16] = {{0}};
	unsigned char seen[2][256] = {{0}};
	const acd_tier *t = &plan->tier;
	uint32_t	span = t->step != 0 ? t->window + t->step - 1 : t->window < 2 ? t->window : 2;

	for (uint32_t i = plan->first; i < plan->first + plan->nterms; i++)
		for (uint32_t o = 0; o < span; o++)
			seen[t->step != 0 ? 0 : o][keys[order[i]].bytes[o]] = 1;
	for (unsigned s = 0; s < 2; s++)
		for (unsigned c = 0; c < 256; c++)
			if (seen[s][c] || (s == 1 && t->step == 0 && t->window == 1))
				add_to_class(plan->classes + 32 * s, buckets[s], (unsigned char) c);
}

/* How many different bytes do the first bytes of the terms have? */
static uint32_t
alphabet(const acd_tier_plan *plan, const acd_key *keys, const uint32_t *order)
{
	unsigned char seen[256] = {0};
	uint32_t	n = 0;

	for (uint32_t i = plan->first; i < plan->first + plan->nterms; i++)
		for (uint32_t o = 0; o < LONG_LEN; o++)
		{
			unsigned char c = keys[order[i]].bytes[o];

			n += !seen[c];
			seen[c] = 1;
		}
	return n;
}

/* Choose window, step and prefix. */
static void
choose_windows(acd_tier_plan *plan, const acd_key *keys, const uint32_t *order)
{
	acd_tier   *t = &plan->tier;

	if (t->min_len < LONG_LEN)
	{
		t->window = t->min_len;
		t->prefix = t->window;
		t->step = 0;
	}
	else
	{
		uint64_t	possible = 1;
		uint32_t	letters = alphabet(plan, keys, order);

		t->window = LONG_WINDOW;
		t->step = t->min_len - t->window + 1;
		t->step = t->step < ACD_MAX_STEP ? t->step : ACD_MAX_STEP;

		/* Where most windows would be some term's, look at longer ones. */
		for (int i = 0; i < LONG_WINDOW; i++)
			possible *= letters;
		if (possible < (uint64_t) plan->nterms * t->step * 4)
		{
			t->window = ACD_MAX_WINDOW;
			t->step = t->min_len - t->window + 1;
			t->step = t->step < ACD_MAX_STEP ? t->step : ACD_MAX_STEP;
		}
		t->prefix = t->min_len < ACD_MAX_PREFIX ? t->min_len : ACD_MAX_PREFIX;
	}
	t->gram_mask = t->window == 8 ? UINT64_MAX : (UINT64_C(1) << (8 * t->window)) - 1;
}

/* Choose the sizes of filters and table. */
static void
choose_sizes(acd_tier_plan *plan)
{
	uint64_t	grams = plan->ngroups;
	uint32_t	bits = 4;

	if (plan->tier.step == 0)
	{
		while ((UINT64_C(64) << bits) < grams * 24 && bits < MAX_START_BITS)
			bits++;
	}
	else
	{
		grams *= plan->tier.step;
		while ((UINT64_C(64) << bits) < grams * 24 && bits < MAX_STEP_BITS)
			bits++;
		while (bits > FAST_BITS && (UINT64_C(64) << bits) > grams * 16)
			bits--;
		plan->starts_bits = 4;
		while ((UINT64_C(64) << plan->starts_bits) < (uint64_t) plan->ngroups * 10)
			plan->starts_bits++;
	}
	plan->filter_bits = bits;
	plan->table_bits = 4;
	while ((UINT64_C(1) << plan->table_bits) * 6 < (uint64_t) plan->ngroups * 10)
		plan->table_bits++;
	plan->tier.filter_shift = 64 - plan->filter_bits;
	plan->tier.starts_shift = plan->starts_bits > 0 ? 64 - plan->starts_bits : 0;
	plan->tier.table_shift = 64 - plan->table_bits;
	plan->tier.table_mask = (UINT32_C(1) << plan->table_bits) - 1;
}

/* Build the trees of one tier. */
static acd_status
build_trees(acd_tier_set *set, acd_tier_plan *plan, const acd_key *keys, uint32_t tier)
{
	uint32_t	end = plan->first + plan->nterms;
	uint32_t	prefix = plan->tier.prefix;

	plan->first_group = set->ngroups;
	for (uint32_t lo = plan->first; lo < end;)
	{
		const acd_key *first = &keys[set->order[lo]];
		acd_group  *group = &set->groups[set->ngroups++];
		uint32_t	hi = lo + 1;
		bool		deep;
		acd_status	status;

		while (hi < end && memcmp(keys[set->order[hi]].bytes, first->bytes, prefix) == 0)
			hi++;
		group->key = set->order[lo];
		status = acd_forest_add(&set->forest, keys, set->order, lo, hi, tier, &group->ref, &deep);
		if (status != ACD_OK)
			return status;
		group->ref |= deep ? ACD_REF_DEEP : 0;
		lo = hi;
	}
	plan->ngroups = set->ngroups - plan->first_group;
	return ACD_OK;
}

/* Divide keys into tiers. */
static void
plan_tiers(acd_tier_set *set, const acd_key *keys, uint32_t nkeys)
{
	unsigned	sets[3];
	uint32_t	used = 0;

	divide(keys, nkeys, sets);
	for (int c = 0; c < 3; c++)
	{
		acd_tier_plan *plan = &set->plans[set->ntiers];
		summary		s;

		if (sets[c] == 0 || (sets[c] & ((1u << c) - 1)) != 0)
			continue;			/* none, or in the tier of shorter ones */
		s = summarize(keys, nkeys, sets[c], 0);
		plan->tier.min_len = s.min_len;
		plan->tier.max_len = s.max_len;
		plan->first = used;
		plan->nterms = s.nterms;
		for (uint32_t k = 0; k < nkeys; k++)
			if ((sets[c] >> length_class(keys[k].len) & 1) != 0)
				set->order[used++] = k;
		choose_windows(plan, keys, set->order);
		fill_classes(plan, keys, set->order);
		set->ntiers++;
	}
}

/* Build tiers and trees. */
acd_status
acd_tiers_build(acd_tier_set *set, const acd_allocator *allocator, const acd_key *keys, uint32_t nkeys)
{
	acd_status	status;

	memset(set, 0, sizeof(*set));
	set->order = acd_alloc_array(allocator, nkeys, sizeof(uint32_t));
	set->groups = acd_alloc_array(allocator, nkeys, sizeof(acd_group));
	if (set->order == NULL || set->groups == NULL)
		return ACD_ERR_NOMEM;
	plan_tiers(set, keys, nkeys);
	status = acd_forest_init(&set->forest, allocator, nkeys);
	for (uint32_t i = 0; status == ACD_OK && i < set->ntiers; i++)
	{
		status = build_trees(set, &set->plans[i], keys, i);
		choose_sizes(&set->plans[i]);
	}
	if (status == ACD_OK)
		status = acd_forest_finish(&set->forest);
	return status;
}

/* Free what acd_tiers_build allocated. */
void
acd_tiers_free(acd_tier_set *set, const acd_allocator *allocator)
{
	acd_release(allocator, set->order);
	acd_release(allocator, set->groups);
	acd_forest_free(&set->forest);
	memset(set, 0, sizeof(*set));
}

/* Bytes of one tier's filters. */
static size_t
filter_bytes(const acd_tier_plan *plan)
{
	return ((size_t) 8 << plan->filter_bits) +
		(plan->starts_bits > 0 ? (size_t) 8 << plan->starts_bits : 0);
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
 * cannot be told apart, or if the slots used cluster.
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

		memcpy(prefix, keys[set->groups[g].key].bytes, t->prefix);
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

/* Fill a tier's filters. */
static void
fill_filters(const acd_tier_set *set, const acd_tier_plan *plan, const acd_key *keys, unsigned char *filter)
{
	const acd_tier *t = &plan->tier;
	unsigned char *starts = filter + ((size_t) 8 << plan->filter_bits);

	for (uint32_t g = plan->first_group; g < plan->first_group + plan->ngroups; g++)
	{
		unsigned char prefix[ACD_MAX_PREFIX + 8] = {0};

		memcpy(prefix, keys[set->groups[g].key].bytes, t->prefix);
		for (uint32_t o = 0; o < (t->step != 0 ? t->step : 1); o++)
			set_bits(filter, t->filter_shift, acd_gram_hash(t, acd_le64(prefix + o)));
		if (t->step != 0)
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
	acd_put32(record + ACD_TIER_TABLE_BITS, plan->table_bits);
	acd_put64(record + ACD_TIER_MULTIPLIER, t->multiplier);
	memcpy(record + ACD_TIER_CLASSES, plan->classes, sizeof(plan->classes));
}

/*
 * Write tiers, filters and tables.  The multiplier depends on all terms, so
 * that nobody can choose terms that collide.
 */
acd_status
acd_tiers_write(acd_tier_set *set, const acd_key *keys, unsigned char *tiers,
				unsigned char *filters, unsigned char *tables)
{
	uint64_t	seed = acd_xxh64(set->forest.bytes, set->forest.size, 0);

	for (uint32_t i = 0; i < set->ntiers; i++)
	{
		acd_tier_plan *plan = &set->plans[i];
		size_t		bytes = (size_t) ACD_PREFIX_SLOT_SIZE << plan->table_bits;
		int			tries = 0;

		do
		{
			if (tries++ == MAX_TRIES)
				return ACD_ERR_TOO_LARGE;	/* does not happen */
			memset(tables, 0, bytes);
			plan->tier.multiplier = next_multiplier(&seed);
		} while (!fill_table(set, plan, keys, tables));
		fill_filters(set, plan, keys, filters);
		write_tier(plan, tiers + (size_t) i * ACD_TIER_SIZE);
		filters += filter_bytes(plan);
		tables += bytes;
	}
	return ACD_OK;
}
