/* SPDX-License-Identifier: MIT */
#ifndef WTL_PROFILE_JIT_H
#define WTL_PROFILE_JIT_H

#include "profile/module.h"

/*
 * Code that a program compiles while it runs (Node, Java, .NET, LuaJIT). It lies in memory of no file. Its functions'
 * names are in /tmp/perf-PID.map, which the program writes and perf reads too: lines of an address, a size (both
 * hexadecimal) and a name, the newest last.
 */

/*
 * Call while the process exists: in a container, /tmp and the PID in the file's name are the container's own, and
 * cannot be found afterwards.
 */
void wtl_jit_open(struct wtl_module *module);
/* Reads the symbols in the map file of the module's process, if there is one. */
void wtl_jit_read(struct wtl_module *module);
/* Parses the text module->map. Malformed lines are skipped. */
void wtl_jit_parse(struct wtl_module *module);

#endif
