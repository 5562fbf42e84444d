/* SPDX-License-Identifier: MIT */
#ifndef WTL_ENERGY_READING_H
#define WTL_ENERGY_READING_H

#include <stdbool.h>
#include <stdint.h>

#include <wattle.h>

/*
 * One value of one channel. value and t_mono_ns mean something only with status OK (value: in the
 * channel's counts). The read began half_ns before t_mono_ns and ended half_ns after it.
 */
struct wtl_reading {
	int64_t t_mono_ns;
	int64_t half_ns;
	uint64_t value;
	bool anew; /* a counter that started from 0 since the last good reading: no difference to it */
	enum wattle_status status;
	int error; /* negative errno or -WTL_E…, with a status that is not OK */
	/* Then also why, in full words, and what to do about it: static, or NULL where the error says
	 * all that is known. */
	const char *reason, *remedy;
};

/* The status that a negative errno stands for; 0 is OK. */
enum wattle_status wtl_status_from_error(int error);

#endif
