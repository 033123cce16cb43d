/*
 * classes.c
 *		Choosing the classes of bytes that a tier's filter is asked for.
 *
 * A class is looked up by two tables of 16 bytes, by the low and the high half
 * of a byte, whose entries have eight bits: eight classes at once.  Where each
 * start is looked at, the first four bytes must share one of the eight, so
 * that two terms let pass hardly more than their own first bytes.
 *
 * Copyright (c) 2026, the acdat_decoder authors; PostgreSQL licence
 */
#include "acd_build.h"

#define MAX_GROUPS		64			/* by the first byte and the second's highest bit */
#define COARSE_GROUPS	32			/* by the first byte's high half instead, where that is too many */
#define CLASS_BITS		8
#define LETTERS			0x00C0		/* high halves of small letters */
#define LETTERS_COST	4			/* which are that much more frequent in texts */

/* Terms that get one bit: which halves their first bytes have. */
typedef struct class_group
{
	uint16_t	low[ACD_CLASS_BYTES];	/* a bit for each value */
	uint16_t	high[ACD_CLASS_BYTES];
} class_group;

static uint32_t
count_bits(uint32_t bits)
{
	bits = (bits & 0x5555) + (bits >> 1 & 0x5555);
	bits = (bits & 0x3333) + (bits >> 2 & 0x3333);
	bits = (bits & 0x0F0F) + (bits >> 4 & 0x0F0F);
	return (bits & 0x1F) + (bits >> 8);
}

/* How many texts of four bytes pass two groups that are one? */
static int64_t
passes(const class_group *a, const class_group *b)
{
	int64_t		n = 1;

	for (int o = 0; o < ACD_CLASS_BYTES; o++)
	{
		uint32_t	high = (uint32_t) a->high[o] | b->high[o];

		n *= count_bits((uint32_t) a->low[o] | b->low[o]) *
			(count_bits(high) + (LETTERS_COST - 1) * count_bits(high & LETTERS));
	}
	return n;
}

/* How many more pass if they are one than if they are two? */
static int64_t
join_cost(const class_group *a, const class_group *b)
{
	return passes(a, b) - passes(a, a) - passes(b, b);
}

/* Join groups until there is a bit for each; returns how many there are. */
static uint32_t
join_groups(class_group *groups, uint32_t n)
{
	int64_t		costs[MAX_GROUPS][MAX_GROUPS];	/* with those before */

	for (uint32_t b = 1; b < n; b++)
		for (uint32_t a = 0; a < b; a++)
			costs[b][a] = join_cost(&groups[a], &groups[b]);
	for (; n > CLASS_BITS; n--)
	{
		uint32_t	to = 0;
		uint32_t	from = 1;

		for (uint32_t b = 1; b < n; b++)
			for (uint32_t a = 0; a < b; a++)
				if (costs[b][a] < costs[from][to])
				{
					from = b;
					to = a;
				}
		for (int o = 0; o < ACD_CLASS_BYTES; o++)
		{
			groups[to].low[o] |= groups[from].low[o];
			groups[to].high[o] |= groups[from].high[o];
		}
		groups[from] = groups[n - 1];
		for (uint32_t g = 0; g < n - 1; g++)
		{
			if (g != to)
				costs[g > to ? g : to][g > to ? to : g] = join_cost(&groups[g], &groups[to]);
			if (g != from)
				costs[g > from ? g : from][g > from ? from : g] = join_cost(&groups[g], &groups[from]);
		}
	}
	return n;
}

/* How many bytes, up to four, do all terms of a tree have in common?  A term may end there. */
static uint32_t
common_bytes(const acd_key *first, const acd_key *last)
{
	uint32_t	n = 0;

	while (n < ACD_CLASS_BYTES && n < first->len && n < last->len && acd_key_byte(first, n) == acd_key_byte(last, n))
		n++;
	return n;
}

