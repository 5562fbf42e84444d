/* SPDX-License-Identifier: MIT */
/* Files that are written piece by piece: nothing replaces the old one before the end. */
#include "base/outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "unit.h"

static char *dir;

static int make_dir(void **state)
{
	(void)state;
	dir = unit_tmpdir();
	return dir ? 0 : -1;
}

static int remove_dir(void **state)
{
	(void)state;
	unit_rmtree(dir);
	return 0;
}

static const char *in_dir(const char *name)
{
	static char path[4][512];
	static unsigned next;
	char *text = path[next++ % 4];

	snprintf(text, sizeof(path[0]), "%s/%s", dir, name);
	return text;
}

static void put(const char *name, const char *text)
{
	FILE *file = fopen(in_dir(name), "w");

	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static void assert_holds(const char *name, const char *text)
{
	char got[256] = "";
	FILE *file = fopen(in_dir(name), "r");

	assert_non_null(file);
	got[fread(got, 1, sizeof(got) - 1, file)] = '\0';
	fclose(file);
	assert_string_equal(got, text);
}

static void assert_no_rest(void)
{
	DIR *folder = opendir(dir);
	struct dirent *entry;

	assert_non_null(folder);
	while ((entry = readdir(folder)))
		assert_null(strstr(entry->d_name, ".tmp"));
	closedir(folder);
}

static void write_pieces(struct wtl_outstream *stream)
{
	assert_int_equal(wtl_outstream_write(stream, "one ", 4), 0);
	assert_int_equal(wtl_outstream_write(stream, "", 0), 0);
	assert_int_equal(wtl_outstream_write(stream, "two", 3), 0);
}

static void test_a_new_file(void **state)
{
	struct wtl_outstream stream;
	struct stat status;

	(void)state;
	umask(022);
	assert_int_equal(wtl_outstream_open(&stream, in_dir("new"), 0), 0);
	write_pieces(&stream);
	assert_true(stat(in_dir("new"), &status) < 0);
	assert_int_equal(wtl_outstream_close(&stream, true), 0);
	assert_holds("new", "one two");
	assert_int_equal(stat(in_dir("new"), &status), 0);
	assert_int_equal(status.st_mode & 0777, geteuid() == 0 ? 0600 : 0644);
	assert_int_equal(wtl_outstream_open(&stream, in_dir("open"), WTL_MODE_GIVEN | 0664), 0);
	assert_int_equal(wtl_outstream_close(&stream, true), 0);
	assert_int_equal(stat(in_dir("open"), &status), 0);
	assert_int_equal(status.st_mode & 0777, 0664);
	assert_no_rest();
}

static void test_an_old_file_stays_until_the_end(void **state)
{
	struct wtl_outstream stream;
	struct stat status;

	(void)state;
	put("old", "what was there");
	assert_int_equal(chmod(in_dir("old"), 0640), 0);
	assert_int_equal(wtl_outstream_open(&stream, in_dir("old"), 0), 0);
	write_pieces(&stream);
	assert_holds("old", "what was there");
	assert_int_equal(wtl_outstream_close(&stream, true), 0);
	assert_holds("old", "one two");
	assert_int_equal(stat(in_dir("old"), &status), 0);
	assert_int_equal(status.st_mode & 0777, 0640);
	assert_no_rest();
}

static void test_what_is_thrown_away(void **state)
{
	struct wtl_outstream stream;
	struct stat status;

	(void)state;
	put("kept", "what was there");
	assert_int_equal(wtl_outstream_open(&stream, in_dir("kept"), 0), 0);
	write_pieces(&stream);
	assert_int_equal(wtl_outstream_close(&stream, false), 0);
	assert_holds("kept", "what was there");
	assert_int_equal(wtl_outstream_open(&stream, in_dir("never"), 0), 0);
	write_pieces(&stream);
	assert_int_equal(wtl_outstream_close(&stream, false), 0);
	assert_true(stat(in_dir("never"), &status) < 0);
	assert_no_rest();
}

static void test_a_link_stays_one(void **state)
{
	struct wtl_outstream stream;
	struct stat status;

	(void)state;
	put("target", "what was there");
	assert_int_equal(symlink("target", in_dir("link")), 0);
	assert_int_equal(wtl_outstream_open(&stream, in_dir("link"), 0), 0);
	write_pieces(&stream);
	assert_int_equal(wtl_outstream_close(&stream, true), 0);
	assert_holds("target", "one two");
	assert_int_equal(lstat(in_dir("link"), &status), 0);
	assert_true(S_ISLNK(status.st_mode));
}

static void test_pipes_are_written_directly(void **state)
{
	struct wtl_outstream stream;
	struct stat status;
	char got[16] = "";
	int reader;

	(void)state;
	assert_int_equal(mkfifo(in_dir("pipe"), 0600), 0);
	reader = open(in_dir("pipe"), O_RDONLY | O_NONBLOCK);
	assert_true(reader >= 0);
	assert_int_equal(wtl_outstream_open(&stream, in_dir("pipe"), 0), 0);
	write_pieces(&stream);
	assert_int_equal(read(reader, got, sizeof(got) - 1), 7);
	assert_string_equal(got, "one two");
	assert_int_equal(wtl_outstream_close(&stream, true), 0);
	close(reader);
	assert_int_equal(stat(in_dir("pipe"), &status), 0);
	assert_true(S_ISFIFO(status.st_mode));
}

static void test_standard_output(void **state)
{
	int kept = dup(STDOUT_FILENO), file;
	struct wtl_outstream stream;
	int rc[3];

	(void)state;
	fflush(stdout);
	file = open(in_dir("stdout"), O_RDWR | O_CREAT, 0600);
	assert_true(kept >= 0 && file >= 0);
	dup2(file, STDOUT_FILENO);
	rc[0] = wtl_outstream_open(&stream, NULL, 0);
	rc[1] = wtl_outstream_write(&stream, "one two", 7);
	rc[2] = wtl_outstream_close(&stream, true);
	dup2(kept, STDOUT_FILENO);
	close(kept);
	close(file);
	for (int i = 0; i < 3; i++)
		assert_int_equal(rc[i], 0);
	assert_holds("stdout", "one two");
}

static void test_what_cannot_be_opened(void **state)
{
	struct wtl_outstream stream;

	(void)state;
	assert_int_equal(wtl_outstream_open(&stream, in_dir("no/such/folder"), 0), -ENOENT);
	put("file", "");
	assert_int_equal(wtl_outstream_open(&stream, in_dir("file/below"), 0), -ENOTDIR);
	assert_true(wtl_outstream_open(&stream, dir, 0) < 0);
	assert_no_rest();
}

static void test_a_full_disk(void **state)
{
	struct wtl_outstream stream;

	(void)state;
	if (access("/dev/full", W_OK) < 0)
		skip();
	assert_int_equal(wtl_outstream_open(&stream, "/dev/full", 0), 0);
	assert_int_equal(wtl_outstream_write(&stream, "one", 3), -ENOSPC);
	assert_int_equal(wtl_outstream_close(&stream, false), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_a_new_file, make_dir, remove_dir),
		cmocka_unit_test_setup_teardown(test_an_old_file_stays_until_the_end, make_dir,
						remove_dir),
		cmocka_unit_test_setup_teardown(test_what_is_thrown_away, make_dir, remove_dir),
		cmocka_unit_test_setup_teardown(test_a_link_stays_one, make_dir, remove_dir),
		cmocka_unit_test_setup_teardown(test_pipes_are_written_directly, make_dir,
						remove_dir),
		cmocka_unit_test_setup_teardown(test_standard_output, make_dir, remove_dir),
		cmocka_unit_test_setup_teardown(test_what_cannot_be_opened, make_dir, remove_dir),
		cmocka_unit_test(test_a_full_disk),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
