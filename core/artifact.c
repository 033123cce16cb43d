/*
 * artifact.c
 *		Compiling a builder's terms into an artifact.
 *
 * Everything in an artifact follows from its sorted terms, never from the
 * order they were added in.
 *
 * Copyright (c) 2026, the acdat_decoder authors; PostgreSQL licence
 */
#include "acd_build.h"

const unsigned char acd_magic[ACD_MAGIC_LEN] = {0x89, 'A', 'C', 'D', '\r', '\n', 0x1A, '\n'};

/* The work of one acd_builder_finish. */
typedef struct compiler
{
	acd_builder *builder;
	const acd_allocator *allocator;
	size_t		reserve;

	acd_key    *keys;			/* sorted distinct terms; index is their entry */
	uint32_t	nkeys;
	uint32_t	duplicates;
	uint32_t	min_len;
	uint32_t	max_len;

	acd_tier_set tiers;

	acd_key    *ends;			/* sorted reversed terms of the automaton; index is their key */
	unsigned char *ends_bytes;
	uint32_t	nends;
	acd_trie	trie;
	uint64_t	replacements_size;
	bool		wide;			/* some id or priority needs a wide record */

	unsigned char *block;
	unsigned char *bytes;		/* the artifact in the block */
	size_t		size;
	size_t		offset[ACD_SECTION_LAST + 1];
	size_t		section_size[ACD_SECTION_LAST + 1];
} compiler;

/*
 * Should entry a be kept rather than b of the same pattern?  Where priority
 * and id tie the replacement decides, so that no order of adding matters.
 */
static bool
entry_beats(const acd_builder *builder, const acd_entry *a, const acd_entry *b)
{
	const acd_replacement *ra = &builder->replacements[a->replacement];
	const acd_replacement *rb = &builder->replacements[b->replacement];

	if (a->priority != b->priority)
		return a->priority > b->priority;
	if (a->id != b->id)
		return a->id < b->id;
	if (ra == rb)
		return false;
	if (ra->len != rb->len)
		return ra->len < rb->len;
	return memcmp(ra->bytes, rb->bytes, ra->len) < 0;
}

/* Keep the best entry of each pattern. */
static void
drop_duplicates(compiler *c)
{
	acd_builder *builder = c->builder;
	uint32_t	kept = 0;

	for (uint32_t i = 0; i < c->nkeys;)
	{
		uint32_t	best = i;
		uint32_t	end;

		for (end = i + 1; end < c->nkeys && c->keys[end].len == c->keys[i].len &&
			 memcmp(c->keys[end].bytes, c->keys[i].bytes, c->keys[i].len) == 0; end++)
		{
			if (entry_beats(builder, &builder->entries[c->keys[end].index],
							&builder->entries[c->keys[best].index]))
				best = end;
		}
		for (uint32_t k = i; k < end; k++)
		{
			if (k == best)
				continue;
			c->duplicates++;
			if (builder->on_duplicate != NULL)
				builder->on_duplicate(builder->duplicate_arg,
									  builder->entries[c->keys[best].index].id,
									  builder->entries[c->keys[k].index].id);
		}
		c->keys[kept++] = c->keys[best];
		i = end;
	}
	c->nkeys = kept;
}

/* Sort the entries and merge duplicates. */
static acd_status
sort_terms(compiler *c)
{
	acd_builder *builder = c->builder;
	acd_status	status;

	c->nkeys = (uint32_t) builder->nentries;
	c->keys = acd_alloc_array(c->allocator, c->nkeys, sizeof(acd_key));
	if (c->keys == NULL)
		return ACD_ERR_NOMEM;
	for (uint32_t i = 0; i < c->nkeys; i++)
	{
		c->keys[i].bytes = builder->entries[i].pattern;
		c->keys[i].len = builder->entries[i].len;
		c->keys[i].index = i;
	}
	status = acd_sort_keys(c->allocator, c->keys, c->nkeys);
	if (status != ACD_OK)
		return status;
	drop_duplicates(c);

	c->min_len = ACD_MAX_TERM_LEN;
	for (uint32_t k = 0; k < c->nkeys; k++)
	{
		uint32_t	len = c->keys[k].len;

		c->min_len = len < c->min_len ? len : c->min_len;
		c->max_len = len > c->max_len ? len : c->max_len;
	}
	return ACD_OK;
}

