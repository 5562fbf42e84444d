/* SPDX-License-Identifier: MIT */
#include "workload/groups.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"
#include "base/num.h"
#include "base/text.h"

enum { ID_SHOWN = 12, ID_MIN = 32, ID_LEN = 64 };

/* A piece of a path. */
struct piece {
	const char *at;
	size_t len;
};

static bool piece_starts(const struct piece *piece, const char *prefix)
{
	size_t n = strlen(prefix);

	return piece->len >= n && memcmp(piece->at, prefix, n) == 0;
}

static bool piece_ends(const struct piece *piece, const char *suffix)
{
	size_t n = strlen(suffix);

	return piece->len > n && memcmp(piece->at + piece->len - n, suffix, n) == 0;
}

static bool piece_is(const struct piece *piece, const char *text)
{
	return piece->len == strlen(text) && piece_starts(piece, text);
}

static struct piece piece_between(const struct piece *piece, size_t front, size_t back)
{
	return (struct piece){piece->at + front, piece->len - front - back};
}

/* How many of its first characters are hexadecimal digits. */
static size_t hex_len(const struct piece *piece)
{
	size_t n = 0;

	while (n < piece->len && wtl_num_hex_digit(piece->at[n]) >= 0)
		n++;
	return n;
}

static size_t digits_len(const struct piece *piece)
{
	size_t n = 0;

	while (n < piece->len && isdigit((unsigned char)piece->at[n]))
		n++;
	return n;
}

/* Puts "kind/" and the start of a container's long number, if the piece is one. */
static bool container_put(struct wtl_group *group, const char *kind, struct piece id)
{
	size_t len = hex_len(&id);

	if (len < ID_MIN)
		return false;
	snprintf(group->container, sizeof(group->container), "%s/%.*s", kind, ID_SHOWN, id.at);
	return true;
}

/* "docker-ID.scope": the runtime's name and the container's number. */
static bool scope_container(struct wtl_group *group, const struct piece *piece)
{
	static const struct {
		const char *prefix, *kind;
	} runtimes[] = {
		{"docker-", "docker"},
		{"libpod-", "podman"},
		{"libpod-payload-", "podman"}, /* below its unit: podman run --cgroups=split */
		{"cri-containerd-", "containerd"},
		{"crio-", "crio"},
		{"nerdctl-", "containerd"},
		{"containerd-", "containerd"},
	};

	for (size_t i = 0; i < sizeof(runtimes) / sizeof(runtimes[0]); i++) {
		size_t n = strlen(runtimes[i].prefix);

		if (piece_starts(piece, runtimes[i].prefix) &&
		    container_put(group, runtimes[i].kind, piece_between(piece, n, 0)))
			return true;
	}
	return false;
}

/* lxc spells it "lxc/NAME", "lxc.payload.NAME" or "lxc.payload/NAME"; its monitor is no container. */
static bool lxc_container(struct wtl_group *group, const struct piece *piece,
			  const struct piece *parent)
{
	struct piece name = {NULL, 0};
	char clean[64];

	if (piece_starts(piece, "lxc.payload."))
		name = piece_between(piece, strlen("lxc.payload."), 0);
	else if (piece_is(parent, "lxc") || piece_is(parent, "lxc.payload"))
		name = *piece;
	if (name.len == 0)
		return false;
	wtl_text_clean(clean, sizeof(clean), name.at, name.len);
	snprintf(group->container, sizeof(group->container), "lxc/%s", clean);
	return true;
}

static bool is_in_pod(const struct wtl_group *group)
{
	return group->pod[0] != '\0';
}

static void container_read(struct wtl_group *group, const struct piece *piece,
			   const struct piece *parent)
{
	if (scope_container(group, piece) || lxc_container(group, piece, parent))
		return;
	/* cgroupfs spelling: the bare number below "docker", a pod or the runtime's name. */
	if (piece_is(parent, "docker") || piece_is(parent, "buildkit"))
		container_put(group, "docker", *piece);
	else if (piece_is(parent, "libpod_parent") || piece_is(parent, "libpod"))
		container_put(group, "podman", *piece);
	else if (is_in_pod(group) && hex_len(piece) == piece->len)
		container_put(group, "containerd", *piece);
	/* Below a parent of the user's (docker run --cgroup-parent), containerd's NAMESPACE, or "/.."
	 * of another control group namespace: whose it is cannot be told. */
	else if (piece->len == ID_LEN && hex_len(piece) == ID_LEN)
		container_put(group, "container", *piece);
}

