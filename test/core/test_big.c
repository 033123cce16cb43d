/*
 * test_big.c
 *		A machine of a million random terms, built and scanned once.
 *
 * CORE_SMALL in the environment makes it ten thousand, for slow builds.
 *
 * Copyright (c) 2026, the acdat_decoder authors; PostgreSQL licence
 */
#include "helpers.h"

#define MAX_TERM	16
#define PLANTED		5000

typedef struct check
{
	const acd_machine *machine;
	const unsigned char *text;
	size_t		n;
	bool		wrong;
} check;

/* Is the text under a match the term's pattern? */
static int
check_match(void *arg, const acd_match *match)
{
	check	   *c = arg;
	acd_term_info info;
	unsigned char pattern[MAX_TERM];

	c->n++;
	if (!acd_machine_term(c->machine, match->term, &info) || !acd_machine_pattern(c->machine, match->term, pattern) ||
		info.pattern_len != match->end - match->start ||
		memcmp(pattern, c->text + match->start, info.pattern_len) != 0)
		c->wrong = true;
	return c->wrong;
}

int
main(void)
{
	size_t		nterms = getenv("CORE_SMALL") != NULL ? 10000 : 1000000;
	unsigned char *terms = malloc(nterms * MAX_TERM);
	unsigned char *lens = malloc(nterms);
	size_t		text_len = (size_t) PLANTED * 40;
	unsigned char *text = malloc(text_len);
	acd_builder *b = acd_builder_create(NULL);
	acd_artifact a = {0};
	acd_machine m;
	const acd_machine *p = &m;
	acd_scan	scan = {&p, 1, ACD_ALL_OVERLAPPING, NULL, NULL, NULL, NULL, ACD_ENGINE_AUTO, ACD_SIMD_AUTO};
	check		c = {0};
	uint64_t	rng = 4711;
	bool		added = true;
	bool		passed;

	for (size_t i = 0; i < nterms; i++)
	{
		unsigned char *term = terms + i * MAX_TERM;
		acd_term	t = {term, 0, "*", 1, (int64_t) i, 0};

		lens[i] = (unsigned char) (8 + rng_below(&rng, 9));
		t.pattern_len = lens[i];
		for (size_t k = 0; k < lens[i]; k++)
			term[k] = (unsigned char) ('a' + rng_below(&rng, 26));
		added = added && acd_builder_add(b, &t) == ACD_OK;
	}
	ok(added, "%zu terms added", nterms);
	if (nterms == ACD_MAX_TERMS)
	{
		acd_term	t = {"x", 1, "", 0, 0, 0};

		ok(acd_builder_add(b, &t) == ACD_ERR_TOO_MANY_TERMS, "no more can be");
	}
	passed = acd_builder_finish(b, 4, &a) == ACD_OK && a.terms + a.duplicates == nterms;
	ok(passed, "compiled, %zu bytes", a.size);
	acd_builder_free(b);
	ok(acd_machine_open(&m, (char *) a.block + 4, a.size) == ACD_OK, "opened");
	ok(acd_machine_verify(&m, NULL) == ACD_OK, "proved");

	for (size_t i = 0; i < text_len; i++)
		text[i] = (unsigned char) ('a' + rng_below(&rng, 26));
	for (size_t i = 0; i < PLANTED; i++)
	{
		size_t		t = rng_below(&rng, (uint32_t) nterms);

		memcpy(text + i * 40 + 7, terms + t * MAX_TERM, lens[t]);
	}
	c.machine = &m;
	c.text = text;
	passed = acd_find(&scan, text, text_len, check_match, &c) == ACD_OK && !c.wrong && c.n >= PLANTED;
	ok(passed, "%zu matches, all true, %d planted", c.n, PLANTED);
	free(a.block);
	free(terms);
	free(lens);
	free(text);
	return done_testing();
}
