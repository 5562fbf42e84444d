/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <stdio.h>

#include "document/parts.h"
#include "smi/field.h"
#include "smi/smi.h"

/* `wattle query --format json` and its like: docs/query.md describes every key. */

enum { WORD_SIZE = 64 };

static const char *const reason_words[] = {
	"idle",	      "application-clocks", "sw-power-cap",   "hw-slowdown",	"sync-boost",
	"sw-thermal", "hw-thermal",	    "hw-power-brake", "display-clocks",
};

/* A word of nvidia-smi's in small letters, joined by hyphens: "exclusive-process". */
static const char *word_of(const struct wtl_smi_kind *kind, uint64_t value, char word[WORD_SIZE])
{
	uint64_t n = 0;

	while (kind->words[n])
		n++;
	if (value >= n)
		return "unknown";
	if (kind->json_words)
		return kind->json_words[value];
	snprintf(word, WORD_SIZE, "%s", kind->words[value]);
	for (char *at = word; *at; at++)
		*at = *at == ' ' || *at == '_' ? '-' : (char)tolower((unsigned char)*at);
	return word;
}

static void put_reasons(struct wtl_node *to, const char *key, uint64_t bits)
{
	struct wtl_node *array = wtl_doc_list(to, key);

	for (size_t i = 0; i < sizeof(reason_words) / sizeof(reason_words[0]); i++)
		if (bits >> i & 1)
			wtl_doc_text(array, NULL, reason_words[i]);
}

static void put_value(struct wtl_node *to, const struct wtl_smi_field *field, uint64_t value)
{
	char text[WORD_SIZE];

	switch (field->kind->json) {
	case WTL_SMI_JSON_COUNT:
		wtl_doc_count(to, field->key, value);
		break;
	case WTL_SMI_JSON_SIGNED:
		wtl_doc_integer(to, field->key, (int64_t)value);
		break;
	case WTL_SMI_JSON_MILLIONTHS:
		wtl_doc_micro(to, field->key, value);
		break;
	case WTL_SMI_JSON_NANOSECONDS:
		wtl_doc_nano(to, field->key, value);
		break;
	case WTL_SMI_JSON_FLAG:
		wtl_doc_flag(to, field->key, value != 0);
		break;
	case WTL_SMI_JSON_WORD:
		wtl_doc_text(to, field->key, word_of(field->kind, value, text));
		break;
	case WTL_SMI_JSON_HEX:
		snprintf(text, sizeof(text), "0x%016llx", (unsigned long long)value);
		wtl_doc_text(to, field->key, text);
		break;
	case WTL_SMI_JSON_REASONS:
		put_reasons(to, field->key, value);
		break;
	}
}

static const char *reason_of(enum wattle_status status, int code)
{
	if (code == WTL_SMI_DEPRECATED)
		return "withdrawn by the driver";
	if (status == WATTLE_STATUS_ABSENT)
		return "not supported";
	if (status == WATTLE_STATUS_DENIED)
		return "no permission";
	if (status == WATTLE_STATUS_GONE)
		return "the GPU is lost";
	if (status == WATTLE_STATUS_ASLEEP)
		return "the GPU is asleep";
	return "reading it fails";
}

/* Texts that belong to numbers. */
static void put_texts(struct wtl_node *to, const struct wtl_gpu *gpu)
{
	if (gpu->numbers[WTL_GPU_FABRIC_CLIQUE].status == WATTLE_STATUS_OK) {
		wtl_doc_known(to, "fabric_cluster", gpu->fabric_cluster);
		wtl_doc_known(to, "fabric_status", gpu->fabric_status);
	}
	if (gpu->numbers[WTL_GPU_PLATFORM_HOST].status == WATTLE_STATUS_OK)
		wtl_doc_known(to, "platform_chassis_serial", gpu->chassis_serial);
}

/* For a working sensor: the first sample may be too early. */
static const char too_short[] = "its sensor has not moved yet: see --loop";

