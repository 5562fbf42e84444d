/* SPDX-License-Identifier: MIT */
#include "serve/pods.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/io.h"
#include "base/text.h"
#include "energy/units.h"

#define FOLDER "/var/log/pods"

enum { NAMES_MAX = 1 << 20 };

#define AGAIN_NS (10 * WTL_NS_PER_S)

void wtl_pods_init(struct wtl_pods *pods)
{
	*pods = (struct wtl_pods){.read_ns = 0};
	wtl_buf_init(&pods->names, NAMES_MAX);
}

void wtl_pods_done(struct wtl_pods *pods)
{
	wtl_buf_done(&pods->names);
}

/* NAMESPACE_NAME_UID: neither a namespace nor a pod may have "_" in its name. */
static bool is_of(const char *name, size_t len, const char *uid, char title[WTL_POD_TITLE_SIZE])
{
	size_t uid_len = strlen(uid), rest = len - uid_len - 1;
	const char *slash;

	if (len < uid_len + 4 || name[rest] != '_' || memcmp(name + rest + 1, uid, uid_len) != 0)
		return false;
	slash = memchr(name, '_', rest);
	if (!slash || slash == name || slash + 1 == name + rest)
		return false;
	wtl_text_clean(title, WTL_POD_TITLE_SIZE, name, rest);
	title[slash - name] = '/';
	return true;
}

static bool look_up(const struct wtl_pods *pods, const char *uid, char title[WTL_POD_TITLE_SIZE])
{
	const char *at = wtl_buf_str(&pods->names), *end = at + pods->names.len;

	for (; at < end; at += strlen(at) + 1)
		if (is_of(at, strlen(at), uid, title))
			return true;
	return false;
}

void wtl_pods_find(struct wtl_pods *pods, struct wtl_io *io, const char *uid,
		   char title[WTL_POD_TITLE_SIZE])
{
	int64_t now_ns;

	title[0] = '\0';
	if (!uid[0] || look_up(pods, uid, title))
		return;
	now_ns = wtl_io_mono_ns(io);
	if (pods->read_ns != 0 && now_ns - pods->read_ns < AGAIN_NS)
		return;
	pods->read_ns = now_ns;
	wtl_buf_clear(&pods->names);
	if (wtl_io_dir_read(io, FOLDER, &pods->names) < 0)
		wtl_buf_clear(&pods->names);
	look_up(pods, uid, title);
}
