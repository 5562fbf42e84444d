/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/thread.h"
#include "cli/child.h"
#include "cli/command.h"
#include "cli/complain.h"
#include "cli/options.h"
#include "energy/units.h"
#include "meter/meter.h"
#include "wattle.h"
#include "cli/loop.h"

/* After so many Ctrl-C the command is left running. */
#define CTRL_C_MAX 3

#define SIGNALS_AT_ONCE 64

/* The part of the time between two samples that guests may have: one in four. */
#define GUEST_PART 4
/* A fifth of the usual update period of GPU sensors, for as long as a
 * part-time sensor takes to become accurate (docs/integration.md). */
#define HURRY_NS     (20 * WTL_NS_PER_MS)
#define HURRY_FOR_NS (3 * WTL_NS_PER_S)

/* SIGUSR1, SIGUSR2 and real-time signals mean what the command makes of them. */
static bool asks_for_end(int signal)
{
	return signal != SIGUSR1 && signal != SIGUSR2 && signal < SIGRTMIN;
}

static int watch(int epoll, int fd)
{
	struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};

	return epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

/* A seccomp profile may deny these too: the loop would then neither end nor sleep. */
static bool can_wait(const struct wtl_loop *loop)
{
	const struct itimerspec never = {.it_value = {.tv_sec = 0}};
	struct epoll_event event;

	return epoll_wait(loop->epoll, &event, 1, 0) >= 0 &&
	       timerfd_settime(loop->timer, 0, &never, NULL) == 0;
}

int wtl_loop_init(struct wtl_loop *loop, struct wtl_app *app, void (*ticked)(void *context),
		  void *context)
{
	*loop = (struct wtl_loop){
		.interval_ns = app->settings.interval_ns,
		.jitter = app->settings.jitter,
		.random = 0x9e3779b97f4a7c15u,
		.ticked = ticked,
		.context = context,
	};
	/* Ctrl-Z and its like are left alone: they stop wattle and the command together, as for any job. */
	wtl_ending_signals(&app->inherited, &loop->watched);
	sigaddset(&loop->watched, SIGCHLD);
	/* An inherited "ignore" would make the command's end invisible. */
	signal(SIGCHLD, SIG_DFL);
	loop->epoll = epoll_create1(EPOLL_CLOEXEC);
	loop->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	loop->signals = signalfd(-1, &loop->watched, SFD_CLOEXEC | SFD_NONBLOCK);
	if (sigprocmask(SIG_BLOCK, &loop->watched, NULL) < 0 || loop->epoll < 0 ||
	    loop->timer < 0 || loop->signals < 0 || watch(loop->epoll, loop->timer) < 0 ||
	    watch(loop->epoll, loop->signals) < 0 || !can_wait(loop)) {
		int error = errno;

		wtl_loop_done(loop);
		wtl_complain(app, "cannot set up the sampling loop: %s", wtl_err_text(-error));
		return -error;
	}
	return 0;
}

void wtl_loop_done(struct wtl_loop *loop)
{
	if (loop->epoll >= 0)
		close(loop->epoll);
	if (loop->timer >= 0)
		close(loop->timer);
	if (loop->signals >= 0)
		close(loop->signals);
}

/* xorshift64*: it only has to be out of step with the workload. */
static int64_t jittered(struct wtl_loop *loop)
{
	bool hurries = loop->due_ns < loop->hurry_until_ns && loop->hurry_ns < loop->interval_ns;
	int64_t interval_ns = hurries ? loop->hurry_ns : loop->interval_ns;
	uint64_t half = (uint64_t)interval_ns / 4;

	if (!loop->jitter || half == 0)
		return interval_ns;
	loop->random ^= loop->random >> 12;
	loop->random ^= loop->random << 25;
	loop->random ^= loop->random >> 27;
	return interval_ns - (int64_t)half + (int64_t)(loop->random % (2 * half));
}

