/* SPDX-License-Identifier: MIT */
/*
 * The figures of made-up sensors over made-up loads, as they were: whatever changes one of them is to be seen in
 * tests/golden/figures.txt. What is right about them is for other tests.
 */
#include <stdio.h>
#include <stdlib.h>

#include "account_bench.h"
#include "energy/baseline.h"
#include "energy/sensor_class.h"
#include "golden.h"

enum { SECONDS = 60, LENGTH_MS = SECONDS * 1000, WINDOWS = 4 };

/* µJ of each load up to each millisecond. */
static uint64_t used_uj[LENGTH_MS + 1];

static uint64_t random_next(uint64_t *seed)
{
	*seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return *seed >> 33;
}

/* Watts at that time. */
static unsigned steady(int ms, uint64_t *seed)
{
	(void)seed;
	return ms >= 0 ? 100 : 0;
}

static unsigned square(int ms, uint64_t *seed)
{
	(void)seed;
	return ms % 3700 < 1850 ? 300 : 40;
}

static unsigned fast_square(int ms, uint64_t *seed)
{
	(void)seed;
	return ms % 210 < 105 ? 200 : 100;
}

static unsigned ramp(int ms, uint64_t *seed)
{
	(void)seed;
	return 10 + (unsigned)ms / 200;
}

static unsigned noise(int ms, uint64_t *seed)
{
	static unsigned held;

	if (ms % 40 == 0)
		held = 50 + (unsigned)(random_next(seed) % 200);
	return held;
}

static unsigned bursts(int ms, uint64_t *seed)
{
	(void)seed;
	return ms % 10000 < 9000 ? 0 : 400;
}

static const struct {
	const char *name;
	unsigned (*watts)(int ms, uint64_t *seed);
} loads[] = {
	{"steady", steady}, {"square", square}, {"fast square", fast_square},
	{"ramp", ramp},	    {"noise", noise},	{"bursts", bursts},
};

static void use(unsigned (*watts)(int ms, uint64_t *seed))
{
	uint64_t seed = 1;

	for (int ms = 0; ms < LENGTH_MS; ms++)
		used_uj[ms + 1] = used_uj[ms] + watts(ms, &seed) * 1000;
}

/* What the sensor shows at that time: as of its last update, a mean of power or a counter. */
static uint64_t shown(const struct wtl_channel *channel, int ms)
{
	int update_ms = channel->update_ns >= MS ? (int)(channel->update_ns / MS) : 1;
	int to_ms = ms / update_ms * update_ms, from_ms = to_ms - update_ms;
	uint64_t counts;

	if (channel->quantity == WTL_QUANTITY_ENERGY) {
		counts = (used_uj[to_ms] + 5000000) * channel->unit.den / channel->unit.num;
		return channel->range ? counts % channel->range : counts;
	}
	if (channel->class) {
		to_ms -= (int)(channel->class->latency_ns / MS);
		from_ms = to_ms - (int)(channel->class->window_ns / MS);
	}
	if (from_ms < 0 || to_ms <= from_ms)
		return used_uj[1] * 1000 * channel->unit.den / channel->unit.num;
	return (used_uj[to_ms] - used_uj[from_ms]) * 1000 / (unsigned)(to_ms - from_ms) *
	       channel->unit.den / channel->unit.num;
}

static void print_figure(FILE *out, const struct bench *b, const struct wtl_mark *mark)
{
	struct wtl_figure f;

	wtl_account_since(&b->account, mark, b->now_ns, &f);
	fprintf(out, " %d %.6f J %lld+%lld us %u/%u ±%.5g,%.5g,%.5g,%.5g,%.5g", f.has_energy,
		(double)f.energy_uj / 1e6, (long long)f.measured_ns / 1000,
		(long long)f.gap_ns / 1000, f.samples, f.resets, f.budget.gain_uj,
		f.budget.quantisation_uj, f.budget.edge_uj, f.budget.sampling_uj,
		f.budget.integration_uj);
}

/* Something happens to the n-th reading. false: there is none at all. */
static bool trouble(struct bench *b, int n, int64_t t_ns, uint64_t *value)
{
	static uint64_t before;

	if (n == 30 || n == 31)
		return false;
	if (n == 40)
		wtl_account_break(&b->account);
	if (n > 50 && b->channel.quantity == WTL_QUANTITY_ENERGY) /* it began again */
		*value = *value > before ? *value - before : 0;
	else
		before = *value;
	if (n >= 20 && n < 23)
		feed(b, t_ns, 0, n == 20 ? WATTLE_STATUS_DENIED : WATTLE_STATUS_FAILED);
	return n < 20 || n >= 23;
}

