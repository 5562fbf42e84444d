/* SPDX-License-Identifier: MIT */
#include "meter/learned.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"
#include "base/text.h"
#include "energy/units.h"
#include "meter/known_watts.h"
#include "workload/busy.h"

enum {
	OTHERS,
	PLACES = WTL_WATTS_PLACES_MAX,
	PLACE_BITS = 6,
	PLACE_MASK = PLACES - 1,
	/* Of a domain that is part of a sum. It is for idle power, and to divide by while other
	 * parts give nothing. Users with a higher place count among the others there. */
	PART_PLACES = 40
};

#define RECENT_KEPT   0.9  /* of earlier use, from scan to scan: who has used most lately */
#define USED_LEAST    0.01 /* of a CPU: less needs no place */
#define ALONE_NS      (3 * WTL_NS_PER_S) /* CPU time after which one of several has a place of its own */
#define TICK_DOUBT_S  0.01		 /* the use that is seen of nobody is counted by ticks */
#define HELD_BACK_S   (2.0 * WTL_BUSY_SLACK_NS / WTL_NS_PER_S) /* of it, until it is sure */
#define UNSEEN_S      8.0				       /* over which it is averaged */
#define MISSED_MOST   8 /* looks without a part: then the sum is no measure of the others any more */
#define TOLD_LOOKS    8	   /* before anything is taken from the regression but weights */
#define IDLE_DOUBT    0.12 /* how well idle power must be known if it was not seen at rest */
#define UW_MOST	      1e15
#define DURATIONS_OFF 0.2 /* the times of a scan and its energy may differ by this part */

struct place {
	uint32_t key;	 /* place, and above it how many had been given out; 0: free */
	uint32_t name;	 /* hash of the name that shares it; 0: one consumer's alone */
	bool is_shared;	 /* by several of that name */
	bool is_used;	 /* in the newest scan, by one who has it */
	double recent_s; /* use, the older the less */
	double use_s;	 /* all of it */
	char program[32];
};

/* Domains of one kind, whose energies together say better who draws how much. */
struct sum {
	struct domain *first;
	struct wtl_watts *watts; /* NULL: fewer than two parts */
	size_t n_parts, n_added; /* the latter: since the newest scan */
	unsigned n_missed;	 /* scans in a row of which some parts told nothing */
	double power_w, noise_w2, idle_w, idle_w2; /* of those that were added */
	bool knows_idle;
};

struct wtl_learned {
	bool is_told;
	struct wtl_watts_past *past; /* NULL: what comes later is not known */
	struct wtl_watts **watts; /* with a past: all that is learned, as watts_at() numbers it */
	uint32_t keys[PLACES];	  /* of the places, for the past */
	int64_t reached_ns;
	struct sum sums[WTL_LEARNED_SUMS];
	struct wtl_known_programs known;
	uint32_t n_given;
	struct place places[PLACES];
	uint8_t *place_of; /* one a slot */
	size_t n_place_of;
	/* The newest scan. */
	double use_s[PLACES], awake_s;
	int64_t scan_ns;
	double ran_s[PLACES];
	struct wtl_watts_stretch stretch; /* since wtl_learned_pass() */
	/* Of a second, how much was used that is seen of nobody and is told in lumps; over how long that is averaged. */
	double unseen_part, unseen_s, use_doubt_s;
	/* Room for answers. */
	struct wtl_use *uses;
	uint32_t *doubts_ppm;
	size_t uses_room, doubts_room;
	size_t n_domains;
	struct domain {
		struct wtl_watts *watts; /* NULL: it is not learned */
		char name[24];
		bool is_restored;
		struct sum *sum; /* it is a part of; NULL: none */
	} domains[];
};

struct wtl_learned *wtl_learned_new(size_t n_domains, bool is_told)
{
	struct wtl_learned *learned =
		calloc(1, sizeof(*learned) + n_domains * sizeof(learned->domains[0]));

