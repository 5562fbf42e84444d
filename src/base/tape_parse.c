/* SPDX-License-Identifier: MIT */
#include "base/tape.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/infile.h"
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
	int error;	/* what was wrong first: all below return false from then on */
	const char *at; /* in the line */
	const char *end;
	unsigned line;
	struct wtl_buf scratch;
};

static bool bad(struct parser *parser, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static bool bad(struct parser *parser, const char *format, ...)
{
	char text[160];
	va_list args;

	va_start(args, format);
	if (vsnprintf(text, sizeof(text), format, args) < 0)
		text[0] = '\0';
	va_end(args);
	parser->error = wtl_err_set(parser->err, WTL_EFORMAT, "tape", NULL, "line %u: %s",
				    parser->line, text);
	return false;
}

/* Whether there was room: rc is 0 or more, -EFBIG or -ENOMEM. */
static bool fits(struct parser *parser, int rc)
{
	if (rc == -EFBIG)
		return bad(parser, "the tape holds too much");
	if (rc < 0)
		parser->error = wtl_err_set(parser->err, rc, "tape", NULL, "out of memory");
	return rc >= 0;
}

static bool bytes_add(struct parser *parser, const void *bytes, size_t len)
{
	return fits(parser, wtl_buf_add(&parser->tape->bytes, bytes, len));
}

/* False at the line's end, too. */
static bool token_next(struct parser *parser, struct token *token)
{
	const char *stop;

	while (parser->at < parser->end && (*parser->at == ' ' || *parser->at == '\t'))
		parser->at++;
	if (parser->at == parser->end)
		return false;
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
	return true;
}

/* The next token, which must be there. */
static bool token_need(struct parser *parser, struct token *token, bool quoted, const char *what)
{
	bool is_there = token_next(parser, token);

	if (parser->error || (is_there && token->quoted == quoted))
		return !parser->error;
	return bad(parser, "%s expected", what);
}

static bool token_is(const struct token *token, const char *word)
{
	return !token->quoted && token->len == strlen(word) &&
	       memcmp(token->text, word, token->len) == 0;
}

/* An errno's name, or E#NUMBER for one without a name, as a negative number. */
static bool error_parse(struct parser *parser, const struct token *token, int *ret_code)
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
	return true;
}

/* Appends a quoted token's text to the tape's bytes. */
static bool text_add(struct parser *parser, const struct token *token, bool nul_allowed)
{
	struct wtl_buf *bytes = &parser->tape->bytes;
	size_t from = bytes->len;
	int rc = wtl_text_unescape(bytes, token->text, token->len);

	if (rc == -EINVAL)
		return bad(parser, "a backslash sequence that is none of \\n \\t \\\\ \\xNN");
	if (!fits(parser, rc))
		return false;
	if (!nul_allowed && bytes->len > from && memchr(bytes->data + from, 0, bytes->len - from))
		return bad(parser, "a name with a NUL");
	return true;
}

/* What the key is about follows; key_end() is called after it. */
static bool key_begin(struct parser *parser, struct wtl_tape_record *record,
		      enum wtl_tape_class class)
{
	record->key_at = (uint32_t)parser->tape->bytes.len;
	return fits(parser, wtl_buf_putc(&parser->tape->bytes, (char)class));
}

static bool key_end(struct parser *parser, struct wtl_tape_record *record)
{
	record->key_len = (uint32_t)parser->tape->bytes.len - record->key_at;
	record->data_at = (uint32_t)parser->tape->bytes.len;
	return true;
}

static bool key_bytes(struct parser *parser, struct wtl_tape_record *record,
		      enum wtl_tape_class class, const void *key, size_t len)
{
	return key_begin(parser, record, class) && bytes_add(parser, key, len) &&
	       key_end(parser, record);
}

static bool key_quoted(struct parser *parser, struct wtl_tape_record *record,
		       enum wtl_tape_class class, const char *what)
{
	struct token token;

	return token_need(parser, &token, true, what) && key_begin(parser, record, class) &&
	       text_add(parser, &token, false) && key_end(parser, record);
}

/* Quoted names up to the line's end, or one error. */
static bool parse_names(struct parser *parser, struct wtl_tape_record *record)
{
	struct token token;

	while (token_next(parser, &token)) {
		if (!token.quoted)
			return error_parse(parser, &token, &record->code);
		if (!text_add(parser, &token, false) || !bytes_add(parser, "", 1))
			return false;
	}
	return !parser->error;
}

