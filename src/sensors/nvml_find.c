/* SPDX-License-Identifier: MIT */
/*
 * Which NVIDIA GPUs there are: by the PCI bus, which can be asked without waking anything, and by
 * NVML. While one of them sleeps, NVML is asked for the others only, by their bus ids: finding a GPU
 * by its index or UUID attaches to those that come before it.
 */
#include "sensors/nvml.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/log.h"
#include "base/text.h"
#include "gpu/pci.h"
#include "gpu/visible.h"

struct finding {
	struct wtl_nvml *nvml;
	struct wtl_catalog *catalog;
	bool is_container;
	struct wtl_nvml_pci_gpu *pci;
	bool is_found[WTL_NVML_GPUS_MAX]; /* NVML has it, or it is accounted for otherwise */
	size_t n_pci;
	bool pci_known;	 /* there is a PCI bus to look at */
	size_t n_asleep; /* of those that are NVIDIA's driver's */
	size_t n_foreign;
	unsigned number;     /* of the next GPU */
	unsigned n_nameless; /* GPUs that NVML counts, without a handle: refused or left out */
	const char *list;    /* of those that are wanted, or NULL: all */
	enum wtl_gpu_visible visible[WTL_NVML_GPUS_MAX]; /* by their index, if there is a list */
	struct wtl_gpu_names names;
};

/* No index: the GPU is not NVML's, so that no list can name it. */
#define NO_INDEX SIZE_MAX

/* ---- The PCI bus ---- */

static int pci_scan(struct finding *finding)
{
	int n;

	finding->pci = calloc(WTL_NVML_GPUS_MAX, sizeof(finding->pci[0]));
	if (!finding->pci)
		return -ENOMEM;
	n = wtl_nvml_pci_gpus(finding->nvml->io, finding->pci, WTL_NVML_GPUS_MAX,
			      &finding->pci_known);
	if (n < 0)
		return n;
	finding->n_pci = (size_t)n;
	for (size_t i = 0; i < finding->n_pci; i++) {
		bool is_foreign = wtl_nvml_pci_is_foreign(&finding->pci[i]);

		finding->n_foreign += is_foreign;
		finding->n_asleep += finding->pci[i].asleep && !is_foreign;
	}
	return 0;
}

static void mark_found(struct finding *finding, const char *bus_id)
{
	for (size_t i = 0; i < finding->n_pci; i++)
		if (wtl_nvml_same_bus_id(finding->pci[i].id, bus_id))
			finding->is_found[i] = true;
}

/* ---- Those that are wanted ---- */

/* Chooses among n GPUs, by what is known of their names. */
static void choose(struct finding *finding, size_t n)
{
	const struct wtl_log *log = finding->nvml->log;
	const char *bad;

	if (!finding->list)
		return;
	bad = wtl_gpu_list_apply(finding->list, &finding->names, finding->visible, n);
	if (bad)
		wtl_log_line(log, WTL_LOG_WARNING,
			     "the list of GPUs ends before '%.*s', which names no GPU here",
			     (int)strcspn(bad, ","), bad);
	for (unsigned i = 0; i < n; i++)
		if (finding->visible[i] == WTL_GPU_VISIBLE_BY_MIG)
			wtl_log_line(log, WTL_LOG_INFO,
				     "gpu-%u is measured as a whole: its MIG devices have no "
				     "counters of their own",
				     finding->number + i);
		else if (finding->visible[i] == WTL_GPU_VISIBLE_PERHAPS)
			wtl_log_line(log, WTL_LOG_INFO,
				     "gpu-%u is measured: its UUID is not known, and may be one "
				     "of those in the list of GPUs",
				     finding->number + i);
}

/* The list chooses none, whatever GPUs there are. */
static bool wants_none(struct finding *finding)
{
	if (!finding->list)
		return false;
	wtl_gpu_list_apply(finding->list, &finding->names, finding->visible, WTL_NVML_GPUS_MAX);
	for (size_t i = 0; i < WTL_NVML_GPUS_MAX; i++)
		if (finding->visible[i] != WTL_GPU_HIDDEN)
			return false;
	return true;
}

