/* SPDX-License-Identifier: MIT */
#include "workload/taskstats.h"

#include <limits.h>
#include <string.h>

#include "base/text.h"

/* Netlink's framing (include/uapi/linux/{netlink,genetlink,taskstats}.h), in host byte order. */
enum {
	MESSAGE_HEADER = 16,   /* u32 length, u16 type, u16 flags, u32 sequence, u32 port */
	MESSAGE_TYPE_MIN = 16, /* below are netlink's own: errors, ends */
	GENERIC_HEADER = 4,    /* u8 command, u8 version, u16 */
	COMMAND_NEW = 2,
	ATTRIBUTE_HEADER = 4, /* u16 length, u16 type */
	ATTRIBUTE_TYPE_MASK = 0x3fff,
	TYPE_PID = 1,
	TYPE_TGID = 2,
	TYPE_STATS = 3,
	TYPE_AGGR_PID = 4,
	TYPE_AGGR_TGID = 5,
};

/*
 * struct taskstats grows at its end with each version; what is used stands at the same place in all
 * of them. cpu_run_virtual_total is exact, in nanoseconds, whatever kernel.task_delayacct says;
 * ac_utime, ac_stime and cpu_run_real_total are samples of the timer tick.
 */
enum {
	STATS_VERSION = 0,
	STATS_FLAG = 8,
	STATS_CPU_NS = 72,
	STATS_COMM = 80,
	STATS_COMM_LEN = 32,
	STATS_UID = 120,
	STATS_PID = 128,
	STATS_PARENT = 132,
	STATS_ETIME_US = 144,
	STATS_TGID = 368,
	STATS_VERSION_1_LEN = 80,
	STATS_BASIC_LEN = 152, /* up to and with ac_etime */
	STATS_TGID_VERSION = 12,
	FLAG_FORKED = 0x01, /* AFORK: forked, without exec; only of processes */
};

/* The two parts of a message. */
struct parts {
	const unsigned char *pid_stats, *tgid_stats;
	size_t pid_len, tgid_len;
	int pid, tgid; /* what is no number is negative */
};

