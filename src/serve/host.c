/* SPDX-License-Identifier: MIT */
#include "serve/host.h"

#include <arpa/inet.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"

static bool is_address(const char *host, size_t len)
{
	bool is_six = len > 2 && host[0] == '[' && host[len - 1] == ']';
	struct in6_addr address;
	char text[64];

	if (len >= sizeof(text))
		return false;
	wtl_text_copy(text, is_six ? len - 1 : len + 1, host + is_six);
	return inet_pton(is_six ? AF_INET6 : AF_INET, text, &address) == 1;
}

/* The length of the name, up to the port or the end. */
static size_t name_length(const char *host)
{
	const char *bracket = host[0] == '[' ? strchr(host, ']') : NULL;

	return strcspn(bracket ? bracket : host, ":") + (bracket ? (size_t)(bracket - host) : 0);
}

static bool is_port(const char *text)
{
	return !text[0] || (text[0] == ':' && strspn(text + 1, "0123456789") == strlen(text + 1));
}

bool wtl_host_is_known(const char *host, const char *const *names)
{
	size_t len;

	if (!host)
		return true;
	len = name_length(host);
	if (!is_port(host + len))
		return false;
	if (is_address(host, len) || (len == 9 && strncasecmp(host, "localhost", 9) == 0))
		return true;
	for (size_t i = 0; names && names[i]; i++)
		if (strlen(names[i]) == len && strncasecmp(names[i], host, len) == 0)
			return true;
	return false;
}
