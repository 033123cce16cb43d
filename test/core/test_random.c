/*
 * test_random.c
 *		Random term sets and texts against the brute-force oracle: every kind,
 *		contains and replace, with and without boundaries, by every engine and
 *		instruction set there is.
 *
 * CORE_CASES and CORE_SEED set how many and which.
 *
 * Copyright (c) 2026, the acdat_decoder authors; PostgreSQL licence
 */
#include "helpers.h"

#define TEXT_MAX		800
#define TEXTS_PER_SET	4

typedef struct buffer
{
	unsigned char bytes[1 << 18];
	size_t		len;
} buffer;

static term_set set;
static found_list expected;
static found_list got;

/* Append a piece. */
static int
append(void *arg, const void *piece, size_t len)
{
	buffer	   *b = arg;

	if (len == 0 || len > sizeof(b->bytes) - b->len)
		return 1;
	memcpy(b->bytes + b->len, piece, len);
	b->len += len;
	return 0;
}

/* Replace as the expected matches say, and compare. */
static bool
check_replace(const acd_scan *scan, const unsigned char *text, size_t len)
{
	static buffer want;
	static buffer have;
	acd_sink	sink = {append, append, &have};
	size_t		pos = 0;
	size_t		replaced;

	want.len = have.len = 0;
	for (size_t i = 0; i < expected.n; i++)
	{
		const found *f = &expected.list[i];
		const set_term *t = &set.terms[f->term];

		memcpy(want.bytes + want.len, text + pos, f->start - pos);
		want.len += f->start - pos;
		memcpy(want.bytes + want.len, t->replacement, t->replacement_len);
		want.len += t->replacement_len;
		pos = f->end;
	}
	if (expected.n > 0)
	{
		memcpy(want.bytes + want.len, text + pos, len - pos);
		want.len += len - pos;
	}
	return acd_replace(scan, text, len, SIZE_MAX, &sink, &replaced) == ACD_OK &&
		replaced == expected.n && have.len == want.len &&
		memcmp(have.bytes, want.bytes, want.len) == 0;
}

/* Find, contains and replace along one path. */
static bool
check_path(const acd_scan *scan, const unsigned char *text, size_t len)
{
	bool		any;

	got.n = 0;
	got.broken = false;
	got.set = &set;
	if (acd_find(scan, text, len, collect_match, &got) == ACD_OK && same_matches(&got, &expected) &&
		acd_contains(scan, text, len, &any) == ACD_OK && any == (expected.n > 0) &&
		(scan->kind == ACD_ALL_OVERLAPPING || check_replace(scan, text, len)))
		return true;
	printf("# mismatch in %s, engine %d, simd %s\n", acd_kind_name(scan->kind), scan->engine,
		   acd_simd_name(scan->simd));
	return false;
}

/*
 * Run one text through everything, along the default path and a forced one
 * in turn; the number of cases, or 0 on a mismatch.
 */
static unsigned long
check_text(const unsigned char *text, size_t len, const uint8_t *boundaries)
{
	static unsigned which;
	acd_scan	scan = {0};
	unsigned long cases = 0;

	scan.machines = set.pointers;
	scan.nmachines = set.nmachines;
	scan.boundaries = boundaries;
	for (int kind = ACD_ALL_OVERLAPPING; kind <= ACD_COVER; kind++)
	{
		scan.kind = (acd_kind) kind;
		oracle(&set, scan.kind, boundaries, text, len, &expected);
		forced_path(0, &scan);
		if (!check_path(&scan, text, len))
			return 0;
		if (!forced_path(++which, &scan))
		{
			which = 1;
			forced_path(which, &scan);
		}
		if (!check_path(&scan, text, len))
			return 0;
		cases++;
	}
	return cases + 1;
}

/* Print what failed. */
static void
explain(const unsigned char *text, size_t len, bool boundaries)
{
	for (size_t i = 0; i < set.nterms; i++)
		printf("# machine %u id %lld priority %d: %.*s\n", set.terms[i].machine,
			   (long long) set.terms[i].id, set.terms[i].priority, (int) set.terms[i].len,
			   set.terms[i].bytes);
	printf("# text (boundaries: %d): %.*s\n", boundaries, (int) len, text);
	for (size_t i = 0; i < expected.n && i < 20; i++)
		printf("# expected %zu-%zu term %zu\n", expected.list[i].start, expected.list[i].end, expected.list[i].term);
	for (size_t i = 0; i < got.n && i < 20; i++)
		printf("# got %zu-%zu term %zu\n", got.list[i].start, got.list[i].end, got.list[i].term);
}

int
main(void)
{
	unsigned long wanted = env_number("CORE_CASES", 1000000);
	uint64_t	seed = env_number("CORE_SEED", 20260101);
	uint64_t	rng = seed * 2 + 1;
	unsigned long cases = 0;
	bool		passed = true;

	while (passed && cases < wanted)
	{
		set_random(&set, &rng);
		if (set_build(&set) != ACD_OK)
		{
			passed = false;
			break;
		}
		for (uint32_t m = 0; m < set.nmachines; m++)
			passed = passed && acd_machine_verify(&set.machines[m], NULL) == ACD_OK;
		for (int i = 0; passed && i < TEXTS_PER_SET; i++)
		{
			unsigned char text[TEXT_MAX];
			uint8_t		bits[TEXT_MAX / 8 + 1];
			bool		bounded = rng_below(&rng, 3) == 0;
			size_t		max = rng_below(&rng, 4) ? 60 : rng_below(&rng, 4) ? 240 : TEXT_MAX;
			size_t		len = random_text(&set, &rng, text, max);
			unsigned long n;

			for (size_t k = 0; k < sizeof(bits); k++)
				bits[k] = (uint8_t) (rng_next(&rng) >> 40 | rng_next(&rng) >> 40);
			n = check_text(text, len, bounded ? bits : NULL);
			if (n == 0)
			{
				explain(text, len, bounded);
				passed = false;
			}
			cases += n;
		}
		set_free(&set);
	}
	ok(passed, "%lu random cases agree with the oracle (CORE_SEED=%llu)", cases, (unsigned long long) seed);
	return done_testing();
}
