/*
 * add_terms.c
 *		acdat.add_terms: arrays of terms into a dictionary.
 *
 * The server can be told to log plans and parameters of the statements a
 * function runs, so the terms reach theirs through an ephemeral relation.
 * Errors name elements by their number.
 */
#include "postgres.h"

#include "access/detoast.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/queryenvironment.h"
#include "utils/tuplestore.h"

#include "acdat.h"
#include "compat.h"
#include "publish.h"

PG_FUNCTION_INFO_V1(acdat_add_terms);

#define NEW_TERMS	"acdat_new_terms"

/* The elements of an array of text, in storage order. */
typedef struct Elements
{
	Datum	   *values;
	bool	   *nulls;
	int			count;
} Elements;

static Elements
array_elements(ArrayType *array)
{
	Elements	result;

	deconstruct_array(array, TEXTOID, -1, false, TYPALIGN_INT,
					  &result.values, &result.nulls, &result.count);
	return result;
}

/* What is wrong with a pattern, or NULL. */
static const char *
pattern_problem(const Elements *patterns, int i)
{
	Size		len;

	if (patterns->nulls[i])
		return "null";
	len = toast_raw_datum_size(patterns->values[i]) - VARHDRSZ;
	if (len == 0)
		return "empty";
	return len > ACD_MAX_TERM_LEN ? "longer than 65535 bytes" : NULL;
}

static void
check_patterns(const Elements *patterns, const char *dictionary)
{
	AcdatReport bad = {0};

	initStringInfo(&bad.text);
	for (int i = 0; i < patterns->count; i++)
	{
		const char *problem = pattern_problem(patterns, i);

		if (problem != NULL)
			acdat_report(&bad, ", ", psprintf("%d (%s)", i + 1, problem));
	}
	if (bad.items > 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("some patterns cannot be added to dictionary \"%s\"", dictionary),
				 errdetail("Elements %s.", acdat_report_text(&bad)),
				 errhint("Elements are counted from 1. A pattern has 1 to %d bytes.",
						 ACD_MAX_TERM_LEN)));
}

/*
 * Make the terms known to SPI's statements as a relation.  The caller ends
 * the tuplestore, which may have a file.
 */
static Tuplestorestate *
register_terms(const Elements *patterns, const Elements *replacements)
{
	TupleDesc	desc = CreateTemplateTupleDesc(2);
	Tuplestorestate *store = tuplestore_begin_heap(false, false, work_mem);
	EphemeralNamedRelation relation = palloc0(sizeof(EphemeralNamedRelationData));

	TupleDescInitEntry(desc, 1, "pattern", TEXTOID, -1, 0);
	TupleDescInitEntry(desc, 2, "replacement", TEXTOID, -1, 0);
	ACDAT_FINISH_DESC(desc);
	for (int i = 0; i < patterns->count; i++)
	{
		Datum		values[2] = {patterns->values[i], (Datum) 0};
		bool		nulls[2] = {false, true};

		if (replacements != NULL && !replacements->nulls[i])
		{
			values[1] = replacements->values[i];
			nulls[1] = false;
		}
		tuplestore_putvalues(store, desc, values, nulls);
	}
	relation->md.name = NEW_TERMS;
	relation->md.reliddesc = InvalidOid;
	relation->md.tupdesc = desc;
	relation->md.enrtype = ENR_NAMED_TUPLESTORE;
	relation->md.enrtuples = patterns->count;
	relation->reldata = store;
	if (SPI_register_relation(relation) != SPI_OK_REL_REGISTER)
		elog(ERROR, "SPI_register_relation failed");
	return store;
}

static int64
insert_terms(text *dictionary, const Elements *patterns, const Elements *replacements)
{
	Oid			types[] = {TEXTOID};
	Datum		values[] = {PointerGetDatum(dictionary)};

	Tuplestorestate *store = register_terms(patterns, replacements);
	int64		added;

	acdat_spi("INSERT INTO acdat.terms (dictionary, pattern, replacement) "
			  "SELECT $1, pattern, replacement FROM " NEW_TERMS,
			  1, types, values, false, SPI_OK_INSERT);
	added = (int64) SPI_processed;
	SPI_unregister_relation(NEW_TERMS);
	tuplestore_end(store);
	return added;
}

/* add_terms(dictionary, patterns, replacements) */
Datum
acdat_add_terms(PG_FUNCTION_ARGS)
{
	text	   *dictionary = PG_ARGISNULL(0) ? NULL : PG_GETARG_TEXT_PP(0);
	Elements	patterns;
	Elements	replacements = {NULL, NULL, 0};
	Oid			types[] = {TEXTOID};
	Datum		values[] = {PointerGetDatum(dictionary)};
	char		nulls[] = {dictionary ? ' ' : 'n'};
	int64		added;

	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	SPI_execute_with_args("SELECT acdat.check_dictionary($1)", 1, types, values, nulls, false, 0);
	if (PG_ARGISNULL(1))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("patterns must not be null")));
	patterns = array_elements(PG_GETARG_ARRAYTYPE_P(1));
	if (!PG_ARGISNULL(2))
	{
		replacements = array_elements(PG_GETARG_ARRAYTYPE_P(2));
		if (replacements.count != patterns.count)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("patterns and replacements differ in length"),
					 errdetail("Patterns number %d, replacements %d.",
							   patterns.count, replacements.count)));
	}
	check_patterns(&patterns, text_to_cstring(dictionary));
	added = insert_terms(dictionary, &patterns, PG_ARGISNULL(2) ? NULL : &replacements);
	SPI_finish();
	PG_RETURN_INT64(added);
}
