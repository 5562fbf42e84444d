/* SPDX-License-Identifier: MIT */
/* Emissions of a recording over time, and its consumers put together. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "energy/carbon.h"
#include "replay_bench.h"
#include "report/recorded.h"
#include "unit.h"

static void record(struct replay_bench *f)
{
	replay_bench_start(f, 2 * S);
	replay_bench_begin(f);
	replay_bench_live_for(f, 6);
	replay_bench_end(f);
	replay_bench_stop(f);
}

static struct wtl_player *open_player(const char *path)
{
	struct wtl_player *player;
	struct wtl_err err = {.code = 0};

	if (wtl_player_open(path, NULL, &player, &err) < 0)
		fail_msg("%s", err.text);
	return player;
}

/* ---- Emissions ---- */

static void emit(const char *path, const struct wtl_intensity *intensity,
		 struct wtl_emission *ret_emission, uint64_t *ret_energy_uj)
{
	const struct wtl_history_options options = {.intensity = intensity};
	struct wtl_history *history;
	struct wtl_played played;
	struct wtl_err err = {.code = 0};

	assert_int_equal(wtl_history_open(path, &options, &history, &err), 0);
	while (wtl_history_step(history, &played, &err) > 0)
		continue;
	*ret_emission = history->emission;
	*ret_energy_uj = history->emission_uj;
	wtl_history_close(history);
}

static void test_constant_is_the_constants(void **state)
{
	struct wtl_intensity_step step = {.t_utc_ns = 0, .mg_per_kwh = 472940};
	const struct wtl_intensity intensity = {.steps = &step, .n = 1};
	struct wtl_emission emission;
	struct wtl_player *player;
	struct wtl_played played;
	struct replay_bench f;
	uint64_t energy_uj;
	int64_t first_ns;

	(void)state;
	record(&f);
	emit(f.path, &intensity, &emission, &energy_uj);
	/* From the first sample's begin to the last one's end. */
	player = open_player(f.path);
	wtl_player_sample_again(player);
	first_ns = wtl_player_mono(player);
	while (wtl_player_step(player, &played, NULL) > 0)
		continue;
	assert_int_equal(emission.known_ns, wtl_player_mono(player) - first_ns);
	wtl_player_close(player);
	assert_true(energy_uj >= f.window.total.energy_uj);
	assert_int_equal(emission.energy_uj, energy_uj);
	assert_int_equal(emission.missing_uj, 0);
	assert_int_equal(wtl_emission_ug(&emission), wtl_carbon_co2e_ug(energy_uj, 472940));
	replay_bench_finish(&f);
}

static void test_steps_within_it(void **state)
{
	struct wtl_intensity_step steps[3] = {{.mg_per_kwh = 100000},
					      {.mg_per_kwh = WTL_INTENSITY_UNKNOWN},
					      {.mg_per_kwh = 300000}};
	const struct wtl_intensity intensity = {.steps = steps, .n = 3};
	struct wtl_emission emission;
	struct replay_bench f;
	uint64_t energy_uj;

	(void)state;
	record(&f);
	for (int i = 0; i < 3; i++)
		steps[i].t_utc_ns = f.window.begin_utc_ns + (2 * i - 1) * S;
	emit(f.path, &intensity, &emission, &energy_uj);
	assert_int_equal(emission.energy_uj + emission.missing_uj, energy_uj);
	/* From 1 to 3 s, and after 5 s: the last step is as long as the one before it. */
	assert_in_range(emission.missing_ns, 2900 * MS, 3200 * MS);
	assert_in_range(emission.known_ns, 2900 * MS, 3200 * MS);
	assert_int_equal(emission.least_mg_per_kwh, 100000);
	assert_int_equal(emission.greatest_mg_per_kwh, 300000);
	assert_in_range(wtl_emission_mean_mg_per_kwh(&emission), 150000, 280000);
	replay_bench_finish(&f);
}

