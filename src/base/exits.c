/* SPDX-License-Identifier: MIT */
#include "base/exits.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <linux/taskstats.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/text.h"

enum {
	/* Held 20,000 exits over a second in which nobody read them. */
	QUEUE_BYTES = 8 << 20,
	ANSWER_MAX = 8192,
};

struct request {
	struct nlmsghdr netlink;
	struct genlmsghdr generic;
	struct nlattr attribute;
	char text[1024 + NLA_ALIGNTO];
};

/* Attributes begin at multiples of NLA_ALIGNTO. */
static size_t attribute_align(size_t len)
{
	return (len + NLA_ALIGNTO - 1) / NLA_ALIGNTO * NLA_ALIGNTO;
}

/* One datagram of the kernel's; whatever else might come is passed over. */
static ssize_t receive(int fd, void *buf, size_t size)
{
	for (;;) {
		struct sockaddr_nl from = {0};
		socklen_t from_len = sizeof(from);
		ssize_t len = recvfrom(fd, buf, size, 0, (struct sockaddr *)&from, &from_len);

		if (len < 0 && errno == EINTR)
			continue;
		if (len < 0)
			return errno == EAGAIN ? 0 : -errno;
		if (from.nl_pid == 0)
			return len;
	}
}

/* A command with one text. */
static int request_send(struct wtl_exits *exits, uint16_t family, uint8_t command,
			uint16_t attribute, const char *text)
{
	size_t len = strlen(text) + 1;
	struct request request = {
		.netlink =
			{
				.nlmsg_type = family,
				.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK,
				.nlmsg_seq = ++exits->sequence,
			},
		.generic = {.cmd = command, .version = TASKSTATS_GENL_VERSION},
		.attribute = {.nla_type = attribute},
	};

	if (len > sizeof(exits->cpus))
		return -E2BIG;
	memcpy(request.text, text, len);
	request.attribute.nla_len = (uint16_t)(sizeof(request.attribute) + len);
	request.netlink.nlmsg_len = (uint32_t)(offsetof(struct request, attribute) +
					       attribute_align(request.attribute.nla_len));
	return send(exits->fd, &request, request.netlink.nlmsg_len, 0) < 0 ? -errno : 0;
}

/* The number of the family that an answer of the controller names, or 0. */
static uint16_t family_number(const char *answer, size_t len)
{
	size_t at = NLMSG_HDRLEN + GENL_HDRLEN;
	struct nlattr attribute;
	uint16_t number;

	while (at + sizeof(attribute) <= len) {
		memcpy(&attribute, answer + at, sizeof(attribute));
		if (attribute.nla_len < sizeof(attribute) || attribute.nla_len > len - at)
			break;
		if (attribute.nla_type == CTRL_ATTR_FAMILY_ID &&
		    attribute.nla_len >= sizeof(attribute) + sizeof(number)) {
			memcpy(&number, answer + at + sizeof(attribute), sizeof(number));
			return number;
		}
		at += attribute_align(attribute.nla_len);
	}
	return 0;
}

/*
 * Takes datagrams up to the answer to the last request, which is there when send() returns.
 * Exits that come before it are dropped: they ended while we were opening.
 */
static int answer_take(struct wtl_exits *exits)
{
	for (;;) {
		char answer[ANSWER_MAX] __attribute__((aligned(8)));
		ssize_t len = receive(exits->fd, answer, sizeof(answer));
		const struct nlmsghdr *header = (const void *)answer;
		const struct nlmsgerr *done = (const void *)(answer + NLMSG_HDRLEN);

		if (len <= 0)
			return len < 0 ? (int)len : -EPROTO;
		/* Exits have their own numbers, which may be the same. */
		if ((size_t)len < sizeof(*header) || header->nlmsg_seq != exits->sequence)
			continue;
		if (header->nlmsg_type == GENL_ID_CTRL)
			exits->family = family_number(answer, (size_t)len);
		if (header->nlmsg_type == NLMSG_ERROR &&
		    (size_t)len >= NLMSG_HDRLEN + sizeof(*done))
			return done->error;
	}
}

