/*
 * transaction.c
 *		The callbacks of transactions: whole, prepared and streamed.
 *
 * A generation of the policy holds for a whole transaction, or for a block of
 * a streamed one.
 */
#include "postgres.h"

#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "decoder.h"

/* Hand a mark to the format. */
static void
emit_mark(AcdatDecoder *decoder, const ReorderBufferTXN *txn, AcdatMarkKind kind,
		  XLogRecPtr lsn, const char *gid, TransactionId subxid)
{
	AcdatMark	mark = {0};

	mark.kind = kind;
	mark.xid = txn->xid;
	mark.subxid = subxid;
	mark.lsn = lsn;
	mark.end_lsn = txn->end_lsn;
	mark.origin = decoder->in_stream || kind == ACDAT_MARK_STREAM_ABORT ?
		ACDAT_ORIGIN_UNKNOWN : txn->origin_id;
	if (gid != NULL)
		acdat_prepare_gid(decoder, &mark, gid);
	decoder->format->mark(decoder, &mark);
}

/* No time of a transaction; 0 is one, of those that a replication origin replays. */
#define UNKNOWN_TIME	DT_NOBEGIN

/* The time to print with a transaction's records, or UNKNOWN_TIME. */
static void
set_timestamp(AcdatDecoder *decoder, TimestampTz time)
{
	decoder->timestamp[0] = '\0';
	if (decoder->options.include_timestamp && time != UNKNOWN_TIME)
		strlcpy(decoder->timestamp, timestamptz_to_str(time), sizeof(decoder->timestamp));
}

/* What every transaction, and every block of a streamed one, starts with. */
static void
enter_transaction(AcdatDecoder *decoder, TimestampTz time)
{
	acdat_plans_sweep(decoder);
	acdat_refresh_policy(decoder);
	decoder->transaction_changes = 0;
	decoder->begun = false;
	set_timestamp(decoder, time);
}

/*
 * Emit the begin of a transaction if that has not happened: with
 * "include-empty-transactions" off it waits for something to follow.
 */
void
acdat_ensure_begun(AcdatDecoder *decoder, ReorderBufferTXN *txn)
{
	if (decoder->begun)
		return;
	decoder->begun = true;
	emit_mark(decoder, txn, ACDAT_MARK_BEGIN, txn->final_lsn, NULL, InvalidTransactionId);
}

/* The frame of a callback: work in the change context and reset it. */
#define CALLBACK_BEGIN(ctx) \
	AcdatDecoder *decoder = (ctx)->output_plugin_private; \
	MemoryContext outer_context = MemoryContextSwitchTo(decoder->change_context)

#define CALLBACK_END() \
	do { \
		MemoryContextSwitchTo(outer_context); \
		MemoryContextReset(decoder->change_context); \
	} while (0)

/* ---- whole transactions ---- */

static void
begin_callback(LogicalDecodingContext *ctx, ReorderBufferTXN *txn)
{
	CALLBACK_BEGIN(ctx);

	enter_transaction(decoder, ACDAT_COMMIT_TIME(txn));
	if (decoder->options.include_empty_transactions)
		acdat_ensure_begun(decoder, txn);
	CALLBACK_END();
}

static void
commit_callback(LogicalDecodingContext *ctx, ReorderBufferTXN *txn, XLogRecPtr commit_lsn)
{
	CALLBACK_BEGIN(ctx);

	OutputPluginUpdateProgress(ctx, false);
	if (decoder->begun)
		emit_mark(decoder, txn, ACDAT_MARK_COMMIT, commit_lsn, NULL, InvalidTransactionId);
	decoder->begun = false;
	CALLBACK_END();
}

/* ---- prepared transactions ---- */

static void
begin_prepare_callback(LogicalDecodingContext *ctx, ReorderBufferTXN *txn)
{
	CALLBACK_BEGIN(ctx);

	enter_transaction(decoder, ACDAT_PREPARE_TIME(txn));
	decoder->begun = true;
	emit_mark(decoder, txn, ACDAT_MARK_BEGIN_PREPARE, txn->final_lsn, txn->gid,
			  InvalidTransactionId);
	CALLBACK_END();
}

static void
prepare_callback(LogicalDecodingContext *ctx, ReorderBufferTXN *txn, XLogRecPtr prepare_lsn)
{
	CALLBACK_BEGIN(ctx);

	OutputPluginUpdateProgress(ctx, false);
	emit_mark(decoder, txn, ACDAT_MARK_PREPARE, prepare_lsn, txn->gid, InvalidTransactionId);
	decoder->begun = false;
	CALLBACK_END();
}

