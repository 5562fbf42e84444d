/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/io.h"
#include "base/num.h"
#include "base/text.h"
#include "energy/catalog.h"
#include "energy/model.h"
#include "energy/units.h"
#include "sensors/cpu_tdp.h"
#include "sensors/machine_power.h"
#include "sensors/model_curve.h"
#include "sensors/source.h"

/*
 * Utilisation is taken over stretches of a second: /proc/stat counts in steps of 10 ms, and the
 * square root would make much of the noise in shorter ones.
 */
#define STRETCH_NS WTL_NS_PER_S

/*
 * The kernel makes all of /proc/stat for each read, which costs more than all else here: who
 * samples faster than it ticks has it read every other tick. In between the machine is taken to
 * idle on as it did, but for a moment that somebody asks about: there it is read again if it may
 * have ticked. (Not less often: the error of a guess goes into the power of the 100 ms around it.)
 * A little less than ticks, so that samples every 10 ms read each time, whatever their jitter.
 */
#define READ_NS	     (WTL_NS_PER_TICK - WTL_NS_PER_TICK / 20)
#define READ_FAST_NS (READ_NS + WTL_NS_PER_TICK)

enum {
	CPUS_MAX = 1024,
	PACKAGES_MAX = 64,
	STAT_SIZE = 512,
	/* So many close samples in a row count as fast sampling. Not fewer: a slow measurement ends with up to three
	 * close together, and a tape has the times only of those that read something. */
	FAST_MIN = 8,
};

/* Energy that follows the load. */
struct tally {
	uint64_t done_uj; /* of the stretches before */
	uint64_t uj;	  /* what the last reading said */
};

struct model {
	struct wtl_io *io;
	struct wtl_held_file stat, online;
	unsigned n_packages; /* channels for CPUs; 0: they are measured */
	bool has_machine;    /* a channel for the whole machine, beside those */
	bool has_dram;	     /* a channel for memory */
	uint64_t tdp_mw;     /* of one package */
	struct wtl_machine_power machine;
	uint64_t dram_mw;
	unsigned n_cpus;
	bool started;	  /* the members below mean something */
	int64_t start_ns; /* of this stretch */
	int64_t start_idle_ns;
	int64_t asked_ns; /* the last sample; so many in a row came less than READ_NS after another */
	unsigned n_fast;
	bool is_asked_for; /* the next sample: see struct wtl_source_ops */
	int64_t read_ns;   /* the last reading of /proc/stat, and what it said */
	int64_t read_idle_ns;
	int64_t pace_ns; /* how the machine idles: the CPUs' idle time in that time; 0: unknown */
	int64_t pace_idle_ns;
	struct tally package, whole; /* one package, and the machine */
	uint64_t dram_uj;
	int64_t dram_ns; /* when that was */
	int cpus[CPUS_MAX];
};

/* ---- Reading ---- */

static int read_idle(struct model *state, int64_t *ret_idle_ns)
{
	char text[STAT_SIZE] = "";
	ssize_t len = wtl_held_file_text(&state->stat, text, sizeof(text));

	return len < 0 ? (int)len : wtl_model_parse_stat(text, (size_t)len, ret_idle_ns);
}

/* The CPUs that are online now: those that are not count as busy otherwise. */
static void count_cpus(struct model *state)
{
	char text[1024];
	ssize_t len = wtl_held_file_text(&state->online, text, sizeof(text));
	int n = len < 0 ? (int)len : wtl_num_cpu_list(text, (size_t)len, state->cpus, CPUS_MAX);

	if (n > 0)
		state->n_cpus = (unsigned)n;
}

static void start_stretch(struct model *state, int64_t now_ns, int64_t idle_ns)
{
	state->started = true;
	state->start_ns = now_ns;
	state->start_idle_ns = idle_ns;
	state->package.done_uj = state->package.uj;
	state->whole.done_uj = state->whole.uj;
}

static int64_t within(int64_t value, int64_t most)
{
	if (value < 0)
		return 0;
	return value < most ? value : most;
}

static void tally_move(struct tally *tally, uint64_t stretch_uj)
{
	uint64_t uj = wtl_add_sat(tally->done_uj, stretch_uj);

	if (uj > tally->uj)
		tally->uj = uj;
}

/*
 * Moves energies on. Energy within a stretch is wall × P(busy / wall), which rises with
 * both, although the utilisation changes until the stretch is over; where the 10 ms steps make busy
 * time fall, the sum waits.
 */
