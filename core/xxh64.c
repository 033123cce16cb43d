/*
 * xxh64.c
 *		The XXH64 checksum, after its public specification.
 *
 * It detects accidents at memory speed; it is no protection against forgery.
 *
 * Copyright (c) 2026, the acdat_decoder authors; PostgreSQL licence
 */
#include "acd_internal.h"

#define PRIME1	UINT64_C(0x9E3779B185EBCA87)
#define PRIME2	UINT64_C(0xC2B2AE3D27D4EB4F)
#define PRIME3	UINT64_C(0x165667B19E3779F9)
#define PRIME4	UINT64_C(0x85EBCA77C2B2AE63)
#define PRIME5	UINT64_C(0x27D4EB2F165667C5)

/* Rotate left by 1 to 63 bits. */
static inline uint64_t
rotate(uint64_t x, int bits)
{
	return (x << bits) | (x >> (64 - bits));
}

/* Mix eight bytes into an accumulator. */
static inline uint64_t
mix(uint64_t acc, uint64_t input)
{
	return rotate(acc + input * PRIME2, 31) * PRIME1;
}

/* Fold an accumulator into the hash. */
static inline uint64_t
merge(uint64_t hash, uint64_t acc)
{
	return (hash ^ mix(0, acc)) * PRIME1 + PRIME4;
}

/* Hash the 0 to 31 bytes that remain and let every bit affect every other. */
static uint64_t
finish(uint64_t hash, const unsigned char *p, size_t len)
{
	for (; len >= 8; p += 8, len -= 8)
		hash = rotate(hash ^ mix(0, acd_le64(p)), 27) * PRIME1 + PRIME4;
	if (len >= 4)
	{
		hash = rotate(hash ^ acd_le32(p) * PRIME1, 23) * PRIME2 + PRIME3;
		p += 4;
		len -= 4;
	}
	for (; len > 0; p++, len--)
		hash = rotate(hash ^ *p * PRIME5, 11) * PRIME1;

	hash ^= hash >> 33;
	hash *= PRIME2;
	hash ^= hash >> 29;
	hash *= PRIME3;
	return hash ^ (hash >> 32);
}

/* Begin the XXH64 of a byte string. */
void
acd_xxh64_begin(acd_xxh64_state *state, const void *data, size_t len, uint64_t seed)
{
	state->data = data;
	state->len = len;
	state->done = 0;
	state->seed = seed;
	state->acc[0] = seed + PRIME1 + PRIME2;
	state->acc[1] = seed + PRIME2;
	state->acc[2] = seed;
	state->acc[3] = seed - PRIME1;
}

/* Go on to about "until" bytes of it. */
void
acd_xxh64_go_on(acd_xxh64_state *state, size_t until)
{
	size_t		end = until < state->len ? until : state->len;
	const unsigned char *p = state->data + state->done;
	uint64_t	a = state->acc[0];
	uint64_t	b = state->acc[1];
	uint64_t	c = state->acc[2];
	uint64_t	d = state->acc[3];

	for (; state->done < end && state->len - state->done >= 32; state->done += 32, p += 32)
	{
		a = mix(a, acd_le64(p));
		b = mix(b, acd_le64(p + 8));
		c = mix(c, acd_le64(p + 16));
		d = mix(d, acd_le64(p + 24));
	}
	state->acc[0] = a;
	state->acc[1] = b;
	state->acc[2] = c;
	state->acc[3] = d;
}

/* Go on to its end. */
uint64_t
acd_xxh64_end(acd_xxh64_state *state)
{
	const uint64_t *acc = state->acc;
	uint64_t	hash;

	acd_xxh64_go_on(state, state->len);
	if (state->len >= 32)
	{
		hash = rotate(acc[0], 1) + rotate(acc[1], 7) + rotate(acc[2], 12) + rotate(acc[3], 18);
		for (int i = 0; i < 4; i++)
			hash = merge(hash, acc[i]);
	}
	else
		hash = state->seed + PRIME5;
	return finish(hash + (uint64_t) state->len, state->data + state->done, state->len - state->done);
}

/* XXH64 of a byte string. */
uint64_t
acd_xxh64(const void *data, size_t len, uint64_t seed)
{
	acd_xxh64_state state;

	acd_xxh64_begin(&state, data, len, seed);
	return acd_xxh64_end(&state);
}
