/* SPDX-License-Identifier: MIT */
/*
 * A recording as a table: a line for each interval, with the mean power of every domain.
 *
 *	cc recording.c $(pkg-config --cflags --libs wattle-recording) -o recording
 *	./recording FILE [SECONDS]
 */
#include <stdio.h>
#include <stdlib.h>

#include <wattle-recording.h>

enum { DOMAINS_MAX = 256 };

static void print_header(struct wattle_recording *recording, size_t n)
{
	printf("%10s", "time [s]");
	for (size_t i = 0; i < n; i++) {
		struct wattle_domain domain = {.size = sizeof(domain)};

		if (wattle_recording_domain(recording, i, &domain) == 0)
			printf(" %14s", domain.name);
	}
	printf("\n");
}

static void print_powers(const struct wattle_energy energies[], size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (energies[i].has_power)
			printf(" %12.3f W", (double)energies[i].mean_uw / 1e6);
		else
			printf(" %14s", "-");
	}
	printf("\n");
}

int main(int argc, char **argv)
{
	double seconds = argc > 2 ? atof(argv[2]) : 1.0;
	struct wattle_energy energies[DOMAINS_MAX] = {{.size = sizeof(energies[0])}};
	struct wattle_recording *recording;
	struct wattle_recording_step step = {.size = sizeof(step)};
	struct wattle_error error = {.size = sizeof(error)};
	int64_t first_ns = -1;
	size_t n;
	int rc;

	if (argc < 2 || seconds <= 0.0) {
		fprintf(stderr, "usage: recording FILE [SECONDS]\n");
		return 2;
	}
	if (wattle_recording_open(argv[1], &recording, &error) < 0) {
		fprintf(stderr, "%s: %s\n", argv[1], error.text);
		return EXIT_FAILURE;
	}
	n = wattle_recording_domains(recording);
	if (n > DOMAINS_MAX)
		n = DOMAINS_MAX;
	print_header(recording, n);
	while ((rc = wattle_recording_next(recording, (int64_t)(seconds * 1e9), &step, energies, n,
					   &error)) > 0) {
		if (first_ns < 0)
			first_ns = step.begin_mono_ns;
		if (step.is_lost)
			printf("# lost: %s\n", step.text);
		printf("%10.3f", (double)(step.begin_mono_ns - first_ns) / 1e9);
		print_powers(energies, n);
	}
	if (rc < 0)
		fprintf(stderr, "%s: %s\n", argv[1], error.text);
	wattle_recording_close(recording);
	return rc < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
