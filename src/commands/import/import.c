/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/infile.h"
#include "base/outfile.h"
#include "cli/command.h"
#include "cli/complain.h"
#include "cli/idle.h"
#include "cli/mapped.h"
#include "cli/option.h"
#include "cli/options.h"
#include "cli/when.h"
#include "commands/import/import.h"
#include "document/format.h"
#include "energy/units.h"
#include "import/reader.h"

#define FILE_MAX ((size_t)4 << 30)

struct settings {
	struct wtl_option_list files;
	const char *output;
	unsigned from; /* of wtl_import_names */
	const char *zone, *columns, *domain;
	struct wtl_when start;
	int64_t interval_ns;
};

#define OWN(field) WTL_OWN(struct settings, field)

/* ---- Time zones ---- */

/* Zones' names are checked as files: a wrong name in TZ would silently mean UTC. */
static bool is_zone(const char *name)
{
	const char *folder = getenv("TZDIR");
	char path[PATH_MAX];
	struct stat status;

	if (!name[0] || name[0] == '/' || strstr(name, ".."))
		return false;
	snprintf(path, sizeof(path), "%s/%s", folder ? folder : "/usr/share/zoneinfo", name);
	return strcmp(name, "UTC") == 0 || (stat(path, &status) == 0 && S_ISREG(status.st_mode));
}

/* Makes TZ's form of "+01:00", which has the opposite sign. */
static bool is_offset(const char *text, char tz[32])
{
	unsigned hours, minutes;
	char sign, rest;

	if (sscanf(text, "%c%2u:%2u%c", &sign, &hours, &minutes, &rest) != 3 ||
	    (sign != '+' && sign != '-') || hours > 14 || minutes > 59)
		return false;
	snprintf(tz, 32, "<own>%c%02u:%02u", sign == '+' ? '-' : '+', hours, minutes);
	return true;
}

static int set_zone(struct wtl_app *app, const struct wtl_option *option, const char *text)
{
	char tz[32];

	if (!is_offset(text, tz) && !is_zone(text))
		return -EINVAL;
	*(const char **)wtl_option_target(app, option) = text;
	return 0;
}

static const struct wtl_option options[] = {
	{"output", 'o', "FILE", "The recording to make; it must not exist yet", WTL_OPTION_PATH,
	 OWN(output), .what = "a file", .file = WTL_FILE_RECORDING},
	{"from", 0, "FORMAT",
	 "The file's format, where its content does not tell (docs/import.md has the list)",
	 WTL_OPTION_WORD, OWN(from), .words = wtl_import_names},
	{"time-zone", 0, "ZONE",
	 "The zone of times that have none: a name such as Europe/Paris, UTC, or +01:00 (default: "
	 "this machine's)",
	 WTL_OPTION_OWN, OWN(zone), .set = set_zone,
	 .takes = "a zone that this machine knows, such as Europe/Paris, UTC or +01:00"},
	{"start", 0, "TIME",
	 "When a file began whose times count from its start (default: as long before it was changed "
	 "last): a time such as '2026-11-21 14:00' (local) or 2026-11-21T14:00Z",
	 WTL_OPTION_WHEN, OWN(start)},
	{"interval", 'i', "TIME",
	 "How far samples are apart in a file that has no times, such as 500ms (default: what its "
	 "tool does by itself)",
	 WTL_OPTION_DURATION, OWN(interval_ns), .least = WTL_NS_PER_MS,
	 .most = 86400 * WTL_NS_PER_S, .takes = "a time from 1ms to 1d such as 500ms, 5 or 1m"},
	{"columns", 0, "LIST",
	 "Columns of a wattmeter's CSV, by name or number from 1, such as time=1,power=P2:kw; energy= is "
	 "of a meter that counts up. Of nvidia-smi's CSV without titles (noheader): its fields, such as "
	 "timestamp,index,power.draw, with --from nvidia-smi",
	 WTL_OPTION_TEXT, OWN(columns)},
	{"domain", 0, "NAME", "The energy domain of a wattmeter's CSV (default board-0)",
	 WTL_OPTION_TEXT, OWN(domain)},
	{0},
};

static const struct wtl_option word = {"FILE", .kind = WTL_OPTION_LIST, OWN(files),
				       .what = "a file", .takes = "files of other tools"};

/* ---- Reading ---- */

struct file {
	const char *bytes;
	size_t len;
	void *map; /* NULL: they are in buf */
	struct wtl_buf buf;
	int64_t changed_ns;
};

