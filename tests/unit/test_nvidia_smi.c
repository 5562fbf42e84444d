/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "smi/field.h"
#include "smi_bench.h"
#include "unit.h"

static void check_value(struct smi_bench *bench, size_t gpu, const char *field,
			const char *expected)
{
	char *text = smi_value(bench, gpu, field, true);

	assert_string_equal(text, expected);
	free(text);
}

/* ---- Tables ---- */

/* No two fields of a table share a name, and values stay within their objects. */
static void check_table(const struct wtl_smi_query *query)
{
	static const size_t sizes[] = {sizeof(struct wtl_gpu), sizeof(struct wtl_gpu_process),
				       sizeof(struct wtl_gpu_mig)};

	for (const struct wtl_smi_field *field = query->fields; !wtl_smi_is_end(field); field++) {
		if (field->name)
			assert_ptr_equal(
				wtl_smi_field_find(query, field->name, strlen(field->name)), field);
		if (field->alias)
			assert_ptr_equal(
				wtl_smi_field_find(query, field->alias, strlen(field->alias)),
				field);
		assert_true(field->kind->form || field->kind->print || field->kind->text ||
			    !field->doc);
		assert_int_equal(field->kind->form != WTL_SMI_NO_NUMBER,
				 field->place != WTL_SMI_ELSEWHERE);
		assert_true(field->number < WTL_GPU_NUMBERS);
		assert_true(field->offset + field->size <= sizes[field->object]);
		assert_true(field->doc || !field->name || field->kind == &wtl_smi_none);
	}
}

static void test_tables(void **state)
{
	(void)state;
	check_table(&wtl_smi_query_gpu);
	check_table(&wtl_smi_query_apps);
	check_table(&wtl_smi_query_domain);
}

/* ---- Values ---- */

static void test_values(void **state)
{
	static const char *const expected[][2] = {
		{"timestamp", "2026/07/03 22:10:46.109"},
		{"driver_version", "590.48.01"},
		{"kmd_version", "590.48.01"},
		{"count", "4"},
		{"index", "0"},
		{"uuid", "GPU-7be2d1aa-90c1-4d8e-a9a0-70f1c2d3e4f5"},
		{"pci.bus_id", "00000000:1B:00.0"},
		{"pci.domain", "0x0000"},
		{"pci.bus", "0x1B"},
		{"pci.device", "0x00"},
		{"pci.baseClass", "0x3"},
		{"pci.subClass", "0x2"},
		{"pci.device_id", "0x233010DE"},
		{"power.draw", "631.95 W"},
		{"power.draw.instant", "625.68 W"},
		{"gpu.power.current_limit", "700.00 W"},
		{"memory.reserved", "479 MiB"}, /* a byte more than 478: rounded up */
		{"memory.free", "61263 MiB"},
		{"utilization.gpu", "100 %"},
		{"temperature.gpu.tlimit", "-3"},
		{"pstate", "P0"},
		{"clocks_throttle_reasons.active", "0x0000000000000024"},
		{"clocks_event_reasons.supported", "0x00000000000001FF"},
		{"clocks_event_reasons.sw_power_cap", "Active"},
		{"clocks_event_reasons.gpu_idle", "Not Active"},
		{"clocks_event_reasons_counters.sw_power_cap", "212553937 us"},
		{"compute_mode", "Exclusive_Process"},
		{"display_active", "Disabled"},
		{"display_attached", "Yes"},
		{"addressing_mode", "HMM"},
		{"remapped_rows.pending", "No"},
		{"mig.mode.current", "Disabled"},
		{"inforom.image", "G520.0200.00.05"},
		{"energy.total", "123456.789 J"},
		{"energy.window", "1234.568 J"},
		{"energy.window.uncertainty", "61.728 J"},
		{"power.mean", "617.28 W"},
		{"power.uncertainty", "30.86 W"},
		{"cpu.power.draw", "145.25 W"},
		{"dram.power.draw", "45.25 W"},
		{"total.power.draw", "190.50 W"},
		{"pcie.tx", "3092 KB/s"},
	};
	static struct smi_bench bench;

	(void)state;
	smi_bench_init(&bench);
	for (size_t i = 0; i < UNIT_COUNT(expected); i++)
		check_value(&bench, SMI_H100, expected[i][0], expected[i][1]);
}