/* "pod3f2a…" (cgroupfs) or "kubepods-burstable-pod3f2a_….slice" (systemd, with '_' for '-'). */
static void pod_read(struct wtl_group *group, const struct piece *piece)
{
	struct piece uid = {NULL, 0};
	size_t len = 0;

	if (piece_starts(piece, "pod")) {
		uid = piece_between(piece, strlen("pod"), 0);
	} else if (piece_starts(piece, "kubepods") && piece_ends(piece, ".slice")) {
		const char *mark = memmem(piece->at, piece->len, "-pod", 4);

		if (mark)
			uid = piece_between(piece, (size_t)(mark - piece->at) + 4, 6);
	}
	/* A UID of 36, or a static pod's of 32 digits. */
	if (uid.len < ID_MIN || uid.len >= sizeof(group->pod))
		return;
	for (; len < uid.len; len++) {
		char c = uid.at[len] == '_' ? '-' : uid.at[len];

		if (c != '-' && wtl_num_hex_digit(c) < 0)
			break;
		group->pod[len] = c;
	}
	group->pod[len == uid.len ? len : 0] = '\0';
	if (len < uid.len)
		memset(group->pod, 0, sizeof(group->pod));
}

/* "job_N" somewhere below "slurm", "slurm_NODE" or "slurmstepd.scope"; its steps are one job. */
static void job_read(struct wtl_group *group, const struct piece *piece)
{
	struct piece number;

	if (!piece_starts(piece, "job_"))
		return;
	number = piece_between(piece, strlen("job_"), 0);
	if (number.len > 0 && number.len < 20 && digits_len(&number) == number.len)
		snprintf(group->job, sizeof(group->job), "slurm/%.*s", (int)number.len, number.at);
}

/* The deepest unit counts: below user@1000.service stands the user's own unit. */
static void unit_read(struct wtl_group *group, const struct piece *piece)
{
	if (!piece_ends(piece, ".service") && !piece_ends(piece, ".scope"))
		return;
	memset(group->unit, 0, sizeof(group->unit));
	wtl_text_clean(group->unit, sizeof(group->unit), piece->at, piece->len);
}

/* How much a hierarchy's path tells: one of the older ones may know more than the unified one. */
static unsigned path_worth(const struct wtl_group *group)
{
	return 4U * (group->container[0] || group->pod[0]) + 2U * (group->job[0] != '\0') +
	       (group->unit[0] != '\0');
}

static bool is_slurm(const struct piece *piece)
{
	return piece_is(piece, "slurm") || piece_starts(piece, "slurm_") ||
	       piece_is(piece, "slurmstepd.scope") || piece_ends(piece, "slurmstepd.scope");
}

static void path_read(const char *path, size_t len, struct wtl_group *group)
{
	static const char removed[] =
		" (deleted)"; /* by the kernel, behind what only zombies are in */
	const struct piece whole = {path, len};
	struct piece parent = {path, 0};
	bool in_slurm = false;

	if (piece_ends(&whole, removed))
		len -= strlen(removed);
	memset(group, 0, sizeof(*group));
	for (size_t at = 0; at < len;) {
		const char *slash = memchr(path + at, '/', len - at);
		struct piece piece = {path + at, slash ? (size_t)(slash - path) - at : len - at};

		at += piece.len + 1;
		if (piece.len == 0)
			continue;
		in_slurm = in_slurm || is_slurm(&piece);
		pod_read(group, &piece);
		container_read(group, &piece, &parent);
		if (in_slurm)
			job_read(group, &piece);
		unit_read(group, &piece);
		parent = piece;
	}
	/* A container's scope is no unit of interest: its name is the container's. */
	if (group->container[0] && strstr(group->unit, ".scope"))
		memset(group->unit, 0, sizeof(group->unit));
	wtl_text_clean(group->cgroup, sizeof(group->cgroup), path, len);
}

/* The path of a "hierarchy:controllers:path" line. */
static bool line_path(const char *line, size_t len, const char **ret_path, bool *ret_is_v2)
{
	const char *first = memchr(line, ':', len), *second;

	if (!first)
		return false;
	second = memchr(first + 1, ':', len - (size_t)(first + 1 - line));
	if (!second || second + 1 >= line + len || second[1] != '/')
		return false;
	*ret_path = second + 1;
	*ret_is_v2 = first - line == 1 && line[0] == '0' && second == first + 1;
	return true;
}

