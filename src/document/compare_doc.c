/* SPDX-License-Identifier: MIT */
#include "document/compare.h"

#include "document/parts.h"
#include "document/words.h"

enum { MICRO = 6, NANO = 9 };

/* ---- The table: a row a command (docs/compare.md) ---- */

static const struct wtl_doc_table table = {
	"commands", "1:command,name,runs,failed 0:compared 2:energy_j,energy_ci95_j,duration_s,"
		    "duration_ci95_s,mean_w,mean_ci95_w,ratio,ratio_low,ratio_high"};

/* The names of a row's cells, and the object and the key in it of the command that each is copied from. */
static const struct {
	const char *name, *object, *key;
} cells[] = {
	{"energy_j", "energy_j", "mean"},     {"energy_ci95_j", "energy_j", "ci95"},
	{"duration_s", "duration_s", "mean"}, {"duration_ci95_s", "duration_s", "ci95"},
	{"mean_w", "mean_w", "mean"},	      {"mean_ci95_w", "mean_w", "ci95"},
	{"ratio", "ratio", "ratio"},	      {"ratio_low", "ratio", "low"},
	{"ratio_high", "ratio", "high"},
};

static void add_row(struct wtl_doc *doc, const struct wtl_node *command)
{
	struct wtl_node *row = wtl_doc_aside(doc);
	const struct wtl_node *const scopes[] = {doc->root, command, row};

	for (size_t i = 0; i < sizeof(cells) / sizeof(cells[0]); i++)
		wtl_doc_copy(row, cells[i].name,
			     wtl_node_get(wtl_node_get(command, cells[i].object), cells[i].key));
	wtl_doc_add_row(doc, scopes, sizeof(scopes) / sizeof(scopes[0]));
}

/* ---- The tree ---- */

static void put_ratio(struct wtl_node *to, const struct wtl_ratio *ratio)
{
	struct wtl_node *object;

	if (ratio->n == 0)
		return;
	object = wtl_doc_object(to, "ratio");
	wtl_doc_count(object, "n", ratio->n);
	wtl_doc_double(object, "ratio", ratio->value, MICRO);
	if (ratio->n < 2) {
		wtl_doc_double(object, "of_all", ratio->of_all, MICRO);
		wtl_doc_text(object, "reason", "one run has no spread");
		return;
	}
	wtl_doc_double(object, "low", ratio->low, MICRO);
	wtl_doc_double(object, "high", ratio->high, MICRO);
	wtl_doc_double(object, "of_pairs", ratio->of_pairs, MICRO);
	wtl_doc_double(object, "of_all", ratio->of_all, MICRO);
	wtl_doc_flag(object, "significant", wtl_ratio_is_significant(ratio));
}

static struct wtl_node *put_command(struct wtl_node *to, const struct wtl_compare *compare,
				    const struct wtl_compared_command *command)
{
	struct wtl_node *object = wtl_doc_object(to, NULL);

	wtl_doc_text(object, "command", command->line);
	wtl_doc_text(object, "name", command->name);
	wtl_doc_count(object, "runs", command->series.of[WTL_RUN_DURATION_S].n);
	wtl_doc_count(object, "failed", command->n_failed);
	wtl_doc_statistics(object, "energy_j", &command->series.of[compare->figure], MICRO);
	wtl_doc_statistics(object, "duration_s", &command->series.of[WTL_RUN_DURATION_S], NANO);
	wtl_doc_statistics(object, "mean_w", &command->power_w, MICRO);
	put_ratio(object, &command->ratio);
	wtl_doc_runs_of(wtl_doc_object(object, "series"), &command->series);
	return object;
}

void wtl_doc_compare(struct wtl_doc *doc, const void *what)
{
	const struct wtl_compare *compare = what;
	struct wtl_node *commands;

	doc->table = &table;
	wtl_doc_schema(doc->root, "wattle.compare/1");
	wtl_doc_text(doc->root, "compared",
		     compare->figure == WTL_RUN_ENERGY_J ? "energy_j" : "command_dynamic_j");
	wtl_doc_text(doc->root, "why", compare->why);
	wtl_doc_text(doc->root, "reason", compare->reason);
	wtl_doc_count(doc->root, "warmup", compare->warmup);
	commands = wtl_doc_list(doc->root, "commands");
	for (size_t i = 0; i < compare->n; i++)
		add_row(doc, put_command(commands, compare, &compare->commands[i]));
	if (!compare->reason)
		wtl_doc_count(doc->root, "best", compare->order[0]);
	if (compare->until > 0) {
		wtl_doc_double(doc->root, "until", compare->until, MICRO);
		wtl_doc_flag(doc->root, "converged", compare->converged);
	}
}

int wtl_compare_check(const void *what)
{
	const struct wtl_compare *compare = what;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < compare->n; i++)
		rc = wtl_series_check(&compare->commands[i].series);
	return rc;
}
