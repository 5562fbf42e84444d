/* SPDX-License-Identifier: MIT */
#include <cairo-pdf.h>
#include <cairo-svg.h>
#include <cairo.h>
#include <dlfcn.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/text.h"
#include "document/format.h"
#include "draw/parts.h"

/*
 * The pen that cairo moves. The library and some twenty others that it needs are loaded when the
 * first picture is drawn: linked in, they would cost every `wattle run` more than 1 ms and 2 MB
 * (measured). They stay loaded, because fontconfig and others keep things to the end of the program.
 */

#define SOURCE	"plot"
#define LIBRARY "libcairo.so.2"

#define CAIRO_FUNCTIONS(F)               \
	F(clip)                          \
	F(close_path)                    \
	F(create)                        \
	F(destroy)                       \
	F(fill)                          \
	F(font_options_create)           \
	F(font_options_destroy)          \
	F(font_options_set_hint_metrics) \
	F(font_options_set_hint_style)   \
	F(get_target)                    \
	F(image_surface_create)          \
	F(line_to)                       \
	F(move_to)                       \
	F(new_path)                      \
	F(paint)                         \
	F(pdf_surface_create_for_stream) \
	F(pdf_surface_set_metadata)      \
	F(rectangle)                     \
	F(reset_clip)                    \
	F(restore)                       \
	F(rotate)                        \
	F(save)                          \
	F(scale)                         \
	F(select_font_face)              \
	F(set_dash)                      \
	F(set_font_options)              \
	F(set_font_size)                 \
	F(set_line_cap)                  \
	F(set_line_join)                 \
	F(set_line_width)                \
	F(set_source_rgba)               \
	F(show_text)                     \
	F(status)                        \
	F(stroke)                        \
	F(surface_destroy)               \
	F(surface_finish)                \
	F(surface_status)                \
	F(surface_write_to_png_stream)   \
	F(svg_surface_create_for_stream) \
	F(svg_surface_set_document_unit) \
	F(text_extents)                  \
	F(translate)

struct cairo {
#define FUNCTION(name) __typeof__(&cairo_##name) name;
	CAIRO_FUNCTIONS(FUNCTION);
#undef FUNCTION
};

struct pen {
	struct wtl_plot_pen pen; /* first */
	struct cairo cairo;
	cairo_t *cr;
	struct wtl_buf *words; /* texts of an SVG, written after the rest; else NULL */
};

static int load(struct cairo *cairo, struct wtl_err *err)
{
	static const char *const names[] = {
#define FUNCTION(name) "cairo_" #name,
		CAIRO_FUNCTIONS(FUNCTION)
#undef FUNCTION
	};
	void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL),
	     *functions[sizeof(names) / sizeof(names[0])];

	if (!library)
		return wtl_err_set(err, WTL_ELIBRARY, SOURCE, NULL,
				   "plots need " LIBRARY
				   ", which cannot be loaded (package libcairo2)");
	_Static_assert(sizeof(functions) == sizeof(*cairo), "as many as there are names");
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		functions[i] = dlsym(library, names[i]);
		if (!functions[i])
			return wtl_err_set(err, WTL_ELIBRARY, SOURCE, NULL, LIBRARY " has no %s()",
					   names[i]);
	}
	memcpy(cairo, functions, sizeof(*cairo));
	return 0;
}

static void set_color(struct pen *pen, uint32_t rgb, double alpha)
{
	pen->cairo.set_source_rgba(pen->cr, (rgb >> 16 & 0xff) / 255.0, (rgb >> 8 & 0xff) / 255.0,
				   (rgb & 0xff) / 255.0, alpha);
}

static void set_stroke(struct pen *pen, const struct wtl_plot_stroke *stroke)
{
	const double dashes[] = {stroke->dash, stroke->dash * 0.7};

	set_color(pen, stroke->rgb, stroke->alpha);
	pen->cairo.set_line_width(pen->cr, stroke->width);
	pen->cairo.set_dash(pen->cr, dashes, stroke->dash > 0 ? 2 : 0, 0);
}

