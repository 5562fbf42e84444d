/* SPDX-License-Identifier: MIT */
#ifndef WTL_RECORD_CRC_H
#define WTL_RECORD_CRC_H

#include <stddef.h>
#include <stdint.h>

/* CRC-32 as zlib, PNG and Ethernet have it, eight bytes a step. Goes on from `sum`, which is 0 at the beginning. */
uint32_t wtl_crc_add(uint32_t sum, const void *bytes, size_t len);

#endif
