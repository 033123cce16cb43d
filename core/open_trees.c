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
		t->prefix < t->window || t->prefix > ACD_MAX_PREFIX || (t->step != 0 && t->prefix > t->min_len) ||
		t->multiplier % 2 == 0 ||
		*filter_bits < 1 || *filter_bits > ACD_MAX_FILTER_BITS ||
		*table_bits < 1 || *table_bits > ACD_MAX_TABLE_BITS)
		return false;
	memcpy(t->windows, record + ACD_TIER_WINDOWS, sizeof(t->windows));
	for (int i = 0; i < 16; i++)
		if (t->windows[i] < t->window || t->windows[i] > ACD_MAX_WINDOW ||
			(t->step != 0 && t->windows[i] != t->window))
			return false;
	if (t->step == 0 ?
		(t->prefix != t->window && t->prefix != ACD_MAX_WINDOW) || t->window > t->min_len ||
		*starts_bits != 0 || *offsets_bits != 0 :
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
	}
	return filters_size == 0 && tables_size == 0;
}

/* Trees of a tier; each has one slot of its table. */
static uint32_t
tier_groups(const acd_tier *t)
{
	return acd_le32(t->classes - ACD_TIER_CLASSES + ACD_TIER_GROUPS);
}

/* Are as many slots of each table in use as there are trees, and one at least is not? */
bool
acd_open_tables(const acd_machine *m, acd_xxh64_state *checksum)
{
	for (uint32_t i = 0; i < m->ntiers; i++)
	{
		const acd_tier *t = &m->tiers[i];
		uint32_t	used = 0;

		for (size_t k = 0; k <= t->table_mask; k++)
		{
			const unsigned char *slot = t->table + k * ACD_PREFIX_SLOT_SIZE;

			acd_checksum_along(checksum, slot);
			used += acd_le32(slot + ACD_PREFIX_REF) != 0;
		}
		if (used != tier_groups(t) || used > t->table_mask)
			return false;
	}
	return true;
}

/*
 * Trees of one tier that wait to be looked for: what a look needs is fetched
 * from memory meanwhile.
 */
typedef struct batch
{
	const acd_tier *tier;
	uint32_t	n;
	uint32_t	ref[BATCH];		/* as in the table */
	uint64_t	hash[BATCH];
	uint64_t	windows[BATCH][ACD_MAX_STEP];	/* hashes; only with steps */
	uint32_t	found[ACD_MAX_TIERS];	/* trees found so far */

	/* Bytes that the class of each tier with steps must hold. */
	unsigned char seen[ACD_MAX_TIERS][256];

	/* Classes of the tiers without, a bit each, that hold all bytes at one of the four places. */
	unsigned	full[ACD_MAX_TIERS][ACD_CLASS_BYTES];
} batch;

/* Look for the trees of a batch as a scan would. */
static bool
look_for(const acd_machine *m, batch *b)
{
	const acd_tier *t = b->tier;
	unsigned	found = 1;

	for (uint32_t i = 0; i < b->n; i++)
	{
		if (acd_tier_lookup(t, b->hash[i]) != b->ref[i])
			return false;
		if (t->step == 0)
			found &= acd_has_long_keys(t) ||	/* see node_passes */
				acd_filter_has(t->filter, t->filter_shift, b->hash[i]);
		else
			found &= acd_filter_has(t->starts, t->starts_shift, b->hash[i]);
		for (uint32_t o = 0; o < t->step; o++)
		{
			uint64_t	hash = b->windows[i][o];

			found &= acd_filter_has(t->filter, t->filter_shift, hash);
			found &= t->offsets[acd_offsets_index(t, hash)] >> o;
		}
	}
	if (t != NULL)
		b->found[t - m->tiers] += b->n;
	b->n = 0;
	return found != 0;
}

/* Classes, a bit each, of two tables of 16 bytes that hold all bytes. */
static unsigned
full_classes(const unsigned char *tables)
{
	unsigned	full = 0xFF;

	for (int i = 0; i < 32; i++)
		full &= tables[i];
	return full;
}

/* Would a start that begins with the path of a root be looked at, whatever follows? */
static inline bool
starts_pass(const acd_tier *t, const unsigned char *path, uint32_t known, const unsigned full[ACD_CLASS_BYTES])
{
	unsigned	common = 0xFF;

	for (uint32_t o = 0; o < ACD_CLASS_BYTES; o++)
		common &= o < known ? acd_classes_of(t->classes + 32 * o, path[o]) : full[o];
	return common != 0;
}

