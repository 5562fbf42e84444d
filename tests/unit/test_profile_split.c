/* SPDX-License-Identifier: MIT */
/* Energy among stacks: nothing is lost or made, and functions get what they drew. */
#include "unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "energy/units.h"
#include "profile/split.h"

enum { ROUNDS = 300, THREADS_MAX = 5, NODES_MAX = 12, SLICES_MAX = 60, SAMPLES_MAX = 500 };

/* A trace that is made up: room for all, and a tree with that many nodes below the root. */
static void begin_trace(struct wtl_trace *trace, size_t n_threads, size_t n_nodes, size_t n_slices,
			size_t n_samples)
{
	*trace = (struct wtl_trace){.n_threads = n_threads};
	assert_int_equal(wtl_tree_init(&trace->tree), 0);
	for (size_t i = 0; i < n_nodes; i++) {
		const struct wtl_frame frame = {.address = i};
		int64_t number = wtl_tree_frame(&trace->tree, &frame);

		assert_true(number >= 0 && wtl_tree_child(&trace->tree, 0, (uint32_t)number) > 0);
	}
	trace->threads = calloc(n_threads + 1, sizeof(*trace->threads));
	trace->slices = calloc(n_slices + 1, sizeof(*trace->slices));
	trace->samples = calloc(n_samples + 1, sizeof(*trace->samples));
}

static void end_trace(struct wtl_trace *trace)
{
	free(trace->threads);
	free(trace->slices);
	free(trace->samples);
	wtl_tree_done(&trace->tree);
}

static void add_slice(struct wtl_trace *trace, uint32_t thread, int64_t begin_ns, int64_t end_ns)
{
	trace->slices[trace->n_slices++] = (struct wtl_trace_slice){thread, begin_ns, end_ns};
}

static void add_sample(struct wtl_trace *trace, uint32_t thread, uint32_t node, int64_t t_ns)
{
	trace->samples[trace->n_samples++] = (struct wtl_trace_sample){thread, node, t_ns};
	trace->threads[thread].n_samples++;
}

static int by_time(const void *a, const void *b)
{
	const struct wtl_trace_sample *x = a, *y = b;

	return x->t_ns < y->t_ns ? -1 : x->t_ns > y->t_ns;
}

static int64_t below(int64_t n)
{
	return n > 0 ? random() % n : 0;
}

/* ---- The sum ---- */

static void make_any_trace(struct wtl_trace *trace, int64_t length_ns)
{
	size_t n_threads = (size_t)below(THREADS_MAX) + 1, n_nodes = (size_t)below(NODES_MAX) + 1;

	begin_trace(trace, n_threads, n_nodes, SLICES_MAX * THREADS_MAX, SAMPLES_MAX);
	for (uint32_t thread = 0; thread < n_threads; thread++) {
		int64_t at_ns = below(length_ns / 4);

		for (int64_t n = below(SLICES_MAX); n > 0; n--) {
			int64_t end_ns = at_ns + below(length_ns / 30) + below(2);

			add_slice(trace, thread, at_ns, end_ns);
			at_ns = end_ns + below(length_ns / 30);
		}
	}
	for (int64_t n = below(SAMPLES_MAX); n > 0; n--)
		add_sample(trace, (uint32_t)below((int64_t)n_threads),
			   (uint32_t)below((int64_t)n_nodes) + 1, below(length_ns));
	if (trace->n_samples > 0)
		qsort(trace->samples, trace->n_samples, sizeof(*trace->samples), by_time);
}

