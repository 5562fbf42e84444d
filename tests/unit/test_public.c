/* SPDX-License-Identifier: MIT */
/* Attribution and GPUs as a user of the library has them: the public header and libwattle.so, nothing else. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>
#include <wattle.h>

#define S INT64_C(1000000000)

enum { DOMAINS_MAX = 32 };

/* This machine, whose domains are modelled where it has no sensor. */
static struct wattle_meter *open_here(uint32_t interval_ms)
{
	const struct wattle_options options = {.size = sizeof(options),
					       .nvml_path = "",
					       .interval_ms = interval_ms,
					       .attribution = 1};
	struct wattle_error error = {.size = sizeof(error)};
	struct wattle_meter *meter = NULL;

	if (wattle_meter_open(&options, &meter, &error) < 0)
		fail_msg("%s: %s", error.source, error.text);
	return meter;
}

/* Uses CPU time for so long. */
static void work(double seconds)
{
	struct timespec t;
	double end;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	end = (double)t.tv_sec + (double)t.tv_nsec / 1e9 + seconds;
	do {
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	} while ((double)t.tv_sec + (double)t.tv_nsec / 1e9 < end);
}

static struct wattle_consumers *list_of(struct wattle_meter *meter, const char *window)
{
	struct wattle_error error = {.size = sizeof(error)};
	struct wattle_consumers *list = NULL;

	if (wattle_meter_consumers(meter, window, &list, &error) < 0)
		fail_msg("%s: %s", error.source, error.text);
	return list;
}

/* Everybody's shares, and each ledger, add up to the energy of the domain and of the total. */
static void check_closed(struct wattle_meter *meter, const struct wattle_consumers *list)
{
	struct wattle_window window = {.size = sizeof(window)};

	assert_return_code(wattle_consumers_window(list, &window), 0);
	for (int domain = -1; domain < (int)wattle_meter_domains(meter); domain++) {
		struct wattle_ledger ledger = {.size = sizeof(ledger)};
		uint64_t sum_uj = 0;

		for (size_t i = 0; i < wattle_consumers_count(list); i++) {
			struct wattle_share share = {.size = sizeof(share)};

			assert_return_code(wattle_consumers_share(list, i, domain, &share), 0);
			assert_true(share.dynamic_uj <= share.full_uj);
			sum_uj += share.full_uj;
		}
		assert_return_code(wattle_consumers_ledger(list, domain, &ledger), 0);
		assert_int_equal(ledger.total_uj, sum_uj);
		assert_int_equal(ledger.live_uj + ledger.exited_uj + ledger.kernel_uj +
					 ledger.idle_uj + ledger.unattributed_uj,
				 ledger.total_uj);
		/* Of the total, idle power may be known for some domains only. */
		assert_true(ledger.has_idle || domain < 0 || ledger.idle_uj == 0);
		if (domain < 0)
			assert_int_equal(window.total.energy_uj, sum_uj);
	}
}

static bool find_self(const struct wattle_consumers *list, struct wattle_consumer *self,
		      struct wattle_share *share)
{
	for (size_t i = 0; i < wattle_consumers_count(list); i++) {
		self->size = sizeof(*self);
		share->size = sizeof(*share);
		assert_return_code(wattle_consumers_get(list, i, self), 0);
		assert_return_code(wattle_consumers_share(list, i, -1, share), 0);
		if (self->pid == (int)getpid())
			return true;
	}
	return false;
}

