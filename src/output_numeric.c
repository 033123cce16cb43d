/*
 * output_numeric.c
 *		numeric as text, from its stored form.
 *
 * A stored numeric is a 2-byte header and maybe a 2-byte weight, then digits
 * of base 10,000, most significant first.  The value is the sum of
 * digit[i] * 10000^(weight - i); dscale is the number of decimals to show.
 * The form is the one on disk and so will stay.
 */
#include "postgres.h"

#include "utils/builtins.h"

#include "decoder.h"
#include "digits.h"

#define HEADER_SIGN_MASK	0xC000
#define HEADER_NEGATIVE		0x4000
#define HEADER_SHORT		0x8000
#define HEADER_SPECIAL		0xC000
#define HEADER_LONG_DSCALE	0x3FFF
#define SHORT_NEGATIVE		0x2000
#define SHORT_DSCALE		0x1F80
#define SHORT_DSCALE_SHIFT	7
#define SHORT_WEIGHT_SIGN	0x0040
#define SHORT_WEIGHT		0x003F
#define DIGIT_DECIMALS		4	/* decimal digits in one digit */

typedef struct StoredNumeric
{
	bool		negative;
	int			weight;
	int			dscale;
	int			ndigits;
	const char *digits;			/* int16 each, maybe unaligned */
} StoredNumeric;

static inline uint16
read_uint16(const char *bytes)
{
	uint16		value;

	memcpy(&value, bytes, sizeof(value));
	return value;
}

/* Take a stored numeric apart; false for NaN and infinities. */
static bool
read_numeric(const char *bytes, Size size, StoredNumeric *number)
{
	uint16		header;
	Size		header_size = sizeof(uint16);

	if (size < header_size)
		return false;
	header = read_uint16(bytes);
	if ((header & HEADER_SIGN_MASK) == HEADER_SPECIAL)
		return false;
	if ((header & HEADER_SIGN_MASK) == HEADER_SHORT)
	{
		number->negative = (header & SHORT_NEGATIVE) != 0;
		number->dscale = (header & SHORT_DSCALE) >> SHORT_DSCALE_SHIFT;
		number->weight = header & SHORT_WEIGHT;
		if (header & SHORT_WEIGHT_SIGN)
			number->weight -= SHORT_WEIGHT + 1;
	}
	else
	{
		header_size += sizeof(int16);
		if (size < header_size)
			return false;
		number->negative = (header & HEADER_SIGN_MASK) == HEADER_NEGATIVE;
		number->dscale = header & HEADER_LONG_DSCALE;
		number->weight = (int16) read_uint16(bytes + sizeof(uint16));
	}
	number->ndigits = (int) ((size - header_size) / sizeof(int16));
	number->digits = bytes + header_size;
	return true;
}

/* Digit number i, counted from the most significant one stored; 0 outside. */
static inline int
digit_at(const StoredNumeric *number, int i)
{
	if (i < 0 || i >= number->ndigits)
		return 0;
	return read_uint16(number->digits + (Size) i * sizeof(int16));
}

/* What stands before the decimal point: no leading zeros, but at least one digit. */
static char *
put_integer_part(char *pos, const StoredNumeric *number)
{
	int			i = 0;

	while (i < number->weight && digit_at(number, i) == 0)
		i++;
	pos += pg_ultoa_n(i <= number->weight ? digit_at(number, i) : 0, pos);
	while (++i <= number->weight)
		pos = acdat_put_four(pos, digit_at(number, i));
	return pos;
}

static char *
put_fraction(char *pos, const StoredNumeric *number)
{
	char	   *end;

	if (number->dscale == 0)
		return pos;
	*pos++ = '.';
	end = pos + number->dscale;
	for (int i = number->weight + 1; pos < end; i++)
		pos = acdat_put_four(pos, digit_at(number, i));
	return end;
}

bool
acdat_text_of_numeric(Datum datum, AcdatCell *cell)
{
	struct varlena *stored = acdat_packed(datum);
	StoredNumeric number;
	Size		room;
	char	   *start = cell->small;
	char	   *pos;

	if (!read_numeric(VARDATA_ANY(stored), VARSIZE_ANY_EXHDR(stored), &number))
		return false;

	/* sign, integer part, point, fraction rounded up to whole digits */
	room = 2 + (Size) (Max(number.weight, 0) + 1) * DIGIT_DECIMALS +
		number.dscale + DIGIT_DECIMALS;
	if (room > sizeof(cell->small))
		start = palloc(room);
	pos = start;
	if (number.negative)
		*pos++ = '-';
	pos = put_integer_part(pos, &number);
	pos = put_fraction(pos, &number);
	cell->data = start;
	cell->len = pos - start;
	return true;
}
