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
 * What stands around a column's value.  With "columns-as-object" a row is an
 * object of names and values, else an array of objects.
 */
static void
prepare_column(const AcdatOptions *options, W2jColumn *column)
{
	StringInfoData buf;

	if (options->columns_as_object)
	{
		column->head = w2j_format("%s:", column->item[W2J_NAMES].data);
		column->tail = w2j_format("%s", "");
		return;
	}
	initStringInfo(&buf);
	appendStringInfo(&buf, "{\"name\":%s", column->item[W2J_NAMES].data);
	if (options->include_types)
		appendStringInfo(&buf, ",\"type\":%s", column->item[W2J_TYPES].data);
	if (options->include_type_oids)
		appendStringInfo(&buf, ",\"typeoid\":%s", column->item[W2J_TYPE_OIDS].data);
	appendStringInfoString(&buf, ",\"value\":");
	column->head = w2j_fragment(&buf);

	initStringInfo(&buf);
	if (options->include_not_null)
		appendStringInfo(&buf, ",\"optional\":%s", column->item[W2J_OPTIONALS].data);
	if (options->include_column_positions)
		appendStringInfo(&buf, ",\"position\":%s", column->item[W2J_POSITIONS].data);
	if (options->include_default)
		appendStringInfo(&buf, ",\"default\":%s", column->item[W2J_DEFAULTS].data);
	appendStringInfoChar(&buf, '}');
	column->tail = w2j_fragment(&buf);
}

/* The member "pk": columns without values, or names only in objects. */
static W2jText
prepare_primary_key(const AcdatOptions *options, const AcdatPlan *plan, const W2jTable *table)
{
	StringInfoData buf;
	const char *comma = "";

	initStringInfo(&buf);
	appendStringInfoString(&buf, ",\"pk\":[");
	for (int i = 0; plan->has_primary_key && i < plan->ncolumns; i++)
	{
		const W2jColumn *column = &table->columns[i];

		if (!plan->columns[i].primary || plan->columns[i].action == ACDAT_DROP)
			continue;
		appendStringInfoString(&buf, comma);
		comma = ",";
		if (options->columns_as_object)
			appendStringInfoString(&buf, column->item[W2J_NAMES].data);
		else
		{
			/* a column's head without its last member */
			appendBinaryStringInfo(&buf, column->head.data,
								   (int) (column->head.len - strlen(",\"value\":")));
			appendStringInfoChar(&buf, '}');
		}
	}
	appendStringInfoChar(&buf, ']');
	return w2j_fragment(&buf);
}

static void
prepare(AcdatDecoder *decoder, AcdatPlan *plan)
{
	const AcdatOptions *options = &decoder->options;
	W2jTable   *table = w2j_prepare(decoder, plan);

	if (options->include_schemas)
		table->table = w2j_format(",\"schema\":%s,\"table\":%s",
								  w2j_name(decoder, plan->schema).data,
								  w2j_name(decoder, plan->table).data);
	else
		table->table = w2j_format(",\"table\":%s", w2j_name(decoder, plan->table).data);

	for (int i = 0; i < plan->ncolumns; i++)
	{
		W2jColumn  *column = &table->columns[i];

		prepare_column(options, column);

		/* a name can stand twice more: unchanged, and with its redactions */
		table->fragments_len += column->head.len + column->tail.len +
			2 * column->item[W2J_NAMES].len + 32;
	}
	if (options->include_pk)
		table->pk = prepare_primary_key(options, plan, table);
}

static uint32
origin_of(const AcdatDecoder *decoder, const ReorderBufferTXN *txn)
{
	return decoder->in_stream ? ACDAT_ORIGIN_UNKNOWN : txn->origin_id;
}

/*
 * The members that every record starts with, after its action.  Records of a
 * transaction whose end is not known yet have no timestamp and no origin.
 */
static char *
put_transaction(char *pos, const AcdatDecoder *decoder, TransactionId xid, uint32 origin)
{
	const AcdatOptions *options = &decoder->options;

	if (options->include_xids)
	{
		pos = ACDAT_PUT_LITERAL(pos, ",\"xid\":");
		pos = w2j_put_uint32(pos, xid);
	}
	if (options->include_timestamp && decoder->timestamp[0] == '\0')
		pos = ACDAT_PUT_LITERAL(pos, ",\"timestamp\":null");
	else if (options->include_timestamp)
	{
		pos = ACDAT_PUT_LITERAL(pos, ",\"timestamp\":\"");
		pos = acdat_put(pos, decoder->timestamp, strlen(decoder->timestamp));
		*pos++ = '"';
	}
	if (options->include_origin && origin == ACDAT_ORIGIN_UNKNOWN)
		pos = ACDAT_PUT_LITERAL(pos, ",\"origin\":null");
	else if (options->include_origin)
	{
		pos = ACDAT_PUT_LITERAL(pos, ",\"origin\":");
		pos = w2j_put_uint32(pos, origin);
	}
	return pos;
}

