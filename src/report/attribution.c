/* SPDX-License-Identifier: MIT */
/* Who used the energy, as a part of a report. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "meter/consumers.h"
#include "report/description.h"

/* A report's own copy of a consumer, which may be gone when it is printed. */
struct wtl_attributed {
	struct wtl_consumer consumer;
	struct wtl_group group;
	char user[40], command[WTL_COMMAND_SIZE];
};

/* A slot that is being ranked. */
struct ranked {
	uint32_t slot;
	uint64_t full_uj;
};

static int by_energy(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	if (x->full_uj != y->full_uj)
		return x->full_uj < y->full_uj ? 1 : -1;
	return x->slot < y->slot ? -1 : x->slot > y->slot;
}

static struct wtl_share_energy share_of(const struct wtl_consumers *consumers, uint32_t slot,
					enum wtl_part part)
{
	struct wtl_share_energy energy;

	wtl_consumers_energy(consumers, slot, part, &energy);
	return energy;
}

static void add_other(struct wtl_report_attribution *attribution,
		      const struct wtl_consumers *consumers, uint32_t slot, bool is_first)
{
	const struct wtl_consumer *consumer = wtl_consumers_get(consumers, slot);
	struct wtl_share_energy share = share_of(consumers, slot, WTL_PART_ALL);

	wtl_share_energy_add(&attribution->others, &share, is_first);
	attribution->n_others += consumer->n_processes;
	attribution->others_cpu_ns = wtl_consumer_cpu_add(
		is_first ? -1 : attribution->others_cpu_ns, wtl_consumer_cpu_ns(consumer));
}

static void list(struct wtl_description *description, const struct wtl_report_source *source,
		 uint32_t slot)
{
	struct wtl_report_attribution *attribution = &description->attribution;
	size_t i = attribution->n_processes++;
	struct wtl_attributed *kept = &description->attributed[i];
	struct wtl_report_process *process = &description->processes[i];
	const struct wtl_naming *naming = &source->naming;

	kept->consumer = *wtl_consumers_get(source->consumers, slot);
	if (kept->consumer.group) {
		kept->group = *kept->consumer.group;
		kept->consumer.group = &kept->group;
	}
	if (kept->consumer.command) {
		wtl_text_copy(kept->command, sizeof(kept->command), kept->consumer.command);
		kept->consumer.command = kept->command;
	}
	process->consumer = &kept->consumer;
	if (kept->consumer.start_ns > 0)
		process->start_utc_ns =
			naming->start_utc_ns(naming->context, kept->consumer.start_ns);
	if (kept->consumer.uid != UINT32_MAX) {
		naming->user(naming->context, kept->consumer.uid, kept->user, sizeof(kept->user));
		process->user = kept->user;
	}
	process->all = share_of(source->consumers, slot, WTL_PART_ALL);
	process->gpu = share_of(source->consumers, slot, WTL_PART_GPU);
	wtl_consumers_per_cpu(source->consumers, slot, &process->per_cpu);
}

/* Ranks all consumers that were billed anything, those with the most energy first. */
static size_t rank(const struct wtl_consumers *consumers, struct ranked *ranked)
{
	size_t n = 0;

	for (size_t slot = 0; slot < wtl_consumers_slots(consumers); slot++) {
		struct wtl_share_energy energy;

		if (!wtl_consumers_get(consumers, slot))
			continue;
		wtl_consumers_energy(consumers, slot, WTL_PART_ALL, &energy);
		if (energy.full_uj > 0)
			ranked[n++] =
				(struct ranked){.slot = (uint32_t)slot, .full_uj = energy.full_uj};
	}
	if (n > 0)
		qsort(ranked, n, sizeof(*ranked), by_energy);
	return n;
}

static void describe_command(struct wtl_report_attribution *attribution,
			     const struct wtl_consumers *consumers)
{
	struct wtl_command_account account;

	wtl_consumers_command(consumers, &account);
	attribution->has_command = account.n_processes > 0;
	attribution->command = account.all;
	attribution->command_gpu = account.gpu;
	attribution->command_cpu_ns = account.cpu_ns;
	attribution->command_processes = account.n_processes;
}

static void describe_domains(struct wtl_description *description,
			     const struct wtl_consumers *consumers)
{
	for (size_t i = 0; i < description->n_domains; i++) {
		struct wtl_report_domain *line = &description->domains[i];

		if (!line->energy.has_energy)
			continue;
		wtl_consumers_ledger(consumers, i, &line->ledger);
		wtl_consumers_baseline(consumers, i, &line->idle);
		line->weight = wtl_consumers_weight(consumers, i);
	}
}

int wtl_describe_attribution(struct wtl_description *description,
			     const struct wtl_report_source *source)
{
	const struct wtl_consumers *consumers = source->consumers;
	struct wtl_report_attribution *attribution = &description->attribution;
	struct ranked *ranked = calloc(wtl_consumers_slots(consumers) + 1, sizeof(*ranked));
	size_t n;

	description->attributed = calloc(source->top + 1, sizeof(*description->attributed));
	description->processes = calloc(source->top + 1, sizeof(*description->processes));
	if (!ranked || !description->attributed || !description->processes) {
		free(ranked);
		return -ENOMEM;
	}
	n = rank(consumers, ranked);
	attribution->is_known = n > 0;
	attribution->reason = n > 0 ? NULL : "no process was seen to use anything";
	for (size_t i = 0; i < n; i++) {
		if (i < source->top)
			list(description, source, ranked[i].slot);
		else
			add_other(attribution, consumers, ranked[i].slot, i == source->top);
	}
	free(ranked);
	attribution->processes = description->processes;
	describe_command(attribution, consumers);
	describe_domains(description, consumers);
	return 0;
}
