/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit.h"
#include "workload/groups.h"

#define ID	  "3f1c0a5b7d2e4f6081a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d5e6f708"
#define UID	  "0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9"
#define MANAGER	  "/user.slice/user-1000.slice/user@1000.service"
#define UID_SLICE "0a1b2c3d_4e5f_6071_8293_a4b5c6d7e8f9"

static const struct {
	const char *text, *cgroup, *unit, *container, *pod, *job;
} cases[] = {
	/* systemd */
	{"0::/\n", "/", "", "", "", ""},
	{"3:cpu:/a\n0::/\n", "/a", "", "", "", ""},
	{"0::/init.scope\n", "/init.scope", "init.scope", "", "", ""},
	{"0::/system.slice/ssh.service\n", "/system.slice/ssh.service", "ssh.service", "", "", ""},
	{"0::/user.slice/user-1000.slice/session-3.scope\n",
	 "/user.slice/user-1000.slice/session-3.scope", "session-3.scope", "", "", ""},
	{"0::/user.slice/user-1000.slice/user@1000.service/app.slice/app-firefox-1234.scope\n",
	 "/user.slice/user-1000.slice/user@1000.service/app.slice/app-firefox-1234.scope",
	 "app-firefox-1234.scope", "", "", ""},
	{"0::/user.slice/user-1000.slice/user@1000.service/init.scope\n",
	 "/user.slice/user-1000.slice/user@1000.service/init.scope", "init.scope", "", "", ""},
	{"0::/system.slice/foo.service/payload\n", "/system.slice/foo.service/payload",
	 "foo.service", "", "", ""},
	/* docker */
	{"0::/system.slice/docker-" ID ".scope\n", "/system.slice/docker-" ID ".scope", "",
	 "docker/3f1c0a5b7d2e", "", ""},
	{"0::/docker/" ID "\n", "/docker/" ID, "", "docker/3f1c0a5b7d2e", "", ""},
	{"0::/buildkit/" ID "\n", "/buildkit/" ID, "", "docker/3f1c0a5b7d2e", "", ""},
	{"0::/libpod/" ID "\n", "/libpod/" ID, "", "podman/3f1c0a5b7d2e", "", ""},
	{"0::/libpod_parent/" ID "\n", "/libpod_parent/" ID, "", "podman/3f1c0a5b7d2e", "", ""},
	{"12:memory:/docker/" ID "\n11:cpu,cpuacct:/docker/" ID "\n1:name=systemd:/docker/" ID
	 "\n0::/system.slice/containerd.service\n",
	 "/docker/" ID, "", "docker/3f1c0a5b7d2e", "", ""},
	/* podman */
	{"0::/machine.slice/libpod-" ID ".scope/container\n",
	 "/machine.slice/libpod-" ID ".scope/container", "", "podman/3f1c0a5b7d2e", "", ""},
	{"0::/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" ID ".scope\n",
	 "/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" ID ".scope", "",
	 "podman/3f1c0a5b7d2e", "", ""},
	{"0::/libpod_parent/libpod-" ID "\n", "/libpod_parent/libpod-" ID, "",
	 "podman/3f1c0a5b7d2e", "", ""},
	/* … of a user, as crun has it, in a pod of podman's, and with systemd in it */
	{"0::" MANAGER "/user.slice/libpod-" ID ".scope/container\n",
	 MANAGER "/user.slice/libpod-" ID ".scope/container", "", "podman/3f1c0a5b7d2e", "", ""},
	{"0::" MANAGER "/user.slice/user-libpod_pod_" ID ".slice/libpod-" ID ".scope/container\n",
	 MANAGER "/user.slice/user-libpod_pod_" ID ".slice/libpod-" ID ".scope/container", "",
	 "podman/3f1c0a5b7d2e", "", ""},
	{"0::" MANAGER "/user.slice/libpod-" ID ".scope/container/system.slice/httpd.service\n",
	 MANAGER "/user.slice/libpod-" ID ".scope/container/system.slice/httpd.service",
	 "httpd.service", "podman/3f1c0a5b7d2e", "", ""},
	/* … as a unit (--cgroups=split, quadlets), whose monitor and network are beside it */
	{"0::/system.slice/nginx.service/libpod-payload-" ID "\n",
	 "/system.slice/nginx.service/libpod-payload-" ID, "nginx.service", "podman/3f1c0a5b7d2e",
	 "", ""},
	{"0::" MANAGER "/app.slice/redis.service/libpod-payload-" ID "\n",
	 MANAGER "/app.slice/redis.service/libpod-payload-" ID, "redis.service",
	 "podman/3f1c0a5b7d2e", "", ""},
	{"0::" MANAGER "/app.slice/redis.service/runtime\n",
	 MANAGER "/app.slice/redis.service/runtime", "redis.service", "", "", ""},
	{"0::" MANAGER "/app.slice/redis.service/libpod-payload-beef\n",
	 MANAGER "/app.slice/redis.service/libpod-payload-beef", "redis.service", "", "", ""},
	/* Its monitor is no container, nor is what it runs for itself. */
	{"0::" MANAGER "/user.slice/libpod-conmon-" ID ".scope\n",
	 MANAGER "/user.slice/libpod-conmon-" ID ".scope", "libpod-conmon-" ID ".scope", "", "",
	 ""},
	{"0::/libpod_parent/conmon\n", "/libpod_parent/conmon", "", "", "", ""},
	{"0::" MANAGER "/user.slice/podman-239302.scope\n",
	 MANAGER "/user.slice/podman-239302.scope", "podman-239302.scope", "", "", ""},
	{"0::/machine.slice/libpod-conmon-" ID ".scope\n",
	 "/machine.slice/libpod-conmon-" ID ".scope", "libpod-conmon-" ID ".scope", "", "", ""},
	/* Kubernetes, as systemd and as cgroupfs spell it */
	{"0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" UID_SLICE
	 ".slice/cri-containerd-" ID ".scope\n",
	 "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" UID_SLICE
	 ".slice/cri-containerd-" ID ".scope",
	 "", "containerd/3f1c0a5b7d2e", UID, ""},
	{"0::/kubepods.slice/kubepods-pod" UID_SLICE ".slice/crio-" ID ".scope\n",
	 "/kubepods.slice/kubepods-pod" UID_SLICE ".slice/crio-" ID ".scope", "",
	 "crio/3f1c0a5b7d2e", UID, ""},
	{"4:memory:/kubepods/besteffort/pod" UID "/" ID "\n", "/kubepods/besteffort/pod" UID "/" ID,
	 "", "containerd/3f1c0a5b7d2e", UID, ""},
	{"0::/kubepods/pod" UID "/" ID "\n", "/kubepods/pod" UID "/" ID, "",
	 "containerd/3f1c0a5b7d2e", UID, ""},
	/* … of version 1, and as a container sees another pod that has control groups of its own */
	{"11:memory:/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod" UID_SLICE
	 ".slice/crio-" ID ".scope\n1:name=systemd:/\n",
	 "/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod" UID_SLICE
	 ".slice/crio-" ID ".scope",
	 "", "crio/3f1c0a5b7d2e", UID, ""},
	{"9:cpu,cpuacct:/kubepods.slice/kubepods-pod" UID_SLICE ".slice/cri-containerd-" ID
	 ".scope\n",
	 "/kubepods.slice/kubepods-pod" UID_SLICE ".slice/cri-containerd-" ID ".scope", "",
	 "containerd/3f1c0a5b7d2e", UID, ""},
	{"0::/../../kubepods-burstable-pod" UID_SLICE ".slice/cri-containerd-" ID ".scope\n",
	 "/../../kubepods-burstable-pod" UID_SLICE ".slice/cri-containerd-" ID ".scope", "",
	 "containerd/3f1c0a5b7d2e", UID, ""},
	{"0::/../../pod" UID "/" ID "\n", "/../../pod" UID "/" ID, "", "containerd/3f1c0a5b7d2e",
	 UID, ""},
	{"7:pids:/system.slice/docker-" ID ".scope\n", "/system.slice/docker-" ID ".scope", "",
	 "docker/3f1c0a5b7d2e", "", ""},
	{"7:pids:/machine.slice/libpod-" ID ".scope\n", "/machine.slice/libpod-" ID ".scope", "",
	 "podman/3f1c0a5b7d2e", "", ""},
	/* Whatever else is in its name. */
	{"0::/kubepods.slice/kubepods-post-pod" UID_SLICE ".slice/crio-" ID ".scope\n",
	 "/kubepods.slice/kubepods-post-pod" UID_SLICE ".slice/crio-" ID ".scope", "",
	 "crio/3f1c0a5b7d2e", UID, ""},
	/* A static one, of the node's own. */
	{"0::/kubepods/pod0123456789abcdef0123456789abcdef/" ID "\n",
	 "/kubepods/pod0123456789abcdef0123456789abcdef/" ID, "", "containerd/3f1c0a5b7d2e",
	 "0123456789abcdef0123456789abcdef", ""},
	/* No pods. */
	{"0::/podium/x\n", "/podium/x", "", "", "", ""},
	{"0::/pod0123456789abcdef0123456789abcdez/x\n", "/pod0123456789abcdef0123456789abcdez/x",
	 "", "", "", ""},
	/* lxc */
	{"0::/lxc.payload/web\n", "/lxc.payload/web", "", "lxc/web", "", ""},
	{"0::/lxc.payload.web/init.scope\n", "/lxc.payload.web/init.scope", "", "lxc/web", "", ""},
	{"5:cpu:/lxc/db1\n", "/lxc/db1", "", "lxc/db1", "", ""},
	{"0::/lxc.monitor.web\n", "/lxc.monitor.web", "", "", "", ""},
	/* Seen of Docker 20.10.24: run --cgroup-parent /team/a; and from a container that has a control
	 * group namespace of its own. Of containerd 1.6.20: /NAMESPACE/ID. */
	{"4:memory:/team/a/" ID "\n0::/team/a/" ID "\n", "/team/a/" ID, "",
	 "container/3f1c0a5b7d2e", "", ""},
	{"0::/../" ID "\n", "/../" ID, "", "container/3f1c0a5b7d2e", "", ""},
	{"0::/moby2/" ID "\n", "/moby2/" ID, "", "container/3f1c0a5b7d2e", "", ""},
	{"0::/moby2/" ID "0\n", "/moby2/" ID "0", "", "", "", ""},
	/* Of systemd 252: a zombie's scope that was removed meanwhile. */
	{"1:cpu:/\n0::/payload/system.slice/zs.scope (deleted)\n", "/payload/system.slice/zs.scope",
	 "zs.scope", "", "", ""},
	/* Slurm */
	{"0::/system.slice/slurmstepd.scope/job_1234/step_0/user/task_0\n",
	 "/system.slice/slurmstepd.scope/job_1234/step_0/user/task_0", "slurmstepd.scope", "", "",
	 "slurm/1234"},
	{"0::/system.slice/node1_slurmstepd.scope/job_7/step_batch/user/task_special\n",
	 "/system.slice/node1_slurmstepd.scope/job_7/step_batch/user/task_special",
	 "node1_slurmstepd.scope", "", "", "slurm/7"},
	{"8:cpuset:/slurm/uid_1000/job_99/step_extern\n1:name=systemd:/system.slice/slurmd.service\n",
	 "/slurm/uid_1000/job_99/step_extern", "slurmd.service", "", "", "slurm/99"},
	{"8:memory:/slurm_node7/uid_1000/job_98\n", "/slurm_node7/uid_1000/job_98", "", "", "",
	 "slurm/98"},
	{"0::/jobs/job_5\n", "/jobs/job_5", "", "", "", ""},
	{"0::/slurm/uid_1/job_x1\n", "/slurm/uid_1/job_x1", "", "", "", ""},
	/* Both versions: the one that tells more. */
	{"2:cpu:/\n1:name=systemd:/system.slice/cron.service\n0::/system.slice/cron.service\n",
	 "/system.slice/cron.service", "cron.service", "", "", ""},
	{"1:name=systemd:/system.slice/cron.service\n0::/\n", "/system.slice/cron.service",
	 "cron.service", "", "", ""},
	{"4:memory:/some/where\n3:cpu:/\n0::/\n", "/some/where", "", "", "", ""},
	{"4:memory:/some/where\n0::/else\n", "/else", "", "", "", ""},
	{"4:memory:/a.service\n3:cpu:/b.service\n0::/\n", "/a.service", "a.service", "", "", ""},
	/* Names from outside, without a last newline, and with colons. */
	{"0::/a:b/\033[31mx.service", "/a:b/?[31mx.service", "?[31mx.service", "", "", ""},
	{"rubbish\n0::/ok\n", "/ok", "", "", "", ""},
};

