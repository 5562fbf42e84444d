/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <jansson.h>
#include <stdio.h>

#include "document/json_parts.h"
#include "smi/field.h"
#include "smi/smi.h"

/* `wattle query --format json`: docs/query.md describes every key. */

enum { MICRO = WTL_JSON_MICRO, WORD_SIZE = 64 };

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

static void put_reasons(struct wtl_tree *tree, json_t *to, const char *key, uint64_t bits)
{
	json_t *array = wtl_tree_array(tree, to, key);

	for (size_t i = 0; i < sizeof(reason_words) / sizeof(reason_words[0]); i++)
		if (bits >> i & 1)
			wtl_tree_text(tree, array, NULL, reason_words[i]);
}

static void put_value(struct wtl_tree *tree, json_t *to, const struct wtl_smi_field *field,
		      uint64_t value)
{
	char text[WORD_SIZE];

	switch (field->kind->json) {
	case WTL_SMI_JSON_COUNT:
		wtl_tree_count(tree, to, field->key, value);
		break;
	case WTL_SMI_JSON_SIGNED:
		wtl_tree_integer(tree, to, field->key, (int64_t)value);
		break;
	case WTL_SMI_JSON_MILLIONTHS:
		wtl_tree_fixed(tree, to, field->key, value, MICRO);
		break;
	case WTL_SMI_JSON_NANOSECONDS:
		wtl_tree_fixed(tree, to, field->key, value, WTL_JSON_NANO);
		break;
	case WTL_SMI_JSON_FLAG:
		wtl_tree_bool(tree, to, field->key, value != 0);
		break;
	case WTL_SMI_JSON_WORD:
		wtl_tree_text(tree, to, field->key, word_of(field->kind, value, text));
		break;
	case WTL_SMI_JSON_HEX:
		snprintf(text, sizeof(text), "0x%016llx", (unsigned long long)value);
		wtl_tree_text(tree, to, field->key, text);
		break;
	case WTL_SMI_JSON_REASONS:
		put_reasons(tree, to, field->key, value);
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

/* What goes with numbers. */
static void put_texts(struct wtl_tree *tree, json_t *to, const struct wtl_gpu *gpu)
{
	if (gpu->numbers[WTL_GPU_FABRIC_CLIQUE].status == WATTLE_STATUS_OK) {
		wtl_json_known(tree, to, "fabric_cluster", gpu->fabric_cluster);
		wtl_json_known(tree, to, "fabric_status", gpu->fabric_status);
	}
	if (gpu->numbers[WTL_GPU_PLATFORM_HOST].status == WATTLE_STATUS_OK)
		wtl_json_known(tree, to, "platform_chassis_serial", gpu->chassis_serial);
}

static void put_numbers(struct wtl_tree *tree, json_t *to, const struct wtl_gpu *gpu)
{
	const struct wtl_smi_field *fields[WTL_GPU_NUMBERS] = {NULL};
	json_t *unknown;

	/* Then the GPU's own reason says it for all. */
	if (gpu->status != WATTLE_STATUS_OK && gpu->status != WATTLE_STATUS_STALE)
		return;
	for (const struct wtl_smi_field *field = wtl_smi_gpu_fields; !wtl_smi_is_end(field);
	     field++)
		if (field->key)
			fields[field->number] = field;
	for (size_t i = 0; i < WTL_GPU_NUMBERS; i++)
		if (gpu->numbers[i].status == WATTLE_STATUS_OK)
			put_value(tree, to, fields[i], gpu->numbers[i].value);
	put_texts(tree, to, gpu);
	unknown = wtl_tree_object(tree, to, "unknown");
	for (size_t i = 0; i < WTL_GPU_NUMBERS; i++)
		if (gpu->numbers[i].status != WATTLE_STATUS_OK)
			wtl_tree_text(tree, unknown, fields[i]->key,
				      reason_of(gpu->numbers[i].status, gpu->numbers[i].code));
}

static void put_identity(struct wtl_tree *tree, json_t *to, const struct wtl_gpu *gpu)
{
	wtl_tree_count(tree, to, "index", gpu->index);
	wtl_tree_text(tree, to, "name", gpu->name);
	wtl_tree_text(tree, to, "vendor", gpu->vendor);
	wtl_tree_text(tree, to, "status", wattle_status_name(gpu->status));
	if (gpu->status != WATTLE_STATUS_OK)
		wtl_tree_text(tree, to, "reason",
			      gpu->trouble[0] ? gpu->trouble : reason_of(gpu->status, gpu->code));
	wtl_json_known(tree, to, "domain", gpu->domain);
	wtl_json_known(tree, to, "uuid", gpu->uuid);
	wtl_json_known(tree, to, "serial", gpu->serial);
	wtl_json_known(tree, to, "bus_id", gpu->bus_id);
	wtl_json_known(tree, to, "pci_device_id", gpu->pci_device_id);
	wtl_json_known(tree, to, "pci_subsystem_id", gpu->pci_subsystem_id);
	wtl_json_known(tree, to, "driver", gpu->driver);
	wtl_json_known(tree, to, "vbios", gpu->vbios);
	wtl_json_known(tree, to, "compute_capability", gpu->compute_capability);
	wtl_json_known(tree, to, "inforom_image", gpu->inforom_image);
	wtl_json_known(tree, to, "inforom_oem", gpu->inforom_oem);
	wtl_json_known(tree, to, "inforom_ecc", gpu->inforom_ecc);
	wtl_json_known(tree, to, "inforom_power", gpu->inforom_power);
}

static void put_meter(struct wtl_tree *tree, json_t *to, const struct wtl_look_meter *meter)
{
	if (meter && meter->has_power) {
		wtl_tree_fixed(tree, to, "mean_w", meter->power_uw, MICRO);
		wtl_tree_fixed(tree, to, "mean_uncertainty_w", meter->power_uncertainty_uw, MICRO);
	}
	if (meter && meter->has_energy) {
		wtl_tree_fixed(tree, to, "window_energy_j", meter->energy_uj, MICRO);
		wtl_tree_fixed(tree, to, "window_uncertainty_j", meter->energy_uncertainty_uj,
			       MICRO);
	}
}

static void put_process(struct wtl_tree *tree, json_t *to, const struct wtl_look *look,
			const struct wtl_gpu_process *process)
{
	json_t *object = wtl_tree_object(tree, to, NULL), *types;

	wtl_tree_integer(tree, object, "pid", process->pid);
	wtl_tree_bool(tree, object, "visible", process->is_visible);
	wtl_json_known(tree, object, "name", process->name);
	wtl_tree_text(tree, object, "user",
		      look->user ? look->user(look->user_context, process) : NULL);
	types = wtl_tree_array(tree, object, "types");
	if (process->types & WTL_GPU_PROCESS_COMPUTE)
		wtl_tree_text(tree, types, NULL, "compute");
	if (process->types & WTL_GPU_PROCESS_GRAPHICS)
		wtl_tree_text(tree, types, NULL, "graphics");
	if (process->types & WTL_GPU_PROCESS_MPS)
		wtl_tree_text(tree, types, NULL, "mps");
	if (process->memory_bytes != UINT64_MAX)
		wtl_tree_count(tree, object, "memory_bytes", process->memory_bytes);
	if (process->instance != UINT32_MAX)
		wtl_tree_count(tree, object, "mig_instance", process->instance);
	if (process->compute_instance != UINT32_MAX)
		wtl_tree_count(tree, object, "mig_compute_instance", process->compute_instance);
	if (process->has_use) {
		wtl_tree_count(tree, object, "sm_percent", process->sm_percent);
		wtl_tree_count(tree, object, "memory_percent", process->memory_percent);
		wtl_tree_count(tree, object, "encoder_percent", process->encoder_percent);
		wtl_tree_count(tree, object, "decoder_percent", process->decoder_percent);
	}
}

static void put_migs(struct wtl_tree *tree, json_t *to, const struct wtl_gpu *gpu)
{
	json_t *array = wtl_tree_array(tree, to, "mig_instances");

	if (gpu->lacks_migs)
		wtl_tree_text(tree, to, "mig_instances_reason", "out of memory");
	for (size_t i = 0; i < gpu->n_migs; i++) {
		const struct wtl_gpu_mig *mig = &gpu->migs[i];
		json_t *object = wtl_tree_object(tree, array, NULL);

		wtl_tree_count(tree, object, "index", mig->index);
		wtl_json_known(tree, object, "profile", mig->profile);
		wtl_json_known(tree, object, "uuid", mig->uuid);
		if (mig->instance != UINT32_MAX)
			wtl_tree_count(tree, object, "instance", mig->instance);
		if (mig->compute_instance != UINT32_MAX)
			wtl_tree_count(tree, object, "compute_instance", mig->compute_instance);
		if (mig->memory_total_bytes != UINT64_MAX)
			wtl_tree_count(tree, object, "memory_total_bytes", mig->memory_total_bytes);
		if (mig->memory_used_bytes != UINT64_MAX)
			wtl_tree_count(tree, object, "memory_used_bytes", mig->memory_used_bytes);
		if (mig->multiprocessors)
			wtl_tree_count(tree, object, "multiprocessors", mig->multiprocessors);
	}
}

static void put_gpu(struct wtl_tree *tree, json_t *to, const struct wtl_look *look, size_t i)
{
	const struct wtl_gpu *gpu = &look->gpus[i];
	json_t *object = wtl_tree_object(tree, to, NULL), *processes;

	put_identity(tree, object, gpu);
	put_meter(tree, object, look->meters ? &look->meters[i] : NULL);
	put_numbers(tree, object, gpu);
	wtl_tree_text(tree, object, "processes_status", wattle_status_name(gpu->processes_status));
	processes = wtl_tree_array(tree, object, "processes");
	for (size_t k = 0; k < gpu->n_processes; k++)
		put_process(tree, processes, look, &gpu->processes[k]);
	put_migs(tree, object, gpu);
}

static void put_domain(struct wtl_tree *tree, json_t *to, const struct wtl_look *look, size_t i)
{
	const struct wattle_domain *domain = &look->domains[i].domain;
	json_t *object = wtl_tree_object(tree, to, NULL);

	wtl_json_about(tree, object, domain);
	if (domain->method != WATTLE_METHOD_NONE)
		wtl_tree_text(tree, object, "method", wattle_method_name(domain->method));
	wtl_tree_text(tree, object, "status", wattle_status_name(domain->status));
	put_meter(tree, object, look->domain_meters ? &look->domain_meters[i] : NULL);
	wtl_tree_text(tree, object, "reason", domain->reason);
}

int wtl_look_json(struct wtl_buf *buf, const struct wtl_look *look, bool one_line)
{
	struct wtl_tree tree;
	json_t *array;

	wtl_json_begin(&tree, "wattle.query/1");
	wtl_json_utc(&tree, tree.root, "t_utc", look->t_utc_ns);
	wtl_json_known(&tree, tree.root, "nvidia_driver", look->driver);
	wtl_json_known(&tree, tree.root, "cuda", look->cuda);
	wtl_json_known(&tree, tree.root, "reason", look->trouble);
	wtl_tree_count(&tree, tree.root, "attached_gpus", look->n_attached);
	array = wtl_tree_array(&tree, tree.root, "gpus");
	for (size_t i = 0; i < look->n_gpus; i++)
		put_gpu(&tree, array, look, i);
	array = wtl_tree_array(&tree, tree.root, "domains");
	for (size_t i = 0; i < look->n_domains; i++)
		put_domain(&tree, array, look, i);
	return wtl_json_end(&tree, buf, one_line);
}
