/* SPDX-License-Identifier: MIT */
#include "energy/reading.h"

#include <errno.h>

enum wattle_status wtl_status_from_error(int error)
{
	switch (error) {
	case 0:
		return WATTLE_STATUS_OK;
	case -EACCES:
	case -EPERM:
		return WATTLE_STATUS_DENIED;
	case -ENOENT:
	case -ENODEV:
	case -ENXIO:
		return WATTLE_STATUS_GONE;
	default:
		return WATTLE_STATUS_FAILED;
	}
}
