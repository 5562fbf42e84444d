/* SPDX-License-Identifier: MIT */
#ifndef WTL_PROFILE_SPACE_H
#define WTL_PROFILE_SPACE_H

#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "profile/module.h"

/* What a process has mapped. */
struct wtl_mapping {
	uint64_t start, end, offset;
	struct wtl_module *module;
};

struct wtl_space {
	int pid;
	size_t n_threads;	      /* of the process, as its owner counts them */
	struct wtl_mapping *mappings; /* by address; they never overlap */
	size_t n, room;
};

struct wtl_spaces {
	struct wtl_modules *modules;
	struct wtl_space **list;
	size_t n, room;
	struct wtl_hash by_pid;
};

void wtl_spaces_init(struct wtl_spaces *spaces, struct wtl_modules *modules);
void wtl_spaces_done(struct wtl_spaces *spaces);

/* The process' space, made if need be. NULL: no memory. */
struct wtl_space *wtl_spaces_find(struct wtl_spaces *spaces, int pid);
/* The process has ended. */
void wtl_spaces_remove(struct wtl_spaces *spaces, struct wtl_space *space);
/* It has mapped that now; what was there before is not any more. 0 or -ENOMEM. */
int wtl_space_map(struct wtl_space *space, uint64_t start, uint64_t length, uint64_t offset,
		  struct wtl_module *module);
void wtl_space_clear(struct wtl_space *space); /* it becomes another program */
/* A new process has what its parent had. 0 or -ENOMEM. */
int wtl_space_copy(struct wtl_space *space, const struct wtl_space *parent);
/* NULL: nothing is mapped there. */
const struct wtl_mapping *wtl_space_at(const struct wtl_space *space, uint64_t address);

#endif
