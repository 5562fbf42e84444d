/* SPDX-License-Identifier: MIT */
/* Times on a page: by the clock and in the time zone of this machine. */
#include <time.h>

#include "base/buf.h"
#include "energy/units.h"
#include "text/layout.h"
#include "text/recording_text.h"

static bool local_time(int64_t t_utc_ns, struct tm *ret_tm)
{
	time_t seconds = (time_t)(t_utc_ns / WTL_NS_PER_S);

	return localtime_r(&seconds, ret_tm) != NULL;
}

static int put_day(struct wtl_buf *buf, int64_t t_utc_ns)
{
	struct tm tm;

	if (!local_time(t_utc_ns, &tm))
		return wtl_buf_putc(buf, '-');
	return wtl_buf_printf(buf, "%04d-%02d-%02d", tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday);
}

int wtl_report_text_local_clock(struct wtl_buf *buf, int64_t t_utc_ns)
{
	struct tm tm;

	if (!local_time(t_utc_ns, &tm))
		return wtl_buf_putc(buf, '-');
	return wtl_buf_printf(buf, "%02d:%02d:%02d", tm.tm_hour, tm.tm_min, tm.tm_sec);
}

int wtl_report_text_local(struct wtl_buf *buf, int64_t t_utc_ns)
{
	put_day(buf, t_utc_ns);
	wtl_buf_putc(buf, ' ');
	return wtl_report_text_local_clock(buf, t_utc_ns);
}

int wtl_report_text_local_minute(struct wtl_buf *buf, int64_t t_utc_ns)
{
	size_t start;

	put_day(buf, t_utc_ns);
	wtl_buf_putc(buf, ' ');
	start = buf->len;
	wtl_report_text_local_clock(buf, t_utc_ns);
	/* Without the seconds. */
	if (!buf->error && buf->len - start > 3)
		wtl_layout_truncate(buf, buf->len - 3);
	return buf->error;
}

int wtl_report_text_zone(struct wtl_buf *buf, int64_t t_utc_ns)
{
	struct tm tm;

	return wtl_buf_puts(buf, local_time(t_utc_ns, &tm) ? tm.tm_zone : "");
}

bool wtl_report_text_is_same_day(int64_t a_utc_ns, int64_t b_utc_ns)
{
	struct tm a, b;

	return local_time(a_utc_ns, &a) && local_time(b_utc_ns, &b) && a.tm_year == b.tm_year &&
	       a.tm_yday == b.tm_yday;
}
