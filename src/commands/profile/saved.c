/* SPDX-License-Identifier: MIT */
/* The content of a .wprof file, in its order. One description both writes and reads: see pack.h. */
#include "commands/profile/saved.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/buf.h"
#include "base/err.h"
#include "commands/profile/format.h"
#include "commands/profile/saved_parts.h"
#include "record/code.h"
#include "record/crc.h"

#define MAGIC	"wattle profile "
#define VERSION "3\n"

enum { HEAD = sizeof(MAGIC) + sizeof(VERSION) - 2, COMPRESSION = 6, DOMAINS_MAX = 1024 };
/* The most bytes of a file's content, and of memory to read it. */
#define CONTENT_MAX ((size_t)512 << 20)
#define MEMORY_MAX  ((size_t)2 << 30)

enum { HOW_STORED, HOW_ZSTD };

/* ---- Facts ---- */

static void pack_place(struct wtl_pack *pack, struct wtl_report_place *place)
{
	WTL_PACK_FIELD(pack, place->carbon.intensity_mg_per_kwh);
	WTL_PACK_FIELD(pack, place->carbon.year);
	WTL_PACK_FIELD(pack, place->carbon.uncertainty_ppm);
	WTL_PACK_CHARS(pack, place->carbon.location);
	WTL_PACK_CHARS(pack, place->carbon.dataset);
	WTL_PACK_CHARS(pack, place->carbon.place);
	wtl_pack_flag(pack, &place->is_default);
	WTL_PACK_FIELD(pack, place->pue_milli);
}

static void pack_facts(struct wtl_pack *pack, struct wtl_saved *saved)
{
	struct wtl_profile *profile = &saved->profile;
	char **words;
	size_t n;

	wtl_pack_text(pack, &saved->host);
	n = wtl_pack_texts(pack, &saved->command, &saved->n_command, sizeof(*saved->command));
	words = saved->command;
	for (size_t i = 0; i < n; i++) {
		wtl_pack_name(pack, &words[i]);
		if (!words[i] && pack->error == 0)
			pack->error = -EBADMSG;
	}
	WTL_PACK_FIELD(pack, profile->pid);
	WTL_PACK_FIELD(pack, profile->hz);
	WTL_PACK_FIELD(pack, profile->stack_bytes);
	WTL_PACK_FIELD(pack, profile->interval_ns);
	WTL_PACK_FIELD(pack, profile->own_cpu_ns);
	WTL_PACK_FIELD(pack, profile->n_unseen);
	WTL_PACK_FIELD(pack, saved->window.begin_utc_ns);
	WTL_PACK_FIELD(pack, saved->window.begin_mono_ns);
	WTL_PACK_FIELD(pack, saved->window.duration_ns);
	WTL_PACK_FIELD(pack, profile->dynamic_uj);
	WTL_PACK_FIELD(pack, profile->idle_uj);
	WTL_PACK_FIELD(pack, profile->uncertainty_uj);
	wtl_pack_flag(pack, &profile->has_idle);
	pack_place(pack, &profile->place);
	if (pack->out || pack->version >= 3)
		wtl_pack_text(pack, &profile->policy);
}

static void pack_windows(struct wtl_pack *pack, struct wtl_saved *saved)
{
	size_t n =
		wtl_pack_texts(pack, &saved->windows, &saved->n_windows, sizeof(*saved->windows));

	for (size_t i = 0; i < n; i++)
		WTL_PACK_CHARS(pack, saved->windows[i].name);
	WTL_PACK_COLUMN(pack, saved->windows, n, begin_ns);
	WTL_PACK_COLUMN(pack, saved->windows, n, end_ns);
}

