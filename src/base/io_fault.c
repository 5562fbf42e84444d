/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/io.h"
#include "base/io_fault.h"
#include "base/num.h"

static const char *const op_names[] = {
	[WTL_FAULT_OPEN] = "open", [WTL_FAULT_READ] = "read",	[WTL_FAULT_LINK] = "link",
	[WTL_FAULT_DIR] = "dir",   [WTL_FAULT_PERF] = "perf",	[WTL_FAULT_LIB] = "lib",
	[WTL_FAULT_CPU] = "cpu",   [WTL_FAULT_EXITS] = "exits", [WTL_FAULT_WRITE] = "write",
	[WTL_FAULT_ANY] = "any",
};

struct wtl_fault {
	enum wtl_fault_op op;
	uint64_t at; /* the call that fails, from 1 */
	int code;    /* negative */
	bool always;
	atomic_uint_fast64_t calls; /* of that op */
};

int wtl_fault_count(struct wtl_fault *fault, enum wtl_fault_op op)
{
	uint64_t call;

	if (fault->op != op && fault->op != WTL_FAULT_ANY)
		return 0;
	call = atomic_fetch_add(&fault->calls, 1) + 1;
	if (call == fault->at || (fault->always && call > fault->at))
		return fault->code;
	return 0;
}

/* The next part of "A:B:C", or false at its end. */
static bool part_next(const char **at, const char **ret_part, size_t *ret_len)
{
	if (!*at)
		return false;
	*ret_part = *at;
	*ret_len = strcspn(*at, ":");
	*at = (*at)[*ret_len] ? *at + *ret_len + 1 : NULL;
	return true;
}

static int op_parse(const char *name, size_t len, enum wtl_fault_op *ret)
{
	for (size_t i = 0; i < sizeof(op_names) / sizeof(op_names[0]); i++) {
		if (strlen(op_names[i]) != len || memcmp(op_names[i], name, len) != 0)
			continue;
		*ret = (enum wtl_fault_op)i;
		return 0;
	}
	return -EINVAL;
}

static int spec_parse(struct wtl_fault *fault, const char *spec, struct wtl_err *err)
{
	const char *at = spec, *part = "";
	size_t len = 0;
	bool more;

	part_next(&at, &part, &len);
	if (op_parse(part, len, &fault->op) < 0)
		return wtl_err_set(err, EINVAL, "fault", NULL,
				   "\"%.40s\": OP:N[:ERRNO][:always] needs an OP of open, read, "
				   "link, dir, perf, lib, cpu, exits, write or any",
				   spec);
	if (!part_next(&at, &part, &len) || wtl_num_u64(part, len, &fault->at) < 0 ||
	    fault->at == 0)
		return wtl_err_set(err, EINVAL, "fault", NULL,
				   "\"%.40s\": OP:N[:ERRNO][:always] needs an N of 1 or more",
				   spec);
	fault->code = -EIO;
	more = part_next(&at, &part, &len);
	if (more && wtl_err_from_name(part, len)) {
		fault->code = -wtl_err_from_name(part, len);
		more = part_next(&at, &part, &len);
	}
	if (more && len == strlen("always") && memcmp(part, "always", len) == 0) {
		fault->always = true;
		more = part_next(&at, &part, &len);
	}
	if (more)
		return wtl_err_set(err, EINVAL, "fault", NULL,
				   "\"%.40s\": after OP:N come only the name of an error such as "
				   "EACCES, and always",
				   spec);
	return 0;
}

int wtl_io_fault_check(const char *spec, struct wtl_err *err)
{
	struct wtl_fault fault = {.at = 0};

	return spec_parse(&fault, spec, err);
}

int wtl_io_set_fault(struct wtl_io *io, const char *spec, struct wtl_err *err)
{
	struct wtl_fault *fault = calloc(1, sizeof(*fault));
	int rc = fault ? spec_parse(fault, spec, err)
		       : wtl_err_set(err, ENOMEM, "fault", NULL, "out of memory");

	if (rc < 0) {
		free(fault);
		return rc;
	}
	free(io->fault);
	io->fault = fault;
	return 0;
}
