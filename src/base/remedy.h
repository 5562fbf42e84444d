/* SPDX-License-Identifier: MIT */
#ifndef WTL_BASE_REMEDY_H
#define WTL_BASE_REMEDY_H

/*
 * What gives wattle all the privileges it can use: perf's energy counters and the exit records of
 * processes, for one group alone. One setcap for both, because each replaces the one before; it comes last,
 * because chgrp removes capabilities. See docs/permissions.md.
 */
#define WTL_REMEDY_SETCAP                                                             \
	"w=" WTL_REMEDY_BINARY " && sudo chgrp $(id -gn) $w && sudo chmod 750 $w && " \
	"sudo setcap cap_perfmon,cap_net_admin+ep $w"
/* The command, whose path the library does not know. setcap takes no symbolic link. */
#define WTL_REMEDY_BINARY "$(readlink -f $(command -v wattle))"

#endif
