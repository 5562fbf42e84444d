/* SPDX-License-Identifier: MIT */
#ifndef WTL_METER_CONSUMERS_H
#define WTL_METER_CONSUMERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <wattle.h>

#include "base/io.h"
#include "energy/baseline.h"
#include "energy/consumer.h"
#include "energy/ledger.h"
#include "workload/workload.h"

struct wtl_err;

/*
 * Who used the energy of a window: follows the machine's processes beside a meter and bills the
 * window's energies to them (DESIGN 5). CPU packages, cores, DRAM and SoCs are billed by CPU time, or by
 * what the hardware counted in it, GPUs by their processes' use of them; the energy of any other domain
 * is idle or unattributed.
 *
 *	wtl_consumers_begin(consumers);
 *	wattle_window_begin(meter, "run");
 *	… about once a second:
 *	wtl_window_read(meter, "run", &window, energies, n);
 *	wtl_consumers_bill(consumers, energies, window.begin_utc_ns + window.duration_ns);
 *	… and at last the same with wtl_window_end().
 *
 * The accounts of a domain then add up to its energies[] to the microjoule. One thread at a time.
 */
struct wtl_consumers;

struct wtl_consumers_options {
	const char *nvml_path; /* as in struct wattle_options */
	int subreaper_pid;     /* processes that this one adopts belong to the command; 0: none */
	size_t max_exited;     /* ended processes with an account of their own; 0: 4096 */
	bool names_on_use;     /* names of processes that use nothing are not read: it takes time */
	enum wtl_weight weight; /* of the use of processors */
};

/* The domains are the meter's, in its order; both must outlive the consumers. 0, -ENOMEM, … */
int wtl_consumers_new(struct wattle_meter *meter, struct wtl_io *io,
		      const struct wtl_consumers_options *options,
		      struct wtl_consumers **ret_consumers, struct wtl_err *err);
/* NULL is fine. false: a driver's answer is still waited for in a thread that is left behind, and the
 * io must outlive it. */
bool wtl_consumers_free(struct wtl_consumers *consumers);

/* A window is about to begin: all accounts are 0. */
void wtl_consumers_begin(struct wtl_consumers *consumers);

/* From now on this process, its descendants and whom the subreaper adopts are "the command". 0, or
 * -ESRCH and the like: it has ended already, say. */
int wtl_consumers_follow(struct wtl_consumers *consumers, int pid);

/* The command has ended, and has not been waited for yet. cpu_ns: what it and those of its descendants that were waited
 * for used in all, as wait4() says. Call it before the last bill, which then has all of it. */
void wtl_consumers_command_ended(struct wtl_consumers *consumers, int64_t cpu_ns);

/* Bills what was used since the last call. energies are the window's so far, one a domain. */
void wtl_consumers_bill(struct wtl_consumers *consumers, const struct wattle_energy energies[],
			int64_t t_utc_ns);
/* The same in two steps: who used something until now, and, once that is known, the energies as of then. Nothing else is
 * asked of the consumers between the two. */
void wtl_consumers_look(struct wtl_consumers *consumers);
void wtl_consumers_bill_look(struct wtl_consumers *consumers, const struct wattle_energy energies[],
			     int64_t t_utc_ns);

/* What was billed so far is not divided anew when more is learned of watts: a sum of accounts is about to be kept, to
 * be taken from a later one. */
void wtl_consumers_settle(struct wtl_consumers *consumers);

/* The machine is not what it was when watts were learned: they may be others now. What was billed so far stays. */
void wtl_consumers_machine_changed(struct wtl_consumers *consumers);

/* The next bill reads the names of everybody that has none yet, however many: for one picture. */
void wtl_consumers_name_all(struct wtl_consumers *consumers);

/* Reads the memory of `budget` processes at most, busy ones and all in turn: slow
 * (wtl_workload_read_memory()). */
