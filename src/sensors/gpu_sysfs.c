/* SPDX-License-Identifier: MIT */
#include "sensors/gpu_sysfs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/err.h"
#include "base/num.h"
#include "base/text.h"
#include "energy/reading.h"
#include "energy/units.h"
#include "gpu/pci.h"
#include "gpu/processes.h"
#include "sensors/gpu_info.h"

enum { PROCESSES_MAX = 1024 };

/* ---- Formats ---- */

/* "2400Mhz *": the number, and whether it is marked. */
static bool parse_clock(const char *text, size_t len, uint64_t *ret_mhz, bool *ret_now)
{
	size_t digits = 0;

	while (digits < len && text[digits] >= '0' && text[digits] <= '9')
		digits++;
	if (wtl_num_u64(text, digits, ret_mhz) < 0 || len - digits < 3 ||
	    strncasecmp(text + digits, "MHz", 3) != 0)
		return false;
	*ret_now = memchr(text + digits, '*', len - digits) != NULL;
	return true;
}

bool wtl_gpu_dpm_parse(const char *text, size_t len, uint64_t *ret_now_mhz, uint64_t *ret_max_mhz)
{
	uint64_t now = UINT64_MAX, max = 0;
	bool any = false;

	while (len) {
		const char *newline = memchr(text, '\n', len);
		size_t line = newline ? (size_t)(newline - text) : len;
		const char *colon = memchr(text, ':', line);
		size_t skip = colon ? (size_t)(colon + 1 - text) : line;
		uint64_t mhz;
		bool is_now;

		while (skip < line && text[skip] == ' ')
			skip++;
		if (skip < line && parse_clock(text + skip, line - skip, &mhz, &is_now)) {
			any = true;
			max = mhz > max ? mhz : max;
			now = is_now ? mhz : now;
		}
		line += newline != NULL;
		text += line;
		len -= line;
	}
	if (!any)
		return false;
	*ret_now_mhz = now;
	*ret_max_mhz = max;
	return true;
}

unsigned wtl_gpu_link_gen(const char *text, size_t len)
{
	static const struct {
		const char *speed;
		unsigned gen;
	} gens[] = {
		{"2.5", 1},  {"5", 2},	{"5.0", 2},  {"8", 3},	{"8.0", 3},  {"16", 4},
		{"16.0", 4}, {"32", 5}, {"32.0", 5}, {"64", 6}, {"64.0", 6},
	};
	const char *blank = memchr(text, ' ', len);
	size_t speed = blank ? (size_t)(blank - text) : 0;

	for (size_t i = 0; i < sizeof(gens) / sizeof(gens[0]); i++)
		if (speed && strlen(gens[i].speed) == speed &&
		    memcmp(gens[i].speed, text, speed) == 0)
			return gens[i].gen;
	return 0;
}

/* ---- Files ---- */

static void unset(struct wtl_gpu *gpu, enum wtl_gpu_number to, int error)
{
	bool is_absent = error == -ENOENT || error == -EOPNOTSUPP || error == -ENODATA;

	wtl_gpu_unset(gpu, to, is_absent ? WATTLE_STATUS_ABSENT : wtl_status_from_error(error),
		      error);
}

void wtl_gpu_sysfs_number(struct wtl_io *io, const char *dir, const char *name, uint64_t factor,
			  uint64_t divisor, struct wtl_gpu *gpu, enum wtl_gpu_number to)
{
	char path[160];
	uint64_t value = 0;
	int rc;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	rc = dir[0] ? wtl_io_read_u64(io, path, &value) : -ENOENT;
	if (rc == 0 && __builtin_mul_overflow(value, factor, &value))
		rc = -ERANGE;
	if (rc < 0)
		unset(gpu, to, rc);
	else
		wtl_gpu_set(gpu, to, value / divisor);
}

void wtl_gpu_sysfs_text(struct wtl_io *io, const char *dir, const char *name, char *text,
			size_t size)
{
	char path[160];

	text[0] = '\0';
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	if (wtl_io_read_line(io, path, text, size) < 0)
		text[0] = '\0';
}

static void read_gen(struct wtl_io *io, const char *device, const char *name, struct wtl_gpu *gpu,
		     enum wtl_gpu_number to)
{
	char text[32];
	unsigned gen;

	wtl_gpu_sysfs_text(io, device, name, text, sizeof(text));
	gen = wtl_gpu_link_gen(text, strlen(text));
	if (gen)
		wtl_gpu_set(gpu, to, gen);
	else
		wtl_gpu_unset(gpu, to, WATTLE_STATUS_ABSENT, 0);
}

