/* SPDX-License-Identifier: MIT */
#ifndef WTL_SENSORS_HWMON_RULES_H
#define WTL_SENSORS_HWMON_RULES_H

#include <stdbool.h>
#include <stdint.h>

#include <wattle.h>

/* What to make of a sensor's figure. */
enum wtl_hwmon_use {
	WTL_HWMON_IGNORE, /* no consumption, or a part of what another sensor has */
	WTL_HWMON_PART,	  /* counts in the machine's total */
	WTL_HWMON_SHOWN, /* a second opinion: it contains others, or nobody knows what it measures */
	WTL_HWMON_WHOLE, /* the module's input: counts where none of its parts is measured */
};

/*
 * What a sensor of a chip stands for. In patterns '*' is any text and '#' a number, which becomes
 * the domain's ("Esocket#"); without one, domains of a kind are numbered as they come.
 */
struct wtl_hwmon_rule {
	const char *chip; /* the content of the hwmon's "name" */
	const char *label;
	enum wtl_hwmon_use use;
	enum wattle_kind kind;
	const char *domain; /* "package" for package-0 */
	const char *inside; /* "soc": inside the soc of the same number; NULL: in none */
	uint32_t gain_ppm;  /* standard uncertainties */
	uint32_t offset_uw;
	int64_t update_ns; /* 0: not known */
};

/* Does the text match the pattern? *ret_number is the value of the last '#', or stays. */
bool wtl_hwmon_match(const char *pattern, const char *text, int *ret_number);

/* The first rule for a chip and label; never NULL. *ret_number as above (-1: no number). */
const struct wtl_hwmon_rule *wtl_hwmon_rule_find(const char *chip, const char *label,
						 int *ret_number);

/* Is every sensor of that chip another source's business? */
bool wtl_hwmon_chip_owned(const char *chip);

/* No single domain of that kind draws more, in µW: tells wraps from resets. */
uint64_t wtl_hwmon_max_uw(enum wattle_kind kind);

#endif
