/* SPDX-License-Identifier: MIT */
#include "serve/share.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "base/packet.h"
#include "base/text.h"
#include "meter/meter.h"
#include "sensors/rapl.h"
#include "sensors/share_text.h"
#include "serve/live.h"
#include "serve/live_blob.h"
#include "serve/past_blob.h"

#define SOURCE "share"

enum {
	BATCH = 16,	/* served at a time: samples come first */
	QUESTIONS = 64, /* of a client, between two samples */
	GROUPS = 1024,	/* of a user */
	LISTENER = WTL_SHARE_CLIENTS,
};

/* As coarse_is_due() in sensors/rapl_perf.c: samples are not that even. */
#define SLACK_NS (50 * WTL_NS_PER_MS)

enum right { RIGHT_NONE, RIGHT_TOTALS, RIGHT_READINGS };

struct client {
	int fd; /* -1: the place is free */
	uid_t uid;
	enum right right;
	bool may_limit;
	unsigned n_asked; /* since the last sample */
	bool rests;	  /* until the next one */
	uint64_t turn;	  /* lower: it has asked for nothing for longer */
};

/* What one kind of client gets: the channels of some domains, and their readings as text. */
struct view {
	size_t domains[WTL_SHARE_CHANNELS];
	size_t n;
	struct wtl_buf readings;
	bool is_old; /* there was a sample since */
};

struct wtl_sharing {
	struct wtl_sharing_options options;
	char path[WTL_SHARE_PATH_SIZE];
	char user[WTL_SHARE_USER_SIZE];
	ino_t inode;
	bool is_private;
	int listener, epoll;
	uint64_t agent, n_turns;
	struct view raw, totals;
	int64_t totals_due_ns;
	uint64_t shown[WTL_SHARE_CHANNELS]; /* totals as last served: they never fall */
	struct wtl_buf answer;
	int memory; /* a memfd with the newest snapshot that was asked for; < 0: none */
	uint64_t memory_number;
	int past_memory; /* the same with what is kept of the last day */
	struct client clients[WTL_SHARE_CLIENTS];
};

/* ---- What is shared ---- */

/* What is modelled, every client can model as well. What comes from another agent, that one serves itself. */
static void choose(struct wtl_sharing *share)
{
	const struct wattle_meter *meter = share->options.meter;

	for (size_t i = 0; i < meter->n_domains && share->raw.n < WTL_SHARE_CHANNELS; i++) {
		int primary = meter->domains[i].domain.primary;
		const struct wtl_channel *channel =
			primary < 0 ? NULL : &meter->catalog.channels[primary];

		if (!channel || !meter->domains[i].account ||
		    channel->method == WATTLE_METHOD_MODELLED || wtl_share_is_told(channel))
			continue;
		share->raw.domains[share->raw.n++] = i;
		if (meter->domains[i].domain.in_total)
			share->totals.domains[share->totals.n++] = i;
	}
}

static void describe(const struct wtl_sharing *share, size_t domain, bool is_total,
		     struct wtl_share_channel *ret_told)
{
	const struct wattle_meter *meter = share->options.meter;
	const struct wtl_channel *channel =
		&meter->catalog.channels[meter->domains[domain].domain.primary];
	struct wtl_share_channel told = {.channel = *channel};

	wtl_text_copy(told.source, sizeof(told.source), channel->source);
	if (is_total) {
		told.channel.quantity = WTL_QUANTITY_ENERGY;
		told.channel.unit = (struct wtl_unit){.num = WTL_RAPL_COARSE_UJ, .den = 1};
		told.channel.range = 0;
		told.channel.class = NULL;
	}
	*ret_told = told;
}

static void take_reading(const struct wtl_sharing *share, size_t domain,
			 struct wtl_share_reading *ret_told)
{
	const struct wattle_meter *meter = share->options.meter;
	const struct wtl_domain_state *state = &meter->domains[domain];

