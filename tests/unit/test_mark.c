/* SPDX-License-Identifier: MIT */
/* Marks from outside: messages, where recordings listen, and who is answered. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <wattle.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/mark.h"
#include "base/packet.h"
#include "commands/mark/mark.h"
#include "unit.h"

/* ---- Messages ---- */

static void test_messages(void **state)
{
	static const struct {
		const char *text;
		int rc;
		enum wtl_mark_verb verb;
		const char *name;
	} cases[] = {
		{"begin training", 0, WTL_MARK_BEGIN, "training"},
		{"end training", 0, WTL_MARK_END, "training"},
		{"begin two words", 0, WTL_MARK_BEGIN, "two words"},
		{"begin a?\\", 0, WTL_MARK_BEGIN, "a?\\"},
		{"begin  x", -EILSEQ, 0, NULL},
		{"begin x ", -EILSEQ, 0, NULL},
		{"begin x\n", -EILSEQ, 0, NULL},
		{"begin \x1b[31mred\x07", -EILSEQ, 0, NULL},
		{"begin \xff\xfe", -EILSEQ, 0, NULL},
		{"begin a\xe2\x80\x8b", -EILSEQ, 0, NULL}, /* a blank of no width */
		{"begin gr\xc3\xbc\xc3\x9f", 0, WTL_MARK_BEGIN, "gr\xc3\xbc\xc3\x9f"},
		{"status", 0, WTL_MARK_STATUS, ""},
		{"stop", 0, WTL_MARK_STOP, ""},
		{"begin", -ENOENT, 0, NULL},
		{"begin ", -ENOENT, 0, NULL},
		{"begin \t\n ", -EILSEQ, 0, NULL},
		{"stop now", -EINVAL, 0, NULL},
		{"status ", -EINVAL, 0, NULL},
		{"", -EINVAL, 0, NULL},
		{" begin x", -EINVAL, 0, NULL},
		{"BEGIN x", -EINVAL, 0, NULL},
		{"beginx y", -EINVAL, 0, NULL},
		{"beg x", -EINVAL, 0, NULL},
	};

	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
		struct wtl_mark_message mark;

		assert_int_equal(wtl_mark_parse(cases[i].text, strlen(cases[i].text), &mark),
				 cases[i].rc);
		if (cases[i].rc < 0)
			continue;
		assert_int_equal(mark.verb, cases[i].verb);
		assert_string_equal(mark.name, cases[i].name);
	}
}

/* 63 bytes are a name, 64 are not: neither on the way out nor on the way in is one cut. */
static void test_long_names(void **state)
{
	char name[66], text[WTL_MARK_MESSAGE_MAX];
	struct wtl_mark_message mark;

	(void)state;
	memset(name, 'n', sizeof(name));
	name[63] = '\0';
	assert_int_equal(wtl_mark_print(text, WTL_MARK_BEGIN, name), 0);
	assert_int_equal(wtl_mark_parse(text, strlen(text), &mark), 0);
	assert_string_equal(mark.name, name);
	name[63] = 'n';
	name[64] = '\0';
	assert_int_equal(wtl_mark_print(text, WTL_MARK_BEGIN, name), -ENAMETOOLONG);
	snprintf(text, sizeof(text), "end %s", name);
	assert_int_equal(wtl_mark_parse(text, strlen(text), &mark), -ENAMETOOLONG);
	assert_int_equal(wtl_mark_print(text, WTL_MARK_END, NULL), -ENOENT);
	assert_int_equal(wtl_mark_print(text, WTL_MARK_END, ""), -ENOENT);
	assert_int_equal(wtl_mark_print(text, WTL_MARK_STOP, NULL), 0);
	assert_string_equal(text, "stop");
}

/* A NUL within a message is no end of it. */
static void test_a_message_with_a_nul(void **state)
{
	struct wtl_mark_message mark;

	(void)state;
	assert_int_equal(wtl_mark_parse("begin a\0b", 9, &mark), -EILSEQ);
	assert_int_equal(wtl_mark_parse("stop\0", 5, &mark), -EINVAL);
}