/* Maps a file: what is in the page cache need not be copied. */
static void map_file(const char *path, struct file *file)
{
	int fd = wtl_infile_open(path);
	struct stat status;
	void *map;

	if (fd < 0)
		return;
	if (fstat(fd, &status) == 0 && status.st_size > 0 && (size_t)status.st_size <= FILE_MAX) {
		map = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd,
			   0);
		file->map = map == MAP_FAILED ? NULL : map;
		file->bytes = file->map;
		file->len = (size_t)status.st_size;
	}
	close(fd);
}

/* For a folder, reads the file in it whose name a format defines. */
static int read_file(struct wtl_app *app, const char *path, struct file *file)
{
	char inside[PATH_MAX];
	struct stat status = {.st_size = 0};
	int rc = 0;

	if (stat(path, &status) == 0 && S_ISDIR(status.st_mode)) {
		for (size_t i = 0; wtl_import_readers[i]; i++) {
			const char *name = wtl_import_readers[i]->in_folder;

			if (name && snprintf(inside, sizeof(inside), "%s/%s", path, name) <
					    (int)sizeof(inside))
				path = inside;
		}
		stat(path, &status);
	}
	wtl_buf_init(&file->buf, FILE_MAX);
	file->changed_ns = status.st_mtim.tv_sec * WTL_NS_PER_S + status.st_mtim.tv_nsec;
	if (!wtl_infile_is_descriptor(path))
		map_file(path, file);
	if (file->map)
		return 0;
	rc = wtl_infile_read(path, &file->buf);
	file->bytes = wtl_buf_str(&file->buf);
	file->len = file->buf.len;
	if (rc < 0)
		wtl_complain(app, "cannot read '%s': %s", path, wtl_err_text(rc));
	return rc;
}

static void close_file(struct file *file)
{
	if (file->map)
		munmap(file->map, file->len);
	wtl_buf_done(&file->buf);
}

/* ---- What was read ---- */

static void tell_written(struct wtl_app *app, const struct wtl_import *import, const char *path,
			 const struct wtl_import_written *written)
{
	struct wtl_buf buf;

	wtl_buf_init(&buf, 4096);
	wtl_format_utc(&buf, written->begin_utc_ns);
	wtl_buf_puts(&buf, " to ");
	wtl_format_utc(&buf, written->end_utc_ns);
	wtl_remark(app, "%s: %s, %zu samples, %s%s", path, import->source, written->n_samples,
		   wtl_buf_str(&buf), written->n_windows > 0 ? ", with windows" : "");
	wtl_buf_done(&buf);
}

/* Nested JSON needs stack in proportion to its depth. */
struct job {
	struct wtl_import *import;
	const struct wtl_import_reader *reader;
	const struct file *file;
	struct wtl_err err;
};

static int read_job(void *argument)
{
	struct job *job = argument;

	return wtl_import_read(job->import, job->reader, job->file->bytes, job->file->len,
			       &job->err);
}

static int read_and_write(struct job *job, const char *path, bool at_once,
			  struct wtl_import_written *ret_written)
{
	struct wtl_import_output *output = wtl_import_output_new(job->import, path, at_once);
	int rc;

	if (!output)
		return wtl_err_set(&job->err, ENOMEM, "import", NULL, "out of memory");
	rc = wtl_mapped_call(read_job, job);
	if (rc == 0)
		rc = wtl_import_output_end(output, ret_written, &job->err);
	wtl_import_output_free(output);
	return rc;
}

static int import_into(struct wtl_app *app, struct wtl_import *import, const struct file *file)
{
	const struct settings *settings = app->own;
	const struct wtl_import_options how = import->options;
	const char *path = settings->files.words[0];
	struct wtl_import_written written = {0};
	/* The first name is "by content", not a reader's. */
	struct job job = {.import = import,
			  .reader = settings->from ? wtl_import_readers[settings->from - 1] : NULL,
			  .file = file};
	int rc = read_and_write(&job, settings->output, false, &written);

	if (rc == -EAGAIN) {
		wtl_import_done(import);
		wtl_import_init(import, &how);
		job.err = (struct wtl_err){.code = 0};
		rc = read_and_write(&job, settings->output, true, &written);
	}
	if (rc == -EFAULT) {
		wtl_complain(app,
			     "%s: another program has truncated it while it was read, or its disk "
			     "failed",
			     path);
		return rc;
	}
	wtl_import_tell_bad(app, import, path);
	if (rc < 0 && job.err.path[0])
		wtl_complain_err(app, &job.err);
	else if (rc < 0)
		wtl_complain(app, "%s: %s", path, job.err.text);
	else
		tell_written(app, import, path, &written);
	return rc;
}

