/* SPDX-License-Identifier: MIT */
#include "commands/run/emissions.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/infile.h"
#include "base/outfile.h"
#include "cli/command.h"
#include "cli/complain.h"
#include "commands/run/session.h"
#include "document/codecarbon.h"
#include "document/words.h"
#include "meter/meter.h"

/* Years of rows fit; only the first line is read. */
enum { FILE_MAX = 1 << 30, ROW_MAX = 1 << 16 };

const char *const wtl_emissions_formats[] = {"2023", "latest", NULL};

/* A UUID from what differs between runs. */
static void make_run_id(char *text, size_t size, const struct wtl_run_session *session,
			const struct wattle_window *window)
{
	uint64_t high = wtl_hash_more(WTL_HASH_START, (const char *)&window->begin_utc_ns,
				      sizeof(window->begin_utc_ns));
	uint64_t low;

	high = wtl_hash_more(high, (const char *)&session->meter->machine.id,
			     sizeof(session->meter->machine.id));
	low = wtl_hash_more(high, (const char *)&window->duration_ns, sizeof(window->duration_ns));
	snprintf(text, size, "%08x-%04x-4%03x-%04x-%012" PRIx64, (unsigned)(high >> 32),
		 (unsigned)(high >> 16 & 0xffff), (unsigned)(high & 0xfff),
		 (unsigned)(0x8000 | (low >> 48 & 0x3fff)), low & 0xffffffffffff);
}

/* ---- The file ---- */

struct found {
	bool is_new;
	bool is_torn; /* its last line has no newline */
	enum wtl_codecarbon_format format;
};

/* Does a file begin with that header, with any kind of line end? */
static bool begins_with(const struct wtl_buf *file, enum wtl_codecarbon_format format)
{
	const char *text = wtl_buf_str(file);
	size_t at = file->len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0, len;
	struct wtl_buf header;
	bool is_so;

	wtl_buf_init(&header, ROW_MAX);
	wtl_codecarbon_put_header(&header, format);
	len = header.len - 1;
	is_so = file->len >= at + len && memcmp(text + at, wtl_buf_str(&header), len) == 0 &&
		(file->len == at + len || text[at + len] == '\n' || text[at + len] == '\r');
	wtl_buf_done(&header);
	return is_so;
}

static int look(struct wtl_app *app, const char *path, struct found *ret)
{
	struct wtl_buf file;
	int rc;

	*ret = (struct found){.format = WTL_CODECARBON_2023};
	wtl_buf_init(&file, FILE_MAX);
	rc = wtl_infile_read(path, &file);
	ret->is_new = rc == -ENOENT || (rc == 0 && file.len == 0);
	ret->is_torn = rc == 0 && file.len > 0 && wtl_buf_str(&file)[file.len - 1] != '\n';
	if (ret->is_new)
		rc = 0;
	else if (rc < 0)
		wtl_complain(app, "%s: %s", path, wtl_err_text(rc));
	else if (begins_with(&file, WTL_CODECARBON_LATEST))
		ret->format = WTL_CODECARBON_LATEST;
	else if (!begins_with(&file, WTL_CODECARBON_2023))
		rc = wtl_complain(app,
				  "%s: line 1: these are not the columns of 2023 or the latest "
				  "ones, in their order: give another file",
				  path) *
		     -1;
	wtl_buf_done(&file);
	return rc;
}

int wtl_emissions_check(struct wtl_app *app, const char *path)
{
	struct found found;
	int rc = wtl_outfile_check(path);

	if (rc < 0)
		wtl_complain(app, "%s: %s", path, wtl_err_text(rc));
	return rc < 0 ? rc : look(app, path, &found);
}

/* ---- A row ---- */

/* A part with an unknown domain is unknown. Without GPUs, theirs is 0. */
static void add_up(struct wtl_codecarbon *row, const struct wtl_report *report)
{
	const struct wattle_energy *total = &report->window.total;

	for (size_t i = 0; i < report->n_domains; i++) {
		const struct wattle_domain *domain = &report->domains[i].domain;
		const struct wattle_energy *energy = &report->domains[i].energy;
		double *kwh = &row->kwh[wtl_codecarbon_part_of(domain->kind)];

		if (domain->kind == WATTLE_KIND_GPU && row->n_gpus++ == 0)
			row->gpu_model = domain->device ? domain->device : "GPU";
		if (!domain->in_total)
			continue;
		if (!energy->has_energy)
			*kwh = -1;
		else if (*kwh >= 0)
			*kwh += wtl_codecarbon_kwh(energy->energy_uj) * row->pue;
	}
	row->kwh[WTL_CODECARBON_ALL] =
		total->has_energy ? wtl_codecarbon_kwh(total->energy_uj) * row->pue : -1;
	row->kg = wtl_words_not_emitted(&report->carbon, total)
			  ? -1.0
			  : (double)wtl_words_emitted_ng(&report->carbon) * row->pue / 1e12;
}

int wtl_emissions_append(const struct wtl_run_session *session, const struct wtl_report *report,
			 const char *path, enum wtl_codecarbon_format format)
{
	const struct wtl_machine *machine = &session->meter->machine;
	char run_id[40], os[sizeof(machine->kernel) + 8];
	struct wtl_codecarbon row = {
		.end_utc_ns = wtl_words_end_utc_ns(&report->window),
		.project = "wattle",
		.run_id = run_id,
		.os = os,
		.cpu_model = machine->cpu_model,
		.gpu_model = "",
		.carbon = &report->carbon.carbon,
		.seconds = (double)report->window.duration_ns / 1e9,
		.pue = report->carbon.pue_milli ? (double)report->carbon.pue_milli / 1e3 : 1.0,
		.n_cpus = machine->n_cpus,
		.memory_bytes = (double)machine->memory_bytes,
	};
	struct found found;
	struct wtl_buf text;
	int rc = look(session->app, path, &found);

	if (rc < 0)
		return rc;
	make_run_id(run_id, sizeof(run_id), session, &report->window);
	snprintf(os, sizeof(os), "Linux-%s", machine->kernel);
	add_up(&row, report);
	wtl_buf_init(&text, ROW_MAX);
	if (found.is_torn)
		wtl_buf_putc(&text, '\n');
	if (found.is_new)
		wtl_codecarbon_put_header(&text, format);
	wtl_codecarbon_put_row(&text, &row, found.is_new ? format : found.format);
	rc = text.error ? text.error
			: wtl_outfile_write(path, wtl_buf_str(&text), text.len, WTL_OUT_APPEND,
					    session->app->settings.file_mode);
	wtl_buf_done(&text);
	if (rc < 0)
		wtl_complain(session->app, "%s: the row cannot be written: %s", path,
			     wtl_err_text(rc));
	return rc;
}