static void test_without_an_intensity_it_does_nothing(void **state)
{
	const struct wtl_intensity none = {.n = 0};
	struct wtl_emission emission;
	struct replay_bench f;
	uint64_t energy_uj;

	(void)state;
	record(&f);
	emit(f.path, NULL, &emission, &energy_uj);
	assert_int_equal(energy_uj, 0);
	emit(f.path, &none, &emission, &energy_uj);
	assert_int_equal(energy_uj, 0);
	assert_int_equal(wtl_emission_ug(&emission), 0);
	replay_bench_finish(&f);
}

static void test_as_a_report(void **state)
{
	const struct wtl_report_place place = {.pue_milli = 1250};
	const struct wtl_emission emission = {.uj_mg_per_kwh = (__int128)3600000000 * 250000,
					      .energy_uj = 3600000000};
	const struct wattle_energy total = {
		.has_energy = 1, .energy_uj = 3600000000, .uncertainty_uj = 36000000};
	const struct wattle_energy nothing = {.has_energy = 1};
	struct wtl_report_carbon carbon;

	(void)state;
	wtl_describe_emission(&place, "grid.csv", &emission, &total, &carbon);
	assert_int_equal(carbon.emitted_ug, 250000);
	assert_int_equal(carbon.uncertainty_ug, 2500);
	assert_int_equal(carbon.emitted_rest_ng, 0);
	assert_int_equal(carbon.uncertainty_rest_ng, 0);
	assert_int_equal(carbon.carbon.intensity_mg_per_kwh, 250000);
	assert_string_equal(carbon.carbon.dataset, "grid.csv");
	assert_int_equal(carbon.pue_milli, 1250);
	assert_false(carbon.is_default);
	wtl_describe_emission(&place, "grid.csv", &emission, &nothing, &carbon);
	assert_int_equal(carbon.uncertainty_ug, 0);
	assert_null(carbon.reason);
	assert_int_equal(carbon.missing_uj, 0);
}

/* 3.6 mJ at 250 g/kWh are 250 ng; 1 % of it is 2.5. */
static void test_little(void **state)
{
	const struct wtl_report_place place = {.pue_milli = 0};
	const struct wtl_emission emission = {.uj_mg_per_kwh = (__int128)3600 * 250000,
					      .energy_uj = 3600};
	const struct wattle_energy total = {
		.has_energy = 1, .energy_uj = 3600, .uncertainty_uj = 36};
	struct wtl_report_carbon carbon;

	(void)state;
	wtl_describe_emission(&place, "grid.csv", &emission, &total, &carbon);
	assert_int_equal(carbon.emitted_ug, 0);
	assert_int_equal(carbon.emitted_rest_ng, 250);
	assert_int_equal(carbon.uncertainty_ug, 1);
	assert_int_equal(carbon.uncertainty_rest_ng, -997);
}

static void test_what_is_not_known_is_not_0(void **state)
{
	const struct {
		struct wtl_emission emission;
		bool is_known;
		uint64_t missing_uj;
	} cases[] = {
		{{.missing_ns = 5, .missing_uj = 7}, false, 7},
		{{.missing_ns = 5}, false, 0}, /* no energy, of no known intensity */
		{{.missing_ns = 5, .missing_uj = -7}, false, 0}, /* corrected downwards */
		{{.known_ns = 5}, true, 0},			 /* no energy is 0 g */
		{{.known_ns = 5, .energy_uj = 9, .missing_ns = 5, .missing_uj = 7}, true, 7},
		{{.known_ns = 5, .missing_ns = 5, .missing_uj = 7}, false, 7},
		{{.energy_uj = 9}, true, 0}, /* while the clock was set back */
	};
	const struct wtl_report_place place = {.pue_milli = 0};
	const struct wattle_energy total = {.has_energy = 1, .energy_uj = 16};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct wtl_report_carbon carbon;

		wtl_describe_emission(&place, "grid.csv", &cases[i].emission, &total, &carbon);
		assert_int_equal(carbon.reason == NULL, cases[i].is_known);
		assert_int_equal(carbon.missing_uj, cases[i].missing_uj);
	}
}

