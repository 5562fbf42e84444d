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
	WATTLE_E_TOO_MANY = 4103     /* more windows or sets are open than the meter holds */
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

/* What use of the processors weighs (docs/attribution.md). */
enum wattle_weight {
	WATTLE_WEIGHT_LEARNED, /* what each consumer was learned to draw in a second of CPU time */
	WATTLE_WEIGHT_CPU_TIME,
	WATTLE_WEIGHT_INSTRUCTIONS,
	WATTLE_WEIGHT_CYCLES
};

/* One channel's reading: one way to measure one domain. Its strings are the meter's. */
struct wattle_sample {
	size_t size; /* set by the library */
	const char *domain, *source;
	uint32_t channel, channels; /* its number from 0, and how many there are at each tick */
	enum wattle_method method;
	int is_energy; /* 1: value is the state of a counter of energy, which may wrap; 0: a power */
	enum wattle_status status; /* OK: value and time mean something */
	uint64_t value;		   /* microjoules or microwatts */
	int64_t t_mono_ns;
	int64_t half_ns; /* the read began so long before that time, and ended so long after it */
};

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
	/*
	 * 1: follows the machine's processes, so that the functions below tell who used the energy. It costs a
	 * scan of all processes a second (some 1 ms for 1,000 of them); without ticks in between, the scan is
	 * taken when it is asked for. 0: they return -ENOTSUP, and no process is read.
	 */
	int attribution;
	enum wattle_weight weight; /* of attribution; CPU time where the hardware does not tell */
	/* A file for what the machine draws at rest, read at the open and written at the close: so the
	 * dynamic part of energies is known from the start. NULL: none is kept. */
	const char *idle_file;
	/* Called after each sample for every channel, under the same rules as log. */
	void (*on_sample)(void *context, const struct wattle_sample *sample);
	void *sample_context;
	/*
	 * Which of NVIDIA's GPUs to measure, as CUDA_VISIBLE_DEVICES says it: indices, UUIDs and MIG devices, with
	 * commas; NULL: all; "": none. The others are not read: no domain, not in the total, not among
	 * wattle_meter_gpus(), and what processes use of them is in nobody's share. Names stay those of the
	 * whole machine: "3" is gpu-3. Other makers' GPUs are measured in any case.
	 * An index is NVML's, as with CUDA_DEVICE_ORDER=PCI_BUS_ID: CUDA's default, FASTEST_FIRST, counts differently
	 * where models are mixed. A MIG device stands for its whole GPU, which has one counter. The first entry
	 * that names nothing ends the list, with a warning (none for "-1"). A tape keeps the list that
	 * it was recorded with.
	 */
	const char *gpus;
	int log_warnings_only; /* 1: log gets no line but warnings */
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

/* ---- Meters that are fed: readings of your own, such as another tool's file ---- */

/* One way to measure one domain. The strings are copied; the rest may be 0 (or NULL) where it is not known. */
struct wattle_channel {
	size_t size;	    /* set by the caller */
	const char *domain; /* "package-0", "wall": at most 31 bytes */
	const char *inside; /* the domain that contains it, or NULL */
	const char *device; /* the maker's name of the part, or NULL */
	const char *source; /* where values are from, such as "ipmi"; NULL: "fed" */
	enum wattle_kind kind;
	int is_energy; /* 1: a counter that only rises, but for wraps and resets; 0: the power drawn now */
	int in_total;
	/* One count of a value is num/den microjoules (of a counter) or microwatts; both 0: one. */
	uint64_t unit_num, unit_den;
	uint64_t range;	   /* counts after which a counter wraps to 0; 0: it does not */
	uint64_t max_uw;   /* no such part can draw more: tells wraps from resets */
	int64_t update_ns; /* how often there is something new */
	uint32_t gain_ppm; /* standard uncertainty of the sensor's gain */
};

/*
 * A meter that reads nothing by itself: its clocks and readings are what it is fed with. Of n channels the
 * first element's size is that of all; those of one domain stand best first. Of the options, max_windows, log and
 * on_sample mean something; the rest must be 0. Windows begin after the first feed (-ENODATA);
 * wattle_meter_tick() is -ENOTSUP. -EINVAL, -EEXIST (the same domain and quantity of one source twice).
 */
WATTLE_API int wattle_meter_open_fed(const struct wattle_channel *channels, size_t n,
				     const struct wattle_options *options,
				     struct wattle_meter **ret_meter, struct wattle_error *reterr);

