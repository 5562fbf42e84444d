/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/num.h"
#include "base/outfile.h"
#include "cli/fd.h"
#include "cli/top_session.h"
#include "cli/user.h"
#include "energy/units.h"

enum { FILE_MAX = 256 * 1024 };

/* ---- The configuration ---- */

static void find_path(const struct wtl_settings *settings, char path[PATH_MAX])
{
	const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
	int len = 0;

	path[0] = '\0';
	if (settings->screen.config)
		len = snprintf(path, PATH_MAX, "%s", settings->screen.config);
	else if (config && config[0] == '/')
		len = snprintf(path, PATH_MAX, "%s/wattle/top.conf", config);
	else if (home && home[0] == '/')
		len = snprintf(path, PATH_MAX, "%s/.config/wattle/top.conf", home);
	if (len >= PATH_MAX)
		path[0] = '\0';
}

static int read_file(const char *path, struct wtl_buf *text)
{
	/* A pipe with nobody at its other end would be waited for. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), rc;

	if (fd < 0)
		return -errno;
	rc = wtl_fd_read_all(fd, text);
	close(fd);
	return rc;
}

void wtl_top_config_load(struct wtl_top_session *session)
{
	struct wtl_app *app = session->app;
	char remark[160];
	struct wtl_buf text;
	int rc;

	find_path(&app->settings, session->config_path);
	wtl_buf_init(&text, FILE_MAX);
	rc = session->config_path[0] ? read_file(session->config_path, &text) : -ENOENT;
	if (rc == 0) {
		wtl_top_config_parse(&session->ui.config, wtl_buf_str(&text), text.len, remark);
		if (remark[0])
			wtl_remark(app, "%s: %s", session->config_path, remark);
	} else if (rc != -ENOENT) {
		wtl_remark(app, "'%s' cannot be read: %s", session->config_path, wtl_err_text(rc));
	}
	wtl_buf_done(&text);
}

int wtl_top_config_save(const struct wtl_top_session *session)
{
	struct wtl_buf text;
	int rc;

	if (!session->config_path[0])
		return -ENOENT;
	wtl_buf_init(&text, FILE_MAX);
	rc = wtl_top_config_print(&session->ui.config, &text);
	if (rc == 0) {
		wtl_user_make_folder_of(session->config_path);
		rc = wtl_outfile_write(session->config_path, wtl_buf_str(&text), text.len,
				       WTL_OUT_REPLACE);
	}
	wtl_buf_done(&text);
	return rc;
}

/* ---- Signals ---- */

/* When a process started, since boot, to a clock tick (proc(5), field 22); < 0: not known. */
static int64_t start_of(int pid)
{
	char path[64], text[1024], *at;
	uint64_t ticks = 0;
	int fd;
	ssize_t len;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	len = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (len <= 0)
		return -EIO;
	text[len] = '\0';
	/* The name may hold anything, also brackets. */
	at = strrchr(text, ')');
	for (unsigned field = 2; at && field < 22; field++)
		at = strchr(at + 1, ' ');
	if (!at || wtl_num_u64(at + 1, strcspn(at + 1, " \n"), &ticks) < 0)
		return -EIO;
	return (int64_t)((double)ticks * 1e9 / (double)sysconf(_SC_CLK_TCK));
}

static bool is_same(const struct wtl_top_victim *victim)
{
	int64_t start_ns = start_of(victim->pid), tick_ns = WTL_NS_PER_S / sysconf(_SC_CLK_TCK);
	int64_t off_ns = start_ns - victim->start_ns;

	if (start_ns < 0)
		return false;
	return victim->start_ns == 0 || (off_ns <= 2 * tick_ns && off_ns >= -2 * tick_ns);
}

/* The descriptor stands for one process, whatever its number stands for later. */
int wtl_top_send_signal(const struct wtl_top_victim *victim)
{
	int fd, rc = 0;

	if (victim->pid <= 1)
		return -EPERM;
	fd = (int)syscall(SYS_pidfd_open, victim->pid, 0);
	if (fd < 0 && errno != ENOSYS && errno != EPERM)
		return -errno;
	if (!is_same(victim))
		rc = -ESRCH;
	else if (fd >= 0 ? syscall(SYS_pidfd_send_signal, fd, victim->signal, NULL, 0) < 0
			 : kill(victim->pid, victim->signal) < 0)
		rc = -errno;
	if (fd >= 0)
		close(fd);
	return rc;
}