static void test_answers(void **state)
{
	static const struct {
		const char *answer;
		int rc;
		const char *text;
	} cases[] = {
		{"ok", 0, ""},
		{"ok\nfile x", 0, "file x"},
		{"error 4101: no window 'x' is open", -4101, "no window 'x' is open"},
		{"error 5:", -5, ""},
		{"okay", -EPROTO, NULL},
		{"", -EPROTO, NULL},
		{"error", -EPROTO, NULL},
		{"error : x", -EPROTO, NULL},
		{"error 0: x", -EPROTO, NULL},
		{"error -1: x", -EPROTO, NULL},
		{"error 99999999999999999999: x", -EPROTO, NULL},
		{"error 65536: x", -EPROTO, NULL},
	};

	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
		const char *text = NULL;

		assert_int_equal(wtl_mark_read_answer(cases[i].answer, &text), cases[i].rc);
		if (cases[i].text)
			assert_string_equal(text, cases[i].text);
	}
}

static void test_status(void **state)
{
	static const char *const bad[] = {
		"ok",
		"ok\n",
		"okay",
		"ok\nfile",
		"ok\nfile x\n\n",
		"ok\nfile x\npid -1",
		"ok\nfile x\nid 1",
		"ok\nfile x\nid 1:",
		"ok\nfile x\nid :1",
		"ok\nfile x\nbegin",
		"ok\nfile x\nbegin y",
		"ok\npid 5",
		"ok\nfile x\npid 99999999999999999999",
	};
	struct wtl_mark_status status;
	char many[WTL_MARK_ANSWER_MAX] = "ok\nfile x";

	(void)state;
	assert_int_equal(wtl_mark_status_parse("ok\nfile /a b/c.wattle\npid 12\nid 7:99\nstop yes\n"
					       "begin 1795274349583679404\nlater on\nwindow one\n"
					       "window two words",
					       &status),
			 0);
	assert_string_equal(status.file, "/a b/c.wattle");
	assert_int_equal(status.pid, 12);
	assert_int_equal(status.device, 7);
	assert_int_equal(status.inode, 99);
	assert_true(status.can_stop);
	assert_int_equal(status.begin_utc_ns, 1795274349583679404);
	assert_int_equal(status.n_windows, 2);
	assert_string_equal(status.windows[1], "two words");
	for (size_t i = 0; i < UNIT_COUNT(bad); i++)
		assert_int_equal(wtl_mark_status_parse(bad[i], &status), -EPROTO);
	assert_int_equal(wtl_mark_status_parse("error 5: it failed", &status), -5);
	for (int i = 0; i < 100; i++)
		strcat(many, "\nwindow w");
	assert_int_equal(wtl_mark_status_parse(many, &status), 0);
	assert_int_equal(status.n_windows, 64);
}

/* ---- Where recordings listen ---- */

struct place {
	char *dir, *own;
};

static void place_init(struct place *place)
{
	place->dir = unit_tmpdir();
	place->own = unit_path(place->dir, "wattle");
	setenv("XDG_RUNTIME_DIR", place->dir, 1);
}

static void place_done(struct place *place)
{
	unsetenv("XDG_RUNTIME_DIR");
	unit_rmtree(place->dir);
	free(place->own);
}

struct seen {
	unsigned n;
	char path[WTL_MARK_PATH_SIZE];
};

static void see(void *context, const char *path, int fd)
{
	struct seen *seen = context;

	assert_true(fd >= 0);
	/* This user may have recordings elsewhere. */
	if (strncmp(path, getenv("XDG_RUNTIME_DIR"), strlen(getenv("XDG_RUNTIME_DIR"))) != 0)
		return;
	seen->n++;
	strcpy(seen->path, path);
}

