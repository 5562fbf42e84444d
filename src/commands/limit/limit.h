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

/* The options of wattle limit. */
struct wtl_limit_settings {
	struct wtl_gpu_choice gpus;
	const char *state;
	bool has_power, to_default; /* --power default */
	uint64_t power_uw;
	bool has_persistence, persistence;
	bool restore;
	bool for_client; /* works for an agent's client, which is standard input */
	bool hold;	 /* until that client is gone */
};

/* A GPU's settings before, and what wattle set. */
struct wtl_limit_change {
	char gpu[96]; /* its UUID, or its bus id where it has none */
	char bus[32]; /* its bus id, as boards may share a UUID; "": any */
	bool has_power, has_persistence;
	uint64_t before_uw, set_uw;
	bool before_on, set_on;
};

enum { WTL_LIMIT_CHANGES_MAX = 256 };

/* A file that says what has to be put back, and which process will do it as long as it lives. */
struct wtl_limit_hold {
	int pid;
	uint64_t start; /* the process's start time, in the kernel's ticks */
	char pids[40];	/* the PID namespace of that number; "": not known */
	char boot[40];	/* the kernel's boot id */
	size_t n_changes;
	struct wtl_limit_change changes[WTL_LIMIT_CHANGES_MAX];
};

/* ---- state.c: the files, "hold-PID-START" in one folder ---- */

/* The folder: as given, or /var/lib/wattle/limits for root, else below $XDG_STATE_HOME or
 * ~/.local/state. -ENOENT without a HOME, -ENAMETOOLONG. */
int wtl_limit_folder(const char *given, char *ret_path, size_t size);
/* Makes the folder if needed, and waits for other wattle processes to unlock it. Returns a descriptor whose
 * closing unlocks it, or a negative errno. */
int wtl_limit_lock(const char *folder);
/* This process as the owner. 0, or negative where /proc cannot tell. */
int wtl_limit_hold_init(struct wtl_limit_hold *hold);
/* 0 or a negative errno: then nothing may be set. */
int wtl_limit_hold_write(struct wtl_io *io, const char *folder, const struct wtl_limit_hold *hold);
/* -WTL_EFORMAT if the text is not such a file. */
int wtl_limit_hold_parse(const char *text, size_t len, struct wtl_limit_hold *ret_hold);
int wtl_limit_hold_remove(const char *folder, const struct wtl_limit_hold *hold);

/* ELSEWHERE: the PID is of another namespace (a container), so that it cannot be checked here. */
enum wtl_limit_owner { WTL_LIMIT_LIVES, WTL_LIMIT_GONE, WTL_LIMIT_REBOOTED, WTL_LIMIT_ELSEWHERE };

enum wtl_limit_owner wtl_limit_hold_owner(const struct wtl_limit_hold *hold);

/* Calls each() for every file of the folder; the hold is NULL if the file cannot be read. A missing folder
 * counts as empty. */
int wtl_limit_holds(const char *folder,
		    void (*each)(void *context, const char *name,
				 const struct wtl_limit_hold *hold),
		    void *context);

/* ---- apply.c: the GPUs ---- */

/* Does the change concern that GPU? */
bool wtl_limit_is_of(const struct wtl_limit_change *change, const struct wtl_gpu *gpu);

/* Can these GPUs have the settings? 0, or the exit code after a complaint. Tries nothing. */
int wtl_limit_check(struct wtl_app *app, const struct wtl_gpu *gpus, const size_t chosen[],
		    size_t n);
/* Fills in the hold's changes. */
void wtl_limit_plan(const struct wtl_app *app, const struct wtl_gpu *gpus, const size_t chosen[],
		    size_t n, struct wtl_limit_hold *hold);
/* A setting that this user may not change. */
struct wtl_limit_denied {
	unsigned gpu;
	const char *what;
};

/* Sets one GPU. 0; -EPERM or -EACCES without a complaint; or negative after a complaint. */
int wtl_limit_set(struct wtl_app *app, struct wtl_gpu_reader *reader, size_t gpu,
		  const struct wtl_limit_change *change, struct wtl_limit_denied *ret_denied);
void wtl_limit_complain_denied(struct wtl_app *app, const struct wtl_limit_denied *denied);
/* After the GPUs were set and read again: notes the limits that their drivers took. True: they differ from the
 * hold's. */
bool wtl_limit_note_taken(const struct wtl_gpu *gpus, const size_t chosen[],
			  struct wtl_limit_hold *hold);
/*
 * Puts back what a hold changed, except settings that somebody has changed since. Prints what it did. Returns
 * how many changes could not be put back.
 */
size_t wtl_limit_put_back(struct wtl_app *app, struct wtl_gpu_reader *reader,
			  const struct wtl_limit_hold *hold);

/* ---- agent.c: by the machine's agent, whose process does all of the above ---- */

/*
 * Asks the agent to set the plan's limits, and to hold them if a command is to run. Returns a descriptor that
 * holds them until it is closed; -ENOENT: there is no agent; or negative after a complaint.
 */
int wtl_limit_agent_set(struct wtl_app *app, const struct wtl_limit_denied *denied,
			const struct wtl_limit_hold *plan);
/* Asks the agent to put them back, and prints what it did. 0, or negative after a complaint. Closes the descriptor. */
int wtl_limit_agent_release(struct wtl_app *app, int agent);

/* The agent's side: answers with the remarks since the last answer (app->said). */
void wtl_limit_answer(struct wtl_app *app, bool has_failed);
/* 1: the client releases the limits; -1: it is gone; 0: neither. */
int wtl_limit_hear_client(void);

#endif
