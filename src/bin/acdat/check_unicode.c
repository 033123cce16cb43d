/*
 * check_unicode.c
 *		When two terms look the same though their bytes differ.
 *
 * Decompositions are those of Unicode (unicode_tables.inc).  The characters
 * that look alike are a list of our own: letters of Cyrillic, Greek and
 * Armenian that are drawn as Latin ones, digits and letters, quotation marks
 * and dashes, kana and Chinese characters.
 */
#include <stdlib.h>
#include <string.h>

#include "check_unicode.h"
#include "unicode_tables.inc"

#define NELEMENTS(array)	(sizeof(array) / sizeof((array)[0]))

#define HANGUL_FIRST	0xAC00
#define HANGUL_LAST		0xD7A3
#define HANGUL_L		0x1100
#define HANGUL_V		0x1161
#define HANGUL_T		0x11A7
#define HANGUL_NV		21
#define HANGUL_NT		28

/* ---- looks ---- */

/* Characters drawn like another one, by code point. */
static const struct
{
	uint32_t	code;
	uint32_t	like;
}			looks[] = {
	{'0', 'O'}, {'1', 'l'}, {'I', 'l'}, {'`', '\''}, {'|', 'l'},
	{0xA0, ' '}, {0xAD, '-'}, {0xB4, '\''}, {0xD7, 'x'}, {0x131, 'i'}, {0x17F, 'f'},
	{0x1C0, 'l'}, {0x1C3, '!'}, {0x237, 'j'}, {0x251, 'a'}, {0x261, 'g'}, {0x269, 'i'},
	{0x26A, 'i'}, {0x2B9, '\''}, {0x2BB, '\''}, {0x2BC, '\''}, {0x2BD, '\''}, {0x2C8, '\''},
	/* Greek */
	{0x37F, 'J'}, {0x391, 'A'}, {0x392, 'B'}, {0x395, 'E'}, {0x396, 'Z'}, {0x397, 'H'},
	{0x399, 'l'}, {0x39A, 'K'}, {0x39C, 'M'}, {0x39D, 'N'}, {0x39F, 'O'}, {0x3A1, 'P'},
	{0x3A4, 'T'}, {0x3A5, 'Y'}, {0x3A7, 'X'}, {0x3B1, 'a'}, {0x3B3, 'y'}, {0x3B9, 'i'},
	{0x3BD, 'v'}, {0x3BF, 'o'}, {0x3C1, 'p'}, {0x3C3, 'o'}, {0x3C5, 'u'}, {0x3F2, 'c'},
	{0x3F3, 'j'}, {0x3F9, 'C'}, {0x3FA, 'M'},
	/* Cyrillic */
	{0x405, 'S'}, {0x406, 'l'}, {0x408, 'J'}, {0x410, 'A'}, {0x412, 'B'}, {0x415, 'E'},
	{0x417, '3'}, {0x41A, 'K'}, {0x41C, 'M'}, {0x41D, 'H'}, {0x41E, 'O'}, {0x420, 'P'},
	{0x421, 'C'}, {0x422, 'T'}, {0x423, 'Y'}, {0x425, 'X'}, {0x430, 'a'}, {0x435, 'e'},
	{0x43E, 'o'}, {0x440, 'p'}, {0x441, 'c'}, {0x443, 'y'}, {0x445, 'x'}, {0x455, 's'},
	{0x456, 'i'}, {0x458, 'j'}, {0x474, 'V'}, {0x475, 'v'}, {0x4AE, 'Y'}, {0x4AF, 'y'},
	{0x4BB, 'h'}, {0x4BD, 'e'}, {0x4C0, 'l'}, {0x4CF, 'l'}, {0x501, 'd'}, {0x50C, 'G'},
	{0x51A, 'Q'}, {0x51B, 'q'}, {0x51C, 'W'}, {0x51D, 'w'},
	/* Armenian */
	{0x54D, 'U'}, {0x54F, 'S'}, {0x555, 'O'}, {0x561, 'w'}, {0x563, 'q'}, {0x566, 'q'},
	{0x570, 'h'}, {0x578, 'n'}, {0x57C, 'n'}, {0x57D, 'u'}, {0x581, 'g'}, {0x584, 'f'}, {0x585, 'o'},
	/* Latin small capitals and the like */
	{0x1D04, 'c'}, {0x1D0F, 'o'}, {0x1D1C, 'u'}, {0x1D20, 'v'}, {0x1D21, 'w'}, {0x1D22, 'z'},
	/* spaces, dashes, quotation marks, points */
	{0x2000, ' '}, {0x2001, ' '}, {0x2002, ' '}, {0x2003, ' '}, {0x2004, ' '}, {0x2005, ' '},
	{0x2006, ' '}, {0x2007, ' '}, {0x2008, ' '}, {0x2009, ' '}, {0x200A, ' '}, {0x2010, '-'},
	{0x2011, '-'}, {0x2012, '-'}, {0x2013, '-'}, {0x2014, '-'}, {0x2015, '-'}, {0x2018, '\''},
	{0x2019, '\''}, {0x201A, ','}, {0x201B, '\''}, {0x201C, '"'}, {0x201D, '"'}, {0x201F, '"'},
	{0x2022, 0xB7}, {0x2024, '.'}, {0x2027, 0xB7}, {0x202F, ' '}, {0x2032, '\''}, {0x2033, '"'},
	{0x2035, '\''}, {0x2044, '/'}, {0x205A, ':'}, {0x205F, ' '}, {0x2212, '-'}, {0x2215, '/'},
	{0x2217, '*'}, {0x2219, 0xB7}, {0x2223, 'l'}, {0x2236, ':'}, {0x223C, '~'}, {0x22C5, 0xB7},
	/* kana and Chinese characters */
	{0x3000, ' '}, {0x3001, ','}, {0x3002, '.'}, {0x301C, '~'}, {0x3078, 0x30D8},
	{0x3079, 0x30D9}, {0x307A, 0x30DA}, {0x30A8, 0x5DE5}, {0x30AB, 0x529B}, {0x30BF, 0x5915},
	{0x30C8, 0x535C}, {0x30CB, 0x4E8C}, {0x30CE, 0x4E3F}, {0x30CF, 0x516B}, {0x30ED, 0x53E3},
	{0x30FB, 0xB7}, {0x30FC, 0x4E00},
	/* others */
	{0xA731, 's'}, {0xA78C, '\''}, {0xFF5E, '~'}
};

