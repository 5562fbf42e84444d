/* SPDX-License-Identifier: MIT */
#include <jansson.h>
#include <stdio.h>

#include "document/json_parts.h"
#include "smi/smi.h"

/* `wattle query --format json`: docs/query.md describes every key. */

enum { MICRO = WTL_JSON_MICRO };

enum shape { COUNT, SIGNED, MILLIONTHS, NANOSECONDS, FLAG, WORD, REASONS, GUID };

struct number {
	enum wtl_gpu_number number;
	const char *key;
	enum shape shape;
};

enum { WORDS_MAX = 8 };

/* Of the numbers that are WORD, from 0. */
static const struct {
	enum wtl_gpu_number number;
	const char *words[WORDS_MAX];
} words[] = {
	{WTL_GPU_COMPUTE_MODE, {"default", "exclusive-thread", "prohibited", "exclusive-process"}},
	{WTL_GPU_ADDRESSING_MODE, {"none", "hmm", "ats"}},
	{WTL_GPU_RECOVERY_ACTION,
	 {"none", "reset", "reboot", "drain-p2p", "drain-and-reset", "recover-imex-domain"}},
	{WTL_GPU_VIRTUALIZATION, {"none", "pass-through", "vgpu", "host-vgpu", "host-vsga"}},
	{WTL_GPU_FABRIC_STATE, {"not-supported", "not-started", "in-progress", "completed"}},
	{WTL_GPU_FABRIC_HEALTH, {"not-supported", "healthy", "unhealthy", "limited-capacity"}},
	{WTL_GPU_FABRIC_MISCONFIGURED,
	 {"none", "system-guid", "chassis-serial", "no-partition", "too-few-links", "firmware",
	  "location", "gpu-state"}},
	{WTL_GPU_PLATFORM_PEER, {"direct", "switch"}},
};

