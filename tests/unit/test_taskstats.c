/* SPDX-License-Identifier: MIT */
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <linux/taskstats.h>
#include <stdlib.h>
#include <string.h>

#include "unit.h"
#include "workload/taskstats.h"

enum { VERSION_1 = 80, UP_TO_ETIME = 152, VERSION_8 = 328, VERSION_11 = 368, VERSION_12 = 376 };

/* A datagram under construction. */
struct datagram {
	unsigned char bytes[4096];
	size_t len;
};

static void put(struct datagram *datagram, const void *bytes, size_t len)
{
	assert_true(datagram->len + len <= sizeof(datagram->bytes));
	memcpy(datagram->bytes + datagram->len, bytes, len);
	datagram->len += len;
}

static size_t message_begin(struct datagram *datagram, uint16_t type, uint8_t command)
{
	const struct nlmsghdr header = {.nlmsg_type = type};
	const struct genlmsghdr generic = {.cmd = command, .version = 1};
	size_t at = datagram->len;

	put(datagram, &header, sizeof(header));
	put(datagram, &generic, sizeof(generic));
	return at;
}

static void message_end(struct datagram *datagram, size_t at)
{
	uint32_t len = (uint32_t)(datagram->len - at);

	memcpy(datagram->bytes + at, &len, sizeof(len));
}

static void put_attribute(struct datagram *datagram, uint16_t type, const void *data, size_t len)
{
	static const unsigned char zeros[4];
	const struct nlattr attribute = {.nla_len = (uint16_t)(4 + len), .nla_type = type};

	put(datagram, &attribute, sizeof(attribute));
	put(datagram, data, len);
	put(datagram, zeros, -len & 3);
}

static void put_aggregate(struct datagram *datagram, bool is_group, uint32_t number,
			  const void *stats, size_t len)
{
	struct datagram *inner = calloc(1, sizeof(*inner));

	assert_non_null(inner);
	put_attribute(inner, is_group ? TASKSTATS_TYPE_TGID : TASKSTATS_TYPE_PID, &number, 4);
	/* Where numbers of 64 bits have to be aligned, the kernel puts an empty one in between. */
	put_attribute(inner, TASKSTATS_TYPE_NULL, "", 0);
	put_attribute(inner, TASKSTATS_TYPE_STATS, stats, len);
	put_attribute(datagram, TASKSTATS_TYPE_MAX + 1, "", 1); /* of a kernel to come */
	put_attribute(datagram, is_group ? TASKSTATS_TYPE_AGGR_TGID : TASKSTATS_TYPE_AGGR_PID,
		      inner->bytes, inner->len);
	free(inner);
}

static struct taskstats stats_of(int task, int process, uint64_t cpu_ns)
{
	return (struct taskstats){
		.version = 13,
		.cpu_run_virtual_total = cpu_ns,
		.cpu_run_real_total = 1,
		.ac_comm = "cc1",
		.ac_uid = 1000,
		.ac_pid = (uint32_t)task,
		.ac_ppid = 77,
		.ac_tgid = (uint32_t)process,
		.ac_etime = 5250,
		.ac_utime = 2,
		.ac_stime = 3,
	};
}

/* One task's message. */
static void put_task(struct datagram *datagram, const struct taskstats *stats, size_t len)
{
	size_t at = message_begin(datagram, NLMSG_MIN_TYPE, TASKSTATS_CMD_NEW);

	put_aggregate(datagram, false, stats->ac_pid, stats, len);
	message_end(datagram, at);
}

/* Reads all; from memory that ends where the datagram does. */
static unsigned read_all(const struct datagram *datagram, struct wtl_exit exits[8],
			 unsigned *ret_bad)
{
	unsigned char *copy = malloc(datagram->len ? datagram->len : 1);
	struct wtl_taskstats reader;
	unsigned n = 0;

	assert_non_null(copy);
	memcpy(copy, datagram->bytes, datagram->len);
	wtl_taskstats_start(&reader, copy, datagram->len);
	while (n < 8 && wtl_taskstats_next(&reader, &exits[n]))
		n++;
	free(copy);
	if (ret_bad)
		*ret_bad = reader.n_bad;
	return n;
}

static void test_process(void **state)
{
	const struct taskstats stats = stats_of(500, 500, 1500129);
	struct datagram datagram = {.len = 0};
	struct wtl_exit exits[8];
	unsigned n_bad;

	(void)state;
	put_task(&datagram, &stats, sizeof(stats));
	assert_int_equal(read_all(&datagram, exits, &n_bad), 1);
	assert_int_equal(n_bad, 0);
	assert_int_equal(exits[0].pid, 500);
	assert_int_equal(exits[0].task, 500);
	assert_int_equal(exits[0].parent, 77);
	assert_int_equal(exits[0].uid, 1000);
	assert_string_equal(exits[0].name, "cc1");
	assert_int_equal(exits[0].cpu_ns, 1500129);
	assert_int_equal(exits[0].elapsed_ns, 5250000);
	assert_false(exits[0].is_group);
	assert_false(exits[0].is_thread);
	assert_false(exits[0].may_be_thread);
}

