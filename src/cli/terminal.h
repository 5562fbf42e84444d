/* SPDX-License-Identifier: MIT */
#ifndef WTL_CLI_TERMINAL_H
#define WTL_CLI_TERMINAL_H

/* 0: not known. */
struct wtl_terminal_size {
	int rows, columns;
};

/* What a terminal reports; nothing, if fd is none. */
struct wtl_terminal_size wtl_terminal_size(int fd);

/* What the user sets: LINES or COLUMNS, from 1 to WTL_CANVAS_MAX; else `otherwise`. */
int wtl_terminal_given(const char *name, int otherwise);

#endif