static void run(FILE *out, const struct wtl_channel *channel, int step_ms, bool has_trouble)
{
	static const int begins_ms[WINDOWS] = {1000, 2050, 7300, 30000};
	static const int ends_ms[WINDOWS] = {1200, 4000, 59000, 31000};
	struct wtl_mark marks[WINDOWS];
	struct bench b;
	int n = 0, open = 0;

	init(&b, *channel);
	for (int ms = 0; ms < LENGTH_MS; ms += step_ms, n++) {
		uint64_t value = shown(channel, ms);
		int64_t t_ns = S + ms * MS + ms * 7919 % 500000;

		if (!has_trouble || trouble(&b, n, t_ns, &value))
			good(&b, t_ns, value);
		for (int i = 0; i < open; i++)
			wtl_account_settle_mark(&b.account, &marks[i]);
		for (int i = 0; i < WINDOWS; i++) {
			if (ms >= begins_ms[i] && ms - step_ms < begins_ms[i]) {
				wtl_account_mark(&b.account, b.now_ns, b.fresh_ns, &marks[i]);
				open = i + 1;
			}
			if (ms >= ends_ms[i] && ms - step_ms < ends_ms[i] && open > i)
				print_figure(out, &b, &marks[i]);
		}
	}
	print_figure(out, &b, &marks[0]);
	fprintf(out, " update %lld edge %lld breaks %llu power %llu spans %u %d%d\n",
		(long long)wtl_account_update_ns(&b.account),
		(long long)wtl_account_edge_ns(&b.account),
		(unsigned long long)wtl_account_breaks(&b.account),
		(unsigned long long)b.account.span_uw, b.account.spans, b.account.is_frozen,
		wtl_account_is_unclear(&b.account));
}

static void test_figures(void **state)
{
	static const int steps_ms[] = {10, 100, 1000};
	struct wtl_channel channels[7] = {counter_channel(), counter_channel(), counter_channel(),
					  power_channel(),   power_channel(),	power_channel(),
					  power_channel()};
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	assert_non_null(out);
	channels[1].range = 1 << 30;
	channels[1].unit = (struct wtl_unit){.num = 15625, .den = 1024};
	channels[1].max_uw = 500 * W;
	channels[2].range = 0;
	channels[2].update_ns = S;
	channels[2].max_uw = 0;
	channels[3].update_ns = S;
	channels[3].offset_uw = 500000;
	channels[4].class = wtl_sensor_class_find(WTL_GPU_ARCH_GA100, 535, WTL_POWER_DRAW);
	channels[5].class = wtl_sensor_class_find(WTL_GPU_ARCH_KEPLER, 390, WTL_POWER_DRAW);
	channels[6].class = wtl_sensor_class_find(WTL_GPU_ARCH_HOPPER, 550, WTL_POWER_AVERAGE);
	for (size_t l = 0; l < UNIT_COUNT(loads); l++) {
		use(loads[l].watts);
		for (size_t c = 0; c < UNIT_COUNT(channels); c++) {
			if (channels[c].class)
				channels[c].update_ns = channels[c].class->update_ns;
			for (size_t s = 0; s < 2 * UNIT_COUNT(steps_ms); s++) {
				fprintf(out, "%s %zu %d%s:", loads[l].name, c, steps_ms[s / 2],
					s % 2 ? " trouble" : "");
				run(out, &channels[c], steps_ms[s / 2], s % 2);
			}
		}
	}
	fclose(out);
	golden_check("figures.txt", text);
	free(text);
}

/* ---- Idle power ---- */

/* Seconds of a machine that is at rest or busy in turn, drawing idle_w and 2 W for each 1 % of use. */
static void learn(FILE *out, const char *name, unsigned idle_w, unsigned noise_mw, int64_t step_ns,
		  uint32_t limit_ppm)
{
	struct wtl_baseline_learner *learner = wtl_baseline_learner_new();
	struct wtl_baseline known;
	uint64_t seed = 3;

	assert_non_null(learner);
	if (limit_ppm > 0)
		wtl_baseline_learner_limit(learner, limit_ppm);
	for (int i = 0; i < 400; i++) {
		uint32_t use_ppm = (uint32_t)(random_next(&seed) % (i % 50 < 20 ? 5000 : 400000));
		uint64_t uw =
			idle_w * W + use_ppm * 200 + random_next(&seed) % (noise_mw * 1000 + 1);
		const struct wtl_baseline_interval interval = {
			.energy_uj = uw * (uint64_t)(step_ns / MS) / 1000,
			.duration_ns = step_ns,
			.begin_edge_ns = 300000,
			.end_edge_ns = 300000,
			.use_ppm = use_ppm,
			.t_utc_ns = i * step_ns,
		};

		if (i % 90 == 89)
			wtl_baseline_learner_break(learner);
		wtl_baseline_learner_add(learner, &interval);
		if (i == 300) /* it draws less from now on */
			idle_w = idle_w * 3 / 4;
		if (i % 7 != 0 && i % 100 != 99)
			continue;
		wtl_baseline_learner_get(learner, &known);
		fprintf(out, "%s %d: %d%d%d %llu ±%llu µW, %lld of %lld ns\n", name, i,
			known.is_known, known.is_modelled, known.is_given,
			(unsigned long long)known.idle_uw, (unsigned long long)known.uncertainty_uw,
			(long long)known.seen_ns, (long long)known.t_utc_ns);
	}
	wtl_baseline_learner_free(learner);
}

