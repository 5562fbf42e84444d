/* SPDX-License-Identifier: MIT */
/*
 * Writes a recording as long as one likes, of a machine that is made up: with the code that records and with
 * its own clock, so that a day takes seconds.
 *
 *	bench_report FILE SECONDS PROCESSES
 *
 * Samples at 10 Hz of four counters and a power sensor, and looks once a second at so many processes, of
 * which one in twenty does something; one in two seconds ends, and another begins. On standard output: how
 * many samples, and how many values there are as lines of JSON.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "energy/units.h"
#include "meter/consumers.h"
#include "meter/meter.h"
#include "meter/observer.h"
#include "meter/given_io.h"
#include "replay/recorder.h"

enum { CHANNELS = 5, SLOTS_MAX = 100000, BUSY_PART = 20, LIFE_S = 2 };

#define BEGIN_MONO_NS (INT64_C(5000) * WTL_NS_PER_S)
#define BEGIN_UTC_NS  (INT64_C(1795219200) * WTL_NS_PER_S)
#define TICK_NS	      (WTL_NS_PER_S / 10)

struct machine {
	struct wtl_given_io io;
	struct wtl_channel channels[CHANNELS];
	struct wtl_reading readings[CHANNELS];
	uint64_t dice;
	struct wattle_meter *meter;
	struct wtl_consumers *consumers;
	struct wtl_recorder *recorder;
	struct wtl_use uses[SLOTS_MAX];
	struct wattle_energy energies[CHANNELS + 1];
	uint32_t n_processes;
	int next_pid;
	uint64_t n_samples;
};

static uint64_t roll(struct machine *machine, uint64_t most)
{
	machine->dice = machine->dice * UINT64_C(6364136223846793005) + 1442695040888963407u;
	return (machine->dice >> 33) % most;
}

static void make_channels(struct machine *machine)
{
	static const char *const names[CHANNELS] = {"package-0", "package-1", "dram-0", "dram-1",
						    "board-0"};

	for (int i = 0; i < CHANNELS; i++) {
		struct wtl_channel *channel = &machine->channels[i];
		bool is_power = i == CHANNELS - 1;

		snprintf(channel->domain, sizeof(channel->domain), "%s", names[i]);
		channel->kind = i < 2	   ? WATTLE_KIND_CPU
				: is_power ? WATTLE_KIND_BOARD
					   : WATTLE_KIND_DRAM;
		channel->in_total = !is_power;
		channel->quantity = is_power ? WTL_QUANTITY_POWER : WTL_QUANTITY_ENERGY;
		channel->method = is_power ? WATTLE_METHOD_INTEGRATED : WATTLE_METHOD_COUNTER;
		channel->unit = WTL_UNIT_MICRO;
		channel->gain_ppm = 10000;
		channel->update_ns = WTL_NS_PER_MS;
		channel->source = is_power ? "hwmon" : "rapl-powercap";
	}
}

static void take_sample(struct machine *machine, int64_t t_mono_ns)
{
	for (int i = 0; i < CHANNELS; i++) {
		struct wtl_reading *reading = &machine->readings[i];
		uint64_t step = 4000000 + roll(machine, 4000000);

		reading->t_mono_ns = t_mono_ns + 20000 + i * 5000;
		reading->half_ns = 2000;
		reading->value = i == CHANNELS - 1 ? 100000000 + step : reading->value + step;
	}
	machine->io.mono_ns = t_mono_ns;
	machine->io.after_ns = t_mono_ns + 60000;
	machine->io.utc_ns = BEGIN_UTC_NS + t_mono_ns - BEGIN_MONO_NS;
	machine->n_samples++;
}

static char commands[SLOTS_MAX][40];

static void begin_process(struct machine *machine, uint32_t slot)
{
	struct wtl_workload *workload = wtl_consumers_workload(machine->consumers);
	struct wtl_consumer *consumer = wtl_workload_restore_consumer(workload, slot);

	if (!consumer)
		abort();
	*consumer = (struct wtl_consumer){.pid = machine->next_pid++,
					  .start_ns = machine->io.mono_ns,
					  .uid = slot % 20,
					  .n_processes = 1,
					  .n_threads = 4,
					  .is_readable = true,
					  .rss_bytes = (UINT64_C(1) << 20) * slot,
					  .pss_bytes = UINT64_MAX,
					  .uss_bytes = UINT64_MAX,
					  .gpu_memory_bytes = UINT64_MAX,
					  .gpu_ppm = UINT32_MAX};
	snprintf(consumer->name, sizeof(consumer->name), "worker-%u", slot % 50);
	snprintf(commands[slot], sizeof(commands[slot]), "/usr/bin/worker-%u --of %u", slot % 50,
		 slot);
	consumer->command = commands[slot];
}

static void look(struct machine *machine, int64_t second)
{
	struct wtl_workload *workload = wtl_consumers_workload(machine->consumers);
	struct wtl_workload_scan told = {.t_mono_ns = machine->io.mono_ns,
					 .duration_ns = WTL_NS_PER_S,
					 .capacity_ns = 64 * WTL_NS_PER_S,
					 .uses = machine->uses};

	for (uint32_t i = 0; i < machine->n_processes; i++) {
		uint32_t slot = WTL_SLOTS_FIXED + i;
		struct wtl_consumer *consumer;
		int64_t cpu_ns;

		if (roll(machine, BUSY_PART) != 0)
			continue;
		consumer = wtl_workload_restore_consumer(workload, slot);
		cpu_ns = (int64_t)roll(machine, WTL_NS_PER_S);
		consumer->cpu_ns += cpu_ns;
		told.busy_ns += cpu_ns;
		machine->uses[told.n_uses++] =
			(struct wtl_use){.slot = slot, .weight = (uint64_t)cpu_ns};
	}
	if (second % LIFE_S == 0)
		begin_process(machine,
			      WTL_SLOTS_FIXED + (uint32_t)roll(machine, machine->n_processes));
	wtl_workload_restore_scan(workload, &told);
}

static int open_all(struct machine *machine, const char *path, struct wtl_err *err)
{
	const struct wattle_options options = {.size = sizeof(options)};
	const struct wtl_env env = {.io = &machine->io.io};
	const struct wtl_recorder_options how = {
		.path = path, .store = {.values_per_commit = 64}, .interval_ns = TICK_NS};
	int rc;

	wtl_given_io_init(&machine->io);
	machine->io.channels = machine->channels;
	machine->io.n_channels = CHANNELS;
	machine->io.readings = machine->readings;
	take_sample(machine, BEGIN_MONO_NS);
	rc = wtl_meter_new_from(&env, &options, wtl_given_sources, &machine->meter, err);
	if (rc == 0)
		rc = wtl_consumers_new_restored(machine->meter, NULL, 0, &machine->consumers, err);
	if (rc == 0)
		rc = wtl_recorder_new(machine->meter, machine->consumers, &how, &machine->recorder,
				      err);
	return rc;
}

static int record(struct machine *machine, int64_t seconds, struct wtl_err *err)
{
	struct wattle_window window;
	int rc = 0;

	for (uint32_t i = 0; i < machine->n_processes; i++)
		begin_process(machine, WTL_SLOTS_FIXED + i);
	wtl_recorder_fact(machine->recorder, "host", "bench");
	wtl_consumers_begin(machine->consumers);
	wattle_window_begin(machine->meter, "recording");
	for (int64_t i = 1; rc == 0 && i < seconds * 10; i++) {
		take_sample(machine, BEGIN_MONO_NS + i * TICK_NS);
		wattle_meter_tick(machine->meter);
		if (i % 10 != 0)
			continue;
		look(machine, i / 10);
		wtl_window_look(machine->meter, "recording", &window, machine->energies, CHANNELS);
		wtl_consumers_bill(machine->consumers, machine->energies,
				   window.begin_utc_ns + window.duration_ns);
		rc = wtl_recorder_commit(machine->recorder, err);
	}
	take_sample(machine, BEGIN_MONO_NS + seconds * WTL_NS_PER_S);
	wtl_window_end(machine->meter, "recording", &window, machine->energies, CHANNELS);
	look(machine, seconds);
	wtl_consumers_bill(machine->consumers, machine->energies,
			   window.begin_utc_ns + window.duration_ns);
	wtl_recorder_window(machine->recorder, "recording", false, &window, machine->energies);
	return rc;
}

int main(int argc, char **argv)
{
	struct machine *machine = calloc(1, sizeof(*machine));
	struct wtl_err err = {.code = 0};
	int rc;

	if (argc != 4 || !machine) {
		fprintf(stderr, "usage: bench_report FILE SECONDS PROCESSES\n");
		return 2;
	}
	machine->n_processes = (uint32_t)atoi(argv[3]);
	machine->next_pid = 1000;
	if (machine->n_processes == 0 || machine->n_processes > SLOTS_MAX - WTL_SLOTS_FIXED)
		return 2;
	make_channels(machine);
	rc = open_all(machine, argv[1], &err);
	if (rc == 0)
		rc = record(machine, atoll(argv[2]), &err);
	if (rc == 0)
		rc = wtl_recorder_end(machine->recorder, &err);
	if (rc < 0) {
		fprintf(stderr, "bench_report: %s: %s\n", err.path, err.text);
		return 1;
	}
	printf("%" PRIu64 "\n", machine->n_samples);
	wtl_consumers_free(machine->consumers);
	wattle_meter_close(machine->meter);
	free(machine);
	return 0;
}
