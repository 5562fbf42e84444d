/* SPDX-License-Identifier: MIT */
#ifndef WTL_DOCUMENT_FORMAT_H
#define WTL_DOCUMENT_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wtl_buf;

/*
 * Figures and times as text. Everything is made from integers, so that no locale changes a digit or
 * the decimal point. All append to the buffer and return 0 or its error.
 */

/* value × 10^-decimals, all decimals printed: (12345678, 6) is "12.345678". decimals <= 18. */
int wtl_format_fixed(struct wtl_buf *buf, uint64_t value, unsigned decimals);

/* A finite number with that many decimals (<= 9), rounded to nearest; beyond 64 bits it is cut. */
int wtl_format_double(struct wtl_buf *buf, double value, unsigned decimals);

/* ---- Figures for people ---- */

/* Quantities are counted in millionths of their unit: µJ, µWh, µg, µW. */
enum wtl_format_quantity { WTL_FORMAT_J, WTL_FORMAT_WH, WTL_FORMAT_G, WTL_FORMAT_W };

/*
 * The power of ten (0, 3, … 15) of the prefix that fits a value: 6 is the unit itself, kept from 1
 * to 9999.
 */
unsigned wtl_format_scale(uint64_t micro);

/* "mJ", "kWh", "t"; the micro sign becomes u with ascii. Static. */
const char *wtl_format_unit(enum wtl_format_quantity quantity, unsigned scale, bool ascii);

/*
 * The last digit worth printing, as a power of ten of the millionth: two digits of the uncertainty,
 * at most six of the value. Without an uncertainty (0) four digits of the value.
 */
unsigned wtl_format_last_digit(uint64_t micro, uint64_t uncertainty_micro);

/* The same for a power: at most four digits. */
unsigned wtl_format_power_digit(uint64_t micro, uint64_t uncertainty_micro);

/* A value rounded to that last digit, in units of 10^scale millionths, without the unit. */
int wtl_format_rounded(struct wtl_buf *buf, uint64_t micro, unsigned last_digit, unsigned scale);

/* The same for an uncertainty: one unit of the last digit at least, since no uncertainty is known to be 0. */
int wtl_format_rounded_up(struct wtl_buf *buf, uint64_t micro, unsigned last_digit, unsigned scale);

/* "4213 ± 126 J"; without ± when the uncertainty is 0. */
int wtl_format_measure(struct wtl_buf *buf, uint64_t micro, uint64_t uncertainty_micro,
		       enum wtl_format_quantity quantity, bool ascii);

/* Microjoules as micro-watt-hours, to the nearest. */
uint64_t wtl_format_uwh(uint64_t energy_uj);

/* value × part / whole, rounded down; 0 for whole = 0. Saturates. */
uint64_t wtl_format_share(uint64_t value, uint64_t part, uint64_t whole);

/* The nearest multiple of 10^last_digit that fits. */
uint64_t wtl_format_round(uint64_t micro, unsigned last_digit);

/*
 * Rounds parts so that as printed they add up to `whole`, which is their sum, rounded (up or down):
 * each to the nearest multiple of 10^last_digit, but for those nearest to the middle that have to go
 * the other way to close the sum.
 */
void wtl_format_apportion(const uint64_t parts[], size_t n, unsigned last_digit, uint64_t whole,
			  uint64_t ret_rounded[]);

/* A finite value × 10^6 as an integer, cut to 64 bits; 0 for what is negative or not a number. */
uint64_t wtl_format_micro(double value);

/* "412 ms", "12.00 s", "3 min 12.4 s", "2 h 03 min 12 s". Below 0 is 0. */
int wtl_format_duration(struct wtl_buf *buf, int64_t duration_ns, bool ascii);

/* How long ago, in its largest whole unit: "8 s", "15 min", "3 h", "12 d". Below 0 is 0. */
int wtl_format_age(struct wtl_buf *buf, int64_t age_ns);

/* A period that someone chose: "1 ms", "20 s"; like a duration if it is not in whole milliseconds. */
int wtl_format_period(struct wtl_buf *buf, int64_t period_ns, bool ascii);

/* "4.2 MiB". */
int wtl_format_bytes(struct wtl_buf *buf, uint64_t bytes);

/* "0.93 %", two digits below 10 %. */
int wtl_format_percent(struct wtl_buf *buf, double ratio);

/* "2026-11-21T08:00:00.123Z"; cut, not rounded, to the millisecond. */
int wtl_format_utc(struct wtl_buf *buf, int64_t t_utc_ns);

/* ---- Text ---- */

/* One character of UTF-8: its length and code point, or 0 for what is not UTF-8. */
size_t wtl_format_utf8(const char *text, size_t len, uint32_t *ret_point);

/* Text as wtl_text_clean() makes it, within an XML element or attribute. */
int wtl_format_xml(struct wtl_buf *buf, const char *clean);

/* A command as one would type it into a shell: words with anything
 * unusual are in quotes, and no backslash is added. Raw bytes. */
int wtl_format_word(struct wtl_buf *buf, const char *word);
int wtl_format_command(struct wtl_buf *buf, char *const command[]);

#endif
