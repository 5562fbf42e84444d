/* SPDX-License-Identifier: MIT */
/* Recordings that a program makes: wattle.h and wattle-recording.h as a user has them, and nothing else. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include <wattle-recording.h>

#define S  INT64_C(1000000000)
#define MS INT64_C(1000000)

enum { DOMAINS_MAX = 32 };

static char dir[128], path[256];

static int make_dir(void **state)
{
	const char *tmp = getenv("TMPDIR"), *roots = getenv("WATTLE_ROOTS");
	char command[512];

	(void)state;
	assert_non_null(roots);
	snprintf(dir, sizeof(dir), "%s/wattle-recorder-XXXXXX", tmp ? tmp : "/tmp");
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/a.wattle", dir);
	snprintf(command, sizeof(command), "cp -r '%s/xeon-2s-dram' '%s/root'", roots, dir);
	return system(command);
}

static int remove_dir(void **state)
{
	char command[256];

	(void)state;
	snprintf(command, sizeof(command), "rm -r '%s'", dir);
	return system(command);
}

static int remove_recording(void **state)
{
	(void)state;
	unlink(path);
	return 0;
}

/* The counter of the first package: 2^-32 J a count. In one write, since a thread may read it; its length stays. */
static void move_counter(uint64_t joules)
{
	static uint64_t now = UINT64_C(1) << 50;
	char file[256], text[32];
	int fd, len;

	snprintf(file, sizeof(file), "%s/root/wattle-perf/18-2-0", dir);
	now += joules << 32;
	len = snprintf(text, sizeof(text), "%lu\n", now);
	fd = open(file, O_WRONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, text, (size_t)len, 0), len);
	assert_int_equal(ftruncate(fd, len), 0);
	close(fd);
}

static void pause_ms(long ms)
{
	const struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * MS};

	nanosleep(&t, NULL);
}

static struct wattle_meter *open_root(uint32_t interval_ms, int attribution)
{
	char root[160];
	const struct wattle_options options = {.size = sizeof(options),
					       .root = attribution ? NULL : root,
					       .nvml_path = "",
					       .interval_ms = interval_ms,
					       .attribution = attribution};
	struct wattle_error error = {.size = sizeof(error)};
	struct wattle_meter *meter = NULL;

	snprintf(root, sizeof(root), "%s/root", dir);
	move_counter(0);
	if (wattle_meter_open(&options, &meter, &error) < 0)
		fail_msg("%s", error.text);
	return meter;
}

static struct wattle_recorder *record(struct wattle_meter *meter)
{
	const struct wattle_recorder_options options = {.size = sizeof(options), .period_ns = S};
	struct wattle_error error = {.size = sizeof(error)};
	struct wattle_recorder *recorder = NULL;

	if (wattle_recorder_open(path, meter, &options, &recorder, &error) < 0)
		fail_msg("%s", error.text);
	return recorder;
}

static void end(struct wattle_recorder *recorder)
{
	struct wattle_error error = {.size = sizeof(error)};

	assert_int_equal(wattle_recorder_status(recorder, &error), 0);
	if (wattle_recorder_close(recorder, &error) != 0)
		fail_msg("%s", error.text);
}

static struct wattle_recording *play(void)
{
	struct wattle_recording *recording = NULL;
	struct wattle_error error = {.size = sizeof(error)};
	int rc;

	if (wattle_recording_open(path, &recording, &error) < 0)
		fail_msg("%s", error.text);
	assert_int_equal(wattle_recording_is_whole(recording), 1);
	while ((rc = wattle_recording_next(recording, S, NULL, NULL, 0, &error)) > 0)
		continue;
	assert_int_equal(rc, 0);
	return recording;
}