	if (learned) {
		learned->n_domains = n_domains;
		learned->is_told = learned->known.is_told = is_told;
		learned->stretch.ran_s = learned->ran_s;
	}
	return learned;
}

/* All that is learned: of domains, and of their sums. */
static size_t n_watts(const struct wtl_learned *learned)
{
	return learned->n_domains + WTL_LEARNED_SUMS;
}

static struct wtl_watts *watts_at(const struct wtl_learned *learned, size_t i)
{
	return i < learned->n_domains ? learned->domains[i].watts
				      : learned->sums[i - learned->n_domains].watts;
}

void wtl_learned_free(struct wtl_learned *learned)
{
	if (!learned)
		return;
	for (size_t i = 0; i < n_watts(learned); i++)
		wtl_watts_free(watts_at(learned, i));
	free(learned->watts);
	wtl_known_done(&learned->known);
	free(learned->place_of);
	free(learned->uses);
	free(learned->doubts_ppm);
	free(learned);
}

static struct wtl_watts *new_watts(size_t n_places)
{
	struct wtl_watts *watts = wtl_watts_new(n_places);

	if (watts)
		wtl_watts_mix(watts, OTHERS);
	return watts;
}

/* One more part. With the second one, it is a sum: the places of the first one are the sum's. */
static int add_part(struct domain *own, struct sum *sum)
{
	own->sum = sum;
	own->watts = new_watts(sum->n_parts == 0 ? PLACES : PART_PLACES);
	if (!own->watts)
		return -ENOMEM;
	if (!sum->first)
		sum->first = own;
	if (++sum->n_parts != 2)
		return 0;
	sum->watts = sum->first->watts;
	sum->first->watts = new_watts(PART_PLACES);
	return sum->first->watts ? 0 : -ENOMEM;
}

int wtl_learned_add_domain(struct wtl_learned *learned, size_t domain, const char *name,
			   enum wtl_learned_sum sum)
{
	struct domain *own = &learned->domains[domain];

	wtl_text_copy(own->name, sizeof(own->name), name);
	if (sum != WTL_LEARNED_ALONE)
		return add_part(own, &learned->sums[sum]);
	own->watts = new_watts(PLACES);
	return own->watts ? 0 : -ENOMEM;
}

bool wtl_learned_has(const struct wtl_learned *learned, size_t domain)
{
	const struct domain *own = learned ? &learned->domains[domain] : NULL;

	return own && own->watts && (own->is_restored || wtl_watts_looks(own->watts) > 0);
}

void wtl_learned_restore(struct wtl_learned *learned, size_t domain)
{
	learned->domains[domain].is_restored = true;
}

/* ---- Something that is over, gone through twice ---- */

static bool is_shown(const struct wtl_learned *learned)
{
	return wtl_watts_past_is_smooth(learned->past);
}

int wtl_learned_use_past(struct wtl_learned *learned, struct wtl_watts_past *past)
{
	learned->watts = calloc(n_watts(learned), sizeof(struct wtl_watts *));
	if (!learned->watts)
		return -ENOMEM;
	learned->past = past;
	for (size_t i = 0; i < n_watts(learned); i++) {
		learned->watts[i] = watts_at(learned, i);
		if (learned->watts[i])
			wtl_watts_hold(learned->watts[i]);
	}
	return 0;
}

static struct wtl_watts_moment moment_of(struct wtl_learned *learned)
{
	for (size_t i = 0; i < PLACES; i++)
		learned->keys[i] = learned->places[i].key;
	return (struct wtl_watts_moment){.n_places = PLACES,
					 .n_watts = n_watts(learned),
					 .keys = learned->keys,
					 .watts = learned->watts};
}

/* What all looks tell of the time of this scan. Who had a place then, and has none at the end of
 * its stretch, is taken for a typical one. */
