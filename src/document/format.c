/* SPDX-License-Identifier: MIT */
#include "document/format.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/num.h"
#include "base/text.h"
#include "energy/units.h"

enum {
	DECIMALS_MAX = 18,
	DIGITS_OF_UNCERTAINTY = 2,
	DIGITS_MAX = 6,	  /* no sensor is good for more */
	DIGITS_ALONE = 4, /* without an uncertainty */
};

static uint64_t power_of_ten(unsigned exponent)
{
	uint64_t power = 1;

	while (exponent-- > 0)
		power *= 10;
	return power;
}

static unsigned digits_of(uint64_t value)
{
	unsigned digits = 1;

	while (value >= 10) {
		value /= 10;
		digits++;
	}
	return digits;
}

int wtl_format_fixed(struct wtl_buf *buf, uint64_t value, unsigned decimals)
{
	char room[WTL_NUM_DIGITS], *at;

	if (decimals > DECIMALS_MAX)
		return buf->error = -EINVAL;
	at = wtl_num_digits(value, decimals, room);
	return wtl_buf_add(buf, at, (size_t)(room + sizeof(room) - at));
}

int wtl_format_double(struct wtl_buf *buf, double value, unsigned decimals)
{
	double scaled = round(fabs(value) * (double)power_of_ten(decimals));

	if (value < 0 && scaled > 0)
		wtl_buf_putc(buf, '-');
	return wtl_format_fixed(buf, scaled < 0x1p64 ? (uint64_t)scaled : UINT64_MAX, decimals);
}

unsigned wtl_format_scale(uint64_t micro)
{
	unsigned scale = 6;
	uint64_t limit = UINT64_C(10000000000);

	if (micro == 0)
		return 6;
	if (micro < 1000000)
		return micro < 1000 ? 0 : 3;
	while (scale < 15 && micro >= limit) {
		scale += 3;
		limit *= 1000;
	}
	return scale;
}

const char *wtl_format_unit(enum wtl_format_quantity quantity, unsigned scale, bool ascii)
{
	static const char *const units[][6] = {
		[WTL_FORMAT_J] = {"µJ", "mJ", "J", "kJ", "MJ", "GJ"},
		[WTL_FORMAT_WH] = {"µWh", "mWh", "Wh", "kWh", "MWh", "GWh"},
		[WTL_FORMAT_G] = {"µg", "mg", "g", "kg", "t", "kt"},
		[WTL_FORMAT_W] = {"µW", "mW", "W", "kW", "MW", "GW"},
	};
	static const char *const micro[] = {
		[WTL_FORMAT_J] = "uJ",
		[WTL_FORMAT_WH] = "uWh",
		[WTL_FORMAT_G] = "ug",
		[WTL_FORMAT_W] = "uW",
	};

	if (scale < 3 && ascii)
		return micro[quantity];
	return units[quantity][scale / 3 < 6 ? scale / 3 : 5];
}

unsigned wtl_format_last_digit(uint64_t micro, uint64_t uncertainty_micro)
{
	unsigned digits = digits_of(micro), least, wanted;

	if (micro == 0 && uncertainty_micro == 0)
		return 6;
	if (uncertainty_micro == 0)
		return digits > DIGITS_ALONE ? digits - DIGITS_ALONE : 0;
	wanted = digits_of(uncertainty_micro);
	wanted = wanted > DIGITS_OF_UNCERTAINTY ? wanted - DIGITS_OF_UNCERTAINTY : 0;
	least = digits > DIGITS_MAX ? digits - DIGITS_MAX : 0;
	return wanted > least ? wanted : least;
}

unsigned wtl_format_power_digit(uint64_t micro, uint64_t uncertainty_micro)
{
	unsigned last = wtl_format_last_digit(micro, uncertainty_micro);
	unsigned least = wtl_format_last_digit(micro, 0);

	return last > least ? last : least;
}

