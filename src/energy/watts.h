/* SPDX-License-Identifier: MIT */
#ifndef WTL_ENERGY_WATTS_H
#define WTL_ENERGY_WATTS_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Watts learned from energy and use: how much a domain draws at rest, how much more while anybody uses it, and
 * how much each user adds for a second of its use. Over a look of length dt
 *
 *	energy = idle · dt + awake_w · awake_s + sum over users (w · use_s) + what is left over
 *
 * which is a linear regression; it is solved look by look by a Kalman filter (recursive least squares). Idle power may drift
 * from look to look, users' watts from one stretch to the next one. What is left over tells how noisy looks are; a look that is far off counts less.
 *
 * Users are numbered places. Arithmetic only: doubles and floats, +-*: and sqrt, in a fixed order, so that the same looks
 * give the same watts on every machine. Nothing allocates but _new().
 *
 * The constants are judgement, tried on made-up machines (tests/unit/test_watts.c): see watts.c.
 */
struct wtl_watts;

enum { WTL_WATTS_PLACES_MAX = 64 };

/* NULL: no memory, or too many places. */
struct wtl_watts *wtl_watts_new(size_t n_places);
size_t wtl_watts_places(const struct wtl_watts *watts);
void wtl_watts_free(struct wtl_watts *watts); /* NULL is fine */

/* What is known of the power at rest, with its standard uncertainty: replaces what was learned of it. */
void wtl_watts_know_idle(struct wtl_watts *watts, double idle_w, double uncertainty_w);

struct wtl_watts_look {
	double energy_j, duration_s;
	double noise_j;	    /* standard uncertainty of the energy by the times of its two reads */
	double use_doubt_s; /* the same of all use together */
	/* Of the duration, how long anybody used the domain. */
	double awake_s;
	const double *use_s; /* one a place; more than the duration where several CPUs were used */
};

/* The machine is not what it was: watts of users may all be more or less now, idle power may be a little. */
void wtl_watts_doubt(struct wtl_watts *watts);

/* A look of no length teaches nothing. */
void wtl_watts_add(struct wtl_watts *watts, const struct wtl_watts_look *look);

/* Before the first look: many share the place, each taken for a typical user. In the mean they
 * nearly are. Use that is seen of nobody, which is counted there, is too coarse to learn from. */
void wtl_watts_mix(struct wtl_watts *watts, size_t place);

/* A place has a new user. _clear(): nothing is known of it, so it is taken for a typical one.
 * _split(): so far it was counted at the place `from`. */
void wtl_watts_clear(struct wtl_watts *watts, size_t place);
void wtl_watts_split(struct wtl_watts *watts, size_t place, size_t from);
/* After one of these: the user is known from an earlier time. */
void wtl_watts_know(struct wtl_watts *watts, size_t place, double w, double uncertainty_w);

/* Watts, and their standard uncertainties. */
struct wtl_watts_figure {
	double w, uncertainty_w;
};
struct wtl_watts_figure wtl_watts_idle(const struct wtl_watts *watts);
/* The same, taken for the mean over all looks so far: less certain, as it may have drifted. */
struct wtl_watts_figure wtl_watts_idle_of_all(const struct wtl_watts *watts);
struct wtl_watts_figure wtl_watts_awake(const struct wtl_watts *watts);
struct wtl_watts_figure wtl_watts_of(const struct wtl_watts *watts, size_t place); /* w > 0 */
/* How many looks taught it anything. */
unsigned wtl_watts_looks(const struct wtl_watts *watts);

/*
 * Watts per second of use by which a look's dynamic energy is to be divided: a place's own, and the same part of
 * what being awake draws for every second of use. weights_w has one a place. After less than 8 looks, all of whom nothing
 * was known before have the same.
 */
void wtl_watts_weights(const struct wtl_watts *watts, const struct wtl_watts_look *look,
		       double weights_w[]);

/*
 * Standard uncertainties, relative, of the shares that those weights give: of whoever has all, 0. doubts has one a
 * place.
 */
void wtl_watts_doubts(const struct wtl_watts *watts, const struct wtl_watts_look *look,
		      const double weights_w[], double doubts[]);

/*
 * ---- Stretches: of looks whose energy is divided at once, by what each user draws in the mean ----
 *
 * Such a mean is better known than what is drawn at its end. So users' watts do not drift from look to look, but with
 * wtl_watts_pass() from one stretch to the next one.
 */
struct wtl_watts_stretch {
	double duration_s;
	double *ran_s; /* one a place: time of looks in which it was used */
};
void wtl_watts_stretch_add(struct wtl_watts_stretch *stretch, const struct wtl_watts_look *look,
			   size_t n_places);
void wtl_watts_stretch_begin(struct wtl_watts_stretch *stretch, size_t n_places);
void wtl_watts_pass(struct wtl_watts *watts, const struct wtl_watts_stretch *stretch);

/* ---- Backwards: what was learned late also tells of what was early ---- */

/* Both have as many places. */
void wtl_watts_copy(struct wtl_watts *to, const struct wtl_watts *from);

/* From now on idle power drifts from stretch to stretch, too. */
void wtl_watts_hold(struct wtl_watts *watts);

/*
 * watts: as of the end of a stretch; predicted: the same after wtl_watts_pass(); later: as of the end of the next
 * stretch, already smoothed. Afterwards, watts has what all looks tell of its stretch. goes_on: places whose owner is
 * the same in both. 0 or -ENOMEM.
 */
int wtl_watts_smooth(struct wtl_watts *watts, const struct wtl_watts *predicted,
		     const struct wtl_watts *later, const bool goes_on[]);

#endif
