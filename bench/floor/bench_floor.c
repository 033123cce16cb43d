/*
 * bench_floor.c
 *		The least that any output plugin costs: writes constant bytes for each
 *		change and looks at no tuple.
 *
 * bytes=N, or bytes=N/N/...: the sizes to write, in turn; 0 writes nothing.
 * per-transaction=on: one record a transaction, which grows change by change.
 *
 * With bytes=1 it is the floor of decoding and handing over; with the sizes
 * that another plugin writes it is the floor of whoever writes that much.
 * Like any plugin it writes in a context that it resets, without which every
 * message would stay in memory until the end, and the floor be too high.
 *
 * Copyright (c) 2026, the acdat_decoder authors; PostgreSQL licence
 */
#include "postgres.h"

#include "fmgr.h"
#include "nodes/parsenodes.h"
#include "replication/logical.h"
#include "replication/output_plugin.h"
#include "utils/memutils.h"

PG_MODULE_MAGIC;

extern PGDLLEXPORT void _PG_output_plugin_init(OutputPluginCallbacks *cb);

#define MAX_SIZES	256
#define STRIDE		37			/* through the sizes, so that ascending ones mix */

typedef struct floor_state
{
	int			sizes[MAX_SIZES];
	int			nsizes;
	int			next;
	bool		per_transaction;
	bool		written;		/* anything of this transaction */
	char	   *payload;
	MemoryContext context;		/* reset after each message */
} floor_state;

/* Read "N/N/..."; the largest. */
static int
parse_sizes(floor_state *state, const char *text)
{
	int			largest = 0;

	for (;;)
	{
		char	   *end;
		long		size = strtol(text, &end, 10);

		if (end == text || size < 0 || size > 100 * 1024 * 1024 || state->nsizes == MAX_SIZES)
			elog(ERROR, "invalid bytes");
		state->sizes[state->nsizes++] = (int) size;
		largest = Max(largest, (int) size);
		if (*end != '/')
			return largest;
		text = end + 1;
	}
}

static void
floor_startup(LogicalDecodingContext *ctx, OutputPluginOptions *opt, bool is_init)
{
	floor_state *state = palloc0(sizeof *state);
	int			largest = 0;
	ListCell   *cell;

	foreach(cell, ctx->output_plugin_options)
	{
		DefElem    *option = lfirst(cell);

		if (strcmp(option->defname, "bytes") == 0 && option->arg != NULL)
			largest = parse_sizes(state, strVal(option->arg));
		else if (strcmp(option->defname, "per-transaction") == 0)
			state->per_transaction = true;
	}
	if (state->nsizes == 0)
		state->nsizes = 1;
	state->payload = palloc(largest + 1);
	memset(state->payload, 'x', largest);
	state->context = AllocSetContextCreate(ctx->context, "bench floor", ALLOCSET_DEFAULT_SIZES);
	opt->output_type = OUTPUT_PLUGIN_TEXTUAL_OUTPUT;
	ctx->output_plugin_private = state;
}

/* Hand over what is in the buffer. */
static void
write_out(LogicalDecodingContext *ctx)
{
	floor_state *state = ctx->output_plugin_private;
	MemoryContext old = MemoryContextSwitchTo(state->context);

	OutputPluginWrite(ctx, true);
	MemoryContextSwitchTo(old);
	MemoryContextReset(state->context);
}

static void
floor_begin(LogicalDecodingContext *ctx, ReorderBufferTXN *txn)
{
	floor_state *state = ctx->output_plugin_private;

	state->written = false;
	if (state->per_transaction)
		OutputPluginPrepareWrite(ctx, true);
}

static void
floor_commit(LogicalDecodingContext *ctx, ReorderBufferTXN *txn, XLogRecPtr lsn)
{
	floor_state *state = ctx->output_plugin_private;

	if (!state->per_transaction)
		return;
	if (!state->written)		/* pg_recvlogical takes no empty message */
		appendStringInfoChar(ctx->out, 'x');
	write_out(ctx);
}

static void
floor_change(LogicalDecodingContext *ctx, ReorderBufferTXN *txn, Relation relation,
			 ReorderBufferChange *change)
{
	floor_state *state = ctx->output_plugin_private;
	int			size = state->sizes[state->next];

	state->next = (state->next + STRIDE) % state->nsizes;
	if (size == 0)
		return;
	if (!state->per_transaction)
		OutputPluginPrepareWrite(ctx, true);
	appendBinaryStringInfo(ctx->out, state->payload, size);
	state->written = true;
	if (!state->per_transaction)
		write_out(ctx);
}

void
_PG_output_plugin_init(OutputPluginCallbacks *cb)
{
	cb->startup_cb = floor_startup;
	cb->begin_cb = floor_begin;
	cb->change_cb = floor_change;
	cb->commit_cb = floor_commit;
}
