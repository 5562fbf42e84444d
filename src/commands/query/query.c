/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/num.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/complain.h"
#include "cli/guess.h"
#include "cli/option.h"
#include "cli/options.h"
#include "cli/sink.h"
#include "commands/query/query.h"
#include "document/report.h"
#include "energy/units.h"
#include "meter/meter.h"
#include "sensors/gpu_info.h"
#include "smi/field.h"

#define OUTPUT_MAX (64u << 20)
#define LOOP_MAX_S 86400u
/* The span of the first row's means: ten updates of the slowest common sensor (100 ms). */
#define LOOK_NS	 WTL_NS_PER_S
#define WATCH_NS (2 * WTL_NS_PER_S)

struct settings {
	const char *format, *fields, *columns, *mon_options, *display;
	struct wtl_gpu_choice gpus;
	const struct wtl_smi_query *query, *help; /* --query-…, --help-query-… */
	bool list, log, xml, dmon, pmon, watch;
	bool wants_ms;		   /* -lms was given, and its number comes next */
	int64_t loop_ns, delay_ns; /* 0: not given */
	unsigned sections;	   /* of -q; 0: all */
	uint64_t count;		   /* 0: not given */
};

/* ---- Options ---- */

static int set_query(struct wtl_app *app, const struct wtl_option *option, const char *fields)
{
	const struct wtl_smi_query *query = option->data;
	struct settings *settings = app->own;

	if (settings->query == query)
		return wtl_complain(app, "one %s only", query->option);
	if (settings->query)
		return wtl_complain(app, "only one --query-... at once: %s or %s",
				    settings->query->option, query->option);
	settings->query = query;
	settings->fields = fields;
	return 0;
}

static int set_help(struct wtl_app *app, const struct wtl_option *option, const char *text)
{
	struct settings *settings = app->own;

	(void)text;
	settings->help = option->data;
	return 0;
}

#define PERIOD(field)                                                                 \
	WTL_OPTION_DURATION, WTL_OWN(struct settings, field), .least = WTL_NS_PER_MS, \
							      .most = LOOP_MAX_S * WTL_NS_PER_S

static const struct wtl_option delay_option = {"delay", 0, "SECONDS", "", PERIOD(delay_ns)};
static const struct wtl_option loop_option = {"loop", 'l', "SECONDS", "", PERIOD(loop_ns)};
static const struct wtl_option loop_ms_option = {
	"loop-ms",    0, "MS", "The same in milliseconds; also spelled -lms MS", PERIOD(loop_ns),
	.is_ms = true};

/* -lms 200 comes as -l with the value "ms", and the next word has the number. */
static int set_loop(struct wtl_app *app, const struct wtl_option *option, const char *text)
{
	struct settings *settings = app->own;

	(void)option;
	if (strcmp(text, "ms") == 0) {
		settings->wants_ms = true;
		return 0;
	}
	if (strncmp(text, "ms=", 3) == 0)
		return wtl_option_set(app, &loop_ms_option, text + 3);
	return wtl_option_set(app, &loop_option, text);
}

static int set_word(struct wtl_app *app, const struct wtl_option *option, const char *word)
{
	struct settings *settings = app->own;

	(void)option;
	if (settings->wants_ms) {
		settings->wants_ms = false;
		return wtl_option_set(app, &loop_ms_option, word);
	}
	if (settings->dmon || settings->pmon)
		return -E2BIG;
	settings->dmon = strcmp(word, "dmon") == 0;
	settings->pmon = strcmp(word, "pmon") == 0;
	return settings->dmon || settings->pmon ? 0 : -E2BIG;
}

static void offer_fields(const struct wtl_option *option, struct wtl_buf *words)
{
	wtl_smi_offer(words, option->data);
}

#define QUERY(of)                                                                 \
	WTL_OPTION_OWN, .offer = offer_fields, .is_list = true, .set = set_query, \
			.data = &wtl_smi_query_##of
#define HELP(of)    WTL_OPTION_OWN, .set = set_help, .data = &wtl_smi_query_##of
#define TEXT(field) WTL_OPTION_TEXT, WTL_OWN(struct settings, field)
#define FLAG(field) WTL_OPTION_FLAG, WTL_OWN(struct settings, field)

