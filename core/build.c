/*
 * build.c
 *		Collecting terms for an artifact.
 *
 * Bytes of terms are copied into chunks that never move; equal replacements
 * are kept once.  artifact.c compiles what was collected.
 *
 * Copyright (c) 2026, the acdat_decoder authors; PostgreSQL licence
 */
#include "acd_build.h"

#define CHUNK_SIZE		65536
#define MAX_REPLACEMENT	((size_t) INT32_MAX)

/* Create a builder. */
acd_builder *
acd_builder_create(const acd_allocator *allocator)
{
	acd_builder *builder;

	if (allocator == NULL)
		allocator = &acd_libc_allocator;
	builder = allocator->alloc(allocator->ctx, sizeof(*builder));
	if (builder == NULL)
		return NULL;
	memset(builder, 0, sizeof(*builder));
	builder->allocator = *allocator;
	return builder;
}

/* Free a builder, which may be NULL. */
void
acd_builder_free(acd_builder *builder)
{
	acd_allocator allocator;

	if (builder == NULL)
		return;
	allocator = builder->allocator;
	while (builder->chunks != NULL)
	{
		acd_chunk  *next = builder->chunks->next;

		acd_release(&allocator, builder->chunks);
		builder->chunks = next;
	}
	acd_release(&allocator, builder->entries);
	acd_release(&allocator, builder->replacements);
	acd_release(&allocator, builder->buckets);
	acd_release(&allocator, builder);
}

/* Set the duplicate callback. */
void
acd_builder_on_duplicate(acd_builder *builder, acd_duplicate_fn fn, void *arg)
{
	builder->on_duplicate = fn;
	builder->duplicate_arg = arg;
}

/* Bytes that stay where they are until the builder is freed, or NULL. */
static unsigned char *
reserve_bytes(acd_builder *builder, size_t len)
{
	acd_chunk  *chunk = builder->chunks;
	size_t		size = len > CHUNK_SIZE / 4 ? len : CHUNK_SIZE;
	size_t		bytes;

	if (chunk != NULL && chunk->size - chunk->used >= len)
	{
		chunk->used += len;
		return chunk->bytes + chunk->used - len;
	}
	if (!acd_add_size(size, sizeof(acd_chunk), &bytes))
		return NULL;
	chunk = builder->allocator.alloc(builder->allocator.ctx, bytes);
	if (chunk == NULL)
		return NULL;
	chunk->size = size;
	chunk->used = len;

	/* A chunk made for one long string must not hide one with room. */
	if (size > CHUNK_SIZE && builder->chunks != NULL)
	{
		chunk->next = builder->chunks->next;
		builder->chunks->next = chunk;
	}
	else
	{
		chunk->next = builder->chunks;
		builder->chunks = chunk;
	}
	return chunk->bytes;
}

/* Double the hash table of replacements before it is half full. */
static acd_status
grow_buckets(acd_builder *builder)
{
	size_t		wanted = builder->nbuckets > 0 ? builder->nbuckets * 2 : 64;
	uint32_t   *buckets;

	if (builder->nreplacements * 2 < builder->nbuckets)
		return ACD_OK;
	buckets = acd_alloc_array(&builder->allocator, wanted, sizeof(uint32_t));
	if (buckets == NULL)
		return ACD_ERR_NOMEM;
	memset(buckets, 0, wanted * sizeof(uint32_t));
	for (size_t i = 0; i < builder->nreplacements; i++)
	{
		size_t		b = builder->replacements[i].hash & (wanted - 1);

		while (buckets[b] != 0)
			b = (b + 1) & (wanted - 1);
		buckets[b] = (uint32_t) i + 1;
	}
	acd_release(&builder->allocator, builder->buckets);
	builder->buckets = buckets;
	builder->nbuckets = wanted;
	return ACD_OK;
}

