/*
 * test_engines.c
 *		What is decided when a machine is built, at the edges of each rule; when
 *		a scan turns to the automaton and back; that no path reads a byte behind
 *		the page a text ends in.
 *
 * doc/matching.md lists the rules.
 *
 * Copyright (c) 2026, the acdat_decoder authors; PostgreSQL licence
 */
#define _DEFAULT_SOURCE			/* MAP_ANONYMOUS */

#include <sys/mman.h>
#include <unistd.h>

#include "acd_tier.h"
#include "helpers.h"

static term_set set;

/* Build a machine of n random terms of each of two lengths. */
static const acd_machine *
build_lengths(size_t n, size_t len, size_t other_n, size_t other_len, uint32_t letters)
{
	uint64_t	rng = 77;

	set_free(&set);
	set_clear(&set);
	for (size_t i = 0; i < n + other_n; i++)
	{
		unsigned char bytes[400];
		size_t		l = i < n ? len : other_len;

		for (size_t k = 0; k < l; k++)
			bytes[k] = (unsigned char) ('a' + rng_below(&rng, letters));
		set_add(&set, 0, bytes, l, (int64_t) i, 0);
	}
	set_build(&set);
	return &set.machines[0];
}

/* Window, step and prefix by the length of the shortest term. */
static void
test_windows(void)
{
	static const struct
	{
		uint32_t	len;
		uint32_t	window;
		uint32_t	step;
		uint32_t	prefix;
	}			cases[] = {
		{1, 1, 0, 1}, {3, 3, 0, 3}, {4, 4, 0, 4}, {7, 7, 0, 7}, {8, 6, 3, 8}, {9, 6, 4, 9},
		{12, 6, 7, 12}, {13, 6, 8, 13}, {16, 6, 8, 16}, {17, 6, 8, 16}, {300, 6, 8, 16}
	};
	bool		passed = true;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
	{
		const acd_machine *m = build_lengths(3, cases[i].len, 0, 0, 26);
		const acd_tier *t = &m->tiers[0];

		passed = passed && m->ntiers == 1 && t->min_len == cases[i].len && t->window == cases[i].window &&
			t->step == cases[i].step && t->prefix == cases[i].prefix;
	}
	ok(passed, "window, step and prefix follow from the shortest term");
	ok(build_lengths(200, 12, 0, 0, 2)->tiers[0].window == 8 && set.machines[0].tiers[0].step == 5,
	   "windows are longer where two letters make most short ones some term's");
}

/* Which terms are filtered together. */
static void
test_tiers(void)
{
	acd_machine_info info;

	ok(build_lengths(100, 7, 100, 8, 26)->ntiers == 1, "terms of 7 and 8 bytes in equal numbers share a filter");
	ok(build_lengths(1, 2, 200, 8, 26)->ntiers == 2, "one short term does not share with many long ones");
	acd_machine_describe(&set.machines[0], &info);
	ok(strcmp(info.engine, "start and window filters, trees") == 0 &&
	   strcmp(info.reason, "short terms are kept apart from longer ones") == 0, "and the description says so");
	ok(set.machines[0].tiers[0].step == 0 && set.machines[0].tiers[1].step == 3, "each has the filter it needs");
	set_free(&set);
	set_clear(&set);
	set_add(&set, 0, "K-9", 3, 0, 0);
	for (int i = 0; i < 100; i++)
	{
		unsigned char bytes[12] = {0xE4, 0xBA, 0x80, 0xE5, 0x80, 0x80, 0xE6, 0x81, 0x81, 0xE7, 0x82, 0x82};

		bytes[1] = (unsigned char) (0x80 + i % 64);
		bytes[4] = (unsigned char) (0x80 + i);
		set_add(&set, 0, bytes, i % 3 ? 12 : 6, i + 1, 0);
	}
	set_build(&set);
	ok(set.machines[0].ntiers == 1 && set.machines[0].tiers[0].windows[4] == 3 &&
	   set.machines[0].tiers[0].windows[14] == 6, "a short Latin term does not shorten the windows of Chinese ones");
	ok(build_lengths(200, 2, 1, 8, 26)->ntiers == 1, "one long term joins many short ones");
	ok(build_lengths(2, 3, 2, 20, 26)->ntiers <= 2, "no more tiers than classes of length");
	acd_machine_describe(build_lengths(5, 8, 0, 0, 26), &info);
	ok(strcmp(info.engine, "window filter, trees") == 0 && strcmp(info.reason, "all terms have 8 bytes or more") == 0,
	   "long terms alone have a window filter");
}

