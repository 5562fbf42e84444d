/* SPDX-License-Identifier: MIT */
/*
 * What an NVIDIA GPU knows and few ask for: fabric, platform, errors of on-chip memory, what it takes to
 * recover. Functions and fields are those that nvidia-smi shows under the same names; drivers that lack one
 * say so, and are not asked again for a while.
 */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "gpu/pci.h"
#include "sensors/gpu_backend.h"
#include "sensors/gpu_nvml.h"
#include "sensors/gpu_sysfs.h"

/* The slot and tray of a machine without trays: a B200 has "N/A" there, beside a known host. */
enum { NO_SLOT = 0xff };

enum {
	GUID_LENGTH = 8,  /* of the 16 bytes */
	TEXT_LENGTH = 96, /* NVML's longest error text has some 70 */
};

/* ---- Single values ---- */

static const struct wtl_gpu_nvml_field fields[] = {
	{WTL_NVML_FIELD_RECOVERY_ACTION, 0, 1, WTL_GPU_RECOVERY_ACTION},
	{WTL_NVML_FIELD_EDPP_MULTIPLIER, 0, 0, WTL_GPU_EDPP_MICROPERCENT},
	{WTL_NVML_FIELD_PCIE_REPLAY_ROLLOVERS, 0, 1, WTL_GPU_PCIE_REPLAY_ROLLOVERS},
	{WTL_NVML_FIELD_SHUTDOWN_MARGIN, 0, WTL_GPU_NVML_SIGNED, WTL_GPU_SHUTDOWN_MARGIN_C},
	{WTL_NVML_FIELD_SLOWDOWN_MARGIN, 0, WTL_GPU_NVML_SIGNED, WTL_GPU_SLOWDOWN_MARGIN_C},
	{WTL_NVML_FIELD_MEMORY_MAX_OPERATING_MARGIN, 0, WTL_GPU_NVML_SIGNED,
	 WTL_GPU_MEMORY_MAX_OPERATING_MARGIN_C},
	{WTL_NVML_FIELD_MAX_OPERATING_MARGIN, 0, WTL_GPU_NVML_SIGNED,
	 WTL_GPU_MAX_OPERATING_MARGIN_C},
};

#define ONE(which)	   .to = {WTL_GPU_##which}, .n = 1
#define ONE_OF(in_, which) .in = {in_}, .n_in = 1, ONE(which)

static const struct wtl_gpu_nvml_call calls[] = {
	{WTL_NVML_VIRTUALIZATION, ONE(VIRTUALIZATION)},
	{WTL_NVML_BRAND, ONE(BRAND)},
	{WTL_NVML_ARCHITECTURE, ONE(ARCHITECTURE)},
	{WTL_NVML_MINOR_NUMBER, ONE(MINOR_NUMBER)},
	{WTL_NVML_MULTI_GPU_BOARD, ONE(MULTI_GPU_BOARD)},
	{WTL_NVML_BOARD_ID, ONE(BOARD_ID)},
	{WTL_NVML_TIME_RUN, ONE(TIME_RUN_S)},
	{WTL_NVML_PCIE_REPLAYS, ONE(PCIE_REPLAYS)},
	{WTL_NVML_CLOCK_BOOST_MAX, ONE_OF(0, CLOCK_GRAPHICS_BOOST_MAX_MHZ)},
	{WTL_NVML_THRESHOLD, ONE_OF(0, SHUTDOWN_C)},
	{WTL_NVML_THRESHOLD, ONE_OF(1, SLOWDOWN_C)},
	{WTL_NVML_THRESHOLD, ONE_OF(2, MEMORY_MAX_OPERATING_C)},
	{WTL_NVML_THRESHOLD, ONE_OF(3, MAX_OPERATING_C)},
	{WTL_NVML_THRESHOLD, ONE_OF(5, TARGET_C)},
	{WTL_NVML_BAR1, .is_struct = true, .is_long = true,
	 .to = {WTL_GPU_BAR1_TOTAL_BYTES, WTL_GPU_BAR1_FREE_BYTES, WTL_GPU_BAR1_USED_BYTES},
	 .n = 3},
	{WTL_NVML_CAPTURE_STATS, .is_struct = true,
	 .to = {WTL_GPU_CAPTURE_SESSIONS, WTL_GPU_CAPTURE_FPS, WTL_GPU_CAPTURE_LATENCY_US}, .n = 3},
	{WTL_NVML_PDI, .is_struct = true, .is_long = true,
	 .version = WTL_NVML_VERSION(uint64_t[2], 1), .to = {WTL_GPU_NVML_NONE, WTL_GPU_PDI},
	 .n = 2},
	{WTL_NVML_REPAIR, .is_struct = true, .version = WTL_NVML_VERSION(uint32_t[3], 1),
	 .to = {WTL_GPU_NVML_NONE, WTL_GPU_CHANNEL_REPAIR_PENDING, WTL_GPU_TPC_REPAIR_PENDING},
	 .n = 3},
	{WTL_NVML_REMAPPED_V2, .is_struct = true,
	 .to = {WTL_GPU_NVML_NONE, WTL_GPU_REMAPPED_CORRECTABLE_INACTIVE, WTL_GPU_NVML_NONE,
		WTL_GPU_REMAPPED_UNCORRECTABLE_INACTIVE, WTL_GPU_NVML_NONE, WTL_GPU_NVML_NONE},
	 .n = 6},
};