/* A window as it was read back is the one that the meter gave. */
static void check_window(struct wattle_recording *recording, size_t i, const char *name,
			 const struct wattle_window *window, const struct wattle_energy energies[])
{
	struct wattle_recording_window read = {.size = sizeof(read)};
	struct wattle_energy own[DOMAINS_MAX] = {{.size = sizeof(own[0])}};

	assert_int_equal(wattle_recording_window(recording, i, &read, own, DOMAINS_MAX), 0);
	assert_string_equal(read.name, name);
	assert_int_equal(read.window.begin_utc_ns, window->begin_utc_ns);
	assert_int_equal(read.window.duration_ns, window->duration_ns);
	assert_int_equal(read.window.total.energy_uj, window->total.energy_uj);
	for (size_t k = 0; k < wattle_recording_domains(recording); k++) {
		assert_int_equal(own[k].has_energy, energies[k].has_energy);
		assert_int_equal(own[k].energy_uj, energies[k].energy_uj);
	}
}

/* What the meter measured before is none of the recording's. */
static void test_record(void **state)
{
	struct wattle_energy energies[DOMAINS_MAX] = {{.size = sizeof(energies[0])}};
	struct wattle_window window = {.size = sizeof(window)};
	struct wattle_recording_window whole = {.size = sizeof(whole)};
	struct wattle_meter *meter = open_root(0, 0);
	struct wattle_recorder *recorder;
	struct wattle_recording *recording;

	(void)state;
	move_counter(100);
	assert_int_equal(wattle_window_begin(meter, "before"), 0);
	recorder = record(meter);
	assert_int_equal(wattle_recorder_fact(recorder, "job", "night"), 0);
	assert_int_equal(wattle_recorder_fact(recorder, "", "night"), -EINVAL);
	assert_int_equal(wattle_recorder_fact(recorder, "job", NULL), -EINVAL);
	assert_int_equal(wattle_window_begin(meter, "w"), 0);
	for (int i = 0; i < 12; i++) {
		move_counter(3);
		pause_ms(100);
		assert_int_equal(wattle_meter_tick(meter), 0);
	}
	assert_int_equal(wattle_window_end(meter, "w", &window, energies, DOMAINS_MAX), 0);
	assert_int_equal(energies[0].energy_uj, 36000000);
	assert_int_equal(wattle_window_cancel(meter, "before"), 0);
	move_counter(4);
	end(recorder);
	move_counter(100);
	assert_int_equal(wattle_meter_tick(meter), 0);
	wattle_meter_close(meter);

	recording = play();
	assert_string_equal(wattle_recording_fact(recording, "job"), "night");
	assert_null(wattle_recording_fact(recording, "interval-ns"));
	assert_string_equal(wattle_recording_fact(recording, "window.1.exit_reason"),
			    "the program recorded itself");
	check_window(recording, 0, "w", &window, energies);
	assert_int_equal(wattle_recording_window(recording, 1, &whole, energies, DOMAINS_MAX), 0);
	assert_string_equal(whole.name, "recording");
	assert_int_equal(energies[0].energy_uj, 40000000);
	assert_int_equal(wattle_recording_window(recording, 2, &whole, NULL, 0), -ERANGE);
	wattle_recording_close(recording);
}

/* The meter's own thread goes on while it is recorded, and it can be recorded again. */
static void test_thread(void **state)
{
	struct wattle_meter *meter = open_root(10, 0);

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct wattle_energy energies[DOMAINS_MAX] = {{.size = sizeof(energies[0])}};
		struct wattle_window window = {.size = sizeof(window)};
		struct wattle_recorder *recorder = record(meter);
		struct wattle_recording *recording;

		assert_int_equal(wattle_window_begin(meter, "w"), 0);
		move_counter(7);
		pause_ms(200);
		assert_int_equal(wattle_window_end(meter, "w", &window, energies, DOMAINS_MAX), 0);
		end(recorder);
		recording = play();
		assert_int_equal(energies[0].energy_uj, 7000000);
		assert_string_equal(wattle_recording_fact(recording, "interval-ns"), "10000000");
		check_window(recording, 0, "w", &window, energies);
		wattle_recording_close(recording);
		unlink(path);
	}
	wattle_meter_close(meter);
}

