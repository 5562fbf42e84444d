/* SPDX-License-Identifier: MIT */
#include "meter/learned.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"
#include "energy/units.h"

enum { OTHERS, PLACES = 64, PLACE_BITS = 6, PLACE_MASK = PLACES - 1 };

#define RECENT_KEPT   0.9  /* of earlier use, from scan to scan: who has used most lately */
#define USED_LEAST    0.01 /* of a CPU: less needs no place */
#define ALONE_NS      (3 * WTL_NS_PER_S) /* CPU time after which one of several has a place of its own */
#define CHUNK_S	      60.0
#define TOLD_LOOKS    8	   /* before anything is taken from the regression but weights */
#define IDLE_DOUBT    0.05 /* and how well it must be known where nothing is known at rest */
#define UW_MOST	      1e15
#define DURATIONS_OFF 0.2 /* a scan and an energy are of the same time, but for that */

struct place {
	uint32_t key;	 /* place, and above it how many had been given out; 0: free */
	uint32_t name;	 /* hash of the name that shares it; 0: one consumer's alone */
	bool is_shared;	 /* by several of that name */
	bool is_used;	 /* in the newest scan, by one who has it */
	double recent_s; /* use, the older the less */
};

struct wtl_learned {
	bool is_told;
	uint32_t n_given;
	struct place places[PLACES];
	uint8_t *place_of; /* one a slot */
	size_t n_place_of;
	/* The newest scan. */
	double use_s[PLACES], awake_s;
	int64_t scan_ns;
	/* Room for answers. */
	double weights_w[PLACES], doubts[PLACES], sums_s[PLACES];
	struct wtl_use *uses;
	uint32_t *doubts_ppm;
	size_t uses_room, doubts_room;
	size_t n_domains;
	struct domain {
		struct wtl_watts *watts; /* NULL: it is not learned */
		bool knows_rest, is_restored;
	} domains[];
};

struct wtl_learned *wtl_learned_new(size_t n_domains, bool is_told)
{
	struct wtl_learned *learned =
		calloc(1, sizeof(*learned) + n_domains * sizeof(learned->domains[0]));

	if (learned) {
		learned->n_domains = n_domains;
		learned->is_told = is_told;
	}
	return learned;
}

void wtl_learned_free(struct wtl_learned *learned)
{
	if (!learned)
		return;
	for (size_t i = 0; i < learned->n_domains; i++)
		wtl_watts_free(learned->domains[i].watts);
	free(learned->place_of);
	free(learned->uses);
	free(learned->doubts_ppm);
	free(learned);
}

int wtl_learned_add_domain(struct wtl_learned *learned, size_t domain)
{
	learned->domains[domain].watts = wtl_watts_new(PLACES);
	return learned->domains[domain].watts ? 0 : -ENOMEM;
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

/* ---- Places ---- */

/* The place has a new owner, who is taken for one of those at the place where its slot was, or for a typical one. */
static void take_place(struct wtl_learned *learned, uint32_t key, uint32_t slot)
{
	size_t place = key & PLACE_MASK;
	size_t from = slot < learned->n_place_of ? learned->place_of[slot] : OTHERS;

	for (size_t i = 0; i < learned->n_place_of; i++)
		if (learned->place_of[i] == place)
			learned->place_of[i] = OTHERS;
	learned->places[place] = (struct place){.key = key};
	for (size_t i = 0; i < learned->n_domains; i++)
		if (learned->domains[i].watts && from != OTHERS && from != place)
			wtl_watts_split(learned->domains[i].watts, place, from);
		else if (learned->domains[i].watts)
			wtl_watts_clear(learned->domains[i].watts, place);
}

/* The place of whoever used least lately, and less than that; OTHERS: nobody did. */
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

static size_t give_place(struct wtl_learned *learned, uint32_t slot, double use_s)
{
	size_t place = least_used(learned, use_s);

	if (place != OTHERS)
		take_place(learned, ++learned->n_given << PLACE_BITS | (uint32_t)place, slot);
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
	place = give_place(learned, slot, use_s);
	if (place != OTHERS)
		learned->places[place].name = name;
	return place;
}

/* One of several has used so much that it is told apart, if there is a place. */
static size_t place_alone(struct wtl_learned *learned, uint32_t slot, size_t shared, double use_s)
{
	size_t place = give_place(learned, slot, use_s);

	return place == OTHERS ? shared : place;
}

static bool owns(const struct wtl_learned *learned, uint32_t key)
{
	return key && learned->places[key & PLACE_MASK].key == key;
}

/* Where the key says, or where it shall say. */
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
			take_place(learned, key, slot);
		return owns(learned, key) ? place : OTHERS;
	}
	if (!owns(learned, key))
		place = use_s * WTL_NS_PER_S < USED_LEAST * (double)learned->scan_ns
				? OTHERS
				: choose_place(learned, consumer, slot, use_s);
	else if (learned->places[place].is_shared && consumer->cpu_ns > ALONE_NS)
		place = place_alone(learned, slot, place, use_s);
	wtl_workload_set_watts_key(workload, slot, learned->places[place].key);
	return place;
}

