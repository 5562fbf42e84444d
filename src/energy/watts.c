/* SPDX-License-Identifier: MIT */
#include "energy/watts.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The state: idle, awake, what a user of whom nothing is known is taken for, and a place each. */
enum { IDLE, AWAKE, TYPICAL, FIRST_PLACE, STATE_MAX = FIRST_PLACE + WTL_WATTS_PLACES_MAX };

/* Before anything is known. */
#define IDLE_PART	 0.7 /* of the power is idle power */
#define IDLE_SPREAD	 0.4
#define AWAKE_PART	 0.15 /* of the power: standard deviation of what being awake draws, 0 at first */
#define SPREAD		 0.35  /* of watts among users: relative, standard */
#define MIXED_SPREAD	 0.25  /* of those that many together draw in the mean */
#define FRESH_SPREAD	 0.4   /* the same, as far as the first look tells what they draw at all */
#define NOISE_PART	 0.008 /* of the power: what a second scatters by, at first */
#define NOISE_LEAST	 1e-4  /* of the power */
#define NOISE_LOOKS	 2.0   /* what is assumed of it at first counts as so many looks */
#define STUDENT		 1.35  /* t of 95 % with n degrees of freedom: about 2 (1 + that / n) */
#define NOISE_LOOKS_MOST 50.0  /* no more looks than this are remembered */
#define NOISE_STEP	 9.0   /* the square of what a look is off by is cut to so many variances */
#define FAR		 9.0   /* a look is far off beyond so many variances */
#define FAR_MOST	 25.0  /* it counts less by this at most: the machine may have changed */
enum {
	TRUSTED_LOOKS =
		8, /* before that all are taken for typical: on a busy machine they say more noise than watts */
	FIRST_LOOKS = 16,
	FAR_LOOKS = 3 /* among the first ones: then the very first gave a wrong scale */
};
#define IDLE_DRIFT_PART 0.0007 /* of the power, in one second: standard */
#define IDLE_DRIFT_MOST 600.0  /* seconds after which it does not go further: temperatures settle */
#define USER_DRIFT	0.007  /* of a typical user's watts, in one second of its use */
/* Variance by which means of a random walk over two stretches in a row differ, in parts of what it walks in one. */
#define MEANS_DRIFT   (2.0 / 3.0)
#define RAN_PART      0.001 /* of a look: whoever used more ran */
#define SPLIT_SPREAD  0.2   /* by how much one differs from those it was counted with */
#define TYPICAL_LEAST 0.002 /* of the power: a typical user draws that for a second of use */
#define LOWEST_DRIFT  0.001 /* by how much the lowest power seen may rise from look to look */
#define LEAST_PART    0.05  /* of a typical user's: nobody's watts are taken to be less */
#define CHANGED_ALL \
	0.4 /* by how much users' watts change together when the machine does: relative, standard */
#define CHANGED_ONE    0.15 /* and each of its own */
#define CHANGED_IDLE   0.05
#define TYPICAL_SPREAD 0.25 /* of what users draw together in the first look: relative, standard */
#define TYPICAL_PART \
	0.25 /* of the power, for one CPU, where the first look says nothing of users */
#define TYPICAL_DOUBT 0.5 /* of the power: standard deviation of that */

struct wtl_watts {
	size_t n; /* of the state */
	bool is_held;
	size_t mixed; /* of the state: many who share a place; 0: there are none */
	unsigned looks;
	unsigned n_far;			    /* of them, that were far off */
	struct wtl_watts_figure known_idle; /* w 0: it is not known */
	double time_s;			    /* of all looks */
	double power_w;	 /* of the domain, in its first look: the scale of what is not known yet */
	double lowest_w; /* power that was seen: what it draws at rest is not more */
	double noise;	 /* variance of the power over one second */
	double noise_looks; /* what that rests on */
	double *state;	    /* n */
	float *fresh_w; /* n: how far a user whose use was not seen yet may differ from a typical one */
	float *known_w, *known_doubt_w; /* n each: of users known from before; 0: not known */
	/* n · (n + 1) / 2, the lower triangle row by row. What is rounded off is less than what a look adds by its noise. */
	float *covariance;
};