static void test_what_is_not_known(void **state)
{
	static const char *const expected[][2] = {
		{"fan.speed", "[N/A]"},
		{"gom.current", "[N/A]"},
		{"fabric.health.bandwidth", "N/A"},
		{"platform.tray_index", "[N/A]"},
		{"clocks.applications.memory", "[Requested functionality has been deprecated]"},
		{"power.management", "[Requested functionality has been deprecated]"},
		{"persistence_mode", "[Insufficient Permissions]"},
		{"utilization.jpeg", "[Unknown Error]"},
	};
	static struct smi_bench bench;

	(void)state;
	smi_bench_init(&bench);
	for (size_t i = 0; i < UNIT_COUNT(expected); i++)
		check_value(&bench, SMI_H100, expected[i][0], expected[i][1]);
	smi_unset(&bench.gpus[SMI_H100], WTL_GPU_MEMORY_TEMPERATURE_C, WATTLE_STATUS_ABSENT, 3);
	check_value(&bench, SMI_H100, "temperature.memory", "N/A");
	bench.look.meters = NULL;
	bench.look.domain_meters = NULL;
	check_value(&bench, SMI_H100, "cpu.power.draw", "[N/A]");
	/* A word for a number that there is no word for. */
	smi_set(&bench.gpus[SMI_H100], WTL_GPU_COMPUTE_MODE, 77);
	check_value(&bench, SMI_H100, "compute_mode", "[Unknown Error]");
}

static void test_sums_need_all_their_parts(void **state)
{
	static struct smi_bench bench;

	(void)state;
	smi_bench_init(&bench);
	bench.domain_meters[2].has_power = false;
	check_value(&bench, SMI_H100, "cpu.power.draw", "145.25 W");
	check_value(&bench, SMI_H100, "dram.power.draw", "[N/A]");
	check_value(&bench, SMI_H100, "total.power.draw", "[N/A]");
}

static void test_lost_gpu(void **state)
{
	static struct smi_bench bench;

	(void)state;
	smi_bench_init(&bench);
	check_value(&bench, SMI_LOST, "index", "1");
	check_value(&bench, SMI_LOST, "name", "NVIDIA H100 80GB HBM3");
	check_value(&bench, SMI_LOST, "power.draw", "[GPU is lost]");
	check_value(&bench, SMI_LOST, "pstate", "[GPU is lost]");
	bench.gpus[SMI_LOST].code = 16;
	check_value(&bench, SMI_LOST, "power.draw", "[GPU requires reset]");
	bench.gpus[SMI_LOST].code = 0;
	check_value(&bench, SMI_LOST, "power.draw", "[GPU is lost]");
	bench.gpus[SMI_LOST].status = WATTLE_STATUS_ASLEEP;
	check_value(&bench, SMI_LOST, "power.draw", "[N/A]");
}

static void test_other_makers(void **state)
{
	static struct smi_bench bench;

	(void)state;
	smi_bench_init(&bench);
	check_value(&bench, SMI_AMD, "pci.bus_id", "00000000:C1:00.0");
	check_value(&bench, SMI_AMD, "power.draw", "303.00 W");
	check_value(&bench, SMI_AMD, "driver_version", "amdgpu");
	check_value(&bench, SMI_AMD, "uuid", "[N/A]");
	check_value(&bench, SMI_AMD, "power.management", "[N/A]");
	check_value(&bench, SMI_AMD, "compute_cap", "[N/A]");
	check_value(&bench, SMI_AMD, "fan.speed", "38 %");
}

