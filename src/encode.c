/*
 * encode.c
 *		From the database encoding to that of the output.
 *
 * Through the SQL interface output is text of the database encoding, which
 * the server converts for the client.  A walsender sends bytes as they are:
 * there the output is UTF-8, as JSON has to be, whatever the database's
 * encoding.
 */
#include "postgres.h"

#include "catalog/namespace.h"
#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "utils/memutils.h"

#include "decoder.h"

/* What stands for bytes that are no character. */
#define UTF8_REPLACEMENT	"\xef\xbf\xbd"
#define PLAIN_REPLACEMENT	"?"

static bool
is_ascii(const char *text, Size len)
{
	unsigned char bits = 0;

	for (Size i = 0; i < len; i++)
		bits |= (unsigned char) text[i];
	return (bits & 0x80) == 0;
}

/*
 * A text whose bytes that are no character of the encoding have been
 * replaced; NULs are let through.
 */
static const char *
make_valid(int encoding, const char *text, Size len, Size *result_len)
{
	const char *replacement = encoding == PG_UTF8 ? UTF8_REPLACEMENT : PLAIN_REPLACEMENT;
	StringInfoData buf;
	const char *end = text + len;

	initStringInfo(&buf);
	while (text < end)
	{
		int			step = *text == '\0' ? 1 :
			pg_encoding_verifymbchar(encoding, text, (int) Min(end - text, INT_MAX));

		if (step > 0)
			appendBinaryStringInfo(&buf, text, step);
		else
			appendStringInfoString(&buf, replacement);
		text += Max(step, 1);
	}
	*result_len = buf.len;
	return buf.data;
}

/* Convert what lies between NULs, which conversions do not take. */
static const char *
convert_to_utf8(const char *text, Size len, Size *result_len)
{
	StringInfoData buf;
	const char *end = text + len;

	initStringInfo(&buf);
	while (text < end)
	{
		const char *nul = memchr(text, '\0', end - text);
		Size		run = (nul ? nul : end) - text;

		if (run > 0)
		{
			const char *source = pnstrdup(text, run);
			const char *converted = (const char *)
				pg_do_encoding_conversion((unsigned char *) unconstify(char *, source),
										  (int) run, GetDatabaseEncoding(), PG_UTF8);

			appendStringInfoString(&buf, converted);
		}
		text += run;
		if (nul != NULL)
		{
			appendStringInfoChar(&buf, '\0');
			text++;
		}
	}
	*result_len = buf.len;
	return buf.data;
}

const char *
acdat_encode(const AcdatDecoder *decoder, const char *text, Size len, Size *result_len)
{
	*result_len = len;
	if (!decoder->convert || is_ascii(text, len))
		return text;
	if (GetDatabaseEncoding() == PG_SQL_ASCII)
		return make_valid(PG_UTF8, text, len, result_len);
	return convert_to_utf8(text, len, result_len);
}

/* What is longer could grow past MaxAllocSize. */
#define GROWTH_LIMIT	((Size) MaxAllocSize / MAX_CONVERSION_GROWTH)

bool
acdat_make_valid(const char **text, Size *len)
{
	int			encoding = GetDatabaseEncoding();

	if (is_ascii(*text, *len) || pg_verify_mbstr(encoding, *text, (int) *len, true))
		return true;
	if (*len >= GROWTH_LIMIT)
		return false;
	*text = make_valid(encoding, *text, *len, len);
	return true;
}

/* Source bytes that are converted at a time where some may have no form in UTF-8. */
#define LENIENT_CHUNK	(64 * 1024)

/*
 * The same, where some characters may have no form in UTF-8: those are
 * replaced too.
 */
static const char *
convert_leniently(const char *text, Size len, Size *result_len)
{
	int			encoding = GetDatabaseEncoding();
	Oid			proc = FindDefaultConversionProc(encoding, PG_UTF8);
	unsigned char *chunk = palloc(LENIENT_CHUNK * MAX_CONVERSION_GROWTH + 1);
	const char *end = text + len;
	StringInfoData buf;

	if (!OidIsValid(proc))
		return make_valid(PG_UTF8, text, len, result_len);
	initStringInfo(&buf);
	while (text < end)
	{
		int			step = pg_do_encoding_conversion_buf(proc, encoding, PG_UTF8,
														 (unsigned char *) unconstify(char *, text),
														 (int) Min(end - text, LENIENT_CHUNK),
														 chunk,
														 LENIENT_CHUNK * MAX_CONVERSION_GROWTH + 1,
														 true);

		if (step > 0)
			appendStringInfoString(&buf, (char *) chunk);
		else if (*text == '\0')
		{
			appendStringInfoChar(&buf, '\0');
			step = 1;
		}
		else
		{
			appendStringInfoString(&buf, UTF8_REPLACEMENT);
			step = pg_encoding_verifymbchar(encoding, text, (int) Min(end - text, INT_MAX));
		}
		text += Max(step, 1);
	}
	pfree(chunk);
	*result_len = buf.len;
	return buf.data;
}

const char *
acdat_encode_bytes(const AcdatDecoder *decoder, const char *bytes, Size len, Size *result_len)
{
	const char *text = bytes;

	*result_len = len;
	if (!acdat_make_valid(&text, &len))
		return NULL;
	*result_len = len;
	if (!decoder->convert || is_ascii(text, len))
		return text;
	if (len >= GROWTH_LIMIT)
		return NULL;
	if (GetDatabaseEncoding() == PG_SQL_ASCII)
		return make_valid(PG_UTF8, text, len, result_len);
	return convert_leniently(text, len, result_len);
}
