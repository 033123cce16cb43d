/*
 * wal2json.h
 *		What the two versions of the wal2json format share.
 *
 * Everything about a table that does not change from row to row is encoded
 * once, when its plan is made: W2jTable.  A row is then fragments and values
 * in turn.
 */
#ifndef ACDAT_WAL2JSON_H
#define ACDAT_WAL2JSON_H

#include "decoder.h"
#include "json.h"

/* Bytes that the parts of a record with numbers in them take at most. */
#define W2J_RECORD_BYTES	512

/* Bytes of a printed LSN with its terminator, at most. */
#define W2J_LSN_BYTES		20

/*
 * Fragments and short values are copied in whole units of this many bytes,
 * which is cheaper than a call for their few bytes.  So there is as much room
 * after what is read and what is written.
 */
#define W2J_COPY_UNIT	32

/* A fragment of output, ready to be copied: W2J_COPY_UNIT bytes follow it. */
typedef struct W2jText
{
	const char *data;
	Size		len;
} W2jText;

/* How a value is written. */
typedef enum W2jKind
{
	W2J_STRING,
	W2J_NUMBER,					/* as it is; NaN and infinities as null */
	W2J_BOOL,
	W2J_BYTEA,					/* hex without \x */
	W2J_JSON					/* JSON text as it is */
} W2jKind;

/* The lists that version 1 makes of a row's columns, in their order. */
typedef enum W2jList
{
	W2J_NAMES,
	W2J_TYPES,
	W2J_TYPE_OIDS,
	W2J_POSITIONS,
	W2J_OPTIONALS,
	W2J_DEFAULTS,
	W2J_VALUES,
	W2J_LISTS
} W2jList;

typedef struct W2jColumn
{
	W2jKind		kind;
	W2jText		head;			/* version 2: before the value */
	W2jText		tail;			/* version 2: after it, in the new row */
	W2jText		item[W2J_LISTS];	/* in version 1's lists, but for values */
} W2jColumn;

typedef struct W2jTable
{
	W2jText		table;			/* the members that name it */
	W2jText		pk;				/* the member that tells its primary key, or nothing */

	/* version 1: the lists before the values, where no column is missing */
	W2jText		row_lists;
	W2jText		identity_lists;
	Size		fragments_len;	/* bytes of all columns' fragments and punctuation */
	W2jColumn	columns[FLEXIBLE_ARRAY_MEMBER];
} W2jTable;

static inline const W2jTable *
w2j_table(const AcdatPlan *plan)
{
	return plan->format_data;
}

/* Copy bytes in whole units. */
static inline char *
w2j_put_units(char *pos, const char *bytes, Size len)
{
	for (Size done = 0; done < len; done += W2J_COPY_UNIT)
		memcpy(pos + done, bytes + done, W2J_COPY_UNIT);
	return pos + len;
}

static inline char *
w2j_put(char *pos, W2jText text)
{
	return w2j_put_units(pos, text.data, text.len);
}

/* Is a cell written at all? */
static inline bool
w2j_appears(const AcdatCell *cell)
{
	return cell->kind == ACDAT_CELL_NULL || cell->kind == ACDAT_CELL_VALUE;
}

/*
 * A buffer's contents as a fragment, in memory of its own size, so that those
 * of a row lie together; the buffer is gone.  And one from a format.
 */
extern W2jText w2j_fragment(StringInfo buf);
extern W2jText w2j_format(const char *fmt,...) pg_attribute_printf(1, 2);

/* A name of the database as a JSON string of the output. */
extern W2jText w2j_name(const AcdatDecoder *decoder, const char *name);

/*
 * A table's data with what both versions need of its columns: kinds, names,
 * types and the other items, as JSON in the output's encoding.
 */
extern W2jTable *w2j_prepare(AcdatDecoder *decoder, AcdatPlan *plan);

/* Write a value: w2j_reserve_change has counted its bytes. */
extern char *w2j_put_value(char *pos, const W2jColumn *column,
						   const AcdatCell *cell);

/* Make room for "size" bytes in the output; returns where to write. */
extern char *w2j_reserve(AcdatDecoder *decoder, Size size);

/*
 * Make room for a change in the output: what its rows take at most and
 * "overhead" bytes.  Where that does not fit one message, the largest values
 * are masked until it does.  Returns where to write.
 */
extern char *w2j_reserve_change(AcdatDecoder *decoder, AcdatChange *change, Size overhead);

/* End of what was written from the position that was reserved. */
extern void w2j_written(AcdatDecoder *decoder, char *pos);

/*
 * The member "redactions": the matches of each column that had any.  It is
 * there, and empty, of a change without a row (NULL) too.
 */
extern char *w2j_put_redactions(char *pos, const AcdatPlan *plan, const AcdatCell *row);

/*
 * The row that the identity of an update or delete is printed from: the old
 * one, or of an update that left its identity as it was the new one; NULL if
 * there is none.  A table without an identity has none, even where the option
 * "without-identity" lets its changes be emitted: the key that the new row
 * shows need not be the one the old row had.
 */
extern AcdatCell *w2j_identity_row(const AcdatChange *change);

/* "INSERT", "UPDATE" or "DELETE". */
extern const char *w2j_command(enum ReorderBufferChangeType action);

/*
 * What the option "without-identity" says of a change that lacks its old
 * tuple: true to emit it, an error, or false to warn.
 */
extern bool w2j_identity_fault(const AcdatDecoder *decoder, const AcdatPlan *plan,
							   enum ReorderBufferChangeType action, bool has_new, bool has_old);

extern char *w2j_put_lsn(char *pos, XLogRecPtr lsn);
extern char *w2j_put_uint32(char *pos, uint32 number);

#endif							/* ACDAT_WAL2JSON_H */
