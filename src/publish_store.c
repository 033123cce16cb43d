/*
 * publish_store.c
 *		Writing acdat.published.
 *
 * Writers hold SHARE UPDATE EXCLUSIVE on the table, so there is one at a
 * time; never ACCESS EXCLUSIVE, which would deadlock two-phase decoding.
 * Whoever writes also sends a relcache invalidation, as decoding sessions
 * learn of plain changes to a user catalog table by that alone.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/indexing.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/array.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/inval.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "acdat.h"
#include "compat.h"
#include "publish.h"

PG_FUNCTION_INFO_V1(acdat_set_binding);

/* ---- rows ---- */

static bytea *
make_bytea(const void *data, Size size)
{
	bytea	   *result = palloc(VARHDRSZ + size);

	SET_VARSIZE(result, VARHDRSZ + size);
	memcpy(VARDATA(result), data, size);
	return result;
}

static bytea *
name_key(const char *name)
{
	return make_bytea(name, strlen(name));
}

/* Lock the table against other writers, before anything is read to decide. */
void
acdat_lock_published(Oid published)
{
	LockRelationOid(published, ShareUpdateExclusiveLock);
	CacheInvalidateRelcacheByRelid(published);
}

/* Delete the rows of a kind and key; true if there were any. */
static bool
delete_rows(char kind, bytea *key)
{
	Oid			types[] = {CHAROID, BYTEAOID};
	Datum		values[] = {CharGetDatum(kind), PointerGetDatum(key)};

	acdat_spi("DELETE FROM acdat.published WHERE kind = $1 AND key = $2",
			  2, types, values, false, SPI_OK_DELETE);
	return SPI_processed > 0;
}

/* Open the table to insert into it, with what SQL would check. */
static Relation
open_for_insert(void)
{
	Relation	published = table_open(acdat_published_oid(), RowExclusiveLock);
	AclResult	allowed = pg_class_aclcheck(RelationGetRelid(published), GetUserId(), ACL_INSERT);

	if (allowed != ACLCHECK_OK)
		aclcheck_error(allowed, OBJECT_TABLE, RelationGetRelationName(published));
	if (list_length(RelationGetIndexList(published)) != 1)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("table %s.%s has indexes that are not its primary key",
						ACDAT_SCHEMA, ACDAT_PUBLISHED),
				 errhint("Drop them.")));
	return published;
}

/*
 * Write a value in as many rows as it needs.  Not by SQL: the rows hold terms
 * and secrets, and the server can be told to log parameters of statements.
 */
void
acdat_store_chunks(char kind, bytea *key, const char *data, Size size)
{
	Relation	published = open_for_insert();
	CatalogIndexState indexes = CatalogOpenIndexes(published);
	int32		part = 0;

	for (Size done = 0; done < size;)
	{
		Size		step = Min(size - done, ACDAT_CHUNK_BYTES);
		bytea	   *chunk = make_bytea(data + done, step);
		Datum		values[] = {CharGetDatum(kind), PointerGetDatum(key),
		Int32GetDatum(part++), PointerGetDatum(chunk)};
		bool		nulls[] = {false, false, false, false};
		HeapTuple	tuple = heap_form_tuple(RelationGetDescr(published), values, nulls);

		CHECK_FOR_INTERRUPTS();
		CatalogTupleInsertWithInfo(published, tuple, indexes);
		heap_freetuple(tuple);
		pfree(chunk);
		done += step;
	}
	CatalogCloseIndexes(indexes);
	table_close(published, NoLock);
	CommandCounterIncrement();
}

/* ---- machines ---- */

/* Do the rows under a machine's key hold exactly these bytes? */
static bool
machine_stands(bytea *key, const char *data, Size size)
{
	Oid			types[] = {BYTEAOID};
	Datum		values[] = {PointerGetDatum(key)};
	Size		done = 0;
	bool		same = true;

	acdat_spi("SELECT part, data FROM acdat.published "
			  "WHERE kind = 'm' AND key = $1 ORDER BY part",
			  1, types, values, false, SPI_OK_SELECT);
	for (uint64 i = 0; same && i < SPI_processed; i++)
	{
		bool		isnull;
		int32		part = DatumGetInt32(SPI_getbinval(SPI_tuptable->vals[i],
													   SPI_tuptable->tupdesc, 1, &isnull));
		Datum		datum = SPI_getbinval(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, 2, &isnull);
		bytea	   *chunk = isnull ? NULL : DatumGetByteaPP(datum);
		Size		step = isnull ? 0 : VARSIZE_ANY_EXHDR(chunk);

		same = !isnull && part == (int32) i && step <= size - done &&
			memcmp(VARDATA_ANY(chunk), data + done, step) == 0;
		done += step;
	}
	SPI_freetuptable(SPI_tuptable);
	return same && done == size;
}

/* Write a machine unless it stands already; a damaged one is written anew. */
void
acdat_store_machine(const AcdatMachineRef *ref, const AcdatBuiltMachine *built)
{
	bytea	   *key = make_bytea(ref->digest, ACD_DIGEST_LEN);
	acd_allocator allocator = acdat_allocator(CurrentMemoryContext);
	acd_status	status;

	if (machine_stands(key, built->artifact, ref->size))
		return;
	status = acd_machine_verify(&built->machine, &allocator);
	if (status != ACD_OK)
		acdat_raise(status, psprintf("dictionary \"%s\"", ref->dictionary));
	delete_rows(ACDAT_KIND_MACHINE, key);
	acdat_store_chunks(ACDAT_KIND_MACHINE, key, built->artifact, ref->size);
}

/* ---- generations ---- */

