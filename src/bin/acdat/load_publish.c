/*
 * load_publish.c
 *		acdat load --publish: policies published with the new terms.
 *
 * That happens in the transaction of the load, so that streams go from the
 * old terms to all of the new ones.  What acdat.publish says names terms by
 * their ids; any other message of the server may quote one.  The file that
 * raised it tells them apart: no function in SQL can name another.
 */
#include <stdlib.h>
#include <string.h>

#include "load.h"

/* Did the C code of acdat.publish say this? */
static bool
said_by_publish(const PGresult *result)
{
	const char *file = PQresultErrorField(result, PG_DIAG_SOURCE_FILE);

	return file && (strncmp(file, "publish", 7) == 0 || strncmp(file, "policy_", 7) == 0) &&
		PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY) != NULL;
}

/* Print a field, line by line. */
static void
report_field(const PGresult *result, int code, const char *label)
{
	const char *text = PQresultErrorField(result, code);

	while (text && *text)
	{
		int			len = (int) strcspn(text, "\n");

		report("%s%.*s", label, len, text);
		text += len + (text[len] == '\n');
	}
}

static void
report_result(const PGresult *result)
{
	report_field(result, PG_DIAG_MESSAGE_PRIMARY, "");
	report_field(result, PG_DIAG_MESSAGE_DETAIL, "detail: ");
	report_field(result, PG_DIAG_MESSAGE_HINT, "hint: ");
}

static void
on_notice(void *arg, const PGresult *result)
{
	Load	   *load = arg;

	if (!said_by_publish(result))
		return;
	progress_end(&load->progress);
	report_result(result);
}

static int
publish(Load *load, const char *policy, char **generation)
{
	const LoadOptions *options = load->options;
	const char *values[3] = {
		policy,
		options->allow_lossy_keys ? "t" : "f",
		options->allow_unsafe_replacement ? "t" : "f"
	};
	PGresult   *result = PQexecParams(load->conn, "SELECT acdat.publish($1, $2, $3)",
									  3, NULL, values, NULL, NULL, 0);

	if (PQresultStatus(result) != PGRES_TUPLES_OK)
	{
		if (!said_by_publish(result))
			return load_server_error(load, result);
		progress_end(&load->progress);
		report_result(result);
		PQclear(result);
		return ACDAT_EXIT_TROUBLE;
	}
	*generation = strdup(PQgetvalue(result, 0, 0));
	PQclear(result);
	if (*generation == NULL)
	{
		report("out of memory");
		return ACDAT_EXIT_TROUBLE;
	}
	return ACDAT_EXIT_OK;
}

int
load_publish(Load *load)
{
	const LoadOptions *options = load->options;
	PQnoticeReceiver previous;
	int			code = ACDAT_EXIT_OK;

	if (options->npublish == 0)
		return ACDAT_EXIT_OK;
	load->generations = calloc((size_t) options->npublish, sizeof(char *));
	if (load->generations == NULL)
	{
		report("out of memory");
		return ACDAT_EXIT_TROUBLE;
	}
	if (options->progress)
		progress_show(&load->progress, "publishing");
	previous = PQsetNoticeReceiver(load->conn, on_notice, load);
	for (int i = 0; i < options->npublish && code == ACDAT_EXIT_OK; i++)
		code = publish(load, options->publish[i], &load->generations[i]);
	PQsetNoticeReceiver(load->conn, previous, NULL);
	return code;
}