/* Put a tree into the batch. */
static inline void
add_to_batch(batch *b, const unsigned char *prefix, uint32_t ref, unsigned char seen[256])
{
	const acd_tier *t = b->tier;
	uint32_t	n = b->n++;

	/* A prefix's hash may read beyond it, but not beyond the last padding. */
	uint64_t	prefix_hash = acd_prefix_hash(t, prefix);

	b->ref[n] = ref;
	b->hash[n] = prefix_hash;
	ACD_PREFETCH(t->table + (prefix_hash >> t->table_shift) * ACD_PREFIX_SLOT_SIZE);
	if (t->step == 0)
	{
		ACD_PREFETCH(t->filter + (prefix_hash >> t->filter_shift) * 8);
		return;
	}

	ACD_PREFETCH(t->starts + (prefix_hash >> t->starts_shift) * 8);
	for (uint32_t o = 0; o < t->step; o++)
	{
		/* All windows of such a tier have the same length. */
		uint64_t	hash = (acd_le64(prefix + o) & t->gram_masks[0]) * t->multiplier;

		b->windows[n][o] = hash;
		ACD_PREFETCH(t->filter + (hash >> t->filter_shift) * 8);
		ACD_PREFETCH(t->offsets + acd_offsets_index(t, hash));
		seen[prefix[o]] = 1;
	}
	for (uint32_t i = t->step; i < t->window + t->step - 1; i++)
		seen[prefix[i]] = 1;
}

/* The first bytes, up to 8, of what leads to a node's end, as a little-endian word. */
static uint64_t
first_word(const acd_machine *m, uint64_t offset)
{
	unsigned char first[8] = {0};

	for (;;)
	{
		const unsigned char *node = m->nodes + offset;
		uint32_t	path = acd_le16(node + ACD_NODE_PATH);
		uint32_t	from = acd_le16(node + ACD_NODE_DEPTH) - path;
		uint32_t	up = acd_le32(node + ACD_NODE_UP);

		for (uint32_t i = from; i < 8 && i < from + path; i++)
			first[i] = node[ACD_NODE_SIZE + i - from];
		if (up == 0)
			return acd_le64(first);
		if (from <= 8)
			first[from - 1] = (unsigned char) acd_le16(node + ACD_NODE_LABEL);
		offset -= up;
	}
}

/*
 * Does a start filter of long keys hold the key of the terms that end in a
 * node or, if it is the first of 8 bytes or more, go through it?
 */
static bool
node_passes(const acd_machine *m, const acd_tier *t, uint64_t offset)
{
	const unsigned char *node = m->nodes + offset;
	uint32_t	depth = acd_le16(node + ACD_NODE_DEPTH);
	uint32_t	start = depth - acd_le16(node + ACD_NODE_PATH);
	uint64_t	word;
	uint64_t	hash;

	if (start > 8 || (depth < 8 && acd_le32(node + ACD_NODE_TERM) == 0))
		return true;
	if (start == 0)				/* a root, as most nodes are */
		word = acd_le64(node + ACD_NODE_SIZE) & (depth < 8 ? (UINT64_C(1) << (8 * depth)) - 1 : UINT64_MAX);
	else
		word = first_word(m, offset);
	hash = acd_gram_hash(t, word);
	return acd_start_has(t, word, hash, depth);
}

/* The same for a leaf without a path, below a node. */
static bool
leaf_passes(const acd_machine *m, const acd_tier *t, uint64_t parent, unsigned char label)
{
	uint32_t	before = acd_le16(m->nodes + parent + ACD_NODE_DEPTH);
	uint64_t	word;

	if (before >= 8)
		return true;
	word = first_word(m, parent) | (uint64_t) label << (8 * before);
	return acd_start_has(t, word, acd_gram_hash(t, word), before + 1);
}

/* Check a root's own fields and look for its tree. */
static inline bool
check_root(const acd_machine *m, batch *b, uint32_t offset)
{
	const unsigned char *root = m->nodes + offset;
	uint32_t	label = acd_le16(root + ACD_NODE_LABEL);
	uint32_t	tier = label & 0xFF;
	uint32_t	path = acd_le16(root + ACD_NODE_PATH);
	uint32_t	ref = offset;

	if ((label & ~(uint32_t) (0xFF | ACD_NODE_ROOT_DEEP)) != 0 || tier >= m->ntiers ||
		((label & ACD_NODE_ROOT_DEEP) != 0 && m->nends == 0) ||
		acd_le32(root + ACD_NODE_UP) != 0 || acd_le16(root + ACD_NODE_DEPTH) != path)
		return false;
	if (b->n == BATCH || b->tier != &m->tiers[tier])
	{
		if (!look_for(m, b))
			return false;
		b->tier = &m->tiers[tier];
	}
	if (path < 1 || path < acd_prefix_len(b->tier, root[ACD_NODE_SIZE]))
		return false;
	if (b->tier->step == 0 && !starts_pass(b->tier, root + ACD_NODE_SIZE, path, b->full[tier]))
		return false;
	if ((label & ACD_NODE_ROOT_DEEP) != 0)
		ref |= ACD_REF_DEEP;
	if (acd_le32(root + ACD_NODE_TERM) != 0 && path == acd_prefix_len(b->tier, root[ACD_NODE_SIZE]))
		ref |= ACD_REF_WHOLE;
	add_to_batch(b, root + ACD_NODE_SIZE, ref, b->seen[tier]);
	return true;
}

