/* SPDX-License-Identifier: MIT */
#include "base/tape.h"

#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/text.h"

int wtl_tape_put_frame(struct wtl_buf *buf, const struct wtl_tape_frame *frame)
{
	wtl_buf_printf(buf, "@ %" PRId64 " %" PRId64 " %" PRId64, frame->mono_ns, frame->boot_ns,
		       frame->real_ns);
	if (frame->code < 0) {
		wtl_buf_putc(buf, ' ');
		wtl_tape_put_error(buf, frame->code);
	}
	return wtl_buf_putc(buf, '\n');
}

int wtl_tape_put_quoted(struct wtl_buf *buf, const char *text, size_t len)
{
	wtl_buf_putc(buf, '"');
	while (len > 0) {
		const char *quote = memchr(text, '"', len);
		size_t plain = quote ? (size_t)(quote - text) : len;

		wtl_text_escape(buf, text, plain);
		if (!quote)
			break;
		wtl_buf_puts(buf, "\\x22");
		text += plain + 1;
		len -= plain + 1;
	}
	return wtl_buf_putc(buf, '"');
}

int wtl_tape_put_error(struct wtl_buf *buf, int code)
{
	const char *name = wtl_err_name(code);

	if (name)
		return wtl_buf_puts(buf, name);
	return wtl_buf_printf(buf, "E#%u", code < 0 ? 0u - (unsigned)code : (unsigned)code);
}

int wtl_tape_put_hex(struct wtl_buf *buf, const void *bytes, size_t len)
{
	static const char digits[] = "0123456789abcdef";
	const unsigned char *at = bytes;
	char *out;

	while (len > 0 && at[len - 1] == 0)
		len--;
	if (wtl_buf_reserve(buf, 2 * len) < 0)
		return buf->error;
	out = buf->data + buf->len;
	for (size_t i = 0; i < len; i++) {
		*out++ = digits[at[i] >> 4];
		*out++ = digits[at[i] & 15];
	}
	*out = '\0';
	buf->len += 2 * len;
	return 0;
}

int wtl_tape_put_memory(struct wtl_buf *buf, const void *bytes, size_t len, size_t size)
{
	wtl_buf_printf(buf, " [%zu:", size);
	wtl_tape_put_hex(buf, bytes, len);
	return wtl_buf_putc(buf, ']');
}

int wtl_tape_put_call(struct wtl_buf *buf, const struct wtl_lib_function *function,
		      const struct wtl_lib_arg args[])
{
	wtl_buf_puts(buf, function->symbol);
	for (unsigned i = 0; i < function->n_args && i < WTL_LIB_ARGS_MAX; i++) {
		if (args[i].memory)
			wtl_tape_put_memory(buf, args[i].memory, args[i].size, args[i].size);
		else
			wtl_buf_printf(buf, " %" PRIx64, args[i].word);
	}
	return buf->error;
}

int wtl_tape_put_perf(struct wtl_buf *buf, const struct wtl_perf_event *event)
{
	bool is_task = event->task > 0;

	return wtl_buf_printf(buf, "%" PRIu32 " %" PRIx64 " %s%d", event->type, event->config,
			      is_task ? WTL_TAPE_PERF_TASK : "",
			      is_task ? event->task : event->cpu);
}
