/*
 * format_wal2json1.c
 *		Version 1 of the wal2json format: a JSON object for each transaction.
 *
 * {"change":[{"kind":"update","schema":"s","table":"t","columnnames":["a"],
 * "columntypes":["text"],"columnvalues":["x"],"pk":{"pknames":["a"],
 * "pktypes":["text"]},"oldkeys":{"keynames":["a"],"keytypes":["text"],
 * "keyvalues":["y"]}}]}
 *
 * The message is opened by begin, grows in the context's buffer, and is
 * written by commit.
 */
#include "postgres.h"

#include "wal2json.h"

/* A list of the names or types of the primary key's columns. */
static void
append_key_list(StringInfo buf, const AcdatPlan *plan, bool types)
{
	bool		first = true;

	for (int i = 0; i < plan->ncolumns; i++)
	{
		const AcdatColumn *column = &plan->columns[i];

		if (!column->primary || column->action == ACDAT_DROP)
			continue;
		if (!first)
			appendStringInfoChar(buf, ',');
		first = false;
		if (types)
			appendBinaryStringInfo(buf, column->type_json, (int) column->type_json_len);
		else
			appendBinaryStringInfo(buf, column->name_json, (int) column->name_json_len);
	}
}

/*
 * Of a column its name and type as strings; of a table ,"schema":"s",
 * "table":"t"   of the primary key ,"pk":{...}
 */
static void
prepare(AcdatDecoder *decoder, Relation relation pg_attribute_unused(), AcdatPlan *plan)
{
	StringInfoData buf;

	initStringInfo(&buf);
	if (decoder->options.include_schemas)
	{
		appendStringInfoString(&buf, ",\"schema\":");
		w2j_append_name(decoder, &buf, plan->schema);
	}
	appendStringInfoString(&buf, ",\"table\":");
	w2j_append_name(decoder, &buf, plan->table);
	plan->table_json = w2j_fragment(&buf, &plan->table_json_len);

	for (int i = 0; i < plan->ncolumns; i++)
	{
		AcdatColumn *column = &plan->columns[i];

		w2j_prepare_column(decoder, column);
		plan->fragments_len += column->name_json_len + column->type_json_len + strlen(",,,");
	}

	if (!decoder->options.include_pk || !plan->has_primary_key)
		return;
	initStringInfo(&buf);
	appendStringInfoString(&buf, ",\"pk\":{\"pknames\":[");
	append_key_list(&buf, plan, false);
	appendStringInfoString(&buf, "],\"pktypes\":[");
	if (decoder->options.include_types)
		append_key_list(&buf, plan, true);
	appendStringInfoString(&buf, "]}");
	plan->pk_json = w2j_fragment(&buf, &plan->pk_json_len);
}

static void
begin(AcdatDecoder *decoder, ReorderBufferTXN *txn)
{
	LogicalDecodingContext *ctx = decoder->ctx;
	char	   *pos;

	OutputPluginPrepareWrite(ctx, true);
	pos = w2j_reserve(decoder, W2J_RECORD_BYTES);
	*pos++ = '{';
	if (decoder->options.include_xids)
	{
		pos = ACDAT_PUT_LITERAL(pos, "\"xid\":");
		pos = w2j_put_uint32(pos, txn->xid);
		*pos++ = ',';
	}
	if (decoder->options.include_lsn)
	{
		pos = ACDAT_PUT_LITERAL(pos, "\"nextlsn\":\"");
		pos = w2j_put_lsn(pos, txn->end_lsn);
		pos = ACDAT_PUT_LITERAL(pos, "\",");
	}
	if (decoder->options.include_timestamp)
	{
		pos = ACDAT_PUT_LITERAL(pos, "\"timestamp\":\"");
		pos = acdat_put(pos, decoder->timestamp, strlen(decoder->timestamp));
		pos = ACDAT_PUT_LITERAL(pos, "\",");
	}
	pos = ACDAT_PUT_LITERAL(pos, "\"change\":[");
	w2j_written(decoder, pos);
}

