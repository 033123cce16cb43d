/*
 * publish_build.c
 *		A policy as it would be published now, from the tables users write.
 *
 * The tables have no constraints that say what values mean (they would print
 * rows), so everything is checked here, whoever wrote it.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/syscache.h"
#include "access/htup_details.h"

#include "acdat.h"
#include "compat.h"
#include "publish.h"
#include "sql.h"

/* ---- small helpers ---- */

void
acdat_report(AcdatReport *report, const char *separator, const char *item)
{
	Assert(report->text.data != NULL);
	if (report->items >= ACDAT_MAX_REPORTED)
	{
		report->left_out++;
		return;
	}
	if (report->items++ > 0)
		appendStringInfoString(&report->text, separator);
	appendStringInfoString(&report->text, item);
}

char *
acdat_report_text(AcdatReport *report)
{
	bool		sentences = report->text.len > 0 && report->text.data[report->text.len - 1] == '.';

	if (report->left_out > 0)
		appendStringInfo(&report->text, sentences ? "\nThere are %d more." : " and %d more",
						 report->left_out);
	report->left_out = 0;
	return report->text.data;
}

void
acdat_spi(const char *query, int nargs, Oid *types, Datum *values, bool read_only, int expected)
{
	int			result = SPI_execute_with_args(query, nargs, types, values, NULL, read_only, 0);

	if (result != expected)
		elog(ERROR, "SPI_execute_with_args returned %s", SPI_result_code_string(result));
}

/* A column of a result row as a string in "context"; NULL if null. */
static char *
row_string(uint64 row, int column, MemoryContext context)
{
	char	   *value = SPI_getvalue(SPI_tuptable->vals[row], SPI_tuptable->tupdesc, column);

	return value ? MemoryContextStrdup(context, value) : NULL;
}

static Datum
row_datum(uint64 row, int column, bool *isnull)
{
	return SPI_getbinval(SPI_tuptable->vals[row], SPI_tuptable->tupdesc, column, isnull);
}

/* ---- settings ---- */

pg_noreturn static void
unknown_policy(const char *name)
{
	const char **names;

	acdat_spi("SELECT name FROM acdat.policies ORDER BY name", 0, NULL, NULL, true, SPI_OK_SELECT);
	names = palloc((SPI_processed + 1) * sizeof(char *));
	for (uint64 i = 0; i < SPI_processed; i++)
		names[i] = row_string(i, 1, CurrentMemoryContext);
	ereport(ERROR,
			(errcode(ERRCODE_UNDEFINED_OBJECT),
			 errmsg("policy \"%s\" does not exist", name),
			 errhint("%s", acdat_near_hint("policies", name, names, (int) SPI_processed))));
}

pg_noreturn static void
bad_setting(const char *policy, const char *setting, const char *value)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("policy \"%s\" has an invalid %s: \"%s\"", policy, setting,
					value ? value : "NULL"),
			 errhint("Set it with acdat.alter_policy.")));
}

/* Which of two values a setting has: false for the first, true for the second. */
static bool
two_way_setting(const char *policy, const char *setting, const char *value,
				const char *first, const char *second)
{
	if (value != NULL && strcmp(value, first) == 0)
		return false;
	if (value == NULL || strcmp(value, second) != 0)
		bad_setting(policy, setting, value);
	return true;
}

static void
load_settings(AcdatPolicy *policy, const char *name, MemoryContext context)
{
	Oid			types[] = {TEXTOID};
	Datum		values[] = {CStringGetTextDatum(name)};
	char	   *action;
	char	   *on_unfit;
	bytea	   *secret;
	Datum		datum;
	bool		isnull;

	acdat_spi("SELECT default_action, scan, clock, on_unfit, secret "
			  "FROM acdat.policies WHERE name = $1", 1, types, values, true, SPI_OK_SELECT);
	if (SPI_processed == 0)
		unknown_policy(name);
	policy->name = MemoryContextStrdup(context, name);
	action = row_string(0, 1, CurrentMemoryContext);
	if (action == NULL || !acdat_action_from_name(action, &policy->default_action))
		bad_setting(name, "default_action", action);
	policy->scan_all = two_way_setting(name, "scan", row_string(0, 2, CurrentMemoryContext), "text", "all");
	policy->clock_commit = two_way_setting(name, "clock", row_string(0, 3, CurrentMemoryContext), "latest", "commit");
	on_unfit = row_string(0, 4, CurrentMemoryContext);
	if (on_unfit == NULL || strcmp(on_unfit, "null") != 0)
		bad_setting(name, "on_unfit", on_unfit);
	datum = row_datum(0, 5, &isnull);
	if (isnull)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("policy \"%s\" has no secret", name),
				 errhint("Create policies with acdat.create_policy.")));
	secret = DatumGetByteaPP(datum);
	policy->secret_len = (int) VARSIZE_ANY_EXHDR(secret);
	if (policy->secret_len < 16 || policy->secret_len > PG_UINT16_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("secret of policy \"%s\" has a wrong length", name),
				 errdetail("It must have from 16 to 65535 bytes.")));
	policy->secret = MemoryContextAlloc(context, policy->secret_len);
	memcpy(policy->secret, VARDATA_ANY(secret), policy->secret_len);
}

