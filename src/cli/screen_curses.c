/* SPDX-License-Identifier: MIT */
#define NCURSES_WIDECHAR 1

#include <curses.h>
#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <term.h>
#include <termios.h>
#include <unistd.h>
#include <wchar.h>

#undef columns /* a macro of term.h */

#include "base/array.h"
#include "base/err.h"
#include "base/thread.h"
#include "base/num.h"
#include "base/thread.h"
#include "cli/mapped.h"
#include "cli/screen.h"
#include "cli/screen_feed.h"
#include "energy/units.h"

enum { DOUBLE_CLICK_MS = 400, ROWS_DEFAULT = 24, COLUMNS_DEFAULT = 80 };

struct wtl_screen {
	SCREEN *terminal;
	struct wtl_screen_feed feed;
	struct wtl_screen_options options;
	struct wtl_cell *shown; /* what is on the terminal now */
	size_t size;
	int rows, columns; /* of it */
	attr_t attributes[WTL_STYLES];
	short pairs[WTL_STYLES];
	bool has_color;
	int64_t click_ms;
	int click_row, click_column;
};

/* SIGBUS is cli/mapped.c's. */
static const int faults[] = {SIGSEGV, SIGFPE, SIGILL, SIGABRT};

static void on_fault(int signal)
{
	wtl_rescue_terminal();
	raise(signal); /* as by default: SA_RESETHAND */
}

static void watch_faults(void (*handler)(int))
{
	struct sigaction action = {.sa_flags = (int)(SA_RESETHAND | SA_NODEFER)};

	action.sa_handler = handler;
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
		sigaction(faults[i], &action, NULL);
}

/* Without terminfo's requests to wait ("$<5>"). */
static void add_rescue(const char *text)
{
	while (text && *text && wtl_rescue()->len + 1 < sizeof(wtl_rescue()->text)) {
		const char *end = text[0] == '$' && text[1] == '<' ? strchr(text, '>') : NULL;

		if (end)
			text = end + 1;
		else
			wtl_rescue()->text[wtl_rescue()->len++] = *text++;
	}
}

static const char *capability(const char *name)
{
	char copy[16];
	const char *text;

	snprintf(copy, sizeof(copy), "%s", name); /* its parameter is not const */
	text = tigetstr(copy);
	return text == (const char *)-1 ? NULL : text;
}

static void prepare_rescue(void)
{
	wtl_rescue()->len = 0;
	add_rescue("\033[?1006l\033[?1002l\033[?1000l"); /* the mouse */
	add_rescue(capability("sgr0"));
	add_rescue(capability("rmkx"));
	add_rescue(capability("cnorm"));
	add_rescue(capability("rmcup"));
	watch_faults(on_fault);
}

/* ---- Looks ---- */

struct look {
	short rich, rich_back; /* of 256 colours; -1: the terminal's own */
	short poor, poor_back; /* of 8 */
	attr_t with, without;  /* attributes beside colours, and instead of them */
};

static const struct look looks[WTL_STYLES] = {
	[WTL_STYLE_PLAIN] = {-1, -1, -1, -1, A_NORMAL, A_NORMAL},
	[WTL_STYLE_STRONG] = {-1, -1, -1, -1, A_BOLD, A_BOLD},
	[WTL_STYLE_FAINT] = {245, -1, -1, -1, A_NORMAL, A_DIM},
	[WTL_STYLE_TITLE] = {80, -1, COLOR_CYAN, -1, A_BOLD, A_BOLD},
	[WTL_STYLE_HEADER] = {252, 237, COLOR_BLACK, COLOR_WHITE, A_NORMAL, A_REVERSE},
	[WTL_STYLE_SORTED] = {80, 237, COLOR_BLACK, COLOR_CYAN, A_BOLD, A_REVERSE | A_BOLD},
	[WTL_STYLE_SELECTED] = {255, 24, COLOR_BLACK, COLOR_CYAN, A_NORMAL, A_REVERSE},
	[WTL_STYLE_KEY] = {-1, -1, -1, -1, A_BOLD, A_BOLD},
	[WTL_STYLE_LABEL] = {252, 237, COLOR_BLACK, COLOR_CYAN, A_NORMAL, A_REVERSE},
	[WTL_STYLE_CPU] = {80, -1, COLOR_CYAN, -1, A_NORMAL, A_NORMAL},
	[WTL_STYLE_MEMORY] = {114, -1, COLOR_GREEN, -1, A_NORMAL, A_NORMAL},
	[WTL_STYLE_GPU] = {177, -1, COLOR_MAGENTA, -1, A_NORMAL, A_NORMAL},
	[WTL_STYLE_OTHER] = {179, -1, COLOR_YELLOW, -1, A_NORMAL, A_NORMAL},
	[WTL_STYLE_CPU_2] = {37, -1, COLOR_CYAN, -1, A_NORMAL, A_DIM},
	[WTL_STYLE_MEMORY_2] = {71, -1, COLOR_GREEN, -1, A_NORMAL, A_DIM},
	[WTL_STYLE_GPU_2] = {133, -1, COLOR_MAGENTA, -1, A_NORMAL, A_DIM},
	[WTL_STYLE_OTHER_2] = {136, -1, COLOR_YELLOW, -1, A_NORMAL, A_DIM},
	[WTL_STYLE_LIMIT] = {167, -1, COLOR_RED, -1, A_NORMAL, A_NORMAL},
	[WTL_STYLE_IDLE] = {67, -1, COLOR_BLUE, -1, A_NORMAL, A_DIM},
	[WTL_STYLE_WARN] = {214, -1, COLOR_YELLOW, -1, A_BOLD, A_BOLD},
	[WTL_STYLE_BAD] = {203, -1, COLOR_RED, -1, A_BOLD, A_BOLD | A_UNDERLINE},
};