static void put_numbers(struct wtl_node *to, const struct wtl_gpu *gpu,
			const struct wtl_look_meter *meter)
{
	const struct wtl_smi_field *fields[WTL_GPU_NUMBERS] = {NULL};
	struct wtl_node *unknown;

	/* Then the GPU's own reason covers all numbers. */
	if (gpu->status != WATTLE_STATUS_OK && gpu->status != WATTLE_STATUS_STALE)
		return;
	for (const struct wtl_smi_field *field = wtl_smi_gpu_fields; !wtl_smi_is_end(field);
	     field++)
		if (field->key)
			fields[field->number] = field;
	for (size_t i = 0; i < WTL_GPU_NUMBERS; i++)
		if (gpu->numbers[i].status == WATTLE_STATUS_OK)
			put_value(to, fields[i], gpu->numbers[i].value);
	put_texts(to, gpu);
	unknown = wtl_doc_object(to, "unknown");
	if (meter && meter->has_energy && !meter->has_power)
		wtl_doc_text(unknown, "mean_w", too_short);
	for (size_t i = 0; i < WTL_GPU_NUMBERS; i++)
		if (gpu->numbers[i].status != WATTLE_STATUS_OK)
			wtl_doc_text(unknown, fields[i]->key,
				     reason_of(gpu->numbers[i].status, gpu->numbers[i].code));
}

static void put_identity(struct wtl_node *to, const struct wtl_gpu *gpu)
{
	wtl_doc_count(to, "index", gpu->index);
	wtl_doc_text(to, "name", gpu->name);
	wtl_doc_text(to, "vendor", gpu->vendor);
	wtl_doc_text(to, "status", wattle_status_name(gpu->status));
	if (gpu->status != WATTLE_STATUS_OK)
		wtl_doc_text(to, "reason",
			     gpu->trouble[0] ? gpu->trouble : reason_of(gpu->status, gpu->code));
	wtl_doc_known(to, "domain", gpu->domain);
	wtl_doc_known(to, "uuid", gpu->uuid);
	wtl_doc_known(to, "serial", gpu->serial);
	wtl_doc_known(to, "bus_id", gpu->bus_id);
	wtl_doc_known(to, "pci_device_id", gpu->pci_device_id);
	wtl_doc_known(to, "pci_subsystem_id", gpu->pci_subsystem_id);
	wtl_doc_known(to, "driver", gpu->driver);
	wtl_doc_known(to, "vbios", gpu->vbios);
	wtl_doc_known(to, "compute_capability", gpu->compute_capability);
	wtl_doc_known(to, "inforom_image", gpu->inforom_image);
	wtl_doc_known(to, "inforom_oem", gpu->inforom_oem);
	wtl_doc_known(to, "inforom_ecc", gpu->inforom_ecc);
	wtl_doc_known(to, "inforom_power", gpu->inforom_power);
	wtl_doc_known(to, "board_part", gpu->board_part);
	wtl_doc_known(to, "gsp_firmware", gpu->gsp_firmware);
}

static void put_meter(struct wtl_node *to, const struct wtl_look_meter *meter)
{
	if (meter && meter->has_power) {
		wtl_doc_micro(to, "mean_w", meter->power_uw);
		wtl_doc_micro(to, "mean_uncertainty_w", meter->power_uncertainty_uw);
	}
	if (meter && meter->has_energy) {
		wtl_doc_micro(to, "window_energy_j", meter->energy_uj);
		wtl_doc_micro(to, "window_uncertainty_j", meter->energy_uncertainty_uj);
	}
}

static void put_process(struct wtl_node *to, const struct wtl_look *look,
			const struct wtl_gpu_process *process)
{
	struct wtl_node *object = wtl_doc_object(to, NULL), *types;

	wtl_doc_integer(object, "pid", process->pid);
	wtl_doc_flag(object, "visible", process->is_visible);
	wtl_doc_known(object, "name", process->name);
	wtl_doc_text(object, "user", look->user ? look->user(look->user_context, process) : NULL);
	types = wtl_doc_list(object, "types");
	if (process->types & WTL_GPU_PROCESS_COMPUTE)
		wtl_doc_text(types, NULL, "compute");
	if (process->types & WTL_GPU_PROCESS_GRAPHICS)
		wtl_doc_text(types, NULL, "graphics");
	if (process->types & WTL_GPU_PROCESS_MPS)
		wtl_doc_text(types, NULL, "mps");
	if (process->memory_bytes != UINT64_MAX)
		wtl_doc_count(object, "memory_bytes", process->memory_bytes);
	if (process->instance != UINT32_MAX)
		wtl_doc_count(object, "mig_instance", process->instance);
	if (process->compute_instance != UINT32_MAX)
		wtl_doc_count(object, "mig_compute_instance", process->compute_instance);
	if (process->has_use) {
		wtl_doc_count(object, "sm_percent", process->sm_percent);
		wtl_doc_count(object, "memory_percent", process->memory_percent);
		wtl_doc_count(object, "encoder_percent", process->encoder_percent);
		wtl_doc_count(object, "decoder_percent", process->decoder_percent);
	}
}