static size_t index_of(size_t i, size_t k)
{
	return i >= k ? i * (i + 1) / 2 + k : k * (k + 1) / 2 + i;
}

static double at(const struct wtl_watts *watts, size_t i, size_t k)
{
	return (double)watts->covariance[index_of(i, k)];
}

static void put(struct wtl_watts *watts, size_t i, size_t k, double value)
{
	watts->covariance[index_of(i, k)] = (float)value;
}

static void widen(struct wtl_watts *watts, size_t i, size_t k, double by)
{
	put(watts, i, k, at(watts, i, k) + by);
}

static size_t size_of(size_t n)
{
	return sizeof(struct wtl_watts) + n * sizeof(double) +
	       (3 * n + n * (n + 1) / 2) * sizeof(float);
}

static void point(struct wtl_watts *watts)
{
	size_t n = watts->n;

	watts->state = (double *)(watts + 1);
	watts->fresh_w = (float *)(watts->state + n);
	watts->known_w = watts->fresh_w + n;
	watts->known_doubt_w = watts->known_w + n;
	watts->covariance = watts->known_doubt_w + n;
}

struct wtl_watts *wtl_watts_new(size_t n_places)
{
	size_t n = n_places + FIRST_PLACE;
	struct wtl_watts *watts = n <= STATE_MAX ? calloc(1, size_of(n)) : NULL;

	if (!watts)
		return NULL;
	watts->n = n;
	point(watts);
	return watts;
}

size_t wtl_watts_places(const struct wtl_watts *watts)
{
	return watts->n - FIRST_PLACE;
}

void wtl_watts_copy(struct wtl_watts *to, const struct wtl_watts *from)
{
	memcpy(to, from, size_of(from->n));
	point(to);
}

void wtl_watts_free(struct wtl_watts *watts)
{
	free(watts);
}

static void set_alone(struct wtl_watts *watts, size_t i, double w, double uncertainty_w)
{
	watts->state[i] = w;
	for (size_t k = 0; k < watts->n; k++)
		put(watts, i, k, 0.0);
	put(watts, i, i, uncertainty_w * uncertainty_w);
}

void wtl_watts_know_idle(struct wtl_watts *watts, double idle_w, double uncertainty_w)
{
	watts->known_idle = (struct wtl_watts_figure){idle_w, uncertainty_w};
	set_alone(watts, IDLE, idle_w, uncertainty_w);
}

/* Like another one, give or take something of its own. */
static void set_like(struct wtl_watts *watts, size_t i, size_t like, double own_w)
{
	watts->state[i] = watts->state[like];
	for (size_t k = 0; k < watts->n; k++)
		if (k != i)
			put(watts, i, k, at(watts, like, k));
	put(watts, i, i, at(watts, like, like) + own_w * own_w);
}

void wtl_watts_clear(struct wtl_watts *watts, size_t place)
{
	size_t i = FIRST_PLACE + place;

	watts->fresh_w[i] = i == watts->mixed ? 0.0F : (float)(SPREAD * watts->state[TYPICAL]);
	watts->known_w[i] = 0.0F;
	set_like(watts, i, TYPICAL,
		 (i == watts->mixed ? MIXED_SPREAD : SPREAD) * watts->state[TYPICAL]);
}

void wtl_watts_mix(struct wtl_watts *watts, size_t place)
{
	watts->mixed = FIRST_PLACE + place;
}

static void set_known(struct wtl_watts *watts, size_t i)
{
	watts->fresh_w[i] = 0.0F;
	set_alone(watts, i, (double)watts->known_w[i], (double)watts->known_doubt_w[i]);
}

void wtl_watts_know(struct wtl_watts *watts, size_t place, double w, double uncertainty_w)
{
	size_t i = FIRST_PLACE + place;

	watts->known_w[i] = (float)w;
	watts->known_doubt_w[i] = (float)uncertainty_w;
	set_known(watts, i);
}

void wtl_watts_split(struct wtl_watts *watts, size_t place, size_t from)
{
	set_like(watts, FIRST_PLACE + place, FIRST_PLACE + from,
		 SPLIT_SPREAD * watts->state[FIRST_PLACE + from]);
	watts->fresh_w[FIRST_PLACE + place] = 0.0F;
	watts->known_w[FIRST_PLACE + place] = 0.0F;
}