static void work(double seconds)
{
	clock_t until = clock() + (clock_t)(seconds * CLOCKS_PER_SEC);

	while (clock() < until)
		continue;
}

/* Who used it: shares add up, and CPU time from before is not there. */
static void test_attribution(void **state)
{
	struct wattle_meter *meter = open_root(50, 1);
	struct wattle_recording_window whole = {.size = sizeof(whole)};
	struct wattle_consumers *list = NULL;
	struct wattle_recording *recording;
	struct wattle_recorder *recorder;
	uint64_t full_uj = 0;
	int found = 0;

	(void)state;
	work(1.2);
	recorder = record(meter);
	work(0.4);
	pause_ms(1000);
	end(recorder);
	wattle_meter_close(meter);
	recording = play();
	assert_int_equal(wattle_recording_window(recording, 0, &whole, NULL, 0), 0);
	assert_int_equal(wattle_recording_consumers(recording, &list, NULL), 0);
	for (size_t i = 0; i < wattle_consumers_count(list); i++) {
		struct wattle_consumer consumer = {.size = sizeof(consumer)};
		struct wattle_share share = {.size = sizeof(share)};

		assert_int_equal(wattle_consumers_get(list, i, &consumer), 0);
		assert_int_equal(wattle_consumers_share(list, i, -1, &share), 0);
		full_uj += share.full_uj;
		if (consumer.pid != (int)getpid())
			continue;
		found++;
		assert_in_range(consumer.cpu_ns, 300 * MS, 700 * MS);
		assert_non_null(consumer.user);
	}
	assert_int_equal(found, 1);
	assert_true(full_uj > 0);
	assert_int_equal(full_uj, whole.window.total.energy_uj);
	wattle_consumers_free(list);
	wattle_recording_close(recording);
}

static void put(const char *name, const char *text)
{
	char file[256];
	FILE *out;

	snprintf(file, sizeof(file), "%s/root/%s", dir, name);
	out = fopen(file, "w");
	assert_non_null(out);
	fputs(text, out);
	assert_int_equal(fclose(out), 0);
}

/* By which recordings of several machines, or of one, are told apart. */
static void test_identity(void **state)
{
	char root[160], script[192], command[400], machine[32] = "";
	const struct wattle_options options = {
		.size = sizeof(options), .root = root, .nvml_path = getenv("WATTLE_NVML_LIBRARY")};
	struct wattle_domain domain = {.size = sizeof(domain)};
	struct wattle_recording *recording;
	struct wattle_recorder *recorder;
	struct wattle_meter *meter;
	const char *boot;

	(void)state;
	snprintf(root, sizeof(root), "%s/root", dir);
	snprintf(script, sizeof(script), "%s/script", root);
	snprintf(command, sizeof(command), "mkdir -p %s/etc %s/proc/sys/kernel/random", root, root);
	assert_int_equal(system(command), 0);
	put("etc/machine-id", "0123456789abcdef0123456789abcdef\n");
	put("script", "gpu Fake\n  uuid GPU-11\n  power 0 const 100\n  sensor counter gpu 20\n");
	assert_int_equal(setenv("WATTLE_FAKE_NVML", script, 1), 0);
	for (int times = 0; times < 2; times++) {
		assert_return_code(wattle_meter_open(&options, &meter, NULL), 0);
		recorder = record(meter);
		wattle_meter_tick(meter);
		end(recorder);
		wattle_meter_close(meter);
		recording = play();
		for (size_t i = 0; i < wattle_recording_domains(recording); i++) {
			assert_return_code(wattle_recording_domain(recording, i, &domain), 0);
			if (domain.kind == WATTLE_KIND_GPU)
				assert_string_equal(domain.uuid, "GPU-11");
			else
				assert_null(domain.uuid);
		}
		assert_int_equal(strlen(wattle_recording_fact(recording, "machine-id")), 16);
		if (times)
			assert_string_equal(wattle_recording_fact(recording, "machine-id"),
					    machine);
		snprintf(machine, sizeof(machine), "%s",
			 wattle_recording_fact(recording, "machine-id"));
		boot = wattle_recording_fact(recording, "boot-id");
		assert_int_equal(boot ? strlen(boot) : 0, times ? 16 : 0);
		assert_true(!boot || strcmp(boot, machine) != 0);
		wattle_recording_close(recording);
		unlink(path);
		put("proc/sys/kernel/random/boot_id", "1b4e28ba-2fa1-11d2-883f-0016d3cca427\n");
	}
	unsetenv("WATTLE_FAKE_NVML");
}

