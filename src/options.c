/*
 * options.c
 *		One table of options, and the parsers their values have.
 *
 * Names, meanings, defaults and error texts are wal2json's, so that its users
 * change nothing; "policy" is ours.
 */
#include "postgres.h"

#include "nodes/parsenodes.h"
#include "utils/builtins.h"
#include "utils/guc.h"

#include "compat.h"
#include "options.h"
#include "policy.h"
#include "suggest.h"

#define FORMAT_VERSION_MIN	1
#define FORMAT_VERSION_MAX	2

typedef void (*parse_fn) (const DefElem *elem, AcdatOptions *options, void *target);

/* An option: where its value goes and which parser reads it. */
typedef struct OptionSpec
{
	const char *name;
	parse_fn	parse;
	size_t		offset;			/* of the target in AcdatOptions */
} OptionSpec;

static const char *
option_value(const DefElem *elem)
{
	return elem->arg ? strVal(elem->arg) : NULL;
}

pg_noreturn static void
bad_value(const DefElem *elem, const char *value, int sqlstate)
{
	ereport(ERROR,
			(errcode(sqlstate),
			 errmsg("could not parse value \"%s\" for parameter \"%s\"",
					value, elem->defname)));
}

/* A boolean; no value means true. */
static void
parse_boolean(const DefElem *elem, AcdatOptions *options, void *target)
{
	const char *value = option_value(elem);

	if (value == NULL)
		*(bool *) target = true;
	else if (!parse_bool(value, (bool *) target))
		bad_value(elem, value, ERRCODE_INVALID_PARAMETER_VALUE);
}

/* A policy's name, which has no default. */
static void
parse_policy(const DefElem *elem, AcdatOptions *options, void *target)
{
	const char *value = option_value(elem);

	if (value == NULL || value[0] == '\0')
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("parameter \"%s\" needs a value", elem->defname)));
	*(char **) target = pstrdup(value);
}

static void
parse_format_version(const DefElem *elem, AcdatOptions *options, void *target)
{
	const char *value = option_value(elem);
	int			version = FORMAT_VERSION_MAX;

	if (value != NULL && !parse_int(value, &version, 0, NULL))
		bad_value(elem, value, ERRCODE_INVALID_PARAMETER_VALUE);
	if (version > FORMAT_VERSION_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("client sent format_version=%d but we only support format %d or lower",
						version, FORMAT_VERSION_MAX)));
	if (version < FORMAT_VERSION_MIN)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("client sent format_version=%d but we only support format %d or higher",
						version, FORMAT_VERSION_MIN)));
	*(int *) target = version;
}

/*
 * Split a comma-separated list; white space around items is skipped and a
 * backslash takes the next character as it is (both stay in the item).
 * False on an empty item or white space within one.
 */
static bool
split_list(const char *value, List **items)
{
	const char *pos = value;

	while (isspace((unsigned char) *pos))
		pos++;
	if (*pos == '\0')
		return true;
	for (;;)
	{
		const char *start = pos;

		while (*pos && *pos != ',' && !isspace((unsigned char) *pos))
		{
			if (*pos == '\\' && pos[1] != '\0')
				pos++;
			pos++;
		}
		if (pos == start)
			return false;
		*items = lappend(*items, pnstrdup(start, pos - start));
		while (isspace((unsigned char) *pos))
			pos++;
		if (*pos == '\0')
			return true;
		if (*pos != ',')
			return false;
		pos++;
		while (isspace((unsigned char) *pos))
			pos++;
	}
}

/* A list of actions to emit; no value keeps the default. */
static void
parse_actions(const DefElem *elem, AcdatOptions *options, void *target)
{
	const char *value = option_value(elem);
	AcdatActions *actions = target;
	List	   *items = NIL;
	ListCell   *lc;

	if (value == NULL)
		return;
	if (!split_list(value, &items))
		bad_value(elem, value, ERRCODE_INVALID_NAME);
	memset(actions, 0, sizeof(AcdatActions));
	foreach(lc, items)
	{
		const char *item = lfirst(lc);

		if (strcmp(item, "insert") == 0)
			actions->insert = true;
		else if (strcmp(item, "update") == 0)
			actions->update = true;
		else if (strcmp(item, "delete") == 0)
			actions->delete = true;
		else if (strcmp(item, "truncate") == 0)
			actions->truncate = true;
		else
			bad_value(elem, item, ERRCODE_INVALID_PARAMETER_VALUE);
	}
}

/*
 * Copy an identifier up to an unescaped "stop" or the end, dropping escaping
 * backslashes.
 */
static char *
unescape_until(const char **pos, char stop)
{
	StringInfoData buf;

	initStringInfo(&buf);
	while (**pos && **pos != stop)
	{
		if (**pos == '\\' && (*pos)[1] != '\0')
			(*pos)++;
		appendStringInfoChar(&buf, **pos);
		(*pos)++;
	}
	return buf.data;
}

