/* SPDX-License-Identifier: MIT */
/*
 * wattle: measures the energy that a machine uses, per domain (CPU packages, DRAM, GPUs, …), between
 * any two moments.
 *
 *	struct wattle_meter *meter;
 *	struct wattle_error error = {.size = sizeof(error)};
 *	struct wattle_window result = {.size = sizeof(result)};
 *	struct wattle_energy energies[8] = {{.size = sizeof(energies[0])}};
 *
 *	if (wattle_meter_open(NULL, &meter, &error) < 0)
 *		… error.text says why …
 *	wattle_window_begin(meter, "training");
 *	… the work …
 *	wattle_window_end(meter, "training", &result, energies, 8);
 *	wattle_meter_close(meter);
 *
 * Units are part of every name: _uj is microjoules, _uw microwatts, _ns nanoseconds. A figure that
 * is not known is marked so (has_… or status), never 0. Functions return 0 or more, or a negative
 * errno value or -WATTLE_E…; nothing is printed and nothing in the process is changed. A meter may be
 * used from several threads: calls on one meter wait for each other.
 *
 * Every struct begins with its size, which the caller sets to sizeof the struct, also where the library
 * fills it in; of an array, the first element's size is that of all. The library reads and writes that
 * much and no more, so a program works with an older and with a newer library than it was compiled for:
 * members that the library does not know stay as they are, and new members come at the end. A struct
 * that ends with another one grows with that. A size that is not set, or is impossible, is -EINVAL.
 */
#ifndef WATTLE_H
#define WATTLE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define WATTLE_API __attribute__((visibility("default")))
#else
#define WATTLE_API
#endif

#define WATTLE_VERSION_MAJOR 0
#define WATTLE_VERSION_MINOR 1
#define WATTLE_VERSION_PATCH 0

/* The version of the library that is loaded, such as "0.1.0". */
WATTLE_API const char *wattle_version(void);

/* ---- Words ---- */

/* What a domain is a part of. */
enum wattle_kind {
	WATTLE_KIND_CPU,    /* a CPU package (or one die of it) */
	WATTLE_KIND_CORE,   /* the cores of a package */
	WATTLE_KIND_UNCORE, /* the integrated GPU or other uncore part of a package */
	WATTLE_KIND_DRAM,
	WATTLE_KIND_PLATFORM, /* psys: what the board's maker wired to it, more than the package */
	WATTLE_KIND_GPU,      /* a GPU board with its memory */
	WATTLE_KIND_GPU_MEMORY,
	WATTLE_KIND_MODULE, /* a module that holds a CPU and GPUs (Grace Hopper) */
	WATTLE_KIND_SOC,
	WATTLE_KIND_BATTERY,
	WATTLE_KIND_BOARD, /* a board's or machine's input power */
	WATTLE_KINDS
};

/* How a figure came about. */
enum wattle_method {
	WATTLE_METHOD_NONE,	  /* there is no figure */
	WATTLE_METHOD_COUNTER,	  /* the difference of a hardware energy counter */
	WATTLE_METHOD_INTEGRATED, /* power samples over time */
	WATTLE_METHOD_MODELLED,	  /* computed from activity and a table: a guess with wide bounds */
	WATTLE_METHOD_MIXED	  /* a total of figures with different methods */
};

/* The state of a domain, or of its figure over a window. */
enum wattle_status {
	WATTLE_STATUS_OK,
	WATTLE_STATUS_STALE,  /* the last answer is old: the device answers late */
	WATTLE_STATUS_GAP,    /* a stretch of the window could not be measured: see gap_ns */
	WATTLE_STATUS_DENIED, /* more privilege is needed */
	WATTLE_STATUS_GONE,   /* it was there and is no more */
	WATTLE_STATUS_FAILED, /* reading it fails */
	WATTLE_STATUS_ASLEEP, /* it is suspended, and reading would wake it */
	WATTLE_STATUS_ABSENT  /* the machine does not have it */
};

/* Stable lower-case words for the above ("gpu-memory", "counter", "ok"); NULL for other numbers. */
WATTLE_API const char *wattle_kind_name(enum wattle_kind kind);
WATTLE_API const char *wattle_method_name(enum wattle_method method);
WATTLE_API const char *wattle_status_name(enum wattle_status status);

/* Beside negative errno values. */
enum {
	WATTLE_E_NO_WINDOW = 4101,   /* no window of that name is open */
	WATTLE_E_WINDOW_OPEN = 4102, /* a window of that name is open already */
	WATTLE_E_TOO_MANY = 4103     /* more windows are open than the meter holds */
};

/* What failed, for people. code is the value that the function returned. */
struct wattle_error {
	size_t size; /* set by the caller */
	int code;
	char source[24]; /* the part that failed, such as "rapl-powercap" */
	char path[160];	 /* where, or "" */
	char text[256];	 /* one line: why, and what to do about it */
};

