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
#define ACD_AT_NODES			68	/* u32 */
#define ACD_AT_MIN_LEN			72	/* u32 */
#define ACD_AT_MAX_LEN			76	/* u32 */
#define ACD_AT_SECTIONS			80	/* u32 */
#define ACD_AT_TIERS			84	/* u32 */
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

#define ACD_SECTION_TERMS		1
#define ACD_SECTION_REPLACEMENTS 2
#define ACD_SECTION_TIERS		3
#define ACD_SECTION_FILTERS		4
#define ACD_SECTION_TABLES		5
#define ACD_SECTION_NODES		6
#define ACD_SECTION_STATES		7	/* these three are there together or not */
#define ACD_SECTION_DEPTHS		8
#define ACD_SECTION_ENDS		9
#define ACD_SECTION_WIDE		10	/* exactly if a term's record is too narrow for an id or a priority */
#define ACD_SECTION_LAST		10

/* A tier: how terms of similar length are looked for. */
#define ACD_TIER_SIZE			192
#define ACD_TIER_GROUPS			0	/* u32, trees */
#define ACD_TIER_MIN_LEN		4	/* u32 */
#define ACD_TIER_MAX_LEN		8	/* u32 */
#define ACD_TIER_WINDOW			12	/* u32, 1 to 8, the least of the windows */
#define ACD_TIER_STEP			16	/* u32, 0 or 1 to 8 */
#define ACD_TIER_PREFIX			20	/* u32, 1 to 16; if step is 0, 8 for long keys */
#define ACD_TIER_FILTER_BITS	24	/* u32, log2 of words */
#define ACD_TIER_STARTS_BITS	28	/* u32, log2 of words; 0 if step is 0 */
#define ACD_TIER_TABLE_BITS		32	/* u32, log2 of slots */
#define ACD_TIER_OFFSETS_BITS	36	/* u32, log2 of bytes; 0 if step is 0 */
#define ACD_TIER_MULTIPLIER		40	/* u64, odd */
#define ACD_TIER_WINDOWS		48	/* 16 * u8, 1 to 8 */
#define ACD_TIER_CLASSES		64	/* 8 * 16 bytes */
#define ACD_CLASS_BYTES			4	/* of a start; windows use the first pair of tables */

#define ACD_MAX_FILTER_BITS		20
#define ACD_MAX_TABLE_BITS		22
#define ACD_MIN_OFFSETS_BITS	3
#define ACD_MAX_OFFSETS_BITS	24
#define ACD_MAX_STEP			8
#define ACD_MAX_WINDOW			8
#define ACD_MAX_PREFIX			16

/* A slot of a tier's table. */
#define ACD_PREFIX_TAG			0	/* u32, low half of the hash */
#define ACD_PREFIX_REF			4	/* u32, offset of a root, or 0; + ACD_REF_DEEP, ACD_REF_WHOLE */
#define ACD_REF_DEEP			1u	/* its terms are in the automaton as well */
#define ACD_REF_WHOLE			2u	/* the prefix itself is a term */
#define ACD_REF_MASK			(~UINT32_C(3))
#define ACD_PREFIX_SLOT_SIZE	8

/* A node of a tree; path, labels and children follow, each padded to 4. */
#define ACD_NODE_SIZE			16
#define ACD_NODE_TERM			0	/* u32, term + 1, or 0 */
#define ACD_NODE_UP				4	/* u32, bytes back to the parent, 0 in a root */
#define ACD_NODE_DEPTH			8	/* u16, bytes from the term's start to the path's end */
#define ACD_NODE_PATH			10	/* u16, bytes of the path */
#define ACD_NODE_CHILDREN		12	/* u16, 0 to 256 */
#define ACD_NODE_LABEL			14	/* u16, byte from the parent; in a root tier + flag */
#define ACD_NODE_ROOT_DEEP		0x100
#define ACD_NODE_LEAF			1u	/* a child: 2 * term + 1, a leaf without a path; a term's node: its parent + 1 */
#define ACD_NODES_FRONT			8	/* zeros, so that no root is at 0 */
#define ACD_NODES_BACK			64	/* zeros, so that vectors may be loaded */

/* A slot of a double array: the state s has child c at t iff check(t) == s. */
#define ACD_SLOT_SIZE			16
#define ACD_SLOT_BASE			0	/* t = base ^ c */
#define ACD_SLOT_CHECK			4	/* parent, or ACD_NO_SLOT */
#define ACD_SLOT_FAIL			8
#define ACD_SLOT_OUT			12	/* key + 1, or 0 */
#define ACD_BLOCK				256 /* slots a base addresses */
#define ACD_NO_SLOT				UINT32_C(0xFFFFFFFF)
#define ACD_ROOT				0
#define ACD_MAX_SLOTS			UINT32_C(0xFFFFFF00)

