/* SPDX-License-Identifier: MIT */
#include "cli/help.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/option.h"
#include "wattle.h"

/* Help, man pages and completion, all from the commands' own tables. */

enum { OPTION_COLUMN = 26, STATUS_COLUMN = 7, WIDTH = 78 };

/* Words wrapped at WIDTH, from column `at` on, with `indent` before each further line. */
static void print_wrapped(const char *text, int at, int indent)
{
	while (*text) {
		int len = (int)strcspn(text, " \n");
		int blank = at > indent;

		if (blank && at + blank + len > WIDTH) {
			printf("\n%*s", indent, "");
			at = indent;
			blank = 0;
		}
		printf("%*s%.*s", blank, "", len, text);
		at += blank + len;
		text += len;
		if (text[0] == '\n' && text[1] == '\n') {
			printf("\n\n%*s", indent, "");
			at = indent;
		}
		text += strspn(text, " \n");
	}
	putchar('\n');
}

static void print_options(const struct wtl_command *command, bool all)
{
	const struct wtl_option *option;

	for (size_t i = 0; (option = wtl_option_at(command, i)); i++) {
		int len;

		if (option->is_rare && !all)
			continue;
		len = printf(option->letter ? "  -%c, --%s" : "  %c   --%s",
			     option->letter ? option->letter : ' ', option->name);

		if (option->value)
			len += printf("=%s", option->value);
		if (len >= OPTION_COLUMN)
			printf("\n%*s", OPTION_COLUMN, "");
		else
			printf("%*s", OPTION_COLUMN - len, "");
		print_wrapped(option->text, OPTION_COLUMN, OPTION_COLUMN);
	}
}

/* Lines "CODE<tab>meaning". */
static void print_exit_status(const char *text)
{
	while (*text) {
		int len = (int)strcspn(text, "\n"), code = (int)strcspn(text, "\t\n");
		char meaning[512];

		snprintf(meaning, sizeof(meaning), "%.*s", len > code ? len - code - 1 : 0,
			 text + code + (len > code));
		printf("  %-*.*s", STATUS_COLUMN - 2, code, text);
		print_wrapped(meaning, STATUS_COLUMN, STATUS_COLUMN);
		text += len + (text[len] == '\n');
	}
}

const struct wtl_command *wtl_command_find(const struct wtl_command *const commands[],
					   const char *name)
{
	while (*commands && strcmp((*commands)->name, name) != 0)
		commands++;
	return *commands;
}

const char *wtl_command_left_out(const struct wtl_app *app, const char *name)
{
	const struct wtl_left_out *one = app->left_out;

	while (one->command && strcmp(one->command, name) != 0)
		one++;
	return one->reason;
}

void wtl_help_overview(const struct wtl_command *const commands[])
{
	puts("Usage: wattle COMMAND [OPTION...]\n"
	     "Measures the energy that a machine, a program and its parts use.\n");
	for (size_t i = 0; commands[i]; i++)
		printf("  %-10s %s\n", commands[i]->name, commands[i]->summary);
	puts("\nMore: 'wattle COMMAND --help', or --help-all for all options; 'wattle version'.");
}

void wtl_help_command(const struct wtl_command *command, bool all)
{
	printf("Usage: wattle %s %s\n%s.\n\n", command->name, command->synopsis, command->summary);
	print_wrapped(command->description, 0, 0);
	puts("\nOptions:");
	print_options(command, all);
	if (command->examples)
		printf("\nExamples:\n%s\n", command->examples);
	if (command->exit_status) {
		puts("\nExit status:");
		print_exit_status(command->exit_status);
	}
}

/* Text for roff: a leading dot or quote would be a request, and a hyphen in an option is a minus. */
static void print_roff_part(const char *text, size_t len)
{
	bool line_start = true;

	for (const char *end = text + len; text < end; text++) {
		if (line_start && (*text == '.' || *text == '\''))
			fputs("\\&", stdout);
		if (*text == '-')
			fputs("\\-", stdout);
		else if (*text == '\\')
			fputs("\\e", stdout);
		else
			putchar(*text);
		line_start = *text == '\n';
	}
}

