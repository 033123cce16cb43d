/*
 * check.h
 *		What the parts of acdat check share: the terms of a file and what is
 *		found about them.
 */
#ifndef ACDAT_CHECK_H
#define ACDAT_CHECK_H

#include "cli.h"

typedef enum FindingKind
{
	FINDING_MALFORMED,
	FINDING_DUPLICATE,
	FINDING_INSIDE,
	FINDING_ONE_CHARACTER,
	FINDING_WHITE_SPACE,
	FINDING_INVISIBLE,
	FINDING_FULL_WIDTH,
	FINDING_NORMALIZATION,
	FINDING_LOOK_ALIKE,
	FINDING_MIXED_ALPHABETS,
	FINDING_UNSAFE_REPLACEMENT
} FindingKind;

#define NFINDINGS	(FINDING_UNSAFE_REPLACEMENT + 1)

typedef struct Finding
{
	uint64_t	line;			/* 0: the file as a whole */
	FindingKind kind;
	const char *text;			/* static; %s stands for the other line */
	uint64_t	other;			/* line of the other term */
	uint64_t	place;			/* byte of the pattern + 1, or 0 */
} Finding;

/* A term of the file; the pattern is in Lint's bytes. */
typedef struct LintTerm
{
	uint64_t	line;
	size_t		offset;
	size_t		len;
} LintTerm;

typedef struct Lint
{
	const char *name;			/* of the file, for messages */
	bool		wanted[NFINDINGS];

	char	   *bytes;			/* of all patterns */
	size_t		bytes_used;
	size_t		bytes_size;
	LintTerm   *terms;			/* by line */
	size_t		nterms;
	size_t		terms_size;
	Finding    *findings;
	size_t		nfindings;
	size_t		findings_size;
} Lint;

static inline const char *
lint_pattern(const Lint *lint, const LintTerm *term)
{
	return lint->bytes + term->offset;
}

/* Note a finding; an exit code. */
extern int	lint_note(Lint *lint, const Finding *finding);

/* Terms that look the same, or not as they are (check_looks.c); an exit code. */
extern int	lint_looks(Lint *lint);

/*
 * Terms inside others and unsafe replacements (check_machine.c): a checker
 * gets all terms, with their replacements, then looks at them.  An exit code.
 */
typedef struct MachineLint MachineLint;

extern MachineLint *machine_lint_create(Lint *lint);
extern int	machine_lint_add(MachineLint *checker, size_t index, const char *replacement,
							 size_t replacement_len, int32_t priority);
extern int	machine_lint_run(MachineLint *checker);
extern void machine_lint_free(MachineLint *checker);

#endif							/* ACDAT_CHECK_H */
