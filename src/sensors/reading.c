/* SPDX-License-Identifier: MIT */
#include "sensors/source.h"

void wtl_reading_set(struct wtl_reading *reading, int64_t t0_ns, int64_t t1_ns, int error,
		     uint64_t value)
{
	int64_t took_ns = t1_ns > t0_ns ? t1_ns - t0_ns : 0;

	*reading = (struct wtl_reading){
		.t_mono_ns = t0_ns + took_ns / 2,
		.half_ns = (took_ns + 1) / 2,
		.value = error ? 0 : value,
		.status = wtl_status_from_error(error),
		.error = error,
	};
}

void wtl_held_file_reading(struct wtl_held_file *held, int64_t *t_ns, struct wtl_reading *reading)
{
	int64_t before_ns = *t_ns;
	uint64_t value = 0;
	int rc = wtl_held_file_u64(held, &value);

	if (held->io)
		*t_ns = wtl_io_mono_ns(held->io);
	wtl_reading_set(reading, before_ns, *t_ns, rc, value);
}