/* The same for messages outside transactions. */
static char *
put_no_transaction(char *pos, const AcdatOptions *options)
{
	if (options->include_xids)
		pos = ACDAT_PUT_LITERAL(pos, ",\"xid\":null");
	if (options->include_timestamp)
		pos = ACDAT_PUT_LITERAL(pos, ",\"timestamp\":null");
	if (options->include_origin)
		pos = ACDAT_PUT_LITERAL(pos, ",\"origin\":null");
	return pos;
}

static char *
put_action(char *pos, const char *action)
{
	pos = ACDAT_PUT_LITERAL(pos, "{\"action\":\"");
	pos = acdat_put(pos, action, strlen(action));
	*pos++ = '"';
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

/*
 * A record of a transaction's begin or end.  Of streamed transactions the
 * blocks are "SB" to "SE", and how it ends is "SA", "SC" or "SP".
 */
static void
write_mark(AcdatDecoder *decoder, const AcdatMark *mark)
{
	static const char *const actions[] = {
		[ACDAT_MARK_BEGIN] = "B",
		[ACDAT_MARK_COMMIT] = "C",
		[ACDAT_MARK_BEGIN_PREPARE] = "BP",
		[ACDAT_MARK_PREPARE] = "P",
		[ACDAT_MARK_COMMIT_PREPARED] = "CP",
		[ACDAT_MARK_ROLLBACK_PREPARED] = "RP",
		[ACDAT_MARK_STREAM_START] = "SB",
		[ACDAT_MARK_STREAM_STOP] = "SE",
		[ACDAT_MARK_STREAM_ABORT] = "SA",
		[ACDAT_MARK_STREAM_COMMIT] = "SC",
		[ACDAT_MARK_STREAM_PREPARE] = "SP",
	};
	LogicalDecodingContext *ctx = decoder->ctx;
	const AcdatOptions *options = &decoder->options;
	char	   *pos;

	/* what a client without these could do without, another could not */
	if (!options->include_transaction && mark->kind <= ACDAT_MARK_COMMIT)
		return;
	OutputPluginPrepareWrite(ctx, true);
	pos = w2j_reserve(decoder, W2J_RECORD_BYTES + acdat_json_size(mark->gid, mark->gid_len));
	pos = put_action(pos, actions[mark->kind]);
	pos = put_transaction(pos, decoder, mark->xid, mark->origin);
	if (mark->kind == ACDAT_MARK_STREAM_ABORT)
	{
		pos = ACDAT_PUT_LITERAL(pos, ",\"subxid\":");
		pos = w2j_put_uint32(pos, mark->subxid);
	}
	if (options->include_lsn && mark->kind != ACDAT_MARK_STREAM_START &&
		mark->kind != ACDAT_MARK_STREAM_STOP)
	{
		pos = put_lsn_member(pos, "lsn", mark->lsn);
		if (mark->kind != ACDAT_MARK_STREAM_ABORT)
			pos = put_lsn_member(pos, "nextlsn", mark->end_lsn);
	}
	if (mark->gid != NULL)
	{
		pos = ACDAT_PUT_LITERAL(pos, ",\"gid\":");
		pos = acdat_put_json(pos, mark->gid, mark->gid_len);
	}
	if (options->include_generation && decoder->generation != NULL)
		pos += snprintf(pos, 64, ",\"generation\":%lld",
						(long long) decoder->generation->header.generation);
	*pos++ = '}';
	w2j_written(decoder, pos);
	OutputPluginWrite(ctx, true);
}

/*
 * The columns of a row: all of the new one, or those of the identity, which
 * have no more than a name, a type and a value.
 */
static char *
put_columns(char *pos, const AcdatDecoder *decoder, const AcdatPlan *plan,
			const AcdatCell *row, bool identity)
{
	const W2jTable *table = w2j_table(plan);
	bool		as_object = decoder->options.columns_as_object;
	bool		first = true;

	*pos++ = as_object ? '{' : '[';
	for (int i = 0; i < plan->ncolumns; i++)
	{
		const W2jColumn *column = &table->columns[i];

		if (!w2j_appears(&row[i]) || (identity && !plan->columns[i].identity))
			continue;
		if (!first)
			*pos++ = ',';
		first = false;
		pos = w2j_put(pos, column->head);
		pos = w2j_put_value(pos, column, &row[i]);
		if (!identity)
			pos = w2j_put(pos, column->tail);
		else if (!as_object)
			*pos++ = '}';
	}
	*pos++ = as_object ? '}' : ']';
	return pos;
}

/* The names of the columns whose TOASTed value is not in the change. */
static char *
put_unchanged(char *pos, const AcdatPlan *plan, const AcdatCell *row)
{
	bool		first = true;

	pos = ACDAT_PUT_LITERAL(pos, ",\"unchanged\":[");
	for (int i = 0; i < plan->ncolumns; i++)
	{
		if (row[i].kind != ACDAT_CELL_UNCHANGED)
			continue;
		if (!first)
			*pos++ = ',';
		first = false;
		pos = w2j_put(pos, w2j_table(plan)->columns[i].item[W2J_NAMES]);
	}
	*pos++ = ']';
	return pos;
}

/* What comes before the columns: action, transaction, table. */
static char *
put_head(char *pos, const AcdatDecoder *decoder, const ReorderBufferTXN *txn,
		 const char *action, XLogRecPtr lsn, const AcdatPlan *plan)
{
	pos = put_action(pos, action);
	pos = put_transaction(pos, decoder, txn->xid, origin_of(decoder, txn));
	if (decoder->options.include_lsn)
		pos = put_lsn_member(pos, "lsn", lsn);
	return w2j_put(pos, w2j_table(plan)->table);
}

static const char *
action_letter(enum ReorderBufferChangeType action)
{
	switch (action)
	{
		case REORDER_BUFFER_CHANGE_INSERT:
			return "I";
		case REORDER_BUFFER_CHANGE_UPDATE:
			return "U";
		default:
			return "D";
	}
}

static void
write_change(AcdatDecoder *decoder, ReorderBufferTXN *txn, AcdatChange *change)
{
	LogicalDecodingContext *ctx = decoder->ctx;
	const AcdatOptions *options = &decoder->options;
	const AcdatPlan *plan = change->plan;
	const W2jTable *table = w2j_table(plan);
	AcdatCell  *identity = change->action == REORDER_BUFFER_CHANGE_INSERT ?
		NULL : w2j_identity_row(change);
	AcdatChange bounded = *change;
	char	   *pos;

	OutputPluginPrepareWrite(ctx, true);

	/* an identity out of the new row is a second copy of its values */
	bounded.old_row = identity;
	pos = w2j_reserve_change(decoder, &bounded,
							 W2J_RECORD_BYTES + table->table.len + table->pk.len +
							 2 * table->fragments_len);
	pos = put_head(pos, decoder, txn, action_letter(change->action), change->lsn, plan);
	if (change->new_row != NULL)
	{
		pos = ACDAT_PUT_LITERAL(pos, ",\"columns\":");
		pos = put_columns(pos, decoder, plan, change->new_row, false);
		if (options->unchanged_toast)
			pos = put_unchanged(pos, plan, change->new_row);
	}
	if (identity != NULL)
	{
		pos = ACDAT_PUT_LITERAL(pos, ",\"identity\":");
		pos = put_columns(pos, decoder, plan, identity, true);
	}
	if (options->include_pk)
		pos = w2j_put(pos, table->pk);
	if (options->include_redactions)
	{
		*pos++ = ',';
		pos = w2j_put_redactions(pos, plan,
								 change->new_row ? change->new_row : change->old_row);
	}
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
	pos = w2j_reserve(decoder, W2J_RECORD_BYTES + w2j_table(plan)->table.len);
	pos = put_head(pos, decoder, txn, "T", lsn, plan);
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
	pos = put_action(pos, "M");
	if (message->transactional)
		pos = put_transaction(pos, decoder, message->xid, origin_of(decoder, txn));
	else
		pos = put_no_transaction(pos, &decoder->options);
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
 * What wal2json says of a change without the tuples it needs, NULL if nothing
 * is wrong; *emitted where it emits it all the same.
 */
static const char *
find_fault(const AcdatPlan *plan, enum ReorderBufferChangeType action, bool has_new,
		   bool has_old, bool *emitted)
{
	*emitted = false;
	if (action != REORDER_BUFFER_CHANGE_DELETE && !has_new)
		return "no tuple data";
	if (action == REORDER_BUFFER_CHANGE_INSERT || has_old)
		return NULL;
	if (!plan->has_identity_index && plan->replident != REPLICA_IDENTITY_FULL)
		return "no tuple identifier";
	if (action == REORDER_BUFFER_CHANGE_UPDATE &&
		(plan->has_primary_key || plan->has_identity_index))
		return NULL;			/* printed from the new tuple */
	*emitted = true;
	return "no old tuple data";
}

static bool
accepts(const AcdatDecoder *decoder, AcdatPlan *plan, enum ReorderBufferChangeType action,
		bool has_new, bool has_old)
{
	bool		emitted;
	const char *fault = find_fault(plan, action, has_new, has_old, &emitted);

	if (fault == NULL)
		return true;
	if (w2j_identity_fault(decoder, plan, action, has_new, has_old))
		return true;
	if (!plan->warned)
		ereport(WARNING,
				(errmsg_internal("%s for %s in table \"%s\".\"%s\"", fault,
								 w2j_command(action), plan->schema, plan->table)));
	plan->warned = true;
	return emitted;
}

const AcdatFormat acdat_format_wal2json2 = {
	.name = "wal2json 2",
	.prepare = prepare,
	.mark = write_mark,
	.change = write_change,
	.truncate = write_truncate,
	.message = write_message,
	.accepts = accepts,
};