/* The words for any code that a function of this library returned. Static. */
WATTLE_API const char *wattle_strerror(int code);

/* ---- The meter ---- */

enum wattle_log_level { WATTLE_LOG_WARNING, WATTLE_LOG_INFO, WATTLE_LOG_DEBUG };

/* Set size to sizeof(struct wattle_options) and the rest to 0 or what you want. */
struct wattle_options {
	size_t size;
	/* NULL: this machine. A directory that holds another's /sys and /proc (tests, post mortems). */
	const char *root;
	/* NULL: libnvidia-ml.so.1 by the loader's rules. Else the library's path; "" for none. */
	const char *nvml_path;
	/* Replays a machine from a tape that `wattle run --tape-record` wrote; NULL: none. Each
	 * wattle_meter_tick() goes on to what was read next; root and interval_ms must be 0. */
	const char *tape;
	/*
	 * > 0: a thread of the meter's own takes samples at this interval. Needed for domains that
	 * have only a power sensor, and for counters that wrap. 0: the caller calls
	 * wattle_meter_tick(), at least once a minute.
	 */
	uint32_t interval_ms;
	/* How many windows can be open at once; 0 means 64. */
	uint32_t max_windows;
	/* The library's remarks, one line each; NULL for none. Called from within calls only, or from
	 * the sampling thread; it must not call the meter. */
	void (*log)(void *context, enum wattle_log_level level, const char *text);
	void *log_context;
};

struct wattle_meter;

/*
 * Finds what this machine can measure and starts. options may be NULL (this machine, no thread).
 * A machine without any sensor still opens: its domains are modelled, or have a reason. On failure
 * *ret_meter is untouched and *reterr (which may be NULL) says why.
 */
WATTLE_API int wattle_meter_open(const struct wattle_options *options,
				 struct wattle_meter **ret_meter, struct wattle_error *reterr);

/* Stops and frees. NULL is fine. Windows that are still open are forgotten. */
WATTLE_API void wattle_meter_close(struct wattle_meter *meter);

/* Takes one sample of every domain. Never fails because of a sensor: that is the domain's status.
 * -ENODATA: the tape is over. */
WATTLE_API int wattle_meter_tick(struct wattle_meter *meter);

/* ---- Domains ---- */

/* One domain. The strings belong to the meter and stay until it is closed; those that are not known
 * are NULL. */
struct wattle_domain {
	size_t size;	    /* set by the caller */
	const char *name;   /* "package-0", "gpu-1" */
	const char *inside; /* the domain that this one is a part of: never add both */
	const char *device; /* the maker's name of the part */
	const char *source; /* "rapl-perf", "nvml", … */
	const char *
		sensor; /* how a power sensor averages, such as "ga100-draw 25/100": it sees 25 ms of
			       each 100 ms */
	const char *check;  /* the second source that this one is compared with */
	const char *reason; /* why there is no (measured) figure */
	const char *remedy; /* what would change that: a command, a permission, a setting */
	enum wattle_kind kind;
	enum wattle_method method;
	enum wattle_status status;
	int in_total;	   /* 1: the machine's total is the sum of these domains */
	int64_t update_ns; /* how often the sensor has something new; 0: not known */
};

/* How many domains there are, those without a figure included. The number never changes. */
WATTLE_API size_t wattle_meter_domains(const struct wattle_meter *meter);

/* The i-th domain. -ERANGE past the end. */
WATTLE_API int wattle_meter_domain(struct wattle_meter *meter, size_t i,
				   struct wattle_domain *ret_domain);

/* The index of a domain by its name, or -ENOENT. */
WATTLE_API int wattle_meter_find(const struct wattle_meter *meter, const char *name);

/* ---- Windows ---- */

enum {
	WATTLE_ENERGY_SHORT = 1,     /* fewer than 10 updates of the sensor: mind the uncertainty */
	WATTLE_ENERGY_DISAGREES = 2, /* two sources of this domain differ by more than they may */
	WATTLE_ENERGY_RESET = 4,     /* the counter started anew within the window */
	WATTLE_ENERGY_INCOMPLETE = 8 /* of a total: a domain that counts has no figure, or a gap */
};

/* The energy of one domain (or of the machine) over a window. */
struct wattle_energy {
	size_t size;		   /* set by the caller */
	enum wattle_status status; /* of the domain now; GAP: it is well, but gap_ns is not 0 */
	enum wattle_method method;
	int has_energy;		 /* 0: not known, and the figures below mean nothing */
	int has_power;		 /* 0: the window is too short to speak of power */
	uint64_t energy_uj;	 /* what was measured; a gap is not filled in */
	uint64_t uncertainty_uj; /* expanded uncertainty, coverage factor k = 2 */
	uint64_t mean_uw;	 /* over the measured time */
	uint64_t max_uw;	 /* the highest mean between two samples */
	int64_t measured_ns;	 /* what energy_uj covers */
	int64_t gap_ns;		 /* what it does not */
	uint32_t flags;		 /* WATTLE_ENERGY_… */
	uint32_t samples;
};

