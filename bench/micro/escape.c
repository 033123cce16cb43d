/*
 * escape.c
 *		How fast JSON strings are written, by how many bytes need an escape.
 *
 * "make -C bench/micro" builds and runs it.  GB/s of input, best of 9 rounds
 * of one thread's CPU time, for each writer this machine has.
 */
#include "../../src/json.c"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define TEXT_BYTES	65536
#define REPEATS		50
#define ROUNDS		9
#define COMMON		"\"\\\n\t"	/* what has an escape of two characters */

static double
cpu_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double) now.tv_sec + (double) now.tv_nsec * 1e-9;
}

/* Letters, of which one in "every" (0: none) is replaced by one of "special". */
static void
make_text(char *text, int every, const char *special)
{

	srand(20261130);
	for (int i = 0; i < TEXT_BYTES; i++)
	{
		text[i] = (char) ('a' + rand() % 26);
		if (every != 0 && rand() % every == 0)
			text[i] = special[rand() % strlen(special)];
	}
}

static double
measure(put_fn put, char *out, const char *text)
{
	double		best = 1e9;

	for (int round = 0; round < ROUNDS; round++)
	{
		double		start = cpu_seconds();
		double		seconds;

		for (int i = 0; i < REPEATS; i++)
		{
			put(out, text, text + TEXT_BYTES);
			__asm__ volatile("" : : "r" (out) : "memory");
		}
		seconds = cpu_seconds() - start;
		best = Min(best, seconds);
	}
	return (double) TEXT_BYTES * REPEATS / best / 1e9;
}

int
main(void)
{
	static const struct
	{
		const char *name;
		int			every;
		const char *special;
	}			mixtures[] = {
		{"none", 0, ""},
		{"1/16", 16, COMMON},
		{"1/8", 8, COMMON},
		{"1/4", 4, COMMON},
		{"all", 1, COMMON},
		{"\\u 1/16", 16, "\001"},
	};
	static const struct
	{
		const char *name;
		put_fn		put;
	}			writers[] = {
		{"portable", put_portable},
#ifdef HAVE_X86_VECTORS
		{"SSE2", put_sse2},
		{"AVX2", put_avx2},
		{"VBMI2", put_vbmi2},
#endif
#ifdef HAVE_NEON_VECTORS
		{"NEON", put_neon},
#endif
	};
	char	   *text = malloc(TEXT_BYTES);
	char	   *out = malloc(ACDAT_JSON_BOUND(TEXT_BYTES));

	if (text == NULL || out == NULL)
		return 1;
	fill_escapes();
	printf("%-10s", "escapes");
	for (int m = 0; m < (int) lengthof(mixtures); m++)
		printf(" %8s", mixtures[m].name);
	printf("  GB/s\n");
	for (int w = 0; w < (int) lengthof(writers); w++)
	{
#ifdef HAVE_X86_VECTORS
		if (writers[w].put == put_avx2 && !__builtin_cpu_supports("avx2"))
			continue;
		if (writers[w].put == put_vbmi2 && !has_vbmi2())
			continue;
#endif
		printf("%-10s", writers[w].name);
		for (int m = 0; m < (int) lengthof(mixtures); m++)
		{
			make_text(text, mixtures[m].every, mixtures[m].special);
			printf(" %8.2f", measure(writers[w].put, out, text));
		}
		printf("\n");
	}
	return 0;
}
