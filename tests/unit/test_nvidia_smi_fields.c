/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/config.h"
#include "smi/field.h"
#include "smi/read.h"
#include "smi_bench.h"
#include "unit.h"

/* Every number of struct wtl_gpu, one at a time, in all forms that have it. */

/* No form rounds it. */
#define LARGE (UINT64_C(10000) << 20)

/* A GPU of which one number is known. */
static void only(struct smi_bench *bench, enum wtl_gpu_number number, uint64_t value)
{
	struct wtl_gpu *gpu = &bench->gpus[SMI_AMD];

	for (size_t i = 0; i < WTL_GPU_NUMBERS; i++)
		smi_unset(gpu, i, WATTLE_STATUS_ABSENT, 0);
	smi_set(gpu, number, value);
	bench->look.gpus = gpu;
	bench->look.n_gpus = 1;
}

static uint64_t value_of(const struct wtl_smi_field *field)
{
	if (field->mask)
		return field->mask;
	return field->kind->form == WTL_SMI_WORD ? 1 : LARGE;
}

/* The next field with a number of the GPU, or NULL; of NULL the first one. */
static const struct wtl_smi_field *next_number(const struct wtl_smi_field *field)
{
	field = field ? field + 1 : wtl_smi_gpu_fields;
	while (!wtl_smi_is_end(field) && field->place != WTL_SMI_NUMBER)
		field++;
	return wtl_smi_is_end(field) ? NULL : field;
}

/* A line "column=value" a column. */
static int put_columns(struct wtl_buf *buf, const struct wtl_look *look)
{
	for (const struct wtl_smi_field *field = wtl_smi_gpu_fields; !wtl_smi_is_end(field);
	     field++) {
		char *text;

		if (!field->name)
			continue;
		text = smi_query(&wtl_smi_query_gpu, field->name, false, true, look);
		wtl_buf_printf(buf, "%s=%s", field->name, text);
		free(text);
	}
	return buf->error;
}

static int put_json(struct wtl_buf *buf, const struct wtl_look *look)
{
	smi_bench_json(buf, look, false);
	return 0;
}

static int put_log(struct wtl_buf *buf, const struct wtl_look *look)
{
	return wtl_smi_log(buf, look, 0);
}

/* Lines with a value that are not in `before`, each behind the last line without one: its folder. */
static void put_places(struct wtl_buf *places, const char *before, char *after)
{
	const char *folder = "";

	for (char *line; (line = strsep(&after, "\n"));) {
		char whole[512];

		snprintf(whole, sizeof(whole), "\n%s\n", line);
		line += strspn(line, " \t");
		if ((isalpha((unsigned char)line[0]) || line[0] == '<') && !strstr(line, " : ") &&
		    !strstr(line, "</") && !strchr(line, '='))
			folder = line;
		if (!line[0] || strstr(before, whole) || strstr(line, "N/A") ||
		    strstr(line, "not supported"))
			continue;
		wtl_buf_puts(places,
			     places->len && places->data[places->len - 1] != '\n' ? " | " : "");
		wtl_buf_printf(places, "%s%s", folder, folder[0] ? " " : "");
		for (; *line; line++)
			if (strncmp(line, "  ", 2) != 0)
				wtl_buf_putc(places, *line);
	}
}

/* Where each number shows, in the order of the enum: a mix-up of two is a difference. */
static void test_places_of_every_number(void **state)
{
	static int (*const forms[])(struct wtl_buf *, const struct wtl_look *) = {
		put_columns, put_log, wtl_smi_xml, put_json};
	static struct smi_bench bench;
	struct wtl_buf before[UNIT_COUNT(forms)], after, places;

	(void)state;
	smi_bench_init(&bench);
	wtl_buf_init(&after, 1 << 20);
	wtl_buf_init(&places, 1 << 20);
	only(&bench, 0, 0);
	smi_unset(&bench.gpus[SMI_AMD], 0, WATTLE_STATUS_ABSENT, 0);
	for (size_t i = 0; i < UNIT_COUNT(forms); i++) {
		wtl_buf_init(&before[i], 1 << 20);
		wtl_buf_puts(&before[i], "\n");
		assert_int_equal(forms[i](&before[i], &bench.look), 0);
	}
	for (size_t number = 0; number < WTL_GPU_NUMBERS; number++) {
		const struct wtl_smi_field *field = wtl_smi_gpu_fields;

		while (!wtl_smi_is_end(field) && (field->number != number || !field->key))
			field++;
		assert_false(wtl_smi_is_end(field));
		only(&bench, number, value_of(field));
		for (size_t i = 0; i < UNIT_COUNT(forms); i++) {
			wtl_buf_clear(&after);
			assert_int_equal(forms[i](&after, &bench.look), 0);
			put_places(&places, wtl_buf_str(&before[i]), after.data);
		}
		wtl_buf_putc(&places, '\n');
	}
	smi_check_golden("query.fields", &places);
	for (size_t i = 0; i < UNIT_COUNT(forms); i++)
		wtl_buf_done(&before[i]);
	wtl_buf_done(&after);
	wtl_buf_done(&places);
}