/* Neither changes. */
static void read_texts(struct wtl_gpu_nvml_read *read)
{
	struct wtl_gpu *gpu = read->gpu;
	char text[sizeof(gpu->gsp_firmware)] = "";
	struct wtl_lib_arg args[] = {
		{.word = read->own->handle},
		{.memory = text, .size = sizeof(text)},
	};

	if (gpu->board_part[0] || gpu->gsp_firmware[0] || read->gone)
		return;
	wtl_nvml_device_text(read->lib, WTL_NVML_BOARD_PART, read->own->handle, gpu->board_part,
			     sizeof(gpu->board_part));
	if (wtl_gpu_nvml_ask(read, WTL_NVML_GSP_FIRMWARE, args) == WTL_NVML_OK)
		wtl_text_clean(gpu->gsp_firmware, sizeof(gpu->gsp_firmware), text,
			       strnlen(text, sizeof(text)));
}

/*
 * NVML has no public function for it: nvidia-smi asks the driver by a way of its own (NVIDIA/k8s-test-infra says
 * so of its mock). Captures have a number on real machines (three) and none for a GPU that is passed through to a
 * virtual one (nine), where the bus that is to be seen is made up. That it is the root port's, not the next
 * bridge's, shows a GB300: its link runs at generation 6, and the host's highest is 4.
 */
static void read_host_link(struct wtl_gpu_nvml_read *read, struct wtl_io *io)
{
	const struct wtl_gpu_value *mode = &read->gpu->numbers[WTL_GPU_VIRTUALIZATION];
	char port[WTL_NVML_BUS_ID_SIZE], dir[128], text[32] = "";
	bool is_guest = mode->status == WATTLE_STATUS_OK &&
			(mode->value == WTL_VIRTUALIZATION_PASSED_THROUGH ||
			 mode->value == WTL_VIRTUALIZATION_VGPU);
	unsigned gen;

	if (!is_guest && read->own->is_on_bus &&
	    wtl_pci_root_port(io, read->own->bus_id, port, sizeof(port))) {
		snprintf(dir, sizeof(dir), WTL_NVML_PCI_DIR "/%s", port);
		wtl_gpu_sysfs_text(io, dir, "max_link_speed", text, sizeof(text));
	}
	gen = wtl_gpu_link_gen(text, strlen(text));
	wtl_gpu_nvml_put(read, WTL_GPU_PCIE_GEN_HOST_MAX,
			 gen ? WTL_NVML_OK : WTL_NVML_NOT_SUPPORTED, gen);
}

/* ---- Errors of on-chip memory ---- */

