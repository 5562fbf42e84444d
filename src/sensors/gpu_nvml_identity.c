/* SPDX-License-Identifier: MIT */
/* What an NVIDIA GPU is, and the parts that MIG divides it into. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "sensors/gpu_backend.h"
#include "sensors/gpu_nvml.h"

enum { MIGS_MAX = 16 }; /* NVIDIA's limit is 7 */

static int call_u32(struct wtl_nvml_lib *lib, enum wtl_nvml_function function, uint64_t handle,
		    uint32_t *ret)
{
	uint32_t value = 0;
	struct wtl_lib_arg args[] = {
		{.word = handle},
		{.memory = &value, .size = sizeof(value)},
	};
	int code = wtl_nvml_call(lib, function, args);

	if (code == WTL_NVML_OK)
		*ret = value;
	return code;
}

void wtl_gpu_nvml_versions(struct wtl_gpus_nvml *nvml)
{
	static const enum wtl_nvml_function cuda[] = {WTL_NVML_CUDA_VERSION,
						      WTL_NVML_CUDA_VERSION_V1};
	char text[sizeof(nvml->version)] = "";
	int32_t number = 0;
	struct wtl_lib_arg text_args[] = {
		{.memory = text, .size = sizeof(text)},
		{.word = sizeof(text)},
	};
	struct wtl_lib_arg number_args[] = {{.memory = &number, .size = sizeof(number)}};

	nvml->version[0] = nvml->cuda[0] = '\0';
	if (wtl_nvml_call(&nvml->lib, WTL_NVML_NVML_VERSION, text_args) == WTL_NVML_OK)
		wtl_text_clean(nvml->version, sizeof(nvml->version), text,
			       strnlen(text, sizeof(text)));
	if (wtl_nvml_call_first(&nvml->lib, cuda, 2, number_args) == WTL_NVML_OK && number > 0)
		snprintf(nvml->cuda, sizeof(nvml->cuda), "%d.%d", number / 1000,
			 number % 1000 / 10);
}

static void read_inforom(struct wtl_nvml_lib *lib, uint64_t handle, uint64_t object, char *text,
			 size_t size)
{
	char answer[32] = "";
	struct wtl_lib_arg args[] = {
		{.word = handle},
		{.word = object},
		{.memory = answer, .size = sizeof(answer)},
		{.word = sizeof(answer)},
	};

	text[0] = '\0';
	if (wtl_nvml_call(lib, WTL_NVML_INFOROM, args) == WTL_NVML_OK)
		wtl_text_clean(text, size, answer, strnlen(answer, sizeof(answer)));
}

static void read_pci(struct wtl_nvml_lib *lib, struct wtl_gpu_nvml_gpu *own, struct wtl_gpu *gpu)
{
	struct wtl_nvml_pci pci = {0};
	struct wtl_lib_arg args[] = {
		{.word = own->handle},
		{.memory = &pci, .size = sizeof(pci)},
	};

	if (wtl_nvml_call(lib, WTL_NVML_PCI_INFO, args) != WTL_NVML_OK)
		return;
	wtl_text_clean(gpu->bus_id, sizeof(gpu->bus_id), pci.bus_id,
		       strnlen(pci.bus_id, sizeof(pci.bus_id)));
	if (!own->bus_id[0])
		wtl_text_copy(own->bus_id, sizeof(own->bus_id), gpu->bus_id);
	gpu->pci_domain = pci.domain;
	gpu->pci_bus = pci.bus;
	gpu->pci_device = pci.device;
	snprintf(gpu->pci_device_id, sizeof(gpu->pci_device_id), "0x%08X", pci.device_id);
	snprintf(gpu->pci_subsystem_id, sizeof(gpu->pci_subsystem_id), "0x%08X", pci.subsystem_id);
}

