/* SPDX-License-Identifier: MIT */
#include "base/user.h"

#include <pwd.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

enum { ENTRY_SIZE = 4096 };

#define COUNTS_NS INT64_C(60000000000)

void wtl_user_name(bool is_here, uint32_t uid, char *name, size_t size)
{
	struct passwd entry, *found = NULL;
	char text[ENTRY_SIZE];

	if (is_here && getpwuid_r(uid, &entry, text, sizeof(text), &found) == 0 && found)
		wtl_text_clean(name, size, found->pw_name, strlen(found->pw_name));
	else
		snprintf(name, size, "%u", uid);
}

void wtl_user_names_get(struct wtl_user_names *names, bool is_here, uint32_t uid, int64_t now_ns,
			char *name, size_t size)
{
	size_t at = uid % WTL_USER_NAMES;
	char *kept = names->rows[at].name;

	if (names->rows[at].uid != uid || now_ns >= names->rows[at].until_ns) {
		wtl_user_name(is_here, uid, kept, sizeof(names->rows[at].name));
		names->rows[at].uid = uid;
		names->rows[at].until_ns = now_ns + COUNTS_NS;
	}
	wtl_text_clean(name, size, kept, strlen(kept));
}