/* Two in one process have two names; a dead one is removed, and nothing else is. */
static void test_listening(void **state)
{
	char first[WTL_MARK_PATH_SIZE], second[WTL_MARK_PATH_SIZE];
	struct seen seen = {.n = 0};
	struct place place;
	char *kept;
	struct stat status;
	int fds[2];

	(void)state;
	place_init(&place);
	fds[0] = wtl_mark_listen(first, NULL);
	fds[1] = wtl_mark_listen(second, NULL);
	assert_true(fds[0] >= 0 && fds[1] >= 0);
	assert_string_not_equal(first, second);
	assert_int_equal(stat(first, &status), 0);
	assert_int_equal(status.st_mode & 07777, 0600);
	assert_int_equal(unit_entries(place.dir, "wattle"), 2);
	kept = unit_path(place.dir, "wattle/record-1.txt");
	unit_write(place.dir, "wattle/record-1.txt", "not a socket's name");
	unit_write(place.dir, "wattle/record-2.sock", "not a socket");
	wtl_mark_each(see, &seen);
	assert_int_equal(seen.n, 2);
	close(fds[0]); /* as if it was killed */
	seen.n = 0;
	wtl_mark_each(see, &seen);
	assert_int_equal(seen.n, 1);
	assert_string_equal(seen.path, second);
	assert_int_equal(access(first, F_OK), -1);
	/* What is no socket is let alone, or refuses connections like a dead one. */
	assert_int_equal(access(kept, F_OK), 0);
	free(kept);
	close(fds[1]);
	fds[0] = wtl_mark_listen(first, NULL);
	assert_true(fds[0] >= 0);
	assert_int_equal(access(second, F_OK), strcmp(first, second) == 0 ? 0 : -1);
	close(fds[0]);
	place_done(&place);
}

/* ---- The server ---- */

struct bench {
	struct place place;
	struct wtl_mark_server server;
	unsigned n_asked;
	struct wtl_mark_message last;
	int last_pid;
};

static bool asked(void *context, const struct wtl_mark_message *mark, int pid,
		  struct wtl_buf *answer)
{
	struct bench *bench = context;

	bench->n_asked++;
	bench->last = *mark;
	bench->last_pid = pid;
	if (mark->verb == WTL_MARK_STOP)
		return false;
	if (mark->verb == WTL_MARK_END)
		wtl_mark_refuse(answer, 4101, "no window '%s' is open", mark->name);
	else
		wtl_buf_puts(answer, "ok");
	return true;
}

static void bench_init(struct bench *bench)
{
	struct wtl_err err = {.code = 0};

	memset(bench, 0, sizeof(*bench));
	place_init(&bench->place);
	bench->server.asked = asked;
	bench->server.context = bench;
	if (wtl_mark_server_open(&bench->server, &err) < 0)
		fail_msg("%s", err.text);
}

static void bench_done(struct bench *bench)
{
	wtl_mark_server_close(&bench->server);
	wtl_mark_server_close(&bench->server); /* a closed one is fine */
	assert_int_equal(unit_entries(bench->place.dir, "wattle"), 0);
	place_done(&bench->place);
}

static int client(const struct bench *bench)
{
	int fd = wtl_packet_connect(bench->server.path, 0);

	assert_true(fd >= 0);
	return fd;
}

static bool has_work(const struct bench *bench)
{
	struct epoll_event event;

	return epoll_wait(bench->server.epoll, &event, 1, 0) > 0;
}

/* Until there is nothing to do. */
static void serve(struct bench *bench)
{
	for (int i = 0; has_work(bench); i++) {
		assert_true(i < 1000);
		wtl_mark_server_serve(&bench->server);
	}
}

static void say(int fd, const void *text, size_t len)
{
	assert_int_equal(send(fd, text, len, MSG_NOSIGNAL), len);
}

/* "" for an end, NULL for nothing. */
static const char *hear(int fd)
{
	static char text[WTL_MARK_ANSWER_MAX];
	ssize_t n = recv(fd, text, sizeof(text) - 1, MSG_DONTWAIT);

	if (n < 0)
		return NULL;
	text[n] = '\0';
	return text;
}

