/*
 * place.c
 *		Placing a trie's nodes in a double array.
 *
 * Slots come in blocks of 256 and a child is at base ^ byte, so that all
 * children of a node lie in the block of its base and no base leads outside.
 * A node with several children tries a few blocks, each with bit operations
 * over the 256 possible bases at once, and else opens a new block: bounded
 * work a node, whatever the trie.  A node with one child takes the lowest
 * free slot, which fills the holes others leave.
 *
 * The order decides how often scanning misses the caches.  First come, breadth
 * first, the nodes that branching alone leads to: reading text that matches
 * nothing stays among them.  Then the rest, whose chains of only children,
 * which most terms end in, are placed in one go each: reading one takes a few
 * cache lines, not one a byte.
 *
 * Copyright (c) 2026, the acdat_decoder authors; PostgreSQL licence
 */
#include "acd_internal.h"

#define WORDS			4			/* of 64 bits for 256 slots */
#define RECENT_BLOCKS	16			/* newest blocks that are tried */
#define OLD_BLOCKS		2			/* oldest blocks with room that are tried */

typedef struct slot_map
{
	uint64_t	free[WORDS];
	uint32_t	nfree;
} slot_map;

typedef struct placer
{
	const acd_allocator *allocator;
	acd_trie   *trie;
	slot_map   *maps;			/* one a block */
	size_t		capacity;		/* blocks there is memory for */
	uint32_t	nblocks;
	uint32_t	lowest;			/* all blocks below are full */
	uint64_t   *placed;			/* bit of each node that has a slot */
} placer;

/* Find the lowest bit of a nonzero word. */
static inline unsigned
lowest_bit(uint64_t word)
{
#if defined(__GNUC__)
	return (unsigned) __builtin_ctzll(word);
#else
	unsigned	n = 0;

	while (((word >> n) & 1) == 0)
		n++;
	return n;
#endif
}

/* Bit i of the result is bit i ^ x of the word, for x < 64. */
static inline uint64_t
xor_permute(uint64_t word, unsigned x)
{
	if (x & 1)
		word = ((word >> 1) & UINT64_C(0x5555555555555555)) | ((word & UINT64_C(0x5555555555555555)) << 1);
	if (x & 2)
		word = ((word >> 2) & UINT64_C(0x3333333333333333)) | ((word & UINT64_C(0x3333333333333333)) << 2);
	if (x & 4)
		word = ((word >> 4) & UINT64_C(0x0F0F0F0F0F0F0F0F)) | ((word & UINT64_C(0x0F0F0F0F0F0F0F0F)) << 4);
	if (x & 8)
		word = ((word >> 8) & UINT64_C(0x00FF00FF00FF00FF)) | ((word & UINT64_C(0x00FF00FF00FF00FF)) << 8);
	if (x & 16)
		word = ((word >> 16) & UINT64_C(0x0000FFFF0000FFFF)) | ((word & UINT64_C(0x0000FFFF0000FFFF)) << 16);
	if (x & 32)
		word = (word >> 32) | (word << 32);
	return word;
}

/* Has a node a slot? */
static inline bool
is_placed(const placer *p, uint32_t node)
{
	return ((p->placed[node / 64] >> (node % 64)) & 1) != 0;
}

/* Give a node its slot. */
static inline void
set_slot(placer *p, uint32_t node, uint32_t slot)
{
	p->trie->slots[node] = slot;
	p->placed[node / 64] |= UINT64_C(1) << (node % 64);
}

/* Grow the memory for slots and maps to "capacity" blocks. */
static acd_status
reserve_blocks(placer *p, size_t capacity)
{
	const acd_allocator *allocator = p->allocator;
	acd_trie   *trie = p->trie;
	size_t		bytes;
	void	   *grown;

	if (capacity > ACD_MAX_SLOTS / ACD_BLOCK ||
		!acd_mul_size(capacity, ACD_BLOCK * ACD_SLOT_SIZE, &bytes) ||
		!acd_add_size(bytes, trie->front, &bytes))
		return ACD_ERR_TOO_LARGE;

	if (trie->block == NULL)
		grown = allocator->alloc(allocator->ctx, bytes);
	else
		grown = allocator->resize(allocator->ctx, trie->block, trie->block_size, bytes);
	if (grown == NULL)
		return ACD_ERR_NOMEM;
	trie->block = grown;
	trie->block_size = bytes;

	if (p->maps == NULL)
		grown = acd_alloc_array(allocator, capacity, sizeof(slot_map));
	else
		grown = allocator->resize(allocator->ctx, p->maps, p->capacity * sizeof(slot_map),
								  capacity * sizeof(slot_map));
	if (grown == NULL)
		return ACD_ERR_NOMEM;
	p->maps = grown;
	p->capacity = capacity;
	return ACD_OK;
}

