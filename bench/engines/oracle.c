/*
 * oracle.c
 *		The answers every match engine is held to.
 *
 * No automaton: at each position, for each length that a term has, the slice
 * is looked up in a hash table by the difference of two prefix hashes and
 * compared byte for byte.  Slow, and simple enough to be believed.
 *
 * Copyright (c) 2026, the acdat_decoder authors; PostgreSQL licence
 */
#include "engine.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define HASH_BASE	0x9E3779B97F4A7C15u

typedef struct oracle
{
	const span *terms;
	uint32_t   *slots;			/* number of a term + 1, or 0 */
	size_t		mask;
	size_t	   *lengths;		/* distinct lengths, longest first */
	size_t		nlengths;
	uint64_t   *powers;			/* HASH_BASE ^ length, as "lengths" */
	uint64_t   *prefixes;		/* of the text last scanned */
	size_t		room;
} oracle;

static uint64_t
hash_add(uint64_t hash, unsigned char c)
{
	return hash * HASH_BASE + c + 1;
}

static size_t
slot_of(const oracle *o, uint64_t hash)
{
	return (size_t) ((hash ^ hash >> 32) * 0xD6E8FEB86659FD93u >> 24) & o->mask;
}

static bool
lookup(const oracle *o, uint64_t hash, const unsigned char *bytes, size_t len)
{
	for (size_t i = slot_of(o, hash); o->slots[i] != 0; i = (i + 1) & o->mask)
	{
		const span *term = &o->terms[o->slots[i] - 1];

		if (term->len == len && memcmp(term->bytes, bytes, len) == 0)
			return true;
	}
	return false;
}

static int
longest_first(const void *a, const void *b)
{
	size_t		x = *(const size_t *) a;
	size_t		y = *(const size_t *) b;

	return (x < y) - (x > y);
}

static void
collect_lengths(oracle *o, size_t nterms)
{
	size_t	   *all = malloc(nterms * sizeof *all);

	for (size_t i = 0; i < nterms; i++)
		all[i] = o->terms[i].len;
	qsort(all, nterms, sizeof *all, longest_first);
	for (size_t i = 0; i < nterms; i++)
	{
		if (o->nlengths == 0 || all[o->nlengths - 1] != all[i])
			all[o->nlengths++] = all[i];
	}
	o->lengths = all;
	o->powers = malloc(o->nlengths * sizeof *o->powers);
	for (size_t i = 0; i < o->nlengths; i++)
	{
		o->powers[i] = 1;
		for (size_t k = 0; k < all[i]; k++)
			o->powers[i] *= HASH_BASE;
	}
}

static void *
build(const span *terms, size_t nterms)
{
	oracle	   *o = calloc(1, sizeof *o);
	size_t		size = 1024;

	while (size < nterms * 4)
		size *= 2;
	o->terms = terms;
	o->mask = size - 1;
	o->slots = calloc(size, sizeof *o->slots);
	for (size_t t = 0; t < nterms; t++)
	{
		uint64_t	hash = 0;
		size_t		i;

		for (size_t k = 0; k < terms[t].len; k++)
			hash = hash_add(hash, terms[t].bytes[k]);
		if (lookup(o, hash, terms[t].bytes, terms[t].len))
			continue;
		for (i = slot_of(o, hash); o->slots[i] != 0; i = (i + 1) & o->mask)
			;
		o->slots[i] = (uint32_t) t + 1;
	}
	collect_lengths(o, nterms);
	return o;
}

static void
release(void *engine)
{
	oracle	   *o = engine;

	free(o->slots);
	free(o->lengths);
	free(o->powers);
	free(o->prefixes);
	free(o);
}

static size_t
bytes(void *engine)
{
	return (((oracle *) engine)->mask + 1) * sizeof(uint32_t);
}

static void
hash_text(oracle *o, const unsigned char *text, size_t len)
{
	if (o->room < len + 1)
	{
		o->room = len + 1;
		o->prefixes = realloc(o->prefixes, o->room * sizeof *o->prefixes);
	}
	o->prefixes[0] = 0;
	for (size_t i = 0; i < len; i++)
		o->prefixes[i + 1] = hash_add(o->prefixes[i], text[i]);
}

/* Does the term length number k match at position i? */
static bool
matches_at(const oracle *o, const unsigned char *text, size_t len, size_t i, size_t k)
{
	size_t		n = o->lengths[k];

	return n <= len - i &&
		lookup(o, o->prefixes[i + n] - o->prefixes[i] * o->powers[k], text + i, n);
}

/* The longest match at position i, 0 if there is none. */
static size_t
longest_at(const oracle *o, const unsigned char *text, size_t len, size_t i)
{
	for (size_t k = 0; k < o->nlengths; k++)
	{
		if (matches_at(o, text, len, i, k))
			return o->lengths[k];
	}
	return 0;
}

static bool
contains(void *engine, const unsigned char *text, size_t len)
{
	oracle	   *o = engine;

	hash_text(o, text, len);
	for (size_t i = 0; i < len; i++)
	{
		if (longest_at(o, text, len, i) != 0)
			return true;
	}
	return false;
}

static size_t
count_leftmost(void *engine, const unsigned char *text, size_t len)
{
	oracle	   *o = engine;
	size_t		count = 0;

	hash_text(o, text, len);
	for (size_t i = 0; i < len;)
	{
		size_t		n = longest_at(o, text, len, i);

		count += n != 0;
		i += n != 0 ? n : 1;
	}
	return count;
}

static size_t
count_overlapping(void *engine, const unsigned char *text, size_t len)
{
	oracle	   *o = engine;
	size_t		count = 0;

	hash_text(o, text, len);
	for (size_t i = 0; i < len; i++)
	{
		for (size_t k = 0; k < o->nlengths; k++)
			count += matches_at(o, text, len, i, k);
	}
	return count;
}

static size_t
replace_with(oracle *o, const unsigned char *text, size_t len, unsigned char *out, bool cover)
{
	unsigned char *start = out;

	hash_text(o, text, len);
	for (size_t i = 0; i < len;)
	{
		size_t		n = longest_at(o, text, len, i);
		size_t		end = i + n;

		if (n == 0)
		{
			*out++ = text[i++];
			continue;
		}
		while (cover && ++i < end)
		{
			size_t		more = longest_at(o, text, len, i);

			end = i + more > end ? i + more : end;
		}
		memcpy(out, REPLACEMENT, REPLACEMENT_LEN);
		out += REPLACEMENT_LEN;
		i = end;
	}
	return (size_t) (out - start);
}

static size_t
replace(void *engine, const unsigned char *text, size_t len, unsigned char *out)
{
	return replace_with(engine, text, len, out, false);
}

static size_t
replace_cover(void *engine, const unsigned char *text, size_t len, unsigned char *out)
{
	return replace_with(engine, text, len, out, true);
}

const engine_api match_engine = {
	build, release, bytes, contains, count_leftmost, count_overlapping, replace, replace_cover
};
