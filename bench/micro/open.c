/*
 * open.c
 *		How long building and opening a machine take, by the number of terms.
 *
 * "make -C bench/micro open" builds and runs it.  Random terms of 8 to 16
 * letters; milliseconds of one thread's CPU time, the least and the median of
 * 21 openings of an artifact that is in memory, and of 3 builds.
 */
#include "acd.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define OPENINGS	21
#define BUILDS		3
#define LONGEST		16
#define SHORTEST	8

static double
cpu_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double) now.tv_sec * 1e3 + (double) now.tv_nsec * 1e-6;
}

static int
ascending(const void *a, const void *b)
{
	double		x = *(const double *) a;
	double		y = *(const double *) b;

	return (x > y) - (x < y);
}

/* The same terms each time, from a linear congruential generator. */
static acd_status
build(size_t nterms, acd_artifact *artifact)
{
	acd_builder *builder = acd_builder_create(&acd_libc_allocator);
	uint64_t	random = 20261201;
	acd_status	status = builder != NULL ? ACD_OK : ACD_ERR_NOMEM;

	for (size_t i = 0; i < nterms && status == ACD_OK; i++)
	{
		char		bytes[LONGEST];
		size_t		len = SHORTEST + i % (LONGEST - SHORTEST + 1);
		acd_term	term = {.pattern = bytes, .pattern_len = len, .replacement = "*", .replacement_len = 1};

		for (size_t k = 0; k < len; k++)
		{
			random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
			bytes[k] = (char) ('a' + (random >> 33) % 26);
		}
		term.id = (int64_t) i;
		status = acd_builder_add(builder, &term);
	}
	if (status == ACD_OK)
		status = acd_builder_finish(builder, 0, artifact);
	acd_builder_free(builder);
	return status;
}

static void
measure(size_t nterms)
{
	double		building[BUILDS];
	double		opening[OPENINGS];
	acd_artifact artifact;
	acd_machine machine;

	for (int i = 0; i < BUILDS; i++)
	{
		double		start = cpu_ms();

		if (build(nterms, &artifact) != ACD_OK)
		{
			fprintf(stderr, "cannot build %zu terms\n", nterms);
			exit(1);
		}
		building[i] = cpu_ms() - start;
		if (i + 1 < BUILDS)
			free(artifact.block);
	}
	for (int i = 0; i < OPENINGS; i++)
	{
		double		start = cpu_ms();

		if (acd_machine_open(&machine, artifact.block, artifact.size) != ACD_OK)
		{
			fprintf(stderr, "cannot open %zu terms\n", nterms);
			exit(1);
		}
		opening[i] = cpu_ms() - start;
	}
	qsort(building, BUILDS, sizeof(building[0]), ascending);
	qsort(opening, OPENINGS, sizeof(opening[0]), ascending);
	printf("%9zu %9.2f %9.2f %9.2f %9.2f %9.2f\n", nterms, (double) artifact.size / (1024 * 1024),
		   building[0], building[BUILDS / 2], opening[0], opening[OPENINGS / 2]);
	free(artifact.block);
}

int
main(void)
{
	static const size_t sizes[] = {1000, 100000, 465000, 1000000};

	printf("%9s %9s %9s %9s %9s %9s\n", "terms", "MiB", "build ms", "median", "open ms", "median");
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		measure(sizes[i]);
	return 0;
}
