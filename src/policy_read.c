/*
 * policy_read.c
 *		Published policies out of acdat.published, under any snapshot.
 *
 * Runs in ordinary backends and inside logical decoding.  There only systable
 * scans of user catalog tables are allowed, and nothing may touch a system
 * cache between the begin and the end of a scan (systable_endscan resets
 * state that an inner scan would share), so the callbacks below copy bytes
 * and do nothing else.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/stratnum.h"
#include "access/table.h"
#include "catalog/dependency.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_index.h"
#include "commands/extension.h"
#include "miscadmin.h"
#include "storage/smgr.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/relcache.h"
#include "utils/snapmgr.h"

#include "compat.h"
#include "policy.h"

/*
 * A row of acdat.published; the bytes are in the page and gone after the
 * callback.  "data" is NULL where the column is not the plain bytes it must
 * be.
 */
typedef struct PublishedRow
{
	const char *key;
	Size		key_size;
	int32		part;
	const char *data;
	Size		data_size;
	TransactionId writer;
} PublishedRow;

typedef void (*row_fn) (void *arg, const PublishedRow *row);

Oid
acdat_published_oid(void)
{
	Oid			namespace = get_namespace_oid(ACDAT_SCHEMA, true);
	Oid			relid;
	Oid			extension;

	if (!OidIsValid(namespace))
		return InvalidOid;
	relid = get_relname_relid(ACDAT_PUBLISHED, namespace);
	extension = get_extension_oid(ACDAT_EXTENSION, true);
	if (!OidIsValid(relid) || !OidIsValid(extension) ||
		getExtensionOfObject(RelationRelationId, relid) != extension)
		return InvalidOid;
	return relid;
}

/* A row that a catalog's index finds under an oid, as the catalog is now or was; copied. */
static HeapTuple
catalog_row(Oid catalog_oid, Oid index_oid, AttrNumber attnum, Oid oid,
			bool (*wanted) (HeapTuple), bool now)
{
	Relation	catalog = table_open(catalog_oid, AccessShareLock);
	Snapshot	snapshot = now ? RegisterSnapshot(GetNonHistoricCatalogSnapshot(catalog_oid)) : NULL;
	HeapTuple	result = NULL;
	HeapTuple	tuple;
	SysScanDesc scan;
	ScanKeyData key;

	ScanKeyInit(&key, attnum, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(oid));
	scan = systable_beginscan(catalog, index_oid, true, snapshot, 1, &key);
	while (result == NULL && HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		if (wanted == NULL || wanted(tuple))
			result = heap_copytuple(tuple);
	}
	systable_endscan(scan);
	if (now)
		UnregisterSnapshot(snapshot);
	table_close(catalog, AccessShareLock);
	return result;
}

static bool
is_primary(HeapTuple tuple)
{
	return ((Form_pg_index) GETSTRUCT(tuple))->indisprimary;
}

/* The index of the primary key, as it is now or was; copied. */
static HeapTuple
primary_index(Oid published, bool now)
{
	return catalog_row(IndexRelationId, IndexIndrelidIndexId, Anum_pg_index_indrelid, published,
					   is_primary, now);
}

/*
 * History shows the index where it was then.  Since it was built anew (VACUUM
 * FULL, REINDEX) it is somewhere else, or it is another one, and its old file
 * is gone: the server looks up where tables are now, but not indexes of user
 * catalog tables.  False if the one of now is another than was (REINDEX
 * CONCURRENTLY), of which the relation cache may know either.
 */
static bool
follow_index(Oid published, Relation index)
{
	HeapTuple	primary = primary_index(published, true);
	HeapTuple	before = primary_index(published, false);
	HeapTuple	tuple = !HeapTupleIsValid(primary) ? NULL :
		catalog_row(RelationRelationId, ClassOidIndexId, Anum_pg_class_oid,
					((Form_pg_index) GETSTRUCT(primary))->indexrelid, NULL, true);
	Form_pg_class now;
	bool		same;

	if (!HeapTupleIsValid(tuple))
		return true;
	now = (Form_pg_class) GETSTRUCT(tuple);
	if (now->relfilenode != index->rd_rel->relfilenode ||
		now->reltablespace != index->rd_rel->reltablespace)
	{
		RelationCloseSmgr(index);
		index->rd_rel->relfilenode = now->relfilenode;
		index->rd_rel->reltablespace = now->reltablespace;
		ACDAT_SET_FILE(index, now->relfilenode,
					   OidIsValid(now->reltablespace) ? now->reltablespace : MyDatabaseTableSpace);
		if (index->rd_amcache != NULL)	/* where the root was */
			pfree(index->rd_amcache);
		index->rd_amcache = NULL;
	}
	same = HeapTupleIsValid(before) &&
		((Form_pg_index) GETSTRUCT(primary))->indexrelid == ((Form_pg_index) GETSTRUCT(before))->indexrelid;
	heap_freetuple(primary);
	heap_freetuple(tuple);
	if (HeapTupleIsValid(before))
		heap_freetuple(before);
	return same;
}

