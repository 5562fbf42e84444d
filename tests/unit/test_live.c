/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "serve/live.h"
#include "serve/live_blob.h"
#include "unit.h"

/* Two domains; in each grouping two groups, which have what processes have. */
static void fill(struct wtl_live *live)
{
	const struct wtl_live counts = {.n_domains = 2, .n_groups = 2 * WTL_TOTALS_GROUPINGS};

	assert_int_equal(wtl_live_reserve(live, &counts), 0);
	for (size_t i = 0; i < live->n_domains; i++) {
		memset(&live->domains[i], 0, sizeof(live->domains[i]));
		for (size_t k = 0; k < WTL_TOTALS_ACCOUNTS; k++)
			live->domains[i].accounts_uj[k] = 100 * (i + 1) + k;
		live->domains[i].energy_uj = 4 * 100 * (i + 1) + 6;
	}
	for (size_t i = 0; i < live->n_groups; i++) {
		live->groups[i].by = (uint8_t)(i / 2);
		live->groups[i].name[0] = live->groups[i].title[0] = '\0';
		live->groups[i].power_uw = i;
		for (size_t k = 0; k < live->n_domains; k++) {
			uint64_t *energy_uj = &live->groups[i].energy_uj[k * WTL_TOTALS_PARTS];

			energy_uj[WTL_TOTALS_DYNAMIC] = i % 2 ? 100 * (k + 1) - 7 : 7;
			energy_uj[WTL_TOTALS_IDLE_PART] = i;
			live->groups[i].dynamic_uw[k] = 1000 * i + k;
		}
	}
}

/* A microjoule too much or too little anywhere is seen. */
static void test_adds_up(void **state)
{
	struct wtl_live live = {.number = 0};

	(void)state;
	assert_true(wtl_live_adds_up(&live));
	fill(&live);
	assert_true(wtl_live_adds_up(&live));
	for (size_t i = 0; i < live.n_domains; i++) {
		live.domains[i].energy_uj++;
		assert_false(wtl_live_adds_up(&live));
		live.domains[i].energy_uj--;
		for (size_t k = 0; k < WTL_TOTALS_ACCOUNTS; k++) {
			live.domains[i].accounts_uj[k]--;
			assert_false(wtl_live_adds_up(&live));
			live.domains[i].accounts_uj[k]++;
		}
	}
	for (size_t i = 0; i < live.n_groups; i++) {
		live.groups[i].energy_uj[WTL_TOTALS_PARTS + WTL_TOTALS_DYNAMIC]++;
		assert_false(wtl_live_adds_up(&live));
		live.groups[i].energy_uj[WTL_TOTALS_PARTS + WTL_TOTALS_DYNAMIC]--;
	}
	assert_true(wtl_live_adds_up(&live));
	assert_int_equal(wtl_live_energy(&live, 1, 1, WTL_TOTALS_DYNAMIC), 193);
	wtl_live_done(&live);
}

/* What is held stays; where all are held there is no draft, and later there is one again. */
static void test_board(void **state)
{
	const struct wtl_live *held[WTL_LIVE_SLOTS];
	struct wtl_board board;
	struct wtl_live *draft;

	(void)state;
	wtl_board_init(&board);
	assert_null(wtl_board_hold(&board));
	wtl_board_give_back(&board, NULL);
	for (size_t i = 0; i < WTL_LIVE_SLOTS; i++) {
		draft = wtl_board_draft(&board);
		assert_non_null(draft);
		draft->number = i + 1;
		wtl_board_publish(&board, draft);
		held[i] = wtl_board_hold(&board);
		assert_int_equal(held[i]->number, i + 1);
	}
	assert_null(wtl_board_draft(&board));
	for (size_t i = 0; i < WTL_LIVE_SLOTS; i++)
		assert_int_equal(held[i]->number, i + 1);
	/* The newest is kept, whether somebody holds it or not. */
	wtl_board_give_back(&board, held[WTL_LIVE_SLOTS - 1]);
	assert_null(wtl_board_draft(&board));
	wtl_board_give_back(&board, held[1]);
	draft = wtl_board_draft(&board);
	assert_ptr_equal(draft, held[1]);
	assert_int_equal(wtl_board_hold(&board)->number, WTL_LIVE_SLOTS);
	wtl_board_done(&board);
}

/* The other half of an agent has all of it, and none of this one's addresses. */
static void test_other_process(void **state)
{
	struct wtl_live live = {.number = 0}, other = {.number = 0};
	struct wtl_buf blob;

	(void)state;
	fill(&live);
	wtl_buf_init(&blob, 1 << 20);
	wtl_live_blob_write(&live, &blob);
	assert_int_equal(blob.error, 0);
	for (size_t i = 0; i < live.n_groups; i++) {
		const void *const addresses[] = {live.groups[i].energy_uj,
						 live.groups[i].dynamic_uw};

		for (size_t k = 0; k < UNIT_COUNT(addresses); k++)
			assert_null(memmem(blob.data, blob.len, &addresses[k], sizeof(void *)));
	}
	assert_int_equal(wtl_live_blob_read(blob.data, blob.len, &other), 0);
	assert_int_equal(other.n_groups, live.n_groups);
	for (size_t i = 0; i < live.n_groups; i++)
		for (size_t k = 0; k < live.n_domains; k++) {
			assert_int_equal(other.groups[i].dynamic_uw[k], 1000 * i + k);
			assert_int_equal(wtl_live_energy(&other, i, k, WTL_TOTALS_IDLE_PART), i);
			assert_int_equal(wtl_live_energy(&other, i, k, WTL_TOTALS_DYNAMIC),
					 wtl_live_energy(&live, i, k, WTL_TOTALS_DYNAMIC));
		}
	assert_int_equal(wtl_live_blob_read(blob.data, blob.len - 8, &other), -EPROTO);
	wtl_buf_done(&blob);
	wtl_live_done(&live);
	wtl_live_done(&other);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_adds_up),
		cmocka_unit_test(test_board),
		cmocka_unit_test(test_other_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