struct wattle_window {
	size_t size;	      /* set by the caller */
	int64_t begin_utc_ns; /* UTC, since 1970 */
	int64_t begin_mono_ns;
	int64_t duration_ns; /* monotonic time: suspend is not in it */
	/* The sum of the in_total domains that have a figure. Its size is set by the library. Stays the last
	 * member. */
	struct wattle_energy total;
};

/*
 * Begins a named window with a fresh sample. Windows may nest and overlap; each is known by its
 * name (at most 63 bytes, not empty, else -EINVAL). -WATTLE_E_WINDOW_OPEN, -WATTLE_E_TOO_MANY.
 */
WATTLE_API int wattle_window_begin(struct wattle_meter *meter, const char *name);

/*
 * Ends a window with a fresh sample. The window and up to n_energies domains, in the order of
 * wattle_meter_domain(), are written; either pointer may be NULL. -WATTLE_E_NO_WINDOW.
 */
WATTLE_API int wattle_window_end(struct wattle_meter *meter, const char *name,
				 struct wattle_window *ret_window,
				 struct wattle_energy *ret_energies, size_t n_energies);

/* The same for a window that stays open: its running value. That of counters never falls; of sampled
 * power the newest stretch is an estimate, which a later sample may correct. */
WATTLE_API int wattle_window_read(struct wattle_meter *meter, const char *name,
				  struct wattle_window *ret_window,
				  struct wattle_energy *ret_energies, size_t n_energies);

/* Forgets an open window. */
WATTLE_API int wattle_window_cancel(struct wattle_meter *meter, const char *name);

/*
 * A stack of windows for code that nests: push begins one (names may repeat), pop ends the newest.
 * They share the meter's limit with the named ones but not their names. Pop on an empty stack is
 * -WATTLE_E_NO_WINDOW.
 */
WATTLE_API int wattle_window_push(struct wattle_meter *meter, const char *name);
WATTLE_API int wattle_window_pop(struct wattle_meter *meter, struct wattle_window *ret_window,
				 struct wattle_energy *ret_energies, size_t n_energies);

/*
 * Marks for a recording that another process makes (`wattle record`, `wattle run --record`): the window
 * is the recording's, and its figures stand there. socket is where the recording listens: what it starts
 * finds it in its environment, as WATTLE_MARK, which is for the caller to look up (this library reads
 * no environment). Names are as above, of this process and of any other.
 * 0, or with the reason in *reterr (which may be NULL): -ENOENT (socket is NULL, or nobody listens
 * there), -ECONNREFUSED, -ECONNRESET (the recording ended), -ETIMEDOUT (after 10 s), or what
 * wattle_window_begin() and wattle_window_end() return.
 */
WATTLE_API int wattle_mark_begin(const char *socket, const char *name, struct wattle_error *reterr);
WATTLE_API int wattle_mark_end(const char *socket, const char *name, struct wattle_error *reterr);

/* ---- Carbon ---- */

struct wattle_carbon {
	size_t size; /* set by the caller */
	uint64_t intensity_mg_per_kwh;
	uint32_t year;		  /* of the intensity; 0 for a number given by the caller */
	uint32_t uncertainty_ppm; /* standard, relative, of the intensity */
	char location[40];
	char dataset[96];
};

/*
 * The carbon intensity of a place: NULL (world average), "FRA" (ISO 3166 alpha-3), "PROVIDER:REGION"
 * ("gcp:europe-west9"), or a number in g/kWh. -ENOENT for an unknown place, -EINVAL for rubbish. Never uses the network.
 */
WATTLE_API int wattle_carbon_find(const char *location, struct wattle_carbon *ret_carbon);

/* Micrograms of CO2 equivalent for an energy. */
WATTLE_API uint64_t wattle_carbon_ug(const struct wattle_carbon *carbon, uint64_t energy_uj);

/* ---- The cost of measuring ---- */

struct wattle_self {
	size_t size;	     /* set by the caller */
	uint64_t ticks;	     /* samples taken */
	uint64_t late_ticks; /* by more than half an interval (with the meter's own thread) */
	int64_t tick_max_ns; /* the longest sample */
	int64_t tick_sum_ns; /* all samples together, wall time */
};

WATTLE_API int wattle_meter_self(struct wattle_meter *meter, struct wattle_self *ret_self);

#ifdef __cplusplus
}
#endif

#endif
