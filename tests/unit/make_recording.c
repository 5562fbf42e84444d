/* SPDX-License-Identifier: MIT */
/*
 * Makes a recording for those who see no more than the public headers (test_recording_api.c):
 *
 *	make_recording FILE [cut|lost]
 *
 * and says on stdout what was measured: a word and a number a line. "cut": it is not ended properly. "lost": some seconds
 * of it cannot be read.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "meter/observer.h"
#include "replay_bench.h"
#include "unit.h"

static void copy(const char *from, const char *to)
{
	FILE *in = fopen(from, "rbe"), *out = fopen(to, "wbe");
	char block[4096];
	size_t n;

	if (!in || !out)
		exit(1);
	while ((n = fread(block, 1, sizeof(block), in)) > 0)
		if (fwrite(block, 1, n, out) != n)
			exit(1);
	fclose(in);
	if (fclose(out) != 0)
		exit(1);
}

static void say(const char *word, uint64_t number)
{
	printf("%s %" PRIu64 "\n", word, number);
}

static void say_window(const char *name, const struct wattle_window *window,
		       const struct wattle_energy energies[])
{
	char word[64];

	snprintf(word, sizeof(word), "%s.duration", name);
	say(word, (uint64_t)window->duration_ns);
	snprintf(word, sizeof(word), "%s.total", name);
	say(word, window->total.energy_uj);
	snprintf(word, sizeof(word), "%s.package-0", name);
	say(word, energies[0].energy_uj);
}

/* A window of so many seconds, which process 77 marks. */
static void mark(struct replay_bench *f, const char *name, int seconds)
{
	struct wattle_energy energies[REPLAY_DOMAINS_MAX];
	struct wattle_window window;

	wattle_window_begin(f->bench.meter, name);
	wtl_recorder_marked_by(f->recorder, name, 77);
	replay_bench_live_for(f, seconds);
	wtl_window_end(f->bench.meter, name, &window, energies, REPLAY_DOMAINS_MAX);
	wtl_recorder_window(f->recorder, name, false, &window, energies);
	say_window(name, &window, energies);
}

static void say_ledger(const struct replay_bench *f)
{
	struct wtl_ledger ledger;

	wtl_consumers_ledger(f->consumers, 0, &ledger);
	say("ledger.live", ledger.live_uj);
	say("ledger.exited", ledger.exited_uj);
	say("ledger.kernel", ledger.kernel_uj);
	say("ledger.idle", ledger.idle_uj);
	say("ledger.unattributed", ledger.unattributed_uj);
	say("ledger.total", ledger.total_uj);
}

static void say_consumers(const struct replay_bench *f)
{
	uint64_t full_uj = 0, n = 0;

	for (size_t slot = 0; slot < wtl_consumers_slots(f->consumers); slot++) {
		struct wtl_share_energy energy;

		if (!wtl_consumers_get(f->consumers, slot))
			continue;
		wtl_consumers_energy(f->consumers, slot, WTL_PART_ALL, &energy);
		full_uj += energy.full_uj;
		n++;
	}
	say("consumers", n);
	say("consumers.full", full_uj);
}

int main(int argc, char **argv)
{
	static struct replay_bench f;
	struct wtl_store_period period;
	char from[4096], to[4096];
	bool is_cut = argc > 2 && strcmp(argv[2], "cut") == 0;
	bool is_lost = argc > 2 && strcmp(argv[2], "lost") == 0;
	int64_t lost_ns;

	if (argc < 2)
		return 2;
	replay_bench_start(&f, 3 * S);
	wtl_recorder_fact(f.recorder, "command", "a command");
	replay_bench_begin(&f);
	replay_bench_live_for(&f, 1);
	mark(&f, "early", 1);
	lost_ns = f.bench.now_ns + 2 * S;
	mark(&f, "inner", 3);
	replay_bench_live_for(&f, 2);
	if (is_cut) {
		replay_bench_bill(&f);
		/* What is newest is beside it. */
		snprintf(from, sizeof(from), "%s-wal", f.path);
		snprintf(to, sizeof(to), "%s-wal", argv[1]);
		copy(f.path, argv[1]);
		copy(from, to);
	}
	replay_bench_end(&f);
	say_window("run", &f.window, f.energies);
	say_ledger(&f);
	say_consumers(&f);
	replay_bench_stop(&f);
	if (is_lost)
		replay_bench_spoil(&f, replay_bench_period(&f, lost_ns, &period), false);
	if (!is_cut)
		copy(f.path, argv[1]);
	replay_bench_finish(&f);
	return 0;
}