static void make_any_bills(struct wtl_split *split, int64_t length_ns)
{
	uint64_t energy_uj[4] = {0};

	for (int64_t at_ns = 0; at_ns < length_ns; at_ns += below(length_ns / 50) + 1) {
		struct wtl_split_tick *tick = wtl_split_add_tick(split, at_ns);

		assert_non_null(tick);
		for (size_t i = 0; i < split->n_domains; i++)
			tick->energy_uj[i] = energy_uj[i] += (uint64_t)below(5000000);
	}
	for (int64_t at_ns = 0; at_ns < length_ns;) {
		struct wtl_split_bill *bill;

		at_ns += below(length_ns / 4) + 1;
		bill = wtl_split_add_bill(split, at_ns);
		assert_non_null(bill);
		bill->busy_ns = below(3) ? below(length_ns) : -1;
		bill->own_ns = below(3) ? below(length_ns) : -1;
		for (size_t i = 0; i < split->n_domains; i++) {
			bill->dynamic_uj[i] = below(4) ? (uint64_t)random() : (uint64_t)below(3);
			bill->idle_uj[i] = below(4) ? (uint64_t)random() << 10 : 0;
			bill->idle_uw[i] = below(2) ? (uint64_t)below(100000000) : UINT64_MAX;
		}
	}
}

/* To the microjoule, of each domain; and the time on processors up to the last bill, to the nanosecond. */
static void assert_all_is_there(const struct wtl_split *split, const struct wtl_trace *trace,
				const struct wtl_split_result *result)
{
	int64_t cpu_ns = 0, last_ns = split->bills[split->n_bills - 1].t_ns;
	size_t n_places = result->n_nodes + WTL_SPLIT_ROWS;
	uint64_t n_samples = 0;
	bool is_more = false;

	for (size_t domain = 0; domain < split->n_domains; domain++) {
		uint64_t dynamic_uj = 0, idle_uj = 0;

		for (size_t i = 0; i < n_places; i++) {
			dynamic_uj += result->dynamic_uj[i * split->n_domains + domain];
			idle_uj += result->idle_uj[i * split->n_domains + domain];
		}
		for (size_t i = 0; i < split->n_bills; i++) {
			dynamic_uj -= split->bills[i].dynamic_uj[domain];
			idle_uj -= split->bills[i].idle_uj[domain];
		}
		assert_int_equal(dynamic_uj, 0);
		assert_int_equal(idle_uj, 0);
	}
	for (size_t i = 0; i < trace->n_slices; i++) {
		const struct wtl_trace_slice *slice = &trace->slices[i];
		int64_t end_ns = slice->end_ns < last_ns ? slice->end_ns : last_ns;

		cpu_ns += end_ns > slice->begin_ns ? end_ns - slice->begin_ns : 0;
	}
	for (size_t i = 0; i < n_places; i++) {
		assert_true(result->cpu_ns[i] >= 0);
		cpu_ns -= result->cpu_ns[i];
		n_samples += result->n_samples[i];
	}
	/* What was billed and not seen to run is time as well. */
	for (size_t i = 0; i < split->n_bills; i++)
		is_more |= split->bills[i].own_ns >= 0;
	assert_true(is_more ? cpu_ns <= 0 : cpu_ns == 0);
	assert_int_equal(n_samples, trace->n_samples);
}

/* Of a stretch between two ticks, no place has more than in all, and the rest is a row. */
static void assert_a_part_is_less(struct wtl_split *split, const struct wtl_trace *trace,
				  const struct wtl_split_result *whole)
{
	struct wtl_split_stretch stretch;
	struct wtl_split_result part;
	size_t from = (size_t)below((int64_t)split->n_ticks);

	stretch.begin_ns = split->ticks[from].t_ns;
	from += (size_t)below((int64_t)(split->n_ticks - from));
	stretch.end_ns = split->ticks[from].t_ns;
	split->stretches = &stretch;
	split->n_stretches = 1;
	assert_int_equal(wtl_split_compute(split, trace, &part), 0);
	for (size_t domain = 0; domain < split->n_domains; domain++) {
		uint64_t all_uj = 0, sum_uj = 0;

		for (size_t i = 0; i < part.n_nodes + WTL_SPLIT_ROWS; i++) {
			size_t at = i * split->n_domains + domain;

			all_uj += whole->dynamic_uj[at];
			sum_uj += part.dynamic_uj[at];
			if (i != part.n_nodes + WTL_SPLIT_OUTSIDE)
				assert_true(part.dynamic_uj[at] <= whole->dynamic_uj[at] &&
					    part.idle_uj[at] <= whole->idle_uj[at] &&
					    part.cpu_ns[i] <= whole->cpu_ns[i]);
		}
		assert_int_equal(sum_uj, all_uj);
	}
	wtl_split_result_done(&part);
}

