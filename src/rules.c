/*
 * rules.c
 *		Which rule of a policy decides a column.
 *
 * From the most to the least specific: relation and column, relation, column
 * name anywhere, type, default.  Within the first two a relation's own rules
 * come before those of its ancestors.  A rule holds for what it named when it
 * was published and for what bears that name now, so that renaming, swapping
 * and dropping and adding again uncover nothing; where two rules of one rank
 * then say different things of one column, the column is withheld.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/stratnum.h"
#include "access/sysattr.h"
#include "access/table.h"
#include "catalog/indexing.h"
#include "catalog/pg_index.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_type.h"
#include "nodes/nodes.h"
#include "optimizer/optimizer.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/relcache.h"
#include "utils/syscache.h"

#include "compat.h"
#include "policy.h"

/* A relation or an ancestor of it, as rules name relations. */
typedef struct RelationName
{
	Oid			relid;
	char	   *schema;
	char	   *name;
} RelationName;

/* Facts about one column that rules are matched against. */
typedef struct ColumnName
{
	const char *name;
	AttrNumber	attnum;
	Oid			typid;
} ColumnName;

static RelationName *
relation_name(Oid relid)
{
	RelationName *result = palloc0(sizeof(RelationName));

	result->relid = relid;
	result->schema = get_namespace_name(get_rel_namespace(relid));
	result->name = get_rel_name(relid);
	return result;
}

/* Append the direct parents of a relation that are not in the list yet. */
static List *
add_parents(List *relids, Oid relid)
{
	Relation	inherits = table_open(InheritsRelationId, AccessShareLock);
	SysScanDesc scan;
	ScanKeyData key;
	HeapTuple	tuple;

	ScanKeyInit(&key, Anum_pg_inherits_inhrelid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(relid));
	scan = systable_beginscan(inherits, InheritsRelidSeqnoIndexId, true, NULL, 1, &key);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
		relids = list_append_unique_oid(relids,
										((Form_pg_inherits) GETSTRUCT(tuple))->inhparent);
	systable_endscan(scan);
	table_close(inherits, AccessShareLock);
	return relids;
}

List *
acdat_ancestors(Oid relid)
{
	List	   *relids = add_parents(NIL, relid);

	/* the list grows while it is walked */
	for (int i = 0; i < list_length(relids); i++)
		relids = add_parents(relids, list_nth_oid(relids, i));
	return relids;
}

/* The same as RelationNames. */
static List *
find_ancestors(Oid relid)
{
	List	   *relids = acdat_ancestors(relid);
	List	   *result = NIL;

	for (int i = 0; i < list_length(relids); i++)
		result = lappend(result, relation_name(list_nth_oid(relids, i)));
	list_free(relids);
	return result;
}

/* Does a rule name this relation, by oid or by name? */
static bool
names_relation(const AcdatRule *rule, const RelationName *relation)
{
	return rule->relid == relation->relid ||
		(relation->schema != NULL && relation->name != NULL &&
		 strcmp(rule->schema, relation->schema) == 0 &&
		 strcmp(rule->relation, relation->name) == 0);
}

/*
 * Does a rule for a column of "relation" name this column?  Of an ancestor
 * the attribute number is not the child's: it counts by the name it bears in
 * the ancestor now.
 */
static bool
names_column(const AcdatRule *rule, const RelationName *relation, bool ancestor,
			 const ColumnName *column)
{
	if (strcmp(rule->column, column->name) == 0)
		return true;
	if (rule->relid != relation->relid || rule->attnum == InvalidAttrNumber)
		return false;
	if (ancestor)
	{
		char	   *name = get_attname(relation->relid, rule->attnum, true);

		return name != NULL && strcmp(name, column->name) == 0;
	}
	return rule->attnum == column->attnum;
}

/* The type a domain is directly over, which may be a domain too. */
static Oid
domain_over(Oid typid)
{
	HeapTuple	tuple = SearchSysCache1(TYPEOID, ObjectIdGetDatum(typid));
	Oid			result;

	if (!HeapTupleIsValid(tuple))
		return InvalidOid;
	result = ((Form_pg_type) GETSTRUCT(tuple))->typbasetype;
	ReleaseSysCache(tuple);
	return result;
}

