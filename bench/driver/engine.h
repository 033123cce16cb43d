/*
 * engine.h
 *		What a match engine written in C gives to the driver.
 *
 * An engine is one file in bench/engines: it defines match_engine and
 * nothing else.  driver.c owns the data, the clock and the protocol.  A NULL
 * member means that the engine has no such operation.
 *
 * Copyright (c) 2026, the acdat_decoder authors; PostgreSQL licence
 */
#ifndef BENCH_ENGINE_H
#define BENCH_ENGINE_H

#include <stdbool.h>
#include <stddef.h>

/* What every engine puts in the place of a match. */
#define REPLACEMENT		"[REDACTED]"
#define REPLACEMENT_LEN	(sizeof(REPLACEMENT) - 1)

typedef struct span
{
	const unsigned char *bytes;
	size_t		len;
} span;

typedef struct engine_api
{
	/* Compile the terms, which stay in memory; NULL if it cannot. */
	void	   *(*build) (const span *terms, size_t nterms);
	void		(*release) (void *engine);

	/* Bytes of what a scan reads, without the terms handed to build. */
	size_t		(*bytes) (void *engine);

	/* Does any term occur in the text? */
	bool		(*contains) (void *engine, const unsigned char *text, size_t len);

	/* Number of leftmost-longest, not overlapping matches. */
	size_t		(*count_leftmost) (void *engine, const unsigned char *text, size_t len);

	/* Number of all matches, overlapping ones included. */
	size_t		(*count_overlapping) (void *engine, const unsigned char *text, size_t len);

	/*
	 * Write the text with its leftmost-longest matches replaced; returns the
	 * bytes written.  "out" has room for the worst case.
	 */
	size_t		(*replace) (void *engine, const unsigned char *text, size_t len,
							unsigned char *out);

	/* The same for spans of matches that share a byte. */
	size_t		(*replace_cover) (void *engine, const unsigned char *text, size_t len,
								  unsigned char *out);
} engine_api;

extern const engine_api match_engine;

#endif							/* BENCH_ENGINE_H */
