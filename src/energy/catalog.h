/* SPDX-License-Identifier: MIT */
#ifndef WTL_ENERGY_CATALOG_H
#define WTL_ENERGY_CATALOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <wattle.h>

#include "energy/units.h"

struct wtl_sensor_class;

/*
 * What the sources of a machine have to offer: channels, and what they could not offer, with the
 * reason. Sources fill it while they open; afterwards it does not change.
 */

enum { WTL_NAME_SIZE = 32, WTL_CATALOG_MAX = 4096 };

enum wtl_quantity {
	WTL_QUANTITY_ENERGY, /* a counter that only rises, but for wraps and resets */
	WTL_QUANTITY_POWER,  /* what is drawn now, or was on average over the sensor's window */
};

/* One way to measure one domain. */
struct wtl_channel {
	char domain[WTL_NAME_SIZE]; /* "package-0" */
	char inside[WTL_NAME_SIZE]; /* the domain that contains it, "" for none */
	char device[128];	    /* the maker's name of the part, "" if not known */
	char serial[48];	    /* what no other device has: a UUID; "" if not known */
	enum wattle_kind kind;
	bool in_total;
	enum wtl_quantity quantity;
	enum wattle_method method;
	struct wtl_unit unit; /* of the reading's counts */
	uint64_t range; /* counts after which the counter wraps to 0 (one more than its highest
			   value); 0: it does not wrap */
	uint64_t
		max_uw; /* no such part can draw more: tells wraps from resets; of power with a class, its
			      limit; 0: not known */
	int64_t update_ns; /* how often the sensor has something new; 0: not known */
	int64_t fresh_ns; /* of one that is read rarely: a reading tells of a moment so long after it; 0: a
			      sample's reading is that sample's */
	uint32_t
		gain_ppm; /* standard uncertainty of the sensor's gain (facts/carbon-and-ml.md 5.5) */
	uint32_t offset_uw; /* standard uncertainty of its zero, as power */
	uint64_t idle_uw;   /* of a model: what it gives at no use; 0: it does not say */
	const struct wtl_sensor_class
		*class; /* for power: how the sensor averages; NULL: unknown */
	/* Set by the registry. */
	const char *source;
	unsigned rank; /* of the source: the lowest is the best */
};

/* A domain or a whole source that cannot be read. */
struct wtl_miss {
	const char *source;	    /* set by the registry */
	char domain[WTL_NAME_SIZE]; /* "" for a whole source */
	enum wattle_kind kind;	    /* what would be measured */
	enum wattle_status status;  /* DENIED, ABSENT, FAILED, ASLEEP, GONE */
	bool in_total;		    /* a domain that exists and would count */
	char reason[200]; /* one line, no full stop: "energy_uj is readable by root only" */
	char remedy[240]; /* a command or setting; "" where there is none */
};

/* NVIDIA's GPUs by the number in their domain's name: "gpu-3". */
struct wtl_gpu_set {
	uint64_t bits[4]; /* from 256 on, they are in none */
	bool has_all;	  /* however many there are */
};

bool wtl_gpu_set_has(const struct wtl_gpu_set *set, unsigned number);
void wtl_gpu_set_add(struct wtl_gpu_set *set, unsigned number);

struct wtl_catalog {
	struct wtl_channel *channels;
	size_t n_channels, channels_room;
	struct wtl_miss *misses;
	size_t n_misses, misses_room;
	struct wtl_gpu_set left_out; /* by request: they have neither channels nor misses */
	/* What the registry stamps on entries while a source opens. */
	const char *source;
	unsigned rank;
};

void wtl_catalog_init(struct wtl_catalog *catalog);
void wtl_catalog_done(struct wtl_catalog *catalog);

/*
 * Adds a copy. Returns its index, -ENOMEM, -EINVAL for a channel without a name or with a zero
 * unit, -EEXIST when the same source has that domain with the same quantity already, -E2BIG past
 * WTL_CATALOG_MAX.
 */
int wtl_catalog_add(struct wtl_catalog *catalog, const struct wtl_channel *channel);

/* Notes what cannot be read. 0, -ENOMEM, -E2BIG. */
int wtl_catalog_miss(struct wtl_catalog *catalog, const struct wtl_miss *miss);

/* wtl_catalog_miss() from parts; in_total follows from the kind, the reason is a format. domain and
 * remedy may be NULL. */
int wtl_catalog_missf(struct wtl_catalog *catalog, enum wattle_kind kind, const char *domain,
		      enum wattle_status status, const char *remedy, const char *format, ...)
	__attribute__((format(printf, 6, 7)));

/* Is a channel of that kind there already? */
bool wtl_catalog_has(const struct wtl_catalog *catalog, enum wattle_kind kind);

/* How many different domains of that kind there are, those that cannot be read or were left out
 * included: the next GPU's number. */
unsigned wtl_catalog_count(const struct wtl_catalog *catalog, enum wattle_kind kind);

#endif