static void show(struct wtl_learned *learned)
{
	struct wtl_watts_moment moment;

	if (!wtl_watts_past_show(learned->past, learned->reached_ns, &moment))
		return;
	for (size_t i = 0; i < n_watts(learned) && i < moment.n_watts; i++) {
		if (!watts_at(learned, i) || !moment.watts[i])
			continue;
		wtl_watts_copy(watts_at(learned, i), moment.watts[i]);
		for (size_t k = 0; k < wtl_watts_places(watts_at(learned, i)); k++)
			if (learned->places[k].key != moment.keys[k])
				wtl_watts_clear(watts_at(learned, i), k);
	}
}

void wtl_learned_reach(struct wtl_learned *learned, int64_t end_ns)
{
	struct wtl_watts_moment now = moment_of(learned);

	learned->reached_ns = end_ns;
	if (is_shown(learned))
		show(learned);
	else if (learned->past)
		wtl_watts_past_reach(learned->past, end_ns, &now);
}

int wtl_learned_smooth(struct wtl_learned *learned)
{
	struct wtl_watts_moment now = moment_of(learned);

	if (!learned->past)
		return 0;
	wtl_watts_past_end(learned->past, &now, false);
	return wtl_watts_past_smooth(learned->past);
}

bool wtl_learned_is_smoothed(const struct wtl_learned *learned)
{
	return learned && is_shown(learned);
}

/* ---- What was known before ---- */

/* The name that watts are kept under; NULL: not learned, or those of the sum are kept in their place. */
static const char *kept_name(const struct wtl_learned *learned, size_t i)
{
	static const char *const names[] = {
		[WTL_LEARNED_PACKAGES] = "packages", [WTL_LEARNED_MEMORIES] = "memories"};
	const struct sum *sum = i < learned->n_domains ? learned->domains[i].sum : NULL;

	if (!watts_at(learned, i) || (sum && sum->watts))
		return NULL;
	return i < learned->n_domains ? learned->domains[i].name : names[i - learned->n_domains];
}

int wtl_learned_know(struct wtl_learned *learned, const struct wtl_known_watts *known)
{
	return wtl_known_add(&learned->known, known);
}

const struct wtl_known_watts *wtl_learned_begun(const struct wtl_learned *learned, size_t i)
{
	return learned && i < learned->known.n_begun ? &learned->known.begun[i] : NULL;
}

struct wtl_known_programs *wtl_learned_known(struct wtl_learned *learned)
{
	return &learned->known;
}

static void begin_known(struct wtl_learned *learned, uint32_t key, const char *program)
{
	for (size_t i = 0; i < n_watts(learned); i++) {
		const char *of = kept_name(learned, i);
		struct wtl_watts_figure watts;

		if (of && wtl_known_begin(&learned->known, of, program, key, &watts))
			wtl_watts_know(watts_at(learned, i), key & PLACE_MASK, watts.w,
				       watts.uncertainty_w);
	}
}

/* Keeps what one place tells of its program; the program's other places are then left out. */
static void keep_place(struct wtl_learned *learned, const struct place *place, int64_t t_utc_ns)
{
	bool is_kept = false;

	for (size_t i = 0; i < n_watts(learned); i++) {
		const char *of = kept_name(learned, i);
		struct wtl_watts_figure found;

		if (!of || wtl_watts_looks(watts_at(learned, i)) < TOLD_LOOKS)
			continue;
		found = wtl_watts_of(watts_at(learned, i), place->key & PLACE_MASK);
		is_kept |= wtl_known_keep(&learned->known, of, place->program, &found, place->use_s,
					  t_utc_ns);
	}
	for (size_t i = OTHERS + 1; is_kept && i < PLACES; i++)
		if (strcmp(learned->places[i].program, place->program) == 0)
			learned->places[i].use_s = 0.0;
}

/* Of several places of one program, the one that used most. */
static bool is_main_place(const struct wtl_learned *learned, const struct place *place)
{
	for (size_t i = OTHERS + 1; i < PLACES; i++)
		if (strcmp(learned->places[i].program, place->program) == 0 &&
		    learned->places[i].use_s > place->use_s)
			return false;
	return place->key && wtl_known_is_kept(place->program, place->use_s);
}

