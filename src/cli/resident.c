/* SPDX-License-Identifier: MIT */
#include "cli/resident.h"

#include <inttypes.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>

/* Is it a private mapping of a file that is only read? "begin-end r-xp offset device inode path" */
static bool is_read_only_file(const char *line, uintptr_t *begin, uintptr_t *end)
{
	unsigned long inode;
	char rights[5];

	return sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %4s %*s %*s %lu", begin, end, rights,
		      &inode) == 4 &&
	       inode != 0 && rights[1] == '-' && rights[3] == 'p';
}

void wtl_resident_trim(void)
{
	FILE *maps = fopen("/proc/self/smaps", "re");
	uintptr_t begin = 0, end = 0;
	unsigned long own_kb;
	char line[512];
	bool is_file = false;

	malloc_trim(0);
	while (maps && fgets(line, sizeof(line), maps)) {
		uintptr_t from, to;

		/* Each mapping's line begins with its address, and "Anonymous:" counts pages that are no longer the file's. */
		if (is_read_only_file(line, &from, &to)) {
			is_file = true;
			begin = from;
			end = to;
		} else if (sscanf(line, "Anonymous: %lu kB", &own_kb) == 1) {
			if (is_file && own_kb == 0)
				madvise((void *)begin, end - begin, MADV_DONTNEED);
			is_file = false;
		}
	}
	if (maps)
		fclose(maps);
}
