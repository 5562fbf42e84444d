/* SPDX-License-Identifier: MIT */
#ifndef WTL_COMMANDS_TOP_UI_H
#define WTL_COMMANDS_TOP_UI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/screen.h"
#include "commands/top/config.h"
#include "commands/top/filter.h"
#include "commands/top/play.h"
#include "commands/top/rows.h"
#include "commands/top/view.h"

/* What the user of `wattle top` is doing: keys and clicks become changes of state and wishes. Touches nothing
 * outside. */

enum wtl_top_mode {
	WTL_TOP_TABLE,
	WTL_TOP_HELP,
	WTL_TOP_SETUP,
	WTL_TOP_SORT,
	WTL_TOP_GROUP,
	WTL_TOP_FILTER,	 /* typing */
	WTL_TOP_SEARCH,	 /* typing */
	WTL_TOP_SIGNAL,	 /* which signal? */
	WTL_TOP_CONFIRM, /* really? */
	WTL_TOP_DETAILS,
};

/* What the caller has to do. */
enum wtl_top_wish {
	WTL_TOP_WISH_NOTHING,
	WTL_TOP_WISH_QUIT,
	WTL_TOP_WISH_SAVE,   /* the configuration */
	WTL_TOP_WISH_SIGNAL, /* ui->victim */
	WTL_TOP_WISH_REDRAW, /* the whole screen anew */
	WTL_TOP_WISH_PLAY,   /* ui->order */
};

/* Where the picture's parts are: set by wtl_top_draw(), for the mouse. */
struct wtl_top_places {
	int header_row, first_row, n_rows; /* of the table; -1 and 0: it is not there */
	struct {
		int from, to;
		enum wtl_field field;
	} columns[WTL_FIELDS];
	int n_columns;
	int keys_row;
	struct {
		int from, to;
		enum wtl_key key;
	} keys[10];
	int n_keys;
	int list_row, list_n;		  /* of an open list: the row of its first entry shown */
	int play_row, play_from, play_to; /* the bar that says where a recording stands; -1 */
};

struct wtl_top_victim {
	int pid, signal;
	int64_t start_ns;
	char name[64];
};

struct wtl_top_ui {
	struct wtl_top_config config;
	struct wtl_filter filter;
	struct wtl_top_toggled toggled;
	enum wtl_top_mode mode;
	const char *no_kill_why; /* a whole sentence, static; NULL: signals may be sent */
	bool no_color, ascii;	 /* whatever the configuration says */
	bool is_paused, follows;
	bool is_replay; /* a recording is played, as: */
	struct wtl_play play;
	struct wtl_play_order order;

	int selected;	       /* row of the table */
	uint64_t selected_key; /* 0: none */
	bool is_chosen;	       /* by the user: the cursor stays on that process, not on its row */
	int first;	       /* row that is at the table's top */
	int shift;	       /* columns that the command is moved to the left */

	char edit[WTL_FILTER_MAX + 1]; /* what is being typed, UTF-8 */
	size_t cursor;
	struct wtl_filter_error edit_error; /* text "": it is good */
	char search[64];
	int sought; /* nothing was found this way, 1 or -1: for a moment, new rows are searched, too; 0 */

	int entry, first_entry; /* of the open list */
	uint64_t details_key;
	uint64_t
		kill_key; /* signals are wanted for it as soon as its start is known; 0: for none */
	struct wtl_top_victim victim;

	char message[160];
	int64_t message_until_ns;
	struct wtl_top_places places;
};

void wtl_top_ui_init(struct wtl_top_ui *ui);
void wtl_top_ui_done(struct wtl_top_ui *ui);

/* The rows are new: keeps the selection on its process (when it was chosen or is followed), else on its
 * line; opens the signals for a process whose start had to be waited for, and goes to one that was sought. */
void wtl_top_ui_settle(struct wtl_top_ui *ui, const struct wtl_top_view *view,
		       const struct wtl_top_rows *rows, int64_t now_ns);

/* Whether PSS or USS matters for what is shown: reading them is dear. */
bool wtl_top_ui_wants_walks(const struct wtl_top_ui *ui);

enum wtl_top_wish wtl_top_ui_input(struct wtl_top_ui *ui, const struct wtl_top_view *view,
				   const struct wtl_top_rows *rows, const struct wtl_input *input,
				   int64_t now_ns);

/* A line for the user, for some seconds. */
void wtl_top_ui_say(struct wtl_top_ui *ui, int64_t now_ns, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* ---- Lists: help, set-up, sort, group, signals, details ---- */

enum { WTL_TOP_LINE_MAX = 128 };

/* How many entries the open list has; 0 where no list is open. */
int wtl_top_list_n(const struct wtl_top_ui *ui);
/* What is to be read in one. */
void wtl_top_list_text(const struct wtl_top_ui *ui, int entry, char text[WTL_TOP_LINE_MAX]);
const char *wtl_top_list_title(const struct wtl_top_ui *ui);
/* Whether an entry can be chosen (help is only read). */
bool wtl_top_list_is_choice(const struct wtl_top_ui *ui);
/* Enter or a click on an entry. */
void wtl_top_list_choose(struct wtl_top_ui *ui, int entry);
void wtl_top_list_open(struct wtl_top_ui *ui, enum wtl_top_mode mode);

/* "SIGTERM". */
const char *wtl_top_signal_name(int signal);

#endif
