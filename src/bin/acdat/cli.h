/*
 * cli.h
 *		What the commands of acdat share.
 *
 * acdat is a plain libpq client: none of the server's headers or libraries.
 */
#ifndef ACDAT_CLI_H
#define ACDAT_CLI_H

#include <stdbool.h>

#include "libpq-fe.h"

/* Exit codes, in the manner of diff and grep. */
#define ACDAT_EXIT_OK		0
#define ACDAT_EXIT_REFUSED	1	/* the input was refused */
#define ACDAT_EXIT_TROUBLE	2	/* usage, files, connection, server */

#if defined(__GNUC__)
#define ACDAT_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#else
#define ACDAT_PRINTF(fmt, args)
#endif

/*
 * Print "acdat: " and a message to stderr, as one line whatever the
 * arguments hold: control characters become question marks.
 */
extern void report(const char *fmt,...) ACDAT_PRINTF(1, 2);

/* Point at the help of a command and return ACDAT_EXIT_TROUBLE. */
extern int	try_help(const char *command);

/* ---- connect.c ---- */

/* Where to connect; NULL is libpq's default. */
typedef struct ConnectOptions
{
	const char *host;
	const char *port;
	const char *user;
	const char *dbname;			/* may be a connection string */
	bool		no_password;	/* never ask */
	bool		ask_password;	/* ask before trying */
} ConnectOptions;

/*
 * Connect, asking for a password on the terminal where one is needed.  The
 * session speaks UTF-8, has an empty search_path and prints no notices.
 * NULL after reporting what went wrong.
 */
extern PGconn *connect_to_server(const ConnectOptions *options);

/*
 * Have SIGINT, SIGTERM and SIGHUP cancel what the server is doing for conn
 * before they end the program.
 */
extern void cancel_on_signal(PGconn *conn);

/* ---- commands ---- */

extern int	load_main(int argc, char **argv);

#endif							/* ACDAT_CLI_H */
