/* SPDX-License-Identifier: MIT */
/* /proc/PID/fdinfo of DRM devices. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "unit.h"

#include "gpu/drm.h"
#include "pass_io.h"
#include "source_bench.h"

#define SECOND INT64_C(1000000000)

static bool parse(const char *text, struct wtl_drm_fdinfo *info)
{
	return wtl_drm_fdinfo_parse(text, strlen(text), info);
}

static void amdgpu_fdinfo(void **state)
{
	struct wtl_drm_fdinfo info;

	(void)state;
	assert_true(parse("pos:\t0\nflags:\t02100002\ndrm-driver:\tamdgpu\ndrm-client-id:\t16\n"
			  "drm-pdev:\t0000:c1:00.0\npasid:\t32776\ndrm-memory-vram:\t64 MiB\n"
			  "drm-memory-gtt: \t23316 KiB\ndrm-engine-gfx:\t9000 ns\n"
			  "drm-engine-compute:\t30 ns\ndrm-engine-enc_1:\t7 ns\n"
			  "drm-engine-capacity-compute:\t4\n",
			  &info));
	assert_string_equal(info.pdev, "0000:c1:00.0");
	assert_int_equal(info.client, 16);
	assert_int_equal(info.memory_bytes, 64 << 20);
	assert_int_equal(info.n_engines, 3);
	assert_string_equal(info.engines[0].name, "gfx");
	assert_int_equal(info.engines[0].busy_ns, 9000);
	assert_int_equal(info.engines[1].capacity, 4);
	assert_false(info.engines[1].is_media);
	assert_true(info.engines[2].is_media);
}

static void xe_fdinfo(void **state)
{
	struct wtl_drm_fdinfo info;

	(void)state;
	assert_true(parse("drm-driver:\txe\ndrm-client-id:\t7\ndrm-pdev:\t0000:03:00.0\n"
			  "drm-total-system:\t0\ndrm-total-vram0:\t40 MiB\n"
			  "drm-resident-vram0:\t30 MiB\ndrm-resident-vram1:\t512\n"
			  "drm-cycles-rcs:\t28257900\ndrm-total-cycles-rcs:\t7655183225\n"
			  "drm-engine-capacity-vcs:\t2\ndrm-cycles-vcs:\t5\n"
			  "drm-total-cycles-vcs:\t7655183225",
			  &info));
	assert_int_equal(info.memory_bytes, (30 << 20) + 512);
	assert_int_equal(info.n_engines, 2);
	assert_int_equal(info.engines[0].cycles, 28257900);
	assert_int_equal(info.engines[0].total_cycles, 7655183225);
	assert_true(info.engines[1].is_media);
	assert_int_equal(info.engines[1].capacity, 2);
}

static void not_a_client(void **state)
{
	static const char *const texts[] = {
		"",
		"pos:\t0\nflags:\t02\n",
		"drm-pdev:\t0000:03:00.0\n",
		"drm-client-id:\t7\n",
		"drm-pdev:\t0000:03:00.0\ndrm-client-id:\tseven\n",
		"drm-pdev:\t\ndrm-client-id:\t7\n",
		"drm-pdev:\tan address that is far too long for this\ndrm-client-id:\t7\n",
	};
	struct wtl_drm_fdinfo info;

	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(texts); i++)
		assert_false(parse(texts[i], &info));
}

/* What does not make sense is left out, and the rest stays. */
static void hostile_fdinfo(void **state)
{
	char text[2048] = "drm-pdev:\t0000:03:00.0\ndrm-client-id:\t1\n";
	struct wtl_drm_fdinfo info;
	size_t len = strlen(text);

	(void)state;
	for (int i = 0; i < 20; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "drm-engine-e%d:\t%d ns\n",
					i, i);
	assert_true(parse(text, &info));
	assert_int_equal(info.n_engines, WTL_DRM_ENGINES_MAX);
	assert_int_equal(info.memory_bytes, UINT64_MAX);

	assert_true(parse("drm-pdev:\t0000:03:00.0\ndrm-client-id:\t1\n"
			  "drm-engine-:\t5 ns\ndrm-engine-gfx:\t5 ms\ndrm-engine-dma:\t-5 ns\n"
			  "drm-engine-a-name-without-end:\t5 ns\ndrm-engine-x:\t\n"
			  "drm-engine-capacity-y:\t0\ndrm-engine-capacity-z:\t99999\n"
			  "drm-memory-vram:\t5 GiB\ndrm-resident-vram0:\t"
			  "18446744073709551615 KiB\nno colon\n:\n",
			  &info));
	assert_int_equal(info.n_engines, 0);
	assert_int_equal(info.memory_bytes, UINT64_MAX);

	/* A NUL or an escape code in a name. */
	assert_true(wtl_drm_fdinfo_parse("drm-pdev:\t0\ndrm-client-id:\t1\ndrm-engine-\0x:\t5 ns\n"
					 "drm-engine-\033[2J:\t5 ns\n",
					 71, &info));
	assert_int_equal(info.n_engines, 0);
}

