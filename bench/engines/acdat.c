/*
 * acdat.c
 *		The core of this project, as its users call it.
 *
 * Copyright (c) 2026, the acdat_decoder authors; PostgreSQL licence
 */
/* bench: core */
#include "engine.h"

#include "acd.h"

#include <stdlib.h>
#include <string.h>

#ifdef AUTOMATON_ALONE			/* by core_automaton.c */
#define ENGINE	ACD_ENGINE_AUTOMATON
#else
#define ENGINE	ACD_ENGINE_AUTO
#endif

typedef struct matcher
{
	acd_artifact artifact;
	acd_machine machine;
	const acd_machine *machines[1];
} matcher;

static void
release(void *engine)
{
	matcher    *m = engine;

	free(m->artifact.block);
	free(m);
}

/* Compile and open: both stand before a first scan. */
static void *
build(const span *terms, size_t nterms)
{
	matcher    *m = calloc(1, sizeof *m);
	acd_builder *builder = acd_builder_create(&acd_libc_allocator);
	acd_status	status = ACD_OK;

	acd_builder_full_automaton(builder, ENGINE == ACD_ENGINE_AUTOMATON);
	for (size_t i = 0; i < nterms && status == ACD_OK; i++)
	{
		acd_term	term = {
			.pattern = terms[i].bytes,
			.pattern_len = terms[i].len,
			.replacement = REPLACEMENT,
			.replacement_len = REPLACEMENT_LEN,
			.id = (int64_t) i + 1
		};

		status = acd_builder_add(builder, &term);
	}
	if (status == ACD_OK)
		status = acd_builder_finish(builder, 0, &m->artifact);
	acd_builder_free(builder);
	if (status == ACD_OK)
		status = acd_machine_open(&m->machine, m->artifact.block, m->artifact.size);
	if (status != ACD_OK)
	{
		release(m);
		return NULL;
	}
	m->machines[0] = &m->machine;
	return m;
}

static size_t
bytes(void *engine)
{
	return ((matcher *) engine)->artifact.size;
}

static acd_scan
scan_of(matcher *m, acd_kind kind)
{
	return (acd_scan) {.machines = m->machines, .nmachines = 1, .kind = kind, .engine = ENGINE};
}

static bool
contains(void *engine, const unsigned char *text, size_t len)
{
	acd_scan	scan = scan_of(engine, ACD_COVER);
	bool		found = false;

	acd_contains(&scan, text, len, &found);
	return found;
}

static int
count_match(void *arg, const acd_match *match)
{
	(void) match;
	++*(size_t *) arg;
	return 0;
}

static size_t
count_leftmost(void *engine, const unsigned char *text, size_t len)
{
	acd_scan	scan = scan_of(engine, ACD_LEFTMOST_LONGEST);
	size_t		count = 0;

	acd_find(&scan, text, len, count_match, &count);
	return count;
}

static size_t
count_overlapping(void *engine, const unsigned char *text, size_t len)
{
	acd_scan	scan = scan_of(engine, ACD_ALL_OVERLAPPING);
	size_t		count = 0;

	acd_find(&scan, text, len, count_match, &count);
	return count;
}

static int
append(void *arg, const void *piece, size_t len)
{
	unsigned char **out = arg;

	memcpy(*out, piece, len);
	*out += len;
	return 0;
}

static size_t
replace_kind(matcher *m, acd_kind kind, const unsigned char *text, size_t len, unsigned char *out)
{
	acd_scan	scan = scan_of(m, kind);
	unsigned char *end = out;
	acd_sink	sink = {.text = append, .replacement = append, .arg = &end};
	size_t		replaced = 0;

	acd_replace(&scan, text, len, SIZE_MAX, &sink, &replaced);
	if (replaced == 0)
	{
		memcpy(out, text, len);
		end = out + len;
	}
	return (size_t) (end - out);
}

static size_t
replace(void *engine, const unsigned char *text, size_t len, unsigned char *out)
{
	return replace_kind(engine, ACD_LEFTMOST_LONGEST, text, len, out);
}

static size_t
replace_cover(void *engine, const unsigned char *text, size_t len, unsigned char *out)
{
	return replace_kind(engine, ACD_COVER, text, len, out);
}

const engine_api match_engine = {
	build, release, bytes, contains, count_leftmost, count_overlapping, replace, replace_cover
};
