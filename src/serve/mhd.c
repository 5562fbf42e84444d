/* SPDX-License-Identifier: MIT */
#include "serve/mhd.h"

#include <dlfcn.h>
#include <stdbool.h>

#include "base/err.h"

#define LIBRARY "libmicrohttpd.so.12"

int wtl_mhd_load(struct wtl_mhd *ret_mhd, struct wtl_err *err)
{
	void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
	struct wtl_mhd mhd;
	const struct {
		const char *name;
		void *function;
	} wanted[] = {
#define WANTED(name) {"MHD_" #name, &mhd.name}
		WANTED(start_daemon),
		WANTED(stop_daemon),
		WANTED(quiesce_daemon),
		WANTED(create_response_from_buffer),
		WANTED(create_response_from_callback),
		WANTED(add_response_header),
		WANTED(queue_response),
		WANTED(destroy_response),
		WANTED(lookup_connection_value),
		WANTED(get_connection_values),
		WANTED(get_connection_info),
		WANTED(basic_auth_get_username_password),
		WANTED(free),
		WANTED(suspend_connection),
		WANTED(resume_connection),
#undef WANTED
	};

	if (!library)
		return wtl_err_set(err, WTL_EABSENT, "serve", NULL,
				   "the HTTP library " LIBRARY
				   " cannot be loaded: install it (Debian: libmicrohttpd12)");
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		void *function = dlsym(library, wanted[i].name);

		if (!function)
			return wtl_err_set(err, WTL_EABSENT, "serve", NULL,
					   LIBRARY " is too old: 0.9.75 or newer is needed");
		*(void **)wanted[i].function = function;
	}
	*ret_mhd = mhd;
	return 0;
}
