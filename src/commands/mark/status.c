/* SPDX-License-Identifier: MIT */
/* Parses a recording's answer to "status". */
#include <errno.h>
#include <string.h>

#include "base/num.h"
#include "base/text.h"
#include "commands/mark/mark.h"

static int take_id(struct wtl_mark_status *status, const char *value, size_t len)
{
	const char *colon = memchr(value, ':', len);
	size_t first = colon ? (size_t)(colon - value) : 0;

	if (!colon || wtl_num_u64(value, first, &status->device) < 0 ||
	    wtl_num_u64(colon + 1, len - first - 1, &status->inode) < 0)
		return -EPROTO;
	return 0;
}

static int take_pid(struct wtl_mark_status *status, const char *value, size_t len)
{
	uint64_t number;

	if (wtl_num_u64(value, len, &number) < 0 || number > 1 << 30)
		return -EPROTO;
	status->pid = (int)number;
	return 0;
}

static int take_begin(struct wtl_mark_status *status, const char *value, size_t len)
{
	return wtl_num_i64(value, len, &status->begin_utc_ns) < 0 ? -EPROTO : 0;
}

static int take_file(struct wtl_mark_status *status, const char *value, size_t len)
{
	wtl_text_clean(status->file, sizeof(status->file), value, len);
	return 0;
}

static int take_stop(struct wtl_mark_status *status, const char *value, size_t len)
{
	status->can_stop = len == 3 && memcmp(value, "yes", 3) == 0;
	return 0;
}

static int take_window(struct wtl_mark_status *status, const char *value, size_t len)
{
	if (status->n_windows < sizeof(status->windows) / sizeof(status->windows[0]))
		wtl_text_clean(status->windows[status->n_windows++], WTL_MARK_NAME_SIZE, value,
			       len);
	return 0;
}

static const struct {
	const char *key;
	int (*take)(struct wtl_mark_status *status, const char *value, size_t len);
} lines[] = {
	{"begin", take_begin}, {"file", take_file}, {"id", take_id},
	{"pid", take_pid},     {"stop", take_stop}, {"window", take_window},
};

/* Unknown keys are ignored: they are for newer versions. */
static int take_line(struct wtl_mark_status *status, const char *key, size_t key_len,
		     const char *value, size_t len)
{
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		if (strlen(lines[i].key) == key_len && memcmp(lines[i].key, key, key_len) == 0)
			return lines[i].take(status, value, len);
	return 0;
}

int wtl_mark_status_parse(const char *answer, struct wtl_mark_status *ret_status)
{
	const char *line;
	int rc = wtl_mark_read_answer(answer, &line);

	memset(ret_status, 0, sizeof(*ret_status));
	while (rc == 0 && *line) {
		size_t len = strcspn(line, "\n"), key = strcspn(line, " \n");

		if (key == len)
			return -EPROTO;
		rc = take_line(ret_status, line, key, line + key + 1, len - key - 1);
		line += len + (line[len] == '\n');
	}
	if (rc == 0 && !ret_status->file[0])
		rc = -EPROTO;
	return rc;
}
