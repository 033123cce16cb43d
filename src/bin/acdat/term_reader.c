/*
 * term_reader.c
 *		Reading a whole file of terms, and saying what is wrong with it.
 */
#include <inttypes.h>
#include <string.h>

#include "term_reader.h"

const char *
name_of_input(const char *path)
{
	return strcmp(path, "-") == 0 ? "<stdin>" : path;
}

int
read_terms(TermFile *file, const char *name, Progress *progress,
		   term_fn fn, void *arg, uint64_t *terms)
{
	uint64_t	bad = 0;
	Term		term;
	TermResult	result;
	const char *message;

	*terms = 0;
	while ((result = term_file_next(file, &term, &message)) == TERM_OK || result == TERM_BAD)
	{
		if (result == TERM_OK)
		{
			int			code = fn ? fn(arg, &term) : ACDAT_EXIT_OK;

			if (code != ACDAT_EXIT_OK)
				return code;
			++*terms;
			if (progress_due(progress))
				progress_show(progress, "checking: %" PRIu64 " terms", *terms);
			continue;
		}
		if (++bad > ACDAT_MAX_REPORTED)
			continue;
		progress_end(progress);
		report("%s:%" PRIu64 ": %s", name, term.line, message);
	}
	progress_end(progress);

	if (bad > ACDAT_MAX_REPORTED)
		report("%s: %" PRIu64 " more bad lines", name, bad - ACDAT_MAX_REPORTED);
	if (result == TERM_FAILED)
	{
		if (term.line == 0)
		{
			report("could not read \"%s\": %s", name, message);
			return ACDAT_EXIT_TROUBLE;
		}
		report("%s:%" PRIu64 ": %s", name, term.line, message);
		return ACDAT_EXIT_REFUSED;
	}
	if (bad > 0)
		return ACDAT_EXIT_REFUSED;

	/* a file cut short must not turn into "redact nothing" */
	if (*terms == 0)
	{
		report("%s: no terms in the file", name);
		return ACDAT_EXIT_REFUSED;
	}
	return ACDAT_EXIT_OK;
}
