/* SPDX-License-Identifier: MIT */
#ifndef WTL_SERVE_API_H
#define WTL_SERVE_API_H

struct wtl_reply;
struct wtl_request;

/* Rows of routes.c: JSON for programs and the page (docs/api.md). */
void wtl_api_live(const struct wtl_request *request, struct wtl_reply *reply);
void wtl_api_history(const struct wtl_request *request, struct wtl_reply *reply);
void wtl_api_use(const struct wtl_request *request, struct wtl_reply *reply);
void wtl_api_windows(const struct wtl_request *request, struct wtl_reply *reply);

#endif