static void test_thread(void **state)
{
	const struct taskstats stats = stats_of(501, 500, 10);
	struct datagram datagram = {.len = 0};
	struct wtl_exit exits[8];

	(void)state;
	put_task(&datagram, &stats, sizeof(stats));
	assert_int_equal(read_all(&datagram, exits, NULL), 1);
	assert_int_equal(exits[0].pid, 500);
	assert_int_equal(exits[0].task, 501);
	assert_true(exits[0].is_thread);
}

/* The last thread's message carries the sum of all. */
static void test_group(void **state)
{
	const struct taskstats last = stats_of(503, 500, 10);
	const struct taskstats all = {.version = 13, .cpu_run_virtual_total = 35000500};
	struct datagram datagram = {.len = 0};
	struct wtl_exit exits[8];
	size_t at = message_begin(&datagram, 28, TASKSTATS_CMD_NEW);

	(void)state;
	put_aggregate(&datagram, false, 503, &last, sizeof(last));
	put_aggregate(&datagram, true, 500, &all, sizeof(all));
	message_end(&datagram, at);
	assert_int_equal(read_all(&datagram, exits, NULL), 1);
	assert_int_equal(exits[0].pid, 500);
	assert_int_equal(exits[0].cpu_ns, 35000500);
	assert_true(exits[0].is_group);
	assert_false(exits[0].is_thread);
	assert_string_equal(exits[0].name, "cc1");
	assert_int_equal(exits[0].parent, 77);
}

/* Older kernels tell the process of the last thread by the sum alone. */
static void test_group_of_old(void **state)
{
	const struct taskstats last = stats_of(503, 0, 10);
	const struct taskstats all = {.version = 8, .cpu_run_virtual_total = 35000500};
	struct datagram datagram = {.len = 0};
	struct wtl_exit exits[8];
	size_t at = message_begin(&datagram, 28, TASKSTATS_CMD_NEW);

	(void)state;
	put_aggregate(&datagram, false, 503, &last, VERSION_8);
	put_aggregate(&datagram, true, 500, &all, VERSION_8);
	message_end(&datagram, at);
	assert_int_equal(read_all(&datagram, exits, NULL), 1);
	assert_int_equal(exits[0].pid, 500);
	assert_int_equal(exits[0].task, 503);
	assert_int_equal(exits[0].cpu_ns, 35000500);
}

/* The struct of older kernels is shorter. */
static void test_versions(void **state)
{
	struct taskstats stats = stats_of(500, 500, 4000);
	struct datagram datagram = {.len = 0};
	struct wtl_exit exits[8];

	(void)state;
	stats.version = 1;
	put_task(&datagram, &stats, VERSION_1);
	stats.version = 8;
	put_task(&datagram, &stats, VERSION_8);
	stats.version = 11;
	put_task(&datagram, &stats, VERSION_11);
	stats.ac_flag = 1; /* forked, no exec: a process for sure */
	put_task(&datagram, &stats, VERSION_11);
	stats.version = 12; /* tells the process, forked or not */
	stats.ac_flag = 0;
	put_task(&datagram, &stats, VERSION_12);
	stats.version = 99;
	put_task(&datagram, &stats, sizeof(stats));
	stats.ac_tgid = 0;
	put_task(&datagram, &stats, sizeof(stats));
	stats.ac_tgid = UINT32_MAX;
	put_task(&datagram, &stats, sizeof(stats));
	assert_int_equal(read_all(&datagram, exits, NULL), 8);
	for (int i = 0; i < 8; i++) {
		assert_int_equal(exits[i].pid, 500);
		assert_int_equal(exits[i].cpu_ns, 4000);
		assert_int_equal(exits[i].may_be_thread, i < 3 || i > 5);
	}
	/* Version 1 has nothing but times. */
	assert_string_equal(exits[0].name, "");
	assert_true(exits[0].uid == UINT32_MAX);
	assert_int_equal(exits[0].parent, 0);
	assert_string_equal(exits[1].name, "cc1");
	assert_int_equal(exits[1].uid, 1000);
}

/* The version says that there is more than came. */
static void test_short_stats(void **state)
{
	const struct taskstats stats = stats_of(500, 499, 4000);
	struct wtl_exit exits[8];
	unsigned n_bad;

	(void)state;
	for (size_t len = 0; len <= sizeof(stats); len++) {
		struct datagram datagram = {.len = 0};
		unsigned n;

		put_task(&datagram, &stats, len);
		n = read_all(&datagram, exits, &n_bad);
		assert_int_equal(n, len >= VERSION_1);
		assert_int_equal(n_bad, len < VERSION_1);
		if (n) {
			assert_int_equal(exits[0].is_thread, len >= VERSION_11 + 4);
			assert_int_equal(exits[0].elapsed_ns, len >= UP_TO_ETIME ? 5250000 : 0);
		}
	}
}

