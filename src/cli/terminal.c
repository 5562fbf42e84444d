/* SPDX-License-Identifier: MIT */
#include "cli/terminal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "base/num.h"
#include "cli/canvas.h"

struct wtl_terminal_size wtl_terminal_size(int fd)
{
	struct winsize size;

	if (ioctl(fd, TIOCGWINSZ, &size) < 0)
		return (struct wtl_terminal_size){0, 0};
	return (struct wtl_terminal_size){.rows = size.ws_row, .columns = size.ws_col};
}

int wtl_terminal_given(const char *name, int otherwise)
{
	const char *text = getenv(name);
	uint64_t value;

	if (!text || wtl_num_u64(text, strlen(text), &value) < 0 || value == 0 ||
	    value > WTL_CANVAS_MAX)
		return otherwise;
	return (int)value;
}
