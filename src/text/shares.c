/* SPDX-License-Identifier: MIT */
#include "text/shares.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum { WHOLE_SECONDS = 6, WATTS = 6 };

struct table {
	const struct wtl_shares *shares;
	struct wtl_grid grid;
	size_t n_shown;
	unsigned scale, last_digit;		/* of the energies */
	uint64_t longest_us;			/* CPU time */
	bool has_dynamic, has_gpu, has_per_cpu; /* there are such columns */
};

static uint64_t cpu_us(int64_t cpu_ns)
{
	return cpu_ns > 0 ? (uint64_t)cpu_ns / 1000 : 0;
}

/* False: the row would be 0 in the table's unit. It and all that follow count as "others". */
static bool plan_row(struct table *table, const struct wtl_shares_row *row)
{
	if (wtl_format_round(row->all.full_uj, table->last_digit) == 0)
		return false;
	table->has_dynamic |= row->all.has_dynamic;
	table->has_gpu |= row->gpu.full_uj > 0;
	table->has_per_cpu |= row->per_cpu.power_uw > 0;
	if (cpu_us(row->cpu_ns) > table->longest_us)
		table->longest_us = cpu_us(row->cpu_ns);
	return true;
}

/* Which rows are shown. If none is, the columns are those that the others need. */
static void plan(struct table *table)
{
	const struct wtl_shares *shares = table->shares;

	table->has_dynamic = shares->has_others && shares->others.all.has_dynamic;
	while (table->n_shown < shares->n) {
		const struct wtl_shares_row row = shares->row(shares->of, table->n_shown);

		if (!plan_row(table, &row))
			break;
		table->n_shown++;
	}
	if (table->n_shown == 0)
		plan_row(table, &shares->others);
}

/* The others, together with the rows that are not shown. */
static struct wtl_shares_row others_of(const struct table *table)
{
	const struct wtl_shares *shares = table->shares;
	struct wtl_shares_row others = shares->others;
	bool is_first = !shares->has_others;

	for (size_t i = table->n_shown; i < shares->n; i++) {
		const struct wtl_shares_row more = shares->row(shares->of, i);

		wtl_share_energy_add(&others.all, &more.all, is_first);
		wtl_share_energy_add(&others.gpu, &more.gpu, is_first);
		others.cpu_ns = wtl_consumer_cpu_add(others.cpu_ns, more.cpu_ns);
		others.n_processes += more.n_processes;
		is_first = false;
	}
	return others;
}

static void add_energy(struct table *table, uint64_t energy_uj, unsigned last_digit)
{
	wtl_format_rounded(&table->grid.rows, energy_uj, last_digit, table->scale);
	wtl_grid_next(&table->grid);
}

static void add_cpu(struct table *table, int64_t cpu_ns)
{
	unsigned last = wtl_format_last_digit(table->longest_us, 0);

	if (cpu_ns >= 0)
		wtl_format_rounded(&table->grid.rows, cpu_us(cpu_ns),
				   last < WHOLE_SECONDS ? last : WHOLE_SECONDS, WHOLE_SECONDS);
	else
		wtl_buf_putc(&table->grid.rows, '-');
	wtl_grid_next(&table->grid);
}

/* Dynamic energy with its ±, and full; or full with its ± if no row has a dynamic part. */
static void add_figures(struct table *table, const struct wtl_shares_row *row, uint64_t rounded_uj,
			bool has_gpu)
{
	const struct wtl_share_energy *all = &row->all;
	uint64_t best_uj = all->has_dynamic ? all->dynamic_uj : all->full_uj;
	unsigned last = wtl_format_last_digit(best_uj, all->uncertainty_uj);
	struct wtl_grid *grid = &table->grid;

	if (last < table->last_digit)
		last = table->last_digit;
	add_cpu(table, row->cpu_ns);
	if (table->has_per_cpu && row->per_cpu.power_uw > 0)
		wtl_report_text_add_measure(grid, row->per_cpu.power_uw,
					    row->per_cpu.uncertainty_uw, false, WATTS);
	else if (table->has_per_cpu)
		wtl_report_text_add_nothing(grid);
	if (table->has_dynamic && all->has_dynamic) {
		add_energy(table, all->dynamic_uj, last);
		wtl_report_text_add_uncertainty(grid, all->uncertainty_uj, last, table->scale);
	} else if (table->has_dynamic) {
		wtl_report_text_add_nothing(grid);
	}
	add_energy(table, rounded_uj, table->last_digit);
	if (!table->has_dynamic)
		wtl_report_text_add_uncertainty(grid, all->uncertainty_uj, last, table->scale);
	if (table->has_gpu && has_gpu)
		add_energy(table, row->gpu.full_uj, table->last_digit);
}

