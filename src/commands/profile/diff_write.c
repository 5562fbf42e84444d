/* SPDX-License-Identifier: MIT */
/* Writes a difference as text, JSON or CSV. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "cli/command.h"
#include "cli/complain.h"
#include "cli/machine.h"
#include "cli/options.h"
#include "cli/rights.h"
#include "cli/locale.h"
#include "cli/sink.h"
#include "commands/profile/diff.h"
#include "commands/profile/format.h"
#include "commands/profile/open.h"
#include "commands/profile/write.h"
#include "document/doc.h"
#include "document/format.h"
#include "text/layout.h"

enum { OUT_MAX = 64 << 20 };

struct telling {
	const struct wtl_diff *diff;
	size_t *order; /* functions by how much they differ, most first */
};

/* ---- The order ---- */

struct place {
	size_t function;
	double changes[WTL_DIFF_WHATS]; /* absolute changes, first the one to sort by */
};

static int by_change(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	for (size_t i = 0; i < WTL_DIFF_WHATS; i++)
		if (x->changes[i] != y->changes[i])
			return x->changes[i] > y->changes[i] ? -1 : 1;
	return x->function < y->function ? -1 : x->function > y->function;
}

/* Sorts by changes of functions themselves, unless --sort says otherwise: those add up to the runs' change. */
static int put_in_order(struct telling *telling, enum wtl_profile_sort sort)
{
	bool has_energy = telling->diff->has_energy;
	enum wtl_diff_what first = sort == WTL_SORT_CALLS
					   ? (has_energy ? WTL_DIFF_ALL_UJ : WTL_DIFF_ALL_NS)
				   : sort == WTL_SORT_CPU || !has_energy ? WTL_DIFF_OWN_NS
									 : WTL_DIFF_OWN_UJ;
	size_t n = telling->diff->functions.n;
	struct place *places = calloc(n + 1, sizeof(*places));

	telling->order = calloc(n + 1, sizeof(*telling->order));
	if (!places || !telling->order) {
		free(places);
		return -ENOMEM;
	}
	for (size_t i = 0; i < n; i++) {
		places[i].function = i;
		for (unsigned what = 0; what < WTL_DIFF_WHATS; what++) {
			struct wtl_difference_row row;

			wtl_diff_row(telling->diff, i, (first + what) % WTL_DIFF_WHATS, &row);
			places[i].changes[what] = fabs(row.change);
		}
	}
	qsort(places, n, sizeof(*places), by_change);
	for (size_t i = 0; i < n; i++)
		telling->order[i] = places[i].function;
	free(places);
	return 0;
}

/* ---- Text ---- */

static void put_change(struct wtl_buf *buf, const struct wtl_difference_row *row,
		       const struct wtl_output_style *style)
{
	wtl_buf_printf(buf, "%+10.3f ", row->change / 1e6);
	wtl_profile_put_doubt(buf, row->uncertainty / 1e6, style);
	wtl_buf_printf(buf, "%c ", row->is_significant ? '*' : ' ');
}

static void put_row(struct wtl_buf *buf, const struct wtl_diff *diff, size_t function,
		    const struct wtl_output_style *style)
{
	struct wtl_difference_row rows[WTL_DIFF_WHATS];

	for (unsigned what = 0; what < WTL_DIFF_WHATS; what++)
		wtl_diff_row(diff, function, what, &rows[what]);
	if (diff->has_energy) {
		wtl_buf_printf(buf, "%10.3f %10.3f ", rows[WTL_DIFF_OWN_UJ].first / 1e6,
			       rows[WTL_DIFF_OWN_UJ].second / 1e6);
		put_change(buf, &rows[WTL_DIFF_OWN_UJ], style);
		put_change(buf, &rows[WTL_DIFF_ALL_UJ], style);
	} else {
		wtl_buf_printf(buf, "%10s %10s %10s %22s %12s", "-", "-", "-", "-", "");
	}
	wtl_buf_printf(buf, "%+9.3f%c  ", rows[WTL_DIFF_OWN_NS].change / 1e9,
		       rows[WTL_DIFF_OWN_NS].is_significant ? '*' : ' ');
}

/* Leaves out rows with less than 1 % of a whole run, unless they differ for certain. */
static bool is_told(const struct wtl_diff *diff, size_t function)
{
	enum wtl_diff_what what = diff->has_energy ? WTL_DIFF_ALL_UJ : WTL_DIFF_ALL_NS;
	struct wtl_difference_row row, whole;

	wtl_diff_row(diff, function, what, &row);
	wtl_diff_row(diff, diff->functions.n, what, &whole);
	return row.is_significant ||
	       fmax(row.first, row.second) >= 0.01 * fmax(whole.first, whole.second);
}

