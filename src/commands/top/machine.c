/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/num.h"
#include "base/text.h"
#include "base/thread.h"
#include "report/description.h"
#include "commands/top/collect.h"
#include "energy/units.h"

enum { NAMES_MAX = 64 * 1024 };

/* The names in a directory, each with its NUL; none where it cannot be read. To be done with. */
static void read_names(struct wtl_io *io, const char *dir, struct wtl_buf *names)
{
	wtl_buf_init(names, NAMES_MAX);
	if (wtl_io_dir_read(io, dir, names) <= 0)
		wtl_buf_clear(names);
}

/* ---- Temperature ---- */

/* The first input of a CPU's own sensor: the package, or the control temperature. */
static void add_sensor(struct wtl_top_machine_reader *reader, const char *name)
{
	static const char *const drivers[] = {"coretemp", "k10temp", "zenpower", "cpu_thermal"};
	char path[96], driver[32];

	if (reader->n_temperatures == WTL_TOP_SENSORS ||
	    snprintf(path, sizeof(path), "/sys/class/hwmon/%s/name", name) >= (int)sizeof(path) ||
	    wtl_io_read_line(reader->io, path, driver, sizeof(driver)) < 0)
		return;
	for (size_t i = 0; i < sizeof(drivers) / sizeof(drivers[0]); i++)
		if (strcmp(driver, drivers[i]) == 0)
			snprintf(reader->temperatures[reader->n_temperatures++],
				 sizeof(reader->temperatures[0]),
				 "/sys/class/hwmon/%.48s/temp1_input", name);
}

static void take_temperature(const struct wtl_top_machine_reader *reader,
			     struct wtl_top_machine *machine)
{
	machine->has_temperature = false;
	for (size_t i = 0; i < reader->n_temperatures; i++) {
		uint64_t milli;
		int celsius;

		if (wtl_io_read_u64(reader->io, reader->temperatures[i], &milli) < 0 ||
		    milli > 200000)
			continue;
		celsius = (int)((milli + 500) / 1000);
		if (!machine->has_temperature || celsius > machine->temperature_c)
			machine->temperature_c = celsius;
		machine->has_temperature = true;
	}
}

/* ---- Use, memory, clock, throttling ---- */

