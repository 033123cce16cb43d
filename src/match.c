/*
 * match.c
 *		acdat.contains, replace, matches and describe.
 *
 * A match of text never starts or ends inside a character.  The terms of a
 * machine made from text in a UTF-8 database cannot; other encodings need
 * the boundaries of the value's characters, and so does a machine with bytes
 * that are not valid text here.  Whether it is one is found out only when
 * something matches for the first time.
 */
#include "postgres.h"

#include "funcapi.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/tuplestore.h"

#include "sql.h"
#include "suggest.h"

PG_FUNCTION_INFO_V1(acdat_contains_text);
PG_FUNCTION_INFO_V1(acdat_contains_bytea);
PG_FUNCTION_INFO_V1(acdat_replace_text);
PG_FUNCTION_INFO_V1(acdat_replace_bytea);
PG_FUNCTION_INFO_V1(acdat_matches_text);
PG_FUNCTION_INFO_V1(acdat_matches_bytea);
PG_FUNCTION_INFO_V1(acdat_describe);

/* A value to scan, and what with. */
typedef struct Subject
{
	const char *data;
	Size		size;
	bool		is_text;
	AcdatMachineArg *arg;
	acd_scan   *scan;			/* of "arg" */
} Subject;

/* ---- setting up a scan ---- */

acd_kind
acdat_kind_arg(text *name)
{
	static const acd_kind kinds[] =
	{ACD_ALL_OVERLAPPING, ACD_LEFTMOST_LONGEST, ACD_LEFTMOST_FIRST, ACD_COVER};
	static const char *names[lengthof(kinds)];
	static Size lens[lengthof(kinds)];
	const char *wanted = VARDATA_ANY(name);
	Size		len = VARSIZE_ANY_EXHDR(name);

	/* called for every row, so nothing is copied, and the default of replace comes first */
	for (int i = lengthof(kinds) - 1; i >= 0; i--)
	{
		if (names[i] == NULL)
		{
			names[i] = acd_kind_name(kinds[i]);
			lens[i] = strlen(names[i]);
		}
		if (lens[i] == len && memcmp(names[i], wanted, len) == 0)
			return kinds[i];
	}
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("unrecognized match kind \"%s\"", text_to_cstring(name)),
			 errhint("%s", acdat_near_hint("match kinds", text_to_cstring(name), names,
										   lengthof(names)))));
}

/* Where characters of UTF-8 start: for machines that are not UTF-8. */
static uint8 *
utf8_boundaries(const char *data, Size size)
{
	uint8	   *bits = palloc0(size / 8 + 1);

	for (Size i = 0; i < size; i++)
	{
		if (((unsigned char) data[i] & 0xC0) != 0x80)
			bits[i / 8] |= 1 << (i % 8);
	}
	bits[size / 8] |= 1 << (size % 8);
	return bits;
}

/* Take the value of argument 0 and the machine of argument 1. */
static inline void
take_subject(FunctionCallInfo fcinfo, Subject *subject, bool is_text, acd_kind kind)
{
	struct varlena *value = PG_GETARG_VARLENA_PP(0);

	subject->data = VARDATA_ANY(value);
	subject->size = VARSIZE_ANY_EXHDR(value);
	subject->is_text = is_text;
	subject->arg = acdat_machine_arg(fcinfo, 1);
	subject->arg->allocator.ctx = CurrentMemoryContext;
	subject->scan = &subject->arg->scan;
	subject->scan->kind = kind;
	subject->scan->boundaries = NULL;
}

static inline bool
subject_contains(const Subject *subject)
{
	bool		found;
	acd_status	status = acd_contains(subject->scan, subject->data, subject->size, &found);

	if (unlikely(status != ACD_OK))
		acdat_raise(status, "machine");
	return found;
}

/* May matches start and end anywhere in the value? */
static inline bool
is_everywhere(const Subject *subject)
{
	return !subject->is_text || subject->arg->everywhere;
}

/* Let the scan stop at characters, if it turns out that it has to. */
static void
set_boundaries(const Subject *subject)
{
	acdat_settle_machine_arg(subject->arg);
	if (subject->arg->everywhere)
		return;
	subject->scan->boundaries = acdat_boundaries(subject->data, subject->size);
	if (subject->scan->boundaries == NULL)
		subject->scan->boundaries = utf8_boundaries(subject->data, subject->size);
}

/*
 * Set up the scan of a value for its matches.  False if it is already known
 * that there are none.
 */
