/*
 * seam.c
 *		Which replacements could leave or make a term in redacted text.
 *
 * The distinct replacements become a machine of their own.  Reading every
 * term with it finds replacements inside terms and, at each term's end, the
 * prefixes of replacements that are suffixes of the term; reading every
 * replacement with the terms' machines finds the converse, or searching for
 * it where replacements are few.  Marks stop every chain at what was marked
 * before, so all of it is linear.
 *
 * Copyright (c) 2026, the acdat_decoder authors; PostgreSQL licence
 */
#include "acd_internal.h"

/* A replacement, by the first term that has it. */
typedef struct item
{
	const unsigned char *bytes;
	size_t		len;
	uint64_t	content_hash;
	uint32_t	machine;
	uint32_t	term;
	bool		alias;			/* an earlier item has equal bytes */
	bool		contains;		/* reported */
	bool		suffix;			/* reported */
} item;

/* Open addressing: index + 1 of an item, or 0. */
typedef struct table
{
	uint32_t   *buckets;
	size_t		nbuckets;		/* a power of two, or 0 */
	size_t		used;
} table;

/* A term that makes a replacement or a prefix of one unsafe; machine + 1, 0 for none. */
typedef struct mark
{
	uint32_t	machine;
	uint32_t	term;
} mark;

typedef struct checker
{
	const acd_machine *const *machines;
	size_t		nmachines;
	const acd_allocator *allocator;
	acd_seam_fn fn;
	void	   *arg;
	acd_seam_way way;

	item	   *items;
	size_t		nitems;
	size_t		capacity;
	table		by_place;		/* machine, address and length */
	table		by_content;

	/* for one batch of replacements */
	acd_artifact artifact;
	acd_machine batch;
	acd_plain	batch_plain;
	mark	   *inside;			/* for each of its terms */
	mark	   *prefix;			/* for each of its slots */

	acd_plain	plain;			/* of the machine that reads replacements */
	unsigned char *pattern;		/* a term being read */
	uint32_t   *below;			/* for each slot of a machine, a term below + 1 */
} checker;

/* Hash of where a replacement lies. */
static uint64_t
place_hash(const unsigned char *bytes, size_t len)
{
	uint64_t	key[2];

	key[0] = (uint64_t) (uintptr_t) bytes;
	key[1] = len;
	return acd_xxh64(key, sizeof(key), 0);
}

/* Double a table before it is half full. */
static acd_status
grow_table(const checker *c, table *t, bool content)
{
	size_t		wanted = t->nbuckets > 0 ? t->nbuckets * 2 : 64;
	uint32_t   *buckets;

	if (t->used * 2 < t->nbuckets)
		return ACD_OK;
	buckets = acd_alloc_array(c->allocator, wanted, sizeof(uint32_t));
	if (buckets == NULL)
		return ACD_ERR_NOMEM;
	memset(buckets, 0, wanted * sizeof(uint32_t));
	for (size_t i = 0; i < t->nbuckets; i++)
	{
		const item *it;
		uint64_t	hash;
		size_t		b;

		if (t->buckets[i] == 0)
			continue;
		it = &c->items[t->buckets[i] - 1];
		hash = content ? it->content_hash : place_hash(it->bytes, it->len);
		for (b = hash & (wanted - 1); buckets[b] != 0; b = (b + 1) & (wanted - 1))
			;
		buckets[b] = t->buckets[i];
	}
	acd_release(c->allocator, t->buckets);
	t->buckets = buckets;
	t->nbuckets = wanted;
	return ACD_OK;
}

/*
 * Find a replacement in a table: a pointer to the bucket that holds it, or
 * to the empty one where it belongs.
 */
static uint32_t *
find_bucket(const checker *c, const table *t, uint64_t hash, const unsigned char *bytes,
			size_t len, bool content)
{
	for (size_t b = hash & (t->nbuckets - 1);; b = (b + 1) & (t->nbuckets - 1))
	{
		const item *it;

		if (t->buckets[b] == 0)
			return &t->buckets[b];
		it = &c->items[t->buckets[b] - 1];
		if (it->len != len)
			continue;
		if (content ? it->content_hash == hash && (len == 0 || memcmp(it->bytes, bytes, len) == 0) :
			it->bytes == bytes)
			return &t->buckets[b];
	}
}

