/*
 * policy.h
 *		Policies: their published form, and reading it.
 *
 * What the output plugin knows of a policy is one published, immutable
 * generation of it.  Everything lives in rows of the table acdat.published,
 * a user catalog table, so that it can be read while decoding:
 *
 *	kind  key                            part  data
 *	'p'   policy name                    0     header (AcdatHeader)
 *	'g'   policy name, NUL, generation   0..n  body, in chunks
 *	'm'   digest of a machine            0..n  artifact, in chunks
 *	's'   slot name                      0     binding of a slot
 *	'r'   role name                      0     binding of a role
 *	'd'   empty                          0     binding of the database
 *
 * The key of a generation ends in its number as 8 bytes, big endian.  Chunks
 * hold ACDAT_CHUNK_BYTES bytes but for the last: the columns are STORAGE
 * PLAIN, as the TOAST table of a user catalog table is not protected from
 * VACUUM.  Names are in the database encoding.
 */
#ifndef ACDAT_POLICY_H
#define ACDAT_POLICY_H

#include "postgres.h"

#include "access/attnum.h"
#include "datatype/timestamp.h"
#include "nodes/bitmapset.h"
#include "nodes/pg_list.h"
#include "utils/rel.h"
#include "utils/snapshot.h"

#include "acd.h"

#define ACDAT_EXTENSION			"acdat_decoder"
#define ACDAT_SCHEMA			"acdat"
#define ACDAT_PUBLISHED			"published"

/* columns of acdat.published */
#define Anum_published_kind		1	/* "char" */
#define Anum_published_key		2	/* bytea */
#define Anum_published_part		3	/* integer */
#define Anum_published_data		4	/* bytea */

#define ACDAT_KIND_HEADER		'p'
#define ACDAT_KIND_BODY			'g'
#define ACDAT_KIND_MACHINE		'm'
#define ACDAT_KIND_SLOT			's'
#define ACDAT_KIND_ROLE			'r'
#define ACDAT_KIND_DATABASE		'd'

#define ACDAT_CHUNK_BYTES		7900

/* what a masked value becomes where nothing else was said */
#define ACDAT_DEFAULT_MASK		"[REDACTED]"

/* name of the policy that redacts nothing; no policy can be created under it */
#define ACDAT_POLICY_NONE		"none"

/* What happens to a column, least strict first. The numbers are published. */
typedef enum AcdatAction
{
	ACDAT_KEEP = 0,				/* as it is */
	ACDAT_REDACT = 1,			/* terms replaced */
	ACDAT_MASK = 2,				/* the whole value replaced */
	ACDAT_NULL = 3,				/* null */
	ACDAT_DROP = 4,				/* the column left out */
	ACDAT_ERROR = 5				/* as default only: refuse undecided columns */
} AcdatAction;

/* What a rule matches, in order of precedence. The numbers are published. */
typedef enum AcdatRuleKind
{
	ACDAT_RULE_COLUMN = 0,		/* one column of one relation */
	ACDAT_RULE_RELATION = 1,	/* all columns of one relation */
	ACDAT_RULE_NAME = 2,		/* columns of that name anywhere */
	ACDAT_RULE_TYPE = 3			/* columns of that type anywhere */
} AcdatRuleKind;

/*
 * A rule, by the names the publisher saw and by what they resolved to.
 * Strings that a rule's kind does not use are NULL, numbers 0.
 */
typedef struct AcdatRule
{
	AcdatRuleKind kind;
	AcdatAction action;
	char	   *argument;		/* the mask's text, or NULL */
	char	   *schema;
	char	   *relation;
	char	   *column;
	char	   *type_schema;
	char	   *type_name;
	Oid			relid;
	AttrNumber	attnum;
	Oid			typid;
} AcdatRule;

/* A machine that "redact" uses, in the policy's order. */
typedef struct AcdatMachineRef
{
	uint8		digest[ACD_DIGEST_LEN];
	int64		size;			/* bytes of the artifact */
	char	   *dictionary;		/* the name it was published under */
} AcdatMachineRef;

/* One generation of a policy. */
typedef struct AcdatPolicy
{
	char	   *name;
	int64		generation;
	TimestampTz published_at;
	char	   *publisher;		/* role name */
	bool		clock_commit;	/* clock = 'commit', else 'latest' */
	bool		scan_all;		/* scan = 'all', else 'text' */
	AcdatAction default_action;
	int			secret_len;		/* key of the injective form of key columns */
	uint8	   *secret;
	int			nmachines;
	AcdatMachineRef *machines;
	int			nrules;
	AcdatRule  *rules;
} AcdatPolicy;

