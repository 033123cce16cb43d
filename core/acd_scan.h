/*
 * acd_scan.h
 *		What the files of a scan share: finding starts, walking trees, offering
 *		terms to a match kind.
 *
 * A scan goes through the starts of terms from left to right.  Each tier of
 * each machine is a source of starts; at each start the terms there are
 * offered to the match kind, longer ones later.  That order makes every kind
 * simple, and lets a scan change between engines at any start.
 *
 * Copyright (c) 2026, the acdat_decoder authors; PostgreSQL licence
 */
#ifndef ACD_SCAN_H
#define ACD_SCAN_H

#include "acd_tier.h"

#if defined(__GNUC__)
#define ACD_LIKELY(x)		__builtin_expect(!!(x), 1)
#define ACD_UNLIKELY(x)		__builtin_expect(!!(x), 0)
#define ACD_PREFETCH(p)		__builtin_prefetch(p)
#define ACD_ALWAYS_INLINE	inline __attribute__((always_inline))
#define ACD_NOINLINE		__attribute__((noinline))
#else
#define ACD_LIKELY(x)		(x)
#define ACD_UNLIKELY(x)		(x)
#define ACD_PREFETCH(p)		((void) 0)
#define ACD_ALWAYS_INLINE	inline
#define ACD_NOINLINE
#endif

/* Load what begins at p and is up to 64 bytes long, at any alignment. */
#define ACD_PREFETCH_TWO(p, n)	(ACD_PREFETCH(p), ACD_PREFETCH((p) + (n) - 1))

/* ---- filters (filter_*.c) ---- */

#define ACD_HITS		256			/* that pass a filter, in one call */
#define ACD_HITS_STOP	(ACD_HITS - 64)
#define ACD_WINDOW_HITS	64			/* windows, each with up to 8 starts */
#define ACD_READ		80			/* bytes a filter may read from where it looks */

/* What passed a filter. */
typedef struct acd_hits
{
	uint32_t	limit;			/* a filter stops soon after more, which is for the caller to set */
	uint32_t	n;
	uint32_t	at[ACD_HITS + 64];		/* relative to where the call began */
	uint64_t	hash[ACD_HITS + 64];
} acd_hits;

/*
 * Look at the starts (or windows, a step apart) text[from] .. text[to - 1]
 * and collect those that pass the filter.  Returns where to go on, >= to if
 * all were looked at.
 */
typedef size_t (*acd_filter_fn) (const acd_tier *tier, const unsigned char *text, size_t len,
								 size_t from, size_t to, acd_hits *hits);

/* The filters of one instruction set. */
typedef struct acd_filters
{
	acd_filter_fn starts;		/* tiers without steps */
	acd_filter_fn windows;		/* tiers with steps: hashes are not set */
	acd_filter_fn row;			/* starts of a text of at most ACD_SHORT_TEXT bytes, all of them */
} acd_filters;

extern const acd_filters acd_filters_none;
extern const acd_filters acd_filters_ssse3;
extern const acd_filters acd_filters_avx2;
extern const acd_filters acd_filters_avx512;
extern const acd_filters acd_filters_neon;

/* The best instruction set there is (cpu.c). */
extern acd_simd acd_simd_best(void);

/* Filters of an instruction set, which must be supported, not ACD_SIMD_AUTO. */
extern const acd_filters *acd_simd_filters(acd_simd simd);

/* ---- walking a tree ---- */

typedef struct acd_walk
{
	const unsigned char *nodes;
	const unsigned char *text;	/* where the terms start */
	size_t		room;			/* bytes of text from there */
	const unsigned char *node;	/* the last one read, or NULL */
	uint32_t	next;			/* offset of the root, while node is NULL */
	uint32_t	depth;			/* bytes from the start to that node's end */
	uint32_t	cost;			/* see ACD_DEEP_COST */
} acd_walk;

static inline void
acd_walk_begin(acd_walk *walk, const acd_machine *machine, uint32_t ref,
			   const unsigned char *text, size_t room)
{
	walk->nodes = machine->nodes;
	walk->text = text;
	walk->room = room;
	walk->node = NULL;
	walk->next = ref & ACD_REF_MASK;
	walk->depth = 0;
	walk->cost = 0;
}

/*
 * Do n bytes of a path equal the text, of which "readable" bytes may be read?
 * Adds what finding out cost.
 */
