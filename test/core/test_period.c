/*
 * test_period.c
 *		Text that repeats itself: runs of every period at every alignment,
 *		across the stretches a scan goes through, at the text's end, one behind
 *		the other, with and without matches in them; and long texts of pieces of
 *		terms.
 *
 * What forced engines find, which never skip anything, is the reference; they
 * are held to the oracle in test_random.c, and so are short texts here.
 *
 * CORE_CASES and CORE_SEED set how many and which.
 *
 * Copyright (c) 2026, the acdat_decoder authors; PostgreSQL licence
 */
#include "helpers.h"

#define TEXT_MAX	40000
#define ORACLE_MAX	2200

/* The matches of a scan, in order. */
typedef struct digest
{
	uint64_t	hash;
	size_t		n;
} digest;

static term_set set;
static unsigned char text[TEXT_MAX];
static unsigned long polls;

static int
digest_match(void *arg, const acd_match *match)
{
	digest	   *d = arg;
	uint64_t	parts[4] = {match->start, match->end, match->machine, match->term};

	for (int i = 0; i < 4; i++)
		d->hash = (d->hash ^ parts[i]) * UINT64_C(0x9E3779B97F4A7C15) + (d->hash >> 29);
	d->n++;
	return 0;
}

static int
count_poll(void *arg)
{
	(void) arg;
	polls++;
	return 0;
}

/* Append n bytes that repeat a unit, from anywhere in it. */
static size_t
add_repeats(size_t len, const unsigned char *unit, size_t unit_len, size_t n, size_t phase)
{
	for (; n > 0 && len < TEXT_MAX; n--)
		text[len++] = unit[phase++ % unit_len];
	return len;
}

/* A text of repeats, terms and letters. */
static size_t
random_repeats(uint64_t *rng, size_t max)
{
	size_t		len = rng_below(rng, 3) ? rng_below(rng, 70) : rng_below(rng, 900);

	for (size_t i = 0; i < len; i++)
		text[i] = (unsigned char) ('a' + rng_below(rng, 4));
	while (len < max)
	{
		const set_term *t = &set.terms[rng_below(rng, (uint32_t) set.nterms)];
		unsigned char unit[40];
		size_t		unit_len = rng_below(rng, 2) ? 1 + rng_below(rng, 4) : 1 + rng_below(rng, 36);
		size_t		n = rng_below(rng, 3) ? 900 + rng_below(rng, 800) : rng_below(rng, 20000);
		uint32_t	letters = 1 + rng_below(rng, 4);

		/* A piece of a term, or letters. */
		if (rng_below(rng, 2) && unit_len <= t->len)
			memcpy(unit, t->bytes + rng_below(rng, (uint32_t) (t->len - unit_len + 1)), unit_len);
		else
			for (size_t i = 0; i < unit_len; i++)
				unit[i] = (unsigned char) ('a' + rng_below(rng, letters));
		n = n < max - len ? n : max - len;
		len = add_repeats(len, unit, unit_len, n, rng_below(rng, 40));
		if (rng_below(rng, 3) == 0)
			return len;
		if (rng_below(rng, 2) && t->len < max - len)
		{
			memcpy(text + len, t->bytes, t->len);
			len += t->len;
		}
		else if (len > 0 && rng_below(rng, 2))
			text[len - 1] = (unsigned char) ('a' + rng_below(rng, 5));
	}
	return len;
}

/* Scan a text along the default path, by all instruction sets, and a forced one. */
static bool
check_text(size_t len, const uint8_t *boundaries)
{
	static found_list expected;
	static found_list got;
	acd_scan	scan = {0};

	scan.machines = set.pointers;
	scan.nmachines = set.nmachines;
	scan.boundaries = boundaries;
	for (int kind = ACD_ALL_OVERLAPPING; kind <= ACD_COVER; kind++)
	{
		digest		want = {1, 0};
		bool		any;

		scan.kind = (acd_kind) kind;
		scan.engine = ACD_ENGINE_AUTOMATON;
		scan.simd = ACD_SIMD_NONE;
		if (acd_find(&scan, text, len, digest_match, &want) != ACD_OK)
			return false;
		scan.engine = ACD_ENGINE_AUTO;
		if (len <= ORACLE_MAX)
		{
			oracle(&set, scan.kind, boundaries, text, len, &expected);
			got.n = 0;
			got.broken = false;
			got.set = &set;
			if (acd_find(&scan, text, len, collect_match, &got) != ACD_OK ||
				(expected.n < MAX_MATCHES && !same_matches(&got, &expected)))
				return false;
		}
		for (int simd = ACD_SIMD_AUTO; simd <= ACD_SIMD_NEON; simd++)
		{
			digest		have = {1, 0};

			if (!acd_simd_supported((acd_simd) simd))
				continue;
			scan.simd = (acd_simd) simd;
			if (acd_find(&scan, text, len, digest_match, &have) != ACD_OK || have.n != want.n ||
				have.hash != want.hash || acd_contains(&scan, text, len, &any) != ACD_OK || any != (want.n > 0))
			{
				printf("# %s, simd %s: %zu matches, not %zu\n", acd_kind_name(scan.kind),
					   acd_simd_name(scan.simd), have.n, want.n);
				return false;
			}
		}
	}
	return true;
}

