/* SPDX-License-Identifier: MIT */
/* Who has to go when a server is crowded, what a health check says, and whose name a server goes by. */
#include "unit.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "energy/units.h"
#include "serve/connections.h"
#include "serve/host.h"
#include "serve/http.h"
#include "serve/live.h"

/* ---- Connections ---- */

struct crowd {
	struct wtl_connections connections;
	int ends[WTL_CONNECTIONS_MAX]; /* the clients' */
};

static struct wtl_connection *join(struct crowd *crowd, unsigned char address, int64_t now_ns)
{
	const unsigned char bytes[16] = {address};
	struct wtl_connection *joined;
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	joined = wtl_connections_add(&crowd->connections, pair[0], bytes, now_ns);
	assert_non_null(joined);
	crowd->ends[joined - crowd->connections.list] = pair[1];
	return joined;
}

static bool is_shut(const struct crowd *crowd, const struct wtl_connection *connection)
{
	char byte;

	return recv(crowd->ends[connection - crowd->connections.list], &byte, 1, MSG_DONTWAIT) == 0;
}

static void leave(struct crowd *crowd)
{
	for (size_t i = 0; i < WTL_CONNECTIONS_MAX; i++) {
		struct wtl_connection *connection = &crowd->connections.list[i];

		if (connection->fd < 0)
			continue;
		close(connection->fd);
		close(crowd->ends[i]);
		wtl_connections_remove(&crowd->connections, connection);
	}
	assert_int_equal(crowd->connections.n, 0);
}

static void crowds(void **state)
{
	struct crowd crowd;
	struct wtl_connection *quiet, *first, *asking;
	const unsigned char nobody[16] = {0};

	(void)state;
	wtl_connections_init(&crowd.connections);
	quiet = join(&crowd, 1, 1);
	asking = join(&crowd, 2, 2);
	asking->is_asking = true;
	first = join(&crowd, 2, 3);
	while (crowd.connections.n < WTL_CONNECTIONS_CROWDED - 1)
		join(&crowd, 2, 4);
	assert_int_equal(wtl_connections_make_room(&crowd.connections, 5), 0);
	join(&crowd, 3, 5);
	/* The address that has most; of that, the oldest one that asks nothing. */
	assert_int_equal(wtl_connections_make_room(&crowd.connections, 6), 1);
	assert_true(is_shut(&crowd, first));
	assert_false(is_shut(&crowd, quiet));
	assert_false(is_shut(&crowd, asking));
	/* It has not gone yet, and counts no more. */
	assert_int_equal(wtl_connections_make_room(&crowd.connections, 7), 0);
	while (crowd.connections.n < WTL_CONNECTIONS_MAX)
		join(&crowd, 2, 8);
	assert_null(wtl_connections_add(&crowd.connections, 99, nobody, 9));
	leave(&crowd);
}

static void slow_ones(void **state)
{
	static const struct {
		bool is_asking, is_lasting;
		int64_t seconds;
		bool goes;
	} rows[] = {
		{false, false, 20, false}, {false, false, 21, true},	{true, false, 60, false},
		{true, false, 61, true},   {true, true, 100000, false},
	};

	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(rows); i++) {
		struct wtl_connection *connection;
		struct crowd crowd;

		wtl_connections_init(&crowd.connections);
		connection = join(&crowd, 1, 1000);
		connection->is_asking = rows[i].is_asking;
		connection->is_lasting = rows[i].is_lasting;
		assert_int_equal(wtl_connections_make_room(&crowd.connections,
							   1000 + rows[i].seconds * WTL_NS_PER_S),
				 rows[i].goes);
		assert_int_equal(is_shut(&crowd, connection), rows[i].goes);
		leave(&crowd);
	}
}

/* ---- Health ---- */

static void health(void **state)
{
	static const struct {
		int64_t age_s, interval_s;
		bool has_live, is_recorded;
		const char *recording;
		unsigned status;
		const char *says;
	} rows[] = {
		{0, 1, true, true, "/x.wattle", 200, "ok\n"},
		{10, 1, true, true, "", 200, "ok\n"},
		{11, 1, true, true, "", 503, "nothing was measured for 11 s\n"},
		{11, 4, true, true, "", 200, "ok\n"},
		{13, 4, true, true, "", 503, "nothing was measured for 13 s\n"},
		{1, 0, false, false, "", 503, "nothing was measured yet\n"},
		{60, 0, false, false, "", 503, "nothing was measured for 60 s\n"},
		{0, 1, true, false, "", 200, "ok\n"},
		{0, 1, true, false, "/s: Read-only file system", 200,
		 "ok, but nothing is remembered: /s: Read-only file system\n"},
	};
	const struct wtl_route *route = wtl_routes;

	(void)state;
	while (strcmp(route->path, "/healthz") != 0)
		route++;
	assert_false(route->flags & WTL_ROUTE_LIVE);
	for (size_t i = 0; i < UNIT_COUNT(rows); i++) {
		struct wtl_live live = {.interval_ns = rows[i].interval_s * WTL_NS_PER_S,
					.is_recorded = rows[i].is_recorded};
		const struct wtl_request request = {.live = rows[i].has_live ? &live : NULL,
						    .age_ns = rows[i].age_s * WTL_NS_PER_S};
		struct wtl_reply reply = {.status = 200};

		strcpy(live.recording, rows[i].recording);
		wtl_buf_init(&reply.body, 4096);
		route->answer(&request, &reply);
		assert_int_equal(reply.status, rows[i].status);
		assert_string_equal(wtl_buf_str(&reply.body), rows[i].says);
		wtl_buf_done(&reply.body);
	}
}

static void age(void **state)
{
	struct wtl_board board;
	int64_t before_ns;

	(void)state;
	wtl_board_init(&board);
	assert_in_range(wtl_board_age_ns(&board), 0, 10 * WTL_NS_PER_S);
	board.published_ns -= 100 * WTL_NS_PER_S;
	before_ns = wtl_board_age_ns(&board);
	assert_true(before_ns >= 100 * WTL_NS_PER_S);
	wtl_board_publish(&board, wtl_board_draft(&board));
	assert_true(wtl_board_age_ns(&board) < before_ns - 50 * WTL_NS_PER_S);
	wtl_board_done(&board);
}

/* ---- Names ---- */

static void names(void **state)
{
	static const char *const given[] = {"one.example", "Two", NULL};
	static const struct {
		const char *host;
		bool is_known;
	} rows[] = {
		{NULL, true},
		{"127.0.0.1", true},
		{"10.1.2.3:80", true},
		{"[::1]", true},
		{"[fe80::1]:80", true},
		{"localhost", true},
		{"LocalHost:9177", true},
		{"one.example", true},
		{"ONE.example:1", true},
		{"two", true},
		{"", false},
		{":80", false},
		{"[]", false},
		{"[::1", false},
		{"::1", false},
		{"[127.0.0.1]", false},
		{"127.0.0.1.x", false},
		{"localhost.x", false},
		{"xlocalhost", false},
		{"one.example.", false},
		{"three", false},
		{"two:x", false},
		{"two:80:80", false},
		{"[::1]x", false},
		{"1.2.3", false},
		{"two ", false},
	};

	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(rows); i++)
		assert_int_equal(wtl_host_is_known(rows[i].host, given), rows[i].is_known);
	assert_false(wtl_host_is_known("two", NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(crowds), cmocka_unit_test(slow_ones), cmocka_unit_test(health),
		cmocka_unit_test(age),	  cmocka_unit_test(names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
