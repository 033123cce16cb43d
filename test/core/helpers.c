/*
 * helpers.c
 *		Term sets, random data and the brute-force oracle of the core tests.
 *
 * Copyright (c) 2026, the acdat_decoder authors; PostgreSQL licence
 */
#include "helpers.h"

/* xorshift64*. */
uint64_t
rng_next(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * UINT64_C(2685821657736338717);
}

/* A number below n. */
uint32_t
rng_below(uint64_t *state, uint32_t n)
{
	return (uint32_t) ((rng_next(state) >> 33) % n);
}

/* Empty a set. */
void
set_clear(term_set *set)
{
	memset(set, 0, sizeof(*set));
}

/* Add a term; add those of lower machines first. */
set_term *
set_add(term_set *set, uint32_t machine, const void *bytes, size_t len, int64_t id, int32_t priority)
{
	set_term   *t = &set->terms[set->nterms++];

	memcpy(t->bytes, bytes, len);
	t->len = len;
	t->id = id;
	t->priority = priority;
	t->machine = machine;
	t->replacement_len = (size_t) snprintf((char *) t->replacement, sizeof(t->replacement),
										   "<%lld>", (long long) id);
	if (machine + 1 > set->nmachines)
		set->nmachines = machine + 1;
	return t;
}

/* Compile and open all machines. */
acd_status
set_build(term_set *set)
{
	for (uint32_t m = 0; m < set->nmachines; m++)
	{
		acd_builder *builder = acd_builder_create(&acd_libc_allocator);
		acd_status	status = ACD_OK;

		acd_builder_full_automaton(builder, set->full_automaton);
		for (size_t i = 0; status == ACD_OK && i < set->nterms; i++)
		{
			const set_term *t = &set->terms[i];
			acd_term	term = {t->bytes, t->len, t->replacement, t->replacement_len, t->id, t->priority};

			if (t->machine == m)
				status = acd_builder_add(builder, &term);
		}
		if (status == ACD_OK)
			status = acd_builder_finish(builder, 4, &set->artifacts[m]);
		acd_builder_free(builder);
		if (status == ACD_OK)
			status = acd_machine_open(&set->machines[m], (char *) set->artifacts[m].block + 4,
									  set->artifacts[m].size);
		if (status != ACD_OK)
			return status;
		set->pointers[m] = &set->machines[m];
	}
	return ACD_OK;
}

/* Free the artifacts. */
void
set_free(term_set *set)
{
	for (size_t m = 0; m < set->nmachines; m++)
		free(set->artifacts[m].block);
	memset(set->artifacts, 0, sizeof(set->artifacts));
}

/* One machine of C strings. */
void
set_strings(term_set *set, const char *const *strings, size_t n)
{
	set_clear(set);
	for (size_t i = 0; i < n; i++)
		set_add(set, 0, strings[i], strlen(strings[i]), (int64_t) i, 0);
}

/* Force a path. */
bool
forced_path(unsigned which, acd_scan *scan)
{
	unsigned	n = 0;

	for (int simd = ACD_SIMD_AUTO; simd <= ACD_SIMD_NEON; simd++)
		for (int engine = ACD_ENGINE_AUTO; engine <= ACD_ENGINE_AUTOMATON; engine++)
		{
			if (!acd_simd_supported((acd_simd) simd))
				continue;
			scan->engine = (acd_engine) engine;
			scan->simd = (acd_simd) simd;
			if (n++ == which)
				return true;
		}
	return false;
}

/* Fill with random letters of a small alphabet. */
static void
random_letters(uint64_t *rng, unsigned char *p, size_t len, uint32_t alphabet)
{
	for (size_t i = 0; i < len; i++)
		p[i] = (unsigned char) ('a' + rng_below(rng, alphabet));
}

