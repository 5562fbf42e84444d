/* SPDX-License-Identifier: MIT */
/*
 * What two phases of a program cost, and each round of the second.
 *
 *	cc window.c $(pkg-config --cflags --libs wattle) -o window
 *	./window [ROOT]
 *
 * ROOT is a directory that stands for another machine; without it, this machine is measured.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <wattle.h>

enum { ROUNDS = 3, DOMAINS_MAX = 64 };

/* The work: counts for about so many milliseconds. */
static void work(int ms)
{
	clock_t end = clock() + (clock_t)ms * (CLOCKS_PER_SEC / 1000);
	volatile unsigned long n = 0;

	while (clock() < end)
		n++;
}

/* A figure that is not known is never shown as 0. */
static void print_energy(const char *name, const struct wattle_energy *energy)
{
	if (!energy->has_energy) {
		printf("  %-12s not known (%s)\n", name, wattle_status_name(energy->status));
		return;
	}
	printf("  %-12s %.6f J +- %.6f J, %s", name, (double)energy->energy_uj / 1e6,
	       (double)energy->uncertainty_uj / 1e6, wattle_method_name(energy->method));
	if (energy->has_power)
		printf(", %.3f W mean", (double)energy->mean_uw / 1e6);
	if (energy->gap_ns > 0)
		printf(", %.3f s missing", (double)energy->gap_ns / 1e9);
	printf("%s\n", energy->flags & WATTLE_ENERGY_SHORT ? ", short" : "");
}

static void print_domains(struct wattle_meter *meter)
{
	for (size_t i = 0; i < wattle_meter_domains(meter); i++) {
		struct wattle_domain domain = {.size = sizeof(domain)};

		wattle_meter_domain(meter, i, &domain);
		if (domain.source)
			printf("%s: by %s%s\n", domain.name, domain.source,
			       domain.in_total ? "" : ", not in the total");
		else
			printf("%s: %s\n", domain.name, domain.reason ? domain.reason : "?");
	}
}

/* Two windows that overlap, by their keys, and a stack for the rounds within the second. */
static int measure(struct wattle_meter *meter)
{
	struct wattle_energy energies[DOMAINS_MAX] = {{.size = sizeof(energies[0])}};
	struct wattle_window window = {.size = sizeof(window)};
	size_t n = wattle_meter_domains(meter);
	int rc = wattle_window_begin(meter, "program");

	if (rc == 0)
		rc = wattle_window_begin(meter, "prepare");
	if (rc < 0)
		return rc;
	work(50);
	wattle_window_end(meter, "prepare", &window, NULL, 0);
	print_energy("prepare", &window.total);

	for (int i = 0; i < ROUNDS && rc == 0; i++) {
		rc = wattle_window_push(meter, "round");
		if (rc < 0)
			break;
		work(30);
		rc = wattle_window_pop(meter, &window, NULL, 0);
		print_energy("round", &window.total);
		/* "program" is still open: what it cost so far. */
		if (rc == 0)
			rc = wattle_window_read(meter, "program", &window, NULL, 0);
		print_energy("so far", &window.total);
	}

	if (rc == 0)
		rc = wattle_window_end(meter, "program", &window, energies, DOMAINS_MAX);
	if (rc < 0)
		return rc;
	printf("program: %.3f s\n", (double)window.duration_ns / 1e9);
	print_energy("total", &window.total);
	for (size_t i = 0; i < n && i < DOMAINS_MAX; i++) {
		struct wattle_domain domain = {.size = sizeof(domain)};

		wattle_meter_domain(meter, i, &domain);
		print_energy(domain.name, &energies[i]);
	}
	return 0;
}

int main(int argc, char **argv)
{
	/* A thread of the meter's own takes samples: power sensors need that. */
	const struct wattle_options options = {
		.size = sizeof(options),
		.root = argc > 1 ? argv[1] : NULL,
		.interval_ms = 20,
	};
	struct wattle_error error = {.size = sizeof(error)};
	struct wattle_meter *meter;
	int rc;

	if (wattle_meter_open(&options, &meter, &error) < 0) {
		fprintf(stderr, "%s: %s\n", error.source, error.text);
		return EXIT_FAILURE;
	}
	print_domains(meter);
	rc = measure(meter);
	if (rc < 0)
		fprintf(stderr, "%s\n", wattle_strerror(rc));
	wattle_meter_close(meter);
	return rc < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
