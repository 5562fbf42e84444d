/* SPDX-License-Identifier: MIT */
/* Rows of options that several commands have. */
#include "cli/options.h"

const struct argp_option wtl_options_machine[] = {
	{"root", WTL_OPTION_ROOT, "DIR", 0, "Read DIR/sys and DIR/proc instead of this machine's",
	 20},
	{"tape", WTL_OPTION_TAPE, "FILE", 0, "Replay a machine from a tape", 20},
	{"tape-record", WTL_OPTION_TAPE_RECORD, "FILE", 0,
	 "Write every raw reading to a tape: the best companion of a bug report", 20},
	{"nvml", WTL_OPTION_NVML, "PATH", 0,
	 "The NVIDIA management library to load; an empty PATH for none", 20},
	{"fault", WTL_OPTION_FAULT, "OP:N[:ERRNO][:always]", 0,
	 "For tests: make the N-th open, read, link, dir, perf, lib, cpu, exits or write fail", 20},
	{0},
};

const struct argp_option wtl_options_interval[] = {
	{"interval", 'i', "MS", 0, "Take a sample every MS milliseconds (1 to 60000; default 100)",
	 10},
	{0},
};

const struct argp_option wtl_options_jitter[] = {
	{"jitter", WTL_OPTION_JITTER, 0, 0,
	 "Vary the interval by up to a quarter, so as not to beat with the workload", 10},
	{0},
};

const struct argp_option wtl_options_output[] = {
	{"format", 'f', "FORMAT", 0, "text (default), json or csv", 11},
	{"output", 'o', "FILE", 0, "Write the result to FILE instead of standard output", 11},
	{"append", WTL_OPTION_APPEND, 0, 0,
	 "Add to the end of FILE: JSON as one line, CSV with one header at the top", 11},
	{0},
};

const struct argp_option wtl_options_terminal[] = {
	{"no-color", WTL_OPTION_NO_COLOR, 0, 0,
	 "No colours (the default when it is not a terminal, or NO_COLOR is set)", 11},
	{"ascii", WTL_OPTION_ASCII, 0, 0, "No characters beyond ASCII", 11},
	{0},
};

const struct argp_option wtl_options_carbon[] = {
	{"location", WTL_OPTION_LOCATION, "CODE", 0,
	 "Where the electricity comes from: a country such as FRA, a cloud region such as "
	 "gcp:europe-west9, or a number in g CO2e/kWh. Default: the world's average",
	 12},
	{"pue", WTL_OPTION_PUE, "FACTOR", 0,
	 "Power usage effectiveness of the data centre (1 to 10): shown beside, never in, the "
	 "energies",
	 12},
	{0},
};

const struct argp_option wtl_options_idle_first[] = {
	{"idle-first", WTL_OPTION_IDLE_FIRST, "SECONDS", 0,
	 "Before anything else, watch the idle machine for so long (3 to 3600) and learn what it "
	 "draws: leave it alone meanwhile",
	 13},
	{0},
};

const struct argp_option wtl_options_consumers[] = {
	{"no-processes", WTL_OPTION_NO_PROCESSES, 0, 0, "Do not find out who used the energy", 13},
	{"idle-file", WTL_OPTION_IDLE_FILE, "FILE", 0,
	 "Where the idle power of this machine is kept between runs (default: "
	 "$XDG_STATE_HOME/wattle/idle or ~/.local/state/wattle/idle)",
	 13},
	{"weight", WTL_OPTION_WEIGHT, "WEIGHT", 0,
	 "What a use of the processors weighs: cpu-time (default), or what the hardware counts of each "
	 "process: instructions or cycles",
	 13},
	{0},
};

const struct argp_option wtl_options_part[] = {
	{"from", WTL_OPTION_FROM, "TIME", 0,
	 "Only from then on: a time such as '2026-11-21 14:00' or 14:00 (local), "
	 "2026-11-21T14:00Z, or one since the begin such as +90 or +1h30m",
	 14},
	{"to", WTL_OPTION_TO, "TIME", 0, "Only up to then; who used it is exact to a second", 14},
	{0},
};

const struct argp_option wtl_options_general[] = {
	{"quiet", 'q', 0, 0, "No remarks on standard error", 30},
	{"verbose", 'v', 0, 0, "More about sources and how they were found", 30},
	{"help", 'h', 0, 0, "Show this help", 30},
	{0},
};
