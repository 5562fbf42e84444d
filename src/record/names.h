/* SPDX-License-Identifier: MIT */
#ifndef WTL_RECORD_NAMES_H
#define WTL_RECORD_NAMES_H

#include <stddef.h>
#include <stdint.h>

#include "record/store.h"

/* The series' names by number, and the numbers by name. A zeroed one is empty. */
struct wtl_names {
	char (*names)[WTL_STORE_NAME_SIZE]; /* "" for a number that is not used */
	size_t n, room;
	uint32_t *sorted; /* the numbers used, by name */
	size_t n_sorted, sorted_room;
};

void wtl_names_done(struct wtl_names *names);

/* The number of a name, or -ENOENT. */
int64_t wtl_names_find(const struct wtl_names *names, const char *name);

/* 0; -ENOMEM, -E2BIG for a number past the last, -EEXIST for a number or a name that is there, -EINVAL
 * for a name that is empty or too long. */
int wtl_names_add(struct wtl_names *names, uint32_t number, const char *name);

#endif
