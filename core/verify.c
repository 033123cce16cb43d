/*
 * verify.c
 *		Proof of what acd_machine_open does not need to know: the automaton.
 *
 * That terms are found by walking is known once a machine is open.  Here
 * terms are seen to be in order and distinct, trees to be cheap to walk or
 * in the automaton, and the automaton to be that of its terms.
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

/* The automaton under proof. */
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

/*
 * Mark the terms of deep trees in "deep", one byte a term, and see that
 * trees that can be slow to walk are marked deep.  "costs" has room for each
 * node: children follow in the order of their parents, which are met again
 * one after another.
 */
static bool
mark_deep(const acd_machine *m, unsigned char *deep, uint32_t *costs)
{
	size_t		offset = ACD_NODES_FRONT;
	size_t		end = (size_t) m->nodes_size - ACD_NODES_BACK;

	while (offset < end)
	{
		bool		marked = (acd_le16(m->nodes + offset + ACD_NODE_LABEL) & ACD_NODE_ROOT_DEEP) != 0;
		uint32_t	node_no = 0;
		uint32_t	next_no = 1;

		costs[0] = 0;
		for (; node_no < next_no; node_no++)
		{
			const unsigned char *node = m->nodes + offset;
			uint32_t	n = acd_le16(node + ACD_NODE_CHILDREN);
			const unsigned char *children = acd_node_children(acd_node_labels(node), n);

			costs[node_no] += 1 + acd_le16(node + ACD_NODE_PATH) / 32;
			if (costs[node_no] > ACD_DEEP_COST && !marked)
				return false;
			if (acd_le32(node + ACD_NODE_TERM) != 0)
				deep[acd_le32(node + ACD_NODE_TERM) - 1] = marked;
			for (uint32_t k = 0; k < n; k++)
			{
				uint32_t	child = acd_le32(children + 4 * (size_t) k);

				if ((child & ACD_NODE_LEAF) == 0)
				{
					costs[next_no++] = costs[node_no];
					continue;
				}
				if (costs[node_no] + 1 > ACD_DEEP_COST && !marked)
					return false;
				deep[child / 2] = marked;
			}
			offset += acd_node_bytes(acd_le16(node + ACD_NODE_PATH), n);
		}
	}
	return true;
}

/* Prove that patterns ascend; "buffers" has room for two. */
static bool
prove_order(const acd_machine *m, unsigned char *buffers)
{
	unsigned char *last = buffers;
	unsigned char *own = buffers + m->max_len;

	acd_machine_pattern(m, 0, last);
	for (uint32_t t = 1; t < m->nterms; t++)
	{
		uint32_t	last_len = acd_term_len(m, t - 1);
		uint32_t	len = acd_term_len(m, t);
		unsigned char *swap = own;
		int			order;

		acd_machine_pattern(m, t, own);
		order = memcmp(last, own, last_len < len ? last_len : len);
		if (order > 0 || (order == 0 && last_len >= len))
			return false;
		own = last;
		last = swap;
	}
	return true;
}

/*
 * Prove that the automaton holds exactly the terms of deep trees, each once,
 * reading them from their ends, and note each one's state.
 */
static bool
prove_ends(const acd_machine *m, unsigned char *deep, unsigned char *pattern, uint32_t *state_of)
{
	uint32_t	expected = 0;

	for (uint32_t t = 0; t < m->nterms; t++)
		expected += deep[t];
	if (expected != m->nends)
		return false;
	for (uint32_t i = 0; i < m->nends; i++)
	{
		uint32_t	term = acd_end_term(m, i);
		uint32_t	r = ACD_ROOT;

		if (!deep[term])
			return false;
		deep[term] = 0;
		acd_machine_pattern(m, term, pattern);
		for (uint32_t k = acd_term_len(m, term); k > 0; k--)
		{
			r = acd_child(m->states, r, pattern[k - 1]);
			if (r == ACD_NO_SLOT)
				return false;
		}
		if (acd_slot_out(m->states, r) != i + 1)
			return false;
		state_of[i] = r;
	}
	return true;
}

/* Which of two of the automaton's terms is the first? */
static uint32_t
first_of(const acd_machine *m, uint32_t end, uint32_t shorter)
{
	uint32_t	a = acd_end_term(m, shorter);
	uint32_t	b = acd_end_term(m, end);

	if (acd_term_priority(m, a) > acd_term_priority(m, b) ||
		(acd_term_priority(m, a) == acd_term_priority(m, b) && acd_term_id(m, a) < acd_term_id(m, b)))
		return shorter;
	return end;
}