static int family_find(struct wtl_exits *exits)
{
	int rc = request_send(exits, GENL_ID_CTRL, CTRL_CMD_GETFAMILY, CTRL_ATTR_FAMILY_NAME,
			      TASKSTATS_GENL_NAME);

	if (rc == 0)
		rc = answer_take(exits);
	if (rc == -ENOENT || (rc == 0 && exits->family == 0))
		return -EOPNOTSUPP;
	return rc;
}

static int cpus_read(struct wtl_exits *exits)
{
	int fd = open("/sys/devices/system/cpu/possible", O_RDONLY | O_CLOEXEC);
	ssize_t len;

	if (fd < 0)
		return -errno;
	len = read(fd, exits->cpus, sizeof(exits->cpus) - 1);
	len = len < 0 ? -errno : len;
	close(fd);
	if (len < 0)
		return (int)len;
	exits->cpus[wtl_text_trimmed(exits->cpus, (size_t)len)] = '\0';
	return exits->cpus[0] ? 0 : -EOPNOTSUPP;
}

static int exits_register(struct wtl_exits *exits)
{
	int rc = request_send(exits, exits->family, TASKSTATS_CMD_GET,
			      TASKSTATS_CMD_ATTR_REGISTER_CPUMASK, exits->cpus);

	if (rc == 0)
		rc = answer_take(exits);
	/* The list of CPUs is the kernel's own, so it is our namespace that the kernel refuses. */
	return rc == -EINVAL ? -EPERM : rc;
}

static void *nothing(void *context)
{
	return context;
}

/* Starts a thread that ends. 0 when it has. */
static int thread_end(void)
{
	sigset_t all, before;
	pthread_t thread;
	int rc;

	/* The program's signals are not for a thread that it does not know. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	rc = -pthread_create(&thread, NULL, nothing, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return rc < 0 ? rc : -pthread_join(thread, NULL);
}

/*
 * In another network namespace the kernel agrees to everything and then tells us nothing; it has no
 * way to ask for that. So a thread ends, and its record must have come: the kernel sends it before
 * a joining thread wakes up.
 */
static int exits_prove(const struct wtl_exits *exits)
{
	if (thread_end() < 0)
		return 0; /* not known then */
	for (;;) {
		char datagram[ANSWER_MAX] __attribute__((aligned(8)));
		ssize_t len = receive(exits->fd, datagram, sizeof(datagram));
		const struct nlmsghdr *header = (const void *)datagram;

		if (len <= 0)
			return len < 0 ? (int)len : -EPERM;
		if ((size_t)len >= sizeof(*header) && header->nlmsg_type == exits->family)
			return 0;
	}
}

static int socket_open(void)
{
	const struct sockaddr_nl address = {.nl_family = AF_NETLINK};
	const int bytes = QUEUE_BYTES;
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_GENERIC);
	int rc;

	if (fd < 0)
		return errno == EPROTONOSUPPORT || errno == EAFNOSUPPORT ? -EOPNOTSUPP : -errno;
	if (bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0) {
		rc = -errno;
		close(fd);
		return rc;
	}
	/* A smaller queue loses exits sooner, and says so. */
	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof(bytes)) < 0)
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
	return fd;
}

int wtl_exits_open(struct wtl_exits *exits)
{
	int rc;

	*exits = (struct wtl_exits){.fd = socket_open()};
	if (exits->fd < 0)
		return exits->fd;
	rc = family_find(exits);
	if (rc == 0)
		rc = cpus_read(exits);
	if (rc == 0)
		rc = exits_register(exits);
	if (rc < 0) {
		close(exits->fd);
		return rc;
	}
	rc = exits_prove(exits);
	if (rc < 0)
		wtl_exits_close(exits);
	return rc;
}

ssize_t wtl_exits_read(const struct wtl_exits *exits, void *buf, size_t size)
{
	return receive(exits->fd, buf, size);
}

void wtl_exits_close(struct wtl_exits *exits)
{
	/* The answer is not waited for: the kernel would also see by itself that nobody listens. */
	request_send(exits, exits->family, TASKSTATS_CMD_GET, TASKSTATS_CMD_ATTR_DEREGISTER_CPUMASK,
		     exits->cpus);
	close(exits->fd);
}
