/* SPDX-License-Identifier: MIT */
/*
 * The files of sysfs and /proc that the GPU, hwmon, battery and model sources read, names of files
 * included. The input is lines of PATH=CONTENT; a line of "@MILLISECONDS" lets time pass and reads
 * everything, so that later lines change what was there while it is being read. "PATH>TARGET" is a
 * symbolic link, "PATH!" takes a file away. '|' in a content is a newline.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/io.h"
#include "energy/catalog.h"
#include "energy/units.h"
#include "memio.h"
#include "sensors/source.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct wtl_source_ops *const sources[] = {
	&wtl_source_amdgpu,  &wtl_source_intel_gpu, &wtl_source_hwmon,
	&wtl_source_battery, &wtl_source_model,
};

enum {
	N_SOURCES = sizeof(sources) / sizeof(sources[0]),
	READINGS_MAX = 256,
	FILES_MAX = MEMIO_FILES_MAX - 1,
	MODEL = N_SOURCES - 1,
};

struct opened {
	struct memio memio;
	struct wtl_catalog catalog;
	void *states[N_SOURCES];
	size_t first[N_SOURCES + 1];	 /* channels of each source */
	uint64_t modelled[READINGS_MAX]; /* the last values of the model's counters */
	bool is_open;
};

static void check(bool holds)
{
	if (!holds)
		abort();
}

/* Safe to print and within its bounds. */
static void check_text(const char *text, size_t size)
{
	check(strnlen(text, size) < size);
	for (; *text; text++)
		check((unsigned char)*text >= 0x20 && *text != 0x7f);
}

static void check_channel(const struct wtl_channel *channel)
{
	check(channel->domain[0] != '\0' && strcmp(channel->domain, channel->inside) != 0);
	check_text(channel->domain, sizeof(channel->domain));
	check_text(channel->inside, sizeof(channel->inside));
	check_text(channel->device, sizeof(channel->device));
	check(channel->unit.num > 0 && channel->unit.den > 0);
	check(channel->max_uw > 0 && channel->gain_ppm > 0 && channel->update_ns >= 0);
	check((channel->quantity == WTL_QUANTITY_POWER) ==
	      (channel->method == WATTLE_METHOD_INTEGRATED));
	check(!(channel->in_total &&
		(channel->kind == WATTLE_KIND_BATTERY || channel->kind == WATTLE_KIND_BOARD)));
}

static void open_all(struct opened *opened)
{
	const struct wtl_env env = {.io = &opened->memio.io};
	struct wtl_machine machine;
	const struct wtl_source_options options = {.nvml_path = "", .machine = &machine};

	check(wtl_machine_read(env.io, &machine) == 0);
	wtl_catalog_init(&opened->catalog);
	for (unsigned i = 0; i < N_SOURCES; i++) {
		opened->states[i] = calloc(1, sources[i]->state_size);
		check(opened->states[i] != NULL);
		opened->catalog.source = sources[i]->name;
		opened->catalog.rank = i;
		opened->first[i] = opened->catalog.n_channels;
		check(sources[i]->open(opened->states[i], &env, &options, &opened->catalog) == 0);
	}
	opened->first[N_SOURCES] = opened->catalog.n_channels;
	check(opened->catalog.n_channels <= READINGS_MAX);
	for (size_t i = 0; i < opened->catalog.n_channels; i++)
		check_channel(&opened->catalog.channels[i]);
	for (size_t i = 0; i < opened->catalog.n_misses; i++) {
		const struct wtl_miss *miss = &opened->catalog.misses[i];

		check_text(miss->domain, sizeof(miss->domain));
		check_text(miss->reason, sizeof(miss->reason));
		check_text(miss->remedy, sizeof(miss->remedy));
		check(miss->reason[0] != '\0' && miss->status != WATTLE_STATUS_OK);
	}
	opened->is_open = true;
}

static void read_all(struct opened *opened)
{
	struct wtl_reading readings[READINGS_MAX];

	if (!opened->is_open)
		open_all(opened);
	/* What a source leaves alone shows. */
	memset(readings, 0x5a, sizeof(readings));
	for (unsigned i = 0; i < N_SOURCES; i++)
		sources[i]->read(opened->states[i], &readings[opened->first[i]]);
	for (size_t i = 0; i < opened->catalog.n_channels; i++) {
		const struct wtl_reading *reading = &readings[i];

		check((reading->status == WATTLE_STATUS_OK) == (reading->error == 0));
		check(reading->error <= 0 && reading->half_ns == 0);
		check(reading->t_mono_ns == opened->memio.now_ns);
		check(reading->error == 0 || reading->value == 0);
		if (i >= opened->first[MODEL] && reading->error == 0) {
			check(reading->value >= opened->modelled[i]);
			opened->modelled[i] = reading->value;
		}
	}
}

static void close_all(struct opened *opened)
{
	for (unsigned i = 0; i < N_SOURCES && opened->is_open; i++) {
		sources[i]->close(opened->states[i]);
		free(opened->states[i]);
	}
	wtl_catalog_done(&opened->catalog);
}

/* One line: a file, a link, a removal or some time. */
static void obey(struct opened *opened, char *line, size_t len)
{
	size_t name_len = strcspn(line, "=>!");
	char mark = line[name_len];

	if (line[0] == '@') {
		unsigned long ms = strtoul(line + 1, NULL, 10);

		opened->memio.now_ns += (int64_t)(ms % 100000) * WTL_NS_PER_MS;
		read_all(opened);
		return;
	}
	for (size_t i = name_len; i < len; i++)
		if (line[i] == '|')
			line[i] = '\n';
	line[name_len] = '\0';
	if (line[0] != '/' || name_len > 300 || !mark)
		return;
	if (mark == '!') {
		memio_remove(&opened->memio, line);
	} else if (opened->memio.n_files < FILES_MAX) {
		if (mark == '=')
			memio_put(&opened->memio, line, line + name_len + 1, len - name_len - 1);
		else
			memio_link(&opened->memio, line, line + name_len + 1);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct opened *opened = calloc(1, sizeof(*opened));

	check(opened != NULL);
	memio_init(&opened->memio);
	while (size > 0) {
		const uint8_t *end = memchr(data, '\n', size);
		size_t len = end ? (size_t)(end - data) : size;
		char *line = malloc(len + 1);

		check(line != NULL);
		memcpy(line, data, len);
		line[len] = '\0';
		obey(opened, line, len);
		free(line);
		data += len;
		size -= len;
		if (size > 0) {
			data++;
			size--;
		}
	}
	read_all(opened);
	close_all(opened);
	memio_done(&opened->memio);
	free(opened);
	return 0;
}