static inline bool
start_scan(FunctionCallInfo fcinfo, Subject *subject, bool is_text, acd_kind kind)
{
	take_subject(fcinfo, subject, is_text, kind);
	if (!is_everywhere(subject))
	{
		if (!subject_contains(subject))
			return false;
		set_boundaries(subject);
	}
	return true;
}

/* ---- contains ---- */

/* What matches inside characters may match at their boundaries, too. */
static inline Datum
contains(FunctionCallInfo fcinfo, bool is_text)
{
	Subject		subject;
	bool		found;

	take_subject(fcinfo, &subject, is_text, ACD_COVER);
	found = subject_contains(&subject);
	if (found && !is_everywhere(&subject))
	{
		set_boundaries(&subject);
		found = subject.scan->boundaries == NULL || subject_contains(&subject);
	}
	PG_RETURN_BOOL(found);
}

Datum
acdat_contains_text(PG_FUNCTION_ARGS)
{
	return contains(fcinfo, true);
}

Datum
acdat_contains_bytea(PG_FUNCTION_ARGS)
{
	return contains(fcinfo, false);
}

/* ---- replace ---- */

/* A varlena that grows; NULL until the first piece. */
typedef struct Output
{
	char	   *data;
	Size		used;			/* header included */
	Size		capacity;
	Size		hint;			/* bytes to start with */
	bool		check_text;
} Output;

static int
append_text(void *arg, const void *piece, size_t len)
{
	Output	   *out = arg;
	Size		needed = out->used + len;

	if (needed > out->capacity)
	{
		/* the scan's limit keeps "needed" below MaxAllocSize */
		out->capacity = Min(Max(Max(out->hint, needed), out->capacity * 2), MaxAllocSize);
		if (out->data == NULL)
			out->data = palloc(out->capacity);
		else
			out->data = repalloc(out->data, out->capacity);
	}
	memcpy(out->data + out->used, piece, len);
	out->used = needed;
	return 0;
}

static int
append_replacement(void *arg, const void *piece, size_t len)
{
	Output	   *out = arg;

	if (out->check_text && !pg_verifymbstr(piece, len, true))
		ereport(ERROR,
				(errcode(ERRCODE_CHARACTER_NOT_IN_REPERTOIRE),
				 errmsg("a replacement in the machine is not valid text in encoding \"%s\"",
						GetDatabaseEncodingName())));
	return append_text(arg, piece, len);
}

struct varlena *
acdat_replace(const acd_scan *scan, const char *data, Size size, bool check_text)
{
	Output		out = {NULL, VARHDRSZ, 0, VARHDRSZ + size + size / 8 + 64, check_text};
	acd_sink	sink = {append_text, append_replacement, &out};
	size_t		replaced;
	acd_status	status = acd_replace(scan, data, size, MaxAllocSize - VARHDRSZ, &sink, &replaced);

	if (status == ACD_ERR_LIMIT)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("value with its replacements is too large")));
	if (status != ACD_OK)
		acdat_raise(status, "machine");
	if (replaced == 0)
		return NULL;
	if (out.data == NULL)		/* all of it replaced by nothing */
		out.data = palloc(VARHDRSZ);
	SET_VARSIZE(out.data, out.used);
	return (struct varlena *) out.data;
}

static Datum
replace(FunctionCallInfo fcinfo, bool is_text)
{
	acd_kind	kind = acdat_kind_arg(PG_GETARG_TEXT_PP(2));
	Subject		subject;
	struct varlena *result;

	if (kind == ACD_ALL_OVERLAPPING)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("match kind \"%s\" cannot be used to replace", acd_kind_name(kind)),
				 errdetail("Its matches may overlap."),
				 errhint("Use \"%s\".", acd_kind_name(ACD_COVER))));
	if (!start_scan(fcinfo, &subject, is_text, kind))
		PG_RETURN_DATUM(PG_GETARG_DATUM(0));
	result = acdat_replace(subject.scan, subject.data, subject.size,
						   is_text && subject.arg->text == ACDAT_TEXT_FOREIGN);
	if (result == NULL)
		PG_RETURN_DATUM(PG_GETARG_DATUM(0));
	PG_RETURN_POINTER(result);
}

Datum
acdat_replace_text(PG_FUNCTION_ARGS)
{
	return replace(fcinfo, true);
}

Datum
acdat_replace_bytea(PG_FUNCTION_ARGS)
{
	return replace(fcinfo, false);
}

