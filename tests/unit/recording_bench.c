/* SPDX-License-Identifier: MIT */
#include "recording_bench.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "output_bench.h"

#define J BENCH_J
#define S BENCH_S

static char *const bench_command[] = {(char[]){"make"}, (char[]){"-j8"}, NULL};

/* ---- The machine ---- */

static void init_domain(struct recording_bench *bench, size_t i, const char *name,
			enum wattle_kind kind, const char *source, const struct wtl_ledger *ledger)
{
	struct wtl_report_domain *domain = &bench->domains[i];

	domain->domain = (struct wattle_domain){
		.name = name,
		.source = source,
		.kind = kind,
		.method = WATTLE_METHOD_COUNTER,
		.in_total = kind != WATTLE_KIND_PLATFORM,
		.update_ns = S(0.001),
	};
	domain->ledger = *ledger;
	domain->ledger.total_uj = ledger->live_uj + ledger->exited_uj + ledger->kernel_uj +
				  ledger->idle_uj + ledger->unattributed_uj;
	domain->energy = (struct wattle_energy){
		.method = WATTLE_METHOD_COUNTER,
		.has_energy = 1,
		.has_power = 1,
		.energy_uj = domain->ledger.total_uj,
		.uncertainty_uj = domain->ledger.total_uj / 50,
		.mean_uw = domain->ledger.total_uj / 10,
		.max_uw = domain->ledger.total_uj / 5,
		.measured_ns = S(9.5),
		.gap_ns = S(0.5),
		.samples = 95,
	};
	if (ledger->has_idle) {
		domain->weight = kind == WATTLE_KIND_GPU ? "sm-use" : "cpu-time";
		domain->idle = (struct wtl_baseline){.is_known = true,
						     .idle_uw = ledger->idle_uj / 10,
						     .uncertainty_uw = J(0.05),
						     .t_utc_ns = BENCH_BEGIN_UTC_NS - S(50),
						     .seen_ns = S(40)};
	}
	bench->energies[i] = domain->energy;
}

static void init_domains(struct recording_bench *bench)
{
	static const struct wtl_ledger package = {.has_idle = true,
						  .live_uj = J(30),
						  .exited_uj = J(20),
						  .kernel_uj = J(5),
						  .idle_uj = J(40),
						  .unattributed_uj = J(5)};
	static const struct wtl_ledger dram = {.has_idle = true,
					       .live_uj = J(4),
					       .exited_uj = J(4),
					       .kernel_uj = J(2),
					       .idle_uj = J(10)};
	static const struct wtl_ledger gpu = {
		.has_idle = true, .live_uj = J(250), .idle_uj = J(50)};
	static const struct wtl_ledger psys = {.unattributed_uj = J(500)};

	init_domain(bench, 0, "package-0", WATTLE_KIND_CPU, "rapl-perf", &package);
	init_domain(bench, 1, "dram-0", WATTLE_KIND_DRAM, "rapl-perf", &dram);
	init_domain(bench, 2, "gpu-0", WATTLE_KIND_GPU, "nvml", &gpu);
	init_domain(bench, 3, "psys-0", WATTLE_KIND_PLATFORM, "rapl-powercap", &psys);
	for (size_t i = 0; i < BENCH_DOMAINS; i++)
		bench->sensors[i] = (struct wtl_recording_sensor){.gain_ppm = 10000};
}

static struct wtl_share_energy dynamic(double dynamic_j, double full_j, double uncertainty_j)
{
	return (struct wtl_share_energy){.has_dynamic = true,
					 .full_uj = J(full_j),
					 .dynamic_uj = J(dynamic_j),
					 .uncertainty_uj = J(uncertainty_j)};
}

static void init_processes(struct recording_bench *bench)
{
	static const char *const names[BENCH_PROCESSES] = {"cc1", "postgres", "sh"};
	struct wtl_report_attribution *attribution = &bench->recording.report.attribution;

	for (size_t i = 0; i < BENCH_PROCESSES; i++) {
		bench->consumers[i] = (struct wtl_consumer){
			.pid = i < 2 ? 100 * ((int32_t)i + 1) : 0,
			.uid = 1000 + (uint32_t)i,
			.state = i < 2 ? WTL_CONSUMER_LIVE : WTL_CONSUMER_FOLDED,
			.n_processes = i < 2 ? 1 : 7,
			.is_in_tree = i != 1,
			.cpu_ns = i == 0   ? S(10)
				  : i == 1 ? S(5)
					   : S(1.5),
			.rss_bytes = UINT64_MAX,
			.pss_bytes = UINT64_MAX,
			.uss_bytes = UINT64_MAX,
			.gpu_memory_bytes = UINT64_MAX,
			.gpu_ppm = UINT32_MAX,
		};
		strcpy(bench->consumers[i].name, names[i]);
		bench->processes[i] = (struct wtl_report_process){
			.consumer = &bench->consumers[i],
			.user = i == 0 ? "ada" : "bob",
		};
	}
	bench->processes[0].all = dynamic(250.25, 300.5, 12);
	bench->processes[0].gpu = dynamic(240, 280, 8);
	bench->processes[1].all = dynamic(40, 60, 3);
	bench->processes[2].all = dynamic(10, 20, 1);
	*attribution = (struct wtl_report_attribution){
		.is_known = true,
		.has_command = true,
		.command = dynamic(260.25, 320.5, 13),
		.command_gpu = dynamic(240, 280, 8),
		.command_cpu_ns = S(11.5),
		.command_processes = 8,
		.processes = bench->processes,
		.n_processes = BENCH_PROCESSES,
		.others = dynamic(2, 4.5, 0.5),
		.n_others = 12,
		.others_cpu_ns = S(0.25),
	};
}

