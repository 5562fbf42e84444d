/* SPDX-License-Identifier: MIT */
#include "text/report_text.h"

#include <errno.h>
#include <stdlib.h>

#include "base/buf.h"
#include "document/format.h"
#include "text/layout.h"
#include "document/words.h"

/*
 * "Where it went": the accounts of the counted domains. What is printed adds up along every row and
 * column, so figures are rounded together: each up or down, to whatever closes the sum.
 */

enum { LIVE, EXITED, KERNEL, IDLE, UNATTRIBUTED, ACCOUNTS };

struct table {
	struct wtl_grid grid;
	unsigned scale, last_digit;
	bool is_shown[ACCOUNTS]; /* an account that is 0 everywhere is left out */
};

static bool is_row(const struct wtl_report_domain *domain)
{
	return domain->domain.in_total && domain->energy.has_energy;
}

static void accounts_of(const struct wtl_ledger *ledger, uint64_t ret_accounts_uj[ACCOUNTS])
{
	ret_accounts_uj[LIVE] = ledger->live_uj;
	ret_accounts_uj[EXITED] = ledger->exited_uj;
	ret_accounts_uj[KERNEL] = ledger->kernel_uj;
	ret_accounts_uj[IDLE] = ledger->idle_uj;
	ret_accounts_uj[UNATTRIBUTED] = ledger->unattributed_uj;
}

static void add_head(struct table *table)
{
	static const char *const names[] = {"running", "ended", "kernel", "idle", "not attributed"};
	struct wtl_grid *grid = &table->grid;

	wtl_grid_begin(grid, WTL_TONE_PLAIN);
	wtl_report_text_add_unit(grid, "where it went ", WTL_FORMAT_J, table->scale);
	for (size_t i = 0; i < ACCOUNTS; i++)
		if (table->is_shown[i])
			wtl_grid_cell(grid, names[i]);
	wtl_grid_cell(grid, "total");
}

static void add_cell(struct table *table, bool is_known, bool is_modelled, uint64_t rounded_uj)
{
	struct wtl_buf *cell = &table->grid.rows;

	if (is_known) {
		wtl_buf_puts(cell, is_modelled ? "~" : "");
		wtl_format_rounded(cell, rounded_uj, table->last_digit, table->scale);
	} else {
		wtl_buf_putc(cell, '-');
	}
	wtl_grid_next(&table->grid);
}

/* A domain's row: the accounts that are shown, which add up to rounded_uj. They are added to the columns' sums. */
static void add_row(struct table *table, const struct wtl_report *report,
		    const struct wtl_report_domain *domain, uint64_t rounded_uj,
		    uint64_t sums_uj[ACCOUNTS])
{
	bool attributed = wtl_words_attributed(report, domain);
	bool is_modelled = domain->energy.method == WATTLE_METHOD_MODELLED;
	const bool is_known[] = {attributed, attributed, attributed, domain->ledger.has_idle, true};
	uint64_t exact_uj[ACCOUNTS], accounts_uj[ACCOUNTS];

	wtl_grid_begin(&table->grid, WTL_TONE_PLAIN);
	wtl_grid_text(&table->grid, domain->domain.name);
	accounts_of(&domain->ledger, exact_uj);
	wtl_format_apportion(exact_uj, ACCOUNTS, table->last_digit, rounded_uj, accounts_uj);
	for (size_t i = 0; i < ACCOUNTS; i++) {
		sums_uj[i] += accounts_uj[i];
		if (table->is_shown[i])
			add_cell(table, is_known[i], is_modelled, accounts_uj[i]);
	}
	add_cell(table, true, is_modelled, rounded_uj);
}

static void add_total(struct table *table, const struct wtl_report *report,
		      const uint64_t sums_uj[ACCOUNTS], uint64_t rounded_uj)
{
	bool is_modelled = wtl_report_text_is_modelled(report);

	wtl_grid_begin(&table->grid, WTL_TONE_STRONG);
	wtl_grid_cell(&table->grid, "total");
	for (size_t i = 0; i < ACCOUNTS; i++) {
		if (table->is_shown[i])
			add_cell(table, true, is_modelled, sums_uj[i]);
	}
	add_cell(table, true, is_modelled, rounded_uj);
}

/* Both arrays have room for every domain. */
static void add_rows(struct table *table, const struct wtl_report *report,
		     const struct wtl_ledger *total, uint64_t exact_uj[], uint64_t rows_uj[])
{
	uint64_t whole_uj = wtl_format_round(total->total_uj, table->last_digit);
	uint64_t sums_uj[ACCOUNTS] = {0};
	size_t n = 0;

	for (size_t i = 0; i < report->n_domains; i++) {
		if (is_row(&report->domains[i]))
			exact_uj[n++] = report->domains[i].ledger.total_uj;
	}
	wtl_format_apportion(exact_uj, n, table->last_digit, whole_uj, rows_uj);
	n = 0;
	for (size_t i = 0; i < report->n_domains; i++) {
		if (is_row(&report->domains[i]))
			add_row(table, report, &report->domains[i], rows_uj[n++], sums_uj);
	}
	if (n > 1)
		add_total(table, report, sums_uj, whole_uj);
}

/* Does the table say more than that all energy is unattributed? */
static bool is_worth_it(const struct wtl_report *report, const struct wtl_ledger *total)
{
	if (total->unattributed_uj < total->total_uj)
		return true;
	for (size_t i = 0; i < report->n_domains; i++) {
		if (is_row(&report->domains[i]) &&
		    wtl_words_attributed(report, &report->domains[i]))
			return true;
	}
	return false;
}

void wtl_report_text_ledger(const struct wtl_report_text *text, const struct wtl_report *report)
{
	uint64_t accounts_uj[ACCOUNTS], *rows_uj;
	struct table table = {.scale = 0};
	struct wtl_ledger total;

	if (!wtl_words_ledger(report, &total) || !is_worth_it(report, &total))
		return;
	rows_uj = calloc(report->n_domains, 2 * sizeof(*rows_uj));
	if (!rows_uj) {
		text->buf->error = -ENOMEM;
		return;
	}
	table.scale = wtl_format_scale(total.total_uj);
	table.last_digit = wtl_format_last_digit(total.total_uj, 0);
	accounts_of(&total, accounts_uj);
	for (size_t i = 0; i < ACCOUNTS; i++)
		table.is_shown[i] = accounts_uj[i] > 0;
	wtl_grid_init(&table.grid, "lrrrrrr", text->style);
	add_head(&table);
	add_rows(&table, report, &total, rows_uj, rows_uj + report->n_domains);
	free(rows_uj);
	wtl_buf_putc(text->buf, '\n');
	wtl_grid_render(&table.grid, text->buf);
}
