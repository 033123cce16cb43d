/*
 * connect.h
 *		Connections of the commands that talk to a server.
 */
#ifndef ACDAT_CONNECT_H
#define ACDAT_CONNECT_H

#include "cli.h"
#include "libpq-fe.h"

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

#endif							/* ACDAT_CONNECT_H */
