/* SPDX-License-Identifier: MIT */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "record/code.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { VALUES_MAX = 1 << 20 };

static void check(int good)
{
	if (!good)
		abort();
}

/* Values come back as they were, by both layouts. */
static void round_trip(const int64_t values[], size_t n)
{
	int64_t *back = malloc((n + 1) * sizeof(*back));
	struct wtl_buf buf;

	check(back != NULL);
	wtl_buf_init(&buf, 1 << 26);
	for (int planes = 0; planes < 2; planes++) {
		wtl_buf_clear(&buf);
		check((planes ? wtl_code_put_planes : wtl_code_put)(&buf, values, n) == 0);
		check(wtl_code_count((const uint8_t *)buf.data, buf.len) == (int64_t)n);
		check(wtl_code_get((const uint8_t *)buf.data, buf.len, back, n) == 0);
		check(n == 0 || memcmp(values, back, n * sizeof(*back)) == 0);
	}
	wtl_buf_done(&buf);
	free(back);
}

/* Any bytes are a block, or they are not; and then there is nothing to be done. */
static void decode(const uint8_t *data, size_t size)
{
	int64_t n = wtl_code_count(data, size);
	int64_t *values;

	if (n < 0 || n > VALUES_MAX)
		return;
	values = malloc(((size_t)n + 1) * sizeof(*values));
	check(values != NULL);
	if (wtl_code_get(data, size, values, (size_t)n) == 0)
		round_trip(values, (size_t)n);
	free(values);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t n = size / sizeof(int64_t);
	int64_t *values = malloc((n + 1) * sizeof(*values));

	check(values != NULL);
	decode(data, size);
	memcpy(values, data, n * sizeof(*values));
	round_trip(values, n);
	free(values);
	return 0;
}
