/* SPDX-License-Identifier: MIT */
#ifndef WTL_SMI_ROW_H
#define WTL_SMI_ROW_H

#include <stddef.h>

#include "smi/field.h"

/* How rows of the tables of fields are written: name, what it is and where, its place in -q and -x, doc, and what
 * else there is. */

#define KIND(name)	       .kind = &wtl_smi_##name
#define MEMBER(type, member)   .offset = offsetof(type, member), .size = sizeof(((type *)0)->member)
#define TEXT_OF(how, member)   KIND(how), MEMBER(struct wtl_gpu, member)
#define TEXT(member)	       TEXT_OF(text, member)
#define METER(which, quantity) KIND(meter), .number = WTL_SMI_##which, .unit = (quantity)

#define FIELD(...)          \
	{                   \
		__VA_ARGS__ \
	}
#define ROW(t, how, at, about, ...) FIELD(.name = (t), how, at, .doc = (about), __VA_ARGS__)
#define COLUMN(t, how, about, ...)  FIELD(.name = (t), how, .doc = (about), __VA_ARGS__)
/* A column that is never known. */
#define NONE(t, ...) FIELD(.name = (t), KIND(none), __VA_ARGS__)

/* Places in -q and -x. */
#define AT(t, e) .title = (t), .element = (e)
#define XML(e)	 .element = (e)

#endif
