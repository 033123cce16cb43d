/*
 * test_foreign.c
 *		Artifacts of another program, written after the format's description:
 *		they open, are proved, and scan like core's own.
 *
 * foreign.py writes them; without a Python 3 the test is skipped.
 *
 * Copyright (c) 2026, the acdat_decoder authors; PostgreSQL licence
 */
#include "helpers.h"

#define SETS	20

static term_set set;
static found_list own;
static found_list foreign;

/* Write bytes in hexadecimal. */
static void
put_hex(FILE *f, const unsigned char *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++)
		fprintf(f, "%02x", bytes[i]);
}

/* Have a machine's terms compiled by the other program; its bytes, or NULL. */
static void *
compile_elsewhere(const acd_machine *machine, const char *dir, size_t *size)
{
	char		terms[512];
	char		output[512];
	char		command[1200];
	acd_machine_info info;
	static unsigned char bytes[1 << 20];
	FILE	   *f;
	void	   *exact;

	snprintf(terms, sizeof(terms), "%s/foreign.terms", dir);
	snprintf(output, sizeof(output), "%s/foreign.acd", dir);
	snprintf(command, sizeof(command), "python3 foreign.py %s %s", output, terms);
	f = fopen(terms, "w");
	if (f == NULL)
		return NULL;
	acd_machine_describe(machine, &info);
	for (uint32_t t = 0; t < info.terms; t++)
	{
		acd_term_info term;
		unsigned char pattern[400];

		acd_machine_term(machine, t, &term);
		acd_machine_pattern(machine, t, pattern);
		put_hex(f, pattern, term.pattern_len);
		fputc('\t', f);
		put_hex(f, term.replacement, term.replacement_len);
		fprintf(f, "\t%lld\t%d\n", (long long) term.id, term.priority);
	}
	fclose(f);
	if (system(command) != 0 || (f = fopen(output, "rb")) == NULL)
		return NULL;
	*size = fread(bytes, 1, sizeof(bytes), f);
	fclose(f);
	exact = malloc(*size + 1);
	memcpy(exact, bytes, *size);
	return exact;
}

/* Scan a text with both machines. */
static bool
same_scans(const acd_machine *machine, uint64_t *rng)
{
	for (int kind = ACD_ALL_OVERLAPPING; kind <= ACD_COVER; kind++)
	{
		unsigned char text[300];
		size_t		len = random_text(&set, rng, text, sizeof(text));
		acd_scan	scan = {set.pointers, 1, (acd_kind) kind, NULL, NULL, NULL, NULL, ACD_ENGINE_AUTO, ACD_SIMD_AUTO};
		acd_machine kept = set.machines[0];
		bool		same;

		own.n = foreign.n = 0;
		own.set = foreign.set = &set;
		if (acd_find(&scan, text, len, collect_match, &own) != ACD_OK)
			return false;
		set.machines[0] = *machine;
		same = acd_find(&scan, text, len, collect_match, &foreign) == ACD_OK && same_matches(&own, &foreign);
		set.machines[0] = kept;
		if (!same)
			return false;
	}
	return true;
}

int
main(int argc, char **argv)
{
	uint64_t	rng = 31;
	char		dir[400];

	(void) argc;
	snprintf(dir, sizeof(dir), "%s", argv[0]);
	if (strrchr(dir, '/') != NULL)
		*strrchr(dir, '/') = '\0';
	if (system("python3 -c 0 >/dev/null 2>&1") != 0)
	{
		ok(true, "foreign artifacts # SKIP no Python 3");
		return done_testing();
	}
	for (int i = 0; i < SETS; i++)
	{
		acd_machine machine;
		size_t		size = 0;
		void	   *bytes;
		bool		passed;

		do
		{
			set_random(&set, &rng);
			set.nmachines = 1;
			while (set.terms[set.nterms - 1].machine > 0)
				set.nterms--;
		} while (set.nterms < 2);
		passed = set_build(&set) == ACD_OK;
		bytes = compile_elsewhere(&set.machines[0], dir, &size);
		passed = passed && bytes != NULL && acd_machine_open(&machine, bytes, size) == ACD_OK &&
			acd_machine_verify(&machine, NULL) == ACD_OK;
		for (int k = 0; passed && k < 50; k++)
			passed = same_scans(&machine, &rng);
		ok(passed, "foreign artifact of %zu terms, %zu bytes", set.nterms, size);
		free(bytes);
		set_free(&set);
	}
	return done_testing();
}