static const struct wtl_option options[] = {
	{"query-gpu", 0, "FIELDS", "A row a GPU with these fields, such as index,name,power.draw",
	 QUERY(gpu)},
	{"query-compute-apps", 0, "FIELDS", "A row a process that computes on a GPU", QUERY(apps)},
	{"query-accounted-apps", 0, "FIELDS",
	 "The header, as nvidia-smi has it where accounting mode is off", QUERY(accounted)},
	{"query-domain", 0, "FIELDS",
	 "wattle's own: a row an energy domain (CPU packages, DRAM, GPUs)", QUERY(domain)},
	{"help-query-gpu", 0, NULL, "Show the fields of --query-gpu", HELP(gpu)},
	{"help-query-compute-apps", 0, NULL, "Show those of --query-compute-apps", HELP(apps)},
	{"help-query-domain", 0, NULL, "Show those of --query-domain", HELP(domain)},
	{"format", 0, "FORMAT",
	 "text (default), json, ndjson, or csv[,noheader][,nounits] for rows of fields",
	 TEXT(format), .words = wtl_writer_names},
	{"list-gpus", 'L', NULL, "A line a GPU with its UUID, MIG instances below it", FLAG(list)},
	{"query", 'q', NULL, "Everything as nvidia-smi's text; with -x: as its XML", FLAG(log)},
	{"xml-format", 'x', NULL, "Everything as nvidia-smi's XML (nvsmi_device_v12.dtd)",
	 FLAG(xml)},
	{"id", 'i', "ID",
	 "Only these GPUs: index, UUID, bus id or serial number; a list with commas",
	 TEXT(gpus.ids)},
	{"gpus", 0, "LIST",
	 "Only these GPUs: as CUDA_VISIBLE_DEVICES has them, also MIG devices (their whole GPU)",
	 TEXT(gpus.list)},
	{"loop", 'l', "SECONDS", "Go on every SECONDS until Ctrl-C", WTL_OPTION_OWN,
	 .set = set_loop},
	{"loop-ms", 0, "MS", "The same in milliseconds; also spelled -lms MS", PERIOD(loop_ns),
	 .is_ms = true},
	{"watch", 0, NULL,
	 "Go on every 2 seconds, or as --loop says; on a terminal, in place of the sample before",
	 FLAG(watch)},
	{"count", 'c', "N", "End after N samples", WTL_OPTION_NUMBER,
	 WTL_OWN(struct settings, count), .least = 1, .most = UINT32_MAX},
	{"filename", 'f', "FILE", "Write to FILE instead of standard output", WTL_OPTION_PATH,
	 WTL_SHARED(output_path), .what = "a file", .file = WTL_FILE_OUTPUT},
	{"select", 's', "LETTERS",
	 "dmon: columns of p(ower), u(se), c(locks), v(iolations), m(emory), e(rrors), t(raffic), "
	 "default puc; pmon: u(se), m(emory), default u",
	 TEXT(columns)},
	{"display", 'd', "SECTIONS",
	 "-q: only these parts, such as POWER,UTILIZATION. dmon, pmon: seconds from one sample to the next "
	 "(default 1)",
	 TEXT(display), .words = wtl_smi_section_names, .is_list = true},
	{"delay", 0, "SECONDS", "The same for dmon and pmon alone", PERIOD(delay_ns)},
	{"options", 'o', "D|T", "dmon, pmon: columns for date (D) and time (T)", TEXT(mon_options)},
	{0},
};

/* Without -q, which is nvidia-smi's. */
static const struct wtl_option general[] = {
	{"quiet", 0, NULL, "No remarks on standard error", WTL_OPTION_FLAG, WTL_SHARED(quiet)},
	{"verbose", 'v', NULL, "More about sources and how they were found", WTL_OPTION_FLAG,
	 WTL_SHARED(verbose)},
	{"help", 'h', NULL, "Show this help", .kind = WTL_OPTION_HELP},
	{"help-all", 0, NULL, "Show this help with the options that few need",
	 .kind = WTL_OPTION_HELP, .is_rare = true},
	{0},
};

static const struct wtl_option *const shared[] = {wtl_options_terminal, wtl_options_machine,
						  general, NULL};

static const struct wtl_option words = {"dmon|pmon", .kind = WTL_OPTION_OWN,
					.words = (const char *const[]){"dmon", "pmon", NULL},
					.set = set_word};

/* ---- The choice ---- */

