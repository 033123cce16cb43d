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
#else
	(void) decoder;
#endif
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

/*
 * The transaction that a change's record names.  Of a streamed one that is the
 * subtransaction, which may yet abort.
 */
static ReorderBufferTXN *
transaction_of(const AcdatDecoder *decoder, ReorderBufferTXN *txn,
			   const ReorderBufferChange *change)
{
	return decoder->in_stream ? change->txn : txn;
}

/*
 * The same of a message, of which we are given no more than the top-level
 * transaction.  While the server streams, it keeps the subtransaction that it
 * is at in CheckXidAlive, unless that has been committed by now.
 */
static TransactionId
xid_of_message(const AcdatDecoder *decoder, const ReorderBufferTXN *txn)
{
	if (txn == NULL)
		return InvalidTransactionId;
	return decoder->in_stream && TransactionIdIsValid(CheckXidAlive) ? CheckXidAlive : txn->xid;
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
	acdat_ensure_begun(decoder, txn);
	decoder->format->change(decoder, transaction_of(decoder, txn, change), &row);
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
		AcdatPlan  *plan;

		/* the root is in the list where it was truncated, not a part of it */
		if (decoder->options.partition_root && relations[i]->rd_rel->relispartition)
			continue;
		plan = acdat_get_plan(decoder, relations[i]);
		if (!plan->wanted)
			continue;
		acdat_ensure_begun(decoder, txn);
		decoder->format->truncate(decoder, transaction_of(decoder, txn, change), change->lsn,
								  plan);
	}
	MemoryContextSwitchTo(old);
	MemoryContextReset(decoder->change_context);
}

static void
message_callback(LogicalDecodingContext *ctx, ReorderBufferTXN *txn, XLogRecPtr message_lsn,
				 bool transactional, const char *prefix, Size message_size,
				 const char *content)
{
	AcdatDecoder *decoder = ctx->output_plugin_private;
	MemoryContext old = CurrentMemoryContext;
	AcdatMessage message = {0};

	report_progress(decoder);
	message.transactional = transactional;
	message.xid = xid_of_message(decoder, transactional ? txn : NULL);
	message.lsn = message_lsn;
	message.prefix = prefix;
	message.prefix_len = strlen(prefix);
	message.content = content;
	message.content_len = message_size;
	if (acdat_prepare_message(decoder, &message) &&
		(decoder->generation == NULL ||
		 decoder->generation->policy->default_action != ACDAT_DROP))
	{
		if (transactional)
			acdat_ensure_begun(decoder, txn);
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
	cb->change_cb = change_callback;
	cb->truncate_cb = truncate_callback;
	cb->message_cb = message_callback;
	cb->filter_by_origin_cb = filter_by_origin_callback;
	cb->stream_change_cb = change_callback;
	cb->stream_truncate_cb = truncate_callback;
	cb->stream_message_cb = message_callback;
	acdat_transaction_callbacks(cb);
}
