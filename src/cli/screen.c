/* SPDX-License-Identifier: MIT */
/*
 * Writes to the terminal itself what has changed, by the terminal's description (terminfo). ncurses
 * would keep three more copies of the picture and compare them, which takes longer than all the drawing.
 */
#include <curses.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <term.h>
#include <termios.h>
#include <unistd.h>

#undef columns /* a macro of term.h */

#include "base/array.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/num.h"
#include "base/thread.h"
#include "cli/mapped.h"
#include "cli/screen.h"
#include "cli/screen_keys.h"
#include "cli/terminal.h"

enum { ROWS_DEFAULT = 24, COLUMNS_DEFAULT = 80, LOOK_MAX = 96, NEAR = 5 };

/* The bytes that switch to a look from any other one. */
struct look_text {
	char bytes[LOOK_MAX];
	size_t len;
	size_t n_base; /* bytes before the colour */
};

struct wtl_screen {
	struct wtl_screen_keys keys;
	struct wtl_screen_options options;
	struct look_text looks[WTL_STYLES];
	const char *place;	/* moves the cursor */
	bool place_is_ansi;	/* … as nearly every terminal does */
	bool keeps_corner;	/* its last cell can be written without scrolling */
	bool moves_in_looks;	/* the cursor can be moved in any look */
	bool is_ours;		/* until wtl_screen_leave() */
	struct wtl_cell *shown; /* what is on the terminal now */
	size_t size;
	int rows, columns; /* of it */
	/* Where the next character goes, and the current look; -1: not known. */
	int row, column, style;
	int error; /* of writing */
	size_t n_out;
	char out[4096];
};

/* ---- The terminal's description ---- */

static const char *capability(const char *name)
{
	char copy[16];
	const char *text;

	snprintf(copy, sizeof(copy), "%s", name); /* its parameter is not const */
	text = tigetstr(copy);
	return text == (const char *)-1 ? NULL : text;
}

static bool has(const char *name)
{
	char copy[16];

	snprintf(copy, sizeof(copy), "%s", name);
	return tigetflag(copy) > 0;
}

static int number(const char *name)
{
	char copy[16];

	snprintf(copy, sizeof(copy), "%s", name);
	return tigetnum(copy);
}

/* Appends without terminfo's requests to wait ("$<5>"). What does not fit is left out. */
static void append(char *to, size_t size, size_t *len, const char *text)
{
	while (text && *text && *len < size) {
		const char *end = text[0] == '$' && text[1] == '<' ? strchr(text, '>') : NULL;

		if (end)
			text = end + 1;
		else
			to[(*len)++] = *text++;
	}
}

/* ---- Faults ---- */

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

static void add_rescue(const char *text)
{
	append(wtl_rescue()->text, sizeof(wtl_rescue()->text), &wtl_rescue()->len, text);
}

static void prepare_rescue(void)
{
	const char *back = capability("rmcup");

	wtl_rescue()->len = 0;
	add_rescue("\033[?1006l\033[?1002l\033[?1000l"); /* the mouse */
	add_rescue(capability("sgr0"));
	add_rescue(capability("rmkx"));
	add_rescue(capability("cnorm"));
	/* Not every terminal can restore what it showed before: on others, the shell goes on in the last row. */
	add_rescue(back ? back : capability("el"));
	watch_faults(on_fault);
}

/* ---- Output ---- */

static void flush(struct wtl_screen *screen)
{
	int rc = screen->n_out ? wtl_fd_write_all(STDOUT_FILENO, screen->out, screen->n_out) : 0;

	screen->n_out = 0;
	if (rc < 0)
		screen->error = rc;
}

static void put_bytes(struct wtl_screen *screen, const char *bytes, size_t len)
{
	if (screen->n_out + len > sizeof(screen->out))
		flush(screen);
	memcpy(screen->out + screen->n_out, bytes, len);
	screen->n_out += len;
}

static void put_text(struct wtl_screen *screen, const char *text)
{
	char bytes[256];
	size_t len = 0;

	append(bytes, sizeof(bytes), &len, text);
	put_bytes(screen, bytes, len);
}

static void put_point(struct wtl_screen *screen, uint32_t point)
{
	char bytes[4];

	if (point < 0x80 && screen->n_out < sizeof(screen->out))
		screen->out[screen->n_out++] = (char)point;
	else
		put_bytes(screen, bytes, wtl_point_bytes(point, bytes));
}

