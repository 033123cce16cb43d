/*
 * verify.c
 *		Proof that a machine is the automaton of its terms.
 *
 * The failure link of goto(p, c) must be goto(f, c) of the nearest failure
 * ancestor f of p that has a child by c.  Following chains from every state
 * is quadratic on hostile input; instead the failure tree is walked depth
 * first while nearest[c] holds, for each byte, that child of the nearest
 * ancestor.  Each state then costs its number of children.  The argument is
 * an induction over depth: the links used for a state are of shallower ones.
 *
 * Copyright (c) 2026, the acdat_decoder authors; PostgreSQL licence
 */
#include "acd_internal.h"

/* One automaton under proof, the forward one or that of reversed long terms. */
typedef struct proof
{
	const unsigned char *states;
	uint32_t	nslots;

	/* Lists of trie children and of failure children; 0 ends a list. */
	uint32_t   *child;
	uint32_t   *sibling;
	uint32_t   *fail_child;
	uint32_t   *fail_sibling;
	uint32_t   *shadowed;		/* nearest[] entry that a state replaced */
	uint32_t	nearest[ACD_BLOCK];
} proof;

/* Byte that leads to t. */
static unsigned char
label_of(const proof *p, uint32_t t)
{
	return (unsigned char) (acd_slot_base(p->states, acd_slot_check(p->states, t)) ^ t);
}

/* Fill the lists. */
static void
fill_lists(proof *p)
{
	size_t		bytes = (size_t) p->nslots * sizeof(uint32_t);

	memset(p->child, 0, bytes);
	memset(p->sibling, 0, bytes);
	memset(p->fail_child, 0, bytes);
	memset(p->fail_sibling, 0, bytes);
	memset(p->nearest, 0, sizeof(p->nearest));
	for (uint32_t t = 1; t < p->nslots; t++)
	{
		uint32_t	parent = acd_slot_check(p->states, t);
		uint32_t	fail = acd_slot_fail(p->states, t);

		if (parent == ACD_NO_SLOT)
			continue;
		p->sibling[t] = p->child[parent];
		p->child[parent] = t;
		p->fail_sibling[t] = p->fail_child[fail];
		p->fail_child[fail] = t;
	}
}

/* Check the failure links of a state's children and let them shadow others. */
static bool
enter_state(proof *p, uint32_t s)
{
	for (uint32_t t = p->child[s]; t != 0; t = p->sibling[t])
	{
		unsigned char c = label_of(p, t);

		if (acd_slot_fail(p->states, t) != p->nearest[c])
			return false;
		p->shadowed[t] = p->nearest[c];
		p->nearest[c] = t;
	}
	return true;
}

/* Undo enter_state. */
static void
leave_state(proof *p, uint32_t s)
{
	for (uint32_t t = p->child[s]; t != 0; t = p->sibling[t])
		p->nearest[label_of(p, t)] = p->shadowed[t];
}

/* Walk the failure tree. */
static bool
prove_failure_links(proof *p)
{
	uint32_t	s = ACD_ROOT;

	if (!enter_state(p, s))
		return false;
	for (;;)
	{
		if (p->fail_child[s] != 0)
		{
			s = p->fail_child[s];
			if (!enter_state(p, s))
				return false;
			continue;
		}
		leave_state(p, s);
		while (s != ACD_ROOT && p->fail_sibling[s] == 0)
		{
			s = acd_slot_fail(p->states, s);
			leave_state(p, s);
		}
		if (s == ACD_ROOT)
			return true;
		s = p->fail_sibling[s];
		if (!enter_state(p, s))
			return false;
	}
}

/* Is a the better of two terms at one end in a cover span, b a suffix of a? */
static bool
suffix_beats(const acd_machine *m, uint32_t suffix, uint32_t term)
{
	return acd_term_priority(m, suffix) > acd_term_priority(m, term);
}

/*
 * Prove the outputs of the forward automaton: each term ends in its own
 * state, all others inherit, and a leaf is a term.
 */
static bool
prove_outputs(const acd_machine *m, const proof *p)
{
	for (uint32_t t = 1; t < m->nslots; t++)
	{
		uint32_t	out = acd_slot_out(m->states, t);
		uint32_t	inherited;
		uint32_t	term;
		uint32_t	best;

		if (acd_slot_check(m->states, t) == ACD_NO_SLOT)
			continue;
		inherited = acd_slot_out(m->states, acd_slot_fail(m->states, t));
		if (out == 0 || acd_le32(acd_term_record(m, out - 1) + ACD_TERM_STATE) != t)
		{
			if (out != inherited || p->child[t] == 0)
				return false;
			continue;
		}
		term = out - 1;
		best = term;
		if (inherited != 0 && suffix_beats(m, acd_term_best(m, inherited - 1), term))
			best = acd_term_best(m, inherited - 1);
		if (acd_term_next(m, term) != inherited || acd_term_best(m, term) != best)
			return false;
	}
	return true;
}

