/* SPDX-License-Identifier: MIT */
/* Completion for shells, from the commands' own tables. */
#include "cli/help.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "cli/command.h"
#include "cli/option.h"

/* The most bytes for all values of an option. */
#define OFFERED_MAX (1u << 20)

/* ---- bash ---- */

/* An option's spellings, with these before, between and after them. */
static void complete_spellings(const struct wtl_option *option, const char *before,
			       const char *between, const char *after)
{
	if (option->letter)
		printf("%s-%c%s", before, option->letter, between);
	printf("%s--%s%s", before, option->name, after);
}

static void complete_words(const char *const words[])
{
	for (size_t i = 0; words[i]; i++)
		printf("%s%s", i ? " " : "", words[i]);
}

static bool has_values(const struct wtl_option *option)
{
	return option->words || option->offer;
}

static void complete_values(const struct wtl_option *option)
{
	struct wtl_buf offered;

	if (option->words) {
		complete_words(option->words);
		return;
	}
	wtl_buf_init(&offered, OFFERED_MAX);
	option->offer(option, &offered);
	fputs(offered.len > 0 ? wtl_buf_str(&offered) + 1 : "", stdout);
	wtl_buf_done(&offered);
}

static bool is_called(const struct wtl_option *option, const char *value)
{
	return option->value && strcmp(option->value, value) == 0;
}

static bool takes_file(const struct wtl_option *option)
{
	return is_called(option, "FILE") || is_called(option, "PATH");
}

static void complete_names(const struct wtl_command *const commands[])
{
	for (size_t i = 0; commands[i]; i++)
		printf("%s%s", i ? " " : "", commands[i]->name);
}

/* Offers an option's values; the shell itself offers files and folders. */
static void complete_value(const struct wtl_option *option)
{
	bool is_file = takes_file(option);

	if (!has_values(option) && !is_file && !is_called(option, "DIR"))
		return;
	fputs("\t\t", stdout);
	complete_spellings(option, "", " | ", ") ");
	if (has_values(option)) {
		fputs("values=\"", stdout);
		complete_values(option);
		puts(option->is_list ? "\" list=1 ;;" : "\" ;;");
	} else {
		puts(is_file ? "values=FILE ;;" : "values=DIR ;;");
	}
}

/* A command's options, those that take a value, its words, and the values of the option before the cursor. */
static void complete_command(const struct wtl_command *command)
{
	const struct wtl_option *option, *word = command->word;

	printf("\t%s)\n\t\twords=\"", command->name);
	for (size_t i = 0; (option = wtl_option_at(command, i)); i++)
		printf(" --%s%s", option->name, option->value ? "=" : "");
	fputs("\"\n\t\ttakes=\"", stdout);
	for (size_t i = 0; (option = wtl_option_at(command, i)); i++)
		if (option->value)
			complete_spellings(option, " ", "", "");
	fputs(" \"\n\t\toperands=\"", stdout);
	if (word && word->words)
		complete_words(word->words);
	else if (word)
		fputs(command->is_about_commands ? "$commands" : "FILE", stdout);
	puts("\"\n\t\tcase $option in");
	for (size_t i = 0; (option = wtl_option_at(command, i)); i++)
		complete_value(option);
	puts("\t\tesac ;;");
}

/* Bash splits --option=value into three words. */
static const char bash_head[] =
	"# bash completion for wattle; made by 'wattle help --completion bash'\n"
	"_wattle()\n{\n"
	"\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
	"\tlocal commands= words= takes= operands= values= list= before= option=$prev command=0 i word\n"
	"\tCOMPREPLY=()\n"
	"\tif [ \"$cur\" = = ]; then\n\t\tcur=\n"
	"\telif [ \"$prev\" = = ]; then\n\t\toption=${COMP_WORDS[COMP_CWORD-2]}\n\tfi\n"
	"\tcommands=\"";

static const char bash_scan[] =
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

/* After "run" and the like: the user's command, then its own completion.
 * Then words that are neither an option nor its value; and values. */
