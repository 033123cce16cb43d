/*
 * acd_internal.h
 *		What the files of core share: the artifact's layout, byte order, checked
 *		arithmetic, the trie builder and the scan cursor.
 *
 * Artifacts are little-endian and may lie at any address, so every access
 * goes through the memcpy-based helpers below, which compilers turn into
 * single loads and stores.  doc/artifact-format.md describes the layout.
 *
 * Copyright (c) 2026, the acdat_decoder authors; PostgreSQL licence
 */
#ifndef ACD_INTERNAL_H
#define ACD_INTERNAL_H

#include <string.h>

#include "acd.h"

/* ---- layout of an artifact ---- */

#define ACD_VERSION				1	/* the version this code writes */

#define ACD_AT_MAGIC			0	/* 8 bytes */
#define ACD_AT_VERSION			8	/* u16 */
#define ACD_AT_HEADER_SIZE		10	/* u16 */
#define ACD_AT_FLAGS			12	/* u32 */
#define ACD_AT_SIZE				16	/* u64 */
#define ACD_AT_CHECKSUM			24	/* u64, of everything that follows */
#define ACD_AT_DIGEST			32	/* 32 bytes, of everything that follows */
#define ACD_AT_TERMS			64	/* u32 */
#define ACD_AT_STATES			68	/* u32 */
#define ACD_AT_MIN_LEN			72	/* u32 */
#define ACD_AT_MAX_LEN			76	/* u32 */
#define ACD_AT_SECTIONS			80	/* u32 */
#define ACD_AT_RESERVED			84	/* u32, 0 */
#define ACD_HEADER_SIZE			88	/* the section table follows */

#define ACD_MAGIC_LEN			8
extern const unsigned char acd_magic[ACD_MAGIC_LEN];

#define ACD_ENTRY_SIZE			24	/* u32 type, u32 flags, u64 offset, u64 size */
#define ACD_ENTRY_TYPE			0
#define ACD_ENTRY_FLAGS			4
#define ACD_ENTRY_OFFSET		8
#define ACD_ENTRY_BYTES			16
#define ACD_ENTRY_OPTIONAL		1u	/* flag: readers may skip an unknown type */
#define ACD_MAX_SECTIONS		32

#define ACD_SECTION_STATES		1
#define ACD_SECTION_DEPTHS		2
#define ACD_SECTION_TERMS		3
#define ACD_SECTION_REPLACEMENTS 4
#define ACD_SECTION_LONG_STATES	5
#define ACD_SECTION_LONG_DEPTHS	6
#define ACD_SECTION_LONG_TERMS	7
#define ACD_SECTION_LAST		7

/* A slot of a double array: the state s has child c at t iff check(t) == s. */
#define ACD_SLOT_SIZE			16
#define ACD_SLOT_BASE			0	/* t = base ^ c */
#define ACD_SLOT_CHECK			4	/* parent, or ACD_NO_SLOT */
#define ACD_SLOT_FAIL			8
#define ACD_SLOT_OUT			12	/* term + 1, or 0 */
#define ACD_BLOCK				256 /* slots a base addresses */
#define ACD_NO_SLOT				UINT32_C(0xFFFFFFFF)
#define ACD_ROOT				0
#define ACD_MAX_SLOTS			UINT32_C(0xFFFFFF00)

#define ACD_TERM_SIZE			40
#define ACD_TERM_ID				0	/* i64 */
#define ACD_TERM_OFFSET			8	/* u64, of the replacement */
#define ACD_TERM_BYTES			16	/* u32, of the replacement */
#define ACD_TERM_PRIORITY		20	/* i32 */
#define ACD_TERM_LEN			24	/* u32, of the pattern */
#define ACD_TERM_STATE			28	/* u32, slot the pattern ends in */
#define ACD_TERM_NEXT			32	/* u32, next shorter suffix term + 1, or 0 */
#define ACD_TERM_BEST			36	/* u32, best of the chain */

#define ACD_LONG_SIZE			16
#define ACD_LONG_TERM_INDEX		0	/* u32 */
#define ACD_LONG_NEXT			4	/* u32, next shorter prefix + 1, or 0 */
#define ACD_LONG_BEST			8	/* u32, best of the chain */
#define ACD_LONG_RESERVED		12	/* u32, 0 */

/*
 * Terms over this many bytes are long: the leftmost kinds look for them with
 * the automaton of the reversed terms instead of walking forward again.
 */
#define ACD_LONG_TERM			32

/* ---- byte order ---- */

static inline uint16_t
acd_le16(const void *p)
{
	uint16_t	v;

	memcpy(&v, p, sizeof(v));
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	v = (uint16_t) ((v >> 8) | (v << 8));
#endif
	return v;
}

static inline uint32_t
acd_le32(const void *p)
{
	uint32_t	v;

	memcpy(&v, p, sizeof(v));
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	v = (v >> 24) | ((v >> 8) & 0xFF00) | ((v << 8) & 0xFF0000) | (v << 24);
#endif
	return v;
}