/*
 * Of 1,000 starts with the window of n terms of a length that differ from the
 * fourth byte on, how many pass the start filter?
 */
static int
count_passing(int n, size_t len)
{
	unsigned char bytes[16] = "abc";
	uint64_t	rng = 78;
	const acd_tier *t;
	int			passing = 0;

	set_free(&set);
	set_clear(&set);
	set_add(&set, 0, "axe", 3, 0, 0);
	set_add(&set, 0, "apples and pears", 16, 0, 0);
	for (int i = 0; i < n; i++)
	{
		bytes[3] = (unsigned char) ('a' + i);
		memset(bytes + 4, 'z', sizeof(bytes) - 4);
		set_add(&set, 0, bytes, len, i + 1, 0);
	}
	set_build(&set);
	t = &set.machines[0].tiers[0];
	for (int i = 0; set.machines[0].ntiers == 1 && t->window == 3 && i < 1000; i++)
	{
		for (int k = 3; k < 8; k++)
			bytes[k] = (unsigned char) ('A' + rng_below(&rng, 26));
		passing += acd_start_has(t, acd_le64(bytes), acd_gram_hash(t, acd_le64(bytes)), 8);
	}
	return passing;
}

/* A start filter is about 8 bytes, not about the window alone. */
static void
test_start_filter(void)
{
	ok(count_passing(1, 8) < 20, "few starts pass that have only the window of a longer term");
	ok(count_passing(12, 16) < 300, "nor do many with that of 12 terms");
	ok(count_passing(13, 16) == 1000, "all do if 13 terms have it");
	ok(count_passing(1, 7) == 1000, "or one that ends before 8 bytes");
}

/* Build a^8, a^9 and so on. */
static const acd_machine *
build_chain(size_t n)
{
	unsigned char bytes[400];

	memset(bytes, 'a', sizeof(bytes));
	set_free(&set);
	set_clear(&set);
	for (size_t i = 0; i < n; i++)
		set_add(&set, 0, bytes, 8 + i, (int64_t) i, 0);
	set_build(&set);
	return &set.machines[0];
}

/* Which trees are deep. */
static void
test_deep(void)
{
	unsigned char bytes[400];
	acd_machine_info info;

	ok(build_chain(3)->nends == 0, "a chain of 3 nodes is walked");
	ok(build_chain(4)->nends == 4, "a chain of 4 is in the automaton");
	ok(build_lengths(1, 32 * 3 - 1, 0, 0, 26)->nends == 0, "so is a path of 95 bytes walked");
	ok(build_lengths(1, 32 * 3, 0, 0, 26)->nends == 1, "and one of 96 bytes in the automaton");
	ok(build_lengths(100, 32 * 12 - 1, 0, 0, 26)->nends == 0, "in a large machine one of 383 bytes is walked");
	ok(build_lengths(100, 32 * 12, 0, 0, 26)->nends == 100, "and one of 384 bytes in the automaton");
	ok(build_lengths(102, 320, 0, 0, 26)->nends == 102 && build_lengths(103, 320, 0, 0, 26)->nends == 0,
	   "large is more than 32 KiB of patterns");

	/* One deep tree of two terms among others. */
	set_free(&set);
	set_clear(&set);
	memset(bytes, 'a', sizeof(bytes));
	set_add(&set, 0, bytes, 390, 0, 0);
	bytes[0] = 'b';
	set_add(&set, 0, bytes, 16, 1, 0);
	bytes[0] = 'c';
	set_add(&set, 0, bytes, 16, 2, 0);
	set_build(&set);
	acd_machine_describe(&set.machines[0], &info);
	ok(set.machines[0].nends == 1 && strcmp(info.engine, "window filter, trees, automaton") == 0,
	   "one deep tree of three is in the automaton alone");
	set_free(&set);
	set.nterms = 2;
	set_build(&set);
	ok(set.machines[0].nends == 2, "one of two takes all terms there");
	set_free(&set);
	set.terms[0].len = 16;
	set.full_automaton = true;
	set_build(&set);
	ok(set.machines[0].nends == 2, "and so does the builder's switch");
}