/*
 * Decide which terms the automaton holds: those of deep trees, and all if
 * these are many.  Leaves the mark of each key in "marks".
 */
static void
choose_ends(compiler *c, unsigned char *marks)
{
	acd_tier_set *set = &c->tiers;

	memset(marks, 0, c->nkeys);
	for (int pass = 0; pass < 2; pass++)
	{
		bool		all = pass == 1;

		if (all && !c->builder->full_automaton && c->nends < c->nkeys - c->nkeys / 2)
			return;
		c->nends = 0;
		for (uint32_t t = 0; t < set->ntiers; t++)
		{
			const acd_tier_plan *plan = &set->plans[t];
			uint32_t	g = plan->first_group;
			uint32_t	deep = 0;

			for (uint32_t i = plan->first; i < plan->first + plan->nterms; i++)
			{
				if (g < plan->first_group + plan->ngroups && set->order[i] == set->groups[g].key)
				{
					unsigned char *root = set->forest.bytes + (set->groups[g].ref & ACD_REF_MASK);

					if (all)
						acd_put16(root + ACD_NODE_LABEL, (uint16_t) (t | ACD_NODE_ROOT_DEEP));
					if (all)
						set->groups[g].ref |= ACD_REF_DEEP;
					deep = set->groups[g++].ref & ACD_REF_DEEP;
				}
				marks[set->order[i]] = deep != 0;
				c->nends += deep != 0;
			}
		}
	}
}

/* Reverse the marked keys and build their trie. */
static acd_status
build_automaton(compiler *c, const unsigned char *marks)
{
	size_t		total = 0;
	unsigned char *p;
	uint32_t	n = 0;
	acd_status	status;

	for (uint32_t k = 0; k < c->nkeys; k++)
		if (marks[k] && !acd_add_size(total, c->keys[k].len, &total))
			return ACD_ERR_TOO_LARGE;
	c->ends = acd_alloc_array(c->allocator, c->nends, sizeof(acd_key));
	c->ends_bytes = acd_alloc_array(c->allocator, total, 1);
	if (c->ends == NULL || c->ends_bytes == NULL)
		return ACD_ERR_NOMEM;

	p = c->ends_bytes;
	for (uint32_t k = 0; k < c->nkeys; k++)
	{
		uint32_t	len = c->keys[k].len;

		if (!marks[k])
			continue;
		c->ends[n].bytes = p;
		c->ends[n].len = len;
		c->ends[n].index = k;
		n++;
		for (uint32_t i = 0; i < len; i++)
			*p++ = c->keys[k].bytes[len - 1 - i];
	}
	status = acd_sort_keys(c->allocator, c->ends, c->nends);
	if (status == ACD_OK)
		status = acd_trie_build(&c->trie, c->allocator, c->ends, c->nends);
	if (status == ACD_OK)
		status = acd_trie_place(&c->trie, c->allocator, 0);
	return status;
}

/* Build tiers, trees and, where it is needed, the automaton. */
static acd_status
build_engines(compiler *c)
{
	unsigned char *marks;
	acd_status	status;

	status = acd_tiers_build(&c->tiers, c->allocator, c->keys, c->nkeys);
	if (status != ACD_OK)
		return status;
	marks = acd_alloc_array(c->allocator, c->nkeys, 1);
	if (marks == NULL)
		return ACD_ERR_NOMEM;
	choose_ends(c, marks);
	if (c->nends > 0)
		status = build_automaton(c, marks);
	acd_release(c->allocator, marks);
	if (status == ACD_OK)
		status = acd_tiers_fill(&c->tiers, c->allocator, c->keys);
	return status;
}

