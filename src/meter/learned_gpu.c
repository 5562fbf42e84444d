/* SPDX-License-Identifier: MIT */
#include "meter/learned_gpu.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"
#include "energy/units.h"
#include "meter/known_watts.h"
#include "workload/gpu_smooth.h"
#include "workload/gpu_use.h"

enum { OTHERS, PLACES = 8 };

#define BLOCK_S 3.5  /* looks are joined until they are so long: four of a second */
#define CHUNK_S 60.0 /* what is divided anew */
#define PENDING_MOST_S \
	2.5 /* drivers that tell of nobody for so long tell that nobody did anything */
#define USED_LEAST    0.01 /* of the GPU: less needs no place */
#define TOLD_LOOKS    8	   /* blocks, before anything is taken from the regression */
#define DURATIONS_OFF 0.2  /* the times of a scan and its energy may differ by this part */
/* How samples jump: variance of one's part s of the use in one second, in parts of s·(1 - s). Lists of processes on real
 * GPUs jump by all of that ("99 and nothing", then "19 and 79"); what is not seen to jump is believed after a while. */
#define JUMPS_FIRST 0.5
#define JUMPS_LOOKS 10.0  /* what is assumed of it at first counts as so many looks */
#define JUMPS_MOST  100.0 /* no more looks than this are remembered */
#define MIX_SPREAD \
	0.5 /* by how much two who are mistaken for each other differ: of a typical one's watts */
#define LATE_S	     0.45 /* samples end so long before they are told */
#define LATE_DOUBT_S 0.3  /* give or take */
#define BIAS_MOST    0.5
#define SPREAD \
	0.28 /* of shares by use alone: relative, standard, of all that is others' (judgement) */
#define NO_SLOT UINT32_MAX

struct place {
	int pid; /* 0: free */
	uint32_t slot;
	char program[32];
	bool is_known;		/* since an earlier session */
	double kept_s;		/* of the sum of its use, what was kept for the next session */
	bool is_there;		/* in the newest scan */
	uint64_t seen;		/* the scan that it was there last */
	double ppm, averaged_s; /* as the samples were smoothed */
	double part;		/* of the GPU, in the newest scan: unsmoothed */
	double share;		/* of the use in it; < 0: there was none */
	/* Sums over blocks: how its use varied, and how much of that may be samples that jump. */
	double sum_s, sum_s2, mixed_s2;
};

struct block {
	double energy_j, duration_s, noise_j2;
	double use_s[PLACES], mixed_s2[PLACES];
	unsigned n_scans;
	double changed2;      /* by how much use changed around its two ends, squared */
	double first[PLACES]; /* parts of its first scan */
};

struct wtl_gpu_learned {
	char of[24];
	struct wtl_known_programs *programs;
	struct wtl_watts *watts;
	struct place places[PLACES];
	bool is_shared, is_mixed, is_restored; /* is_mixed: by several in the newest scan */
	uint64_t n_scans;
	double jumps, jumps_looks,
		all; /* the last: of all places, in the newest scan that told of any */
	/* The newest scan. */
	double duration_s; /* 0: nothing is known of it */
	double span_s;	   /* the time that the reported use covers; 0: scans after it will tell */
	double changed, changed_before; /* by how much use did, from scan to scan */
	double pending_s;		/* of scans before, of whose use nothing is known yet */
	bool was_added;
	struct wtl_gpu_used *used;
	size_t n_used, used_room;
	struct block block;
	double n_blocks;
	double ran_s[PLACES];
	struct wtl_watts_stretch stretch; /* since wtl_gpu_learned_pass() */
	/* Room for answers. */
	struct wtl_use *uses;
	uint32_t *doubts_ppm;
	size_t uses_room, doubts_room;
};

struct wtl_gpu_learned *wtl_gpu_learned_new(const char *of, struct wtl_known_programs *programs)
{
	struct wtl_gpu_learned *learned = calloc(1, sizeof(*learned));

	if (!learned)
		return NULL;
	learned->watts = wtl_watts_new(PLACES);
	if (!learned->watts) {
		free(learned);
		return NULL;
	}
	wtl_watts_mix(learned->watts, OTHERS);
	wtl_text_copy(learned->of, sizeof(learned->of), of);
	learned->programs = programs;
	learned->stretch.ran_s = learned->ran_s;
	learned->jumps = JUMPS_FIRST;
	learned->jumps_looks = JUMPS_LOOKS;
	return learned;
}