struct session {
	struct wtl_app *app;
	enum wtl_query_form form;
	struct wtl_smi_columns columns;
	struct wtl_smi_mon mon;
	int64_t period_ns; /* 0: once */
	uint64_t count;
	bool headed;	/* the header is out */
	size_t n_lines; /* on the terminal, to be overwritten */
	size_t *lines;	/* &n_lines, or NULL: samples are appended */
	struct wtl_looker looker;
	struct wtl_look look;
};

/* "csv", with "noheader" and "nounits" in any order. */
static int parse_csv_format(struct session *session, const char *format)
{
	bool csv = false;

	for (const char *word = format; word;) {
		size_t len = strcspn(word, ",");

		if (len == 3 && memcmp(word, "csv", 3) == 0)
			csv = true;
		else if (len == 8 && memcmp(word, "noheader", 8) == 0)
			session->columns.header = false;
		else if (len == 7 && memcmp(word, "nounits", 7) == 0)
			session->columns.units = false;
		else
			return -EINVAL;
		word = word[len] ? word + len + 1 : NULL;
	}
	return csv ? 0 : -EINVAL;
}

/* 0 or the exit code. */
static int choose_fields(struct session *session)
{
	const struct settings *settings = session->app->own;
	const char *bad = "";
	size_t bad_len = 0;
	struct wtl_guess guess = {.best = NULL};
	struct wtl_buf word;
	int rc = wtl_smi_columns_parse(settings->query, settings->fields, &session->columns, &bad,
				       &bad_len);

	if (rc == 0)
		return 0;
	if (rc != -EINVAL) {
		wtl_complain(session->app, "%s takes at most %d fields", settings->query->option,
			     WTL_SMI_COLUMNS_MAX);
		return WTL_EXIT_USAGE;
	}
	wtl_buf_init(&word, 8192);
	wtl_text_escape(&word, bad, bad_len);
	guess.word = wtl_buf_str(&word);
	/* nvidia-smi's message, on standard output as there. */
	printf("Field \"%s\" is not a valid field to query.\n", wtl_buf_str(&word));
	for (const struct wtl_smi_field *field = settings->query->fields; !wtl_smi_is_end(field);
	     field++)
		if (field->name)
			wtl_guess_consider(&guess, field->name);
	if (guess.best)
		wtl_complain(session->app, "did you mean %s?", guess.best);
	wtl_buf_done(&word);
	return WTL_EXIT_USAGE;
}

static int choose_csv(struct session *session)
{
	const struct settings *settings = session->app->own;

	session->form = WTL_QUERY_CSV;
	if (!settings->format || parse_csv_format(session, settings->format) == 0)
		return 0;
	wtl_complain(session->app, "%s takes --format=csv[,noheader][,nounits] or json, not '%s'",
		     settings->query->option, settings->format);
	return WTL_EXIT_USAGE;
}

static int choose_mon(struct session *session)
{
	const struct settings *settings = session->app->own;
	const char *given = settings->mon_options ? settings->mon_options : "";
	char bad;

	session->form = WTL_QUERY_MON;
	session->mon = (struct wtl_smi_mon){
		.processes = settings->pmon,
		.select = settings->columns ? settings->columns
			  : settings->pmon  ? "u"
					    : "puc",
		.date = strchr(given, 'D') != NULL,
		.time = strchr(given, 'T') != NULL,
	};
	bad = wtl_smi_mon_check(&session->mon);
	if (bad)
		wtl_complain(session->app, "%s has no columns '%c'",
			     settings->pmon ? "pmon" : "dmon", bad);
	else if (given[strspn(given, "DT")])
		wtl_complain(session->app, "-o takes D, T or DT, not '%s'", given);
	if (settings->display)
		wtl_option_set(session->app, &delay_option, settings->display);
	session->period_ns = settings->delay_ns ? settings->delay_ns : WTL_NS_PER_S;
	return session->app->complained ? WTL_EXIT_USAGE : 0;
}

static int choose_sections(struct session *session)
{
	struct settings *settings = session->app->own;
	struct wtl_guess guess = {.best = NULL};
	const char *bad = "";
	size_t len = 0;
	char word[32];

	if (!settings->display ||
	    wtl_smi_sections_parse(settings->display, &settings->sections, &bad, &len) == 0)
		return 0;
	snprintf(word, sizeof(word), "%.*s", (int)(len < sizeof(word) ? len : 0), bad);
	guess.word = word;
	wtl_guess_words(&guess, wtl_smi_section_names);
	wtl_complain(session->app,
		     guess.best ? "-d has no section '%.*s': did you mean %s?"
				: "-d has no section '%.*s'",
		     (int)len, bad, guess.best);
	return WTL_EXIT_USAGE;
}

