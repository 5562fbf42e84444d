/* SPDX-License-Identifier: MIT */
#include "cli/screen_keys.h"

#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/thread.h"
#include "document/format.h"
#include "energy/units.h"

/* A key's bytes come together, unless they went through a network. No terminal sends more than SEQUENCE_MAX. */
enum { ESCAPE = 27, KEY_MS = 25, SEQUENCE_MAX = 32, X10_LEN = 6, DOUBLE_CLICK_MS = 400 };

static const struct {
	const char *capability;
	enum wtl_key key;
} described[WTL_SCREEN_KEYS] = {
	{"kcuu1", WTL_KEY_UP},	   {"kcud1", WTL_KEY_DOWN},  {"kcub1", WTL_KEY_LEFT},
	{"kcuf1", WTL_KEY_RIGHT},  {"kpp", WTL_KEY_PAGE_UP}, {"knp", WTL_KEY_PAGE_DOWN},
	{"khome", WTL_KEY_HOME},   {"kend", WTL_KEY_END},    {"kent", WTL_KEY_ENTER},
	{"kdch1", WTL_KEY_DELETE}, {"kf1", WTL_KEY_F1},	     {"kf2", WTL_KEY_F2},
	{"kf3", WTL_KEY_F3},	   {"kf4", WTL_KEY_F4},	     {"kf5", WTL_KEY_F5},
	{"kf6", WTL_KEY_F6},	   {"kf7", WTL_KEY_F7},	     {"kf8", WTL_KEY_F8},
	{"kf9", WTL_KEY_F9},	   {"kf10", WTL_KEY_F10},
};

void wtl_screen_keys_init(struct wtl_screen_keys *keys, const char *(*text)(const char *capability))
{
	memset(keys, 0, sizeof(*keys));
	for (size_t i = 0; i < WTL_SCREEN_KEYS; i++)
		keys->sequences[i] = text(described[i].capability);
}

/* The bytes are whole, or begin a key, or a report of the mouse (whose rest may never come). */
enum kind { WHOLE, KEY_BEGUN, MOUSE_BEGUN };

static void take_key(struct wtl_input *input, enum wtl_key key)
{
	input->kind = key == WTL_KEY_NONE ? WTL_INPUT_NONE : WTL_INPUT_KEY;
	input->key = key;
}

/* ---- The mouse ---- */

static enum wtl_input_kind click_kind(struct wtl_screen_keys *keys, int row, int column)
{
	int64_t ms = wtl_thread_clock_ns() / WTL_NS_PER_MS;
	bool twice = ms - keys->click_ms < DOUBLE_CLICK_MS && row == keys->click_row &&
		     column == keys->click_column;

	keys->click_ms = twice ? 0 : ms;
	keys->click_row = row;
	keys->click_column = column;
	return twice ? WTL_INPUT_DOUBLE_CLICK : WTL_INPUT_CLICK;
}

/* A button was pressed. Shift, Alt and Control are ignored. Rows and columns are from 1. */
static void take_mouse(struct wtl_screen_keys *keys, unsigned button, unsigned column, unsigned row,
		       struct wtl_input *input)
{
	enum { MODIFIERS = 4 | 8 | 16, WHEEL_UP = 64, WHEEL_DOWN = 65 };

	button &= ~(unsigned)MODIFIERS;
	input->row = (int)row - 1;
	input->column = (int)column - 1;
	if (button == WHEEL_UP)
		input->kind = WTL_INPUT_WHEEL_UP;
	else if (button == WHEEL_DOWN)
		input->kind = WTL_INPUT_WHEEL_DOWN;
	else if (button == 0)
		input->kind = click_kind(keys, input->row, input->column);
}

/* "ESC [ <", three numbers, and M, or m for a button that was released. What only begins like one is skipped. */
static enum kind scan_report(struct wtl_screen_keys *keys, size_t *ret_len, struct wtl_input *input)
{
	const char *bytes = keys->held;
	size_t at = 3, n = keys->n_held;
	unsigned numbers[3];
	char text[SEQUENCE_MAX];

