/* SPDX-License-Identifier: MIT */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "commands/top/ui.h"

/* The lists that open over the table. They fit into 60 columns. */

static const char *const help[] = {
	"Up Down PgUp PgDn End  choose: the cursor stays with it",
	"Home        the first row, whoever is there",
	"Left Right  move commands",
	"Enter       details of a process; open or close a group",
	"Space + -   open or close a part of the tree, or a group",
	"",
	"F1 h ?  this help          F9 k    send a signal",
	"F2 S    set-up, kept       F10 q   quit",
	"F3 /    search; n B        F       follow the process",
	"F4 \\    filter             I       the other way round",
	"F5 t    tree               Z       stop the picture",
	"F6 >    what to sort by    u       this user only; all",
	"F7 g    groups",
	"F8 ]    a longer window    [       a shorter one",
	"",
	"Sort by  W power   C CPU W   G GPU W   E energy   P CPU%",
	"         M memory   T CPU time   N pid",
	"Show     d full or dynamic shares",
	"         a domains inside others",
	"         v curves: each, total, off",
	"         x processes that ended",
	"         K kernel threads",
	"         i processes that use nothing",
	"         p programs with their path",
	"",
	"A process's power and energy are its dynamic share: what",
	"the machine drew above its idle baseline, divided by CPU",
	"time (CPU, DRAM) and by use (GPU). The full share has a",
	"part of the idle energy as well. As long as no idle",
	"baseline is known, all shares are full ones.",
	"",
	"Filter   FIELD OPERATOR VALUE, joined by && || ! ( )",
	"         = != < <= > >= ~ (contains) !~",
	"         a word alone is searched for",
	"         gpu_w>10 && user==bob",
	"         mem>=2GiB || cpu>50%    !container~docker",
	"Fields   pid ppid user uid state w cpu_w gpu_w per_cpu_w",
	"         j cpu gpu time mem threads pss uss gpu_mem unit",
	"         job step pod container cgroup name command",
};

/* Shown first, if a recording is played. */
static const char *const play_help[] = {
	"Space Z    stop the play; go on",
	"j l        10 s back, 10 s on",
	"J L        1 min back, 1 min on",
	"b e        to begin, end",
	"s f =      half, twice, once as fast as it was",
	"           A click on the bar goes there.",
	"           + - and Enter open and close groups.",
	"",
};

static const struct {
	int number;
	const char *name, *about;
} signals[] = {
	{SIGTERM, "SIGTERM", "asks it to end"},	     {SIGINT, "SIGINT", "as Ctrl-C does"},
	{SIGKILL, "SIGKILL", "ends it at once"},     {SIGHUP, "SIGHUP", "its terminal is gone"},
	{SIGQUIT, "SIGQUIT", "ends it with a dump"}, {SIGSTOP, "SIGSTOP", "halts it"},
	{SIGCONT, "SIGCONT", "lets it go on"},	     {SIGUSR1, "SIGUSR1", "its own meaning"},
	{SIGUSR2, "SIGUSR2", "its own meaning"},
};

enum {
	N_SIGNALS = sizeof(signals) / sizeof(signals[0]),
	N_HELP = sizeof(help) / sizeof(help[0]),
	N_PLAY_HELP = sizeof(play_help) / sizeof(play_help[0]),
};

/* The set-up window: the settings, these, and then the columns except the command, which is always shown. */
enum {
	SETUP_REDRAW = WTL_SETTINGS_LISTED,
	SETUP_COLUMNS,
	SETUP_N = SETUP_COLUMNS + WTL_FIELDS - 1
};

const char *wtl_top_signal_name(int signal)
{
	for (size_t i = 0; i < N_SIGNALS; i++)
		if (signals[i].number == signal)
			return signals[i].name;
	return "a signal";
}

static const struct {
	const char *title;
	int n;
} lists[WTL_TOP_DETAILS + 1] = {
	[WTL_TOP_HELP] = {"Help", N_HELP},
	[WTL_TOP_SETUP] = {"Set-up (kept when you leave)", SETUP_N},
	[WTL_TOP_SORT] = {"Sort by", WTL_FIELDS},
	[WTL_TOP_GROUP] = {"Group by", WTL_GROUPINGS},
	[WTL_TOP_SIGNAL] = {"Send", N_SIGNALS},
};

int wtl_top_list_n(const struct wtl_top_ui *ui)
{
	int more = ui->mode == WTL_TOP_HELP && ui->is_replay ? N_PLAY_HELP : 0;

	return lists[ui->mode].n + more;
}

bool wtl_top_list_is_choice(const struct wtl_top_ui *ui)
{
	return ui->mode != WTL_TOP_HELP;
}

