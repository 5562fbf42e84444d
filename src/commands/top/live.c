/* SPDX-License-Identifier: MIT */
/* The live screen. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/err.h"
#include "cli/child.h"
#include "cli/screen.h"
#include "commands/top/draw.h"
#include "commands/top/session.h"
#include "energy/units.h"

/* The first picture waits so long for domains; until all is there, the next ones come this often. */
#define OPEN_NS (40 * WTL_NS_PER_MS)
#define SOON_NS (20 * WTL_NS_PER_MS)

enum { HELD_MAX = 64 * 1024 };

struct live {
	struct wtl_top_session *session;
	struct wtl_screen *screen;
	const struct wtl_top_view *view;
	int signals;	    /* descriptor */
	int held;	    /* what is written to standard error meanwhile; < 0: not a terminal */
	int standard_error; /* the real one */
	/* When the next picture is due, and how much earlier or later it may come together with a new view. */
	int64_t due_ns, slack_ns;
	bool is_complete; /* processes are there, too */
	bool whole;
	int ended_by; /* a signal, or 0 */
};

/* Keeps remarks from appearing inside the picture. */
static void hold_remarks(struct live *live)
{
	live->held = -1;
	live->standard_error = -1;
	if (!isatty(STDERR_FILENO))
		return;
	live->held = memfd_create("wattle-remarks", MFD_CLOEXEC);
	live->standard_error = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
	if (live->held >= 0 && live->standard_error >= 0)
		dup2(live->held, STDERR_FILENO);
}

static void release_remarks(struct live *live)
{
	char text[4096];
	off_t at = 0;
	ssize_t n;

	if (live->held >= 0 && live->standard_error >= 0) {
		dup2(live->standard_error, STDERR_FILENO);
		while (at < HELD_MAX && (n = pread(live->held, text, sizeof(text), at)) > 0) {
			if (write(STDERR_FILENO, text, (size_t)n) != n)
				break;
			at += n;
		}
	}
	if (live->held >= 0)
		close(live->held);
	if (live->standard_error >= 0)
		close(live->standard_error);
}

static struct wtl_screen_options screen_options(const struct wtl_top_session *session)
{
	const unsigned *set = session->ui.config.set;

	return (struct wtl_screen_options){
		.color = set[WTL_SET_COLOR] && !session->ui.no_color,
		.ascii = session->ui.ascii || set[WTL_SET_ASCII],
		.mouse = set[WTL_SET_MOUSE],
	};
}

static int show(struct live *live)
{
	struct wtl_top_session *session = live->session;
	const struct wtl_screen_options options = screen_options(session);
	int rows, columns, rc;

	wtl_screen_set(live->screen, &options);
	wtl_screen_size(live->screen, &rows, &columns);
	if (rows != session->canvas.rows || columns != session->canvas.columns)
		wtl_canvas_resize(&session->canvas, rows, columns);
	wtl_top_session_rows(session, live->view);
	wtl_top_session_draw(session, live->view, false);
	rc = wtl_screen_show(live->screen, &session->canvas, live->whole);
	live->whole = false;
	return rc;
}

static void save(struct live *live)
{
	struct wtl_top_session *session = live->session;
	int rc;

	if (!session->config_path[0]) {
		wtl_top_ui_say(&session->ui, wtl_top_screen_ns(),
			       "The set-up is for now only: no file was named for it");
		return;
	}
	rc = wtl_top_config_save(session);
	if (rc < 0)
		wtl_top_ui_say(&session->ui, wtl_top_screen_ns(), "The set-up cannot be kept: %s",
			       wtl_err_text(rc));
	else
		wtl_top_ui_say(&session->ui, wtl_top_screen_ns(), "Kept in %s",
			       session->config_path);
}

