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

static double
cpu_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double) now.tv_sec + (double) now.tv_nsec * 1e-9;
}

/* Letters, of which one in "every" (0: none) is replaced by what needs an escape. */
static void
make_text(char *text, int every)
{
	static const char special[] = "\"\\\n\001";

	srand(20261130);
	for (int i = 0; i < TEXT_BYTES; i++)
	{
		text[i] = (char) ('a' + rand() % 26);
		if (every != 0 && rand() % every == 0)
			text[i] = special[rand() % 4];
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
	static const int densities[] = {0, 16, 8, 4, 1};
	static const struct
	{
		const char *name;
		put_fn		put;
	}			writers[] = {
		{"portable", put_portable},
#ifdef HAVE_X86_VECTORS
		{"SSE2", put_sse2},
		{"AVX2", put_avx2},
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
	printf("%-10s %8s %8s %8s %8s %8s  GB/s\n", "escapes", "none", "1/16", "1/8", "1/4", "all");
	for (int w = 0; w < (int) lengthof(writers); w++)
	{
#ifdef HAVE_X86_VECTORS
		if (writers[w].put == put_avx2 && !__builtin_cpu_supports("avx2"))
			continue;
#endif
		printf("%-10s", writers[w].name);
		for (int d = 0; d < (int) lengthof(densities); d++)
		{
			make_text(text, densities[d]);
			printf(" %8.2f", measure(writers[w].put, out, text));
		}
		printf("\n");
	}
	return 0;
}
