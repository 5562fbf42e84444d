/* SPDX-License-Identifier: MIT */
#include "base/procfs.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "base/num.h"
#include "base/text.h"

/* A piece of text. */
struct span {
	const char *at;
	size_t len;
};

/* Cuts the next piece that `stop` ends off the front. false at the end. */
static bool span_cut(struct span *rest, char stop, struct span *ret_piece)
{
	const char *end;

	if (rest->len == 0)
		return false;
	end = memchr(rest->at, stop, rest->len);
	ret_piece->at = rest->at;
	ret_piece->len = end ? (size_t)(end - rest->at) : rest->len;
	rest->at += ret_piece->len + (end ? 1 : 0);
	rest->len -= ret_piece->len + (end ? 1 : 0);
	return true;
}

/* The next word: pieces between blanks or tabs that are not empty. */
static bool span_word(struct span *rest, struct span *ret_word)
{
	while (rest->len > 0 && (*rest->at == ' ' || *rest->at == '\t')) {
		rest->at++;
		rest->len--;
	}
	if (!span_cut(rest, ' ', ret_word))
		return false;
	/* "Uid:\t0\t0": a tab ends a word, too. */
	for (size_t i = 0; i < ret_word->len; i++)
		if (ret_word->at[i] == '\t') {
			rest->len += (size_t)(rest->at - (ret_word->at + i));
			rest->at = ret_word->at + i;
			ret_word->len = i;
			break;
		}
	return ret_word->len > 0;
}

static bool span_is(const struct span *span, const char *text)
{
	return span->len == strlen(text) && memcmp(span->at, text, span->len) == 0;
}

/* Cuts "key" off a "key: value" line; false when it is another line. */
static bool span_value(struct span *line, const char *key)
{
	size_t n = strlen(key);

	if (line->len < n || memcmp(line->at, key, n) != 0)
		return false;
	line->at += n;
	line->len -= n;
	return true;
}

static bool word_u64(struct span *rest, uint64_t *ret)
{
	struct span word;

	return span_word(rest, &word) && wtl_num_u64(word.at, word.len, ret) == 0;
}

static bool word_pid(struct span *rest, int *ret)
{
	uint64_t value;

	if (!word_u64(rest, &value) || value > INT_MAX)
		return false;
	*ret = (int)value;
	return true;
}

/* The numbers behind the state letter: fields 4 to 22 of proc(5), as they are counted there. */
static int stat_numbers(struct span *rest, struct wtl_proc_stat *stat)
{
	enum { FIRST = 4, PARENT = 4, FLAGS = 9, UTIME = 14, THREADS = 20, START = 22 };
	uint64_t values[START + 1] = {0};
	struct span word;

	for (unsigned i = FIRST; i <= START; i++) {
		int rc;

		if (!span_word(rest, &word))
			return -EINVAL;
		rc = wtl_num_u64(word.at, word.len, &values[i]);
		/* Some of those between are negative. */
		if (rc < 0 &&
		    (i == PARENT || i == FLAGS || i == START || (i >= UTIME && i < UTIME + 4)))
			return -EINVAL;
	}
	if (values[PARENT] > INT_MAX)
		return -EINVAL;
	stat->parent = (int)values[PARENT];
	stat->is_kernel = values[FLAGS] & WTL_PROC_KERNEL_THREAD;
	stat->is_exiting = values[FLAGS] & WTL_PROC_EXITING;
	stat->cpu_ticks = values[UTIME] + values[UTIME + 1];
	stat->child_ticks = values[UTIME + 2] + values[UTIME + 3];
	stat->n_threads = values[THREADS] > UINT32_MAX ? 0 : (uint32_t)values[THREADS];
	stat->start_ticks = values[START];
	return 0;
}

int wtl_proc_parse_stat(const char *text, size_t len, struct wtl_proc_stat *ret_stat)
{
	struct wtl_proc_stat stat = {.state = '?'};
	const char *open = memchr(text, '(', len);
	/* The name may hold anything, brackets too: it ends at the last one. */
	const char *close = memrchr(text, ')', len);
	struct span front = {text, open ? (size_t)(open - text) : 0}, rest;

	if (!open || !close || close < open || !word_pid(&front, &stat.pid))
		return -EINVAL;
	rest.at = close + 1;
	rest.len = len - (size_t)(rest.at - text);
	if (rest.len < 3 || rest.at[0] != ' ' || rest.at[2] != ' ')
		return -EINVAL;
	stat.state = rest.at[1];
	rest.at += 2;
	rest.len -= 2;
	if (stat_numbers(&rest, &stat) < 0)
		return -EINVAL;
	wtl_text_clean(stat.name, sizeof(stat.name), open + 1, (size_t)(close - open - 1));
	*ret_stat = stat;
	return 0;
}

/* "  123 kB" in bytes. */
static bool kilobytes(struct span line, uint64_t *ret_bytes)
{
	struct span unit;
	uint64_t kb;

	if (!word_u64(&line, &kb) || !span_word(&line, &unit) || !span_is(&unit, "kB") ||
	    kb > UINT64_MAX / 1024)
		return false;
	*ret_bytes = kb * 1024;
	return true;
}

