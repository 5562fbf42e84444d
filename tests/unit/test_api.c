/* SPDX-License-Identifier: MIT */
/* The library as a user has it: the public header and libwattle.so, nothing else. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>
#include <wattle.h>

static char *root_path(const char *name)
{
	const char *roots = getenv("WATTLE_ROOTS");
	char *path = NULL;

	assert_non_null(roots);
	assert_true(asprintf(&path, "%s/%s", roots, name) > 0);
	return path;
}

static struct wattle_meter *open_root(const char *name, uint32_t interval_ms)
{
	char *root = root_path(name);
	const struct wattle_options options = {
		.size = sizeof(options), .root = root, .nvml_path = "", .interval_ms = interval_ms};
	struct wattle_meter *meter = NULL;
	struct wattle_error error = {.size = sizeof(error)};

	if (wattle_meter_open(&options, &meter, &error) < 0)
		fail_msg("%s: %s", error.source, error.text);
	/* Nothing of the caller's is kept. */
	memset(root, 'x', strlen(root));
	free(root);
	return meter;
}

static void test_version(void **state)
{
	char text[32];

	(void)state;
	snprintf(text, sizeof(text), "%d.%d.%d", WATTLE_VERSION_MAJOR, WATTLE_VERSION_MINOR,
		 WATTLE_VERSION_PATCH);
	assert_string_equal(wattle_version(), text);
}

static void test_words(void **state)
{
	(void)state;
	for (int i = 0; i < WATTLE_KINDS; i++)
		assert_non_null(wattle_kind_name((enum wattle_kind)i));
	assert_string_equal(wattle_kind_name(WATTLE_KIND_GPU_MEMORY), "gpu-memory");
	assert_null(wattle_kind_name((enum wattle_kind)WATTLE_KINDS));
	assert_null(wattle_kind_name((enum wattle_kind) - 1));
	assert_string_equal(wattle_method_name(WATTLE_METHOD_COUNTER), "counter");
	assert_string_equal(wattle_method_name(WATTLE_METHOD_MIXED), "mixed");
	assert_null(wattle_method_name((enum wattle_method)99));
	assert_string_equal(wattle_status_name(WATTLE_STATUS_OK), "ok");
	assert_string_equal(wattle_status_name(WATTLE_STATUS_ABSENT), "absent");
	assert_null(wattle_status_name((enum wattle_status)99));
}

static void test_strerror(void **state)
{
	static const int codes[] = {WATTLE_E_NO_WINDOW,
				    WATTLE_E_WINDOW_OPEN,
				    WATTLE_E_TOO_MANY,
				    EINVAL,
				    ENOENT,
				    ERANGE,
				    E2BIG,
				    ENODATA};

	(void)state;
	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
		const char *text = wattle_strerror(-codes[i]);

		assert_true(text && text[0]);
		assert_string_equal(wattle_strerror(codes[i]), text);
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(wattle_strerror(-codes[k]), text);
	}
	assert_non_null(wattle_strerror(0));
	assert_non_null(wattle_strerror(INT32_MIN));
	assert_non_null(wattle_strerror(-123456));
}

/* Callers compiled against other versions of the header. */
static void test_option_sizes(void **state)
{
	struct {
		struct wattle_options options;
		char newer[64];
	} wide = {.options = {.nvml_path = ""}};
	char *root = root_path("vm-nothing");
	struct wattle_meter *meter = (void *)7;
	struct wattle_error error = {.size = sizeof(error)};

	(void)state;
	wide.options.root = root;
	wide.options.size = sizeof(wide);
	assert_return_code(wattle_meter_open(&wide.options, &meter, &error), 0);
	assert_int_equal(wattle_meter_domains(meter), 3);
	wattle_meter_close(meter);

	meter = (void *)7;
	wide.newer[63] = 1;
	assert_int_equal(wattle_meter_open(&wide.options, &meter, &error), -E2BIG);
	assert_int_equal(error.code, -E2BIG);
	assert_ptr_equal(meter, (void *)7);

	/* An older one, which knew the root only. */
	wide.options.size = offsetof(struct wattle_options, nvml_path);
	assert_return_code(wattle_meter_open(&wide.options, &meter, &error), 0);
	assert_int_equal(wattle_meter_domains(meter), 3);
	wattle_meter_close(meter);

	wide.options.size = 0;
	assert_int_equal(wattle_meter_open(&wide.options, &meter, &error), -EINVAL);
	assert_non_null(strstr(error.text, "size"));
	wide.options.size = 1 << 20;
	assert_int_equal(wattle_meter_open(&wide.options, &meter, &error), -EINVAL);
	free(root);
}

