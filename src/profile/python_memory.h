/* SPDX-License-Identifier: MIT */
#ifndef WTL_PROFILE_PYTHON_MEMORY_H
#define WTL_PROFILE_PYTHON_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The memory of another process, which runs on while it is read. */

struct wtl_python_part {
	uint64_t address;
	void *to;
	size_t size;
};

struct wtl_python_memory {
	/* Reads all parts, as near to one moment as can be. 0 or negative errno. */
	int (*read)(void *context, int pid, const struct wtl_python_part parts[], size_t n);
	void *context;
};

/* process_vm_readv(). */
extern const struct wtl_python_memory wtl_python_memory_real;

int wtl_python_memory_read(const struct wtl_python_memory *memory, int pid, uint64_t address,
			   void *to, size_t size);

/*
 * A copy of the blocks that a walk along pointers visited. Before the next walk all are copied again in one call, so
 * that it sees one moment unless it visits other blocks.
 */
enum { WTL_PYTHON_BLOCK = 512, WTL_PYTHON_BLOCKS = 1024 };

struct wtl_python_block {
	uint64_t address;
	uint32_t slot;	  /* in `bytes`, counted in blocks */
	uint32_t used_at; /* the last walk that came here */
};

struct wtl_python_snapshot {
	struct wtl_python_block *blocks; /* by address */
	uint8_t *bytes;
	struct wtl_python_part *parts; /* to be copied together */
	size_t n, room, room_bytes, room_parts;
	uint32_t walk;
	bool is_whole; /* all that the walk came to so far was copied before it began */
};

void wtl_python_snapshot_done(struct wtl_python_snapshot *snapshot);
/*
 * Copies the blocks again and begins a walk. The same call reads the n parts of `before` first and the n of `after`
 * last. 0 or negative; after a failed read the snapshot is empty.
 */
int wtl_python_snapshot_take(struct wtl_python_snapshot *snapshot,
			     const struct wtl_python_memory *memory, int pid,
			     const struct wtl_python_part before[],
			     const struct wtl_python_part after[], size_t n);
/* Copies from the snapshot; a block that it lacks is read now and added. 0 or negative. */
int wtl_python_snapshot_get(struct wtl_python_snapshot *snapshot,
			    const struct wtl_python_memory *memory, int pid, uint64_t address,
			    void *to, size_t size);

#endif
