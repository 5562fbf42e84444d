/* SPDX-License-Identifier: MIT */
#include "commands/top/ui.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "document/format.h"

enum { MESSAGE_S = 2, SEEK_S = 5, WHEEL_ROWS = 3, SHIFT = 8 };

void wtl_top_ui_init(struct wtl_top_ui *ui)
{
	memset(ui, 0, sizeof(*ui));
	wtl_top_config_init(&ui->config);
	ui->filter.root = -1;
	ui->places.header_row = -1;
	ui->places.keys_row = -1;
	ui->places.play_row = -1;
}

void wtl_top_ui_done(struct wtl_top_ui *ui)
{
	wtl_top_config_done(&ui->config);
}

void wtl_top_ui_say(struct wtl_top_ui *ui, int64_t now_ns, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(ui->message, sizeof(ui->message), format, args);
	va_end(args);
	ui->message_until_ns = now_ns + MESSAGE_S * INT64_C(1000000000);
}

static int limit(int value, int least, int most)
{
	return value > most ? (most < least ? least : most) : value < least ? least : value;
}

/* Moves the cursor to a row, and scrolls to it. */
static void select_row(struct wtl_top_ui *ui, const struct wtl_top_rows *rows, int row)
{
	int visible = ui->places.n_rows > 0 ? ui->places.n_rows : 1;

	ui->selected = limit(row, 0, (int)rows->n - 1);
	ui->selected_key = rows->n > 0 ? rows->rows[ui->selected].key : 0;
	ui->first = limit(ui->first, ui->selected - visible + 1, ui->selected);
	ui->first = limit(ui->first, 0, (int)rows->n - visible);
}

/* For choices by the user: the cursor stays with the process when rows change. */
static void choose_row(struct wtl_top_ui *ui, const struct wtl_top_rows *rows, int row)
{
	select_row(ui, rows, row);
	ui->is_chosen = true;
}

/* The row with that key, also if it is the key from before the process's start was known; -1. */
static int find_row(const struct wtl_top_view *view, const struct wtl_top_rows *rows, uint64_t *key)
{
	int at = *key ? wtl_top_rows_find(rows, *key) : -1;

	if (*key && at < 0) {
		*key = wtl_top_key_now(view, *key);
		at = wtl_top_rows_find(rows, *key);
	}
	return at;
}

static const struct wtl_top_row *selected_row(const struct wtl_top_ui *ui,
					      const struct wtl_top_rows *rows)
{
	if (ui->selected < 0 || (size_t)ui->selected >= rows->n)
		return NULL;
	return &rows->rows[ui->selected];
}

static const struct wtl_top_process *selected_process(const struct wtl_top_ui *ui,
						      const struct wtl_top_view *view,
						      const struct wtl_top_rows *rows)
{
	const struct wtl_top_row *row = selected_row(ui, rows);

	return row && row->process >= 0 ? &view->processes[row->process] : NULL;
}

/* Input, and what it may refer to. */
struct turn {
	struct wtl_top_ui *ui;
	const struct wtl_top_view *view;
	const struct wtl_top_rows *rows;
	int64_t now_ns;
};

/* ---- Typing a filter or a search ---- */

static void check_filter(struct wtl_top_ui *ui)
{
	struct wtl_filter filter;

	ui->edit_error.text[0] = '\0';
	if (ui->mode == WTL_TOP_FILTER)
		wtl_filter_parse(&filter, ui->edit, &ui->edit_error);
}

static void start_typing(struct wtl_top_ui *ui, enum wtl_top_mode mode)
{
	ui->mode = mode;
	wtl_text_copy(ui->edit, sizeof(ui->edit),
		      mode == WTL_TOP_FILTER ? ui->filter.text : ui->search);
	ui->cursor = strlen(ui->edit);
	check_filter(ui);
}

/* The start of the character before a place, and the end of the one at it. */
static size_t point_before(const char *text, size_t at)
{
	size_t before = 0;

	for (size_t next = 0; next < at; next = (size_t)(wtl_text_next(text + next) - text))
		before = next;
	return before;
}

static size_t point_after(const char *text, size_t at)
{
	return (size_t)(wtl_text_next(text + at) - text);
}

