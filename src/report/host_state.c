/* SPDX-License-Identifier: MIT */
#include "report/host_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/num.h"
#include "base/text.h"

enum { NAMES_MAX = 64 * 1024 };

/* The first input of a CPU's own sensor: the package, or the control temperature. */
static void add_sensor(struct wtl_host_reader *reader, const char *name)
{
	static const char *const drivers[] = {"coretemp", "k10temp", "zenpower", "cpu_thermal"};
	char path[96], driver[32];

	if (reader->n_temperatures == WTL_HOST_SENSORS ||
	    snprintf(path, sizeof(path), "/sys/class/hwmon/%s/name", name) >= (int)sizeof(path) ||
	    wtl_io_read_line(reader->io, path, driver, sizeof(driver)) < 0)
		return;
	for (size_t i = 0; i < sizeof(drivers) / sizeof(drivers[0]); i++)
		if (strcmp(driver, drivers[i]) == 0)
			snprintf(reader->temperatures[reader->n_temperatures++],
				 sizeof(reader->temperatures[0]),
				 "/sys/class/hwmon/%.48s/temp1_input", name);
}

static void take_temperature(struct wtl_host_reader *reader)
{
	struct wtl_host_state *state = &reader->state;

	state->has_temperature = false;
	for (size_t i = 0; i < reader->n_temperatures; i++) {
		uint64_t milli;
		int celsius;

		if (wtl_io_read_u64(reader->io, reader->temperatures[i], &milli) < 0 ||
		    milli > 200000)
			continue;
		celsius = (int)((milli + 500) / 1000);
		if (!state->has_temperature || celsius > state->temperature_c)
			state->temperature_c = celsius;
		state->has_temperature = true;
	}
}

/* "cpu  user nice system idle iowait irq softirq steal …": the first eight add up. */
static void take_use(struct wtl_host_reader *reader)
{
	struct wtl_host_state *state = &reader->state;
	uint64_t fields[8] = {0}, all = 0, busy;
	char text[512], *at = text + 4;

	/* Only the first line is wanted; the file is longer. */
	if (wtl_io_read_line(reader->io, "/proc/stat", text, sizeof(text)) < 0 ||
	    !wtl_text_starts(text, "cpu "))
		return;
	for (size_t i = 0; i < 8; i++) {
		fields[i] = strtoull(at, &at, 10);
		all += fields[i];
	}
	busy = all - fields[3] - fields[4];
	state->has_use = reader->all > 0 && all > reader->all && busy >= reader->busy;
	if (state->has_use)
		state->use_ppm = (uint32_t)((busy - reader->busy) * 1000000 / (all - reader->all));
	reader->busy = busy;
	reader->all = all;
}

/* A line of /proc/meminfo, in kB. */
static uint64_t memory_line(const char *text, const char *name)
{
	const char *line = strstr(text, name);
	uint64_t kib;

	if (!line)
		return 0;
	line += strlen(name);
	line += strspn(line, " ");
	return wtl_num_u64(line, strspn(line, "0123456789"), &kib) < 0 ? 0 : kib * 1024;
}

static void take_memory(struct wtl_host_reader *reader)
{
	struct wtl_host_state *state = &reader->state;
	uint64_t available;
	char text[4096];

	if (wtl_io_slurp(reader->io, "/proc/meminfo", text, sizeof(text)) < 0)
		return;
	state->memory_bytes = memory_line(text, "MemTotal:");
	available = memory_line(text, "MemAvailable:");
	state->memory_used_bytes =
		state->memory_bytes > available ? state->memory_bytes - available : 0;
}

/* A file of one CPU: whether it could be read. */
static bool read_cpu(const struct wtl_host_reader *reader, unsigned cpu, const char *name,
		     uint64_t *ret_value)
{
	char path[96];

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%u/%s", cpu, name);
	return wtl_io_read_u64(reader->io, path, ret_value) == 0;
}

/* One CPU of the first, and one of the last half of them: all would wake all. */
static void take_cpus(struct wtl_host_reader *reader)
{
	struct wtl_host_state *state = &reader->state;
	unsigned half = state->n_cpus / 2, n = 0, n_throttle = 0;
	uint64_t value, throttle = 0, clocks_khz = 0;

	for (unsigned cpu = 0; cpu <= half; cpu += half ? half : 1) {
		if (read_cpu(reader, cpu, "cpufreq/scaling_cur_freq", &value)) {
			clocks_khz += value;
			n++;
		}
		if (read_cpu(reader, cpu, "thermal_throttle/package_throttle_count", &value)) {
			throttle += value;
			n_throttle++;
		}
	}
	state->clock_mhz = n ? (uint32_t)(clocks_khz / n / 1000) : 0;
	if (n_throttle && !state->has_throttled) {
		reader->throttle_start = throttle;
		state->has_throttled = true;
	}
	if (n_throttle && throttle >= reader->throttle_start)
		state->throttled = (uint32_t)(throttle - reader->throttle_start);
}

void wtl_host_init(struct wtl_host_reader *reader, struct wtl_io *io, unsigned n_cpus)
{
	struct wtl_buf names;

	*reader = (struct wtl_host_reader){.io = io, .state.n_cpus = n_cpus};
	wtl_io_read_line(io, "/proc/sys/kernel/hostname", reader->state.host,
			 sizeof(reader->state.host));
	wtl_buf_init(&names, NAMES_MAX);
	if (wtl_io_dir_read(io, "/sys/class/hwmon", &names) > 0)
		for (size_t at = 0; at < names.len; at += strlen(names.data + at) + 1)
			add_sensor(reader, names.data + at);
	wtl_buf_done(&names);
}

void wtl_host_read(struct wtl_host_reader *reader)
{
	take_use(reader);
	take_memory(reader);
	take_temperature(reader);
	take_cpus(reader);
}
