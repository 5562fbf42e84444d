/* SPDX-License-Identifier: MIT */
/* Scrapes of Kepler, dcgm-exporter, scaphandre and wattle serve in Prometheus' text format, one after the other. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/num.h"
#include "energy/units.h"
#include "import/reader.h"
#include "import/text.h"

enum { RAPL_GAIN_PPM = 30000, GPU_GAIN_PPM = 50000, SEEN_MAX = WTL_IMPORT_SERIES_MAX };

/* The metrics that are read. */
static const struct metric {
	const char *name;
	enum wtl_import_what what;
	double scale;
	const char *domain;	   /* before the number */
	const char *number_label;  /* NULL: there is only one */
	const char *label, *value; /* only with that label; NULL: in any case */
	enum wtl_device_number number;
	enum wattle_kind kind;
	bool is_summed; /* it is the sum of several series */
} metrics[] = {
	/* Kepler from 0.10 on, and before */
	{"kepler_node_cpu_joules_total", WTL_IMPORT_ENERGY_UJ, 1e6, "package", "index", "zone",
	 "package", 0, WATTLE_KIND_CPU, false},
	{"kepler_node_cpu_joules_total", WTL_IMPORT_ENERGY_UJ, 1e6, "dram", "index", "zone", "dram",
	 0, WATTLE_KIND_DRAM, false},
	{"kepler_node_cpu_joules_total", WTL_IMPORT_ENERGY_UJ, 1e6, "core", "index", "zone", "core",
	 0, WATTLE_KIND_CORE, false},
	{"kepler_node_cpu_joules_total", WTL_IMPORT_ENERGY_UJ, 1e6, "uncore", "index", "zone",
	 "uncore", 0, WATTLE_KIND_UNCORE, false},
	{"kepler_node_cpu_joules_total", WTL_IMPORT_ENERGY_UJ, 1e6, "psys", "index", "zone", "psys",
	 0, WATTLE_KIND_PLATFORM, false},
	{"kepler_node_package_joules_total", WTL_IMPORT_ENERGY_UJ, 1e6, "package", "package", NULL,
	 NULL, 0, WATTLE_KIND_CPU, true},
	{"kepler_node_dram_joules_total", WTL_IMPORT_ENERGY_UJ, 1e6, "dram", "package", NULL, NULL,
	 0, WATTLE_KIND_DRAM, true},
	{"kepler_node_core_joules_total", WTL_IMPORT_ENERGY_UJ, 1e6, "core", "package", NULL, NULL,
	 0, WATTLE_KIND_CORE, true},
	{"kepler_node_uncore_joules_total", WTL_IMPORT_ENERGY_UJ, 1e6, "uncore", "package", NULL,
	 NULL, 0, WATTLE_KIND_UNCORE, true},
	{"kepler_node_platform_joules_total", WTL_IMPORT_ENERGY_UJ, 1e6, "psys", NULL, NULL, NULL,
	 0, WATTLE_KIND_PLATFORM, true},
	{"kepler_node_gpu_joules_total", WTL_IMPORT_ENERGY_UJ, 1e6, "gpu", "index", NULL, NULL, 0,
	 WATTLE_KIND_GPU, true},
	/* dcgm-exporter */
	{"DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", WTL_IMPORT_ENERGY_UJ, 1e3, "gpu", "gpu", NULL,
	 NULL, 0, WATTLE_KIND_GPU, false},
	{"DCGM_FI_DEV_POWER_USAGE", WTL_IMPORT_POWER_UW, 1e6, "gpu", "gpu", NULL, NULL, 0,
	 WATTLE_KIND_GPU, false},
	{"DCGM_FI_DEV_GPU_TEMP", WTL_IMPORT_DEVICE, 1, "gpu", "gpu", NULL, NULL,
	 WTL_DEVICE_TEMPERATURE_C, WATTLE_KIND_GPU, false},
	{"DCGM_FI_DEV_MEMORY_TEMP", WTL_IMPORT_DEVICE, 1, "gpu", "gpu", NULL, NULL,
	 WTL_DEVICE_MEMORY_TEMPERATURE_C, WATTLE_KIND_GPU, false},
	{"DCGM_FI_DEV_GPU_UTIL", WTL_IMPORT_DEVICE, 1, "gpu", "gpu", NULL, NULL,
	 WTL_DEVICE_USE_PERCENT, WATTLE_KIND_GPU, false},
	{"DCGM_FI_DEV_FB_USED", WTL_IMPORT_DEVICE, 1048576, "gpu", "gpu", NULL, NULL,
	 WTL_DEVICE_MEMORY_USED_BYTES, WATTLE_KIND_GPU, false},
	{"DCGM_FI_DEV_SM_CLOCK", WTL_IMPORT_DEVICE, 1, "gpu", "gpu", NULL, NULL,
	 WTL_DEVICE_CLOCK_MHZ, WATTLE_KIND_GPU, false},
	{"DCGM_FI_DEV_MEM_CLOCK", WTL_IMPORT_DEVICE, 1, "gpu", "gpu", NULL, NULL,
	 WTL_DEVICE_MEMORY_CLOCK_MHZ, WATTLE_KIND_GPU, false},
	/* scaphandre prometheus */
	{"scaph_host_power_microwatts", WTL_IMPORT_POWER_UW, 1, "host", NULL, NULL, NULL, 0,
	 WATTLE_KIND_PLATFORM, false},
	{"scaph_socket_power_microwatts", WTL_IMPORT_POWER_UW, 1, "package", "socket_id", NULL,
	 NULL, 0, WATTLE_KIND_CPU, false},
};