static void init_groups(struct recording_bench *bench)
{
	bench->groups[0] = (struct wtl_recording_group){
		.name = "ada",
		.n_processes = 1,
		.cpu_ns = S(10),
		.all = bench->processes[0].all,
		.gpu = bench->processes[0].gpu,
	};
	bench->groups[1] = (struct wtl_recording_group){
		.name = "bob", .n_processes = 8, .cpu_ns = S(6.5), .all = dynamic(50, 80, 4)};
	bench->grouping = (struct wtl_recording_grouping){
		.by = WTL_BY_USER,
		.groups = bench->groups,
		.n_groups = BENCH_GROUPS,
		.others = {.name = "",
			   .n_processes = 12,
			   .cpu_ns = S(0.25),
			   .all = dynamic(2, 4.5, 0.5)},
		.n_others = 2,
	};
	bench->recording.groupings = &bench->grouping;
	bench->recording.n_groupings = 1;
}

static void init_windows(struct recording_bench *bench)
{
	static const char *const names[BENCH_WINDOWS] = {"recording", "warm up", "epoch", "late"};
	const struct wtl_report *report = &bench->recording.report;

	for (size_t i = 0; i < BENCH_WINDOWS; i++) {
		struct wtl_recording_window *window = &bench->windows[i];

		*window = (struct wtl_recording_window){
			.id = (uint32_t)i + 1,
			.name = names[i],
			.is_main = i == 0,
			.is_open = i == 2,
			.is_cut = i == 3,
			.pid = i == 1 ? 4711 : 0,
			.window = report->window,
			.energies = i < 3 ? bench->energies : NULL,
			.has_carbon = i < 2,
			.carbon = report->carbon,
		};
		window->window.begin_utc_ns += (int64_t)i * S(1);
		window->window.begin_mono_ns += (int64_t)i * S(1);
	}
	bench->recording.windows = bench->windows;
	bench->recording.n_windows = BENCH_WINDOWS;
}

static void init_gaps(struct recording_bench *bench)
{
	static const struct wtl_recording_gap gaps[BENCH_GAPS] = {
		{"suspend", BENCH_BEGIN_UTC_NS, INT64_C(90000000000), "", "the machine slept"},
		{"clock-step", BENCH_BEGIN_UTC_NS + 1, INT64_C(-2000000000), "",
		 "UTC was set back by 2.000 s"},
		{"channel", BENCH_BEGIN_UTC_NS + 2, INT64_C(1500000000), "gpu-0", "it went away"},
		{"overrun", BENCH_BEGIN_UTC_NS + 3, INT64_C(250000000), "", ""},
		{"exits", BENCH_BEGIN_UTC_NS + 4, 0, "", "12 exit records were lost"},
		{"damaged", BENCH_BEGIN_UTC_NS + 5, 0, "", ""},
	};

	memcpy(bench->gaps, gaps, sizeof(gaps));
	bench->recording.gaps = bench->gaps;
	bench->recording.n_gaps = BENCH_GAPS;
}

static void init_file(struct wtl_recording *recording)
{
	*recording = (struct wtl_recording){
		.path = "night.wattle",
		.version = "0.1.0",
		.host = "tea",
		.cpu_model = "Some CPU",
		.kernel = "6.1.0",
		.location = "FRA",
		.imported = "",
		.interval_ns = S(0.1),
		.is_whole = true,
		.begin_utc_ns = BENCH_BEGIN_UTC_NS,
		.begin_mono_ns = 1000,
		.span_ns = S(10),
		.policy = {.idle = "recorded"},
		.by = WTL_BYS,
	};
	recording->report.window = (struct wattle_window){
		.begin_utc_ns = BENCH_BEGIN_UTC_NS,
		.begin_mono_ns = 1000,
		.duration_ns = S(10),
	};
	recording->end_utc_ns = BENCH_BEGIN_UTC_NS + S(10);
	recording->report.carbon = (struct wtl_report_carbon){
		.carbon = {.intensity_mg_per_kwh = 56040, .year = 2023, .location = "FRA"},
		.emitted_ug = 6538,
		.uncertainty_ug = 1300,
	};
	recording->report.self = (struct wtl_report_self){
		.cpu_ns = S(0.0125), .max_rss_bytes = 4194304, .ticks = 100};
	recording->report.command_cpu_ns = -1;
}

