/* SPDX-License-Identifier: MIT */
#include "serve/live_doc.h"

#include <errno.h>

#include "base/buf.h"
#include "document/doc.h"
#include "document/writer.h"
#include "replay/device.h"
#include "serve/live.h"

static const char *const account_keys[WTL_TOTALS_ACCOUNTS] = {
	[WTL_TOTALS_PROCESSES] = "processes_j",
	[WTL_TOTALS_KERNEL] = "kernel_j",
	[WTL_TOTALS_IDLE] = "idle_j",
	[WTL_TOTALS_UNATTRIBUTED] = "unattributed_j",
};

/* ---- Steps ---- */

enum { STEP = 1000 };

void wtl_live_put_milli(struct wtl_node *to, const char *key, uint64_t micro)
{
	wtl_doc_fixed(to, key, micro / STEP, 3);
}

void wtl_live_put_milli_up(struct wtl_node *to, const char *key, uint64_t micro)
{
	wtl_doc_fixed(to, key, micro / STEP + (micro % STEP > 0), 3);
}

static uint64_t coarse(uint64_t uj)
{
	return uj - uj % STEP;
}

uint64_t wtl_live_sum_accounts(const uint64_t uj[WTL_TOTALS_ACCOUNTS])
{
	uint64_t sum_uj = 0;

	for (size_t i = 0; i < WTL_TOTALS_ACCOUNTS; i++)
		sum_uj += coarse(uj[i]);
	return sum_uj;
}

/* ---- Domains ---- */

void wtl_live_put_accounts(struct wtl_node *to, const char *key,
			   const uint64_t uj[WTL_TOTALS_ACCOUNTS])
{
	struct wtl_node *accounts = wtl_doc_object(to, key);

	for (size_t i = 0; i < WTL_TOTALS_ACCOUNTS; i++)
		wtl_live_put_milli(accounts, account_keys[i], uj[i]);
}

static void describe(struct wtl_node *to, const struct wtl_live_domain *domain)
{
	wtl_doc_text(to, "name", domain->name);
	wtl_doc_text(to, "kind", wattle_kind_name(domain->kind));
	wtl_doc_known(to, "inside", domain->inside);
	wtl_doc_flag(to, "in_total", domain->in_total);
	wtl_doc_known(to, "source", domain->source);
	wtl_doc_text(to, "method", wattle_method_name(domain->method));
	wtl_doc_text(to, "status", wattle_status_name(domain->status));
	wtl_doc_known(to, "reason", domain->reason);
	wtl_doc_known(to, "device", domain->device);
	wtl_doc_known(to, "uuid", domain->uuid);
}

static void put_domain(struct wtl_node *to, const struct wtl_live_domain *domain)
{
	describe(to, domain);
	if (domain->has_power) {
		wtl_live_put_milli(to, "power_w", domain->power_uw);
		wtl_live_put_milli_up(to, "power_uncertainty_w", domain->power_uncertainty_uw);
	}
	if (domain->has_idle) {
		wtl_live_put_milli(to, "idle_w", domain->idle_uw);
		wtl_live_put_milli_up(to, "idle_uncertainty_w", domain->idle_uncertainty_uw);
	}
	wtl_live_put_milli(to, "energy_j", wtl_live_sum_accounts(domain->accounts_uj));
	wtl_live_put_accounts(to, "accounts", domain->accounts_uj);
	if (!domain->has_energy)
		return;
	wtl_live_put_milli(to, "measured_j", domain->measured_uj);
	wtl_live_put_milli_up(to, "uncertainty_j", domain->uncertainty_uj);
	wtl_doc_seconds(to, "measured_s", domain->measured_ns);
	wtl_doc_seconds(to, "gap_s", domain->gap_ns);
}

static void put_domains(struct wtl_node *root, const struct wtl_live *live)
{
	struct wtl_node *total = wtl_doc_object(root, "total"), *domains, *missing;
	uint64_t accounts_uj[WTL_TOTALS_ACCOUNTS] = {0}, energy_uj = live->energy_uj;

	for (size_t i = 0; i < live->n_domains; i++) {
		const struct wtl_live_domain *domain = &live->domains[i];

		if (!domain->in_total)
			continue;
		for (size_t k = 0; k < WTL_TOTALS_ACCOUNTS; k++)
			accounts_uj[k] += coarse(domain->accounts_uj[k]);
		energy_uj -= domain->energy_uj - wtl_live_sum_accounts(domain->accounts_uj);
	}
	wtl_doc_flag(total, "is_complete", live->is_complete);
	if (live->has_power) {
		wtl_live_put_milli(total, "power_w", live->power_uw);
		wtl_live_put_milli_up(total, "power_uncertainty_w", live->power_uncertainty_uw);
	}
	wtl_live_put_milli(total, "energy_j", energy_uj);
	wtl_live_put_accounts(total, "accounts", accounts_uj);
	domains = wtl_doc_list(root, "domains");
	for (size_t i = 0; i < live->n_domains; i++)
		put_domain(wtl_doc_object(domains, NULL), &live->domains[i]);
	missing = wtl_doc_list(root, "missing");
	for (size_t i = 0; i < live->n_misses; i++) {
		const struct wtl_live_miss *miss = &live->misses[i];
		struct wtl_node *to = wtl_doc_object(missing, NULL);

		wtl_doc_known(to, "source", miss->source);
		wtl_doc_known(to, "domain", miss->domain);
		wtl_doc_text(to, "status", wattle_status_name(miss->status));
		wtl_doc_text(to, "reason", miss->reason);
		wtl_doc_known(to, "remedy", miss->remedy);
	}
}

