/* SPDX-License-Identifier: MIT */
#ifndef WTL_COMMANDS_TOP_FIELD_H
#define WTL_COMMANDS_TOP_FIELD_H

#include <stdbool.h>
#include <stddef.h>

#include "commands/top/view.h"
#include "document/field.h"

/* The fields of document/field.h in `wattle top`, with its powers and energies. */

/* A field's value. */
struct wtl_field_value {
	double number;	  /* in W, J, %, bytes or s */
	const char *text; /* of a text */
};

/* false: it is not known. */
bool wtl_field_get(const struct wtl_top_process *process, enum wtl_field field,
		   enum wtl_top_share share, struct wtl_field_value *ret_value);

/* The field that may have been meant by a misspelled word of that length; NULL: none is similar. */
const char *wtl_field_meant(const char *word, size_t len);

/* A process's title: its command, or its name without one. */
const char *wtl_process_title(const struct wtl_top_process *process);

/* The same, without the program's path unless with_path: "python3 /srv/train.py". */
const char *wtl_process_short_title(const struct wtl_top_process *process, bool with_path);

/* Is its CPU time known? Not if a container sees only that a process of the host uses its GPU. */
bool wtl_process_has_cpu(const struct wtl_top_process *process);

#endif
