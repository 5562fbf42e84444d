/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "base/outfile.h"
#include "cli/command.h"
#include "cli/complain.h"
#include "cli/locale.h"
#include "base/fd.h"
#include "cli/options.h"
#include "document/report.h"
#include "cli/sink.h"

/* At most this much of a report that could not be written is written elsewhere instead. */
#define RESCUE_MAX (1u << 20)

/* How SQLite's files begin, with the NUL; a recording's application_id, and its offset. */
#define SQLITE	     "SQLite format 3"
#define RECORDING    "WTTL"
#define RECORDING_AT 68

static bool has_content(const char *path)
{
	struct stat status;

	return stat(path, &status) == 0 && (!S_ISREG(status.st_mode) || status.st_size > 0);
}

int wtl_sink_fd(const struct wtl_app *app)
{
	return app->settings.command && !wtl_option_is_used(app, "--output") ? STDERR_FILENO
									     : STDOUT_FILENO;
}

/* Where a result goes, and how. */
struct place {
	const char *path; /* NULL: to the descriptor */
	int fd;
	const struct wtl_writer *writer;
};

static struct place find_place(const struct wtl_app *app, const struct wtl_result *result)
{
	const struct wtl_settings *settings = &app->settings;

	if (result->is_beside)
		return (struct place){NULL, STDERR_FILENO, &wtl_writer_text};
	return (struct place){settings->output_path, wtl_sink_fd(app), settings->output};
}

static void find_style(const struct wtl_settings *settings, const struct place *place,
		       struct wtl_output_style *ret_style)
{
	const char *term = getenv("TERM");
	const char *no_color = getenv("NO_COLOR");
	bool terminal = !place->path && isatty(place->fd) == 1;

	memset(ret_style, 0, sizeof(*ret_style));
	ret_style->color = terminal && !settings->no_color && term && strcmp(term, "dumb") != 0 &&
			   !(no_color && no_color[0]);
	ret_style->ascii = wtl_is_ascii(settings);
	/* An appended table has its header at the top of the file. */
	ret_style->append = settings->append && place->path &&
			    (!place->writer->is_flat || has_content(place->path));
	ret_style->verbose = settings->verbose;
	ret_style->brief = !settings->full && !settings->verbose;
	ret_style->quiet = settings->quiet;
}

/* Appending may create the target of a dangling link. */
static int check_append(const char *path, mode_t mode)
{
	struct stat status;
	int fd;

	if (lstat(path, &status) < 0)
		return wtl_outfile_try(path);
	fd = wtl_outfile_open(path, O_WRONLY | O_APPEND | O_NOCTTY, mode);
	return fd < 0 ? fd : close(fd);
}

static int check_path(const char *path, bool append, mode_t mode)
{
	struct stat status;
	int rc;

	if (!path[0])
		return -ENOENT;
	rc = wtl_outfile_check(path);
	if (rc < 0)
		return rc;
	if (stat(path, &status) < 0)
		return errno != ENOENT ? -errno
		       : append	       ? check_append(path, mode)
				       : wtl_outfile_try(path);
	if (S_ISDIR(status.st_mode))
		return -EISDIR;
	if (access(path, W_OK) < 0)
		return -errno;
	if (append || !S_ISREG(status.st_mode))
		return 0;
	return wtl_outfile_try(path);
}

/* By its header, which has SQLite's name and wattle's, even while it is being written. */
bool wtl_sink_is_recording(const char *path)
{
	char head[RECORDING_AT + sizeof(RECORDING) - 1];
	struct stat status;
	ssize_t n;
	int fd;

	if (stat(path, &status) < 0 || !S_ISREG(status.st_mode))
		return false;
	fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = pread(fd, head, sizeof(head), 0);
	close(fd);
	return n == (ssize_t)sizeof(head) && memcmp(head, SQLITE, sizeof(SQLITE)) == 0 &&
	       memcmp(head + RECORDING_AT, RECORDING, sizeof(RECORDING) - 1) == 0;
}

static int check(struct wtl_app *app, const char *path, int rc)
{
	const char *why = wtl_err_text(rc);

	if (rc == 0 && wtl_sink_is_recording(path)) {
		rc = -EEXIST;
		why = "it is a recording, which nothing replaces";
	}
	if (rc < 0)
		wtl_complain(app, "cannot write '%s': %s; nothing was %s", path, why,
			     app->settings.command ? "run" : "done");
	return rc;
}

int wtl_sink_check_file(struct wtl_app *app, const char *path)
{
	return path ? check(app, path,
			    check_path(path, app->settings.append, app->settings.file_mode))
		    : 0;
}

int wtl_sink_check(struct wtl_app *app)
{
	return wtl_sink_check_file(app, app->settings.output_path);
}

int wtl_sink_check_tape(struct wtl_app *app)
{
	const char *path = app->settings.tape_record;

	return path ? check(app, path, wtl_outfile_check(path)) : 0;
}

static int write_out(const struct wtl_app *app, struct wtl_io *io, const struct place *place,
		     const struct wtl_buf *text)
{
	if (text->error)
		return text->error;
	if (!place->path)
		return wtl_fd_write_all(place->fd, wtl_buf_str(text), text->len);
	return wtl_io_out_write(io, place->path, wtl_buf_str(text), text->len,
				app->settings.append ? WTL_OUT_APPEND : WTL_OUT_REPLACE);
}

/* fd is not the descriptor that failed. */
static void write_rescued(const struct wtl_result *result, int fd)
{
	const struct wtl_output_style style = {.ascii = true};
	struct wtl_buf plain;

	wtl_buf_init(&plain, RESCUE_MAX);
	if (wtl_thing_write(&plain, result->thing, result->what, &wtl_writer_text, &style) == 0)
		wtl_fd_write_all(fd, wtl_buf_str(&plain), plain.len);
	wtl_buf_done(&plain);
}

/* A reader that closed the pipe has seen enough, unless the result cannot be had again. */
static void complain_unwritten(struct wtl_app *app, const struct place *place,
			       const struct wtl_result *result, int rc)
{
	bool to_error = !place->path && place->fd == STDERR_FILENO;

	if (rc == -EPIPE && !place->path && !result->cannot_be_had_again)
		return;
	wtl_complain(app, "cannot write the result to %s%s%s: %s%s", place->path ? "'" : "",
		     place->path ? place->path
		     : to_error	 ? "standard error"
				 : "standard output",
		     place->path ? "'" : "", wtl_err_text(rc),
		     result->cannot_be_had_again ? "; here it is instead:" : "");
	if (result->cannot_be_had_again)
		write_rescued(result, to_error ? STDOUT_FILENO : STDERR_FILENO);
}

int wtl_sink_write(struct wtl_app *app, struct wtl_io *io, const struct wtl_result *result)
{
	const struct place place = find_place(app, result);
	struct wtl_output_style style;
	struct wtl_buf text;
	bool is_wrong;
	int rc;

	find_style(&app->settings, &place, &style);
	wtl_buf_init(&text, result->max);
	rc = wtl_thing_write(&text, result->thing, result->what, place.writer, &style);
	if (rc < 0 && !text.error)
		text.error = rc;
	is_wrong = text.error == -EPROTO;
	rc = write_out(app, io, &place, &text);
	wtl_buf_done(&text);
	if (rc == 0)
		return 0;
	if (is_wrong)
		wtl_complain(app,
			     "this is a bug of wattle: what it computed does not add up, and is "
			     "not told");
	else
		complain_unwritten(app, &place, result, rc);
	return rc;
}
