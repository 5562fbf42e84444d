/* SPDX-License-Identifier: MIT */
/*
 * What `record --container` and `--unit` go by: names as users type them, and what Docker and Podman have in their
 * files. The input is texts, each ended by NUL: the name, a container's configuration, and Podman's list.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands/record/follow.h"
#include "memio.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define ID     "3f1c0123456789abcdef3f1c0123456789abcdef3f1c0123456789abcdef0000"
#define DOCKER "/var/lib/docker/containers/" ID "/config.v2.json"
#define PODMAN "/var/lib/containers/storage/overlay-containers/containers.json"

static void check(int good)
{
	if (!good)
		abort();
}

static const char *next(const char **at, const char *end, size_t *ret_len)
{
	const char *text = *at, *stop = memchr(text, '\0', (size_t)(end - text));

	*ret_len = (size_t)((stop ? stop : end) - text);
	*at = stop ? stop + 1 : end;
	return text;
}

static void find(struct memio *memio, const char *name)
{
	char id[65];

	wtl_follow_find_container(&memio->io, name, id, sizeof(id));
	check(strnlen(id, sizeof(id)) < sizeof(id));
	for (const char *at = id; *at; at++)
		check((unsigned char)*at >= 0x20 && *at != 0x7f);
}

static void match(const char *name)
{
	static const struct wtl_group groups[] = {
		{.container = "docker/3f1c01234567", .unit = "docker-3f1c.scope"},
		{.container = "lxc/web", .unit = "ssh.service"},
		{.container = "", .unit = ""},
	};

	for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
		bool is_its = wtl_follow_is_container(&groups[i], name),
		     is_unit = wtl_follow_is_unit(&groups[i], name);

		check(!is_its || (name[0] && groups[i].container[0]));
		check(!is_unit || (name[0] && groups[i].unit[0]));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *at = (const char *)data, *end = at + size, *text;
	struct memio memio;
	size_t len;
	char *name;

	memio_init(&memio);
	text = next(&at, end, &len);
	name = strndup(text, len);
	check(name != NULL);
	text = next(&at, end, &len);
	memio_put(&memio, DOCKER, text, len);
	text = next(&at, end, &len);
	memio_put(&memio, PODMAN, text, len);
	find(&memio, name);
	match(name);
	memio_done(&memio);
	free(name);
	return 0;
}
