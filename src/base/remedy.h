/* SPDX-License-Identifier: MIT */
#ifndef WTL_BASE_REMEDY_H
#define WTL_BASE_REMEDY_H

/*
 * What gives wattle all the privileges it can use: perf's energy counters and the exit records of
 * processes, for one group alone. One setcap for both, because each replaces the one before; it comes last,
 * because chgrp removes capabilities. See docs/permissions.md.
 */
#define WTL_REMEDY_SETCAP                                \
	"sudo chgrp $(id -gn) " WTL_REMEDY_BINARY " && " \
	"sudo chmod 750 " WTL_REMEDY_BINARY " && "       \
	"sudo setcap cap_perfmon,cap_net_admin+ep " WTL_REMEDY_BINARY
/* The command, whose path the library does not know. */
#define WTL_REMEDY_BINARY "$(command -v wattle)"

#endif
