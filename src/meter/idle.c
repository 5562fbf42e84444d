/* SPDX-License-Identifier: MIT */
#include "meter/idle.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/infile.h"
#include "base/io.h"
#include "meter/consumers.h"
#include "meter/known_watts.h"
#include "meter/meter.h"

/*
 * The file: HEAD, then for each machine a line that names it, and a line per device. Several machines may
 * share a home directory, and devices come and go: only what was learned anew is replaced. What stands before
 * the first machine is of this one, whichever it is.
 */
#define HEAD	       "wattle-idle/2\n"
#define HEAD_OLD       "wattle-idle/1\n" /* what it had is learned anew */
#define MACHINE	       "machine "
#define FILE_MAX       (1u << 20)
#define FILE_FULL      (FILE_MAX / 2) /* others' lines beyond this are dropped */
#define BASELINE_WORDS 6 /* as wtl_baseline_print() makes them; then the device's number */

struct taking {
	struct wattle_meter *meter;
	struct wtl_consumers *consumers;
	wtl_idle_taken *taken;
	void *context;
};

/* Machines of one kind may share a home directory. */
static void put_machine(struct wtl_buf *buf, const struct wattle_meter *meter)
{
	const struct wtl_machine *machine = &meter->machine;

	wtl_buf_printf(buf, MACHINE "%016" PRIx64 " %u %s\n", machine->id, machine->n_cpus,
		       machine->cpu_model);
}

/* A number for the device that a domain is measured on: of its serial, else of its name. */
static uint64_t device_number(const struct wattle_meter *meter, size_t domain)
{
	const struct wtl_channel *channel = meter->domains[domain].account->channel;
	const char *text = channel->serial[0] ? channel->serial : channel->device;

	return wtl_hash_more(WTL_HASH_START, text, strlen(text));
}

/* A line of the file: a domain's baseline, and where it belongs. */
struct idle_line {
	struct wtl_baseline baseline;
	char name[32], source[32];
	bool has_device; /* lines on old tapes have none */
	uint64_t device;
};

static bool parse_line(const char *line, size_t len, struct idle_line *ret)
{
	char number[17] = "", *rest = NULL;
	size_t words = 0, end;

	if (len > 0 && line[len - 1] == '\n')
		len--;
	for (end = 0; end < len; end++)
		if (line[end] == ' ' && ++words == BASELINE_WORDS)
			break;
	*ret = (struct idle_line){.has_device = end < len};
	if (ret->has_device) {
		if (len - end != sizeof(number))
			return false;
		memcpy(number, line + end + 1, sizeof(number) - 1);
		ret->device = strtoull(number, &rest, 16);
		if (rest != number + sizeof(number) - 1)
			return false;
	}
	return wtl_baseline_parse(line, end, ret->name, ret->source, &ret->baseline) == 0;
}

/* The domain that a line is of; negative: none of this meter's. */
static int domain_of(struct wattle_meter *meter, const struct idle_line *line)
{
	struct wattle_domain domain;
	int i = wattle_meter_find(meter, line->name);

	if (i < 0 || wtl_meter_domain(meter, (size_t)i, &domain) < 0 || !domain.source ||
	    strcmp(domain.source, line->source) != 0)
		return -1;
	return !line->has_device || line->device == device_number(meter, (size_t)i) ? i : -1;
}

/* Is the line of a program, on one of this meter's devices or on any device? */
static bool is_of_program(struct wattle_meter *meter, const struct idle_line *line,
			  struct wtl_known_watts *ret_known)
{
	int i;

	if (!wtl_known_take(line->name, line->source, &line->baseline, ret_known))
		return false;
	i = line->has_device ? wattle_meter_find(meter, ret_known->of) : -1;
	return !line->has_device || (i >= 0 && line->device == device_number(meter, (size_t)i));
}

