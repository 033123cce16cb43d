/*
 * receiver.c
 *		A small consumer of a logical slot: counts messages and bytes, keeps
 *		nothing, and tells the server what it has.
 *
 * usage: receiver SLOT ENDPOS [OPTION=VALUE ...]
 *
 * Connection parameters come from the environment, as for any libpq program.
 * Prints "MESSAGES BYTES" once everything up to ENDPOS was received.
 *
 * Copyright (c) 2026, the acdat_decoder authors; PostgreSQL licence
 */
#include <libpq-fe.h>

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define FEEDBACK_SECONDS	1
#define DATA_HEADER			25	/* 'w', start, end, time */

static void
fail(PGconn *conn, const char *what)
{
	fprintf(stderr, "receiver: %s: %s", what, PQerrorMessage(conn));
	exit(1);
}

static uint64_t
read_u64(const char *bytes)
{
	uint64_t	value = 0;

	for (int i = 0; i < 8; i++)
		value = value << 8 | (unsigned char) bytes[i];
	return value;
}

static void
write_u64(char *bytes, uint64_t value)
{
	for (int i = 7; i >= 0; i--, value >>= 8)
		bytes[i] = (char) (value & 0xFF);
}

/* Standby status update: all up to "position" is written, flushed, applied. */
static void
send_feedback(PGconn *conn, uint64_t position)
{
	char		message[34] = "r";

	write_u64(message + 1, position);
	write_u64(message + 9, position);
	write_u64(message + 17, position);
	write_u64(message + 25, 0);
	if (PQputCopyData(conn, message, sizeof message) <= 0 || PQflush(conn) != 0)
		fail(conn, "cannot send feedback");
}

/* START_REPLICATION with the options, values quoted. */
static void
start(PGconn *conn, const char *slot, int noptions, char **options)
{
	char		command[8192];
	size_t		len;
	PGresult   *result;

	len = (size_t) snprintf(command, sizeof command, "START_REPLICATION SLOT \"%s\" LOGICAL 0/0", slot);
	for (int i = 0; i < noptions && len < sizeof command; i++)
	{
		const char *equals = strchr(options[i], '=');

		if (equals == NULL)
			fail(conn, "an option needs a value");
		len += (size_t) snprintf(command + len, sizeof command - len, "%s\"%.*s\" '%s'", i == 0 ? " (" : ", ",
								 (int) (equals - options[i]), options[i], equals + 1);
	}
	if (len + 2 > sizeof command)
		fail(conn, "too many options");
	if (noptions > 0)
		strcpy(command + len, ")");
	result = PQexec(conn, command);
	if (PQresultStatus(result) != PGRES_COPY_BOTH)
		fail(conn, "cannot start");
	PQclear(result);
}

int
main(int argc, char **argv)
{
	const char *keywords[] = {"replication", "dbname", NULL};
	const char *values[] = {"database", getenv("PGDATABASE"), NULL};
	PGconn	   *conn;
	unsigned	high;
	unsigned	low;
	uint64_t	endpos;
	uint64_t	position = 0;
	uint64_t	messages = 0;
	uint64_t	bytes = 0;
	time_t		last_feedback = time(NULL);

	if (argc < 3 || sscanf(argv[2], "%X/%X", &high, &low) != 2)
	{
		fprintf(stderr, "usage: receiver SLOT ENDPOS [OPTION=VALUE ...]\n");
		return 2;
	}
	endpos = (uint64_t) high << 32 | low;
	conn = PQconnectdbParams(keywords, values, 1);
	if (PQstatus(conn) != CONNECTION_OK)
		fail(conn, "cannot connect");
	start(conn, argv[1], argc - 3, argv + 3);
	while (position < endpos)
	{
		char	   *message;
		int			len = PQgetCopyData(conn, &message, 0);
		bool		asked = false;

		if (len < 0)
			fail(conn, "the stream ended");
		if (message[0] == 'w' && len >= DATA_HEADER)
		{
			uint64_t	lsn = read_u64(message + 1);

			messages++;
			bytes += (uint64_t) len - DATA_HEADER;
			position = lsn > position ? lsn : position;
		}
		else if (message[0] == 'k' && len >= 18)
		{
			uint64_t	lsn = read_u64(message + 1);

			position = lsn > position ? lsn : position;
			asked = message[17] != 0;
		}
		PQfreemem(message);
		if (asked || time(NULL) - last_feedback >= FEEDBACK_SECONDS)
		{
			send_feedback(conn, position);
			last_feedback = time(NULL);
		}
	}
	send_feedback(conn, position);
	printf("%llu %llu\n", (unsigned long long) messages, (unsigned long long) bytes);
	PQfinish(conn);
	return 0;
}