int wtl_learned_scan(struct wtl_learned *learned, struct wtl_workload *workload)
{
	const struct wtl_workload_scan *scan = wtl_workload_scan(workload);
	double resting = 1.0;

	memset(learned->use_s, 0, sizeof(learned->use_s));
	learned->awake_s = 0.0;
	learned->scan_ns = 0;
	if (wtl_array_widen(&learned->place_of, &learned->n_place_of,
			    wtl_workload_capacity(workload), sizeof(*learned->place_of)) < 0)
		return -ENOMEM;
	/* Of a scan without a capacity nothing is known. */
	if (scan->duration_ns <= 0 || scan->capacity_ns <= 0)
		return 0;
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
		size_t place = place_for(learned, workload, slot, use_s);

		if (slot < learned->n_place_of)
			learned->place_of[slot] = (uint8_t)place;
		learned->use_s[place] += use_s;
		learned->places[place].recent_s += use_s;
		resting *= 1.0 - fmin(1.0, use_s * WTL_NS_PER_S / (double)scan->duration_ns);
	}
	learned->awake_s = (1.0 - resting) * (double)scan->duration_ns / WTL_NS_PER_S;
	return 0;
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

void wtl_learned_add(struct wtl_learned *learned, size_t domain, uint64_t energy_uj,
		     int64_t duration_ns, double noise_j, const struct wtl_baseline *baseline)
{
	struct domain *own = &learned->domains[domain];
	struct wtl_watts_look look = {
		.energy_j = (double)energy_uj / 1e6,
		.duration_s = (double)duration_ns / WTL_NS_PER_S,
		.noise_j = noise_j,
		.awake_s = learned->awake_s,
		.use_s = learned->use_s,
	};

	if (!own->watts || learned->scan_ns == 0 ||
	    fabs((double)(duration_ns - learned->scan_ns)) > DURATIONS_OFF * (double)duration_ns)
		return;
	if (baseline->is_known && !baseline->is_given && !own->knows_rest)
		wtl_watts_know_idle(own->watts, (double)baseline->idle_uw / 1e6,
				    (double)baseline->uncertainty_uw / 1e6);
	own->knows_rest = baseline->is_known;
	wtl_watts_add(own->watts, &look);
}

void wtl_learned_doubt(struct wtl_learned *learned)
{
	for (size_t i = 0; i < learned->n_domains; i++)
		if (learned->domains[i].watts)
			wtl_watts_doubt(learned->domains[i].watts);
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
	idle = wtl_watts_idle(watts);
	most_w = baseline->is_known ? (double)baseline->uncertainty_uw / 1e6 : IDLE_DOUBT * idle.w;
	if (!(idle.w > 0.0) || idle.uncertainty_w > most_w)
		return;
	baseline->is_known = true;
	baseline->idle_uw = (uint64_t)fmin(idle.w * 1e6, UW_MOST);
	baseline->uncertainty_uw = (uint64_t)fmin(idle.uncertainty_w * 1e6, UW_MOST);
}

