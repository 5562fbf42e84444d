/* SPDX-License-Identifier: MIT */
/* Writes a profile where and in the format that the options say. */
#include "commands/profile/write.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "cli/command.h"
#include "cli/complain.h"
#include "base/fd.h"
#include "cli/options.h"
#include "cli/locale.h"
#include "cli/sink.h"
#include "cli/terminal.h"
#include "commands/profile/cut.h"
#include "commands/profile/format.h"
#include "commands/profile/places.h"

enum { TEXT_MAX = 8 << 20, FILE_MAX = 512 << 20, NAMES_MAX = 512 };

/* Whether a reader closed the pipe, who has seen enough of what can be shown again. */
static bool is_left(const struct wtl_profile_writing *writing, int rc, const char *path)
{
	return rc == -EPIPE && writing->is_saved && !path;
}

int wtl_profile_exit(const struct wtl_profile_writing *writing, int rc, bool is_over)
{
	bool is_closed = is_left(writing, rc, writing->app->settings.output_path);

	if (rc < 0 && !is_closed)
		return WTL_EXIT_WATTLE_FAILED;
	return is_over ? WTL_EXIT_BOUND : is_closed ? WTL_EXIT_FAILED : WTL_EXIT_DONE;
}

int wtl_profile_write_out(const struct wtl_profile_writing *writing, const struct wtl_buf *buf,
			  int rc, const char *path, int fd)
{
	rc = rc < 0 ? rc : buf->error;
	if (rc == 0)
		rc = path ? wtl_io_out_write(writing->io, path, wtl_buf_str(buf), buf->len,
					     WTL_OUT_REPLACE)
			  : wtl_fd_write_all(fd, wtl_buf_str(buf), buf->len);
	if (rc < 0 && !is_left(writing, rc, path))
		wtl_complain(writing->app, "cannot write the profile to %s%s%s: %s",
			     path ? "'" : "",
			     path		   ? path
			     : fd == STDERR_FILENO ? "standard error"
						   : "standard output",
			     path ? "'" : "", wtl_err_text(rc));
	return rc;
}

static int write_text(const struct wtl_profile_writing *writing, const struct wtl_profile *profile,
		      const char *path, int fd)
{
	const struct wtl_output_style style = {
		.ascii = wtl_is_ascii(&writing->app->settings),
		.columns = path ? 0 : (unsigned)wtl_terminal_size(fd).columns};
	struct wtl_buf buf;
	int rc;

	wtl_buf_init(&buf, TEXT_MAX);
	wtl_profile_text(&buf, profile, writing->settings, &style);
	rc = wtl_profile_write_out(writing, &buf, 0, path, fd);
	wtl_buf_done(&buf);
	return rc;
}

typedef int write_fn(struct wtl_buf *buf, const struct wtl_stacks *stacks);

static int write_file(const struct wtl_profile_writing *writing, const struct wtl_stacks *stacks,
		      write_fn *write, const char *path)
{
	struct wtl_buf buf;
	int rc;

	wtl_buf_init(&buf, FILE_MAX);
	rc = wtl_profile_write_out(writing, &buf, write(&buf, stacks), path, STDOUT_FILENO);
	wtl_buf_done(&buf);
	return rc;
}

/* Makes "x.time.pstats" of "x.pstats". */
static void name_beside(char *name, size_t size, const char *path)
{
	const char *slash = strrchr(path, '/'), *dot = strrchr(slash ? slash : path, '.');
	int len = (int)(dot ? (size_t)(dot - path) : strlen(path));

	snprintf(name, size, "%.*s.time%s", len, path, dot ? dot : "");
}

