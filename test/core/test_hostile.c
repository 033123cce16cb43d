/*
 * test_hostile.c
 *		Damaged and forged artifacts: refused, or scanned within bounds; and
 *		what acd_machine_verify accepts behaves as its terms say.
 *
 * Meant to run under sanitizers, which see every access outside the
 * artifact.  CORE_CASES and CORE_SEED set how many mutants and which.
 *
 * Copyright (c) 2026, the acdat_decoder authors; PostgreSQL licence
 */
#include <unistd.h>

#include "acd_internal.h"
#include "helpers.h"

static term_set set;

typedef struct hits
{
	size_t		n;
	size_t		len;			/* of the text */
	size_t		last_end;
	bool		overlapping;
	bool		bad;
	uint64_t	hash;			/* of all matches and their terms */
	const acd_machine *machine;
} hits;

/* Check a match's bounds and add it to the hash. */
static int
on_match(void *arg, const acd_match *match)
{
	hits	   *h = arg;
	acd_term_info info;
	static unsigned char pattern[ACD_MAX_TERM_LEN];
	uint64_t	v[8];

	h->n++;
	if (match->start >= match->end || match->end > h->len || match->machine != 0 ||
		(!h->overlapping && match->start < h->last_end) ||
		!acd_machine_term(h->machine, match->term, &info) ||
		!acd_machine_pattern(h->machine, match->term, pattern))
	{
		h->bad = true;
		return 1;
	}
	h->last_end = match->end;
	v[0] = match->start;
	v[1] = match->end;
	v[2] = (uint64_t) info.id;
	v[3] = (uint64_t) info.priority;
	v[4] = acd_xxh64(pattern, info.pattern_len, 0);
	v[5] = acd_xxh64(info.replacement, info.replacement_len, 0);
	v[6] = h->hash;
	v[7] = info.pattern_len;
	h->hash = acd_xxh64(v, sizeof(v), 0);
	return h->n > 100000;
}

/* Scan some texts in every way; a hash of all that was found. */
static bool
scan_all(const acd_machine *m, uint64_t seed, uint64_t *hash)
{
	uint64_t	rng = seed;
	acd_scan	scan = {0};

	*hash = 0;
	scan.machines = &m;
	scan.nmachines = 1;
	for (int round = 0; round < 3; round++)
	{
		unsigned char text[400];
		uint8_t		bits[64];
		size_t		len = random_text(&set, &rng, text, sizeof(text));
		unsigned char *exact = malloc(len + 1);

		memcpy(exact, text, len);
		for (size_t i = 0; i < sizeof(bits); i++)
			bits[i] = (uint8_t) (rng_next(&rng) >> 40 | 0x5A);
		scan.boundaries = round == 2 ? bits : NULL;
		for (int kind = ACD_ALL_OVERLAPPING; kind <= ACD_COVER; kind++)
		{
			hits		h = {0};
			acd_status	status;

			h.len = len;
			h.machine = m;
			h.overlapping = kind == ACD_ALL_OVERLAPPING;
			h.hash = *hash;
			scan.kind = (acd_kind) kind;
			scan.engine = (acd_engine) ((round + kind) % 3);
			status = acd_find(&scan, exact, len, on_match, &h);
			if (h.bad || (status != ACD_OK && status != ACD_ERR_STOPPED))
			{
				free(exact);
				return false;
			}
			*hash = h.hash;
		}
		free(exact);
	}
	return true;
}

/* Compile a machine's own terms anew and compare the scans. */
static bool
equals_rebuilt(const acd_machine *m, uint64_t seed, uint64_t hash)
{
	acd_builder *b = acd_builder_create(NULL);
	acd_artifact a = {0};
	acd_machine rebuilt;
	uint64_t	other;
	bool		same;

	same = acd_builder_add_machine(b, m) == ACD_OK && acd_builder_finish(b, 0, &a) == ACD_OK &&
		acd_machine_open(&rebuilt, a.block, a.size) == ACD_OK && a.terms == m->nterms &&
		scan_all(&rebuilt, seed, &other) && other == hash;
	free(a.block);
	acd_builder_free(b);
	return same;
}

