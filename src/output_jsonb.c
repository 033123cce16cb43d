/*
 * output_jsonb.c
 *		jsonb as text, byte for byte as jsonb_out gives it.
 *
 * Strings are escaped straight into the result, a vector at a time, where
 * jsonb_out copies each one and then appends it byte by byte, and the value is
 * read where it lies, not through an iterator that allocates for each level.
 * The form is the one on disk and so will stay.
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

/* Small values are written without ever growing the memory they begin with. */
#define ROOM_FOR_LITTLE	(8 * ACDAT_JSON_SLACK)

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

/* An array or object that is being written. */
typedef struct JsonLevel
{
	JsonbContainer *container;
	const char *base;			/* what offsets count from */
	uint32		n;				/* elements or pairs */
	uint32		next;			/* of which so many are written */
	uint32		key_offset;		/* of the next key */
	uint32		value_offset;	/* of the next value */
	bool		object;
	bool		scalar;			/* an array only for form's sake */
} JsonLevel;

/* Levels from the root to where writing is, at first in "some". */
typedef struct JsonPath
{
	JsonLevel  *levels;
	int			depth;
	int			room;
	JsonLevel	some[8];
} JsonPath;

static void
enter(JsonPath *path, JsonText *text, JsonbContainer *container)
{
	JsonLevel  *level;

	if (path->depth == path->room)
	{
		Size		size = sizeof(JsonLevel) * path->room;
		JsonLevel  *more = palloc_extended(size * 2, MCXT_ALLOC_HUGE);

		memcpy(more, path->levels, size);
		if (path->levels != path->some)
			pfree(path->levels);
		path->levels = more;
		path->room *= 2;
	}
	level = &path->levels[path->depth++];
	level->container = container;
	level->n = JsonContainerSize(container);
	level->next = 0;
	level->object = JsonContainerIsObject(container);
	level->scalar = JsonContainerIsScalar(container);
	level->base = (const char *) &container->children[level->object ? 2 * level->n : level->n];
	level->key_offset = 0;
	level->value_offset = level->object ? getJsonbOffset(container, level->n) : 0;
	if (!level->scalar)
		put_bytes(text, level->object ? "{" : "[", 1);
}

/*
 * Write the next element or pair of a level.  Entries have an offset of their
 * end or a length each, so that one leads to the next.
 */
static void
put_next(JsonPath *path, JsonText *text)
{
	JsonLevel  *level = &path->levels[path->depth - 1];
	const JEntry *entries = level->container->children;
	const char *value;
	JEntry		entry;
	uint32		start;

	if (level->next > 0)
		put_bytes(text, ", ", 2);
	if (level->object)
	{
		start = level->key_offset;
		JBE_ADVANCE_OFFSET(level->key_offset, entries[level->next]);
		put_string(text, level->base + start, level->key_offset - start);
		put_bytes(text, ": ", 2);
		entries += level->n;
	}
	entry = entries[level->next++];
	start = level->value_offset;
	JBE_ADVANCE_OFFSET(level->value_offset, entry);
	value = level->base + INTALIGN(start);	/* but for strings */
	if (JBE_ISSTRING(entry))
		put_string(text, level->base + start, level->value_offset - start);
	else if (JBE_ISNUMERIC(entry))
		put_numeric(text, (Numeric) unconstify(char *, value));
	else if (JBE_ISBOOL_TRUE(entry))
		put_bytes(text, "true", 4);
	else if (JBE_ISBOOL_FALSE(entry))
		put_bytes(text, "false", 5);
	else if (JBE_ISNULL(entry))
		put_bytes(text, "null", 4);
	else if (JBE_ISCONTAINER(entry))
		enter(path, text, (JsonbContainer *) unconstify(char *, value));
	else
		elog(ERROR, "unknown jsonb entry type");
}

/* Write a value, going down and up through its levels without recursion. */
static void
put_container(JsonText *text, JsonbContainer *root)
{
	JsonPath	path;

	path.levels = path.some;
	path.depth = 0;
	path.room = lengthof(path.some);
	enter(&path, text, root);
	while (path.depth > 0)
	{
		JsonLevel  *level = &path.levels[path.depth - 1];

		if (level->next < level->n)
		{
			put_next(&path, text);
			continue;
		}
		if (!level->scalar)
			put_bytes(text, level->object ? "}" : "]", 1);
		path.depth--;
	}
	if (path.levels != path.some)
		pfree(path.levels);
}

void
acdat_text_of_jsonb(Datum datum, AcdatCell *cell)
{
	struct varlena *packed = acdat_packed(datum);
	JsonText	text;
	union
	{
		JsonbContainer container;
		char		bytes[VARATT_SHORT_MAX];
	}			aligned;
	JsonbContainer *root;

	/* behind a short header nothing is aligned */
	if (VARATT_IS_SHORT(packed))
	{
		memcpy(aligned.bytes, VARDATA_SHORT(packed), VARSIZE_SHORT(packed) - VARHDRSZ_SHORT);
		root = &aligned.container;
	}
	else
		root = &((Jsonb *) packed)->root;

	text.room = 2 * (Size) VARSIZE_ANY(packed) + ROOM_FOR_LITTLE;
	text.data = palloc_extended(text.room, MCXT_ALLOC_HUGE);
	text.len = 0;
	put_container(&text, root);
	cell->data = text.data;
	cell->len = text.len;
}
