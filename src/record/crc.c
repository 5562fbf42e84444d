/* SPDX-License-Identifier: MIT */
#include "record/crc.h"

#include <endian.h>
#include <string.h>

#define POLYNOMIAL UINT32_C(0xedb88320)

void wtl_crc_init(struct wtl_crc *crc)
{
	for (uint32_t i = 0; i < 256; i++) {
		uint32_t sum = i;

		for (int bit = 0; bit < 8; bit++)
			sum = sum >> 1 ^ (POLYNOMIAL & -(sum & 1));
		crc->table[0][i] = sum;
	}
	/* The same with 1, 2, … zero bytes behind. */
	for (int k = 1; k < 8; k++)
		for (uint32_t i = 0; i < 256; i++) {
			uint32_t before = crc->table[k - 1][i];

			crc->table[k][i] = before >> 8 ^ crc->table[0][before & 0xff];
		}
}

uint32_t wtl_crc_add(const struct wtl_crc *crc, uint32_t sum, const void *bytes, size_t len)
{
	const uint32_t(*table)[256] = crc->table;
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
