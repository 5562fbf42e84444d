/* SPDX-License-Identifier: MIT */
/* NVIDIA GPUs for people to look at: which there are, and what becomes of them. */
#include "sensors/gpu_nvml.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/num.h"
#include "base/text.h"
#include "energy/units.h"
#include "gpu/pci.h"
#include "sensors/gpu_backend.h"
#include "sensors/gpu_info.h"

#define RETRY_NS     (1 * WTL_NS_PER_S)
#define USE_STAYS_NS (2 * WTL_NS_PER_S) /* drivers have something new once a second */

#define WORDS_ASLEEP "suspended, and reading it would wake it"

/* ---- Finding ---- */

static void fail(struct wtl_gpu *gpu, int code)
{
	wtl_gpu_fail(gpu, wtl_nvml_gpu_status(code), code, wtl_nvml_reason(code));
}

static void fall_asleep(struct wtl_gpu *gpu)
{
	wtl_gpu_fail(gpu, WATTLE_STATUS_ASLEEP, 0, WORDS_ASLEEP);
}

static void be_on_bus(struct wtl_gpus_nvml *nvml, struct wtl_gpu_nvml_gpu *own)
{
	own->is_on_bus = true;
	wtl_nvml_pci_watch(&own->power, nvml->io, own->bus_id);
}

static struct wtl_gpu *add_row(struct wtl_gpus_nvml *nvml, struct wtl_gpu_list *list,
			       const struct wtl_nvml_pci_gpu *pci)
{
	struct wtl_gpu_nvml_gpu *own;
	struct wtl_gpu *gpu;

	if (wtl_array_resize(&nvml->gpus, nvml->n_gpus + 1, sizeof(nvml->gpus[0])) < 0)
		return NULL;
	gpu = wtl_gpu_list_add(list, "nvidia");
	if (!gpu)
		return NULL;
	own = &nvml->gpus[nvml->n_gpus++];
	*own = (struct wtl_gpu_nvml_gpu){.row = list->n - 1, .index = -1};
	gpu->is_left_out = wtl_gpu_set_has(&nvml->left_out, list->n_domains);
	wtl_gpu_list_name(list, gpu);
	if (pci) {
		wtl_text_copy(own->bus_id, sizeof(own->bus_id), pci->id);
		be_on_bus(nvml, own);
		wtl_gpu_set_address(gpu, pci->id);
	}
	return gpu;
}

static bool read_bus_hex(struct wtl_gpus_nvml *nvml, const struct wtl_gpu_nvml_gpu *own,
			 const char *name, uint64_t *ret)
{
	char path[128], text[32];

	snprintf(path, sizeof(path), WTL_NVML_PCI_DIR "/%s/%s", own->bus_id, name);
	return own->is_on_bus && wtl_io_read_line(nvml->io, path, text, sizeof(text)) == 0 &&
	       wtl_num_hex(text, strlen(text), ret) == 0;
}

/* What the bus tells, and wakes nothing: a name, too, for a GPU that has not told its own. */
static void read_bus(struct wtl_gpus_nvml *nvml, const struct wtl_gpu_nvml_gpu *own,
		     struct wtl_gpu *gpu)
{
	uint64_t class, device;

	if (read_bus_hex(nvml, own, "class", &class))
		wtl_gpu_set(gpu, WTL_GPU_PCI_CLASS, class >> 8);
	if (gpu->name[0] || !read_bus_hex(nvml, own, "device", &device))
		return;
	snprintf(gpu->name, sizeof(gpu->name), "NVIDIA GPU %04x", (unsigned)device & 0xffff);
	snprintf(gpu->pci_device_id, sizeof(gpu->pci_device_id), "0x%04X10DE",
		 (unsigned)device & 0xffff);
}

/* A handle for a row: the GPU is there (again). Another one may sit in its slot meanwhile. */
static void take(struct wtl_gpus_nvml *nvml, struct wtl_gpu_nvml_gpu *own, struct wtl_gpu *gpu,
		 uint64_t handle)
{
	char uuid[WTL_NVML_UUID_SIZE];
	int code = wtl_nvml_device_text(&nvml->lib, WTL_NVML_UUID, handle, uuid, sizeof(uuid));

	if (code == WTL_NVML_OK && own->uuid[0] && strcmp(own->uuid, uuid) != 0)
		code = WTL_NVML_GPU_NOT_FOUND;
	if (code != WTL_NVML_OK && (own->uuid[0] || wtl_gpu_nvml_is_gone(code))) {
		fail(gpu, code);
		return;
	}
	own->handle = handle;
	own->has_pcie = false;
	memset(own->refused_ns, 0, sizeof(own->refused_ns));
	wtl_gpu_recover(gpu);
	wtl_gpu_nvml_identify(nvml, own, gpu);
	read_bus(nvml, own, gpu);
}