static void send_signal(struct live *live)
{
	struct wtl_top_ui *ui = &live->session->ui;
	int rc = wtl_top_send_signal(&ui->victim);

	if (rc < 0)
		wtl_top_ui_say(ui, wtl_top_screen_ns(), "%s not sent to %d: %s",
			       wtl_top_signal_name(ui->victim.signal), ui->victim.pid,
			       rc == -EXDEV ? "it is in another PID namespace" : strerror(-rc));
	else
		wtl_top_ui_say(ui, wtl_top_screen_ns(), "%s sent to %d (%s)",
			       wtl_top_signal_name(ui->victim.signal), ui->victim.pid,
			       ui->victim.name);
}

/* 1: the user quits. */
static int grant(struct live *live, enum wtl_top_wish wish)
{
	if (wish == WTL_TOP_WISH_QUIT)
		return 1;
	if (wish == WTL_TOP_WISH_SAVE)
		save(live);
	else if (wish == WTL_TOP_WISH_SIGNAL)
		send_signal(live);
	else if (wish == WTL_TOP_WISH_PLAY)
		wtl_top_collector_order(live->session->collector, &live->session->ui.order);
	else if (wish == WTL_TOP_WISH_REDRAW)
		live->whole = true;
	return 0;
}

/* Handles all input. 1: end; -EIO: the terminal is gone. */
static int take_input(struct live *live)
{
	struct wtl_top_session *session = live->session;
	struct wtl_input input;
	int rc, end = 0;

	while ((rc = wtl_screen_read(live->screen, &input)) > 0 && !end) {
		end = grant(live,
			    session->face->input(session, live->view, &input, wtl_top_screen_ns()));
		/* The next key may refer to what this one changed. */
		wtl_top_session_rows(session, live->view);
	}
	return rc < 0 ? rc : end;
}

static void draw_anew(struct live *live)
{
	live->whole = true;
	live->due_ns = 0;
}

/* Stops as without a handler, but with the terminal restored. */
static void stop_here(struct live *live)
{
	sigset_t stop;

	wtl_screen_leave(live->screen);
	sigemptyset(&stop);
	sigaddset(&stop, SIGTSTP);
	signal(SIGTSTP, SIG_DFL);
	raise(SIGTSTP);
	sigprocmask(SIG_UNBLOCK, &stop, NULL);
	/* Continued. */
	sigprocmask(SIG_BLOCK, &stop, NULL);
	draw_anew(live);
}

