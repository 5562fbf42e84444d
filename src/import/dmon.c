/* SPDX-License-Identifier: MIT */
/* Logs of nvidia-smi dmon: columns of whole numbers, with their titles above. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/date.h"
#include "base/num.h"
#include "energy/units.h"
#include "import/gpu.h"
#include "import/reader.h"
#include "import/text.h"
#include "smi/smi.h"

enum { COLUMNS_MAX = 64, DAY_S = 86400 };

struct column {
	enum wtl_gpu_number number; /* WTL_GPU_NUMBERS: none that is known */
	uint64_t unit;
};

struct dmon {
	struct wtl_import *import;
	struct wtl_import_gpus gpus;
	struct wtl_gpu gpu;
	struct column columns[COLUMNS_MAX];
	size_t n, date, time, index; /* SIZE_MAX: there is no such column */
	int64_t day_ns;		     /* of lines with a time alone */
	int64_t clock_ns;	     /* of the line before */
	int64_t rounds;
	uint64_t first_index;
	bool has_first;
};

/* "# gpu   pwr  gtemp …", "#Date       Time        gpu …"; the line of units below has no titles. */
static bool take_titles(struct dmon *dmon, struct wtl_cell line)
{
	struct wtl_cell cells[COLUMNS_MAX];
	size_t n =
		wtl_cells((struct wtl_cell){line.text + 1, line.len - 1}, ' ', cells, COLUMNS_MAX);
	size_t index = wtl_cell_find(cells, n < COLUMNS_MAX ? n : COLUMNS_MAX, "gpu");

	if (index == SIZE_MAX || n > COLUMNS_MAX)
		return false;
	dmon->n = n;
	dmon->index = index;
	dmon->date = wtl_cell_find(cells, n, "Date");
	dmon->time = wtl_cell_find(cells, n, "Time");
	for (size_t i = 0; i < n; i++)
		if (!wtl_smi_mon_column(cells[i].text, cells[i].len, &dmon->columns[i].number,
					&dmon->columns[i].unit))
			dmon->columns[i].number = WTL_GPU_NUMBERS;
	return true;
}

static bool take_clock(struct dmon *dmon, const struct wtl_cell cells[], int64_t *ret_local_ns)
{
	struct wtl_date date = {.year = 1970, .month = 1, .day = 1};
	uint64_t day;
	int64_t clock_ns;

	if (wtl_date_parse_clock(cells[dmon->time].text, cells[dmon->time].len, &clock_ns) < 0)
		return false;
	if (dmon->date != SIZE_MAX) {
		if (wtl_num_u64(cells[dmon->date].text, cells[dmon->date].len, &day) < 0)
			return false;
		date.year = (unsigned)(day / 10000 % 10000);
		date.month = (unsigned)(day / 100 % 100);
		date.day = (unsigned)(day % 100);
		if (!wtl_date_is_valid(&date))
			return false;
		*ret_local_ns = wtl_date_utc_ns(&date) + clock_ns;
		return true;
	}
	/* Without a date: if the time falls by far, midnight has passed. */
	if (clock_ns + DAY_S / 2 * WTL_NS_PER_S < dmon->clock_ns)
		dmon->day_ns += DAY_S * WTL_NS_PER_S;
	dmon->clock_ns = clock_ns;
	*ret_local_ns = dmon->day_ns + clock_ns;
	return true;
}

static bool time_of(struct dmon *dmon, const struct wtl_cell cells[], uint64_t index,
		    int64_t *ret_ns)
{
	int64_t interval_ns = dmon->import->options.interval_ns, local_ns;

	if (dmon->time != SIZE_MAX) {
		if (!take_clock(dmon, cells, &local_ns))
			return false;
		/* Without dates, times count from an unknown day. */
		*ret_ns = dmon->date != SIZE_MAX ? wtl_import_local(dmon->import, local_ns)
						 : local_ns;
		return true;
	}
	if (!dmon->has_first)
		dmon->first_index = index;
	else
		dmon->rounds += index == dmon->first_index;
	dmon->has_first = true;
	*ret_ns = dmon->rounds * (interval_ns ? interval_ns : WTL_NS_PER_S);
	return true;
}

