/* SPDX-License-Identifier: MIT */
#ifndef WTL_COMMANDS_TOP_VIEW_H
#define WTL_COMMANDS_TOP_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <wattle.h>

#include "cli/canvas.h"
#include "energy/baseline.h"
#include "energy/consumer.h"
#include "energy/gpu.h"
#include "energy/ledger.h"
#include "report/host_state.h"

/* What `wattle top` shows at one moment, with its history: plain data, made by
 * collect.c; drawing never changes it. Text is cleaned (wtl_text_clean). */

/* ---- Curves over time ---- */

/* Values are kept in three grains, a bin of each being WTL_TOP_GRAIN of the finer one's: with samples every 100 ms,
 * the last 2 minutes, 12 minutes and 72 minutes. */
enum { WTL_TOP_GRAINS = 3, WTL_TOP_GRAIN = 6, WTL_TOP_BINS = 1200 };
#define WTL_TOP_GAP UINT32_MAX /* no value: not measured */

/* The part of a domain's curve that is not yet in a bin. */
struct wtl_top_curve {
	uint32_t newest; /* the next bin's value: mW */
	/* Sums of the coarser bins that are being filled. */
	uint64_t sum[WTL_TOP_GRAINS - 1];
	uint32_t n[WTL_TOP_GRAINS - 1];
};

/* The curves' common clock. */
struct wtl_top_clock {
	int64_t bin_ns;			     /* of the finest grain */
	uint64_t n_bins[WTL_TOP_GRAINS];     /* filled since the start; the newest is n_bins - 1 */
	uint32_t within[WTL_TOP_GRAINS - 1]; /* finer bins in the current bin */
};

/* The bins of the total and of all domains: a row per moment, so that only memory in use is touched. */
struct wtl_top_bins {
	uint32_t *rows; /* a ring per grain */
	size_t width;
	unsigned series; /* changes when they start again */
};

/* The finest grain that holds window_ns, or the coarsest. */
unsigned wtl_top_clock_grain(const struct wtl_top_clock *clock, int64_t window_ns);
int64_t wtl_top_clock_bin_ns(const struct wtl_top_clock *clock, unsigned grain);

/* ---- Domains ---- */

/* Long texts are last: a copy only has their used part. */
struct wtl_top_domain {
	char name[32], inside[32], source[24];
	enum wattle_kind kind;
	enum wattle_method method;
	enum wattle_status status;
	bool in_total, has_power;
	uint64_t power_uw;	     /* over the last second */
	uint64_t zero_uw;	     /* uncertainty of its sensor's zero, k = 2 */
	struct wattle_energy energy; /* since the start */
	uint64_t limit_uw;	     /* 0: none known */
	struct wtl_baseline idle;
	int gpu;	    /* index in the view's gpus, or -1 */
	const char *weight; /* how its energy is divided, static; NULL: not at all */
	struct wtl_ledger ledger;
	struct wtl_top_curve curve;
	char device[96], reason[256], remedy[256];
};

/* The uncertainty of its power, k = 2. 0: not known. */
uint64_t wtl_top_power_uncertainty_uw(const struct wtl_top_domain *domain);
/* "~" before figures of modelled domains, else "". */
const char *wtl_top_mark(bool is_modelled);

/* ---- Consumers ---- */

enum wtl_top_share { WTL_TOP_DYNAMIC, WTL_TOP_FULL, WTL_TOP_SHARES };

/* Like a domain, with its long text last. */
struct wtl_top_process {
	struct wtl_consumer
		consumer; /* its group is one of the view's, or NULL; its command is here */
	bool has_power;	  /* it existed in the last interval */
	bool has_dynamic; /* false: no idle baseline; dynamic equals full */
	bool has_gpu;
	uint64_t cpu_uw[WTL_TOP_SHARES], gpu_uw[WTL_TOP_SHARES];
	uint64_t energy_uj[WTL_TOP_SHARES];
	uint64_t uncertainty_uj;
	struct wtl_per_cpu per_cpu, per_gpu; /* per_gpu: while it keeps one GPU busy */
	char user[32], command[WTL_COMMAND_SIZE];
};

/* ---- GPUs ---- */

/* Besides power; as in struct wtl_gpu. */
enum wtl_top_gpu_number {
	WTL_TOP_GPU_LIMIT_UW,
	WTL_TOP_GPU_USE_PERCENT,
	WTL_TOP_GPU_MEMORY_USE_PERCENT,
	WTL_TOP_GPU_ENCODER_PERCENT,
	WTL_TOP_GPU_DECODER_PERCENT,
	WTL_TOP_GPU_MEMORY_TOTAL_BYTES,
	WTL_TOP_GPU_MEMORY_USED_BYTES,
	WTL_TOP_GPU_TEMPERATURE_C,
	WTL_TOP_GPU_CLOCK_GRAPHICS_MHZ,
	WTL_TOP_GPU_CLOCK_SM_MHZ,
	WTL_TOP_GPU_FAN_PERCENT,
	WTL_TOP_GPU_PSTATE,
	WTL_TOP_GPU_THROTTLE,
	WTL_TOP_GPU_PCIE_GEN,
	WTL_TOP_GPU_PCIE_WIDTH,
	WTL_TOP_GPU_PCIE_TX_BYTES_PER_S,
	WTL_TOP_GPU_PCIE_RX_BYTES_PER_S,
	WTL_TOP_GPU_NUMBERS
};