static void
commit(AcdatDecoder *decoder, ReorderBufferTXN *txn pg_attribute_unused(),
	   XLogRecPtr commit_lsn pg_attribute_unused())
{
	appendStringInfoString(decoder->ctx->out, "]}");
	OutputPluginWrite(decoder->ctx, true);
}

/* The parallel lists a row is made of. */
typedef enum ListKind
{
	LIST_NAMES,
	LIST_TYPES,
	LIST_VALUES
} ListKind;

/*
 * One list of a row.  Of old keys only what is in the identity, if
 * "identity", and never nulls, if "keys".
 */
static char *
put_list(char *pos, const AcdatPlan *plan, const AcdatCell *row, ListKind kind,
		 bool keys, bool identity)
{
	bool		first = true;

	*pos++ = '[';
	for (int i = 0; i < plan->ncolumns; i++)
	{
		const AcdatColumn *column = &plan->columns[i];

		if (!w2j_appears(&row[i]) || (identity && !column->identity) ||
			(keys && row[i].kind == ACDAT_CELL_NULL))
			continue;
		if (!first)
			*pos++ = ',';
		first = false;
		if (kind == LIST_NAMES)
			pos = acdat_put(pos, column->name_json, column->name_json_len);
		else if (kind == LIST_TYPES)
			pos = acdat_put(pos, column->type_json, column->type_json_len);
		else
			pos = w2j_put_value(pos, column, &row[i]);
	}
	*pos++ = ']';
	return pos;
}

static char *
put_new_row(char *pos, const AcdatDecoder *decoder, const AcdatChange *change)
{
	pos = ACDAT_PUT_LITERAL(pos, ",\"columnnames\":");
	pos = put_list(pos, change->plan, change->new_row, LIST_NAMES, false, false);
	if (decoder->options.include_types)
	{
		pos = ACDAT_PUT_LITERAL(pos, ",\"columntypes\":");
		pos = put_list(pos, change->plan, change->new_row, LIST_TYPES, false, false);
	}
	pos = ACDAT_PUT_LITERAL(pos, ",\"columnvalues\":");
	return put_list(pos, change->plan, change->new_row, LIST_VALUES, false, false);
}

static char *
put_old_keys(char *pos, const AcdatDecoder *decoder, const AcdatPlan *plan,
			 const AcdatCell *row, bool identity)
{
	pos = ACDAT_PUT_LITERAL(pos, ",\"oldkeys\":{\"keynames\":");
	pos = put_list(pos, plan, row, LIST_NAMES, true, identity);
	if (decoder->options.include_types)
	{
		pos = ACDAT_PUT_LITERAL(pos, ",\"keytypes\":");
		pos = put_list(pos, plan, row, LIST_TYPES, true, identity);
	}
	pos = ACDAT_PUT_LITERAL(pos, ",\"keyvalues\":");
	pos = put_list(pos, plan, row, LIST_VALUES, true, identity);
	*pos++ = '}';
	return pos;
}

