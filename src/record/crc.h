/* SPDX-License-Identifier: MIT */
#ifndef WTL_RECORD_CRC_H
#define WTL_RECORD_CRC_H

#include <stddef.h>
#include <stdint.h>

/* CRC-32 as zlib, PNG and Ethernet have it (polynomial 0xedb88320), eight bytes a step. */
struct wtl_crc {
	uint32_t table[8][256];
};

void wtl_crc_init(struct wtl_crc *crc);

/* Goes on from `sum`, which is 0 at the beginning. */
uint32_t wtl_crc_add(const struct wtl_crc *crc, uint32_t sum, const void *bytes, size_t len);

#endif