static void test_nothing_is_lost_or_made(void **state)
{
	(void)state;
	srandom(3);
	for (int round = 0; round < ROUNDS; round++) {
		int64_t length_ns = below(2) ? 10 * WTL_NS_PER_S : 1000;
		struct wtl_split_result result;
		struct wtl_split split;
		struct wtl_trace trace;

		make_any_trace(&trace, length_ns);
		wtl_split_init(&split, (size_t)below(4) + 1, 0);
		make_any_bills(&split, length_ns);
		assert_int_equal(wtl_split_compute(&split, &trace, &result), 0);
		assert_all_is_there(&split, &trace, &result);
		assert_a_part_is_less(&split, &trace, &result);
		wtl_split_result_done(&result);
		wtl_split_done(&split);
		end_trace(&trace);
	}
}

/* Frames of those nodes are in a GPU's driver. */
static struct wtl_module driver = {.path = (char[]){"/usr/lib/libcuda.so.1"}};

static void put_into_driver(struct wtl_trace *trace, uint32_t node)
{
	trace->tree.frames[trace->tree.nodes[node].frame].module = &driver;
}

static void test_nothing_of_gpus_is_lost_or_made(void **state)
{
	static const bool launches[] = {true, true, true, true};

	(void)state;
	srandom(4);
	for (int round = 0; round < ROUNDS; round++) {
		struct wtl_split_result result;
		struct wtl_split split;
		struct wtl_trace trace;

		make_any_trace(&trace, 10 * WTL_NS_PER_S);
		for (uint32_t i = 1; i < trace.tree.n_nodes; i++)
			if (below(3) == 0)
				put_into_driver(&trace, i);
		wtl_split_init(&split, (size_t)below(4) + 1, 0);
		split.launches = launches;
		make_any_bills(&split, 10 * WTL_NS_PER_S);
		assert_int_equal(wtl_split_compute(&split, &trace, &result), 0);
		assert_all_is_there(&split, &trace, &result);
		assert_a_part_is_less(&split, &trace, &result);
		wtl_split_result_done(&result);
		wtl_split_done(&split);
		end_trace(&trace);
	}
}

static void add_gpu_tick(struct wtl_split *split, int64_t t_ns, uint64_t energy_uj)
{
	wtl_split_add_tick(split, t_ns)->energy_uj[0] = energy_uj;
}

/* The counter moves at 20, 60 and 80 ms. Node 1 waits in the driver, 2 computes, 3 waits less; nobody runs at the end. */
static void test_launches(void **state)
{
	static const bool launches[] = {true};
	struct wtl_split_result result;
	struct wtl_split split;
	struct wtl_trace trace;

	(void)state;
	begin_trace(&trace, 1, 3, 3, 7);
	put_into_driver(&trace, 1);
	put_into_driver(&trace, 3);
	add_slice(&trace, 0, 0, 50000000);
	add_sample(&trace, 0, 1, 5000000);
	add_sample(&trace, 0, 1, 15000000);
	add_sample(&trace, 0, 2, 25000000);
	add_sample(&trace, 0, 2, 35000000);
	add_sample(&trace, 0, 3, 45000000);
	wtl_split_init(&split, 1, 0);
	split.launches = launches;
	for (int64_t t_ns = 10000000; t_ns <= 100000000; t_ns += 10000000)
		add_gpu_tick(&split, t_ns,
			     t_ns < 20000000   ? 0
			     : t_ns < 60000000 ? 3000
			     : t_ns < 80000000 ? 9000
					       : 10000);
	wtl_split_add_bill(&split, 100000000)->dynamic_uj[0] = 10000;
	split.bills[0].idle_uw[0] = UINT64_MAX;
	assert_int_equal(wtl_split_compute(&split, &trace, &result), 0);
	assert_int_equal(result.dynamic_uj[1], 3000);
	assert_int_equal(result.dynamic_uj[2], 0);
	assert_int_equal(result.dynamic_uj[3], 6000 + 1000);
	assert_all_is_there(&split, &trace, &result);
	wtl_split_result_done(&result);
	/* Nobody in the driver: to who ran when it was drawn, as ever. */
	driver.path[9] = 'x';
	assert_int_equal(wtl_split_compute(&split, &trace, &result), 0);
	driver.path[9] = 'l';
	assert_int_equal(result.dynamic_uj[1], 10000);
	assert_all_is_there(&split, &trace, &result);
	wtl_split_result_done(&result);
	wtl_split_done(&split);
	end_trace(&trace);
}

