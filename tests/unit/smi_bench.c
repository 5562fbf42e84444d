/* SPDX-License-Identifier: MIT */
#include "smi_bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/text.h"
#include "unit.h"

#define NS_PER_MS INT64_C(1000000)

void smi_set(struct wtl_gpu *gpu, enum wtl_gpu_number number, uint64_t value)
{
	gpu->numbers[number] = (struct wtl_gpu_value){.status = WATTLE_STATUS_OK, .value = value};
}

void smi_unset(struct wtl_gpu *gpu, enum wtl_gpu_number number, enum wattle_status status, int code)
{
	gpu->numbers[number] = (struct wtl_gpu_value){.status = status, .code = code};
}

static void begin_gpu(struct wtl_gpu *gpu, unsigned index, const char *vendor, const char *name)
{
	*gpu = (struct wtl_gpu){.index = index};
	wtl_text_copy(gpu->vendor, sizeof(gpu->vendor), vendor);
	wtl_text_copy(gpu->name, sizeof(gpu->name), name);
	for (size_t i = 0; i < WTL_GPU_NUMBERS; i++)
		gpu->numbers[i].status = WATTLE_STATUS_ABSENT;
}

#define COPY(to, from) wtl_text_copy(to, sizeof(to), from)

struct pair {
	enum wtl_gpu_number number;
	uint64_t value;
};

static const struct pair h100[] = {
	{WTL_GPU_POWER_UW, 631950000},
	{WTL_GPU_POWER_AVERAGE_UW, 631950000},
	{WTL_GPU_POWER_INSTANT_UW, 625684999},
	{WTL_GPU_MEMORY_POWER_AVERAGE_UW, 85830000},
	{WTL_GPU_ENERGY_UJ, 123456789000},
	{WTL_GPU_LIMIT_UW, 700000000},
	{WTL_GPU_LIMIT_REQUESTED_UW, 700000000},
	{WTL_GPU_LIMIT_DEFAULT_UW, 700000000},
	{WTL_GPU_LIMIT_MIN_UW, 200000000},
	{WTL_GPU_LIMIT_MAX_UW, 700000000},
	{WTL_GPU_USE_PERCENT, 100},
	{WTL_GPU_MEMORY_USE_PERCENT, 11},
	{WTL_GPU_ENCODER_PERCENT, 0},
	{WTL_GPU_DECODER_PERCENT, 0},
	{WTL_GPU_MEMORY_TOTAL_BYTES, UINT64_C(81559) << 20},
	{WTL_GPU_MEMORY_RESERVED_BYTES, (UINT64_C(478) << 20) + 1},
	{WTL_GPU_MEMORY_USED_BYTES, UINT64_C(19818) << 20},
	{WTL_GPU_MEMORY_FREE_BYTES, (UINT64_C(61262) << 20) + 99999},
	{WTL_GPU_TEMPERATURE_C, 59},
	{WTL_GPU_MEMORY_TEMPERATURE_C, 54},
	{WTL_GPU_TEMPERATURE_MARGIN_C, (uint64_t)-3},
	{WTL_GPU_CLOCK_GRAPHICS_MHZ, 1980},
	{WTL_GPU_CLOCK_SM_MHZ, 1980},
	{WTL_GPU_CLOCK_MEMORY_MHZ, 2619},
	{WTL_GPU_CLOCK_VIDEO_MHZ, 1545},
	{WTL_GPU_CLOCK_SM_MAX_MHZ, 1980},
	{WTL_GPU_PSTATE, 0},
	{WTL_GPU_THROTTLE, WTL_THROTTLE_SW_POWER_CAP | WTL_THROTTLE_SW_THERMAL},
	{WTL_GPU_THROTTLE_KNOWN, 0x1ff},
	{WTL_GPU_THROTTLED_SW_POWER_CAP_NS, 212553937499},
	{WTL_GPU_PCIE_GEN, 5},
	{WTL_GPU_PCIE_WIDTH, 16},
	{WTL_GPU_PCIE_TX_BYTES_PER_S, 3092000},
	{WTL_GPU_PCIE_RX_BYTES_PER_S, 6346000},
	{WTL_GPU_PCI_CLASS, 0x0302},
	{WTL_GPU_PERSISTENCE, 1},
	{WTL_GPU_COMPUTE_MODE, 3},
	{WTL_GPU_DISPLAY_ACTIVE, 0},
	{WTL_GPU_DISPLAY_ATTACHED, 1},
	{WTL_GPU_MIG_MODE, 0},
	{WTL_GPU_ECC_MODE, 1},
	{WTL_GPU_ECC_CORRECTED_VOLATILE, 0},
	{WTL_GPU_ADDRESSING_MODE, 1},
	{WTL_GPU_REMAPPED_PENDING, 0},
	{WTL_GPU_REMAPPED_MAX, 2560},
	{WTL_GPU_RECOVERY_ACTION, 0},
	{WTL_GPU_VIRTUALIZATION, 1},
	{WTL_GPU_INFOROM_VALID, 1},
	{WTL_GPU_EDPP_MICROPERCENT, 100000000},
	{WTL_GPU_ECC_SRAM_PARITY_VOLATILE, 0},
	{WTL_GPU_ECC_SRAM_SECDED_AGGREGATE, 2},
	{WTL_GPU_ECC_SRAM_L2, 2},
	{WTL_GPU_ECC_SRAM_EXCEEDED, 0},
	{WTL_GPU_FABRIC_STATE, 3},
	{WTL_GPU_FABRIC_CLIQUE, 4026},
	{WTL_GPU_FABRIC_HEALTH, 2},
	{WTL_GPU_FABRIC_BAD_ROUTE, 1},
	{WTL_GPU_PLATFORM_SLOT, 0},
	{WTL_GPU_PLATFORM_HOST, 1},
	{WTL_GPU_PLATFORM_PEER, 0},
	{WTL_GPU_PLATFORM_GUID, 0},
};