static void erase(struct wtl_top_ui *ui, size_t from, size_t to)
{
	memmove(ui->edit + from, ui->edit + to, strlen(ui->edit + to) + 1);
	ui->cursor = from;
}

static void insert(struct wtl_top_ui *ui, uint32_t point)
{
	size_t len = strlen(ui->edit);
	struct wtl_buf bytes;

	wtl_buf_init(&bytes, 8);
	if (point >= 0x20 && point != 0x7f && !(point >= 0x80 && point < 0xa0) &&
	    wtl_point_add(&bytes, point) == 0 && len + bytes.len < sizeof(ui->edit)) {
		memmove(ui->edit + ui->cursor + bytes.len, ui->edit + ui->cursor,
			len - ui->cursor + 1);
		memcpy(ui->edit + ui->cursor, bytes.data, bytes.len);
		ui->cursor += bytes.len;
	}
	wtl_buf_done(&bytes);
}

/* Finds the next row with the search text, from row `from` on, by `step`. */
static bool find_text(const struct turn *turn, int from, int step)
{
	struct wtl_top_ui *ui = turn->ui;
	int n = (int)turn->rows->n;
	size_t len = strlen(ui->search);

	for (int i = 0; i < n; i++) {
		int at = ((from + i * step) % n + n) % n;
		const struct wtl_top_row *row = &turn->rows->rows[at];

		if (wtl_filter_search(wtl_top_row_process(turn->rows, turn->view, row), ui->search,
				      len)) {
			choose_row(ui, turn->rows, at);
			return true;
		}
	}
	return false;
}

/* If not found, rows are searched again for a moment: names may be read later than processes are seen. */
static void search(const struct turn *turn, int from, int step)
{
	struct wtl_top_ui *ui = turn->ui;

	if (!ui->search[0] || find_text(turn, from, step))
		return;
	wtl_top_ui_say(ui, turn->now_ns, "'%s' is in none of these rows", ui->search);
	ui->message_until_ns = turn->now_ns + SEEK_S * INT64_C(1000000000);
	ui->sought = step;
}

static void go_on_to_search(const struct turn *turn)
{
	struct wtl_top_ui *ui = turn->ui;

	if (turn->now_ns >= ui->message_until_ns)
		ui->sought = 0;
	else if (find_text(turn, ui->selected, ui->sought)) {
		ui->sought = 0;
		ui->message_until_ns = turn->now_ns;
	}
}

static void finish_typing(const struct turn *turn)
{
	struct wtl_top_ui *ui = turn->ui;

	if (ui->mode == WTL_TOP_SEARCH) {
		ui->mode = WTL_TOP_TABLE;
		wtl_text_copy(ui->search, sizeof(ui->search), ui->edit);
		search(turn, ui->selected, 1);
		return;
	}
	if (wtl_filter_parse(&ui->filter, ui->edit, &ui->edit_error) < 0)
		return;
	ui->mode = WTL_TOP_TABLE;
}

static void edit_key(const struct turn *turn, enum wtl_key key)
{
	struct wtl_top_ui *ui = turn->ui;

	if (key == WTL_KEY_ENTER)
		finish_typing(turn);
	else if (key == WTL_KEY_ESCAPE)
		ui->mode = WTL_TOP_TABLE;
	else if (key == WTL_KEY_LEFT)
		ui->cursor = point_before(ui->edit, ui->cursor);
	else if (key == WTL_KEY_RIGHT)
		ui->cursor = point_after(ui->edit, ui->cursor);
	else if (key == WTL_KEY_HOME)
		ui->cursor = 0;
	else if (key == WTL_KEY_END)
		ui->cursor = strlen(ui->edit);
	else if (key == WTL_KEY_BACKSPACE)
		erase(ui, point_before(ui->edit, ui->cursor), ui->cursor);
	else if (key == WTL_KEY_DELETE)
		erase(ui, ui->cursor, point_after(ui->edit, ui->cursor));
}

static void edit_input(const struct turn *turn, const struct wtl_input *input)
{
	struct wtl_top_ui *ui = turn->ui;

	if (input->kind == WTL_INPUT_KEY)
		edit_key(turn, input->key);
	else if (input->kind == WTL_INPUT_POINT && input->point == 'U' - '@') /* Ctrl-U */
		erase(ui, 0, ui->cursor);
	else if (input->kind == WTL_INPUT_POINT)
		insert(ui, input->point);
	if (ui->mode != WTL_TOP_TABLE)
		check_filter(ui);
}

