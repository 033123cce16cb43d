/*
 * open_trees.c
 *		Checking tiers and trees when an artifact is opened.
 *
 * A filter with a bit too few misses matches in silence, so it is not enough
 * that all accesses stay inside: each tree is looked for as a scan would.
 *
 * Copyright (c) 2026, the acdat_decoder authors; PostgreSQL licence
 */
#include "acd_scan.h"

#define BATCH	32				/* trees looked for at a time */

/* Check a tier's record and set its parameters. */
static bool
read_tier(acd_tier *t, const unsigned char *record, uint32_t *filter_bits,
		  uint32_t *starts_bits, uint32_t *offsets_bits, uint32_t *table_bits)
{
	t->min_len = acd_le32(record + ACD_TIER_MIN_LEN);
	t->max_len = acd_le32(record + ACD_TIER_MAX_LEN);
	t->window = acd_le32(record + ACD_TIER_WINDOW);
	t->step = acd_le32(record + ACD_TIER_STEP);
	t->prefix = acd_le32(record + ACD_TIER_PREFIX);
	t->multiplier = acd_le64(record + ACD_TIER_MULTIPLIER);
	t->classes = record + ACD_TIER_CLASSES;
	*filter_bits = acd_le32(record + ACD_TIER_FILTER_BITS);
	*starts_bits = acd_le32(record + ACD_TIER_STARTS_BITS);
	*offsets_bits = acd_le32(record + ACD_TIER_OFFSETS_BITS);
	*table_bits = acd_le32(record + ACD_TIER_TABLE_BITS);

	if (t->min_len < 1 || t->max_len > ACD_MAX_TERM_LEN || t->min_len > t->max_len ||
		t->window < 1 || t->window > ACD_MAX_WINDOW || t->step > ACD_MAX_STEP ||
		t->prefix < t->window || t->prefix > ACD_MAX_PREFIX || t->prefix > t->min_len ||
		t->multiplier % 2 == 0 ||
		*filter_bits < 1 || *filter_bits > ACD_MAX_FILTER_BITS ||
		*table_bits < 1 || *table_bits > ACD_MAX_TABLE_BITS)
		return false;
	memcpy(t->windows, record + ACD_TIER_WINDOWS, sizeof(t->windows));
	for (int i = 0; i < 16; i++)
		if (t->windows[i] < t->window || t->windows[i] > ACD_MAX_WINDOW ||
			(t->step != 0 && t->windows[i] != t->window))
			return false;
	if (t->step == 0 ? t->prefix != t->window || *starts_bits != 0 || *offsets_bits != 0 :
		t->prefix < 8 || t->window + t->step - 1 > t->prefix ||
		*starts_bits < 1 || *starts_bits > ACD_MAX_FILTER_BITS ||
		*offsets_bits < ACD_MIN_OFFSETS_BITS || *offsets_bits > ACD_MAX_OFFSETS_BITS)
		return false;

	acd_set_gram_masks(t);
	t->filter_shift = 64 - *filter_bits;
	t->starts_shift = t->step != 0 ? 64 - *starts_bits : 0;
	t->offsets_shift = t->step != 0 ? 64 - *offsets_bits : 0;
	t->table_shift = 64 - *table_bits;
	t->table_mask = (UINT32_C(1) << *table_bits) - 1;
	return true;
}

/* Are so many slots of a table in use, and one at least is not? */
static bool
check_table(const acd_tier *t, uint32_t groups)
{
	uint32_t	used = 0;

	for (size_t i = 0; i <= t->table_mask; i++)
		used += acd_le32(t->table + i * ACD_PREFIX_SLOT_SIZE + ACD_PREFIX_REF) != 0;
	return used == groups && groups <= t->table_mask;
}

/* Take the tiers. */
bool
acd_open_tiers(acd_machine *machine, const unsigned char *tiers,
			   const unsigned char *filters, uint64_t filters_size,
			   const unsigned char *tables, uint64_t tables_size)
{
	for (uint32_t i = 0; i < machine->ntiers; i++)
	{
		acd_tier   *t = &machine->tiers[i];
		uint32_t	filter_bits;
		uint32_t	starts_bits;
		uint32_t	offsets_bits;
		uint32_t	table_bits;
		uint64_t	filter_bytes;
		uint64_t	starts_bytes;
		uint64_t	offsets_bytes;
		uint64_t	table_bytes;

		if (!read_tier(t, tiers + (size_t) i * ACD_TIER_SIZE, &filter_bits, &starts_bits,
					   &offsets_bits, &table_bits))
			return false;
		filter_bytes = UINT64_C(8) << filter_bits;
		starts_bytes = t->step != 0 ? UINT64_C(8) << starts_bits : 0;
		offsets_bytes = t->step != 0 ? UINT64_C(1) << offsets_bits : 0;
		table_bytes = (uint64_t) ACD_PREFIX_SLOT_SIZE << table_bits;
		if (filter_bytes + starts_bytes + offsets_bytes > filters_size || table_bytes > tables_size)
			return false;
		t->filter = filters;
		t->starts = t->step != 0 ? filters + filter_bytes : NULL;
		t->offsets = t->step != 0 ? filters + filter_bytes + starts_bytes : NULL;
		t->table = tables;
		filters += filter_bytes + starts_bytes + offsets_bytes;
		filters_size -= filter_bytes + starts_bytes + offsets_bytes;
		tables += table_bytes;
		tables_size -= table_bytes;
		if (!check_table(t, acd_le32(t->classes - ACD_TIER_CLASSES + ACD_TIER_GROUPS)))
			return false;
	}
	return filters_size == 0 && tables_size == 0;
}

