/* SPDX-License-Identifier: MIT */
#ifndef WTL_PROFILE_JIT_H
#define WTL_PROFILE_JIT_H

#include "profile/module.h"

/*
 * Code that a program makes while it runs (Node, Java, .NET, LuaJIT). It lies in memory of no file. Its functions are
 * called what the program itself writes to /tmp/perf-PID.map, as perf reads it too: lines of an address, a size (both
 * hexadecimal) and a name, the newest last.
 */

/*
 * While the process is there: a container's program writes it to a /tmp of its own, by a number of its own, and both are
 * gone with it.
 */
void wtl_jit_open(struct wtl_module *module);
/* Reads the map of the module's process, where there is one: its symbols. */
void wtl_jit_read(struct wtl_module *module);
/* The same of the text module->map. Lines that are none are passed over. */
void wtl_jit_parse(struct wtl_module *module);

#endif