void wtl_gpu_learned_free(struct wtl_gpu_learned *learned)
{
	if (!learned)
		return;
	wtl_watts_free(learned->watts);
	free(learned->used);
	free(learned->uses);
	free(learned->doubts_ppm);
	free(learned);
}

/* ---- Places ---- */

static size_t place_of(const struct wtl_gpu_learned *learned, uint32_t slot)
{
	for (size_t i = OTHERS + 1; i < PLACES; i++)
		if (learned->places[i].pid && learned->places[i].slot == slot)
			return i;
	return OTHERS;
}

static void take_place(struct wtl_gpu_learned *learned, size_t place,
		       const struct wtl_consumer *consumer, uint32_t slot)
{
	struct block *block = &learned->block;
	struct place *taken = &learned->places[place];
	struct wtl_watts_figure known;

	*taken = (struct place){.pid = consumer->pid, .slot = slot, .share = -1.0};
	wtl_text_copy(taken->program, sizeof(taken->program), consumer->name);
	wtl_watts_clear(learned->watts, place);
	taken->is_known = wtl_known_begin(learned->programs, learned->of, taken->program,
					  (uint32_t)consumer->pid, &known);
	if (taken->is_known)
		wtl_watts_know(learned->watts, place, known.w, known.uncertainty_w);
	learned->ran_s[place] = 0.0;
	block->use_s[OTHERS] += block->use_s[place];
	block->mixed_s2[OTHERS] += block->mixed_s2[place];
	block->use_s[place] = block->mixed_s2[place] = 0.0;
}

/* A free place, or that of whoever is gone for longest. */
static size_t free_place(const struct wtl_gpu_learned *learned)
{
	size_t found = OTHERS;

	for (size_t i = OTHERS + 1; i < PLACES; i++) {
		const struct place *place = &learned->places[i];

		if (place->pid == 0)
			return i;
		if (place->seen + 1 < learned->n_scans &&
		    (found == OTHERS || place->seen < learned->places[found].seen))
			found = i;
	}
	return found;
}

static size_t place_for(struct wtl_gpu_learned *learned, const struct wtl_consumer *consumer,
			const struct wtl_use *use)
{
	size_t place = place_of(learned, use->slot);

	if (!consumer || consumer->pid == 0)
		return OTHERS;
	if (place != OTHERS && learned->places[place].pid == consumer->pid)
		return place;
	if (use->weight < (uint64_t)(USED_LEAST * WTL_GPU_USE_WHOLE))
		return OTHERS;
	if (place == OTHERS)
		place = free_place(learned);
	if (place != OTHERS)
		take_place(learned, place, consumer, use->slot);
	return place;
}

void wtl_gpu_learned_fold(struct wtl_gpu_learned *learned, uint32_t from, uint32_t into)
{
	size_t place = place_of(learned, from);

	if (place != OTHERS)
		learned->places[place].slot = into;
}

void wtl_gpu_learned_reset(struct wtl_gpu_learned *learned, const struct wtl_workload *workload)
{
	for (size_t i = OTHERS + 1; i < PLACES; i++) {
		struct place *place = &learned->places[i];
		const struct wtl_consumer *consumer = wtl_workload_consumer(workload, place->slot);

		if (place->pid && (!consumer || consumer->pid != place->pid))
			place->slot = NO_SLOT;
	}
}

/* ---- Use ---- */

/* Smoothed use is as before: the driver has not sampled since, or use was exactly the same. */
static bool is_pending(const struct wtl_gpu_learned *learned, const double told[])
{
	double all = 0.0;

	for (size_t i = 0; i < PLACES; i++) {
		all += told[i];
		if (told[i] != (learned->places[i].averaged_s > 0.0 ? learned->places[i].ppm : 0.0))
			return false;
	}
	return all > 0.0;
}