static void test_consumers(void **state)
{
	struct wattle_meter *meter = open_here(0);
	struct wattle_consumers *all, *of_window;
	struct wattle_consumer self;
	struct wattle_share share;
	int64_t cpu_ns;

	(void)state;
	work(0.2);
	assert_return_code(wattle_window_begin_with(meter, "w", WATTLE_WINDOW_CONSUMERS), 0);
	work(0.1);
	of_window = list_of(meter, "w");
	all = list_of(meter, NULL);
	check_closed(meter, of_window);
	check_closed(meter, all);
	assert_true(find_self(of_window, &self, &share));
	assert_int_equal(self.state, WATTLE_CONSUMER_RUNNING);
	assert_non_null(self.name);
	assert_non_null(self.user);
	assert_int_equal(self.uid, getuid());
	assert_in_range(self.start_utc_ns / S, time(NULL) - 3600, time(NULL) + 2);
	assert_in_range(self.cpu_ns, S / 20, S / 4);
	assert_true(share.full_uj > 0);
	cpu_ns = self.cpu_ns;
	assert_true(find_self(all, &self, &share));
	assert_true(self.cpu_ns >= cpu_ns + S / 8);
	/* What was read stays as it was. */
	assert_return_code(wattle_window_cancel(meter, "w"), 0);
	assert_true(find_self(of_window, &self, &share));
	assert_int_equal(self.cpu_ns, cpu_ns);
	wattle_meter_close(meter);
	assert_true(find_self(of_window, &self, &share));
	assert_non_null(self.name);
	wattle_consumers_free(of_window);
	wattle_consumers_free(all);
	wattle_consumers_free(NULL);
}

static void test_sets(void **state)
{
	struct wattle_share shares[DOMAINS_MAX] = {{.size = sizeof(shares[0])}};
	struct wattle_error error = {.size = sizeof(error)};
	struct wattle_use own = {.size = sizeof(own)}, use = own;
	struct wattle_set *self, *other, *sets[16];
	struct wattle_meter *meter = open_here(0);
	size_t n = 0;
	siginfo_t ended;
	pid_t child;

	(void)state;
	assert_return_code(wattle_window_begin(meter, "before"), 0);
	assert_return_code(wattle_set_open(meter, WATTLE_SET_SELF, 0, NULL, &self, &error), 0);
	assert_return_code(wattle_set_open(meter, WATTLE_SET_PID, 1, NULL, &other, &error), 0);
	assert_int_equal(wattle_set_read(self, "before", &use, NULL, 0), -ENODATA);
	work(0.1);
	assert_return_code(wattle_window_begin_with(meter, "exact", WATTLE_WINDOW_EXACT), 0);
	child = fork();
	if (child == 0) {
		work(0.2);
		_exit(0);
	}
	work(0.1);
	assert_return_code(waitid(P_PID, (id_t)child, &ended, WEXITED | WNOWAIT), errno);
	assert_return_code(wattle_set_read(self, "exact", &use, shares, DOMAINS_MAX), 0);
	waitpid(child, NULL, 0);
	/* With the child's, and without what came before the window. */
	assert_in_range(use.cpu_ns, S / 5, 4 * S / 10);
	assert_true(use.processes >= 2);
	assert_int_equal(use.flags, 0);
	assert_int_equal(use.total.size, sizeof(use.total));
	assert_true(use.total.full_uj > 0 && use.total.dynamic_uj <= use.total.full_uj);
	assert_true(shares[0].full_uj > 0);
	assert_return_code(wattle_set_read(self, NULL, &own, NULL, 0), 0);
	assert_true(own.cpu_ns >= use.cpu_ns + S / 12);
	assert_true(own.total.full_uj >= use.total.full_uj);
	assert_return_code(wattle_window_begin(meter, "plain"), 0);
	assert_return_code(wattle_set_read(self, "plain", &use, NULL, 0), 0);
	assert_int_equal(use.flags, WATTLE_USE_EARLIER);
	assert_int_equal(wattle_set_read(self, "none", &use, NULL, 0), -WATTLE_E_NO_WINDOW);

	/* Their number has a bound, and those that are closed leave room. */
	while (n < 16 && wattle_set_open(meter, WATTLE_SET_CGROUP, 0, "/", &sets[n], NULL) == 0)
		n++;
	assert_int_equal(n, 14);
	assert_int_equal(wattle_set_open(meter, WATTLE_SET_SELF, 0, NULL, &other, &error),
			 -WATTLE_E_TOO_MANY);
	assert_return_code(wattle_set_read(sets[0], NULL, &use, NULL, 0), 0);
	wattle_set_close(sets[3]);
	assert_return_code(wattle_set_open(meter, WATTLE_SET_SELF, 0, NULL, &other, &error), 0);
	assert_return_code(wattle_set_read(other, NULL, &use, NULL, 0), 0);
	assert_in_range(use.cpu_ns, 0, S / 10);
	wattle_set_close(NULL);
	wattle_meter_close(meter);
}

