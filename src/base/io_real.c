/* SPDX-License-Identifier: MIT */
#include "base/io.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/below.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/exits.h"
#include "base/num.h"
#include "base/outfile.h"
#include "base/packet.h"
#include "base/perf.h"
#include "base/sparse.h"
#include "base/text.h"
#include "base/thread.h"

#define CPU_DIR "/wattle-cpu" /* of a root */

enum {
	LIBS_MAX = 8,
	EXITS_MAX = 4,
	EXIT_LINE_MAX = 16384, /* in the file that stands for the kernel's datagrams */
	ATTRIBUTE_MAX = 1024,  /* a first answer shorter than this is all there is */
	PID_MAX = 1 << 22,     /* the kernel's own limit */
};

/* A place is taken and given back under the lock. Between the two, its user alone looks at it. */
struct real_lib {
	bool used;
	void *loaded; /* NULL: not (yet) */
	const struct wtl_lib_function *functions;
	void **found; /* one a function, NULL where missing */
	size_t n;
};

/* One listener to exits: the kernel's socket, or below a root a file. */
struct real_exits {
	bool used, is_ahead; /* opened before anybody asked */
	struct wtl_exits kernel;
	int file;
	size_t at; /* in the file: the first line that was not read */
};

struct real {
	struct wtl_io io;
	int root; /* a descriptor, or -1 for the machine itself */
	struct real_exits exits[EXITS_MAX];
	pthread_mutex_t libs_lock; /* over `used` of libs[] */
	struct real_lib libs[LIBS_MAX];
};

static struct real *real_of(struct wtl_io *io)
{
	return (struct real *)io;
}

static int path_open(const struct real *real, const char *path, int flags)
{
	int fd;

	if (real->root >= 0)
		return wtl_below_open(real->root, path, flags);
	if (path[0] != '/')
		return -EINVAL;
	fd = open(path, flags | O_CLOEXEC);
	return fd >= 0 ? fd : -errno;
}

/* The error that a file of a root stands for ("!errno EACCES"), negative, or 0. */
static int errno_written(const char *text, size_t len)
{
	static const char mark[] = "!errno ";
	size_t skip = sizeof(mark) - 1;
	int code;

	if (len <= skip || memcmp(text, mark, skip) != 0)
		return 0;
	code = wtl_err_from_name(text + skip, wtl_text_trimmed(text + skip, len - skip));
	return code ? -code : -EIO;
}

static int real_file_open(struct wtl_io *io, const char *path)
{
	const struct real *real = real_of(io);
	/* Not blocking: a FIFO in a root must not hang the program. */
	int fd = path_open(real, path, O_RDONLY | O_NOCTTY | O_NONBLOCK);
	char start[48];
	ssize_t len;
	int rc;

	if (fd < 0 || real->root < 0)
		return fd;
	len = pread(fd, start, sizeof(start), 0);
	rc = len > 0 ? errno_written(start, (size_t)len) : 0;
	if (rc == 0)
		return fd;
	close(fd);
	return rc;
}