static void read_sram(struct wtl_gpu_nvml_read *read)
{
	struct wtl_nvml_sram sram = {.version = WTL_NVML_VERSION(struct wtl_nvml_sram, 1)};
	struct wtl_lib_arg args[] = {
		{.word = read->own->handle},
		{.memory = &sram, .size = sizeof(sram)},
	};
	const struct {
		enum wtl_gpu_number to;
		const uint64_t *from;
	} counts[] = {
		{WTL_GPU_ECC_SRAM_PARITY_VOLATILE, &sram.parity_volatile},
		{WTL_GPU_ECC_SRAM_SECDED_VOLATILE, &sram.secded_volatile},
		{WTL_GPU_ECC_SRAM_PARITY_AGGREGATE, &sram.parity_aggregate},
		{WTL_GPU_ECC_SRAM_SECDED_AGGREGATE, &sram.secded_aggregate},
		{WTL_GPU_ECC_SRAM_L2, &sram.l2},
		{WTL_GPU_ECC_SRAM_SM, &sram.sm},
		{WTL_GPU_ECC_SRAM_MICROCONTROLLER, &sram.microcontroller},
		{WTL_GPU_ECC_SRAM_PCIE, &sram.pcie},
		{WTL_GPU_ECC_SRAM_OTHER, &sram.other},
	};
	int code;

	if (!wtl_gpu_nvml_is_due(read, WTL_GPU_ECC_SRAM_EXCEEDED))
		return;
	code = wtl_gpu_nvml_ask(read, WTL_NVML_SRAM_ERRORS, args);
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
		wtl_gpu_nvml_put(read, counts[i].to, code, *counts[i].from);
	wtl_gpu_nvml_put(read, WTL_GPU_ECC_SRAM_EXCEEDED, code, sram.is_exceeded != 0);
}

/* ---- The fabric ---- */

/* By the newest form that the driver knows. Version 2 and older have no summary: *ret_has_summary. */
static int ask_fabric(struct wtl_gpu_nvml_read *read, struct wtl_nvml_fabric *fabric,
		      bool *ret_has_summary)
{
	const size_t v2_size = offsetof(struct wtl_nvml_fabric, summary);
	const size_t v1_begin = offsetof(struct wtl_nvml_fabric, cluster);
	struct wtl_lib_arg args[] = {
		{.word = read->own->handle},
		{.memory = fabric, .size = sizeof(*fabric)},
	};
	int code;

	*fabric = (struct wtl_nvml_fabric){.version = WTL_NVML_VERSION(struct wtl_nvml_fabric, 3)};
	code = wtl_gpu_nvml_ask(read, WTL_NVML_FABRIC, args);
	*ret_has_summary = code == WTL_NVML_OK;
	if (code == WTL_NVML_ARGUMENT_VERSION) {
		*fabric = (struct wtl_nvml_fabric){.version = (uint32_t)v2_size | 2u << 24};
		args[1].size = v2_size;
		code = wtl_gpu_nvml_ask(read, WTL_NVML_FABRIC, args);
	}
	if (code == WTL_NVML_FUNCTION_NOT_FOUND) {
		*fabric = (struct wtl_nvml_fabric){0};
		args[1].memory = fabric->cluster;
		args[1].size = offsetof(struct wtl_nvml_fabric, health) - v1_begin;
		code = wtl_gpu_nvml_ask(read, WTL_NVML_FABRIC_V1, args);
	}
	return code;
}