const struct wtl_known_table *wtl_learned_keep(struct wtl_learned *learned, int64_t t_utc_ns)
{
	for (size_t i = OTHERS + 1; !learned->is_told && i < PLACES; i++)
		if (is_main_place(learned, &learned->places[i]))
			keep_place(learned, &learned->places[i], t_utc_ns);
	return learned->known.table;
}

/* ---- Places ---- */

/* The place has a new owner, who is taken for one of those at the place where its slot was, for what its program was
 * known to draw, or for a typical one. */
static void take_place(struct wtl_learned *learned, uint32_t key, uint32_t slot,
		       const char *program)
{
	size_t place = key & PLACE_MASK;
	size_t from = slot < learned->n_place_of ? learned->place_of[slot] : OTHERS;

	for (size_t i = 0; i < learned->n_place_of; i++)
		if (learned->place_of[i] == place)
			learned->place_of[i] = OTHERS;
	learned->places[place] = (struct place){.key = key};
	learned->ran_s[place] = 0.0;
	wtl_text_copy(learned->places[place].program, sizeof(learned->places[place].program),
		      program);
	for (size_t i = 0; i < n_watts(learned); i++) {
		struct wtl_watts *watts = watts_at(learned, i);

		if (!watts || place >= wtl_watts_places(watts))
			continue;
		if (from != OTHERS && from != place && from < wtl_watts_places(watts))
			wtl_watts_split(watts, place, from);
		else
			wtl_watts_clear(watts, place);
	}
	if (from == OTHERS || from == place)
		begin_known(learned, key, program);
	if (is_shown(learned))
		show(learned);
}

/* The place with the least recent use, if that is less than use_s; else OTHERS. */
static size_t least_used(const struct wtl_learned *learned, double use_s)
{
	size_t least = OTHERS;

	for (size_t i = OTHERS + 1; i < PLACES; i++) {
		const struct place *place = &learned->places[i];

		if (place->key == 0)
			return i;
		if (!place->is_used && place->recent_s < use_s &&
		    (least == OTHERS || place->recent_s < learned->places[least].recent_s))
			least = i;
	}
	return least;
}

static uint32_t name_of(const struct wtl_consumer *consumer)
{
	return wtl_hash_bytes(consumer->name, strlen(consumer->name)) | 1;
}

static size_t place_named(const struct wtl_learned *learned, uint32_t name)
{
	for (size_t i = OTHERS + 1; i < PLACES; i++)
		if (learned->places[i].name == name)
			return i;
	return OTHERS;
}

static size_t give_place(struct wtl_learned *learned, uint32_t slot, const char *program,
			 double use_s)
{
	size_t place = least_used(learned, use_s);

	if (place != OTHERS)
		take_place(learned, ++learned->n_given << PLACE_BITS | (uint32_t)place, slot,
			   program);
	return place;
}

/* Of a consumer that has none: that of its name. */
static size_t choose_place(struct wtl_learned *learned, const struct wtl_consumer *consumer,
			   uint32_t slot, double use_s)
{
	uint32_t name = name_of(consumer);
	size_t place;

	if (!consumer->name[0])
		return OTHERS;
	place = place_named(learned, name);
	if (place != OTHERS) {
		learned->places[place].is_shared = true;
		return place;
	}
	place = give_place(learned, slot, consumer->name, use_s);
	if (place != OTHERS)
		learned->places[place].name = name;
	return place;
}

/* One of several has used so much that it is told apart, if there is a place. */
static size_t place_alone(struct wtl_learned *learned, const struct wtl_consumer *consumer,
			  uint32_t slot, size_t shared, double use_s)
{
	size_t place = give_place(learned, slot, consumer->name, use_s);

	return place == OTHERS ? shared : place;
}

static bool owns(const struct wtl_learned *learned, uint32_t key)
{
	return key && learned->places[key & PLACE_MASK].key == key;
}

