/*
 * publish_check.c
 *		What publishing refuses and warns of.
 */
#include "postgres.h"

#include "access/table.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "acdat.h"
#include "compat.h"
#include "publish.h"

/* ---- seams ---- */

typedef struct SeamProblems
{
	const AcdatBuild *build;
	AcdatReport report;
} SeamProblems;

static int64
term_id(const SeamProblems *problems, uint32 machine, uint32 term)
{
	acd_term_info info = {0};

	(void) acd_machine_term(problems->build->opened[machine], term, &info);
	return info.id;
}

static int
note_seam(void *arg, const acd_seam_problem *problem)
{
	SeamProblems *problems = arg;
	long long	id = term_id(problems, problem->machine, problem->term);
	long long	other = problem->seam == ACD_SEAM_EMPTY ? 0 :
		term_id(problems, problem->other_machine, problem->other_term);
	AcdatReport *report = &problems->report;

	CHECK_FOR_INTERRUPTS();
	switch (problem->seam)
	{
		case ACD_SEAM_EMPTY:
			acdat_report(report, "\n", psprintf("Term %lld: its replacement is empty.", id));
			break;
		case ACD_SEAM_CONTAINS_TERM:
			acdat_report(report, "\n", psprintf("Term %lld: its replacement contains term %lld.", id, other));
			break;
		case ACD_SEAM_INSIDE_TERM:
			acdat_report(report, "\n", psprintf("Term %lld: its replacement lies inside term %lld.", id, other));
			break;
		case ACD_SEAM_PREFIX:
			acdat_report(report, "\n", psprintf("Term %lld: its replacement begins as term %lld ends.", id, other));
			break;
		case ACD_SEAM_SUFFIX:
			acdat_report(report, "\n", psprintf("Term %lld: its replacement ends as term %lld begins.", id, other));
			break;
	}
	return 0;
}

/* Refuse replacements that could leave or make a term in redacted text. */
void
acdat_check_seams(const AcdatBuild *build)
{
	acd_allocator allocator = acdat_allocator(CurrentMemoryContext);
	SeamProblems problems = {build, {{0}, 0, 0}};
	acd_status	status;

	if (build->policy.nmachines == 0)
		return;
	initStringInfo(&problems.report.text);
	status = acd_seam_check(build->opened, build->policy.nmachines, &allocator,
							note_seam, &problems);
	if (status != ACD_OK)
		acdat_raise(status, psprintf("dictionaries of policy \"%s\"", build->policy.name));
	if (problems.report.items > 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("policy \"%s\" has replacements that could leave or make a term in redacted text",
						build->policy.name),
				 errdetail("%s", acdat_report_text(&problems.report)),
				 errhint("Choose other replacements, or publish with allow_unsafe_replacement => true.")));
}

/* ---- columns ---- */

static const char *const relations_query =
	"SELECT c.oid FROM pg_catalog.pg_class c "
	"WHERE c.relkind IN ('r', 'p') AND c.relpersistence = 'p' AND c.oid >= 16384 "
	"AND c.relnamespace NOT IN ('pg_catalog'::regnamespace, 'information_schema'::regnamespace) "
	"AND NOT EXISTS (SELECT FROM pg_catalog.pg_depend d JOIN pg_catalog.pg_extension e ON e.oid = d.refobjid "
	"WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.objsubid = 0 AND d.deptype = 'e' "
	"AND d.refclassid = 'pg_extension'::regclass AND e.extname = '" ACDAT_EXTENSION "') "
	"ORDER BY c.oid";

/* What was found out about the columns of all tables. */
typedef struct ColumnProblems
{
	const AcdatPolicy *policy;
	const AcdatPolicy *previous;	/* or NULL */
	bool		other_terms;	/* machines or secret differ from the previous */
	AcdatReport conflicts;
	AcdatReport lossy;
	AcdatReport changed;
} ColumnProblems;

static bool
same_terms(const AcdatPolicy *a, const AcdatPolicy *b)
{
	if (a->nmachines != b->nmachines || a->secret_len != b->secret_len ||
		a->scan_all != b->scan_all || memcmp(a->secret, b->secret, a->secret_len) != 0)
		return false;
	for (int i = 0; i < a->nmachines; i++)
	{
		if (memcmp(a->machines[i].digest, b->machines[i].digest, ACD_DIGEST_LEN) != 0)
			return false;
	}
	return true;
}

/* Could "redact" change a value of this type? */
static bool
may_hold_terms(const AcdatPolicy *policy, Oid typid)
{
	char		category;
	bool		preferred;

	if (policy->scan_all)
		return true;
	typid = getBaseType(typid);
	get_type_category_preferred(typid, &category, &preferred);
	return strchr("BDGINTV", category) == NULL && typid != UUIDOID && typid != BYTEAOID;
}

