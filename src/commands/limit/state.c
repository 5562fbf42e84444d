/* SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/num.h"
#include "base/outfile.h"
#include "base/text.h"
#include "commands/limit/limit.h"
#include "cli/process.h"
#include "cli/user.h"

/* Always this machine's own files, even with --root or --tape. */

#define FILE_MAX  (64u << 10)
#define FILE_NAME "hold-"
#define MAGIC	  "wattle-limit 1"

int wtl_limit_folder(const char *given, char *ret_path, size_t size)
{
	if (!given)
		return wtl_user_machine_path("limits", ret_path, size);
	return snprintf(ret_path, size, "%s", given) < (int)size ? 0 : -ENAMETOOLONG;
}

/* Reads a small file. Returns its length. */
static ssize_t slurp(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	size_t len = 0;
	ssize_t n = -1;

	if (fd < 0)
		return -errno;
	while (len < size - 1 && (n = read(fd, text + len, size - 1 - len)) > 0)
		len += (size_t)n;
	if (n < 0)
		n = -errno;
	else if (n > 0)
		n = -EFBIG;
	close(fd);
	text[len] = '\0';
	return n < 0 ? n : (ssize_t)len;
}

static int read_boot(char *boot, size_t size)
{
	char text[128];
	ssize_t len = slurp("/proc/sys/kernel/random/boot_id", text, sizeof(text));

	if (len < 0)
		return (int)len;
	wtl_text_clean(boot, size, text, (size_t)len);
	return 0;
}

static int read_pids(char *pids, size_t size)
{
	ssize_t len = readlink("/proc/self/ns/pid", pids, size - 1);

	if (len < 0)
		return -errno;
	pids[len] = '\0';
	return 0;
}

int wtl_limit_hold_init(struct wtl_limit_hold *hold)
{
	int rc;

	memset(hold, 0, sizeof(*hold));
	hold->pid = getpid();
	read_pids(hold->pids, sizeof(hold->pids));
	rc = wtl_process_start(hold->pid, &hold->start);
	return rc < 0 ? rc : read_boot(hold->boot, sizeof(hold->boot));
}

enum wtl_limit_owner wtl_limit_hold_owner(const struct wtl_limit_hold *hold)
{
	char boot[sizeof(hold->boot)], pids[sizeof(hold->pids)];

	if (read_boot(boot, sizeof(boot)) == 0 && strcmp(boot, hold->boot) != 0)
		return WTL_LIMIT_REBOOTED;
	if (hold->pids[0] && read_pids(pids, sizeof(pids)) == 0 && strcmp(pids, hold->pids) != 0)
		return WTL_LIMIT_ELSEWHERE;
	return wtl_process_runs(hold->pid, hold->start) ? WTL_LIMIT_LIVES : WTL_LIMIT_GONE;
}

/* ---- The file ---- */

int wtl_limit_lock(const char *folder)
{
	int rc = wtl_user_make_folder(folder), fd;

	if (rc < 0)
		return rc;
	fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (flock(fd, LOCK_EX) < 0) {
		rc = -errno;
		close(fd);
		return rc;
	}
	return fd;
}

static void format_hold(struct wtl_buf *buf, const struct wtl_limit_hold *hold)
{
	wtl_buf_printf(buf, MAGIC "\npid %d\nstart %" PRIu64 "\nboot %s\n", hold->pid, hold->start,
		       hold->boot);
	if (hold->pids[0])
		wtl_buf_printf(buf, "pids %s\n", hold->pids);
	for (size_t i = 0; i < hold->n_changes; i++) {
		const struct wtl_limit_change *change = &hold->changes[i];

		wtl_buf_printf(buf, "gpu %s\n", change->gpu);
		if (change->bus[0])
			wtl_buf_printf(buf, "bus %s\n", change->bus);
		if (change->has_power)
			wtl_buf_printf(buf, "power_uw %" PRIu64 " %" PRIu64 "\n", change->before_uw,
				       change->set_uw);
		if (change->has_persistence)
			wtl_buf_printf(buf, "persistence %d %d\n", change->before_on,
				       change->set_on);
	}
	wtl_buf_puts(buf, "end\n");
}

static int file_path(const char *folder, const struct wtl_limit_hold *hold, char *path, size_t size)
{
	int len =
		snprintf(path, size, "%s/" FILE_NAME "%d-%" PRIu64, folder, hold->pid, hold->start);

	return len < (int)size ? 0 : -ENAMETOOLONG;
}

int wtl_limit_hold_write(struct wtl_io *io, const char *folder, const struct wtl_limit_hold *hold)
{
	char path[PATH_MAX];
	struct wtl_buf text;
	int rc = file_path(folder, hold, path, sizeof(path));

	if (rc < 0)
		return rc;
	wtl_buf_init(&text, FILE_MAX);
	format_hold(&text, hold);
	rc = text.error;
	if (rc == 0)
		rc = wtl_io_out_write(io, path, wtl_buf_str(&text), text.len, WTL_OUT_REPLACE);
	wtl_buf_done(&text);
	return rc;
}

int wtl_limit_hold_remove(const char *folder, const struct wtl_limit_hold *hold)
{
	char path[PATH_MAX];
	int rc = file_path(folder, hold, path, sizeof(path));

	if (rc < 0)
		return rc;
	rc = wtl_outfile_remove(path);
	return rc == -ENOENT ? 0 : rc;
}

/* Two numbers, separated by a blank. */
static int read_pair(const char *text, size_t len, uint64_t *ret_first, uint64_t *ret_second)
{
	const char *blank = memchr(text, ' ', len);
	uint64_t first, second;

	if (!blank || wtl_num_u64(text, (size_t)(blank - text), &first) < 0 ||
	    wtl_num_u64(blank + 1, len - (size_t)(blank + 1 - text), &second) < 0)
		return -WTL_EFORMAT;
	*ret_first = first;
	*ret_second = second;
	return 0;
}

