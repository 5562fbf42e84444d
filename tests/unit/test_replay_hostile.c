/* SPDX-License-Identifier: MIT */
/*
 * A recording as it is written, in tests/golden/recording.rows.txt; and with one value changed, with checksums that fit:
 * every column of every table, and every series, takes values that no recorder writes. tests/golden/hostile.*.txt says
 * what a reader makes of each.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sqlite3.h>

#include "base/buf.h"
#include "golden.h"
#include "meter/meter.h"
#include "meter/observer.h"
#include "record/code.h"
#include "record/crc.h"
#include "record/reader.h"
#include "record/writer.h"
#include "replay/history.h"
#include "replay/series.h"
#include "replay_bench.h"
#include "unit.h"

enum { TEXT_MAX = 1 << 20, FIELDS = 40, WORD = 96, WORDS = 12 };

/* ---- What a reader makes of it ---- */

/* Each figure has a name; only those are printed that are not what they were. */
struct outcome {
	bool complains; /* it cannot be read, or something is said to be missing */
	size_t n;
	struct figure {
		const char *name;
		int64_t value;
	} figures[FIELDS];
};

/* Hostile values wrap. */
static void add(struct outcome *outcome, const char *name, uint64_t value)
{
	assert_true(outcome->n < FIELDS);
	outcome->figures[outcome->n++] = (struct figure){name, (int64_t)value};
}

static void add_windows(struct outcome *outcome, const struct wtl_history *history)
{
	uint64_t main_uj = UINT64_MAX, sum_uj = 0, sum_ns = 0, utc_ns = 0, pids = 0, has_energy = 0;

	for (size_t i = 0; i < history->n_ended; i++) {
		const struct wtl_history_window *window = &history->windows[i];

		if (window->is_main)
			main_uj = (uint64_t)window->window.total.energy_uj;
		for (size_t k = 0; k < history->n_domains; k++) {
			sum_uj += (uint64_t)window->energies[k].energy_uj;
			has_energy += window->energies[k].has_energy;
		}
		sum_ns += window->window.duration_ns;
		utc_ns += window->window.begin_utc_ns - history->begin_utc_ns;
		pids += window->pid + 1000 * window->is_cut;
	}
	add(outcome, "main_uj", main_uj);
	add(outcome, "windows", (uint64_t)history->n_ended);
	add(outcome, "open", (uint64_t)(history->n_windows - history->n_ended));
	add(outcome, "windows_uj", sum_uj);
	add(outcome, "windows_ns", sum_ns);
	add(outcome, "windows_utc", utc_ns);
	add(outcome, "windows_pid", pids);
	add(outcome, "windows_has", has_energy);
}

/* Each consumer's figures count by its slot, so that one is not as good as another. */
static void add_consumers(struct outcome *outcome, const struct wtl_consumers *consumers)
{
	uint64_t n = 0, cpu_ns = 0, full_uj = 0, by_slot = 0, words = 0, numbers = 0;

	for (size_t slot = 0; slot < wtl_consumers_slots(consumers); slot++) {
		const struct wtl_consumer *one = wtl_consumers_get(consumers, slot);
		struct wtl_share_energy energy;
		uint64_t sum;

		if (!one)
			continue;
		wtl_consumers_energy(consumers, slot, WTL_PART_ALL, &energy);
		n++;
		cpu_ns += one->cpu_ns;
		full_uj += (uint64_t)energy.full_uj;
		by_slot += (uint64_t)((slot + 1) * (energy.full_uj + energy.dynamic_uj));
		words += (uint64_t)(strlen(one->name) + (one->command ? strlen(one->command) : 0) +
				    (one->group ? strlen(one->group->cgroup) : 1000));
		sum = (uint64_t)one->pid + (uint64_t)one->parent + one->state + one->is_in_tree +
		      one->is_readable + one->uid + one->n_threads + one->n_processes +
		      one->cpu_ppm + one->gpu_ppm + (uint64_t)one->cpu_ns +
		      (uint64_t)one->counted_ns + (uint64_t)one->start_ns + one->rss_bytes +
		      one->pss_bytes + one->uss_bytes + one->gpu_memory_bytes;
		numbers += (uint64_t)((slot + 1) * sum);
	}
	add(outcome, "consumers", n);
	add(outcome, "cpu_ns", cpu_ns);
	add(outcome, "full_uj", full_uj);
	add(outcome, "by_slot", by_slot);
	add(outcome, "words", words);
	add(outcome, "numbers", numbers);
}

/* What everybody had after each bill, and how busy they were then. */
static uint64_t shares_of(const struct wtl_consumers *consumers)
{
	uint64_t sum = 0;

	for (size_t slot = 0; slot < wtl_consumers_slots(consumers); slot++) {
		const struct wtl_consumer *one = wtl_consumers_get(consumers, slot);
		struct wtl_share share = wtl_consumers_share(consumers, (uint32_t)slot, 0);

		sum += (uint64_t)((slot + 1) * (share.full_uj + (one ? one->cpu_ppm : 0)));
	}
	return sum;
}

