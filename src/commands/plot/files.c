/* SPDX-License-Identifier: MIT */
/* Sorts the files into recordings and others, and finds the part that is drawn. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/infile.h"
#include "cli/complain.h"
#include "commands/plot/plot.h"

#define SQLITE_MAGIC "SQLite format 3"

bool wtl_plot_is_recording(const char *path)
{
	char head[sizeof(SQLITE_MAGIC)] = "";
	int fd = wtl_infile_open(path);
	ssize_t n;

	if (fd < 0)
		return false;
	n = read(fd, head, sizeof(head));
	close(fd);
	return n == (ssize_t)sizeof(head) && memcmp(head, SQLITE_MAGIC, sizeof(head)) == 0;
}

bool wtl_plot_is_asked_for(const struct wtl_plot_wanted *wanted, const char *domain)
{
	for (size_t i = 0; i < wanted->n_domains; i++)
		if (strcmp(wanted->domains[i], domain) == 0)
			return true;
	return false;
}

int wtl_plot_since(struct wtl_app *app, const struct wtl_plot_settings *settings,
		   int64_t begin_utc_ns, int64_t *ret_from_ns, int64_t *ret_to_ns)
{
	const struct wtl_when *from = &settings->from, *to = &settings->to;
	int rc = wtl_when_since_ns(from, begin_utc_ns, 0, ret_from_ns);

	if (rc == 0)
		rc = wtl_when_since_ns(to, begin_utc_ns,
				       from->kind == WTL_WHEN_NOT ? 0 : *ret_from_ns, ret_to_ns);
	if (rc < 0)
		wtl_complain(app, "--from or --to is too far away");
	else if (from->kind != WTL_WHEN_NOT && to->kind != WTL_WHEN_NOT &&
		 *ret_from_ns >= *ret_to_ns) {
		wtl_complain(app, "--to is not after --from");
		rc = -EINVAL;
	}
	return rc;
}
