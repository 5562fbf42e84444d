/* SPDX-License-Identifier: MIT */
#ifndef WTL_CLI_COMMAND_H
#define WTL_CLI_COMMAND_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "wattle.h"
#include "workload/workload.h"

struct wtl_buf;
struct wtl_left_out;
struct wtl_option;
struct wtl_writer;

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

/* The values of options that several commands share. */
struct wtl_settings {
	const char *root, *tape, *tape_record, *nvml_path, *gpus, *fault;
	int64_t interval_ns;
	bool jitter;
	unsigned max_windows; /* open at once in its meter; 0: a few */
	unsigned max_exited;  /* ended processes with an account of their own; 0: 4096 */
	const struct wtl_writer *output;
	const char *output_path; /* NULL: see wtl_sink_fd() */
	bool append;
	mode_t file_mode; /* of files that are made: see base/outfile.h */
	bool no_color, ascii, quiet, verbose, full;
	const char *location;
	struct wattle_carbon carbon;
	uint32_t pue_milli; /* 0: not given */
	bool no_processes;
	unsigned top;		/* processes to list */
	enum wtl_weight weight; /* of the use of processors */
	const char *idle_file;
	int64_t idle_first_ns;		/* 0: not given */
	unsigned repeat, repeat_max;	/* 0: not given */
	double until;			/* 0: not given */
	char **command;			/* NULL: none */
	const char *verb;		/* of the command's; NULL: none */
	bool lacks_input, hides_output; /* of the command: they are /dev/null */
};

/* The signals as wattle found them at its start: the command must find them the same. */
struct wtl_inherited {
	sigset_t blocked, ignored;
};

struct wtl_app {
	const struct wtl_command *const *commands; /* all of this build, ended by NULL */
	const struct wtl_left_out
		*left_out; /* those of other builds, ended by one without a name */
	const struct wtl_command *command;
	struct wtl_inherited inherited;
	struct wtl_settings settings;
	void *own;	      /* the command's own settings */
	uint64_t used;	      /* the options that were given: bits by wtl_option_at() */
	bool complained;      /* an error line is out already */
	struct wtl_buf *said; /* also gets complaints and remarks, a line each; NULL: not wanted */
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
	/* Options are rows of cli/option.h. */
	const struct wtl_option *options;	/* its own, ended by one without a name */
	const struct wtl_option *const *shared; /* its groups, ended by NULL */
	const struct wtl_option *word; /* for words that are no option; NULL: it takes none */
	size_t settings_size;	       /* of its own settings */
	const void *defaults;	       /* what they begin with; NULL: zeros */
	/* First words that begin no user's command, ended by NULL, or NULL: settings.verb, followed by `word`s. */
	const char *const *verbs;
	bool takes_command; /* the first word that is no option begins the user's command */
	bool skips_equals;  /* -i=0 is -i 0, as nvidia-smi has it */
	bool is_about_commands; /* the help command: its words are commands, and no page lists its own */
	bool measures; /* needs the file's capabilities until a meter is open; others drop them */
	int usage_exit; /* the exit code for bad usage: 2, or 125 where other codes are the command's */
	int (*run)(struct wtl_app *app); /* returns the exit code */
};

/*
 * Optional parts. Without one its files are not compiled, and HAVE_… is 0. A call into it stands behind
 * `if (HAVE_…)`, which the compiler drops. A command that is nothing without the part is left out.
 */
#define WTL_WITHOUT_RECORDINGS "built without recordings: SQLite or zstd was missing"
#define WTL_WITHOUT_PROFILER   "built without a profiler: elfutils' headers were missing"
#define WTL_WITHOUT_SERVER                                                                     \
	"built without a server: recordings, or headers of libmicrohttpd, GnuTLS, libyaml or " \
	"zlib were missing"
#define WTL_WITHOUT_TERMINAL "built without ncurses: only --once works"

struct wtl_left_out {
	const char *command, *reason;
};
#endif
