/* SPDX-License-Identifier: MIT */
#include "workload/gpu_use.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/held.h"
#include "base/text.h"
#include "energy/units.h"
#include "gpu/drm.h"
#include "gpu/instances.h"
#include "gpu/library.h"
#include "gpu/pci.h"
#include "gpu/processes.h"
#include "workload/gpu_instances.h"
#include "workload/gpu_smooth.h"

#define RETRY_NS (1 * WTL_NS_PER_S)

/* What a percent of the SMs weighs against one of a video engine: the engines of fixed function draw
 * little (judgement). */
enum { SM_WEIGHT = WTL_GPU_USE_WHOLE / 1000000, PPM_PER_PERCENT = 10000 };

/* One GPU, and what it takes to ask for it. */
struct one {
	bool is_nvidia;
	char address[24]; /* as sysfs writes it, or "" */
	struct wtl_held_file power;
	char uuid[WTL_NVML_UUID_SIZE]; /* NVIDIA */
	uint64_t handle;
	int64_t retry_ns;
	struct wtl_nvml_process_list list;
	size_t n_entered; /* of the list: there was no room for the others */
	struct wtl_nvml_use_list uses;
	struct wtl_nvml_instances instances; /* MIG */
	struct wtl_gpu_smooth weights;
	struct wtl_gpu_use_process *processes;
	size_t room;
};

struct wtl_gpu_use {
	struct wtl_io *io;
	struct wtl_nvml_lib lib;
	char *nvml_path;
	bool pids_are_ours;
	int64_t start_ns; /* NVML is not to be started before */
	int code;	  /* its last answer to that */
	struct wtl_drm_scan *scan;
	const struct wtl_drm_use *drm;
	size_t n_drm;
	struct wtl_gpu_use_gpu *gpus;
	struct one *ones;
	size_t n;
};

static const char *const method_names[] = {
	[WTL_GPU_USE_NONE] = NULL,
	[WTL_GPU_USE_SAMPLES] = "sm-use",
	[WTL_GPU_USE_FDINFO] = "fdinfo",
	[WTL_GPU_USE_MEMORY] = "memory (a guess)",
	[WTL_GPU_USE_INSTANCES] = "instance-use",
	[WTL_GPU_USE_INSTANCES_MEMORY] = "instance-use, memory (a guess)",
};

const char *wtl_gpu_use_method_name(enum wtl_gpu_use_method method)
{
	return method_names[method];
}

enum wtl_gpu_use_method wtl_gpu_use_method_find(const char *name)
{
	for (int i = WTL_GPU_USE_METHODS - 1; name && i > WTL_GPU_USE_NONE; i--)
		if (strcmp(name, method_names[i]) == 0)
			return (enum wtl_gpu_use_method)i;
	return WTL_GPU_USE_NONE;
}

bool wtl_gpu_use_method_is_guess(enum wtl_gpu_use_method method)
{
	return method == WTL_GPU_USE_MEMORY || method == WTL_GPU_USE_INSTANCES_MEMORY;
}

bool wtl_gpu_use_methods_agree(enum wtl_gpu_use_method one, enum wtl_gpu_use_method other)
{
	return one == other || (one >= WTL_GPU_USE_INSTANCES && other >= WTL_GPU_USE_INSTANCES);
}

/* ---- Opening ---- */

/* "00000000:17:00.0" is "0000:17:00.0" in sysfs. */
static void sysfs_address(char *dst, size_t size, const char *bus_id)
{
	size_t len = strlen(bus_id);

	wtl_text_copy(dst, size,
		      len == 16 && wtl_text_starts(bus_id, "0000") ? bus_id + 4 : bus_id);
	for (; *dst; dst++)
		*dst = (char)tolower((unsigned char)*dst);
}