/* Find or add a replacement. */
static acd_status
intern_replacement(acd_builder *builder, const void *bytes, size_t len, uint32_t *index)
{
	uint64_t	hash = acd_xxh64(bytes, len, 0);
	acd_replacement *r;
	unsigned char *copy = NULL;
	acd_status	status;
	size_t		b;

	status = grow_buckets(builder);
	if (status != ACD_OK)
		return status;
	for (b = hash & (builder->nbuckets - 1); builder->buckets[b] != 0;
		 b = (b + 1) & (builder->nbuckets - 1))
	{
		r = &builder->replacements[builder->buckets[b] - 1];
		if (r->hash == hash && r->len == len && (len == 0 || memcmp(r->bytes, bytes, len) == 0))
		{
			*index = builder->buckets[b] - 1;
			return ACD_OK;
		}
	}

	r = acd_grow_array(&builder->allocator, builder->replacements,
					   &builder->replacements_capacity, builder->nreplacements,
					   sizeof(acd_replacement));
	if (r == NULL)
		return ACD_ERR_NOMEM;
	builder->replacements = r;
	if (len > 0)
	{
		copy = reserve_bytes(builder, len);
		if (copy == NULL)
			return ACD_ERR_NOMEM;
		memcpy(copy, bytes, len);
	}
	r = &builder->replacements[builder->nreplacements];
	r->bytes = copy;
	r->len = len;
	r->hash = hash;
	r->offset = ACD_UNPLACED;
	*index = (uint32_t) builder->nreplacements++;
	builder->buckets[b] = *index + 1;
	return ACD_OK;
}

/* Put all terms into the automaton. */
void
acd_builder_full_automaton(acd_builder *builder, bool full)
{
	if (builder != NULL)
		builder->full_automaton = full;
}

/* Add a term. */
acd_status
acd_builder_add(acd_builder *builder, const acd_term *term)
{
	acd_entry  *entry;
	unsigned char *copy;
	uint32_t	replacement;
	acd_status	status;

	if (builder == NULL || builder->finished || term == NULL)
		return ACD_ERR_ARGUMENT;
	if (term->pattern_len == 0)
		return ACD_ERR_EMPTY_TERM;
	if (term->pattern_len > ACD_MAX_TERM_LEN)
		return ACD_ERR_TERM_TOO_LONG;
	if (term->pattern == NULL || (term->replacement == NULL && term->replacement_len > 0) ||
		term->replacement_len > MAX_REPLACEMENT)
		return ACD_ERR_ARGUMENT;
	if (builder->nentries >= ACD_MAX_TERMS)
		return ACD_ERR_TOO_MANY_TERMS;

	entry = acd_grow_array(&builder->allocator, builder->entries, &builder->entries_capacity,
						   builder->nentries, sizeof(acd_entry));
	if (entry == NULL)
		return ACD_ERR_NOMEM;
	builder->entries = entry;
	status = intern_replacement(builder, term->replacement, term->replacement_len, &replacement);
	if (status != ACD_OK)
		return status;
	copy = reserve_bytes(builder, term->pattern_len);
	if (copy == NULL)
		return ACD_ERR_NOMEM;
	memcpy(copy, term->pattern, term->pattern_len);

	entry = &builder->entries[builder->nentries++];
	entry->pattern = copy;
	entry->len = (uint32_t) term->pattern_len;
	entry->replacement = replacement;
	entry->id = term->id;
	entry->priority = term->priority;
	return ACD_OK;
}

/* Add all terms of a machine; on an error those before it stay. */
acd_status
acd_builder_add_machine(acd_builder *builder, const acd_machine *machine)
{
	acd_status	status = ACD_OK;
	unsigned char *pattern;

	if (builder == NULL || builder->finished || machine == NULL)
		return ACD_ERR_ARGUMENT;
	pattern = acd_alloc_array(&builder->allocator, machine->max_len, 1);
	if (pattern == NULL)
		return ACD_ERR_NOMEM;
	for (uint32_t i = 0; status == ACD_OK && i < machine->nterms; i++)
	{
		acd_term_info info;
		acd_term	term;

		acd_machine_term(machine, i, &info);
		acd_machine_pattern(machine, i, pattern);
		term.pattern = pattern;
		term.pattern_len = info.pattern_len;
		term.replacement = info.replacement;
		term.replacement_len = info.replacement_len;
		term.id = info.id;
		term.priority = info.priority;
		status = acd_builder_add(builder, &term);
	}
	acd_release(&builder->allocator, pattern);
	return status;
}
