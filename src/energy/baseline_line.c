/* SPDX-License-Identifier: MIT */
#include "energy/baseline.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/date.h"
#include "base/err.h"
#include "base/num.h"
#include "energy/units.h"

/* More than any machine draws: a larger number in a line is not a power of ours. */
#define POWER_MAX_UW (UINT64_C(1000) * 1000 * 1000000)

enum { NAME_SIZE = 32, N_FIELDS = 6, TIME_LEN = 20 };

struct field {
	const char *text;
	size_t len;
};

static bool is_word(const char *text, size_t len)
{
	if (len < 1 || len >= NAME_SIZE)
		return false;
	for (size_t i = 0; i < len; i++)
		if (text[i] <= ' ' || text[i] > '~')
			return false;
	return true;
}

int wtl_baseline_print(char line[WTL_BASELINE_LINE_MAX], const char *domain, const char *source,
		       const struct wtl_baseline *baseline)
{
	struct wtl_date date;

	if (!is_word(domain, strlen(domain)) || !is_word(source, strlen(source)) ||
	    baseline->idle_uw > POWER_MAX_UW || baseline->uncertainty_uw > POWER_MAX_UW ||
	    baseline->t_utc_ns < 0 || baseline->seen_ns < 0)
		return -EINVAL;
	date = wtl_date_of(baseline->t_utc_ns);
	if (!wtl_date_is_valid(&date))
		return -EINVAL;
	return snprintf(
		line, WTL_BASELINE_LINE_MAX,
		"%s %s %" PRIu64 " %" PRIu64 " %04u-%02u-%02uT%02u:%02u:%02uZ %" PRId64 "\n",
		domain, source, baseline->idle_uw, baseline->uncertainty_uw, date.year, date.month,
		date.day, date.hour, date.minute, date.second, baseline->seen_ns);
}

/* Fields lie between single blanks. */
static bool split(const char *line, size_t len, struct field fields[N_FIELDS])
{
	size_t n = 0, start = 0;

	for (size_t i = 0; i <= len; i++) {
		if (i < len && line[i] != ' ')
			continue;
		if (n == N_FIELDS || !is_word(line + start, i - start))
			return false;
		fields[n++] = (struct field){line + start, i - start};
		start = i + 1;
	}
	return n == N_FIELDS;
}

/* As it is printed, and in no other form. */
static bool parse_time(struct field field, int64_t *ret_t_utc_ns)
{
	struct wtl_date_text date;

	if (field.len != TIME_LEN || field.text[TIME_LEN - 1] != 'Z' ||
	    wtl_date_parse(field.text, field.len, &date) < 0)
		return false;
	*ret_t_utc_ns = wtl_date_utc_ns(&date.date);
	return true;
}

static bool parse_number(struct field field, uint64_t max, uint64_t *ret)
{
	return wtl_num_u64(field.text, field.len, ret) == 0 && *ret <= max;
}

static void copy_word(char to[NAME_SIZE], struct field field)
{
	memcpy(to, field.text, field.len);
	to[field.len] = '\0';
}

int wtl_baseline_parse(const char *line, size_t len, char domain[32], char source[32],
		       struct wtl_baseline *ret_baseline)
{
	struct wtl_baseline baseline = {.is_known = true};
	struct field fields[N_FIELDS];
	uint64_t seen_ns;

	if (len > 0 && line[len - 1] == '\n')
		len--;
	if (!split(line, len, fields) ||
	    !parse_number(fields[2], POWER_MAX_UW, &baseline.idle_uw) ||
	    !parse_number(fields[3], POWER_MAX_UW, &baseline.uncertainty_uw) ||
	    !parse_time(fields[4], &baseline.t_utc_ns) ||
	    !parse_number(fields[5], INT64_MAX, &seen_ns))
		return -WTL_EFORMAT;
	baseline.seen_ns = (int64_t)seen_ns;
	copy_word(domain, fields[0]);
	copy_word(source, fields[1]);
	*ret_baseline = baseline;
	return 0;
}