/* Does a term's record have room for its id and priority? */
static bool
is_narrow(const acd_entry *entry)
{
	return entry->id >= 0 && entry->id <= UINT32_MAX && entry->priority >= INT16_MIN && entry->priority <= INT16_MAX;
}

/*
 * Lay out the replacements by the first term that uses each, and see whether
 * records of terms are wide enough.
 */
static acd_status
place_replacements(compiler *c)
{
	acd_builder *builder = c->builder;
	uint64_t	total = 0;

	for (uint32_t k = 0; k < c->nkeys; k++)
	{
		acd_entry  *entry = &builder->entries[c->keys[k].index];
		acd_replacement *r = &builder->replacements[entry->replacement];

		c->wide = c->wide || !is_narrow(entry);
		if (r->offset != ACD_UNPLACED)
			continue;
		r->offset = total;
		total += (ACD_REPLACEMENT_FRONT + (uint64_t) r->len + ACD_REPLACEMENT_UNIT - 1) &
			~(uint64_t) (ACD_REPLACEMENT_UNIT - 1);
		if (total > SIZE_MAX || total / ACD_REPLACEMENT_UNIT > UINT32_MAX)
			return ACD_ERR_TOO_LARGE;
	}
	c->replacements_size = total;
	return ACD_OK;
}

/* Reserve a section after those before it. */
static bool
add_section(compiler *c, int type, size_t count, size_t size)
{
	size_t		bytes;

	if (!acd_mul_size(count, size, &bytes) || c->size > SIZE_MAX - 7)
		return false;
	c->size = (c->size + 7) & ~(size_t) 7;
	c->offset[type] = c->size;
	c->section_size[type] = bytes;
	return acd_add_size(c->size, bytes, &c->size);
}

/* Does the artifact have a section of this type? */
static bool
has_section(const compiler *c, int type)
{
	return type <= ACD_SECTION_NODES || (type == ACD_SECTION_WIDE ? c->wide : c->nends > 0);
}

/* Number of its sections. */
static uint32_t
section_count(const compiler *c)
{
	uint32_t	n = 0;

	for (int type = 1; type <= ACD_SECTION_LAST; type++)
		n += has_section(c, type);
	return n;
}

/* Decide where everything goes and allocate the block. */
static acd_status
lay_out(compiler *c)
{
	size_t		block_size;
	bool		ok;

	c->size = ACD_HEADER_SIZE + (size_t) section_count(c) * ACD_ENTRY_SIZE;
	ok = add_section(c, ACD_SECTION_TERMS, c->nkeys, ACD_TERM_SIZE) &&
		add_section(c, ACD_SECTION_REPLACEMENTS, (size_t) c->replacements_size, 1) &&
		add_section(c, ACD_SECTION_TIERS, c->tiers.ntiers, ACD_TIER_SIZE) &&
		add_section(c, ACD_SECTION_FILTERS, acd_tiers_filter_bytes(&c->tiers), 1) &&
		add_section(c, ACD_SECTION_TABLES, acd_tiers_table_bytes(&c->tiers), 1) &&
		add_section(c, ACD_SECTION_NODES, c->tiers.forest.size, 1);
	if (ok && c->nends > 0)
		ok = add_section(c, ACD_SECTION_STATES, c->trie.nslots, ACD_SLOT_SIZE) &&
			add_section(c, ACD_SECTION_DEPTHS, c->trie.nslots, 2) &&
			add_section(c, ACD_SECTION_ENDS, c->nends, ACD_END_SIZE);
	if (ok && c->wide)
		ok = add_section(c, ACD_SECTION_WIDE, c->nkeys, ACD_WIDE_SIZE);
	if (!ok || !acd_add_size(c->size, 7, &c->size))
		return ACD_ERR_TOO_LARGE;
	c->size &= ~(size_t) 7;
	if (!acd_add_size(c->size, c->reserve, &block_size))
		return ACD_ERR_TOO_LARGE;

	c->block = acd_alloc_array(c->allocator, block_size, 1);
	if (c->block == NULL)
		return ACD_ERR_NOMEM;
	memset(c->block, 0, block_size);
	c->bytes = c->block + c->reserve;
	return ACD_OK;
}

