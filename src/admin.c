/*
 * admin.c
 *		Small functions that the management functions in SQL stand on.
 */
#include "postgres.h"

#include <sys/stat.h>

#include "catalog/pg_type.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"

#include "policy.h"
#include "sql.h"
#include "suggest.h"

PG_FUNCTION_INFO_V1(acdat_name_hint);
PG_FUNCTION_INFO_V1(acdat_new_secret);
PG_FUNCTION_INFO_V1(acdat_binding_policy);
PG_FUNCTION_INFO_V1(acdat_binding_role);
PG_FUNCTION_INFO_V1(acdat_missing_dropins);

#define MAX_LISTED		8		/* names listed if none is near */
#define SECRET_BYTES	32

char *
acdat_near_hint(const char *what, const char *wanted, const char *const *names, int nnames)
{
	char	   *near = wanted ? acdat_near_names(wanted, names, nnames) : NULL;
	StringInfoData hint;

	if (nnames == 0)
		return psprintf("There are no %s.", what);
	if (near != NULL)
		return psprintf("Perhaps you meant %s.", near);

	initStringInfo(&hint);
	appendStringInfo(&hint, "Known %s: ", what);
	for (int i = 0; i < Min(nnames, MAX_LISTED); i++)
		appendStringInfo(&hint, "%s\"%s\"", i == 0 ? "" : ", ", names[i]);
	if (nnames > MAX_LISTED)
		appendStringInfo(&hint, " and %d more", nnames - MAX_LISTED);
	appendStringInfoChar(&hint, '.');
	return hint.data;
}

/* near_names(what, wanted, names text[]) */
Datum
acdat_name_hint(PG_FUNCTION_ARGS)
{
	char	   *what = PG_ARGISNULL(0) ? "names" : text_to_cstring(PG_GETARG_TEXT_PP(0));
	char	   *wanted = PG_ARGISNULL(1) ? NULL : text_to_cstring(PG_GETARG_TEXT_PP(1));
	const char **names = NULL;
	int			nnames = 0;

	if (!PG_ARGISNULL(2))
	{
		Datum	   *elements;
		bool	   *nulls;
		int			nelements;

		deconstruct_array(PG_GETARG_ARRAYTYPE_P(2), TEXTOID, -1, false, TYPALIGN_INT,
						  &elements, &nulls, &nelements);
		names = palloc((nelements + 1) * sizeof(char *));
		for (int i = 0; i < nelements; i++)
		{
			if (!nulls[i])
				names[nnames++] = TextDatumGetCString(elements[i]);
		}
	}
	PG_RETURN_TEXT_P(cstring_to_text(acdat_near_hint(what, wanted, names, nnames)));
}

/* Random bytes that key the injective form of a policy's key columns. */
Datum
acdat_new_secret(PG_FUNCTION_ARGS)
{
	bytea	   *result = palloc(VARHDRSZ + SECRET_BYTES);

	(void) fcinfo;
	SET_VARSIZE(result, VARHDRSZ + SECRET_BYTES);
	if (!pg_strong_random(VARDATA(result), SECRET_BYTES))
		ereport(ERROR,
				(errcode(ERRCODE_INTERNAL_ERROR),
				 errmsg("could not generate random bytes")));
	PG_RETURN_BYTEA_P(result);
}

Datum
acdat_binding_policy(PG_FUNCTION_ARGS)
{
	bytea	   *data = PG_GETARG_BYTEA_PP(0);
	Oid			role;

	PG_RETURN_TEXT_P(cstring_to_text(acdat_binding_parse(VARDATA_ANY(data),
														 VARSIZE_ANY_EXHDR(data), &role)));
}

Datum
acdat_binding_role(PG_FUNCTION_ARGS)
{
	bytea	   *data = PG_GETARG_BYTEA_PP(0);
	Oid			role;

	(void) acdat_binding_parse(VARDATA_ANY(data), VARSIZE_ANY_EXHDR(data), &role);
	PG_RETURN_OID(role);
}

/* Drop-in names whose file is not there, or not our library. */
Datum
acdat_missing_dropins(PG_FUNCTION_ARGS)
{
	static const char *const names[] = {"pgoutput", "wal2json", "test_decoding", "decoderbufs"};
	Datum		missing[lengthof(names)];
	int			nmissing = 0;
	struct stat ours;
	char		path[MAXPGPATH];
	bool		have_ours;

	(void) fcinfo;
	snprintf(path, sizeof(path), "%s/%s%s", pkglib_path, ACDAT_EXTENSION, DLSUFFIX);
	have_ours = stat(path, &ours) == 0;
	for (int i = 0; i < (int) lengthof(names); i++)
	{
		struct stat there;

		snprintf(path, sizeof(path), "%s/%s/%s%s", pkglib_path, ACDAT_SCHEMA, names[i], DLSUFFIX);
		if (!have_ours || stat(path, &there) != 0 ||
			there.st_dev != ours.st_dev || there.st_ino != ours.st_ino)
			missing[nmissing++] = CStringGetTextDatum(names[i]);
	}
	PG_RETURN_ARRAYTYPE_P(construct_array(missing, nmissing, TEXTOID, -1, false, TYPALIGN_INT));
}
