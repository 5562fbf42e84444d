/* SPDX-License-Identifier: MIT */
#ifndef WTL_COMMANDS_EXPORT_FORM_H
#define WTL_COMMANDS_EXPORT_FORM_H

#include "commands/export/export.h"

struct wtl_app;

/* Another tool's format, made from the rows of one or more tables as they come. See wtl_export_forms. */
struct wtl_export_form {
	const char *name;			  /* as --to takes it */
	const struct wtl_export_table *tables[4]; /* ended by NULL */
	/* Has the form a place for that domain? NULL: for all. */
	bool (*has_place)(const struct wattle_domain *domain);
	const char *places;			  /* the domains with a place; NULL as above */
	void (*begin)(struct wtl_export *export); /* NULL: nothing; as end */
	void (*row)(struct wtl_export *export, const struct wtl_node *row);
	void (*end)(struct wtl_export *export);
};

/* Complains of domains that the form has no place for. false: all have none. */
bool wtl_export_form_check(struct wtl_app *app, const struct wtl_export *export, const char *path);

extern const struct wtl_export_form wtl_export_influx, wtl_export_perfetto, wtl_export_prometheus,
	wtl_export_codecarbon, wtl_export_zeus, wtl_export_aipowermeter;

/* ---- Shared by forms: rows of a window or of a moment, gathered by domain ---- */

/* A device's use and memory, as last read. */
struct wtl_export_use {
	bool has_percent, has_memory;
	uint64_t percent, memory_bytes;
};

/* CPU time of a slot's consumer. */
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
	struct wtl_export_part *parts; /* one per domain */
	bool is_there, has_others;     /* has_others: a window was written before */
	bool has_begun;		       /* the first power is of the time since begin_utc_ns */
	int64_t begin_utc_ns;
	bool is_begin;	/* the line being written is that of begin_utc_ns */
	bool is_billed; /* since the line before */
	struct wtl_export_use machine, machine_at_begin;
	int64_t use_utc_ns; /* when use was last read */
	struct wtl_export_used *used;
	size_t n_used;
	int64_t cpu_ns; /* of all of used */
};

/* 0 or -ENOMEM. */
int wtl_export_gather_new(struct wtl_export *export);
void wtl_export_gather_free(struct wtl_export *export);
/* "" without such a text. */
const char *wtl_export_text(const struct wtl_node *row, const char *key);
/* The row's domain; NULL: the total. */
struct wtl_export_part *wtl_export_part_of(struct wtl_export *export, const struct wtl_node *row);
/* A window's row; true: it was the last one of that window, whose parts are complete. The recording's own window counts
 * only where there is no other. */
bool wtl_export_gather_window(struct wtl_export *export, const struct wtl_node *row);
/* A number in millionths; false: there is none. */
bool wtl_export_micro(const struct wtl_node *row, const char *key, uint64_t *ret);

#endif
