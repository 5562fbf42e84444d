/* SPDX-License-Identifier: MIT */
#ifndef WTL_COMMANDS_ESTIMATE_TELL_H
#define WTL_COMMANDS_ESTIMATE_TELL_H

#include "document/writer.h"

struct wtl_app;
struct wtl_io;
struct wtl_report_text;

/* Shared output functions of wattle estimate. */

/* The io to write files by. 0, or negative after a complaint. */
int wtl_estimate_open_io(struct wtl_app *app, struct wtl_io **ret);
/* Writes a result where the options say. An exit code. */
int wtl_estimate_tell(struct wtl_app *app, const struct wtl_thing *thing, const void *what);

/* "12.3 µJ": three digits of a value, from 1e-12 of its unit on. */
void wtl_estimate_put_si(struct wtl_buf *buf, double value, const char *unit,
			 const struct wtl_output_style *style);
/* A number with seven significant digits. */
void wtl_estimate_put_number(struct wtl_node *to, const char *key, double value);
/* Each line of a text as an item of a list; or as a remark below a page, unless it is among `said`. */
void wtl_estimate_put_lines(struct wtl_node *to, const char *key, const char *lines);
void wtl_estimate_put_remarks(const struct wtl_report_text *text, const char *lines,
			      const char *said);

#endif