/* A random term: short, long and periodic, or a piece of another term. */
static size_t
random_term(const term_set *set, uint64_t *rng, unsigned char *p, uint32_t alphabet, uint32_t min)
{
	uint32_t	what = rng_below(rng, 10);
	size_t		len;

	if (what < 6 || (set->nterms == 0 && what >= 8))
	{
		len = min + rng_below(rng, 12);
		random_letters(rng, p, len, alphabet);
	}
	else if (what < 8)
	{
		size_t		period = 1 + rng_below(rng, 5);

		len = 28 + rng_below(rng, 50);
		random_letters(rng, p, period, alphabet);
		for (size_t i = period; i < len; i++)
			p[i] = p[i - period];
		if (rng_below(rng, 2))
			p[rng_below(rng, (uint32_t) len)] = 'b';
	}
	else
	{
		const set_term *other = &set->terms[rng_below(rng, (uint32_t) set->nterms)];
		size_t		from = rng_below(rng, (uint32_t) other->len);

		len = 1 + rng_below(rng, (uint32_t) (other->len - from));
		memcpy(p, other->bytes + from, len);
		if (len < 90 && rng_below(rng, 2))
			p[len++] = (unsigned char) ('a' + rng_below(rng, alphabet));
		while (len < min)
			p[len++] = (unsigned char) ('a' + rng_below(rng, alphabet));
	}
	return len;
}

/* Fill a set at random. */
void
set_random(term_set *set, uint64_t *rng)
{
	uint32_t	alphabet = 2 + rng_below(rng, 3);
	uint32_t	nmachines = 1 + rng_below(rng, 3);
	unsigned char bytes[400];

	static const uint32_t mins[] = {1, 1, 1, 3, 4, 7, 8, 8, 9, 12, 15, 17};

	set_clear(set);
	set->full_automaton = rng_below(rng, 2) == 0;
	for (uint32_t m = 0; m < nmachines; m++)
	{
		uint32_t	n = 1 + rng_below(rng, nmachines > 1 || rng_below(rng, 3) ? 6 : 28);
		uint32_t	min = mins[rng_below(rng, sizeof(mins) / sizeof(mins[0]))];
		int32_t		scale = rng_below(rng, 4) ? 1 : 100000; /* which needs wide records */

		for (uint32_t i = 0; i < n; i++)
		{
			size_t		len = random_term(set, rng, bytes, alphabet,
												  rng_below(rng, 8) ? min : 1);

			set_add(set, m, bytes, len, rng_below(rng, 2) ? (int64_t) set->nterms : rng_below(rng, 5),
					((int32_t) rng_below(rng, 3) - 1) * scale);
		}
	}
}

/* A random text. */
size_t
random_text(const term_set *set, uint64_t *rng, unsigned char *text, size_t max)
{
	size_t		target = rng_below(rng, (uint32_t) max);
	size_t		len = 0;

	while (len < target)
	{
		const set_term *t = &set->terms[rng_below(rng, (uint32_t) set->nterms)];
		size_t		from = rng_below(rng, 3) ? 0 : rng_below(rng, (uint32_t) t->len);
		size_t		n = rng_below(rng, 3) ? t->len - from : rng_below(rng, (uint32_t) (t->len - from) + 1);

		if (rng_below(rng, 4) == 0)
		{
			text[len++] = (unsigned char) ('a' + rng_below(rng, 4));
			continue;
		}
		if (n > max - len)
			n = max - len;
		memcpy(text + len, t->bytes + from, n);
		len += n;
	}
	return len;
}

/* ---- the oracle ---- */

/* May a match start or end at i? */
static bool
allowed(const uint8_t *boundaries, size_t i)
{
	return boundaries == NULL || (boundaries[i / 8] >> (i % 8)) % 2 == 1;
}

/* Is a the better of two terms with one pattern? */
static bool
better_term(const set_term *a, const set_term *b)
{
	if (a->priority != b->priority)
		return a->priority > b->priority;
	if (a->id != b->id)
		return a->id < b->id;
	return a < b;
}

/* Has the set a better term with the same pattern? */
static bool
displaced(const term_set *set, const set_term *t)
{
	for (size_t i = 0; i < set->nterms; i++)
	{
		const set_term *o = &set->terms[i];

		if (o != t && o->len == t->len && memcmp(o->bytes, t->bytes, t->len) == 0 && better_term(o, t))
			return true;
	}
	return false;
}

/* All matches, by end, then by start. */
static void
all_matches(const term_set *set, const uint8_t *boundaries, const unsigned char *text, size_t len,
			found_list *out)
{
	bool		gone[MAX_SET_TERMS];
	size_t		longest = 0;

	for (size_t i = 0; i < set->nterms; i++)
	{
		gone[i] = displaced(set, &set->terms[i]);
		longest = set->terms[i].len > longest ? set->terms[i].len : longest;
	}
	out->n = 0;
	for (size_t end = 1; end <= len; end++)
		for (size_t start = end > longest ? end - longest : 0; start < end; start++)
			for (size_t i = 0; i < set->nterms; i++)
				if (!gone[i] && set->terms[i].len == end - start && out->n < MAX_MATCHES &&
					allowed(boundaries, start) && allowed(boundaries, end) &&
					memcmp(set->terms[i].bytes, text + start, end - start) == 0)
					out->list[out->n++] = (found) {start, end, i};
}