static int choose_plain(struct session *session)
{
	const struct settings *settings = session->app->own;
	const char *format = settings->format;

	if (!format || strcmp(format, "text") == 0) {
		session->form = WTL_QUERY_LINES;
		return 0;
	}
	wtl_complain(
		session->app,
		strncmp(format, "csv", 3) == 0
			? "--format %s needs --query-gpu, --query-compute-apps or --query-domain"
			: "--format takes text, json, ndjson or csv, not '%s'",
		format);
	return WTL_EXIT_USAGE;
}

/* Is --format a document's, which contains everything? */
static bool choose_document(struct session *session)
{
	const struct settings *settings = session->app->own;
	const struct wtl_writer *writer =
		settings->format ? wtl_writer_find(settings->format) : NULL;

	if (!writer || !writer->document || writer->is_flat)
		return false;
	session->form = WTL_QUERY_DOCUMENT;
	/* Several samples are one line each. */
	if (writer == &wtl_writer_json && session->period_ns > 0)
		writer = &wtl_writer_ndjson;
	session->app->settings.output = writer;
	return true;
}

/* "-f json" means a format in the other commands; a file of that name is ./json. */
static bool is_format(const char *path)
{
	return path && wtl_writer_find(path);
}

static bool is_mon(const struct settings *settings)
{
	return settings->dmon || settings->pmon;
}

/* The first contradiction among the options; NULL: there is none. */
static const char *contradiction(const struct wtl_app *app)
{
	const struct settings *settings = app->own;
	const bool mon = is_mon(settings);
	const char *both = wtl_gpu_choice_check(&settings->gpus);
	const int forms = settings->list + (settings->xml || settings->log) + mon;
	const struct {
		bool wrong;
		const char *text;
	} rules[] = {
		{settings->wants_ms, "-lms needs a value: MS"},
		{both, both},
		{is_format(app->settings.output_path),
		 "-f is a file here, as in nvidia-smi: --format takes text, json, ndjson or csv"},
		{settings->query && forms > 0, "--query-... excludes -L, -q, -x, dmon and pmon"},
		{forms > 1, "only one of -L, -q (with or without -x), dmon and pmon"},
		{!mon && (settings->columns || settings->delay_ns || settings->mon_options),
		 "-s, --delay and -o are for dmon and pmon; -f names a file"},
		{!mon && settings->display && (!settings->log || settings->xml),
		 "-d takes sections with -q (without -x), and seconds with dmon and pmon"},
		{mon && (settings->loop_ns || settings->watch),
		 "dmon and pmon take -d, not --loop or --watch"},
		{settings->format && forms > 0 && strcmp(settings->format, "json") != 0,
		 "-L, -q, -x, dmon and pmon have no --format but json"},
	};

	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
		if (rules[i].wrong)
			return rules[i].text;
	return NULL;
}

/* Fields, columns and sections are checked even if JSON contains everything. */
static int choose_columns(struct session *session)
{
	const struct settings *settings = session->app->own;

	if (settings->query)
		return choose_fields(session);
	return is_mon(settings) ? choose_mon(session) : choose_sections(session);
}

static void choose_pace(struct session *session)
{
	const struct settings *settings = session->app->own;

	session->period_ns = settings->loop_ns || !settings->watch ? settings->loop_ns : WATCH_NS;
	session->count = settings->count;
	if (settings->watch && !session->app->settings.output_path && wtl_redraw_is_possible())
		session->lines = &session->n_lines;
}

/* 0 or the exit code. */
static int choose_form(struct session *session)
{
	const struct settings *settings = session->app->own;
	const char *wrong = contradiction(session->app);
	int code;

	if (wrong) {
		wtl_complain(session->app, "%s", wrong);
		return WTL_EXIT_USAGE;
	}
	choose_pace(session);
	code = choose_columns(session);
	if (code)
		return code;
	if (choose_document(session))
		return 0;
	if (settings->query)
		return choose_csv(session);
	if (is_mon(settings))
		return 0;
	if (settings->list || settings->xml || settings->log) {
		session->form = settings->list	? WTL_QUERY_LIST
				: settings->xml ? WTL_QUERY_XML
						: WTL_QUERY_LOG;
		return 0;
	}
	return choose_plain(session);
}