int wtl_proc_parse_status(const char *text, size_t len, struct wtl_proc_status *ret_status)
{
	struct wtl_proc_status status = {.uid = UINT32_MAX, .rss_bytes = UINT64_MAX};
	struct span rest = {text, len}, line;
	uint64_t uid;

	while (span_cut(&rest, '\n', &line)) {
		if (span_value(&line, "Tgid:")) {
			if (!word_pid(&line, &status.tgid))
				return -EINVAL;
		} else if (span_value(&line, "Uid:")) {
			if (!word_u64(&line, &uid) || uid > UINT32_MAX)
				return -EINVAL;
			status.uid = (uint32_t)uid;
		} else if (span_value(&line, "NSpid:")) {
			while (word_pid(&line, &status.own_pid))
				status.n_numbers++;
		} else if (span_value(&line, "VmRSS:")) {
			if (!kilobytes(line, &status.rss_bytes))
				return -EINVAL;
		}
	}
	if (status.tgid == 0 && status.uid == UINT32_MAX)
		return -EINVAL;
	*ret_status = status;
	return 0;
}

int wtl_proc_parse_newest(const char *text, size_t len, int *ret_pid)
{
	struct span rest = {text, wtl_text_trimmed(text, len)}, word;
	int pid;

	/* "0.20 0.18 0.12 1/80 11206" */
	for (int i = 0; i < 4; i++)
		if (!span_word(&rest, &word))
			return -EINVAL;
	if (!word_pid(&rest, &pid) || rest.len > 0 || pid == 0)
		return -EINVAL;
	*ret_pid = pid;
	return 0;
}

/* user nice system idle iowait irq softirq steal guest guest_nice */
static int machine_columns(struct span line, struct wtl_proc_machine *machine)
{
	enum { IDLE = 3, IOWAIT, IRQ, SOFTIRQ, STEAL, COLUMNS };
	uint64_t values[COLUMNS] = {0};

	for (int i = 0; i < COLUMNS; i++) {
		/* Steal came with Linux 2.6.11; emulations may leave it out. */
		if (!word_u64(&line, &values[i]) && i < STEAL)
			return -EINVAL;
		machine->all_ticks += values[i];
	}
	machine->idle_ticks = values[IDLE] + values[IOWAIT];
	machine->hard_ticks = values[IRQ];
	machine->soft_ticks = values[SOFTIRQ];
	machine->steal_ticks = values[STEAL];
	return 0;
}

int wtl_proc_parse_machine(const char *text, size_t len, struct wtl_proc_machine *ret_machine)
{
	struct wtl_proc_machine machine = {.n_cpus = 0};
	struct span rest = {text, len}, line;

	if (!span_cut(&rest, '\n', &line) || !span_value(&line, "cpu ") ||
	    machine_columns(line, &machine) < 0)
		return -EINVAL;
	*ret_machine = machine;
	for (;;) {
		if (!span_cut(&rest, '\n', &line))
			return -EAGAIN;
		if (!span_value(&line, "cpu"))
			break;
		machine.n_cpus++;
	}
	/* A text cut in "cp" is not over either. */
	if (rest.len == 0 && line.len < 5)
		return -EAGAIN;
	if (machine.n_cpus == 0)
		return -EINVAL;
	*ret_machine = machine;
	return 0;
}

int wtl_proc_parse_rollup(const char *text, size_t len, struct wtl_proc_memory *ret_memory)
{
	struct wtl_proc_memory memory = {UINT64_MAX, UINT64_MAX, 0};
	struct span rest = {text, len}, line;
	uint64_t bytes;

	while (span_cut(&rest, '\n', &line)) {
		if (span_value(&line, "Rss:")) {
			if (!kilobytes(line, &memory.rss_bytes))
				return -EINVAL;
		} else if (span_value(&line, "Pss:")) {
			if (!kilobytes(line, &memory.pss_bytes))
				return -EINVAL;
		} else if (span_value(&line, "Private_Clean:") ||
			   span_value(&line, "Private_Dirty:") ||
			   span_value(&line, "Private_Hugetlb:")) {
			if (!kilobytes(line, &bytes) || memory.uss_bytes + bytes < bytes)
				return -EINVAL;
			memory.uss_bytes += bytes;
		}
	}
	if (memory.rss_bytes == UINT64_MAX || memory.pss_bytes == UINT64_MAX)
		return -EINVAL;
	*ret_memory = memory;
	return 0;
}

void wtl_proc_clean_command(char *dst, size_t size, const char *text, size_t len)
{
	char line[512];

	while (len > 0 && text[len - 1] == '\0')
		len--;
	if (len > sizeof(line))
		len = sizeof(line);
	for (size_t i = 0; i < len; i++)
		line[i] = text[i] == '\0' ? ' ' : text[i];
	wtl_text_clean(dst, size, line, len);
}

/* The last line of that mount point: "36 35 98:0 /root /mount options … - type source options". */
static bool mount_find(const char *mountinfo, size_t len, const char *path, struct span *ret_line)
{
	struct span rest = {mountinfo, len}, line, word;
	bool is_found = false;

	while (span_cut(&rest, '\n', &line)) {
		struct span words = line;
		bool is_there = true;

		for (int i = 0; i < 5 && is_there; i++)
			is_there = span_word(&words, &word);
		if (is_there && span_is(&word, path)) {
			*ret_line = line;
			is_found = true;
		}
	}
	return is_found;
}

bool wtl_proc_is_mounted(const char *mountinfo, size_t len, const char *path)
{
	struct span line;

	return mount_find(mountinfo, len, path, &line);
}

bool wtl_proc_hides(const char *mountinfo, size_t len)
{
	struct span line, word, options, one;
	char value[16] = "0";

	if (!mount_find(mountinfo, len, "/proc", &line))
		return false;
	while (span_word(&line, &word)) {
		options = word;
		while (span_cut(&options, ',', &one))
			if (span_value(&one, "hidepid="))
				wtl_text_clean(value, sizeof(value), one.at, one.len);
	}
	return strcmp(value, "0") != 0 && strcmp(value, "off") != 0;
}
