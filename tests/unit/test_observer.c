/* SPDX-License-Identifier: MIT */
/* Whoever watches a meter and its consumers is told of all that they go by, in that order. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "energy/units.h"
#include "meter/consumers.h"
#include "meter/observer.h"
#include "meter_bench.h"
#include "unit.h"
#include "world.h"

#define MS WTL_NS_PER_MS
#define S  WTL_NS_PER_S

enum { EVENTS_MAX = 64, DOMAINS_MAX = 16, CHANNELS_MAX = 16 };

/* What was told: a letter each. s: sample; b, e, c: a window; t: a look taken, B: billed, r: reset. */
struct seen {
	struct meter_bench bench;
	struct world world;
	struct wtl_consumers *consumers;
	struct wtl_observer observer;
	char events[EVENTS_MAX];
	size_t n;
	struct wtl_sample sample; /* the newest */
	struct wtl_reading readings[CHANNELS_MAX];
	struct wtl_window_note note;
	char name[64];
	int64_t t_utc_ns;
	size_t n_uses;
	struct wattle_energy energies[DOMAINS_MAX];
	struct wattle_window window;
};

static void see(struct seen *s, char event)
{
	assert_true(s->n < EVENTS_MAX - 1);
	s->events[s->n++] = event;
}

static void see_sample(void *context, const struct wtl_sample *sample)
{
	struct seen *s = context;

	see(s, 's');
	assert_in_range(sample->n, 1, CHANNELS_MAX);
	s->sample = *sample;
	memcpy(s->readings, sample->readings, sample->n * sizeof(*s->readings));
}

static void see_window(void *context, const struct wtl_window_note *note)
{
	static const char letters[] = {
		[WTL_WINDOW_BEGINS] = 'b', [WTL_WINDOW_ENDS] = 'e', [WTL_WINDOW_CANCELLED] = 'c'};
	struct seen *s = context;

	see(s, letters[note->event]);
	s->note = *note;
	snprintf(s->name, sizeof(s->name), "%s", note->name);
}

static void see_scan(void *context, enum wtl_scan_event event, int64_t t_utc_ns)
{
	static const char letters[] = {
		[WTL_SCAN_TAKEN] = 't', [WTL_SCAN_BILLED] = 'B', [WTL_SCAN_RESET] = 'r'};
	struct seen *s = context;

	see(s, letters[event]);
	s->t_utc_ns = t_utc_ns;
	if (event == WTL_SCAN_TAKEN)
		s->n_uses = wtl_consumers_scan(s->consumers)->n_uses;
}

static void start(struct seen *s)
{
	const struct wtl_consumers_options options = {.nvml_path = ""};

	memset(s, 0, sizeof(*s));
	meter_bench_root(&s->bench, "xeon-2s-dram");
	s->bench.clock_step_ns = 1234;
	meter_bench_open(&s->bench);
	world_init(&s->world);
	assert_int_equal(
		wtl_consumers_new(s->bench.meter, &s->world.io, &options, &s->consumers, NULL), 0);
	assert_in_range(wattle_meter_domains(s->bench.meter), 1, DOMAINS_MAX);
	s->observer = (struct wtl_observer){
		.context = s, .sampled = see_sample, .window = see_window, .scanned = see_scan};
}

static void watch(struct seen *s)
{
	wtl_meter_observe(s->bench.meter, &s->observer);
	wtl_consumers_observe(s->consumers, &s->observer);
}

static void finish(struct seen *s)
{
	assert_true(wtl_consumers_free(s->consumers));
	world_done(&s->world);
	meter_bench_done(&s->bench);
}

static void expect(struct seen *s, const char *events)
{
	s->events[s->n] = '\0';
	assert_string_equal(s->events, events);
	s->n = 0;
}

/* ---- What is told when ---- */

/* The newest sample at once, then one for each that is taken, whoever asks for it. */
static void test_samples(void **state)
{
	struct seen s;

	(void)state;
	start(&s);
	meter_bench_tick(&s.bench, 100 * MS);
	expect(&s, "");
	watch(&s);
	expect(&s, "s");
	meter_bench_tick(&s.bench, 100 * MS);
	expect(&s, "s");
	assert_int_equal(s.sample.n, s.bench.meter->catalog.n_channels);
	assert_true(s.sample.end_ns > s.sample.begin_ns);
	assert_int_equal(s.sample.asleep_ns / MS, 0);
	s.bench.asleep_ns = 5000 * MS;
	meter_bench_tick(&s.bench, 100 * MS);
	assert_int_equal(s.sample.asleep_ns / MS, 5000);
	finish(&s);
}