static struct wtl_nvml_pci_gpu *find_pci(struct wtl_nvml_pci_gpu pci[], size_t n, const char *id)
{
	for (size_t i = 0; i < n; i++)
		if (wtl_nvml_same_bus_id(pci[i].id, id))
			return &pci[i];
	return NULL;
}

/* What the search knows. */
struct finding {
	struct wtl_gpus_nvml *nvml;
	struct wtl_gpu_list *list;
	struct wtl_nvml_pci_gpu pci[WTL_GPUS_MAX];
	bool has_row[WTL_GPUS_MAX];
	size_t n_pci, n_asleep, n_nameless;
	size_t n_silent; /* those that are not asked anything: asleep, foreign or left out */
	bool is_container, is_bus_known;
};

static int handle_by_index(struct wtl_gpus_nvml *nvml, uint32_t index, uint64_t *ret_handle)
{
	uint64_t handle = 0;
	struct wtl_lib_arg args[] = {
		{.word = index},
		{.memory = &handle, .size = sizeof(handle)},
	};
	int code = wtl_nvml_call(&nvml->lib, WTL_NVML_BY_INDEX, args);

	*ret_handle = handle;
	return code == WTL_NVML_OK && !handle ? WTL_NVML_GPU_NOT_FOUND : code;
}

/* By its place on the bus where that is known: finding a GPU by UUID or index attaches to others,
 * which may sleep. */
static void connect(struct wtl_gpus_nvml *nvml, struct wtl_gpu_nvml_gpu *own, struct wtl_gpu *gpu,
		    int64_t now_ns)
{
	uint64_t handle = 0;
	int code;

	if (now_ns < own->retry_ns)
		return;
	own->retry_ns = now_ns + RETRY_NS;
	if (own->bus_id[0])
		code = wtl_nvml_handle_by_text(&nvml->lib, WTL_NVML_BY_BUS_ID, own->bus_id,
					       &handle);
	else if (own->uuid[0])
		code = wtl_nvml_handle_by_text(&nvml->lib, WTL_NVML_BY_UUID, own->uuid, &handle);
	else
		code = handle_by_index(nvml, (uint32_t)own->index, &handle);
	if (code == WTL_NVML_OK)
		take(nvml, own, gpu, handle);
	else
		fail(gpu, code);
}

static int add_by_index(struct finding *finding, uint32_t index)
{
	struct wtl_gpus_nvml *nvml = finding->nvml;
	uint64_t handle = 0;
	struct wtl_gpu *gpu = add_row(nvml, finding->list, NULL);
	struct wtl_gpu_nvml_gpu *own;
	struct wtl_nvml_pci_gpu *pci;
	int code;

	if (!gpu)
		return -ENOMEM;
	own = &nvml->gpus[nvml->n_gpus - 1];
	own->index = (int)index;
	code = gpu->is_left_out ? WTL_NVML_GPU_NOT_FOUND : handle_by_index(nvml, index, &handle);
	if (code != WTL_NVML_OK) {
		fail(gpu, code);
		finding->n_nameless++;
		return 0;
	}
	take(nvml, own, gpu, handle);
	pci = find_pci(finding->pci, finding->n_pci, own->bus_id);
	if (!pci)
		return 0;
	finding->has_row[pci - finding->pci] = true;
	wtl_text_copy(own->bus_id, sizeof(own->bus_id), pci->id);
	be_on_bus(nvml, own);
	read_bus(nvml, own, gpu);
	return 0;
}

