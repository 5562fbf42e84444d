/* SPDX-License-Identifier: MIT */
/*
 * CodeCarbon's emissions.csv, from 2021 (v1.2) on: a row is a run, with energies in
 * kWh that have been multiplied by the PUE. Columns are found by their names. If a
 * version appended to another one's file, rows may have values under the wrong names.
 */
#include <math.h>
#include <string.h>

#include "base/err.h"
#include "energy/units.h"
#include "import/reader.h"
#include "import/text.h"

#define UJ_PER_KWH 3.6e12

enum { COLUMNS_MAX = 128, RUN_ID_SIZE = 64 };

/* The file does not say whether the processor was measured; memory never was. Judgement, as for the model. */
enum { GAIN_PPM = 500000 };

enum column {
	TIMESTAMP,
	DURATION,
	PROJECT,
	TASK,
	RUN_ID,
	CPU,
	GPU,
	RAM,
	TOTAL,
	PUE,
	EMISSIONS,
	CPU_MODEL,
	GPU_MODEL,
	GPU_COUNT,
	COLUMNS
};

static const char *const names[COLUMNS] = {
	"timestamp",  "duration",   "project_name", "task_name",       "run_id",
	"cpu_energy", "gpu_energy", "ram_energy",   "energy_consumed", "pue",
	"emissions",  "cpu_model",  "gpu_model",    "gpu_count",
};

struct codecarbon {
	struct wtl_import *import;
	size_t at[COLUMNS]; /* SIZE_MAX: it has no such column */
	size_t n;
	size_t series[TOTAL + 1];
	char run_id[RUN_ID_SIZE];
	int64_t begin_ns, end_ns; /* of the row before */
	size_t n_zero;
};

static struct wtl_cell cell(const struct codecarbon *own, const struct wtl_cell cells[],
			    enum column column)
{
	return own->at[column] == SIZE_MAX ? (struct wtl_cell){"", 0} : cells[own->at[column]];
}

static bool number(const struct codecarbon *own, const struct wtl_cell cells[], enum column column,
		   double *ret)
{
	return wtl_cell_double(cell(own, cells, column), ret) && *ret >= 0 && *ret < 1e6;
}

/* Values under the wrong names mostly are no numbers, or do not add up. */
static const char *why_no_energies(const struct codecarbon *own, const struct wtl_cell cells[],
				   double energies[TOTAL + 1])
{
	double sum = 0;
	bool has_parts = true;

	for (enum column i = CPU; i <= TOTAL; i++) {
		energies[i] = -1;
		if (cell(own, cells, i).len == 0)
			has_parts = false;
		else if (!number(own, cells, i, &energies[i]))
			return "an energy is no number: the row is shifted, or damaged";
		else if (i != TOTAL)
			sum += energies[i];
	}
	if (has_parts && fabs(sum - energies[TOTAL]) > 0.01 * energies[TOTAL] + 1e-9)
		return "its energies do not add up to energy_consumed: the row is shifted, or "
		       "damaged";
	return NULL;
}

static const char *why_not(const struct codecarbon *own, const struct wtl_cell cells[],
			   double energies[TOTAL + 1])
{
	double value;

	if (!wtl_cell_double(cell(own, cells, DURATION), &value) || !(value > 0 && value < 1e9))
		return "its duration is no number of seconds: the row is shifted, or damaged";
	if (cell(own, cells, PUE).len > 0 &&
	    (!number(own, cells, PUE, &value) || value < 1 || value > 10))
		return "its pue is none: the row is shifted, or damaged";
	return why_no_energies(own, cells, energies);
}

static size_t series_of(struct codecarbon *own, enum column column, struct wtl_cell device)
{
	static const struct wtl_import_key keys[TOTAL + 1] = {
		[CPU] = {.domain = "package-0", .kind = WATTLE_KIND_CPU, .gain_ppm = GAIN_PPM},
		[GPU] = {.domain = "gpu-0", .kind = WATTLE_KIND_GPU, .gain_ppm = 50000},
		[RAM] = {.domain = "dram-0",
			 .kind = WATTLE_KIND_DRAM,
			 .gain_ppm = GAIN_PPM,
			 .is_modelled = true},
		[TOTAL] = {.domain = "board-0",
			   .kind = WATTLE_KIND_BOARD,
			   .gain_ppm = GAIN_PPM,
			   .is_total = true},
	};
	struct wtl_import_key key = keys[column];
	char name[128];

	if (own->series[column] == SIZE_MAX) {
		key.what = WTL_IMPORT_ENERGY_UJ;
		key.device = wtl_cell_copy(device, name, sizeof(name));
		own->series[column] = wtl_import_series(own->import, &key);
	}
	return own->series[column];
}

/* Times are whole seconds, so a run may seem to begin before the end of
 * the row before. A run that is written several times began only once. */
static bool place(struct codecarbon *own, struct wtl_cell run_id, int64_t end_ns, double duration_s,
		  int64_t *ret_begin_ns)
{
	int64_t begin_ns = end_ns - (int64_t)(duration_s * 1e9);
	/* Tasks belong to one run, one after the other. */
	bool goes_on =
		own->at[TASK] == SIZE_MAX && run_id.len > 0 && wtl_cell_is(run_id, own->run_id);

	if (goes_on)
		begin_ns = own->begin_ns;
	else if (!own->import->options.keeps_intervals && begin_ns < own->end_ns &&
		 begin_ns > own->end_ns - WTL_NS_PER_S)
		begin_ns = own->end_ns;
	wtl_cell_copy(run_id, own->run_id, sizeof(own->run_id));
	own->begin_ns = begin_ns;
	own->end_ns = end_ns;
	*ret_begin_ns = begin_ns;
	return goes_on;
}

