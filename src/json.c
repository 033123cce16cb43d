/*
 * json.c
 *		JSON strings.
 *
 * Text is scanned and copied in one pass, a vector at a time: each is stored
 * as it is, and if it held bytes that need an escape, writing goes on from the
 * first of them.  Where such bytes are dense that would take a pass for each,
 * so a whole vector is then translated byte by byte through a table, without
 * branches.
 */
#include "postgres.h"

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#define HAVE_X86_VECTORS
#elif defined(__aarch64__) && defined(__ARM_NEON)
#include <arm_neon.h>
#define HAVE_NEON_VECTORS
#endif

#include "port/pg_bitutils.h"

#include "json.h"

/* What a byte becomes: up to 6 bytes, stored as 8. */
typedef struct Escape
{
	char		bytes[8];
	Size		len;
} Escape;

static Escape escapes[256];

static const char hex_digits[] = "0123456789abcdef";

static void
set_escape(int byte, const char *text)
{
	escapes[byte].len = strlen(text);
	memcpy(escapes[byte].bytes, text, escapes[byte].len);
}

static void
fill_escapes(void)
{
	for (int byte = 0; byte < 256; byte++)
	{
		char		plain[2] = {(char) byte, '\0'};
		char		unicode[] = "\\u0000";

		unicode[4] = hex_digits[byte >> 4];
		unicode[5] = hex_digits[byte & 15];
		set_escape(byte, byte < 0x20 ? unicode : plain);
	}
	set_escape('\b', "\\b");
	set_escape('\f', "\\f");
	set_escape('\n', "\\n");
	set_escape('\r', "\\r");
	set_escape('\t', "\\t");
	set_escape('"', "\\\"");
	set_escape('\\', "\\\\");
}

/* Write bytes through the table; each store may reach 7 bytes too far. */
static inline char *
put_translated(char *pos, const char *text, Size len)
{
	for (Size i = 0; i < len; i++)
	{
		const Escape *escape = &escapes[(unsigned char) text[i]];

		memcpy(pos, escape->bytes, sizeof(escape->bytes));
		pos += escape->len;
	}
	return pos;
}

/*
 * After a vector of "width" bytes was stored at *pos and "mask" tells which
 * of them need an escape: move on over what is done with.
 */
static inline void
resolve_mask(char **pos, const char **text, uint32 mask, int width)
{
	uint32		rest = mask;
	int			clean;

	if (mask == 0)
	{
		*pos += width;
		*text += width;
		return;
	}

	/* four and more escapes are dense: without the three lowest bits */
	rest &= rest - 1;
	rest &= rest - 1;
	rest &= rest - 1;
	if (rest != 0)
	{
		*pos = put_translated(*pos, *text, width);
		*text += width;
	}
	else
	{
		clean = pg_rightmost_one_pos32(mask);
		*pos = put_translated(*pos + clean, *text + clean, 1);
		*text += clean + 1;
	}
}

typedef char *(*put_fn) (char *pos, const char *text, const char *end);

static char *
put_portable(char *pos, const char *text, const char *end)
{
	return put_translated(pos, text, end - text);
}

#ifdef HAVE_X86_VECTORS
/* SSE2 belongs to the architecture: a bit for each byte that needs an escape. */
static inline uint32
special_sse2(__m128i chunk)
{
	const __m128i control = _mm_set1_epi8(0x1f);
	__m128i		special = _mm_cmpeq_epi8(_mm_min_epu8(chunk, control), chunk);

	special = _mm_or_si128(special, _mm_cmpeq_epi8(chunk, _mm_set1_epi8('"')));
	special = _mm_or_si128(special, _mm_cmpeq_epi8(chunk, _mm_set1_epi8('\\')));
	return (uint32) _mm_movemask_epi8(special);
}

/*
 * Less than 16 bytes: two words that overlap, where none needs an escape.
 */
