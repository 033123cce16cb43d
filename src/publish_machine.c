/*
 * publish_machine.c
 *		Compiling a dictionary out of acdat.terms.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#include "acdat.h"
#include "compat.h"
#include "publish.h"

#define ROWS_PER_FETCH		10000
#define MAX_DUPLICATES		5	/* pairs in a notice */

/* The last column names what is not built yet and yet asked for, or is null. */
static const char *const terms_query =
	"SELECT id, pattern, coalesce(replacement, $2), coalesce(priority, 0), "
	"CASE WHEN allow THEN 'allow' WHEN whole_word THEN 'whole_word' "
	"WHEN valid_from IS NOT NULL THEN 'valid_from' "
	"WHEN valid_until IS NOT NULL THEN 'valid_until' "
	"WHEN encodings IS NOT NULL THEN 'encodings' END "
	"FROM acdat.terms WHERE dictionary = $1 AND coalesce(enabled, true)";

/* A dictionary on its way into a builder. */
typedef struct Loading
{
	const char *dictionary;
	acd_builder *builder;
	int64		terms;
	AcdatReport bad;			/* terms that cannot be compiled */
	AcdatReport unbuilt;		/* terms that ask for what is not built */
	AcdatReport duplicates;
	int64		nduplicates;
} Loading;

static void
note_duplicate(void *arg, int64_t kept_id, int64_t dropped_id)
{
	Loading    *loading = arg;

	if (loading->nduplicates++ < MAX_DUPLICATES)
		acdat_report(&loading->duplicates, ", ",
					 psprintf("%lld (same as %lld)", (long long) dropped_id, (long long) kept_id));
}

/* Add one row of terms_query. */
static void
load_term(Loading *loading, HeapTuple row, TupleDesc desc)
{
	bool		isnull;
	int64		id = DatumGetInt64(SPI_getbinval(row, desc, 1, &isnull));
	Datum		datum = SPI_getbinval(row, desc, 2, &isnull);
	struct varlena *pattern;
	struct varlena *replacement;
	char	   *unbuilt = SPI_getvalue(row, desc, 5);
	acd_term	term = {0};
	acd_status	status;

	if (unbuilt != NULL)
	{
		acdat_report(&loading->unbuilt, ", ", psprintf("%lld (%s)", (long long) id, unbuilt));
		return;
	}
	if (isnull)
	{
		acdat_report(&loading->bad, ", ", psprintf("%lld (null)", (long long) id));
		return;
	}
	pattern = PG_DETOAST_DATUM_PACKED(datum);
	replacement = PG_DETOAST_DATUM_PACKED(SPI_getbinval(row, desc, 3, &isnull));
	term.id = id;
	term.pattern = VARDATA_ANY(pattern);
	term.pattern_len = VARSIZE_ANY_EXHDR(pattern);
	term.replacement = VARDATA_ANY(replacement);
	term.replacement_len = VARSIZE_ANY_EXHDR(replacement);
	term.priority = DatumGetInt32(SPI_getbinval(row, desc, 4, &isnull));
	status = acd_builder_add(loading->builder, &term);
	if (status == ACD_ERR_EMPTY_TERM || status == ACD_ERR_TERM_TOO_LONG)
		acdat_report(&loading->bad, ", ",
					 psprintf("%lld (%s)", (long long) id,
							  status == ACD_ERR_EMPTY_TERM ? "empty" : "longer than 65535 bytes"));
	else if (status != ACD_OK)
		acdat_raise(status, psprintf("dictionary \"%s\"", loading->dictionary));
	loading->terms++;
}

