/*
 * wal2json.c
 *		What the two versions of the wal2json format share.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/syscache.h"

#include "wal2json.h"

/* Bounds over this are worth an exact look at what they bound. */
#define LOOSE_BOUND		((Size) 16 * 1024 * 1024)

W2jText
w2j_fragment(StringInfo buf)
{
	char	   *data = palloc0((Size) buf->len + W2J_COPY_UNIT);
	W2jText		text = {data, buf->len};

	memcpy(data, buf->data, buf->len);
	pfree(buf->data);
	return text;
}

W2jText
w2j_format(const char *fmt,...)
{
	StringInfoData buf;
	int			needed;

	initStringInfo(&buf);
	for (;;)
	{
		va_list		args;

		va_start(args, fmt);
		needed = appendStringInfoVA(&buf, fmt, args);
		va_end(args);
		if (needed == 0)
			return w2j_fragment(&buf);
		enlargeStringInfo(&buf, needed);
	}
}

/* A text of the database as a JSON string of the output. */
static W2jText
json_text(const AcdatDecoder *decoder, const char *text)
{
	StringInfoData buf;
	Size		len;
	const char *encoded = acdat_encode_bytes(decoder, text, strlen(text), &len);

	initStringInfo(&buf);
	acdat_append_json(&buf, encoded, len);
	return w2j_fragment(&buf);
}

W2jText
w2j_name(const AcdatDecoder *decoder, const char *name)
{
	return json_text(decoder, name);
}

/* ---- tables ---- */

/*
 * The type to print for a column, and its name: with the option, of a domain
 * the type below it.
 */
static char *
shown_type(const AcdatDecoder *decoder, const AcdatColumn *column, Oid *typid)
{
	const AcdatOptions *options = &decoder->options;
	int32		typmod = column->typmod;
	HeapTuple	tuple;
	char	   *name;

	*typid = column->typid;
	if (options->include_domain_data_type)
	{
		tuple = SearchSysCache1(TYPEOID, ObjectIdGetDatum(column->typid));
		if (HeapTupleIsValid(tuple))
		{
			Form_pg_type type = (Form_pg_type) GETSTRUCT(tuple);

			if (type->typtype == TYPTYPE_DOMAIN)
			{
				*typid = type->typbasetype;
				typmod = type->typtypmod;
			}
			ReleaseSysCache(tuple);
		}
	}
	if (options->format_version > 1 || options->include_typmod)
		return format_type_with_typemod(*typid, typmod);

	tuple = SearchSysCache1(TYPEOID, ObjectIdGetDatum(*typid));
	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for type %u", *typid);
	name = pstrdup(NameStr(((Form_pg_type) GETSTRUCT(tuple))->typname));
	ReleaseSysCache(tuple);
	return name;
}

/*
 * A type's name.  Where it is one quoted identifier, its quotes serve as
 * those of the JSON string, as in wal2json; where that would not be JSON,
 * the string holds the name as format_type gives it.
 */
static W2jText
type_name(const AcdatDecoder *decoder, const char *name)
{
	Size		len = strlen(name);

	if (len >= 2 && name[0] == '"' && name[len - 1] == '"')
	{
		char	   *identifier = pnstrdup(name + 1, len - 2);

		if (strpbrk(identifier, "\"\\") == NULL)
			name = identifier;
	}
	return json_text(decoder, name);
}

static W2jKind
kind_of_type(const AcdatDecoder *decoder, Oid typid)
{
	switch (typid)
	{
		case INT2OID:
		case INT4OID:
		case INT8OID:
		case OIDOID:
		case FLOAT4OID:
		case FLOAT8OID:
		case NUMERICOID:
			return decoder->options.numeric_as_string ? W2J_STRING : W2J_NUMBER;
		case BOOLOID:
			return W2J_BOOL;
		case BYTEAOID:
			return W2J_BYTEA;
		case JSONOID:
		case JSONBOID:
			return decoder->options.json_values ? W2J_JSON : W2J_STRING;
		default:
			return W2J_STRING;
	}
}

static void
prepare_column(const AcdatDecoder *decoder, const AcdatColumn *column, W2jColumn *result)
{
	const AcdatOptions *options = &decoder->options;
	Oid			typid;
	char	   *type = shown_type(decoder, column, &typid);

	result->item[W2J_NAMES] = json_text(decoder, NameStr(column->name));
	result->item[W2J_TYPES] = type_name(decoder, type);
	result->item[W2J_POSITIONS] = w2j_format("%d", column->position);
	result->item[W2J_OPTIONALS] = w2j_format("%s", column->notnull ? "false" : "true");
	result->item[W2J_DEFAULTS] = column->default_text ?
		json_text(decoder, column->default_text) : w2j_format("null");

	/* version 1 takes the type below a domain for the value too, if it shows it */
	if (options->format_version > 1 || !options->include_types)
		typid = column->typid;
	result->item[W2J_TYPE_OIDS] = w2j_format("%u", typid);
	result->kind = kind_of_type(decoder, typid);
}

