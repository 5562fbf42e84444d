/* SPDX-License-Identifier: MIT */
#include <string.h>
#include <sys/stat.h>

#include "base/num.h"
#include "cli/app.h"
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
