/* SPDX-License-Identifier: MIT */
#include "serve/metrics.h"

#include <inttypes.h>

#include "base/buf.h"
#include "serve/live.h"

void wtl_metrics_write(const struct wtl_live *live, struct wtl_buf *buf)
{
	wtl_buf_puts(buf,
		     "# HELP wattle_domain_energy_joules_total Energy of a part of the machine\n"
		     "# TYPE wattle_domain_energy_joules_total counter\n");
	for (size_t i = 0; i < live->n_domains; i++)
		wtl_buf_printf(
			buf, "wattle_domain_energy_joules_total{domain=\"%s\"} %" PRIu64 ".%06u\n",
			live->domains[i].name, live->domains[i].energy_uj / 1000000,
			(unsigned)(live->domains[i].energy_uj % 1000000));
}