/* Append a block of free slots. */
static acd_status
add_block(placer *p)
{
	unsigned char *slot;

	if (p->nblocks == p->capacity)
	{
		acd_status	status = reserve_blocks(p, p->capacity + p->capacity / 2 + 1);

		if (status != ACD_OK)
			return status;
	}
	slot = p->trie->block + p->trie->front + (size_t) p->nblocks * ACD_BLOCK * ACD_SLOT_SIZE;
	memset(slot, 0, ACD_BLOCK * ACD_SLOT_SIZE);
	for (int i = 0; i < ACD_BLOCK; i++)
		acd_put32(slot + i * ACD_SLOT_SIZE + ACD_SLOT_CHECK, ACD_NO_SLOT);
	for (int w = 0; w < WORDS; w++)
		p->maps[p->nblocks].free[w] = UINT64_MAX;
	p->maps[p->nblocks].nfree = ACD_BLOCK;
	p->nblocks++;
	return ACD_OK;
}

/* Mark a slot used. */
static void
take_slot(placer *p, uint32_t slot)
{
	slot_map   *map = &p->maps[slot / ACD_BLOCK];

	map->free[slot % ACD_BLOCK / 64] &= ~(UINT64_C(1) << (slot % 64));
	map->nfree--;
}

/* Find a base within a block at which all labels are free. */
static bool
fit_block(const placer *p, uint32_t block, const unsigned char *labels, uint32_t nlabels,
		  uint32_t *base)
{
	const slot_map *map = &p->maps[block];
	uint64_t	fits[WORDS] = {UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX};

	if (map->nfree < nlabels)
		return false;
	for (uint32_t i = 0; i < nlabels; i++)
	{
		uint64_t	any = 0;

		for (unsigned w = 0; w < WORDS; w++)
		{
			fits[w] &= xor_permute(map->free[w ^ (labels[i] >> 6)], labels[i] & 63);
			any |= fits[w];
		}
		if (any == 0)
			return false;
	}
	for (unsigned w = 0; w < WORDS; w++)
	{
		if (fits[w] != 0)
		{
			*base = block * ACD_BLOCK + w * 64 + lowest_bit(fits[w]);
			return true;
		}
	}
	return false;
}

/* Pass over the lowest blocks while they are full. */
static void
skip_full_blocks(placer *p)
{
	while (p->lowest < p->nblocks && p->maps[p->lowest].nfree == 0)
		p->lowest++;
}

/* Find the base that puts an only child into the lowest free slot. */
static acd_status
find_lowest(placer *p, unsigned char label, uint32_t *base)
{
	const slot_map *map;
	unsigned	w = 0;

	skip_full_blocks(p);
	if (p->lowest == p->nblocks)
	{
		acd_status	status = add_block(p);

		if (status != ACD_OK)
			return status;
	}
	map = &p->maps[p->lowest];
	while (map->free[w] == 0)
		w++;
	*base = (p->lowest * ACD_BLOCK + w * 64 + lowest_bit(map->free[w])) ^ label;
	return ACD_OK;
}

/* Find a base for a node's children. */
static acd_status
find_base(placer *p, const unsigned char *labels, uint32_t nlabels, uint32_t *base)
{
	uint32_t	block;
	uint32_t	tried = 0;
	acd_status	status;

	skip_full_blocks(p);
	for (block = p->lowest; block < p->nblocks && tried < OLD_BLOCKS; block++, tried++)
		if (fit_block(p, block, labels, nlabels, base))
			return ACD_OK;
	if (block + RECENT_BLOCKS < p->nblocks)
		block = p->nblocks - RECENT_BLOCKS;
	for (; block < p->nblocks; block++)
		if (fit_block(p, block, labels, nlabels, base))
			return ACD_OK;

	status = add_block(p);
	if (status == ACD_OK && !fit_block(p, p->nblocks - 1, labels, nlabels, base))
		status = ACD_ERR_TOO_LARGE; /* cannot happen: an empty block fits all */
	return status;
}