/* The bits of a mask, one at a time. */
static void test_throttle_bits(void **state)
{
	static const struct {
		uint64_t bit;
		const char *name;
	} bits[] = {
		{0x1, "gpu_idle"},
		{0x2, "applications_clocks_setting"},
		{0x4, "sw_power_cap"},
		{0x8, "hw_slowdown"},
		{0x10, "sync_boost"},
		{0x20, "sw_thermal_slowdown"},
		{0x40, "hw_thermal_slowdown"},
		{0x80, "hw_power_brake_slowdown"},
		{0x100, "display_clocks_setting"},
	};
	static struct smi_bench bench;

	(void)state;
	smi_bench_init(&bench);
	for (size_t i = 0; i < UNIT_COUNT(bits); i++)
		for (size_t k = 0; k < UNIT_COUNT(bits); k++) {
			char field[96], *text;

			smi_set(&bench.gpus[SMI_H100], WTL_GPU_THROTTLE, bits[k].bit);
			snprintf(field, sizeof(field), "clocks_event_reasons.%s", bits[i].name);
			text = smi_value(&bench, SMI_H100, field, true);
			assert_string_equal(text, i == k ? "Active" : "Not Active");
			free(text);
		}
}

struct taken {
	enum wtl_gpu_number number;
	struct wtl_gpu_value value;
};

static int take_number(void *context, const struct wtl_smi_record *record)
{
	struct taken *taken = context;

	taken->value = record->gpu->numbers[taken->number];
	return 0;
}

static void test_csv_is_read_back(void **state)
{
	static struct smi_bench bench;

	(void)state;
	smi_bench_init(&bench);
	for (const struct wtl_smi_field *field = NULL; (field = next_number(field));) {
		struct taken taken = {.number = field->number};
		char *text;

		if (!field->name)
			continue;
		only(&bench, field->number, value_of(field));
		text = smi_query(&wtl_smi_query_gpu, field->name, true, true, &bench.look);
		assert_int_equal(
			wtl_smi_read_csv(text, strlen(text), NULL, take_number, &taken, NULL, NULL),
			0);
		assert_int_equal(taken.value.status, WATTLE_STATUS_OK);
		assert_int_equal(taken.value.value, value_of(field));
		free(text);
	}
}

#if HAVE_EXPAT
static void test_xml_is_read_back(void **state)
{
	static struct smi_bench bench;
	struct wtl_gpu *gpu = &bench.gpus[SMI_AMD];
	struct wtl_buf buf;

	(void)state;
	smi_bench_init(&bench);
	wtl_buf_init(&buf, 1 << 20);
	for (const struct wtl_smi_field *field = NULL; (field = next_number(field));) {
		struct taken taken = {.number = field->number};

		if (!field->element)
			continue;
		only(&bench, field->number, value_of(field));
		if (field->when == WTL_SMI_MARGIN)
			smi_set(gpu, WTL_GPU_TEMPERATURE_MARGIN_C, 1);
		strcpy(gpu->compute_capability, field->when == WTL_SMI_OLD_SRAM ? "7.5" : "10.0");
		wtl_buf_clear(&buf);
		assert_int_equal(wtl_smi_xml(&buf, &bench.look), 0);
		assert_int_equal(wtl_smi_read_xml(wtl_buf_str(&buf), buf.len, take_number, &taken,
						  NULL, NULL),
				 0);
		assert_int_equal(taken.value.status, WATTLE_STATUS_OK);
		assert_int_equal(taken.value.value, value_of(field));
	}
	wtl_buf_done(&buf);
}
#endif

