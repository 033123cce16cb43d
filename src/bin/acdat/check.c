/*
 * check.c
 *		acdat check: what may be wrong with a file of terms.
 */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "check_unicode.h"
#include "machine.h"
#include "term_file.h"

enum
{
	OPT_ALL = OPT_OF_MATCHING,
	OPT_IGNORE,
	OPT_SHOW_TERMS
};

typedef struct CheckOptions
{
	MachineOptions terms;
	bool		ignored[NFINDINGS];
	bool		all;
	bool		show_terms;
} CheckOptions;

static const char *const kind_names[NFINDINGS] = {
	[FINDING_MALFORMED] = "malformed",
	[FINDING_DUPLICATE] = "duplicate",
	[FINDING_INSIDE] = "inside",
	[FINDING_ONE_CHARACTER] = "one-character",
	[FINDING_WHITE_SPACE] = "white-space",
	[FINDING_INVISIBLE] = "invisible",
	[FINDING_FULL_WIDTH] = "full-width",
	[FINDING_NORMALIZATION] = "normalization",
	[FINDING_LOOK_ALIKE] = "look-alike",
	[FINDING_MIXED_ALPHABETS] = "mixed-alphabets",
	[FINDING_UNSAFE_REPLACEMENT] = "unsafe-replacement"
};

/* ---- collecting ---- */

/* Make room for "more" elements after "used"; the array, or NULL after reporting. */
static void *
grow(void *array, size_t *size, size_t used, size_t more, size_t element)
{
	void	   *grown;

	if (*size - used >= more)
		return array;
	*size = *size * 2 > used + more ? *size * 2 : used + more + 64;
	grown = realloc(array, *size * element);
	if (grown == NULL)
		report("out of memory");
	return grown;
}

int
lint_note(Lint *lint, const Finding *finding)
{
	Finding    *findings;

	if (!lint->wanted[finding->kind])
		return ACDAT_EXIT_OK;
	findings = grow(lint->findings, &lint->findings_size, lint->nfindings, 1, sizeof(Finding));
	if (findings == NULL)
		return ACDAT_EXIT_TROUBLE;
	lint->findings = findings;
	lint->findings[lint->nfindings++] = *finding;
	return ACDAT_EXIT_OK;
}

static int
keep_term(Lint *lint, const Term *term)
{
	LintTerm   *terms = grow(lint->terms, &lint->terms_size, lint->nterms, 1, sizeof(LintTerm));
	char	   *bytes;

	if (terms == NULL)
		return ACDAT_EXIT_TROUBLE;
	lint->terms = terms;
	bytes = grow(lint->bytes, &lint->bytes_size, lint->bytes_used, term->pattern_len, 1);
	if (bytes == NULL)
		return ACDAT_EXIT_TROUBLE;
	lint->bytes = bytes;
	memcpy(bytes + lint->bytes_used, term->pattern, term->pattern_len);
	lint->terms[lint->nterms].line = term->line;
	lint->terms[lint->nterms].offset = lint->bytes_used;
	lint->terms[lint->nterms++].len = term->pattern_len;
	lint->bytes_used += term->pattern_len;
	return ACDAT_EXIT_OK;
}

/* Read the file; bad lines are findings. */
static int
read_file(Lint *lint, MachineLint *checker, TermFile *file, const char *standard)
{
	Term		term;
	TermResult	result;
	const char *message;
	int			code = ACDAT_EXIT_OK;

	while ((result = term_file_next(file, &term, &message)) != TERM_END && code == ACDAT_EXIT_OK)
	{
		Finding		bad = {.line = term.line, .kind = FINDING_MALFORMED, .text = message};

		if (result == TERM_OK)
		{
			const char *replacement = term.replacement ? term.replacement : standard;

			code = keep_term(lint, &term);
			if (code == ACDAT_EXIT_OK)
				code = machine_lint_add(checker, lint->nterms - 1, replacement,
										term.replacement ? term.replacement_len : strlen(standard),
										term.priority);
			continue;
		}
		if (result == TERM_FAILED && term.line == 0)
		{
			report("could not read \"%s\": %s", lint->name, message);
			return ACDAT_EXIT_TROUBLE;
		}
		code = lint_note(lint, &bad);
		if (result == TERM_FAILED)
			return code;
	}
	if (code == ACDAT_EXIT_OK && lint->nterms == 0 && lint->nfindings == 0)
	{
		Finding		empty = {.kind = FINDING_MALFORMED, .text = "no terms in the file"};

		code = lint_note(lint, &empty);
	}
	return code;
}

