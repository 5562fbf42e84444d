/* SPDX-License-Identifier: MIT */
#include "meter/idle.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/err.h"
#include "base/io.h"
#include "meter/consumers.h"
#include "meter/meter.h"
#include "meter/meter.h"

#define HEAD	 "wattle-idle/1\n"
#define FILE_MAX (1u << 20)

struct taking {
	struct wattle_meter *meter;
	struct wtl_consumers *consumers;
	wtl_idle_taken *taken;
	void *context;
};

/* Baselines belong to a machine, not to a home directory that several share. */
static void put_machine(struct wtl_buf *buf, const struct wattle_meter *meter)
{
	wtl_buf_printf(buf, "machine %u %s\n", meter->machine.n_cpus, meter->machine.cpu_model);
}

/* Whether it is one of this machine's domains, and nothing is known of it that was seen just now. */
static bool take_line(const struct taking *taking, const char *line, size_t len)
{
	char name[32], source[32];
	struct wtl_baseline baseline, seen;
	struct wattle_domain domain;
	int i;

	if (wtl_baseline_parse(line, len, name, source, &baseline) < 0)
		return false;
	i = wattle_meter_find(taking->meter, name);
	if (i < 0 || wtl_meter_domain(taking->meter, (size_t)i, &domain) < 0 || !domain.source ||
	    strcmp(domain.source, source) != 0)
		return false;
	if (wtl_consumers_baseline(taking->consumers, (size_t)i, &seen) == 0 && seen.is_known)
		return false;
	wtl_consumers_set_baseline(taking->consumers, (size_t)i, &baseline);
	if (taking->taken)
		taking->taken(taking->context, (size_t)i, &baseline);
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
static void take_notes(const struct taking *taking)
{
	char text[WTL_BASELINE_LINE_MAX];

	while (wtl_io_note(taking->meter->env.io, "idle", text, sizeof(text)) == 1)
		take_line(taking, text, strlen(text));
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

static void take_lines(const struct taking *taking, char *text, size_t len)
{
	for (char *at = text, *end = text + len; at < end;) {
		char *newline = memchr(at, '\n', (size_t)(end - at));
		char *next = newline ? newline + 1 : end;

		if (take_line(taking, at, (size_t)(next - at)))
			note_line(taking->meter->env.io, at, (size_t)(next - at));
		at = next;
	}
}

static bool starts_with(const char *text, ssize_t len, const char *start, size_t start_len)
{
	return len >= (ssize_t)start_len && memcmp(text, start, start_len) == 0;
}

/* text of len bytes; false: it is none of our files. */
static bool take_file(const struct taking *taking, const char *path, char *text, ssize_t len)
{
	struct wtl_buf head;
	const struct wtl_log *log = taking->meter->env.log;
	bool is_ours = len == 0 || starts_with(text, len, HEAD, sizeof(HEAD) - 1);

	wtl_buf_init(&head, 1024);
	wtl_buf_puts(&head, HEAD);
	put_machine(&head, taking->meter);
	if (!is_ours)
		wtl_log_line(log, WTL_LOG_WARNING,
			     "'%s' is not a file of idle baselines, and is left alone", path);
	else if (starts_with(text, len, wtl_buf_str(&head), head.len))
		take_lines(taking, text + head.len, (size_t)len - head.len);
	else if (len > 0)
		wtl_log_line(log, WTL_LOG_WARNING,
			     "the idle baselines in '%s' are another machine's: this one's will "
			     "replace them",
			     path);
	wtl_buf_done(&head);
	return is_ours;
}

bool wtl_idle_load(struct wattle_meter *meter, struct wtl_consumers *consumers, const char *path,
		   wtl_idle_taken *taken, void *context)
{
	const struct taking taking = {meter, consumers, taken, context};
	bool may_be_kept;
	char *text;
	ssize_t len;

	if (!path) {
		take_notes(&taking);
		return false;
	}
	text = malloc(FILE_MAX);
	len = text ? read_file(path, text) : -ENOMEM;
	if (len >= 0) {
		may_be_kept = take_file(&taking, path, text, len);
	} else {
		may_be_kept = len == -ENOENT;
		if (!may_be_kept)
			wtl_log_line(meter->env.log, WTL_LOG_WARNING,
				     "the idle baselines in '%s' cannot be read: %s", path,
				     wtl_err_text((int)len));
	}
	free(text);
	return may_be_kept;
}

/* Of a domain; a model's, which the next session's says as well, is none to keep. */
static bool get_learned(struct wattle_meter *meter, const struct wtl_consumers *consumers, size_t i,
			struct wattle_domain *domain, struct wtl_baseline *idle)
{
	return wtl_meter_domain(meter, i, domain) == 0 && domain->source &&
	       wtl_consumers_baseline(consumers, i, idle) == 0 && idle->is_known &&
	       !idle->is_modelled;
}

bool wtl_idle_is_known(struct wattle_meter *meter, const struct wtl_consumers *consumers)
{
	struct wattle_domain domain;
	struct wtl_baseline idle;

	for (size_t i = 0; i < wattle_meter_domains(meter); i++)
		if (get_learned(meter, consumers, i, &domain, &idle))
			return true;
	return false;
}

void wtl_idle_save(struct wattle_meter *meter, const struct wtl_consumers *consumers,
		   const char *path)
{
	struct wtl_io *io = meter->env.io;
	char line[WTL_BASELINE_LINE_MAX];
	struct wtl_buf text;
	int rc;

	wtl_buf_init(&text, FILE_MAX);
	wtl_buf_puts(&text, HEAD);
	put_machine(&text, meter);
	for (size_t i = 0; i < wattle_meter_domains(meter); i++) {
		struct wattle_domain domain;
		struct wtl_baseline idle;

		if (get_learned(meter, consumers, i, &domain, &idle))
			wtl_buf_add(&text, line,
				    (size_t)wtl_baseline_print(line, domain.name, domain.source,
							       &idle));
	}
	rc = text.error ? 0
			: wtl_io_out_write(io, path, wtl_buf_str(&text), text.len, WTL_OUT_REPLACE);
	if (rc < 0)
		wtl_log_line(meter->env.log, WTL_LOG_WARNING,
			     "the idle baselines cannot be kept in '%s': %s", path,
			     wtl_err_text(rc));
	wtl_buf_done(&text);
}