bool wtl_learned_watts(const struct wtl_learned *learned, size_t domain, uint32_t key,
		       struct wtl_watts_figure *ret_watts)
{
	const struct wtl_watts *watts = learned ? learned->domains[domain].watts : NULL;

	if (!watts || !owns(learned, key) || wtl_watts_looks(watts) < TOLD_LOOKS)
		return false;
	*ret_watts = wtl_watts_of(watts, key & PLACE_MASK);
	return true;
}

/* In doubts[], in ppm of what each place is billed. */
static void find_doubts(struct wtl_learned *learned, const struct wtl_watts *watts,
			const struct wtl_watts_look *look)
{
	double idle_j = wtl_watts_idle(watts).w * look->duration_s, dynamic_ppm = 0.0;

	if (look->energy_j > idle_j && idle_j >= 0.0)
		dynamic_ppm = 1e6 * (1.0 - idle_j / look->energy_j);
	wtl_watts_doubts(watts, look, learned->weights_w, learned->doubts);
	for (size_t i = 0; i < PLACES; i++)
		learned->doubts[i] = fmin(learned->doubts[i] * dynamic_ppm, 4e9);
}

/* in: CPU time by slots, whose energy is above rest in that part; an energy of 0: doubts are not asked for. */
static void weigh(struct wtl_learned *learned, size_t domain, const struct wtl_use in[], size_t n,
		  const struct wtl_watts_look *whole, struct wtl_learned_uses *ret_uses)
{
	const struct wtl_watts *watts = learned->domains[domain].watts;
	bool has_doubts = whole->energy_j > 0.0;
	struct wtl_watts_look look = *whole;

	*ret_uses = (struct wtl_learned_uses){.uses = in, .n = n};
	if (wtl_array_reserve(&learned->uses, &learned->uses_room, n, sizeof(*in)) < 0 ||
	    wtl_array_reserve(&learned->doubts_ppm, &learned->doubts_room, n,
			      sizeof(*learned->doubts_ppm)) < 0)
		return;
	memset(learned->sums_s, 0, sizeof(learned->sums_s));
	for (size_t i = 0; i < n; i++) {
		size_t slot = in[i].slot;
		size_t place = slot < learned->n_place_of ? learned->place_of[slot] : OTHERS;

		learned->sums_s[place] += (double)in[i].weight / WTL_NS_PER_S;
	}
	look.use_s = learned->sums_s;
	wtl_watts_weights(watts, &look, learned->weights_w);
	if (has_doubts)
		find_doubts(learned, watts, &look);
	for (size_t i = 0; i < n; i++) {
		size_t slot = in[i].slot;
		size_t place = slot < learned->n_place_of ? learned->place_of[slot] : OTHERS;
		double weight = (double)in[i].weight * learned->weights_w[place] * 1e3;

		learned->uses[i].slot = in[i].slot;
		learned->uses[i].weight =
			(uint64_t)fmin(fmax(weight, 0.0), 1e18) + (in[i].weight > 0);
		learned->doubts_ppm[i] = has_doubts ? (uint32_t)learned->doubts[place] : 0;
	}
	ret_uses->uses = learned->uses;
	ret_uses->doubts_ppm = has_doubts ? learned->doubts_ppm : NULL;
}

void wtl_learned_weigh(struct wtl_learned *learned, size_t domain,
		       const struct wtl_workload_scan *scan, struct wtl_learned_uses *ret_uses)
{
	struct wtl_watts_look look = {
		.duration_s = (double)scan->duration_ns / WTL_NS_PER_S,
		.awake_s = learned->awake_s,
	};

	weigh(learned, domain, scan->uses, scan->n_uses, &look, ret_uses);
}

/* ---- Chunks ---- */

