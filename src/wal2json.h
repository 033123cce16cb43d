/*
 * wal2json.h
 *		What the two versions of the wal2json format share.
 */
#ifndef ACDAT_WAL2JSON_H
#define ACDAT_WAL2JSON_H

#include "decoder.h"
#include "json.h"

/* Bytes that the parts of a record with numbers in them take at most. */
#define W2J_RECORD_BYTES	256

/* Bytes of a printed LSN with its terminator, at most. */
#define W2J_LSN_BYTES		20

/* How a value is written: AcdatColumn.format_kind. */
typedef enum W2jKind
{
	W2J_STRING,
	W2J_NUMBER,					/* as it is; NaN and infinities as null */
	W2J_BOOL,
	W2J_BYTEA					/* hex without \x */
} W2jKind;

/* JSON strings of a column's name and type, palloc'd, in the output's encoding. */
extern void w2j_prepare_column(const AcdatDecoder *decoder, AcdatColumn *column);

/* A name of the database as a JSON string of the output. */
extern void w2j_append_name(const AcdatDecoder *decoder, StringInfo buf, const char *name);

/* Keep a buffer's contents as a fragment. */
extern const char *w2j_fragment(StringInfo buf, Size *len);

/* Bytes a cell's value takes at most; written by w2j_put_value. */
extern Size w2j_value_bound(const AcdatColumn *column, const AcdatCell *cell);
extern char *w2j_put_value(char *pos, const AcdatColumn *column, const AcdatCell *cell);

/*
 * Make room for a change in the output: what its rows take at most and
 * "overhead" bytes.  Where that does not fit one message, the largest values
 * are masked until it does.  Returns where to write.
 */
extern char *w2j_reserve_change(AcdatDecoder *decoder, AcdatChange *change, Size overhead);

/* Make room for "size" bytes in the output; returns where to write. */
extern char *w2j_reserve(AcdatDecoder *decoder, Size size);

/* End of what was written from the position that was reserved. */
extern void w2j_written(AcdatDecoder *decoder, char *pos);

extern char *w2j_put_lsn(char *pos, XLogRecPtr lsn);
extern char *w2j_put_uint32(char *pos, uint32 number);

/* Is a cell written in this row?  In identities only identity columns are. */
static inline bool
w2j_appears(const AcdatCell *cell)
{
	return cell->kind == ACDAT_CELL_NULL || cell->kind == ACDAT_CELL_VALUE;
}

#endif							/* ACDAT_WAL2JSON_H */