static void test_errors(void **state)
{
	struct wattle_meter *meter = open_root(0, 0);
	struct wattle_recorder_options options = {.size = sizeof(options), .period_ns = -1};
	struct wattle_error error = {.size = sizeof(error)}, unsized = {.size = 0};
	struct wattle_recorder *recorder = NULL, *other = NULL;

	int pushed = 0;

	(void)state;
	assert_int_equal(wattle_recorder_close(NULL, NULL), 0);
	assert_int_equal(wattle_recorder_open(NULL, meter, NULL, &recorder, NULL), -EINVAL);
	assert_int_equal(wattle_recorder_open("", meter, NULL, &recorder, NULL), -EINVAL);
	assert_int_equal(wattle_recorder_open(path, NULL, NULL, &recorder, NULL), -EINVAL);
	assert_int_equal(wattle_recorder_open(path, meter, NULL, NULL, NULL), -EINVAL);
	assert_int_equal(wattle_recorder_open(path, meter, NULL, &recorder, &unsized), -EINVAL);
	assert_int_equal(wattle_recorder_open(path, meter, &options, &recorder, NULL), -EINVAL);
	options.period_ns = 0;
	options.size = 0;
	assert_int_equal(wattle_recorder_open(path, meter, &options, &recorder, NULL), -EINVAL);
	assert_int_equal(
		wattle_recorder_open("/proc/none/a.wattle", meter, NULL, &recorder, &error),
		-ENOENT);
	assert_string_equal(error.path, "/proc/none/a.wattle");
	assert_int_equal(wattle_window_begin(meter, "recording"), 0);
	assert_int_equal(wattle_recorder_open(path, meter, NULL, &recorder, &error),
			 -WATTLE_E_WINDOW_OPEN);
	assert_int_equal(wattle_window_cancel(meter, "recording"), 0);
	/* No room for one window more. */
	while (wattle_window_push(meter, "w") == 0)
		pushed++;
	assert_true(pushed > 0);
	assert_true(wattle_recorder_open(path, meter, NULL, &recorder, &error) < 0);
	assert_true(error.code < 0 && error.text[0] != '\0');
	assert_null(recorder);
	while (pushed-- > 0)
		assert_int_equal(wattle_window_pop(meter, NULL, NULL, 0), 0);
	assert_int_equal(wattle_window_begin(meter, "recording"), 0);
	assert_int_equal(wattle_window_cancel(meter, "recording"), 0);
	assert_int_not_equal(access(path, F_OK), 0);
	assert_null(recorder);

	recorder = record(meter);
	error.code = 7;
	assert_int_equal(wattle_recorder_status(recorder, &error), 0);
	assert_int_equal(error.code, 7);
	assert_int_equal(wattle_recorder_status(recorder, &unsized), -EINVAL);
	assert_int_equal(wattle_recorder_close(recorder, &unsized), -EINVAL);
	assert_int_equal(wattle_recorder_open(path, meter, NULL, &other, &error), -EBUSY);
	assert_null(other);
	end(recorder);
	assert_int_equal(wattle_recorder_open(path, meter, NULL, &other, &error), -EEXIST);
	assert_int_equal(error.code, -EEXIST);
	assert_true(error.text[0] != '\0');
	/* The meter has gone on. */
	assert_int_equal(wattle_meter_tick(meter), 0);
	wattle_meter_close(meter);
}

