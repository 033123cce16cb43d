/*
 * check_looks.c
 *		acdat check: terms that look like others, or not as they are.
 *
 * Terms are folded, level by level, and sorted by a hash of that.  Of those
 * that are the same at a level the first stands for all at the next one, so
 * that each term is reported once, with what it is nearest to.
 */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "check_unicode.h"

typedef struct Fold
{
	uint64_t	hash;
	size_t		index;			/* of the term */
} Fold;

/* Room for two terms, decoded and folded. */
typedef struct Scratch
{
	uint32_t   *text;
	uint32_t   *folded[2];
	size_t		len[2];
} Scratch;

/* Fold a term into one of the two places. */
static void
fold_term(const Lint *lint, Scratch *scratch, int place, size_t index, FoldLevel level)
{
	const LintTerm *term = &lint->terms[index];
	size_t		n = utf8_decode(lint_pattern(lint, term), term->len, scratch->text);

	scratch->len[place] = unicode_fold(level, scratch->text, n, scratch->folded[place]);
}

static uint64_t
hash_text(const uint32_t *text, size_t n)
{
	uint64_t	hash = UINT64_C(0x9E3779B97F4A7C15) * (n + 1);

	for (size_t i = 0; i < n; i++)
	{
		hash = (hash ^ text[i]) * UINT64_C(0xD6E8FEB86659FD93);
		hash ^= hash >> 32;
	}
	return hash;
}

static int
compare_folds(const void *a, const void *b)
{
	const Fold *x = a;
	const Fold *y = b;

	if (x->hash != y->hash)
		return x->hash < y->hash ? -1 : 1;
	return x->index < y->index ? -1 : x->index > y->index;
}

/* Are two terms the same at a level, and if so, note it. */
static int
compare_terms(Lint *lint, Scratch *scratch, FoldLevel level, size_t earlier, size_t index, bool *same)
{
	static const struct
	{
		FindingKind kind;
		const char *text;
	}			levels[FOLD_LEVELS] = {
		[FOLD_CANONICAL] = {FINDING_NORMALIZATION, "the same as line %s in another normalization form"},
		[FOLD_INVISIBLE] = {FINDING_INVISIBLE, "the same as line %s but for invisible characters"},
		[FOLD_WIDTH] = {FINDING_FULL_WIDTH, "the same as line %s but for full or half width forms"},
		[FOLD_LOOKS] = {FINDING_LOOK_ALIKE, "looks like line %s"}
	};
	Finding		finding = {
		.line = lint->terms[index].line,
		.kind = levels[level].kind,
		.text = levels[level].text,
		.other = lint->terms[earlier].line
	};

	fold_term(lint, scratch, 0, earlier, level);
	fold_term(lint, scratch, 1, index, level);
	*same = scratch->len[0] == scratch->len[1] &&
		memcmp(scratch->folded[0], scratch->folded[1], scratch->len[0] * sizeof(uint32_t)) == 0;

	/* duplicates are found elsewhere */
	return *same && level != FOLD_NONE ? lint_note(lint, &finding) : ACDAT_EXIT_OK;
}

/* Compare terms at a level and keep one of each that are the same. */
static int
compare_all(Lint *lint, Scratch *scratch, FoldLevel level, Fold *folds, size_t *nfolds)
{
	size_t		kept = 0;

	for (size_t i = 0; i < *nfolds; i++)
	{
		fold_term(lint, scratch, 0, folds[i].index, level);
		folds[i].hash = hash_text(scratch->folded[0], scratch->len[0]);
	}
	qsort(folds, *nfolds, sizeof(Fold), compare_folds);
	for (size_t i = 0; i < *nfolds; i++)
	{
		bool		same = false;

		if (kept > 0 && folds[i].hash == folds[kept - 1].hash)
		{
			int			code = compare_terms(lint, scratch, level, folds[kept - 1].index, folds[i].index, &same);

			if (code != ACDAT_EXIT_OK)
				return code;
		}
		if (!same)
			folds[kept++] = folds[i];
	}
	*nfolds = kept;
	return ACDAT_EXIT_OK;
}

