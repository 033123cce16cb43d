/*
 * filter_avx512.c
 *		The filters with 64-byte vectors: eight windows at a time.
 *
 * A byte permutation cuts eight windows out of the text, one product hashes
 * them, one gather loads their words of the filter.  Masked loads read not a
 * byte beyond the text.
 *
 * Copyright (c) 2026, the acdat_decoder authors; PostgreSQL licence
 */
#include "acd_filter.h"

#if ACD_X86

#include <immintrin.h>

#define NAME(x)				x##_avx512
#define TARGET				__attribute__((target("avx512f,avx512bw,avx512dq,avx512vbmi,avx512vbmi2,bmi,bmi2,popcnt")))
#define ONE_MASK(c, p)		one_mask(c, p)
#define NONE_IN(c, p)		none_in(c, p)
#define GATHER_BITS			12	/* log2 of words */
#define DENSE_WINDOWS		dense_windows
#define START_MASK(c, p)	start_mask(c, p)
#define START_MASK_32(c, p)	start_mask(c, p)

/* A pair of tables, each repeated in all of a vector. */
typedef struct class_pair
{
	__m512i		low;
	__m512i		high;
} class_pair;

TARGET static ACD_ALWAYS_INLINE class_pair
pair_of(const unsigned char *tables)
{
	class_pair	pair;

	pair.low = _mm512_broadcast_i32x4(_mm_loadu_si128((const void *) tables));
	pair.high = _mm512_broadcast_i32x4(_mm_loadu_si128((const void *) (tables + 16)));
	return pair;
}

/*
 * What a pair of tables has for the low and the high halves of bytes.  The
 * permutation goes by the low six bits; the upper two of them, the next byte's
 * in the case of high halves, do not matter as tables are repeated.
 */
TARGET static ACD_ALWAYS_INLINE class_pair
classify(class_pair tables, __m512i v)
{
	class_pair	halves;

	halves.low = _mm512_permutexvar_epi8(v, tables.low);
	halves.high = _mm512_permutexvar_epi8(_mm512_srli_epi16(v, 4), tables.high);
	return halves;
}

/* Bits of the bytes at p that are in a class. */
TARGET static ACD_ALWAYS_INLINE uint64_t
one_mask(const unsigned char *tables, const unsigned char *p)
{
	class_pair	halves = classify(pair_of(tables), _mm512_loadu_si512((const void *) p));

	return _mm512_test_epi8_mask(halves.low, halves.high);
}

/* Bytes in which some are not 0 if any of the 64 bytes at p is in a class, or some were before. */
TARGET static ACD_ALWAYS_INLINE __m512i
seen_in(class_pair tables, const unsigned char *p, __m512i before)
{
	class_pair	halves = classify(tables, _mm512_loadu_si512((const void *) p));

	return _mm512_ternarylogic_epi64(before, halves.low, halves.high, 0xF8);	/* a | (b & c) */
}

/* Is none of ACD_SKIP bytes in the class? */
TARGET static ACD_ALWAYS_INLINE bool
none_in(const unsigned char *classes, const unsigned char *p)
{
	class_pair	tables = pair_of(classes);
	__m512i		seen = _mm512_setzero_si512();

	seen = seen_in(tables, p, seen);
	seen = seen_in(tables, p + 64, seen);
	seen = seen_in(tables, p + 128, seen);
	seen = seen_in(tables, p + 192, seen);
	return _mm512_test_epi8_mask(seen, seen) == 0;
}

/* The tables of the four first bytes of terms. */
typedef struct start_tables
{
	class_pair	first;
	class_pair	second;
	class_pair	third;
	class_pair	fourth;
} start_tables;

TARGET static ACD_ALWAYS_INLINE start_tables
start_tables_of(const unsigned char *classes)
{
	start_tables tables;

	tables.first = pair_of(classes);
	tables.second = pair_of(classes + 32);
	tables.third = pair_of(classes + 64);
	tables.fourth = pair_of(classes + 96);
	return tables;
}