/* Do a tier's classes let the prefix of a tree pass? */
static bool
classes_pass(const acd_tier *t, const unsigned char *prefix)
{
	if (t->step == 0)
		return acd_class_has(t->classes, prefix[0]) &&
			(t->window > 1 ? acd_class_has(t->classes + 32, prefix[1]) : true);
	for (uint32_t i = 0; i < t->window + t->step - 1; i++)
		if (!acd_class_has(t->classes, prefix[i]))
			return false;
	return true;
}

/* Are all bytes in the second class, as terms of one byte need? */
static bool
second_class_is_full(const acd_tier *t)
{
	for (unsigned c = 0; c < 256; c++)
		if (!acd_class_has(t->classes + 32, (unsigned char) c))
			return false;
	return true;
}

/* Trees that wait to be looked for. */
typedef struct batch
{
	uint32_t	n;
	uint32_t	root[BATCH];
	uint32_t	tier[BATCH];
	uint64_t	hash[BATCH];
	uint32_t	found[ACD_MAX_TIERS];	/* trees found so far */
} batch;

/* Look for the trees of a batch as a scan would. */
static bool
look_for(const acd_machine *m, batch *b)
{
	for (uint32_t i = 0; i < b->n; i++)
	{
		const acd_tier *t = &m->tiers[b->tier[i]];
		const unsigned char *prefix = m->nodes + b->root[i] + ACD_NODE_SIZE;
		uint32_t	ref = b->root[i];

		if ((acd_le16(m->nodes + ref + ACD_NODE_LABEL) & ACD_NODE_ROOT_DEEP) != 0)
			ref |= ACD_REF_DEEP;
		if (acd_tier_lookup(t, b->hash[i]) != ref || !classes_pass(t, prefix))
			return false;
		if (t->step == 0 && !acd_filter_has(t->filter, t->filter_shift, b->hash[i]))
			return false;
		if (t->step != 0 && !acd_filter_has(t->starts, t->starts_shift, b->hash[i]))
			return false;
		for (uint32_t o = 0; o < t->step; o++)
		{
			uint64_t	hash = acd_gram_hash(t, acd_le64(prefix + o));

			if (!acd_filter_has(t->filter, t->filter_shift, hash) ||
				(t->offsets[acd_offsets_index(t, hash)] >> o & 1) == 0)
				return false;
		}
		b->found[b->tier[i]]++;
	}
	b->n = 0;
	return true;
}

/* Check a root and put its tree into the batch. */
static bool
check_root(const acd_machine *m, batch *b, uint32_t offset)
{
	const unsigned char *root = m->nodes + offset;
	uint32_t	label = acd_le16(root + ACD_NODE_LABEL);
	uint32_t	tier = label & 0xFF;
	const acd_tier *t;

	if ((label & ~(uint32_t) (0xFF | ACD_NODE_ROOT_DEEP)) != 0 || tier >= m->ntiers ||
		((label & ACD_NODE_ROOT_DEEP) != 0 && m->nends == 0) ||
		acd_le32(root + ACD_NODE_UP) != 0 ||
		acd_le16(root + ACD_NODE_DEPTH) != acd_le16(root + ACD_NODE_PATH))
		return false;
	t = &m->tiers[tier];
	if (acd_le16(root + ACD_NODE_PATH) < 1 ||
		acd_le16(root + ACD_NODE_PATH) < acd_prefix_len(t, root[ACD_NODE_SIZE]))
		return false;
	b->root[b->n] = offset;
	b->tier[b->n] = tier;

	/* A prefix's hash may read beyond it, but not beyond the last padding. */
	b->hash[b->n] = acd_prefix_hash(t, root + ACD_NODE_SIZE);
	ACD_PREFETCH(t->table + (b->hash[b->n] >> t->table_shift) * ACD_PREFIX_SLOT_SIZE);
	if (t->step != 0)
		ACD_PREFETCH(t->starts + (b->hash[b->n] >> t->starts_shift) * 8);
	for (uint32_t o = 0; o < t->step; o++)
	{
		uint64_t	hash = acd_gram_hash(t, acd_le64(root + ACD_NODE_SIZE + o));

		ACD_PREFETCH(t->filter + (hash >> t->filter_shift) * 8);
		ACD_PREFETCH(t->offsets + acd_offsets_index(t, hash));
	}
	b->n++;
	return b->n < BATCH || look_for(m, b);
}