/* A GPU of the bus, with the trouble that it is in (0: none). */
static int add_from_bus(struct finding *finding, size_t i, int code)
{
	const struct wtl_nvml_pci_gpu *pci = &finding->pci[i];
	struct wtl_gpu *gpu = add_row(finding->nvml, finding->list, pci);
	struct wtl_gpu_nvml_gpu *own;
	char words[96];

	if (!gpu)
		return -ENOMEM;
	finding->has_row[i] = true;
	if (gpu->is_left_out)
		return 0;
	own = &finding->nvml->gpus[finding->nvml->n_gpus - 1];
	if (wtl_nvml_pci_is_foreign(pci)) {
		own->is_foreign = true;
		snprintf(words, sizeof(words), "driven by %s, not by NVIDIA's driver", pci->driver);
		wtl_gpu_fail(gpu, WATTLE_STATUS_FAILED, 0, words);
	} else if (pci->asleep) {
		fall_asleep(gpu);
	} else if (code != WTL_NVML_OK) {
		fail(gpu, code);
		if (finding->nvml->lib.handle < 0) /* the code is not an answer of NVML */
			wtl_gpu_fail(gpu, WATTLE_STATUS_FAILED, code, finding->nvml->trouble);
	} else {
		connect(finding->nvml, own, gpu, 0);
	}
	read_bus(finding->nvml, own, gpu);
	return 0;
}

/* All GPUs of the bus; foreign ones last, as in the domains' numbers. */
static int add_bus(struct finding *finding, int code)
{
	int rc = 0;

	for (size_t i = 0; i < finding->n_pci && rc == 0; i++)
		if (!wtl_nvml_pci_is_foreign(&finding->pci[i]))
			rc = add_from_bus(finding, i, code);
	for (size_t i = 0; i < finding->n_pci && rc == 0; i++)
		if (!finding->has_row[i])
			rc = add_from_bus(finding, i, code);
	return rc;
}

/* Those of the bus that NVML did not name. In a container they are the host's own business. */
static int add_rest(struct finding *finding)
{
	int rc = 0;

	for (size_t i = 0; i < finding->n_pci && rc == 0; i++) {
		bool is_foreign = wtl_nvml_pci_is_foreign(&finding->pci[i]);

		if (finding->has_row[i])
			continue;
		if (!is_foreign && finding->n_nameless) {
			finding->n_nameless--;
			continue;
		}
		if (is_foreign || !finding->is_container)
			rc = add_from_bus(finding, i, WTL_NVML_GPU_NOT_FOUND);
	}
	return rc;
}

static void set_trouble(struct wtl_gpus_nvml *nvml, const char *words)
{
	wtl_text_copy(nvml->trouble, sizeof(nvml->trouble), words);
}

/* Loads and starts: a code. What is wrong for good is in `trouble`. */
static int start(struct wtl_gpus_nvml *nvml)
{
	struct wtl_err err = {0};
	int code, rc = 0;

	if (nvml->lib.handle < 0)
		rc = wtl_nvml_lib_load(&nvml->lib, nvml->path, &err);
	if (rc < 0) {
		set_trouble(nvml, nvml->path ? err.text : wtl_nvml_load_reason(rc, NULL));
		return WTL_NVML_LIBRARY_NOT_FOUND;
	}
	code = wtl_nvml_lib_start(&nvml->lib);
	set_trouble(nvml, wtl_nvml_reason(code));
	if (code == WTL_NVML_OK)
		wtl_gpu_nvml_versions(nvml);
	return code;
}

/* There is no GPU that NVML is to be asked about. */
static bool is_silent(const struct finding *finding)
{
	return finding->nvml->left_out.has_all ||
	       (finding->n_pci && finding->n_silent == finding->n_pci);
}

static int add_all(struct finding *finding)
{
	struct wtl_gpus_nvml *nvml = finding->nvml;
	uint32_t count = 0;
	struct wtl_lib_arg args[] = {{.memory = &count, .size = sizeof(count)}};
	int code, rc = 0;

	if (is_silent(finding))
		return add_bus(finding, WTL_NVML_OK); /* nothing is loaded */
	code = start(nvml);
	if (code == WTL_NVML_OK && !finding->n_asleep)
		code = wtl_nvml_call(&nvml->lib, WTL_NVML_COUNT, args);
	if (code != WTL_NVML_OK) {
		/* Nobody asked for NVML, and there is nothing to ask it for. */
		if (!nvml->path && !finding->n_pci &&
		    (finding->is_bus_known || nvml->lib.handle < 0))
			set_trouble(nvml, "");
		return add_bus(finding, code);
	}
	if (finding->n_asleep)
		return add_bus(finding, WTL_NVML_OK);
	for (uint32_t i = 0; i < count && i < WTL_GPUS_MAX && rc == 0; i++)
		rc = add_by_index(finding, i);
	return rc < 0 ? rc : add_rest(finding);
}