/* Note the replacement of a term. */
static acd_status
collect_term(checker *c, uint32_t machine, uint32_t term)
{
	acd_term_info info;
	const unsigned char *bytes;
	uint32_t   *bucket;
	uint32_t   *content_bucket;
	item	   *it;
	acd_status	status;

	acd_machine_term(c->machines[machine], term, &info);
	bytes = info.replacement;

	/* Reading each place once keeps this linear where terms share one. */
	status = grow_table(c, &c->by_place, false);
	if (status == ACD_OK)
		status = grow_table(c, &c->by_content, true);
	if (status != ACD_OK)
		return status;
	if (c->nitems >= UINT32_MAX)
		return ACD_ERR_TOO_LARGE;
	it = acd_grow_array(c->allocator, c->items, &c->capacity, c->nitems, sizeof(item));
	if (it == NULL)
		return ACD_ERR_NOMEM;
	c->items = it;
	bucket = find_bucket(c, &c->by_place, place_hash(bytes, info.replacement_len), bytes,
						 info.replacement_len, false);
	if (*bucket != 0)
		return ACD_OK;

	it = &c->items[c->nitems++];
	memset(it, 0, sizeof(*it));
	it->bytes = bytes;
	it->len = info.replacement_len;
	it->content_hash = acd_xxh64(bytes, it->len, 0);
	it->machine = machine;
	it->term = term;
	*bucket = (uint32_t) c->nitems;
	c->by_place.used++;
	content_bucket = find_bucket(c, &c->by_content, it->content_hash, bytes, it->len, true);
	if (*content_bucket != 0)
		it->alias = true;
	else
	{
		*content_bucket = (uint32_t) c->nitems;
		c->by_content.used++;
	}
	return ACD_OK;
}

/* Report a problem of an item. */
static acd_status
report(const checker *c, const item *it, acd_seam seam, uint32_t machine, uint32_t term)
{
	acd_seam_problem problem;

	problem.seam = seam;
	problem.machine = it->machine;
	problem.term = it->term;
	problem.other_machine = machine;
	problem.other_term = term;
	return c->fn(c->arg, &problem) != 0 ? ACD_ERR_STOPPED : ACD_OK;
}

/* Collect distinct replacements and report empty ones. */
static acd_status
collect(checker *c)
{
	for (uint32_t m = 0; m < c->nmachines; m++)
	{
		for (uint32_t t = 0; t < c->machines[m]->nterms; t++)
		{
			acd_status	status = collect_term(c, m, t);

			if (status != ACD_OK)
				return status;
		}
	}
	for (size_t i = 0; i < c->nitems; i++)
	{
		const item *it = &c->items[i];
		acd_status	status;

		if (it->alias || it->len > 0)
			continue;
		status = report(c, it, ACD_SEAM_EMPTY, it->machine, it->term);
		if (status != ACD_OK)
			return status;
	}
	return ACD_OK;
}

/*
 * Make a machine of the replacements from *next on, as many as fit.  Of one
 * longer than any term only the bytes that can be a prefix problem are
 * taken; if that equals another replacement, the whole one is kept.
 */
static acd_status
build_batch(checker *c, size_t *next)
{
	acd_builder *builder = acd_builder_create(c->allocator);
	acd_status	status = ACD_OK;
	size_t		count = 0;

	if (builder == NULL)
		return ACD_ERR_NOMEM;
	for (; status == ACD_OK && *next < c->nitems && count < ACD_MAX_TERMS; (*next)++)
	{
		const item *it = &c->items[*next];
		acd_term	term = {0};

		if (it->alias || it->len == 0)
			continue;
		term.pattern = it->bytes;
		term.pattern_len = it->len < ACD_MAX_TERM_LEN ? it->len : ACD_MAX_TERM_LEN;
		term.id = (int64_t) *next;
		term.priority = it->len <= ACD_MAX_TERM_LEN;
		status = acd_builder_add(builder, &term);
		count++;
	}
	if (status == ACD_OK)
		status = acd_builder_finish(builder, 0, &c->artifact);
	acd_builder_free(builder);
	if (status == ACD_OK)
		status = acd_machine_open(&c->batch, c->artifact.block, c->artifact.size);
	if (status == ACD_OK)
		status = acd_plain_build(&c->batch_plain, &c->batch, c->allocator);
	return status;
}

/* Read a term with the batch's machine and mark what it makes unsafe. */
static void
mark_term(checker *c, uint32_t machine, uint32_t term)
{
	const acd_plain *batch = &c->batch_plain;
	uint32_t	len = acd_term_len(c->machines[machine], term);
	uint32_t	s = ACD_ROOT;
	mark		here;

	here.machine = machine + 1;
	here.term = term;
	acd_machine_pattern(c->machines[machine], term, c->pattern);
	for (uint32_t i = 0; i < len; i++)
	{
		s = acd_step(batch->states, s, c->pattern[i]);
		for (uint32_t out = acd_slot_out(batch->states, s);
			 out != 0 && c->inside[out - 1].machine == 0; out = batch->next[out - 1])
			c->inside[out - 1] = here;
	}

	/* Only proper suffixes count. */
	if (acd_slot_depth(batch->depths, s) == len)
		s = acd_slot_fail(batch->states, s);
	for (; s != ACD_ROOT && c->prefix[s].machine == 0; s = acd_slot_fail(batch->states, s))
		c->prefix[s] = here;
}

