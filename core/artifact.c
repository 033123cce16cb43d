/*
 * artifact.c
 *		Compiling a builder's terms into an artifact.
 *
 * Everything in an artifact follows from its sorted terms, never from the
 * order they were added in.  The states grow in the artifact's own block,
 * behind room for the header, so that the largest part is never copied.
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

	acd_key    *long_keys;		/* sorted reversed long terms; index is their key */
	unsigned char *long_bytes;
	uint32_t	nlong;

	acd_trie	trie;
	acd_trie	long_trie;
	uint64_t	replacements_size;

	unsigned char *bytes;		/* the artifact */
	size_t		size;
	size_t		offset[ACD_SECTION_LAST + 1];
	size_t		section_size[ACD_SECTION_LAST + 1];
	uint32_t	nsections;
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
		c->nlong += len > ACD_LONG_TERM;
	}
	return ACD_OK;
}

/* Build and place the trie of the reversed long terms. */
static acd_status
build_long(compiler *c)
{
	size_t		total = 0;
	unsigned char *p;
	uint32_t	n = 0;
	acd_status	status;

	for (uint32_t k = 0; k < c->nkeys; k++)
		if (c->keys[k].len > ACD_LONG_TERM && !acd_add_size(total, c->keys[k].len, &total))
			return ACD_ERR_TOO_LARGE;
	c->long_keys = acd_alloc_array(c->allocator, c->nlong, sizeof(acd_key));
	c->long_bytes = acd_alloc_array(c->allocator, total, 1);
	if (c->long_keys == NULL || c->long_bytes == NULL)
		return ACD_ERR_NOMEM;

	p = c->long_bytes;
	for (uint32_t k = 0; k < c->nkeys; k++)
	{
		uint32_t	len = c->keys[k].len;

		if (len <= ACD_LONG_TERM)
			continue;
		c->long_keys[n].bytes = p;
		c->long_keys[n].len = len;
		c->long_keys[n].index = k;
		n++;
		for (uint32_t i = 0; i < len; i++)
			*p++ = c->keys[k].bytes[len - 1 - i];
	}
	status = acd_sort_keys(c->allocator, c->long_keys, c->nlong);
	if (status == ACD_OK)
		status = acd_trie_build(&c->long_trie, c->allocator, c->long_keys, c->nlong);
	if (status == ACD_OK)
		status = acd_trie_place(&c->long_trie, c->allocator, 0);
	return status;
}