/* More digits would only make a file longer. */
static double cut(double length)
{
	return round(length * 64) / 64;
}

static void trace(struct pen *pen, const struct wtl_plot_xy at[], size_t n)
{
	pen->cairo.new_path(pen->cr);
	for (size_t i = 0; i < n; i++)
		(i ? pen->cairo.line_to : pen->cairo.move_to)(pen->cr, cut(at[i].x), cut(at[i].y));
}

static void pen_line(struct wtl_plot_pen *base, const struct wtl_plot_xy at[], size_t n,
		     const struct wtl_plot_stroke *stroke)
{
	struct pen *pen = (struct pen *)base;

	set_stroke(pen, stroke);
	trace(pen, at, n);
	pen->cairo.stroke(pen->cr);
}

/* Parallel lines through a box, `slope` to the right for each step down. */
static void add_hatch(struct pen *pen, const struct wtl_plot_box *box, double slope, double spacing)
{
	double height = box->bottom - box->top, shift = fabs(slope) * height;
	double from = floor((box->left - shift) / spacing) * spacing;

	for (double x = from; x < box->right + shift; x += spacing) {
		pen->cairo.move_to(pen->cr, x, box->top);
		pen->cairo.line_to(pen->cr, x + slope * height, box->bottom);
	}
}

static void add_level_hatch(struct pen *pen, const struct wtl_plot_box *box, double spacing)
{
	for (double y = ceil(box->top / spacing) * spacing; y < box->bottom; y += spacing) {
		pen->cairo.move_to(pen->cr, box->left, y);
		pen->cairo.line_to(pen->cr, box->right, y);
	}
}

/* The area becomes the clip, so one path does for its colour and its hatch. */
static void fill_hatched(struct pen *pen, const struct wtl_plot_xy at[], size_t n,
			 const struct wtl_plot_fill *fill)
{
	struct wtl_plot_box box = {at[0].x, at[0].y, at[0].x, at[0].y};

	for (size_t i = 1; i < n; i++) {
		box.left = fmin(box.left, at[i].x);
		box.right = fmax(box.right, at[i].x);
		box.top = fmin(box.top, at[i].y);
		box.bottom = fmax(box.bottom, at[i].y);
	}
	pen->cairo.save(pen->cr);
	trace(pen, at, n);
	pen->cairo.close_path(pen->cr);
	pen->cairo.clip(pen->cr);
	set_color(pen, fill->rgb, fill->alpha);
	pen->cairo.paint(pen->cr);
	set_stroke(pen, &(struct wtl_plot_stroke){
				.rgb = fill->hatch_rgb, .alpha = 0.75 * fill->alpha, .width = 0.8});
	if (fill->hatch == WTL_HATCH_UP || fill->hatch == WTL_HATCH_CROSS)
		add_hatch(pen, &box, -1, 7);
	if (fill->hatch == WTL_HATCH_DOWN || fill->hatch == WTL_HATCH_CROSS)
		add_hatch(pen, &box, 1, 7);
	if (fill->hatch == WTL_HATCH_PLUMB || fill->hatch == WTL_HATCH_GRID)
		add_hatch(pen, &box, 0, 5);
	if (fill->hatch == WTL_HATCH_LEVEL || fill->hatch == WTL_HATCH_GRID)
		add_level_hatch(pen, &box, 5);
	pen->cairo.stroke(pen->cr);
	pen->cairo.restore(pen->cr);
}

static void pen_area(struct wtl_plot_pen *base, const struct wtl_plot_xy at[], size_t n,
		     const struct wtl_plot_fill *fill)
{
	struct pen *pen = (struct pen *)base;

	if (n < 3)
		return;
	if (fill->hatch != WTL_HATCH_NONE) {
		fill_hatched(pen, at, n, fill);
		return;
	}
	set_color(pen, fill->rgb, fill->alpha);
	trace(pen, at, n);
	pen->cairo.close_path(pen->cr);
	pen->cairo.fill(pen->cr);
}