static void put_fabric_texts(struct wtl_gpu_nvml_read *read, const struct wtl_nvml_fabric *fabric)
{
	struct wtl_gpu *gpu = read->gpu;
	const uint8_t *id = fabric->cluster;
	char text[TEXT_LENGTH] = "";
	struct wtl_lib_arg args[] = {
		{.word = fabric->status},
		{.memory = text, .size = sizeof(text)},
	};
	size_t len = 0;

	for (size_t i = 0; i < sizeof(fabric->cluster); i++)
		len += (size_t)snprintf(gpu->fabric_cluster + len,
					sizeof(gpu->fabric_cluster) - len, "%s%02x",
					i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", id[i]);
	if (fabric->status == WTL_NVML_OK)
		wtl_text_copy(gpu->fabric_status, sizeof(gpu->fabric_status), "Success");
	else if (wtl_nvml_call(read->lib, WTL_NVML_ERROR_TEXT, args) == WTL_NVML_OK)
		wtl_text_clean(gpu->fabric_status, sizeof(gpu->fabric_status), text,
			       strnlen(text, sizeof(text)));
	else
		snprintf(gpu->fabric_status, sizeof(gpu->fabric_status), "Error %u",
			 fabric->status);
}

/* A part of the health: a value that is neither yes nor no is unknown. */
static void put_health(struct wtl_gpu_nvml_read *read, uint32_t health)
{
	static const struct {
		enum wtl_gpu_number to;
		enum wtl_nvml_fabric_shift shift;
	} flags[] = {
		{WTL_GPU_FABRIC_DEGRADED, WTL_NVML_FABRIC_DEGRADED},
		{WTL_GPU_FABRIC_RECOVERING, WTL_NVML_FABRIC_RECOVERING},
		{WTL_GPU_FABRIC_BAD_ROUTE, WTL_NVML_FABRIC_BAD_ROUTE},
		{WTL_GPU_FABRIC_TIMED_OUT, WTL_NVML_FABRIC_TIMED_OUT},
		{WTL_GPU_FABRIC_PARTITION, WTL_NVML_FABRIC_PARTITION},
	};
	uint32_t wrong = health >> WTL_NVML_FABRIC_MISCONFIGURED & 0xf;

	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		uint32_t part = health >> flags[i].shift & 3;
		bool is_told = part == 1 || part == 2;

		wtl_gpu_nvml_put(read, flags[i].to, is_told ? WTL_NVML_OK : WTL_NVML_NOT_SUPPORTED,
				 part == 1);
	}
	wtl_gpu_nvml_put(read, WTL_GPU_FABRIC_MISCONFIGURED,
			 wrong ? WTL_NVML_OK : WTL_NVML_NOT_SUPPORTED, wrong ? wrong - 1 : 0);
}

static void read_fabric(struct wtl_gpu_nvml_read *read)
{
	struct wtl_nvml_fabric fabric;
	bool has_summary;
	int code;

	if (!wtl_gpu_nvml_is_due(read, WTL_GPU_FABRIC_STATE))
		return;
	code = ask_fabric(read, &fabric, &has_summary);
	if (code == WTL_NVML_OK && fabric.state == WTL_NVML_FABRIC_NOT_SUPPORTED)
		code = WTL_NVML_NOT_SUPPORTED;
	wtl_gpu_nvml_put(read, WTL_GPU_FABRIC_STATE, code, fabric.state);
	/* What goes with a state that is not COMPLETED has no meaning yet. */
	if (code == WTL_NVML_OK && fabric.state != WTL_NVML_FABRIC_COMPLETED)
		code = WTL_NVML_NOT_SUPPORTED;
	for (enum wtl_gpu_number i = WTL_GPU_FABRIC_CLIQUE;
	     code != WTL_NVML_OK && i <= WTL_GPU_FABRIC_PARTITION; i++)
		wtl_gpu_nvml_put(read, i, code, 0);
	if (code != WTL_NVML_OK)
		return;
	wtl_gpu_nvml_put(read, WTL_GPU_FABRIC_CLIQUE, code, fabric.clique);
	put_fabric_texts(read, &fabric);
	/* nvidia-smi has none of the health where the summary says that there is none. */
	put_health(read, has_summary && fabric.summary == 0 ? 0 : fabric.health);
	wtl_gpu_nvml_put(read, WTL_GPU_FABRIC_HEALTH,
			 has_summary && fabric.summary ? WTL_NVML_OK : WTL_NVML_NOT_SUPPORTED,
			 fabric.summary);
}

/* ---- The platform ---- */