static void arm(struct wtl_loop *loop)
{
	const struct itimerspec when = {.it_value = wtl_thread_timespec(loop->due_ns)};

	timerfd_settime(loop->timer, TFD_TIMER_ABSTIME, &when, NULL);
}

/* ---- Guests ---- */

int wtl_loop_watch(struct wtl_loop *loop, int fd, void (*serve)(void *context), void *context)
{
	int rc = loop->n_guests < WTL_GUESTS ? watch(loop->epoll, fd) : -ENOSPC;

	if (rc == 0)
		loop->guests[loop->n_guests++] =
			(struct wtl_guest){.fd = fd, .serve = serve, .context = context};
	return rc;
}

static void heed(const struct wtl_loop *loop, struct wtl_guest *guest, bool rests)
{
	struct epoll_event event = {.events = rests ? 0 : EPOLLIN, .data.fd = guest->fd};

	if (guest->rests != rests)
		epoll_ctl(loop->epoll, EPOLL_CTL_MOD, guest->fd, &event);
	guest->rests = rests;
}

static void serve(struct wtl_loop *loop, int fd)
{
	for (size_t i = 0; i < loop->n_guests; i++) {
		struct wtl_guest *guest = &loop->guests[i];
		int64_t begin_ns = wtl_thread_clock_ns();

		if (guest->fd != fd)
			continue;
		guest->serve(guest->context);
		guest->served_ns += wtl_thread_clock_ns() - begin_ns;
		if (guest->served_ns > loop->interval_ns / GUEST_PART)
			heed(loop, guest, true);
	}
}

static void welcome_guests(struct wtl_loop *loop)
{
	for (size_t i = 0; i < loop->n_guests; i++) {
		loop->guests[i].served_ns = 0;
		heed(loop, &loop->guests[i], false);
	}
}

/* ---- Samples ---- */

/* A sample that was missed is not made up for. */
static void tick(struct wtl_loop *loop, struct wattle_meter *meter, struct wtl_io *io)
{
	int64_t now_ns;

	wtl_io_wait_until(io, loop->due_ns);
	now_ns = wtl_io_mono_ns(io);
	if (now_ns - loop->due_ns > loop->interval_ns / 2)
		loop->late_ticks++;
	if (meter)
		wattle_meter_tick(meter);
	if (loop->ticked)
		loop->ticked(loop->context);
	do
		loop->due_ns += jittered(loop);
	while (loop->due_ns <= now_ns);
	arm(loop);
	welcome_guests(loop);
}

/* ---- Signals ---- */

/* Signals that another process sent to wattle are meant for the command, as is a timer that ran when wattle
 * started. The terminal sends its own to the command as well, and each process has its own limit of CPU time. */
static void forward(const struct signalfd_siginfo *info, struct wtl_child *child)
{
	int signal = (int)info->ssi_signo;
	bool is_wattles = info->ssi_code == SI_KERNEL && (signal == SIGINT || signal == SIGQUIT ||
							  signal == SIGHUP || signal == SIGXCPU);

	if (!is_wattles && child && !child->ended)
		kill(child->pid, signal);
}

static void take_end(struct wtl_loop *loop, const struct signalfd_siginfo *info)
{
	loop->interrupts++;
	loop->ctrl_c += info->ssi_signo == SIGINT;
	loop->last_signal = (int)info->ssi_signo;
	/* wattle's own limit of CPU time is reached: a second later the kernel kills it. */
	if (info->ssi_signo == SIGXCPU && info->ssi_code == SI_KERNEL)
		loop->ctrl_c = CTRL_C_MAX;
}

/* child is NULL while nothing runs. */
static void take_signals(struct wtl_loop *loop, struct wtl_child *child)
{
	struct signalfd_siginfo info;

	/* More signals than that must not hold up the samples. */
	for (int i = 0; i < SIGNALS_AT_ONCE &&
			read(loop->signals, &info, sizeof(info)) == (ssize_t)sizeof(info);
	     i++) {
		if (info.ssi_signo == SIGCHLD)
			continue;
		if (info.ssi_signo == SIGHUP && info.ssi_code != SI_KERNEL && loop->hung_up)
			loop->hung_up(loop->context);
		else if (asks_for_end((int)info.ssi_signo))
			take_end(loop, &info);
		forward(&info, child);
	}
	if (child)
		wtl_child_poll(child);
}