static void set_font(struct pen *pen, const struct wtl_plot_lettering *lettering)
{
	pen->cairo.select_font_face(pen->cr, "sans-serif", CAIRO_FONT_SLANT_NORMAL,
				    lettering->bold ? CAIRO_FONT_WEIGHT_BOLD
						    : CAIRO_FONT_WEIGHT_NORMAL);
	pen->cairo.set_font_size(pen->cr, lettering->size);
}

static double pen_width(struct wtl_plot_pen *base, const struct wtl_plot_lettering *lettering,
			const char *text)
{
	struct pen *pen = (struct pen *)base;
	cairo_text_extents_t extents;

	set_font(pen, lettering);
	pen->cairo.text_extents(pen->cr, text, &extents);
	return extents.x_advance;
}

/* Tenths, whatever the locale's decimal point is. */
static void put_length(struct wtl_buf *buf, const char *name, double length)
{
	wtl_buf_printf(buf, " %s=\"", name);
	wtl_format_double(buf, length, 1);
	wtl_buf_putc(buf, '"');
}

/*
 * In an SVG of its own, cairo writes letters as outlines. As text they can be searched, copied and read aloud,
 * and the file is far smaller. textLength gives them the width that they have here, whatever the viewer's font.
 */
static void write_text(struct pen *pen, double x, double y,
		       const struct wtl_plot_lettering *lettering, const char *text)
{
	static const char *const anchors[] = {"start", "middle", "end"};
	struct wtl_buf *buf = pen->words;

	wtl_buf_puts(buf, "<text");
	put_length(buf, "x", x);
	put_length(buf, "y", y);
	put_length(buf, "textLength", pen_width(&pen->pen, lettering, text));
	wtl_buf_printf(buf, " font-size=\"%d\" fill=\"#%06x\"", (int)lettering->size,
		       (unsigned)lettering->rgb);
	if (lettering->bold)
		wtl_buf_puts(buf, " font-weight=\"bold\"");
	if (lettering->align != WTL_ALIGN_LEFT)
		wtl_buf_printf(buf, " text-anchor=\"%s\"", anchors[lettering->align]);
	if (lettering->upwards) {
		wtl_buf_puts(buf, " transform=\"rotate(-90 ");
		wtl_format_double(buf, x, 1);
		wtl_buf_putc(buf, ' ');
		wtl_format_double(buf, y, 1);
		wtl_buf_puts(buf, ")\"");
	}
	wtl_buf_puts(buf, ">");
	wtl_plot_escape(buf, text);
	wtl_buf_puts(buf, "</text>\n");
}

static void pen_text(struct wtl_plot_pen *base, double x, double y,
		     const struct wtl_plot_lettering *lettering, const char *text)
{
	struct pen *pen = (struct pen *)base;
	double part = lettering->align == WTL_ALIGN_LEFT     ? 0
		      : lettering->align == WTL_ALIGN_MIDDLE ? 0.5
							     : 1;
	double width = part > 0 ? pen_width(base, lettering, text) : 0;

	if (pen->words) {
		write_text(pen, x, y, lettering, text);
		return;
	}
	set_font(pen, lettering);
	set_color(pen, lettering->rgb, 1);
	pen->cairo.save(pen->cr);
	pen->cairo.translate(pen->cr, x, y);
	if (lettering->upwards)
		pen->cairo.rotate(pen->cr, -M_PI / 2);
	pen->cairo.move_to(pen->cr, -part * width, 0);
	pen->cairo.show_text(pen->cr, text);
	pen->cairo.restore(pen->cr);
}

static void pen_clip(struct wtl_plot_pen *base, const struct wtl_plot_box *box)
{
	struct pen *pen = (struct pen *)base;

	pen->cairo.reset_clip(pen->cr);
	if (!box)
		return;
	pen->cairo.rectangle(pen->cr, box->left, box->top, box->right - box->left,
			     box->bottom - box->top);
	pen->cairo.clip(pen->cr);
}

static const struct wtl_plot_pen_ops pen_ops = {
	.line = pen_line, .area = pen_area, .text = pen_text, .width = pen_width, .clip = pen_clip};

