/*
 * load.h
 *		What the two halves of acdat load share.
 */
#ifndef ACDAT_LOAD_H
#define ACDAT_LOAD_H

#include <stdint.h>

#include "connect.h"
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
	const char **publish;		/* policies to publish */
	int			npublish;
	bool		allow_lossy_keys;
	bool		allow_unsafe_replacement;
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
	Progress	progress;
	char	  **generations;	/* of the policies published */
	size_t		copy_len;
	char		copy[COPY_BUFFER];
} Load;

/*
 * The second pass: the validated file into the dictionary, over an open
 * connection, in one transaction.  An exit code; reports what went wrong.
 */
extern int	load_transaction(Load *load);

/* ---- within the transaction ---- */

/* Run a statement, with up to three text parameters; an exit code. */
extern int	load_run(Load *load, ExecStatusType expected, PGresult **answer, const char *sql,
					 const char *first, const char *second, const char *third);

/* Report why a statement failed and clear its result; the exit code. */
extern int	load_server_error(Load *load, PGresult *result);

/*
 * Publish the policies asked for and note their generations; an exit code.
 * Only what acdat.publish itself says is printed.
 */
extern int	load_publish(Load *load);

#endif							/* ACDAT_LOAD_H */