static inline bool
acd_same_path(const unsigned char *path, const unsigned char *text, uint32_t n, size_t readable,
			  uint32_t *cost)
{
	uint32_t	k = 0;

	*cost += 1;
	if (n >= 8)
	{
		while (k + 8 <= n && acd_le64(path + k) == acd_le64(text + k))
			k += 8;
		*cost += k / 32;
		if (k + 8 <= n)
			return false;
		return acd_le64(path + n - 8) == acd_le64(text + n - 8);
	}
	if (ACD_LIKELY(readable >= 8))
		return n == 0 || (acd_le64(path) ^ acd_le64(text)) << (64 - 8 * n) == 0;
	for (; k < n; k++)
		if (path[k] != text[k])
			return false;
	return true;
}

/* Which of n ascending labels is c?  n if none. */
static inline uint32_t
acd_find_label(const unsigned char *labels, uint32_t n, unsigned char c)
{
	const unsigned char *found;

	if (n <= 4)
	{
		uint32_t	k = 0;

		while (k < n && labels[k] != c)
			k++;
		return k;
	}
	found = memchr(labels, c, n);
	return found != NULL ? (uint32_t) (found - labels) : n;
}

/*
 * Read on to the next node where a term ends: the term + 1, its length in
 * walk->depth; 0 if there is none.
 */
static inline uint32_t
acd_walk_next(acd_walk *walk)
{
	for (;;)
	{
		const unsigned char *node = walk->node;
		uint32_t	offset = walk->next;
		uint32_t	path;
		uint32_t	depth;

		if (node != NULL)
		{
			uint32_t	n = acd_le16(node + ACD_NODE_CHILDREN);
			const unsigned char *labels;
			uint32_t	k;

			if (n == 0 || walk->depth >= walk->room)
				return 0;
			labels = acd_node_labels(node);
			k = acd_find_label(labels, n, walk->text[walk->depth]);
			if (k == n)
				return 0;
			offset = acd_le32(acd_node_children(labels, n) + 4 * k);
			if ((offset & ACD_NODE_LEAF) != 0)
			{
				/* Nothing follows: as if the text ended there. */
				walk->room = ++walk->depth;
				walk->cost++;
				return offset / 2 + 1;
			}
		}
		node = walk->nodes + offset;
		path = acd_le16(node + ACD_NODE_PATH);
		depth = acd_le16(node + ACD_NODE_DEPTH);
		if (depth > walk->room ||
			!acd_same_path(node + ACD_NODE_SIZE, walk->text + depth - path, path,
						   walk->room - (depth - path), &walk->cost))
			return 0;
		walk->node = node;
		walk->depth = depth;
		if (acd_le32(node + ACD_NODE_TERM) != 0)
			return acd_le32(node + ACD_NODE_TERM);
	}
}

/*
 * Does the term that is the whole prefix of the tree "ref" stand at text, where
 * "room" bytes are and the hash is of?
 */
static ACD_ALWAYS_INLINE bool
acd_is_whole(const acd_machine *machine, const acd_tier *tier, uint32_t ref, uint64_t hash,
			 const unsigned char *text, size_t room)
{
	const unsigned char *prefix = machine->nodes + (ref & ACD_REF_MASK) + ACD_NODE_SIZE;

	/* The hash is a product with an odd number: it is equal only of equal windows. */
	return (ref & ACD_REF_WHOLE) != 0 && room >= tier->windows[text[0] >> 4] &&
		ACD_LIKELY(acd_gram_hash(tier, acd_le64(prefix)) == hash);
}

/* ---- a scan in progress ---- */

/* What terms are offered to. */
typedef enum acd_taker
{
	ACD_TAKE_ANY,				/* acd_contains */
	ACD_TAKE_OVERLAPPING,
	ACD_TAKE_LONGEST,
	ACD_TAKE_FIRST,
	ACD_TAKE_COVER
} acd_taker;

/* For each start in text[lo, hi), the longest of the automaton's terms + 1, or 0. */
typedef struct acd_backlog
{
	uint32_t   *ends;
	size_t		capacity;
	size_t		lo;
	size_t		hi;
} acd_backlog;

/* A match that waits until all that end before it are reported. */
typedef struct acd_waiting
{
	size_t		start;
	size_t		end;
	uint32_t	machine;
	uint32_t	term;
} acd_waiting;