static void test_rows_of_what_is_no_stacks(void **state)
{
	struct wtl_split_result result;
	struct wtl_split split;
	struct wtl_trace trace;

	(void)state;
	/* Seen 4 ms after it ran, then 6 ms after it; and billed when it did not run. */
	begin_trace(&trace, 1, 1, 3, 2);
	add_slice(&trace, 0, 10000000, 11000000);
	add_slice(&trace, 0, 13000000, 14000000);
	add_sample(&trace, 0, 1, 19000000 - 1000000);
	wtl_split_init(&split, 1, 0);
	wtl_split_add_bill(&split, 20000000)->dynamic_uj[0] = 1000;
	wtl_split_add_bill(&split, 30000000)->dynamic_uj[0] = 7;
	/* A process of it that was not looked at used three times what this thread did. */
	wtl_split_add_bill(&split, 40000000)->dynamic_uj[0] = 400;
	split.bills[2].own_ns = 4000000;
	add_slice(&trace, 0, 31000000, 32000000);
	add_sample(&trace, 0, 1, 31500000);
	assert_int_equal(wtl_split_compute(&split, &trace, &result), 0);
	assert_int_equal(result.dynamic_uj[1], 500 + 100);
	assert_int_equal(result.dynamic_uj[result.n_nodes + WTL_SPLIT_UNSAMPLED], 500 + 300);
	assert_int_equal(result.dynamic_uj[result.n_nodes + WTL_SPLIT_UNKNOWN], 7);
	assert_int_equal(result.cpu_ns[1], 2000000);
	assert_int_equal(result.cpu_ns[result.n_nodes + WTL_SPLIT_UNSAMPLED], 4000000);
	assert_all_is_there(&split, &trace, &result);
	wtl_split_result_done(&result);
	wtl_split_done(&split);
	end_trace(&trace);
}

/* A sample each 20 ms of CPU time, of a thread that runs for 4 ms and waits for 9 ms: each has half a period on both
 * sides, at the ends a whole one; what is further away from all is not seen, whatever the time on the clock. */
static void test_samples_stand_for_a_period(void **state)
{
	enum { MS = 1000000, SLICES = 25, SLICE = 13 * MS };
	struct wtl_split_result result;
	struct wtl_split split;
	struct wtl_trace trace;

	(void)state;
	begin_trace(&trace, 1, 3, SLICES, 3);
	for (int64_t i = 0; i < SLICES; i++)
		add_slice(&trace, 0, i * SLICE, i * SLICE + 4 * MS);
	add_sample(&trace, 0, 1, 6 * SLICE + 2 * MS);  /* after 26 ms of CPU time */
	add_sample(&trace, 0, 2, 11 * SLICE + 2 * MS); /* 46 ms */
	add_sample(&trace, 0, 3, 16 * SLICE + 2 * MS); /* 66 ms; 34 ms are left */
	wtl_split_init(&split, 1, 0);
	split.period_ns = 20 * MS;
	wtl_split_add_bill(&split, SLICES * SLICE)->dynamic_uj[0] = 1000;
	assert_int_equal(wtl_split_compute(&split, &trace, &result), 0);
	assert_int_equal(result.cpu_ns[1], 32 * MS); /* slices 1 to 8 */
	assert_int_equal(result.cpu_ns[2], 20 * MS);
	assert_int_equal(result.cpu_ns[3], 32 * MS); /* slices 14 to 21 */
	assert_int_equal(result.cpu_ns[result.n_nodes + WTL_SPLIT_UNSAMPLED], 16 * MS);
	assert_all_is_there(&split, &trace, &result);
	wtl_split_result_done(&result);
	/* As if every second sample had been dropped. */
	trace.n_halved = 1;
	assert_int_equal(wtl_split_compute(&split, &trace, &result), 0);
	assert_int_equal(result.cpu_ns[result.n_nodes + WTL_SPLIT_UNSAMPLED], 0);
	wtl_split_result_done(&result);
	wtl_split_done(&split);
	end_trace(&trace);
}

