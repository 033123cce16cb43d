/*
 * guard.c
 *		Attached roles and the replication commands that are not decoding.
 *
 * A role with REPLICATION needs a connection to a database for logical
 * decoding, and PostgreSQL takes BASE_BACKUP and physical START_REPLICATION
 * in it too; pg_hba.conf cannot tell them apart.  There is no hook for these
 * commands, but they can be logged before they are carried out, and there is
 * one for that.  So acdat.attach lets the role's commands be logged, and where
 * the library is preloaded, one that is not for decoding ends the connection.
 *
 * An attached role is known by where it finds its libraries: acdat.attach set
 * that too, and only a superuser can set either.
 */
#include "postgres.h"

#include "fmgr.h"
#include "miscadmin.h"
#include "replication/walsender.h"

#include "acdat.h"

#define LOGGED_COMMAND	"received replication command: %s"

static emit_log_hook_type next_log_hook = NULL;

/* ---- commands ---- */

/*
 * The next word of a command, as the server's scanner divides it: white space
 * and quoted names.  False at the end, and for a word that does not fit: no
 * keyword is that long.
 */
static bool
next_word(const char **pos, char *word, Size room)
{
	Size		len = 0;
	char		end = '\0';

	while (**pos && strchr(" \t\n\r\f\v", **pos) != NULL)
		(*pos)++;
	if (**pos == '"' || **pos == '\'')
		end = **pos;
	while (**pos && (len == 0 || end != '\0' || strchr(" \t\n\r\f\v;(\"'", **pos) == NULL))
	{
		if (len + 1 >= room)
			return false;
		word[len++] = *(*pos)++;
		if (end != '\0' && len > 1 && word[len - 1] == end)
			break;
	}
	word[len] = '\0';
	return len > 0;
}

/* Is it one of those that logical decoding needs? */
static bool
is_decoding_command(const char *command)
{
	static const char *const harmless[] = {
		"IDENTIFY_SYSTEM", "SHOW", "CREATE_REPLICATION_SLOT", "ALTER_REPLICATION_SLOT",
		"DROP_REPLICATION_SLOT", "READ_REPLICATION_SLOT", "TIMELINE_HISTORY"
	};
	char		word[3 * NAMEDATALEN];

	if (!next_word(&command, word, sizeof(word)))
		return false;
	for (int i = 0; i < (int) lengthof(harmless); i++)
	{
		if (strcmp(word, harmless[i]) == 0)
			return true;
	}

	/* START_REPLICATION SLOT name LOGICAL */
	return strcmp(word, "START_REPLICATION") == 0 &&
		next_word(&command, word, sizeof(word)) && strcmp(word, "SLOT") == 0 &&
		next_word(&command, word, sizeof(word)) &&
		next_word(&command, word, sizeof(word)) && strcmp(word, "LOGICAL") == 0;
}

/* ---- the hook ---- */

static bool
is_attached(void)
{
	static const char ours[] = "$libdir/acdat";
	const char *path = Dynamic_library_path ? Dynamic_library_path : "";

	return strncmp(path, ours, strlen(ours)) == 0 &&
		(path[strlen(ours)] == ':' || path[strlen(ours)] == '\0');
}

static void
watch_log(ErrorData *edata)
{
	if (am_db_walsender && is_attached() &&
		edata->message_id != NULL && edata->message != NULL &&
		strcmp(edata->message_id, LOGGED_COMMAND) == 0)
	{
		const char *command = strstr(edata->message, ": ");

		if (command == NULL || !is_decoding_command(command + 2))
		{
			ereport(WARNING,
					(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
					 errmsg("an attached role may use the replication commands of logical decoding only")));

			/* the server looks for this before it carries the command out */
			ProcDiePending = true;
			InterruptPending = true;
		}
	}
	if (next_log_hook)
		next_log_hook(edata);
}

void
acdat_guard_init(void)
{
	if (!process_shared_preload_libraries_in_progress)
		return;
	next_log_hook = emit_log_hook;
	emit_log_hook = watch_log;
}
