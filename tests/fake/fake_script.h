/* SPDX-License-Identifier: MIT */
#ifndef WTL_TESTS_FAKE_SCRIPT_H
#define WTL_TESTS_FAKE_SCRIPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a script says (README.md), and the arithmetic on it: no NVML in here. Time is ns since the
 * script's start, power mW, energy pJ (mW × ns) where it must be exact. */

enum {
	FAKE_GPUS_MAX = 16,
	FAKE_SEGMENTS_MAX = 64,
	FAKE_RULES_MAX = 96,
	FAKE_PROCESSES_MAX = 64,
	FAKE_RESETS_MAX = 8,
	FAKE_MISSING_MAX = 64,
	FAKE_SYMBOL_SIZE = 64,
	FAKE_VALUES_MAX = 128,
	FAKE_MIGS_MAX = 8,
	FAKE_NAMES_MAX = 64,
	FAKE_INSTANCE_USES_MAX = 32,
	FAKE_LOADS_MAX = 4096,
};

#define FAKE_FOREVER INT64_MAX

enum fake_scope { FAKE_SCOPE_GPU, FAKE_SCOPE_MODULE, FAKE_SCOPE_MEMORY, FAKE_SCOPES };

enum fake_sensor {
	FAKE_SENSOR_COUNTER,
	FAKE_SENSOR_AVERAGE,
	FAKE_SENSOR_INSTANT,
	FAKE_SENSOR_USAGE, /* nvmlDeviceGetPowerUsage */
	FAKE_SENSORS
};

enum fake_shape { FAKE_CONST, FAKE_RAMP, FAKE_SQUARE, FAKE_FOLLOW };

/* The true power from a moment on. */
struct fake_segment {
	int64_t from_ns;
	enum fake_shape shape;
	int64_t a_mw,
		b_mw; /* const: a; ramp: a to b, then b; square: a (low), b (high, first); follow: a, and b
			     * under the load */
	int64_t span_ns; /* ramp: its length; square: its period */
	int64_t on_ns;	 /* square: time at b in each period */
};

/* An answer that a function (or "field:ID:SCOPE", or "*") gives in place of its own. */
struct fake_rule {
	char function[FAKE_SYMBOL_SIZE];
	int answer; /* 0: none, but wait for delay_ns */
	int64_t delay_ns;
	int64_t from_ns, until_ns;
	uint64_t first, last; /* only these calls, from 1; last 0: all */
	uint64_t seen;
};

struct fake_rules {
	struct fake_rule rule[FAKE_RULES_MAX];
	size_t n;
};

struct fake_sensor_spec {
	bool present, is_lowpass; /* then window_ns is its time constant */
	int64_t window_ns, update_ns, latency_ns;
};

struct fake_process_spec {
	uint32_t pid;
	char type;	     /* C, G or M */
	uint64_t used_bytes; /* UINT64_MAX: not available */
	uint32_t sm, memory, encoder, decoder;
	int64_t from_ns, until_ns;
	uint32_t instance, compute_instance; /* MIG; UINT32_MAX: none */
};

/* What a function answers for a GPU where the script says it in so many words: "FUNCTION",
 * "FUNCTION:ARGUMENT…" or "field:ID:SCOPE", and a number, several, or a text. */
struct fake_value {
	char key[FAKE_SYMBOL_SIZE];
	char text[FAKE_SYMBOL_SIZE];
};

/* How busy a GPU instance is in a stretch of time, percent of its own SMs. Outside of all: 0. */
struct fake_instance_use {
	uint32_t instance, sm, graphics;
	int64_t from_ns, until_ns;
};

