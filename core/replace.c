/*
 * replace.c
 *		Streaming a text with its matches replaced.
 *
 * Nothing is copied: the sink receives slices of the text and of artifacts.
 *
 * Copyright (c) 2026, the acdat_decoder authors; PostgreSQL licence
 */
#include "acd_scan.h"

typedef struct replacer
{
	const acd_scan *scan;
	const acd_sink *sink;
	const unsigned char *text;
	size_t		done;			/* bytes of the text dealt with */
	size_t		room;			/* bytes the sink may still receive */
	size_t		replaced;
	acd_status	status;			/* why emitting stopped */
} replacer;

/* Hand a piece to the sink if it fits. */
static bool
emit(replacer *r, int (*fn) (void *arg, const void *piece, size_t len),
	 const void *piece, size_t len)
{
	if (len == 0)
		return true;
	if (len > r->room)
	{
		r->status = ACD_ERR_LIMIT;
		return false;
	}
	r->room -= len;
	if (fn(r->sink->arg, piece, len) != 0)
	{
		r->status = ACD_ERR_STOPPED;
		return false;
	}
	return true;
}

/* Emit the text before a match and the replacement. */
static int
replace_match(void *arg, const acd_match *match)
{
	replacer   *r = arg;
	const acd_machine *machine = r->scan->machines[match->machine];

	/* Another term's record will do where all say the same: it is in the cache. */
	size_t		len;
	const unsigned char *replacement = acd_term_replacement(machine, machine->one_replacement ? 0 : match->term, &len);

	if (!emit(r, r->sink->text, r->text + r->done, match->start - r->done) ||
		!emit(r, r->sink->replacement, replacement, len))
		return 1;
	r->done = match->end;
	r->replaced++;
	return 0;
}

/* Replace matches. */
acd_status
acd_replace(const acd_scan *scan, const void *text, size_t len, size_t limit,
			const acd_sink *sink, size_t *replaced)
{
	replacer	r;
	acd_status	status;
	acd_hits	hits;
	bool		is_short;

	if (scan == NULL || scan->kind == ACD_ALL_OVERLAPPING || replaced == NULL || sink == NULL ||
		sink->text == NULL || sink->replacement == NULL)
		return ACD_ERR_ARGUMENT;
	is_short = (unsigned) scan->kind <= (unsigned) ACD_COVER && acd_is_short(scan, text, len);
	if (is_short && !acd_short_look(scan, text, len, &hits))
	{
		*replaced = 0;
		return ACD_OK;
	}
	r.scan = scan;
	r.sink = sink;
	r.text = text;
	r.done = 0;
	r.room = limit;
	r.replaced = 0;
	r.status = ACD_OK;
	status = is_short ? acd_short_find(scan, text, len, &hits, replace_match, &r) :
		acd_find(scan, text, len, replace_match, &r);
	if (r.status != ACD_OK)
		status = r.status;
	if (status == ACD_OK && r.replaced > 0 &&
		!emit(&r, sink->text, r.text + r.done, len - r.done))
		status = r.status;
	*replaced = r.replaced;
	return status;
}