/* ---- The paper ---- */

static cairo_status_t take_bytes(void *buf, const unsigned char *bytes, unsigned len)
{
	return wtl_buf_add(buf, bytes, len) < 0 ? CAIRO_STATUS_WRITE_ERROR : CAIRO_STATUS_SUCCESS;
}

/* A PDF's points are 1/72 inch. */
static double unit_of(const struct wtl_plot_paper *paper)
{
	if (paper->format == WTL_PLOT_PDF)
		return 0.75;
	return paper->format == WTL_PLOT_PNG ? paper->scale : 1;
}

static cairo_surface_t *make_surface(struct pen *pen, const struct wtl_plot_paper *paper,
				     struct wtl_buf *buf)
{
	double width = paper->width * unit_of(paper), height = paper->height * unit_of(paper);
	cairo_surface_t *surface;

	if (paper->format == WTL_PLOT_PNG)
		return pen->cairo.image_surface_create(CAIRO_FORMAT_RGB24, (int)ceil(width),
						       (int)ceil(height));
	if (paper->format == WTL_PLOT_PDF)
		return pen->cairo.pdf_surface_create_for_stream(take_bytes, buf, width, height);
	surface = pen->cairo.svg_surface_create_for_stream(take_bytes, buf, width, height);
	pen->cairo.svg_surface_set_document_unit(surface, CAIRO_SVG_UNIT_PX);
	return surface;
}

/* Without hints, letters are as wide in every format and at every scale. */
static void set_defaults(struct pen *pen, const struct wtl_plot_paper *paper)
{
	cairo_font_options_t *options = pen->cairo.font_options_create();

	pen->cairo.font_options_set_hint_metrics(options, CAIRO_HINT_METRICS_OFF);
	pen->cairo.font_options_set_hint_style(options, CAIRO_HINT_STYLE_NONE);
	pen->cairo.set_font_options(pen->cr, options);
	pen->cairo.font_options_destroy(options);
	pen->cairo.set_line_join(pen->cr, CAIRO_LINE_JOIN_ROUND);
	pen->cairo.set_line_cap(pen->cr, CAIRO_LINE_CAP_BUTT);
	pen->cairo.scale(pen->cr, unit_of(paper), unit_of(paper));
}

/* "Power: make: 231 ± 12 J · mean 19.2 W" */
static void put_title(const struct wtl_plot_figure *figure, char ret_title[WTL_PLOT_TEXT_MAX])
{
	char text[WTL_PLOT_TEXT_MAX];

	snprintf(text, sizeof(text), "%.300s%s%.200s", figure->title ? figure->title : "",
		 figure->summary ? ": " : "", figure->summary ? figure->summary : "");
	wtl_text_clean(ret_title, WTL_PLOT_TEXT_MAX, text, strlen(text));
}

/* The time of the data, not of the drawing: the same data give the same file. */
static void set_metadata(struct pen *pen, cairo_surface_t *surface,
			 const struct wtl_plot_figure *figure)
{
	char title[WTL_PLOT_TEXT_MAX];
	struct wtl_buf time;

	put_title(figure, title);
	pen->cairo.pdf_surface_set_metadata(surface, CAIRO_PDF_METADATA_TITLE, title);
	pen->cairo.pdf_surface_set_metadata(surface, CAIRO_PDF_METADATA_CREATOR,
					    "wattle " WATTLE_VERSION);
	wtl_buf_init(&time, 64);
	wtl_format_utc(&time, figure->t_utc_ns);
	/* Without the parts of a second, which cairo does not know. */
	if (time.len > 20)
		memcpy(time.data + 19, "Z", 2);
	pen->cairo.pdf_surface_set_metadata(surface, CAIRO_PDF_METADATA_CREATE_DATE,
					    wtl_buf_str(&time));
	wtl_buf_done(&time);
}

static int code_of(cairo_status_t status)
{
	return status == CAIRO_STATUS_SUCCESS	  ? 0
	       : status == CAIRO_STATUS_NO_MEMORY ? -ENOMEM
						  : -EIO;
}

