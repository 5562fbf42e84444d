/* SPDX-License-Identifier: MIT */
#include "document/words.h"

#include <errno.h>
#include <signal.h>

#include "energy/account.h"
#include "document/format.h"

const char wtl_words_no_idle[] = "no idle baseline has been seen";

const char *const wtl_words_figures[WTL_RUN_FIGURES] = {
	[WTL_RUN_DURATION_S] = "time",
	[WTL_RUN_ENERGY_J] = "energy",
	[WTL_RUN_POWER_W] = "power",
	[WTL_RUN_COMMAND_DYNAMIC_J] = "command, dynamic",
	[WTL_RUN_COMMAND_FULL_J] = "command, full",
	[WTL_RUN_EMITTED_G] = "CO2e",
};

const char *wtl_words_signal(int number)
{
	static const struct {
		int number;
		const char *name;
	} names[] = {
		{SIGHUP, "SIGHUP"},   {SIGINT, "SIGINT"},   {SIGQUIT, "SIGQUIT"},
		{SIGILL, "SIGILL"},   {SIGTRAP, "SIGTRAP"}, {SIGABRT, "SIGABRT"},
		{SIGBUS, "SIGBUS"},   {SIGFPE, "SIGFPE"},   {SIGKILL, "SIGKILL"},
		{SIGUSR1, "SIGUSR1"}, {SIGSEGV, "SIGSEGV"}, {SIGUSR2, "SIGUSR2"},
		{SIGPIPE, "SIGPIPE"}, {SIGALRM, "SIGALRM"}, {SIGTERM, "SIGTERM"},
		{SIGXCPU, "SIGXCPU"}, {SIGXFSZ, "SIGXFSZ"}, {SIGSYS, "SIGSYS"},
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (names[i].number == number)
			return names[i].name;
	}
	return NULL;
}

const char *wtl_words_flag(uint32_t flags, size_t i)
{
	static const struct {
		uint32_t bit;
		const char *word;
	} words[] = {
		{WATTLE_ENERGY_SHORT, "short"},
		{WATTLE_ENERGY_DISAGREES, "disagrees"},
		{WATTLE_ENERGY_RESET, "reset"},
		{WATTLE_ENERGY_INCOMPLETE, "incomplete"},
	};

	for (size_t word = 0; word < sizeof(words) / sizeof(words[0]); word++) {
		if ((flags & words[word].bit) && i-- == 0)
			return words[word].word;
	}
	return NULL;
}

enum wattle_status wtl_words_status(const struct wtl_report_domain *domain)
{
	if (domain->energy.has_energy || domain->domain.status == WATTLE_STATUS_OK)
		return domain->energy.status;
	return domain->domain.status;
}

enum wattle_method wtl_words_method(const struct wtl_report_domain *domain)
{
	return domain->energy.has_energy ? domain->energy.method : domain->domain.method;
}

const char *wtl_words_reason(const struct wtl_report_domain *domain)
{
	const struct wattle_energy *energy = &domain->energy;

	if (domain->domain.reason && domain->domain.reason[0])
		return domain->domain.reason;
	if (!energy->has_energy)
		return "no figure came from its source";
	if (!energy->has_power && energy->energy_uj == 0 && energy->measured_ns >= WTL_POWER_MIN_NS)
		return "its counter has not moved yet";
	return energy->has_power ? NULL : "too short to speak of power";
}

const char *wtl_words_total_reason(const struct wattle_energy *total)
{
	if (!total->has_energy)
		return "nothing that counts for the total has a figure";
	return total->has_power ? NULL : "too short to speak of power";
}

static bool is_counted(const struct wtl_report_domain *domain)
{
	return domain->domain.in_total && domain->energy.has_energy;
}

static bool add(uint64_t *sum, uint64_t more)
{
	return !__builtin_add_overflow(*sum, more, sum);
}

bool wtl_words_ledger(const struct wtl_report *report, struct wtl_ledger *ret_ledger)
{
	struct wtl_ledger sum = {.has_idle = true};

	for (size_t i = 0; i < report->n_domains; i++) {
		const struct wtl_ledger *ledger = &report->domains[i].ledger;

		if (!is_counted(&report->domains[i]))
			continue;
		/* These sums cannot overflow: the accounts of a closed ledger are not more than its total. */
		if (!add(&sum.total_uj, ledger->total_uj))
			return false;
		sum.has_idle = sum.has_idle && ledger->has_idle;
		sum.live_uj += ledger->live_uj;
		sum.exited_uj += ledger->exited_uj;
		sum.kernel_uj += ledger->kernel_uj;
		sum.idle_uj += ledger->idle_uj;
		sum.unattributed_uj += ledger->unattributed_uj;
	}
	*ret_ledger = sum;
	return true;
}

