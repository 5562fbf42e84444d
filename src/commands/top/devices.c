/* SPDX-License-Identifier: MIT */
/* What belongs to a domain beside its energy: its GPU, and its limit. */
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/text.h"
#include "commands/top/collect.h"

enum { NAMES_MAX = 64 * 1024 };

void wtl_top_gpus_join(struct wtl_top_view *view)
{
	for (size_t i = 0; i < view->n_domains; i++) {
		struct wtl_top_domain *domain = &view->domains[i];

		domain->gpu = -1;
		for (size_t k = 0; k < view->n_gpus && domain->kind == WATTLE_KIND_GPU; k++) {
			const struct wtl_gpu_value *limit =
				&view->gpus[k].numbers[WTL_GPU_LIMIT_UW];

			if (strcmp(view->gpus[k].domain, domain->name) != 0)
				continue;
			domain->gpu = (int)k;
			domain->limit_uw = limit->status == WATTLE_STATUS_OK ? limit->value : 0;
		}
	}
}

void wtl_top_gpus_show(const struct wtl_gpu_details *details, struct wtl_top_view *view)
{
	view->gpus = details->gpus;
	view->n_gpus = details->n;
	view->gpus_answered_ns = details->answered_ns;
	wtl_top_gpus_join(view);
}

/* The long-term limit of a zone "intel-rapl:0" whose name is "package-0" (constraint 0 in the kernel's
 * powercap documentation). */
static void add_limit(struct wtl_top_limits *limits, struct wtl_io *io,
		      const struct wtl_top_view *view, const char *zone)
{
	char path[128], name[32];

	if (!wtl_text_starts(zone, "intel-rapl") ||
	    snprintf(path, sizeof(path), "/sys/class/powercap/%s/name", zone) >=
		    (int)sizeof(path) ||
	    wtl_io_read_line(io, path, name, sizeof(name)) < 0 ||
	    !wtl_text_starts(name, "package-"))
		return;
	snprintf(path, sizeof(path), "/sys/class/powercap/%.40s/constraint_0_power_limit_uw", zone);
	for (size_t i = 0; i < view->n_domains && limits->n < WTL_TOP_LIMITS_MAX; i++)
		if (view->domains[i].kind == WATTLE_KIND_CPU &&
		    strcmp(view->domains[i].name, name) == 0) {
			limits->domains[limits->n] = i;
			wtl_held_file_open(&limits->files[limits->n++], io, path);
		}
}

void wtl_top_limits_init(struct wtl_top_limits *limits, struct wtl_io *io,
			 const struct wtl_top_view *view)
{
	struct wtl_buf names;

	limits->n = 0;
	wtl_buf_init(&names, NAMES_MAX);
	if (wtl_io_dir_read(io, "/sys/class/powercap", &names) > 0)
		for (size_t at = 0; at < names.len; at += strlen(names.data + at) + 1)
			add_limit(limits, io, view, names.data + at);
	wtl_buf_done(&names);
}

void wtl_top_limits_take(struct wtl_top_limits *limits, struct wtl_top_view *view)
{
	uint64_t limit_uw;

	for (size_t i = 0; i < limits->n; i++)
		if (wtl_held_file_u64(&limits->files[i], &limit_uw) == 0)
			view->domains[limits->domains[i]].limit_uw = limit_uw;
}

void wtl_top_limits_done(struct wtl_top_limits *limits)
{
	for (size_t i = 0; i < limits->n; i++)
		wtl_held_file_close(&limits->files[i]);
}