/* Which of two of the automaton's terms wins a span? */
static uint32_t
cover_of(const acd_machine *m, uint32_t end, uint32_t shorter)
{
	return acd_term_priority(m, acd_end_term(m, shorter)) > acd_term_priority(m, acd_end_term(m, end)) ?
		shorter : end;
}

/*
 * Prove the outputs: each term ends in its own state, all others inherit,
 * and a leaf is a term.
 */
static bool
prove_outputs(const acd_machine *m, const proof *p, const uint32_t *state_of)
{
	for (uint32_t t = 1; t < m->nslots; t++)
	{
		uint32_t	out = acd_slot_out(m->states, t);
		uint32_t	inherited;
		uint32_t	first;
		uint32_t	cover;
		const unsigned char *record;

		if (acd_slot_check(m->states, t) == ACD_NO_SLOT)
			continue;
		inherited = acd_slot_out(m->states, acd_slot_fail(m->states, t));
		if (out == 0 || state_of[out - 1] != t)
		{
			if (out != inherited || p->child[t] == 0)
				return false;
			continue;
		}
		record = acd_end_record(m, out - 1);
		first = cover = out - 1;
		if (inherited != 0)
		{
			first = first_of(m, first, acd_le32(acd_end_record(m, inherited - 1) + ACD_END_FIRST));
			cover = cover_of(m, cover, acd_le32(acd_end_record(m, inherited - 1) + ACD_END_COVER));
		}
		if (acd_le32(record + ACD_END_NEXT) != inherited ||
			acd_le32(record + ACD_END_FIRST) != first || acd_le32(record + ACD_END_COVER) != cover)
			return false;
	}
	return true;
}

/* Prove the automaton, with scratch for five arrays of slots and the ends. */
static bool
prove_automaton(const acd_machine *m, uint32_t *scratch, unsigned char *deep, unsigned char *pattern)
{
	proof		p;
	uint32_t   *state_of;

	p.states = m->states;
	p.nslots = m->nslots;
	p.child = scratch;
	p.sibling = p.child + p.nslots;
	p.fail_child = p.sibling + p.nslots;
	p.fail_sibling = p.fail_child + p.nslots;
	p.shadowed = p.fail_sibling + p.nslots;
	state_of = p.shadowed + p.nslots;
	fill_lists(&p);
	return prove_failure_links(&p) && prove_ends(m, deep, pattern, state_of) &&
		prove_outputs(m, &p, state_of);
}

/* Prove a machine. */
acd_status
acd_machine_verify(const acd_machine *machine, const acd_allocator *allocator)
{
	unsigned char digest[ACD_DIGEST_LEN];
	size_t		count;
	uint32_t   *scratch;
	unsigned char *bytes;
	bool		ok;

	if (allocator == NULL)
		allocator = &acd_libc_allocator;
	acd_sha256(machine->bytes + ACD_AT_TERMS, machine->size - ACD_AT_TERMS, digest);
	if (memcmp(digest, machine->bytes + ACD_AT_DIGEST, ACD_DIGEST_LEN) != 0)
		return ACD_ERR_CORRUPT;

	if (!acd_mul_size(machine->nslots, 5, &count) || !acd_add_size(count, machine->nends, &count))
		return ACD_ERR_TOO_LARGE;
	count = count > machine->nnodes ? count : machine->nnodes;
	scratch = acd_alloc_array(allocator, count, sizeof(uint32_t));
	bytes = acd_alloc_array(allocator, (size_t) machine->max_len * 2 + machine->nterms, 1);
	if (scratch == NULL || bytes == NULL)
	{
		acd_release(allocator, scratch);
		acd_release(allocator, bytes);
		return ACD_ERR_NOMEM;
	}
	ok = prove_order(machine, bytes) &&
		mark_deep(machine, bytes + (size_t) machine->max_len * 2, scratch) &&
		(machine->nends == 0 ||
		 prove_automaton(machine, scratch, bytes + (size_t) machine->max_len * 2, bytes));
	acd_release(allocator, scratch);
	acd_release(allocator, bytes);
	return ok ? ACD_OK : ACD_ERR_CORRUPT;
}