/* ---- Lists ---- */

static void move_entry(struct wtl_top_ui *ui, int to)
{
	int visible = ui->places.list_n > 0 ? ui->places.list_n : 1, n = wtl_top_list_n(ui);

	ui->entry = limit(to, 0, n - 1);
	if (!wtl_top_list_is_choice(ui)) {
		/* A text to read: the page moves. */
		ui->entry = limit(to, 0, n - visible);
		ui->first_entry = ui->entry;
		return;
	}
	ui->first_entry = limit(ui->first_entry, ui->entry - visible + 1, ui->entry);
}

static enum wtl_top_wish leave_list(struct wtl_top_ui *ui)
{
	bool save = ui->mode == WTL_TOP_SETUP;

	ui->mode = WTL_TOP_TABLE;
	return save ? WTL_TOP_WISH_SAVE : WTL_TOP_WISH_NOTHING;
}

/* Moves within n entries by keys and the wheel. false: the input is not for moving. */
static bool moves(const struct wtl_input *input, int visible, int n, int *at)
{
	int page = visible > 1 ? visible - 1 : 1;

	if (input->kind == WTL_INPUT_WHEEL_UP || input->kind == WTL_INPUT_WHEEL_DOWN)
		*at += input->kind == WTL_INPUT_WHEEL_UP ? -WHEEL_ROWS : WHEEL_ROWS;
	else if (input->kind != WTL_INPUT_KEY)
		return false;
	else if (input->key == WTL_KEY_UP || input->key == WTL_KEY_DOWN)
		*at += input->key == WTL_KEY_UP ? -1 : 1;
	else if (input->key == WTL_KEY_PAGE_UP || input->key == WTL_KEY_PAGE_DOWN)
		*at += input->key == WTL_KEY_PAGE_UP ? -page : page;
	else if (input->key == WTL_KEY_HOME || input->key == WTL_KEY_END)
		*at = input->key == WTL_KEY_HOME ? 0 : n - 1;
	else
		return false;
	return true;
}

/* The entry chosen by Enter, a click, or the space bar; -1: none. */
static int chosen_entry(const struct wtl_top_ui *ui, const struct wtl_input *input)
{
	int clicked = input->row - ui->places.list_row;

	if (input->kind == WTL_INPUT_CLICK || input->kind == WTL_INPUT_DOUBLE_CLICK)
		return clicked >= 0 && clicked < ui->places.list_n ? ui->first_entry + clicked : -1;
	if ((input->kind == WTL_INPUT_KEY && input->key == WTL_KEY_ENTER) ||
	    (input->kind == WTL_INPUT_POINT && input->point == ' ' && wtl_top_list_is_choice(ui)))
		return ui->entry;
	return -1;
}

static enum wtl_top_wish list_input(struct wtl_top_ui *ui, const struct wtl_input *input)
{
	uint32_t point = input->kind == WTL_INPUT_POINT ? input->point : 0;
	int at = ui->entry, chosen = chosen_entry(ui, input);

	if (input->kind == WTL_INPUT_NONE)
		return WTL_TOP_WISH_NOTHING;
	if (chosen >= 0)
		wtl_top_list_choose(ui, chosen);
	else if (point == 'j' || point == 'k')
		move_entry(ui, at + (point == 'j' ? 1 : -1));
	else if (moves(input, ui->places.list_n, wtl_top_list_n(ui), &at))
		move_entry(ui, at);
	else
		return leave_list(ui);
	return WTL_TOP_WISH_NOTHING;
}

/* ---- The table ---- */

