/* SPDX-License-Identifier: MIT */
#ifndef WTL_CLI_APP_H
#define WTL_CLI_APP_H

#include <argp.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/io.h"
#include "commands/limit/limit.h"
#include "commands/plot/plot.h"
#include "commands/query/query.h"
#include "commands/record/record.h"
#include "commands/top/top.h"
#include "meter/meter.h"
#include "document/report.h"
#include "workload/workload.h"

struct wtl_consumers;
struct wtl_recorder;
struct wtl_gpu_reader;

/* Exit codes (DESIGN 8). */
enum {
	WTL_EXIT_DONE = 0,
	WTL_EXIT_FAILED = 1,
	WTL_EXIT_USAGE = 2,
	WTL_EXIT_NO_SOURCE = 3,
	WTL_EXIT_WATTLE_FAILED = 125, /* run: wattle itself */
	WTL_EXIT_CANNOT_RUN = 126,
	WTL_EXIT_NOT_FOUND = 127,
};

/* What options that several commands share say. */
struct wtl_settings {
	const char *root, *tape, *tape_record, *nvml_path, *fault;
	int64_t interval_ns;
	bool jitter;
	const struct wtl_output_ops *output;
	const char *output_path; /* NULL: standard output */
	bool append;
	bool no_color, ascii, quiet, verbose;
	const char *location;
	struct wattle_carbon carbon;
	uint32_t pue_milli; /* 0: not given */
	/* run */
	unsigned repeat, repeat_max;
	double until; /* 0: not given */
	/* who used it */
	bool no_processes;
	unsigned top;		/* processes to list */
	enum wtl_weight weight; /* of the use of processors */
	const char *idle_file;
	int64_t idle_first_ns; /* 0: not given */
	char **command;	       /* NULL: none */
	struct wtl_query_settings query;
	struct wtl_limit_settings limit;
	struct wtl_plot_settings plot;
	struct wtl_record_settings record;
	struct wtl_mark_settings mark;
	struct wtl_replay_settings replay;
	struct wtl_top_settings screen; /* top's own */
};

/* The signals as wattle found them at its start: the command shall find them the same. */
struct wtl_inherited {
	sigset_t blocked, ignored;
};

struct wtl_app {
	const struct wtl_command *command;
	struct wtl_inherited inherited;
	struct wtl_settings settings;
	bool complained; /* an error line is out already */
	int next_word;	 /* while options are parsed: the word that comes next */
	bool wants_help;
	bool helped; /* the help command has printed something */
};

/* A subcommand: one const struct in a file of its own. Help, man page and completion are made from
 * it. */
struct wtl_command {
	const char *name;
	const char *summary;	 /* one line, no full stop */
	const char *synopsis;	 /* after "wattle NAME" */
	const char *description; /* paragraphs divided by an empty line */
	const char *examples;	 /* "command\n    what it does" blocks divided by an empty line */
	const char *exit_status; /* lines "CODE  meaning" */
	const struct argp_option *options;	 /* its own */
	const struct argp_option *const *shared; /* its groups of options.h, ended by NULL */
	bool takes_command; /* the first word that is no option begins the user's command */
	int usage_exit; /* the exit code for bad usage: 2, or 125 where other codes are the command's */
	/* An option of its own, or key ARGP_KEY_ARG for a word. 0; ARGP_ERR_UNKNOWN; or another error
	 * after wtl_complain(). */
	int (*option)(struct wtl_app *app, int key, char *argument);
	int (*run)(struct wtl_app *app); /* returns the exit code */
};

extern const struct wtl_command wtl_command_run;
extern const struct wtl_command wtl_command_record;
extern const struct wtl_command wtl_command_mark;
extern const struct wtl_command wtl_command_report;
extern const struct wtl_command wtl_command_export;
extern const struct wtl_command wtl_command_doctor;
extern const struct wtl_command wtl_command_top;
extern const struct wtl_command wtl_command_query;
extern const struct wtl_command wtl_command_limit;
extern const struct wtl_command wtl_command_plot;
extern const struct wtl_command wtl_command_help;

/* All of them, ended by NULL. */
extern const struct wtl_command *const wtl_commands[];
const struct wtl_command *wtl_command_find(const char *name);