/* "schema.table" with "*" for any; false if there is no dot. */
static bool
parse_table_pattern(const char *item, AcdatTablePattern *pattern)
{
	bool		any_schema = item[0] == '*' && item[1] == '.';
	const char *pos = item;
	char	   *schema = unescape_until(&pos, '.');

	if (*pos != '.')
		return false;
	pos++;
	pattern->schema = any_schema ? NULL : schema;
	pattern->table = strcmp(pos, "*") == 0 ? NULL : unescape_until(&pos, '\0');
	return true;
}

static void
parse_tables(const DefElem *elem, AcdatOptions *options, void *target)
{
	const char *value = option_value(elem);
	List	   *items = NIL;
	ListCell   *lc;

	*(List **) target = NIL;
	if (value == NULL)
		return;
	if (!split_list(value, &items))
		bad_value(elem, value, ERRCODE_INVALID_NAME);
	foreach(lc, items)
	{
		AcdatTablePattern *pattern = palloc0(sizeof(AcdatTablePattern));

		if (!parse_table_pattern(lfirst(lc), pattern))
			bad_value(elem, value, ERRCODE_INVALID_NAME);
		*(List **) target = lappend(*(List **) target, pattern);
	}
}

static void
parse_add_tables(const DefElem *elem, AcdatOptions *options, void *target)
{
	options->all_tables = false;
	parse_tables(elem, options, target);
}

static void
refuse_deprecated(const DefElem *elem, AcdatOptions *options, void *target)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_NAME),
			 errmsg("parameter \"%s\" was deprecated", elem->defname)));
}

/* Clients that speak pgoutput's protocol must never get anything else. */
static void
refuse_pgoutput(const DefElem *elem, AcdatOptions *options, void *target)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("output in the protocol of pgoutput is not supported by this version of %s",
					ACDAT_EXTENSION),
			 errhint("Use a client that reads the output of wal2json.")));
}

#define OPTION(name, parse, field) {name, parse, offsetof(AcdatOptions, field)}

static const OptionSpec option_specs[] = {
	OPTION("policy", parse_policy, policy),
	OPTION("format-version", parse_format_version, format_version),
	OPTION("include-xids", parse_boolean, include_xids),
	OPTION("include-timestamp", parse_boolean, include_timestamp),
	OPTION("include-lsn", parse_boolean, include_lsn),
	OPTION("include-schemas", parse_boolean, include_schemas),
	OPTION("include-types", parse_boolean, include_types),
	OPTION("include-pk", parse_boolean, include_pk),
	OPTION("include-transaction", parse_boolean, include_transaction),
	OPTION("actions", parse_actions, actions),
	OPTION("add-tables", parse_add_tables, add_tables),
	OPTION("filter-tables", parse_tables, filter_tables),
	{"include-unchanged-toast", refuse_deprecated, 0},
	{"proto_version", refuse_pgoutput, 0},
	{"publication_names", refuse_pgoutput, 0},
};

#define OFFERED_OPTIONS 12		/* the first ones of the table */

pg_noreturn static void
unknown_option(const DefElem *elem)
{
	const char *value = option_value(elem);
	const char *names[OFFERED_OPTIONS];
	char	   *near;

	for (int i = 0; i < OFFERED_OPTIONS; i++)
		names[i] = option_specs[i].name;
	near = acdat_near_names(elem->defname, names, OFFERED_OPTIONS);
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("option \"%s\" = \"%s\" is unknown",
					elem->defname, value ? value : "(null)"),
			 near ? errhint("Perhaps you meant %s.", near) : 0));
}

void
acdat_parse_options(List *defelems, AcdatOptions *options)
{
	ListCell   *lc;

	memset(options, 0, sizeof(AcdatOptions));
	options->format_version = FORMAT_VERSION_MIN;
	options->include_schemas = true;
	options->include_types = true;
	options->include_transaction = true;
	options->all_tables = true;
	options->actions = (AcdatActions) {true, true, true, true};

	foreach(lc, defelems)
	{
		const DefElem *elem = lfirst(lc);
		const OptionSpec *spec = NULL;

		for (int i = 0; i < (int) lengthof(option_specs) && spec == NULL; i++)
		{
			if (strcmp(option_specs[i].name, elem->defname) == 0)
				spec = &option_specs[i];
		}
		if (spec == NULL)
			unknown_option(elem);
		spec->parse(elem, options, (char *) options + spec->offset);
	}
}

static bool
matches_any(const List *patterns, const char *schema, const char *table)
{
	ListCell   *lc;

	foreach(lc, patterns)
	{
		const AcdatTablePattern *pattern = lfirst(lc);

		if ((pattern->schema == NULL || strcmp(pattern->schema, schema) == 0) &&
			(pattern->table == NULL || strcmp(pattern->table, table) == 0))
			return true;
	}
	return false;
}

bool
acdat_table_wanted(const AcdatOptions *options, const char *schema, const char *table)
{
	if (matches_any(options->filter_tables, schema, table))
		return false;
	return options->all_tables || matches_any(options->add_tables, schema, table);
}
