/*
 * load_transaction.c
 *		acdat load: the second pass, a file of terms into a dictionary.
 *
 * No term may show up in the server's log, statistics or error messages,
 * whatever the server's settings.  So terms never stand in a statement or a
 * parameter: they travel as binary COPY data, which the server does not log,
 * into a temporary table of bytea columns, where nothing converts them, and
 * from there acdat.load_terms brings them into the dictionary.  From the
 * moment terms are on the server only that function's own errors are
 * printed; any other is named by its SQLSTATE.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "load.h"

/* ---- errors of the server ---- */

/* What can be said of an error without quoting the server. */
static const char *
describe_sqlstate(const char *sqlstate)
{
	static const struct
	{
		const char *prefix;
		const char *text;
	}			known[] = {
		{"25006", "the transaction is read-only"},
		{"40001", "another transaction changed the dictionary at the same time"},
		{"40P01", "deadlock with another transaction"},
		{"42501", "permission denied"},
		{"53100", "the server's disk is full"},
		{"53200", "the server is out of memory"},
		{"53", "the server is out of resources"},
		{"55P03", "a lock was not available"},
		{"57014", "cancelled by a timeout or on request"},
		{"57P", "the server ended the connection"},
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
	{
		if (strncmp(sqlstate, known[i].prefix, strlen(known[i].prefix)) == 0)
			return known[i].text;
	}
	return "an error whose text is withheld, as it may quote a term";
}

/*
 * Is this what acdat.load_terms says of terms?  That holds none, whereas an
 * error of any other origin may.
 */
static bool
is_ours(const PGresult *result)
{
	const char *schema = PQresultErrorField(result, PG_DIAG_SCHEMA_NAME);
	const char *constraint = PQresultErrorField(result, PG_DIAG_CONSTRAINT_NAME);

	return schema && constraint &&
		strcmp(schema, "acdat") == 0 && strcmp(constraint, "load_terms") == 0;
}

/*
 * The lines that the function complains about, one message each, as those of
 * the first pass; false if its detail is not about lines.
 */
static bool
report_lines(const Load *load, const char *message, const char *detail)
{
	static const char intro[] = "Lines: ";
	const char *c = detail + strlen(intro);
	int			lines = 0;

	if (strncmp(detail, intro, strlen(intro)) != 0)
		return false;
	while (*c >= '0' && *c <= '9')
	{
		char	   *end;
		uint64_t	line = strtoull(c, &end, 10);

		report("%s:%" PRIu64 ": %s", load->name, line, message);
		lines++;
		c = end + strspn(end, ", ");
	}
	if (*c != '.')
		report("%s: there may be more such lines", load->name);
	return lines > 0;
}

int
load_server_error(Load *load, PGresult *result)
{
	const char *sqlstate = result ? PQresultErrorField(result, PG_DIAG_SQLSTATE) : NULL;
	const char *message = result ? PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY) : NULL;
	const char *detail = result ? PQresultErrorField(result, PG_DIAG_MESSAGE_DETAIL) : NULL;
	const char *hint = result ? PQresultErrorField(result, PG_DIAG_MESSAGE_HINT) : NULL;
	int			code = ACDAT_EXIT_TROUBLE;

	progress_end(&load->progress);
	if (sqlstate == NULL || message == NULL)
		report(PQstatus(load->conn) == CONNECTION_BAD ? "the connection to the server was lost"
			   : "unexpected answer from the server");
	else if (is_ours(result) && detail && report_lines(load, message, detail))
		code = ACDAT_EXIT_REFUSED;
	else if (is_ours(result))
		report("%s: %s (SQLSTATE %s)", message, describe_sqlstate(sqlstate), sqlstate);
	else if (!load->terms_sent)
	{
		report("%s", message);
		if (hint)
			report("hint: %s", hint);
	}
	else
		report("could not load the terms: %s (SQLSTATE %s)", describe_sqlstate(sqlstate), sqlstate);
	PQclear(result);
	return code;
}

int
load_run(Load *load, ExecStatusType expected, PGresult **answer,
		 const char *sql, const char *first, const char *second, const char *third)
{
	const char *values[3] = {first, second, third};
	int			n = first == NULL ? 0 : second == NULL ? 1 : third == NULL ? 2 : 3;
	PGresult   *result = n == 0 ? PQexec(load->conn, sql) :
		PQexecParams(load->conn, sql, n, NULL, values, NULL, NULL, 0);

	if (PQresultStatus(result) != expected)
		return load_server_error(load, result);
	if (answer)
		*answer = result;
	else
		PQclear(result);
	return ACDAT_EXIT_OK;
}

