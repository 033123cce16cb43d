/*
 * wal2json.c
 *		What the two versions of the wal2json format share.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#include "wal2json.h"

/* Bounds over this are worth an exact look at what they bound. */
#define LOOSE_BOUND		((Size) 16 * 1024 * 1024)

void
w2j_append_name(const AcdatDecoder *decoder, StringInfo buf, const char *name)
{
	Size		len;
	const char *encoded = acdat_encode(decoder, name, strlen(name), &len);

	acdat_append_json(buf, encoded, len);
}

const char *
w2j_fragment(StringInfo buf, Size *len)
{
	*len = buf->len;
	return buf->data;
}

/*
 * A type's name.  Where it is one quoted identifier, its quotes serve as
 * those of the JSON string, as in wal2json; where that would not be JSON,
 * the string holds the name as format_type gives it.
 */
static void
append_type_name(const AcdatDecoder *decoder, StringInfo buf, const char *name)
{
	Size		len = strlen(name);

	if (len >= 2 && name[0] == '"' && name[len - 1] == '"')
	{
		char	   *identifier = pnstrdup(name + 1, len - 2);

		if (strpbrk(identifier, "\"\\") == NULL)
			name = identifier;
	}
	w2j_append_name(decoder, buf, name);
}

void
w2j_prepare_column(const AcdatDecoder *decoder, AcdatColumn *column)
{
	StringInfoData buf;

	initStringInfo(&buf);
	w2j_append_name(decoder, &buf, NameStr(column->name));
	column->name_json = w2j_fragment(&buf, &column->name_json_len);

	initStringInfo(&buf);
	append_type_name(decoder, &buf, format_type_with_typemod(column->typid, column->typmod));
	column->type_json = w2j_fragment(&buf, &column->type_json_len);

	switch (column->typid)
	{
		case INT2OID:
		case INT4OID:
		case INT8OID:
		case OIDOID:
		case FLOAT4OID:
		case FLOAT8OID:
		case NUMERICOID:
			column->format_kind = W2J_NUMBER;
			break;
		case BOOLOID:
			column->format_kind = W2J_BOOL;
			break;
		case BYTEAOID:
			column->format_kind = W2J_BYTEA;
			break;
		default:
			column->format_kind = W2J_STRING;
	}
}

/* ---- values ---- */

/* A mask is a string whatever the column's type. */
static inline W2jKind
cell_kind(const AcdatColumn *column, const AcdatCell *cell)
{
	return cell->masked ? W2J_STRING : (W2jKind) column->format_kind;
}

Size
w2j_value_bound(const AcdatColumn *column, const AcdatCell *cell)
{
	if (cell->kind != ACDAT_CELL_VALUE)
		return sizeof("null");
	if (cell_kind(column, cell) == W2J_STRING)
		return 2 + ACDAT_JSON_EXPANSION * cell->len;
	return cell->len + sizeof("false");
}

/* The same, exactly for strings. */
static Size
exact_value_bound(const AcdatColumn *column, const AcdatCell *cell)
{
	if (cell->kind == ACDAT_CELL_VALUE && cell_kind(column, cell) == W2J_STRING)
		return acdat_json_size(cell->data, cell->len);
	return w2j_value_bound(column, cell);
}

/* Output of the numeric types is a JSON number but for NaN and infinities. */
static inline bool
is_json_number(const char *text, Size len)
{
	const char *digits = text + (text[0] == '-');

	return digits < text + len && *digits >= '0' && *digits <= '9';
}

char *
w2j_put_value(char *pos, const AcdatColumn *column, const AcdatCell *cell)
{
	if (cell->kind == ACDAT_CELL_NULL)
		return ACDAT_PUT_LITERAL(pos, "null");
	switch (cell_kind(column, cell))
	{
		case W2J_NUMBER:
			if (!is_json_number(cell->data, cell->len))
				return ACDAT_PUT_LITERAL(pos, "null");
			return acdat_put(pos, cell->data, cell->len);
		case W2J_BOOL:
			if (cell->data[0] == 't')
				return ACDAT_PUT_LITERAL(pos, "true");
			return ACDAT_PUT_LITERAL(pos, "false");
		case W2J_BYTEA:
			*pos++ = '"';
			pos = acdat_put(pos, cell->data + 2, cell->len - 2);
			*pos++ = '"';
			return pos;
		case W2J_STRING:
			break;
	}
	return acdat_put_json(pos, cell->data, cell->len);
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

typedef Size (*bound_fn) (const AcdatColumn *column, const AcdatCell *cell);

static Size
row_bound(const AcdatPlan *plan, const AcdatCell *row, bound_fn bound)
{
	Size		size = 0;

	if (row == NULL)
		return 0;
	for (int i = 0; i < plan->ncolumns; i++)
		size += bound(&plan->columns[i], &row[i]);
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
			Size		size = exact_value_bound(&change->plan->columns[i], &rows[r][i]);

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
	enlargeStringInfo(out, (int) size);
	return out->data + out->len;
}

char *
w2j_reserve_change(AcdatDecoder *decoder, AcdatChange *change, Size overhead)
{
	Size		size = overhead + row_bound(change->plan, change->new_row, w2j_value_bound) +
		row_bound(change->plan, change->old_row, w2j_value_bound);

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
