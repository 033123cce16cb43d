/*
 * vectorscan.c
 *		Vectorscan's literal interface: contains and all matches.
 *
 * Its callback tells ends, not starts, so there is no leftmost-longest find
 * and no replace.
 *
 * Copyright (c) 2026, the acdat_decoder authors; PostgreSQL licence
 */
/* bench: package libvectorscan-dev */
/* bench: link -lhs */
/* bench: max-terms 100000 */
#include "engine.h"

#include <hs/hs.h>
#include <stdlib.h>

typedef struct scanner
{
	hs_database_t *database;
	hs_scratch_t *scratch;
} scanner;

static void
release(void *engine)
{
	scanner    *s = engine;

	hs_free_scratch(s->scratch);
	hs_free_database(s->database);
	free(s);
}

static void *
build(const span *terms, size_t nterms)
{
	scanner    *s = calloc(1, sizeof *s);
	const char **expressions = malloc(nterms * sizeof *expressions);
	unsigned   *flags = calloc(nterms, sizeof *flags);
	unsigned   *ids = malloc(nterms * sizeof *ids);
	size_t	   *lengths = malloc(nterms * sizeof *lengths);
	hs_compile_error_t *error = NULL;
	bool		built;

	for (size_t i = 0; i < nterms; i++)
	{
		expressions[i] = (const char *) terms[i].bytes;
		lengths[i] = terms[i].len;
		ids[i] = (unsigned) i;
	}
	built = hs_compile_lit_multi(expressions, flags, ids, lengths, (unsigned) nterms,
								 HS_MODE_BLOCK, NULL, &s->database, &error) == HS_SUCCESS &&
		hs_alloc_scratch(s->database, &s->scratch) == HS_SUCCESS;
	hs_free_compile_error(error);
	free(expressions);
	free(flags);
	free(ids);
	free(lengths);
	if (!built)
	{
		release(s);
		return NULL;
	}
	return s;
}

static size_t
bytes(void *engine)
{
	scanner    *s = engine;
	size_t		database = 0;
	size_t		scratch = 0;

	hs_database_size(s->database, &database);
	hs_scratch_size(s->scratch, &scratch);
	return database + scratch;
}

static int
stop_at_first(unsigned id, unsigned long long from, unsigned long long to, unsigned flags, void *found)
{
	(void) id, (void) from, (void) to, (void) flags;
	*(bool *) found = true;
	return 1;
}

static int
count_one(unsigned id, unsigned long long from, unsigned long long to, unsigned flags, void *count)
{
	(void) id, (void) from, (void) to, (void) flags;
	++*(size_t *) count;
	return 0;
}

static bool
contains(void *engine, const unsigned char *text, size_t len)
{
	scanner    *s = engine;
	bool		found = false;

	hs_scan(s->database, (const char *) text, (unsigned) len, 0, s->scratch, stop_at_first, &found);
	return found;
}

static size_t
count_overlapping(void *engine, const unsigned char *text, size_t len)
{
	scanner    *s = engine;
	size_t		count = 0;

	hs_scan(s->database, (const char *) text, (unsigned) len, 0, s->scratch, count_one, &count);
	return count;
}

const engine_api match_engine = {
	build, release, bytes, contains, NULL, count_overlapping, NULL, NULL
};
