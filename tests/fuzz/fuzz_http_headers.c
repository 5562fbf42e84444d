/* SPDX-License-Identifier: MIT */
/* Headers of a request that an agent reads itself: a line for Host, and one for Accept and Accept-Encoding. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "serve/accept.h"
#include "serve/host.h"
#include "serve/metrics.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int good)
{
	if (!good)
		abort();
}

/* Nothing but digits may stand behind a name: no other name that ends or begins in one. */
static void check_host(const char *host)
{
	static const char *const names[] = {"known.example", NULL};
	static const char *const only = "0123456789abcdefABCDEF.:[]localhstLOCALHSTknwexmpKNWEXMP";
	bool is_known = wtl_host_is_known(host, names);

	check(!is_known || (host[0] != '\0' && strspn(host, only) == strlen(host)));
	check(is_known || !wtl_host_is_known(host, NULL));
}

static void check_accept(const char *accept)
{
	check(wtl_accept_quality(accept, "gzip", NULL) <= 1000);
	check(wtl_accept_quality(accept, "application/openmetrics-text", "1.0.0") <= 1000);
	wtl_metrics_wants_open(accept);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = strndup((const char *)data, size), *line;

	check(text != NULL);
	line = strchr(text, '\n');
	if (line)
		*line++ = '\0';
	check_host(text);
	check_accept(line ? line : text);
	free(text);
	return 0;
}
