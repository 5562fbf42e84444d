/* SPDX-License-Identifier: MIT */
#ifndef WTL_BASE_LOG_H
#define WTL_BASE_LOG_H

enum wtl_log_level { WTL_LOG_WARNING, WTL_LOG_INFO, WTL_LOG_DEBUG };

/* Where the library's remarks go: a callback of the caller's, or nowhere. */
struct wtl_log {
	void (*line)(void *context, enum wtl_log_level level, const char *text);
	void *context;
};

/* One line without a newline; cut at 512 bytes, control characters replaced. log may be NULL. */
void wtl_log_line(const struct wtl_log *log, enum wtl_log_level level, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