	while (at < n && ((bytes[at] >= '0' && bytes[at] <= '9') || bytes[at] == ';'))
		at++;
	*ret_len = at;
	if (at >= SEQUENCE_MAX)
		return WHOLE;
	if (at == n)
		return MOUSE_BEGUN;
	if (bytes[at] != 'M' && bytes[at] != 'm')
		return WHOLE;
	*ret_len = at + 1;
	memcpy(text, bytes + 3, at - 3);
	text[at - 3] = '\0';
	if (bytes[at] == 'M' &&
	    sscanf(text, "%5u;%5u;%5u", &numbers[0], &numbers[1], &numbers[2]) == 3)
		take_mouse(keys, numbers[0], numbers[1], numbers[2], input);
	return WHOLE;
}

/* "ESC [ M" and three bytes, from terminals that know only this form. */
static enum kind scan_x10(struct wtl_screen_keys *keys, size_t *ret_len, struct wtl_input *input)
{
	const unsigned char *bytes = (const unsigned char *)keys->held + 3;

	*ret_len = X10_LEN;
	if (keys->n_held < X10_LEN)
		return MOUSE_BEGUN;
	if (bytes[0] >= ' ' && bytes[1] > ' ' && bytes[2] > ' ')
		take_mouse(keys, bytes[0] - (unsigned)' ', bytes[1] - (unsigned)' ',
			   bytes[2] - (unsigned)' ', input);
	return WHOLE;
}

/* ---- Keys ---- */

/* "ESC [ NUMBER ~", in the numbering of the VT220. */
static enum wtl_key numbered_key(unsigned number)
{
	static const uint8_t keys[] = {
		[1] = WTL_KEY_HOME,    [3] = WTL_KEY_DELETE,	[4] = WTL_KEY_END,
		[5] = WTL_KEY_PAGE_UP, [6] = WTL_KEY_PAGE_DOWN, [7] = WTL_KEY_HOME,
		[8] = WTL_KEY_END,     [11] = WTL_KEY_F1,	[12] = WTL_KEY_F2,
		[13] = WTL_KEY_F3,     [14] = WTL_KEY_F4,	[15] = WTL_KEY_F5,
		[17] = WTL_KEY_F6,     [18] = WTL_KEY_F7,	[19] = WTL_KEY_F8,
		[20] = WTL_KEY_F9,     [21] = WTL_KEY_F10,
	};

	return number < sizeof(keys) ? (enum wtl_key)keys[number] : WTL_KEY_NONE;
}

/* "ESC [ LETTER" and "ESC O LETTER". */
static enum wtl_key lettered_key(char letter)
{
	static const char letters[] = "ABCDHFPQRSM";
	static const uint8_t keys[] = {WTL_KEY_UP,   WTL_KEY_DOWN, WTL_KEY_RIGHT, WTL_KEY_LEFT,
				       WTL_KEY_HOME, WTL_KEY_END,  WTL_KEY_F1,	  WTL_KEY_F2,
				       WTL_KEY_F3,   WTL_KEY_F4,   WTL_KEY_ENTER};
	const char *at = letter ? strchr(letters, letter) : NULL;

	return at ? (enum wtl_key)keys[at - letters] : WTL_KEY_NONE;
}

/* After "ESC [" come parameters and a letter. Keys with Shift, Alt or Control have two parameters and are ignored. */
static enum kind scan_sequence(struct wtl_screen_keys *keys, size_t *ret_len,
			       struct wtl_input *input)
{
	const char *bytes = keys->held;
	size_t at = 2, n = keys->n_held;
	unsigned number = 0;

	if (bytes[2] == '<')
		return scan_report(keys, ret_len, input);
	if (bytes[2] == 'M')
		return scan_x10(keys, ret_len, input);
	for (; at < n && at < SEQUENCE_MAX && bytes[at] >= ' ' && bytes[at] < '@'; at++)
		if (bytes[at] >= '0' && bytes[at] <= '9' && number < 100)
			number = number * 10 + (unsigned)(bytes[at] - '0');
	*ret_len = at;
	if (at == SEQUENCE_MAX)
		return WHOLE;
	if (at == n)
		return KEY_BEGUN;
	*ret_len = at + 1;
	if (bytes[at] == '~' && !memchr(bytes + 2, ';', at - 2))
		take_key(input, numbered_key(number));
	else if (at == 2)
		take_key(input, lettered_key(bytes[at]));
	return WHOLE;
}