static void test_parse(void **state)
{
	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
		struct wtl_group group;

		if (wtl_group_parse(cases[i].text, strlen(cases[i].text), &group) != 0)
			fail_msg("%s", cases[i].text);
		assert_string_equal(group.cgroup, cases[i].cgroup);
		assert_string_equal(group.unit, cases[i].unit);
		assert_string_equal(group.container, cases[i].container);
		assert_string_equal(group.pod, cases[i].pod);
		assert_string_equal(group.job, cases[i].job);
	}
}

static void test_steps(void **state)
{
	static const struct {
		const char *text, *step;
	} given[] = {
		/* Slurm with control groups of version 2, and of version 1 */
		{"0::/system.slice/slurmstepd.scope/job_12/step_0/user/task_3\n", "0"},
		{"0::/system.slice/node1_slurmstepd.scope/job_7/step_batch/slurm\n", "batch"},
		{"0::/system.slice/slurmstepd.scope/job_12/step_interactive\n", "interactive"},
		{"8:cpuset:/slurm/uid_1000/job_99/step_extern\n1:name=systemd:/a.service\n",
		 "extern"},
		{"6:freezer:/slurm/uid_1000/job_99/step_17/task_0\n5:memory:/\n", "17"},
		{"6:freezer:/slurm/uid_1000/job_99\n", ""},
		{"0::/system.slice/slurmstepd.scope/job_12/step_\n", ""},
		/* Of no job, and longer than any step's name */
		{"0::/jobs/step_5\n", ""},
		{"0::/slurm/job_1/step_0123456789abcdef\n", ""},
	};

	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(given); i++) {
		struct wtl_group group;

		assert_int_equal(wtl_group_parse(given[i].text, strlen(given[i].text), &group), 0);
		if (strcmp(group.step, given[i].step) != 0)
			fail_msg("%s: '%s'", given[i].text, group.step);
	}
}

