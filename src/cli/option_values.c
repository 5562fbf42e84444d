/* SPDX-License-Identifier: MIT */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/num.h"
#include "cli/command.h"
#include "cli/complain.h"
#include "cli/options.h"

int wtl_option_number(struct wtl_app *app, const char *option, const char *text, uint64_t least,
		      uint64_t most, uint64_t *ret)
{
	uint64_t value;

	if (wtl_num_u64(text, strlen(text), &value) < 0 || value < least || value > most)
		return wtl_complain(app, "--%s takes a whole number from %llu to %llu, not '%s'",
				    option, (unsigned long long)least, (unsigned long long)most,
				    text);
	*ret = value;
	return 0;
}

int wtl_option_unsigned(struct wtl_app *app, const char *option, const char *text, unsigned least,
			unsigned most, unsigned *ret)
{
	uint64_t value;
	int rc = wtl_option_number(app, option, text, least, most, &value);

	if (rc == 0)
		*ret = (unsigned)value;
	return rc;
}

int wtl_option_when(struct wtl_app *app, const char *option, const char *text,
		    struct wtl_when *ret_when)
{
	if (wtl_when_parse(text, ret_when) == 0)
		return 0;
	return wtl_complain(app, "--%s takes %s, not '%s'", option, wtl_when_forms(), text);
}

int wtl_option_path(struct wtl_app *app, const char *option, const char *what, const char *text,
		    const char **ret_path)
{
	if (!text[0])
		return wtl_complain(app, "--%s takes the path of %s, not ''", option, what);
	*ret_path = text;
	return 0;
}

int wtl_option_word(struct wtl_app *app, const char *what, const char *word)
{
	return word[0] ? 0 : wtl_complain(app, "FILE is the path of %s, not ''", what);
}

const char *wtl_option_first_used(const struct wtl_option_use options[], size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (options[i].is_used)
			return options[i].name;
	return NULL;
}

int wtl_option_check_output(struct wtl_app *app, const char *input)
{
	const char *output = app->settings.output_path;
	struct stat in, out;

	if (!output || stat(input, &in) < 0 || stat(output, &out) < 0 || !S_ISREG(out.st_mode) ||
	    in.st_dev != out.st_dev || in.st_ino != out.st_ino)
		return 0;
	return wtl_complain(app, "-o %s would replace what is to be read: give it another name",
			    output);
}

/* Of what is not there yet: the same name in the same folder. */
static bool is_same_place(const char *a, const char *b)
{
	const char *names[] = {a, b};
	struct stat folders[2];

	for (size_t i = 0; i < 2; i++) {
		const char *slash = strrchr(names[i], '/');
		char folder[PATH_MAX];
		int len = slash ? (int)(slash + 1 - names[i]) : 0;

		if (snprintf(folder, sizeof(folder), "%.*s.", len, names[i]) >=
			    (int)sizeof(folder) ||
		    stat(folder, &folders[i]) < 0)
			return false;
		names[i] += len;
	}
	return folders[0].st_dev == folders[1].st_dev && folders[0].st_ino == folders[1].st_ino &&
	       strcmp(names[0], names[1]) == 0;
}

static bool is_same_file(const char *a, const char *b)
{
	struct stat as, bs;
	bool has_a = stat(a, &as) == 0, has_b = stat(b, &bs) == 0;

	if (has_a != has_b)
		return false;
	if (!has_a)
		return is_same_place(a, b);
	return S_ISREG(as.st_mode) && as.st_dev == bs.st_dev && as.st_ino == bs.st_ino;
}

int wtl_option_check_outputs(struct wtl_app *app)
{
	const struct wtl_settings *settings = &app->settings;
	const struct {
		const char *what, *path;
	} files[] = {
		{"what -o writes", settings->output_path},
		{"the recording", settings->record.path},
		{"the tape of --tape-record", settings->tape_record},
		{"the idle power of --idle-file", settings->idle_file},
	};
	const size_t n = sizeof(files) / sizeof(files[0]);

	for (size_t i = 0; i < n; i++)
		for (size_t k = i + 1; k < n; k++)
			if (files[i].path && files[k].path &&
			    is_same_file(files[i].path, files[k].path))
				return wtl_complain(app,
						    "%s and %s cannot be one file, '%s': give one "
						    "of them another name",
						    files[i].what, files[k].what, files[i].path);
	return 0;
}

int wtl_option_flag(bool *flag)
{
	*flag = true;
	return 0;
}

int wtl_option_text(const char **setting, const char *text)
{
	*setting = text;
	return 0;
}
