/* SPDX-License-Identifier: MIT */
#include "golden.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit.h"

void golden_check(const char *name, const char *text)
{
	const char *golden = getenv("WATTLE_GOLDEN"), *update = getenv("WATTLE_GOLDEN_UPDATE");
	char *wanted;

	assert_non_null(golden);
	assert_non_null(text);
	if (update && strcmp(update, "1") == 0)
		unit_write(golden, name, text);
	wanted = unit_read(golden, name);
	if (!wanted)
		fail_msg("%s/%s is not there; WATTLE_GOLDEN_UPDATE=1 writes it", golden, name);
	if (strcmp(wanted, text) != 0) {
		fprintf(stderr, "---- wanted: %s\n%s---- got:\n%s", name, wanted, text);
		fail_msg("%s differs; WATTLE_GOLDEN_UPDATE=1 rewrites it", name);
	}
	free(wanted);
}
