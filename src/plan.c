/*
 * plan.c
 *		What is known of a relation, looked up once and kept until it changes.
 *
 * A plan lives in a memory context of its own.  Invalidation only marks it:
 * the callback can come at any time, also while the plan is in use.  Marked
 * plans are freed when their relation is met again, or at the start of the
 * next transaction.
 */
#include "postgres.h"

#include "catalog/partition.h"
#include "catalog/dependency.h"
#include "catalog/pg_class.h"
#include "catalog/pg_namespace.h"
#include "commands/extension.h"
#include "replication/slot.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/relcache.h"
#include "utils/syscache.h"

#include "decoder.h"

/* Bytes of default expressions that are printed for a table. */
#define DEFAULTS_LIMIT	((Size) 8 * 1024 * 1024)

AcdatDecoder *acdat_current_decoder = NULL;

/* some plan is marked */
static bool plans_marked = false;

/* ---- invalidation ---- */

static void
mark_all_plans(void)
{
	HASH_SEQ_STATUS status;
	AcdatPlan  *plan;

	hash_seq_init(&status, acdat_current_decoder->plans);
	while ((plan = hash_seq_search(&status)) != NULL)
		plan->valid = false;
	plans_marked = true;
}

static void
relation_invalidated(Datum arg pg_attribute_unused(), Oid relid)
{
	AcdatPlan  *plan;
	bool		dependency;

	if (acdat_current_decoder == NULL || acdat_current_decoder->plans == NULL)
		return;
	acdat_policy_invalidated(relid);
	if (!OidIsValid(relid))
	{
		mark_all_plans();
		return;
	}

	/* the plans made in their place depend on it again, if there still is one */
	hash_search(acdat_current_decoder->dependencies, &relid, HASH_REMOVE, &dependency);
	if (dependency)
		mark_all_plans();
	plan = hash_search(acdat_current_decoder->plans, &relid, HASH_FIND, NULL);
	if (plan != NULL)
	{
		plan->valid = false;
		plans_marked = true;
	}
	else if (acdat_current_decoder->options.include_default)
		mark_all_plans();		/* defaults name sequences */
}

/* A schema or a type changed, whose names are in the plans. */
static void
name_invalidated(Datum arg pg_attribute_unused(), int cacheid pg_attribute_unused(),
				 uint32 hashvalue pg_attribute_unused())
{
	if (acdat_current_decoder != NULL && acdat_current_decoder->plans != NULL)
		mark_all_plans();
}

/* Something changed that the expressions of defaults can name. */
static void
default_invalidated(Datum arg, int cacheid, uint32 hashvalue)
{
	if (acdat_current_decoder != NULL && acdat_current_decoder->options.include_default)
		name_invalidated(arg, cacheid, hashvalue);
}

/* Callbacks cannot be taken back, so they are registered once per process. */
static void
register_callbacks(void)
{
	static const int caches_of_defaults[] = {PROCOID, OPEROID, COLLOID, ENUMOID};
	static bool registered = false;

	if (registered)
		return;
	CacheRegisterRelcacheCallback(relation_invalidated, (Datum) 0);
	CacheRegisterSyscacheCallback(NAMESPACEOID, name_invalidated, (Datum) 0);
	CacheRegisterSyscacheCallback(TYPEOID, name_invalidated, (Datum) 0);
	for (int i = 0; i < (int) lengthof(caches_of_defaults); i++)
		CacheRegisterSyscacheCallback(caches_of_defaults[i], default_invalidated, (Datum) 0);
	registered = true;
}