/* Bits of the bytes that are in one class with the three that follow, given four times. */
TARGET static ACD_ALWAYS_INLINE uint64_t
in_one_class(const start_tables *tables, __m512i v0, __m512i v1, __m512i v2, __m512i v3)
{
	class_pair	a = classify(tables->first, v0);
	class_pair	b = classify(tables->second, v1);
	class_pair	c = classify(tables->third, v2);
	class_pair	d = classify(tables->fourth, v3);
	__m512i		three = _mm512_ternarylogic_epi64(a.low, a.high, b.low, 0x80);	/* all of them */
	__m512i		others = _mm512_ternarylogic_epi64(b.high, c.low, c.high, 0x80);

	return _mm512_test_epi8_mask(_mm512_ternarylogic_epi64(three, others, d.low, 0x80), d.high);
}

TARGET static ACD_ALWAYS_INLINE uint64_t
starts_in(const start_tables *tables, const unsigned char *p)
{
	return in_one_class(tables, _mm512_loadu_si512((const void *) p), _mm512_loadu_si512((const void *) (p + 1)),
						_mm512_loadu_si512((const void *) (p + 2)), _mm512_loadu_si512((const void *) (p + 3)));
}

/* A mask of n bits, at most 64. */
static ACD_ALWAYS_INLINE uint64_t
low_bits(size_t n)
{
	return n >= 64 ? UINT64_MAX : (UINT64_C(1) << n) - 1;
}

/*
 * The same where n bytes of text are left.  What follows them is taken for
 * zeros: a term that may end before has all bytes in its class there.
 */
TARGET static ACD_ALWAYS_INLINE uint64_t
starts_within(const start_tables *tables, const unsigned char *p, size_t n)
{
	return in_one_class(tables, _mm512_maskz_loadu_epi8(low_bits(n), p),
						_mm512_maskz_loadu_epi8(low_bits(n - 1), p + 1),
						_mm512_maskz_loadu_epi8(n > 2 ? low_bits(n - 2) : 0, p + 2),
						_mm512_maskz_loadu_epi8(n > 3 ? low_bits(n - 3) : 0, p + 3));
}

/* The bytes 0 to 63. */
TARGET static ACD_ALWAYS_INLINE __m512i
all_positions(void)
{
	return _mm512_setr_epi64(0x0706050403020100LL, 0x0F0E0D0C0B0A0908LL, 0x1716151413121110LL,
							 0x1F1E1D1C1B1A1918LL, 0x2726252423222120LL, 0x2F2E2D2C2B2A2928LL,
							 0x3736353433323130LL, 0x3F3E3D3C3B3A3938LL);
}

/*
 * The same for a vector that holds a text to its end and zeros, but for the
 * last of the bytes that follow.  At the vector's end the text begins again:
 * no term that goes on there fits.
 */
TARGET static ACD_ALWAYS_INLINE uint64_t
starts_of_row(const start_tables *tables, __m512i row)
{
	class_pair	a = classify(tables->first, row);
	class_pair	b = classify(tables->second, row);
	class_pair	c = classify(tables->third, row);
	__m512i		one = _mm512_add_epi8(all_positions(), _mm512_set1_epi8(1));
	__m512i		two = _mm512_add_epi8(all_positions(), _mm512_set1_epi8(2));
	__m512i		next = _mm512_permutexvar_epi8(one, _mm512_and_si512(b.low, b.high));
	__m512i		third = _mm512_permutexvar_epi8(two, _mm512_and_si512(c.low, c.high));

	return _mm512_test_epi8_mask(_mm512_ternarylogic_epi64(a.low, a.high, next, 0x80), third);
}

