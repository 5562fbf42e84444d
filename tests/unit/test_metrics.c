/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/text.h"
#include "serve/accept.h"
#include "serve/live.h"
#include "serve/metrics.h"
#include "unit.h"

enum { ROOM = 8 << 20, ALL = 63 };

/* A machine of two domains, whose total is the first, with two users. */
static void fill(struct wtl_live *live)
{
	const struct wtl_live counts = {
		.n_domains = 2, .n_groups = 4, .n_misses = 3, .n_processes = 2, .n_gpus = 1};

	memset(live, 0, sizeof(*live));
	assert_int_equal(wtl_live_reserve(live, &counts), 0);
	memset(live->domains, 0, 2 * sizeof(*live->domains));
	memset(live->misses, 0, 3 * sizeof(*live->misses));
	memset(live->processes, 0, 2 * sizeof(*live->processes));
	memset(live->gpus, 0, sizeof(*live->gpus));
	memset(live->group_energies, 0, 4 * 2 * 3 * sizeof(uint64_t));
	wtl_text_copy(live->domains[0].name, WTL_NAME_SIZE, "package-0");
	wtl_text_copy(live->domains[1].name, WTL_NAME_SIZE, "gpu-0");
	live->domains[1].kind = WATTLE_KIND_GPU;
	live->domains[0].in_total = live->domains[0].has_energy = live->domains[0].has_power = true;
	live->domains[0].energy_uj = 1249999;
	live->domains[0].power_uw = 62500;
	live->domains[0].power_uncertainty_uw = 1;
	live->domains[0].accounts_uj[WTL_TOTALS_PROCESSES] = 1249999;
	wtl_text_copy(live->domains[1].reason, sizeof(live->domains[1].reason), "it sleeps");
	for (size_t i = 0; i < 4; i++) {
		live->groups[i].name[0] = '\0';
		live->groups[i].by = i == 2; /* of units there is no name */
		live->groups[i].power_uw = 0;
	}
	wtl_text_copy(live->groups[1].name, WTL_TOTALS_NAME_SIZE, "ann");
	live->groups[0].energy_uj[WTL_TOTALS_DYNAMIC] = 124999;
	live->groups[1].energy_uj[WTL_TOTALS_DYNAMIC] = 1125000;
	live->groups[1].power_uw = 3000000;
	live->groups[2].energy_uj[WTL_TOTALS_DYNAMIC] = 1249999;
	wtl_text_copy(live->groups[3].name, WTL_TOTALS_NAME_SIZE, WTL_TOTALS_RETIRED);
	live->groups[3].energy_uj[WTL_TOTALS_IDLE_PART] = 250000;
	live->energy_uj = 1249999;
	live->power_uw = 62500;
	live->has_power = true;
}

static char *text_of(const struct wtl_live *live, unsigned sets, bool is_open)
{
	struct wtl_buf buf;

	wtl_buf_init(&buf, ROOM);
	wtl_metrics_write(live, sets, is_open, &buf);
	assert_int_equal(buf.error, 0);
	assert_int_equal(strlen(buf.data), buf.len);
	return buf.data;
}

static void assert_has(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("'%s' is not in:\n%s", part, text);
}

static void assert_lacks(const char *text, const char *part)
{
	if (strstr(text, part))
		fail_msg("'%s' is in:\n%s", part, text);
}

static void test_text(void **state)
{
	struct wtl_live live;
	char *text;

	(void)state;
	fill(&live);
	text = text_of(&live, 0, false);
	assert_int_equal(
		strncmp(text,
			"# HELP wattle_host_energy_joules_total Energy of the machine: the "
			"sum of the domains in its total, over restarts\n"
			"# TYPE wattle_host_energy_joules_total counter\n"
			"wattle_host_energy_joules_total 1.125\n",
			190),
		0);
	/* Counters are rounded down, gauges to the nearest, uncertainties up. */
	assert_has(text, "\nwattle_host_power_watts 0.125\n");
	assert_has(text, "\nwattle_domain_power_uncertainty_watts{domain=\"package-0\","
			 "kind=\"cpu\"} 0.125\n");
	/* What is unknown is not there. */
	assert_lacks(text, "wattle_domain_energy_joules_total{domain=\"gpu-0\"");
	assert_lacks(text, "wattle_domain_idle_watts");
	assert_lacks(text, "account=\"idle\"");
	assert_lacks(text, "wattle_gpu_use_ratio");
	assert_lacks(text, "wattle_process_");
	assert_lacks(text, "kepler");
	assert_lacks(text, "# EOF");
	assert_lacks(text, "# UNIT");
	/* Groups: what is less than an eighth of a joule, or all without a name, is not there. */
	assert_has(text, "\nwattle_user_energy_joules_total{user=\"ann\",domain=\"package-0\",part="
			 "\"dynamic\"} 1.125\n# HELP wattle_user_power");
	assert_has(text, "\nwattle_user_power_watts{user=\"ann\"} 3\n#");
	assert_lacks(text, "wattle_unit_");
	/* What was used long ago is no counter. */
	assert_has(text, "# TYPE wattle_retired_energy_joules gauge\nwattle_retired_energy_joules{"
			 "grouping=\"user\",domain=\"package-0\",part=\"idle\"} 0.25\n#");
	assert_lacks(text, "\"__retired__\"");
	free(text);
	wtl_live_done(&live);
}

