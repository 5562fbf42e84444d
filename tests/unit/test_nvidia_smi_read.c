/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/config.h"
#include "base/err.h"
#include "smi/field.h"
#include "smi/read.h"
#include "smi_bench.h"
#include "unit.h"

/* What was handed out: copies. */
enum { RECORDS_MAX = 16, PROCESSES_MAX = 8 };

struct heard {
	size_t n;
	struct wtl_gpu gpus[RECORDS_MAX];
	struct wtl_gpu_process processes[RECORDS_MAX][PROCESSES_MAX];
	struct wtl_gpu_mig migs[RECORDS_MAX][2];
	bool has_time[RECORDS_MAX];
	int64_t t_local_ns[RECORDS_MAX];
	char cuda[16];
	int stop_after; /* 0: never */
};

static int hear(void *context, const struct wtl_smi_record *record)
{
	struct heard *heard = context;
	size_t i = heard->n++;

	assert_true(i < RECORDS_MAX);
	heard->gpus[i] = *record->gpu;
	assert_true(record->gpu->n_processes <= PROCESSES_MAX);
	for (size_t k = 0; k < record->gpu->n_processes; k++)
		heard->processes[i][k] = record->gpu->processes[k];
	for (size_t k = 0; k < record->gpu->n_migs && k < 2; k++)
		heard->migs[i][k] = record->gpu->migs[k];
	heard->has_time[i] = record->has_time;
	heard->t_local_ns[i] = record->t_local_ns;
	snprintf(heard->cuda, sizeof(heard->cuda), "%s", record->cuda);
	return heard->stop_after && (int)heard->n == heard->stop_after ? 77 : 0;
}

static struct heard heard;

static int read_csv(const char *text, const char *fields, struct wtl_smi_leftover *leftover)
{
	struct wtl_err err;

	memset(&heard, 0, sizeof(heard));
	return wtl_smi_read_csv(text, strlen(text), fields, hear, &heard, leftover, &err);
}

static void expect(size_t i, enum wtl_gpu_number number, uint64_t value)
{
	assert_int_equal(heard.gpus[i].numbers[number].status, WATTLE_STATUS_OK);
	assert_int_equal(heard.gpus[i].numbers[number].value, value);
}

static void expect_status(size_t i, enum wtl_gpu_number number, enum wattle_status status)
{
	assert_int_equal(heard.gpus[i].numbers[number].status, status);
}

/* ---- CSV ---- */

static void test_csv(void **state)
{
	struct wtl_smi_leftover leftover;

	(void)state;
	assert_int_equal(
		read_csv("timestamp, name, index, power.draw [W], memory.total [MiB], "
			 "utilization.gpu [%], clocks.current.sm [MHz], temperature.gpu, pstate, "
			 "clocks_event_reasons.active, persistence_mode, pci.bus_id, serial\n"
			 "2026/07/03 22:10:46.109, NVIDIA H200, 3, 77.71 W, 143771 MiB, 0 %, 345 "
			 "MHz, 28, P0, 0x0000000000000005, Enabled, 00000000:83:00.0, 165\n",
			 NULL, &leftover),
		0);
	assert_int_equal(heard.n, 1);
	assert_int_equal(leftover.lines + leftover.columns, 0);
	assert_true(heard.has_time[0]);
	assert_int_equal(heard.t_local_ns[0], INT64_C(1783116646109) * 1000000);
	assert_string_equal(heard.gpus[0].name, "NVIDIA H200");
	assert_string_equal(heard.gpus[0].vendor, "nvidia");
	assert_string_equal(heard.gpus[0].serial, "165");
	assert_int_equal(heard.gpus[0].index, 3);
	assert_int_equal(heard.gpus[0].pci_bus, 0x83);
	expect(0, WTL_GPU_POWER_UW, 77710000);
	expect(0, WTL_GPU_MEMORY_TOTAL_BYTES, UINT64_C(143771) << 20);
	expect(0, WTL_GPU_USE_PERCENT, 0);
	expect(0, WTL_GPU_CLOCK_SM_MHZ, 345);
	expect(0, WTL_GPU_PSTATE, 0);
	expect(0, WTL_GPU_THROTTLE, 5);
	expect(0, WTL_GPU_PERSISTENCE, 1);
	/* What the file does not have is absent, not 0. */
	expect_status(0, WTL_GPU_LIMIT_UW, WATTLE_STATUS_ABSENT);
}