/* ---- printing ---- */

/* By line, then by kind. */
static int
compare_findings(const void *a, const void *b)
{
	const Finding *x = a;
	const Finding *y = b;

	if (x->line != y->line)
		return x->line < y->line ? -1 : 1;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	return x->other < y->other ? -1 : x->other > y->other;
}

static int
compare_line(const void *key, const void *term)
{
	uint64_t	line = *(const uint64_t *) key;
	uint64_t	other = ((const LintTerm *) term)->line;

	return line < other ? -1 : line > other;
}

/* Print the pattern of a line, with all that cannot be seen spelt out. */
static void
print_pattern(const Lint *lint, uint64_t line)
{
	const LintTerm *term = lint->nterms == 0 ? NULL :
		bsearch(&line, lint->terms, lint->nterms, sizeof(LintTerm), compare_line);
	const char *c;
	const char *end;

	if (term == NULL)
		return;
	c = lint_pattern(lint, term);
	end = c + term->len;
	fputs(": \"", stdout);
	while (c < end)
	{
		size_t		len = 1;
		uint32_t	character;

		while (c + len < end && (c[len] & 0xC0) == 0x80)
			len++;
		utf8_decode(c, len, &character);
		if (character < 0x20 || (character >= 0x7F && character < 0xA0) ||
			unicode_invisible(character) || (character > ' ' && unicode_space(character)))
			printf("\\u{%04" PRIX32 "}", character);
		else
		{
			if (*c == '"' || *c == '\\')
				putchar('\\');
			fwrite(c, 1, len, stdout);
		}
		c += len;
	}
	putchar('"');
}

static void
print_finding(const Lint *lint, const Finding *finding, bool show_terms)
{
	const char *other = strstr(finding->text, "%s");

	if (finding->line > 0)
		printf("%s:%" PRIu64 ": %s: ", lint->name, finding->line, kind_names[finding->kind]);
	else
		printf("%s: %s: ", lint->name, kind_names[finding->kind]);
	if (other)
		printf("%.*s%" PRIu64 "%s", (int) (other - finding->text), finding->text, finding->other, other + 2);
	else
		fputs(finding->text, stdout);
	if (finding->place > 0)
		printf(", at byte %" PRIu64, finding->place);
	if (show_terms)
	{
		print_pattern(lint, finding->line);
		if (other)
			print_pattern(lint, finding->other);
	}
	putchar('\n');
}

static void
print_findings(Lint *lint, const CheckOptions *options)
{
	size_t		seen[NFINDINGS] = {0};

	if (lint->nfindings > 0)
		qsort(lint->findings, lint->nfindings, sizeof(Finding), compare_findings);
	for (size_t i = 0; i < lint->nfindings; i++)
	{
		const Finding *finding = &lint->findings[i];

		if (++seen[finding->kind] <= ACDAT_MAX_REPORTED || options->all)
			print_finding(lint, finding, options->show_terms);
	}
	for (size_t k = 0; k < NFINDINGS && !options->all; k++)
	{
		if (seen[k] > ACDAT_MAX_REPORTED)
			printf("%s: %s: %zu more (--all)\n", lint->name, kind_names[k], seen[k] - ACDAT_MAX_REPORTED);
	}
}

static int
run(const CheckOptions *options)
{
	Lint		lint = {.name = name_of_input(options->terms.dictionary)};
	const char *standard = options->terms.default_replacement;
	const char *message;
	TermFile   *file = term_file_open(options->terms.dictionary, options->terms.escapes, &message);
	MachineLint *checker = NULL;
	int			code = ACDAT_EXIT_TROUBLE;

	for (int k = 0; k < NFINDINGS; k++)
		lint.wanted[k] = !options->ignored[k];
	if (file == NULL)
		report("could not open \"%s\": %s", lint.name, message);
	else
		checker = machine_lint_create(&lint);
	if (checker)
		code = read_file(&lint, checker, file, standard ? standard : ACDAT_DEFAULT_REPLACEMENT);
	if (code == ACDAT_EXIT_OK)
		code = lint_looks(&lint);
	if (code == ACDAT_EXIT_OK)
		code = machine_lint_run(checker);
	if (code == ACDAT_EXIT_OK)
	{
		print_findings(&lint, options);
		code = lint.nfindings > 0 ? ACDAT_EXIT_REFUSED : ACDAT_EXIT_OK;
	}
	machine_lint_free(checker);
	term_file_close(file);
	free(lint.bytes);
	free(lint.terms);
	free(lint.findings);
	return code;
}