W2jTable *
w2j_prepare(AcdatDecoder *decoder, AcdatPlan *plan)
{
	W2jTable   *table = palloc0(offsetof(W2jTable, columns) +
								sizeof(W2jColumn) * Max(plan->ncolumns, 1));

	for (int i = 0; i < plan->ncolumns; i++)
		prepare_column(decoder, &plan->columns[i], &table->columns[i]);
	plan->format_data = table;
	return table;
}

/* ---- values ---- */

/* A mask is a string whatever the column's type. */
static inline W2jKind
cell_kind(const W2jColumn *column, const AcdatCell *cell)
{
	return cell->masked ? W2J_STRING : column->kind;
}

/* Bytes a cell's value takes at most. */
static Size
value_bound(const W2jColumn *column, const AcdatCell *cell)
{
	if (cell->kind != ACDAT_CELL_VALUE)
		return sizeof("null");
	if (cell_kind(column, cell) == W2J_STRING && !cell->plain)
		return ACDAT_JSON_BOUND(cell->len);
	return cell->len + sizeof("false");
}

/* The same, exactly for strings. */
static Size
exact_value_bound(const W2jColumn *column, const AcdatCell *cell)
{
	if (cell->kind == ACDAT_CELL_VALUE && cell_kind(column, cell) == W2J_STRING)
		return ACDAT_JSON_SLACK + acdat_json_size(cell->data, cell->len);
	return value_bound(column, cell);
}

/* Output of the numeric types is a JSON number but for NaN and infinities. */
static inline bool
is_json_number(const char *text, Size len)
{
	const char *digits = text + (text[0] == '-');

	return digits < text + len && *digits >= '0' && *digits <= '9';
}

/*
 * JSON text as it is, but in one line: control characters stand in valid JSON
 * only between its tokens.
 */
static char *
put_json_text(char *pos, const char *text, Size len)
{
	for (Size i = 0; i < len; i++)
		pos[i] = (unsigned char) text[i] < 0x20 ? ' ' : text[i];
	return pos + len;
}

/* A value's bytes as they are. */
static inline char *
put_plain(char *pos, const AcdatCell *cell)
{
	StaticAssertStmt(sizeof(cell->small) % W2J_COPY_UNIT == 0,
					 "short values are copied in whole units");
	if (cell->data == cell->small)
		return w2j_put_units(pos, cell->data, cell->len);
	return acdat_put(pos, cell->data, cell->len);
}

char *
w2j_put_value(char *pos, const W2jColumn *column,
			  const AcdatCell *cell)
{
	if (cell->kind == ACDAT_CELL_NULL)
		return ACDAT_PUT_LITERAL(pos, "null");
	switch (cell_kind(column, cell))
	{
		case W2J_NUMBER:
			if (!is_json_number(cell->data, cell->len))
				return ACDAT_PUT_LITERAL(pos, "null");
			return put_plain(pos, cell);
		case W2J_BOOL:
			if (cell->data[0] == 't')
				return ACDAT_PUT_LITERAL(pos, "true");
			return ACDAT_PUT_LITERAL(pos, "false");
		case W2J_BYTEA:
			*pos++ = '"';
			pos = acdat_put(pos, cell->data + 2, cell->len - 2);
			*pos++ = '"';
			return pos;
		case W2J_JSON:
			return put_json_text(pos, cell->data, cell->len);
		case W2J_STRING:
			break;
	}
	if (cell->plain)
	{
		*pos++ = '"';
		pos = put_plain(pos, cell);
		*pos++ = '"';
		return pos;
	}
	return acdat_put_json(pos, cell->data, cell->len);
}

char *
w2j_put_redactions(char *pos, const AcdatPlan *plan, const AcdatCell *row)
{
	bool		first = true;

	pos = ACDAT_PUT_LITERAL(pos, "\"redactions\":{");
	for (int i = 0; row != NULL && i < plan->ncolumns; i++)
	{
		if (row[i].matches == 0)
			continue;
		if (!first)
			*pos++ = ',';
		first = false;
		pos = w2j_put(pos, w2j_table(plan)->columns[i].item[W2J_NAMES]);
		*pos++ = ':';
		pos = w2j_put_uint32(pos, row[i].matches);
	}
	*pos++ = '}';
	return pos;
}

