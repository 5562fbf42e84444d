/* SPDX-License-Identifier: MIT */
/*
 * What NVML answers: every call into the library takes its return code, and what it writes, from the
 * input, as a library of another version or a broken driver would. Nothing is assumed of the answers
 * but their sizes. Where the input ends nothing is supported any more, and nobody asks again. An input of an
 * odd number of bytes is for who looks at the GPUs, else for who measures.
 */
#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/io.h"
#include "energy/catalog.h"
#include "energy/reading.h"
#include "gpu/abi.h"
#include "memio.h"
#include "sensors/gpu_info.h"
#include "sensors/source.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { READS = 8, GPUS_MAX = 3 };

struct machine {
	struct memio memio; /* first: its io is the machine's */
	struct wtl_io_ops ops;
	const struct wtl_lib_function *functions;
	const uint8_t *data;
	size_t size;
};

static void check(bool holds)
{
	if (!holds)
		abort();
}

static unsigned next_byte(struct machine *machine)
{
	if (machine->size == 0)
		return 0;
	machine->size--;
	return *machine->data++;
}

static int lib_open(struct wtl_io *io, const char *const names[],
		    const struct wtl_lib_function functions[], size_t n_functions,
		    struct wtl_err *err)
{
	(void)names;
	(void)n_functions;
	(void)err;
	((struct machine *)io)->functions = functions;
	return 0;
}

static bool lib_has(struct wtl_io *io, int lib, size_t function)
{
	(void)lib;
	(void)function;
	return next_byte((struct machine *)io) % 16 != 15;
}

/* Runs of one byte: an input need not be as long as all structures. */
static void fill(struct machine *machine, uint8_t *to, size_t size)
{
	while (size > 0 && machine->size > 0) {
		size_t run = 1 + next_byte(machine) % 64;

		run = run < size ? run : size;
		memset(to, (int)next_byte(machine), run);
		to += run;
		size -= run;
	}
	memset(to, 0, size);
}

static int lib_call(struct wtl_io *io, int lib, size_t function, struct wtl_lib_arg args[],
		    int *ret_answer)
{
	struct machine *machine = (struct machine *)io;
	bool is_over = machine->size == 0;
	unsigned byte = next_byte(machine);

	(void)lib;
	if (byte == 255)
		return -ENOSYS;
	/* Half of all calls succeed. */
	*ret_answer = byte < 128 ? 0 : (int)(byte - 128);
	if (is_over)
		*ret_answer = WTL_NVML_NOT_SUPPORTED;
	for (unsigned i = 0; !is_over && i < machine->functions[function].n_args; i++)
		if (args[i].memory)
			fill(machine, args[i].memory, args[i].size);
	/* Hundreds of GPUs, as almost any number means, would take hundreds of times as long, and be alike. */
	if (function == WTL_NVML_COUNT)
		*(uint32_t *)args[0].memory %= GPUS_MAX + 1;
	return 0;
}

static void lib_close(struct wtl_io *io, int lib)
{
	(void)io;
	(void)lib;
}

static void check_text(const char *text, size_t size)
{
	size_t len = strnlen(text, size);

	check(len < size);
	for (size_t i = 0; i < len; i++)
		check(!iscntrl((unsigned char)text[i]));
}

static void check_catalog(const struct wtl_catalog *catalog)
{
	for (size_t i = 0; i < catalog->n_channels; i++) {
		check_text(catalog->channels[i].domain, sizeof(catalog->channels[i].domain));
		check_text(catalog->channels[i].device, sizeof(catalog->channels[i].device));
		check(catalog->channels[i].unit.den != 0);
	}
	for (size_t i = 0; i < catalog->n_misses; i++) {
		check_text(catalog->misses[i].reason, sizeof(catalog->misses[i].reason));
		check_text(catalog->misses[i].remedy, sizeof(catalog->misses[i].remedy));
		check(catalog->misses[i].reason[0] != '\0');
	}
}