void wtl_watts_doubt(struct wtl_watts *watts)
{
	for (size_t i = 0; i < watts->n; i++) {
		double own_w = (i == IDLE ? CHANGED_IDLE : CHANGED_ONE) * watts->state[i];

		for (size_t k = AWAKE; k <= i; k++)
			widen(watts, i, k,
			      CHANGED_ALL * CHANGED_ALL * watts->state[i] * watts->state[k]);
		widen(watts, i, i, own_w * own_w);
	}
	watts->lowest_w = HUGE_VAL;
}

static double all_use_s(const struct wtl_watts *watts, const struct wtl_watts_look *look)
{
	double sum = 0.0;

	for (size_t i = FIRST_PLACE; i < watts->n; i++)
		sum += look->use_s[i - FIRST_PLACE];
	return sum;
}

/* What is taken for granted before the first look. */
static void begin(struct wtl_watts *watts, const struct wtl_watts_look *look)
{
	double power_w = look->energy_j / look->duration_s, use_s = all_use_s(watts, look);
	double awake_w = AWAKE_PART * power_w, noise_w = NOISE_PART * power_w;
	double typical_w = TYPICAL_PART * power_w, above_j, doubt_w;

	watts->time_s = 0.0;
	watts->power_w = power_w;
	watts->lowest_w = power_w;
	watts->n_far = 0;
	if (watts->known_idle.w > 0.0)
		set_alone(watts, IDLE, watts->known_idle.w, watts->known_idle.uncertainty_w);
	else
		set_alone(watts, IDLE, IDLE_PART * power_w, IDLE_SPREAD * power_w);
	set_alone(watts, AWAKE, 0.0, awake_w);
	above_j = look->energy_j - watts->state[IDLE] * look->duration_s;
	doubt_w = TYPICAL_DOUBT * power_w;
	if (use_s > 0.05 * look->duration_s && above_j > 0.0) {
		typical_w = above_j / use_s;
		doubt_w = fmin(wtl_watts_idle(watts).uncertainty_w * look->duration_s / use_s,
			       typical_w);
	}
	set_alone(watts, TYPICAL, typical_w, hypot(TYPICAL_SPREAD * typical_w, doubt_w));
	/* When it begins anew, looks were far off. The noise keeps that size, or it would begin anew for ever. */
	watts->noise = fmax(noise_w * noise_w, watts->noise);
	watts->noise_looks = NOISE_LOOKS;
	for (size_t i = FIRST_PLACE; i < watts->n; i++)
		if (watts->known_w[i] > 0.0F)
			set_known(watts, i);
		else
			wtl_watts_clear(watts, i - FIRST_PLACE);
}

/*
 * How much users differ is a part of what they draw. What a typical one draws may be ill known when
 * a place is cleared; the first look in which the place is used tells better.
 */
static void widen_fresh(struct wtl_watts *watts, const struct wtl_watts_look *look)
{
	double use_s = all_use_s(watts, look);
	double above_j = look->energy_j - watts->state[IDLE] * look->duration_s;

	for (size_t i = FIRST_PLACE; i < watts->n; i++) {
		double was_w = (double)watts->fresh_w[i], spread_w;

		if (look->use_s[i - FIRST_PLACE] < 0.01 * look->duration_s)
			continue;
		spread_w = fmax(FRESH_SPREAD * above_j / use_s, was_w);
		if (was_w > 0.0)
			widen(watts, i, i, spread_w * spread_w - was_w * was_w);
		watts->fresh_w[i] = 0.0F;
	}
}

/* How each number of the state counts in a look. */
static double part_of(const struct wtl_watts_look *look, size_t i)
{
	if (i == IDLE)
		return look->duration_s;
	if (i == AWAKE)
		return look->awake_s;
	return i == TYPICAL ? 0.0 : look->use_s[i - FIRST_PLACE];
}

static void drift_idle(struct wtl_watts *watts, double duration_s)
{
	double idle_w = IDLE_DRIFT_PART * watts->power_w;

	widen(watts, IDLE, IDLE, idle_w * idle_w * duration_s);
}

void wtl_watts_hold(struct wtl_watts *watts)
{
	watts->is_held = true;
}

