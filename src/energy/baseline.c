/* SPDX-License-Identifier: MIT */
#include "energy/baseline.h"

#include <math.h>
#include <stdlib.h>

#include "energy/units.h"

/*
 * A histogram of power, each stretch weighted by its time. From 2^9 µW (so that 1 mW is well inside)
 * every octave has 128 bins of equal width: 0.4 to 0.8 % of the power. A bin keeps energy and time,
 * so that its power is the mean of what fell into it. An octave takes memory when something falls
 * into it: idle power is in one or two of the 28.
 */
enum {
	FIRST_OCTAVE = 9,
	OCTAVES = 28, /* up to 2^37 µW = 137 kW */
	BINS_BITS = 7,
	BINS = 1 << BINS_BITS, /* of one octave */
};

#define INTERVAL_MIN_NS (20 * WTL_NS_PER_MS) /* less is all edges: counters update every ms */
#define INTERVAL_MAX_NS (60 * WTL_NS_PER_S)  /* a longer one tells no more about idle power */
#define STRETCH_NS	WTL_NS_PER_S
#define STRETCH_MAX_NS	(60 * WTL_NS_PER_S)
#define KNOWN_NS	(3 * WTL_NS_PER_S)
#define START_MAX_NS	(60 * WTL_NS_PER_S)
#define MEMORY_NS	(3600 * WTL_NS_PER_S)
#define USE_MAX_PPM	UINT32_C(30000)
#define USE_MAX_CPU_PPM UINT32_C(200000)
#define POWER_MAX_UW	((UINT64_C(1) << (FIRST_OCTAVE + OCTAVES)) - 1)

/* In percent of the time. */
enum { IDLE_QUANTILE = 10, MIDDLE_QUANTILE = 50 };

enum { EDGE_PART = BINS }; /* a stretch ends when its edges are one part in so many of it */

struct amount {
	uint64_t energy_uj;
	int64_t duration_ns;
};

/* Idle intervals joined to one. Where one directly follows another, the edge between them does not count. */
struct stretch {
	struct amount sum;
	bool is_going_on; /* the newest interval is in it */
	double edge_ns;	  /* of all that is in it, but not of its end if it is going on */
	double end_edge_ns;
};

struct wtl_baseline_learner {
	uint32_t use_max_ppm;
	bool is_modelled;
	uint64_t model_uw, model_uncertainty_uw;
	struct wtl_baseline fixed; /* is_known: it is what it is */
	int64_t t_utc_ns;
	int64_t entered_ns;		 /* the time of all bins */
	struct stretch stretch;		 /* not entered yet */
	double edge_part;		 /* of the stretch entered last: edges to duration */
	struct amount *octaves[OCTAVES]; /* BINS each; NULL: nothing fell into it */
};

struct wtl_baseline_learner *wtl_baseline_learner_new(void)
{
	struct wtl_baseline_learner *learner = calloc(1, sizeof(*learner));

	if (learner)
		learner->use_max_ppm = USE_MAX_PPM;
	return learner;
}

void wtl_baseline_learner_free(struct wtl_baseline_learner *learner)
{
	if (!learner)
		return;
	for (size_t i = 0; i < OCTAVES; i++)
		free(learner->octaves[i]);
	free(learner);
}

uint32_t wtl_baseline_use_max_ppm(unsigned n_cpus)
{
	uint32_t fifth_ppm = USE_MAX_CPU_PPM / (n_cpus ? n_cpus : 1);

	return fifth_ppm < USE_MAX_PPM ? fifth_ppm : USE_MAX_PPM;
}

void wtl_baseline_learner_limit(struct wtl_baseline_learner *learner, uint32_t use_max_ppm)
{
	learner->use_max_ppm = use_max_ppm;
}

/* Counted through all octaves. */
static unsigned bin_of(uint64_t power_uw)
{
	unsigned octave;

	if (power_uw < UINT64_C(1) << FIRST_OCTAVE)
		return 0;
	octave = 63U - (unsigned)__builtin_clzll(power_uw);
	return ((octave - FIRST_OCTAVE) << BINS_BITS) +
	       (unsigned)(power_uw >> (octave - BINS_BITS) & (BINS - 1));
}

/* Bins with almost no time left are emptied, as their energy is no longer exact enough for a mean. */
static void halve(struct wtl_baseline_learner *learner)
{
	learner->entered_ns = 0;
	for (size_t i = 0; i < OCTAVES; i++) {
		for (size_t k = 0; learner->octaves[i] && k < BINS; k++) {
			struct amount *bin = &learner->octaves[i][k];

			bin->energy_uj /= 2;
			bin->duration_ns /= 2;
			if (bin->duration_ns < WTL_NS_PER_MS)
				*bin = (struct amount){0};
			learner->entered_ns += bin->duration_ns;
		}
	}
}