/* One quoted text, or an error. */
static bool parse_content(struct parser *parser, struct wtl_tape_record *record, bool nul_allowed)
{
	struct token token;

	if (!token_next(parser, &token))
		return !parser->error &&
		       bad(parser, "a quoted content or the name of an error expected");
	if (!token.quoted)
		return error_parse(parser, &token, &record->code);
	return text_add(parser, &token, nul_allowed);
}

/* "ok" or an error. */
static bool parse_done(struct parser *parser, struct wtl_tape_record *record)
{
	struct token token;

	return token_need(parser, &token, false, "ok or the name of an error") &&
	       (token_is(&token, "ok") || error_parse(parser, &token, &record->code));
}

static bool parse_opened(struct parser *parser, struct wtl_tape_record *record)
{
	record->kind = WTL_TAPE_OPEN;
	return parse_done(parser, record);
}

static bool parse_event(struct parser *parser, struct wtl_perf_event *ret)
{
	struct token type, config, cpu;
	const size_t skip = strlen(WTL_TAPE_PERF_TASK);
	uint64_t type_number;
	int64_t number;
	bool is_task;

	if (!token_need(parser, &type, false, "an event type") ||
	    !token_need(parser, &config, false, "an event code") ||
	    !token_need(parser, &cpu, false, "a CPU or task=NUMBER"))
		return false;
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
	return true;
}

/* What follows the first number of a task's counter: two times. */
static bool parse_count(struct parser *parser, const struct wtl_tape_record *record)
{
	struct wtl_perf_count count = {.count = record->value};
	int64_t *times[] = {&count.enabled_ns, &count.running_ns};
	struct token token;

	for (size_t i = 0; i < 2; i++) {
		if (!token_need(parser, &token, false, "COUNT ENABLED RUNNING"))
			return false;
		if (wtl_num_i64(token.text, token.len, times[i]) < 0 || *times[i] < 0)
			return bad(parser, "a time is a number of nanoseconds");
	}
	return bytes_add(parser, &count, sizeof(count));
}

static bool parse_perf(struct parser *parser, struct wtl_tape_record *record)
{
	struct wtl_perf_event event;
	struct token token;

	if (!parse_event(parser, &event) || !key_begin(parser, record, WTL_TAPE_PERF) ||
	    !fits(parser, wtl_tape_put_perf(&parser->tape->bytes, &event)))
		return false;
	key_end(parser, record);
	if (!token_need(parser, &token, false, "a value, open, or the name of an error"))
		return false;
	if (token_is(&token, "open"))
		return parse_opened(parser, record);
	if (wtl_num_u64(token.text, token.len, &record->value) == 0)
		return event.task <= 0 || parse_count(parser, record);
	return error_parse(parser, &token, &record->code);
}

/* Hexadecimal bytes into the scratch buffer. */
static bool hex_parse(struct parser *parser, const char *text, size_t len)
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
	return fits(parser, parser->scratch.error);
}

/* A call's argument, "WORD" or "[SIZE:BYTES]", into its key. */
static bool parse_arg(struct parser *parser, const struct token *token)
{
	struct wtl_buf *bytes = &parser->tape->bytes;
	const char *colon = memchr(token->text, ':', token->len);
	uint64_t number;

	if (token->text[0] != '[') {
		if (wtl_num_hex(token->text, token->len, &number) < 0)
			return bad(parser, "an argument is a hexadecimal word or [SIZE:BYTES]");
		return fits(parser, wtl_buf_printf(bytes, " %llx", (unsigned long long)number));
	}
	if (!colon || token->text[token->len - 1] != ']' ||
	    wtl_num_u64(token->text + 1, (size_t)(colon - token->text - 1), &number) < 0 ||
	    number > WTL_TAPE_MEMORY_MAX)
		return bad(parser, "a memory argument is [SIZE:BYTES]");
	if (!hex_parse(parser, colon + 1, (size_t)(token->text + token->len - 1 - (colon + 1))))
		return false;
	if (parser->scratch.len > number)
		return bad(parser, "a memory argument holds more than its size");
	return fits(parser,
		    wtl_tape_put_memory(bytes, parser->scratch.data, parser->scratch.len, number));
}

