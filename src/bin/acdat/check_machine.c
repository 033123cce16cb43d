/*
 * check_machine.c
 *		acdat check: duplicates, terms inside others and unsafe replacements,
 *		as core sees them.
 */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "machine.h"

struct MachineLint
{
	Lint	   *lint;
	acd_builder *builder;
	acd_machine machine;
	int			code;

	/* while a pattern is being read */
	size_t		index;
	bool	   *inside;			/* for each term: is that known? */
};

/* Ids are indexes into the terms of the file. */
static const LintTerm *
term_of(const MachineLint *checker, uint32_t term)
{
	acd_term_info info = {0};

	acd_machine_term(&checker->machine, term, &info);
	return &checker->lint->terms[info.id];
}

/* Note a finding from a callback of core: nonzero stops. */
static int
note(MachineLint *checker, FindingKind kind, const LintTerm *term, const char *text,
	 const LintTerm *other)
{
	Finding		finding = {
		.line = term->line,
		.kind = kind,
		.text = text,
		.other = other->line
	};

	checker->code = lint_note(checker->lint, &finding);
	return checker->code != ACDAT_EXIT_OK;
}

MachineLint *
machine_lint_create(Lint *lint)
{
	MachineLint *checker = calloc(1, sizeof(MachineLint));

	if (checker)
		checker->builder = acd_builder_create(&acd_libc_allocator);
	if (checker == NULL || checker->builder == NULL)
	{
		report("out of memory");
		free(checker);
		return NULL;
	}
	checker->lint = lint;
	return checker;
}

int
machine_lint_add(MachineLint *checker, size_t index, const char *replacement,
				 size_t replacement_len, int32_t priority)
{
	const LintTerm *term = &checker->lint->terms[index];
	acd_term	added = {
		.pattern = lint_pattern(checker->lint, term),
		.pattern_len = term->len,
		.replacement = replacement,
		.replacement_len = replacement_len,
		.id = (int64_t) index,
		.priority = priority
	};
	acd_status	status = acd_builder_add(checker->builder, &added);

	return status == ACD_OK ? ACDAT_EXIT_OK : report_status(checker->lint->name, status);
}

static void
on_duplicate(void *arg, int64_t kept_id, int64_t dropped_id)
{
	MachineLint *checker = arg;
	const Lint *lint = checker->lint;

	if (checker->code == ACDAT_EXIT_OK)
		note(checker, FINDING_DUPLICATE, &lint->terms[dropped_id],
			 "the pattern is that of line %s, which is used instead", &lint->terms[kept_id]);
}

static int
on_inside(void *arg, const acd_match *match)
{
	MachineLint *checker = arg;
	const LintTerm *outer = &checker->lint->terms[checker->index];
	const LintTerm *inner;

	if (checker->inside[match->term] || match->end - match->start == outer->len)
		return 0;
	checker->inside[match->term] = true;
	inner = term_of(checker, match->term);
	return note(checker, FINDING_INSIDE, inner, "the pattern is inside that of line %s", outer);
}

/* Read every pattern with all others. */
static int
find_inside(MachineLint *checker, uint32_t nterms)
{
	const acd_machine *machine = &checker->machine;
	acd_scan	scan = {
		.machines = &machine,
		.nmachines = 1,
		.kind = ACD_ALL_OVERLAPPING
	};

	checker->inside = calloc(nterms, sizeof(bool));
	if (checker->inside == NULL)
		return report_status(checker->lint->name, ACD_ERR_NOMEM);
	for (size_t i = 0; i < checker->lint->nterms; i++)
	{
		const LintTerm *term = &checker->lint->terms[i];
		acd_status	status;

		checker->index = i;
		status = acd_find(&scan, lint_pattern(checker->lint, term), term->len, on_inside, checker);
		if (checker->code != ACDAT_EXIT_OK)
			return checker->code;
		if (status != ACD_OK)
			return report_status(checker->lint->name, status);
	}
	return ACDAT_EXIT_OK;
}

static int
on_seam(void *arg, const acd_seam_problem *problem)
{
	static const char *const texts[] = {
		[ACD_SEAM_EMPTY] = "the replacement is empty: what stands on its two sides would touch",
		[ACD_SEAM_CONTAINS_TERM] = "the replacement contains the pattern of line %s",
		[ACD_SEAM_INSIDE_TERM] = "the replacement is inside the pattern of line %s",
		[ACD_SEAM_PREFIX] = "the replacement begins as the pattern of line %s ends",
		[ACD_SEAM_SUFFIX] = "the replacement ends as the pattern of line %s begins"
	};
	MachineLint *checker = arg;

	return note(checker, FINDING_UNSAFE_REPLACEMENT, term_of(checker, problem->term),
				texts[problem->seam], term_of(checker, problem->other_term));
}

int
machine_lint_run(MachineLint *checker)
{
	const char *name = checker->lint->name;
	const acd_machine *machine = &checker->machine;
	acd_artifact artifact;
	acd_status	status;
	int			code = ACDAT_EXIT_OK;

	if (checker->lint->nterms == 0)
		return ACDAT_EXIT_OK;
	acd_builder_on_duplicate(checker->builder, on_duplicate, checker);
	status = acd_builder_finish(checker->builder, 0, &artifact);
	if (status != ACD_OK)
		return report_status(name, status);
	status = acd_machine_open(&checker->machine, artifact.block, artifact.size);
	if (status != ACD_OK)
		code = report_status(name, status);
	if (code == ACDAT_EXIT_OK)
		code = checker->code;
	if (code == ACDAT_EXIT_OK && checker->lint->wanted[FINDING_INSIDE])
		code = find_inside(checker, artifact.terms);
	if (code == ACDAT_EXIT_OK && checker->lint->wanted[FINDING_UNSAFE_REPLACEMENT])
	{
		status = acd_seam_check(&machine, 1, &acd_libc_allocator, on_seam, checker);
		code = checker->code;
		if (code == ACDAT_EXIT_OK && status != ACD_OK)
			code = report_status(name, status);
	}
	free(artifact.block);
	return code;
}

void
machine_lint_free(MachineLint *checker)
{
	if (checker == NULL)
		return;
	acd_builder_free(checker->builder);
	free(checker->inside);
	free(checker);
}
