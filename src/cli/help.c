/* SPDX-License-Identifier: MIT */
#include <argp.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "wattle.h"
#include "cli/help.h"

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

/* The help command has no page: this one names what it does. */
static bool has_page(const struct wtl_command *command)
{
	return command != &wtl_command_help;
}

static void man_overview(void)
{
	const char *before = "";

	printf(".TH WATTLE 1 \"\" \"wattle %s\" \"wattle manual\"\n", wattle_version());
	puts(".SH NAME\nwattle \\- the energy meter for computers\n"
	     ".SH SYNOPSIS\n.B wattle\n\\fICOMMAND\\fR [\\fIOPTION\\fR...]\n.br\n"
	     ".B wattle \\-\\-help\n|\n.B \\-\\-version\n.SH DESCRIPTION\n"
	     "Measures the energy that a machine, a program and its parts use. Every figure comes "
	     "with its source, its method and its uncertainty.\n.SH COMMANDS");
	for (size_t i = 0; wtl_commands[i]; i++) {
		printf(has_page(wtl_commands[i]) ? ".TP\n.BR wattle\\-%s (1)\n"
						 : ".TP\n.B wattle %s\n",
		       wtl_commands[i]->name);
		print_roff(wtl_commands[i]->summary);
		puts(".");
	}
	puts(".SH OPTIONS\n.TP\n.B \\-h, \\-\\-help\nShow what commands there are\n"
	     ".TP\n.B \\-V, \\-\\-version\nShow the version\n.SH SEE ALSO");
	for (size_t i = 0; wtl_commands[i]; i++) {
		if (!has_page(wtl_commands[i]))
			continue;
		printf("%s.BR wattle\\-%s (1)", before, wtl_commands[i]->name);
		before = ",\n";
	}
	putchar('\n');
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

/* The spellings of the options whose value is called `value` (any: NULL), each with a blank or bar
 * behind it; or a pattern that nothing matches. */
static void complete_spellings(const struct argp_option *options, const char *value)
{
	for (const struct argp_option *option = options; option && option->name; option++) {
		if (!option->arg || (value && strcmp(option->arg, value) != 0))
			continue;
		if (option->key > 0 && option->key < 0x80 && isprint(option->key))
			printf(value ? "-%c | " : "-%c ", option->key);
		printf(value ? "--%s | " : "--%s ", option->name);
	}
}

static void complete_values(const char *value)
{
	for (size_t i = 0; wtl_commands[i]; i++) {
		const struct wtl_command *command = wtl_commands[i];
		bool seen = false;

		/* Groups are shared: the first command that has one speaks for all. */
		complete_spellings(command->options, value);
		for (size_t g = 0; command->shared && command->shared[g]; g++, seen = false) {
			for (size_t k = 0; k < i; k++)
				for (size_t h = 0;
				     wtl_commands[k]->shared && wtl_commands[k]->shared[h]; h++)
					seen |= wtl_commands[k]->shared[h] == command->shared[g];
			if (!seen)
				complete_spellings(command->shared[g], value);
		}
	}
}

static const char completion_head[] =
	"# bash completion for wattle; made by 'wattle help --completion bash'\n"
	"_wattle()\n{\n"
	"\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
	"\tlocal words= commands= takes= command=0 i word\n"
	"\tCOMPREPLY=()\n";

/* Bash cuts --option=value in three. */
static const char completion_scan[] =
	"\tif [ \"$COMP_CWORD\" -eq 1 ]; then\n"
	"\t\tCOMPREPLY=($(compgen -W \"--help --version $commands\" -- \"$cur\"))\n"
	"\t\treturn\n\tfi\n"
	"\tfor ((i = 2; i <= COMP_CWORD; i++)); do\n"
	"\t\tword=${COMP_WORDS[i]}\n"
	"\t\tif [ \"$word\" = -- ] && [ \"$i\" -lt \"$COMP_CWORD\" ]; then\n"
	"\t\t\tcommand=$((i + 1))\n\t\t\tbreak\n\t\tfi\n"
	"\t\tif [ -n \"$word\" ] && [[ $takes == *\" $word \"* ]]; then\n"
	"\t\t\t[ \"${COMP_WORDS[i+1]-}\" = = ] && i=$((i + 1))\n"
	"\t\t\ti=$((i + 1))\n"
	"\t\telif [[ $word != -* ]]; then\n"
	"\t\t\tcommand=$i\n\t\t\tbreak\n\t\tfi\n\tdone\n"
	"\tif [ \"$command\" -gt 0 ]; then\n"
	"\t\tcase ${COMP_WORDS[1]} in\n";

/* A command's own words, and after those its own completion. */
static const char completion_command[] =
	"\t\t\tif declare -F _command_offset >/dev/null; then\n"
	"\t\t\t\t_command_offset \"$command\"\n"
	"\t\t\telif [ \"$command\" -eq \"$COMP_CWORD\" ]; then\n"
	"\t\t\t\tCOMPREPLY=($(compgen -c -- \"$cur\"))\n"
	"\t\t\telse\n\t\t\t\tcompopt -o default 2>/dev/null\n\t\t\tfi\n"
	"\t\t\treturn ;;\n"
	"\t\thelp)\n"
	"\t\t\tCOMPREPLY=($(compgen -W \"$commands\" -- \"$cur\"))\n"
	"\t\t\treturn ;;\n";

/* Files, where it is no option and no option's value. */
static const char completion_words[] =
	"\t\t*)\n"
	"\t\t\tif [[ $cur != [-=]* && $prev != = && $takes != *\" $prev \"* ]]; then\n"
	"\t\t\t\tcompopt -o default 2>/dev/null\n"
	"\t\t\t\treturn\n\t\t\tfi ;;\n"
	"\t\tesac\n\tfi\n"
	"\tif [ \"$cur\" = = ]; then\n\t\tcur=\n"
	"\telif [ \"$prev\" = = ]; then\n\t\tprev=${COMP_WORDS[COMP_CWORD-2]}\n\tfi\n";

static void complete_commands(void)
{
	fputs("\tcommands=\"", stdout);
	for (size_t i = 0; wtl_commands[i]; i++)
		printf("%s%s", i ? " " : "", wtl_commands[i]->name);
	puts("\"\n\tcase ${COMP_WORDS[1]} in");
	for (size_t i = 0; wtl_commands[i]; i++) {
		printf("\t%s) words=\"", wtl_commands[i]->name);
		complete_options(wtl_commands[i]->options);
		for (size_t g = 0; wtl_commands[i]->shared && wtl_commands[i]->shared[g]; g++)
			complete_options(wtl_commands[i]->shared[g]);
		puts("\" ;;");
	}
	fputs("\tesac\n\ttakes=\" ", stdout);
	complete_values(NULL);
	puts("\"");
}

/* Those that take a command, as a pattern. */
static void complete_runners(void)
{
	const char *before = "\t\t";

	for (size_t i = 0; wtl_commands[i]; i++) {
		if (!wtl_commands[i]->takes_command)
			continue;
		printf("%s%s", before, wtl_commands[i]->name);
		before = "|";
	}
	puts(")");
}

int wtl_help_completion(const char *shell)
{
	if (strcmp(shell, "bash") != 0)
		return -ENOENT;
	fputs(completion_head, stdout);
	complete_commands();
	fputs(completion_scan, stdout);
	complete_runners();
	fputs(completion_command, stdout);
	fputs(completion_words, stdout);
	fputs("\tcase $prev in\n\t", stdout);
	complete_values("FORMAT");
	puts("'') COMPREPLY=($(compgen -W \"text json csv\" -- \"$cur\")) ;;");
	fputs("\t", stdout);
	complete_values("WEIGHT");
	puts("'') COMPREPLY=($(compgen -W \"cpu-time instructions cycles\" -- \"$cur\")) ;;");
	fputs("\t", stdout);
	complete_values("DIR");
	puts("'') COMPREPLY=($(compgen -d -- \"$cur\")) ;;");
	fputs("\t", stdout);
	complete_values("FILE");
	complete_values("PATH");
	puts("'') compopt -o default 2>/dev/null ;;\n"
	     "\t*)\n"
	     "\t\t[[ $takes == *\" $prev \"* ]] && return\n"
	     "\t\tCOMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
	     "\t\t[[ ${COMPREPLY[0]-} == *= ]] && compopt -o nospace 2>/dev/null ;;\n"
	     "\tesac\n}\n"
	     "complete -F _wattle wattle");
	return 0;
}