/* "[BYTES]" for each memory argument that the call filled. */
static bool parse_outs(struct parser *parser)
{
	struct token token;
	unsigned n = 0;

	while (token_next(parser, &token)) {
		uint32_t len;

		if (token.quoted || token.len < 2 || token.text[0] != '[' ||
		    token.text[token.len - 1] != ']' || n++ == WTL_LIB_ARGS_MAX)
			return bad(parser, "after the answer come at most %d [BYTES]",
				   WTL_LIB_ARGS_MAX);
		if (!hex_parse(parser, token.text + 1, token.len - 2))
			return false;
		len = (uint32_t)parser->scratch.len;
		if (!bytes_add(parser, &len, sizeof(len)) ||
		    !bytes_add(parser, parser->scratch.data, len))
			return false;
	}
	return !parser->error;
}

static bool parse_call(struct parser *parser, struct wtl_tape_record *record)
{
	struct token token;
	unsigned n = 0;
	int64_t answer;

	if (!token_need(parser, &token, false, "a function's name") ||
	    !key_begin(parser, record, WTL_TAPE_CALL) || !bytes_add(parser, token.text, token.len))
		return false;
	for (;;) {
		if (!token_need(parser, &token, false, "an argument or ="))
			return false;
		if (token_is(&token, "="))
			break;
		if (n++ == WTL_LIB_ARGS_MAX)
			return bad(parser, "more than %d arguments", WTL_LIB_ARGS_MAX);
		if (!parse_arg(parser, &token))
			return false;
	}
	key_end(parser, record);
	if (!token_need(parser, &token, false, "an answer"))
		return false;
	if (wtl_num_i64(token.text, token.len, &answer) < 0)
		return error_parse(parser, &token, &record->code);
	if (answer < INT_MIN || answer > INT_MAX)
		return bad(parser, "an answer is a 32-bit number");
	record->value = (uint64_t)answer;
	return parse_outs(parser);
}

static bool parse_bytes(struct parser *parser, struct wtl_tape_record *record)
{
	return parse_content(parser, record, true);
}

static bool parse_text(struct parser *parser, struct wtl_tape_record *record)
{
	return parse_content(parser, record, false);
}

static bool parse_written(struct parser *parser, struct wtl_tape_record *record)
{
	struct token token;

	return token_need(parser, &token, true, "what was written, quoted,") &&
	       text_add(parser, &token, true) && parse_done(parser, record);
}

static bool record_add(struct parser *parser, struct wtl_tape_record *record)
{
	struct wtl_tape *tape = parser->tape;

	record->data_len = (uint32_t)tape->bytes.len - record->data_at;
	tape->n_records++;
	return fits(parser, wtl_buf_add(&tape->records, record, sizeof(*record)));
}

/* "PID=NS" or "PID=ERRNO", a record of its own with the time and frame of `line`. */
static bool parse_cpu_entry(struct parser *parser, const struct wtl_tape_record *line,
			    const struct token *token, uint32_t ask)
{
	struct wtl_tape_record record = *line;
	const char *equals = token->quoted ? NULL : memchr(token->text, '=', token->len);
	struct token value = {.quoted = false};
	uint64_t number;
	int pid;

	if (!equals || wtl_num_u64(token->text, (size_t)(equals - token->text), &number) < 0 ||
	    number == 0 || number > INT_MAX)
		return bad(parser, "PID=NANOSECONDS or PID=ERRNO expected");
	pid = (int)number;
	if (!key_bytes(parser, &record, WTL_TAPE_CPU, &pid, sizeof(pid)))
		return false;
	record.ask = ask;
	value.text = equals + 1;
	value.len = token->len - (size_t)(value.text - token->text);
	if ((wtl_num_u64(value.text, value.len, &record.value) < 0 || record.value > INT64_MAX) &&
	    !error_parse(parser, &value, &record.code))
		return false;
	return record_add(parser, &record);
}

/* The entries of a line, the first of which has been read. */
static bool parse_cpu_entries(struct parser *parser, const struct wtl_tape_record *line,
			      struct token *token)
{
	uint64_t ask = 1;

	do {
		if (token->quoted || token->text[0] != '*') {
			if (!parse_cpu_entry(parser, line, token, (uint32_t)ask))
				return false;
		} else if (wtl_num_u64(token->text + 1, token->len - 1, &ask) < 0 || ask == 0 ||
			   ask > UINT32_MAX) {
			return bad(parser, "* and a number from 1 on expected");
		}
	} while (token_next(parser, token));
	return !parser->error;
}

