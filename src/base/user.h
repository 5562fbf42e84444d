/* SPDX-License-Identifier: MIT */
#ifndef WTL_BASE_USER_H
#define WTL_BASE_USER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a user is called: cleaned, for several threads at once. Names are this machine's own; is_here is
 * false for another one's (a root, a tape), whose users are numbers. */
void wtl_user_name(bool is_here, uint32_t uid, char *name, size_t size);

/*
 * The same for whoever asks often: each answer is a lookup of all that the machine's nsswitch.conf names, files at
 * the least. What it said counts for a minute.
 */
enum { WTL_USER_NAMES = 64 };

struct wtl_user_names {
	struct {
		uint32_t uid;
		int64_t until_ns; /* 0: nobody is in there */
		char name[64];
	} rows[WTL_USER_NAMES];
};

/* now_ns: of a clock that does not go back. */
void wtl_user_names_get(struct wtl_user_names *names, bool is_here, uint32_t uid, int64_t now_ns,
			char *name, size_t size);

#endif