/* ---- The truth ---- */

/* Functions that take turns on one processor, each with a power of its own, beside a machine that draws 20 W. */
struct play {
	int64_t phase_ns, tick_ns;
	double watts[3];
	int64_t parts[3]; /* phases of each, in a round */
};

enum { LENGTH_S = 20, IDLE_W = 20 };

struct moment {
	int64_t t_ns;
	double energy_uj, idle_uj; /* since the start */
	double of[3];
};

/* Which one runs at that time, and until when. */
static size_t runs_at(const struct play *play, int64_t t_ns, int64_t *ret_until_ns)
{
	int64_t phase = t_ns / play->phase_ns;
	int64_t at = phase % (play->parts[0] + play->parts[1] + play->parts[2]);

	*ret_until_ns = (phase + 1) * play->phase_ns;
	return at < play->parts[0] ? 0 : at < play->parts[0] + play->parts[1] ? 1 : 2;
}

static void go_on(const struct play *play, struct moment *moment, int64_t to_ns)
{
	while (moment->t_ns < to_ns) {
		int64_t until_ns;
		size_t which = runs_at(play, moment->t_ns, &until_ns);
		double ns;

		until_ns = until_ns < to_ns ? until_ns : to_ns;
		ns = (double)(until_ns - moment->t_ns);
		moment->of[which] += play->watts[which] * ns / 1e3;
		moment->energy_uj += (play->watts[which] + IDLE_W) * ns / 1e3;
		moment->idle_uj += IDLE_W * ns / 1e3;
		moment->t_ns = until_ns;
	}
}

static void play_out(const struct play *play, struct wtl_split *split, struct wtl_trace *trace,
		     double ret_truth_uj[3])
{
	struct moment now = {0}, bill_before = {0};
	const int64_t end_ns = LENGTH_S * WTL_NS_PER_S;
	int64_t sample_ns = 500000 + below(1000000), bill_ns = WTL_NS_PER_S;

	add_slice(trace, 0, 0, end_ns);
	/* Readings know nothing of phases, and come some 20 µs early or late. */
	for (int64_t tick_ns = play->tick_ns / 3; now.t_ns < end_ns; tick_ns += play->tick_ns) {
		go_on(play, &now, tick_ns < end_ns ? tick_ns - 20000 + below(40000) : end_ns);
		wtl_split_add_tick(split, now.t_ns)->energy_uj[0] = (uint64_t)now.energy_uj;
		if (tick_ns >= bill_ns || now.t_ns == end_ns) {
			struct wtl_split_bill *bill = wtl_split_add_bill(split, now.t_ns);

			bill->busy_ns = now.t_ns - bill_before.t_ns;
			bill->idle_uw[0] = IDLE_W * UINT64_C(1000000);
			bill->dynamic_uj[0] =
				(uint64_t)(now.energy_uj - now.idle_uj) -
				(uint64_t)(bill_before.energy_uj - bill_before.idle_uj);
			bill_before = now;
			bill_ns += WTL_NS_PER_S;
		}
	}
	for (; sample_ns < end_ns; sample_ns += WTL_NS_PER_S / 997) {
		int64_t until_ns;

		add_sample(trace, 0, (uint32_t)runs_at(play, sample_ns, &until_ns) + 1, sample_ns);
	}
	memcpy(ret_truth_uj, now.of, sizeof(now.of));
}

