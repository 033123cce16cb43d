/*
 * test_seam.c
 *		Safe replacements: the checker against the definition by brute force,
 *		and what the definition promises.
 *
 * CORE_CASES and CORE_SEED set how many and which.
 *
 * Copyright (c) 2026, the acdat_decoder authors; PostgreSQL licence
 */
#include "acd_internal.h"
#include "helpers.h"

#define NSEAMS	(ACD_SEAM_SUFFIX + 1)

static term_set set;

typedef struct seam_list
{
	acd_seam_problem problems[1024];
	size_t		n;
} seam_list;

typedef struct buffer
{
	unsigned char bytes[1 << 16];
	size_t		len;
} buffer;

/* Collect problems. */
static int
collect_problem(void *arg, const acd_seam_problem *problem)
{
	seam_list  *l = arg;

	if (l->n == 1024)
		return 1;
	l->problems[l->n++] = *problem;
	return 0;
}

/* Does a lie in b? */
static bool
lies_in(const unsigned char *a, size_t na, const unsigned char *b, size_t nb)
{
	for (size_t i = 0; i + na <= nb; i++)
		if (memcmp(a, b + i, na) == 0)
			return true;
	return false;
}

/* Is a nonempty suffix of a, shorter than limit, a prefix of b? */
static bool
overlaps(const unsigned char *a, size_t na, const unsigned char *b, size_t nb, size_t limit)
{
	for (size_t k = 1; k <= na && k <= nb && k < limit; k++)
		if (memcmp(a + na - k, b, k) == 0)
			return true;
	return false;
}

/* The definition. */
static bool
has_seam(acd_seam seam, const unsigned char *r, size_t nr, const unsigned char *t, size_t nt)
{
	switch (seam)
	{
		case ACD_SEAM_EMPTY:
			return nr == 0;
		case ACD_SEAM_CONTAINS_TERM:
			return nr > 0 && lies_in(t, nt, r, nr);
		case ACD_SEAM_INSIDE_TERM:
			return nr > 0 && lies_in(r, nr, t, nt);
		case ACD_SEAM_PREFIX:
			return overlaps(t, nt, r, nr, nt);
		case ACD_SEAM_SUFFIX:
			return overlaps(r, nr, t, nt, nt);
	}
	return false;
}

/* Compare the checker's report with the definition; *safe if there is none. */
static bool
check_report(const seam_list *l, bool *safe)
{
	*safe = true;
	for (size_t i = 0; i < set.nterms; i++)
	{
		const set_term *r = &set.terms[i];
		bool		first = true;

		for (size_t k = 0; k < i; k++)
			if (set.terms[k].replacement_len == r->replacement_len &&
				memcmp(set.terms[k].replacement, r->replacement, r->replacement_len) == 0)
				first = false;
		if (!first)
			continue;
		for (int seam = 0; seam < NSEAMS; seam++)
		{
			bool		wanted = false;
			int			reported = 0;

			for (size_t k = 0; k < set.nterms; k++)
				wanted = wanted || has_seam((acd_seam) seam, r->replacement, r->replacement_len,
											set.terms[k].bytes, set.terms[k].len);
			for (size_t k = 0; k < l->n; k++)
			{
				const acd_seam_problem *p = &l->problems[k];
				acd_term_info info;
				acd_term_info other;
				unsigned char pattern[400];

				acd_machine_term(&set.machines[p->machine], p->term, &info);
				if ((int) p->seam != seam || info.replacement_len != r->replacement_len ||
					memcmp(info.replacement, r->replacement, r->replacement_len) != 0)
					continue;
				reported++;
				acd_machine_term(&set.machines[p->other_machine], p->other_term, &other);
				acd_machine_pattern(&set.machines[p->other_machine], p->other_term, pattern);
				if (!has_seam(p->seam, r->replacement, r->replacement_len, pattern, other.pattern_len))
					return false;
			}
			if (reported != wanted)
				return false;
			if (wanted)
				*safe = false;
		}
	}
	return true;
}

/* Append a piece. */
static int
append(void *arg, const void *piece, size_t len)
{
	buffer	   *b = arg;

	if (len > sizeof(b->bytes) - b->len)
		return 1;
	memcpy(b->bytes + b->len, piece, len);
	b->len += len;
	return 0;
}

/* With safe replacements no term is left, so a second pass changes nothing. */
static bool
check_promise(uint64_t *rng)
{
	static buffer out;
	acd_sink	sink = {append, append, &out};
	acd_scan	scan = {0};
	unsigned char text[200];
	size_t		len = random_text(&set, rng, text, sizeof(text));
	size_t		replaced;
	bool		any;

	scan.machines = set.pointers;
	scan.nmachines = set.nmachines;
	scan.kind = ACD_COVER;
	out.len = 0;
	if (acd_replace(&scan, text, len, SIZE_MAX, &sink, &replaced) != ACD_OK)
		return false;
	return replaced == 0 ||
		(acd_contains(&scan, out.bytes, out.len, &any) == ACD_OK && !any);
}