/* ---- command line ---- */

static void
help(void)
{
	printf("acdat check says what may be wrong with a file of terms.\n\n"
		   "Usage:\n"
		   "  acdat check [OPTION]... FILE\n\n"
		   "FILE, or standard input if it is \"-\", is UTF-8 text of one term a line:\n"
		   "  pattern[<TAB>replacement[<TAB>priority]]\n"
		   "For each finding it prints the file, the line and a kind, but nothing of a term:\n\n"
		   "  malformed           no term at all, as acdat load and build would say\n"
		   "  duplicate           the pattern stands in another line, which is used\n"
		   "  inside              the pattern is part of another one\n"
		   "  one-character       the pattern is a single character\n"
		   "  white-space         white space at an end of the pattern, or nothing else\n"
		   "  invisible           characters that are not drawn, such as those of zero width\n"
		   "  full-width          full width letters, or a term that differs only in width\n"
		   "  normalization       not in NFC, or a term that differs only in its normal form\n"
		   "  look-alike          a term that only looks the same\n"
		   "  mixed-alphabets     Latin letters beside others that look like Latin ones\n"
		   "  unsafe-replacement  could leave or make a term in redacted text\n\n");
	printf("Options:\n"
		   "      --all                  print all findings, not %d of a kind\n"
		   "      --default-replacement=TEXT\n"
		   "                             where FILE gives none (default " ACDAT_DEFAULT_REPLACEMENT ")\n"
		   "      --escapes              \\t, \\n, \\r and \\\\ in FILE stand for a tab, a line\n"
		   "                             feed, a carriage return and a backslash\n"
		   "      --ignore=KIND[,KIND]   do not look for these\n"
		   "      --show-terms           print the patterns too: not for a log\n"
		   "  -V, --version              print the version, then exit\n"
		   "  -?, --help                 print this help, then exit\n\n"
		   "Exit status: 0 nothing was found; 1 something was; 2 anything else.\n",
		   ACDAT_MAX_REPORTED);
}

/* Read a list of kinds; false after reporting that there is none such. */
static bool
parse_kinds(const char *list, bool *kinds)
{
	for (;;)
	{
		size_t		len = strcspn(list, ",");
		int			k = 0;

		while (k < NFINDINGS && !(strlen(kind_names[k]) == len && strncmp(kind_names[k], list, len) == 0))
			k++;
		if (k == NFINDINGS)
		{
			report("unknown kind of finding \"%.*s\"", (int) len, list);
			return false;
		}
		kinds[k] = true;
		if (list[len] == '\0')
			return true;
		list += len + 1;
	}
}

int
check_main(int argc, char **argv)
{
	static const struct option long_options[] = {
		{"all", no_argument, NULL, OPT_ALL},
		{"default-replacement", required_argument, NULL, OPT_DEFAULT_REPLACEMENT},
		{"escapes", no_argument, NULL, OPT_ESCAPES},
		{"help", no_argument, NULL, OPT_HELP},
		{"ignore", required_argument, NULL, OPT_IGNORE},
		{"show-terms", no_argument, NULL, OPT_SHOW_TERMS},
		{"version", no_argument, NULL, OPT_VERSION},
		{NULL, 0, NULL, 0}
	};
	CheckOptions options = {0};
	int			c;
	int			code;

	while ((c = next_option("check", argc, argv, "V?", long_options, help, &code)) != -1)
	{
		if (c == -2)
			return code;
		if (c == OPT_ALL)
			options.all = true;
		else if (c == OPT_SHOW_TERMS)
			options.show_terms = true;
		else if (c == OPT_IGNORE)
		{
			if (!parse_kinds(optarg, options.ignored))
				return try_help("check");
		}
		else
			machine_option(&options.terms, c, optarg);
	}
	if (optind == argc)
		report("no file given (\"-\" is standard input)");
	else if (optind < argc - 1)
		report("more than one file given");
	else
	{
		options.terms.dictionary = argv[optind];
		return run(&options);
	}
	return try_help("check");
}
