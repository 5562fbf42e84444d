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
 * What counts as "the command" of a recording without one: a running process and its descendants, or all
 * processes in a container or a unit, whenever they started.
 */
struct wtl_follow {
	struct wtl_app *app;
	struct wtl_billing *billing;
	struct wtl_loop *loop;
	char container[80]; /* as in struct wtl_group, or part of it; "" none */
	char unit[96];
	int64_t seen_due_ns; /* the billing's, as of the last look */
	int64_t slot;	     /* the process's */
	int pidfd;	     /* of the process; -1: only looks notice its end */
};

/* After wtl_billing_begin(): follows what the settings name, and adds it to the recording's facts. 0, or
 * negative after wtl_complain(). done() in any case. */
int wtl_follow_begin(struct wtl_follow *follow, struct wtl_app *app, struct wtl_billing *billing,
		     struct wtl_loop *loop, struct wtl_recorder *recorder);
/* After each sample. Stops the loop when the process has ended. */
void wtl_follow_look(struct wtl_follow *follow);
void wtl_follow_done(struct wtl_follow *follow);

/* Is the group the container named by the user: "docker/3f1c…", an ID or its first digits (at least 4), or a
 * name, if the group has one ("lxc/web")? */
bool wtl_follow_is_container(const struct wtl_group *group, const char *name);
/* Is the group that unit: "ssh.service", or "ssh" for short? */
bool wtl_follow_is_unit(const struct wtl_group *group, const char *name);

/* Only hexadecimal digits, and at least 4? */
bool wtl_follow_is_id(const char *name);

/* Finds the ID of a Docker or Podman container in their files by its name, which may look like an ID. "" if not
 * found. Needs jansson. */
void wtl_follow_find_container(struct wtl_io *io, const char *name, char *ret_id, size_t size);

#endif
