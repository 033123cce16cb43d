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
 * written by commit; with "write-in-chunks" each part of it is a message.
 */
#include "postgres.h"

#include "wal2json1.h"

/* ---- lists ---- */

/* Which cells of a row are listed: of old keys never nulls. */
typedef enum RowKind
{
	NEW_ROW,
	OLD_KEYS,					/* all there are */
	OLD_IDENTITY				/* those of the identity */
} RowKind;

static inline bool
is_listed(const AcdatColumn *column, const AcdatCell *cell, RowKind kind)
{
	return w2j_appears(cell) &&
		(kind == NEW_ROW || cell->kind != ACDAT_CELL_NULL) &&
		(kind != OLD_IDENTITY || column->identity);
}

/* The items of one list of a row. */
static char *
put_list(char *pos, const AcdatDecoder *decoder, const AcdatPlan *plan, const AcdatCell *row,
		 W2jList list, RowKind kind)
{
	const W2jTable *table = w2j_table(plan);
	W2jText		separator = w2j1_layout(decoder)->separator;
	bool		first = true;

	for (int i = 0; i < plan->ncolumns; i++)
	{
		if (!is_listed(&plan->columns[i], &row[i], kind))
			continue;
		if (!first)
			pos = w2j_put(pos, separator);
		first = false;
		if (list == W2J_VALUES)
			pos = w2j_put_value(pos, &table->columns[i], &row[i]);
		else
			pos = w2j_put(pos, table->columns[i].item[list]);
	}
	return pos;
}

/* The lists before the values, and what opens the values. */
static char *
put_lists_before_values(char *pos, const AcdatDecoder *decoder, const AcdatPlan *plan,
						const AcdatCell *row, RowKind kind)
{
	const W2j1Layout *layout = w2j1_layout(decoder);

	for (int i = 0; i < W2J_LISTS; i++)
	{
		const W2j1List *list = &layout->lists[i];
		W2jText		open = kind == NEW_ROW ? list->new_open : list->key_open;

		if (!list->wanted || open.data == NULL)
			continue;
		pos = w2j_put(pos, open);
		if (i == W2J_VALUES)
			break;
		pos = put_list(pos, decoder, plan, row, (W2jList) i, kind);
		pos = w2j_put(pos, layout->next_list);
	}
	return pos;
}

/* Is every column listed that can be? */
static bool
is_complete(const AcdatPlan *plan, const AcdatCell *row, RowKind kind)
{
	for (int i = 0; i < plan->ncolumns; i++)
	{
		const AcdatColumn *column = &plan->columns[i];

		if (column->action != ACDAT_DROP && (kind == NEW_ROW || column->identity) &&
			!is_listed(column, &row[i], kind))
			return false;
	}
	return true;
}

/* A row's lists, each closed by what follows it but for the last. */
static char *
put_lists(char *pos, const AcdatDecoder *decoder, const AcdatPlan *plan, const AcdatCell *row,
		  RowKind kind)
{
	const W2jTable *table = w2j_table(plan);

	if (kind != OLD_KEYS && is_complete(plan, row, kind))
		pos = w2j_put(pos, kind == NEW_ROW ? table->row_lists : table->identity_lists);
	else
		pos = put_lists_before_values(pos, decoder, plan, row, kind);
	return put_list(pos, decoder, plan, row, W2J_VALUES, kind);
}

/* ---- plans ---- */

/* A list of the names or types of the primary key's columns. */
static void
append_key_list(const AcdatPlan *plan, const W2jTable *table, const W2j1Layout *layout,
				W2jList list, StringInfo buf)
{
	const char *separator = "";

	for (int i = 0; i < plan->ncolumns; i++)
	{
		if (!plan->columns[i].primary || plan->columns[i].action == ACDAT_DROP)
			continue;
		appendStringInfo(buf, "%s%s", separator, table->columns[i].item[list].data);
		separator = layout->separator.data;
	}
}

/* The member "pk" up to its closing brace. */
static W2jText
prepare_primary_key(const AcdatDecoder *decoder, const AcdatPlan *plan, const W2jTable *table)
{
	const W2j1Layout *layout = w2j1_layout(decoder);
	const char *ht = layout->tab;
	const char *nl = layout->newline;
	const char *sp = layout->space;
	StringInfoData buf;

	initStringInfo(&buf);
	appendStringInfo(&buf, "%s%s%s\"pk\":%s{%s%s%s%s%s\"pknames\":%s[", ht, ht, ht, sp, nl,
					 ht, ht, ht, ht, sp);
	append_key_list(plan, table, layout, W2J_NAMES, &buf);
	appendStringInfo(&buf, "],%s%s%s%s%s\"pktypes\":%s[", nl, ht, ht, ht, ht, sp);
	if (decoder->options.include_types)
		append_key_list(plan, table, layout, W2J_TYPES, &buf);
	appendStringInfo(&buf, "]%s%s%s%s}", nl, ht, ht, ht);
	return w2j_fragment(&buf);
}