static bool asks_meter(const struct session *session)
{
	if (session->form == WTL_QUERY_CSV)
		return wtl_smi_columns_need_meter(&session->columns);
	return session->form == WTL_QUERY_LINES || session->form == WTL_QUERY_DOCUMENT;
}

/* The parts that --query-gpu needs besides the numbers. */
static unsigned column_parts(const struct session *session)
{
	unsigned what = 0;

	for (size_t i = 0; i < session->columns.n; i++) {
		unsigned number = session->columns.fields[i]->number;

		if (number == WTL_GPU_PCIE_TX_BYTES_PER_S || number == WTL_GPU_PCIE_RX_BYTES_PER_S)
			what |= WTL_GPU_READ_PCIE;
		else if (number == WTL_GPU_INFOROM_VALID)
			what |= WTL_GPU_READ_INFOROM;
		else if (number >= WTL_GPU_ON_REQUEST)
			what |= WTL_GPU_READ_DETAILS;
	}
	return what;
}

static unsigned mon_parts(const struct wtl_smi_mon *mon)
{
	if (mon->processes)
		return WTL_GPU_READ_PROCESSES | WTL_GPU_READ_USE;
	return WTL_GPU_READ_NUMBERS | (strchr(mon->select, 't') ? WTL_GPU_READ_PCIE : 0) |
	       (strpbrk(mon->select, "me") ? WTL_GPU_READ_DETAILS : 0);
}

/* The parts to read: each one costs time. */
static unsigned parts(const struct session *session)
{
	const unsigned sections = ((const struct settings *)session->app->own)->sections;
	const unsigned processes = WTL_GPU_READ_PROCESSES;
	const unsigned everything = WTL_GPU_READ_NUMBERS | WTL_GPU_READ_PCIE | processes |
				    WTL_GPU_READ_USE | WTL_GPU_READ_DETAILS;

	switch (session->form) {
	case WTL_QUERY_LINES:
		return WTL_GPU_READ_NUMBERS | processes;
	case WTL_QUERY_DOCUMENT:
		return everything | WTL_GPU_READ_INFOROM;
	case WTL_QUERY_XML:
		return everything;
	case WTL_QUERY_LOG:
		return WTL_GPU_READ_NUMBERS | WTL_GPU_READ_DETAILS |
		       (sections == 0 ? WTL_GPU_READ_PCIE : 0) |
		       (wtl_smi_sections_have(sections, "Processes") ? processes : 0);
	case WTL_QUERY_LIST:
		return WTL_GPU_READ_NUMBERS; /* MIG instances are among them */
	case WTL_QUERY_MON:
		return mon_parts(&session->mon);
	case WTL_QUERY_CSV:
		break;
	}
	if (session->columns.query == &wtl_smi_query_accounted)
		return WTL_GPU_READ_NUMBERS; /* the mode is among them */
	if (session->columns.query == &wtl_smi_query_gpu)
		return WTL_GPU_READ_NUMBERS | column_parts(session);
	return session->columns.query == &wtl_smi_query_apps ? processes : 0;
}

/* ---- Sampling ---- */

static void build_sample(struct wtl_doc *doc, const void *what)
{
	const struct session *session = what;

	wtl_look_doc(doc, &session->look);
}

static int put_sample(struct wtl_buf *buf, const struct session *session,
		      const struct wtl_output_style *style)
{
	const struct settings *settings = session->app->own;

	switch (session->form) {
	case WTL_QUERY_LINES:
		return wtl_look_lines(buf, &session->look, style);
	case WTL_QUERY_LIST:
		return wtl_smi_list(buf, &session->look);
	case WTL_QUERY_LOG:
		return wtl_smi_log(buf, &session->look, settings->sections);
	case WTL_QUERY_XML:
		return wtl_smi_xml(buf, &session->look);
	case WTL_QUERY_MON:
		if (!session->headed)
			wtl_smi_mon_header(buf, &session->mon);
		return wtl_smi_mon_rows(buf, &session->mon, &session->look);
	case WTL_QUERY_CSV:
		if (!session->headed)
			wtl_smi_header(buf, &session->columns);
		return wtl_smi_rows(buf, &session->columns, &session->look);
	case WTL_QUERY_DOCUMENT:
		break;
	}
	return -EINVAL;
}

