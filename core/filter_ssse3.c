/*
 * filter_ssse3.c
 *		The filters with 16-byte vectors.
 *
 * A class of bytes is two tables of 16 bytes, by low and by high half of a
 * byte: the byte is in the class where the two entries have a bit in common,
 * which a byte shuffle looks up for a vector at once.
 *
 * Copyright (c) 2026, the acdat_decoder authors; PostgreSQL licence
 */
#include "acd_filter.h"

#if ACD_X86

#include <tmmintrin.h>

#define NAME(x)				x##_ssse3
#define TARGET				__attribute__((target("ssse3")))
#define START_MASK(c, p)	start_mask(c, p, 64)
#define START_MASK_32(c, p)	start_mask(c, p, 32)
#define ONE_MASK(c, p)		one_mask(c, p)
#define NONE_IN(c, p)		none_in(c, p)

/* The classes, a bit each, that 16 bytes are in. */
TARGET static ACD_ALWAYS_INLINE __m128i
classify(const unsigned char *tables, const unsigned char *p)
{
	__m128i		half = _mm_set1_epi8(15);
	__m128i		v = _mm_loadu_si128((const void *) p);
	__m128i		low = _mm_shuffle_epi8(_mm_loadu_si128((const void *) tables), _mm_and_si128(v, half));
	__m128i		high = _mm_shuffle_epi8(_mm_loadu_si128((const void *) (tables + 16)),
										_mm_and_si128(_mm_srli_epi16(v, 4), half));

	return _mm_and_si128(low, high);
}

/* Bits of the bytes that are in one class with the three that follow. */
TARGET static ACD_ALWAYS_INLINE uint64_t
start_mask(const unsigned char *classes, const unsigned char *p, unsigned n)
{
	__m128i		zero = _mm_setzero_si128();
	uint64_t	mask = 0;

	for (unsigned i = 0; i < n; i += 16)
	{
		__m128i		first = _mm_and_si128(classify(classes, p + i), classify(classes + 32, p + i + 1));
		__m128i		last = _mm_and_si128(classify(classes + 64, p + i + 2), classify(classes + 96, p + i + 3));

		mask |= (uint64_t) (~_mm_movemask_epi8(_mm_cmpeq_epi8(_mm_and_si128(first, last), zero)) & 0xFFFF) << i;
	}
	return mask;
}

/* Bits of the bytes that are in the first class. */
TARGET static ACD_ALWAYS_INLINE uint64_t
one_mask(const unsigned char *classes, const unsigned char *p)
{
	uint64_t	mask = 0;

	for (unsigned i = 0; i < 64; i += 16)
	{
		__m128i		no = _mm_cmpeq_epi8(classify(classes, p + i), _mm_setzero_si128());

		mask |= (uint64_t) (~_mm_movemask_epi8(no) & 0xFFFF) << i;
	}
	return mask;
}

/* Is none of the bytes in the first class? */
TARGET static ACD_ALWAYS_INLINE bool
none_in(const unsigned char *classes, const unsigned char *p)
{
	__m128i		seen = _mm_setzero_si128();

	for (unsigned i = 0; i < ACD_SKIP; i += 16)
		seen = _mm_or_si128(seen, classify(classes, p + i));
	return _mm_movemask_epi8(_mm_cmpeq_epi8(seen, _mm_setzero_si128())) == 0xFFFF;
}

#include "filter_kernel.h"

const acd_filters acd_filters_ssse3 = {starts_ssse3, windows_ssse3, starts_ssse3};

#else

typedef int acd_no_ssse3;		/* a file must not be empty */

#endif
