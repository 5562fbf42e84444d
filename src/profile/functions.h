/* SPDX-License-Identifier: MIT */
#ifndef WTL_PROFILE_FUNCTIONS_H
#define WTL_PROFILE_FUNCTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"

/*
 * Functions, and what each is called: short, but no two alike. Static functions of two files, and Python's of files of
 * one name, are told apart by as much of their paths as that takes.
 */
struct wtl_function {
	const char *name;
	const char *source; /* its file; "": not known */
	const char *module; /* the program's or library's file; "": none */
	const void *of;	    /* that module itself, of which there may be two of one name */
	uint64_t address;   /* in it; 0: its source and name say which it is */
	uint32_t line;	    /* where it begins, if it is told: "fit (train.py:12)" */
};

struct wtl_functions {
	struct wtl_functions_entry *list;
	size_t n, room;
	struct wtl_hash by_function;
};

void wtl_functions_done(struct wtl_functions *functions);
/* Its number, the same for the same one; texts are copied. -ENOMEM. */
int64_t wtl_functions_add(struct wtl_functions *functions, const struct wtl_function *function);
/* When all are there. 0 or -ENOMEM. */
int wtl_functions_name(struct wtl_functions *functions);
const char *wtl_functions_text(const struct wtl_functions *functions, size_t number);

#endif