/*
 * The primary key's index, which scans go through.  *complete is false where
 * it was built concurrently after what a historic snapshot sees, and lacks
 * rows that were gone by then.
 */
static Relation
open_published_index(Relation published, bool *complete)
{
	Relation	index;

	(void) RelationGetIndexList(published); /* makes rd_pkindex valid */
	if (!OidIsValid(published->rd_pkindex))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("table %s.%s has no primary key", ACDAT_SCHEMA, ACDAT_PUBLISHED)));
	index = index_open(published->rd_pkindex, AccessShareLock);
	*complete = !HistoricSnapshotActive() || follow_index(RelationGetRelid(published), index);
	return index;
}

/* Bytes of a bytea column as they stand in the page, NULL if not plain. */
static const char *
plain_bytes(HeapTuple tuple, int attnum, TupleDesc desc, Size *size)
{
	bool		isnull;
	Datum		datum = heap_getattr(tuple, attnum, desc, &isnull);
	struct varlena *bytes = (struct varlena *) DatumGetPointer(datum);

	*size = 0;
	if (isnull || VARATT_IS_EXTERNAL(bytes) || VARATT_IS_COMPRESSED(bytes))
		return NULL;
	*size = VARSIZE_ANY_EXHDR(bytes);
	return VARDATA_ANY(bytes);
}

/* What a row holds; it points into the tuple. */
static PublishedRow
row_of(HeapTuple tuple, TupleDesc desc)
{
	PublishedRow row;
	bool		isnull;

	row.key = plain_bytes(tuple, Anum_published_key, desc, &row.key_size);
	row.part = DatumGetInt32(heap_getattr(tuple, Anum_published_part, desc, &isnull));
	row.data = plain_bytes(tuple, Anum_published_data, desc, &row.data_size);
	row.writer = HeapTupleHeaderGetXmin(tuple->t_data);
	return row;
}

/* By key, then part; rows whose key is not plain first. */
static int
compare_rows(const void *a, const void *b)
{
	const PublishedRow *ra = a;
	const PublishedRow *rb = b;
	int			order = memcmp(ra->key ? ra->key : "", rb->key ? rb->key : "",
							   Min(ra->key_size, rb->key_size));

	if (order == 0)
		order = ra->key_size < rb->key_size ? -1 : ra->key_size > rb->key_size;
	return order != 0 ? order : ra->part < rb->part ? -1 : ra->part > rb->part;
}

/* Scan without an index, as rarely as one lacks what is looked for. */
static void
scan_heap(Relation published, Snapshot snapshot, int nkeys, ScanKey keys, row_fn fn, void *arg)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "acdat published rows",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	TupleDesc	desc = RelationGetDescr(published);
	SysScanDesc scan = systable_beginscan(published, InvalidOid, false, snapshot, nkeys, keys);
	Size		room = 64;
	Size		nrows = 0;
	PublishedRow *rows = palloc(room * sizeof(PublishedRow));
	HeapTuple	tuple;

	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		CHECK_FOR_INTERRUPTS();
		if (nrows == room)
			rows = repalloc_huge(rows, (room *= 2) * sizeof(PublishedRow));
		rows[nrows++] = row_of(heap_copytuple(tuple), desc);
	}
	systable_endscan(scan);
	qsort(rows, nrows, sizeof(PublishedRow), compare_rows);
	MemoryContextSwitchTo(old);
	for (Size i = 0; i < nrows; i++)
		fn(arg, &rows[i]);
	MemoryContextDelete(context);
}