/* The inverse of what wtl_gpu_smooth_step() does to samples. The use of one that has ended is not smoothed. */
static double unsmooth(struct place *place, double now_ppm, double duration_s, bool has_ended)
{
	double kept_s = place->averaged_s;
	double sample = now_ppm;

	if (!has_ended)
		sample += (now_ppm - place->ppm) * kept_s / duration_s;
	place->averaged_s =
		kept_s > 0.0 ? fmin(kept_s + duration_s, (double)WTL_GPU_SMOOTH_NS / WTL_NS_PER_S)
			     : (double)WTL_GPU_FIRST_NS / WTL_NS_PER_S;
	place->ppm = now_ppm;
	return fmin(fmax(sample, 0.0), 1.0);
}

/* From second to second, how the use of those who work at once moves between them while they use as much together. */
static void watch_jumps(struct wtl_gpu_learned *learned, double all)
{
	double moved = 0.0, mixed = 0.0;
	bool is_other = fabs(all - learned->all) > 0.1 * all;

	learned->all = all;

	for (size_t i = 0; i < PLACES; i++) {
		struct place *place = &learned->places[i];
		double share = all > 0.0 ? place->part / all : -1.0;

		if (share >= 0.0 && place->share >= 0.0) {
			double mean = 0.5 * (share + place->share);

			moved += 0.5 * (share - place->share) * (share - place->share);
			mixed += mean * (1.0 - mean);
		}
		place->share = share;
	}
	if (is_other || !(mixed > 0.05))
		return;
	learned->jumps_looks = fmin(learned->jumps_looks + 1.0, JUMPS_MOST);
	learned->jumps += (fmin(moved / mixed, 1.0) - learned->jumps) / learned->jumps_looks;
}

/* The variance of a use if samples jump by all that they can. What is seen of jumps scales it later. */
static double mixed_s2(const struct wtl_gpu_learned *learned, double part, double all)
{
	return fmax(part * (all - part), 0.0) * learned->duration_s * learned->span_s;
}

/* Who they are. used[].use_s is what is told, a part of the GPU, until it is known what it stands for. */
static void find_users(struct wtl_gpu_learned *learned, const struct wtl_workload *workload,
		       const struct wtl_use uses[], size_t n, double told[])
{
	for (size_t i = 0; i < n; i++) {
		const struct wtl_consumer *consumer = wtl_workload_consumer(workload, uses[i].slot);
		size_t place = place_for(learned, consumer, &uses[i]);
		double part = (double)uses[i].weight / WTL_GPU_USE_WHOLE;

		learned->used[i] = (struct wtl_gpu_used){.slot = uses[i].slot, .use_s = part};
		learned->places[place].is_there = true;
		learned->places[place].seen = learned->n_scans;
		told[place] += part;
	}
	learned->n_used = n;
}

static bool has_ended(const struct wtl_workload *workload, const struct place *place)
{
	const struct wtl_consumer *consumer = wtl_workload_consumer(workload, place->slot);

	return place->pid && consumer && consumer->state == WTL_CONSUMER_EXITED;
}

static void find_parts(struct wtl_gpu_learned *learned, const struct wtl_workload *workload,
		       const double told[])
{
	double all = 0.0, changed = 0.0;

	learned->span_s = learned->pending_s += learned->duration_s;
	if (is_pending(learned, told) && learned->pending_s < PENDING_MOST_S) {
		learned->span_s = 0.0;
		return;
	}
	learned->pending_s = 0.0;
	for (size_t i = 0; i < PLACES; i++) {
		struct place *place = &learned->places[i];
		double before = place->part;

		if (place->is_there)
			place->part = unsmooth(place, told[i], learned->duration_s,
					       has_ended(workload, place));
		else
			place->part = place->ppm = place->averaged_s = 0.0;
		all += place->part;
		changed += fabs(place->part - before);
	}
	learned->changed = changed;
	watch_jumps(learned, all);
	for (size_t i = 0; i < learned->n_used; i++) {
		struct wtl_gpu_used *used = &learned->used[i];
		size_t at = place_of(learned, used->slot);
		double part =
			told[at] > 0.0 ? learned->places[at].part * used->use_s / told[at] : 0.0;

		used->use_s = part * learned->span_s;
		used->mixed_s2 = mixed_s2(learned, part, all);
	}
}

