/* SPDX-License-Identifier: MIT */
#include "commands/estimate/price.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/config.h"
#include "base/infile.h"
#include "base/io.h"
#include "cli/complain.h"
#include "cli/options.h"
#include "commands/estimate/chart.h"
#include "commands/estimate/host.h"
#include "commands/estimate/lists.h"
#include "commands/estimate/tell.h"
#include "neural/net_text.h"

#define HDF5 "\x89HDF\r\n\x1a\n" /* how HDF5 files begin */

enum { PICTURE_MAX = 64 << 20, HEAD = 4096 };

/* ---- Lists ---- */

static int list_devices(struct wtl_app *app, const struct wtl_estimate_options *options)
{
	struct wtl_devices devices = {0};
	int code = WTL_EXIT_FAILED;

	if (wtl_estimate_load_host(app, &devices) >= 0 &&
	    wtl_estimate_load_devices(app, options, &devices) == 0)
		code = wtl_estimate_tell(app, &wtl_estimate_devices_thing, &devices);
	wtl_devices_done(&devices);
	return code;
}

static bool is_file(const char *name)
{
	size_t len = strlen(name);

	return strchr(name, '/') || (len > 4 && strcmp(name + len - 4, ".txt") == 0);
}

static int tell_paper(struct wtl_app *app, const struct wtl_paper *paper, const char *name)
{
	if (!paper) {
		wtl_complain(app, "there is no paper '%s' (--paper list)", name);
		return WTL_EXIT_FAILED;
	}
	int code = wtl_estimate_tell(app, &wtl_estimate_paper_thing, paper);
	for (size_t i = 0; i < paper->n && code == WTL_EXIT_DONE; i++)
		if (paper->lines[i].kind == WTL_PAPER_ROW && !paper->lines[i].agrees)
			code = WTL_EXIT_FAILED;
	return code;
}

static int show_paper(struct wtl_app *app, const char *name)
{
	struct wtl_papers papers = {0};
	struct wtl_err err = {.code = 0};
	struct wtl_buf text = {0};
	int code = WTL_EXIT_FAILED, rc;

	if (is_file(name)) {
		rc = wtl_estimate_read_file(app, name, &text);
		if (rc == 0)
			rc = wtl_papers_parse(&papers, wtl_buf_str(&text), text.len, name, &err);
	} else {
		rc = wtl_papers_parse(&papers, wtl_neural_papers, strlen(wtl_neural_papers),
				      "papers.txt (built in)", &err);
	}
	if (err.code)
		wtl_complain_err(app, &err);
	else if (rc == 0 && strcmp(name, "list") == 0)
		code = wtl_estimate_tell(app, &wtl_estimate_papers_thing, &papers);
	else if (rc == 0)
		code = tell_paper(app,
				  !is_file(name) ? wtl_papers_find(&papers, name)
				  : papers.n	 ? papers.papers
						 : NULL,
				  name);
	wtl_buf_done(&text);
	wtl_papers_done(&papers);
	return code;
}

static int lint(struct wtl_app *app, const char *path)
{
	struct wtl_estimate_lint found = {.path = path};
	struct wtl_err err = {.code = 0};
	struct wtl_buf text;
	int code = WTL_EXIT_FAILED;
	int rc = wtl_estimate_read_file(app, path, &text);

	if (rc == 0)
		rc = wtl_lint_table(wtl_buf_str(&text), text.len, path, &found.lint, &err);
	if (err.code)
		wtl_complain_err(app, &err);
	if (rc == 0) {
		code = wtl_estimate_tell(app, &wtl_estimate_lint_thing, &found);
		if (found.lint.n > 0)
			code = WTL_EXIT_FAILED;
		wtl_lint_done(&found.lint);
	}
	wtl_buf_done(&text);
	return code;
}

int wtl_estimate_beside(struct wtl_app *app, const struct wtl_estimate_options *options)
{
	if (options->lists_devices)
		return list_devices(app, options);
	if (options->paper)
		return show_paper(app, options->paper);
	return options->lint ? lint(app, options->lint) : -1;
}

/* ---- A network ---- */