void wtl_gpu_sysfs_link(struct wtl_io *io, const char *device, struct wtl_gpu *gpu)
{
	read_gen(io, device, "current_link_speed", gpu, WTL_GPU_PCIE_GEN);
	read_gen(io, device, "max_link_speed", gpu, WTL_GPU_PCIE_GEN_MAX);
	wtl_gpu_sysfs_number(io, device, "current_link_width", 1, 1, gpu, WTL_GPU_PCIE_WIDTH);
	wtl_gpu_sysfs_number(io, device, "max_link_width", 1, 1, gpu, WTL_GPU_PCIE_WIDTH_MAX);
}

/* ---- Finding ---- */

/* Reading these wakes nothing: the kernel has them in memory. */
static void identify_bus(struct wtl_io *io, const struct wtl_hwmon_gpu *where, struct wtl_gpu *gpu)
{
	static const char *const files[] = {"vendor", "device", "subsystem_vendor",
					    "subsystem_device", "class"};
	uint64_t ids[5] = {0};
	bool has[5];

	for (size_t i = 0; i < 5; i++) {
		char text[24];

		wtl_gpu_sysfs_text(io, where->device, files[i], text, sizeof(text));
		has[i] = text[0] && wtl_num_hex(text, strlen(text), &ids[i]) == 0;
	}
	if (has[0] && has[1])
		snprintf(gpu->pci_device_id, sizeof(gpu->pci_device_id), "0x%04X%04X",
			 (unsigned)ids[1] & 0xffff, (unsigned)ids[0] & 0xffff);
	if (!gpu->name[0]) /* for one that sleeps: its own name is asked for when it wakes */
		snprintf(gpu->name, sizeof(gpu->name), "%s GPU %04x",
			 ids[0] == 0x8086 ? "Intel" : "AMD", where->id & 0xffff);
	if (has[2] && has[3])
		snprintf(gpu->pci_subsystem_id, sizeof(gpu->pci_subsystem_id), "0x%04X%04X",
			 (unsigned)ids[3] & 0xffff, (unsigned)ids[2] & 0xffff);
	if (has[4])
		wtl_gpu_set(gpu, WTL_GPU_PCI_CLASS, ids[4] >> 8);
	wtl_gpu_set_address(gpu, where->address);
}

static void identify_driver(struct wtl_io *io, const struct wtl_hwmon_gpu *where,
			    struct wtl_gpu *gpu)
{
	char path[80], target[256];
	const char *base;

	snprintf(path, sizeof(path), "%.47s/driver", where->device);
	if (wtl_io_link_read(io, path, target, sizeof(target)) < 0)
		return;
	base = strrchr(target, '/');
	base = base ? base + 1 : target;
	wtl_text_clean(gpu->driver, sizeof(gpu->driver), base, strlen(base));
}

static void fall_asleep(struct wtl_gpu *gpu)
{
	wtl_gpu_fail(gpu, WATTLE_STATUS_ASLEEP, 0, "suspended, and reading it would wake it");
}

int wtl_gpu_sysfs_open(struct wtl_gpus_sysfs *gpus, struct wtl_io *io, uint32_t vendor_id,
		       const char *vendor, wtl_gpu_sysfs_has_domain *has_domain,
		       wtl_gpu_sysfs_read_one *identify, struct wtl_gpu_list *list)
{
	struct wtl_hwmon_gpu found[WTL_HWMON_GPUS_MAX];
	size_t n = wtl_hwmon_gpus(io, vendor_id, found, WTL_HWMON_GPUS_MAX);

	gpus->io = io;
	for (size_t i = 0; i < n; i++) {
		struct wtl_gpu_sysfs_gpu *own = &gpus->at[gpus->n];
		struct wtl_gpu *gpu = wtl_gpu_list_add(list, vendor);

		if (!gpu)
			return -ENOMEM;
		*own = (struct wtl_gpu_sysfs_gpu){.row = list->n - 1, .where = found[i]};
		wtl_text_copy(own->card, sizeof(own->card), found[i].device);
		*strrchr(own->card, '/') = '\0';
		gpus->n++;
		if (has_domain(io, &found[i]))
			wtl_gpu_list_name(list, gpu);
		identify_bus(io, &found[i], gpu);
		identify_driver(io, &found[i], gpu);
		if (wtl_pci_is_suspended(io, found[i].device)) {
			fall_asleep(gpu);
			continue;
		}
		identify(gpus, own, gpu);
		own->is_identified = true;
	}
	return 0;
}