static bool
names_type(const AcdatRule *rule, Oid typid)
{
	HeapTuple	tuple;
	Form_pg_type type;
	char	   *schema;
	bool		result;

	if (rule->typid == typid)
		return true;
	tuple = SearchSysCache1(TYPEOID, ObjectIdGetDatum(typid));
	if (!HeapTupleIsValid(tuple))
		return false;
	type = (Form_pg_type) GETSTRUCT(tuple);
	schema = get_namespace_name(type->typnamespace);
	result = schema != NULL && strcmp(rule->type_schema, schema) == 0 &&
		strcmp(rule->type_name, NameStr(type->typname)) == 0;
	ReleaseSysCache(tuple);
	return result;
}

/* Take a rule into a decision that may already follow another of its rank. */
static void
apply_rule(const AcdatRule *rule, bool inherited, AcdatDecision *decision)
{
	const char *mask = rule->argument ? rule->argument : ACDAT_DEFAULT_MASK;

	if (decision->rule == NULL)
	{
		decision->rule = rule;
		decision->action = rule->action;
		decision->mask = mask;
		decision->inherited = inherited;
	}
	else if (decision->action != rule->action || strcmp(decision->mask, mask) != 0)
	{
		decision->conflict = true;
		decision->action = ACDAT_DROP;
	}
}

/* Apply the rules of a kind that name a relation; true if there was one. */
static bool
apply_relation_rules(const AcdatPolicy *policy, AcdatRuleKind kind,
					 const RelationName *relation, bool ancestor,
					 const ColumnName *column, AcdatDecision *decision)
{
	for (int i = 0; i < policy->nrules; i++)
	{
		const AcdatRule *rule = &policy->rules[i];

		if (rule->kind == kind && names_relation(rule, relation) &&
			(kind == ACDAT_RULE_RELATION ||
			 names_column(rule, relation, ancestor, column)))
			apply_rule(rule, ancestor, decision);
	}
	return decision->rule != NULL;
}

/* The same for column name and type rules; a type's own before its base type's. */
static bool
apply_general_rules(const AcdatPolicy *policy, AcdatRuleKind kind,
					const ColumnName *column, AcdatDecision *decision)
{
	Oid			typid = column->typid;

	for (;;)
	{
		for (int i = 0; i < policy->nrules; i++)
		{
			const AcdatRule *rule = &policy->rules[i];

			if (rule->kind != kind)
				continue;
			if (kind == ACDAT_RULE_NAME ? strcmp(rule->column, column->name) == 0
				: names_type(rule, typid))
				apply_rule(rule, false, decision);
		}
		if (decision->rule != NULL)
			return true;

		/* one domain down */
		if (kind != ACDAT_RULE_TYPE || get_typtype(typid) != TYPTYPE_DOMAIN)
			return false;
		typid = domain_over(typid);
	}
}

static void
decide_column(const AcdatPolicy *policy, const RelationName *own, List *ancestors,
			  const ColumnName *column, AcdatDecision *decision)
{
	static const AcdatRuleKind relation_kinds[] = {ACDAT_RULE_COLUMN, ACDAT_RULE_RELATION};
	ListCell   *lc;

	decision->mask = ACDAT_DEFAULT_MASK;
	for (int i = 0; i < (int) lengthof(relation_kinds); i++)
	{
		if (apply_relation_rules(policy, relation_kinds[i], own, false, column, decision))
			return;
		foreach(lc, ancestors)
			apply_relation_rules(policy, relation_kinds[i], lfirst(lc), true, column, decision);
		if (decision->rule != NULL)
			return;
	}
	if (apply_general_rules(policy, ACDAT_RULE_NAME, column, decision) ||
		apply_general_rules(policy, ACDAT_RULE_TYPE, column, decision))
		return;
	decision->action = policy->default_action;
}

Bitmapset *
acdat_index_columns(Oid index_oid, bool *unique)
{
	HeapTuple	tuple = SearchSysCache1(INDEXRELID, ObjectIdGetDatum(index_oid));
	Bitmapset  *result = NULL;
	Form_pg_index index;

	*unique = false;
	if (!HeapTupleIsValid(tuple))
		return NULL;
	index = (Form_pg_index) GETSTRUCT(tuple);
	for (int i = 0; i < index->indnkeyatts; i++)
	{
		if (index->indkey.values[i] > 0)
			result = bms_add_member(result, index->indkey.values[i]);
	}
	*unique = index->indisunique &&
		heap_attisnull(tuple, Anum_pg_index_indexprs, NULL) &&
		heap_attisnull(tuple, Anum_pg_index_indpred, NULL);
	ReleaseSysCache(tuple);
	return result;
}

