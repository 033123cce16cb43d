/*
 * decoder.h
 *		The state of one decoding session, and what passes between its parts.
 *
 *	 callbacks (decoder.c) -> relation plan (plan.c) -> cells (cell.c, which
 *	 redacts) -> format writer (format_*.c) -> OutputPluginWrite
 *
 * Redaction knows nothing of formats and formats know nothing of policies:
 * between them stand rows of cells, a cell being the text form of a value
 * after everything that had to happen to it.
 */
#ifndef ACDAT_DECODER_H
#define ACDAT_DECODER_H

#include "postgres.h"

#include "miscadmin.h"
#include "utils/datetime.h"
#include "utils/hsearch.h"

#include "compat.h"
#include "options.h"
#include "policy.h"

/* ---- generations ---- */

/* A policy's generation with its machines open. */
typedef struct AcdatGeneration
{
	MemoryContext context;		/* holds all of it, and owns the machines */
	AcdatHeader header;
	AcdatPolicy *policy;
	int			nmachines;
	const acd_machine **machines;
} AcdatGeneration;

/* ---- relation plans ---- */

/* How a column's text form is got from its datum. */
typedef enum AcdatOutput
{
	ACDAT_OUT_FUNCTION,			/* the type's output function */
	ACDAT_OUT_TEXT,				/* the varlena's bytes are the text */
	ACDAT_OUT_NAME,
	ACDAT_OUT_BOOL,
	ACDAT_OUT_INT2,
	ACDAT_OUT_INT4,
	ACDAT_OUT_INT8,
	ACDAT_OUT_OID,
	ACDAT_OUT_FLOAT4,
	ACDAT_OUT_FLOAT8,
	ACDAT_OUT_NUMERIC,
	ACDAT_OUT_UUID,
	ACDAT_OUT_DATE,
	ACDAT_OUT_TIMESTAMP,
	ACDAT_OUT_TIMESTAMPTZ,
	ACDAT_OUT_BYTEA,			/* from here on text may need escapes */
	ACDAT_OUT_JSONB
} AcdatOutput;

/* What "redact" does with the text form. */
typedef enum AcdatScan
{
	ACDAT_SCAN_NONE,			/* the type carries no text */
	ACDAT_SCAN_REWRITE,			/* terms are replaced */
	ACDAT_SCAN_WHOLE,			/* with a match, the value is masked whole */
	ACDAT_SCAN_ALWAYS			/* masked whole without looking */
} AcdatScan;

/* Escapes in a text form that could hide a term, as a bit set. */
#define ACDAT_HIDE_BACKSLASH	1
#define ACDAT_HIDE_QUOTES		2	/* "" */
#define ACDAT_HIDE_AMPERSAND	4
#define ACDAT_HIDE_MARKUP		8	/* <! and <? */

/* How a value's length is limited by its type. */
typedef enum AcdatFit
{
	ACDAT_FIT_ANY,
	ACDAT_FIT_CUT,				/* varchar(n): at most limit characters */
	ACDAT_FIT_PAD,				/* char(n): exactly limit characters */
	ACDAT_FIT_NAME				/* name: at most limit bytes */
} AcdatFit;

typedef struct AcdatColumn
{
	/* what each row asks for, together */
	AttrNumber	attnum;
	bool		varlena;
	bool		plain;			/* its text forms are printable ASCII without " and \ */
	bool		failed_before;	/* output failed once: guard it from now on */
	bool		identity;		/* in the replica identity's index */
	AcdatAction action;
	AcdatOutput output;
	AcdatScan	scan;			/* ACDAT_SCAN_NONE unless action is redact */
	int			hides;
	AcdatFit	fit;
	int			fit_limit;
	bool		key;			/* redaction must keep values apart */
	bool		primary;		/* in the primary key */
	bool		notnull;
	bool		oversize_before;	/* masked for its size once: logged */
	FmgrInfo	out;

	const char *mask;			/* fits the type, not NUL-terminated; in the database encoding */
	Size		mask_len;
	const char *mask_out;		/* the same in the output's encoding */
	Size		mask_out_len;
	Bitmapset  *sources;		/* see AcdatDecision; here indexes of columns */
	Oid			typid;
	int32		typmod;
	int			position;		/* number of the column as printed */
	NameData	name;
	const char *default_text;	/* redacted; NULL: none, or not asked for */
} AcdatColumn;

