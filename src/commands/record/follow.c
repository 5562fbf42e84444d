/* SPDX-License-Identifier: MIT */
#include "commands/record/follow.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/config.h"
#include "base/num.h"
#include "base/text.h"
#include "cli/command.h"
#include "commands/record/settings.h"
#include "meter/consumers.h"
#include "meter/observer.h"
#include "replay/recorder.h"
#include "workload/groups.h"

enum { NAMES_MAX = 1 << 20 };

/* ---- A process ---- */

static int open_pid(int pid)
{
	return (int)syscall(SYS_pidfd_open, pid, 0);
}

/* The descriptor becomes readable when the process ends, and stays so: stopping once is enough. */
static void process_ended(void *context)
{
	struct wtl_follow *follow = context;

	follow->loop->stop = true;
}

static int begin_pid(struct wtl_follow *follow, struct wtl_recorder *recorder)
{
	const struct wtl_settings *settings = &follow->app->settings;
	struct wtl_consumers *consumers = follow->billing->consumers;
	const struct wtl_record_settings *record = follow->app->own;
	int pid = record->pid, rc;
	char text[16];

	if (!settings->root && !settings->tape)
		follow->pidfd = open_pid(pid);
	rc = wtl_consumers_follow(consumers, pid);
	if (rc < 0) {
		wtl_complain(follow->app, "there is no process %d to be followed", pid);
		return rc;
	}
	follow->slot = wtl_workload_find(wtl_consumers_workload(consumers), pid);
	if (follow->pidfd >= 0)
		wtl_loop_watch(follow->loop, follow->pidfd, process_ended, follow);
	snprintf(text, sizeof(text), "%d", pid);
	wtl_recorder_fact(recorder, WTL_FACT_FOLLOW_PID, text);
	return 0;
}

/* A different slot means that another process has this number now. */
static void look_at_pid(struct wtl_follow *follow)
{
	struct wtl_workload *workload = wtl_consumers_workload(follow->billing->consumers);
	const struct wtl_record_settings *record = follow->app->own;

	if (wtl_workload_find(workload, record->pid) != follow->slot)
		follow->loop->stop = true;
}

/* ---- A container, a unit ---- */

static bool is_member(const struct wtl_follow *follow, const struct wtl_group *group)
{
	return (follow->container[0] && wtl_follow_is_container(group, follow->container)) ||
	       (follow->unit[0] && wtl_follow_is_unit(group, follow->unit));
}

/* Descendants are in the tree already: this finds members that came in another way. Returns the number of
 * living members. */
static size_t take_members(struct wtl_follow *follow)
{
	struct wtl_consumers *consumers = follow->billing->consumers;
	size_t n = 0;

	for (size_t slot = 0; slot < wtl_consumers_slots(consumers); slot++) {
		const struct wtl_consumer *consumer = wtl_consumers_get(consumers, slot);

		if (!consumer || consumer->state != WTL_CONSUMER_LIVE || !consumer->group ||
		    !is_member(follow, consumer->group))
			continue;
		n++;
		if (!consumer->is_in_tree)
			wtl_consumers_follow(consumers, consumer->pid);
	}
	return n;
}

static bool is_member_pid(struct wtl_follow *follow, const char *pid)
{
	char path[64], text[4096];
	struct wtl_group group;
	ssize_t len;

	snprintf(path, sizeof(path), "/proc/%.20s/cgroup", pid);
	len = wtl_io_slurp(follow->billing->io, path, text, sizeof(text));
	return len > 0 && wtl_group_parse(text, (size_t)len, &group) == 0 &&
	       is_member(follow, &group);
}

/* Takes all current members: scans do not see idle ones. Returns how many. */
static size_t take_all_members(struct wtl_follow *follow)
{
	struct wtl_buf names;
	size_t n = 0;

	wtl_buf_init(&names, NAMES_MAX);
	if (wtl_io_dir_read(follow->billing->io, "/proc", &names) > 0)
		for (size_t at = 0; at < names.len; at += strlen(names.data + at) + 1) {
			const char *name = names.data + at;
			uint64_t pid;

			if (wtl_num_u64(name, strlen(name), &pid) == 0 && pid <= INT_MAX &&
			    is_member_pid(follow, name) &&
			    wtl_consumers_follow(follow->billing->consumers, (int)pid) == 0)
				n++;
		}
	wtl_buf_done(&names);
	return n;
}

/* Finds the container that has the name now. Returns whether it is another one than before. */
static bool find_container(struct wtl_follow *follow)
{
	const struct wtl_record_settings *record = follow->app->own;
	const char *name = record->container;
	char id[sizeof(follow->container)] = "";

	if (HAVE_JANSSON)
		wtl_follow_find_container(follow->billing->io, name, id, sizeof(id));
	if (!id[0])
		wtl_text_copy(id, sizeof(id), name);
	if (strcmp(follow->container, id) == 0)
		return false;
	wtl_text_copy(follow->container, sizeof(follow->container), id);
	return true;
}

static void begin_groups(struct wtl_follow *follow, struct wtl_recorder *recorder)
{
	const struct wtl_record_settings *record = follow->app->own;

	if (record->container) {
		wtl_recorder_fact(recorder, WTL_FACT_FOLLOW_CONTAINER, record->container);
		find_container(follow);
		if (!HAVE_JANSSON && !wtl_follow_is_id(record->container))
			wtl_remark(follow->app,
				   "--container: built without jansson, which reads the "
				   "names of Docker's and Podman's: give its ID");
	}
	if (record->unit) {
		wtl_recorder_fact(recorder, WTL_FACT_FOLLOW_UNIT, record->unit);
		wtl_text_copy(follow->unit, sizeof(follow->unit), record->unit);
	}
}

/* ---- All of them ---- */

int wtl_follow_begin(struct wtl_follow *follow, struct wtl_app *app, struct wtl_billing *billing,
		     struct wtl_loop *loop, struct wtl_recorder *recorder)
{
	const struct wtl_record_settings *record = app->own;

	*follow = (struct wtl_follow){
		.app = app, .billing = billing, .loop = loop, .pidfd = -1, .slot = -1};
	if (record->pid)
		return begin_pid(follow, recorder);
	begin_groups(follow, recorder);
	if ((follow->container[0] || follow->unit[0]) && take_all_members(follow) == 0)
		wtl_remark(app, "nothing runs in %s '%s' now: whatever comes will be followed",
			   follow->unit[0] ? "the unit" : "the container",
			   follow->unit[0] ? follow->unit : follow->container);
	return 0;
}

void wtl_follow_look(struct wtl_follow *follow)
{
	if (!follow->billing || !follow->billing->consumers ||
	    follow->billing->session.due_ns == follow->seen_due_ns)
		return;
	follow->seen_due_ns = follow->billing->session.due_ns;
	if (follow->slot >= 0)
		look_at_pid(follow);
	if (!follow->container[0] && !follow->unit[0])
		return;
	/* The name may belong to another container now, or to the first one at last. */
	if (take_members(follow) == 0 && follow->container[0] && find_container(follow))
		take_all_members(follow);
}

void wtl_follow_done(struct wtl_follow *follow)
{
	if (follow->billing && follow->pidfd >= 0)
		close(follow->pidfd);
}