static int draw_on(struct pen *pen, cairo_surface_t *surface, const struct wtl_plot_figure *figure,
		   const struct wtl_plot_paper *paper, struct wtl_buf *buf)
{
	int rc;

	set_defaults(pen, paper);
	if (paper->format == WTL_PLOT_PDF)
		set_metadata(pen, surface, figure);
	rc = wtl_plot_figure_draw(figure, &pen->pen, paper->width, paper->height);
	if (rc == 0)
		rc = code_of(pen->cairo.status(pen->cr));
	if (rc == 0 && paper->format == WTL_PLOT_PNG)
		rc = code_of(pen->cairo.surface_write_to_png_stream(surface, take_bytes, buf));
	pen->cairo.surface_finish(surface);
	if (rc == 0)
		rc = code_of(pen->cairo.surface_status(surface));
	return buf->error ? buf->error : rc;
}

/* ---- An SVG with words ---- */

static int add_svg(struct wtl_buf *buf, const struct wtl_buf *svg, const struct wtl_buf *words,
		   const struct wtl_plot_figure *figure)
{
	static const char end[] = "</svg>";
	const char *text = wtl_buf_str(svg), *start = strstr(text, "<svg");
	const char *body = start ? strchr(start, '>') : NULL, *tail = NULL;
	char title[WTL_PLOT_TEXT_MAX];

	for (const char *at = body; at && (at = strstr(at, end)); at++)
		tail = at;
	if (!tail)
		return -EIO;
	body++;
	wtl_buf_add(buf, text, (size_t)(body - text));
	wtl_buf_puts(buf, "\n<title>");
	put_title(figure, title);
	wtl_plot_escape(buf, title);
	wtl_buf_puts(buf, "</title>");
	wtl_buf_add(buf, body, (size_t)(tail - body));
	wtl_buf_puts(buf, "<g id=\"words\" font-family=\"sans-serif\">\n");
	wtl_buf_add(buf, words->data, words->len);
	wtl_buf_puts(buf, "</g>\n");
	return words->error ? words->error : wtl_buf_puts(buf, tail);
}

static int draw(struct pen *pen, const struct wtl_plot_figure *figure,
		const struct wtl_plot_paper *paper, struct wtl_buf *buf)
{
	cairo_surface_t *surface = make_surface(pen, paper, buf);
	int rc;

	pen->cr = pen->cairo.create(surface);
	rc = draw_on(pen, surface, figure, paper, buf);
	pen->cairo.destroy(pen->cr);
	pen->cairo.surface_destroy(surface);
	return rc;
}

int wtl_plot_draw(const struct wtl_plot_figure *figure, const struct wtl_plot_paper *paper,
		  struct wtl_buf *buf, struct wtl_err *err)
{
	struct wtl_plot_paper real = *paper;
	struct pen pen = {.pen = {.ops = &pen_ops}};
	struct wtl_buf file, words;
	int rc;

	real.width = real.width > 0 ? real.width : WTL_PLOT_WIDTH;
	real.height = real.height > 0 ? real.height : wtl_plot_figure_height(figure);
	real.scale = real.format == WTL_PLOT_PNG && real.scale > 0 ? real.scale : 1;
	rc = wtl_plot_check(figure, &real, err);
	if (rc == 0)
		rc = load(&pen.cairo, err);
	if (rc < 0)
		return rc;
	wtl_buf_init(&file, buf->max);
	wtl_buf_init(&words, buf->max);
	pen.words = real.format == WTL_PLOT_SVG ? &words : NULL;
	rc = draw(&pen, figure, &real, &file);
	if (rc == 0)
		rc = pen.words ? add_svg(buf, &file, &words, figure)
			       : wtl_buf_add(buf, file.data, file.len);
	wtl_buf_done(&file);
	wtl_buf_done(&words);
	return rc < 0 ? wtl_err_set(err, rc, SOURCE, NULL, "it cannot be drawn: %s",
				    wtl_err_text(rc))
		      : 0;
}