enum { METRICS = sizeof(metrics) / sizeof(metrics[0]) };

/* Values that DCGM writes if it has none (0x7ffffff0 and so on). */
static bool is_blank(double value)
{
	return value >= 9223372036854775000.0 || value == 2147483632.0;
}

struct scrape {
	struct wtl_import *import;
	uint64_t values[SEEN_MAX]; /* by series, in this scrape */
	bool is_there[SEEN_MAX];
	size_t n_there;
	int64_t rounds, t_ns;  /* t_ns: of this scrape, INT64_MIN: not known */
	uint32_t hashes[4096]; /* of the lines' names and labels in this scrape, in no order */
	size_t n_hashes;
	bool is_timeless;
};

static const struct metric *find(const struct wtl_exposed *exposed)
{
	for (size_t i = 0; i < METRICS; i++)
		if (wtl_cell_is(exposed->name, metrics[i].name) &&
		    (!metrics[i].label ||
		     wtl_cell_is(wtl_exposed_label(exposed, metrics[i].label), metrics[i].value)))
			return &metrics[i];
	return NULL;
}

static size_t series_of(struct scrape *scrape, const struct metric *metric,
			const struct wtl_exposed *exposed)
{
	char domain[WTL_NAME_SIZE], inside[WTL_NAME_SIZE] = "", device[128], serial[48], text[16];
	bool is_gpu = metric->kind == WATTLE_KIND_GPU;
	const struct wtl_import_key key = {.what = metric->what,
					   .number = metric->number,
					   .domain = domain,
					   .inside = inside,
					   .device = device,
					   .serial = serial,
					   .kind = metric->kind,
					   .gain_ppm = is_gpu ? GPU_GAIN_PPM : RAPL_GAIN_PPM};
	uint64_t number = 0;

	if (metric->number_label) {
		struct wtl_cell label = wtl_exposed_label(exposed, metric->number_label);

		wtl_cell_copy(label, text, sizeof(text));
		wtl_num_u64(text, strlen(text), &number);
	}
	snprintf(domain, sizeof(domain), "%s-%u", metric->domain, (unsigned)(number % 4096));
	if (metric->kind == WATTLE_KIND_CORE || metric->kind == WATTLE_KIND_UNCORE)
		snprintf(inside, sizeof(inside), "package-%u", (unsigned)(number % 4096));
	wtl_cell_copy(wtl_exposed_label(exposed, "modelName"), device, sizeof(device));
	wtl_cell_copy(wtl_exposed_label(exposed, "UUID"), serial, sizeof(serial));
	return wtl_import_series(scrape->import, &key);
}