static int write_format(const struct wtl_profile_writing *writing,
			const struct wtl_profile *profile, const struct wtl_profile_format *format,
			const char *path)
{
	struct wtl_stacks stacks;
	char beside[PATH_MAX];
	int rc;

	if (format == &wtl_profile_format_mprof && !profile->memory)
		return -wtl_complain(writing->app, "this profile was taken without --memory");
	if (format == &wtl_profile_format_kineto && !profile->kineto && writing->settings->kineto)
		return -wtl_complain(writing->app,
				     "'%s' is not written, as there is no trace to copy", path);
	if (format == &wtl_profile_format_kineto && !profile->kineto)
		return -wtl_complain(writing->app, "there is no trace of kernels: see --kineto");
	rc = wtl_stacks_make(&stacks, profile, format->has_lines);

	if (rc < 0)
		wtl_complain(writing->app, "out of memory: there is no profile");
	else
		rc = write_file(writing, &stacks, format->write, path);
	if (rc == 0 && path && format->write_beside) {
		name_beside(beside, sizeof(beside), path);
		rc = write_file(writing, &stacks, format->write_beside, beside);
	}
	wtl_stacks_done(&stacks);
	return rc;
}

static int check_bounds(const struct wtl_profile_writing *writing,
			const struct wtl_profile *profile)
{
	struct wtl_stacks stacks;
	int rc;

	if (writing->settings->bounds.n == 0 || !profile->places || !profile->places->first)
		return 0;
	rc = wtl_stacks_make(&stacks, profile, false);
	if (rc < 0)
		wtl_complain(writing->app, "out of memory: --fail-if is not decided");
	else
		rc = wtl_bounds_check(writing->app, &writing->settings->bounds, &stacks);
	*writing->is_over = rc == 1;
	wtl_stacks_done(&stacks);
	return rc < 0 ? rc : 0;
}

/* Writes a whole profile, or a part of one. */
static int write_view(const struct wtl_profile_writing *writing, const struct wtl_profile *profile)
{
	const struct wtl_app *app = writing->app;
	const struct wtl_profile_format *format = wtl_profile_format_at(writing->settings->format);
	const char *path = app->settings.output_path;
	int rc = 0, text = 0, fd = wtl_sink_fd(app), checked;

	if (format->write)
		rc = write_format(writing, profile, format, path);
	else
		text = write_text(writing, profile, path, fd);
	if (text < 0 && !is_left(writing, text, path))
		write_text(writing, profile, NULL,
			   !path && fd == STDERR_FILENO ? STDOUT_FILENO : STDERR_FILENO);
	else if (format->write && !writing->is_saved && (rc < 0 || !app->settings.quiet))
		write_text(writing, profile, NULL, STDERR_FILENO);
	checked = check_bounds(writing, profile);
	return rc < 0 ? rc : text < 0 ? text : checked;
}

static void complain_no_window(struct wtl_app *app, const struct wtl_profile *profile,
			       const char *name)
{
	struct wtl_buf names;

	wtl_buf_init(&names, NAMES_MAX);
	for (size_t i = 0; i < profile->n_windows; i++) {
		size_t k = 0;

		while (k < i && strcmp(profile->windows[k].name, profile->windows[i].name) != 0)
			k++;
		if (k == i)
			wtl_buf_printf(&names, "%s'%s'", names.len ? ", " : "",
				       profile->windows[i].name);
	}
	wtl_complain(app, "no window '%s' was marked%s%s", name,
		     profile->n_windows ? "; there are " : ": see wattle mark",
		     names.error ? "many" : wtl_buf_str(&names));
	wtl_buf_done(&names);
}

/* Writes the whole profile as text, as the window that was asked for does not exist. */
static void tell_no_window(const struct wtl_profile_writing *writing,
			   const struct wtl_profile *profile, const char *name)
{
	if (!writing->is_saved)
		write_text(writing, profile, NULL, STDERR_FILENO);
	complain_no_window(writing->app, profile, name);
}

static int write_window(const struct wtl_profile_writing *writing,
			const struct wtl_profile *profile)
{
	const char *name = writing->settings->only;
	struct wtl_cut cut;
	int rc = wtl_cut_make(&cut, profile, name);

	if (rc == 0)
		rc = write_view(writing, &cut.profile);
	else if (rc == -ENOENT)
		tell_no_window(writing, profile, name);
	else
		wtl_complain(writing->app, "out of memory: there is no profile");
	wtl_cut_done(&cut);
	return rc;
}

