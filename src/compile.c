/*
 * compile.c
 *		The aggregates acdat.compile.
 *
 * One transition function serves all of them, by the number of its
 * arguments: text and bytea are the same bytes.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#include "policy.h"
#include "sql.h"

PG_FUNCTION_INFO_V1(acdat_compile_step);
PG_FUNCTION_INFO_V1(acdat_compile_final);

typedef struct CompileState
{
	acd_builder *builder;
	int64		terms;			/* added so far */
} CompileState;

static CompileState *
start_compiling(MemoryContext context)
{
	acd_allocator allocator = acdat_allocator(context);
	CompileState *state = MemoryContextAllocZero(context, sizeof(CompileState));

	state->builder = acd_builder_create(&allocator);
	if (state->builder == NULL)
		acdat_raise(ACD_ERR_NOMEM, "machine");
	return state;
}

/* No option has a meaning yet. */
static void
check_options(ArrayType *options)
{
	Datum	   *elements;
	bool	   *nulls;
	int			nelements;

	deconstruct_array(options, TEXTOID, -1, false, TYPALIGN_INT, &elements, &nulls, &nelements);
	if (nelements > 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("unrecognized term option \"%s\"",
						nulls[0] ? "NULL" : TextDatumGetCString(elements[0])),
				 errhint("Terms have no options yet.")));
}

/* Add a term; "number" counts terms from 1. */
static void
add_term(acd_builder *builder, const acd_term *term, int64 number)
{
	acd_status	status = acd_builder_add(builder, term);

	switch (status)
	{
		case ACD_OK:
			return;
		case ACD_ERR_EMPTY_TERM:
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("pattern must not be empty"),
					 errdetail("It is that of term number %lld.", (long long) number)));
			break;
		case ACD_ERR_TERM_TOO_LONG:
			ereport(ERROR,
					(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
					 errmsg("pattern is too long"),
					 errdetail("That of term number %lld has %zu bytes; at most %d are allowed.",
							   (long long) number, term->pattern_len, ACD_MAX_TERM_LEN)));
			break;
		default:
			acdat_raise(status, "terms");
	}
}

/* compile_step(state, pattern [, replacement [, id [, priority [, options]]]]) */
Datum
acdat_compile_step(PG_FUNCTION_ARGS)
{
	MemoryContext context;
	CompileState *state = PG_ARGISNULL(0) ? NULL : (CompileState *) PG_GETARG_POINTER(0);
	acd_term	term = {0};
	struct varlena *value;

	if (!AggCheckCallContext(fcinfo, &context))
		elog(ERROR, "%s called in non-aggregate context", "acdat_compile_step");
	CHECK_FOR_INTERRUPTS();
	if (PG_NARGS() > 5 && !PG_ARGISNULL(5))
		check_options(PG_GETARG_ARRAYTYPE_P(5));
	if (state == NULL)
		state = start_compiling(context);
	if (PG_ARGISNULL(1))
		PG_RETURN_POINTER(state);

	value = PG_GETARG_VARLENA_PP(1);
	term.pattern = VARDATA_ANY(value);
	term.pattern_len = VARSIZE_ANY_EXHDR(value);
	term.replacement = ACDAT_DEFAULT_MASK;
	term.replacement_len = strlen(ACDAT_DEFAULT_MASK);
	if (PG_NARGS() > 2 && !PG_ARGISNULL(2))
	{
		value = PG_GETARG_VARLENA_PP(2);
		term.replacement = VARDATA_ANY(value);
		term.replacement_len = VARSIZE_ANY_EXHDR(value);
	}
	term.id = state->terms + 1;
	if (PG_NARGS() > 3)
	{
		if (PG_ARGISNULL(3))
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("id of a term must not be null"),
					 errdetail("It is that of term number %lld.", (long long) state->terms + 1)));
		term.id = PG_GETARG_INT64(3);
	}
	if (PG_NARGS() > 4 && !PG_ARGISNULL(4))
		term.priority = PG_GETARG_INT32(4);

	add_term(state->builder, &term, state->terms + 1);
	state->terms++;
	PG_RETURN_POINTER(state);
}

Datum
acdat_compile_final(PG_FUNCTION_ARGS)
{
	CompileState *state = PG_ARGISNULL(0) ? NULL : (CompileState *) PG_GETARG_POINTER(0);
	acd_artifact artifact;
	acd_status	status;
	bytea	   *result;

	if (state == NULL || state->terms == 0)
		PG_RETURN_NULL();
	status = acd_builder_finish(state->builder, VARHDRSZ, &artifact);
	if (status != ACD_OK)
		acdat_raise(status, "terms");
	acd_builder_free(state->builder);
	state->builder = NULL;
	state->terms = 0;
	if (artifact.size > MaxAllocSize - VARHDRSZ)
		acdat_raise(ACD_ERR_TOO_LARGE, "terms");
	result = artifact.block;
	SET_VARSIZE(result, VARHDRSZ + artifact.size);
	PG_RETURN_BYTEA_P(result);
}