/* Note what is odd about one term. */
static int
look_at(Lint *lint, const LintTerm *term, uint32_t *text)
{
	const char *pattern = lint_pattern(lint, term);
	size_t		n = utf8_decode(pattern, term->len, text);
	Finding		finding = {.line = term->line};
	size_t		visible = 0;
	uint64_t	invisible_at = 0;
	bool		wide = false;
	bool		composes = false;
	int			code = ACDAT_EXIT_OK;

	for (size_t i = 0, byte = 0; i < n; i++)
	{
		uint32_t	c = text[i];

		if (unicode_invisible(c) && invisible_at == 0)
			invisible_at = byte + 1;
		if (!unicode_invisible(c) && !unicode_space(c) && !(c >= 0x300 && unicode_combining(c)))
			visible++;
		wide |= unicode_wide_alphanumeric(c);
		composes |= i > 0 && c >= 0x300 && unicode_composes(text[i - 1], c);
		byte += c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
	}

#define NOTE(condition, what, words) \
	if (code == ACDAT_EXIT_OK && (condition)) \
	{ \
		finding.kind = (what); \
		finding.text = (words); \
		code = lint_note(lint, &finding); \
	}
	NOTE(visible == 0, FINDING_WHITE_SPACE, "nothing to be seen in the pattern");
	NOTE(visible > 0 && (unicode_space(text[0]) || unicode_space(text[n - 1])),
		 FINDING_WHITE_SPACE, "white space at an end of the pattern");
	NOTE(visible == 1, FINDING_ONE_CHARACTER, "the pattern is a single character");
	NOTE(wide, FINDING_FULL_WIDTH, "full width letters or digits in the pattern");
	NOTE(composes, FINDING_NORMALIZATION, "the pattern is not in NFC, as most text is");
	NOTE(unicode_mixed(text, n), FINDING_MIXED_ALPHABETS,
		 "letters of several alphabets in the pattern that look alike");
	finding.place = invisible_at;
	NOTE(invisible_at > 0, FINDING_INVISIBLE, "an invisible character in the pattern");
#undef NOTE
	return code;
}

static int
look_at_all(Lint *lint, Scratch *scratch, Fold *folds)
{
	size_t		nfolds = lint->nterms;
	int			code = ACDAT_EXIT_OK;

	for (size_t i = 0; i < lint->nterms && code == ACDAT_EXIT_OK; i++)
	{
		code = look_at(lint, &lint->terms[i], scratch->text);
		folds[i].index = i;
	}
	for (FoldLevel level = FOLD_NONE; level < FOLD_LEVELS && code == ACDAT_EXIT_OK; level++)
		code = compare_all(lint, scratch, level, folds, &nfolds);
	return code;
}

int
lint_looks(Lint *lint)
{
	Scratch		scratch = {0};
	Fold	   *folds;
	size_t		longest = 1;
	int			code;

	if (lint->nterms == 0)
		return ACDAT_EXIT_OK;
	for (size_t i = 0; i < lint->nterms; i++)
	{
		if (lint->terms[i].len > longest)
			longest = lint->terms[i].len;
	}
	folds = malloc(lint->nterms * sizeof(Fold));
	scratch.text = malloc(longest * sizeof(uint32_t));
	for (int i = 0; i < 2; i++)
		scratch.folded[i] = malloc(longest * FOLD_EXPANSION * sizeof(uint32_t));
	if (folds && scratch.text && scratch.folded[0] && scratch.folded[1])
		code = look_at_all(lint, &scratch, folds);
	else
	{
		report("out of memory");
		code = ACDAT_EXIT_TROUBLE;
	}
	free(folds);
	free(scratch.text);
	free(scratch.folded[0]);
	free(scratch.folded[1]);
	return code;
}
