/* SPDX-License-Identifier: MIT */
#include "document/writer.h"

#include <string.h>

#include "base/buf.h"

const struct wtl_writer wtl_writer_text = {.name = "text", .doc = "for people"};

/* A page in Markdown, for README files and issues: for things whose text() heeds style->markdown. */
const struct wtl_writer wtl_writer_markdown = {.name = "markdown",
					       .doc = "for README files and issues"};

const struct wtl_writer *const wtl_writers[] = {
	&wtl_writer_text, &wtl_writer_json,	&wtl_writer_ndjson,
	&wtl_writer_csv,  &wtl_writer_markdown, NULL,
};

const char *const wtl_writer_names[] = {"text", "json", "ndjson", "csv", NULL};
const char *const wtl_writer_names_all[] = {"text", "json", "ndjson", "csv", "markdown", NULL};
const char *const wtl_writer_row_names[] = {"csv", "json", "ndjson", NULL};

const struct wtl_writer *wtl_writer_find(const char *name)
{
	size_t i = 0;

	while (wtl_writers[i] && strcmp(wtl_writers[i]->name, name) != 0)
		i++;
	return wtl_writers[i];
}

int wtl_thing_write(struct wtl_buf *buf, const struct wtl_thing *thing, const void *what,
		    const struct wtl_writer *writer, const struct wtl_output_style *style)
{
	int rc = thing->check ? thing->check(what) : 0;
	struct wtl_output_style page = *style;
	struct wtl_doc doc;

	if (rc < 0)
		return rc;
	if (!writer->document) {
		page.markdown = writer == &wtl_writer_markdown;
		wtl_buf_puts(buf, thing->is_page && style->append ? "\n" : "");
		return thing->text(buf, what, &page);
	}
	wtl_doc_init(&doc);
	thing->build(&doc, what);
	rc = doc.error;
	if (rc == 0)
		rc = writer->document(buf, &doc, style);
	wtl_doc_done(&doc);
	return rc;
}