static int text_sample(struct wtl_buf *buf, const void *what, const struct wtl_output_style *style)
{
	const struct session *session = what;
	struct wtl_buf text;
	int rc;

	if (!session->lines)
		return put_sample(buf, session, style);
	wtl_buf_init(&text, OUTPUT_MAX);
	rc = put_sample(&text, session, style);
	if (rc == 0)
		wtl_redraw(buf, wtl_buf_str(&text), session->lines);
	wtl_buf_done(&text);
	return rc;
}

static int write_sample(struct session *session)
{
	static const struct wtl_thing sample = {.build = build_sample, .text = text_sample};
	const struct wtl_result result = {.thing = &sample, .what = session, .max = OUTPUT_MAX};
	int rc = wtl_sink_write(session->app, session->looker.io, &result);

	session->headed = !session->lines;
	/* The next one is appended. */
	session->app->settings.append = session->app->settings.output_path != NULL;
	return rc;
}

/* If there is no GPU, prints nvidia-smi's message. */
static bool has_devices(const struct session *session)
{
	bool of_gpus =
		session->form == WTL_QUERY_LIST || session->form == WTL_QUERY_MON ||
		(session->form == WTL_QUERY_CSV && session->columns.query != &wtl_smi_query_domain);

	if (!of_gpus || session->looker.n_chosen > 0)
		return true;
	puts("No devices were found");
	return false;
}

/* If the driver keeps accounts, a header alone would mean that there are none. */
static bool has_accounts(const struct session *session)
{
	bool asks = session->form == WTL_QUERY_CSV &&
		    session->columns.query == &wtl_smi_query_accounted;

	for (size_t i = 0; asks && i < session->look.n_gpus; i++) {
		const struct wtl_gpu *gpu = &session->look.gpus[i];
		const struct wtl_gpu_value *mode = &gpu->numbers[WTL_GPU_ACCOUNTING_MODE];

		if (mode->status != WATTLE_STATUS_OK || mode->value == 0)
			continue;
		wtl_complain(session->app,
			     "GPU %u keeps accounts of processes, and wattle does not read those: "
			     "they hold no energy; see --query-compute-apps",
			     gpu->index);
		return true;
	}
	return false;
}

/* A process's use, and the power of Intel's GPUs, need two readings. */
static bool looks_twice(const struct session *session)
{
	const struct wtl_looker *looker = &session->looker;
	size_t n;
	const struct wtl_gpu *gpus = wtl_gpu_reader_gpus(looker->reader, &n);

	if (session->form == WTL_QUERY_MON && session->mon.processes)
		return true;
	for (size_t i = 0; i < looker->n_chosen; i++)
		if (strcmp(gpus[looker->chosen[i]].vendor, "intel") == 0)
			return looker->what & WTL_GPU_READ_NUMBERS;
	return false;
}

static int64_t first_wait_ns(const struct session *session)
{
	const bool has_means = session->form == WTL_QUERY_CSV && session->looker.asks_meter;

	if (session->form == WTL_QUERY_MON && session->mon.processes)
		return session->period_ns;
	if (!has_means)
		return looks_twice(session) ? WTL_LOOKER_GLANCE_NS : 0;
	return session->period_ns > 0 && session->period_ns < LOOK_NS ? session->period_ns
								      : LOOK_NS;
}

/* Why NVIDIA's GPUs cannot be read: if the output has no place for it, and the meter (which loads the library
 * itself) has not said so. */
static void remark_trouble(const struct session *session)
{
	const struct wattle_meter *meter = session->looker.meter;
	bool named = session->app->settings.nvml_path != NULL;

	if (!session->look.trouble[0] || session->form == WTL_QUERY_LINES ||
	    session->form == WTL_QUERY_DOCUMENT)
		return;
	for (size_t i = 0; named && meter && i < meter->catalog.n_misses; i++)
		if (strcmp(meter->catalog.misses[i].source, "nvml") == 0 &&
		    !meter->catalog.misses[i].domain[0])
			return;
	wtl_remark(session->app, "%s", session->look.trouble);
}

static int64_t later(int64_t a_ns, int64_t b_ns)
{
	return a_ns > b_ns ? a_ns : b_ns;
}

