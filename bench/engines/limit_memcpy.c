/*
 * limit_memcpy.c
 *		The bound that memory sets: copying the text.
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

static size_t
replace(void *engine, const unsigned char *text, size_t len, unsigned char *out)
{
	(void) engine;
	memcpy(out, text, len);
	return len;
}

const engine_api match_engine = {
	build, release, bytes, NULL, NULL, NULL, replace, NULL
};
