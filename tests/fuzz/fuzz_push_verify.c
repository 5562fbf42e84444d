/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "serve/push_verify.h"

/* What an engine answers to a query: the first byte says in which form it is asked. */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *said;
	int rc;

	if (size == 0)
		return 0;
	said = strndup((const char *)data + 1, size - 1);
	rc = said ? wtl_push_verify_answer(data[0] == 'i' ? WTL_PUSH_INFLUX : WTL_PUSH_REMOTE_WRITE,
					   said)
		  : 0;
	if (rc != 0 && rc != 1 && rc != -EPROTO)
		abort();
	free(said);
	return 0;
}
