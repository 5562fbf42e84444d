/* SPDX-License-Identifier: MIT */
/* The simulated machine's truth (tests/sim): scenarios, and energy as a function of CPU time. */
#include "unit.h"

#include <stdio.h>
#include <string.h>

#include "model.h"
#include "scenario.h"

#define NS_PER_S INT64_C(1000000000)
#define PJ_PER_J UINT64_C(1000000000000)

static struct sim_scenario parsed(const char *text)
{
	struct sim_scenario scenario;
	char reason[128] = "";
	int line = sim_scenario_parse(text, &scenario, reason);

	if (line != 0)
		fail_msg("line %d: %s", line, reason);
	return scenario;
}

static void test_defaults(void **state)
{
	struct sim_scenario scenario = parsed("socket idle=10\nworker w watts=5\n");

	(void)state;
	assert_int_equal(scenario.n_sockets, 1);
	assert_int_equal(scenario.sockets[0].idle_mw, 10000);
	assert_false(scenario.sockets[0].has_dram);
	assert_int_equal(scenario.duration_ns, 10 * NS_PER_S);
	assert_int_equal(scenario.tick_ns, 4000000);
	assert_int_equal(scenario.n_workers, 1);
	assert_string_equal(scenario.workers[0].name, "w");
	assert_int_equal(scenario.workers[0].cpu_mw, 5000);
	assert_int_equal(scenario.workers[0].duty_ppm, 1000000);
	assert_int_equal(scenario.workers[0].start_ns, 0);
	assert_true(scenario.workers[0].stop_ns == INT64_MAX);
	assert_int_equal(scenario.others_mw, 0);
	assert_false(scenario.has_gpu);
}

static const char everything[] =
	"# a machine\n"
	"seed 7\n"
	"duration 12.5   # s\n"
	"tick 2\n"
	"unit 15\n"
	"counter-start 1000\r\n"
	"counter-range 2000000\n"
	"rise 14.92\n"
	"others 20.5\n"
	"\n"
	"socket idle=74.05 dram=4.5\n"
	"\tsocket idle=69.86\n"
	"pmu mhz=2400\n"
	"worker alone watts=37.8 dram=1.5 duty=0.25 socket=1 start=2 stop=8.5 ipc=1.25 threads=3\n"
	"storm storm-1 watts=20 children=300 ms=5.5 start=3 ipc=0.5\n"
	"gpu idle=60 full=260.5 memory=40960\n"
	"gpu-use alone sm=40 memory=2048\n"
	"gpu-use storm-1 start=4 stop=5\n";

static void test_everything(void **state)
{
	struct sim_scenario scenario = parsed(everything);

	(void)state;
	assert_int_equal(scenario.seed, 7);
	assert_int_equal(scenario.duration_ns, 12500000000);
	assert_int_equal(scenario.tick_ns, 2000000);
	assert_int_equal(scenario.unit_uj, 15);
	assert_int_equal(scenario.start_uj, 1000);
	assert_int_equal(scenario.range_uj, 2000000);
	assert_int_equal(scenario.rise_mw, 14920);
	assert_int_equal(scenario.others_mw, 20500);
	assert_int_equal(scenario.n_sockets, 2);
	assert_true(scenario.sockets[0].has_dram && !scenario.sockets[1].has_dram);
	assert_int_equal(scenario.sockets[0].dram_idle_mw, 4500);
	assert_int_equal(scenario.workers[0].dram_mw, 1500);
	assert_int_equal(scenario.workers[0].duty_ppm, 250000);
	assert_int_equal(scenario.workers[0].socket, 1);
	assert_int_equal(scenario.workers[0].start_ns, 2 * NS_PER_S);
	assert_int_equal(scenario.workers[0].stop_ns, 8500000000);
	assert_int_equal(scenario.workers[0].children, 0);
	assert_int_equal(scenario.pmu_mhz, 2400);
	assert_int_equal(scenario.workers[0].ipc_milli, 1250);
	assert_int_equal(scenario.workers[0].threads, 3);
	assert_int_equal(scenario.workers[1].ipc_milli, 500);
	assert_int_equal(scenario.workers[1].threads, 1);
	assert_int_equal(scenario.workers[1].children, 300);
	assert_int_equal(scenario.workers[1].child_ns, 5500000);
	assert_int_equal(scenario.gpu_idle_mw, 60000);
	assert_int_equal(scenario.gpu_full_mw, 260500);
	assert_int_equal(scenario.gpu_memory_mib, 40960);
	assert_int_equal(scenario.n_gpu_uses, 2);
	assert_int_equal(scenario.gpu_uses[0].sm_percent, 40);
	assert_int_equal(scenario.gpu_uses[0].start_ns, 2 * NS_PER_S); /* as its worker */
	assert_int_equal(scenario.gpu_uses[0].stop_ns, 8500000000);
	assert_int_equal(scenario.gpu_uses[1].worker, 1);
	assert_int_equal(scenario.gpu_uses[1].stop_ns, 5 * NS_PER_S);
	assert_true(sim_scenario_on_gpu(&scenario, 0) && sim_scenario_on_gpu(&scenario, 1));
	scenario = parsed("socket\nworker a\n");
	assert_false(sim_scenario_on_gpu(&scenario, 0));
	assert_int_equal(scenario.pmu_mhz, 0);
	assert_int_equal(scenario.workers[0].ipc_milli, 1000);
	assert_int_equal(scenario.workers[0].threads, 1);
	assert_int_equal(parsed("socket\npmu\n").pmu_mhz, 3000);
}