static void print_roff(const char *text)
{
	print_roff_part(text, strlen(text));
}

static void man_paragraphs(const char *text)
{
	const char *gap;

	while ((gap = strstr(text, "\n\n"))) {
		print_roff_part(text, (size_t)(gap - text));
		puts("\n.PP");
		text = gap + 2;
	}
	print_roff(text);
	putchar('\n');
}

static void man_options(const struct wtl_command *command)
{
	const struct wtl_option *option;

	for (size_t i = 0; (option = wtl_option_at(command, i)); i++) {
		fputs(".TP\n.B ", stdout);
		if (option->letter)
			printf("\\-%c, ", option->letter);
		fputs("\\-\\-", stdout);
		print_roff(option->name);
		if (option->value)
			printf("\\fR=\\fI%s\\fR", option->value);
		putchar('\n');
		print_roff(option->text);
		putchar('\n');
	}
}

static void man_lines(const char *text)
{
	while (*text) {
		int len = (int)strcspn(text, "\n");
		const char *tab = memchr(text, '\t', (size_t)len);

		if (tab) {
			printf(".TP\n.B %.*s\n", (int)(tab - text), text);
			print_roff_part(tab + 1, (size_t)(text + len - (tab + 1)));
			putchar('\n');
		}
		text += len + (text[len] == '\n');
	}
}

static void man_command(const struct wtl_command *command)
{
	fputs(".TH WATTLE\\-", stdout);
	for (const char *c = command->name; *c; c++)
		putchar(toupper((unsigned char)*c));
	printf(" 1 \"\" \"wattle %s\" \"wattle manual\"\n", wattle_version());
	printf(".SH NAME\nwattle\\-%s \\- ", command->name);
	print_roff(command->summary);
	printf("\n.SH SYNOPSIS\n.B wattle %s\n", command->name);
	print_roff(command->synopsis);
	puts("\n.SH DESCRIPTION");
	man_paragraphs(command->description);
	puts(".SH OPTIONS");
	man_options(command);
	if (command->exit_status) {
		puts(".SH EXIT STATUS");
		man_lines(command->exit_status);
	}
	if (command->examples) {
		puts(".SH EXAMPLES\n.nf");
		print_roff(command->examples);
		puts("\n.fi");
	}
	puts(".SH SEE ALSO\n.BR wattle (1)");
}

static void man_overview(const struct wtl_command *const commands[])
{
	const char *before = "";

	printf(".TH WATTLE 1 \"\" \"wattle %s\" \"wattle manual\"\n", wattle_version());
	puts(".SH NAME\nwattle \\- the energy meter for computers\n"
	     ".SH SYNOPSIS\n.B wattle\n\\fICOMMAND\\fR [\\fIOPTION\\fR...]\n.br\n"
	     ".B wattle \\-\\-help\n|\n.B \\-\\-version\n.SH DESCRIPTION\n"
	     "Measures the energy that a machine, a program and its parts use. Every figure comes "
	     "with its source, its method and its uncertainty.\n.SH COMMANDS");
	for (size_t i = 0; commands[i]; i++) {
		printf(commands[i]->is_about_commands ? ".TP\n.B wattle %s\n"
						      : ".TP\n.BR wattle\\-%s (1)\n",
		       commands[i]->name);
		print_roff(commands[i]->summary);
		puts(".");
	}
	puts(".SH OPTIONS\n.TP\n.B \\-h, \\-\\-help\nShow what commands there are\n"
	     ".TP\n.B \\-V, \\-\\-version\nShow the version\n.SH SEE ALSO");
	for (size_t i = 0; commands[i]; i++) {
		if (commands[i]->is_about_commands)
			continue;
		printf("%s.BR wattle\\-%s (1)", before, commands[i]->name);
		before = ",\n";
	}
	putchar('\n');
}

int wtl_help_man(const struct wtl_command *const commands[], const char *name)
{
	const struct wtl_command *command;

	if (strcmp(name, "wattle") == 0) {
		man_overview(commands);
		return 0;
	}
	if (strncmp(name, "wattle-", 7) != 0 || !(command = wtl_command_find(commands, name + 7)))
		return -ENOENT;
	man_command(command);
	return 0;
}