static void test_rubbish(void **state)
{
	static const char *const bad[] = {
		"", "\n\n", "0", "0:", "0::", "0:x", "::", "0::relative", "x/y/z"};
	struct wtl_group group;

	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(bad); i++) {
		/* Nothing lies behind it. */
		char *text = malloc(strlen(bad[i]) + (bad[i][0] == '\0'));

		assert_non_null(text);
		memcpy(text, bad[i], strlen(bad[i]));
		assert_int_equal(wtl_group_parse(text, strlen(bad[i]), &group), -EINVAL);
		free(text);
	}
}

/* Unused bytes are 0, so that equal groups are equal as bytes. */
static void test_equal_bytes(void **state)
{
	static const char text[] = "0::/x.slice/y.service\n";
	struct wtl_group one, other;

	(void)state;
	memset(&one, 0x55, sizeof(one));
	memset(&other, 0xaa, sizeof(other));
	assert_int_equal(wtl_group_parse(text, strlen(text), &one), 0);
	assert_int_equal(wtl_group_parse(text, strlen(text), &other), 0);
	assert_memory_equal(&one, &other, sizeof(one));
}

static void test_long(void **state)
{
	char text[4096];
	struct wtl_group group;

	(void)state;
	memset(text, 'a', sizeof(text));
	memcpy(text, "0::/", 4);
	memcpy(text + sizeof(text) - 8, ".service", 8);
	assert_int_equal(wtl_group_parse(text, sizeof(text), &group), 0);
	assert_int_equal(strlen(group.cgroup), sizeof(group.cgroup) - 1);
	assert_int_equal(strlen(group.unit), sizeof(group.unit) - 1);
}