/* Takes a line of one of this meter's domains, unless its power at rest was seen just now; or of a program. */
static bool take_line(const struct taking *taking, const char *text, size_t len)
{
	struct idle_line line;
	struct wtl_baseline seen;
	struct wtl_known_watts known;
	int i;

	if (!parse_line(text, len, &line))
		return false;
	if (is_of_program(taking->meter, &line, &known))
		return wtl_consumers_know_watts(taking->consumers, &known) == 0;
	i = domain_of(taking->meter, &line);
	if (i < 0)
		return false;
	wtl_consumers_rest(taking->consumers, (size_t)i, &seen);
	if (seen.is_known)
		return false;
	wtl_consumers_set_baseline(taking->consumers, (size_t)i, &line.baseline);
	if (taking->taken)
		taking->taken(taking->context, (size_t)i, &line.baseline);
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
	int fd = wtl_infile_open(path);
	size_t len = 0;
	ssize_t n = fd;

	while (n >= 0 && len < FILE_MAX && (n = read(fd, text + len, FILE_MAX - len)) > 0)
		len += (size_t)n;
	if (fd >= 0 && n < 0)
		n = -errno;
	if (fd >= 0)
		close(fd);
	return n < 0 ? n : len == FILE_MAX ? -EFBIG : (ssize_t)len;
}

/* Goes through the lines of a text. */
static bool next_line(const char **at, const char *end, const char **ret_line, size_t *ret_len)
{
	const char *newline = memchr(*at, '\n', (size_t)(end - *at));

	if (*at == end)
		return false;
	*ret_line = *at;
	*at = newline ? newline + 1 : end;
	*ret_len = (size_t)(*at - *ret_line);
	return true;
}

static bool starts_with(const char *text, size_t len, const char *start)
{
	return len >= strlen(start) && memcmp(text, start, strlen(start)) == 0;
}

static bool is_own(const struct wattle_meter *meter, const char *line, size_t len)
{
	struct wtl_buf own;
	bool is;

	wtl_buf_init(&own, 1024);
	put_machine(&own, meter);
	is = len == own.len && memcmp(line, wtl_buf_str(&own), len) == 0;
	wtl_buf_done(&own);
	return is;
}

static void take_lines(const struct taking *taking, const char *text, size_t len)
{
	const char *at = text + strlen(HEAD), *line;
	bool own = true;
	size_t n;

	while (next_line(&at, text + len, &line, &n))
		if (starts_with(line, n, MACHINE))
			own = is_own(taking->meter, line, n);
		else if (own && take_line(taking, line, n))
			note_line(taking->meter->env.io, line, n);
}

static bool is_current(const char *text, ssize_t len)
{
	return len > 0 && starts_with(text, (size_t)len, HEAD);
}