static const char bash_tail[] =
	"\t\t\tif declare -F _command_offset >/dev/null; then\n"
	"\t\t\t\t_command_offset \"$command\"\n"
	"\t\t\telif [ \"$command\" -eq \"$COMP_CWORD\" ]; then\n"
	"\t\t\t\tCOMPREPLY=($(compgen -c -- \"$cur\"))\n"
	"\t\t\telse\n\t\t\t\tcompopt -o default 2>/dev/null\n\t\t\tfi\n"
	"\t\t\treturn ;;\n"
	"\t\tesac\n\tfi\n"
	"\tif [[ $takes == *\" $option \"* ]]; then\n"
	"\t\twords=$values\n"
	"\t\tif [ -n \"$list\" ]; then\n"
	"\t\t\t[[ $cur == *,* ]] && before=${cur%,*},\n"
	"\t\t\tcompopt -o nospace 2>/dev/null\n"
	"\t\tfi\n"
	"\telif [[ $cur != -* && $prev != = && $command -gt 0 ]]; then\n"
	"\t\twords=$operands\n\tfi\n"
	"\tcase $words in\n"
	"\tFILE) compopt -o default 2>/dev/null ;;\n"
	"\tDIR) COMPREPLY=($(compgen -d -- \"$cur\")) ;;\n"
	"\t*) COMPREPLY=($(compgen -P \"$before\" -W \"$words\" -- \"${cur#\"$before\"}\"))\n"
	"\t\t[[ ${COMPREPLY[0]-} == *= ]] && compopt -o nospace 2>/dev/null ;;\n"
	"\tesac\n}\n"
	"complete -F _wattle wattle";

static void complete_bash(const struct wtl_command *const commands[])
{
	const char *before = "\t\t";

	fputs(bash_head, stdout);
	complete_names(commands);
	puts("\"\n\tcase ${COMP_WORDS[1]} in");
	for (size_t i = 0; commands[i]; i++)
		complete_command(commands[i]);
	puts("\tesac");
	fputs(bash_scan, stdout);
	for (size_t i = 0; commands[i]; i++) {
		if (!commands[i]->takes_command)
			continue;
		printf("%s%s", before, commands[i]->name);
		before = "|";
	}
	puts(")");
	puts(bash_tail);
}

/* ---- zsh ---- */

/* Within single quotes, with a backslash before what the shell's own completion would take as a mark. */
static void put_quoted(const char *text, const char *marks, const char *quote)
{
	for (; *text; text++)
		if (*text == '\'')
			fputs(quote, stdout);
		else
			printf(strchr(marks, *text) ? "\\%c" : "%c", *text);
}

static void zsh_value(const struct wtl_option *option)
{
	if (!option->value)
		return;
	printf(":%s:", option->value);
	if (has_values(option)) {
		fputs(option->is_list ? "_sequence compadd - " : "(", stdout);
		complete_values(option);
		fputs(option->is_list ? "" : ")", stdout);
	} else if (takes_file(option)) {
		fputs("_files", stdout);
	} else {
		fputs(is_called(option, "DIR") ? "_files -/" : " ", stdout);
	}
}

static void zsh_spelling(const struct wtl_option *option, bool is_short)
{
	fputs(" \\\n\t\t'", stdout);
	printf(is_short ? "-%.1s" : "--%s", is_short ? &option->letter : option->name);
	if (option->value)
		putchar(is_short ? '+' : '=');
	putchar('[');
	put_quoted(option->text, "[]:\\", "'\\''");
	putchar(']');
	zsh_value(option);
	putchar('\'');
}

static void zsh_words(const struct wtl_command *command)
{
	const struct wtl_option *word = command->word;

	if (command->takes_command)
		fputs(" \\\n\t\t'*::command:{ [[ $words[1] = -- ]] && shift words && (( CURRENT-- )); _normal }'",
		      stdout);
	else if (command->is_about_commands)
		fputs(" \\\n\t\t'*:command:($names)'", stdout);
	else if (word && word->words) {
		fputs(" \\\n\t\t'*:word:(", stdout);
		complete_words(word->words);
		fputs(")'", stdout);
	} else if (word)
		fputs(" \\\n\t\t'*:file:_files'", stdout);
	puts(" ;;");
}