static inline char *
put_rest_sse2(char *pos, const char *text, Size len)
{
	if (len >= sizeof(uint64))
	{
		uint64		first;
		uint64		last;

		memcpy(&first, text, sizeof(first));
		memcpy(&last, text + len - sizeof(last), sizeof(last));
		if (special_sse2(_mm_set_epi64x((int64) last, (int64) first)) == 0)
		{
			memcpy(pos, &first, sizeof(first));
			memcpy(pos + len - sizeof(last), &last, sizeof(last));
			return pos + len;
		}
	}
	return put_translated(pos, text, len);
}

static char *
put_sse2(char *pos, const char *text, const char *end)
{
	while (end - text >= 16)
	{
		__m128i		chunk = _mm_loadu_si128((const __m128i *) text);

		_mm_storeu_si128((__m128i *) pos, chunk);
		resolve_mask(&pos, &text, special_sse2(chunk), 16);
	}
	return put_rest_sse2(pos, text, end - text);
}

__attribute__((target("avx2")))
static inline uint32
special_avx2(__m256i chunk)
{
	const __m256i control = _mm256_set1_epi8(0x1f);
	__m256i		special = _mm256_cmpeq_epi8(_mm256_min_epu8(chunk, control), chunk);

	special = _mm256_or_si256(special, _mm256_cmpeq_epi8(chunk, _mm256_set1_epi8('"')));
	special = _mm256_or_si256(special, _mm256_cmpeq_epi8(chunk, _mm256_set1_epi8('\\')));
	return (uint32) _mm256_movemask_epi8(special);
}

__attribute__((target("avx2")))
static char *
put_avx2(char *pos, const char *text, const char *end)
{
	while (end - text >= 32)
	{
		__m256i		chunk = _mm256_loadu_si256((const __m256i *) text);

		_mm256_storeu_si256((__m256i *) pos, chunk);
		resolve_mask(&pos, &text, special_avx2(chunk), 32);
	}
	return put_sse2(pos, text, end);
}

static bool
has_vbmi2(void)
{
	return __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
		__builtin_cpu_supports("avx512vbmi2") && __builtin_cpu_supports("bmi2");
}

#define VBMI2_TARGET	__attribute__((target("avx2,avx512bw,avx512vl,avx512vbmi2,bmi2")))

/*
 * Write the bytes of a vector that are "there", of which those of "special"
 * need an escape: each byte is paired with a backslash before it, and the
 * backslashes that are not wanted are squeezed out.  Control characters become
 * their letters first; NULL if one has none.
 */
VBMI2_TARGET
static inline char *
put_squeezed(char *pos, __m256i chunk, __mmask32 there, __mmask32 special, __mmask32 control)
{
	__m512i		pairs;
	__mmask64	wanted;

	if (control != 0)
	{
		const __m256i letters = _mm256_broadcastsi128_si256(
			_mm_setr_epi8(0, 0, 0, 0, 0, 0, 0, 0, 'b', 't', 'n', 0, 'f', 'r', 0, 0));
		__m256i		letter = _mm256_shuffle_epi8(letters, chunk);
		__mmask32	named = _mm256_mask_cmple_epu8_mask(control, chunk, _mm256_set1_epi8(0x0f));

		named = _mm256_mask_test_epi8_mask(named, letter, letter);
		if (named != control)
			return NULL;
		chunk = _mm256_mask_mov_epi8(chunk, named, letter);
	}
	pairs = _mm512_slli_epi16(_mm512_cvtepu8_epi16(chunk), 8);
	pairs = _mm512_or_si512(pairs, _mm512_set1_epi16('\\'));
	wanted = _pdep_u64(there, UINT64CONST(0xAAAAAAAAAAAAAAAA)) |
		_pdep_u64(special, UINT64CONST(0x5555555555555555));
	_mm512_storeu_si512(pos, _mm512_maskz_compress_epi8(wanted, pairs));
	return pos + _mm_popcnt_u32(there) + _mm_popcnt_u32(special);
}