static void count_pci(struct finding *finding)
{
	unsigned number = 0;

	for (size_t i = 0; i < finding->n_pci; i++) {
		const struct wtl_nvml_pci_gpu *pci = &finding->pci[i];
		bool is_foreign = wtl_nvml_pci_is_foreign(pci);

		finding->n_asleep += pci->asleep && !is_foreign;
		finding->n_silent += pci->asleep || is_foreign ||
				     wtl_gpu_set_has(&finding->nvml->left_out, number);
		number += !is_foreign;
	}
}

static int gpu_nvml_open(void *state, const struct wtl_env *env,
			 const struct wtl_source_options *options, struct wtl_gpu_list *list)
{
	struct wtl_gpus_nvml *nvml = state;
	struct finding *finding;
	int n, rc;

	nvml->io = env->io;
	wtl_nvml_lib_init(&nvml->lib, env->io);
	if (options->nvml_path && !options->nvml_path[0]) {
		set_trouble(nvml, "NVML is switched off by request");
		return 0;
	}
	if (options->nvml_path) {
		nvml->path_copy = strdup(options->nvml_path);
		nvml->path = nvml->path_copy;
		if (!nvml->path)
			return -ENOMEM;
	}
	nvml->left_out = options->left_out;
	nvml->pids_are_ours = wtl_nvml_pids_are_ours(env->io);
	finding = calloc(1, sizeof(*finding));
	if (!finding)
		return -ENOMEM;
	finding->nvml = nvml;
	finding->list = list;
	finding->is_container = options->machine->is_container;
	n = wtl_nvml_pci_gpus(env->io, finding->pci, WTL_GPUS_MAX, &finding->is_bus_known);
	finding->n_pci = n > 0 ? (size_t)n : 0;
	count_pci(finding);
	rc = n == -ENOMEM ? n : add_all(finding);
	free(finding);
	return rc;
}

/* ---- Processes ---- */

static void hold_uses(struct wtl_gpu_nvml_gpu *own, int64_t now_ns)
{
	size_t kept = 0;

	for (size_t i = 0; i < own->n_held; i++) {
		bool is_anew = false;

		for (size_t j = 0; j < own->uses.n; j++)
			is_anew |= own->uses.at[j].pid == own->held[i].use.pid;
		if (!is_anew && now_ns - own->held[i].t_ns <= USE_STAYS_NS)
			own->held[kept++] = own->held[i];
	}
	own->has_lost_use = false;
	for (size_t i = 0; i < own->uses.n; i++)
		if (kept < WTL_NVML_USES_MAX &&
		    wtl_array_reserve(&own->held, &own->room_held, kept + 1,
				      sizeof(own->held[0])) == 0)
			own->held[kept++] = (struct wtl_gpu_nvml_use){own->uses.at[i], now_ns};
		else
			own->has_lost_use = true;
	own->n_held = kept;
}

static int read_uses(struct wtl_gpus_nvml *nvml, struct wtl_gpu_nvml_gpu *own)
{
	int code = wtl_nvml_use_list_read(&own->uses, &nvml->lib, own->handle);

	hold_uses(own, wtl_io_mono_ns(nvml->io));
	return code;
}

static void add_use(const struct wtl_gpu_nvml_gpu *own, bool all_idle,
		    struct wtl_gpu_process *process)
{
	/* Who is not among the uses did nothing, unless there was no room for all of them. */
	process->has_use = all_idle && !own->has_lost_use;
	for (size_t i = 0; i < own->n_held; i++) {
		const struct wtl_nvml_process_use *use = &own->held[i].use;

		if (use->pid != process->pid)
			continue;
		process->has_use = true;
		process->sm_percent = use->sm;
		process->memory_percent = use->memory;
		process->encoder_percent = use->encoder;
		process->decoder_percent = use->decoder;
		return;
	}
}

static int read_processes(struct wtl_gpus_nvml *nvml, struct wtl_gpu_nvml_gpu *own,
			  struct wtl_gpu *gpu, unsigned what)
{
	int code = wtl_nvml_process_list_read(&own->processes, &nvml->lib, own->handle);
	int uses = WTL_NVML_NOT_SUPPORTED;