	*ret_told = (struct wtl_share_reading){.reading = meter->readings[state->domain.primary],
					       .epoch = wtl_account_breaks(state->account)};
}

/* The energy so far, even if the sensor is one of power. */
static void take_total(struct wtl_sharing *share, size_t i, struct wtl_share_reading *told)
{
	const struct wtl_account *account =
		share->options.meter->domains[share->totals.domains[i]].account;
	uint64_t steps = wtl_rapl_coarse(wtl_account_uj(account));

	if (steps > share->shown[i])
		share->shown[i] = steps;
	told->reading.value = share->shown[i];
	if (account->last_ok.t_mono_ns < 0 && told->reading.status == WATTLE_STATUS_OK)
		told->reading.status = WATTLE_STATUS_STALE;
	else if (account->last_ok.t_mono_ns >= 0)
		told->reading.t_mono_ns = account->last_ok.t_mono_ns;
}

static void renew(struct wtl_sharing *share, struct view *view)
{
	view->is_old = false;
	wtl_buf_clear(&view->readings);
	wtl_buf_puts(&view->readings, "ok\n");
	for (size_t i = 0; i < view->n; i++) {
		struct wtl_share_reading told;

		take_reading(share, view->domains[i], &told);
		if (view == &share->totals)
			take_total(share, i, &told);
		wtl_share_print_reading(&view->readings, i, &told);
	}
}

static void forget_past(struct wtl_sharing *share)
{
	if (share->past_memory >= 0)
		close(share->past_memory);
	share->past_memory = -1;
}

void wtl_sharing_sampled(struct wtl_sharing *share)
{
	int64_t now_ns;

	if (!share)
		return;
	share->raw.is_old = true;
	forget_past(share);
	now_ns = wtl_io_mono_ns(share->options.meter->env.io);
	if (share->options.everyone && now_ns >= share->totals_due_ns - SLACK_NS) {
		share->totals_due_ns = now_ns + WTL_RAPL_COARSE_NS;
		renew(share, &share->totals);
	}
	for (size_t i = 0; i < WTL_SHARE_CLIENTS; i++) {
		struct client *client = &share->clients[i];
		struct epoll_event event = {.events = EPOLLIN, .data.u32 = (uint32_t)i};

		client->n_asked = 0;
		if (client->rests)
			epoll_ctl(share->epoll, EPOLL_CTL_MOD, client->fd, &event);
		client->rests = false;
	}
}

/* ---- Answering ---- */

static void say_hello(struct wtl_sharing *share, const struct client *client,
		      const struct view *view)
{
	struct wtl_share_hello hello = {
		.agent = share->agent,
		.n_channels = view->n,
		.is_total = client->right == RIGHT_TOTALS,
		.interval_ns = (uint64_t)share->options.interval_ns,
		.now_ns = (uint64_t)wtl_io_mono_ns(share->options.meter->env.io),
	};

	if (hello.is_total && hello.interval_ns < (uint64_t)WTL_RAPL_COARSE_NS)
		hello.interval_ns = (uint64_t)WTL_RAPL_COARSE_NS;
	wtl_text_copy(hello.user, sizeof(hello.user), share->user);
	wtl_share_print_hello(&share->answer, &hello);
}

static void say_catalog(struct wtl_sharing *share, const struct view *view, uint64_t first)
{
	struct wtl_share_channel told;

	wtl_buf_puts(&share->answer, "ok\n");
	for (uint64_t i = first; i < view->n && i - first < WTL_SHARE_CHANNELS_AT_ONCE; i++) {
		describe(share, view->domains[i], view == &share->totals, &told);
		wtl_share_print_channel(&share->answer, i, &told);
	}
}

/* ---- Snapshots, for an exporter ---- */