static void set_looks(struct wtl_screen *screen)
{
	bool color = screen->has_color && screen->options.color;
	bool rich = COLORS >= 256;

	for (short i = 0; i < WTL_STYLES; i++) {
		const struct look *look = &looks[i];

		screen->attributes[i] = color ? look->with : look->without;
		screen->pairs[i] = 0;
		if (!color)
			continue;
		/* Few colours: what is another shade with many is another brightness. */
		if (!rich &&
		    (i == WTL_STYLE_FAINT || (i >= WTL_STYLE_CPU_2 && i <= WTL_STYLE_OTHER_2)))
			screen->attributes[i] = A_DIM;
		if (init_pair((short)(i + 1), rich ? look->rich : look->poor,
			      rich ? look->rich_back : look->poor_back) == OK)
			screen->pairs[i] = (short)(i + 1);
	}
}

void wtl_screen_set(struct wtl_screen *screen, const struct wtl_screen_options *options)
{
	if (memcmp(&screen->options, options, sizeof(*options)) == 0)
		return;
	screen->options = *options;
	set_looks(screen);
	mousemask(options->mouse ? ALL_MOUSE_EVENTS : 0, NULL);
	screen->rows = 0; /* all of it anew */
}

/* ---- Size ---- */

static int from_environment(const char *name, int otherwise)
{
	const char *text = getenv(name);
	uint64_t value;

	if (!text || wtl_num_u64(text, strlen(text), &value) < 0 || value == 0 ||
	    value > WTL_CANVAS_MAX)
		return otherwise;
	return (int)value;
}

static int cut(int value)
{
	return value < 1 ? 1 : value > WTL_CANVAS_MAX ? WTL_CANVAS_MAX : value;
}

void wtl_screen_size(struct wtl_screen *screen, int *ret_rows, int *ret_columns)
{
	struct winsize size = {.ws_row = 0};
	int rows = 0, columns = 0;

	(void)screen;
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0) {
		rows = size.ws_row;
		columns = size.ws_col;
	}
	if (rows == 0)
		rows = from_environment("LINES", ROWS_DEFAULT);
	if (columns == 0)
		columns = from_environment("COLUMNS", COLUMNS_DEFAULT);
	rows = cut(rows);
	columns = cut(columns);
	if (rows != LINES || columns != COLS)
		resize_term(rows, columns);
	*ret_rows = rows;
	*ret_columns = columns;
}

/* ---- Showing ---- */

static bool is_gone(int fd, short events)
{
	struct pollfd watched = {.fd = fd, .events = events};

	return poll(&watched, 1, 0) > 0 && (watched.revents & (POLLHUP | POLLERR | POLLNVAL));
}

/* A character that the C library takes for wider or narrower would move all that follows. */
static void put_cell(struct wtl_screen *screen, int row, int column, const struct wtl_cell *cell)
{
	wchar_t text[3] = {(wchar_t)cell->point, (wchar_t)cell->mark, L'\0'};
	cchar_t complex;

	if (cell->point > 0x7e && wcwidth(text[0]) != cell->width)
		text[0] = L'?';
	if (cell->mark && (text[0] == L'?' || wcwidth(text[1]) != 0))
		text[1] = L'\0';
	if (setcchar(&complex, text, screen->attributes[cell->style], screen->pairs[cell->style],
		     NULL) == OK)
		mvadd_wch(row, column, &complex);
	/* Its right half, which a '?' does not cover. */
	if (cell->width == 2 && text[0] == L'?')
		mvaddch(row, column + 1, ' ');
}