static void test_one_client(void **state)
{
	struct bench bench;
	int fd;

	(void)state;
	bench_init(&bench);
	assert_false(has_work(&bench));
	fd = client(&bench);
	say(fd, "begin x", 7);
	serve(&bench);
	assert_int_equal(bench.n_asked, 1);
	assert_int_equal(bench.last.verb, WTL_MARK_BEGIN);
	assert_string_equal(bench.last.name, "x");
	assert_int_equal(bench.last_pid, getpid());
	assert_string_equal(hear(fd), "ok");
	/* It may go on. */
	say(fd, "end y", 5);
	serve(&bench);
	assert_string_equal(hear(fd), "error 4101: no window 'y' is open");
	close(fd);
	serve(&bench);
	assert_int_equal(bench.n_asked, 2);
	bench_done(&bench);
}

static void test_rubbish(void **state)
{
	static const char zeros[WTL_MARK_MESSAGE_MAX + 1];
	struct bench bench;
	char large[60000];
	int fd;

	(void)state;
	bench_init(&bench);
	fd = client(&bench);
	say(fd, "nonsense", 8);
	serve(&bench);
	assert_non_null(strstr(hear(fd), "error 22: "));
	say(fd, zeros, sizeof(zeros));
	serve(&bench);
	assert_non_null(strstr(hear(fd), "error 22: "));
	memset(large, 'x', sizeof(large));
	memcpy(large, "begin ", 6);
	say(fd, large, sizeof(large));
	serve(&bench);
	assert_non_null(strstr(hear(fd), "error 22: "));
	say(fd, large, 6 + 64);
	serve(&bench);
	assert_non_null(strstr(hear(fd), "at most 63 bytes"));
	assert_int_equal(bench.n_asked, 0);
	close(fd);
	serve(&bench);
	bench_done(&bench);
}

/* Those that say nothing make room for those that do, and nobody's place is lost for ever. */
static void test_half_open(void **state)
{
	struct bench bench;
	int silent[3 * WTL_MARK_CLIENTS], fd;

	(void)state;
	bench_init(&bench);
	for (size_t i = 0; i < UNIT_COUNT(silent); i++) {
		silent[i] = client(&bench);
		serve(&bench);
	}
	fd = client(&bench);
	say(fd, "begin x", 7);
	serve(&bench);
	assert_string_equal(hear(fd), "ok");
	assert_string_equal(hear(silent[0]), ""); /* it was sent away */
	assert_null(hear(silent[UNIT_COUNT(silent) - 1]));
	for (size_t i = 0; i < UNIT_COUNT(silent); i++)
		close(silent[i]);
	close(fd);
	serve(&bench);
	for (size_t i = 0; i < WTL_MARK_CLIENTS; i++)
		assert_int_equal(bench.server.clients[i].fd, -1);
	bench_done(&bench);
}

/* One waking serves a few, and the next one goes on. */
static void test_a_flood(void **state)
{
	struct bench bench;
	int fds[WTL_MARK_CLIENTS];
	unsigned served;

	(void)state;
	bench_init(&bench);
	for (size_t i = 0; i < UNIT_COUNT(fds); i++) {
		fds[i] = client(&bench);
		for (int k = 0; k < 5; k++)
			say(fds[i], "begin x", 7);
	}
	wtl_mark_server_serve(&bench.server);
	served = bench.n_asked;
	assert_in_range(served, 1, 8);
	wtl_mark_server_serve(&bench.server);
	assert_in_range(bench.n_asked, served + 1, 16);
	serve(&bench);
	assert_int_equal(bench.n_asked, 5 * WTL_MARK_CLIENTS);
	for (size_t i = 0; i < UNIT_COUNT(fds); i++) {
		for (int k = 0; k < 5; k++)
			assert_string_equal(hear(fds[i]), "ok");
		close(fds[i]);
	}
	serve(&bench);
	bench_done(&bench);
}