/* A GPU that is not wanted keeps its number, and nothing else. */
static bool is_left_out(struct finding *finding, size_t index)
{
	if (!finding->list ||
	    (index < WTL_NVML_GPUS_MAX && finding->visible[index] != WTL_GPU_HIDDEN))
		return false;
	wtl_gpu_set_add(&finding->catalog->left_out, finding->number++);
	return true;
}

static int read_names(struct finding *finding, uint64_t handle, size_t index)
{
	return wtl_gpu_names_read(&finding->names, &finding->nvml->lib, handle, index,
				  wtl_gpu_list_has_migs(finding->list));
}

/* ---- Misses ---- */

static int miss_gpu(struct finding *finding, enum wattle_status status, const char *remedy,
		    const char *reason)
{
	char domain[WTL_NAME_SIZE];

	snprintf(domain, sizeof(domain), "gpu-%u", finding->number++);
	return wtl_catalog_missf(finding->catalog, WATTLE_KIND_GPU, domain, status, remedy, "%s",
				 reason);
}

static int miss_foreign(struct finding *finding, const struct wtl_nvml_pci_gpu *gpu)
{
	char reason[200];

	snprintf(reason, sizeof(reason), "the NVIDIA GPU at %s is driven by %s", gpu->id,
		 gpu->driver);
	return miss_gpu(finding, WATTLE_STATUS_FAILED,
			strcmp(gpu->driver, "vfio-pci") == 0
				? "measure in the virtual machine that the GPU was given to"
				: "use NVIDIA's own driver, which has the sensors' interface",
			reason);
}

/* The same trouble for all GPUs of NVML: one miss each, or one in all if none is known. */
static int miss_all(struct finding *finding, enum wattle_status status, const char *reason,
		    const char *remedy)
{
	size_t index = 0;
	int rc = 0;

	choose(finding, finding->n_pci - finding->n_foreign);
	for (size_t i = 0; i < finding->n_pci && rc == 0; i++) {
		const struct wtl_nvml_pci_gpu *gpu = &finding->pci[i];
		bool is_foreign = wtl_nvml_pci_is_foreign(gpu);
		char text[200];

		if (is_left_out(finding, is_foreign ? NO_INDEX : index++))
			continue;
		if (is_foreign) {
			rc = miss_foreign(finding, gpu);
		} else {
			snprintf(text, sizeof(text), "the NVIDIA GPU at %s: %s", gpu->id, reason);
			rc = miss_gpu(finding, status, remedy, text);
		}
	}
	if (!finding->n_pci) {
		struct wtl_miss miss = {.kind = WATTLE_KIND_GPU, .status = status};

		wtl_text_copy(miss.reason, sizeof(miss.reason), reason);
		wtl_text_copy(miss.remedy, sizeof(miss.remedy), remedy);
		rc = wtl_catalog_miss(finding->catalog, &miss);
	}
	return rc;
}

/* ---- The library ---- */

/* 1: ready. 0: not, and there is a miss. Negative: no memory. */
static int load(struct finding *finding, const char *path)
{
	struct wtl_err err = {0};
	bool absent;
	int rc;

	rc = wtl_nvml_lib_load(&finding->nvml->lib, path, &err);
	if (rc == 0)
		return 1;
	absent = rc == -WTL_EABSENT || rc == -ENOENT;
	if (!path && absent && !finding->n_pci)
		return miss_all(finding, WATTLE_STATUS_ABSENT, "there is no NVIDIA GPU", "");
	if (path || !absent)
		return miss_all(finding, WATTLE_STATUS_FAILED,
				err.text[0] ? err.text : wtl_nvml_load_reason(rc, path),
				wtl_nvml_load_remedy(rc, path));
	return miss_all(finding, WATTLE_STATUS_FAILED, wtl_nvml_load_reason(rc, path),
			wtl_nvml_load_remedy(rc, path));
}

static int miss_code(struct finding *finding, int code)
{
	/* Only the library: typical of machines whose GPU was taken out, and of images. */
	if (code == WTL_NVML_DRIVER_NOT_LOADED && finding->pci_known && !finding->n_pci)
		return miss_all(finding, WATTLE_STATUS_ABSENT, "there is no NVIDIA GPU", "");
	return miss_all(finding, wtl_nvml_gpu_status(code), wtl_nvml_reason(code),
			wtl_nvml_remedy(code));
}