static uint64_t least_uncertainty_uw(uint64_t idle_uw)
{
	return (idle_uw >> BINS_BITS) + 1;
}

static uint64_t bounded(uint64_t power_uw)
{
	return power_uw < POWER_MAX_UW ? power_uw : POWER_MAX_UW;
}

static void enter(struct wtl_baseline_learner *learner, uint64_t power_uw, int64_t duration_ns)
{
	unsigned number = bin_of(power_uw);
	struct amount **octave = &learner->octaves[number >> BINS_BITS];
	struct amount *bin;

	if (!*octave)
		*octave = calloc(BINS, sizeof(**octave));
	if (!*octave)
		return;
	bin = &(*octave)[number & (BINS - 1)];
	bin->energy_uj += wtl_energy_uj(power_uw, duration_ns);
	bin->duration_ns += duration_ns;
	learner->entered_ns += duration_ns;
	if (learner->entered_ns > MEMORY_NS)
		halve(learner);
}

void wtl_baseline_learner_start(struct wtl_baseline_learner *learner,
				const struct wtl_baseline *known)
{
	uint64_t idle_uw, middle_uw;
	int64_t seen_ns;

	if (!known->is_known || learner->is_modelled)
		return;
	seen_ns = known->seen_ns < START_MAX_NS ? known->seen_ns : START_MAX_NS;
	seen_ns = seen_ns > KNOWN_NS ? seen_ns : KNOWN_NS;
	idle_uw = bounded(known->idle_uw);
	middle_uw = bounded(wtl_add_sat(idle_uw, known->uncertainty_uw));
	/* Entered so that both quantiles come out as they were. The least uncertainty is left out: each query adds it
	 * again, and it must not raise the idle power from session to session. */
	if (middle_uw - idle_uw <= least_uncertainty_uw(idle_uw) ||
	    bin_of(middle_uw) == bin_of(idle_uw))
		middle_uw = idle_uw;
	enter(learner, idle_uw, seen_ns / 100 * 40);
	enter(learner, middle_uw, seen_ns - seen_ns / 100 * 40);
	if (learner->t_utc_ns < known->t_utc_ns)
		learner->t_utc_ns = known->t_utc_ns;
}

void wtl_baseline_learner_model(struct wtl_baseline_learner *learner, uint64_t idle_uw,
				uint64_t uncertainty_uw)
{
	learner->is_modelled = true;
	learner->model_uw = idle_uw;
	learner->model_uncertainty_uw = uncertainty_uw;
}

void wtl_baseline_learner_fix(struct wtl_baseline_learner *learner,
			      const struct wtl_baseline *known)
{
	learner->fixed = *known;
}

static double stretch_edge_ns(const struct stretch *stretch)
{
	return stretch->is_going_on ? hypot(stretch->edge_ns, stretch->end_edge_ns)
				    : stretch->edge_ns;
}

static double stretch_edge_part(const struct stretch *stretch)
{
	return stretch_edge_ns(stretch) / (double)stretch->sum.duration_ns;
}

static bool is_long_enough(const struct stretch *stretch)
{
	return stretch->sum.duration_ns >= STRETCH_MAX_NS ||
	       (stretch->sum.duration_ns >= STRETCH_NS &&
		stretch_edge_part(stretch) * EDGE_PART <= 1.0);
}

static void go_on(struct stretch *stretch, const struct wtl_baseline_interval *interval)
{
	int64_t duration_ns = interval->duration_ns;
	uint64_t power_uw = bounded(wtl_power_uw(interval->energy_uj, duration_ns));

	if (duration_ns > INTERVAL_MAX_NS)
		duration_ns = INTERVAL_MAX_NS;
	if (!stretch->is_going_on)
		stretch->edge_ns = hypot(stretch->edge_ns, (double)interval->begin_edge_ns);
	stretch->is_going_on = true;
	stretch->end_edge_ns = (double)interval->end_edge_ns;
	stretch->sum.energy_uj += wtl_energy_uj(power_uw, duration_ns);
	stretch->sum.duration_ns += duration_ns;
}

static uint64_t amount_uw(const struct amount *amount)
{
	return bounded(wtl_power_uw(amount->energy_uj, amount->duration_ns));
}

