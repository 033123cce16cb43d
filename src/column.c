/*
 * column.c
 *		What a column's type and rule decide, once per relation plan.
 *
 * The important question is whether a type can carry text.  Only types known
 * not to are let through unseen; whatever is unknown is looked at.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/tupdesc.h"
#include "catalog/pg_language.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

#include "decoder.h"

/* Built-in types whose values hold no text of the user's. */
static const Oid textless_types[] = {
	BOOLOID, BYTEAOID, INT8OID, INT2OID, INT4OID, OIDOID, TIDOID, XIDOID, CIDOID,
	XID8OID, FLOAT4OID, FLOAT8OID, NUMERICOID, CASHOID, POINTOID, LSEGOID, PATHOID,
	BOXOID, POLYGONOID, LINEOID, CIRCLEOID, MACADDROID, MACADDR8OID, INETOID,
	CIDROID, DATEOID, TIMEOID, TIMESTAMPOID, TIMESTAMPTZOID, INTERVALOID,
	TIMETZOID, BITOID, VARBITOID, UUIDOID, PG_LSNOID, PG_SNAPSHOTOID,
	INT2VECTOROID, OIDVECTOROID,
};

/* What was found while looking through a type and the types it is made of. */
typedef struct TypeFindings
{
	bool		text;			/* something that can carry text */
	bool		lexemes;		/* stemmed words, which no term need match */
	int			hides;			/* ACDAT_HIDE_* */
	List	   *queue;			/* types still to be looked at */
	const AcdatDecoder *decoder;	/* whose plans depend on them, or NULL */
} TypeFindings;

static bool
is_textless(Oid typid)
{
	for (int i = 0; i < (int) lengthof(textless_types); i++)
	{
		if (textless_types[i] == typid)
			return true;
	}
	return false;
}

static void
look_at_type_later(TypeFindings *findings, Oid typid)
{
	findings->queue = list_append_unique_oid(findings->queue, getBaseType(typid));
}

/* Queue the column types of a composite type, which can get others. */
static void
look_at_composite(TypeFindings *findings, Oid typid)
{
	TupleDesc	desc = lookup_rowtype_tupdesc(typid, -1);

	if (findings->decoder != NULL)
		acdat_depend_on(findings->decoder, get_typ_typrelid(typid));
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute attr = TupleDescAttr(desc, i);

		if (!attr->attisdropped)
			look_at_type_later(findings, attr->atttypid);
	}
	ReleaseTupleDesc(desc);
}

/* A type that is not made of other types. */
static void
look_at_scalar(TypeFindings *findings, Oid typid)
{
	if (is_textless(typid))
		return;
	findings->text = true;
	switch (typid)
	{
		case TSVECTOROID:
		case TSQUERYOID:
			findings->lexemes = true;
			break;
		case TEXTOID:
		case VARCHAROID:
		case BPCHAROID:
		case NAMEOID:
			break;
		case XMLOID:
			findings->hides |= ACDAT_HIDE_AMPERSAND | ACDAT_HIDE_MARKUP;
			break;
		case JSONOID:
		case JSONBOID:
		case CHAROID:
			findings->hides |= ACDAT_HIDE_BACKSLASH;
			break;
		default:
			/* enum labels are printed raw; of others nothing is known */
			if (get_typtype(typid) != TYPTYPE_ENUM)
				findings->hides |= ACDAT_HIDE_BACKSLASH | ACDAT_HIDE_QUOTES;
	}
}