/* ---- Who used it ---- */

static void put_parts(struct wtl_node *to, const struct wtl_live *live, size_t group)
{
	struct wtl_node *list = wtl_doc_list(to, "domains");

	for (size_t i = 0; i < live->n_domains; i++) {
		uint64_t dynamic_uj = wtl_live_energy(live, group, i, WTL_TOTALS_DYNAMIC);
		uint64_t idle_uj = wtl_live_energy(live, group, i, WTL_TOTALS_IDLE_PART);
		struct wtl_node *part;

		if (dynamic_uj + idle_uj == 0)
			continue;
		part = wtl_doc_object(list, NULL);
		wtl_doc_text(part, "name", live->domains[i].name);
		wtl_live_put_milli(part, "dynamic_j", dynamic_uj);
		wtl_live_put_milli(part, "idle_j", idle_uj);
	}
}

static uint64_t sum_parts(const struct wtl_live *live, size_t group, enum wtl_totals_part part)
{
	uint64_t sum_uj = 0;

	for (size_t i = 0; i < live->n_domains; i++)
		if (live->domains[i].in_total)
			sum_uj += coarse(wtl_live_energy(live, group, i, part));
	return sum_uj;
}

static void put_group(struct wtl_node *to, const struct wtl_live *live, size_t group, bool is_whole)
{
	wtl_doc_text(to, "name", live->groups[group].name);
	wtl_doc_known(to, "title", live->groups[group].title);
	wtl_live_put_milli(to, "power_w", live->groups[group].power_uw);
	wtl_live_put_milli(to, "dynamic_j", sum_parts(live, group, WTL_TOTALS_DYNAMIC));
	wtl_live_put_milli(to, "idle_j", sum_parts(live, group, WTL_TOTALS_IDLE_PART));
	if (is_whole)
		put_parts(to, live, group);
}

static void put_groups(struct wtl_node *root, const struct wtl_live *live, bool is_whole)
{
	struct wtl_node *groups = wtl_doc_object(root, "groups");

	for (size_t by = 0; by < WTL_TOTALS_GROUPINGS; by++) {
		struct wtl_node *list =
			wtl_doc_list(groups, wtl_field_info(wtl_totals_groupings[by])->name);

		for (size_t i = 0; i < live->n_groups; i++)
			if (live->groups[i].by == by)
				put_group(wtl_doc_object(list, NULL), live, i, is_whole);
	}
}

static void put_processes(struct wtl_node *root, const struct wtl_live *live)
{
	struct wtl_node *list;

	wtl_doc_count(root, "running", live->n_running);
	list = wtl_doc_list(root, "processes");
	for (size_t i = 0; i < live->n_processes; i++) {
		const struct wtl_live_process *process = &live->processes[i];
		struct wtl_node *to = wtl_doc_object(list, NULL);

		if (process->pid > 0)
			wtl_doc_integer(to, "pid", process->pid);
		wtl_doc_text(to, "name", process->name);
		wtl_doc_known(to, "user", process->user);
		wtl_doc_fixed(to, "cpu_percent", process->cpu_ppm, 4);
		wtl_live_put_milli(to, "power_w", process->power_uw);
		if (process->has_dynamic)
			wtl_live_put_milli(to, "dynamic_w", process->dynamic_uw);
		wtl_live_put_milli(to, "energy_j", process->energy_uj);
		wtl_live_put_milli_up(to, "uncertainty_j", process->uncertainty_uj);
		if (process->has_dynamic)
			wtl_live_put_milli(to, "dynamic_j", process->dynamic_uj);
	}
}

/* ---- Beside energy ---- */