static int parse_gpu(struct wtl_limit_hold *hold, const char *value, size_t len)
{
	struct wtl_limit_change *change = &hold->changes[hold->n_changes];

	if (hold->n_changes == WTL_LIMIT_CHANGES_MAX || len == 0 || len >= sizeof(change->gpu))
		return -WTL_EFORMAT;
	wtl_text_clean(change->gpu, sizeof(change->gpu), value, len);
	hold->n_changes++;
	return 0;
}

static int parse_bus(struct wtl_limit_hold *hold, const char *value, size_t len)
{
	struct wtl_limit_change *change;

	if (hold->n_changes == 0 || len == 0 || len >= sizeof(change->bus))
		return -WTL_EFORMAT;
	change = &hold->changes[hold->n_changes - 1];
	wtl_text_clean(change->bus, sizeof(change->bus), value, len);
	return 0;
}

static int parse_change(struct wtl_limit_hold *hold, const char *key, const char *value, size_t len)
{
	struct wtl_limit_change *change;
	uint64_t before, set;

	if (hold->n_changes == 0 || read_pair(value, len, &before, &set) < 0)
		return -WTL_EFORMAT;
	change = &hold->changes[hold->n_changes - 1];
	if (strcmp(key, "power_uw") == 0) {
		change->has_power = true;
		change->before_uw = before;
		change->set_uw = set;
		return 0;
	}
	if (strcmp(key, "persistence") != 0 || before > 1 || set > 1)
		return -WTL_EFORMAT;
	change->has_persistence = true;
	change->before_on = before == 1;
	change->set_on = set == 1;
	return 0;
}

static int parse_line(struct wtl_limit_hold *hold, const char *line, size_t len)
{
	const char *blank = memchr(line, ' ', len);
	const char *value = blank ? blank + 1 : line + len;
	size_t key_len = blank ? (size_t)(blank - line) : len, value_len;
	char key[16];
	uint64_t number;

	if (key_len >= sizeof(key))
		return -WTL_EFORMAT;
	memcpy(key, line, key_len);
	key[key_len] = '\0';
	value_len = len - (size_t)(value - line);
	if (strcmp(key, "pid") == 0) {
		if (wtl_num_u64(value, value_len, &number) < 0 || number < 1 || number > INT_MAX)
			return -WTL_EFORMAT;
		hold->pid = (int)number;
		return 0;
	}
	if (strcmp(key, "start") == 0)
		return wtl_num_u64(value, value_len, &hold->start) < 0 ? -WTL_EFORMAT : 0;
	if (strcmp(key, "boot") == 0) {
		wtl_text_clean(hold->boot, sizeof(hold->boot), value, value_len);
		return 0;
	}
	if (strcmp(key, "pids") == 0) {
		wtl_text_clean(hold->pids, sizeof(hold->pids), value, value_len);
		return 0;
	}
	if (strcmp(key, "gpu") == 0)
		return parse_gpu(hold, value, value_len);
	if (strcmp(key, "bus") == 0)
		return parse_bus(hold, value, value_len);
	return parse_change(hold, key, value, value_len);
}

int wtl_limit_hold_parse(const char *text, size_t len, struct wtl_limit_hold *ret_hold)
{
	const char *end = text + len, *line = text;
	bool is_first = true;

	memset(ret_hold, 0, sizeof(*ret_hold));
	while (line < end) {
		const char *newline = memchr(line, '\n', (size_t)(end - line));
		size_t n = newline ? (size_t)(newline - line) : 0;
		bool is_magic = n == strlen(MAGIC) && memcmp(line, MAGIC, n) == 0;

		if (!newline || is_magic != is_first)
			return -WTL_EFORMAT;
		/* The last line marks a complete file. */
		if (n == 3 && memcmp(line, "end", 3) == 0)
			return newline + 1 == end && ret_hold->pid > 0 ? 0 : -WTL_EFORMAT;
		if (!is_first && parse_line(ret_hold, line, n) < 0)
			return -WTL_EFORMAT;
		is_first = false;
		line = newline + 1;
	}
	return -WTL_EFORMAT;
}

static void read_hold(const char *folder, const char *name,
		      void (*each)(void *context, const char *name,
				   const struct wtl_limit_hold *hold),
		      void *context)
{
	struct wtl_limit_hold *hold = malloc(sizeof(*hold));
	char *text = malloc(FILE_MAX), path[PATH_MAX];
	ssize_t len = -ENOMEM;

	if (hold && text && snprintf(path, sizeof(path), "%s/%s", folder, name) < (int)sizeof(path))
		len = slurp(path, text, FILE_MAX);
	if (len >= 0 && wtl_limit_hold_parse(text, (size_t)len, hold) < 0)
		len = -WTL_EFORMAT;
	/* Its process has ended and removed the file in between. */
	if (len != -ENOENT)
		each(context, name, len < 0 ? NULL : hold);
	free(hold);
	free(text);
}

int wtl_limit_holds(const char *folder,
		    void (*each)(void *context, const char *name,
				 const struct wtl_limit_hold *hold),
		    void *context)
{
	struct dirent **names;
	int n = scandir(folder, &names, NULL, alphasort);

	if (n < 0)
		return errno == ENOENT ? 0 : -errno;
	for (int i = 0; i < n; i++) {
		if (wtl_text_starts(names[i]->d_name, FILE_NAME))
			read_hold(folder, names[i]->d_name, each, context);
		free(names[i]);
	}
	free(names);
	return 0;
}
