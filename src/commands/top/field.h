/* SPDX-License-Identifier: MIT */
#ifndef WTL_COMMANDS_TOP_FIELD_H
#define WTL_COMMANDS_TOP_FIELD_H

#include <stdbool.h>
#include <stddef.h>

#include "commands/top/view.h"
#include "document/field.h"

/* What the fields of document/field.h are in `wattle top`: its powers and energies as well. */

/* A field's value. false: it is not known. */
struct wtl_field_value {
	double number;	  /* in W, J, %, bytes or s */
	const char *text; /* of a text */
};

bool wtl_field_get(const struct wtl_top_process *process, enum wtl_field field,
		   enum wtl_top_share share, struct wtl_field_value *ret_value);

/* The field that somebody may have meant by a word of that length; NULL: none is close. */
const char *wtl_field_meant(const char *word, size_t len);

/* What a process is called: its command, or its name where there is none. */
const char *wtl_process_title(const struct wtl_top_process *process);

/* The same, its program without the path unless that is wanted: "python3 /srv/train.py". */
const char *wtl_process_short_title(const struct wtl_top_process *process, bool with_path);

/* Whether its CPU time is known: of a process of the host that a container's GPU is used by it is not. */
bool wtl_process_has_cpu(const struct wtl_top_process *process);

#endif
