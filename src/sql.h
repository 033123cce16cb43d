/*
 * sql.h
 *		What the files behind the SQL functions share.
 */
#ifndef ACDAT_SQL_H
#define ACDAT_SQL_H

#include "postgres.h"

#include "fmgr.h"
#include "utils/varlena.h"

#include "acdat.h"
#include "compat.h"

/* ---- machine.c ---- */

/* A machine argument, opened once for a call site. */
typedef struct AcdatMachineArg
{
	MemoryContext context;		/* holds the artifact, or "shared"; NULL if unused */
	struct AcdatMachine *shared;	/* known by the address of its value, or NULL */
	bool		on_disk;		/* known by "pointer", else by its digest */
	struct varatt_external pointer;
	acd_machine machine;
	Size		head_len;		/* bytes of it that tell it from any other */
	AcdatTextState text;
	bool		everywhere;		/* known that no match of a text needs the boundaries of characters */

	/* The scan, set up but for what a call decides: kind, boundaries, and where to allocate. */
	acd_scan	scan;
	const acd_machine *machines[1];
	acd_allocator allocator;
} AcdatMachineArg;

extern AcdatMachineArg *acdat_machine_arg(FunctionCallInfo fcinfo, int argno);
extern void acdat_settle_machine_arg(AcdatMachineArg *arg);

/* ---- match.c ---- */

/*
 * The value with its matches replaced, or NULL where nothing matched.  With
 * check_text every replacement used must be valid in the database encoding.
 */
extern struct varlena *acdat_replace(const acd_scan *scan, const char *data, Size size,
									 bool check_text);
extern acd_kind acdat_kind_arg(text *name);

/* ---- suggest.c ---- */

/*
 * A hint for a misspelt name: those of the names nearest to it, or if none is
 * near the first few of all.  "what" is their plural noun.
 */
extern char *acdat_near_hint(const char *what, const char *wanted,
							 const char *const *names, int nnames);

/* ---- redact.c ---- */

struct AcdatPolicy;
extern struct AcdatPolicy *acdat_published_policy(const char *name);

#endif							/* ACDAT_SQL_H */
