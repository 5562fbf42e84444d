/* SPDX-License-Identifier: MIT */
/*
 * The files of sysfs and /proc that the two RAPL sources read. The input is cut at form feeds; the
 * pieces become the contents of a fixed list of files, in turn. What is left over moves the counters
 * while they are being read.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/io.h"
#include "energy/catalog.h"
#include "energy/counter.h"
#include "memio.h"
#include "sensors/source.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CLASS "/sys/class/powercap/"
#define CPU   "/sys/devices/system/cpu/"
#define POWER "/sys/bus/event_source/devices/power/"

static const char *const paths[] = {
	"/proc/cpuinfo",
	CLASS "intel-rapl:0/name",
	CLASS "intel-rapl:0/energy_uj",
	CLASS "intel-rapl:0/max_energy_range_uj",
	CLASS "intel-rapl:0:a/name",
	CLASS "intel-rapl:0:a/energy_uj",
	CLASS "intel-rapl:0:a/max_energy_range_uj",
	CLASS "intel-rapl:0:a/enabled",
	CLASS "intel-rapl:1/name",
	CLASS "intel-rapl:1/energy_uj",
	CLASS "intel-rapl-mmio:0/name",
	CLASS "intel-rapl-mmio:0/energy_uj",
	POWER "type",
	POWER "cpumask",
	POWER "events/energy-pkg",
	POWER "events/energy-pkg.scale",
	POWER "events/energy-pkg.unit",
	POWER "events/energy-psys",
	POWER "events/energy-psys.scale",
	POWER "events/energy-psys.unit",
	"/wattle-perf/9-2-0",
	"/wattle-perf/9-2-1",
	"/wattle-perf/9-5-0",
	CPU "online",
	CPU "cpu0/topology/physical_package_id",
	CPU "cpu0/topology/die_id",
	CPU "cpu1/topology/physical_package_id",
	CPU "cpu1/topology/die_id",
	"/proc/meminfo",
	"/proc/self/status",
	"/proc/sys/kernel/perf_event_paranoid",
	"/sys/class/dmi/id/product_name",
	"/proc/1/cgroup",
};

/* Those that move. */
static const char *const counters[] = {
	CLASS "intel-rapl:0/energy_uj",
	CLASS "intel-rapl:0:a/energy_uj",
	"/wattle-perf/9-2-0",
	"/wattle-perf/9-2-1",
	POWER "cpumask",
};

enum { READINGS_MAX = 64 };

struct input {
	const uint8_t *data;
	size_t size;
};

static void check(bool holds)
{
	if (!holds)
		abort();
}

/* The next piece, of what is left. False at the end. */
static bool next_piece(struct input *input, struct input *ret_piece)
{
	const uint8_t *end;

	if (input->size == 0)
		return false;
	end = memchr(input->data, '\f', input->size);
	*ret_piece = *input;
	if (end) {
		ret_piece->size = (size_t)(end - input->data);
		input->data = end + 1;
		input->size -= ret_piece->size + 1;
	} else {
		input->size = 0;
	}
	return true;
}

/* Safe to print and within its bounds. */
static void check_text(const char *text, size_t size)
{
	check(strnlen(text, size) < size);
	for (; *text; text++)
		check((unsigned char)*text >= 0x20 && *text != 0x7f);
}

static void check_catalog(const struct wtl_catalog *catalog)
{
	for (size_t i = 0; i < catalog->n_channels; i++) {
		const struct wtl_channel *channel = &catalog->channels[i];

		check(channel->domain[0] != '\0');
		check_text(channel->domain, sizeof(channel->domain));
		check_text(channel->inside, sizeof(channel->inside));
		check_text(channel->device, sizeof(channel->device));
		check(channel->unit.num > 0 && channel->unit.den > 0);
		check(channel->max_uw > 0);
		check(strcmp(channel->domain, channel->inside) != 0);
		for (size_t j = 0; j < i; j++)
			check(strcmp(channel->domain, catalog->channels[j].domain) != 0);
	}
	for (size_t i = 0; i < catalog->n_misses; i++) {
		const struct wtl_miss *miss = &catalog->misses[i];

		check_text(miss->domain, sizeof(miss->domain));
		check_text(miss->reason, sizeof(miss->reason));
		check_text(miss->remedy, sizeof(miss->remedy));
		check(miss->reason[0] != '\0' && miss->status != WATTLE_STATUS_OK);
	}
}

static void read_all(const struct wtl_source_ops *ops, void *state,
		     const struct wtl_catalog *catalog, struct wtl_counter sums[])
{
	struct wtl_reading readings[READINGS_MAX];

	check(catalog->n_channels <= READINGS_MAX);
	ops->read(state, readings);
	for (size_t i = 0; i < catalog->n_channels; i++) {
		const struct wtl_reading *reading = &readings[i];

		check((reading->status == WATTLE_STATUS_OK) == (reading->error == 0));
		check(reading->error <= 0 && reading->half_ns >= 0);
		if (reading->error)
			check(reading->value == 0);
		else
			wtl_counter_feed(&sums[i], reading->t_mono_ns, reading->value);
	}
}

static void run(const struct wtl_source_ops *ops, struct memio *memio, struct input left)
{
	const struct wtl_env env = {.io = &memio->io};
	struct wtl_machine machine;
	const struct wtl_source_options options = {.nvml_path = "", .machine = &machine};
	void *state = calloc(1, ops->state_size);
	struct wtl_counter sums[READINGS_MAX];
	struct wtl_catalog catalog;
	struct input piece;

	check(state != NULL);
	check(wtl_machine_read(env.io, &machine) == 0);
	wtl_catalog_init(&catalog);
	catalog.source = ops->name;
	check(ops->open(state, &env, &options, &catalog) == 0);
	check_catalog(&catalog);
	/* A machine without a figure has a reason. */
	check(catalog.n_channels + catalog.n_misses > 0);
	for (size_t i = 0; i < catalog.n_channels && i < READINGS_MAX; i++) {
		const struct wtl_channel *channel = &catalog.channels[i];
		const struct wtl_counter_spec spec = {
			.range = channel->range,
			.unit = channel->unit,
			.max_uw = channel->max_uw,
		};

		wtl_counter_init(&sums[i], &spec);
	}
	read_all(ops, state, &catalog, sums);
	for (size_t i = 0; next_piece(&left, &piece); i++) {
		memio_put(memio, counters[i % (sizeof(counters) / sizeof(counters[0]))], piece.data,
			  piece.size);
		memio->now_ns += 600 * WTL_NS_PER_MS;
		read_all(ops, state, &catalog, sums);
	}
	ops->close(state);
	free(state);
	wtl_catalog_done(&catalog);
}

static void run_on(const struct wtl_source_ops *ops, struct input input)
{
	struct memio memio;
	struct input piece;

	memio_init(&memio);
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]) && next_piece(&input, &piece); i++)
		/* An empty piece: there is no such file. */
		if (piece.size > 0)
			memio_put(&memio, paths[i], piece.data, piece.size);
	run(ops, &memio, input);
	memio_done(&memio);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	run_on(&wtl_source_rapl_powercap, (struct input){data, size});
	run_on(&wtl_source_rapl_perf, (struct input){data, size});
	return 0;
}
