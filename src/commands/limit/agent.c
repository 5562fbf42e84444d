/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "base/packet.h"
#include "base/text.h"
#include "base/user.h"
#include "cli/command.h"
#include "cli/complain.h"
#include "commands/limit/limit.h"
#include "sensors/share_text.h"

/* A driver that has to be loaded may take seconds. */
enum { PATIENCE_MS = 60000, CLIENT = STDIN_FILENO };

#define SAID "said "
#define USER "user "

/* ---- The asking side ---- */

static int dial(const struct wtl_app *app)
{
	const char *root = app->settings.root;
	int below = root ? open(root, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1, fd;

	if (root && below < 0)
		return -ENOENT;
	fd = wtl_packet_connect_below(below, WTL_AGENT_SOCKET, WTL_AGENT_TIMEOUT_MS);
	if (below >= 0)
		close(below);
	return fd == -ECONNREFUSED ? -ENOENT : fd;
}

/* GPUs are named by bus id, as some boards share one UUID. The agent itself reads each one's default. */
static void describe(const struct wtl_app *app, const struct wtl_limit_hold *plan,
		     struct wtl_buf *question)
{
	const struct wtl_limit_settings *settings = app->own;
	struct wtl_share_limit limit = {.holds = app->settings.command != NULL,
					.has_power = settings->has_power,
					.to_default = settings->to_default,
					.power_uw = settings->power_uw,
					.has_persistence = settings->has_persistence,
					.persistence = settings->persistence};
	struct wtl_buf gpus;

	wtl_buf_init(&gpus, sizeof(limit.gpus) - 1);
	for (size_t i = 0; i < plan->n_changes; i++) {
		const struct wtl_limit_change *change = &plan->changes[i];

		wtl_buf_printf(&gpus, "%s%s", i ? "," : "",
			       change->bus[0] ? change->bus : change->gpu);
	}
	wtl_text_copy(limit.gpus, sizeof(limit.gpus), wtl_buf_str(&gpus));
	wtl_share_print_limit(question, &limit);
	if (gpus.error && !question->error)
		question->error = gpus.error;
	wtl_buf_done(&gpus);
}

/* The value of the answer's next line with that key; *at moves past it. false: there is none. */
static bool next_value(const char **at, const char *key, char *value, size_t size)
{
	while (**at) {
		const char *line = *at;
		size_t len = strcspn(line, "\n");

		*at += len + (line[len] == '\n');
		if (!wtl_text_starts(line, key))
			continue;
		wtl_text_clean(value, size, line + strlen(key), len - strlen(key));
		return true;
	}
	return false;
}

/* 0, or negative after a complaint. */
static int ask(struct wtl_app *app, int agent, const char *question, char user[WTL_SHARE_USER_SIZE])
{
	char answer[WTL_AGENT_ANSWER_MAX], said[160], line[512];
	int rc = wtl_packet_ask(agent, question, answer, sizeof(answer), PATIENCE_MS);
	const char *at = answer;

	if (rc < 0)
		return wtl_complain(app, "the machine's agent (wattle serve) does not answer: %s",
				    wtl_err_text(rc)),
		       rc;
	rc = wtl_share_parse_error(answer, said);
	if (rc == -EPROTO)
		wtl_complain(app, "what listens at " WTL_AGENT_SOCKET
				  " does not answer as an agent does");
	else if (rc < 0)
		wtl_complain(app, "the machine's agent (wattle serve) refuses: %s", said);
	if (rc == 0 && user)
		next_value(&at, USER, user, WTL_SHARE_USER_SIZE);
	while (rc == 0 && next_value(&at, SAID, line, sizeof(line)))
		wtl_remark(app, "%s", line);
	return rc;
}

int wtl_limit_agent_set(struct wtl_app *app, const struct wtl_limit_denied *denied,
			const struct wtl_limit_hold *plan)
{
	char user[WTL_SHARE_USER_SIZE] = "?";
	struct wtl_buf question;
	int agent = dial(app), rc;

	if (agent == -ENOENT)
		return agent;
	wtl_buf_init(&question, WTL_SHARE_LIMIT_MAX - 1);
	describe(app, plan, &question);
	rc = agent < 0 ? agent : question.error;
	if (rc == -EACCES)
		wtl_complain(app,
			     "GPU %u: setting the %s needs root, as in: sudo wattle limit ...; the "
			     "machine's agent (wattle serve) listens at " WTL_AGENT_SOCKET
			     ", which is not for this user",
			     denied->gpu, denied->what);
	else if (rc < 0)
		wtl_complain(app, "the machine's agent (wattle serve) cannot be asked: %s",
			     wtl_err_text(rc));
	else
		rc = ask(app, agent, wtl_buf_str(&question), user);
	wtl_buf_done(&question);
	if (rc < 0) {
		if (agent >= 0)
			close(agent);
		return rc;
	}
	if (app->settings.command)
		wtl_remark(app, "set by %s's agent (source serve), for as long as the command runs",
			   user);
	else
		wtl_remark(app,
			   "set by %s's agent (source serve): it stays until the next wattle "
			   "limit, or until the driver is unloaded",
			   user);
	return agent;
}

int wtl_limit_agent_release(struct wtl_app *app, int agent)
{
	int rc = ask(app, agent, WTL_SHARE_RELEASE, NULL);

	if (rc < 0)
		wtl_remark(app, "wattle limit shows what is set now");
	close(agent);
	return rc;
}

/* ---- The agent's side ---- */

void wtl_limit_answer(struct wtl_app *app, bool has_failed)
{
	const char *line = wtl_buf_str(app->said);
	struct wtl_buf answer;
	char user[64];

	wtl_buf_init(&answer, WTL_AGENT_ANSWER_MAX - 1);
	if (has_failed) {
		wtl_buf_printf(&answer, "error %d: %.*s\n", EIO, (int)strcspn(line, "\n"), line);
	} else {
		wtl_user_name(!app->settings.root, geteuid(), user, sizeof(user));
		wtl_buf_printf(&answer, "ok\n" USER "%s\n", user);
		for (size_t len; *line; line += len + (line[len] == '\n')) {
			len = strcspn(line, "\n");
			wtl_buf_printf(&answer, SAID "%.*s\n", (int)len, line);
		}
	}
	/* A client that has gone gets no answer. */
	send(CLIENT, answer.data, answer.len, MSG_DONTWAIT | MSG_NOSIGNAL);
	wtl_buf_done(&answer);
	wtl_buf_clear(app->said);
}

int wtl_limit_hear_client(void)
{
	char text[sizeof(WTL_SHARE_RELEASE)];
	ssize_t len = recv(CLIENT, text, sizeof(text), MSG_DONTWAIT);

	if (len < 0 && errno == EAGAIN)
		return 0;
	if (len <= 0)
		return -1;
	return (size_t)len == strlen(WTL_SHARE_RELEASE) &&
	       memcmp(text, WTL_SHARE_RELEASE, (size_t)len) == 0;
}
