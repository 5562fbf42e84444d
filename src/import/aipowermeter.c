/* SPDX-License-Identifier: MIT */
/* AIPowerMeter's power_metrics.json: a JSON object a line, with powers in watts at a local time. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "import/gpu.h"
#include "import/json.h"
#include "import/reader.h"
#include "import/text.h"

enum { GAIN_PPM = 30000, DRAM_GAIN_PPM = 200000 };

/* Of whole machines: sums over all packages. */
static const struct {
	const char *name, *domain, *inside;
	enum wattle_kind kind;
	uint32_t gain_ppm;
} powers[] = {
	{"intel_power", "package-0", NULL, WATTLE_KIND_CPU, GAIN_PPM},
	{"total_dram_power", "dram-0", NULL, WATTLE_KIND_DRAM, DRAM_GAIN_PPM},
	{"total_cpu_power", "core-0", "package-0", WATTLE_KIND_CORE, GAIN_PPM},
	{"uncore_power", "uncore-0", "package-0", WATTLE_KIND_UNCORE, GAIN_PPM},
	{"psys_power", "psys-0", NULL, WATTLE_KIND_PLATFORM, GAIN_PPM},
};

/* Of each GPU; the later names are used since 2026, with the use in percent. */
static const struct {
	const char *name;
	enum wtl_gpu_number number;
	double scale;
} gpu_values[] = {
	{"per_gpu_power_draw", WTL_GPU_POWER_UW, 1e6},
	{"per_gpu_absolute_percent_usage", WTL_GPU_USE_PERCENT, 100},
	{"per_gpu_nvidia_power", WTL_GPU_POWER_UW, 1e6},
	{"per_gpu_nvidia_use_rate", WTL_GPU_USE_PERCENT, 1},
	{"per_gpu_nvidia_memory", WTL_GPU_MEMORY_USED_BYTES, 1},
};

enum { GPU_VALUES = sizeof(gpu_values) / sizeof(gpu_values[0]), GPUS_MAX = 64 };

struct aipowermeter {
	struct wtl_import *import;
	struct wtl_import_gpus gpus;
	struct wtl_gpu gpu;
	int64_t t_ns, begin_ns; /* of the line before, and of its segment */
	size_t n_segments, line;
	bool is_open;
};

static void take_cpu(struct aipowermeter *own, const json_t *cpu)
{
	uint64_t value;

	for (size_t i = 0; i < sizeof(powers) / sizeof(powers[0]); i++) {
		const struct wtl_import_key key = {.what = WTL_IMPORT_POWER_UW,
						   .domain = powers[i].domain,
						   .inside = powers[i].inside,
						   .kind = powers[i].kind,
						   .gain_ppm = powers[i].gain_ppm};

		/* -1 where the machine has none. */
		if (wtl_json_scaled(json_object_get(cpu, powers[i].name), 1e6, &value))
			wtl_import_put(own->import, wtl_import_series(own->import, &key), own->t_ns,
				       value);
	}
}

static void take_gpu(struct aipowermeter *own, const json_t *gpu, unsigned index)
{
	struct wtl_import_gpu *known;
	char key[16];
	uint64_t value;
	bool has_any = false;

	snprintf(key, sizeof(key), "%u", index);
	for (size_t i = 0; i < GPU_VALUES; i++)
		own->gpu.numbers[gpu_values[i].number].status = WATTLE_STATUS_ABSENT;
	for (size_t i = 0; i < GPU_VALUES; i++) {
		const json_t *by_gpu = json_object_get(gpu, gpu_values[i].name);

		if (!wtl_json_scaled(json_object_get(by_gpu, key), gpu_values[i].scale, &value))
			continue;
		own->gpu.numbers[gpu_values[i].number] = (struct wtl_gpu_value){.value = value};
		has_any = true;
	}
	if (!has_any)
		return;
	own->gpu.index = index;
	known = wtl_import_gpu_find(&own->gpus, &own->gpu);
	if (known)
		wtl_import_gpu_put(own->import, known, &own->gpu, own->t_ns);
}

static void end_segment(struct aipowermeter *own)
{
	char name[32];

	if (!own->is_open)
		return;
	own->is_open = false;
	snprintf(name, sizeof(name), "segment %zu", ++own->n_segments);
	if (own->t_ns > own->begin_ns)
		wtl_import_interval(own->import, own->line, name, strlen(name), own->begin_ns,
				    own->t_ns);
}

static const char *take_object(struct aipowermeter *own, const json_t *object)
{
	const char *date = json_string_value(json_object_get(object, "date"));
	const json_t *metrics = json_object_get(object, "metrics");

	if (!date || !json_is_object(metrics))
		return "it has no \"date\" or \"metrics\"";
	if (!wtl_cell_time(own->import, (struct wtl_cell){date, strlen(date)}, false, &own->t_ns))
		return "its \"date\" is none";
	if (!own->is_open)
		own->begin_ns = own->t_ns;
	own->is_open = true;
	take_cpu(own, json_object_get(metrics, "cpu"));
	for (unsigned i = 0; i < GPUS_MAX; i++)
		take_gpu(own, json_object_get(metrics, "gpu"), i);
	return NULL;
}

static void take_line(struct aipowermeter *own, struct wtl_cell line)
{
	json_error_t error;
	json_t *object;
	const char *why;

	if (memmem(line.text, line.len, "END OF RECORDING SEGMENT", 24)) {
		end_segment(own);
		return;
	}
	object = json_loadb(line.text, line.len, 0, &error);
	why = object ? take_object(own, object) : error.text;
	if (why)
		wtl_import_bad(own->import, own->line, "%s", why);
	json_decref(object);
}

static int read_aipowermeter(struct wtl_import *import, const char *text, size_t len,
			     struct wtl_err *err)
{
	struct wtl_import_lines lines = {.at = text, .end = text + len};
	struct aipowermeter *own = calloc(1, sizeof(*own));
	struct wtl_cell line;

	(void)err;
	if (!own)
		return import->error = -ENOMEM;
	own->import = import;
	for (size_t i = 0; i < WTL_GPU_NUMBERS; i++)
		own->gpu.numbers[i].status = WATTLE_STATUS_ABSENT;
	while (wtl_import_line(&lines, &line)) {
		own->line = lines.number;
		if (line.len > 0)
			take_line(own, line);
	}
	end_segment(own);
	free(own);
	return 0;
}

static bool is_aipowermeter(const char *head, size_t len)
{
	return len > 0 && head[0] == '{' && memmem(head, len, "\"metrics\"", 9) &&
	       memmem(head, len, "\"date\"", 6);
}

const struct wtl_import_reader wtl_import_aipowermeter = {
	.name = "aipowermeter",
	.doc = "AIPowerMeter's folder, or its power_metrics.json",
	.in_folder = "power_metrics.json",
	.is = is_aipowermeter,
	.read = read_aipowermeter,
};
