/*
 * test_linear.c
 *		Scans are linear whatever terms and text: counted in steps between
 *		polls, never in time.
 *
 * Every step of a scan counts towards the next poll, so the polls of a scan
 * times ACD_POLL_BYTES are its steps.
 *
 * Copyright (c) 2026, the acdat_decoder authors; PostgreSQL licence
 */
#include "helpers.h"

#define TEXT_LEN	(1 << 21)

static term_set set;
static unsigned char text[TEXT_LEN];
static unsigned long polls;
static size_t matches;

static int
count_poll(void *arg)
{
	(void) arg;
	polls++;
	return 0;
}

static int
count_match(void *arg, const acd_match *match)
{
	(void) arg;
	(void) match;
	matches++;
	return 0;
}

/* Scan and compare the steps for each byte with a bound. */
static void
check(const char *name, acd_kind kind, const uint8_t *boundaries, double bound)
{
	acd_scan	scan = {.machines = set.pointers, .nmachines = set.nmachines, .kind = kind,
		.boundaries = boundaries, .poll = count_poll};
	double		steps;

	polls = matches = 0;
	if (acd_find(&scan, text, TEXT_LEN, count_match, NULL) != ACD_OK)
		polls = 1000000;
	steps = (double) polls * ACD_POLL_BYTES / TEXT_LEN;
	ok(steps <= bound && steps >= 0.5, "%s, %s: %.2f steps a byte, %zu matches", name, acd_kind_name(kind), steps, matches);
}

/* Run the current set and text through all kinds. */
static void
check_all(const char *name)
{
	check(name, ACD_COVER, NULL, 14);
	check(name, ACD_LEFTMOST_LONGEST, NULL, 14);
	check(name, ACD_LEFTMOST_FIRST, NULL, 14);
}

/* Add a^before + middle + a^after. */
static void
add_run(uint32_t machine, size_t before, const char *middle, size_t after)
{
	unsigned char bytes[400];
	size_t		n = strlen(middle);

	memset(bytes, 'a', sizeof(bytes));
	memcpy(bytes + before, middle, n);
	set_add(&set, machine, bytes, before + n + after, (int64_t) set.nterms, 0);
}

int
main(void)
{
	static uint8_t bits[TEXT_LEN / 8 + 1];

	memset(text, 'a', TEXT_LEN);
	set_clear(&set);
	add_run(0, 0, "a", 0);
	add_run(0, 200, "b", 0);
	set_build(&set);
	check_all("a, a^200 b on a^n");
	for (size_t i = 199; i < TEXT_LEN; i += 200)
		text[i] = 'b';
	check_all("a, a^200 b on (a^199 b)^n");
	for (size_t i = 0; i < TEXT_LEN; i++)
		text[i] = i % 201 == 200 ? 'b' : 'a';
	check_all("a, a^200 b on (a^200 b)^n");
	set_free(&set);

	set_clear(&set);
	add_run(0, 20, "b", 0);
	for (uint32_t m = 0; m < 3; m++)
		for (size_t k = 1; k < 60; k++)
			add_run(m, k * 5, m % 2 ? "b" : "c", 0);
	set_build(&set);
	memset(text, 'a', TEXT_LEN);
	check_all("a^k b in three machines on a^n");
	for (size_t i = 0; i < TEXT_LEN; i += 500)
		text[i] = 'x';
	check_all("a^k b in three machines on (x a^499)^n");
	for (size_t i = 0; i < TEXT_LEN; i++)
		text[i] = i % 97 == 0 ? 'b' : 'a';
	check("a^k b in three machines on (b a^96)^n", ACD_COVER, NULL, 14);
	check("a^k b in three machines on (b a^96)^n", ACD_LEFTMOST_LONGEST, NULL, 14);
	set_free(&set);

	set_clear(&set);
	for (size_t k = 1; k < 200; k++)
		add_run(0, k, "", 0);
	set_build(&set);
	memset(text, 'a', TEXT_LEN);
	check_all("a^1 to a^199 on a^n");
	for (size_t i = 0; i < TEXT_LEN; i += 400)
		text[i] = 'x';
	check_all("a^1 to a^199 on (x a^399)^n");
	set_free(&set);

	/* Spans that wait on the stack, for a term that never comes. */
	set_clear(&set);
	{
		unsigned char bytes[390];

		for (size_t i = 0; i < sizeof(bytes); i++)
			bytes[i] = "xa"[i % 2];
		bytes[389] = 'z';
		set_add(&set, 0, bytes, sizeof(bytes), 0, 0);
		set_add(&set, 0, "a", 1, 1, 0);
	}
	set_build(&set);
	for (size_t i = 0; i < TEXT_LEN; i++)
		text[i] = "xa"[i % 2];
	check_all("(xa)^195 z, a on (xa)^n");

	/* Boundaries everywhere cost nothing more. */
	memset(bits, 0xFF, sizeof(bits));
	check("the same with boundaries", ACD_COVER, bits, 14);
	check("the same with boundaries", ACD_LEFTMOST_LONGEST, bits, 14);
	set_free(&set);
	return done_testing();
}
