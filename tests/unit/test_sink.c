/* SPDX-License-Identifier: MIT */
/* What is said where a result cannot be told. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/io.h"
#include "cli/command.h"
#include "cli/sink.h"
#include "document/report.h"
#include "said.h"
#include "unit.h"

/* The context is the error with which it fails; or it is put into the buffer. */
struct failure {
	int rc, error;
};

static int fail_text(struct wtl_buf *buf, const void *what, const struct wtl_output_style *style)
{
	const struct failure *failure = what;

	(void)style;
	wtl_buf_puts(buf, "half of it");
	if (failure->error)
		buf->error = failure->error;
	return failure->rc;
}

static int write_failing(const struct failure *failure, bool cannot_be_had_again, const char *path)
{
	struct wtl_app app = {.settings = {.output = &wtl_writer_text, .output_path = path}};
	static const struct wtl_thing thing = {.text = fail_text};
	const struct wtl_result result = {.thing = &thing,
					  .what = failure,
					  .max = 4096,
					  .cannot_be_had_again = cannot_be_had_again};
	struct wtl_io *io;
	int rc;

	said_forget();
	assert_int_equal(wtl_io_real_new(NULL, &io, NULL), 0);
	rc = wtl_sink_write(&app, io, &result);
	wtl_io_free(io);
	return rc;
}

static void test_errors(void **state)
{
	static const struct {
		struct failure failure;
		const char *says;
	} cases[] = {
		{{-EPROTO, 0},
		 "a bug of wattle: what it computed does not add up, and is not told"},
		{{-EPROTO, -EPROTO}, "a bug of wattle: what it computed does not add up"},
		{{-ENOMEM, -ENOMEM}, "x': Cannot allocate memory"},
		{{-EFBIG, 0}, "x': File too large"},
	};
	char *dir = unit_tmpdir(), path[512];

	(void)state;
	snprintf(path, sizeof(path), "%s/x", dir);
	for (size_t i = 0; i < UNIT_COUNT(cases); i++)
		for (int again = 0; again < 2; again++) {
			assert_int_equal(write_failing(&cases[i].failure, again, path),
					 cases[i].failure.rc);
			if (!strstr(said_complaints(), cases[i].says))
				fail_msg("'%s' is not in: %s", cases[i].says, said_complaints());
			/* Nothing of it is there. */
			assert_int_equal(access(path, F_OK), -1);
		}
	unit_rmtree(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_errors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
