/*
 * filter_avx512.c
 *		The filters with 64-byte vectors: eight windows at a time.
 *
 * A byte permutation cuts eight windows out of 64 bytes of text, one product
 * hashes them, one gather loads their words of the filter.
 *
 * Copyright (c) 2026, the acdat_decoder authors; PostgreSQL licence
 */
#include "acd_filter.h"

#if ACD_X86

#include <immintrin.h>

#define NAME(x)				x##_avx512
#define TARGET				__attribute__((target("avx512f,avx512bw,avx512dq,avx512vbmi,bmi,bmi2")))
#define PAIR_MASK(c, p)		pair_mask(c, p)
#define PAIR_MASK_32(c, p)	pair_mask(c, p)
#define ONE_MASK(c, p)		one_mask(c, p)
#define DENSE_WINDOWS		dense_windows

/* Bits of the bytes that are in a class. */
TARGET static ACD_ALWAYS_INLINE uint64_t
one_mask(const unsigned char *tables, const unsigned char *p)
{
	__m512i		half = _mm512_set1_epi8(15);
	__m512i		low_table = _mm512_broadcast_i32x4(_mm_loadu_si128((const void *) tables));
	__m512i		high_table = _mm512_broadcast_i32x4(_mm_loadu_si128((const void *) (tables + 16)));
	__m512i		v = _mm512_loadu_si512((const void *) p);
	__m512i		low = _mm512_shuffle_epi8(low_table, _mm512_and_si512(v, half));
	__m512i		high = _mm512_shuffle_epi8(high_table, _mm512_and_si512(_mm512_srli_epi16(v, 4), half));

	return _mm512_test_epi8_mask(low, high);
}

/* Bits of the bytes that are in the first class, the next one in the second. */
TARGET static ACD_ALWAYS_INLINE uint64_t
pair_mask(const unsigned char *classes, const unsigned char *p)
{
	return one_mask(classes, p) & one_mask(classes + 32, p + 1);
}

/* Which of eight hashes are in the filter? */
TARGET static ACD_ALWAYS_INLINE uint32_t
filter_mask(const unsigned char *filter, __m128i shift, __m512i hash)
{
	__m512i		one = _mm512_set1_epi64(1);
	__m512i		words = _mm512_i64gather_epi64(_mm512_srl_epi64(hash, shift), (const void *) filter, 8);
	__m512i		bits = _mm512_or_si512(_mm512_rolv_epi64(one, _mm512_srli_epi64(hash, 38)),
									   _mm512_rolv_epi64(one, _mm512_srli_epi64(hash, 32)));

	return _mm512_cmpeq_epi64_mask(_mm512_and_si512(words, bits), bits);
}

/* Look at windows, all of whose bytes and 8 from their start are in the text. */
TARGET static size_t
dense_windows(const acd_tier *tier, const unsigned char *text, size_t from, size_t at,
			  size_t to, acd_hits *hits)
{
	size_t		step = tier->step;
	uint32_t	n = hits->n;
	__m128i		shift = _mm_cvtsi32_si128((int) tier->filter_shift);
	__m512i		multiplier = _mm512_set1_epi64((long long) tier->multiplier);
	__m512i		every_byte = _mm512_set1_epi64(0x0101010101010101LL);
	__m512i		starts = _mm512_mullo_epi64(_mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7),
											_mm512_set1_epi64((long long) step));
	__m512i		permutation = _mm512_add_epi64(_mm512_mullo_epi64(starts, every_byte),
											   _mm512_set1_epi64(0x0706050403020100LL));
	__m512i		used = _mm512_set1_epi64((long long) tier->gram_mask);

	/* The last of eight windows begins at 7 steps; its 8 bytes are readable. */
	for (; at + 7 * step < to && at + 56 < to && n <= ACD_WINDOW_HITS; at += 8 * step)
	{
		__m512i		v = _mm512_loadu_si512((const void *) (text + at));
		__m512i		grams = _mm512_and_si512(used, _mm512_permutexvar_epi8(permutation, v));
		uint32_t	mask = filter_mask(tier->filter, shift, _mm512_mullo_epi64(grams, multiplier));

		while (ACD_UNLIKELY(mask != 0))
		{
			hits->at[n++] = (uint32_t) (at - from) + (uint32_t) (acd_lowest_bit(mask) * step);
			mask &= mask - 1;
		}
	}
	for (; at < to && n <= ACD_WINDOW_HITS; at += step)
	{
		hits->at[n] = (uint32_t) (at - from);
		n += acd_filter_has(tier->filter, tier->filter_shift, acd_gram_hash(tier, acd_le64(text + at)));
	}
	hits->n = n;
	return at;
}

#include "filter_kernel.h"

const acd_filters acd_filters_avx512 = {starts_avx512, windows_avx512};

#else

typedef int acd_no_avx512;		/* a file must not be empty */

#endif