static uint16_t get16(const unsigned char *at)
{
	uint16_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

static uint32_t get32(const unsigned char *at)
{
	uint32_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

static uint64_t get64(const unsigned char *at)
{
	uint64_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

void wtl_taskstats_start(struct wtl_taskstats *reader, const void *datagram, size_t len)
{
	*reader = (struct wtl_taskstats){.at = datagram, .left = len};
}

/* One attribute, and the step to the next one. */
struct attribute {
	unsigned type;
	const unsigned char *data;
	size_t len;
};

static bool attribute_next(const unsigned char **at, size_t *left, struct attribute *ret)
{
	size_t len, step;

	if (*left < ATTRIBUTE_HEADER)
		return false;
	len = get16(*at);
	if (len < ATTRIBUTE_HEADER || len > *left)
		return false;
	ret->type = get16(*at + 2) & ATTRIBUTE_TYPE_MASK;
	ret->data = *at + ATTRIBUTE_HEADER;
	ret->len = len - ATTRIBUTE_HEADER;
	step = (len + 3) & ~(size_t)3;
	if (step > *left)
		step = *left;
	*at += step;
	*left -= step;
	return true;
}

/* {PID or TGID, STATS}, in a frame of their own. */
static void aggregate_read(const struct attribute *frame, struct parts *parts)
{
	const unsigned char *at = frame->data;
	size_t left = frame->len;
	struct attribute inner;

	while (attribute_next(&at, &left, &inner)) {
		bool is_number = inner.len >= 4;

		if (inner.type == TYPE_PID && is_number) {
			parts->pid = (int)get32(inner.data);
		} else if (inner.type == TYPE_TGID && is_number) {
			parts->tgid = (int)get32(inner.data);
		} else if (inner.type == TYPE_STATS && inner.len >= STATS_VERSION_1_LEN) {
			bool is_group = frame->type == TYPE_AGGR_TGID;

			*(is_group ? &parts->tgid_stats : &parts->pid_stats) = inner.data;
			*(is_group ? &parts->tgid_len : &parts->pid_len) = inner.len;
		}
	}
}

static bool stats_cpu(const unsigned char *stats, int64_t *ret_ns)
{
	uint64_t cpu_ns = get64(stats + STATS_CPU_NS);

	if (cpu_ns > INT64_MAX)
		return false;
	*ret_ns = (int64_t)cpu_ns;
	return true;
}

/* Name, user, parent, age and process of the task itself. */
static void basics_read(const struct parts *parts, struct wtl_exit *exit)
{
	const unsigned char *stats = parts->pid_stats;
	bool has_tgid;

	exit->may_be_thread = true;
	if (!stats || parts->pid_len < STATS_BASIC_LEN)
		return;
	wtl_text_clean(exit->name, sizeof(exit->name), (const char *)stats + STATS_COMM,
		       strnlen((const char *)stats + STATS_COMM, STATS_COMM_LEN));
	exit->uid = get32(stats + STATS_UID);
	if (get32(stats + STATS_PARENT) <= INT_MAX)
		exit->parent = (int)get32(stats + STATS_PARENT);
	if (__builtin_mul_overflow(get64(stats + STATS_ETIME_US), 1000, &exit->elapsed_ns))
		exit->elapsed_ns = 0;
	has_tgid = get16(stats + STATS_VERSION) >= STATS_TGID_VERSION &&
		   parts->pid_len >= STATS_TGID + 4 && get32(stats + STATS_TGID) > 0 &&
		   get32(stats + STATS_TGID) <= INT_MAX;
	if (has_tgid) {
		exit->pid = (int)get32(stats + STATS_TGID);
		exit->is_thread = exit->pid != exit->task;
		exit->may_be_thread = false;
	}
	if (stats[STATS_FLAG] & FLAG_FORKED)
		exit->may_be_thread = false;
}

/* One message's attributes as a task. */
static bool parts_read(const struct parts *parts, struct wtl_exit *ret_exit)
{
	struct wtl_exit exit = {.uid = UINT32_MAX};

	if (!parts->pid_stats && !parts->tgid_stats)
		return false;
	exit.task = parts->pid ? parts->pid : parts->tgid;
	exit.pid = exit.task;
	basics_read(parts, &exit);
	if (parts->tgid_stats) {
		if (parts->tgid)
			exit.pid = parts->tgid;
		exit.is_group = true;
		exit.is_thread = exit.may_be_thread = false;
	}
	if (exit.pid <= 0 || exit.task <= 0 ||
	    !stats_cpu(exit.is_group ? parts->tgid_stats : parts->pid_stats, &exit.cpu_ns))
		return false;
	*ret_exit = exit;
	return true;
}

/* The payload of a message, from its generic header on. */
static bool message_read(const unsigned char *at, size_t len, struct wtl_exit *ret_exit)
{
	struct parts parts = {.pid = 0};
	struct attribute frame;

	if (len < GENERIC_HEADER || at[0] != COMMAND_NEW)
		return false;
	at += GENERIC_HEADER;
	len -= GENERIC_HEADER;
	while (attribute_next(&at, &len, &frame))
		if (frame.type == TYPE_AGGR_PID || frame.type == TYPE_AGGR_TGID)
			aggregate_read(&frame, &parts);
	return parts_read(&parts, ret_exit);
}

bool wtl_taskstats_next(struct wtl_taskstats *reader, struct wtl_exit *ret_exit)
{
	while (reader->left >= MESSAGE_HEADER) {
		const unsigned char *message = reader->at;
		size_t len = get32(message), step;
		unsigned type = get16(message + 4);

		if (len < MESSAGE_HEADER || len > reader->left) {
			reader->n_bad++;
			return false;
		}
		step = (len + 3) & ~(size_t)3;
		if (step > reader->left)
			step = reader->left;
		reader->at += step;
		reader->left -= step;
		if (type < MESSAGE_TYPE_MIN)
			continue;
		if (message_read(message + MESSAGE_HEADER, len - MESSAGE_HEADER, ret_exit))
			return true;
		reader->n_bad++;
	}
	return false;
}
