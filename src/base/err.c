/* SPDX-License-Identifier: MIT */
#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

struct error_word {
	int code;
	const char *name;
	const char *text;
};

/* Own words where the C library's depend on the locale or do not exist. */
static const struct error_word words[] = {
	{WTL_EABSENT, "WTL_EABSENT", "Not present on this machine"},
	{WTL_EFORMAT, "WTL_EFORMAT", "Content is not in the expected format"},
	{WTL_ELIBRARY, "WTL_ELIBRARY", "The library reported an error"},
	{WTL_ETAPE_END, "WTL_ETAPE_END", "End of the tape"},
	{WTL_EFROZEN, "WTL_EFROZEN", "the counter stands still"},
	{WTL_ENOCOUNTER, "WTL_ENOCOUNTER", "this GPU has no energy counter"},
	{WTL_ENOTFILE, "WTL_ENOTFILE", "Not a regular file"},
	{WTL_EOTHERS, "WTL_EOTHERS",
	 "another user has made it, in a folder that others can write to (choose another name)"},
	{EPERM, "EPERM", "Operation not permitted"},
	{ENOENT, "ENOENT", "No such file or directory"},
	{ESRCH, "ESRCH", "No such process"},
	{EINTR, "EINTR", "Interrupted system call"},
	{EIO, "EIO", "Input/output error"},
	{ENXIO, "ENXIO", "No such device or address"},
	{E2BIG, "E2BIG", "Argument list too long"},
	{ENOEXEC, "ENOEXEC", "Exec format error"},
	{EBADF, "EBADF", "Bad file descriptor"},
	{ECHILD, "ECHILD", "No child processes"},
	{EAGAIN, "EAGAIN", "Resource temporarily unavailable"},
	{ENOMEM, "ENOMEM", "Cannot allocate memory"},
	{EACCES, "EACCES", "Permission denied"},
	{EFAULT, "EFAULT", "Bad address"},
	{EBUSY, "EBUSY", "Device or resource busy"},
	{EEXIST, "EEXIST", "File exists"},
	{EXDEV, "EXDEV", "Invalid cross-device link"},
	{ENODEV, "ENODEV", "No such device"},
	{ENOTDIR, "ENOTDIR", "Not a directory"},
	{EISDIR, "EISDIR", "Is a directory"},
	{EINVAL, "EINVAL", "Invalid argument"},
	{ENFILE, "ENFILE", "Too many open files in system"},
	{EMFILE, "EMFILE", "Too many open files"},
	{ENOTTY, "ENOTTY", "Inappropriate ioctl for device"},
	{ETXTBSY, "ETXTBSY", "Text file busy"},
	{EFBIG, "EFBIG", "File too large"},
	{ENOSPC, "ENOSPC", "No space left on device"},
	{ESPIPE, "ESPIPE", "Illegal seek"},
	{EROFS, "EROFS", "Read-only file system"},
	{EMLINK, "EMLINK", "Too many links"},
	{EPIPE, "EPIPE", "Broken pipe"},
	{EDOM, "EDOM", "Numerical argument out of domain"},
	{ERANGE, "ERANGE", "Numerical result out of range"},
	{ENAMETOOLONG, "ENAMETOOLONG", "File name too long"},
	{ENOSYS, "ENOSYS", "Function not implemented"},
	{ENOTEMPTY, "ENOTEMPTY", "Directory not empty"},
	{ELOOP, "ELOOP", "Too many levels of symbolic links"},
	{ENODATA, "ENODATA", "No data available"},
	{ETIME, "ETIME", "Timer expired"},
	{EPROTO, "EPROTO", "Protocol error"},
	{EBADMSG, "EBADMSG", "Bad message"},
	{EOVERFLOW, "EOVERFLOW", "Value too large for defined data type"},
	{EILSEQ, "EILSEQ", "Invalid or incomplete character"},
	{EUSERS, "EUSERS", "Too many users"},
	{EMSGSIZE, "EMSGSIZE", "Message too long"},
	{EPROTONOSUPPORT, "EPROTONOSUPPORT", "Protocol not supported"},
	{EOPNOTSUPP, "EOPNOTSUPP", "Operation not supported"},
	{EADDRINUSE, "EADDRINUSE", "Address already in use"},
	{EADDRNOTAVAIL, "EADDRNOTAVAIL", "Cannot assign requested address"},
	{ENETDOWN, "ENETDOWN", "Network is down"},
	{ENETUNREACH, "ENETUNREACH", "Network is unreachable"},
	{ECONNABORTED, "ECONNABORTED", "Software caused connection abort"},
	{ECONNRESET, "ECONNRESET", "Connection reset by peer"},
	{ENOBUFS, "ENOBUFS", "No buffer space available"},
	{ENOTCONN, "ENOTCONN", "Transport endpoint is not connected"},
	{ETIMEDOUT, "ETIMEDOUT", "Connection timed out"},
	{ECONNREFUSED, "ECONNREFUSED", "Connection refused"},
	{EALREADY, "EALREADY", "Operation already in progress"},
	{EINPROGRESS, "EINPROGRESS", "Operation now in progress"},
	{ESTALE, "ESTALE", "Stale file handle"},
	{EREMOTEIO, "EREMOTEIO", "Remote I/O error"},
	{EDQUOT, "EDQUOT", "Disk quota exceeded"},
	{ECANCELED, "ECANCELED", "Operation canceled"},
};

static const struct error_word *word_find(int code)
{
	/* Compared as is, then turned: -INT_MIN does not exist. */
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (code == words[i].code || code == -words[i].code)
			return &words[i];
	return NULL;
}

int wtl_err_set(struct wtl_err *err, int code, const char *source, const char *path,
		const char *format, ...)
{
	char line[sizeof(err->text)];
	va_list args;

	if (code > 0)
		code = -code;
	if (!err)
		return code;

	va_start(args, format);
	if (vsnprintf(line, sizeof(line), format, args) < 0)
		line[0] = '\0';
	va_end(args);

	/* The old path may be the new one's source. */
	char where[sizeof(err->path)];

	wtl_text_clean(where, sizeof(where), path ? path : "", path ? strlen(path) : 0);
	err->code = code;
	wtl_text_copy(err->source, sizeof(err->source), source);
	wtl_text_copy(err->path, sizeof(err->path), where);
	wtl_text_clean(err->text, sizeof(err->text), line, strlen(line));
	return code;
}

const char *wtl_err_text(int code)
{
	const struct error_word *word = word_find(code);

	if (code == 0)
		return "Success";
	return word ? word->text : "Unknown error";
}

const char *wtl_err_name(int code)
{
	const struct error_word *word = word_find(code);

	return word ? word->name : NULL;
}

int wtl_err_from_name(const char *name, unsigned long len)
{
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strlen(words[i].name) == len && memcmp(words[i].name, name, len) == 0)
			return words[i].code;
	return 0;
}