/* The place that the consumer's key says, or a new one, which the key will say. */
static size_t place_for(struct wtl_learned *learned, struct wtl_workload *workload, uint32_t slot,
			double use_s)
{
	const struct wtl_consumer *consumer = wtl_workload_consumer(workload, slot);
	uint32_t key = consumer ? consumer->watts_key : 0;
	size_t place = key & PLACE_MASK;

	if (!consumer)
		return OTHERS;
	if (learned->is_told) {
		if (key > learned->places[place].key)
			take_place(learned, key, slot, consumer->name);
		return owns(learned, key) ? place : OTHERS;
	}
	if (!owns(learned, key))
		place = use_s * WTL_NS_PER_S < USED_LEAST * (double)learned->scan_ns
				? OTHERS
				: choose_place(learned, consumer, slot, use_s);
	else if (learned->places[place].is_shared && consumer->cpu_ns > ALONE_NS)
		place = place_alone(learned, consumer, slot, place, use_s);
	wtl_workload_set_watts_key(workload, slot, learned->places[place].key);
	return place;
}

static void begin_sum(struct sum *sum)
{
	sum->n_missed = sum->n_added < sum->n_parts ? sum->n_missed + 1 : 0;
	sum->n_added = 0;
	sum->power_w = sum->noise_w2 = sum->idle_w = sum->idle_w2 = 0.0;
	sum->knows_idle = true;
}

/*
 * What is used and seen of nobody is held back until it is more than its ticks may be off by (workload/busy.h), and comes in
 * lumps: of a second or two, but in one look. A lump says nothing of its look's energy: it is spread.
 */
static double spread_unseen(struct wtl_learned *learned, double use_s)
{
	double duration_s = (double)learned->scan_ns / WTL_NS_PER_S;
	double lump_s = fmin(use_s, HELD_BACK_S);

	learned->unseen_s = fmin(learned->unseen_s + duration_s, fmax(UNSEEN_S, duration_s));
	learned->unseen_part += (lump_s - learned->unseen_part * duration_s) / learned->unseen_s;
	/* Half of what may be held back, give or take as much. */
	learned->use_doubt_s =
		hypot(TICK_DOUBT_S, 0.5 * HELD_BACK_S * duration_s / learned->unseen_s);
	return use_s - lump_s + learned->unseen_part * duration_s;
}

static double unseen_use_s(const struct wtl_workload_scan *scan)
{
	for (size_t i = 0; i < scan->n_uses; i++)
		if (scan->uses[i].slot == WTL_SLOT_UNSEEN)
			return (double)scan->uses[i].weight / WTL_NS_PER_S;
	return 0.0;
}

/* Returns the part of the time in which they rest. */
static double add_place_use(struct wtl_learned *learned, size_t place, double use_s)
{
	learned->use_s[place] += use_s;
	learned->places[place].recent_s += use_s;
	learned->places[place].use_s += use_s;
	return 1.0 - fmin(1.0, use_s * WTL_NS_PER_S / (double)learned->scan_ns);
}

int wtl_learned_widen(struct wtl_learned *learned, size_t n_slots)
{
	return wtl_array_widen(&learned->place_of, &learned->n_place_of, n_slots,
			       sizeof(*learned->place_of));
}

