/*
 * rewrite.c
 *		Terms in texts replaced, and texts made to fit their types.
 */
#include "postgres.h"

#include "common/hmac.h"
#include "common/sha2.h"
#include "mb/pg_wchar.h"
#include "utils/memutils.h"

#include "acdat.h"
#include "decoder.h"

/* Hex digits of the HMAC that a redacted key value ends in. */
#define KEY_DIGITS		16

/* Text being put together by a sink; no memory until the first piece. */
typedef struct TextBuffer
{
	char	   *data;
	Size		len;
	Size		room;
	Size		first_room;		/* to start with */
	Size		limit;			/* never grows past this */
} TextBuffer;

static int
append_piece(void *arg, const void *piece, size_t len)
{
	TextBuffer *buf = arg;

	if (buf->data == NULL)
	{
		buf->room = Min(Max(buf->first_room, len), buf->limit);
		buf->data = palloc_extended(buf->room, MCXT_ALLOC_HUGE);
	}
	else if (len > buf->room - buf->len)
	{
		buf->room = Min(Max(buf->room * 2, buf->len + len), buf->limit);
		buf->data = repalloc_huge(buf->data, buf->room);
	}
	memcpy(buf->data + buf->len, piece, len);
	buf->len += len;
	return 0;
}

static void
init_scan(acd_scan *scan, const acd_machine *const *machines, int nmachines,
		  const acd_allocator *allocator, const char *text, Size len)
{
	memset(scan, 0, sizeof(acd_scan));
	scan->machines = machines;
	scan->nmachines = nmachines;
	scan->kind = ACD_COVER;
	scan->boundaries = acdat_boundaries(text, len);
	scan->allocator = allocator;
	scan->poll = acdat_poll;
}

uint32
acdat_redact_text(const acd_machine *const *machines, int nmachines,
				  const char *text, Size len, Size limit,
				  char **result, Size *result_len)
{
	acd_allocator allocator = acdat_allocator(CurrentMemoryContext);
	TextBuffer	buf = {NULL, 0, 0, len + len / 8 + 64, limit};
	acd_sink	sink = {append_piece, append_piece, &buf};
	acd_scan	scan;
	acd_status	status;
	size_t		replaced;

	init_scan(&scan, machines, nmachines, &allocator, text, len);
	status = acd_replace(&scan, text, len, limit, &sink, &replaced);
	if (status == ACD_ERR_LIMIT)
	{
		*result = NULL;
		*result_len = 0;
		return 1;
	}
	if (status != ACD_OK)
		acdat_raise(status, "machine");
	if (replaced == 0)
		return 0;

	/* replacements may all be empty, and then no piece came */
	*result = buf.data ? buf.data : pstrdup("");
	*result_len = buf.len;
	return (uint32) Min(replaced, PG_UINT32_MAX);
}

bool
acdat_text_matches(const acd_machine *const *machines, int nmachines,
				   const char *text, Size len)
{
	acd_allocator allocator = acdat_allocator(CurrentMemoryContext);
	acd_scan	scan;
	acd_status	status;
	bool		found;

	init_scan(&scan, machines, nmachines, &allocator, text, len);
	status = acd_contains(&scan, text, len, &found);
	if (status != ACD_OK)
		acdat_raise(status, "machine");
	return found;
}

/* Bytes of the longest prefix of a text with at most "limit" characters. */
static Size
clip_characters(const char *text, Size len, int limit)
{
	return pg_mbcharcliplen(text, (int) len, limit);
}

char *
acdat_fit_text(AcdatFit fit, int fit_limit, const char *text, Size len, Size *result_len)
{
	Size		clipped = len;
	Size		padding = 0;
	char	   *result;

	if (fit == ACDAT_FIT_NAME)
		clipped = pg_mbcliplen(text, (int) len, fit_limit);
	else if (fit != ACDAT_FIT_ANY)
		clipped = clip_characters(text, len, fit_limit);
	if (fit == ACDAT_FIT_PAD)
		padding = Max(0, fit_limit - pg_mbstrlen_with_len(text, (int) clipped));

	result = palloc_extended(Max(clipped + padding, 1), MCXT_ALLOC_HUGE);
	memcpy(result, text, clipped);
	memset(result + clipped, ' ', padding);
	*result_len = clipped + padding;
	return result;
}

/* The first KEY_DIGITS hex digits of HMAC-SHA-256 of a value under a key. */
static void
hmac_digits(const AcdatPolicy *policy, const char *value, Size len, char *digits)
{
	static const char hex[] = "0123456789abcdef";
	uint8		digest[PG_SHA256_DIGEST_LENGTH];
	pg_hmac_ctx *ctx = pg_hmac_create(PG_SHA256);

	if (ctx == NULL ||
		pg_hmac_init(ctx, policy->secret, policy->secret_len) < 0 ||
		pg_hmac_update(ctx, (const uint8 *) value, len) < 0 ||
		pg_hmac_final(ctx, digest, sizeof(digest)) < 0)
		elog(ERROR, "could not compute the HMAC of a key value");
	pg_hmac_free(ctx);
	for (int i = 0; i < KEY_DIGITS; i++)
		digits[i] = hex[(digest[i / 2] >> (i % 2 ? 0 : 4)) & 15];
}

/* Bytes of a text without the spaces at its end, which char(n) does not compare. */
static Size
unpadded_length(const char *text, Size len)
{
	while (len > 0 && text[len - 1] == ' ')
		len--;
	return len;
}

/*
 * In key columns two values that differ must stay different when they are
 * redacted: the redacted form is followed by a tilde and digits of an HMAC of
 * the original.  Where a type limits the length, the redacted form gives way
 * first and then the digits.  Padding counts for neither, so that values of
 * char(n) that are equal have the same digits whatever n is.
 */
char *
acdat_key_form(const AcdatPolicy *policy, const char *original, Size original_len,
			   const char *redacted, Size redacted_len,
			   AcdatFit fit, int fit_limit, Size *result_len)
{
	char		suffix[1 + KEY_DIGITS];
	int			room;
	Size		kept;
	char	   *joined;

	if (fit == ACDAT_FIT_PAD)
	{
		original_len = unpadded_length(original, original_len);
		redacted_len = unpadded_length(redacted, redacted_len);
	}
	suffix[0] = '~';
	hmac_digits(policy, original, original_len, suffix + 1);

	if (fit == ACDAT_FIT_ANY)
		room = INT_MAX;
	else
		room = fit_limit - (int) sizeof(suffix);
	if (room < 0)
		return acdat_fit_text(fit, fit_limit, suffix + 1, KEY_DIGITS, result_len);
	kept = redacted_len;
	if (fit == ACDAT_FIT_NAME)
		kept = pg_mbcliplen(redacted, (int) redacted_len, room);
	else if (fit != ACDAT_FIT_ANY)
		kept = clip_characters(redacted, redacted_len, room);

	joined = palloc_extended(kept + sizeof(suffix), MCXT_ALLOC_HUGE);
	memcpy(joined, redacted, kept);
	memcpy(joined + kept, suffix, sizeof(suffix));
	if (fit == ACDAT_FIT_PAD)
		return acdat_fit_text(fit, fit_limit, joined, kept + sizeof(suffix), result_len);
	*result_len = kept + sizeof(suffix);
	return joined;
}
