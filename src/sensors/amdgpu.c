/* SPDX-License-Identifier: MIT */
#include "sensors/amdgpu.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/io.h"
#include "base/text.h"
#include "energy/catalog.h"
#include "energy/units.h"
#include "sensors/hwmon_read.h"
#include "sensors/source.h"

enum {
	VENDOR_AMD = 0x1002,
	DEVICE_MI300A = 0x74a0, /* an APU without the voltage that gives the others away */
};

/* No GPU of one socket or slot comes near: MI355X draws 1400 W. */
#define MAX_UW UINT64_C(3000000000)
/* Nobody says how often the sensors are updated (judgement); a counter shows it while it is read. */
#define UPDATE_NS (100 * WTL_NS_PER_MS)

/* Judgement, marked so in facts/carbon-and-ml.md 5.5. */
#define GAIN_PPM 50000

/* Best first. amdgpu has the average on most GPUs, the present value on newer ones. */
static const struct {
	const char *file;
	enum wtl_quantity quantity;
} sensors[] = {
	{"energy1_input", WTL_QUANTITY_ENERGY},
	{"power1_average", WTL_QUANTITY_POWER},
	{"power1_input", WTL_QUANTITY_POWER},
};

struct amdgpu {
	struct wtl_hwmon_gpu_reads reads; /* first: what the shared functions know */
	unsigned n_apus;
};

enum { N_SENSORS = sizeof(sensors) / sizeof(sensors[0]) };

bool wtl_amdgpu_is_apu(struct wtl_io *io, const struct wtl_hwmon_gpu *gpu)
{
	char path[128];
	char label[16];

	if (gpu->id == DEVICE_MI300A)
		return true;
	snprintf(path, sizeof(path), "%s/in1_label", gpu->hwmon);
	return gpu->hwmon[0] && wtl_io_read_line(io, path, label, sizeof(label)) == 0 &&
	       strcmp(label, "vddnb") == 0;
}

/* The product's name, which boards for servers and workstations carry, or the PCI id. */
static void name_device(struct wtl_io *io, const struct wtl_hwmon_gpu *gpu, bool apu,
			struct wtl_channel *channel)
{
	char path[96];

	snprintf(path, sizeof(path), "%s/unique_id", gpu->device);
	wtl_io_read_line(io, path, channel->serial, sizeof(channel->serial));
	snprintf(path, sizeof(path), "%s/product_name", gpu->device);
	if (!apu && wtl_io_read_line(io, path, channel->device, sizeof(channel->device)) == 0 &&
	    channel->device[0])
		return;
	snprintf(channel->device, sizeof(channel->device), "AMD %s %04x at %s%s",
		 apu ? "APU" : "GPU", gpu->id & 0xffff, gpu->address, apu ? ", with the CPU" : "");
}

/* Does another source measure CPU packages? */
static bool has_packages(const struct wtl_catalog *catalog)
{
	for (size_t i = 0; i < catalog->n_channels; i++)
		if (catalog->channels[i].kind == WATTLE_KIND_CPU &&
		    catalog->channels[i].source != catalog->source)
			return true;
	return false;
}

/*
 * What a GPU's figure stands for. The driver gives an APU's socket power, CPU included
 * (CurrentSocketPower and the like in its metrics tables): a second opinion on the package where
 * something measures that, and the only measurement of it where nothing does.
 */
static void place(const struct wtl_catalog *catalog, const unsigned *apu,
		  struct wtl_channel *channel)
{
	channel->kind = WATTLE_KIND_GPU;
	channel->in_total = true;
	if (apu && !has_packages(catalog)) {
		channel->kind = WATTLE_KIND_CPU;
		snprintf(channel->domain, sizeof(channel->domain), "package-%u", *apu);
		return;
	}
	snprintf(channel->domain, sizeof(channel->domain), "gpu-%u",
		 wtl_catalog_count(catalog, WATTLE_KIND_GPU));
	if (apu) {
		channel->in_total = false;
		snprintf(channel->inside, sizeof(channel->inside), "package-%u", *apu);
	}
}

static int open_gpu(struct wtl_hwmon_gpu_reads *reads, struct wtl_io *io,
		    const struct wtl_hwmon_gpu *gpu, struct wtl_catalog *catalog)
{
	struct amdgpu *state = (struct amdgpu *)reads;
	struct wtl_channel channel = {.unit = WTL_UNIT_MICRO,
				      .max_uw = MAX_UW,
				      .update_ns = UPDATE_NS,
				      .gain_ppm = GAIN_PPM};
	bool apu = wtl_amdgpu_is_apu(io, gpu);
	unsigned number = state->n_apus;
	char path[128] = "";
	int error = -ENOENT;

	name_device(io, gpu, apu, &channel);
	place(catalog, apu ? &number : NULL, &channel);
	state->n_apus += apu;
	for (size_t i = 0; i < N_SENSORS; i++) {
		int rc;

		if (!gpu->hwmon[0] || !wtl_hwmon_dir_has(io, gpu->hwmon, sensors[i].file))
			continue;
		snprintf(path, sizeof(path), "%s/%s", gpu->hwmon, sensors[i].file);
		channel.quantity = sensors[i].quantity;
		channel.method = sensors[i].quantity == WTL_QUANTITY_ENERGY
					 ? WATTLE_METHOD_COUNTER
					 : WATTLE_METHOD_INTEGRATED;
		rc = wtl_hwmon_add(&reads->at[reads->n], io, gpu->device, path, NULL, &channel,
				   catalog, &error);
		reads->n += rc > 0;
		if (rc != 0)
			return rc;
	}
	if (path[0])
		return wtl_hwmon_miss(catalog, &channel, path, error);
	if (apu)
		return 0; /* a part of the package */
	return wtl_catalog_missf(catalog, WATTLE_KIND_GPU, channel.domain, WATTLE_STATUS_ABSENT, "",
				 "the kernel driver shows no power sensor for %s", channel.device);
}

static int amdgpu_open(void *state, const struct wtl_env *env,
		       const struct wtl_source_options *options, struct wtl_catalog *catalog)
{
	(void)options;
	return wtl_hwmon_gpus_open(state, env->io, VENDOR_AMD, open_gpu, catalog);
}

const struct wtl_source_ops wtl_source_amdgpu = {
	.name = "amdgpu",
	.state_size = sizeof(struct amdgpu),
	.may_hang = true,
	.open = amdgpu_open,
	.read = wtl_hwmon_gpus_read,
	.close = wtl_hwmon_gpus_close,
};
