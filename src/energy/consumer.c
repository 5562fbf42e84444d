/* SPDX-License-Identifier: MIT */
#include "energy/consumer.h"

int64_t wtl_consumer_cpu_ns(const struct wtl_consumer *consumer)
{
	/* A GPU's driver knows its number, and nobody here when it began; a hidden process has a clock. */
	bool is_outside = consumer->pid > 0 && !consumer->is_readable && consumer->start_ns == 0;

	return is_outside && consumer->cpu_ns == 0 ? -1 : consumer->cpu_ns;
}