static unsigned long opened;
static unsigned long verified;

/* Make the digests right again, then open, scan and verify. */
static bool
try_forged(unsigned char *bytes, size_t size, bool digest_too)
{
	acd_machine m;
	uint64_t	hash;
	uint64_t	seed = size + 12345;

	if (digest_too)
		acd_sha256(bytes + ACD_AT_TERMS, size - ACD_AT_TERMS, bytes + ACD_AT_DIGEST);
	acd_put64(bytes + ACD_AT_CHECKSUM, acd_xxh64(bytes + ACD_AT_DIGEST, size - ACD_AT_DIGEST, 0));
	if (acd_machine_open(&m, bytes, size) != ACD_OK)
		return true;
	opened++;
	if (!scan_all(&m, seed, &hash))
		return false;
	if (acd_machine_verify(&m, NULL) != ACD_OK)
		return true;
	verified++;
	return equals_rebuilt(&m, seed, hash);
}

/* A set with several tiers, deep and shallow trees, and an automaton with chains. */
static void
make_set(void)
{
	static const char *const terms[] = {
		"a", "ab", "bab", "abab", "cabab", "b", "bc", "caa", "aa",
		"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab",
		"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
		"abababababababababababababababababababababc"
	};

	set_strings(&set, terms, sizeof(terms) / sizeof(terms[0]));
	for (size_t i = 0; i < set.nterms; i++)
		set.terms[i].priority = (int32_t) (i * 7 % 3);
	set.full_automaton = true;
	set_build(&set);
}

/* A set of long terms, without an automaton. */
static void
make_long_set(void)
{
	static const char *const terms[] = {
		"abababab", "ababababa", "babababab", "cabababab", "aaaaaaaaaaaaaaaaaaaaaab", "aaaaaaaab"
	};

	set_free(&set);
	set_strings(&set, terms, sizeof(terms) / sizeof(terms[0]));
	set_build(&set);
}

/* Every flipped bit and every truncation is refused. */
static void
test_accidents(void)
{
	size_t		size = set.artifacts[0].size;
	const unsigned char *original = set.machines[0].bytes;
	unsigned char *copy = malloc(size);
	acd_machine m;
	bool		refused = true;
	bool		truncated = true;

	memcpy(copy, original, size);
	for (size_t i = 0; i < size; i++)
	{
		for (int bit = 0; bit < 8; bit += i < 256 ? 1 : 7)
		{
			copy[i] ^= (unsigned char) (1 << bit);
			refused = refused && acd_machine_open(&m, copy, size) != ACD_OK;
			copy[i] ^= (unsigned char) (1 << bit);
		}
		copy[i] ^= 0xFF;
		refused = refused && acd_machine_open(&m, copy, size) != ACD_OK;
		copy[i] ^= 0xFF;
	}
	ok(refused, "every byte changed is noticed, %zu bytes", size);
	for (size_t n = 0; n < size; n++)
	{
		unsigned char *part = malloc(n + 1);
		acd_status	status;

		memcpy(part, original, n);
		status = acd_machine_open(&m, part, n);
		truncated = truncated && status == (n == 0 ? ACD_ERR_MAGIC : ACD_ERR_TRUNCATED);
		free(part);
	}
	ok(truncated, "every truncation is noticed");
	ok(acd_machine_open(&m, copy, size) == ACD_OK, "the original opens");
	copy[ACD_AT_VERSION]++;
	ok(acd_machine_open(&m, copy, size) == ACD_ERR_VERSION, "a later version is refused as that");
	free(copy);
}