static bool is_same(const struct wtl_cell *a, const struct wtl_cell *b)
{
	return a->point == b->point && a->mark == b->mark && a->style == b->style &&
	       a->width == b->width;
}

static void show_row(struct wtl_screen *screen, const struct wtl_canvas *canvas, int row)
{
	size_t from = (size_t)row * (size_t)canvas->columns;

	for (int column = 0; column < canvas->columns; column++) {
		const struct wtl_cell *cell = &canvas->cells[from + (size_t)column];
		struct wtl_cell *shown = &screen->shown[from + (size_t)column];

		if (is_same(cell, shown))
			continue;
		*shown = *cell;
		if (cell->width)
			put_cell(screen, row, column, cell);
	}
}

static int fit(struct wtl_screen *screen, const struct wtl_canvas *canvas)
{
	size_t n = (size_t)canvas->rows * (size_t)canvas->columns;

	if (wtl_array_reserve(&screen->shown, &screen->size, n, sizeof(*screen->shown)) < 0)
		return -ENOMEM;
	/* No cell is like these. */
	for (size_t i = 0; i < n; i++)
		screen->shown[i] = (struct wtl_cell){.point = 0};
	screen->rows = canvas->rows;
	screen->columns = canvas->columns;
	return 0;
}

int wtl_screen_show(struct wtl_screen *screen, const struct wtl_canvas *canvas, bool whole)
{
	int rc = 0;

	if (is_gone(STDOUT_FILENO, 0))
		return -EIO;
	if (whole || screen->rows != canvas->rows || screen->columns != canvas->columns) {
		rc = fit(screen, canvas);
		erase();
		/* A terminal of another size may have moved what it showed. */
		clearok(curscr, TRUE);
	}
	for (int row = 0; rc == 0 && row < canvas->rows; row++)
		show_row(screen, canvas, row);
	/* Where a cursor is shown all the same, it is out of the way. */
	move(canvas->rows > 0 ? canvas->rows - 1 : 0, 0);
	refresh();
	return rc;
}

void wtl_screen_leave(struct wtl_screen *screen)
{
	(void)screen;
	endwin();
}

/* ---- Input ---- */

static enum wtl_key key_for(int code)
{
	static const struct {
		int code;
		enum wtl_key key;
	} keys[] = {
		{KEY_UP, WTL_KEY_UP},	      {KEY_DOWN, WTL_KEY_DOWN},
		{KEY_LEFT, WTL_KEY_LEFT},     {KEY_RIGHT, WTL_KEY_RIGHT},
		{KEY_PPAGE, WTL_KEY_PAGE_UP}, {KEY_NPAGE, WTL_KEY_PAGE_DOWN},
		{KEY_HOME, WTL_KEY_HOME},     {KEY_END, WTL_KEY_END},
		{KEY_ENTER, WTL_KEY_ENTER},   {KEY_BACKSPACE, WTL_KEY_BACKSPACE},
		{KEY_DC, WTL_KEY_DELETE},
	};

	if (code >= KEY_F(1) && code <= KEY_F(10))
		return (enum wtl_key)(WTL_KEY_F1 + (code - KEY_F(1)));
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (keys[i].code == code)
			return keys[i].key;
	return WTL_KEY_NONE;
}

static int64_t now_ms(void)
{
	return wtl_thread_clock_ns() / WTL_NS_PER_MS;
}

static enum wtl_input_kind click_kind(struct wtl_screen *screen, const MEVENT *event)
{
	int64_t ms = now_ms();
	bool twice = ms - screen->click_ms < DOUBLE_CLICK_MS && event->y == screen->click_row &&
		     event->x == screen->click_column;

	screen->click_ms = twice ? 0 : ms;
	screen->click_row = event->y;
	screen->click_column = event->x;
	return twice ? WTL_INPUT_DOUBLE_CLICK : WTL_INPUT_CLICK;
}

static void read_mouse(struct wtl_screen *screen, struct wtl_input *input)
{
	MEVENT event;

	if (getmouse(&event) != OK)
		return;
	input->row = event.y;
	input->column = event.x;
	if (event.bstate & BUTTON4_PRESSED)
		input->kind = WTL_INPUT_WHEEL_UP;
	else if (event.bstate & BUTTON5_PRESSED)
		input->kind = WTL_INPUT_WHEEL_DOWN;
	else if (event.bstate & (BUTTON1_PRESSED | BUTTON1_CLICKED))
		input->kind = click_kind(screen, &event);
}

static void take_key(struct wtl_input *input, enum wtl_key key)
{
	input->kind = key == WTL_KEY_NONE ? WTL_INPUT_NONE : WTL_INPUT_KEY;
	input->key = key;
}

