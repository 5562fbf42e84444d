/* SPDX-License-Identifier: MIT */
/*
 * The idle baselines of this machine, kept from one session to the next in a small text file (its
 * format: docs/attribution.md). It can always be done without: what is wrong with it is a remark.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "cli/command.h"
#include "cli/complain.h"
#include "cli/idle.h"
#include "cli/user.h"
#include "meter/consumers.h"
#include "meter/meter.h"
#include "replay/recorder.h"

#define HEAD	 "wattle-idle/1\n"
#define FILE_MAX (1u << 20)

/* Where it lies: 0, or -ENOENT where neither option nor environment names a place. */
static int find_path(const struct wtl_settings *settings, char *path, size_t size)
{
	const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
	int len;

	if (settings->idle_file && !settings->idle_file[0])
		return -ENOENT; /* nowhere, by request */
	if (settings->idle_file)
		len = snprintf(path, size, "%s", settings->idle_file);
	else if (settings->root || settings->tape)
		return -ENOENT; /* that machine is not this one */
	else if (state && state[0] == '/')
		len = snprintf(path, size, "%s/wattle/idle", state);
	else if (home && home[0] == '/')
		len = snprintf(path, size, "%s/.local/state/wattle/idle", home);
	else if (geteuid() == 0)
		len = snprintf(path, size, "/var/lib/wattle/idle");
	else
		return -ENOENT;
	return len < (int)size ? 0 : -ENAMETOOLONG;
}

/* Baselines belong to a machine, not to a home directory that several share. */
static void put_machine(struct wtl_buf *buf, const struct wattle_meter *meter)
{
	wtl_buf_printf(buf, "machine %u %s\n", meter->machine.n_cpus, meter->machine.cpu_model);
}

/* Whether it is one of this machine's domains, and nothing is known of it that was seen just now. */
static bool take_line(const char *line, size_t len, struct wattle_meter *meter,
		      struct wtl_consumers *consumers, struct wtl_recorder *recorder)
{
	char name[32], source[32];
	struct wtl_baseline baseline, seen;
	struct wattle_domain domain;
	int i;

	if (wtl_baseline_parse(line, len, name, source, &baseline) < 0)
		return false;
	i = wattle_meter_find(meter, name);
	if (i < 0 || wtl_meter_domain(meter, (size_t)i, &domain) < 0 || !domain.source ||
	    strcmp(domain.source, source) != 0)
		return false;
	if (wtl_consumers_baseline(consumers, (size_t)i, &seen) == 0 && seen.is_known)
		return false;
	wtl_consumers_set_baseline(consumers, (size_t)i, &baseline);
	if (HAVE_RECORDINGS)
		wtl_recorder_idle(recorder, (size_t)i, &baseline);
	return true;
}

/* So that a tape that is being recorded knows it as well. */
static void note_line(struct wtl_io *io, const char *line, size_t len)
{
	char text[WTL_BASELINE_LINE_MAX];

	if (len > 0 && line[len - 1] == '\n')
		len--;
	snprintf(text, sizeof(text), "%.*s", (int)len, line);
	wtl_io_note(io, "idle", text, sizeof(text));
}

/* What the run that made this tape knew. */
static void take_notes(struct wattle_meter *meter, struct wtl_consumers *consumers,
		       struct wtl_recorder *recorder)
{
	char text[WTL_BASELINE_LINE_MAX];

	while (wtl_io_note(meter->env.io, "idle", text, sizeof(text)) == 1)
		take_line(text, strlen(text), meter, consumers, recorder);
}

static ssize_t read_file(const char *path, char *text)
{
	FILE *file = fopen(path, "re");
	ssize_t len;

	if (!file)
		return -errno;
	/* A directory can be opened, but not read. */
	len = (ssize_t)fread(text, 1, FILE_MAX, file);
	if (ferror(file))
		len = -EISDIR;
	fclose(file);
	return len == FILE_MAX ? -EFBIG : len;
}

