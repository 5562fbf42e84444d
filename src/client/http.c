/* SPDX-License-Identifier: MIT */
#include "client/http.h"

#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/symbol.h"
#include "base/text.h"
#include "energy/units.h"

/* Variadic functions must not be macros here. */
#undef curl_easy_setopt
#undef curl_easy_getinfo

/* The first is Debian's, with the TLS library that wattle serve uses anyway. */
#define CURL_GNUTLS_LIBRARY "libcurl-gnutls.so.4"

#define CURL_LIBRARY "libcurl.so.4"

struct library {
	__typeof__(&curl_easy_init) easy_init;
	__typeof__(&curl_easy_cleanup) easy_cleanup;
	__typeof__(&curl_easy_setopt) easy_setopt;
	__typeof__(&curl_easy_getinfo) easy_getinfo;
	__typeof__(&curl_easy_perform) easy_perform;
	__typeof__(&curl_easy_strerror) easy_strerror;
	__typeof__(&curl_slist_append) slist_append;
	__typeof__(&curl_slist_free_all) slist_free_all;
};

enum { RETRY_MOST_S = 3600, CONNECT_MS = 5000, ANSWER_MS = 30000 };

struct wtl_client {
	struct wtl_client_options options;
	struct library curl;
	CURL *easy;
	/* Of the request in progress: */
	const struct wtl_client_request *request;
	struct wtl_buf *body;
	struct wtl_client_answer *answer;
};

/* ---- The library ---- */

static int load(struct library *curl, struct wtl_err *err)
{
	void *library = dlopen(CURL_GNUTLS_LIBRARY, RTLD_NOW | RTLD_LOCAL);

	if (!library)
		library = dlopen(CURL_LIBRARY, RTLD_NOW | RTLD_LOCAL);
	if (!library)
		return wtl_err_set(err, WTL_EABSENT, "http", NULL,
				   CURL_LIBRARY " cannot be loaded: install it (Debian: "
						"libcurl3-gnutls)");
#define WANTED(name) wtl_symbol_find(library, "curl_" #name, &curl->name)
	if (WANTED(easy_init) && WANTED(easy_cleanup) && WANTED(easy_setopt) &&
	    WANTED(easy_getinfo) && WANTED(easy_perform) && WANTED(easy_strerror) &&
	    WANTED(slist_append) && WANTED(slist_free_all))
		return 0;
#undef WANTED
	return wtl_err_set(err, WTL_EABSENT, "http", NULL, CURL_LIBRARY " lacks functions");
}

int wtl_client_new(const struct wtl_client_options *options, struct wtl_client **ret_http,
		   struct wtl_err *err)
{
	struct wtl_client *http = calloc(1, sizeof(*http));
	int rc = http ? 0 : wtl_err_set(err, ENOMEM, "http", NULL, "out of memory");

	if (rc < 0)
		return rc;
	http->options = *options;
	rc = load(&http->curl, err);
	if (rc == 0 && !(http->easy = http->curl.easy_init()))
		rc = wtl_err_set(err, ENOMEM, "http", NULL, "libcurl cannot begin");
	if (rc < 0) {
		wtl_client_free(http);
		return rc;
	}
	*ret_http = http;
	return 0;
}

void wtl_client_free(struct wtl_client *http)
{
	if (http && http->easy)
		http->curl.easy_cleanup(http->easy);
	free(http);
}

/* ---- Receiving ---- */

static size_t take_body(char *bytes, size_t size, size_t n, void *context)
{
	struct wtl_client *http = context;
	size_t len = size * n;
	size_t room = http->body->len < http->body->max ? http->body->max - http->body->len : 0;

	http->answer->is_cut |= len > room;
	wtl_buf_add(http->body, bytes, len < room ? len : room);
	return len;
}

const char *wtl_client_value(const char *line, size_t len, const char *name, size_t *ret_len)
{
	size_t n = strlen(name);

	if (len <= n || strncasecmp(line, name, n) != 0 || line[n] != ':')
		return NULL;
	for (n++; n < len && line[n] == ' ';)
		n++;
	*ret_len = wtl_text_trimmed(line + n, len - n);
	return line + n;
}

static size_t take_header(char *line, size_t size, size_t n, void *context)
{
	struct wtl_client *http = context;
	size_t len = size * n;

	if (http->request->header)
		http->request->header(http->request->context, line, len);
	return len;
}

static int ask_whether_to_give_up(void *context, curl_off_t a, curl_off_t b, curl_off_t c,
				  curl_off_t d)
{
	const struct wtl_client_options *options = context;

	(void)a, (void)b, (void)c, (void)d;
	return options->gives_up && options->gives_up(options->context);
}

/* ---- Sending ---- */

/* NULL if there are none, or after a failure: a server that needs the headers refuses the request. */
static struct curl_slist *list_headers(struct wtl_client *http, const struct wtl_buf *text)
{
	char *copy = text ? strdup(wtl_buf_str(text)) : NULL, *line, *rest;
	struct curl_slist *headers = NULL, *longer;

