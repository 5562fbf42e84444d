/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "base/io.h"
#include "base/text.h"
#include "energy/catalog.h"
#include "energy/units.h"
#include "sensors/hwmon_read.h"
#include "sensors/source.h"

enum { VENDOR_INTEL = 0x8086 };

/* No Intel card draws as much: Data Center GPU Max 1550 is a 600 W part. */
#define MAX_UW UINT64_C(2000000000)
/* Not documented (judgement); what is seen while reading takes its place. */
#define UPDATE_NS (100 * WTL_NS_PER_MS)

/* Judgement, marked so in facts/carbon-and-ml.md 5.5. */
#define GAIN_PPM 50000

/* Integrated graphics is always this function of the first bus, and a part of the CPU package. */
static bool is_integrated(const struct wtl_hwmon_gpu *gpu)
{
	return strcmp(gpu->address, "0000:00:02.0") == 0;
}

/*
 * The counter that holds most: the whole card (energy1, labelled "card" by xe and not at all by
 * i915), else only its package (energy2, "pkg"). Both are in microjoules; the drivers extend the
 * hardware's 32 bits to 64 (hwm_energy() in i915_hwmon.c, xe_hwmon_energy_get() in xe_hwmon.c), as
 * long as somebody reads once in the four minutes that a 1000 W card takes to wrap.
 */
static const char *find_counter(struct wtl_io *io, const struct wtl_hwmon_gpu *gpu, char path[128],
				bool *ret_package)
{
	static const char *const files[] = {"energy1", "energy2"};
	char package[128] = "";

	for (size_t i = 0; i < 2; i++) {
		char label[16] = "";
		char label_path[128];
		char name[24];

		snprintf(name, sizeof(name), "%s_input", files[i]);
		if (!wtl_hwmon_dir_has(io, gpu->hwmon, name))
			continue;
		snprintf(path, 128, "%s/%s", gpu->hwmon, name);
		snprintf(label_path, sizeof(label_path), "%s/%s_label", gpu->hwmon, files[i]);
		(void)wtl_io_read_line(io, label_path, label, sizeof(label));
		if (strcmp(label, "pkg") != 0) {
			*ret_package = false;
			return path;
		}
		wtl_text_copy(package, sizeof(package), path);
	}
	*ret_package = true;
	wtl_text_copy(path, 128, package);
	return package[0] ? path : NULL;
}

static int open_gpu(struct wtl_hwmon_gpu_reads *state, struct wtl_io *io,
		    const struct wtl_hwmon_gpu *gpu, struct wtl_catalog *catalog)
{
	struct wtl_channel channel = {.kind = WATTLE_KIND_GPU,
				      .in_total = true,
				      .quantity = WTL_QUANTITY_ENERGY,
				      .method = WATTLE_METHOD_COUNTER,
				      .unit = WTL_UNIT_MICRO,
				      .max_uw = MAX_UW,
				      .update_ns = UPDATE_NS,
				      .gain_ppm = GAIN_PPM};
	bool package = false;
	char path[128];
	int rc, error;

	snprintf(channel.domain, sizeof(channel.domain), "gpu-%u",
		 wtl_catalog_count(catalog, WATTLE_KIND_GPU));
	if (!gpu->hwmon[0] || !find_counter(io, gpu, path, &package)) {
		if (is_integrated(gpu))
			return 0;
		return wtl_catalog_missf(
			catalog, WATTLE_KIND_GPU, channel.domain, WATTLE_STATUS_ABSENT,
			"use Linux 6.2 (i915) or 6.8 (xe) or later",
			"the kernel driver shows no energy counter for GPU %04x at %s",
			gpu->id & 0xffff, gpu->address);
	}
	snprintf(channel.device, sizeof(channel.device), "Intel GPU %04x at %s%s", gpu->id & 0xffff,
		 gpu->address, package ? ", chip only" : "");
	rc = wtl_hwmon_add(&state->at[state->n], io, gpu->device, path, NULL, &channel, catalog,
			   &error);
	state->n += rc > 0;
	return rc == 0 ? wtl_hwmon_miss(catalog, &channel, path, error) : rc;
}

static int intel_gpu_open(void *state, const struct wtl_env *env,
			  const struct wtl_source_options *options, struct wtl_catalog *catalog)
{
	(void)options;
	return wtl_hwmon_gpus_open(state, env->io, VENDOR_INTEL, open_gpu, catalog);
}

const struct wtl_source_ops wtl_source_intel_gpu = {
	.name = "intel-gpu",
	.state_size = sizeof(struct wtl_hwmon_gpu_reads),
	.may_hang = true,
	.open = intel_gpu_open,
	.read = wtl_hwmon_gpus_read,
	.close = wtl_hwmon_gpus_close,
};
