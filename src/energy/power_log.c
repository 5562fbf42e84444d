/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "base/date.h"
#include "base/err.h"
#include "base/num.h"
#include "base/text.h"
#include "energy/calibration.h"
#include "energy/units.h"

struct word {
	const char *text;
	size_t len;
};

/* Up to a comma or the end, without blanks around it. */
static struct word next_word(struct word *line)
{
	const char *comma = memchr(line->text, ',', line->len);
	struct word word = {line->text, comma ? (size_t)(comma - line->text) : line->len};
	size_t used = word.len + (comma ? 1 : 0);

	line->text += used;
	line->len -= used;
	word.len = wtl_text_trimmed(word.text, word.len);
	while (word.len > 0 && (*word.text == ' ' || *word.text == '\t')) {
		word.text++;
		word.len--;
	}
	return word;
}

/* A number since 1970 tells its unit by its size: 1e8 s is in 1973, and 1e11 s is after 5000. */
static bool parse_time(struct word word, int64_t *ret_ns)
{
	static const struct {
		double least;
		int64_t ns;
	} units[] = {{1e17, 1}, {1e14, 1000}, {1e11, WTL_NS_PER_MS}, {1e8, WTL_NS_PER_S}};
	struct wtl_date_text date;
	double value;

	if (wtl_date_parse(word.text, word.len, &date) == 0) {
		*ret_ns = wtl_date_utc_ns(&date.date) - date.zone_s * WTL_NS_PER_S;
		return true;
	}
	if (wtl_num_double(word.text, word.len, &value) < 0)
		return false;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (value >= units[i].least && value < 9e18 / (double)units[i].ns) {
			double whole = floor(value);

			*ret_ns = (int64_t)whole * units[i].ns +
				  (int64_t)((value - whole) * (double)units[i].ns);
			return true;
		}
	return false;
}

static bool parse_line(struct word line, struct wtl_power_point *ret)
{
	struct word time = next_word(&line), watts = next_word(&line);

	return parse_time(time, &ret->t_ns) &&
	       wtl_num_double(watts.text, watts.len, &ret->power_w) == 0 &&
	       fabs(ret->power_w) <= 1e9;
}

static bool is_passed_over(struct word line, size_t number)
{
	return line.len == 0 || line.text[0] == '#' ||
	       (number == 1 && !(line.text[0] >= '0' && line.text[0] <= '9'));
}

int wtl_power_log_parse(struct wtl_power_log *ret_log, const char *text, size_t len,
			size_t *ret_bad, struct wtl_err *err)
{
	struct wtl_power_log log = {.n = 0};
	size_t number = 0, bad = 0, first_bad = 0;
	const char *end = text + len;
	int rc = 0;

	/* A byte order mark, as spreadsheets write it. */
	if (len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
		text += 3;
	while (rc == 0 && text < end) {
		const char *stop = memchr(text, '\n', (size_t)(end - text));
		struct word line = {text, (size_t)((stop ? stop : end) - text)};
		struct wtl_power_point point;

		number++;
		line.len = wtl_text_trimmed(line.text, line.len);
		if (is_passed_over(line, number)) {
		} else if (stop && parse_line(line, &point)) {
			rc = wtl_power_log_add(&log, point.t_ns, point.power_w);
		} else if (bad++ == 0) {
			first_bad = number;
		}
		text = stop ? stop + 1 : end;
	}
	if (rc < 0)
		rc = wtl_err_set(err, -rc, "wattmeter", NULL, "%s", wtl_err_text(rc));
	else if (log.n == 0 || bad > log.n)
		rc = wtl_err_set(err, WTL_EFORMAT, "wattmeter", NULL,
				 "line %zu: a time, a comma and watts are wanted", first_bad);
	if (rc < 0) {
		wtl_power_log_done(&log);
		return rc;
	}
	*ret_log = log;
	*ret_bad = bad;
	return 0;
}
