/*
 * machine_directory.c
 *		Which machines are in shared memory, and where.
 *
 * Each machine is in a dynamic shared memory segment of its own, which the
 * server frees when the last process unmaps it.  The directory tells in which
 * one.  It is part of the server's main shared memory where the library is in
 * shared_preload_libraries, else a named segment; on servers that have no
 * named segments (15, 16) there is none, and nothing is shared.
 *
 * An entry exists as long as it has users.  While its state is "ready" they
 * all have its segment mapped: they map it before they are counted, under the
 * directory's lock, and unmap it afterwards.  So whoever finds a ready entry
 * under the lock can map it.
 *
 * Entries belong to a database: a process finds only what was loaded from the
 * published table that it reads itself.  Knowing a digest is not enough to
 * get another database's dictionary.
 *
 * Whatever goes wrong with shared memory (no space, no memory, no slots, no
 * files) is no error but a reason to do without it.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/condition_variable.h"
#include "storage/ipc.h"
#include "storage/lwlock.h"
#include "storage/shmem.h"
#include "utils/memutils.h"
#include "utils/resowner.h"
#include "utils/wait_event.h"

#include "compat.h"
#include "machine_directory.h"

/* Each version has its own: after an upgrade old code may still run beside new. */
#define DIRECTORY_NAME	"acdat_decoder machines " ACDAT_VERSION

typedef enum EntryState
{
	ENTRY_FREE,
	ENTRY_LOADING,				/* by its one user */
	ENTRY_READY
} EntryState;

typedef struct Entry
{
	EntryState	state;
	int			users;			/* processes */
	Oid			database;
	dsm_handle	handle;
	Size		size;
	uint8		digest[ACD_DIGEST_LEN];
} Entry;

typedef struct Directory
{
	LWLock		lock;			/* protects the rest */
	ConditionVariable loading_ended;
	bool		reported;		/* that something could not be shared */
	Entry		entries[ACDAT_DIRECTORY_ENTRIES];
} Directory;

/* The directory, NULL where there is none or it was not looked for. */
static Directory *directory = NULL;

/* Entries that this process is a user of. */
static bool member[ACDAT_DIRECTORY_ENTRIES];

static bool exit_registered = false;
static bool reported_here = false;

static shmem_request_hook_type next_request_hook = NULL;
static shmem_startup_hook_type next_startup_hook = NULL;

/* ---- failing quietly ---- */

/* Say once why something is not shared, and again after it was better. */
static void
report_shortage(const char *why)
{
	bool		reported = reported_here;

	reported_here = true;
	if (directory != NULL)
	{
		LWLockAcquire(&directory->lock, LW_EXCLUSIVE);
		reported = directory->reported;
		directory->reported = true;
		LWLockRelease(&directory->lock);
	}
	if (!reported)
		ereport(LOG,
				(errmsg("a compiled dictionary is not shared among processes"),
				 errdetail_internal("%s", why),
				 errhint("Each process that uses it has a copy of its own. Shared memory may be too small, as /dev/shm is in many containers.")));
}

/*
 * Call fn, which deals with dynamic shared memory.  False if it raised an
 * error; what it created or mapped is undone then.  No locks of the server
 * are held by those who call this.
 */
static bool
attempt(void (*fn) (void *), void *arg)
{
	MemoryContext context = CurrentMemoryContext;
	ResourceOwner outer = CurrentResourceOwner;
	ResourceOwner inner = ResourceOwnerCreate(NULL, "acdat_decoder shared memory");
	ErrorData  *volatile error = NULL;

	PG_TRY();
	{
		CurrentResourceOwner = inner;
		fn(arg);
	}
	PG_CATCH();
	{
		LWLockReleaseAll();
		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		FlushErrorState();
	}
	PG_END_TRY();

	/* empty unless it failed */
	ResourceOwnerRelease(inner, RESOURCE_RELEASE_BEFORE_LOCKS, false, false);
	ResourceOwnerRelease(inner, RESOURCE_RELEASE_LOCKS, false, false);
	ResourceOwnerRelease(inner, RESOURCE_RELEASE_AFTER_LOCKS, false, false);
	CurrentResourceOwner = outer;
	ResourceOwnerDelete(inner);
	if (error == NULL)
		return true;
	report_shortage(error->message);
	FreeErrorData(error);
	return false;
}

/* ---- where the directory is ---- */