/* Put each value in each field of four bytes, with the digests made right. */
static void
test_fields(void)
{
	size_t		size = set.artifacts[0].size;
	unsigned char *copy = malloc(size);
	bool		passed = true;
	size_t		tried = 0;

	opened = verified = 0;
	memcpy(copy, set.machines[0].bytes, size);
	for (size_t at = 0; passed && at + 4 <= size; at += 4)
	{
		uint32_t	old = acd_le32(copy + at);
		const uint32_t values[] = {0, 1, 2, old + 1, old - 1, old ^ 0x80, old + 256, 255, 256, 511, 512,
		0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0xFFFFFFFE, 0xFFFFFF00, old ^ 0x10000, old * 2};

		for (size_t i = 0; passed && i < sizeof(values) / sizeof(values[0]); i++)
		{
			if (at >= ACD_AT_CHECKSUM && at < ACD_AT_TERMS)
				break;
			acd_put32(copy + at, values[i]);
			passed = try_forged(copy, size, tried++ % 2 == 0);
			acd_put32(copy + at, old);
		}
		if (!passed)
			printf("# field at %zu\n", at);
	}
	ok(passed, "%zu forged fields: %lu opened, %lu verified, none misbehaved", tried, opened, verified);
	free(copy);
}

/* Change something of the automaton. */
static void
mutate_automaton(const acd_machine *m, unsigned char *copy, uint64_t *rng)
{
	size_t		states = (size_t) (m->states - m->bytes);
	uint32_t	slot = rng_below(rng, m->nslots);
	uint32_t	other = rng_below(rng, m->nslots);
	size_t		field = rng_below(rng, 4) * 4;

	switch (rng_below(rng, 5))
	{
		case 0:					/* one slot's field from another */
			memcpy(copy + states + slot * 16 + field, copy + states + other * 16 + field, 4);
			break;
		case 1:					/* a link anywhere */
			acd_put32(copy + states + slot * 16 + field, other);
			break;
		case 2:					/* a small output */
			acd_put32(copy + states + slot * 16 + ACD_SLOT_OUT, rng_below(rng, m->nends + 2));
			break;
		case 3:					/* a depth */
			acd_put16(copy + (m->depths - m->bytes) + slot * 2, (uint16_t) rng_below(rng, 50));
			break;
		case 4:					/* a record of a term */
			acd_put32(copy + (m->ends - m->bytes) + rng_below(rng, m->nends) * ACD_END_SIZE +
					  rng_below(rng, 4) * 4, rng_below(rng, 14));
			break;
	}
}

/* Change something of tiers, filters, tables or trees. */
static void
mutate_trees(const acd_machine *m, unsigned char *copy, uint64_t *rng)
{
	size_t		tiers = (size_t) (m->tiers[0].classes - m->bytes) - ACD_TIER_CLASSES;
	size_t		filter = (size_t) (m->tiers[0].filter - m->bytes);
	size_t		table = (size_t) (m->tiers[0].table - m->bytes);
	size_t		nodes = (size_t) (m->nodes - m->bytes);
	size_t		at = nodes + rng_below(rng, (uint32_t) m->nodes_size / 4) * 4;

	switch (rng_below(rng, 6))
	{
		case 0:					/* a tier's field */
			acd_put32(copy + tiers + rng_below(rng, m->ntiers) * ACD_TIER_SIZE + rng_below(rng, 12) * 4,
					  rng_below(rng, 20));
			break;
		case 1:					/* a bit of a filter or class */
			at = rng_below(rng, 2) ? filter + rng_below(rng, 128) : tiers + ACD_TIER_CLASSES + rng_below(rng, 64);
			copy[at] ^= (unsigned char) (1 << rng_below(rng, 8));
			break;
		case 2:					/* a slot from another */
			memcpy(copy + table + rng_below(rng, 16) * 8, copy + table + rng_below(rng, 16) * 8, 8);
			break;
		case 3:					/* a node's word from another */
			memcpy(copy + at, copy + nodes + rng_below(rng, (uint32_t) m->nodes_size / 4) * 4, 4);
			break;
		case 4:					/* a small number in a node */
			acd_put16(copy + at + rng_below(rng, 2) * 2, (uint16_t) rng_below(rng, 300));
			break;
		case 5:					/* a term's field */
			acd_put32(copy + (m->terms - m->bytes) + rng_below(rng, m->nterms) * ACD_TERM_SIZE +
					  rng_below(rng, 4) * 4, rng_below(rng, 50));
			break;
	}
}