void
acdat_plans_init(AcdatDecoder *decoder)
{
	HASHCTL		control = {0};

	register_callbacks();
	control.keysize = sizeof(Oid);
	control.entrysize = sizeof(AcdatPlan);
	control.hcxt = decoder->session_context;
	decoder->plans = hash_create("acdat_decoder relation plans", 64, &control,
								 HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	control.entrysize = sizeof(Oid);
	decoder->dependencies = hash_create("acdat_decoder plan dependencies", 64, &control,
										HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	plans_marked = false;
}

/*
 * Plans depend on another relation than their own: an ancestor, whose name and
 * columns rules go by, or that of a composite type, whose columns say how its
 * values are looked at.  When it changes, all plans are made anew.
 */
void
acdat_depend_on(const AcdatDecoder *decoder, Oid relid)
{
	(void) hash_search(decoder->dependencies, &relid, HASH_ENTER, NULL);
}

static void
remove_plan(AcdatDecoder *decoder, AcdatPlan *plan)
{
	Oid			relid = plan->relid;

	if (decoder->last_plan == plan)
		decoder->last_plan = NULL;
	if (plan->context != NULL)
		MemoryContextDelete(plan->context);
	hash_search(decoder->plans, &relid, HASH_REMOVE, NULL);
}

/* Free plans that were marked; all of them if "all". */
static void
remove_plans(AcdatDecoder *decoder, bool all)
{
	HASH_SEQ_STATUS status;
	AcdatPlan  *plan;

	plans_marked = false;
	hash_seq_init(&status, decoder->plans);
	while ((plan = hash_seq_search(&status)) != NULL)
	{
		if (all || !plan->valid || !plan->complete)
			remove_plan(decoder, plan);
	}
}

void
acdat_plans_sweep(AcdatDecoder *decoder)
{
	if (plans_marked)
		remove_plans(decoder, false);
}

void
acdat_plans_discard(AcdatDecoder *decoder)
{
	remove_plans(decoder, true);
}

/* ---- building ---- */

/* Tables of the extension never leave the server, whoever publishes them. */
static bool
belongs_to_extension(Oid relid)
{
	Oid			extension = get_extension_oid(ACDAT_EXTENSION, true);

	return OidIsValid(extension) &&
		getExtensionOfObject(RelationRelationId, relid) == extension;
}

/* Say so when two rules disagree about a column, which is then withheld. */
static void
report_conflicts(AcdatDecoder *decoder, Relation relation, const AcdatPlan *plan,
				 const AcdatDecision *decisions)
{
	TupleDesc	desc = RelationGetDescr(relation);

	for (int i = 0; i < desc->natts; i++)
	{
		if (!decisions[i].conflict)
			continue;
		decoder->counts.withheld++;
		ereport(LOG,
				(errmsg("column \"%s\" of table \"%s.%s\" is withheld from slot \"%s\"",
						NameStr(TupleDescAttr(desc, i)->attname), plan->schema, plan->table,
						NameStr(MyReplicationSlot->data.name)),
				 errdetail("Two rules of policy \"%s\" disagree about it since it was renamed or made anew.",
						   decoder->generation->policy->name),
				 errhint("Correct the rules and publish the policy again.")));
	}
}

/* The policy's default may be that undecided columns are an error. */
static void
refuse_undecided(const AcdatDecoder *decoder, Relation relation, const AcdatPlan *plan,
				 const AcdatDecision *decisions)
{
	TupleDesc	desc = RelationGetDescr(relation);

	for (int i = 0; i < desc->natts; i++)
	{
		if (!TupleDescAttr(desc, i)->attisdropped && decisions[i].action == ACDAT_ERROR)
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("policy \"%s\" does not decide column \"%s\" of table \"%s.%s\"",
							decoder->generation->policy->name,
							NameStr(TupleDescAttr(desc, i)->attname), plan->schema, plan->table),
					 errdetail("Its default action is \"error\"."),
					 errhint("Add a rule with acdat.set_action and publish the policy again.")));
	}
}