static void pack_ledger(struct wtl_pack *pack, struct wtl_ledger *ledger)
{
	wtl_pack_flag(pack, &ledger->has_idle);
	WTL_PACK_FIELD(pack, ledger->live_uj);
	WTL_PACK_FIELD(pack, ledger->exited_uj);
	WTL_PACK_FIELD(pack, ledger->kernel_uj);
	WTL_PACK_FIELD(pack, ledger->idle_uj);
	WTL_PACK_FIELD(pack, ledger->unattributed_uj);
	WTL_PACK_FIELD(pack, ledger->total_uj);
}

static void pack_domains(struct wtl_pack *pack, struct wtl_saved *saved)
{
	size_t n = saved->split.n_domains;

	n = wtl_pack_texts(pack, &saved->domains, &n, sizeof(*saved->domains));
	if (n > DOMAINS_MAX && pack->error == 0)
		pack->error = -EBADMSG;
	if (!pack->out && pack->error == 0) {
		saved->split.n_domains = n;
		saved->ledgers = calloc(n + 1, sizeof(*saved->ledgers));
		saved->counts = calloc(n + 1, sizeof(*saved->counts));
		if (!saved->ledgers || !saved->counts)
			pack->error = -ENOMEM;
	}
	for (size_t i = 0; i < n && pack->error == 0; i++) {
		struct wtl_profile_domain *domain = &saved->domains[i];

		WTL_PACK_CHARS(pack, domain->name);
		WTL_PACK_CHARS(pack, domain->source);
		WTL_PACK_FIELD(pack, domain->kind);
		WTL_PACK_FIELD(pack, domain->method);
		wtl_pack_flag(pack, &domain->learns);
		wtl_pack_flag(pack, &saved->counts[i]);
		pack_ledger(pack, &saved->ledgers[i]);
		if (!pack->out && pack->version < 2)
			continue;
		wtl_pack_flag(pack, &domain->has_profiler);
		WTL_PACK_FIELD(pack, domain->profiler_uj);
	}
}

/* ---- Energy over time ---- */

/* Packs the energies of n rows, domain by domain. */
static void pack_energies(struct wtl_pack *pack, size_t n, size_t n_domains,
			  uint64_t *(*at)(struct wtl_saved *saved, size_t row, size_t domain),
			  struct wtl_saved *saved)
{
	uint64_t *column = calloc(n + 1, sizeof(*column));

	if (!column)
		pack->error = -ENOMEM;
	for (size_t domain = 0; domain < n_domains && pack->error == 0; domain++) {
		for (size_t i = 0; pack->out && i < n; i++)
			column[i] = *at(saved, i, domain);
		wtl_pack_column(pack, column, n, sizeof(*column), sizeof(*column));
		for (size_t i = 0; !pack->out && pack->error == 0 && i < n; i++)
			*at(saved, i, domain) = column[i];
	}
	free(column);
}

static uint64_t *at_tick(struct wtl_saved *saved, size_t row, size_t domain)
{
	return &saved->split.ticks[row].energy_uj[domain];
}

static uint64_t *at_bill_dynamic(struct wtl_saved *saved, size_t row, size_t domain)
{
	return &saved->split.bills[row].dynamic_uj[domain];
}

static uint64_t *at_bill_idle(struct wtl_saved *saved, size_t row, size_t domain)
{
	return &saved->split.bills[row].idle_uj[domain];
}

static uint64_t *at_bill_power(struct wtl_saved *saved, size_t row, size_t domain)
{
	return &saved->split.bills[row].idle_uw[domain];
}

static uint64_t *at_node_dynamic(struct wtl_saved *saved, size_t row, size_t domain)
{
	return &saved->result.dynamic_uj[row * saved->result.n_domains + domain];
}

static uint64_t *at_node_doubt(struct wtl_saved *saved, size_t row, size_t domain)
{
	return &saved->result.doubt_uj[row * saved->result.n_domains + domain];
}

static uint64_t *at_node_idle(struct wtl_saved *saved, size_t row, size_t domain)
{
	return &saved->result.idle_uj[row * saved->result.n_domains + domain];
}