	gpu->processes = own->processes.at;
	gpu->n_processes = own->processes.n;
	gpu->processes_status = wtl_gpu_nvml_part_status(code);
	if (wtl_gpu_nvml_is_gone(code))
		return code;
	if (what & WTL_GPU_READ_USE)
		uses = read_uses(nvml, own);
	for (size_t i = 0; i < gpu->n_processes; i++) {
		wtl_nvml_process_name(nvml->io, &nvml->lib, nvml->pids_are_ours,
				      &gpu->processes[i]);
		if (uses == WTL_NVML_OK)
			add_use(own, true, &gpu->processes[i]);
	}
	return wtl_gpu_nvml_is_gone(uses) ? uses : WTL_NVML_OK;
}

/* ---- Reading ---- */

/* The driver went away: all handles are void, and NVML has to be started anew. */
static bool restart(struct wtl_gpus_nvml *nvml, int64_t now_ns)
{
	if (nvml->lib.up)
		return true;
	if (now_ns < nvml->start_ns)
		return false;
	nvml->start_ns = now_ns + RETRY_NS;
	return start(nvml) == WTL_NVML_OK;
}

static void lose(struct wtl_gpus_nvml *nvml, struct wtl_gpu_nvml_gpu *own, struct wtl_gpu *gpu,
		 int code)
{
	own->handle = 0;
	own->retry_ns = wtl_io_mono_ns(nvml->io) + RETRY_NS;
	fail(gpu, code);
	if (code != WTL_NVML_UNINITIALIZED && code != WTL_NVML_DRIVER_NOT_LOADED)
		return;
	wtl_nvml_lib_stop(&nvml->lib);
	for (size_t i = 0; i < nvml->n_gpus; i++)
		nvml->gpus[i].handle = 0;
}

/* A GPU that has a handle and is awake. */
static int read_awake(struct wtl_gpus_nvml *nvml, struct wtl_gpu_nvml_gpu *own, unsigned what,
		      struct wtl_gpu *gpu)
{
	int code = WTL_NVML_OK;

	if (what & (WTL_GPU_READ_NUMBERS | WTL_GPU_READ_SCREEN))
		code = wtl_gpu_nvml_read_numbers(nvml, own, what & WTL_GPU_READ_NUMBERS, gpu);
	if (what & WTL_GPU_READ_NUMBERS) {
		if (code == WTL_NVML_OK)
			wtl_gpu_nvml_read_migs(nvml, own, gpu);
		read_bus(nvml, own, gpu);
	}
	if (code == WTL_NVML_OK && (what & WTL_GPU_READ_PCIE))
		code = wtl_gpu_nvml_read_pcie(nvml, own, gpu);
	if (code == WTL_NVML_OK && (what & WTL_GPU_READ_DETAILS))
		code = wtl_gpu_nvml_read_details(nvml, own, gpu);
	if (code == WTL_NVML_OK && (what & WTL_GPU_READ_INFOROM))
		code = wtl_gpu_nvml_read_inforom(nvml, own, gpu);
	if (code == WTL_NVML_OK && (what & (WTL_GPU_READ_PROCESSES | WTL_GPU_READ_USE)))
		code = read_processes(nvml, own, gpu, what);
	return code;
}

static void read_gpu(struct wtl_gpus_nvml *nvml, struct wtl_gpu_nvml_gpu *own, unsigned what,
		     struct wtl_gpu *gpu)
{
	int64_t now_ns = wtl_io_mono_ns(nvml->io);
	int code;

	if (own->is_foreign || gpu->is_left_out)
		return;
	if (wtl_nvml_pci_asleep(&own->power)) {
		fall_asleep(gpu);
		return;
	}
	if (!restart(nvml, now_ns)) {
		if (gpu->status == WATTLE_STATUS_ASLEEP || gpu->status == WATTLE_STATUS_OK)
			wtl_gpu_fail(gpu, WATTLE_STATUS_FAILED, 0, nvml->trouble);
		return;
	}
	if (!own->handle)
		connect(nvml, own, gpu, now_ns);
	if (!own->handle)
		return;
	wtl_gpu_recover(gpu); /* it may have slept */
	code = read_awake(nvml, own, what, gpu);
	if (code != WTL_NVML_OK)
		lose(nvml, own, gpu, code);
}

static void gpu_nvml_read(void *state, unsigned what, struct wtl_gpu_list *list)
{
	struct wtl_gpus_nvml *nvml = state;

	for (size_t i = 0; i < nvml->n_gpus; i++)
		read_gpu(nvml, &nvml->gpus[i], what, &list->at[nvml->gpus[i].row]);
}

/* ---- Setting ---- */

