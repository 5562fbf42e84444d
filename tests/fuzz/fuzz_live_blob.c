/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "serve/live.h"
#include "serve/live_blob.h"

/*
 * A snapshot of another process. The input is what somebody did to a sound one: three bytes of a place and one of
 * what stands there now, again and again; an odd rest cuts so much off its end.
 */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int good)
{
	if (!good)
		abort();
}

static void make(struct wtl_live *live)
{
	const struct wtl_live counts = {.n_domains = 2,
					.n_misses = 1,
					.n_groups = WTL_TOTALS_GROUPINGS,
					.n_processes = 2,
					.n_gpus = 1};

	check(wtl_live_reserve(live, &counts) == 0);
	memset(live->domains, 0, 2 * sizeof(live->domains[0]));
	memset(live->misses, 0, sizeof(live->misses[0]));
	memset(live->processes, 0, 2 * sizeof(live->processes[0]));
	memset(live->gpus, 0, sizeof(live->gpus[0]));
	live->number = 7;
	for (size_t i = 0; i < 2; i++) {
		snprintf(live->domains[i].name, sizeof(live->domains[i].name), "package-%zu", i);
		live->domains[i].accounts_uj[WTL_TOTALS_PROCESSES] = 5;
		live->domains[i].accounts_uj[WTL_TOTALS_IDLE] = 70;
		live->domains[i].energy_uj = 75;
	}
	for (size_t by = 0; by < WTL_TOTALS_GROUPINGS; by++) {
		uint64_t *energy_uj = live->groups[by].energy_uj;

		live->groups[by] =
			(struct wtl_live_group){.by = (uint8_t)by, .energy_uj = energy_uj};
		for (size_t i = 0; i < 2; i++) {
			energy_uj[i * WTL_TOTALS_PARTS + WTL_TOTALS_DYNAMIC] = 5;
			energy_uj[i * WTL_TOTALS_PARTS + WTL_TOTALS_IDLE_PART] = 6;
		}
	}
	check(wtl_live_adds_up(live));
}

/* What was taken in is written as it was read. */
static void check_taken(const struct wtl_live *live, const struct wtl_buf *read)
{
	struct wtl_buf again;

	check(wtl_live_adds_up(live));
	for (size_t i = 0; i < live->n_domains; i++)
		check(strlen(live->domains[i].reason) < sizeof(live->domains[i].reason) &&
		      wattle_kind_name(live->domains[i].kind) &&
		      wattle_status_name(live->domains[i].status));
	for (size_t i = 0; i < live->n_groups; i++)
		check(live->groups[i].by < WTL_TOTALS_GROUPINGS &&
		      strlen(live->groups[i].name) < WTL_TOTALS_NAME_SIZE);
	wtl_buf_init(&again, WTL_LIVE_BLOB_MAX);
	wtl_live_blob_write(live, &again);
	check(again.len == read->len);
	wtl_buf_done(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wtl_live live = {.number = 0}, taken = {.number = 0};
	struct wtl_buf blob;
	size_t len;
	int rc;

	make(&live);
	wtl_buf_init(&blob, WTL_LIVE_BLOB_MAX);
	wtl_live_blob_write(&live, &blob);
	check(!blob.error);
	for (; size >= 4; data += 4, size -= 4)
		blob.data[(data[0] << 16 | data[1] << 8 | data[2]) % blob.len] = (char)data[3];
	len = size > 0 ? (size_t)data[0] * (size > 1 ? data[1] : 1u) : 0;
	len = len < blob.len ? blob.len - len : 0;
	rc = wtl_live_blob_read(blob.data, len, &taken);
	check(rc == 0 || rc == -EPROTO || rc == -EPROTONOSUPPORT);
	if (rc == 0)
		check_taken(&taken, &blob);
	wtl_buf_done(&blob);
	wtl_live_done(&live);
	wtl_live_done(&taken);
	return 0;
}
