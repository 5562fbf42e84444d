/* SPDX-License-Identifier: MIT */
#include "cli/screen_feed.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"

/* A key's bytes come together, unless they went through a network. No sequence that a terminal sends is longer. */
enum { ESCAPE = 27, KEY_MS = 25, SEQUENCE_MAX = 32, X10_LEN = 6 };

int wtl_screen_feed_open(struct wtl_screen_feed *feed)
{
	int ends[2], rc;

	*feed = (struct wtl_screen_feed){.in = -1};
	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	feed->out = fdopen(ends[0], "r");
	feed->in = ends[1];
	if (feed->out)
		return 0;
	rc = -errno;
	close(ends[0]);
	close(ends[1]);
	return rc;
}

void wtl_screen_feed_close(struct wtl_screen_feed *feed)
{
	if (!feed->out)
		return;
	fclose(feed->out);
	close(feed->in);
	feed->out = NULL;
}

enum kind {
	WHOLE,
	KEY_BEGUN,
	MOUSE_BEGUN, /* the rest may never come */
	NO_REPORT,   /* it began like one */
};

/* The bytes behind "ESC [ <": numbers, and M or m. */
static enum kind scan_report(const char *bytes, size_t n, size_t *ret_len)
{
	size_t at = 3;

	while (at < n && ((bytes[at] >= '0' && bytes[at] <= '9') || bytes[at] == ';'))
		at++;
	*ret_len = at;
	if (at >= SEQUENCE_MAX)
		return NO_REPORT;
	if (at == n)
		return MOUSE_BEGUN;
	if (bytes[at] != 'M' && bytes[at] != 'm')
		return NO_REPORT;
	*ret_len = at + 1;
	return WHOLE;
}

/* What begins with "ESC [", n > 2 bytes. */
static enum kind scan_sequence(const char *bytes, size_t n, size_t *ret_len)
{
	size_t at = 2;

	if (bytes[2] == '<')
		return scan_report(bytes, n, ret_len);
	*ret_len = X10_LEN;
	if (bytes[2] == 'M')
		return n < X10_LEN ? MOUSE_BEGUN : WHOLE;
	while (at < n && at < SEQUENCE_MAX && bytes[at] >= ' ' && bytes[at] < '@')
		at++;
	*ret_len = at;
	return at == n && at < SEQUENCE_MAX ? KEY_BEGUN : WHOLE;
}

/* What begins here, n > 0 bytes, is of *ret_len bytes. */
static enum kind scan(const char *bytes, size_t n, size_t *ret_len)
{
	*ret_len = 1;
	if (bytes[0] != ESCAPE)
		return WHOLE;
	if (n == 1 || ((bytes[1] == '[' || bytes[1] == 'O') && n == 2))
		return KEY_BEGUN;
	return bytes[1] == '[' ? scan_sequence(bytes, n, ret_len) : WHOLE;
}

/* Hands on what is whole, and what is no report is left out. What stays is the beginning of something: WHOLE where
 * nothing does. Of a key it may be handed on as well. */
static enum kind hand_on(struct wtl_screen_feed *feed, bool with_begun_keys)
{
	size_t at = 0, from = 0, len = 0;
	enum kind kind = WHOLE;

	for (; at < feed->n_held; at += len) {
		kind = scan(feed->held + at, feed->n_held - at, &len);
		if (kind == KEY_BEGUN && with_begun_keys)
			len = feed->n_held - at;
		else if (kind == KEY_BEGUN || kind == MOUSE_BEGUN)
			break;
		if (kind == NO_REPORT) {
			wtl_fd_write_all(feed->in, feed->held + from, at - from);
			from = at + len;
		}
	}
	wtl_fd_write_all(feed->in, feed->held + from, at - from);
	feed->n_held -= at;
	memmove(feed->held, feed->held + at, feed->n_held);
	return feed->n_held > 0 ? kind : WHOLE;
}

static bool read_more(struct wtl_screen_feed *feed, int wait_ms)
{
	struct pollfd watched = {.fd = STDIN_FILENO, .events = POLLIN};
	ssize_t n;

	if (feed->n_held == sizeof(feed->held) || poll(&watched, 1, wait_ms) <= 0 ||
	    !(watched.revents & POLLIN))
		return false;
	n = read(STDIN_FILENO, feed->held + feed->n_held, sizeof(feed->held) - feed->n_held);
	if (n <= 0)
		return false;
	feed->n_held += (size_t)n;
	return true;
}

int wtl_screen_feed_take(struct wtl_screen_feed *feed)
{
	if (!read_more(feed, 0))
		return 0;
	while (hand_on(feed, false) == KEY_BEGUN && read_more(feed, KEY_MS))
		;
	hand_on(feed, true);
	return 1;
}