/* Lay out the replacements by the first term that uses each. */
static acd_status
place_replacements(compiler *c)
{
	acd_builder *builder = c->builder;
	uint64_t	total = 0;

	for (uint32_t k = 0; k < c->nkeys; k++)
	{
		acd_entry  *entry = &builder->entries[c->keys[k].index];
		acd_replacement *r = &builder->replacements[entry->replacement];

		if (r->offset != ACD_UNPLACED)
			continue;
		r->offset = total;
		if (total > SIZE_MAX - r->len)
			return ACD_ERR_TOO_LARGE;
		total += r->len;
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

/* Decide where everything goes and bring the block to its final size. */
static acd_status
lay_out(compiler *c)
{
	size_t		used = c->trie.front + (size_t) c->trie.nslots * ACD_SLOT_SIZE;
	size_t		block_size;
	unsigned char *block;
	bool		ok;

	c->size = ACD_HEADER_SIZE + (size_t) c->nsections * ACD_ENTRY_SIZE;
	ok = add_section(c, ACD_SECTION_STATES, c->trie.nslots, ACD_SLOT_SIZE) &&
		add_section(c, ACD_SECTION_DEPTHS, c->trie.nslots, 2) &&
		add_section(c, ACD_SECTION_TERMS, c->nkeys, ACD_TERM_SIZE) &&
		add_section(c, ACD_SECTION_REPLACEMENTS, (size_t) c->replacements_size, 1);
	if (ok && c->nlong > 0)
		ok = add_section(c, ACD_SECTION_LONG_STATES, c->long_trie.nslots, ACD_SLOT_SIZE) &&
			add_section(c, ACD_SECTION_LONG_DEPTHS, c->long_trie.nslots, 2) &&
			add_section(c, ACD_SECTION_LONG_TERMS, c->nlong, ACD_LONG_SIZE);
	if (!ok || !acd_add_size(c->size, 7, &c->size))
		return ACD_ERR_TOO_LARGE;
	c->size &= ~(size_t) 7;
	if (!acd_add_size(c->size, c->reserve, &block_size))
		return ACD_ERR_TOO_LARGE;

	block = c->allocator->resize(c->allocator->ctx, c->trie.block, c->trie.block_size, block_size);
	if (block == NULL)
		return ACD_ERR_NOMEM;
	c->trie.block = block;
	c->trie.block_size = block_size;
	c->bytes = block + c->reserve;
	memset(c->bytes, 0, c->offset[ACD_SECTION_STATES]);
	memset(block + used, 0, block_size - used);
	return ACD_OK;
}

/* Write a term's record when the forward trie reaches it. */
static void
write_term(void *arg, uint32_t key, uint32_t slot, uint32_t next)
{
	compiler   *c = arg;
	const acd_entry *entry = &c->builder->entries[c->keys[key].index];
	const acd_replacement *r = &c->builder->replacements[entry->replacement];
	unsigned char *terms = c->bytes + c->offset[ACD_SECTION_TERMS];
	unsigned char *record = terms + (size_t) key * ACD_TERM_SIZE;
	uint32_t	best = key;

	/* Shorter suffixes are written already.  Longer wins among equals. */
	if (next != 0)
	{
		uint32_t	other = acd_le32(terms + (size_t) (next - 1) * ACD_TERM_SIZE + ACD_TERM_BEST);

		if (c->builder->entries[c->keys[other].index].priority > entry->priority)
			best = other;
	}
	acd_put64(record + ACD_TERM_ID, (uint64_t) entry->id);
	acd_put64(record + ACD_TERM_OFFSET, r->offset);
	acd_put32(record + ACD_TERM_BYTES, (uint32_t) r->len);
	acd_put32(record + ACD_TERM_PRIORITY, (uint32_t) entry->priority);
	acd_put32(record + ACD_TERM_LEN, entry->len);
	acd_put32(record + ACD_TERM_STATE, slot);
	acd_put32(record + ACD_TERM_NEXT, next);
	acd_put32(record + ACD_TERM_BEST, best);
}

/* Write a long term's record when the reversed trie reaches it. */
static void
write_long(void *arg, uint32_t key, uint32_t slot, uint32_t next)
{
	compiler   *c = arg;
	unsigned char *records = c->bytes + c->offset[ACD_SECTION_LONG_TERMS];
	unsigned char *record = records + (size_t) key * ACD_LONG_SIZE;
	uint32_t	term = c->long_keys[key].index;
	uint32_t	best = key;

	(void) slot;
	if (next != 0)
	{
		uint32_t	other = acd_le32(records + (size_t) (next - 1) * ACD_LONG_SIZE + ACD_LONG_BEST);
		const acd_entry *a = &c->builder->entries[c->keys[c->long_keys[other].index].index];
		const acd_entry *b = &c->builder->entries[c->keys[term].index];

		if (a->priority > b->priority || (a->priority == b->priority && a->id < b->id))
			best = other;
	}
	acd_put32(record + ACD_LONG_TERM_INDEX, term);
	acd_put32(record + ACD_LONG_NEXT, next);
	acd_put32(record + ACD_LONG_BEST, best);
}

/* Fill all sections. */
static void
write_sections(compiler *c)
{
	unsigned char *replacements = c->bytes + c->offset[ACD_SECTION_REPLACEMENTS];
	acd_builder *builder = c->builder;

	for (size_t i = 0; i < builder->nreplacements; i++)
	{
		const acd_replacement *r = &builder->replacements[i];

		if (r->offset != ACD_UNPLACED && r->len > 0)
			memcpy(replacements + r->offset, r->bytes, r->len);
	}
	acd_trie_link(&c->trie, c->bytes + c->offset[ACD_SECTION_STATES],
				  c->bytes + c->offset[ACD_SECTION_DEPTHS], write_term, c);
	if (c->nlong > 0)
	{
		memcpy(c->bytes + c->offset[ACD_SECTION_LONG_STATES], c->long_trie.block,
			   c->section_size[ACD_SECTION_LONG_STATES]);
		acd_trie_link(&c->long_trie, c->bytes + c->offset[ACD_SECTION_LONG_STATES],
					  c->bytes + c->offset[ACD_SECTION_LONG_DEPTHS], write_long, c);
	}
}

/* Write the header last, as it holds the digests of the rest. */
static void
write_header(compiler *c)
{
	unsigned char *h = c->bytes;

	memcpy(h + ACD_AT_MAGIC, acd_magic, ACD_MAGIC_LEN);
	acd_put16(h + ACD_AT_VERSION, ACD_VERSION);
	acd_put16(h + ACD_AT_HEADER_SIZE, ACD_HEADER_SIZE);
	acd_put64(h + ACD_AT_SIZE, c->size);
	acd_put32(h + ACD_AT_TERMS, c->nkeys);
	acd_put32(h + ACD_AT_STATES, c->trie.nnodes);
	acd_put32(h + ACD_AT_MIN_LEN, c->min_len);
	acd_put32(h + ACD_AT_MAX_LEN, c->max_len);
	acd_put32(h + ACD_AT_SECTIONS, c->nsections);
	for (uint32_t i = 0; i < c->nsections; i++)
	{
		unsigned char *entry = h + ACD_HEADER_SIZE + (size_t) i * ACD_ENTRY_SIZE;

		acd_put32(entry + ACD_ENTRY_TYPE, i + 1);
		acd_put64(entry + ACD_ENTRY_OFFSET, c->offset[i + 1]);
		acd_put64(entry + ACD_ENTRY_BYTES, c->section_size[i + 1]);
	}
	acd_sha256(h + ACD_AT_TERMS, c->size - ACD_AT_TERMS, h + ACD_AT_DIGEST);
	acd_put64(h + ACD_AT_CHECKSUM, acd_xxh64(h + ACD_AT_DIGEST, c->size - ACD_AT_DIGEST, 0));
}

/* Compile; what the compiler holds is freed by the caller. */
static acd_status
compile(compiler *c)
{
	size_t		front;
	acd_status	status;

	status = sort_terms(c);
	if (status != ACD_OK)
		return status;
	c->nsections = c->nlong > 0 ? ACD_SECTION_LONG_TERMS : ACD_SECTION_REPLACEMENTS;
	if (!acd_add_size(c->reserve, ACD_HEADER_SIZE + (size_t) c->nsections * ACD_ENTRY_SIZE, &front))
		return ACD_ERR_TOO_LARGE;
	/* lay_out puts the states here too: header and table end on 8 bytes */

	status = place_replacements(c);
	if (status == ACD_OK && c->nlong > 0)
		status = build_long(c);
	if (status == ACD_OK)
		status = acd_trie_build(&c->trie, c->allocator, c->keys, c->nkeys);
	if (status == ACD_OK)
		status = acd_trie_place(&c->trie, c->allocator, front);
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
		artifact->block = c.trie.block;
		artifact->reserved = reserve;
		artifact->size = c.size;
		artifact->terms = c.nkeys;
		artifact->duplicates = c.duplicates;
		c.trie.block = NULL;
	}
	acd_trie_free(&c.trie, c.allocator);
	acd_trie_free(&c.long_trie, c.allocator);
	acd_release(c.allocator, c.keys);
	acd_release(c.allocator, c.long_keys);
	acd_release(c.allocator, c.long_bytes);
	return status;
}