static void note_shared(struct wtl_gpu_learned *learned)
{
	size_t n = 0, n_now = 0;

	for (size_t i = 0; i < learned->n_used; i++)
		n_now += learned->used[i].use_s > USED_LEAST * learned->duration_s;
	learned->is_mixed = n_now > 1;
	for (size_t i = OTHERS + 1; i < PLACES; i++)
		n += learned->places[i].seen > 0 && learned->places[i].pid;
	learned->is_shared |= n > 1 || (n == 1 && learned->places[OTHERS].part > USED_LEAST);
}

void wtl_gpu_learned_scan(struct wtl_gpu_learned *learned, const struct wtl_workload *workload,
			  const struct wtl_use uses[], size_t n, int64_t duration_ns)
{
	double told[PLACES] = {0.0};

	if (!learned->was_added)
		learned->block = (struct block){.duration_s = 0.0};
	learned->was_added = false;
	learned->n_scans++;
	learned->n_used = 0;
	learned->duration_s = learned->span_s = 0.0;
	learned->is_mixed = false;
	for (size_t i = 0; i < PLACES; i++) {
		learned->places[i].is_there = false;
		if (!uses)
			learned->places[i].averaged_s = 0.0;
	}
	if (!uses || duration_ns <= 0 ||
	    wtl_array_reserve(&learned->used, &learned->used_room, n, sizeof(*learned->used)) < 0)
		return;
	learned->duration_s = (double)duration_ns / WTL_NS_PER_S;
	find_users(learned, workload, uses, n, told);
	find_parts(learned, workload, told);
	note_shared(learned);
}

/* ---- Watts ---- */

static void end_block(struct wtl_gpu_learned *learned, const struct wtl_baseline *baseline)
{
	struct block *block = &learned->block;
	struct wtl_watts_look look = {
		.energy_j = block->energy_j,
		.duration_s = block->duration_s,
		.noise_j = sqrt(block->noise_j2),
		.awake_s = block->duration_s,
		.use_s = block->use_s,
	};
	double most_s2 = 0.0;
	double changed2 = learned->changed * learned->changed +
			  learned->changed_before * learned->changed_before;

	block->changed2 += changed2;
	for (size_t i = 0; i < PLACES; i++) {
		struct place *place = &learned->places[i];
		double late_s = LATE_S * (place->part - block->first[i]);

		block->use_s[i] = fmax(block->use_s[i] + late_s, 0.0);

		place->sum_s += block->use_s[i];
		place->sum_s2 += block->use_s[i] * block->use_s[i];
		place->mixed_s2 += block->mixed_s2[i];
		most_s2 = fmax(most_s2, block->mixed_s2[i]);
	}
	learned->n_blocks++;
	look.use_doubt_s = hypot(MIX_SPREAD * sqrt(learned->jumps * most_s2),
				 LATE_DOUBT_S * sqrt(block->changed2));
	if (wtl_watts_looks(learned->watts) == 0 && baseline->is_known && !baseline->is_given)
		wtl_watts_know_idle(learned->watts, (double)baseline->idle_uw / 1e6,
				    (double)baseline->uncertainty_uw / 1e6);
	wtl_watts_add(learned->watts, &look);
	wtl_watts_stretch_add(&learned->stretch, &look, PLACES);
	*block = (struct block){.changed2 = changed2};
}

static void add_use_to_block(struct wtl_gpu_learned *learned)
{
	struct block *block = &learned->block;

	block->n_scans++;
	for (size_t i = 0; block->n_scans == 1 && i < PLACES; i++)
		block->first[i] = learned->places[i].part;
	if (block->n_scans == 2)
		block->changed2 += learned->changed * learned->changed;
	for (size_t i = 0; i < learned->n_used; i++) {
		const struct wtl_gpu_used *used = &learned->used[i];
		size_t place = place_of(learned, used->slot);

		block->use_s[place] += used->use_s;
		block->mixed_s2[place] += used->mixed_s2;
	}
}

/* The newest scan may report use over more than its own time. So a block ends before a scan that
 * reports its own time alone; or after one in which use did not change. */
