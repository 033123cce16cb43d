/*
 * term_file.h
 *		A file of terms, read as a stream and validated line by line.
 *
 * A line is pattern[<TAB>replacement[<TAB>priority]], in UTF-8.  Nothing in
 * here prints, and no message ever holds anything read from the file.
 */
#ifndef ACDAT_TERM_FILE_H
#define ACDAT_TERM_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TERM_MAX_TERMS		1000000 /* terms of one file */
#define TERM_MAX_PATTERN	65535	/* bytes of a pattern */
#define TERM_MAX_LINE		1048576 /* bytes of a line */
#define TERM_MAX_SPOOL		((size_t) 1 << 30)	/* bytes kept of what cannot be read twice */

/* A term; pointers are good until the next call. */
typedef struct Term
{
	uint64_t	line;			/* 1-based */
	const char *pattern;
	size_t		pattern_len;
	const char *replacement;	/* NULL where the line gives none */
	size_t		replacement_len;
	int32_t		priority;
} Term;

typedef enum TermResult
{
	TERM_OK,					/* *term is filled in */
	TERM_BAD,					/* this line is wrong: line and message; go on */
	TERM_FAILED,				/* reading cannot go on: message, line if not 0 */
	TERM_END
} TermResult;

typedef struct TermFile TermFile;

/*
 * Open a file, or standard input for "-".  What cannot be read twice is kept
 * in memory as it is read.  NULL with *message set (static, or strerror's).
 */
extern TermFile *term_file_open(const char *path, bool escapes, const char **message);

/* The next term; empty lines are passed over. */
extern TermResult term_file_next(TermFile *file, Term *term, const char **message);

/* Start again at the first line; false if that is not possible. */
extern bool term_file_rewind(TermFile *file);

extern void term_file_close(TermFile *file);

#endif							/* ACDAT_TERM_FILE_H */
