/*
 * output.c
 *		The text form of a value, as its type's output function gives it.
 *
 * The common types are printed here, without a call through the function
 * manager and without allocating; byte for byte what their output functions
 * print under the settings a session pins (DateStyle ISO, TimeZone UTC,
 * extra_float_digits 1, bytea_output hex).  What is out of the ordinary, and
 * all other types, go to the output function.
 */
#include "postgres.h"

#include <math.h>

#include "common/shortest_dec.h"
#include "utils/builtins.h"
#include "utils/date.h"
#include "utils/timestamp.h"
#include "utils/uuid.h"

#include "decoder.h"
#include "digits.h"

/* "00" to "99" */
const char	acdat_two_digits[] =
"00010203040506070809101112131415161718192021222324252627282930313233343536373839"
"4041424344454647484950515253545556575859606162636465666768697071727374757677787980"
"81828384858687888990919293949596979899";

/* "00" to "ff" */
static const char hex_pairs[] =
"000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
"202122232425262728292a2b2c2d2e2f303132333435363738393a3b3c3d3e3f"
"404142434445464748494a4b4c4d4e4f505152535455565758595a5b5c5d5e5f"
"606162636465666768696a6b6c6d6e6f707172737475767778797a7b7c7d7e7f"
"808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9f"
"a0a1a2a3a4a5a6a7a8a9aaabacadaeafb0b1b2b3b4b5b6b7b8b9babbbcbdbebf"
"c0c1c2c3c4c5c6c7c8c9cacbcccdcecfd0d1d2d3d4d5d6d7d8d9dadbdcdddedf"
"e0e1e2e3e4e5e6e7e8e9eaebecedeeeff0f1f2f3f4f5f6f7f8f9fafbfcfdfeff";

static inline char *
put_hex(char *pos, unsigned char byte)
{
	memcpy(pos, hex_pairs + 2 * byte, 2);
	return pos + 2;
}

static void
text_of_varlena(Datum datum, AcdatCell *cell)
{
	struct varlena *packed = acdat_packed(datum);

	cell->data = VARDATA_ANY(packed);
	cell->len = VARSIZE_ANY_EXHDR(packed);
}

static void
text_of_function(AcdatColumn *column, Datum datum, AcdatCell *cell)
{
	if (column->varlena)
		datum = PointerGetDatum(PG_DETOAST_DATUM(datum));
	cell->data = OutputFunctionCall(&column->out, datum);
	cell->len = strlen(cell->data);
}

static inline char *
put_hex_bytes(char *pos, const unsigned char *bytes, int n)
{
	for (int i = 0; i < n; i++)
		pos = put_hex(pos, bytes[i]);
	return pos;
}

static void
text_of_uuid(Datum datum, AcdatCell *cell)
{
	const unsigned char *bytes = DatumGetUUIDP(datum)->data;
	char	   *pos = put_hex_bytes(cell->small, bytes, 4);

	*pos++ = '-';
	pos = put_hex_bytes(pos, bytes + 4, 2);
	*pos++ = '-';
	pos = put_hex_bytes(pos, bytes + 6, 2);
	*pos++ = '-';
	pos = put_hex_bytes(pos, bytes + 8, 2);
	*pos++ = '-';
	pos = put_hex_bytes(pos, bytes + 10, 6);
	cell->len = pos - cell->small;
}

/*
 * Write a day of the proleptic Gregorian calendar, counted from 2000-01-01;
 * NULL outside the years 1 to 9999.  Years are counted from March, so that the
 * leap day is a year's last, and divisions are products and shifts (C. Neri,
 * L. Schneider, "Euclidean affine functions and their application to calendar
 * algorithms", 2022).
 */
static char *
put_date(char *pos, int32 days)
{
	const uint32 days_of_400_years = 146097;
	int64		day = (int64) days + 730425;	/* since 0000-03-01 */
	uint32		quarters;		/* of days */
	uint32		century;
	uint64		scaled;
	uint32		day_of_year;
	uint32		month_and_day;
	bool		next_year;

	if (day < 306 || day > 3652364)	/* 0001-01-01 to 9999-12-31 */
		return NULL;
	quarters = 4 * (uint32) day + 3;
	century = quarters / days_of_400_years;
	quarters = quarters % days_of_400_years | 3;
	scaled = UINT64CONST(2939745) * quarters;	/* 2^32 / (4 * 365.25) */
	day_of_year = (uint32) scaled / 2939745 / 4;
	month_and_day = 2141 * day_of_year + 197913;
	next_year = day_of_year >= 306;

	pos = acdat_put_four(pos, (int) (100 * century + (uint32) (scaled >> 32) + next_year));
	*pos++ = '-';
	pos = acdat_put_two(pos, (int) (month_and_day >> 16) - (next_year ? 12 : 0));
	*pos++ = '-';
	return acdat_put_two(pos, (int) ((month_and_day & 0xFFFF) / 2141) + 1);
}

