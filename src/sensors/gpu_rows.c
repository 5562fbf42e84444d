/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/num.h"
#include "base/text.h"
#include "sensors/gpu_backend.h"

struct wtl_gpu *wtl_gpu_list_add(struct wtl_gpu_list *list, const char *vendor)
{
	struct wtl_gpu *gpu;

	if (list->n == WTL_GPUS_MAX ||
	    wtl_array_resize(&list->at, list->n + 1, sizeof(list->at[0])) < 0)
		return NULL;
	gpu = &list->at[list->n];
	*gpu = (struct wtl_gpu){.index = (unsigned)list->n,
				.processes_status = WATTLE_STATUS_ABSENT};
	list->n++;
	wtl_text_copy(gpu->vendor, sizeof(gpu->vendor), vendor);
	for (size_t i = 0; i < WTL_GPU_NUMBERS; i++)
		gpu->numbers[i].status = WATTLE_STATUS_ABSENT;
	return gpu;
}

void wtl_gpu_list_name(struct wtl_gpu_list *list, struct wtl_gpu *gpu)
{
	snprintf(gpu->domain, sizeof(gpu->domain), "gpu-%u", list->n_domains++);
}

void wtl_gpu_set(struct wtl_gpu *gpu, enum wtl_gpu_number number, uint64_t value)
{
	gpu->numbers[number] = (struct wtl_gpu_value){.status = WATTLE_STATUS_OK, .value = value};
}

void wtl_gpu_unset(struct wtl_gpu *gpu, enum wtl_gpu_number number, enum wattle_status status,
		   int code)
{
	gpu->numbers[number] = (struct wtl_gpu_value){.status = status, .code = code};
}

void wtl_gpu_fail(struct wtl_gpu *gpu, enum wattle_status status, int code, const char *trouble)
{
	gpu->status = status;
	gpu->code = code;
	wtl_text_copy(gpu->trouble, sizeof(gpu->trouble), trouble);
	for (size_t i = 0; i < WTL_GPU_NUMBERS; i++)
		wtl_gpu_unset(gpu, (enum wtl_gpu_number)i, status, code);
	gpu->processes = NULL;
	gpu->n_processes = 0;
	gpu->processes_status = status;
	gpu->migs = NULL;
	gpu->n_migs = 0;
	gpu->lacks_migs = false;
}

void wtl_gpu_recover(struct wtl_gpu *gpu)
{
	gpu->status = WATTLE_STATUS_OK;
	gpu->code = 0;
	gpu->trouble[0] = '\0';
}

void wtl_gpu_set_address(struct wtl_gpu *gpu, const char *address)
{
	static const size_t ends[] = {4, 7, 10, 12}; /* of the parts of "0000:17:00.0" */
	uint64_t part[4];
	size_t begin = 0;

	for (size_t i = 0; i < 4; i++) {
		if (strlen(address) != 12 ||
		    wtl_num_hex(address + begin, ends[i] - begin, &part[i]) < 0) {
			wtl_text_copy(gpu->bus_id, sizeof(gpu->bus_id), address);
			return;
		}
		begin = ends[i] + 1;
	}
	gpu->pci_domain = (uint32_t)part[0];
	gpu->pci_bus = (uint32_t)part[1];
	gpu->pci_device = (uint32_t)part[2];
	snprintf(gpu->bus_id, sizeof(gpu->bus_id), "%08X:%02X:%02X.%X", gpu->pci_domain,
		 gpu->pci_bus, gpu->pci_device, (unsigned)part[3]);
}
