/* SPDX-License-Identifier: MIT */
#include "commands/profile/watch.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/thread.h"
#include "cli/apart.h"
#include "cli/complain.h"
#include "energy/units.h"
#include "profile/looks.h"
#include "profile/seed.h"

/* A record may be in its ring this much later than its time. */
#define LATE_NS (2 * WTL_NS_PER_MS)

/* Rings are read at least this often, for records of births and mappings. */
#define LOOK_NS (100 * WTL_NS_PER_MS)
enum { TAKE_SAMPLES = 8, AWAY_GLANCES = 8, PATHS_MAX = 65536 };

static void take_glance(void *context, const struct wtl_ring_glance *glance)
{
	struct wtl_profile_watch *watch = context;

	wtl_pace_take(&watch->pace, glance->cpu, glance->t_ns);
	wtl_trace_glance(&watch->trace, glance);
	if (watch->has_memory)
		wtl_memory_look(&watch->memory, glance->pid, glance->tid, glance->t_ns);
}

static void take(void *context, const struct wtl_ring_event *event)
{
	struct wtl_profile_watch *watch = context;

	wtl_trace_take(&watch->trace, event);
	if (!watch->has_memory)
		return;
	if (event->kind == WTL_RING_SAMPLE && !event->sample.is_bare)
		wtl_memory_seen(&watch->memory, event->pid, event->tid, event->t_ns,
				watch->trace.seen_node);
	else if (event->kind == WTL_RING_ENDED && event->pid == event->tid)
		wtl_memory_ended(&watch->memory, event->pid);
}

/* How many samples may collect: 1 if each is to be glanced at soon, UINT_MAX if none is. */
static unsigned awaits(const struct wtl_profile_watch *watch, int64_t now_ns)
{
	return watch->has_memory || wtl_tails_are_needed(&watch->trace.tails, now_ns)
		       ? 1
		       : wtl_python_awaits(&watch->trace.python);
}

/*
 * A thread should be glanced at where its sample was taken. On its processor the reader runs instead of it for some
 * microseconds, so the thread stays there. From another processor, a thread that calls fast has moved on, and is read
 * again and again; and an idle processor would be woken. Where any moment will do, the reader runs on any processor,
 * and the program does not wait for it.
 */
static void follow(struct wtl_profile_watch *watch, int cpu)
{
	cpu_set_t one;

	if (cpu >= 0 && !CPU_ISSET(cpu, &watch->cpus))
		cpu = -1;
	watch->n_away = cpu == watch->cpu ? 0 : watch->n_away + 1;
	if (watch->n_away < AWAY_GLANCES)
		return;
	watch->n_away = 0;
	CPU_ZERO(&one);
	if (cpu >= 0)
		CPU_SET(cpu, &one);
	if (sched_setaffinity(0, sizeof(one), cpu >= 0 ? &one : &watch->cpus) == 0)
		watch->cpu = cpu;
}

/*
 * Samples that are glanced at one by one are still taken several at a time, as that uses caches better. Returns the
 * processor of a sample that was glanced at; negative: none was.
 */
static int drain(struct wtl_profile_watch *watch, int64_t until_ns)
{
	unsigned n_awaited;
	bool is_met, is_in_place;
	int cpu = -1;

	pthread_mutex_lock(&watch->taking);
	n_awaited = awaits(watch, until_ns);
	if (n_awaited < UINT_MAX) {
		cpu = wtl_rings_glance(watch->rings, take_glance, watch);
		n_awaited = awaits(watch, until_ns); /* what was seen may be enough */
	}
	is_in_place =
		n_awaited == 1 || (n_awaited < UINT_MAX && !watch->trace.python.when.is_apart);
	if (is_in_place != watch->is_in_place)
		watch->n_away = AWAY_GLANCES; /* at once */
	watch->is_in_place = is_in_place;
	if (n_awaited > 1 ||
	    until_ns - watch->taken_ns >= wtl_rings_wait_ns(watch->rings, TAKE_SAMPLES)) {
		is_met = n_awaited == 1 && watch->pace.is_steady && watch->cpu >= 0 &&
			 watch->cpu == watch->pace.cpu;
		wtl_rings_await(watch->rings, n_awaited, is_met);
		wtl_rings_drain(watch->rings, until_ns, take, watch);
		wtl_trace_look_back(&watch->trace);
		watch->taken_ns = until_ns;
	}
	pthread_mutex_unlock(&watch->taking);
	return cpu;
}

/* Lets timers of the calling thread run this much later, together with others of its processor. */
static void set_slack(struct wtl_profile_watch *watch, int64_t slack_ns)
{
	if (slack_ns != watch->slack_ns)
		prctl(PR_SET_TIMERSLACK, (unsigned long)slack_ns);
	watch->slack_ns = slack_ns;
}