static void
commit_prepared_callback(LogicalDecodingContext *ctx, ReorderBufferTXN *txn,
						 XLogRecPtr commit_lsn)
{
	CALLBACK_BEGIN(ctx);

	OutputPluginUpdateProgress(ctx, false);
	set_timestamp(decoder, ACDAT_COMMIT_TIME(txn));
	emit_mark(decoder, txn, ACDAT_MARK_COMMIT_PREPARED, commit_lsn, txn->gid,
			  InvalidTransactionId);
	CALLBACK_END();
}

static void
rollback_prepared_callback(LogicalDecodingContext *ctx, ReorderBufferTXN *txn,
						   XLogRecPtr prepare_end_lsn pg_attribute_unused(),
						   TimestampTz prepare_time pg_attribute_unused())
{
	CALLBACK_BEGIN(ctx);

	OutputPluginUpdateProgress(ctx, false);
	set_timestamp(decoder, ACDAT_COMMIT_TIME(txn));
	emit_mark(decoder, txn, ACDAT_MARK_ROLLBACK_PREPARED, txn->final_lsn, txn->gid,
			  InvalidTransactionId);
	CALLBACK_END();
}

/* ---- streamed transactions ---- */

static void
stream_start_callback(LogicalDecodingContext *ctx, ReorderBufferTXN *txn)
{
	CALLBACK_BEGIN(ctx);

	enter_transaction(decoder, UNKNOWN_TIME);
	decoder->in_stream = true;
	decoder->begun = true;
	emit_mark(decoder, txn, ACDAT_MARK_STREAM_START, InvalidXLogRecPtr, NULL,
			  InvalidTransactionId);
	CALLBACK_END();
}

static void
stream_stop_callback(LogicalDecodingContext *ctx, ReorderBufferTXN *txn)
{
	CALLBACK_BEGIN(ctx);

	emit_mark(decoder, txn, ACDAT_MARK_STREAM_STOP, InvalidXLogRecPtr, NULL,
			  InvalidTransactionId);
	decoder->in_stream = false;
	decoder->begun = false;
	CALLBACK_END();
}

static void
stream_abort_callback(LogicalDecodingContext *ctx, ReorderBufferTXN *txn, XLogRecPtr abort_lsn)
{
	const ReorderBufferTXN *top = ACDAT_TOP_TRANSACTION(txn);

	CALLBACK_BEGIN(ctx);

	set_timestamp(decoder, UNKNOWN_TIME);
	emit_mark(decoder, top, ACDAT_MARK_STREAM_ABORT, abort_lsn, NULL, txn->xid);
	CALLBACK_END();
}

static void
stream_commit_callback(LogicalDecodingContext *ctx, ReorderBufferTXN *txn,
					   XLogRecPtr commit_lsn)
{
	CALLBACK_BEGIN(ctx);

	OutputPluginUpdateProgress(ctx, false);
	set_timestamp(decoder, ACDAT_COMMIT_TIME(txn));
	emit_mark(decoder, txn, ACDAT_MARK_STREAM_COMMIT, commit_lsn, NULL, InvalidTransactionId);
	CALLBACK_END();
}

static void
stream_prepare_callback(LogicalDecodingContext *ctx, ReorderBufferTXN *txn,
						XLogRecPtr prepare_lsn)
{
	CALLBACK_BEGIN(ctx);

	OutputPluginUpdateProgress(ctx, false);
	set_timestamp(decoder, ACDAT_PREPARE_TIME(txn));
	emit_mark(decoder, txn, ACDAT_MARK_STREAM_PREPARE, prepare_lsn, txn->gid,
			  InvalidTransactionId);
	CALLBACK_END();
}

void
acdat_transaction_callbacks(OutputPluginCallbacks *cb)
{
	cb->begin_cb = begin_callback;
	cb->commit_cb = commit_callback;
	cb->begin_prepare_cb = begin_prepare_callback;
	cb->prepare_cb = prepare_callback;
	cb->commit_prepared_cb = commit_prepared_callback;
	cb->rollback_prepared_cb = rollback_prepared_callback;
	cb->stream_start_cb = stream_start_callback;
	cb->stream_stop_cb = stream_stop_callback;
	cb->stream_abort_cb = stream_abort_callback;
	cb->stream_commit_cb = stream_commit_callback;
	cb->stream_prepare_cb = stream_prepare_callback;
}
