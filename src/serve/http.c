/* SPDX-License-Identifier: MIT */
#include "serve/http.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/err.h"
#include "base/text.h"
#include "base/thread.h"
#include "energy/units.h"
#include "serve/accept.h"
#include "serve/connections.h"
#include "serve/gate.h"
#include "serve/gzip.h"
#include "serve/host.h"
#include "serve/live.h"
#include "serve/mhd.h"
#include "serve/stream.h"

/* A client that sends nothing, or takes nothing, is dropped. Requests are small: lines and headers fit in 16 KiB. */
enum {
	TIMEOUT_S = 20,
	REQUEST_BYTES = 16 << 10,
	BACKLOG = 512,
	FEED_BYTES = 16 << 10,
	GZIP_LEAST = 1024,
	STACK_BYTES = 1 << 20, /* whatever ulimit -s says */
	ACCEPT_SIZE = 512,
};

/* Only this server's own content may be loaded or queried, and no other page may show this one in a frame. */
static const char policy[] =
	"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
	"connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; "
	"form-action 'none'";

/* An answer for several requests: of the same path, snapshot and header Accept. */
struct shared {
	struct MHD_Response *response; /* NULL: there is none */
	const struct wtl_route *route;
	struct wtl_live_id of;
	char accept[ACCEPT_SIZE];
};

struct wtl_http {
	struct wtl_mhd mhd;
	struct MHD_Daemon *daemon;
	struct wtl_gate *gate; /* NULL: everybody may ask */
	struct wtl_connections connections;
	struct wtl_gzip *gzip;
	struct shared shared[2]; /* as it is, and as gzip */
	struct wtl_stream stream;
	struct wtl_http_options options;
	int listener; /* -1 while a daemon has it */
	unsigned port;
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

static const struct wtl_route *find_route(const struct wtl_http *http, const char *path)
{
	for (const struct wtl_route *route = http->options.routes; route->path; route++)
		if (strcmp(route->path, path) == 0)
			return route;
	return NULL;
}

/* Does the gate admit the request? If not, the reply says why. */
static bool is_admitted(struct wtl_http *http, struct MHD_Connection *connection,
			struct wtl_reply *reply)
{
	const union MHD_ConnectionInfo *info =
		http->mhd.get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);
	char *user, *password = NULL;

	if (!http->gate)
		return true;
	user = http->mhd.basic_auth_get_username_password(connection, &password);
	switch (wtl_gate_admit(http->gate, info ? info->tls_session : NULL, user, password,
			       wtl_thread_clock_ns())) {
	case 0:
		break;
	case 401:
		wtl_reply_say(reply, 401, "a user's name and password are needed");
		break;
	case 403:
		wtl_reply_say(reply, 403, "a client's certificate is needed");
		break;
	default:
		wtl_reply_say(reply, 429, "too many passwords were tried: ask again in a second");
	}
	if (user)
		http->mhd.free(user);
	if (password) {
		explicit_bzero(password, strlen(password));
		http->mhd.free(password);
	}
	return reply->status == 200;
}

static void answer(const struct wtl_route *route, struct wtl_request *request,
		   struct wtl_reply *reply)
{
	if ((route->flags & WTL_ROUTE_LIVE) && !request->live)
		wtl_reply_say(reply, 503, "nothing was measured yet: ask again in a second");
	else
		route->answer(request, reply);
	if (reply->body.error)
		wtl_reply_say(reply, 500, "there is no memory for the answer");
}

/* ---- Replies ---- */

static void add_headers(const struct wtl_mhd *mhd, struct MHD_Response *response,
			const struct wtl_reply *reply)
{
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
	if (reply->status == 401)
		mhd->add_response_header(response, "WWW-Authenticate",
					 "Basic realm=\"wattle\", charset=\"UTF-8\"");
	if (reply->status == 429)
		mhd->add_response_header(response, "Retry-After", "1");
}

/* NULL: there is no memory. In both cases the reply's body is not the caller's any more. */
static struct MHD_Response *make_response(const struct wtl_http *http, struct wtl_reply *reply)
{
	const struct wtl_mhd *mhd = &http->mhd;
	struct MHD_Response *response =
		reply->feed ? mhd->create_response_from_callback(MHD_SIZE_UNKNOWN, FEED_BYTES,
								 reply->feed, reply->feeder,
								 reply->feed_ends)
			    : mhd->create_response_from_buffer(reply->body.len, reply->body.data,
							       MHD_RESPMEM_MUST_FREE);

