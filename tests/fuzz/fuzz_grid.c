/* SPDX-License-Identifier: MIT */
/* What APIs answer of a grid's intensity, and the file that it is kept in: the first byte says which. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "client/grid_answer.h"
#include "energy/carbon.h"
#include "energy/units.h"

static void check(const struct wtl_grid_rows *rows)
{
	for (size_t i = 0; i < rows->n; i++)
		if ((i > 0 && rows->rows[i].t_utc_ns <= rows->rows[i - 1].t_utc_ns) ||
		    rows->rows[i].mg_per_kwh > WTL_CARBON_MAX_MG_PER_KWH)
			abort();
}

static void answer(unsigned which, const char *text, size_t len)
{
	struct wtl_grid_rows rows = {.n = 0};
	const struct wtl_grid_answer answer = {
		.text = text,
		.len = len,
		.zone = which == 0   ? "FR"
			: which == 1 ? ""
				     : "3",
		.from_utc_ns = 1795219200 * WTL_NS_PER_S,
		.to_utc_ns = 1795305600 * WTL_NS_PER_S,
		.step_ns = 1800 * WTL_NS_PER_S,
		.asked_utc_ns = 1795305600 * WTL_NS_PER_S,
		.rows = &rows,
	};
	char why[200];
	int rc = which == 0 ? wtl_grid_answer_electricity_maps(&answer, why)
			    : wtl_grid_answer_uk(&answer, why);

	if (rc < 0 && rows.n > 0)
		abort();
	check(&rows);
	wtl_grid_answer_complaint(text, len, why);
	wtl_grid_rows_done(&rows);
}

/* What is kept is read back as it was. */
static void kept(const char *text, size_t len)
{
	struct wtl_grid_rows rows, again;
	struct wtl_buf buf;

	if (wtl_grid_rows_parse(&rows, "uk-grid", text, len) < 0)
		return;
	check(&rows);
	wtl_buf_init(&buf, 64 << 20);
	wtl_grid_rows_print(&rows, "uk-grid", &buf);
	if (wtl_grid_rows_parse(&again, "uk-grid", wtl_buf_str(&buf), buf.len) < 0 ||
	    again.n != rows.n)
		abort();
	wtl_grid_rows_done(&again);
	wtl_grid_rows_done(&rows);
	wtl_buf_done(&buf);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	if (data[0] % 4 == 3)
		kept((const char *)data + 1, size - 1);
	else
		answer(data[0] % 4, (const char *)data + 1, size - 1);
	return 0;
}