/* Whoever never takes its answers is sent away when they do not fit any more. */
static void test_a_deaf_client(void **state)
{
	struct bench bench;
	int fd;

	(void)state;
	bench_init(&bench);
	fd = client(&bench);
	for (int i = 0; i < 100000; i++) {
		if (send(fd, "begin x", 7, MSG_DONTWAIT | MSG_NOSIGNAL) < 0) {
			if (errno == EPIPE || errno == ECONNRESET)
				break;
			assert_int_equal(errno, EAGAIN);
		}
		serve(&bench);
	}
	assert_true(bench.n_asked > 1);
	for (size_t i = 0; i < WTL_MARK_CLIENTS; i++)
		assert_int_equal(bench.server.clients[i].fd, -1);
	close(fd);
	bench_done(&bench);
}

/* Those that wait for the end are answered at the end, and are not pushed out. */
static void test_waiting(void **state)
{
	struct bench bench;
	int fd, gone, other[2 * WTL_MARK_CLIENTS];

	(void)state;
	bench_init(&bench);
	fd = client(&bench);
	say(fd, "stop", 4);
	gone = client(&bench);
	say(gone, "stop", 4);
	serve(&bench);
	assert_null(hear(fd));
	close(gone);
	for (size_t i = 0; i < UNIT_COUNT(other); i++) {
		other[i] = client(&bench);
		serve(&bench);
	}
	wtl_mark_server_answer(&bench.server, "ok\ntold all is well");
	assert_string_equal(hear(fd), "ok\ntold all is well");
	wtl_mark_server_answer(&bench.server, "ok");
	assert_null(hear(fd)); /* once */
	for (size_t i = 0; i < UNIT_COUNT(other); i++)
		close(other[i]);
	wtl_mark_server_close(&bench.server);
	assert_string_equal(hear(fd), "");
	close(fd);
	bench_done(&bench);
}

/* ---- The library's side ---- */

struct thread {
	struct bench *bench;
	bool stop; /* atomic */
};

static void *serve_all(void *argument)
{
	struct thread *thread = argument;
	struct epoll_event event;

	while (!__atomic_load_n(&thread->stop, __ATOMIC_SEQ_CST))
		if (epoll_wait(thread->bench->server.epoll, &event, 1, 1) > 0)
			wtl_mark_server_serve(&thread->bench->server);
	return NULL;
}

static void test_the_library(void **state)
{
	struct bench bench;
	struct thread thread = {.bench = &bench};
	struct wattle_error error = {.size = sizeof(error)};
	char long_name[65], path[WTL_MARK_PATH_SIZE];
	pthread_t id;

	(void)state;
	/* A program without standard input: the connection has its number. */
	assert_int_equal(open("/dev/null", O_RDONLY), STDIN_FILENO);
	bench_init(&bench);
	close(STDIN_FILENO);
	strcpy(path, bench.server.path);
	assert_int_equal(pthread_create(&id, NULL, serve_all, &thread), 0);
	error.code = 7;
	assert_int_equal(wattle_mark_begin(path, "round 1", &error), 0);
	assert_int_equal(error.code, 7); /* there is nothing to say */
	assert_int_equal(wattle_mark_end(path, "round 1", &error), -WATTLE_E_NO_WINDOW);
	assert_int_equal(error.code, -WATTLE_E_NO_WINDOW);
	assert_string_equal(error.text, "no window 'round 1' is open");
	assert_int_equal(wattle_mark_end(path, "round 1", NULL), -WATTLE_E_NO_WINDOW);
	__atomic_store_n(&thread.stop, true, __ATOMIC_SEQ_CST);
	pthread_join(id, NULL);
	assert_int_equal(bench.n_asked, 3);

	memset(long_name, 'x', sizeof(long_name));
	long_name[64] = '\0';
	assert_int_equal(wattle_mark_begin(path, long_name, &error), -EINVAL);
	assert_non_null(strstr(error.text, "63 bytes"));
	assert_int_equal(wattle_mark_begin(path, "a\x01", &error), -EINVAL);
	assert_non_null(strstr(error.text, "plain text"));
	assert_int_equal(wattle_mark_begin(path, "", &error), -EINVAL);
	assert_int_equal(wattle_mark_begin(path, NULL, &error), -EINVAL);
	assert_int_equal(wattle_mark_begin(NULL, "x", &error), -ENOENT);
	assert_non_null(strstr(error.text, "WATTLE_MARK"));
	assert_int_equal(wattle_mark_begin("", "x", &error), -ENOENT);
	assert_int_equal(wattle_mark_begin("/dev/null/x", "x", &error), -ENOTDIR);
	assert_int_equal(error.code, -ENOTDIR);
	assert_string_equal(error.path, "/dev/null/x");
	assert_non_null(strstr(error.text, "Not a directory"));
	error.size = 0;
	assert_int_equal(wattle_mark_begin("", "x", &error), -EINVAL);
	error.size = sizeof(error);
	bench_done(&bench);
	assert_int_equal(wattle_mark_begin(path, "x", &error), -ENOENT);
	assert_string_equal(error.path, path);
	assert_non_null(strstr(error.text, "any more"));
}

