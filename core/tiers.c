/*
 * tiers.c
 *		Dividing terms into tiers, and choosing each tier's filter.
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
#define MAX_OFFSETS_BITS 21			/* log2 of bytes */
#define FAST_BITS		14			/* 128 KiB; above, filters are packed denser */
#define JOIN_STARTS		4			/* joined if at most that many times the pairs of first bytes */
#define JOIN_RATIO		2			/* and the prefixes occur */
#define JOIN_SPARSE		16			/* or one in so many possible prefixes is used */
#define FEW_LETTERS		16			/* a text is taken to have so many at least */
#define LONG_KEYS		3			/* one in so many windows leads to terms of 8 bytes only */
#define MAX_KEYS		12			/* first 8 bytes of one window in a start filter */
#define COUNTED_KEYS		4			/* as many make a filter larger */
#define JOIN_TERMS		8			/* and so many terms have one prefix, at most */
#define FEWER_TREES		4			/* a byte less of the prefix must divide the trees by that */

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
	uint32_t	prefixes;		/* distinct ones, of as many bytes as windows say */
	uint32_t	letters[ACD_MAX_WINDOW];	/* distinct bytes at each place of these */
} summary;

/*
 * Find windows for the keys of the classes whose bits are set in "classes":
 * by the high half of their first bytes, the least length, at most 8.  So one
 * short term in Latin letters does not shorten the windows of Chinese ones.
 */
static void
find_windows(unsigned char windows[16], const acd_key *keys, uint32_t nkeys, unsigned classes)
{
	memset(windows, ACD_MAX_WINDOW, 16);
	for (uint32_t k = 0; k < nkeys; k++)
	{
		unsigned char *w = &windows[acd_key_byte(&keys[k], 0) >> 4];

		if ((classes >> length_class(keys[k].len) & 1) != 0 && keys[k].len < *w)
			*w = (unsigned char) keys[k].len;
	}
}

/*
 * Look at the keys of some classes whose first byte's high half is "half",
 * or of all if that is 16.
 */
static void
summarize(summary *s, const acd_key *keys, uint32_t nkeys, unsigned classes,
		  const unsigned char windows[16], unsigned half)
{
	unsigned char seen[ACD_MAX_WINDOW][256] = {{0}};
	uint64_t	last = 0;

	memset(s, 0, sizeof(*s));
	s->min_len = ACD_MAX_TERM_LEN;
	for (uint32_t k = 0; k < nkeys; k++)
	{
		uint32_t	len = keys[k].len;
		uint32_t	window = windows[acd_key_byte(&keys[k], 0) >> 4];
		uint64_t	prefix = keys[k].prefix >> (64 - 8 * window);

		if ((classes >> length_class(len) & 1) == 0 || (half < 16 && acd_key_byte(&keys[k], 0) >> 4 != half))
			continue;
		if (s->nterms == 0 || prefix != last)
		{
			s->prefixes++;
			for (uint32_t i = 0; i < window; i++)
			{
				unsigned char c = acd_key_byte(&keys[k], i);

				s->letters[i] += !seen[i][c];
				seen[i][c] = 1;
			}
		}
		last = prefix;
		s->nterms++;
		s->min_len = len < s->min_len ? len : s->min_len;
		s->max_len = len > s->max_len ? len : s->max_len;
	}
}

/*
 * Do few of the starts that begin with one half pass, or about as many as
 * without the longer terms?
 */
static bool
half_joins(const acd_key *keys, uint32_t nkeys, unsigned shorter, unsigned longer,
		   const unsigned char windows[16], unsigned half)
{
	summary		a;
	summary		both;
	uint64_t	possible = 1;

	summarize(&a, keys, nkeys, shorter, windows, half);
	summarize(&both, keys, nkeys, shorter | longer, windows, half);
	if (a.nterms == 0 || a.nterms == both.nterms)
		return true;
	for (uint32_t i = 0; i < windows[half] && possible < UINT32_MAX; i++)
		possible *= both.letters[i] > FEW_LETTERS ? both.letters[i] : FEW_LETTERS;
	return (both.prefixes <= (uint64_t) a.prefixes * JOIN_RATIO ||
			(uint64_t) both.prefixes * JOIN_SPARSE <= possible) &&
		both.nterms <= (uint64_t) both.prefixes * JOIN_TERMS;
}

/*
 * Should the classes "longer" be filtered together with "shorter"?  If these
 * need a look at about as many starts alone, or the longer ones need one at
 * each start too; and what passes does not become much more.
 */