static void
write_change(AcdatDecoder *decoder, ReorderBufferTXN *txn pg_attribute_unused(),
			 AcdatChange *change)
{
	const AcdatPlan *plan = change->plan;
	AcdatChange bounded = *change;
	char	   *pos;

	/* old keys out of the new row are a second copy of its values */
	if (change->action == REORDER_BUFFER_CHANGE_UPDATE && change->old_row == NULL)
		bounded.old_row = change->new_row;
	pos = w2j_reserve_change(decoder, &bounded,
							 W2J_RECORD_BYTES + plan->table_json_len + plan->pk_json_len +
							 2 * plan->fragments_len);
	if (decoder->transaction_changes++ > 0)
		*pos++ = ',';
	if (change->action == REORDER_BUFFER_CHANGE_INSERT)
		pos = ACDAT_PUT_LITERAL(pos, "{\"kind\":\"insert\"");
	else if (change->action == REORDER_BUFFER_CHANGE_UPDATE)
		pos = ACDAT_PUT_LITERAL(pos, "{\"kind\":\"update\"");
	else
		pos = ACDAT_PUT_LITERAL(pos, "{\"kind\":\"delete\"");
	pos = acdat_put(pos, plan->table_json, plan->table_json_len);
	if (change->new_row != NULL)
		pos = put_new_row(pos, decoder, change);
	if (plan->pk_json != NULL)
		pos = acdat_put(pos, plan->pk_json, plan->pk_json_len);
	if (change->action == REORDER_BUFFER_CHANGE_UPDATE)
		pos = put_old_keys(pos, decoder, plan, bounded.old_row, change->old_row == NULL);
	else if (change->action == REORDER_BUFFER_CHANGE_DELETE)
		pos = put_old_keys(pos, decoder, plan, change->old_row, true);
	*pos++ = '}';
	w2j_written(decoder, pos);
}

/*
 * A message is one of the transaction's changes, or by itself in an object
 * of its own.
 */
static void
write_message(AcdatDecoder *decoder, ReorderBufferTXN *txn pg_attribute_unused(),
			  const AcdatMessage *message)
{
	LogicalDecodingContext *ctx = decoder->ctx;
	Size		size = W2J_RECORD_BYTES + acdat_json_size(message->prefix, message->prefix_len) +
		acdat_json_size(message->content, message->content_len);
	char	   *pos;

	if (!message->transactional)
		OutputPluginPrepareWrite(ctx, true);
	pos = w2j_reserve(decoder, size);
	if (!message->transactional)
		pos = ACDAT_PUT_LITERAL(pos, "{\"change\":[");
	else if (decoder->transaction_changes++ > 0)
		*pos++ = ',';
	pos = ACDAT_PUT_LITERAL(pos, "{\"kind\":\"message\",\"transactional\":");
	if (message->transactional)
		pos = ACDAT_PUT_LITERAL(pos, "true");
	else
		pos = ACDAT_PUT_LITERAL(pos, "false");
	pos = ACDAT_PUT_LITERAL(pos, ",\"prefix\":");
	pos = acdat_put_json(pos, message->prefix, message->prefix_len);
	pos = ACDAT_PUT_LITERAL(pos, ",\"content\":");
	pos = acdat_put_json(pos, message->content, message->content_len);
	*pos++ = '}';
	if (!message->transactional)
		pos = ACDAT_PUT_LITERAL(pos, "]}");
	w2j_written(decoder, pos);
	if (!message->transactional)
		OutputPluginWrite(ctx, true);
}

/* wal2json warns and drops; the warnings come once per relation here. */
static bool
accepts(AcdatPlan *plan, enum ReorderBufferChangeType action, bool has_new, bool has_old)
{
	bool		identified = plan->has_identity_index ||
		plan->replident == REPLICA_IDENTITY_FULL;
	bool		complete = action == REORDER_BUFFER_CHANGE_DELETE ? has_old : has_new;
	const char *kind = action == REORDER_BUFFER_CHANGE_INSERT ? "INSERT" :
		action == REORDER_BUFFER_CHANGE_UPDATE ? "UPDATE" : "DELETE";

	if (action == REORDER_BUFFER_CHANGE_INSERT)
		identified = true;
	if (identified && complete)
		return true;
	if (!plan->warned && !identified)
		ereport(WARNING,
				(errmsg_internal("table \"%s\" without primary key or replica identity is nothing",
								 plan->table)));
	else if (!plan->warned)
		ereport(WARNING,
				(errmsg_internal("no tuple data for %s in table \"%s\"", kind, plan->table)));
	plan->warned = true;
	return false;
}

const AcdatFormat acdat_format_wal2json1 = {
	.name = "wal2json 1",
	.prepare = prepare,
	.begin = begin,
	.commit = commit,
	.change = write_change,
	.truncate = NULL,
	.message = write_message,
	.accepts = accepts,
};
