/* SPDX-License-Identifier: MIT */
#include "serve/push_http.h"

#include <dlfcn.h>
#include <errno.h>
#include <snappy-c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/infile.h"
#include "base/num.h"
#include "base/symbol.h"
#include "base/text.h"
#include "serve/gzip.h"

#define SNAPPY_LIBRARY "libsnappy.so.1"

enum { ANSWER_MAX = 4096, HEADERS_MAX = 1 << 16, URL_MAX = 1 << 16 };

struct wtl_push_http {
	struct wtl_push_http_options options;
	struct wtl_client *http;
	__typeof__(&snappy_compress) snappy;
	__typeof__(&snappy_max_compressed_length) snappy_room;
	struct wtl_gzip *gzip;
	struct wtl_buf headers, packed, said; /* what is sent, and the start of the answer */
	uint64_t bytes;
	bool has_taken;	   /* it has taken something, so its URL and form are right */
	bool is_page;	   /* the answer is a page for people, such as a proxy's login */
	long long written; /* samples that the engine says it took; -1: not known */
};

static int load_snappy(struct wtl_push_http *http, struct wtl_err *err)
{
	void *library = dlopen(SNAPPY_LIBRARY, RTLD_NOW | RTLD_LOCAL);

	if (library && wtl_symbol_find(library, "snappy_compress", &http->snappy) &&
	    wtl_symbol_find(library, "snappy_max_compressed_length", &http->snappy_room))
		return 0;
	return wtl_err_set(err, WTL_EABSENT, "serve", NULL,
			   SNAPPY_LIBRARY " cannot be loaded: install it (Debian: libsnappy1v5)");
}

/* ---- What an engine answers ---- */

static void take_header(void *context, const char *line, size_t len)
{
	struct wtl_push_http *http = context;
	size_t value_len;
	const char *value;
	uint64_t number;

	if ((value = wtl_client_value(line, len, "Content-Type", &value_len)))
		http->is_page = value_len >= 9 && strncasecmp(value, "text/html", 9) == 0;
	if ((value = wtl_client_value(line, len, "X-Prometheus-Remote-Write-Samples-Written",
				      &value_len)) &&
	    wtl_num_u64(value, value_len, &number) == 0)
		http->written = (long long)number;
}

/* ---- Headers ---- */

/* For pushed data. The user's headers follow, from a file that may change, such as when a token is renewed. */
static void put_form(struct wtl_push_http *http)
{
	struct wtl_buf *headers = &http->headers;

	wtl_buf_clear(headers);
	if (http->options.form == WTL_PUSH_INFLUX) {
		wtl_buf_puts(headers, "Content-Type: text/plain; charset=utf-8\n");
		if (http->gzip)
			wtl_buf_puts(headers, "Content-Encoding: gzip\n");
	} else {
		wtl_buf_puts(headers, "Content-Type: application/x-protobuf\n"
				      "Content-Encoding: snappy\n"
				      "X-Prometheus-Remote-Write-Version: 0.1.0\n");
	}
	wtl_buf_puts(headers, "Expect:\n");
}

/* ---- A request ---- */

static int pack(struct wtl_push_http *http, const struct wtl_buf *request)
{
	size_t len = http->snappy_room ? http->snappy_room(request->len) : 0;

	wtl_buf_clear(&http->packed);
	if (http->options.form == WTL_PUSH_INFLUX)
		return http->gzip ? wtl_gzip_pack(http->gzip, request, &http->packed)
				  : wtl_buf_add(&http->packed, request->data, request->len);
	if (wtl_buf_reserve(&http->packed, len) < 0 ||
	    http->snappy(request->data, request->len, http->packed.data, &len) != SNAPPY_OK)
		return -ENOMEM;
	http->packed.len = len;
	return 0;
}

static bool says(const char *said, const char *words)
{
	return strcasestr(said, words) != NULL;
}

/* VictoriaMetrics and InfluxDB answer 400 to a wrong path, a missing
 * database, and the wrong form: that is no fault of the rows. */
static bool is_set_wrong(const struct wtl_push_http *http)
{
	static const char *const words[] = {"unsupported path", "database is required",
					    "corrupt input", "unable to parse"};

	for (size_t i = 0; !http->has_taken && i < sizeof(words) / sizeof(words[0]); i++)
		if (says(wtl_buf_str(&http->said), words[i]))
			return true;
	return false;
}

static enum wtl_push_result result_of(const struct wtl_push_http *http, long code)
{
	if (code / 100 == 2)
		return http->is_page || http->written == 0 ? WTL_PUSH_FAILED : WTL_PUSH_TAKEN;
	if (code == 413)
		return WTL_PUSH_TOO_LARGE;
	/* Other codes mean a wrong setting: the rows are kept and can be sent once it is right. */
	return (code == 400 && !is_set_wrong(http)) || code == 422 ? WTL_PUSH_REFUSED
								   : WTL_PUSH_FAILED;
}