/* Several changes at once, aimed at what is in use. */
static void
test_mutants(void)
{
	unsigned long wanted = env_number("CORE_CASES", 1000000) / 10;
	uint64_t	rng = env_number("CORE_SEED", 3) * 2 + 1;
	const acd_machine *m = &set.machines[0];
	size_t		size = set.artifacts[0].size;
	unsigned char *copy = malloc(size);
	bool		passed = true;
	unsigned long tried;

	opened = verified = 0;
	memcpy(copy, m->bytes, size);
	for (tried = 0; passed && tried < wanted; tried++)
	{
		uint32_t	changes = 1 + rng_below(&rng, 3);

		for (uint32_t c = 0; c < changes; c++)
		{
			if (m->nends > 0 && rng_below(&rng, 2))
				mutate_automaton(m, copy, &rng);
			else
				mutate_trees(m, copy, &rng);
		}
		passed = try_forged(copy, size, true);
		memcpy(copy, m->bytes, size);
	}
	ok(passed, "%lu mutants: %lu opened, %lu verified, none misbehaved", tried, opened, verified);
	free(copy);
}

/* Fix a copy's digests, free it, and say what opening and proving say. */
static acd_status
judge(unsigned char *copy, acd_status *verdict)
{
	size_t		size = set.artifacts[0].size;
	acd_machine m;
	acd_status	status;

	acd_sha256(copy + ACD_AT_TERMS, size - ACD_AT_TERMS, copy + ACD_AT_DIGEST);
	acd_put64(copy + ACD_AT_CHECKSUM, acd_xxh64(copy + ACD_AT_DIGEST, size - ACD_AT_DIGEST, 0));
	status = acd_machine_open(&m, copy, size);
	*verdict = status == ACD_OK ? acd_machine_verify(&m, NULL) : status;
	free(copy);
	return status;
}

/* A copy of the artifact to change. */
static unsigned char *
copy_artifact(void)
{
	unsigned char *copy = malloc(set.artifacts[0].size);

	memcpy(copy, set.machines[0].bytes, set.artifacts[0].size);
	return copy;
}

/* Change one 32-bit field and judge. */
static acd_status
open_changed(size_t at, uint32_t value, acd_status *verdict)
{
	unsigned char *copy = copy_artifact();

	acd_put32(copy + at, value);
	return judge(copy, verdict);
}

/* Follow a string, from its end, from the root of the automaton. */
static uint32_t
state_of(const acd_machine *m, const char *s)
{
	uint32_t	state = ACD_ROOT;

	for (size_t i = strlen(s); i > 0; i--)
		state = acd_child(m->states, state, (unsigned char) s[i - 1]);
	return state;
}

/* The node a term ends in. */
static size_t
node_of(const acd_machine *m, const char *s)
{
	unsigned char pattern[400];
	acd_term_info info;
	uint32_t	t = 0;

	while (acd_machine_term(m, t, &info) &&
		   (info.pattern_len != strlen(s) || !acd_machine_pattern(m, t, pattern) ||
			memcmp(pattern, s, info.pattern_len) != 0))
		t++;
	return acd_le32(acd_term_record(m, t) + ACD_TERM_NODE);
}

