/* SPDX-License-Identifier: MIT */
#include "profile/jit.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/infile.h"
#include "base/procfs.h"

#define MAP_MAX	   (64u << 20)
#define STATUS_MAX (1u << 16)

/* "3a00 1f name". Names may have blanks. */
static bool parse_line(char *line, struct wtl_module_symbol *ret_symbol)
{
	char *end, *name;
	uint64_t address = strtoull(line, &end, 16), size;

	if (end == line || *end != ' ')
		return false;
	line = end + 1;
	size = strtoull(line, &end, 16);
	if (end == line || *end != ' ' || size == 0)
		return false;
	name = end + 1 + strspn(end + 1, " ");
	name[strcspn(name, "\r")] = '\0';
	*ret_symbol = (struct wtl_module_symbol){.address = address, .size = size, .name = name};
	return name[0];
}

/* Of two at one address the newer one first: names point into the text, which is in order of age. */
static int by_age(const void *a, const void *b)
{
	const struct wtl_module_symbol *x = a, *y = b;

	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return x->name > y->name ? -1 : x->name < y->name;
}

static void keep_newest(struct wtl_module *module)
{
	size_t n = 0;

	for (size_t i = 0; i < module->n_symbols; i++) {
		if (n > 0 && module->symbols[n - 1].address == module->symbols[i].address)
			continue;
		module->symbols[n++] = module->symbols[i];
	}
	module->n_symbols = n;
}

void wtl_jit_parse(struct wtl_module *module)
{
	char *text = module->map.data;
	size_t room = module->n_symbols, len = module->map.len;

	for (char *line = text, *end; len > 0 && line < text + len; line = end + 1) {
		struct wtl_module_symbol symbol;

		/* A last line without its end is still being written. */
		end = memchr(line, '\n', (size_t)(text + len - line));
		if (!end)
			break;
		*end = '\0';
		if (parse_line(line, &symbol) &&
		    wtl_array_reserve(&module->symbols, &room, module->n_symbols + 1,
				      sizeof(symbol)) == 0)
			module->symbols[module->n_symbols++] = symbol;
	}
	if (module->n_symbols > 0)
		qsort(module->symbols, module->n_symbols, sizeof(*module->symbols), by_age);
	keep_newest(module);
}

static int own_number(int pid)
{
	struct wtl_proc_status status = {.own_pid = 0};
	struct wtl_buf text;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	wtl_buf_init(&text, STATUS_MAX);
	if (wtl_infile_read(path, &text) == 0)
		wtl_proc_parse_status(text.data, text.len, &status);
	wtl_buf_done(&text);
	return status.own_pid > 0 ? status.own_pid : pid;
}

void wtl_jit_open(struct wtl_module *module)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/root/tmp", module->pid);
	module->fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	module->own_pid = own_number(module->pid);
}

void wtl_jit_read(struct wtl_module *module)
{
	char name[64];
	int fd;

	module->has_symbols = true;
	snprintf(name, sizeof(name), "/tmp/perf-%d.map", module->own_pid);
	if (module->fd >= 0)
		fd = wtl_infile_open_at(module->fd, name + strlen("/tmp/"));
	else /* it had ended before anybody looked, or is another user's */
		fd = module->own_pid > 0 ? wtl_infile_open(name) : -1;
	if (fd < 0)
		return;
	wtl_buf_init(&module->map, MAP_MAX);
	/* Of a larger file, the part that fits is used. */
	wtl_infile_read_fd(fd, &module->map);
	wtl_jit_parse(module);
	close(fd);
}