static void put_gpus(struct wtl_node *root, const struct wtl_live *live)
{
	struct wtl_node *list = wtl_doc_list(root, "gpus");

	for (size_t i = 0; i < live->n_gpus; i++) {
		const struct wtl_live_gpu *gpu = &live->gpus[i];
		struct wtl_node *to = wtl_doc_object(list, NULL);

		wtl_doc_known(to, "domain", gpu->domain);
		wtl_doc_known(to, "name", gpu->name);
		wtl_doc_known(to, "uuid", gpu->uuid);
		for (size_t k = 0; k < WTL_DEVICE_NUMBERS; k++) {
			const char *key = wtl_device_quantities[k].name;

			if (!(gpu->has & UINT64_C(1) << k))
				continue;
			if (k == WTL_DEVICE_LIMIT_UW)
				wtl_live_put_milli(to, key, (uint64_t)gpu->values[k]);
			else
				wtl_doc_integer(to, key, gpu->values[k]);
		}
	}
}

static void put_push(struct wtl_node *root, const struct wtl_live_push *push)
{
	static const char *const words[] = {[WTL_LIVE_NOT_VERIFIED] = "not verified",
					    [WTL_LIVE_NOT_YET] = "not yet",
					    [WTL_LIVE_STORED] = "stored",
					    [WTL_LIVE_MISSING] = "missing"};
	struct wtl_node *node;

	if (!push->is_on)
		return;
	node = wtl_doc_object(root, "push");
	wtl_doc_count(node, "samples", push->sent);
	wtl_doc_count(node, "repeated_samples", push->repeated);
	wtl_doc_count(node, "refused_samples", push->refused);
	wtl_doc_count(node, "no_room_samples", push->no_room);
	wtl_doc_count(node, "dropped_rows", push->dropped);
	wtl_doc_count(node, "requests", push->requests);
	wtl_doc_count(node, "failures", push->failures);
	wtl_doc_count(node, "bytes", push->bytes);
	wtl_doc_seconds(node, "behind_s", push->behind_ns);
	wtl_doc_text(node, "stored", words[push->stored]);
}

static void put_beside(struct wtl_node *root, const struct wtl_live *live)
{
	struct wtl_node *carbon = wtl_doc_object(root, "carbon");
	struct wtl_node *self = wtl_doc_object(root, "self");
	struct wtl_node *store = wtl_doc_object(root, "store");

	wtl_doc_fixed(carbon, "gco2e", live->emitted_ug, 6);
	wtl_doc_fixed(carbon, "gco2e_uncertainty", live->emitted_uncertainty_ug, 6);
	wtl_doc_fixed(carbon, "intensity_g_per_kwh", live->intensity_mg_per_kwh, 3);
	wtl_doc_text(carbon, "location", live->location);
	wtl_doc_known(carbon, "dataset", live->dataset);
	wtl_doc_flag(carbon, "is_default", live->is_default_place);
	wtl_doc_seconds(self, "cpu_s", live->cpu_ns);
	wtl_doc_count(self, "rss_bytes", live->rss_bytes);
	wtl_doc_count(self, "ticks", live->ticks);
	wtl_doc_count(self, "late_ticks", live->late_ticks);
	if (live->has_self_energy) {
		wtl_live_put_milli(self, "energy_j", live->self_uj);
		wtl_live_put_milli_up(self, "uncertainty_j", live->self_uncertainty_uj);
	}
	wtl_doc_flag(store, "is_recorded", live->is_recorded);
	wtl_doc_known(store, "recording", live->recording);
	if (live->recording[0])
		wtl_doc_seconds(store, "unrecorded_s", live->unrecorded_ns);
	put_push(root, &live->push);
}

/* ---- All of it ---- */

static void put_live(struct wtl_node *root, const struct wtl_live *live, bool is_whole)
{
	wtl_doc_schema(root, "wattle.live/1");
	wtl_doc_known(root, "host", live->host);
	wtl_doc_count(root, "number", live->number);
	wtl_doc_utc(root, "t_utc", live->t_utc_ns);
	wtl_doc_utc(root, "begin_utc", live->begin_utc_ns);
	wtl_doc_utc(root, "counters_since_utc", live->counters_utc_ns);
	wtl_doc_seconds(root, "interval_s", live->interval_ns);
	put_domains(root, live);
	put_groups(root, live, is_whole);
	put_processes(root, live);
	put_gpus(root, live);
	put_beside(root, live);
}

int wtl_live_json(const struct wtl_live *live, bool is_whole, struct wtl_buf *buf)
{
	static const struct wtl_output_style style = {.append = true};
	struct wtl_doc doc;
	int rc;

	if (!wtl_live_adds_up(live))
		return -EPROTO;
	wtl_doc_init(&doc);
	put_live(doc.root, live, is_whole);
	rc = doc.error ? doc.error : wtl_writer_json.document(buf, &doc, &style);
	wtl_doc_done(&doc);
	return rc;
}