static void start_kill(const struct turn *turn)
{
	struct wtl_top_ui *ui = turn->ui;
	const struct wtl_top_process *process = selected_process(ui, turn->view, turn->rows);

	if (ui->no_kill_why) {
		wtl_top_ui_say(ui, turn->now_ns, "%s", ui->no_kill_why);
		return;
	}
	if (!process || process->consumer.state != WTL_CONSUMER_LIVE) {
		wtl_top_ui_say(ui, turn->now_ns, "Choose a process that runs");
		return;
	}
	/* From another PID namespace: its number may be another process's here. */
	if (process->consumer.start_ns == 0 && !wtl_process_has_cpu(process)) {
		wtl_top_ui_say(ui, turn->now_ns, "%s",
			       "It is in another PID namespace: no signal reaches it");
		return;
	}
	if (process->consumer.start_ns == 0) {
		ui->kill_key = wtl_top_process_key(process);
		wtl_top_ui_say(
			ui, turn->now_ns,
			"Waiting until it is known when this process started (any key: no longer)");
		return;
	}
	ui->victim = (struct wtl_top_victim){.pid = process->consumer.pid,
					     .start_ns = process->consumer.start_ns};
	wtl_text_copy(ui->victim.name, sizeof(ui->victim.name), wtl_process_title(process));
	wtl_top_list_open(ui, WTL_TOP_SIGNAL);
}

/* Continues when the start may be known. */
static void go_on_to_kill(const struct turn *turn)
{
	struct wtl_top_ui *ui = turn->ui;
	int at = find_row(turn->view, turn->rows, &ui->kill_key);

	ui->kill_key = 0;
	ui->message_until_ns = turn->now_ns;
	if (at < 0)
		return;
	choose_row(ui, turn->rows, at);
	start_kill(turn);
}

void wtl_top_ui_settle(struct wtl_top_ui *ui, const struct wtl_top_view *view,
		       const struct wtl_top_rows *rows, int64_t now_ns)
{
	const struct turn turn = {.ui = ui, .view = view, .rows = rows, .now_ns = now_ns};
	bool stays = (ui->is_chosen || ui->follows) && ui->selected_key;
	int at = stays ? find_row(view, rows, &ui->selected_key) : -1;

	/* Another process in that row is not chosen. */
	ui->is_chosen &= at >= 0;
	select_row(ui, rows, at >= 0 ? at : ui->selected);
	if (ui->mode == WTL_TOP_DETAILS)
		find_row(view, rows, &ui->details_key);
	if (ui->kill_key)
		go_on_to_kill(&turn);
	if (ui->sought)
		go_on_to_search(&turn);
}

bool wtl_top_ui_wants_walks(const struct wtl_top_ui *ui)
{
	static const enum wtl_field walked[] = {WTL_FIELD_PSS, WTL_FIELD_USS};

	for (size_t i = 0; i < sizeof(walked) / sizeof(walked[0]); i++)
		if (ui->config.columns[walked[i]] || ui->config.sort == walked[i] ||
		    wtl_filter_asks_for(&ui->filter, walked[i]))
			return true;
	return ui->mode == WTL_TOP_DETAILS;
}

static void toggle(const struct turn *turn)
{
	const struct wtl_top_row *row = selected_row(turn->ui, turn->rows);

	if (row && row->has_children)
		wtl_top_toggle(&turn->ui->toggled, row->key);
}

static void show_details(const struct turn *turn)
{
	const struct wtl_top_row *row = selected_row(turn->ui, turn->rows);

	if (row && row->process < 0) {
		toggle(turn);
	} else if (row) {
		turn->ui->mode = WTL_TOP_DETAILS;
		turn->ui->details_key = row->key;
	}
}

static void sort_by(struct wtl_top_ui *ui, enum wtl_field field)
{
	ui->config.set[WTL_SET_ASCENDING] =
		ui->config.sort == field && !ui->config.set[WTL_SET_ASCENDING];
	ui->config.sort = field;
}

/* Shows only the selected process's user, or everybody again. */
static void filter_user(const struct turn *turn)
{
	struct wtl_top_ui *ui = turn->ui;
	const struct wtl_top_process *process = selected_process(ui, turn->view, turn->rows);
	struct wtl_filter_error error;
	char text[64] = "";

	if (!ui->filter.text[0] && process && process->user[0])
		snprintf(text, sizeof(text), "user == \"%s\"", process->user);
	wtl_filter_parse(&ui->filter, text, &error);
}

static void say_yes_no(const struct turn *turn, const char *about, bool yes)
{
	wtl_top_ui_say(turn->ui, turn->now_ns, "%s: %s", about, yes ? "yes" : "no");
}

