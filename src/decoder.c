/*
 * decoder.c
 *		The output plugin: callbacks of logical decoding.
 *
 * Each callback works in the change context, which is reset at its end.
 */
#include "postgres.h"

#include "access/xact.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/timestamp.h"

#include "acdat.h"
#include "decoder.h"
#include "json.h"

/* After this many changes a long transaction shows that it is alive. */
#define CHANGES_PER_KEEPALIVE	100

/*
 * Let the client hear from us during long transactions, of which it may see
 * nothing.  From 16 on the server does this by itself.
 */
static void
report_progress(AcdatDecoder *decoder)
{
#if ACDAT_KEEPALIVE_NEEDED
	if (++decoder->unreported < CHANGES_PER_KEEPALIVE)
		return;
	decoder->unreported = 0;
	OutputPluginUpdateProgress(decoder->ctx, false);
#endif
}

/*
 * Emit the begin of a transaction if that has not happened: with
 * "include-empty-transactions" off it waits for something to follow.
 */
static void
ensure_begun(AcdatDecoder *decoder, ReorderBufferTXN *txn)
{
	if (decoder->begun)
		return;
	decoder->begun = true;
	decoder->format->begin(decoder, txn);
}

static void
begin_callback(LogicalDecodingContext *ctx, ReorderBufferTXN *txn)
{
	AcdatDecoder *decoder = ctx->output_plugin_private;
	MemoryContext old = MemoryContextSwitchTo(decoder->change_context);

	acdat_plans_sweep(decoder);
	acdat_refresh_policy(decoder);
	decoder->transaction_changes = 0;
	decoder->begun = false;
	if (decoder->options.include_timestamp)
		strlcpy(decoder->timestamp, timestamptz_to_str(ACDAT_COMMIT_TIME(txn)),
				sizeof(decoder->timestamp));
	if (decoder->options.include_empty_transactions)
		ensure_begun(decoder, txn);
	MemoryContextSwitchTo(old);
	MemoryContextReset(decoder->change_context);
}

static void
commit_callback(LogicalDecodingContext *ctx, ReorderBufferTXN *txn, XLogRecPtr commit_lsn)
{
	AcdatDecoder *decoder = ctx->output_plugin_private;
	MemoryContext old = MemoryContextSwitchTo(decoder->change_context);

	OutputPluginUpdateProgress(ctx, false);
	if (decoder->begun)
		decoder->format->commit(decoder, txn, commit_lsn);
	decoder->begun = false;
	MemoryContextSwitchTo(old);
	MemoryContextReset(decoder->change_context);
}

static bool
action_wanted(const AcdatActions *actions, enum ReorderBufferChangeType action)
{
	switch (action)
	{
		case REORDER_BUFFER_CHANGE_INSERT:
			return actions->insert;
		case REORDER_BUFFER_CHANGE_UPDATE:
			return actions->update;
		case REORDER_BUFFER_CHANGE_DELETE:
			return actions->delete;
		default:
			return false;
	}
}

/* Make the rows of a wanted change and hand them to the format. */
static void
emit_change(AcdatDecoder *decoder, ReorderBufferTXN *txn, Relation relation,
			ReorderBufferChange *change, AcdatPlan *plan)
{
	HeapTuple	new_tuple = NULL;
	HeapTuple	old_tuple = NULL;
	AcdatChange row = {change->action, change->lsn, plan, NULL, NULL};

	if (change->action != REORDER_BUFFER_CHANGE_DELETE)
		new_tuple = ACDAT_NEW_TUPLE(change);
	if (change->action != REORDER_BUFFER_CHANGE_INSERT)
		old_tuple = ACDAT_OLD_TUPLE(change);
	if (!decoder->format->accepts(decoder, plan, change->action, new_tuple != NULL, old_tuple != NULL))
		return;
	if (new_tuple != NULL)
	{
		row.new_row = plan->new_cells;
		acdat_make_row(decoder, plan, relation, new_tuple, false, change->lsn, row.new_row);
	}
	if (old_tuple != NULL)
	{
		row.old_row = plan->old_cells;
		acdat_make_row(decoder, plan, relation, old_tuple,
					   plan->replident != REPLICA_IDENTITY_FULL, change->lsn, row.old_row);
	}
	ensure_begun(decoder, txn);
	decoder->format->change(decoder, txn, &row);
}

static void
change_callback(LogicalDecodingContext *ctx, ReorderBufferTXN *txn, Relation relation,
				ReorderBufferChange *change)
{
	AcdatDecoder *decoder = ctx->output_plugin_private;
	MemoryContext old;
	AcdatPlan  *plan;

	report_progress(decoder);
	if (!action_wanted(&decoder->options.actions, change->action))
		return;
	old = MemoryContextSwitchTo(decoder->change_context);
	plan = acdat_get_plan(decoder, relation);
	if (plan->wanted)
		emit_change(decoder, txn, relation, change, plan);
	MemoryContextSwitchTo(old);
	MemoryContextReset(decoder->change_context);
}

