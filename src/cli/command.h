/* SPDX-License-Identifier: MIT */
#ifndef WTL_CLI_COMMAND_H
#define WTL_CLI_COMMAND_H

#include <argp.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "commands/limit/limit.h"
#include "commands/plot/plot.h"
#include "commands/query/query.h"
#include "commands/record/record.h"
#include "commands/top/top.h"
#include "wattle.h"
#include "workload/workload.h"

struct wtl_output_ops;

/* Exit codes (DESIGN 8). */
enum {
	WTL_EXIT_DONE = 0,
	WTL_EXIT_FAILED = 1,
	WTL_EXIT_USAGE = 2,
	WTL_EXIT_NO_SOURCE = 3,
	WTL_EXIT_WATTLE_FAILED = 125, /* run: wattle itself */
	WTL_EXIT_CANNOT_RUN = 126,
	WTL_EXIT_NOT_FOUND = 127,
};

/* What options that several commands share say. */
struct wtl_settings {
	const char *root, *tape, *tape_record, *nvml_path, *fault;
	int64_t interval_ns;
	bool jitter;
	unsigned max_windows; /* open at once in its meter; 0: a few */
	const struct wtl_output_ops *output;
	const char *output_path; /* NULL: standard output */
	bool append;
	bool no_color, ascii, quiet, verbose;
	const char *location;
	struct wattle_carbon carbon;
	uint32_t pue_milli; /* 0: not given */
	/* run */
	unsigned repeat, repeat_max;
	double until; /* 0: not given */
	/* who used it */
	bool no_processes;
	unsigned top;		/* processes to list */
	enum wtl_weight weight; /* of the use of processors */
	const char *idle_file;
	int64_t idle_first_ns; /* 0: not given */
	char **command;	       /* NULL: none */
	struct wtl_query_settings query;
	struct wtl_limit_settings limit;
	struct wtl_plot_settings plot;
	struct wtl_record_settings record;
	struct wtl_mark_settings mark;
	struct wtl_replay_settings replay;
	struct wtl_top_settings screen; /* top's own */
};

/* The signals as wattle found them at its start: the command shall find them the same. */
struct wtl_inherited {
	sigset_t blocked, ignored;
};

struct wtl_app {
	const struct wtl_command *command;
	struct wtl_inherited inherited;
	struct wtl_settings settings;
	bool complained; /* an error line is out already */
	int next_word;	 /* while options are parsed: the word that comes next */
	bool wants_help;
	bool helped; /* the help command has printed something */
};

/* A subcommand: one const struct in a file of its own. Help, man page and completion are made from
 * it. */
struct wtl_command {
	const char *name;
	const char *summary;	 /* one line, no full stop */
	const char *synopsis;	 /* after "wattle NAME" */
	const char *description; /* paragraphs divided by an empty line */
	const char *examples;	 /* "command\n    what it does" blocks divided by an empty line */
	const char *exit_status; /* lines "CODE  meaning" */
	const struct argp_option *options;	 /* its own */
	const struct argp_option *const *shared; /* its groups of options.h, ended by NULL */
	bool takes_command; /* the first word that is no option begins the user's command */
	int usage_exit; /* the exit code for bad usage: 2, or 125 where other codes are the command's */
	/* An option of its own, or key ARGP_KEY_ARG for a word. 0; ARGP_ERR_UNKNOWN; or another error
	 * after wtl_complain(). */
	int (*option)(struct wtl_app *app, int key, char *argument);
	int (*run)(struct wtl_app *app); /* returns the exit code */
};

extern const struct wtl_command wtl_command_run;
extern const struct wtl_command wtl_command_record;
extern const struct wtl_command wtl_command_mark;
extern const struct wtl_command wtl_command_report;
extern const struct wtl_command wtl_command_export;
extern const struct wtl_command wtl_command_doctor;
extern const struct wtl_command wtl_command_top;
extern const struct wtl_command wtl_command_query;
extern const struct wtl_command wtl_command_limit;
extern const struct wtl_command wtl_command_plot;
extern const struct wtl_command wtl_command_help;

/* All of them, ended by NULL. */
extern const struct wtl_command *const wtl_commands[];
const struct wtl_command *wtl_command_find(const char *name);

#endif
