/*
 * format_wal2json2.c
 *		Version 2 of the wal2json format: a JSON object for each change.
 *
 * {"action":"U","schema":"s","table":"t","columns":[{"name":"a",
 * "type":"text","value":"x"}],"identity":[...],"pk":[...]}
 */
#include "postgres.h"

#include "wal2json.h"

/*
 * Of a column: {"name":"a","type":"text","value":   of a table:
 * ,"schema":"s","table":"t"   of the primary key: ,"pk":[{"name":...}]
 */
static void
prepare_column(AcdatDecoder *decoder, AcdatColumn *column)
{
	StringInfoData buf;

	w2j_prepare_column(decoder, column);
	initStringInfo(&buf);
	appendStringInfoString(&buf, "{\"name\":");
	appendBinaryStringInfo(&buf, column->name_json, (int) column->name_json_len);
	if (decoder->options.include_types)
	{
		appendStringInfoString(&buf, ",\"type\":");
		appendBinaryStringInfo(&buf, column->type_json, (int) column->type_json_len);
	}
	appendStringInfoString(&buf, ",\"value\":");
	column->name_json = w2j_fragment(&buf, &column->name_json_len);
}

static void
prepare_primary_key(AcdatPlan *plan)
{
	StringInfoData buf;
	bool		first = true;

	initStringInfo(&buf);
	appendStringInfoString(&buf, ",\"pk\":[");
	for (int i = 0; plan->has_primary_key && i < plan->ncolumns; i++)
	{
		const AcdatColumn *column = &plan->columns[i];

		if (!column->primary || column->action == ACDAT_DROP)
			continue;
		if (!first)
			appendStringInfoChar(&buf, ',');
		first = false;

		/* the column's fragment up to its value */
		appendBinaryStringInfo(&buf, column->name_json,
							   (int) (column->name_json_len - strlen(",\"value\":")));
		appendStringInfoChar(&buf, '}');
	}
	appendStringInfoChar(&buf, ']');
	plan->pk_json = w2j_fragment(&buf, &plan->pk_json_len);
}

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
		prepare_column(decoder, &plan->columns[i]);
		plan->fragments_len += plan->columns[i].name_json_len + strlen("},");
	}
	if (decoder->options.include_pk)
		prepare_primary_key(plan);
}

/* The members that every record starts with, after its action. */
static char *
put_transaction(char *pos, const AcdatDecoder *decoder, const ReorderBufferTXN *txn)
{
	if (decoder->options.include_xids)
	{
		pos = ACDAT_PUT_LITERAL(pos, ",\"xid\":");
		pos = w2j_put_uint32(pos, txn->xid);
	}
	if (decoder->options.include_timestamp)
	{
		pos = ACDAT_PUT_LITERAL(pos, ",\"timestamp\":\"");
		pos = acdat_put(pos, decoder->timestamp, strlen(decoder->timestamp));
		*pos++ = '"';
	}
	return pos;
}

static char *
put_lsn_member(char *pos, const char *name, XLogRecPtr lsn)
{
	pos = ACDAT_PUT_LITERAL(pos, ",\"");
	pos = acdat_put(pos, name, strlen(name));
	pos = ACDAT_PUT_LITERAL(pos, "\":\"");
	pos = w2j_put_lsn(pos, lsn);
	*pos++ = '"';
	return pos;
}

/* A begin or commit record. */
static void
write_boundary(AcdatDecoder *decoder, const ReorderBufferTXN *txn, char action, XLogRecPtr lsn)
{
	LogicalDecodingContext *ctx = decoder->ctx;
	char	   *pos;

	if (!decoder->options.include_transaction)
		return;
	OutputPluginPrepareWrite(ctx, true);
	pos = w2j_reserve(decoder, W2J_RECORD_BYTES);
	pos = ACDAT_PUT_LITERAL(pos, "{\"action\":\"");
	*pos++ = action;
	*pos++ = '"';
	pos = put_transaction(pos, decoder, txn);
	if (decoder->options.include_lsn)
	{
		pos = put_lsn_member(pos, "lsn", lsn);
		pos = put_lsn_member(pos, "nextlsn", txn->end_lsn);
	}
	*pos++ = '}';
	w2j_written(decoder, pos);
	OutputPluginWrite(ctx, true);
}