/* Takes what another hierarchy knows beside the best one's. */
static void group_add(struct wtl_group *group, const struct wtl_group *other)
{
	if (!group->unit[0] && !group->container[0])
		memcpy(group->unit, other->unit, sizeof(group->unit));
	if (!group->job[0])
		memcpy(group->job, other->job, sizeof(group->job));
}

int wtl_group_parse(const char *text, size_t len, struct wtl_group *ret_group)
{
	struct wtl_group best, one;
	unsigned best_worth = 0;
	bool is_found = false;

	while (len > 0) {
		const char *end = memchr(text, '\n', len), *path;
		size_t n = end ? (size_t)(end - text) : len;
		bool is_v2;

		if (line_path(text, n, &path, &is_v2)) {
			unsigned worth;

			path_read(path, n - (size_t)(path - text), &one);
			/* Between equals, the unified hierarchy; "/" tells the least. */
			worth = 4 * path_worth(&one) + 2 * (one.cgroup[1] != '\0') + is_v2;
			if (!is_found || worth > best_worth) {
				if (is_found)
					group_add(&one, &best);
				best = one;
				best_worth = worth;
			} else {
				group_add(&best, &one);
			}
			is_found = true;
		}
		text += n + (end ? 1 : 0);
		len -= n + (end ? 1 : 0);
	}
	if (!is_found)
		return -EINVAL;
	wtl_group_find_step(&best);
	*ret_group = best;
	return 0;
}

/* ---- One struct for each ---- */

struct wtl_groups {
	struct wtl_group **all;
	size_t n, room;
	struct wtl_hash by_words; /* places in all */
};

struct wtl_groups *wtl_groups_new(void)
{
	return calloc(1, sizeof(struct wtl_groups));
}

void wtl_groups_free(struct wtl_groups *groups)
{
	if (!groups)
		return;
	for (size_t i = 0; i < groups->n; i++)
		free(groups->all[i]);
	free(groups->all);
	wtl_hash_done(&groups->by_words);
	free(groups);
}

/* Of the strings' bytes: most of a group is unused. */
static uint32_t group_hash(const struct wtl_group *group)
{
	const unsigned char *at = (const unsigned char *)group;
	uint64_t sum = WTL_HASH_START;

	for (size_t i = 0; i < sizeof(*group); i++)
		if (at[i])
			sum = wtl_hash_more(sum, &at[i], 1);
	return (uint32_t)sum;
}

static bool is_group(const void *groups, uint32_t at, const void *group)
{
	return memcmp(((const struct wtl_groups *)groups)->all[at], group,
		      sizeof(struct wtl_group)) == 0;
}

const struct wtl_group *wtl_groups_intern(struct wtl_groups *groups, const struct wtl_group *group)
{
	uint32_t sum = group_hash(group);
	const uint32_t *at = wtl_hash_find(&groups->by_words, sum, is_group, groups, group);
	struct wtl_group *copy;

	if (at)
		return groups->all[*at];
	if (groups->n >= WTL_GROUPS_MAX || wtl_hash_reserve(&groups->by_words, groups->n + 1) < 0 ||
	    wtl_array_reserve(&groups->all, &groups->room, groups->n + 1, sizeof(*groups->all)) < 0)
		return NULL;
	copy = malloc(sizeof(*copy));
	if (!copy)
		return NULL;
	*copy = *group;
	wtl_hash_add(&groups->by_words, sum, (uint32_t)groups->n);
	groups->all[groups->n++] = copy;
	return copy;
}

static int by_address(const void *left, const void *right)
{
	const struct wtl_group *const *a = left, *const *b = right;

	return ((uintptr_t)*a > (uintptr_t)*b) - ((uintptr_t)*a < (uintptr_t)*b);
}

void wtl_groups_sweep(struct wtl_groups *groups, const struct wtl_group *used[], size_t n_used)
{
	size_t n = groups->n;

	if (n_used > 0)
		qsort(used, n_used, sizeof(*used), by_address);
	groups->n = 0;
	wtl_hash_clear(&groups->by_words);
	for (size_t i = 0; i < n; i++) {
		struct wtl_group *group = groups->all[i];
		const struct wtl_group *key = group;

		if (n_used > 0 && bsearch(&key, used, n_used, sizeof(*used), by_address)) {
			wtl_hash_add(&groups->by_words, group_hash(group), (uint32_t)groups->n);
			groups->all[groups->n++] = group;
		} else {
			free(group);
		}
	}
}

size_t wtl_groups_count(const struct wtl_groups *groups)
{
	return groups->n;
}

const struct wtl_group *wtl_groups_at(const struct wtl_groups *groups, size_t index)
{
	return groups->all[index];
}