void wtl_gpu_learned_add(struct wtl_gpu_learned *learned, uint64_t energy_uj, int64_t duration_ns,
			 double noise_j, const struct wtl_baseline *baseline)
{
	struct block *block = &learned->block;
	double duration_s = (double)duration_ns / WTL_NS_PER_S;
	bool is_told_of = learned->span_s > 0.0;
	bool is_of_more = learned->span_s > 1.1 * learned->duration_s;

	if (!(learned->duration_s > 0.0) ||
	    fabs(duration_s - learned->duration_s) > DURATIONS_OFF * duration_s)
		return;
	learned->was_added = true;
	if (is_told_of && !is_of_more && block->duration_s >= BLOCK_S)
		end_block(learned, baseline);
	block->energy_j += (double)energy_uj / 1e6;
	block->duration_s += duration_s;
	block->noise_j2 += noise_j * noise_j;
	if (is_told_of)
		add_use_to_block(learned);
	learned->changed_before = learned->changed;
	if (is_of_more && learned->changed == 0.0 && block->duration_s >= BLOCK_S)
		end_block(learned, baseline);
}

void wtl_gpu_learned_pass(struct wtl_gpu_learned *learned)
{
	wtl_watts_pass(learned->watts, &learned->stretch);
	wtl_watts_stretch_begin(&learned->stretch, PLACES);
}

void wtl_gpu_learned_doubt(struct wtl_gpu_learned *learned)
{
	wtl_watts_doubt(learned->watts);
}

bool wtl_gpu_learned_is_shared(const struct wtl_gpu_learned *learned)
{
	return learned && learned->is_shared;
}

bool wtl_gpu_learned_is_mixed(const struct wtl_gpu_learned *learned)
{
	return learned->is_mixed;
}

static bool knows_somebody(const struct wtl_gpu_learned *learned)
{
	for (size_t i = OTHERS + 1; i < PLACES; i++)
		if (learned->places[i].is_known)
			return true;
	return false;
}

static bool is_told(const struct wtl_gpu_learned *learned)
{
	unsigned n = wtl_watts_looks(learned->watts);

	return learned->is_shared && n > 0 && (n >= TOLD_LOOKS || knows_somebody(learned));
}

bool wtl_gpu_learned_has(const struct wtl_gpu_learned *learned)
{
	return learned && (learned->is_restored || is_told(learned));
}

void wtl_gpu_learned_restore(struct wtl_gpu_learned *learned)
{
	learned->is_restored = true;
}

static bool reserve_answer(struct wtl_gpu_learned *learned, size_t n)
{
	return wtl_array_reserve(&learned->uses, &learned->uses_room, n, sizeof(*learned->uses)) ==
		       0 &&
	       wtl_array_reserve(&learned->doubts_ppm, &learned->doubts_room, n,
				 sizeof(*learned->doubts_ppm)) == 0;
}

void wtl_gpu_learned_scale(struct wtl_gpu_learned *learned, const struct wtl_use **uses, size_t n)
{
	if (!is_told(learned) || !reserve_answer(learned, n))
		return;
	for (size_t i = 0; i < n; i++) {
		struct wtl_use use = (*uses)[i];

		use.weight =
			(uint64_t)((double)use.weight *
				   wtl_watts_of(learned->watts, place_of(learned, use.slot)).w);
		learned->uses[i] = use;
	}
	*uses = learned->uses;
}

bool wtl_gpu_learned_watts(const struct wtl_gpu_learned *learned, uint32_t slot,
			   struct wtl_watts_figure *ret_watts)
{
	size_t place = learned ? place_of(learned, slot) : OTHERS;

	if (place == OTHERS || !is_told(learned))
		return false;
	*ret_watts = wtl_watts_of(learned->watts, place);
	return true;
}

/* ---- Chunks ---- */

void wtl_gpu_chunk_done(struct wtl_gpu_chunk *chunk)
{
	free(chunk->used);
	*chunk = (struct wtl_gpu_chunk){.used = NULL};
}

void wtl_gpu_chunk_settle(struct wtl_gpu_chunk *chunk)
{
	for (size_t i = 0; i < chunk->n; i++) {
		struct wtl_gpu_used *used = &chunk->used[i];

		*used = (struct wtl_gpu_used){.slot = used->slot,
					      .settled_j2 = used->settled_j2 + used->jumped_j2};
	}
	chunk->duration_s = 0.0;
}