static void
scan_index(Relation published, Relation index, Snapshot snapshot, int nkeys, ScanKey keys,
		   row_fn fn, void *arg)
{
	SysScanDesc scan = systable_beginscan_ordered(published, index, snapshot, nkeys, keys);
	HeapTuple	tuple;

	while (HeapTupleIsValid(tuple = systable_getnext_ordered(scan, ForwardScanDirection)))
	{
		PublishedRow row = row_of(tuple, RelationGetDescr(published));

		CHECK_FOR_INTERRUPTS();
		fn(arg, &row);
	}
	systable_endscan_ordered(scan);
}

/*
 * Call fn for the rows of a kind, and of a key unless that is NULL, in order
 * of key and part.
 */
static void
scan_published(Oid published_oid, char kind, bytea *key, Snapshot snapshot,
			   row_fn fn, void *arg)
{
	Relation	published = table_open(published_oid, AccessShareLock);
	bool		complete;
	Relation	index = open_published_index(published, &complete);
	ScanKeyData keys[2];
	int			nkeys = key ? 2 : 1;

	ScanKeyInit(&keys[0], Anum_published_kind, BTEqualStrategyNumber, F_CHAREQ,
				CharGetDatum(kind));
	if (key != NULL)
		ScanKeyInit(&keys[1], Anum_published_key, BTEqualStrategyNumber, F_BYTEAEQ,
					PointerGetDatum(key));

	/* what is not history every index has */
	if (complete || (snapshot != NULL && snapshot->snapshot_type != SNAPSHOT_HISTORIC_MVCC))
		scan_index(published, index, snapshot, nkeys, keys, fn, arg);
	else
		scan_heap(published, snapshot, nkeys, keys, fn, arg);
	index_close(index, AccessShareLock);
	table_close(published, AccessShareLock);
}

static bytea *
make_bytea(const void *data, Size size)
{
	bytea	   *result = palloc(VARHDRSZ + size);

	SET_VARSIZE(result, VARHDRSZ + size);
	memcpy(VARDATA(result), data, size);
	return result;
}

/* ---- chunked values ---- */

typedef struct Chunks
{
	char	   *buffer;
	Size		size;			/* bytes expected in all */
	Size		filled;
	int32		next_part;
	bool		sound;			/* so far */
} Chunks;

static void
add_chunk(void *arg, const PublishedRow *row)
{
	Chunks	   *chunks = arg;

	if (!chunks->sound || row->data == NULL || row->part != chunks->next_part ||
		row->data_size > chunks->size - chunks->filled)
	{
		chunks->sound = false;
		return;
	}
	memcpy(chunks->buffer + chunks->filled, row->data, row->data_size);
	chunks->filled += row->data_size;
	chunks->next_part++;
}

/* Join all parts under a kind and key; false unless they come to "size" bytes. */
static bool
read_chunks(Oid published, char kind, bytea *key, char *buffer, Size size, Snapshot snapshot)
{
	Chunks		chunks = {buffer, size, 0, 0, true};

	scan_published(published, kind, key, snapshot, add_chunk, &chunks);
	return chunks.sound && chunks.filled == chunks.size;
}

/* ---- headers, bodies, artifacts ---- */

typedef struct HeaderRow
{
	bool		found;
	TransactionId writer;
	Size		size;
	char		data[ACDAT_HEADER_BYTES];
} HeaderRow;

static void
take_header(void *arg, const PublishedRow *row)
{
	HeaderRow  *header = arg;

	header->found = true;
	header->writer = row->writer;
	header->size = row->data_size;
	if (row->data != NULL && row->data_size == ACDAT_HEADER_BYTES)
		memcpy(header->data, row->data, ACDAT_HEADER_BYTES);
	else
		header->size = 0;
}

bool
acdat_read_header(Oid published, const char *policy, Snapshot snapshot,
				  AcdatHeader *header)
{
	bytea	   *key = make_bytea(policy, strlen(policy));
	HeaderRow	row = {0};

	scan_published(published, ACDAT_KIND_HEADER, key, snapshot, take_header, &row);
	pfree(key);
	if (!row.found)
		return false;
	acdat_header_parse(row.data, row.size, header);
	header->writer = row.writer;
	return true;
}