static void test_open_metrics(void **state)
{
	struct wtl_live live;
	char *text;

	(void)state;
	fill(&live);
	text = text_of(&live, 0, true);
	assert_has(text, "# TYPE wattle_host_energy_joules counter\n"
			 "# UNIT wattle_host_energy_joules joules\n"
			 "wattle_host_energy_joules_total 1.125\n");
	assert_has(text, "# TYPE wattle_build info\nwattle_build_info{version=\"\"} 1\n");
	assert_string_equal(text + strlen(text) - 7, "\n# EOF\n");
	free(text);
	/* There, a counter's samples end in _total; theirs do not. */
	live.energy_uj = 2000000;
	text = text_of(&live, WTL_METRICS_SCAPHANDRE, true);
	assert_has(text, "# TYPE scaph_host_energy_microjoules unknown\n");
	assert_has(text, "\nscaph_host_energy_microjoules 2000000\n");
	free(text);
	wtl_live_done(&live);
}

static const struct wtl_metrics_family *const tables[] = {
	wtl_metrics_families, wtl_metrics_push_families, wtl_metrics_compat_families};

/* A family's unit is the end of its name. */
static void test_units(void **state)
{
	static const struct {
		const char *name, *unit;
	} families[] = {{"wattle_host_energy_joules_total", "joules"},
			{"wattle_carbon_intensity_grams_per_joule", "grams_per_joule"},
			{"wattle_gpu_use_ratio", "ratio"},
			{"scaph_host_energy_microjoules", "microjoules"},
			{"wattle_push_dropped_rows_total", ""},
			{"wattle_processes", ""},
			{"seconds", ""},
			{"DCGM_FI_DEV_GPU_TEMP", ""}};

	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(families); i++) {
		const struct wtl_metrics_family family = {.name = families[i].name};

		assert_string_equal(wtl_metrics_unit(&family), families[i].unit);
	}
}

/* A name is there once. */
static void test_names(void **state)
{
	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(tables); i++)
		for (const struct wtl_metrics_family *family = tables[i]; family->name; family++) {
			if (tables[i] != wtl_metrics_compat_families)
				assert_true(wtl_text_starts(family->name, "wattle_"));
			for (const struct wtl_metrics_family *other = tables[i]; other != family;
			     other++)
				assert_string_not_equal(other->name, family->name);
		}
}

/* ---- Names from outside ---- */

/* One line of a scrape: a comment, or a name, labels whose values are closed, a blank and a number. */
static void check_line(const char *line, size_t len)
{
	size_t at = strcspn(line, "{ ");
	bool in_value = false;

	assert_true(wtl_text_is_clean(line, len));
	if (line[0] == '#')
		return;
	if (line[at] == '{')
		for (at++; in_value || line[at] != '}'; at++) {
			assert_true(at < len);
			if (in_value && line[at] == '\\') {
				at++;
				assert_true(line[at] == '\\' || line[at] == '"');
			} else if (line[at] == '"') {
				in_value = !in_value;
			}
		}
	at += line[at] == '}';
	assert_int_equal(line[at], ' ');
	assert_int_equal(strspn(line + at + 1, "-.0123456789"), len - at - 1);
}

static void check_lines(const char *text)
{
	while (*text) {
		size_t len = strcspn(text, "\n");

		assert_int_equal(text[len], '\n');
		check_line(text, len);
		text += len + 1;
	}
}

/* Bytes that are no text, in every text that comes from outside. */
static void make_hostile(char *text, size_t size)
{
	static const char alphabet[] = "\"\\\n\r\t{}= #,\x01\x7f\x80\xc3\xff\xe2\x80\xae"
				       "a0";

	for (size_t i = 0; i < size - 1; i++)
		text[i] = alphabet[(size_t)rand() % (sizeof(alphabet) - 1)];
	text[size - 1] = '\0';
}

#define MAKE_HOSTILE(text) make_hostile(text, sizeof(text))