	if (response)
		add_headers(mhd, response, reply);
	else if (reply->feed)
		reply->feed_ends(reply->feeder);
	else
		wtl_buf_done(&reply->body);
	return response;
}

static bool wants_gzip(const struct wtl_http *http, const struct wtl_request *request)
{
	const char *wanted = request->header(request, "Accept-Encoding");

	return http->gzip && wanted && wtl_accept_quality(wanted, "gzip", NULL) > 0;
}

static void pack(const struct wtl_http *http, struct wtl_reply *reply)
{
	struct wtl_buf packed;

	if (reply->feed || reply->encoding || reply->body.len < GZIP_LEAST)
		return;
	wtl_buf_init(&packed, WTL_REPLY_MAX);
	if (wtl_gzip_pack(http->gzip, &reply->body, &packed) < 0) {
		wtl_buf_done(&packed);
		return;
	}
	wtl_buf_done(&reply->body);
	reply->body = packed;
	reply->encoding = "gzip";
}

/* Returns the header Accept if the answer is the same for all current requests with that header; else NULL. */
static const char *shared_by(const struct wtl_http *http, const struct wtl_route *route,
			     const struct wtl_request *request)
{
	const char *accept = request->header(request, "Accept");

	if (!(route->flags & WTL_ROUTE_SHARED) || !request->live ||
	    http->mhd.get_connection_values(request->connection, MHD_GET_ARGUMENT_KIND, NULL,
					    NULL) > 0)
		return NULL;
	accept = accept ? accept : "";
	return strlen(accept) < ACCEPT_SIZE ? accept : NULL;
}

static void forget_shared(struct wtl_http *http, struct shared *shared)
{
	if (shared->response)
		http->mhd.destroy_response(shared->response);
	shared->response = NULL;
}

/* The response to an admitted request; the caller holds a reference. */
static struct MHD_Response *respond(struct wtl_http *http, const struct wtl_route *route,
				    struct wtl_request *request, struct wtl_reply *reply)
{
	bool is_packed = wants_gzip(http, request);
	struct shared *shared = &http->shared[is_packed];
	const char *accept = shared_by(http, route, request);
	struct MHD_Response *response;

	if (accept && shared->response && shared->route == route &&
	    wtl_live_is(request->live, &shared->of) && strcmp(shared->accept, accept) == 0)
		return shared->response;
	answer(route, request, reply);
	if (is_packed)
		pack(http, reply);
	response = make_response(http, reply);
	if (!response || !accept || reply->status != 200)
		return response;
	forget_shared(http, shared);
	*shared = (struct shared){response, route, wtl_live_id(request->live), ""};
	wtl_text_copy(shared->accept, sizeof(shared->accept), accept);
	return response;
}

/* ---- A request's way ---- */

static struct wtl_connection *connection_of(const struct wtl_http *http,
					    struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info =
		http->mhd.get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	return info ? info->socket_context : NULL;
}

static enum MHD_Result queue(struct wtl_http *http, struct MHD_Connection *connection,
			     struct wtl_reply *reply, struct MHD_Response *response)
{
	struct wtl_connection *known = connection_of(http, connection);
	enum MHD_Result rc;

	if (!response)
		return MHD_NO;
	if (known)
		known->is_lasting = reply->feed != NULL;
	rc = http->mhd.queue_response(connection, reply->status, response);
	if (response != http->shared[0].response && response != http->shared[1].response)
		http->mhd.destroy_response(response);
	return rc;
}

static enum MHD_Result handle_request(struct wtl_http *http, struct MHD_Connection *connection,
				      const char *path, struct wtl_reply *reply)
{
	const struct wtl_connection *known = connection_of(http, connection);
	struct wtl_request request = {.path = path,
				      .header = header,
				      .argument = argument,
				      .connection = connection,
				      .address = known ? known->address : NULL,
				      .http = http,
				      .metrics = http->options.metrics,
				      .past = http->options.past,
				      .stream = &http->stream};
	const struct wtl_route *route = find_route(http, path);
	struct MHD_Response *response;

	if (!wtl_host_is_known(header(&request, "Host"), http->options.hosts))
		wtl_reply_say(reply, 421, "this server is not known by that name: see --host");
	else if (is_admitted(http, connection, reply) && !route)
		wtl_reply_say(reply, 404, "there is nothing here");
	if (reply->status != 200)
		return queue(http, connection, reply, make_response(http, reply));
	request.live = wtl_board_hold(http->options.board);
	request.age_ns = wtl_board_age_ns(http->options.board);
	response = respond(http, route, &request, reply);
	wtl_board_give_back(http->options.board, request.live);
	return queue(http, connection, reply, response);
}