/* The number of the line, and a word about it. */
static void test_bad_scenarios(void **state)
{
	static const struct {
		int line;
		const char *text, *reason;
	} bad[] = {
		{1, "", "socket"},
		{1, "# nothing\n", "socket"},
		{2, "socket\nwheel 4\n", "wheel"},
		{2, "socket\nworker\n", "missing"},
		{2, "socket\nworker Upper\n", "Upper"},
		{2, "socket\nworker a-name-that-is-too-long\n", "not a name"},
		{3, "socket\nworker a\nworker a\n", "taken"},
		{2, "socket\nworker a watts=-1\n", "range"},
		{2, "socket\nworker a watts=1e3\n", "range"},
		{2, "socket\nworker a watts=2000000\n", "range"},
		{2, "socket\nworker a duty=1.5\n", "range"},
		{2, "socket\nworker a colour=red\n", "colour"},
		{2, "socket\nworker a threads=0\n", "threads"},
		{2, "socket\nworker a threads=65\n", "range"},
		{2, "socket\nworker a ipc=11\n", "range"},
		{2, "socket\npmu mhz=0\n", "clock"},
		{2, "socket\nstorm a threads=2\n", "threads"},
		{2, "socket\nworker a stray\n", "stray"},
		{2, "socket\nworker a socket=1\n", "socket"},
		{2, "socket\nworker a start=3 stop=2\n", "stops"},
		{2, "socket\nstorm a children=0\n", "children"},
		{2, "socket\nstorm a children=20001\n", "range"},
		{3, "socket\nworker a\ngpu-use a\n", "gpu"},
		{3, "socket\ngpu\ngpu-use nobody\n", "nobody"},
		{2, "socket\ngpu idle=10 full=5\n", "gpu"},
		{2, "socket\ngpu-use\n", "missing"},
		{2, "socket\nduration 0\n", "duration"},
		{2, "socket\ntick 0.5\n", "tick"},
		{2, "socket\nseed\n", "missing"},
		{2, "socket\nunit 0\n", "unit"},
		{2, "socket\ncounter-range 5\n", "counter-range"},
		{9, "socket\nsocket\nsocket\nsocket\nsocket\nsocket\nsocket\nsocket\nsocket\n",
		 "too many"},
	};

	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(bad); i++) {
		struct sim_scenario scenario;
		char reason[128] = "";

		assert_int_equal(sim_scenario_parse(bad[i].text, &scenario, reason), bad[i].line);
		if (!strstr(reason, bad[i].reason))
			fail_msg("%s: \"%s\" is not in \"%s\"", bad[i].text, bad[i].reason, reason);
	}
}

static void test_too_many(void **state)
{
	char text[20000] = "socket\n", reason[128];
	struct sim_scenario scenario;

	(void)state;
	for (unsigned i = 0; i < SIM_WORKERS_MAX; i++)
		snprintf(text + strlen(text), 32, "worker w-%u\n", i);
	assert_int_equal(sim_scenario_parse(text, &scenario, reason), 0);
	strcat(text, "worker one-more\n");
	assert_int_equal(sim_scenario_parse(text, &scenario, reason), SIM_WORKERS_MAX + 2);
	memset(text, 'x', 1000);
	text[1000] = '\0';
	assert_int_equal(sim_scenario_parse(text, &scenario, reason), 1);
	memset(text, 0, sizeof(text));
	for (unsigned i = 0; i < 40; i++)
		strcat(text, "x ");
	assert_int_equal(sim_scenario_parse(text, &scenario, reason), 1);
}

/* ---- Energy ---- */

static const struct sim_domain *domain(const struct sim_model *model, size_t i)
{
	assert_true(model->domains[i].exists);
	return &model->domains[i];
}