void wtl_learned_scan(struct wtl_learned *learned, struct wtl_workload *workload)
{
	const struct wtl_workload_scan *scan = wtl_workload_scan(workload);
	struct wtl_watts_look look = {.use_s = learned->use_s};
	double resting = 1.0;

	for (size_t i = 0; i < WTL_LEARNED_SUMS; i++)
		begin_sum(&learned->sums[i]);
	memset(learned->use_s, 0, sizeof(learned->use_s));
	learned->awake_s = 0.0;
	learned->scan_ns = 0;
	/* Of a scan without a capacity nothing is known. */
	if (scan->duration_ns <= 0 || scan->capacity_ns <= 0)
		return;
	learned->scan_ns = scan->duration_ns;
	for (size_t i = 0; i < PLACES; i++) {
		learned->places[i].recent_s *= RECENT_KEPT;
		learned->places[i].is_used = false;
	}
	for (size_t i = 0; i < scan->n_uses; i++) {
		const struct wtl_consumer *consumer =
			wtl_workload_consumer(workload, scan->uses[i].slot);

		if (consumer && owns(learned, consumer->watts_key))
			learned->places[consumer->watts_key & PLACE_MASK].is_used = true;
	}
	for (size_t i = 0; i < scan->n_uses; i++) {
		double use_s = (double)scan->uses[i].weight / WTL_NS_PER_S;
		uint32_t slot = scan->uses[i].slot;
		size_t place;

		if (slot == WTL_SLOT_UNSEEN)
			continue;
		place = place_for(learned, workload, slot, use_s);
		if (slot < learned->n_place_of)
			learned->place_of[slot] = (uint8_t)place;
		resting *= add_place_use(learned, place, use_s);
	}
	resting *= add_place_use(learned, OTHERS, spread_unseen(learned, unseen_use_s(scan)));
	look.duration_s = (double)scan->duration_ns / WTL_NS_PER_S;
	learned->awake_s = (1.0 - resting) * look.duration_s;
	if (!learned->past)
		wtl_watts_stretch_add(&learned->stretch, &look, PLACES);
	else if (!is_shown(learned))
		wtl_watts_past_note(learned->past, &look, PLACES);
}

void wtl_learned_pass(struct wtl_learned *learned)
{
	for (size_t i = 0; i < n_watts(learned); i++)
		if (watts_at(learned, i) && !learned->past)
			wtl_watts_pass(watts_at(learned, i), &learned->stretch);
	wtl_watts_stretch_begin(&learned->stretch, PLACES);
}

void wtl_learned_forget_slots(struct wtl_learned *learned)
{
	memset(learned->place_of, OTHERS, learned->n_place_of);
}

void wtl_learned_fold(struct wtl_learned *learned, const struct wtl_fold *fold)
{
	if (fold->from >= learned->n_place_of || fold->into >= learned->n_place_of)
		return;
	if (learned->place_of[fold->into] == OTHERS)
		learned->place_of[fold->into] = learned->place_of[fold->from];
	learned->place_of[fold->from] = OTHERS;
}

/* ---- Watts ---- */

/* Uses by place for something learned that may have fewer places: those beyond them count as others'. */
static void fit_uses(const struct wtl_watts *watts, const double use_s[PLACES],
		     double fitted_s[PLACES])
{
	memcpy(fitted_s, use_s, PLACES * sizeof(*use_s));
	for (size_t i = wtl_watts_places(watts); i < PLACES; i++)
		fitted_s[OTHERS] += use_s[i];
}

/* Its figures by place: beyond its places, those of the others. */
static void fit_figures(const struct wtl_watts *watts, double figures[PLACES])
{
	for (size_t i = wtl_watts_places(watts); i < PLACES; i++)
		figures[i] = figures[OTHERS];
}

/* The second time through, all watts are known from the past: nothing is left to learn. */
static void teach(const struct wtl_learned *learned, struct wtl_watts *watts,
		  const struct wtl_watts_look *look, const struct wtl_watts_figure *idle)
{
	if (is_shown(learned))
		return;
	if (idle && wtl_watts_looks(watts) == 0)
		wtl_watts_know_idle(watts, idle->w, idle->uncertainty_w);
	wtl_watts_add(watts, look);
}

