/* SPDX-License-Identifier: MIT */
#ifndef WTL_SERVE_WEB_H
#define WTL_SERVE_WEB_H

#include <stddef.h>

struct wtl_reply;
struct wtl_request;

/* A file of the web page, compressed by gzip. tools/mkweb.py makes them from web/ and dygraphs. */
struct wtl_web_file {
	const char *path, *type, *etag;
	const unsigned char *bytes;
	size_t size;
};

extern const struct wtl_web_file
	wtl_web_files[]; /* ended by one without a path; none: the page was left out */

/* Answers all of these rows of routes.c. */
void wtl_web_answer(const struct wtl_request *request, struct wtl_reply *reply);

#endif
