/*
 * tree.c
 *		Building the trees that hold the terms.
 *
 * A tree is a path-compressed trie of the terms that share a prefix; its
 * nodes stand together, breadth first.  Read from its first byte to its
 * last, the children that nodes name are therefore exactly the nodes that
 * follow, in order: acd_machine_open proves a forest sound in one pass,
 * without memory.
 *
 * Path compression follows D. Morrison, "PATRICIA" (1968).
 *
 * Copyright (c) 2026, the acdat_decoder authors; PostgreSQL licence
 */
#include "acd_internal.h"

/* A node that waits to be written: some sorted terms that agree so far. */
typedef struct pending
{
	uint32_t	lo;				/* in the order */
	uint32_t	hi;
	uint32_t	depth;			/* bytes before its path */
	uint32_t	cost;			/* of walking to it */
	uint32_t	parent;			/* offset */
	uint32_t	child_at;		/* where the parent keeps its offset */
	uint32_t	label;
} pending;

/* Begin a forest. */
acd_status
acd_forest_init(acd_forest *forest, const acd_allocator *allocator, uint32_t nterms)
{
	size_t		bytes;

	memset(forest, 0, sizeof(*forest));
	forest->allocator = allocator;
	forest->deep_cost = ACD_DEEP_COST;
	if (!acd_mul_size(nterms, 40, &bytes) || !acd_add_size(bytes, 1024, &bytes))
		return ACD_ERR_TOO_LARGE;
	forest->node_of = acd_alloc_array(allocator, nterms, sizeof(uint32_t));
	forest->bytes = allocator->alloc(allocator->ctx, bytes);
	if (forest->node_of == NULL || forest->bytes == NULL)
		return ACD_ERR_NOMEM;
	forest->capacity = bytes;
	forest->size = ACD_NODES_FRONT;
	memset(forest->bytes, 0, ACD_NODES_FRONT);
	return ACD_OK;
}

/* Free what a forest holds. */
void
acd_forest_free(acd_forest *forest)
{
	if (forest->allocator == NULL)
		return;
	acd_release(forest->allocator, forest->bytes);
	acd_release(forest->allocator, forest->node_of);
	acd_release(forest->allocator, forest->queue);
	memset(forest, 0, sizeof(*forest));
}

/* Append zeroed bytes; *at is where. */
static acd_status
reserve(acd_forest *forest, size_t bytes, uint32_t *at)
{
	size_t		wanted;

	if (!acd_add_size(forest->size, bytes, &wanted) || wanted > INT32_MAX)
		return ACD_ERR_TOO_LARGE;
	if (wanted > forest->capacity)
	{
		size_t		capacity = wanted + wanted / 2;
		void	   *grown = forest->allocator->resize(forest->allocator->ctx, forest->bytes,
													  forest->capacity, capacity);

		if (grown == NULL)
			return ACD_ERR_NOMEM;
		forest->bytes = grown;
		forest->capacity = capacity;
	}
	*at = (uint32_t) forest->size;
	memset(forest->bytes + forest->size, 0, bytes);
	forest->size = wanted;
	return ACD_OK;
}

/* Length of the common prefix of two keys that agree in "from" bytes. */
static uint32_t
common_prefix(const acd_key *a, const acd_key *b, uint32_t from)
{
	uint32_t	max = a->len < b->len ? a->len : b->len;
	uint32_t	n = from;

	while (n < max && a->bytes[n] == b->bytes[n])
		n++;
	return n;
}

/* Add a node to the queue. */
static acd_status
enqueue(acd_forest *forest, size_t *tail, const pending *node)
{
	pending    *queue = acd_grow_array(forest->allocator, forest->queue, &forest->queue_capacity,
									   *tail, sizeof(pending));

	if (queue == NULL)
		return ACD_ERR_NOMEM;
	forest->queue = queue;
	queue[(*tail)++] = *node;
	return ACD_OK;
}

/*
 * Write a node and queue its children, but for leaves without a path: what
 * names these names their terms.  *cost is that of the dearest walk so far.
 */
