/* SPDX-License-Identifier: MIT */
#ifndef WTL_PROFILE_FUNCTIONS_H
#define WTL_PROFILE_FUNCTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"

/*
 * Functions and their displayed names: short, but unique. Functions of one name (static ones, or Python's in files of
 * one name) get as much of their paths as makes them differ.
 */
struct wtl_function {
	const char *name;
	const char *source; /* its file; "": not known */
	const char *module; /* the program's or library's file; "": none */
	const void *of;	    /* the module itself: two may have one name */
	uint64_t address;   /* in the module; 0: source and name identify it */
	uint32_t line;	    /* its first line, as in "fit (train.py:12)"; 0: not shown */
};

struct wtl_functions {
	struct wtl_functions_entry *list;
	size_t n, room;
	struct wtl_hash by_function;
};

void wtl_functions_done(struct wtl_functions *functions);
/* The function's number, the same if it was added before; or -ENOMEM. Texts are copied. */
int64_t wtl_functions_add(struct wtl_functions *functions, const struct wtl_function *function);
/* Makes the names, once all functions are added. 0 or -ENOMEM. */
int wtl_functions_name(struct wtl_functions *functions);
const char *wtl_functions_text(const struct wtl_functions *functions, size_t number);
/* As it was added. */
const struct wtl_function *wtl_functions_at(const struct wtl_functions *functions, size_t number);
/* A path's last n parts, or all of it if it has no more. */
const char *wtl_functions_last_parts(const char *path, unsigned n);

#endif