static void test_apps(void **state)
{
	static struct smi_bench bench;
	char *text;

	(void)state;
	smi_bench_init(&bench);
	text = smi_query(&wtl_smi_query_apps, "gpu_bus_id,pid,process_name,used_gpu_memory", true,
			 true, &bench.look);
	assert_string_equal(text, "gpu_bus_id, pid, process_name, used_gpu_memory [MiB]\n"
				  "00000000:1B:00.0, 11345, ./gpu_burn, 15690 MiB\n"
				  "00000000:1B:00.0, 666, /tmp/?[2Jevil, <b>&\"x\", 1 MiB\n"
				  "00000000:1B:00.0, 4242, [Not Found], 64 MiB\n"
				  "00000000:83:00.0, 21198, ./gpu_burn, 7484 MiB\n");
	free(text);
	bench.processes[0].memory_bytes = UINT64_MAX;
	text = smi_query(&wtl_smi_query_apps, "used_memory", false, false, &bench.look);
	assert_string_equal(text, "[N/A]\n1\n64\n7484\n");
	free(text);
	bench.look.n_gpus = 0;
	text = smi_query(&wtl_smi_query_apps, "pid,name", true, true, &bench.look);
	assert_string_equal(text, "pid, process_name\n");
	free(text);
}

static void test_domains(void **state)
{
	static struct smi_bench bench;
	char *text;

	(void)state;
	smi_bench_init(&bench);
	text = smi_query(&wtl_smi_query_domain,
			 "name,kind,inside,in_total,method,status,power.draw,power.uncertainty,"
			 "energy.window,reason",
			 true, true, &bench.look);
	assert_string_equal(
		text,
		"name, kind, inside, in_total, method, status, power.draw [W], power.uncertainty "
		"[W], energy.window [J], reason\n"
		"package-0, cpu, [N/A], Yes, counter, ok, 145.25 W, 8.70 W, 145.200 J, [N/A]\n"
		"core-0, core, package-0, No, counter, ok, 95.25 W, 8.70 W, 95.200 J, [N/A]\n"
		"dram-0, dram, [N/A], Yes, modelled, ok, 45.25 W, 8.70 W, 45.200 J, "
		"no source here measures it\n");
	free(text);
}

/* ---- Pages ---- */

static void test_golden_pages(void **state)
{
	static struct smi_bench bench;
	static const struct wtl_output_style color = {.color = true}, ascii = {.ascii = true};
	struct wtl_buf buf;

	(void)state;
	smi_bench_init(&bench);
	wtl_buf_init(&buf, 1 << 20);
	wtl_smi_list(&buf, &bench.look);
	smi_check_golden("query.list", &buf);
	wtl_buf_clear(&buf);
	wtl_smi_xml(&buf, &bench.look);
	smi_check_golden("query.xml", &buf);
	wtl_buf_clear(&buf);
	wtl_look_lines(&buf, &bench.look, &ascii);
	smi_check_golden("query.ascii.txt", &buf);
	wtl_buf_clear(&buf);
	wtl_look_lines(&buf, &bench.look, &color);
	smi_check_golden("query.color.txt", &buf);
	wtl_buf_done(&buf);
}

static void test_golden_json(void **state)
{
	static struct smi_bench bench;
	struct wtl_buf buf;

	(void)state;
	smi_bench_init(&bench);
	wtl_buf_init(&buf, 1 << 20);
	smi_bench_json(&buf, &bench.look, false);
	smi_check_golden("query.json", &buf);
	wtl_buf_clear(&buf);
	smi_bench_json(&buf, &bench.look, true);
	assert_ptr_equal(strchr(wtl_buf_str(&buf), '\n'), wtl_buf_str(&buf) + buf.len - 1);
	wtl_buf_done(&buf);
}

static void put_mon(struct wtl_buf *buf, const struct wtl_smi_mon *mon, const struct wtl_look *look)
{
	assert_int_equal(wtl_smi_mon_check(mon), 0);
	assert_int_equal(wtl_smi_mon_header(buf, mon), 0);
	assert_int_equal(wtl_smi_mon_rows(buf, mon, look), 0);
}

static void test_golden_monitors(void **state)
{
	static const struct wtl_smi_mon mons[] = {
		{.select = "puc"},
		{.select = "pucvmet", .date = true, .time = true},
		{.select = "p", .time = true},
		{.processes = true, .select = "u"},
		{.processes = true, .select = "um", .date = true},
		{.processes = true, .select = "m"},
	};
	static struct smi_bench bench;
	struct wtl_buf buf;

	(void)state;
	smi_bench_init(&bench);
	wtl_buf_init(&buf, 1 << 20);
	for (size_t i = 0; i < UNIT_COUNT(mons); i++)
		put_mon(&buf, &mons[i], &bench.look);
	smi_check_golden("query.mon", &buf);
	wtl_buf_done(&buf);
}