/* Waits for samples; the next is due in due_ns. false: the reader is to end. */
static bool wait_for_some(struct wtl_profile_watch *watch, int64_t due_ns)
{
	const int64_t period_ns = watch->pace.period_ns, rest_ns = wtl_rings_rest_ns(watch->rings);
	const int64_t wait_ns = rest_ns > 0 ? rest_ns : due_ns;
	const struct timespec wait = wtl_thread_timespec(wait_ns < LOOK_NS ? wait_ns : LOOK_NS);
	struct pollfd stop = {.fd = watch->reader_stop, .events = POLLIN};
	struct epoll_event event = {.data.fd = -1};
	int64_t slack_ns = WTL_PACE_SLACK_NS;

	if (rest_ns > 0)
		slack_ns = period_ns < WTL_NS_PER_MS ? period_ns : WTL_NS_PER_MS;
	if (rest_ns >= 0) {
		set_slack(watch, slack_ns);
		return ppoll(&stop, 1, &wait, NULL) <= 0;
	}
	/* Samples wake the reader. A program without any, as it is in the kernel, still has switches. */
	epoll_wait(wtl_rings_fd(watch->rings), &event, 1, LOOK_NS / WTL_NS_PER_MS);
	return event.data.fd != watch->reader_stop;
}

/* Runs in its own thread: rings fill up while the meter reads sensors, and Python runs on. */
static void *read_rings(void *context)
{
	struct wtl_profile_watch *watch = context;
	int64_t due_ns = 0;

	if (sched_getaffinity(0, sizeof(watch->cpus), &watch->cpus) < 0)
		CPU_ZERO(&watch->cpus);
	wtl_pace_init(&watch->pace, watch->how.hz);
	while (wait_for_some(watch, due_ns)) {
		int64_t woke_ns = wtl_thread_clock_ns(), now_ns;
		int cpu = drain(watch, woke_ns - LATE_NS);

		if (cpu < 0)
			wtl_pace_lack(&watch->pace, woke_ns);
		follow(watch, watch->is_in_place ? cpu : -1);
		now_ns = wtl_thread_clock_ns();
		due_ns = wtl_pace_sleep(&watch->pace, now_ns, now_ns - woke_ns);
	}
	return NULL;
}

static int64_t look(struct wtl_profile_watch *watch)
{
	int64_t wait_ns;

	pthread_mutex_lock(&watch->taking);
	wait_ns = wtl_looks_look(watch->looks, take_glance, take, watch);
	pthread_mutex_unlock(&watch->taking);
	return wait_ns;
}

static void *keep_looking(void *context)
{
	struct wtl_profile_watch *watch = context;
	struct pollfd stop = {.fd = watch->reader_stop, .events = POLLIN};

	while (!(stop.revents & POLLIN)) {
		int64_t wait_ns = look(watch);
		const struct timespec wait = wtl_thread_timespec(wait_ns);

		if (ppoll(&stop, 1, &wait, NULL) < 0)
			stop.revents = 0;
	}
	return NULL;
}

/* If perf_event_open is denied, opens looks instead: 1; or rc if that does not help. */
static int open_looks(struct wtl_profile_watch *watch, int rc)
{
	if (!watch->may_look || (rc != -EACCES && rc != -EPERM && rc != -ENOSYS))
		return rc;
	watch->looks = wtl_looks_new(watch->how.hz);
	if (watch->looks && !watch->how.pid)
		wtl_looks_adopt(watch->looks);
	if (!watch->looks ||
	    (watch->how.pid && wtl_looks_add(watch->looks, watch->how.pid, true) < 0))
		return rc;
	if (watch->how.hz > WTL_LOOKS_HZ_MOST)
		watch->how.hz = WTL_LOOKS_HZ_MOST;
	return 1;
}

int wtl_profile_watch_open(struct wtl_profile_watch *watch, struct wtl_err *err)
{
	int rc = wtl_trace_init(&watch->trace, err);

	watch->cpu = -1;
	wtl_thread_mutex_init(&watch->taking);
	watch->trace.has_waits = watch->how.sees_turns;
	if (rc >= 0 && watch->how.sees_turns && wtl_asleep_init(&watch->trace.asleep) < 0)
		rc = wtl_err_set(err, ENOMEM, "profile", NULL, "out of memory");
	if (rc < 0)
		return rc;
	rc = wtl_rings_open(&watch->how, &watch->rings, err);
	watch->trace.lacks_turns = rc < 0 || !wtl_rings_see_turns(watch->rings);
	watch->trace.lacks_kernel = rc >= 0 && !wtl_rings_see_kernel(watch->rings);
	watch->trace.python.is_looked = rc < 0;
	return rc < 0 ? open_looks(watch, rc) : 0;
}