/* Look through a type and all it is made of; the queue only grows. */
static void
look_through_type(const AcdatDecoder *decoder, Oid typid, TypeFindings *findings)
{
	memset(findings, 0, sizeof(TypeFindings));
	findings->decoder = decoder;
	look_at_type_later(findings, typid);
	for (int i = 0; i < list_length(findings->queue); i++)
	{
		Oid			current = list_nth_oid(findings->queue, i);
		Oid			element = get_element_type(current);
		char		typtype = get_typtype(current);

		if (OidIsValid(element))
		{
			findings->hides |= ACDAT_HIDE_BACKSLASH;
			look_at_type_later(findings, element);
		}
		else if (typtype == TYPTYPE_COMPOSITE)
		{
			findings->hides |= ACDAT_HIDE_BACKSLASH | ACDAT_HIDE_QUOTES;
			look_at_composite(findings, current);
		}
		else if (typtype == TYPTYPE_RANGE)
		{
			findings->hides |= ACDAT_HIDE_BACKSLASH | ACDAT_HIDE_QUOTES;
			look_at_type_later(findings, get_range_subtype(current));
		}
		else if (typtype == TYPTYPE_MULTIRANGE)
			look_at_type_later(findings, get_multirange_range(current));
		else
			look_at_scalar(findings, current);
	}
	list_free(findings->queue);
}

bool
acdat_type_holds_text(Oid typid)
{
	TypeFindings findings;

	look_through_type(NULL, typid, &findings);
	return findings.text;
}

/* Is a type's output function this internal one, under any name? */
static bool
output_is(Oid typoutput, const char *internal_name)
{
	HeapTuple	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(typoutput));
	bool		result = false;
	bool		isnull;
	Datum		source;

	if (!HeapTupleIsValid(tuple))
		return false;
	source = SysCacheGetAttr(PROCOID, tuple, Anum_pg_proc_prosrc, &isnull);
	if (((Form_pg_proc) GETSTRUCT(tuple))->prolang == INTERNALlanguageId && !isnull)
		result = strcmp(TextDatumGetCString(source), internal_name) == 0;
	ReleaseSysCache(tuple);
	return result;
}

/*
 * Types whose bytes are their text: text, varchar, bpchar, and types of
 * extensions, such as citext, whose output function is one of theirs.
 */
static bool
is_text_bytes(Oid base, Oid typoutput)
{
	return get_typlen(base) == -1 && !OidIsValid(get_element_type(base)) &&
		(output_is(typoutput, "textout") || output_is(typoutput, "varcharout") ||
		 output_is(typoutput, "bpcharout"));
}

static AcdatOutput
choose_output(Oid base, Oid typoutput)
{
	switch (base)
	{
		case TEXTOID:
		case VARCHAROID:
		case BPCHAROID:
			return ACDAT_OUT_TEXT;
		case NAMEOID:
			return ACDAT_OUT_NAME;
		case BOOLOID:
			return ACDAT_OUT_BOOL;
		case INT2OID:
			return ACDAT_OUT_INT2;
		case INT4OID:
			return ACDAT_OUT_INT4;
		case INT8OID:
			return ACDAT_OUT_INT8;
		case OIDOID:
			return ACDAT_OUT_OID;
		case FLOAT4OID:
			return ACDAT_OUT_FLOAT4;
		case FLOAT8OID:
			return ACDAT_OUT_FLOAT8;
		case NUMERICOID:
			return ACDAT_OUT_NUMERIC;
		case UUIDOID:
			return ACDAT_OUT_UUID;
		case DATEOID:
			return ACDAT_OUT_DATE;
		case TIMESTAMPOID:
			return ACDAT_OUT_TIMESTAMP;
		case TIMESTAMPTZOID:
			return ACDAT_OUT_TIMESTAMPTZ;
		case BYTEAOID:
			return ACDAT_OUT_BYTEA;
		case JSONBOID:
			return ACDAT_OUT_JSONB;
		default:
			return is_text_bytes(base, typoutput) ? ACDAT_OUT_TEXT : ACDAT_OUT_FUNCTION;
	}
}

/* The length a text-like type allows, through domains. */
static void
choose_fit(Oid base, int32 typmod, AcdatColumn *column)
{
	column->fit = ACDAT_FIT_ANY;
	if (base == NAMEOID)
	{
		column->fit = ACDAT_FIT_NAME;
		column->fit_limit = NAMEDATALEN - 1;
	}
	else if ((base == VARCHAROID || base == BPCHAROID) && typmod >= (int32) VARHDRSZ)
	{
		column->fit = base == BPCHAROID ? ACDAT_FIT_PAD : ACDAT_FIT_CUT;
		column->fit_limit = typmod - VARHDRSZ;
	}
}