/* Every page for a machine without GPUs, and with a buffer that is too small. */
static void test_empty_and_full(void **state)
{
	static const struct wtl_smi_mon mon = {.select = "puc"};
	static const struct wtl_output_style plain;
	static struct smi_bench bench;
	struct wtl_buf buf;

	(void)state;
	smi_bench_init(&bench);
	wtl_buf_init(&buf, 40);
	assert_int_equal(wtl_smi_xml(&buf, &bench.look), -EFBIG);
	wtl_buf_clear(&buf);
	assert_int_equal(wtl_look_lines(&buf, &bench.look, &plain), -EFBIG);
	wtl_buf_clear(&buf);
	assert_int_equal(wtl_smi_mon_rows(&buf, &mon, &bench.look), -EFBIG);
	wtl_buf_clear(&buf);
	assert_int_equal(wtl_smi_list(&buf, &bench.look), -EFBIG);
	wtl_buf_done(&buf);
	memset(&bench.look, 0, sizeof(bench.look));
	bench.look.driver = bench.look.cuda = bench.look.trouble = "";
	wtl_buf_init(&buf, 1 << 16);
	assert_int_equal(wtl_smi_list(&buf, &bench.look), 0);
	assert_int_equal(wtl_smi_mon_rows(&buf, &mon, &bench.look), 0);
	assert_int_equal(buf.len, 0);
	assert_int_equal(wtl_look_lines(&buf, &bench.look, &plain), 0);
	assert_string_equal(wtl_buf_str(&buf), "no GPU\n");
	wtl_buf_clear(&buf);
	bench.look.trouble = "the NVIDIA kernel driver is not loaded";
	wtl_look_lines(&buf, &bench.look, &plain);
	assert_string_equal(wtl_buf_str(&buf), "no GPU: the NVIDIA kernel driver is not loaded\n");
	wtl_buf_done(&buf);
}

/* What the total has beside GPUs, wherever it lies; what failed says so. */
static void test_lines_of_the_total(void **state)
{
	static const struct wtl_output_style plain;
	static struct smi_bench bench;
	struct wtl_buf buf;

	(void)state;
	smi_bench_init(&bench);
	bench.look.n_gpus = 0;
	bench.domains[1].domain.in_total = 1;
	bench.domain_meters[0].has_power = false;
	bench.domains[0].domain.status = WATTLE_STATUS_FAILED;
	wtl_buf_init(&buf, 1 << 16);
	wtl_look_lines(&buf, &bench.look, &plain);
	assert_non_null(strstr(wtl_buf_str(&buf),
			       "\npackage-0 failed, core-0 95.2 ± 8.7 W, dram-0 ~ 45.2 ± 8.7 W\n"));
	wtl_buf_clear(&buf);
	bench.domains[0].domain.status = WATTLE_STATUS_OK;
	bench.domains[1].domain.in_total = 0;
	bench.domains[2].domain.kind = WATTLE_KIND_GPU;
	wtl_look_lines(&buf, &bench.look, &plain);
	assert_non_null(strstr(wtl_buf_str(&buf), "\npackage-0 - W (-: its sensor"));
	wtl_buf_clear(&buf);
	bench.domains[0].domain.in_total = 0;
	wtl_look_lines(&buf, &bench.look, &plain);
	assert_non_null(strstr(wtl_buf_str(&buf), "\nno power of CPUs and memory: see"));
	wtl_buf_done(&buf);
}

