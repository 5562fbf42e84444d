/* SPDX-License-Identifier: MIT */
#include <argp.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/app.h"

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

static int option_heading(const struct argp_option *option, char *text, size_t size)
{
	char letter[8] = "    ";

	if (option->key > 0 && option->key < 0x80 && isprint(option->key))
		snprintf(letter, sizeof(letter), "-%c, ", option->key);
	return snprintf(text, size, "  %s--%s%s%s", letter, option->name, option->arg ? "=" : "",
			option->arg ? option->arg : "");
}

static void print_options(const struct argp_option *options)
{
	for (const struct argp_option *option = options; option && option->name; option++) {
		char heading[128];
		int len = option_heading(option, heading, sizeof(heading));

		fputs(heading, stdout);
		if (len >= OPTION_COLUMN)
			printf("\n%*s", OPTION_COLUMN, "");
		else
			printf("%*s", OPTION_COLUMN - len, "");
		print_wrapped(option->doc, OPTION_COLUMN, OPTION_COLUMN);
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

void wtl_help_overview(void)
{
	puts("Usage: wattle COMMAND [OPTION...]\n"
	     "Measures the energy that a machine, a program and its parts use.\n");
	for (size_t i = 0; wtl_commands[i]; i++)
		printf("  %-10s %s\n", wtl_commands[i]->name, wtl_commands[i]->summary);
	puts("\n'wattle COMMAND --help' tells more; 'wattle --version' the version.");
}

void wtl_help_command(const struct wtl_command *command)
{
	printf("Usage: wattle %s %s\n%s.\n\n", command->name, command->synopsis, command->summary);
	print_wrapped(command->description, 0, 0);
	puts("\nOptions:");
	print_options(command->options);
	for (size_t g = 0; command->shared && command->shared[g]; g++)
		print_options(command->shared[g]);
	if (command->examples)
		printf("\nExamples:\n%s\n", command->examples);
	if (command->exit_status) {
		puts("\nExit status:");
		print_exit_status(command->exit_status);
	}
}

/* Text for roff: a leading dot or quote would be a request, and a hyphen in an option is a minus. */
static void print_roff(const char *text)
{
	bool line_start = true;

	for (; *text; text++) {
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

static void man_paragraphs(const char *text)
{
	const char *gap;

	while ((gap = strstr(text, "\n\n"))) {
		char paragraph[2048];

		snprintf(paragraph, sizeof(paragraph), "%.*s", (int)(gap - text), text);
		print_roff(paragraph);
		puts("\n.PP");
		text = gap + 2;
	}
	print_roff(text);
	putchar('\n');
}

static void man_options(const struct argp_option *options)
{
	for (const struct argp_option *option = options; option && option->name; option++) {
		fputs(".TP\n.B ", stdout);
		if (option->key > 0 && option->key < 0x80 && isprint(option->key))
			printf("\\-%c, ", option->key);
		fputs("\\-\\-", stdout);
		print_roff(option->name);
		if (option->arg)
			printf("\\fR=\\fI%s\\fR", option->arg);
		putchar('\n');
		print_roff(option->doc);
		putchar('\n');
	}
}

static void man_lines(const char *text)
{
	while (*text) {
		int len = (int)strcspn(text, "\n");
		const char *tab = memchr(text, '\t', (size_t)len);
		char line[512];

		if (tab) {
			printf(".TP\n.B %.*s\n", (int)(tab - text), text);
			snprintf(line, sizeof(line), "%.*s", len - (int)(tab + 1 - text), tab + 1);
			print_roff(line);
			putchar('\n');
		}
		text += len + (text[len] == '\n');
	}
}

static void man_command(const struct wtl_command *command)
{
	printf(".TH WATTLE\\-%s 1 \"\" \"wattle %s\" \"wattle manual\"\n", command->name,
	       wattle_version());
	printf(".SH NAME\nwattle\\-%s \\- ", command->name);
	print_roff(command->summary);
	printf("\n.SH SYNOPSIS\n.B wattle %s\n", command->name);
	print_roff(command->synopsis);
	puts("\n.SH DESCRIPTION");
	man_paragraphs(command->description);
	puts(".SH OPTIONS");
	man_options(command->options);
	for (size_t g = 0; command->shared && command->shared[g]; g++)
		man_options(command->shared[g]);
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

static void man_overview(void)
{
	printf(".TH WATTLE 1 \"\" \"wattle %s\" \"wattle manual\"\n", wattle_version());
	puts(".SH NAME\nwattle \\- the energy meter for computers\n"
	     ".SH SYNOPSIS\n.B wattle\n\\fICOMMAND\\fR [\\fIOPTION\\fR...]\n.SH DESCRIPTION\n"
	     "Measures the energy that a machine, a program and its parts use. Every figure comes "
	     "with its source, its method and its uncertainty.\n.SH COMMANDS");
	for (size_t i = 0; wtl_commands[i]; i++) {
		printf(".TP\n.BR wattle\\-%s (1)\n", wtl_commands[i]->name);
		print_roff(wtl_commands[i]->summary);
		puts(".");
	}
}

int wtl_help_man(const char *name)
{
	const struct wtl_command *command;

	if (strcmp(name, "wattle") == 0) {
		man_overview();
		return 0;
	}
	if (strncmp(name, "wattle-", 7) != 0 || !(command = wtl_command_find(name + 7)))
		return -ENOENT;
	man_command(command);
	return 0;
}

static void complete_options(const struct argp_option *options)
{
	for (const struct argp_option *option = options; option && option->name; option++)
		printf(" --%s%s", option->name, option->arg ? "=" : "");
}

int wtl_help_completion(const char *shell)
{
	if (strcmp(shell, "bash") != 0)
		return -ENOENT;
	fputs("# bash completion for wattle; made by 'wattle help --completion bash'\n"
	      "_wattle()\n{\n"
	      "\tlocal cur=${COMP_WORDS[COMP_CWORD]} words= i\n"
	      "\tCOMPREPLY=()\n"
	      "\tif [ \"$COMP_CWORD\" -eq 1 ]; then\n\t\twords=\"--help --version",
	      stdout);
	for (size_t i = 0; wtl_commands[i]; i++)
		printf(" %s", wtl_commands[i]->name);
	fputs("\"\n\t\tCOMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n\t\treturn\n\tfi\n"
	      "\tfor ((i = 2; i < COMP_CWORD; i++)); do\n"
	      "\t\tif [ \"${COMP_WORDS[i]}\" = -- ]; then\n"
	      "\t\t\tdeclare -F _command_offset >/dev/null && _command_offset $((i + 1))\n"
	      "\t\t\treturn\n\t\tfi\n\tdone\n"
	      "\tcase ${COMP_WORDS[1]} in\n",
	      stdout);
	for (size_t i = 0; wtl_commands[i]; i++) {
		printf("\t%s) words=\"", wtl_commands[i]->name);
		complete_options(wtl_commands[i]->options);
		for (size_t g = 0; wtl_commands[i]->shared && wtl_commands[i]->shared[g]; g++)
			complete_options(wtl_commands[i]->shared[g]);
		puts("\" ;;");
	}
	puts("\tesac\n"
	     "\tif [[ $cur == -* ]]; then\n"
	     "\t\tCOMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
	     "\t\t[[ ${COMPREPLY[0]-} == *= ]] && compopt -o nospace 2>/dev/null\n"
	     "\telse\n\t\tcompopt -o default 2>/dev/null\n\tfi\n}\n"
	     "complete -F _wattle wattle");
	return 0;
}