bool wtl_loop_interrupted(struct wtl_loop *loop)
{
	take_signals(loop, NULL);
	return loop->interrupts > 0;
}

void wtl_loop_finish(struct wtl_loop *loop)
{
	sigset_t quit;

	take_signals(loop, NULL);
	sigemptyset(&quit);
	if (sigismember(&loop->watched, SIGQUIT))
		sigaddset(&quit, SIGQUIT);
	sigprocmask(SIG_UNBLOCK, &quit, NULL);
}

static void take_events(struct wtl_loop *loop, struct wattle_meter *meter, struct wtl_io *io,
			struct wtl_child *child)
{
	struct epoll_event events[2 + WTL_GUESTS];
	int n = epoll_wait(loop->epoll, events, 2 + WTL_GUESTS, -1);

	/* The sample comes first: nothing may delay it. */
	for (int i = 0; i < n; i++)
		if (events[i].data.fd == loop->timer)
			tick(loop, meter, io);
	for (int i = 0; i < n; i++) {
		if (events[i].data.fd == loop->signals)
			take_signals(loop, child);
		else if (events[i].data.fd != loop->timer)
			serve(loop, events[i].data.fd);
	}
}

int wtl_loop_run(struct wtl_loop *loop, struct wattle_meter *meter, struct wtl_io *io,
		 struct wtl_child *child)
{
	loop->due_ns = wtl_io_mono_ns(io) + jittered(loop);
	arm(loop);
	wtl_child_poll(child);
	while (!child->ended && !loop->stop && loop->ctrl_c < CTRL_C_MAX)
		take_events(loop, meter, io, child);
	return child->ended || loop->stop ? 0 : -EINTR;
}

void wtl_loop_hurry(struct wtl_loop *loop, const struct wtl_app *app, struct wattle_meter *meter,
		    struct wtl_io *io)
{
	struct wattle_domain domain;
	bool is_sampled = false;

	for (size_t i = 0; wtl_meter_domain(meter, i, &domain) == 0; i++)
		is_sampled |= domain.in_total && domain.sensor &&
			      domain.method == WATTLE_METHOD_INTEGRATED;
	if (!is_sampled || wtl_option_is_used(app, "--interval"))
		return;
	loop->hurry_ns = HURRY_NS;
	loop->hurry_until_ns = wtl_io_mono_ns(io) + HURRY_FOR_NS;
}

void wtl_loop_run_command(struct wtl_loop *loop, const struct wtl_app *app,
			  struct wattle_meter *meter, struct wtl_io *io, struct wtl_child *child)
{
	if (wtl_loop_run(loop, meter, io, child) < 0)
		wtl_remark(app, "%s'%s' (process %d) %s, and is left to itself",
			   loop->last_signal == SIGXCPU ? "wattle's CPU time is over (ulimit -t): "
							: "",
			   app->settings.command[0], child->pid,
			   loop->last_signal == SIGXCPU ? "goes on" : "does not end");
}

int wtl_loop_idle(struct wtl_loop *loop, struct wattle_meter *meter, struct wtl_io *io,
		  int64_t duration_ns)
{
	int64_t end_ns = wtl_io_mono_ns(io) + duration_ns;

	loop->due_ns = wtl_io_mono_ns(io) + jittered(loop);
	arm(loop);
	while (loop->interrupts == 0 && !loop->stop && wtl_io_mono_ns(io) < end_ns) {
		if (loop->due_ns > end_ns) {
			loop->due_ns = end_ns;
			arm(loop);
		}
		take_events(loop, meter, io, NULL);
	}
	return loop->interrupts ? -EINTR : 0;
}