static int explain(int code, const struct wtl_gpu *gpu, const char *what, struct wtl_err *err)
{
	switch (code) {
	case WTL_NVML_OK:
		return 0;
	case WTL_NVML_NO_PERMISSION:
		return wtl_err_set(err, EPERM, "nvml", gpu->bus_id,
				   "setting the %s of GPU %u takes root: run wattle with sudo",
				   what, gpu->index);
	case WTL_NVML_NOT_SUPPORTED:
	case WTL_NVML_FUNCTION_NOT_FOUND:
		return wtl_err_set(err, EOPNOTSUPP, "nvml", gpu->bus_id,
				   "GPU %u does not let its %s be set", gpu->index, what);
	case WTL_NVML_INVALID_ARGUMENT:
		return wtl_err_set(err, ERANGE, "nvml", gpu->bus_id,
				   "the driver of GPU %u does not accept that %s", gpu->index,
				   what);
	default:
		return wtl_err_set(err, wtl_gpu_nvml_is_gone(code) ? ENODEV : WTL_ELIBRARY, "nvml",
				   gpu->bus_id, "the %s of GPU %u cannot be set: %s", what,
				   gpu->index, wtl_nvml_reason(code));
	}
}

static int gpu_nvml_set_limit(void *state, const struct wtl_gpu *gpu, size_t index,
			      uint64_t limit_uw, struct wtl_err *err)
{
	struct wtl_gpus_nvml *nvml = state;
	const struct wtl_gpu_nvml_gpu *own = &nvml->gpus[index - nvml->gpus[0].row];
	uint64_t limit_mw = limit_uw / 1000;
	struct wtl_nvml_power_value value = {
		.version = WTL_NVML_VERSION(struct wtl_nvml_power_value, 2),
		.scope = WTL_NVML_SCOPE_GPU,
		.power_mw = (uint32_t)limit_mw,
	};
	struct wtl_lib_arg args[] = {{.word = own->handle}, {.word = limit_mw}};
	struct wtl_lib_arg args_v2[] = {
		{.word = own->handle},
		{.memory = &value, .size = sizeof(value)},
	};
	int code;

	if (limit_mw > UINT32_MAX)
		return explain(WTL_NVML_INVALID_ARGUMENT, gpu, "power limit", err);
	if (!own->handle)
		return explain(WTL_NVML_GPU_IS_LOST, gpu, "power limit", err);
	/* The older one is what every driver has; the other says the same for one more scope. */
	code = wtl_nvml_call(&nvml->lib, WTL_NVML_SET_LIMIT, args);
	if (code == WTL_NVML_FUNCTION_NOT_FOUND || code == WTL_NVML_DEPRECATED)
		code = wtl_nvml_call(&nvml->lib, WTL_NVML_SET_LIMIT_V2, args_v2);
	return explain(code, gpu, "power limit", err);
}

static int gpu_nvml_set_persistence(void *state, const struct wtl_gpu *gpu, size_t index, bool on,
				    struct wtl_err *err)
{
	struct wtl_gpus_nvml *nvml = state;
	const struct wtl_gpu_nvml_gpu *own = &nvml->gpus[index - nvml->gpus[0].row];
	struct wtl_lib_arg args[] = {{.word = own->handle}, {.word = on}};

	if (!own->handle)
		return explain(WTL_NVML_GPU_IS_LOST, gpu, "persistence mode", err);
	return explain(wtl_nvml_call(&nvml->lib, WTL_NVML_SET_PERSISTENCE, args), gpu,
		       "persistence mode", err);
}

static void gpu_nvml_close(void *state)
{
	struct wtl_gpus_nvml *nvml = state;

	for (size_t i = 0; i < nvml->n_gpus; i++) {
		wtl_held_file_close(&nvml->gpus[i].power);
		wtl_nvml_process_list_done(&nvml->gpus[i].processes);
		wtl_nvml_use_list_done(&nvml->gpus[i].uses);
		free(nvml->gpus[i].held);
		free(nvml->gpus[i].migs);
	}
	free(nvml->gpus);
	free(nvml->path_copy);
	wtl_nvml_lib_close(&nvml->lib);
}

const struct wtl_gpu_backend wtl_gpu_nvml = {
	.state_size = sizeof(struct wtl_gpus_nvml),
	.open = gpu_nvml_open,
	.read = gpu_nvml_read,
	.set_limit = gpu_nvml_set_limit,
	.set_persistence = gpu_nvml_set_persistence,
	.close = gpu_nvml_close,
};