/* Writes a number's digits so that they end there, and returns where they begin. Needs room for WTL_NUM_DIGITS. */
static char *digits_before(char *end, int value)
{
	return wtl_num_digits((uint64_t)value, 0, end - WTL_NUM_DIGITS);
}

/* "\033[12;34H", made from its end. */
static void put_place(struct wtl_screen *screen, int row, int column)
{
	char bytes[2 * WTL_NUM_DIGITS + 4], *end = bytes + sizeof(bytes), *at = end;

	*--at = 'H';
	at = digits_before(at, column);
	*--at = ';';
	at = digits_before(at, row);
	*--at = '[';
	*--at = '\033';
	put_bytes(screen, at, (size_t)(end - at));
}

/* ---- Looks ---- */

struct look {
	short rich, rich_back; /* of 256 colours; -1: the terminal's own */
	short poor, poor_back; /* of 8 */
	chtype with, without;  /* attributes beside colours, and instead of them */
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

/* Attributes that go with colours on this terminal. */
static chtype beside_colors(chtype attributes)
{
	static const chtype bits[] = {A_STANDOUT, A_UNDERLINE, A_REVERSE, A_BLINK, A_DIM, A_BOLD};
	int without = number("ncv");

	for (size_t i = 0; without > 0 && i < sizeof(bits) / sizeof(bits[0]); i++)
		if ((unsigned)without >> i & 1)
			attributes &= ~bits[i];
	return attributes;
}

static void add_look(struct look_text *to, const char *text)
{
	append(to->bytes, sizeof(to->bytes), &to->len, text);
}

static void make_look(struct look_text *to, chtype attributes, int color, int back)
{
	static const struct {
		chtype bit;
		const char *name;
	} names[] = {{A_BOLD, "bold"}, {A_DIM, "dim"}, {A_REVERSE, "rev"}, {A_UNDERLINE, "smul"}};

	to->len = 0;
	add_look(to, capability("sgr0"));
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (attributes & names[i].bit)
			add_look(to, capability(names[i].name));
	if (back >= 0)
		add_look(to, tiparm(capability("setab"), back));
	to->n_base = to->len;
	if (color >= 0)
		add_look(to, tiparm(capability("setaf"), color));
}

static void set_looks(struct wtl_screen *screen)
{
	int n_colors = number("colors");
	bool color = screen->options.color && n_colors >= 8 && capability("setaf") &&
		     capability("setab");
	/* Where there are more, numbers are not indices of the palette but colours themselves. */
	bool rich = n_colors == 256;

	for (int i = 0; i < WTL_STYLES; i++) {
		const struct look *look = &looks[i];
		chtype with = look->with;

		/* With few colours, what would be another shade is made darker. */
		if (!rich &&
		    (i == WTL_STYLE_FAINT || (i >= WTL_STYLE_CPU_2 && i <= WTL_STYLE_OTHER_2)))
			with = A_DIM;
		if (!color)
			make_look(&screen->looks[i], look->without, -1, -1);
		else
			make_look(&screen->looks[i],
				  look->rich < 0 && look->poor < 0 ? with : beside_colors(with),
				  rich ? look->rich : look->poor,
				  rich ? look->rich_back : look->poor_back);
	}
	screen->style = -1;
}

static void set_style(struct wtl_screen *screen, int style)
{
	const struct look_text *to = &screen->looks[style], *from;
	size_t skipped = 0;

	if (style == screen->style)
		return;
	from = screen->style >= 0 ? &screen->looks[screen->style] : NULL;
	/* If the looks differ only in the colour, setting that is enough. */
	if (from && from->n_base == to->n_base && memcmp(from->bytes, to->bytes, to->n_base) == 0 &&
	    (to->len > to->n_base || from->len == from->n_base))
		skipped = to->n_base;
	put_bytes(screen, to->bytes + skipped, to->len - skipped);
	screen->style = style;
}

static void set_mouse(struct wtl_screen *screen)
{
	/* Terminals that do not know the better form of reports (1006) ignore it. */
	if (capability("kmous"))
		put_text(screen, screen->options.mouse ? "\033[?1000h\033[?1006h"
						       : "\033[?1006l\033[?1000l");
}

void wtl_screen_set(struct wtl_screen *screen, const struct wtl_screen_options *options)
{
	if (memcmp(&screen->options, options, sizeof(*options)) == 0)
		return;
	screen->options = *options;
	set_looks(screen);
	set_mouse(screen);
	screen->rows = 0; /* all of it anew */
}

/* ---- Size ---- */

static int cut(int value)
{
	return value < 1 ? 1 : value > WTL_CANVAS_MAX ? WTL_CANVAS_MAX : value;
}

void wtl_screen_size(struct wtl_screen *screen, int *ret_rows, int *ret_columns)
{
	struct wtl_terminal_size size = wtl_terminal_size(STDOUT_FILENO);

	(void)screen;
	if (size.rows == 0)
		size.rows = wtl_terminal_given("LINES", ROWS_DEFAULT);
	if (size.columns == 0)
		size.columns = wtl_terminal_given("COLUMNS", COLUMNS_DEFAULT);
	*ret_rows = cut(size.rows);
	*ret_columns = cut(size.columns);
}

/* ---- Showing ---- */

static void place(struct wtl_screen *screen, int row, int column)
{
	if (!screen->moves_in_looks)
		set_style(screen, WTL_STYLE_PLAIN);
	if (screen->place_is_ansi) {
		put_place(screen, row + 1, column + 1);
	} else {
		put_text(screen, tiparm(screen->place, row, column));
	}
	screen->row = row;
	screen->column = column;
}

/* Terminals differ in the widths of some scripts, and of several characters that combine. */
static bool has_sure_width(const struct wtl_cell *cell)
{
	return !cell->has_mark &&
	       (cell->point < 0x300 || (cell->point >= 0x2000 && cell->point < 0x2600) ||
		(cell->point >= 0x2800 && cell->point < 0x2900));
}

static void put_cell(struct wtl_screen *screen, const struct wtl_canvas *canvas,
		     const struct wtl_cell *cell)
{
	set_style(screen, cell->style);
	put_point(screen, cell->point);
	if (cell->has_mark)
		put_point(screen, wtl_canvas_mark(canvas, cell));
	screen->column += cell->width;
	/* They also differ in where the cursor is after the last column. */
	if (!has_sure_width(cell) || screen->column >= screen->columns)
		screen->row = -1;
}

/* Goes to a cell of a row. Writing a few unchanged cells again is shorter than moving over them. */
static void go(struct wtl_screen *screen, const struct wtl_canvas *canvas, int row, int column)
{
	const struct wtl_cell *cells = wtl_canvas_cell(canvas, row, 0);
	int from = screen->column;
	bool is_near = screen->row == row && column >= from && column - from <= NEAR;

	for (int i = from; is_near && i < column; i++)
		is_near = cells[i].style == screen->style && cells[i].width == 1 &&
			  has_sure_width(&cells[i]);
	if (!is_near)
		place(screen, row, column);
	for (; screen->column < column;)
		put_cell(screen, canvas, &cells[screen->column]);
}

/* A width that no cell has. */
enum { NO_WIDTH = 3 };

static bool is_same(const struct wtl_cell *a, const struct wtl_cell *b, size_t n)
{
	return memcmp(a, b, n * sizeof(*a)) == 0;
}

static void show_row(struct wtl_screen *screen, const struct wtl_canvas *canvas, int row)
{
	size_t from = (size_t)row * (size_t)canvas->columns;
	const struct wtl_cell *cells = &canvas->cells[from];
	struct wtl_cell *shown = &screen->shown[from];
	int end = canvas->columns - (row == canvas->rows - 1 && !screen->keeps_corner);

	if (is_same(cells, shown, (size_t)canvas->columns))
		return;
	for (int column = 0; column < end; column++) {
		if (is_same(&cells[column], &shown[column], 1))
			continue;
		shown[column] = cells[column];
		/* A cell does not say which mark it has, so one with a mark is always written again. */
		if (cells[column].has_mark)
			shown[column].width = NO_WIDTH;
		if (cells[column].width == 0)
			continue;
		go(screen, canvas, row, column);
		put_cell(screen, canvas, &cells[column]);
	}
}

/* And notes that the screen is blank. */
static int clear_all(struct wtl_screen *screen, const struct wtl_canvas *canvas)
{
	size_t n = (size_t)canvas->rows * (size_t)canvas->columns;

	if (wtl_array_reserve(&screen->shown, &screen->size, n, sizeof(*screen->shown)) < 0)
		return -ENOMEM;
	wtl_cells_clear(screen->shown, n);
	screen->rows = canvas->rows;
	screen->columns = canvas->columns;
	set_style(screen, WTL_STYLE_PLAIN);
	put_text(screen, capability("clear"));
	screen->row = -1;
	return 0;
}

static void take(struct wtl_screen *screen)
{
	struct termios own = wtl_rescue()->termios;

	own.c_lflag &= ~(tcflag_t)(ICANON | ECHO | ECHONL);
	own.c_iflag &= ~(tcflag_t)(ICRNL | INLCR | IGNCR);
	own.c_oflag &= ~(tcflag_t)OPOST; /* line ends are not translated: none is written */
	own.c_cc[VMIN] = 1;
	own.c_cc[VTIME] = 0;
	tcsetattr(STDIN_FILENO, TCSADRAIN, &own);
	put_text(screen, capability("smcup"));
	put_text(screen, capability("smkx"));
	put_text(screen, capability("civis"));
	if (screen->options.mouse)
		set_mouse(screen);
	screen->style = -1;
	screen->is_ours = true;
}

static void enter(struct wtl_screen *screen)
{
	/* Another program may have changed the settings meanwhile. */
	tcgetattr(STDIN_FILENO, &wtl_rescue()->termios);
	take(screen);
}

void wtl_screen_retake(struct wtl_screen *screen)
{
	if (screen->is_ours)
		take(screen);
}

int wtl_screen_show(struct wtl_screen *screen, const struct wtl_canvas *canvas, bool whole)
{
	int last = canvas->rows > 0 ? canvas->rows - 1 : 0, rc = 0;

	if (!screen->is_ours)
		enter(screen);
	/* A terminal that was resized may have moved what it showed. */
	if (whole || screen->rows != canvas->rows || screen->columns != canvas->columns)
		rc = clear_all(screen, canvas);
	for (int row = 0; rc == 0 && row < canvas->rows; row++)
		show_row(screen, canvas, row);
	/* On a terminal that cannot hide the cursor, it is out of the way. */
	if (screen->row != last || screen->column != 0)
		place(screen, last, 0);
	flush(screen);
	return rc ? rc : screen->error;
}

void wtl_screen_leave(struct wtl_screen *screen)
{
	if (!screen->is_ours)
		return;
	place(screen, screen->rows > 0 ? screen->rows - 1 : 0, 0);
	flush(screen);
	wtl_rescue_terminal();
	screen->is_ours = false;
}

int wtl_screen_read(struct wtl_screen *screen, struct wtl_input *ret_input)
{
	struct pollfd keys = {.fd = STDIN_FILENO, .events = POLLIN};

	if (poll(&keys, 1, 0) > 0 && (keys.revents & (POLLHUP | POLLERR | POLLNVAL)))
		return -EIO;
	return wtl_screen_keys_take(&screen->keys, ret_input);
}

/* ---- Beginning and end ---- */

/* Three functions need 32 KiB of stack each to read the description: in a thread, if this stack is small. */
static bool has_large_stack(void)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur >= (1u << 20);
}