/* Forged links, outputs and chains of the automaton. */
static void
test_handmade_automaton(void)
{
	const acd_machine *m = &set.machines[0];
	size_t		states = (size_t) (m->states - m->bytes);
	size_t		ends = (size_t) (m->ends - m->bytes);
	uint32_t	abab = state_of(m, "abab");
	uint32_t	cabab = state_of(m, "cabab");
	uint32_t	aab = state_of(m, "aab");
	uint32_t	caa = state_of(m, "caa");
	uint32_t	abab_end = acd_slot_out(m->states, abab) - 1;
	acd_status	verdict;

#define SLOT(s, field)	(states + (size_t) (s) * ACD_SLOT_SIZE + (field))
	ok(open_changed(SLOT(abab, ACD_SLOT_FAIL), abab, &verdict) == ACD_ERR_CORRUPT, "a failure link to itself");
	ok(open_changed(SLOT(abab, ACD_SLOT_FAIL), cabab, &verdict) == ACD_ERR_CORRUPT, "a failure link to a deeper state");
	ok(open_changed(SLOT(abab, ACD_SLOT_FAIL), state_of(m, "b"), &verdict) == ACD_ERR_CORRUPT,
	   "a failure link to a state of another byte");
	ok(open_changed(SLOT(abab, ACD_SLOT_FAIL), state_of(m, "a"), &verdict) == ACD_OK && verdict == ACD_ERR_CORRUPT,
	   "a failure link that is too short passes opening, not the proof");
	ok(open_changed(SLOT(caa, ACD_SLOT_OUT), 0, &verdict) == ACD_OK && verdict == ACD_ERR_CORRUPT,
	   "so does a forgotten output");
	ok(open_changed(SLOT(aab, ACD_SLOT_FAIL), ACD_ROOT, &verdict) == ACD_OK && verdict == ACD_ERR_CORRUPT,
	   "and a link to the root");
	ok(open_changed(SLOT(abab, ACD_SLOT_BASE), m->nslots, &verdict) == ACD_ERR_CORRUPT, "a base outside");
	ok(open_changed(SLOT(abab, ACD_SLOT_CHECK), abab, &verdict) == ACD_ERR_CORRUPT, "a state that is its own parent");
	ok(open_changed(SLOT(ACD_ROOT, ACD_SLOT_FAIL), abab, &verdict) == ACD_ERR_CORRUPT, "a root that fails elsewhere");
	ok(open_changed(SLOT(ACD_ROOT, ACD_SLOT_OUT), 1, &verdict) == ACD_ERR_CORRUPT, "a root with an output");
	ok(open_changed(ends + abab_end * ACD_END_SIZE + ACD_END_NEXT, abab_end + 1, &verdict) == ACD_ERR_CORRUPT,
	   "an output chain that is a cycle");
}

/* Is an artifact refused if one of its tables of 16 bytes is empty? */
static bool
lacks_bytes(const acd_machine *m, size_t table)
{
	acd_status	verdict;
	bool		refused = false;

	/* One word of them at a time: a term has its byte in some. */
	for (size_t i = 0; i < 16; i += 4)
		refused = refused || (acd_le32(m->bytes + table + i) != 0 &&
							  open_changed(table + i, 0, &verdict) == ACD_ERR_CORRUPT);
	return refused;
}

