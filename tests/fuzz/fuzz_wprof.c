/* SPDX-License-Identifier: MIT */
/* A profile from a stranger: it is refused, or every format can be written of it, and it comes back as it was. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "commands/profile/format.h"
#include "commands/profile/saved.h"
#include "record/crc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { FILE_MAX = 64 << 20 };

static void check(int good)
{
	if (!good)
		abort();
}

/* As a file of that version is: the content's length, its sum, not compressed. */
static void put_file(struct wtl_buf *file, unsigned version, const uint8_t *data, size_t size)
{
	uint32_t numbers[2] = {(uint32_t)size};

	numbers[1] = wtl_crc_add(0, data, size);
	wtl_buf_printf(file, "wattle profile %u\n", version);
	wtl_buf_add(file, numbers, sizeof(numbers));
	wtl_buf_putc(file, '\0');
	wtl_buf_add(file, data, size);
	check(file->error == 0);
}

static void write_all(const struct wtl_profile *profile)
{
	static const struct wtl_profile_settings tree = {.least_percent = 1.0, .rows = 400},
						 table = {.is_table = true, .rows = 400};
	static const struct wtl_output_style style = {.ascii = true, .columns = 80};
	struct wtl_buf buf;

	wtl_buf_init(&buf, FILE_MAX);
	wtl_profile_text(&buf, profile, &tree, &style);
	wtl_profile_text(&buf, profile, &table, &style);
	for (size_t i = 0; wtl_profile_format_names[i]; i++) {
		const struct wtl_profile_format *format = wtl_profile_format_at(i);
		struct wtl_stacks stacks;

		wtl_buf_clear(&buf);
		if (!format->write)
			continue;
		if (wtl_stacks_make(&stacks, profile, format->has_lines) == 0) {
			format->write(&buf, &stacks);
			if (format->write_beside)
				format->write_beside(&buf, &stacks);
		}
		wtl_stacks_done(&stacks);
	}
	wtl_buf_done(&buf);
}

static void come_back(const struct wtl_profile *profile)
{
	struct wtl_saved again;
	struct wtl_buf file, twice;
	struct wtl_err err;

	wtl_buf_init(&file, FILE_MAX);
	wtl_buf_init(&twice, FILE_MAX);
	if (wtl_saved_write(&file, profile) == 0) {
		check(wtl_saved_read(&again, file.data, file.len, &err) == 0);
		check(wtl_saved_write(&twice, &again.profile) == 0);
		check(file.len == twice.len && memcmp(file.data, twice.data, file.len) == 0);
		wtl_saved_done(&again);
	}
	wtl_buf_done(&file);
	wtl_buf_done(&twice);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wtl_saved saved;
	struct wtl_buf file;
	struct wtl_err err;

	wtl_buf_init(&file, FILE_MAX);
	for (unsigned version = 1; version <= 3; version++) {
		wtl_buf_clear(&file);
		put_file(&file, version, data, size);
		if (wtl_saved_read(&saved, file.data, file.len, &err) == 0) {
			write_all(&saved.profile);
			come_back(&saved.profile);
		}
		wtl_saved_done(&saved);
	}
	check(wtl_saved_read(&saved, data, size, &err) < 0 || size > 25);
	wtl_saved_done(&saved);
	wtl_buf_done(&file);
	return 0;
}
