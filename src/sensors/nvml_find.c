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
#include <strings.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/log.h"
#include "base/num.h"
#include "base/text.h"

#define PCI_DIR	 "/sys/bus/pci/devices"
#define PCI_LIST "/proc/bus/pci/devices"

enum {
	PCI_NAMES_MAX = 1 << 20,
	PCI_LIST_SIZE = 1 << 20, /* some 200 bytes a device */
	VENDOR_NVIDIA = 0x10de,
	CLASS_DISPLAY = 0x03, /* VGA, 3D and other display controllers; audio functions are 0x04 */
};

/* One NVIDIA GPU on the PCI bus. */
struct pci_gpu {
	char id[WTL_NVML_BUS_ID_SIZE]; /* "0000:17:00.0" */
	char driver[32];	       /* "" if none or not known */
	uint16_t device;	       /* 0x25a0 */
	bool asleep;
	bool found; /* NVML has it, or it is accounted for otherwise */
};

struct finding {
	struct wtl_nvml *nvml;
	struct wtl_catalog *catalog;
	bool is_container;
	struct pci_gpu *pci;
	size_t n_pci;
	bool pci_known;	 /* there is a PCI bus to look at */
	size_t n_asleep; /* of those that are NVIDIA's driver's */
	size_t n_foreign;
	unsigned number;     /* of the next GPU */
	unsigned n_nameless; /* GPUs that NVML counts but does not give a handle for */
};

/* ---- The PCI bus ---- */

static uint64_t read_hex(struct wtl_io *io, const char *id, const char *name)
{
	char path[128], text[32];
	uint64_t value = 0;

	snprintf(path, sizeof(path), PCI_DIR "/%s/%s", id, name);
	if (wtl_io_read_line(io, path, text, sizeof(text)) < 0 ||
	    wtl_num_hex(text, strlen(text), &value) < 0)
		return 0;
	return value;
}

static void look_at(struct wtl_io *io, struct pci_gpu *gpu, const char *id)
{
	char path[128], target[256];
	const char *base;

	wtl_text_copy(gpu->id, sizeof(gpu->id), id);
	gpu->device = (uint16_t)read_hex(io, id, "device");
	snprintf(path, sizeof(path), PCI_DIR "/%s", gpu->id);
	gpu->asleep = wtl_device_suspended(io, path);
	snprintf(path, sizeof(path), PCI_DIR "/%s/driver", gpu->id);
	if (wtl_io_link_read(io, path, target, sizeof(target)) < 0)
		return;
	base = strrchr(target, '/');
	base = base ? base + 1 : target;
	wtl_text_clean(gpu->driver, sizeof(gpu->driver), base, strlen(base));
}

/* A GPU on the bus that another driver holds: NVML cannot say anything about it. */
static bool is_foreign(const struct pci_gpu *gpu)
{
	return gpu->driver[0] && strncmp(gpu->driver, "nvidia", strlen("nvidia")) != 0;
}

/*
 * Does the one file about all of the bus say that there is no NVIDIA device? Its lines begin with
 * "0108\t10de2330\t": place, vendor and model. It saves the opening of hundreds of files; where it
 * cannot be read, nothing is said.
 */
static bool is_ruled_out(struct wtl_io *io)
{
	char *text = malloc(PCI_LIST_SIZE);
	ssize_t len = text ? wtl_io_slurp(io, PCI_LIST, text, PCI_LIST_SIZE) : -ENOMEM;
	bool is_out = len > 0 && strchr(text, '\t') && !strstr(text, "\t10de");

	free(text);
	return is_out;
}

static int pci_scan(struct finding *finding)
{
	struct wtl_io *io = finding->nvml->io;
	struct pci_gpu *gpu;
	struct wtl_buf names;
	const char *id;
	int n;

	finding->pci_known = is_ruled_out(io);
	if (finding->pci_known)
		return 0;
	wtl_buf_init(&names, PCI_NAMES_MAX);
	n = wtl_io_dir_read(io, PCI_DIR, &names);
	finding->pci_known = n > 0;
	if (n > 0) {
		finding->pci = calloc((size_t)n, sizeof(finding->pci[0]));
		if (!finding->pci) {
			wtl_buf_done(&names);
			return -ENOMEM;
		}
	}
	id = wtl_buf_str(&names);
	for (int i = 0; i < n && finding->n_pci < WTL_NVML_GPUS_MAX; i++, id += strlen(id) + 1) {
		if (strlen(id) >= WTL_NVML_BUS_ID_SIZE ||
		    read_hex(io, id, "vendor") != VENDOR_NVIDIA ||
		    read_hex(io, id, "class") >> 16 != CLASS_DISPLAY)
			continue;
		gpu = &finding->pci[finding->n_pci++];
		look_at(io, gpu, id);
		finding->n_foreign += is_foreign(gpu);
		finding->n_asleep += gpu->asleep && !is_foreign(gpu);
	}
	wtl_buf_done(&names);
	return n == -ENOMEM ? n : 0;
}