/* A vector of which "width" bytes are there. */
VBMI2_TARGET
static inline char *
put_vector_vbmi2(char *pos, const char *text, __m256i chunk, Size width)
{
	__mmask32	there = _bzhi_u32(~0U, (uint32) width);
	__mmask32	control = _mm256_mask_cmple_epu8_mask(there, chunk, _mm256_set1_epi8(0x1f));
	__mmask32	special = control | _mm256_cmpeq_epi8_mask(chunk, _mm256_set1_epi8('"')) |
		_mm256_cmpeq_epi8_mask(chunk, _mm256_set1_epi8('\\'));
	char	   *next;

	if (likely(special == 0))
	{
		_mm256_storeu_si256((__m256i *) pos, chunk);
		return pos + width;
	}
	next = put_squeezed(pos, chunk, there, special, control);
	return next != NULL ? next : put_translated(pos, text, width);
}

VBMI2_TARGET
static char *
put_vbmi2(char *pos, const char *text, const char *end)
{
	for (; end - text >= 32; text += 32)
		pos = put_vector_vbmi2(pos, text, _mm256_loadu_si256((const __m256i *) text), 32);
	if (text < end)
	{
		Size		rest = end - text;
		__m256i		chunk = _mm256_maskz_loadu_epi8(_bzhi_u32(~0U, (uint32) rest), text);

		pos = put_vector_vbmi2(pos, text, chunk, rest);
	}
	return pos;
}
#endif							/* HAVE_X86_VECTORS */

#ifdef HAVE_NEON_VECTORS
static char *
put_neon(char *pos, const char *text, const char *end)
{
	while (end - text >= 16)
	{
		uint8x16_t	chunk = vld1q_u8((const uint8 *) text);
		uint8x16_t	special = vcltq_u8(chunk, vdupq_n_u8(0x20));

		special = vorrq_u8(special, vceqq_u8(chunk, vdupq_n_u8('"')));
		special = vorrq_u8(special, vceqq_u8(chunk, vdupq_n_u8('\\')));
		if (vmaxvq_u8(special) == 0)
		{
			vst1q_u8((uint8 *) pos, chunk);
			pos += 16;
		}
		else
			pos = put_translated(pos, text, 16);
		text += 16;
	}
	return put_translated(pos, text, end - text);
}
#endif							/* HAVE_NEON_VECTORS */

static char *put_first(char *pos, const char *text, const char *end);

/* The best writer for this processor, found at the first call. */
static put_fn put_escaped = put_first;

static char *
put_first(char *pos, const char *text, const char *end)
{
	fill_escapes();
	put_escaped = put_portable;
#ifdef HAVE_X86_VECTORS
	put_escaped = put_sse2;
	if (__builtin_cpu_supports("avx2"))
		put_escaped = put_avx2;
	if (has_vbmi2())
		put_escaped = put_vbmi2;
#endif
#ifdef HAVE_NEON_VECTORS
	put_escaped = put_neon;
#endif
	return put_escaped(pos, text, end);
}

char *
acdat_put_json(char *pos, const char *text, Size len)
{
	*pos++ = '"';
	pos = put_escaped(pos, text, text + len);
	*pos++ = '"';
	return pos;
}

Size
acdat_json_size(const char *text, Size len)
{
	Size		size = 2;

	if (put_escaped == put_first)
		fill_escapes();
	for (Size i = 0; i < len; i++)
		size += escapes[(unsigned char) text[i]].len;
	return size;
}

void
acdat_append_json(StringInfo buf, const char *text, Size len)
{
	char	   *end;

	enlargeStringInfo(buf, (int) ACDAT_JSON_BOUND(len));
	end = acdat_put_json(buf->data + buf->len, text, len);
	buf->len = (int) (end - buf->data);
	buf->data[buf->len] = '\0';
}
