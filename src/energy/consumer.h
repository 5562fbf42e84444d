/* SPDX-License-Identifier: MIT */
#ifndef WTL_ENERGY_CONSUMER_H
#define WTL_ENERGY_CONSUMER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Words for whoever energy is attributed to. A consumer is a process, known by (pid, start), or a
 * row that stands for several that ended.
 */

enum wtl_consumer_state {
	WTL_CONSUMER_LIVE,
	WTL_CONSUMER_EXITED, /* it ended; its account stays */
	WTL_CONSUMER_KERNEL, /* a kernel thread */
	WTL_CONSUMER_FOLDED, /* ended processes in one row: n_processes of them */
};

/* Where a control group says that a process belongs; each "" where it does not say. */
struct wtl_group {
	char cgroup[256]; /* the path, v2 or the most telling v1 one */
	char unit[96];	  /* systemd: "ssh.service", "session-3.scope" */
	char container[80]; /* "docker/3f1c…" (12 digits), "podman/…", "containerd/…", "lxc/NAME" */
	char pod[64];	    /* Kubernetes pod UID */
	char job[64];	    /* "slurm/123" */
	char step[16]; /* of the job: "0", "batch", "extern"; the cgroup's path alone says it */
};

/* Fills in the step, as its cgroup and job say. */
void wtl_group_find_step(struct wtl_group *group);

enum { WTL_COMMAND_SIZE = 256 };

/* What is known of a consumer beside its energy. Strings are cleaned for printing; whoever has the consumer has what
 * it points to. */
struct wtl_consumer {
	enum wtl_consumer_state state;
	int pid;      /* 0 for a folded row */
	int parent;   /* its parent's pid; 0: none or not known */
	uint32_t uid; /* UINT32_MAX: not known */
	/* How many stand behind it: 1 for a process; for a row those that were seen to end, 0 where it only
	 * has time that nobody was seen to use (parents and control groups tell of it). */
	uint32_t n_processes;
	uint16_t sets;	 /* the chosen sets that it is in, a bit each (wtl_workload_choose_…) */
	bool is_in_tree; /* descends from the command that is followed */
	/* False: the system does not let us see more than its CPU time; of a row, not even that. */
	bool is_readable;
	char name[32];	     /* comm */
	int64_t start_ns;    /* since boot; 0: not known */
	const char *command; /* arguments, at most WTL_COMMAND_SIZE with the 0; NULL: not known */
	const struct wtl_group *group; /* NULL: not known */
	int64_t cpu_ns;		       /* CPU time within the attribution */
	int64_t counted_ns; /* of cpu_ns, weighed by what the hardware counted in it (--weight) */
	uint32_t
		watts_key; /* with whom its watts are learned (meter/learned.h); 0: with everybody else */
	uint32_t gpu_ppm;   /* of one GPU, over the last interval: SM use; UINT32_MAX: not known */
	uint32_t cpu_ppm;   /* of one CPU, over the last interval */
	uint32_t n_threads; /* 0: not known */
	/* Memory, bytes; UINT64_MAX: not known. */
	uint64_t rss_bytes, pss_bytes, uss_bytes;
	uint64_t gpu_memory_bytes;
};

/* What a second of a consumer's CPU time was learned to draw, above idle, in all domains that count: the same as its power
 * while it keeps one CPU busy. */
struct wtl_per_cpu {
	uint64_t power_uw;	 /* 0: nothing was learned of it */
	uint64_t uncertainty_uw; /* k = 2 */
};

/* What was attributed to a consumer or to several together. */
struct wtl_share_energy {
	bool has_dynamic; /* an idle baseline is known for every domain that was billed */
	uint64_t full_uj;
	uint64_t dynamic_uj;	      /* 0 where it is not known */
	uint64_t uncertainty_uj;      /* of the dynamic part, else of the full one: k = 2 */
	uint64_t full_uncertainty_uj; /* of the full one */
	/* The parts of uncertainty_uj that idle power and weights cause: standard (k = 1). */
	uint64_t idle_doubt_uj, weight_doubt_uj;
	uint64_t full_weight_doubt_uj; /* the same of full_uncertainty_uj, by the weight alone */
};

/* Adds a share. The first one says whether there is a dynamic part, and each that has none takes it away. The
 * ± add up: those of the same domains mostly come from the same sensors. */
void wtl_share_energy_add(struct wtl_share_energy *sum, const struct wtl_share_energy *more,
			  bool is_first);

/* The sum of CPU times, as far as they are known; < 0: none is. Begins with -1. */
int64_t wtl_consumer_cpu_add(int64_t sum_ns, int64_t more_ns);

/* Its CPU time; < 0: not known, as of a process that only a GPU's driver sees. */
int64_t wtl_consumer_cpu_ns(const struct wtl_consumer *consumer);

#endif