/* Microseconds of a day as 03:04:05.678, without trailing zeros. */
static char *
put_time(char *pos, int64 time)
{
	int			seconds = (int) (time / USECS_PER_SEC);
	int			fraction = (int) (time % USECS_PER_SEC);

	pos = acdat_put_two(pos, seconds / SECS_PER_HOUR);
	*pos++ = ':';
	pos = acdat_put_two(pos, seconds / SECS_PER_MINUTE % MINS_PER_HOUR);
	*pos++ = ':';
	pos = acdat_put_two(pos, seconds % SECS_PER_MINUTE);
	if (fraction == 0)
		return pos;
	*pos++ = '.';
	pos = acdat_put_two(pos, fraction / 10000);
	pos = acdat_put_two(pos, fraction / 100 % 100);
	pos = acdat_put_two(pos, fraction % 100);
	while (pos[-1] == '0')
		pos--;
	return pos;
}

static bool
text_of_date(Datum datum, AcdatCell *cell)
{
	DateADT		date = DatumGetDateADT(datum);
	char	   *pos = DATE_NOT_FINITE(date) ? NULL : put_date(cell->small, date);

	if (pos == NULL)
		return false;
	cell->len = pos - cell->small;
	return true;
}

/* A timestamp, with or without the zone, which is UTC. */
static bool
text_of_timestamp(Datum datum, bool with_zone, AcdatCell *cell)
{
	Timestamp	timestamp = DatumGetTimestamp(datum);
	int64		days = timestamp / USECS_PER_DAY;
	int64		time = timestamp % USECS_PER_DAY;
	char	   *pos;

	if (time < 0)
	{
		time += USECS_PER_DAY;
		days--;
	}
	if (TIMESTAMP_NOT_FINITE(timestamp) ||
		(pos = put_date(cell->small, (int32) days)) == NULL)
		return false;
	*pos++ = ' ';
	pos = put_time(pos, time);
	if (with_zone)
	{
		memcpy(pos, "+00", 3);
		pos += 3;
	}
	cell->len = pos - cell->small;
	return true;
}

static bool
text_of_float4(Datum datum, AcdatCell *cell)
{
	float4		number = DatumGetFloat4(datum);

	if (!isfinite(number))
		return false;
	cell->len = float_to_shortest_decimal_bufn(number, cell->small);
	return true;
}

static bool
text_of_float8(Datum datum, AcdatCell *cell)
{
	float8		number = DatumGetFloat8(datum);

	if (!isfinite(number))
		return false;
	cell->len = double_to_shortest_decimal_bufn(number, cell->small);
	return true;
}

/* Hex with the prefix \x. */
static void
text_of_bytea(Datum datum, AcdatCell *cell)
{
	struct varlena *bytes = acdat_packed(datum);
	const unsigned char *source = (const unsigned char *) VARDATA_ANY(bytes);
	Size		len = VARSIZE_ANY_EXHDR(bytes);
	char	   *text = palloc(2 + 2 * len);
	char	   *pos = text + 2;

	text[0] = '\\';
	text[1] = 'x';
	for (Size i = 0; i < len; i++)
		pos = put_hex(pos, source[i]);
	cell->data = text;
	cell->len = 2 + 2 * len;
}

void
acdat_text_of_value(AcdatColumn *column, Datum datum, AcdatCell *cell)
{
	bool		done = true;

	cell->kind = ACDAT_CELL_VALUE;
	cell->data = cell->small;
	cell->plain = column->plain;
	switch (column->output)
	{
		case ACDAT_OUT_TEXT:
			text_of_varlena(datum, cell);
			break;
		case ACDAT_OUT_NAME:
			cell->data = NameStr(*DatumGetName(datum));
			cell->len = strnlen(cell->data, NAMEDATALEN);
			break;
		case ACDAT_OUT_BOOL:
			cell->small[0] = DatumGetBool(datum) ? 't' : 'f';
			cell->len = 1;
			break;
		case ACDAT_OUT_INT2:
			cell->len = pg_ltoa(DatumGetInt16(datum), cell->small);
			break;
		case ACDAT_OUT_INT4:
			cell->len = pg_ltoa(DatumGetInt32(datum), cell->small);
			break;
		case ACDAT_OUT_INT8:
			cell->len = pg_lltoa(DatumGetInt64(datum), cell->small);
			break;
		case ACDAT_OUT_OID:
			cell->len = pg_ultoa_n(DatumGetObjectId(datum), cell->small);
			break;
		case ACDAT_OUT_FLOAT4:
			done = text_of_float4(datum, cell);
			break;
		case ACDAT_OUT_FLOAT8:
			done = text_of_float8(datum, cell);
			break;
		case ACDAT_OUT_NUMERIC:
			done = acdat_text_of_numeric(datum, cell);
			break;
		case ACDAT_OUT_UUID:
			text_of_uuid(datum, cell);
			break;
		case ACDAT_OUT_DATE:
			done = text_of_date(datum, cell);
			break;
		case ACDAT_OUT_TIMESTAMP:
			done = text_of_timestamp(datum, false, cell);
			break;
		case ACDAT_OUT_TIMESTAMPTZ:
			done = text_of_timestamp(datum, true, cell);
			break;
		case ACDAT_OUT_BYTEA:
			text_of_bytea(datum, cell);
			break;
		case ACDAT_OUT_JSONB:
			acdat_text_of_jsonb(datum, cell);
			break;
		case ACDAT_OUT_FUNCTION:
			done = false;
			break;
	}
	if (!done)
		text_of_function(column, datum, cell);
}