static void take_line(struct dmon *dmon, struct wtl_cell line, size_t number)
{
	struct wtl_cell cells[COLUMNS_MAX];
	size_t n = wtl_cells(line, ' ', cells, COLUMNS_MAX);
	struct wtl_import_gpu *gpu;
	uint64_t index, value;
	int64_t t_ns;

	if (n != dmon->n ||
	    wtl_num_u64(cells[dmon->index].text, cells[dmon->index].len, &index) < 0 ||
	    index >= UINT32_MAX || !time_of(dmon, cells, index, &t_ns)) {
		wtl_import_bad(dmon->import, number, "it is no row of the columns above");
		return;
	}
	dmon->gpu.index = (unsigned)index;
	for (size_t i = 0; i < n; i++) {
		const struct column *column = &dmon->columns[i];

		if (column->number == WTL_GPU_NUMBERS)
			continue;
		dmon->gpu.numbers[column->number] =
			(struct wtl_gpu_value){.status = WATTLE_STATUS_ABSENT};
		if (wtl_num_u64(cells[i].text, cells[i].len, &value) == 0 && value < UINT32_MAX)
			dmon->gpu.numbers[column->number] =
				(struct wtl_gpu_value){.value = value * column->unit};
		else if (!wtl_cell_is_unknown(cells[i]))
			wtl_import_bad(dmon->import, number, "column %zu cannot be '%.*s'", i + 1,
				       (int)cells[i].len, cells[i].text);
	}
	gpu = wtl_import_gpu_find(&dmon->gpus, &dmon->gpu);
	if (gpu)
		wtl_import_gpu_put(dmon->import, gpu, &dmon->gpu, t_ns);
}

static void finish(struct dmon *dmon)
{
	if (dmon->time == SIZE_MAX && !dmon->import->options.interval_ns)
		wtl_import_remark(dmon->import, "it has no times (dmon -o DT): taken as one a "
						"second; --interval says otherwise");
	if (dmon->date == SIZE_MAX)
		wtl_import_begin_at_start(dmon->import);
}

static int read_dmon(struct wtl_import *import, const char *text, size_t len, struct wtl_err *err)
{
	struct wtl_import_lines lines = {.at = text, .end = text + len};
	struct dmon *dmon = calloc(1, sizeof(*dmon));
	struct wtl_cell line;

	(void)err;
	if (!dmon)
		return import->error = -ENOMEM;
	dmon->import = import;
	dmon->date = dmon->time = SIZE_MAX;
	for (size_t i = 0; i < WTL_GPU_NUMBERS; i++)
		dmon->gpu.numbers[i].status = WATTLE_STATUS_ABSENT;
	while (wtl_import_line(&lines, &line)) {
		if (line.len > 0 && line.text[0] == '#')
			take_titles(dmon, line);
		else if (line.len > 0 && dmon->n > 0)
			take_line(dmon, line, lines.number);
		else if (line.len > 0)
			wtl_import_bad(import, lines.number, "there is no line of titles above it");
	}
	finish(dmon);
	free(dmon);
	return 0;
}

static bool is_dmon(const char *head, size_t len)
{
	struct wtl_import_lines lines = {.at = head, .end = head + len};
	struct wtl_cell line, cells[COLUMNS_MAX];
	size_t n;

	for (size_t i = 0; i < 8 && wtl_import_line(&lines, &line); i++) {
		if (line.len == 0 || line.text[0] != '#')
			continue;
		n = wtl_cells((struct wtl_cell){line.text + 1, line.len - 1}, ' ', cells,
			      COLUMNS_MAX);
		n = n < COLUMNS_MAX ? n : COLUMNS_MAX;
		if (wtl_cell_find(cells, n, "gpu") != SIZE_MAX &&
		    wtl_cell_find(cells, n, "pid") == SIZE_MAX)
			return true;
	}
	return false;
}

const struct wtl_import_reader wtl_import_dmon = {
	.name = "dmon",
	.doc = "nvidia-smi dmon",
	.is = is_dmon,
	.read = read_dmon,
};
