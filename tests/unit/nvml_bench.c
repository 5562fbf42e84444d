/* SPDX-License-Identifier: MIT */
#include "nvml_bench.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "unit.h"

static struct nv *nv_of(struct wtl_io *io)
{
	return (struct nv *)io;
}

const char *nv_library(void)
{
	const char *path = getenv("WATTLE_NVML_LIBRARY");

	if (!path)
		fail_msg("WATTLE_NVML_LIBRARY must name the fake library");
	return path;
}

static int nv_lib_open(struct wtl_io *io, const char *const names[],
		       const struct wtl_lib_function functions[], size_t n, struct wtl_err *err)
{
	struct nv *nv = nv_of(io);
	struct wtl_io *real = nv->bench.real;
	int lib = wtl_io_lib_open(real, names, functions, n, err);

	nv->lib_opens++;
	if (lib < 0)
		return lib;
	nv->bench.open_now++;
	if (nv->taped)
		return lib;
	nv->fake = dlopen(names[0], RTLD_NOW | RTLD_NOLOAD);
	assert_non_null(nv->fake);
	nv->calls = (unsigned long (*)(const char *))dlsym(nv->fake, "fake_nvml_calls");
	nv->touched = (unsigned long (*)(unsigned))dlsym(nv->fake, "fake_nvml_touched");
	return lib;
}

static int nv_lib_call(struct wtl_io *io, int lib, size_t function, struct wtl_lib_arg args[],
		       int *answer)
{
	struct nv *nv = nv_of(io);
	struct wtl_io *real = nv->bench.real;
	int rc = wtl_io_lib_call(real, lib, function, args, answer);

	if (rc == 0 && nv->twist)
		rc = nv->twist(nv, function, args, answer);
	return rc;
}

static void nv_lib_close(struct wtl_io *io, int lib)
{
	struct nv *nv = nv_of(io);

	nv->lib_closes++;
	nv->bench.open_now--;
	wtl_io_lib_close(nv->bench.real, lib);
}

static int64_t nv_clock(struct wtl_io *io, enum wtl_clock clock)
{
	struct nv *nv = nv_of(io);

	if (nv->real_clock)
		return nv->bench.real->ops->clock_ns(nv->bench.real, clock);
	return nv->bench.now_ns;
}

void nv_set_time(struct nv *nv, int64_t t_ns)
{
	char text[32];

	snprintf(text, sizeof(text), "%020lld\n", (long long)t_ns);
	assert_int_equal(pwrite(nv->clock, text, strlen(text), 0), strlen(text));
	nv->bench.now_ns = BENCH_START_NS + t_ns;
}

void nv_prepare(struct nv *nv, const char *script)
{
	const char *scripts = getenv("WATTLE_FAKE_SCRIPTS");
	char path[512];

	nv->ops = *nv->bench.io.ops;
	nv->ops.lib_open = nv_lib_open;
	nv->ops.lib_call = nv_lib_call;
	nv->ops.lib_close = nv_lib_close;
	nv->ops.clock_ns = nv_clock;
	nv->bench.io.ops = &nv->ops;
	nv->dir = unit_tmpdir();
	snprintf(path, sizeof(path), "%s/clock", nv->dir);
	nv->clock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	assert_true(nv->clock >= 0);
	nv_set_time(nv, 0);
	setenv("WATTLE_FAKE_NVML_CLOCK", path, 1);
	if (!scripts)
		fail_msg("WATTLE_FAKE_SCRIPTS must name the directory of scripts");
	snprintf(path, sizeof(path), "%s/%s.nvml", scripts, script);
	setenv("WATTLE_FAKE_NVML", path, 1);
}

static void nv_say(void *context, enum wtl_log_level level, const char *text)
{
	struct nv *nv = context;
	size_t len = strlen(nv->said);

	if (level != WTL_LOG_DEBUG)
		snprintf(nv->said + len, sizeof(nv->said) - len, "%d %s\n", (int)level, text);
}