void wtl_watts_stretch_begin(struct wtl_watts_stretch *stretch, size_t n_places)
{
	stretch->duration_s = 0.0;
	memset(stretch->ran_s, 0, n_places * sizeof(*stretch->ran_s));
}

void wtl_watts_stretch_add(struct wtl_watts_stretch *stretch, const struct wtl_watts_look *look,
			   size_t n_places)
{
	stretch->duration_s += look->duration_s;
	for (size_t i = 0; i < n_places; i++)
		if (look->use_s[i] > RAN_PART * look->duration_s)
			stretch->ran_s[i] += look->duration_s;
}

void wtl_watts_pass(struct wtl_watts *watts, const struct wtl_watts_stretch *stretch)
{
	double user_w = USER_DRIFT * watts->state[TYPICAL];

	if (watts->looks == 0)
		return;
	if (watts->is_held)
		drift_idle(watts, stretch->duration_s);
	for (size_t i = FIRST_PLACE; i < watts->n; i++)
		if (i != watts->mixed)
			widen(watts, i, i,
			      MEANS_DRIFT * user_w * user_w * stretch->ran_s[i - FIRST_PLACE]);
}

/* product: covariance · parts, from row `first` on; nothing of a place that was not used. */
static void multiply(const struct wtl_watts *watts, size_t first, const double parts[],
		     double product[])
{
	const float *row = watts->covariance + first * (first + 1) / 2;

	memset(product, 0, watts->n * sizeof(*product));
	for (size_t i = first; i < watts->n; row += ++i) {
		double part = parts[i], sum = 0.0;

		for (size_t k = first; k < i; k++)
			sum += (double)row[k] * parts[k];
		product[i] = sum + (double)row[i] * part;
		for (size_t k = first; part != 0.0 && k < i; k++)
			product[k] += (double)row[k] * part;
	}
}

/* What the energy of a look is taken to be; product: covariance · parts; ret_variance: parts · product. */
static double expect(const struct wtl_watts *watts, const struct wtl_watts_look *look,
		     double product[], double *ret_variance)
{
	double expected = 0.0, variance = 0.0, parts[STATE_MAX] = {0.0};

	for (size_t i = 0; i < watts->n; i++)
		parts[i] = part_of(look, i);
	multiply(watts, IDLE, parts, product);
	for (size_t i = 0; i < watts->n; i++) {
		expected += watts->state[i] * parts[i];
		variance += product[i] * parts[i];
	}
	*ret_variance = variance;
	return expected;
}

/*
 * The noise is what a look is off by beyond what the state's own uncertainty explains. A look whose variance is mostly
 * the state's, or that of its reads, says little of it (Fisher's scoring for one part of a variance).
 */
static void learn_noise(struct wtl_watts *watts, const struct wtl_watts_look *look, double off_j,
			double variance)
{
	double own = watts->noise * look->duration_s;
	double total = variance + own;
	double informs = own / total * (own / total);
	double least_w = NOISE_LEAST * watts->power_w;

	watts->noise_looks = fmin(watts->noise_looks + informs, NOISE_LOOKS_MOST);
	watts->noise += informs / watts->noise_looks *
			(fmin(off_j * off_j, NOISE_STEP * total) - total) / look->duration_s;
	watts->noise = fmax(watts->noise, least_w * least_w);
}

/* A typical user's watts are the scale of others': they are kept from becoming too small. */
static void keep_scale(struct wtl_watts *watts)
{
	double least_w = TYPICAL_LEAST * watts->power_w, by_w = least_w - watts->state[TYPICAL];
	double variance = at(watts, TYPICAL, TYPICAL);

	if (by_w <= 0.0)
		return;
	for (size_t i = 0; i < watts->n && variance > 0.0; i++)
		if (i != TYPICAL)
			watts->state[i] += at(watts, i, TYPICAL) / variance * by_w;
	watts->state[TYPICAL] = least_w;
}

/* Variance of the energy by what the reads leave open. */
static double read_variance(const struct wtl_watts *watts, const struct wtl_watts_look *look)
{
	double w = watts->state[TYPICAL], variance_w = at(watts, TYPICAL, TYPICAL);

	return look->noise_j * look->noise_j +
	       look->use_doubt_s * look->use_doubt_s * (w * w + variance_w);
}