static const struct number numbers[] = {
	{WTL_GPU_POWER_UW, "power_w", MILLIONTHS},
	{WTL_GPU_POWER_AVERAGE_UW, "power_average_w", MILLIONTHS},
	{WTL_GPU_POWER_INSTANT_UW, "power_instant_w", MILLIONTHS},
	{WTL_GPU_MEMORY_POWER_AVERAGE_UW, "memory_power_average_w", MILLIONTHS},
	{WTL_GPU_MEMORY_POWER_INSTANT_UW, "memory_power_instant_w", MILLIONTHS},
	{WTL_GPU_MODULE_POWER_AVERAGE_UW, "module_power_average_w", MILLIONTHS},
	{WTL_GPU_MODULE_POWER_INSTANT_UW, "module_power_instant_w", MILLIONTHS},
	{WTL_GPU_ENERGY_UJ, "energy_counter_j", MILLIONTHS},
	{WTL_GPU_LIMIT_UW, "limit_w", MILLIONTHS},
	{WTL_GPU_LIMIT_REQUESTED_UW, "limit_requested_w", MILLIONTHS},
	{WTL_GPU_LIMIT_DEFAULT_UW, "limit_default_w", MILLIONTHS},
	{WTL_GPU_LIMIT_MIN_UW, "limit_min_w", MILLIONTHS},
	{WTL_GPU_LIMIT_MAX_UW, "limit_max_w", MILLIONTHS},
	{WTL_GPU_MODULE_LIMIT_UW, "module_limit_w", MILLIONTHS},
	{WTL_GPU_MODULE_LIMIT_REQUESTED_UW, "module_limit_requested_w", MILLIONTHS},
	{WTL_GPU_MODULE_LIMIT_DEFAULT_UW, "module_limit_default_w", MILLIONTHS},
	{WTL_GPU_MODULE_LIMIT_MIN_UW, "module_limit_min_w", MILLIONTHS},
	{WTL_GPU_MODULE_LIMIT_MAX_UW, "module_limit_max_w", MILLIONTHS},
	{WTL_GPU_USE_PERCENT, "use_percent", COUNT},
	{WTL_GPU_MEMORY_USE_PERCENT, "memory_use_percent", COUNT},
	{WTL_GPU_ENCODER_PERCENT, "encoder_percent", COUNT},
	{WTL_GPU_DECODER_PERCENT, "decoder_percent", COUNT},
	{WTL_GPU_JPEG_PERCENT, "jpeg_percent", COUNT},
	{WTL_GPU_OFA_PERCENT, "ofa_percent", COUNT},
	{WTL_GPU_MEMORY_TOTAL_BYTES, "memory_total_bytes", COUNT},
	{WTL_GPU_MEMORY_RESERVED_BYTES, "memory_reserved_bytes", COUNT},
	{WTL_GPU_MEMORY_USED_BYTES, "memory_used_bytes", COUNT},
	{WTL_GPU_MEMORY_FREE_BYTES, "memory_free_bytes", COUNT},
	{WTL_GPU_PROTECTED_TOTAL_BYTES, "protected_total_bytes", COUNT},
	{WTL_GPU_PROTECTED_USED_BYTES, "protected_used_bytes", COUNT},
	{WTL_GPU_PROTECTED_FREE_BYTES, "protected_free_bytes", COUNT},
	{WTL_GPU_TEMPERATURE_C, "temperature_c", COUNT},
	{WTL_GPU_TEMPERATURE_MARGIN_C, "temperature_margin_c", SIGNED},
	{WTL_GPU_MEMORY_TEMPERATURE_C, "memory_temperature_c", COUNT},
	{WTL_GPU_CLOCK_GRAPHICS_MHZ, "clock_graphics_mhz", COUNT},
	{WTL_GPU_CLOCK_SM_MHZ, "clock_sm_mhz", COUNT},
	{WTL_GPU_CLOCK_MEMORY_MHZ, "clock_memory_mhz", COUNT},
	{WTL_GPU_CLOCK_VIDEO_MHZ, "clock_video_mhz", COUNT},
	{WTL_GPU_CLOCK_GRAPHICS_MAX_MHZ, "clock_graphics_max_mhz", COUNT},
	{WTL_GPU_CLOCK_SM_MAX_MHZ, "clock_sm_max_mhz", COUNT},
	{WTL_GPU_CLOCK_MEMORY_MAX_MHZ, "clock_memory_max_mhz", COUNT},
	{WTL_GPU_CLOCK_VIDEO_MAX_MHZ, "clock_video_max_mhz", COUNT},
	{WTL_GPU_CLOCK_GRAPHICS_APPLICATION_MHZ, "clock_graphics_application_mhz", COUNT},
	{WTL_GPU_CLOCK_MEMORY_APPLICATION_MHZ, "clock_memory_application_mhz", COUNT},
	{WTL_GPU_CLOCK_GRAPHICS_APPLICATION_DEFAULT_MHZ, "clock_graphics_application_default_mhz",
	 COUNT},
	{WTL_GPU_CLOCK_MEMORY_APPLICATION_DEFAULT_MHZ, "clock_memory_application_default_mhz",
	 COUNT},
	{WTL_GPU_FAN_PERCENT, "fan_percent", COUNT},
	{WTL_GPU_PSTATE, "pstate", COUNT},
	{WTL_GPU_THROTTLE, "throttle", REASONS},
	{WTL_GPU_THROTTLE_KNOWN, "throttle_known", REASONS},
	{WTL_GPU_THROTTLED_SW_POWER_CAP_NS, "throttled_sw_power_cap_s", NANOSECONDS},
	{WTL_GPU_THROTTLED_SYNC_BOOST_NS, "throttled_sync_boost_s", NANOSECONDS},
	{WTL_GPU_THROTTLED_SW_THERMAL_NS, "throttled_sw_thermal_s", NANOSECONDS},
	{WTL_GPU_THROTTLED_HW_THERMAL_NS, "throttled_hw_thermal_s", NANOSECONDS},
	{WTL_GPU_THROTTLED_HW_POWER_BRAKE_NS, "throttled_hw_power_brake_s", NANOSECONDS},
	{WTL_GPU_PCIE_GEN, "pcie_generation", COUNT},
	{WTL_GPU_PCIE_GEN_MAX, "pcie_generation_max", COUNT},
	{WTL_GPU_PCIE_GEN_GPU_MAX, "pcie_generation_gpu_max", COUNT},
	{WTL_GPU_PCIE_WIDTH, "pcie_lanes", COUNT},
	{WTL_GPU_PCIE_WIDTH_MAX, "pcie_lanes_max", COUNT},
	{WTL_GPU_PCIE_TX_BYTES_PER_S, "pcie_tx_bytes_per_s", COUNT},
	{WTL_GPU_PCIE_RX_BYTES_PER_S, "pcie_rx_bytes_per_s", COUNT},
	{WTL_GPU_PCI_CLASS, "pci_class", COUNT},
	{WTL_GPU_PERSISTENCE, "persistence", FLAG},
	{WTL_GPU_COMPUTE_MODE, "compute_mode", WORD},
	{WTL_GPU_DISPLAY_ACTIVE, "display_active", FLAG},
	{WTL_GPU_DISPLAY_ATTACHED, "display_attached", FLAG},
	{WTL_GPU_MIG_MODE, "mig", FLAG},
	{WTL_GPU_MIG_PENDING, "mig_pending", FLAG},
	{WTL_GPU_ECC_MODE, "ecc", FLAG},
	{WTL_GPU_ECC_PENDING, "ecc_pending", FLAG},
	{WTL_GPU_ECC_CORRECTED_VOLATILE, "ecc_corrected_volatile", COUNT},
	{WTL_GPU_ECC_UNCORRECTED_VOLATILE, "ecc_uncorrected_volatile", COUNT},
	{WTL_GPU_ECC_CORRECTED_AGGREGATE, "ecc_corrected_aggregate", COUNT},
	{WTL_GPU_ECC_UNCORRECTED_AGGREGATE, "ecc_uncorrected_aggregate", COUNT},
	{WTL_GPU_ECC_DRAM_CORRECTED_VOLATILE, "ecc_dram_corrected_volatile", COUNT},
	{WTL_GPU_ECC_DRAM_UNCORRECTED_VOLATILE, "ecc_dram_uncorrected_volatile", COUNT},
	{WTL_GPU_ECC_DRAM_CORRECTED_AGGREGATE, "ecc_dram_corrected_aggregate", COUNT},
	{WTL_GPU_ECC_DRAM_UNCORRECTED_AGGREGATE, "ecc_dram_uncorrected_aggregate", COUNT},
	{WTL_GPU_ECC_SRAM_CORRECTED_VOLATILE, "ecc_sram_corrected_volatile", COUNT},
	{WTL_GPU_ECC_SRAM_UNCORRECTED_VOLATILE, "ecc_sram_uncorrected_volatile", COUNT},
	{WTL_GPU_ECC_SRAM_CORRECTED_AGGREGATE, "ecc_sram_corrected_aggregate", COUNT},
	{WTL_GPU_ECC_SRAM_UNCORRECTED_AGGREGATE, "ecc_sram_uncorrected_aggregate", COUNT},
	{WTL_GPU_REMAPPED_CORRECTABLE, "remapped_correctable", COUNT},
	{WTL_GPU_REMAPPED_UNCORRECTABLE, "remapped_uncorrectable", COUNT},
	{WTL_GPU_REMAPPED_PENDING, "remapped_pending", FLAG},
	{WTL_GPU_REMAPPED_FAILURE, "remapped_failure", FLAG},
	{WTL_GPU_REMAPPED_MAX, "remap_banks_max", COUNT},
	{WTL_GPU_REMAPPED_HIGH, "remap_banks_high", COUNT},
	{WTL_GPU_REMAPPED_PARTIAL, "remap_banks_partial", COUNT},
	{WTL_GPU_REMAPPED_LOW, "remap_banks_low", COUNT},
	{WTL_GPU_REMAPPED_NONE, "remap_banks_none", COUNT},
	{WTL_GPU_ENCODER_SESSIONS, "encoder_sessions", COUNT},
	{WTL_GPU_ENCODER_FPS, "encoder_frames_per_s", COUNT},
	{WTL_GPU_ENCODER_LATENCY_US, "encoder_latency_us", COUNT},
	{WTL_GPU_ACCOUNTING_MODE, "accounting", FLAG},
	{WTL_GPU_ACCOUNTING_BUFFER, "accounting_processes_max", COUNT},
	{WTL_GPU_GSP_MODE, "gsp", FLAG},
	{WTL_GPU_GSP_DEFAULT, "gsp_default", FLAG},
	{WTL_GPU_ADDRESSING_MODE, "addressing_mode", WORD},
	{WTL_GPU_C2C_MODE, "c2c", FLAG},
	{WTL_GPU_MODULE_ID, "module_id", COUNT},
	{WTL_GPU_VIRTUALIZATION, "virtualization", WORD},
	{WTL_GPU_RECOVERY_ACTION, "recovery_action", WORD},
	{WTL_GPU_INFOROM_VALID, "inforom_valid", FLAG},
	{WTL_GPU_EDPP_MICROPERCENT, "edpp_percent", MILLIONTHS},
	{WTL_GPU_PCIE_GEN_HOST_MAX, "pcie_generation_host_max", COUNT},
	{WTL_GPU_REMAPPED_CORRECTABLE_INACTIVE, "remapped_correctable_inactive", COUNT},
	{WTL_GPU_REMAPPED_UNCORRECTABLE_INACTIVE, "remapped_uncorrectable_inactive", COUNT},
	{WTL_GPU_ECC_SRAM_PARITY_VOLATILE, "ecc_sram_parity_volatile", COUNT},
	{WTL_GPU_ECC_SRAM_SECDED_VOLATILE, "ecc_sram_secded_volatile", COUNT},
	{WTL_GPU_ECC_SRAM_PARITY_AGGREGATE, "ecc_sram_parity_aggregate", COUNT},
	{WTL_GPU_ECC_SRAM_SECDED_AGGREGATE, "ecc_sram_secded_aggregate", COUNT},
	{WTL_GPU_ECC_SRAM_L2, "ecc_sram_l2", COUNT},
	{WTL_GPU_ECC_SRAM_SM, "ecc_sram_sm", COUNT},
	{WTL_GPU_ECC_SRAM_MICROCONTROLLER, "ecc_sram_microcontroller", COUNT},
	{WTL_GPU_ECC_SRAM_PCIE, "ecc_sram_pcie", COUNT},
	{WTL_GPU_ECC_SRAM_OTHER, "ecc_sram_other", COUNT},
	{WTL_GPU_ECC_SRAM_EXCEEDED, "ecc_sram_exceeded", FLAG},
	{WTL_GPU_FABRIC_STATE, "fabric_state", WORD},
	{WTL_GPU_FABRIC_CLIQUE, "fabric_clique", COUNT},
	{WTL_GPU_FABRIC_HEALTH, "fabric_health", WORD},
	{WTL_GPU_FABRIC_DEGRADED, "fabric_degraded", FLAG},
	{WTL_GPU_FABRIC_RECOVERING, "fabric_recovering", FLAG},
	{WTL_GPU_FABRIC_BAD_ROUTE, "fabric_bad_route", FLAG},
	{WTL_GPU_FABRIC_TIMED_OUT, "fabric_timed_out", FLAG},
	{WTL_GPU_FABRIC_MISCONFIGURED, "fabric_misconfigured", WORD},
	{WTL_GPU_FABRIC_PARTITION, "fabric_partition", FLAG},
	{WTL_GPU_PLATFORM_SLOT, "platform_slot", COUNT},
	{WTL_GPU_PLATFORM_TRAY, "platform_tray", COUNT},
	{WTL_GPU_PLATFORM_HOST, "platform_host", COUNT},
	{WTL_GPU_PLATFORM_PEER, "platform_peer", WORD},
	{WTL_GPU_PLATFORM_GUID, "platform_guid", GUID},
};