static void test_intern(void **state)
{
	struct wtl_groups *groups = wtl_groups_new();
	const struct wtl_group *first = NULL;

	(void)state;
	assert_non_null(groups);
	for (int round = 0; round < 2; round++)
		for (int i = 0; i < 1000; i++) {
			const struct wtl_group *interned;
			struct wtl_group group;
			char text[64];

			snprintf(text, sizeof(text), "0::/a/b%d.service\n", i);
			assert_int_equal(wtl_group_parse(text, strlen(text), &group), 0);
			interned = wtl_groups_intern(groups, &group);
			assert_non_null(interned);
			assert_memory_equal(interned, &group, sizeof(group));
			if (i == 0 && round == 0)
				first = interned;
			if (i == 0)
				assert_ptr_equal(interned, first);
		}
	assert_int_equal(wtl_groups_count(groups), 1000);
	assert_string_equal(wtl_groups_at(groups, 999)->unit, "b999.service");
	wtl_groups_free(groups);
	wtl_groups_free(NULL);
}

/* A machine that makes groups without end: memory is bounded, and what is there is still found. */
static void test_too_many(void **state)
{
	struct wtl_groups *groups = wtl_groups_new();
	struct wtl_group group = {.cgroup = "/"}, first;
	unsigned n = 0;

	(void)state;
	for (; n < 100000; n++) {
		snprintf(group.cgroup, sizeof(group.cgroup), "/g%u", n);
		if (n == 0)
			first = group;
		if (!wtl_groups_intern(groups, &group))
			break;
	}
	assert_int_equal(n, WTL_GROUPS_MAX);
	assert_int_equal(wtl_groups_count(groups), n);
	assert_ptr_equal(wtl_groups_intern(groups, &first), wtl_groups_at(groups, 0));
	wtl_groups_free(groups);
}