/* Write the terms' records. */
static void
write_terms(compiler *c)
{
	for (uint32_t k = 0; k < c->nkeys; k++)
	{
		const acd_entry *entry = &c->builder->entries[c->keys[k].index];
		const acd_replacement *r = &c->builder->replacements[entry->replacement];
		unsigned char *record = c->bytes + c->offset[ACD_SECTION_TERMS] + (size_t) k * ACD_TERM_SIZE;

		acd_put32(record + ACD_TERM_REPLACEMENT, (uint32_t) (r->offset / ACD_REPLACEMENT_UNIT));
		acd_put32(record + ACD_TERM_NODE, c->tiers.forest.node_of[k]);
		acd_put16(record + ACD_TERM_LEN, (uint16_t) entry->len);
		if (c->wide)
		{
			unsigned char *wide = c->bytes + c->offset[ACD_SECTION_WIDE] + (size_t) k * ACD_WIDE_SIZE;

			acd_put64(wide + ACD_WIDE_ID, (uint64_t) entry->id);
			acd_put32(wide + ACD_WIDE_PRIORITY, (uint32_t) entry->priority);
		}
		else
		{
			acd_put32(record + ACD_TERM_ID, (uint32_t) entry->id);
			acd_put16(record + ACD_TERM_PRIORITY, (uint16_t) entry->priority);
		}
	}
}

/* Entry of a term of the automaton. */
static const acd_entry *
end_entry(const compiler *c, uint32_t end)
{
	return &c->builder->entries[c->keys[c->ends[end].index].index];
}

/* Write a record of the automaton's terms when the trie reaches it. */
static void
write_end(void *arg, uint32_t key, uint32_t slot, uint32_t next)
{
	compiler   *c = arg;
	unsigned char *records = c->bytes + c->offset[ACD_SECTION_ENDS];
	unsigned char *record = records + (size_t) key * ACD_END_SIZE;
	uint32_t	first = key;
	uint32_t	cover = key;

	(void) slot;

	/* Shorter ones are written already. */
	if (next != 0)
	{
		const unsigned char *shorter = records + (size_t) (next - 1) * ACD_END_SIZE;
		const acd_entry *own = end_entry(c, key);
		const acd_entry *other = end_entry(c, acd_le32(shorter + ACD_END_FIRST));

		if (other->priority > own->priority ||
			(other->priority == own->priority && other->id < own->id))
			first = acd_le32(shorter + ACD_END_FIRST);
		if (end_entry(c, acd_le32(shorter + ACD_END_COVER))->priority > own->priority)
			cover = acd_le32(shorter + ACD_END_COVER);
	}
	acd_put32(record + ACD_END_TERM, c->ends[key].index);
	acd_put32(record + ACD_END_NEXT, next);
	acd_put32(record + ACD_END_FIRST, first);
	acd_put32(record + ACD_END_COVER, cover);
}

/* Fill all sections. */
static void
write_sections(compiler *c)
{
	unsigned char *replacements = c->bytes + c->offset[ACD_SECTION_REPLACEMENTS];
	acd_builder *builder = c->builder;

	write_terms(c);
	for (size_t i = 0; i < builder->nreplacements; i++)
	{
		const acd_replacement *r = &builder->replacements[i];

		if (r->offset == ACD_UNPLACED)
			continue;
		acd_put32(replacements + r->offset, (uint32_t) r->len);
		if (r->len > 0)
			memcpy(replacements + r->offset + ACD_REPLACEMENT_FRONT, r->bytes, r->len);
	}
	memcpy(c->bytes + c->offset[ACD_SECTION_NODES], c->tiers.forest.bytes, c->tiers.forest.size);
	if (c->nends > 0)
	{
		memcpy(c->bytes + c->offset[ACD_SECTION_STATES], c->trie.block,
			   c->section_size[ACD_SECTION_STATES]);
		acd_trie_link(&c->trie, c->bytes + c->offset[ACD_SECTION_STATES],
					  c->bytes + c->offset[ACD_SECTION_DEPTHS], write_end, c);
	}
	acd_tiers_write(&c->tiers, c->bytes + c->offset[ACD_SECTION_TIERS],
					c->bytes + c->offset[ACD_SECTION_FILTERS], c->bytes + c->offset[ACD_SECTION_TABLES]);
}