/* A caller that knows fewer members gets those, and not a byte beside them. */
static void test_output_sizes(void **state)
{
	struct wattle_meter *meter = open_root("client-psys", 0);
	struct wattle_energy energies[3] = {{.size = sizeof(energies[0])}};
	struct wattle_window window = {.size = sizeof(window)}, whole = window;
	struct wattle_domain domain;
	struct wattle_error error = {.code = 7};
	struct wattle_meter *other = NULL;
	char *at = (char *)energies;

	(void)state;
	memset(&domain, 0x5a, sizeof(domain));
	domain.size = offsetof(struct wattle_domain, inside);
	assert_return_code(wattle_meter_domain(meter, 0, &domain), 0);
	assert_string_equal(domain.name, "package-0");
	assert_int_equal((uintptr_t)domain.inside, (uintptr_t)UINT64_C(0x5a5a5a5a5a5a5a5a));
	for (size_t size = 0; size <= sizeof(size_t); size++) {
		domain.size = window.size = size;
		assert_int_equal(wattle_meter_domain(meter, 0, &domain), -EINVAL);
		assert_int_equal(wattle_window_read(meter, "w", &window, NULL, 0), -EINVAL);
		assert_int_equal(wattle_window_end(meter, "w", &window, NULL, 0), -EINVAL);
		assert_int_equal(wattle_window_pop(meter, &window, NULL, 0), -EINVAL);
	}
	assert_int_equal(wattle_meter_open(NULL, &other, &error), -EINVAL);
	assert_int_equal(error.code, 7);

	/* Elements of an older size stand closer together, and so ends the total of a window. */
	assert_return_code(wattle_window_begin(meter, "w"), 0);
	energies[0].size = offsetof(struct wattle_energy, energy_uj);
	window.size = offsetof(struct wattle_window, total.energy_uj);
	assert_return_code(wattle_window_read(meter, "w", &whole, NULL, 0), 0);
	assert_int_equal(whole.total.size, sizeof(whole.total));
	assert_return_code(wattle_window_end(meter, "w", &window, energies, 3), 0);
	for (size_t i = 0; i < 3; i++) {
		const struct wattle_energy *energy =
			(const void *)(at + i * offsetof(struct wattle_energy, energy_uj));

		assert_int_equal(energy->size, offsetof(struct wattle_energy, energy_uj));
		assert_true(energy->has_energy);
	}
	assert_int_equal(window.total.size, offsetof(struct wattle_energy, energy_uj));
	assert_true(window.total.has_energy && window.total.energy_uj == 0);
	assert_int_equal(energies[2].max_uw, 0);
	wattle_meter_close(meter);
}

static void test_open_errors(void **state)
{
	struct wattle_options options = {.size = sizeof(options), .root = "/nowhere/at/all"};
	struct wattle_meter *meter = (void *)7;
	struct wattle_error error = {.size = sizeof(error)};

	(void)state;
	assert_int_equal(wattle_meter_open(&options, NULL, &error), -EINVAL);
	assert_int_equal(wattle_meter_open(&options, &meter, NULL), -ENOENT);
	assert_int_equal(wattle_meter_open(&options, &meter, &error), -ENOENT);
	assert_int_equal(error.code, -ENOENT);
	assert_string_equal(error.source, "root");
	assert_string_equal(error.path, "/nowhere/at/all");
	assert_true(error.text[0] && !strchr(error.text, '\n'));
	options.root = NULL;
	options.tape = "/nowhere/at/all";
	assert_int_equal(wattle_meter_open(&options, &meter, &error), -ENOENT);
	options.interval_ms = 100;
	assert_int_equal(wattle_meter_open(&options, &meter, &error), -EINVAL);
	options.interval_ms = 0;
	options.root = "/";
	assert_int_equal(wattle_meter_open(&options, &meter, &error), -EINVAL);
	assert_ptr_equal(meter, (void *)7);
	wattle_meter_close(NULL);
}

/* This machine, whatever it is. */
static void test_this_machine(void **state)
{
	struct wattle_meter *meter = NULL;
	struct wattle_error error = {.size = sizeof(error)};

	(void)state;
	if (wattle_meter_open(NULL, &meter, &error) < 0)
		fail_msg("%s: %s", error.source, error.text);
	assert_return_code(wattle_meter_tick(meter), 0);
	for (size_t i = 0; i < wattle_meter_domains(meter); i++) {
		struct wattle_domain domain = {.size = sizeof(domain)};

		assert_return_code(wattle_meter_domain(meter, i, &domain), 0);
		assert_true(domain.source || domain.reason);
	}
	wattle_meter_close(meter);
}

