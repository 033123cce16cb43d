/*
 * core_glue.c
 *		Core on top of palloc, ereport and the server's encodings.
 */
#include "postgres.h"

#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "acdat.h"

static void *
glue_alloc(void *ctx, size_t size)
{
	return MemoryContextAllocExtended((MemoryContext) ctx, size,
									  MCXT_ALLOC_HUGE | MCXT_ALLOC_NO_OOM);
}

/*
 * There is no resizing without an error on out of memory before 16, and core
 * wants NULL then, so take a new block and copy.
 */
static void *
glue_resize(void *ctx, void *ptr, size_t old_size, size_t size)
{
	void	   *new_ptr = glue_alloc(ctx, size);

	if (new_ptr != NULL && ptr != NULL)
	{
		memcpy(new_ptr, ptr, Min(old_size, size));
		pfree(ptr);
	}
	return new_ptr;
}

static void
glue_release(void *ctx pg_attribute_unused(), void *ptr)
{
	if (ptr != NULL)
		pfree(ptr);
}

acd_allocator
acdat_allocator(MemoryContext context)
{
	acd_allocator allocator = {glue_alloc, glue_resize, glue_release, context};

	return allocator;
}

int
acdat_poll(void *arg pg_attribute_unused())
{
	CHECK_FOR_INTERRUPTS();
	return 0;
}

/* SQLSTATE of one of core's status codes. */
static int
status_sqlstate(acd_status status)
{
	switch (status)
	{
		case ACD_ERR_NOMEM:
			return ERRCODE_OUT_OF_MEMORY;
		case ACD_ERR_ARGUMENT:
		case ACD_ERR_NO_TERMS:
		case ACD_ERR_EMPTY_TERM:
			return ERRCODE_INVALID_PARAMETER_VALUE;
		case ACD_ERR_TERM_TOO_LONG:
		case ACD_ERR_TOO_MANY_TERMS:
		case ACD_ERR_TOO_LARGE:
		case ACD_ERR_LIMIT:
			return ERRCODE_PROGRAM_LIMIT_EXCEEDED;
		case ACD_ERR_TRUNCATED:
		case ACD_ERR_MAGIC:
		case ACD_ERR_VERSION:
		case ACD_ERR_CHECKSUM:
		case ACD_ERR_CORRUPT:
			return ERRCODE_DATA_CORRUPTED;
		default:
			return ERRCODE_INTERNAL_ERROR;
	}
}

void
acdat_raise(acd_status status, const char *what)
{
	ereport(ERROR,
			(errcode(status_sqlstate(status)),
			 errmsg("could not use %s: %s", what, acd_status_message(status))));
}

uint8 *
acdat_boundaries(const char *text, Size len)
{
	int			encoding = GetDatabaseEncoding();
	uint8	   *bits;
	Size		pos = 0;

	/* in UTF-8 no character is found inside another one */
	if (encoding == PG_UTF8 || pg_database_encoding_max_length() == 1)
		return NULL;

	bits = palloc0(len / 8 + 1);
	while (pos < len)
	{
		int			step = pg_encoding_mblen(encoding, text + pos);

		bits[pos / 8] |= 1 << (pos % 8);
		pos += Max(step, 1);
	}
	bits[len / 8] |= 1 << (len % 8);
	return bits;
}

bool
acdat_needs_boundaries(AcdatTextState terms)
{
	if (pg_database_encoding_max_length() == 1)
		return false;
	return GetDatabaseEncoding() != PG_UTF8 || terms != ACDAT_TEXT_CLEAN;
}