void recording_bench_init(struct recording_bench *bench)
{
	struct wtl_recording *recording = &bench->recording;

	memset(bench, 0, sizeof(*bench));
	init_file(recording);
	init_domains(bench);
	recording->sensors = bench->sensors;
	recording->report.command = bench_command;
	recording->report.command_cpu_ns = S(11.25);
	recording->report.domains = bench->domains;
	recording->report.n_domains = BENCH_DOMAINS;
	recording->report.window.total = bench->energies[0];
	recording->report.window.total.energy_uj = J(420);
	recording->report.window.total.uncertainty_uj = J(6.333333);
	recording->report.window.total.mean_uw = J(42);
	recording->report.window.total.max_uw = J(84);
	init_processes(bench);
	init_groups(bench);
	init_windows(bench);
	init_gaps(bench);
	assert_int_equal(wtl_recording_check(recording), 0);
}

void recording_bench_init_empty(struct recording_bench *bench)
{
	memset(bench, 0, sizeof(*bench));
	init_file(&bench->recording);
	bench->recording.version = "";
	bench->recording.host = "";
	bench->recording.cpu_model = "";
	bench->recording.kernel = "";
	bench->recording.location = "";
	bench->recording.interval_ns = 0;
	bench->recording.report.window.total.status = WATTLE_STATUS_ABSENT;
	bench->recording.report.attribution.reason = "nothing is measured";
	assert_int_equal(wtl_recording_check(&bench->recording), 0);
}

/* ---- What is printed ---- */

void recording_bench_runs(struct wtl_run list[], size_t n, const char *path,
			  const struct wtl_report *report)
{
	for (size_t i = 0; i < n; i++) {
		list[i] = (struct wtl_run){.path = path, .number = i + 1, .report = *report};
		list[i].report.window.begin_utc_ns += (int64_t)i * S(60);
	}
}

char *recording_bench_text(const char *format, const struct wtl_recording *recording,
			   struct wtl_output_style style)
{
	return output_text(wtl_writer_find(format), &wtl_thing_recording, recording, style);
}

char *comparison_bench_text(const char *format, const struct wtl_comparison *comparison,
			    struct wtl_output_style style)
{
	return output_text(wtl_writer_find(format), &wtl_thing_comparison, comparison, style);
}

char *runs_bench_text(const char *format, const struct wtl_runs *runs,
		      struct wtl_output_style style)
{
	return output_text(wtl_writer_find(format), &wtl_thing_runs, runs, style);
}

/* ---- CSV ---- */

/* Ends the cell at *at in place, and says what followed it. */
static char take_cell(char **at, char **ret_cell)
{
	char *from = *at, *to = *at, end;

	*ret_cell = to;
	if (*from == '"') {
		for (from++; *from != '"' || from[1] == '"'; from++) {
			from += *from == '"';
			assert_int_not_equal(*from, '\0');
			*to++ = *from;
		}
		from++;
	} else {
		while (*from && *from != ',' && *from != '\n') {
			assert_int_not_equal(*from, '"');
			*to++ = *from++;
		}
	}
	end = *from;
	assert_true(end == ',' || end == '\n');
	*to = '\0';
	*at = from + 1;
	return end;
}

struct table *table_new(const char *csv)
{
	struct table *table = calloc(1, sizeof(*table));
	char *at;

	assert_non_null(table);
	table->text = strdup(csv);
	assert_non_null(table->text);
	for (at = table->text; *at;) {
		struct table_row *row = &table->rows[table->n_rows++];
		char end;

		assert_true(table->n_rows < TABLE_ROWS);
		do {
			assert_true(row->n_cells < TABLE_CELLS);
			end = take_cell(&at, &row->cells[row->n_cells]);
			row->n_cells++;
		} while (end == ',');
		assert_int_equal(row->n_cells, table->rows[0].n_cells);
	}
	return table;
}

void table_free(struct table *table)
{
	free(table->text);
	free(table);
}

const char *table_cell(const struct table *table, size_t row, const char *column)
{
	assert_true(row < table->n_rows);
	for (size_t i = 0; i < table->rows[0].n_cells; i++)
		if (strcmp(table->rows[0].cells[i], column) == 0)
			return table->rows[row].cells[i];
	fail_msg("there is no column %s", column);
	return NULL;
}

int64_t table_fixed(const struct table *table, size_t row, const char *column, unsigned decimals)
{
	const char *cell = table_cell(table, row, column), *point = strchr(cell, '.');
	int64_t value = 0;

	if (!point || strlen(point + 1) != decimals)
		fail_msg("%s of row %zu has not %u decimals: '%s'", column, row, decimals, cell);
	for (const char *at = cell + (*cell == '-'); *at; at++) {
		if (at == point)
			continue;
		assert_true(*at >= '0' && *at <= '9');
		value = value * 10 + (*at - '0');
	}
	return *cell == '-' ? -value : value;
}

void table_assert(const struct table *table, size_t row, const char *column, const char *wanted)
{
	const char *found = table_cell(table, row, column);

	if (strcmp(found, wanted) != 0)
		fail_msg("%s of row %zu is '%s', not '%s'", column, row, found, wanted);
}
