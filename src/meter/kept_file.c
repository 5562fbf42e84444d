/* SPDX-License-Identifier: MIT */
#include "meter/kept_file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/infile.h"
#include "base/io.h"
#include "base/log.h"

#define FILE_MAX (1u << 20)

int wtl_kept_file_beside(const char *idle_path, const char *name, char *ret_path, size_t size)
{
	const char *slash = strrchr(idle_path, '/');
	int folder = slash ? (int)(slash + 1 - idle_path) : 0;

	return snprintf(ret_path, size, "%.*s%s", folder, idle_path, name) < (int)size
		       ? 0
		       : -ENAMETOOLONG;
}

/* All of a file of ours. 0; -ENOENT; -WTL_EFORMAT for another file; or negative. */
static int read_file(const char *path, const char *head, struct wtl_buf *buf)
{
	int rc;

	wtl_buf_init(buf, FILE_MAX);
	rc = wtl_infile_read(path, buf);
	if (rc == 0 &&
	    (buf->len < strlen(head) || memcmp(wtl_buf_str(buf), head, strlen(head)) != 0))
		rc = -WTL_EFORMAT;
	return rc;
}

/* Calls each() for the lines of such a file. */
static void each_line(const struct wtl_buf *buf, const char *head,
		      void (*each)(void *context, const char *line, size_t len), void *context)
{
	const char *at = wtl_buf_str(buf) + strlen(head), *end = wtl_buf_str(buf) + buf->len;

	while (at < end) {
		const char *stop = memchr(at, '\n', (size_t)(end - at));

		each(context, at, (size_t)((stop ? stop : end) - at));
		at = stop ? stop + 1 : end;
	}
}

/* ---- Reading ---- */

struct reading {
	bool (*take)(void *context, const char *line, size_t len);
	void *context;
	size_t bad;
};

static void read_line(void *context, const char *line, size_t len)
{
	struct reading *reading = context;

	reading->bad += !reading->take(reading->context, line, len);
}

int wtl_kept_file_read(const char *path, const char *head, const struct wtl_log *log,
		       bool (*take)(void *context, const char *line, size_t len), void *context)
{
	struct reading reading = {.take = take, .context = context};
	struct wtl_buf text;
	int rc = read_file(path, head, &text);

	if (rc == 0)
		each_line(&text, head, read_line, &reading);
	else if (rc != -ENOENT && rc != -ENOMEM)
		wtl_log_line(log, WTL_LOG_WARNING, "what is kept in '%s' cannot be read: %s", path,
			     wtl_err_text(rc));
	if (reading.bad > 0)
		wtl_log_line(log, WTL_LOG_WARNING, "%zu lines of '%s' cannot be read", reading.bad,
			     path);
	wtl_buf_done(&text);
	return rc == -ENOMEM ? rc : 0;
}

/* ---- Keeping ---- */

struct keeping {
	struct wtl_buf text;
	const char *key;
};

/* Lines that are not understood stay. */
static void keep_line(void *context, const char *line, size_t len)
{
	struct keeping *keeping = context;
	size_t key = strlen(keeping->key);

	if (len > 0 && !(len > key && line[key] == ' ' && memcmp(line, keeping->key, key) == 0))
		wtl_buf_printf(&keeping->text, "%.*s\n", (int)len, line);
}

int wtl_kept_file_put(struct wtl_io *io, const char *path, const char *head, const char *key,
		      const char *line)
{
	struct keeping keeping = {.key = key};
	struct wtl_buf old;
	int rc = read_file(path, head, &old);

	wtl_buf_init(&keeping.text, FILE_MAX);
	wtl_buf_puts(&keeping.text, head);
	if (rc == 0)
		each_line(&old, head, keep_line, &keeping);
	if (rc == -ENOENT)
		rc = 0;
	if (rc == 0) {
		wtl_buf_puts(&keeping.text, line);
		rc = keeping.text.error ? keeping.text.error
					: wtl_io_out_write(io, path, wtl_buf_str(&keeping.text),
							   keeping.text.len, WTL_OUT_REPLACE);
	}
	wtl_buf_done(&old);
	wtl_buf_done(&keeping.text);
	return rc;
}
