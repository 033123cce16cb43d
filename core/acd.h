/*
 * acd.h
 *		Literal multi-pattern matching: the public interface of core.
 *
 * A dictionary of terms is compiled once into an artifact: one contiguous,
 * position-independent, little-endian byte string that any number of threads
 * or processes use in place, at any address and alignment.  A scan runs over
 * a set of such machines and gives what one machine holding the union of
 * their terms would give.
 *
 * Core is C11 on libc.  It never prints, aborts, or keeps global state;
 * memory comes from the caller's allocator and every fault is a status code.
 * All lengths and positions are bytes.  Nothing here knows about character
 * encodings, except through the boundary bitmap of a scan.
 *
 * Copyright (c) 2026, the acdat_decoder authors; PostgreSQL licence
 */
#ifndef ACD_H
#define ACD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ACD_MAX_TERMS		1000000		/* terms of one machine */
#define ACD_MAX_TERM_LEN	65535		/* bytes of one pattern */
#define ACD_MAX_MACHINES	64			/* machines of one scan */
#define ACD_DIGEST_LEN		32			/* bytes of a content digest (SHA-256) */
#define ACD_POLL_BYTES		65536		/* text scanned between two polls */

/*
 * Status of an operation.  The numbers are not part of any file format; they
 * are stable within one major version.
 */
typedef enum acd_status
{
	ACD_OK = 0,
	/* the caller's request */
	ACD_ERR_NOMEM,				/* the allocator returned NULL */
	ACD_ERR_ARGUMENT,			/* a value outside its documented range */
	ACD_ERR_NO_TERMS,			/* finishing a builder without terms */
	ACD_ERR_EMPTY_TERM,			/* a pattern of length 0 */
	ACD_ERR_TERM_TOO_LONG,		/* a pattern over ACD_MAX_TERM_LEN bytes */
	ACD_ERR_TOO_MANY_TERMS,		/* more than ACD_MAX_TERMS terms */
	ACD_ERR_TOO_LARGE,			/* a size that does not fit the format */
	/* an artifact that cannot be used */
	ACD_ERR_TRUNCATED,			/* shorter than its header says */
	ACD_ERR_MAGIC,				/* not an artifact */
	ACD_ERR_VERSION,			/* a format version this code does not read */
	ACD_ERR_CHECKSUM,			/* bytes changed since it was written */
	ACD_ERR_CORRUPT,			/* structure violates the format's rules */
	/* a scan that did not run to its end */
	ACD_ERR_LIMIT,				/* output would exceed the caller's limit */
	ACD_ERR_STOPPED				/* a callback asked to stop */
} acd_status;

/* One sentence for a status, static text without user data; never NULL. */
extern const char *acd_status_message(acd_status status);

/*
 * Memory for core, in the manner of malloc, realloc and free.  Functions may
 * return NULL (reported as ACD_ERR_NOMEM) and are never asked for 0 bytes.
 * "size" of the free function's block is not passed.  Leaving a function by
 * longjmp is allowed if the allocator's owner reclaims what was handed out.
 */
typedef struct acd_allocator
{
	void	   *(*alloc) (void *ctx, size_t size);
	void	   *(*resize) (void *ctx, void *ptr, size_t old_size, size_t size);
	void		(*release) (void *ctx, void *ptr);
	void	   *ctx;
} acd_allocator;

/* The C library's malloc, realloc and free. */
extern const acd_allocator acd_libc_allocator;

/* ---- building ---- */

/*
 * A term.  The pattern is 1 to ACD_MAX_TERM_LEN bytes, NULs allowed; the
 * replacement is 0 to 2^31-1 bytes.  Higher priority wins, then the lower id.
 */
typedef struct acd_term
{
	const void *pattern;
	size_t		pattern_len;
	const void *replacement;
	size_t		replacement_len;
	int64_t		id;
	int32_t		priority;
} acd_term;

typedef struct acd_builder acd_builder;

/* Called for each term that another one with the same pattern displaced. */
typedef void (*acd_duplicate_fn) (void *arg, int64_t kept_id, int64_t dropped_id);

