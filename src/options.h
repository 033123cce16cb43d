/*
 * options.h
 *		Options a client gives when it starts decoding.
 */
#ifndef ACDAT_OPTIONS_H
#define ACDAT_OPTIONS_H

#include "nodes/pg_list.h"

/* A table or set of tables of add-tables and filter-tables. */
typedef struct AcdatTablePattern
{
	char	   *schema;			/* NULL: any */
	char	   *table;			/* NULL: any */
} AcdatTablePattern;

typedef struct AcdatTables
{
	bool		given;
	List	   *patterns;		/* of AcdatTablePattern */
} AcdatTables;

typedef struct AcdatActions
{
	bool		insert;
	bool		update;
	bool		delete;
	bool		truncate;
} AcdatActions;

/* What to do with updates and deletes of tables without a replica identity. */
typedef enum AcdatWithoutIdentity
{
	ACDAT_IDENTITY_WARN,		/* warn once per table and leave them out */
	ACDAT_IDENTITY_ERROR,
	ACDAT_IDENTITY_FULL			/* emit what there is */
} AcdatWithoutIdentity;

/* An origin of filter-origins, by name if that is not NULL. */
typedef struct AcdatOrigin
{
	char	   *name;
	uint32		id;
} AcdatOrigin;

typedef struct AcdatOptions
{
	char	   *policy;			/* NULL: not given */

	/* wal2json's */
	int			format_version;
	bool		include_xids;
	bool		include_timestamp;
	bool		include_lsn;
	bool		include_origin;
	bool		include_schemas;
	bool		include_types;
	bool		include_type_oids;
	bool		include_typmod;
	bool		include_domain_data_type;
	bool		include_column_positions;
	bool		include_not_null;
	bool		include_default;
	bool		include_pk;
	bool		include_transaction;
	bool		include_empty_transactions;
	bool		numeric_as_string;
	bool		pretty_print;
	bool		write_in_chunks;
	bool		partition_root;
	AcdatActions actions;
	AcdatTables add_tables;		/* all, if not given */
	AcdatTables filter_tables;
	List	   *add_prefixes;	/* of char *, a trailing * stands for anything */
	List	   *filter_prefixes;
	List	   *filter_origins; /* of AcdatOrigin */

	/* ours */
	bool		unchanged_toast;
	bool		json_values;
	bool		columns_as_object;
	bool		include_generation;
	bool		include_redactions;
	bool		streaming;		/* large transactions before they commit */
	bool		two_phase;		/* prepared transactions when they are prepared */
	int			without_identity;	/* AcdatWithoutIdentity */
	int			oversize_error; /* bool as an enum: 0 mask, 1 error */
} AcdatOptions;

/*
 * Parse a list of DefElem into *options, in the current memory context.
 * Values and errors are those of wal2json.
 */
extern void acdat_parse_options(List *defelems, AcdatOptions *options);

/* Do the table options let changes of this table through? */
extern bool acdat_table_wanted(const AcdatOptions *options, const char *schema,
							   const char *table);

/* Do the prefix options let messages with this prefix through? */
extern bool acdat_prefix_wanted(const AcdatOptions *options, const char *prefix);

#endif							/* ACDAT_OPTIONS_H */
