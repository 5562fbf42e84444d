/* SPDX-License-Identifier: MIT */
#ifndef WTL_CLI_SCREEN_H
#define WTL_CLI_SCREEN_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/canvas.h"

struct wtl_err;

/* The terminal: shows a canvas, and returns its user's input. */

enum wtl_key {
	WTL_KEY_NONE,
	WTL_KEY_UP,
	WTL_KEY_DOWN,
	WTL_KEY_LEFT,
	WTL_KEY_RIGHT,
	WTL_KEY_PAGE_UP,
	WTL_KEY_PAGE_DOWN,
	WTL_KEY_HOME,
	WTL_KEY_END,
	WTL_KEY_ENTER,
	WTL_KEY_ESCAPE,
	WTL_KEY_TAB,
	WTL_KEY_BACKSPACE,
	WTL_KEY_DELETE,
	WTL_KEY_F1,
	WTL_KEY_F2,
	WTL_KEY_F3,
	WTL_KEY_F4,
	WTL_KEY_F5,
	WTL_KEY_F6,
	WTL_KEY_F7,
	WTL_KEY_F8,
	WTL_KEY_F9,
	WTL_KEY_F10,
};

enum wtl_input_kind {
	WTL_INPUT_NONE,
	WTL_INPUT_POINT, /* a character: its code point; control characters from 1 */
	WTL_INPUT_KEY,
	WTL_INPUT_CLICK,
	WTL_INPUT_DOUBLE_CLICK,
	WTL_INPUT_WHEEL_UP,
	WTL_INPUT_WHEEL_DOWN,
};

struct wtl_input {
	enum wtl_input_kind kind;
	uint32_t point;
	enum wtl_key key;
	int row, column; /* of the mouse */
};

struct wtl_screen_options {
	bool color, ascii, mouse;
};

struct wtl_screen;

/*
 * Takes over the terminal on standard input and output. Until wtl_screen_free() it is also given
 * back when the program dies of a fault (SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT). One at a time.
 * -ENOTTY, -EINVAL: the terminal's type is not known.
 */
int wtl_screen_new(const struct wtl_screen_options *options, struct wtl_screen **ret_screen,
		   struct wtl_err *err);
void wtl_screen_free(struct wtl_screen *screen); /* NULL is fine */

/* Takes effect with the next wtl_screen_show(). */
void wtl_screen_set(struct wtl_screen *screen, const struct wtl_screen_options *options);

/* If the terminal does not know its size: what LINES and COLUMNS say, else 24 rows of 80. */
void wtl_screen_size(struct wtl_screen *screen, int *ret_rows, int *ret_columns);

/* Shows the canvas from the upper left corner. whole: everything is drawn anew. 0, or -EIO: the
 * terminal is gone. */
int wtl_screen_show(struct wtl_screen *screen, const struct wtl_canvas *canvas, bool whole);

/* Gives the terminal back until the next wtl_screen_show(), which must then be a whole one. */
void wtl_screen_leave(struct wtl_screen *screen);

/* After a stop without notice (SIGSTOP): other programs may have used
 * the terminal. The next wtl_screen_show() must be a whole one. */
void wtl_screen_retake(struct wtl_screen *screen);

/* The user's next input; never waits. 1, 0: nothing, -EIO: the terminal is gone. */
int wtl_screen_read(struct wtl_screen *screen, struct wtl_input *ret_input);

#endif