#define ACD_TERM_SIZE			16
#define ACD_TERM_ID				0	/* u32; 0 where there are wide records */
#define ACD_TERM_REPLACEMENT	4	/* u32, its offset in units of ACD_REPLACEMENT_UNIT */
#define ACD_TERM_NODE			8	/* u32, node the pattern ends in, or its parent + ACD_NODE_LEAF */
#define ACD_TERM_LEN			12	/* u16, of the pattern */
#define ACD_TERM_PRIORITY		14	/* i16; 0 where there are wide records */

/* What an id or a priority of any size needs instead. */
#define ACD_WIDE_SIZE			12
#define ACD_WIDE_ID				0	/* i64 */
#define ACD_WIDE_PRIORITY		8	/* i32 */

/* A replacement: its length as u32, its bytes, zeros up to a whole unit. */
#define ACD_REPLACEMENT_UNIT	4
#define ACD_REPLACEMENT_FRONT	4	/* bytes before its own */

/* A term of the automaton of reversed terms. */
#define ACD_END_SIZE			16
#define ACD_END_TERM			0	/* u32 */
#define ACD_END_NEXT			4	/* u32, next shorter prefix + 1, or 0 */
#define ACD_END_FIRST			8	/* u32, best of the chain by priority, then id */
#define ACD_END_COVER			12	/* u32, best of the chain by priority, then length */

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
	return acd_le16(acd_term_record(machine, term) + ACD_TERM_LEN);
}

static inline int32_t
acd_term_priority(const acd_machine *machine, uint32_t term)
{
	if (machine->wide != NULL)
		return (int32_t) acd_le32(machine->wide + (size_t) term * ACD_WIDE_SIZE + ACD_WIDE_PRIORITY);
	return (int16_t) acd_le16(acd_term_record(machine, term) + ACD_TERM_PRIORITY);
}

static inline int64_t
acd_term_id(const acd_machine *machine, uint32_t term)
{
	if (machine->wide != NULL)
		return (int64_t) acd_le64(machine->wide + (size_t) term * ACD_WIDE_SIZE + ACD_WIDE_ID);
	return acd_le32(acd_term_record(machine, term) + ACD_TERM_ID);
}

/* Replacement of a term, of *len bytes. */
static inline const unsigned char *
acd_term_replacement(const acd_machine *machine, uint32_t term, size_t *len)
{
	const unsigned char *replacement = machine->replacements + ACD_REPLACEMENT_UNIT *
		(uint64_t) acd_le32(acd_term_record(machine, term) + ACD_TERM_REPLACEMENT);

	*len = acd_le32(replacement);
	return replacement + ACD_REPLACEMENT_FRONT;
}

static inline const unsigned char *
acd_end_record(const acd_machine *machine, uint32_t end)
{
	return machine->ends + (size_t) end * ACD_END_SIZE;
}