static void
init_directory(Directory *new_directory)
{
	memset(new_directory, 0, sizeof(Directory));
	LWLockInitialize(&new_directory->lock, ACDAT_NEW_TRANCHE("acdat_decoder"));
	ConditionVariableInit(&new_directory->loading_ended);
}

static void
request_hook(void)
{
	if (next_request_hook != NULL)
		next_request_hook();
	RequestAddinShmemSpace(MAXALIGN(sizeof(Directory)));
}

static void
startup_hook(void)
{
	bool		found;

	if (next_startup_hook != NULL)
		next_startup_hook();
	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	directory = ShmemInitStruct(DIRECTORY_NAME, sizeof(Directory), &found);
	if (!found)
		init_directory(directory);
	LWLockRelease(AddinShmemInitLock);
	ACDAT_REGISTER_TRANCHE(directory->lock.tranche, "acdat_decoder");
}

void
acdat_directory_init(void)
{
	if (!process_shared_preload_libraries_in_progress)
		return;
	next_request_hook = shmem_request_hook;
	shmem_request_hook = request_hook;
	next_startup_hook = shmem_startup_hook;
	shmem_startup_hook = startup_hook;
}

#if ACDAT_NAMED_SEGMENTS
static void
init_named(ACDAT_SEGMENT_INIT_ARGS)
{
	init_directory(ptr);
}

static void
find_named(void *arg pg_attribute_unused())
{
	bool		found;
	Directory  *named = ACDAT_NAMED_SEGMENT(DIRECTORY_NAME, sizeof(Directory), init_named, &found);

	ACDAT_REGISTER_TRANCHE(named->lock.tranche, "acdat_decoder");
	directory = named;
}
#endif

static void
leave_all(int code pg_attribute_unused(), Datum arg pg_attribute_unused())
{
	for (int i = 0; i < ACDAT_DIRECTORY_ENTRIES; i++)
		acdat_directory_leave(i);
}

/* Is there a directory? */
static bool
have_directory(void)
{
	if (!IsUnderPostmaster)
		return false;
#if ACDAT_NAMED_SEGMENTS
	if (directory == NULL)
		(void) attempt(find_named, NULL);
#endif
	if (directory != NULL && !exit_registered)
	{
		before_shmem_exit(leave_all, (Datum) 0);
		exit_registered = true;
	}
	return directory != NULL;
}

/* ---- entries ---- */

static bool
holds(const Entry *entry, const uint8 *digest, Size size)
{
	return entry->state != ENTRY_FREE && entry->size == size &&
		memcmp(entry->digest, digest, ACD_DIGEST_LEN) == 0;
}

/* Map a segment under the directory's lock; NULL if it cannot be used here. */
static dsm_segment *
map_segment(dsm_handle handle)
{
	dsm_segment *segment;

	/* by another copy of this library, after an upgrade of its file */
	if (dsm_find_mapping(handle) != NULL)
		return NULL;
	segment = dsm_attach(handle);
	if (segment != NULL)
		dsm_pin_mapping(segment);
	return segment;
}

typedef struct Claim
{
	const AcdatMachineRef *ref;
	AcdatClaim	result;
	int			entry;
	dsm_segment *segment;
	bool		full;
} Claim;

/* The index of the machine's entry, else of one that is free, else -1. */
static int
find_entry(const AcdatMachineRef *ref)
{
	int			unused = -1;

	for (int i = 0; i < ACDAT_DIRECTORY_ENTRIES; i++)
	{
		const Entry *entry = &directory->entries[i];

		if (entry->state == ENTRY_FREE)
			unused = i;
		else if (entry->database == MyDatabaseId && holds(entry, ref->digest, (Size) ref->size))
			return i;
	}
	return unused;
}

static void
claim_entry(void *arg)
{
	Claim	   *claim = arg;
	Entry	   *entry;

	LWLockAcquire(&directory->lock, LW_EXCLUSIVE);
	claim->entry = find_entry(claim->ref);
	claim->full = claim->entry < 0;
	entry = &directory->entries[Max(claim->entry, 0)];
	if (claim->full)
		claim->result = ACDAT_CLAIM_NONE;
	else if (entry->state == ENTRY_FREE)
	{
		entry->state = ENTRY_LOADING;
		entry->users = 1;
		entry->database = MyDatabaseId;
		entry->handle = DSM_HANDLE_INVALID;
		entry->size = (Size) claim->ref->size;
		memcpy(entry->digest, claim->ref->digest, ACD_DIGEST_LEN);
		member[claim->entry] = true;
		claim->result = ACDAT_CLAIM_OURS;
	}
	else if (entry->state == ENTRY_LOADING)
		claim->result = ACDAT_CLAIM_BUSY;
	else
	{
		claim->segment = map_segment(entry->handle);
		if (claim->segment != NULL)
		{
			entry->users++;
			member[claim->entry] = true;
			claim->result = ACDAT_CLAIM_JOINED;
		}
	}
	LWLockRelease(&directory->lock);
}