/* Forged filters, tables and nodes. */
static void
test_handmade_trees(void)
{
	const acd_machine *m = &set.machines[0];
	const acd_tier *t = &m->tiers[0];
	size_t		nodes = (size_t) (m->nodes - m->bytes);
	size_t		filter = (size_t) (t->filter - m->bytes);
	size_t		tiers = (size_t) (t->classes - m->bytes) - ACD_TIER_CLASSES;
	size_t		table = (size_t) (t->table - m->bytes);
	size_t		aa = node_of(m, "aa");
	acd_status	verdict;
	bool		refused = true;
	int			trees = 0;

	for (size_t i = 0; i < (size_t) 1 << (64 - t->filter_shift); i++)
		for (int half = 0; half < 8; half += 4)
			if (acd_le32(t->filter + 8 * i + half) != 0)
				refused = refused && open_changed(filter + 8 * i + half, 0, &verdict) == ACD_ERR_CORRUPT;
	ok(refused, "a filter that lacks words");
	for (size_t i = 0; t->step == 0 && i < (size_t) 64 << (64 - t->filter_shift); i++)
		if ((t->filter[i / 8] >> (i % 8) & 1) != 0)
		{
			uint32_t	word = acd_le32(t->filter + i / 32 * 4) & ~(UINT32_C(1) << i % 32);

			refused = refused && open_changed(filter + i / 32 * 4, word, &verdict) == ACD_ERR_CORRUPT;
		}
	ok(refused && t->step == 0, "a filter that lacks a bit");
	for (size_t i = 0; i <= t->table_mask; i++)
	{
		size_t		at = i * ACD_PREFIX_SLOT_SIZE + ACD_PREFIX_REF;
		uint32_t	ref = acd_le32(t->table + at);

		if (ref == 0)
			continue;
		trees++;
		refused = refused && open_changed(table + at, ref ^ ACD_REF_WHOLE, &verdict) == ACD_ERR_CORRUPT;
	}
	ok(refused && trees > 0, "a prefix that is in the table as a term, and is not, or the converse");
	for (size_t i = 0; i < ACD_CLASS_BYTES; i++)
		for (size_t half = 0; half < 2; half++)
			refused = refused && lacks_bytes(m, tiers + ACD_TIER_CLASSES + 32 * i + 16 * half);
	ok(refused, "classes that lack bytes, at each of the four places");
	ok(open_changed(tiers + ACD_TIER_WINDOW, 9, &verdict) == ACD_ERR_CORRUPT, "a window that is too long");
	ok(open_changed(tiers + ACD_TIER_STEP, 1, &verdict) == ACD_ERR_CORRUPT, "a step where there is none");
	ok(open_changed(tiers + ACD_TIER_MIN_LEN, 2, &verdict) == ACD_ERR_CORRUPT, "a shortest term that is too long");
	ok(open_changed(tiers + ACD_TIER_MULTIPLIER, 2, &verdict) == ACD_ERR_CORRUPT, "an even multiplier");
	ok(open_changed(tiers + ACD_TIER_TABLE_BITS, 20, &verdict) == ACD_ERR_CORRUPT, "a table that is too large");
	ok(open_changed(nodes + aa + ACD_NODE_UP, 4, &verdict) == ACD_ERR_CORRUPT, "a parent that is none");
	ok(open_changed(nodes + aa + ACD_NODE_DEPTH, 300, &verdict) == ACD_ERR_CORRUPT, "a wrong depth");
	ok(open_changed(nodes + aa + ACD_NODE_TERM, 0, &verdict) == ACD_ERR_CORRUPT, "a term that is lost");
	ok(open_changed(nodes + aa + ACD_NODE_CHILDREN, 257, &verdict) == ACD_ERR_CORRUPT, "too many children");
	ok(open_changed(nodes + ACD_NODES_FRONT + ACD_NODE_CHILDREN,
					acd_le16(m->nodes + ACD_NODES_FRONT + ACD_NODE_CHILDREN), &verdict) == ACD_ERR_CORRUPT, "a tree that is in the table as deep, and is not");
}

/* Forged leaves: children that name their terms instead of nodes. */
static void
test_leaves(void)
{
	static const char *const terms[] = {
		"the long stem of a", "the long stem of b", "the long stem of bcd", "the long stem of c", "the long stem of d"
	};
	const acd_machine *m = &set.machines[0];
	const unsigned char *root;
	size_t		children;
	acd_status	verdict;
	uint32_t	a;

	set_free(&set);
	set_strings(&set, terms, sizeof(terms) / sizeof(terms[0]));
	set_build(&set);
	root = m->nodes + ACD_NODES_FRONT;
	children = (size_t) (acd_node_children(acd_node_labels(root), 4) - m->bytes);
	a = acd_le32(m->bytes + children);
	ok(m->nnodes == 3 && acd_le16(root + ACD_NODE_CHILDREN) == 4 && a == ACD_NODE_LEAF &&
	   acd_le32(m->bytes + children + 8) == 2 * 3 + ACD_NODE_LEAF, "leaves without a path are not nodes");
	ok(open_changed(children, a, &verdict) == ACD_OK && verdict == ACD_OK, "what is not changed is right");
	ok(open_changed(children, 2 * 5 + ACD_NODE_LEAF, &verdict) == ACD_ERR_CORRUPT, "a leaf of no term");
	ok(open_changed(children, UINT32_MAX, &verdict) == ACD_ERR_CORRUPT, "the highest");
	ok(open_changed(children, 2 * 1 + ACD_NODE_LEAF, &verdict) == ACD_ERR_CORRUPT, "a leaf of a term that is a node");
	ok(open_changed(children + 12, 2 * 3 + ACD_NODE_LEAF, &verdict) == ACD_ERR_CORRUPT, "one term in two leaves");
	ok(open_changed(children + 12, a, &verdict) == ACD_ERR_CORRUPT, "leaves that do not ascend");
	ok(open_changed(children, a + 1, &verdict) == ACD_ERR_CORRUPT, "a leaf that is to be a node");
	ok(open_changed(children + 4, 2 * 1 + ACD_NODE_LEAF, &verdict) == ACD_ERR_CORRUPT, "a node that is to be a leaf");
	ok(open_changed((size_t) (m->terms - m->bytes) + ACD_TERM_NODE, ACD_NODES_FRONT, &verdict) == ACD_ERR_CORRUPT,
	   "a leaf's term in its parent");
}