static int add(struct wtl_gpu_use *use, const struct wtl_gpu *gpu)
{
	struct one *one = &use->ones[use->n];

	wtl_text_copy(use->gpus[use->n].domain, sizeof(use->gpus[0].domain), gpu->domain);
	one->is_nvidia = strcmp(gpu->vendor, "nvidia") == 0;
	sysfs_address(one->address, sizeof(one->address), gpu->bus_id);
	wtl_text_copy(one->uuid, sizeof(one->uuid), gpu->uuid);
	use->n++;
	if (one->is_nvidia) {
		if (one->address[0])
			wtl_nvml_pci_watch(&one->power, use->io, one->address);
		return 0;
	}
	if (!use->scan)
		use->scan = wtl_drm_scan_new(use->io);
	return use->scan ? 0 : -ENOMEM;
}

int wtl_gpu_use_new(const struct wtl_env *env, const char *nvml_path, const struct wtl_gpu gpus[],
		    size_t n_gpus, struct wtl_gpu_use **ret_use, struct wtl_err *err)
{
	struct wtl_gpu_use *use = calloc(1, sizeof(*use));
	int rc = use ? 0 : -ENOMEM;

	if (use) {
		use->io = env->io;
		use->code = WTL_NVML_UNINITIALIZED;
		wtl_nvml_lib_init(&use->lib, env->io);
		use->gpus = calloc(n_gpus ? n_gpus : 1, sizeof(use->gpus[0]));
		use->ones = calloc(n_gpus ? n_gpus : 1, sizeof(use->ones[0]));
		use->nvml_path = nvml_path ? strdup(nvml_path) : NULL;
		if (!use->gpus || !use->ones || (nvml_path && !use->nvml_path))
			rc = -ENOMEM;
	}
	for (size_t i = 0; i < n_gpus && rc == 0; i++)
		if (gpus[i].domain[0] && !gpus[i].is_left_out)
			rc = add(use, &gpus[i]);
	if (rc < 0) {
		wtl_gpu_use_free(use);
		return wtl_err_set(err, rc, "gpu-use", NULL, "%s", wtl_err_text(rc));
	}
	use->pids_are_ours = wtl_nvml_pids_are_ours(env->io);
	*ret_use = use;
	return 0;
}

void wtl_gpu_use_free(struct wtl_gpu_use *use)
{
	if (!use)
		return;
	for (size_t i = 0; i < use->n; i++) {
		wtl_held_file_close(&use->ones[i].power);
		wtl_nvml_process_list_done(&use->ones[i].list);
		wtl_nvml_use_list_done(&use->ones[i].uses);
		wtl_nvml_instances_done(&use->ones[i].instances, &use->lib);
		wtl_gpu_smooth_done(&use->ones[i].weights);
		free(use->ones[i].processes);
	}
	wtl_drm_scan_free(use->scan);
	wtl_nvml_lib_close(&use->lib);
	free(use->nvml_path);
	free(use->gpus);
	free(use->ones);
	free(use);
}

/* ---- Results ---- */

static void none(struct wtl_gpu_use_gpu *gpu, const char *reason)
{
	gpu->method = WTL_GPU_USE_NONE;
	gpu->n_processes = 0;
	gpu->unseen_weight = 0;
	wtl_text_copy(gpu->reason, sizeof(gpu->reason), reason);
}

/* The entry of a process: one each, however many instances it has. NULL: there are too many, or no
 * memory for one more. */
static struct wtl_gpu_use_process *entry(struct wtl_gpu_use_gpu *gpu, struct one *one, int pid)
{
	struct wtl_gpu_use_process *made;

	for (size_t i = 0; i < gpu->n_processes; i++)
		if (one->processes[i].pid == pid)
			return &one->processes[i];
	if (gpu->n_processes == WTL_GPU_USE_PROCESSES_MAX ||
	    wtl_array_reserve(&one->processes, &one->room, gpu->n_processes + 1,
			      sizeof(one->processes[0])) < 0)
		return NULL;
	made = &one->processes[gpu->n_processes++];
	*made = (struct wtl_gpu_use_process){
		.pid = pid, .use_ppm = UINT32_MAX, .memory_bytes = UINT64_MAX};
	return made;
}

