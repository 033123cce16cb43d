/*
 * compat.h
 *		Every difference between the PostgreSQL majors we build on.
 */
#ifndef ACDAT_COMPAT_H
#define ACDAT_COMPAT_H

#include "postgres.h"

#include "fmgr.h"
#include "replication/logical.h"
#include "replication/output_plugin.h"
#include "replication/reorderbuffer.h"

#if PG_VERSION_NUM < 150000
#error "acdat_decoder needs PostgreSQL 15 or later"
#endif

/* varlena macros have had a header of their own since 16 */
#if PG_VERSION_NUM >= 160000
#include "varatt.h"
#endif

/* the only spelling from 18 on; goes before everything else, "static" too */
#if PG_VERSION_NUM < 180000
#define pg_noreturn pg_attribute_noreturn()
#endif

/* declared by the server since 16 */
#if PG_VERSION_NUM < 160000
extern PGDLLEXPORT void _PG_output_plugin_init(OutputPluginCallbacks *cb);
#endif

/* tuples of a change: bare since 17, before in a buffer with a header */
#if PG_VERSION_NUM >= 170000
#define ACDAT_NEW_TUPLE(change) ((change)->data.tp.newtuple)
#define ACDAT_OLD_TUPLE(change) ((change)->data.tp.oldtuple)
#else
#define ACDAT_NEW_TUPLE(change) \
	((change)->data.tp.newtuple ? &(change)->data.tp.newtuple->tuple : NULL)
#define ACDAT_OLD_TUPLE(change) \
	((change)->data.tp.oldtuple ? &(change)->data.tp.oldtuple->tuple : NULL)
#endif

/* 15 leaves keepalives during long transactions to the plugin */
#define ACDAT_KEEPALIVE_NEEDED (PG_VERSION_NUM < 160000)

#if PG_VERSION_NUM >= 190000
#define ACDAT_COMMIT_TIME(txn) ((txn)->commit_time)
#define ACDAT_PREPARE_TIME(txn) ((txn)->prepare_time)
#else
#define ACDAT_COMMIT_TIME(txn) ((txn)->xact_time.commit_time)
#define ACDAT_PREPARE_TIME(txn) ((txn)->xact_time.prepare_time)
#endif

/* the transaction a subtransaction belongs to, or itself */
#if PG_VERSION_NUM >= 160000
#define ACDAT_TOP_TRANSACTION(txn) rbtxn_get_toptxn(txn)
#else
#define ACDAT_TOP_TRANSACTION(txn) ((txn)->toptxn ? (txn)->toptxn : (txn))
#endif

/* numbers of replication origins */
#include "replication/origin.h"
#if PG_VERSION_NUM >= 190000
#define RepOriginId ReplOriginId
#define InvalidRepOriginId InvalidReplOriginId
#endif

/* where a relation's file is: renamed in 16 */
#if PG_VERSION_NUM >= 160000
#define ACDAT_SET_FILE(relation, number, tablespace) \
	((relation)->rd_locator.relNumber = (number), (relation)->rd_locator.spcOid = (tablespace))
#else
#define ACDAT_SET_FILE(relation, number, tablespace) \
	((relation)->rd_node.relNode = (number), (relation)->rd_node.spcNode = (tablespace))
#endif

/* segments of shared memory by name, from 17 on, with an argument in 19 */
#if PG_VERSION_NUM >= 170000
#include "storage/dsm_registry.h"
#define ACDAT_NAMED_SEGMENTS 1
#else
#define ACDAT_NAMED_SEGMENTS 0
#endif
#if PG_VERSION_NUM >= 190000
#define ACDAT_SEGMENT_INIT_ARGS void *ptr, void *arg pg_attribute_unused()
#define ACDAT_NAMED_SEGMENT(name, size, init, found) \
	GetNamedDSMSegment(name, size, init, found, NULL)
#else
#define ACDAT_SEGMENT_INIT_ARGS void *ptr
#define ACDAT_NAMED_SEGMENT(name, size, init, found) GetNamedDSMSegment(name, size, init, found)
#endif

/* 19 knows the names of lock tranches in all processes */
#if PG_VERSION_NUM >= 190000
#define ACDAT_NEW_TRANCHE(name) LWLockNewTrancheId(name)
#define ACDAT_REGISTER_TRANCHE(id, name) ((void) 0)
#else
#define ACDAT_NEW_TRANCHE(name) LWLockNewTrancheId()
#define ACDAT_REGISTER_TRANCHE(id, name) LWLockRegisterTranche(id, name)
#endif

/* how the type pg_lsn is printed */
#if PG_VERSION_NUM >= 190000
#define ACDAT_LSN_FORMAT "%X/%08X"
#else
#define ACDAT_LSN_FORMAT "%X/%X"
#endif

/* a tuple descriptor made by hand has to be finished since 19 */
#if PG_VERSION_NUM >= 190000
#define ACDAT_FINISH_DESC(desc) TupleDescFinalize(desc)
#else
#define ACDAT_FINISH_DESC(desc) ((void) (desc))
#endif

#endif							/* ACDAT_COMPAT_H */