static void put_side(struct wtl_buf *buf, const struct wtl_diff *diff, const char *name,
		     size_t from, size_t to)
{
	wtl_buf_printf(buf, "%s: %zu run%s of ", name, to - from, to - from == 1 ? "" : "s");
	wtl_profile_command_line(buf, &diff->runs[from].profile);
	if (diff->runs[from].profile.policy)
		wtl_buf_printf(buf, ", computed again with --policy %s",
			       diff->runs[from].profile.policy);
	wtl_buf_putc(buf, '\n');
}

static void put_text(struct wtl_buf *buf, const struct telling *telling, unsigned rows,
		     const struct wtl_output_style *style)
{
	const struct wtl_diff *diff = telling->diff;
	size_t n = diff->functions.n, n_told = 0, n_small = 0;

	put_side(buf, diff, "A", 0, diff->n_first);
	put_side(buf, diff, "B", diff->n_first, diff->n_runs);
	wtl_buf_puts(buf, "\n A own [J]  B own [J]    own: B - A [J]        with calls: B - A [J] "
			  " CPU [s]   function\n");
	put_row(buf, diff, n, style);
	wtl_buf_puts(buf, "all of the program\n");
	for (size_t i = 0; i < n; i++) {
		size_t function = telling->order[i];

		n_small += !is_told(diff, function);
		if (!is_told(diff, function) || n_told >= rows)
			continue;
		n_told++;
		put_row(buf, diff, function, style);
		wtl_layout_text(buf, wtl_functions_text(&diff->functions, function), style);
		wtl_buf_putc(buf, '\n');
	}
	wtl_buf_putc(buf, '\n');
	if (n_small)
		wtl_buf_printf(buf, "%zu more with less than 1 %% of either side's, not shown\n",
			       n_small);
	if (n_told + n_small < n)
		wtl_buf_printf(buf, "%zu more functions than --rows %u, not shown\n",
			       n - n_told - n_small, rows);
	wtl_buf_printf(buf, "* differs by more than its %s (k = 2)\n",
		       wtl_layout_plus_minus(style));
	if (diff->n_runs == 2)
		wtl_buf_printf(buf,
			       "One run a side: how much runs differ is not known, and not in the "
			       "%s (several: diff A1 A2 -- B1 B2)\n",
			       wtl_layout_plus_minus(style));
	if (!diff->has_energy)
		wtl_buf_puts(buf, "No energy is known of one of them, or of both: they are "
				  "compared by CPU time\n");
	else if (!diff->is_same_machine)
		wtl_buf_puts(buf, "Not by the same sensors of one machine, or by a model: no error "
				  "is taken to be the same in both\n");
}

/* ---- Documents ---- */

static const struct wtl_doc_table table = {
	"functions",
	"0:function,a_own_energy_j,b_own_energy_j,own_energy_change_j,own_energy_uncertainty_j,own_energy_significant,"
	"a_energy_j,b_energy_j,energy_change_j,energy_uncertainty_j,energy_significant,a_own_cpu_s,b_own_cpu_s,"
	"own_cpu_change_s,own_cpu_uncertainty_s,own_cpu_significant,a_cpu_s,b_cpu_s,cpu_change_s,cpu_uncertainty_s,"
	"cpu_significant"};

static void put_figure(struct wtl_node *to, const struct wtl_difference_row *row, unsigned decimals,
		       const char *const keys[5])
{
	wtl_doc_fixed(to, keys[0], (uint64_t)llround(row->first), decimals);
	wtl_doc_fixed(to, keys[1], (uint64_t)llround(row->second), decimals);
	wtl_doc_signed(to, keys[2], row->change < 0.0, (uint64_t)llround(fabs(row->change)),
		       decimals);
	wtl_doc_fixed(to, keys[3], (uint64_t)llround(row->uncertainty), decimals);
	wtl_doc_flag(to, keys[4], row->is_significant);
}

static void put_figures(struct wtl_node *to, const struct wtl_diff *diff, size_t function)
{
	static const char *const keys[WTL_DIFF_WHATS][5] = {
		[WTL_DIFF_OWN_UJ] = {"a_own_energy_j", "b_own_energy_j", "own_energy_change_j",
				     "own_energy_uncertainty_j", "own_energy_significant"},
		[WTL_DIFF_ALL_UJ] = {"a_energy_j", "b_energy_j", "energy_change_j",
				     "energy_uncertainty_j", "energy_significant"},
		[WTL_DIFF_OWN_NS] = {"a_own_cpu_s", "b_own_cpu_s", "own_cpu_change_s",
				     "own_cpu_uncertainty_s", "own_cpu_significant"},
		[WTL_DIFF_ALL_NS] = {"a_cpu_s", "b_cpu_s", "cpu_change_s", "cpu_uncertainty_s",
				     "cpu_significant"}};

	for (unsigned what = diff->has_energy ? 0 : WTL_DIFF_OWN_NS; what < WTL_DIFF_WHATS;
	     what++) {
		struct wtl_difference_row row;

		wtl_diff_row(diff, function, what, &row);
		put_figure(to, &row, what < WTL_DIFF_OWN_NS ? 6 : 9, keys[what]);
	}
}