/* Decisions for all columns; without a policy everything is kept. */
static AcdatDecision *
make_decisions(AcdatDecoder *decoder, Relation relation, const AcdatPlan *plan)
{
	AcdatDecision *decisions = palloc0(sizeof(AcdatDecision) * Max(plan->natts, 1));

	if (decoder->generation != NULL)
	{
		ListCell   *lc;

		foreach(lc, acdat_ancestors(RelationGetRelid(relation)))
			acdat_depend_on(decoder, lfirst_oid(lc));
		acdat_decide(decoder->generation->policy, relation, decisions);
		refuse_undecided(decoder, relation, plan, decisions);
		report_conflicts(decoder, relation, plan, decisions);
	}
	else
	{
		for (int i = 0; i < plan->natts; i++)
			decisions[i].mask = ACDAT_DEFAULT_MASK;
	}
	return decisions;
}

/*
 * The expression of a column's default, NULL if it has none or is generated.
 * It names no columns, so it needs no relation: to make names for the columns
 * of a wide one takes long, each time.
 */
static char *
default_expression(Relation relation, AttrNumber attnum)
{
	TupleDesc	desc = RelationGetDescr(relation);

	if (TupleDescAttr(desc, attnum - 1)->attgenerated != '\0')
		return NULL;
	for (int i = 0; desc->constr != NULL && i < desc->constr->num_defval; i++)
	{
		if (desc->constr->defval[i].adnum == attnum)
			return TextDatumGetCString(DirectFunctionCall2(pg_get_expr,
														   CStringGetTextDatum(desc->constr->defval[i].adbin),
														   ObjectIdGetDatum(InvalidOid)));
	}
	return NULL;
}

/*
 * Number columns as the partitioned table at the root does, and order them
 * by that: partitions may have them in another order.
 */
static int
compare_positions(const void *a, const void *b)
{
	return ((const AcdatColumn *) a)->position - ((const AcdatColumn *) b)->position;
}

static void
order_like_root(AcdatPlan *plan, Oid root)
{
	for (int i = 0; i < plan->ncolumns; i++)
		plan->columns[i].position = get_attnum(root, NameStr(plan->columns[i].name));
	qsort(plan->columns, plan->ncolumns, sizeof(AcdatColumn), compare_positions);
}

/* From attribute numbers to indexes of the plan's columns. */
static Bitmapset *
column_indexes(const AcdatPlan *plan, const Bitmapset *attnums)
{
	Bitmapset  *result = NULL;

	for (int i = 0; i < plan->ncolumns; i++)
	{
		if (bms_is_member(plan->columns[i].attnum, attnums))
			result = bms_add_member(result, i);
	}
	return result;
}

/* Key columns of an index, as attribute numbers; NULL if there is no such index. */
static Bitmapset *
index_columns(Oid index_oid)
{
	bool		unique;

	return OidIsValid(index_oid) ? acdat_index_columns(index_oid, &unique) : NULL;
}

/*
 * The default to print for a column.  Every change repeats the defaults of its
 * table, so what would leave no room for values is masked: "room" is what the
 * columns before have left of it.
 */
static const char *
shown_default(AcdatDecoder *decoder, Relation relation, const AcdatColumn *column, Size *room)
{
	char	   *expression = default_expression(relation, column->attnum);
	Size		size = expression ? strlen(expression) : 0;

	if (expression == NULL)
		return NULL;
	if (size > *room)
	{
		pfree(expression);
		decoder->counts.oversize++;
		return pnstrdup(column->mask, column->mask_len);
	}
	*room -= size;
	return acdat_redact_default(decoder, column, expression);
}

