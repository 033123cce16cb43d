/*
 * explain.c
 *		acdat.explain: what the published form of a policy does to a table.
 */
#include "postgres.h"

#include "access/relation.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "decoder.h"
#include "sql.h"

PG_FUNCTION_INFO_V1(acdat_explain);

/* A rule as its owner would name it. */
static char *
rule_text(const AcdatRule *rule)
{
	if (rule == NULL)
		return "default";
	switch (rule->kind)
	{
		case ACDAT_RULE_COLUMN:
			return psprintf("column %s.%s", quote_qualified_identifier(rule->schema, rule->relation),
							quote_identifier(rule->column));
		case ACDAT_RULE_RELATION:
			return psprintf("relation %s", quote_qualified_identifier(rule->schema, rule->relation));
		case ACDAT_RULE_NAME:
			return psprintf("column name %s", quote_identifier(rule->column));
		case ACDAT_RULE_TYPE:
			return psprintf("type %s", quote_qualified_identifier(rule->type_schema, rule->type_name));
	}
	return "unknown";
}

static ArrayBuildState *
add_text(ArrayBuildState *array, const char *str)
{
	return accumArrayResult(array, CStringGetTextDatum(str), false, TEXTOID, CurrentMemoryContext);
}

/* What its owner might not expect of a column. */
static ArrayBuildState *
column_warnings(const AcdatPolicy *policy, const AcdatDecision *decision, Form_pg_attribute attr)
{
	ArrayBuildState *warnings = NULL;
	bool		passes = decision->action == ACDAT_REDACT && !policy->scan_all &&
		!acdat_type_holds_text(attr->atttypid);

	if (decision->conflict)
		warnings = add_text(warnings, "rules of one rank contradict each other: the column is left out");
	if (passes)
		warnings = add_text(warnings, "the type holds no text: values pass as they are");
	if (decision->key && decision->action == ACDAT_REDACT && !passes)
		warnings = add_text(warnings, "key: a value with a match gets \"~\" and 16 hexadecimal digits");
	if (decision->key && decision->action >= ACDAT_MASK && decision->action <= ACDAT_DROP)
		warnings = add_text(warnings, "key: different values become the same");
	if (decision->action == ACDAT_ERROR)
		warnings = add_text(warnings, "no rule decides the column: streaming a change of it fails");
	if (decision->inherited)
		warnings = add_text(warnings, "the rule is of a parent table");
	if (decision->rule != NULL && decision->rule->kind == ACDAT_RULE_COLUMN &&
		attr->attgenerated == '\0' && !decision->inherited &&
		strcmp(decision->rule->column, NameStr(attr->attname)) != 0)
		warnings = add_text(warnings, "the column had another name when the policy was published");
	return warnings;
}

static void
put_column(ReturnSetInfo *rsinfo, const AcdatPolicy *policy, const AcdatDecision *decision,
		   Form_pg_attribute attr)
{
	ArrayBuildState *warnings = column_warnings(policy, decision, attr);
	Datum		values[6];
	bool		nulls[6] = {false};

	values[0] = CStringGetTextDatum(NameStr(attr->attname));
	values[1] = CStringGetTextDatum(format_type_with_typemod(attr->atttypid, attr->atttypmod));
	values[2] = CStringGetTextDatum(acdat_action_name(decision->action));
	values[3] = CStringGetTextDatum(rule_text(decision->rule));
	values[4] = values[5] = (Datum) 0;
	nulls[4] = decision->action != ACDAT_REDACT || policy->nmachines == 0;
	if (!nulls[4])
	{
		ArrayBuildState *machines = NULL;

		for (int i = 0; i < policy->nmachines; i++)
			machines = add_text(machines, policy->machines[i].dictionary);
		values[4] = makeArrayResult(machines, CurrentMemoryContext);
	}
	nulls[5] = warnings == NULL;
	if (warnings != NULL)
		values[5] = makeArrayResult(warnings, CurrentMemoryContext);
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
}

/* explain(policy, relation) */
Datum
acdat_explain(PG_FUNCTION_ARGS)
{
	text	   *name = PG_GETARG_TEXT_PP(0);
	Oid			relid = PG_GETARG_OID(1);
	AcdatPolicy *policy = acdat_published_policy(text_to_cstring(name));
	Relation	relation;
	AcdatDecision *decisions;
	TupleDesc	desc;

	InitMaterializedSRF(fcinfo, 0);
	relation = try_relation_open(relid, AccessShareLock);
	if (relation == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("relation with OID %u does not exist", relid)));
	if (!RELKIND_HAS_TABLE_AM(relation->rd_rel->relkind) &&
		relation->rd_rel->relkind != RELKIND_PARTITIONED_TABLE)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a table", RelationGetRelationName(relation))));
	desc = RelationGetDescr(relation);
	decisions = palloc0((desc->natts + 1) * sizeof(AcdatDecision));
	acdat_decide(policy, relation, decisions);
	for (int i = 0; i < desc->natts; i++)
	{
		if (!TupleDescAttr(desc, i)->attisdropped)
			put_column((ReturnSetInfo *) fcinfo->resultinfo, policy, &decisions[i],
					   TupleDescAttr(desc, i));
	}
	relation_close(relation, AccessShareLock);
	return (Datum) 0;
}
