/* SPDX-License-Identifier: MIT */
#include "commands/top/view.h"

#include <string.h>

#include "commands/top/format.h"
#include "energy/units.h"
#include "top_bench.h"

#include "unit.h"

static void add(struct wtl_top_view *view, uint32_t value)
{
	view->total.curve.newest = value;
	wtl_top_view_add_bin(view, true);
}

/* A bin of the total's curve. */
static uint32_t at(const struct wtl_top_view *view, unsigned grain, uint64_t back)
{
	return wtl_top_curve_at(view, &view->total, grain, back);
}

static void test_curve(void **state)
{
	struct wtl_top_view view;

	(void)state;
	wtl_top_view_init(&view);
	assert_int_equal(at(&view, 0, 0), WTL_TOP_GAP);
	for (uint32_t i = 1; i <= 36; i++)
		add(&view, i);
	assert_int_equal(view.clock.n_bins[0], 36);
	assert_int_equal(view.clock.n_bins[1], 6);
	assert_int_equal(view.clock.n_bins[2], 1);
	assert_int_equal(at(&view, 0, 0), 36);
	assert_int_equal(at(&view, 0, 35), 1);
	assert_int_equal(at(&view, 0, 36), WTL_TOP_GAP);
	assert_int_equal(at(&view, 1, 5), 3); /* 1 … 6, cut */
	assert_int_equal(at(&view, 1, 0), 33);
	assert_int_equal(at(&view, 2, 0), 18);
	wtl_top_view_done(&view);
}

/* The oldest values go, and none come back as new ones. */
static void test_ring(void **state)
{
	struct wtl_top_view view;
	uint64_t n = 5 * WTL_TOP_BINS + 17;

	(void)state;
	wtl_top_view_init(&view);
	for (uint64_t i = 0; i < n; i++)
		add(&view, (uint32_t)i);
	for (uint64_t back = 0; back < WTL_TOP_BINS; back++)
		assert_int_equal(at(&view, 0, back), n - 1 - back);
	assert_int_equal(at(&view, 0, WTL_TOP_BINS), WTL_TOP_GAP);
	wtl_top_view_done(&view);
}

/* A coarse bin is known if half of it is. */
static void test_gaps(void **state)
{
	struct wtl_top_view view;

	(void)state;
	wtl_top_view_init(&view);
	for (uint32_t i = 0; i < 6; i++)
		add(&view, i < 3 ? 10 : WTL_TOP_GAP);
	assert_int_equal(at(&view, 1, 0), 10);
	for (uint32_t i = 0; i < 6; i++)
		add(&view, i < 2 ? 10 : WTL_TOP_GAP);
	assert_int_equal(at(&view, 1, 0), WTL_TOP_GAP);
	for (uint32_t i = 0; i < 24; i++)
		add(&view, 0);
	assert_int_equal(at(&view, 2, 0), 2); /* 10, gap and four 0 */
	wtl_top_view_done(&view);
}

/* A copy has what was added since the one before, also where that is more than there is room for, and after a new begin. */
static void test_copies_of_bins(void **state)
{
	static const unsigned added[] = {1, 0, 7, 36, 1199, 3 * WTL_TOP_BINS, 5};
	struct wtl_top_view view, copy;
	uint32_t value = 0;

	(void)state;
	wtl_top_view_init(&view);
	wtl_top_view_init(&copy);
	for (unsigned turn = 0; turn < 2 * UNIT_COUNT(added); turn++) {
		if (turn == UNIT_COUNT(added))
			wtl_top_view_clear_bins(&view, 1);
		for (unsigned i = 0; i < added[turn % UNIT_COUNT(added)]; i++)
			add(&view, ++value);
		assert_int_equal(wtl_top_view_copy(&copy, &view), 0);
		for (unsigned grain = 0; grain < WTL_TOP_GRAINS; grain++)
			for (uint64_t back = 0; back <= WTL_TOP_BINS; back++)
				assert_int_equal(at(&copy, grain, back), at(&view, grain, back));
	}
	wtl_top_view_done(&view);
	wtl_top_view_done(&copy);
}

static void test_grains(void **state)
{
	struct wtl_top_clock clock = {.bin_ns = 100 * WTL_NS_PER_MS};

	(void)state;
	assert_int_equal(wtl_top_clock_grain(&clock, 20 * WTL_NS_PER_S), 0);
	assert_int_equal(wtl_top_clock_grain(&clock, 120 * WTL_NS_PER_S), 0);
	assert_int_equal(wtl_top_clock_grain(&clock, 300 * WTL_NS_PER_S), 1);
	assert_int_equal(wtl_top_clock_grain(&clock, 3600 * WTL_NS_PER_S), 2);
	assert_int_equal(wtl_top_clock_grain(&clock, INT64_MAX), 2);
	assert_int_equal(wtl_top_clock_bin_ns(&clock, 2), 36 * clock.bin_ns);
	/* An hour fits. */
	assert_true(wtl_top_clock_bin_ns(&clock, 2) * WTL_TOP_BINS >= 3600 * WTL_NS_PER_S);
}