/* Is the report the same, problem for problem, however replacements are read? */
static bool
ways_agree(const seam_list *l)
{
	for (int way = ACD_SEAM_WAY_AUTO; way <= ACD_SEAM_WAY_AUTOMATON; way++)
	{
		static seam_list other;

		memset(&other, 0, sizeof(other));
		if (acd_seam_check_by(set.pointers, set.nmachines, NULL, collect_problem, &other,
							  (acd_seam_way) way) != ACD_OK ||
			other.n != l->n)
			return false;
		for (size_t i = 0; i < l->n; i++)
		{
			const acd_seam_problem *a = &l->problems[i];
			const acd_seam_problem *b = &other.problems[i];

			if (a->seam != b->seam || a->machine != b->machine || a->term != b->term ||
				a->other_machine != b->other_machine || a->other_term != b->other_term)
				return false;
		}
	}
	return true;
}

/* A replacement longer than any term can be. */
static void
test_huge(void)
{
	static unsigned char huge[70000];
	static const char *const terms[] = {"xyab", "zzzz", "bcyy"};
	acd_builder *b = acd_builder_create(NULL);
	acd_artifact a;
	acd_machine m;
	const acd_machine *p = &m;
	seam_list	l = {.n = 0};
	bool		has[NSEAMS] = {false};

	memset(huge, '-', sizeof(huge));
	memcpy(huge, "ab", 2);
	memcpy(huge + sizeof(huge) - 2, "bc", 2);
	for (int i = 0; i < 3; i++)
	{
		acd_term	t = {terms[i], 4, huge, sizeof(huge), i, 0};

		/* Two that share their first 65,535 bytes, and those bytes alone. */
		t.replacement_len = i == 0 ? ACD_MAX_TERM_LEN : i == 1 ? sizeof(huge) - 1 : sizeof(huge);
		acd_builder_add(b, &t);
	}
	acd_builder_finish(b, 0, &a);
	acd_machine_open(&m, a.block, a.size);
	ok(acd_seam_check(&p, 1, NULL, collect_problem, &l) == ACD_OK && l.n == 5, "five problems of huge replacements");
	for (size_t i = 0; i < l.n; i++)
		has[l.problems[i].seam] = true;
	ok(has[ACD_SEAM_PREFIX] && has[ACD_SEAM_SUFFIX] && !has[ACD_SEAM_CONTAINS_TERM] && !has[ACD_SEAM_INSIDE_TERM],
	   "three prefixes and two suffixes");
	free(a.block);
	acd_builder_free(b);
}

int
main(void)
{
	unsigned long wanted = env_number("CORE_CASES", 1000000) / 5;
	uint64_t	seed = env_number("CORE_SEED", 7);
	uint64_t	rng = seed * 2 + 1;
	unsigned long texts = 0;
	unsigned long safe_sets = 0;
	unsigned long sets = 0;
	bool		agreed = true;
	bool		kept = true;

	test_huge();
	while (agreed && kept && texts < wanted)
	{
		seam_list	l = {.n = 0};
		bool		safe;
		uint32_t	style = rng_below(&rng, 4);

		set_random(&set, &rng);
		for (size_t i = 0; i < set.nterms; i++)
		{
			set_term   *t = &set.terms[i];

			/* Ids of their own: a displaced term's replacement must not count. */
			t->id = (int64_t) i;
			for (size_t k = 0; k < i; k++)
				if (set.terms[k].machine == t->machine && set.terms[k].len == t->len &&
					memcmp(set.terms[k].bytes, t->bytes, t->len) == 0)
					t->bytes[0] = (unsigned char) ('A' + i);
			t->replacement_len = rng_below(&rng, style == 0 ? 6 : 3) + (style > 1);
			for (size_t k = 0; k < t->replacement_len; k++)
				t->replacement[k] = (unsigned char) (style == 0 ? "abc"[rng_below(&rng, 3)] :
													 "-aXcb"[rng_below(&rng, style == 3 ? 5 : 3)]);
			if (style == 1 && t->replacement_len > 0)
				t->replacement[0] = t->replacement[t->replacement_len - 1] = '-';
		}
		agreed = set_build(&set) == ACD_OK &&
			acd_seam_check(set.pointers, set.nmachines, NULL, collect_problem, &l) == ACD_OK &&
			ways_agree(&l) && check_report(&l, &safe);
		if (agreed && safe)
			safe_sets++;
		sets++;
		for (int i = 0; agreed && kept && i < 20 && safe; i++, texts++)
			kept = check_promise(&rng);
		set_free(&set);
	}
	ok(agreed, "the checker agrees with the definition on %lu sets", sets);
	ok(kept, "%lu texts under %lu safe sets hold no term after redaction", texts, safe_sets);
	return done_testing();
}