/* Allocates the energies of ticks and bills that were read. */
static void add_rooms(struct wtl_pack *pack, struct wtl_split *split)
{
	for (size_t i = 0; i < split->n_ticks && pack->error == 0; i++)
		if (!(split->ticks[i].energy_uj = calloc(split->n_domains + 1, sizeof(uint64_t))))
			pack->error = -ENOMEM;
	for (size_t i = 0; i < split->n_bills && pack->error == 0; i++) {
		uint64_t *energies = calloc(3 * split->n_domains + 1, sizeof(*energies));

		split->bills[i].dynamic_uj = energies;
		if (!energies) {
			pack->error = -ENOMEM;
			return;
		}
		split->bills[i].idle_uj = energies + split->n_domains;
		split->bills[i].idle_uw = energies + 2 * split->n_domains;
	}
}

static void pack_split(struct wtl_pack *pack, struct wtl_saved *saved)
{
	struct wtl_split *split = &saved->split;
	size_t n_ticks, n_bills;

	WTL_PACK_FIELD(pack, split->begin_ns);
	n_ticks = wtl_pack_array(pack, &split->ticks, &split->n_ticks, sizeof(*split->ticks));
	WTL_PACK_COLUMN(pack, split->ticks, n_ticks, t_ns);
	n_bills = wtl_pack_array(pack, &split->bills, &split->n_bills, sizeof(*split->bills));
	WTL_PACK_COLUMN(pack, split->bills, n_bills, t_ns);
	WTL_PACK_COLUMN(pack, split->bills, n_bills, busy_ns);
	WTL_PACK_COLUMN(pack, split->bills, n_bills, own_ns);
	if (!pack->out)
		add_rooms(pack, split);
	if (pack->error < 0)
		return;
	pack_energies(pack, n_ticks, split->n_domains, at_tick, saved);
	pack_energies(pack, n_bills, split->n_domains, at_bill_dynamic, saved);
	pack_energies(pack, n_bills, split->n_domains, at_bill_idle, saved);
	pack_energies(pack, n_bills, split->n_domains, at_bill_power, saved);
}

/* Counts the samples of nodes and threads again: files do not have these. */
static void count_samples(struct wtl_pack *pack, struct wtl_saved *saved)
{
	const struct wtl_trace *trace = &saved->trace;

	for (size_t i = 0; i < trace->n_samples; i++) {
		const struct wtl_trace_sample *sample = &trace->samples[i];

		if (sample->node >= saved->result.n_nodes || sample->thread >= trace->n_threads) {
			pack->error = -EBADMSG;
			return;
		}
		saved->result.n_samples[sample->node]++;
		trace->threads[sample->thread].n_samples++;
	}
}

static void pack_result(struct wtl_pack *pack, struct wtl_saved *saved)
{
	struct wtl_split_result *result = &saved->result;
	size_t n = saved->trace.tree.n_nodes + WTL_SPLIT_ROWS, n_domains = saved->split.n_domains;

	if (!pack->out && pack->error == 0) {
		*result = (struct wtl_split_result){.n_domains = n_domains,
						    .n_nodes = n - WTL_SPLIT_ROWS};
		result->dynamic_uj = calloc(n * n_domains + 1, sizeof(uint64_t));
		result->idle_uj = calloc(n * n_domains + 1, sizeof(uint64_t));
		result->doubt_uj = calloc(n * n_domains + 1, sizeof(uint64_t));
		result->n_samples = calloc(n, sizeof(uint64_t));
		if (!result->dynamic_uj || !result->idle_uj || !result->doubt_uj ||
		    !result->n_samples)
			pack->error = -ENOMEM;
	}
	n = wtl_pack_array(pack, &result->cpu_ns, &n, sizeof(*result->cpu_ns));
	if (n != saved->trace.tree.n_nodes + WTL_SPLIT_ROWS && pack->error == 0)
		pack->error = -EBADMSG;
	if (pack->error < 0)
		return;
	wtl_pack_column(pack, result->cpu_ns, n, sizeof(*result->cpu_ns), sizeof(*result->cpu_ns));
	pack_energies(pack, n, n_domains, at_node_dynamic, saved);
	pack_energies(pack, n, n_domains, at_node_idle, saved);
	pack_energies(pack, n, n_domains, at_node_doubt, saved);
	if (!pack->out && pack->error == 0)
		count_samples(pack, saved);
}

