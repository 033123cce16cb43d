/*
 * acd_tier.h
 *		Hashes, filters, tables and classes of tiers, as builder, reader and
 *		scan see them.
 *
 * Copyright (c) 2026, the acdat_decoder authors; PostgreSQL licence
 */
#ifndef ACD_TIER_H
#define ACD_TIER_H

#include "acd_internal.h"

/*
 * Hash of a window of bytes, given a little-endian word that begins with it.
 * Filters use its high half: the low bits of a product of short windows are
 * poor.
 */
static inline uint64_t
acd_gram_hash(const acd_tier *tier, uint64_t word)
{
	return (word & tier->gram_masks[(word >> 4) & 15]) * tier->multiplier;
}

/*
 * Hash of a term's prefix, given where it stands.  Without steps the prefix
 * is the window; with steps it has at least 8 bytes.
 */
static inline uint64_t
acd_prefix_hash(const acd_tier *tier, const unsigned char *p)
{
	uint64_t	hash = acd_gram_hash(tier, acd_le64(p));

	if (tier->step != 0)
	{
		hash = acd_le64(p) * tier->multiplier;
		if (tier->prefix > 8)
			hash = (((hash << 29) | (hash >> 35)) ^ acd_le64(p + tier->prefix - 8)) * tier->multiplier;
	}
	return hash;
}

/* Another multiplier, whose products do not follow those of the first. */
static inline uint64_t
acd_long_multiplier(const acd_tier *tier)
{
	return ((tier->multiplier << 32) | (tier->multiplier >> 32)) | 1;
}

/* Where the offsets of a window's hash are noted. */
static inline uint64_t
acd_offsets_index(const acd_tier *tier, uint64_t hash)
{
	return ((hash ^ (hash >> 29)) * tier->multiplier) >> tier->offsets_shift;
}

/* Set the masks that go with a tier's windows. */
static inline void
acd_set_gram_masks(acd_tier *tier)
{
	for (int i = 0; i < 16; i++)
		tier->gram_masks[i] = tier->windows[i] == 8 ? UINT64_MAX : (UINT64_C(1) << (8 * tier->windows[i])) - 1;
}

/* Bytes of a prefix that begins with the byte c. */
static inline uint32_t
acd_prefix_len(const acd_tier *tier, unsigned char c)
{
	return tier->step != 0 ? tier->prefix : tier->windows[c >> 4];
}

/* What a table's slot keeps of a hash. */
static inline uint32_t
acd_hash_tag(uint64_t hash)
{
	return (uint32_t) (hash ^ (hash >> 32));
}

/* The two bits of a hash within a word of a filter. */
static inline uint64_t
acd_hash_bits(uint64_t hash)
{
	return (UINT64_C(1) << ((hash >> 38) & 63)) | (UINT64_C(1) << ((hash >> 32) & 63));
}

/* Are the bits of a hash set in a filter? */
static inline bool
acd_filter_has(const unsigned char *filter, uint32_t shift, uint64_t hash)
{
	uint64_t	word = acd_le64(filter + (hash >> shift) * 8);

	return ((word >> ((hash >> 38) & 63)) & (word >> ((hash >> 32) & 63)) & 1) != 0;
}

/*
 * A start filter may be about the first 8 bytes of terms.  The hash of the
 * window chooses the word, and three of its bits are set either by that hash,
 * for terms of fewer than 8 bytes, or by a hash of the 8 bytes.
 */
static inline bool
acd_has_long_keys(const acd_tier *tier)
{
	return tier->step == 0 && tier->prefix > tier->window;
}

static inline uint64_t
acd_long_hash(const acd_tier *tier, uint64_t word)
{
	return word * acd_long_multiplier(tier);
}

/* The three bits of a window's hash, and those of 8 bytes. */
static inline uint64_t
acd_window_bits(uint64_t hash)
{
	return acd_hash_bits(hash) | UINT64_C(1) << ((hash >> 44) & 63);
}

static inline uint64_t
acd_long_bits(uint64_t hash)
{
	return UINT64_C(1) << (hash >> 58) | UINT64_C(1) << ((hash >> 52) & 63) | UINT64_C(1) << ((hash >> 46) & 63);
}

/*
 * May a term start at a word of 8 bytes whose window has this hash, in a
 * filter of long keys?
 */
static inline bool
acd_long_filter_has(const acd_tier *tier, uint64_t word, uint64_t hash)
{
	uint64_t	bits = acd_le64(tier->filter + (hash >> tier->filter_shift) * 8);
	uint64_t	other = acd_long_hash(tier, word);

	/* Six shifts of a word are faster than making masks to compare with. */
	return ((((bits >> ((hash >> 44) & 63)) & (bits >> ((hash >> 38) & 63)) & (bits >> ((hash >> 32) & 63))) |
			 ((bits >> (other >> 58)) & (bits >> ((other >> 52) & 63)) & (bits >> ((other >> 46) & 63)))) & 1) != 0;
}

/* The same in any start filter, for a term of so many bytes. */
static inline bool
acd_start_has(const acd_tier *tier, uint64_t word, uint64_t hash, uint32_t len)
{
	uint64_t	bits = acd_window_bits(hash);

	if (!acd_has_long_keys(tier))
		return acd_filter_has(tier->filter, tier->filter_shift, hash);
	if (len >= ACD_MAX_WINDOW)
		return acd_long_filter_has(tier, word, hash);
	return (acd_le64(tier->filter + (hash >> tier->filter_shift) * 8) & bits) == bits;
}

/* Root, with ACD_REF_DEEP and ACD_REF_WHOLE, of the tree for a prefix's hash, or 0. */
static inline uint32_t
acd_tier_lookup(const acd_tier *tier, uint64_t hash)
{
	uint32_t	tag = acd_hash_tag(hash);

	for (uint64_t i = hash >> tier->table_shift;; i++)
	{
		const unsigned char *slot = tier->table + (i & tier->table_mask) * ACD_PREFIX_SLOT_SIZE;
		uint32_t	ref = acd_le32(slot + ACD_PREFIX_REF);

		if (ref == 0 || acd_le32(slot + ACD_PREFIX_TAG) == tag)
			return ref;
	}
}

/* The classes, a bit each, that byte c is in by two tables of 16 bytes. */
static inline unsigned
acd_classes_of(const unsigned char *tables, unsigned char c)
{
	return tables[c & 15] & tables[16 + (c >> 4)];
}

#endif							/* ACD_TIER_H */