static void advance(struct model *state, int64_t now_ns, int64_t idle_ns)
{
	int64_t wall_ns = now_ns - state->start_ns;
	int64_t all_ns;
	uint64_t busy_ns;

	if (__builtin_mul_overflow(wall_ns, (int64_t)state->n_cpus, &all_ns) || wall_ns < 0) {
		start_stretch(state, now_ns, idle_ns);
		return;
	}
	busy_ns = (uint64_t)(all_ns - within(idle_ns - state->start_idle_ns, all_ns));
	tally_move(&state->package,
		   wtl_model_cpu_uj(state->tdp_mw, busy_ns, wall_ns, state->n_cpus));
	if (state->has_machine)
		tally_move(&state->whole,
			   wtl_machine_power_uj(&state->machine, busy_ns, wall_ns, state->n_cpus));
}

/* Takes in what /proc/stat said. */
static void take_idle(struct model *state, int64_t now_ns, int64_t idle_ns)
{
	int64_t wall_ns;

	state->read_ns = now_ns;
	state->read_idle_ns = idle_ns;
	if (!state->started) {
		start_stretch(state, now_ns, idle_ns);
		return;
	}
	advance(state, now_ns, idle_ns);
	wall_ns = now_ns - state->start_ns;
	if (wall_ns >= READ_NS) {
		state->pace_ns = wall_ns;
		state->pace_idle_ns =
			within(idle_ns - state->start_idle_ns, wall_ns * (int64_t)state->n_cpus);
	}
	if (wall_ns >= STRETCH_NS) {
		count_cpus(state);
		start_stretch(state, now_ns, idle_ns);
	}
}

static void count_fast(struct model *state, int64_t now_ns)
{
	if (now_ns - state->asked_ns >= READ_NS)
		state->n_fast = 0;
	else if (state->n_fast < FAST_MIN)
		state->n_fast++;
	state->asked_ns = now_ns;
}

/* Is it too early to read again, and known how the machine idles? */
static bool is_fresh(const struct model *state, int64_t now_ns)
{
	int64_t fresh_ns = state->is_asked_for ? READ_NS : READ_FAST_NS;

	return state->n_fast == FAST_MIN && state->pace_ns > 0 && now_ns >= state->read_ns &&
	       now_ns - state->read_ns < fresh_ns;
}

static int64_t guess_idle_ns(const struct model *state, int64_t now_ns)
{
	__int128 since = (__int128)state->pace_idle_ns * (now_ns - state->read_ns);
	int64_t idle_ns;

	if (__builtin_add_overflow(state->read_idle_ns, since / state->pace_ns, &idle_ns))
		idle_ns = INT64_MAX;
	return idle_ns;
}

/* Returns the time afterwards. */
static int64_t read_cpus(struct model *state, struct wtl_reading readings[])
{
	int64_t before_ns = wtl_io_mono_ns(state->io);
	int64_t after_ns = before_ns;
	int64_t idle_ns = 0;
	int rc = 0;

	count_fast(state, before_ns);
	if (is_fresh(state, before_ns)) {
		advance(state, before_ns, guess_idle_ns(state, before_ns));
	} else {
		rc = read_idle(state, &idle_ns);
		after_ns = wtl_io_mono_ns(state->io);
		if (rc == 0)
			take_idle(state, before_ns + (after_ns - before_ns) / 2, idle_ns);
	}
	for (unsigned i = 0; i < state->n_packages + state->has_machine; i++) {
		const struct tally *tally = i < state->n_packages ? &state->package : &state->whole;

		wtl_reading_set(&readings[i], before_ns, after_ns, rc, tally->uj);
		if (rc < 0)
			readings[i].reason = "it is modelled from /proc/stat, which cannot be read";
	}
	return after_ns;
}

static void read_dram(struct model *state, int64_t now_ns, struct wtl_reading *reading)
{
	state->dram_uj = wtl_add_sat(state->dram_uj,
				     wtl_energy_uj(state->dram_mw * 1000, now_ns - state->dram_ns));
	state->dram_ns = now_ns;
	wtl_reading_set(reading, now_ns, now_ns, 0, state->dram_uj);
}

static void model_read(void *state_, struct wtl_reading readings[])
{
	struct model *state = state_;
	int64_t now_ns =
		state->n_packages > 0 ? read_cpus(state, readings) : wtl_io_mono_ns(state->io);

	if (state->has_dram)
		read_dram(state, now_ns, &readings[state->n_packages + state->has_machine]);
	state->is_asked_for = false;
}

