/* SPDX-License-Identifier: MIT */
#include "sensors/rapl.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "base/text.h"

/* More than any machine has; keeps names within WTL_NAME_SIZE. */
enum { NUMBER_MAX = 4095 };

/*
 * No such part draws more (judgement, in watts). The bounds tell a wrap from a reset, so they are
 * generous, but a counter of the shortest range (65.5 kJ: AMD, and DRAM with its 15.3 µJ unit;
 * facts/rapl-and-processes.md 3) must not wrap within the 61 s of one reading a minute and its
 * slack: 65532 J / 61 s = 1074 W. psys has at least 262 kJ. The zones' constraint_0_max_power_uw is
 * no bound: peaks exceed it.
 */
enum { PACKAGE_MAX_W = 1000, DRAM_MAX_W = 500, PSYS_MAX_W = 4000 };

/* Standard uncertainty of the gain, facts/carbon-and-ml.md 5.5: judgement. */
enum {
	GAIN_INTEL_PPM = 30000,
	GAIN_AMD_PPM = 50000,
	/* Marginal power of an EPYC 7502 by RAPL against the wall, 27 kernels and frequencies: from 43 %
	 * less to 72 % more. */
	DYNAMIC_AMD_PPM = 350000,
	GAIN_DRAM_SERVER_PPM = 50000,
	GAIN_DRAM_CLIENT_PPM = 200000,
	/* What psys counts is the board maker's choice: nothing is published, so as DRAM on clients. */
	GAIN_PSYS_PPM = 200000,
};

/* Xeons that are client processors by another name, with a client's memory controller. */
static bool is_server(const struct wtl_machine *machine)
{
	static const char *const client[] = {"E3-", "E-2", "W-1", "Xeon(R) 63"};

	if (!strstr(machine->cpu_model, "Xeon"))
		return false;
	for (size_t i = 0; i < sizeof(client) / sizeof(client[0]); i++)
		if (strstr(machine->cpu_model, client[i]))
			return false;
	return true;
}

/*
 * Servers' DRAM against a shunt on the DIMM (facts/rapl-and-processes.md 2): Ice Lake 1.3 to 3.4 W more,
 * Broadwell from 0.3 W less to 0.4 W more. Haswell (v3) and Broadwell (v4) measure in the same way; of
 * others nothing is published, so they get the worse figure.
 */
enum { DRAM_OFFSET_UW = 2000000, DRAM_OFFSET_V3_V4_UW = 250000 };

static uint32_t dram_offset_uw(const struct wtl_machine *machine)
{
	bool is_v3_or_v4 = strstr(machine->cpu_model, " v3") || strstr(machine->cpu_model, " v4");

	if (!is_server(machine))
		return 0;
	return is_v3_or_v4 ? DRAM_OFFSET_V3_V4_UW : DRAM_OFFSET_UW;
}

/* Counters move every millisecond (the same table: 1.0009 and 0.9998 ms measured). */
#define UPDATE_NS WTL_NS_PER_MS

static bool is_amd(const struct wtl_machine *machine)
{
	return strcmp(machine->vendor, "AuthenticAMD") == 0 ||
	       strcmp(machine->vendor, "HygonGenuine") == 0;
}

/* A recording keeps a channel's source and its part's name. */
uint32_t wtl_rapl_dynamic_ppm(const struct wtl_channel *channel)
{
	if (!channel->source || !wtl_text_starts(channel->source, "rapl"))
		return 0;
	return strstr(channel->device, "AMD") || strstr(channel->device, "Hygon") ? DYNAMIC_AMD_PPM
										  : 0;
}

uint64_t wtl_rapl_coarse(uint64_t energy_uj)
{
	return energy_uj / WTL_RAPL_COARSE_UJ;
}

/* The unit tells: perf's are far finer. */
bool wtl_rapl_is_coarse(const struct wtl_channel *channel)
{
	return channel->source && strcmp(channel->source, "rapl-perf") == 0 &&
	       channel->unit.num == WTL_RAPL_COARSE_UJ && channel->unit.den == 1;
}

/* Reads a number at *text and steps behind it. */
static bool take_number(const char **text, unsigned *ret)
{
	size_t len = strspn(*text, "0123456789");
	uint64_t number;

	if (len == 0 || wtl_num_u64(*text, len, &number) < 0 || number > NUMBER_MAX)
		return false;
	*text += len;
	*ret = (unsigned)number;
	return true;
}

static bool take_word(const char **text, const char *word)
{
	if (!wtl_text_starts(*text, word))
		return false;
	*text += strlen(word);
	return true;
}

static bool parse_package(const char *text, struct wtl_rapl_part *part)
{
	part->kind = WATTLE_KIND_CPU;
	if (!take_number(&text, &part->package))
		return false;
	if (take_word(&text, "-die-")) {
		part->has_die = true;
		if (!take_number(&text, &part->die))
			return false;
	}
	return !*text;
}

static bool parse_psys(const char *text, struct wtl_rapl_part *part)
{
	part->kind = WATTLE_KIND_PLATFORM;
	/* That of the first package has no number. */
	if (take_word(&text, "-") && !take_number(&text, &part->package))
		return false;
	return !*text;
}

