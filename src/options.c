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

typedef void (*parse_fn) (const DefElem *elem, void *target);

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
parse_boolean(const DefElem *elem, void *target)
{
	const char *value = option_value(elem);

	if (value == NULL)
		*(bool *) target = true;
	else if (!parse_bool(value, (bool *) target))
		bad_value(elem, value, ERRCODE_INVALID_PARAMETER_VALUE);
}

/* A policy's name, which has no default. */
static void
parse_policy(const DefElem *elem, void *target)
{
	const char *value = option_value(elem);

	if (value == NULL || value[0] == '\0')
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("parameter \"%s\" needs a value", elem->defname)));
	*(char **) target = pstrdup(value);
}

static void
parse_format_version(const DefElem *elem, void *target)
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
 * False on white space within an item, and on an empty one unless allowed.
 */
static bool
split_list(const char *value, bool allow_empty, List **items)
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
		if (pos == start && !allow_empty)
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
parse_actions(const DefElem *elem, void *target)
{
	const char *value = option_value(elem);
	AcdatActions *actions = target;
	List	   *items = NIL;
	ListCell   *lc;

	if (value == NULL)
		return;
	if (!split_list(value, false, &items))
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

/*
 * Tables to filter.  Lists that are given more than once are added to each
 * other, this and those below; no value makes them empty.
 */
static void
parse_filtered_tables(const DefElem *elem, void *target)
{
	const char *value = option_value(elem);
	AcdatTables *tables = target;
	List	   *items = NIL;
	ListCell   *lc;

	if (value == NULL)
	{
		tables->patterns = NIL;
		return;
	}
	if (!split_list(value, false, &items))
		bad_value(elem, value, ERRCODE_INVALID_NAME);
	foreach(lc, items)
	{
		AcdatTablePattern *pattern = palloc0(sizeof(AcdatTablePattern));

		if (!parse_table_pattern(lfirst(lc), pattern))
			bad_value(elem, value, ERRCODE_INVALID_NAME);
		tables->patterns = lappend(tables->patterns, pattern);
	}
}

/* Tables to emit, of which the last list counts. */
static void
parse_added_tables(const DefElem *elem, void *target)
{
	AcdatTables *tables = target;

	tables->given = true;
	tables->patterns = NIL;
	parse_filtered_tables(elem, target);
}

/* Message prefixes, as they stand in the list. */
static void
parse_prefixes(const DefElem *elem, void *target)
{
	const char *value = option_value(elem);

	if (value == NULL)
		*(List **) target = NIL;
	else if (!split_list(value, false, (List **) target))
		bad_value(elem, value, ERRCODE_INVALID_NAME);
}

/*
 * Replication origins: numbers as in wal2json, or names.  Nothing between two
 * commas is, as there, no origin.
 */
static void
parse_origins(const DefElem *elem, void *target)
{
	const char *value = option_value(elem);
	List	   *items = NIL;
	ListCell   *lc;

	if (value == NULL)
	{
		*(List **) target = NIL;
		return;
	}
	if (!split_list(value, true, &items))
		bad_value(elem, value, ERRCODE_INVALID_NAME);
	foreach(lc, items)
	{
		const char *item = lfirst(lc);
		AcdatOrigin *origin;

		if (item[0] == '\0')
			continue;
		origin = palloc0(sizeof(AcdatOrigin));
		if (strspn(item, "0123456789") == strlen(item))
			origin->id = (uint32) strtoul(item, NULL, 10);
		else
			origin->name = unescape_until(&item, '\0');
		*(List **) target = lappend(*(List **) target, origin);
	}
}

/* One of some words, to its number; the first is the default. */
static void
parse_word(const DefElem *elem, const char *const *words, int nwords, int *target)
{
	const char *value = option_value(elem);
	char	   *near;

	*target = 0;
	if (value == NULL)
		return;
	for (int i = 0; i < nwords; i++)
	{
		if (strcmp(value, words[i]) == 0)
		{
			*target = i;
			return;
		}
	}
	near = acdat_near_names(value, words, nwords);
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("could not parse value \"%s\" for parameter \"%s\"", value, elem->defname),
			 near ? errhint("Perhaps you meant %s.", near) : 0));
}

static void
parse_without_identity(const DefElem *elem, void *target)
{
	static const char *const words[] = {"warn", "error", "full"};

	parse_word(elem, words, lengthof(words), target);
}

static void
parse_oversize(const DefElem *elem, void *target)
{
	static const char *const words[] = {"mask", "error"};

	parse_word(elem, words, lengthof(words), target);
}