static void
choose_scan(const AcdatDecoder *decoder, Oid base, AcdatColumn *column)
{
	TypeFindings findings;

	column->scan = ACDAT_SCAN_NONE;
	if (decoder->generation == NULL || decoder->generation->nmachines == 0 ||
		column->action != ACDAT_REDACT)
		return;
	if (column->output == ACDAT_OUT_TEXT || column->output == ACDAT_OUT_NAME)
	{
		column->scan = ACDAT_SCAN_REWRITE;
		return;
	}
	look_through_type(decoder, base, &findings);
	column->hides = findings.hides;
	if (findings.lexemes)
		column->scan = ACDAT_SCAN_ALWAYS;
	else if (findings.text)
		column->scan = ACDAT_SCAN_WHOLE;
	else if (decoder->generation->policy->scan_all)
	{
		/* numbers and the like: escapes there hide nothing */
		column->scan = ACDAT_SCAN_WHOLE;
		column->hides = 0;
	}
}

void
acdat_plan_column(const AcdatDecoder *decoder, Form_pg_attribute attr,
				  const AcdatDecision *decision, AcdatColumn *column)
{
	int32		base_typmod = attr->atttypmod;
	Oid			base = getBaseTypeAndTypmod(attr->atttypid, &base_typmod);
	Oid			typoutput;

	column->attnum = attr->attnum;
	column->typid = attr->atttypid;
	column->typmod = attr->atttypmod;
	column->notnull = attr->attnotnull;
	column->position = attr->attnum;
	namestrcpy(&column->name, NameStr(attr->attname));
	column->action = decision->action;
	column->key = decision->key;
	column->sources = bms_copy(decision->sources);

	getTypeOutputInfo(attr->atttypid, &typoutput, &column->varlena);
	fmgr_info_cxt(typoutput, &column->out, CurrentMemoryContext);
	column->output = choose_output(base, typoutput);
	column->plain = column->output > ACDAT_OUT_NAME && column->output < ACDAT_OUT_BYTEA;
	choose_fit(base, base_typmod, column);
	column->mask = acdat_fit_text(column->fit, column->fit_limit, decision->mask,
								  strlen(decision->mask), &column->mask_len);
	column->mask_out = acdat_encode_bytes(decoder, column->mask, column->mask_len,
										  &column->mask_out_len);
	choose_scan(decoder, base, column);
}

/*
 * Does an expression have a literal with a quote in it, which is doubled there?
 * Empty literals look similar.
 */
static bool
has_doubled_quote(const char *expression)
{
	char		quote = '\0';	/* what we are within */

	for (const char *pos = expression; *pos; pos++)
	{
		if (quote == '\0' && (*pos == '\'' || *pos == '"'))
			quote = *pos;
		else if (quote != '\0' && *pos == quote)
		{
			if (quote == '\'' && pos[1] == quote)
				return true;
			quote = '\0';
		}
	}
	return false;
}

const char *
acdat_redact_default(const AcdatDecoder *decoder, const AcdatColumn *column,
					 const char *expression)
{
	const AcdatGeneration *generation = decoder->generation;

	if (column->action == ACDAT_KEEP || generation == NULL)
		return expression;
	if (column->action != ACDAT_REDACT)
		return NULL;

	/*
	 * In an expression quotes are doubled and backslashes may escape, beside
	 * what the type's text form escapes.
	 */
	if (generation->nmachines == 0)
		return expression;
	if (column->scan != ACDAT_SCAN_ALWAYS &&
		!has_doubled_quote(expression) && strchr(expression, '\\') == NULL &&
		!acdat_has_hiding_escape(column->hides, expression, strlen(expression)) &&
		!acdat_text_matches(generation->machines, generation->nmachines,
							expression, strlen(expression)))
		return expression;
	return pnstrdup(column->mask, column->mask_len);
}
