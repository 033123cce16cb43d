/*
 * bench_textbook.c
 *		The textbook automaton of the bench as functions of a text: what
 *		somebody would write who has an Aho-Corasick automaton and PostgreSQL.
 *
 * bench_textbook_contains(text, file), bench_textbook_replace(text, file):
 * "file" holds one term a line; a process reads it once.
 *
 * Copyright (c) 2026, the acdat_decoder authors; PostgreSQL licence
 */
#include "postgres.h"

#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#if PG_VERSION_NUM >= 160000
#include "varatt.h"
#endif

#include "../engines/textbook.c"

#include <stdio.h>

PG_MODULE_MAGIC;
PG_FUNCTION_INFO_V1(bench_textbook_contains);
PG_FUNCTION_INFO_V1(bench_textbook_replace);

static void *machine;
static size_t shortest;
static unsigned char *room;		/* for a replaced text, kept between calls */
static size_t room_size;

static void
read_terms(const char *path)
{
	FILE	   *f = fopen(path, "rb");
	char		line[8192];
	span	   *terms = NULL;
	size_t		nterms = 0;

	if (f == NULL)
		elog(ERROR, "cannot read the terms");
	shortest = sizeof line;
	while (fgets(line, sizeof line, f) != NULL)
	{
		size_t		len = strcspn(line, "\n");

		if (nterms % 1024 == 0)
			terms = realloc(terms, (nterms + 1024) * sizeof *terms);
		terms[nterms].bytes = (const unsigned char *) strndup(line, len);
		terms[nterms++].len = len;
		shortest = Min(shortest, len);
	}
	fclose(f);
	machine = match_engine.build(terms, nterms);
}

/* Set up at the first call only, by which the file is known. */
static inline void
prepare(FunctionCallInfo fcinfo)
{
	if (unlikely(machine == NULL))
		read_terms(text_to_cstring(PG_GETARG_TEXT_PP(1)));
}

Datum
bench_textbook_contains(PG_FUNCTION_ARGS)
{
	text	   *value = PG_GETARG_TEXT_PP(0);

	prepare(fcinfo);
	PG_RETURN_BOOL(match_engine.contains(machine, (const unsigned char *) VARDATA_ANY(value),
										 VARSIZE_ANY_EXHDR(value)));
}

Datum
bench_textbook_replace(PG_FUNCTION_ARGS)
{
	text	   *value = PG_GETARG_TEXT_PP(0);
	size_t		len = VARSIZE_ANY_EXHDR(value);
	size_t		bound;
	size_t		written;

	prepare(fcinfo);
	bound = len + (len / shortest + 1) * REPLACEMENT_LEN;
	if (bound > room_size)
	{
		free(room);
		room = malloc(bound);
		room_size = bound;
	}
	written = match_engine.replace(machine, (const unsigned char *) VARDATA_ANY(value), len, room);
	PG_RETURN_TEXT_P(cstring_to_text_with_len((char *) room, (int) written));
}