/* Columns of the replica identity, the primary key and unique indexes, as attribute numbers. */
static Bitmapset *
key_columns(Relation relation)
{
	List	   *indexes = RelationGetIndexList(relation);
	Bitmapset  *result = NULL;
	ListCell   *lc;

	foreach(lc, indexes)
	{
		Oid			index_oid = lfirst_oid(lc);
		bool		unique;
		Bitmapset  *columns = acdat_index_columns(index_oid, &unique);

		if (unique || index_oid == relation->rd_pkindex || index_oid == relation->rd_replidindex)
			result = bms_join(result, columns);
		else
			bms_free(columns);
	}
	list_free(indexes);
	return result;
}

/* Columns that a stored generated column is computed from, as attribute numbers. */
static Bitmapset *
generation_sources(TupleDesc desc, AttrNumber attnum)
{
	Bitmapset  *offsets = NULL;
	Bitmapset  *result = NULL;
	int			member = -1;

	for (int i = 0; desc->constr != NULL && i < desc->constr->num_defval; i++)
	{
		if (desc->constr->defval[i].adnum == attnum)
			pull_varattnos(stringToNode(desc->constr->defval[i].adbin), 1, &offsets);
	}
	while ((member = bms_next_member(offsets, member)) >= 0)
	{
		AttrNumber	source = member + FirstLowInvalidHeapAttributeNumber;

		if (source == InvalidAttrNumber)	/* whole row */
			result = bms_add_range(result, 1, desc->natts);
		else if (source > 0)
			result = bms_add_member(result, source);
	}
	return bms_del_member(result, attnum);
}

/*
 * A generated column without a rule of its own takes the strictest action of
 * its sources.  Generated columns are never computed from one another, so one
 * pass does.
 */
static void
inherit_from_sources(TupleDesc desc, AttrNumber attnum, AcdatDecision *decisions)
{
	AcdatDecision *decision = &decisions[attnum - 1];
	Bitmapset  *sources = generation_sources(desc, attnum);
	int			source = -1;

	while ((source = bms_next_member(sources, source)) >= 0)
	{
		const AcdatDecision *from = &decisions[source - 1];

		if (TupleDescAttr(desc, source - 1)->attisdropped)
			continue;
		if (from->action == ACDAT_REDACT)
			decision->sources = bms_add_member(decision->sources, source);
		if (from->action > decision->action)
		{
			decision->action = from->action;
			decision->mask = from->mask;
			decision->rule = from->rule;
		}
	}
	bms_free(sources);
}

static bool
has_relation_rules(const AcdatPolicy *policy)
{
	for (int i = 0; i < policy->nrules; i++)
	{
		if (policy->rules[i].kind <= ACDAT_RULE_RELATION)
			return true;
	}
	return false;
}

void
acdat_decide(const AcdatPolicy *policy, Relation relation, AcdatDecision *decisions)
{
	TupleDesc	desc = RelationGetDescr(relation);
	RelationName *own = relation_name(RelationGetRelid(relation));
	List	   *ancestors = has_relation_rules(policy) ?
		find_ancestors(RelationGetRelid(relation)) : NIL;
	Bitmapset  *keys = key_columns(relation);

	memset(decisions, 0, desc->natts * sizeof(AcdatDecision));
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute attr = TupleDescAttr(desc, i);
		ColumnName	column = {NameStr(attr->attname), attr->attnum, attr->atttypid};

		if (attr->attisdropped)
			continue;
		decide_column(policy, own, ancestors, &column, &decisions[i]);
		decisions[i].key = bms_is_member(attr->attnum, keys);
	}
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute attr = TupleDescAttr(desc, i);

		if (!attr->attisdropped && attr->attgenerated != '\0' &&
			(decisions[i].rule == NULL || decisions[i].rule->kind != ACDAT_RULE_COLUMN))
			inherit_from_sources(desc, attr->attnum, decisions);
	}
	bms_free(keys);
}
