/* SPDX-License-Identifier: MIT */
#include "energy/attribution.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "energy/units.h"

typedef unsigned __int128 u128;

/* 2^64 divided by the golden ratio: multiples of it modulo 2^64 spread more evenly than those of any
 * other number (Knuth, The Art of Computer Programming, 6.4). */
#define PHASE_STEP  UINT64_C(0x9e3779b97f4a7c15)
#define PHASE_START (UINT64_C(1) << 63) /* the first interval is rounded to nearest */

struct domain {
	struct wtl_share total;
	uint64_t phase;
};

struct wtl_attribution {
	size_t n_domains;
	size_t capacity;
	size_t n_used;		  /* slots that were ever named: the first ones */
	struct wtl_share *shares; /* domain by domain, capacity each */
	struct domain domains[];
};

/*
 * An amount is cut at the points amount × cumulative weight / sum of weights, each rounded down after
 * a fraction was added that is the same for all points: the pieces always add up to the amount. The
 * fraction (the phase) takes all values in turn, so that no piece is favoured for its place.
 */
struct cut {
	uint64_t whole;	 /* sum of weights, scaled */
	uint64_t offset; /* the fraction × whole */
	unsigned shift;	 /* the scale: so that whole fits */
};

static struct cut cut_of(u128 weight_sum, uint64_t *phase)
{
	struct cut cut = {0};

	while (weight_sum >> cut.shift > UINT64_MAX)
		cut.shift++;
	cut.whole = (uint64_t)(weight_sum >> cut.shift);
	cut.offset = (uint64_t)((u128)*phase * cut.whole >> 64);
	*phase += PHASE_STEP;
	return cut;
}

/* Where the amount is cut after this much weight. */
static uint64_t cut_at(const struct cut *cut, uint64_t amount, u128 cumulative)
{
	uint64_t weight = (uint64_t)(cumulative >> cut->shift);

	return (uint64_t)(((u128)amount * weight + cut->offset) / cut->whole);
}

static struct wtl_share *shares_new(size_t n_domains, size_t capacity)
{
	size_t n;

	if (capacity > UINT32_MAX || __builtin_mul_overflow(n_domains, capacity, &n))
		return NULL;
	return calloc(n ? n : 1, sizeof(struct wtl_share));
}

struct wtl_attribution *wtl_attribution_new(size_t n_domains, size_t capacity)
{
	struct wtl_attribution *attribution;
	size_t size;

	if (__builtin_mul_overflow(n_domains, sizeof(struct domain), &size) ||
	    __builtin_add_overflow(size, sizeof(*attribution), &size))
		return NULL;
	attribution = calloc(1, size);
	if (!attribution)
		return NULL;
	attribution->n_domains = n_domains;
	attribution->capacity = capacity < WTL_SLOTS_FIXED ? WTL_SLOTS_FIXED : capacity;
	attribution->n_used = WTL_SLOTS_FIXED;
	attribution->shares = shares_new(n_domains, attribution->capacity);
	if (!attribution->shares) {
		wtl_attribution_free(attribution);
		return NULL;
	}
	for (size_t i = 0; i < n_domains; i++)
		attribution->domains[i].phase = PHASE_START;
	return attribution;
}

void wtl_attribution_free(struct wtl_attribution *attribution)
{
	if (!attribution)
		return;
	free(attribution->shares);
	free(attribution);
}

static struct wtl_share *shares_of(const struct wtl_attribution *attribution, size_t domain)
{
	return attribution->shares + domain * attribution->capacity;
}

int wtl_attribution_grow(struct wtl_attribution *attribution, size_t capacity)
{
	struct wtl_share *shares;

	if (capacity <= attribution->capacity)
		return 0;
	shares = shares_new(attribution->n_domains, capacity);
	if (!shares)
		return -ENOMEM;
	for (size_t i = 0; i < attribution->n_domains; i++)
		memcpy(shares + i * capacity, shares_of(attribution, i),
		       attribution->n_used * sizeof(*shares));
	free(attribution->shares);
	attribution->shares = shares;
	attribution->capacity = capacity;
	return 0;
}