static void add_domains(struct outcome *outcome, const struct wtl_history *history)
{
	uint64_t statuses = 0, words = 0, idle_uw = 0, unattributed_uj = 0, kernel_uj = 0;
	const struct wattle_energy *energies;
	struct wattle_window window;
	bool was_billed = wtl_player_billed(history->player, &window, &energies);

	for (size_t i = 0; i < history->n_domains; i++) {
		struct wattle_domain domain = {.size = sizeof(domain)};
		struct wtl_baseline idle;
		struct wtl_ledger ledger;

		wattle_meter_domain(history->meter, i, &domain);
		wtl_consumers_baseline(history->consumers, i, &idle);
		wtl_consumers_ledger(history->consumers, i, &ledger);
		assert_true(wtl_ledger_closed(&ledger));
		/* What is told as billed is what the accounts hold. */
		if (was_billed && energies[i].has_energy)
			assert_int_equal(ledger.total_uj, energies[i].energy_uj);
		statuses += domain.status + 16 * domain.kind + 256 * domain.method +
			    4096 * domain.in_total;
		words += (uint64_t)(strlen(domain.name) +
				    strlen(domain.source ? domain.source : "") +
				    strlen(domain.reason ? domain.reason : "") +
				    strlen(domain.device ? domain.device : "") +
				    strlen(domain.inside ? domain.inside : ""));
		idle_uw += (uint64_t)idle.idle_uw + domain.update_ns;
		unattributed_uj += (uint64_t)ledger.unattributed_uj;
		kernel_uj += (uint64_t)ledger.kernel_uj;
	}
	add(outcome, "domains", (uint64_t)history->n_domains);
	add(outcome, "domain_status", statuses);
	add(outcome, "domain_words", words);
	add(outcome, "domain_idle", idle_uw);
	add(outcome, "unattributed_uj", unattributed_uj);
	add(outcome, "kernel_uj", kernel_uj);
	add(outcome, "cpus",
	    history->meter->machine.n_cpus + 100 * history->meter->machine.is_vm +
		    1000 * history->meter->machine.n_packages);
	add(outcome, "memory", (uint64_t)history->meter->machine.memory_bytes);
}

static void add_gaps(struct outcome *outcome, struct wtl_history *history)
{
	uint64_t sum_ns = 0, kinds = 0, words = 0;

	add(outcome, "read_gaps", wtl_history_read_gaps(history));
	for (size_t i = 0; i < history->n_gaps; i++) {
		const struct wtl_stored_gap *gap = &history->gaps[i];

		sum_ns += gap->duration_ns + gap->begin_mono_ns - history->begin_mono_ns;
		kinds = 10 * kinds + gap->kind;
		words += (uint64_t)(strlen(gap->subject) + strlen(gap->text));
	}
	add(outcome, "gaps", kinds);
	add(outcome, "gaps_ns", sum_ns);
	add(outcome, "gap_words", words);
}

static void add_end(struct outcome *outcome, struct wtl_history *history)
{
	add(outcome, "lost", (uint64_t)history->n_lost);
	add(outcome, "span", wtl_history_span_ns(history));
	add_gaps(outcome, history);
	add_windows(outcome, history);
	add_domains(outcome, history);
	add_consumers(outcome, history->consumers);
}

static void play(const char *path, struct outcome *outcome)
{
	const struct wtl_history_options options = {.keeps_windows = true};
	struct wtl_history *history = NULL;
	struct wtl_played played;
	uint64_t steps = 0, times = 0, beside = 0, shares = 0;
	int rc = wtl_history_open(path, &options, &history, NULL);

	add(outcome, "opened", rc);
	outcome->complains = rc < 0;
	if (rc < 0)
		return;
	while ((rc = wtl_history_step(history, &played, NULL)) > 0) {
		steps++;
		times += played.t_utc_ns - history->begin_utc_ns + played.scanned_ns % S;
		beside += played.self_rss_bytes;
		for (size_t i = 0; i < played.n_devices; i++)
			beside += played.devices[i].value;
		if (played.kind == WTL_PLAYED_BILLED)
			shares += shares_of(history->consumers);
	}
	add(outcome, "end", rc);
	add(outcome, "steps", steps);
	add(outcome, "times", times);
	add(outcome, "beside", beside);
	add(outcome, "shares", shares);
	add_end(outcome, history);
	outcome->complains = rc < 0 || wtl_history_is_damaged(history);
	wtl_history_close(history);
}