/* Read the dictionary through a cursor, a batch of rows at a time. */
static void
load_terms(Loading *loading, const char *replacement)
{
	Oid			types[] = {TEXTOID, TEXTOID};
	Datum		values[] = {CStringGetTextDatum(loading->dictionary),
	CStringGetTextDatum(replacement)};
	MemoryContext batch = AllocSetContextCreate(CurrentMemoryContext, "acdat terms",
												ALLOCSET_DEFAULT_SIZES);
	Portal		portal = SPI_cursor_open_with_args(NULL, terms_query, 2, types, values, NULL,
												   true, CURSOR_OPT_NO_SCROLL);

	for (;;)
	{
		MemoryContext old;

		CHECK_FOR_INTERRUPTS();
		SPI_cursor_fetch(portal, true, ROWS_PER_FETCH);
		if (SPI_processed == 0)
			break;
		old = MemoryContextSwitchTo(batch);
		for (uint64 i = 0; i < SPI_processed; i++)
			load_term(loading, SPI_tuptable->vals[i], SPI_tuptable->tupdesc);
		MemoryContextSwitchTo(old);
		MemoryContextReset(batch);
		SPI_freetuptable(SPI_tuptable);
	}
	SPI_cursor_close(portal);
	MemoryContextDelete(batch);
}

static void
refuse_bad_terms(Loading *loading)
{
	if (loading->unbuilt.items > 0)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("dictionary \"%s\" has terms that ask for what is not supported yet",
						loading->dictionary),
				 errdetail("Terms %s.", acdat_report_text(&loading->unbuilt)),
				 errhint("Set the columns named to their defaults, or disable these terms.")));
	if (loading->bad.items > 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("dictionary \"%s\" has terms whose pattern cannot be used",
						loading->dictionary),
				 errdetail("Terms %s.", acdat_report_text(&loading->bad))));
	if (loading->terms == 0)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("dictionary \"%s\" has no enabled terms", loading->dictionary),
				 errhint("Add terms with acdat.add_terms, or let the policy do without it: acdat.remove_dictionary.")));
}

static void
notice_duplicates(Loading *loading)
{
	loading->duplicates.left_out = (int) Max(loading->nduplicates - MAX_DUPLICATES, 0);
	ereport(NOTICE,
			(errmsg("dictionary \"%s\" has patterns that stand in it more than once",
					loading->dictionary),
			 errdetail("Terms not used: %s.", acdat_report_text(&loading->duplicates))));
}

/*
 * Compile a dictionary into built->artifact, which is allocated in "context"
 * together with what building leaves there.
 */
void
acdat_build_machine(const char *dictionary, const char *replacement,
					MemoryContext context, bool quiet, AcdatBuiltMachine *built)
{
	acd_allocator allocator = acdat_allocator(context);
	Loading		loading = {0};
	acd_artifact artifact;
	acd_status	status;

	loading.dictionary = dictionary;
	initStringInfo(&loading.bad.text);
	initStringInfo(&loading.unbuilt.text);
	initStringInfo(&loading.duplicates.text);
	loading.builder = acd_builder_create(&allocator);
	if (loading.builder == NULL)
		acdat_raise(ACD_ERR_NOMEM, psprintf("dictionary \"%s\"", dictionary));
	acd_builder_on_duplicate(loading.builder, note_duplicate, &loading);
	load_terms(&loading, replacement);
	refuse_bad_terms(&loading);

	status = acd_builder_finish(loading.builder, 0, &artifact);
	if (status != ACD_OK)
		acdat_raise(status, psprintf("dictionary \"%s\"", dictionary));
	acd_builder_free(loading.builder);
	if (artifact.size > MaxAllocSize - VARHDRSZ)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("dictionary \"%s\" is too large", dictionary),
				 errdetail("Compiled it has %zu bytes; at most %zu are allowed.",
						   artifact.size, (Size) MaxAllocSize - VARHDRSZ),
				 errhint("Divide its terms among several dictionaries and let the policy use them all.")));
	built->artifact = artifact.block;
	status = acd_machine_open(&built->machine, built->artifact, artifact.size);
	if (status != ACD_OK)
		acdat_raise(status, psprintf("dictionary \"%s\"", dictionary));
	if (loading.nduplicates > 0 && !quiet)
		notice_duplicates(&loading);
}