static void build(struct wtl_doc *doc, const struct telling *telling)
{
	const struct wtl_diff *diff = telling->diff;
	struct wtl_node *list;

	doc->table = &table;
	wtl_doc_schema(doc->root, "wattle.profile-diff/1");
	wtl_doc_count(doc->root, "a_runs", diff->n_first);
	wtl_doc_count(doc->root, "b_runs", diff->n_runs - diff->n_first);
	wtl_doc_flag(doc->root, "same_sensors", diff->is_same_machine);
	put_figures(wtl_doc_object(doc->root, "total"), diff, diff->functions.n);
	list = wtl_doc_list(doc->root, "functions");
	for (size_t i = 0; i < diff->functions.n; i++) {
		struct wtl_node *row = wtl_doc_object(list, NULL);
		const struct wtl_node *const scopes[] = {row};

		wtl_doc_text(row, "function",
			     wtl_functions_text(&diff->functions, telling->order[i]));
		put_figures(row, diff, telling->order[i]);
		wtl_doc_add_row(doc, scopes, 1);
	}
}

/* ---- All of it ---- */

static int tell(const struct wtl_profile_writing *writing, const struct wtl_diff *diff,
		const struct wtl_writer *writer)
{
	const struct wtl_output_style style = {.ascii = wtl_is_ascii(&writing->app->settings)};
	const struct wtl_profile_settings *settings = writing->settings;
	struct telling telling = {.diff = diff};
	struct wtl_buf buf;
	struct wtl_doc doc;
	int rc = put_in_order(&telling, settings->sort);

	wtl_buf_init(&buf, OUT_MAX);
	wtl_doc_init(&doc);
	if (rc == 0 && writer) {
		build(&doc, &telling);
		rc = doc.error ? doc.error : writer->document(&buf, &doc, &style);
	} else if (rc == 0) {
		put_text(&buf, &telling, settings->rows, &style);
	}
	rc = wtl_profile_write_out(writing, &buf, rc, writing->app->settings.output_path,
				   wtl_sink_fd(writing->app));
	wtl_doc_done(&doc);
	wtl_buf_done(&buf);
	free(telling.order);
	return rc;
}

/* Splits the files into two sides at "--"; without it, one file each. 0 or EINVAL after wtl_complain(). */
static int find_sides(struct wtl_app *app, const char *files[], size_t *ret_n, size_t *ret_first)
{
	const struct wtl_profile_settings *settings = app->own;
	const struct wtl_option_list *words = &settings->files;
	size_t n = 0, first = 1;

	for (size_t i = 0; i < words->n; i++)
		if (strcmp(words->words[i], "--") == 0)
			first = n;
		else
			files[n++] = words->words[i];
	*ret_n = n;
	*ret_first = first;
	if (n >= 2 && first > 0 && first < n && (words->n == n + 1 || (words->n == n && n == 2)))
		return 0;
	return wtl_complain(
		app, "diff takes two files, or several on each side of one '--', as in: wattle "
		     "profile diff a1.wprof a2.wprof -- b1.wprof b2.wprof");
}

static int find_writer(struct wtl_app *app, const struct wtl_writer **ret_writer)
{
	const struct wtl_profile_settings *settings = app->own;
	const char *name = wtl_profile_format_names[settings->format];

	*ret_writer = strcmp(name, "text") == 0 ? NULL : wtl_writer_find(name);
	if (*ret_writer || strcmp(name, "text") == 0)
		return 0;
	return wtl_complain(app, "a difference can be written as text, json or csv, not as %s",
			    name);
}

int wtl_profile_diff(struct wtl_app *app)
{
	const char *files[WTL_OPTION_LIST_MAX];
	struct wtl_profile_writing writing = {.app = app, .settings = app->own, .is_saved = true};
	const struct wtl_writer *writer;
	struct wtl_saved *runs;
	struct wtl_diff diff;
	size_t n, first, made = 0;
	int rc = 0, over = 0;

	if (find_sides(app, files, &n, &first) || find_writer(app, &writer))
		return WTL_EXIT_WATTLE_FAILED;
	runs = calloc(n, sizeof(*runs));
	if (!runs || wtl_open_io(app, &writing.io) < 0) {
		free(runs);
		return WTL_EXIT_WATTLE_FAILED;
	}
	for (; rc == 0 && made < n; made++)
		rc = wtl_profile_open(app, files[made], &runs[made]);
	if (rc == 0) {
		rc = wtl_diff_make(&diff, runs, n, first);
		if (rc < 0)
			wtl_complain(app, "out of memory");
		else
			rc = tell(&writing, &diff, writer);
		if (rc == 0 || rc == -EPIPE)
			over = wtl_bounds_check_diff(app, &writing.settings->bounds, &diff);
		wtl_diff_done(&diff);
	}
	for (size_t i = 0; i < made; i++)
		wtl_saved_done(&runs[i]);
	free(runs);
	wtl_close_io(app, writing.io);
	return wtl_profile_exit(&writing, over < 0 ? over : rc, over > 0);
}
