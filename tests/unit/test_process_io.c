/* SPDX-License-Identifier: MIT */
/* Process CPU times, exits and file writing of the real machine and of a root. */
#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <linux/taskstats.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/sparse.h"

#include "unit.h"

struct fixture {
	char *dir;
	struct wtl_io *io;	/* below dir */
	struct wtl_io *machine; /* this one */
};

static int setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	assert_non_null(fixture);
	fixture->dir = unit_tmpdir();
	assert_int_equal(wtl_io_real_new(fixture->dir, &fixture->io, NULL), 0);
	assert_int_equal(wtl_io_real_new(NULL, &fixture->machine, NULL), 0);
	*state = fixture;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;

	wtl_io_free(fixture->io);
	wtl_io_free(fixture->machine);
	unit_rmtree(fixture->dir);
	free(fixture);
	return 0;
}

static int64_t own_cpu_ns(clockid_t clock)
{
	struct timespec now;

	assert_int_equal(clock_gettime(clock, &now), 0);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void burn(clockid_t clock, int64_t ns)
{
	int64_t until = own_cpu_ns(clock) + ns;

	while (own_cpu_ns(clock) < until)
		;
}

static void *burn_thread(void *context)
{
	(void)context;
	burn(CLOCK_THREAD_CPUTIME_ID, 2000000);
	return NULL;
}

static void test_cpu_of_this_machine(void **state)
{
	const struct fixture *fixture = *state;
	struct wtl_io *io = fixture->machine;
	int pids[] = {getpid(), 0, -1, getppid(), 0x7fffffff, 1 << 28, 1 << 22, getpid()};
	int64_t cpu_ns[UNIT_COUNT(pids)], before, after;
	pthread_t thread;

	before = own_cpu_ns(CLOCK_PROCESS_CPUTIME_ID);
	assert_int_equal(wtl_io_process_cpu(io, pids, cpu_ns, UNIT_COUNT(pids)), 0);
	after = own_cpu_ns(CLOCK_PROCESS_CPUTIME_ID);
	assert_true(before <= cpu_ns[0] && cpu_ns[0] <= cpu_ns[7] && cpu_ns[7] <= after);
	/* 0 is no way to ask for ourselves. */
	assert_int_equal(cpu_ns[1], -ESRCH);
	assert_int_equal(cpu_ns[2], -ESRCH);
	assert_true(cpu_ns[3] >= 0);
	for (int i = 4; i < 7; i++)
		assert_int_equal(cpu_ns[i], -ESRCH);
	/* Threads that have ended count. */
	assert_int_equal(pthread_create(&thread, NULL, burn_thread, NULL), 0);
	pthread_join(thread, NULL);
	assert_int_equal(wtl_io_process_cpu(io, pids, cpu_ns, 1), 0);
	assert_true(cpu_ns[0] >= after + 2000000);
	assert_int_equal(wtl_io_process_cpu(io, NULL, NULL, 0), 0);
}

/* A child is there, also as a zombie, until somebody waits for it. */
static void test_cpu_of_a_child(void **state)
{
	const struct fixture *fixture = *state;
	siginfo_t info;
	int64_t cpu_ns = 0;
	pid_t child = fork();

	if (child == 0) {
		burn(CLOCK_PROCESS_CPUTIME_ID, 3000000);
		_exit(0);
	}
	assert_true(child > 0);
	assert_int_equal(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
	assert_int_equal(wtl_io_process_cpu(fixture->machine, &child, &cpu_ns, 1), 0);
	assert_true(cpu_ns >= 3000000);
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_int_equal(wtl_io_process_cpu(fixture->machine, &child, &cpu_ns, 1), 0);
	assert_int_equal(cpu_ns, -ESRCH);
}

static void test_cpu_of_a_root(void **state)
{
	const struct fixture *fixture = *state;
	const int pids[] = {5, 7, getpid(), 6, 8, 9, 0, 10};
	int64_t cpu_ns[UNIT_COUNT(pids)] = {1};

	assert_int_equal(wtl_io_process_cpu(fixture->io, pids, cpu_ns, 1), -EOPNOTSUPP);
	assert_int_equal(cpu_ns[0], 1);
	unit_write(fixture->dir, "/wattle-cpu/5", "123456789012\n");
	unit_write(fixture->dir, "/wattle-cpu/6", "0");
	unit_write(fixture->dir, "/wattle-cpu/7", "!errno EACCES\n");
	unit_write(fixture->dir, "/wattle-cpu/8", "-1\n");
	unit_write(fixture->dir, "/wattle-cpu/9", "9223372036854775808\n");
	unit_symlink(fixture->dir, "/wattle-cpu/10", "/proc/self/sessionid");
	assert_int_equal(wtl_io_process_cpu(fixture->io, pids, cpu_ns, UNIT_COUNT(pids)), 0);
	assert_true(cpu_ns[0] == 123456789012);
	assert_int_equal(cpu_ns[1], -EACCES);
	assert_int_equal(cpu_ns[2], -ESRCH);
	assert_int_equal(cpu_ns[3], 0);
	assert_int_equal(cpu_ns[4], -EINVAL);
	assert_int_equal(cpu_ns[5], -ERANGE);
	assert_int_equal(cpu_ns[6], -ESRCH);
	assert_int_equal(cpu_ns[7], -ESRCH);
}

/* What an exit record of a kernel says. */
struct exit_record {
	int pid; /* of the PID part; 0: none was found */
	uint64_t run_ns;
};

static void stats_take(const unsigned char *at, size_t len, struct exit_record *ret)
{
	struct nlattr attribute;

	for (size_t next; len >= sizeof(attribute); at += next, len -= next) {
		memcpy(&attribute, at, sizeof(attribute));
		next = (attribute.nla_len + 3u) & ~3u;
		assert_true(attribute.nla_len >= sizeof(attribute) && next <= len);
		if (attribute.nla_type == TASKSTATS_TYPE_PID)
			memcpy(&ret->pid, at + sizeof(attribute), sizeof(ret->pid));
		else if (attribute.nla_type == TASKSTATS_TYPE_STATS && ret->run_ns == 0)
			memcpy(&ret->run_ns,
			       at + sizeof(attribute) +
				       offsetof(struct taskstats, cpu_run_virtual_total),
			       sizeof(ret->run_ns));
	}
}

static struct exit_record exit_take(const unsigned char *datagram, size_t len)
{
	size_t at = sizeof(struct nlmsghdr) + sizeof(struct genlmsghdr);
	struct exit_record record = {0};
	struct nlmsghdr header;
	struct nlattr attribute;

	assert_true(len > at + sizeof(attribute));
	memcpy(&header, datagram, sizeof(header));
	assert_int_equal(header.nlmsg_len, len);
	memcpy(&attribute, datagram + at, sizeof(attribute));
	assert_int_equal(attribute.nla_type & NLA_TYPE_MASK, TASKSTATS_TYPE_AGGR_PID);
	stats_take(datagram + at + sizeof(attribute), attribute.nla_len - sizeof(attribute),
		   &record);
	return record;
}

/* Opens, or skips the test and says why. */
static int exits_open_or_skip(struct wtl_io *io)
{
	int file = wtl_io_exits_open(io);

	if (file == -EPERM || file == -EOPNOTSUPP) {
		print_message("taskstats: %s, so this is not tested here\n", strerror(-file));
		skip();
	}
	assert_return_code(file, -file);
	return file;
}

/* The child's record, which is there once it has been waited for. */
static struct exit_record exit_of_child(struct wtl_io *io, int file, int64_t burn_ns)
{
	unsigned char datagram[WTL_EXIT_MAX];
	pid_t child = fork();
	ssize_t len;

	if (child == 0) {
		burn(CLOCK_PROCESS_CPUTIME_ID, burn_ns);
		_exit(0);
	}
	assert_int_equal(waitpid(child, NULL, 0), child);
	while ((len = wtl_io_exits_read(io, file, datagram, sizeof(datagram))) > 0) {
		struct exit_record record = exit_take(datagram, (size_t)len);

		if (record.pid == child)
			return record;
	}
	fail_msg("no record of the child: %zd", len);
	return (struct exit_record){0};
}

static void test_exits_of_this_machine(void **state)
{
	const struct fixture *fixture = *state;
	struct wtl_io *io = fixture->machine;
	int file = exits_open_or_skip(io);
	unsigned char datagram[WTL_EXIT_MAX];
	struct exit_record record = exit_of_child(io, file, 2500000);

	assert_true(record.run_ns >= 2500000 && record.run_ns < INT64_C(60000000000));
	/* Never waits. */
	while (wtl_io_exits_read(io, file, datagram, sizeof(datagram)) > 0)
		;
	wtl_io_exits_close(io, file);
	assert_int_equal(wtl_io_exits_read(io, file, datagram, sizeof(datagram)), -EBADF);
	/* Again, twice, and left open. */
	file = wtl_io_exits_open(io);
	assert_true(file >= 0);
	assert_true(wtl_io_exits_open(io) != file);
	assert_true(exit_of_child(io, file, 0).pid > 0);
}

/* Only the first user namespace is told. */
static void test_exits_without_privilege(void **state)
{
	const struct fixture *fixture = *state;
	pid_t child = fork();
	int status;

	if (child == 0) {
		struct rlimit none = {0, 0};

		setrlimit(RLIMIT_CORE, &none);
		if (geteuid() == 0 && (setgid(65534) < 0 || setuid(65534) < 0))
			_exit(99);
		_exit(-wtl_io_exits_open(fixture->machine));
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_true(WEXITSTATUS(status) == EPERM || WEXITSTATUS(status) == EOPNOTSUPP);
}

static int in_namespace(const struct fixture *fixture, int flags)
{
	pid_t child = fork();
	int status;

	if (child == 0)
		_exit(unshare(flags) < 0 ? 99 : -wtl_io_exits_open(fixture->machine));
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 99) {
		print_message("namespaces: not permitted, so this is not tested here\n");
		skip();
	}
	return WEXITSTATUS(status);
}

static void test_exits_in_namespaces(void **state)
{
	int rc = wtl_io_exits_open(((struct fixture *)*state)->machine);

	/* Where they can be had at all, the first namespaces are what it takes. */
	if (rc < 0)
		print_message("taskstats: %s here too\n", strerror(-rc));
	rc = rc == -EOPNOTSUPP ? EOPNOTSUPP : EPERM;
	assert_int_equal(in_namespace(*state, CLONE_NEWNET), rc);
	assert_int_equal(in_namespace(*state, CLONE_NEWUSER), rc);
	assert_int_equal(in_namespace(*state, CLONE_NEWUSER | CLONE_NEWNET), rc);
}

static void test_exits_of_a_root(void **state)
{
	const struct fixture *fixture = *state;
	struct wtl_io *io = fixture->io;
	unsigned char buf[8];
	char *path = unit_path(fixture->dir, "/wattle-exits");
	int file, fd;

	assert_int_equal(wtl_io_exits_open(io), -ENOENT);
	unit_write(fixture->dir, "/wattle-exits", "!errno EPERM\n");
	assert_int_equal(wtl_io_exits_open(io), -EPERM);
	unit_write(fixture->dir, "/wattle-exits",
		   "0102\n\nff(6)01\r\n!errno ENOBUFS\nxyz\n(9)\n03\n04");
	file = wtl_io_exits_open(io);
	assert_int_equal(wtl_io_exits_read(io, file, buf, sizeof(buf)), 2);
	assert_memory_equal(buf, "\1\2", 2);
	assert_int_equal(wtl_io_exits_read(io, file, buf, sizeof(buf)), 8);
	assert_memory_equal(buf, "\xff\0\0\0\0\0\0\1", 8);
	assert_int_equal(wtl_io_exits_read(io, file, buf, sizeof(buf)), -ENOBUFS);
	assert_int_equal(wtl_io_exits_read(io, file, buf, sizeof(buf)), -EINVAL);
	assert_int_equal(wtl_io_exits_read(io, file, buf, sizeof(buf)), -EMSGSIZE);
	assert_int_equal(wtl_io_exits_read(io, file, buf, sizeof(buf)), 1);
	/* A line that is not whole has not come yet. */
	assert_int_equal(wtl_io_exits_read(io, file, buf, sizeof(buf)), 0);
	fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
	assert_int_equal(write(fd, "05\n", 3), 3);
	close(fd);
	assert_int_equal(wtl_io_exits_read(io, file, buf, sizeof(buf)), 2);
	assert_memory_equal(buf, "\4\5", 2);
	assert_int_equal(wtl_io_exits_read(io, file, buf, sizeof(buf)), 0);
	wtl_io_exits_close(io, file);
	wtl_io_exits_close(io, file);
	wtl_io_exits_close(io, -1);
	assert_int_equal(wtl_io_exits_read(io, file, buf, sizeof(buf)), -EBADF);
	assert_int_equal(wtl_io_exits_read(io, 99, buf, sizeof(buf)), -EBADF);
	free(path);
}

static void test_exits_of_a_hostile_root(void **state)
{
	const struct fixture *fixture = *state;
	struct wtl_io *io = fixture->io;
	char *text = malloc(40001);
	unsigned char buf[8];
	int file, opened = 0;

	assert_non_null(text);
	memset(text, '0', 40000);
	memcpy(text + 39996, "\n01\n", 5);
	unit_write(fixture->dir, "/wattle-exits", text);
	file = wtl_io_exits_open(io);
	assert_int_equal(wtl_io_exits_read(io, file, buf, sizeof(buf)), -EMSGSIZE);
	assert_int_equal(wtl_io_exits_read(io, file, buf, sizeof(buf)), -EMSGSIZE);
	assert_int_equal(wtl_io_exits_read(io, file, buf, sizeof(buf)), -EMSGSIZE);
	assert_int_equal(wtl_io_exits_read(io, file, buf, sizeof(buf)), 1);
	assert_int_equal(wtl_io_exits_read(io, file, buf, sizeof(buf)), 0);
	while (wtl_io_exits_open(io) >= 0)
		opened++;
	assert_true(opened > 0 && opened < 100);
	assert_int_equal(wtl_io_exits_open(io), -EMFILE);
	free(text);
}

static void file_is(const struct fixture *fixture, const char *path, const char *expected)
{
	char *text = unit_read(fixture->dir, path);

	assert_non_null(text);
	assert_string_equal(text, expected);
	free(text);
}

static void test_write_below_a_root(void **state)
{
	const struct fixture *fixture = *state;
	struct wtl_io *io = fixture->io;
	char *outside = unit_tmpdir(), *secret = unit_path(outside, "secret");

	unit_write(outside, "secret", "untouched");
	unit_write(fixture->dir, "/sys/power_cap", "300000000\n");
	unit_write(fixture->dir, "/sys/denied", "!errno EPERM\n");
	unit_symlink(fixture->dir, "/sys/link", "/sys/power_cap");
	unit_symlink(fixture->dir, "/sys/out", secret);
	assert_int_equal(wtl_io_file_write(io, "/sys/power_cap", "250\n", 4), 0);
	/* Nothing is left of the longer value. */
	file_is(fixture, "/sys/power_cap", "250\n");
	assert_int_equal(wtl_io_file_write(io, "/sys/link", "400000000\n", 10), 0);
	file_is(fixture, "/sys/power_cap", "400000000\n");
	assert_int_equal(wtl_io_file_write(io, "/sys/denied", "1", 1), -EPERM);
	file_is(fixture, "/sys/denied", "!errno EPERM\n");
	assert_int_equal(wtl_io_file_write(io, "/sys/none", "1", 1), -ENOENT);
	assert_int_equal(wtl_io_file_write(io, "/sys/out", "1", 1), -ENOENT);
	assert_int_equal(wtl_io_file_write(io, "/../../../../../../etc/none", "1", 1), -ENOENT);
	assert_int_equal(wtl_io_file_write(io, "/sys", "1", 1), -EISDIR);
	assert_int_equal(wtl_io_file_write(io, "sys/power_cap", "1", 1), -EINVAL);
	assert_int_equal(unit_entries(fixture->dir, "/sys"), 4);
	file_is(&(struct fixture){.dir = outside}, "secret", "untouched");
	free(secret);
	unit_rmtree(outside);
}

static void test_write_on_this_machine(void **state)
{
	const struct fixture *fixture = *state;
	struct wtl_io *io = fixture->machine;
	char *path = unit_path(fixture->dir, "/value");
	char *none = unit_path(fixture->dir, "/none");
	struct stat st;

	unit_write(fixture->dir, "/value", "12345");
	/* As the kernel's attributes want it: what is there is not cut. */
	assert_int_equal(wtl_io_file_write(io, path, "ab", 2), 0);
	file_is(fixture, "/value", "ab345");
	assert_int_equal(wtl_io_file_write(io, none, "ab", 2), -ENOENT);
	assert_true(stat(none, &st) < 0);
	assert_int_equal(wtl_io_file_write(io, "/dev/full", "ab", 2), -ENOSPC);
	assert_int_equal(wtl_io_file_write(io, "/dev/null", "ab", 2), 0);
	assert_int_equal(wtl_io_file_write(io, "value", "ab", 2), -EINVAL);
	free(path);
	free(none);
}

/* Less than all is an error: half a number would be another number. */
static void test_short_write(void **state)
{
	const struct fixture *fixture = *state;
	struct rlimit before, limit;
	int rc;

	unit_write(fixture->dir, "/value", "1");
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	limit = (struct rlimit){3, before.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	rc = wtl_io_file_write(fixture->io, "/value", "123456", 6);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	assert_int_equal(rc, -EIO);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_cpu_of_this_machine),
		TEST(test_cpu_of_a_child),
		TEST(test_cpu_of_a_root),
		TEST(test_exits_of_this_machine),
		TEST(test_exits_without_privilege),
		TEST(test_exits_in_namespaces),
		TEST(test_exits_of_a_root),
		TEST(test_exits_of_a_hostile_root),
		TEST(test_write_below_a_root),
		TEST(test_write_on_this_machine),
		TEST(test_short_write),
	};

	return cmocka_run_group_tests_name("process_io", tests, NULL, NULL);
}
