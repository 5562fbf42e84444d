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
	gid_t limit_group;		   /* who may have them set */
	struct wtl_push_http_options push; /* its URL NULL: nothing is pushed */
	const char *push_verify;	   /* the URL of its queries; NULL: none is asked */
	int64_t push_interval_ns;
	struct wtl_option_list push_labels;
};

/* options.c: the rows of those, and whether they make sense together: non-zero after wtl_complain(). */
extern const struct wtl_option wtl_serve_options[];
int wtl_serve_check(struct wtl_app *app);
bool wtl_serve_is_loopback(const char *address);

/*
 * An agent's memory: a folder with a recording for each time that it ran, wattle-serve-YYYYMMDD-HHMMSS.wattle
 * (UTC). The newest one knows the counters.
 */
struct wtl_serve_store {
	char folder[PATH_MAX - 64];
	char path[PATH_MAX];	 /* of the new recording; "": nobody wants any */
	struct wtl_err why;	 /* its code is negative: the folder could not be opened yet */
	int lock;		 /* the folder's descriptor */
	bool was_cut;		 /* the one before it was not ended */
	char *totals;		 /* of the newest one before it; NULL: there is none */
	size_t n_pieces;	 /* facts that the counters have taken up to now */
	int64_t counters_utc_ns; /* when those began */
	char **earlier; /* paths of recordings that have something of the last day, the oldest first */
	size_t n_earlier;
	struct wtl_push_place pushed; /* as the newest one has it */
};

/* The place of what is pushed, as "CURSOR NEXT DOUBTFUL AGAIN"; older ones lack the last, or the last two. */
#define WTL_FACT_PUSHED "pushed"

/* And "served-totals-1", "-2", … where they are longer than a fact may be. */
#define WTL_FACT_TOTALS	      "served-totals"
#define WTL_FACT_TOTALS_BEGAN "served-since"

/*
 * Finds the folder, makes it if need be, reads what the newest recording knows, and removes what is older than
 * max_age_ns or, oldest first, more than max_bytes (0: no limit). 0; 1: there is no store, or none yet (`why`); or
 * negative after wtl_complain(): another agent has it. close() in any case.
 */
int wtl_serve_store_open(struct wtl_serve_store *store, struct wtl_app *app,
			 const struct wtl_serve_settings *settings);
void wtl_serve_store_close(struct wtl_serve_store *store);
/* The path of another recording, later than all that are there; what is too old or too much is removed. Where the folder
 * could not be opened before, it is now. 0 or negative. */
int wtl_serve_store_renew(struct wtl_serve_store *store, struct wtl_app *app,
			  const struct wtl_serve_settings *settings, char path[PATH_MAX]);
/* That one is written from now on. */
void wtl_serve_store_turn_to(struct wtl_serve_store *store, const char *path);
/* The counters as text (wtl_totals_save()), for the next commit. */
void wtl_serve_store_keep(struct wtl_serve_store *store, struct wtl_recorder *recorder,
			  const char *totals);

/* All recordings in the folder, the oldest first: each and the array from malloc(), ended by NULL. NULL: there are
 * none, or no memory. For any thread. */
char **wtl_serve_store_list(void *store);

/* What is pushed, and what of it is kept. */
struct wtl_serve_push {
	struct wtl_app *app;
	struct wtl_push *push; /* NULL: nothing is */
	struct wtl_push_log log;
	struct wtl_store_writer *writer; /* of the log */
	struct wtl_store_writer
		*own; /* an exporter's recording, of rows alone; NULL: there is none */
	char **labels;
	bool is_kept; /* the rows are: the store was there from the start */
};

/* Whether the settings make sense; non-zero after wtl_complain(). */
int wtl_serve_push_check(struct wtl_app *app);
/* As the settings say; 0 where nothing is to be pushed, too. Non-zero after wtl_complain(). close() in any case. */
int wtl_serve_push_open(struct wtl_serve_push *push, struct wtl_app *app,
			struct wtl_serve_store *store, bool is_stored, const char *host);
/* The same for an exporter, with a recording of its own, in the store. */
int wtl_serve_push_open_alone(struct wtl_serve_push *push, struct wtl_app *app,
			      struct wtl_serve_store *store);
void wtl_serve_push_close(struct wtl_serve_push *push);
/* Before each snapshot is taken: the one before may be sent by now. And what is new is told. */
void wtl_serve_push_look(struct wtl_serve_push *push, struct wtl_live_push *ret_counts);
/* Into a recording that knows nothing of the rows of this agent: what earlier ones could not push. */
void wtl_serve_push_carry(const struct wtl_push_place *place, struct wtl_recorder *recorder);
/* A snapshot; with a recorder, its row goes into the recording, too. */
void wtl_serve_push_take(struct wtl_serve_push *push, const struct wtl_live *live,
			 struct wtl_recorder *recorder);
/* Both, of the newest snapshot on the board. */
void wtl_serve_push_newest(struct wtl_serve_push *push, struct wtl_board *board,
			   struct wtl_live_push *ret_counts);
/* Nothing is sent any more, and the recording knows how far it came. */
void wtl_serve_push_end(struct wtl_serve_push *push, bool is_recorded);

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
			 struct wtl_past *past, struct wtl_loop *loop,
			 struct wtl_serve_limits *limits, struct wtl_sharing **ret_share);

#endif