/* nounits, no header, aliases, Windows line ends. */
static void test_csv_without_header(void **state)
{
	(void)state;
	assert_int_equal(read_csv("0, 77.71, 143771, [N/A]\r\n1, 80, 143771, 12\r\n",
				  "index,power.draw,memory.total,fan.speed", NULL),
			 0);
	assert_int_equal(heard.n, 2);
	expect(0, WTL_GPU_POWER_UW, 77710000);
	expect_status(0, WTL_GPU_FAN_PERCENT, WATTLE_STATUS_ABSENT);
	expect(1, WTL_GPU_POWER_UW, 80000000);
	expect(1, WTL_GPU_FAN_PERCENT, 12);
	assert_false(heard.has_time[0]);
	assert_int_equal(read_csv("0, 1\n", "index,bogus", NULL), -EINVAL);
	assert_int_equal(read_csv("0, 1\n", "", NULL), -EINVAL);
}

static void test_csv_unknown_words(void **state)
{
	static const struct {
		const char *word;
		enum wattle_status status;
	} words[] = {
		{"[N/A]", WATTLE_STATUS_ABSENT},
		{"N/A", WATTLE_STATUS_ABSENT},
		{"[Not Supported]", WATTLE_STATUS_ABSENT},
		{"Not Supported", WATTLE_STATUS_ABSENT},
		{"[Function Not Found]", WATTLE_STATUS_ABSENT},
		{"[Requested functionality has been deprecated]", WATTLE_STATUS_ABSENT},
		{"", WATTLE_STATUS_ABSENT},
		{"[Unknown Error]", WATTLE_STATUS_FAILED},
		{"ERR!", WATTLE_STATUS_FAILED},
		{"[Insufficient Permissions]", WATTLE_STATUS_DENIED},
		{"[GPU is lost]", WATTLE_STATUS_GONE},
		{"[GPU requires reset]", WATTLE_STATUS_GONE},
		{"rubbish", WATTLE_STATUS_FAILED},
		{"-5 W", WATTLE_STATUS_FAILED},
		{"1e3 W", WATTLE_STATUS_FAILED},
		{"5 MiB", WATTLE_STATUS_FAILED},
		{"99999999999999999999 W", WATTLE_STATUS_FAILED},
	};

	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(words); i++) {
		char text[256];

		snprintf(text, sizeof(text), "index, power.draw [W]\n0, %s\n", words[i].word);
		assert_int_equal(read_csv(text, NULL, NULL), 0);
		assert_int_equal(heard.n, 1);
		expect_status(0, WTL_GPU_POWER_UW, words[i].status);
		assert_int_equal(heard.gpus[0].status, words[i].status == WATTLE_STATUS_GONE
							       ? WATTLE_STATUS_GONE
							       : WATTLE_STATUS_OK);
	}
}

static void test_csv_apps(void **state)
{
	struct wtl_smi_leftover leftover;

	(void)state;
	assert_int_equal(
		read_csv(
			"timestamp, gpu_name, gpu_bus_id, gpu_serial, gpu_uuid, pid, "
			"process_name, used_gpu_memory [MiB]\n"
			"2026/07/03 22:11:09.916, NVIDIA H200, 00000000:83:00.0, 165, GPU-1, 10291, "
			"/opt/a, b, c/memhog, 2566 MiB\n"
			"2026/07/03 22:11:09.916, NVIDIA H200, 00000000:83:00.0, [N/A], GPU-1, 7, "
			"[Not Found], [N/A]\n",
			NULL, &leftover),
		0);
	assert_int_equal(heard.n, 2);
	assert_int_equal(leftover.lines, 0);
	assert_int_equal(heard.processes[0][0].pid, 10291);
	/* nvidia-smi puts no quotes around commas. */
	assert_string_equal(heard.processes[0][0].name, "/opt/a, b, c/memhog");
	assert_int_equal(heard.processes[0][0].memory_bytes, UINT64_C(2566) << 20);
	assert_int_equal(heard.processes[0][0].types, WTL_GPU_PROCESS_COMPUTE);
	assert_string_equal(heard.gpus[0].uuid, "GPU-1");
	assert_int_equal(heard.processes[1][0].memory_bytes, UINT64_MAX);
	assert_string_equal(heard.processes[1][0].name, "");
	assert_string_equal(heard.gpus[1].serial, "");
}

static void test_csv_leftovers(void **state)
{
	struct wtl_smi_leftover leftover;

	(void)state;
	assert_int_equal(read_csv("Unable to determine the device handle for gpu 0000:82:00.0\n"
				  "\n"
				  "index, future.field [XYZ], power.draw [W]\n"
				  "0, 1, 5 W\n"
				  "half a li\n"
				  "0, 1, 2, 3\n"
				  "index, future.field [XYZ], power.draw [W]\n"
				  "1, 1, 6 W",
				  NULL, &leftover),
			 0);
	assert_int_equal(heard.n, 2);
	assert_int_equal(leftover.lines, 3);
	assert_int_equal(leftover.columns, 1);
	for (size_t i = 0; i < 3; i++) {
		static const size_t lines[] = {1, 5, 6};

		assert_int_equal(leftover.first[i].line, lines[i]);
		assert_null(leftover.first[i].column);
	}
	expect(0, WTL_GPU_POWER_UW, 5000000);
	expect(1, WTL_GPU_POWER_UW, 6000000);
}