bool wtl_gpu_chunk_has_use(const struct wtl_gpu_chunk *chunk)
{
	for (size_t i = 0; i < chunk->n; i++)
		if (chunk->used[i].use_s > 0.0)
			return true;
	return false;
}

bool wtl_gpu_chunk_is_long(const struct wtl_gpu_chunk *chunk)
{
	return chunk->duration_s >= CHUNK_S;
}

static struct wtl_gpu_used *find_used(const struct wtl_gpu_chunk *chunk, uint32_t slot)
{
	for (size_t i = 0; i < chunk->n; i++)
		if (chunk->used[i].slot == slot)
			return &chunk->used[i];
	return NULL;
}

static int add_used(struct wtl_gpu_chunk *chunk, const struct wtl_gpu_used *more)
{
	struct wtl_gpu_used *used = find_used(chunk, more->slot);

	if (!used) {
		if (wtl_array_reserve(&chunk->used, &chunk->room, chunk->n + 1,
				      sizeof(*chunk->used)) < 0)
			return -ENOMEM;
		used = &chunk->used[chunk->n++];
		*used = (struct wtl_gpu_used){.slot = more->slot};
	}
	used->use_s += more->use_s;
	used->mixed_s2 += more->mixed_s2;
	used->jumped_j2 += more->jumped_j2;
	used->settled_j2 += more->settled_j2;
	return 0;
}

void wtl_gpu_chunk_fold(struct wtl_gpu_chunk *chunk, const struct wtl_fold *fold)
{
	struct wtl_gpu_used *from = find_used(chunk, fold->from);
	struct wtl_gpu_used moved;

	if (!from)
		return;
	moved = *from;
	*from = chunk->used[--chunk->n];
	moved.slot = fold->into;
	add_used(chunk, &moved);
}

int wtl_gpu_chunk_add(struct wtl_gpu_chunk *chunk, const struct wtl_gpu_learned *learned)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && learned->span_s > 0.0 && i < learned->n_used; i++)
		rc = add_used(chunk, &learned->used[i]);
	chunk->duration_s += learned->duration_s;
	return rc;
}

/* Samples that jump draw watts towards those of the others (errors in variables): by how much, of one that draws `times`
 * as much as the mean, relative and squared. */
static double bias2(const struct wtl_gpu_learned *learned, const struct place *place, double times)
{
	double varied_s2 =
		place->sum_s2 - place->sum_s * place->sum_s / fmax(learned->n_blocks, 1.0);
	double jumped_s2 = learned->jumps * place->mixed_s2, part = 0.0, bias;

	if (jumped_s2 > 0.0)
		part = fmin(jumped_s2 / fmax(varied_s2, jumped_s2), BIAS_MOST);
	bias = (1.0 - 1.0 / times) * part / (1.0 - part);
	return bias * bias;
}

struct sums {
	double use_s[PLACES], weights_w[PLACES], doubts[PLACES], all_j;
};

/* The energy above idle, as far as idle power is known. */
static double dynamic_j(const struct wtl_gpu_learned *learned, const struct wtl_watts_look *look)
{
	double idle_j = wtl_watts_idle(learned->watts).w * look->duration_s;

	return idle_j >= 0.0 ? fmax(look->energy_j - idle_j, 0.0) : 0.0;
}

static void find_doubts(const struct wtl_gpu_learned *learned, const struct wtl_watts_look *look,
			struct sums *sums)
{
	double all_s = 0.0;

	for (size_t i = 0; i < PLACES; i++) {
		all_s += sums->use_s[i];
		sums->all_j += sums->use_s[i] * sums->weights_w[i];
	}
	if (is_told(learned))
		wtl_watts_doubts(learned->watts, look, sums->weights_w, sums->doubts);
	for (size_t i = 0; i < PLACES && sums->all_j > 0.0; i++) {
		double w = sums->weights_w[i];
		double others = 1.0 - sums->use_s[i] * w / sums->all_j;
		double more = SPREAD;

		if (is_told(learned))
			more = sqrt(bias2(learned, &learned->places[i], w / (sums->all_j / all_s)));
		sums->doubts[i] = hypot(sums->doubts[i], others * more);
	}
}