/* An allocator that counts. */
static unsigned long allocations;

static void *
counting_alloc(void *ctx, size_t size)
{
	(void) ctx;
	allocations++;
	return malloc(size);
}

static void *
counting_resize(void *ctx, void *ptr, size_t old_size, size_t size)
{
	(void) ctx;
	(void) old_size;
	return realloc(ptr, size);
}

static void
counting_release(void *ctx, void *ptr)
{
	(void) ctx;
	free(ptr);
}

/* How many matches, and whether the automaton was used. */
static size_t
count_scan(const unsigned char *text, size_t len, bool *used)
{
	static const acd_allocator counting = {counting_alloc, counting_resize, counting_release, NULL};
	static found_list got;
	acd_scan	scan = {0};

	scan.machines = set.pointers;
	scan.nmachines = 1;
	scan.kind = ACD_LEFTMOST_LONGEST;
	scan.allocator = &counting;
	allocations = 0;
	got.n = 0;
	got.broken = false;
	got.set = &set;
	if (acd_find(&scan, text, len, collect_match, &got) != ACD_OK || got.broken)
		return SIZE_MAX;
	*used = allocations > 0;
	return got.n;
}

/* When the automaton is used. */
static void
test_fallback(void)
{
	static unsigned char text[400000];
	unsigned char bytes[400];
	bool		used;
	size_t		n;

	set_free(&set);
	set_clear(&set);
	memset(bytes, 'a', sizeof(bytes));
	bytes[389] = 'b';
	set_add(&set, 0, bytes, 390, 0, 0);
	set_build(&set);
	memset(text, '.', sizeof(text));
	memcpy(text + 1000, bytes, 390);
	n = count_scan(text, sizeof(text), &used);
	ok(n == 1 && !used, "a deep tree is walked where that is cheap");
	memset(text + 2000, 'a', 100);
	n = count_scan(text, sizeof(text), &used);
	ok(n == 1 && !used, "also in short runs of what makes it slow");
	memset(text + 3000, 'a', 4000);
	n = count_scan(text, sizeof(text), &used);
	ok(n == 1 && !used, "nor is it needed where a long run is skipped");
	for (size_t i = 3000; i < 7000; i += 500)
		text[i] = 'c';
	memcpy(text + 9000, bytes, 390);
	n = count_scan(text, sizeof(text), &used);
	ok(n == 2 && used, "but where they go on and on");
	for (size_t i = 200000; i < 300000; i++)
		text[i] = "ac"[i % 500 == 0];
	memcpy(text + 299000, bytes, 390);
	memcpy(text + 399000, bytes, 390);
	n = count_scan(text, sizeof(text), &used);
	ok(n == 4 && used, "all is found before, in and behind them");
}