/* Nodes' time on no processor: only in files of --wall. */
static void pack_waits(struct wtl_pack *pack, struct wtl_saved *saved)
{
	struct wtl_split_result *result = &saved->result;
	size_t n = result->n_nodes;

	n = wtl_pack_array(pack, &result->wait_ns, &n, sizeof(*result->wait_ns));
	if (n != result->n_nodes && pack->error == 0)
		pack->error = -EBADMSG;
	wtl_pack_column(pack, result->wait_ns, n, sizeof(*result->wait_ns),
			sizeof(*result->wait_ns));
}

/* ---- Memory ---- */

static void pack_memory(struct wtl_pack *pack, struct wtl_saved *saved)
{
	struct wtl_memory *memory = &saved->memory;
	size_t n;

	wtl_pack_flag(pack, &saved->has_memory);
	if (!saved->has_memory || pack->error < 0)
		return;
	wtl_pack_flag(pack, &memory->is_full);
	WTL_PACK_FIELD(pack, memory->n_halved);
	n = wtl_pack_array(pack, &memory->processes, &memory->n, sizeof(*memory->processes));
	for (size_t i = 0; !pack->out && i < n; i++)
		memory->processes[i].statm = -1;
	WTL_PACK_COLUMN(pack, memory->processes, n, pid);
	WTL_PACK_COLUMN(pack, memory->processes, n, peak_rss);
	WTL_PACK_COLUMN(pack, memory->processes, n, peak_pss);
	for (size_t i = 0; i < n; i++) {
		struct wtl_memory_process *process = &memory->processes[i];
		size_t n_readings = wtl_pack_array(pack, &process->readings, &process->n,
						   sizeof(*process->readings));

		WTL_PACK_COLUMN(pack, process->readings, n_readings, t_ns);
		WTL_PACK_COLUMN(pack, process->readings, n_readings, rss);
		WTL_PACK_COLUMN(pack, process->readings, n_readings, node);
		for (size_t k = 0; !pack->out && k < n_readings; k++)
			process->readings[k].before = process->readings[k > 0 ? k - 1 : 0].rss;
	}
}

static int pack_all(struct wtl_pack *pack, struct wtl_saved *saved)
{
	pack_facts(pack, saved);
	pack_windows(pack, saved);
	pack_domains(pack, saved);
	wtl_saved_pack_trace(pack, &saved->trace);
	wtl_saved_pack_places(pack, &saved->places);
	wtl_saved_pack_calls(pack, saved);
	pack_split(pack, saved);
	pack_result(pack, saved);
	pack_memory(pack, saved);
	if (pack->out ? saved->result.wait_ns != NULL : pack->at < pack->end)
		pack_waits(pack, saved);
	return pack->error;
}

/* ---- Writing ---- */

static int put_content(struct wtl_buf *buf, const struct wtl_buf *content)
{
	ZSTD_CCtx *zstd = ZSTD_createCCtx();
	size_t bound = ZSTD_compressBound(content->len), n = 0;
	uint8_t how = HOW_STORED;

	if (zstd && wtl_buf_reserve(buf, 1 + bound) == 0) {
		n = ZSTD_compressCCtx(zstd, buf->data + buf->len + 1, bound, content->data,
				      content->len, COMPRESSION);
		how = ZSTD_isError(n) ? HOW_STORED : HOW_ZSTD;
	}
	ZSTD_freeCCtx(zstd);
	if (how == HOW_STORED) {
		wtl_buf_putc(buf, HOW_STORED);
		return wtl_buf_add(buf, content->data, content->len);
	}
	buf->data[buf->len] = HOW_ZSTD;
	buf->len += 1 + n;
	buf->data[buf->len] = '\0';
	return buf->error;
}