static int start(struct finding *finding)
{
	struct wtl_nvml_lib *lib = &finding->nvml->lib;
	int code = wtl_nvml_lib_start(lib);

	if (code != WTL_NVML_OK)
		return miss_code(finding, code);
	wtl_log_line(finding->nvml->log, WTL_LOG_DEBUG, "nvml: driver %s", lib->driver);
	return 1;
}

/* ---- The GPUs ---- */

static void power_open(struct wtl_nvml *nvml, struct wtl_nvml_gpu *gpu,
		       const struct finding *finding)
{
	for (size_t i = 0; i < finding->n_pci; i++) {
		if (!wtl_nvml_same_bus_id(finding->pci[i].id, gpu->bus_id))
			continue;
		wtl_text_copy(gpu->bus_id, sizeof(gpu->bus_id), finding->pci[i].id);
		wtl_nvml_pci_watch(&gpu->power, nvml->io, gpu->bus_id);
		return;
	}
}

/* Room for as many GPUs. */
static int reserve(struct wtl_nvml *nvml, size_t n)
{
	if (n)
		nvml->gpus = calloc(n, sizeof(nvml->gpus[0]));
	return n && !nvml->gpus ? -ENOMEM : 0;
}

/*
 * A GPU that sleeps: a channel, and a miss that says so for as long as it does. It is not asked
 * anything, and so is declared only where NVIDIA's driver is known to hold it and its sleep can be
 * followed.
 */
static int take_asleep(struct finding *finding, const struct wtl_nvml_pci_gpu *pci)
{
	struct wtl_nvml_gpu *gpu = &finding->nvml->gpus[finding->nvml->n_gpus];
	char device[64], reason[200], remedy[240];
	int rc = 0;

	*gpu = (struct wtl_nvml_gpu){.asleep = true, .is_late = true};
	wtl_text_copy(gpu->bus_id, sizeof(gpu->bus_id), pci->id);
	power_open(finding->nvml, gpu, finding);
	finding->nvml->n_gpus++;
	snprintf(device, sizeof(device), "NVIDIA GPU %04x at %s", pci->device, pci->id);
	if (pci->driver[0] && gpu->power.io)
		rc = wtl_nvml_declare(gpu, finding->number, device, finding->catalog);
	if (rc < 0)
		return rc;
	snprintf(reason, sizeof(reason),
		 "the NVIDIA GPU at %s is suspended, and reading it would wake it", pci->id);
	snprintf(remedy, sizeof(remedy),
		 "%s: echo on | sudo tee " WTL_NVML_PCI_DIR "/%s/power/control",
		 gpu->n_channels ? "it is measured once it is in use; to keep it awake"
				 : "start wattle while it is in use, or keep it awake",
		 pci->id);
	return miss_gpu(finding, WATTLE_STATUS_ASLEEP, remedy, reason);
}

/* A GPU with a handle: identity, then what it can measure. */
static int take(struct finding *finding, uint64_t handle, const char *bus_id)
{
	struct wtl_nvml *nvml = finding->nvml;
	struct wtl_nvml_gpu *gpu = &nvml->gpus[nvml->n_gpus];
	struct wtl_nvml_pci pci = {0};
	struct wtl_lib_arg args[] = {{.word = handle}, {.memory = &pci, .size = sizeof(pci)}};

	*gpu = (struct wtl_nvml_gpu){.handle = handle};
	if (bus_id)
		wtl_text_copy(gpu->bus_id, sizeof(gpu->bus_id), bus_id);
	else if (wtl_nvml_call(&nvml->lib, WTL_NVML_PCI_INFO, args) == WTL_NVML_OK)
		wtl_text_clean(gpu->bus_id, sizeof(gpu->bus_id), pci.bus_id,
			       strnlen(pci.bus_id, sizeof(pci.bus_id)));
	wtl_nvml_device_text(&nvml->lib, WTL_NVML_UUID, handle, gpu->uuid, sizeof(gpu->uuid));
	if (gpu->bus_id[0]) {
		mark_found(finding, gpu->bus_id);
		power_open(nvml, gpu, finding);
	}
	nvml->n_gpus++; /* also without channels: close() closes its file */
	return wtl_nvml_probe(nvml, gpu, finding->number++, finding->catalog);
}

