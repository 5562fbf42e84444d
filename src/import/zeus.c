/* SPDX-License-Identifier: MIT */
/* Zeus' two files: power over time of zeus_monitor (until v0.8), and windows of ZeusMonitor's log_file. */
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/num.h"
#include "energy/units.h"
#include "import/gpu.h"
#include "import/reader.h"
#include "import/text.h"

enum { COLUMNS_MAX = 512 };

/* ---- zeus_monitor: "Time,Power[,Temp,SMFreq,Mem]", times in UTC, milliwatts ---- */

static const struct {
	const char *title;
	enum wtl_gpu_number number;
	uint64_t unit;
} columns[] = {
	{"Power", WTL_GPU_POWER_UW, 1000},
	{"Temp", WTL_GPU_TEMPERATURE_C, 1},
	{"SMFreq", WTL_GPU_CLOCK_SM_MHZ, 1},
	{"Mem", WTL_GPU_MEMORY_USED_BYTES, 1},
};

enum { COLUMNS = sizeof(columns) / sizeof(columns[0]) };

static void take_power(struct wtl_import *import, struct wtl_import_gpus *gpus, struct wtl_gpu *gpu,
		       const struct wtl_cell cells[], const size_t at[COLUMNS], size_t line)
{
	struct wtl_import_gpu *own = wtl_import_gpu_find(gpus, gpu);
	int64_t t_ns;
	uint64_t value;

	if (!wtl_cell_time(import, cells[0], true, &t_ns)) {
		wtl_import_bad(import, line, "it does not begin with a time");
		return;
	}
	for (size_t i = 0; i < COLUMNS; i++) {
		struct wtl_gpu_value *to = &gpu->numbers[columns[i].number];

		*to = (struct wtl_gpu_value){.status = WATTLE_STATUS_ABSENT};
		if (at[i] != SIZE_MAX &&
		    wtl_num_u64(cells[at[i]].text, cells[at[i]].len, &value) == 0 &&
		    value < UINT64_C(1) << 50)
			*to = (struct wtl_gpu_value){.value = value * columns[i].unit};
		else if (at[i] != SIZE_MAX && !wtl_cell_is_unknown(cells[at[i]]))
			wtl_import_bad(import, line, "%s cannot be '%.*s'", columns[i].title,
				       (int)cells[at[i]].len, cells[at[i]].text);
	}
	wtl_import_gpu_put(import, own, gpu, t_ns);
}

static int read_zeus_monitor(struct wtl_import *import, const char *text, size_t len,
			     struct wtl_err *err)
{
	static const struct wtl_gpu plain = {.index = 0};
	struct wtl_import_lines lines = {.at = text, .end = text + len};
	struct wtl_cell line, cells[COLUMNS_MAX];
	struct wtl_import_gpus gpus = {.n = 0};
	struct wtl_gpu gpu = plain;
	size_t at[COLUMNS], n, n_titles;

	(void)err;
	for (size_t i = 0; i < WTL_GPU_NUMBERS; i++)
		gpu.numbers[i].status = WATTLE_STATUS_ABSENT;
	if (!wtl_import_line(&lines, &line))
		return 0;
	n_titles = wtl_cells(line, ',', cells, COLUMNS_MAX);
	n_titles = n_titles < COLUMNS_MAX ? n_titles : COLUMNS_MAX;
	for (size_t i = 0; i < COLUMNS; i++)
		at[i] = wtl_cell_find(cells, n_titles, columns[i].title);
	while (wtl_import_line(&lines, &line)) {
		n = wtl_cells(line, ',', cells, COLUMNS_MAX);
		if (n == n_titles)
			take_power(import, &gpus, &gpu, cells, at, lines.number);
		else if (line.len > 0)
			wtl_import_bad(import, lines.number,
				       "it has %zu columns, and the first line names %zu", n,
				       n_titles);
	}
	return 0;
}

static bool begins_with(const char *head, size_t len, const char *title)
{
	return wtl_cell_starts((struct wtl_cell){head, len}, title);
}