static void model_ask_for(void *state_)
{
	struct model *state = state_;

	state->is_asked_for = true;
}

/* ---- Finding out what to model ---- */

static struct wtl_channel channel_of(enum wattle_kind kind, const char *name, unsigned number)
{
	struct wtl_channel channel = {.kind = kind,
				      .in_total = true,
				      .quantity = WTL_QUANTITY_ENERGY,
				      .method = WATTLE_METHOD_MODELLED,
				      .unit = WTL_UNIT_MICRO,
				      .gain_ppm = WTL_MODEL_UNCERTAINTY_PERCENT * 10000};

	snprintf(channel.domain, sizeof(channel.domain), "%s-%u", name, number);
	return channel;
}

/* Is there a channel for something that contains the CPUs, or the memory too? */
static bool has_cpus(const struct wtl_catalog *catalog)
{
	for (size_t i = 0; i < catalog->n_channels; i++) {
		enum wattle_kind kind = catalog->channels[i].kind;

		if (kind == WATTLE_KIND_CPU || kind == WATTLE_KIND_SOC ||
		    (kind == WATTLE_KIND_MODULE && catalog->channels[i].in_total))
			return true;
	}
	return false;
}

static bool has_dram(const struct wtl_catalog *catalog)
{
	for (size_t i = 0; i < catalog->n_channels; i++)
		if (catalog->channels[i].kind == WATTLE_KIND_DRAM ||
		    (catalog->channels[i].kind == WATTLE_KIND_MODULE &&
		     catalog->channels[i].in_total))
			return true;
	return false;
}

/*
 * The design power of one package. A virtual machine has a part of one, whatever its topology says:
 * no more than one that no table knows.
 */
static void find_tdp(struct model *state, const struct wtl_machine *machine, char *device,
		     size_t size)
{
	uint64_t by_cpus_mw = (uint64_t)machine->n_cpus * WTL_MODEL_CPU_MW / state->n_packages;
	uint32_t tdp_mw = 0;

	if (wtl_cpu_tdp_find(machine->cpu_model, &tdp_mw, NULL) == 0 &&
	    (!machine->is_vm || tdp_mw <= by_cpus_mw)) {
		state->tdp_mw = tdp_mw;
		snprintf(device, size, "modelled from TDP %u W of %s", tdp_mw / 1000,
			 machine->cpu_model);
		return;
	}
	state->tdp_mw = by_cpus_mw ? by_cpus_mw : WTL_MODEL_CPU_MW;
	snprintf(device, size, "modelled from %d W for each of %u CPUs", WTL_MODEL_CPU_MW / 1000,
		 machine->n_cpus);
}

/* DMI's types of portable machines (SMBIOS 7.4.1), of which none was measured. */
static bool is_portable(struct wtl_io *io)
{
	static const char *const types[] = {"8", "9", "10", "11", "14", "30", "31", "32"};
	char type[16] = "";

	wtl_io_read_line(io, "/sys/class/dmi/id/chassis_type", type, sizeof(type));
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (strcmp(type, types[i]) == 0)
			return true;
	return false;
}

/* The whole machine at the wall: more than the packages, so never added to them. */
static int open_machine(struct model *state, const struct wtl_machine *machine,
			struct wtl_catalog *catalog)
{
	struct wtl_channel channel = {.domain = "machine",
				      .kind = WATTLE_KIND_PLATFORM,
				      .quantity = WTL_QUANTITY_ENERGY,
				      .method = WATTLE_METHOD_MODELLED,
				      .unit = WTL_UNIT_MICRO,
				      .update_ns = WTL_NS_PER_TICK};
	const char *reason = NULL;
	int rc;

	if (wtl_catalog_has(catalog, WATTLE_KIND_BOARD) ||
	    wtl_catalog_has(catalog, WATTLE_KIND_PLATFORM))
		return 0;
	if (!machine->is_vm && is_portable(state->io))
		reason = "no portable machine was measured";
	else if (wtl_machine_power_find(machine, &state->machine, &reason) == 0)
		reason = NULL;
	if (reason)
		return wtl_catalog_missf(catalog, WATTLE_KIND_PLATFORM, channel.domain,
					 WATTLE_STATUS_ABSENT, NULL, "there is no model of it: %s",
					 reason);
	channel.max_uw = 2000 * state->machine.full_mw;
	channel.idle_uw = 1000 * state->machine.idle_mw;
	channel.gain_ppm = state->machine.gain_ppm;
	channel.offset_uw = state->machine.offset_uw;
	wtl_text_copy(channel.device, sizeof(channel.device), state->machine.words);
	rc = wtl_catalog_add(catalog, &channel);
	state->has_machine = rc >= 0;
	return rc;
}