static void add_head(struct table *table)
{
	struct wtl_grid *grid = &table->grid;

	wtl_grid_begin(grid, WTL_TONE_PLAIN);
	table->shares->head(grid, table->shares->of);
	wtl_grid_cell(grid, "CPU [s]");
	if (table->has_per_cpu) {
		wtl_grid_cell(grid, "W/CPU");
		wtl_grid_cell(grid, "");
	}
	wtl_grid_cell(grid, table->has_dynamic ? "dynamic" : "full");
	wtl_report_text_add_unit(grid, "", WTL_FORMAT_J, table->scale);
	if (table->has_dynamic)
		wtl_grid_cell(grid, "full");
	if (table->has_gpu)
		wtl_grid_cell(grid, "GPU");
}

/* A row with the full figure alone. */
static void add_sum(struct table *table, enum wtl_tone tone, const char *name, uint64_t rounded_uj)
{
	wtl_grid_begin(&table->grid, tone);
	table->shares->named(&table->grid, table->shares->of, name, NULL);
	for (int i = 0; i < (table->has_dynamic ? 3 : 1) + (table->has_per_cpu ? 2 : 0); i++)
		wtl_grid_cell(&table->grid, "");
	add_energy(table, rounded_uj, table->last_digit);
}

/* Figures are rounded together, so that they add up as printed. Both arrays have
 * room for the rows that are shown, the others, and the energy of no process. */
static void add_rows(struct table *table, uint64_t exact_uj[], uint64_t full_uj[])
{
	const struct wtl_shares *shares = table->shares;
	const struct wtl_shares_row others = others_of(table);
	uint64_t whole_uj = wtl_format_round(shares->total_uj, table->last_digit);
	size_t n = table->n_shown;

	for (size_t i = 0; i < n; i++)
		exact_uj[i] = shares->row(shares->of, i).all.full_uj;
	exact_uj[n] = others.all.full_uj;
	exact_uj[n + 1] = shares->total_uj - shares->processes_uj;
	wtl_format_apportion(exact_uj, n + 2, table->last_digit, whole_uj, full_uj);
	for (size_t i = 0; i < n; i++) {
		const struct wtl_shares_row row = shares->row(shares->of, i);

		wtl_grid_begin(&table->grid, WTL_TONE_PLAIN);
		shares->cells(&table->grid, shares->of, i);
		add_figures(table, &row, full_uj[i], true);
	}
	if (others.n_processes > 0 || others.all.full_uj > 0) {
		wtl_grid_begin(&table->grid, WTL_TONE_PLAIN);
		shares->named(&table->grid, shares->of, "others", &others.n_processes);
		add_figures(table, &others, full_uj[n], !shares->others_lack_gpu);
	}
	if (shares->has_sums && shares->processes_uj < shares->total_uj)
		add_sum(table, WTL_TONE_FAINT, "no process", full_uj[n + 1]);
	if (shares->has_sums)
		add_sum(table, WTL_TONE_STRONG, "total", whole_uj);
}

void wtl_report_text_shares(const struct wtl_report_text *text, const struct wtl_shares *shares)
{
	struct table table = {
		.shares = shares,
		.scale = wtl_format_scale(shares->total_uj),
		.last_digit = wtl_format_last_digit(shares->total_uj, 0),
	};
	char align[WTL_GRID_COLUMNS + 1];
	uint64_t *full_uj;

	plan(&table);
	full_uj = calloc(table.n_shown + 2, 2 * sizeof(*full_uj));
	if (!full_uj) {
		text->buf->error = -ENOMEM;
		return;
	}
	snprintf(align, sizeof(align), "%sr%sru%s", shares->columns, table.has_per_cpu ? "ru" : "",
		 table.has_dynamic ? "rr" : "r");
	wtl_grid_init(&table.grid, align, text->style);
	add_head(&table);
	add_rows(&table, full_uj, full_uj + table.n_shown + 2);
	free(full_uj);
	wtl_buf_putc(text->buf, '\n');
	wtl_grid_render(&table.grid, text->buf);
}
