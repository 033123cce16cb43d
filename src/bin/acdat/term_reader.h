/*
 * term_reader.h
 *		Reading a whole file of terms, and saying what is wrong with it.
 */
#ifndef ACDAT_TERM_READER_H
#define ACDAT_TERM_READER_H

#include "cli.h"
#include "term_file.h"

/* Receives each term; an exit code, not ACDAT_EXIT_OK to stop. */
typedef int (*term_fn) (void *arg, const Term *term);

/*
 * Read all terms, giving each to fn unless that is NULL, and report bad
 * lines.  A file without any term is bad too.  An exit code.
 */
extern int	read_terms(TermFile *file, const char *name, Progress *progress,
					   term_fn fn, void *arg, uint64_t *terms);

#endif							/* ACDAT_TERM_READER_H */