/* A statement whose answer is one boolean. */
static int
ask(Load *load, const char *sql, const char *parameter, bool *yes)
{
	PGresult   *result;
	int			code = load_run(load, PGRES_TUPLES_OK, &result, sql, parameter, NULL, NULL);

	if (code == ACDAT_EXIT_OK)
	{
		*yes = strcmp(PQgetvalue(result, 0, 0), "t") == 0;
		PQclear(result);
	}
	return code;
}

/* ---- second pass: COPY ---- */

static bool
copy_flush(Load *load)
{
	size_t		len = load->copy_len;

	load->copy_len = 0;
	return PQputCopyData(load->conn, load->copy, (int) len) == 1;
}

static bool
copy_bytes(Load *load, const void *bytes, size_t len)
{
	if (len > COPY_BUFFER - load->copy_len && !copy_flush(load))
		return false;
	if (len > COPY_BUFFER)
		return PQputCopyData(load->conn, bytes, (int) len) == 1;
	memcpy(load->copy + load->copy_len, bytes, len);
	load->copy_len += len;
	return true;
}

/* An integer of 2, 4 or 8 bytes in network order. */
static bool
copy_int(Load *load, int64_t value, size_t size)
{
	unsigned char bytes[8];

	for (size_t i = 0; i < size; i++)
		bytes[i] = (unsigned char) ((uint64_t) value >> (8 * (size - 1 - i)));
	return copy_bytes(load, bytes, size);
}

/* A field with its length; NULL is the null value. */
static bool
copy_field(Load *load, const char *value, size_t len)
{
	if (value == NULL)
		return copy_int(load, -1, 4);
	return copy_int(load, (int64_t) len, 4) && copy_bytes(load, value, len);
}

static bool
copy_term(Load *load, const Term *term)
{
	return copy_int(load, 4, 2) &&
		copy_int(load, 8, 4) && copy_int(load, (int64_t) term->line, 8) &&
		copy_field(load, term->pattern, term->pattern_len) &&
		copy_field(load, term->replacement, term->replacement_len) &&
		copy_int(load, 4, 4) && copy_int(load, term->priority, 4);
}

/*
 * Read the file again and send it.  *changed says that it is no longer what
 * was validated.  False if the connection fails.
 */
static bool
copy_terms(Load *load, bool *changed)
{
	static const char header[19] = "PGCOPY\n\377\r\n";	/* then zeros */
	uint64_t	sent = 0;
	Term		term;
	TermResult	result;
	const char *message;

	*changed = !term_file_rewind(load->file);
	if (*changed)
		return true;
	if (!copy_bytes(load, header, sizeof(header)))
		return false;
	while ((result = term_file_next(load->file, &term, &message)) == TERM_OK)
	{
		if (!copy_term(load, &term))
			return false;
		sent++;
		if (progress_due(&load->progress))
			progress_show(&load->progress, "sending: %" PRIu64 " of %" PRIu64 " terms", sent, load->terms);
	}
	*changed = result != TERM_END || sent != load->terms;
	return copy_int(load, -1, 2) && copy_flush(load);
}

/* The terms into the staging table; an exit code. */
static int
send_terms(Load *load)
{
	bool		changed = false;
	bool		sent;
	PGresult   *result;
	int			code = load_run(load, PGRES_COPY_IN, NULL,
								"COPY pg_temp.acdat_load FROM STDIN (FORMAT binary)", NULL, NULL, NULL);

	if (code != ACDAT_EXIT_OK)
		return code;
	load->terms_sent = true;
	sent = copy_terms(load, &changed);
	if (changed)
	{
		progress_end(&load->progress);
		report("%s: the file changed while it was being read", load->name);
		PQputCopyEnd(load->conn, "the file changed");
		return ACDAT_EXIT_TROUBLE;
	}
	if (sent)
		PQputCopyEnd(load->conn, NULL);
	result = PQgetResult(load->conn);
	if (PQresultStatus(result) != PGRES_COMMAND_OK)
		return load_server_error(load, result);
	PQclear(result);
	while ((result = PQgetResult(load->conn)) != NULL)
		PQclear(result);
	return ACDAT_EXIT_OK;
}

/* ---- the transaction ---- */