static int check(struct wtl_app *app, const struct settings *settings)
{
	if (settings->files.n != 1)
		return wtl_complain(app, settings->files.n == 0
						 ? "which file? As in: wattle import power.csv -o "
						   "power.wattle"
						 : "one file at a time");
	if (!settings->output)
		return wtl_complain(app, "where to? As in: wattle import %s -o power.wattle",
				    settings->files.words[0]);
	if (settings->start.kind != WTL_WHEN_NOT && settings->start.kind != WTL_WHEN_UTC &&
	    settings->start.kind != WTL_WHEN_LOCAL)
		return wtl_complain(app, "--start takes a date and time such as '2026-11-21 14:00' "
					 "or 2026-11-21T14:00Z");
	return 0;
}

static void go_by_zone(const char *zone)
{
	char tz[32];

	if (!zone)
		return;
	setenv("TZ", is_offset(zone, tz) ? tz : zone, 1);
	tzset();
}

static int64_t start_ns(const struct settings *settings)
{
	if (settings->start.kind == WTL_WHEN_NOT)
		return INT64_MIN;
	return settings->start.kind == WTL_WHEN_UTC
		       ? settings->start.ns
		       : wtl_when_local_utc_ns(settings->start.ns, false);
}

static int run(struct wtl_app *app)
{
	const struct settings *settings = app->own;
	struct wtl_import_options how = {.utc_ns = wtl_import_local_utc_ns,
					 .interval_ns = settings->interval_ns,
					 .columns = settings->columns,
					 .domain = settings->domain,
					 .guard = wtl_mapped_guard,
					 .file_mode = app->settings.file_mode};
	char idle_path[PATH_MAX];
	struct wtl_import import;
	struct file file = {.map = NULL};
	int rc;

	if (check(app, settings))
		return WTL_EXIT_USAGE;
	go_by_zone(settings->zone);
	rc = wtl_outfile_check(settings->output);
	if (rc < 0) {
		wtl_complain(app, "cannot write '%s': %s", settings->output, wtl_err_text(rc));
		return WTL_EXIT_FAILED;
	}
	how.start_ns = start_ns(settings);
	if (wtl_idle_path(&app->settings, idle_path, sizeof(idle_path)) == 0)
		how.idle_path = idle_path;
	rc = read_file(app, settings->files.words[0], &file);
	how.end_ns = file.changed_ns;
	if (rc == 0) {
		wtl_import_init(&import, &how);
		rc = import_into(app, &import, &file);
		wtl_import_done(&import);
	}
	close_file(&file);
	return rc < 0 ? WTL_EXIT_FAILED : WTL_EXIT_DONE;
}

const struct wtl_command wtl_command_import = {
	.name = "import",
	.summary = "Make a recording from another tool's file",
	.synopsis = "FILE -o RECORDING [OPTION...]",
	.description =
		"Reads what another tool has written and makes a recording of it, for wattle report, plot, "
		"export and top --replay. The format is told from the content.\n\n"
		"What can be read is read. Lines that cannot are counted, and the first ones are named "
		"with the reason. A missing value is a gap, never 0.\n\n"
		"A device that wattle calibrate has calibrated, and whose UUID is in the file, is corrected; "
		"with --idle-file '' it is not.",
	.examples =
		"wattle import gpu.csv -o gpu.wattle\n"
		"    a log of nvidia-smi --query-gpu=timestamp,index,power.draw --format=csv -l 1\n\n"
		"wattle import emissions.csv -o training.wattle --time-zone Europe/Paris\n"
		"    CodeCarbon's runs, whose times are local",
	.exit_status = "0\tdone, also where some lines could not be read\n"
		       "1\tnothing can be read, or the recording cannot be written\n"
		       "2\twrong options",
	.options = options,
	.shared = (const struct wtl_option *const[]){wtl_options_idle_file, wtl_options_mode,
						     wtl_options_general, NULL},
	.word = &word,
	.settings_size = sizeof(struct settings),
	.usage_exit = WTL_EXIT_USAGE,
	.run = run,
};