/* ---- Groups ---- */

static struct wtl_player *play(const char *path)
{
	struct wtl_player *player = open_player(path);
	struct wtl_played played;
	struct wtl_err err = {.code = 0};

	while (wtl_player_step(player, &played, &err) > 0)
		;
	return player;
}

static uint64_t sum_of(const struct wtl_recording_grouping *grouping)
{
	uint64_t sum_uj = grouping->others.all.full_uj;

	for (size_t i = 0; i < grouping->n_groups; i++)
		sum_uj += grouping->groups[i].all.full_uj;
	return sum_uj;
}

static uint64_t all_consumers_uj(struct wtl_player *player)
{
	const struct wtl_consumers *consumers = wtl_player_consumers(player);
	uint64_t sum_uj = 0;

	for (size_t i = 0; i < wtl_consumers_slots(consumers); i++) {
		struct wtl_share_energy energy;

		if (!wtl_consumers_get(consumers, i))
			continue;
		wtl_consumers_energy(consumers, i, WTL_PART_ALL, &energy);
		sum_uj += energy.full_uj;
	}
	return sum_uj;
}

static const struct wtl_recording_group *find(const struct wtl_recording_grouping *grouping,
					      const char *name)
{
	for (size_t i = 0; i < grouping->n_groups; i++)
		if (strcmp(grouping->groups[i].name, name) == 0)
			return &grouping->groups[i];
	fail_msg("there is no group %s", name);
	return NULL;
}

static void test_every_grouping_holds_all(void **state)
{
	struct wtl_player *player;
	struct replay_bench f;
	uint64_t all_uj;

	(void)state;
	record(&f);
	player = play(f.path);
	all_uj = all_consumers_uj(player);
	assert_true(all_uj > 0);
	for (int by = WTL_BY_USER; by < WTL_BY_WINDOW; by++) {
		for (unsigned top = 0; top < 4; top++) {
			struct wtl_recording_grouping grouping;

			assert_int_equal(wtl_grouping_new(player, (enum wtl_by)by, top, &grouping),
					 0);
			assert_true(grouping.n_groups <= top);
			assert_true(grouping.n_groups == top || grouping.n_others == 0);
			assert_int_equal(sum_of(&grouping), all_uj);
			for (size_t i = 1; i < grouping.n_groups; i++)
				assert_true(grouping.groups[i - 1].all.full_uj >=
					    grouping.groups[i].all.full_uj);
			wtl_grouping_free(&grouping);
		}
	}
	wtl_player_close(player);
	replay_bench_finish(&f);
}

static void test_what_is_in_a_group(void **state)
{
	struct wtl_recording_grouping grouping;
	struct wtl_player *player;
	struct replay_bench f;

	(void)state;
	record(&f);
	player = play(f.path);
	assert_int_equal(wtl_grouping_new(player, WTL_BY_COMMAND, 100, &grouping), 0);
	assert_true(find(&grouping, "worker")->all.full_uj > 0);
	assert_true(find(&grouping, "worker")->cpu_ns > 0);
	assert_int_equal(find(&grouping, "worker")->n_processes, 1);
	wtl_grouping_free(&grouping);
	/* Nothing here is in a container: one group that has no name. */
	assert_int_equal(wtl_grouping_new(player, WTL_BY_CONTAINER, 100, &grouping), 0);
	assert_int_equal(grouping.n_groups, 1);
	assert_true(find(&grouping, "")->all.full_uj == all_consumers_uj(player));
	wtl_grouping_free(&grouping);
	wtl_player_close(player);
	replay_bench_finish(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_constant_is_the_constants),
		cmocka_unit_test(test_steps_within_it),
		cmocka_unit_test(test_without_an_intensity_it_does_nothing),
		cmocka_unit_test(test_as_a_report),
		cmocka_unit_test(test_little),
		cmocka_unit_test(test_what_is_not_known_is_not_0),
		cmocka_unit_test(test_every_grouping_holds_all),
		cmocka_unit_test(test_what_is_in_a_group),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