static void test_idle(void **state)
{
	struct sim_scenario scenario = parsed("socket idle=74.05 dram=4\nsocket idle=69.86\n"
					      "gpu idle=60\nunit 61\n");
	const int64_t none[SIM_CONSUMERS_MAX] = {0};
	struct sim_model model;

	(void)state;
	sim_model_init(&model, &scenario);
	for (int64_t t_ns = 0; t_ns <= NS_PER_S; t_ns += NS_PER_S / 250)
		sim_model_step(&model, t_ns, none);
	assert_int_equal(sim_domain_pj(domain(&model, sim_model_package(0))),
			 7405 * PJ_PER_J / 100);
	assert_int_equal(sim_domain_pj(domain(&model, sim_model_package(1))),
			 6986 * PJ_PER_J / 100);
	assert_int_equal(sim_domain_pj(domain(&model, sim_model_dram(0))), 4 * PJ_PER_J);
	assert_false(model.domains[sim_model_dram(1)].exists);
	assert_int_equal(sim_domain_pj(domain(&model, sim_model_gpu())), 60 * PJ_PER_J);
	assert_int_equal(sim_model_counter_uj(&model, sim_model_dram(0)),
			 100000000000 + 4000000 / 61 * 61);
}

/* The facts' case: one busy thread, and the other socket rises too. */
static void test_busy_thread(void **state)
{
	struct sim_scenario scenario = parsed("socket idle=74.05\nsocket idle=69.86\nrise 14.92\n"
					      "worker busy watts=22.92 dram=3\n"
					      "worker never watts=50 socket=1\n");
	int64_t cpu_ns[SIM_CONSUMERS_MAX] = {0};
	struct sim_model model;

	(void)state;
	sim_model_init(&model, &scenario);
	for (unsigned i = 1; i <= 250; i++) {
		cpu_ns[0] = i * NS_PER_S / 250;
		sim_model_step(&model, i * NS_PER_S / 250, cpu_ns);
	}
	assert_int_equal(sim_domain_pj(domain(&model, 0)), 9697 * PJ_PER_J / 100);
	assert_int_equal(sim_domain_pj(domain(&model, 1)), 8478 * PJ_PER_J / 100);
	assert_int_equal(domain(&model, 0)->used_pj[0] + domain(&model, 1)->used_pj[0],
			 3784 * PJ_PER_J / 100);
	assert_int_equal(domain(&model, 1)->used_pj[1], 0);
}

/* The rise belongs to those who work on the other socket, by their use; it has a limit. */
static void test_rise(void **state)
{
	struct sim_scenario scenario = parsed("socket\nsocket\nsocket\nrise 10\n"
					      "worker a watts=1\nworker b watts=1\n"
					      "worker c watts=1 socket=2\n");
	const int64_t cpu_ns[SIM_CONSUMERS_MAX] = {NS_PER_S, 3 * NS_PER_S, NS_PER_S / 2};
	struct sim_model model;

	(void)state;
	sim_model_init(&model, &scenario);
	sim_model_step(&model, NS_PER_S, cpu_ns);
	assert_int_equal(domain(&model, 0)->used_pj[0], PJ_PER_J);
	assert_int_equal(domain(&model, 0)->used_pj[2], 5 * PJ_PER_J);
	assert_int_equal(domain(&model, 1)->used_pj[0], 25 * PJ_PER_J / 10);
	assert_int_equal(domain(&model, 1)->used_pj[1], 75 * PJ_PER_J / 10);
	assert_int_equal(domain(&model, 1)->used_pj[2], 5 * PJ_PER_J);
	assert_int_equal(domain(&model, 2)->used_pj[1], 75 * PJ_PER_J / 10);
	assert_int_equal(sim_domain_pj(domain(&model, 1)), 15 * PJ_PER_J);
}

static void test_others(void **state)
{
	struct sim_scenario scenario = parsed("socket\nsocket\nothers 20\nworker a watts=1\n");
	const int64_t cpu_ns[SIM_CONSUMERS_MAX] = {0, NS_PER_S};
	struct sim_model model;

	(void)state;
	assert_int_equal(scenario.n_workers, 1);
	sim_model_init(&model, &scenario);
	assert_int_equal(sim_model_others(&model), 1);
	sim_model_step(&model, NS_PER_S, cpu_ns);
	assert_int_equal(domain(&model, 0)->used_pj[1], 10 * PJ_PER_J);
	assert_int_equal(domain(&model, 1)->used_pj[1], 10 * PJ_PER_J);
	scenario.others_mw = 0;
	sim_model_init(&model, &scenario);
	sim_model_step(&model, NS_PER_S, cpu_ns);
	assert_int_equal(sim_domain_pj(domain(&model, 0)), 0);
}

