/*
 * filter_none.c
 *		The filters in portable C.
 *
 * Copyright (c) 2026, the acdat_decoder authors; PostgreSQL licence
 */
#include "acd_filter.h"

#define NAME(x)				x
#define TARGET
#define START_MASK(c, p)	start_mask(c, p, 64)
#define START_MASK_32(c, p)	start_mask(c, p, 32)
#define ONE_MASK(c, p)		one_mask(c, p)
#define NONE_IN(c, p)		none_in(c, p)

/* Bits of the bytes that are in one class with the three that follow. */
static inline uint64_t
start_mask(const unsigned char *classes, const unsigned char *p, unsigned n)
{
	uint64_t	mask = 0;

	for (unsigned i = 0; i < n; i++)
		if ((acd_classes_of(classes, p[i]) & acd_classes_of(classes + 32, p[i + 1]) &
			 acd_classes_of(classes + 64, p[i + 2]) & acd_classes_of(classes + 96, p[i + 3])) != 0)
			mask |= UINT64_C(1) << i;
	return mask;
}

/* Bits of the bytes that are in the first class. */
static inline uint64_t
one_mask(const unsigned char *classes, const unsigned char *p)
{
	uint64_t	mask = 0;

	for (unsigned i = 0; i < 64; i++)
		mask |= (uint64_t) (acd_classes_of(classes, p[i]) != 0) << i;
	return mask;
}

/* Is none of the bytes in the first class? */
static inline bool
none_in(const unsigned char *classes, const unsigned char *p)
{
	for (unsigned i = 0; i < ACD_SKIP; i += 64)
		if (one_mask(classes, p + i) != 0)
			return false;
	return true;
}

#include "filter_kernel.h"

const acd_filters acd_filters_none = {starts, windows, starts};
