/* SPDX-License-Identifier: MIT */
/*
 * Who used the last seconds of this machine's energy.
 *
 *	cc consumers.c $(pkg-config --cflags --libs wattle) -o consumers
 *	./consumers [SECONDS [ROOT]]
 *
 * ROOT is a directory that stands for another machine.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <wattle.h>

enum { ROWS = 12 };

static const char *name_of(const struct wattle_consumer *consumer)
{
	if (consumer->state == WATTLE_CONSUMER_INTERRUPTS)
		return "(interrupts)";
	if (consumer->state == WATTLE_CONSUMER_UNSEEN)
		return "(not attributed)";
	if (consumer->state == WATTLE_CONSUMER_NOBODY)
		return "(nobody)";
	return consumer->name ? consumer->name : "?";
}

static const struct wattle_consumers *sorted;

static int compare(const void *left, const void *right)
{
	struct wattle_share a = {.size = sizeof(a)}, b = {.size = sizeof(b)};

	wattle_consumers_share(sorted, *(const size_t *)left, -1, &a);
	wattle_consumers_share(sorted, *(const size_t *)right, -1, &b);
	return (a.full_uj < b.full_uj) - (a.full_uj > b.full_uj);
}

static void print_row(const char *user, const char *name, uint64_t full_uj,
		      const struct wattle_share *share)
{
	printf("%-10.10s %-18.18s %14.6f J", user, name, (double)full_uj / 1e6);
	if (share && share->has_dynamic)
		printf(" %14.6f J above idle", (double)share->dynamic_uj / 1e6);
	printf("\n");
}

/* Those that used most, the others together, and the sum: not a microjoule is missing. */
static int print_consumers(const struct wattle_consumers *list)
{
	struct wattle_window window = {.size = sizeof(window)};
	size_t n = wattle_consumers_count(list);
	size_t *order = calloc(n, sizeof(*order));
	uint64_t sum_uj = 0, others_uj = 0;

	if (!order)
		return -1;
	for (size_t i = 0; i < n; i++)
		order[i] = i;
	sorted = list;
	qsort(order, n, sizeof(*order), compare);
	for (size_t i = 0; i < n; i++) {
		struct wattle_consumer consumer = {.size = sizeof(consumer)};
		struct wattle_share share = {.size = sizeof(share)};

		wattle_consumers_get(list, order[i], &consumer);
		wattle_consumers_share(list, order[i], -1, &share);
		sum_uj += share.full_uj;
		if (i < ROWS && share.full_uj > 0)
			print_row(consumer.user ? consumer.user : "-", name_of(&consumer),
				  share.full_uj, &share);
		else
			others_uj += share.full_uj;
	}
	free(order);
	print_row("-", "(others)", others_uj, NULL);
	wattle_consumers_window(list, &window);
	print_row("", "sum", sum_uj, NULL);
	print_row("", "meter", window.total.energy_uj, NULL);
	return 0;
}

static int measure(struct wattle_meter *meter, double seconds, struct wattle_error *error)
{
	const struct timespec pause = {.tv_sec = (time_t)seconds,
				       .tv_nsec = (long)((seconds - (time_t)seconds) * 1e9)};
	struct wattle_consumers *list;
	int rc = wattle_window_begin_with(meter, "last", WATTLE_WINDOW_CONSUMERS);

	if (rc < 0)
		return rc;
	nanosleep(&pause, NULL);
	rc = wattle_meter_consumers(meter, "last", &list, error);
	if (rc < 0)
		return rc;
	rc = print_consumers(list);
	wattle_consumers_free(list);
	return rc;
}

int main(int argc, char **argv)
{
	const struct wattle_options options = {
		.size = sizeof(options),
		.root = argc > 2 ? argv[2] : NULL,
		.interval_ms = 100,
		.attribution = 1,
	};
	struct wattle_error error = {.size = sizeof(error)};
	struct wattle_meter *meter;
	int rc;

	if (wattle_meter_open(&options, &meter, &error) < 0) {
		fprintf(stderr, "%s: %s\n", error.source, error.text);
		return EXIT_FAILURE;
	}
	rc = measure(meter, argc > 1 ? atof(argv[1]) : 3.0, &error);
	if (rc < 0)
		fprintf(stderr, "%s\n", wattle_strerror(rc));
	wattle_meter_close(meter);
	return rc < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
