/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/infile.h"
#include "base/outfile.h"
#include "cli/process.h"
#include "commands/top/session.h"
#include "cli/user.h"
#include "energy/units.h"

enum { FILE_MAX = 256 * 1024 };

/* ---- The configuration ---- */

static void find_path(const struct wtl_top_settings *settings, char path[PATH_MAX])
{
	int rc = 0;

	if (!settings->config)
		rc = wtl_user_path("XDG_CONFIG_HOME", ".config", "top.conf", path, PATH_MAX);
	else if (snprintf(path, PATH_MAX, "%s", settings->config) >= PATH_MAX)
		rc = -ENAMETOOLONG;
	if (rc < 0)
		path[0] = '\0';
}

void wtl_top_config_load(struct wtl_top_session *session)
{
	struct wtl_app *app = session->app;
	char remark[160];
	struct wtl_buf text;
	int rc;

	find_path(session->settings, session->config_path);
	wtl_buf_init(&text, FILE_MAX);
	rc = session->config_path[0] ? wtl_infile_read(session->config_path, &text) : -ENOENT;
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
	/* Not a pipe: opening one for writing could block for ever. */
	rc = wtl_infile_open(session->config_path);
	if (rc == -WTL_ENOTFILE)
		return rc;
	if (rc >= 0)
		close(rc);
	wtl_buf_init(&text, FILE_MAX);
	rc = wtl_top_config_print(&session->ui.config, &text);
	if (rc == 0) {
		wtl_user_make_folder_of(session->config_path);
		rc = wtl_outfile_write(session->config_path, wtl_buf_str(&text), text.len,
				       WTL_OUT_REPLACE, session->app->settings.file_mode);
	}
	wtl_buf_done(&text);
	return rc;
}

/* ---- Signals ---- */

/* Is the process with that number still the one that was shown? False if its start is not known. */
static bool is_same(const struct wtl_top_victim *victim)
{
	int64_t tick_ns = WTL_NS_PER_S / sysconf(_SC_CLK_TCK), off_ns;
	uint64_t ticks;

	if (victim->start_ns <= 0 || wtl_process_start(victim->pid, &ticks) < 0)
		return false;
	off_ns = (int64_t)ticks * tick_ns - victim->start_ns;
	return off_ns <= 2 * tick_ns && off_ns >= -2 * tick_ns;
}

/* A descriptor of a process's /proc folder keeps referring to it, even when another one has its number
 * (pidfd_send_signal(2)). */
static int signal_by(int folder, const struct wtl_top_victim *victim)
{
	int rc = syscall(SYS_pidfd_send_signal, folder, victim->signal, NULL, 0) < 0 ? -errno : 0;

	if (rc == -EINVAL)
		return -EXDEV;
	/* Before Linux 5.1, or if forbidden: by its number, if /proc's number is that of system calls. */
	if ((rc != -ENOSYS && rc != -EPERM) || wtl_process_number(victim->pid) != victim->pid)
		return rc;
	return kill(victim->pid, victim->signal) < 0 ? -errno : 0;
}

int wtl_top_send_signal(const struct wtl_top_victim *victim)
{
	char path[48];
	int folder, rc;

	if (victim->pid <= 1)
		return -EPERM;
	snprintf(path, sizeof(path), "/proc/%d", victim->pid);
	folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (folder < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	rc = is_same(victim) ? signal_by(folder, victim) : -ESRCH;
	close(folder);
	return rc;
}