static void summarize(const char *path, struct outcome *outcome)
{
	const struct wtl_history_options options = {.keeps_windows = true, .may_summarize = true};
	struct wtl_history *history = NULL;
	int rc = wtl_history_open(path, &options, &history, NULL);

	add(outcome, "summary", rc < 0 ? rc : history->is_summary);
	if (rc == 0 && history->is_summary)
		add_end(outcome, history);
	/* Without one, a report plays it, as play() does. */
	outcome->complains = rc < 0 || wtl_history_is_damaged(history);
	wtl_history_close(history);
}

static void count_line(void *context, const char *text)
{
	(void)text;
	++*(int64_t *)context;
}

enum { OUTCOMES = 3 };

static void check_only(const char *path, struct outcome outcomes[OUTCOMES])
{
	int64_t n_lines = 0;
	int rc = wtl_history_check(path, count_line, &n_lines, NULL);

	memset(outcomes, 0, OUTCOMES * sizeof(*outcomes));
	outcomes[0].complains = rc != 0;
	add(&outcomes[0], "check", rc);
	add(&outcomes[0], "check_lines", n_lines);
}

static void read_outcomes(const char *path, struct outcome outcomes[OUTCOMES])
{
	check_only(path, outcomes);
	play(path, &outcomes[1]);
	summarize(path, &outcomes[2]);
	outcomes[2].complains |= outcomes[2].figures[0].value == 0 && outcomes[1].complains;
}

/*
 * What a report complains of, `report --check` finds. And the other way round, but that a report from the summary has not
 * read the series.
 */
static void check_agreement(const struct outcome outcomes[OUTCOMES], const char *name,
			    const char *value, bool is_played)
{
	bool finds = outcomes[0].complains, plays = outcomes[1].complains,
	     reports = outcomes[2].complains;

	if ((plays || reports) && !finds)
		fail_msg("%s = %s: a report complains, and --check finds nothing", name, value);
	if (finds && !(is_played ? plays : reports))
		fail_msg("%s = %s: --check finds it, and a report says nothing", name, value);
}

/* ---- Changing it ---- */

struct hostile {
	struct replay_bench f;
	struct outcome sound[OUTCOMES];
	char *bytes, *copy; /* of the file, and the name of what is changed */
	size_t n_bytes;
	struct wtl_buf text; /* the golden file */
	bool is_played;	     /* what is changed shows only where it is played */
	bool is_bounds;	     /* many values that differ only in their size */
	int period;	     /* whose values are changed, from 1 on */
	unsigned n_changes;  /* so far, where not all are tried */
};

/*
 * With the address sanitizer each fifth change is tried, and not the same ones of each column and series: it looks for its
 * own errors. What comes of each change, the build without it compares.
 */
static bool is_tried(struct hostile *h)
{
	return !UNIT_SANITIZED || h->n_changes++ % (h->is_bounds ? 11 : 5) == 0;
}

static sqlite3 *open_copy(struct hostile *h)
{
	FILE *file = fopen(h->copy, "we");
	sqlite3 *db;

	assert_non_null(file);
	assert_int_equal(fwrite(h->bytes, 1, h->n_bytes, file), h->n_bytes);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(sqlite3_open(h->copy, &db), SQLITE_OK);
	sqlite3_exec(db, "PRAGMA synchronous=OFF; PRAGMA journal_mode=OFF", NULL, NULL, NULL);
	return db;
}

/* row_sum(column, …): as record/table.h says. */
static void row_sum(sqlite3_context *context, int n, sqlite3_value **values)
{
	uint32_t sum = 0;

	for (int i = 0; i < n; i++) {
		int type = sqlite3_value_type(values[i]);
		int64_t number = type == SQLITE_INTEGER ? sqlite3_value_int64(values[i])
							: sqlite3_value_bytes(values[i]);

		if (type == SQLITE_NULL)
			sum = wtl_crc_add(sum, "", 1);
		else
			sum = wtl_crc_add(sum, &number, sizeof(number));
		if (type != SQLITE_NULL && type != SQLITE_INTEGER)
			sum = wtl_crc_add(sum, sqlite3_value_blob(values[i]), (size_t)number);
	}
	sqlite3_result_int64(context, sum);
}

static void sum_rows(sqlite3 *db, const struct wtl_table *table)
{
	struct wtl_buf sql;

	assert_int_equal(
		sqlite3_create_function(db, "row_sum", -1, SQLITE_UTF8, NULL, row_sum, NULL, NULL),
		SQLITE_OK);
	wtl_buf_init(&sql, TEXT_MAX);
	wtl_buf_printf(&sql, "UPDATE %s SET crc = row_sum(", table->name);
	for (size_t i = 0; i < table->n_fields; i++)
		wtl_buf_printf(&sql, "%s%s", i ? ", " : "", table->fields[i].name);
	wtl_buf_puts(&sql, ")");
	if (sqlite3_exec(db, wtl_buf_str(&sql), NULL, NULL, NULL) != SQLITE_OK)
		fail_msg("%s: %s", sqlite3_errmsg(db), wtl_buf_str(&sql));
	wtl_buf_done(&sql);
}