static void fill_h100(struct smi_bench *bench)
{
	struct wtl_gpu *gpu = &bench->gpus[SMI_H100];
	struct wtl_gpu_process *p = bench->processes;

	begin_gpu(gpu, 0, "nvidia", "NVIDIA H100 80GB HBM3");
	COPY(gpu->domain, "gpu-0");
	COPY(gpu->uuid, "GPU-7be2d1aa-90c1-4d8e-a9a0-70f1c2d3e4f5");
	COPY(gpu->serial, "1654922000011");
	COPY(gpu->bus_id, "00000000:1B:00.0");
	COPY(gpu->vbios, "96.00.A5.00.01");
	COPY(gpu->driver, "590.48.01");
	COPY(gpu->pci_device_id, "0x233010DE");
	COPY(gpu->pci_subsystem_id, "0x16C110DE");
	COPY(gpu->compute_capability, "9.0");
	COPY(gpu->inforom_image, "G520.0200.00.05");
	COPY(gpu->fabric_cluster, "9c6f5af3-53bf-49b5-a436-b66766c413c3");
	COPY(gpu->fabric_status, "Success");
	gpu->pci_bus = 0x1b;
	for (size_t i = 0; i < UNIT_COUNT(h100); i++)
		smi_set(gpu, h100[i].number, h100[i].value);
	smi_unset(gpu, WTL_GPU_CLOCK_MEMORY_APPLICATION_MHZ, WATTLE_STATUS_ABSENT, 26);
	smi_unset(gpu, WTL_GPU_FAN_PERCENT, WATTLE_STATUS_ABSENT, 3);
	smi_unset(gpu, WTL_GPU_PERSISTENCE, WATTLE_STATUS_DENIED, 4);
	smi_unset(gpu, WTL_GPU_JPEG_PERCENT, WATTLE_STATUS_FAILED, 999);
	p[0] = (struct wtl_gpu_process){.pid = 11345,
					.types = WTL_GPU_PROCESS_COMPUTE,
					.memory_bytes = UINT64_C(15690) << 20,
					.instance = UINT32_MAX,
					.compute_instance = UINT32_MAX,
					.has_use = true,
					.sm_percent = 99,
					.memory_percent = 10,
					.is_visible = true,
					.name = "./gpu_burn"};
	p[1] = (struct wtl_gpu_process){.pid = 1696,
					.types = WTL_GPU_PROCESS_GRAPHICS,
					.memory_bytes = UINT64_MAX,
					.instance = UINT32_MAX,
					.compute_instance = UINT32_MAX,
					.is_visible = true,
					.name = "/usr/bin/gnome-shell"};
	p[2] = (struct wtl_gpu_process){.pid = 666,
					.types = WTL_GPU_PROCESS_COMPUTE | WTL_GPU_PROCESS_GRAPHICS,
					.memory_bytes = 1,
					.instance = UINT32_MAX,
					.compute_instance = UINT32_MAX,
					.has_use = true,
					.encoder_percent = 13,
					.is_visible = true,
					.name = "/tmp/\033[2Jevil, <b>&\"x\"\n"};
	p[3] = (struct wtl_gpu_process){.pid = 4242,
					.types = WTL_GPU_PROCESS_MPS,
					.memory_bytes = UINT64_C(64) << 20,
					.instance = UINT32_MAX,
					.compute_instance = UINT32_MAX,
					.name = "host pid 4242, not visible here"};
	gpu->processes = p;
	gpu->n_processes = 4;
	bench->meters[SMI_H100] = (struct wtl_look_meter){.has_energy = true,
							  .has_power = true,
							  .energy_uj = 1234567890,
							  .energy_uncertainty_uj = 61728394,
							  .power_uw = 617283945,
							  .power_uncertainty_uw = 30864197};
}