/* Adds one part's look. The last part completes the look that the sum learns from. */
static void add_to_sum(const struct wtl_learned *learned, struct sum *sum,
		       const struct wtl_watts_look *part, const struct wtl_watts_figure *idle)
{
	struct wtl_watts_look look = *part;
	struct wtl_watts_figure sum_idle;
	double noise_w = part->noise_j / part->duration_s;

	sum->power_w += part->energy_j / part->duration_s;
	sum->noise_w2 += noise_w * noise_w;
	sum->knows_idle &= idle != NULL;
	if (idle) {
		sum->idle_w += idle->w;
		sum->idle_w2 += idle->uncertainty_w * idle->uncertainty_w;
	}
	if (++sum->n_added < sum->n_parts || !sum->watts)
		return;
	look.duration_s = (double)learned->scan_ns / WTL_NS_PER_S;
	look.energy_j = sum->power_w * look.duration_s;
	look.use_s = learned->use_s;
	look.noise_j = sqrt(sum->noise_w2) * look.duration_s;
	sum_idle = (struct wtl_watts_figure){sum->idle_w, sqrt(sum->idle_w2)};
	teach(learned, sum->watts, &look, sum->knows_idle ? &sum_idle : NULL);
}

void wtl_learned_add(struct wtl_learned *learned, size_t domain, uint64_t energy_uj,
		     int64_t duration_ns, double noise_j, const struct wtl_baseline *baseline)
{
	struct domain *own = &learned->domains[domain];
	double use_s[PLACES];
	struct wtl_watts_look look = {
		.energy_j = (double)energy_uj / 1e6,
		.duration_s = (double)duration_ns / WTL_NS_PER_S,
		.noise_j = noise_j,
		.use_doubt_s = learned->use_doubt_s,
		.awake_s = learned->awake_s,
		.use_s = use_s,
	};
	const struct wtl_watts_figure known = {(double)baseline->idle_uw / 1e6,
					       (double)baseline->uncertainty_uw / 1e6};
	/* From an earlier session. What was seen at rest in this one, with the little use that counts as rest, is
	 * among the looks. */
	const struct wtl_watts_figure *idle =
		baseline->is_known && !baseline->is_given ? &known : NULL;

	if (!own->watts ||
	    fabs((double)(duration_ns - learned->scan_ns)) > DURATIONS_OFF * (double)duration_ns)
		return;
	fit_uses(own->watts, learned->use_s, use_s);
	teach(learned, own->watts, &look, idle);
	if (own->sum)
		add_to_sum(learned, own->sum, &look, idle);
}

void wtl_learned_doubt(struct wtl_learned *learned)
{
	struct wtl_watts_moment now = moment_of(learned);

	if (is_shown(learned))
		return;
	if (learned->past)
		wtl_watts_past_end(learned->past, &now, true);
	for (size_t i = 0; i < n_watts(learned); i++)
		if (watts_at(learned, i))
			wtl_watts_doubt(watts_at(learned, i));
}

void wtl_learned_idle(const struct wtl_learned *learned, size_t domain,
		      struct wtl_baseline *baseline)
{
	const struct wtl_watts *watts = learned ? learned->domains[domain].watts : NULL;
	struct wtl_watts_figure idle;
	double most_w;

	if (!watts || baseline->is_modelled || baseline->is_given ||
	    wtl_watts_looks(watts) < TOLD_LOOKS)
		return;
	idle = wtl_watts_idle_of_all(watts);
	most_w = baseline->is_known ? (double)baseline->uncertainty_uw / 1e6 : IDLE_DOUBT * idle.w;
	if (!(idle.w > 0.0) || idle.uncertainty_w > most_w)
		return;
	baseline->is_known = true;
	baseline->idle_uw = (uint64_t)fmin(idle.w * 1e6, UW_MOST);
	baseline->uncertainty_uw = (uint64_t)fmin(idle.uncertainty_w * 1e6, UW_MOST);
}

/* The watts that its energy is divided by. */
static const struct wtl_watts *dividing(const struct domain *own)
{
	const struct sum *sum = own->sum;

	return sum && sum->watts && wtl_watts_looks(sum->watts) > 0 && sum->n_missed < MISSED_MOST
		       ? sum->watts
		       : own->watts;
}

bool wtl_learned_watts(const struct wtl_learned *learned, size_t domain, uint32_t key,
		       struct wtl_watts_figure *ret_watts)
{
	const struct domain *own = learned ? &learned->domains[domain] : NULL;
	const struct wtl_watts *watts = own ? dividing(own) : NULL;