/* Does the class of a tier with steps let all trees pass? */
static bool
check_class(const acd_tier *t, const unsigned char seen[256])
{
	for (unsigned c = 0; c < 256; c++)
		if (seen[c] && acd_classes_of(t->classes, (unsigned char) c) == 0)
			return false;
	return true;
}

/* Check a node's own fields; *bytes is its size. */
static inline bool
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
	labels = acd_node_labels(node);
	for (uint32_t k = 1; k < nchildren; k++)
		if (labels[k] <= labels[k - 1])
			return false;
	return true;
}

/*
 * Check a node's children: leaves that are not nodes, whose terms ascend, so
 * that none is there twice, and the nodes from *next on.  Moves *next behind
 * these, and counts the leaves' terms.
 */
static bool
check_children(const acd_machine *m, const acd_tier *tier, uint64_t offset, uint64_t end, uint64_t *next,
			   uint32_t *nterms)
{
	const unsigned char *node = m->nodes + offset;
	uint32_t	n = acd_le16(node + ACD_NODE_CHILDREN);
	uint32_t	depth = (uint32_t) acd_le16(node + ACD_NODE_DEPTH) + 1;
	const unsigned char *labels = acd_node_labels(node);
	uint32_t	last = 0;

	for (uint32_t k = 0; k < n; k++)
	{
		uint32_t	ref = acd_le32(acd_node_children(labels, n) + 4 * (size_t) k);
		const unsigned char *child = m->nodes + *next;
		size_t		bytes;

		if ((ref & ACD_NODE_LEAF) != 0)
		{
			uint32_t	term = ref / 2;

			if (ref <= last || term >= m->nterms || depth < tier->min_len || depth > tier->max_len ||
				acd_le32(acd_term_record(m, term) + ACD_TERM_NODE) != offset + ACD_NODE_LEAF ||
				acd_term_len(m, term) != depth ||
				(acd_has_long_keys(tier) && !leaf_passes(m, tier, offset, labels[k])))
				return false;
			last = ref;
			(*nterms)++;
			continue;
		}
		if (ref != *next ||
			!check_node(m, *next, end, &bytes) ||
			acd_le32(child + ACD_NODE_UP) != *next - offset ||
			acd_le16(child + ACD_NODE_LABEL) != labels[k] ||
			depth + acd_le16(child + ACD_NODE_PATH) != acd_le16(child + ACD_NODE_DEPTH))
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
acd_open_trees(const acd_machine *m, acd_xxh64_state *checksum)
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
	for (uint32_t t = 0; t < m->ntiers; t++)
		for (int o = 0; o < ACD_CLASS_BYTES; o++)
			b.full[t][o] = full_classes(m->tiers[t].classes + 32 * o);
	while (offset < end)
	{
		const acd_tier *tier;
		uint64_t	next;
		size_t		bytes;

		acd_checksum_along(checksum, m->nodes + offset);
		if (!check_node(m, offset, end, &bytes) || !check_root(m, &b, (uint32_t) offset))
			return false;
		tier = b.tier;
		for (next = offset + bytes; offset < next;)
		{
			const unsigned char *node = m->nodes + offset;
			uint32_t	nchildren = acd_le16(node + ACD_NODE_CHILDREN);

			nnodes++;
			if (acd_has_long_keys(tier) && !node_passes(m, tier, offset))
				return false;
			if (acd_le32(node + ACD_NODE_TERM) != 0)
			{
				nterms++;
				if (acd_le16(node + ACD_NODE_DEPTH) < tier->min_len ||
					acd_le16(node + ACD_NODE_DEPTH) > tier->max_len)
					return false;
			}
			if (nchildren != 0 && !check_children(m, tier, offset, end, &next, &nterms))
				return false;
			offset += acd_node_bytes(acd_le16(node + ACD_NODE_PATH), nchildren);
		}
	}
	if (!look_for(m, &b) || nnodes != m->nnodes || nterms != m->nterms)
		return false;
	for (uint32_t t = 0; t < m->ntiers; t++)
		if (b.found[t] != tier_groups(&m->tiers[t]) || !check_class(&m->tiers[t], b.seen[t]))
			return false;
	return true;
}
