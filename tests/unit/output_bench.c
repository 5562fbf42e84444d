/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buf.h"
#include "text/layout.h"
#include "output_bench.h"

static const struct wtl_output_style plain = {.color = false};

/* ---- Golden files ---- */

static void golden_path(char *path, size_t size, const char *name)
{
	const char *golden = getenv("WATTLE_GOLDEN"), *root = getenv("WATTLE_SOURCE_ROOT");

	if (golden)
		snprintf(path, size, "%s/%s", golden, name);
	else if (root)
		snprintf(path, size, "%s/tests/golden/%s", root, name);
	else
		fail_msg(
			"neither WATTLE_GOLDEN nor WATTLE_SOURCE_ROOT says where the golden files are");
}

static void write_file(const char *path, const struct wtl_buf *buf)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_int_equal(fwrite(buf->data, 1, buf->len, file), buf->len);
	assert_int_equal(fclose(file), 0);
}

static void show_difference(const char *path, const struct wtl_buf *got)
{
	char other[] = "/tmp/wattle-golden-XXXXXX", command[1200];
	int fd = mkstemp(other);

	assert_true(fd >= 0);
	close(fd);
	write_file(other, got);
	snprintf(command, sizeof(command), "diff -u '%s' '%s' >&2", path, other);
	if (system(command) == 0)
		fputs("diff sees no difference\n", stderr);
	unlink(other);
}

/* Compares with the file of that name, or writes it with WATTLE_GOLDEN_UPDATE=1. */
static void assert_golden(const char *name, const struct wtl_buf *got)
{
	const char *update = getenv("WATTLE_GOLDEN_UPDATE");
	static char wanted[1 << 20];
	char path[512];
	size_t len;
	FILE *file;

	assert_int_equal(got->error, 0);
	golden_path(path, sizeof(path), name);
	if (update && strcmp(update, "1") == 0) {
		write_file(path, got);
		return;
	}
	file = fopen(path, "r");
	if (!file)
		fail_msg("%s is not there; WATTLE_GOLDEN_UPDATE=1 writes it", path);
	len = fread(wanted, 1, sizeof(wanted), file);
	fclose(file);
	if (len == got->len && memcmp(wanted, got->data, len) == 0)
		return;
	show_difference(path, got);
	fail_msg("%s differs; WATTLE_GOLDEN_UPDATE=1 rewrites it", path);
}

static void check_golden(const char *name, const char *format, const struct wtl_thing *thing,
			 const void *what, struct wtl_output_style style)
{
	struct wtl_buf buf;

	wtl_buf_init(&buf, OUTPUT_MAX);
	assert_int_equal(wtl_thing_write(&buf, thing, what, wtl_writer_find(format), &style), 0);
	assert_golden(name, &buf);
	wtl_buf_done(&buf);
}

void output_check_golden(const char *name, const struct wtl_thing *thing, const void *what)
{
	static const struct {
		const char *suffix, *format;
		struct wtl_output_style style;
	} forms[] = {
		{"txt", "text", {.color = false}},	 {"ascii.txt", "text", {.ascii = true}},
		{"color.txt", "text", {.color = true}},	 {"verbose.txt", "text", {.verbose = true}},
		{"json", "json", {.color = false}},	 {"ndjson", "json", {.append = true}},
		{"ndjson", "ndjson", {.color = false}},	 {"csv", "csv", {.color = false}},
		{"append.csv", "csv", {.append = true}},
	};
	char path[64];

	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		snprintf(path, sizeof(path), "%s.%s", name, forms[i].suffix);
		check_golden(path, forms[i].format, thing, what, forms[i].style);
	}
}

char *output_text(const struct wtl_writer *writer, const struct wtl_thing *thing, const void *what,
		  struct wtl_output_style style)
{
	struct wtl_buf buf;
	char *copy;

	wtl_buf_init(&buf, OUTPUT_MAX);
	assert_int_equal(wtl_thing_write(&buf, thing, what, writer, &style), 0);
	copy = strdup(wtl_buf_str(&buf));
	assert_non_null(copy);
	assert_int_equal(strlen(copy), buf.len);
	wtl_buf_done(&buf);
	return copy;
}

void output_assert_no_control(const char *text)
{
	for (; *text; text++) {
		if ((unsigned char)*text < ' ' && *text != '\n')
			fail_msg("control character %#x", (unsigned)*text);
	}
}

/* ---- Properties of every page ---- */

static void check_fits(const char *page)
{
	for (const char *line = page; *line;) {
		size_t len = strcspn(line, "\n");

		if (wtl_layout_columns(line, len) > WTL_LAYOUT_WIDTH)
			fail_msg("more than 80 columns: %.*s", (int)len, line);
		if (len > 0 && line[len - 1] == ' ')
			fail_msg("blanks at the end: '%.*s'", (int)len, line);
		line += len + (line[len] == '\n');
	}
}

static void check_ascii(const char *page)
{
	for (const char *at = page; *at; at++)
		assert_true(*at == '\n' || (*at >= ' ' && *at < 0x7f));
}

/* Colours change nothing but the look. */
static void check_color(const char *without, char *with)
{
	char *to = with;

	assert_null(strchr(without, '\033'));
	for (const char *at = with; *at;) {
		if (*at == '\033')
			at += strcspn(at, "m") + 1;
		else
			*to++ = *at++;
	}
	*to = '\0';
	assert_string_equal(with, without);
}

void output_check_page(const struct wtl_thing *thing, const void *what)
{
	char *page = output_text(&wtl_writer_text, thing, what, plain);
	char *ascii = output_text(&wtl_writer_text, thing, what,
				  (struct wtl_output_style){.ascii = true});
	char *color = output_text(&wtl_writer_text, thing, what,
				  (struct wtl_output_style){.color = true});

	check_fits(page);
	if (thing != &wtl_thing_doctor) /* whose table "+/-" makes too wide by two columns */
		check_fits(ascii);
	check_ascii(ascii);
	output_assert_no_control(page);
	check_color(page, color);
	free(page);
	free(ascii);
	free(color);
}
