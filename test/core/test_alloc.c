/*
 * test_alloc.c
 *		Memory: the failure of each single allocation is reported and leaks
 *		nothing, sizes are told right, and nothing is allocated without need.
 *
 * Copyright (c) 2026, the acdat_decoder authors; PostgreSQL licence
 */
#include <limits.h>

#include "helpers.h"

/* An allocator that counts, checks and fails at one call. */
typedef struct counter
{
	long		live;
	unsigned long calls;
	unsigned long fail_at;		/* 0: never */
	bool		misused;
} counter;

/* What stands in front of each block. */
typedef union prefix
{
	size_t		size;
	max_align_t align;
} prefix;

/* Should this call fail? */
static bool
fails(counter *c)
{
	return ++c->calls == c->fail_at;
}

static void *
counter_alloc(void *ctx, size_t size)
{
	counter    *c = ctx;
	prefix	   *p;

	c->misused = c->misused || size == 0;
	if (fails(c) || (p = malloc(sizeof(prefix) + size)) == NULL)
		return NULL;
	p->size = size;
	memset(p + 1, 0xA5, size);	/* nobody may count on zeros */
	c->live++;
	return p + 1;
}

static void *
counter_resize(void *ctx, void *ptr, size_t old_size, size_t size)
{
	counter    *c = ctx;
	prefix	   *p = (prefix *) ptr - 1;
	prefix	   *q;

	c->misused = c->misused || size == 0 || p->size != old_size;
	if (fails(c) || (q = malloc(sizeof(prefix) + size)) == NULL)
		return NULL;
	q->size = size;
	memset(q + 1, 0xA5, size);
	memcpy(q + 1, p + 1, old_size < size ? old_size : size);
	free(p);
	return q + 1;
}

static void
counter_release(void *ctx, void *ptr)
{
	counter    *c = ctx;

	c->misused = c->misused || ptr == NULL;
	c->live--;
	free((prefix *) ptr - 1);
}

static counter count;
static const acd_allocator counting = {counter_alloc, counter_resize, counter_release, &count};

static term_set set;

/* Build the set with the counting allocator. */
static acd_status
build(void)
{
	acd_builder *b = acd_builder_create(&counting);
	acd_artifact a = {0};
	acd_status	status = b != NULL ? ACD_OK : ACD_ERR_NOMEM;

	for (size_t i = 0; status == ACD_OK && i < set.nterms; i++)
	{
		acd_term	t = {set.terms[i].bytes, set.terms[i].len, set.terms[i].replacement,
			set.terms[i].replacement_len, set.terms[i].id, set.terms[i].priority};

		status = acd_builder_add(b, &t);
	}
	if (status == ACD_OK)
		status = acd_builder_add_machine(b, &set.machines[0]);
	if (status == ACD_OK)
		status = acd_builder_finish(b, 16, &a);
	acd_builder_free(b);
	if (a.block != NULL)
		counter_release(&count, a.block);
	return status;
}

/* Prove the set's first machine. */
static acd_status
verify(void)
{
	return acd_machine_verify(&set.machines[0], &counting);
}

/* Ignore a problem. */
static int
ignore_problem(void *arg, const acd_seam_problem *problem)
{
	(void) arg;
	(void) problem;
	return 0;
}

/* Check the set's seams. */
static acd_status
seams(void)
{
	return acd_seam_check(set.pointers, set.nmachines, &counting, ignore_problem, NULL);
}

/* Count a match. */
static int
count_match(void *arg, const acd_match *match)
{
	(void) match;
	++*(size_t *) arg;
	return 0;
}

static const char *scan_text;
static size_t scan_len;
static acd_kind scan_kind;
static acd_engine scan_engine;

/* Scan the text. */
static acd_status
scan_once(void)
{
	acd_scan	scan = {.machines = set.pointers, .nmachines = set.nmachines, .kind = scan_kind,
		.allocator = &counting, .engine = scan_engine};
	size_t		n = 0;

	return acd_find(&scan, scan_text, scan_len, count_match, &n);
}

/* Fail each allocation in turn until none is left to fail. */
static void
fail_each(const char *name, acd_status (*fn) (void), unsigned long least)
{
	unsigned long n;
	bool		passed = true;

	for (n = 1; passed; n++)
	{
		acd_status	status;

		count = (counter) {.fail_at = n};
		status = fn();
		if (count.calls < n)
		{
			passed = status == ACD_OK && count.live == 0 && !count.misused;
			break;
		}
		passed = status == ACD_ERR_NOMEM && count.live == 0 && !count.misused;
	}
	ok(passed && n > least, "%s: each of %lu allocations may fail", name, n - 1);
}

/* The number of allocations of one run. */
static unsigned long
allocations(acd_status (*fn) (void))
{
	count = (counter) {.fail_at = 0};
	return fn() == ACD_OK ? count.calls : ULONG_MAX;
}

int
main(void)
{
	static char text[4096];
	static char bytes[390];

	set_clear(&set);
	for (uint32_t m = 0; m < 2; m++)
	{
		set_add(&set, m, "a", 1, 1, 0);
		memset(bytes, 'x', sizeof(bytes));
		for (size_t i = 0; i < sizeof(bytes); i += 2)
			bytes[i] = 'a';
		bytes[sizeof(bytes) - 1] = 'z';
		set_add(&set, m, bytes, sizeof(bytes), 2, 0);
		for (int i = 0; i < 100; i++)
		{
			snprintf(bytes, sizeof(bytes), "term number %d of a hundred that are long enough to count", i);
			set_add(&set, m, bytes, strlen(bytes), i + 3, 0);
		}
	}
	ok(set_build(&set) == ACD_OK, "set up");
	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = "ax"[i % 2];

	fail_each("build", build, 10);
	fail_each("verify", verify, 1);
	fail_each("seam check", seams, 10);
	scan_text = text;
	scan_len = sizeof(text);
	scan_engine = ACD_ENGINE_AUTOMATON;
	scan_kind = ACD_LEFTMOST_LONGEST;
	fail_each("leftmost_longest", scan_once, 2);
	scan_kind = ACD_LEFTMOST_FIRST;
	fail_each("leftmost_first", scan_once, 2);
	scan_kind = ACD_COVER;
	fail_each("cover", scan_once, 2);
	scan_engine = ACD_ENGINE_AUTO;

	memset(text, '.', sizeof(text));
	for (int k = ACD_ALL_OVERLAPPING; k <= ACD_COVER; k++)
	{
		scan_kind = (acd_kind) k;
		memset(text, '.', sizeof(text));
		ok(allocations(scan_once) == 0, "nothing matches, nothing is allocated, %s", acd_kind_name(scan_kind));
		memcpy(text + 100, "aaaa", 4);
		ok(allocations(scan_once) == 0, "nor for short matches, %s", acd_kind_name(scan_kind));
	}
	set_free(&set);
	return done_testing();
}