/* The lists before the values of a row of which no column is missing. */
static W2jText
prepare_lists(const AcdatDecoder *decoder, const AcdatPlan *plan, RowKind kind)
{
	AcdatCell  *row = palloc0(sizeof(AcdatCell) * Max(plan->ncolumns, 1));
	char	   *lists = palloc(2 * W2J_RECORD_BYTES + w2j_table(plan)->fragments_len);
	char	   *pos;
	W2jText		result;

	for (int i = 0; i < plan->ncolumns; i++)
		row[i].kind = plan->columns[i].action == ACDAT_DROP ? ACDAT_CELL_ABSENT : ACDAT_CELL_VALUE;
	pos = put_lists_before_values(lists, decoder, plan, row, kind);
	pfree(row);
	result.data = lists;
	result.len = pos - lists;
	return result;
}

static void
prepare(AcdatDecoder *decoder, AcdatPlan *plan)
{
	const W2j1Layout *layout = w2j1_layout(decoder);
	const char *ht = layout->tab;
	W2jTable   *table = w2j_prepare(decoder, plan);
	W2jText		schema = {"", 0};

	if (decoder->options.include_schemas)
		schema = w2j_format("%s%s%s\"schema\":%s%s,%s", ht, ht, ht, layout->space,
							w2j_name(decoder, plan->schema).data, layout->newline);
	table->table = w2j_format("%s%s%s%s\"table\":%s%s,%s", schema.data, ht, ht, ht,
							  layout->space, w2j_name(decoder, plan->table).data,
							  layout->newline);
	for (int i = 0; i < plan->ncolumns; i++)
	{
		W2jColumn  *column = &table->columns[i];

		/* a name can stand twice more: unchanged, and with its redactions */
		table->fragments_len += 2 * column->item[W2J_NAMES].len + 64;
		for (int list = 0; list < W2J_VALUES; list++)
			table->fragments_len += column->item[list].len;
		if (decoder->options.columns_as_object)
			column->head = w2j_format("%s:%s", column->item[W2J_NAMES].data, layout->space);
	}
	if (decoder->options.include_pk && plan->has_primary_key)
		table->pk = prepare_primary_key(decoder, plan, table);
	table->row_lists = prepare_lists(decoder, plan, NEW_ROW);
	table->identity_lists = prepare_lists(decoder, plan, OLD_IDENTITY);
}

/* ---- transactions ---- */

/* One member of the transaction's object. */
static char *
put_member(char *pos, const W2j1Layout *layout, const char *name, const char *value)
{
	return pos + snprintf(pos, W2J_RECORD_BYTES / 8, "%s\"%s\":%s%s,%s", layout->tab, name,
						  layout->space, value, layout->newline);
}

static void
open_transaction(AcdatDecoder *decoder, const AcdatMark *mark)
{
	LogicalDecodingContext *ctx = decoder->ctx;
	const AcdatOptions *options = &decoder->options;
	const W2j1Layout *layout = w2j1_layout(decoder);
	char	   *pos;

	OutputPluginPrepareWrite(ctx, true);
	pos = w2j_reserve(decoder, W2J_RECORD_BYTES);
	pos = w2j_put(pos, layout->begin);
	if (options->include_xids)
		pos = put_member(pos, layout, "xid", psprintf("%u", mark->xid));
	if (options->include_lsn)
		pos = put_member(pos, layout, "nextlsn",
						 psprintf("\"" ACDAT_LSN_FORMAT "\"", LSN_FORMAT_ARGS(mark->end_lsn)));
	if (options->include_timestamp)
		pos = put_member(pos, layout, "timestamp", psprintf("\"%s\"", decoder->timestamp));
	if (options->include_origin)
		pos = put_member(pos, layout, "origin", psprintf("%u", mark->origin));
	if (options->include_generation && decoder->generation != NULL)
		pos = put_member(pos, layout, "generation",
						 psprintf("%lld", (long long) decoder->generation->header.generation));
	pos = w2j_put(pos, layout->change);
	w2j_written(decoder, pos);
	if (options->write_in_chunks)
		OutputPluginWrite(ctx, true);
}

static void
close_transaction(AcdatDecoder *decoder)
{
	LogicalDecodingContext *ctx = decoder->ctx;
	char	   *pos;

	if (decoder->options.write_in_chunks)
		OutputPluginPrepareWrite(ctx, true);
	pos = w2j_reserve(decoder, W2J_RECORD_BYTES);
	pos = w2j_put(pos, w2j1_layout(decoder)->end);
	w2j_written(decoder, pos);
	OutputPluginWrite(ctx, true);
}