/* A row that repeats a bad value counts again; a word for what is not known does not. */
static void test_csv_values_that_are_none(void **state)
{
	struct wtl_smi_leftover leftover;

	(void)state;
	assert_int_equal(read_csv("index, power.draw [W]\n"
				  "0, -5 W\n"
				  "0, -5 W\n"
				  "0, [Unknown Error]\n"
				  "0, 6 W\n",
				  NULL, &leftover),
			 0);
	assert_int_equal(leftover.lines, 2);
	assert_int_equal(leftover.first[1].line, 3);
	assert_string_equal(leftover.first[1].column, "power.draw");
	assert_string_equal(leftover.first[1].value, "-5 W");
}

static void test_csv_refused(void **state)
{
	struct wtl_err err = {.code = 0};

	(void)state;
	assert_int_equal(read_csv("", NULL, NULL), -WTL_EFORMAT);
	assert_int_equal(read_csv("No devices were found\n", NULL, NULL), -WTL_EFORMAT);
	assert_int_equal(
		wtl_smi_read_csv("", (size_t)WTL_SMI_TEXT_MAX + 1, NULL, hear, &heard, NULL, &err),
		-EFBIG);
	assert_true(err.text[0]);
	memset(&heard, 0, sizeof(heard));
	heard.stop_after = 1;
	assert_int_equal(wtl_smi_read_csv("index\n0\n1\n", 10, NULL, hear, &heard, NULL, &err), 77);
	assert_int_equal(heard.n, 1);
}

static void test_csv_bad_times(void **state)
{
	static const char *const times[] = {"2026/13/03 22:10:46.109",
					    "2026/07/03 25:10:46.109",
					    "2026-07-03 22:10:46.109",
					    "2026/07/03",
					    "1026/07/03 22:10:46.109",
					    "2026/07/03 22:10:46.109 and so on",
					    "yesterday"};

	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(times); i++) {
		char text[128];

		snprintf(text, sizeof(text), "timestamp, index\n%s, 1\n", times[i]);
		assert_int_equal(read_csv(text, NULL, NULL), 0);
		assert_false(heard.has_time[0]);
		assert_int_equal(heard.gpus[0].index, 1);
	}
}

/* ---- There and back ---- */

static bool is_rounded(enum wtl_gpu_number number)
{
	return number == WTL_GPU_MEMORY_RESERVED_BYTES || number == WTL_GPU_MEMORY_FREE_BYTES ||
	       number == WTL_GPU_POWER_INSTANT_UW || number == WTL_GPU_POWER_UW ||
	       number == WTL_GPU_POWER_AVERAGE_UW || number == WTL_GPU_THROTTLED_SW_POWER_CAP_NS;
}

static uint64_t step_of(enum wtl_gpu_number number)
{
	if (number == WTL_GPU_MEMORY_RESERVED_BYTES || number == WTL_GPU_MEMORY_FREE_BYTES)
		return 1 << 20;
	return number == WTL_GPU_THROTTLED_SW_POWER_CAP_NS ? 1000 : 10000;
}

static void compare_numbers(const struct wtl_gpu *gpu, const struct wtl_gpu *back)
{
	for (unsigned i = 0; i < WTL_GPU_NUMBERS; i++) {
		const struct wtl_gpu_value *was = &gpu->numbers[i], *is = &back->numbers[i];

		if (was->status == WATTLE_STATUS_OK && is->status == WATTLE_STATUS_OK &&
		    is_rounded(i)) {
			int64_t off = (int64_t)(is->value - was->value);

			assert_true((uint64_t)(off < 0 ? -off : off) < step_of(i));
			continue;
		}
		if (was->status != is->status ||
		    (was->status == WATTLE_STATUS_OK && was->value != is->value))
			fail_msg("number %u: was %d %llu, came back as %d %llu", i, was->status,
				 (unsigned long long)was->value, is->status,
				 (unsigned long long)is->value);
	}
}

