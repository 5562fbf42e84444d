/* SPDX-License-Identifier: MIT */
#include "serve/past_blob.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/buf.h"
#include "base/text.h"
#include "serve/past.h"

enum { VERSION = 1, ARRAYS = WTL_PAST_LEVELS + 6 };

/* No time is that far from 1970. */
#define TIME_MAX_NS (INT64_MAX / 4)

static const char magic[12] = "wattle-past";

/* The arrays follow it as they are in memory. */
struct fixed {
	char magic[sizeof(magic)];
	uint32_t version;
	char release[32];
	uint64_t n_domains;
	struct wtl_past_state state;
	int64_t newest[WTL_PAST_LEVELS];
};

struct array {
	void *at;
	size_t size;
};

static void list_arrays(const struct wtl_past *past, struct array arrays[ARRAYS])
{
	size_t n = 0;

	for (; n < WTL_PAST_LEVELS; n++) {
		const struct wtl_past_level *level = &past->levels[n];

		arrays[n] = (struct array){level->cells,
					   level->n * past->n_columns * sizeof(*level->cells)};
	}
	arrays[n++] = (struct array){past->names, past->n_columns * sizeof(*past->names)};
	arrays[n++] = (struct array){past->marks, WTL_PAST_MARKS * sizeof(*past->marks)};
	arrays[n++] = (struct array){past->used_uj, (size_t)WTL_PAST_MARKS * WTL_PAST_USERS *
							    sizeof(*past->used_uj)};
	arrays[n++] = (struct array){past->users, WTL_PAST_USERS * sizeof(*past->users)};
	arrays[n++] =
		(struct array){past->user_since_ns, WTL_PAST_USERS * sizeof(*past->user_since_ns)};
	arrays[n++] = (struct array){past->windows, WTL_PAST_WINDOWS * sizeof(*past->windows)};
}

/* ---- Writing ---- */

static void write_fixed(const struct wtl_past *past, struct wtl_buf *buf)
{
	struct fixed fixed;

	memset(&fixed, 0, sizeof(fixed));
	memcpy(fixed.magic, magic, sizeof(magic));
	fixed.version = VERSION;
	wtl_text_copy(fixed.release, sizeof(fixed.release), WATTLE_VERSION);
	fixed.n_domains = past->n_domains;
	fixed.state = past->state;
	for (size_t i = 0; i < WTL_PAST_LEVELS; i++)
		fixed.newest[i] = past->levels[i].newest;
	wtl_buf_add(buf, &fixed, sizeof(fixed));
}

void wtl_past_blob_write(struct wtl_past *past, struct wtl_buf *buf)
{
	struct array arrays[ARRAYS];

	pthread_mutex_lock(&past->lock);
	write_fixed(past, buf);
	list_arrays(past, arrays);
	for (size_t i = 0; i < ARRAYS; i++)
		wtl_buf_add(buf, arrays[i].at, arrays[i].size);
	pthread_mutex_unlock(&past->lock);
}

/* ---- Reading ---- */

static bool is_time(int64_t ns)
{
	return ns >= 0 && ns <= TIME_MAX_NS;
}

static bool is_shift(int64_t ns)
{
	return ns >= -TIME_MAX_NS && ns <= TIME_MAX_NS;
}

static int check_fixed(const struct fixed *fixed, const struct wtl_past *past)
{
	const struct wtl_past_state *state = &fixed->state;

	if (!is_shift(state->boot_ns) || !is_shift(state->ahead_ns) || !is_time(state->seen_ns) ||
	    !is_time(state->begin_ns) || !is_time(state->agent_utc_ns) ||
	    state->n_windows > INT64_MAX)
		return -EPROTO;
	for (size_t i = 0; i < WTL_PAST_LEVELS; i++)
		if (state->n_marks[i] > INT64_MAX ||
		    (fixed->newest[i] != INT64_MIN &&
		     (fixed->newest[i] < 0 ||
		      fixed->newest[i] > TIME_MAX_NS / past->levels[i].step_ns)))
			return -EPROTO;
	return 0;
}

static bool are_texts(const char *at, size_t size, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!memchr(at + i * size, '\0', size))
			return false;
	return true;
}

static bool are_windows(const struct wtl_past_window windows[])
{
	for (size_t i = 0; i < WTL_PAST_WINDOWS; i++) {
		unsigned char truth;

		memcpy(&truth, &windows[i].has_energy, 1);
		if (truth > 1 || !are_texts(windows[i].name, sizeof(windows[i].name), 1) ||
		    !is_shift(windows[i].begin_utc_ns) || !is_shift(windows[i].end_utc_ns))
			return false;
	}
	return true;
}

static bool are_users(const struct wtl_past *past)
{
	for (size_t i = 0; i < WTL_PAST_MARKS; i++)
		if (!is_time(past->marks[i].t_ns))
			return false;
	for (size_t i = 0; i < WTL_PAST_USERS; i++)
		if (!is_time(past->user_since_ns[i]))
			return false;
	return are_texts(past->users[0], sizeof(past->users[0]), WTL_PAST_USERS);
}

/* A cell that is not a number is not known. */
static void clean_cells(const struct wtl_past *past)
{
	for (size_t which = 0; which < WTL_PAST_LEVELS; which++) {
		const struct wtl_past_level *level = &past->levels[which];

		for (size_t i = 0; i < level->n * past->n_columns; i++) {
			struct wtl_past_cell *cell = &level->cells[i];

			if (!isfinite(cell->mean) || !isfinite(cell->uncertainty) ||
			    !isfinite(cell->least) || !isfinite(cell->most))
				*cell = (struct wtl_past_cell){.mean = NAN};
		}
	}
}

static int fill(const char *bytes, size_t len, const struct fixed *fixed, struct wtl_past *past)
{
	const char *at = bytes + sizeof(*fixed);
	size_t sum = sizeof(*fixed);
	struct array arrays[ARRAYS];

	list_arrays(past, arrays);
	for (size_t i = 0; i < ARRAYS; i++)
		sum += arrays[i].size;
	if (sum != len || check_fixed(fixed, past) < 0)
		return -EPROTO;
	for (size_t i = 0; i < ARRAYS; at += arrays[i++].size)
		memcpy(arrays[i].at, at, arrays[i].size);
	past->state = fixed->state;
	for (size_t i = 0; i < WTL_PAST_LEVELS; i++)
		past->levels[i].newest = fixed->newest[i];
	clean_cells(past);
	return are_texts(past->names[0], sizeof(past->names[0]), past->n_columns) &&
			       are_users(past) && are_windows(past->windows)
		       ? 0
		       : -EPROTO;
}

int wtl_past_blob_read(const void *bytes, size_t len, struct wtl_past *ret_past)
{
	const char *names[WTL_PAST_DOMAINS];
	struct fixed fixed;
	int rc;

	if (len < sizeof(fixed))
		return -EPROTO;
	memcpy(&fixed, bytes, sizeof(fixed));
	if (memcmp(fixed.magic, magic, sizeof(magic)) != 0 || fixed.n_domains > WTL_PAST_DOMAINS)
		return -EPROTO;
	if (fixed.version != VERSION ||
	    strncmp(fixed.release, WATTLE_VERSION, sizeof(fixed.release)) != 0)
		return -EPROTONOSUPPORT;
	for (size_t i = 0; i < fixed.n_domains; i++)
		names[i] = "";
	rc = wtl_past_init(ret_past, names, fixed.n_domains);
	if (rc == 0)
		rc = fill(bytes, len, &fixed, ret_past);
	if (rc < 0)
		wtl_past_done(ret_past);
	return rc;
}