static void
write_mark(AcdatDecoder *decoder, const AcdatMark *mark)
{
	/* the options that bring other marks are refused in this version */
	if (mark->kind == ACDAT_MARK_BEGIN)
		open_transaction(decoder, mark);
	else if (mark->kind == ACDAT_MARK_COMMIT)
		close_transaction(decoder);
}

/* ---- changes ---- */

/* A row as an object of names and values, for "columns-as-object". */
static char *
put_object(char *pos, const AcdatDecoder *decoder, const AcdatPlan *plan, const AcdatCell *row,
		   RowKind kind)
{
	const W2jTable *table = w2j_table(plan);
	W2jText		separator = w2j1_layout(decoder)->separator;
	bool		first = true;

	for (int i = 0; i < plan->ncolumns; i++)
	{
		if (!is_listed(&plan->columns[i], &row[i], kind))
			continue;
		if (!first)
			pos = w2j_put(pos, separator);
		first = false;
		pos = w2j_put(pos, table->columns[i].head);
		pos = w2j_put_value(pos, &table->columns[i], &row[i]);
	}
	*pos++ = '}';
	return pos;
}

/* The names of the columns whose TOASTed value is not in the change. */
static char *
put_unchanged(char *pos, const AcdatDecoder *decoder, const AcdatPlan *plan,
			  const AcdatCell *row)
{
	const W2j1Layout *layout = w2j1_layout(decoder);
	bool		first = true;

	pos += snprintf(pos, 64, "%s%s%s\"unchangedcolumns\":%s[", layout->tab, layout->tab,
					layout->tab, layout->space);
	for (int i = 0; i < plan->ncolumns; i++)
	{
		if (row[i].kind != ACDAT_CELL_UNCHANGED)
			continue;
		if (!first)
			pos = w2j_put(pos, layout->separator);
		first = false;
		pos = w2j_put(pos, w2j_table(plan)->columns[i].item[W2J_NAMES]);
	}
	*pos++ = ']';
	return pos;
}

/*
 * The new row without what ends its last list: a comma and a newline if
 * something follows, else a newline.
 */
static char *
put_new_row(char *pos, const AcdatDecoder *decoder, const AcdatPlan *plan, const AcdatCell *row)
{
	const W2j1Layout *layout = w2j1_layout(decoder);

	if (decoder->options.columns_as_object)
	{
		pos = w2j_put(pos, layout->object_open);
		pos = put_object(pos, decoder, plan, row, NEW_ROW);
	}
	else
	{
		pos = put_lists(pos, decoder, plan, row, NEW_ROW);
		*pos++ = ']';
	}
	if (decoder->options.unchanged_toast)
	{
		pos = w2j_put(pos, layout->comma);
		pos = put_unchanged(pos, decoder, plan, row);
	}
	return pos;
}

static char *
put_old_keys(char *pos, const AcdatDecoder *decoder, const AcdatPlan *plan,
			 const AcdatCell *row, RowKind kind)
{
	const W2j1Layout *layout = w2j1_layout(decoder);

	if (decoder->options.columns_as_object)
	{
		pos = w2j_put(pos, layout->keys_object_open);
		return put_object(pos, decoder, plan, row, kind);
	}
	pos = w2j_put(pos, layout->keys_open);
	pos = put_lists(pos, decoder, plan, row, kind);
	pos = w2j_put(pos, layout->last_list);
	return acdat_put(pos, layout->keys_close.data,
					 layout->keys_close.len - strlen(layout->newline));
}

/* The members of a change after its table, separated by commas. */
static char *
put_members(char *pos, const AcdatDecoder *decoder, const AcdatChange *change)
{
	const W2j1Layout *layout = w2j1_layout(decoder);
	const AcdatPlan *plan = change->plan;
	const AcdatCell *keys = w2j_identity_row(change);
	RowKind		kind = OLD_IDENTITY;

	/* the old row of an update is listed as it is */
	if (change->action == REORDER_BUFFER_CHANGE_UPDATE && change->old_row != NULL)
		kind = OLD_KEYS;
	if (change->new_row != NULL)
	{
		pos = put_new_row(pos, decoder, plan, change->new_row);
		pos = w2j_put(pos, layout->comma);
	}
	if (w2j_table(plan)->pk.data != NULL)
	{
		pos = w2j_put(pos, w2j_table(plan)->pk);
		pos = w2j_put(pos, layout->comma);
	}
	if (change->action != REORDER_BUFFER_CHANGE_INSERT && keys != NULL)
	{
		pos = put_old_keys(pos, decoder, plan, keys, kind);
		pos = w2j_put(pos, layout->comma);
	}
	if (decoder->options.include_redactions)
	{
		pos = w2j_put_redactions(pos, plan, change->new_row ? change->new_row : change->old_row);
		pos = w2j_put(pos, layout->comma);
	}

	/* the last comma was one too many */
	pos -= layout->comma.len;
	return acdat_put(pos, layout->newline, strlen(layout->newline));
}

