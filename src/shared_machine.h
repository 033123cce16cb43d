/*
 * shared_machine.h
 *		Machines that are open in this process, shared with others if possible.
 */
#ifndef ACDAT_SHARED_MACHINE_H
#define ACDAT_SHARED_MACHINE_H

#include "postgres.h"

#include "lib/ilist.h"
#include "storage/dsm.h"

#include "acdat.h"
#include "policy.h"

/* A machine; there is one for each digest in a process. */
typedef struct AcdatMachine
{
	acd_machine machine;		/* open */
	struct varlena *value;		/* its artifact, as a value of type acdat.machine */
	AcdatTextState text;		/* see machine.c */

	/* private to shared_machine.c */
	dlist_node	node;
	MemoryContext context;		/* holds this, and the artifact if it is private */
	int			references;
	int			entry;			/* in the directory, -1: private */
	dsm_segment *segment;		/* or NULL */
} AcdatMachine;

/*
 * A published machine, read under the snapshot unless this or another process
 * of the server has it open.  It stays as long as "owner", a memory context,
 * is neither reset nor deleted.
 */
extern AcdatMachine *acdat_get_machine(Oid published, const AcdatMachineRef *ref,
									   Snapshot snapshot, MemoryContext owner);

/*
 * The same for an artifact made here: a value in a context of its own, which
 * becomes the machine's.
 */
extern AcdatMachine *acdat_adopt_machine(MemoryContext context, struct varlena *value,
										 MemoryContext owner);

/* Keep a machine for another owner. */
extern void acdat_hold_machine(AcdatMachine *machine, MemoryContext owner);

/* The machine whose value this very pointer is, or NULL.  It is not followed. */
extern AcdatMachine *acdat_machine_at(const void *value);

#endif							/* ACDAT_SHARED_MACHINE_H */
