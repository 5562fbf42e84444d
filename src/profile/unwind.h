/* SPDX-License-Identifier: MIT */
#ifndef WTL_PROFILE_UNWIND_H
#define WTL_PROFILE_UNWIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "profile/ring.h"
#include "profile/space.h"

/*
 * Call stacks from registers and a copy of the stack, by the programs' unwinding tables (.eh_frame, .debug_frame).
 * What a table says of an address is computed once and kept as a row.
 */

/* Callee-saved registers, by which a caller's frame may be found: how many; and DWARF's numbers of some. */
#if defined(__aarch64__)
enum {
	WTL_UNWIND_KEPT = 12,
	WTL_UNWIND_SP = 31,
	WTL_UNWIND_PC = 32,
	WTL_UNWIND_RA = 30,
	WTL_UNWIND_FP = 29
};
#else
enum {
	WTL_UNWIND_KEPT = 6,
	WTL_UNWIND_SP = 7,
	WTL_UNWIND_PC = 16,
	WTL_UNWIND_RA = 16,
	WTL_UNWIND_FP = 6
};
#endif

enum wtl_unwind_rule {
	WTL_UNWIND_SAME,
	WTL_UNWIND_AT_CFA, /* it was saved at the frame's address + offset */
	WTL_UNWIND_AT_SP,  /* at the stack pointer + offset: saved by the kernel for a signal */
	WTL_UNWIND_UNKNOWN,
};

struct wtl_unwind_row {
	const struct wtl_module *module;
	uint64_t address;
	bool is_end;	/* the outermost function (_start) */
	bool is_bad;	/* no table, or one that is not understood */
	bool is_signal; /* a signal frame: its caller was interrupted, and is at no call */
	bool is_plt;	/* the frame's address is by the rule of x86-64's PLT */
	uint8_t base;	/* the frame's address (CFA) is this register's value + offset; */
	bool is_deref;	/* or what lies there */
	int32_t offset;
	/* Where the caller's registers are: WTL_UNWIND_KEPT, then the return address. */
	uint8_t rules[WTL_UNWIND_KEPT + 1];
	int32_t offsets[WTL_UNWIND_KEPT + 1];
};

/* An address that was looked up, valid as long as the mapping is the same. */
struct wtl_unwind_known {
	uint64_t pc, start, offset, address;
	struct wtl_module *module;
	uint32_t mapping, row;
};

enum { WTL_UNWIND_KNOWN = 1024 };

struct wtl_unwinder {
	const struct wtl_modules *modules;
	struct wtl_unwind_row *rows;
	size_t n, room;
	struct wtl_hash by_address;
	struct wtl_unwind_known *known; /* addresses seen lately, by their hashes; NULL: none yet */
	uint64_t cut_at;		/* the address missing in the last stack; 0: none */
	struct wtl_unwind_row
		by_pointer; /* for JIT code, which has a frame pointer, saved below the return address */
};

/* A place in a program. */
struct wtl_unwind_place {
	struct wtl_module *module; /* NULL: nothing is mapped there */
	uint64_t address;	   /* the file's own, or as it is in memory */
	uint64_t stack;		   /* its stack pointer, as after the return of what it called */
	uint32_t row;		   /* a number of its own for each address of a module; 0: none */
	uint64_t kept[WTL_UNWIND_KEPT]; /* callee-saved registers in this frame; 0: not known */
};

/* How a stack ends. */
enum wtl_unwind_end {
	WTL_UNWIND_LOST,  /* its next caller cannot be found */
	WTL_UNWIND_CUT,	  /* its next caller lies beyond what was copied */
	WTL_UNWIND_WHOLE, /* where the program began */
};

/* The known part of a sample's stack from `offset` bytes on, and its length. NULL: none. */
const uint8_t *wtl_unwind_stack(const struct wtl_ring_event *sample, uint64_t offset,
				size_t *ret_len);

void wtl_unwinder_init(struct wtl_unwinder *unwinder, const struct wtl_modules *modules);
void wtl_unwinder_done(struct wtl_unwinder *unwinder);

/*
 * Lists the places of a sample's stack, the innermost first; returns how many. A caller's place is the call, not the
 * return address.
 */
size_t wtl_unwind(struct wtl_unwinder *unwinder, const struct wtl_space *space,
		  const struct wtl_ring_event *sample, struct wtl_unwind_place places[], size_t max,
		  enum wtl_unwind_end *ret_end);

#endif
