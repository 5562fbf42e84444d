/* SPDX-License-Identifier: MIT */
#ifndef WTL_COMMANDS_QUERY_QUERY_H
#define WTL_COMMANDS_QUERY_QUERY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/io.h"
#include "energy/units.h"
#include "smi/smi.h"

struct wtl_app;
struct wtl_buf;
struct wattle_meter;
struct wtl_gpu_reader;

enum wtl_query_form {
	WTL_QUERY_LINES,
	WTL_QUERY_DOCUMENT,
	WTL_QUERY_CSV,
	WTL_QUERY_LIST,
	WTL_QUERY_XML,
	WTL_QUERY_LOG,
	WTL_QUERY_MON, /* dmon, pmon */
};

/* The least span of a mean power, some twenty updates of a processor's counter. The first look takes this long,
 * and reads the GPUs meanwhile. */
#define WTL_LOOKER_GLANCE_NS (20 * WTL_NS_PER_MS)

/* Which GPUs: all, unless one of these is given. */
struct wtl_gpu_choice {
	const char
		*ids; /* indices, UUIDs, bus ids and serial numbers, as nvidia-smi's -i has them */
	const char *list; /* as CUDA_VISIBLE_DEVICES has it */
};

/* The complaint about it, or NULL. */
const char *wtl_gpu_choice_check(const struct wtl_gpu_choice *choice);

/* Repeated looks at GPUs and domains (look.c). */
struct wtl_looker {
	struct wtl_app *app;
	struct wattle_meter *meter;
	struct wtl_io *io;
	struct wtl_gpu_reader *reader;
	unsigned what;	  /* WTL_GPU_READ_… to read */
	bool asks_meter;  /* for energies and mean powers */
	bool only_chosen; /* domains of other GPUs are left out of a look, and of its sums */
	size_t *chosen;	  /* indices into the reader's GPUs */
	struct wtl_gpu *gpus;
	size_t n_chosen;
	struct wtl_look_meter *meters, *domain_meters;
	struct wtl_report_domain *domains;
	struct wattle_energy *window,
		*step; /* one a domain: since the first look, since the last */
	size_t n_domains;
	int64_t glance_end_ns; /* the first mean power is at this time; 0: not wanted */
	char user[64];
};

/* Opens the machine and finds the GPUs. 0, or the exit code after a complaint. */
int wtl_looker_init(struct wtl_looker *looker, struct wtl_app *app,
		    const struct wtl_gpu_choice *choice, unsigned what, bool asks_meter);
void wtl_looker_done(struct wtl_looker *looker);
/* Samples until t_mono_ns. 0, or negative: the tape has ended, or a signal came. */
int wtl_looker_wait(struct wtl_looker *looker, int64_t t_mono_ns);
/* Reads all wanted parts. The look is borrowed until the next one. */
void wtl_looker_look(struct wtl_looker *looker, struct wtl_look *ret_look);

/* Can samples overwrite each other on standard output, a terminal? */
bool wtl_redraw_is_possible(void);
/* Appends the text so that it does: as many lines as fit, each cut at the edge. *lines begins at 0, and is kept for
 * the next call. */
void wtl_redraw(struct wtl_buf *buf, const char *text, size_t *lines);

/*
 * The indices in gpus[] of the GPUs named by a list of indices, UUIDs, bus ids and serial numbers, in the order
 * of gpus[]. Returns how many; -ENOENT: *ret_bad is a word that names none.
 */
int wtl_gpu_choose(const struct wtl_gpu *gpus, size_t n, const char *ids, size_t ret_chosen[],
		   const char **ret_bad);
/* The same for a list like CUDA_VISIBLE_DEVICES (gpu/visible.h), which names NVIDIA's GPUs only. MIG devices are
 * known after the numbers were read. */
int wtl_gpu_choose_visible(const struct wtl_gpu *gpus, size_t n, const char *list,
			   size_t ret_chosen[], const char **ret_bad);
/* The same for a reader's GPUs, as an array to be freed. 0, or -ENOENT or -ENOMEM after a complaint. */
int wtl_gpus_choose(struct wtl_app *app, struct wtl_gpu_reader *reader,
		    const struct wtl_gpu_choice *choice, size_t **ret_chosen, size_t *ret_n);

#endif