/* Every field that can be read, written by the one and read by the other. */
static void test_csv_there_and_back(void **state)
{
	static struct smi_bench bench;
	char list[16384] = "", *text;
	struct wtl_smi_leftover leftover;

	(void)state;
	smi_bench_init(&bench);
	for (const struct wtl_smi_field *field = wtl_smi_gpu_fields; !wtl_smi_is_end(field);
	     field++) {
		strcat(list, list[0] && field->name ? "," : "");
		strcat(list, field->name ? field->name : "");
	}
	text = smi_query(&wtl_smi_query_gpu, list, true, true, &bench.look);
	assert_int_equal(read_csv(text, NULL, &leftover), 0);
	assert_int_equal(leftover.columns + leftover.lines, 0);
	assert_int_equal(heard.n, SMI_GPUS);
	compare_numbers(&bench.gpus[SMI_H100], &heard.gpus[SMI_H100]);
	compare_numbers(&bench.gpus[SMI_AMD], &heard.gpus[SMI_AMD]);
	assert_int_equal(heard.gpus[SMI_LOST].status, WATTLE_STATUS_GONE);
	assert_string_equal(heard.gpus[SMI_H100].uuid, bench.gpus[SMI_H100].uuid);
	assert_string_equal(heard.gpus[SMI_H100].pci_device_id, "0x233010DE");
	assert_string_equal(heard.gpus[SMI_H100].driver, "590.48.01");
	assert_string_equal(heard.gpus[SMI_H100].inforom_image, "G520.0200.00.05");
	assert_int_equal(heard.t_local_ns[0], bench.look.t_utc_ns);
	free(text);
}

/* ---- Real outputs ---- */

static const char *const captures[] = {
	"nvidia-smi/nvidia-geforce-rtx-2080-super__595.71.05.txt",
	"nvidia-smi/nvidia-h100-80gb-hbm3__590.48.01.txt",
	"nvidia-smi/nvidia-h100-mig__590.48.01.txt",
	"nvidia-smi/nvidia-l40s__595.80.txt",
};

/* A section of a capture, its header and rows, ended by an empty line; NULL past the last one. */
static char *next_section(char **at, const char *title)
{
	char *found = strstr(*at, title), *begin, *end;

	if (!found)
		return NULL;
	begin = strstr(found, "\n####");
	assert_non_null(begin);
	begin = strchr(begin + 1, '\n') + 1;
	end = strstr(begin, "\n\n");
	assert_non_null(end);
	end[1] = '\0';
	*at = end + 2;
	return begin;
}

/* Printed again, a value that was read is as it was; a field that cannot be read is not looked at. */
static void compare_row(const char *names, const char *row, const struct wtl_gpu *gpu)
{
	const struct wtl_look look = {
		.gpus = gpu, .n_gpus = 1, .n_attached = 1, .driver = "", .cuda = "", .trouble = ""};
	const char *end = strchr(names, '\n');
	size_t n = 0;

	while (names < end) {
		size_t name_len = strcspn(names, " ,\n"), value_len;
		const struct wtl_smi_field *field =
			wtl_smi_field_find(&wtl_smi_query_gpu, names, name_len);
		const char *comma = strstr(row, ", ");

		assert_non_null(field);
		value_len = comma ? (size_t)(comma - row) : strcspn(row, "\n");
		if (wtl_smi_is_readable(field) && field->kind != &wtl_smi_timestamp &&
		    strncmp(row, "[Req", 4) != 0) {
			char *text = smi_query(&wtl_smi_query_gpu, field->name, false, true, &look);

			text[strcspn(text, "\n")] = '\0';
			if (strlen(text) != value_len || strncmp(text, row, value_len) != 0)
				fail_msg("%s: was '%.*s', came back as '%s'", field->name,
					 (int)value_len, row, text);
			free(text);
			n++;
		}
		names += strcspn(names, ",\n") + 2;
		row += value_len + 2;
	}
	assert_true(n > 100);
}

static void test_real_csv(void **state)
{
	const char *data = getenv("WATTLE_SHARED_DATA");
	size_t n = 0;

	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(captures); i++) {
		char *text = data ? unit_read(data, captures[i]) : NULL, *at = text, *csv;
		struct wtl_smi_leftover leftover;

		if (!text) {
			print_message("skipped: there is no %s\n", captures[i]);
			skip();
		}
		while ((csv = next_section(&at, ":: query-gpu (csv"))) {
			assert_int_equal(read_csv(csv, NULL, &leftover), 0);
			assert_int_equal(leftover.lines + leftover.columns, 0);
			assert_int_equal(heard.n, 1);
			assert_true(heard.has_time[0]);
			compare_row(csv, strchr(csv, '\n') + 1, &heard.gpus[0]);
			n++;
		}
		free(text);
	}
	assert_int_equal(n, 2 * UNIT_COUNT(captures));
}

static void test_real_apps(void **state)
{
	const char *data = getenv("WATTLE_SHARED_DATA");
	size_t n = 0;

	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(captures); i++) {
		char *text = data ? unit_read(data, captures[i]) : NULL, *at = text, *csv;

		if (!text) {
			print_message("skipped: there is no %s\n", captures[i]);
			skip();
		}
		while ((csv = next_section(&at, ":: query-compute-apps"))) {
			assert_int_equal(read_csv(csv, NULL, NULL), 0);
			for (size_t k = 0; k < heard.n; k++, n++) {
				assert_true(heard.processes[k][0].pid > 1);
				assert_true(heard.processes[k][0].name[0]);
				assert_true(heard.processes[k][0].memory_bytes != UINT64_MAX);
			}
		}
		free(text);
	}
	assert_int_equal(n, 10); /* processes under load */
}