/* A tenth of a GPU's numbers: views are copied each second. */
struct wtl_top_gpu {
	unsigned index;
	enum wattle_status status;
	char domain[32]; /* "" if it has none */
	struct wtl_gpu_value numbers[WTL_TOP_GPU_NUMBERS];
	char name[96]; /* or its vendor's */
};

/* ---- The whole ---- */

struct wtl_top_self {
	uint32_t cpu_ppm; /* of one CPU, over the last seconds */
	uint64_t rss_bytes;
	bool has_power;
	uint64_t power_uw; /* modelled */
	/* Start of the last seconds. */
	int64_t since_ns, since_cpu_ns;
};

/* For a recording that is played. */
struct wtl_top_played {
	bool is_there;
	bool is_live;  /* it is still being written */
	bool is_whole; /* it was ended properly */
	char cpu[96], kernel[64];
	int64_t at_ns;	     /* since the recording's start: the shown moment */
	int64_t zero_utc_ns; /* UTC of the start, by the clock at the shown moment */
	char note[160];	     /* what is missing around it; "": nothing */
};

struct wtl_top_view {
	int64_t t_mono_ns;     /* when this was made; 0: no data yet */
	int64_t duration_ns;   /* since the start */
	int64_t interval_ns;   /* between samples */
	bool is_tape, is_root; /* not this machine: its processes cannot be signalled */
	bool is_over;	       /* the tape has ended */
	struct wtl_top_clock clock;
	struct wtl_top_bins bins;

	struct wtl_top_domain *domains;
	size_t n_domains, size_domains;
	/* Named "total"; its limit and idle power are sums, if all are known. */
	struct wtl_top_domain total;

	struct wtl_top_gpu *gpus;
	size_t n_gpus, size_gpus;
	int64_t gpus_answered_ns; /* monotonic, of their last answer; 0: not asked */

	struct wtl_top_process *processes;
	size_t n_processes, size_processes;
	struct wtl_group *groups;
	size_t n_groups, size_groups;
	uint64_t generation; /* changes with the processes */
	bool has_processes;  /* false: there are none, and processes_reason says why */
	char processes_reason[256];
	char remark[80];	 /* about losses; "": nothing */
	int64_t remark_until_ns; /* monotonic */

	struct wattle_carbon carbon;
	bool carbon_is_default;
	uint64_t emitted_ug;
	uint32_t pue_milli; /* power usage effectiveness × 1000; 0: not given. Not in figures */
	struct wtl_host_state machine;
	struct wtl_top_self self; /* the recorder's, if a recording is played */
	struct wtl_top_played played;
};

void wtl_top_view_init(struct wtl_top_view *view);
void wtl_top_view_done(struct wtl_top_view *view);
/* Reserves room; contents stay, new elements are not set. Groups do not move while there is room. 0 or -ENOMEM. */
int wtl_top_view_reserve(struct wtl_top_view *view, size_t domains, size_t gpus, size_t processes,
			 size_t groups);
/* Copies src to dst; processes only if their generation differs. 0 or -ENOMEM. */
int wtl_top_view_copy(struct wtl_top_view *dst, const struct wtl_top_view *src);

/* Adds a bin to every curve: its newest value, or a gap. Without memory there are no curves. */
void wtl_top_view_add_bin(struct wtl_top_view *view, bool is_known);
/* Removes all bins. */
void wtl_top_view_clear_bins(struct wtl_top_view *view, int64_t bin_ns);
/* The values of all curves (*ret_n_curves), `back` bins before
 * the newest: the total's, then each domain's. NULL: none. */
const uint32_t *wtl_top_bin_at(const struct wtl_top_view *view, unsigned grain, uint64_t back,
			       size_t *ret_n_curves);
/* The value of a domain, or of the total, `back` bins before the newest; WTL_TOP_GAP: none. */
uint32_t wtl_top_curve_at(const struct wtl_top_view *view, const struct wtl_top_domain *domain,
			  unsigned grain, uint64_t back);

bool wtl_top_has_gpus(const struct wtl_top_view *view);
/* The shown host, or that it is another machine. */
const char *wtl_top_place(const struct wtl_top_view *view);
const struct wtl_top_domain *wtl_top_find_domain(const struct wtl_top_view *view, const char *name);

/* The sums of counted domains of a kind. Limit and idle: 0 unless all have one. */
struct wtl_top_sum {
	uint64_t power_uw, limit_uw, idle_uw;
	bool is_there, has_power, has_idle, is_modelled;
};

/* The color of a kind of domain. Inline, as it is needed for each dot of a curve. */
static inline enum wtl_style wtl_top_kind_style(enum wattle_kind kind)
{
	if (kind == WATTLE_KIND_CPU || kind == WATTLE_KIND_CORE || kind == WATTLE_KIND_SOC)
		return WTL_STYLE_CPU;
	if (kind == WATTLE_KIND_DRAM)
		return WTL_STYLE_MEMORY;
	if (kind == WATTLE_KIND_GPU || kind == WATTLE_KIND_GPU_MEMORY || kind == WATTLE_KIND_UNCORE)
		return WTL_STYLE_GPU;
	return WTL_STYLE_OTHER;
}

/* The sum over domains of a color (WTL_STYLE_PLAIN: all) that have power now or, with_past, had it before. */
struct wtl_top_sum wtl_top_sum(const struct wtl_top_view *view, enum wtl_style style,
			       bool with_past);

#endif