/* Nothing that moves a terminal, whatever names say. */
static void test_nothing_raw(void **state)
{
	static const struct wtl_smi_mon mon = {.processes = true, .select = "um"};
	static const struct wtl_output_style plain;
	static struct smi_bench bench;
	struct wtl_buf buf;

	(void)state;
	smi_bench_init(&bench);
	strcpy(bench.gpus[SMI_H100].name, "evil\033]0;x\007\xff\xc3\x28 GPU");
	strcpy(bench.gpus[SMI_H100].uuid, "<GPU>\"&\t");
	strcpy(bench.gpus[SMI_H100].bus_id, "00\033:\"<1");
	wtl_buf_init(&buf, 1 << 20);
	wtl_smi_list(&buf, &bench.look);
	wtl_smi_xml(&buf, &bench.look);
	wtl_look_lines(&buf, &bench.look, &plain);
	wtl_smi_mon_rows(&buf, &mon, &bench.look);
	smi_bench_json(&buf, &bench.look, false);
	for (size_t i = 0; i < buf.len; i++) {
		unsigned char c = (unsigned char)buf.data[i];

		assert_true(c >= 0x20 || c == '\n' || c == '\t');
		assert_int_not_equal(c, 0x7f);
		assert_int_not_equal(c, 0xff);
	}
	wtl_buf_done(&buf);
}

/* ASCII alone where that is asked for; columns by what a terminal shows, not by bytes. */
static void test_lines_of_names_beyond_ascii(void **state)
{
	static const struct wtl_output_style plain, ascii = {.ascii = true};
	static struct smi_bench bench;
	const char *first, *second;
	struct wtl_buf buf;

	(void)state;
	smi_bench_init(&bench);
	bench.look.n_gpus = 2;
	strcpy(bench.gpus[SMI_H100].name, "Grün µ");
	strcpy(bench.gpus[SMI_LOST].name, "Lost 7");
	strcpy(bench.gpus[SMI_H100].processes[0].name, "/bin/日本");
	wtl_buf_init(&buf, 1 << 20);
	wtl_look_lines(&buf, &bench.look, &plain);
	first = strstr(wtl_buf_str(&buf), "Grün µ |");
	second = strstr(wtl_buf_str(&buf), "Lost 7 |");
	assert_non_null(first);
	assert_non_null(second);
	assert_non_null(strstr(first, "日本"));
	wtl_buf_clear(&buf);
	wtl_look_lines(&buf, &bench.look, &ascii);
	assert_non_null(strstr(wtl_buf_str(&buf), "Gr\\xc3\\xbcn u |"));
	assert_non_null(strstr(wtl_buf_str(&buf), "Lost 7        |"));
	for (size_t i = 0; i < buf.len; i++)
		assert_true((unsigned char)buf.data[i] < 0x7f);
	wtl_buf_done(&buf);
}

/* A name that is cut is still UTF-8. */
static void test_monitors_cut_no_character(void **state)
{
	static const struct wtl_smi_mon mon = {.processes = true, .select = "u"};
	static struct smi_bench bench;
	struct wtl_buf buf;

	(void)state;
	smi_bench_init(&bench);
	bench.look.n_gpus = 1;
	bench.gpus[SMI_H100].n_processes = 1;
	strcpy(bench.gpus[SMI_H100].processes[0].name, "/opt/abcdefghijklmné-and-more");
	wtl_buf_init(&buf, 1 << 20);
	wtl_smi_mon_rows(&buf, &mon, &bench.look);
	assert_non_null(strstr(wtl_buf_str(&buf), "    abcdefghijklmn \n"));
	wtl_buf_clear(&buf);
	strcpy(bench.gpus[SMI_H100].processes[0].name, "/opt/abcdefghijklmé-and-more");
	wtl_smi_mon_rows(&buf, &mon, &bench.look);
	assert_non_null(strstr(wtl_buf_str(&buf), "    abcdefghijklmé\n"));
	wtl_buf_done(&buf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tables),
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_what_is_not_known),
		cmocka_unit_test(test_sums_need_all_their_parts),
		cmocka_unit_test(test_lost_gpu),
		cmocka_unit_test(test_other_makers),
		cmocka_unit_test(test_apps),
		cmocka_unit_test(test_domains),
		cmocka_unit_test(test_golden_pages),
		cmocka_unit_test(test_golden_json),
		cmocka_unit_test(test_golden_monitors),
		cmocka_unit_test(test_empty_and_full),
		cmocka_unit_test(test_lines_of_the_total),
		cmocka_unit_test(test_nothing_raw),
		cmocka_unit_test(test_lines_of_names_beyond_ascii),
		cmocka_unit_test(test_monitors_cut_no_character),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
