/*
 * textbook.c
 *		A plain Aho-Corasick automaton in a double array: the baseline.
 *
 * Four arrays of 32-bit integers (base, check, fail, out) and the depth of
 * each state, as in the papers of Aho and Corasick (1975) and Aoe (1989); no
 * filter, no failure-free states but the root.
 *
 * Copyright (c) 2026, the acdat_decoder authors; PostgreSQL licence
 */
#include "engine.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define ROOT		0
#define FREE		(-1)
#define TRIES		128			/* slots looked at before the search start moves on */

typedef struct automaton
{
	int32_t    *base;			/* child by byte c is base[s] + c if ... */
	int32_t    *check;			/* ... check[child] == s; FREE if unused */
	int32_t    *fail;
	int32_t    *out;			/* longest term ending here + 1, 0 if none */
	int32_t    *depth;
	int32_t    *next_out;		/* by term + 1: the next shorter term, or 0 */
	int32_t    *term_len;		/* by term + 1 */
	int32_t		root[256];
	int32_t		capacity;
	int32_t		top;			/* states in use end here */
} automaton;

/* A state still to be expanded: the sorted terms [low, high) that pass it. */
typedef struct pending
{
	int32_t		state;
	uint32_t	low;
	uint32_t	high;
	int32_t		depth;
} pending;

typedef struct builder
{
	automaton  *a;
	span	   *terms;			/* sorted, distinct */
	size_t		nterms;
	pending    *queue;			/* in breadth-first order */
	size_t		queued;
	size_t		queue_room;
	int32_t		first_free;		/* lowest free slot from 256 up: any byte fits */
	int32_t		search_from;	/* where states with several children look */
} builder;

static int
compare_spans(const void *x, const void *y)
{
	const span *a = x;
	const span *b = y;
	size_t		common = a->len < b->len ? a->len : b->len;
	int			order = memcmp(a->bytes, b->bytes, common);

	return order != 0 ? order : (a->len > b->len) - (a->len < b->len);
}

static void
reserve(automaton *a, int32_t need)
{
	int32_t		capacity = a->capacity == 0 ? 4096 : a->capacity;
	size_t		size;

	if (need <= a->capacity)
		return;
	while (capacity < need)
		capacity *= 2;
	size = (size_t) capacity * sizeof(int32_t);
	a->base = realloc(a->base, size);
	a->check = realloc(a->check, size);
	a->fail = realloc(a->fail, size);
	a->out = realloc(a->out, size);
	a->depth = realloc(a->depth, size);
	for (int32_t i = a->capacity; i < capacity; i++)
	{
		a->base[i] = a->fail[i] = a->out[i] = a->depth[i] = 0;
		a->check[i] = FREE;
	}
	a->capacity = capacity;
}

/* The lowest base at which all the bytes find a free slot. */
static int32_t
find_base(builder *b, const unsigned char *bytes, int nbytes)
{
	automaton  *a = b->a;
	int32_t		slot = nbytes == 1 ? b->first_free : b->search_from;
	int			tries = 0;

	for (;; slot++)
	{
		int32_t		base = slot - bytes[0];
		int			i = 1;

		reserve(a, slot + 257);
		tries++;
		if (a->check[slot] != FREE)
			continue;
		while (i < nbytes && a->check[base + bytes[i]] == FREE)
			i++;
		if (i < nbytes)
			continue;
		if (nbytes > 1 && tries > TRIES)
			b->search_from = slot;	/* states with one child fill the gaps */
		return base;
	}
}

static void
take_slot(builder *b, int32_t slot, int32_t parent)
{
	automaton  *a = b->a;

	a->check[slot] = parent;
	if (slot >= a->top)
		a->top = slot + 1;
	while (b->first_free < a->capacity && a->check[b->first_free] != FREE)
		b->first_free++;
	if (b->search_from < b->first_free)
		b->search_from = b->first_free;
}

static void
enqueue(builder *b, pending p)
{
	if (b->queued == b->queue_room)
	{
		b->queue_room = b->queue_room == 0 ? 4096 : b->queue_room * 2;
		b->queue = realloc(b->queue, b->queue_room * sizeof *b->queue);
	}
	b->queue[b->queued++] = p;
}

/* Give the children of a state their slots and queue them. */
static void
expand(builder *b, pending p)
{
	automaton  *a = b->a;
	unsigned char bytes[256];
	uint32_t	starts[257];
	int			n = 0;
	int32_t		base;

	a->depth[p.state] = p.depth;
	if (b->terms[p.low].len == (size_t) p.depth)
		a->out[p.state] = (int32_t) ++p.low;
	for (uint32_t i = p.low; i < p.high; i++)
	{
		unsigned char c = b->terms[i].bytes[p.depth];

		if (n == 0 || bytes[n - 1] != c)
		{
			bytes[n] = c;
			starts[n++] = i;
		}
	}
	if (n == 0)
		return;
	starts[n] = p.high;
	base = find_base(b, bytes, n);
	a->base[p.state] = base;
	for (int i = 0; i < n; i++)
	{
		take_slot(b, base + bytes[i], p.state);
		enqueue(b, (pending) {base + bytes[i], starts[i], starts[i + 1], p.depth + 1});
	}
}