/* The meter's own thread scans processes as well: what is told as of the last scan goes on. */
static void test_regular_scans(void **state)
{
	struct wattle_use use = {.size = sizeof(use)};
	struct wattle_meter *meter = open_here(20);
	struct wattle_set *self;

	(void)state;
	assert_return_code(wattle_set_open(meter, WATTLE_SET_SELF, 0, NULL, &self, NULL), 0);
	assert_return_code(wattle_window_begin(meter, "plain"), 0);
	for (int i = 0; i < 200 && use.cpu_ns == 0; i++) {
		work(0.02);
		usleep(80000);
		assert_return_code(wattle_set_read(self, "plain", &use, NULL, 0), 0);
	}
	assert_int_equal(use.flags, WATTLE_USE_EARLIER);
	assert_true(use.cpu_ns > 0);
	wattle_meter_close(meter);
}

static void test_errors(void **state)
{
	const struct wattle_options none = {.size = sizeof(none), .nvml_path = ""};
	struct wattle_options wrong = {.size = sizeof(wrong), .attribution = 1};
	struct wattle_error error = {.size = sizeof(error)};
	struct wattle_consumers *list = (void *)7;
	struct wattle_share share = {.size = 0};
	struct wattle_way way = {.size = sizeof(way)};
	struct wattle_meter *meter = NULL;
	struct wattle_set *set = (void *)7;
	size_t n = 0;

	(void)state;
	assert_return_code(wattle_meter_open(&none, &meter, &error), 0);
	assert_int_equal(wattle_meter_consumers(meter, NULL, &list, &error), -ENOTSUP);
	assert_non_null(strstr(error.text, "attribution"));
	assert_int_equal(wattle_set_open(meter, WATTLE_SET_SELF, 0, NULL, &set, &error), -ENOTSUP);
	assert_int_equal(wattle_window_begin_with(meter, "w", WATTLE_WINDOW_EXACT), -ENOTSUP);
	assert_return_code(wattle_window_begin_with(meter, "w", 0), 0);
	assert_int_equal(wattle_meter_way(meter, 0, &way), -ENOTSUP);
	wattle_meter_close(meter);
	wrong.weight = (enum wattle_weight)99;
	assert_int_equal(wattle_meter_open(&wrong, &meter, &error), -EINVAL);

	meter = open_here(0);
	assert_int_equal(wattle_meter_consumers(meter, "w", &list, &error), -WATTLE_E_NO_WINDOW);
	assert_return_code(wattle_window_begin(meter, "w"), 0);
	assert_int_equal(wattle_meter_consumers(meter, "w", &list, &error), -ENODATA);
	assert_non_null(strstr(error.text, "WATTLE_WINDOW_CONSUMERS"));
	assert_ptr_equal(list, (void *)7);
	assert_int_equal(wattle_window_begin_with(meter, "x", 4), -EINVAL);
	assert_int_equal(wattle_window_begin(meter, "\n"), -EINVAL);
	assert_int_equal(wattle_window_cancel(meter, "\n"), -EINVAL);
	assert_int_equal(wattle_set_open(meter, WATTLE_SET_PID, 0, NULL, &set, &error), -EINVAL);
	assert_int_equal(wattle_set_open(meter, WATTLE_SET_CGROUP, 0, NULL, &set, &error), -EINVAL);
	assert_int_equal(wattle_set_open(meter, WATTLE_SET_PID, INT32_MAX, NULL, &set, &error),
			 -ESRCH);
	assert_ptr_equal(set, (void *)7);
	while (wattle_meter_way(meter, n, &way) == 0) {
		assert_non_null(way.name);
		assert_non_null(way.text);
		n++;
	}
	assert_true(n >= 5);
	list = list_of(meter, NULL);
	n = wattle_consumers_count(list);
	assert_int_equal(wattle_consumers_share(list, 0, -1, &share), -EINVAL);
	share.size = sizeof(share);
	assert_int_equal(wattle_consumers_share(list, n, -1, &share), -ERANGE);
	assert_int_equal(wattle_consumers_share(list, 0, DOMAINS_MAX, &share), -ERANGE);
	wattle_consumers_free(list);
	wattle_meter_close(meter);
}

