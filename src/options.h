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

typedef struct AcdatActions
{
	bool		insert;
	bool		update;
	bool		delete;
	bool		truncate;
} AcdatActions;

typedef struct AcdatOptions
{
	char	   *policy;			/* NULL: not given */
	int			format_version;
	bool		include_xids;
	bool		include_timestamp;
	bool		include_lsn;
	bool		include_schemas;
	bool		include_types;
	bool		include_pk;
	bool		include_transaction;
	AcdatActions actions;
	bool		all_tables;		/* add-tables was not given */
	List	   *add_tables;		/* of AcdatTablePattern */
	List	   *filter_tables;
} AcdatOptions;

/*
 * Parse a list of DefElem into *options, in the current memory context.
 * Values and errors are those of wal2json.
 */
extern void acdat_parse_options(List *defelems, AcdatOptions *options);

/* Do the table options let changes of this table through? */
extern bool acdat_table_wanted(const AcdatOptions *options, const char *schema,
							   const char *table);

#endif							/* ACDAT_OPTIONS_H */