/* The largest error of a function that has 5 % at least. */
static double worst_error(const struct play *play)
{
	struct wtl_split_result result;
	struct wtl_split split;
	struct wtl_trace trace;
	double truth_uj[3], worst = 0.0;

	begin_trace(&trace, 1, 3, 1, LENGTH_S * 1100);
	wtl_split_init(&split, 1, 0);
	play_out(play, &split, &trace, truth_uj);
	assert_int_equal(wtl_split_compute(&split, &trace, &result), 0);
	assert_all_is_there(&split, &trace, &result);
	for (size_t i = 0; i < 3; i++) {
		double error = fabs((double)result.dynamic_uj[i + 1] / truth_uj[i] - 1.0);

		if (truth_uj[i] >= 0.05 * (truth_uj[0] + truth_uj[1] + truth_uj[2]) &&
		    error > worst)
			worst = error;
	}
	wtl_split_result_done(&result);
	wtl_split_done(&split);
	end_trace(&trace);
	return worst;
}

static void test_functions_get_what_they_drew(void **state)
{
	static const int64_t phases_ms[] = {5, 7, 20, 50, 100, 333, 1000, 2500, 5000};

	(void)state;
	srandom(4);
	for (size_t i = 0; i < UNIT_COUNT(phases_ms); i++)
		for (int64_t tick_ms = 1; tick_ms <= 500; tick_ms *= 10) {
			const struct play play = {.phase_ns = phases_ms[i] * WTL_NS_PER_MS,
						  .tick_ns = tick_ms * WTL_NS_PER_MS,
						  .watts = {30, 60, 12},
						  .parts = {2, 1, 1}};
			double error = worst_error(&play);
			double ticks = (double)play.phase_ns / (double)play.tick_ns;

			print_message("phases of %4lld ms, a reading every %3lld ms: %.1f %%\n",
				      (long long)phases_ms[i], (long long)tick_ms, 100.0 * error);
			/* A reading in which two of them ran gives both its mean power: of five times the
			 * power of its neighbour, that is so much. */
			if (ticks > 1.0)
				assert_true(error < 1.5 / ticks + 0.005);
			if (ticks >= 40.0)
				assert_true(error < 0.05);
		}
}

/* As of days: no more ticks than there may be, and the last one is that which was told last. */
static void test_many_ticks(void **state)
{
	struct wtl_split split;

	(void)state;
	wtl_split_init(&split, 1, 0);
	split.ticks_most = 100;
	for (int64_t at_ns = 1; at_ns <= 12345; at_ns++) {
		struct wtl_split_tick *tick = wtl_split_add_tick(&split, at_ns);

		assert_non_null(tick);
		assert_int_equal(tick->energy_uj[0], 0);
		tick->energy_uj[0] = (uint64_t)(2 * at_ns);
		assert_in_range(split.n_ticks, 1, 100);
		assert_int_equal(split.ticks[split.n_ticks - 1].t_ns, at_ns);
	}
	assert_true(split.n_ticks > 40);
	for (size_t i = 0; i < split.n_ticks; i++) {
		assert_int_equal(split.ticks[i].energy_uj[0], 2 * split.ticks[i].t_ns);
		assert_true(i == 0 || split.ticks[i].t_ns - split.ticks[i - 1].t_ns <=
					      2 * (int64_t)split.ticks_each);
	}
	wtl_split_done(&split);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_is_lost_or_made),
		cmocka_unit_test(test_nothing_of_gpus_is_lost_or_made),
		cmocka_unit_test(test_launches),
		cmocka_unit_test(test_rows_of_what_is_no_stacks),
		cmocka_unit_test(test_samples_stand_for_a_period),
		cmocka_unit_test(test_functions_get_what_they_drew),
		cmocka_unit_test(test_many_ticks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
