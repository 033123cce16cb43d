/*
 * json.c
 *		JSON strings: runs that need no escape are found 16 bytes at a time
 *		and copied whole.
 */
#include "postgres.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#define USE_SSE2_ESCAPE
#elif defined(__aarch64__) && defined(__ARM_NEON)
#include <arm_neon.h>
#define USE_NEON_ESCAPE
#endif

#include "json.h"

/* Bytes that stand for themselves in a JSON string. */
static inline bool
is_plain(unsigned char c)
{
	return c >= 0x20 && c != '"' && c != '\\';
}

/* Length of the run of plain bytes that a text starts with. */
static inline Size
plain_run(const char *text, Size len)
{
	Size		i = 0;

#ifdef USE_SSE2_ESCAPE
	const __m128i control = _mm_set1_epi8(0x1f);
	const __m128i quote = _mm_set1_epi8('"');
	const __m128i backslash = _mm_set1_epi8('\\');

	for (; i + 16 <= len; i += 16)
	{
		__m128i		chunk = _mm_loadu_si128((const __m128i *) (text + i));
		__m128i		special;
		int			mask;

		special = _mm_cmpeq_epi8(_mm_min_epu8(chunk, control), chunk);
		special = _mm_or_si128(special, _mm_cmpeq_epi8(chunk, quote));
		special = _mm_or_si128(special, _mm_cmpeq_epi8(chunk, backslash));
		mask = _mm_movemask_epi8(special);
		if (mask != 0)
			return i + __builtin_ctz(mask);
	}
#endif
#ifdef USE_NEON_ESCAPE
	for (; i + 16 <= len; i += 16)
	{
		uint8x16_t	chunk = vld1q_u8((const uint8 *) (text + i));
		uint8x16_t	special = vcltq_u8(chunk, vdupq_n_u8(0x20));

		special = vorrq_u8(special, vceqq_u8(chunk, vdupq_n_u8('"')));
		special = vorrq_u8(special, vceqq_u8(chunk, vdupq_n_u8('\\')));
		if (vmaxvq_u8(special) != 0)
			break;
	}
#endif
	while (i < len && is_plain((unsigned char) text[i]))
		i++;
	return i;
}

/* Write the escape of one byte that is not plain. */
static inline char *
put_escape(char *pos, unsigned char c)
{
	static const char hex[] = "0123456789abcdef";
	char		short_form;

	switch (c)
	{
		case '\b':
			short_form = 'b';
			break;
		case '\f':
			short_form = 'f';
			break;
		case '\n':
			short_form = 'n';
			break;
		case '\r':
			short_form = 'r';
			break;
		case '\t':
			short_form = 't';
			break;
		case '"':
		case '\\':
			short_form = (char) c;
			break;
		default:
			memcpy(pos, "\\u00", 4);
			pos[4] = hex[c >> 4];
			pos[5] = hex[c & 15];
			return pos + 6;
	}
	pos[0] = '\\';
	pos[1] = short_form;
	return pos + 2;
}

char *
acdat_put_json(char *pos, const char *text, Size len)
{
	const char *end = text + len;

	*pos++ = '"';
	while (text < end)
	{
		Size		run = plain_run(text, end - text);

		pos = acdat_put(pos, text, run);
		text += run;
		while (text < end && !is_plain((unsigned char) *text))
			pos = put_escape(pos, (unsigned char) *text++);
	}
	*pos++ = '"';
	return pos;
}

Size
acdat_json_size(const char *text, Size len)
{
	Size		size = len + 2;

	for (Size i = 0; i < len; i++)
	{
		unsigned char c = (unsigned char) text[i];

		if (c < 0x20)
			size += (c == '\b' || c == '\f' || c == '\n' || c == '\r' || c == '\t') ? 1 : 5;
		else
			size += c == '"' || c == '\\';
	}
	return size;
}

void
acdat_append_json(StringInfo buf, const char *text, Size len)
{
	char	   *end;

	enlargeStringInfo(buf, (int) (2 + ACDAT_JSON_EXPANSION * len));
	end = acdat_put_json(buf->data + buf->len, text, len);
	buf->len = (int) (end - buf->data);
	buf->data[buf->len] = '\0';
}