AcdatPolicy *
acdat_read_policy(Oid published, const char *policy, Snapshot snapshot,
				  const AcdatHeader *header)
{
	bytea	   *key = acdat_body_key(policy, header->generation);
	char	   *body = NULL;
	bool		whole = header->body_size > 0 && header->body_size <= (int64) MaxAllocSize;
	uint8		digest[ACD_DIGEST_LEN];
	AcdatPolicy *result;

	if (whole)
	{
		body = palloc(header->body_size);
		whole = read_chunks(published, ACDAT_KIND_BODY, key, body, header->body_size, snapshot);
	}
	if (whole)
		acdat_sha256(body, header->body_size, digest);
	pfree(key);
	if (!whole || memcmp(digest, header->body_digest, ACD_DIGEST_LEN) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("published form of policy \"%s\" is corrupt", policy),
				 errdetail("Generation %lld is incomplete or was changed.",
						   (long long) header->generation),
				 errhint("Publish the policy again.")));
	result = acdat_policy_parse(body, header->body_size);
	pfree(body);
	return result;
}

void
acdat_read_artifact(Oid published, const AcdatMachineRef *ref, Snapshot snapshot, char *buffer)
{
	bytea	   *key = make_bytea(ref->digest, ACD_DIGEST_LEN);
	bool		whole = read_chunks(published, ACDAT_KIND_MACHINE, key, buffer, (Size) ref->size,
									snapshot);

	pfree(key);
	if (!whole)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("published machine of dictionary \"%s\" is corrupt", ref->dictionary),
				 errdetail("Some of its chunks are missing or were changed."),
				 errhint("Publish the policy again after removing the rows of kind \"%c\" from %s.%s.",
						 ACDAT_KIND_MACHINE, ACDAT_SCHEMA, ACDAT_PUBLISHED)));
}

/* ---- bindings ---- */

/* A binding as it stands in the table. */
typedef struct FoundBinding
{
	char	   *data;
	Size		size;
} FoundBinding;

typedef struct BindingSearch
{
	const char *name;
	Oid			role;			/* or InvalidOid */
	MemoryContext context;		/* holds what follows */
	FoundBinding *by_name;
	List	   *by_role;		/* of FoundBinding */
	bool		damaged;
} BindingSearch;

static void
consider_binding(void *arg, const PublishedRow *row)
{
	BindingSearch *search = arg;
	FoundBinding *found;
	MemoryContext old;
	bool		named;
	uint32		role;

	if (row->key == NULL || row->data == NULL || row->data_size <= sizeof(role))
	{
		search->damaged = true;
		return;
	}
	named = row->key_size == strlen(search->name) &&
		memcmp(row->key, search->name, row->key_size) == 0;
	role = (uint32) (uint8) row->data[0] | (uint32) (uint8) row->data[1] << 8 |
		(uint32) (uint8) row->data[2] << 16 | (uint32) (uint8) row->data[3] << 24;
	if (!named && (!OidIsValid(search->role) || role != search->role))
		return;

	old = MemoryContextSwitchTo(search->context);
	found = palloc(sizeof(FoundBinding));
	found->data = palloc(row->data_size);
	found->size = row->data_size;
	memcpy(found->data, row->data, row->data_size);
	if (named)
		search->by_name = found;
	else
		search->by_role = lappend(search->by_role, found);
	MemoryContextSwitchTo(old);
}

/*
 * A role is found by its name first, as oids change with dump and restore,
 * then by its oid, so that a renamed one does not get away.  After a restore
 * the oid may be somebody else's, so it never brings the policy "none".
 */
char *
acdat_read_binding(Oid published, char kind, const char *name, Oid role, Snapshot snapshot)
{
	BindingSearch search = {0};
	ListCell   *lc;
	Oid			ignored;

	search.name = name;
	search.role = kind == ACDAT_KIND_ROLE ? role : InvalidOid;
	search.context = CurrentMemoryContext;
	scan_published(published, kind, NULL, snapshot, consider_binding, &search);
	if (search.damaged)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("a binding in %s.%s is corrupt", ACDAT_SCHEMA, ACDAT_PUBLISHED)));
	if (search.by_name != NULL)
		return acdat_binding_parse(search.by_name->data, search.by_name->size, &ignored);
	foreach(lc, search.by_role)
	{
		const FoundBinding *found = lfirst(lc);
		char	   *policy = acdat_binding_parse(found->data, found->size, &ignored);

		if (strcmp(policy, ACDAT_POLICY_NONE) != 0)
			return policy;
	}
	return NULL;
}