static void test_domains(void **state)
{
	struct wattle_meter *meter = open_root("client-psys", 0);
	struct wattle_domain domain = {.size = sizeof(domain), .name = "untouched"};
	size_t n = wattle_meter_domains(meter);

	(void)state;
	assert_int_equal(n, 5);
	assert_int_equal(wattle_meter_domain(meter, n, &domain), -ERANGE);
	assert_int_equal(wattle_meter_domain(meter, SIZE_MAX, &domain), -ERANGE);
	assert_string_equal(domain.name, "untouched");
	assert_int_equal(wattle_meter_find(meter, "package"), -ENOENT);
	assert_int_equal(wattle_meter_find(meter, NULL), -ENOENT);
	assert_return_code(
		wattle_meter_domain(meter, (size_t)wattle_meter_find(meter, "psys-0"), &domain), 0);
	assert_int_equal(domain.kind, WATTLE_KIND_PLATFORM);
	assert_int_equal(domain.in_total, 0);
	assert_string_equal(domain.source, "rapl-perf");
	assert_int_equal(domain.method, WATTLE_METHOD_COUNTER);
	assert_int_equal(domain.status, WATTLE_STATUS_OK);
	wattle_meter_close(meter);
}

static void test_two_meters(void **state)
{
	struct wattle_meter *one = open_root("client-psys", 0);
	struct wattle_meter *two = open_root("vm-nothing", 0);

	(void)state;
	assert_return_code(wattle_window_begin(one, "w"), 0);
	assert_int_equal(wattle_window_end(two, "w", NULL, NULL, 0), -WATTLE_E_NO_WINDOW);
	wattle_meter_close(one);
	assert_return_code(wattle_window_begin(two, "w"), 0);
	wattle_meter_close(two);
}

static void nap_ms(long ms)
{
	struct timespec time = {.tv_nsec = ms * 1000000};

	nanosleep(&time, NULL);
}

static uint64_t ticks_of(struct wattle_meter *meter)
{
	struct wattle_self self = {.size = sizeof(self)};

	assert_return_code(wattle_meter_self(meter, &self), 0);
	return self.ticks;
}

static volatile sig_atomic_t handled;

static void handle(int number)
{
	(void)number;
	handled++;
}

static void test_sampler(void **state)
{
	struct wattle_meter *meter = open_root("xeon-2s-dram", 1);
	sigset_t mine, before;

	(void)state;
	assert_return_code(wattle_window_begin(meter, "w"), 0);
	/* It samples; how soon does not matter. */
	for (int i = 0; i < 4000 && ticks_of(meter) < 10; i++)
		nap_ms(5);
	assert_true(ticks_of(meter) >= 10);
	assert_return_code(wattle_window_end(meter, "w", NULL, NULL, 0), 0);

	/* The program's signals are not for the meter's thread. */
	assert_ptr_not_equal(signal(SIGUSR1, handle), SIG_ERR);
	sigemptyset(&mine);
	sigaddset(&mine, SIGUSR1);
	assert_return_code(sigprocmask(SIG_BLOCK, &mine, &before), errno);
	assert_return_code(kill(getpid(), SIGUSR1), errno);
	for (uint64_t from = ticks_of(meter); ticks_of(meter) < from + 3;)
		nap_ms(1);
	assert_int_equal(handled, 0);
	assert_return_code(sigprocmask(SIG_SETMASK, &before, NULL), errno);
	assert_int_equal(handled, 1);
	signal(SIGUSR1, SIG_DFL);
	wattle_meter_close(meter);
}

/* An interval of an hour does not hold up the end. */
static void test_sampler_stops(void **state)
{
	struct wattle_meter *meter = open_root("xeon-2s-dram", 3600000);
	struct wattle_self unsized = {.size = 0};

	(void)state;
	assert_int_equal(ticks_of(meter), 1);
	assert_int_equal(wattle_meter_self(meter, &unsized), -EINVAL);
	wattle_meter_close(meter);
}

static unsigned lines;

static void count_line(void *context, enum wattle_log_level level, const char *text)
{
	assert_ptr_equal(context, &lines);
	assert_true(level <= WATTLE_LOG_DEBUG);
	assert_true(text[0] && !strchr(text, '\n'));
	lines++;
}

static void test_log(void **state)
{
	char *root = root_path("xeon-2s-dram");
	const struct wattle_options options = {.size = sizeof(options),
					       .root = root,
					       .nvml_path = "",
					       .log = count_line,
					       .log_context = &lines};
	struct wattle_options warned = options;
	static char long_list[10000];
	struct wattle_meter *meter;

	(void)state;
	assert_return_code(wattle_meter_open(&options, &meter, NULL), 0);
	assert_true(lines > 0);
	wattle_meter_close(meter);

	lines = 0;
	warned.log_warnings_only = 1;
	assert_return_code(wattle_meter_open(&warned, &meter, NULL), 0);
	assert_int_equal(lines, 0);
	wattle_meter_close(meter);
	warned.gpus = "99"; /* which is none here */
	assert_return_code(wattle_meter_open(&warned, &meter, NULL), 0);
	assert_int_equal(lines, 1);
	wattle_meter_close(meter);
	memset(long_list, '9', sizeof(long_list) - 1);
	warned.gpus = long_list;
	assert_return_code(wattle_meter_open(&warned, &meter, NULL), 0);
	assert_int_equal(lines, 2);
	wattle_meter_close(meter);
	free(root);
}

