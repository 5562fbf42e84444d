/* SPDX-License-Identifier: MIT */
#include "serve/connections.h"

#include <string.h>
#include <sys/socket.h>

#include "energy/units.h"

#define REQUEST_NS (20 * WTL_NS_PER_S)
#define ANSWER_NS  (60 * WTL_NS_PER_S)

void wtl_connections_init(struct wtl_connections *connections)
{
	memset(connections, 0, sizeof(*connections));
	for (size_t i = 0; i < WTL_CONNECTIONS_MAX; i++)
		connections->list[i].fd = -1;
}

struct wtl_connection *wtl_connections_add(struct wtl_connections *connections, int fd,
					   const unsigned char address[16], int64_t now_ns)
{
	struct wtl_connection *connection = connections->list;

	if (connections->n == WTL_CONNECTIONS_MAX)
		return NULL;
	while (connection->fd >= 0)
		connection++;
	*connection = (struct wtl_connection){.fd = fd, .since_ns = now_ns};
	memcpy(connection->address, address, sizeof(connection->address));
	connections->n++;
	return connection;
}

void wtl_connections_remove(struct wtl_connections *connections, struct wtl_connection *connection)
{
	connection->fd = -1;
	connections->n--;
}

static bool is_idle(const struct wtl_connection *connection)
{
	return connection->fd >= 0 && !connection->is_asking && !connection->is_closing;
}

static void close_it(struct wtl_connection *connection)
{
	shutdown(connection->fd, SHUT_RDWR);
	connection->is_closing = true;
}

static size_t count_of(const struct wtl_connections *connections, const unsigned char address[16])
{
	size_t n = 0;

	for (size_t i = 0; i < WTL_CONNECTIONS_MAX; i++)
		n += is_idle(&connections->list[i]) &&
		     memcmp(connections->list[i].address, address, 16) == 0;
	return n;
}

static struct wtl_connection *choose(struct wtl_connections *connections)
{
	struct wtl_connection *chosen = NULL;
	size_t most = 0;

	for (size_t i = 0; i < WTL_CONNECTIONS_MAX; i++) {
		struct wtl_connection *connection = &connections->list[i];
		size_t n;

		if (!is_idle(connection))
			continue;
		n = count_of(connections, connection->address);
		if (n < most || (n == most && connection->since_ns >= chosen->since_ns))
			continue;
		chosen = connection;
		most = n;
	}
	return chosen;
}

/* A client that sends, or takes, a byte a second must not stay. */
static bool is_too_slow(const struct wtl_connection *connection, int64_t now_ns)
{
	int64_t patience_ns = connection->is_asking ? ANSWER_NS : REQUEST_NS;

	return connection->fd >= 0 && !connection->is_closing && !connection->is_lasting &&
	       now_ns - connection->since_ns > patience_ns;
}

size_t wtl_connections_make_room(struct wtl_connections *connections, int64_t now_ns)
{
	struct wtl_connection *chosen = NULL;
	size_t n = 0, closing = 0;

	for (size_t i = 0; i < WTL_CONNECTIONS_MAX; i++) {
		struct wtl_connection *connection = &connections->list[i];

		if (is_too_slow(connection, now_ns)) {
			close_it(connection);
			n++;
		}
		closing += connection->fd >= 0 && connection->is_closing;
	}
	if (connections->n - closing >= WTL_CONNECTIONS_CROWDED)
		chosen = choose(connections);
	if (chosen)
		close_it(chosen);
	return n + (chosen != NULL);
}