static int take_samples(struct session *session)
{
	struct wtl_looker *looker = &session->looker;
	int64_t due_ns = wtl_io_mono_ns(looker->io) + first_wait_ns(session);
	bool over;

	if (looks_twice(session))
		wtl_looker_look(looker, &session->look);
	/* A tape may end before; its content is shown all the same. */
	over = first_wait_ns(session) > 0 && wtl_looker_wait(looker, due_ns) < 0;
	due_ns = later(due_ns, looker->glance_end_ns);
	for (uint64_t n = 0;; n++) {
		wtl_looker_look(looker, &session->look);
		if (n == 0)
			remark_trouble(session);
		if (n == 0 && !has_devices(session))
			return WTL_EXIT_NO_SOURCE;
		if (has_accounts(session) || write_sample(session) < 0)
			return WTL_EXIT_FAILED;
		if (over || (session->count ? n + 1 >= session->count : session->period_ns == 0))
			return WTL_EXIT_DONE;
		due_ns += session->period_ns ? session->period_ns : WTL_NS_PER_S;
		if (wtl_looker_wait(looker, due_ns) < 0)
			return WTL_EXIT_DONE;
	}
}

static int print_help(const struct wtl_smi_query *query)
{
	struct wtl_buf text;

	wtl_buf_init(&text, OUTPUT_MAX);
	wtl_smi_help(&text, query);
	fputs(wtl_buf_str(&text), stdout);
	wtl_buf_done(&text);
	return WTL_EXIT_DONE;
}

static int run_session(struct session *session)
{
	struct wtl_app *app = session->app;
	const struct settings *settings = app->own;
	int code = choose_form(session);

	if (code)
		return code;
	if (wtl_sink_check(app) < 0)
		return WTL_EXIT_FAILED;
	code = wtl_looker_init(&session->looker, app, &settings->gpus, parts(session),
			       asks_meter(session));
	/* Sums in a GPU's row are the whole machine's. */
	session->looker.only_chosen = (settings->gpus.ids || settings->gpus.list) &&
				      !(session->form == WTL_QUERY_CSV &&
					session->columns.query != &wtl_smi_query_domain);
	if (!code)
		code = take_samples(session);
	wtl_looker_done(&session->looker);
	return code;
}

static int run(struct wtl_app *app)
{
	const struct settings *settings = app->own;
	struct session *session;
	int code;

	if (settings->help)
		return print_help(settings->help);
	session = calloc(1, sizeof(*session));
	if (!session) {
		wtl_complain(app, "out of memory");
		return WTL_EXIT_FAILED;
	}
	session->app = app;
	code = run_session(session);
	free(session);
	return code;
}

const struct wtl_command wtl_command_query = {
	.name = "query",
	.summary = "Show GPUs and power now, also as nvidia-smi would print it",
	.synopsis = "[dmon|pmon] [OPTION...]",
	.description =
		"Without options: a line a GPU (temperature, use, power and its limit, memory, who is on "
		"it), and the power of the processors and the memory.\n\n"
		"With --query-gpu, --query-compute-apps, -L, -x, dmon or pmon: what nvidia-smi prints for "
		"the same options, for GPUs of any maker. What is not known is [N/A]. There are fields "
		"beyond nvidia-smi's, such as energy.total, power.uncertainty and cpu.power.draw: see "
		"--help-query-gpu.\n\n"
		"With --format json: everything, typed, with units in the names; one line a sample with "
		"--loop.\n\n"
		"A GPU that sleeps is not woken.",
	.examples =
		"wattle query\n"
		"    a line a GPU\n\n"
		"wattle query --watch\n"
		"    the same every 2 s, in place\n\n"
		"wattle query --query-gpu=name,power.draw --format=csv,noheader,nounits -lms 200\n"
		"    as nvidia-smi, every 200 ms\n\n"
		"wattle query --query-gpu=name,energy.total,cpu.power.draw --format=csv -l 1\n"
		"    with joules, and the processors' watts\n\n"
		"wattle query --query-domain=name,power.draw,power.uncertainty --format=csv\n"
		"    every energy domain with its uncertainty\n\n"
		"wattle query dmon -s pucm -d 5\n"
		"    columns that scroll\n\n"
		"wattle query --format json -l 10 -f gpus.jsonl\n"
		"    everything, a line every 10 s",
	.exit_status = "0\tdone\n"
		       "1\tfailed\n"
		       "2\tbad options, or a field that there is not\n"
		       "3\tno GPU where only GPUs are told, or none of that name",
	.options = options,
	.shared = shared,
	.word = &words,
	.settings_size = sizeof(struct settings),
	.skips_equals = true,
	.measures = true,
	.usage_exit = WTL_EXIT_USAGE,
	.run = run,
};
