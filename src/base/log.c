/* SPDX-License-Identifier: MIT */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

void wtl_log_line(const struct wtl_log *log, enum wtl_log_level level, const char *format, ...)
{
	char raw[513], line[513];
	va_list args;
	int len;

	if (!log || !log->line)
		return;
	va_start(args, format);
	len = vsnprintf(raw, sizeof(raw), format, args);
	va_end(args);
	if (len < 0)
		return;
	wtl_text_clean(line, sizeof(line), raw, strlen(raw));
	log->line(log->context, level, line);
}