/*
 * Prove that the reversed automaton holds each long term once, reading it
 * from its end, and note each record's state.
 */
static bool
prove_long_terms(const acd_machine *m, uint32_t *state_of, uint32_t *seen)
{
	memset(seen, 0, (size_t) m->nterms * sizeof(uint32_t));
	for (uint32_t i = 0; i < m->nlong_terms; i++)
	{
		uint32_t	term = acd_le32(acd_long_record(m, i) + ACD_LONG_TERM_INDEX);
		uint32_t	s = acd_le32(acd_term_record(m, term) + ACD_TERM_STATE);
		uint32_t	r = ACD_ROOT;

		if (seen[term] != 0)
			return false;
		seen[term] = 1;
		while (s != ACD_ROOT)
		{
			uint32_t	parent = acd_slot_check(m->states, s);

			r = acd_child(m->long_states, r, (unsigned char) (acd_slot_base(m->states, parent) ^ s));
			if (r == ACD_NO_SLOT)
				return false;
			s = parent;
		}
		if (acd_slot_out(m->long_states, r) != i + 1)
			return false;
		state_of[i] = r;
	}
	return true;
}

/* Prove the outputs of the reversed automaton. */
static bool
prove_long_outputs(const acd_machine *m, const proof *p, const uint32_t *state_of)
{
	for (uint32_t t = 1; t < m->nlong_slots; t++)
	{
		uint32_t	out = acd_slot_out(m->long_states, t);
		uint32_t	inherited;
		uint32_t	best;

		if (acd_slot_check(m->long_states, t) == ACD_NO_SLOT)
			continue;
		inherited = acd_slot_out(m->long_states, acd_slot_fail(m->long_states, t));
		if (out == 0 || state_of[out - 1] != t)
		{
			if (out != inherited || p->child[t] == 0)
				return false;
			continue;
		}
		best = out - 1;
		if (inherited != 0)
		{
			uint32_t	other = acd_le32(acd_long_record(m, inherited - 1) + ACD_LONG_BEST);
			uint32_t	a = acd_le32(acd_long_record(m, other) + ACD_LONG_TERM_INDEX);
			uint32_t	b = acd_le32(acd_long_record(m, best) + ACD_LONG_TERM_INDEX);

			if (acd_term_priority(m, a) > acd_term_priority(m, b) ||
				(acd_term_priority(m, a) == acd_term_priority(m, b) &&
				 acd_term_id(m, a) < acd_term_id(m, b)))
				best = other;
		}
		if (acd_le32(acd_long_record(m, out - 1) + ACD_LONG_NEXT) != inherited ||
			acd_le32(acd_long_record(m, out - 1) + ACD_LONG_BEST) != best)
			return false;
	}
	return true;
}

/* Prove one automaton, with scratch for five arrays. */
static bool
prove_automaton(const acd_machine *m, uint32_t *scratch, bool reversed)
{
	proof		p;
	uint32_t   *rest;

	p.states = reversed ? m->long_states : m->states;
	p.nslots = reversed ? m->nlong_slots : m->nslots;
	p.child = scratch;
	p.sibling = p.child + p.nslots;
	p.fail_child = p.sibling + p.nslots;
	p.fail_sibling = p.fail_child + p.nslots;
	p.shadowed = p.fail_sibling + p.nslots;
	rest = p.shadowed + p.nslots;
	fill_lists(&p);
	if (!prove_failure_links(&p))
		return false;
	if (!reversed)
		return prove_outputs(m, &p);
	return prove_long_terms(m, rest, rest + m->nlong_terms) && prove_long_outputs(m, &p, rest);
}

/* Prove a machine. */
acd_status
acd_machine_verify(const acd_machine *machine, const acd_allocator *allocator)
{
	unsigned char digest[ACD_DIGEST_LEN];
	size_t		nslots = machine->nslots > machine->nlong_slots ? machine->nslots : machine->nlong_slots;
	size_t		count;
	uint32_t   *scratch;
	bool		ok;

	if (allocator == NULL)
		allocator = &acd_libc_allocator;
	acd_sha256(machine->bytes + ACD_AT_TERMS, machine->size - ACD_AT_TERMS, digest);
	if (memcmp(digest, machine->bytes + ACD_AT_DIGEST, ACD_DIGEST_LEN) != 0)
		return ACD_ERR_CORRUPT;

	if (!acd_mul_size(nslots, 5, &count) ||
		!acd_add_size(count, (size_t) machine->nlong_terms + machine->nterms, &count))
		return ACD_ERR_TOO_LARGE;
	scratch = acd_alloc_array(allocator, count, sizeof(uint32_t));
	if (scratch == NULL)
		return ACD_ERR_NOMEM;
	ok = prove_automaton(machine, scratch, false) &&
		(machine->nlong_terms == 0 || prove_automaton(machine, scratch, true));
	acd_release(allocator, scratch);
	return ok ? ACD_OK : ACD_ERR_CORRUPT;
}
