/*
 * json.h
 *		Writing JSON into memory that was reserved beforehand.
 *
 * Rows are written with a raw pointer after one reservation computed from
 * bounds, so nothing here checks for room: callers do, once.
 */
#ifndef ACDAT_JSON_H
#define ACDAT_JSON_H

#include "lib/stringinfo.h"

/* No byte takes more than this in an escaped string: \u00XX. */
#define ACDAT_JSON_EXPANSION	6

/*
 * Strings are written in wide stores, of which the last may reach this far
 * beyond what they leave behind.
 */
#define ACDAT_JSON_SLACK		64

/* Room that acdat_put_json needs for any text of this length. */
#define ACDAT_JSON_BOUND(len)	(2 + ACDAT_JSON_EXPANSION * (Size) (len) + ACDAT_JSON_SLACK)

/* Copy bytes; returns the position after them. */
static inline char *
acdat_put(char *pos, const char *bytes, Size len)
{
	memcpy(pos, bytes, len);
	return pos + len;
}

/* Copy a string literal, whose length the compiler knows. */
#define ACDAT_PUT_LITERAL(pos, literal) acdat_put(pos, literal, sizeof(literal) - 1)

/*
 * Write a JSON string with its quotes, in room of ACDAT_JSON_BOUND(len) or of
 * acdat_json_size plus ACDAT_JSON_SLACK bytes.  Escapes as the server's
 * escape_json does, and NULs, which it cannot see.  Returns the position after
 * it.
 */
extern char *acdat_put_json(char *pos, const char *text, Size len);

/* Exact number of bytes acdat_put_json leaves behind. */
extern Size acdat_json_size(const char *text, Size len);

/* Append a JSON string to a buffer, for what is not worth a reservation. */
extern void acdat_append_json(StringInfo buf, const char *text, Size len);

#endif							/* ACDAT_JSON_H */
