/* SPDX-License-Identifier: MIT */
/* Control groups as they are made: every runtime below every parent, and what is told of each. */
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "workload/groups.h"

static uint64_t random_next(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

/* n hexadecimal digits and a NUL. */
static void make_hex(uint64_t *random, char *to, size_t n)
{
	for (size_t i = 0; i < n; i++)
		to[i] = "0123456789abcdef"[random_next(random) % 16];
	to[n] = '\0';
}

/* A UID, with that between its parts. */
static void make_uid(uint64_t *random, char to[37], char between)
{
	make_hex(random, to, 36);
	to[8] = to[13] = to[18] = to[23] = between;
}

static void parse(const char *text, struct wtl_group *group)
{
	memset(group, 0xff, sizeof(*group));
	if (wtl_group_parse(text, strlen(text), group) != 0)
		fail_msg("not parsed: %s", text);
}

static void assert_group(const char *text, const char *unit, const char *container, const char *pod,
			 const char *job)
{
	struct wtl_group group;

	parse(text, &group);
	if (strcmp(group.unit, unit) != 0 || strcmp(group.container, container) != 0 ||
	    strcmp(group.pod, pod) != 0 || strcmp(group.job, job) != 0)
		fail_msg("%s: unit '%s', container '%s', pod '%s', job '%s'", text, group.unit,
			 group.container, group.pod, group.job);
}

/* Scopes of container runtimes, wherever systemd puts them. */
static void test_scopes(void **state)
{
	static const struct {
		const char *prefix, *kind;
	} runtimes[] = {
		{"docker-", "docker"},	    {"libpod-", "podman"},
		{"crio-", "crio"},	    {"cri-containerd-", "containerd"},
		{"nerdctl-", "containerd"}, {"containerd-", "containerd"},
	};
	static const char *const parents[] = {
		"/system.slice/",
		"/machine.slice/",
		"/",
		"/user.slice/user-1000.slice/user@1000.service/user.slice/",
	};
	static const char *const below[] = {"", "/container", "/init.scope", "/a/b/c"};
	uint64_t random = 1;

	(void)state;
	for (size_t r = 0; r < UNIT_COUNT(runtimes); r++)
		for (size_t p = 0; p < UNIT_COUNT(parents); p++)
			for (size_t b = 0; b < UNIT_COUNT(below); b++) {
				char id[65], text[512], container[80];

				make_hex(&random, id, 64);
				snprintf(text, sizeof(text), "0::%s%s%s.scope%s\n", parents[p],
					 runtimes[r].prefix, id, below[b]);
				snprintf(container, sizeof(container), "%s/%.12s", runtimes[r].kind,
					 id);
				assert_group(text, "", container, "", "");
			}
}

/* A number has at least 32 digits; names that only look like one are units. */
static void test_short_numbers(void **state)
{
	uint64_t random = 2;

	(void)state;
	for (size_t n = 1; n < 32; n++) {
		char id[65], text[256], unit[96];

		make_hex(&random, id, n);
		snprintf(text, sizeof(text), "0::/system.slice/docker-%s.scope\n", id);
		snprintf(unit, sizeof(unit), "docker-%s.scope", id);
		assert_group(text, unit, "", "", "");
		snprintf(text, sizeof(text), "0::/docker/%s\n", id);
		assert_group(text, "", "", "", "");
	}
}

/* Pods in both spellings, in each class of service, with each runtime below. */
static void test_pods(void **state)
{
	static const char *const classes[] = {"", "burstable", "besteffort"};
	uint64_t random = 3;

	(void)state;
	for (int round = 0; round < 50; round++)
		for (size_t c = 0; c < UNIT_COUNT(classes); c++) {
			char uid[37], slice_uid[37], id[65], text[1024], container[80];
			const char *dash = classes[c][0] ? "-" : "",
				   *slash = classes[c][0] ? "/" : "";

			make_uid(&random, uid, '-');
			memcpy(slice_uid, uid, sizeof(uid));
			for (char *at = slice_uid; *at; at++)
				*at = *at == '-' ? '_' : *at;
			make_hex(&random, id, 64);
			snprintf(container, sizeof(container), "containerd/%.12s", id);
			snprintf(text, sizeof(text), "0::/kubepods%s%s/pod%s/%s\n", slash,
				 classes[c], uid, id);
			assert_group(text, "", container, uid, "");
			snprintf(text, sizeof(text),
				 "0::/kubepods.slice/kubepods%s%s.slice/kubepods%s%s-pod%s.slice/"
				 "cri-containerd-%s.scope\n",
				 dash, classes[c], dash, classes[c], slice_uid, id);
			assert_group(text, "", container, uid, "");
			/* Processes of the pod itself are in no container. */
			snprintf(text, sizeof(text), "0::/kubepods%s%s/pod%s\n", slash, classes[c],
				 uid);
			assert_group(text, "", "", uid, "");
		}
}

/* One character that is none of a UID's, anywhere in it, and it is no pod. */
static void test_no_pods(void **state)
{
	uint64_t random = 4;

	(void)state;
	for (size_t at = 0; at < 36; at++) {
		char uid[37], text[256];

		make_uid(&random, uid, '-');
		uid[at] = 'z';
		snprintf(text, sizeof(text), "0::/kubepods/pod%s\n", uid);
		assert_group(text, "", "", "", "");
	}
}

static void test_jobs(void **state)
{
	static const char *const above[] = {
		"/slurm/uid_1000/",
		"/slurm_node17/uid_0/",
		"/system.slice/slurmstepd.scope/",
		"/system.slice/node9_slurmstepd.scope/",
	};
	static const char *const below[] = {"", "/step_0", "/step_batch/user/task_0",
					    "/step_extern/user/task_special"};
	static const char *const bad[] = {
		"job_", "job_x", "job_1x", "job_-1", "job", "job_12345678901234567890", "jobs_1"};
	uint64_t random = 5;

	(void)state;
	for (size_t a = 0; a < UNIT_COUNT(above); a++) {
		const char *unit =
			strstr(above[a], "slurmstepd.scope") ? strrchr(above[a], '/') : "";
		char name[96] = "";

		/* The scope is the unit. */
		if (*unit) {
			const char *begin = above[a] + strlen("/system.slice/");

			snprintf(name, sizeof(name), "%.*s", (int)(unit - begin), begin);
		}
		for (size_t b = 0; b < UNIT_COUNT(below); b++) {
			uint64_t number = random_next(&random) % 100000000;
			char text[256], job[64];

			snprintf(text, sizeof(text), "0::%sjob_%llu%s\n", above[a],
				 (unsigned long long)number, below[b]);
			snprintf(job, sizeof(job), "slurm/%llu", (unsigned long long)number);
			assert_group(text, name, "", "", job);
			snprintf(text, sizeof(text), "0::/elsewhere/job_%llu%s\n",
				 (unsigned long long)number, below[b]);
			assert_group(text, "", "", "", "");
		}
		for (size_t i = 0; i < UNIT_COUNT(bad); i++) {
			char text[256];

			snprintf(text, sizeof(text), "0::%s%s\n", above[a], bad[i]);
			assert_group(text, name, "", "", "");
		}
	}
}

/* Hierarchies of version 1 in any order: the one that tells most wins, and the others add what they know. */
static void test_any_order(void **state)
{
	enum { LINES = 5 };
	static const char *const lines[LINES] = {
		"12:cpuset:/\n",
		("8:memory:/docker/"
		 "aaaabbbbccccddddeeeeffff0000111122223333444455556666777788889999\n"),
		"4:cpu,cpuacct:/slurm/uid_7/job_31\n",
		"1:name=systemd:/system.slice/docker.service\n",
		"0::/\n",
	};
	unsigned order[LINES];

	(void)state;
	for (unsigned n = 0; n < 3125; n++) {
		char text[1024] = "";
		unsigned seen = 0, code = n;

		for (unsigned i = 0; i < LINES; i++, code /= LINES) {
			order[i] = code % LINES;
			seen |= 1u << order[i];
		}
		if (seen != (1u << LINES) - 1)
			continue;
		for (unsigned i = 0; i < LINES; i++)
			strcat(text, lines[order[i]]);
		{
			struct wtl_group group;

			parse(text, &group);
			assert_string_equal(group.container, "docker/aaaabbbbcccc");
			assert_string_equal(group.job, "slurm/31");
			assert_int_equal(strncmp(group.cgroup, "/docker/", 8), 0);
		}
	}
}

/* Whatever the text is: it is refused, or the result is printable and ended, and the same each time. */
static void test_any_text(void **state)
{
	static const char *const pieces[] = {"0::",
					     "1:name=systemd:",
					     "/",
					     "docker-",
					     "pod",
					     "kubepods",
					     ".slice",
					     ".scope",
					     "\n",
					     ":",
					     "lxc",
					     "slurm",
					     "job_",
					     "1234",
					     "\xff",
					     "\x1b[2J",
					     "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
					     "-pod",
					     "service",
					     "libpod_parent",
					     "user@1000.service"};
	uint64_t random = 6;

	(void)state;
	for (int round = 0; round < 20000; round++) {
		char text[2048] = "";
		struct wtl_group one, two;
		size_t n = random_next(&random) % 30;
		int rc;

		for (size_t i = 0; i < n; i++)
			strcat(text, pieces[random_next(&random) % UNIT_COUNT(pieces)]);
		memset(&one, 0xaa, sizeof(one));
		memset(&two, 0x55, sizeof(two));
		rc = wtl_group_parse(text, strlen(text), &one);
		assert_int_equal(wtl_group_parse(text, strlen(text), &two), rc);
		if (rc < 0) {
			assert_int_equal(rc, -EINVAL);
			continue;
		}
		/* Unused bytes are 0: groups can be compared as memory. */
		assert_memory_equal(&one, &two, sizeof(one));
		assert_int_equal(one.cgroup[0], '/');
		for (const char *at = one.cgroup; *at; at++)
			assert_true((unsigned char)*at >= ' ' && *at != 0x7f);
		for (const char *at = one.unit; *at; at++)
			assert_true((unsigned char)*at >= ' ' && *at != 0x7f);
	}
}

/* Interned groups are the same pointer if, and only if, they are equal. */
static void test_interned(void **state)
{
	enum { N = 300, ROUNDS = 5000 };
	struct wtl_groups *groups = wtl_groups_new();
	const struct wtl_group *first[N] = {NULL};
	uint64_t random = 7;
	size_t n_first = 0;

	(void)state;
	assert_non_null(groups);
	for (int round = 0; round < ROUNDS; round++) {
		unsigned which = (unsigned)(random_next(&random) % N);
		const struct wtl_group *found;
		struct wtl_group group;
		char text[128];

		snprintf(text, sizeof(text), "0::/system.slice/unit-%u.service\n", which);
		parse(text, &group);
		found = wtl_groups_intern(groups, &group);
		assert_non_null(found);
		assert_memory_equal(found, &group, sizeof(group));
		if (first[which]) {
			assert_ptr_equal(found, first[which]);
			continue;
		}
		for (unsigned i = 0; i < N; i++)
			assert_ptr_not_equal(found, first[i]);
		first[which] = found;
		n_first++;
		assert_int_equal(wtl_groups_count(groups), n_first);
		assert_ptr_equal(wtl_groups_at(groups, n_first - 1), found);
	}
	wtl_groups_free(groups);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_scopes),	 cmocka_unit_test(test_short_numbers),
		cmocka_unit_test(test_pods),	 cmocka_unit_test(test_no_pods),
		cmocka_unit_test(test_jobs),	 cmocka_unit_test(test_any_order),
		cmocka_unit_test(test_any_text), cmocka_unit_test(test_interned),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
