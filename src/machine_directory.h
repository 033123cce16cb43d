/*
 * machine_directory.h
 *		Which machines are in shared memory, and where: see machine_directory.c.
 */
#ifndef ACDAT_MACHINE_DIRECTORY_H
#define ACDAT_MACHINE_DIRECTORY_H

#include "postgres.h"

#include "storage/dsm.h"

#include "policy.h"

#define ACDAT_DIRECTORY_ENTRIES		128

/* What became of an attempt to use a machine of the directory. */
typedef enum AcdatClaim
{
	ACDAT_CLAIM_NONE,			/* nothing can be shared here and now */
	ACDAT_CLAIM_JOINED,			/* it is there, and is mapped */
	ACDAT_CLAIM_OURS,			/* it is not there, and everyone waits for us to load it */
	ACDAT_CLAIM_BUSY			/* somebody is loading it */
} AcdatClaim;

/* An entry, for people to see. */
typedef struct AcdatDirectoryRow
{
	Oid			database;
	uint8		digest[ACD_DIGEST_LEN];
	Size		size;
	int			users;
	bool		loaded;
} AcdatDirectoryRow;

/* From _PG_init. */
extern void acdat_directory_init(void);

/*
 * Claim the entry of a machine of this database.  With JOINED and OURS this
 * process is a user of *entry until acdat_directory_leave, or its end; with
 * JOINED *segment is mapped for as long as wanted.
 */
extern AcdatClaim acdat_directory_claim(const AcdatMachineRef *ref, int *entry,
										dsm_segment **segment);

/* Wait for somebody who loads something to end, at most so many milliseconds. */
extern void acdat_directory_wait(long milliseconds);

/* A new segment, mapped for as long as wanted, or NULL. */
extern dsm_segment *acdat_directory_create(Size size);

/*
 * The segment that another database has for a machine of the same digest and
 * size as that of our entry, mapped, or NULL.
 */
extern dsm_segment *acdat_directory_twin(int entry);

/* Let others use what we loaded. */
extern void acdat_directory_publish(int entry, dsm_segment *segment);

/* Use an entry no longer; if it was not published, let somebody else load it. */
extern void acdat_directory_leave(int entry);

/* Copy the entries in use; returns their number. */
extern int	acdat_directory_list(AcdatDirectoryRow rows[ACDAT_DIRECTORY_ENTRIES]);

#endif							/* ACDAT_MACHINE_DIRECTORY_H */