/* Whoever answers, if it is no recording, is not believed. */
static void *answer_rubbish(void *argument)
{
	int listener = *(int *)argument, fd = accept(listener, NULL, NULL);
	char text[64];

	assert_true(fd >= 0);
	assert_true(recv(fd, text, sizeof(text), 0) > 0);
	say(fd, "hello", 5);
	close(fd);
	fd = accept(listener, NULL, NULL);
	assert_true(recv(fd, text, sizeof(text), 0) > 0);
	close(fd); /* without a word */
	return NULL;
}

static void test_who_is_no_recording(void **state)
{
	char path[WTL_MARK_PATH_SIZE];
	struct wattle_error error = {.size = sizeof(error)};
	struct place place;
	pthread_t id;
	int listener;

	(void)state;
	place_init(&place);
	listener = wtl_mark_listen(path, NULL);
	assert_true(listener >= 0);
	assert_int_equal(fcntl(listener, F_SETFL, 0), 0);
	assert_int_equal(pthread_create(&id, NULL, answer_rubbish, &listener), 0);
	assert_int_equal(wattle_mark_begin(path, "x", &error), -EPROTO);
	assert_non_null(strstr(error.text, "no recording"));
	assert_int_equal(wattle_mark_begin(path, "x", &error), -ECONNRESET);
	assert_non_null(strstr(error.text, "without an answer"));
	pthread_join(id, NULL);
	close(listener);
	assert_int_equal(wattle_mark_begin(path, "x", &error), -ECONNREFUSED);
	assert_non_null(strstr(error.text, "any more"));
	place_done(&place);
}

/* Nobody answers: the caller comes back. */
static void test_a_recording_that_hangs(void **state)
{
	char path[WTL_MARK_PATH_SIZE], answer[64];
	int fds[4 * WTL_MARK_CLIENTS], listener, last = 0;
	struct place place;
	size_t n = 0;

	(void)state;
	place_init(&place);
	listener = wtl_mark_listen(path, NULL);
	fds[n] = wtl_packet_connect(path, 0);
	assert_true(fds[n] >= 0);
	assert_int_equal(wtl_packet_ask(fds[n++], "status", answer, sizeof(answer), 1), -ETIMEDOUT);
	for (; n < UNIT_COUNT(fds) && last >= 0; n++)
		last = fds[n] = wtl_packet_connect(path, 1);
	assert_int_equal(last, -ETIMEDOUT);
	for (size_t i = 0; i + 1 < n; i++)
		close(fds[i]);
	close(listener);
	place_done(&place);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_messages),
		cmocka_unit_test(test_long_names),
		cmocka_unit_test(test_a_message_with_a_nul),
		cmocka_unit_test(test_answers),
		cmocka_unit_test(test_status),
		cmocka_unit_test(test_listening),
		cmocka_unit_test(test_one_client),
		cmocka_unit_test(test_rubbish),
		cmocka_unit_test(test_half_open),
		cmocka_unit_test(test_a_flood),
		cmocka_unit_test(test_a_deaf_client),
		cmocka_unit_test(test_waiting),
		cmocka_unit_test(test_the_library),
		cmocka_unit_test(test_who_is_no_recording),
		cmocka_unit_test(test_a_recording_that_hangs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