/* Forged headers and records. */
static void
test_handmade(void)
{
	const acd_machine *m = &set.machines[0];
	size_t		term = (size_t) (m->terms - m->bytes) + 3 * ACD_TERM_SIZE;
	acd_status	verdict;

	ok(open_changed(term + ACD_TERM_REPLACEMENT, UINT32_MAX, &verdict) == ACD_ERR_CORRUPT, "a replacement outside");
	ok(open_changed(term + ACD_TERM_REPLACEMENT, (uint32_t) (m->replacements_size / ACD_REPLACEMENT_UNIT),
					&verdict) == ACD_ERR_CORRUPT, "a replacement behind the last");
	ok(open_changed((size_t) (m->replacements - m->bytes), (uint32_t) m->replacements_size,
					&verdict) == ACD_ERR_CORRUPT, "a replacement that is too long");
	ok(open_changed(term + ACD_TERM_NODE, 8, &verdict) == ACD_ERR_CORRUPT, "a term in another's node");
	ok(open_changed(ACD_AT_TERMS, 0, &verdict) == ACD_ERR_CORRUPT, "no terms");
	ok(open_changed(ACD_AT_FLAGS, 1, &verdict) == ACD_ERR_VERSION, "a flag of the future");
	ok(open_changed(ACD_AT_SECTIONS, UINT32_MAX, &verdict) == ACD_ERR_CORRUPT, "too many sections");
	ok(open_changed(ACD_HEADER_SIZE + 8 * ACD_ENTRY_SIZE, 99, &verdict) == ACD_ERR_VERSION, "a mandatory section of the future");
	ok(open_changed(ACD_HEADER_SIZE + ACD_ENTRY_SIZE + ACD_ENTRY_OFFSET, ACD_HEADER_SIZE, &verdict) == ACD_ERR_CORRUPT,
	   "overlapping sections");
	ok(open_changed(ACD_HEADER_SIZE + ACD_ENTRY_SIZE + ACD_ENTRY_BYTES + 4, UINT32_MAX, &verdict) == ACD_ERR_CORRUPT,
	   "a section beyond the end");
}

/* A leaf that is no term opens, but is not what the terms imply. */
static void
test_extra_leaf(void)
{
	const acd_machine *m = &set.machines[0];
	unsigned char *copy = copy_artifact();
	uint32_t	t = ACD_ROOT;
	uint32_t	label = 0;
	acd_status	verdict;
	acd_status	status;

	while (t == ACD_ROOT || acd_slot_check(m->states, t) != ACD_NO_SLOT)
		t = acd_slot_base(m->states, ACD_ROOT) ^ label++;
	acd_put32(copy + (m->states - m->bytes) + (size_t) t * ACD_SLOT_SIZE + ACD_SLOT_CHECK, ACD_ROOT);
	acd_put16(copy + (m->depths - m->bytes) + (size_t) t * 2, 1);
	status = judge(copy, &verdict);
	ok(status == ACD_OK && verdict == ACD_ERR_CORRUPT,
	   "a leaf that is no term passes opening, not the proof");
}

