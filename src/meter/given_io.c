/* SPDX-License-Identifier: MIT */
#include "meter/given_io.h"

#include <errno.h>
#include <string.h>

static struct wtl_given_io *own(struct wtl_io *io)
{
	return (struct wtl_given_io *)io;
}

static int no_file(struct wtl_io *io, const char *path)
{
	(void)io;
	(void)path;
	return -ENOENT;
}

static ssize_t no_link(struct wtl_io *io, const char *path, char *buf, size_t size)
{
	(void)io;
	(void)path;
	(void)buf;
	(void)size;
	return -ENOENT;
}

static int no_dir(struct wtl_io *io, const char *path, struct wtl_buf *names)
{
	(void)io;
	(void)path;
	(void)names;
	return -ENOENT;
}

static int64_t clock_ns(struct wtl_io *io, enum wtl_clock clock)
{
	const struct wtl_given_io *given = own(io);

	switch (clock) {
	case WTL_CLOCK_MONO:
		return given->mono_ns;
	case WTL_CLOCK_BOOT:
		return given->mono_ns + given->asleep_ns;
	case WTL_CLOCK_REAL:
		return given->utc_ns;
	}
	return 0;
}

/* It is a part of its owner. */
static void no_free(struct wtl_io *io)
{
	(void)io;
}

/* The meter, its consumers and this source ask for no more than this. */
static const struct wtl_io_ops ops = {
	.file_open = no_file,
	.link_read = no_link,
	.dir_read = no_dir,
	.clock_ns = clock_ns,
	.free = no_free,
};

void wtl_given_io_init(struct wtl_given_io *io)
{
	*io = (struct wtl_given_io){.io = {.ops = &ops}};
}

static int open_source(void *state, const struct wtl_env *env,
		       const struct wtl_source_options *options, struct wtl_catalog *catalog)
{
	struct wtl_given_io **given = state;
	int rc = 0;

	(void)options;
	*given = own(env->io);
	for (size_t i = 0; rc >= 0 && i < (*given)->n_channels; i++) {
		catalog->source = (*given)->channels[i].source;
		catalog->rank = (*given)->channels[i].rank;
		rc = wtl_catalog_add(catalog, &(*given)->channels[i]);
	}
	for (size_t i = 0; rc >= 0 && i < (*given)->n_misses; i++) {
		catalog->source = (*given)->misses[i].source;
		rc = wtl_catalog_miss(catalog, &(*given)->misses[i]);
	}
	return rc < 0 ? rc : 0;
}

static void read_source(void *state, struct wtl_reading readings[])
{
	struct wtl_given_io *given = *(struct wtl_given_io **)state;

	memcpy(readings, given->readings, given->n_channels * sizeof(*readings));
	given->mono_ns = given->after_ns;
}

static void close_source(void *state)
{
	(void)state;
}

static const struct wtl_source_ops source = {
	.name = "recording",
	.state_size = sizeof(struct wtl_given_io *),
	.answers_at_once = true,
	.open = open_source,
	.read = read_source,
	.close = close_source,
};

const struct wtl_source_ops *const wtl_given_sources[] = {&source, NULL};
