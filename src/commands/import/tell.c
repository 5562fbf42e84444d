/* SPDX-License-Identifier: MIT */
#include "base/buf.h"
#include "cli/complain.h"
#include "cli/when.h"
#include "commands/import/import.h"
#include "document/format.h"
#include "import/import.h"

int64_t wtl_import_local_utc_ns(void *context, int64_t t_local_ns, bool is_second)
{
	(void)context;
	return wtl_when_local_utc_ns(t_local_ns, is_second);
}

static void tell_back(struct wtl_app *app, const struct wtl_import *import, const char *path)
{
	struct wtl_buf first;

	wtl_buf_init(&first, 64);
	wtl_format_utc(&first, import->back_ns);
	wtl_remark(app,
		   "%s: %zu value%s left out, whose time is not after that of the one before; the "
		   "first is of %s",
		   path, import->n_back, import->n_back == 1 ? " was" : "s were",
		   wtl_buf_str(&first));
	wtl_buf_done(&first);
}

void wtl_import_tell_bad(struct wtl_app *app, const struct wtl_import *import, const char *path)
{
	for (size_t i = 0; i < import->n_bad && i < WTL_IMPORT_BAD_KEPT; i++) {
		const struct wtl_import_bad *bad = &import->bad[i];

		if (bad->line)
			wtl_remark(app, "%s:%zu: %s", path, bad->line, bad->text);
		else
			wtl_remark(app, "%s: %s", path, bad->text);
	}
	if (import->n_absurd > 0)
		wtl_remark(app, "%s: %zu powers above 100 kW cannot be, and count as missing", path,
			   import->n_absurd);
	if (import->n_bad > 1)
		wtl_remark(app, "%s: %zu lines could not be read in full", path, import->n_bad);
	if (import->n_back > 0)
		tell_back(app, import, path);
	if (import->n_missing > 0)
		wtl_remark(app, "%s: %zu values are missing in it", path, import->n_missing);
	for (size_t i = 0; i < import->n_remarks; i++)
		wtl_remark(app, "%s: %s", path, import->remarks[i]);
}