/* The array is not called "commands": the completion of a command's own words reads zsh's of that name. */
static void complete_zsh(const struct wtl_command *const commands[])
{
	const struct wtl_option *option;

	puts("#compdef wattle\n"
	     "# zsh completion for wattle; made by 'wattle help --completion zsh'\n"
	     "_wattle()\n{\n\tlocal -a names\n\tnames=(");
	for (size_t i = 0; commands[i]; i++) {
		printf("\t\t'%s:", commands[i]->name);
		put_quoted(commands[i]->summary, ":\\", "'\\''");
		puts("'");
	}
	puts("\t)\n\tif (( CURRENT == 2 )); then\n\t\t_describe command names\n\t\treturn\n\tfi\n"
	     "\tnames=(${names%%:*})\n\tshift words\n\t(( CURRENT-- ))\n\tcase $words[1] in");
	for (size_t i = 0; commands[i]; i++) {
		printf("\t%s) _arguments -s -S", commands[i]->name);
		for (size_t k = 0; (option = wtl_option_at(commands[i], k)); k++) {
			zsh_spelling(option, false);
			if (option->letter)
				zsh_spelling(option, true);
		}
		zsh_words(commands[i]);
	}
	puts("\tesac\n}\n_wattle \"$@\"");
}

/* ---- fish ---- */

static void fish_values(const struct wtl_option *option)
{
	if (has_values(option)) {
		fputs(option->is_list ? " -x -a '(__fish_append , " : " -x -a '", stdout);
		complete_values(option);
		fputs(option->is_list ? ")'" : "'", stdout);
	} else if (is_called(option, "DIR")) {
		fputs(" -x -a '(__fish_complete_directories)'", stdout);
	} else if (option->value) {
		fputs(takes_file(option) ? " -r -F" : " -x", stdout);
	}
}

static void fish_words(const struct wtl_command *const commands[],
		       const struct wtl_command *command)
{
	const struct wtl_option *word = command->word;

	if (!word && !command->takes_command)
		return;
	printf("complete -c wattle -n '__fish_seen_subcommand_from %s'", command->name);
	if (command->takes_command) {
		puts(" -a '(__fish_complete_subcommand --fcs-skip=2)'");
	} else if (command->is_about_commands) {
		fputs(" -a '", stdout);
		complete_names(commands);
		puts("'");
	} else if (word->words) {
		fputs(" -a '", stdout);
		complete_words(word->words);
		puts("'");
	} else {
		puts(" -F");
	}
}

static void complete_fish(const struct wtl_command *const commands[])
{
	const struct wtl_option *option;

	puts("# fish completion for wattle; made by 'wattle help --completion fish'\n"
	     "complete -c wattle -f");
	for (size_t i = 0; commands[i]; i++) {
		printf("complete -c wattle -n __fish_use_subcommand -a %s -d '", commands[i]->name);
		put_quoted(commands[i]->summary, "\\", "\\'");
		puts("'");
		for (size_t k = 0; (option = wtl_option_at(commands[i], k)); k++) {
			printf("complete -c wattle -n '__fish_seen_subcommand_from %s' -l %s",
			       commands[i]->name, option->name);
			if (option->letter)
				printf(" -s %c", option->letter);
			fputs(" -d '", stdout);
			put_quoted(option->text, "\\", "\\'");
			putchar('\'');
			fish_values(option);
			putchar('\n');
		}
		fish_words(commands, commands[i]);
	}
}

const char *const wtl_help_shells[] = {"bash", "zsh", "fish", NULL};

int wtl_help_completion(const struct wtl_command *const commands[], const char *shell)
{
	static void (*const makers[])(const struct wtl_command *const[]) = {
		complete_bash, complete_zsh, complete_fish};

	for (size_t i = 0; wtl_help_shells[i]; i++)
		if (strcmp(wtl_help_shells[i], shell) == 0) {
			makers[i](commands);
			return 0;
		}
	return -ENOENT;
}
