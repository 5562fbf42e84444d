/* SPDX-License-Identifier: MIT */
#ifndef WTL_COMMANDS_SERVE_SERVE_H
#define WTL_COMMANDS_SERVE_SERVE_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "cli/option.h"
#include "commands/record/recording.h"
#include "serve/push.h"
#include "serve/push_log.h"
#include "serve/share.h"

struct wtl_loop;
struct wtl_past;
struct wtl_recorder;

/* The indices of --share-with's words. */
enum wtl_serve_with { WTL_SERVE_GROUP, WTL_SERVE_EVERYONE };

/* The options of `wattle serve`. */
struct wtl_serve_settings {
	const char *address;
	const char *web_config;
	unsigned port;
	bool insecure_listen, no_store, per_process;
	struct wtl_option_list hosts;
	unsigned compat;   /* WTL_METRICS_…: other exporters' metrics */
	const char *store; /* a folder; NULL: see store.c */
	uint64_t max_bytes;
	int64_t max_age_ns;
	bool is_reader, is_exporter;
	const char *socket; /* for local programs, or "none"; NULL: see share.c */
	enum wtl_serve_with share_with;
	bool sets_limits;
	gid_t limit_group;		   /* that may have them set */
	struct wtl_push_http_options push; /* URL NULL: nothing is pushed */
	const char *push_verify;	   /* the URL for its queries; NULL: none are made */
	int64_t push_interval_ns;
	struct wtl_option_list push_labels;
};

/* options.c: the rows of these options, and a check of their combinations: non-zero after wtl_complain(). */
extern const struct wtl_option wtl_serve_options[];
int wtl_serve_check(struct wtl_app *app);
bool wtl_serve_is_loopback(const char *address);

/* An agent's memory: a folder with one recording per run of the agent,
 * wattle-serve-YYYYMMDD-HHMMSS.wattle (UTC). The newest one has the counters. */
struct wtl_serve_store {
	char folder[PATH_MAX - 64];
	char path[PATH_MAX];	 /* of the new recording; "": none is wanted */
	struct wtl_err why;	 /* negative code: the folder could not be opened yet */
	int lock;		 /* the folder's descriptor, which is locked */
	bool was_cut;		 /* the last recording was cut off */
	char *totals;		 /* counters of the newest earlier recording; NULL: none */
	size_t n_pieces;	 /* facts used for the counters so far */
	int64_t counters_utc_ns; /* the counters' start */
	char **earlier;		 /* recordings with parts of the last day, oldest first */
	size_t n_earlier;
	struct wtl_push_place pushed; /* from the newest recording */
};

/* Progress of pushing, as "CURSOR NEXT DOUBTFUL AGAIN"; older recordings lack the last one or two. */
#define WTL_FACT_PUSHED "pushed"

/* Followed by "served-totals-1", "-2", … if they are longer than a fact may be. */
#define WTL_FACT_TOTALS	      "served-totals"
#define WTL_FACT_TOTALS_BEGAN "served-since"

/*
 * Finds the folder, makes it if needed, reads the newest recording's facts, and removes recordings that
 * are older than max_age_ns or, oldest first, exceed max_bytes (0: no limit). 0; 1: there is no store,
 * or none yet (`why`); or negative after wtl_complain(): another agent uses it. close() in any case.
 */
int wtl_serve_store_open(struct wtl_serve_store *store, struct wtl_app *app,
			 const struct wtl_serve_settings *settings);
void wtl_serve_store_close(struct wtl_serve_store *store);
/* Makes the path of another recording, later than all existing ones; removes what is too old or too much. Opens the
 * folder if that failed before. 0 or negative. */
int wtl_serve_store_renew(struct wtl_serve_store *store, struct wtl_app *app,
			  const struct wtl_serve_settings *settings, char path[PATH_MAX]);
/* The recording at `path` is written from now on. */
void wtl_serve_store_turn_to(struct wtl_serve_store *store, const char *path);
/* The counters as text (wtl_totals_save()), for the next commit. */
void wtl_serve_store_keep(struct wtl_serve_store *store, struct wtl_recorder *recorder,
			  const char *totals);

/* All recordings in the folder, oldest first. Paths and array are from malloc(); NULL ends it. NULL: there are none,
 * or no memory. For any thread. */
char **wtl_serve_store_list(void *store);

/* Pushing, and the log of pushed rows. */
struct wtl_serve_push {
	struct wtl_app *app;
	struct wtl_push *push; /* NULL: nothing is pushed */
	struct wtl_push_log log;
	struct wtl_store_writer *writer; /* the log's */
	struct wtl_store_writer *own;	 /* an exporter's own recording, of rows only; NULL: none */
	char **labels;
	bool is_kept; /* rows are logged: the store was there from the start */
};

/* Checks the settings; non-zero after wtl_complain(). */
int wtl_serve_push_check(struct wtl_app *app);
/* Opens as the settings say. 0, also if nothing is to be pushed; non-zero after wtl_complain(). close() in any case. */
int wtl_serve_push_open(struct wtl_serve_push *push, struct wtl_app *app,
			struct wtl_serve_store *store, bool is_stored, const char *host);
/* The same for an exporter, with its own recording in the store. */
int wtl_serve_push_open_alone(struct wtl_serve_push *push, struct wtl_app *app,
			      struct wtl_serve_store *store);
void wtl_serve_push_close(struct wtl_serve_push *push);
/* Before each snapshot: the last one may be sent by now. Also prints news. */
void wtl_serve_push_look(struct wtl_serve_push *push, struct wtl_live_push *ret_counts);
/* Writes into a new recording which rows earlier ones could not push. */
void wtl_serve_push_carry(const struct wtl_push_place *place, struct wtl_recorder *recorder);
/* Takes a snapshot, which is sent after the next look; with a recorder, its row is also logged. */
void wtl_serve_push_take(struct wtl_serve_push *push, const struct wtl_live *live,
			 struct wtl_recorder *recorder);
/* Look and take, for the newest snapshot on the board. */
void wtl_serve_push_newest(struct wtl_serve_push *push, struct wtl_board *board,
			   struct wtl_live_push *ret_counts);
/* Stops sending, and records the progress. */
void wtl_serve_push_end(struct wtl_serve_push *push, bool is_recorded);

enum { WTL_SERVE_LIMITS_MAX = 16 };

/* Processes that set power limits for clients. */
struct wtl_serve_limits {
	struct wtl_app *app;
	int pids[WTL_SERVE_LIMITS_MAX]; /* 0: the place is free */
};

/* The set() of --limit-group: the name of a group. */
int wtl_serve_limit_group(struct wtl_app *app, const struct wtl_option *option, const char *text);
/* Sets up the options for the socket by the settings. */
void wtl_serve_limits_init(struct wtl_serve_limits *limits, struct wtl_app *app,
			   struct wtl_sharing_options *options);
/* Puts back limits that killed processes left. */
void wtl_serve_limits_restore(struct wtl_serve_limits *limits);
/* Reaps those that have ended. */
void wtl_serve_limits_look(struct wtl_serve_limits *limits);

/*
 * Listens for local programs (serve/share.h) as the settings say; 0 and NULL if nobody is to be served.
 * Non-zero after wtl_complain(). wtl_sharing_close() in any case.
 */
int wtl_serve_share_open(struct wtl_app *app, struct wattle_meter *meter, struct wtl_board *board,
			 struct wtl_past *past, struct wtl_loop *loop,
			 struct wtl_serve_limits *limits, struct wtl_sharing **ret_share);

#endif