static acd_status
write_node(acd_forest *forest, const acd_key *keys, const uint32_t *order, const pending *p,
		   size_t *tail, uint32_t *cost)
{
	const acd_key *first = &keys[order[p->lo]];
	uint32_t	end = common_prefix(first, &keys[order[p->hi - 1]], p->depth);
	uint32_t	path = end - p->depth;
	uint32_t	from = p->lo + (first->len == end);
	uint32_t	nchildren = 0;
	uint32_t	at;
	unsigned char *node;
	acd_status	status;
	pending		child;

	for (uint32_t i = from; i < p->hi; i++)
		nchildren += i == from || keys[order[i]].bytes[end] != keys[order[i - 1]].bytes[end];
	status = reserve(forest, acd_node_bytes(path, nchildren), &at);
	if (status != ACD_OK)
		return status;
	node = forest->bytes + at;
	if (first->len == end)
	{
		acd_put32(node + ACD_NODE_TERM, order[p->lo] + 1);
		forest->node_of[order[p->lo]] = at;
	}
	acd_put32(node + ACD_NODE_UP, p->child_at != 0 ? at - p->parent : 0);
	acd_put16(node + ACD_NODE_DEPTH, (uint16_t) end);
	acd_put16(node + ACD_NODE_PATH, (uint16_t) path);
	acd_put16(node + ACD_NODE_CHILDREN, (uint16_t) nchildren);
	acd_put16(node + ACD_NODE_LABEL, (uint16_t) p->label);
	memcpy(node + ACD_NODE_SIZE, first->bytes + p->depth, path);
	if (p->child_at != 0)
		acd_put32(forest->bytes + p->child_at, at);
	forest->nnodes++;
	*cost = p->cost + 1 + path / 32;

	child.depth = end + 1;
	child.cost = *cost;
	child.parent = at;
	child.hi = from;
	for (uint32_t k = 0; k < nchildren; k++)
	{
		child.lo = child.hi;
		child.label = keys[order[child.lo]].bytes[end];
		while (child.hi < p->hi && keys[order[child.hi]].bytes[end] == child.label)
			child.hi++;
		node[ACD_NODE_SIZE + ((path + 3) & ~3u) + k] = (unsigned char) child.label;
		child.child_at = at + ACD_NODE_SIZE + ((path + 3) & ~3u) + ((nchildren + 3) & ~3u) + 4 * k;
		if (child.hi - child.lo == 1 && keys[order[child.lo]].len == end + 1)
		{
			uint32_t	term = order[child.lo];

			acd_put32(forest->bytes + child.child_at, 2 * term + ACD_NODE_LEAF);
			forest->node_of[term] = at + ACD_NODE_LEAF;
			*cost = child.cost + 1;
			continue;
		}
		status = enqueue(forest, tail, &child);
		if (status != ACD_OK)
			return status;
	}
	return ACD_OK;
}

/* Append a tree. */
acd_status
acd_forest_add(acd_forest *forest, const acd_key *keys, const uint32_t *order,
			   uint32_t lo, uint32_t hi, uint32_t tier, uint32_t *root, bool *deep)
{
	pending		p = {0};
	size_t		head = 0;
	size_t		tail = 0;
	uint32_t	deepest = 0;
	unsigned char *label;

	*root = (uint32_t) forest->size;
	p.lo = lo;
	p.hi = hi;
	p.label = tier;
	for (;;)
	{
		uint32_t	cost;
		acd_status	status = write_node(forest, keys, order, &p, &tail, &cost);

		if (status != ACD_OK)
			return status;
		deepest = cost > deepest ? cost : deepest;
		if (head == tail)
			break;
		p = ((pending *) forest->queue)[head++];
	}
	*deep = deepest > forest->deep_cost;
	label = forest->bytes + *root + ACD_NODE_LABEL;
	if (*deep)
		acd_put16(label, (uint16_t) (tier | ACD_NODE_ROOT_DEEP));
	return ACD_OK;
}

/* End a forest. */
acd_status
acd_forest_finish(acd_forest *forest)
{
	uint32_t	at;

	return reserve(forest, ACD_NODES_BACK, &at);
}