static int ask_platform(struct wtl_gpu_nvml_read *read, struct wtl_nvml_platform *platform)
{
	struct wtl_lib_arg args[] = {
		{.word = read->own->handle},
		{.memory = platform, .size = sizeof(*platform)},
	};
	int code = WTL_NVML_ARGUMENT_VERSION;

	for (uint32_t version = 2; version > 0 && code == WTL_NVML_ARGUMENT_VERSION; version--) {
		*platform = (struct wtl_nvml_platform){
			.version = WTL_NVML_VERSION(struct wtl_nvml_platform, version)};
		code = wtl_gpu_nvml_ask(read, WTL_NVML_PLATFORM, args);
	}
	return code;
}

static void put_place(struct wtl_gpu_nvml_read *read, enum wtl_gpu_number to, int code,
		      uint8_t place)
{
	if (code == WTL_NVML_OK && place == NO_SLOT)
		code = WTL_NVML_NOT_SUPPORTED;
	wtl_gpu_nvml_put(read, to, code, place);
}

static void read_platform(struct wtl_gpu_nvml_read *read)
{
	struct wtl_nvml_platform platform;
	const char *chassis = (const char *)platform.chassis;
	uint64_t guid = 0;
	int code;

	if (!wtl_gpu_nvml_is_due(read, WTL_GPU_PLATFORM_HOST))
		return;
	code = ask_platform(read, &platform);
	for (size_t i = 0; i < GUID_LENGTH; i++)
		guid = guid << 8 | platform.guid[i];
	wtl_text_clean(read->gpu->chassis_serial, sizeof(read->gpu->chassis_serial), chassis,
		       code == WTL_NVML_OK ? strnlen(chassis, sizeof(platform.chassis)) : 0);
	put_place(read, WTL_GPU_PLATFORM_SLOT, code, platform.slot);
	put_place(read, WTL_GPU_PLATFORM_TRAY, code, platform.tray);
	wtl_gpu_nvml_put(read, WTL_GPU_PLATFORM_HOST, code, platform.host);
	wtl_gpu_nvml_put(read, WTL_GPU_PLATFORM_PEER, code, platform.peer);
	wtl_gpu_nvml_put(read, WTL_GPU_PLATFORM_GUID, code, guid);
}

int wtl_gpu_nvml_read_details(struct wtl_gpus_nvml *nvml, struct wtl_gpu_nvml_gpu *own,
			      struct wtl_gpu *gpu)
{
	struct wtl_gpu_nvml_read read = {
		.lib = &nvml->lib, .own = own, .gpu = gpu, .now_ns = wtl_io_mono_ns(nvml->io)};

	wtl_gpu_nvml_read_fields(&read, fields, sizeof(fields) / sizeof(fields[0]));
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		wtl_gpu_nvml_read_call(&read, &calls[i]);
	read_texts(&read);
	read_host_link(&read, nvml->io);
	read_sram(&read);
	read_fabric(&read);
	read_platform(&read);
	return read.gone;
}

/* ---- The info ROM ---- */

int wtl_gpu_nvml_read_inforom(struct wtl_gpus_nvml *nvml, struct wtl_gpu_nvml_gpu *own,
			      struct wtl_gpu *gpu)
{
	struct wtl_gpu_nvml_read read = {
		.lib = &nvml->lib, .own = own, .gpu = gpu, .now_ns = wtl_io_mono_ns(nvml->io)};
	struct wtl_lib_arg args[] = {{.word = own->handle}};
	int code;

	if (!wtl_gpu_nvml_is_due(&read, WTL_GPU_INFOROM_VALID))
		return read.gone;
	code = wtl_gpu_nvml_ask(&read, WTL_NVML_VALIDATE_INFOROM, args);
	if (code == WTL_NVML_CORRUPTED_INFOROM)
		wtl_gpu_nvml_put(&read, WTL_GPU_INFOROM_VALID, WTL_NVML_OK, 0);
	else
		wtl_gpu_nvml_put(&read, WTL_GPU_INFOROM_VALID, code, 1);
	if (gpu->numbers[WTL_GPU_INFOROM_VALID].status == WATTLE_STATUS_OK)
		own->refused_ns[WTL_GPU_INFOROM_VALID] = read.now_ns + WTL_GPU_NVML_REFUSED_NS;
	return read.gone;
}
