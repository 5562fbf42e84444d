/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "commands/mark/mark.h"

/* Events handled in one go: samples come first. */
enum { BATCH = 8, LISTENER = WTL_MARK_CLIENTS };

static int watch(const struct wtl_mark_server *server, int fd, uint32_t who)
{
	struct epoll_event event = {.events = EPOLLIN, .data.u32 = who};

	return epoll_ctl(server->epoll, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

int wtl_mark_server_open(struct wtl_mark_server *server, struct wtl_err *err)
{
	int rc = wtl_mark_listen(server->path, err);

	server->epoll = -1;
	for (size_t i = 0; i < WTL_MARK_CLIENTS; i++)
		server->clients[i].fd = -1;
	if (rc < 0) {
		server->path[0] = '\0';
		return rc;
	}
	server->listener = rc;
	server->epoll = epoll_create1(EPOLL_CLOEXEC);
	rc = server->epoll < 0 ? -errno : watch(server, server->listener, LISTENER);
	if (rc == 0)
		return 0;
	wtl_mark_server_close(server);
	return wtl_err_set(err, rc, "marks", NULL, "%s", wtl_err_text(rc));
}

static void drop(struct wtl_mark_client *client)
{
	if (client->fd >= 0)
		close(client->fd);
	*client = (struct wtl_mark_client){.fd = -1};
}

/* A free place, or that of the oldest client that does not wait for an answer. */
static struct wtl_mark_client *make_place(struct wtl_mark_server *server)
{
	struct wtl_mark_client *place = NULL;

	for (size_t i = 0; i < WTL_MARK_CLIENTS; i++) {
		struct wtl_mark_client *client = &server->clients[i];

		if (client->fd < 0)
			return client;
		if (!client->waits && (!place || client->turn < place->turn))
			place = client;
	}
	if (place)
		drop(place);
	return place;
}

/* A client that does not take its answer is dropped. */
static void answer_client(struct wtl_mark_client *client, const char *answer)
{
	if (send(client->fd, answer, strlen(answer), MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		drop(client);
}

static void take_message(struct wtl_mark_server *server, struct wtl_mark_client *client)
{
	char text[WTL_MARK_MESSAGE_MAX];
	struct wtl_mark_message mark;
	struct wtl_buf answer;
	ssize_t len = recv(client->fd, text, sizeof(text), MSG_DONTWAIT | MSG_TRUNC);
	int rc;

	if (len < 0 && errno == EAGAIN)
		return;
	if (len <= 0) {
		drop(client);
		return;
	}
	wtl_buf_init(&answer, WTL_MARK_ANSWER_MAX - 1);
	rc = len > (ssize_t)sizeof(text) ? -EINVAL : wtl_mark_parse(text, (size_t)len, &mark);
	if (rc < 0)
		wtl_mark_refuse(&answer, EINVAL, "%s", wtl_mark_strerror(rc));
	else
		client->waits = !server->asked(server->context, &mark, client->pid, &answer);
	if (!client->waits)
		answer_client(client, wtl_buf_str(&answer));
	wtl_buf_done(&answer);
}

static void take_client(struct wtl_mark_server *server)
{
	int fd = accept4(server->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct wtl_mark_client *client;
	struct ucred who;
	socklen_t size = sizeof(who);

	if (fd < 0) {
		/* Out of descriptors: drop a client, as accept() would otherwise fail for ever. */
		if (errno == EMFILE || errno == ENFILE)
			make_place(server);
		return;
	}
	client = getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) == 0 &&
				 (who.uid == geteuid() || who.uid == 0)
			 ? make_place(server)
			 : NULL;
	if (!client || watch(server, fd, (uint32_t)(client - server->clients)) < 0) {
		close(fd);
		return;
	}
	*client = (struct wtl_mark_client){.fd = fd, .pid = who.pid, .turn = server->n_accepted++};
	/* Its message has most likely arrived already. */
	take_message(server, client);
}

void wtl_mark_server_serve(void *context)
{
	struct wtl_mark_server *server = context;
	struct epoll_event events[BATCH];
	int n = epoll_wait(server->epoll, events, BATCH, 0);

	for (int i = 0; i < n; i++) {
		uint32_t who = events[i].data.u32;

		if (who == LISTENER)
			take_client(server);
		else if (server->clients[who].fd >= 0)
			take_message(server, &server->clients[who]);
	}
}

void wtl_mark_server_answer(struct wtl_mark_server *server, const char *answer)
{
	/* Before the answer that it has ended: nobody new shall find it. */
	if (server->path[0])
		unlink(server->path);
	for (size_t i = 0; server->path[0] && i < WTL_MARK_CLIENTS; i++) {
		struct wtl_mark_client *client = &server->clients[i];

		if (client->fd < 0 || !client->waits)
			continue;
		client->waits = false;
		answer_client(client, answer);
	}
}

void wtl_mark_server_close(struct wtl_mark_server *server)
{
	if (!server->path[0])
		return;
	for (size_t i = 0; i < WTL_MARK_CLIENTS; i++)
		drop(&server->clients[i]);
	unlink(server->path);
	close(server->listener);
	if (server->epoll >= 0)
		close(server->epoll);
	server->epoll = -1;
	server->path[0] = '\0';
}

void wtl_mark_refuse(struct wtl_buf *answer, int code, const char *format, ...)
{
	char text[512];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	wtl_buf_clear(answer);
	wtl_buf_printf(answer, "error %d: %s", code, text);
}
