/* SPDX-License-Identifier: MIT */
/* Making rows, drawing, and copying a view allocate nothing once there has been one as large. Linked
 * with tests/alloc/failmalloc.c, which counts. */

#include "allocations.h"
#include "top_bench.h"

#include "unit.h"

static void test_frames(void **state)
{
	static const char *const keys[] = {"",
					   "t",
					   "g<down><enter>",
					   "g<home><enter>",
					   "h<esc>",
					   "S<esc>",
					   "<home><enter>",
					   "<esc>",
					   "\\user = bob<enter>"};
	struct top_bench bench;
	unsigned long before;

	(void)state;
	need_counter();
	top_bench_init(&bench, top_bench_server);
	top_bench_type(&bench, "g<down><enter>"); /* groups take their memory */
	top_bench_draw(&bench, 60, 200);
	top_bench_type(&bench, "g<home><enter>");
	for (size_t i = 0; i < UNIT_COUNT(keys); i++) {
		top_bench_type(&bench, keys[i]); /* typing may take some */
		before = wattle_test_allocations();
		for (int frame = 0; frame < 20; frame++)
			top_bench_draw(&bench, 60 - frame, 200 - frame);
		assert_int_equal(wattle_test_allocations() - before, 0);
	}
	top_bench_done(&bench);
}

static void test_views(void **state)
{
	struct wtl_top_view view, copy;
	unsigned long before;

	(void)state;
	need_counter();
	top_bench_server(&view);
	wtl_top_view_init(&copy);
	assert_int_equal(wtl_top_view_copy(&copy, &view), 0);
	before = wattle_test_allocations();
	for (int i = 0; i < 100; i++) {
		view.generation++;
		assert_int_equal(wtl_top_view_copy(&copy, &view), 0);
	}
	assert_int_equal(wattle_test_allocations() - before, 0);
	wtl_top_view_done(&view);
	wtl_top_view_done(&copy);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_frames),
		cmocka_unit_test(test_views),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