void wtl_consumers_read_memory(struct wtl_consumers *consumers, unsigned budget);
/* The same without PSS and USS (wtl_workload_read_resident()). */
void wtl_consumers_read_resident(struct wtl_consumers *consumers, unsigned budget);

/* ---- Idle baselines ---- */

/* Learned in this or an earlier session. */
void wtl_consumers_baseline(const struct wtl_consumers *consumers, size_t domain,
			    struct wtl_baseline *ret_baseline);
/* The same, but only from what was seen at rest: this is kept for later sessions. */
void wtl_consumers_rest(const struct wtl_consumers *consumers, size_t domain,
			struct wtl_baseline *ret_baseline);
/* What an earlier session learned, before any billing. */
void wtl_consumers_set_baseline(struct wtl_consumers *consumers, size_t domain,
				const struct wtl_baseline *baseline);

/* _know: the same of what programs draw (-ENOMEM). _keep: what is known now, for the next session (or NULL). */
struct wtl_known_watts;
struct wtl_known_table;
int wtl_consumers_know_watts(struct wtl_consumers *consumers, const struct wtl_known_watts *known);
const struct wtl_known_table *wtl_consumers_keep_watts(const struct wtl_consumers *consumers,
						       int64_t t_utc_ns);

/* Takes the baseline as it is given, whatever is seen. */
void wtl_consumers_fix_baseline(struct wtl_consumers *consumers, size_t domain,
				const struct wtl_baseline *baseline);

/* ---- Reading the accounts ---- */

/* Which energies of a consumer: of all counted domains, or of a part of them. */
enum wtl_part { WTL_PART_ALL, WTL_PART_CPU /* and DRAM */, WTL_PART_GPU, WTL_PARTS };

/* Slots go from 0 to wtl_consumers_slots() - 1; NULL for one that is not in use, or is no process. */
size_t wtl_consumers_slots(const struct wtl_consumers *consumers);
const struct wtl_consumer *wtl_consumers_get(const struct wtl_consumers *consumers, size_t slot);

/* The meter's, in its order; and whether one is in the total. */
size_t wtl_consumers_domains(const struct wtl_consumers *consumers);
bool wtl_consumers_counts(const struct wtl_consumers *consumers, size_t domain);

/* Since the window's start, in the domains of that part that are in the total. */
void wtl_consumers_energy(const struct wtl_consumers *consumers, size_t slot, enum wtl_part part,
			  struct wtl_share_energy *ret_energy);
/* A slot's account in a domain; fixed slots too. */
struct wtl_share wtl_consumers_share(const struct wtl_consumers *consumers, uint32_t slot,
				     size_t domain);
/* The same over the last billed interval, as power; has_dynamic as above. false: not billed yet. */
struct wtl_consumer_power {
	bool has_dynamic;
	uint64_t full_uw, dynamic_uw;
};
bool wtl_consumers_power(const struct wtl_consumers *consumers, size_t slot, enum wtl_part part,
			 struct wtl_consumer_power *ret_power);

/* 0 where watts are not learned. */
void wtl_consumers_per_cpu(const struct wtl_consumers *consumers, size_t slot,
			   struct wtl_per_cpu *ret_per_cpu);
/* The same while it keeps one GPU busy: of several that it uses, the mean. */
void wtl_consumers_per_gpu(const struct wtl_consumers *consumers, size_t slot,
			   struct wtl_per_cpu *ret_per_gpu);

/* The command: all consumers with is_in_tree together. */
struct wtl_command_account {
	struct wtl_share_energy all, cpu, gpu;
	int64_t cpu_ns;
	uint64_t n_processes;
};
void wtl_consumers_command(const struct wtl_consumers *consumers,
			   struct wtl_command_account *ret_account);
/* Of its CPU time, that of children that ended unseen: without exit records nobody knows how many they were. */
int64_t wtl_consumers_uncounted_ns(const struct wtl_consumers *consumers);