/*
 * Data of a header row, byte for byte: what is compared to learn whether
 * anything changed.  Little endian.
 */
#define ACDAT_HEADER_MAGIC		"ACDP"
#define ACDAT_HEADER_VERSION	1
#define ACDAT_HEADER_BYTES		56
typedef struct AcdatHeader
{
	/* 4 bytes magic, uint16 version, uint16 zero */
	int64		generation;		/* at 8 */
	int64		body_size;		/* at 16, bytes */
	uint8		body_digest[ACD_DIGEST_LEN];	/* at 24, SHA-256 */
	TransactionId writer;		/* of the row; not stored */
} AcdatHeader;

/* policy_format.c: all allocate in the current context; parsing raises
 * ERRCODE_DATA_CORRUPTED on anything it does not understand */
extern bytea *acdat_policy_serialize(const AcdatPolicy *policy);
extern AcdatPolicy *acdat_policy_parse(const char *data, Size size);
extern bytea *acdat_header_serialize(const AcdatHeader *header);
extern void acdat_header_parse(const char *data, Size size, AcdatHeader *header);
extern bytea *acdat_body_key(const char *policy, int64 generation);
extern void acdat_sha256(const void *data, Size size, uint8 *digest);

/*
 * Data of a binding row: uint32 role oid (0 for slot and database, little
 * endian), then the policy's name.
 */
extern bytea *acdat_binding_serialize(Oid role, const char *policy);
extern char *acdat_binding_parse(const char *data, Size size, Oid *role);

extern const char *acdat_action_name(AcdatAction action);
extern bool acdat_action_from_name(const char *name, AcdatAction *action);

/* ---- rules.c: which rule decides a column ---- */

typedef struct AcdatDecision
{
	AcdatAction action;
	const char *mask;			/* text of a masked value, never NULL */
	const AcdatRule *rule;		/* NULL: the policy's default */
	bool		conflict;		/* two different rules met: withheld (ACDAT_DROP) */
	bool		inherited;		/* the rule names an ancestor */
	bool		key;			/* in the replica identity or a unique index */

	/*
	 * Of a generated column without a rule of its own: the redacted columns
	 * it is computed from, as attribute numbers.  It shows their content in a
	 * form that no term need match, lower(name) say.
	 */
	Bitmapset  *sources;
} AcdatDecision;

/*
 * Decide all columns of an open relation: "decisions" has natts entries, of
 * which those of dropped columns are left zeroed.  Catalogs are read under
 * the snapshot in force.  Never raises an error for ACDAT_ERROR: that is for
 * the caller.
 */
extern void acdat_decide(const AcdatPolicy *policy, Relation relation,
						 AcdatDecision *decisions);

/* Oids of all relations that one descends from, by inheritance or partitioning. */
extern List *acdat_ancestors(Oid relid);

/*
 * Key columns of an index, as attribute numbers; "unique" where they alone tell
 * rows apart.  From the catalog, as opening an index takes a lock: decoding of
 * a prepared transaction that made the index would wait for its end.
 */
extern Bitmapset *acdat_index_columns(Oid index_oid, bool *unique);

/* ---- policy_read.c: from acdat.published under any snapshot ---- */

/*
 * The table's oid, or InvalidOid where the catalogs in force do not show an
 * extension with it.
 */
extern Oid	acdat_published_oid(void);

/* Header of a policy; false if there is none. NULL snapshot: the catalog snapshot. */
extern bool acdat_read_header(Oid published, const char *policy, Snapshot snapshot,
							  AcdatHeader *header);

/* A generation's body; raises ERRCODE_DATA_CORRUPTED unless whole and true to its digest. */
extern AcdatPolicy *acdat_read_policy(Oid published, const char *policy, Snapshot snapshot,
									  const AcdatHeader *header);

/* The artifact of a machine, ref->size bytes; raises ERRCODE_DATA_CORRUPTED unless whole. */
extern void acdat_read_artifact(Oid published, const AcdatMachineRef *ref, Snapshot snapshot,
								char *buffer);

/*
 * The policy that a slot, role or the database is bound to, palloc'd, or NULL.
 * "name" is the slot's or role's name, empty for the database.
 */
extern char *acdat_read_binding(Oid published, char kind, const char *name, Oid role,
								Snapshot snapshot);

#endif							/* ACDAT_POLICY_H */