/* NVML writes the domain with 8 digits and capital letters, sysfs with 4 and small ones. */
static bool same_bus_id(const char *a, const char *b)
{
	return strcasecmp(a + strspn(a, "0"), b + strspn(b, "0")) == 0;
}

static void mark_found(struct finding *finding, const char *bus_id)
{
	for (size_t i = 0; i < finding->n_pci; i++)
		if (same_bus_id(finding->pci[i].id, bus_id))
			finding->pci[i].found = true;
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

static int miss_foreign(struct finding *finding, const struct pci_gpu *gpu)
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
	int rc = 0;

	for (size_t i = 0; i < finding->n_pci && rc == 0; i++) {
		const struct pci_gpu *gpu = &finding->pci[i];
		char text[200];

		if (is_foreign(gpu)) {
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
				err.text[0] ? err.text : "NVML cannot be loaded",
				path ? "check the path of the NVML library" : "");
	return miss_all(finding, WATTLE_STATUS_FAILED, "libnvidia-ml.so.1 is not installed",
			"install NVIDIA's driver with its libraries (Debian: apt install "
			"nvidia-driver); a container needs --gpus all");
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
	gpu->power_file = -1;
	for (size_t i = 0; i < finding->n_pci; i++) {
		char path[128];

		if (!same_bus_id(finding->pci[i].id, gpu->bus_id))
			continue;
		wtl_text_copy(gpu->bus_id, sizeof(gpu->bus_id), finding->pci[i].id);
		snprintf(path, sizeof(path), PCI_DIR "/%s/power/runtime_status", gpu->bus_id);
		gpu->power_file = wtl_io_file_open(nvml->io, path);
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
static int take_asleep(struct finding *finding, const struct pci_gpu *pci)
{
	struct wtl_nvml_gpu *gpu = &finding->nvml->gpus[finding->nvml->n_gpus];
	char device[64], reason[200], remedy[240];
	int rc = 0;

	*gpu = (struct wtl_nvml_gpu){.asleep = true, .is_late = true};
	wtl_text_copy(gpu->bus_id, sizeof(gpu->bus_id), pci->id);
	power_open(finding->nvml, gpu, finding);
	finding->nvml->n_gpus++;
	snprintf(device, sizeof(device), "NVIDIA GPU %04x at %s", pci->device, pci->id);
	if (pci->driver[0] && gpu->power_file >= 0)
		rc = wtl_nvml_declare(gpu, finding->number, device, finding->catalog);
	if (rc < 0)
		return rc;
	snprintf(reason, sizeof(reason),
		 "the NVIDIA GPU at %s is suspended, and reading it would wake it", pci->id);
	snprintf(remedy, sizeof(remedy), "%s: echo on | sudo tee " PCI_DIR "/%s/power/control",
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

	*gpu = (struct wtl_nvml_gpu){.handle = handle, .power_file = -1};
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

static int find_by_index(struct finding *finding, uint32_t count)
{
	struct wtl_nvml *nvml = finding->nvml;
	int rc = 0;

	for (uint32_t i = 0; i < count && rc == 0; i++) {
		uint64_t handle = 0;
		struct wtl_lib_arg args[] = {
			{.word = i},
			{.memory = &handle, .size = sizeof(handle)},
		};
		int code = wtl_nvml_call(&nvml->lib, WTL_NVML_BY_INDEX, args);
		char reason[200];

		if (code == WTL_NVML_OK && handle) {
			rc = take(finding, handle, NULL);
			continue;
		}
		if (code == WTL_NVML_OK)
			code = WTL_NVML_GPU_NOT_FOUND;
		finding->n_nameless++;
		snprintf(reason, sizeof(reason), "NVIDIA GPU with index %u: %s", i,
			 wtl_nvml_reason(code));
		rc = miss_gpu(finding, wtl_nvml_gpu_status(code), wtl_nvml_remedy(code), reason);
	}
	return rc;
}

static int find_by_bus_id(struct finding *finding)
{
	int rc = 0;

	for (size_t i = 0; i < finding->n_pci && rc == 0; i++) {
		struct pci_gpu *gpu = &finding->pci[i];
		uint64_t handle = 0;
		char reason[200];
		int code;

		gpu->found = true;
		if (is_foreign(gpu)) {
			/* Has no number with NVML: find_rest() gives it one after all others. */
			gpu->found = false;
			continue;
		}
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
		const struct pci_gpu *gpu = &finding->pci[i];
		char reason[200];

		if (gpu->found)
			continue;
		if (is_foreign(gpu)) {
			rc = miss_foreign(finding, gpu);
			continue;
		}
		if (finding->n_nameless) {
			finding->n_nameless--;
			continue;
		}
		if (finding->is_container) /* the host's, and none of this container's business */
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
		.nvml = nvml, .catalog = catalog, .is_container = options->machine->is_container};
	int rc;

	finding.number = wtl_catalog_count(catalog, WATTLE_KIND_GPU);
	if (options->nvml_path) {
		nvml->path = strdup(options->nvml_path);
		if (!nvml->path)
			return -ENOMEM;
	}
	rc = find(&finding, options->nvml_path);
	free(finding.pci);
	return rc;
}