static void take_character(struct wtl_input *input, wint_t character)
{
	if (character == L'\n' || character == L'\r') {
		take_key(input, WTL_KEY_ENTER);
	} else if (character == 27) {
		take_key(input, WTL_KEY_ESCAPE);
	} else if (character == 127 || character == 8) {
		take_key(input, WTL_KEY_BACKSPACE);
	} else if (character == L'\t') {
		take_key(input, WTL_KEY_TAB);
	} else {
		input->kind = WTL_INPUT_POINT;
		input->point = (uint32_t)character;
	}
}

int wtl_screen_read(struct wtl_screen *screen, struct wtl_input *ret_input)
{
	struct wtl_input input = {.kind = WTL_INPUT_NONE};
	wint_t character;
	int rc;

	if (is_gone(STDIN_FILENO, POLLIN))
		return -EIO;
	rc = get_wch(&character);
	if (rc == ERR && wtl_screen_feed_take(&screen->feed) > 0)
		rc = get_wch(&character);
	if (rc == ERR)
		return 0;
	if (rc == KEY_CODE_YES && character == KEY_MOUSE)
		read_mouse(screen, &input);
	else if (rc == KEY_CODE_YES && character == KEY_RESIZE)
		input.kind = WTL_INPUT_RESIZE;
	else if (rc == KEY_CODE_YES)
		take_key(&input, key_for((int)character));
	else
		take_character(&input, character);
	*ret_input = input;
	return 1;
}

/* ---- Beginning and end ---- */

/* A terminal of UTF-8 although the locale it is named by is not installed. */
static void set_locale(const struct wtl_screen_options *options)
{
	if ((!setlocale(LC_CTYPE, "") || strcmp(nl_langinfo(CODESET), "UTF-8") != 0) &&
	    !options->ascii)
		setlocale(LC_CTYPE, "C.UTF-8");
}

/* wtl_screen_size() says how large it is: ncurses counts with 16 bits and a sign, and would give up. */
static int open_terminal(void *context)
{
	struct wtl_screen *screen = context;

	use_env(FALSE);
	screen->terminal = newterm(NULL, stdout, screen->feed.out);
	/* ncurses takes itself for a terminfo program until it comes back from endwin() for the first time, and
	 * writes each movement of the cursor by itself. */
	if (screen->terminal)
		endwin();
	return 0;
}

static int set_up(struct wtl_screen *screen, struct wtl_err *err)
{
	const char *type = getenv("TERM");
	int rc = wtl_screen_feed_open(&screen->feed);

	if (rc < 0)
		return wtl_err_set(err, rc, "screen", NULL, "no pipe can be made: %s",
				   wtl_err_text(rc));
	set_locale(&screen->options);
	/* It reads the terminal's description by three functions with 32 KiB each. */
	wtl_thread_call(open_terminal, screen);
	if (!screen->terminal)
		return wtl_err_set(err, EINVAL, "screen", NULL,
				   "the type of this terminal is not known here (TERM=%s)",
				   type ? type : "");
	set_escdelay(0); /* what belongs together comes together */
	cbreak();
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	typeahead(-1); /* keys are read between pictures, and do not cut one off */
	curs_set(0);
	mouseinterval(0);
	if (has_colors() && start_color() == OK) {
		use_default_colors();
		screen->has_color = true;
	}
	set_looks(screen);
	if (screen->options.mouse)
		mousemask(ALL_MOUSE_EVENTS, NULL);
	prepare_rescue();
	return 0;
}

int wtl_screen_new(const struct wtl_screen_options *options, struct wtl_screen **ret_screen,
		   struct wtl_err *err)
{
	struct wtl_screen *screen;
	int rc;

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO) ||
	    tcgetattr(STDIN_FILENO, &wtl_rescue()->termios) < 0)
		return wtl_err_set(err, ENOTTY, "screen", NULL,
				   "this is no terminal; --once prints one picture anywhere");
	screen = calloc(1, sizeof(*screen));
	if (!screen)
		return wtl_err_set(err, ENOMEM, "screen", NULL, "out of memory");
	screen->options = *options;
	rc = set_up(screen, err);
	if (rc < 0) {
		wtl_screen_free(screen);
		return rc;
	}
	*ret_screen = screen;
	return 0;
}

void wtl_screen_free(struct wtl_screen *screen)
{
	if (!screen)
		return;
	if (screen->terminal) {
		watch_faults(SIG_DFL);
		wtl_rescue()->len = 0;
		mousemask(0, NULL);
		endwin();
		delscreen(screen->terminal);
	}
	wtl_screen_feed_close(&screen->feed);
	free(screen->shown);
	free(screen);
}