/* What is cached per relation; see plan.c for its life. */
typedef struct AcdatPlan
{
	Oid			relid;			/* hash key */
	bool		valid;
	bool		complete;		/* building it ended well */
	MemoryContext context;		/* holds what follows */
	bool		ours;			/* belongs to the extension: never emitted */
	bool		wanted;			/* passes the table options */
	char	   *schema;			/* in the database encoding */
	char	   *table;
	char		replident;
	bool		has_identity_index;
	bool		has_primary_key;
	int			natts;
	int			ncolumns;		/* emitted columns */
	AcdatColumn *columns;
	bool		has_sources;	/* some column has sources */
	Datum	   *values;			/* room for a deformed tuple */
	bool	   *nulls;
	struct AcdatCell *new_cells;	/* room for the cells of a change */
	struct AcdatCell *old_cells;
	void	   *format_data;	/* the format's own, see its prepare */
	bool		warned;			/* of a missing identity or tuple */
} AcdatPlan;

/* ---- rows ---- */

typedef enum AcdatCellKind
{
	ACDAT_CELL_ABSENT,			/* the column does not appear */
	ACDAT_CELL_UNCHANGED,		/* TOASTed and not in the change */
	ACDAT_CELL_NULL,
	ACDAT_CELL_VALUE
} AcdatCellKind;

typedef struct AcdatCell
{
	AcdatCellKind kind;
	bool		masked;			/* data is a mask, not of the column's type */
	bool		plain;			/* data is printable ASCII without " and \ */
	uint32		matches;		/* terms found; whole values count as one */
	const char *data;			/* text form, not NUL-terminated */
	Size		len;			/* bytes */
	char		small[64];		/* room for short values */
} AcdatCell;

/* A change as formats see it; rows are NULL where there is none. */
typedef struct AcdatChange
{
	enum ReorderBufferChangeType action;
	XLogRecPtr	lsn;
	AcdatPlan  *plan;
	AcdatCell  *new_row;
	AcdatCell  *old_row;
} AcdatChange;

/* Of a streamed transaction the origin is known at its end, as its time is. */
#define ACDAT_ORIGIN_UNKNOWN	PG_UINT32_MAX

/* Where a transaction, or a part of one, begins or ends. */
typedef enum AcdatMarkKind
{
	ACDAT_MARK_BEGIN,
	ACDAT_MARK_COMMIT,
	ACDAT_MARK_BEGIN_PREPARE,
	ACDAT_MARK_PREPARE,
	ACDAT_MARK_COMMIT_PREPARED,
	ACDAT_MARK_ROLLBACK_PREPARED,
	ACDAT_MARK_STREAM_START,
	ACDAT_MARK_STREAM_STOP,
	ACDAT_MARK_STREAM_ABORT,
	ACDAT_MARK_STREAM_COMMIT,
	ACDAT_MARK_STREAM_PREPARE
} AcdatMarkKind;

typedef struct AcdatMark
{
	AcdatMarkKind kind;
	TransactionId xid;			/* of the top-level transaction */
	TransactionId subxid;		/* stream abort: what was aborted */
	XLogRecPtr	lsn;
	XLogRecPtr	end_lsn;
	uint32		origin;			/* or ACDAT_ORIGIN_UNKNOWN */
	const char *gid;			/* of a prepared transaction, else NULL; redacted, in the */
	Size		gid_len;		/* output's encoding */
} AcdatMark;

/* A logical message as formats see it: in the output's encoding. */
typedef struct AcdatMessage
{
	bool		transactional;
	TransactionId xid;			/* of a transactional one */
	XLogRecPtr	lsn;
	const char *prefix;
	Size		prefix_len;
	const char *content;
	Size		content_len;
} AcdatMessage;

/* ---- sessions ---- */

struct AcdatDecoder;