static ssize_t pread_retried(int fd, void *buf, size_t size, size_t offset)
{
	ssize_t n;

	do
		n = pread(fd, buf, size, (off_t)offset);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

static ssize_t real_file_read(struct wtl_io *io, int file, void *buf, size_t size)
{
	const struct real *real = real_of(io);
	size_t len = 0;

	while (len < size) {
		ssize_t n = pread_retried(file, (char *)buf + len, size - len, len);

		if (n < 0)
			return n;
		len += (size_t)n;
		/* An attribute comes whole; asking it for more would make the kernel read the
		 * hardware a second time. */
		if (n == 0 || len < ATTRIBUTE_MAX)
			break;
	}
	if (real->root >= 0) {
		int rc = errno_written(buf, len);

		if (rc < 0)
			return rc;
	}
	return (ssize_t)len;
}

static void real_file_close(struct wtl_io *io, int file)
{
	(void)io;
	if (file >= 0)
		close(file);
}

static ssize_t real_link_read(struct wtl_io *io, const char *path, char *buf, size_t size)
{
	int fd = path_open(real_of(io), path, O_PATH | O_NOFOLLOW);
	ssize_t len;

	if (fd < 0)
		return fd;
	len = readlinkat(fd, "", buf, size);
	if (len < 0)
		/* An empty name answers so for what is no link. */
		len = errno == ENOENT ? -EINVAL : -errno;
	close(fd);
	if (len < 0)
		return len;
	if ((size_t)len >= size)
		return -ENAMETOOLONG;
	buf[len] = '\0';
	return len;
}

static int compare_names(const void *left, const void *right)
{
	const char *const *a = left, *const *b = right;

	return strcmp(*a, *b);
}

/* Sorts the n names from offset `from` on, through a copy of their bytes. */
static int names_sort(struct wtl_buf *names, size_t from, size_t n)
{
	size_t bytes = names->len - from;
	const char **places = calloc(n, sizeof(*places));
	char *copy = malloc(bytes), *to = names->data + from;

	if (!places || !copy) {
		free(places);
		free(copy);
		return -ENOMEM;
	}
	memcpy(copy, to, bytes);
	for (size_t i = 0, at = 0; i < n; i++) {
		places[i] = copy + at;
		at += strlen(copy + at) + 1;
	}
	qsort(places, n, sizeof(*places), compare_names);
	for (size_t i = 0; i < n; i++)
		to = stpcpy(to, places[i]) + 1;
	free(places);
	free(copy);
	return 0;
}

/* Appends the names of the open directory. Returns how many, or a negative errno. */
static int names_add(int fd, struct wtl_buf *names)
{
	char entries[16384] __attribute__((aligned(8)));
	int n = 0;

	for (;;) {
		ssize_t len = getdents64(fd, entries, sizeof(entries));

		if (len < 0)
			return -errno;
		if (len == 0)
			return n;
		for (ssize_t at = 0; at < len;) {
			const struct dirent64 *entry = (const void *)(entries + at);

			at += entry->d_reclen;
			if (entry->d_name[0] == '.')
				continue;
			if (wtl_buf_add(names, entry->d_name, strlen(entry->d_name) + 1) < 0)
				return names->error;
			n++;
		}
	}
}

static int real_dir_read(struct wtl_io *io, const char *path, struct wtl_buf *names)
{
	struct real *real = real_of(io);
	int fd = path_open(real, path, O_RDONLY | O_DIRECTORY);
	size_t from = names->len;
	int n, rc = 0;

	if (fd < 0)
		return fd;
	n = names_add(fd, names);
	close(fd);
	if (n > 1)
		rc = names_sort(names, from, (size_t)n);
	return rc < 0 ? rc : n;
}

/* "COUNT ENABLED RUNNING" */
static int count_parse(const char *text, size_t len, struct wtl_perf_count *ret_count)
{
	uint64_t numbers[3];

	len = wtl_text_trimmed(text, len);
	for (size_t i = 0; i < 3; i++) {
		const char *space = i < 2 ? memchr(text, ' ', len) : NULL;
		size_t part = space ? (size_t)(space - text) : len;

		if (wtl_num_u64(text, part, &numbers[i]) < 0 || (i < 2 && !space) ||
		    (i > 0 && numbers[i] > INT64_MAX))
			return -EINVAL;
		text += part + (space != NULL);
		len -= part + (space != NULL);
	}
	*ret_count = (struct wtl_perf_count){numbers[0], (int64_t)numbers[1], (int64_t)numbers[2]};
	return 0;
}

static int real_perf_open(struct wtl_io *io, const struct wtl_perf_event *event)
{
	bool is_task = event->task > 0;
	char path[64];

	if (real_of(io)->root < 0)
		return wtl_perf_open(event);
	snprintf(path, sizeof(path), "/wattle-perf/%" PRIu32 "-%" PRIx64 "-%s%d", event->type,
		 event->config, is_task ? "task" : "", is_task ? event->task : event->cpu);
	return real_file_open(io, path);
}

static int real_perf_read(struct wtl_io *io, int file, uint64_t *ret_value)
{
	char text[64];
	ssize_t len;

	if (real_of(io)->root < 0)
		return wtl_perf_read(file, ret_value);
	len = real_file_read(io, file, text, sizeof(text));
	return len < 0 ? (int)len : wtl_num_u64(text, (size_t)len, ret_value);
}

static int real_perf_count(struct wtl_io *io, int file, struct wtl_perf_count *ret_count)
{
	char text[96];
	ssize_t len;

	if (real_of(io)->root < 0)
		return wtl_perf_count(file, ret_count);
	len = real_file_read(io, file, text, sizeof(text));
	return len < 0 ? (int)len : count_parse(text, (size_t)len, ret_count);
}

/* In a directory that stands for a machine, this machine's libraries have no say. */
static bool lib_allowed(const struct real *real, const char *name)
{
	return real->root < 0 || strchr(name, '/');
}

/* By a path: the loader would wait for ever where it is a pipe. */
static bool is_other_kind(const char *name)
{
	struct stat st;

	return strchr(name, '/') && stat(name, &st) == 0 && !S_ISREG(st.st_mode);
}

static void *lib_load(const struct real *real, const char *const names[], int *ret_code,
		      struct wtl_err *err)
{
	*ret_code = wtl_err_set(err, WTL_EABSENT, "dlopen", names[0],
				"not loaded: the root directory stands for another machine");
	for (size_t i = 0; names[i]; i++) {
		const char *why;
		void *loaded;

		if (!lib_allowed(real, names[i]))
			continue;
		if (is_other_kind(names[i])) {
			*ret_code = wtl_err_set(err, WTL_ELIBRARY, "dlopen", names[i], "%s: %s",
						names[i], wtl_err_text(WTL_ENOTFILE));
			continue;
		}
		loaded = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
		if (loaded)
			return loaded;
		why = dlerror();
		/* A library that is there but does not load is worth more words than one that is
		 * not there: its reason is kept. */
		if (*ret_code == -WTL_ELIBRARY)
			continue;
		if (why && strstr(why, strerror(ENOENT)))
			*ret_code = wtl_err_set(err, WTL_EABSENT, "dlopen", names[i], "%s", why);
		else
			*ret_code = wtl_err_set(err, WTL_ELIBRARY, "dlopen", names[i], "%s",
						why ? why : "cannot be loaded");
	}
	return NULL;
}

static struct real_lib *lib_place_take(struct real *real)
{
	struct real_lib *lib = NULL;

	pthread_mutex_lock(&real->libs_lock);
	for (size_t i = 0; i < LIBS_MAX && !lib; i++)
		if (!real->libs[i].used)
			lib = &real->libs[i];
	if (lib)
		lib->used = true;
	pthread_mutex_unlock(&real->libs_lock);
	return lib;
}

static void lib_place_give_back(struct real *real, struct real_lib *lib)
{
	pthread_mutex_lock(&real->libs_lock);
	lib->used = false;
	pthread_mutex_unlock(&real->libs_lock);
}

static int lib_fill(const struct real *real, struct real_lib *lib, const char *const names[],
		    const struct wtl_lib_function functions[], size_t n_functions,
		    struct wtl_err *err)
{
	int rc;
	void *loaded = lib_load(real, names, &rc, err);
	void **found;

	if (!loaded)
		return rc;
	found = calloc(n_functions ? n_functions : 1, sizeof(found[0]));
	if (!found) {
		dlclose(loaded);
		return wtl_err_set(err, ENOMEM, "dlopen", names[0], "out of memory");
	}
	for (size_t i = 0; i < n_functions; i++)
		found[i] = dlsym(loaded, functions[i].symbol);
	lib->loaded = loaded;
	lib->functions = functions;
	lib->found = found;
	lib->n = n_functions;
	return 0;
}

static int real_lib_open(struct wtl_io *io, const char *const names[],
			 const struct wtl_lib_function functions[], size_t n_functions,
			 struct wtl_err *err)
{
	struct real *real = real_of(io);
	struct real_lib *lib;
	int rc;

	if (!names[0])
		return wtl_err_set(err, EINVAL, "dlopen", NULL, "no library named");
	lib = lib_place_take(real);
	if (!lib)
		return wtl_err_set(err, EMFILE, "dlopen", names[0], "too many libraries");
	rc = lib_fill(real, lib, names, functions, n_functions, err);
	if (rc < 0) {
		lib_place_give_back(real, lib);
		return rc;
	}
	return (int)(lib - real->libs);
}

static struct real_lib *lib_at(struct wtl_io *io, int lib)
{
	struct real *real = real_of(io);

	if (lib < 0 || lib >= LIBS_MAX || !real->libs[lib].loaded)
		return NULL;
	return &real->libs[lib];
}

static bool real_lib_has(struct wtl_io *io, int lib, size_t function)
{
	const struct real_lib *at = lib_at(io, lib);

	return at && function < at->n && at->found[function];
}

static int real_lib_call(struct wtl_io *io, int lib, size_t function, struct wtl_lib_arg args[],
			 int *ret_answer)
{
	const struct real_lib *at = lib_at(io, lib);

	if (!at || function >= at->n)
		return -EINVAL;
	if (!at->found[function])
		return -ENOSYS;
	*ret_answer = at->functions[function].thunk(at->found[function], args);
	return 0;
}

static void real_lib_close(struct wtl_io *io, int lib)
{
	struct real_lib *at = lib_at(io, lib);

	if (!at)
		return;
	dlclose(at->loaded);
	free(at->found);
	at->loaded = NULL;
	at->found = NULL;
	lib_place_give_back(real_of(io), at);
}

/* The clock that counts the CPU time of a process: the kernel's own numbering, see
 * clock_getcpuclockid(3), which would ask the kernel once more whether there is such a process. */
static int64_t pid_cpu_ns(int pid)
{
	clockid_t clock = (clockid_t)(~(unsigned)pid << 3 | 2);
	struct timespec time;

	/* 0 would be ourselves. */
	if (pid <= 0 || pid > PID_MAX)
		return -ESRCH;
	if (clock_gettime(clock, &time) < 0)
		return errno == EINVAL ? -ESRCH : -errno;
	return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

/* A whole file of the root, not counted as a call (--fault). */
static ssize_t root_slurp(struct wtl_io *io, const char *path, char *buf, size_t size)
{
	int file = real_file_open(io, path);
	ssize_t len;

	if (file < 0)
		return file;
	len = real_file_read(io, file, buf, size);
	close(file);
	return len;
}

static int64_t file_cpu_ns(struct wtl_io *io, int pid)
{
	char path[32], text[64];
	uint64_t value;
	ssize_t rc;

	snprintf(path, sizeof(path), CPU_DIR "/%d", pid);
	rc = root_slurp(io, path, text, sizeof(text));
	if (rc >= 0)
		rc = wtl_num_u64(text, (size_t)rc, &value);
	if (rc < 0)
		return rc == -ENOENT ? -ESRCH : rc;
	return value <= INT64_MAX ? (int64_t)value : -ERANGE;
}

static int real_process_cpu(struct wtl_io *io, const int pids[], int64_t cpu_ns[], size_t n)
{
	char none[1];

	if (real_of(io)->root < 0) {
		for (size_t i = 0; i < n; i++) {
			cpu_ns[i] = pid_cpu_ns(pids[i]);
			/* The call itself is denied, as by a container's seccomp profile. */
			if (cpu_ns[i] < 0 && cpu_ns[i] != -ESRCH)
				return -EOPNOTSUPP;
		}
		return 0;
	}
	if (root_slurp(io, CPU_DIR, none, 0) == -ENOENT)
		return -EOPNOTSUPP;
	for (size_t i = 0; i < n; i++)
		cpu_ns[i] = file_cpu_ns(io, pids[i]);
	return 0;
}

static int real_exits_open(struct wtl_io *io)
{
	struct real *real = real_of(io);
	struct real_exits *exits = NULL;
	int rc;

	for (size_t i = 0; i < EXITS_MAX && !exits; i++)
		if (!real->exits[i].used || real->exits[i].is_ahead)
			exits = &real->exits[i];
	if (!exits)
		return -EMFILE;
	if (exits->is_ahead) {
		exits->is_ahead = false;
		return (int)(exits - real->exits);
	}
	exits->at = 0;
	if (real->root < 0) {
		rc = wtl_exits_open(&exits->kernel);
	} else {
		rc = real_file_open(io, "/wattle-exits");
		exits->file = rc;
	}
	if (rc < 0)
		return rc;
	exits->used = true;
	return (int)(exits - real->exits);
}

static struct real_exits *exits_at(struct wtl_io *io, int file)
{
	struct real *real = real_of(io);

	if (file < 0 || file >= EXITS_MAX || !real->exits[file].used)
		return NULL;
	return &real->exits[file];
}

/* The next line of the file; one that is not finished has not come yet. */
static ssize_t exits_line(struct real_exits *exits, void *buf, size_t size)
{
	for (;;) {
		char text[EXIT_LINE_MAX];
		ssize_t n = pread_retried(exits->file, text, sizeof(text), exits->at);
		const char *end = n > 0 ? memchr(text, '\n', (size_t)n) : NULL;
		size_t len;
		int rc;

		if (n == (ssize_t)sizeof(text) && !end) {
			exits->at += sizeof(text);
			return -EMSGSIZE;
		}
		if (!end)
			return n < 0 ? n : 0;
		len = wtl_text_trimmed(text, (size_t)(end - text));
		exits->at += (size_t)(end - text) + 1;
		if (len == 0)
			continue;
		rc = errno_written(text, len);
		return rc < 0 ? rc : wtl_sparse_parse(text, len, buf, size);
	}
}

static ssize_t real_exits_read(struct wtl_io *io, int file, void *buf, size_t size)
{
	struct real_exits *exits = exits_at(io, file);

	if (!exits)
		return -EBADF;
	if (real_of(io)->root >= 0)
		return exits_line(exits, buf, size);
	return wtl_exits_read(&exits->kernel, buf, size);
}

static void real_exits_close(struct wtl_io *io, int file)
{
	struct real_exits *exits = exits_at(io, file);

	if (!exits)
		return;
	if (real_of(io)->root >= 0)
		close(exits->file);
	else
		wtl_exits_close(&exits->kernel);
	exits->used = false;
}

static int real_agent_open(struct wtl_io *io)
{
	return wtl_packet_connect_below(real_of(io)->root, WTL_AGENT_SOCKET, WTL_AGENT_TIMEOUT_MS);
}

static ssize_t real_agent_ask(struct wtl_io *io, int agent, const char *question, char *answer,
			      size_t size)
{
	(void)io;
	return wtl_packet_ask(agent, question, answer, size, WTL_AGENT_TIMEOUT_MS);
}

static int64_t real_clock_ns(struct wtl_io *io, enum wtl_clock clock)
{
	static const clockid_t ids[] = {
		[WTL_CLOCK_MONO] = CLOCK_MONOTONIC,
		[WTL_CLOCK_BOOT] = CLOCK_BOOTTIME,
		[WTL_CLOCK_REAL] = CLOCK_REALTIME,
	};
	struct timespec now;
	int64_t t_ns;

	(void)io;
	if (clock_gettime(ids[clock], &now) < 0)
		return 0;
	/* UTC can be set to what 64 bits of nanoseconds do not hold. */
	if (__builtin_mul_overflow((int64_t)now.tv_sec, INT64_C(1000000000), &t_ns) ||
	    __builtin_add_overflow(t_ns, (int64_t)now.tv_nsec, &t_ns))
		return INT64_MAX;
	return t_ns;
}

static int real_wait_until(struct wtl_io *io, int64_t t_mono_ns)
{
	struct timespec until = wtl_thread_timespec(t_mono_ns > 0 ? t_mono_ns : 0);

	/* Setting a timer for a time that has passed costs far more than looking at the clock. */
	if (real_clock_ns(io, WTL_CLOCK_MONO) >= t_mono_ns)
		return 0;
	return -clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
}

static ssize_t write_retried(int fd, const void *data, size_t len)
{
	ssize_t n;

	do
		n = write(fd, data, len);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

static int file_write(const struct real *real, int fd, const void *data, size_t len)
{
	char start[48];
	ssize_t n;
	int rc;

	if (real->root >= 0) {
		n = pread_retried(fd, start, sizeof(start), 0);
		rc = n > 0 ? errno_written(start, (size_t)n) : 0;
		if (rc < 0)
			return rc;
	}
	n = write_retried(fd, data, len);
	if (n < 0)
		return (int)n;
	if ((size_t)n != len)
		return -EIO;
	/* An attribute of the kernel holds the new value only, so must what stands for it. */
	if (real->root >= 0 && ftruncate(fd, (off_t)len) < 0)
		return -errno;
	return 0;
}

static int real_file_write(struct wtl_io *io, const char *path, const void *data, size_t len)
{
	const struct real *real = real_of(io);
	/* Below a root it is also read, to see whether it stands for an error. */
	int access = real->root >= 0 ? O_RDWR : O_WRONLY;
	int fd = path_open(real, path, access | O_NOCTTY | O_NONBLOCK), rc;

	if (fd < 0)
		return fd;
	rc = file_write(real, fd, data, len);
	close(fd);
	return rc;
}

static int real_out_write(struct wtl_io *io, const char *path, const void *data, size_t len,
			  enum wtl_out_mode mode)
{
	(void)io;
	return wtl_outfile_write(path, data, len, mode, io->file_mode);
}

static void real_free(struct wtl_io *io)
{
	struct real *real = real_of(io);

	for (int i = 0; i < LIBS_MAX; i++)
		real_lib_close(io, i);
	for (int i = 0; i < EXITS_MAX; i++)
		real_exits_close(io, i);
	if (real->root >= 0)
		close(real->root);
	pthread_mutex_destroy(&real->libs_lock);
	free(real);
}

static const struct wtl_io_ops real_ops = {
	.file_open = real_file_open,
	.file_read = real_file_read,
	.file_close = real_file_close,
	.link_read = real_link_read,
	.dir_read = real_dir_read,
	.perf_open = real_perf_open,
	.perf_read = real_perf_read,
	.perf_count = real_perf_count,
	.perf_close = real_file_close,
	.lib_open = real_lib_open,
	.lib_has = real_lib_has,
	.lib_call = real_lib_call,
	.lib_close = real_lib_close,
	.process_cpu = real_process_cpu,
	.exits_open = real_exits_open,
	.exits_read = real_exits_read,
	.exits_close = real_exits_close,
	.agent_open = real_agent_open,
	.agent_ask = real_agent_ask,
	.agent_close = real_file_close,
	.clock_ns = real_clock_ns,
	.wait_until = real_wait_until,
	.file_write = real_file_write,
	.out_write = real_out_write,
	.free = real_free,
};

void wtl_io_real_open_exits(struct wtl_io *io)
{
	int file = io->ops == &real_ops ? real_exits_open(io) : -1;

	if (file >= 0)
		real_of(io)->exits[file].is_ahead = true;
}

/* Leaves real->root at -1 when the root is the machine's own. */
static int root_open(struct real *real, const char *root, struct wtl_err *err)
{
	struct stat here, machine;
	int code;

	real->root = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (real->root < 0 || fstat(real->root, &here) < 0 || stat("/", &machine) < 0) {
		code = errno;
		return wtl_err_set(err, code, "root", root,
				   "%s: the root must be a directory that holds sys and proc",
				   wtl_err_text(code));
	}
	if (here.st_dev == machine.st_dev && here.st_ino == machine.st_ino) {
		close(real->root);
		real->root = -1;
	}
	return 0;
}

int wtl_io_real_new(const char *root, struct wtl_io **ret_io, struct wtl_err *err)
{
	struct real *real = calloc(1, sizeof(*real));
	int rc = 0;

	if (!real)
		return wtl_err_set(err, ENOMEM, "io", NULL, "out of memory");
	real->io.ops = &real_ops;
	real->root = -1;
	pthread_mutex_init(&real->libs_lock, NULL);
	if (root)
		rc = root_open(real, root, err);
	if (rc < 0) {
		real_free(&real->io);
		return rc;
	}
	*ret_io = &real->io;
	return 0;
}
