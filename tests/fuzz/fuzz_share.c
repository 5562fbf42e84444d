/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "energy/catalog.h"
#include "sensors/share_text.h"
#include "sensors/source.h"

#include "memio.h"

/*
 * What programs ask of an agent, and what an agent answers them: the input is its answers in turn, an empty line
 * between each and the next. An answer of "!" alone does not come.
 */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { READS = 4, READINGS = WTL_SHARE_CHANNELS };

struct machine {
	struct memio memio;
	struct wtl_io_ops ops;
	const char *at, *end;
	int connected;
};

static void check(int good)
{
	if (!good)
		abort();
}

static int open_agent(struct wtl_io *io)
{
	struct machine *machine = (struct machine *)io;

	if (machine->at == machine->end)
		return -ECONNREFUSED;
	return machine->connected++;
}

static void close_agent(struct wtl_io *io, int agent)
{
	((struct machine *)io)->connected--;
	(void)agent;
}

static ssize_t ask_agent(struct wtl_io *io, int agent, const char *question, char *answer,
			 size_t size)
{
	struct machine *machine = (struct machine *)io;
	struct wtl_share_question asked;
	size_t left = (size_t)(machine->end - machine->at), len;
	const char *end = left > 0 ? memmem(machine->at, left, "\n\n", 2) : NULL;

	check(agent == 0 && wtl_share_parse_question(question, strlen(question), &asked) == 0);
	if (left == 0)
		return -ECONNRESET;
	len = end ? (size_t)(end - machine->at) + 1 : left;
	if (len >= size)
		len = size - 1;
	memcpy(answer, machine->at, len);
	answer[len] = '\0';
	machine->at += end ? len + 1 : left;
	return strcmp(answer, "!\n") == 0 ? -ETIMEDOUT : (ssize_t)len;
}

static void check_channel(const struct wtl_channel *channel)
{
	check(channel->domain[0] && strlen(channel->domain) < sizeof(channel->domain));
	check(strspn(channel->domain, "abcdefghijklmnopqrstuvwxyz0123456789-") ==
	      strlen(channel->domain));
	check(channel->unit.num > 0 && channel->unit.den > 0 && channel->update_ns >= 0);
	check(channel->kind < WATTLE_KINDS && channel->method != WATTLE_METHOD_MODELLED);
	check(strlen(channel->device) < sizeof(channel->device));
}

static void read_agent(struct machine *machine)
{
	static struct wtl_reading readings[READINGS];
	const struct wtl_env env = {.io = &machine->memio.io};
	const struct wtl_machine about = {.n_cpus = 1};
	const struct wtl_source_options options = {.machine = &about};
	void *state = calloc(1, wtl_source_serve.state_size);
	struct wtl_catalog catalog;

	if (!state)
		abort();
	wtl_catalog_init(&catalog);
	catalog.source = wtl_source_serve.name;
	/* What it cannot take in, as a name that comes twice, is an error like another. */
	if (wtl_source_serve.open(state, &env, &options, &catalog) == 0) {
		for (size_t i = 0; i < catalog.n_channels; i++)
			check_channel(&catalog.channels[i]);
		for (int i = 0; i < READS; i++) {
			machine->memio.now_ns += WTL_REPROBE_NS;
			wtl_source_serve.read(state, readings);
			for (size_t k = 0; k < catalog.n_channels; k++)
				check(readings[k].status != WATTLE_STATUS_OK ||
				      (readings[k].t_mono_ns >= 0 && readings[k].half_ns >= 0 &&
				       readings[k].t_mono_ns <=
					       machine->memio.now_ns + WTL_NS_PER_MS));
		}
	}
	wtl_source_serve.close(state);
	check(machine->connected == 0);
	wtl_catalog_done(&catalog);
	free(state);
}

/* A question that is understood is understood the same when it is sent on. */
static void parse_question(const char *text, size_t size)
{
	struct wtl_share_question question, again;
	char sent[WTL_SHARE_QUESTION_MAX];

	if (wtl_share_parse_question(text, size, &question) < 0)
		return;
	wtl_share_print_question(sent, question.verb, question.number);
	check(wtl_share_parse_question(sent, strlen(sent), &again) == 0);
	check(again.verb == question.verb && again.number == question.number);
}

/* The same of the question for a limit: what goes on to a command line is a number, or of few letters. */
static void parse_limit(const char *text, size_t size)
{
	static struct wtl_share_limit limit, again;
	struct wtl_buf sent;

	if (wtl_share_parse_limit(text, size, &limit) < 0)
		return;
	check(limit.has_power || limit.has_persistence);
	check(!limit.has_power || limit.to_default || limit.power_uw > 0);
	check(limit.gpus[0] && strlen(limit.gpus) < sizeof(limit.gpus) &&
	      !strpbrk(limit.gpus, " =/\n'\"$"));
	wtl_buf_init(&sent, WTL_SHARE_LIMIT_MAX);
	wtl_share_print_limit(&sent, &limit);
	check(!sent.error && wtl_share_parse_limit(sent.data, sent.len, &again) == 0);
	check(again.holds == limit.holds && again.has_power == limit.has_power &&
	      again.to_default == limit.to_default && again.power_uw == limit.power_uw &&
	      again.has_persistence == limit.has_persistence &&
	      again.persistence == limit.persistence && strcmp(again.gpus, limit.gpus) == 0);
	wtl_buf_done(&sent);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct machine machine;

	parse_question((const char *)data, size);
	parse_limit((const char *)data, size);
	memio_init(&machine.memio);
	machine.ops = *machine.memio.io.ops;
	machine.ops.agent_open = open_agent;
	machine.ops.agent_ask = ask_agent;
	machine.ops.agent_close = close_agent;
	machine.memio.io.ops = &machine.ops;
	machine.at = (const char *)data;
	machine.end = machine.at + size;
	machine.connected = 0;
	if (size > 0)
		read_agent(&machine);
	memio_done(&machine.memio);
	return 0;
}