static bool has_body(const struct wtl_http *http, struct MHD_Connection *connection)
{
	const struct wtl_mhd *mhd = &http->mhd;
	const char *length =
		mhd->lookup_connection_value(connection, MHD_HEADER_KIND, "Content-Length");

	return (length && strcmp(length, "0") != 0) ||
	       mhd->lookup_connection_value(connection, MHD_HEADER_KIND, "Transfer-Encoding");
}

/* Called with the headers, and again at the request's end. An answer to the first call closes the connection. */
static enum MHD_Result handle(void *context, struct MHD_Connection *connection, const char *path,
			      const char *method, const char *version, const char *body,
			      size_t *body_size, void **state)
{
	struct wtl_http *http = context;
	struct wtl_connection *known = connection_of(http, connection);
	struct wtl_reply reply = {.status = 200, .type = "text/plain; charset=utf-8"};
	bool is_first = !*state;

	(void)version;
	(void)body;
	(void)body_size;
	*state = http;
	if (known && is_first) {
		known->is_asking = true;
		known->since_ns = wtl_thread_clock_ns();
	}
	wtl_buf_init(&reply.body, WTL_REPLY_MAX);
	if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
		wtl_reply_say(&reply, 405, "only GET and HEAD are answered");
	else if (has_body(http, connection))
		wtl_reply_say(&reply, 413, "a request has no body here");
	else if (is_first)
		return MHD_YES;
	else
		return handle_request(http, connection, path, &reply);
	return queue(http, connection, &reply, make_response(http, &reply));
}

static void request_ended(void *context, struct MHD_Connection *connection, void **state,
			  enum MHD_RequestTerminationCode code)
{
	struct wtl_connection *known = connection_of(context, connection);

	(void)code;
	*state = NULL;
	if (!known)
		return;
	known->is_asking = known->is_lasting = false;
	known->since_ns = wtl_thread_clock_ns();
}

static void read_address(const struct sockaddr *name, unsigned char address[16])
{
	const struct sockaddr_in6 *six = (const void *)name;
	const struct sockaddr_in *four = (const void *)name;

	memset(address, 0, 16);
	if (name && name->sa_family == AF_INET6)
		memcpy(address, &six->sin6_addr, 16);
	else if (name && name->sa_family == AF_INET)
		memcpy(address, &four->sin_addr, 4);
}

static void connection_changed(void *context, struct MHD_Connection *connection,
			       void **socket_context, enum MHD_ConnectionNotificationCode code)
{
	struct wtl_http *http = context;
	const union MHD_ConnectionInfo *fd, *name;
	int64_t now_ns = wtl_thread_clock_ns();
	unsigned char address[16];

	if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
		if (*socket_context)
			wtl_connections_remove(&http->connections, *socket_context);
		*socket_context = NULL;
		return;
	}
	fd = http->mhd.get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	name = http->mhd.get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
	if (!fd || !name)
		return;
	read_address(name->client_addr, address);
	wtl_connections_make_room(&http->connections, now_ns);
	*socket_context = wtl_connections_add(&http->connections, fd->connect_fd, address, now_ns);
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

/* Takes the listener over. */
static int start_daemon(struct wtl_http *http, struct wtl_err *err)
{
	struct MHD_OptionItem tls[] = {
		{MHD_OPTION_HTTPS_MEM_CERT, 0, wtl_gate_certificate(http->gate)},
		{MHD_OPTION_HTTPS_MEM_KEY, 0, wtl_gate_key(http->gate)},
		{MHD_OPTION_HTTPS_PRIORITIES, 0, wtl_gate_priorities(http->gate)},
		{MHD_OPTION_HTTPS_MEM_TRUST, 0, wtl_gate_client_ca(http->gate)},
		{MHD_OPTION_END, 0, NULL},
	};
	unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_ITC | MHD_ALLOW_SUSPEND_RESUME;

	if (!tls[0].ptr_value)
		tls[0].option = MHD_OPTION_END;
	else
		flags |= MHD_USE_TLS;
	if (!tls[3].ptr_value)
		tls[3].option = MHD_OPTION_END;
	wtl_connections_init(&http->connections);
	wtl_stream_init(&http->stream, &http->mhd, http->options.board);
	http->daemon = http->mhd.start_daemon(
		flags, 0, NULL, NULL, handle, http, MHD_OPTION_LISTEN_SOCKET, http->listener,
		MHD_OPTION_CONNECTION_LIMIT, (unsigned)WTL_CONNECTIONS_MAX,
		MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)TIMEOUT_S,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)REQUEST_BYTES,
		MHD_OPTION_THREAD_STACK_SIZE, (size_t)STACK_BYTES, MHD_OPTION_NOTIFY_CONNECTION,
		connection_changed, http, MHD_OPTION_NOTIFY_COMPLETED, request_ended, http,
		MHD_OPTION_ARRAY, tls, MHD_OPTION_END);
	if (http->daemon) {
		http->listener = -1;
		return 0;
	}
	wtl_stream_end(&http->stream);
	wtl_stream_done(&http->stream);
	return wtl_err_set(err, EIO, "serve", NULL, "the HTTP server cannot be started");
}