#define N_NUMBERS (sizeof(numbers) / sizeof(numbers[0]))

/* A number that is added to struct wtl_gpu has to get its key here. */
_Static_assert(N_NUMBERS == WTL_GPU_NUMBERS, "every number has a key");

static const char *const reason_words[] = {
	"idle",	      "application-clocks", "sw-power-cap",   "hw-slowdown",	"sync-boost",
	"sw-thermal", "hw-thermal",	    "hw-power-brake", "display-clocks",
};

static const char *word_of(enum wtl_gpu_number number, uint64_t value)
{
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (words[i].number == number && value < WORDS_MAX && words[i].words[value])
			return words[i].words[value];
	return "unknown";
}

static void put_guid(struct wtl_tree *tree, json_t *to, const char *key, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "0x%016llx", (unsigned long long)value);
	wtl_tree_text(tree, to, key, text);
}

static void put_reasons(struct wtl_tree *tree, json_t *to, const char *key, uint64_t bits)
{
	json_t *array = wtl_tree_array(tree, to, key);

	for (size_t i = 0; i < sizeof(reason_words) / sizeof(reason_words[0]); i++)
		if (bits >> i & 1)
			wtl_tree_text(tree, array, NULL, reason_words[i]);
}

static void put_value(struct wtl_tree *tree, json_t *to, const struct number *number,
		      uint64_t value)
{
	switch (number->shape) {
	case COUNT:
		wtl_tree_count(tree, to, number->key, value);
		break;
	case SIGNED:
		wtl_tree_integer(tree, to, number->key, (int64_t)value);
		break;
	case MILLIONTHS:
		wtl_tree_fixed(tree, to, number->key, value, MICRO);
		break;
	case NANOSECONDS:
		wtl_tree_fixed(tree, to, number->key, value, WTL_JSON_NANO);
		break;
	case FLAG:
		wtl_tree_bool(tree, to, number->key, value != 0);
		break;
	case WORD:
		wtl_tree_text(tree, to, number->key, word_of(number->number, value));
		break;
	case GUID:
		put_guid(tree, to, number->key, value);
		break;
	case REASONS:
		put_reasons(tree, to, number->key, value);
		break;
	}
}

static const char *reason_of(enum wattle_status status, int code)
{
	enum { NVML_DEPRECATED = 26 };

	if (code == NVML_DEPRECATED)
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
	json_t *unknown;

	/* Then the GPU's own reason says it for all. */
	if (gpu->status != WATTLE_STATUS_OK && gpu->status != WATTLE_STATUS_STALE)
		return;
	for (size_t i = 0; i < N_NUMBERS; i++) {
		const struct wtl_gpu_value *value = &gpu->numbers[numbers[i].number];

		if (value->status == WATTLE_STATUS_OK)
			put_value(tree, to, &numbers[i], value->value);
	}
	put_texts(tree, to, gpu);
	unknown = wtl_tree_object(tree, to, "unknown");
	for (size_t i = 0; i < N_NUMBERS; i++) {
		const struct wtl_gpu_value *value = &gpu->numbers[numbers[i].number];

		if (value->status != WATTLE_STATUS_OK)
			wtl_tree_text(tree, unknown, numbers[i].key,
				      reason_of(value->status, value->code));
	}
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