static void
begin(AcdatDecoder *decoder, ReorderBufferTXN *txn)
{
	write_boundary(decoder, txn, 'B', txn->final_lsn);
}

static void
commit(AcdatDecoder *decoder, ReorderBufferTXN *txn, XLogRecPtr commit_lsn)
{
	write_boundary(decoder, txn, 'C', commit_lsn);
}

/* The columns of a row; of an identity if "identity" only those that are in it. */
static char *
put_columns(char *pos, const AcdatPlan *plan, const AcdatCell *row, bool identity)
{
	bool		first = true;

	for (int i = 0; i < plan->ncolumns; i++)
	{
		const AcdatColumn *column = &plan->columns[i];

		if (!w2j_appears(&row[i]) || (identity && !column->identity))
			continue;
		if (!first)
			*pos++ = ',';
		first = false;
		pos = acdat_put(pos, column->name_json, column->name_json_len);
		pos = w2j_put_value(pos, column, &row[i]);
		*pos++ = '}';
	}
	return pos;
}

/* What comes before the columns: action, transaction, table. */
static char *
put_head(char *pos, const AcdatDecoder *decoder, const ReorderBufferTXN *txn, char action,
		 XLogRecPtr lsn, const AcdatPlan *plan)
{
	pos = ACDAT_PUT_LITERAL(pos, "{\"action\":\"");
	*pos++ = action;
	*pos++ = '"';
	pos = put_transaction(pos, decoder, txn);
	if (decoder->options.include_lsn)
		pos = put_lsn_member(pos, "lsn", lsn);
	return acdat_put(pos, plan->table_json, plan->table_json_len);
}

static char
action_letter(enum ReorderBufferChangeType action)
{
	switch (action)
	{
		case REORDER_BUFFER_CHANGE_INSERT:
			return 'I';
		case REORDER_BUFFER_CHANGE_UPDATE:
			return 'U';
		default:
			return 'D';
	}
}

/*
 * The row that the identity is printed from: the old one, or where the
 * identity did not change the new one; NULL if there is none.
 */
static const AcdatCell *
identity_row(const AcdatChange *change)
{
	const AcdatPlan *plan = change->plan;

	if (change->old_row != NULL)
		return change->old_row;
	if (change->action == REORDER_BUFFER_CHANGE_UPDATE &&
		(plan->has_primary_key || plan->has_identity_index))
		return change->new_row;
	return NULL;
}

static void
write_change(AcdatDecoder *decoder, ReorderBufferTXN *txn, AcdatChange *change)
{
	LogicalDecodingContext *ctx = decoder->ctx;
	const AcdatPlan *plan = change->plan;
	const AcdatCell *identity = identity_row(change);
	AcdatChange bounded = *change;
	char	   *pos;

	OutputPluginPrepareWrite(ctx, true);

	/* an identity out of the new row is a second copy of its values */
	if (identity == change->new_row)
		bounded.old_row = change->new_row;
	pos = w2j_reserve_change(decoder, &bounded,
							 W2J_RECORD_BYTES + plan->table_json_len + plan->pk_json_len +
							 2 * plan->fragments_len);
	pos = put_head(pos, decoder, txn, action_letter(change->action), change->lsn, plan);
	if (change->new_row != NULL)
	{
		pos = ACDAT_PUT_LITERAL(pos, ",\"columns\":[");
		pos = put_columns(pos, plan, change->new_row, false);
		*pos++ = ']';
	}
	if (identity != NULL)
	{
		pos = ACDAT_PUT_LITERAL(pos, ",\"identity\":[");
		pos = put_columns(pos, plan, identity, true);
		*pos++ = ']';
	}
	if (decoder->options.include_pk)
		pos = acdat_put(pos, plan->pk_json, plan->pk_json_len);
	*pos++ = '}';
	w2j_written(decoder, pos);
	OutputPluginWrite(ctx, true);
}