static void put_migs(struct wtl_node *to, const struct wtl_gpu *gpu)
{
	struct wtl_node *array = wtl_doc_list(to, "mig_instances");

	if (gpu->lacks_migs)
		wtl_doc_text(to, "mig_instances_reason", "out of memory");
	for (size_t i = 0; i < gpu->n_migs; i++) {
		const struct wtl_gpu_mig *mig = &gpu->migs[i];
		struct wtl_node *object = wtl_doc_object(array, NULL);

		wtl_doc_count(object, "index", mig->index);
		wtl_doc_known(object, "profile", mig->profile);
		wtl_doc_known(object, "uuid", mig->uuid);
		if (mig->instance != UINT32_MAX)
			wtl_doc_count(object, "instance", mig->instance);
		if (mig->compute_instance != UINT32_MAX)
			wtl_doc_count(object, "compute_instance", mig->compute_instance);
		if (mig->memory_total_bytes != UINT64_MAX)
			wtl_doc_count(object, "memory_total_bytes", mig->memory_total_bytes);
		if (mig->memory_used_bytes != UINT64_MAX)
			wtl_doc_count(object, "memory_used_bytes", mig->memory_used_bytes);
		if (mig->multiprocessors)
			wtl_doc_count(object, "multiprocessors", mig->multiprocessors);
	}
}

static void put_gpu(struct wtl_node *to, const struct wtl_look *look, size_t i)
{
	const struct wtl_gpu *gpu = &look->gpus[i];
	const struct wtl_look_meter *meter = look->meters ? &look->meters[i] : NULL;
	struct wtl_node *object = wtl_doc_object(to, NULL), *processes;

	put_identity(object, gpu);
	put_meter(object, meter);
	put_numbers(object, gpu, meter);
	wtl_doc_text(object, "processes_status", wattle_status_name(gpu->processes_status));
	processes = wtl_doc_list(object, "processes");
	for (size_t k = 0; k < gpu->n_processes; k++)
		put_process(processes, look, &gpu->processes[k]);
	put_migs(object, gpu);
}

static void put_domain(struct wtl_node *to, const struct wtl_look *look, size_t i)
{
	const struct wattle_domain *domain = &look->domains[i].domain;
	const struct wtl_look_meter *meter = look->domain_meters ? &look->domain_meters[i] : NULL;
	const bool waits = meter && !meter->has_power && domain->status == WATTLE_STATUS_OK;
	struct wtl_node *object = wtl_doc_object(to, NULL);

	wtl_doc_about(object, domain);
	if (domain->method != WATTLE_METHOD_NONE)
		wtl_doc_text(object, "method", wattle_method_name(domain->method));
	wtl_doc_text(object, "status", wattle_status_name(domain->status));
	put_meter(object, meter);
	wtl_doc_text(object, "reason", waits ? too_short : domain->reason);
}

void wtl_look_doc(struct wtl_doc *doc, const struct wtl_look *look)
{
	struct wtl_node *root = doc->root, *list;

	wtl_doc_schema(root, "wattle.query/1");
	wtl_doc_utc(root, "t_utc", look->t_utc_ns);
	wtl_doc_known(root, "nvidia_driver", look->driver);
	wtl_doc_known(root, "cuda", look->cuda);
	wtl_doc_known(root, "reason", look->trouble);
	wtl_doc_count(root, "attached_gpus", look->n_attached);
	list = wtl_doc_list(root, "gpus");
	for (size_t i = 0; i < look->n_gpus; i++)
		put_gpu(list, look, i);
	list = wtl_doc_list(root, "domains");
	for (size_t i = 0; i < look->n_domains; i++)
		put_domain(list, look, i);
}