static inline uint64_t
acd_le64(const void *p)
{
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	return (uint64_t) acd_le32(p) |
		(uint64_t) acd_le32((const unsigned char *) p + 4) << 32;
#else
	uint64_t	v;

	memcpy(&v, p, sizeof(v));
	return v;
#endif
}

static inline void
acd_put16(void *p, uint16_t v)
{
	v = acd_le16(&v);
	memcpy(p, &v, sizeof(v));
}

static inline void
acd_put32(void *p, uint32_t v)
{
	v = acd_le32(&v);
	memcpy(p, &v, sizeof(v));
}

static inline void
acd_put64(void *p, uint64_t v)
{
	v = acd_le64(&v);
	memcpy(p, &v, sizeof(v));
}

/* ---- access to slots and terms ---- */

static inline const unsigned char *
acd_slot(const unsigned char *states, uint32_t s)
{
	return states + (size_t) s * ACD_SLOT_SIZE;
}

static inline uint32_t
acd_slot_base(const unsigned char *states, uint32_t s)
{
	return acd_le32(acd_slot(states, s) + ACD_SLOT_BASE);
}

static inline uint32_t
acd_slot_check(const unsigned char *states, uint32_t s)
{
	return acd_le32(acd_slot(states, s) + ACD_SLOT_CHECK);
}

static inline uint32_t
acd_slot_fail(const unsigned char *states, uint32_t s)
{
	return acd_le32(acd_slot(states, s) + ACD_SLOT_FAIL);
}

static inline uint32_t
acd_slot_out(const unsigned char *states, uint32_t s)
{
	return acd_le32(acd_slot(states, s) + ACD_SLOT_OUT);
}

static inline uint32_t
acd_slot_depth(const unsigned char *depths, uint32_t s)
{
	return acd_le16(depths + (size_t) s * 2);
}

/* The child of s by byte c, or ACD_NO_SLOT. */
static inline uint32_t
acd_child(const unsigned char *states, uint32_t s, unsigned char c)
{
	uint32_t	t = acd_slot_base(states, s) ^ c;

	return acd_slot_check(states, t) == s ? t : ACD_NO_SLOT;
}

/* The state after reading c in s; amortised constant, as each failure link shortens. */
static inline uint32_t
acd_step(const unsigned char *states, uint32_t s, unsigned char c)
{
	for (;;)
	{
		const unsigned char *slot = acd_slot(states, s);
		uint32_t	t = acd_le32(slot + ACD_SLOT_BASE) ^ c;

		if (acd_slot_check(states, t) == s)
			return t;
		if (s == ACD_ROOT)
			return ACD_ROOT;
		s = acd_le32(slot + ACD_SLOT_FAIL);
	}
}

static inline const unsigned char *
acd_term_record(const acd_machine *machine, uint32_t term)
{
	return machine->terms + (size_t) term * ACD_TERM_SIZE;
}

static inline uint32_t
acd_term_len(const acd_machine *machine, uint32_t term)
{
	return acd_le32(acd_term_record(machine, term) + ACD_TERM_LEN);
}

static inline uint32_t
acd_term_next(const acd_machine *machine, uint32_t term)
{
	return acd_le32(acd_term_record(machine, term) + ACD_TERM_NEXT);
}

static inline uint32_t
acd_term_best(const acd_machine *machine, uint32_t term)
{
	return acd_le32(acd_term_record(machine, term) + ACD_TERM_BEST);
}

static inline int32_t
acd_term_priority(const acd_machine *machine, uint32_t term)
{
	return (int32_t) acd_le32(acd_term_record(machine, term) + ACD_TERM_PRIORITY);
}

static inline int64_t
acd_term_id(const acd_machine *machine, uint32_t term)
{
	return (int64_t) acd_le64(acd_term_record(machine, term) + ACD_TERM_ID);
}

static inline const unsigned char *
acd_long_record(const acd_machine *machine, uint32_t index)
{
	return machine->long_terms + (size_t) index * ACD_LONG_SIZE;
}

/* Does a bit of a boundary bitmap allow a match to start or end at i? */
static inline bool
acd_boundary(const uint8_t *boundaries, size_t i)
{
	return boundaries == NULL || ((boundaries[i >> 3] >> (i & 7)) & 1) != 0;
}

/* ---- memory and sizes (memory.c) ---- */

/* a + b and a * b into *result; false if that overflows. */
extern bool acd_add_size(size_t a, size_t b, size_t *result);
extern bool acd_mul_size(size_t a, size_t b, size_t *result);

/* count * size bytes, NULL if that overflows or memory is out. */
extern void *acd_alloc_array(const acd_allocator *allocator, size_t count, size_t size);
extern void acd_release(const acd_allocator *allocator, void *ptr);

/*
 * Make room for one more element in an array of *capacity elements of "size"
 * bytes, doubling it when full: the array, maybe moved, or NULL, in which
 * case the old one stands.
 */