/*
 * A sample: a value of each channel in its counts, as of that time (whole microseconds of it). statuses may be
 * NULL: all are OK; the value of one that is not means nothing. What happens between two samples is
 * told by both: a window begins and ends with the newest one. -EINVAL: n is not the number of channels, or the
 * monotonic time is not later than before (or below 0, or above 2^60); nothing is fed then. -ENOTSUP.
 */
WATTLE_API int wattle_meter_feed(struct wattle_meter *meter, int64_t t_utc_ns, int64_t t_mono_ns,
				 const uint64_t values[], const enum wattle_status statuses[],
				 size_t n);

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
	/* What no other device has: a GPU's UUID, as its driver writes it. Also of what lies in that GPU. */
	const char *uuid;
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
	WATTLE_ENERGY_SHORT =
		1, /* fewer than 10 updates of the sensor, or it saw too little: so its uncertainty is large */
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
 * name: 1 to 63 bytes of plain text in UTF-8, without control characters, invisible ones, blanks
 * other than the space, or blanks at its ends, else -EINVAL. -WATTLE_E_WINDOW_OPEN, -WATTLE_E_TOO_MANY.
 */
WATTLE_API int wattle_window_begin(struct wattle_meter *meter, const char *name);

enum {
	/* Of meters with attribution: scans the processes when the window begins, and when it is asked who
	 * used its energy. Else that is told as of the last regular scan, up to a second before. */
	WATTLE_WINDOW_EXACT = 1,
	/* The same, and keeps accounts of all consumers for it: wattle_meter_consumers(). */
	WATTLE_WINDOW_CONSUMERS = 2
};

/* The same with flags; with any of them, it may allocate. -ENOTSUP without attribution, -ENOMEM. */
WATTLE_API int wattle_window_begin_with(struct wattle_meter *meter, const char *name,
					uint32_t flags);

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
 * A stack of windows for code that nests: push begins one (names may repeat), pop ends the newest that
 * this thread has pushed. They share the meter's limit with the named ones but not their names. Pop on
 * an empty stack is -WATTLE_E_NO_WINDOW.
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

/* ---- Who used it: meters that were opened with attribution ---- */

#define WATTLE_UNKNOWN UINT64_MAX /* for a number that is not known */

/* A consumer's part of an energy. */
struct wattle_share {
	size_t size;		      /* set by the caller */
	int has_dynamic;	      /* 0: what the machine draws at rest is not known */
	uint64_t full_uj;	      /* dynamic, and a part of what is drawn at rest */
	uint64_t dynamic_uj;	      /* above rest; 0 where it is not known */
	uint64_t uncertainty_uj;      /* k = 2, of the dynamic part, else of the full one */
	uint64_t full_uncertainty_uj; /* k = 2, of the full one */
};

enum wattle_consumer_state {
	WATTLE_CONSUMER_RUNNING,
	WATTLE_CONSUMER_ENDED,
	WATTLE_CONSUMER_KERNEL,	    /* a kernel thread */
	WATTLE_CONSUMER_SEVERAL,    /* a row for several that ended */
	WATTLE_CONSUMER_INTERRUPTS, /* the kernel's time that belongs to no task */
	WATTLE_CONSUMER_UNSEEN,	    /* use by somebody who could not be seen */
	WATTLE_CONSUMER_NOBODY	    /* there was no use at all */
};

/* Whom energy is attributed to. Known by pid and start; strings are the list's, NULL: not known, or none. */
struct wattle_consumer {
	size_t size; /* set by the caller */
	enum wattle_consumer_state state;
	int pid;	      /* 0: it is no single process */
	int parent;	      /* its pid; 0: not known */
	int64_t start_utc_ns; /* 0: not known */
	uint32_t uid;	      /* UINT32_MAX: not known */
	int is_in_command;    /* of a recording: it is the recorded command, or descends from it */
	const char *user;     /* a name, or the number */
	const char *name, *command;
	const char *cgroup, *unit, *container, *pod, *job;
	uint64_t processes; /* how many it stands for; 0: time that nobody was seen to use */
	int64_t cpu_ns;	    /* < 0: not known */
	int64_t gpu_ns;	    /* of one GPU; < 0: not known */
	uint64_t rss_bytes, pss_bytes, uss_bytes, gpu_memory_bytes; /* or WATTLE_UNKNOWN */
};

/* Where the energy of a domain went: the parts add up to total_uj, exactly. */
struct wattle_ledger {
	size_t size; /* set by the caller */
	/* 0: what is drawn at rest is not known, or of a total only for some domains: then the rest of it is in the other parts. */
	int has_idle;
	uint64_t live_uj;	  /* processes that still run */
	uint64_t exited_uj;	  /* processes that ended */
	uint64_t kernel_uj;	  /* kernel threads and interrupts */
	uint64_t idle_uj;	  /* what is drawn at rest */
	uint64_t unattributed_uj; /* what cannot be seen */
	uint64_t total_uj;
};

