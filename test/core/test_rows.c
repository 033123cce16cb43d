/*
 * test_rows.c
 *		Rows of 0 to 300 bytes, as short texts have a way of their own, at every
 *		place about the end of a page, against the brute-force oracle.
 *
 * Copyright (c) 2026, the acdat_decoder authors; PostgreSQL licence
 */
#define _DEFAULT_SOURCE			/* MAP_ANONYMOUS */

#include <sys/mman.h>
#include <unistd.h>

#include "helpers.h"

#define ROW_MAX		300
#define ROW_DENSE	130			/* to there each length, from there on some */

static bool latin;				/* letters of many more sorts, that begin few terms */
static term_set set;
static found_list expected[ACD_COVER + 1];
static found_list got;

/* A text of n letters of 1 or 3 bytes; in Latin text mostly a to z. */
static size_t
letters(uint64_t *rng, unsigned char *bytes, size_t n)
{
	size_t		len = 0;

	while (n-- > 0)
	{
		uint32_t	r = rng_below(rng, 12);

		if (latin && r > 2)
			bytes[len++] = (unsigned char) ('a' + rng_below(rng, r % 2 == 0 ? 26 : 3));
		else if (r == 0)
			bytes[len++] = (unsigned char) ('0' + rng_below(rng, 2));
		else
		{
			bytes[len++] = (unsigned char) (0xE4 + r % 3);
			bytes[len++] = 0x80;
			bytes[len++] = (unsigned char) (0x80 + r / 6);
		}
	}
	return len;
}

/*
 * Build a set of terms that mostly have 6 to 12 bytes; of 8 or more only, of
 * fewer only, or of one or two kinds of letters, by turns.  With Latin letters
 * terms are shorter, and few, so that the classes of their first bytes matter.
 */
static void
build(uint64_t *rng, int round)
{
	set_free(&set);
	set_clear(&set);
	for (int i = 0; i < (latin ? 1 + round : 40); i++)
	{
		unsigned char bytes[64];
		size_t		len = letters(rng, bytes, round % 4 == 1 ? 2 : 2 + rng_below(rng, 3));

		if (round % 4 == 2 && len < 8)
			len += letters(rng, bytes + len, 2);
		if (round % 4 == 3 && rng_below(rng, 4) == 0)
			len = 1 + rng_below(rng, 3);
		if (latin && round % 4 != 1)
			len = letters(rng, bytes, 1 + round % 4 + rng_below(rng, 5));
		set_add(&set, 0, bytes, len, i, (int32_t) rng_below(rng, 3));
	}
	set_build(&set);
}

/* Put a text together again from what is found. */
typedef struct output
{
	unsigned char bytes[1 << 14];
	size_t		len;
} output;

static int
append(void *arg, const void *piece, size_t len)
{
	output	   *out = arg;

	memcpy(out->bytes + out->len, piece, len);
	out->len += len;
	return 0;
}

static bool
replaces(const acd_scan *scan, const found_list *matches, const unsigned char *text, size_t len)
{
	static output want;
	static output have;
	acd_sink	sink = {append, append, &have};
	size_t		replaced;
	size_t		pos = 0;

	want.len = have.len = 0;
	for (size_t i = 0; i < matches->n; i++)
	{
		const set_term *t = &set.terms[matches->list[i].term];

		append(&want, text + pos, matches->list[i].start - pos);
		append(&want, t->replacement, t->replacement_len);
		pos = matches->list[i].end;
	}
	if (matches->n > 0)
		append(&want, text + pos, len - pos);
	return acd_replace(scan, text, len, SIZE_MAX, &sink, &replaced) == ACD_OK && replaced == matches->n &&
		have.len == want.len && memcmp(have.bytes, want.bytes, have.len) == 0;
}

/* All that can be asked about one text, along one path. */
static bool
agrees(acd_scan *scan, const unsigned char *text, size_t len)
{
	bool		any;

	for (int kind = 0; kind <= ACD_COVER; kind++)
	{
		scan->kind = (acd_kind) kind;
		got.n = 0;
		got.broken = false;
		got.set = &set;
		if (acd_find(scan, text, len, collect_match, &got) != ACD_OK || !same_matches(&got, &expected[kind]) ||
			(kind != ACD_ALL_OVERLAPPING && !replaces(scan, &expected[kind], text, len)))
			return false;
	}
	return acd_contains(scan, text, len, &any) == ACD_OK && any == (expected[0].n > 0);
}

/* One text of each length, with each of its bytes, or none, behind the end of a page. */
static bool
try_rows(unsigned char *memory, size_t page, uint64_t *rng, int round)
{
	unsigned char row[4 * ROW_MAX];
	acd_scan	scan = {.machines = set.pointers, .nmachines = set.nmachines};

	for (size_t len = 0; len <= ROW_MAX; len += len < ROW_DENSE ? 1 : 17)
	{
		letters(rng, row, ROW_MAX);
		for (int kind = 0; kind <= ACD_COVER; kind++)
			oracle(&set, (acd_kind) kind, NULL, row, len, &expected[kind]);
		for (size_t behind = 0; behind <= len + 2; behind++)
		{
			/* The last page ends where nothing can be read. */
			unsigned char *end = memory + (behind == len + 2 ? 2 * page : page + behind);
			unsigned	first = (unsigned) ((len + behind) % 8);

			/* What stands around must not matter. */
			letters(rng, memory + page - 2 * ROW_MAX, ROW_MAX + ROW_MAX / 3);
			memcpy(end - len, row, len);
			for (unsigned which = 0; forced_path(which, &scan); which++)
				if ((which == 0 || which % 8 == first) && !agrees(&scan, end - len, len))
				{
					printf("# round %d, length %zu, %zu behind, path %u\n", round, len, behind, which);
					return false;
				}
		}
	}
	return true;
}

int
main(void)
{
	size_t		page = (size_t) sysconf(_SC_PAGESIZE);
	unsigned char *memory = mmap(NULL, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t	rng = env_number("CORE_SEED", 3) * 2 + 1;
	bool		long_keys = false;
	bool		passed = memory != MAP_FAILED && mprotect(memory + 2 * page, page, PROT_NONE) == 0;

	for (int round = 0; passed && round < 16; round++)
	{
		latin = round >= 8;
		build(&rng, round);
		long_keys = long_keys || (set.machines[0].tiers[0].step == 0 && set.machines[0].tiers[0].prefix == 8);
		passed = try_rows(memory, page, &rng, round);
	}
	ok(passed, "rows of 0 to %d bytes about the end of a page", ROW_MAX);
	ok(long_keys, "with filters of long keys among others");
	set_free(&set);
	return done_testing();
}