	if (!watts || !owns(learned, key) || wtl_watts_looks(watts) < TOLD_LOOKS ||
	    (key & PLACE_MASK) >= wtl_watts_places(watts) ||
	    (watts != own->watts && own->sum->first != own))
		return false;
	*ret_watts = wtl_watts_of(watts, key & PLACE_MASK);
	return true;
}

/* In ppm of what each place is billed. */
static void find_doubts(const struct domain *own, const struct wtl_watts_look *look,
			const double weights_w[PLACES], double doubts[PLACES])
{
	double idle_j = wtl_watts_idle(own->watts).w * look->duration_s, dynamic_ppm = 0.0;

	if (look->energy_j > idle_j && idle_j >= 0.0)
		dynamic_ppm = 1e6 * (1.0 - idle_j / look->energy_j);
	wtl_watts_doubts(dividing(own), look, weights_w, doubts);
	fit_figures(dividing(own), doubts);
	for (size_t i = 0; i < PLACES; i++)
		doubts[i] = fmin(doubts[i] * dynamic_ppm, 4e9);
}

void wtl_learned_weigh(struct wtl_learned *learned, size_t domain, const struct wtl_use in[],
		       size_t n, const struct wtl_watts_look *whole,
		       struct wtl_learned_uses *ret_uses)
{
	const struct domain *own = &learned->domains[domain];
	bool has_doubts = whole->energy_j > 0.0;
	struct wtl_watts_look look = *whole;
	double sums_s[PLACES] = {0.0}, use_s[PLACES], weights_w[PLACES], doubts[PLACES] = {0.0};

	*ret_uses = (struct wtl_learned_uses){.uses = in, .n = n};
	if (wtl_array_reserve(&learned->uses, &learned->uses_room, n, sizeof(*in)) < 0 ||
	    wtl_array_reserve(&learned->doubts_ppm, &learned->doubts_room, n,
			      sizeof(*learned->doubts_ppm)) < 0)
		return;
	for (size_t i = 0; i < n; i++) {
		size_t slot = in[i].slot;
		size_t place = slot < learned->n_place_of ? learned->place_of[slot] : OTHERS;

		sums_s[place] += (double)in[i].weight / WTL_NS_PER_S;
	}
	fit_uses(dividing(own), sums_s, use_s);
	look.use_s = use_s;
	wtl_watts_weights(dividing(own), &look, weights_w);
	fit_figures(dividing(own), weights_w);
	if (has_doubts)
		find_doubts(own, &look, weights_w, doubts);
	for (size_t i = 0; i < n; i++) {
		size_t slot = in[i].slot;
		size_t place = slot < learned->n_place_of ? learned->place_of[slot] : OTHERS;
		double weight = (double)in[i].weight * weights_w[place] * 1e3;

		learned->uses[i].slot = in[i].slot;
		learned->uses[i].weight =
			(uint64_t)fmin(fmax(weight, 0.0), 1e18) + (in[i].weight > 0);
		learned->doubts_ppm[i] = has_doubts ? (uint32_t)doubts[place] : 0;
	}
	ret_uses->uses = learned->uses;
	ret_uses->doubts_ppm = has_doubts ? learned->doubts_ppm : NULL;
}

void wtl_learned_weigh_scan(struct wtl_learned *learned, size_t domain,
			    const struct wtl_workload_scan *scan, uint64_t energy_uj,
			    struct wtl_learned_uses *ret_uses)
{
	struct wtl_watts_look look = {
		.energy_j = (double)energy_uj / 1e6,
		.duration_s = (double)scan->duration_ns / WTL_NS_PER_S,
		.awake_s = learned->awake_s,
	};

	wtl_learned_weigh(learned, domain, scan->uses, scan->n_uses, &look, ret_uses);
}

double wtl_learned_awake_s(const struct wtl_learned *learned)
{
	return learned->awake_s;
}
