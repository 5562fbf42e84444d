/* SPDX-License-Identifier: MIT */
/* What users call containers and units, and what control groups do. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/io.h"
#include "base/text.h"
#include "commands/record/follow.h"

enum { ID_DIGITS = 12, ID_LEAST = 4, NAMES_MAX = 1 << 20, FILE_MAX = 1 << 18 };

/* Of hexadecimal digits alone. */
static bool is_id(const char *name)
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
	/* A group has the first digits of an ID, a user gives fewer, or all. */
	if (!is_id(name) || !is_id(own))
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

/* The text between two quotes after `key`, cut to size; "" where there is none. */
static void copy_quoted(const char *from, const char *key, char *to, size_t size)
{
	const char *at = strstr(from, key);
	size_t len;

	to[0] = '\0';
	if (!at)
		return;
	at += strlen(key);
	len = strcspn(at, "\"");
	if (at[len] == '"' && len < size)
		wtl_text_clean(to, size, at, len);
}

/* Docker keeps a directory for each container, named after its ID, whose config has "Name":"/web". */
static void find_docker(struct wtl_io *io, const char *name, struct wtl_buf *text, char *ret_id,
			size_t size)
{
	struct wtl_buf ids;
	char path[192], found[160];

	wtl_buf_init(&ids, NAMES_MAX);
	if (wtl_io_dir_read(io, "/var/lib/docker/containers", &ids) <= 0) {
		wtl_buf_done(&ids);
		return;
	}
	for (size_t at = 0; at < ids.len && !ret_id[0]; at += strlen(ids.data + at) + 1) {
		const char *id = ids.data + at;

		snprintf(path, sizeof(path), "/var/lib/docker/containers/%.80s/config.v2.json", id);
		if (wtl_io_slurp(io, path, text->data, FILE_MAX) < 0)
			continue;
		copy_quoted(text->data, "\"Name\":\"/", found, sizeof(found));
		if (strcmp(found, name) == 0)
			wtl_text_copy(ret_id, size, id);
	}
	wtl_buf_done(&ids);
}

/* Podman keeps one list a storage driver: [{"id":"3f1c…","names":["web"],…},…]. */
static void find_podman(struct wtl_io *io, const char *driver, const char *name,
			struct wtl_buf *text, char *ret_id, size_t size)
{
	char *at, path[96], found[160];

	snprintf(path, sizeof(path), "/var/lib/containers/storage/%s-containers/containers.json",
		 driver);
	if (wtl_io_slurp(io, path, text->data, FILE_MAX) < 0)
		return;
	for (at = strstr(text->data, "\"id\":\""); at && !ret_id[0];) {
		char *next = strstr(at + 1, "\"id\":\"");

		if (next)
			next[-1] = '\0';
		copy_quoted(at, "\"names\":[\"", found, sizeof(found));
		if (strcmp(found, name) == 0)
			copy_quoted(at, "\"id\":\"", ret_id, size);
		at = next;
	}
}

void wtl_follow_find_container(struct wtl_io *io, const char *name, char *ret_id, size_t size)
{
	static const char *const drivers[] = {"overlay", "vfs", "btrfs", "zfs"};
	struct wtl_buf text;

	ret_id[0] = '\0';
	wtl_buf_init(&text, FILE_MAX);
	if (wtl_buf_reserve(&text, FILE_MAX - 1) == 0) {
		find_docker(io, name, &text, ret_id, size);
		for (size_t i = 0; i < sizeof(drivers) / sizeof(drivers[0]) && !ret_id[0]; i++)
			find_podman(io, drivers[i], name, &text, ret_id, size);
	}
	wtl_buf_done(&text);
}