int wtl_estimate_check_options(struct wtl_app *app, const struct wtl_estimate_options *options)
{
	static const char *const of_prices[] = {
		"--as",	    "--steps", "--rates", "--memory",	      "--sram",	 "--precision",
		"--neuron", "--reuse", "--hops",  "--constant-input", "--rules", NULL};
	enum wtl_plot_format format;

	if (options->devices.n > 0)
		return 0;
	const char *used = wtl_option_first_used(app, of_prices);
	if (used)
		return wtl_complain(app,
				    "%s is about prices, which are a device's: --device NAME "
				    "(--list-devices)",
				    used);
	if (wtl_plot_is_picture(app->settings.output_path, &format))
		return wtl_complain(app,
				    "a picture shows energy, which is a device's: --device NAME "
				    "(--list-devices)");
	return 0;
}

int wtl_estimate_read_text(struct wtl_app *app, const char *path, struct wtl_network *ret)
{
	struct wtl_err err = {.code = 0};
	struct wtl_buf text;
	char head[HEAD];
	int fd = wtl_infile_open(path);

	if (fd < 0)
		return 0; /* the reader of ONNX complains */
	ssize_t n = read(fd, head, sizeof(head));
	close(fd);
	if (n >= (ssize_t)strlen(HDF5) && memcmp(head, HDF5, strlen(HDF5)) == 0) {
		wtl_complain(app,
			     "'%s' is HDF5, as files of NIR are: wattle.nir_to_text() in Python "
			     "makes a text of it",
			     path);
		return -WTL_EFORMAT;
	}
	if (n <= 0 || !wtl_net_text_is(head, (size_t)n))
		return 0;
	int rc = wtl_estimate_read_file(app, path, &text);
	if (rc == 0) {
		rc = wtl_net_text_read(wtl_buf_str(&text), text.len, path, ret, &err);
		if (rc < 0)
			wtl_complain_err(app, &err);
	}
	wtl_buf_done(&text);
	return rc < 0 ? rc : 1;
}

static int write_picture(struct wtl_app *app, const struct wtl_buf *picture)
{
	struct wtl_io *io;
	int rc = wtl_estimate_open_io(app, &io);

	if (rc < 0)
		return rc;
	rc = wtl_io_out_write(io, app->settings.output_path, picture->data, picture->len,
			      WTL_OUT_REPLACE);
	if (rc < 0)
		wtl_complain(app, "cannot write '%s': %s", app->settings.output_path,
			     wtl_err_text(rc));
	wtl_io_free(io);
	return rc;
}

static int draw(struct wtl_app *app, const struct wtl_estimate_energy *energy,
		enum wtl_plot_format format)
{
	const struct wtl_plot_paper paper = {.format = format, .scale = 2};
	struct wtl_err err = {.code = 0, .text = "built without pictures: cairo was missing"};
	struct wtl_plot_sheet sheet;
	struct wtl_buf picture;

	wtl_buf_init(&picture, PICTURE_MAX);
	wtl_plot_sheet_init(&sheet);
	int rc = wtl_estimate_chart(energy, &sheet, &err);
	if (rc == 0)
		rc = HAVE_CAIRO ? wtl_plot_draw(&sheet.figure, &paper, &picture, &err) : -ENOSYS;
	if (rc < 0)
		wtl_complain(app, "%s", err.text);
	else
		rc = write_picture(app, &picture);
	wtl_plot_sheet_done(&sheet);
	wtl_buf_done(&picture);
	return rc < 0 ? WTL_EXIT_FAILED : WTL_EXIT_DONE;
}

int wtl_estimate_prices(struct wtl_app *app, const struct wtl_estimate_options *options,
			struct wtl_network *network, const char *path)
{
	struct wtl_devices devices = {0};
	struct wtl_estimate_energy energy = {0};
	struct wtl_estimate_sweep sweep = options->sweep;
	enum wtl_plot_format format;
	int code = WTL_EXIT_FAILED;

	if (wtl_estimate_load_devices(app, options, &devices) == 0 &&
	    wtl_estimate_energy(app, options, &devices, &sweep, network, path, &energy) == 0)
		code = wtl_plot_is_picture(app->settings.output_path, &format)
			       ? draw(app, &energy, format)
			       : wtl_estimate_tell(app, &wtl_estimate_energy_thing, &energy);
	wtl_estimate_energy_done(&energy);
	wtl_devices_done(&devices);
	return code;
}
