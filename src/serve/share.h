/* SPDX-License-Identifier: MIT */
#ifndef WTL_SERVE_SHARE_H
#define WTL_SERVE_SHARE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct wattle_meter;
struct wtl_board;
struct wtl_err;
struct wtl_past;
struct wtl_share_limit;
struct wtl_sharing;

/*
 * An agent's socket for programs of this machine (docs/share.md), which may be denied the sensors
 * themselves. Answers come from the newest sample, by the thread that measures. So everything is bounded,
 * and nothing waits for a client: one that does not take its answer loses it and is disconnected.
 */

enum { WTL_SHARE_CLIENTS = 128, WTL_SHARE_PATH_SIZE = 108 };

#define WTL_SHARE_NO_GROUP ((gid_t)-1)

struct wtl_sharing_options {
	const char *path;
	gid_t group;	  /* its members get readings as sampled, like root and the agent's user */
	bool everyone;	  /* others get totals: once a second, in steps (sensors/rapl.h) */
	const char *user; /* the agent's user, for messages */
	struct wattle_meter *meter;
	int64_t interval_ns;	 /* between samples */
	struct wtl_board *board; /* snapshots for an exporter; NULL: none */
	struct wtl_past *past;	 /* and what it starts with; NULL: nothing */
	/* Power limits: root and the members of a group may set them. limit() then has to answer the
	 * connection, with a descriptor of its own; negative: it has done nothing. NULL: nobody may. */
	gid_t limit_group;
	int (*limit)(void *context, const struct wtl_share_limit *limit, int fd);
	void *limit_context;
};

/* Listens. A socket that nobody listens at any more is replaced. 0, or
 * negative with the reason: -EADDRINUSE if another agent listens there. */
int wtl_sharing_open(const struct wtl_sharing_options *options, struct wtl_sharing **ret_share,
		     struct wtl_err *err);
void wtl_sharing_close(struct wtl_sharing *share);   /* NULL is fine */
int wtl_sharing_fd(const struct wtl_sharing *share); /* readable when somebody asks */
void wtl_sharing_serve(void *share);
/* After each sample: makes new readings available, and lets every client ask again. NULL is fine. */
void wtl_sharing_sampled(struct wtl_sharing *share);
/* Could the socket not be given to the group? Then only its owner has access. */
bool wtl_sharing_is_private(const struct wtl_sharing *share);

#endif
