/* SPDX-License-Identifier: MIT */
/* The text of --fault: any text is either refused with one line, or makes exactly such calls fail. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/io.h"
#include "memio.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wtl_err err = {.code = 0};
	struct memio memio;
	struct wtl_io *io;
	char *spec = malloc(size + 1);
	uint64_t value = 0;

	if (!spec)
		abort();
	memcpy(spec, data, size);
	spec[size] = '\0';
	memio_init(&memio);
	memio_puts(&memio, "/n", "42\n");
	if (wtl_io_fault_new(&memio.io, spec, &io, &err) < 0) {
		if (!err.text[0] || strchr(err.text, '\n'))
			abort();
	} else {
		for (int i = 0; i < 4; i++) {
			int rc = wtl_io_read_u64(io, "/n", &value);

			if (rc > 0 || (rc == 0 && value != 42))
				abort();
		}
		wtl_io_free(io);
	}
	memio_done(&memio);
	free(spec);
	return 0;
}