#if HAVE_EXPAT

/* ---- XML ---- */

static int read_xml(const char *text, struct wtl_smi_leftover *leftover)
{
	struct wtl_err err;

	memset(&heard, 0, sizeof(heard));
	return wtl_smi_read_xml(text, strlen(text), hear, &heard, leftover, &err);
}

#define HEAD(version)                                                                        \
	"<?xml version=\"1.0\" ?>\n<!DOCTYPE nvidia_smi_log SYSTEM \"nvsmi_device_v" version \
	".dtd\">\n<nvidia_smi_log>\n\t<timestamp>Mon Oct 13 00:25:36 2025</timestamp>\n"

/* Drivers up to 530. */
static const char v11[] = HEAD("11") "<driver_version>470.57.02</driver_version>\n"
				     "<cuda_version>11.4</cuda_version>\n"
				     "<attached_gpus>1</attached_gpus>\n"
				     "<gpu id=\"00000000:17:00.0\">\n"
				     "<product_name>Tesla V100-SXM2-32GB</product_name>\n"
				     "<uuid>GPU-11</uuid>\n"
				     "<persistence_mode>Enabled</persistence_mode>\n"
				     "<fan_speed>N/A</fan_speed>\n"
				     "<performance_state>P2</performance_state>\n"
				     "<clocks_throttle_reasons>\n"
				     "<clocks_throttle_reason_gpu_idle>Active"
				     "</clocks_throttle_reason_gpu_idle>\n"
				     "<clocks_throttle_reason_sw_power_cap>Not Active"
				     "</clocks_throttle_reason_sw_power_cap>\n"
				     "</clocks_throttle_reasons>\n"
				     "<fb_memory_usage><total>32510 MiB</total><used>9 MiB</used>"
				     "<free>32501 MiB</free></fb_memory_usage>\n"
				     "<power_readings><power_state>P2</power_state>"
				     "<power_management>Supported</power_management>"
				     "<power_draw>56.02 W</power_draw><power_limit>300.00 W"
				     "</power_limit><enforced_power_limit>250.00 W"
				     "</enforced_power_limit></power_readings>\n"
				     "<processes></processes>\n"
				     "</gpu></nvidia_smi_log>\n";

static void test_xml_v11(void **state)
{
	struct wtl_smi_leftover leftover;

	(void)state;
	assert_int_equal(read_xml(v11, &leftover), 0);
	assert_int_equal(heard.n, 1);
	assert_int_equal(leftover.lines, 0);
	assert_string_equal(heard.gpus[0].name, "Tesla V100-SXM2-32GB");
	assert_string_equal(heard.gpus[0].driver, "470.57.02");
	assert_string_equal(heard.cuda, "11.4");
	assert_int_equal(heard.gpus[0].pci_bus, 0x17);
	assert_true(heard.has_time[0]);
	assert_int_equal(heard.t_local_ns[0], INT64_C(1760315136) * 1000000000);
	expect(0, WTL_GPU_POWER_UW, 56020000);
	expect(0, WTL_GPU_LIMIT_REQUESTED_UW, 300000000);
	expect(0, WTL_GPU_LIMIT_UW, 250000000);
	expect(0, WTL_GPU_THROTTLE, WTL_THROTTLE_IDLE);
	expect(0, WTL_GPU_PSTATE, 2);
	expect(0, WTL_GPU_MEMORY_USED_BYTES, 9 << 20);
	expect_status(0, WTL_GPU_FAN_PERCENT, WATTLE_STATUS_ABSENT);
	assert_int_equal(heard.gpus[0].processes_status, WATTLE_STATUS_OK);
}

/* 535 to 575: power_draw, then average_ and instant_power_draw. */
static const char v12[] =
	HEAD("12") "<driver_version>570.124</driver_version><cuda_version>12.8</cuda_version>"
		   "<gpu id=\"00000000:01:00.0\"><product_name>NVIDIA L40S</product_name>"
		   "<clocks_event_reasons><clocks_event_reason_hw_slowdown>Active"
		   "</clocks_event_reason_hw_slowdown></clocks_event_reasons>"
		   "<temperature><gpu_temp>41 C</gpu_temp><gpu_temp_tlimit>-7 C</gpu_temp_tlimit>"
		   "<memory_temp>N/A</memory_temp></temperature>"
		   "<gpu_power_readings><power_state>P8</power_state>"
		   "<average_power_draw>110.24 W</average_power_draw>"
		   "<instant_power_draw>110.01 W</instant_power_draw>"
		   "<current_power_limit>350.00 W</current_power_limit></gpu_power_readings>"
		   "<module_power_readings><average_power_draw>N/A</average_power_draw>"
		   "</module_power_readings>"
		   "<processes><process_info><gpu_instance_id>N/A</gpu_instance_id>"
		   "<compute_instance_id>N/A</compute_instance_id><pid>20037</pid><type>C</type>"
		   "<process_name>a &lt;b&gt; &amp; c</process_name>"
		   "<used_memory>538 MiB</used_memory></process_info>"
		   "<process_info><gpu_instance_id>2</gpu_instance_id>"
		   "<compute_instance_id>0</compute_instance_id><pid>9</pid><type>C+G</type>"
		   "<process_name>x</process_name><used_memory>N/A</used_memory>"
		   "</process_info></processes></gpu></nvidia_smi_log>\n";

