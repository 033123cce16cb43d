/*
 * fuzz_driver.c
 *		Runs a fuzz entry without libFuzzer: on the files of the command line,
 *		or on FUZZ_RUNS random inputs.
 *
 * Copyright (c) 2026, the acdat_decoder authors; PostgreSQL licence
 */
#include "helpers.h"

#define MAX_INPUT	(1 << 20)

extern int	LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Give an input in a block of its exact size, so that sanitizers see its end. */
static void
run_input(const unsigned char *data, size_t size)
{
	unsigned char *exact = malloc(size + 1);

	memcpy(exact + 1, data, size);
	LLVMFuzzerTestOneInput(exact + 1, size);
	free(exact);
}

int
main(int argc, char **argv)
{
	static unsigned char input[MAX_INPUT];
	unsigned long runs = env_number("FUZZ_RUNS", 5000);
	uint64_t	rng = env_number("CORE_SEED", 1) * 2 + 1;

	for (int i = 1; i < argc; i++)
	{
		FILE	   *f = fopen(argv[i], "rb");
		size_t		n;

		if (f == NULL)
			return 1;
		n = fread(input, 1, sizeof(input), f);
		fclose(f);
		run_input(input, n);
	}
	for (unsigned long r = 0; argc == 1 && r < runs; r++)
	{
		size_t		n = rng_below(&rng, r % 10 ? 200 : 2000);

		for (size_t k = 0; k < n; k++)
			input[k] = (unsigned char) (rng_next(&rng) >> 40);
		run_input(input, n);
	}
	ok(true, "%lu inputs", argc == 1 ? runs : (unsigned long) argc - 1);
	return done_testing();
}