/* Closes all connections; the listener stays. */
static void stop_daemon(struct wtl_http *http)
{
	if (!http->daemon)
		return;
	http->listener = http->mhd.quiesce_daemon(http->daemon);
	wtl_stream_end(&http->stream);
	http->mhd.stop_daemon(http->daemon);
	wtl_stream_done(&http->stream);
	for (size_t i = 0; i < 2; i++)
		forget_shared(http, &http->shared[i]);
	http->daemon = NULL;
}

static int open_gate(const struct wtl_http_options *options, struct wtl_gate **ret_gate,
		     struct wtl_err *err)
{
	int rc = 0;

	*ret_gate = NULL;
	if (options->web_config)
		rc = wtl_gate_open(options->web_config, ret_gate, err);
	if (rc < 0 || !options->needs_gate || wtl_gate_is_closed(*ret_gate))
		return rc;
	wtl_gate_close(*ret_gate);
	*ret_gate = NULL;
	return wtl_err_set(err, EPERM, "serve", options->web_config,
			   "to listen at %s, it is to have tls_server_config, and basic_auth_users "
			   "or RequireAndVerifyClientCert; or give --insecure-listen",
			   options->address);
}

int wtl_http_start(const struct wtl_http_options *options, struct wtl_http **ret_http,
		   struct wtl_err *err)
{
	struct wtl_http *http = calloc(1, sizeof(*http));
	int rc;

	if (!http)
		return wtl_err_set(err, ENOMEM, "serve", NULL, "out of memory");
	http->options = *options;
	http->listener = -1;
	/* Before there is a thread that answers. Without it, nothing is compressed. */
	http->gzip = wtl_gzip_new();
	rc = wtl_mhd_load(&http->mhd, err);
	if (rc == 0)
		rc = open_gate(options, &http->gate, err);
	if (rc == 0)
		rc = http->listener = open_socket(options, &http->port, err);
	if (rc >= 0)
		rc = start_daemon(http, err);
	if (rc < 0) {
		wtl_http_stop(http);
		return rc;
	}
	*ret_http = http;
	return 0;
}

int wtl_http_reload(struct wtl_http *http, struct wtl_err *err)
{
	struct wtl_gate *gate, *old = http->gate;
	int rc = open_gate(&http->options, &gate, err);

	if (rc < 0)
		return rc;
	stop_daemon(http);
	http->gate = gate;
	rc = start_daemon(http, err);
	if (rc < 0) {
		http->gate = old;
		start_daemon(http, NULL);
		old = gate;
	}
	wtl_gate_close(old);
	return rc;
}

void wtl_http_pause(struct wtl_http *http)
{
	stop_daemon(http);
}

int wtl_http_resume(struct wtl_http *http, struct wtl_past *past, struct wtl_err *err)
{
	http->options.past = past;
	return start_daemon(http, err);
}

bool wtl_http_is_address(const char *text)
{
	struct in6_addr address;

	return inet_pton(AF_INET, text, &address) == 1 || inet_pton(AF_INET6, text, &address) == 1;
}

unsigned wtl_http_port(const struct wtl_http *http)
{
	return http->port;
}

bool wtl_http_has_tls(const struct wtl_http *http)
{
	return wtl_gate_certificate(http->gate) != NULL;
}

void wtl_http_stop(struct wtl_http *http)
{
	if (!http)
		return;
	stop_daemon(http);
	if (http->listener >= 0)
		close(http->listener);
	wtl_gate_close(http->gate);
	wtl_gzip_free(http->gzip);
	free(http);
}