static void test_idle(void **state)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	assert_non_null(out);
	learn(out, "steady", 70, 0, S, 0);
	learn(out, "noisy", 70, 9000, S, 0);
	learn(out, "small", 2, 300, S / 4, 0);
	learn(out, "one CPU of four", 20, 1000, 2 * S, wtl_baseline_use_max_ppm(4));
	fclose(out);
	golden_check("idle.txt", text);
	free(text);
}

/* ---- Domains of meters that are fed ---- */

static void print_domain(FILE *out, struct wattle_meter *meter, size_t i, const char *window)
{
	struct wattle_energy energies[3] = {{.size = sizeof(energies[0])}}, *e = &energies[i];
	struct wattle_window w = {.size = sizeof(w)};
	struct wattle_domain d = {.size = sizeof(d)};

	assert_return_code(wattle_meter_domain(meter, i, &d), 0);
	assert_return_code(wattle_window_read(meter, window, &w, energies, UNIT_COUNT(energies)),
			   0);
	fprintf(out,
		" %s %s by %s/%s (%s; %s): %s %s %d%d %llu ± %llu µJ, %llu to %llu µW, %lld+%lld ns, "
		"%u samples, flags %u\n",
		d.name, wattle_status_name(d.status), d.source, d.check ? d.check : "-",
		d.reason ? d.reason : "-", d.remedy ? d.remedy : "-", wattle_status_name(e->status),
		wattle_method_name(e->method), e->has_energy, e->has_power,
		(unsigned long long)e->energy_uj, (unsigned long long)e->uncertainty_uj,
		(unsigned long long)e->mean_uw, (unsigned long long)e->max_uw,
		(long long)e->measured_ns, (long long)e->gap_ns, e->samples, e->flags);
	fprintf(out,
		"  of %s %s %d%d %llu ± %llu µJ, %llu to %llu µW, %lld+%lld ns, %u samples, flags %u\n",
		wattle_status_name(w.total.status), wattle_method_name(w.total.method),
		w.total.has_energy, w.total.has_power, (unsigned long long)w.total.energy_uj,
		(unsigned long long)w.total.uncertainty_uj, (unsigned long long)w.total.mean_uw,
		(unsigned long long)w.total.max_uw, (long long)w.total.measured_ns,
		(long long)w.total.gap_ns, w.total.samples, w.total.flags);
}

/* Two sources that differ by so much, the second of which fails for a while in that way, and a part beside them. */
static void feed_two(FILE *out, enum wattle_kind kind, int energies, unsigned apart_percent,
		     enum wattle_status trouble)
{
	struct wattle_channel channels[3] = {
		{.domain = "a", .source = "one", .kind = kind, .in_total = 1, .gain_ppm = 10000},
		{.domain = "a", .source = "two", .kind = kind, .in_total = 1, .gain_ppm = 20000},
		{.domain = "b",
		 .kind = WATTLE_KIND_CPU,
		 .is_energy = 1,
		 .in_total = 1,
		 .max_uw = 300 * W},
	};
	struct wattle_meter *meter = NULL;

	for (int i = 0; i < 3; i++) {
		channels[i].size = sizeof(channels[i]);
		channels[i].update_ns = S / 10;
		channels[i].is_energy |= energies > i;
	}
	assert_return_code(wattle_meter_open_fed(channels, 3, NULL, &meter, NULL), 0);
	fprintf(out, "%s, %d of energy, %u %% apart, %s\n", wattle_kind_name(kind), energies,
		apart_percent, wattle_status_name(trouble));
	for (unsigned i = 0; i <= 250; i++) {
		uint64_t values[3] = {100 * W, W * (100 + apart_percent), i * J};
		enum wattle_status statuses[3] = {WATTLE_STATUS_OK};

		for (int k = 0; k < energies; k++)
			values[k] = values[k] / 10 * i;
		if (i >= 100 && i < 130)
			statuses[0] = trouble;
		if (i >= 120)
			statuses[1] = trouble;
		assert_return_code(wattle_meter_feed(meter, S, i * S / 10, values, statuses, 3), 0);
		if (i == 2)
			assert_return_code(wattle_window_begin(meter, "w"), 0);
		if (i == 110)
			assert_return_code(wattle_window_begin(meter, "x"), 0);
		if (i == 9 || i == 90 || i == 125 || i == 250)
			print_domain(out, meter, 0, "w");
		if (i == 115 || i == 250)
			print_domain(out, meter, i % 2, "x");
	}
	wattle_meter_close(meter);
}

static void test_fed(void **state)
{
	static const enum wattle_kind kinds[] = {WATTLE_KIND_CPU, WATTLE_KIND_GPU,
						 WATTLE_KIND_BOARD};
	static const unsigned aparts[] = {0, 4, 6, 11, 16, 22};
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	assert_non_null(out);
	for (size_t k = 0; k < UNIT_COUNT(kinds); k++)
		for (int energies = 0; energies <= 2; energies++)
			for (size_t i = 0; i < UNIT_COUNT(aparts); i++)
				feed_two(out, kinds[k], energies, aparts[i],
					 (enum wattle_status)(i == 0 ? WATTLE_STATUS_OK : i + 1));
	fclose(out);
	golden_check("fed.txt", text);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_figures),
		cmocka_unit_test(test_idle),
		cmocka_unit_test(test_fed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
