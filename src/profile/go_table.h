/* SPDX-License-Identifier: MIT */
#ifndef WTL_PROFILE_GO_TABLE_H
#define WTL_PROFILE_GO_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wtl_dw;
struct wtl_module;

/*
 * The table that Go's own runtime finds callers by (.gopclntab; since Go 1.18). Programs linked with -w or -s have no
 * other.
 */

struct wtl_go_frame {
	uint32_t
		size; /* bytes that its function has put on the stack at that address, without the return address */
	bool is_outermost; /* where a goroutine or a thread begins */
};

/* false: it says nothing of that address, or its function goes to another stack. */
bool wtl_go_frame(const struct wtl_dw *dw, struct wtl_module *module, uint64_t address,
		  struct wtl_go_frame *ret);

/* Adds its functions to the module's symbols, of which there is room for so many. */
void wtl_go_symbols(const struct wtl_dw *dw, struct wtl_module *module, size_t *room);

#endif
