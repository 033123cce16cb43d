/*
 * acdat.h
 *		What the server-side files share: core on top of palloc and ereport.
 */
#ifndef ACDAT_H
#define ACDAT_H

#include "postgres.h"

#include "utils/palloc.h"

#include "acd.h"
#include "compat.h"

/* What is known of a machine's patterns and replacements as text. */
typedef enum AcdatTextState
{
	ACDAT_TEXT_UNKNOWN,
	ACDAT_TEXT_CLEAN,			/* all valid in the database encoding */
	ACDAT_TEXT_FOREIGN			/* some are not: made from bytea, or elsewhere */
} AcdatTextState;

/*
 * An allocator over a memory context, for core.  Out of memory is NULL, as
 * core expects, not an error; sizes may pass 1 GB.
 */
extern acd_allocator acdat_allocator(MemoryContext context);

/* Poll callback of scans: CHECK_FOR_INTERRUPTS. */
extern int	acdat_poll(void *arg);

/*
 * Raise core's status as an error in PostgreSQL's style.  "what" is a noun
 * phrase such as "machine" or "dictionary \"names\"", without user data
 * other than object names.
 */
pg_noreturn extern void acdat_raise(acd_status status, const char *what);

/*
 * Character boundaries of a text in the database encoding, for encodings
 * whose characters cannot be told apart from any byte; NULL where none are
 * needed.  palloc'd, len + 1 bits.
 */
extern uint8 *acdat_boundaries(const char *text, Size len);

/*
 * Could a match of a text lie inside a character, for machines of such terms?
 * Where not, scans do without boundaries.
 */
extern bool acdat_needs_boundaries(AcdatTextState terms);

/* guard.c, from _PG_init */
extern void acdat_guard_init(void);

#endif							/* ACDAT_H */