/* Scan texts that end where the readable memory ends, along every path. */
static void
test_page_end(void)
{
	size_t		page = (size_t) sysconf(_SC_PAGESIZE);
	unsigned char *memory = mmap(NULL, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t	rng = 5;
	bool		passed = memory != MAP_FAILED && mprotect(memory + 2 * page, page, PROT_NONE) == 0;
	acd_scan	scan = {0};

	for (int round = 0; passed && round < 60; round++)
	{
		size_t		longest = round % 2 ? 300 : 2 * page - 1;

		set_free(&set);
		set_random(&set, &rng);
		passed = set_build(&set) == ACD_OK;
		scan.machines = set.pointers;
		scan.nmachines = set.nmachines;
		random_text(&set, &rng, memory, 2 * page);
		for (size_t len = 0; passed && len <= longest; len += longest > 300 ? 97 : 1)
			for (unsigned which = 0; forced_path(which, &scan); which++)
			{
				bool		any;

				passed = passed && acd_contains(&scan, memory + 2 * page - len, len, &any) == ACD_OK;
			}
	}
	ok(passed, "nothing is read behind the page a text ends in");
	if (memory != MAP_FAILED)
		munmap(memory, 3 * page);
}

/* Windows that reach beyond a text, in memory that goes on with the rest of a term. */
static void
test_text_end(void)
{
	static const char *const strings[] = {"K", "\xE4\xB8\xAD\xE6\x96\x87", "\xE4\xB8\xAD\xE6\x96\x87\xE5\xAD\x97", "xyz12345"};
	static const char *const longs[] = {"abcdefgh", "abcdefgi", "abcdefghijk"};
	unsigned char text[128];
	acd_scan	scan = {0};
	bool		any;
	bool		passed = true;

	memset(text, '.', sizeof(text));
	for (int which = 0; which < 2; which++)
	{
		const char *const *terms = which == 0 ? strings : longs;
		size_t		len = which == 0 ? 6 : 8;

		set_free(&set);
		set_strings(&set, terms, which == 0 ? 4 : 3);
		set_build(&set);
		scan.machines = set.pointers;
		scan.nmachines = 1;
		for (size_t at = 0; at <= 70; at++)
		{
			memset(text, '.', sizeof(text));
			memcpy(text + at, which == 0 ? terms[1] : terms[0], len);
			for (size_t n = at; n <= at + len; n++)
				for (unsigned path = 0; forced_path(path, &scan); path++)
					passed = passed && acd_contains(&scan, text, n, &any) == ACD_OK && any == (n == at + len);
		}
	}
	ok(passed && set.machines[0].tiers[0].step != 0, "a term that goes on behind a text is not in it");
}

/* Requests no processor can meet. */
static void
test_requests(void)
{
	acd_scan	scan = {0};
	bool		any;
	int			unsupported = 0;
	bool		passed = true;

	for (int simd = ACD_SIMD_AUTO; simd <= ACD_SIMD_NEON + 1; simd++)
	{
		scan.simd = (acd_simd) simd;
		unsupported += !acd_simd_supported(scan.simd);
		passed = passed && acd_contains(&scan, "a", 1, &any) ==
			(acd_simd_supported(scan.simd) ? ACD_OK : ACD_ERR_ARGUMENT);
	}
	ok(passed && unsupported >= 2, "instructions that are not there are refused");
	scan.simd = ACD_SIMD_AUTO;
	scan.engine = (acd_engine) 3;
	ok(acd_contains(&scan, "a", 1, &any) == ACD_ERR_ARGUMENT, "so is an engine that is not there");
	ok(strcmp(acd_simd_name(ACD_SIMD_AVX2), "avx2") == 0 && strcmp(acd_simd_name((acd_simd) 99), "unknown") == 0,
	   "instruction sets have names");
}

/*
 * Text that no window can be in goes by at once: two terms between digits, at
 * each offset, one of them up to 700 bytes behind the other.
 */
static void
test_gaps(void)
{
	static unsigned char text[2048];
	static found_list got;
	bool		passed = true;

	for (size_t len = 8; passed && len <= 16; len++)
	{
		const char *strings[] = {"abcdefghijklmnop"};

		set_free(&set);
		set_clear(&set);
		set_add(&set, 0, strings[0], len, 0, 0);
		set_build(&set);
		for (size_t gap = 0; passed && gap < 700; gap += len % 4 == 0 ? 1 : 13)
			for (size_t before = 0; passed && before < 1300; before += gap % 4 == 0 ? 63 : 650)
			{
				acd_scan	scan = {.machines = set.pointers, .nmachines = 1, .kind = ACD_LEFTMOST_LONGEST};
				size_t		second = before + len + gap;
				size_t		size = second + len + gap % 5;

				/* Every so often a letter, so that stretches begin and end anywhere; no period. */
				for (size_t i = 0; i < size; i++)
					text[i] = (unsigned char) (i * i % 331 == 7 && gap % 3 == 0 ? 'z' : '0' + (i * i / 7 + i) % 10);
				memcpy(text + before, strings[0], len);
				memcpy(text + second, strings[0], len);
				for (unsigned which = 0; passed && forced_path(which, &scan); which++)
				{
					bool		any = false;

					got.n = 0;
					got.broken = false;
					got.set = &set;
					passed = acd_find(&scan, text, size, collect_match, &got) == ACD_OK && got.n == 2 &&
						got.list[0].start == before && got.list[1].start == second &&
						acd_contains(&scan, text + before + 1, size - before - 1, &any) == ACD_OK && any;
				}
			}
	}
	ok(passed, "terms behind text of other bytes only, at each offset");
}

int
main(void)
{
	test_windows();
	test_tiers();
	test_start_filter();
	test_deep();
	test_fallback();
	test_page_end();
	test_text_end();
	test_requests();
	test_gaps();
	set_free(&set);
	return done_testing();
}
