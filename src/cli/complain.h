/* SPDX-License-Identifier: MIT */
#ifndef WTL_CLI_COMPLAIN_H
#define WTL_CLI_COMPLAIN_H

struct wtl_app;
struct wtl_err;

/* One line on standard error: "wattle: NAME: text". Returns EINVAL, for option functions. */
int wtl_complain(struct wtl_app *app, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* The same for an error of the library: source, path and text. */
void wtl_complain_err(struct wtl_app *app, const struct wtl_err *err);
/* A remark, unless --quiet. */
void wtl_remark(const struct wtl_app *app, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif
