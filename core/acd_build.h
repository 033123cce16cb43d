/*
 * acd_build.h
 *		What a builder holds; shared by build.c and artifact.c.
 *
 * Copyright (c) 2026, the acdat_decoder authors; PostgreSQL licence
 */
#ifndef ACD_BUILD_H
#define ACD_BUILD_H

#include "acd_tier.h"

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
	bool		full_automaton;

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

/* A tier while it is built (tiers.c). */
typedef struct acd_tier_plan
{
	acd_tier	tier;			/* pointers are not set */
	uint32_t	first;			/* its terms in the order of tiers */
	uint32_t	nterms;
	uint32_t	first_group;
	uint32_t	ngroups;
	uint32_t	nkeys;			/* of a start filter, as far as they count for its size */
	uint32_t	filter_bits;
	uint32_t	starts_bits;
	uint32_t	offsets_bits;
	uint32_t	table_bits;
	unsigned char classes[32 * ACD_CLASS_BYTES];
	unsigned char *filters;		/* filter, starts, offsets */
	unsigned char *table;
} acd_tier_plan;

/* A tree while it is built. */
typedef struct acd_group
{
	uint32_t	key;			/* its first term */
	uint32_t	nterms;
	uint32_t	ref;			/* as in the table */
} acd_group;

typedef struct acd_tier_set
{
	acd_tier_plan plans[ACD_MAX_TIERS];
	uint32_t	ntiers;
	uint32_t   *order;			/* terms by tier, then in order */
	acd_group  *groups;
	uint32_t	ngroups;
	acd_forest	forest;
} acd_tier_set;

/*
 * Divide sorted distinct keys into tiers and build their trees.  To be freed
 * on an error as well.
 */
extern acd_status acd_tiers_build(acd_tier_set *set, const acd_allocator *allocator,
								  const acd_key *keys, uint32_t nkeys);

/* Byte o of a key; the first ones without a look at memory that is elsewhere. */
static inline unsigned char
acd_key_byte(const acd_key *key, uint32_t o)
{
	return o < 8 ? (unsigned char) (key->prefix >> (56 - 8 * o)) : key->bytes[o];
}

/* Fill the classes of a tier whose trees are built (classes.c). */
extern void acd_fill_classes(const acd_tier_set *set, acd_tier_plan *plan, const acd_key *keys);

/*
 * How many keys a start filter has for a tree's terms order[lo] ..
 * order[hi - 1]: their different first 8 bytes, or 0 if it has their window.
 */
extern uint32_t acd_start_keys(const acd_key *keys, const uint32_t *order, uint32_t lo, uint32_t hi);

/* Build filters and tables, once it is known which trees are deep. */
extern acd_status acd_tiers_fill(acd_tier_set *set, const acd_allocator *allocator, const acd_key *keys);
extern void acd_tiers_free(acd_tier_set *set, const acd_allocator *allocator);

/* Bytes of the filters and of the tables of all tiers. */
extern size_t acd_tiers_filter_bytes(const acd_tier_set *set);
extern size_t acd_tiers_table_bytes(const acd_tier_set *set);

/* Fill the zeroed sections of tiers, filters and tables. */
extern void acd_tiers_write(const acd_tier_set *set, unsigned char *tiers,
							unsigned char *filters, unsigned char *tables);

#endif							/* ACD_BUILD_H */