static void
explain(size_t len, bool boundaries)
{
	for (size_t i = 0; i < set.nterms; i++)
		printf("# machine %u: %.*s\n", set.terms[i].machine, (int) set.terms[i].len, set.terms[i].bytes);
	printf("# %zu bytes (boundaries: %d): %.*s\n", len, boundaries, (int) (len < 3000 ? len : 3000), text);
}

/* Random terms, random repeats. */
static void
test_random_repeats(void)
{
	static uint8_t bits[TEXT_MAX / 8 + 1];
	unsigned long wanted = env_number("CORE_CASES", 100000) / 50;
	uint64_t	seed = env_number("CORE_SEED", 20260101);
	uint64_t	rng = seed * 2 + 1;
	unsigned long cases = 0;
	bool		passed = true;

	for (; passed && cases < wanted; cases++)
	{
		uint32_t	bounded = rng_below(&rng, 6);
		size_t		len;

		if (cases % 4 == 0)
		{
			set_free(&set);
			set_random(&set, &rng);
			passed = set_build(&set) == ACD_OK;
		}
		/* Long texts of terms' pieces go from walking to the automaton and back. */
		if (rng_below(&rng, 6) == 0)
			len = random_text(&set, &rng, text, TEXT_MAX);
		else
			len = random_repeats(&rng, rng_below(&rng, 3) ? ORACLE_MAX : TEXT_MAX);
		for (size_t k = 0; k < sizeof(bits); k++)
			bits[k] = bounded == 0 ? (uint8_t) (rng_next(&rng) >> 40 | rng_next(&rng) >> 40) : 0xFF;
		passed = passed && check_text(len, bounded < 2 ? bits : NULL);
		if (!passed)
			explain(len, bounded < 2);
	}
	ok(passed, "%lu random texts of repeats (CORE_SEED=%llu)", cases, (unsigned long long) seed);
	set_free(&set);
}

/* One term across, before and behind the end of a run, wherever that is. */
static void
test_ends(void)
{
	static const char *const strings[] = {"ab", "aaaaaaaaaaaaaaaaaaaab", "baaaaaaaaac", "aaac", "caaaaab"};
	bool		passed = true;

	set_strings(&set, strings, sizeof(strings) / sizeof(strings[0]));
	set_build(&set);
	for (size_t start = 0; passed && start < 70; start += 3)
		for (size_t n = 1000; passed && n < 1700; n += 37)
			for (int end = 0; passed && end < 4; end++)
			{
				size_t		len = 0;

				for (; len < start; len++)
					text[len] = "bxc"[len % 3];
				len = add_repeats(len, (const unsigned char *) "a", 1, n, 0);
				for (int i = 0; i < end; i++)
					text[len++] = "bcx"[(n + (size_t) i) % 3];
				passed = check_text(len, NULL);
			}
	ok(passed, "runs begin and end anywhere");

	/* Where a scan goes from one stretch to the next. */
	for (size_t at = 15000; passed && at < 16500; at += 11)
	{
		size_t		len = 0;

		for (; len < at; len++)
			text[len] = (unsigned char) ('d' + len * len % 97);
		len = add_repeats(len, (const unsigned char *) "a", 1, 1500, 0);
		text[len++] = 'b';
		passed = check_text(len, NULL);
	}
	ok(passed, "and across the borders of stretches");
	set_free(&set);
}

/* An allocator that has nothing. */
static void *
no_memory(void *ctx, size_t size)
{
	(void) ctx;
	(void) size;
	return NULL;
}

/* Text that repeats itself needs neither the automaton nor its memory. */
static void
test_skipped(void)
{
	static const acd_allocator nothing = {no_memory, NULL, NULL, NULL};
	static unsigned char run[1 << 21];
	unsigned char bytes[400];
	acd_scan	scan = {.machines = set.pointers, .nmachines = 1, .kind = ACD_COVER, .allocator = &nothing,
		.poll = count_poll};
	bool		any;
	digest		d = {1, 0};

	set_clear(&set);
	memset(bytes, 'a', sizeof(bytes));
	for (size_t k = 1; k <= 200; k++)
	{
		bytes[k] = 'b';
		set_add(&set, 0, bytes, k + 1, (int64_t) k, 0);
		bytes[k] = 'a';
	}
	set_build(&set);
	memset(run, 'a', sizeof(run));
	polls = 0;
	ok(acd_contains(&scan, run, sizeof(run), &any) == ACD_OK && !any && polls == sizeof(run) / ACD_POLL_BYTES,
	   "a run in which nothing matches is skipped, not without polls");
	run[sizeof(run) / 2] = 'b';
	ok(acd_contains(&scan, run, sizeof(run), &any) == ACD_ERR_NOMEM || any, "up to where a match could begin");
	set_free(&set);

	set_clear(&set);
	set_add(&set, 0, "a", 1, 0, 0);
	memset(bytes, 'a', sizeof(bytes));
	bytes[200] = 'b';
	set_add(&set, 0, bytes, 201, 1, 0);
	set_build(&set);
	memset(run, 'a', sizeof(run));
	scan.allocator = NULL;
	scan.kind = ACD_ALL_OVERLAPPING;
	polls = 0;
	ok(acd_find(&scan, run, sizeof(run), digest_match, &d) == ACD_OK && d.n == sizeof(run) &&
	   polls >= sizeof(run) / ACD_POLL_BYTES, "one that matches everywhere is reported in full");
	set_free(&set);
}

int
main(void)
{
	test_ends();
	test_skipped();
	test_random_repeats();
	return done_testing();
}
