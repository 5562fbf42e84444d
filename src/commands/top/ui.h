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

/* The state of `wattle top`'s user interface: keys and clicks
 * become changes of state and wishes. Has no side effects. */

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

/* What the caller is to do. */
enum wtl_top_wish {
	WTL_TOP_WISH_NOTHING,
	WTL_TOP_WISH_QUIT,
	WTL_TOP_WISH_SAVE,   /* the configuration */
	WTL_TOP_WISH_SIGNAL, /* ui->victim */
	WTL_TOP_WISH_REDRAW, /* the whole screen anew */
	WTL_TOP_WISH_PLAY,   /* ui->order */
};

/* The places of the picture's parts: set by wtl_top_draw(), for the mouse. */
struct wtl_top_places {
	int header_row, first_row, n_rows; /* of the table; -1 and 0: not shown */
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
	int play_row, play_from, play_to; /* the bar with a recording's position; -1: not shown */
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
	const char *no_kill_why; /* a sentence, static; NULL: signals may be sent */
	bool no_color, ascii;	 /* override the configuration */
	bool is_paused, follows;
	bool is_replay; /* a recording is played, with this state: */
	struct wtl_play play;
	struct wtl_play_order order;

	int selected;	       /* row of the table */
	uint64_t selected_key; /* 0: none */
	bool is_chosen;	       /* by the user: the cursor follows that process, not its row */
	int first;	       /* at the table's top */
	int shift;	       /* columns that the command is scrolled */

	char edit[WTL_FILTER_MAX + 1]; /* text being typed, UTF-8 */
	size_t cursor;
	struct wtl_filter_error edit_error; /* text "": no error */
	char search[64];
	int sought; /* direction, 1 or -1, in which new rows are searched for a moment; 0 */

	int entry, first_entry; /* of the open list */
	uint64_t details_key;
	uint64_t kill_key; /* opens the signals once that process's start is known; 0: none */
	struct wtl_top_victim victim;

	char message[160];
	int64_t message_until_ns;
	struct wtl_top_places places;
};

void wtl_top_ui_init(struct wtl_top_ui *ui);
void wtl_top_ui_done(struct wtl_top_ui *ui);

/* After new rows: keeps the selection on its process (if chosen or followed), else on its row; opens the signals for
 * a process whose start was awaited, and goes on with a search. */
void wtl_top_ui_settle(struct wtl_top_ui *ui, const struct wtl_top_view *view,
		       const struct wtl_top_rows *rows, int64_t now_ns);

/* Are PSS or USS shown, sorted by, or in the filter? Reading them is slow. */
bool wtl_top_ui_wants_walks(const struct wtl_top_ui *ui);

enum wtl_top_wish wtl_top_ui_input(struct wtl_top_ui *ui, const struct wtl_top_view *view,
				   const struct wtl_top_rows *rows, const struct wtl_input *input,
				   int64_t now_ns);

/* Shows a message for some seconds. */
void wtl_top_ui_say(struct wtl_top_ui *ui, int64_t now_ns, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* ---- Lists: help, set-up, sort, group, signals, details ---- */

enum { WTL_TOP_LINE_MAX = 128 };

/* The number of entries of the open list; 0: none is open. */
int wtl_top_list_n(const struct wtl_top_ui *ui);
/* An entry's text. */
void wtl_top_list_text(const struct wtl_top_ui *ui, int entry, char text[WTL_TOP_LINE_MAX]);
const char *wtl_top_list_title(const struct wtl_top_ui *ui);
/* Can an entry be chosen? (Help is for reading.) */
bool wtl_top_list_is_choice(const struct wtl_top_ui *ui);
/* Chooses an entry. */
void wtl_top_list_choose(struct wtl_top_ui *ui, int entry);
void wtl_top_list_open(struct wtl_top_ui *ui, enum wtl_top_mode mode);

/* "SIGTERM". */
const char *wtl_top_signal_name(int signal);

#endif
