/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/io.h"
#include "base/num.h"
#include "base/text.h"
#include "energy/units.h"
#include "gpu/drm.h"

#define LOOK_NS (4 * WTL_NS_PER_S)

enum {
	NAMES_MAX = 1 << 20,
};

/* One open descriptor of a client. Several may share it, in one process or by inheritance. */
struct client {
	int pid;
	unsigned fd;
	struct wtl_drm_fdinfo info;
	int64_t t_ns;
	bool is_seen; /* in the scan that goes on */
};

struct wtl_drm_scan {
	struct wtl_io *io;
	struct client *clients;
	size_t n, room;
	struct wtl_drm_use *uses;
	size_t n_uses, uses_room;
	int64_t look_ns;
	size_t hidden;
	bool is_cut;	   /* the newest scan had no room for all clients */
	bool has_lost_use; /* there was none for all uses of them */
	struct wtl_buf processes, descriptors;
};

struct wtl_drm_scan *wtl_drm_scan_new(struct wtl_io *io)
{
	struct wtl_drm_scan *scan = calloc(1, sizeof(*scan));

	if (!scan)
		return NULL;
	scan->io = io;
	scan->look_ns = INT64_MIN;
	wtl_buf_init(&scan->processes, NAMES_MAX);
	wtl_buf_init(&scan->descriptors, NAMES_MAX);
	return scan;
}

void wtl_drm_scan_free(struct wtl_drm_scan *scan)
{
	if (!scan)
		return;
	wtl_buf_done(&scan->processes);
	wtl_buf_done(&scan->descriptors);
	free(scan->clients);
	free(scan->uses);
	free(scan);
}

static bool read_fdinfo(struct wtl_drm_scan *scan, int pid, unsigned fd,
			struct wtl_drm_fdinfo *ret_info)
{
	char path[64], text[WTL_DRM_FDINFO_SIZE];
	ssize_t len;
	int file;

	snprintf(path, sizeof(path), "/proc/%d/fdinfo/%u", pid, fd);
	file = wtl_io_file_open(scan->io, path);
	if (file < 0)
		return false;
	len = wtl_io_file_read(scan->io, file, text, sizeof(text));
	wtl_io_file_close(scan->io, file);
	return len > 0 && wtl_drm_fdinfo_parse(text, (size_t)len, ret_info);
}

/* ---- Looking for clients ---- */

static struct client *find(struct wtl_drm_scan *scan, const struct wtl_drm_fdinfo *info)
{
	for (size_t i = 0; i < scan->n; i++)
		if (scan->clients[i].info.client == info->client &&
		    strcmp(scan->clients[i].info.pdev, info->pdev) == 0)
			return &scan->clients[i];
	return NULL;
}

static struct client *find_fd(struct wtl_drm_scan *scan, int pid, unsigned fd)
{
	for (size_t i = 0; i < scan->n; i++)
		if (scan->clients[i].pid == pid && scan->clients[i].fd == fd)
			return &scan->clients[i];
	return NULL;
}

static void add(struct wtl_drm_scan *scan, int pid, unsigned fd, const struct wtl_drm_fdinfo *info,
		int64_t now_ns)
{
	if (scan->n == WTL_DRM_CLIENTS_MAX ||
	    wtl_array_reserve(&scan->clients, &scan->room, scan->n + 1, sizeof(scan->clients[0])) <
		    0) {
		scan->is_cut = true;
		return;
	}
	scan->clients[scan->n++] = (struct client){pid, fd, *info, now_ns, true};
}

static void look_at_fd(struct wtl_drm_scan *scan, int pid, const char *name, int64_t now_ns)
{
	char path[64], target[32];
	struct wtl_drm_fdinfo info;
	struct client *known;
	uint64_t fd;

	if (wtl_num_u64(name, strlen(name), &fd) < 0 || fd > UINT_MAX)
		return;
	snprintf(path, sizeof(path), "/proc/%d/fd/%u", pid, (unsigned)fd);
	if (wtl_io_link_read(scan->io, path, target, sizeof(target)) < 0 ||
	    !wtl_text_starts(target, "/dev/dri/"))
		return;
	known = find_fd(scan, pid, (unsigned)fd);
	if (known) {
		known->is_seen = true;
		return;
	}
	if (!read_fdinfo(scan, pid, (unsigned)fd, &info))
		return;
	known = find(scan, &info);
	if (!known)
		add(scan, pid, (unsigned)fd, &info, now_ns);
}

