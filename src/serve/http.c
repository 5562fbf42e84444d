/* SPDX-License-Identifier: MIT */
#include "serve/http.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/err.h"
#include "base/text.h"
#include "serve/live.h"
#include "serve/mhd.h"
#include "serve/stream.h"

/* A client that says nothing, or takes nothing, is dropped. Requests are small: 16 KiB are their lines and headers. */
enum {
	CONNECTIONS_MAX = 128,
	TIMEOUT_S = 20,
	REQUEST_BYTES = 16 << 10,
	BACKLOG = 64,
	FEED_BYTES = 16 << 10
};

/* Only what comes from here may be shown or asked; nobody may show this in a frame of theirs. */
static const char policy[] =
	"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
	"connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; "
	"form-action 'none'";

struct wtl_http {
	struct wtl_mhd mhd;
	struct MHD_Daemon *daemon;
	const char *const *hosts;
	const struct wtl_route *routes;
	struct wtl_board *board;
	struct wtl_past *past;
	struct wtl_stream stream;
	unsigned port;
	unsigned metrics;
};

/* ---- A request ---- */

static const char *value_of(const struct wtl_request *request, enum MHD_ValueKind kind,
			    const char *name)
{
	return request->http->mhd.lookup_connection_value(request->connection, kind, name);
}

static const char *header(const struct wtl_request *request, const char *name)
{
	return value_of(request, MHD_HEADER_KIND, name);
}

static const char *argument(const struct wtl_request *request, const char *name)
{
	return value_of(request, MHD_GET_ARGUMENT_KIND, name);
}

static bool is_address(const char *host, size_t len)
{
	char text[64];
	struct in6_addr address;

	if (len > 2 && host[0] == '[' && host[len - 1] == ']') {
		host++;
		len -= 2;
	}
	if (len >= sizeof(text))
		return false;
	memcpy(text, host, len);
	text[len] = '\0';
	return inet_pton(AF_INET, text, &address) == 1 || inet_pton(AF_INET6, text, &address) == 1;
}

/* Where the port begins, or the end. */
static size_t name_length(const char *host)
{
	const char *bracket = strchr(host, ']'), *colon = strchr(bracket ? bracket : host, ':');

	return colon ? (size_t)(colon - host) : strlen(host);
}

static bool is_known_host(const struct wtl_http *http, const char *host)
{
	size_t len;

	if (!host)
		return true; /* no browser sends none */
	len = name_length(host);
	if (is_address(host, len) || (len == 9 && strncasecmp(host, "localhost", 9) == 0))
		return true;
	for (size_t i = 0; http->hosts && http->hosts[i]; i++)
		if (strlen(http->hosts[i]) == len && strncasecmp(http->hosts[i], host, len) == 0)
			return true;
	return false;
}

static const struct wtl_route *find_route(const struct wtl_http *http, const char *path)
{
	for (const struct wtl_route *route = http->routes; route->path; route++)
		if (strcmp(route->path, path) == 0)
			return route;
	return NULL;
}

static void answer(struct wtl_request *request, struct wtl_reply *reply)
{
	const struct wtl_route *route = find_route(request->http, request->path);
	struct wtl_board *board = request->http->board;

	if (!is_known_host(request->http, request->header(request, "Host"))) {
		wtl_reply_say(reply, 421, "this server is not known by that name: see --host");
		return;
	}
	if (!route) {
		wtl_reply_say(reply, 404, "there is nothing here");
		return;
	}
	request->live = wtl_board_hold(board);
	if (route->needs_live && !request->live)
		wtl_reply_say(reply, 503, "nothing was measured yet: ask again in a second");
	else
		route->answer(request, reply);
	wtl_board_give_back(board, request->live);
	if (reply->body.error)
		wtl_reply_say(reply, 500, "there is no memory for the answer");
}

static enum MHD_Result send_reply(const struct wtl_http *http, struct MHD_Connection *connection,
				  struct wtl_reply *reply)
{
	const struct wtl_mhd *mhd = &http->mhd;
	struct MHD_Response *response =
		reply->feed ? mhd->create_response_from_callback(MHD_SIZE_UNKNOWN, FEED_BYTES,
								 reply->feed, reply->feeder,
								 reply->feed_ends)
			    : mhd->create_response_from_buffer(reply->body.len, reply->body.data,
							       MHD_RESPMEM_MUST_FREE);
	enum MHD_Result rc;

	if (!response) {
		wtl_buf_done(&reply->body);
		if (reply->feed)
			reply->feed_ends(reply->feeder);
		return MHD_NO;
	}
	if (reply->etag)
		mhd->add_response_header(response, "ETag", reply->etag);
	if (reply->encoding)
		mhd->add_response_header(response, "Content-Encoding", reply->encoding);
	mhd->add_response_header(response, "Content-Type", reply->type);
	mhd->add_response_header(response, "Cache-Control",
				 reply->cache ? reply->cache : "no-store");
	mhd->add_response_header(response, "Content-Security-Policy", policy);
	mhd->add_response_header(response, "X-Content-Type-Options", "nosniff");
	mhd->add_response_header(response, "Referrer-Policy", "no-referrer");
	if (reply->status == 405)
		mhd->add_response_header(response, "Allow", "GET, HEAD");
	rc = mhd->queue_response(connection, reply->status, response);
	mhd->destroy_response(response);
	return rc;
}

