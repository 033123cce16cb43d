/*
 * test_unit.c
 *		Single facts about every public function and the digests.
 *
 * Copyright (c) 2026, the acdat_decoder authors; PostgreSQL licence
 */
#include "acd_internal.h"
#include "helpers.h"

static term_set set;
static found_list got;

/* Is a digest the one given in hexadecimal? */
static bool
digest_is(const void *data, size_t len, const char *hex)
{
	unsigned char digest[ACD_DIGEST_LEN];
	char		text[ACD_DIGEST_LEN * 2 + 1];

	acd_sha256(data, len, digest);
	for (int i = 0; i < ACD_DIGEST_LEN; i++)
		snprintf(text + i * 2, 3, "%02x", digest[i]);
	return strcmp(text, hex) == 0;
}

/* FIPS 180-4 examples, and lengths around the padding's edges. */
static void
test_digests(void)
{
	static char million[1000000];
	unsigned char bytes[256];

	memset(million, 'a', sizeof(million));
	ok(digest_is("", 0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"), "SHA-256 of nothing");
	ok(digest_is("abc", 3, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"), "SHA-256 of abc");
	ok(digest_is("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56,
				 "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"), "SHA-256 of two blocks");
	ok(digest_is(million, sizeof(million),
				 "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"), "SHA-256 of a million a");
	for (int i = 0; i < 256; i++)
		bytes[i] = (unsigned char) i;
	ok(digest_is(bytes, 55, "463eb28e72f82e0a96c0a4cc53690c571281131f672aa229e0d45ae59b598b59"), "SHA-256 of 55 bytes");
	ok(digest_is(bytes, 64, "fdeab9acf3710362bd2658cdc9a29e8f9c757fcf9811603a8c447cd1d9151108"), "SHA-256 of 64 bytes");

	ok(acd_xxh64("", 0, 0) == UINT64_C(0xEF46DB3751D8E999), "XXH64 of nothing");
	ok(acd_xxh64("a", 1, 0) == UINT64_C(0xD24EC4F1A98C6E5B), "XXH64 of a");
	ok(acd_xxh64("abc", 3, 0) == UINT64_C(0x44BC2CF5AD770999), "XXH64 of abc");
	ok(acd_xxh64("Nobody inspects the spammish repetition", 39, 0) == UINT64_C(0xFBCEA83C8A378BF1),
	   "XXH64 of 39 bytes");
	ok(acd_xxh64(bytes, 256, 0) != acd_xxh64(bytes, 255, 0) &&
	   acd_xxh64(bytes, 256, 0) != acd_xxh64(bytes, 256, 1), "XXH64 depends on length and seed");
}

/* Names and messages. */
static void
test_names(void)
{
	acd_kind	kind;

	for (int k = ACD_ALL_OVERLAPPING; k <= ACD_COVER; k++)
		ok(acd_kind_from_name(acd_kind_name((acd_kind) k), &kind) && (int) kind == k, "kind %s", acd_kind_name((acd_kind) k));
	ok(!acd_kind_from_name("longest", &kind) && !acd_kind_from_name("", &kind), "no other kind");
	for (int s = ACD_OK; s <= ACD_ERR_STOPPED; s++)
		ok(acd_status_message((acd_status) s) != NULL &&
		   strcmp(acd_status_message((acd_status) s), "unknown status") != 0, "status %d has a message", s);
	ok(acd_status_message((acd_status) 999) != NULL, "so has an unknown one");
}

/* Count calls. */
static void
on_duplicate(void *arg, int64_t kept, int64_t dropped)
{
	int64_t    *ids = arg;

	ids[0]++;
	ids[1] = kept;
	ids[2] = dropped;
}

/* What a builder refuses, and duplicates. */
static void
test_builder(void)
{
	acd_builder *b = acd_builder_create(NULL);
	acd_artifact a;
	static char bytes[ACD_MAX_TERM_LEN + 1];
	acd_term	t = {"x", 1, "y", 1, 7, 0};
	int64_t		ids[3] = {0};
	acd_machine m;
	acd_term_info info;

	ok(acd_builder_finish(b, 0, &a) == ACD_ERR_NO_TERMS, "no terms");
	t.pattern_len = 0;
	ok(acd_builder_add(b, &t) == ACD_ERR_EMPTY_TERM, "empty pattern");
	t.pattern = bytes;
	t.pattern_len = sizeof(bytes);
	ok(acd_builder_add(b, &t) == ACD_ERR_TERM_TOO_LONG, "pattern too long");
	t.pattern = NULL;
	t.pattern_len = 1;
	ok(acd_builder_add(b, &t) == ACD_ERR_ARGUMENT, "NULL pattern");
	t.pattern = "x";
	t.replacement = NULL;
	ok(acd_builder_add(b, &t) == ACD_ERR_ARGUMENT, "NULL replacement of length 1");
	t.replacement_len = 0;
	ok(acd_builder_add(b, &t) == ACD_OK, "NULL replacement of length 0");
	t.replacement = "longer";
	t.replacement_len = 6;
	t.priority = 2;
	ok(acd_builder_add(b, &t) == ACD_OK, "the pattern again with a priority");
	t.id = 5;
	ok(acd_builder_add(b, &t) == ACD_OK, "and with a lower id");
	acd_builder_on_duplicate(b, on_duplicate, ids);
	ok(acd_builder_finish(b, 4, &a) == ACD_OK && a.terms == 1 && a.duplicates == 2 && a.reserved == 4, "one term is left");
	ok(ids[0] == 2 && ids[1] == 5 && ids[2] == 7, "the duplicates were reported");
	ok(acd_builder_add(b, &t) == ACD_ERR_ARGUMENT && acd_builder_finish(b, 0, &a) == ACD_ERR_ARGUMENT,
	   "a finished builder takes no more");
	ok(acd_machine_open(&m, (char *) a.block + 4, a.size) == ACD_OK &&
	   acd_machine_term(&m, 0, &info) && info.id == 5 && info.priority == 2 && info.replacement_len == 6 &&
	   memcmp(info.replacement, "longer", 6) == 0 && !acd_machine_term(&m, 1, &info) &&
	   !acd_machine_pattern(&m, 1, bytes), "the best was kept");
	free(a.block);
	acd_builder_free(b);
	acd_builder_free(NULL);
}

/* Ids and priorities come back, whether or not terms' records have room for them. */
static void
test_wide(void)
{
	static const struct
	{
		int64_t		id;
		int32_t		priority;
		bool		wide;
	}			cases[] = {
		{0, INT16_MIN, false}, {UINT32_MAX, INT16_MAX, false}, {-1, 0, true}, {INT64_MIN, 1, true},
		{(int64_t) UINT32_MAX + 1, 0, true}, {INT64_MAX, INT32_MAX, true}, {3, INT16_MAX + 1, true},
		{3, INT16_MIN - 1, true}, {3, INT32_MIN, true}
	};
	bool		same = true;
	bool		room = true;
	bool		refused = true;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
	{
		acd_builder *b = acd_builder_create(NULL);
		acd_term	terms[2] = {{"narrow", 6, "<1>", 3, 1, 2}, {"wide", 4, "<wide>", 6, cases[i].id, cases[i].priority}};
		acd_artifact a = {0};
		acd_machine m;
		acd_term_info one;
		acd_term_info two;

		same = same && acd_builder_add(b, &terms[0]) == ACD_OK && acd_builder_add(b, &terms[1]) == ACD_OK &&
			acd_builder_finish(b, 0, &a) == ACD_OK && acd_machine_open(&m, a.block, a.size) == ACD_OK &&
			acd_machine_verify(&m, NULL) == ACD_OK && acd_machine_term(&m, 0, &one) && acd_machine_term(&m, 1, &two) &&
			one.id == 1 && one.priority == 2 && two.id == cases[i].id && two.priority == cases[i].priority &&
			two.replacement_len == 6 && memcmp(two.replacement, "<wide>", 6) == 0;
		room = room && (m.wide != NULL) == cases[i].wide;
		if (m.wide != NULL)
		{
			unsigned char *bytes = a.block;

			/* A record says 0 where another one says it. */
			acd_put16(bytes + (m.terms - m.bytes) + ACD_TERM_SIZE + ACD_TERM_PRIORITY, 1);
			acd_put64(bytes + ACD_AT_CHECKSUM, acd_xxh64(bytes + ACD_AT_DIGEST, a.size - ACD_AT_DIGEST, 0));
			refused = refused && acd_machine_open(&m, bytes, a.size) == ACD_ERR_CORRUPT;
		}
		free(a.block);
		acd_builder_free(b);
	}
	ok(same, "ids and priorities of any size");
	ok(room, "wide records only where they are needed");
	ok(refused, "two records of one id");
}

/* The same terms in another order give the same bytes. */
static void
test_determinism(void)
{
	uint64_t	rng = 99;
	bool		same = true;

	for (int round = 0; round < 200; round++)
	{
		static term_set other;

		set_random(&set, &rng);
		if (round % 2)
			set_add(&set, set.terms[set.nterms - 1].machine, set.terms[0].bytes, set.terms[0].len,
					set.terms[0].id, set.terms[0].priority)->replacement[0] = '{';
		other = set;
		for (size_t i = 0; i < set.nterms; i++)
			other.terms[i] = set.terms[set.nterms - 1 - i];
		same = same && set_build(&set) == ACD_OK && set_build(&other) == ACD_OK;
		for (size_t m = 0; same && m < set.nmachines; m++)
			same = set.artifacts[m].size == other.artifacts[m].size &&
				memcmp((char *) set.artifacts[m].block + 4, (char *) other.artifacts[m].block + 4,
					   set.artifacts[m].size) == 0;
		set_free(&other);
		set_free(&set);
	}
	ok(same, "the order of adding does not matter");

	for (int change = 0; change < 4; change++)
	{
		static const char *const terms[] = {"he", "she"};
		unsigned char digests[2][ACD_DIGEST_LEN];

		for (int i = 0; i < 2; i++)
		{
			set_strings(&set, terms, 2);
			set.terms[1].id += i && change == 0;
			set.terms[1].priority += i && change == 1;
			set.terms[1].bytes[0] += i && change == 2;
			set.terms[1].replacement[0] += i && change == 3;
			set_build(&set);
			memcpy(digests[i], set.machines[0].bytes + ACD_AT_DIGEST, ACD_DIGEST_LEN);
			set_free(&set);
		}
		ok(memcmp(digests[0], digests[1], ACD_DIGEST_LEN) != 0, "change %d of a term gives another digest", change);
	}
}

/* Any alignment; copies of the machine struct. */
static void
test_alignment(void)
{
	static const char *const terms[] = {"he", "she", "his", "hers"};
	unsigned char *buffer;
	bool		passed = true;

	set_strings(&set, terms, 4);
	set_build(&set);
	buffer = malloc(set.artifacts[0].size + 8);
	for (size_t shift = 0; shift < 8; shift++)
	{
		acd_machine m = {0};
		acd_machine copy;
		const acd_machine *p = &copy;
		acd_scan	scan = {0};
		acd_machine_info info;

		memcpy(buffer + shift, set.machines[0].bytes, set.artifacts[0].size);
		passed = passed && acd_machine_open(&m, buffer + shift, set.artifacts[0].size) == ACD_OK;
		copy = m;
		memset(&m, 0, sizeof(m));
		scan.machines = &p;
		scan.nmachines = 1;
		got.n = 0;
		got.set = &set;
		passed = passed && acd_find(&scan, "ushers", 6, collect_match, &got) == ACD_OK && got.n == 3 && !got.broken;
		acd_machine_describe(&copy, &info);
		passed = passed && info.terms == 4 && info.states == 4 && info.min_len == 2 && info.max_len == 4 &&
			info.version == 1 && info.bytes == set.artifacts[0].size && strcmp(info.engine, "start filter, trees") == 0 && strlen(info.reason) > 0;
	}
	ok(passed, "an artifact works at every alignment");
	free(buffer);
	set_free(&set);
}

/* A machine that is moved is the one that is opened there: no pointer is forgotten. */
static void
test_moving(void)
{
	uint64_t	rng = 99;
	bool		passed = true;
	bool		seen_automaton = false;
	bool		seen_tier = false;

	for (int round = 0; round < 300; round++)
	{
		set_random(&set, &rng);
		set.full_automaton = round % 2;
		if (set_build(&set) == ACD_OK)
		{
			for (size_t m = 0; m < set.nmachines; m++)
			{
				size_t		size = set.artifacts[m].size;
				unsigned char *copy = malloc(size);
				acd_machine opened = {0};
				acd_machine moved = {0};

				memcpy(copy, set.machines[m].bytes, size);
				memcpy(&moved, &set.machines[m], sizeof(moved));
				passed = passed && acd_machine_move(&moved, copy) == ACD_OK &&
					acd_machine_open(&opened, copy, size) == ACD_OK &&
					memcmp(&opened, &moved, sizeof(moved)) == 0;
				seen_automaton |= moved.states != NULL;
				seen_tier |= moved.ntiers > 1;
				free(copy);
			}
		}
		set_free(&set);
	}
	ok(passed, "moved machines are the ones opened there");
	ok(seen_automaton && seen_tier, "with automata and tiers");
}

/* Return 1 for the nth call. */
static int
stop_at(void *arg, const acd_match *match)
{
	(void) match;
	return --*(int *) arg <= 0;
}

/* Return 1 for the nth call. */
static int
poll_stop(void *arg)
{
	return --*(int *) arg <= 0;
}

/* Sum the bytes received; the first member says how many calls to allow. */
typedef struct sink_count
{
	int			calls_left;
	size_t		bytes;
} sink_count;

static int
count_piece(void *arg, const void *piece, size_t len)
{
	sink_count *c = arg;

	(void) piece;
	c->bytes += len;
	return --c->calls_left <= 0;
}

/* Arguments, stopping, limits. */
static void
test_scanning(void)
{
	static const char *const terms[] = {"ab", "bc"};
	static char big[300000];
	acd_scan	scan = {0};
	bool		any;
	int			n;
	sink_count	count;
	acd_sink	sink = {count_piece, count_piece, &count};
	size_t		replaced;

	set_strings(&set, terms, 2);
	set_build(&set);
	got.set = &set;
	got.n = 0;
	ok(acd_find(&scan, "ab", 2, collect_match, &got) == ACD_OK && got.n == 0, "no machine, no match");
	ok(acd_contains(&scan, "ab", 2, &any) == ACD_OK && !any, "and contains says so");
	scan.machines = set.pointers;
	scan.nmachines = ACD_MAX_MACHINES + 1;
	ok(acd_find(&scan, "ab", 2, collect_match, &got) == ACD_ERR_ARGUMENT, "too many machines");
	scan.nmachines = 1;
	scan.kind = (acd_kind) 17;
	ok(acd_find(&scan, "ab", 2, collect_match, &got) == ACD_ERR_ARGUMENT, "no such kind");
	for (int k = ACD_ALL_OVERLAPPING; k <= ACD_COVER; k++)
	{
		scan.kind = (acd_kind) k;
		got.n = 0;
		ok(acd_find(&scan, NULL, 0, collect_match, &got) == ACD_OK && got.n == 0, "empty text, %s", acd_kind_name(scan.kind));
		n = 2;
		ok(acd_find(&scan, "ab ab ab", 8, stop_at, &n) == ACD_ERR_STOPPED && n == 0, "a callback stops, %s", acd_kind_name(scan.kind));
		scan.poll = poll_stop;
		scan.poll_arg = &n;
		n = 4;
		ok(acd_find(&scan, big, sizeof(big), stop_at, &n) == ACD_ERR_STOPPED && n == 0, "the fourth poll stops, %s", acd_kind_name(scan.kind));
		n = 5;
		ok(acd_find(&scan, big, sizeof(big), stop_at, &n) == ACD_OK && n == 1, "a fifth does not come, %s", acd_kind_name(scan.kind));
		scan.poll = NULL;
	}

	scan.kind = ACD_ALL_OVERLAPPING;
	ok(acd_replace(&scan, "ab", 2, 99, &sink, &replaced) == ACD_ERR_ARGUMENT, "replace has no overlapping kind");
	scan.kind = ACD_COVER;
	count = (sink_count) {99, 0};
	ok(acd_replace(&scan, "xxxx", 4, 0, &sink, &replaced) == ACD_OK && replaced == 0 && count.calls_left == 99,
	   "without a match the sink is not called, whatever the limit");
	ok(acd_replace(&scan, "xabcx", 5, 5, &sink, &replaced) == ACD_OK && replaced == 1 && count.bytes == 5, "5 bytes fit 5");
	count = (sink_count) {99, 0};
	ok(acd_replace(&scan, "xabcx", 5, 4, &sink, &replaced) == ACD_ERR_LIMIT && count.bytes <= 4, "not 4");
	for (int calls = 1; calls <= 3; calls++)
	{
		count = (sink_count) {calls, 0};
		ok(acd_replace(&scan, "xabcx", 5, 99, &sink, &replaced) == ACD_ERR_STOPPED && count.calls_left == 0,
		   "the sink stops at piece %d", calls);
	}
	set_free(&set);
}

/* Terms at the limits of what a machine takes. */
static void
test_extremes(void)
{
	static unsigned char bytes[ACD_MAX_TERM_LEN];
	static unsigned char text[3 * ACD_MAX_TERM_LEN];
	acd_builder *b = acd_builder_create(NULL);
	acd_artifact a;
	acd_machine m;
	const acd_machine *p = &m;
	acd_scan	scan = {&p, 1, ACD_LEFTMOST_LONGEST, NULL, NULL, NULL, NULL, ACD_ENGINE_AUTO, ACD_SIMD_AUTO};
	acd_term	t = {bytes, sizeof(bytes), "", 0, 1, 0};
	int			n;

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (unsigned char) (i * i >> 3);
	memcpy(text + 1000, bytes, sizeof(bytes));
	memcpy(text + 1000 + sizeof(bytes), bytes, sizeof(bytes));
	ok(acd_builder_add(b, &t) == ACD_OK && acd_builder_finish(b, 0, &a) == ACD_OK &&
	   acd_machine_open(&m, a.block, a.size) == ACD_OK && acd_machine_verify(&m, NULL) == ACD_OK, "a term of 65,535 bytes");
	for (int k = ACD_ALL_OVERLAPPING; k <= ACD_COVER; k++)
	{
		scan.kind = (acd_kind) k;
		n = 1000;
		ok(acd_find(&scan, text, sizeof(text), stop_at, &n) == ACD_OK && n == 998, "it is found twice, %s", acd_kind_name(scan.kind));
	}
	free(a.block);
	acd_builder_free(b);

	b = acd_builder_create(NULL);
	t.pattern_len = 1;
	for (int i = 0; i < 256; i++)
	{
		bytes[0] = (unsigned char) i;
		t.id = i;
		acd_builder_add(b, &t);
	}
	ok(acd_builder_finish(b, 0, &a) == ACD_OK && a.terms == 256 &&
	   acd_machine_open(&m, a.block, a.size) == ACD_OK && acd_machine_verify(&m, NULL) == ACD_OK, "256 terms of one byte");
	n = 100000;
	ok(acd_find(&scan, text, 5000, stop_at, &n) == ACD_OK && n == 95000, "each byte matches");
	free(a.block);
	acd_builder_free(b);

	b = acd_builder_create(NULL);
	memset(bytes, 'a', 2000);
	memset(text, 'a', sizeof(text));
	for (t.pattern_len = 1; t.pattern_len <= 2000; t.pattern_len++)
		acd_builder_add(b, &t);
	ok(acd_builder_finish(b, 0, &a) == ACD_OK && a.terms == 2000 && acd_machine_open(&m, a.block, a.size) == ACD_OK &&
	   acd_machine_verify(&m, NULL) == ACD_OK && m.nnodes == 2000 - m.ntiers && m.nends == 2000, "a, aa, ... a^2000");
	scan.kind = ACD_ALL_OVERLAPPING;
	n = 1 << 30;
	ok(acd_find(&scan, text, 3000, stop_at, &n) == ACD_OK &&
	   (1 << 30) - n == 2000 * 2001 / 2 + 1000 * 2000, "overlapping finds all of them");
	scan.kind = ACD_LEFTMOST_LONGEST;
	n = 1000;
	ok(acd_find(&scan, text, 10000, stop_at, &n) == ACD_OK && n == 995, "leftmost_longest finds the longest");
	free(a.block);
	acd_builder_free(b);
}

/* Adding a machine's terms to a builder gives the machine again. */
static void
test_add_machine(void)
{
	uint64_t	rng = 5;
	bool		passed = true;

	for (int i = 0; i < 100; i++)
	{
		acd_builder *b = acd_builder_create(NULL);
		acd_artifact a = {0};

		set_random(&set, &rng);
		acd_builder_full_automaton(b, set.full_automaton);
		passed = passed && set_build(&set) == ACD_OK && acd_builder_add_machine(b, &set.machines[0]) == ACD_OK &&
			acd_builder_finish(b, 0, &a) == ACD_OK && a.size == set.artifacts[0].size &&
			memcmp(a.block, set.machines[0].bytes, a.size) == 0;
		free(a.block);
		acd_builder_free(b);
		set_free(&set);
	}
	ok(passed, "a machine's terms compile to the same machine");
}

int
main(void)
{
	test_digests();
	test_names();
	test_builder();
	test_wide();
	test_determinism();
	test_alignment();
	test_moving();
	test_scanning();
	test_extremes();
	test_add_machine();
	return done_testing();
}