/* Make sure of the extension, and with --create of the dictionary. */
static int
prepare(Load *load)
{
	const LoadOptions *options = load->options;
	bool		yes = false;
	int			code = ask(load, "SELECT count(*) > 0 FROM pg_catalog.pg_extension "
						   "WHERE extname OPERATOR(pg_catalog.=) 'acdat_decoder'", NULL, &yes);

	if (code == ACDAT_EXIT_OK && !yes)
	{
		report("the extension acdat_decoder is not installed in this database");
		report("hint: CREATE EXTENSION acdat_decoder");
		return ACDAT_EXIT_TROUBLE;
	}
	if (code != ACDAT_EXIT_OK || !options->create)
		return code;

	code = ask(load, "SELECT count(*) > 0 FROM acdat.dictionaries "
			   "WHERE name::text OPERATOR(pg_catalog.=) $1::text", options->dictionary, &yes);
	if (code != ACDAT_EXIT_OK)
		return code;
	if (!yes && options->default_replacement)
		return load_run(load, PGRES_TUPLES_OK, NULL, "SELECT acdat.create_dictionary($1, $2)",
						options->dictionary, options->default_replacement, NULL);
	if (!yes)
		return load_run(load, PGRES_TUPLES_OK, NULL, "SELECT acdat.create_dictionary($1)",
						options->dictionary, NULL, NULL);
	if (options->default_replacement)
	{
		report("dictionary \"%s\" exists already: --default-replacement is for a new one",
			   options->dictionary);
		return ACDAT_EXIT_TROUBLE;
	}
	return ACDAT_EXIT_OK;
}

/*
 * Call acdat.load_terms.  It is called twice: with nothing in the staging
 * table, before a million terms are sent, to be told about an unknown
 * dictionary and to empty it; and then with all of them.
 */
static int
load_terms(Load *load, bool replace, uint64_t expected)
{
	PGresult   *result;
	int			code = load_run(load, PGRES_TUPLES_OK, &result,
								"SELECT acdat.load_terms($1, $2::pg_catalog.regclass, $3)",
								load->options->dictionary, "pg_temp.acdat_load", replace ? "t" : "f");

	if (code != ACDAT_EXIT_OK)
		return code;
	if (strtoull(PQgetvalue(result, 0, 0), NULL, 10) != expected)
	{
		progress_end(&load->progress);
		report("the server did not store as many terms as it was sent");
		code = ACDAT_EXIT_TROUBLE;
	}
	PQclear(result);
	return code;
}

/* Whether a transaction was committed is not known until the server says so. */
static int
commit(Load *load)
{
	PGresult   *result = PQexec(load->conn, "COMMIT");
	int			code = ACDAT_EXIT_OK;

	if (PQresultStatus(result) != PGRES_COMMAND_OK)
	{
		bool		lost = PQstatus(load->conn) == CONNECTION_BAD;

		code = load_server_error(load, result);
		if (lost)
			report("the terms may or may not have been loaded%s",
				   load->options->npublish > 0 ? " and published" : "");
		return code;
	}
	if (strcmp(PQcmdStatus(result), "COMMIT") != 0)
	{
		report("the server rolled the transaction back");
		code = ACDAT_EXIT_TROUBLE;
	}
	PQclear(result);
	return code;
}

int
load_transaction(Load *load)
{
	int			code;

	if ((code = load_run(load, PGRES_COMMAND_OK, NULL, "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE",
						 NULL, NULL, NULL)) != ACDAT_EXIT_OK ||
		(code = prepare(load)) != ACDAT_EXIT_OK ||
		(code = load_run(load, PGRES_COMMAND_OK, NULL,
						 "CREATE TEMPORARY TABLE pg_temp.acdat_load (line bigint, pattern bytea, "
						 "replacement bytea, priority integer) ON COMMIT DROP",
						 NULL, NULL, NULL)) != ACDAT_EXIT_OK ||
		(code = load_terms(load, load->options->replace, 0)) != ACDAT_EXIT_OK ||
		(code = send_terms(load)) != ACDAT_EXIT_OK)
		return code;

	if (load->options->progress)
		progress_show(&load->progress, "storing: %" PRIu64 " of %" PRIu64 " terms", load->terms, load->terms);
	if ((code = load_terms(load, false, load->terms)) != ACDAT_EXIT_OK ||
		(code = load_publish(load)) != ACDAT_EXIT_OK)
		return code;
	code = commit(load);
	progress_end(&load->progress);
	return code;
}