/* Add the bytes that a tree begins with to a group: "known" of them, and any others. */
static void
add_to_group(class_group *group, const acd_key *key, uint32_t known)
{
	for (uint32_t o = 0; o < ACD_CLASS_BYTES; o++)
	{
		unsigned char c = acd_key_byte(key, o);

		group->low[o] |= (uint16_t) (o < known ? 1u << (c & 15) : 0xFFFF);
		group->high[o] |= (uint16_t) (o < known ? 1u << (c >> 4) : 0xFFFF);
	}
}

/*
 * Group a tier's trees by their first bytes, or coarsely; returns the number
 * of groups, 0 if there are too many.
 */
static uint32_t
group_trees(const acd_tier_set *set, const acd_tier_plan *plan, const acd_key *keys, bool coarse,
			class_group groups[MAX_GROUPS])
{
	unsigned char numbers[512] = {0};	/* of the groups, + 1 */
	uint32_t	lo = plan->first;
	uint32_t	n = 0;

	for (uint32_t g = plan->first_group; g < plan->first_group + plan->ngroups; g++)
	{
		uint32_t	hi = lo + set->groups[g].nterms;
		const acd_key *key = &keys[set->order[lo]];
		uint32_t	known = common_bytes(key, &keys[set->order[hi - 1]]);
		unsigned char c = acd_key_byte(key, 0);
		unsigned char *number = &numbers[(coarse ? c >> 4 : c) * 2 + (known > 1 ? acd_key_byte(key, 1) >> 7 : 0)];

		if (*number == 0)
		{
			if (n == (coarse ? COARSE_GROUPS : MAX_GROUPS))
				return 0;
			memset(&groups[n], 0, sizeof(groups[n]));
			*number = (unsigned char) ++n;
		}
		add_to_group(&groups[*number - 1], key, known);
		lo = hi;
	}
	return n;
}

/* Classes of the bytes that trees begin with. */
static void
fill_start_classes(const acd_tier_set *set, acd_tier_plan *plan, const acd_key *keys)
{
	class_group groups[MAX_GROUPS];
	uint32_t	n = group_trees(set, plan, keys, false, groups);

	if (n == 0)
		n = group_trees(set, plan, keys, true, groups);
	n = join_groups(groups, n);
	for (uint32_t g = 0; g < n; g++)
		for (int o = 0; o < ACD_CLASS_BYTES; o++)
			for (int half = 0; half < 16; half++)
			{
				plan->classes[32 * o + half] |= (unsigned char) ((groups[g].low[o] >> half & 1) << g);
				plan->classes[32 * o + 16 + half] |= (unsigned char) ((groups[g].high[o] >> half & 1) << g);
			}
}

/* The class of all bytes the windows can see. */
static void
fill_window_class(acd_tier_plan *plan, const acd_key *keys, const uint32_t *order)
{
	uint32_t	span = plan->tier.window + plan->tier.step - 1;
	unsigned char seen[256] = {0};
	unsigned char bits[16] = {0};	/* of each high half */
	unsigned	used = 0;

	for (uint32_t i = plan->first; i < plan->first + plan->nterms; i++)
		for (uint32_t o = 0; o < span; o++)
			seen[acd_key_byte(&keys[order[i]], o)] = 1;
	for (unsigned c = 0; c < 256; c++)
	{
		if (!seen[c])
			continue;
		if (bits[c >> 4] == 0)
			bits[c >> 4] = (unsigned char) (1u << (used++ % CLASS_BITS));
		plan->classes[c & 15] |= bits[c >> 4];
		plan->classes[16 + (c >> 4)] |= bits[c >> 4];
	}
}

/* Fill the classes of a tier whose trees are built. */
void
acd_fill_classes(const acd_tier_set *set, acd_tier_plan *plan, const acd_key *keys)
{
	memset(plan->classes, 0, sizeof(plan->classes));
	if (plan->tier.step == 0)
		fill_start_classes(set, plan, keys);
	else
		fill_window_class(plan, keys, set->order);
}
