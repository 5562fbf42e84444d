/* SPDX-License-Identifier: MIT */
/* Compares the users' names of containers and units with control groups' names. */
#include <string.h>
#include <strings.h>

#include "commands/record/follow.h"

enum { ID_DIGITS = 12, ID_LEAST = 4 };

bool wtl_follow_is_id(const char *name)
{
	size_t len = strspn(name, "0123456789abcdefABCDEF");

	return len >= ID_LEAST && !name[len];
}

bool wtl_follow_is_container(const struct wtl_group *group, const char *name)
{
	const char *slash = strchr(group->container, '/');
	const char *own = slash ? slash + 1 : group->container;
	size_t len = strlen(name);

	if (!group->container[0] || !len)
		return false;
	if (strcmp(group->container, name) == 0 || strcmp(own, name) == 0)
		return true;
	/* A group has the first digits of an ID; the user may give fewer, or all. */
	if (!wtl_follow_is_id(name) || !wtl_follow_is_id(own))
		return false;
	return strncasecmp(own, name, len < ID_DIGITS ? len : ID_DIGITS) == 0;
}

bool wtl_follow_is_unit(const struct wtl_group *group, const char *name)
{
	size_t len = strlen(name);

	if (!group->unit[0] || !len || strncmp(group->unit, name, len) != 0)
		return false;
	return !group->unit[len] || strcmp(group->unit + len, ".service") == 0;
}
