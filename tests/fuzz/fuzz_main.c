/* SPDX-License-Identifier: MIT */
/*
 * Makes an ordinary program of a fuzz target: it runs the target over every file of the directories
 * and files named as arguments, and fails if there is none.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Exactly as large as the file, so that a sanitizer sees a read beyond its end. */
static unsigned replay_file(const char *path, off_t size)
{
	uint8_t *data = malloc(size > 0 ? (size_t)size : 1);
	FILE *file = fopen(path, "rbe");

	if (data == NULL || file == NULL || fread(data, 1, (size_t)size, file) != (size_t)size) {
		perror(path);
		exit(1);
	}
	fclose(file);
	LLVMFuzzerTestOneInput(data, (size_t)size);
	free(data);
	return 1;
}

static unsigned replay(const char *path)
{
	struct dirent **names;
	struct stat st;
	unsigned done = 0;
	int count;

	if (stat(path, &st) < 0) {
		perror(path);
		exit(1);
	}
	if (!S_ISDIR(st.st_mode))
		return replay_file(path, st.st_size);
	count = scandir(path, &names, NULL, alphasort);
	for (int i = 0; i < count; i++) {
		char *inner;

		if (names[i]->d_name[0] != '.' &&
		    asprintf(&inner, "%s/%s", path, names[i]->d_name) >= 0) {
			done += replay(inner);
			free(inner);
		}
		free(names[i]);
	}
	if (count >= 0)
		free(names);
	return done;
}

int main(int argc, char **argv)
{
	unsigned done = 0;

	for (int i = 1; i < argc; i++)
		done += replay(argv[i]);
	printf("%u inputs\n", done);
	return done == 0;
}
