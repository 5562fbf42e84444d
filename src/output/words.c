/* SPDX-License-Identifier: MIT */
#include "output/words.h"

#include <errno.h>
#include <signal.h>

#include "output/format.h"

const char wtl_words_not_attributed[] = "energy is not attributed to processes";

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
	return energy->has_power ? NULL : "too short to speak of power";
}

const char *wtl_words_total_reason(const struct wattle_energy *total)
{
	if (!total->has_energy)
		return "nothing that counts for the total has a figure";
	return total->has_power ? NULL : "too short to speak of power";
}

int wtl_ledgers_check(const struct wtl_report *report)
{
	for (size_t i = 0; i < report->n_domains; i++) {
		const struct wtl_report_domain *domain = &report->domains[i];

		if (domain->energy.has_energy &&
		    (!wtl_ledger_closed(&domain->ledger) ||
		     domain->ledger.total_uj != domain->energy.energy_uj))
			return -EPROTO;
	}
	return 0;
}

bool wtl_words_attributed(const struct wtl_ledger *ledger)
{
	return ledger->live_uj || ledger->exited_uj || ledger->kernel_uj || ledger->idle_uj;
}

uint64_t wtl_words_with_pue(const struct wtl_report_carbon *carbon)
{
	return wtl_format_share(carbon->emitted_ug, carbon->pue_milli, 1000);
}
