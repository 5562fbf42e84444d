/* SPDX-License-Identifier: MIT */
#ifndef WTL_COMMANDS_EXPORT_FORM_H
#define WTL_COMMANDS_EXPORT_FORM_H

#include "commands/export/export.h"

struct wtl_app;

/*
 * A form that other tools read: made of the rows of one or more tables, as they come. It is a row of wtl_export_forms.
 */
struct wtl_export_form {
	const char *name;			  /* as --to takes it */
	const struct wtl_export_table *tables[4]; /* ended by NULL */
	/* Has it a place for that domain? NULL: for all. */
	bool (*has_place)(const struct wattle_domain *domain);
	const char *places;			  /* in words; NULL as above */
	void (*begin)(struct wtl_export *export); /* NULL: nothing; as end */
	void (*row)(struct wtl_export *export, const struct wtl_node *row);
	void (*end)(struct wtl_export *export);
};

/* Says what it has no place for. false: that is all there is. */
bool wtl_export_form_check(struct wtl_app *app, const struct wtl_export *export, const char *path);

extern const struct wtl_export_form wtl_export_influx, wtl_export_perfetto, wtl_export_prometheus,
	wtl_export_codecarbon, wtl_export_zeus, wtl_export_aipowermeter;

/* ---- What forms share: rows of a window or of a moment, gathered by domain ---- */

/* A device's use and memory, as read last. */
struct wtl_export_use {
	bool has_percent, has_memory;
	uint64_t percent, memory_bytes;
};

/* CPU time of the consumer in a slot. */
struct wtl_export_used {
	int pid;
	int64_t start_ns, cpu_ns;
	int64_t since_ns; /* since the line before; < 0: not known */
};

struct wtl_export_part {
	struct wattle_domain domain;
	bool is_there;
	uint64_t energy_uj, power_uw;
	struct wtl_export_use use, use_at_begin;
};

struct wtl_export_gathered {
	char name[64]; /* of the window */
	int64_t t_utc_ns, duration_ns;
	struct wtl_export_part *parts; /* one a domain */
	bool is_there, has_others;     /* has_others: one was written before */
	bool has_begun;		       /* the first power is of the time since begin_utc_ns */
	int64_t begin_utc_ns;
	bool is_begin;	/* the line that is written is the one of begin_utc_ns */
	bool is_billed; /* since the line before */
	struct wtl_export_use machine, machine_at_begin;
	int64_t use_utc_ns; /* when use was told last */
	struct wtl_export_used *used;
	size_t n_used;
	int64_t cpu_ns; /* of all of used */
};

/* 0 or -ENOMEM. */
int wtl_export_gather_new(struct wtl_export *export);
void wtl_export_gather_free(struct wtl_export *export);
/* "": it has no such text. */
const char *wtl_export_text(const struct wtl_node *row, const char *key);
/* The row's domain; NULL: it is the total's. */
struct wtl_export_part *wtl_export_part_of(struct wtl_export *export, const struct wtl_node *row);
/* A window's row; true: it was the last one of that window, whose parts are complete. The recording's own window counts
 * only where there is no other. */
bool wtl_export_gather_window(struct wtl_export *export, const struct wtl_node *row);
/* Millionths of a number; false: there is none. */
bool wtl_export_micro(const struct wtl_node *row, const char *key, uint64_t *ret);

#endif