static void put_energies(struct codecarbon *own, const struct wtl_cell cells[],
			 const double energies[TOTAL + 1], double pue)
{
	double gpus = 0;
	bool has_parts = energies[CPU] >= 0 || energies[GPU] > 0;

	number(own, cells, GPU_COUNT, &gpus);
	for (enum column i = CPU; i <= TOTAL; i++) {
		struct wtl_cell device = cell(own, cells, i == GPU ? GPU_MODEL : CPU_MODEL);

		if (energies[i] < 0 || (i == TOTAL && has_parts))
			continue;
		/* 0 means no GPU, or one without a counter. */
		if (i == GPU && energies[i] <= 0) {
			own->n_zero += gpus > 0;
			continue;
		}
		if (i == RAM || i == TOTAL)
			device.len = 0;
		wtl_import_energy(own->import, series_of(own, i, device),
				  (uint64_t)(energies[i] / pue * UJ_PER_KWH + 0.5));
	}
}

/* Emissions in kilograms; an empty cell is not known. */
static void tell(struct codecarbon *own, const struct wtl_cell cells[], double duration_s,
		 double pue, bool goes_on)
{
	struct wtl_import_interval *interval = wtl_import_last_interval(own->import);
	double kg;

	if (!interval)
		return;
	interval->goes_on = goes_on;
	interval->duration_ns = llround(duration_s * 1e9);
	interval->pue_milli = (uint32_t)lround(pue * 1e3);
	interval->has_emitted = number(own, cells, EMISSIONS, &kg);
	if (interval->has_emitted)
		interval->emitted_ng = (uint64_t)llround(kg * 1e12);
}

static void take_row(struct codecarbon *own, const struct wtl_cell cells[], size_t line)
{
	double energies[TOTAL + 1], duration_s, pue = 1;
	struct wtl_cell name = cell(own, cells, TASK);
	const char *why = why_not(own, cells, energies);
	int64_t begin_ns, end_ns;
	bool goes_on;

	if (!why && !wtl_cell_time(own->import, cell(own, cells, TIMESTAMP), false, &end_ns))
		why = "its timestamp is none: the row is shifted, or damaged";
	if (why) {
		wtl_import_bad(own->import, line, "%s", why);
		return;
	}
	number(own, cells, DURATION, &duration_s);
	if (own->at[PUE] != SIZE_MAX)
		number(own, cells, PUE, &pue);
	if (name.len == 0)
		name = cell(own, cells, PROJECT);
	goes_on = place(own, cell(own, cells, RUN_ID), end_ns, duration_s, &begin_ns);
	if (begin_ns >= end_ns) {
		wtl_import_bad(own->import, line, "it is over before it begins");
		return;
	}
	wtl_import_interval(own->import, line, name.text, name.len, begin_ns, end_ns);
	put_energies(own, cells, energies, pue);
	tell(own, cells, duration_s, pue, goes_on);
}

static bool take_titles(struct codecarbon *own, struct wtl_cell line)
{
	struct wtl_cell cells[COLUMNS_MAX];

	own->n = wtl_cells(line, ',', cells, COLUMNS_MAX);
	if (own->n > COLUMNS_MAX)
		return false;
	for (enum column i = 0; i < COLUMNS; i++)
		own->at[i] = wtl_cell_find(cells, own->n, names[i]);
	for (enum column i = CPU; i <= TOTAL; i++)
		own->series[i] = SIZE_MAX;
	return own->at[TIMESTAMP] != SIZE_MAX && own->at[DURATION] != SIZE_MAX &&
	       own->at[TOTAL] != SIZE_MAX;
}

static int read_codecarbon(struct wtl_import *import, const char *text, size_t len,
			   struct wtl_err *err)
{
	struct wtl_import_lines lines = {.at = text, .end = text + len};
	struct codecarbon own = {.import = import, .begin_ns = INT64_MIN, .end_ns = INT64_MIN / 2};
	struct wtl_cell line, cells[COLUMNS_MAX];

	if (!wtl_import_line(&lines, &line) || !take_titles(&own, line))
		return wtl_err_set(err, WTL_EFORMAT, "import", NULL,
				   "its first line does not name timestamp, duration and "
				   "energy_consumed");
	while (wtl_import_line(&lines, &line)) {
		size_t n = line.len > 0 ? wtl_cells(line, ',', cells, COLUMNS_MAX) : own.n;

		if (n != own.n)
			wtl_import_bad(import, lines.number,
				       "it has %zu columns, and the first line names %zu", n,
				       own.n);
		else if (line.len > 0)
			take_row(&own, cells, lines.number);
	}
	if (own.n_zero > 0)
		wtl_import_remark(import,
				  "gpu_energy is 0 in %zu rows that have a GPU: CodeCarbon could "
				  "not read it, so it is left out",
				  own.n_zero);
	return 0;
}

static bool is_codecarbon(const char *head, size_t len)
{
	struct wtl_import_lines lines = {.at = head, .end = head + len};
	struct codecarbon own = {.import = NULL};
	struct wtl_cell line;

	return wtl_import_line(&lines, &line) && memchr(line.text, ',', line.len) &&
	       take_titles(&own, line);
}

const struct wtl_import_reader wtl_import_codecarbon = {
	.name = "codecarbon",
	.doc = "CodeCarbon's emissions.csv",
	.is = is_codecarbon,
	.read = read_codecarbon,
};