/* false: SQLite does not take it. */
static bool change(struct hostile *h, const struct wtl_table *table, const char *sql)
{
	sqlite3 *db = open_copy(h);
	bool is_done = sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK;

	if (is_done && table)
		sum_rows(db, table);
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
	return is_done;
}

/* A line for each of those that have the same outcome, with what is not as it was. */
struct lines {
	size_t n;
	struct line {
		char values[256], outcome[1024];
	} lines[WORDS];
};

static void note(struct hostile *h, struct lines *lines, const char *name, const char *value,
		 bool is_done)
{
	struct outcome outcomes[OUTCOMES];
	struct line *line = lines->lines;
	char text[sizeof(line->outcome)] = "";
	size_t len = 0;

	if (is_done) {
		read_outcomes(h->copy, outcomes);
		check_agreement(outcomes, name, value, h->is_played);
	} else {
		len = (size_t)snprintf(text, sizeof(text), " not possible");
	}
	for (size_t i = 0; is_done && i < OUTCOMES; i++)
		for (size_t k = 0; k < outcomes[i].n; k++)
			if (outcomes[i].figures[k].value != h->sound[i].figures[k].value)
				len += (size_t)snprintf(text + len, sizeof(text) - len,
							" %s=%" PRId64, outcomes[i].figures[k].name,
							outcomes[i].figures[k].value);
	assert_true(len < sizeof(text));
	while (line < &lines->lines[lines->n] && strcmp(line->outcome, text) != 0)
		line++;
	if (line == &lines->lines[lines->n])
		lines->n++;
	assert_true(lines->n <= WORDS);
	memcpy(line->outcome, text, sizeof(text));
	len = strlen(line->values);
	snprintf(line->values + len, sizeof(line->values) - len, " %s", value);
}

static void print_lines(struct hostile *h, const char *name, const struct lines *lines)
{
	wtl_buf_printf(&h->text, "%s\n", name);
	for (size_t i = 0; i < lines->n; i++)
		wtl_buf_printf(&h->text, " %s ->%s\n", lines->lines[i].values,
			       lines->lines[i].outcome[0] ? lines->lines[i].outcome : " the same");
}

/* ---- Columns ---- */

/* A dot is the value that was there. */
static const char *const numbers[] = {"NULL", "-1 << 63", "-1", ". - 1", ". + 1", "1 << 61", "'x'"};
static const char *const texts[] = {"NULL", "''",   "'x'", ". || '1'", "printf('%0300d', 0)",
				    "5",    "x'ff'"};
static const char *const blobs[] = {
	"NULL", "x''", "x'00'", ". || x'00'", "'x'", "5",
	/* four values, of which one is below 0; and a part of a block */
	"x'00040100'", "x'0004'"};

/* In one row in the middle. */
static bool change_value(struct hostile *h, const struct wtl_table *table,
			 const struct wtl_field *field, const char *value, const char *where)
{
	char keys[WORD] = "", sql[1024];

	for (size_t i = 0; i < table->n_keys; i++)
		snprintf(keys + strlen(keys), sizeof(keys) - strlen(keys), "%s%s", i ? ", " : "",
			 table->fields[i].name);
	snprintf(sql, sizeof(sql),
		 "UPDATE %s SET %s = %s%s WHERE (%s) = (SELECT %s FROM %s WHERE %s "
		 "ORDER BY %s LIMIT 1 OFFSET (SELECT count(*) / 2 FROM %s WHERE %s))",
		 table->name, field->name, value[0] == '.' ? field->name : "",
		 value + (value[0] == '.'), keys, keys, table->name, where, keys, table->name,
		 where);
	return change(h, table, sql);
}

static void change_column(struct hostile *h, const struct wtl_table *table, size_t column,
			  const char *where)
{
	const struct wtl_field *field = &table->fields[column];
	bool is_text = field->kind == WTL_FIELD_TEXT, is_blob = field->kind == WTL_FIELD_BYTES;
	const char *const *values = is_text ? texts : is_blob ? blobs : numbers;
	size_t n = is_text ? UNIT_COUNT(texts) : is_blob ? UNIT_COUNT(blobs) : UNIT_COUNT(numbers);
	char name[WORD];
	struct lines lines = {.n = 0};

	snprintf(name, sizeof(name), "%s.%s", table->name, field->name);
	for (size_t i = 0; i < n; i++)
		if (is_tried(h))
			note(h, &lines, name, values[i],
			     change_value(h, table, field, values[i], where));
	print_lines(h, name, &lines);
}

static void change_tables(struct hostile *h)
{
	const struct wtl_table *table;

	for (size_t i = 0; (table = wtl_table_at(i)); i++)
		for (size_t k = 0; k < table->n_fields; k++)
			if (table != &wtl_table_fact && table != &wtl_table_chunk)
				change_column(h, table, k,
					      table == &wtl_table_channel ? "has_class" : "1");
}

