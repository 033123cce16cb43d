/*
 * limit_memchr.c
 *		The bound that memory sets: reading every byte of the text once.
 *
 * Not a matcher: its answers mean nothing and are not compared.
 *
 * Copyright (c) 2026, the acdat_decoder authors; PostgreSQL licence
 */
#include "engine.h"

#include <string.h>

static void *
build(const span *terms, size_t nterms)
{
	(void) nterms;
	return (void *) terms;
}

static void
release(void *engine)
{
	(void) engine;
}

static size_t
bytes(void *engine)
{
	(void) engine;
	return 0;
}

/* NUL occurs in no text. */
static bool
contains(void *engine, const unsigned char *text, size_t len)
{
	(void) engine;
	return memchr(text, '\0', len) != NULL;
}

const engine_api match_engine = {
	build, release, bytes, contains, NULL, NULL, NULL, NULL
};