bool wtl_words_processes_uj(const struct wtl_report *report, uint64_t *ret_full_uj)
{
	const struct wtl_report_attribution *attribution = &report->attribution;
	uint64_t sum = attribution->others.full_uj;

	for (size_t i = 0; i < attribution->n_processes; i++) {
		if (!add(&sum, attribution->processes[i].all.full_uj))
			return false;
	}
	*ret_full_uj = sum;
	return true;
}

bool wtl_words_no_process_uj(const struct wtl_report *report, uint64_t *ret_full_uj)
{
	struct wtl_ledger ledger;
	uint64_t processes_uj;

	if (!wtl_words_ledger(report, &ledger) || !wtl_words_processes_uj(report, &processes_uj))
		return false;
	*ret_full_uj = ledger.total_uj - processes_uj;
	return true;
}

/* The dynamic parts of all consumers; only where each has one. */
static bool dynamic_uj(const struct wtl_report_attribution *attribution, uint64_t *ret_dynamic_uj)
{
	uint64_t sum = attribution->others.has_dynamic ? attribution->others.dynamic_uj : 0;

	for (size_t i = 0; i < attribution->n_processes; i++) {
		const struct wtl_share_energy *all = &attribution->processes[i].all;

		if (all->has_dynamic && !add(&sum, all->dynamic_uj))
			return false;
	}
	*ret_dynamic_uj = sum;
	return true;
}

/* Is a part (GPU energy, or a row) not more than its whole? */
static bool is_within(const struct wtl_share_energy *part, uint64_t whole_uj)
{
	return part->full_uj <= whole_uj &&
	       (!part->has_dynamic || part->dynamic_uj <= part->full_uj);
}

static bool is_attribution_sound(const struct wtl_report *report)
{
	const struct wtl_report_attribution *attribution = &report->attribution;
	uint64_t full_uj, all_dynamic_uj, for_processes_uj;
	struct wtl_ledger ledger;

	if (!wtl_words_ledger(report, &ledger) || !wtl_words_processes_uj(report, &full_uj) ||
	    !dynamic_uj(attribution, &all_dynamic_uj))
		return false;
	/* Unattributed energy belongs to no process, and idle energy to no dynamic part. */
	for_processes_uj = ledger.total_uj - ledger.unattributed_uj;
	if (full_uj > for_processes_uj ||
	    (ledger.has_idle && all_dynamic_uj > for_processes_uj - ledger.idle_uj))
		return false;
	if (!is_within(&attribution->others, full_uj) ||
	    !is_within(&attribution->command, for_processes_uj) ||
	    !is_within(&attribution->command_gpu, attribution->command.full_uj))
		return false;
	for (size_t i = 0; i < attribution->n_processes; i++) {
		const struct wtl_report_process *process = &attribution->processes[i];

		if (!is_within(&process->all, full_uj) ||
		    !is_within(&process->gpu, process->all.full_uj))
			return false;
	}
	return true;
}

int wtl_ledgers_check(const void *what)
{
	const struct wtl_report *report = what;

	for (size_t i = 0; i < report->n_domains; i++) {
		const struct wtl_report_domain *domain = &report->domains[i];
		const struct wtl_ledger *ledger = &domain->ledger;

		if (domain->energy.has_energy &&
		    (!wtl_ledger_closed(ledger) || ledger->total_uj != domain->energy.energy_uj ||
		     (ledger->idle_uj > 0 && !ledger->has_idle)))
			return -EPROTO;
	}
	return !report->attribution.is_known || is_attribution_sound(report) ? 0 : -EPROTO;
}

int wtl_series_check(const void *what)
{
	const struct wtl_series *series = what;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < series->n_reports; i++)
		rc = wtl_ledgers_check(&series->reports[i]);
	return rc;
}

bool wtl_words_attributed(const struct wtl_report *report, const struct wtl_report_domain *domain)
{
	const struct wtl_ledger *ledger = &domain->ledger;

	return ledger->live_uj || ledger->exited_uj || ledger->kernel_uj ||
	       (report->attribution.is_known && domain->weight);
}

const char *wtl_words_not_attributed(const struct wtl_report *report)
{
	const char *reason = report->attribution.reason;

	return reason && reason[0] ? reason : "energy is not attributed to processes";
}