static int put_steps(struct wtl_buf *buf, uint64_t steps, unsigned last_digit, unsigned scale)
{
	if (last_digit <= scale)
		return wtl_format_fixed(buf, steps, scale - last_digit);
	return wtl_format_fixed(buf, steps * power_of_ten(last_digit - scale), 0);
}

int wtl_format_rounded(struct wtl_buf *buf, uint64_t micro, unsigned last_digit, unsigned scale)
{
	uint64_t step = power_of_ten(last_digit);
	uint64_t rest = micro % step;

	return put_steps(buf, micro / step + (rest >= step - rest && rest > 0), last_digit, scale);
}

int wtl_format_rounded_up(struct wtl_buf *buf, uint64_t micro, unsigned last_digit, unsigned scale)
{
	uint64_t step = power_of_ten(last_digit);

	if (micro < step)
		return put_steps(buf, 1, last_digit, scale);
	return wtl_format_rounded(buf, micro, last_digit, scale);
}

int wtl_format_measure(struct wtl_buf *buf, uint64_t micro, uint64_t uncertainty_micro,
		       enum wtl_format_quantity quantity, bool ascii)
{
	unsigned scale = wtl_format_scale(micro > uncertainty_micro ? micro : uncertainty_micro);
	unsigned last = wtl_format_last_digit(micro, uncertainty_micro);

	wtl_format_rounded(buf, micro, last, scale);
	if (uncertainty_micro > 0) {
		wtl_buf_puts(buf, ascii ? " +/- " : " ± ");
		wtl_format_rounded_up(buf, uncertainty_micro, last, scale);
	}
	wtl_buf_putc(buf, ' ');
	return wtl_buf_puts(buf, wtl_format_unit(quantity, scale, ascii));
}

uint64_t wtl_format_round(uint64_t micro, unsigned last_digit)
{
	uint64_t step = power_of_ten(last_digit);
	uint64_t rest = micro % step, rounded = micro - rest;

	if (rest >= step - rest && rest > 0 && rounded <= UINT64_MAX - step)
		rounded += step;
	return rounded;
}

/* The part that was rounded up (down) by the most, and so costs least to round the other way. n: none. */
static size_t nearest_to_middle(const uint64_t parts[], const uint64_t rounded[], size_t n, bool up)
{
	uint64_t most = 0;
	size_t found = n;

	for (size_t i = 0; i < n; i++) {
		uint64_t by = up ? rounded[i] - parts[i] : parts[i] - rounded[i];

		if ((up ? rounded[i] > parts[i] : rounded[i] < parts[i]) && by > most) {
			most = by;
			found = i;
		}
	}
	return found;
}

void wtl_format_apportion(const uint64_t parts[], size_t n, unsigned last_digit, uint64_t whole,
			  uint64_t ret_rounded[])
{
	uint64_t step = power_of_ten(last_digit);
	unsigned __int128 sum = 0;

	for (size_t i = 0; i < n; i++) {
		ret_rounded[i] = wtl_format_round(parts[i], last_digit);
		sum += ret_rounded[i];
	}
	while (sum != whole) {
		bool up = sum > whole;
		size_t i = nearest_to_middle(parts, ret_rounded, n, up);

		if (i == n)
			return; /* whole is not the parts' sum */
		ret_rounded[i] = up ? ret_rounded[i] - step : ret_rounded[i] + step;
		sum = up ? sum - step : sum + step;
	}
}

uint64_t wtl_format_uwh(uint64_t energy_uj)
{
	return energy_uj / 3600 + (energy_uj % 3600 >= 1800);
}

uint64_t wtl_format_share(uint64_t value, uint64_t part, uint64_t whole)
{
	unsigned __int128 share;

	if (whole == 0)
		return 0;
	share = (unsigned __int128)value * part / whole;
	return share > UINT64_MAX ? UINT64_MAX : (uint64_t)share;
}