static int open_cpus(struct model *state, const struct wtl_machine *machine,
		     struct wtl_catalog *catalog)
{
	unsigned n = machine->is_vm ? 1 : machine->n_packages;
	char device[sizeof(((struct wtl_channel *)NULL)->device)];
	int64_t idle_ns = 0;
	int rc;

	wtl_held_file_open(&state->stat, state->io, "/proc/stat");
	wtl_held_file_if_there(&state->online, state->io, "/sys/devices/system/cpu/online");
	rc = read_idle(state, &idle_ns);
	if (rc < 0)
		return wtl_catalog_missf(
			catalog, WATTLE_KIND_CPU, "package-0", WATTLE_STATUS_FAILED, "",
			"there is nothing to model from: /proc/stat cannot be read");
	state->n_packages = n > PACKAGES_MAX ? PACKAGES_MAX : n;
	state->n_cpus = machine->n_cpus;
	find_tdp(state, machine, device, sizeof(device));
	for (unsigned i = 0; i < state->n_packages; i++) {
		struct wtl_channel channel = channel_of(WATTLE_KIND_CPU, "package", i);

		channel.max_uw = 2000 * state->tdp_mw;
		channel.idle_uw = wtl_model_cpu_idle_uw(state->tdp_mw);
		channel.update_ns =
			WTL_NS_PER_TICK; /* at a window's ends; between, see READ_FAST_NS */
		wtl_text_copy(channel.device, sizeof(channel.device), device);
		rc = wtl_catalog_add(catalog, &channel);
		if (rc < 0)
			return rc;
	}
	return open_machine(state, machine, catalog);
}

static int open_dram(struct model *state, const struct wtl_machine *machine,
		     struct wtl_catalog *catalog)
{
	struct wtl_channel channel = channel_of(WATTLE_KIND_DRAM, "dram", 0);
	bool is_arm = strcmp(machine->vendor, "ARM") == 0;
	uint64_t gib = (machine->memory_bytes + (1u << 29)) >> 30;
	int rc;

	state->dram_mw = wtl_model_dram_mw(machine->memory_bytes, machine->is_vm, is_arm);
	if (state->dram_mw == 0)
		return 0;
	channel.max_uw = 2000 * state->dram_mw;
	channel.idle_uw = 1000 * state->dram_mw; /* whatever is done with it */
	if (machine->is_vm)
		snprintf(channel.device, sizeof(channel.device),
			 "modelled from %llu GiB at 0.%03d W each", (unsigned long long)gib,
			 WTL_MODEL_VM_GIB_MW);
	else
		snprintf(channel.device, sizeof(channel.device),
			 "modelled from %llu GiB, about %u modules", (unsigned long long)gib,
			 wtl_model_dimms(machine->memory_bytes));
	rc = wtl_catalog_add(catalog, &channel);
	if (rc < 0)
		return rc;
	state->has_dram = true;
	state->dram_ns = wtl_io_mono_ns(state->io);
	return 0;
}

static int model_open(void *state_, const struct wtl_env *env,
		      const struct wtl_source_options *options, struct wtl_catalog *catalog)
{
	struct model *state = state_;
	bool needs_cpus = !has_cpus(catalog);
	bool needs_dram = !has_dram(catalog);
	int rc = 0;

	*state = (struct model){.io = env->io};
	if (!needs_cpus && !needs_dram)
		return 0;
	if (needs_cpus)
		rc = open_cpus(state, options->machine, catalog);
	if (rc >= 0 && needs_dram)
		rc = open_dram(state, options->machine, catalog);
	return rc < 0 ? rc : 0;
}

static void model_close(void *state_)
{
	struct model *state = state_;

	wtl_held_file_close(&state->stat);
	wtl_held_file_close(&state->online);
	state->n_packages = 0;
	state->has_machine = state->has_dram = false;
}

const struct wtl_source_ops wtl_source_model = {
	.name = "model",
	.state_size = sizeof(struct model),
	.open = model_open,
	.read = model_read,
	.ask_for = model_ask_for,
	.close = model_close,
};
