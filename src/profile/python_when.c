/* SPDX-License-Identifier: MIT */
#include "profile/python_when.h"

/* A try without haste has TRY_SAMPLES samples, and fails with more than TRY_MISFITS misfits. The next one comes
 * after HASTE_MAX samples at most. With no more than TRY_FEW misfits, more samples share a reading. */
enum { TRY_SAMPLES = 128, TRY_MISFITS = 6, TRY_FEW = 2, HASTE_MAX = 16384, TOGETHER_MAX = 24 };

/* With APART_TORN of APART_READINGS readings torn, the thread is too fast. With functions in C one in a hundred is. */
/* After coming back, at most PATIENCE_MAX good tries pass until it is apart again. */
enum { APART_READINGS = 16, APART_TORN = 2, PATIENCE_MAX = 128 };

void wtl_python_when_init(struct wtl_python_when *when)
{
	*when = (struct wtl_python_when){.n_hasten = WTL_PYTHON_HASTE,
					 .haste = WTL_PYTHON_HASTE,
					 .together = WTL_PYTHON_TOGETHER,
					 .patience = 1};
}

unsigned wtl_python_when_awaits(const struct wtl_python_when *when)
{
	return when->n_hasten > 0 ? 1 : when->together;
}

static unsigned doubled(unsigned n, unsigned most)
{
	return 2 * n < most ? 2 * n : most;
}

static void go_apart(struct wtl_python_when *when, int64_t now_ns)
{
	when->is_apart = true;
	when->apart_ns = now_ns;
	when->n_good = when->n_apart = when->n_torn = 0;
}

/* Back to the thread's processor: for twice as long as before, unless being apart went well for longer. */
static bool come_back(struct wtl_python_when *when)
{
	when->is_apart = false;
	when->back_ns = when->now_ns;
	when->n_tried = when->n_misfits = 0;
	when->patience = when->n_good > when->patience ? 1 : doubled(when->patience, PATIENCE_MAX);
	when->n_good = 0;
	return true;
}

bool wtl_python_when_read(struct wtl_python_when *when, unsigned n_moves, int64_t now_ns)
{
	when->now_ns = now_ns;
	if (!when->is_apart)
		return false;
	if (when->n_apart == APART_READINGS)
		when->n_apart = when->n_torn = 0;
	when->n_apart++;
	when->n_torn += n_moves >= WTL_PYTHON_MOVES;
	return when->n_torn >= APART_TORN && come_back(when);
}

/* A try without haste has ended. */
static bool conclude(struct wtl_python_when *when, int64_t t_ns)
{
	if (when->n_misfits > TRY_FEW)
		when->together = WTL_PYTHON_TOGETHER;
	else if (when->together < TOGETHER_MAX)
		when->together += WTL_PYTHON_TOGETHER;
	if (when->n_misfits <= TRY_MISFITS) {
		when->haste = WTL_PYTHON_HASTE;
		if (++when->n_good >= when->patience && !when->is_apart)
			go_apart(when, t_ns);
		return false;
	}
	if (when->is_apart)
		return come_back(when);
	when->n_good = 0;
	when->n_hasten = when->haste;
	when->haste = doubled(when->haste, HASTE_MAX);
	return false;
}

bool wtl_python_when_merged(struct wtl_python_when *when, bool is_known, int64_t t_ns)
{
	bool is_back;

	if (when->n_hasten > 0) {
		when->n_hasten--;
		return false;
	}
	/* It was read apart, and is merged only now. */
	if (t_ns <= when->back_ns)
		return false;
	when->n_tried++;
	when->n_misfits += !is_known;
	if (when->n_misfits <= TRY_MISFITS && when->n_tried < TRY_SAMPLES)
		return false;
	is_back = conclude(when, t_ns);
	when->n_tried = when->n_misfits = 0;
	return is_back;
}
