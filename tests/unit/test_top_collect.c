/* SPDX-License-Identifier: MIT */
/* The collector's threads, on roots and tapes. No test here is about speed. */
#include "commands/top/collect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "commands/top/session.h"
#include "energy/units.h"

#include "unit.h"

static const struct wtl_top_settings settings;

static struct wtl_app app_on(const char *root, const char *tape)
{
	return (struct wtl_app){.settings = {.root = root,
					     .tape = tape,
					     .nvml_path = "",
					     .idle_file = "/nonexistent/idle",
					     .interval_ns = 10 * WTL_NS_PER_MS,
					     .quiet = true}};
}

static const char *path_to(const char *variable, const char *name)
{
	static char path[512];
	const char *dir = getenv(variable);

	assert_non_null(dir);
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

/* Until the view is made, at most for a long time. */
static const struct wtl_top_view *await(struct wtl_top_collector *collector, uint64_t generation)
{
	for (unsigned i = 0; i < 6000; i++) {
		const struct wtl_top_view *view = wtl_top_collector_view(collector);

		if (view->t_mono_ns > 0 && view->generation >= generation)
			return view;
		usleep(10000);
	}
	fail_msg("waited in vain for a view");
	return NULL;
}

static void test_thread(void **state)
{
	struct wtl_app app = app_on(path_to("WATTLE_ROOTS", "xeon-2s-dram"), NULL);
	struct wtl_top_collector collector;
	const struct wtl_top_view *view;
	char name[32];
	int64_t before_ns;

	(void)state;
	wtl_top_collector_init(&collector, &app, &settings);
	view = wtl_top_collector_view(&collector);
	assert_int_equal(view->t_mono_ns, 0);
	assert_int_equal(view->n_domains, 0);
	assert_int_equal(wtl_top_collector_start(&collector), 0);
	view = await(&collector, 2);
	assert_int_equal(wtl_top_collector_wait(&collector, 0), WTL_TOP_RUNNING);
	assert_true(view->n_domains >= 4);
	assert_true(view->is_root);
	/* A view stays as it is until the next one is asked for, whatever the thread does. */
	before_ns = view->t_mono_ns;
	memcpy(name, view->domains[0].name, sizeof(name));
	usleep(300000);
	assert_int_equal(view->t_mono_ns, before_ns);
	assert_string_equal(view->domains[0].name, name);
	assert_true(wtl_top_collector_view(&collector)->t_mono_ns > before_ns);
	assert_true(wtl_top_collector_done(&collector));
}

static void test_ends_at_once(void **state)
{
	struct wtl_app app = app_on(path_to("WATTLE_ROOTS", "xeon-2s-dram"), NULL);

	(void)state;
	app.settings.interval_ns = 3600 * WTL_NS_PER_S; /* nobody waits for the next sample */
	for (unsigned i = 0; i < 5; i++) {
		struct wtl_top_collector collector;

		wtl_top_collector_init(&collector, &app, &settings);
		if (i > 0)
			assert_int_equal(wtl_top_collector_start(&collector), 0);
		if (i > 1)
			wtl_top_collector_wait(&collector, 60 * WTL_NS_PER_S);
		assert_true(wtl_top_collector_done(&collector));
	}
}

static void test_cannot_open(void **state)
{
	struct wtl_app app = app_on(NULL, "/nonexistent/x.tape");
	struct wtl_top_collector collector;

	(void)state;
	wtl_top_collector_init(&collector, &app, &settings);
	assert_int_equal(wtl_top_collector_start(&collector), 0);
	assert_int_equal(wtl_top_collector_wait(&collector, 60 * WTL_NS_PER_S), WTL_TOP_FAILED);
	assert_true(app.complained);
	assert_true(wtl_top_collector_done(&collector));
}

static void test_tape(void **state)
{
	struct wtl_app app =
		app_on(NULL, path_to("WATTLE_SOURCE_ROOT", "tests/fixtures/tapes/server.tape"));
	struct wtl_top_collector collector;
	const struct wtl_top_view *view;
	int rc;

	(void)state;
	app.settings.interval_ns = 100 * WTL_NS_PER_MS;
	app.settings.nvml_path = NULL;
	wtl_top_collector_init(&collector, &app, &settings);
	assert_int_equal(wtl_top_collector_open(&collector), 0);
	do
		rc = wtl_top_collector_step(&collector, INT64_MAX);
	while (rc == 0);
	assert_int_equal(rc, -WTL_ETAPE_END);
	wtl_top_collector_finish(&collector);
	view = wtl_top_collector_view(&collector);
	assert_true(view->is_tape);
	assert_in_range(view->duration_ns, 7 * WTL_NS_PER_S, 9 * WTL_NS_PER_S);
	assert_in_range(view->total.energy.energy_uj, UINT64_C(4000000000), UINT64_C(4200000000));
	assert_true(view->emitted_ug == 0); /* no intensity was set */
	assert_in_range(view->clock.n_bins[0], 70, 90);
	assert_true(wtl_top_collector_done(&collector));
}

static void test_nobody_is_followed(void **state)
{
	struct wtl_app app = app_on(path_to("WATTLE_ROOTS", "xeon-2s-dram"), NULL);
	struct wtl_top_collector collector;
	const struct wtl_top_view *view;

	(void)state;
	app.settings.no_processes = true;
	wtl_top_collector_init(&collector, &app, &settings);
	assert_int_equal(wtl_top_collector_open(&collector), 0);
	wtl_top_collector_finish(&collector);
	view = wtl_top_collector_view(&collector);
	assert_false(view->has_processes);
	assert_non_null(strstr(view->processes_reason, "--no-processes"));
	assert_true(wtl_top_collector_done(&collector));
}

/* This process is among the machine's own, with its user's name. */
static void test_processes(void **state)
{
	struct wtl_app app = app_on(NULL, NULL);
	struct wtl_top_collector collector;
	const struct wtl_top_process *self;
	const struct wtl_top_view *view;
	size_t i = 0;

	(void)state;
	wtl_top_collector_init(&collector, &app, &settings);
	assert_int_equal(wtl_top_collector_start(&collector), 0);
	view = await(&collector, 3);
	while (i < view->n_processes && view->processes[i].consumer.pid != getpid())
		i++;
	assert_true(i < view->n_processes);
	self = &view->processes[i];
	assert_int_equal(self->consumer.uid, getuid());
	assert_true(self->user[0]);
	assert_true(!self->consumer.group ||
		    (self->consumer.group >= view->groups &&
		     self->consumer.group < view->groups + view->n_groups));
	assert_true(wtl_top_collector_done(&collector));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_thread),
		cmocka_unit_test(test_ends_at_once),
		cmocka_unit_test(test_cannot_open),
		cmocka_unit_test(test_tape),
		cmocka_unit_test(test_nobody_is_followed),
		cmocka_unit_test(test_processes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
