/* SPDX-License-Identifier: MIT */
/* A domain's GPU and its power limit. */
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/text.h"
#include "commands/top/collect.h"

enum { NAMES_MAX = 64 * 1024 };

static const enum wtl_gpu_number shown[] = {
	[WTL_TOP_GPU_LIMIT_UW] = WTL_GPU_LIMIT_UW,
	[WTL_TOP_GPU_USE_PERCENT] = WTL_GPU_USE_PERCENT,
	[WTL_TOP_GPU_MEMORY_USE_PERCENT] = WTL_GPU_MEMORY_USE_PERCENT,
	[WTL_TOP_GPU_ENCODER_PERCENT] = WTL_GPU_ENCODER_PERCENT,
	[WTL_TOP_GPU_DECODER_PERCENT] = WTL_GPU_DECODER_PERCENT,
	[WTL_TOP_GPU_MEMORY_TOTAL_BYTES] = WTL_GPU_MEMORY_TOTAL_BYTES,
	[WTL_TOP_GPU_MEMORY_USED_BYTES] = WTL_GPU_MEMORY_USED_BYTES,
	[WTL_TOP_GPU_TEMPERATURE_C] = WTL_GPU_TEMPERATURE_C,
	[WTL_TOP_GPU_CLOCK_GRAPHICS_MHZ] = WTL_GPU_CLOCK_GRAPHICS_MHZ,
	[WTL_TOP_GPU_CLOCK_SM_MHZ] = WTL_GPU_CLOCK_SM_MHZ,
	[WTL_TOP_GPU_FAN_PERCENT] = WTL_GPU_FAN_PERCENT,
	[WTL_TOP_GPU_PSTATE] = WTL_GPU_PSTATE,
	[WTL_TOP_GPU_THROTTLE] = WTL_GPU_THROTTLE,
	[WTL_TOP_GPU_PCIE_GEN] = WTL_GPU_PCIE_GEN,
	[WTL_TOP_GPU_PCIE_WIDTH] = WTL_GPU_PCIE_WIDTH,
	[WTL_TOP_GPU_PCIE_TX_BYTES_PER_S] = WTL_GPU_PCIE_TX_BYTES_PER_S,
	[WTL_TOP_GPU_PCIE_RX_BYTES_PER_S] = WTL_GPU_PCIE_RX_BYTES_PER_S,
};

void wtl_top_gpus_join(struct wtl_top_view *view)
{
	for (size_t i = 0; i < view->n_domains; i++) {
		struct wtl_top_domain *domain = &view->domains[i];

		domain->gpu = -1;
		for (size_t k = 0; k < view->n_gpus && domain->kind == WATTLE_KIND_GPU; k++) {
			const struct wtl_gpu_value *limit =
				&view->gpus[k].numbers[WTL_TOP_GPU_LIMIT_UW];

			if (strcmp(view->gpus[k].domain, domain->name) != 0)
				continue;
			domain->gpu = (int)k;
			domain->limit_uw = limit->status == WATTLE_STATUS_OK ? limit->value : 0;
		}
	}
}

static void take_gpu(const struct wtl_gpu *from, struct wtl_top_gpu *gpu)
{
	gpu->index = from->index;
	gpu->status = from->status;
	wtl_text_copy(gpu->domain, sizeof(gpu->domain), from->domain);
	wtl_text_copy(gpu->name, sizeof(gpu->name), from->name[0] ? from->name : from->vendor);
	for (size_t i = 0; i < WTL_TOP_GPU_NUMBERS; i++)
		gpu->numbers[i] = from->numbers[shown[i]];
}

static bool take_gpus(void *context, const struct wtl_gpu answers[], size_t n, int64_t read_ns)
{
	struct wtl_top_view *view = context;

	if (wtl_top_view_reserve(view, 0, n, 0, 0) < 0)
		return false;
	view->n_gpus = 0;
	for (size_t i = 0; i < n; i++)
		if (!answers[i].is_left_out)
			take_gpu(&answers[i], &view->gpus[view->n_gpus++]);
	view->gpus_answered_ns = read_ns;
	wtl_top_gpus_join(view);
	return true;
}

int wtl_top_gpus_init(struct wtl_gpu_details *details, struct wattle_meter *meter,
		      struct wtl_top_view *view)
{
	int rc = wtl_gpu_details_init(details, meter, WTL_GPU_READ_SCREEN);

	details->keep = take_gpus;
	details->context = view;
	return rc;
}

void wtl_top_gpu_set(struct wtl_top_gpu *gpu, enum wtl_gpu_number number, uint64_t value)
{
	for (size_t i = 0; i < WTL_TOP_GPU_NUMBERS; i++)
		if (shown[i] == number)
			gpu->numbers[i] =
				(struct wtl_gpu_value){.value = value, .status = WATTLE_STATUS_OK};
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