static void test_hostile(void **state)
{
	struct wtl_live live;

	(void)state;
	srand(1);
	for (int run = 0; run < 200; run++) {
		char *text;

		fill(&live);
		for (size_t i = 0; i < 2; i++) {
			MAKE_HOSTILE(live.domains[i].name);
			MAKE_HOSTILE(live.domains[i].inside);
			MAKE_HOSTILE(live.domains[i].device);
			MAKE_HOSTILE(live.domains[i].source);
			MAKE_HOSTILE(live.domains[i].uuid);
			MAKE_HOSTILE(live.domains[i].reason);
			MAKE_HOSTILE(live.processes[i].name);
			MAKE_HOSTILE(live.processes[i].user);
			live.processes[i].pid = live.processes[i].is_running = i + 1;
			MAKE_HOSTILE(live.misses[i].reason);
			MAKE_HOSTILE(live.misses[i].source);
			MAKE_HOSTILE(live.groups[i].name);
			live.groups[i].by = (uint8_t)(rand() % WTL_TOTALS_GROUPINGS);
		}
		MAKE_HOSTILE(live.gpus[0].name);
		MAKE_HOSTILE(live.gpus[0].uuid);
		MAKE_HOSTILE(live.host);
		MAKE_HOSTILE(live.version);
		MAKE_HOSTILE(live.location);
		MAKE_HOSTILE(live.dataset);
		text = text_of(&live, ALL, run % 2);
		check_lines(text);
		free(text);
		wtl_live_done(&live);
	}
}

/* Escapes as the formats have them; text that is long is not cut in the middle of a character. */
static void test_escapes(void **state)
{
	struct wtl_live live;
	char *text;

	(void)state;
	fill(&live);
	wtl_text_copy(live.groups[1].name, WTL_TOTALS_NAME_SIZE,
		      "a\"b\\c\nd\xff"
		      "é");
	text = text_of(&live, 0, false);
	assert_has(text, "{user=\"a\\\"b\\\\c?d?é\"} 3\n");
	free(text);
	wtl_live_done(&live);
}

/* The same reason twice is one series. */
static void test_sources(void **state)
{
	struct wtl_live live;
	char *text, *second;

	(void)state;
	fill(&live);
	for (size_t i = 0; i < 3; i++) {
		wtl_text_copy(live.misses[i].source, sizeof(live.misses[i].source), "nvml");
		wtl_text_copy(live.misses[i].reason, sizeof(live.misses[i].reason),
			      i == 2 ? "b" : "a");
	}
	text = text_of(&live, 0, false);
	assert_has(text, "{source=\"\",domain=\"package-0\",reason=\"\"} 1\n");
	assert_has(text, "{source=\"\",domain=\"gpu-0\",reason=\"it sleeps\"} 0\n");
	assert_has(text, "{source=\"nvml\",domain=\"\",reason=\"b\"} 0\n");
	second = strstr(text, "reason=\"a\"");
	assert_non_null(second);
	assert_null(strstr(second + 1, "reason=\"a\""));
	free(text);
	wtl_live_done(&live);
}

/* ---- Numbers ---- */

static void test_numbers(void **state)
{
	const struct wtl_metrics_family family = {.name = "x"};
	struct wtl_buf buf;
	struct wtl_metrics_writer writer = {.buf = &buf, .family = &family};

	(void)state;
	wtl_buf_init(&buf, 4096);
	for (unsigned i = 0; i < 9; i++) {
		wtl_metrics_begin(&writer);
		wtl_metrics_eighths(&writer, i * UINT64_C(125000), WTL_METRICS_DOWN);
	}
	wtl_metrics_begin(&writer);
	wtl_metrics_eighths(&writer, UINT64_MAX, WTL_METRICS_UP);
	wtl_metrics_begin(&writer);
	wtl_metrics_decimal(&writer, 0, 3);
	wtl_metrics_begin(&writer);
	wtl_metrics_decimal(&writer, 1005, 3);
	wtl_metrics_begin(&writer);
	wtl_metrics_decimal(&writer, 1, 18);
	wtl_metrics_begin(&writer);
	wtl_metrics_decimal(&writer, 1500000, 6);
	wtl_metrics_begin(&writer);
	wtl_metrics_decimal(&writer, UINT64_MAX, 0);
	wtl_metrics_begin(&writer);
	wtl_metrics_signed(&writer, INT64_MIN);
	wtl_metrics_begin(&writer);
	wtl_metrics_label_number(&writer, "pid", 7);
	wtl_metrics_number(&writer, 20);
	assert_string_equal(wtl_buf_str(&buf),
			    "x 0\nx 0.125\nx 0.25\nx 0.375\nx 0.5\nx 0.625\nx 0.75\nx 0.875\nx 1\n"
			    "x 18446744073709.625\nx 0\nx 1.005\nx 0.000000000000000001\nx 1.5\n"
			    "x 18446744073709551615\nx -9223372036854775808\nx{pid=\"7\"} 20\n");
	wtl_buf_done(&buf);
}

