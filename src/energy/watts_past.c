/* SPDX-License-Identifier: MIT */
#include "energy/watts_past.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "energy/units.h"

struct stretch {
	int64_t end_ns;
	bool is_other; /* what follows is another machine */
	size_t n_places, n_watts;
	struct wtl_watts_stretch all;
	uint32_t *keys;
	struct wtl_watts **watts;
};

struct wtl_watts_past {
	struct stretch *stretches;
	size_t n, room;
	bool is_smooth;
	int error; /* of the first time */
	int64_t stretch_ns;
	/* The newest one, which goes on. */
	int64_t now_ns;
	struct wtl_watts_stretch all;
	size_t n_places;
};

struct wtl_watts_past *wtl_watts_past_new(void)
{
	return calloc(1, sizeof(struct wtl_watts_past));
}

static void stretch_done(struct stretch *stretch)
{
	for (size_t i = 0; stretch->watts && i < stretch->n_watts; i++)
		wtl_watts_free(stretch->watts[i]);
	free(stretch->keys);
	free(stretch->all.ran_s);
	free(stretch->watts);
}

void wtl_watts_past_free(struct wtl_watts_past *past)
{
	if (!past)
		return;
	for (size_t i = 0; i < past->n; i++)
		stretch_done(&past->stretches[i]);
	free(past->stretches);
	free(past->all.ran_s);
	free(past);
}

void wtl_watts_past_begin(struct wtl_watts_past *past, int64_t stretch_ns)
{
	past->stretch_ns = stretch_ns;
}

/* ---- The first time ---- */

static int stretch_init(struct stretch *stretch, const struct wtl_watts_past *past,
			const struct wtl_watts_moment *now)
{
	*stretch = (struct stretch){
		.end_ns = past->now_ns,
		.n_places = now->n_places,
		.n_watts = now->n_watts,
		.all = {.duration_s = past->all.duration_s,
			.ran_s = calloc(now->n_places, sizeof(double))},
		.keys = calloc(now->n_places, sizeof(*stretch->keys)),
		.watts = calloc(now->n_watts, sizeof(struct wtl_watts *)),
	};
	if (!stretch->keys || !stretch->all.ran_s || !stretch->watts)
		return -ENOMEM;
	memcpy(stretch->keys, now->keys, now->n_places * sizeof(*stretch->keys));
	memcpy(stretch->all.ran_s, past->all.ran_s, now->n_places * sizeof(double));
	for (size_t i = 0; i < now->n_watts; i++) {
		if (!now->watts[i])
			continue;
		stretch->watts[i] = wtl_watts_new(wtl_watts_places(now->watts[i]));
		if (!stretch->watts[i])
			return -ENOMEM;
		wtl_watts_copy(stretch->watts[i], now->watts[i]);
	}
	return 0;
}

static int keep(struct wtl_watts_past *past, const struct wtl_watts_moment *now)
{
	struct stretch *stretch;

	if (wtl_array_reserve(&past->stretches, &past->room, past->n + 1,
			      sizeof(*past->stretches)) < 0)
		return -ENOMEM;
	stretch = &past->stretches[past->n];
	if (stretch_init(stretch, past, now) < 0) {
		stretch_done(stretch);
		return -ENOMEM;
	}
	past->n++;
	for (size_t i = 0; i < now->n_watts; i++)
		if (now->watts[i])
			wtl_watts_pass(now->watts[i], &stretch->all);
	wtl_watts_stretch_begin(&past->all, past->n_places);
	return 0;
}

void wtl_watts_past_end(struct wtl_watts_past *past, const struct wtl_watts_moment *now,
			bool is_other)
{
	if (past->all.duration_s > 0.0 && !past->error)
		past->error = keep(past, now);
	if (past->n > 0)
		past->stretches[past->n - 1].is_other |= is_other;
}

void wtl_watts_past_reach(struct wtl_watts_past *past, int64_t end_ns,
			  const struct wtl_watts_moment *now)
{
	if (wtl_array_widen(&past->all.ran_s, &past->n_places, now->n_places, sizeof(double)) < 0)
		past->error = -ENOMEM;
	if (past->all.duration_s * WTL_NS_PER_S >= (double)past->stretch_ns)
		wtl_watts_past_end(past, now, false);
	past->now_ns = end_ns;
}

void wtl_watts_past_note(struct wtl_watts_past *past, const struct wtl_watts_look *look,
			 size_t n_places)
{
	wtl_watts_stretch_add(&past->all, look,
			      n_places < past->n_places ? n_places : past->n_places);
}

/* From the stretch behind it to this one. */
static int smooth_one(struct stretch *stretch, const struct stretch *later, bool goes_on[])
{
	int rc = 0;

	for (size_t i = 0; i < stretch->n_places; i++)
		goes_on[i] = stretch->keys[i] == later->keys[i];
	for (size_t i = 0; rc == 0 && i < stretch->n_watts; i++) {
		struct wtl_watts *predicted;

		if (!stretch->watts[i] || !later->watts[i])
			continue;
		predicted = wtl_watts_new(wtl_watts_places(stretch->watts[i]));
		if (!predicted)
			return -ENOMEM;
		wtl_watts_copy(predicted, stretch->watts[i]);
		wtl_watts_pass(predicted, &stretch->all);
		rc = wtl_watts_smooth(stretch->watts[i], predicted, later->watts[i], goes_on);
		wtl_watts_free(predicted);
	}
	return rc;
}

int wtl_watts_past_smooth(struct wtl_watts_past *past)
{
	bool *goes_on = calloc(past->n_places + 1, sizeof(*goes_on));
	int rc = goes_on ? past->error : -ENOMEM;

	for (size_t i = past->n; rc == 0 && i-- > 1;)
		if (!past->stretches[i - 1].is_other)
			rc = smooth_one(&past->stretches[i - 1], &past->stretches[i], goes_on);
	free(goes_on);
	past->is_smooth = rc == 0;
	return rc;
}

/* ---- The second time ---- */

bool wtl_watts_past_is_smooth(const struct wtl_watts_past *past)
{
	return past && past->is_smooth;
}

bool wtl_watts_past_show(const struct wtl_watts_past *past, int64_t end_ns,
			 struct wtl_watts_moment *ret_moment)
{
	size_t low = 0, high = past->n;
	const struct stretch *stretch;

	if (past->n == 0)
		return false;
	while (low < high) {
		size_t middle = (low + high) / 2;

		if (past->stretches[middle].end_ns < end_ns)
			low = middle + 1;
		else
			high = middle;
	}
	stretch = &past->stretches[low < past->n ? low : past->n - 1];
	*ret_moment = (struct wtl_watts_moment){
		.n_places = stretch->n_places,
		.n_watts = stretch->n_watts,
		.keys = stretch->keys,
		.watts = stretch->watts,
	};
	return true;
}
