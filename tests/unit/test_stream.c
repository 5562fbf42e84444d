/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/text.h"
#include "energy/units.h"
#include "serve/http.h"
#include "serve/live.h"
#include "serve/mhd.h"
#include "serve/stream.h"

/* A stream whose server is this test: who was suspended is counted. */
struct bench {
	struct wtl_board board;
	struct wtl_mhd mhd;
	struct wtl_stream stream;
	struct wtl_request request;
	const char *last; /* the request's Last-Event-ID */
	unsigned n_suspended;
	uint64_t number;
	int64_t begin_utc_ns;
};

/* What MHD is asked has no context. */
static struct bench *here;

static void suspend(struct MHD_Connection *connection)
{
	(void)connection;
	here->n_suspended++;
}

static void resume(struct MHD_Connection *connection)
{
	(void)connection;
	assert_true(here->n_suspended > 0);
	here->n_suspended--;
}

static const char *header(const struct wtl_request *request, const char *name)
{
	(void)request;
	assert_string_equal(name, "Last-Event-ID");
	return here->last;
}

static const char *argument(const struct wtl_request *request, const char *name)
{
	(void)request;
	(void)name;
	return NULL;
}

static void publish(struct bench *bench)
{
	struct wtl_live *live = wtl_board_draft(&bench->board);
	const struct wtl_live counts = {.n_domains = 0};

	assert_non_null(live);
	assert_int_equal(wtl_live_reserve(live, &counts), 0);
	live->number = ++bench->number;
	live->begin_utc_ns = bench->begin_utc_ns;
	live->t_utc_ns = bench->begin_utc_ns + (int64_t)bench->number * WTL_NS_PER_S;
	wtl_board_publish(&bench->board, live);
}

static int set_up(void **state)
{
	static struct bench bench;

	bench = (struct bench){
		.mhd = {.suspend_connection = suspend, .resume_connection = resume},
		.begin_utc_ns = INT64_C(1795000000123) * WTL_NS_PER_MS,
	};
	here = &bench;
	wtl_board_init(&bench.board);
	wtl_stream_init(&bench.stream, &bench.mhd, &bench.board);
	bench.request = (struct wtl_request){
		.header = header, .argument = argument, .stream = &bench.stream};
	publish(&bench);
	*state = &bench;
	return 0;
}

static int tear_down(void **state)
{
	struct bench *bench = *state;

	assert_int_equal(bench->stream.n_clients, 0);
	wtl_stream_end(&bench->stream);
	wtl_stream_done(&bench->stream);
	wtl_board_done(&bench->board);
	return 0;
}

static struct wtl_reply begin(struct bench *bench, const char *last)
{
	struct wtl_reply reply = {.status = 200};

	bench->last = last;
	bench->request.live = wtl_board_hold(&bench->board);
	wtl_stream_answer(&bench->request, &reply);
	wtl_board_give_back(&bench->board, bench->request.live);
	return reply;
}

/* What a client is given until it waits, by so many bytes: "1 2 lost3 6". */
static const char *told(const struct wtl_reply *reply, size_t size)
{
	static char all[1 << 20], numbers[200];
	size_t len = 0, n = 0;
	ssize_t more;

	while ((more = reply->feed(reply->feeder, len, all + len, size)) > 0)
		len += (size_t)more;
	all[len] = '\0';
	numbers[0] = '\0';
	for (const char *at = all; (at = strstr(at, "event: ")); at++) {
		const char *number = strstr(at, "\"number\":"), *frames = strstr(at, "\"frames\":");
		bool is_lost = wtl_text_starts(at, "event: lost");

		assert_non_null(is_lost ? frames : number);
		n += (size_t)snprintf(numbers + n, sizeof(numbers) - n, "%s%s%.*s", n ? " " : "",
				      is_lost ? "lost" : "",
				      (int)strspn((is_lost ? frames : number) + 9, "0123456789"),
				      (is_lost ? frames : number) + 9);
	}
	return numbers;
}

static void test_each_once(void **state)
{
	struct bench *bench = *state;
	struct wtl_reply fast = begin(bench, NULL), slow = begin(bench, NULL);

	assert_string_equal(told(&fast, 16384), "1");
	assert_int_equal(bench->n_suspended, 1);
	publish(bench);
	assert_int_equal(bench->n_suspended, 0);
	assert_string_equal(told(&fast, 7), "2");
	fast.feed_ends(fast.feeder);
	/* One that ended waits no more. */
	publish(bench);
	assert_string_equal(told(&slow, 16384), "3");
	slow.feed_ends(slow.feeder);
}