static int find_description(void *unused)
{
	int what;

	(void)unused;
	return setupterm(NULL, STDOUT_FILENO, &what) == OK ? 0 : -EINVAL;
}

static int set_up(struct wtl_screen *screen, struct wtl_err *err)
{
	const char *type = getenv("TERM");

	if ((has_large_stack() ? find_description(NULL) : wtl_thread_call(find_description, NULL)) <
	    0)
		return wtl_err_set(err, EINVAL, "screen", NULL,
				   "the type of this terminal is not known here (TERM=%s)",
				   type ? type : "");
	screen->place = capability("cup");
	if (!screen->place || !capability("clear"))
		return wtl_err_set(err, EINVAL, "screen", NULL,
				   "this type of terminal shows lines only (TERM=%s)",
				   type ? type : "");
	screen->place_is_ansi = strcmp(screen->place, "\033[%i%p1%d;%p2%dH") == 0;
	screen->keeps_corner = !has("am") || has("xenl");
	screen->moves_in_looks = has("msgr");
	wtl_screen_keys_init(&screen->keys, capability);
	set_looks(screen);
	prepare_rescue();
	enter(screen);
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
	wtl_screen_leave(screen);
	if (wtl_rescue()->len > 0)
		watch_faults(SIG_DFL);
	wtl_rescue()->len = 0;
	if (cur_term)
		del_curterm(cur_term);
	free(screen->shown);
	free(screen);
}
