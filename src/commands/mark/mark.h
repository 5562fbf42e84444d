/* SPDX-License-Identifier: MIT */
#ifndef WTL_COMMANDS_MARK_MARK_H
#define WTL_COMMANDS_MARK_MARK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mark.h"

struct wtl_err;
struct wtl_buf;

#define WTL_MARK_VARIABLE "WATTLE_MARK"

enum { WTL_MARK_PATH_SIZE = 108 }; /* sun_path's */

/* ---- Where recordings listen (place.c) ---- */

/*
 * A socket that listens, named after this process, in the first of these that can be made and that nobody else can
 * write to: $XDG_RUNTIME_DIR/wattle (root: not that of its login), else for root /run/wattle;
 * $XDG_STATE_HOME/wattle/marks or ~/.local/state/wattle/marks. What sockets of recordings that are no more have
 * left there goes away. Returns the descriptor, or negative with the reason.
 */
int wtl_mark_listen(char path[WTL_MARK_PATH_SIZE], struct wtl_err *err);

/* Calls back for each of this user's sockets that somebody listens at, in order of their names. */
void wtl_mark_each(void (*found)(void *context, const char *path, int fd), void *context);

/* ---- Taking marks (server.c) ---- */

enum { WTL_MARK_CLIENTS = 16 };

struct wtl_mark_client {
	int fd;	       /* -1: the place is free */
	int pid;       /* as this process sees it; 0: it does not */
	bool waits;    /* for an answer that comes later */
	uint64_t turn; /* the lower, the longer it has been there */
};

/*
 * Answers this user (and root), whoever else is there: everything is bounded, and nothing waits. What a
 * client does not do, it misses; one that has said nothing makes room for the next.
 */
struct wtl_mark_server {
	int epoll; /* readable when there is something to serve; -1: not open */
	int listener;
	char path[WTL_MARK_PATH_SIZE];
	struct wtl_mark_client clients[WTL_MARK_CLIENTS];
	uint64_t n_accepted;
	/* Puts an answer (base/mark.h), or returns false: it will be answered at the end. */
	bool (*asked)(void *context, const struct wtl_mark_message *mark, int pid,
		      struct wtl_buf *answer);
	void *context;
};

/* 0, or negative with the reason; then it is as closed. */
int wtl_mark_server_open(struct wtl_mark_server *server, struct wtl_err *err);
/* A few messages, and back. */
void wtl_mark_server_serve(void *server);
/* It is the end: nobody new finds the socket, and all that wait get this answer. */
void wtl_mark_server_answer(struct wtl_mark_server *server, const char *answer);
void wtl_mark_server_close(struct wtl_mark_server *server); /* a closed one is fine */

/* Answers: "error CODE: …". */
void wtl_mark_refuse(struct wtl_buf *answer, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* ---- Asking a recording (find.c) ---- */

struct wtl_app;

/* What a recording says of itself. Text is cleaned. */
struct wtl_mark_status {
	char socket[WTL_MARK_PATH_SIZE];
	int pid;
	char file[512];
	uint64_t device, inode; /* of the file */
	int64_t begin_utc_ns;
	bool can_stop;			      /* false: it ends with what it belongs to */
	char windows[64][WTL_MARK_NAME_SIZE]; /* open, marked from outside */
	size_t n_windows;
};

/* An answer to "status". -EPROTO. */
int wtl_mark_status_parse(const char *answer, struct wtl_mark_status *ret_status);

/* All of this user's recordings that run; how many. */
size_t wtl_mark_find_all(struct wtl_mark_status list[], size_t max);

/*
 * The recording that is meant: by its file; else where WATTLE_MARK points; else the only one. A
 * connection to it, or negative after wtl_complain().
 */
int wtl_mark_find(struct wtl_app *app, const char *file);

#endif