const char *wtl_top_list_title(const struct wtl_top_ui *ui)
{
	return lists[ui->mode].title ? lists[ui->mode].title : "";
}

static void setup_text(const struct wtl_top_config *config, int entry, char text[WTL_TOP_LINE_MAX])
{
	const struct wtl_setting_info *setting;
	const struct wtl_field_info *field;

	if (entry == SETUP_REDRAW) {
		snprintf(text, WTL_TOP_LINE_MAX, "    Redraw every %u ms", config->redraw_ms);
	} else if (entry >= SETUP_COLUMNS) {
		field = wtl_field_info((enum wtl_field)(entry - SETUP_COLUMNS));
		snprintf(text, WTL_TOP_LINE_MAX, "[%c] Column %-9s  %s",
			 config->columns[entry - SETUP_COLUMNS] ? 'x' : ' ', field->title,
			 field->about);
	} else {
		setting = wtl_setting_info((enum wtl_setting)entry);
		if (setting->n == 2)
			snprintf(text, WTL_TOP_LINE_MAX, "[%c] %s", config->set[entry] ? 'x' : ' ',
				 setting->about);
		else
			snprintf(text, WTL_TOP_LINE_MAX, "    %s: %s", setting->about,
				 wtl_setting_word(config, (enum wtl_setting)entry));
	}
}

void wtl_top_list_text(const struct wtl_top_ui *ui, int entry, char text[WTL_TOP_LINE_MAX])
{
	int before = ui->is_replay ? N_PLAY_HELP : 0;

	text[0] = '\0';
	if (entry < 0 || entry >= wtl_top_list_n(ui))
		return;
	if (ui->mode == WTL_TOP_HELP)
		wtl_text_copy(text, WTL_TOP_LINE_MAX,
			      entry < before ? play_help[entry] : help[entry - before]);
	else if (ui->mode == WTL_TOP_SETUP)
		setup_text(&ui->config, entry, text);
	else if (ui->mode == WTL_TOP_SORT)
		snprintf(text, WTL_TOP_LINE_MAX, "%-9s  %s",
			 wtl_field_info((enum wtl_field)entry)->title,
			 wtl_field_info((enum wtl_field)entry)->about);
	else if (ui->mode == WTL_TOP_GROUP)
		wtl_text_copy(text, WTL_TOP_LINE_MAX,
			      wtl_setting_info(WTL_SET_GROUP)->words[entry]);
	else if (ui->mode == WTL_TOP_SIGNAL)
		snprintf(text, WTL_TOP_LINE_MAX, "%2d %-8s %s", signals[entry].number,
			 signals[entry].name, signals[entry].about);
}

static void choose_setup(struct wtl_top_config *config, int entry)
{
	static const unsigned periods_ms[] = {50, 100, 200, 500, 1000, 2000, 5000};
	size_t n = sizeof(periods_ms) / sizeof(periods_ms[0]), i = 0;

	if (entry == SETUP_REDRAW) {
		while (i < n && periods_ms[i] <= config->redraw_ms)
			i++;
		config->redraw_ms = periods_ms[i % n];
	} else if (entry >= SETUP_COLUMNS) {
		config->columns[entry - SETUP_COLUMNS] ^= true;
	} else {
		wtl_setting_next(config, (enum wtl_setting)entry);
	}
}

void wtl_top_list_choose(struct wtl_top_ui *ui, int entry)
{
	if (entry < 0 || entry >= wtl_top_list_n(ui))
		return;
	ui->entry = entry;
	if (ui->mode == WTL_TOP_SETUP) {
		choose_setup(&ui->config, entry);
		return;
	}
	if (ui->mode == WTL_TOP_SORT) {
		ui->config.sort = (enum wtl_field)entry;
		ui->config.set[WTL_SET_ASCENDING] = false;
	} else if (ui->mode == WTL_TOP_GROUP) {
		ui->config.set[WTL_SET_GROUP] = (unsigned)entry;
		ui->toggled.n = 0;
	} else if (ui->mode == WTL_TOP_SIGNAL) {
		ui->victim.signal = signals[entry].number;
	}
	ui->mode = ui->mode == WTL_TOP_SIGNAL ? WTL_TOP_CONFIRM : WTL_TOP_TABLE;
}

void wtl_top_list_open(struct wtl_top_ui *ui, enum wtl_top_mode mode)
{
	ui->mode = mode;
	ui->first_entry = 0;
	ui->entry = mode == WTL_TOP_SORT    ? (int)ui->config.sort
		    : mode == WTL_TOP_GROUP ? (int)ui->config.set[WTL_SET_GROUP]
					    : 0;
}