/* One line on standard error: "wattle: NAME: text". Returns EINVAL, for option functions. */
int wtl_complain(struct wtl_app *app, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* The same for an error of the library: source, path and text. */
void wtl_complain_err(struct wtl_app *app, const struct wtl_err *err);
/* A remark, unless --quiet. */
void wtl_remark(const struct wtl_app *app, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* help.c */
void wtl_help_overview(void);
void wtl_help_command(const struct wtl_command *command);
int wtl_help_man(const char *name);
int wtl_help_completion(const char *shell);

/* machine.c: the environment that the settings ask for. What is wrong with it has been said. */
int wtl_open_io(struct wtl_app *app, struct wtl_io **ret_io);
void wtl_close_io(struct wtl_app *app, struct wtl_io *io); /* NULL is fine */
/* What reads its GPUs: wtl_gpu_reader_free() before the io is closed. */
int wtl_open_gpus(struct wtl_app *app, struct wtl_io *io, struct wtl_gpu_reader **ret_reader);
/* A meter on that environment, which owns the io. */
int wtl_open_meter(struct wtl_app *app, struct wattle_meter **ret_meter, struct wtl_io **ret_io);
/* Closes it, and says so where a tape could not be written whole. */
void wtl_close_meter(struct wtl_app *app, struct wattle_meter *meter, struct wtl_io *io);

/* replay_command.c: a command as a recording keeps it, as a shell would read it, with $'…' for what is not
 * printable; wtl_command_words() takes it apart. 0 or the buffer's error. */
int wtl_command_text(struct wtl_buf *buf, char *const command[]);

/* sink.c: what a command has to tell, and how it is put into a format. */
struct wtl_result {
	int (*format)(struct wtl_buf *buf, const void *what, const struct wtl_output_ops *output,
		      const struct wtl_output_style *style);
	const void *what;
	size_t max;		  /* bytes */
	bool cannot_be_had_again; /* so it goes to standard error when it cannot be written */
};

/* Writes a result in the format and to the place that the settings say; says so where that fails.
 * 0 or negative errno. */
int wtl_sink_write(struct wtl_app *app, struct wtl_io *io, const struct wtl_result *result);
/* Does the environment say that the terminal takes UTF-8? */
bool wtl_locale_is_utf8(void);
/* Finds out before any work whether the output can be written: over no recording. 0 or negative. */
int wtl_sink_check(struct wtl_app *app);
/* That the tape to be written takes no recording's place; what else is wrong is found by opening it. */
int wtl_sink_check_tape(struct wtl_app *app);

/* child.c */
struct wtl_child {
	int pid;
	int number;	      /* what /proc calls it; 0: not known */
	uint64_t start_ticks; /* by /proc; 0: not known */
	bool ended;
	int wait_status;
	int64_t cpu_ns; /* with those that it, or wattle in its place, waited for */
	uint64_t max_rss_bytes;
};

/* Before wattle changes any signal. */
void wtl_inherited_read(struct wtl_inherited *ret_inherited);
/* Starts the command in wattle's own process group, on its terminal; wattle becomes the parent of its
 * descendants that lose theirs. 0 or negative errno;
 * -WTL_EABSENT: the file is there, but not the interpreter that its first line names. */
int wtl_child_start(struct wtl_child *child, char *const argv[],
		    const struct wtl_inherited *inherited);
/* Says why it could not be started (wtl_child_start()'s code), and returns the exit code that a shell
 * would have for that. */
int wtl_child_complain(struct wtl_app *app, int rc);
/* Takes note if it ended; never waits. Its process stays, so that its accounts can be looked at, until
 * wtl_child_reap(), which also tells the rest. */
void wtl_child_poll(struct wtl_child *child);
/* What it and its descendants that were waited for used, when it has ended and was not reaped; 0: it has not. */
int64_t wtl_child_used_ns(const struct wtl_child *child);
void wtl_child_reap(struct wtl_child *child);
int wtl_child_exit_code(const struct wtl_child *child); /* 128 + N for a signal */

/* loop.c: sampling until the command ends. */

/* A descriptor that is served between samples, for a quarter of the time at the most. */
struct wtl_guest {
	int fd; /* it becomes readable when there is something to do */
	void (*serve)(void *context);
	void *context;
	int64_t served_ns; /* since the last sample */
	bool rests;	   /* until the next one */
};

enum { WTL_GUESTS = 3 };

struct wtl_loop {
	int epoll, timer, signals;
	sigset_t watched;
	int64_t interval_ns;
	bool jitter;
	uint64_t random;
	int64_t due_ns;
	uint64_t late_ticks;
	unsigned interrupts;	       /* signals seen that ask for an end */
	unsigned ctrl_c;	       /* SIGINT among them */
	int last_signal;	       /* the latest of them */
	void (*ticked)(void *context); /* called after each sample; NULL: nobody */
	void *context;
	struct wtl_guest guests[WTL_GUESTS];
	size_t n_guests;
	bool stop; /* somebody within wattle wants the loop to end */
};

int wtl_loop_init(struct wtl_loop *loop, const struct wtl_settings *settings,
		  const struct wtl_inherited *inherited);
void wtl_loop_done(struct wtl_loop *loop);
/* Serves a descriptor from now on. The descriptor stays the caller's. 0 or negative errno. */
int wtl_loop_watch(struct wtl_loop *loop, int fd, void (*serve)(void *context), void *context);
/* Samples (unless the meter is NULL) until the child ends or loop->stop is set (0), or the user
 * insists (-EINTR). */
int wtl_loop_run(struct wtl_loop *loop, struct wattle_meter *meter, struct wtl_io *io,
		 struct wtl_child *child);
/* Samples for that long or until loop->stop is set (0), or until the user wants an end (-EINTR). */
int wtl_loop_idle(struct wtl_loop *loop, struct wattle_meter *meter, struct wtl_io *io,
		  int64_t duration_ns);
/* Whether the user asked for an end, also while nothing ran. */
bool wtl_loop_interrupted(struct wtl_loop *loop);
/* Nothing runs any more, and the report is to be written: only Ctrl-\ still ends wattle, for a
 * report that nobody takes. */
void wtl_loop_finish(struct wtl_loop *loop);

/* child_watch.c: the settings' command, from its start to its end. What goes wrong is said. */

/* wtl_loop_init(), and who is called after each sample. 0 or negative; wtl_loop_done() after 0 only. */
int wtl_loop_open(struct wtl_loop *loop, struct wtl_app *app, void (*ticked)(void *context),
		  void *context);
/* 0, or the exit code that a shell would have. */
int wtl_child_begin(struct wtl_child *child, struct wtl_app *app);
/* Until it ends, is left to itself, or loop->stop is set; as wtl_loop_run(). */
void wtl_child_watch(struct wtl_child *child, const struct wtl_app *app, struct wtl_loop *loop,
		     struct wattle_meter *meter, struct wtl_io *io);
/* Reaps it. Its exit code; of one that goes on, of the signal that left it to itself. */
int wtl_child_end(struct wtl_child *child, const struct wtl_loop *loop);

struct wtl_description;

/* billing.c: who uses what while a window of that name is open, looked at once a second. */
struct wtl_billing {
	struct wtl_app *app;
	struct wattle_meter *meter;
	struct wtl_io *io;
	const char *window;
	struct wtl_consumers *consumers; /* NULL: nobody is followed */
	struct wattle_energy *energies;
	int64_t begin_utc_ns, due_ns;
	uint64_t n_lost_exits, n_unfollowed; /* of struct wtl_workload_means, as of begin() */
	bool learns;			     /* what idle costs is kept by close() */
	bool lacks_command; /* it runs, and nobody knows which of the processes it is */
};

/* Says why the weight that was asked for is not to be had, if so. */
void wtl_remark_weight(const struct wtl_app *app, struct wtl_consumers *consumers);
/* 0, or negative after wtl_complain(). close() in any case; it keeps what was learned of idle. */
int wtl_billing_open(struct wtl_billing *billing, struct wtl_app *app, struct wattle_meter *meter,
		     struct wtl_io *io, const char *window);
void wtl_billing_close(struct wtl_billing *billing);
void wtl_billing_begin(struct wtl_billing *billing); /* right before the window begins */
void wtl_billing_look(void *billing);		     /* after each sample */
void wtl_billing_look_now(struct wtl_billing *billing);
/* Before the last bill, when the command may have ended; NULL: on a tape. */
void wtl_billing_command_ended(struct wtl_billing *billing, const struct wtl_child *child);
/* What stands beside who used it, as notes. */
void wtl_billing_describe(const struct wtl_billing *billing, struct wtl_description *description);
/* What the window has used so far, or at its end. */
void wtl_billing_bill(struct wtl_billing *billing, const struct wattle_window *window,
		      const struct wattle_energy energies[]);
/* Is there a domain whose idle power is learned? Models give theirs. */
bool wtl_billing_can_learn_idle(const struct wtl_billing *billing);
/* What --idle-first asks for; what it does not find out is as it was kept. The recorder may be NULL. 0, or
 * the exit code to stop with. */
int wtl_billing_watch_idle(struct wtl_billing *billing, struct wtl_loop *loop,
			   struct wtl_recorder *recorder);
/* Has the idle power of any domain been learned since begin()? */
bool wtl_billing_learned_idle(const struct wtl_billing *billing);

/* idle.c: idle baselines from one session to the next, for domains of which none is known. Failures are
 * remarks. recorder: is told, too; may be NULL. false: there is no place to keep them, or something else is
 * there. */
bool wtl_idle_load(struct wtl_app *app, struct wattle_meter *meter, struct wtl_consumers *consumers,
		   struct wtl_recorder *recorder);
void wtl_idle_save(struct wtl_app *app, struct wtl_io *io, struct wattle_meter *meter,
		   const struct wtl_consumers *consumers);

/* describe.c: a finished window as a report. */
struct wtl_attributed;

/* Of another machine: what its users are called ("": not known), and UTC when a process started that did so
 * long after the machine. */
struct wtl_naming {
	const char *(*user)(void *context, uint32_t uid);
	int64_t (*start_utc_ns)(void *context, int64_t start_ns);
	void *context;
};

struct wtl_description {
	struct wtl_report_domain *domains;
	struct wtl_report_attribution attribution;
	struct wtl_report_process *processes;
	struct wtl_attributed *attributed; /* what processes[] points to */
	struct wattle_energy *energies;
	const struct wtl_naming *naming; /* NULL: the settings' machine; borrowed */
	size_t n_domains;
	char notes_text[8][512];
	const char *notes[8];
	size_t n_notes;
};

int wtl_description_init(struct wtl_description *description, const struct wattle_meter *meter);
void wtl_description_done(struct wtl_description *description);
void wtl_description_fill(struct wtl_description *description, struct wattle_meter *meter);
/* attribute.c: who used it, the description having been filled; boot_utc_ns: UTC when the machine started,
 * by the clock that the report goes by (not used with a naming). 0 or -ENOMEM: then nobody did. */
int wtl_describe_attribution(struct wtl_description *description,
			     const struct wtl_settings *settings,
			     const struct wtl_consumers *consumers, int64_t boot_utc_ns);
/* What was lost on its way into that, as notes: exit records so many times, and so many processes. */
void wtl_describe_losses(struct wtl_description *description, uint64_t n_exits,
			 uint64_t n_unfollowed);
/* Of the first alone; 0: how often is not known. */
void wtl_describe_lost_exits(struct wtl_description *description, uint64_t n_times);
/* A note that UTC was set by so much in all, if it is worth one, and what is told as times then. */
void wtl_describe_clock_step(struct wtl_description *description, int64_t by_ns, const char *times);
/* Why the command has no account. */
void wtl_describe_no_command(struct wtl_description *description);
void wtl_describe_carbon(const struct wtl_settings *settings, const struct wattle_energy *total,
			 struct wtl_report_carbon *ret_carbon);
/* Rounds it up. */
void wtl_describe_carbon_uncertainty(struct wtl_report_carbon *carbon, double uncertainty_ug);
/* The highest resident memory of this process so far; 0: not known. */
uint64_t wtl_peak_memory_bytes(void);
void wtl_describe_self(struct wattle_meter *meter, struct wtl_report_self *ret_self);
/* What CPU time of that machine costs. */
void wtl_describe_cost(const struct wattle_meter *meter, int64_t cpu_ns,
		       struct wtl_report_self *ret_self);

#endif