const char *wtl_words_unattributed_reason(const struct wtl_report *report,
					  const struct wtl_report_domain *domain)
{
	if (wtl_words_attributed(report, domain))
		return NULL;
	return report->attribution.is_known ? "nothing says who uses this domain"
					    : wtl_words_not_attributed(report);
}

bool wtl_words_has_gpu(const struct wtl_report *report)
{
	for (size_t i = 0; i < report->n_domains; i++) {
		if (report->domains[i].domain.kind == WATTLE_KIND_GPU &&
		    is_counted(&report->domains[i]))
			return true;
	}
	return false;
}

const char *wtl_words_consumer(const struct wtl_consumer *consumer)
{
	if (consumer->command)
		return consumer->command;
	if (consumer->name[0])
		return consumer->name;
	return consumer->state == WTL_CONSUMER_FOLDED ? "ended processes" : "name not known";
}

uint64_t wtl_words_idle_uncertainty_uw(const struct wtl_baseline *idle)
{
	return wtl_format_share(idle->uncertainty_uw, 2, 1);
}

bool wtl_words_idle_age(const struct wtl_baseline *idle, int64_t t_utc_ns, int64_t *ret_age_ns)
{
	int64_t age_ns;

	if (idle->t_utc_ns <= 0 || __builtin_sub_overflow(t_utc_ns, idle->t_utc_ns, &age_ns) ||
	    age_ns < 0)
		return false;
	*ret_age_ns = age_ns;
	return true;
}

int64_t wtl_words_end_utc_ns(const struct wattle_window *window)
{
	int64_t end_ns;

	/* A duration is never negative. */
	if (__builtin_add_overflow(window->begin_utc_ns, window->duration_ns, &end_ns))
		return INT64_MAX;
	return end_ns;
}

const char *wtl_words_not_emitted(const struct wtl_report_carbon *carbon,
				  const struct wattle_energy *total)
{
	return total->has_energy ? carbon->reason : wtl_words_total_reason(total);
}

const char *wtl_words_not_all_emitted(const struct wtl_report_carbon *carbon,
				      const struct wattle_energy *total)
{
	const char *reason = wtl_words_not_emitted(carbon, total);

	return reason || carbon->missing_uj == 0
		       ? reason
		       : "the intensity is not known for a part of the energy";
}

uint64_t wtl_words_with_pue(const struct wtl_report_carbon *carbon)
{
	return wtl_format_share(carbon->emitted_ug, carbon->pue_milli, 1000);
}

static uint64_t with_rest(uint64_t ug, int32_t rest_ng)
{
	__int128 ng = (__int128)ug * 1000 + rest_ng;

	if (ng < 0)
		return 0;
	return ng > UINT64_MAX ? UINT64_MAX : (uint64_t)ng;
}

uint64_t wtl_words_emitted_ng(const struct wtl_report_carbon *carbon)
{
	return with_rest(carbon->emitted_ug, carbon->emitted_rest_ng);
}

uint64_t wtl_words_emitted_with_pue_ng(const struct wtl_report_carbon *carbon)
{
	return wtl_format_share(wtl_words_emitted_ng(carbon), carbon->pue_milli, 1000);
}

uint64_t wtl_words_uncertainty_ng(const struct wtl_report_carbon *carbon)
{
	return with_rest(carbon->uncertainty_ug, carbon->uncertainty_rest_ng);
}

static uint64_t with_pue_ng(const struct wtl_report_carbon *carbon, uint64_t ng)
{
	unsigned __int128 value =
		(unsigned __int128)ng * (carbon->pue_milli ? carbon->pue_milli : 1000);

	return value / 1000 > UINT64_MAX ? UINT64_MAX : (uint64_t)(value / 1000);
}

uint64_t wtl_words_sci_ng(const struct wtl_report_carbon *carbon)
{
	unsigned __int128 sum = (unsigned __int128)carbon->sci.embodied_mg * 1000000 +
				with_pue_ng(carbon, wtl_words_emitted_ng(carbon));

	sum /= carbon->sci.units ? carbon->sci.units : 1;
	return sum > UINT64_MAX ? UINT64_MAX : (uint64_t)sum;
}

uint64_t wtl_words_sci_uncertainty_ng(const struct wtl_report_carbon *carbon)
{
	return with_pue_ng(carbon, wtl_words_uncertainty_ng(carbon)) /
	       (carbon->sci.units ? carbon->sci.units : 1);
}
