/* SPDX-License-Identifier: MIT */
#ifndef WTL_METER_GIVEN_IO_H
#define WTL_METER_GIVEN_IO_H

#include "base/io.h"
#include "energy/reading.h"
#include "sensors/source.h"

/*
 * Readings that are given (by a recording, or a caller) as an environment and a source: no file is there, clocks
 * say what they are set to, and the only source has all the channels.
 */
struct wtl_given_io {
	struct wtl_io io;
	int64_t mono_ns, asleep_ns, utc_ns;
	/* The next sample, and the time when it is over. */
	const struct wtl_reading *readings;
	int64_t after_ns;
	const struct wtl_channel *channels;
	size_t n_channels;
	const struct wtl_miss *misses;
	size_t n_misses;
};

void wtl_given_io_init(struct wtl_given_io *io);

extern const struct wtl_source_ops *const wtl_given_sources[];

#endif