uint64_t wtl_format_micro(double value)
{
	double micro = round(value * 1e6);

	if (!(micro > 0))
		return 0;
	return micro < 0x1p64 ? (uint64_t)micro : UINT64_MAX;
}

/* Seconds below a minute: four digits. */
static int put_seconds(struct wtl_buf *buf, uint64_t ns, bool ascii)
{
	uint64_t us = ns / 1000;

	if (us < 1000) {
		wtl_buf_printf(buf, "%" PRIu64, us);
		return wtl_buf_puts(buf, ascii ? " us" : " µs");
	}
	if (us < 1000000) {
		wtl_format_rounded(buf, us, us < 10000 ? 1 : us < 100000 ? 2 : 3, 3);
		return wtl_buf_puts(buf, " ms");
	}
	wtl_format_rounded(buf, us, us < 10000000 ? 3 : 4, 6);
	return wtl_buf_puts(buf, " s");
}

int wtl_format_duration(struct wtl_buf *buf, int64_t duration_ns, bool ascii)
{
	uint64_t ns = duration_ns > 0 ? (uint64_t)duration_ns : 0;
	uint64_t tenths = (ns + 50000000) / 100000000;
	uint64_t seconds = (ns + 500000000) / 1000000000;

	if (ns < UINT64_C(59995000000))
		return put_seconds(buf, ns, ascii);
	if (tenths < 36000)
		return wtl_buf_printf(buf, "%" PRIu64 " min %" PRIu64 ".%" PRIu64 " s",
				      tenths / 600, tenths % 600 / 10, tenths % 10);
	if (seconds < 86400)
		return wtl_buf_printf(buf, "%" PRIu64 " h %02" PRIu64 " min %02" PRIu64 " s",
				      seconds / 3600, seconds % 3600 / 60, seconds % 60);
	return wtl_buf_printf(buf, "%" PRIu64 " d %" PRIu64 " h %02" PRIu64 " min", seconds / 86400,
			      seconds % 86400 / 3600, seconds % 3600 / 60);
}

int wtl_format_age(struct wtl_buf *buf, int64_t age_ns)
{
	static const struct {
		int64_t seconds;
		const char *unit;
	} units[] = {{86400, "d"}, {3600, "h"}, {60, "min"}, {1, "s"}};
	int64_t seconds = age_ns > 0 ? age_ns / WTL_NS_PER_S : 0;
	size_t i = 0;

	/* Each unit from two of it on: 90 min says more than 1 h. */
	while (i < 3 && seconds < 2 * units[i].seconds)
		i++;
	return wtl_buf_printf(buf, "%" PRId64 " %s", seconds / units[i].seconds, units[i].unit);
}

int wtl_format_period(struct wtl_buf *buf, int64_t period_ns, bool ascii)
{
	if (period_ns > 0 && period_ns % WTL_NS_PER_S == 0)
		return wtl_buf_printf(buf, "%" PRId64 " s", period_ns / WTL_NS_PER_S);
	if (period_ns > 0 && period_ns % WTL_NS_PER_MS == 0)
		return wtl_buf_printf(buf, "%" PRId64 " ms", period_ns / WTL_NS_PER_MS);
	return wtl_format_duration(buf, period_ns, ascii);
}

int wtl_format_bytes(struct wtl_buf *buf, uint64_t bytes)
{
	static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
	uint64_t unit = 1024, tenths;
	size_t i = 0;

	while (i < 5 && bytes / unit >= 1024) {
		unit *= 1024;
		i++;
	}
	tenths = bytes / unit * 10 + bytes % unit * 10 / unit;
	if (tenths >= 1000 || tenths % 10 == 0)
		return wtl_buf_printf(buf, "%" PRIu64 " %s", tenths / 10, units[i]);
	return wtl_buf_printf(buf, "%" PRIu64 ".%" PRIu64 " %s", tenths / 10, tenths % 10,
			      units[i]);
}