/* Writes the version, the content's length and CRC-32 (four bytes each, little-endian), its encoding, and itself. */
int wtl_saved_wrap(struct wtl_buf *buf, const struct wtl_buf *content)
{
	uint32_t numbers[2] = {(uint32_t)content->len, wtl_crc_add(0, content->data, content->len)};

	wtl_buf_puts(buf, MAGIC VERSION);
	wtl_buf_add(buf, numbers, sizeof(numbers));
	return put_content(buf, content);
}

int wtl_saved_write(struct wtl_buf *buf, const struct wtl_profile *profile)
{
	/* A copy, as packing takes pointers; it does not change them. */
	struct wtl_saved saved = {.profile = *profile,
				  .trace = *profile->trace,
				  .calls = *profile->calls,
				  .split = *profile->ticks,
				  .result = *profile->split,
				  .places = *profile->places,
				  .window = *profile->window,
				  .domains = profile->domains,
				  .ledgers = profile->ledgers,
				  .counts = profile->counts,
				  .command = profile->command,
				  .memory = profile->memory ? *profile->memory
							    : (struct wtl_memory){.n = 0},
				  .has_memory = profile->memory != NULL,
				  .windows = profile->windows,
				  .n_windows = profile->n_windows,
				  .host = profile->host};
	struct wtl_buf content;
	struct wtl_pack pack = {.out = &content};
	int rc;

	while (saved.command && saved.command[saved.n_command])
		saved.n_command++;
	wtl_buf_init(&content, CONTENT_MAX);
	rc = pack_all(&pack, &saved);
	rc = rc < 0 ? rc : wtl_saved_wrap(buf, &content);
	wtl_buf_done(&content);
	return rc;
}

static int write_wprof(struct wtl_buf *buf, const struct wtl_stacks *stacks)
{
	return wtl_saved_write(buf, stacks->profile);
}

const struct wtl_profile_format wtl_profile_format_wprof = {
	.name = "wprof", .suffixes = ".wprof", .write = write_wprof};

/* ---- Reading ---- */

static int get_content(struct wtl_buf *content, const uint8_t *at, size_t len, size_t size)
{
	ZSTD_DCtx *zstd;
	size_t n;

	if (len < 1 || size == 0 || size > CONTENT_MAX)
		return -EBADMSG;
	if (at[0] == HOW_STORED)
		return len - 1 == size ? wtl_buf_add(content, at + 1, size) : -EBADMSG;
	if (at[0] != HOW_ZSTD)
		return -EBADMSG;
	if (wtl_buf_reserve(content, size) < 0)
		return content->error;
	zstd = ZSTD_createDCtx();
	if (!zstd)
		return -ELIBACC;
	n = ZSTD_decompressDCtx(zstd, content->data, size, at + 1, len - 1);
	ZSTD_freeDCtx(zstd);
	content->len = ZSTD_isError(n) ? 0 : n;
	return content->len == size ? 0 : -EBADMSG;
}

int wtl_saved_unwrap(struct wtl_buf *content, struct wtl_pack *pack, const void *bytes, size_t len)
{
	const char *at = bytes;
	uint32_t numbers[2];
	int rc;

	wtl_buf_init(content, CONTENT_MAX);
	if (len < HEAD + sizeof(numbers) || memcmp(at, MAGIC, sizeof(MAGIC) - 1) != 0)
		return -EBADMSG;
	if (at[sizeof(MAGIC) - 1] < '1' || at[sizeof(MAGIC) - 1] > VERSION[0] ||
	    at[HEAD - 1] != '\n')
		return -ENOTSUP;
	pack->version = (unsigned)(at[sizeof(MAGIC) - 1] - '0');
	memcpy(numbers, at + HEAD, sizeof(numbers));
	rc = get_content(content, (const uint8_t *)at + HEAD + sizeof(numbers),
			 len - HEAD - sizeof(numbers), numbers[0]);
	if (rc == 0 && wtl_crc_add(0, content->data, content->len) != numbers[1])
		rc = -EBADMSG;
	if (rc < 0)
		return rc;
	pack->at = (const uint8_t *)content->data;
	pack->end = pack->at + content->len;
	return 0;
}