static void busy_by_time_and_cycles(void **state)
{
	struct wtl_drm_fdinfo before = {.n_engines = 3}, now;
	uint64_t render, media;

	(void)state;
	before.engines[0] = (struct wtl_drm_engine){.name = "gfx", .busy_ns = 100, .capacity = 1};
	before.engines[1] = (struct wtl_drm_engine){
		.name = "rcs", .cycles = 1000, .total_cycles = 10000, .capacity = 1};
	before.engines[2] = (struct wtl_drm_engine){
		.name = "enc", .is_media = true, .busy_ns = 5, .capacity = 1};
	now = before;
	now.engines[0].busy_ns = 400;
	now.engines[1].cycles = 1500;
	now.engines[1].total_cycles = 12000;
	now.engines[2].busy_ns = 25;
	wtl_drm_busy(&before, &now, 1000, &render, &media);
	assert_int_equal(render, 300 + 250);
	assert_int_equal(media, 20);

	/* Not more than it could have done, and nothing where a count went back. */
	now.engines[0].busy_ns = 100000;
	now.engines[1].cycles = 900;
	wtl_drm_busy(&before, &now, 1000, &render, &media);
	assert_int_equal(render, 1000);
	now.engines[0].busy_ns = 99;
	now.engines[1].total_cycles = 9000;
	wtl_drm_busy(&before, &now, 1000, &render, &media);
	assert_int_equal(render, 0);
	wtl_drm_busy(&before, &now, 0, &render, &media);
	assert_int_equal(media, 0);

	/* An engine that was not there before has no difference. */
	before.n_engines = 2;
	wtl_drm_busy(&before, &now, 1000, &render, &media);
	assert_int_equal(media, 0);
}

/* ---- Looking at processes ---- */

static void put(struct bench *bench, int pid, int fd, const char *pdev, int client,
		unsigned long long ns)
{
	char path[64], text[256];

	snprintf(path, sizeof(path), "/proc/%d/fdinfo/%d", pid, fd);
	snprintf(text, sizeof(text),
		 "drm-pdev:\t%s\ndrm-client-id:\t%d\ndrm-engine-gfx:\t%llu ns\n"
		 "drm-memory-vram:\t1024 KiB\n",
		 pdev, client, ns);
	bench_write(bench, path, text);
}

static void open_fd(struct bench *bench, int pid, int fd)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", pid, fd);
	bench_link(bench, path, "/dev/dri/card0");
}

