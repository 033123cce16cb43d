/*
 * seam_search.c
 *		Looking for terms in and at the end of one replacement.
 *
 * What an automaton of all terms tells in passing, by scanning and by binary
 * search: worth it where replacements are few, as then the automaton would
 * be built for next to nothing.
 *
 * Copyright (c) 2026, the acdat_decoder authors; PostgreSQL licence
 */
#include "acd_internal.h"

/* Note the first match. */
static int
note_match(void *arg, const acd_match *match)
{
	*(uint32_t *) arg = match->term + 1;
	return 1;
}

/* Find a term in a text. */
acd_status
acd_seam_term_in(const acd_machine *machine, const acd_allocator *allocator,
				 const unsigned char *text, size_t len, uint32_t *term)
{
	acd_scan	scan = {0};
	acd_status	status;

	*term = 0;
	scan.machines = &machine;
	scan.nmachines = 1;
	scan.kind = ACD_ALL_OVERLAPPING;
	scan.allocator = allocator;
	status = acd_find(&scan, text, len, note_match, term);
	return status == ACD_ERR_STOPPED ? ACD_OK : status;
}

/*
 * Does a string stand before a term in the order of terms, or begin it?  A
 * string that is the term stands behind it.
 */
static bool
stands_before(const unsigned char *bytes, size_t len, const unsigned char *pattern, size_t pattern_len)
{
	int			order = memcmp(bytes, pattern, len < pattern_len ? len : pattern_len);

	return order != 0 ? order < 0 : len < pattern_len;
}

/* Find a term that a suffix of a text is a proper prefix of. */
uint32_t
acd_seam_term_behind(const acd_machine *machine, const unsigned char *text, size_t len,
					 unsigned char *pattern)
{
	size_t		longest = len < machine->max_len ? len : machine->max_len - 1;

	for (size_t n = longest; n > 0; n--)
	{
		const unsigned char *suffix = text + len - n;
		uint32_t	lo = 0;
		uint32_t	hi = machine->nterms;

		/* The first term behind the suffix: the terms it begins follow it. */
		while (lo < hi)
		{
			uint32_t	middle = lo + (hi - lo) / 2;

			acd_machine_pattern(machine, middle, pattern);
			if (stands_before(suffix, n, pattern, acd_term_len(machine, middle)))
				hi = middle;
			else
				lo = middle + 1;
		}
		if (lo == machine->nterms)
			continue;
		acd_machine_pattern(machine, lo, pattern);
		if (acd_term_len(machine, lo) > n && memcmp(pattern, suffix, n) == 0)
			return lo + 1;
	}
	return 0;
}