static void test_carbon(void **state)
{
	struct wattle_carbon world = {.size = sizeof(world)}, france = world, number = world,
			     cloud = world, untouched = {.size = sizeof(world), .year = 7};

	(void)state;
	assert_return_code(wattle_carbon_find(NULL, &world), 0);
	assert_true(world.intensity_mg_per_kwh > 300000 && world.intensity_mg_per_kwh < 600000);
	assert_true(world.year >= 2020 && world.dataset[0] && world.location[0]);
	assert_int_equal(world.uncertainty_ppm, 500000);
	assert_return_code(wattle_carbon_find("FRA", &france), 0);
	assert_true(france.intensity_mg_per_kwh < world.intensity_mg_per_kwh / 4);
	assert_string_equal(france.place, "France");
	assert_int_equal(france.intensity_mg_per_kwh, 56039);
	assert_int_equal(france.year, 2023);
	assert_int_equal(france.uncertainty_ppm, 100000);
	assert_string_equal(france.location, "FRA");
	assert_true(strlen(france.dataset) > 0);
	assert_string_equal(world.place, "World");
	assert_return_code(wattle_carbon_find("gcp:europe-west9", &cloud), 0);
	assert_true(cloud.intensity_mg_per_kwh < 100000);
	assert_return_code(wattle_carbon_find("475.5", &number), 0);
	assert_int_equal(number.intensity_mg_per_kwh, 475500);
	assert_int_equal(number.year, 0);
	assert_string_equal(number.place, "");
	assert_int_equal(wattle_carbon_find("XYZ", &untouched), -ENOENT);
	assert_int_equal(wattle_carbon_find("gcp:moon-east1", &untouched), -ENOENT);
	assert_int_equal(wattle_carbon_find("", &untouched), -EINVAL);
	assert_int_equal(wattle_carbon_find("-3", &untouched), -EINVAL);
	assert_int_equal(untouched.year, 7);
	/* 1 kWh */
	assert_int_equal(wattle_carbon_ug(&number, UINT64_C(3600000000000)), 475500000);
	assert_int_equal(wattle_carbon_ug(&number, 0), 0);
	/* No wrap at either end. */
	assert_true(wattle_carbon_ug(&number, UINT64_MAX) > UINT64_C(1000000000000000));
	number.intensity_mg_per_kwh = UINT64_C(1) << 33;
	assert_true(wattle_carbon_ug(&number, UINT64_C(3600000000000)) >= UINT64_C(4294967295000));
	/* 1 kWh ± 6 % at 500 g/kWh ± 4 % (standard): 30 g and 40 g. */
	number.intensity_mg_per_kwh = 500000;
	number.uncertainty_ppm = 40000;
	assert_float_equal(wattle_carbon_uncertainty_ug(&number, UINT64_C(3600000000000),
							UINT64_C(216000000000)),
			   50e6, 1.0);
}

/* Of 1, 2, 3, 4: t = 3.182 at three degrees of freedom. */
static void test_mean(void **state)
{
	const double values[] = {1, 2, 3, 4};
	struct wattle_mean mean = {.size = sizeof(mean)};

	(void)state;
	assert_return_code(wattle_mean_of(values, 4, &mean), 0);
	assert_int_equal(mean.n, 4);
	assert_float_equal(mean.mean, 2.5, 1e-9);
	assert_float_equal(mean.sd, 1.290994, 1e-6);
	assert_float_equal(mean.ci95, 2.054, 1e-3);
	assert_return_code(wattle_mean_of(values, 1, &mean), 0);
	assert_float_equal(mean.ci95, 0.0, 0.0);
	assert_int_equal(wattle_mean_of(values, 0, &mean), -EINVAL);
	assert_int_equal(wattle_mean_of(values, 4, NULL), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_version),	      cmocka_unit_test(test_words),
		cmocka_unit_test(test_strerror),      cmocka_unit_test(test_option_sizes),
		cmocka_unit_test(test_output_sizes),  cmocka_unit_test(test_open_errors),
		cmocka_unit_test(test_this_machine),  cmocka_unit_test(test_domains),
		cmocka_unit_test(test_two_meters),    cmocka_unit_test(test_sampler),
		cmocka_unit_test(test_sampler_stops), cmocka_unit_test(test_log),
		cmocka_unit_test(test_carbon),	      cmocka_unit_test(test_mean),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
