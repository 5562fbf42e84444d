/* SPDX-License-Identifier: MIT */
#include "profile/python_when.h"

/* Of so many samples that are not read at once, so many need fit nothing that was read; and how seldom that is tried. With
 * hardly any misfits, more samples come together. */
enum { TRY_SAMPLES = 128, TRY_MISFITS = 6, TRY_FEW = 2, HASTE_MAX = 16384, TOGETHER_MAX = 24 };

void wtl_python_when_init(struct wtl_python_when *when)
{
	*when = (struct wtl_python_when){.n_hasten = WTL_PYTHON_HASTE,
					 .haste = WTL_PYTHON_HASTE,
					 .together = WTL_PYTHON_TOGETHER};
}

static unsigned doubled(unsigned n, unsigned most)
{
	return 2 * n < most ? 2 * n : most;
}

void wtl_python_when_merged(struct wtl_python_when *when, bool is_known)
{
	if (when->n_hasten > 0) {
		when->n_hasten--;
		return;
	}
	when->n_tried++;
	when->n_misfits += !is_known;
	if (when->n_misfits <= TRY_MISFITS && when->n_tried < TRY_SAMPLES)
		return;
	if (when->n_misfits > TRY_MISFITS) {
		when->n_hasten = when->haste;
		when->haste = doubled(when->haste, HASTE_MAX);
	} else {
		when->haste = WTL_PYTHON_HASTE;
	}
	if (when->n_misfits > TRY_FEW)
		when->together = WTL_PYTHON_TOGETHER;
	else if (when->together < TOGETHER_MAX)
		when->together += WTL_PYTHON_TOGETHER;
	when->n_tried = when->n_misfits = 0;
}