extern void *acd_grow_array(const acd_allocator *allocator, void *array,
							size_t *capacity, size_t used, size_t size);

/* ---- digests (xxh64.c, sha256.c) ---- */

extern uint64_t acd_xxh64(const void *data, size_t len, uint64_t seed);
extern void acd_sha256(const void *data, size_t len, unsigned char digest[ACD_DIGEST_LEN]);

/* ---- sorting (sort.c) ---- */

/* A byte string being sorted. */
typedef struct acd_key
{
	uint64_t	prefix;			/* first 8 bytes; after acd_sort_keys scratch */
	const unsigned char *bytes;
	uint32_t	len;
	uint32_t	index;			/* the caller's */
} acd_key;

/* Sort by bytes, equal ones by index. */
extern acd_status acd_sort_keys(const acd_allocator *allocator, acd_key *keys, size_t nkeys);

/* ---- tries as double arrays (trie.c, place.c) ---- */

/*
 * The trie of sorted distinct keys.  Nodes are numbered breadth first, so
 * that the children of node k are first[k] .. first[k + 1] - 1.
 */
typedef struct acd_trie
{
	uint32_t	nnodes;
	uint32_t	nlevels;		/* longest key + 1 */
	unsigned char *labels;		/* byte that leads to each node */
	uint32_t   *first;			/* nnodes + 1 */
	uint32_t   *slots;			/* key + 1 before placing, slot after */
	uint32_t   *levels;			/* first node of each level, nlevels + 1 */

	unsigned char *block;		/* "front" bytes, then nslots slots */
	size_t		block_size;		/* bytes allocated, which may be more */
	size_t		front;
	uint32_t	nslots;
} acd_trie;

extern acd_status acd_trie_build(acd_trie *trie, const acd_allocator *allocator,
								 acd_key *keys, uint32_t nkeys);
extern acd_status acd_trie_place(acd_trie *trie, const acd_allocator *allocator, size_t front);
extern void acd_trie_free(acd_trie *trie, const acd_allocator *allocator);

/* Receives each key, shorter ones first, with its slot and next shorter suffix key + 1. */
typedef void (*acd_own_fn) (void *arg, uint32_t key, uint32_t slot, uint32_t next);

/* Set failure and output links in "states", depths in "depths". */
extern void acd_trie_link(const acd_trie *trie, unsigned char *states, unsigned char *depths,
						  acd_own_fn own, void *arg);

/* ---- the order of terms (term.c) ---- */

/* A match while it competes with others. */
typedef struct acd_candidate
{
	size_t		start;
	size_t		end;
	int64_t		id;
	int32_t		priority;
	uint32_t	machine;
	uint32_t	term;
} acd_candidate;

extern void acd_candidate_set(acd_candidate *c, const acd_scan *scan, uint32_t machine,
							  uint32_t term, size_t start, size_t end);

/* Does a win over b in a cover span; for the same start the longest; the first? */
extern bool acd_beats_in_span(const acd_candidate *a, const acd_candidate *b);
extern bool acd_beats_by_length(const acd_candidate *a, const acd_candidate *b);
extern bool acd_beats_by_priority(const acd_candidate *a, const acd_candidate *b);

/* ---- scanning (cursor.c, scan_*.c) ---- */

/*
 * A scan's position.  This is the seam behind which engines differ: callers
 * only ask for the next end of a match and read the states there.
 */
typedef struct acd_cursor
{
	const acd_scan *scan;
	const unsigned char *text;
	size_t		len;
	size_t		pos;			/* bytes read */
	size_t		work;			/* steps since the last poll */
	uint32_t	states[ACD_MAX_MACHINES];
} acd_cursor;

extern acd_status acd_cursor_init(acd_cursor *cursor, const acd_scan *scan,
								  const void *text, size_t len);

/* Restart all machines at "pos". */
extern void acd_cursor_restart(acd_cursor *cursor, size_t pos);

/*
 * Read on to the next position, a boundary, where a term of some machine
 * ends; *hit is false at the end of the text.
 */
extern acd_status acd_cursor_next(acd_cursor *cursor, bool *hit);

/* Account for steps that reading did not; polls when enough have gathered. */
extern acd_status acd_cursor_work(acd_cursor *cursor, size_t steps);

/*
 * The first of the chain of suffix terms from "out" (a term + 1, or 0) that
 * starts at a boundary, as term + 1, or 0.
 */
extern uint32_t acd_cursor_valid(acd_cursor *cursor, uint32_t machine, uint32_t out);

/* The longest match ending here; false if none starts at a boundary. */
extern bool acd_cursor_longest(acd_cursor *cursor, acd_candidate *longest);

extern acd_status acd_scan_overlapping(acd_cursor *cursor, acd_match_fn fn, void *arg);
extern acd_status acd_scan_cover(acd_cursor *cursor, acd_match_fn fn, void *arg);
extern acd_status acd_scan_leftmost(acd_cursor *cursor, acd_match_fn fn, void *arg);

#endif							/* ACD_INTERNAL_H */