/* Every way not to know, for every number. */
static void test_every_number_not_known(void **state)
{
	static const struct {
		enum wattle_status status;
		int code;
		const char *text;
	} ways[] = {
		{WATTLE_STATUS_DENIED, 0, "[Insufficient Permissions]"},
		{WATTLE_STATUS_FAILED, 999, "[Unknown Error]"},
		{WATTLE_STATUS_FAILED, -5, "[Unknown Error]"},
		{WATTLE_STATUS_GONE, 15, "[GPU is lost]"},
		{WATTLE_STATUS_ABSENT, 26, "[Requested functionality has been deprecated]"},
	};
	static struct smi_bench bench;

	(void)state;
	smi_bench_init(&bench);
	for (const struct wtl_smi_field *field = NULL; (field = next_number(field));)
		for (size_t k = 0; field->name && k < UNIT_COUNT(ways); k++) {
			char *text;

			smi_unset(&bench.gpus[SMI_H100], field->number, ways[k].status,
				  ways[k].code);
			text = smi_value(&bench, SMI_H100, field->name, true);
			assert_string_equal(text, ways[k].text);
			free(text);
		}
}

/* Every word of a number there and back, and the number behind the last one, which no driver has yet. */
static void test_words(void **state)
{
	static const struct {
		const char *field;
		enum wtl_gpu_number number;
		uint64_t first;
		const char *words; /* separated by bars */
	} cases[] = {
		{"inforom.checksum_validation", WTL_GPU_INFOROM_VALID, 0, "invalid|valid"},
		{"gpu_recovery_action", WTL_GPU_RECOVERY_ACTION, 0,
		 "None|Reset|Reboot|Drain P2P|Drain and Reset|Recover IMEX Domain"},
		{"virtualization_mode", WTL_GPU_VIRTUALIZATION, 0,
		 "None|Pass-Through|VGPU|Host VGPU|Host VSGA"},
		{"fabric.state", WTL_GPU_FABRIC_STATE, 1, "Not Started|In Progress|Completed"},
		{"fabric.health.summary", WTL_GPU_FABRIC_HEALTH, 1,
		 "Healthy|Unhealthy|Limited Capacity"},
		{"fabric.health.bandwidth", WTL_GPU_FABRIC_DEGRADED, 0, "Full|Degraded"},
		{"fabric.health.route_unhealthy", WTL_GPU_FABRIC_BAD_ROUTE, 0, "False|True"},
		{"fabric.health.incorrect_configuration", WTL_GPU_FABRIC_MISCONFIGURED, 0,
		 "None|Incorrect SysGUID|Incorrect Chassis SN|No Partition|Insufficient NVLinks|"
		 "Incompatible GPU FW|Invalid Location|GPU State Invalid"},
		{"platform.peer_type", WTL_GPU_PLATFORM_PEER, 0,
		 "Direct Connected|Switch Connected"},
	};
	static struct smi_bench bench;

	(void)state;
	smi_bench_init(&bench);
	for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
		uint64_t value = cases[i].first;
		char words[256], *rest = words, *word, *text;

		strcpy(words, cases[i].words);
		for (; (word = strsep(&rest, "|")); value++) {
			struct taken taken = {.number = cases[i].number};

			only(&bench, cases[i].number, value);
			text = smi_query(&wtl_smi_query_gpu, cases[i].field, true, true,
					 &bench.look);
			assert_string_equal(strchr(text, '\n') + 1 + strlen(word), "\n");
			assert_memory_equal(strchr(text, '\n') + 1, word, strlen(word));
			assert_int_equal(wtl_smi_read_csv(text, strlen(text), NULL, take_number,
							  &taken, NULL, NULL),
					 0);
			assert_int_equal(taken.value.status, WATTLE_STATUS_OK);
			assert_int_equal(taken.value.value, value);
			free(text);
		}
		only(&bench, cases[i].number, value);
		text = smi_value(&bench, SMI_AMD, cases[i].field, true);
		assert_string_equal(text, "[Unknown Error]");
		free(text);
	}
}

/* ---- Fabric and platform ---- */

static size_t count(const char *text, const char *what)
{
	size_t n = 0;

	for (; (text = strstr(text, what)); text += strlen(what))
		n++;
	return n;
}

static void check_texts(struct smi_bench *bench, const char *expected)
{
	char *text = smi_query(&wtl_smi_query_gpu,
			       "fabric.status,fabric.clusterUuid,platform.chassis_serial_number",
			       false, true, &bench->look);

	assert_string_equal(text, expected);
	free(text);
}