/* Numbers at the bounds of what is sound, and beyond. Printed are those that a check finds; all readers agree on the round
 * ones. They differ only in their size: with the address sanitizer each column takes one or two of them. */
static void try_bounds(struct hostile *h)
{
	static const char *const bounds[] = {"0",
					     "1",
					     "1 << 31",
					     "1 << 53",
					     "x'00'",
					     "1 << 58",
					     "1 << 60",
					     "1 << 62",
					     "~(1 << 63)",
					     "1 << 50",
					     "1 + (1 << 50)",
					     "1 + (1 << 60)",
					     "1 + (1 << 62)",
					     "4095",
					     "4096",
					     "65535",
					     "65536",
					     "65537",
					     "1 << 30",
					     "1 + (1 << 30)"};
	enum { NARROW = 5, ROUND = 9, WIDE = 13 }; /* 32 bits hold the first and the last of them */
	struct outcome outcomes[OUTCOMES];
	const struct wtl_table *table;
	char name[WORD];

	h->is_bounds = true;
	for (size_t i = 0; (table = wtl_table_at(i)); i++)
		for (size_t k = 0; k < table->n_fields; k++) {
			const struct wtl_field *field = &table->fields[k];
			bool is_wide = field->kind == WTL_FIELD_I64 || field->kind == WTL_FIELD_U64;

			if (field->kind == WTL_FIELD_TEXT || field->kind == WTL_FIELD_BYTES)
				continue;
			snprintf(name, sizeof(name), "%s.%s", table->name, field->name);
			wtl_buf_printf(&h->text, "%s:", name);
			for (size_t b = 0; b < UNIT_COUNT(bounds); b++) {
				if ((b >= NARROW && b < WIDE && !is_wide) || !is_tried(h) ||
				    !change_value(h, table, field, bounds[b],
						  table == &wtl_table_channel ? "has_class" : "1"))
					continue;
				if (b < ROUND) {
					read_outcomes(h->copy, outcomes);
					check_agreement(outcomes, name, bounds[b],
							table == &wtl_table_chunk);
				} else {
					check_only(h->copy, outcomes);
				}
				if (outcomes[0].complains)
					wtl_buf_printf(&h->text, " %s,", bounds[b]);
			}
			wtl_buf_puts(&h->text, "\n");
		}
}

static void change_parts(struct hostile *h)
{
	for (size_t k = 0; k < wtl_table_part.n_fields; k++)
		change_column(h, &wtl_table_part, k, "1");
	for (size_t k = 0; k < wtl_table_period.n_fields; k++)
		change_column(h, &wtl_table_period, k, "parts > 0");
}

static void change_facts(struct hostile *h)
{
	static const char *const facts[] = {
		"cpus",	    "packages", "memory-bytes",	   "gpus",
		"update.0", "idle.0",	"virtual-machine", "gpu.0.domain"};
	/* There may be 1 << 20 processors, or packages. */
	static const char *const values[] = {
		"", "-1", "0", "1", "x", "4", "1 x", "1048576", "1048577", "18446744073709551616"};
	char sql[256];

	h->is_played = true;
	for (size_t i = 0; i < UNIT_COUNT(facts); i++) {
		struct lines lines = {.n = 0};

		for (size_t k = 0; k < UNIT_COUNT(values); k++) {
			if (!is_tried(h))
				continue;
			snprintf(sql, sizeof(sql), "REPLACE INTO fact VALUES ('%s', '%s', 0)",
				 facts[i], values[k]);
			note(h, &lines, facts[i], values[k], change(h, &wtl_table_fact, sql));
		}
		print_lines(h, facts[i], &lines);
	}
}

/* Rows that are not there. */
static void drop_rows(struct hostile *h)
{
	const struct wtl_table *table;
	char sql[256];

	for (size_t i = 0; (table = wtl_table_at(i)); i++) {
		struct lines lines = {.n = 0};

		snprintf(sql, sizeof(sql), "DELETE FROM %s", table->name);
		note(h, &lines, table->name, "no row", change(h, table, sql));
		snprintf(sql, sizeof(sql), "DROP TABLE %s", table->name);
		note(h, &lines, table->name, "no table", change(h, NULL, sql));
		print_lines(h, table->name, &lines);
	}
}

/* ---- Series ---- */

enum { VALUES_MAX = 4096, PERIODS = 5 };

