/*
 * fuzz_open.c
 *		Fuzz entry: bytes as an artifact, taken as they are, and as a patch to
 *		a good one whose digests are then made right.
 *
 * Copyright (c) 2026, the acdat_decoder authors; PostgreSQL licence
 */
#include "acd_internal.h"
#include "helpers.h"

extern int	LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Abort on a match outside the text. */
static int
check_match(void *arg, const acd_match *match)
{
	if (match->start >= match->end || match->end > *(size_t *) arg)
		abort();
	return 0;
}

/* Open, and scan if that succeeds. */
static void
open_and_scan(const unsigned char *bytes, size_t size, const uint8_t *text, size_t len)
{
	acd_machine m;
	const acd_machine *p = &m;
	acd_scan	scan = {0};

	if (acd_machine_open(&m, bytes, size) != ACD_OK)
		return;
	scan.machines = &p;
	scan.nmachines = 1;
	for (int kind = ACD_ALL_OVERLAPPING; kind <= ACD_COVER; kind++)
	{
		scan.kind = (acd_kind) kind;
		acd_find(&scan, text, len, check_match, &len);
	}
	acd_machine_verify(&m, NULL);
}

/* The input is an artifact; or pairs of offset (u16) and value (u32), then text. */
int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const terms[] = {
		"a", "ab", "abab", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab"
	};
	static term_set set;
	static unsigned char *copy;
	size_t		artifact_size;
	size_t		patches = size > 0 ? data[0] % 4u : 0;
	size_t		used = 1;

	if (copy == NULL)
	{
		set_strings(&set, terms, 4);
		if (set_build(&set) != ACD_OK || (copy = malloc(set.artifacts[0].size)) == NULL)
			abort();
	}
	artifact_size = set.artifacts[0].size;
	open_and_scan(data, size, (const uint8_t *) "abababaaaab", 11);

	memcpy(copy, set.machines[0].bytes, artifact_size);
	for (size_t i = 0; i < patches && size - used >= 6; i++, used += 6)
	{
		size_t		at = (acd_le16(data + used) * 4u) % (artifact_size - 3);

		acd_put32(copy + at, acd_le32(data + used + 2) % (data[used] % 2 ? 600 : UINT32_MAX));
	}
	acd_sha256(copy + ACD_AT_TERMS, artifact_size - ACD_AT_TERMS, copy + ACD_AT_DIGEST);
	acd_put64(copy + ACD_AT_CHECKSUM, acd_xxh64(copy + ACD_AT_DIGEST, artifact_size - ACD_AT_DIGEST, 0));
	open_and_scan(copy, artifact_size, data, size);
	return 0;
}