/* Check a node's own fields; *bytes is its size. */
static bool
check_node(const acd_machine *m, uint64_t offset, uint64_t end, size_t *bytes)
{
	const unsigned char *node = m->nodes + offset;
	uint32_t	term;
	uint32_t	depth;
	uint32_t	path;
	uint32_t	nchildren;
	const unsigned char *labels;

	if (end - offset < ACD_NODE_SIZE)
		return false;
	term = acd_le32(node + ACD_NODE_TERM);
	depth = acd_le16(node + ACD_NODE_DEPTH);
	path = acd_le16(node + ACD_NODE_PATH);
	nchildren = acd_le16(node + ACD_NODE_CHILDREN);
	*bytes = acd_node_bytes(path, nchildren);
	if (nchildren > 256 || *bytes > end - offset || path > depth ||
		term > m->nterms || (term == 0 && nchildren == 0))
		return false;
	if (term != 0 && (acd_le32(acd_term_record(m, term - 1) + ACD_TERM_NODE) != offset ||
					  acd_term_len(m, term - 1) != depth))
		return false;
	labels = node + ACD_NODE_SIZE + ((path + 3) & ~3u);
	for (uint32_t k = 1; k < nchildren; k++)
		if (labels[k] <= labels[k - 1])
			return false;
	return true;
}

/*
 * Check a node's children: they are the nodes from *next on.  Moves *next
 * behind them.
 */
static bool
check_children(const acd_machine *m, uint64_t offset, uint64_t end, uint64_t *next)
{
	const unsigned char *node = m->nodes + offset;
	uint32_t	n = acd_le16(node + ACD_NODE_CHILDREN);
	const unsigned char *labels = node + ACD_NODE_SIZE + ((acd_le16(node + ACD_NODE_PATH) + 3) & ~3u);

	for (uint32_t k = 0; k < n; k++)
	{
		const unsigned char *child = m->nodes + *next;
		size_t		bytes;

		if (acd_le32(labels + ((n + 3) & ~3u) + 4 * k) != *next ||
			!check_node(m, *next, end, &bytes) ||
			acd_le32(child + ACD_NODE_UP) != *next - offset ||
			acd_le16(child + ACD_NODE_LABEL) != labels[k] ||
			(uint32_t) acd_le16(node + ACD_NODE_DEPTH) + 1 + acd_le16(child + ACD_NODE_PATH) !=
			acd_le16(child + ACD_NODE_DEPTH))
			return false;
		*next += bytes;
	}
	return true;
}

/* Are so many bytes zero? */
static bool
is_zero(const unsigned char *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (bytes[i] != 0)
			return false;
	return true;
}

/*
 * Check the trees.  Children stand in the order in which nodes name them, so
 * that the next child is always the one behind the last.
 */
bool
acd_open_trees(const acd_machine *m)
{
	batch		b = {0};
	uint64_t	end;
	uint64_t	offset = ACD_NODES_FRONT;
	uint32_t	nnodes = 0;
	uint32_t	nterms = 0;

	if (m->nodes_size < ACD_NODES_FRONT + ACD_NODES_BACK)
		return false;
	end = m->nodes_size - ACD_NODES_BACK;
	if (!is_zero(m->nodes, ACD_NODES_FRONT) || !is_zero(m->nodes + end, ACD_NODES_BACK))
		return false;
	while (offset < end)
	{
		const acd_tier *tier;
		uint64_t	next;
		size_t		bytes;

		if (!check_node(m, offset, end, &bytes) || !check_root(m, &b, (uint32_t) offset))
			return false;
		tier = &m->tiers[acd_le16(m->nodes + offset + ACD_NODE_LABEL) & 0xFF];
		for (next = offset + bytes; offset < next;)
		{
			const unsigned char *node = m->nodes + offset;

			nnodes++;
			if (acd_le32(node + ACD_NODE_TERM) != 0)
			{
				nterms++;
				if (acd_le16(node + ACD_NODE_DEPTH) < tier->min_len ||
					acd_le16(node + ACD_NODE_DEPTH) > tier->max_len)
					return false;
			}
			if (!check_children(m, offset, end, &next))
				return false;
			offset += acd_node_bytes(acd_le16(node + ACD_NODE_PATH), acd_le16(node + ACD_NODE_CHILDREN));
		}
	}
	if (!look_for(m, &b) || nnodes != m->nnodes || nterms != m->nterms)
		return false;
	for (uint32_t t = 0; t < m->ntiers; t++)
	{
		const acd_tier *tier = &m->tiers[t];

		if (b.found[t] != acd_le32(tier->classes - ACD_TIER_CLASSES + ACD_TIER_GROUPS) ||
			(tier->step == 0 && tier->window == 1 && !second_class_is_full(tier)))
			return false;
	}
	return true;
}
