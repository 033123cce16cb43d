/*
 * publish.c
 *		acdat.publish and its opposites.
 *
 * Everything happens in the caller's transaction: streams see a generation
 * when it commits, and never a part of it.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "acdat.h"
#include "compat.h"
#include "publish.h"

PG_FUNCTION_INFO_V1(acdat_publish);
PG_FUNCTION_INFO_V1(acdat_withdraw);
PG_FUNCTION_INFO_V1(acdat_is_published);
PG_FUNCTION_INFO_V1(acdat_is_current);

static Oid
published_oid(void)
{
	Oid			published = acdat_published_oid();

	if (!OidIsValid(published))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("table %s.%s of extension %s does not exist",
						ACDAT_SCHEMA, ACDAT_PUBLISHED, ACDAT_EXTENSION)));
	return published;
}

/* Start a function that writes: what the server would refuse later, sooner. */
static Oid
begin_writing(const char *function)
{
	Oid			published;

	PreventCommandIfReadOnly(function);
	PreventCommandIfParallelMode(function);
	PreventCommandDuringRecovery(function);
	published = published_oid();
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	acdat_lock_published(published);
	return published;
}

/*
 * Read a policy's header and the policy; false if it is not published.  What
 * is damaged counts as not published, with a warning: publishing is how one
 * repairs it.
 */
static bool
read_previous(Oid published, const char *name, AcdatHeader *header, AcdatPolicy **policy)
{
	MemoryContext context = CurrentMemoryContext;
	volatile bool found = false;

	*policy = NULL;
	PG_TRY();
	{
		found = acdat_read_header(published, name, GetActiveSnapshot(), header);
		if (found)
			*policy = acdat_read_policy(published, name, GetActiveSnapshot(), header);
	}
	PG_CATCH();
	{
		ErrorData  *error;

		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		if (error->sqlerrcode != ERRCODE_DATA_CORRUPTED &&
			error->sqlerrcode != ERRCODE_FEATURE_NOT_SUPPORTED)
			PG_RE_THROW();
		FlushErrorState();
		FreeErrorData(error);
		found = false;
		ereport(WARNING,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("previous generation of policy \"%s\" cannot be read", name)));
	}
	PG_END_TRY();
	return found;
}

/* Write a built policy as the next generation, which it returns. */
static int64
store_build(AcdatBuild *build, const AcdatPolicy *previous)
{
	AcdatPolicy *policy = &build->policy;
	AcdatHeader header;
	bytea	   *body;

	policy->generation = acdat_next_generation(policy->name, previous ? previous->generation : 0);
	policy->published_at = GetCurrentTimestamp();
	policy->publisher = GetUserNameFromId(GetUserId(), false);

	for (int i = 0; i < policy->nmachines; i++)
		acdat_store_machine(&policy->machines[i], &build->machines[i]);
	body = acdat_policy_serialize(policy);
	header.generation = policy->generation;
	header.body_size = VARSIZE(body) - VARHDRSZ;
	acdat_sha256(VARDATA(body), header.body_size, header.body_digest);
	acdat_store_chunks(ACDAT_KIND_BODY, acdat_body_key(policy->name, policy->generation),
					   VARDATA(body), header.body_size);
	acdat_store_header(policy->name, &header);

	/* a stream may still be on the previous one, but on none before */
	acdat_delete_bodies(policy->name, previous ? previous->generation : policy->generation);
	acdat_delete_unused_machines();
	return policy->generation;
}

/* publish(policy, allow_lossy_keys, allow_unsafe_replacement) */
Datum
acdat_publish(PG_FUNCTION_ARGS)
{
	bool		allow_lossy_keys = !PG_ARGISNULL(1) && PG_GETARG_BOOL(1);
	bool		allow_unsafe = !PG_ARGISNULL(2) && PG_GETARG_BOOL(2);
	MemoryContext context;
	char	   *name;
	Oid			published;
	AcdatBuild *build;
	AcdatHeader header;
	AcdatPolicy *previous;
	int64		generation;

	if (PG_ARGISNULL(0))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("policy must not be null")));
	name = text_to_cstring(PG_GETARG_TEXT_PP(0));
	published = begin_writing("acdat.publish()");
	context = AllocSetContextCreate(CurrentMemoryContext, "acdat publish", ALLOCSET_DEFAULT_SIZES);

	/* one snapshot, taken after the lock, for all that is read */
	PushActiveSnapshot(GetTransactionSnapshot());
	(void) read_previous(published, name, &header, &previous);
	build = acdat_build_policy(name, context, false);
	if (!allow_unsafe)
		acdat_check_seams(build);
	acdat_check_columns(&build->policy, previous, allow_lossy_keys);
	PopActiveSnapshot();

	generation = store_build(build, previous);
	MemoryContextDelete(context);
	SPI_finish();
	PG_RETURN_INT64(generation);
}

/* withdraw(policy): delete what is published of it; true if there was anything */
Datum
acdat_withdraw(PG_FUNCTION_ARGS)
{
	char	   *name = text_to_cstring(PG_GETARG_TEXT_PP(0));
	bool		found;

	(void) begin_writing("acdat.unpublish()");
	found = acdat_delete_header(name);
	acdat_delete_bodies(name, PG_INT64_MAX);
	acdat_delete_unused_machines();
	SPI_finish();
	PG_RETURN_BOOL(found);
}

Datum
acdat_is_published(PG_FUNCTION_ARGS)
{
	bytea	   *name = PG_GETARG_BYTEA_PP(0);
	Oid			types[] = {BYTEAOID};
	Datum		values[] = {PointerGetDatum(name)};
	bool		found;

	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	acdat_spi("SELECT FROM acdat.published WHERE kind = 'p' AND key = $1",
			  1, types, values, true, SPI_OK_SELECT);
	found = SPI_processed > 0;
	SPI_finish();
	PG_RETURN_BOOL(found);
}

/* Would publishing the policy now change nothing? */
Datum
acdat_is_current(PG_FUNCTION_ARGS)
{
	char	   *name = text_to_cstring(PG_GETARG_TEXT_PP(0));
	Oid			published = published_oid();
	AcdatBuild *build;
	AcdatHeader header;
	AcdatPolicy *previous;
	bool		result = false;

	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	PushActiveSnapshot(GetTransactionSnapshot());
	if (read_previous(published, name, &header, &previous))
	{
		bytea	   *body;

		build = acdat_build_policy(name, CurrentMemoryContext, true);
		build->policy.generation = previous->generation;
		build->policy.published_at = previous->published_at;
		build->policy.publisher = previous->publisher;
		body = acdat_policy_serialize(&build->policy);
		if ((int64) (VARSIZE(body) - VARHDRSZ) == header.body_size)
		{
			uint8		digest[ACD_DIGEST_LEN];

			acdat_sha256(VARDATA(body), header.body_size, digest);
			result = memcmp(digest, header.body_digest, ACD_DIGEST_LEN) == 0;
		}
	}
	PopActiveSnapshot();
	SPI_finish();
	PG_RETURN_BOOL(result);
}