/* The period's values of a series. Returns how many. */
static size_t values_of(struct hostile *h, const char *name, int64_t *ret_series,
			int64_t own[VALUES_MAX])
{
	struct wtl_store_reader *reader;
	const int64_t *values;
	size_t n;

	assert_int_equal(wtl_store_open(h->f.path, &reader, NULL), 0);
	*ret_series = wtl_store_find(reader, name);
	assert_true(*ret_series >= 0);
	assert_int_equal(wtl_store_values(reader, (uint32_t)*ret_series, (size_t)h->period - 1,
					  &values, &n, NULL),
			 0);
	assert_true(n < VALUES_MAX);
	if (n > 0)
		memcpy(own, values, n * sizeof(*own));
	wtl_store_close(reader);
	return n;
}

/* How many values it has now. */
static void set_count(const struct hostile *h, sqlite3 *db, int64_t series, size_t n)
{
	int64_t counts[1024];
	sqlite3_stmt *stmt;
	struct wtl_buf block;
	size_t n_counts;

	sqlite3_prepare_v2(db, "SELECT counts FROM period WHERE id = ?", -1, &stmt, NULL);
	sqlite3_bind_int(stmt, 1, h->period);
	assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
	n_counts = (size_t)wtl_code_count(sqlite3_column_blob(stmt, 0),
					  (size_t)sqlite3_column_bytes(stmt, 0));
	assert_in_range(n_counts, series + 1, UNIT_COUNT(counts));
	assert_int_equal(wtl_code_get(sqlite3_column_blob(stmt, 0),
				      (size_t)sqlite3_column_bytes(stmt, 0), counts, n_counts),
			 0);
	sqlite3_finalize(stmt);
	counts[series] = (int64_t)n;
	wtl_buf_init(&block, TEXT_MAX);
	assert_int_equal(wtl_code_put(&block, counts, n_counts), 0);
	sqlite3_prepare_v2(db, "UPDATE period SET counts = ? WHERE id = ?", -1, &stmt, NULL);
	sqlite3_bind_blob(stmt, 1, block.data, (int)block.len, SQLITE_STATIC);
	sqlite3_bind_int(stmt, 2, h->period);
	assert_int_equal(sqlite3_step(stmt), SQLITE_DONE);
	sqlite3_finalize(stmt);
	wtl_buf_done(&block);
}

static void put_values(struct hostile *h, int64_t series, const int64_t values[], size_t n)
{
	struct wtl_file file = {.lock = -1, .db = open_copy(h)};
	struct wtl_row_chunk chunk = {.id = h->period * WTL_STORE_SERIES_MAX + series,
				      .n = (uint32_t)n};
	struct wtl_buf block;

	wtl_buf_init(&block, TEXT_MAX);
	assert_int_equal(wtl_code_put(&block, values, n), 0);
	chunk.size = (uint32_t)block.len;
	chunk.data = (struct wtl_bytes){block.data, block.len};
	assert_int_equal(wtl_file_put(&file, &wtl_table_chunk, &chunk), SQLITE_OK);
	set_count(h, file.db, series, n);
	sum_rows(file.db, &wtl_table_period);
	wtl_file_close(&file, true);
	wtl_buf_done(&block);
}

/* One in the middle is another, or the last of the last period; or there are more or fewer. Of the period, or of the first
 * one behind it that has any. */
static void change_series(struct hostile *h, const char *name, int period)
{
	static const struct {
		const char *word;
		int64_t value;
		bool is_relative;
		int more;
	} ways[] = {
		{"-1 << 63", INT64_MIN, false, 0},
		{"-1", -1, false, 0},
		{"0", 0, false, 0},
		{"less by 1", -1, true, 0},
		{"more by 1", 1, true, 0},
		{"1 << 16", INT64_C(1) << 16, false, 0},
		{"1 << 31", INT64_C(1) << 31, false, 0},
		{"1 << 50", INT64_C(1) << 50, false, 0},
		{"1 << 61", INT64_C(1) << 61, false, 0},
		{"one more", 0, true, 1},
		{"one fewer", 0, true, -1},
	};
	int64_t own[VALUES_MAX], series;
	struct lines lines = {.n = 0};

	h->period = period;
	while (values_of(h, name, &series, own) == 0)
		if (++h->period > PERIODS)
			return;
	for (size_t i = 0; i < UNIT_COUNT(ways); i++) {
		size_t n = values_of(h, name, &series, own);

		if (!is_tried(h))
			continue;
		if (ways[i].more == 0) {
			int64_t *at = &own[h->period == PERIODS ? n - 1 : n / 2];

			*at = ways[i].value + (ways[i].is_relative ? *at : 0);
		}
		put_values(h, series, own, n + (size_t)ways[i].more);
		note(h, &lines, name, ways[i].word, true);
	}
	print_lines(h, name, &lines);
}

static void change_period(struct hostile *h, int period)
{
	char name[WTL_STORE_NAME_SIZE];

	h->is_played = true;
	for (size_t i = 0; i < WTL_SINGLES; i++)
		change_series(h, wtl_single_names[i], period);
	for (enum wtl_of_channel i = 0; i < WTL_OF_CHANNEL; i++) {
		wtl_channel_series_name(0, i, name);
		change_series(h, name, period);
	}
	for (enum wtl_of_gpu i = 0; i < WTL_OF_GPU; i++) {
		wtl_gpu_series_name(0, i, name);
		change_series(h, name, period);
	}
}

