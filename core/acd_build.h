/*
 * acd_build.h
 *		What a builder holds; shared by build.c and artifact.c.
 *
 * Copyright (c) 2026, the acdat_decoder authors; PostgreSQL licence
 */
#ifndef ACD_BUILD_H
#define ACD_BUILD_H

#include "acd_internal.h"

#define ACD_UNPLACED	UINT64_MAX	/* replacement not in the artifact yet */

/* Memory for bytes of terms. */
typedef struct acd_chunk
{
	struct acd_chunk *next;
	size_t		size;
	size_t		used;
	unsigned char bytes[];
} acd_chunk;

typedef struct acd_replacement
{
	const unsigned char *bytes;
	size_t		len;
	uint64_t	hash;
	uint64_t	offset;			/* in the artifact's section */
} acd_replacement;

typedef struct acd_entry
{
	const unsigned char *pattern;
	uint32_t	len;
	uint32_t	replacement;	/* index */
	int64_t		id;
	int32_t		priority;
} acd_entry;

struct acd_builder
{
	acd_allocator allocator;
	acd_duplicate_fn on_duplicate;
	void	   *duplicate_arg;
	bool		finished;

	acd_chunk  *chunks;
	acd_entry  *entries;
	size_t		nentries;
	size_t		entries_capacity;

	acd_replacement *replacements;
	size_t		nreplacements;
	size_t		replacements_capacity;
	uint32_t   *buckets;		/* open addressing, index + 1 or 0 */
	size_t		nbuckets;		/* a power of two */
};

#endif							/* ACD_BUILD_H */
