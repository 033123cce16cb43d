/*
 * test_json.c
 *		Every writer of JSON strings that this machine can run, against a plain
 *		one, at all lengths, alignments and densities of escapes.
 *
 * Prints "NAME: N strings" for each writer and exits with 1 at a difference.
 * Texts and outputs are allocated in their exact sizes, so that a sanitizer
 * sees whoever reads or writes too far.
 */
#include "../../src/json.c"

#include <stdio.h>
#include <stdlib.h>

#define LONGEST		200
#define ALIGNMENTS	3

/* Escaped with a letter first, so that "common" can be a prefix. */
static const char specials[] = "\"\\\b\t\n\f\r\001\002\003\004\005\006\007\013\016\017\020"
"\021\022\023\024\025\026\027\030\031\032\033\034\035\036\037";

#define COMMON	7

static char *
put_plainly(char *pos, const char *text, Size len)
{
	for (Size i = 0; i < len; i++)
	{
		unsigned char byte = (unsigned char) text[i];
		const char *letter = strchr("\bb\tt\nn\ff\rr\"\"\\\\", byte);

		if (byte == '"' || byte == '\\')
			pos += sprintf(pos, "\\%c", byte);
		else if (byte != 0 && byte < 0x20 && letter != NULL)
			pos += sprintf(pos, "\\%c", letter[1]);
		else if (byte < 0x20)
			pos += sprintf(pos, "\\u%04x", byte);
		else
			*pos++ = (char) byte;
	}
	return pos;
}

/* Of 16 bytes "share" need an escape; with "common" none that becomes \u00XX. */
static void
make_text(char *text, Size len, int share, bool common)
{
	for (Size i = 0; i < len; i++)
	{
		do
			text[i] = (char) (rand() & 255);
		while (text[i] == '"' || text[i] == '\\' || (unsigned char) text[i] < 0x20);
		if (rand() % 16 < share)
			text[i] = specials[rand() % (common ? COMMON : (int) sizeof(specials))];
	}
}

static bool
agrees(put_fn put, const char *text, Size len)
{
	char		expected[6 * LONGEST + 1];
	Size		expected_len = put_plainly(expected, text, len) - expected;
	char	   *room = malloc(expected_len + ACDAT_JSON_SLACK);
	bool		same;

	same = room != NULL && put(room, text, text + len) == room + expected_len &&
		memcmp(room, expected, expected_len) == 0 &&
		acdat_json_size(text, len) == expected_len + 2;
	free(room);
	return same;
}

static bool
test_writer(const char *name, put_fn put)
{
	static const int shares[] = {0, 1, 2, 4, 16};
	int			strings = 0;

	for (Size len = 0; len <= LONGEST; len++)
	{
		for (int variant = 0; variant < (int) lengthof(shares) * 2 * ALIGNMENTS; variant++)
		{
			Size		shift = variant % ALIGNMENTS;
			char	   *text = malloc(shift + len + (shift + len == 0));

			make_text(text + shift, len, shares[variant / ALIGNMENTS / 2], variant / ALIGNMENTS % 2);
			if (!agrees(put, text + shift, len))
			{
				printf("%s: differs at %zu bytes\n", name, len);
				return false;
			}
			free(text);
			strings++;
		}
	}
	printf("%s: %d strings\n", name, strings);
	return true;
}

int
main(void)
{
	bool		good = true;

	fill_escapes();
	srand(20261201);
	good &= test_writer("portable", put_portable);
#ifdef HAVE_X86_VECTORS
	good &= test_writer("SSE2", put_sse2);
	if (__builtin_cpu_supports("avx2"))
		good &= test_writer("AVX2", put_avx2);
	if (has_vbmi2())
		good &= test_writer("VBMI2", put_vbmi2);
#endif
#ifdef HAVE_NEON_VECTORS
	good &= test_writer("NEON", put_neon);
#endif
	return good ? 0 : 1;
}