int wtl_format_percent(struct wtl_buf *buf, double ratio)
{
	double percent = ratio * 100;

	wtl_format_double(buf, percent, percent < 1 ? 2 : percent < 10 ? 1 : 0);
	return wtl_buf_puts(buf, " %");
}

int wtl_format_utc(struct wtl_buf *buf, int64_t t_utc_ns)
{
	int64_t rest_ns = t_utc_ns % WTL_NS_PER_S;
	time_t seconds = (time_t)(t_utc_ns / WTL_NS_PER_S);
	struct tm tm;

	if (rest_ns < 0) {
		rest_ns += WTL_NS_PER_S;
		seconds--;
	}
	if (!gmtime_r(&seconds, &tm))
		return buf->error = -EOVERFLOW;
	return wtl_buf_printf(buf, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", tm.tm_year + 1900,
			      tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec,
			      (int)(rest_ns / WTL_NS_PER_MS));
}

/* The length that the first byte announces, or 0. */
static size_t announced_len(unsigned char first)
{
	if (first < 0x80)
		return 1;
	if (first < 0xc0 || first > 0xf4)
		return 0;
	return first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
}

size_t wtl_format_utf8(const char *text, size_t len, uint32_t *ret_point)
{
	static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
	size_t n = len > 0 ? announced_len((unsigned char)text[0]) : 0;
	uint32_t point;

	if (n == 0 || n > len)
		return 0;
	point = (unsigned char)text[0];
	if (n > 1)
		point &= 0x7fu >> n;
	for (size_t i = 1; i < n; i++) {
		if (((unsigned char)text[i] & 0xc0) != 0x80)
			return 0;
		point = point << 6 | ((unsigned char)text[i] & 0x3f);
	}
	if (point < smallest[n] || point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff))
		return 0;
	*ret_point = point;
	return n;
}

static bool is_plain(const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				    "_@%+=:,./-";

	if (word[0] == '\0')
		return false;
	for (size_t i = 0; word[i]; i++) {
		if (!((unsigned char)word[i] >= 0x80 || strchr(plain, word[i])))
			return false;
	}
	return true;
}

static void put_quoted(struct wtl_buf *buf, const char *word)
{
	bool has_single = strchr(word, '\'') != NULL;
	char quote = has_single && !strpbrk(word, "\"$`\\!") ? '"' : '\'';

	wtl_buf_putc(buf, quote);
	for (; *word && !buf->error; word++) {
		if (*word == '\'' && quote == '\'')
			wtl_buf_puts(buf, "'\"'\"'");
		else
			wtl_buf_putc(buf, *word);
	}
	wtl_buf_putc(buf, quote);
}

int wtl_format_xml(struct wtl_buf *buf, const char *clean)
{
	static const struct {
		const char *text, *xml;
	} escapes[] = {
		{"&", "&amp;"},
		{"<", "&lt;"},
		{">", "&gt;"},
		{"\"", "&quot;"},
	};

	while (*clean && !buf->error) {
		size_t i = 0;

		while (i < sizeof(escapes) / sizeof(escapes[0]) &&
		       !wtl_text_starts(clean, escapes[i].text))
			i++;
		if (i < sizeof(escapes) / sizeof(escapes[0])) {
			wtl_buf_puts(buf, escapes[i].xml);
			clean += strlen(escapes[i].text);
		} else {
			wtl_buf_putc(buf, *clean++);
		}
	}
	return buf->error;
}

int wtl_format_word(struct wtl_buf *buf, const char *word)
{
	if (is_plain(word))
		wtl_buf_puts(buf, word);
	else
		put_quoted(buf, word);
	return buf->error;
}

int wtl_format_command(struct wtl_buf *buf, char *const command[])
{
	for (size_t i = 0; command && command[i]; i++) {
		if (i > 0)
			wtl_buf_putc(buf, ' ');
		wtl_format_word(buf, command[i]);
	}
	return buf->error;
}
