/* SPDX-License-Identifier: MIT */
#ifndef WTL_SERVE_METRICS_WRITER_H
#define WTL_SERVE_METRICS_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

struct wtl_live;
struct wtl_live_process;
struct wtl_metrics_writer;

/*
 * The building blocks of Prometheus' text. One family after the other: its name, its description,
 * and its samples, each of which has labels and a value. There are thousands of samples, so
 * numbers are made without printf(), and labels that several have in common are copied.
 */

enum wtl_metrics_type { WTL_METRICS_GAUGE, WTL_METRICS_COUNTER, WTL_METRICS_INFO };

/* How a number of a snapshot is written. Whole eighths take the least space in a database. */
enum wtl_metrics_form {
	WTL_METRICS_DOWN, /* µJ or µW as J or W, in eighths, downwards, */
	WTL_METRICS_NEAR, /* to the nearest one, */
	WTL_METRICS_UP,	  /* or upwards */
	WTL_METRICS_FLAG, /* a bool */
	WTL_METRICS_COUNT,
	WTL_METRICS_MILLIONTHS,
	WTL_METRICS_NS_MS, /* ns as s, with three decimals */
	WTL_METRICS_NS_US, /* or six */
};

/* When a number is known. */
enum wtl_metrics_known {
	WTL_METRICS_ALWAYS,
	WTL_METRICS_HAS_COUNTER,
	WTL_METRICS_HAS_ENERGY,
	WTL_METRICS_HAS_POWER,
	WTL_METRICS_HAS_IDLE,
	WTL_METRICS_HAS_SELF_ENERGY,
	WTL_METRICS_HAS_MEMORY,
	WTL_METRICS_HAS_STORE,
};

struct wtl_metrics_family {
	const char *name; /* with the unit, the "_total" of a counter and the "_info" of an info */
	const char *labels; /* for the documentation: "domain, kind" */
	const char *help;
	enum wtl_metrics_type type;
	/* Writes the family's samples, if any. */
	void (*write)(struct wtl_metrics_writer *writer, const struct wtl_live *live);
	unsigned what; /* for write(), if several families share one */
	/* If the family is a number of the snapshot or its parts, at offset `what`: */
	enum wtl_metrics_form form;
	enum wtl_metrics_known known;
	unsigned set; /* WTL_METRICS_…; 0: it is always written */
};

struct wtl_metrics_writer {
	struct wtl_buf *buf;
	const struct wtl_metrics_family *family;
	unsigned sets;	 /* WTL_METRICS_… */
	bool is_open;	 /* OpenMetrics */
	bool has_labels; /* of this sample, up to now */
	size_t at;	 /* where the sample begins */
	size_t family_at;
	int64_t begun_ns;
};

/* A sample: begin or repeat, labels, value. */
void wtl_metrics_begin(struct wtl_metrics_writer *writer);
/* Begin, and labels: names and values by turns, ended by NULL. */
__attribute__((sentinel)) void wtl_metrics_sample(struct wtl_metrics_writer *writer, ...);
/* Text from outside may be anything: invalid UTF-8 becomes '?'. */
void wtl_metrics_label(struct wtl_metrics_writer *writer, const char *name, const char *value);
void wtl_metrics_label_number(struct wtl_metrics_writer *writer, const char *name, uint64_t value);

/* Returns what is after the first slash, or the whole name; `before` gets what is before it, or "". */
const char *wtl_metrics_split(const char *name, char *before, size_t size);

/* The labels so far, for samples that have these and more. */
struct wtl_metrics_mark {
	size_t at, len;
	bool has_labels;
};
struct wtl_metrics_mark wtl_metrics_mark(const struct wtl_metrics_writer *writer);
/* Instead of begin: starts a sample with the marked labels. The marked sample itself needs no value. */
void wtl_metrics_repeat(struct wtl_metrics_writer *writer, const struct wtl_metrics_mark *mark);
/* Removes the marked sample if it has no value yet. */
void wtl_metrics_drop(struct wtl_metrics_writer *writer, const struct wtl_metrics_mark *mark);

void wtl_metrics_eighths(struct wtl_metrics_writer *writer, uint64_t millionths,
			 enum wtl_metrics_form round);
/* The family's number, at offset `what` of `of`. */
void wtl_metrics_put_number(struct wtl_metrics_writer *writer, const void *of);
void wtl_metrics_number(struct wtl_metrics_writer *writer, uint64_t value);
void wtl_metrics_signed(struct wtl_metrics_writer *writer, int64_t value);
/* value / 10^decimals; decimals is at most 18. */
void wtl_metrics_decimal(struct wtl_metrics_writer *writer, uint64_t value, unsigned decimals);

/* false: a family by process has used up its room, so that scrapes do not get too long. */
bool wtl_metrics_has_room(const struct wtl_metrics_writer *writer);

/* A family that is a number of the snapshot itself. */
void wtl_metrics_put_host(struct wtl_metrics_writer *writer, const struct wtl_live *live);
#define WTL_METRICS_OF_HOST(member, form_, known_)                                \
	.write = wtl_metrics_put_host, .what = offsetof(struct wtl_live, member), \
	.form = WTL_METRICS_##form_, .known = WTL_METRICS_##known_

/* Begins a sample of a process, with its pid, and its name as the given label; false: it gets none. */
bool wtl_metrics_begin_process(struct wtl_metrics_writer *writer,
			       const struct wtl_live_process *process, const char *label);

/* The unit in a family's name; "": none. */
const char *wtl_metrics_unit(const struct wtl_metrics_family *family);

/* Writes a family with its name and description; nothing if it has no samples. */
void wtl_metrics_put_family(struct wtl_metrics_writer *writer, const struct wtl_live *live,
			    const struct wtl_metrics_family *family);

#endif