/* What acd_builder_finish made. */
typedef struct acd_artifact
{
	void	   *block;			/* from the allocator, to be released by the caller */
	size_t		reserved;		/* bytes of the block before the artifact */
	size_t		size;			/* bytes of the artifact, at block + reserved */
	uint32_t	terms;			/* distinct patterns */
	uint32_t	duplicates;		/* terms dropped because their pattern stood twice */
} acd_artifact;

/* A new builder, or NULL if out of memory. The allocator struct is copied. */
extern acd_builder *acd_builder_create(const acd_allocator *allocator);
extern void acd_builder_free(acd_builder *builder);

/* Report displaced duplicates to fn during acd_builder_finish. */
extern void acd_builder_on_duplicate(acd_builder *builder, acd_duplicate_fn fn, void *arg);

/* Add a term, copying what it points to.  On an error nothing was added. */
extern acd_status acd_builder_add(acd_builder *builder, const acd_term *term);

struct acd_machine;

/* Add all terms of an open machine. */
extern acd_status acd_builder_add_machine(acd_builder *builder, const struct acd_machine *machine);

/*
 * Which terms the automaton holds beside the trees: those that could make
 * walking slow (the default), or all.
 */
extern void acd_builder_full_automaton(acd_builder *builder, bool full);

/*
 * Compile the terms into *artifact, which starts "reserve" bytes into its
 * block (room for the caller's own header).  The same set of terms gives the
 * same bytes whatever order it was added in.  The builder can only be freed
 * afterwards.  No recursion; time and memory linear in the bytes of the
 * patterns (times a logarithm for sorting).
 */
extern acd_status acd_builder_finish(acd_builder *builder, size_t reserve, acd_artifact *artifact);

/* ---- machines ---- */

/*
 * How a machine finds where terms may start.  Each tier is a filter in front
 * of a table of prefixes, for terms of similar length; private to core.
 */
typedef struct acd_tier
{
	const unsigned char *filter;	/* words of 64 bits */
	const unsigned char *starts;	/* words of 64 bits, or NULL */
	const unsigned char *offsets;	/* for windows a bit for each offset, or NULL */
	const unsigned char *table;		/* slots of 8 bytes */
	const unsigned char *classes;	/* eight tables of 16 bytes */
	uint64_t	multiplier;
	uint64_t	gram_masks[16]; /* by the high half of a window's first byte: its bytes
								 * in a little-endian word */
	unsigned char windows[16];	/* the same as numbers of bytes */
	uint32_t	min_len;		/* bytes of its shortest term */
	uint32_t	max_len;
	uint32_t	window;			/* bytes the filter looks at, at least */
	uint32_t	step;			/* bytes between two looks; 0: at each start */
	uint32_t	prefix;			/* bytes the table is about */
	uint32_t	filter_shift;	/* 64 - log2 of the number of words */
	uint32_t	starts_shift;
	uint32_t	offsets_shift;
	uint32_t	table_shift;
	uint32_t	table_mask;
} acd_tier;

#define ACD_MAX_TIERS	3

/*
 * An open artifact.  The struct belongs to the caller, may be copied, and
 * holds pointers into the artifact's bytes, which must outlive it.  Fields
 * are private to core.
 */
typedef struct acd_machine
{
	const unsigned char *bytes;
	size_t		size;
	const unsigned char *nodes; /* trees of terms */
	const unsigned char *terms;
	const unsigned char *wide;	/* their ids and priorities, or NULL if the terms' records have room */
	const unsigned char *replacements;
	const unsigned char *states;	/* automaton of reversed terms, or NULL */
	const unsigned char *depths;
	const unsigned char *ends;	/* its terms */
	uint64_t	replacements_size;
	uint64_t	nodes_size;
	uint32_t	nnodes;
	uint32_t	nslots;
	uint32_t	nterms;
	uint32_t	nends;
	uint32_t	ends_max_len;	/* bytes of the longest of the automaton's terms */
	uint32_t	min_len;
	uint32_t	max_len;
	uint32_t	ntiers;
	const void *filters;		/* for the instructions this processor has */
	uint32_t	one_replacement;	/* 1 if all terms have the same replacement */
	acd_tier	tiers[ACD_MAX_TIERS];
} acd_machine;

