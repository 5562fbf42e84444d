/* SPDX-License-Identifier: MIT */
#include "serve/exporter.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/packet.h"
#include "base/thread.h"
#include "sensors/share_text.h"
#include "serve/live.h"
#include "serve/live_blob.h"
#include "serve/past_blob.h"

#define SOURCE "exporter"

enum { TIMEOUT_MS = 1000, ANSWER_MAX = 4096 };

/* Memory with these seals can be neither changed nor shortened. */
#define SEALS (F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW)

void wtl_exporter_init(struct wtl_exporter *exporter, const char *path, struct wtl_board *board)
{
	*exporter = (struct wtl_exporter){.path = path, .board = board, .fd = -1};
}

static void hang_up(struct wtl_exporter *exporter)
{
	if (exporter->fd >= 0)
		close(exporter->fd);
	exporter->fd = -1;
}

void wtl_exporter_done(struct wtl_exporter *exporter)
{
	hang_up(exporter);
}

static int connect_reader(struct wtl_exporter *exporter, char said[160])
{
	char question[WTL_SHARE_QUESTION_MAX], answer[ANSWER_MAX];
	struct wtl_share_hello hello;
	int rc;

	exporter->fd = wtl_packet_connect(exporter->path, TIMEOUT_MS);
	if (exporter->fd < 0)
		return exporter->fd;
	wtl_share_print_question(question, WTL_SHARE_HELLO, WTL_SHARE_VERSION);
	rc = wtl_packet_ask(exporter->fd, question, answer, sizeof(answer), TIMEOUT_MS);
	if (rc >= 0)
		rc = wtl_share_parse_hello(answer, &hello, said);
	/* Another agent counts its snapshots from 1 again. */
	if (rc == 0 && hello.agent != exporter->agent) {
		exporter->agent = hello.agent;
		exporter->number = 0;
	}
	return rc;
}

/* The answer's text, and the descriptor that came with it (or -1). */
static int receive(int fd, char *answer, size_t size, int *ret_memory)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec bytes = {.iov_base = answer, .iov_len = size - 1};
	struct msghdr message = {.msg_iov = &bytes,
				 .msg_iovlen = 1,
				 .msg_control = &control,
				 .msg_controllen = sizeof(control)};
	struct pollfd ready = {.fd = fd, .events = POLLIN};
	const struct cmsghdr *part;
	ssize_t len;

	*ret_memory = -1;
	if (poll(&ready, 1, TIMEOUT_MS) <= 0)
		return -ETIMEDOUT;
	len = recvmsg(fd, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	if (len <= 0)
		return len < 0 ? -errno : -ECONNRESET;
	answer[len] = '\0';
	part = CMSG_FIRSTHDR(&message);
	if (part && part->cmsg_level == SOL_SOCKET && part->cmsg_type == SCM_RIGHTS &&
	    part->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(ret_memory, CMSG_DATA(part), sizeof(int));
	return 0;
}

/* *ret_bytes is for munmap(). */
static int map_memory(int memory, void **ret_bytes, size_t *ret_len)
{
	int seals = fcntl(memory, F_GET_SEALS);
	struct stat status;
	void *bytes;

	/* A file that is no memfd has no seals: F_GET_SEALS fails, or is not enough. */
	if (seals < 0 || (seals & SEALS) != SEALS || fstat(memory, &status) < 0 ||
	    status.st_size <= 0 || status.st_size > WTL_LIVE_BLOB_MAX)
		return -EPROTO;
	bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, memory, 0);
	if (bytes == MAP_FAILED)
		return -errno;
	*ret_bytes = bytes;
	*ret_len = (size_t)status.st_size;
	return 0;
}

static int read_memory(const struct wtl_exporter *exporter, int memory, struct wtl_live **ret_draft)
{
	struct wtl_live *draft = wtl_board_draft(exporter->board);
	size_t len;
	void *bytes;
	int rc;

	/* Requests hold all slots: the next snapshot will be taken. */
	if (!draft)
		return -EAGAIN;
	rc = map_memory(memory, &bytes, &len);
	if (rc < 0)
		return rc;
	rc = wtl_live_blob_read(bytes, len, draft);
	munmap(bytes, len);
	if (rc == 0)
		*ret_draft = draft;
	return rc;
}

/* Asks a question whose answer is a memfd; -1: the answer has none. */
static int ask_memory(const struct wtl_exporter *exporter, enum wtl_share_verb verb,
		      uint64_t number, int *ret_memory, char said[160])
{
	char question[WTL_SHARE_QUESTION_MAX], answer[ANSWER_MAX];
	int rc;

	*ret_memory = -1;
	wtl_share_print_question(question, verb, number);
	if (send(exporter->fd, question, strlen(question), MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		return errno == EPIPE ? -ECONNRESET : -errno;
	rc = receive(exporter->fd, answer, sizeof(answer), ret_memory);
	return rc == 0 ? wtl_share_parse_error(answer, said) : rc;
}

int wtl_exporter_past(struct wtl_exporter *exporter, struct wtl_past *ret_past)
{
	char said[160] = "";
	size_t len = 0;
	void *bytes = NULL;
	int memory, rc;

	rc = ask_memory(exporter, WTL_SHARE_PAST, 0, &memory, said);
	if (rc == 0)
		rc = memory < 0 ? -EPROTO : map_memory(memory, &bytes, &len);
	if (memory >= 0)
		close(memory);
	if (rc < 0)
		return rc;
	rc = wtl_past_blob_read(bytes, len, ret_past);
	munmap(bytes, len);
	return rc;
}

static int take_snapshot(struct wtl_exporter *exporter, char said[160])
{
	struct wtl_live *draft = NULL;
	int memory, rc;

	rc = ask_memory(exporter, WTL_SHARE_LIVE, exporter->number, &memory, said);
	if (rc == 0 && memory >= 0)
		rc = read_memory(exporter, memory, &draft);
	if (memory >= 0)
		close(memory);
	if (rc < 0 || !draft)
		return rc;
	exporter->number = draft->number;
	exporter->published_mono_ns = wtl_thread_clock_ns();
	draft->push = exporter->push;
	wtl_board_publish(exporter->board, draft);
	return 1;
}

static const char *explain(int code, const char *said)
{
	if (said[0])
		return said;
	switch (code) {
	case -ENOENT:
	case -ECONNREFUSED:
	case -ECONNRESET:
		return "no reader listens there: start wattle serve --reader";
	case -EACCES:
		return "this user may not ask the reader: he must be in the group wattle";
	case -EPROTONOSUPPORT:
		return "the reader is of another release";
	case -EPROTO:
		return "what listens there is no reader, or its snapshot is damaged";
	default:
		return wtl_err_text(code);
	}
}

int wtl_exporter_look(struct wtl_exporter *exporter, struct wtl_err *err)
{
	char said[160] = "";
	int rc = exporter->fd < 0 ? connect_reader(exporter, said) : 0;

	if (rc == 0)
		rc = take_snapshot(exporter, said);
	if (rc <= 0 && exporter->published_mono_ns > 0 &&
	    wtl_thread_clock_ns() - exporter->published_mono_ns > WTL_EXPORTER_OLD_NS) {
		wtl_board_withdraw(exporter->board);
		exporter->published_mono_ns = 0;
	}
	if (rc >= 0 || rc == -EAGAIN)
		return rc < 0 ? 0 : rc;
	hang_up(exporter);
	return wtl_err_set(err, rc, SOURCE, exporter->path, "%s: %s", exporter->path,
			   explain(rc, said));
}
