/* SPDX-License-Identifier: MIT */
#include "replay/recorder_windows.h"

#include <stddef.h>
#include <string.h>

#include "base/text.h"
#include "meter/observer.h"

/* Should the place of `a` be reused before that of `b`? */
static bool is_older(const struct wtl_known_window *a, const struct wtl_known_window *b)
{
	if (a->is_open != b->is_open)
		return b->is_open;
	return a->id < b->id;
}

struct wtl_known_window *wtl_known_windows_add(struct wtl_known_windows *windows,
					       const struct wtl_window_note *note)
{
	struct wtl_known_window *place = &windows->list[0];

	for (size_t i = 1; i < WTL_KNOWN_WINDOWS; i++)
		if (is_older(&windows->list[i], place))
			place = &windows->list[i];
	*place = (struct wtl_known_window){
		.id = ++windows->n,
		.is_open = true,
		.is_stacked = note->is_stacked,
		.begin_utc_ns = note->t_utc_ns,
		.begin_mono_ns = note->t_mono_ns,
	};
	wtl_text_copy(place->name, sizeof(place->name), note->name);
	return place;
}

/* is_stacked NULL: of any kind, open or not. */
static struct wtl_known_window *newest(struct wtl_known_windows *windows, const char *name,
				       const bool *is_stacked)
{
	struct wtl_known_window *found = NULL;

	for (size_t i = 0; i < WTL_KNOWN_WINDOWS; i++) {
		struct wtl_known_window *window = &windows->list[i];

		if (window->id == 0 || (found && window->id < found->id) ||
		    (is_stacked && (!window->is_open || window->is_stacked != *is_stacked)) ||
		    strcmp(window->name, name) != 0)
			continue;
		found = window;
	}
	return found;
}

struct wtl_known_window *wtl_known_windows_find(struct wtl_known_windows *windows, const char *name)
{
	return newest(windows, name, NULL);
}

struct wtl_known_window *wtl_known_windows_find_open(struct wtl_known_windows *windows,
						     const char *name, bool is_stacked)
{
	return newest(windows, name, &is_stacked);
}