/* Term of a record of the automaton of reversed terms. */
static inline uint32_t
acd_end_term(const acd_machine *machine, uint32_t end)
{
	return acd_le32(acd_end_record(machine, end) + ACD_END_TERM);
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

/*
 * The same in steps, for who looks at the bytes anyway: what has just been
 * hashed need not come from memory again.
 */
typedef struct acd_xxh64_state
{
	const unsigned char *data;
	size_t		len;
	size_t		done;			/* bytes hashed, a multiple of 32 */
	uint64_t	seed;
	uint64_t	acc[4];
} acd_xxh64_state;

extern void acd_xxh64_begin(acd_xxh64_state *state, const void *data, size_t len, uint64_t seed);

/* Hash on until "until" bytes are done, or up to 31 more or fewer; never back. */
extern void acd_xxh64_go_on(acd_xxh64_state *state, size_t until);

extern uint64_t acd_xxh64_end(acd_xxh64_state *state);

extern void acd_sha256(const void *data, size_t len, unsigned char digest[ACD_DIGEST_LEN]);

/* Absorbing blocks with special instructions (sha256_x86.c), if there are any. */
extern bool acd_sha256_fast(void);
extern void acd_sha256_blocks(uint32_t state[8], const uint32_t constants[64],
							  const unsigned char *data, size_t nblocks);

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

/*
 * A match while it competes with others.  Id and priority are looked up only
 * where there is competition.
 */
typedef struct acd_candidate
{
	size_t		start;
	size_t		end;
	uint32_t	machine;
	uint32_t	term;
	int64_t		id;
	int32_t		priority;
	bool		known;			/* id and priority are set */
} acd_candidate;

/* Set id and priority. */
extern void acd_candidate_know(acd_candidate *c, const acd_scan *scan);

/*
 * Does a win over b in a cover span; for the same start the longest; the
 * first?  Both must be known.
 */
extern bool acd_beats_in_span(const acd_candidate *a, const acd_candidate *b);
extern bool acd_beats_by_length(const acd_candidate *a, const acd_candidate *b);
extern bool acd_beats_by_priority(const acd_candidate *a, const acd_candidate *b);

/* ---- the automaton of a machine's terms, for seams (plain.c) ---- */

/* Outputs are term + 1. */
typedef struct acd_plain
{
	unsigned char *states;
	unsigned char *depths;
	uint32_t   *state_of;		/* for each term the slot it ends in */
	uint32_t   *next;			/* for each term its next shorter suffix + 1, or 0 */
	uint32_t	nslots;
	unsigned char *patterns;
} acd_plain;

extern acd_status acd_plain_build(acd_plain *plain, const acd_machine *machine,
								  const acd_allocator *allocator);
extern void acd_plain_free(acd_plain *plain, const acd_allocator *allocator);

/* ---- seams (seam.c, seam_search.c) ---- */

/* How replacements are read with terms: for tests, as the reports are the same. */
typedef enum acd_seam_way
{
	ACD_SEAM_WAY_AUTO,			/* by the cost */
	ACD_SEAM_WAY_SEARCH,
	ACD_SEAM_WAY_AUTOMATON
} acd_seam_way;

extern acd_status acd_seam_check_by(const acd_machine *const *machines, size_t nmachines,
									const acd_allocator *allocator, acd_seam_fn fn, void *arg,
									acd_seam_way way);

/* *term is the first to end in the text, the longest of these, + 1; or 0. */
extern acd_status acd_seam_term_in(const acd_machine *machine, const acd_allocator *allocator,
								   const unsigned char *text, size_t len, uint32_t *term);

/*
 * The first term, + 1, that the longest suffix of the text there is one for
 * is a proper prefix of; or 0.  Binary search: terms must ascend, as in
 * machines that are built or verified; in others it may find nothing.
 * "pattern" has room for the longest term.
 */
extern uint32_t acd_seam_term_behind(const acd_machine *machine, const unsigned char *text, size_t len,
									 unsigned char *pattern);

/* ---- trees (tree.c) ---- */

/*
 * A walk passes at most one node and 32 bytes of paths for each unit of cost.
 * Trees that can cost more are deep: their terms are in the automaton too.
 */
#define ACD_DEEP_COST	12
#define ACD_SMALL_DEEP_COST	3		/* the same where an automaton is small and fast */
#define ACD_SMALL_BYTES	32768		/* bytes of all patterns up to which it is */

/* Trees while they are built. */
typedef struct acd_forest
{
	const acd_allocator *allocator;
	unsigned char *bytes;
	size_t		size;
	size_t		capacity;
	uint32_t	nnodes;
	uint32_t   *node_of;		/* for each term what its record says of its node */
	uint32_t	deep_cost;		/* trees that can cost more are deep */
	void	   *queue;			/* nodes to be written, of one tree */
	size_t		queue_capacity;
} acd_forest;

extern acd_status acd_forest_init(acd_forest *forest, const acd_allocator *allocator, uint32_t nterms);
extern void acd_forest_free(acd_forest *forest);

/*
 * Append the tree of keys[order[lo]] .. keys[order[hi - 1]], sorted, whose
 * index in keys is their term.  *root is its offset, *deep tells whether
 * walking it can be slow.
 */
extern acd_status acd_forest_add(acd_forest *forest, const acd_key *keys, const uint32_t *order,
								 uint32_t lo, uint32_t hi, uint32_t tier, uint32_t *root, bool *deep);

/* Append the padding behind the last tree. */
extern acd_status acd_forest_finish(acd_forest *forest);

/* Labels of a node's n children, which follow at acd_node_children. */
static inline const unsigned char *
acd_node_labels(const unsigned char *node)
{
	return node + ACD_NODE_SIZE + ((acd_le16(node + ACD_NODE_PATH) + 3) & ~3u);
}

static inline const unsigned char *
acd_node_children(const unsigned char *labels, uint32_t n)
{
	return labels + ((n + 3) & ~3u);
}

/* Bytes of a node with its path, labels and children. */
static inline size_t
acd_node_bytes(uint32_t path, uint32_t children)
{
	return ACD_NODE_SIZE + ((path + 3) & ~3u) + ((children + 3) & ~3u) + 4 * (size_t) children;
}


/* ---- opening (open_trees.c) ---- */

/* Take and check the tiers' records, and find their filters and tables. */
extern bool acd_open_tiers(acd_machine *machine, const unsigned char *tiers,
						   const unsigned char *filters, uint64_t filters_size,
						   const unsigned char *tables, uint64_t tables_size);

/*
 * Check the tables' slots, then the trees: that each term has one node, and
 * that each tree is found through its tier's filters.  The checksum goes
 * along.
 */
extern bool acd_open_tables(const acd_machine *machine, acd_xxh64_state *checksum);
extern bool acd_open_trees(const acd_machine *machine, acd_xxh64_state *checksum);

/* Bytes that the checksum goes ahead of a check. */
#define ACD_CHECK_AHEAD		16384

/* Let the checksum be ahead of a check that has come to "at". */
static inline void
acd_checksum_along(acd_xxh64_state *checksum, const unsigned char *at)
{
	if (at >= checksum->data + checksum->done)
		acd_xxh64_go_on(checksum, (size_t) (at - checksum->data) + ACD_CHECK_AHEAD);
}

#endif							/* ACD_INTERNAL_H */
