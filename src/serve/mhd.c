/* SPDX-License-Identifier: MIT */
#include "serve/mhd.h"

#include <dlfcn.h>
#include <stdbool.h>

#include "base/err.h"

#define LIBRARY "libmicrohttpd.so.12"

static bool find(void *library, const char *name, void *ret_function)
{
	*(void **)ret_function = dlsym(library, name);
	return *(void **)ret_function != NULL;
}

int wtl_mhd_load(struct wtl_mhd *ret_mhd, struct wtl_err *err)
{
	void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
	struct wtl_mhd mhd;

	if (!library)
		return wtl_err_set(err, WTL_EABSENT, "serve", NULL,
				   "the HTTP library " LIBRARY
				   " cannot be loaded: install it (Debian: libmicrohttpd12)");
#define FIND(name) find(library, "MHD_" #name, &mhd.name)
	if (!FIND(start_daemon) || !FIND(stop_daemon) || !FIND(create_response_from_buffer) ||
	    !FIND(create_response_from_callback) || !FIND(add_response_header) ||
	    !FIND(queue_response) || !FIND(destroy_response) || !FIND(lookup_connection_value) ||
	    !FIND(get_connection_info) || !FIND(suspend_connection) || !FIND(resume_connection))
		return wtl_err_set(err, WTL_EABSENT, "serve", NULL,
				   LIBRARY " is too old: 0.9.75 or newer is needed");
#undef FIND
	*ret_mhd = mhd;
	return 0;
}
