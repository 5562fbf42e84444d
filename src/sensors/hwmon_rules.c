/* SPDX-License-Identifier: MIT */
#include "sensors/hwmon_rules.h"

#include <stddef.h>
#include <string.h>

#include "base/text.h"

/*
 * Gains: AMD counters are modelled, 5 % (facts/carbon-and-ml.md 5.5). INA3221: its data sheet's
 * 0.25 % and a shunt of 1 %; its offset is 80 µV at most, which at the usual 5 mΩ and 5 V is 80 mW,
 * or 46 mW as a standard uncertainty. All others are judgement: 5 %.
 */
#define GAIN	   50000
#define INA_GAIN   10000
#define INA_OFFSET 46000
#define MS	   INT64_C(1000000)

#define PACKAGE WATTLE_KIND_CPU, "package"
#define SOC	WATTLE_KIND_SOC, "soc"
#define DRAM	WATTLE_KIND_DRAM, "dram"
#define BOARD	WATTLE_KIND_BOARD, "board"
#define GPU	WATTLE_KIND_GPU, "gpu"

#define IGNORED	    WTL_HWMON_IGNORE, BOARD, NULL, 0, 0, 0
#define INA	    INA_GAIN, INA_OFFSET, 0
#define ORDINARY    GAIN, 0, 0
#define UNKNOWN_USE WTL_HWMON_SHOWN, BOARD, NULL, ORDINARY

static const struct wtl_hwmon_rule rules[] = {
	/* Optical power of network modules (drivers/net/phy/sfp.c), which nobody pays for. */
	{"*", "TX_power", IGNORED},
	{"*", "RX_power", IGNORED},

	/* Documentation/hwmon/amd_energy.rst: counters of cores and of sockets, every 1 ms. */
	{"amd_energy", "Esocket#", WTL_HWMON_PART, PACKAGE, NULL, GAIN, 0, 1 * MS},
	{"amd_energy", "*", IGNORED},
	/* Its successor outside the kernel's tree, readable by everyone. */
	{"zenergy", "Esocket#", WTL_HWMON_PART, PACKAGE, NULL, GAIN, 0, 1 * MS},
	{"zenergy", "*", IGNORED},

	/* drivers/platform/x86/amd/hsmp/hwmon.c: a socket's power, one hwmon a socket. */
	{"amd_hsmp_hwmon", "*", WTL_HWMON_PART, PACKAGE, NULL, ORDINARY},

	/* drivers/acpi/fan_hwmon.c: what the firmware's table says that a fan draws at its level;
	 * each read runs ACPI code. */
	{"acpi_fan", "*", IGNORED},

	/* drivers/hwmon/xgene-hwmon.c: the cores, and the rest of the chip. */
	{"apm_xgene", "CPU power", WTL_HWMON_PART, PACKAGE, NULL, ORDINARY},
	{"apm_xgene", "IO power", WTL_HWMON_PART, SOC, NULL, ORDINARY},

	/* Ampere Altra, drivers/hwmon/smpro-hwmon.c: one sensor a voltage regulator. */
	{"smpro_hwmon", "*CORE VRD", WTL_HWMON_PART, PACKAGE, NULL, ORDINARY},
	{"smpro_hwmon", "*SoC", WTL_HWMON_PART, SOC, NULL, ORDINARY},
	{"smpro_hwmon", "*DIMM VRD*", WTL_HWMON_PART, DRAM, NULL, ORDINARY},
	{"smpro_hwmon", "*RCA VRD", WTL_HWMON_PART, SOC, NULL, ORDINARY},

	/*
	 * NVIDIA Grace, "Power Telemetry" in NVIDIA's Grace Performance Tuning Guide: the module
	 * (GPU, HBM, regulators' losses) contains the Grace socket (with its DRAM), and that the
	 * rails of the cores and of the SoC. Everything else with this driver is a server's meter.
	 */
	{"power_meter", "Module Power Socket #", WTL_HWMON_SHOWN, WATTLE_KIND_MODULE, "module",
	 NULL, ORDINARY},
	{"power_meter", "Grace Power Socket #", WTL_HWMON_SHOWN, SOC, "module", ORDINARY},
	{"power_meter", "CPU Power Socket #", WTL_HWMON_PART, PACKAGE, "soc", ORDINARY},
	{"power_meter", "SysIO Power Socket #", WTL_HWMON_PART, WATTLE_KIND_UNCORE, "uncore", "soc",
	 ORDINARY},
	{"power_meter", "*", UNKNOWN_USE},

	/* POWER9, drivers/hwmon/ibmpowernv.c; Vdd, Vdn and the raw "APSS" are parts of the others. */
	{"ibmpowernv", "Chip #", WTL_HWMON_PART, PACKAGE, NULL, ORDINARY},
	{"ibmpowernv", "System", UNKNOWN_USE},
	{"ibmpowernv", "*", IGNORED},
	/* The same from the service processor, Documentation/hwmon/occ.rst. */
	{"occ", "*system", UNKNOWN_USE},
	{"occ", "*_proc", WTL_HWMON_PART, PACKAGE, NULL, ORDINARY},
	{"occ", "*", IGNORED},

	/* Documentation/hwmon/fam15h_power.rst: the power of the processor. */
	{"fam15h_power", "*", WTL_HWMON_PART, PACKAGE, NULL, ORDINARY},
	{"zenpower", "SVI2_P_Core", WTL_HWMON_SHOWN, WATTLE_KIND_CORE, "core", "package", ORDINARY},
	{"zenpower", "SVI2_P_SoC", WTL_HWMON_SHOWN, WATTLE_KIND_UNCORE, "uncore", "package",
	 ORDINARY},

	{"nouveau", "*", WTL_HWMON_PART, GPU, NULL, ORDINARY},

	/* Jetson rails, by the names in NVIDIA's device trees: Orin NX and Nano, Xavier NX, */
	{"ina*", "VDD_IN", WTL_HWMON_WHOLE, BOARD, NULL, INA},
	{"ina*", "VDD_CPU_GPU_CV", WTL_HWMON_PART, SOC, "board", INA},
	{"ina*", "VDD_SOC", WTL_HWMON_PART, SOC, "board", INA},
	/* AGX Orin (VDDQ is also in VIN_SYS_5V0, which is not added), Thor, */
	{"ina*", "VDD_GPU_SOC", WTL_HWMON_PART, SOC, NULL, INA},
	{"ina*", "VDD_CPU_CV", WTL_HWMON_PART, PACKAGE, NULL, INA},
	{"ina*", "VDDQ*", WTL_HWMON_PART, DRAM, NULL, INA},
	{"ina*", "VDD_GPU", WTL_HWMON_PART, GPU, NULL, INA},
	{"ina*", "VDD_CPU_SOC_MSS", WTL_HWMON_PART, PACKAGE, NULL, INA},
	{"ina*", "VIN", WTL_HWMON_WHOLE, BOARD, NULL, INA},
	/* AGX Xavier, */
	{"ina*", "CPU", WTL_HWMON_PART, PACKAGE, NULL, INA},
	{"ina*", "GPU", WTL_HWMON_PART, GPU, NULL, INA},
	{"ina*", "SOC", WTL_HWMON_PART, SOC, NULL, INA},
	{"ina*", "CV", WTL_HWMON_PART, SOC, NULL, INA},
	{"ina*", "VDDRQ", WTL_HWMON_PART, DRAM, NULL, INA},
	/* TX2, TX1 and Nano. */
	{"ina*", "VDD_SYS_CPU", WTL_HWMON_PART, PACKAGE, "board", INA},
	{"ina*", "VDD_SYS_GPU", WTL_HWMON_PART, GPU, "board", INA},
	{"ina*", "VDD_SYS_SOC", WTL_HWMON_PART, SOC, "board", INA},
	{"ina*", "VDD_SYS_DDR", WTL_HWMON_PART, DRAM, "board", INA},
	{"ina*", "POM_5V_CPU", WTL_HWMON_PART, PACKAGE, "board", INA},
	{"ina*", "POM_5V_GPU", WTL_HWMON_PART, GPU, "board", INA},
	{"ina*", "POM_5V_IN", WTL_HWMON_WHOLE, BOARD, NULL, INA},
	{"ina*", "NC", IGNORED},
	{"ina*", "*", WTL_HWMON_SHOWN, BOARD, NULL, INA},

	/* Documentation/hwmon/corsair-psu.rst: the rails' powers are parts of the total. */
	{"corsairpsu", "power total", UNKNOWN_USE},
	{"corsairpsu", "*", IGNORED},

	{"*", "*", UNKNOWN_USE},
};

