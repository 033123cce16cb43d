/*
 * shared_machine.c
 *		Machines that are open in this process, shared with others if possible.
 *
 * The first process that needs a machine reads it into a segment of shared
 * memory, where the others find it by the directory; those that come while it
 * is read wait for that.  Nobody waits for long: the loader may itself be
 * waiting, for a lock on the published table, say, and then a copy of one's
 * own is the way out.  It is also where there is no shared memory, too little
 * of it, or no room in the directory.
 *
 * A machine goes when its last owner, a memory context, goes: at the end of a
 * query, of decoding, after errors too.  What a session still has at its end
 * is left to the directory and to the server.
 */
#include "postgres.h"

#include "commands/dbcommands.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "storage/condition_variable.h"
#include "storage/ipc.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"

#include "compat.h"
#include "machine_directory.h"
#include "shared_machine.h"

PG_FUNCTION_INFO_V1(acdat_shared_machines);

/* From so many bytes on a machine is shared: less than a mapping is worth. */
#define SHARED_FROM		(64 * 1024)

/*
 * What a segment begins with: the machine as the one who loaded it has it
 * open.  The artifact follows at an offset, the header of its value before it.
 */
typedef struct SegmentHead
{
	Size		head_size;
	acd_machine machine;
} SegmentHead;

#define ARTIFACT_OFFSET	4096

StaticAssertDecl(sizeof(SegmentHead) + VARHDRSZ <= ARTIFACT_OFFSET,
				 "head of a segment does not fit");

/* How long to wait for a machine that another process is loading. */
#define LOADING_TIMEOUT_MS	10000

static dlist_head open_machines = DLIST_STATIC_INIT(open_machines);

/* An owner's hold on a machine. */
typedef struct Reference
{
	MemoryContextCallback callback;
	AcdatMachine *machine;
} Reference;

/* ---- opening ---- */

static void
set_value(AcdatMachine *machine, char *block)
{
	machine->value = (struct varlena *) (block + ARTIFACT_OFFSET - VARHDRSZ);
}

/* Open the artifact that begins at an offset into a block. */
static void
open_artifact(AcdatMachine *machine, char *block, const AcdatMachineRef *ref)
{
	acd_status	status = acd_machine_open(&machine->machine, block + ARTIFACT_OFFSET,
										  (size_t) ref->size);

	if (status == ACD_OK)
	{
		acd_machine_info info;

		acd_machine_describe(&machine->machine, &info);
		if (memcmp(info.digest, ref->digest, ACD_DIGEST_LEN) != 0)
			status = ACD_ERR_CORRUPT;
	}
	if (status != ACD_OK)
		acdat_raise(status, psprintf("the published machine of dictionary \"%s\"",
									 ref->dictionary));
	set_value(machine, block);
}

/* Read the artifact from the published table into a block, and open it. */
static void
load_artifact(AcdatMachine *machine, char *block, Oid published, const AcdatMachineRef *ref,
			  Snapshot snapshot)
{
	acdat_read_artifact(published, ref, snapshot, block + ARTIFACT_OFFSET);
	SET_VARSIZE(block + ARTIFACT_OFFSET - VARHDRSZ, VARHDRSZ + (Size) ref->size);
	open_artifact(machine, block, ref);
	ereport(DEBUG1,
			(errmsg_internal("read a machine of %lld bytes", (long long) ref->size)));
}

/*
 * Others will take these bytes for what the digest names, even after the
 * table holds something else.  So compute the digest: it is of what follows
 * it in the artifact.
 */
static void
prove_digest(const AcdatMachine *machine, const AcdatMachineRef *ref)
{
	const char *artifact = VARDATA(machine->value);
	acd_machine_info info;
	Size		start;
	uint8		digest[ACD_DIGEST_LEN];

	acd_machine_describe(&machine->machine, &info);
	start = (const char *) info.digest - artifact + ACD_DIGEST_LEN;
	acdat_sha256(artifact + start, (Size) ref->size - start, digest);
	if (memcmp(digest, ref->digest, ACD_DIGEST_LEN) != 0)
		acdat_raise(ACD_ERR_CORRUPT, psprintf("the published machine of dictionary \"%s\"",
											  ref->dictionary));
}

/* ---- sharing ---- */

/* Give up a place in the directory, and the segment. */
static void
give_back(AcdatMachine *machine)
{
	int			entry = machine->entry;
	dsm_segment *segment = machine->segment;

	machine->entry = -1;
	machine->segment = NULL;
	if (entry >= 0)
		acdat_directory_leave(entry);
	if (segment != NULL)
		dsm_detach(segment);
}

