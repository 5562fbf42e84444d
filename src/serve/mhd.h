/* SPDX-License-Identifier: MIT */
#ifndef WTL_SERVE_MHD_H
#define WTL_SERVE_MHD_H

#include <microhttpd.h>

struct wtl_err;

/* libmicrohttpd, loaded when a server starts. It is the system's, with its security
 * updates, and costs other commands nothing (like SQLite: cli/late_libraries.c). */
struct wtl_mhd {
	__typeof__(&MHD_start_daemon) start_daemon;
	__typeof__(&MHD_stop_daemon) stop_daemon;
	__typeof__(&MHD_create_response_from_buffer) create_response_from_buffer;
	__typeof__(&MHD_create_response_from_callback) create_response_from_callback;
	__typeof__(&MHD_add_response_header) add_response_header;
	__typeof__(&MHD_queue_response) queue_response;
	__typeof__(&MHD_destroy_response) destroy_response;
	__typeof__(&MHD_lookup_connection_value) lookup_connection_value;
	__typeof__(&MHD_get_connection_info) get_connection_info;
	__typeof__(&MHD_get_connection_values) get_connection_values;
	__typeof__(&MHD_basic_auth_get_username_password) basic_auth_get_username_password;
	__typeof__(&MHD_quiesce_daemon) quiesce_daemon;
	__typeof__(&MHD_free) free;
	__typeof__(&MHD_suspend_connection) suspend_connection;
	__typeof__(&MHD_resume_connection) resume_connection;
};

/* 0, or negative with the reason. It is never unloaded. */
int wtl_mhd_load(struct wtl_mhd *ret_mhd, struct wtl_err *err);

#endif