/* Makes a memfd that nobody can change; frees the bytes. */
static int make_memory(struct wtl_buf *bytes)
{
	int memory = memfd_create("wattle-live", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	size_t done = 0;

	while (memory >= 0 && !bytes->error && done < bytes->len) {
		ssize_t n = write(memory, bytes->data + done, bytes->len - done);

		if (n <= 0)
			break;
		done += (size_t)n;
	}
	if (memory < 0)
		memory = -errno;
	else if (bytes->error || done < bytes->len ||
		 fcntl(memory, F_ADD_SEALS,
		       F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0) {
		close(memory);
		memory = -ENOMEM;
	}
	wtl_buf_done(bytes);
	return memory;
}

static int live_memory(const struct wtl_live *live)
{
	struct wtl_buf bytes;

	wtl_buf_init(&bytes, WTL_LIVE_BLOB_MAX);
	wtl_live_blob_write(live, &bytes);
	return make_memory(&bytes);
}

/* Made at most once between two samples, however many ask. */
static int past_memory(struct wtl_sharing *share)
{
	struct wtl_buf bytes;

	if (share->past_memory >= 0)
		return share->past_memory;
	wtl_buf_init(&bytes, WTL_PAST_BLOB_MAX);
	wtl_past_blob_write(share->options.past, &bytes);
	share->past_memory = make_memory(&bytes);
	return share->past_memory;
}

/* The descriptor of the newest one; -1: the client has it, or there is none yet. */
static int newest_memory(struct wtl_sharing *share, uint64_t has)
{
	const struct wtl_live *live = wtl_board_hold(share->options.board);

	if (live && live->number != share->memory_number && live->number != has) {
		if (share->memory >= 0)
			close(share->memory);
		share->memory = live_memory(live);
		share->memory_number = share->memory < 0 ? 0 : live->number;
	}
	wtl_board_give_back(share->options.board, live);
	return live && share->memory_number != has ? share->memory : -1;
}

/* Sends the answer, with a descriptor if there is one. */
static ssize_t send_answer(const struct wtl_sharing *share, int fd, int memory)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = {.bytes = {0}};
	struct iovec bytes = {.iov_base = share->answer.data, .iov_len = share->answer.len};
	struct msghdr message = {.msg_iov = &bytes, .msg_iovlen = 1};

	if (memory >= 0) {
		control.align = (struct cmsghdr){.cmsg_level = SOL_SOCKET,
						 .cmsg_type = SCM_RIGHTS,
						 .cmsg_len = CMSG_LEN(sizeof(int))};
		memcpy(CMSG_DATA(&control.align), &memory, sizeof(memory));
		message.msg_control = &control;
		message.msg_controllen = sizeof(control);
	}
	return sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* ---- All answers ---- */

/* Returns the descriptor that goes with it, or -1. */
static int answer(struct wtl_sharing *share, const struct client *client,
		  const struct wtl_share_question *question)
{
	struct view *view = client->right == RIGHT_READINGS ? &share->raw : &share->totals;

	switch (question->verb) {
	case WTL_SHARE_HELLO:
		if (question->number == WTL_SHARE_VERSION)
			say_hello(share, client, view);
		else
			wtl_share_print_error(&share->answer, EPROTONOSUPPORT,
					      "this agent speaks version 1 of the protocol: use "
					      "programs of its release");
		return -1;
	case WTL_SHARE_CATALOG:
		say_catalog(share, view, question->number);
		return -1;
	case WTL_SHARE_READ:
		if (view->is_old && view == &share->raw)
			renew(share, view);
		wtl_buf_add(&share->answer, view->readings.data, view->readings.len);
		return -1;
	case WTL_SHARE_LIVE:
		if (!share->options.board || client->right != RIGHT_READINGS)
			break;
		wtl_buf_puts(&share->answer, "ok\n");
		return newest_memory(share, question->number);
	case WTL_SHARE_PAST:
		if (!share->options.past || client->right != RIGHT_READINGS)
			break;
		wtl_buf_puts(&share->answer, "ok\n");
		return past_memory(share);
	case WTL_SHARE_VERBS:
		break;
	}
	wtl_share_print_error(&share->answer, EOPNOTSUPP, "this agent has no snapshots for you");
	return -1;
}

static void drop(struct client *client)
{
	if (client->fd >= 0)
		close(client->fd);
	*client = (struct client){.fd = -1};
}

/* True: the callee that sets the limit owns the connection from now on. */
static bool hand_limit_over(struct wtl_sharing *share, struct client *client, const char *text,
			    size_t len)
{
	const struct wtl_sharing_options *options = &share->options;
	struct wtl_share_limit limit;
	int rc;

	if (!options->limit || !client->may_limit) {
		wtl_share_print_error(&share->answer, EACCES,
				      options->limit
					      ? "only root and the members of its --limit-group may"
					      : "it was started without --limit-group");
		return false;
	}
	if (wtl_share_parse_limit(text, len, &limit) < 0) {
		wtl_share_print_error(&share->answer, EINVAL, "that is no limit");
		return false;
	}
	rc = options->limit(options->limit_context, &limit, client->fd);
	if (rc == 0)
		return true;
	wtl_share_print_error(&share->answer, -rc, wtl_err_text(rc));
	return false;
}

static void take_question(struct wtl_sharing *share, struct client *client)
{
	char text[WTL_SHARE_LIMIT_MAX];
	ssize_t len = recv(client->fd, text, sizeof(text), MSG_DONTWAIT | MSG_TRUNC);
	struct wtl_share_question question;
	int memory = -1;

	if (len < 0 && errno == EAGAIN)
		return;
	if (len <= 0) {
		drop(client);
		return;
	}
	client->turn = share->n_turns++;
	wtl_buf_clear(&share->answer);
	if (len <= (ssize_t)sizeof(text) && wtl_share_asks_limit(text, (size_t)len)) {
		if (hand_limit_over(share, client, text, (size_t)len)) {
			drop(client);
			return;
		}
	} else if (client->right == RIGHT_NONE)
		wtl_share_print_error(&share->answer, EACCES,
				      "only root and the members of its group are told");
	else if (len > (ssize_t)sizeof(text) ||
		 wtl_share_parse_question(text, (size_t)len, &question) < 0)
		wtl_share_print_error(&share->answer, EINVAL,
				      "this agent does not know that question");
	else
		memory = answer(share, client, &question);
	/* A client that does not take an answer has lost it, and is dropped. */
	if (share->answer.error || send_answer(share, client->fd, memory) < 0) {
		drop(client);
		return;
	}
	if (++client->n_asked >= QUESTIONS) {
		struct epoll_event none = {.data.u32 = (uint32_t)(client - share->clients)};

		client->rests = true;
		epoll_ctl(share->epoll, EPOLL_CTL_MOD, client->fd, &none);
	}
}

/* ---- Clients ---- */

static bool is_in_group(int fd, gid_t group)
{
	gid_t groups[GROUPS];
	socklen_t size = sizeof(groups);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &size) < 0)
		return false;
	for (size_t i = 0; i < size / sizeof(groups[0]); i++)
		if (groups[i] == group)
			return true;
	return false;
}