/* Leave the machine open in its segment, for others to move to their address. */
static void
leave_head(const AcdatMachine *machine)
{
	SegmentHead *head = dsm_segment_address(machine->segment);

	head->head_size = sizeof(SegmentHead);
	head->machine = machine->machine;
}

/* Use what another process has opened and checked. */
static bool
take_head(AcdatMachine *machine, dsm_segment *segment)
{
	char	   *block = dsm_segment_address(segment);
	const SegmentHead *head = (const SegmentHead *) block;

	acd_machine moved;

	if (head->head_size != sizeof(SegmentHead))
		return false;			/* of another build of this library */
	moved = head->machine;
	if (acd_machine_move(&moved, block + ARTIFACT_OFFSET) != ACD_OK)
		return false;
	machine->machine = moved;
	set_value(machine, block);
	return true;
}

/*
 * Another database may have the same machine.  As we had to read ours to come
 * here, comparing them gives nothing away; if they are equal, use that one.
 */
static void
use_twin(AcdatMachine *machine, const AcdatMachineRef *ref)
{
	dsm_segment *unused = acdat_directory_twin(machine->entry);

	if (unused == NULL)
		return;
	if (memcmp((char *) dsm_segment_address(unused) + ARTIFACT_OFFSET, VARDATA(machine->value),
			   (size_t) ref->size) == 0 && take_head(machine, unused))
	{
		dsm_segment *own = machine->segment;

		machine->segment = unused;
		unused = own;
	}
	dsm_detach(unused);
}

/* Load a machine for all; false if there is no memory for it. */
static bool
load_shared(AcdatMachine *machine, Oid published, const AcdatMachineRef *ref, Snapshot snapshot)
{
	machine->segment = acdat_directory_create(ARTIFACT_OFFSET + (Size) ref->size);
	if (machine->segment == NULL)
		return false;
	load_artifact(machine, dsm_segment_address(machine->segment), published, ref, snapshot);
	prove_digest(machine, ref);
	leave_head(machine);
	use_twin(machine, ref);
	acdat_directory_publish(machine->entry, machine->segment);
	return true;
}

/* Claim the machine's entry, waiting for another process that loads it. */
static AcdatClaim
claim_in_time(AcdatMachine *machine, const AcdatMachineRef *ref)
{
	TimestampTz start = GetCurrentTimestamp();
	AcdatClaim	claim;

	for (;;)
	{
		long		waited;

		claim = acdat_directory_claim(ref, &machine->entry, &machine->segment);
		if (claim != ACDAT_CLAIM_BUSY)
			break;
		waited = (long) ((GetCurrentTimestamp() - start) / 1000);
		if (waited < 0 || waited >= LOADING_TIMEOUT_MS)
			break;
		acdat_directory_wait(LOADING_TIMEOUT_MS - waited);
	}
	ConditionVariableCancelSleep();
	return claim;
}

/* Load a machine for all, or let another process try if it fails. */
static bool
try_to_load(AcdatMachine *machine, Oid published, const AcdatMachineRef *ref, Snapshot snapshot)
{
	volatile bool loaded = false;

	PG_TRY();
	{
		loaded = load_shared(machine, published, ref, snapshot);
	}
	PG_CATCH();
	{
		give_back(machine);
		PG_RE_THROW();
	}
	PG_END_TRY();
	return loaded;
}

/* Open a machine in shared memory; false if it has to be done without. */
static bool
open_shared(AcdatMachine *machine, Oid published, const AcdatMachineRef *ref, Snapshot snapshot)
{
	bool		shared;

	switch (claim_in_time(machine, ref))
	{
		case ACDAT_CLAIM_JOINED:
			shared = take_head(machine, machine->segment);
			break;
		case ACDAT_CLAIM_OURS:
			shared = try_to_load(machine, published, ref, snapshot);
			break;
		default:
			return false;
	}
	if (!shared)
		give_back(machine);
	return shared;
}

/* ---- machines of this process ---- */

static void
release_machine(void *arg)
{
	AcdatMachine *machine = arg;

	/* what is mapped now is the server's to unmap */
	if (proc_exit_inprogress || --machine->references > 0)
		return;
	dlist_delete(&machine->node);
	give_back(machine);
	MemoryContextDelete(machine->context);
}