static int handle_by_index(struct wtl_nvml *nvml, uint32_t index, uint64_t *ret_handle)
{
	struct wtl_lib_arg args[] = {
		{.word = index},
		{.memory = ret_handle, .size = sizeof(*ret_handle)},
	};
	int code = wtl_nvml_call(&nvml->lib, WTL_NVML_BY_INDEX, args);

	return code == WTL_NVML_OK && !*ret_handle ? WTL_NVML_GPU_NOT_FOUND : code;
}

/* Names are asked for where the list has any: else those left out are not touched at all. */
static int choose_by_index(struct finding *finding, uint32_t count)
{
	bool has_uuids = finding->list && wtl_gpu_list_has_uuids(finding->list);
	int rc = 0;

	for (uint32_t i = 0; i < count && has_uuids && rc == 0; i++) {
		uint64_t handle = 0;

		if (handle_by_index(finding->nvml, i, &handle) == WTL_NVML_OK)
			rc = read_names(finding, handle, i);
	}
	choose(finding, count);
	return rc;
}

static int find_by_index(struct finding *finding, uint32_t count)
{
	int rc = choose_by_index(finding, count);

	for (uint32_t i = 0; i < count && rc == 0; i++) {
		uint64_t handle = 0;
		char reason[200];
		int code;

		if (is_left_out(finding, i)) {
			finding->n_nameless++;
			continue;
		}
		code = handle_by_index(finding->nvml, i, &handle);
		if (code == WTL_NVML_OK) {
			rc = take(finding, handle, NULL);
			continue;
		}
		finding->n_nameless++;
		snprintf(reason, sizeof(reason), "NVIDIA GPU with index %u: %s", i,
			 wtl_nvml_reason(code));
		rc = miss_gpu(finding, wtl_nvml_gpu_status(code), wtl_nvml_remedy(code), reason);
	}
	return rc;
}

/* Those that sleep are not asked for their names. */
static int choose_by_bus_id(struct finding *finding)
{
	bool has_uuids = finding->list && wtl_gpu_list_has_uuids(finding->list);
	size_t index = 0;
	int rc = 0;

	for (size_t i = 0; i < finding->n_pci && rc == 0; i++) {
		const struct wtl_nvml_pci_gpu *gpu = &finding->pci[i];
		uint64_t handle = 0;

		if (wtl_nvml_pci_is_foreign(gpu))
			continue;
		if (has_uuids && !gpu->asleep &&
		    wtl_nvml_handle_by_text(&finding->nvml->lib, WTL_NVML_BY_BUS_ID, gpu->id,
					    &handle) == WTL_NVML_OK)
			rc = read_names(finding, handle, index);
		index++;
	}
	choose(finding, index);
	return rc;
}

static int find_by_bus_id(struct finding *finding)
{
	int rc = choose_by_bus_id(finding);
	size_t index = 0;

	for (size_t i = 0; i < finding->n_pci && rc == 0; i++) {
		const struct wtl_nvml_pci_gpu *gpu = &finding->pci[i];
		uint64_t handle = 0;
		char reason[200];
		int code;

		finding->is_found[i] = true;
		if (wtl_nvml_pci_is_foreign(gpu)) {
			/* Has no number with NVML: find_rest() gives it one after all others. */
			finding->is_found[i] = false;
			continue;
		}
		if (is_left_out(finding, index++))
			continue;
		if (gpu->asleep) {
			rc = take_asleep(finding, gpu);
			continue;
		}
		code = wtl_nvml_handle_by_text(&finding->nvml->lib, WTL_NVML_BY_BUS_ID, gpu->id,
					       &handle);
		if (code == WTL_NVML_OK) {
			rc = take(finding, handle, gpu->id);
			continue;
		}
		snprintf(reason, sizeof(reason), "the NVIDIA GPU at %s: %s", gpu->id,
			 wtl_nvml_reason(code));
		rc = miss_gpu(finding, wtl_nvml_gpu_status(code), wtl_nvml_remedy(code), reason);
	}
	return rc;
}

