/* SPDX-License-Identifier: MIT */
#ifndef WTL_CLI_OPTION_H
#define WTL_CLI_OPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "cli/command.h"

/* The kinds of values, and the types they are kept in. */
enum wtl_option_kind {
	WTL_OPTION_FLAG,     /* bool: there is no value */
	WTL_OPTION_NUMBER,   /* an integer of 4 or 8 bytes, from least to most */
	WTL_OPTION_DURATION, /* int64_t, nanoseconds from least to most */
	WTL_OPTION_TEXT,     /* const char *: anything */
	WTL_OPTION_PATH,     /* const char *: not empty */
	WTL_OPTION_OUTPUT,   /* the same; NULL for "-", which is standard output */
	WTL_OPTION_WORD,     /* an enum: the place in words */
	WTL_OPTION_WHEN,     /* struct wtl_when */
	WTL_OPTION_LIST,     /* struct wtl_option_list: one more */
	WTL_OPTION_OWN,	     /* set() keeps it */
	WTL_OPTION_HELP,     /* is_rare: with all options */
};

/* The files that a command writes, two of which must not be one. */
enum wtl_option_file {
	WTL_FILE_NONE,
	WTL_FILE_OUTPUT,
	WTL_FILE_RECORDING,
	WTL_FILE_TAPE,
	WTL_FILE_IDLE,
	WTL_FILE_PROFILE,
	WTL_FILES
};

/* An option: its help, and where its value goes. Help, man page,
 * completion and parsing are made from this. Texts are borrowed. */
struct wtl_option {
	const char *name;
	char letter;	   /* 0: none */
	const char *value; /* what the help calls its value; NULL: it takes none */
	const char *text;  /* for the help, no full stop */
	enum wtl_option_kind kind;
	bool is_rare;	/* only in --help-all */
	bool is_shared; /* it is kept in the app's settings, not in the command's own */
	size_t offset, size;
	int64_t least, most;
	bool is_ms;		  /* a duration without unit is milliseconds, not seconds */
	const char *const *words; /* those it takes, ended by NULL */
	/* Where there are no such words: appends what it may be for completion, a blank before each. */
	void (*offer)(const struct wtl_option *option, struct wtl_buf *words);
	bool is_list;	   /* several of those words, with commas between */
	const char *what;  /* a path: of what, such as "a file" */
	const char *takes; /* for errors, where neither kind nor words say it; what a list is of */
	enum wtl_option_file file;
	/* 0; EINVAL after wtl_complain(); or negative: the option does not take that. Of a word that is no
	 * option, negative means one word too many. */
	int (*set)(struct wtl_app *app, const struct wtl_option *option, const char *text);
	const void *data; /* for set() */
};

/* Where a value goes: a field of the command's own settings, or of those that commands share. */
#define WTL_OWN(type, field) .offset = offsetof(type, field), .size = sizeof(((type *)NULL)->field)
#define WTL_SHARED(field)    .is_shared = true, WTL_OWN(struct wtl_settings, field)

/* The help of --from and --to, for commands that read recordings. */
#define WTL_FROM_TEXT                                                             \
	"Only from then on: a time such as '2026-11-21 14:00' or 14:00 (local), " \
	"2026-11-21T14:00Z, or one since the start such as +90 or +1h30m"
#define WTL_TO_TEXT "Only up to then; who used it is exact to a second"

/* The most consumers that can be listed. */
enum { WTL_TOP_MAX = 65536 };

/* The most runs of a command; the most for --until, unless --max-repeat says otherwise. */
enum { WTL_RUNS_MAX = 1000, WTL_UNTIL_RUNS_MIN = 3, WTL_UNTIL_RUNS_MAX = 100 };

/* The words of a list of words, as they were typed. */
enum { WTL_OPTION_LIST_MAX = 256 };

struct wtl_option_list {
	const char *words[WTL_OPTION_LIST_MAX];
	size_t n;
};

/* Groups that several commands have, each ended by one without a name. */
extern const struct wtl_option wtl_options_mode[];	 /* --mode, which the machine's have, too */
extern const struct wtl_option wtl_options_machine[];	 /* --root, --tape, … */
extern const struct wtl_option wtl_options_interval[];	 /* --interval */
extern const struct wtl_option wtl_options_gpus[];	 /* --gpus */
extern const struct wtl_option wtl_options_jitter[];	 /* --jitter */
extern const struct wtl_option wtl_options_format[];	 /* --format */
extern const struct wtl_option wtl_options_format_all[]; /* the same with Markdown */
extern const struct wtl_option wtl_options_output[];	 /* -o, --append */
extern const struct wtl_option wtl_options_terminal[];	 /* --no-color, --ascii */
extern const struct wtl_option wtl_options_carbon[];	 /* --location, --pue */
extern const struct wtl_option wtl_options_consumers[];	 /* --no-processes, --idle-file, --weight */
extern const struct wtl_option wtl_options_idle_file[];	 /* --idle-file alone */
extern const struct wtl_option wtl_options_idle_first[]; /* --idle-first */
extern const struct wtl_option wtl_options_repeat[];	 /* --repeat, --until, --max-repeat */
extern const struct wtl_option wtl_options_general[];	 /* --quiet, --verbose, --help */

/* Without --format: by the suffix of --output's FILE (.md: markdown), else text. */
void wtl_option_default_format(struct wtl_app *app);
/* Whether those of wtl_options_repeat fit together. 0, or EINVAL after wtl_complain(). */
int wtl_option_check_repeat(struct wtl_app *app);

/* The i-th option of a command: its own come first, then those of its groups. NULL: it has no more. */
const struct wtl_option *wtl_option_at(const struct wtl_command *command, size_t i);
/* What its value is kept in. */
void *wtl_option_target(struct wtl_app *app, const struct wtl_option *option);

#endif