static void stand_still(const struct turn *turn)
{
	turn->ui->is_paused = !turn->ui->is_paused;
	say_yes_no(turn, "The picture stands still", turn->ui->is_paused);
}

static void follow(const struct turn *turn)
{
	turn->ui->follows = !turn->ui->follows;
	say_yes_no(turn, "Following this process", turn->ui->follows);
}

enum action {
	OPEN,
	TYPE,
	NEXT, /* the setting's next value */
	SORT,
	WINDOW,
	SHIFT_COMMANDS,
	SEARCH_ON,
	CALL, /* the binding's function */
	WISH,
};

/* The table's keys and letters. */
static const struct binding {
	enum wtl_key key;
	const char *letters;
	enum action action;
	int argument;
	void (*call)(const struct turn *turn);
} bindings[] = {
	{WTL_KEY_F1, "h?", OPEN, WTL_TOP_HELP, NULL},
	{WTL_KEY_F2, "S", OPEN, WTL_TOP_SETUP, NULL},
	{WTL_KEY_F3, "/", TYPE, WTL_TOP_SEARCH, NULL},
	{WTL_KEY_F4, "\\", TYPE, WTL_TOP_FILTER, NULL},
	{WTL_KEY_F5, "t", NEXT, WTL_SET_TREE, NULL},
	{WTL_KEY_F6, "><.,", OPEN, WTL_TOP_SORT, NULL},
	{WTL_KEY_F7, "g", OPEN, WTL_TOP_GROUP, NULL},
	{WTL_KEY_F8, "", NEXT, WTL_SET_WINDOW, NULL},
	{WTL_KEY_F9, "k", CALL, 0, start_kill},
	{WTL_KEY_F10, "q\003", WISH, WTL_TOP_WISH_QUIT, NULL}, /* Ctrl-C */
	{WTL_KEY_ENTER, "", CALL, 0, show_details},
	{WTL_KEY_LEFT, "", SHIFT_COMMANDS, -SHIFT, NULL},
	{WTL_KEY_RIGHT, "", SHIFT_COMMANDS, SHIFT, NULL},
	{WTL_KEY_NONE, " +-", CALL, 0, toggle},
	{WTL_KEY_NONE, "u", CALL, 0, filter_user},
	{WTL_KEY_NONE, "n", SEARCH_ON, 1, NULL},
	{WTL_KEY_NONE, "B", SEARCH_ON, -1, NULL},
	{WTL_KEY_NONE, "F", CALL, 0, follow},
	{WTL_KEY_NONE, "W", SORT, WTL_FIELD_POWER, NULL},
	{WTL_KEY_NONE, "C", SORT, WTL_FIELD_CPU_POWER, NULL},
	{WTL_KEY_NONE, "G", SORT, WTL_FIELD_GPU_POWER, NULL},
	{WTL_KEY_NONE, "E", SORT, WTL_FIELD_ENERGY, NULL},
	{WTL_KEY_NONE, "P", SORT, WTL_FIELD_CPU, NULL},
	{WTL_KEY_NONE, "M", SORT, WTL_FIELD_MEMORY, NULL},
	{WTL_KEY_NONE, "T", SORT, WTL_FIELD_TIME, NULL},
	{WTL_KEY_NONE, "N", SORT, WTL_FIELD_PID, NULL},
	{WTL_KEY_NONE, "I", NEXT, WTL_SET_ASCENDING, NULL},
	{WTL_KEY_NONE, "d", NEXT, WTL_SET_FULL, NULL},
	{WTL_KEY_NONE, "a", NEXT, WTL_SET_PARTS, NULL},
	{WTL_KEY_NONE, "x", NEXT, WTL_SET_EXITED, NULL},
	{WTL_KEY_NONE, "K", NEXT, WTL_SET_KERNEL, NULL},
	{WTL_KEY_NONE, "i", NEXT, WTL_SET_IDLE, NULL},
	{WTL_KEY_NONE, "p", NEXT, WTL_SET_PATHS, NULL},
	{WTL_KEY_NONE, "v", NEXT, WTL_SET_GRAPH, NULL},
	{WTL_KEY_NONE, "]", WINDOW, 1, NULL},
	{WTL_KEY_NONE, "[", WINDOW, -1, NULL},
	{WTL_KEY_NONE, "Z", CALL, 0, stand_still},
	{WTL_KEY_NONE, "\014", WISH, WTL_TOP_WISH_REDRAW, NULL}, /* Ctrl-L */
};

