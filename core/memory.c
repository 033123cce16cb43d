/*
 * memory.c
 *		The default allocator, checked size arithmetic, growing arrays.
 *
 * Every size in core that depends on input is computed here or compared with
 * a limit first, so that no allocation is smaller than what is written to it.
 *
 * Copyright (c) 2026, the acdat_decoder authors; PostgreSQL licence
 */
#include <stdlib.h>

#include "acd_internal.h"

/* malloc in the shape of an acd_allocator. */
static void *
libc_alloc(void *ctx, size_t size)
{
	(void) ctx;
	return malloc(size);
}

/* realloc in the shape of an acd_allocator. */
static void *
libc_resize(void *ctx, void *ptr, size_t old_size, size_t size)
{
	(void) ctx;
	(void) old_size;
	return realloc(ptr, size);
}

/* free in the shape of an acd_allocator. */
static void
libc_release(void *ctx, void *ptr)
{
	(void) ctx;
	free(ptr);
}

const acd_allocator acd_libc_allocator = {
	libc_alloc, libc_resize, libc_release, NULL
};

/* Add two sizes. */
bool
acd_add_size(size_t a, size_t b, size_t *result)
{
	if (b > SIZE_MAX - a)
		return false;
	*result = a + b;
	return true;
}

/* Multiply two sizes. */
bool
acd_mul_size(size_t a, size_t b, size_t *result)
{
	if (b != 0 && a > SIZE_MAX / b)
		return false;
	*result = a * b;
	return true;
}

/* Allocate an array; an empty one still gets a block, so that NULL means failure. */
void *
acd_alloc_array(const acd_allocator *allocator, size_t count, size_t size)
{
	size_t		bytes;

	if (!acd_mul_size(count, size, &bytes))
		return NULL;
	return allocator->alloc(allocator->ctx, bytes > 0 ? bytes : 1);
}

/* Release a block that may be NULL. */
void
acd_release(const acd_allocator *allocator, void *ptr)
{
	if (ptr != NULL)
		allocator->release(allocator->ctx, ptr);
}

/* Double an array that is full. */
void *
acd_grow_array(const acd_allocator *allocator, void *array,
			   size_t *capacity, size_t used, size_t size)
{
	size_t		wanted = 8;
	size_t		bytes;
	void	   *grown;

	if (used < *capacity)
		return array;
	if ((*capacity > 0 && !acd_mul_size(*capacity, 2, &wanted)) ||
		!acd_mul_size(wanted, size, &bytes))
		return NULL;
	if (array == NULL)
		grown = allocator->alloc(allocator->ctx, bytes);
	else
		grown = allocator->resize(allocator->ctx, array, *capacity * size, bytes);
	if (grown != NULL)
		*capacity = wanted;
	return grown;
}