/* The words of a filter that eight hashes point to. */
TARGET static ACD_ALWAYS_INLINE __m512i
filter_words(const unsigned char *filter, __m128i shift, __m512i hash)
{
	return _mm512_i64gather_epi64(_mm512_srl_epi64(hash, shift), (const void *) filter, 8);
}

/* One bit, or two, of each of eight words, at a place in its hash. */
TARGET static ACD_ALWAYS_INLINE __m512i
bit_at(__m512i hash, int place)
{
	return _mm512_rolv_epi64(_mm512_set1_epi64(1), _mm512_srli_epi64(hash, (unsigned) place));
}

TARGET static ACD_ALWAYS_INLINE __m512i
bits_at(__m512i hash, int place, int other)
{
	return _mm512_or_si512(bit_at(hash, place), bit_at(hash, other));
}

/* Which of eight words hold all these bits? */
TARGET static ACD_ALWAYS_INLINE uint32_t
has_bits(__m512i words, __m512i bits)
{
	return _mm512_cmpeq_epi64_mask(_mm512_and_si512(words, bits), bits);
}

/* What is the same for all windows of a tier. */
typedef struct prober
{
	__m512i		repeat;			/* eight times each of eight bytes */
	__m512i		ascending;		/* and what each of the eight adds */
	__m512i		masks_low;
	__m512i		masks_high;
	__m512i		multiplier;
	__m512i		long_multiplier;
	__m128i		shift;
	const unsigned char *filter;
} prober;

TARGET static ACD_ALWAYS_INLINE prober
prober_of(const acd_tier *tier)
{
	prober		p;

	p.repeat = _mm512_setr_epi64(0, 0x0101010101010101LL, 0x0202020202020202LL, 0x0303030303030303LL,
								 0x0404040404040404LL, 0x0505050505050505LL,
								 0x0606060606060606LL, 0x0707070707070707LL);
	p.ascending = _mm512_set1_epi64(0x0706050403020100LL);
	p.masks_low = _mm512_loadu_si512((const void *) tier->gram_masks);
	p.masks_high = _mm512_loadu_si512((const void *) (tier->gram_masks + 8));
	p.multiplier = _mm512_set1_epi64((long long) tier->multiplier);
	p.long_multiplier = _mm512_set1_epi64((long long) acd_long_multiplier(tier));
	p.shift = _mm_cvtsi32_si128((int) tier->filter_shift);
	p.filter = tier->filter;
	return p;
}

/* Where eight windows, at the positions in the low bytes of "eight", have their bytes. */
TARGET static ACD_ALWAYS_INLINE __m512i
window_bytes(const prober *p, __m128i eight)
{
	return _mm512_add_epi8(_mm512_shuffle_epi8(_mm512_broadcastq_epi64(eight), p->repeat), p->ascending);
}

/* Which of eight windows, given as 8 bytes each, pass?  Stores their hashes. */
TARGET static ACD_ALWAYS_INLINE uint32_t
probe(const prober *p, __m512i grams, bool long_keys, __m512i *hashes)
{
	/* The masks go by bits 4 to 7 of the first byte; higher bits do not count. */
	__m512i		used = _mm512_permutex2var_epi64(p->masks_low, _mm512_srli_epi64(grams, 4), p->masks_high);
	__m512i		hash = _mm512_mullo_epi64(_mm512_and_si512(grams, used), p->multiplier);
	__m512i		longs = _mm512_mullo_epi64(grams, p->long_multiplier);
	__m512i		words = filter_words(p->filter, p->shift, hash);
	__m512i		two = bits_at(hash, 38, 32);

	*hashes = hash;
	if (!long_keys)
		return has_bits(words, two);
	return has_bits(words, _mm512_or_si512(two, bit_at(hash, 44))) |
		has_bits(words, _mm512_or_si512(bits_at(longs, 58, 52), bit_at(longs, 46)));
}