static void act(const struct turn *turn, const struct binding *binding)
{
	struct wtl_top_ui *ui = turn->ui;
	struct wtl_top_config *config = &ui->config;
	unsigned *window = &config->set[WTL_SET_WINDOW];
	int argument = binding->argument;

	switch (binding->action) {
	case OPEN:
		wtl_top_list_open(ui, (enum wtl_top_mode)argument);
		break;
	case TYPE:
		start_typing(ui, (enum wtl_top_mode)argument);
		break;
	case NEXT:
		wtl_setting_next(config, (enum wtl_setting)argument);
		/* Other settings are visible themselves. */
		if (argument < WTL_SET_GRAPH)
			say_yes_no(turn, wtl_setting_info((enum wtl_setting)argument)->about,
				   config->set[argument]);
		break;
	case SORT:
		config->set[WTL_SET_ASCENDING] = false;
		config->sort = (enum wtl_field)argument;
		break;
	case WINDOW:
		*window = (unsigned)limit((int)*window + argument, 0, WTL_TOP_WINDOWS - 1);
		break;
	case SHIFT_COMMANDS:
		ui->shift = limit(ui->shift + argument, 0, 256);
		break;
	case SEARCH_ON:
		search(turn, ui->selected + argument, argument);
		break;
	case CALL:
		binding->call(turn);
		break;
	case WISH:
		break;
	}
}

static enum wtl_top_wish press(const struct turn *turn, enum wtl_key key, uint32_t point)
{
	for (size_t i = 0; i < sizeof(bindings) / sizeof(bindings[0]); i++) {
		const struct binding *binding = &bindings[i];

		if ((key == WTL_KEY_NONE || key != binding->key) &&
		    (point == 0 || point >= 0x80 || !strchr(binding->letters, (int)point)))
			continue;
		act(turn, binding);
		return binding->action == WISH ? (enum wtl_top_wish)binding->argument
					       : WTL_TOP_WISH_NOTHING;
	}
	return WTL_TOP_WISH_NOTHING;
}

/* ---- The play of a recording ---- */

static bool play_letter(const struct turn *turn, uint32_t point)
{
	static const int64_t s = 1000000000;
	static const struct {
		char letter;
		struct wtl_play_order order;
	} letters[] = {
		{' ', {WTL_PLAY_PAUSE, 0}},  {'Z', {WTL_PLAY_PAUSE, 0}},
		{'j', {WTL_PLAY_SEEK, -10}}, {'l', {WTL_PLAY_SEEK, 10}},
		{'J', {WTL_PLAY_SEEK, -60}}, {'L', {WTL_PLAY_SEEK, 60}},
		{'b', {WTL_PLAY_GO_TO, 0}},  {'e', {WTL_PLAY_GO_TO, INT32_MAX}},
		{'s', {WTL_PLAY_SLOWER, 0}}, {'f', {WTL_PLAY_FASTER, 0}},
		{'=', {WTL_PLAY_NORMAL, 0}},
	};

	for (size_t i = 0; turn->ui->is_replay && i < sizeof(letters) / sizeof(letters[0]); i++)
		if ((uint32_t)letters[i].letter == point) {
			turn->ui->order = letters[i].order;
			turn->ui->order.ns *= s;
			return true;
		}
	return false;
}

/* A click on the bar. */
static bool play_click(struct wtl_top_ui *ui, const struct wtl_input *input)
{
	const struct wtl_top_places *places = &ui->places;
	int width = places->play_to - places->play_from;

	if (!ui->is_replay || input->row != places->play_row || input->column < places->play_from ||
	    input->column >= places->play_to)
		return false;
	ui->order = (struct wtl_play_order){.verb = WTL_PLAY_GO_TO,
					    .ns = ui->play.length_ns / width *
						  (input->column - places->play_from)};
	return true;
}

static enum wtl_top_wish click(const struct turn *turn, const struct wtl_input *input)
{
	struct wtl_top_ui *ui = turn->ui;
	const struct wtl_top_places *places = &ui->places;
	int at = input->row - places->first_row;