static void
plan_columns(AcdatDecoder *decoder, Relation relation, Oid root, AcdatPlan *plan)
{
	Size		defaults_room = DEFAULTS_LIMIT;
	TupleDesc	desc = RelationGetDescr(relation);
	AcdatDecision *decisions = make_decisions(decoder, relation, plan);
	Bitmapset  *identity = index_columns(relation->rd_replidindex);
	Bitmapset  *primary = index_columns(relation->rd_pkindex);

	plan->columns = palloc0(sizeof(AcdatColumn) * Max(plan->natts, 1));
	for (int i = 0; i < plan->natts; i++)
	{
		Form_pg_attribute attr = TupleDescAttr(desc, i);
		AcdatColumn *column = &plan->columns[plan->ncolumns];

		if (attr->attisdropped)
			continue;
		acdat_plan_column(decoder, attr, &decisions[i], column);
		column->identity = identity == NULL || bms_is_member(attr->attnum, identity);
		column->primary = bms_is_member(attr->attnum, primary);
		if (decoder->options.include_default)
			column->default_text = shown_default(decoder, relation, column, &defaults_room);
		plan->ncolumns++;
	}
	if (root != plan->relid)
		order_like_root(plan, root);
	for (int i = 0; i < plan->ncolumns; i++)
	{
		AcdatColumn *column = &plan->columns[i];

		column->sources = column_indexes(plan, column->sources);
		plan->has_sources |= column->sources != NULL;
	}
	plan->values = palloc(sizeof(Datum) * Max(plan->natts, 1));
	plan->nulls = palloc(sizeof(bool) * Max(plan->natts, 1));
	plan->new_cells = palloc0(sizeof(AcdatCell) * Max(plan->ncolumns, 1));
	plan->old_cells = palloc0(sizeof(AcdatCell) * Max(plan->ncolumns, 1));
}

static void
build_plan(AcdatDecoder *decoder, Relation relation, AcdatPlan *plan)
{
	Oid			root = plan->relid;
	char	   *schema;
	char	   *table;

	if (decoder->options.partition_root && relation->rd_rel->relispartition)
		root = llast_oid(get_partition_ancestors(plan->relid));
	schema = get_namespace_name(get_rel_namespace(root));
	table = get_rel_name(root);

	/* makes rd_pkindex and rd_replidindex valid */
	list_free(RelationGetIndexList(relation));

	plan->schema = schema ? schema : pstrdup("");
	plan->table = table ? table : pstrdup(RelationGetRelationName(relation));
	plan->ours = belongs_to_extension(plan->relid);
	plan->wanted = !plan->ours &&
		acdat_table_wanted(&decoder->options, plan->schema, plan->table);
	if (!plan->wanted)
		return;
	plan->replident = relation->rd_rel->relreplident;
	plan->has_identity_index = OidIsValid(relation->rd_replidindex);
	plan->has_primary_key = OidIsValid(relation->rd_pkindex);
	plan->natts = RelationGetDescr(relation)->natts;
	plan_columns(decoder, relation, root, plan);
	decoder->format->prepare(decoder, plan);
}

AcdatPlan *
acdat_get_plan(AcdatDecoder *decoder, Relation relation)
{
	Oid			relid = RelationGetRelid(relation);
	bool		found;
	AcdatPlan  *plan = decoder->last_plan;
	MemoryContext old;

	/* looking it up would be a third of what a change of a narrow row costs */
	if (plan != NULL && plan->relid == relid && plan->valid && plan->complete)
		return plan;
	plan = hash_search(decoder->plans, &relid, HASH_ENTER, &found);
	decoder->last_plan = plan;
	if (found && plan->valid && plan->complete)
		return plan;
	if (found && plan->context != NULL)
		MemoryContextDelete(plan->context);

	/* until it is complete the entry is an invalid one without contents */
	memset(plan, 0, sizeof(AcdatPlan));
	plan->relid = relid;
	plans_marked = true;
	plan->context = AllocSetContextCreate(decoder->session_context,
										  "acdat_decoder relation plan",
										  ALLOCSET_SMALL_SIZES);
	old = MemoryContextSwitchTo(plan->context);

	/*
	 * Building looks catalogs up, which can bring invalidations, of this
	 * relation too: those must not be forgotten.  It can also end in an error
	 * that the session survives, where a streamed transaction has aborted.
	 */
	plan->valid = true;
	build_plan(decoder, relation, plan);
	plan->complete = true;
	MemoryContextSwitchTo(old);
	return plan;
}
