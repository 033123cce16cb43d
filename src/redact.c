/*
 * redact.c
 *		Published policies outside the stream: acdat.redact, machine_of.
 *
 * A backend keeps the last few policies it used with their machines open,
 * and finds out whether one is still current by its header alone.  Within
 * one snapshot not even that is read again.
 */
#include "postgres.h"

#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "policy.h"
#include "shared_machine.h"
#include "sql.h"

PG_FUNCTION_INFO_V1(acdat_redact);
PG_FUNCTION_INFO_V1(acdat_machine_of);

#define KEPT_POLICIES	4
#define KEPT_XIDS		32		/* of a snapshot that is recognised again */

/* A published policy with its machines, in a context of its own. */
typedef struct OpenPolicy
{
	MemoryContext context;		/* NULL if unused */
	uint64		serial;			/* changes whenever the struct is filled anew */
	char	   *name;
	Size		name_len;
	AcdatHeader header;
	AcdatPolicy *policy;
	const acd_machine **machines;
	bool		everywhere;		/* scans do without the boundaries of characters */
	AcdatMachine *whole;		/* all machines in one; NULL: none, or not yet made */
} OpenPolicy;

static OpenPolicy kept[KEPT_POLICIES];
static uint64 last_serial = 0;
static int	next_victim = 0;

/* What a call site remembers. */
typedef struct CallSite
{
	Oid			published;
	OpenPolicy *open;			/* valid while its serial is this */
	uint64		serial;
	bool		snapshot_known;
	SnapshotData snapshot;		/* identity only */
	TransactionId xids[KEPT_XIDS];
	MemoryContext machine_context;	/* of machine_of: owns what it gave last */
	AcdatMachine *machine;
	uint64		machine_serial; /* of the policy whose machine it is */
} CallSite;

/* ---- policies kept open ---- */

static Oid
require_published(void)
{
	Oid			published = acdat_published_oid();

	if (!OidIsValid(published))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("table %s.%s of extension %s does not exist",
						ACDAT_SCHEMA, ACDAT_PUBLISHED, ACDAT_EXTENSION)));
	return published;
}

pg_noreturn static void
not_published(Oid published, const char *name)
{
	char	   *hint = "Publish it with acdat.publish.";

	/* names only to those who could read them anyway */
	if (pg_class_aclcheck(published, GetUserId(), ACL_SELECT) == ACLCHECK_OK &&
		SPI_connect() == SPI_OK_CONNECT)
	{
		const char **names;

		if (SPI_execute("SELECT pg_catalog.convert_from(key, pg_catalog.getdatabaseencoding()) "
						"FROM acdat.published WHERE kind OPERATOR(pg_catalog.=) 'p' ORDER BY 1",
						true, 0) == SPI_OK_SELECT)
		{
			names = palloc((SPI_processed + 1) * sizeof(char *));
			for (uint64 i = 0; i < SPI_processed; i++)
				names[i] = SPI_getvalue(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, 1);
			hint = acdat_near_hint("published policies", name, names, (int) SPI_processed);
		}
	}
	ereport(ERROR,
			(errcode(ERRCODE_UNDEFINED_OBJECT),
			 errmsg("policy \"%s\" is not published", name),
			 errhint("%s", hint)));
}

/* Fill a struct; it stays as it was if anything goes wrong. */
static void
fill_policy(OpenPolicy *open, Oid published, const char *name, const AcdatHeader *header,
			Snapshot snapshot)
{
	/* a child of the caller's context until it is complete */
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "acdat policy",
												  ALLOCSET_SMALL_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	OpenPolicy	new = {0};

	new.context = context;
	new.name = pstrdup(name);
	new.name_len = strlen(name);
	new.everywhere = !acdat_needs_boundaries(ACDAT_TEXT_CLEAN);
	new.header = *header;
	new.policy = acdat_read_policy(published, name, snapshot, header);
	new.machines = palloc((new.policy->nmachines + 1) * sizeof(acd_machine *));
	for (int i = 0; i < new.policy->nmachines; i++)
	{
		AcdatMachine *machine = acdat_get_machine(published, &new.policy->machines[i],
												  snapshot, context);

		new.machines[i] = &machine->machine;
		if (new.policy->nmachines == 1)
			new.whole = machine;
	}
	MemoryContextSwitchTo(old);
	MemoryContextSetParent(context, CacheMemoryContext);
	if (open->context != NULL)
		MemoryContextDelete(open->context);
	new.serial = ++last_serial;
	*open = new;
}

