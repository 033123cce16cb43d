/*
 * bench_noop.c
 *		The least that a function of a text costs: bench_noop(text) returns its
 *		length in bytes, having detoasted it, bench_noop_false(text) false.
 *		bench_read(text) reads all of it and returns whether it has a zero byte.
 *
 * Copyright (c) 2026, the acdat_decoder authors; PostgreSQL licence
 */
#include "postgres.h"

#include "fmgr.h"
#if PG_VERSION_NUM >= 160000
#include "varatt.h"
#endif

PG_MODULE_MAGIC;
PG_FUNCTION_INFO_V1(bench_noop);
PG_FUNCTION_INFO_V1(bench_noop_false);
PG_FUNCTION_INFO_V1(bench_read);

Datum
bench_noop(PG_FUNCTION_ARGS)
{
	text	   *value = PG_GETARG_TEXT_PP(0);

	PG_RETURN_INT32((int32) VARSIZE_ANY_EXHDR(value));
}

Datum
bench_noop_false(PG_FUNCTION_ARGS)
{
	text	   *value = PG_GETARG_TEXT_PP(0);

	PG_RETURN_BOOL(VARSIZE_ANY_EXHDR(value) == PG_UINT32_MAX);
}

Datum
bench_read(PG_FUNCTION_ARGS)
{
	text	   *value = PG_GETARG_TEXT_PP(0);

	PG_RETURN_BOOL(memchr(VARDATA_ANY(value), 0, VARSIZE_ANY_EXHDR(value)) != NULL);
}
