/* SPDX-License-Identifier: MIT */
#include "text/shares.h"

#include "base/buf.h"
#include "document/format.h"
#include "text/page.h"

enum { WHOLE_SECONDS = 6 };

static uint64_t cpu_us(int64_t cpu_ns)
{
	return cpu_ns > 0 ? (uint64_t)cpu_ns / 1000 : 0;
}

void wtl_shares_init(struct wtl_shares *table, uint64_t total_uj,
		     const struct wtl_output_style *style)
{
	*table = (struct wtl_shares){
		.style = style,
		.scale = wtl_format_scale(total_uj),
		.last_digit = wtl_format_last_digit(total_uj, 0),
	};
}

bool wtl_shares_plan(struct wtl_shares *table, const struct wtl_share_energy *all,
		     const struct wtl_share_energy *gpu, int64_t cpu_ns)
{
	if (wtl_format_round(all->full_uj, table->last_digit) == 0)
		return false;
	table->has_dynamic |= all->has_dynamic;
	table->has_gpu |= gpu->full_uj > 0;
	if (cpu_us(cpu_ns) > table->longest_us)
		table->longest_us = cpu_us(cpu_ns);
	return true;
}

void wtl_shares_head(struct wtl_shares *table)
{
	struct wtl_grid *grid = &table->grid;

	wtl_grid_cell(grid, "CPU [s]");
	wtl_grid_cell(grid, table->has_dynamic ? "dynamic" : "full");
	wtl_page_add_unit(grid, "", WTL_FORMAT_J, table->scale, table->style);
	if (table->has_dynamic)
		wtl_grid_cell(grid, "full");
	if (table->has_gpu)
		wtl_grid_cell(grid, "GPU");
}

static void add_energy(struct wtl_shares *table, uint64_t energy_uj, unsigned last_digit)
{
	wtl_format_rounded(&table->grid.rows, energy_uj, last_digit, table->scale);
	wtl_grid_next(&table->grid);
}

static void add_cpu(struct wtl_shares *table, int64_t cpu_ns)
{
	unsigned last = wtl_format_last_digit(table->longest_us, 0);

	if (cpu_ns >= 0)
		wtl_format_rounded(&table->grid.rows, cpu_us(cpu_ns),
				   last < WHOLE_SECONDS ? last : WHOLE_SECONDS, WHOLE_SECONDS);
	else
		wtl_buf_putc(&table->grid.rows, '-');
	wtl_grid_next(&table->grid);
}

/* Dynamic energy with its ±, and full; or full with its ±, where nothing has a dynamic part. */
void wtl_shares_row(struct wtl_shares *table, int64_t cpu_ns, const struct wtl_share_energy *all,
		    const struct wtl_share_energy *gpu, uint64_t rounded_uj)
{
	uint64_t best_uj = all->has_dynamic ? all->dynamic_uj : all->full_uj;
	unsigned last = wtl_format_last_digit(best_uj, all->uncertainty_uj);
	struct wtl_grid *grid = &table->grid;

	if (last < table->last_digit)
		last = table->last_digit;
	add_cpu(table, cpu_ns);
	if (table->has_dynamic && all->has_dynamic) {
		add_energy(table, all->dynamic_uj, last);
		wtl_page_add_uncertainty(grid, all->uncertainty_uj, last, table->scale,
					 table->style);
	} else if (table->has_dynamic) {
		wtl_page_add_nothing(grid);
	}
	add_energy(table, rounded_uj, table->last_digit);
	if (!table->has_dynamic)
		wtl_page_add_uncertainty(grid, all->uncertainty_uj, last, table->scale,
					 table->style);
	if (table->has_gpu && gpu)
		add_energy(table, gpu->full_uj, table->last_digit);
}

void wtl_shares_sum(struct wtl_shares *table, uint64_t rounded_uj)
{
	for (int i = 0; i < (table->has_dynamic ? 4 : 2); i++)
		wtl_grid_cell(&table->grid, "");
	add_energy(table, rounded_uj, table->last_digit);
}

uint64_t wtl_shares_round(const struct wtl_shares *table, const uint64_t exact_uj[], size_t n,
			  uint64_t total_uj, uint64_t ret_rounded_uj[])
{
	uint64_t whole_uj = wtl_format_round(total_uj, table->last_digit);

	wtl_format_apportion(exact_uj, n, table->last_digit, whole_uj, ret_rounded_uj);
	return whole_uj;
}

int wtl_shares_render(struct wtl_shares *table, struct wtl_buf *buf)
{
	wtl_buf_putc(buf, '\n');
	wtl_grid_render(&table->grid, buf, table->style);
	wtl_grid_done(&table->grid);
	return buf->error;
}
