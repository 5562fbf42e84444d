/* SPDX-License-Identifier: MIT */
#ifndef WTL_COMMANDS_RECORD_FOLLOW_H
#define WTL_COMMANDS_RECORD_FOLLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/billing.h"
#include "cli/complain.h"
#include "cli/loop.h"
#include "energy/consumer.h"

struct wtl_recorder;

/*
 * Who is "the command" of a recording that starts none: a process that runs already, with its
 * descendants, or whoever is in a container or a unit, whenever they came.
 */
struct wtl_follow {
	struct wtl_app *app;
	struct wtl_billing *billing;
	struct wtl_loop *loop;
	char container[80]; /* as struct wtl_group has it, or what is to be found in it; "" none */
	char unit[96];
	int64_t seen_due_ns; /* the billing's, as of the last look */
	int64_t slot;	     /* the process's */
	int pidfd;	     /* of the process; -1: its end is seen by the looks alone */
};

/* After wtl_billing_begin(): takes what the settings name, and puts it into the recording's facts. 0, or
 * negative after wtl_complain(). done() in any case. */
int wtl_follow_begin(struct wtl_follow *follow, struct wtl_app *app, struct wtl_billing *billing,
		     struct wtl_loop *loop, struct wtl_recorder *recorder);
/* After each sample. Stops the loop when the process has ended. */
void wtl_follow_look(struct wtl_follow *follow);
void wtl_follow_done(struct wtl_follow *follow);

/* Is a group the container that a user names: "docker/3f1c…", an ID or its beginning (4 digits at the
 * least), or a name where that is what the group has ("lxc/web")? */
bool wtl_follow_is_container(const struct wtl_group *group, const char *name);
/* Is it that unit: "ssh.service", or "ssh" for short? */
bool wtl_follow_is_unit(const struct wtl_group *group, const char *name);

/* At least 4 hexadecimal digits, and nothing else? */
bool wtl_follow_is_id(const char *name);

/* The ID of a container of Docker's or Podman's by its name, which may look like an ID, as their files tell
 * it. "" where they do not. Needs jansson. */
void wtl_follow_find_container(struct wtl_io *io, const char *name, char *ret_id, size_t size);

#endif