/* The sample before its window, whose time is at or behind the sample's. */
static void test_windows(void **state)
{
	struct wattle_meter *meter;
	int64_t begin_ns;
	struct seen s;

	(void)state;
	start(&s);
	meter = s.bench.meter;
	watch(&s);
	expect(&s, "s");
	assert_int_equal(wattle_window_begin(meter, "one"), 0);
	expect(&s, "sb");
	assert_string_equal(s.name, "one");
	assert_false(s.note.is_stacked);
	assert_true(s.note.t_mono_ns >= s.sample.end_ns);
	assert_true(s.note.t_utc_ns > 0);
	begin_ns = s.note.t_mono_ns;
	/* Refused, and nothing was told. */
	assert_int_equal(wattle_window_begin(meter, "one"), -WATTLE_E_WINDOW_OPEN);
	assert_int_equal(wattle_window_begin(meter, ""), -EINVAL);
	assert_int_equal(wattle_window_cancel(meter, "none"), -WATTLE_E_NO_WINDOW);
	assert_int_equal(wtl_window_end(meter, "none", NULL, NULL, 0), -WATTLE_E_NO_WINDOW);
	expect(&s, "");
	assert_int_equal(wattle_window_push(meter, "two"), 0);
	expect(&s, "sb");
	assert_true(s.note.is_stacked);
	assert_int_equal(wattle_window_pop(meter, NULL, NULL, 0), 0);
	expect(&s, "se");
	assert_string_equal(s.name, "two");
	/* To look is no event of its own, but a sample was taken. */
	assert_int_equal(wtl_window_read(meter, "one", &s.window, s.energies, DOMAINS_MAX), 0);
	expect(&s, "s");
	assert_int_equal(wtl_window_look(meter, "one", &s.window, s.energies, DOMAINS_MAX), 0);
	expect(&s, "");
	assert_int_equal(wtl_window_end(meter, "one", &s.window, s.energies, DOMAINS_MAX), 0);
	expect(&s, "se");
	assert_string_equal(s.name, "one");
	assert_int_equal(s.window.begin_mono_ns, begin_ns);
	assert_int_equal(s.window.duration_ns, s.note.t_mono_ns - begin_ns);
	assert_int_equal(s.note.t_utc_ns, 0);
	assert_int_equal(wattle_window_begin(meter, "three"), 0);
	assert_int_equal(wattle_window_cancel(meter, "three"), 0);
	expect(&s, "sbc");
	assert_int_equal(s.note.t_mono_ns, 0);
	finish(&s);
}

/* A look, and then what becomes of it. */
static void test_looks(void **state)
{
	struct seen s;
	int worker;

	(void)state;
	start(&s);
	worker = world_fork(&s.world, 1);
	watch(&s);
	expect(&s, "s");
	wtl_consumers_begin(s.consumers);
	expect(&s, "tr");
	world_run(&s.world, worker, 40 * MS);
	world_pass(&s.world, 100 * MS);
	wtl_consumers_bill(s.consumers, s.energies, 77);
	expect(&s, "tB");
	assert_int_equal(s.t_utc_ns, 77);
	assert_true(s.n_uses > 0);
	world_pass(&s.world, 100 * MS);
	wtl_consumers_begin(s.consumers);
	expect(&s, "tr");
	assert_int_equal(s.t_utc_ns, 0);
	wtl_consumers_read_memory(s.consumers, 3);
	wtl_consumers_follow(s.consumers, worker);
	expect(&s, "");
	finish(&s);
}

/* Who watches no more is told no more. */
static void test_no_more(void **state)
{
	struct seen s;

	(void)state;
	start(&s);
	watch(&s);
	expect(&s, "s");
	wtl_meter_observe(s.bench.meter, NULL);
	wtl_consumers_observe(s.consumers, NULL);
	meter_bench_tick(&s.bench, 100 * MS);
	assert_int_equal(wattle_window_begin(s.bench.meter, "one"), 0);
	assert_int_equal(wtl_window_end(s.bench.meter, "one", NULL, NULL, 0), 0);
	wtl_consumers_begin(s.consumers);
	wtl_consumers_bill(s.consumers, s.energies, 77);
	expect(&s, "");
	/* And again. */
	watch(&s);
	meter_bench_tick(&s.bench, 100 * MS);
	expect(&s, "ss");
	finish(&s);
}

/* ---- Times ---- */

static bool is_whole(int64_t t_ns)
{
	return t_ns % 1000 == 0;
}

