/*
 * helpers.h
 *		Term sets, random data and the brute-force oracle of the core tests.
 *
 * Copyright (c) 2026, the acdat_decoder authors; PostgreSQL licence
 */
#ifndef HELPERS_H
#define HELPERS_H

#include <string.h>

#include "acd.h"
#include "tap.h"

#define MAX_SET_TERMS	256
#define MAX_MATCHES		65536

/* Terms of all machines of a scan; machine numbers ascend. */
typedef struct set_term
{
	unsigned char bytes[400];
	size_t		len;
	unsigned char replacement[64];
	size_t		replacement_len;
	int64_t		id;
	int32_t		priority;
	uint32_t	machine;
} set_term;

typedef struct term_set
{
	set_term	terms[MAX_SET_TERMS];
	size_t		nterms;
	size_t		nmachines;
	bool		full_automaton;
	acd_artifact artifacts[4];
	acd_machine machines[4];
	const acd_machine *pointers[4];
} term_set;

/* Matches as the oracle or a scan gives them; term is an index into the set. */
typedef struct found
{
	size_t		start;
	size_t		end;
	size_t		term;
} found;

typedef struct found_list
{
	found		list[MAX_MATCHES];
	size_t		n;
	const term_set *set;
	bool		broken;			/* a reported match is no term of the set */
} found_list;

/* A small random generator; state must not be 0. */
extern uint64_t rng_next(uint64_t *state);
extern uint32_t rng_below(uint64_t *state, uint32_t n);

extern void set_clear(term_set *set);
extern set_term *set_add(term_set *set, uint32_t machine, const void *bytes, size_t len,
						 int64_t id, int32_t priority);
extern acd_status set_build(term_set *set);
extern void set_free(term_set *set);

/* Fill a set at random; alphabet 2 to 4. */
extern void set_random(term_set *set, uint64_t *rng);

/* A random text that tends to hold the set's terms and pieces of them. */
extern size_t random_text(const term_set *set, uint64_t *rng, unsigned char *text, size_t max);

/* What a scan must give, by trying everything. */
extern void oracle(const term_set *set, acd_kind kind, const uint8_t *boundaries,
				   const unsigned char *text, size_t len, found_list *out);

/* An acd_match_fn that fills a found_list. */
extern int	collect_match(void *arg, const acd_match *match);
extern bool same_matches(const found_list *a, const found_list *b);

/*
 * The engines and instruction sets that can be forced here: number "which",
 * counting from 0, which is none; false if there are fewer.
 */
extern bool forced_path(unsigned which, acd_scan *scan);

/* Build one machine from C strings with ids 0, 1, ... */
extern void set_strings(term_set *set, const char *const *strings, size_t n);

#endif							/* HELPERS_H */
