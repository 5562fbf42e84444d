/* SPDX-License-Identifier: MIT */
#include "smi/smi.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/text.h"
#include "smi/field.h"

static bool is_called(const char *name, const char *text, size_t len)
{
	return name && *name == *text && strlen(name) == len && memcmp(name, text, len) == 0;
}

const struct wtl_smi_field *wtl_smi_field_find(const struct wtl_smi_query *query, const char *name,
					       size_t len)
{
	for (const struct wtl_smi_field *field = query->fields; len > 0 && !wtl_smi_is_end(field);
	     field++)
		if (is_called(field->name, name, len) || is_called(field->alias, name, len))
			return field;
	return NULL;
}

void wtl_smi_offer(struct wtl_buf *buf, const struct wtl_smi_query *query)
{
	for (const struct wtl_smi_field *field = query->fields; !wtl_smi_is_end(field); field++)
		if (field->name && field->doc)
			wtl_buf_printf(buf, " %s", field->name);
}

int wtl_smi_columns_parse(const struct wtl_smi_query *query, const char *list,
			  struct wtl_smi_columns *ret_columns, const char **ret_bad,
			  size_t *ret_bad_len)
{
	struct wtl_smi_columns columns = {.query = query, .header = true, .units = true};

	for (;; list++) {
		size_t blanks = strspn(list, " "), len = strcspn(list, ",") - blanks;
		const struct wtl_smi_field *field;

		len = wtl_text_trimmed(list + blanks, len);
		field = wtl_smi_field_find(query, list + blanks, len);
		if (!field) {
			*ret_bad = list + blanks;
			*ret_bad_len = len;
			return -EINVAL;
		}
		if (columns.n == WTL_SMI_COLUMNS_MAX)
			return -E2BIG;
		columns.fields[columns.n++] = field;
		list += strcspn(list, ",");
		if (!*list)
			break;
	}
	*ret_columns = columns;
	return 0;
}

bool wtl_smi_columns_need_meter(const struct wtl_smi_columns *columns)
{
	for (size_t i = 0; i < columns->n; i++)
		if (columns->fields[i]->kind->of_meter)
			return true;
	return false;
}

int wtl_smi_header(struct wtl_buf *buf, const struct wtl_smi_columns *columns)
{
	for (size_t i = 0; columns->header && i < columns->n; i++) {
		const struct wtl_smi_field *field = columns->fields[i];

		wtl_buf_printf(buf, "%s%s", i ? ", " : "", field->name);
		if (field->unit)
			wtl_buf_printf(buf, " [%s]", field->unit);
	}
	if (columns->header)
		wtl_buf_putc(buf, '\n');
	return buf->error;
}

static void put_unknown(struct wtl_buf *buf, const struct wtl_smi_field *field,
			struct wtl_smi_answer answer)
{
	const char *words = wtl_smi_unknown(answer);

	if (words)
		wtl_buf_printf(buf, "[%s]", words);
	else
		wtl_buf_puts(buf, field->unknown ? field->unknown : "[N/A]");
}

static void put_row(struct wtl_buf *buf, const struct wtl_smi_columns *columns,
		    const struct wtl_smi_row *row)
{
	for (size_t i = 0; i < columns->n; i++) {
		const struct wtl_smi_field *field = columns->fields[i];
		struct wtl_smi_answer answer;

		if (i)
			wtl_buf_puts(buf, ", ");
		answer = wtl_smi_print(buf, row, field);
		if (answer.status != WATTLE_STATUS_OK)
			put_unknown(buf, field, answer);
		else if (columns->units && field->unit)
			wtl_buf_printf(buf, " %s", field->unit);
	}
	wtl_buf_putc(buf, '\n');
}

static void put_processes(struct wtl_buf *buf, const struct wtl_smi_columns *columns,
			  struct wtl_smi_row *row)
{
	for (size_t i = 0; i < row->gpu->n_processes; i++) {
		row->process = &row->gpu->processes[i];
		if (row->process->types & (WTL_GPU_PROCESS_COMPUTE | WTL_GPU_PROCESS_MPS))
			put_row(buf, columns, row);
	}
}

int wtl_smi_rows(struct wtl_buf *buf, const struct wtl_smi_columns *columns,
		 const struct wtl_look *look)
{
	struct wtl_smi_row row = {.look = look};

	if (columns->query == &wtl_smi_query_accounted)
		return buf->error;
	for (size_t i = 0; columns->query == &wtl_smi_query_domain && i < look->n_domains; i++) {
		row.domain = &look->domains[i];
		row.meter = look->domain_meters ? &look->domain_meters[i] : NULL;
		put_row(buf, columns, &row);
	}
	for (size_t i = 0; columns->query != &wtl_smi_query_domain && i < look->n_gpus; i++) {
		row.gpu = &look->gpus[i];
		row.meter = look->meters ? &look->meters[i] : NULL;
		if (columns->query == &wtl_smi_query_apps)
			put_processes(buf, columns, &row);
		else
			put_row(buf, columns, &row);
	}
	return buf->error;
}

static void put_help(struct wtl_buf *buf, const struct wtl_smi_field *field)
{
	wtl_buf_printf(buf, "\n\"%s\"", field->name);
	if (field->alias)
		wtl_buf_printf(buf, " or \"%s\"", field->alias);
	if (field->unit)
		wtl_buf_printf(buf, " [%s]", field->unit);
	wtl_buf_printf(buf, "\n%s.\n",
		       field->doc ? field->doc
				  : "Taken as nvidia-smi takes it, but never known here");
}

int wtl_smi_help(struct wtl_buf *buf, const struct wtl_smi_query *query)
{
	unsigned last = 0;

	wtl_buf_printf(buf, "Fields of %s. %s\n", query->option, query->about);
	for (unsigned part = 0; part <= last; part++) {
		unsigned at = 0;

		for (const struct wtl_smi_field *field = query->fields; !wtl_smi_is_end(field);
		     field++) {
			at = field->help ? field->help : at;
			last = at > last ? at : last;
			if (at == part && field->name)
				put_help(buf, field);
		}
	}
	return buf->error;
}

static void put_mig(struct wtl_buf *buf, const struct wtl_gpu_mig *mig)
{
	wtl_buf_puts(buf, "  MIG ");
	wtl_smi_put_text(buf, mig->profile);
	for (size_t n = strlen(mig->profile); n < 12; n++)
		wtl_buf_putc(buf, ' ');
	wtl_buf_printf(buf, "Device %2u: (UUID: ", mig->index);
	wtl_smi_put_text(buf, mig->uuid);
	wtl_buf_puts(buf, ")\n");
}

int wtl_smi_list(struct wtl_buf *buf, const struct wtl_look *look)
{
	for (size_t i = 0; i < look->n_gpus; i++) {
		const struct wtl_gpu *gpu = &look->gpus[i];

		wtl_buf_printf(buf, "GPU %u: ", gpu->index);
		wtl_smi_put_text(buf, gpu->name);
		wtl_buf_puts(buf, " (UUID: ");
		wtl_smi_put_text(buf, gpu->uuid[0] ? gpu->uuid : "N/A");
		wtl_buf_puts(buf, ")\n");
		for (size_t k = 0; k < gpu->n_migs; k++)
			put_mig(buf, &gpu->migs[k]);
	}
	return buf->error;
}