/* ---- dictionaries ---- */

static void
load_dictionaries(AcdatBuild *build, MemoryContext context, bool quiet)
{
	AcdatPolicy *policy = &build->policy;
	Oid			types[] = {TEXTOID};
	Datum		values[] = {CStringGetTextDatum(policy->name)};
	int			count;
	char	  **replacements;

	acdat_spi("SELECT p.dictionary, coalesce(d.replacement, '" ACDAT_DEFAULT_MASK "'), "
			  "d.name IS NOT NULL, cardinality(d.options) > 0 "
			  "FROM acdat.policy_dictionaries p LEFT JOIN acdat.dictionaries d ON d.name = p.dictionary "
			  "WHERE p.policy = $1 ORDER BY p.position, p.dictionary",
			  1, types, values, true, SPI_OK_SELECT);
	if (SPI_processed > ACD_MAX_MACHINES)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("policy \"%s\" has too many dictionaries", policy->name),
				 errdetail("It may have at most %d.", ACD_MAX_MACHINES)));
	count = (int) SPI_processed;
	policy->machines = MemoryContextAllocZero(context, (count + 1) * sizeof(AcdatMachineRef));
	build->machines = MemoryContextAllocZero(context, (count + 1) * sizeof(AcdatBuiltMachine));
	build->opened = MemoryContextAllocZero(context, (count + 1) * sizeof(acd_machine *));
	replacements = palloc((count + 1) * sizeof(char *));
	for (int i = 0; i < count; i++)
	{
		bool		isnull;

		policy->machines[i].dictionary = row_string(i, 1, context);
		replacements[i] = row_string(i, 2, CurrentMemoryContext);
		if (!DatumGetBool(row_datum(i, 3, &isnull)))
			ereport(ERROR,
					(errcode(ERRCODE_UNDEFINED_OBJECT),
					 errmsg("dictionary \"%s\" does not exist", policy->machines[i].dictionary)));
		if (DatumGetBool(row_datum(i, 4, &isnull)) && !isnull)
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("dictionary \"%s\" has options, which are not supported yet",
							policy->machines[i].dictionary)));
	}

	for (int i = 0; i < count; i++)
	{
		AcdatMachineRef *ref = &policy->machines[i];
		acd_machine_info info;

		acdat_build_machine(ref->dictionary, replacements[i], context, quiet, &build->machines[i]);
		acd_machine_describe(&build->machines[i].machine, &info);
		memcpy(ref->digest, info.digest, ACD_DIGEST_LEN);
		ref->size = (int64) build->machines[i].machine.size;
		build->opened[i] = &build->machines[i].machine;
		policy->nmachines++;
	}
}

/* ---- rules ---- */

/* Names of a rule's relation; false if there is none. */
static bool
resolve_relation(AcdatRule *rule, MemoryContext context)
{
	char	   *name = get_rel_name(rule->relid);
	char	   *schema = name ? get_namespace_name(get_rel_namespace(rule->relid)) : NULL;

	if (schema == NULL)
		return false;
	rule->schema = MemoryContextStrdup(context, schema);
	rule->relation = MemoryContextStrdup(context, name);
	return true;
}

static bool
resolve_type(AcdatRule *rule, MemoryContext context)
{
	HeapTuple	tuple = SearchSysCache1(TYPEOID, ObjectIdGetDatum(rule->typid));
	Form_pg_type type;
	char	   *schema;

	if (!HeapTupleIsValid(tuple))
		return false;
	type = (Form_pg_type) GETSTRUCT(tuple);
	schema = get_namespace_name(type->typnamespace);
	if (schema != NULL)
		rule->type_schema = MemoryContextStrdup(context, schema);
	rule->type_name = MemoryContextStrdup(context, NameStr(type->typname));
	ReleaseSysCache(tuple);
	return schema != NULL;
}