/* Texts go with numbers: what an earlier reading left is nothing. */
static void test_texts_of_fabric_and_platform(void **state)
{
	static struct smi_bench bench;
	struct wtl_gpu *gpu = &bench.gpus[SMI_AMD];

	(void)state;
	smi_bench_init(&bench);
	only(&bench, WTL_GPU_FABRIC_STATE, 2);
	strcpy(gpu->fabric_status, "Insufficient Resources");
	strcpy(gpu->fabric_cluster, "dc6e40c4-d722-4357-9ba6-5291dd461278");
	strcpy(gpu->chassis_serial, "1820000000001");
	check_texts(&bench, "N/A, N/A, [N/A]\n");
	smi_set(gpu, WTL_GPU_FABRIC_CLIQUE, 0);
	smi_set(gpu, WTL_GPU_PLATFORM_HOST, 1);
	check_texts(&bench, "Insufficient Resources, dc6e40c4-d722-4357-9ba6-5291dd461278, "
			    "1820000000001\n");
	gpu->chassis_serial[0] = '\0'; /* known to be empty */
	check_texts(&bench, "Insufficient Resources, dc6e40c4-d722-4357-9ba6-5291dd461278, \n");
	strcpy(gpu->fabric_status, "a\033[31m\nb");
	check_texts(&bench, "a?[31m?b, dc6e40c4-d722-4357-9ba6-5291dd461278, \n");
	gpu->status = WATTLE_STATUS_GONE;
	check_texts(&bench, "[GPU is lost], [GPU is lost], [GPU is lost]\n");
}

/* The documents have the platform of GPUs since Blackwell; of older ones its zeros are in the CSV alone. */
static void test_platform_since_blackwell(void **state)
{
	static const struct {
		const char *capability;
		bool is_told;
	} cases[] = {{"7.5", false}, {"9.0", false}, {"10.0", true}, {"12.0", true}, {"", false}};
	static struct smi_bench bench;
	struct wtl_gpu *gpu = &bench.gpus[SMI_AMD];
	struct wtl_buf buf;

	(void)state;
	smi_bench_init(&bench);
	wtl_buf_init(&buf, 1 << 20);
	only(&bench, WTL_GPU_PLATFORM_SLOT, 14);
	smi_set(gpu, WTL_GPU_PLATFORM_HOST, 1);
	for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
		bool is_told = cases[i].is_told;

		strcpy(gpu->compute_capability, cases[i].capability);
		wtl_buf_clear(&buf);
		wtl_smi_xml(&buf, &bench.look);
		assert_int_equal(count(wtl_buf_str(&buf), "<slot_number>14</slot_number>"),
				 is_told);
		assert_int_equal(count(wtl_buf_str(&buf), "<host_id>1</host_id>"), is_told);
		assert_int_equal(count(wtl_buf_str(&buf), "<host_id>N/A</host_id>"), !is_told);
		assert_int_equal(
			count(wtl_buf_str(&buf), "<chassis_serial_number></chassis_serial_number>"),
			is_told);
		wtl_buf_clear(&buf);
		wtl_smi_log(&buf, &bench.look, 0);
		assert_int_equal(count(wtl_buf_str(&buf),
				       "Slot Number                                    : "
				       "14\n"),
				 is_told);
	}
	wtl_buf_done(&buf);
}

static void test_texts_in_json(void **state)
{
	static struct smi_bench bench;
	struct wtl_gpu *gpu = &bench.gpus[SMI_AMD];
	struct wtl_buf buf;

	(void)state;
	smi_bench_init(&bench);
	wtl_buf_init(&buf, 1 << 20);
	only(&bench, WTL_GPU_FABRIC_CLIQUE, 7);
	strcpy(gpu->fabric_status, "Success");
	strcpy(gpu->chassis_serial, "1820000000001");
	smi_bench_json(&buf, &bench.look, true);
	assert_int_equal(count(wtl_buf_str(&buf), "\"fabric_status\":\"Success\""), 1);
	assert_int_equal(count(wtl_buf_str(&buf), "fabric_cluster"), 0);
	assert_int_equal(count(wtl_buf_str(&buf), "platform_chassis_serial"), 0);
	smi_set(gpu, WTL_GPU_PLATFORM_HOST, 1);
	wtl_buf_clear(&buf);
	smi_bench_json(&buf, &bench.look, true);
	assert_int_equal(count(wtl_buf_str(&buf), "\"platform_chassis_serial\":\"1820000000001\""),
			 1);
	smi_set(gpu, WTL_GPU_RECOVERY_ACTION, 99);
	wtl_buf_clear(&buf);
	smi_bench_json(&buf, &bench.look, true);
	assert_int_equal(count(wtl_buf_str(&buf), "\"recovery_action\":\"unknown\""), 1);
	wtl_buf_done(&buf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_places_of_every_number),
		cmocka_unit_test(test_csv_is_read_back),
#if HAVE_EXPAT
		cmocka_unit_test(test_xml_is_read_back),
#endif
		cmocka_unit_test(test_throttle_bits),
		cmocka_unit_test(test_every_number_not_known),
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_texts_of_fabric_and_platform),
		cmocka_unit_test(test_platform_since_blackwell),
		cmocka_unit_test(test_texts_in_json),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