/* ---- Processes ---- */

static void put_process(struct wtl_gpus_sysfs *gpus, const struct wtl_drm_use *use,
			struct wtl_gpu_process *process)
{
	int64_t ns = use->interval_ns > 0 ? use->interval_ns : 0;

	*process = (struct wtl_gpu_process){
		.pid = use->pid,
		.types = WTL_GPU_PROCESS_GRAPHICS,
		.memory_bytes = use->memory_bytes,
		.instance = UINT32_MAX,
		.compute_instance = UINT32_MAX,
		.has_use = ns > 0,
		.is_visible = true,
	};
	if (ns > 0) {
		uint64_t sm = use->render_ns * 100 / (uint64_t)ns;
		uint64_t media = use->media_ns * 100 / (uint64_t)ns;

		process->sm_percent = sm > 100 ? 100 : (uint32_t)sm;
		process->decoder_percent = media > 100 ? 100 : (uint32_t)media;
	}
	wtl_process_program(gpus->io, use->pid, process->name, sizeof(process->name));
}

/* The processes of one GPU among all uses. */
static void take_processes(struct wtl_gpus_sysfs *gpus, struct wtl_gpu_sysfs_gpu *own,
			   const struct wtl_drm_use uses[], size_t n, struct wtl_gpu *gpu)
{
	if (!own->processes)
		own->processes = calloc(PROCESSES_MAX, sizeof(own->processes[0]));
	gpu->processes = own->processes;
	gpu->n_processes = 0;
	gpu->processes_status = own->processes && !wtl_drm_scan_is_cut(gpus->scan)
					? WATTLE_STATUS_OK
					: WATTLE_STATUS_FAILED;
	for (size_t i = 0; own->processes && i < n && gpu->n_processes < PROCESSES_MAX; i++)
		if (strcmp(uses[i].pdev, own->where.address) == 0)
			put_process(gpus, &uses[i], &own->processes[gpu->n_processes++]);
	/* Those of others are not to be seen without privilege. */
	if (gpu->processes_status == WATTLE_STATUS_OK && !gpu->n_processes &&
	    wtl_drm_scan_hidden(gpus->scan))
		gpu->processes_status = WATTLE_STATUS_DENIED;
}

static void read_processes(struct wtl_gpus_sysfs *gpus, struct wtl_gpu_list *list)
{
	const struct wtl_drm_use *uses = NULL;
	size_t n = 0;

	if (!gpus->scan)
		gpus->scan = wtl_drm_scan_new(gpus->io);
	if (gpus->scan)
		uses = wtl_drm_scan_read(gpus->scan, wtl_io_mono_ns(gpus->io), &n);
	for (size_t i = 0; i < gpus->n; i++) {
		struct wtl_gpu *gpu = &list->at[gpus->at[i].row];

		if (gpus->scan)
			take_processes(gpus, &gpus->at[i], uses, n, gpu);
		else
			gpu->processes_status = WATTLE_STATUS_FAILED;
	}
}

void wtl_gpu_sysfs_read(struct wtl_gpus_sysfs *gpus, unsigned what,
			wtl_gpu_sysfs_read_one *identify, wtl_gpu_sysfs_read_one *numbers,
			struct wtl_gpu_list *list)
{
	if (what & (WTL_GPU_READ_PROCESSES | WTL_GPU_READ_USE))
		read_processes(gpus, list);
	for (size_t i = 0; i < gpus->n; i++) {
		struct wtl_gpu_sysfs_gpu *own = &gpus->at[i];
		struct wtl_gpu *gpu = &list->at[own->row];

		if (wtl_pci_is_suspended(gpus->io, own->where.device)) {
			fall_asleep(gpu);
			continue;
		}
		wtl_gpu_recover(gpu);
		if (!own->is_identified) {
			identify(gpus, own, gpu);
			own->is_identified = true;
		}
		if (!(what & (WTL_GPU_READ_NUMBERS | WTL_GPU_READ_SCREEN)))
			continue;
		if (!wtl_io_exists(gpus->io, own->where.device)) {
			wtl_gpu_fail(gpu, WATTLE_STATUS_GONE, -ENODEV, "it is gone from the bus");
			continue;
		}
		identify_bus(gpus->io, &own->where, gpu);
		numbers(gpus, own, gpu);
	}
}

void wtl_gpu_sysfs_close(void *state)
{
	struct wtl_gpus_sysfs *gpus = state;

	for (size_t i = 0; i < gpus->n; i++)
		free(gpus->at[i].processes);
	wtl_drm_scan_free(gpus->scan);
}
