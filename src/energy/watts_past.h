/* SPDX-License-Identifier: MIT */
#ifndef WTL_ENERGY_WATTS_PAST_H
#define WTL_ENERGY_WATTS_PAST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "energy/watts.h"

/*
 * What was learned of several domains' watts in something that is over, such as a recording: gone through twice. The
 * first time, the watts at the end of each stretch are kept; then they are smoothed backwards; the second time, each
 * stretch is shown by what all looks tell of it, those behind it, too.
 */
struct wtl_watts_past;

struct wtl_watts_past *wtl_watts_past_new(void);       /* NULL: no memory */
void wtl_watts_past_free(struct wtl_watts_past *past); /* NULL is fine */

/* How long stretches are, before the first one. */
void wtl_watts_past_begin(struct wtl_watts_past *past, int64_t stretch_ns);

/* ---- The first time ---- */

/* Who has each place (0: nobody), and what is learned of each domain. All share the places; some have fewer. */
struct wtl_watts_moment {
	size_t n_places, n_watts;
	const uint32_t *keys;
	struct wtl_watts *const *watts; /* NULL: none of that number */
};

/* The next look lasts until end_ns. Where that is past the end of the stretch, the stretch is kept as it is now. */
void wtl_watts_past_reach(struct wtl_watts_past *past, int64_t end_ns,
			  const struct wtl_watts_moment *now);
/* Who used how much in that look; what it taught is not known yet. */
void wtl_watts_past_note(struct wtl_watts_past *past, const struct wtl_watts_look *look,
			 size_t n_places);
/* The stretch ends here. is_other: what comes next is another machine. */
void wtl_watts_past_end(struct wtl_watts_past *past, const struct wtl_watts_moment *now,
			bool is_other);
/* All of it was seen. -ENOMEM: then or before. */
int wtl_watts_past_smooth(struct wtl_watts_past *past);

/* ---- The second time ---- */

bool wtl_watts_past_is_smooth(const struct wtl_watts_past *past); /* NULL is not */
/* Who had which place in the stretch of the look that ends at end_ns, and what they draw. false: no such stretch. */
bool wtl_watts_past_show(const struct wtl_watts_past *past, int64_t end_ns,
			 struct wtl_watts_moment *ret_moment);

#endif