static void end_scrape(struct scrape *scrape)
{
	int64_t interval_ns = scrape->import->options.interval_ns, t_ns = scrape->t_ns;

	if (scrape->n_there == 0)
		return;
	if (t_ns == INT64_MIN) {
		scrape->is_timeless = true;
		t_ns = scrape->rounds * (interval_ns ? interval_ns : 15 * WTL_NS_PER_S);
	}
	for (size_t i = 0; i < scrape->import->n_series; i++)
		if (scrape->is_there[i])
			wtl_import_put(scrape->import, i, t_ns, scrape->values[i]);
	memset(scrape->is_there, 0, sizeof(scrape->is_there));
	scrape->n_there = 0;
	scrape->n_hashes = 0;
	scrape->t_ns = INT64_MIN;
	scrape->rounds++;
}

/* Milliseconds since 1970, and in OpenMetrics seconds with a fraction. */
static void take_time(struct scrape *scrape, struct wtl_cell time)
{
	int64_t t_ns;

	if (time.len >= 10 && wtl_cell_time(scrape->import, time, true, &t_ns) &&
	    t_ns > scrape->t_ns)
		scrape->t_ns = t_ns;
}

/* Was this very line in this scrape already? Then a new one has begun. */
static bool is_again(struct scrape *scrape, const struct wtl_exposed *exposed, struct wtl_cell line)
{
	size_t room = sizeof(scrape->hashes) / sizeof(scrape->hashes[0]);
	size_t len = (size_t)(exposed->value.text - line.text);
	uint32_t sum = wtl_hash_bytes(line.text, len);

	for (size_t i = 0; i < scrape->n_hashes; i++)
		if (scrape->hashes[i] == sum)
			return true;
	if (scrape->n_hashes < room)
		scrape->hashes[scrape->n_hashes++] = sum;
	return false;
}

static void take_line(struct scrape *scrape, struct wtl_cell line, size_t number)
{
	const struct metric *metric;
	struct wtl_exposed exposed;
	uint64_t value;
	double raw;
	size_t series;

	if (!wtl_exposed_parse(line, &exposed)) {
		wtl_import_bad(scrape->import, number, "it is no sample: name{labels} value");
		return;
	}
	metric = find(&exposed);
	if (!metric)
		return;
	if (is_again(scrape, &exposed, line)) {
		end_scrape(scrape);
		is_again(scrape, &exposed, line);
	}
	take_time(scrape, exposed.time);
	series = series_of(scrape, metric, &exposed);
	if (series == SIZE_MAX || !wtl_cell_double(exposed.value, &raw) || is_blank(raw) ||
	    !wtl_cell_scaled(exposed.value, metric->scale, &value)) {
		scrape->import->n_missing++;
		return;
	}
	scrape->values[series] = metric->is_summed && scrape->is_there[series]
					 ? scrape->values[series] + value
					 : value;
	scrape->n_there += !scrape->is_there[series];
	scrape->is_there[series] = true;
}

static int read_prometheus(struct wtl_import *import, const char *text, size_t len,
			   struct wtl_err *err)
{
	struct wtl_import_lines lines = {.at = text, .end = text + len};
	struct scrape *scrape = calloc(1, sizeof(*scrape));
	struct wtl_cell line;

	(void)err;
	if (!scrape)
		return import->error = -ENOMEM;
	scrape->import = import;
	scrape->t_ns = INT64_MIN;
	while (wtl_import_line(&lines, &line)) {
		if (wtl_cell_is(line, "# EOF"))
			end_scrape(scrape);
		else if (line.len > 0 && line.text[0] != '#')
			take_line(scrape, line, lines.number);
	}
	end_scrape(scrape);
	if (scrape->is_timeless && !import->options.interval_ns)
		wtl_import_remark(import, "its samples have no times: taken as one scrape every "
					  "15 s; --interval says otherwise");
	if (scrape->is_timeless)
		wtl_import_begin_at_start(import);
	free(scrape);
	return 0;
}

static bool is_prometheus(const char *head, size_t len)
{
	return memmem(head, len, "kepler_node_", 12) || memmem(head, len, "DCGM_FI_DEV_", 12) ||
	       memmem(head, len, "scaph_", 6);
}

const struct wtl_import_reader wtl_import_prometheus = {
	.name = "prometheus",
	.doc = "scrapes of Kepler, dcgm-exporter and scaphandre",
	.is = is_prometheus,
	.read = read_prometheus,
};