static int take_signals(struct live *live)
{
	struct signalfd_siginfo info;

	while (read(live->signals, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		if (info.ssi_signo == SIGTSTP) {
			stop_here(live);
		} else if (info.ssi_signo == SIGCONT) {
			wtl_screen_retake(live->screen);
			draw_anew(live);
		} else if (info.ssi_signo == SIGWINCH) {
			live->due_ns = 0;
		} else {
			live->ended_by = (int)info.ssi_signo;
		}
	}
	return live->ended_by != 0;
}

static void take_view(struct live *live)
{
	if (!live->session->ui.is_paused)
		live->view = wtl_top_collector_view(live->session->collector);
}

static bool take_news(struct live *live)
{
	eventfd_t n;

	return eventfd_read(live->session->collector->news, &n) == 0;
}

/* One picture per period, with the nearest view. has_view: the current one came with a view. */
static void schedule(struct live *live, int64_t now_ns, bool has_view)
{
	int64_t period_ns = SOON_NS, off_ns = now_ns - live->due_ns;

	live->is_complete = wtl_top_collector_wait(live->session->collector, 0) >= WTL_TOP_RUNNING;
	live->slack_ns = 0;
	if (live->is_complete) {
		period_ns = live->session->ui.config.redraw_ms * WTL_NS_PER_MS;
		live->slack_ns = (live->view->interval_ns < period_ns ? live->view->interval_ns
								      : period_ns) /
				 2;
	}
	if (off_ns > period_ns || off_ns < -period_ns)
		live->due_ns = now_ns;
	else if (has_view)
		/* Moves towards views: halfway between two, pictures would vary between them. */
		live->due_ns += off_ns / 4;
	live->due_ns += period_ns;
	wtl_top_collector_want(live->session->collector, live->due_ns - live->slack_ns);
}

/* Waits for keys, signals, views and the next redraw. */
static int turn(struct live *live)
{
	struct pollfd watched[] = {{.fd = STDIN_FILENO, .events = POLLIN},
				   {.fd = live->signals, .events = POLLIN},
				   {.fd = live->session->collector->news, .events = POLLIN}};
	int64_t now_ns = wtl_top_screen_ns();
	int64_t left_ns = live->due_ns + live->slack_ns - now_ns;
	bool has_view;
	int rc = 0;

	/* Polls even when drawing is late, so that keys and signals are seen. */
	poll(watched, 3, left_ns > 0 ? (int)((left_ns + WTL_NS_PER_MS - 1) / WTL_NS_PER_MS) : 0);
	if (watched[1].revents && take_signals(live))
		return 1;
	if (watched[0].revents) {
		rc = take_input(live);
		if (rc)
			return rc;
		/* Input is shown at once, with the current figures. */
		return show(live);
	}
	now_ns = wtl_top_screen_ns();
	has_view = watched[2].revents && take_news(live);
	if (!has_view && now_ns < live->due_ns + live->slack_ns)
		return 0;
	take_view(live);
	schedule(live, now_ns, has_view);
	return show(live);
}

static int watch_signals(struct live *live)
{
	sigset_t set;

	wtl_ending_signals(&live->session->app->inherited, &set);
	sigaddset(&set, SIGWINCH);
	sigaddset(&set, SIGCONT);
	if (!sigismember(&live->session->app->inherited.ignored, SIGTSTP))
		sigaddset(&set, SIGTSTP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	live->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return live->signals < 0 ? -errno : 0;
}

static int run_screen(struct live *live)
{
	int rc = 0;

	live->whole = true;
	take_news(live);
	take_view(live);
	rc = show(live);
	schedule(live, wtl_top_screen_ns(), false);
	while (rc == 0) {
		rc = turn(live);
		if (wtl_top_collector_wait(live->session->collector, 0) == WTL_TOP_FAILED)
			rc = 1;
	}
	return rc;
}

static int exit_code(const struct live *live, int rc)
{
	if (wtl_top_collector_wait(live->session->collector, 0) == WTL_TOP_FAILED)
		return WTL_EXIT_FAILED;
	if (live->ended_by && live->ended_by != SIGINT)
		return 128 + live->ended_by;
	/* Same exit code as for SIGHUP: the terminal is gone. */
	return rc == -EIO ? 128 + SIGHUP : rc < 0 ? WTL_EXIT_FAILED : WTL_EXIT_DONE;
}

int wtl_top_session_live(struct wtl_top_session *session)
{
	const struct wtl_screen_options options = screen_options(session);
	struct live live = {.session = session};
	struct wtl_err err = {.code = 0};
	enum wtl_top_state state;
	int rc = watch_signals(&live);

	if (rc == 0)
		rc = wtl_top_collector_start(session->collector);
	if (rc < 0) {
		wtl_complain(session->app, "cannot begin: %s", strerror(-rc));
		return WTL_EXIT_FAILED;
	}
	state = wtl_top_collector_wait(session->collector, OPEN_NS);
	if (state == WTL_TOP_FAILED)
		return WTL_EXIT_FAILED; /* after a complaint */
	if (state != WTL_TOP_OPENING) {
		rc = wtl_top_session_check(session, wtl_top_collector_view(session->collector));
		if (rc)
			return rc;
	}
	rc = wtl_screen_new(&options, &live.screen, &err);
	if (rc < 0) {
		wtl_complain_err(session->app, &err);
		return WTL_EXIT_FAILED;
	}
	hold_remarks(&live);
	rc = run_screen(&live);
	wtl_screen_free(live.screen);
	release_remarks(&live);
	close(live.signals);
	return exit_code(&live, rc);
}