void wtl_baseline_learner_break(struct wtl_baseline_learner *learner)
{
	learner->stretch.edge_ns = stretch_edge_ns(&learner->stretch);
	learner->stretch.is_going_on = false;
}

void wtl_baseline_learner_add(struct wtl_baseline_learner *learner,
			      const struct wtl_baseline_interval *interval)
{
	struct stretch *stretch = &learner->stretch;

	if (learner->is_modelled)
		return;
	if (interval->duration_ns < INTERVAL_MIN_NS || interval->use_ppm > learner->use_max_ppm) {
		wtl_baseline_learner_break(learner);
		return;
	}
	go_on(stretch, interval);
	learner->t_utc_ns = interval->t_utc_ns;
	if (!is_long_enough(stretch))
		return;
	enter(learner, amount_uw(&stretch->sum), stretch->sum.duration_ns);
	learner->edge_part = stretch_edge_part(stretch);
	*stretch = (struct stretch){.is_going_on = true,
				    .edge_ns = (double)interval->end_edge_ns,
				    .end_edge_ns = (double)interval->end_edge_ns};
}

/* A stretch that is long enough, and only goes on because of its edges, counts like those before it. */
static bool is_counted(const struct stretch *stretch)
{
	return stretch->sum.duration_ns >= STRETCH_NS;
}

static int64_t counted_ns(const struct stretch *stretch)
{
	return is_counted(stretch) ? stretch->sum.duration_ns : 0;
}

static uint64_t quantile_uw(const struct wtl_baseline_learner *learner, int percent)
{
	const struct amount *newest = &learner->stretch.sum;
	unsigned newest_bin =
		is_counted(&learner->stretch) ? bin_of(amount_uw(newest)) : OCTAVES * BINS;
	int64_t all_ns = learner->entered_ns + counted_ns(&learner->stretch);
	int64_t below_ns = all_ns / 100 * percent, seen_ns = 0;

	for (unsigned number = 0; number < OCTAVES * BINS; number++) {
		const struct amount *octave = learner->octaves[number >> BINS_BITS];
		struct amount bin = {0};

		if (!octave && number >> BINS_BITS != newest_bin >> BINS_BITS) {
			number |= BINS - 1;
			continue;
		}
		if (octave)
			bin = octave[number & (BINS - 1)];
		if (number == newest_bin) {
			bin.energy_uj += newest->energy_uj;
			bin.duration_ns += newest->duration_ns;
		}
		seen_ns += bin.duration_ns;
		if (bin.duration_ns > 0 && seen_ns >= below_ns)
			return wtl_power_uw(bin.energy_uj, bin.duration_ns);
	}
	return 0;
}

/* How far the power of one stretch may be off. */
static uint64_t edge_uncertainty_uw(const struct wtl_baseline_learner *learner, uint64_t idle_uw)
{
	double part = learner->edge_part;

	if (learner->entered_ns < KNOWN_NS && is_counted(&learner->stretch))
		part = fmax(part, stretch_edge_part(&learner->stretch));
	return (uint64_t)(fmin(part, 1.0) * (double)idle_uw);
}

void wtl_baseline_learner_get(const struct wtl_baseline_learner *learner,
			      struct wtl_baseline *ret_baseline)
{
	struct wtl_baseline baseline = {.seen_ns = learner->entered_ns +
						   learner->stretch.sum.duration_ns};
	uint64_t spread_uw, edge_uw, least_uw;

	if (learner->fixed.is_known) {
		*ret_baseline = learner->fixed;
		return;
	}
	if (learner->is_modelled) {
		*ret_baseline = (struct wtl_baseline){
			.is_known = true,
			.is_modelled = true,
			.idle_uw = learner->model_uw,
			.uncertainty_uw = learner->model_uncertainty_uw,
		};
		return;
	}
	/* What does not count yet is less than 1 s, so the rest can answer. */
	if (baseline.seen_ns >= KNOWN_NS) {
		baseline.is_known = true;
		baseline.idle_uw = quantile_uw(learner, IDLE_QUANTILE);
		spread_uw = quantile_uw(learner, MIDDLE_QUANTILE) - baseline.idle_uw;
		edge_uw = edge_uncertainty_uw(learner, baseline.idle_uw);
		least_uw = least_uncertainty_uw(baseline.idle_uw);
		least_uw = edge_uw > least_uw ? edge_uw : least_uw;
		baseline.uncertainty_uw = spread_uw > least_uw ? spread_uw : least_uw;
		baseline.t_utc_ns = learner->t_utc_ns;
	}
	*ret_baseline = baseline;
}