/* text of len bytes; false: it is none of our files. */
static bool take_file(const struct taking *taking, const char *path, const char *text, ssize_t len)
{
	if (len > 0 && !is_current(text, len) && !starts_with(text, (size_t)len, HEAD_OLD)) {
		wtl_log_line(taking->meter->env.log, WTL_LOG_WARNING,
			     "'%s' is not a file of idle baselines, and is left alone", path);
		return false;
	}
	if (is_current(text, len))
		take_lines(taking, text, (size_t)len);
	return true;
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

/* A domain's baseline, if it is to be kept. A model's is not: the next session's model gives the same. */
static bool get_learned(struct wattle_meter *meter, const struct wtl_consumers *consumers, size_t i,
			struct wattle_domain *domain, struct wtl_baseline *idle)
{
	wtl_meter_domain(meter, i, domain);
	wtl_consumers_rest(consumers, i, idle);
	return domain->source && idle->is_known && !idle->is_modelled;
}

/* NULL: nothing is known of what programs draw. */
static const struct wtl_known_table *known_watts(struct wattle_meter *meter,
						 const struct wtl_consumers *consumers)
{
	return wtl_consumers_keep_watts(consumers, wtl_io_real_ns(meter->env.io));
}

bool wtl_idle_is_known(struct wattle_meter *meter, const struct wtl_consumers *consumers)
{
	struct wattle_domain domain;
	struct wtl_baseline idle;

	for (size_t i = 0; i < wattle_meter_domains(meter); i++)
		if (get_learned(meter, consumers, i, &domain, &idle))
			return true;
	return known_watts(meter, consumers) != NULL;
}

/* Of this machine, what is known now. */
static void put_known(struct wtl_buf *buf, struct wattle_meter *meter,
		      const struct wtl_consumers *consumers)
{
	char line[WTL_BASELINE_LINE_MAX];
	struct wattle_domain domain;
	struct wtl_baseline idle;

	for (size_t i = 0; i < wattle_meter_domains(meter); i++)
		if (get_learned(meter, consumers, i, &domain, &idle)) {
			int len = wtl_baseline_print(line, domain.name, domain.source, &idle);

			if (len > 0)
				wtl_buf_printf(buf, "%.*s %016" PRIx64 "\n", len - 1, line,
					       device_number(meter, i));
		}
}

static void put_watts(struct wtl_buf *buf, struct wattle_meter *meter,
		      const struct wtl_known_table *table)
{
	char line[WTL_BASELINE_LINE_MAX];

	for (size_t i = 0; table && i < table->n; i++) {
		int len = wtl_known_print(line, &table->at[i]);
		int domain = wattle_meter_find(meter, table->at[i].of);

		if (len > 0 && domain < 0)
			wtl_buf_puts(buf, line);
		else if (len > 0)
			wtl_buf_printf(buf, "%.*s %016" PRIx64 "\n", len - 1, line,
				       device_number(meter, (size_t)domain));
	}
}

/* own: what the file has of this machine's other devices; else the lines of other machines. */
static void put_old(struct wtl_buf *buf, struct wattle_meter *meter,
		    const struct wtl_consumers *consumers, const char *text, size_t len, bool own)
{
	bool has_watts = known_watts(meter, consumers) != NULL;
	const char *at = text + strlen(HEAD), *line;
	bool is_here = true;
	size_t n;

	while (next_line(&at, text + len, &line, &n)) {
		bool is_machine = starts_with(line, n, MACHINE);
		struct wattle_domain domain;
		struct wtl_baseline idle;
		struct wtl_known_watts known;
		struct idle_line old;
		int i = -1;

		if (is_machine)
			is_here = is_own(meter, line, n);
		if (is_here != own || (own && is_machine) || buf->len + n > FILE_FULL)
			continue;
		if (own && parse_line(line, n, &old)) {
			if (has_watts && is_of_program(meter, &old, &known))
				continue;
			i = domain_of(meter, &old);
		}
		if (i < 0 || !get_learned(meter, consumers, (size_t)i, &domain, &idle))
			wtl_buf_printf(buf, "%.*s\n", (int)(n - (line[n - 1] == '\n')), line);
	}
}

void wtl_idle_save(struct wattle_meter *meter, const struct wtl_consumers *consumers,
		   const char *path)
{
	char *old = malloc(FILE_MAX);
	ssize_t len = old ? read_file(path, old) : -ENOMEM;
	struct wtl_buf text;
	int rc = old ? 0 : -ENOMEM;

	wtl_buf_init(&text, FILE_MAX);
	wtl_buf_puts(&text, HEAD);
	put_machine(&text, meter);
	put_known(&text, meter, consumers);
	put_watts(&text, meter, known_watts(meter, consumers));
	if (is_current(old, len)) {
		put_old(&text, meter, consumers, old, (size_t)len, true);
		put_old(&text, meter, consumers, old, (size_t)len, false);
	}
	if (rc == 0)
		rc = text.error ? text.error
				: wtl_io_out_write(meter->env.io, path, wtl_buf_str(&text),
						   text.len, WTL_OUT_REPLACE);
	if (rc < 0)
		wtl_log_line(meter->env.log, WTL_LOG_WARNING,
			     "the idle baselines cannot be kept in '%s': %s", path,
			     wtl_err_text(rc));
	wtl_buf_done(&text);
	free(old);
}