void wtl_attribution_reset(struct wtl_attribution *attribution)
{
	for (size_t i = 0; i < attribution->n_domains; i++) {
		memset(shares_of(attribution, i), 0,
		       attribution->n_used * sizeof(struct wtl_share));
		attribution->domains[i].total = (struct wtl_share){0};
	}
	attribution->n_used = WTL_SLOTS_FIXED;
}

static struct wtl_share *share_named(struct wtl_attribution *attribution, size_t domain,
				     size_t slot)
{
	if (slot >= attribution->capacity)
		slot = WTL_SLOT_UNSEEN;
	if (slot >= attribution->n_used)
		attribution->n_used = slot + 1;
	return shares_of(attribution, domain) + slot;
}

static void share_add(struct wtl_share *share, uint64_t energy_uj, int64_t duration_ns)
{
	share->full_uj += energy_uj;
	share->share_ns += duration_ns;
}

static void give_piece(struct wtl_attribution *attribution, size_t domain, size_t slot,
		       const struct wtl_share *piece)
{
	struct wtl_share *share = share_named(attribution, domain, slot);

	share_add(share, piece->full_uj, piece->share_ns);
	share->doubt_uj += piece->doubt_uj;
	attribution->domains[domain].total.doubt_uj += piece->doubt_uj;
}

static void give(struct wtl_attribution *attribution, struct wtl_attribution *recent, size_t domain,
		 size_t slot, const struct wtl_share *piece)
{
	give_piece(attribution, domain, slot, piece);
	if (recent)
		give_piece(recent, domain, slot, piece);
}

/* recent: gets the same, or NULL. doubts_ppm: of each use, or NULL. */
void wtl_attribution_add_recent(struct wtl_attribution *attribution, struct wtl_attribution *recent,
				size_t domain, uint64_t energy_uj, int64_t duration_ns,
				const struct wtl_use uses[], const uint32_t doubts_ppm[], size_t n)
{
	struct domain *account = &attribution->domains[domain];
	uint64_t time_ns = duration_ns > 0 ? (uint64_t)duration_ns : 0;
	uint64_t energy_done_uj = 0, time_done_ns = 0;
	u128 sum = 0, cumulative = 0;
	struct cut cut;

	share_add(&account->total, energy_uj, (int64_t)time_ns);
	if (recent)
		share_add(&recent->domains[domain].total, energy_uj, (int64_t)time_ns);
	for (size_t i = 0; i < n; i++)
		sum += uses[i].weight;
	if (sum == 0) {
		give(attribution, recent, domain, WTL_SLOT_NOBODY,
		     &(struct wtl_share){.full_uj = energy_uj, .share_ns = (int64_t)time_ns});
		return;
	}
	cut = cut_of(sum, &account->phase);
	for (size_t i = 0; i < n; i++) {
		uint64_t energy_end_uj, time_end_ns;
		struct wtl_share piece;

		if (uses[i].weight == 0)
			continue;
		cumulative += uses[i].weight;
		energy_end_uj = cut_at(&cut, energy_uj, cumulative);
		time_end_ns = cut_at(&cut, time_ns, cumulative);
		piece = (struct wtl_share){.full_uj = energy_end_uj - energy_done_uj,
					   .share_ns = (int64_t)(time_end_ns - time_done_ns)};
		if (doubts_ppm)
			piece.doubt_uj = (uint64_t)((u128)piece.full_uj * doubts_ppm[i] / 1000000);
		give(attribution, recent, domain, uses[i].slot, &piece);
		energy_done_uj = energy_end_uj;
		time_done_ns = time_end_ns;
	}
}

void wtl_attribution_add(struct wtl_attribution *attribution, size_t domain, uint64_t energy_uj,
			 int64_t duration_ns, const struct wtl_use uses[], size_t n)
{
	wtl_attribution_add_recent(attribution, NULL, domain, energy_uj, duration_ns, uses, NULL,
				   n);
}