/* Store those of eight windows that pass; returns how many are stored now. */
TARGET static ACD_ALWAYS_INLINE uint32_t
store_hits(acd_hits *hits, uint32_t n, uint32_t pass, __m128i eight, uint32_t base, __m512i hashes)
{
	__m512i		at = _mm512_add_epi64(_mm512_cvtepu8_epi64(eight), _mm512_set1_epi64(base));
	__mmask8	mask = (__mmask8) pass;

	_mm256_storeu_si256((void *) (hits->at + n), _mm512_cvtepi64_epi32(_mm512_maskz_compress_epi64(mask, at)));
	_mm512_storeu_si512((void *) (hits->hash + n), _mm512_maskz_compress_epi64(mask, hashes));
	return n + (uint32_t) __builtin_popcount(pass);
}

/* Look at windows, all of whose bytes and 8 from their start are in the text. */
TARGET static size_t
dense_windows(const acd_tier *tier, const unsigned char *text, size_t from, size_t at,
			  size_t to, acd_hits *hits)
{
	size_t		step = tier->step;
	uint32_t	n = hits->n;
	uint32_t	limit = hits->limit;
	__m128i		shift = _mm_cvtsi32_si128((int) tier->filter_shift);
	__m512i		multiplier = _mm512_set1_epi64((long long) tier->multiplier);
	__m512i		every_byte = _mm512_set1_epi64(0x0101010101010101LL);
	__m512i		starts = _mm512_mullo_epi64(_mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7),
											_mm512_set1_epi64((long long) step));
	__m512i		permutation = _mm512_add_epi64(_mm512_mullo_epi64(starts, every_byte),
											   _mm512_set1_epi64(0x0706050403020100LL));
	__m512i		used = _mm512_set1_epi64((long long) tier->gram_masks[0]);

	/* The last of eight windows begins at 7 steps; its 8 bytes are readable. */
	for (; at + 7 * step < to && at + 56 < to && n <= limit; at += 8 * step)
	{
		__m512i		v = _mm512_loadu_si512((const void *) (text + at));
		__m512i		grams = _mm512_and_si512(used, _mm512_permutexvar_epi8(permutation, v));
		__m512i		hash = _mm512_mullo_epi64(grams, multiplier);
		uint32_t	mask = has_bits(filter_words(tier->filter, shift, hash), bits_at(hash, 38, 32));

		while (ACD_UNLIKELY(mask != 0))
		{
			hits->at[n++] = (uint32_t) (at - from) + (uint32_t) (acd_lowest_bit(mask) * step);
			mask &= mask - 1;
		}
	}
	for (; at < to && n <= limit; at += step)
	{
		hits->at[n] = (uint32_t) (at - from);
		n += acd_filter_has(tier->filter, tier->filter_shift, acd_gram_hash(tier, acd_le64(text + at)));
	}
	hits->n = n;
	return at;
}

TARGET static ACD_ALWAYS_INLINE uint64_t
start_mask(const unsigned char *classes, const unsigned char *p)
{
	start_tables tables = start_tables_of(classes);

	return starts_in(&tables, p);
}

#include "filter_kernel.h"