static void fill_others(struct smi_bench *bench)
{
	struct wtl_gpu *lost = &bench->gpus[SMI_LOST], *amd = &bench->gpus[SMI_AMD];

	begin_gpu(lost, 1, "nvidia", "NVIDIA H100 80GB HBM3");
	COPY(lost->uuid, "GPU-00000000-0000-0000-0000-000000000001");
	COPY(lost->bus_id, "00000000:43:00.0");
	COPY(lost->trouble, "the GPU is lost: it fell off the bus");
	lost->pci_bus = 0x43;
	lost->status = lost->processes_status = WATTLE_STATUS_GONE;
	lost->code = 15;
	begin_gpu(amd, 2, "amd", "AMD Radeon RX 7900 XTX");
	COPY(amd->domain, "gpu-1");
	COPY(amd->bus_id, "0000:c1:00.0");
	COPY(amd->driver, "amdgpu");
	amd->pci_bus = 0xc1;
	smi_set(amd, WTL_GPU_POWER_UW, 303004999);
	smi_set(amd, WTL_GPU_POWER_AVERAGE_UW, 303004999);
	smi_set(amd, WTL_GPU_LIMIT_UW, 327000000);
	smi_set(amd, WTL_GPU_USE_PERCENT, 7);
	smi_set(amd, WTL_GPU_TEMPERATURE_C, 91);
	smi_set(amd, WTL_GPU_MEMORY_USED_BYTES, UINT64_C(512) << 20);
	smi_set(amd, WTL_GPU_MEMORY_TOTAL_BYTES, UINT64_C(24560) << 20);
	smi_set(amd, WTL_GPU_FAN_PERCENT, 38);
	smi_set(amd, WTL_GPU_CLOCK_GRAPHICS_MHZ, 2482);
}

static void fill_mig(struct smi_bench *bench)
{
	struct wtl_gpu *gpu = &bench->gpus[SMI_MIG];

	begin_gpu(gpu, 3, "nvidia", "NVIDIA A100-SXM4-40GB");
	COPY(gpu->uuid, "GPU-00000000-0000-0000-0000-000000000003");
	COPY(gpu->bus_id, "00000000:83:00.0");
	gpu->pci_bus = 0x83;
	smi_set(gpu, WTL_GPU_POWER_UW, 71150000);
	smi_set(gpu, WTL_GPU_MIG_MODE, 1);
	bench->migs[0] = (struct wtl_gpu_mig){.index = 0,
					      .instance = 2,
					      .compute_instance = 0,
					      .profile = "3g.40gb",
					      .uuid = "MIG-00000000-0000-0000-0000-000000000000",
					      .memory_total_bytes = UINT64_C(40448) << 20,
					      .memory_used_bytes = UINT64_C(11091) << 20,
					      .multiprocessors = 60};
	bench->migs[1] = (struct wtl_gpu_mig){.index = 11,
					      .instance = UINT32_MAX,
					      .compute_instance = UINT32_MAX,
					      .profile = "1g.10gb+me",
					      .uuid = "MIG-00000001-0000-0000-0000-000000000001",
					      .memory_total_bytes = UINT64_MAX,
					      .memory_used_bytes = UINT64_MAX};
	gpu->migs = bench->migs;
	gpu->n_migs = 2;
	bench->mig_process = (struct wtl_gpu_process){.pid = 21198,
						      .types = WTL_GPU_PROCESS_COMPUTE,
						      .memory_bytes = UINT64_C(7484) << 20,
						      .instance = 2,
						      .compute_instance = 0,
						      .is_visible = true,
						      .name = "./gpu_burn"};
	gpu->processes = &bench->mig_process;
	gpu->n_processes = 1;
}

