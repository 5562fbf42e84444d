/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "cli/terminal.h"
#include "commands/query/query.h"

/* wattle may be killed at any moment, so each sample leaves the terminal in its usual state: no alternate screen,
 * and line wrapping on. */
#define UP	 "\033[%zuA"
#define NO_WRAP	 "\r\033[?7l"
#define LINE_END "\033[K\n"
#define REST	 "\033[J\033[?7h"

enum { ROWS_WITHOUT_SIZE = 24 };

bool wtl_redraw_is_possible(void)
{
	const char *term = getenv("TERM");

	return isatty(STDOUT_FILENO) == 1 && term && strcmp(term, "dumb") != 0;
}

static size_t rows(void)
{
	int said = wtl_terminal_size(STDOUT_FILENO).rows;

	return said > 0 ? (size_t)said : ROWS_WITHOUT_SIZE;
}

static size_t count_lines(const char *text)
{
	size_t n = 0;

	for (; (text = strchr(text, '\n')); text++)
		n++;
	return n;
}

void wtl_redraw(struct wtl_buf *buf, const char *text, size_t *lines)
{
	const size_t n = count_lines(text), room = rows() - 1;
	const size_t shown = n <= room ? n : room > 0 ? room - 1 : 0;

	if (*lines > 0)
		wtl_buf_printf(buf, UP, *lines);
	wtl_buf_puts(buf, NO_WRAP);
	for (size_t i = 0; i < shown; i++, text++) {
		size_t len = strcspn(text, "\n");

		wtl_buf_add(buf, text, len);
		wtl_buf_puts(buf, LINE_END);
		text += len;
	}
	if (shown < n)
		wtl_buf_printf(buf, "(%zu more lines)" LINE_END, n - shown);
	wtl_buf_puts(buf, REST);
	*lines = shown + (shown < n);
}