/*
 * Standard uncertainty of one's energy in a stretch: the other doubts, and what samples that jump add. Jumps are
 * independent from minute to minute, so their variances add up, and a minute is given what their root grows by.
 */
static double doubt_j(const struct wtl_gpu_learned *learned, struct wtl_gpu_used *used,
		      double own_j, double doubt)
{
	double before2 = used->settled_j2;

	used->jumped_j2 = used->use_s > 0.0 ? learned->jumps * used->mixed_s2 *
						      (own_j / used->use_s) * (own_j / used->use_s)
					    : 0.0;
	return hypot(doubt * own_j, sqrt(before2 + used->jumped_j2) - sqrt(before2));
}

void wtl_gpu_learned_weigh(struct wtl_gpu_learned *learned, struct wtl_gpu_chunk *chunk,
			   uint64_t energy_uj, struct wtl_learned_uses *ret_uses)
{
	struct wtl_gpu_used *used = chunk ? chunk->used : learned->used;
	size_t n = chunk ? chunk->n : learned->n_used;
	double duration_s = chunk ? chunk->duration_s : learned->duration_s;
	struct sums sums = {.use_s = {0.0}};
	struct wtl_watts_look look = {.energy_j = (double)energy_uj / 1e6,
				      .duration_s = duration_s,
				      .awake_s = duration_s,
				      .use_s = sums.use_s};
	double above_j = dynamic_j(learned, &look);

	*ret_uses = (struct wtl_learned_uses){.n = 0};
	if (!reserve_answer(learned, n))
		return;
	for (size_t i = 0; i < PLACES; i++)
		sums.weights_w[i] = 1.0;
	for (size_t i = 0; i < n; i++)
		sums.use_s[place_of(learned, used[i].slot)] += used[i].use_s;
	if (is_told(learned))
		wtl_watts_weights(learned->watts, &look, sums.weights_w);
	find_doubts(learned, &look, &sums);
	for (size_t i = 0; i < n; i++) {
		size_t place = place_of(learned, used[i].slot);
		double own_j = used[i].use_s * sums.weights_w[place];
		double part = sums.all_j > 0.0 ? own_j / sums.all_j : 0.0;
		double doubt = doubt_j(learned, &used[i], part * above_j, sums.doubts[place]);
		double billed_j = part * look.energy_j;

		learned->uses[i] =
			(struct wtl_use){.slot = used[i].slot,
					 .weight = (uint64_t)fmin(fmax(own_j * 1e9, 0.0), 1e18)};
		learned->doubts_ppm[i] =
			billed_j > 0.0 ? (uint32_t)fmin(1e6 * doubt / billed_j, 4e9) : 0;
	}
	*ret_uses = (struct wtl_learned_uses){
		.uses = learned->uses, .doubts_ppm = learned->doubts_ppm, .n = n};
}

/* ---- For the next session ---- */

/* What all users draw together while they keep all SMs busy. */
static double mean_w(const struct wtl_gpu_learned *learned)
{
	double all_j = 0.0, all_s = 0.0;

	for (size_t i = 0; i < PLACES; i++) {
		all_j += learned->places[i].sum_s * wtl_watts_of(learned->watts, i).w;
		all_s += learned->places[i].sum_s;
	}
	return all_s > 0.0 ? all_j / all_s : 0.0;
}

void wtl_gpu_learned_keep(struct wtl_gpu_learned *learned, int64_t t_utc_ns)
{
	double all_w = mean_w(learned);

	for (size_t i = OTHERS + 1; i < PLACES && is_told(learned); i++) {
		struct place *place = &learned->places[i];
		struct wtl_watts_figure found = wtl_watts_of(learned->watts, i);
		double use_s = place->sum_s - place->kept_s;

		if (!wtl_known_is_kept(place->program, use_s) || !(all_w > 0.0))
			continue;
		found.uncertainty_w = hypot(found.uncertainty_w,
					    found.w * sqrt(bias2(learned, place, found.w / all_w)));
		if (wtl_known_keep(learned->programs, learned->of, place->program, &found, use_s,
				   t_utc_ns))
			place->kept_s = place->sum_s;
	}
}