/* The published form of a policy, read anew, in the current context. */
AcdatPolicy *
acdat_published_policy(const char *name)
{
	Oid			published = require_published();
	Snapshot	snapshot = GetActiveSnapshot();
	AcdatHeader header;

	if (!acdat_read_header(published, name, snapshot, &header))
		not_published(published, name);
	return acdat_read_policy(published, name, snapshot, &header);
}

static bool
same_header(const AcdatHeader *a, const AcdatHeader *b)
{
	return a->generation == b->generation && a->body_size == b->body_size &&
		memcmp(a->body_digest, b->body_digest, ACD_DIGEST_LEN) == 0;
}

/* The published policy of a name under a snapshot. */
static OpenPolicy *
open_policy(Oid published, const char *name, Snapshot snapshot)
{
	AcdatHeader header;
	OpenPolicy *open = NULL;

	if (!acdat_read_header(published, name, snapshot, &header))
		not_published(published, name);
	for (int i = 0; i < KEPT_POLICIES && open == NULL; i++)
	{
		if (kept[i].context != NULL && strcmp(kept[i].name, name) == 0)
			open = &kept[i];
	}
	if (open != NULL && same_header(&open->header, &header))
		return open;
	if (open == NULL)
	{
		open = &kept[next_victim];
		next_victim = (next_victim + 1) % KEPT_POLICIES;
	}
	fill_policy(open, published, name, &header, snapshot);
	return open;
}

/* ---- call sites ---- */

static inline bool
same_snapshot(const CallSite *site, Snapshot snapshot)
{
	return site->snapshot_known &&
		site->snapshot.xmin == snapshot->xmin && site->snapshot.xmax == snapshot->xmax &&
		site->snapshot.xcnt == snapshot->xcnt && site->snapshot.subxcnt == snapshot->subxcnt &&
		site->snapshot.curcid == snapshot->curcid &&
		(snapshot->xcnt == 0 ||
		 memcmp(site->xids, snapshot->xip, snapshot->xcnt * sizeof(TransactionId)) == 0);
}

static void
remember_snapshot(CallSite *site, Snapshot snapshot)
{
	site->snapshot_known = snapshot->xcnt <= KEPT_XIDS && !snapshot->takenDuringRecovery;
	if (!site->snapshot_known)
		return;
	site->snapshot = *snapshot;
	if (snapshot->xcnt > 0)
		memcpy(site->xids, snapshot->xip, snapshot->xcnt * sizeof(TransactionId));
}

/* The policy that a call names, read or compared with what was read before. */
static pg_noinline OpenPolicy *
look_up_policy(FunctionCallInfo fcinfo, text *name, Snapshot snapshot)
{
	CallSite   *site = fcinfo->flinfo->fn_extra;
	char	   *cname = text_to_cstring(name);

	if (site == NULL)
	{
		site = MemoryContextAllocZero(fcinfo->flinfo->fn_mcxt, sizeof(CallSite));
		site->published = require_published();
		fcinfo->flinfo->fn_extra = site;
	}
	site->open = NULL;
	site->open = open_policy(site->published, cname, snapshot);
	site->serial = site->open->serial;
	remember_snapshot(site, snapshot);
	pfree(cname);
	return site->open;
}

