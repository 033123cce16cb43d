/*
 * plain.c
 *		The forward automaton of a machine's terms, in memory of its own.
 *
 * Checking seams needs the failure links that a machine does not keep.
 *
 * Copyright (c) 2026, the acdat_decoder authors; PostgreSQL licence
 */
#include "acd_internal.h"

/* Note where a term ends. */
static void
note_term(void *arg, uint32_t key, uint32_t slot, uint32_t next)
{
	acd_plain  *plain = arg;

	plain->state_of[key] = slot;
	plain->next[key] = next;
}

/* Spell all terms, which are in order, into keys. */
static acd_status
spell_terms(acd_plain *plain, const acd_machine *m, const acd_allocator *allocator, acd_key *keys)
{
	size_t		total = 0;
	unsigned char *p;

	for (uint32_t t = 0; t < m->nterms; t++)
		if (!acd_add_size(total, acd_term_len(m, t), &total))
			return ACD_ERR_TOO_LARGE;
	plain->patterns = acd_alloc_array(allocator, total, 1);
	if (plain->patterns == NULL)
		return ACD_ERR_NOMEM;
	p = plain->patterns;
	for (uint32_t t = 0; t < m->nterms; t++)
	{
		acd_machine_pattern(m, t, p);
		keys[t].bytes = p;
		keys[t].len = acd_term_len(m, t);
		keys[t].index = t;
		p += keys[t].len;
	}
	return ACD_OK;
}

/* Build the automaton of a machine's terms; to be freed on an error as well. */
acd_status
acd_plain_build(acd_plain *plain, const acd_machine *machine, const acd_allocator *allocator)
{
	acd_key    *keys = acd_alloc_array(allocator, machine->nterms, sizeof(acd_key));
	acd_trie	trie = {0};
	acd_status	status;

	memset(plain, 0, sizeof(*plain));
	if (keys == NULL)
		return ACD_ERR_NOMEM;
	plain->state_of = acd_alloc_array(allocator, machine->nterms, sizeof(uint32_t));
	plain->next = acd_alloc_array(allocator, machine->nterms, sizeof(uint32_t));
	status = plain->state_of != NULL && plain->next != NULL ? ACD_OK : ACD_ERR_NOMEM;
	if (status == ACD_OK)
		status = spell_terms(plain, machine, allocator, keys);
	if (status == ACD_OK)
		status = acd_trie_build(&trie, allocator, keys, machine->nterms);
	if (status == ACD_OK)
		status = acd_trie_place(&trie, allocator, 0);
	if (status == ACD_OK)
	{
		plain->depths = acd_alloc_array(allocator, trie.nslots, 2);
		status = plain->depths != NULL ? ACD_OK : ACD_ERR_NOMEM;
	}
	if (status == ACD_OK)
	{
		acd_trie_link(&trie, trie.block, plain->depths, note_term, plain);
		plain->states = trie.block;
		plain->nslots = trie.nslots;
		trie.block = NULL;
	}
	acd_trie_free(&trie, allocator);
	acd_release(allocator, keys);
	return status;
}

/* Free what acd_plain_build allocated. */
void
acd_plain_free(acd_plain *plain, const acd_allocator *allocator)
{
	acd_release(allocator, plain->states);
	acd_release(allocator, plain->depths);
	acd_release(allocator, plain->state_of);
	acd_release(allocator, plain->next);
	acd_release(allocator, plain->patterns);
	memset(plain, 0, sizeof(*plain));
}
