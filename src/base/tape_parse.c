/* SPDX-License-Identifier: MIT */
#include "base/tape.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/num.h"
#include "base/sparse.h"
#include "base/text.h"

struct token {
	const char *text;
	size_t len;
	bool quoted; /* text is what stands between the quotes, still escaped */
};

struct parser {
	struct wtl_tape *tape;
	struct wtl_err *err;
	const char *at; /* in the line */
	const char *end;
	unsigned line;
	struct wtl_buf scratch;
};

static int bad(const struct parser *parser, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static int bad(const struct parser *parser, const char *format, ...)
{
	char text[160];
	va_list args;

	va_start(args, format);
	if (vsnprintf(text, sizeof(text), format, args) < 0)
		text[0] = '\0';
	va_end(args);
	return wtl_err_set(parser->err, WTL_EFORMAT, "tape", NULL, "line %u: %s", parser->line,
			   text);
}

static int no_room(const struct parser *parser, int code)
{
	if (code == -EFBIG)
		return bad(parser, "the tape holds too much");
	return wtl_err_set(parser->err, code, "tape", NULL, "out of memory");
}

/* Returns 1, 0 at the line's end, or a negative code. */
static int token_next(struct parser *parser, struct token *token)
{
	const char *stop;

	while (parser->at < parser->end && (*parser->at == ' ' || *parser->at == '\t'))
		parser->at++;
	if (parser->at == parser->end)
		return 0;
	token->quoted = *parser->at == '"';
	if (token->quoted) {
		token->text = parser->at + 1;
		stop = memchr(token->text, '"', (size_t)(parser->end - token->text));
		if (!stop)
			return bad(parser, "a quote is not closed");
		parser->at = stop + 1;
	} else {
		token->text = parser->at;
		stop = parser->at;
		while (stop < parser->end && *stop != ' ' && *stop != '\t' && *stop != '"')
			stop++;
		parser->at = stop;
	}
	token->len = (size_t)(stop - token->text);
	return 1;
}

/* The next token, which must be there. */
static int token_need(struct parser *parser, struct token *token, bool quoted, const char *what)
{
	int rc = token_next(parser, token);

	if (rc < 0)
		return rc;
	if (rc == 0 || token->quoted != quoted)
		return bad(parser, "%s expected", what);
	return 0;
}

static bool token_is(const struct token *token, const char *word)
{
	return !token->quoted && token->len == strlen(word) &&
	       memcmp(token->text, word, token->len) == 0;
}

/* An errno's name, or E#NUMBER for one without a name, as a negative number. */
static int error_parse(struct parser *parser, const struct token *token, int *ret_code)
{
	int code = token->quoted ? 0 : wtl_err_from_name(token->text, token->len);
	uint64_t number;

	if (code == 0 && !token->quoted && token->len > 2 && memcmp(token->text, "E#", 2) == 0 &&
	    wtl_num_u64(token->text + 2, token->len - 2, &number) == 0 && number > 0 &&
	    number < INT_MAX)
		code = (int)number;
	if (code == 0)
		return bad(parser, "the name of an error expected");
	*ret_code = -code;
	return 0;
}

/* Appends a quoted token's text to the tape's bytes. */
static int text_add(struct parser *parser, const struct token *token, bool nul_allowed)
{
	struct wtl_buf *bytes = &parser->tape->bytes;
	size_t from = bytes->len;
	int rc = wtl_text_unescape(bytes, token->text, token->len);

	if (rc == -EINVAL)
		return bad(parser, "a backslash sequence that is none of \\n \\t \\\\ \\xNN");
	if (rc < 0)
		return no_room(parser, rc);
	if (!nul_allowed && bytes->len > from && memchr(bytes->data + from, 0, bytes->len - from))
		return bad(parser, "a name with a NUL");
	return 0;
}

/* What the key is about follows; key_end() is called after it. */
static int key_begin(struct parser *parser, struct wtl_tape_record *record,
		     enum wtl_tape_class class)
{
	struct wtl_buf *bytes = &parser->tape->bytes;

	record->key_at = (uint32_t)bytes->len;
	if (wtl_buf_putc(bytes, (char)class) < 0)
		return no_room(parser, bytes->error);
	return 0;
}

static void key_end(struct parser *parser, struct wtl_tape_record *record)
{
	record->key_len = (uint32_t)parser->tape->bytes.len - record->key_at;
	record->data_at = (uint32_t)parser->tape->bytes.len;
}

static int key_quoted(struct parser *parser, struct wtl_tape_record *record,
		      enum wtl_tape_class class, const char *what)
{
	struct token token;
	int rc = token_need(parser, &token, true, what);

	if (rc == 0)
		rc = key_begin(parser, record, class);
	if (rc == 0)
		rc = text_add(parser, &token, false);
	key_end(parser, record);
	return rc;
}

/* Quoted names up to the line's end, or one error. */
static int parse_names(struct parser *parser, struct wtl_tape_record *record)
{
	struct token token;
	int rc;

	while ((rc = token_next(parser, &token)) > 0) {
		if (!token.quoted)
			return error_parse(parser, &token, &record->code);
		rc = text_add(parser, &token, false);
		if (rc < 0)
			return rc;
		if (wtl_buf_putc(&parser->tape->bytes, '\0') < 0)
			return no_room(parser, parser->tape->bytes.error);
	}
	return rc;
}

/* One quoted text, or an error. */
static int parse_content(struct parser *parser, struct wtl_tape_record *record, bool nul_allowed)
{
	struct token token;
	int rc = token_next(parser, &token);

	if (rc < 0)
		return rc;
	if (rc == 0)
		return bad(parser, "a quoted content or the name of an error expected");
	if (!token.quoted)
		return error_parse(parser, &token, &record->code);
	return text_add(parser, &token, nul_allowed);
}

/* "ok" or an error. */
static int parse_done(struct parser *parser, struct wtl_tape_record *record)
{
	struct token token;
	int rc = token_need(parser, &token, false, "ok or the name of an error");

	if (rc < 0)
		return rc;
	return token_is(&token, "ok") ? 0 : error_parse(parser, &token, &record->code);
}

static int parse_opened(struct parser *parser, struct wtl_tape_record *record)
{
	record->kind = WTL_TAPE_OPEN;
	return parse_done(parser, record);
}

static int parse_file_read(struct parser *parser, struct wtl_tape_record *record)
{
	int rc = key_quoted(parser, record, WTL_TAPE_FILE, "a quoted path");

	return rc < 0 ? rc : parse_content(parser, record, true);
}

static int parse_file_open(struct parser *parser, struct wtl_tape_record *record)
{
	int rc = key_quoted(parser, record, WTL_TAPE_FILE, "a quoted path");

	return rc < 0 ? rc : parse_opened(parser, record);
}

static int parse_link(struct parser *parser, struct wtl_tape_record *record)
{
	int rc = key_quoted(parser, record, WTL_TAPE_LINK, "a quoted path");

	return rc < 0 ? rc : parse_content(parser, record, false);
}

static int parse_dir(struct parser *parser, struct wtl_tape_record *record)
{
	int rc = key_quoted(parser, record, WTL_TAPE_DIR, "a quoted path");

	return rc < 0 ? rc : parse_names(parser, record);
}

static int parse_lib(struct parser *parser, struct wtl_tape_record *record)
{
	int rc = key_quoted(parser, record, WTL_TAPE_LIB, "a quoted library name");

	record->kind = WTL_TAPE_OPEN;
	return rc < 0 ? rc : parse_names(parser, record);
}

static int parse_event(struct parser *parser, struct wtl_perf_event *ret)
{
	struct token type, config, cpu;
	const size_t skip = strlen(WTL_TAPE_PERF_TASK);
	uint64_t type_number;
	int64_t number;
	bool is_task;
	int rc = token_need(parser, &type, false, "an event type");

	if (rc == 0)
		rc = token_need(parser, &config, false, "an event code");
	if (rc == 0)
		rc = token_need(parser, &cpu, false, "a CPU or task=NUMBER");
	if (rc < 0)
		return rc;
	if (wtl_num_u64(type.text, type.len, &type_number) < 0 || type_number > UINT32_MAX)
		return bad(parser, "an event type is a decimal number");
	if (wtl_num_hex(config.text, config.len, &ret->config) < 0)
		return bad(parser, "an event code is a hexadecimal number");
	is_task = cpu.len > skip && memcmp(cpu.text, WTL_TAPE_PERF_TASK, skip) == 0;
	if (is_task)
		cpu = (struct token){cpu.text + skip, cpu.len - skip, false};
	if (wtl_num_i64(cpu.text, cpu.len, &number) < 0 || number > INT_MAX ||
	    number < (is_task ? 1 : INT_MIN))
		return bad(parser, "a CPU or a task is a decimal number");
	ret->type = (uint32_t)type_number;
	ret->cpu = is_task ? -1 : (int)number;
	ret->task = is_task ? (int)number : 0;
	return 0;
}

/* What follows the first number of a task's counter: two times. */
static int parse_count(struct parser *parser, const struct wtl_tape_record *record)
{
	struct wtl_perf_count count = {.count = record->value};
	int64_t *times[] = {&count.enabled_ns, &count.running_ns};
	struct wtl_buf *bytes = &parser->tape->bytes;
	struct token token;

	for (size_t i = 0; i < 2; i++) {
		int rc = token_need(parser, &token, false, "COUNT ENABLED RUNNING");

		if (rc < 0)
			return rc;
		if (wtl_num_i64(token.text, token.len, times[i]) < 0 || *times[i] < 0)
			return bad(parser, "a time is a number of nanoseconds");
	}
	return wtl_buf_add(bytes, &count, sizeof(count)) < 0 ? no_room(parser, bytes->error) : 0;
}

static int parse_perf(struct parser *parser, struct wtl_tape_record *record)
{
	struct wtl_buf *bytes = &parser->tape->bytes;
	struct wtl_perf_event event;
	struct token token;
	int rc = parse_event(parser, &event);

	if (rc == 0)
		rc = key_begin(parser, record, WTL_TAPE_PERF);
	if (rc < 0)
		return rc;
	if (wtl_tape_put_perf(bytes, &event) < 0)
		return no_room(parser, bytes->error);
	key_end(parser, record);
	rc = token_need(parser, &token, false, "a value, open, or the name of an error");
	if (rc < 0)
		return rc;
	if (token_is(&token, "open"))
		return parse_opened(parser, record);
	if (wtl_num_u64(token.text, token.len, &record->value) == 0)
		return event.task > 0 ? parse_count(parser, record) : 0;
	return error_parse(parser, &token, &record->code);
}

/* Hexadecimal bytes into the scratch buffer. */
static int hex_parse(struct parser *parser, const char *text, size_t len)
{
	wtl_buf_clear(&parser->scratch);
	if (len % 2)
		return bad(parser, "an odd number of hexadecimal digits");
	for (size_t i = 0; i < len; i += 2) {
		int high = wtl_num_hex_digit(text[i]), low = wtl_num_hex_digit(text[i + 1]);

		if (high < 0 || low < 0)
			return bad(parser, "not a hexadecimal digit");
		wtl_buf_putc(&parser->scratch, (char)(high << 4 | low));
	}
	return parser->scratch.error ? no_room(parser, parser->scratch.error) : 0;
}

/* A call's argument, "WORD" or "[SIZE:BYTES]", into its key. */
static int parse_arg(struct parser *parser, const struct token *token)
{
	struct wtl_buf *bytes = &parser->tape->bytes;
	const char *colon = memchr(token->text, ':', token->len);
	uint64_t number;
	int rc;

	if (token->text[0] != '[') {
		if (wtl_num_hex(token->text, token->len, &number) < 0)
			return bad(parser, "an argument is a hexadecimal word or [SIZE:BYTES]");
		rc = wtl_buf_printf(bytes, " %llx", (unsigned long long)number);
		return rc < 0 ? no_room(parser, rc) : 0;
	}
	if (!colon || token->text[token->len - 1] != ']' ||
	    wtl_num_u64(token->text + 1, (size_t)(colon - token->text - 1), &number) < 0 ||
	    number > WTL_TAPE_MEMORY_MAX)
		return bad(parser, "a memory argument is [SIZE:BYTES]");
	rc = hex_parse(parser, colon + 1, (size_t)(token->text + token->len - 1 - (colon + 1)));
	if (rc < 0)
		return rc;
	if (parser->scratch.len > number)
		return bad(parser, "a memory argument holds more than its size");
	rc = wtl_tape_put_memory(bytes, parser->scratch.data, parser->scratch.len, number);
	return rc < 0 ? no_room(parser, rc) : 0;
}

/* "[BYTES]" for each memory argument that the call filled. */
static int parse_outs(struct parser *parser)
{
	struct wtl_buf *bytes = &parser->tape->bytes;
	struct token token;
	unsigned n = 0;
	int rc;

	while ((rc = token_next(parser, &token)) > 0) {
		uint32_t len;

		if (token.quoted || token.len < 2 || token.text[0] != '[' ||
		    token.text[token.len - 1] != ']' || n++ == WTL_LIB_ARGS_MAX)
			return bad(parser, "after the answer come at most %d [BYTES]",
				   WTL_LIB_ARGS_MAX);
		rc = hex_parse(parser, token.text + 1, token.len - 2);
		if (rc < 0)
			return rc;
		len = (uint32_t)parser->scratch.len;
		wtl_buf_add(bytes, &len, sizeof(len));
		wtl_buf_add(bytes, parser->scratch.data, len);
		if (bytes->error)
			return no_room(parser, bytes->error);
	}
	return rc;
}

static int parse_call(struct parser *parser, struct wtl_tape_record *record)
{
	struct token token;
	unsigned n = 0;
	int64_t answer;
	int rc = token_need(parser, &token, false, "a function's name");

	if (rc == 0)
		rc = key_begin(parser, record, WTL_TAPE_CALL);
	if (rc < 0)
		return rc;
	if (wtl_buf_add(&parser->tape->bytes, token.text, token.len) < 0)
		return no_room(parser, parser->tape->bytes.error);
	for (;;) {
		rc = token_need(parser, &token, false, "an argument or =");
		if (rc < 0)
			return rc;
		if (token_is(&token, "="))
			break;
		if (n++ == WTL_LIB_ARGS_MAX)
			return bad(parser, "more than %d arguments", WTL_LIB_ARGS_MAX);
		rc = parse_arg(parser, &token);
		if (rc < 0)
			return rc;
	}
	key_end(parser, record);
	rc = token_need(parser, &token, false, "an answer");
	if (rc < 0)
		return rc;
	if (wtl_num_i64(token.text, token.len, &answer) < 0)
		return error_parse(parser, &token, &record->code);
	if (answer < INT_MIN || answer > INT_MAX)
		return bad(parser, "an answer is a 32-bit number");
	record->value = (uint64_t)answer;
	return parse_outs(parser);
}

static int parse_file_write(struct parser *parser, struct wtl_tape_record *record)
{
	struct token token;
	int rc = key_quoted(parser, record, WTL_TAPE_WRITE, "a quoted path");

	if (rc == 0)
		rc = token_need(parser, &token, true, "what was written, quoted,");
	if (rc == 0)
		rc = text_add(parser, &token, true);
	return rc < 0 ? rc : parse_done(parser, record);
}

static int key_bytes(struct parser *parser, struct wtl_tape_record *record,
		     enum wtl_tape_class class, const void *key, size_t len)
{
	int rc = key_begin(parser, record, class);

	if (rc < 0)
		return rc;
	if (wtl_buf_add(&parser->tape->bytes, key, len) < 0)
		return no_room(parser, parser->tape->bytes.error);
	key_end(parser, record);
	return 0;
}

static int record_add(struct parser *parser, struct wtl_tape_record *record)
{
	struct wtl_tape *tape = parser->tape;

	record->data_len = (uint32_t)tape->bytes.len - record->data_at;
	if (wtl_buf_add(&tape->records, record, sizeof(*record)) < 0)
		return no_room(parser, tape->records.error);
	tape->n_records++;
	return 0;
}

/* "PID=NS" or "PID=ERRNO", a record of its own with the time and frame of `line`. */
static int parse_cpu_entry(struct parser *parser, const struct wtl_tape_record *line,
			   const struct token *token, uint32_t ask)
{
	struct wtl_tape_record record = *line;
	const char *equals = token->quoted ? NULL : memchr(token->text, '=', token->len);
	struct token value;
	uint64_t number;
	int pid, rc;

	if (!equals || wtl_num_u64(token->text, (size_t)(equals - token->text), &number) < 0 ||
	    number == 0 || number > INT_MAX)
		return bad(parser, "PID=NANOSECONDS or PID=ERRNO expected");
	pid = (int)number;
	rc = key_bytes(parser, &record, WTL_TAPE_CPU, &pid, sizeof(pid));
	if (rc < 0)
		return rc;
	record.ask = ask;
	value.quoted = false;
	value.text = equals + 1;
	value.len = token->len - (size_t)(value.text - token->text);
	if (wtl_num_u64(value.text, value.len, &record.value) < 0 || record.value > INT64_MAX)
		rc = error_parse(parser, &value, &record.code);
	return rc < 0 ? rc : record_add(parser, &record);
}

/* The entries of a line, the first of which has been read. */
static int parse_cpu_entries(struct parser *parser, const struct wtl_tape_record *line,
			     struct token *token)
{
	uint64_t ask = 1;
	int rc = 1;

	while (rc > 0) {
		if (!token->quoted && token->text[0] == '*') {
			if (wtl_num_u64(token->text + 1, token->len - 1, &ask) < 0 || ask == 0 ||
			    ask > UINT32_MAX)
				return bad(parser, "* and a number from 1 on expected");
			rc = 0;
		} else {
			rc = parse_cpu_entry(parser, line, token, (uint32_t)ask);
		}
		if (rc == 0)
			rc = token_next(parser, token);
	}
	return rc;
}

/* The question for CPU times: what the processes were told becomes records before `record`. */
static int parse_cpu(struct parser *parser, struct wtl_tape_record *record)
{
	struct token token;
	int rc = token_next(parser, &token);
	bool more = rc > 0 && token_is(&token, WTL_TAPE_CPU_MORE);

	if (more)
		rc = token_next(parser, &token);
	if (rc > 0 && (token.quoted || token.text[0] == '*' || memchr(token.text, '=', token.len)))
		rc = parse_cpu_entries(parser, record, &token);
	else if (rc > 0)
		rc = error_parse(parser, &token, &record->code);
	if (rc < 0)
		return rc;
	return key_bytes(parser, record, WTL_TAPE_CPU, WTL_TAPE_CPU_MORE, more ? 1 : 0);
}

/* "open" with ok or an error, or what a read gave: "none", "[BYTES]" or an error. */
static int parse_exits(struct parser *parser, struct wtl_tape_record *record)
{
	struct wtl_buf *bytes = &parser->tape->bytes;
	struct token token;
	int rc = token_need(parser, &token, false, "open, none, [BYTES] or the name of an error");
	bool open = rc == 0 && token_is(&token, WTL_TAPE_EXITS_OPEN);
	ssize_t len;

	if (rc == 0)
		rc = key_bytes(parser, record, WTL_TAPE_EXITS, WTL_TAPE_EXITS_OPEN,
			       open ? strlen(WTL_TAPE_EXITS_OPEN) : 0);
	if (rc < 0 || token_is(&token, "none"))
		return rc;
	if (open)
		return parse_done(parser, record);
	if (token.text[0] != '[')
		return error_parse(parser, &token, &record->code);
	if (wtl_buf_reserve(bytes, WTL_EXIT_MAX) < 0)
		return no_room(parser, bytes->error);
	len = token.len < 2 || token.text[token.len - 1] != ']'
		      ? -EINVAL
		      : wtl_sparse_parse(token.text + 1, token.len - 2, bytes->data + bytes->len,
					 WTL_EXIT_MAX);
	if (len <= 0)
		return bad(parser, "a datagram is 1 to %d bytes, [BYTES]", WTL_EXIT_MAX);
	bytes->len += (size_t)len;
	bytes->data[bytes->len] = '\0';
	return 0;
}

static int parse_frame(struct parser *parser)
{
	struct wtl_tape *tape = parser->tape;
	struct wtl_tape_frame frame = {0};
	int64_t *times[] = {&frame.mono_ns, &frame.boot_ns, &frame.real_ns};
	struct token token;
	int rc;

	for (size_t i = 0; i < 3; i++) {
		rc = token_need(parser, &token, false, "three times in nanoseconds");
		if (rc < 0)
			return rc;
		/* Far enough from the type's end that no sum with an offset leaves it. */
		if (wtl_num_i64(token.text, token.len, times[i]) < 0 || *times[i] < 0 ||
		    *times[i] > INT64_MAX / 4)
			return bad(parser, "a time is a number of nanoseconds");
	}
	if (tape->n_frames > 0 && frame.mono_ns < wtl_tape_frame(tape, tape->n_frames - 1)->mono_ns)
		return bad(parser, "the monotonic time goes back");
	rc = token_next(parser, &token);
	if (rc > 0)
		rc = error_parse(parser, &token, &frame.code);
	if (rc < 0)
		return rc;
	if (wtl_buf_add(&tape->frames, &frame, sizeof(frame)) < 0)
		return no_room(parser, tape->frames.error);
	tape->n_frames++;
	return 0;
}

static int parse_note(struct parser *parser, struct wtl_tape_record *record)
{
	int rc = key_quoted(parser, record, WTL_TAPE_NOTE, "a quoted name");

	return rc < 0 ? rc : parse_content(parser, record, false);
}

static int parse_op(struct parser *parser, char op, struct wtl_tape_record *record)
{
	record->kind = WTL_TAPE_READ;
	switch (op) {
	case 'R':
		return parse_file_read(parser, record);
	case 'O':
		return parse_file_open(parser, record);
	case 'L':
		return parse_link(parser, record);
	case 'D':
		return parse_dir(parser, record);
	case 'P':
		return parse_perf(parser, record);
	case 'H':
		return parse_lib(parser, record);
	case 'S':
		return parse_call(parser, record);
	case 'C':
		return parse_cpu(parser, record);
	case 'X':
		return parse_exits(parser, record);
	case 'W':
		return parse_file_write(parser, record);
	case 'N':
		return parse_note(parser, record);
	default:
		return bad(parser, "unknown record '%c'", op);
	}
}

static int parse_record(struct parser *parser, struct token *token)
{
	struct wtl_tape *tape = parser->tape;
	struct wtl_tape_record record = {0};
	uint64_t offset;
	int rc;

	if (tape->n_frames == 0)
		return bad(parser, "a frame (@ MONO BOOT REAL) must come first");
	if (token->text[0] == '+' && !token->quoted) {
		if (wtl_num_u64(token->text + 1, token->len - 1, &offset) < 0 ||
		    offset > INT64_MAX / 4)
			return bad(parser, "an offset is a number of nanoseconds");
		record.offset_ns = (int64_t)offset;
		rc = token_need(parser, token, false, "a record");
		if (rc < 0)
			return rc;
	}
	if (token->quoted || token->len != 1)
		return bad(parser, "a record is one of R O L D P H S C X W N");
	record.frame = (uint32_t)tape->n_frames - 1;
	rc = parse_op(parser, token->text[0], &record);
	return rc < 0 ? rc : record_add(parser, &record);
}

static int parse_line(struct parser *parser, const char *line, size_t len)
{
	struct token token;
	int rc;

	if (len > WTL_TAPE_LINE_MAX)
		return bad(parser, "longer than %d bytes", WTL_TAPE_LINE_MAX);
	if (memchr(line, 0, len))
		return bad(parser, "a NUL byte: not a tape");
	parser->at = line;
	parser->end = line + wtl_text_trimmed(line, len);
	if (parser->line == 1) {
		if (token_next(parser, &token) <= 0 || !token_is(&token, "wattle-tape"))
			return bad(parser, "not a tape: it must begin with \"wattle-tape 1\"");
		if (token_next(parser, &token) <= 0 || !token_is(&token, "1"))
			return bad(parser, "a tape of another version; this program reads 1");
	} else {
		rc = token_next(parser, &token);
		if (rc <= 0 || token.text[0] == '#')
			return rc;
		rc = token_is(&token, "@") ? parse_frame(parser) : parse_record(parser, &token);
		if (rc < 0)
			return rc;
	}
	rc = token_next(parser, &token);
	if (rc > 0)
		return bad(parser, "more than was expected: \"%.*s\"",
			   (int)(token.len < 32 ? token.len : 32), token.text);
	return rc;
}

static int parse_lines(struct parser *parser, const char *text, size_t len)
{
	const char *end = text + len;

	do {
		const char *stop = len > 0 ? memchr(text, '\n', (size_t)(end - text)) : NULL;
		int rc;

		parser->line++;
		rc = parse_line(parser, text, (size_t)((stop ? stop : end) - text));
		if (rc < 0)
			return rc;
		text = stop ? stop + 1 : end;
	} while (text < end);
	if (parser->tape->n_frames == 0)
		return bad(parser, "no frame (@ MONO BOOT REAL)");
	return 0;
}

int wtl_tape_parse(const char *text, size_t len, struct wtl_tape **ret_tape, struct wtl_err *err)
{
	struct parser parser = {.tape = wtl_tape_new(), .err = err};
	int rc;

	if (!parser.tape)
		return wtl_err_set(err, ENOMEM, "tape", NULL, "out of memory");
	wtl_buf_init(&parser.scratch, WTL_TAPE_LINE_MAX);
	rc = len <= WTL_TAPE_MAX ? parse_lines(&parser, text, len) : no_room(&parser, -EFBIG);
	if (rc == 0 && wtl_tape_index(parser.tape) < 0)
		rc = no_room(&parser, -ENOMEM);
	wtl_buf_done(&parser.scratch);
	if (rc < 0) {
		wtl_tape_free(parser.tape);
		return rc;
	}
	*ret_tape = parser.tape;
	return 0;
}

/* Reads the whole file; it may be a pipe. */
static int file_load(const char *path, struct wtl_buf *buf)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	ssize_t n = 1;
	int rc = 0;

	if (fd < 0)
		return -errno;
	while (n > 0 && rc == 0) {
		char part[16384];

		n = read(fd, part, sizeof(part));
		if (n > 0)
			rc = wtl_buf_add(buf, part, (size_t)n);
		else if (n < 0 && errno == EINTR)
			n = 1;
		else if (n < 0)
			rc = -errno;
	}
	close(fd);
	return rc;
}

int wtl_tape_load(const char *path, struct wtl_tape **ret_tape, struct wtl_err *err)
{
	struct wtl_buf text;
	int rc;

	wtl_buf_init(&text, WTL_TAPE_MAX);
	rc = file_load(path, &text);
	if (rc < 0) {
		wtl_err_set(err, rc, "tape", path, "%s", wtl_err_text(rc));
	} else {
		rc = wtl_tape_parse(wtl_buf_str(&text), text.len, ret_tape, err);
		if (rc < 0 && err)
			wtl_text_clean(err->path, sizeof(err->path), path, strlen(path));
	}
	wtl_buf_done(&text);
	return rc;
}