static bool is_member(int fd, const struct ucred *who, gid_t group)
{
	return group != WTL_SHARE_NO_GROUP && (who->gid == group || is_in_group(fd, group));
}

static enum right right_of(const struct wtl_sharing *share, int fd, const struct ucred *who)
{
	if (who->uid == 0 || who->uid == geteuid() || is_member(fd, who, share->options.group))
		return RIGHT_READINGS;
	return share->options.everyone ? RIGHT_TOTALS : RIGHT_NONE;
}

static size_t count_of(const struct wtl_sharing *share, uid_t uid)
{
	size_t n = 0;

	for (size_t i = 0; i < WTL_SHARE_CLIENTS; i++)
		n += share->clients[i].fd >= 0 && share->clients[i].uid == uid;
	return n;
}

/* A free place, or that of the client that has asked for nothing for longest, of the user who has most clients. */
static struct client *make_place(struct wtl_sharing *share)
{
	struct client *place = NULL;
	size_t most = 0;

	for (size_t i = 0; i < WTL_SHARE_CLIENTS; i++) {
		struct client *client = &share->clients[i];
		size_t n;

		if (client->fd < 0)
			return client;
		n = count_of(share, client->uid);
		if (n > most || (n == most && place && client->turn < place->turn)) {
			most = n;
			place = client;
		}
	}
	if (place)
		drop(place);
	return place;
}