void wtl_attribution_restore(struct wtl_attribution *attribution, uint32_t slot, size_t domain,
			     const struct wtl_share *share)
{
	share_add(&attribution->domains[domain].total, share->full_uj, share->share_ns);
	give_piece(attribution, domain, slot, share);
}

static void share_take(struct wtl_share *share, const struct wtl_share *part)
{
	share->full_uj -= part->full_uj;
	share->share_ns -= part->share_ns;
	share->doubt_uj -= part->doubt_uj;
}

void wtl_attribution_keep_recent(struct wtl_attribution *recent, size_t domain)
{
	memset(shares_of(recent, domain), 0, recent->n_used * sizeof(struct wtl_share));
	recent->domains[domain].total = (struct wtl_share){0};
}

void wtl_attribution_redivide(struct wtl_attribution *attribution, struct wtl_attribution *recent,
			      size_t domain, uint64_t energy_uj, int64_t duration_ns,
			      const struct wtl_use uses[], const uint32_t doubts_ppm[], size_t n)
{
	struct wtl_share total = {.full_uj = 0};

	if (recent) {
		const struct wtl_share *parts = shares_of(recent, domain);

		total = recent->domains[domain].total;
		for (size_t i = 0; i < recent->n_used; i++)
			share_take(share_named(attribution, domain, i), &parts[i]);
		share_take(&attribution->domains[domain].total, &total);
		wtl_attribution_keep_recent(recent, domain);
	}
	wtl_attribution_add_recent(attribution, recent, domain, energy_uj + total.full_uj,
				   duration_ns + total.share_ns, uses, doubts_ppm, n);
}

/* Divides the new total by the old accounts. It is less than their sum, so nobody gets more than before. */
static void settle_down(struct wtl_attribution *attribution, size_t domain, uint64_t total_uj)
{
	struct domain *account = &attribution->domains[domain];
	struct wtl_share *shares = shares_of(attribution, domain);
	struct cut cut = cut_of(account->total.full_uj, &account->phase);
	uint64_t cumulative_uj = 0, done_uj = 0;

	for (size_t i = 0; i < attribution->n_used; i++) {
		uint64_t end_uj;

		if (shares[i].full_uj == 0)
			continue;
		cumulative_uj += shares[i].full_uj;
		end_uj = cut_at(&cut, total_uj, cumulative_uj);
		shares[i].full_uj = end_uj - done_uj;
		done_uj = end_uj;
	}
}

void wtl_attribution_settle(struct wtl_attribution *attribution, size_t domain, uint64_t total_uj)
{
	struct wtl_share *total = &attribution->domains[domain].total;

	if (total_uj < total->full_uj)
		settle_down(attribution, domain, total_uj);
	else
		share_add(share_named(attribution, domain, WTL_SLOT_UNSEEN),
			  total_uj - total->full_uj, 0);
	total->full_uj = total_uj;
}

void wtl_attribution_fold(struct wtl_attribution *attribution, uint32_t from, uint32_t into)
{
	if (from == into || from >= attribution->n_used)
		return;
	for (size_t i = 0; i < attribution->n_domains; i++) {
		struct wtl_share *source = shares_of(attribution, i) + from;

		share_add(share_named(attribution, i, into), source->full_uj, source->share_ns);
		share_named(attribution, i, into)->doubt_uj += source->doubt_uj;
		*source = (struct wtl_share){0};
	}
}

uint32_t wtl_attribution_slots(const struct wtl_attribution *attribution)
{
	return (uint32_t)attribution->n_used;
}

struct wtl_share wtl_attribution_share(const struct wtl_attribution *attribution, uint32_t slot,
				       size_t domain)
{
	if (slot >= attribution->n_used)
		return (struct wtl_share){0};
	return shares_of(attribution, domain)[slot];
}

struct wtl_share wtl_attribution_total(const struct wtl_attribution *attribution, size_t domain)
{
	return attribution->domains[domain].total;
}

uint64_t wtl_share_idle_uj(const struct wtl_share *share, uint64_t idle_uw)
{
	uint64_t idle_uj = wtl_energy_uj(idle_uw, share->share_ns);

	return idle_uj < share->full_uj ? idle_uj : share->full_uj;
}