void wtl_gpu_nvml_identify(struct wtl_gpus_nvml *nvml, struct wtl_gpu_nvml_gpu *own,
			   struct wtl_gpu *gpu)
{
	struct wtl_nvml_lib *lib = &nvml->lib;
	int32_t major = 0, minor = 0;
	struct wtl_lib_arg capability[] = {
		{.word = own->handle},
		{.memory = &major, .size = sizeof(major)},
		{.memory = &minor, .size = sizeof(minor)},
	};
	const struct {
		enum wtl_nvml_function function;
		char *text;
		size_t size;
	} texts[] = {
		{WTL_NVML_NAME, gpu->name, sizeof(gpu->name)},
		{WTL_NVML_UUID, gpu->uuid, sizeof(gpu->uuid)},
		{WTL_NVML_SERIAL, gpu->serial, sizeof(gpu->serial)},
		{WTL_NVML_VBIOS, gpu->vbios, sizeof(gpu->vbios)},
		{WTL_NVML_INFOROM_IMAGE, gpu->inforom_image, sizeof(gpu->inforom_image)},
	};
	const struct {
		char *text;
		size_t size;
	} objects[] = {
		{gpu->inforom_oem, sizeof(gpu->inforom_oem)},
		{gpu->inforom_ecc, sizeof(gpu->inforom_ecc)},
		{gpu->inforom_power, sizeof(gpu->inforom_power)},
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		wtl_nvml_device_text(lib, texts[i].function, own->handle, texts[i].text,
				     texts[i].size);
	for (size_t i = 0; i < sizeof(objects) / sizeof(objects[0]); i++)
		read_inforom(lib, own->handle, i, objects[i].text, objects[i].size);
	wtl_text_copy(gpu->driver, sizeof(gpu->driver), lib->driver);
	wtl_text_copy(own->uuid, sizeof(own->uuid), gpu->uuid);
	if (wtl_nvml_call(lib, WTL_NVML_CAPABILITY, capability) == WTL_NVML_OK)
		snprintf(gpu->compute_capability, sizeof(gpu->compute_capability), "%d.%d", major,
			 minor);
	read_pci(lib, own, gpu);
}

/* ---- MIG ---- */

/* "NVIDIA H100 80GB HBM3 MIG 3g.40gb": what follows "MIG " */
static void read_profile(struct wtl_nvml_lib *lib, uint64_t handle, struct wtl_gpu_mig *mig)
{
	char name[96];
	const char *profile;

	wtl_nvml_device_text(lib, WTL_NVML_NAME, handle, name, sizeof(name));
	profile = strstr(name, "MIG ");
	if (profile)
		wtl_text_copy(mig->profile, sizeof(mig->profile), profile + strlen("MIG "));
}

static void read_mig(struct wtl_nvml_lib *lib, uint64_t handle, struct wtl_gpu_mig *mig)
{
	struct wtl_nvml_attributes attributes = {0};
	struct wtl_nvml_memory memory = {0};
	struct wtl_lib_arg attribute_args[] = {
		{.word = handle},
		{.memory = &attributes, .size = sizeof(attributes)},
	};
	struct wtl_lib_arg memory_args[] = {
		{.word = handle},
		{.memory = &memory, .size = sizeof(memory)},
	};

	mig->instance = mig->compute_instance = UINT32_MAX;
	mig->memory_total_bytes = mig->memory_used_bytes = UINT64_MAX;
	call_u32(lib, WTL_NVML_INSTANCE, handle, &mig->instance);
	call_u32(lib, WTL_NVML_COMPUTE_INSTANCE, handle, &mig->compute_instance);
	wtl_nvml_device_text(lib, WTL_NVML_UUID, handle, mig->uuid, sizeof(mig->uuid));
	read_profile(lib, handle, mig);
	if (wtl_nvml_call(lib, WTL_NVML_ATTRIBUTES, attribute_args) == WTL_NVML_OK)
		mig->multiprocessors = attributes.multiprocessors;
	if (wtl_nvml_call(lib, WTL_NVML_MEMORY, memory_args) == WTL_NVML_OK) {
		mig->memory_total_bytes = memory.total;
		mig->memory_used_bytes = memory.used;
	}
}

void wtl_gpu_nvml_read_migs(struct wtl_gpus_nvml *nvml, struct wtl_gpu_nvml_gpu *own,
			    struct wtl_gpu *gpu)
{
	const struct wtl_gpu_value *mode = &gpu->numbers[WTL_GPU_MIG_MODE];
	uint32_t max = 0;

	own->n_migs = 0;
	gpu->lacks_migs = false;
	if (mode->status == WATTLE_STATUS_OK && mode->value == 1)
		call_u32(&nvml->lib, WTL_NVML_MIG_COUNT_MAX, own->handle, &max);
	if (max && !own->migs)
		own->migs = calloc(MIGS_MAX, sizeof(own->migs[0]));
	if (max && !own->migs) {
		gpu->lacks_migs = true;
		max = 0;
	}
	for (uint32_t i = 0; i < max && i < MIGS_MAX; i++) {
		uint64_t handle = 0;
		struct wtl_lib_arg args[] = {
			{.word = own->handle},
			{.word = i},
			{.memory = &handle, .size = sizeof(handle)},
		};

		if (wtl_nvml_call(&nvml->lib, WTL_NVML_MIG_BY_INDEX, args) != WTL_NVML_OK ||
		    !handle)
			continue;
		own->migs[own->n_migs] = (struct wtl_gpu_mig){.index = i};
		read_mig(&nvml->lib, handle, &own->migs[own->n_migs++]);
	}
	gpu->migs = own->n_migs ? own->migs : NULL;
	gpu->n_migs = own->n_migs;
}
