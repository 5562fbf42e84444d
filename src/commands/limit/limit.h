/* SPDX-License-Identifier: MIT */
#ifndef WTL_COMMANDS_LIMIT_LIMIT_H
#define WTL_COMMANDS_LIMIT_LIMIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/io.h"
#include "commands/query/query.h"
#include "energy/gpu.h"

struct wtl_app;
struct wtl_gpu_reader;

/* What the options of wattle limit say. */
struct wtl_limit_settings {
	struct wtl_gpu_choice gpus;
	const char *state;
	bool has_power, to_default; /* --power default */
	uint64_t power_uw;
	bool has_persistence, persistence;
	bool restore;
	bool for_client; /* an agent's, who is at standard input */
	bool hold;	 /* until that one is gone */
};

/* What a GPU's settings were, and what wattle made of them. */
struct wtl_limit_change {
	char gpu[96]; /* its UUID, or its bus id where it has none */
	char bus[32]; /* its bus id, for boards that were made with one UUID; "": any */
	bool has_power, has_persistence;
	uint64_t before_uw, set_uw;
	bool before_on, set_on;
};

enum { WTL_LIMIT_CHANGES_MAX = 256 };

/* A file that says what has to be put back, and who will: a process, until it is gone. */
struct wtl_limit_hold {
	int pid;
	uint64_t start; /* the process's start time, in the kernel's ticks */
	char pids[40];	/* the PID namespace in which that process has that number; "": not known */
	char boot[40];	/* the kernel's boot id */
	size_t n_changes;
	struct wtl_limit_change changes[WTL_LIMIT_CHANGES_MAX];
};

/* ---- limit_state.c: the files, "hold-PID-START" in one folder ---- */

/* The folder: as given, or /var/lib/wattle/limits for root, else below $XDG_STATE_HOME or
 * ~/.local/state. -ENOENT without a HOME, -ENAMETOOLONG. */
int wtl_limit_folder(const char *given, char *ret_path, size_t size);
/* Makes the folder where needed, and waits until no other wattle is at it. Returns a descriptor, whose
 * closing lets the others in, or a negative errno. */
int wtl_limit_lock(const char *folder);
/* This process as the owner. 0, or negative where /proc cannot tell. */
int wtl_limit_hold_init(struct wtl_limit_hold *hold);
/* 0 or a negative errno: then nothing may be set. */
int wtl_limit_hold_write(struct wtl_io *io, const char *folder, const struct wtl_limit_hold *hold);
/* -WTL_EFORMAT for what is no such file. */
int wtl_limit_hold_parse(const char *text, size_t len, struct wtl_limit_hold *ret_hold);
int wtl_limit_hold_remove(const char *folder, const struct wtl_limit_hold *hold);

/* ELSEWHERE: it is counted in another PID namespace (a container), so that nobody here can tell. */
enum wtl_limit_owner { WTL_LIMIT_LIVES, WTL_LIMIT_GONE, WTL_LIMIT_REBOOTED, WTL_LIMIT_ELSEWHERE };

enum wtl_limit_owner wtl_limit_hold_owner(const struct wtl_limit_hold *hold);

/* Calls each() for every file of the folder; a file that cannot be read has NULL for a hold. A
 * folder that is not there is empty. */
int wtl_limit_holds(const char *folder,
		    void (*each)(void *context, const char *name,
				 const struct wtl_limit_hold *hold),
		    void *context);

/* ---- limit_apply.c: the GPUs ---- */

/* Is that the GPU of a change? */
bool wtl_limit_is_of(const struct wtl_limit_change *change, const struct wtl_gpu *gpu);

/* Are the settings possible for these GPUs? 0, or the exit code after a complaint; nothing is tried. */
int wtl_limit_check(struct wtl_app *app, const struct wtl_gpu *gpus, const size_t chosen[],
		    size_t n);
/* What would change, for the hold. */
void wtl_limit_plan(const struct wtl_app *app, const struct wtl_gpu *gpus, const size_t chosen[],
		    size_t n, struct wtl_limit_hold *hold);
/* What this user may not set. */
struct wtl_limit_denied {
	unsigned gpu;
	const char *what;
};

/* Sets one GPU. 0; -EPERM or -EACCES, which is not complained of yet; or negative after a complaint. */
int wtl_limit_set(struct wtl_app *app, struct wtl_gpu_reader *reader, size_t gpu,
		  const struct wtl_limit_change *change, struct wtl_limit_denied *ret_denied);
void wtl_limit_complain_denied(struct wtl_app *app, const struct wtl_limit_denied *denied);
/* The GPUs have been set, and read anew: what their drivers made of the limits. True: something else
 * than the hold said. */
bool wtl_limit_note_taken(const struct wtl_gpu *gpus, const size_t chosen[],
			  struct wtl_limit_hold *hold);
/*
 * Puts back what a hold changed, but for what someone else has set anew since. Tells what it did.
 * Returns how many changes could not be put back.
 */
size_t wtl_limit_put_back(struct wtl_app *app, struct wtl_gpu_reader *reader,
			  const struct wtl_limit_hold *hold);

/* ---- agent.c: through the machine's agent, whose process does all of the above ---- */

/*
 * Asks it to set the plan's limits, and to hold them if a command is to run. A descriptor, which holds them until it is
 * closed; -ENOENT: there is no agent; or negative after a complaint.
 */
int wtl_limit_agent_set(struct wtl_app *app, const struct wtl_limit_denied *denied,
			const struct wtl_limit_hold *plan);
/* It is to put them back, and says what it did. 0, or negative after a complaint. Closes the descriptor. */
int wtl_limit_agent_release(struct wtl_app *app, int agent);

/* The agent's side: what has been said since the last answer (app->said) is the next one. */
void wtl_limit_answer(struct wtl_app *app, bool has_failed);
/* Has the client said that it is done (1), is it gone (-1), or neither (0)? */
int wtl_limit_hear_client(void);

#endif
