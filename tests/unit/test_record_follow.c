/* SPDX-License-Identifier: MIT */
/* Which groups are the container or the unit that a user names. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/config.h"
#include "base/io.h"
#include "commands/record/follow.h"
#include "unit.h"

#define ID   "3f1c0aa7b2d4e58f3f1c0aa7b2d4e58f3f1c0aa7b2d4e58f3f1c0aa7b2d4e58f"
#define ID_3 "12340aa7b2d4e58f3f1c0aa7b2d4e58f3f1c0aa7b2d4e58f3f1c0aa7b2d4e58f"
#define ID_2 "99990aa7b2d4e58f3f1c0aa7b2d4e58f3f1c0aa7b2d4e58f3f1c0aa7b2d4e58f"
#define ID_4 "abcd0aa7b2d4e58f3f1c0aa7b2d4e58f3f1c0aa7b2d4e58f3f1c0aa7b2d4e58f"

static void test_containers(void **state)
{
	static const struct {
		const char *container, *name;
		bool is_it;
	} cases[] = {
		{"docker/3f1c0aa7b2d4", "docker/3f1c0aa7b2d4", true},
		{"docker/3f1c0aa7b2d4", "3f1c0aa7b2d4", true},
		{"docker/3f1c0aa7b2d4", "3f1c", true},
		{"docker/3f1c0aa7b2d4", "3F1C0A", true},
		{"docker/3f1c0aa7b2d4", ID, true},
		{"docker/3f1c0aa7b2d4", "3f1", false},
		{"docker/3f1c0aa7b2d4", "3f1d", false},
		{"docker/3f1c0aa7b2d4", ID_2, false},
		{"docker/3f1c0aa7b2d4", "podman/3f1c0aa7b2d4", false},
		{"docker/3f1c0aa7b2d4", "docker", false},
		{"docker/3f1c0aa7b2d4", "", false},
		{"docker/3f1c0aa7b2d4", "web", false},
		{"lxc/web", "web", true},
		{"lxc/web", "lxc/web", true},
		{"lxc/web", "we", false},
		{"lxc/web", "web2", false},
		{"lxc/beef", "bee", false},
		{"lxc/cafes", "cafe", false},
		{"", "web", false},
		{"", "", false},
	};

	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
		struct wtl_group group = {.unit = "docker.service"};

		strcpy(group.container, cases[i].container);
		if (wtl_follow_is_container(&group, cases[i].name) != cases[i].is_it)
			fail_msg("'%s' for '%s'", cases[i].name, cases[i].container);
	}
}

static void test_units(void **state)
{
	static const struct {
		const char *unit, *name;
		bool is_it;
	} cases[] = {
		{"ssh.service", "ssh.service", true},
		{"ssh.service", "ssh", true},
		{"ssh.service", "ss", false},
		{"ssh.service", "ssh.", false},
		{"ssh.service", "ssh.scope", false},
		{"ssh.service", "", false},
		{"ssh.socket", "ssh", false},
		{"session-3.scope", "session-3.scope", true},
		{"session-3.scope", "session-3", false},
		{"getty@tty1.service", "getty@tty1", true},
		{"getty@tty1.service", "getty", false},
		{"", "ssh", false},
	};

	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
		struct wtl_group group = {.container = ""};

		strcpy(group.unit, cases[i].unit);
		if (wtl_follow_is_unit(&group, cases[i].name) != cases[i].is_it)
			fail_msg("'%s' for '%s'", cases[i].name, cases[i].unit);
	}
}

static void expect_found(struct wtl_io *io, const char *name, const char *id)
{
	char found[80] = "";

	if (HAVE_JANSSON)
		wtl_follow_find_container(io, name, found, sizeof(found));
	assert_string_equal(found, id);
}

static void test_names_of_containers(void **state)
{
	char *dir = unit_tmpdir();
	struct wtl_io *io;

	(void)state;
	if (!HAVE_JANSSON)
		skip();
	assert_int_equal(wtl_io_real_new(dir, &io, NULL), 0);
	expect_found(io, "web", "");
	unit_write(dir, "var/lib/docker/containers/" ID "/config.v2.json",
		   "{\"ID\":\"" ID
		   "\",\"Image\":\"sha256:00\",\"Name\":\"/web\",\"Driver\":\"x\"}");
	unit_write(dir, "var/lib/docker/containers/" ID_2 "/config.v2.json",
		   "{\"MountPoints\":{\"/x\":{\"Name\":\"data\"}},\"Name\":\"/web-2\"}");
	unit_write(dir, "var/lib/docker/containers/broken/config.v2.json", "{\"Name\":\"/brok");
	expect_found(io, "web", ID);
	expect_found(io, "web-2", ID_2);
	expect_found(io, "we", "");
	expect_found(io, "data", "");
	expect_found(io, "brok", "");
	/* What a container says of itself is no name: labels, and text that looks like one. */
	unit_write(
		dir, "var/lib/docker/containers/" ID_4 "/config.v2.json",
		"{\"Config\":{\"Labels\":{\"Name\":\"/web-9\",\"x\":\"{\\\"Name\\\":\\\"/web-9\\\"}\"},"
		"\"Env\":[\"A=\\\"Name\\\":\\\"/web-9\"]},\"Name\":\"/evil\"}");
	expect_found(io, "web-9", "");
	expect_found(io, "evil", ID_4);
	/* Who has two names has none. */
	unit_write(dir, "var/lib/docker/containers/" ID_4 "/config.v2.json",
		   "{\"Name\":\"/web-9\",\"Name\":\"/evil\"}");
	expect_found(io, "web-9", "");
	expect_found(io, "evil", "");
	unit_write(dir, "var/lib/docker/containers/" ID_4 "/config.v2.json", "{\"Name\":7}");
	unit_write(dir, "var/lib/docker/containers/0000/config.v2.json", "[]");
	expect_found(io, "7", "");
	/* A name of hexadecimal digits, as an ID's begin would be. */
	expect_found(io, "cafe", "");
	unit_write(dir, "var/lib/docker/containers/" ID_3 "/config.v2.json",
		   "{\"Name\":\"/cafe\"}");
	expect_found(io, "cafe", ID_3);
	expect_found(io, ID_3, "");
	unit_write(dir, "var/lib/containers/storage/overlay-containers/containers.json",
		   "[{\"id\":\"" ID "\",\"names\":[\"db\"],\"image\":\"x\"},"
		   "{\"id\":\"" ID_2 "\",\"names\":[\"cache\",\"other\"]}]");
	expect_found(io, "db", ID);
	expect_found(io, "cache", ID_2);
	expect_found(io, "other", ID_2);
	expect_found(io, "x", "");
	unit_write(dir, "var/lib/containers/storage/overlay-containers/containers.json",
		   "[{\"metadata\":{\"names\":[\"mine\"],\"id\":\"" ID "\"},\"id\":\"" ID_2
		   "\",\"names\":[3,\"theirs\"]},{\"id\":\"../../x\",\"names\":[\"path\"]}]");
	expect_found(io, "mine", "");
	expect_found(io, "theirs", ID_2);
	expect_found(io, "path", "");
	unit_write(dir, "var/lib/containers/storage/overlay-containers/containers.json",
		   "[{\"id\":\"" ID "\",\"names\":[\"");
	expect_found(io, "db", "");
	unit_write(dir, "var/lib/containers/storage/vfs-containers/containers.json",
		   "[{\"id\":\"" ID_3 "\",\"names\":[\"vv\"]}]");
	expect_found(io, "vv", ID_3);
	wtl_io_free(io);
	unit_rmtree(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_containers),
		cmocka_unit_test(test_units),
		cmocka_unit_test(test_names_of_containers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