static void change_all_series(struct hostile *h)
{
	change_period(h, 2);
}

static void change_last_values(struct hostile *h)
{
	change_period(h, PERIODS);
}

/* ---- What there is before anything is changed ---- */

static const char *const passing =
	"key <> 'wattle'"; /* facts that stay as they are from version to version */

/* Without checksums, blobs, this process's own, and what a better sensor class would change. */
static void print_table(struct hostile *h, sqlite3 *db, const struct wtl_table *table)
{
	char sql[128];
	sqlite3_stmt *stmt;

	snprintf(sql, sizeof(sql), "SELECT * FROM %s%s%s ORDER BY 1, 2", table->name,
		 table == &wtl_table_fact ? " WHERE " : "",
		 table == &wtl_table_fact ? passing : "");
	assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL), SQLITE_OK);
	wtl_buf_printf(&h->text, "%s\n", table->name);
	while (sqlite3_step(stmt) == SQLITE_ROW) {
		for (size_t i = 0; i < table->n_fields; i++) {
			const char *value = (const char *)sqlite3_column_text(stmt, (int)i);

			if (strcmp(table->fields[i].name, "pid") == 0 &&
			    table == &wtl_table_recording)
				value = "…";
			if (table->fields[i].kind != WTL_FIELD_BYTES &&
			    strcmp(table->fields[i].name, "uncertainty_uj") != 0)
				wtl_buf_printf(&h->text, "%s%s", i ? "|" : "  ",
					       value ? value : "NULL");
		}
		wtl_buf_puts(&h->text, "\n");
	}
	sqlite3_finalize(stmt);
}

/* Of each series and period, how many values, their sum, and their sum by place. */
static void print_series(struct hostile *h)
{
	struct wtl_store_reader *reader;
	sqlite3_stmt *stmt;
	const int64_t *values;
	uint64_t sum, by_place;
	size_t n;

	assert_int_equal(wtl_store_open(h->f.path, &reader, NULL), 0);
	sqlite3_prepare_v2(reader->db,
			   "SELECT id, name FROM series WHERE name <> 'second.cpu' ORDER BY id", -1,
			   &stmt, NULL);
	while (sqlite3_step(stmt) == SQLITE_ROW) {
		wtl_buf_printf(&h->text, "%s", sqlite3_column_text(stmt, 1));
		for (size_t i = 0; i < wtl_store_periods(reader); i++) {
			assert_int_equal(wtl_store_values(reader,
							  (uint32_t)sqlite3_column_int(stmt, 0), i,
							  &values, &n, NULL),
					 0);
			sum = by_place = 0;
			for (size_t k = 0; k < n; k++) {
				sum += (uint64_t)values[k];
				by_place += (k + 1) * (uint64_t)values[k];
			}
			wtl_buf_printf(&h->text, " %zu:%" PRId64 ":%" PRId64, n, (int64_t)sum,
				       (int64_t)by_place);
		}
		wtl_buf_puts(&h->text, "\n");
	}
	sqlite3_finalize(stmt);
	wtl_store_close(reader);
}

static void print_recording(struct hostile *h)
{
	const struct wtl_table *table;
	sqlite3 *db = open_copy(h);

	for (size_t i = 0; (table = wtl_table_at(i)); i++)
		if (table != &wtl_table_chunk && table != &wtl_table_series)
			print_table(h, db, table);
	sqlite3_close(db);
	print_series(h);
}

/* ---- Tests ---- */

/* A bit of everything: a GPU with a user and one that nobody may read, sleep, a clock that is set, windows, what devices
 * tell, and what the machine was known to draw at rest. */