/* The policy that a call names; what its call site remembers is in fn_extra. */
static pg_attribute_always_inline OpenPolicy *
called_policy(FunctionCallInfo fcinfo, text *name)
{
	const CallSite *site = fcinfo->flinfo->fn_extra;
	Snapshot	snapshot = GetActiveSnapshot();

	if (likely(site != NULL && site->open != NULL && site->open->serial == site->serial &&
			   site->open->name_len == VARSIZE_ANY_EXHDR(name) &&
			   memcmp(site->open->name, VARDATA_ANY(name), site->open->name_len) == 0 &&
			   same_snapshot(site, snapshot)))
		return site->open;
	return look_up_policy(fcinfo, name, snapshot);
}

/* ---- the functions ---- */

/* redact(value, policy) */
Datum
acdat_redact(PG_FUNCTION_ARGS)
{
	text	   *value = PG_GETARG_TEXT_PP(0);
	OpenPolicy *open = called_policy(fcinfo, PG_GETARG_TEXT_PP(1));
	acd_allocator allocator = acdat_allocator(CurrentMemoryContext);
	acd_scan	scan = {0};
	struct varlena *result;

	scan.machines = open->machines;
	scan.nmachines = open->policy->nmachines;
	scan.kind = ACD_COVER;
	if (!open->everywhere)
		scan.boundaries = acdat_boundaries(VARDATA_ANY(value), VARSIZE_ANY_EXHDR(value));
	scan.allocator = &allocator;
	scan.poll = acdat_poll;
	result = acdat_replace(&scan, VARDATA_ANY(value), VARSIZE_ANY_EXHDR(value), false);
	if (result == NULL)
		PG_RETURN_DATUM(PG_GETARG_DATUM(0));
	PG_RETURN_POINTER(result);
}

/* All machines of a policy in one, which the policy keeps. */
static AcdatMachine *
join_machines(const OpenPolicy *open)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "acdat joined machine",
												  ALLOCSET_SMALL_SIZES);
	acd_allocator allocator = acdat_allocator(context);
	acd_builder *builder;
	acd_artifact artifact;
	acd_status	status = ACD_OK;

	builder = acd_builder_create(&allocator);
	if (builder == NULL)
		acdat_raise(ACD_ERR_NOMEM, "machine");
	for (int i = 0; i < open->policy->nmachines && status == ACD_OK; i++)
		status = acd_builder_add_machine(builder, open->machines[i]);
	if (status == ACD_OK)
		status = acd_builder_finish(builder, VARHDRSZ, &artifact);
	if (status == ACD_OK && artifact.size > MaxAllocSize - VARHDRSZ)
		status = ACD_ERR_TOO_LARGE;
	if (status != ACD_OK)
		acdat_raise(status, "dictionaries of the policy");
	acd_builder_free(builder);
	SET_VARSIZE(artifact.block, VARHDRSZ + artifact.size);
	return acdat_adopt_machine(context, artifact.block, open->context);
}

/* Let a call site own a machine instead of the one it had. */
static void
give_machine(CallSite *site, MemoryContext parent, OpenPolicy *open)
{
	MemoryContext context = AllocSetContextCreate(parent, "acdat machine_of",
												  ALLOCSET_SMALL_SIZES);

	if (open->whole == NULL && open->policy->nmachines > 0)
		open->whole = join_machines(open);
	if (open->whole != NULL)
		acdat_hold_machine(open->whole, context);
	if (site->machine_context != NULL)
		MemoryContextDelete(site->machine_context);
	site->machine_context = context;
	site->machine = open->whole;
	site->machine_serial = open->serial;
}

/*
 * machine_of(policy).  The datum is the machine itself, in shared memory
 * where it is there, and the same one for all rows; the call site owns it
 * until the policy changes or the query ends.
 */
Datum
acdat_machine_of(PG_FUNCTION_ARGS)
{
	OpenPolicy *open = called_policy(fcinfo, PG_GETARG_TEXT_PP(0));
	CallSite   *site = fcinfo->flinfo->fn_extra;

	if (site->machine_context == NULL || site->machine_serial != open->serial)
		give_machine(site, fcinfo->flinfo->fn_mcxt, open);
	if (site->machine == NULL)
		PG_RETURN_NULL();
	PG_RETURN_POINTER(site->machine->value);
}
