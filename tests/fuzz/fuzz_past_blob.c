/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "energy/units.h"
#include "serve/past.h"
#include "serve/past_blob.h"

/*
 * The last day as another process tells it. The input is what somebody did to a sound one: three bytes of a place and one
 * of what stands there now, again and again; an odd rest cuts so much off its end.
 */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define UTC_NS (1795248000 * WTL_NS_PER_S)

static void check(int good)
{
	if (!good)
		abort();
}

static void look(struct wtl_past *past, int64_t t_s)
{
	struct wtl_live_domain domain = {.name = "package-0", .in_total = true, .has_power = true};
	struct wtl_live live = {.domains = &domain,
				.n_domains = 1,
				.interval_ns = WTL_NS_PER_S,
				.has_power = true,
				.begin_utc_ns = UTC_NS,
				.t_utc_ns = UTC_NS + t_s * WTL_NS_PER_S,
				.t_boot_ns = t_s * WTL_NS_PER_S};

	wtl_past_look(past, &live);
}

/* Whatever it says, it can be asked, and goes on. */
static void use(struct wtl_past *past)
{
	static struct wtl_past_window windows[WTL_PAST_WINDOWS];
	struct wtl_past_use *used = malloc(sizeof(*used));
	struct wtl_past_curve curve;

	check(used != NULL);
	for (int round = 0; round < 2; round++) {
		check(wtl_past_curve(past, UTC_NS - 3600 * WTL_NS_PER_S, UTC_NS + 60 * WTL_NS_PER_S,
				     &curve) == 0);
		for (size_t i = 0; i < curve.n * curve.n_columns; i++)
			check(isnan(curve.cells[i].mean) || isfinite(curve.cells[i].mean));
		free(curve.cells);
		wtl_past_use(past, 0, INT64_MAX / 2, used);
		check(wtl_past_windows(past, 0, INT64_MAX / 2, windows) <= WTL_PAST_WINDOWS);
		look(past, 70);
	}
	free(used);
}

static struct wtl_buf make_blob(void)
{
	static const char *const names[] = {"package-0"};
	struct wtl_past past;
	struct wtl_buf blob;

	check(wtl_past_init(&past, names, 1) == 0);
	for (int i = 1; i < 5; i++)
		look(&past, i);
	wtl_buf_init(&blob, WTL_PAST_BLOB_MAX);
	wtl_past_blob_write(&past, &blob);
	check(!blob.error);
	wtl_past_done(&past);
	return blob;
}

static size_t place(const uint8_t *data, const struct wtl_buf *blob)
{
	return (size_t)(data[0] << 16 | data[1] << 8 | data[2]) % blob->len;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct wtl_buf sound, blob;
	const uint8_t *at = data;
	struct wtl_past taken;
	size_t len;
	int rc;

	if (!sound.data) {
		sound = make_blob();
		blob = make_blob();
	}
	for (; size >= 4; at += 4, size -= 4)
		blob.data[place(at, &blob)] = (char)at[3];
	len = size > 0 ? (size_t)at[0] * (size > 1 ? at[1] : 1u) : 0;
	rc = wtl_past_blob_read(blob.data, len < blob.len ? blob.len - len : 0, &taken);
	check(rc == 0 || rc == -EPROTO || rc == -EPROTONOSUPPORT);
	if (rc == 0) {
		use(&taken);
		wtl_past_done(&taken);
	}
	for (; at > data; at -= 4)
		blob.data[place(at - 4, &blob)] = sound.data[place(at - 4, &blob)];
	return 0;
}