/* Which of two matches with one start does a leftmost kind take? */
static bool
leftmost_beats(const term_set *set, acd_kind kind, const found *a, const found *b)
{
	const set_term *ta = &set->terms[a->term];
	const set_term *tb = &set->terms[b->term];

	if (kind == ACD_LEFTMOST_FIRST && ta->priority != tb->priority)
		return ta->priority > tb->priority;
	if (kind == ACD_LEFTMOST_FIRST && ta->id != tb->id)
		return ta->id < tb->id;
	return a->end > b->end;
}

/* Which of two matches does a span take? */
static bool
span_beats(const term_set *set, const found *a, const found *b)
{
	const set_term *ta = &set->terms[a->term];
	const set_term *tb = &set->terms[b->term];

	if (ta->priority != tb->priority)
		return ta->priority > tb->priority;
	if (a->start != b->start)
		return a->start < b->start;
	return a->end > b->end;
}

/* What a scan must give. */
void
oracle(const term_set *set, acd_kind kind, const uint8_t *boundaries,
	   const unsigned char *text, size_t len, found_list *out)
{
	static found_list all;

	all_matches(set, boundaries, text, len, &all);
	*out = all;
	if (kind == ACD_ALL_OVERLAPPING)
		return;
	out->n = 0;
	for (size_t pos = 0; pos < len;)
	{
		found	   *best = NULL;
		size_t		end = 0;

		/* The leftmost start from pos on, and the best of its matches. */
		for (size_t i = 0; i < all.n; i++)
		{
			found	   *f = &all.list[i];

			if (f->start >= pos && (best == NULL || f->start < best->start ||
									(f->start == best->start &&
									 leftmost_beats(set, kind, f, best))))
				best = f;
		}
		if (best == NULL)
			break;
		if (kind != ACD_COVER)
		{
			out->list[out->n++] = *best;
			pos = best->end;
			continue;
		}

		/* A span grows while a match shares a byte with it. */
		pos = best->start;
		end = best->end;
		for (size_t i = 0; i < all.n; i++)
		{
			if (all.list[i].start >= pos && all.list[i].start < end && all.list[i].end > end)
			{
				end = all.list[i].end;
				i = (size_t) -1;
			}
		}
		for (size_t i = 0; i < all.n; i++)
			if (all.list[i].start >= pos && all.list[i].start < end && span_beats(set, &all.list[i], best))
				best = &all.list[i];
		out->list[out->n++] = (found) {pos, end, best->term};
		pos = end;
	}
}

/* Collect a match, translating its term into an index of the set. */
int
collect_match(void *arg, const acd_match *match)
{
	found_list *out = arg;
	const term_set *set = out->set;
	acd_term_info info;
	unsigned char pattern[400];
	size_t		i = set->nterms;

	if (match->machine < set->nmachines &&
		acd_machine_term(&set->machines[match->machine], match->term, &info) &&
		info.pattern_len <= sizeof(pattern) &&
		acd_machine_pattern(&set->machines[match->machine], match->term, pattern))
	{
		for (i = 0; i < set->nterms; i++)
		{
			const set_term *t = &set->terms[i];

			if (t->machine == match->machine && t->id == info.id && t->priority == info.priority &&
				t->len == info.pattern_len && memcmp(t->bytes, pattern, t->len) == 0 &&
				t->replacement_len == info.replacement_len &&
				memcmp(t->replacement, info.replacement, t->replacement_len) == 0)
				break;
		}
	}
	if (i == set->nterms || out->n == MAX_MATCHES)
		out->broken = true;
	else
		out->list[out->n++] = (found) {match->start, match->end, i};
	return 0;
}

/* Are two lists equal? */
bool
same_matches(const found_list *a, const found_list *b)
{
	if (a->broken || b->broken || a->n != b->n)
		return false;
	for (size_t i = 0; i < a->n; i++)
		if (a->list[i].start != b->list[i].start || a->list[i].end != b->list[i].end ||
			a->list[i].term != b->list[i].term)
			return false;
	return true;
}
