/*
 * generation.c
 *		The policy a session works under, as it changes while it decodes.
 *
 * It is read at start-up under an ordinary snapshot, so that slots older than
 * the extension work, and again at the start of a transaction after the
 * table's invalidation was seen.  A generation holds for a whole transaction.
 *
 * With clock = 'latest' the newer of two headers counts: the one committed
 * by now and the one visible in history.  A publisher that waits for a
 * synchronous standby is visible only in history.  With clock = 'commit'
 * history alone counts, and is asked for each transaction.
 */
#include "postgres.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "replication/origin.h"
#include "replication/slot.h"
#include "utils/inval.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "acdat.h"
#include "decoder.h"
#include "shared_machine.h"

/* times that the published table may have changed, see "checked" of a decoder */
static uint64 invalidations = 0;

void
acdat_policy_invalidated(Oid relid)
{
	if (!OidIsValid(relid) || relid == acdat_current_decoder->published)
		invalidations++;
}

/*
 * Read the generation that a header names and make it the current one.  On
 * an error the current one stays as it was, and the session is over anyway.
 * The one before is kept for its machines, as commit order can go back and
 * forth.
 */
static void
load_generation(AcdatDecoder *decoder, const char *policy, const AcdatHeader *header,
				Snapshot snapshot)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "acdat_decoder generation",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	AcdatGeneration *generation = palloc0(sizeof(AcdatGeneration));

	generation->context = context;
	generation->header = *header;
	generation->policy = acdat_read_policy(decoder->published, policy, snapshot, header);
	generation->machines = palloc0(sizeof(acd_machine *) *
								   Max(generation->policy->nmachines, 1));
	for (int i = 0; i < generation->policy->nmachines; i++)
	{
		AcdatMachine *machine = acdat_get_machine(decoder->published,
												  &generation->policy->machines[i],
												  snapshot, context);

		generation->machines[generation->nmachines++] = &machine->machine;
	}
	MemoryContextSwitchTo(old);

	MemoryContextSetParent(context, decoder->session_context);
	if (decoder->previous != NULL)
		MemoryContextDelete(decoder->previous->context);
	decoder->previous = decoder->generation;
	decoder->generation = generation;
	acdat_plans_discard(decoder);
}

pg_noreturn static void
not_published(const char *policy)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("policy \"%s\" is not published", policy),
			 errdetail("Nothing is emitted without a published policy."),
			 errhint("Publish it with SELECT acdat.publish('%s'), or check its name.", policy)));
}

/*
 * Did the transaction that is being decoded write this itself?  In a block of
 * one that is streamed while it is in progress nobody has agreed to that yet.
 */
static bool
is_own(const AcdatDecoder *decoder, const AcdatHeader *header)
{
	Snapshot	history;

	if (!HistoricSnapshotActive())
		return false;
	history = GetCatalogSnapshot(decoder->published);
	for (int32 i = 0; i < history->subxcnt; i++)
	{
		if (TransactionIdEquals(history->subxip[i], header->writer))
			return true;
	}
	return false;
}

/*
 * The committed header and what was visible in history, into what counts;
 * returns the snapshot to read the rest under, registered, or NULL if the
 * current generation stays.
 */
static Snapshot
choose_header(AcdatDecoder *decoder, AcdatHeader *header)
{
	const AcdatPolicy *policy = decoder->generation->policy;
	AcdatHeader in_history;
	AcdatHeader committed;
	bool		has_history;
	bool		has_committed;
	Snapshot	snapshot;

	has_history = acdat_read_header(decoder->published, policy->name, NULL, &in_history) &&
		!is_own(decoder, &in_history);
	if (policy->clock_commit)
	{
		if (!has_history)
			return NULL;		/* published later than what is decoded */
		*header = in_history;
		return RegisterSnapshot(GetCatalogSnapshot(decoder->published));
	}

	snapshot = RegisterSnapshot(GetNonHistoricCatalogSnapshot(decoder->published));
	has_committed = acdat_read_header(decoder->published, policy->name, snapshot, &committed);
	if (has_history &&
		in_history.generation > (has_committed ? committed.generation
								 : decoder->generation->header.generation))
	{
		UnregisterSnapshot(snapshot);
		*header = in_history;
		return RegisterSnapshot(GetCatalogSnapshot(decoder->published));
	}
	if (!has_committed)
		not_published(policy->name);
	*header = committed;
	return snapshot;
}

/*
 * Is the published table visible in history?  A session on a slot older than
 * the extension starts before it is; once it was, its absence means that the
 * extension was dropped.
 */
static bool
published_in_history(AcdatDecoder *decoder)
{
	bool		history = HistoricSnapshotActive();	/* not so for some messages */

	if (SearchSysCacheExists1(RELOID, ObjectIdGetDatum(decoder->published)))
	{
		decoder->seen_in_history |= history;
		return true;
	}
	if (decoder->seen_in_history || !history)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("extension \"%s\" was dropped", ACDAT_EXTENSION)));
	return false;
}