/* ---- A disk that fails ---- */

/* The file may not grow any more in the middle: that is said, the meter goes on, and what came before is there. */
static void test_full(void **state)
{
	struct wattle_energy energies[DOMAINS_MAX] = {{.size = sizeof(energies[0])}};
	struct wattle_error error = {.size = sizeof(error)};
	struct wattle_window window = {.size = sizeof(window)};
	struct wattle_meter *meter = open_root(0, 0);
	struct wattle_recorder *recorder = record(meter);
	struct wattle_recording *recording = NULL;
	struct rlimit before, limit;
	int status = 0, steps = 0;

	(void)state;
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	limit = before;
	assert_int_equal(wattle_window_begin(meter, "w"), 0);
	for (int i = 0; i < 80 && status == 0; i++) {
		move_counter(1);
		pause_ms(50);
		assert_int_equal(wattle_meter_tick(meter), 0);
		status = wattle_recorder_status(recorder, &error);
		limit.rlim_cur = 4096;
		if (i == 20)
			assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	}
	assert_true(status < 0);
	assert_int_equal(error.code, status);
	assert_string_equal(error.path, path);
	assert_true(error.text[0] != '\0');
	assert_int_equal(wattle_recorder_fact(recorder, "late", "1"), 0);
	error.code = 0;
	assert_int_equal(wattle_recorder_close(recorder, &error), status);
	assert_int_equal(error.code, status);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	assert_int_equal(wattle_window_end(meter, "w", &window, energies, DOMAINS_MAX), 0);
	assert_true(energies[0].energy_uj > 20000000);
	wattle_meter_close(meter);

	assert_int_equal(wattle_recording_open(path, &recording, &error), 0);
	assert_int_equal(wattle_recording_is_whole(recording), 0);
	assert_null(wattle_recording_fact(recording, "late"));
	while (wattle_recording_next(recording, 0, NULL, NULL, 0, &error) > 0)
		steps++;
	assert_in_range(steps, 10, 79);
	wattle_recording_close(recording);
}

static int remove_all(void **state)
{
	char beside[300];

	snprintf(beside, sizeof(beside), "%s-wal", path);
	unlink(beside);
	snprintf(beside, sizeof(beside), "%s-shm", path);
	unlink(beside);
	return remove_recording(state);
}

/* ---- Fed meters ---- */

enum { FED_SAMPLES = 1000 };

static const struct wattle_channel fed_channels[] = {
	{.size = sizeof(struct wattle_channel),
	 .domain = "package-0",
	 .source = "tool",
	 .kind = WATTLE_KIND_CPU,
	 .is_energy = 1,
	 .in_total = 1,
	 .unit_num = 1000,
	 .unit_den = 1,
	 .range = 1 << 20,
	 .max_uw = UINT64_C(500000000)},
	{.size = sizeof(struct wattle_channel),
	 .domain = "wall",
	 .source = "tool",
	 .kind = WATTLE_KIND_BOARD,
	 .update_ns = S},
};

static struct wattle_meter *open_fed(void)
{
	struct wattle_error error = {.size = sizeof(error)};
	struct wattle_meter *meter = NULL;

	if (wattle_meter_open_fed(fed_channels, 2, NULL, &meter, &error) < 0)
		fail_msg("%s", error.text);
	return meter;
}

/* Second i: 1 J a second by a counter of 2^20 mJ, which wraps once, and 150 W. */
static int feed(struct wattle_meter *meter, int64_t i)
{
	const uint64_t values[] = {(uint64_t)(1000000 + i * 1000) & ((1 << 20) - 1), 150000000};

	return wattle_meter_feed(meter, 1600000000 * S + i * S, i * S, values, NULL, 2);
}