static void add_memory(struct wtl_gpu_use_process *process, uint64_t bytes)
{
	if (bytes == UINT64_MAX)
		return;
	if (process->memory_bytes == UINT64_MAX)
		process->memory_bytes = 0;
	if (__builtin_add_overflow(process->memory_bytes, bytes, &process->memory_bytes))
		process->memory_bytes = UINT64_MAX;
}

static uint32_t ppm(uint64_t weight)
{
	uint64_t value = weight / SM_WEIGHT;

	return value < 1000000 ? (uint32_t)value : 1000000;
}

/* ---- NVIDIA ---- */

static bool start(struct wtl_gpu_use *use, int64_t now_ns)
{
	if (use->lib.up)
		return true;
	if (now_ns < use->start_ns)
		return false;
	use->start_ns = now_ns + RETRY_NS;
	for (size_t i = 0; i < use->n; i++) {
		use->ones[i].handle = 0;
		/* What the library lent went away with it. */
		wtl_nvml_instances_done(&use->ones[i].instances, &use->lib);
	}
	if (use->lib.handle < 0 && wtl_nvml_lib_load(&use->lib, use->nvml_path, NULL) < 0) {
		use->code = WTL_NVML_LIBRARY_NOT_FOUND;
		return false;
	}
	use->code = wtl_nvml_lib_start(&use->lib);
	return use->code == WTL_NVML_OK;
}

static int connect(struct wtl_gpu_use *use, struct one *one, int64_t now_ns)
{
	const char *text = one->address[0] ? one->address : one->uuid;

	if (one->handle)
		return WTL_NVML_OK;
	if (now_ns < one->retry_ns || !text[0])
		return WTL_NVML_GPU_NOT_FOUND;
	one->retry_ns = now_ns + RETRY_NS;
	return wtl_nvml_handle_by_text(&use->lib,
				       one->address[0] ? WTL_NVML_BY_BUS_ID : WTL_NVML_BY_UUID,
				       text, &one->handle);
}

static void lose(struct wtl_gpu_use *use, struct one *one, struct wtl_gpu_use_gpu *gpu, int code)
{
	none(gpu, wtl_nvml_reason(code));
	wtl_nvml_instances_done(&one->instances, &use->lib);
	if (code == WTL_NVML_UNINITIALIZED || code == WTL_NVML_DRIVER_NOT_LOADED)
		wtl_nvml_lib_stop(&use->lib);
	if (wtl_nvml_status(code) == WATTLE_STATUS_GONE)
		one->handle = 0;
}

/* Whether /proc shows it, and if not, its name by NVML. Both are asked once, as lists keep their order. */
static void look_for(struct wtl_gpu_use *use, const struct wtl_gpu_use_process *before,
		     struct wtl_gpu_use_process *process)
{
	char path[128];
	const char *name;

	if (!use->pids_are_ours || process->is_visible || process->name[0])
		return;
	if (before->pid == process->pid) {
		process->is_visible = before->is_visible;
		memcpy(process->name, before->name, sizeof(process->name));
		return;
	}
	snprintf(path, sizeof(path), "/proc/%d/stat", process->pid);
	process->is_visible = wtl_io_exists(use->io, path);
	if (process->is_visible)
		return;
	wtl_nvml_name(&use->lib, process->pid, path, sizeof(path));
	name = strrchr(path, '/');
	wtl_text_copy(process->name, sizeof(process->name), name && name[1] ? name + 1 : path);
}