AcdatClaim
acdat_directory_claim(const AcdatMachineRef *ref, int *entry, dsm_segment **segment)
{
	Claim		claim = {ref, ACDAT_CLAIM_NONE, -1, NULL, false};

	if (!have_directory() || !attempt(claim_entry, &claim))
		return ACDAT_CLAIM_NONE;
	if (claim.full)
		report_shortage("All entries of the directory are in use.");
	if (claim.result == ACDAT_CLAIM_JOINED || claim.result == ACDAT_CLAIM_OURS)
	{
		*entry = claim.entry;
		*segment = claim.segment;
	}
	return claim.result;
}

void
acdat_directory_wait(long milliseconds)
{
	(void) ConditionVariableTimedSleep(&directory->loading_ended, milliseconds,
									   PG_WAIT_EXTENSION);
}

typedef struct Creation
{
	Size		size;
	dsm_segment *segment;
} Creation;

static void
create_segment(void *arg)
{
	Creation   *creation = arg;
	dsm_segment *segment = dsm_create(creation->size, DSM_CREATE_NULL_IF_MAXSEGMENTS);

	if (segment != NULL)
		dsm_pin_mapping(segment);
	creation->segment = segment;
}

dsm_segment *
acdat_directory_create(Size size)
{
	Creation	creation = {size, NULL};

	if (attempt(create_segment, &creation) && creation.segment == NULL)
		report_shortage("There are too many dynamic shared memory segments.");
	return creation.segment;
}

typedef struct TwinSearch
{
	int			entry;
	dsm_segment *segment;
} TwinSearch;

static void
find_twin(void *arg)
{
	TwinSearch *search = arg;
	const Entry *ours = &directory->entries[search->entry];

	LWLockAcquire(&directory->lock, LW_EXCLUSIVE);
	for (int i = 0; i < ACDAT_DIRECTORY_ENTRIES && search->segment == NULL; i++)
	{
		const Entry *entry = &directory->entries[i];

		if (entry->state == ENTRY_READY && holds(entry, ours->digest, ours->size))
			search->segment = map_segment(entry->handle);
	}
	LWLockRelease(&directory->lock);
}

dsm_segment *
acdat_directory_twin(int entry)
{
	TwinSearch	search = {entry, NULL};

	return attempt(find_twin, &search) ? search.segment : NULL;
}

void
acdat_directory_publish(int index, dsm_segment *segment)
{
	LWLockAcquire(&directory->lock, LW_EXCLUSIVE);
	directory->entries[index].handle = dsm_segment_handle(segment);
	directory->entries[index].state = ENTRY_READY;
	directory->reported = false;
	LWLockRelease(&directory->lock);
	ConditionVariableBroadcast(&directory->loading_ended);
}

void
acdat_directory_leave(int index)
{
	Entry	   *entry;
	bool		was_loading;

	if (!member[index])
		return;
	entry = &directory->entries[index];
	LWLockAcquire(&directory->lock, LW_EXCLUSIVE);
	member[index] = false;
	was_loading = entry->state == ENTRY_LOADING;
	if (--entry->users == 0)
		entry->state = ENTRY_FREE;
	LWLockRelease(&directory->lock);
	if (was_loading)
		ConditionVariableBroadcast(&directory->loading_ended);
}

int
acdat_directory_list(AcdatDirectoryRow rows[ACDAT_DIRECTORY_ENTRIES])
{
	int			count = 0;

	if (!have_directory())
		return 0;
	LWLockAcquire(&directory->lock, LW_SHARED);
	for (int i = 0; i < ACDAT_DIRECTORY_ENTRIES; i++)
	{
		const Entry *entry = &directory->entries[i];
		AcdatDirectoryRow *row = &rows[count];

		if (entry->state == ENTRY_FREE)
			continue;
		row->database = entry->database;
		memcpy(row->digest, entry->digest, ACD_DIGEST_LEN);
		row->size = entry->size;
		row->users = entry->users;
		row->loaded = entry->state == ENTRY_READY;
		count++;
	}
	LWLockRelease(&directory->lock);
	return count;
}