/* Report what was marked for the items [from, to) of a batch. */
static acd_status
report_marks(checker *c, size_t from, size_t to)
{
	for (uint32_t t = 0; t < c->batch.nterms; t++)
	{
		const item *it = &c->items[acd_term_id(&c->batch, t)];
		acd_status	status;

		if (c->inside[t].machine == 0 || it->len > ACD_MAX_TERM_LEN)
			continue;
		status = report(c, it, ACD_SEAM_INSIDE_TERM, c->inside[t].machine - 1, c->inside[t].term);
		if (status != ACD_OK)
			return status;
	}
	for (size_t i = from; i < to; i++)
	{
		const item *it = &c->items[i];
		uint32_t	s = ACD_ROOT;

		if (it->alias)
			continue;
		for (size_t k = 0; k < it->len && k < ACD_MAX_TERM_LEN; k++)
		{
			s = acd_child(c->batch_plain.states, s, it->bytes[k]);
			if (s == ACD_NO_SLOT)
				break;			/* cannot happen: it is in the trie */
			if (c->prefix[s].machine != 0)
			{
				acd_status	status = report(c, it, ACD_SEAM_PREFIX, c->prefix[s].machine - 1,
											c->prefix[s].term);

				if (status != ACD_OK)
					return status;
				break;
			}
		}
	}
	return ACD_OK;
}

/* Read all terms with a batch. */
static acd_status
check_batch(checker *c, size_t from, size_t to)
{
	size_t		nterms = c->batch.nterms;
	size_t		nslots = c->batch_plain.nslots;

	c->inside = acd_alloc_array(c->allocator, nterms, sizeof(mark));
	c->prefix = acd_alloc_array(c->allocator, nslots, sizeof(mark));
	if (c->inside == NULL || c->prefix == NULL)
		return ACD_ERR_NOMEM;
	memset(c->inside, 0, nterms * sizeof(mark));
	memset(c->prefix, 0, nslots * sizeof(mark));
	for (uint32_t m = 0; m < c->nmachines; m++)
		for (uint32_t t = 0; t < c->machines[m]->nterms; t++)
			mark_term(c, m, t);
	return report_marks(c, from, to);
}

/* Free what belongs to one batch. */
static void
free_batch(checker *c)
{
	acd_plain_free(&c->batch_plain, c->allocator);
	acd_release(c->allocator, c->artifact.block);
	acd_release(c->allocator, c->inside);
	acd_release(c->allocator, c->prefix);
	c->artifact.block = NULL;
	c->inside = NULL;
	c->prefix = NULL;
}

/* Check all replacements in batches: inside a term, prefix. */
static acd_status
check_terms(checker *c)
{
	size_t		next = 0;
	acd_status	status = ACD_OK;

	c->pattern = acd_alloc_array(c->allocator, ACD_MAX_TERM_LEN, 1);
	if (c->pattern == NULL)
		return ACD_ERR_NOMEM;
	while (status == ACD_OK && next < c->nitems)
	{
		size_t		from = next;

		status = build_batch(c, &next);
		if (status == ACD_ERR_NO_TERMS)
			return ACD_OK;
		if (status == ACD_OK)
			status = check_batch(c, from, next);
		free_batch(c);
	}
	return status;
}

/* For each state with a child, a term that it is a proper prefix of. */
static void
fill_below(checker *c, const acd_machine *m)
{
	memset(c->below, 0, (size_t) c->plain.nslots * sizeof(uint32_t));
	for (uint32_t t = 0; t < m->nterms; t++)
	{
		uint32_t	s = c->plain.state_of[t];

		while (s != ACD_ROOT)
		{
			s = acd_slot_check(c->plain.states, s);
			if (c->below[s] != 0)
				break;
			c->below[s] = t + 1;
		}
	}
}

/* Read a replacement with a machine: contains a term, suffix. */
static acd_status
check_item(checker *c, item *it, uint32_t machine)
{
	const acd_plain *m = &c->plain;
	uint32_t	s = ACD_ROOT;

	for (size_t i = 0; i < it->len; i++)
	{
		s = acd_step(m->states, s, it->bytes[i]);
		if (!it->contains && acd_slot_out(m->states, s) != 0)
		{
			acd_status	status = report(c, it, ACD_SEAM_CONTAINS_TERM, machine,
										acd_slot_out(m->states, s) - 1);

			if (status != ACD_OK)
				return status;
			it->contains = true;
		}
	}
	while (s != ACD_ROOT && c->below[s] == 0)
		s = acd_slot_fail(m->states, s);
	if (s == ACD_ROOT || it->suffix)
		return ACD_OK;
	it->suffix = true;
	return report(c, it, ACD_SEAM_SUFFIX, machine, c->below[s] - 1);
}