static unsigned n_samples, n_channels;

static void count_sample(void *context, const struct wattle_sample *sample)
{
	assert_ptr_equal(context, &n_samples);
	assert_int_equal(sample->size, sizeof(*sample));
	assert_non_null(sample->domain);
	assert_non_null(sample->source);
	assert_true(sample->channel < sample->channels);
	assert_true(sample->status != WATTLE_STATUS_OK || sample->t_mono_ns > 0);
	n_channels = sample->channels;
	n_samples++;
}

static void test_samples(void **state)
{
	const struct wattle_options options = {.size = sizeof(options),
					       .nvml_path = "",
					       .on_sample = count_sample,
					       .sample_context = &n_samples};
	struct wattle_meter *meter = NULL;
	unsigned before;

	(void)state;
	assert_return_code(wattle_meter_open(&options, &meter, NULL), 0);
	assert_true(n_channels > 0);
	before = n_samples;
	assert_return_code(wattle_meter_tick(meter), 0);
	assert_int_equal(n_samples, before + n_channels);
	wattle_meter_close(meter);
}

struct stacked {
	struct wattle_meter *meter;
	const char *name, *failed;
};

static void *push_and_pop(void *argument)
{
	struct stacked *stacked = argument;
	struct wattle_window window = {.size = sizeof(window)};

	for (int i = 0; i < 200; i++) {
		struct timespec before;

		clock_gettime(CLOCK_MONOTONIC, &before);
		if (wattle_window_push(stacked->meter, stacked->name) < 0)
			stacked->failed = "push";
		if (wattle_window_pop(stacked->meter, &window, NULL, 0) < 0)
			stacked->failed = "pop";
		if (window.begin_mono_ns < (int64_t)before.tv_sec * S + before.tv_nsec)
			stacked->failed = "another's";
		if (wattle_window_pop(stacked->meter, NULL, NULL, 0) != -WATTLE_E_NO_WINDOW)
			stacked->failed = "one too many";
	}
	return NULL;
}

