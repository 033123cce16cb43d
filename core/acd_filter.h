/*
 * acd_filter.h
 *		What the filters of all instruction sets share.
 *
 * Copyright (c) 2026, the acdat_decoder authors; PostgreSQL licence
 */
#ifndef ACD_FILTER_H
#define ACD_FILTER_H

#include "acd_scan.h"

/*
 * Loads may go beyond the text's end as long as they stay in the page, which
 * no processor can tell; tools that watch every byte can, and get copies.
 */
#if defined(__SANITIZE_ADDRESS__) || defined(ACD_NO_OVERREAD)
#define ACD_OVERREAD 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(memory_sanitizer)
#define ACD_OVERREAD 0
#endif
#endif
#ifndef ACD_OVERREAD
#define ACD_OVERREAD 1
#endif

#define ACD_PAGE	4096
#define ACD_SKIP	256			/* bytes that a filter skips at once */

#if defined(__x86_64__) && defined(__GNUC__)
#define ACD_X86		1
#else
#define ACD_X86		0
#endif

#if defined(__aarch64__) && defined(__ARM_NEON)
#define ACD_NEON	1
#else
#define ACD_NEON	0
#endif

/* Position of the lowest bit set in a word that is not 0. */
static inline uint32_t
acd_lowest_bit(uint64_t word)
{
#if defined(__GNUC__)
	return (uint32_t) __builtin_ctzll(word);
#else
	uint32_t	n = 0;

	while (((word >> n) & 1) == 0)
		n++;
	return n;
#endif
}

/* How many bits are set in a word? */
static inline uint32_t
acd_count_bits(uint64_t word)
{
#if defined(__GNUC__)
	return (uint32_t) __builtin_popcountll(word);
#else
	uint32_t	n = 0;

	for (; word != 0; word &= word - 1)
		n++;
	return n;
#endif
}

/* Position of the highest bit set in a word that is not 0. */
static inline uint32_t
acd_highest_bit(uint32_t word)
{
#if defined(__GNUC__)
	return 31 - (uint32_t) __builtin_clz(word);
#else
	uint32_t	n = 0;

	while ((word >>= 1) != 0)
		n++;
	return n;
#endif
}

/*
 * Where ACD_READ bytes can be read that begin with the n bytes at p: there,
 * or a copy.  What follows the n bytes must not matter.
 */
static inline const unsigned char *
acd_readable(const unsigned char *p, size_t n, unsigned char copy[ACD_READ])
{
	if (ACD_OVERREAD && ((uintptr_t) p & (ACD_PAGE - 1)) <= ACD_PAGE - ACD_READ)
		return p;
	memset(copy, 0, ACD_READ);
	memcpy(copy, p, n < ACD_READ ? n : ACD_READ);
	return copy;
}

#endif							/* ACD_FILTER_H */
