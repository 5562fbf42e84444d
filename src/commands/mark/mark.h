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

/* ---- The sockets of recordings (place.c) ---- */

/*
 * Listens at a socket named after this process. Its directory is the first of these that can be made and that
 * only this user can write to: $XDG_RUNTIME_DIR/wattle (root: not the login's), else for root /run/wattle;
 * $XDG_STATE_HOME/wattle/marks or ~/.local/state/wattle/marks. Sockets that ended recordings left there are
 * removed. Returns the descriptor, or negative with the reason.
 */
int wtl_mark_listen(char path[WTL_MARK_PATH_SIZE], struct wtl_err *err);

/* Calls found() for each of this user's sockets with a listener, in order of their names. */
void wtl_mark_each(void (*found)(void *context, const char *path, int fd), void *context);

/* ---- Taking marks (server.c) ---- */

enum { WTL_MARK_CLIENTS = 16 };

struct wtl_mark_client {
	int fd;	       /* -1: the place is free */
	int pid;       /* in this process's PID namespace; 0: not visible in it */
	bool waits;    /* for an answer that comes later */
	uint64_t turn; /* lower: connected earlier */
};

/*
 * Answers this user and root. Its resources are bounded, and it never blocks: a client that does not read its
 * answer misses it, and an idle one makes room for the next.
 */
struct wtl_mark_server {
	int epoll; /* readable when there is something to serve; -1: not open */
	int listener;
	char path[WTL_MARK_PATH_SIZE];
	struct wtl_mark_client clients[WTL_MARK_CLIENTS];
	uint64_t n_accepted;
	/* Writes the answer (base/mark.h), or returns false: it is answered at the end. */
	bool (*asked)(void *context, const struct wtl_mark_message *mark, int pid,
		      struct wtl_buf *answer);
	void *context;
};

/* 0, or negative with the reason; then it counts as closed. */
int wtl_mark_server_open(struct wtl_mark_server *server, struct wtl_err *err);
/* Serves a few messages, and returns. */
void wtl_mark_server_serve(void *server);
/* The recording has ended: removes the socket, and sends this answer to all clients that wait. */
void wtl_mark_server_answer(struct wtl_mark_server *server, const char *answer);
void wtl_mark_server_close(struct wtl_mark_server *server); /* a closed one is fine */

/* Writes an error as answer: "error CODE: …". */
void wtl_mark_refuse(struct wtl_buf *answer, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* ---- Asking a recording (find.c) ---- */

struct wtl_app;

/* A recording's answer to "status". Text is cleaned. */
struct wtl_mark_status {
	char socket[WTL_MARK_PATH_SIZE];
	int pid;
	char file[512];
	uint64_t device, inode; /* of the file */
	int64_t begin_utc_ns;
	bool can_stop;			      /* false: something else ends it */
	char windows[64][WTL_MARK_NAME_SIZE]; /* open, and begun by a mark */
	size_t n_windows;
};

/* Parses an answer to "status". -EPROTO. */
int wtl_mark_status_parse(const char *answer, struct wtl_mark_status *ret_status);

/* Finds all running recordings of this user; how many. */
size_t wtl_mark_find_all(struct wtl_mark_status list[], size_t max);

/*
 * Connects to a recording: that of the file; else WATTLE_MARK's; else the only one. A descriptor, or
 * negative after wtl_complain().
 */
int wtl_mark_find(struct wtl_app *app, const char *file);

#endif
