/* SPDX-License-Identifier: MIT */
#ifndef WTL_PROFILE_PYTHON_CODE_H
#define WTL_PROFILE_PYTHON_CODE_H

#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "profile/python_read.h"

struct wtl_tree;

/* Functions of a process by their code objects. Their texts are untrusted: they are cut and cleaned. */

struct wtl_python_code {
	uint64_t address;
	/* The texts' addresses, and the line. They change if another code object takes this address. */
	uint64_t filename, name;
	int32_t first_line;
	uint32_t frame;	     /* of the tree */
	uint64_t begin, end; /* of its instructions */
	int64_t seen_ns;     /* when these were last compared */
	bool is_once;	     /* a file's own code: it runs once, and is freed */
	bool is_recent;	     /* it is in `recent` */
};

enum { WTL_PYTHON_RECENT = 16 };

struct wtl_python_codes {
	struct wtl_python_code *list;
	size_t n, room;
	struct wtl_hash by_address;
	struct wtl_python_snapshot *snapshot; /* code that runs once is read through it; NULL */
	/* Codes that were used since the last comparison: the next one compares them all in one call. */
	uint32_t recent[WTL_PYTHON_RECENT];
	size_t n_recent;
	int64_t compared_ns; /* when the last comparison was */
};

void wtl_python_codes_done(struct wtl_python_codes *codes);
/* Call before naming frames: compares their codes in one call, if that is due. */
void wtl_python_codes_compare(struct wtl_python_codes *codes,
			      const struct wtl_python_layout *layout,
			      const struct wtl_python_memory *memory, int pid,
			      const struct wtl_python_frame frames[], size_t n, int64_t now_ns);
/*
 * A code object; its frame is "function (file.py:LINE)". Valid until the next call. NULL: it cannot be read. ret_gone:
 * the code object that lay there before, if it was another one; else its address is 0.
 */
const struct wtl_python_code *wtl_python_code_find(struct wtl_python_codes *codes,
						   struct wtl_tree *tree,
						   const struct wtl_python_layout *layout,
						   const struct wtl_python_memory *memory, int pid,
						   uint64_t address, int64_t now_ns,
						   struct wtl_python_code *ret_gone);

#endif