int wtl_chunk_init(struct wtl_chunk *chunk, size_t n_domains, size_t capacity)
{
	*chunk = (struct wtl_chunk){.recent = wtl_attribution_new(n_domains, capacity)};
	if (chunk->recent && wtl_chunk_grow(chunk, capacity) == 0)
		return 0;
	wtl_chunk_done(chunk);
	return -ENOMEM;
}

void wtl_chunk_done(struct wtl_chunk *chunk)
{
	wtl_attribution_free(chunk->recent);
	free(chunk->uses);
	free(chunk->at);
	*chunk = (struct wtl_chunk){.recent = NULL};
}

int wtl_chunk_grow(struct wtl_chunk *chunk, size_t capacity)
{
	if (!chunk->recent)
		return 0;
	if (wtl_attribution_grow(chunk->recent, capacity) < 0)
		return -ENOMEM;
	return wtl_array_widen(&chunk->at, &chunk->n_at, capacity, sizeof(*chunk->at));
}

void wtl_chunk_settle(struct wtl_chunk *chunk)
{
	if (!chunk->recent)
		return;
	wtl_attribution_reset(chunk->recent);
	for (size_t i = 0; i < chunk->n_uses; i++)
		chunk->at[chunk->uses[i].slot] = 0;
	chunk->n_uses = 0;
	chunk->awake_s = chunk->duration_s = 0.0;
}

static int add_use(struct wtl_chunk *chunk, uint32_t slot, uint64_t weight)
{
	if (slot >= chunk->n_at)
		slot = WTL_SLOT_UNSEEN;
	if (chunk->at[slot] == 0) {
		if (wtl_array_reserve(&chunk->uses, &chunk->uses_room, chunk->n_uses + 1,
				      sizeof(*chunk->uses)) < 0)
			return -ENOMEM;
		chunk->uses[chunk->n_uses++] = (struct wtl_use){.slot = slot};
		chunk->at[slot] = (uint32_t)chunk->n_uses;
	}
	chunk->uses[chunk->at[slot] - 1].weight += weight;
	return 0;
}

void wtl_chunk_fold(struct wtl_chunk *chunk, const struct wtl_fold *fold)
{
	uint64_t weight;

	if (!chunk->recent)
		return;
	wtl_attribution_fold(chunk->recent, fold->from, fold->into);
	if (fold->from >= chunk->n_at || chunk->at[fold->from] == 0)
		return;
	weight = chunk->uses[chunk->at[fold->from] - 1].weight;
	if (weight > 0 && add_use(chunk, fold->into, weight) == 0)
		chunk->uses[chunk->at[fold->from] - 1].weight = 0;
}

int wtl_chunk_add(struct wtl_chunk *chunk, const struct wtl_learned *learned,
		  const struct wtl_workload_scan *scan)
{
	int rc = 0;

	if (chunk->duration_s >= CHUNK_S)
		wtl_chunk_settle(chunk);
	for (size_t i = 0; rc == 0 && i < scan->n_uses; i++)
		rc = add_use(chunk, scan->uses[i].slot, scan->uses[i].weight);
	chunk->awake_s += learned->awake_s;
	chunk->duration_s += (double)scan->duration_ns / WTL_NS_PER_S;
	return rc;
}

void wtl_chunk_bill(struct wtl_chunk *chunk, struct wtl_learned *learned,
		    struct wtl_attribution *attribution, size_t domain, uint64_t energy_uj,
		    int64_t duration_ns)
{
	struct wtl_share total = wtl_attribution_total(chunk->recent, domain);
	struct wtl_watts_look whole = {
		.energy_j = (double)(total.full_uj + energy_uj) / 1e6,
		.duration_s = (double)(total.share_ns + duration_ns) / WTL_NS_PER_S,
		.awake_s = chunk->awake_s,
	};
	struct wtl_learned_uses uses;

	weigh(learned, domain, chunk->uses, chunk->n_uses, &whole, &uses);
	wtl_attribution_redivide(attribution, chunk->recent, domain, energy_uj, duration_ns,
				 uses.uses, uses.doubts_ppm, uses.n);
}
