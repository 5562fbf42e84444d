/* SPDX-License-Identifier: MIT */
#include "commands/export/form.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "cli/complain.h"
#include "document/format.h"
#include "energy/units.h"
#include "meter/meter.h"

/* "package-0, dram-0 and board-0" */
static void put_name(struct wtl_buf *buf, const char *name, bool is_last)
{
	wtl_buf_printf(buf, "%s%s", buf->len == 0 ? "" : is_last ? " and " : ", ", name);
}

/* A domain inside another one is only a detail of it: leaving it out loses nothing. */
static bool is_left_out(const struct wtl_export_form *form, const struct wattle_domain *domain)
{
	return domain->source && !form->has_place(domain) && !(domain->inside && domain->inside[0]);
}

static void tell_left_out(struct wtl_app *app, const struct wtl_export *export, const char *path,
			  size_t n_left)
{
	const struct wtl_export_form *form = export->form;
	struct wattle_domain domain;
	struct wtl_buf names;

	wtl_buf_init(&names, 4096);
	for (size_t i = 0, n = 0; i < export->history->n_domains; i++) {
		wtl_meter_domain(export->history->meter, i, &domain);
		if (is_left_out(form, &domain))
			put_name(&names, domain.name, ++n == n_left);
	}
	wtl_remark(app, "%s: %s has a place for %s alone: %s %s left out", path, form->name,
		   form->places, wtl_buf_str(&names), n_left == 1 ? "is" : "are");
	wtl_buf_done(&names);
}

bool wtl_export_form_check(struct wtl_app *app, const struct wtl_export *export, const char *path)
{
	const struct wtl_export_form *form = export->form;
	struct wattle_domain domain;
	size_t n_held = 0, n_left = 0;

	if (!form->has_place)
		return true;
	for (size_t i = 0; i < export->history->n_domains; i++) {
		wtl_meter_domain(export->history->meter, i, &domain);
		n_held += domain.source && form->has_place(&domain);
		n_left += is_left_out(form, &domain);
	}
	if (n_held == 0)
		wtl_complain(app,
			     "%s: %s has a place for %s alone, and none is measured in it: nothing "
			     "is written",
			     path, form->name, form->places);
	else if (n_left > 0)
		tell_left_out(app, export, path, n_left);
	return n_held > 0;
}

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

void wtl_export_gather_free(struct wtl_export *export)
{
	if (export->gathered) {
		free(export->gathered->parts);
		free(export->gathered->used);
	}
	free(export->gathered);
}

const char *wtl_export_text(const struct wtl_node *row, const char *key)
{
	const struct wtl_node *node = wtl_node_get(row, key);

	return node && node->kind == WTL_NODE_TEXT ? node->text : "";
}

struct wtl_export_part *wtl_export_part_of(struct wtl_export *export, const struct wtl_node *row)
{
	const char *domain = wtl_export_text(row, "domain");
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
	wtl_text_copy(gathered->name, sizeof(gathered->name), wtl_export_text(row, "name"));
	gathered->t_utc_ns = begin->t_utc_ns;
	gathered->duration_ns = (int64_t)duration->number; /* nine decimals */
	return true;
}