struct fake_gpu {
	unsigned index;
	char name[96], uuid[96], bus_id[32], serial[32];
	uint32_t arch, cc_major, cc_minor;
	uint32_t pci_device, pci_subsystem;
	struct fake_segment power[FAKE_SEGMENTS_MAX];
	size_t n_power;
	struct fake_sensor_spec sensors[FAKE_SENSORS][FAKE_SCOPES];
	unsigned memory_percent; /* of the GPU's power */
	int64_t module_mw;	 /* beside the GPU's power */
	uint64_t counter_start_mj;
	unsigned counter_ppm; /* of the true energy; 1000000 is right */
	int64_t resets_ns[FAKE_RESETS_MAX];
	size_t n_resets;
	struct fake_process_spec processes[FAKE_PROCESSES_MAX];
	size_t n_processes;
	uint64_t memory_total, memory_reserved, memory_used;
	uint64_t memory_free; /* UINT64_MAX: the rest */
	uint32_t limit_mw, limit_default_mw, limit_min_mw, limit_max_mw;
	uint32_t temperature, memory_temperature;
	uint32_t util_gpu, util_memory, util_encoder, util_decoder;
	uint32_t clock_mhz[4], clock_max_mhz[4]; /* graphics, SM, memory, video */
	uint32_t pcie_tx_kbs, pcie_rx_kbs;
	uint64_t throttle;
	uint32_t pstate, fan; /* percent; UINT32_MAX: none */
	int persistence;      /* 0, 1 */
	int mig;	      /* -1: not supported */
	struct fake_rules rules;
	struct fake_value values[FAKE_VALUES_MAX];
	size_t n_values;
	struct fake_gpu *migs[FAKE_MIGS_MAX]; /* devices of their own: name, uuid, memory, values */
	size_t n_migs;
	bool has_gpm;
	struct fake_instance_use instance_uses[FAKE_INSTANCE_USES_MAX];
	size_t n_instance_uses;
	uint64_t calls; /* made with this GPU's handle */
	/* When the load ran that power follows (fake_nvml_load()), ns since the script's start; they rise. */
	struct fake_load {
		int64_t on_ns, off_ns;
	} * loads; /* room for FAKE_LOADS_MAX; NULL: there was none */
	size_t n_loads;
};

/* What nvmlSystemGetProcessName() knows. */
struct fake_name {
	uint32_t pid;
	char name[FAKE_SYMBOL_SIZE];
};

struct fake_script {
	char driver[80], nvml[80];
	int cuda;
	bool may_set;	      /* limits and persistence mode: else NO_PERMISSION */
	unsigned stride;      /* bytes of a _v3 process entry: 24 or 32 */
	int64_t sample_ns;    /* period of process utilisation samples */
	char clock_path[256]; /* "": CLOCK_MONOTONIC since the load */
	char missing[FAKE_MISSING_MAX][FAKE_SYMBOL_SIZE];
	size_t n_missing;
	struct fake_name names[FAKE_NAMES_MAX];
	size_t n_names;
	struct fake_gpu gpus[FAKE_GPUS_MAX];
	size_t n_gpus;
	struct fake_rules rules;
};

/* The script that runs where none is given: one A100. */
void fake_script_default(struct fake_script *script);

/* Reads a script. 0, or the number of the bad line (-1: the file cannot be read), with a text. */
int fake_script_read(struct fake_script *script, const char *path, char *error, size_t size);

/* The true energy of a scope from the script's start to t (negative before it), in pJ. */
__int128 fake_energy_pj(const struct fake_gpu *gpu, enum fake_scope scope, int64_t t_ns);

/* What the sensors show at t. Only for those that are present. */
uint64_t fake_counter_mj(const struct fake_gpu *gpu, enum fake_scope scope, int64_t t_ns);
uint32_t fake_power_mw(const struct fake_gpu *gpu, const struct fake_sensor_spec *sensor,
		       enum fake_scope scope, int64_t t_ns);

/* A GPU's value by its key, or NULL. */
const char *fake_value(const struct fake_gpu *gpu, const char *key);

/* The first rule in force; counts the call for rules that name single calls. NULL for none. */
const struct fake_rule *fake_rule_find(struct fake_rules *rules, const char *function,
				       int64_t t_ns);

#endif
