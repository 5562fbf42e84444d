/* SPDX-License-Identifier: MIT */
#ifndef WTL_PROFILE_PYTHON_CODE_H
#define WTL_PROFILE_PYTHON_CODE_H

#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "profile/python_read.h"

struct wtl_tree;

/* Functions of a process by their code objects. Their text is that of strangers: it is cut and cleaned. */

struct wtl_python_code {
	uint64_t address;
	/* The texts' addresses, and the line: another code object may come to lie there. */
	uint64_t filename, name;
	int32_t first_line;
	uint32_t frame;	     /* of the tree */
	uint64_t begin, end; /* of its instructions */
	int64_t seen_ns;     /* when that was compared */
	bool is_once;	     /* a file's own code: it runs once, and is freed */
	bool is_recent;	     /* one of the codes below */
};

enum { WTL_PYTHON_RECENT = 16 };

struct wtl_python_codes {
	struct wtl_python_code *list;
	size_t n, room;
	struct wtl_hash by_address;
	struct wtl_python_snapshot *snapshot; /* through which code that runs once is read; NULL */
	/* Codes that were found since some were compared: the next time, they are as well, in the same call. */
	uint32_t recent[WTL_PYTHON_RECENT];
	size_t n_recent;
	int64_t compared_ns; /* when */
};

void wtl_python_codes_done(struct wtl_python_codes *codes);
/* Those frames are named next: whether their codes are still there is looked up in one call, if it is time to. */
void wtl_python_codes_compare(struct wtl_python_codes *codes,
			      const struct wtl_python_layout *layout,
			      const struct wtl_python_memory *memory, int pid,
			      const struct wtl_python_frame frames[], size_t n, int64_t now_ns);
/*
 * A code object, whose frame is "function (file.py:LINE)"; until the next call. NULL: it cannot be read. ret_gone is what
 * lay there before, if that was another one; else it has no address.
 */
const struct wtl_python_code *wtl_python_code_find(struct wtl_python_codes *codes,
						   struct wtl_tree *tree,
						   const struct wtl_python_layout *layout,
						   const struct wtl_python_memory *memory, int pid,
						   uint64_t address, int64_t now_ns,
						   struct wtl_python_code *ret_gone);

#endif