static void list_processes(struct wtl_gpu_use *use, struct one *one, struct wtl_gpu_use_gpu *gpu)
{
	size_t n_before = gpu->n_processes;

	gpu->n_processes = 0;
	gpu->unseen_weight = 0;
	one->n_entered = one->list.n;
	for (size_t i = 0; i < one->list.n; i++) {
		struct wtl_gpu_use_process before = {.pid = 0}, *process;
		size_t k = gpu->n_processes;

		/* Its place in the old list is this one, or a later one if others have left. */
		while (k < n_before && one->processes[k].pid != one->list.at[i].pid)
			k++;
		if (k < n_before)
			before = one->processes[k];
		process = entry(gpu, one, one->list.at[i].pid);

		if (!process) {
			one->n_entered = i;
			break;
		}
		look_for(use, &before, process);
		add_memory(process, one->list.at[i].memory_bytes);
	}
}

static void weigh_samples(struct one *one, struct wtl_gpu_use_gpu *gpu, int64_t now_ns)
{
	gpu->method = WTL_GPU_USE_SAMPLES;
	gpu->reason[0] = '\0';
	for (size_t i = 0; i < one->uses.n; i++) {
		const struct wtl_nvml_process_use *sample = &one->uses.at[i];

		uint32_t weight = (SM_WEIGHT * sample->sm + sample->encoder + sample->decoder) *
				  PPM_PER_PERCENT;

		if (!wtl_gpu_smooth_sample(&one->weights, sample->pid, weight, now_ns))
			gpu->unseen_weight += weight;
	}
	wtl_gpu_smooth_step(&one->weights, now_ns, one->uses.is_whole);
	for (size_t i = 0; i < gpu->n_processes; i++) {
		struct wtl_gpu_use_process *process = &one->processes[i];

		process->weight = wtl_gpu_smooth_get(&one->weights, process->pid);
		process->use_ppm = ppm(process->weight);
	}
	for (size_t i = one->n_entered; i < one->list.n; i++)
		gpu->unseen_weight += wtl_gpu_smooth_get(&one->weights, one->list.at[i].pid);
	/* A process that was never listed came and went between two lists, or the list was cut. One
	 * that is no longer listed has ended, and weighs what it weighed in the last list. */
	gpu->unseen_weight += wtl_gpu_smooth_forget(&one->weights);
}

/* Where there are no samples, code says why. */
static void weigh_memory(struct one *one, struct wtl_gpu_use_gpu *gpu, int code, const char *lack)
{
	bool any = gpu->n_processes == 0;

	for (size_t i = 0; i < gpu->n_processes; i++) {
		if (one->processes[i].memory_bytes == UINT64_MAX)
			continue;
		one->processes[i].weight = one->processes[i].memory_bytes >> 10;
		any = true;
	}
	for (size_t i = one->n_entered; i < one->list.n; i++)
		if (one->list.at[i].memory_bytes != UINT64_MAX)
			gpu->unseen_weight += one->list.at[i].memory_bytes >> 10;
	if (!any) {
		none(gpu, "the driver tells neither the use nor the memory of processes");
		return;
	}
	gpu->method = WTL_GPU_USE_MEMORY;
	snprintf(gpu->reason, sizeof(gpu->reason), "samples of processes' use: %s%s%s",
		 wtl_nvml_reason(code), lack ? "; of MIG's instances: " : "", lack ? lack : "");
}

/* Without samples of processes: by instances, if MIG divides it, else by memory. code says why. */
static void weigh_otherwise(struct wtl_gpu_use *use, struct one *one, struct wtl_gpu_use_gpu *gpu,
			    int code, int64_t now_ns)
{
	struct wtl_nvml_instances *instances = &one->instances;
	int answer = wtl_nvml_instances_read(instances, &use->lib, one->handle, now_ns);
	const char *lack = NULL;
	struct wtl_gpu_instances_sum sum;

	if (one->list.is_cut) {
		none(gpu, "there are too many processes to know what the rest of them have");
		return;
	}
	if (answer == WTL_NVML_OK)
		lack = wtl_gpu_instances_lack(instances, &one->list);
	else if (instances->is_divided)
		lack = wtl_nvml_reason(answer);
	if (answer != WTL_NVML_OK || lack) {
		weigh_memory(one, gpu, code, lack);
		return;
	}
	wtl_gpu_instances_weigh(instances, &one->list, one->processes, gpu->n_processes, &sum);
	gpu->unseen_weight = sum.unseen_weight;
	gpu->method = sum.is_guess ? WTL_GPU_USE_INSTANCES_MEMORY : WTL_GPU_USE_INSTANCES;
	gpu->reason[0] = '\0';
}