static void
write_truncate(AcdatDecoder *decoder, ReorderBufferTXN *txn, XLogRecPtr lsn,
			   const AcdatPlan *plan)
{
	LogicalDecodingContext *ctx = decoder->ctx;
	char	   *pos;

	OutputPluginPrepareWrite(ctx, true);
	pos = w2j_reserve(decoder, W2J_RECORD_BYTES + plan->table_json_len);
	pos = put_head(pos, decoder, txn, 'T', lsn, plan);
	*pos++ = '}';
	w2j_written(decoder, pos);
	OutputPluginWrite(ctx, true);
}

static void
write_message(AcdatDecoder *decoder, ReorderBufferTXN *txn, const AcdatMessage *message)
{
	LogicalDecodingContext *ctx = decoder->ctx;
	char	   *pos;

	OutputPluginPrepareWrite(ctx, true);
	pos = w2j_reserve(decoder, W2J_RECORD_BYTES +
					  acdat_json_size(message->prefix, message->prefix_len) +
					  acdat_json_size(message->content, message->content_len));
	pos = ACDAT_PUT_LITERAL(pos, "{\"action\":\"M\"");
	if (message->transactional)
		pos = put_transaction(pos, decoder, txn);
	else
	{
		if (decoder->options.include_xids)
			pos = ACDAT_PUT_LITERAL(pos, ",\"xid\":null");
		if (decoder->options.include_timestamp)
			pos = ACDAT_PUT_LITERAL(pos, ",\"timestamp\":null");
	}
	if (decoder->options.include_lsn)
		pos = put_lsn_member(pos, "lsn", message->lsn);
	if (message->transactional)
		pos = ACDAT_PUT_LITERAL(pos, ",\"transactional\":true");
	else
		pos = ACDAT_PUT_LITERAL(pos, ",\"transactional\":false");
	pos = ACDAT_PUT_LITERAL(pos, ",\"prefix\":");
	pos = acdat_put_json(pos, message->prefix, message->prefix_len);
	pos = ACDAT_PUT_LITERAL(pos, ",\"content\":");
	pos = acdat_put_json(pos, message->content, message->content_len);
	*pos++ = '}';
	w2j_written(decoder, pos);
	OutputPluginWrite(ctx, true);
}

/*
 * wal2json warns and drops, or warns and emits without an identity; the
 * warnings come once per relation here.
 */
static bool
accepts(AcdatPlan *plan, enum ReorderBufferChangeType action, bool has_new, bool has_old)
{
	const char *kind = action == REORDER_BUFFER_CHANGE_INSERT ? "INSERT" :
		action == REORDER_BUFFER_CHANGE_UPDATE ? "UPDATE" : "DELETE";
	const char *what = NULL;
	bool		emitted = false;

	if (action != REORDER_BUFFER_CHANGE_DELETE && !has_new)
		what = "no tuple data";
	else if (action == REORDER_BUFFER_CHANGE_INSERT || has_old)
		return true;
	else if (!plan->has_identity_index && plan->replident != REPLICA_IDENTITY_FULL)
		what = "no tuple identifier";
	else if (action == REORDER_BUFFER_CHANGE_UPDATE &&
			 (plan->has_primary_key || plan->has_identity_index))
		return true;			/* printed from the new tuple */
	else
	{
		what = "no old tuple data";
		emitted = true;
	}
	if (!plan->warned)
		ereport(WARNING,
				(errmsg_internal("%s for %s in table \"%s\".\"%s\"",
								 what, kind, plan->schema, plan->table)));
	plan->warned = true;
	return emitted;
}

const AcdatFormat acdat_format_wal2json2 = {
	.name = "wal2json 2",
	.prepare = prepare,
	.begin = begin,
	.commit = commit,
	.change = write_change,
	.truncate = write_truncate,
	.message = write_message,
	.accepts = accepts,
};