static void test_fed(void **state)
{
	struct wattle_energy energies[DOMAINS_MAX] = {{.size = sizeof(energies[0])}};
	struct wattle_window window = {.size = sizeof(window)};
	struct wattle_meter *meter = open_fed();
	struct wattle_recorder *recorder;
	struct wattle_recording *recording;
	struct wattle_error error = {.size = sizeof(error)};

	(void)state;
	assert_int_equal(wattle_meter_domains(meter), 2);
	assert_int_equal(wattle_recorder_open(path, meter, NULL, &recorder, &error), -ENODATA);
	assert_non_null(strstr(error.text, "fed with nothing yet"));
	assert_int_equal(feed(meter, 0), 0);
	recorder = record(meter);
	assert_int_equal(wattle_window_begin(meter, "all"), 0);
	for (int i = 1; i <= FED_SAMPLES; i++)
		assert_int_equal(feed(meter, i), 0);
	assert_int_equal(wattle_window_end(meter, "all", &window, energies, DOMAINS_MAX), 0);
	end(recorder);
	wattle_meter_close(meter);
	assert_int_equal(window.duration_ns, FED_SAMPLES * S);
	assert_int_equal(window.begin_utc_ns, 1600000000 * S);
	assert_int_equal(energies[0].energy_uj, FED_SAMPLES * 1000000);
	assert_int_equal(energies[1].energy_uj, FED_SAMPLES * INT64_C(150000000));
	assert_int_equal(energies[0].gap_ns + energies[1].gap_ns, 0);
	assert_int_equal(window.total.energy_uj, energies[0].energy_uj);

	recording = play();
	check_window(recording, 0, "all", &window, energies);
	wattle_recording_close(recording);
}

/* What one channel does not tell is its gap, and nobody else's. */
static void test_fed_gap(void **state)
{
	static const enum wattle_status gone[] = {WATTLE_STATUS_GONE, WATTLE_STATUS_OK};
	const uint64_t values[] = {0, 150000000};
	struct wattle_energy energies[DOMAINS_MAX] = {{.size = sizeof(energies[0])}};
	struct wattle_meter *meter = open_fed();

	(void)state;
	assert_int_equal(feed(meter, 0), 0);
	assert_int_equal(wattle_window_begin(meter, "w"), 0);
	assert_int_equal(feed(meter, 1), 0);
	assert_int_equal(wattle_meter_feed(meter, 1600000002 * S, 2 * S, values, gone, 2), 0);
	assert_int_equal(wattle_window_end(meter, "w", NULL, energies, DOMAINS_MAX), 0);
	assert_int_equal(energies[0].status, WATTLE_STATUS_GONE);
	assert_int_equal(energies[1].status, WATTLE_STATUS_OK);
	assert_int_equal(energies[1].gap_ns, 0);
	assert_int_equal(energies[0].gap_ns, S);
	wattle_meter_close(meter);
}

/* The total is of several sources and methods; what one source errs by is common to its channels, whose names need
 * not lie in one place. */
