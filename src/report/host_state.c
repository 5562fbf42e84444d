/* SPDX-License-Identifier: MIT */
#include "report/host_state.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/num.h"
#include "base/text.h"

enum { NAMES_MAX = 64 * 1024 };

/* Adds the first input of a CPU's own sensor: the package, or the control temperature. */
static void add_sensor(struct wtl_host_reader *reader, struct wtl_io *io, const char *name)
{
	static const char *const drivers[] = {"coretemp", "k10temp", "zenpower", "cpu_thermal"};
	char path[96], driver[32];

	if (reader->n_temperatures == WTL_HOST_SENSORS ||
	    snprintf(path, sizeof(path), "/sys/class/hwmon/%s/name", name) >= (int)sizeof(path) ||
	    wtl_io_read_line(io, path, driver, sizeof(driver)) < 0)
		return;
	snprintf(path, sizeof(path), "/sys/class/hwmon/%.48s/temp1_input", name);
	for (size_t i = 0; i < sizeof(drivers) / sizeof(drivers[0]); i++)
		if (strcmp(driver, drivers[i]) == 0)
			wtl_held_file_open(&reader->temperatures[reader->n_temperatures++], io,
					   path);
}

static void take_temperature(struct wtl_host_reader *reader)
{
	struct wtl_host_state *state = &reader->state;

	state->has_temperature = false;
	for (size_t i = 0; i < reader->n_temperatures; i++) {
		uint64_t milli;
		int celsius;

		if (wtl_held_file_u64(&reader->temperatures[i], &milli) < 0 || milli > 200000)
			continue;
		celsius = (int)((milli + 500) / 1000);
		if (!state->has_temperature || celsius > state->temperature_c)
			state->temperature_c = celsius;
		state->has_temperature = true;
	}
}

static bool read_machine(struct wtl_host_reader *reader, struct wtl_proc_machine *ret_machine)
{
	/* Only the first line is wanted; the file is longer. */
	char text[512];
	ssize_t len = wtl_held_file_text(&reader->stat, text, sizeof(text));
	int rc = len < 0 ? (int)len : wtl_proc_parse_machine(text, (size_t)len, ret_machine);

	return rc == 0 || rc == -EAGAIN;
}

static void take_use(struct wtl_host_reader *reader, const struct wtl_proc_machine *machine)
{
	struct wtl_host_state *state = &reader->state;
	struct wtl_proc_machine *before = &reader->machine, own;
	uint64_t all, idle;

	if (!machine || machine->n_cpus == 0) {
		if (!read_machine(reader, &own))
			return;
		machine = &own;
	}
	all = machine->all_ticks - before->all_ticks;
	idle = machine->idle_ticks - before->idle_ticks;
	/* Nothing has changed since the reading before. */
	if (all == 0)
		return;
	state->has_use =
		before->all_ticks > 0 && machine->all_ticks > before->all_ticks && idle <= all;
	if (state->has_use)
		state->use_ppm = (uint32_t)((all - idle) * 1000000 / all);
	*before = *machine;
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
	char text[1024]; /* the lines wanted are at the start */
	ssize_t len = wtl_held_file_text(&reader->memory, text, sizeof(text) - 1);

	if (len < 0)
		return;
	text[len] = '\0';
	state->memory_bytes = memory_line(text, "MemTotal:");
	available = memory_line(text, "MemAvailable:");
	state->memory_used_bytes =
		state->memory_bytes > available ? state->memory_bytes - available : 0;
}

/* Asks one CPU of the first and one of the last half: asking all would wake all. */
static void take_cpus(struct wtl_host_reader *reader)
{
	struct wtl_host_state *state = &reader->state;
	unsigned n = 0, n_throttle = 0;
	uint64_t value, throttle = 0, clocks_khz = 0;

	for (size_t i = 0; i < reader->n_cpus; i++) {
		if (wtl_held_file_u64(&reader->clocks[i], &value) == 0) {
			clocks_khz += value;
			n++;
		}
		if (wtl_held_file_u64(&reader->throttles[i], &value) == 0) {
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

static void hold_of_cpu(struct wtl_held_file *held, struct wtl_io *io, unsigned cpu,
			const char *name)
{
	char path[96];

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%u/%s", cpu, name);
	wtl_held_file_if_there(held, io, path);
}

static void hold_cpus(struct wtl_host_reader *reader, struct wtl_io *io)
{
	unsigned half = reader->state.n_cpus / 2;

	for (unsigned cpu = 0; cpu <= half; cpu += half ? half : 1, reader->n_cpus++) {
		hold_of_cpu(&reader->clocks[reader->n_cpus], io, cpu, "cpufreq/scaling_cur_freq");
		hold_of_cpu(&reader->throttles[reader->n_cpus], io, cpu,
			    "thermal_throttle/package_throttle_count");
	}
}

void wtl_host_init(struct wtl_host_reader *reader, struct wtl_io *io, unsigned n_cpus)
{
	struct wtl_buf names;

	*reader = (struct wtl_host_reader){.state.n_cpus = n_cpus};
	wtl_io_read_line(io, "/proc/sys/kernel/hostname", reader->state.host,
			 sizeof(reader->state.host));
	wtl_buf_init(&names, NAMES_MAX);
	if (wtl_io_dir_read(io, "/sys/class/hwmon", &names) > 0)
		for (size_t at = 0; at < names.len; at += strlen(names.data + at) + 1)
			add_sensor(reader, io, names.data + at);
	wtl_buf_done(&names);
	wtl_held_file_open(&reader->stat, io, "/proc/stat");
	wtl_held_file_open(&reader->memory, io, "/proc/meminfo");
	hold_cpus(reader, io);
}

void wtl_host_read(struct wtl_host_reader *reader, const struct wtl_proc_machine *machine)
{
	take_use(reader, machine);
	take_memory(reader);
	take_temperature(reader);
	take_cpus(reader);
}

void wtl_host_done(struct wtl_host_reader *reader)
{
	wtl_held_file_close(&reader->stat);
	wtl_held_file_close(&reader->memory);
	for (size_t i = 0; i < WTL_HOST_SENSORS; i++)
		wtl_held_file_close(&reader->temperatures[i]);
	for (size_t i = 0; i < WTL_HOST_CPUS; i++) {
		wtl_held_file_close(&reader->clocks[i]);
		wtl_held_file_close(&reader->throttles[i]);
	}
}