enum { N_RULES = sizeof(rules) / sizeof(rules[0]), NUMBER_MAX = 9999 };

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* One number at *text, which is moved past it. */
static bool match_number(const char **text, int *ret_number)
{
	int number = 0;

	if (!is_digit(**text))
		return false;
	for (; is_digit(**text); (*text)++) {
		if (number > NUMBER_MAX)
			return false;
		number = number * 10 + (**text - '0');
	}
	*ret_number = number;
	return number <= NUMBER_MAX;
}

/* The usual glob with one place to come back to: linear in the text for each '*'. */
bool wtl_hwmon_match(const char *pattern, const char *text, int *ret_number)
{
	const char *star = NULL;
	const char *back = NULL;
	int number = -1;

	while (*text || *pattern) {
		if (*pattern == '*') {
			star = ++pattern;
			back = text;
		} else if (*pattern == '#' && match_number(&text, &number)) {
			pattern++;
		} else if (*text && *pattern == *text) {
			pattern++;
			text++;
		} else if (star && *back) {
			pattern = star;
			text = ++back;
		} else {
			return false;
		}
	}
	if (number >= 0)
		*ret_number = number;
	return true;
}

const struct wtl_hwmon_rule *wtl_hwmon_rule_find(const char *chip, const char *label,
						 int *ret_number)
{
	int ignored;

	*ret_number = -1;
	for (size_t i = 0; i < N_RULES - 1; i++)
		if (wtl_hwmon_match(rules[i].chip, chip, &ignored) &&
		    wtl_hwmon_match(rules[i].label, label, ret_number))
			return &rules[i];
	return &rules[N_RULES - 1];
}

bool wtl_hwmon_chip_owned(const char *chip)
{
	static const char *const chips[] = {"amdgpu", "i915", "i915_*", "xe", "xe_*"};
	int ignored;

	for (size_t i = 0; i < sizeof(chips) / sizeof(chips[0]); i++)
		if (wtl_hwmon_match(chips[i], chip, &ignored))
			return true;
	return false;
}

uint64_t wtl_hwmon_max_uw(enum wattle_kind kind)
{
	switch (kind) {
	case WATTLE_KIND_CPU:
	case WATTLE_KIND_CORE:
	case WATTLE_KIND_UNCORE:
	case WATTLE_KIND_DRAM:
		return UINT64_C(2000000000);
	case WATTLE_KIND_GPU:
	case WATTLE_KIND_GPU_MEMORY:
	case WATTLE_KIND_SOC:
	case WATTLE_KIND_BATTERY:
		return UINT64_C(3000000000);
	case WATTLE_KIND_MODULE:
	case WATTLE_KIND_PLATFORM:
	case WATTLE_KIND_BOARD:
	case WATTLE_KINDS:
		break;
	}
	return UINT64_C(50000000000);
}
