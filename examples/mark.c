/* SPDX-License-Identifier: MIT */
/*
 * Rounds of a program as windows of a recording that another process makes.
 *
 *	cc mark.c $(pkg-config --cflags --libs wattle) -o mark
 *	wattle record -o rounds.wattle -- ./mark
 *
 * Started without a recording it does its work all the same.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <wattle.h>

enum { ROUNDS = 3 };

/* The work: counts for about so many milliseconds. */
static void work(int ms)
{
	clock_t end = clock() + (clock_t)ms * (CLOCKS_PER_SEC / 1000);
	volatile unsigned long n = 0;

	while (clock() < end)
		n++;
}

int main(void)
{
	/* Where the recording that this was started in listens; NULL: there is none. */
	const char *recording = getenv("WATTLE_MARK");
	struct wattle_error error = {.size = sizeof(error)};

	for (int i = 1; i <= ROUNDS; i++) {
		char name[32];

		snprintf(name, sizeof(name), "round %d", i);
		if (recording && wattle_mark_begin(recording, name, &error) < 0) {
			fprintf(stderr, "%s\n", error.text);
			return EXIT_FAILURE;
		}
		work(20);
		if (recording && wattle_mark_end(recording, name, &error) < 0) {
			fprintf(stderr, "%s\n", error.text);
			return EXIT_FAILURE;
		}
	}
	return EXIT_SUCCESS;
}