static void
truncate_callback(LogicalDecodingContext *ctx, ReorderBufferTXN *txn, int nrelations,
				  Relation relations[], ReorderBufferChange *change)
{
	AcdatDecoder *decoder = ctx->output_plugin_private;
	MemoryContext old;

	report_progress(decoder);
	if (!decoder->options.actions.truncate || decoder->format->truncate == NULL)
		return;
	old = MemoryContextSwitchTo(decoder->change_context);
	for (int i = 0; i < nrelations; i++)
	{
		AcdatPlan  *plan = acdat_get_plan(decoder, relations[i]);

		if (!plan->wanted)
			continue;
		ensure_begun(decoder, txn);
		decoder->format->truncate(decoder, txn, change->lsn, plan);
	}
	MemoryContextSwitchTo(old);
	MemoryContextReset(decoder->change_context);
}

/* ---- messages ---- */

static void
mask_part(const AcdatDecoder *decoder, const char **part, Size *len)
{
	*part = acdat_encode(decoder, ACDAT_DEFAULT_MASK, strlen(ACDAT_DEFAULT_MASK), len);
}

/*
 * One part of a message, a prefix or a content, after redaction and in the
 * output's encoding.
 */
static void
redact_part(AcdatDecoder *decoder, const char **part, Size *len)
{
	const AcdatGeneration *generation = decoder->generation;
	AcdatAction action = generation ? generation->policy->default_action : ACDAT_KEEP;
	char	   *text;
	Size		text_len;

	if (action == ACDAT_MASK || action == ACDAT_NULL)
	{
		mask_part(decoder, part, len);
		return;
	}
	if (action != ACDAT_KEEP &&
		acdat_redact_text(generation->machines, generation->nmachines, *part, *len,
						  ACDAT_CHANGE_LIMIT, &text, &text_len))
	{
		decoder->counts.redacted++;
		if (text == NULL)
		{
			mask_part(decoder, part, len);
			return;
		}
		*part = text;
		*len = text_len;
	}
	*part = acdat_encode_bytes(decoder, *part, *len, len);
	if (acdat_json_size(*part, *len) > ACDAT_CHANGE_LIMIT / 2)
	{
		decoder->counts.oversize++;
		mask_part(decoder, part, len);
	}
}

/*
 * Prepare a message by the policy in force.  Non-transactional ones come
 * outside a transaction in a walsender, where no catalog could be read.
 */
static void
prepare_message(AcdatDecoder *decoder, AcdatMessage *message)
{
	bool		own_transaction = !IsTransactionState();

	if (own_transaction)
		StartTransactionCommand();
	MemoryContextSwitchTo(decoder->change_context);
	if (!message->transactional)
		acdat_refresh_policy(decoder);
	redact_part(decoder, &message->prefix, &message->prefix_len);
	redact_part(decoder, &message->content, &message->content_len);
	if (own_transaction)
		AbortCurrentTransaction();	/* leaves no history in the caches */
	MemoryContextSwitchTo(decoder->change_context);
}

static void
message_callback(LogicalDecodingContext *ctx, ReorderBufferTXN *txn, XLogRecPtr message_lsn,
				 bool transactional, const char *prefix, Size message_size,
				 const char *content)
{
	AcdatDecoder *decoder = ctx->output_plugin_private;
	MemoryContext old = CurrentMemoryContext;
	AcdatMessage message = {transactional, message_lsn, prefix, strlen(prefix),
	content, message_size};

	report_progress(decoder);
	if (!acdat_prefix_wanted(&decoder->options, prefix))
		return;
	prepare_message(decoder, &message);
	if (decoder->generation == NULL ||
		decoder->generation->policy->default_action != ACDAT_DROP)
	{
		if (transactional)
			ensure_begun(decoder, txn);
		decoder->format->message(decoder, txn, &message);
	}
	MemoryContextSwitchTo(old);
	MemoryContextReset(decoder->change_context);
}

/* Changes that came here by replication from these origins are left out. */
static bool
filter_by_origin_callback(LogicalDecodingContext *ctx, RepOriginId origin_id)
{
	AcdatDecoder *decoder = ctx->output_plugin_private;
	ListCell   *lc;

	if (decoder == NULL || origin_id == InvalidRepOriginId)
		return false;
	foreach(lc, decoder->options.filter_origins)
	{
		if (((AcdatOrigin *) lfirst(lc))->id == origin_id)
			return true;
	}
	return false;
}

void
_PG_output_plugin_init(OutputPluginCallbacks *cb)
{
	cb->startup_cb = acdat_startup;
	cb->shutdown_cb = acdat_shutdown;
	cb->begin_cb = begin_callback;
	cb->change_cb = change_callback;
	cb->truncate_cb = truncate_callback;
	cb->message_cb = message_callback;
	cb->commit_cb = commit_callback;
	cb->filter_by_origin_cb = filter_by_origin_callback;
}
