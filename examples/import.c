/* SPDX-License-Identifier: MIT */
/*
 * Makes a recording of another tool's log: lines "SECONDS,WATTS" of standard input, the time since 1970.
 *
 *	cc import.c $(pkg-config --cflags --libs wattle-recording) -o import
 *	./import FILE <log.csv && wattle report FILE
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <wattle-recording.h>

static int fail(const struct wattle_error *error)
{
	fprintf(stderr, "%s: %s\n", error->source, error->text);
	return EXIT_FAILURE;
}

int main(int argc, char **argv)
{
	const struct wattle_channel channel = {
		.size = sizeof(channel),
		.domain = "wall",
		.source = "import",
		.kind = WATTLE_KIND_BOARD,
		.in_total = 1,
	};
	struct wattle_error error = {.size = sizeof(error)};
	struct wattle_recorder *recorder = NULL;
	struct wattle_meter *meter;
	double seconds, watts, first = 0.0;
	int rc = 0;

	if (argc != 2) {
		fprintf(stderr, "usage: import FILE\n");
		return 2;
	}
	if (wattle_meter_open_fed(&channel, 1, NULL, &meter, &error) < 0)
		return fail(&error);
	while (rc == 0 && scanf("%lf,%lf", &seconds, &watts) == 2) {
		uint64_t uw = (uint64_t)(watts * 1e6 + 0.5);

		if (!recorder)
			first = seconds;
		rc = wattle_meter_feed(meter, (int64_t)(seconds * 1e9),
				       (int64_t)((seconds - first) * 1e9), &uw, NULL, 1);
		if (rc < 0)
			fprintf(stderr, "at %f s: %s\n", seconds, wattle_strerror(rc));
		else if (!recorder) /* which begins with the first sample */
			rc = wattle_recorder_open(argv[1], meter, NULL, &recorder, &error);
		if (rc < 0 && !recorder)
			break;
	}
	if (rc < 0 && !recorder)
		fail(&error);
	else if (!recorder)
		fprintf(stderr, "there is no line \"SECONDS,WATTS\"\n");
	else if (wattle_recorder_close(recorder, &error) < 0)
		rc = fail(&error);
	wattle_meter_close(meter);
	return recorder && rc == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
