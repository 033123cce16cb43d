/*
 * sha256.c
 *		SHA-256 (FIPS 180-4), for content digests of artifacts.
 *
 * Copyright (c) 2026, the acdat_decoder authors; PostgreSQL licence
 */
#include "acd_internal.h"

static const uint32_t round_constants[64] = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
	0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
	0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
	0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
	0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
	0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
	0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2
};

#define FAST_BYTES	4096		/* from there on special instructions are asked for */

static const uint32_t initial_state[8] = {
	0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19
};

/* Rotate right by 1 to 31 bits. */
static inline uint32_t
rotate(uint32_t x, int bits)
{
	return (x >> bits) | (x << (32 - bits));
}

/* Absorb one block of 64 bytes. */
static void
absorb(uint32_t state[8], const unsigned char *block)
{
	uint32_t	w[64];
	uint32_t	v[8];

	for (int i = 0; i < 16; i++)
		w[i] = (uint32_t) block[i * 4] << 24 | (uint32_t) block[i * 4 + 1] << 16 |
			(uint32_t) block[i * 4 + 2] << 8 | block[i * 4 + 3];
	for (int i = 16; i < 64; i++)
	{
		uint32_t	s0 = rotate(w[i - 15], 7) ^ rotate(w[i - 15], 18) ^ (w[i - 15] >> 3);
		uint32_t	s1 = rotate(w[i - 2], 17) ^ rotate(w[i - 2], 19) ^ (w[i - 2] >> 10);

		w[i] = w[i - 16] + s0 + w[i - 7] + s1;
	}

	/* Working variable k of round i is v[(k - i) mod 8], so that none moves. */
	memcpy(v, state, sizeof(v));
	for (unsigned i = 0; i < 64; i++)
	{
		uint32_t	a = v[(0 - i) & 7];
		uint32_t	b = v[(1 - i) & 7];
		uint32_t	c = v[(2 - i) & 7];
		uint32_t	e = v[(4 - i) & 7];
		uint32_t	f = v[(5 - i) & 7];
		uint32_t	g = v[(6 - i) & 7];
		uint32_t	s1 = rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25);
		uint32_t	choice = (e & f) ^ (~e & g);
		uint32_t	t1 = v[(7 - i) & 7] + s1 + choice + round_constants[i] + w[i];
		uint32_t	s0 = rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22);
		uint32_t	majority = (a & b) ^ (a & c) ^ (b & c);

		v[(3 - i) & 7] += t1;
		v[(7 - i) & 7] = t1 + s0 + majority;
	}
	for (int i = 0; i < 8; i++)
		state[i] += v[i];
}

/* SHA-256 of a byte string. */
void
acd_sha256(const void *data, size_t len, unsigned char digest[ACD_DIGEST_LEN])
{
	const unsigned char *p = data;
	unsigned char tail[128] = {0};
	size_t		left = len;
	size_t		tail_len;
	uint32_t	state[8];

	memcpy(state, initial_state, sizeof(state));
	if (len >= FAST_BYTES && acd_sha256_fast())
	{
		acd_sha256_blocks(state, round_constants, p, len / 64);
		p += len / 64 * 64;
		left = len % 64;
	}
	for (; left >= 64; p += 64, left -= 64)
		absorb(state, p);

	if (left > 0)
		memcpy(tail, p, left);
	tail[left] = 0x80;
	tail_len = left < 56 ? 64 : 128;
	for (int i = 0; i < 8; i++)
		tail[tail_len - 1 - (size_t) i] = (unsigned char) (((uint64_t) len * 8) >> (8 * i));
	absorb(state, tail);
	if (tail_len == 128)
		absorb(state, tail + 64);

	for (int i = 0; i < 32; i++)
		digest[i] = (unsigned char) (state[i / 4] >> (24 - 8 * (i % 4)));
}