static void clients_count_once(void **state)
{
	struct bench bench;
	struct wtl_drm_scan *scan;
	const struct wtl_drm_use *uses;
	size_t n;

	(void)state;
	bench_copy(&bench, "");
	/* Process 10 has a client by two descriptors; 11 inherited it, and has one of its own. */
	open_fd(&bench, 10, 3);
	open_fd(&bench, 10, 4);
	open_fd(&bench, 11, 3);
	open_fd(&bench, 11, 5);
	bench_link(&bench, "/proc/11/fd/6", "/dev/null");
	put(&bench, 10, 3, "0000:03:00.0", 1, 0);
	put(&bench, 10, 4, "0000:03:00.0", 1, 0);
	put(&bench, 11, 3, "0000:03:00.0", 1, 0);
	put(&bench, 11, 5, "0000:03:00.0", 2, 0);
	scan = wtl_drm_scan_new(&bench.io);
	uses = wtl_drm_scan_read(scan, SECOND, &n);
	assert_int_equal(n, 2);
	assert_int_equal(uses[0].interval_ns, 0);

	put(&bench, 10, 3, "0000:03:00.0", 1, 300);
	put(&bench, 11, 5, "0000:03:00.0", 2, 500);
	uses = wtl_drm_scan_read(scan, 2 * SECOND, &n);
	assert_int_equal(n, 2);
	assert_int_equal(uses[0].pid, 10);
	assert_int_equal(uses[0].render_ns, 300);
	assert_int_equal(uses[0].memory_bytes, 1 << 20);
	assert_int_equal(uses[0].interval_ns, SECOND);
	assert_int_equal(uses[1].pid, 11);
	assert_int_equal(uses[1].render_ns, 500);

	/* 10 ends: 11 still holds its client, which is found again at once. */
	bench_remove(&bench, "/proc/10");
	put(&bench, 11, 3, "0000:03:00.0", 1, 700);
	wtl_drm_scan_read(scan, 3 * SECOND, &n);
	assert_int_equal(n, 1);
	put(&bench, 11, 3, "0000:03:00.0", 1, 900);
	uses = wtl_drm_scan_read(scan, 4 * SECOND, &n);
	assert_int_equal(n, 1);
	put(&bench, 11, 3, "0000:03:00.0", 1, 1000);
	uses = wtl_drm_scan_read(scan, 5 * SECOND, &n);
	assert_int_equal(n, 1);
	assert_int_equal(uses[0].render_ns, 100);
	assert_int_equal(uses[0].memory_bytes, 2 << 20);
	wtl_drm_scan_free(scan);
	bench_done(&bench);
}

/* A descriptor that was closed and opened again is another client, whose time begins anew. */
static void descriptors_change_hands(void **state)
{
	struct bench bench;
	struct wtl_drm_scan *scan;
	const struct wtl_drm_use *uses;
	size_t n;

	(void)state;
	bench_copy(&bench, "");
	open_fd(&bench, 10, 3);
	put(&bench, 10, 3, "0000:03:00.0", 1, 100);
	scan = wtl_drm_scan_new(&bench.io);
	wtl_drm_scan_read(scan, SECOND, &n);
	assert_int_equal(n, 1);
	put(&bench, 10, 3, "0000:03:00.0", 9, 900000);
	wtl_drm_scan_read(scan, 2 * SECOND, &n);
	assert_int_equal(n, 0);
	uses = wtl_drm_scan_read(scan, 3 * SECOND, &n);
	assert_int_equal(n, 1);
	assert_int_equal(uses[0].render_ns, 0);
	wtl_drm_scan_free(scan);
	bench_done(&bench);
}

/* Another user's process. */
static int hide_fds_of_11(struct wtl_io *io, const char *path, struct wtl_buf *names)
{
	return strcmp(path, "/proc/11/fd") == 0 ? -EACCES : pass_dir_read(io, path, names);
}

/* New processes are looked for every 4 s, not each time. */
static void looks_now_and_then(void **state)
{
	struct bench bench;
	struct wtl_drm_scan *scan;
	struct wtl_io_ops ops;
	unsigned opens;
	size_t n;

	(void)state;
	bench_copy(&bench, "");
	open_fd(&bench, 10, 3);
	put(&bench, 10, 3, "0000:03:00.0", 1, 100);
	bench_write(&bench, "/proc/11/comm", "other\n");
	ops = *bench.io.ops;
	ops.dir_read = hide_fds_of_11;
	bench.io.ops = &ops;
	scan = wtl_drm_scan_new(&bench.io);
	wtl_drm_scan_read(scan, SECOND, &n);
	assert_int_equal(wtl_drm_scan_hidden(scan), 1);
	open_fd(&bench, 12, 3);
	put(&bench, 12, 3, "0000:03:00.0", 2, 100);
	opens = bench.opens;
	wtl_drm_scan_read(scan, 2 * SECOND, &n);
	assert_int_equal(n, 1);
	assert_int_equal(bench.opens - opens, 1);
	wtl_drm_scan_read(scan, 5 * SECOND, &n);
	assert_int_equal(n, 2);
	wtl_drm_scan_free(scan);
	wtl_drm_scan_free(NULL);
	bench_done(&bench);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(amdgpu_fdinfo),
		cmocka_unit_test(xe_fdinfo),
		cmocka_unit_test(not_a_client),
		cmocka_unit_test(hostile_fdinfo),
		cmocka_unit_test(busy_by_time_and_cycles),
		cmocka_unit_test(clients_count_once),
		cmocka_unit_test(descriptors_change_hands),
		cmocka_unit_test(looks_now_and_then),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