static void
refuse_deprecated(const DefElem *elem, void *target pg_attribute_unused())
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_NAME),
			 errmsg("parameter \"%s\" was deprecated", elem->defname)));
}

/* Clients that speak pgoutput's protocol must never get anything else. */
static void
refuse_pgoutput(const DefElem *elem pg_attribute_unused(), void *target pg_attribute_unused())
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
	OPTION("actions", parse_actions, actions),
	OPTION("add-msg-prefixes", parse_prefixes, add_prefixes),
	OPTION("add-tables", parse_added_tables, add_tables),
	OPTION("columns-as-object", parse_boolean, columns_as_object),
	OPTION("filter-msg-prefixes", parse_prefixes, filter_prefixes),
	OPTION("filter-origins", parse_origins, filter_origins),
	OPTION("filter-tables", parse_filtered_tables, filter_tables),
	OPTION("include-column-positions", parse_boolean, include_column_positions),
	OPTION("include-default", parse_boolean, include_default),
	OPTION("include-domain-data-type", parse_boolean, include_domain_data_type),
	OPTION("include-empty-transaction", parse_boolean, include_empty_transactions),
	OPTION("include-empty-transactions", parse_boolean, include_empty_transactions),
	OPTION("include-generation", parse_boolean, include_generation),
	OPTION("include-lsn", parse_boolean, include_lsn),
	OPTION("include-not-null", parse_boolean, include_not_null),
	OPTION("include-origin", parse_boolean, include_origin),
	OPTION("include-pk", parse_boolean, include_pk),
	OPTION("include-redactions", parse_boolean, include_redactions),
	OPTION("include-schemas", parse_boolean, include_schemas),
	OPTION("include-timestamp", parse_boolean, include_timestamp),
	OPTION("include-transaction", parse_boolean, include_transaction),
	OPTION("include-type-oids", parse_boolean, include_type_oids),
	OPTION("include-types", parse_boolean, include_types),
	OPTION("include-typmod", parse_boolean, include_typmod),
	OPTION("include-xids", parse_boolean, include_xids),
	OPTION("json-values", parse_boolean, json_values),
	OPTION("numeric-data-types-as-string", parse_boolean, numeric_as_string),
	OPTION("oversize", parse_oversize, oversize_error),
	OPTION("partition-root", parse_boolean, partition_root),
	OPTION("pretty-print", parse_boolean, pretty_print),
	OPTION("streaming", parse_boolean, streaming),
	OPTION("two-phase", parse_boolean, two_phase),
	OPTION("unchanged-toast", parse_boolean, unchanged_toast),
	OPTION("without-identity", parse_without_identity, without_identity),
	OPTION("write-in-chunks", parse_boolean, write_in_chunks),
	{"include-unchanged-toast", refuse_deprecated, 0},
	{"proto_version", refuse_pgoutput, 0},
	{"publication_names", refuse_pgoutput, 0},
};

#define REFUSED_OPTIONS		3	/* the last ones of the table */
#define OFFERED_OPTIONS		(lengthof(option_specs) - REFUSED_OPTIONS)

pg_noreturn static void
unknown_option(const DefElem *elem)
{
	const char *value = option_value(elem);
	const char *names[OFFERED_OPTIONS];
	char	   *near;

	for (int i = 0; i < (int) OFFERED_OPTIONS; i++)
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
	options->include_typmod = true;
	options->include_transaction = true;
	options->include_empty_transactions = true;
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
		spec->parse(elem, (char *) options + spec->offset);
	}

	if (options->format_version == 1 && (options->streaming || options->two_phase))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("options \"streaming\" and \"two-phase\" need format version 2"),
				 errdetail("Version 1 has one object for a whole transaction.")));

	/* records of interleaved transactions are told apart by it */
	if (options->streaming)
		options->include_xids = true;
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
	if (matches_any(options->filter_tables.patterns, schema, table))
		return false;
	return !options->add_tables.given ||
		matches_any(options->add_tables.patterns, schema, table);
}

static bool
matches_prefix(const List *patterns, const char *prefix)
{
	ListCell   *lc;

	foreach(lc, patterns)
	{
		const char *pattern = lfirst(lc);
		Size		len = strlen(pattern);

		if (len > 0 && pattern[len - 1] == '*' ?
			strncmp(pattern, prefix, len - 1) == 0 : strcmp(pattern, prefix) == 0)
			return true;
	}
	return false;
}

bool
acdat_prefix_wanted(const AcdatOptions *options, const char *prefix)
{
	if (matches_prefix(options->filter_prefixes, prefix))
		return false;
	return options->add_prefixes == NIL || matches_prefix(options->add_prefixes, prefix);
}
