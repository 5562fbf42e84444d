/* SPDX-License-Identifier: MIT */
#include "record/crc.h"

#include <endian.h>
#include <string.h>

/* A row has the sums of the bytes 1, 2, 4, … 128; that of any other byte is the sums of its bits together. */
#define BYTE(i, a, b, c, d, e, f, g, h)                                              \
	(((i)&1 ? a : 0u) ^ ((i)&2 ? b : 0u) ^ ((i)&4 ? c : 0u) ^ ((i)&8 ? d : 0u) ^ \
	 ((i)&16 ? e : 0u) ^ ((i)&32 ? f : 0u) ^ ((i)&64 ? g : 0u) ^ ((i)&128 ? h : 0u))
#define FOUR(i, ...)                                                              \
	BYTE(i, __VA_ARGS__), BYTE(i + 1, __VA_ARGS__), BYTE(i + 2, __VA_ARGS__), \
		BYTE(i + 3, __VA_ARGS__)
#define SIXTEEN(i, ...)                                                           \
	FOUR(i, __VA_ARGS__), FOUR(i + 4, __VA_ARGS__), FOUR(i + 8, __VA_ARGS__), \
		FOUR(i + 12, __VA_ARGS__)
#define SIXTY_FOUR(i, ...)                                                                   \
	SIXTEEN(i, __VA_ARGS__), SIXTEEN(i + 16, __VA_ARGS__), SIXTEEN(i + 32, __VA_ARGS__), \
		SIXTEEN(i + 48, __VA_ARGS__)
#define ALL(...)                                                                               \
	SIXTY_FOUR(0, __VA_ARGS__), SIXTY_FOUR(64, __VA_ARGS__), SIXTY_FOUR(128, __VA_ARGS__), \
		SIXTY_FOUR(192, __VA_ARGS__)

/* Of the polynomial 0xedb88320; row k: with k zero bytes behind. */
static const uint32_t table[8][256] = {
	{ALL(0x77073096, 0xee0e612c, 0x076dc419, 0x0edb8832, 0x1db71064, 0x3b6e20c8, 0x76dc4190,
	     0xedb88320)},
	{ALL(0x191b3141, 0x32366282, 0x646cc504, 0xc8d98a08, 0x4ac21251, 0x958424a2, 0xf0794f05,
	     0x3b83984b)},
	{ALL(0x01c26a37, 0x0384d46e, 0x0709a8dc, 0x0e1351b8, 0x1c26a370, 0x384d46e0, 0x709a8dc0,
	     0xe1351b80)},
	{ALL(0xb8bc6765, 0xaa09c88b, 0x8f629757, 0xc5b428ef, 0x5019579f, 0xa032af3e, 0x9b14583d,
	     0xed59b63b)},
	{ALL(0x3d6029b0, 0x7ac05360, 0xf580a6c0, 0x30704bc1, 0x60e09782, 0xc1c12f04, 0x58f35849,
	     0xb1e6b092)},
	{ALL(0xcb5cd3a5, 0x4dc8a10b, 0x9b914216, 0xec53826d, 0x03d6029b, 0x07ac0536, 0x0f580a6c,
	     0x1eb014d8)},
	{ALL(0xa6770bb4, 0x979f1129, 0xf44f2413, 0x33ef4e67, 0x67de9cce, 0xcfbd399c, 0x440b7579,
	     0x8816eaf2)},
	{ALL(0xccaa009e, 0x4225077d, 0x844a0efa, 0xd3e51bb5, 0x7cbb312b, 0xf9766256, 0x299dc2ed,
	     0x533b85da)},
};

uint32_t wtl_crc_add(uint32_t sum, const void *bytes, size_t len)
{
	const uint8_t *at = bytes;

	sum = ~sum;
	for (; len >= 8; at += 8, len -= 8) {
		uint64_t word;

		memcpy(&word, at, 8);
		word = le64toh(word) ^ sum;
		sum = table[7][word & 0xff] ^ table[6][word >> 8 & 0xff] ^
		      table[5][word >> 16 & 0xff] ^ table[4][word >> 24 & 0xff] ^
		      table[3][word >> 32 & 0xff] ^ table[2][word >> 40 & 0xff] ^
		      table[1][word >> 48 & 0xff] ^ table[0][word >> 56];
	}
	for (; len > 0; at++, len--)
		sum = sum >> 8 ^ table[0][(sum ^ *at) & 0xff];
	return ~sum;
}
