/* SPDX-License-Identifier: MIT */
#ifndef WTL_IMPORT_JSON_H
#define WTL_IMPORT_JSON_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

/* What readers of JSON share. */

/* A number times scale, rounded, also from a list of one; false: it is none, or negative. */
bool wtl_json_scaled(const json_t *value, double scale, uint64_t *ret);

#endif