static void read_all(struct machine *machine, void *state, size_t n)
{
	struct wtl_reading *readings = calloc(n + 1, sizeof(*readings));

	check(readings != NULL);
	for (int i = 0; i < READS && (i < 2 || machine->size > 0); i++) {
		machine->memio.now_ns += 700 * WTL_NS_PER_MS;
		wtl_source_nvml.read(state, readings);
		for (size_t k = 0; k < n; k++)
			check((readings[k].status == WATTLE_STATUS_OK) == (readings[k].error == 0));
	}
	free(readings);
}

static void fuzz_source(struct machine *machine, const struct wtl_env *env,
			const struct wtl_source_options *options)
{
	struct wtl_catalog catalog;
	void *state = calloc(1, wtl_source_nvml.state_size);

	check(state != NULL);
	wtl_catalog_init(&catalog);
	catalog.source = wtl_source_nvml.name;
	check(wtl_source_nvml.open(state, env, options, &catalog) == 0);
	check(catalog.n_channels + catalog.n_misses > 0);
	check_catalog(&catalog);
	read_all(machine, state, catalog.n_channels);
	wtl_source_nvml.close(state);
	free(state);
	wtl_catalog_done(&catalog);
}

static void check_gpu(const struct wtl_gpu *gpu)
{
	check_text(gpu->name, sizeof(gpu->name));
	check_text(gpu->uuid, sizeof(gpu->uuid));
	check_text(gpu->trouble, sizeof(gpu->trouble));
	check_text(gpu->fabric_cluster, sizeof(gpu->fabric_cluster));
	check_text(gpu->fabric_status, sizeof(gpu->fabric_status));
	check_text(gpu->chassis_serial, sizeof(gpu->chassis_serial));
	for (size_t i = 0; i < WTL_GPU_NUMBERS; i++)
		check(gpu->numbers[i].status == WATTLE_STATUS_OK || gpu->numbers[i].value == 0);
	for (size_t i = 0; i < gpu->n_processes; i++)
		check_text(gpu->processes[i].name, sizeof(gpu->processes[i].name));
}

static void fuzz_reader(struct machine *machine, const struct wtl_env *env,
			const struct wtl_source_options *options)
{
	const unsigned what = WTL_GPU_READ_NUMBERS | WTL_GPU_READ_PCIE | WTL_GPU_READ_PROCESSES |
			      WTL_GPU_READ_USE | WTL_GPU_READ_DETAILS | WTL_GPU_READ_INFOROM;
	struct wtl_gpu_reader *reader;
	const struct wtl_gpu *gpus;
	size_t n;

	check(wtl_gpu_reader_new(env, options, &reader, NULL) == 0);
	for (int i = 0; i < READS && (i < 2 || machine->size > 0); i++) {
		machine->memio.now_ns += 700 * WTL_NS_PER_MS;
		/* The details first: they come late in the input otherwise. */
		wtl_gpu_reader_read(reader, i % 2 ? what : WTL_GPU_READ_DETAILS);
		gpus = wtl_gpu_reader_gpus(reader, &n);
		for (size_t k = 0; k < n; k++)
			check_gpu(&gpus[k]);
	}
	wtl_gpu_reader_free(reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct wtl_machine facts = {.n_cpus = 1, .n_packages = 1};
	const struct wtl_source_options options = {.machine = &facts};

	struct machine machine = {.data = data, .size = size};
	const struct wtl_env env = {.io = &machine.memio.io};

	memio_init(&machine.memio);
	machine.ops = *machine.memio.io.ops;
	machine.ops.lib_open = lib_open;
	machine.ops.lib_has = lib_has;
	machine.ops.lib_call = lib_call;
	machine.ops.lib_close = lib_close;
	machine.memio.io.ops = &machine.ops;
	if (size % 2)
		fuzz_reader(&machine, &env, &options);
	else
		fuzz_source(&machine, &env, &options);
	memio_done(&machine.memio);
	return 0;
}
