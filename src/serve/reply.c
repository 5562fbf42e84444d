/* SPDX-License-Identifier: MIT */
#include "serve/http.h"

void wtl_reply_say(struct wtl_reply *reply, unsigned status, const char *text)
{
	wtl_buf_clear(&reply->body);
	wtl_buf_puts(&reply->body, text);
	wtl_buf_putc(&reply->body, '\n');
	reply->status = status;
	reply->type = "text/plain; charset=utf-8";
}
