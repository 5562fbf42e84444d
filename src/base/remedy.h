/* SPDX-License-Identifier: MIT */
#ifndef WTL_BASE_REMEDY_H
#define WTL_BASE_REMEDY_H

/*
 * What gives wattle all the privileges it can use: perf's energy counters and the exit records of
 * processes. One line for both, because each setcap replaces the one before. See docs/permissions.md.
 */
#define WTL_REMEDY_SETCAP "sudo setcap cap_perfmon,cap_net_admin+ep " WTL_REMEDY_BINARY
/* The command, whose path the library does not know. */
#define WTL_REMEDY_BINARY "$(command -v wattle)"

#endif