static bool
should_join(const acd_key *keys, uint32_t nkeys, unsigned shorter, unsigned longer)
{
	unsigned char windows[16];
	summary		a;
	summary		both;

	find_windows(windows, keys, nkeys, shorter | longer);
	summarize(&a, keys, nkeys, shorter, windows, 16);
	summarize(&both, keys, nkeys, shorter | longer, windows, 16);
	if (longer == 1u << 2 &&
		(uint64_t) both.letters[0] * (both.letters[1] > 0 ? both.letters[1] : 1) >
		(uint64_t) a.letters[0] * (a.letters[1] > 0 ? a.letters[1] : 1) * JOIN_STARTS)
		return false;
	for (unsigned half = 0; half < 16; half++)
		if (!half_joins(keys, nkeys, shorter, longer, windows, half))
			return false;
	return true;
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

/* How many different bytes do the first bytes of the terms have? */
static uint32_t
alphabet(const acd_tier_plan *plan, const acd_key *keys, const uint32_t *order)
{
	unsigned char seen[256] = {0};
	uint32_t	n = 0;

	for (uint32_t i = plan->first; i < plan->first + plan->nterms; i++)
	{
		if (i > plan->first && keys[order[i]].prefix == keys[order[i - 1]].prefix)
			continue;
		for (uint32_t o = 0; o < LONG_LEN; o++)
		{
			unsigned char c = acd_key_byte(&keys[order[i]], o);

			n += !seen[c];
			seen[c] = 1;
		}
	}
	return n;
}

/*
 * Choose how many bytes select the tree of a term of a window filter: as many
 * as all terms have, up to 16, but fewer where the last ones only number
 * what is otherwise alike.  Then small trees take less room, in the table as
 * well.
 */
static uint32_t
choose_prefix(const acd_tier_plan *plan, const acd_key *keys, const uint32_t *order)
{
	const acd_tier *t = &plan->tier;
	uint32_t	least = t->window + t->step - 1 > 8 ? t->window + t->step - 1 : 8;
	uint32_t	prefix = t->min_len < ACD_MAX_PREFIX ? t->min_len : ACD_MAX_PREFIX;
	uint32_t	trees[ACD_MAX_PREFIX + 1] = {0};	/* by the bytes of the prefix */

	/* Terms that differ from the one before within a prefix begin a tree. */
	for (uint32_t i = plan->first; i < plan->first + plan->nterms; i++)
	{
		uint32_t	same = 0;

		/* A prefix has 8 bytes at least, and these are at hand. */
		if (i > plan->first && keys[order[i]].prefix == keys[order[i - 1]].prefix)
			same = 8;
		if (i > plan->first)
			while (same < prefix && keys[order[i]].bytes[same] == keys[order[i - 1]].bytes[same])
				same++;
		if (same < prefix)
			trees[same + 1]++;
	}
	for (uint32_t p = 1; p <= prefix; p++)
		trees[p] += trees[p - 1];
	while (prefix > least && trees[prefix - 1] <= trees[prefix] / FEWER_TREES)
		prefix--;
	return prefix;
}

/* Choose window, step and prefix. */
static void
choose_windows(acd_tier_plan *plan, const acd_key *keys, uint32_t nkeys, unsigned classes, const uint32_t *order)
{
	acd_tier   *t = &plan->tier;

	if (t->min_len < LONG_LEN)
	{
		t->window = t->min_len;
		t->prefix = t->window;
		t->step = 0;
		find_windows(t->windows, keys, nkeys, classes);
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
		t->prefix = choose_prefix(plan, keys, order);
	}
	if (t->step != 0)
		memset(t->windows, (int) t->window, sizeof(t->windows));
	acd_set_gram_masks(t);
}

/* Choose the sizes of filters and table. */
static void
choose_sizes(acd_tier_plan *plan)
{
	uint64_t	grams = plan->ngroups;
	uint32_t	bits = 4;

	if (plan->tier.step == 0)
	{
		grams = plan->nkeys;
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
		plan->offsets_bits = 10;
		while ((UINT64_C(1) << plan->offsets_bits) < grams && plan->offsets_bits < MAX_OFFSETS_BITS)
			plan->offsets_bits++;
	}
	plan->filter_bits = bits;
	plan->table_bits = 4;
	while ((UINT64_C(1) << plan->table_bits) * 8 < (uint64_t) plan->ngroups * 10)
		plan->table_bits++;
	plan->tier.filter_shift = 64 - plan->filter_bits;
	plan->tier.starts_shift = plan->starts_bits > 0 ? 64 - plan->starts_bits : 0;
	plan->tier.offsets_shift = plan->offsets_bits > 0 ? 64 - plan->offsets_bits : 0;
	plan->tier.table_shift = 64 - plan->table_bits;
	plan->tier.table_mask = (UINT32_C(1) << plan->table_bits) - 1;
}

/* Count a start filter's keys for a tree. */
uint32_t
acd_start_keys(const acd_key *keys, const uint32_t *order, uint32_t lo, uint32_t hi)
{
	uint32_t	n = 0;

	for (uint32_t i = lo; i < hi; i++)
	{
		const acd_key *key = &keys[order[i]];

		if (key->len < ACD_MAX_WINDOW)
			return 0;
		n += i == lo || memcmp(key->bytes, keys[order[i - 1]].bytes, ACD_MAX_WINDOW) != 0;
		if (n > MAX_KEYS)
			return 0;
	}
	return n;
}

/* Build the trees of one tier. */
static acd_status
build_trees(acd_tier_set *set, acd_tier_plan *plan, const acd_key *keys, uint32_t tier)
{
	uint32_t	end = plan->first + plan->nterms;
	uint32_t	nkeys = 0;
	uint32_t	nlong = 0;

	plan->first_group = set->ngroups;
	for (uint32_t lo = plan->first; lo < end;)
	{
		const acd_key *first = &keys[set->order[lo]];
		acd_group  *group = &set->groups[set->ngroups++];
		uint32_t	prefix = acd_prefix_len(&plan->tier, first->bytes[0]);
		uint32_t	hi = lo + 1;
		bool		deep;
		acd_status	status;

		while (hi < end && keys[set->order[hi]].len >= prefix &&
			   memcmp(keys[set->order[hi]].bytes, first->bytes, prefix) == 0)
			hi++;
		group->key = set->order[lo];
		group->nterms = hi - lo;
		if (plan->tier.step == 0)
		{
			uint32_t	n = acd_start_keys(keys, set->order, lo, hi);

			nkeys += n == 0 ? 1 : n < COUNTED_KEYS ? n : COUNTED_KEYS;
			nlong += n > 0;
		}
		status = acd_forest_add(&set->forest, keys, set->order, lo, hi, tier, &group->ref, &deep);
		if (status != ACD_OK)
			return status;
		group->ref |= (deep ? ACD_REF_DEEP : 0) | (first->len == prefix ? ACD_REF_WHOLE : 0);
		lo = hi;
	}
	plan->ngroups = set->ngroups - plan->first_group;
	plan->nkeys = plan->ngroups;
	if (plan->tier.step == 0 && nlong >= plan->ngroups / LONG_KEYS)
	{
		plan->tier.prefix = ACD_MAX_WINDOW;
		plan->nkeys = nkeys;
	}
	return ACD_OK;
}

/* Divide keys into tiers. */
static void
plan_tiers(acd_tier_set *set, const acd_key *keys, uint32_t nkeys)
{
	unsigned	sets[3];
	unsigned char windows[16];
	uint32_t	used = 0;

	divide(keys, nkeys, sets);
	for (int c = 0; c < 3; c++)
	{
		acd_tier_plan *plan = &set->plans[set->ntiers];
		summary		s;

		if (sets[c] == 0 || (sets[c] & ((1u << c) - 1)) != 0)
			continue;			/* none, or in the tier of shorter ones */
		find_windows(windows, keys, nkeys, sets[c]);
		summarize(&s, keys, nkeys, sets[c], windows, 16);
		plan->tier.min_len = s.min_len;
		plan->tier.max_len = s.max_len;
		plan->first = used;
		plan->nterms = s.nterms;
		for (uint32_t k = 0; k < nkeys; k++)
			if ((sets[c] >> length_class(keys[k].len) & 1) != 0)
				set->order[used++] = k;
		choose_windows(plan, keys, nkeys, sets[c], set->order);
		set->ntiers++;
	}
}

/* Build tiers and trees. */
acd_status
acd_tiers_build(acd_tier_set *set, const acd_allocator *allocator, const acd_key *keys, uint32_t nkeys)
{
	size_t		bytes = 0;
	acd_status	status;

	memset(set, 0, sizeof(*set));
	set->order = acd_alloc_array(allocator, nkeys, sizeof(uint32_t));
	set->groups = acd_alloc_array(allocator, nkeys, sizeof(acd_group));
	if (set->order == NULL || set->groups == NULL)
		return ACD_ERR_NOMEM;
	plan_tiers(set, keys, nkeys);
	status = acd_forest_init(&set->forest, allocator, nkeys);
	for (uint32_t k = 0; k < nkeys && bytes <= ACD_SMALL_BYTES; k++)
		bytes += keys[k].len;
	if (bytes <= ACD_SMALL_BYTES)
		set->forest.deep_cost = ACD_SMALL_DEEP_COST;
	for (uint32_t i = 0; status == ACD_OK && i < set->ntiers; i++)
	{
		status = build_trees(set, &set->plans[i], keys, i);
		if (status == ACD_OK)
			acd_fill_classes(set, &set->plans[i], keys);
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
	for (uint32_t i = 0; i < set->ntiers; i++)
	{
		acd_release(allocator, set->plans[i].filters);
		acd_release(allocator, set->plans[i].table);
	}
	acd_release(allocator, set->order);
	acd_release(allocator, set->groups);
	acd_forest_free(&set->forest);
	memset(set, 0, sizeof(*set));
}