/* "cpu  user nice system idle iowait irq softirq steal …": the first eight add up. */
static void take_use(struct wtl_top_machine_reader *reader, struct wtl_top_machine *machine)
{
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
	machine->has_use = reader->all > 0 && all > reader->all && busy >= reader->busy;
	if (machine->has_use)
		machine->use_ppm =
			(uint32_t)((busy - reader->busy) * 1000000 / (all - reader->all));
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

static void take_memory(const struct wtl_top_machine_reader *reader,
			struct wtl_top_machine *machine)
{
	uint64_t available;
	char text[4096];

	if (wtl_io_slurp(reader->io, "/proc/meminfo", text, sizeof(text)) < 0)
		return;
	machine->memory_bytes = memory_line(text, "MemTotal:");
	available = memory_line(text, "MemAvailable:");
	machine->memory_used_bytes =
		machine->memory_bytes > available ? machine->memory_bytes - available : 0;
}

/* One CPU of the first, and one of the last half of them: all would wake all. */
static void take_cpus(struct wtl_top_machine_reader *reader, struct wtl_top_machine *machine)
{
	const unsigned cpus[] = {0, reader->n_cpus / 2};
	uint64_t value, throttle = 0, clocks_khz = 0;
	unsigned n = 0, n_throttle = 0;
	char path[96];

	for (size_t i = 0; i < 2; i++) {
		if (i == 1 && cpus[1] == 0)
			break;
		snprintf(path, sizeof(path),
			 "/sys/devices/system/cpu/cpu%u/cpufreq/scaling_cur_freq", cpus[i]);
		if (wtl_io_read_u64(reader->io, path, &value) == 0) {
			clocks_khz += value;
			n++;
		}
		snprintf(path, sizeof(path),
			 "/sys/devices/system/cpu/cpu%u/thermal_throttle/package_throttle_count",
			 cpus[i]);
		if (wtl_io_read_u64(reader->io, path, &value) == 0) {
			throttle += value;
			n_throttle++;
		}
	}
	machine->clock_mhz = n ? (uint32_t)(clocks_khz / n / 1000) : 0;
	if (n_throttle && !reader->has_throttle_start) {
		reader->throttle_start = throttle;
		reader->has_throttle_start = true;
	}
	if (n_throttle && throttle >= reader->throttle_start)
		machine->throttled = (uint32_t)(throttle - reader->throttle_start);
}

void wtl_top_machine_init(struct wtl_top_machine_reader *reader, struct wtl_io *io,
			  const struct wattle_meter *meter, struct wtl_top_view *view)
{
	struct wtl_buf names;

	memset(reader, 0, sizeof(*reader));
	reader->io = io;
	reader->n_cpus = meter->machine.n_cpus;
	view->machine.n_cpus = meter->machine.n_cpus;
	wtl_io_read_line(io, "/proc/sys/kernel/hostname", view->machine.host,
			 sizeof(view->machine.host));
	read_names(io, "/sys/class/hwmon", &names);
	for (size_t at = 0; at < names.len; at += strlen(names.data + at) + 1)
		add_sensor(reader, names.data + at);
	wtl_buf_done(&names);
}

void wtl_top_machine_take(struct wtl_top_machine_reader *reader, struct wtl_top_view *view)
{
	take_use(reader, &view->machine);
	take_memory(reader, &view->machine);
	take_temperature(reader, &view->machine);
	take_cpus(reader, &view->machine);
}

/* ---- Limits of packages ---- */

/* The long-term limit of a zone "intel-rapl:0" whose name is "package-0" (constraint 0 in the kernel's
 * powercap documentation). */
static void add_limit(struct wtl_io *io, struct wtl_top_view *view, const char *zone)
{
	char path[128], name[32];
	uint64_t limit_uw;

	if (!wtl_text_starts(zone, "intel-rapl") ||
	    snprintf(path, sizeof(path), "/sys/class/powercap/%s/name", zone) >=
		    (int)sizeof(path) ||
	    wtl_io_read_line(io, path, name, sizeof(name)) < 0 ||
	    !wtl_text_starts(name, "package-"))
		return;
	snprintf(path, sizeof(path), "/sys/class/powercap/%.40s/constraint_0_power_limit_uw", zone);
	if (wtl_io_read_u64(io, path, &limit_uw) < 0)
		return;
	for (size_t i = 0; i < view->n_domains; i++)
		if (view->domains[i].kind == WATTLE_KIND_CPU &&
		    strcmp(view->domains[i].name, name) == 0)
			view->domains[i].limit_uw = limit_uw;
}

void wtl_top_limits_take(struct wtl_io *io, struct wtl_top_view *view)
{
	struct wtl_buf names;

	read_names(io, "/sys/class/powercap", &names);
	for (size_t at = 0; at < names.len; at += strlen(names.data + at) + 1)
		add_limit(io, view, names.data + at);
	wtl_buf_done(&names);
}

/* ---- wattle itself ---- */

static uint64_t resident_bytes(void)
{
	char text[128], *at;
	int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
	ssize_t len = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;

	if (fd >= 0)
		close(fd);
	if (len <= 0)
		return 0;
	text[len] = '\0';
	at = strchr(text, ' ');
	return at ? strtoull(at, NULL, 10) * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
}

void wtl_top_self_take(struct wtl_top_machine_reader *reader, struct wattle_meter *meter,
		       struct wtl_top_view *view)
{
	struct wtl_top_self *self = &view->self;
	struct wtl_report_self report;
	int64_t wall_ns, span_ns;

	wtl_describe_self(meter, &report);
	wall_ns = wtl_thread_clock_ns();
	span_ns = wall_ns - reader->self_wall_ns;
	if (reader->self_wall_ns > 0 && span_ns > 0) {
		self->cpu_ppm = (uint32_t)((double)(report.cpu_ns - reader->self_cpu_ns) * 1e6 /
					   (double)span_ns);
		self->has_power = report.has_energy;
		self->power_uw = (uint64_t)((double)(report.energy_uj - reader->self_energy_uj) *
					    1e9 / (double)span_ns);
	}
	self->rss_bytes = resident_bytes();
	reader->self_wall_ns = wall_ns;
	reader->self_cpu_ns = report.cpu_ns;
	reader->self_energy_uj = report.energy_uj;
}