/* What is wrong with a rule, or NULL; completes it from what it names. */
static const char *
resolve_rule(AcdatRule *rule, MemoryContext context)
{
	bool		of_relation = OidIsValid(rule->relid);
	bool		of_type = OidIsValid(rule->typid);

	if ((!of_relation && !of_type && rule->column == NULL) ||
		(of_type && (of_relation || rule->column != NULL)))
		return "it is not for a relation and column, a relation, a column name, or a type";
	if (of_relation && !resolve_relation(rule, context))
		return psprintf("relation with OID %u no longer exists", rule->relid);
	if (of_type && !resolve_type(rule, context))
		return psprintf("type with OID %u no longer exists", rule->typid);
	if (of_type)
		rule->kind = ACDAT_RULE_TYPE;
	else if (!of_relation)
		rule->kind = ACDAT_RULE_NAME;
	else if (rule->column == NULL)
		rule->kind = ACDAT_RULE_RELATION;
	else
	{
		rule->kind = ACDAT_RULE_COLUMN;
		rule->attnum = get_attnum(rule->relid, rule->column);
		if (rule->attnum <= 0)
			return psprintf("relation \"%s.%s\" has no column \"%s\"", rule->schema,
							rule->relation, rule->column);
	}
	return NULL;
}

/* The same for what it does. */
static const char *
resolve_action(AcdatRule *rule, const char *action)
{
	if (action == NULL || !acdat_action_from_name(action, &rule->action) ||
		rule->action == ACDAT_ERROR)
		return psprintf("action \"%s\" is not one a rule can have", action ? action : "NULL");
	if (rule->argument != NULL && rule->action != ACDAT_MASK)
		return psprintf("action \"%s\" takes no argument", action);
	return NULL;
}

static bool
same_target(const AcdatRule *a, const AcdatRule *b)
{
	return a->relid == b->relid && a->typid == b->typid &&
		(a->column == NULL) == (b->column == NULL) &&
		(a->column == NULL || strcmp(a->column, b->column) == 0);
}

static void
load_rules(AcdatPolicy *policy, MemoryContext context)
{
	Oid			types[] = {TEXTOID};
	Datum		values[] = {CStringGetTextDatum(policy->name)};
	AcdatReport problems = {0};

	initStringInfo(&problems.text);
	acdat_spi("SELECT id, action, relation::oid, column_name, type::oid, argument "
			  "FROM acdat.policy_rules WHERE policy = $1 ORDER BY id",
			  1, types, values, true, SPI_OK_SELECT);
	policy->rules = MemoryContextAllocZero(context, (SPI_processed + 1) * sizeof(AcdatRule));
	for (uint64 i = 0; i < SPI_processed; i++)
	{
		AcdatRule  *rule = &policy->rules[policy->nrules];
		bool		isnull;
		char	   *id = row_string(i, 1, CurrentMemoryContext);
		Datum		relid = row_datum(i, 3, &isnull);
		const char *problem;

		rule->relid = isnull ? InvalidOid : DatumGetObjectId(relid);
		rule->column = row_string(i, 4, context);
		rule->typid = DatumGetObjectId(row_datum(i, 5, &isnull));
		if (isnull)
			rule->typid = InvalidOid;
		rule->argument = row_string(i, 6, context);
		problem = resolve_rule(rule, context);
		if (problem == NULL)
			problem = resolve_action(rule, row_string(i, 2, CurrentMemoryContext));
		for (int j = 0; problem == NULL && j < policy->nrules; j++)
		{
			if (same_target(rule, &policy->rules[j]))
				problem = "another rule is for the same columns";
		}
		if (problem != NULL)
			acdat_report(&problems, "\n", psprintf("Rule %s: %s.", id, problem));
		policy->nrules++;
	}
	if (problems.items > 0)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("policy \"%s\" has rules that cannot be published", policy->name),
				 errdetail("%s", acdat_report_text(&problems)),
				 errhint("Remove them with acdat.clear_action, or delete them from acdat.policy_rules by id.")));
}

/* A policy that redacts must have something to redact with. */
static void
check_dictionaries(const AcdatPolicy *policy)
{
	bool		redacts = policy->default_action == ACDAT_REDACT;

	for (int i = 0; i < policy->nrules; i++)
		redacts = redacts || policy->rules[i].action == ACDAT_REDACT;
	if (redacts && policy->nmachines == 0)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("policy \"%s\" has no dictionary to redact with", policy->name),
				 errhint("Add one with acdat.add_dictionary, or let no action of the policy be \"redact\".")));
}

AcdatBuild *
acdat_build_policy(const char *name, MemoryContext context, bool quiet)
{
	AcdatBuild *build = MemoryContextAllocZero(context, sizeof(AcdatBuild));

	load_settings(&build->policy, name, context);
	load_rules(&build->policy, context);
	load_dictionaries(build, context, quiet);
	check_dictionaries(&build->policy);
	return build;
}
