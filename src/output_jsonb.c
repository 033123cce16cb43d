/*
 * output_jsonb.c
 *		jsonb as text, byte for byte as jsonb_out gives it.
 *
 * The server's iterator walks the value.  Its strings are escaped straight
 * into the result, a vector at a time, where jsonb_out copies each one and
 * then appends it byte by byte: that is most of what it costs.
 */
#include "postgres.h"

#include "utils/fmgrprotos.h"
#include "utils/jsonb.h"
#include "utils/memutils.h"
#include "utils/numeric.h"

#include "decoder.h"
#include "json.h"

/* Strings over this are measured before room is made for them. */
#define LOOSE_STRING	(1024 * 1024)

typedef struct JsonText
{
	char	   *data;
	Size		len;
	Size		room;
} JsonText;

/* Make room for "size" bytes; returns where to write them. */
static inline char *
reserve(JsonText *text, Size size)
{
	if (size > text->room - text->len)
	{
		text->room = Max(text->room * 2, text->len + size);
		text->data = repalloc_huge(text->data, text->room);
	}
	return text->data + text->len;
}

static inline void
put_bytes(JsonText *text, const char *bytes, Size len)
{
	memcpy(reserve(text, len), bytes, len);
	text->len += len;
}

static inline void
put_string(JsonText *text, const char *string, Size len)
{
	Size		bound = len <= LOOSE_STRING ? ACDAT_JSON_BOUND(len) :
		acdat_json_size(string, len) + ACDAT_JSON_SLACK;

	text->len = acdat_put_json(reserve(text, bound), string, len) - text->data;
}

static void
put_numeric(JsonText *text, Numeric number)
{
	AcdatCell	cell;

	cell.data = cell.small;
	if (!acdat_text_of_numeric(NumericGetDatum(number), &cell))
	{
		cell.data = DatumGetCString(DirectFunctionCall1(numeric_out, NumericGetDatum(number)));
		cell.len = strlen(cell.data);
	}
	put_bytes(text, cell.data, cell.len);
	if (cell.data != cell.small)
		pfree(unconstify(char *, cell.data));
}

static void
put_scalar(JsonText *text, const JsonbValue *value)
{
	switch (value->type)
	{
		case jbvNull:
			put_bytes(text, "null", 4);
			break;
		case jbvBool:
			if (value->val.boolean)
				put_bytes(text, "true", 4);
			else
				put_bytes(text, "false", 5);
			break;
		case jbvNumeric:
			put_numeric(text, value->val.numeric);
			break;
		case jbvString:
			put_string(text, value->val.string.val, value->val.string.len);
			break;
		default:
			elog(ERROR, "unknown jsonb scalar type");
	}
}

/* Write all tokens of a value, with a comma before what is not the first. */
static void
put_tokens(JsonText *text, JsonbContainer *root)
{
	JsonbIterator *iterator = JsonbIteratorInit(root);
	JsonbIteratorToken token;
	JsonbValue	value;
	bool		first = true;	/* of its container, or behind its key */
	bool		scalar = false; /* the root is one, in an array for itself */

	while ((token = JsonbIteratorNext(&iterator, &value, false)) != WJB_DONE)
	{
		if (!first && token != WJB_END_ARRAY && token != WJB_END_OBJECT && token != WJB_VALUE)
			put_bytes(text, ", ", 2);
		first = false;
		switch (token)
		{
			case WJB_BEGIN_ARRAY:
				scalar = value.val.array.rawScalar;
				if (!scalar)
					put_bytes(text, "[", 1);
				first = true;
				break;
			case WJB_BEGIN_OBJECT:
				put_bytes(text, "{", 1);
				first = true;
				break;
			case WJB_KEY:
				put_string(text, value.val.string.val, value.val.string.len);
				put_bytes(text, ": ", 2);
				first = true;
				break;
			case WJB_VALUE:
			case WJB_ELEM:
				put_scalar(text, &value);
				break;
			case WJB_END_ARRAY:
				if (!scalar)
					put_bytes(text, "]", 1);
				break;
			case WJB_END_OBJECT:
				put_bytes(text, "}", 1);
				break;
			default:
				elog(ERROR, "unknown jsonb iterator token type");
		}
	}
}

void
acdat_text_of_jsonb(Datum datum, AcdatCell *cell)
{
	Jsonb	   *jsonb = DatumGetJsonbP(datum);
	JsonText	text;

	text.room = 2 * (Size) VARSIZE(jsonb) + 64;
	text.data = palloc_extended(text.room, MCXT_ALLOC_HUGE);
	text.len = 0;
	put_tokens(&text, &jsonb->root);
	cell->data = text.data;
	cell->len = text.len;
}