/* Facts about a machine. */
typedef struct acd_machine_info
{
	uint32_t	terms;
	uint32_t	states;			/* nodes of the trees */
	uint64_t	bytes;
	uint32_t	min_len;		/* bytes of the shortest pattern */
	uint32_t	max_len;		/* bytes of the longest pattern */
	uint16_t	version;		/* format version of the artifact */
	const unsigned char *digest;	/* ACD_DIGEST_LEN bytes, in the artifact */
	const char *engine;			/* what scans it, static text */
	const char *reason;			/* why that was chosen, static text */
} acd_machine_info;

/* A term of a machine; pointers are into the artifact. */
typedef struct acd_term_info
{
	int64_t		id;
	int32_t		priority;
	uint32_t	pattern_len;
	const void *replacement;
	size_t		replacement_len;
} acd_term_info;

/*
 * Open an artifact.  Checks, in time linear in its size and without
 * allocating, everything a scan relies on: whatever the bytes are, they are
 * either refused or scan within bounds, in bounded time per byte.  The
 * checksum detects accidents, not forgery.
 */
extern acd_status acd_machine_open(acd_machine *machine, const void *bytes, size_t size);

/*
 * Let an open machine use equal bytes at another address, without the checks
 * of opening them.  The machine may have been opened by another process: the
 * bytes it had are not looked at.
 */
extern acd_status acd_machine_move(acd_machine *machine, const void *bytes);

/*
 * Prove that an open machine behaves exactly as its terms say: that every
 * failure and output link is the one the terms imply.  For bytes of unknown
 * origin; linear time, scratch from the allocator.
 */
extern acd_status acd_machine_verify(const acd_machine *machine, const acd_allocator *allocator);

extern void acd_machine_describe(const acd_machine *machine, acd_machine_info *info);

/* Term number "term", 0 <= term < terms; false if out of range. */
extern bool acd_machine_term(const acd_machine *machine, uint32_t term, acd_term_info *info);

/* Write the pattern_len bytes of a term's pattern into buf; false if out of range. */
extern bool acd_machine_pattern(const acd_machine *machine, uint32_t term, void *buf);

/* ---- scanning ---- */

typedef enum acd_kind
{
	ACD_ALL_OVERLAPPING,		/* every match; by end, then by start */
	ACD_LEFTMOST_LONGEST,		/* at each leftmost position the longest */
	ACD_LEFTMOST_FIRST,			/* at each leftmost position the best by priority, then id */
	ACD_COVER					/* spans: matches sharing a byte are one */
} acd_kind;

/* "all_overlapping" etc. to its kind; false if there is none of that name. */
extern bool acd_kind_from_name(const char *name, acd_kind *kind);
extern const char *acd_kind_name(acd_kind kind);

/*
 * Ways to get the same matches, for tests and measurements.  Left alone, a
 * scan filters and walks trees, and turns to the automaton where the text
 * makes that slow and the machine has one.
 */
typedef enum acd_engine
{
	ACD_ENGINE_AUTO,
	ACD_ENGINE_TREES,			/* never the automaton: not linear on hostile text */
	ACD_ENGINE_AUTOMATON		/* always, for the terms it holds */
} acd_engine;

typedef enum acd_simd
{
	ACD_SIMD_AUTO,				/* the best the processor has */
	ACD_SIMD_NONE,
	ACD_SIMD_SSSE3,
	ACD_SIMD_AVX2,
	ACD_SIMD_AVX512,			/* F, BW, DQ, VBMI, VBMI2 */
	ACD_SIMD_NEON
} acd_simd;

/* Can this build and processor run these instructions? */
extern bool acd_simd_supported(acd_simd simd);
extern const char *acd_simd_name(acd_simd simd);

/*
 * What to scan with.  Zero-initialise and set the machines and the kind; the
 * rest may stay zero.
 */