static void record(struct replay_bench *f)
{
	static const char script[] = "gpu Fake\n  power 0 const 100\n  sensor counter gpu 100\n"
				     "  sensor instant gpu 100 100\n"
				     "process 500 C 50 60 0 0 0\n"
				     "gpu Closed\n  power 0 const 50\n  sensor instant gpu 100 25\n"
				     "  answer nvmlDeviceGetFieldValues NO_PERMISSION\n"
				     "  answer nvmlDeviceGetTotalEnergyConsumption NO_PERMISSION\n"
				     "  answer nvmlDeviceGetPowerUsage NO_PERMISSION\n";
	static const struct wtl_baseline known = {.is_known = true,
						  .idle_uw = 5000000,
						  .uncertainty_uw = 100000,
						  .t_utc_ns = 1700000000 * S,
						  .seen_ns = 60 * S};
	const struct replay_setup setup = {
		.root = "xeon-2s-dram", .script = script, .store = {.period_ns = S}};
	const struct wtl_device_value devices[] = {{0, WTL_DEVICE_USE_PERCENT, 60},
						   {-1, WTL_DEVICE_TEMPERATURE_C, 40}};

	struct wattle_energy energies[REPLAY_DOMAINS_MAX];
	struct wattle_window window;
	size_t n;

	replay_bench_start_on(f, &setup);
	f->bench.clock_step_ns = 0;
	n = wattle_meter_domains(f->bench.meter);
	wtl_consumers_set_baseline(f->consumers, 0, &known);
	wtl_recorder_idle(f->recorder, 0, &known);
	replay_bench_begin(f);
	replay_bench_crowd(f);
	replay_bench_live_for(f, 1);
	/* The second period has all of it. */
	assert_int_equal(wattle_window_begin(f->bench.meter, "inner"), 0);
	assert_int_equal(wattle_window_begin(f->bench.meter, "dropped"), 0);
	replay_bench_crowd(f);
	replay_bench_pass(f);
	wtl_recorder_devices(f->recorder, devices, UNIT_COUNT(devices));
	assert_int_equal(wattle_window_cancel(f->bench.meter, "dropped"), 0);
	f->first_fails = true;
	replay_bench_pass(f);
	f->first_fails = false;
	f->bench.asleep_ns += 3600 * S;
	replay_bench_live_for(f, 1);
	f->bench.utc_ns += 5 * S;
	replay_bench_live_for(f, 1);
	assert_int_equal(wtl_window_end(f->bench.meter, "inner", &window, energies, n), 0);
	wtl_recorder_window(f->recorder, "inner", false, &window, energies);
	replay_bench_live_for(f, 1);
}

static void end_recording(struct replay_bench *f)
{
	replay_bench_end(f);
	replay_bench_stop(f);
}

/* As if it was killed: the last period is in parts, which go from SQLite's log into the file. */
static void cut_recording(struct replay_bench *f)
{
	sqlite3 *db;

	replay_bench_pass(f);
	replay_bench_bill(f);
	wtl_recorder_writer(f->recorder)->error = -EINTR;
	assert_int_equal(wtl_recorder_end(f->recorder, NULL), -EINTR);
	f->recorder = NULL;
	assert_int_equal(sqlite3_open(f->path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "PRAGMA wal_checkpoint(TRUNCATE)", NULL, NULL, NULL),
			 SQLITE_OK);
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void read_bytes(struct hostile *h)
{
	FILE *file = fopen(h->f.path, "re");

	assert_non_null(file);
	fseek(file, 0, SEEK_END);
	h->n_bytes = (size_t)ftell(file);
	rewind(file);
	h->bytes = malloc(h->n_bytes);
	assert_int_equal(fread(h->bytes, 1, h->n_bytes, file), h->n_bytes);
	fclose(file);
}

static void with_recording(const char *golden, void (*end_it)(struct replay_bench *f),
			   void (*change_it)(struct hostile *h))
{
	struct hostile h = {.copy = NULL};

	wtl_buf_init(&h.text, TEXT_MAX);
	record(&h.f);
	end_it(&h.f);
	h.copy = unit_path(h.f.dir, "copy.wattle");
	read_bytes(&h);
	read_outcomes(h.f.path, h.sound);
	change_it(&h);
	assert_int_equal(h.text.error, 0);
	if (h.n_changes == 0)
		golden_check(golden, wtl_buf_str(&h.text));
	free(h.copy);
	free(h.bytes);
	wtl_buf_done(&h.text);
	replay_bench_finish(&h.f);
}

static void test_nothing_changed(void **state)
{
	(void)state;
	with_recording("recording.rows.txt", end_recording, print_recording);
}

static void test_rows(void **state)
{
	(void)state;
	with_recording("hostile.rows.txt", end_recording, drop_rows);
}

static void test_facts(void **state)
{
	(void)state;
	with_recording("hostile.facts.txt", end_recording, change_facts);
}

static void test_columns(void **state)
{
	(void)state;
	with_recording("hostile.columns.txt", end_recording, change_tables);
}

static void test_parts(void **state)
{
	(void)state;
	with_recording("hostile.parts.txt", cut_recording, change_parts);
}

static void test_bounds(void **state)
{
	(void)state;
	with_recording("hostile.bounds.txt", end_recording, try_bounds);
}

static void test_series(void **state)
{
	(void)state;
	with_recording("hostile.series.txt", end_recording, change_all_series);
}

/* Which is what the summary rests on. */
static void test_last_values(void **state)
{
	(void)state;
	with_recording("hostile.last.txt", end_recording, change_last_values);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_changed), cmocka_unit_test(test_rows),
		cmocka_unit_test(test_facts),		cmocka_unit_test(test_columns),
		cmocka_unit_test(test_series),		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_parts),		cmocka_unit_test(test_last_values),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