/* Look at each start, in a filter of long keys or not. */
TARGET static ACD_ALWAYS_INLINE size_t
gather_starts(const acd_tier *tier, const unsigned char *text, size_t len, size_t from, size_t to,
			  acd_hits *hits, bool long_keys)
{
	start_tables tables = start_tables_of(tier->classes);
	prober		p = prober_of(tier);
	uint32_t	n = 0;
	uint32_t	limit = hits->limit;
	size_t		at = from;

	for (; at < to && n <= limit; at += 64)
	{
		size_t		left = len - at;
		uint64_t	mask;

		if (ACD_LIKELY(left >= 64 + ACD_CLASS_BYTES - 1))
			mask = starts_in(&tables, text + at);
		else if (left > 64)
			mask = starts_within(&tables, text + at, left);
		else
			mask = starts_of_row(&tables, _mm512_maskz_loadu_epi8(low_bits(left), text + at));
		if (to - at < 64)
			mask &= low_bits(to - at);
		if (mask != 0)
		{
			__m512i		low = _mm512_maskz_loadu_epi8(low_bits(left), text + at);
			__m512i		high = _mm512_maskz_loadu_epi8(left > 64 ? low_bits(left - 64) : 0, text + at + 64);
			__m512i		positions = _mm512_maskz_compress_epi8(mask, all_positions());

			for (uint32_t count = (uint32_t) __builtin_popcountll(mask);; count -= 8)
			{
				__m128i		eight = _mm512_castsi512_si128(positions);
				__m512i		windows = _mm512_permutex2var_epi8(low, window_bytes(&p, eight), high);
				__m512i		hashes;
				uint32_t	pass = probe(&p, windows, long_keys, &hashes) & (uint32_t) low_bits(count);

				if (ACD_UNLIKELY((pass & 0xFF) != 0))
					n = store_hits(hits, n, pass & 0xFF, eight, (uint32_t) (at - from), hashes);
				if (count <= 8)
					break;
				positions = _mm512_alignr_epi64(_mm512_setzero_si512(), positions, 1);
			}
		}
	}
	hits->n = n;
	return at < to ? at : to;
}

/* The same for a text of at most 64 bytes, from its beginning. */
TARGET static ACD_ALWAYS_INLINE size_t
gather_row(const acd_tier *tier, const unsigned char *text, size_t len, size_t to, acd_hits *hits, bool long_keys)
{
	start_tables tables = start_tables_of(tier->classes);
	__m512i		row = _mm512_maskz_loadu_epi8(low_bits(len), text);
	uint64_t	mask = starts_of_row(&tables, row) & low_bits(to);
	prober		p;
	__m512i		positions;

	hits->n = 0;
	if (mask == 0)
		return to;
	p = prober_of(tier);
	positions = _mm512_maskz_compress_epi8(mask, all_positions());
	for (uint32_t count = (uint32_t) __builtin_popcountll(mask);; count -= 8)
	{
		__m128i		eight = _mm512_castsi512_si128(positions);
		__m512i		hashes;

		/* Windows that go beyond the row begin again at its front: no term there fits. */
		uint32_t	pass = probe(&p, _mm512_permutexvar_epi8(window_bytes(&p, eight), row), long_keys, &hashes) &
			(uint32_t) low_bits(count) & 0xFF;

		if (ACD_UNLIKELY(pass != 0))
			hits->n = store_hits(hits, hits->n, pass, eight, 0, hashes);
		if (count <= 8)
			return to;
		positions = _mm512_alignr_epi64(_mm512_setzero_si512(), positions, 1);
	}
}

/*
 * Look at each start.  A gather from a filter in the first-level cache is
 * faster than single loads, else slower, but for long keys, where there is
 * more to do with what was loaded.
 */
TARGET static size_t
starts(const acd_tier *tier, const unsigned char *text, size_t len, size_t from, size_t to, acd_hits *hits)
{
	if (acd_has_long_keys(tier))
		return gather_starts(tier, text, len, from, to, hits, true);
	return tier->filter_shift >= 64 - GATHER_BITS ? gather_starts(tier, text, len, from, to, hits, false) :
		starts_avx512(tier, text, len, from, to, hits);
}

TARGET static size_t
row(const acd_tier *tier, const unsigned char *text, size_t len, size_t from, size_t to, acd_hits *hits)
{
	if (acd_has_long_keys(tier))
		return gather_row(tier, text, len, to, hits, true);
	return tier->filter_shift >= 64 - GATHER_BITS ? gather_row(tier, text, len, to, hits, false) :
		starts_avx512(tier, text, len, from, to, hits);
}

const acd_filters acd_filters_avx512 = {starts, windows_avx512, row};

#else

typedef int acd_no_avx512;		/* a file must not be empty */

#endif