static void test_several(void **state)
{
	struct datagram datagram = {.len = 0};
	struct wtl_exit exits[8];
	struct taskstats stats;
	unsigned n_bad;
	size_t at;

	(void)state;
	for (int i = 0; i < 3; i++) {
		stats = stats_of(500 + i, 500 + i, 1000);
		put_task(&datagram, &stats, sizeof(stats));
		/* Netlink's own messages, of any length, and other commands' are left out. */
		at = message_begin(&datagram, NLMSG_DONE, 0);
		datagram.len = at + NLMSG_HDRLEN + (size_t)i;
		message_end(&datagram, at);
		datagram.len = at + NLMSG_ALIGN(NLMSG_HDRLEN + (size_t)i);
	}
	at = message_begin(&datagram, 28, 9);
	put_aggregate(&datagram, false, 503, &stats, sizeof(stats));
	put(&datagram, "", 1); /* the last one's padding is left out */
	message_end(&datagram, at);
	assert_int_equal(read_all(&datagram, exits, &n_bad), 3);
	assert_int_equal(exits[2].pid, 502);
	assert_int_equal(n_bad, 1);
}

/* Cut, or with a byte changed, it never reads past its end (ask a sanitizer) nor tells nonsense. */
static void test_cut_and_changed(void **state)
{
	const struct taskstats stats = stats_of(500, 500, 4000);
	struct datagram whole = {.len = 0};
	struct wtl_exit exits[8];
	unsigned n_bad;

	(void)state;
	put_task(&whole, &stats, sizeof(stats));
	for (size_t len = 0; len < whole.len; len++) {
		struct datagram cut = whole;

		cut.len = len;
		assert_int_equal(read_all(&cut, exits, &n_bad), 0);
		assert_int_equal(n_bad, len >= NLMSG_HDRLEN);
	}
	for (size_t i = 0; i < whole.len; i++)
		for (int value = 0; value < 256; value += 51) {
			struct datagram changed = whole;
			unsigned n;

			changed.bytes[i] = (unsigned char)value;
			n = read_all(&changed, exits, NULL);
			assert_true(n <= 1);
			if (n) {
				assert_true(exits[0].pid > 0);
				assert_true(exits[0].cpu_ns >= 0);
				assert_true(exits[0].elapsed_ns >= 0);
			}
		}
}

static void test_hostile_values(void **state)
{
	struct taskstats stats = stats_of(500, 500, UINT64_MAX);
	const struct taskstats good = {.version = 8, .cpu_run_virtual_total = 5};
	struct datagram datagram = {.len = 0};
	struct wtl_exit exits[8];
	size_t at, len;
	uint16_t frame;
	unsigned n_bad;

	(void)state;
	put_task(&datagram, &stats, sizeof(stats));
	stats = stats_of(-1, 500, 5);
	put_task(&datagram, &stats, sizeof(stats));
	stats = stats_of(0, 0, 5);
	put_task(&datagram, &stats, sizeof(stats));
	/* Nobody's: there is no whole number. */
	at = message_begin(&datagram, 28, TASKSTATS_CMD_NEW);
	len = datagram.len;
	put_attribute(&datagram, TASKSTATS_TYPE_AGGR_PID, "", 0);
	put_attribute(&datagram, TASKSTATS_TYPE_PID, "\1\1\1", 3);
	put_attribute(&datagram, TASKSTATS_TYPE_STATS, &good, sizeof(good));
	frame = (uint16_t)(datagram.len - len);
	memcpy(datagram.bytes + len, &frame, sizeof(frame));
	message_end(&datagram, at);
	assert_int_equal(read_all(&datagram, exits, &n_bad), 0);
	assert_int_equal(n_bad, 4);
	datagram.len = 0;
	stats = stats_of(9, 9, 5);
	memset(stats.ac_comm, '\033', sizeof(stats.ac_comm));
	stats.ac_ppid = UINT32_MAX;
	stats.ac_etime = UINT64_MAX;
	put_task(&datagram, &stats, sizeof(stats));
	assert_int_equal(read_all(&datagram, exits, NULL), 1);
	assert_string_equal(exits[0].name, "???????????????????????????????");
	assert_int_equal(exits[0].parent, 0);
	assert_int_equal(exits[0].elapsed_ns, 0);
}

/* The kernel's own header says where things are. */
static void test_offsets(void **state)
{
	(void)state;
	assert_int_equal(offsetof(struct taskstats, cpu_run_virtual_total), 72);
	assert_int_equal(offsetof(struct taskstats, ac_comm), 80);
	assert_int_equal(offsetof(struct taskstats, ac_uid), 120);
	assert_int_equal(offsetof(struct taskstats, ac_ppid), 132);
	assert_int_equal(offsetof(struct taskstats, ac_etime), 144);
	assert_int_equal(offsetof(struct taskstats, ac_tgid), 368);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_process),	       cmocka_unit_test(test_thread),
		cmocka_unit_test(test_group),	       cmocka_unit_test(test_group_of_old),
		cmocka_unit_test(test_versions),       cmocka_unit_test(test_short_stats),
		cmocka_unit_test(test_several),	       cmocka_unit_test(test_cut_and_changed),
		cmocka_unit_test(test_hostile_values), cmocka_unit_test(test_offsets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