/* All consumers at one moment, and what they used of a window's energy. */
struct wattle_consumers;

/*
 * Who used the energy of an open window with WATTLE_WINDOW_CONSUMERS, or since the meter was opened (window
 * NULL), with a fresh sample and a scan. The list is the caller's, and stays as it is. -ENOTSUP, -ENOMEM,
 * -WATTLE_E_NO_WINDOW, or -ENODATA for a window without that flag; the reason is in *reterr (may be NULL).
 */
WATTLE_API int wattle_meter_consumers(struct wattle_meter *meter, const char *window,
				      struct wattle_consumers **ret_consumers,
				      struct wattle_error *reterr);
WATTLE_API void wattle_consumers_free(struct wattle_consumers *consumers); /* NULL is fine */

WATTLE_API size_t wattle_consumers_count(const struct wattle_consumers *consumers);
/* The i-th. -ERANGE past the last. */
WATTLE_API int wattle_consumers_get(const struct wattle_consumers *consumers, size_t i,
				    struct wattle_consumer *ret_consumer);
/* Its share of a domain (in the order of wattle_meter_domain()), or of the total: domain < 0. All
 * consumers' full_uj add up to the energy, exactly. -ERANGE. */
WATTLE_API int wattle_consumers_share(const struct wattle_consumers *consumers, size_t i,
				      int domain, struct wattle_share *ret_share);
/* The ledger of a domain, or of the total: domain < 0. -ERANGE. */
WATTLE_API int wattle_consumers_ledger(const struct wattle_consumers *consumers, int domain,
				       struct wattle_ledger *ret_ledger);
/* The window that all of this is of. */
WATTLE_API int wattle_consumers_window(const struct wattle_consumers *consumers,
				       struct wattle_window *ret_window);

/* ---- What a chosen set used, of any window ---- */

enum wattle_set_kind {
	WATTLE_SET_SELF,  /* this process and its descendants */
	WATTLE_SET_PID,	  /* a process and its descendants */
	WATTLE_SET_CGROUP /* all in a control group, or below it: "/system.slice/ssh.service" */
};

struct wattle_set;

enum {
	WATTLE_USE_EARLIER =
		1 /* as of the last regular scan, not of now: see WATTLE_WINDOW_EXACT */
};

struct wattle_use {
	size_t size; /* set by the caller */
	int64_t cpu_ns;
	int64_t gpu_ns;
	uint64_t processes; /* that were in it so far */
	uint32_t flags;	    /* WATTLE_USE_… */
	/* Of the in_total domains. Its size is set by the library. Stays the last member. */
	struct wattle_share total;
};

/*
 * Chooses a set, which costs a scan of the processes; what its members use is then known for every window
 * that begins afterwards, at no cost of its own. pid is for WATTLE_SET_PID, cgroup for WATTLE_SET_CGROUP
 * alone. -ENOTSUP, -ESRCH, -EINVAL, -ENOMEM, -WATTLE_E_TOO_MANY (16 at a time).
 */
WATTLE_API int wattle_set_open(struct wattle_meter *meter, enum wattle_set_kind kind, int pid,
			       const char *cgroup, struct wattle_set **ret_set,
			       struct wattle_error *reterr);
/* Before its meter is closed. NULL is fine. */
WATTLE_API void wattle_set_close(struct wattle_set *set);

/*
 * What it used so far of an open window, or since it was chosen (window NULL), in all and of up to n_shares
 * domains; either pointer may be NULL. -WATTLE_E_NO_WINDOW; -ENODATA: the window began before the set.
 */
WATTLE_API int wattle_set_read(struct wattle_set *set, const char *window,
			       struct wattle_use *ret_use, struct wattle_share *ret_shares,
			       size_t n_shares);

/*
 * Ends a window as wattle_window_end() does, and tells what the set used of it, both by one sample. n is for energies and
 * shares alike. -WATTLE_E_NO_WINDOW; -ENODATA: the window began before the set, and stays open.
 */
WATTLE_API int wattle_set_end(struct wattle_set *set, const char *window,
			      struct wattle_window *ret_window, struct wattle_energy *ret_energies,
			      struct wattle_use *ret_use, struct wattle_share *ret_shares,
			      size_t n);

