/* SPDX-License-Identifier: MIT */
#ifndef WTL_BASE_IO_FAULT_H
#define WTL_BASE_IO_FAULT_H

/* What calls of io.c belong to, for those that are made to fail. */
enum wtl_fault_op {
	WTL_FAULT_OPEN,
	WTL_FAULT_READ,
	WTL_FAULT_LINK,
	WTL_FAULT_DIR,
	WTL_FAULT_PERF,
	WTL_FAULT_LIB,
	WTL_FAULT_CPU,
	WTL_FAULT_EXITS,
	WTL_FAULT_WRITE,
	WTL_FAULT_ANY,
};

struct wtl_fault;

/* Counts a call. The negative errno it is to fail with, or 0. */
int wtl_fault_count(struct wtl_fault *fault, enum wtl_fault_op op);

#endif
