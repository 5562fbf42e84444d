/* SPDX-License-Identifier: MIT */
#ifndef WTL_CLIENT_HTTP_H
#define WTL_CLIENT_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wtl_buf;
struct wtl_err;

/* HTTP requests, by libcurl, which is loaded with the first one (Debian: libcurl3-gnutls or libcurl4). */

struct wtl_client_options {
	const char *ca, *certificate; /* PEM files: trusted authorities; our certificate and key */
	bool (*gives_up)(void *context); /* asked while it waits; may be NULL */
	void *context;
};

struct wtl_client;

struct wtl_client_request {
	const char *url;
	const struct wtl_buf *headers; /* lines "Name: value"; others are skipped */
	const struct wtl_buf *body;    /* NULL: it is a GET */
	/* Each line of the answer's headers; may be NULL. */
	void (*header)(void *context, const char *line, size_t len);
	void *context;
};

struct wtl_client_answer {
	long code; /* 0: no answer, text says why */
	bool is_new_connection;
	bool was_not_sent;	/* there was no connection */
	bool is_cut;		/* longer than the buffer may hold: only its start is there */
	int64_t retry_after_ns; /* 0: it did not say */
	char text[256];		/* printable */
};

/* 0, or negative with the reason. free() takes NULL. What the options point to is borrowed. */
int wtl_client_new(const struct wtl_client_options *options, struct wtl_client **ret_http,
		   struct wtl_err *err);
void wtl_client_free(struct wtl_client *http);

/* Sends it and waits for half a minute at most. The answer's body goes into a buffer. Redirections are not followed. */
void wtl_client_send(struct wtl_client *http, const struct wtl_client_request *request,
		     struct wtl_buf *body, struct wtl_client_answer *ret_answer);

/* The value of the header with that name, if the line is that header; else NULL. */
const char *wtl_client_value(const char *line, size_t len, const char *name, size_t *ret_len);

/* Escapes a text as a part of a URL. */
void wtl_client_escape(struct wtl_buf *url, const char *text);
bool wtl_client_is_url(const char *text);
/* A URL without its secrets: user, password and query. */
void wtl_client_url_text(const char *url, char *text, size_t size);

#endif