static void correct(struct wtl_watts *watts, const struct wtl_watts_look *look)
{
	double reads = read_variance(watts, look), variance, total, noise, off_j;
	double product[STATE_MAX];
	float *row = watts->covariance, products[STATE_MAX];

	off_j = look->energy_j - expect(watts, look, product, &variance);
	noise = watts->noise * look->duration_s + reads;
	total = variance + noise;
	if (off_j * off_j > FAR * total) {
		noise *= fmin(off_j * off_j / (FAR * total), FAR_MOST);
		total = variance + noise;
		watts->n_far++;
	}
	for (size_t i = 0; i < watts->n; row += ++i) {
		double gain = product[i] / total;

		products[i] = (float)product[i];
		watts->state[i] += gain * off_j;
		for (size_t k = 0; k <= i; k++)
			row[k] -= (float)gain * products[k];
	}
	learn_noise(watts, look, off_j, variance + reads);
	keep_scale(watts);
	watts->lowest_w =
		fmin(watts->lowest_w * (1.0 + LOWEST_DRIFT), look->energy_j / look->duration_s);
}

void wtl_watts_add(struct wtl_watts *watts, const struct wtl_watts_look *look)
{
	if (!(look->duration_s > 0.0) || !(look->energy_j > 0.0))
		return;
	if (watts->looks < FIRST_LOOKS && watts->n_far >= FAR_LOOKS)
		watts->looks = 0;
	if (watts->looks == 0)
		begin(watts, look);
	widen_fresh(watts, look);
	if (!watts->is_held)
		drift_idle(watts, look->duration_s);
	correct(watts, look);
	watts->time_s += look->duration_s;
	watts->looks++;
}

/* After few looks the noise is ill known, too: by how much the ± of 95 % is wider then (Student's t). */
static double few_looks(const struct wtl_watts *watts)
{
	return watts->looks > 0 ? 1.0 + STUDENT / watts->noise_looks : 1.0;
}

/*
 * Nothing draws less than nothing, and at rest a domain draws no more than it was seen to draw. Where the state says so,
 * figures are those of the most probable state that is possible: the impossible number is moved to its bound, and others
 * with it, by their covariance. The state itself is not changed: that would add up errors of one direction.
 */
struct move {
	size_t which;
	double by; /* in parts of its variance */
};

static struct move find_move(const struct wtl_watts *watts)
{
	size_t which = watts->state[AWAKE] < 0.0 ? AWAKE : IDLE;
	double w = fmax(watts->state[which], 0.0), variance = at(watts, which, which);

	if (which == IDLE && w > watts->lowest_w + 2.0 * sqrt(watts->noise))
		w = watts->lowest_w;
	if (watts->looks == 0 || !(variance > 0.0))
		return (struct move){.which = IDLE};
	return (struct move){.which = which, .by = (w - watts->state[which]) / variance};
}

static double moved(const struct wtl_watts *watts, struct move move, size_t i)
{
	return watts->state[i] + move.by * at(watts, i, move.which);
}

static double user_w(const struct wtl_watts *watts, struct move move, size_t i)
{
	return fmax(moved(watts, move, i), LEAST_PART * watts->state[TYPICAL]);
}

static double uncertainty_w(const struct wtl_watts *watts, size_t i)
{
	return few_looks(watts) * sqrt(fmax(at(watts, i, i), 0.0));
}

static struct wtl_watts_figure figure(const struct wtl_watts *watts, size_t i)
{
	return (struct wtl_watts_figure){.w = fmax(moved(watts, find_move(watts), i), 0.0),
					 .uncertainty_w = uncertainty_w(watts, i)};
}

struct wtl_watts_figure wtl_watts_idle(const struct wtl_watts *watts)
{
	return figure(watts, IDLE);
}

/* A random walk's end is off from its mean by a third of the variance that it walked. */
struct wtl_watts_figure wtl_watts_idle_of_all(const struct wtl_watts *watts)
{
	struct wtl_watts_figure idle = wtl_watts_idle(watts);
	double walked_w =
		IDLE_DRIFT_PART * watts->power_w * sqrt(fmin(watts->time_s, IDLE_DRIFT_MOST) / 3.0);