/* A match in the first period of text that repeats itself. */
typedef struct acd_taken
{
	uint32_t	at;				/* relative to where the period begins */
	uint32_t	len;
	uint32_t	machine;
	uint32_t	term;
	bool		more;			/* shorter ones of the same start may follow */
} acd_taken;

#define ACD_MAX_TAKEN			32
#define ACD_INLINE_WAITING		16
#define ACD_FIRST_COST_LIMIT	4096	/* what a scan may spend on walks at first */

typedef struct acd_sweep
{
	const acd_scan *scan;
	const unsigned char *text;
	size_t		len;
	const acd_allocator *allocator;
	acd_match_fn fn;
	void	   *arg;
	acd_taker	taker;

	size_t		resume;			/* starts before are taken (leftmost kinds) */
	size_t		unpolled;		/* bytes and matches since the last poll */
	bool		open;			/* is there a match or span not reported yet? */
	acd_candidate best;			/* that match, or the span's winner */
	size_t		span_start;
	size_t		span_end;

	/* text that repeats itself (period.c) */
	size_t		period_look;	/* no look for it before */
	size_t		period_end;		/* how far the last that was found goes */
	size_t		period_start;	/* of the first period */
	uint32_t	period;
	bool		recording;		/* matches of its first period: "taken" */
	bool		missed;			/* a start in that was not looked at */
	bool		matched;		/* something in that matched, or may have */
	uint32_t	ntaken;
	acd_taken	taken[ACD_MAX_TAKEN];

	/* how much walking deep trees has cost, and what is instead of it */
	uint64_t	cost;
	size_t		cost_since;
	uint64_t	cost_limit;
	size_t		stretch;		/* bytes the automaton reads next time, or 0 */
	acd_backlog *backlogs;		/* one a machine, or NULL */

	acd_waiting *waiting;		/* a sorted queue, or a heap */
	size_t		first;			/* in the queue; 0 in a heap */
	bool		sorted;
	size_t		prompt;			/* bytes of the shortest term if each start is taken once, else 0 */
	size_t		nwaiting;
	size_t		waiting_capacity;
	acd_waiting first_waiting[ACD_INLINE_WAITING];
} acd_sweep;

/*
 * Check arguments, go through the text on a sweep that is not initialised,
 * and report all matches.  For ACD_TAKE_ANY sweep->open tells whether there
 * was one.
 */
extern acd_status acd_sweep_run(acd_sweep *sweep, const acd_scan *scan, const void *text, size_t len,
								acd_taker taker, acd_match_fn fn, void *arg);

/* The same for a text of which a filter found all starts, with a scan as acd_is_short asks for. */
extern acd_status acd_sweep_short(acd_sweep *sweep, const acd_scan *scan, const void *text, size_t len,
								  const acd_hits *hits, acd_taker taker, acd_match_fn fn, void *arg);

/* What takes the matches of a kind; false if there is no such kind. */
static inline bool
acd_taker_of(acd_kind kind, acd_taker *taker)
{
	static const acd_taker takers[] = {
		[ACD_ALL_OVERLAPPING] = ACD_TAKE_OVERLAPPING,
		[ACD_LEFTMOST_LONGEST] = ACD_TAKE_LONGEST,
		[ACD_LEFTMOST_FIRST] = ACD_TAKE_FIRST,
		[ACD_COVER] = ACD_TAKE_COVER
	};

	if ((unsigned) kind > (unsigned) ACD_COVER)
		return false;
	*taker = takers[kind];
	return true;
}

extern acd_status acd_sweep_poll_now(acd_sweep *sweep);

/* Account for bytes read, nodes walked or matches; polls when enough have gathered. */
static inline acd_status
acd_sweep_poll(acd_sweep *sweep, size_t work)
{
	sweep->unpolled += work;
	return ACD_LIKELY(sweep->unpolled < ACD_POLL_BYTES) ? ACD_OK : acd_sweep_poll_now(sweep);
}

/* ---- text that repeats itself (period.c) ---- */

#define ACD_PERIOD_BYTES	1024	/* shorter texts are not looked at */

extern acd_status acd_period_look(acd_sweep *sweep, size_t pos, uint32_t *period);

/*
 * Does text that repeats itself, enough to make use of that, begin at pos?
 * If so *period, else 0, is after how many bytes it does.  All starts in
 * them must then be taken, and acd_period_use be called.
 */