int wtl_profile_watch_begin(struct wtl_profile_watch *watch, struct wtl_err *err)
{
	struct epoll_event event = {.events = EPOLLIN};
	int rc = 0;

	event.data.fd = watch->reader_stop = eventfd(0, EFD_CLOEXEC);
	if (watch->reader_stop < 0 ||
	    (watch->rings &&
	     epoll_ctl(wtl_rings_fd(watch->rings), EPOLL_CTL_ADD, watch->reader_stop, &event) < 0))
		rc = -errno;
	if (rc == 0)
		rc = wtl_thread_start(&watch->reader, watch->looks ? keep_looking : read_rings,
				      watch);
	if (rc == 0)
		return 0;
	if (watch->reader_stop > 0)
		close(watch->reader_stop);
	watch->reader_stop = 0;
	return wtl_err_set(err, rc, "profile", NULL, "cannot start a thread: %s", wtl_err_text(rc));
}

void wtl_profile_watch_follow(struct wtl_profile_watch *watch, int pid)
{
	if (!watch->looks)
		return;
	pthread_mutex_lock(&watch->taking);
	wtl_looks_add(watch->looks, pid, false);
	pthread_mutex_unlock(&watch->taking);
}

int wtl_profile_watch_attach(struct wtl_profile_watch *watch, struct wtl_err *err)
{
	struct wtl_trace_attach attach = {.trace = &watch->trace,
					  .rings = watch->rings,
					  .lock = &watch->taking,
					  .pid = watch->how.pid};
	int rc;

	if (watch->looks)
		return 0;
	rc = wtl_trace_attach(&attach, err);
	watch->n_denied = attach.n_denied;
	return rc;
}

static void stop_reader(struct wtl_profile_watch *watch)
{
	if (watch->reader_stop <= 0)
		return;
	eventfd_write(watch->reader_stop, 1);
	pthread_join(watch->reader, NULL);
	close(watch->reader_stop);
	watch->reader_stop = 0;
}

void wtl_profile_watch_stop(struct wtl_profile_watch *watch)
{
	if (watch->rings)
		wtl_rings_stop(watch->rings);
	stop_reader(watch);
}

void wtl_profile_watch_end(struct wtl_profile_watch *watch, int64_t now_ns)
{
	if (watch->looks)
		look(watch);
	else
		drain(watch, INT64_MAX);
	wtl_trace_end(&watch->trace, now_ns);
	watch->trace.modules.apart = wtl_apart;
}

/* Each program once. */
static void complain_hidden(struct wtl_app *app, const struct wtl_trace *trace)
{
	struct wtl_buf names;

	wtl_buf_init(&names, PATHS_MAX);
	for (size_t i = 0, k; i < trace->n_threads; i++) {
		const struct wtl_trace_thread *hidden = &trace->threads[i];

		for (k = 0; k < i && hidden->is_hidden; k++)
			if (trace->threads[k].is_hidden &&
			    strcmp(trace->threads[k].name, hidden->name) == 0)
				break;
		if (hidden->is_hidden && k == i)
			wtl_buf_printf(&names, "%s%s", names.len > 0 ? ", " : "", hidden->name);
	}
	if (names.len > 0)
		wtl_complain(
			app,
			"%s: not looked at, as the kernel forbids it of a program that its user "
			"may not read, or that is setuid: make it readable, or give its process to "
			"--pid as root",
			names.error ? "…" : wtl_buf_str(&names));
	wtl_buf_done(&names);
}

void wtl_profile_watch_complain(struct wtl_app *app, const struct wtl_trace *trace)
{
	const struct wtl_modules *modules = &trace->modules;
	struct wtl_buf paths;
	size_t n = 0;

	wtl_buf_init(&paths, PATHS_MAX);
	for (size_t i = 0; i < modules->n; i++)
		if (modules->list[i]->has_lost_lines)
			wtl_buf_printf(&paths, "%s%s", n++ > 0 ? ", " : "", modules->list[i]->path);
	if (trace->lines.error)
		wtl_complain(
			app,
			"lines and inlined calls are not told, as no process can be started that "
			"reads debug information: %s",
			wtl_err_text(trace->lines.error));
	else if (n > 0)
		wtl_complain(
			app,
			"the debug information of %zu file%s cannot be read, so lines and inlined "
			"calls are not told there: %s",
			n, n == 1 ? "" : "s", paths.error ? "…" : wtl_buf_str(&paths));
	complain_hidden(app, trace);
	wtl_buf_done(&paths);
}

void wtl_profile_watch_close(struct wtl_profile_watch *watch)
{
	stop_reader(watch);
	wtl_rings_close(watch->rings);
	wtl_looks_free(watch->looks);
	wtl_trace_done(&watch->trace);
	wtl_memory_done(&watch->memory);
}