int wtl_saved_join(struct wtl_saved *saved)
{
	struct wtl_profile *profile = &saved->profile;

	saved->calls.n_domains = saved->split.n_domains;
	saved->trace.n_taken = (uint64_t)saved->trace.n_samples << saved->trace.n_halved;
	/* How many of these are of threads that waited, files do not tell. */
	saved->trace.n_broken_ran = saved->result.wait_ns ? 0 : saved->trace.n_broken;
	profile->command = saved->n_command > 0 ? saved->command : NULL;
	profile->host = saved->host;
	profile->calls = &saved->calls;
	profile->trace = &saved->trace;
	profile->split = &saved->result;
	profile->ticks = &saved->split;
	profile->domains = saved->domains;
	profile->memory = saved->has_memory ? &saved->memory : NULL;
	profile->windows = saved->windows;
	profile->n_windows = saved->n_windows;
	profile->places = &saved->places;
	profile->window = &saved->window;
	profile->ledgers = saved->ledgers;
	profile->counts = saved->counts;
	return saved->calls.own ? 0 : wtl_calls_add_up(&saved->calls, &saved->result);
}

static int read_content(struct wtl_saved *saved, const void *bytes, size_t len)
{
	struct wtl_pack pack = {.room = MEMORY_MAX};
	struct wtl_buf content;
	int rc;

	rc = wtl_saved_unwrap(&content, &pack, bytes, len);
	if (rc == 0)
		rc = pack_all(&pack, saved);
	wtl_buf_done(&content);
	if (rc == 0 && pack.at != pack.end)
		rc = -EBADMSG;
	if (rc == 0)
		rc = wtl_places_index(&saved->places);
	if (rc == 0 && !wtl_saved_is_sound(saved))
		rc = -EBADMSG;
	return rc == 0 ? wtl_saved_join(saved) : rc;
}

int wtl_saved_read(struct wtl_saved *saved, const void *bytes, size_t len, struct wtl_err *err)
{
	int rc;

	*saved = (struct wtl_saved){.n_command = 0};
	rc = read_content(saved, bytes, len);
	if (rc == 0)
		return 0;
	return wtl_err_set(err, rc, "profile", NULL, "%s",
			   rc == -EBADMSG   ? "it is no profile of wattle, or it is damaged"
			   : rc == -ENOTSUP ? "it was written by a newer wattle: install that one"
			   : rc == -ELIBACC ? "it needs libzstd.so.1 (package libzstd1)"
			   : rc == -ENOMEM  ? "out of memory"
			   : rc == -EFBIG   ? "it needs more than 2 GiB of memory"
					    : wtl_err_text(rc));
}

void wtl_saved_done(struct wtl_saved *saved)
{
	for (size_t i = 0; i < saved->n_command; i++)
		free(saved->command[i]);
	free(saved->command);
	free(saved->host);
	free(saved->profile.policy);
	free(saved->domains);
	free(saved->windows);
	wtl_memory_done(&saved->memory);
	free(saved->ledgers);
	free(saved->counts);
	free(saved->trace.threads);
	free(saved->trace.slices);
	free(saved->trace.samples);
	wtl_tree_done(&saved->trace.tree);
	wtl_modules_done(&saved->trace.modules);
	wtl_calls_done(&saved->calls);
	wtl_split_done(&saved->split);
	wtl_split_result_done(&saved->result);
	wtl_places_done(&saved->places);
}