/* GPUs on the bus that NVML does not have; those it had no handle for are among them. */
static int find_rest(struct finding *finding)
{
	int rc = 0;

	for (size_t i = 0; i < finding->n_pci && rc == 0; i++) {
		const struct wtl_nvml_pci_gpu *gpu = &finding->pci[i];
		char reason[200];

		if (finding->is_found[i])
			continue;
		if (wtl_nvml_pci_is_foreign(gpu)) {
			if (!is_left_out(finding, NO_INDEX))
				rc = miss_foreign(finding, gpu);
			continue;
		}
		if (finding->n_nameless) {
			finding->n_nameless--;
			continue;
		}
		if (finding->is_container) /* the host's, and none of this container's business */
			continue;
		if (is_left_out(finding, NO_INDEX))
			continue;
		snprintf(reason, sizeof(reason), "NVML does not know the NVIDIA GPU at %s",
			 gpu->id);
		rc = miss_gpu(finding, WATTLE_STATUS_FAILED,
			      "look for its driver's messages: dmesg | grep -i -e nvrm -e xid",
			      reason);
	}
	return rc;
}

static int find_all(struct finding *finding)
{
	struct wtl_nvml *nvml = finding->nvml;
	uint32_t count = 0;
	struct wtl_lib_arg args[] = {{.memory = &count, .size = sizeof(count)}};
	int code = WTL_NVML_OK, rc;

	if (finding->n_asleep)
		count = (uint32_t)finding->n_pci;
	else
		code = wtl_nvml_call(&nvml->lib, WTL_NVML_COUNT, args);
	if (code != WTL_NVML_OK)
		return miss_code(finding, code);
	if (!count && !finding->n_pci)
		return miss_all(finding, WATTLE_STATUS_ABSENT, "there is no NVIDIA GPU", "");
	if (count > WTL_NVML_GPUS_MAX)
		count = WTL_NVML_GPUS_MAX;
	rc = reserve(nvml, count);
	if (rc == 0)
		rc = finding->n_asleep ? find_by_bus_id(finding) : find_by_index(finding, count);
	return rc < 0 ? rc : find_rest(finding);
}

/* Every GPU of NVML sleeps: it is not loaded before one of them wakes. */
static int find_asleep(struct finding *finding)
{
	int rc = reserve(finding->nvml, finding->n_pci);

	finding->nvml->broken = true;
	if (rc == 0)
		rc = find_by_bus_id(finding);
	return rc < 0 ? rc : find_rest(finding);
}

static int find(struct finding *finding, const char *path)
{
	int rc = pci_scan(finding);

	if (rc < 0)
		return rc;
	if (wants_none(finding)) {
		choose(finding, 0);
		for (size_t i = 0; i < finding->n_pci; i++)
			is_left_out(finding, NO_INDEX);
		finding->catalog->left_out.has_all = true;
		return 0;
	}
	if (path && !path[0])
		return miss_all(finding, WATTLE_STATUS_ABSENT, "NVML is switched off by request",
				"");
	if (finding->n_asleep && finding->n_asleep + finding->n_foreign == finding->n_pci)
		return find_asleep(finding);
	rc = load(finding, path);
	if (rc > 0)
		rc = start(finding);
	return rc > 0 ? find_all(finding) : rc;
}

int wtl_nvml_find(struct wtl_nvml *nvml, const struct wtl_source_options *options,
		  struct wtl_catalog *catalog)
{
	struct finding finding = {
		.nvml = nvml,
		.catalog = catalog,
		.is_container = options->machine->is_container,
		.list = options->gpus,
	};
	int rc;

	finding.number = wtl_catalog_count(catalog, WATTLE_KIND_GPU);
	if (options->nvml_path) {
		nvml->path = strdup(options->nvml_path);
		if (!nvml->path)
			return -ENOMEM;
	}
	rc = find(&finding, options->nvml_path);
	wtl_gpu_names_done(&finding.names);
	free(finding.pci);
	return rc;
}
