/* SPDX-License-Identifier: MIT */
#include "source_bench.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "unit.h"

static struct bench *bench_of(struct wtl_io *io)
{
	return (struct bench *)io;
}

static int opened(struct bench *bench, int handle)
{
	bench->opens++;
	if (handle >= 0)
		bench->open_now++;
	return handle;
}

static int bench_file_open(struct wtl_io *io, const char *path)
{
	struct bench *bench = bench_of(io);

	return opened(bench, wtl_io_file_open(bench->real, path));
}

static ssize_t bench_file_read(struct wtl_io *io, int file, void *buf, size_t size)
{
	struct bench *bench = bench_of(io);

	bench->reads++;
	return wtl_io_file_read(bench->real, file, buf, size);
}

static void bench_file_close(struct wtl_io *io, int file)
{
	struct bench *bench = bench_of(io);

	bench->closes++;
	bench->open_now--;
	wtl_io_file_close(bench->real, file);
}

static int bench_perf_open(struct wtl_io *io, const struct wtl_perf_event *event)
{
	struct bench *bench = bench_of(io);

	return opened(bench, wtl_io_perf_open(bench->real, event));
}

static int bench_perf_read(struct wtl_io *io, int file, uint64_t *ret_value)
{
	struct bench *bench = bench_of(io);

	bench->reads++;
	return wtl_io_perf_read(bench->real, file, ret_value);
}

static void bench_perf_close(struct wtl_io *io, int file)
{
	struct bench *bench = bench_of(io);

	bench->closes++;
	bench->open_now--;
	wtl_io_perf_close(bench->real, file);
}

static int64_t bench_clock(struct wtl_io *io, enum wtl_clock clock)
{
	struct bench *bench = bench_of(io);
	int64_t now_ns = bench->now_ns;

	(void)clock;
	bench->now_ns += bench->step_ns;
	return now_ns;
}

/* Libraries, waiting and output are not for such sources: a call crashes the test. */
static const struct wtl_io_ops bench_ops = {
	.file_open = bench_file_open,
	.file_read = bench_file_read,
	.file_close = bench_file_close,
	.link_read = pass_link_read,
	.dir_read = pass_dir_read,
	.perf_open = bench_perf_open,
	.perf_read = bench_perf_read,
	.perf_close = bench_perf_close,
	.process_cpu = pass_process_cpu,
	.exits_open = pass_exits_open,
	.exits_read = pass_exits_read,
	.exits_close = pass_exits_close,
	.clock_ns = bench_clock,
	.file_write = pass_file_write,
};

static void start(struct bench *bench)
{
	struct wtl_err err;

	bench->io.ops = &bench_ops;
	bench->now_ns = BENCH_START_NS;
	if (wtl_io_real_new(bench->root, &bench->real, &err) < 0)
		fail_msg("%s: %s", bench->root, err.text);
	wtl_catalog_init(&bench->catalog);
}

static void find_root(char *path, size_t size, const char *name)
{
	const char *roots = getenv("WATTLE_ROOTS");
	const char *source = getenv("WATTLE_SOURCE_ROOT");

	if (roots)
		snprintf(path, size, "%s/%s", roots, name);
	else
		snprintf(path, size, "%s/tests/fixtures/roots/%s", source ? source : ".", name);
}

void bench_root(struct bench *bench, const char *name)
{
	memset(bench, 0, sizeof(*bench));
	find_root(bench->root, sizeof(bench->root), name);
	start(bench);
}

static void shell(const char *command)
{
	if (system(command) != 0)
		fail_msg("failed: %s", command);
}

void bench_copy(struct bench *bench, const char *name)
{
	char from[256], command[512];

	memset(bench, 0, sizeof(*bench));
	bench->copy = unit_tmpdir();
	if (name[0]) {
		find_root(from, sizeof(from), name);
		snprintf(command, sizeof(command), "cp -a '%s/.' %s", from, bench->copy);
		shell(command);
	}
	snprintf(bench->root, sizeof(bench->root), "%s", bench->copy);
	start(bench);
}

void bench_write(const struct bench *bench, const char *path, const char *content)
{
	assert_non_null(bench->copy);
	unit_write(bench->copy, path, content);
}

void bench_link(const struct bench *bench, const char *path, const char *target)
{
	assert_non_null(bench->copy);
	unit_symlink(bench->copy, path, target);
}

void bench_remove(const struct bench *bench, const char *path)
{
	char command[600];

	assert_non_null(bench->copy);
	snprintf(command, sizeof(command), "rm -r '%s%s'", bench->copy, path);
	shell(command);
}

void bench_open(struct bench *bench, const struct wtl_source_ops *ops)
{
	struct wtl_machine machine;
	const struct wtl_source_options options = {.nvml_path = "", .machine = &machine};
	const struct wtl_env env = {.io = &bench->io, .drop_rights = bench->drop_rights};

	assert_int_equal(wtl_machine_read(&bench->io, &machine), 0);
	bench->ops = ops;
	bench->state = calloc(1, ops->state_size);
	assert_non_null(bench->state);
	bench->catalog.source = ops->name;
	assert_return_code(ops->open(bench->state, &env, &options, &bench->catalog), 0);
	assert_true(bench->catalog.n_channels <=
		    sizeof(bench->readings) / sizeof(bench->readings[0]));
}

void bench_read(struct bench *bench, int64_t later_ns)
{
	bench->now_ns += later_ns;
	/* What the source leaves alone shows. */
	memset(bench->readings, 0x5a, sizeof(bench->readings));
	bench->ops->read(bench->state, bench->readings);
}

void bench_done(struct bench *bench)
{
	if (bench->ops)
		bench->ops->close(bench->state);
	free(bench->state);
	wtl_catalog_done(&bench->catalog);
	wtl_io_free(bench->real);
	unit_rmtree(bench->copy);
	assert_int_equal(bench->open_now, 0);
}

const struct wtl_channel *bench_channel(const struct bench *bench, const char *domain)
{
	for (size_t i = 0; i < bench->catalog.n_channels; i++)
		if (strcmp(bench->catalog.channels[i].domain, domain) == 0)
			return &bench->catalog.channels[i];
	fail_msg("no channel of %s", domain);
	return NULL;
}

const struct wtl_miss *bench_miss(const struct bench *bench, const char *domain)
{
	for (size_t i = 0; i < bench->catalog.n_misses; i++)
		if (strcmp(bench->catalog.misses[i].domain, domain) == 0)
			return &bench->catalog.misses[i];
	fail_msg("no miss of \"%s\"", domain);
	return NULL;
}

const struct wtl_reading *bench_reading(const struct bench *bench, const char *domain)
{
	return &bench->readings[bench_channel(bench, domain) - bench->catalog.channels];
}

const char *bench_domains(const struct bench *bench, char *text, size_t size)
{
	size_t len = 0;

	text[0] = '\0';
	for (size_t i = 0; i < bench->catalog.n_channels && len < size; i++)
		len += (size_t)snprintf(text + len, size - len, "%s%s", i ? " " : "",
					bench->catalog.channels[i].domain);
	return text;
}