static int
kind_index(enum ReorderBufferChangeType action)
{
	switch (action)
	{
		case REORDER_BUFFER_CHANGE_INSERT:
			return 0;
		case REORDER_BUFFER_CHANGE_UPDATE:
			return 1;
		default:
			return 2;
	}
}

static void
write_change(AcdatDecoder *decoder, ReorderBufferTXN *txn pg_attribute_unused(),
			 AcdatChange *change)
{
	LogicalDecodingContext *ctx = decoder->ctx;
	const W2j1Layout *layout = w2j1_layout(decoder);
	const W2jTable *table = w2j_table(change->plan);
	AcdatChange bounded = *change;
	char	   *pos;

	if (decoder->options.write_in_chunks)
		OutputPluginPrepareWrite(ctx, true);

	/* old keys out of the new row are a second copy of its values */
	if (change->action == REORDER_BUFFER_CHANGE_UPDATE)
		bounded.old_row = w2j_identity_row(change);
	pos = w2j_reserve_change(decoder, &bounded,
							 2 * W2J_RECORD_BYTES + table->table.len + table->pk.len +
							 2 * table->fragments_len);
	pos = w2j_put(pos, layout->before_change);
	if (decoder->transaction_changes++ > 0)
		*pos++ = ',';
	pos = w2j_put(pos, layout->kind[kind_index(change->action)]);
	pos = w2j_put(pos, table->table);
	pos = put_members(pos, decoder, change);
	pos = w2j_put(pos, layout->end_change);
	w2j_written(decoder, pos);
	if (decoder->options.write_in_chunks)
		OutputPluginWrite(ctx, true);
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
	const W2j1Layout *layout = w2j1_layout(decoder);
	bool		separate = decoder->options.write_in_chunks || !message->transactional;
	Size		size = W2J_RECORD_BYTES + acdat_json_size(message->prefix, message->prefix_len) +
		acdat_json_size(message->content, message->content_len);
	char	   *pos;

	if (separate)
		OutputPluginPrepareWrite(ctx, true);
	pos = w2j_reserve(decoder, size);
	if (!message->transactional)
	{
		pos = w2j_put(pos, layout->message_begin);
		pos += snprintf(pos, 8, "%s%s", layout->tab, layout->tab);
	}
	else
	{
		pos = w2j_put(pos, layout->before_change);
		if (decoder->transaction_changes++ > 0)
			*pos++ = ',';
	}
	pos = w2j_put(pos, layout->message);
	if (message->transactional)
		pos = ACDAT_PUT_LITERAL(pos, "true");
	else
		pos = ACDAT_PUT_LITERAL(pos, "false");
	pos += snprintf(pos, 64, ",%s%s%s%s\"prefix\":%s", layout->newline, layout->tab, layout->tab,
					layout->tab, layout->space);
	pos = acdat_put_json(pos, message->prefix, message->prefix_len);
	pos = w2j_put(pos, layout->message_content);
	pos = acdat_put_json(pos, message->content, message->content_len);
	pos = w2j_put(pos, layout->message_end);
	if (!message->transactional)
		pos = w2j_put(pos, layout->message_close);
	w2j_written(decoder, pos);
	if (separate)
		OutputPluginWrite(ctx, true);
}

/* wal2json warns and leaves such changes out. */
static bool
accepts(const AcdatDecoder *decoder, AcdatPlan *plan, enum ReorderBufferChangeType action,
		bool has_new, bool has_old)
{
	bool		identified = action == REORDER_BUFFER_CHANGE_INSERT ||
		plan->has_identity_index || plan->replident == REPLICA_IDENTITY_FULL;
	bool		complete = action == REORDER_BUFFER_CHANGE_DELETE ? has_old : has_new;

	if (identified && complete)
		return true;
	if (w2j_identity_fault(decoder, plan, action, has_new, has_old))
		return true;
	if (!plan->warned && !identified)
		ereport(WARNING,
				(errmsg_internal("table \"%s\" without primary key or replica identity is nothing",
								 plan->table)));
	else if (!plan->warned)
		ereport(WARNING,
				(errmsg_internal("no tuple data for %s in table \"%s\"", w2j_command(action),
								 plan->table)));
	plan->warned = true;
	return false;
}

const AcdatFormat acdat_format_wal2json1 = {
	.name = "wal2json 1",
	.start = w2j1_start,
	.prepare = prepare,
	.mark = write_mark,
	.change = write_change,
	.truncate = NULL,
	.message = write_message,
	.accepts = accepts,
};