static void test_fed_total(void **state)
{
	char again[] = "t";
	const struct wattle_channel channels[] = {
		{.size = sizeof(channels[0]),
		 .domain = "a",
		 .source = "t",
		 .is_energy = 1,
		 .in_total = 1,
		 .gain_ppm = 10000},
		{.size = sizeof(channels[0]),
		 .domain = "b",
		 .source = again,
		 .is_energy = 1,
		 .in_total = 1,
		 .gain_ppm = 10000},
		{.size = sizeof(channels[0]),
		 .domain = "c-longer-than-all-the-others-31",
		 .kind = WATTLE_KIND_GPU,
		 .in_total = 1,
		 .update_ns = S / 10,
		 .inside = "",
		 .device = "Abacus"},
	};
	struct wattle_window window = {.size = sizeof(window)};
	struct wattle_energy energies[3] = {{.size = sizeof(energies[0])}};
	struct wattle_domain domain = {.size = sizeof(domain)};
	struct wattle_meter *meter = NULL;

	(void)state;
	assert_int_equal(wattle_meter_open_fed(channels, 3, NULL, &meter, NULL), 0);
	for (int64_t i = 0; i <= 100; i++) {
		const uint64_t values[] = {(uint64_t)i * 3000000, (uint64_t)i * 4000000, 5000000};

		assert_int_equal(wattle_meter_feed(meter, 0, i * S, values, NULL, 3), 0);
		if (i == 0)
			assert_int_equal(wattle_window_begin(meter, "w"), 0);
	}
	assert_int_equal(wattle_window_end(meter, "w", &window, energies, 3), 0);
	assert_int_equal(window.total.method, WATTLE_METHOD_MIXED);
	assert_int_equal(window.total.energy_uj, 1200000000);
	assert_int_equal(window.total.flags, 0);
	/* 1 % of 700 J, twice; that of the power is small beside it. */
	assert_in_range(window.total.uncertainty_uj, 14000000,
			14000000 + energies[2].uncertainty_uj);
	assert_int_equal(wattle_meter_domain(meter, 2, &domain), 0);
	assert_string_equal(domain.name, channels[2].domain);
	assert_string_equal(domain.source, "fed");
	assert_string_equal(domain.device, "Abacus");
	assert_int_equal(domain.update_ns, S / 10);
	assert_int_equal(wattle_meter_domain(meter, 1, &domain), 0);
	assert_string_equal(domain.source, "t");
	assert_null(domain.device);
	wattle_meter_close(meter);
}

static void test_fed_channels(void **state)
{
	static const char too_long[] = "longer-than-all-of-the-others-32";
	const size_t size = sizeof(struct wattle_channel);
	const struct wattle_channel channels[] = {
		{.size = size, .domain = too_long},
		{.size = size, .domain = "a", .inside = too_long},
		{.size = size, .domain = "a", .source = too_long},
		{.size = size, .domain = "a", .kind = WATTLE_KINDS},
		{.size = size, .domain = "a", .update_ns = -1},
		{.size = size, .domain = "a", .unit_den = 1},
		{.size = size, .domain = NULL},
		{.size = 0, .domain = "a"},
	};
	const struct wattle_options options[] = {
		{.size = sizeof(options[0]), .root = "/"},
		{.size = sizeof(options[0]), .nvml_path = ""},
		{.size = sizeof(options[0]), .tape = "/"},
		{.size = sizeof(options[0]), .interval_ms = 10},
		{.size = sizeof(options[0]), .attribution = 1},
		{.size = sizeof(options[0]), .idle_file = "/"},
		{.size = sizeof(options[0]), .gpus = ""},
		{.size = sizeof(options[0]), .max_windows = 1 << 20},
		{.size = 0},
	};
	struct wattle_meter *meter = NULL;

	(void)state;
	for (size_t i = 0; i < sizeof(channels) / sizeof(channels[0]); i++) {
		struct wattle_error error = {.size = sizeof(error)};

		assert_int_equal(wattle_meter_open_fed(&channels[i], 1, NULL, &meter, &error),
				 -EINVAL);
		assert_int_equal(error.text[0] != '\0', channels[i].size != 0);
	}
	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		struct wattle_error error = {.size = sizeof(error)};

		assert_int_equal(
			wattle_meter_open_fed(fed_channels, 2, &options[i], &meter, &error),
			-EINVAL);
		assert_int_equal(error.code, -EINVAL);
		assert_true(error.text[0] != '\0');
	}
	assert_null(meter);
}