/* Two threads that push and pop see windows of their own alone. */
static void test_stacks(void **state)
{
	struct wattle_meter *meter = open_here(10);
	struct stacked one = {meter, "one", NULL}, two = {meter, "two", NULL};
	pthread_t threads[2];

	(void)state;
	assert_return_code(wattle_window_push(meter, "outer"), 0);
	assert_int_equal(pthread_create(&threads[0], NULL, push_and_pop, &one), 0);
	assert_int_equal(pthread_create(&threads[1], NULL, push_and_pop, &two), 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	assert_null(one.failed);
	assert_null(two.failed);
	assert_return_code(wattle_window_pop(meter, NULL, NULL, 0), 0);
	wattle_meter_close(meter);
}

/* A machine of its own, whose GPUs are those of that script; `root` is a template of mkdtemp(). */
static struct wattle_meter *open_chosen(char *root, const char *script, const char *gpus)
{
	struct wattle_options options = {
		.size = sizeof(options), .root = root, .attribution = gpus != NULL, .gpus = gpus};
	struct wattle_meter *meter = NULL;
	char path[128];
	FILE *file;

	assert_non_null(mkdtemp(root));
	snprintf(path, sizeof(path), "%s/script", root);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(script, file);
	assert_int_equal(fclose(file), 0);
	assert_return_code(setenv("WATTLE_FAKE_NVML", path, 1), 0);
	options.nvml_path = getenv("WATTLE_NVML_LIBRARY");
	assert_non_null(options.nvml_path);
	assert_return_code(wattle_meter_open(&options, &meter, NULL), 0);
	return meter;
}

static struct wattle_meter *open_fake(char *root, const char *script)
{
	return open_chosen(root, script, NULL);
}

static void close_fake(struct wattle_meter *meter, const char *root)
{
	char path[128];

	wattle_meter_close(meter);
	snprintf(path, sizeof(path), "%s/script", root);
	unlink(path);
	rmdir(root);
	unsetenv("WATTLE_FAKE_NVML");
}

static double seconds_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Until they have answered: how many there are. */
static int count_gpus(struct wattle_meter *meter)
{
	double until = seconds_now() + 20;
	int n;

	while ((n = wattle_meter_gpus(meter)) == -EAGAIN && seconds_now() < until)
		usleep(10000);
	return n;
}

static void test_gpus(void **state)
{
	char root[] = "/tmp/wattle-gpus-XXXXXX";
	struct wattle_meter *meter = open_fake(
		root,
		"gpu Fake One\n  uuid GPU-1\n  power 0 const 100\n  sensor counter gpu 100\n"
		"  memory 1024 0 100\n  process 7 C 100 60 20 0 0\n  process 8 G 50\n"
		"  limit 300 350 100 400\n  temperature 61\n  utilization 88 30 0 0\n"
		"  clocks 1905 1980 2619 1545 1980 1980 2619 1545\n"
		"gpu Fake Two\n  power 0 const 50\n  answer nvmlDeviceGetTemperature 3\n"
		"  answer nvmlDeviceGetTemperatureV 3\n  process 9 C 10 1 1 0 0\n  process 10 C 20\n");
	struct wattle_gpu gpu = {.size = sizeof(gpu)}, small = {.size = 0};
	struct wattle_gpu_process process = {.size = sizeof(process)};
	struct wattle_domain domain = {.size = sizeof(domain)};
	double until = seconds_now() + 20;

	(void)state;
	assert_int_equal(wattle_meter_gpu(meter, 0, &gpu), -ERANGE);
	assert_int_equal(count_gpus(meter), 2);
	assert_int_equal(wattle_meter_gpu(meter, 0, &small), -EINVAL);
	assert_int_equal(wattle_meter_gpu(meter, 0, NULL), -EINVAL);
	assert_int_equal(wattle_meter_gpu_process(meter, 0, 0, NULL), -EINVAL);
	assert_return_code(wattle_meter_gpu(meter, 0, &gpu), 0);
	assert_int_equal(gpu.status, WATTLE_STATUS_OK);
	assert_string_equal(gpu.name, "Fake One");
	assert_string_equal(gpu.uuid, "GPU-1");
	assert_true(strlen(gpu.bus_id) > 0);
	assert_true(gpu.age_ns >= 0);
	assert_return_code(wattle_meter_domain(meter, (size_t)gpu.domain, &domain), 0);
	assert_string_equal(domain.name, "gpu-0");
	assert_int_equal(gpu.use_percent, 88);
	assert_int_equal(gpu.memory_total_bytes, UINT64_C(1024) << 20);
	assert_int_equal(gpu.memory_used_bytes, UINT64_C(250) << 20);
	assert_int_equal(gpu.temperature_c, 61);
	assert_int_equal(gpu.clock_mhz, 1980);
	assert_int_equal(gpu.memory_clock_mhz, 2619);
	assert_int_equal(gpu.power_limit_uw, 300000000);
	assert_int_equal(gpu.processes_status, WATTLE_STATUS_OK);
	assert_int_equal(gpu.processes, 2);
	assert_return_code(wattle_meter_gpu_process(meter, 0, 0, &process), 0);
	assert_int_equal(process.pid, 7);
	assert_int_equal(process.kinds, WATTLE_GPU_COMPUTE);
	assert_int_equal(process.memory_bytes, UINT64_C(100) << 20);
	assert_return_code(wattle_meter_gpu_process(meter, 0, 1, &process), 0);
	assert_int_equal(process.pid, 8);
	assert_int_equal(process.kinds, WATTLE_GPU_GRAPHICS);
	assert_int_equal(wattle_meter_gpu_process(meter, 0, 2, &process), -ERANGE);
	/* Use is of the time since the answer before. */
	while (process.use_percent != 60 && seconds_now() < until) {
		usleep(50000);
		assert_int_equal(wattle_meter_gpus(meter), 2);
		assert_return_code(wattle_meter_gpu_process(meter, 0, 0, &process), 0);
	}
	assert_int_equal(process.use_percent, 60);
	/* What the second does not have is not known, and 0 nowhere. */
	assert_return_code(wattle_meter_gpu(meter, 1, &gpu), 0);
	assert_true(gpu.temperature_c == WATTLE_UNKNOWN);
	assert_int_equal(gpu.status, WATTLE_STATUS_OK);
	assert_int_equal(gpu.processes, 2);
	assert_return_code(wattle_meter_gpu_process(meter, 1, 0, &process), 0);
	assert_int_equal(process.pid, 9);
	assert_return_code(wattle_meter_gpu_process(meter, 1, 1, &process), 0);
	assert_int_equal(process.pid, 10);
	assert_return_code(wattle_meter_domain(meter, (size_t)gpu.domain, &domain), 0);
	assert_string_equal(domain.name, "gpu-1");
	assert_int_equal(wattle_meter_gpu(meter, 2, &gpu), -ERANGE);
	close_fake(meter, root);
}

/* What files say of other makers' GPUs; U: they do not say it. */
static void test_gpus_of_files(void **state)
{
	enum { U = -1 };
	static const struct {
		const char *root, *name, *bus_id;
		int number, domain, status, use, celsius, mhz, memory_mhz, limit_w, fan;
	} expected[] = {
		{"amd-gpu", "AMD GPU 744c", "00000000:09:00.0", 0, 3, WATTLE_STATUS_OK, 17, 52,
		 2371, 96, 315, 21},
		{"amd-gpu", "AMD GPU 7480", "00000000:05:00.0", 1, 4, WATTLE_STATUS_ASLEEP, U, U, U,
		 U, U, U},
		{"intel-gpu", "Intel graphics 4692", "00000000:00:02.0", 0, -1, WATTLE_STATUS_OK, U,
		 U, 350, U, U, U},
		{"intel-gpu", "Intel GPU e20b", "00000000:03:00.0", 1, 4, WATTLE_STATUS_OK, U, 46,
		 2850, U, 190, U},
		{"nvidia-laptop", "Intel graphics 9a60", "00000000:00:02.0", 0, -1,
		 WATTLE_STATUS_OK, U, U, U, U, U, U},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
		struct wattle_options options = {.size = sizeof(options), .nvml_path = ""};
		struct wattle_gpu gpu = {.size = sizeof(gpu)};
		struct wattle_meter *meter = NULL;
		char root[512];

		snprintf(root, sizeof(root), "%s/%s", getenv("WATTLE_ROOTS"), expected[i].root);
		options.root = root;
		assert_return_code(wattle_meter_open(&options, &meter, NULL), 0);
		assert_true(count_gpus(meter) > expected[i].number);
		assert_return_code(wattle_meter_gpu(meter, (size_t)expected[i].number, &gpu), 0);
		assert_string_equal(gpu.name, expected[i].name);
		assert_string_equal(gpu.bus_id, expected[i].bus_id);
		assert_int_equal(gpu.domain, expected[i].domain);
		assert_int_equal(gpu.status, expected[i].status);
		assert_int_equal(gpu.use_percent, (uint64_t)expected[i].use);
		assert_int_equal(gpu.temperature_c, (uint64_t)expected[i].celsius);
		assert_int_equal(gpu.clock_mhz, (uint64_t)expected[i].mhz);
		assert_int_equal(gpu.memory_clock_mhz, (uint64_t)expected[i].memory_mhz);
		assert_int_equal(gpu.power_limit_uw,
				 expected[i].limit_w == U
					 ? WATTLE_UNKNOWN
					 : (uint64_t)expected[i].limit_w * 1000000);
		assert_int_equal(gpu.fan_percent, (uint64_t)expected[i].fan);
		wattle_meter_close(meter);
	}
}

/* Others' GPUs are no part of anything, and are not touched: the first one would answer with rubbish. */
static void test_chosen_gpus(void **state)
{
	static const char script[] = "gpu Fake Zero\n  power 0 const 1\n  answer * 999\n"
				     "gpu Fake One\n  power 0 const 100\n  uuid GPU-11\n"
				     "  sensor counter gpu 100\n  process 1 C 100 60 20 0 0\n"
				     "gpu Fake Two\n  power 0 const 50\n  uuid GPU-12\n"
				     "  sensor counter gpu 100\n  process 1 C 100 60 20 0 0\n";
	char root[] = "/tmp/wattle-gpus-XXXXXX";
	struct wattle_meter *meter = open_chosen(root, script, "2,GPU-12,5,1");
	struct wattle_domain domain = {.size = sizeof(domain)};
	struct wattle_gpu gpu = {.size = sizeof(gpu)};
	struct wattle_window window = {.size = sizeof(window)};
	struct wattle_energy energies[8] = {{.size = sizeof(energies[0])}};
	struct wattle_consumers *consumers;
	uint64_t sum_uj = 0;
	int two;

	(void)state;
	assert_int_equal(wattle_meter_find(meter, "gpu-0"), -ENOENT);
	assert_int_equal(wattle_meter_find(meter, "gpu-1"), -ENOENT);
	two = wattle_meter_find(meter, "gpu-2");
	assert_true(two >= 0);
	assert_return_code(wattle_meter_domain(meter, (size_t)two, &domain), 0);
	assert_string_equal(domain.device, "Fake Two");
	assert_string_equal(domain.uuid, "GPU-12");
	assert_return_code(wattle_window_begin(meter, "w"), 0);
	usleep(300000);
	assert_return_code(wattle_window_end(meter, "w", &window, energies, 8), 0);
	for (size_t i = 0; i < wattle_meter_domains(meter); i++) {
		assert_return_code(wattle_meter_domain(meter, i, &domain), 0);
		sum_uj += domain.in_total && energies[i].has_energy ? energies[i].energy_uj : 0;
	}
	assert_int_equal(window.total.energy_uj, sum_uj);
	assert_in_range(energies[two].energy_uj, 10000000, 100000000);
	assert_return_code(wattle_meter_consumers(meter, NULL, &consumers, NULL), 0);
	wattle_consumers_free(consumers);
	assert_int_equal(count_gpus(meter), 1);
	assert_return_code(wattle_meter_gpu(meter, 0, &gpu), 0);
	assert_string_equal(gpu.uuid, "GPU-12");
	assert_int_equal(gpu.domain, two);
	assert_int_equal(wattle_meter_gpu(meter, 1, &gpu), -ERANGE);
	close_fake(meter, root);

	meter = open_chosen(strcpy(root, "/tmp/wattle-gpus-XXXXXX"), script, "");
	for (size_t i = 0; i < wattle_meter_domains(meter); i++) {
		assert_return_code(wattle_meter_domain(meter, i, &domain), 0);
		assert_int_not_equal(domain.kind, WATTLE_KIND_GPU);
	}
	assert_int_equal(count_gpus(meter), 0);
	close_fake(meter, root);
}

/* They are asked once a second, and the answer before stays. */
static void test_gpu_is_lost(void **state)
{
	char root[] = "/tmp/wattle-gpus-XXXXXX";
	struct wattle_meter *meter =
		open_fake(root, "gpu Fake\n  power 0 const 100\n  temperature 61\n  lost from 2\n");
	struct wattle_gpu gpu = {.size = sizeof(gpu)};
	double until = seconds_now() + 20;

	(void)state;
	assert_int_equal(count_gpus(meter), 1);
	assert_return_code(wattle_meter_gpu(meter, 0, &gpu), 0);
	do {
		usleep(50000);
		assert_int_equal(wattle_meter_gpus(meter), 1);
		assert_return_code(wattle_meter_gpu(meter, 0, &gpu), 0);
	} while (gpu.status == WATTLE_STATUS_OK && seconds_now() < until);
	assert_int_equal(gpu.status, WATTLE_STATUS_GONE);
	assert_true(gpu.temperature_c == WATTLE_UNKNOWN);
	close_fake(meter, root);
}

/* A driver that takes two seconds is not waited for longer than promised. */
static void test_slow_gpu(void **state)
{
	char root[] = "/tmp/wattle-gpus-XXXXXX";
	struct wattle_meter *meter =
		open_fake(root, "delay nvmlDeviceGetMemoryInfo_v2 2000 call 1\ngpu Fake\n"
				"  power 0 const 100\n  memory 1024 0 0\n");
	struct wattle_gpu gpu = {.size = sizeof(gpu)};
	double begin = seconds_now();

	(void)state;
	assert_int_equal(wattle_meter_gpus(meter), -EAGAIN);
	assert_true(seconds_now() - begin >= 0.5);
	begin = seconds_now();
	assert_int_equal(wattle_meter_gpus(meter), -EAGAIN);
	assert_true(seconds_now() - begin < 0.4);
	assert_int_equal(count_gpus(meter), 1);
	assert_return_code(wattle_meter_gpu(meter, 0, &gpu), 0);
	assert_int_equal(gpu.memory_total_bytes, UINT64_C(1024) << 20);
	close_fake(meter, root);
}

/* A tape is read by the caller, in its order; what was not asked then is not known. */
static void test_gpu_on_a_tape(void **state)
{
	struct wattle_gpu gpu = {.size = sizeof(gpu)};
	struct wattle_options options = {.size = sizeof(options)};
	struct wattle_meter *meter = NULL;
	char path[4096];

	(void)state;
	snprintf(path, sizeof(path), "%s/tests/fixtures/tapes/server.tape",
		 getenv("WATTLE_SOURCE_ROOT"));
	options.tape = path;
	assert_return_code(wattle_meter_open(&options, &meter, NULL), 0);
	do {
		assert_int_equal(wattle_meter_gpus(meter), 1);
		assert_return_code(wattle_meter_gpu(meter, 0, &gpu), 0);
		assert_string_equal(gpu.name, "NVIDIA A100-SXM4-80GB");
		assert_true(gpu.temperature_c == WATTLE_UNKNOWN);
		assert_int_equal(gpu.domain, wattle_meter_find(meter, "gpu-0"));
	} while (wattle_meter_tick(meter) == 0);
	wattle_meter_close(meter);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_consumers),     cmocka_unit_test(test_sets),
		cmocka_unit_test(test_regular_scans), cmocka_unit_test(test_errors),
		cmocka_unit_test(test_samples),	      cmocka_unit_test(test_stacks),
		cmocka_unit_test(test_gpus),	      cmocka_unit_test(test_gpus_of_files),
		cmocka_unit_test(test_chosen_gpus),   cmocka_unit_test(test_gpu_is_lost),
		cmocka_unit_test(test_slow_gpu),      cmocka_unit_test(test_gpu_on_a_tape),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
