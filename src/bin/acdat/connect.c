/*
 * connect.c
 *		Connections of acdat's commands: passwords, session state, signals.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "connect.h"

static PGcancel *volatile cancel_handle;

/* Cancel on the server, then die of the signal as if it had not been caught. */
static void
cancel_and_die(int signal_number)
{
	char		errbuf[256];

	if (cancel_handle)
		PQcancel(cancel_handle, errbuf, sizeof(errbuf));
	signal(signal_number, SIG_DFL);
	raise(signal_number);
}

void
cancel_on_signal(PGconn *conn)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP};

	cancel_handle = PQgetCancel(conn);
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
	{
		if (signal(signals[i], cancel_and_die) == SIG_IGN)
			signal(signals[i], SIG_IGN);
	}
}

/* What a notice says may quote terms: a trigger's, for instance. */
static void
ignore_notice(void *arg, const PGresult *result)
{
	(void) arg;
	(void) result;
}

/* Read a line from the terminal without showing it; false without one. */
static bool
ask_for_password(char *password, size_t size)
{
	int			tty = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);
	struct termios saved;
	struct termios silent;
	size_t		len = 0;
	bool		ok = false;

	if (tty < 0)
		return false;
	if (tcgetattr(tty, &saved) == 0)
	{
		silent = saved;
		silent.c_lflag &= ~(tcflag_t) ECHO;
		if (tcsetattr(tty, TCSAFLUSH, &silent) == 0)
		{
			ok = write(tty, "Password: ", 10) == 10;
			while (ok && read(tty, password + len, 1) == 1 && password[len] != '\n')
			{
				if (++len == size - 1)
					break;
			}
			password[len] = '\0';
			tcsetattr(tty, TCSAFLUSH, &saved);
			ok = write(tty, "\n", 1) == 1 && ok;
		}
	}
	close(tty);
	return ok;
}

/* One attempt; NULL only if out of memory. */
static PGconn *
try_connection(const ConnectOptions *options, const char *password)
{
	const char *keywords[8];
	const char *values[8];
	int			n = 0;

#define SET(keyword, value) (keywords[n] = (keyword), values[n] = (value), n++)
	/* what comes later wins over what a connection string says */
	SET("dbname", options->dbname);
	SET("host", options->host);
	SET("port", options->port);
	SET("user", options->user);
	SET("password", password);
	SET("fallback_application_name", "acdat");
	SET("client_encoding", "UTF8");
	SET(NULL, NULL);
#undef SET

	return PQconnectdbParams(keywords, values, true);
}

PGconn *
connect_to_server(const ConnectOptions *options)
{
	char		password[1024];
	bool		asked = options->ask_password && ask_for_password(password, sizeof(password));
	PGconn	   *conn = try_connection(options, asked ? password : NULL);
	PGresult   *result;

	if (conn && PQstatus(conn) == CONNECTION_BAD && PQconnectionNeedsPassword(conn) &&
		!asked && !options->no_password && ask_for_password(password, sizeof(password)))
	{
		PQfinish(conn);
		conn = try_connection(options, password);
	}
	memset(password, 0, sizeof(password));
	if (conn == NULL || PQstatus(conn) != CONNECTION_OK)
	{
		report("%s", conn ? PQerrorMessage(conn) : "out of memory");
		PQfinish(conn);
		return NULL;
	}
	PQsetNoticeReceiver(conn, ignore_notice, NULL);

	/* no name of ours may be found in somebody else's schema */
	result = PQexec(conn, "SELECT pg_catalog.set_config('search_path', '', false)");
	if (PQresultStatus(result) != PGRES_TUPLES_OK)
	{
		report("%s", PQerrorMessage(conn));
		PQclear(result);
		PQfinish(conn);
		return NULL;
	}
	PQclear(result);
	return conn;
}