/* The question for CPU times: the answer for each process becomes a record before `record`. */
static bool parse_cpu(struct parser *parser, struct wtl_tape_record *record)
{
	struct token token;
	bool is_there = token_next(parser, &token);
	bool more = is_there && token_is(&token, WTL_TAPE_CPU_MORE);

	if (more)
		is_there = token_next(parser, &token);
	if (is_there &&
	    (token.quoted || token.text[0] == '*' || memchr(token.text, '=', token.len)))
		parse_cpu_entries(parser, record, &token);
	else if (is_there)
		error_parse(parser, &token, &record->code);
	return !parser->error &&
	       key_bytes(parser, record, WTL_TAPE_CPU, WTL_TAPE_CPU_MORE, more ? 1 : 0);
}

/* "open" with ok or an error, or what a read gave: "none", "[BYTES]" or an error. */
static bool parse_exits(struct parser *parser, struct wtl_tape_record *record)
{
	struct wtl_buf *bytes = &parser->tape->bytes;
	struct token token;
	ssize_t len;
	bool open;

	if (!token_need(parser, &token, false, "open, none, [BYTES] or the name of an error"))
		return false;
	open = token_is(&token, WTL_TAPE_EXITS_OPEN);
	if (!key_bytes(parser, record, WTL_TAPE_EXITS, WTL_TAPE_EXITS_OPEN,
		       open ? strlen(WTL_TAPE_EXITS_OPEN) : 0))
		return false;
	if (open)
		return parse_done(parser, record);
	if (token_is(&token, "none"))
		return true;
	if (token.text[0] != '[')
		return error_parse(parser, &token, &record->code);
	if (!fits(parser, wtl_buf_reserve(bytes, WTL_EXIT_MAX)))
		return false;
	len = token.len < 2 || token.text[token.len - 1] != ']'
		      ? -EINVAL
		      : wtl_sparse_parse(token.text + 1, token.len - 2, bytes->data + bytes->len,
					 WTL_EXIT_MAX);
	if (len <= 0)
		return bad(parser, "a datagram is 1 to %d bytes, [BYTES]", WTL_EXIT_MAX);
	bytes->len += (size_t)len;
	bytes->data[bytes->len] = '\0';
	return true;
}

static bool parse_frame(struct parser *parser)
{
	struct wtl_tape *tape = parser->tape;
	struct wtl_tape_frame frame = {0};
	int64_t *times[] = {&frame.mono_ns, &frame.boot_ns, &frame.real_ns};
	struct token token;

	for (size_t i = 0; i < 3; i++) {
		if (!token_need(parser, &token, false, "three times in nanoseconds"))
			return false;
		/* Far enough from the type's end that no sum with an offset leaves it; UTC up to 2116. */
		if (wtl_num_i64(token.text, token.len, times[i]) < 0 || *times[i] < 0 ||
		    *times[i] > INT64_MAX / (i == 2 ? 2 : 4))
			return bad(parser, "a time is a number of nanoseconds");
	}
	if (tape->n_frames > 0 && frame.mono_ns < wtl_tape_frame(tape, tape->n_frames - 1)->mono_ns)
		return bad(parser, "the monotonic time goes back");
	if (token_next(parser, &token))
		error_parse(parser, &token, &frame.code);
	if (parser->error || !fits(parser, wtl_buf_add(&tape->frames, &frame, sizeof(frame))))
		return false;
	tape->n_frames++;
	return true;
}

/* Records about something with a quoted name. */
static const struct {
	char op;
	enum wtl_tape_class class;
	const char *what;
	bool (*rest)(struct parser *parser, struct wtl_tape_record *record);
} named[] = {
	{'R', WTL_TAPE_FILE, "a quoted path", parse_bytes},
	{'O', WTL_TAPE_FILE, "a quoted path", parse_opened},
	{'L', WTL_TAPE_LINK, "a quoted path", parse_text},
	{'D', WTL_TAPE_DIR, "a quoted path", parse_names},
	{'H', WTL_TAPE_LIB, "a quoted library name", parse_names},
	{'W', WTL_TAPE_WRITE, "a quoted path", parse_written},
	{'N', WTL_TAPE_NOTE, "a quoted name", parse_text},
};

