/*
 * wal2json1.h
 *		What surrounds the values in version 1 of the wal2json format.
 */
#ifndef ACDAT_WAL2JSON1_H
#define ACDAT_WAL2JSON1_H

#include "wal2json.h"

/* The members of a row's object, one for each list. */
typedef struct W2j1List
{
	const char *new_name;		/* NULL: not in the new row */
	const char *key_name;		/* NULL: not in the old keys */
	bool		wanted;
	W2jText		new_open;		/* up to and with the bracket */
	W2jText		key_open;
} W2j1List;

/* Everything of the format that the options decide. */
typedef struct W2j1Layout
{
	W2j1List	lists[W2J_LISTS];
	W2jText		begin;			/* { */
	W2jText		change;			/* "change":[ */
	W2jText		before_change;	/* newline and indent before a change */
	W2jText		kind[3];		/* { and "kind", by wal2json's order of actions */
	W2jText		next_list;		/* after a list that another follows */
	W2jText		last_list;		/* after the last list of a row */
	W2jText		object_open;	/* "columns":{ with columns-as-object */
	W2jText		keys_object_open;
	W2jText		keys_open;		/* "oldkeys":{ */
	W2jText		keys_close;
	W2jText		separator;		/* between items */
	W2jText		comma;			/* after a member's value */
	W2jText		end_change;
	W2jText		end;			/* of the transaction */
	W2jText		message_begin;	/* of one without a transaction */
	W2jText		message;
	W2jText		message_content;
	W2jText		message_end;
	W2jText		message_close;
	const char *tab;
	const char *newline;
	const char *space;
} W2j1Layout;

static inline const W2j1Layout *
w2j1_layout(const AcdatDecoder *decoder)
{
	return decoder->format_state;
}

/* Lay the format out for the decoder's options, once a session. */
extern void w2j1_start(AcdatDecoder *decoder);

#endif							/* ACDAT_WAL2JSON1_H */