static void test_xml_v12(void **state)
{
	(void)state;
	assert_int_equal(read_xml(v12, NULL), 0);
	assert_int_equal(heard.n, 1);
	expect(0, WTL_GPU_POWER_AVERAGE_UW, 110240000);
	expect(0, WTL_GPU_POWER_INSTANT_UW, 110010000);
	expect(0, WTL_GPU_TEMPERATURE_MARGIN_C, (uint64_t)-7);
	expect(0, WTL_GPU_THROTTLE, WTL_THROTTLE_HW_SLOWDOWN);
	expect_status(0, WTL_GPU_MEMORY_TEMPERATURE_C, WATTLE_STATUS_ABSENT);
	expect_status(0, WTL_GPU_MODULE_POWER_AVERAGE_UW, WATTLE_STATUS_ABSENT);
	assert_int_equal(heard.gpus[0].n_processes, 2);
	assert_int_equal(heard.processes[0][0].pid, 20037);
	assert_string_equal(heard.processes[0][0].name, "a <b> & c");
	assert_int_equal(heard.processes[0][0].memory_bytes, UINT64_C(538) << 20);
	assert_int_equal(heard.processes[0][0].instance, UINT32_MAX);
	assert_int_equal(heard.processes[0][1].instance, 2);
	assert_int_equal(heard.processes[0][1].compute_instance, 0);
	assert_int_equal(heard.processes[0][1].types,
			 WTL_GPU_PROCESS_COMPUTE | WTL_GPU_PROCESS_GRAPHICS);
	assert_int_equal(heard.processes[0][1].memory_bytes, UINT64_MAX);
}

static void test_xml_v12_before_570(void **state)
{
	(void)state;
	assert_int_equal(read_xml(HEAD("12") "<gpu id=\"00000000:01:00.0\"><gpu_power_readings>"
					     "<power_draw>77.10 W</power_draw></gpu_power_readings>"
					     "</gpu></nvidia_smi_log>",
				  NULL),
			 0);
	expect(0, WTL_GPU_POWER_UW, 77100000);
}

/* 580 and later: other names for the versions. */
static void test_xml_v13(void **state)
{
	(void)state;
	assert_int_equal(read_xml(HEAD("13") "<kmd_version>610.10</kmd_version>"
					     "<cuda_umd_version>13.3</cuda_umd_version>"
					     "<gpu id=\"00000000:01:00.0\"><gpu_power_readings>"
					     "<average_power_draw>1 W</average_power_draw>"
					     "</gpu_power_readings></gpu></nvidia_smi_log>",
				  NULL),
			 0);
	assert_string_equal(heard.gpus[0].driver, "610.10");
	assert_string_equal(heard.cuda, "13.3");
	expect(0, WTL_GPU_POWER_AVERAGE_UW, 1000000);
}

/* A message before the declaration, and bodies that say so. */
static void test_xml_of_a_lost_gpu(void **state)
{
	struct wtl_smi_leftover leftover;

	(void)state;
	assert_int_equal(
		read_xml("Unable to determine the device handle for GPU0: 0000:82:00.0: GPU is "
			 "lost.  Reboot the system to recover this GPU\n" HEAD(
				 "12") "<gpu id=\"00000000:82:00.0\"><product_name>GPU is lost"
				       "</product_name><uuid>GPU is lost</uuid><performance_state>"
				       "GPU is lost</performance_state><gpu_power_readings>"
				       "<power_draw>GPU is lost</power_draw></gpu_power_readings>"
				       "</gpu></nvidia_smi_log>\n",
			 &leftover),
		0);
	assert_int_equal(heard.n, 1);
	assert_int_equal(leftover.lines, 1);
	assert_int_equal(heard.gpus[0].status, WATTLE_STATUS_GONE);
	assert_string_equal(heard.gpus[0].name, "");
	expect_status(0, WTL_GPU_POWER_UW, WATTLE_STATUS_GONE);
	expect_status(0, WTL_GPU_PSTATE, WATTLE_STATUS_GONE);
}