int nv_open(struct nv *nv, const char *nvml_path)
{
	struct wtl_machine machine;
	const struct wtl_source_options options = {
		.nvml_path = nvml_path, .gpus = nv->gpus, .machine = &machine};
	const struct wtl_env env = {.io = &nv->bench.io, .log = &nv->log};
	struct bench *bench = &nv->bench;

	nv->log = (struct wtl_log){.line = nv_say, .context = nv};
	assert_int_equal(wtl_machine_read(&bench->io, &machine), 0);
	bench->ops = &wtl_source_nvml;
	bench->state = calloc(1, bench->ops->state_size);
	assert_non_null(bench->state);
	bench->catalog.source = bench->ops->name;
	return bench->ops->open(bench->state, &env, &options, &bench->catalog);
}

void nv_empty(struct nv *nv, const char *script)
{
	memset(nv, 0, sizeof(*nv));
	bench_copy(&nv->bench, "");
	nv_prepare(nv, script);
}

void nv_empty_own(struct nv *nv, const char *text)
{
	char path[160];

	nv_empty(nv, "a100");
	snprintf(path, sizeof(path), "%.120s/own.nvml", nv->bench.root);
	unit_write(nv->bench.root, "own.nvml", text);
	setenv("WATTLE_FAKE_NVML", path, 1);
}

void nv_start(struct nv *nv, const char *script)
{
	nv_empty(nv, script);
	assert_int_equal(nv_open(nv, nv_library()), 0);
}

void nv_start_on(struct nv *nv, const char *root, const char *script)
{
	memset(nv, 0, sizeof(*nv));
	bench_root(&nv->bench, root);
	nv_prepare(nv, script);
	assert_int_equal(nv_open(nv, nv_library()), 0);
}

void nv_at(struct nv *nv, double seconds)
{
	nv_set_time(nv, S(seconds));
	bench_read(&nv->bench, 0);
}

void nv_done(struct nv *nv)
{
	bench_done(&nv->bench);
	if (nv->fake) {
		assert_int_equal(nv->lib_closes, 1);
		if (!nv->faulty && nv->calls("nvmlSystemGetDriverVersion"))
			assert_true(nv->calls("nvmlShutdown") > 0);
		dlclose(nv->fake);
	}
	close(nv->clock);
	unit_rmtree(nv->dir);
	unsetenv("WATTLE_FAKE_NVML");
	unsetenv("WATTLE_FAKE_NVML_CLOCK");
}

const struct wtl_channel *nv_channel(struct nv *nv, size_t i)
{
	assert_true(i < nv->bench.catalog.n_channels);
	return &nv->bench.catalog.channels[i];
}

void nv_check_ok(const struct wtl_reading *reading, uint64_t value)
{
	assert_int_equal(reading->status, WATTLE_STATUS_OK);
	assert_int_equal(reading->error, 0);
	assert_int_equal(reading->value, value);
}

void nv_check_status(const struct wtl_reading *reading, enum wattle_status status)
{
	assert_int_equal(reading->status, status);
	assert_int_equal(reading->value, 0);
}

const struct wtl_miss *nv_check_miss(struct nv *nv, const char *domain, enum wattle_status status,
				     const char *reason, const char *remedy)
{
	const struct wtl_miss *miss = bench_miss(&nv->bench, domain);

	assert_int_equal(miss->status, status);
	if (!strstr(miss->reason, reason))
		fail_msg("reason '%s' lacks '%s'", miss->reason, reason);
	if (remedy && !strstr(miss->remedy, remedy))
		fail_msg("remedy '%s' lacks '%s'", miss->remedy, remedy);
	if (!remedy)
		assert_string_equal(miss->remedy, "");
	return miss;
}

void nv_check_domains(struct nv *nv, const char *expected)
{
	char text[1024];

	assert_string_equal(bench_domains(&nv->bench, text, sizeof(text)), expected);
}