/* A state whose parent cannot lead to it: the parent's base is in another block. */
static void
test_wrong_block(void)
{
	unsigned char up[200];
	unsigned char down[100];
	const acd_machine *m = &set.machines[0];
	uint32_t	s = ACD_ROOT;
	uint32_t	t = ACD_ROOT;
	acd_status	verdict;
	acd_status	status;

	/* Read backwards no suffix of one is a prefix of the other: all failure links are the root. */
	for (size_t i = 0; i < sizeof(up); i++)
		up[i] = (unsigned char) (200 - i);
	for (size_t i = 0; i < sizeof(down); i++)
		down[i] = (unsigned char) (156 + i);
	set_free(&set);
	set_clear(&set);
	set_add(&set, 0, up, sizeof(up), 0, 0);
	set_add(&set, 0, down, sizeof(down), 1, 0);
	set.full_automaton = true;
	set_build(&set);
	for (size_t i = 0; i + 1 < sizeof(down); i++)
		s = acd_child(m->states, s, up[sizeof(up) - 1 - i]);
	for (size_t i = 0; i < sizeof(down); i++)
		t = acd_child(m->states, t, down[sizeof(down) - 1 - i]);
	status = open_changed((size_t) (m->states - m->bytes) + (size_t) t * ACD_SLOT_SIZE + ACD_SLOT_CHECK, s, &verdict);
	ok((acd_slot_base(m->states, s) ^ t) >= ACD_BLOCK && status == ACD_ERR_CORRUPT,
	   "a parent that cannot lead there");
}

/* An optional section this code does not know is skipped. */
static void
test_future_section(void)
{
	static const char *const terms[] = {"he", "she", "hers"};
	size_t		size;
	unsigned char *bytes;
	unsigned char *entry;
	acd_machine m;

	set_free(&set);
	set_strings(&set, terms, 3);
	set_build(&set);
	size = set.artifacts[0].size;
	bytes = calloc(1, size + ACD_ENTRY_SIZE + 8);

	/* One entry more moves all sections by its size; 8 bytes at the end. */
	memcpy(bytes, set.machines[0].bytes, ACD_HEADER_SIZE + 6 * ACD_ENTRY_SIZE);
	memcpy(bytes + ACD_HEADER_SIZE + 7 * ACD_ENTRY_SIZE, set.machines[0].bytes + ACD_HEADER_SIZE + 6 * ACD_ENTRY_SIZE,
		   size - ACD_HEADER_SIZE - 6 * ACD_ENTRY_SIZE);
	for (int i = 0; i < 6; i++)
	{
		entry = bytes + ACD_HEADER_SIZE + i * ACD_ENTRY_SIZE;
		acd_put64(entry + ACD_ENTRY_OFFSET, acd_le64(entry + ACD_ENTRY_OFFSET) + ACD_ENTRY_SIZE);
	}
	size += ACD_ENTRY_SIZE;
	entry = bytes + ACD_HEADER_SIZE + 6 * ACD_ENTRY_SIZE;
	acd_put32(entry, 1000);
	acd_put32(entry + ACD_ENTRY_FLAGS, ACD_ENTRY_OPTIONAL);
	acd_put64(entry + ACD_ENTRY_OFFSET, size);
	acd_put64(entry + ACD_ENTRY_BYTES, 5);
	size += 8;
	acd_put32(bytes + ACD_AT_SECTIONS, 7);
	acd_put64(bytes + ACD_AT_SIZE, size);
	acd_sha256(bytes + ACD_AT_TERMS, size - ACD_AT_TERMS, bytes + ACD_AT_DIGEST);
	acd_put64(bytes + ACD_AT_CHECKSUM, acd_xxh64(bytes + ACD_AT_DIGEST, size - ACD_AT_DIGEST, 0));
	ok(acd_machine_open(&m, bytes, size) == ACD_OK && acd_machine_verify(&m, NULL) == ACD_OK && m.nterms == 3,
	   "an unknown optional section is skipped");
	acd_put32(entry + ACD_ENTRY_FLAGS, 0);
	acd_put64(bytes + ACD_AT_CHECKSUM, acd_xxh64(bytes + ACD_AT_DIGEST, size - ACD_AT_DIGEST, 0));
	ok(acd_machine_open(&m, bytes, size) == ACD_ERR_VERSION, "a mandatory one is not");
	free(bytes);
}

int
main(void)
{
	alarm(900);					/* a hang is a failure */
	make_set();
	test_accidents();
	test_handmade();
	test_handmade_trees();
	test_handmade_automaton();
	test_extra_leaf();
	test_fields();
	test_mutants();
	test_leaves();
	test_fields();
	make_long_set();
	test_fields();
	test_mutants();
	test_wrong_block();
	test_future_section();
	set_free(&set);
	return done_testing();
}