static void tick_nvidia(struct wtl_gpu_use *use, struct one *one, struct wtl_gpu_use_gpu *gpu,
			int64_t now_ns)
{
	int code;

	if (wtl_nvml_pci_asleep(&one->power)) {
		none(gpu, "the GPU is suspended");
		return;
	}
	if (use->nvml_path && !use->nvml_path[0]) {
		none(gpu, "NVML is switched off by request");
		return;
	}
	if (!start(use, now_ns)) {
		none(gpu, wtl_nvml_reason(use->code));
		return;
	}
	code = connect(use, one, now_ns);
	if (code == WTL_NVML_OK)
		code = wtl_nvml_process_list_read(&one->list, &use->lib, one->handle);
	if (code != WTL_NVML_OK) {
		lose(use, one, gpu, code);
		return;
	}
	list_processes(use, one, gpu);
	/* Each sample is given only once: without room for it, it would be lost. */
	code = -ENOMEM;
	if (wtl_gpu_smooth_reserve(&one->weights, one->list.n))
		code = wtl_nvml_use_list_read(&one->uses, &use->lib, one->handle);
	if (code == WTL_NVML_OK)
		weigh_samples(one, gpu, now_ns);
	else if (wtl_nvml_status(code) == WATTLE_STATUS_GONE)
		lose(use, one, gpu, code);
	else
		weigh_otherwise(use, one, gpu, code, now_ns);
}

/* ---- AMD and Intel ---- */

static void tick_drm(struct wtl_gpu_use *use, struct one *one, struct wtl_gpu_use_gpu *gpu)
{
	gpu->method = WTL_GPU_USE_FDINFO;
	gpu->n_processes = 0;
	gpu->unseen_weight = 0;
	gpu->reason[0] = '\0';
	if (wtl_drm_scan_is_cut(use->scan)) {
		none(gpu, "there is no room for all its clients");
		return;
	}
	if (wtl_drm_scan_hidden(use->scan))
		wtl_text_copy(gpu->reason, sizeof(gpu->reason),
			      "other users' processes are not seen without privilege");
	for (size_t i = 0; i < use->n_drm; i++) {
		const struct wtl_drm_use *drm = &use->drm[i];
		uint64_t weight = drm->render_ns * SM_WEIGHT + drm->media_ns;
		struct wtl_gpu_use_process *process;

		if (strcmp(drm->pdev, one->address) != 0)
			continue;
		process = entry(gpu, one, drm->pid);
		if (!process) {
			gpu->unseen_weight += weight;
			continue;
		}
		process->is_visible = true;
		process->memory_bytes = drm->memory_bytes;
		process->weight = weight;
		if (drm->interval_ns > 0)
			process->use_ppm = ppm((uint64_t)((unsigned __int128)process->weight *
							  1000000 / (uint64_t)drm->interval_ns));
	}
}

void wtl_gpu_use_tick(struct wtl_gpu_use *use, int64_t now_ns)
{
	if (use->scan)
		use->drm = wtl_drm_scan_read(use->scan, now_ns, &use->n_drm);
	for (size_t i = 0; i < use->n; i++) {
		if (use->ones[i].is_nvidia)
			tick_nvidia(use, &use->ones[i], &use->gpus[i], now_ns);
		else
			tick_drm(use, &use->ones[i], &use->gpus[i]);
		use->gpus[i].processes = use->ones[i].processes;
	}
}

const struct wtl_gpu_use_gpu *wtl_gpu_use_gpus(const struct wtl_gpu_use *use, size_t *ret_n)
{
	*ret_n = use->n;
	return use->gpus;
}