/* A format is a writer behind this table. */
typedef struct AcdatFormat
{
	const char *name;

	/* make the format's data of the session, in its context */
	void		(*start) (struct AcdatDecoder *decoder);

	/* make a plan's format_data, once per plan, in its context */
	void		(*prepare) (struct AcdatDecoder *decoder, AcdatPlan *plan);
	void		(*mark) (struct AcdatDecoder *decoder, const AcdatMark *mark);

	/* "txn" is what can abort by itself: in a stream the subtransaction */
	void		(*change) (struct AcdatDecoder *decoder, ReorderBufferTXN *txn,
						   AcdatChange *change);
	/* NULL if the format has no truncates */
	void		(*truncate) (struct AcdatDecoder *decoder, ReorderBufferTXN *txn,
							 XLogRecPtr lsn, const AcdatPlan *plan);
	void		(*message) (struct AcdatDecoder *decoder, ReorderBufferTXN *txn,
							const AcdatMessage *message);

	/* can a change with these tuples be emitted?  Warns if not. */
	bool		(*accepts) (const struct AcdatDecoder *decoder, AcdatPlan *plan,
							enum ReorderBufferChangeType action, bool has_new, bool has_old);
} AcdatFormat;

extern const AcdatFormat acdat_format_wal2json1;
extern const AcdatFormat acdat_format_wal2json2;

/* Values that could not be emitted as they are, for the log. */
typedef struct AcdatCounts
{
	uint64		redacted;		/* values with at least one term replaced */
	uint64		masked;			/* values masked whole because of a match */
	uint64		oversize;		/* values masked whole because of their size */
	uint64		failed;			/* values whose output failed */
	uint64		withheld;		/* columns on which two rules meet */
} AcdatCounts;

typedef struct AcdatDecoder
{
	LogicalDecodingContext *ctx;
	AcdatOptions options;
	const AcdatFormat *format;
	void	   *format_state;	/* the format's own, see its start */
	MemoryContext session_context;	/* plans, generations */
	MemoryContext change_context;	/* reset after each change */
	int			guc_level;		/* to undo pinned settings, 0 if none */
	bool		walsender;		/* output leaves unconverted, so as UTF-8 */
	bool		convert;		/* and the database's encoding is another */

	Oid			published;		/* acdat.published, InvalidOid if absent */
	bool		seen_in_history;	/* published was visible while decoding */
	uint64		checked;		/* invalidations of it when it was last looked at */
	AcdatGeneration *generation;	/* NULL: policy "none" */
	AcdatGeneration *previous;	/* kept for its machines */
	const acd_allocator *allocator; /* over change_context */
	acd_allocator allocator_storage;

	HTAB	   *plans;
	AcdatPlan  *last_plan;		/* of the change before, or NULL */
	HTAB	   *dependencies;	/* oids of other relations that plans depend on */
	bool		in_stream;		/* in a block of a streamed transaction */
	bool		begun;			/* the current transaction's begin was emitted */
	uint64		transaction_changes;	/* emitted in it */
	char		timestamp[MAXDATELEN + 1];	/* its commit time, empty if not known */
	uint64		unreported;		/* changes since the last progress update */
	AcdatCounts counts;
} AcdatDecoder;

/* The session this process is in, or NULL; for invalidation callbacks. */
extern AcdatDecoder *acdat_current_decoder;

/* message.c: messages and other text outside of rows, by the policy in force */
extern bool acdat_prepare_message(AcdatDecoder *decoder, AcdatMessage *message);	/* wanted? */
extern void acdat_prepare_gid(AcdatDecoder *decoder, AcdatMark *mark, const char *gid);

/* transaction.c: the callbacks of transactions */
extern void acdat_transaction_callbacks(OutputPluginCallbacks *cb);
extern void acdat_ensure_begun(AcdatDecoder *decoder, ReorderBufferTXN *txn);

/* session.c */
extern void acdat_startup(LogicalDecodingContext *ctx, OutputPluginOptions *opt, bool is_init);
extern void acdat_shutdown(LogicalDecodingContext *ctx);

/* generation.c: policies as they change during decoding */
extern void acdat_load_policy(AcdatDecoder *decoder);
extern void acdat_refresh_policy(AcdatDecoder *decoder);
extern void acdat_policy_invalidated(Oid relid);

/* plan.c */
extern void acdat_plans_init(AcdatDecoder *decoder);
extern AcdatPlan *acdat_get_plan(AcdatDecoder *decoder, Relation relation);
extern void acdat_plans_sweep(AcdatDecoder *decoder);
extern void acdat_plans_discard(AcdatDecoder *decoder);
extern void acdat_depend_on(const AcdatDecoder *decoder, Oid relid);

