/* SPDX-License-Identifier: MIT */
#ifndef WTL_COMMANDS_SERVE_SERVE_H
#define WTL_COMMANDS_SERVE_SERVE_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "cli/option.h"
#include "commands/record/recording.h"
#include "serve/share.h"

struct wtl_err;
struct wtl_loop;
struct wtl_recorder;

/* The places in the words of --share-with. */
enum wtl_serve_with { WTL_SERVE_GROUP, WTL_SERVE_EVERYONE };

/* What the options of `wattle serve` say. */
struct wtl_serve_settings {
	const char *address;
	const char *web_config;
	unsigned port;
	bool insecure_listen, no_store, per_process;
	struct wtl_option_list hosts;
	unsigned compat;   /* WTL_METRICS_… of other exporters */
	const char *store; /* a folder; NULL: see store.c */
	uint64_t max_bytes;
	int64_t max_age_ns;
	bool is_reader, is_exporter;
	const char *socket; /* for programs of this machine, or "none"; NULL: see share.c */
	enum wtl_serve_with share_with;
	bool sets_limits;
	gid_t limit_group; /* who may have them set */
};

/*
 * An agent's memory: a folder with a recording for each time that it ran, wattle-serve-YYYYMMDD-HHMMSS.wattle
 * (UTC). The newest one knows the counters.
 */
struct wtl_serve_store {
	char folder[PATH_MAX - 64];
	char path[PATH_MAX]; /* of the new recording; or why there is none, "": nobody wants any */
	int lock;	     /* the folder's descriptor */
	bool was_cut;	     /* the one before it was not ended */
	char *totals;	     /* of the newest one before it; NULL: there is none */
	size_t n_pieces;     /* facts that the counters have taken up to now */
	int64_t counters_utc_ns; /* when those began */
	char **earlier; /* paths of recordings that have something of the last day, the oldest first */
	size_t n_earlier;
};

/* And "served-totals-1", "-2", … where they are longer than a fact may be. */
#define WTL_FACT_TOTALS	      "served-totals"
#define WTL_FACT_TOTALS_BEGAN "served-since"

/*
 * Finds the folder, makes it if need be, reads what the newest recording knows, and removes what is older than
 * max_age_ns or, oldest first, more than max_bytes (0: no limit). 0; 1: there is no store; or negative after
 * wtl_complain(): another agent has it. close() in any case.
 */
int wtl_serve_store_open(struct wtl_serve_store *store, struct wtl_app *app,
			 const struct wtl_serve_settings *settings);
void wtl_serve_store_close(struct wtl_serve_store *store);
/* The path of another recording, later than all that are there; what is too old or too much is removed. 0 or negative. */
int wtl_serve_store_renew(const struct wtl_serve_store *store, struct wtl_app *app,
			  const struct wtl_serve_settings *settings, char path[PATH_MAX]);
/* That one is written from now on. */
void wtl_serve_store_turn_to(struct wtl_serve_store *store, const char *path);
/* The counters as text (wtl_totals_save()), for the next commit. */
void wtl_serve_store_keep(struct wtl_serve_store *store, struct wtl_recorder *recorder,
			  const char *totals);

enum { WTL_SERVE_LIMITS_MAX = 16 };

/* Processes that set power limits for clients. */
struct wtl_serve_limits {
	struct wtl_app *app;
	int pids[WTL_SERVE_LIMITS_MAX]; /* 0: the place is free */
};

/* The option: the name of a group. */
int wtl_serve_limit_group(struct wtl_app *app, const struct wtl_option *option, const char *text);
/* What the settings say of them, for the socket. */
void wtl_serve_limits_init(struct wtl_serve_limits *limits, struct wtl_app *app,
			   struct wtl_sharing_options *options);
/* Puts back what was left by some that were killed. */
void wtl_serve_limits_restore(struct wtl_serve_limits *limits);
/* Now and then: takes note of those that have ended. */
void wtl_serve_limits_look(struct wtl_serve_limits *limits);

/*
 * Listens for programs of this machine (serve/share.h), as the settings say; 0 and NULL where nobody is to be served.
 * Non-zero after wtl_complain(). wtl_sharing_close() in any case.
 */
int wtl_serve_share_open(struct wtl_app *app, struct wattle_meter *meter, struct wtl_board *board,
			 struct wtl_loop *loop, struct wtl_serve_limits *limits,
			 struct wtl_sharing **ret_share);

#endif