/* Write the header last, as it holds the digests of the rest. */
static void
write_header(compiler *c)
{
	unsigned char *h = c->bytes;
	unsigned char *entry = h + ACD_HEADER_SIZE;

	memcpy(h + ACD_AT_MAGIC, acd_magic, ACD_MAGIC_LEN);
	acd_put16(h + ACD_AT_VERSION, ACD_VERSION);
	acd_put16(h + ACD_AT_HEADER_SIZE, ACD_HEADER_SIZE);
	acd_put64(h + ACD_AT_SIZE, c->size);
	acd_put32(h + ACD_AT_TERMS, c->nkeys);
	acd_put32(h + ACD_AT_NODES, c->tiers.forest.nnodes);
	acd_put32(h + ACD_AT_MIN_LEN, c->min_len);
	acd_put32(h + ACD_AT_MAX_LEN, c->max_len);
	acd_put32(h + ACD_AT_SECTIONS, section_count(c));
	acd_put32(h + ACD_AT_TIERS, c->tiers.ntiers);
	for (int type = 1; type <= ACD_SECTION_LAST; type++)
	{
		if (!has_section(c, type))
			continue;
		acd_put32(entry + ACD_ENTRY_TYPE, (uint32_t) type);
		acd_put64(entry + ACD_ENTRY_OFFSET, c->offset[type]);
		acd_put64(entry + ACD_ENTRY_BYTES, c->section_size[type]);
		entry += ACD_ENTRY_SIZE;
	}
	acd_sha256(h + ACD_AT_TERMS, c->size - ACD_AT_TERMS, h + ACD_AT_DIGEST);
	acd_put64(h + ACD_AT_CHECKSUM, acd_xxh64(h + ACD_AT_DIGEST, c->size - ACD_AT_DIGEST, 0));
}

/* Compile; what the compiler holds is freed by the caller. */
static acd_status
compile(compiler *c)
{
	acd_status	status;

	status = sort_terms(c);
	if (status == ACD_OK)
		status = place_replacements(c);
	if (status == ACD_OK)
		status = build_engines(c);
	if (status == ACD_OK)
		status = lay_out(c);
	if (status != ACD_OK)
		return status;
	write_sections(c);
	write_header(c);
	return ACD_OK;
}

/* Compile the terms of a builder. */
acd_status
acd_builder_finish(acd_builder *builder, size_t reserve, acd_artifact *artifact)
{
	compiler	c;
	acd_status	status;

	if (builder == NULL || builder->finished || artifact == NULL)
		return ACD_ERR_ARGUMENT;
	if (builder->nentries == 0)
		return ACD_ERR_NO_TERMS;
	builder->finished = true;

	memset(&c, 0, sizeof(c));
	c.builder = builder;
	c.allocator = &builder->allocator;
	c.reserve = reserve;
	status = compile(&c);
	if (status == ACD_OK)
	{
		artifact->block = c.block;
		artifact->reserved = reserve;
		artifact->size = c.size;
		artifact->terms = c.nkeys;
		artifact->duplicates = c.duplicates;
		c.block = NULL;
	}
	acd_tiers_free(&c.tiers, c.allocator);
	acd_trie_free(&c.trie, c.allocator);
	acd_release(c.allocator, c.block);
	acd_release(c.allocator, c.keys);
	acd_release(c.allocator, c.ends);
	acd_release(c.allocator, c.ends_bytes);
	return status;
}