/* nvidia-smi -q -x -l: one document after the other. */
static void test_xml_documents_in_a_row(void **state)
{
	char *text = malloc(2 * sizeof(v11) + sizeof(v12) + 64);
	struct wtl_smi_leftover leftover;

	(void)state;
	assert_non_null(text);
	sprintf(text, "%s\nsome warning\n%s%s\nthe end\n", v11, v12, v11);
	assert_int_equal(read_xml(text, &leftover), 0);
	assert_int_equal(heard.n, 3);
	assert_int_equal(leftover.lines, 2);
	assert_string_equal(heard.gpus[0].name, heard.gpus[2].name);
	assert_int_equal(heard.gpus[2].n_processes, 0);
	expect_status(2, WTL_GPU_TEMPERATURE_MARGIN_C, WATTLE_STATUS_ABSENT);
	free(text);
}

static void test_xml_refused(void **state)
{
	static const char *const texts[] = {
		"",
		"no xml at all",
		"<?xml version=\"1.0\" ?>",
		"<?xml version=\"1.0\" ?><nvidia_smi_log><gpu></nvidia_smi_log>",
		"<?xml version=\"1.0\" ?><nvidia_smi_log>",
		"<?xml version=\"1.0\" ?><nvidia_smi_log>&bogus;</nvidia_smi_log>",
		"<?xml version=\"1.0\" ?><!DOCTYPE nvidia_smi_log [<!ENTITY a \"aaaa\">]>"
		"<nvidia_smi_log>&a;</nvidia_smi_log>",
		"<?xml version=\"1.0\" ?><!DOCTYPE x [<!ENTITY a SYSTEM \"/etc/passwd\">]>"
		"<nvidia_smi_log>&a;</nvidia_smi_log>",
	};

	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(texts); i++)
		assert_int_equal(read_xml(texts[i], NULL), -WTL_EFORMAT);
	assert_int_equal(heard.n, 0);
}

/* A name that XML cannot hold as it is, written and read. */
static void test_xml_of_hostile_names(void **state)
{
	static struct smi_bench bench;
	struct wtl_buf text;

	(void)state;
	smi_bench_init(&bench);
	strcpy(bench.processes[0].name,
	       "\xef\xbf\xbe\xef\xbf\xbf \x01]]>&#1;<!--\xff \xed\xa0\x80");
	strcpy(bench.gpus[SMI_AMD].bus_id, "0000:c\"\x01<&");
	wtl_buf_init(&text, 1 << 20);
	assert_int_equal(wtl_smi_xml(&text, &bench.look), 0);
	assert_int_equal(read_xml(wtl_buf_str(&text), NULL), 0);
	assert_int_equal(heard.processes[SMI_H100][3].pid,
			 bench.processes[0].pid); /* the highest */
	assert_string_equal(heard.processes[SMI_H100][3].name, "?????? ?]]>&#1;<!--? ???");
	assert_string_equal(heard.gpus[SMI_AMD].bus_id, "");
	wtl_buf_done(&text);
}

/* Elements without end, values without end. */
static void test_xml_is_bounded(void **state)
{
	enum { DEPTH = 600, LONG = 100000 };
	struct wtl_buf text;

	(void)state;
	wtl_buf_init(&text, 1 << 20);
	wtl_buf_puts(&text, "<?xml version=\"1.0\" ?><nvidia_smi_log>");
	for (size_t i = 0; i < DEPTH; i++)
		wtl_buf_puts(&text, "<a>");
	assert_int_equal(read_xml(wtl_buf_str(&text), NULL), -WTL_EFORMAT);
	wtl_buf_clear(&text);
	wtl_buf_puts(&text, HEAD("12") "<gpu id=\"00000000:01:00.0\"><product_name>");
	for (size_t i = 0; i < LONG; i++)
		wtl_buf_putc(&text, 'x');
	wtl_buf_puts(&text, "</product_name><uuid>GPU-1</uuid></gpu></nvidia_smi_log>");
	assert_int_equal(read_xml(wtl_buf_str(&text), NULL), 0);
	assert_string_equal(heard.gpus[0].name, ""); /* a part of a name is no name */
	assert_string_equal(heard.gpus[0].uuid, "GPU-1");
	wtl_buf_done(&text);
}

static void test_xml_stops_when_told(void **state)
{
	struct wtl_err err;

	(void)state;
	memset(&heard, 0, sizeof(heard));
	heard.stop_after = 1;
	assert_int_equal(wtl_smi_read_xml(v11, sizeof(v11) - 1, hear, &heard, NULL, &err), 77);
	assert_int_equal(heard.n, 1);
}