/* Text alone needs no debug information. */
static bool needs_places(const struct wtl_profile_settings *settings)
{
	return wtl_profile_format_at(settings->format)->write || settings->keep ||
	       settings->bounds.n > 0;
}

int wtl_profile_write(const struct wtl_profile_writing *writing, const struct wtl_profile *profile)
{
	const struct wtl_profile_settings *settings = writing->settings;
	struct wtl_profile whole = *profile;
	struct wtl_places places = {.n = 0};
	int rc = 0, kept = 0;

	if (!whole.places && needs_places(settings)) {
		rc = wtl_places_make(&places, whole.trace);
		whole.places = &places;
	}
	if (rc < 0) {
		wtl_complain(writing->app, "out of memory: there is no profile");
		write_text(writing, profile, NULL, STDERR_FILENO);
	} else {
		if (settings->keep)
			kept = write_format(writing, &whole, wtl_profile_format_find("wprof"),
					    settings->keep);
		rc = settings->only ? write_window(writing, &whole) : write_view(writing, &whole);
	}
	wtl_places_done(&places);
	return rc < 0 ? rc : kept;
}

static int find_format(struct wtl_app *app)
{
	struct wtl_profile_settings *settings = app->own;
	const char *path = app->settings.output_path;
	const struct wtl_profile_format *found;
	struct wtl_buf suffixes;

	if (!path || wtl_option_is_used(app, "--format"))
		return 0;
	found = wtl_profile_format_of_file(path);
	if (!found) {
		wtl_buf_init(&suffixes, 4096);
		wtl_profile_format_suffixes(&suffixes);
		wtl_complain(app,
			     "-o %s: its name has to end in %s, or --format says what it is; "
			     "nothing was run",
			     path, wtl_buf_str(&suffixes));
		wtl_buf_done(&suffixes);
		return -EINVAL;
	}
	for (settings->format = 0; wtl_profile_format_at(settings->format) != found;)
		settings->format++;
	return 0;
}

/* Why --window cannot be used with these options; NULL: it can. */
static const char *check_window(const struct wtl_profile_settings *settings)
{
	if (!settings->only)
		return NULL;
	if (!settings->only[0])
		return "--window takes a NAME, as wattle mark begin NAME has it";
	if (settings->kineto)
		return "--window does not go with --kineto: kernels are told of the whole profile";
	if (wtl_profile_format_at(settings->format) == wtl_profile_format_find("wprof"))
		return "--window: a .wprof file has all of a profile, and is cut when it is shown";
	return NULL;
}

static const char *check_kept(const struct wtl_profile_settings *settings)
{
	if (!settings->keep ||
	    wtl_profile_format_of_file(settings->keep) == wtl_profile_format_find("wprof") ||
	    strncmp(settings->keep, "/dev/", 5) == 0)
		return NULL;
	return "--keep takes the name of a file that ends in .wprof; -o writes other formats";
}

int wtl_profile_check(struct wtl_app *app)
{
	const struct wtl_profile_settings *settings = app->own;
	int rc = find_format(app);
	const char *why = NULL;

	if (rc < 0)
		return rc;
	why = check_window(settings);
	if (!why)
		why = check_kept(settings);
	if (!why && settings->bounds.is_strict && settings->bounds.n == 0)
		why = "--fail-strict is for --fail-if, which says what is to fail";
	if (!why && settings->is_unfolded && settings->is_table)
		why = "--unfold is for the tree, --table has each function once";
	return why ? -wtl_complain(app, "%s", why) : 0;
}

int wtl_profile_check_sort(struct wtl_app *app)
{
	const struct wtl_profile_settings *settings = app->own;

	if (!wtl_option_is_used(app, "--sort") || settings->is_table)
		return 0;
	return wtl_complain(app, "--sort is for --table: a tree has most energy first");
}