static void
add_reference(AcdatMachine *machine, Reference *reference, MemoryContext owner)
{
	reference->machine = machine;
	reference->callback.func = release_machine;
	reference->callback.arg = machine;
	MemoryContextRegisterResetCallback(owner, &reference->callback);
	machine->references++;
}

/* From now on the machine is there until its last reference goes. */
static void
enlist(AcdatMachine *machine, MemoryContext context)
{
	machine->context = context;
	MemoryContextSetParent(context, TopMemoryContext);
	dlist_push_head(&open_machines, &machine->node);
}

static AcdatMachine *
find_machine(const AcdatMachineRef *ref)
{
	dlist_iter	iter;

	dlist_foreach(iter, &open_machines)
	{
		AcdatMachine *machine = dlist_container(AcdatMachine, node, iter.cur);
		acd_machine_info info;

		acd_machine_describe(&machine->machine, &info);
		if (info.bytes == (uint64_t) ref->size &&
			memcmp(info.digest, ref->digest, ACD_DIGEST_LEN) == 0)
			return machine;
	}
	return NULL;
}

static AcdatMachine *
open_machine(Oid published, const AcdatMachineRef *ref, Snapshot snapshot)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "acdat_decoder machine",
												  ALLOCSET_SMALL_SIZES);
	AcdatMachine *machine = MemoryContextAllocZero(context, sizeof(AcdatMachine));

	machine->entry = -1;
	if (ref->size < SHARED_FROM || !open_shared(machine, published, ref, snapshot))
	{
		CHECK_FOR_INTERRUPTS();
		load_artifact(machine, MemoryContextAllocHuge(context, ARTIFACT_OFFSET + (Size) ref->size),
					  published, ref, snapshot);
	}
	enlist(machine, context);
	return machine;
}

AcdatMachine *
acdat_get_machine(Oid published, const AcdatMachineRef *ref, Snapshot snapshot,
				  MemoryContext owner)
{
	Reference  *reference = MemoryContextAlloc(owner, sizeof(Reference));
	AcdatMachine *machine = find_machine(ref);

	if (machine == NULL)
		machine = open_machine(published, ref, snapshot);
	add_reference(machine, reference, owner);
	return machine;
}

AcdatMachine *
acdat_adopt_machine(MemoryContext context, struct varlena *value, MemoryContext owner)
{
	Reference  *reference = MemoryContextAlloc(owner, sizeof(Reference));
	AcdatMachine *machine = MemoryContextAllocZero(context, sizeof(AcdatMachine));
	acd_status	status = acd_machine_open(&machine->machine, VARDATA(value),
										  VARSIZE(value) - VARHDRSZ);

	if (status != ACD_OK)
		acdat_raise(status, "machine");
	machine->value = value;
	machine->entry = -1;
	enlist(machine, context);
	add_reference(machine, reference, owner);
	return machine;
}

void
acdat_hold_machine(AcdatMachine *machine, MemoryContext owner)
{
	add_reference(machine, MemoryContextAlloc(owner, sizeof(Reference)), owner);
}

AcdatMachine *
acdat_machine_at(const void *value)
{
	dlist_iter	iter;

	dlist_foreach(iter, &open_machines)
	{
		AcdatMachine *machine = dlist_container(AcdatMachine, node, iter.cur);

		if ((const void *) machine->value == value)
			return machine;
	}
	return NULL;
}

/* ---- for people to see ---- */

/* shared_machines() */
Datum
acdat_shared_machines(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	AcdatDirectoryRow *rows = palloc(ACDAT_DIRECTORY_ENTRIES * sizeof(AcdatDirectoryRow));
	int			count = acdat_directory_list(rows);

	InitMaterializedSRF(fcinfo, 0);
	for (int i = 0; i < count; i++)
	{
		char	   *database = get_database_name(rows[i].database);
		bytea	   *digest = palloc(VARHDRSZ + ACD_DIGEST_LEN);
		Datum		values[5];
		bool		nulls[5] = {false};

		SET_VARSIZE(digest, VARHDRSZ + ACD_DIGEST_LEN);
		memcpy(VARDATA(digest), rows[i].digest, ACD_DIGEST_LEN);
		nulls[0] = database == NULL;
		values[0] = database ? DirectFunctionCall1(namein, CStringGetDatum(database)) : (Datum) 0;
		values[1] = PointerGetDatum(digest);
		values[2] = Int64GetDatum((int64) rows[i].size);
		values[3] = Int32GetDatum(rows[i].users);
		values[4] = BoolGetDatum(rows[i].loaded);
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	}
	return (Datum) 0;
}