/* The next generation of a policy name, over all that ever were and over at_least. */
int64
acdat_next_generation(const char *policy, int64 at_least)
{
	Oid			types[] = {TEXTOID, INT8OID};
	Datum		values[] = {CStringGetTextDatum(policy), Int64GetDatum(at_least)};
	bool		isnull;

	acdat_spi("UPDATE acdat.generations SET last = greatest(last, $2) + 1 WHERE policy = $1 RETURNING last",
			  2, types, values, false, SPI_OK_UPDATE_RETURNING);
	if (SPI_processed == 0)
		acdat_spi("INSERT INTO acdat.generations VALUES ($1, $2 + 1) RETURNING last",
				  2, types, values, false, SPI_OK_INSERT_RETURNING);
	return DatumGetInt64(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &isnull));
}

void
acdat_store_header(const char *policy, const AcdatHeader *header)
{
	bytea	   *key = name_key(policy);
	bytea	   *data = acdat_header_serialize(header);
	Oid			types[] = {BYTEAOID, BYTEAOID};
	Datum		values[] = {PointerGetDatum(key), PointerGetDatum(data)};

	acdat_spi("UPDATE acdat.published SET data = $2 WHERE kind = 'p' AND key = $1 AND part = 0",
			  2, types, values, false, SPI_OK_UPDATE);
	if (SPI_processed == 0)
		acdat_store_chunks(ACDAT_KIND_HEADER, key, VARDATA(data), VARSIZE(data) - VARHDRSZ);
}

/* Delete a policy's header; true if there was one. */
bool
acdat_delete_header(const char *policy)
{
	return delete_rows(ACDAT_KIND_HEADER, name_key(policy));
}

/* Delete the bodies of a policy that are older than a generation. */
void
acdat_delete_bodies(const char *policy, int64 keep_from)
{
	bytea	   *first = acdat_body_key(policy, 0);
	bytea	   *end = acdat_body_key(policy, keep_from);
	Oid			types[] = {BYTEAOID, BYTEAOID};
	Datum		values[] = {PointerGetDatum(first), PointerGetDatum(end)};

	/* keys of one policy are of one length and end in a big-endian number */
	acdat_spi("DELETE FROM acdat.published WHERE kind = 'g' AND key >= $1 AND key < $2 "
			  "AND octet_length(key) = octet_length($1)",
			  2, types, values, false, SPI_OK_DELETE);
}

/* Parse a body; NULL with a warning if it is damaged. */
static AcdatPolicy *
parse_body(const bytea *body)
{
	MemoryContext context = CurrentMemoryContext;
	AcdatPolicy *volatile policy = NULL;

	PG_TRY();
	{
		policy = acdat_policy_parse(VARDATA_ANY(body), VARSIZE_ANY_EXHDR(body));
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
	}
	PG_END_TRY();
	return policy;
}

/*
 * Delete machines that no body refers to.  Where a body cannot be read
 * nothing is deleted.
 */
void
acdat_delete_unused_machines(void)
{
	ArrayBuildState *used = initArrayResult(BYTEAOID, CurrentMemoryContext, false);
	Oid			types[] = {BYTEAARRAYOID};
	Datum		values[1];

	acdat_spi("SELECT string_agg(data, '' ORDER BY part) FROM acdat.published "
			  "WHERE kind = 'g' GROUP BY key", 0, NULL, NULL, false, SPI_OK_SELECT);
	for (uint64 i = 0; i < SPI_processed; i++)
	{
		bool		isnull;
		Datum		datum = SPI_getbinval(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, 1, &isnull);
		AcdatPolicy *policy = isnull ? NULL : parse_body(DatumGetByteaPP(datum));

		if (policy == NULL)
		{
			ereport(WARNING,
					(errcode(ERRCODE_DATA_CORRUPTED),
					 errmsg("machines no longer used were not removed, as a published generation is corrupt"),
					 errhint("Publish all policies again, twice.")));
			return;
		}
		for (int j = 0; j < policy->nmachines; j++)
			used = accumArrayResult(used,
									PointerGetDatum(make_bytea(policy->machines[j].digest, ACD_DIGEST_LEN)),
									false, BYTEAOID, CurrentMemoryContext);
	}
	values[0] = makeArrayResult(used, CurrentMemoryContext);
	acdat_spi("DELETE FROM acdat.published WHERE kind = 'm' AND key <> ALL ($1)",
			  1, types, values, false, SPI_OK_DELETE);
}

/* ---- bindings ---- */

/* set_binding(kind, key, role, policy): a null policy removes it; true if there was one */
Datum
acdat_set_binding(PG_FUNCTION_ARGS)
{
	Oid			published = acdat_published_oid();
	char		kind;
	bytea	   *key;
	bool		found;

	if (PG_ARGISNULL(0) || PG_ARGISNULL(1) || PG_ARGISNULL(2))
		elog(ERROR, "binding without kind, key or role");
	kind = PG_GETARG_CHAR(0);
	if (strchr("srd", kind) == NULL || kind == '\0')
		elog(ERROR, "unrecognized kind of binding");
	PreventCommandIfReadOnly("acdat.set_binding()");
	PreventCommandDuringRecovery("acdat.set_binding()");
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	acdat_lock_published(published);
	key = name_key(text_to_cstring(PG_GETARG_TEXT_PP(1)));
	found = delete_rows(kind, key);
	if (!PG_ARGISNULL(3))
	{
		bytea	   *data = acdat_binding_serialize(PG_GETARG_OID(2),
												   text_to_cstring(PG_GETARG_TEXT_PP(3)));

		acdat_store_chunks(kind, key, VARDATA(data), VARSIZE(data) - VARHDRSZ);
	}
	SPI_finish();
	PG_RETURN_BOOL(found);
}
