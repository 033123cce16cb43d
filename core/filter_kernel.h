/*
 * filter_kernel.h
 *		The filters' loops, included once for each instruction set.
 *
 * The includer defines
 *	 NAME(x)		the name of function x for this instruction set
 *	 TARGET			attributes of its functions
 *	 START_MASK(c, p) bits of the 64 bytes at p that share a class of c, by
 *					its first pair of tables, with the three bytes that follow
 *					by the other pairs
 *	 START_MASK_32(c, p) the same for 32 bytes
 *	 ONE_MASK(c, p)	bits of the 64 bytes at p that are in the first class
 *	 NONE_IN(c, p)	whether none of the ACD_SKIP bytes at p is in it
 * which may read ACD_READ bytes from p; or has DENSE_WINDOWS of its own.
 *
 * Copyright (c) 2026, the acdat_decoder authors; PostgreSQL licence
 */

#define SMALL_STEP		4			/* up to that, short texts are worth asking the classes, too */

/* Look at each start, in a filter of long keys or not. */
TARGET static ACD_ALWAYS_INLINE size_t
NAME(starts_of) (const acd_tier *tier, const unsigned char *text, size_t len,
				 size_t from, size_t to, acd_hits *hits, bool long_keys)
{
	const unsigned char *classes = tier->classes;
	unsigned char copy[ACD_READ];
	uint32_t	n = 0;
	uint32_t	limit = hits->limit;
	size_t		at = from;

	while (at < to && n <= limit)
	{
		const unsigned char *p = text + at;
		size_t		left = to - at;
		uint64_t	mask;

		if (ACD_UNLIKELY(len - at < ACD_READ))
			p = acd_readable(p, len - at, copy);
		mask = left > 32 ? START_MASK(classes, p) : START_MASK_32(classes, p);
		if (left < 64)
			mask &= (UINT64_C(1) << left) - 1;
		while (mask != 0)
		{
			uint32_t	j = acd_lowest_bit(mask);
			uint64_t	word = acd_le64(p + j);
			uint64_t	hash = acd_gram_hash(tier, word);

			mask &= mask - 1;
			hits->at[n] = (uint32_t) (at - from) + j;
			hits->hash[n] = hash;
			n += long_keys ? acd_long_filter_has(tier, word, hash) :
				acd_filter_has(tier->filter, tier->filter_shift, hash);
		}
		at += 64;
	}
	hits->n = n;
	return at < to ? at : to;
}

/* Look at each start. */
TARGET static size_t
NAME(starts) (const acd_tier *tier, const unsigned char *text, size_t len,
			  size_t from, size_t to, acd_hits *hits)
{
	return acd_has_long_keys(tier) ? NAME(starts_of) (tier, text, len, from, to, hits, true) :
		NAME(starts_of) (tier, text, len, from, to, hits, false);
}

/* How many of n bytes, in steps of ACD_SKIP, go by before one is in the first class? */
TARGET static ACD_NOINLINE size_t
NAME(skip) (const unsigned char *classes, const unsigned char *p, size_t n)
{
	size_t		i = 0;

	while (n - i >= ACD_SKIP && NONE_IN(classes, p + i))
		i += ACD_SKIP;
	return i;
}

/*
 * Look at windows while most of the text is bytes no term has: 64 bytes at a
 * time, probing only windows all of whose bytes some term could have.  Gives
 * up where three in four windows are probed.
 */