static bool readings_are_whole(const struct seen *s)
{
	const struct wattle_meter *meter = s->bench.meter;
	bool all = true;

	for (size_t i = 0; i < meter->catalog.n_channels; i++)
		all &= is_whole(meter->readings[i].t_mono_ns) &&
		       is_whole(meter->readings[i].half_ns);
	return all;
}

/* Whole microseconds while somebody watches, and only then: the accounts go by what is told. */
static void test_times(void **state)
{
	struct seen s;

	(void)state;
	start(&s);
	meter_bench_tick(&s.bench, 100 * MS + 7);
	assert_false(readings_are_whole(&s));
	watch(&s);
	for (int i = 0; i < 20; i++) {
		/* At first all are read anew, also those that are read now and then only. */
		meter_bench_tick(&s.bench, (i == 0 ? S : 100 * MS) + i);
		assert_true(readings_are_whole(&s));
		assert_true(is_whole(s.sample.begin_ns) && is_whole(s.sample.end_ns));
		assert_memory_equal(s.readings, s.bench.meter->readings,
				    s.sample.n * sizeof(*s.readings));
		/* Rounded down, so that none is of a time that has not come. */
		for (size_t k = 0; k < s.sample.n; k++)
			assert_true(s.readings[k].t_mono_ns <= s.bench.now_ns);
	}
	/* The width of what may have been meanwhile is rounded up. */
	for (size_t k = 0; k < s.sample.n; k++)
		assert_true(s.readings[k].half_ns >= 1000);
	wtl_meter_observe(s.bench.meter, NULL);
	meter_bench_tick(&s.bench, 100 * MS + 7);
	assert_false(readings_are_whole(&s));
	finish(&s);
}

/* What is not read anew is not told again, a little earlier. */
static void test_times_of_readings_from_before(void **state)
{
	struct wtl_reading before[CHANNELS_MAX];
	struct wtl_sensor *sensor;
	size_t size;
	struct seen s;

	(void)state;
	start(&s);
	meter_bench_tick(&s.bench, 100 * MS + 7);
	sensor = &s.bench.meter->sensors[0];
	assert_in_range(sensor->n, 1, CHANNELS_MAX);
	size = sensor->n * sizeof(before[0]);
	memcpy(before, sensor->readings, size);
	assert_false(is_whole(before[0].t_mono_ns));
	sensor->is_check = true;
	watch(&s);
	assert_memory_equal(sensor->readings, before, size);
	for (int i = 0; i < 5; i++) {
		meter_bench_tick(&s.bench, 100 * MS + i);
		assert_memory_equal(sensor->readings, before, size);
	}
	meter_bench_tick(&s.bench, S);
	assert_true(sensor->readings[0].t_mono_ns > before[0].t_mono_ns);
	assert_true(readings_are_whole(&s));
	finish(&s);
}

/* What is measured is the same but for those roundings. */
static void test_same_energy(void **state)
{
	uint64_t energy_uj[2];
	struct seen s;

	(void)state;
	for (int i = 0; i < 2; i++) {
		start(&s);
		if (i == 1)
			watch(&s);
		assert_int_equal(wattle_window_begin(s.bench.meter, "one"), 0);
		for (int k = 0; k < 10; k++)
			meter_bench_tick(&s.bench, 100 * MS);
		assert_int_equal(
			wtl_window_end(s.bench.meter, "one", &s.window, s.energies, DOMAINS_MAX),
			0);
		energy_uj[i] = s.window.total.energy_uj;
		finish(&s);
	}
	assert_int_equal(energy_uj[0], energy_uj[1]);
}

static int refuse(struct wattle_meter *meter, struct wtl_window *window)
{
	(void)meter;
	(void)window;
	return -ENOMEM;
}

/* A window that has no room after all. */
static void test_a_window_that_cannot_begin(void **state)
{
	struct seen s;

	(void)state;
	start(&s);
	watch(&s);
	expect(&s, "s");
	s.bench.meter->window_begins = refuse;
	assert_int_equal(wattle_window_begin(s.bench.meter, "w"), -ENOMEM);
	expect(&s, "sbc");
	finish(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_samples),
		cmocka_unit_test(test_windows),
		cmocka_unit_test(test_a_window_that_cannot_begin),
		cmocka_unit_test(test_looks),
		cmocka_unit_test(test_no_more),
		cmocka_unit_test(test_times),
		cmocka_unit_test(test_times_of_readings_from_before),
		cmocka_unit_test(test_same_energy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