static void test_copy(void **state)
{
	struct wtl_top_view view, copy;
	struct wtl_top_process *memory;

	(void)state;
	top_bench_server(&view);
	wtl_top_view_init(&copy);
	assert_int_equal(wtl_top_view_copy(&copy, &view), 0);
	assert_int_equal(copy.n_processes, view.n_processes);
	assert_ptr_not_equal(copy.processes, view.processes);
	for (size_t i = 0; i < view.n_domains; i++) {
		const struct wtl_top_domain *from = &view.domains[i], *to = &copy.domains[i];

		assert_memory_equal(to, from, offsetof(struct wtl_top_domain, device));
		assert_string_equal(to->device, from->device);
		assert_string_equal(to->reason, from->reason);
		assert_string_equal(to->remedy, from->remedy);
	}
	for (size_t i = 0; i < view.n_processes; i++)
		assert_string_equal(copy.processes[i].command, view.processes[i].command);
	assert_memory_equal(copy.gpus, view.gpus, view.n_gpus * sizeof(*view.gpus));
	assert_memory_equal(&copy.total, &view.total, sizeof(view.total));
	assert_string_equal(copy.groups[1].container, "docker/3f1c2a9b77de");
	/* The processes come along with their generation only; nothing is taken again. */
	memory = copy.processes;
	view.processes[0].consumer.cpu_ppm = 777;
	view.duration_ns++;
	assert_int_equal(wtl_top_view_copy(&copy, &view), 0);
	assert_int_equal(copy.duration_ns, view.duration_ns);
	assert_int_not_equal(copy.processes[0].consumer.cpu_ppm, 777);
	view.generation++;
	assert_int_equal(wtl_top_view_copy(&copy, &view), 0);
	assert_int_equal(copy.processes[0].consumer.cpu_ppm, 777);
	assert_ptr_equal(copy.processes, memory);
	wtl_top_view_done(&view);
	wtl_top_view_done(&copy);
	assert_null(copy.processes);
}

typedef const char *figure(char text[WTL_FIGURE_MAX], uint64_t value);

static void check_figures(figure *make, const uint64_t values[], const char *const texts[],
			  size_t n)
{
	char text[WTL_FIGURE_MAX];

	for (size_t i = 0; i < n; i++)
		assert_string_equal(make(text, values[i]), texts[i]);
}

#define CHECK(make, values, texts) check_figures(make, values, texts, UNIT_COUNT(values))

static void test_figures(void **state)
{
	static const uint64_t watts[] = {0, 4000, 5000, 99990000, 99996000, 250120000, 12345678901};
	static const char *const watts_texts[] = {"0.00",  "0.00",  "0.01", "99.99",
						  "100.0", "250.1", "12346"};
	static const char *const wide_texts[] = {"0.0",	  "0.0",   "0.0",  "100.0",
						 "100.0", "250.1", "12346"};
	static const uint64_t joules[] = {0,	     123400000,	  999940000,
					  999960000, 12345678901, UINT64_C(1234567890123),
					  UINT64_MAX};
	static const char *const joules_texts[] = {"0.00 J ",  "123.4 J ", "999.9 J ", "1.000 kJ",
						   "12.35 kJ", "1.235 MJ", "18447 GJ"};
	static const uint64_t hours[] = {0, 3600000000, UINT64_C(3600000000000),
					 UINT64_C(3600000000000000)};
	static const char *const hours_texts[] = {"0.000 Wh", "1.000 Wh", "1.000 kWh", "1.000 MWh"};
	static const uint64_t grams[] = {0, 12345, 999400, 1234567, 12345678, 1234567890};
	static const char *const grams_texts[] = {"0.00 mg", "12 mg",  "999 mg",
						  "1.23 g",  "12.3 g", "1.23 kg"};
	static const uint64_t bytes[] = {
		0, 1023, 1024, 104857600, 1073741824, UINT64_C(36641439744), UINT64_MAX};
	static const char *const bytes_texts[] = {"0B",	  "1023B", "1.0K", "100M",
						  "1.0G", "34.1G", "16.0E"};

	(void)state;
	CHECK(wtl_figure_watts, watts, watts_texts);
	CHECK(wtl_figure_watts_wide, watts, wide_texts);
	CHECK(wtl_figure_joules, joules, joules_texts);
	CHECK(wtl_figure_watt_hours, hours, hours_texts);
	CHECK(wtl_figure_grams, grams, grams_texts);
	CHECK(wtl_figure_bytes, bytes, bytes_texts);
}

static void test_times(void **state)
{
	char text[WTL_FIGURE_MAX];

	(void)state;
	assert_string_equal(wtl_figure_time(text, -5), "0:00.00");
	assert_string_equal(wtl_figure_time(text, 12340000000), "0:12.34");
	assert_string_equal(wtl_figure_time(text, 3 * 3600 * WTL_NS_PER_S), "3:00:00");
	assert_string_equal(wtl_figure_time(text, 291 * 3600 * WTL_NS_PER_S), "12d03h");
	assert_string_equal(wtl_figure_clock(text, 192 * WTL_NS_PER_S), "0:03:12");
	assert_string_equal(wtl_figure_percent(text, 0), "0.0");
	assert_string_equal(wtl_figure_percent(text, 1000000), "100.0");
	assert_string_equal(wtl_figure_percent(text, UINT32_MAX), "429497");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_curve),	       cmocka_unit_test(test_ring),
		cmocka_unit_test(test_copies_of_bins), cmocka_unit_test(test_gaps),
		cmocka_unit_test(test_grains),	       cmocka_unit_test(test_copy),
		cmocka_unit_test(test_figures),	       cmocka_unit_test(test_times),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