TARGET static size_t
NAME(sparse_windows) (const acd_tier *tier, const unsigned char *text, size_t len,
					  size_t from, size_t to, acd_hits *hits)
{
	const unsigned char *filter = tier->filter;
	const unsigned char *classes = tier->classes;
	uint32_t	step = tier->step;
	uint32_t	window = tier->window;
	uint32_t	nwindows = (64 - window) / step + 1;
	uint64_t	steps = 0;
	uint32_t	n = 0;
	uint32_t	limit = hits->limit;
	uint32_t	seen = 0;
	uint32_t	probed = 0;
	size_t		at = from;

	for (uint32_t i = 0; i < nwindows; i++)
		steps |= UINT64_C(1) << (i * step);
	while (at + nwindows * step <= to && len - at >= ACD_READ && n <= limit)
	{
		const unsigned char *p = text + at;
		uint64_t	mask = ONE_MASK(classes, p);
		uint32_t	run = 1;

		if (ACD_UNLIKELY(mask == 0))
		{
			size_t		skipped = 64 + NAME(skip) (classes, p + 64, to - at < len - at ? to - at - 64 : len - at - 64);

			at += skipped - skipped % step;
			continue;
		}

		/* All bytes of a window, not only its first. */
		for (; run * 2 <= window; run *= 2)
			mask &= mask >> run;
		mask &= mask >> (window - run);
		mask &= steps;
		if (at == from && acd_count_bits(mask) * 2 > nwindows)
			break;				/* more of that is likely */
		while (mask != 0)
		{
			uint32_t	j = acd_lowest_bit(mask);
			uint64_t	hash = (acd_le64(p + j) & tier->gram_masks[0]) * tier->multiplier;

			mask &= mask - 1;
			probed++;
			if (ACD_UNLIKELY(acd_filter_has(filter, tier->filter_shift, hash)))
				hits->at[n++] = (uint32_t) (at - from) + j;
		}
		at += nwindows * step;
		seen += nwindows;
		if (seen >= 256)
		{
			if (probed * 4 > seen * 3)
				break;
			seen = probed = 0;
		}
	}
	hits->n = n;
	return at;
}

#ifndef DENSE_WINDOWS
/* Look at windows, all of whose bytes and 8 from their start are in the text. */
TARGET static size_t
NAME(dense_windows) (const acd_tier *tier, const unsigned char *text, size_t from, size_t at,
					 size_t to, acd_hits *hits)
{
	const unsigned char *filter = tier->filter;
	uint64_t	gram_mask = tier->gram_masks[0];
	uint64_t	multiplier = tier->multiplier;
	uint32_t	shift = tier->filter_shift;
	size_t		step = tier->step;
	uint32_t	n = hits->n;
	uint32_t	limit = hits->limit;
	bool		many = false;

	while (at < to && n <= limit)
	{
		size_t		end = to - at > 32 * step ? at + 32 * step : to;
		uint32_t	before = n;

		/* Where many pass, a branch that is often wrong costs more than a store. */
		if (many)
			for (; at < end; at += step)
			{
				uint64_t	hash = (acd_le64(text + at) & gram_mask) * multiplier;

				hits->at[n] = (uint32_t) (at - from);
				n += acd_filter_has(filter, shift, hash);
			}
		else
			for (; at < end; at += step)
			{
				uint64_t	hash = (acd_le64(text + at) & gram_mask) * multiplier;

				if (ACD_UNLIKELY(acd_filter_has(filter, shift, hash)))
					hits->at[n++] = (uint32_t) (at - from);
			}
		many = n - before > 1;
	}
	hits->n = n;
	return at;
}
#define DENSE_WINDOWS NAME(dense_windows)
#endif

/* Look at windows. */
TARGET static size_t
NAME(windows) (const acd_tier *tier, const unsigned char *text, size_t len,
			   size_t from, size_t to, acd_hits *hits)
{
	size_t		at = from;
	size_t		full = len >= 8 ? len - 7 : 0;	/* from there on, fewer than 8 bytes */

	hits->n = 0;
	if (to - from >= (tier->step <= SMALL_STEP ? 128 : 512))
		at = NAME(sparse_windows) (tier, text, len, from, to, hits);
	full = full < to ? full : to;
	if (at < full && hits->n <= hits->limit)
		at = DENSE_WINDOWS(tier, text, from, at, full, hits);
	for (; at >= full && at < to && hits->n <= hits->limit; at += tier->step)
	{
		unsigned char copy[8] = {0};

		memcpy(copy, text + at, len - at < 8 ? len - at : 8);
		hits->at[hits->n] = (uint32_t) (at - from);
		hits->n += acd_filter_has(tier->filter, tier->filter_shift, acd_gram_hash(tier, acd_le64(copy)));
	}
	return at;
}
