/*
 * bench_floor.c
 *		The least that any output plugin costs: writes "bytes" constant bytes
 *		per change, nothing for 0, and looks at no tuple.
 *
 * With bytes=1 it is the floor of decoding and handing over; with the size
 * that another plugin writes it is the floor of whoever writes that much.
 * With per-transaction they are gathered into one message a transaction.
 *
 * Copyright (c) 2026, the acdat_decoder authors; PostgreSQL licence
 */
#include "postgres.h"

#include "fmgr.h"
#include "nodes/parsenodes.h"
#include "replication/logical.h"
#include "replication/output_plugin.h"

PG_MODULE_MAGIC;

extern PGDLLEXPORT void _PG_output_plugin_init(OutputPluginCallbacks *cb);

typedef struct floor_state
{
	int			bytes;
	bool		per_transaction;
	char	   *payload;
} floor_state;

static void
floor_startup(LogicalDecodingContext *ctx, OutputPluginOptions *opt, bool is_init)
{
	floor_state *state = palloc0(sizeof *state);
	ListCell   *cell;

	foreach(cell, ctx->output_plugin_options)
	{
		DefElem    *option = lfirst(cell);

		if (strcmp(option->defname, "bytes") == 0 && option->arg != NULL)
			state->bytes = atoi(strVal(option->arg));
		else if (strcmp(option->defname, "per-transaction") == 0)
			state->per_transaction = true;
	}
	if (state->bytes < 0 || state->bytes > 100 * 1024 * 1024)
		elog(ERROR, "bytes out of range");
	state->payload = palloc(state->bytes + 1);
	memset(state->payload, 'x', state->bytes);
	opt->output_type = OUTPUT_PLUGIN_TEXTUAL_OUTPUT;
	ctx->output_plugin_private = state;
}

static void
floor_begin(LogicalDecodingContext *ctx, ReorderBufferTXN *txn)
{
	if (((floor_state *) ctx->output_plugin_private)->per_transaction)
		OutputPluginPrepareWrite(ctx, true);
}

static void
floor_commit(LogicalDecodingContext *ctx, ReorderBufferTXN *txn, XLogRecPtr lsn)
{
	if (((floor_state *) ctx->output_plugin_private)->per_transaction)
		OutputPluginWrite(ctx, true);
}

static void
floor_change(LogicalDecodingContext *ctx, ReorderBufferTXN *txn, Relation relation,
			 ReorderBufferChange *change)
{
	floor_state *state = ctx->output_plugin_private;

	if (state->bytes == 0)
		return;
	if (!state->per_transaction)
		OutputPluginPrepareWrite(ctx, true);
	appendBinaryStringInfo(ctx->out, state->payload, state->bytes);
	if (!state->per_transaction)
		OutputPluginWrite(ctx, true);
}

void
_PG_output_plugin_init(OutputPluginCallbacks *cb)
{
	cb->startup_cb = floor_startup;
	cb->begin_cb = floor_begin;
	cb->change_cb = floor_change;
	cb->commit_cb = floor_commit;
}
