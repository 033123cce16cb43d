/*
 * publish.h
 *		What the files behind acdat.publish share.
 *
 * All of it runs inside SPI, under one snapshot for what is read of policies
 * and terms.
 */
#ifndef ACDAT_PUBLISH_H
#define ACDAT_PUBLISH_H

#include "postgres.h"

#include "lib/stringinfo.h"

#include "policy.h"

#define ACDAT_MAX_REPORTED	10	/* ids or names in one message */

/* A dictionary compiled for a policy. */
typedef struct AcdatBuiltMachine
{
	char	   *artifact;
	acd_machine machine;
} AcdatBuiltMachine;

/* A policy as it would be published now; generation, time, publisher unset. */
typedef struct AcdatBuild
{
	AcdatPolicy policy;
	AcdatBuiltMachine *machines;	/* policy.nmachines of them */
	const acd_machine **opened; /* pointers to their machines */
} AcdatBuild;

/* publish_build.c */
extern AcdatBuild *acdat_build_policy(const char *name, MemoryContext context, bool quiet);

/* publish_machine.c */
extern void acdat_build_machine(const char *dictionary, const char *replacement,
								MemoryContext context, bool quiet, AcdatBuiltMachine *built);

/* publish_check.c */
extern void acdat_check_seams(const AcdatBuild *build);
extern void acdat_check_columns(const AcdatPolicy *policy, const AcdatPolicy *previous,
								bool allow_lossy_keys);

/* publish_store.c */
extern void acdat_lock_published(Oid published);
extern void acdat_store_machine(const AcdatMachineRef *ref, const AcdatBuiltMachine *built);
extern void acdat_store_chunks(char kind, bytea *key, const char *data, Size size);
extern void acdat_store_header(const char *policy, const AcdatHeader *header);
extern void acdat_delete_bodies(const char *policy, int64 keep_from);
extern bool acdat_delete_header(const char *policy);
extern void acdat_delete_unused_machines(void);
extern int64 acdat_next_generation(const char *policy, int64 at_least);

/*
 * A list in a message's detail that stops after ACDAT_MAX_REPORTED items.
 * Start with zeroes and initStringInfo.
 */
typedef struct AcdatReport
{
	StringInfoData text;
	int			items;
	int			left_out;
} AcdatReport;

extern void acdat_report(AcdatReport *report, const char *separator, const char *item);
extern char *acdat_report_text(AcdatReport *report);

/* SPI with the return code checked; "types" as many as values. */
extern void acdat_spi(const char *query, int nargs, Oid *types, Datum *values,
					  bool read_only, int expected);

#endif							/* ACDAT_PUBLISH_H */