/* Place the children, at least one, of one placed node. */
static acd_status
place_children(placer *p, uint32_t node)
{
	acd_trie   *trie = p->trie;
	uint32_t	lo = trie->first[node];
	uint32_t	hi = trie->first[node + 1];
	uint32_t	parent = trie->slots[node];
	uint32_t	base;
	unsigned char *states;
	acd_status	status;

	if (hi - lo == 1)
		status = find_lowest(p, trie->labels[lo], &base);
	else
		status = find_base(p, trie->labels + lo, hi - lo, &base);
	if (status != ACD_OK)
		return status;

	states = trie->block + trie->front;
	acd_put32(states + (size_t) parent * ACD_SLOT_SIZE + ACD_SLOT_BASE, base);
	for (uint32_t child = lo; child < hi; child++)
	{
		uint32_t	slot = base ^ trie->labels[child];
		unsigned char *record = states + (size_t) slot * ACD_SLOT_SIZE;

		take_slot(p, slot);
		acd_put32(record + ACD_SLOT_CHECK, parent);
		acd_put32(record + ACD_SLOT_OUT, trie->slots[child]);
		set_slot(p, child, slot);
	}
	return ACD_OK;
}

/* Place all nodes but the root. */
static acd_status
place_nodes(placer *p)
{
	const uint32_t *first = p->trie->first;
	uint32_t	nnodes = p->trie->nnodes;
	acd_status	status = ACD_OK;

	/* What branching alone leads to. */
	for (uint32_t node = 0; status == ACD_OK && node < nnodes; node++)
		if (first[node + 1] - first[node] > 1 && is_placed(p, node))
			status = place_children(p, node);

	/*
	 * One step into the chains below: scanning probes for it at each byte and
	 * mostly in vain.  Downwards, so that it remains one step.
	 */
	for (uint32_t node = nnodes; status == ACD_OK && node-- > 0;)
		if (first[node + 1] - first[node] == 1 && is_placed(p, node))
			status = place_children(p, node);

	/* The rest; a node's slot is there before its turn comes. */
	for (uint32_t node = 0; status == ACD_OK && node < nnodes; node++)
	{
		uint32_t	n = node;

		if (first[n + 1] > first[n] && !is_placed(p, first[n]))
			status = place_children(p, n);
		while (status == ACD_OK && first[n + 1] - first[n] == 1)
		{
			n = first[n];
			if (first[n + 1] - first[n] != 1 || is_placed(p, first[n]))
				break;
			status = place_children(p, n);
		}
	}
	return status;
}

/*
 * Place a trie into slots that begin "front" bytes into trie->block, the
 * root in slot 0.  Links are not set yet; a key's slot has key + 1 as output.
 */
acd_status
acd_trie_place(acd_trie *trie, const acd_allocator *allocator, size_t front)
{
	placer		p = {0};
	acd_status	status;

	p.allocator = allocator;
	p.trie = trie;
	trie->front = front;

	/* Most tries fill their blocks nearly; a little more avoids a resize. */
	status = reserve_blocks(&p, trie->nnodes / ACD_BLOCK + trie->nnodes / (ACD_BLOCK * 16) + 2);
	if (status == ACD_OK)
		status = add_block(&p);
	if (status == ACD_OK)
	{
		size_t		words = (size_t) trie->nnodes / 64 + 1;

		p.placed = acd_alloc_array(allocator, words, sizeof(uint64_t));
		if (p.placed != NULL)
		{
			memset(p.placed, 0, words * sizeof(uint64_t));
			take_slot(&p, ACD_ROOT);
			set_slot(&p, 0, ACD_ROOT);
			status = place_nodes(&p);
		}
		else
			status = ACD_ERR_NOMEM;
	}
	trie->nslots = p.nblocks * ACD_BLOCK;
	acd_release(allocator, p.maps);
	acd_release(allocator, p.placed);
	return status;
}