/* Make a header's generation the current one, unless it is. */
static void
use_header(AcdatDecoder *decoder, const AcdatHeader *header, Snapshot snapshot)
{
	const AcdatHeader *current = &decoder->generation->header;
	char	   *name;

	if (header->generation == current->generation &&
		memcmp(header->body_digest, current->body_digest, ACD_DIGEST_LEN) == 0)
		return;
	name = pstrdup(decoder->generation->policy->name);
	load_generation(decoder, name, header, snapshot);
	pfree(name);
}

void
acdat_refresh_policy(AcdatDecoder *decoder)
{
	uint64		seen;
	AcdatHeader header;
	Snapshot	snapshot;

	if (decoder->generation == NULL)
		return;
	AcceptInvalidationMessages();
	seen = invalidations;
	if (seen == decoder->checked && !decoder->generation->policy->clock_commit)
		return;
	if (!published_in_history(decoder))
		return;
	snapshot = choose_header(decoder, &header);
	if (snapshot != NULL)
	{
		use_header(decoder, &header, snapshot);
		UnregisterSnapshot(snapshot);
	}
	decoder->checked = seen;
}

/* ---- at start-up ---- */

/*
 * The policy a session must use by a binding of its slot, its user or the
 * database, in this order; NULL if there is none.
 */
static char *
find_binding(const AcdatDecoder *decoder, Snapshot snapshot)
{
	Oid			role = GetSessionUserId();
	char	   *policy;

	if (!OidIsValid(decoder->published))
		return NULL;
	policy = acdat_read_binding(decoder->published, ACDAT_KIND_SLOT,
								NameStr(MyReplicationSlot->data.name), InvalidOid, snapshot);
	if (policy == NULL)
		policy = acdat_read_binding(decoder->published, ACDAT_KIND_ROLE,
									GetUserNameFromId(role, false), role, snapshot);
	if (policy == NULL)
		policy = acdat_read_binding(decoder->published, ACDAT_KIND_DATABASE, "",
									InvalidOid, snapshot);
	return policy;
}

/* The policy's name, from a binding or the option. */
static const char *
choose_policy(const AcdatDecoder *decoder, Snapshot snapshot)
{
	const char *bound = find_binding(decoder, snapshot);
	const char *asked = decoder->options.policy;

	if (bound != NULL && asked != NULL && strcmp(bound, asked) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("policy \"%s\" may not be used here", asked),
				 errdetail("The slot, the user or the database is bound to another policy."),
				 errhint("Leave the option \"policy\" out.")));
	if (bound != NULL)
		return bound;
	if (asked == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("no policy was chosen"),
				 errdetail("Neither the slot \"%s\" nor the user nor the database is bound to one, and the option \"policy\" was not given.",
						   NameStr(MyReplicationSlot->data.name)),
				 errhint("Give the option \"policy\", or bind one with acdat.attach or acdat.bind_slot.")));
	if (strcmp(asked, ACDAT_POLICY_NONE) == 0 && !superuser_arg(GetSessionUserId()))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("must be superuser to decode without a policy"),
				 errhint("Or have a superuser bind the slot or the user to the policy \"%s\".",
						 ACDAT_POLICY_NONE)));
	return asked;
}

/* Choose and load the policy; in a transaction. */
static void
load_first(AcdatDecoder *decoder)
{
	const char *policy;
	AcdatHeader header;
	Snapshot	snapshot = NULL;

	decoder->published = acdat_published_oid();
	if (OidIsValid(decoder->published))
		snapshot = RegisterSnapshot(GetNonHistoricCatalogSnapshot(decoder->published));

	decoder->checked = invalidations++;
	policy = choose_policy(decoder, snapshot);
	if (strcmp(policy, ACDAT_POLICY_NONE) != 0)
	{
		if (!OidIsValid(decoder->published))
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("extension \"%s\" is not installed in this database",
							ACDAT_EXTENSION),
					 errhint("CREATE EXTENSION %s, then create and publish a policy.",
							 ACDAT_EXTENSION)));
		if (!acdat_read_header(decoder->published, policy, snapshot, &header))
			not_published(policy);
		load_generation(decoder, policy, &header, snapshot);
	}
	if (snapshot != NULL)
		UnregisterSnapshot(snapshot);
}

/* Find the numbers of origins that were given by name. */
static void
resolve_origins(AcdatOptions *options)
{
	ListCell   *lc;

	foreach(lc, options->filter_origins)
	{
		AcdatOrigin *origin = lfirst(lc);

		if (origin->name != NULL)
			origin->id = replorigin_by_name(origin->name, false);
	}
}

void
acdat_load_policy(AcdatDecoder *decoder)
{
	MemoryContext old = CurrentMemoryContext;
	bool		own_transaction = !IsTransactionState();

	if (own_transaction)
		StartTransactionCommand();
	resolve_origins(&decoder->options);
	load_first(decoder);
	if (own_transaction)
		CommitTransactionCommand();
	MemoryContextSwitchTo(old);
}