	if (play_click(ui, input))
		return WTL_TOP_WISH_PLAY;
	for (int i = 0; input->row == places->keys_row && i < places->n_keys; i++)
		if (input->column >= places->keys[i].from && input->column < places->keys[i].to)
			return press(turn, places->keys[i].key, 0);
	for (int i = 0; input->row == places->header_row && i < places->n_columns; i++)
		if (input->column >= places->columns[i].from &&
		    input->column < places->columns[i].to)
			sort_by(ui, places->columns[i].field);
	if (places->header_row >= 0 && at >= 0 && at < places->n_rows &&
	    ui->first + at < (int)turn->rows->n) {
		choose_row(ui, turn->rows, ui->first + at);
		if (input->kind == WTL_INPUT_DOUBLE_CLICK)
			show_details(turn);
	}
	return WTL_TOP_WISH_NOTHING;
}

static enum wtl_top_wish table_input(const struct turn *turn, const struct wtl_input *input)
{
	struct wtl_top_ui *ui = turn->ui;
	int row = ui->selected;

	if (moves(input, ui->places.n_rows, (int)turn->rows->n, &row)) {
		choose_row(ui, turn->rows, row);
		/* Home goes to the first row, where the largest are, without choosing its process. */
		ui->is_chosen = input->kind != WTL_INPUT_KEY || input->key != WTL_KEY_HOME;
	} else if (input->kind == WTL_INPUT_CLICK || input->kind == WTL_INPUT_DOUBLE_CLICK) {
		return click(turn, input);
	} else if (input->kind == WTL_INPUT_KEY) {
		return press(turn, input->key, 0);
	} else if (input->kind == WTL_INPUT_POINT) {
		return play_letter(turn, input->point) ? WTL_TOP_WISH_PLAY
						       : press(turn, WTL_KEY_NONE, input->point);
	}
	return WTL_TOP_WISH_NOTHING;
}

static enum wtl_top_wish confirm_input(struct wtl_top_ui *ui, const struct wtl_input *input)
{
	if (input->kind == WTL_INPUT_NONE)
		return WTL_TOP_WISH_NOTHING;
	ui->mode = WTL_TOP_TABLE;
	if (input->kind == WTL_INPUT_POINT && (input->point == 'y' || input->point == 'Y'))
		return WTL_TOP_WISH_SIGNAL;
	return WTL_TOP_WISH_NOTHING;
}

static void details_input(const struct turn *turn, const struct wtl_input *input)
{
	bool kill = (input->kind == WTL_INPUT_KEY && input->key == WTL_KEY_F9) ||
		    (input->kind == WTL_INPUT_POINT && input->point == 'k');
	int at = wtl_top_rows_find(turn->rows, turn->ui->details_key);

	if (input->kind == WTL_INPUT_NONE)
		return;
	turn->ui->mode = WTL_TOP_TABLE;
	if (kill && at >= 0) {
		choose_row(turn->ui, turn->rows, at);
		start_kill(turn);
	}
}

enum wtl_top_wish wtl_top_ui_input(struct wtl_top_ui *ui, const struct wtl_top_view *view,
				   const struct wtl_top_rows *rows, const struct wtl_input *input,
				   int64_t now_ns)
{
	const struct turn turn = {.ui = ui, .view = view, .rows = rows, .now_ns = now_ns};

	if (input->kind != WTL_INPUT_NONE) {
		ui->kill_key = 0;
		ui->sought = 0;
	}
	switch (ui->mode) {
	case WTL_TOP_TABLE:
		return table_input(&turn, input);
	case WTL_TOP_FILTER:
	case WTL_TOP_SEARCH:
		edit_input(&turn, input);
		break;
	case WTL_TOP_HELP:
	case WTL_TOP_SETUP:
	case WTL_TOP_SORT:
	case WTL_TOP_GROUP:
	case WTL_TOP_SIGNAL:
		return list_input(ui, input);
	case WTL_TOP_CONFIRM:
		return confirm_input(ui, input);
	case WTL_TOP_DETAILS:
		details_input(&turn, input);
		break;
	}
	return WTL_TOP_WISH_NOTHING;
}