/* Will a key column's values come out other than under the previous generation? */
static bool
key_may_change(const ColumnProblems *problems, const AcdatDecision *now,
			   const AcdatDecision *before, Oid typid)
{
	bool		redacted = now->action == ACDAT_REDACT || before->action == ACDAT_REDACT;

	if (redacted && !may_hold_terms(problems->policy, typid))
		redacted = false;
	if (now->action != before->action)
		return redacted || Max(now->action, before->action) > ACDAT_REDACT;
	if (now->action == ACDAT_MASK)
		return strcmp(now->mask, before->mask) != 0;
	return redacted && problems->other_terms;
}

/* "schema.relation.column", quoted where needed. */
static char *
column_name(Relation relation, Form_pg_attribute attr)
{
	return psprintf("%s.%s",
					quote_qualified_identifier(get_namespace_name(RelationGetNamespace(relation)),
											   RelationGetRelationName(relation)),
					quote_identifier(NameStr(attr->attname)));
}

static void
examine_relation(ColumnProblems *problems, Relation relation)
{
	TupleDesc	desc = RelationGetDescr(relation);
	AcdatDecision *now = palloc0((desc->natts + 1) * sizeof(AcdatDecision));
	AcdatDecision *before = NULL;

	acdat_decide(problems->policy, relation, now);
	if (problems->previous != NULL)
	{
		before = palloc0((desc->natts + 1) * sizeof(AcdatDecision));
		acdat_decide(problems->previous, relation, before);
	}
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute attr = TupleDescAttr(desc, i);

		if (attr->attisdropped)
			continue;
		if (now[i].conflict)
			acdat_report(&problems->conflicts, ", ", column_name(relation, attr));
		else if (now[i].key && now[i].action >= ACDAT_MASK && now[i].action <= ACDAT_DROP)
			acdat_report(&problems->lossy, ", ",
						 psprintf("%s (%s)", column_name(relation, attr),
								  acdat_action_name(now[i].action)));
		if (now[i].key && before != NULL &&
			key_may_change(problems, &now[i], &before[i], attr->atttypid))
			acdat_report(&problems->changed, ", ", column_name(relation, attr));
	}
}

static void
report_columns(ColumnProblems *problems, bool allow_lossy_keys)
{
	const char *name = problems->policy->name;

	if (problems->conflicts.items > 0)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("rules of policy \"%s\" contradict each other", name),
				 errdetail("Rules of one rank say different things of these columns: %s.",
						   acdat_report_text(&problems->conflicts)),
				 errhint("Give each column a rule of its own.")));
	if (problems->lossy.items > 0 && !allow_lossy_keys)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("policy \"%s\" would make different keys the same", name),
				 errdetail("Columns of a replica identity or a unique index: %s.",
						   acdat_report_text(&problems->lossy)),
				 errhint("Use \"redact\" or \"keep\" for them, or publish with allow_lossy_keys => true.")));
	if (problems->changed.items > 0)
		ereport(NOTICE,
				(errmsg("key values may come out of policy \"%s\" other than before", name),
				 errdetail("Key columns: %s.", acdat_report_text(&problems->changed)),
				 errhint("Rows that are already downstream keep the old form of their keys.")));
}

/* Decide the columns of all tables, and refuse or warn of what that shows. */
void
acdat_check_columns(const AcdatPolicy *policy, const AcdatPolicy *previous,
					bool allow_lossy_keys)
{
	ColumnProblems problems = {0};
	MemoryContext reports = CurrentMemoryContext;
	MemoryContext scratch = AllocSetContextCreate(reports, "acdat columns",
												  ALLOCSET_DEFAULT_SIZES);
	SPITupleTable *table;
	uint64		nrelations;

	problems.policy = policy;
	problems.previous = previous;
	problems.other_terms = previous != NULL && !same_terms(policy, previous);
	initStringInfo(&problems.conflicts.text);
	initStringInfo(&problems.lossy.text);
	initStringInfo(&problems.changed.text);

	acdat_spi(relations_query, 0, NULL, NULL, true, SPI_OK_SELECT);
	table = SPI_tuptable;
	nrelations = SPI_processed;
	for (uint64 i = 0; i < nrelations; i++)
	{
		bool		isnull;
		Oid			relid = DatumGetObjectId(SPI_getbinval(table->vals[i], table->tupdesc, 1, &isnull));
		Relation	relation = try_table_open(relid, AccessShareLock);
		MemoryContext old;

		CHECK_FOR_INTERRUPTS();
		if (relation == NULL)	/* dropped meanwhile */
			continue;
		old = MemoryContextSwitchTo(scratch);
		examine_relation(&problems, relation);
		MemoryContextSwitchTo(old);
		MemoryContextReset(scratch);
		table_close(relation, AccessShareLock);
	}
	MemoryContextDelete(scratch);
	report_columns(&problems, allow_lossy_keys);
}
