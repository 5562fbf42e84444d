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
	size_t n_threads;	      /* of the process; set by the owner */
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
/* Adds a mapping, which replaces what was there before. 0 or -ENOMEM. */
int wtl_space_map(struct wtl_space *space, uint64_t start, uint64_t length, uint64_t offset,
		  struct wtl_module *module);
void wtl_space_clear(struct wtl_space *space); /* at exec() */
/* Copies the parent's mappings to a new process. 0 or -ENOMEM. */
int wtl_space_copy(struct wtl_space *space, const struct wtl_space *parent);
/* NULL: nothing is mapped there. */
const struct wtl_mapping *wtl_space_at(const struct wtl_space *space, uint64_t address);

#endif