static void test_xml_there_and_back(void **state)
{
	static struct smi_bench bench;
	static struct heard first;
	struct wtl_buf text;

	(void)state;
	smi_bench_init(&bench);
	wtl_buf_init(&text, 1 << 20);
	assert_int_equal(wtl_smi_xml(&text, &bench.look), 0);
	assert_int_equal(read_xml(wtl_buf_str(&text), NULL), 0);
	assert_int_equal(heard.n, SMI_GPUS);
	assert_int_equal(heard.gpus[SMI_LOST].status, WATTLE_STATUS_GONE);
	assert_string_equal(heard.gpus[SMI_H100].name, "NVIDIA H100 80GB HBM3");
	assert_string_equal(heard.gpus[SMI_AMD].bus_id, "00000000:C1:00.0");
	expect(SMI_H100, WTL_GPU_LIMIT_UW, 700000000);
	expect(SMI_H100, WTL_GPU_PCIE_WIDTH, 16);
	expect(SMI_H100, WTL_GPU_REMAPPED_MAX, 2560);
	expect(SMI_H100, WTL_GPU_THROTTLE, WTL_THROTTLE_SW_POWER_CAP | WTL_THROTTLE_SW_THERMAL);
	expect(SMI_H100, WTL_GPU_PCIE_RX_BYTES_PER_S, 6346000);
	expect_status(SMI_H100, WTL_GPU_PERSISTENCE, WATTLE_STATUS_DENIED);
	assert_int_equal(heard.gpus[SMI_H100].n_processes, 4);
	/* In the order of their numbers. */
	for (size_t i = 1; i < 4; i++)
		assert_true(heard.processes[SMI_H100][i - 1].pid <
			    heard.processes[SMI_H100][i].pid);
	assert_int_equal(heard.processes[SMI_H100][2].types, WTL_GPU_PROCESS_MPS);
	assert_int_equal(heard.gpus[SMI_MIG].n_migs, 2);
	assert_int_equal(heard.migs[SMI_MIG][0].memory_used_bytes, UINT64_C(11091) << 20);
	assert_int_equal(heard.migs[SMI_MIG][1].instance, UINT32_MAX);
	/* What was read, written again and read again, is the same. */
	first = heard;
	for (size_t i = 0; i < SMI_GPUS; i++) {
		first.gpus[i].processes = first.processes[i];
		first.gpus[i].migs = first.migs[i];
	}
	bench.look.gpus = first.gpus;
	wtl_buf_clear(&text);
	assert_int_equal(wtl_smi_xml(&text, &bench.look), 0);
	assert_int_equal(read_xml(wtl_buf_str(&text), NULL), 0);
	for (size_t i = 0; i < SMI_GPUS; i++) {
		for (size_t k = 0; k < WTL_GPU_NUMBERS; k++) {
			const struct wtl_gpu_value *value = &heard.gpus[i].numbers[k];

			assert_int_equal(first.gpus[i].numbers[k].status, value->status);
			if (value->status == WATTLE_STATUS_OK)
				assert_int_equal(first.gpus[i].numbers[k].value, value->value);
		}
		assert_int_equal(first.gpus[i].n_processes, heard.gpus[i].n_processes);
		for (size_t k = 0; k < heard.gpus[i].n_processes; k++) {
			const struct wtl_gpu_process *a = &first.processes[i][k];
			const struct wtl_gpu_process *b = &heard.processes[i][k];

			assert_memory_equal(a, b, offsetof(struct wtl_gpu_process, has_use));
			assert_int_equal(a->has_use, b->has_use);
			assert_int_equal(a->is_visible, b->is_visible);
			assert_string_equal(a->name, b->name);
		}
		assert_string_equal(first.gpus[i].uuid, heard.gpus[i].uuid);
	}
	wtl_buf_done(&text);
}

#else

static void test_xml_not_built(void **state)
{
	(void)state;
	assert_int_equal(wtl_smi_read_xml("", 0, hear, &heard, NULL, NULL), -EOPNOTSUPP);
}

#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_csv),
		cmocka_unit_test(test_csv_without_header),
		cmocka_unit_test(test_csv_unknown_words),
		cmocka_unit_test(test_csv_apps),
		cmocka_unit_test(test_csv_leftovers),
		cmocka_unit_test(test_csv_values_that_are_none),
		cmocka_unit_test(test_csv_refused),
		cmocka_unit_test(test_csv_bad_times),
		cmocka_unit_test(test_csv_there_and_back),
		cmocka_unit_test(test_real_csv),
		cmocka_unit_test(test_real_apps),
#if HAVE_EXPAT
		cmocka_unit_test(test_xml_v11),
		cmocka_unit_test(test_xml_v12),
		cmocka_unit_test(test_xml_v12_before_570),
		cmocka_unit_test(test_xml_v13),
		cmocka_unit_test(test_xml_of_a_lost_gpu),
		cmocka_unit_test(test_xml_documents_in_a_row),
		cmocka_unit_test(test_xml_refused),
		cmocka_unit_test(test_xml_of_hostile_names),
		cmocka_unit_test(test_xml_is_bounded),
		cmocka_unit_test(test_xml_stops_when_told),
		cmocka_unit_test(test_xml_there_and_back),
#else
		cmocka_unit_test(test_xml_not_built),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