typedef struct acd_scan
{
	const acd_machine *const *machines; /* borrowed */
	size_t		nmachines;		/* 0 (nothing matches) to ACD_MAX_MACHINES */
	acd_kind	kind;

	/*
	 * Bit i (least significant first) says that a match may start or end at
	 * byte i; len + 1 bits.  NULL: everywhere.
	 */
	const uint8_t *boundaries;

	/*
	 * Scratch: where the automaton is needed, and where many overlapping
	 * matches wait for their turn.  NULL: acd_libc_allocator.
	 */
	const acd_allocator *allocator;

	/* Called at least every ACD_POLL_BYTES bytes; nonzero stops the scan. */
	int			(*poll) (void *arg);
	void	   *poll_arg;

	/* 0, or what to force; ACD_ERR_ARGUMENT if the processor cannot. */
	acd_engine	engine;
	acd_simd	simd;
} acd_scan;

/*
 * A match, half-open and 0-based.  For ACD_COVER a span with the term whose
 * replacement stands for it.
 */
typedef struct acd_match
{
	size_t		start;
	size_t		end;
	uint32_t	machine;		/* index into the scan's machines */
	uint32_t	term;			/* for acd_machine_term */
} acd_match;

/* Receives a match; nonzero stops the scan with ACD_ERR_STOPPED. */
typedef int (*acd_match_fn) (void *arg, const acd_match *match);

/*
 * Receives the pieces of a replaced text in order: slices of the text, and
 * replacements (slices of an artifact).  Pieces are not empty.  Nonzero stops.
 */
typedef struct acd_sink
{
	int			(*text) (void *arg, const void *piece, size_t len);
	int			(*replacement) (void *arg, const void *piece, size_t len);
	void	   *arg;
} acd_sink;

/* Does anything match?  Stops at the first match's end.  Ignores the kind. */
extern acd_status acd_contains(const acd_scan *scan, const void *text, size_t len, bool *found);

/* Every match of the scan's kind, in order of the text. */
extern acd_status acd_find(const acd_scan *scan, const void *text, size_t len,
						   acd_match_fn fn, void *arg);

/*
 * Replace matches.  *replaced is the number of replacements; where it is 0
 * the sink was never called and the text stands as it is.  Not for
 * ACD_ALL_OVERLAPPING.  ACD_ERR_LIMIT before the sink receives more than
 * "limit" bytes in all.
 */
extern acd_status acd_replace(const acd_scan *scan, const void *text, size_t len,
							  size_t limit, const acd_sink *sink, size_t *replaced);

/* ---- safe replacements ---- */

/*
 * Why a replacement could leave or make a term in redacted text.  Without
 * such a replacement, redacting twice changes nothing and no term stands in
 * any cover output.
 */
typedef enum acd_seam
{
	ACD_SEAM_EMPTY,				/* nothing: its two sides would touch */
	ACD_SEAM_CONTAINS_TERM,
	ACD_SEAM_INSIDE_TERM,
	ACD_SEAM_PREFIX,			/* a prefix of it is a proper suffix of a term */
	ACD_SEAM_SUFFIX				/* a suffix of it is a proper prefix of a term */
} acd_seam;

typedef struct acd_seam_problem
{
	acd_seam	seam;
	uint32_t	machine;		/* index of the machine whose replacement it is */
	uint32_t	term;			/* its term there */
	uint32_t	other_machine;	/* the term it collides with; if empty, itself */
	uint32_t	other_term;
} acd_seam_problem;

/* Receives a problem; nonzero stops with ACD_ERR_STOPPED. */
typedef int (*acd_seam_fn) (void *arg, const acd_seam_problem *problem);

/*
 * Examine every distinct replacement of the machines against every term of
 * all of them.  Reports at least one problem for each unsafe replacement, at
 * most one of each acd_seam.  Linear in the bytes of terms and replacements.
 */
extern acd_status acd_seam_check(const acd_machine *const *machines, size_t nmachines,
								 const acd_allocator *allocator,
								 acd_seam_fn fn, void *arg);

#endif							/* ACD_H */
