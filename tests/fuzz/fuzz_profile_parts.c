/* SPDX-License-Identifier: MIT */
/*
 * The parts of a profile in a recording from a stranger: they are passed over, or put together to a trace that is sound.
 * The input is parts, each as two bytes of its length and its content.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "commands/profile/parts.h"
#include "record/crc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { VALUES_MAX = 1 << 15, ROOM = 64 << 20 };

static void check(bool holds)
{
	if (!holds)
		abort();
}

/* The text before the content's length, which is 0 here, in a sound part. */
static struct wtl_buf make_head(void)
{
	struct wtl_buf nothing, head;

	wtl_buf_init(&nothing, 1);
	wtl_buf_init(&head, 1 << 12);
	check(wtl_saved_wrap(&head, &nothing) == 0);
	head.len = strlen(head.data);
	wtl_buf_done(&nothing);
	return head;
}

/* As a recording has it, stored as it is (fuzz_wprof has zstd's). How many values. */
static size_t put_part(int64_t values[], size_t n, unsigned version, const uint8_t *data,
		       size_t size)
{
	static struct wtl_buf head;
	size_t len;
	uint32_t numbers[2];
	char *to = (char *)&values[n + 1];

	if (!head.data)
		head = make_head();
	len = head.len + sizeof(numbers) + 1 + size;
	if (n + 2 + len / 8 >= VALUES_MAX)
		return n;
	numbers[0] = (uint32_t)size;
	numbers[1] = wtl_crc_add(0, data, size);
	values[n++] = (int64_t)len;
	values[n + (len - 1) / 8] = 0;
	memcpy(to, head.data, head.len);
	to[head.len - 2] = (char)('0' + version);
	memcpy(to + head.len, numbers, sizeof(numbers));
	to[head.len + sizeof(numbers)] = 0;
	memcpy(to + head.len + sizeof(numbers) + 1, data, size);
	return n + (len + 7) / 8;
}

static size_t put_all(int64_t values[], unsigned version, const uint8_t *data, size_t size)
{
	size_t n = 0;

	while (size >= 2) {
		size_t len = data[0] | (size_t)data[1] << 8;

		data += 2;
		size -= 2;
		len = len < size ? len : size;
		n = put_part(values, n, version, data, len);
		data += len;
		size -= len;
	}
	return n;
}

static void divide(struct wtl_profile_parts *parts)
{
	struct wtl_trace *trace = &parts->saved->trace;
	struct wtl_split split;
	struct wtl_split_result result = {.n_nodes = 0};
	struct wtl_split_bill *bill;

	wtl_split_init(&split, 1, 0);
	bill = wtl_split_add_bill(&split, INT64_MAX / 8);
	if (bill) {
		bill->dynamic_uj[0] = 1000;
		if (wtl_split_compute(&split, trace, &result) == 0) {
			uint64_t sum = 0;

			for (size_t i = 0; i < result.n_nodes + WTL_SPLIT_ROWS; i++)
				sum += result.dynamic_uj[i];
			check(sum == 1000);
		}
	}
	wtl_split_result_done(&result);
	wtl_split_done(&split);
}

static void read_all(unsigned version, const uint8_t *data, size_t size)
{
	static int64_t values[VALUES_MAX];
	struct wtl_saved saved = {.n_command = 0};
	struct wtl_profile_parts parts = {.saved = &saved, .end_ns = INT64_MAX / 4, .room = ROOM};
	size_t n;

	wtl_trace_clear(&saved.trace);
	n = put_all(values, version, data, size);
	/* As it would be behind a whole period, and as it would be in several. */
	if (wtl_profile_parts_take(&parts, values, n) == 0 &&
	    wtl_profile_parts_take(&parts, values, n / 2) == 0 &&
	    wtl_saved_trace_is_sound(&saved.trace)) {
		wtl_profile_parts_use_names(&parts);
		if (wtl_saved_trace_is_sound(&saved.trace))
			divide(&parts);
	}
	wtl_saved_done(&parts.names);
	wtl_saved_done(&saved);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	for (unsigned version = 2; version <= 3; version++)
		read_all(version, data, size);
	return 0;
}
