/* SPDX-License-Identifier: MIT */
/* Finds containers by name in Docker's and Podman's files. Labels, variables and arguments in them are chosen by
 * the container: a name counts only in its own place in the document. */
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/io.h"
#include "base/text.h"
#include "commands/record/follow.h"

enum { NAMES_MAX = 1 << 20, FILE_MAX = 1 << 18 };

/* Reads into text[]. NULL: missing, too long, or not JSON. */
static json_t *load(struct wtl_io *io, const char *path, char *text)
{
	ssize_t len = wtl_io_slurp(io, path, text, FILE_MAX);

	return len > 0 ? json_loadb(text, (size_t)len, JSON_REJECT_DUPLICATES, NULL) : NULL;
}

static bool is_text(const json_t *value, const char *text)
{
	return json_is_string(value) && strcmp(json_string_value(value), text) == 0;
}

/* Docker keeps a directory for each container, named after its ID, whose config has "Name":"/web". */
static void find_docker(struct wtl_io *io, const char *name, char *text, char *ret_id, size_t size)
{
	struct wtl_buf ids;
	char path[192], wanted[160];

	wtl_buf_init(&ids, NAMES_MAX);
	if (snprintf(wanted, sizeof(wanted), "/%s", name) >= (int)sizeof(wanted) ||
	    wtl_io_dir_read(io, "/var/lib/docker/containers", &ids) <= 0) {
		wtl_buf_done(&ids);
		return;
	}
	for (size_t at = 0; at < ids.len && !ret_id[0]; at += strlen(ids.data + at) + 1) {
		const char *id = ids.data + at;
		json_t *config;

		if (!wtl_follow_is_id(id))
			continue;
		snprintf(path, sizeof(path), "/var/lib/docker/containers/%.80s/config.v2.json", id);
		config = load(io, path, text);
		if (is_text(json_object_get(config, "Name"), wanted))
			wtl_text_copy(ret_id, size, id);
		json_decref(config);
	}
	wtl_buf_done(&ids);
}

static bool has_name(const json_t *container, const char *name)
{
	const json_t *own;
	size_t i;

	json_array_foreach(json_object_get(container, "names"), i,
			   own) if (is_text(own, name)) return true;
	return false;
}

/* Podman has one list per storage driver: [{"id":"3f1c…","names":["web"],…},…]. */
static void find_podman(struct wtl_io *io, const char *driver, const char *name, char *text,
			char *ret_id, size_t size)
{
	char path[96];
	json_t *list, *container;
	size_t i;

	snprintf(path, sizeof(path), "/var/lib/containers/storage/%s-containers/containers.json",
		 driver);
	list = load(io, path, text);
	json_array_foreach(list, i, container)
	{
		const char *id = json_string_value(json_object_get(container, "id"));

		if (!ret_id[0] && id && wtl_follow_is_id(id) && has_name(container, name))
			wtl_text_copy(ret_id, size, id);
	}
	json_decref(list);
}

void wtl_follow_find_container(struct wtl_io *io, const char *name, char *ret_id, size_t size)
{
	static const char *const drivers[] = {"overlay", "vfs", "btrfs", "zfs"};
	struct wtl_buf text;

	ret_id[0] = '\0';
	wtl_buf_init(&text, FILE_MAX);
	if (wtl_buf_reserve(&text, FILE_MAX - 1) == 0) {
		find_docker(io, name, text.data, ret_id, size);
		for (size_t i = 0; i < sizeof(drivers) / sizeof(drivers[0]) && !ret_id[0]; i++)
			find_podman(io, drivers[i], name, text.data, ret_id, size);
	}
	wtl_buf_done(&text);
}
