/*
 * sort.c
 *		Sorting of byte strings.
 *
 * A bottom-up merge sort: stable, no recursion, memory from the caller's
 * allocator.  Each comparison costs at most the bytes of the string it moves,
 * so that a level costs at most the bytes of all strings, whatever they share.
 * Strings that ascend, as they do in files people keep in order, are left where
 * they are.
 *
 * Copyright (c) 2026, the acdat_decoder authors; PostgreSQL licence
 */
#include "acd_internal.h"

/* The first eight bytes, which order as the string does. */
static uint64_t
key_prefix(const unsigned char *bytes, uint32_t len)
{
	uint64_t	prefix = 0;

	for (uint32_t i = 0; i < 8; i++)
		prefix = prefix << 8 | (i < len ? bytes[i] : 0);
	return prefix;
}

/* Is b strictly less than a? */
static inline bool
key_less(const acd_key *b, const acd_key *a)
{
	uint32_t	len;
	int			order;

	if (a->prefix != b->prefix)
		return b->prefix < a->prefix;
	len = a->len < b->len ? a->len : b->len;
	if (len > 8)
	{
		order = memcmp(b->bytes + 8, a->bytes + 8, len - 8);
		if (order != 0)
			return order < 0;
	}
	return b->len < a->len;
}

/* Do the keys ascend already? */
static bool
is_sorted(const acd_key *keys, size_t nkeys)
{
	for (size_t i = 1; i < nkeys; i++)
		if (key_less(&keys[i], &keys[i - 1]))
			return false;
	return true;
}

/* Merge from[lo, mid) and from[mid, hi) into to[lo, hi). */
static void
merge_runs(const acd_key *from, acd_key *to, size_t lo, size_t mid, size_t hi)
{
	size_t		a = lo;
	size_t		b = mid;
	size_t		out = lo;

	if (mid >= hi || !key_less(&from[mid], &from[mid - 1]))
	{
		memcpy(to + lo, from + lo, (hi - lo) * sizeof(acd_key));
		return;
	}
	while (a < mid && b < hi)
		to[out++] = key_less(&from[b], &from[a]) ? from[b++] : from[a++];
	if (a < mid)
		memcpy(to + out, from + a, (mid - a) * sizeof(acd_key));
	else
		memcpy(to + out, from + b, (hi - b) * sizeof(acd_key));
}

/* Sort keys. */
acd_status
acd_sort_keys(const acd_allocator *allocator, acd_key *keys, size_t nkeys)
{
	acd_key    *scratch;
	acd_key    *from = keys;
	acd_key    *to;

	for (size_t i = 0; i < nkeys; i++)
		keys[i].prefix = key_prefix(keys[i].bytes, keys[i].len);

	if (is_sorted(keys, nkeys))
		return ACD_OK;
	scratch = acd_alloc_array(allocator, nkeys, sizeof(acd_key));
	if (scratch == NULL)
		return ACD_ERR_NOMEM;
	to = scratch;

	for (size_t width = 1; width < nkeys; width *= 2)
	{
		acd_key    *swap = from;

		for (size_t lo = 0; lo < nkeys;)
		{
			size_t		mid = nkeys - lo > width ? lo + width : nkeys;
			size_t		hi = nkeys - mid > width ? mid + width : nkeys;

			merge_runs(from, to, lo, mid, hi);
			lo = hi;
		}
		from = to;
		to = swap;
	}
	if (from != keys)
		memcpy(keys, from, nkeys * sizeof(acd_key));
	acd_release(allocator, scratch);
	return ACD_OK;
}
