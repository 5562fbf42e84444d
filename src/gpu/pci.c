/* SPDX-License-Identifier: MIT */
#include "gpu/pci.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/io.h"
#include "base/num.h"
#include "base/text.h"

#define PCI_LIST "/proc/bus/pci/devices"

enum {
	PCI_NAMES_MAX = 1 << 20,
	PCI_LIST_SIZE = 1 << 20, /* some 200 bytes a device */
	VENDOR_NVIDIA = 0x10de,
	CLASS_DISPLAY = 0x03, /* VGA, 3D and other display controllers; audio functions are 0x04 */
};

static uint64_t read_hex(struct wtl_io *io, const char *id, const char *name)
{
	char path[128], text[32];
	uint64_t value = 0;

	snprintf(path, sizeof(path), WTL_NVML_PCI_DIR "/%s/%s", id, name);
	if (wtl_io_read_line(io, path, text, sizeof(text)) < 0 ||
	    wtl_num_hex(text, strlen(text), &value) < 0)
		return 0;
	return value;
}

/* By a line of runtime_status. */
static bool is_suspended(const char *state)
{
	return strcmp(state, "suspended") == 0 || strcmp(state, "suspending") == 0;
}

bool wtl_pci_is_suspended(struct wtl_io *io, const char *device_dir)
{
	char path[256], state[32];
	int len = snprintf(path, sizeof(path), "%s/power/runtime_status", device_dir);

	return len < (int)sizeof(path) && wtl_io_read_line(io, path, state, sizeof(state)) == 0 &&
	       is_suspended(state);
}

void wtl_nvml_pci_watch(struct wtl_held_file *held, struct wtl_io *io, const char *id)
{
	char path[128];

	snprintf(path, sizeof(path), WTL_NVML_PCI_DIR "/%s/power/runtime_status", id);
	wtl_held_file_if_there(held, io, path);
}

bool wtl_nvml_pci_asleep(struct wtl_held_file *held)
{
	char state[32];
	ssize_t len = wtl_held_file_text(held, state, sizeof(state) - 1);

	state[len > 0 ? len : 0] = '\0';
	state[strcspn(state, "\n")] = '\0';
	return is_suspended(state);
}

static void look_at(struct wtl_io *io, struct wtl_nvml_pci_gpu *gpu, const char *id)
{
	char path[128], target[256];
	const char *base;

	*gpu = (struct wtl_nvml_pci_gpu){.device = (uint16_t)read_hex(io, id, "device")};
	snprintf(path, sizeof(path), WTL_NVML_PCI_DIR "/%s", id);
	gpu->asleep = wtl_pci_is_suspended(io, path);
	wtl_text_copy(gpu->id, sizeof(gpu->id), id);
	snprintf(path, sizeof(path), WTL_NVML_PCI_DIR "/%s/driver", gpu->id);
	if (wtl_io_link_read(io, path, target, sizeof(target)) < 0)
		return;
	base = strrchr(target, '/');
	base = base ? base + 1 : target;
	wtl_text_clean(gpu->driver, sizeof(gpu->driver), base, strlen(base));
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

int wtl_nvml_pci_gpus(struct wtl_io *io, struct wtl_nvml_pci_gpu gpus[], size_t max,
		      bool *ret_known)
{
	struct wtl_buf names;
	const char *id;
	size_t found = 0;
	int n;

	*ret_known = true;
	if (is_ruled_out(io))
		return 0;
	wtl_buf_init(&names, PCI_NAMES_MAX);
	n = wtl_io_dir_read(io, WTL_NVML_PCI_DIR, &names);
	*ret_known = n > 0;
	id = wtl_buf_str(&names);
	for (int i = 0; i < n && found < max; i++, id += strlen(id) + 1)
		if (strlen(id) < WTL_NVML_BUS_ID_SIZE &&
		    read_hex(io, id, "vendor") == VENDOR_NVIDIA &&
		    read_hex(io, id, "class") >> 16 == CLASS_DISPLAY)
			look_at(io, &gpus[found++], id);
	wtl_buf_done(&names);
	return n == -ENOMEM ? n : (int)found;
}

bool wtl_pci_root_port_of(const char *link, char *ret_port, size_t size)
{
	const char *port = NULL, *slash;

	for (const char *at = link; (slash = strchr(at, '/')); at = slash + 1)
		if (wtl_text_starts(at, "pci") && memchr(at, ':', (size_t)(slash - at)))
			port = slash + 1;
	slash = port ? strchr(port, '/') : NULL;
	if (!slash || slash == port || (size_t)(slash - port) >= size ||
	    strspn(port, "0123456789abcdefABCDEF:.") != (size_t)(slash - port) || *port == '.')
		return false;
	memcpy(ret_port, port, (size_t)(slash - port));
	ret_port[slash - port] = '\0';
	return true;
}

bool wtl_pci_root_port(struct wtl_io *io, const char *id, char *ret_port, size_t size)
{
	char path[128], link[512];

	snprintf(path, sizeof(path), WTL_NVML_PCI_DIR "/%s", id);
	return wtl_io_link_read(io, path, link, sizeof(link)) >= 0 &&
	       wtl_pci_root_port_of(link, ret_port, size);
}

bool wtl_nvml_pci_is_foreign(const struct wtl_nvml_pci_gpu *gpu)
{
	return gpu->driver[0] && !wtl_text_starts(gpu->driver, "nvidia");
}

bool wtl_nvml_same_bus_id(const char *a, const char *b)
{
	return strcasecmp(a + strspn(a, "0"), b + strspn(b, "0")) == 0;
}
