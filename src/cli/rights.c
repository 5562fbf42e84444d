/* SPDX-License-Identifier: MIT */
#include "cli/rights.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/err.h"
#include "cli/command.h"

/* This thread's capabilities; zeros where a filter denies even this call. */
static bool sets_read(struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3])
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};

	memset(sets, 0, _LINUX_CAPABILITY_U32S_3 * sizeof(*sets));
	return syscall(SYS_capget, &header, sets) == 0;
}

bool wtl_rights_are_borrowed(void)
{
	struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3];

	/* AT_SECURE is not set for capabilities that the user has in every program. */
	if (geteuid() == 0 || !getauxval(AT_SECURE))
		return false;
	return !sets_read(sets) || sets[0].permitted || sets[1].permitted;
}

void wtl_rights_drop(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3];

	if (!wtl_rights_are_borrowed())
		return;
	sets_read(sets);
	/* Inheritable capabilities stay: the user has set them, for the command as well. Ambient ones go with these. */
	for (int i = 0; i < _LINUX_CAPABILITY_U32S_3; i++)
		sets[i].permitted = sets[i].effective = 0;
	if (syscall(SYS_capset, &header, sets) == 0)
		return;
	fprintf(stderr, "wattle: the capabilities of its file cannot be given up: %s\n",
		wtl_err_text(-errno));
	_exit(WTL_EXIT_FAILED);
}