/* Finds a key of the terminal's description: its length, or 0. */
static size_t find_described(const struct wtl_screen_keys *keys, enum wtl_key *ret_key,
			     bool *ret_is_begun)
{
	*ret_is_begun = false;
	for (size_t i = 0; i < WTL_SCREEN_KEYS; i++) {
		const char *sequence = keys->sequences[i];
		size_t len = sequence ? strlen(sequence) : 0, n = keys->n_held;

		if (len == 0 || memcmp(keys->held, sequence, n < len ? n : len) != 0)
			continue;
		*ret_key = described[i].key;
		if (len <= n)
			return len;
		*ret_is_begun = true;
	}
	return 0;
}

static void take_point(struct wtl_input *input, uint32_t point)
{
	if (point == '\n' || point == '\r') {
		take_key(input, WTL_KEY_ENTER);
	} else if (point == ESCAPE) {
		take_key(input, WTL_KEY_ESCAPE);
	} else if (point == 127 || point == 8) {
		take_key(input, WTL_KEY_BACKSPACE);
	} else if (point == '\t') {
		take_key(input, WTL_KEY_TAB);
	} else {
		input->kind = WTL_INPUT_POINT;
		input->point = point;
	}
}

/* A character of UTF-8. A byte that is not UTF-8 is skipped, as is NUL (^@). */
static enum kind scan_point(const struct wtl_screen_keys *keys, size_t *ret_len,
			    struct wtl_input *input)
{
	unsigned char first = (unsigned char)keys->held[0];
	size_t wanted = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc0 ? 2 : 1;
	uint32_t point = 0;
	size_t len = wtl_format_utf8(keys->held, keys->n_held, &point);

	*ret_len = len ? len : 1;
	if (len && point)
		take_point(input, point);
	return len || keys->n_held >= wanted ? WHOLE : KEY_BEGUN;
}

/* Reads the first key, character or report from the bytes that are held. It has *ret_len of them. */
static enum kind scan(struct wtl_screen_keys *keys, size_t *ret_len, struct wtl_input *input)
{
	const char *bytes = keys->held;
	size_t n = keys->n_held;
	enum wtl_key key = WTL_KEY_NONE;
	bool is_begun;

	*ret_len = find_described(keys, &key, &is_begun);
	if (*ret_len > 0) {
		take_key(input, key);
		return WHOLE;
	}
	if (is_begun)
		return KEY_BEGUN;
	if (bytes[0] != ESCAPE)
		return scan_point(keys, ret_len, input);
	if (n == 1 || ((bytes[1] == '[' || bytes[1] == 'O') && n == 2))
		return KEY_BEGUN;
	if (bytes[1] == '[')
		return scan_sequence(keys, ret_len, input);
	*ret_len = bytes[1] == 'O' ? 3 : 1;
	take_key(input, bytes[1] == 'O' ? lettered_key(bytes[2]) : WTL_KEY_ESCAPE);
	return WHOLE;
}

static bool read_more(struct wtl_screen_keys *keys, int wait_ms)
{
	struct pollfd watched = {.fd = STDIN_FILENO, .events = POLLIN};
	ssize_t n;

	if (keys->n_held == sizeof(keys->held) || poll(&watched, 1, wait_ms) <= 0 ||
	    !(watched.revents & POLLIN))
		return false;
	n = read(STDIN_FILENO, keys->held + keys->n_held, sizeof(keys->held) - keys->n_held);
	if (n <= 0)
		return false;
	keys->n_held += (size_t)n;
	return true;
}

int wtl_screen_keys_take(struct wtl_screen_keys *keys, struct wtl_input *ret_input)
{
	enum kind kind = MOUSE_BEGUN;
	size_t len = 0;

	*ret_input = (struct wtl_input){.kind = WTL_INPUT_NONE};
	for (;;) {
		if (keys->n_held > 0)
			kind = scan(keys, &len, ret_input);
		if (kind == WHOLE)
			break;
		if (read_more(keys, kind == KEY_BEGUN ? KEY_MS : 0))
			continue;
		if (kind == MOUSE_BEGUN)
			return 0;
		/* Its first byte is a key by itself; or it is an incomplete character, which is skipped. */
		len = 1;
		if ((unsigned char)keys->held[0] < 0x80)
			take_point(ret_input, (unsigned char)keys->held[0]);
		break;
	}
	keys->n_held -= len;
	memmove(keys->held, keys->held + len, keys->n_held);
	return 1;
}