/* column.c: everything about a column that its type and rule decide */
extern void acdat_plan_column(const AcdatDecoder *decoder, Form_pg_attribute attr,
							  const AcdatDecision *decision, AcdatColumn *column);

/* Can values of a type, or of a type that it is made of, hold text? */
extern bool acdat_type_holds_text(Oid typid);

/* A default's expression under the action of its column; NULL: not shown. */
extern const char *acdat_redact_default(const AcdatDecoder *decoder, const AcdatColumn *column,
										const char *expression);

/* output.c: the text form of a value, in "cell" or the current context */
extern void acdat_text_of_value(AcdatColumn *column, Datum datum, AcdatCell *cell);
extern bool acdat_text_of_numeric(Datum datum, AcdatCell *cell);
extern void acdat_text_of_jsonb(Datum datum, AcdatCell *cell);

/* A value whose header may be short, fetched and decompressed where need be, which is rare. */
static inline struct varlena *
acdat_packed(Datum datum)
{
	struct varlena *value = (struct varlena *) DatumGetPointer(datum);

	if (VARATT_IS_COMPRESSED(value) || VARATT_IS_EXTERNAL(value))
		return pg_detoast_datum_packed(value);
	return value;
}

/*
 * cell.c: a tuple's values after everything that has to happen to them.
 * "identity" says that the tuple holds the replica identity only.  In the
 * current context, which must live as long as the cells.
 */
extern void acdat_make_row(AcdatDecoder *decoder, AcdatPlan *plan, Relation relation,
						   HeapTuple tuple, bool identity, XLogRecPtr lsn,
						   AcdatCell *cells);
extern void acdat_mask_oversize(AcdatDecoder *decoder, const AcdatPlan *plan, int column,
								AcdatCell *cell, XLogRecPtr lsn);

/* Does a text form hold one of these escapes (ACDAT_HIDE_*), so that a term need not match? */
extern bool acdat_has_hiding_escape(int hides, const char *text, Size len);

/* rewrite.c */

/*
 * Replace the terms in a text.  Returns the number of replacements and, unless
 * it is 0, the new text, palloc'd in the current context.  A text
 * that would grow past "limit" bytes becomes NULL.
 */
extern uint32 acdat_redact_text(const acd_machine *const *machines, int nmachines,
								const char *text, Size len, Size limit,
								char **result, Size *result_len);
extern bool acdat_text_matches(const acd_machine *const *machines, int nmachines,
							   const char *text, Size len);

/* The injective form of a redacted key value: see rewrite.c. */
extern char *acdat_key_form(const AcdatPolicy *policy, const char *original, Size original_len,
							const char *redacted, Size redacted_len,
							AcdatFit fit, int fit_limit, Size *result_len);
extern char *acdat_fit_text(AcdatFit fit, int fit_limit, const char *text, Size len,
							Size *result_len);

/* encode.c: from the database encoding to that of the output */
extern const char *acdat_encode(const AcdatDecoder *decoder, const char *text, Size len,
								Size *result_len);

/*
 * The same for bytes that need not be valid text, and for names, which must not
 * fail: what is not, or has no form in the other encoding, is replaced.  NULL
 * where the result could grow past what fits memory.
 */
extern const char *acdat_encode_bytes(const AcdatDecoder *decoder, const char *bytes, Size len,
									  Size *result_len);

/*
 * Make bytes a text of the database's encoding: what is no character is
 * replaced, NULs are let through.  False where that could grow past what fits
 * memory.
 */
extern bool acdat_make_valid(const char **text, Size *len);

/*
 * Bytes one message of output may have at most: what a datum of the SQL
 * interface and a message of the protocol hold, with room for their headers.
 * A single change leaves room for what a transaction's object has around it.
 */
#define ACDAT_OUTPUT_LIMIT	((Size) MaxAllocSize - 1024 * 1024)
#define ACDAT_CHANGE_LIMIT	(ACDAT_OUTPUT_LIMIT - 64 * 1024)

#endif							/* ACDAT_DECODER_H */