static inline int32_t
step(const automaton *a, int32_t state, unsigned char c)
{
	for (;;)
	{
		int32_t		next;

		if (state == ROOT)
			return a->root[c];
		next = a->base[state] + c;
		if (a->check[next] == state)
			return next;
		state = a->fail[state];
	}
}

/* Failure and output links, parents before children. */
static void
link_states(builder *b)
{
	automaton  *a = b->a;

	for (size_t i = 1; i < b->queued; i++)
	{
		int32_t		state = b->queue[i].state;
		int32_t		parent = a->check[state];
		int32_t		inherited;

		a->fail[state] = parent == ROOT ? ROOT
			: step(a, a->fail[parent], (unsigned char) (state - a->base[parent]));
		inherited = a->out[a->fail[state]];
		if (a->out[state] != 0)
			a->next_out[a->out[state]] = inherited;
		else
			a->out[state] = inherited;
	}
}

/* Let states without children point where no check can hold. */
static void
seal(automaton *a)
{
	reserve(a, a->top + 256);
	for (int32_t i = 0; i < a->top; i++)
	{
		if (a->base[i] == 0)
			a->base[i] = a->top;
	}
}

static void *
build(const span *terms, size_t nterms)
{
	automaton  *a = calloc(1, sizeof *a);
	builder		b = {.a = a, .first_free = 256, .search_from = 256};

	b.terms = malloc(nterms * sizeof *b.terms);
	memcpy(b.terms, terms, nterms * sizeof *b.terms);
	qsort(b.terms, nterms, sizeof *b.terms, compare_spans);
	for (size_t i = 0; i < nterms; i++)
	{
		if (b.nterms == 0 || compare_spans(&b.terms[b.nterms - 1], &b.terms[i]) != 0)
			b.terms[b.nterms++] = b.terms[i];
	}
	a->next_out = calloc(b.nterms + 1, sizeof *a->next_out);
	a->term_len = calloc(b.nterms + 1, sizeof *a->term_len);
	for (size_t i = 0; i < b.nterms; i++)
		a->term_len[i + 1] = (int32_t) b.terms[i].len;

	reserve(a, 4096);
	a->check[ROOT] = ROOT;
	a->top = 1;
	enqueue(&b, (pending) {ROOT, 0, (uint32_t) b.nterms, 0});
	for (size_t i = 0; i < b.queued; i++)
		expand(&b, b.queue[i]);
	for (int c = 0; c < 256; c++)
	{
		int32_t		child = a->base[ROOT] + c;

		a->root[c] = child != ROOT && a->check[child] == ROOT ? child : ROOT;
	}
	seal(a);
	link_states(&b);
	free(b.terms);
	free(b.queue);
	return a;
}

static void
release(void *engine)
{
	automaton  *a = engine;

	free(a->base);
	free(a->check);
	free(a->fail);
	free(a->out);
	free(a->depth);
	free(a->next_out);
	free(a->term_len);
	free(a);
}

static size_t
bytes(void *engine)
{
	return (size_t) ((automaton *) engine)->top * 5 * sizeof(int32_t) + 256 * sizeof(int32_t);
}

static bool
contains(void *engine, const unsigned char *text, size_t len)
{
	const automaton *a = engine;
	int32_t		state = ROOT;

	for (size_t i = 0; i < len; i++)
	{
		state = step(a, state, text[i]);
		if (a->out[state] != 0)
			return true;
	}
	return false;
}

static size_t
count_overlapping(void *engine, const unsigned char *text, size_t len)
{
	const automaton *a = engine;
	int32_t		state = ROOT;
	size_t		count = 0;

	for (size_t i = 0; i < len; i++)
	{
		state = step(a, state, text[i]);
		for (int32_t term = a->out[state]; term != 0; term = a->next_out[term])
			count++;
	}
	return count;
}

/* The leftmost-longest match at or after position "from". */
static bool
next_match(const automaton *a, const unsigned char *text, size_t len, size_t from,
		   size_t *start, size_t *end)
{
	int32_t		state = ROOT;
	bool		found = false;

	for (size_t i = from; i < len; i++)
	{
		int32_t		term;

		state = step(a, state, text[i]);
		if (found && i + 1 - (size_t) a->depth[state] > *start)
			return true;
		term = a->out[state];
		if (term != 0)
		{
			size_t		begin = i + 1 - (size_t) a->term_len[term];

			if (!found || begin <= *start)
			{
				found = true;
				*start = begin;
				*end = i + 1;
			}
		}
	}
	return found;
}

static size_t
count_leftmost(void *engine, const unsigned char *text, size_t len)
{
	size_t		count = 0;
	size_t		start;
	size_t		end = 0;

	while (next_match(engine, text, len, end, &start, &end))
		count++;
	return count;
}

static size_t
replace(void *engine, const unsigned char *text, size_t len, unsigned char *out)
{
	unsigned char *first = out;
	size_t		done = 0;
	size_t		start;
	size_t		end = 0;

	while (next_match(engine, text, len, end, &start, &end))
	{
		memcpy(out, text + done, start - done);
		out += start - done;
		memcpy(out, REPLACEMENT, REPLACEMENT_LEN);
		out += REPLACEMENT_LEN;
		done = end;
	}
	memcpy(out, text + done, len - done);
	return (size_t) (out - first) + len - done;
}

const engine_api match_engine = {
	build, release, bytes, contains, count_leftmost, count_overlapping, replace, NULL
};
