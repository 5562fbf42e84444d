/* SPDX-License-Identifier: MIT */
#include "profile/python_memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "base/array.h"

/* Blocks not visited in this many walks are dropped. */
enum { WALKS_KEPT = 16, PARTS_MAX = 64 };

static int read_process(void *context, int pid, const struct wtl_python_part parts[], size_t n)
{
	struct iovec here[PARTS_MAX], there[PARTS_MAX];

	(void)context;
	for (size_t done = 0; done < n;) {
		size_t k = 0;
		ssize_t all = 0, got;

		for (; done < n && k < PARTS_MAX; k++, done++) {
			here[k] = (struct iovec){parts[done].to, parts[done].size};
			there[k] = (struct iovec){(void *)(uintptr_t)parts[done].address,
						  parts[done].size};
			all += (ssize_t)parts[done].size;
		}
		got = process_vm_readv(pid, here, k, there, k, 0);
		if (got != all)
			return got < 0 ? -errno : -EFAULT;
	}
	return 0;
}

const struct wtl_python_memory wtl_python_memory_real = {.read = read_process};

int wtl_python_memory_read(const struct wtl_python_memory *memory, int pid, uint64_t address,
			   void *to, size_t size)
{
	const struct wtl_python_part part = {address, to, size};

	return memory->read(memory->context, pid, &part, 1);
}

/* ---- Snapshots ---- */

void wtl_python_snapshot_done(struct wtl_python_snapshot *snapshot)
{
	free(snapshot->blocks);
	free(snapshot->bytes);
	free(snapshot->parts);
	*snapshot = (struct wtl_python_snapshot){.n = 0};
}

static void drop_old(struct wtl_python_snapshot *snapshot)
{
	size_t n = 0;

	for (size_t i = 0; i < snapshot->n; i++) {
		struct wtl_python_block block = snapshot->blocks[i];

		if (snapshot->walk - block.used_at > WALKS_KEPT)
			continue;
		block.slot = (uint32_t)n;
		snapshot->blocks[n++] = block;
	}
	snapshot->n = n;
}

int wtl_python_snapshot_take(struct wtl_python_snapshot *snapshot,
			     const struct wtl_python_memory *memory, int pid,
			     const struct wtl_python_part before[],
			     const struct wtl_python_part after[], size_t n)
{
	struct wtl_python_part *parts;
	size_t n_parts = n;
	int rc;

	drop_old(snapshot);
	if (wtl_array_reserve(&snapshot->parts, &snapshot->room_parts, snapshot->n + 2 * n,
			      sizeof(*snapshot->parts)) < 0)
		return -ENOMEM;
	parts = snapshot->parts;
	snapshot->walk++;
	snapshot->is_whole = true;
	memcpy(parts, before, n * sizeof(*parts));
	for (size_t i = 0; i < snapshot->n; i++) {
		uint64_t address = snapshot->blocks[i].address;

		if (i > 0 && parts[n_parts - 1].address + parts[n_parts - 1].size == address)
			parts[n_parts - 1].size += WTL_PYTHON_BLOCK;
		else
			parts[n_parts++] = (struct wtl_python_part){
				address, snapshot->bytes + i * WTL_PYTHON_BLOCK, WTL_PYTHON_BLOCK};
	}
	memcpy(parts + n_parts, after, n * sizeof(*parts));
	rc = memory->read(memory->context, pid, parts, n_parts + n);
	if (rc < 0)
		snapshot->n = 0;
	return rc;
}

/* The block's index, or the one to insert it at. */
static size_t place_of(const struct wtl_python_snapshot *snapshot, uint64_t address)
{
	return address == 0
		       ? 0
		       : WTL_ADDRESSES_UP_TO(snapshot->blocks, snapshot->n, address, address - 1);
}

static int add_block(struct wtl_python_snapshot *snapshot, const struct wtl_python_memory *memory,
		     int pid, size_t at, uint64_t address)
{
	struct wtl_python_block *blocks;
	uint32_t slot = (uint32_t)snapshot->n;
	int rc;

	if (snapshot->n >= WTL_PYTHON_BLOCKS)
		return -E2BIG;
	if (wtl_array_reserve(&snapshot->blocks, &snapshot->room, snapshot->n + 1,
			      sizeof(*snapshot->blocks)) < 0 ||
	    wtl_array_reserve(&snapshot->bytes, &snapshot->room_bytes, snapshot->n + 1,
			      WTL_PYTHON_BLOCK) < 0)
		return -ENOMEM;
	rc = wtl_python_memory_read(memory, pid, address,
				    snapshot->bytes + (size_t)slot * WTL_PYTHON_BLOCK,
				    WTL_PYTHON_BLOCK);
	if (rc < 0)
		return rc;
	blocks = snapshot->blocks;
	memmove(&blocks[at + 1], &blocks[at], (snapshot->n - at) * sizeof(*blocks));
	blocks[at] = (struct wtl_python_block){.address = address, .slot = slot};
	snapshot->n++;
	snapshot->is_whole = false;
	return 0;
}

int wtl_python_snapshot_get(struct wtl_python_snapshot *snapshot,
			    const struct wtl_python_memory *memory, int pid, uint64_t address,
			    void *to, size_t size)
{
	uint8_t *out = to;

	while (size > 0) {
		uint64_t begin = address & ~(uint64_t)(WTL_PYTHON_BLOCK - 1);
		size_t offset = (size_t)(address - begin), at = place_of(snapshot, begin);
		size_t part = WTL_PYTHON_BLOCK - offset;

		part = part < size ? part : size;
		if (at == snapshot->n || snapshot->blocks[at].address != begin) {
			int rc = add_block(snapshot, memory, pid, at, begin);

			if (rc < 0)
				return rc;
		}
		snapshot->blocks[at].used_at = snapshot->walk;
		memcpy(out,
		       snapshot->bytes + (size_t)snapshot->blocks[at].slot * WTL_PYTHON_BLOCK +
			       offset,
		       part);
		address += part;
		out += part;
		size -= part;
	}
	return 0;
}