static void test_gpu(void **state)
{
	struct sim_scenario scenario = parsed("socket\ngpu idle=50 full=250\n"
					      "worker a duty=0\nworker b duty=0 start=1 stop=3\n"
					      "gpu-use a sm=60 start=0.5 stop=2.5\n"
					      "gpu-use b sm=40\n");
	const int64_t none[SIM_CONSUMERS_MAX] = {0};
	struct sim_model model;

	(void)state;
	sim_model_init(&model, &scenario);
	for (int64_t t_ns = 0; t_ns <= 4 * NS_PER_S; t_ns += 7000001)
		sim_model_step(&model, t_ns, none);
	sim_model_step(&model, 4 * NS_PER_S, none);
	assert_int_equal(domain(&model, sim_model_gpu())->idle_pj, 200 * PJ_PER_J);
	assert_int_equal(domain(&model, sim_model_gpu())->used_pj[0], 240 * PJ_PER_J);
	assert_int_equal(domain(&model, sim_model_gpu())->used_pj[1], 160 * PJ_PER_J);
}

/* A clock that seems to go back (a child ended, and is not counted yet) takes nothing back. */
static void test_backwards(void **state)
{
	struct sim_scenario scenario = parsed("socket\nworker a watts=10\n");
	int64_t cpu_ns[SIM_CONSUMERS_MAX] = {NS_PER_S / 2};
	struct sim_model model;

	(void)state;
	sim_model_init(&model, &scenario);
	sim_model_step(&model, NS_PER_S, cpu_ns);
	cpu_ns[0] = NS_PER_S / 4;
	sim_model_step(&model, 2 * NS_PER_S, cpu_ns);
	cpu_ns[0] = NS_PER_S;
	sim_model_step(&model, 3 * NS_PER_S, cpu_ns);
	assert_int_equal(sim_domain_pj(domain(&model, 0)), 10 * PJ_PER_J);
	assert_int_equal(model.cpu_ns[0], NS_PER_S);
}

static void test_counter_wraps(void **state)
{
	struct sim_scenario scenario =
		parsed("socket idle=1\nunit 10\ncounter-start 999990\ncounter-range 1000000\n");
	const int64_t none[SIM_CONSUMERS_MAX] = {0};
	struct sim_model model;

	(void)state;
	sim_model_init(&model, &scenario);
	assert_int_equal(sim_model_counter_uj(&model, 0), 999990);
	sim_model_step(&model, 9999, none); /* 9.999 nJ */
	assert_int_equal(sim_model_counter_uj(&model, 0), 999990);
	sim_model_step(&model, 9999999, none); /* 9.999999 mJ */
	assert_int_equal(sim_model_counter_uj(&model, 0), 9980);
}

static uint64_t random_next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* The same CPU times, however they fall into steps, give the same energy of each domain, to the
 * rounding of what is divided; and the same steps give the very same. */
static void test_deterministic(void **state)
{
	struct sim_scenario scenario =
		parsed("socket idle=3 dram=1\nsocket idle=5\nrise 0\nothers 7\n"
		       "worker a watts=10 dram=2\n"
		       "worker b watts=16 socket=1\n");
	static struct sim_model models[3];
	int64_t cpu_ns[SIM_CONSUMERS_MAX] = {0}, t_ns = 0;
	uint64_t random = 3;

	(void)state;
	for (size_t i = 0; i < 3; i++)
		sim_model_init(&models[i], &scenario);
	for (unsigned i = 0; i < 1000; i++) {
		t_ns += (int64_t)(random_next(&random) % 10000000);
		for (size_t k = 0; k < 3; k++)
			cpu_ns[k] += (int64_t)(random_next(&random) % 5000000) * 2;
		sim_model_step(&models[0], t_ns, cpu_ns);
		sim_model_step(&models[1], t_ns, cpu_ns);
	}
	sim_model_step(&models[2], t_ns, cpu_ns);
	assert_memory_equal(&models[0], &models[1], sizeof(models[0]));
	assert_memory_equal(&models[0], &models[2], sizeof(models[0]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults),      cmocka_unit_test(test_everything),
		cmocka_unit_test(test_bad_scenarios), cmocka_unit_test(test_too_many),
		cmocka_unit_test(test_idle),	      cmocka_unit_test(test_busy_thread),
		cmocka_unit_test(test_rise),	      cmocka_unit_test(test_others),
		cmocka_unit_test(test_gpu),	      cmocka_unit_test(test_backwards),
		cmocka_unit_test(test_counter_wraps), cmocka_unit_test(test_deterministic),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
