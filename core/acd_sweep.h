/*
 * acd_sweep.h
 *		What the ways to go through a text share: sweep.c and any.c.
 *
 * Copyright (c) 2026, the acdat_decoder authors; PostgreSQL licence
 */
#ifndef ACD_SWEEP_H
#define ACD_SWEEP_H

#include "acd_filter.h"

#define ACD_STRETCH		16384		/* bytes looked at in one go */

/* Set what a sweep needs only once something was found. */
extern void acd_sweep_begin(acd_sweep *sweep);

/* Report what is left, unless the scan failed, and free what was allocated. */
extern acd_status acd_sweep_end(acd_sweep *sweep, acd_status status);

/* ---- whether anything matches (any.c) ---- */

/* Scan with one machine that has one tier, which looks at each start. */
extern acd_status acd_any_starts(acd_sweep *sweep);

/*
 * Begin a scan with one machine whose one tier looks at windows, from *pos on.
 * After a hit in vain *pos is where to go on; *begun tells whether
 * acd_sweep_begin was called, here or before.
 */
extern acd_status acd_any_windows(acd_sweep *sweep, size_t *pos, bool *begun);

/* Hash of the prefix at text[p], which the text holds in full. */
static inline uint64_t
acd_prefix_hash_at(const acd_tier *tier, const unsigned char *text, size_t len, size_t p)
{
	unsigned char copy[ACD_MAX_PREFIX + 8] = {0};

	if (ACD_LIKELY(len - p >= ACD_MAX_PREFIX))
		return acd_prefix_hash(tier, text + p);
	memcpy(copy, text + p, len - p);
	return acd_prefix_hash(tier, copy);
}

/* Offsets, a bit each, at which the window at text[p] can be in a term. */
static inline uint32_t
acd_offsets_at(const acd_tier *tier, const unsigned char *text, size_t len, size_t p)
{
	unsigned char copy[8] = {0};
	uint64_t	word;

	if (ACD_LIKELY(len - p >= 8))
		word = acd_le64(text + p);
	else
	{
		memcpy(copy, text + p, len - p);
		word = acd_le64(copy);
	}
	return tier->offsets[acd_offsets_index(tier, acd_gram_hash(tier, word))];
}

/* The filters a scan uses for a machine. */
static inline const acd_filters *
acd_filters_of(const acd_scan *scan, const acd_machine *machine)
{
	return ACD_LIKELY(scan->simd == ACD_SIMD_AUTO) ? machine->filters : acd_simd_filters(scan->simd);
}

#endif							/* ACD_SWEEP_H */