static uint32_t
look_of(uint32_t c)
{
	size_t		low = 0;
	size_t		high = NELEMENTS(looks);

	while (low < high)
	{
		size_t		middle = (low + high) / 2;

		if (looks[middle].code == c)
			return looks[middle].like;
		if (looks[middle].code < c)
			low = middle + 1;
		else
			high = middle;
	}
	return c;
}

/* ---- tables ---- */

/* The run that c is in, or NULL. */
static const UnicodeRun *
find_run(const UnicodeRun *runs, size_t nruns, uint32_t c)
{
	size_t		low = 0;
	size_t		high = nruns;

	while (low < high)
	{
		size_t		middle = (low + high) / 2;

		if (c > runs[middle].last)
			low = middle + 1;
		else if (c < runs[middle].first)
			high = middle;
		else
			return &runs[middle];
	}
	return NULL;
}

/* What stands for c in a table of runs; c itself if nothing does. */
static uint32_t
map_run(const UnicodeRun *runs, size_t nruns, uint32_t c)
{
	const UnicodeRun *run = find_run(runs, nruns, c);

	return run ? run->to + (c - run->first) : c;
}

static const uint32_t *
find_sequence(const UnicodeSequence *sequences, size_t nsequences, uint32_t c)
{
	size_t		low = 0;
	size_t		high = nsequences;

	while (low < high)
	{
		size_t		middle = (low + high) / 2;

		if (sequences[middle].code == c)
			return sequences[middle].to;
		if (sequences[middle].code < c)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

static uint32_t
combining_class(uint32_t c)
{
	const UnicodeRun *run = find_run(unicode_classes, NELEMENTS(unicode_classes), c);

	return run ? run->to : 0;
}

/* ---- kinds of characters ---- */

bool
unicode_invisible(uint32_t c)
{
	return c == 0xAD || c == 0x34F || c == 0x61C || c == 0x115F || c == 0x1160 ||
		c == 0x17B4 || c == 0x17B5 || (c >= 0x180B && c <= 0x180E) ||
		(c >= 0x200B && c <= 0x200F) || (c >= 0x202A && c <= 0x202E) ||
		(c >= 0x2060 && c <= 0x206F) || c == 0x3164 || (c >= 0xFE00 && c <= 0xFE0F) ||
		c == 0xFEFF || c == 0xFFA0 || (c >= 0xFFF0 && c <= 0xFFFB) ||
		(c >= 0x1D173 && c <= 0x1D17A) || (c >= 0xE0000 && c <= 0xE0FFF);
}

bool
unicode_space(uint32_t c)
{
	return c == ' ' || (c >= 0x09 && c <= 0x0D) || c == 0x85 || c == 0xA0 || c == 0x1680 ||
		(c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F ||
		c == 0x205F || c == 0x3000;
}

bool
unicode_combining(uint32_t c)
{
	return combining_class(c) != 0;
}

static bool
ascii_letter(uint32_t c)
{
	return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

bool
unicode_wide_alphanumeric(uint32_t c)
{
	return c >= 0xFF10 && c <= 0xFF5A &&
		(c <= 0xFF19 || ascii_letter(c - 0xFEE0));
}

bool
unicode_composes(uint32_t first, uint32_t second)
{
	if (first >= HANGUL_L && first < HANGUL_L + 19 && second >= HANGUL_V && second < HANGUL_V + HANGUL_NV)
		return true;
	if (combining_class(second) == 0)
		return false;
	for (size_t i = 0; i < NELEMENTS(unicode_pairs); i++)
	{
		if (unicode_pairs[i].to[0] == first && unicode_pairs[i].to[1] == second)
			return true;
	}
	return false;
}

/* Is c a letter of Greek, Cyrillic or Armenian? */
static bool
other_alphabet(uint32_t c)
{
	return (c >= 0x370 && c <= 0x588) || (c >= 0x1F00 && c <= 0x1FFF);
}

bool
unicode_mixed(const uint32_t *text, size_t n)
{
	bool		latin = false;
	bool		lookalike = false;

	for (size_t i = 0; i < n; i++)
	{
		latin |= ascii_letter(text[i]);
		lookalike |= other_alphabet(text[i]) && ascii_letter(look_of(text[i]));
	}
	return latin && lookalike;
}

/* ---- folding ---- */

size_t
utf8_decode(const char *text, size_t len, uint32_t *out)
{
	const unsigned char *s = (const unsigned char *) text;
	size_t		n = 0;

	for (size_t i = 0; i < len;)
	{
		int			more = s[i] < 0x80 ? 0 : s[i] < 0xE0 ? 1 : s[i] < 0xF0 ? 2 : 3;
		uint32_t	c = more == 0 ? s[i] : s[i] & (0x3Fu >> more);

		for (i++; more > 0 && i < len; more--, i++)
			c = c << 6 | (s[i] & 0x3F);
		out[n++] = c;
	}
	return n;
}

/* Decompose a character canonically. */
static size_t
decompose(uint32_t c, uint32_t *out)
{
	const uint32_t *to;
	size_t		n = 0;

	if (c < 0xA0)
	{
		out[0] = c;
		return 1;
	}
	if (c >= HANGUL_FIRST && c <= HANGUL_LAST)
	{
		c -= HANGUL_FIRST;
		out[n++] = HANGUL_L + c / (HANGUL_NV * HANGUL_NT);
		out[n++] = HANGUL_V + c / HANGUL_NT % HANGUL_NV;
		if (c % HANGUL_NT != 0)
			out[n++] = HANGUL_T + c % HANGUL_NT;
		return n;
	}
	to = find_sequence(unicode_pairs, NELEMENTS(unicode_pairs), c);
	if (to == NULL)
		to = find_sequence(unicode_sequences, NELEMENTS(unicode_sequences), c);
	if (to == NULL)
	{
		out[0] = map_run(unicode_singles, NELEMENTS(unicode_singles), c);
		return 1;
	}
	while (n < 4 && to[n] != 0)
	{
		out[n] = to[n];
		n++;
	}
	return n;
}

/* Put combining characters into the canonical order. */
static void
reorder(uint32_t *text, size_t n)
{
	for (size_t i = 1; i < n; i++)
	{
		uint32_t	c = text[i];
		uint32_t	class = c < 0x300 ? 0 : combining_class(c);
		size_t		k = i;

		if (class == 0)
			continue;
		while (k > 0 && combining_class(text[k - 1]) > class)
		{
			text[k] = text[k - 1];
			k--;
		}
		text[k] = c;
	}
}

size_t
unicode_fold(FoldLevel level, const uint32_t *in, size_t n, uint32_t *out)
{
	size_t		used = 0;

	if (level == FOLD_NONE)
	{
		memcpy(out, in, n * sizeof(uint32_t));
		return n;
	}
	for (size_t i = 0; i < n; i++)
	{
		uint32_t	c = in[i];

		if (c < 0xA0)
		{
			out[used++] = c;
			continue;
		}
		if (level >= FOLD_INVISIBLE && unicode_invisible(c))
			continue;
		if (level >= FOLD_WIDTH)
			c = map_run(unicode_widths, NELEMENTS(unicode_widths), c);
		if (level >= FOLD_LOOKS)
			c = map_run(unicode_forms, NELEMENTS(unicode_forms), c);
		used += decompose(c, out + used);
	}
	reorder(out, used);
	if (level >= FOLD_LOOKS)
	{
		for (size_t i = 0; i < used; i++)
			out[i] = look_of(out[i]);
	}
	return used;
}
