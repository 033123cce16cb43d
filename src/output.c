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

/* "00" to "99" */
static const char two_digits[] =
"00010203040506070809101112131415161718192021222324252627282930313233343536373839"
"4041424344454647484950515253545556575859606162636465666768697071727374757677787980"
"81828384858687888990919293949596979899";

static const char hex_digits[] = "0123456789abcdef";

static inline char *
put_two(char *pos, int number)
{
	memcpy(pos, two_digits + 2 * number, 2);
	return pos + 2;
}

static inline char *
put_four(char *pos, int number)
{
	return put_two(put_two(pos, number / 100), number % 100);
}

static void
text_of_varlena(Datum datum, AcdatCell *cell)
{
	struct varlena *packed = pg_detoast_datum_packed((struct varlena *) DatumGetPointer(datum));

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

static void
text_of_uuid(Datum datum, AcdatCell *cell)
{
	const pg_uuid_t *uuid = DatumGetUUIDP(datum);
	char	   *pos = cell->small;

	for (int i = 0; i < UUID_LEN; i++)
	{
		if (i == 4 || i == 6 || i == 8 || i == 10)
			*pos++ = '-';
		*pos++ = hex_digits[uuid->data[i] >> 4];
		*pos++ = hex_digits[uuid->data[i] & 15];
	}
	cell->len = pos - cell->small;
}

/*
 * Write a day of the proleptic Gregorian calendar, counted from 2000-01-01;
 * NULL outside the years 1 to 9999.  The conversion is the one known as
 * civil_from_days, which counts years from March (H. Hinnant, "chrono-
 * Compatible Low-Level Date Algorithms", 2013).
 */
static char *
put_date(char *pos, int32 days)
{
	const int32 days_of_era = 146097;	/* 400 years */
	int64		day = (int64) days + 730425;	/* since 0000-03-01 */
	int			era;
	int			day_of_era;
	int			year_of_era;
	int			day_of_year;
	int			month_from_march;
	int			year;
	int			month;

	if (day < 306 || day > 3652364)	/* 0001-01-01 to 9999-12-31 */
		return NULL;
	era = (int) (day / days_of_era);
	day_of_era = (int) (day % days_of_era);
	year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 -
				   day_of_era / 146096) / 365;
	day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
	month_from_march = (5 * day_of_year + 2) / 153;
	month = month_from_march < 10 ? month_from_march + 3 : month_from_march - 9;
	year = year_of_era + era * 400 + (month <= 2);

	pos = put_four(pos, year);
	*pos++ = '-';
	pos = put_two(pos, month);
	*pos++ = '-';
	return put_two(pos, day_of_year - (153 * month_from_march + 2) / 5 + 1);
}

/* Microseconds of a day as 03:04:05.678, without trailing zeros. */
static char *
put_time(char *pos, int64 time)
{
	int			seconds = (int) (time / USECS_PER_SEC);
	int			fraction = (int) (time % USECS_PER_SEC);

	pos = put_two(pos, seconds / SECS_PER_HOUR);
	*pos++ = ':';
	pos = put_two(pos, seconds / SECS_PER_MINUTE % MINS_PER_HOUR);
	*pos++ = ':';
	pos = put_two(pos, seconds % SECS_PER_MINUTE);
	if (fraction == 0)
		return pos;
	*pos++ = '.';
	pos = put_two(pos, fraction / 10000);
	pos = put_two(pos, fraction / 100 % 100);
	pos = put_two(pos, fraction % 100);
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

/* A timestamp; "zone" is what follows it. */
static bool
text_of_timestamp(Datum datum, const char *zone, AcdatCell *cell)
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
	memcpy(pos, zone, strlen(zone));
	cell->len = pos + strlen(zone) - cell->small;
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
	struct varlena *bytes = pg_detoast_datum_packed((struct varlena *) DatumGetPointer(datum));
	const unsigned char *source = (const unsigned char *) VARDATA_ANY(bytes);
	Size		len = VARSIZE_ANY_EXHDR(bytes);
	char	   *text = palloc(2 + 2 * len);
	char	   *pos = text + 2;

	text[0] = '\\';
	text[1] = 'x';
	for (Size i = 0; i < len; i++)
	{
		*pos++ = hex_digits[source[i] >> 4];
		*pos++ = hex_digits[source[i] & 15];
	}
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
			done = text_of_timestamp(datum, "", cell);
			break;
		case ACDAT_OUT_TIMESTAMPTZ:
			done = text_of_timestamp(datum, "+00", cell);
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