static inline acd_status
acd_period_at(acd_sweep *sweep, size_t pos, uint32_t *period)
{
	*period = 0;
	if (ACD_LIKELY(sweep->len - pos < ACD_PERIOD_BYTES || pos < sweep->period_look))
		return ACD_OK;
	return acd_period_look(sweep, pos, period);
}

/*
 * All starts of the period at pos are taken, or "complete" is false: take
 * those of the periods that follow, as far as they are the same.  *next is
 * where to go on; it moves if that is elsewhere.
 */
extern acd_status acd_period_use(acd_sweep *sweep, size_t pos, bool complete, size_t *next);

/* ---- short texts (short.c) ---- */

#define ACD_SHORT_TEXT	64

/*
 * May a text be scanned by the functions below?  Only with one machine of one
 * tier that looks at each start, and nothing forced.
 */
static inline bool
acd_is_short(const acd_scan *scan, const void *text, size_t len)
{
	return scan != NULL && len <= ACD_SHORT_TEXT && text != NULL && scan->nmachines == 1 &&
		scan->machines != NULL && scan->machines[0]->ntiers == 1 && scan->machines[0]->tiers[0].step == 0 &&
		scan->engine == ACD_ENGINE_AUTO && scan->simd == ACD_SIMD_AUTO;
}

/* Find what may be starts; false if there are none. */
extern bool acd_short_look(const acd_scan *scan, const void *text, size_t len, acd_hits *hits);

/* Report the matches that start at these, or tell whether there is one. */
extern acd_status acd_short_find(const acd_scan *scan, const void *text, size_t len, const acd_hits *hits,
								 acd_match_fn fn, void *arg);
extern bool acd_short_any(const acd_scan *scan, const void *text, size_t len, const acd_hits *hits);

/* ---- match kinds (take.c) ---- */

/*
 * Take the terms of the tree "ref" of a machine that start at "start", not
 * before any start of an earlier call.  ACD_ERR_STOPPED after the first match
 * of ACD_TAKE_ANY.
 */
extern acd_status acd_take_tree(acd_sweep *sweep, uint32_t machine, uint32_t ref, size_t start);

/* Take the automaton's term "end" and the shorter ones that start with it. */
extern acd_status acd_take_chain(acd_sweep *sweep, uint32_t machine, uint32_t end, size_t start);

/* Take what was recorded of the period before "pos" again, until "end". */
extern acd_status acd_take_repeats(acd_sweep *sweep, size_t pos, size_t end);

/* Report what waits, as no start is left. */
extern acd_status acd_take_rest(acd_sweep *sweep);

/* ---- matches that wait (waiting.c) ---- */

extern acd_status acd_waiting_push(acd_sweep *sweep, uint32_t machine, uint32_t term,
								   size_t start, size_t end);

/*
 * Report a match in its turn.  "more" says that shorter ones of the same start
 * may follow.  A match that ends no later than any of the next start could,
 * and before all that wait, need not wait itself.
 */
static inline acd_status
acd_waiting_add(acd_sweep *sweep, uint32_t machine, uint32_t term, size_t start, size_t end, bool more)
{
	acd_match	match;

	if (more || end - start > sweep->prompt + 1 || sweep->prompt == 0 ||
		(sweep->nwaiting > 0 && sweep->waiting[sweep->first].end <= end))
		return acd_waiting_push(sweep, machine, term, start, end);
	match.start = start;
	match.end = end;
	match.machine = machine;
	match.term = term;
	return sweep->fn(sweep->arg, &match) != 0 ? ACD_ERR_STOPPED : acd_sweep_poll(sweep, 1);
}

/* Report those that end at or before "pos". */
extern acd_status acd_waiting_report(acd_sweep *sweep, size_t pos);

/* ---- the automaton (automaton.c) ---- */

/*
 * Should a deep tree at "start" be answered by the automaton?  If so its
 * backlog covers the start.
 */
extern acd_status acd_automaton_wanted(acd_sweep *sweep, uint32_t machine, size_t start, bool *wanted);

/* The longest term of the automaton at a start its backlog covers, + 1, or 0. */
static inline uint32_t
acd_automaton_at(const acd_sweep *sweep, uint32_t machine, size_t start)
{
	const acd_backlog *backlog = &sweep->backlogs[machine];

	return backlog->ends[start - backlog->lo];
}

extern void acd_automaton_free(acd_sweep *sweep);

#endif							/* ACD_SCAN_H */