/* ---- matches ---- */

typedef struct MatchRows
{
	const Subject *subject;
	ReturnSetInfo *rsinfo;
	MemoryContext context;		/* reset after each row */
	size_t		byte_pos;		/* ends are in order, so characters are */
	int			char_pos;		/* counted from one to the next */
} MatchRows;

/* Move on to the end of a match and give its ends in characters. */
static void
count_characters(MatchRows *rows, const acd_match *match, int *start, int *end)
{
	const char *data = rows->subject->data;

	rows->char_pos += pg_mbstrlen_with_len(data + rows->byte_pos,
										   (int) (match->end - rows->byte_pos));
	rows->byte_pos = match->end;
	*end = rows->char_pos;
	*start = *end - pg_mbstrlen_with_len(data + match->start, (int) (match->end - match->start));
}

static int
put_match(void *arg, const acd_match *match)
{
	MatchRows  *rows = arg;
	const Subject *subject = rows->subject;
	MemoryContext old = MemoryContextSwitchTo(rows->context);
	acd_term_info term;
	Datum		values[6];
	bool		nulls[6] = {false};

	if (!acd_machine_term(subject->arg->machines[match->machine], match->term, &term))
		elog(ERROR, "match of an unknown term");
	values[0] = Int64GetDatum(term.id);
	values[1] = Int32GetDatum((int32) match->start);
	values[2] = Int32GetDatum((int32) match->end);
	nulls[3] = nulls[4] = !subject->is_text;
	values[3] = values[4] = (Datum) 0;
	if (subject->is_text)
	{
		int			start;
		int			end;

		count_characters(rows, match, &start, &end);
		values[3] = Int32GetDatum(start);
		values[4] = Int32GetDatum(end);
	}
	values[5] = PointerGetDatum(cstring_to_text_with_len(subject->data + match->start,
														 (int) (match->end - match->start)));
	tuplestore_putvalues(rows->rsinfo->setResult, rows->rsinfo->setDesc, values, nulls);
	MemoryContextSwitchTo(old);
	MemoryContextReset(rows->context);
	CHECK_FOR_INTERRUPTS();
	return 0;
}

static Datum
matches(FunctionCallInfo fcinfo, bool is_text)
{
	acd_kind	kind = acdat_kind_arg(PG_GETARG_TEXT_PP(2));
	Subject		subject;
	MatchRows	rows = {&subject, (ReturnSetInfo *) fcinfo->resultinfo, NULL, 0, 0};
	acd_status	status;

	InitMaterializedSRF(fcinfo, 0);
	if (!start_scan(fcinfo, &subject, is_text, kind))
		return (Datum) 0;
	rows.context = AllocSetContextCreate(CurrentMemoryContext, "acdat matches",
										 ALLOCSET_SMALL_SIZES);
	status = acd_find(subject.scan, subject.data, subject.size, put_match, &rows);
	if (status != ACD_OK)
		acdat_raise(status, "machine");
	MemoryContextDelete(rows.context);
	return (Datum) 0;
}

Datum
acdat_matches_text(PG_FUNCTION_ARGS)
{
	return matches(fcinfo, true);
}

Datum
acdat_matches_bytea(PG_FUNCTION_ARGS)
{
	return matches(fcinfo, false);
}

/* ---- describe ---- */

Datum
acdat_describe(PG_FUNCTION_ARGS)
{
	AcdatMachineArg *arg = acdat_machine_arg(fcinfo, 0);
	acd_machine_info info;
	TupleDesc	desc;
	bytea	   *digest = palloc(VARHDRSZ + ACD_DIGEST_LEN);
	Datum		values[9];
	bool		nulls[9] = {false};

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	acd_machine_describe(&arg->machine, &info);
	SET_VARSIZE(digest, VARHDRSZ + ACD_DIGEST_LEN);
	memcpy(VARDATA(digest), info.digest, ACD_DIGEST_LEN);
	values[0] = Int64GetDatum((int64) info.terms);
	values[1] = Int64GetDatum((int64) info.states);
	values[2] = Int64GetDatum((int64) info.bytes);
	values[3] = Int64GetDatum((int64) info.min_len);
	values[4] = Int64GetDatum((int64) info.max_len);
	values[5] = Int32GetDatum(info.version);
	values[6] = PointerGetDatum(digest);
	values[7] = CStringGetTextDatum(info.engine);
	values[8] = CStringGetTextDatum(info.reason);
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), values, nulls)));
}