static void take_lines(char *text, size_t len, struct wattle_meter *meter,
		       struct wtl_consumers *consumers, struct wtl_recorder *recorder)
{
	for (char *at = text, *end = text + len; at < end;) {
		char *newline = memchr(at, '\n', (size_t)(end - at));
		char *next = newline ? newline + 1 : end;

		if (take_line(at, (size_t)(next - at), meter, consumers, recorder))
			note_line(meter->env.io, at, (size_t)(next - at));
		at = next;
	}
}

static bool starts_with(const char *text, ssize_t len, const char *start, size_t start_len)
{
	return len >= (ssize_t)start_len && memcmp(text, start, start_len) == 0;
}

/* text of len bytes; false: it is none of our files. */
static bool take_file(struct wtl_app *app, const char *path, char *text, ssize_t len,
		      struct wattle_meter *meter, struct wtl_consumers *consumers,
		      struct wtl_recorder *recorder)
{
	struct wtl_buf head;
	bool is_ours = len == 0 || starts_with(text, len, HEAD, sizeof(HEAD) - 1);

	wtl_buf_init(&head, 1024);
	wtl_buf_puts(&head, HEAD);
	put_machine(&head, meter);
	if (!is_ours)
		wtl_remark(app, "'%s' is not a file of idle baselines, and is left alone", path);
	else if (starts_with(text, len, wtl_buf_str(&head), head.len))
		take_lines(text + head.len, (size_t)len - head.len, meter, consumers, recorder);
	else if (len > 0)
		wtl_remark(app,
			   "the idle baselines in '%s' are another machine's: this one's will "
			   "replace them",
			   path);
	wtl_buf_done(&head);
	return is_ours;
}

bool wtl_idle_load(struct wtl_app *app, struct wattle_meter *meter, struct wtl_consumers *consumers,
		   struct wtl_recorder *recorder)
{
	char path[PATH_MAX];
	char *text;
	ssize_t len;
	bool may_be_kept;

	if (find_path(&app->settings, path, sizeof(path)) < 0) {
		if (app->settings.tape && !app->settings.idle_file)
			take_notes(meter, consumers, recorder);
		return false;
	}
	text = malloc(FILE_MAX);
	len = text ? read_file(path, text) : -ENOMEM;
	if (len >= 0) {
		may_be_kept = take_file(app, path, text, len, meter, consumers, recorder);
	} else {
		may_be_kept = len == -ENOENT;
		if (!may_be_kept)
			wtl_remark(app, "the idle baselines in '%s' cannot be read: %s", path,
				   wtl_err_text((int)len));
	}
	free(text);
	return may_be_kept;
}

void wtl_idle_save(struct wtl_app *app, struct wtl_io *io, struct wattle_meter *meter,
		   const struct wtl_consumers *consumers)
{
	char path[PATH_MAX], line[WTL_BASELINE_LINE_MAX];
	struct wtl_buf text;
	size_t n = 0;
	int rc;

	if (find_path(&app->settings, path, sizeof(path)) < 0)
		return;
	wtl_buf_init(&text, FILE_MAX);
	wtl_buf_puts(&text, HEAD);
	put_machine(&text, meter);
	for (size_t i = 0; i < wattle_meter_domains(meter); i++) {
		struct wtl_baseline baseline;
		struct wattle_domain domain;

		if (wtl_meter_domain(meter, i, &domain) < 0 || !domain.source ||
		    wtl_consumers_baseline(consumers, i, &baseline) < 0 || !baseline.is_known)
			continue;
		if (baseline.is_modelled)
			continue; /* the next session's model says the same */
		wtl_buf_add(
			&text, line,
			(size_t)wtl_baseline_print(line, domain.name, domain.source, &baseline));
		n++;
	}
	if (n > 0 && !text.error) {
		wtl_user_make_folder_of(path);
		rc = wtl_io_out_write(io, path, wtl_buf_str(&text), text.len, WTL_OUT_REPLACE);
		if (rc < 0)
			wtl_remark(app, "the idle baselines cannot be kept in '%s': %s", path,
				   wtl_err_text(rc));
	}
	wtl_buf_done(&text);
}