/* The accounts of a chosen set's members together, since wtl_consumers_begin(). */
struct wtl_consumers_sum {
	struct wtl_share *shares; /* one a domain, and one for the time on GPUs */
	int64_t cpu_ns, counted_ns;
	uint64_t n_processes;
};
/* Sums any consumers, one by one. The caller has allocated shares[]. */
void wtl_consumers_sum_begin(const struct wtl_consumers *consumers, struct wtl_consumers_sum *sum);
void wtl_consumers_sum_add(const struct wtl_consumers *consumers, uint32_t slot,
			   struct wtl_consumers_sum *sum);
/* sets: a bit for each of sums[] that is wanted; the caller has allocated its shares[]. */
void wtl_consumers_sum_sets(const struct wtl_consumers *consumers, uint16_t sets,
			    struct wtl_consumers_sum sums[]);
/* The same of the command; the caller has allocated shares[]. */
void wtl_consumers_sum_command(const struct wtl_consumers *consumers,
			       struct wtl_consumers_sum *sum);
/* How many shares a sum has. */
size_t wtl_consumers_sum_shares(const struct wtl_consumers *consumers);
/* What came to a sum since it was `mark`; the caller has allocated ret_sum's shares[]. A correction
 * of sampled power may have taken some of it back. */
void wtl_consumers_sum_since(const struct wtl_consumers *consumers,
			     const struct wtl_consumers_sum *now,
			     const struct wtl_consumers_sum *mark,
			     struct wtl_consumers_sum *ret_sum);
/* As wtl_consumers_energy(). A sum is less uncertain than its parts added up. */
void wtl_consumers_sum_part(const struct wtl_consumers *consumers,
			    const struct wtl_consumers_sum *sum, enum wtl_part part,
			    struct wtl_share_energy *ret_energy);
/* Of all counted domains, or of one. */
void wtl_consumers_sum_energy(const struct wtl_consumers *consumers,
			      const struct wtl_consumers_sum *sum, int domain,
			      struct wtl_share_energy *ret_energy);

/* Closed (wtl_ledger_closed()) and with the total of the last billed energies. */
void wtl_consumers_ledger(const struct wtl_consumers *consumers, size_t domain,
			  struct wtl_ledger *ret_ledger);

/* ---- Books: the accounts of other windows, which are billed beside ---- */

struct wtl_book;

/* To be opened when the window begins, after a bill, and closed before the consumers are freed. NULL: no memory. */
struct wtl_book *wtl_consumers_open_book(struct wtl_consumers *consumers);
void wtl_consumers_close_book(struct wtl_consumers *consumers, struct wtl_book *book);
/* One a domain: to be filled with those of its window before each bill. */
struct wattle_energy *wtl_book_energies(struct wtl_book *book);

/* As above, of a book; NULL: the consumers' own. domain < 0: all counted ones. */
void wtl_book_energy(const struct wtl_consumers *consumers, const struct wtl_book *book,
		     size_t slot, int domain, struct wtl_share_energy *ret_energy);
int64_t wtl_book_cpu_ns(const struct wtl_book *book, size_t slot,
			const struct wtl_consumer *consumer); /* < 0: not known */
int64_t wtl_book_gpu_ns(const struct wtl_consumers *consumers, const struct wtl_book *book,
			size_t slot); /* of one GPU */
void wtl_book_ledger(const struct wtl_consumers *consumers, const struct wtl_book *book,
		     size_t domain, struct wtl_ledger *ret_ledger);

/* What the processors did since the start, as of the last scan (no CPUs: not known). NULL: without consumers. */
const struct wtl_proc_machine *wtl_consumers_machine(const struct wtl_consumers *consumers);

/* How processes are followed, and what more privilege would add. */
const struct wtl_workload_means *wtl_consumers_means(const struct wtl_consumers *consumers);

/* How a domain is divided: "cpu-time", "instructions", "cycles", "sm-use", "fdinfo", "memory (a guess)",
 * or NULL: it is not. */
const char *wtl_consumers_weight(const struct wtl_consumers *consumers, size_t domain);

#endif