AcdatCell *
w2j_identity_row(const AcdatChange *change)
{
	if (change->old_row != NULL)
		return change->old_row;
	return change->plan->has_identity_index ? change->new_row : NULL;
}

const char *
w2j_command(enum ReorderBufferChangeType action)
{
	switch (action)
	{
		case REORDER_BUFFER_CHANGE_INSERT:
			return "INSERT";
		case REORDER_BUFFER_CHANGE_UPDATE:
			return "UPDATE";
		default:
			return "DELETE";
	}
}

bool
w2j_identity_fault(const AcdatDecoder *decoder, const AcdatPlan *plan,
				   enum ReorderBufferChangeType action, bool has_new, bool has_old)
{
	if (has_old || action == REORDER_BUFFER_CHANGE_INSERT)
		return false;
	if (decoder->options.without_identity == ACDAT_IDENTITY_ERROR)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("%s in table \"%s\".\"%s\" without a replica identity",
						w2j_command(action), plan->schema, plan->table),
				 errhint("Give the table a primary key, or a replica identity with ALTER TABLE ... REPLICA IDENTITY.")));
	return decoder->options.without_identity == ACDAT_IDENTITY_FULL &&
		(has_new || action == REORDER_BUFFER_CHANGE_DELETE);
}

char *
w2j_put_lsn(char *pos, XLogRecPtr lsn)
{
	return pos + snprintf(pos, W2J_LSN_BYTES, ACDAT_LSN_FORMAT, LSN_FORMAT_ARGS(lsn));
}

char *
w2j_put_uint32(char *pos, uint32 number)
{
	return pos + pg_ultoa_n(number, pos);
}

/* ---- room for a change ---- */

typedef Size (*bound_fn) (const W2jColumn *column, const AcdatCell *cell);

static inline Size
row_bound(const AcdatPlan *plan, const AcdatCell *row, bound_fn bound)
{
	Size		size = 0;

	if (row == NULL)
		return 0;
	for (int i = 0; i < plan->ncolumns; i++)
		size += bound(&w2j_table(plan)->columns[i], &row[i]);
	return size;
}

/* Mask the value that takes the most room in the output. */
static void
mask_largest(AcdatDecoder *decoder, AcdatChange *change)
{
	AcdatCell  *rows[2] = {change->new_row, change->old_row};
	AcdatCell  *largest = NULL;
	int			largest_column = 0;
	Size		largest_size = 0;

	for (int r = 0; r < 2; r++)
	{
		for (int i = 0; rows[r] != NULL && i < change->plan->ncolumns; i++)
		{
			Size		size = exact_value_bound(&w2j_table(change->plan)->columns[i],
												  &rows[r][i]);

			if (!rows[r][i].masked && size > largest_size)
			{
				largest = &rows[r][i];
				largest_column = i;
				largest_size = size;
			}
		}
	}
	if (largest == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("a change of table \"%s.%s\" does not fit one message",
						change->plan->schema, change->plan->table)));
	acdat_mask_oversize(decoder, change->plan, largest_column, largest, change->lsn);
}

char *
w2j_reserve(AcdatDecoder *decoder, Size size)
{
	StringInfo	out = decoder->ctx->out;

	/* only version 1 has written something before, and has no other way on */
	if ((Size) out->len + size > ACDAT_OUTPUT_LIMIT)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("transaction is too large for one message of format version 1"),
				 errdetail("The output of a transaction is limited to %zu bytes in this version.",
						   ACDAT_OUTPUT_LIMIT),
				 errhint("Use the option \"format-version\" with value 2, which has one message per change.")));
	enlargeStringInfo(out, (int) size + W2J_COPY_UNIT);
	return out->data + out->len;
}

char *
w2j_reserve_change(AcdatDecoder *decoder, AcdatChange *change, Size overhead)
{
	Size		size = overhead + row_bound(change->plan, change->new_row, value_bound) +
		row_bound(change->plan, change->old_row, value_bound);

	while (size > LOOSE_BOUND)
	{
		size = overhead + row_bound(change->plan, change->new_row, exact_value_bound) +
			row_bound(change->plan, change->old_row, exact_value_bound);
		if (size <= ACDAT_CHANGE_LIMIT)
			break;
		mask_largest(decoder, change);
	}
	return w2j_reserve(decoder, size);
}

void
w2j_written(AcdatDecoder *decoder, char *pos)
{
	StringInfo	out = decoder->ctx->out;

	out->len = (int) (pos - out->data);
	Assert(out->len < out->maxlen);
	*pos = '\0';
}