static int watch(const struct wtl_sharing *share, int fd, uint32_t who)
{
	struct epoll_event event = {.events = EPOLLIN, .data.u32 = who};

	return epoll_ctl(share->epoll, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

static void take_client(struct wtl_sharing *share)
{
	int fd = accept4(share->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct client *client;
	struct ucred who;
	socklen_t size = sizeof(who);

	if (fd < 0) {
		/* Without a free descriptor this would be repeated for ever. */
		if (errno == EMFILE || errno == ENFILE)
			make_place(share);
		return;
	}
	client = getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) == 0 ? make_place(share)
									   : NULL;
	if (!client || watch(share, fd, (uint32_t)(client - share->clients)) < 0) {
		close(fd);
		return;
	}
	*client = (struct client){.fd = fd,
				  .uid = who.uid,
				  .right = right_of(share, fd, &who),
				  .may_limit = who.uid == 0 ||
					       is_member(fd, &who, share->options.limit_group),
				  .turn = share->n_turns++};
	take_question(share, client);
}

int wtl_sharing_fd(const struct wtl_sharing *share)
{
	return share->epoll;
}

bool wtl_sharing_is_private(const struct wtl_sharing *share)
{
	return share->is_private;
}

void wtl_sharing_serve(void *context)
{
	struct wtl_sharing *share = context;
	struct epoll_event events[BATCH];
	int n = epoll_wait(share->epoll, events, BATCH, 0);

	for (int i = 0; i < n; i++) {
		uint32_t who = events[i].data.u32;

		if (who == LISTENER)
			take_client(share);
		else if (share->clients[who].fd >= 0)
			take_question(share, &share->clients[who]);
	}
}

/* ---- Listening ---- */

/* 0: there is no socket, or nobody listens at it. */
static int check_old(const char *path)
{
	struct stat status;
	int fd;

	if (lstat(path, &status) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISSOCK(status.st_mode))
		return -EEXIST;
	fd = wtl_packet_connect(path, 0);
	if (fd >= 0)
		close(fd);
	/* Another error, such as a full queue, means that somebody listens. */
	return fd >= 0 || (fd != -ECONNREFUSED && fd != -ENOENT) ? -EADDRINUSE : 0;
}

/* Sets its group and mode by a descriptor: in a folder of another user, its name may belong to any file by now. */
static int give_to(struct wtl_sharing *share, int fd)
{
	const struct wtl_sharing_options *options = &share->options;
	mode_t mode = options->everyone ? 0666 : 0660;
	char name[32];
	struct stat status;

	if (fstat(fd, &status) < 0)
		return -errno;
	if (!S_ISSOCK(status.st_mode) || status.st_uid != geteuid())
		return -EEXIST;
	share->inode = status.st_ino;
	/* A systemd unit has that group already, and may be denied chown(). */
	share->is_private = options->group == WTL_SHARE_NO_GROUP ||
			    (status.st_gid != options->group &&
			     fchownat(fd, "", (uid_t)-1, options->group, AT_EMPTY_PATH) < 0);
	if (share->is_private && !options->everyone)
		mode = 0600;
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	return chmod(name, mode) < 0 ? -errno : 0;
}

/* Until it is ready, the socket has another name, and only its owner has access. */
static int give(struct wtl_sharing *share, const char *hidden)
{
	int fd = open(hidden, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	int rc = fd < 0 ? -errno : give_to(share, fd);

	if (fd >= 0)
		close(fd);
	return rc;
}

static int listen_at(struct wtl_sharing *share)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	char *hidden = address.sun_path;
	mode_t mask;
	int rc;

	if (snprintf(hidden, sizeof(address.sun_path), "%s.%d", share->path, (int)getpid()) >=
	    (int)sizeof(address.sun_path))
		return -ENAMETOOLONG;
	share->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (share->listener < 0)
		return -errno;
	unlink(hidden);
	mask = umask(0177);
	rc = bind(share->listener, (const struct sockaddr *)&address, sizeof(address)) < 0 ? -errno
											   : 0;
	umask(mask);
	if (rc == 0)
		rc = give(share, hidden);
	if (rc == 0 &&
	    (listen(share->listener, WTL_SHARE_CLIENTS) < 0 || rename(hidden, share->path) < 0))
		rc = -errno;
	if (rc < 0) {
		unlink(hidden);
		share->inode = 0;
	}
	return rc;
}

static const char *explain(int code)
{
	switch (code) {
	case -EADDRINUSE:
		return "another agent listens there";
	case -EEXIST:
		return "there is a file that is no socket";
	case -ENAMETOOLONG:
		return "the path is too long for a socket";
	default:
		return wtl_err_text(code);
	}
}

int wtl_sharing_open(const struct wtl_sharing_options *options, struct wtl_sharing **ret_share,
		     struct wtl_err *err)
{
	struct wtl_sharing *share = calloc(1, sizeof(*share));
	int rc;

	if (!share)
		return wtl_err_set(err, ENOMEM, SOURCE, NULL, "out of memory");
	share->options = *options;
	share->listener = share->epoll = share->memory = share->past_memory = -1;
	for (size_t i = 0; i < WTL_SHARE_CLIENTS; i++)
		share->clients[i].fd = -1;
	wtl_buf_init(&share->answer, WTL_AGENT_ANSWER_MAX - 1);
	wtl_buf_init(&share->raw.readings, WTL_AGENT_ANSWER_MAX - 1);
	wtl_buf_init(&share->totals.readings, WTL_AGENT_ANSWER_MAX - 1);
	wtl_text_copy(share->path, sizeof(share->path), options->path);
	wtl_text_copy(share->user, sizeof(share->user), options->user);
	if (getrandom(&share->agent, sizeof(share->agent), GRND_NONBLOCK) < 0)
		share->agent = (uint64_t)wtl_io_mono_ns(options->meter->env.io);
	choose(share);
	renew(share, &share->raw);
	renew(share, &share->totals);
	rc = strlen(options->path) < sizeof(share->path) ? check_old(share->path) : -ENAMETOOLONG;
	if (rc == 0)
		rc = listen_at(share);
	if (rc == 0)
		share->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (rc == 0)
		rc = share->epoll < 0 ? -errno : watch(share, share->listener, LISTENER);
	if (rc < 0) {
		wtl_sharing_close(share);
		return wtl_err_set(err, rc, SOURCE, options->path, "cannot listen at %s: %s",
				   options->path, explain(rc));
	}
	*ret_share = share;
	return 0;
}

/* Another agent may have replaced this one, if it seemed dead. */
static void remove_own(const struct wtl_sharing *share)
{
	struct stat status;

	if (share->inode && lstat(share->path, &status) == 0 && status.st_ino == share->inode)
		unlink(share->path);
}

void wtl_sharing_close(struct wtl_sharing *share)
{
	if (!share)
		return;
	remove_own(share);
	for (size_t i = 0; i < WTL_SHARE_CLIENTS; i++)
		drop(&share->clients[i]);
	if (share->listener >= 0)
		close(share->listener);
	if (share->epoll >= 0)
		close(share->epoll);
	forget_past(share);
	if (share->memory >= 0)
		close(share->memory);
	wtl_buf_done(&share->answer);
	wtl_buf_done(&share->raw.readings);
	wtl_buf_done(&share->totals.readings);
	free(share);
}