bool wtl_rapl_part_parse(const char *text, const struct wtl_rapl_part *parent,
			 struct wtl_rapl_part *ret_part)
{
	static const struct {
		const char *name;
		enum wattle_kind kind;
	} inner[] = {
		{"core", WATTLE_KIND_CORE},
		{"uncore", WATTLE_KIND_UNCORE},
		{"dram", WATTLE_KIND_DRAM},
	};
	struct wtl_rapl_part part = {.package = 0};

	if (take_word(&text, "package-") ? parse_package(text, &part)
					 : take_word(&text, "psys") && parse_psys(text, &part)) {
		*ret_part = part;
		return true;
	}
	for (size_t i = 0; parent && i < sizeof(inner) / sizeof(inner[0]); i++) {
		if (strcmp(text, inner[i].name) != 0)
			continue;
		part = *parent;
		part.kind = inner[i].kind;
		*ret_part = part;
		return true;
	}
	return false;
}

/* The first word of the domain's name. */
static const char *part_word(enum wattle_kind kind)
{
	return kind == WATTLE_KIND_CPU	      ? "package"
	       : kind == WATTLE_KIND_PLATFORM ? "psys"
					      : wattle_kind_name(kind);
}

void wtl_rapl_part_name(const struct wtl_rapl_part *part, char name[WTL_NAME_SIZE])
{
	int len = snprintf(name, WTL_NAME_SIZE, "%s-%u", part_word(part->kind),
			   part->package % (NUMBER_MAX + 1));

	if (part->has_die)
		snprintf(name + len, WTL_NAME_SIZE - (size_t)len, "-die-%u",
			 part->die % (NUMBER_MAX + 1));
}

bool wtl_rapl_dies_are_copies(const struct wtl_machine *machine)
{
	return is_amd(machine);
}

void wtl_rapl_channel(const struct wtl_machine *machine, const struct wtl_rapl_part *part,
		      struct wtl_channel *ret_channel)
{
	struct wtl_channel channel = {
		.kind = part->kind,
		.in_total = part->kind == WATTLE_KIND_CPU || part->kind == WATTLE_KIND_DRAM,
		.quantity = WTL_QUANTITY_ENERGY,
		.method = WATTLE_METHOD_COUNTER,
		.unit = WTL_UNIT_MICRO,
		.max_uw = PACKAGE_MAX_W * UINT64_C(1000000),
		.update_ns = UPDATE_NS,
		.gain_ppm = is_amd(machine) ? GAIN_AMD_PPM : GAIN_INTEL_PPM,
	};
	struct wtl_rapl_part around = *part;

	wtl_rapl_part_name(part, channel.domain);
	if (part->kind == WATTLE_KIND_CORE || part->kind == WATTLE_KIND_UNCORE) {
		around.kind = WATTLE_KIND_CPU;
		wtl_rapl_part_name(&around, channel.inside);
	} else if (part->kind == WATTLE_KIND_DRAM) {
		channel.max_uw = DRAM_MAX_W * UINT64_C(1000000);
		channel.gain_ppm = is_server(machine) ? GAIN_DRAM_SERVER_PPM : GAIN_DRAM_CLIENT_PPM;
		channel.offset_uw = dram_offset_uw(machine);
	} else if (part->kind == WATTLE_KIND_PLATFORM) {
		/* It may be less than the package on some boards (facts/carbon-and-ml.md 5.3), so
		 * the package is not said to be inside it. */
		channel.max_uw = PSYS_MAX_W * UINT64_C(1000000);
		channel.gain_ppm = GAIN_PSYS_PPM;
	}
	if (part->kind == WATTLE_KIND_CPU)
		wtl_text_copy(channel.device, sizeof(channel.device), machine->cpu_model);
	*ret_channel = channel;
}

int wtl_rapl_miss_absent(struct wtl_catalog *catalog, const struct wtl_machine *machine,
			 const char *what, const char *module)
{
	bool is_intel = strcmp(machine->vendor, "GenuineIntel") == 0;
	char remedy[128];

	if (machine->vendor[0] && !is_intel && !is_amd(machine))
		return wtl_catalog_missf(catalog, WATTLE_KIND_CPU, NULL, WATTLE_STATUS_ABSENT, NULL,
					 "%s: processors of %s have no RAPL counters", what,
					 machine->vendor);
	if (machine->is_vm)
		return wtl_catalog_missf(
			catalog, WATTLE_KIND_CPU, NULL, WATTLE_STATUS_ABSENT,
			"measure on the host of this virtual machine",
			"%s: this is a virtual machine, and its hypervisor passes no energy counters on",
			what);
	snprintf(remedy, sizeof(remedy), "%ssudo modprobe %s",
		 machine->is_container ? "on the container's host: " : "", module);
	return wtl_catalog_missf(
		catalog, WATTLE_KIND_CPU, NULL, WATTLE_STATUS_ABSENT, remedy,
		"%s: the kernel's module %s is not loaded, or does not know this processor", what,
		module);
}

int wtl_rapl_miss(struct wtl_catalog *catalog, const struct wtl_rapl_part *part,
		  enum wattle_status status, const char *remedy, const char *reason)
{
	char name[WTL_NAME_SIZE];

	wtl_rapl_part_name(part, name);
	for (size_t i = 0; i < catalog->n_misses; i++)
		if (catalog->misses[i].source == catalog->source &&
		    strcmp(catalog->misses[i].domain, name) == 0)
			return 0;
	return wtl_catalog_missf(catalog, part->kind, name, status, remedy, "%s", reason);
}