/* A wattmeter may have the same titles, with watts: zeus_monitor's times have nanoseconds, and its powers no point. */
static bool is_zeus_monitor(const char *head, size_t len)
{
	static const char shape[] = "dddd-dd-dd dd:dd:dd.ddddddddd,d";
	struct wtl_import_lines lines = {.at = head, .end = head + len};
	struct wtl_cell line;

	if (!begins_with(head, len, "Time,Power") || !wtl_import_line(&lines, &line))
		return false;
	if (!wtl_import_line(&lines, &line))
		return true;
	for (size_t i = 0; shape[i]; i++)
		if (i >= line.len || (shape[i] == 'd' ? line.text[i] < '0' || line.text[i] > '9'
						      : line.text[i] != shape[i]))
			return false;
	return true;
}

/* ---- ZeusMonitor: "start_time,window_name,elapsed_time,gpu0_energy,…", seconds and joules ---- */

enum { START, NAME, ELAPSED, FIRST_GPU };

/* "gpu3_energy" */
static size_t series_of(struct wtl_import *import, struct wtl_cell title)
{
	char name[32], domain[WTL_NAME_SIZE], rest[8];
	unsigned number;
	const struct wtl_import_key key = {.what = WTL_IMPORT_ENERGY_UJ,
					   .domain = domain,
					   .kind = WATTLE_KIND_GPU,
					   .gain_ppm = WTL_IMPORT_GPU_GAIN_PPM};

	wtl_cell_copy(title, name, sizeof(name));
	if (sscanf(name, "gpu%4u_%7s", &number, rest) != 2 || strcmp(rest, "energy") != 0)
		return SIZE_MAX;
	snprintf(domain, sizeof(domain), "gpu-%u", number);
	return wtl_import_series(import, &key);
}

static void take_window(struct wtl_import *import, const struct wtl_cell cells[], size_t n,
			const size_t series[], size_t line)
{
	uint64_t elapsed_ns, energy_uj;
	int64_t begin_ns;

	if (!wtl_cell_time(import, cells[START], true, &begin_ns) ||
	    !wtl_cell_scaled(cells[ELAPSED], 1e9, &elapsed_ns) || elapsed_ns < 1000) {
		wtl_import_bad(import, line, "it has no start_time or elapsed_time");
		return;
	}
	wtl_import_interval(import, line, cells[NAME].text, cells[NAME].len, begin_ns,
			    begin_ns + (int64_t)elapsed_ns);
	for (size_t i = FIRST_GPU; i < n; i++)
		if (wtl_cell_scaled(cells[i], 1e6, &energy_uj))
			wtl_import_energy(import, series[i], energy_uj);
		else if (!wtl_cell_is_unknown(cells[i]))
			wtl_import_bad(import, line, "column %zu is no energy", i + 1);
}

static int read_zeus(struct wtl_import *import, const char *text, size_t len, struct wtl_err *err)
{
	struct wtl_import_lines lines = {.at = text, .end = text + len};
	struct wtl_cell line, cells[COLUMNS_MAX];
	size_t series[COLUMNS_MAX], n_titles, n;

	if (!wtl_import_line(&lines, &line))
		return 0;
	n_titles = wtl_cells(line, ',', cells, COLUMNS_MAX);
	if (n_titles <= FIRST_GPU || n_titles > COLUMNS_MAX)
		return wtl_err_set(err, WTL_EFORMAT, "import", NULL,
				   "its first line names no gpu0_energy");
	for (size_t i = FIRST_GPU; i < n_titles; i++)
		series[i] = series_of(import, cells[i]);
	while (wtl_import_line(&lines, &line)) {
		n = wtl_cells(line, ',', cells, COLUMNS_MAX);
		if (n == n_titles)
			take_window(import, cells, n, series, lines.number);
		else if (line.len > 0)
			wtl_import_bad(import, lines.number,
				       "it has %zu columns, and the first line names %zu", n,
				       n_titles);
	}
	return 0;
}

static bool is_zeus(const char *head, size_t len)
{
	return begins_with(head, len, "start_time,window_name,elapsed_time");
}

const struct wtl_import_reader wtl_import_zeus_monitor = {
	.name = "zeus-monitor",
	.doc = "zeus_monitor's power over time",
	.is = is_zeus_monitor,
	.read = read_zeus_monitor,
};

const struct wtl_import_reader wtl_import_zeus = {
	.name = "zeus",
	.doc = "ZeusMonitor's log_file: windows",
	.is = is_zeus,
	.read = read_zeus,
};