static void fill_domains(struct smi_bench *bench)
{
	static const struct wattle_domain about[3] = {
		{.name = "package-0",
		 .device = "Intel(R) Xeon(R) Gold 6338",
		 .source = "rapl-perf",
		 .kind = WATTLE_KIND_CPU,
		 .method = WATTLE_METHOD_COUNTER,
		 .in_total = 1},
		{.name = "core-0",
		 .inside = "package-0",
		 .source = "rapl-perf",
		 .kind = WATTLE_KIND_CORE,
		 .method = WATTLE_METHOD_COUNTER},
		{.name = "dram-0",
		 .reason = "no source here measures it",
		 .source = "model",
		 .kind = WATTLE_KIND_DRAM,
		 .method = WATTLE_METHOD_MODELLED,
		 .in_total = 1},
	};

	for (size_t i = 0; i < 3; i++) {
		bench->domains[i].domain = about[i];
		bench->domain_meters[i] =
			(struct wtl_look_meter){.has_energy = true,
						.has_power = true,
						.energy_uj = 145200000 - i * 100000000 / 2,
						.energy_uncertainty_uj = 8700000,
						.power_uw = 145249999 - i * 50000000,
						.power_uncertainty_uw = 8700000};
	}
}

void smi_bench_init(struct smi_bench *bench)
{
	setenv("TZ", "UTC0", 1);
	tzset();
	memset(bench, 0, sizeof(*bench));
	fill_h100(bench);
	fill_others(bench);
	fill_mig(bench);
	fill_domains(bench);
	bench->look = (struct wtl_look){
		.gpus = bench->gpus,
		.n_gpus = SMI_GPUS,
		.n_attached = SMI_GPUS,
		.meters = bench->meters,
		.domains = bench->domains,
		.domain_meters = bench->domain_meters,
		.n_domains = 3,
		.driver = "590.48.01",
		.cuda = "13.1",
		.t_utc_ns = INT64_C(1783116646109) * NS_PER_MS,
		.trouble = "",
	};
}

char *smi_query(const struct wtl_smi_query *query, const char *list, bool header, bool units,
		const struct wtl_look *look)
{
	struct wtl_smi_columns columns;
	const char *bad;
	size_t bad_len;
	struct wtl_buf buf;

	assert_int_equal(wtl_smi_columns_parse(query, list, &columns, &bad, &bad_len), 0);
	columns.header = header;
	columns.units = units;
	wtl_buf_init(&buf, 1 << 20);
	assert_int_equal(wtl_smi_header(&buf, &columns), 0);
	assert_int_equal(wtl_smi_rows(&buf, &columns, look), 0);
	wtl_buf_putc(&buf, '\0');
	assert_int_equal(buf.error, 0);
	return buf.data;
}

char *smi_value(struct smi_bench *bench, size_t gpu, const char *field, bool units)
{
	struct wtl_look look = bench->look;
	char *text;

	look.gpus = &bench->gpus[gpu];
	look.meters = &bench->meters[gpu];
	look.n_gpus = 1;
	text = smi_query(&wtl_smi_query_gpu, field, false, units, &look);
	text[strcspn(text, "\n")] = '\0';
	return text;
}

void smi_check_golden(const char *name, const struct wtl_buf *text)
{
	const char *dir = getenv("WATTLE_GOLDEN");
	char *path, *golden;

	assert_non_null(dir);
	assert_int_equal(text->error, 0);
	path = unit_path(dir, name);
	if (getenv("WATTLE_GOLDEN_UPDATE")) {
		FILE *file = fopen(path, "w");

		assert_non_null(file);
		fwrite(text->data, 1, text->len, file);
		assert_int_equal(fclose(file), 0);
	}
	golden = unit_read(dir, name);
	if (!golden)
		fail_msg("there is no %s", path);
	assert_string_equal(wtl_buf_str(text), golden);
	free(golden);
	free(path);
}

void smi_bench_json(struct wtl_buf *buf, const struct wtl_look *look, bool one_line)
{
	const struct wtl_output_style style = {.append = one_line};
	struct wtl_doc doc;

	wtl_doc_init(&doc);
	wtl_look_doc(&doc, look);
	assert_int_equal(doc.error, 0);
	assert_int_equal(wtl_writer_json.document(buf, &doc, &style), 0);
	wtl_doc_done(&doc);
}