/* Called with the headers first, and again when the body has been taken, which there is to be none of. */
static enum MHD_Result handle(void *context, struct MHD_Connection *connection, const char *path,
			      const char *method, const char *version, const char *body,
			      size_t *body_size, void **state)
{
	static const char seen = 0;
	struct wtl_http *http = context;
	struct wtl_request request = {.path = path,
				      .header = header,
				      .argument = argument,
				      .connection = connection,
				      .http = http,
				      .metrics = http->metrics,
				      .past = http->past,
				      .stream = &http->stream};
	struct wtl_reply reply = {.status = 200, .type = "text/plain; charset=utf-8"};

	(void)version;
	(void)body;
	if (!*state) {
		*state = (void *)(uintptr_t)&seen;
		return MHD_YES;
	}
	if (*body_size > 0) {
		*body_size = 0;
		return MHD_YES;
	}
	wtl_buf_init(&reply.body, WTL_REPLY_MAX);
	if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
		wtl_reply_say(&reply, 405, "only GET and HEAD are answered");
	else
		answer(&request, &reply);
	return send_reply(http, connection, &reply);
}

/* ---- The server ---- */

static int open_socket(const struct wtl_http_options *options, unsigned *ret_port,
		       struct wtl_err *err)
{
	struct sockaddr_in6 six = {.sin6_family = AF_INET6,
				   .sin6_port = htons((uint16_t)options->port)};
	struct sockaddr_in four = {.sin_family = AF_INET,
				   .sin_port = htons((uint16_t)options->port)};
	bool is_four = inet_pton(AF_INET, options->address, &four.sin_addr) == 1;
	struct sockaddr *name = is_four ? (struct sockaddr *)&four : (struct sockaddr *)&six;
	socklen_t size = is_four ? sizeof(four) : sizeof(six);
	int fd, on = 1, rc = 0;

	if (!is_four && inet_pton(AF_INET6, options->address, &six.sin6_addr) != 1)
		return wtl_err_set(err, EINVAL, "serve", NULL,
				   "'%s' is no IP address such as 127.0.0.1 or ::1",
				   options->address);
	fd = socket(name->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return wtl_err_set(err, errno, "serve", NULL, "there is no socket: %s",
				   wtl_err_text(errno));
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, name, size) < 0 || listen(fd, BACKLOG) < 0 || getsockname(fd, name, &size) < 0)
		rc = -errno;
	if (rc == 0) {
		*ret_port = ntohs(is_four ? four.sin_port : six.sin6_port);
		return fd;
	}
	close(fd);
	if (rc == -EADDRINUSE)
		return wtl_err_set(err, rc, "serve", NULL,
				   "port %u of %s is in use by another program: choose another "
				   "with --port",
				   options->port, options->address);
	return wtl_err_set(err, rc, "serve", NULL, "cannot listen at port %u of %s: %s",
			   options->port, options->address, wtl_err_text(rc));
}

int wtl_http_start(const struct wtl_http_options *options, struct wtl_http **ret_http,
		   struct wtl_err *err)
{
	struct wtl_http *http = calloc(1, sizeof(*http));
	int fd, rc;

	if (!http)
		return wtl_err_set(err, ENOMEM, "serve", NULL, "out of memory");
	http->hosts = options->hosts;
	http->routes = options->routes;
	http->board = options->board;
	http->metrics = options->metrics;
	http->past = options->past;
	rc = wtl_mhd_load(&http->mhd, err);
	fd = rc < 0 ? rc : open_socket(options, &http->port, err);
	if (fd < 0) {
		free(http);
		return fd;
	}
	http->daemon = http->mhd.start_daemon(
		MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_ITC | MHD_ALLOW_SUSPEND_RESUME, 0, NULL,
		NULL, handle, http, MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT,
		(unsigned)CONNECTIONS_MAX, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)TIMEOUT_S,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)REQUEST_BYTES, MHD_OPTION_END);
	if (!http->daemon) {
		close(fd);
		free(http);
		return wtl_err_set(err, EIO, "serve", NULL, "the HTTP server cannot be started");
	}
	wtl_stream_init(&http->stream, &http->mhd, options->board);
	*ret_http = http;
	return 0;
}

unsigned wtl_http_port(const struct wtl_http *http)
{
	return http->port;
}

void wtl_http_stop(struct wtl_http *http)
{
	if (!http)
		return;
	wtl_stream_end(&http->stream);
	http->mhd.stop_daemon(http->daemon);
	wtl_stream_done(&http->stream);
	free(http);
}
