/* SPDX-License-Identifier: MIT */
#include "commands/export/form.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "document/format.h"
#include "energy/units.h"
#include "meter/meter.h"

int wtl_export_gather_new(struct wtl_export *export)
{
	struct wtl_export_gathered *gathered = calloc(1, sizeof(*gathered));
	size_t n = export->history->n_domains;

	if (!gathered)
		return -ENOMEM;
	export->gathered = gathered;
	gathered->parts = calloc(n + 1, sizeof(*gathered->parts));
	if (!gathered->parts)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		wtl_meter_domain(export->history->meter, i, &gathered->parts[i].domain);
	return 0;
}

static const char *text_of(const struct wtl_node *row, const char *key)
{
	const struct wtl_node *node = wtl_node_get(row, key);

	return node && node->kind == WTL_NODE_TEXT ? node->text : "";
}

struct wtl_export_part *wtl_export_part_of(struct wtl_export *export, const struct wtl_node *row)
{
	const char *domain = text_of(row, "domain");
	size_t i = 0;

	while (i < export->history->n_domains &&
	       strcmp(export->gathered->parts[i].domain.name, domain) != 0)
		i++;
	return i < export->history->n_domains ? &export->gathered->parts[i] : NULL;
}

bool wtl_export_micro(const struct wtl_node *row, const char *key, uint64_t *ret)
{
	const struct wtl_node *node = wtl_node_get(row, key);

	if (!node || node->kind != WTL_NODE_NUMBER || node->decimals != 6 || node->is_negative)
		return false;
	*ret = node->number;
	return true;
}

static bool is_main(const struct wtl_export *export)
{
	return export->history->window && export->history->window->is_main;
}

bool wtl_export_gather_window(struct wtl_export *export, const struct wtl_node *row)
{
	struct wtl_export_gathered *gathered = export->gathered;
	struct wtl_export_part *part = wtl_export_part_of(export, row);
	const struct wtl_node *begin = wtl_node_get(row, "begin_utc");
	const struct wtl_node *duration = wtl_node_get(row, "duration_s");

	if (part) {
		part->is_there = wtl_export_micro(row, "energy_j", &part->energy_uj);
		return false;
	}
	if (!begin || !duration || (is_main(export) && gathered->has_others))
		return false;
	gathered->has_others |= !is_main(export);
	wtl_text_copy(gathered->name, sizeof(gathered->name), text_of(row, "name"));
	gathered->t_utc_ns = begin->t_utc_ns;
	gathered->duration_ns = (int64_t)duration->number; /* nine decimals */
	return true;
}