/* Very many processes take no room from anybody else. */
static void test_room(void **state)
{
	const struct wtl_live counts = {.n_domains = 0, .n_processes = 65536};
	struct wtl_live live = {.number = 0};
	char *text;

	(void)state;
	assert_int_equal(wtl_live_reserve(&live, &counts), 0);
	for (size_t i = 0; i < live.n_processes; i++)
		live.processes[i] =
			(struct wtl_live_process){.pid = (int)i + 1,
						  .is_running = i != 7,
						  .name = "\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"",
						  .user = "a user with a long name"};
	text = text_of(&live, ALL, true);
	assert_has(text, "wattle_process_energy_joules_total{pid=\"1\"");
	assert_lacks(text, "{pid=\"8\"");
	assert_has(text, "wattle_build_info");
	assert_has(text, "# EOF\n");
	free(text);
	wtl_live_done(&live);
}

/* ---- What a request wants ---- */

static void test_accept(void **state)
{
	static const struct {
		const char *header;
		bool is_open;
	} cases[] = {
		{NULL, false},
		{"", false},
		{"*/*", false},
		{"text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", false},
		{"application/openmetrics-text;version=1.0.0,application/openmetrics-text;version="
		 "0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
		 true},
		{"application/openmetrics-text; version=1.0.0; charset=utf-8", true},
		{"application/openmetrics-text", true},
		{"APPLICATION/OpenMetrics-Text ; Version=\"1.0.0\" ; Q=0.5", true},
		{"application/openmetrics-text;version=0.0.1,text/plain;q=0.5", false},
		{"application/openmetrics-text;version=2.0.0,*/*;q=0.1", false},
		{"application/openmetrics-text;q=0", false},
		{"application/openmetrics-text;q=0.4,text/plain;version=0.0.4", false},
		{"application/openmetrics-text;q=0.4,text/*;q=0.5", false},
		{"application/openmetrics-text;q=2", false},
		{"application/openmetrics-text;q=x", false},
		{"application/openmetrics-text;q", false},
		{"application/openmetrics-textual", false},
		{",,;;=,q=1,;q=,\"", false},
	};

	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(cases); i++)
		if (wtl_metrics_wants_open(cases[i].header) != cases[i].is_open)
			fail_msg("%s", cases[i].header);
	assert_int_equal(wtl_accept_quality("gzip;q=0.25, br", "gzip", NULL), 250);
	assert_int_equal(wtl_accept_quality("gzip;q=0.25, br", "br", NULL), 1000);
	assert_int_equal(wtl_accept_quality("gzip;q=0.25, br", "zstd", NULL), 0);
}

/* ---- The documents ---- */

static void make_row(const struct wtl_metrics_family *family, struct wtl_buf *row)
{
	static const char *const types[] = {[WTL_METRICS_GAUGE] = "gauge",
					    [WTL_METRICS_COUNTER] = "counter",
					    [WTL_METRICS_INFO] = "info"};

	wtl_buf_clear(row);
	wtl_buf_printf(row, "| `%s` | %s | %s | %s |\n", family->name, types[family->type],
		       family->labels, family->help);
}

/* docs/metrics.md has a row for each family, and no other. */
static void test_documents(void **state)
{
	const char *root = getenv("WATTLE_SOURCE_ROOT");
	unsigned lacking = 0, n = 0;
	struct wtl_buf row;
	char *page;

	(void)state;
	assert_non_null(root);
	page = unit_read(root, "docs/metrics.md");
	assert_non_null(page);
	wtl_buf_init(&row, 4096);
	for (size_t i = 0; i < UNIT_COUNT(tables); i++)
		for (const struct wtl_metrics_family *family = tables[i]; family->name; family++) {
			make_row(family, &row);
			n++;
			if (strstr(page, wtl_buf_str(&row)))
				continue;
			fprintf(stderr, "%s", wtl_buf_str(&row));
			lacking++;
		}
	if (lacking > 0)
		fail_msg("docs/metrics.md lacks the %u rows above", lacking);
	for (const char *at = page; (at = strstr(at, "\n| `")); at++)
		n--;
	assert_int_equal(n, 0);
	wtl_buf_done(&row);
	free(page);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text),	  cmocka_unit_test(test_open_metrics),
		cmocka_unit_test(test_units),	  cmocka_unit_test(test_names),
		cmocka_unit_test(test_hostile),	  cmocka_unit_test(test_escapes),
		cmocka_unit_test(test_sources),	  cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_room),	  cmocka_unit_test(test_accept),
		cmocka_unit_test(test_documents),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
