/*
 * filter_neon.c
 *		The filters with NEON's 16-byte vectors.
 *
 * Copyright (c) 2026, the acdat_decoder authors; PostgreSQL licence
 */
#include "acd_filter.h"

#if ACD_NEON

#include <arm_neon.h>

#define NAME(x)				x##_neon
#define TARGET
#define START_MASK(c, p)	start_mask(c, p, 64)
#define START_MASK_32(c, p)	start_mask(c, p, 32)
#define ONE_MASK(c, p)		one_mask(c, p)
#define NONE_IN(c, p)		none_in(c, p)

/* The classes, a bit each, that 16 bytes are in. */
static ACD_ALWAYS_INLINE uint8x16_t
classify(const unsigned char *tables, const unsigned char *p)
{
	uint8x16_t	v = vld1q_u8(p);
	uint8x16_t	low = vqtbl1q_u8(vld1q_u8(tables), vandq_u8(v, vdupq_n_u8(15)));
	uint8x16_t	high = vqtbl1q_u8(vld1q_u8(tables + 16), vshrq_n_u8(v, 4));

	return vandq_u8(low, high);
}

/* One bit for each byte, which is all 1 or all 0. */
static ACD_ALWAYS_INLINE uint64_t
bits_of(uint8x16_t v)
{
	static const unsigned char weights[16] = {
		1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128
	};
	uint8x16_t	weighed = vandq_u8(v, vld1q_u8(weights));

	return (uint64_t) vaddv_u8(vget_low_u8(weighed)) | (uint64_t) vaddv_u8(vget_high_u8(weighed)) << 8;
}

/* Bits of the bytes that are in one class with the three that follow. */
static ACD_ALWAYS_INLINE uint64_t
start_mask(const unsigned char *classes, const unsigned char *p, unsigned n)
{
	uint64_t	mask = 0;

	for (unsigned i = 0; i < n; i += 16)
	{
		uint8x16_t	first = vandq_u8(classify(classes, p + i), classify(classes + 32, p + i + 1));
		uint8x16_t	last = vandq_u8(classify(classes + 64, p + i + 2), classify(classes + 96, p + i + 3));

		mask |= bits_of(vtstq_u8(first, last)) << i;
	}
	return mask;
}

/* Bits of the bytes that are in the first class. */
static ACD_ALWAYS_INLINE uint64_t
one_mask(const unsigned char *classes, const unsigned char *p)
{
	uint64_t	mask = 0;

	for (unsigned i = 0; i < 64; i += 16)
	{
		uint8x16_t	in = classify(classes, p + i);

		mask |= bits_of(vtstq_u8(in, in)) << i;
	}
	return mask;
}

/* Is none of the bytes in the first class? */
static ACD_ALWAYS_INLINE bool
none_in(const unsigned char *classes, const unsigned char *p)
{
	uint8x16_t	seen = vdupq_n_u8(0);

	for (unsigned i = 0; i < ACD_SKIP; i += 16)
		seen = vorrq_u8(seen, classify(classes, p + i));
	return vmaxvq_u8(seen) == 0;
}

#include "filter_kernel.h"

const acd_filters acd_filters_neon = {starts_neon, windows_neon, starts_neon};

#else

typedef int acd_no_neon;		/* a file must not be empty */

#endif
