/*
 * trie.c
 *		The trie of sorted keys, and its failure and output links.
 *
 * Nodes are numbered breadth first and in byte order within a level, which
 * makes the children of a node contiguous: one u32 a node is the whole
 * structure.  It is filled depth first, one cursor a level, because walking
 * sorted keys once is kind to caches where a breadth-first walk is not.
 *
 * Links follow A. Aho, M. Corasick, "Efficient string matching" (1975).
 *
 * Copyright (c) 2026, the acdat_decoder authors; PostgreSQL licence
 */
#include "acd_internal.h"

/* Length of the longest common prefix. */
static uint32_t
common_prefix(const acd_key *a, const acd_key *b)
{
	uint32_t	max = a->len < b->len ? a->len : b->len;
	uint32_t	n = 0;

	while (n < max && a->bytes[n] == b->bytes[n])
		n++;
	return n;
}

/*
 * Count the nodes of each level into levels[1..], and leave in each key's
 * prefix how many bytes it shares with the key before.
 */
static acd_status
count_levels(acd_trie *trie, acd_key *keys, uint32_t nkeys)
{
	uint64_t	nnodes = 1;
	uint32_t	start = 0;

	for (uint32_t k = 0; k < nkeys; k++)
	{
		uint32_t	shared = k > 0 ? common_prefix(&keys[k - 1], &keys[k]) : 0;

		keys[k].prefix = shared;
		nnodes += keys[k].len - shared;
		if (nnodes > ACD_MAX_SLOTS - ACD_BLOCK)
			return ACD_ERR_TOO_LARGE;
		for (uint32_t d = shared; d < keys[k].len; d++)
			trie->levels[d + 1]++;
	}
	trie->nnodes = (uint32_t) nnodes;

	trie->levels[0] = 1;
	for (uint32_t d = 0; d <= trie->nlevels; d++)
	{
		uint32_t	count = trie->levels[d];

		trie->levels[d] = start;
		start += count;
	}
	return ACD_OK;
}

/* Number the nodes; cursor[d] is the next number of level d. */
static void
fill_nodes(acd_trie *trie, uint32_t *cursor, const acd_key *keys, uint32_t nkeys)
{
	memcpy(cursor, trie->levels, ((size_t) trie->nlevels + 1) * sizeof(uint32_t));
	memset(trie->slots, 0, (size_t) trie->nnodes * sizeof(uint32_t));
	trie->labels[0] = 0;
	trie->first[0] = 1;
	trie->first[trie->nnodes] = trie->nnodes;

	for (uint32_t k = 0; k < nkeys; k++)
	{
		uint32_t	node = 0;

		for (uint32_t d = (uint32_t) keys[k].prefix; d < keys[k].len; d++)
		{
			node = cursor[d + 1]++;
			trie->labels[node] = keys[k].bytes[d];
			trie->first[node] = cursor[d + 2];
		}
		trie->slots[node] = k + 1;
	}
}

/*
 * Build the trie of sorted, distinct, nonempty keys.  The trie must be freed
 * on an error as well.
 */
acd_status
acd_trie_build(acd_trie *trie, const acd_allocator *allocator, acd_key *keys, uint32_t nkeys)
{
	uint32_t	longest = 0;
	uint32_t   *cursor;
	acd_status	status;

	memset(trie, 0, sizeof(*trie));
	for (uint32_t k = 0; k < nkeys; k++)
		longest = keys[k].len > longest ? keys[k].len : longest;
	trie->nlevels = longest + 1;

	trie->levels = acd_alloc_array(allocator, (size_t) trie->nlevels + 1, sizeof(uint32_t));
	if (trie->levels == NULL)
		return ACD_ERR_NOMEM;
	memset(trie->levels, 0, ((size_t) trie->nlevels + 1) * sizeof(uint32_t));
	status = count_levels(trie, keys, nkeys);
	if (status != ACD_OK)
		return status;

	trie->labels = acd_alloc_array(allocator, trie->nnodes, 1);
	trie->first = acd_alloc_array(allocator, (size_t) trie->nnodes + 1, sizeof(uint32_t));
	trie->slots = acd_alloc_array(allocator, trie->nnodes, sizeof(uint32_t));
	if (trie->labels == NULL || trie->first == NULL || trie->slots == NULL)
		return ACD_ERR_NOMEM;

	cursor = acd_alloc_array(allocator, (size_t) trie->nlevels + 1, sizeof(uint32_t));
	if (cursor == NULL)
		return ACD_ERR_NOMEM;
	fill_nodes(trie, cursor, keys, nkeys);
	acd_release(allocator, cursor);
	return ACD_OK;
}

/* Free what a trie holds, its block included unless the owner took it. */
void
acd_trie_free(acd_trie *trie, const acd_allocator *allocator)
{
	acd_release(allocator, trie->labels);
	acd_release(allocator, trie->first);
	acd_release(allocator, trie->slots);
	acd_release(allocator, trie->levels);
	acd_release(allocator, trie->block);
	memset(trie, 0, sizeof(*trie));
}

/*
 * Link one child of a placed node.  Its output is so far its own key or 0.
 */
static void
link_child(unsigned char *states, uint32_t parent, uint32_t child, unsigned char label,
		   acd_own_fn own, void *arg)
{
	unsigned char *slot = states + (size_t) child * ACD_SLOT_SIZE;
	uint32_t	key = acd_le32(slot + ACD_SLOT_OUT);
	uint32_t	fail = ACD_ROOT;
	uint32_t	inherited;

	if (parent != ACD_ROOT)
		fail = acd_step(states, acd_slot_fail(states, parent), label);
	acd_put32(slot + ACD_SLOT_FAIL, fail);

	inherited = acd_slot_out(states, fail);
	if (key == 0)
		acd_put32(slot + ACD_SLOT_OUT, inherited);
	else
		own(arg, key - 1, child, inherited);
}

/*
 * Set the links of all states in a placed trie's slots and the depths of all
 * slots.  Breadth first, so that what a link needs is there already.
 */
void
acd_trie_link(const acd_trie *trie, unsigned char *states, unsigned char *depths,
			  acd_own_fn own, void *arg)
{
	memset(depths, 0, (size_t) trie->nslots * 2);
	for (uint32_t level = 0; level + 1 < trie->nlevels; level++)
	{
		for (uint32_t node = trie->levels[level]; node < trie->levels[level + 1]; node++)
		{
			for (uint32_t c = trie->first[node]; c < trie->first[node + 1]; c++)
			{
				acd_put16(depths + (size_t) trie->slots[c] * 2, (uint16_t) (level + 1));
				link_child(states, trie->slots[node], trie->slots[c], trie->labels[c], own, arg);
			}
		}
	}
}