/* Does an item have problems of these kinds yet to be found? */
static bool
item_is_open(const item *it)
{
	return !it->alias && it->len > 0 && !(it->contains && it->suffix);
}

/*
 * Are searches for all replacements cheaper than an automaton of a machine's
 * terms?  Each suffix that could begin a term asks for as many terms as
 * halving their number takes; that must not exceed the bytes of the trees.
 */
static bool
search_is_cheaper(const checker *c, const acd_machine *m)
{
	uint64_t	budget = m->nodes_size;
	uint64_t	cost = 64 + (uint64_t) m->max_len;	/* of spelling and comparing a term */

	if (c->way != ACD_SEAM_WAY_AUTO)
		return c->way == ACD_SEAM_WAY_SEARCH;
	for (uint32_t n = m->nterms; n > 1; n /= 2)
		cost += 64 + (uint64_t) m->max_len;
	for (size_t i = 0; i < c->nitems; i++)
	{
		const item *it = &c->items[i];
		uint64_t	suffixes = it->len < m->max_len ? it->len : m->max_len;

		if (!item_is_open(it))
			continue;
		if (suffixes * cost > budget)
			return false;
		budget -= suffixes * cost;
	}
	return true;
}

/* Search for the terms in and behind a replacement: contains a term, suffix. */
static acd_status
search_item(checker *c, item *it, uint32_t machine)
{
	const acd_machine *m = c->machines[machine];
	uint32_t	term;
	acd_status	status = ACD_OK;

	if (!it->contains)
	{
		status = acd_seam_term_in(m, c->allocator, it->bytes, it->len, &term);
		if (status == ACD_OK && term != 0)
		{
			it->contains = true;
			status = report(c, it, ACD_SEAM_CONTAINS_TERM, machine, term - 1);
		}
	}
	if (status == ACD_OK && !it->suffix)
	{
		term = acd_seam_term_behind(m, it->bytes, it->len, c->pattern);
		if (term != 0)
		{
			it->suffix = true;
			status = report(c, it, ACD_SEAM_SUFFIX, machine, term - 1);
		}
	}
	return status;
}

/* Make the automaton of a machine's terms. */
static acd_status
build_plain(checker *c, const acd_machine *m)
{
	acd_status	status = acd_plain_build(&c->plain, m, c->allocator);

	if (status != ACD_OK)
		return status;
	c->below = acd_alloc_array(c->allocator, c->plain.nslots, sizeof(uint32_t));
	if (c->below == NULL)
		return ACD_ERR_NOMEM;
	fill_below(c, m);
	return ACD_OK;
}

/* Read all replacements with all machines. */
static acd_status
check_items(checker *c)
{
	acd_status	status = ACD_OK;

	for (uint32_t m = 0; status == ACD_OK && m < c->nmachines; m++)
	{
		bool		search = search_is_cheaper(c, c->machines[m]);

		if (!search)
			status = build_plain(c, c->machines[m]);
		for (size_t i = 0; status == ACD_OK && i < c->nitems; i++)
			if (item_is_open(&c->items[i]))
				status = search ? search_item(c, &c->items[i], m) : check_item(c, &c->items[i], m);
		acd_release(c->allocator, c->below);
		c->below = NULL;
		acd_plain_free(&c->plain, c->allocator);
	}
	return status;
}

/* Check the replacements of a set of machines, in one way. */
acd_status
acd_seam_check_by(const acd_machine *const *machines, size_t nmachines,
				  const acd_allocator *allocator, acd_seam_fn fn, void *arg, acd_seam_way way)
{
	checker		c;
	acd_status	status;

	if (nmachines > ACD_MAX_MACHINES || (nmachines > 0 && machines == NULL) || fn == NULL)
		return ACD_ERR_ARGUMENT;
	memset(&c, 0, sizeof(c));
	c.machines = machines;
	c.nmachines = nmachines;
	c.allocator = allocator != NULL ? allocator : &acd_libc_allocator;
	c.fn = fn;
	c.arg = arg;
	c.way = way;

	status = collect(&c);
	if (status == ACD_OK)
		status = check_terms(&c);
	if (status == ACD_OK)
		status = check_items(&c);
	free_batch(&c);
	acd_release(c.allocator, c.items);
	acd_release(c.allocator, c.by_place.buckets);
	acd_release(c.allocator, c.by_content.buckets);
	acd_release(c.allocator, c.pattern);
	acd_release(c.allocator, c.below);
	return status;
}

/* Check the replacements of a set of machines. */
acd_status
acd_seam_check(const acd_machine *const *machines, size_t nmachines,
			   const acd_allocator *allocator, acd_seam_fn fn, void *arg)
{
	return acd_seam_check_by(machines, nmachines, allocator, fn, arg, ACD_SEAM_WAY_AUTO);
}
