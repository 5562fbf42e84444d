/* SPDX-License-Identifier: MIT */
/* A whole session: live on the screen, or one picture on standard output. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/config.h"
#include "base/fd.h"
#include "cli/locale.h"
#include "cli/terminal.h"
#include "commands/top/replay.h"
#include "commands/top/session.h"
#include "energy/units.h"
#include "meter/meter.h"
#include "report/description.h"
#include "sensors/rapl.h"

enum { ONCE_COLUMNS = 100, ONCE_MAX = 8u << 20 };

static int once_columns(void)
{
	int columns = wtl_terminal_size(STDOUT_FILENO).columns;

	return columns > 0 ? columns : wtl_terminal_given("COLUMNS", ONCE_COLUMNS);
}

static int print_picture(struct wtl_top_session *session)
{
	const struct wtl_top_view *view = wtl_top_collector_view(session->collector);
	int columns = once_columns(), rows;
	struct wtl_buf text;
	int rc;

	wtl_top_session_rows(session, view);
	if (session->rows.n > session->settings->rows)
		session->rows.n = session->settings->rows;
	rows = session->face->once_rows(session, view, columns);
	if (wtl_canvas_resize(&session->canvas, rows, columns) < 0) {
		wtl_complain(session->app, "out of memory");
		return WTL_EXIT_FAILED;
	}
	wtl_top_session_draw(session, view, true);
	wtl_buf_init(&text, ONCE_MAX);
	wtl_canvas_dump(&session->canvas, &text);
	/* Not by stdio, which would report an error again when closing. */
	rc = text.error ? text.error
			: wtl_fd_write_all(STDOUT_FILENO, wtl_buf_str(&text), text.len);
	wtl_buf_done(&text);
	if (rc < 0 && rc != -EPIPE)
		wtl_complain(session->app, "cannot write to standard output: %s", strerror(-rc));
	return rc < 0 ? WTL_EXIT_FAILED : WTL_EXIT_DONE;
}

static bool is_coarse(const struct wattle_meter *meter)
{
	for (size_t i = 0; i < meter->n_domains; i++)
		if (wtl_describe_coarse(meter, i))
			return true;
	return false;
}

static int show_once(struct wtl_top_session *session)
{
	struct wtl_top_collector *collector = session->collector;
	int64_t interval_ns = session->app->settings.interval_ns, due_ns, end_ns;
	int64_t once_ns = session->face->once_ns;
	bool is_tape = session->app->settings.tape != NULL;
	int code;

	collector->bills_late = !is_tape;
	atomic_store(&collector->walks, wtl_top_ui_wants_walks(&session->ui));
	if (wtl_top_collector_open(collector) < 0)
		return WTL_EXIT_FAILED;
	code = wtl_top_session_check(session, wtl_top_collector_view(collector));
	if (code)
		return code;
	if (HAVE_RECORDINGS && collector->replay)
		return wtl_top_replay_once(collector) < 0 ? WTL_EXIT_FAILED
							  : print_picture(session);
	/* A source that updates once a second needs two updates for power. */
	if (is_coarse(collector->meter))
		once_ns += WTL_RAPL_COARSE_NS;
	due_ns = wtl_io_mono_ns(collector->io);
	end_ns = due_ns + (interval_ns > once_ns ? interval_ns : once_ns);
	while (is_tape || due_ns < end_ns) {
		due_ns = is_tape ? INT64_MAX : due_ns + interval_ns;
		if (wtl_top_collector_step(collector, due_ns) < 0)
			break;
	}
	wtl_top_collector_finish(collector);
	return print_picture(session);
}

/* ---- All of it ---- */

/* Options and environment override the configuration, but are not saved in it. */
static void apply_settings(struct wtl_top_session *session)
{
	const struct wtl_settings *settings = &session->app->settings;
	const char *no_color = getenv("NO_COLOR");
	struct wtl_top_ui *ui = &session->ui;

	if (session->settings->redraw_ns)
		ui->config.redraw_ms = (unsigned)(session->settings->redraw_ns / WTL_NS_PER_MS);
	ui->no_color = settings->no_color || (no_color && no_color[0]);
	ui->ascii = wtl_is_ascii(settings);
}

int wtl_top_session_run(struct wtl_top_session *session, bool is_once,
			void (*prepare)(struct wtl_top_session *session))
{
	struct wtl_top_collector *collector = malloc(sizeof(*collector));
	int code;

	if (!collector) {
		wtl_complain(session->app, "out of memory");
		return WTL_EXIT_FAILED;
	}
	wtl_top_collector_init(collector, session->app, session->settings);
	session->collector = collector;
	collector->without_table = session->face->without_table;
	wtl_top_ui_init(&session->ui);
	wtl_top_rows_init(&session->rows);
	wtl_canvas_init(&session->canvas);
	prepare(session);
	apply_settings(session);
	/* The caller has checked that this build has a live screen. */
	code = HAVE_TERMINAL && !is_once ? wtl_top_session_live(session) : show_once(session);
	wtl_top_ui_done(&session->ui);
	wtl_top_rows_done(&session->rows);
	wtl_canvas_done(&session->canvas);
	/* false: a device that does not answer still uses it. */
	if (wtl_top_collector_done(collector))
		free(collector);
	return code;
}