	for (line = copy ? strtok_r(copy, "\r\n", &rest) : NULL; line;
	     line = strtok_r(NULL, "\r\n", &rest)) {
		if (line[0] == '#' || !strchr(line, ':'))
			continue;
		longer = http->curl.slist_append(headers, line);
		headers = longer ? longer : headers;
	}
	free(copy);
	return headers;
}

static void set_options(struct wtl_client *http, struct curl_slist *headers)
{
	const struct wtl_client_options *options = &http->options;
	const struct wtl_client_request *request = http->request;
	const struct library *curl = &http->curl;

	curl->easy_setopt(http->easy, CURLOPT_URL, request->url);
	curl->easy_setopt(http->easy, CURLOPT_HTTPHEADER, headers);
	if (request->body) {
		curl->easy_setopt(http->easy, CURLOPT_POSTFIELDS, wtl_buf_str(request->body));
		curl->easy_setopt(http->easy, CURLOPT_POSTFIELDSIZE, (long)request->body->len);
	} else {
		curl->easy_setopt(http->easy, CURLOPT_HTTPGET, 1L);
	}
	curl->easy_setopt(http->easy, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_MS);
	curl->easy_setopt(http->easy, CURLOPT_TIMEOUT_MS, (long)ANSWER_MS);
	curl->easy_setopt(http->easy, CURLOPT_NOPROGRESS, 0L);
	curl->easy_setopt(http->easy, CURLOPT_XFERINFOFUNCTION, ask_whether_to_give_up);
	curl->easy_setopt(http->easy, CURLOPT_XFERINFODATA, options);
	curl->easy_setopt(http->easy, CURLOPT_NOSIGNAL, 1L);
	curl->easy_setopt(http->easy, CURLOPT_USERAGENT, "wattle/" WATTLE_VERSION);
	curl->easy_setopt(http->easy, CURLOPT_WRITEFUNCTION, take_body);
	curl->easy_setopt(http->easy, CURLOPT_WRITEDATA, http);
	curl->easy_setopt(http->easy, CURLOPT_HEADERFUNCTION, take_header);
	curl->easy_setopt(http->easy, CURLOPT_HEADERDATA, http);
	if (options->ca)
		curl->easy_setopt(http->easy, CURLOPT_CAINFO, options->ca);
	if (options->certificate)
		curl->easy_setopt(http->easy, CURLOPT_SSLCERT, options->certificate);
}

void wtl_client_send(struct wtl_client *http, const struct wtl_client_request *request,
		     struct wtl_buf *body, struct wtl_client_answer *ret_answer)
{
	struct curl_slist *headers = list_headers(http, request->headers);
	const char *trouble;
	curl_off_t retry_s = 0;
	long connects = 0;
	CURLcode rc;

	*ret_answer = (struct wtl_client_answer){.code = 0};
	wtl_buf_clear(body);
	http->request = request;
	http->body = body;
	http->answer = ret_answer;
	set_options(http, headers);
	rc = http->curl.easy_perform(http->easy);
	http->curl.easy_getinfo(http->easy, CURLINFO_RESPONSE_CODE, &ret_answer->code);
	http->curl.easy_getinfo(http->easy, CURLINFO_NUM_CONNECTS, &connects);
	http->curl.easy_getinfo(http->easy, CURLINFO_RETRY_AFTER, &retry_s);
	http->curl.slist_free_all(headers);
	if (retry_s > 0)
		ret_answer->retry_after_ns =
			(retry_s < RETRY_MOST_S ? retry_s : RETRY_MOST_S) * WTL_NS_PER_S;
	ret_answer->is_new_connection = connects > 0;
	ret_answer->was_not_sent = rc == CURLE_COULDNT_CONNECT || rc == CURLE_COULDNT_RESOLVE_HOST;
	if (rc == CURLE_OK)
		return;
	ret_answer->code = 0;
	trouble = http->curl.easy_strerror(rc);
	wtl_text_clean(ret_answer->text, sizeof(ret_answer->text), trouble, strlen(trouble));
}

/* ---- URLs ---- */

/* Escapes all but what RFC 3986 calls unreserved. */
void wtl_client_escape(struct wtl_buf *url, const char *text)
{
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if ((c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
		    strchr("-._~", c))
			wtl_buf_putc(url, *text);
		else
			wtl_buf_printf(url, "%%%02X", c);
	}
}

bool wtl_client_is_url(const char *text)
{
	return wtl_text_starts(text, "http://") || wtl_text_starts(text, "https://");
}

void wtl_client_url_text(const char *url, char *text, size_t size)
{
	const char *scheme = strstr(url, "://"), *host = scheme ? scheme + 3 : url;
	size_t authority = strcspn(host, "/?#");
	const char *at = memrchr(host, '@', authority);
	int head = (int)(host - url);

	if (at)
		host = at + 1;
	snprintf(text, size, "%.*s%.*s", head, url, (int)strcspn(host, "?#"), host);
}