static void tell(const struct wtl_push_http *http, long code, struct wtl_push_answer *answer)
{
	const char *said = wtl_buf_str(&http->said);
	char clean[160];

	wtl_text_clean(clean, sizeof(clean), said, strcspn(said, "\r\n"));
	answer->is_known_there = answer->result == WTL_PUSH_REFUSED &&
				 (says(said, "out of order") || says(said, "out-of-order") ||
				  says(said, "duplicate"));
	if (answer->result == WTL_PUSH_TAKEN)
		answer->text[0] = '\0';
	else if (code / 100 == 2)
		snprintf(answer->text, sizeof(answer->text), "it answers %ld, %s", code,
			 http->is_page ? "but with a page for people: is the URL that of an engine?"
				       : "but says that it took no sample");
	else
		snprintf(answer->text, sizeof(answer->text), "it answers %ld%s%s", code,
			 clean[0] ? ": " : "", clean);
}

/* false: there was no answer, the text says why. */
static bool perform(struct wtl_push_http *http, const struct wtl_client_request *what,
		    struct wtl_push_answer *answer, long *ret_code)
{
	struct wtl_client_request request = *what;
	struct wtl_client_answer got;

	if (http->options.headers && wtl_infile_read(http->options.headers, &http->headers) < 0) {
		snprintf(answer->text, sizeof(answer->text), "%s cannot be read",
			 http->options.headers);
		return false;
	}
	http->is_page = false;
	http->written = -1;
	request.headers = &http->headers;
	request.header = take_header;
	request.context = http;
	wtl_client_send(http->http, &request, &http->said, &got);
	answer->is_new_connection = got.is_new_connection;
	answer->retry_after_ns = got.retry_after_ns;
	/* Otherwise the engine may have the rows, whatever it answered. */
	answer->was_not_sent = got.was_not_sent;
	wtl_text_copy(answer->text, sizeof(answer->text), got.text);
	*ret_code = got.code;
	return got.code > 0;
}

void wtl_push_http_send(struct wtl_push_http *http, const struct wtl_buf *request,
			struct wtl_push_answer *ret_answer)
{
	const struct wtl_client_request post = {.url = http->options.url, .body = &http->packed};
	long code = 0;

	*ret_answer = (struct wtl_push_answer){.result = WTL_PUSH_FAILED, .was_not_sent = true};
	if (pack(http, request) < 0) {
		snprintf(ret_answer->text, sizeof(ret_answer->text), "out of memory");
		return;
	}
	put_form(http);
	if (!perform(http, &post, ret_answer, &code))
		return;
	http->bytes += http->packed.len;
	ret_answer->result = result_of(http, code);
	http->has_taken |= ret_answer->result == WTL_PUSH_TAKEN;
	tell(http, code, ret_answer);
}

const char *wtl_push_http_ask(struct wtl_push_http *http, const char *url, const char *query,
			      const char *more, struct wtl_push_answer *ret_answer)
{
	const char *key = http->options.form == WTL_PUSH_INFLUX ? "q" : "query";
	struct wtl_client_request get = {.body = NULL};
	struct wtl_buf whole;
	long code = 0;

	*ret_answer = (struct wtl_push_answer){.result = WTL_PUSH_FAILED};
	wtl_buf_init(&whole, URL_MAX);
	wtl_buf_printf(&whole, "%s%c%s=", url, strchr(url, '?') ? '&' : '?', key);
	wtl_client_escape(&whole, query);
	wtl_buf_puts(&whole, more);
	wtl_buf_clear(&http->headers);
	get.url = wtl_buf_str(&whole);
	if (whole.error) {
		snprintf(ret_answer->text, sizeof(ret_answer->text), "out of memory");
	} else if (perform(http, &get, ret_answer, &code)) {
		ret_answer->result =
			code == 200 && !http->is_page ? WTL_PUSH_TAKEN : WTL_PUSH_FAILED;
		tell(http, code, ret_answer);
	}
	wtl_buf_done(&whole);
	return ret_answer->result == WTL_PUSH_TAKEN ? wtl_buf_str(&http->said) : NULL;
}

uint64_t wtl_push_http_bytes(const struct wtl_push_http *http)
{
	return http->bytes;
}

/* ---- Its life ---- */

int wtl_push_http_new(const struct wtl_push_http_options *options, struct wtl_push_http **ret_http,
		      struct wtl_err *err)
{
	struct wtl_push_http *http = calloc(1, sizeof(*http));
	int rc = http ? 0 : wtl_err_set(err, ENOMEM, "serve", NULL, "out of memory");

	if (rc < 0)
		return rc;
	http->options = *options;
	wtl_buf_init(&http->packed, 64 << 20);
	wtl_buf_init(&http->said, ANSWER_MAX);
	wtl_buf_init(&http->headers, HEADERS_MAX);
	rc = wtl_client_new(&options->how, &http->http, err);
	if (rc == 0 && options->form == WTL_PUSH_REMOTE_WRITE)
		rc = load_snappy(http, err);
	if (rc == 0 && options->form == WTL_PUSH_INFLUX)
		http->gzip = wtl_gzip_new();
	if (rc < 0) {
		wtl_push_http_free(http);
		return rc;
	}
	*ret_http = http;
	return 0;
}

void wtl_push_http_free(struct wtl_push_http *http)
{
	if (!http)
		return;
	wtl_client_free(http->http);
	wtl_gzip_free(http->gzip);
	wtl_buf_done(&http->packed);
	wtl_buf_done(&http->said);
	wtl_buf_done(&http->headers);
	free(http);
}