static bool parse_op(struct parser *parser, char op, struct wtl_tape_record *record)
{
	record->kind = op == 'H' ? WTL_TAPE_OPEN : WTL_TAPE_READ;
	for (size_t i = 0; i < sizeof(named) / sizeof(named[0]); i++)
		if (named[i].op == op)
			return key_quoted(parser, record, named[i].class, named[i].what) &&
			       named[i].rest(parser, record);
	switch (op) {
	case 'P':
		return parse_perf(parser, record);
	case 'S':
		return parse_call(parser, record);
	case 'C':
		return parse_cpu(parser, record);
	case 'X':
		return parse_exits(parser, record);
	default:
		return bad(parser, "unknown record '%c'", op);
	}
}

static bool parse_record(struct parser *parser, struct token *token)
{
	struct wtl_tape *tape = parser->tape;
	struct wtl_tape_record record = {0};
	uint64_t offset;

	if (tape->n_frames == 0)
		return bad(parser, "a frame (@ MONO BOOT REAL) must come first");
	if (token->text[0] == '+' && !token->quoted) {
		if (wtl_num_u64(token->text + 1, token->len - 1, &offset) < 0 ||
		    offset > INT64_MAX / 4)
			return bad(parser, "an offset is a number of nanoseconds");
		record.offset_ns = (int64_t)offset;
		if (!token_need(parser, token, false, "a record"))
			return false;
	}
	if (token->quoted || token->len != 1)
		return bad(parser, "a record is one of R O L D P H S C X W N");
	record.frame = (uint32_t)tape->n_frames - 1;
	return parse_op(parser, token->text[0], &record) && record_add(parser, &record);
}

static bool parse_line(struct parser *parser, const char *line, size_t len)
{
	struct token token;

	if (len > WTL_TAPE_LINE_MAX)
		return bad(parser, "longer than %d bytes", WTL_TAPE_LINE_MAX);
	if (memchr(line, 0, len))
		return bad(parser, "a NUL byte: not a tape");
	parser->at = line;
	parser->end = line + wtl_text_trimmed(line, len);
	if (parser->line == 1) {
		if (!token_next(parser, &token) || !token_is(&token, "wattle-tape"))
			return bad(parser, "not a tape: it must begin with \"wattle-tape 1\"");
		if (!token_next(parser, &token) || !token_is(&token, "1"))
			return bad(parser, "a tape of another version; this program reads 1");
	} else {
		if (!token_next(parser, &token) || token.text[0] == '#')
			return !parser->error;
		if (!(token_is(&token, "@") ? parse_frame(parser) : parse_record(parser, &token)))
			return false;
	}
	if (token_next(parser, &token))
		return bad(parser, "more than was expected: \"%.*s\"",
			   (int)(token.len < 32 ? token.len : 32), token.text);
	return !parser->error;
}

static bool parse_lines(struct parser *parser, const char *text, size_t len)
{
	const char *end = text + len;

	do {
		const char *stop = len > 0 ? memchr(text, '\n', (size_t)(end - text)) : NULL;

		parser->line++;
		if (!parse_line(parser, text, (size_t)((stop ? stop : end) - text)))
			return false;
		text = stop ? stop + 1 : end;
	} while (text < end);
	return parser->tape->n_frames > 0 || bad(parser, "no frame (@ MONO BOOT REAL)");
}

int wtl_tape_parse(const char *text, size_t len, struct wtl_tape **ret_tape, struct wtl_err *err)
{
	struct parser parser = {.tape = wtl_tape_new(), .err = err};

	if (!parser.tape)
		return wtl_err_set(err, ENOMEM, "tape", NULL, "out of memory");
	wtl_buf_init(&parser.scratch, WTL_TAPE_LINE_MAX);
	if (fits(&parser, len <= WTL_TAPE_MAX ? 0 : -EFBIG) && parse_lines(&parser, text, len))
		fits(&parser, wtl_tape_index(parser.tape) < 0 ? -ENOMEM : 0);
	wtl_buf_done(&parser.scratch);
	if (parser.error) {
		wtl_tape_free(parser.tape);
		return parser.error;
	}
	*ret_tape = parser.tape;
	return 0;
}

int wtl_tape_load(const char *path, struct wtl_tape **ret_tape, struct wtl_err *err)
{
	struct wtl_buf text;
	int rc;

	wtl_buf_init(&text, WTL_TAPE_MAX);
	rc = wtl_infile_read(path, &text);
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
