/*
 * fuzz_scan.c
 *		Fuzz entry: bytes as terms, boundaries and text; every kind must agree
 *		with the oracle, and the machine with its proof.
 *
 * Copyright (c) 2026, the acdat_decoder authors; PostgreSQL licence
 */
#include "helpers.h"

#define MAX_TERMS	24

extern int	LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/*
 * The first byte is the number of terms and whether there are boundaries;
 * each term is a byte for its length, one for machine, priority and id, and
 * its bytes; the rest is text.  Bytes of patterns and text are cut to four
 * values so that they meet.
 */
int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static term_set set;
	static found_list expected;
	static found_list got;
	unsigned char text[300];
	acd_scan	scan = {0};
	size_t		used = 1;
	size_t		len;
	uint32_t	machine = 0;

	if (size < 4)
		return 0;
	set_clear(&set);
	for (int i = 0; i < data[0] % MAX_TERMS + 1 && size - used > 2; i++)
	{
		size_t		n = data[used] % (data[used] % 8 == 7 ? 100 : 10) + 1;
		unsigned	flags = data[used + 1];
		unsigned char bytes[128];

		used += 2;
		if (n > size - used)
			n = size - used;
		if (n == 0)
			break;
		for (size_t k = 0; k < n; k++)
			bytes[k] = data[used + k] % 4;
		used += n;
		if (flags % 4 == 0 && machine < 2 && set.nterms > 0)
			machine++;
		set_add(&set, machine, bytes, n, flags / 4 % 4, (int32_t) (flags / 16 % 4) - 1);
	}
	if (set.nterms == 0 || set_build(&set) != ACD_OK)
		return 0;
	for (len = 0; len < sizeof(text) && used < size; len++)
		text[len] = data[used++] % 4;

	scan.machines = set.pointers;
	scan.nmachines = set.nmachines;
	if (data[0] & 0x80 && size > len / 8)
		scan.boundaries = data;
	for (int kind = ACD_ALL_OVERLAPPING; kind <= ACD_COVER; kind++)
	{
		scan.kind = (acd_kind) kind;
		oracle(&set, scan.kind, scan.boundaries, text, len, &expected);
		got.n = 0;
		got.broken = false;
		got.set = &set;
		if (acd_find(&scan, text, len, collect_match, &got) != ACD_OK || !same_matches(&got, &expected))
			abort();
	}
	for (size_t m = 0; m < set.nmachines; m++)
		if (acd_machine_verify(&set.machines[m], NULL) != ACD_OK)
			abort();
	set_free(&set);
	return 0;
}
