/*
 * filter_avx2.c
 *		The filters with 32-byte vectors.
 *
 * A class of bytes is two tables of 16 bytes, by low and by high half of a
 * byte: the byte is in the class where the two entries have a bit in common,
 * which a byte shuffle looks up for a vector at once.
 *
 * Copyright (c) 2026, the acdat_decoder authors; PostgreSQL licence
 */
#include "acd_filter.h"

#if ACD_X86

#include <immintrin.h>

#define NAME(x)				x##_avx2
#define TARGET				__attribute__((target("avx2,bmi,bmi2")))
#define START_MASK(c, p)	start_mask(c, p, 64)
#define START_MASK_32(c, p)	start_mask(c, p, 32)
#define ONE_MASK(c, p)		one_mask(c, p)
#define NONE_IN(c, p)		none_in(c, p)

/* The classes, a bit each, that 32 bytes are in. */
TARGET static ACD_ALWAYS_INLINE __m256i
classify(const unsigned char *tables, const unsigned char *p)
{
	__m256i		half = _mm256_set1_epi8(15);
	__m256i		low_table = _mm256_broadcastsi128_si256(_mm_loadu_si128((const void *) tables));
	__m256i		high_table = _mm256_broadcastsi128_si256(_mm_loadu_si128((const void *) (tables + 16)));
	__m256i		v = _mm256_loadu_si256((const void *) p);
	__m256i		low = _mm256_shuffle_epi8(low_table, _mm256_and_si256(v, half));
	__m256i		high = _mm256_shuffle_epi8(high_table, _mm256_and_si256(_mm256_srli_epi16(v, 4), half));

	return _mm256_and_si256(low, high);
}

/* Bits of the bytes that are in one class with the three that follow. */
TARGET static ACD_ALWAYS_INLINE uint64_t
start_mask(const unsigned char *classes, const unsigned char *p, unsigned n)
{
	__m256i		zero = _mm256_setzero_si256();
	uint64_t	mask = 0;

	for (unsigned i = 0; i < n; i += 32)
	{
		__m256i		first = _mm256_and_si256(classify(classes, p + i), classify(classes + 32, p + i + 1));
		__m256i		last = _mm256_and_si256(classify(classes + 64, p + i + 2), classify(classes + 96, p + i + 3));
		__m256i		no = _mm256_cmpeq_epi8(_mm256_and_si256(first, last), zero);

		mask |= (uint64_t) (uint32_t) ~_mm256_movemask_epi8(no) << i;
	}
	return mask;
}

/* Bits of the bytes that are in the first class. */
TARGET static ACD_ALWAYS_INLINE uint64_t
one_mask(const unsigned char *classes, const unsigned char *p)
{
	uint64_t	mask = 0;

	for (unsigned i = 0; i < 64; i += 32)
	{
		__m256i		no = _mm256_cmpeq_epi8(classify(classes, p + i), _mm256_setzero_si256());

		mask |= (uint64_t) (uint32_t) ~_mm256_movemask_epi8(no) << i;
	}
	return mask;
}

/* Is none of the bytes in the first class? */
TARGET static ACD_ALWAYS_INLINE bool
none_in(const unsigned char *classes, const unsigned char *p)
{
	__m256i		seen = _mm256_setzero_si256();

	for (unsigned i = 0; i < ACD_SKIP; i += 32)
		seen = _mm256_or_si256(seen, classify(classes, p + i));
	return _mm256_testz_si256(seen, seen) != 0;
}

#include "filter_kernel.h"

const acd_filters acd_filters_avx2 = {starts_avx2, windows_avx2, starts_avx2};

#else

typedef int acd_no_avx2;		/* a file must not be empty */

#endif
