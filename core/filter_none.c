/*
 * filter_none.c
 *		The filters in portable C.
 *
 * Copyright (c) 2026, the acdat_decoder authors; PostgreSQL licence
 */
#include "acd_filter.h"

#define NAME(x)				x
#define TARGET
#define PAIR_MASK(c, p)		pair_mask(c, p, 64)
#define PAIR_MASK_32(c, p)	pair_mask(c, p, 32)
#define ONE_MASK(c, p)		one_mask(c, p)

/* Bits of the bytes that are in the first class, the next one in the second. */
static inline uint64_t
pair_mask(const unsigned char *classes, const unsigned char *p, unsigned n)
{
	uint64_t	mask = 0;

	for (unsigned i = 0; i < n; i++)
		if (acd_class_has(classes, p[i]) && acd_class_has(classes + 32, p[i + 1]))
			mask |= UINT64_C(1) << i;
	return mask;
}

/* Bits of the bytes that are in the first class. */
static inline uint64_t
one_mask(const unsigned char *classes, const unsigned char *p)
{
	uint64_t	mask = 0;

	for (unsigned i = 0; i < 64; i++)
		mask |= (uint64_t) acd_class_has(classes, p[i]) << i;
	return mask;
}

#include "filter_kernel.h"

const acd_filters acd_filters_none = {starts, windows, starts};