static const struct wtl_group *intern(struct wtl_groups *groups, unsigned number)
{
	struct wtl_group group = {.cgroup = ""};

	snprintf(group.cgroup, sizeof(group.cgroup), "/g%u", number);
	return wtl_groups_intern(groups, &group);
}

/* What is in use stays what and where it is, and the rest makes room. */
static void test_sweep(void **state)
{
	struct wtl_groups *groups = wtl_groups_new();
	const struct wtl_group *used[400], *kept[100];

	(void)state;
	wtl_groups_sweep(groups, used, 0);
	assert_int_equal(wtl_groups_count(groups), 0);
	for (unsigned i = 0; i < WTL_GROUPS_MAX; i++)
		assert_non_null(intern(groups, i));
	assert_null(intern(groups, WTL_GROUPS_MAX));
	/* Each four times, and in no order. */
	for (unsigned i = 0; i < 400; i++)
		used[i] = kept[i * 7 % 100] = intern(groups, i * 7 % 100 * 50);
	wtl_groups_sweep(groups, used, 400);
	assert_int_equal(wtl_groups_count(groups), 100);
	for (unsigned i = 0; i < 100; i++) {
		assert_ptr_equal(wtl_groups_at(groups, i), kept[i]);
		assert_ptr_equal(intern(groups, i * 50), kept[i]);
	}
	for (unsigned i = 100; i < WTL_GROUPS_MAX; i++)
		assert_non_null(intern(groups, WTL_GROUPS_MAX + i));
	assert_null(intern(groups, 2 * WTL_GROUPS_MAX));
	wtl_groups_sweep(groups, used, 0);
	assert_int_equal(wtl_groups_count(groups), 0);
	assert_non_null(intern(groups, 0));
	wtl_groups_free(groups);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parse),	 cmocka_unit_test(test_steps),
		cmocka_unit_test(test_rubbish),	 cmocka_unit_test(test_equal_bytes),
		cmocka_unit_test(test_long),	 cmocka_unit_test(test_intern),
		cmocka_unit_test(test_too_many), cmocka_unit_test(test_sweep),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
