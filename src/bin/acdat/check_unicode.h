/*
 * check_unicode.h
 *		When two terms look the same though their bytes differ.
 */
#ifndef ACDAT_CHECK_UNICODE_H
#define ACDAT_CHECK_UNICODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * What is taken for the same, each with all before it: canonical equivalents
 * (NFC and NFD); invisible characters for none; full and half width forms;
 * characters that look alike.
 */
typedef enum FoldLevel
{
	FOLD_NONE,
	FOLD_CANONICAL,
	FOLD_INVISIBLE,
	FOLD_WIDTH,
	FOLD_LOOKS
} FoldLevel;

#define FOLD_LEVELS	(FOLD_LOOKS + 1)

#define FOLD_EXPANSION	4		/* characters that one may become */

/* Decode valid UTF-8; "out" has room for len characters.  Returns their number. */
extern size_t utf8_decode(const char *text, size_t len, uint32_t *out);

/* Fold n characters into "out", of room for FOLD_EXPANSION times as many. */
extern size_t unicode_fold(FoldLevel level, const uint32_t *in, size_t n, uint32_t *out);

/* Kinds of characters. */
extern bool unicode_invisible(uint32_t c);
extern bool unicode_space(uint32_t c);
extern bool unicode_combining(uint32_t c);
extern bool unicode_wide_alphanumeric(uint32_t c);

/* Do these two compose, so that text in NFC does not hold them? */
extern bool unicode_composes(uint32_t first, uint32_t second);

/* Are there letters of several alphabets of which some look like the others? */
extern bool unicode_mixed(const uint32_t *text, size_t n);

#endif							/* ACDAT_CHECK_UNICODE_H */