	idle.uncertainty_w = hypot(idle.uncertainty_w, walked_w);
	return idle;
}

struct wtl_watts_figure wtl_watts_awake(const struct wtl_watts *watts)
{
	return figure(watts, AWAKE);
}

struct wtl_watts_figure wtl_watts_of(const struct wtl_watts *watts, size_t place)
{
	size_t i = FIRST_PLACE + place;

	return (struct wtl_watts_figure){.w = user_w(watts, find_move(watts), i),
					 .uncertainty_w = uncertainty_w(watts, i)};
}

unsigned wtl_watts_looks(const struct wtl_watts *watts)
{
	return watts->looks;
}

static bool is_trusted(const struct wtl_watts *watts, size_t place)
{
	return watts->looks >= TRUSTED_LOOKS || watts->known_w[FIRST_PLACE + place] > 0.0F;
}

void wtl_watts_weights(const struct wtl_watts *watts, const struct wtl_watts_look *look,
		       double weights_w[])
{
	struct move move = find_move(watts);
	double use_s = all_use_s(watts, look);
	double awake_w =
		use_s > 0.0 ? fmax(moved(watts, move, AWAKE), 0.0) * look->awake_s / use_s : 0.0;

	for (size_t i = 0; i < watts->n - FIRST_PLACE; i++)
		weights_w[i] = awake_w + user_w(watts, move,
						is_trusted(watts, i) ? FIRST_PLACE + i : TYPICAL);
}

/*
 * Of a share s_i = v_i·u_i / sum(v·u), where v_i = w_i + c·awake_w and c is awake_s / all use: ds_i/s_i = dv_i/v_i -
 * sum over q (s_q·dv_q/v_q). Its variance is that of v_i / v_i² - 2·sum(s_q·cov(v_i, v_q)/(v_i·v_q)) + sum over q and r
 * (s_q·s_r·cov(v_q, v_r)/(v_q·v_r)).
 */
void wtl_watts_doubts(const struct wtl_watts *watts, const struct wtl_watts_look *look,
		      const double weights_w[], double doubts[])
{
	size_t n = watts->n - FIRST_PLACE;
	double parts[STATE_MAX] = {0.0}, with_all[STATE_MAX];
	double use_s = all_use_s(watts, look), sum = 0.0, common = 0.0;
	double c = use_s > 0.0 ? look->awake_s / use_s : 0.0;

	for (size_t i = 0; i < n; i++)
		sum += weights_w[i] * look->use_s[i];
	/* s_q / v_q is u_q / sum */
	for (size_t i = 0; i < n; i++)
		parts[FIRST_PLACE + i] = sum > 0.0 ? look->use_s[i] / sum : 0.0;
	parts[AWAKE] = sum > 0.0 ? c * use_s / sum : 0.0;
	multiply(watts, AWAKE, parts, with_all);
	for (size_t i = AWAKE; i < watts->n; i++)
		common += parts[i] * with_all[i];
	for (size_t i = 0; i < n; i++) {
		size_t own = FIRST_PLACE + i;
		double variance = at(watts, own, own) + 2.0 * c * at(watts, own, AWAKE) +
				  c * c * at(watts, AWAKE, AWAKE);
		double v = weights_w[i], with = with_all[own] + c * with_all[AWAKE];

		doubts[i] = v > 0.0 ? sqrt(fmax(variance / (v * v) - 2.0 * with / v + common, 0.0))
				    : 0.0;
		if (own == watts->mixed)
			doubts[i] = hypot(doubts[i], SPREAD);
	}
}

/* ---- Backwards ---- */

/* The part of a covariance that belongs to some numbers of the state, and room to solve for them. */
struct solver {
	size_t n;	  /* of the whole state */
	size_t m, *which; /* those numbers */
	double *root;	  /* m · (m + 1) / 2: its lower triangle, after Cholesky */
	double *gain;	  /* n · m */
	double *change;	  /* m */
};

static void solver_done(struct solver *solver)
{
	free(solver->which);
	free(solver->root);
}

