/* SPDX-License-Identifier: MIT */
#include "base/user.h"

#include <pwd.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

enum { ENTRY_SIZE = 4096 };

void wtl_user_name(bool is_here, uint32_t uid, char *name, size_t size)
{
	struct passwd entry, *found = NULL;
	char text[ENTRY_SIZE];

	if (is_here && getpwuid_r(uid, &entry, text, sizeof(text), &found) == 0 && found)
		wtl_text_clean(name, size, found->pw_name, strlen(found->pw_name));
	else
		snprintf(name, size, "%u", uid);
}