static void look_at_process(struct wtl_drm_scan *scan, int pid, int64_t now_ns)
{
	const char *name;
	char path[32];
	int n;

	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	wtl_buf_clear(&scan->descriptors);
	n = wtl_io_dir_read(scan->io, path, &scan->descriptors);
	scan->hidden += n == -EACCES || n == -EPERM;
	scan->is_cut |= n == -ENOMEM;
	name = wtl_buf_str(&scan->descriptors);
	for (int i = 0; i < n; i++, name += strlen(name) + 1)
		look_at_fd(scan, pid, name, now_ns);
}

static void look(struct wtl_drm_scan *scan, int64_t now_ns)
{
	const char *name;
	size_t kept = 0;
	int n;

	for (size_t i = 0; i < scan->n; i++)
		scan->clients[i].is_seen = false;
	scan->hidden = 0;
	scan->is_cut = false;
	wtl_buf_clear(&scan->processes);
	n = wtl_io_dir_read(scan->io, "/proc", &scan->processes);
	scan->is_cut |= n == -ENOMEM;
	name = wtl_buf_str(&scan->processes);
	for (int i = 0; i < n; i++, name += strlen(name) + 1) {
		uint64_t pid;

		if (*name >= '1' && *name <= '9' && wtl_num_u64(name, strlen(name), &pid) == 0 &&
		    pid <= INT_MAX)
			look_at_process(scan, (int)pid, now_ns);
	}
	for (size_t i = 0; i < scan->n; i++)
		if (scan->clients[i].is_seen)
			scan->clients[kept++] = scan->clients[i];
	scan->n = kept;
}

/* ---- Reading ---- */

static struct wtl_drm_use *use_of(struct wtl_drm_scan *scan, const struct client *client)
{
	for (size_t i = 0; i < scan->n_uses; i++)
		if (scan->uses[i].pid == client->pid &&
		    strcmp(scan->uses[i].pdev, client->info.pdev) == 0)
			return &scan->uses[i];
	if (wtl_array_reserve(&scan->uses, &scan->uses_room, scan->n_uses + 1,
			      sizeof(scan->uses[0])) < 0) {
		scan->has_lost_use = true;
		return NULL;
	}
	scan->uses[scan->n_uses] =
		(struct wtl_drm_use){.pid = client->pid, .memory_bytes = UINT64_MAX};
	wtl_text_copy(scan->uses[scan->n_uses].pdev, sizeof(scan->uses[0].pdev), client->info.pdev);
	return &scan->uses[scan->n_uses++];
}

/* false: its descriptor is closed, or belongs to another client by now. */
static bool read_client(struct wtl_drm_scan *scan, struct client *client, int64_t now_ns)
{
	uint64_t render_ns = 0, media_ns = 0;
	int64_t interval_ns = now_ns - client->t_ns;
	struct wtl_drm_fdinfo info;
	struct wtl_drm_use *use;

	if (!read_fdinfo(scan, client->pid, client->fd, &info) ||
	    info.client != client->info.client || strcmp(info.pdev, client->info.pdev) != 0)
		return false;
	wtl_drm_busy(&client->info, &info, interval_ns, &render_ns, &media_ns);
	client->info = info;
	client->t_ns = now_ns;
	use = use_of(scan, client);
	if (!use)
		return true;
	use->render_ns += render_ns;
	use->media_ns += media_ns;
	if (interval_ns > use->interval_ns)
		use->interval_ns = interval_ns;
	if (info.memory_bytes != UINT64_MAX) {
		if (use->memory_bytes == UINT64_MAX)
			use->memory_bytes = 0;
		if (__builtin_add_overflow(use->memory_bytes, info.memory_bytes,
					   &use->memory_bytes))
			use->memory_bytes = UINT64_MAX;
	}
	return true;
}

const struct wtl_drm_use *wtl_drm_scan_read(struct wtl_drm_scan *scan, int64_t now_ns,
					    size_t *ret_n)
{
	size_t kept = 0;

	scan->n_uses = 0;
	scan->has_lost_use = false;
	if (now_ns >= scan->look_ns) {
		look(scan, now_ns);
		scan->look_ns = now_ns + LOOK_NS;
	}
	for (size_t i = 0; i < scan->n; i++)
		if (read_client(scan, &scan->clients[i], now_ns))
			scan->clients[kept++] = scan->clients[i];
	if (kept < scan->n) /* one went away: a shared client may have another descriptor */
		scan->look_ns = INT64_MIN;
	scan->n = kept;
	*ret_n = scan->n_uses;
	return scan->uses;
}

bool wtl_drm_scan_is_cut(const struct wtl_drm_scan *scan)
{
	return scan->is_cut || scan->has_lost_use;
}

size_t wtl_drm_scan_hidden(const struct wtl_drm_scan *scan)
{
	return scan->hidden;
}