static int solver_init(struct solver *solver, size_t n, const bool goes_on[])
{
	*solver = (struct solver){.n = n, .which = calloc(n, sizeof(*solver->which))};
	for (size_t i = 0; solver->which && i < n; i++)
		if (i < FIRST_PLACE || goes_on[i - FIRST_PLACE])
			solver->which[solver->m++] = i;
	solver->root = calloc(n * (n + 1) / 2 + n * n + n, sizeof(double));
	if (!solver->which || !solver->root) {
		solver_done(solver);
		return -ENOMEM;
	}
	solver->gain = solver->root + n * (n + 1) / 2;
	solver->change = solver->gain + n * n;
	return 0;
}

static double *root_at(const struct solver *solver, size_t i, size_t k)
{
	return &solver->root[i * (i + 1) / 2 + k];
}

/* false: it has no root. */
static bool find_root(struct solver *solver, const struct wtl_watts *of)
{
	for (size_t i = 0; i < solver->m; i++)
		for (size_t k = 0; k <= i; k++) {
			double sum = at(of, solver->which[i], solver->which[k]);

			for (size_t j = 0; j < k; j++)
				sum -= *root_at(solver, i, j) * *root_at(solver, k, j);
			if (i == k && !(sum > 0.0))
				return false;
			*root_at(solver, i, k) = i == k ? sqrt(sum) : sum / *root_at(solver, k, k);
		}
	return true;
}

/* In place: x of covariance · x = b. */
static void solve(const struct solver *solver, double b[])
{
	for (size_t i = 0; i < solver->m; i++) {
		for (size_t k = 0; k < i; k++)
			b[i] -= *root_at(solver, i, k) * b[k];
		b[i] /= *root_at(solver, i, i);
	}
	for (size_t i = solver->m; i-- > 0;) {
		for (size_t k = i + 1; k < solver->m; k++)
			b[i] -= *root_at(solver, k, i) * b[k];
		b[i] /= *root_at(solver, i, i);
	}
}

/* gain: covariance of the whole state with the numbers that go on · the inverse of their predicted covariance. */
static void find_gain(struct solver *solver, const struct wtl_watts *watts)
{
	for (size_t i = 0; i < solver->n; i++) {
		double *row = solver->gain + i * solver->m;

		for (size_t k = 0; k < solver->m; k++)
			row[k] = at(watts, i, solver->which[k]);
		solve(solver, row);
	}
}

static double dot(const double a[], const double b[], size_t n)
{
	double sum = 0.0;

	for (size_t i = 0; i < n; i++)
		sum += a[i] * b[i];
	return sum;
}

/* Rauch, Tung, Striebel 1965: x += C·(later - predicted), P += C·(P of later - P of predicted)·C'. */
static void take_later(const struct solver *solver, struct wtl_watts *watts,
		       const struct wtl_watts *predicted, const struct wtl_watts *later)
{
	const size_t *which = solver->which;
	size_t m = solver->m;

	for (size_t k = 0; k < m; k++)
		solver->change[k] = later->state[which[k]] - predicted->state[which[k]];
	for (size_t i = 0; i < solver->n; i++)
		watts->state[i] += dot(solver->gain + i * m, solver->change, m);
	for (size_t i = 0; i < solver->n; i++) {
		const double *row = solver->gain + i * m;

		for (size_t k = 0; k < m; k++) {
			double sum = 0.0;

			for (size_t j = 0; j < m; j++)
				sum += row[j] * (at(later, which[j], which[k]) -
						 at(predicted, which[j], which[k]));
			solver->change[k] = sum;
		}
		for (size_t k = 0; k <= i; k++)
			widen(watts, i, k, dot(solver->change, solver->gain + k * m, m));
	}
}

int wtl_watts_smooth(struct wtl_watts *watts, const struct wtl_watts *predicted,
		     const struct wtl_watts *later, const bool goes_on[])
{
	struct solver solver;

	if (watts->looks == 0)
		wtl_watts_copy(watts, later);
	if (watts->looks == 0 || later->looks == 0)
		return 0;
	if (solver_init(&solver, watts->n, goes_on) < 0)
		return -ENOMEM;
	if (find_root(&solver, predicted)) {
		find_gain(&solver, watts);
		take_later(&solver, watts, predicted, later);
		watts->looks = later->looks;
		watts->noise_looks = later->noise_looks;
	}
	solver_done(&solver);
	return 0;
}
