/*
 * load.h
 *		What the two halves of acdat load share.
 */
#ifndef ACDAT_LOAD_H
#define ACDAT_LOAD_H

#include <stdint.h>

#include "cli.h"
#include "term_file.h"

#define COPY_BUFFER		65536

/* What the command line asks for. */
typedef struct LoadOptions
{
	ConnectOptions connect;
	const char *dictionary;
	const char *default_replacement;
	bool		create;
	bool		replace;
	bool		escapes;
	bool		progress;
	const char *path;
} LoadOptions;

/* One run of the command. */
typedef struct Load
{
	const LoadOptions *options;
	const char *name;			/* of the file, for messages */
	TermFile   *file;
	PGconn	   *conn;
	bool		terms_sent;		/* the server may have terms to quote */
	uint64_t	terms;			/* as counted by the first pass */
	double		started;
	double		progress_at;	/* when progress was last shown */
	bool		progress_shown;
	bool		terminal;		/* stderr is one */
	size_t		copy_len;
	char		copy[COPY_BUFFER];
} Load;

/* Show progress, if asked for and if it is time to; 0 is an unknown total. */
extern void show_progress(Load *load, const char *doing, uint64_t done, uint64_t total);

/* Give the line back before anything else is printed. */
extern void end_progress(Load *load);

/*
 * The second pass: the validated file into the dictionary, over an open
 * connection, in one transaction.  An exit code; reports what went wrong.
 */
extern int	load_transaction(Load *load);

#endif							/* ACDAT_LOAD_H */