static void test_fed_errors(void **state)
{
	static const enum wattle_status rubbish[] = {WATTLE_STATUS_OK, (enum wattle_status)99};
	static const struct {
		int64_t t_utc_ns, t_mono_ns;
		int rc;
	} times[] = {
		{0, -1, -EINVAL},
		{INT64_C(1) << 62, 7 * S, 0},
		{(INT64_C(1) << 62) + 1, 8 * S, -EINVAL},
		{-(INT64_C(1) << 62), 8 * S, 0},
		{-(INT64_C(1) << 62) - 1, 9 * S, -EINVAL},
		{0, 8 * S + 999, -EINVAL}, /* the same microsecond */
		{0, 8 * S + 1000, 0},
		{0, (INT64_C(1) << 60) + 1, -EINVAL},
		{0, INT64_C(1) << 60, 0},
	};
	const uint64_t values[] = {0, 0, 0};
	struct wattle_channel channels[2] = {fed_channels[0], fed_channels[0]};
	struct wattle_error unsized = {.size = 0};
	struct wattle_recorder *recorder = NULL;
	struct wattle_meter *meter = NULL, *live;

	(void)state;
	assert_int_equal(wattle_meter_open_fed(channels, 2, NULL, &meter, NULL), -EEXIST);
	assert_int_equal(wattle_meter_open_fed(channels, 0, NULL, &meter, NULL), -EINVAL);
	assert_int_equal(wattle_meter_open_fed(NULL, 1, NULL, &meter, NULL), -EINVAL);
	assert_int_equal(wattle_meter_open_fed(channels, 4097, NULL, &meter, NULL), -EINVAL);
	assert_int_equal(wattle_meter_open_fed(channels, 1, NULL, NULL, NULL), -EINVAL);
	assert_int_equal(wattle_meter_open_fed(channels, 1, NULL, &meter, &unsized), -EINVAL);
	channels[0].size = 0;
	assert_int_equal(wattle_meter_open_fed(channels, 1, NULL, &meter, NULL), -EINVAL);
	assert_null(meter);

	meter = open_fed();
	assert_int_equal(wattle_window_begin(meter, "w"), -ENODATA);
	assert_int_equal(wattle_recorder_open(path, meter, NULL, &recorder, NULL), -ENODATA);
	assert_int_equal(wattle_meter_tick(meter), -ENOTSUP);
	assert_int_equal(feed(meter, 5), 0);
	assert_int_equal(feed(meter, 5), -EINVAL);
	assert_int_equal(feed(meter, 4), -EINVAL);
	assert_int_equal(wattle_meter_feed(meter, 0, 6 * S, values, NULL, 1), -EINVAL);
	assert_int_equal(wattle_meter_feed(meter, 0, 6 * S, values, NULL, 3), -EINVAL);
	assert_int_equal(wattle_meter_feed(meter, 0, 6 * S, NULL, NULL, 2), -EINVAL);
	assert_int_equal(wattle_meter_feed(meter, 0, 6 * S, values, rubbish, 2), -EINVAL);
	assert_int_equal(feed(meter, 6), 0);
	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++)
		assert_int_equal(wattle_meter_feed(meter, times[i].t_utc_ns, times[i].t_mono_ns,
						   values, NULL, 2),
				 times[i].rc);
	wattle_meter_close(meter);
	live = open_root(0, 0);
	assert_int_equal(wattle_meter_feed(live, 0, 6 * S, values, NULL, 2), -ENOTSUP);
	wattle_meter_close(live);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_record, remove_recording),
		cmocka_unit_test_teardown(test_thread, remove_recording),
		cmocka_unit_test_teardown(test_attribution, remove_recording),
		cmocka_unit_test_teardown(test_identity, remove_recording),
		cmocka_unit_test_teardown(test_errors, remove_recording),
		cmocka_unit_test_teardown(test_full, remove_all),
		cmocka_unit_test_teardown(test_fed, remove_recording),
		cmocka_unit_test(test_fed_gap),
		cmocka_unit_test(test_fed_total),
		cmocka_unit_test(test_fed_channels),
		cmocka_unit_test(test_fed_errors),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