/* How processes are followed on this machine, and what more privilege would add. */
struct wattle_way {
	size_t size;	    /* set by the caller */
	const char *name;   /* "exit records" */
	const char *text;   /* what it gives, or why it is not to be had */
	const char *remedy; /* what would change that, or NULL */
	int is_used;
};

/* The i-th; its strings stay until the meter is closed. -ERANGE past the last, -ENOTSUP. */
WATTLE_API int wattle_meter_way(struct wattle_meter *meter, size_t i, struct wattle_way *ret_way);

/* ---- GPUs beside their energy ---- */

/* A GPU as its driver describes it. Texts are "" and numbers WATTLE_UNKNOWN where they are not known. */
struct wattle_gpu {
	size_t size; /* set by the caller */
	/* Of its last answer. STALE: that is more than 5 s old, and the numbers are of then. ASLEEP: it is
	 * suspended, and was not woken. With any other than OK and STALE no number is known. */
	enum wattle_status status;
	int domain;	/* the index of its energy domain; -1: it has none */
	int64_t age_ns; /* of the last answer */
	char name[96], uuid[96], bus_id[32];
	uint64_t use_percent;
	uint64_t memory_used_bytes, memory_total_bytes;
	uint64_t temperature_c;
	uint64_t clock_mhz, memory_clock_mhz;
	uint64_t power_limit_uw; /* in force */
	uint64_t fan_percent;
	enum wattle_status processes_status; /* OK: its processes are known */
	uint32_t processes;
};

enum { WATTLE_GPU_COMPUTE = 1, WATTLE_GPU_GRAPHICS = 2, WATTLE_GPU_MPS = 4 };

/* A process that has memory on a GPU. */
struct wattle_gpu_process {
	size_t size; /* set by the caller */
	int pid;
	int is_visible; /* 0: pid is of another PID namespace, and means nothing here */
	uint32_t kinds; /* WATTLE_GPU_…, added */
	uint64_t memory_bytes, use_percent; /* or WATTLE_UNKNOWN */
};

/*
 * Asks the drivers about the GPUs, at most once a second, and returns how many there are; that number does not change.
 * The first call starts a thread that asks: before it, nothing is paid. Waits at most half a second for the answer, and
 * not at all for a driver that took longer the last time, or still owes an answer: then the one before stays,
 * and -EAGAIN says that there was none yet. A GPU that sleeps is not woken. -ENOMEM, or the thread did not start.
 */
WATTLE_API int wattle_meter_gpus(struct wattle_meter *meter);
/* The i-th, and its k-th process, as of the last wattle_meter_gpus(); they ask nothing. -ERANGE past the end. */
WATTLE_API int wattle_meter_gpu(struct wattle_meter *meter, size_t i, struct wattle_gpu *ret_gpu);
WATTLE_API int wattle_meter_gpu_process(struct wattle_meter *meter, size_t i, size_t k,
					struct wattle_gpu_process *ret_process);

/* ---- Carbon ---- */

struct wattle_carbon {
	size_t size; /* set by the caller */
	uint64_t intensity_mg_per_kwh;
	uint32_t year;		  /* of the intensity; 0 for a number given by the caller */
	uint32_t uncertainty_ppm; /* standard, relative, of the intensity */
	char location[40];
	char dataset[96];
	char place[40]; /* "France"; "" for a number given by the caller */
};

/*
 * The carbon intensity of a place: NULL (world average), "FRA" (ISO 3166 alpha-3), "PROVIDER:REGION"
 * ("gcp:europe-west9"), or a number in g/kWh. -ENOENT for an unknown place, -EINVAL for rubbish. Never uses the network.
 */
WATTLE_API int wattle_carbon_find(const char *location, struct wattle_carbon *ret_carbon);

/* Micrograms of CO2 equivalent for an energy. */
WATTLE_API uint64_t wattle_carbon_ug(const struct wattle_carbon *carbon, uint64_t energy_uj);

/* Expanded uncertainty (k = 2) of those micrograms, from those of the energy and of the intensity. */
WATTLE_API double wattle_carbon_uncertainty_ug(const struct wattle_carbon *carbon,
					       uint64_t energy_uj, uint64_t uncertainty_uj);

/* ---- Repeated measurements ---- */

struct wattle_mean {
	size_t size; /* set by the caller */
	size_t n;
	double mean;
	double sd; /* sample standard deviation; 0 where n < 2 */
	double ci95; /* half-width of the mean's 95 % confidence interval, by Student's t; 0 where n < 2 */
};

/* Of n values of one quantity. -EINVAL: there is none. */
WATTLE_API int wattle_mean_of(const double values[], size_t n, struct wattle_mean *ret_mean);

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