/* A frame that was begun is told to its end; what came meanwhile is lost, and counted. */
static void test_slow(void **state)
{
	struct bench *bench = *state;
	struct wtl_reply slow = begin(bench, NULL);
	char bytes[64];

	assert_int_equal(slow.feed(slow.feeder, 0, bytes, 64), 64);
	for (int i = 0; i < 20; i++) {
		struct wtl_reply other = begin(bench, NULL);

		publish(bench);
		told(&other, 16384);
		other.feed_ends(other.feeder);
	}
	assert_string_equal(told(&slow, 16384), "lost19 21");
	slow.feed_ends(slow.feeder);
}

static void test_catches_up(void **state)
{
	struct bench *bench = *state;
	struct wtl_reply other = begin(bench, NULL), again;

	for (int i = 0; i < 9; i++) {
		told(&other, 16384);
		publish(bench);
	}
	told(&other, 16384);
	again = begin(bench, "1795000000123-7");
	assert_string_equal(told(&again, 16384), "8 9 10");
	again.feed_ends(again.feeder);
	again = begin(bench, "1795000000123-3");
	assert_string_equal(told(&again, 16384), "lost2 6 7 8 9 10");
	again.feed_ends(again.feeder);
	again = begin(bench, "1795000000123-10");
	assert_string_equal(told(&again, 16384), "");
	publish(bench);
	assert_string_equal(told(&again, 16384), "11");
	again.feed_ends(again.feeder);
	other.feed_ends(other.feeder);
}

/* Another agent counts from 1 again: a snapshot of the same number is another one, and none is lost. */
static void test_another_agent(void **state)
{
	struct bench *bench = *state;
	struct wtl_reply reply = begin(bench, NULL), again;

	publish(bench);
	assert_string_equal(told(&reply, 16384), "2");
	bench->begin_utc_ns += WTL_NS_PER_S;
	bench->number = 1;
	publish(bench);
	assert_string_equal(told(&reply, 16384), "2");
	bench->begin_utc_ns += WTL_NS_PER_S;
	bench->number = 5;
	publish(bench);
	assert_string_equal(told(&reply, 16384), "6");
	bench->begin_utc_ns += WTL_NS_PER_S;
	bench->number = 0;
	publish(bench);
	publish(bench);
	assert_string_equal(told(&reply, 16384), "2");
	publish(bench);
	again = begin(bench, "1795000003123-1");
	assert_string_equal(told(&again, 16384), "2 3");
	again.feed_ends(again.feeder);
	reply.feed_ends(reply.feeder);
}

static void test_ids_that_mean_nothing(void **state)
{
	static const char *const ids[] = {
		"1795000000124-1", "1795000000123-99", "1795000000123", "", "-", "x-1",
		"1795000000123-x", "1795000000123--1"};
	struct bench *bench = *state;

	publish(bench);
	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
		struct wtl_reply reply = begin(bench, ids[i]);

		assert_string_equal(told(&reply, 16384), "2");
		reply.feed_ends(reply.feeder);
	}
}

static void check_over(struct wtl_reply *reply)
{
	char bytes[64];

	assert_int_equal(reply->feed(reply->feeder, 0, bytes, 64),
			 MHD_CONTENT_READER_END_OF_STREAM);
	reply->feed_ends(reply->feeder);
}

/* Who opens as many as may be ends his own, the oldest first; a page elsewhere stays, and another one is let in. */
static void test_bounded_and_over(void **state)
{
	enum { MORE = 3, ALL = WTL_STREAM_CLIENTS + MORE };
	static const unsigned char greedy[16] = {1}, page[16] = {2}, other[16] = {3};
	struct bench *bench = *state;
	struct wtl_reply replies[ALL];

	for (size_t i = 0; i < ALL; i++) {
		bench->request.address = i == 0 ? page : i == ALL - 1 ? other : greedy;
		replies[i] = begin(bench, NULL);
		assert_int_equal(replies[i].status, 200);
		assert_string_equal(told(&replies[i], 16384), "1");
		assert_true(bench->n_suspended <= WTL_STREAM_CLIENTS);
	}
	assert_int_equal(bench->n_suspended, WTL_STREAM_CLIENTS);
	for (size_t i = 1; i <= MORE; i++)
		check_over(&replies[i]);
	publish(bench);
	assert_string_equal(told(&replies[0], 16384), "2");
	wtl_stream_end(&bench->stream);
	assert_int_equal(bench->n_suspended, 0);
	check_over(&replies[0]);
	for (size_t i = 1 + MORE; i < ALL; i++)
		check_over(&replies[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_each_once, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_slow, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_catches_up, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_another_agent, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_ids_that_mean_nothing, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_bounded_and_over, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
