/* SPDX-License-Identifier: MIT */
/*
 * By how much a CPU-bound command is slowed down while another process runs: this program is the command.
 * It counts in turns of some milliseconds, in half of which the other one is stopped (SIGSTOP), so that
 * a neighbour's load on the machine, which comes and goes, is the same in both. Prints the median of the
 * turns' ratios less 1, and the ends of the interval that has the true median in 95 of 100 cases.
 *
 *	bench_slowdown PID TURNS MILLISECONDS
 */
#include <math.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>
#include <time.h>

/* Steps between two looks at the clock: some 10 us. */
#define STEPS 20000

static volatile uint64_t sum;

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

/* How fast it counts over so many nanoseconds. */
static double count(int64_t duration_ns)
{
	int64_t begin_ns = now_ns(), t_ns;
	uint64_t done = 0;

	do {
		for (uint64_t i = 0; i < STEPS; i++)
			sum += i;
		done++;
		t_ns = now_ns();
	} while (t_ns - begin_ns < duration_ns);
	return (double)done / (double)(t_ns - begin_ns);
}

static double count_while(pid_t pid, int signal, int64_t duration_ns)
{
	if (kill(pid, signal) < 0) {
		perror("bench_slowdown: kill");
		exit(EXIT_FAILURE);
	}
	return count(duration_ns);
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
	pid_t pid = argc > 3 ? atoi(argv[1]) : 0;
	long n = argc > 3 ? atol(argv[2]) : 0;
	int64_t duration_ns = argc > 3 ? atoll(argv[3]) * 1000000 : 0;
	double *slower;
	long edge;

	if (pid <= 0 || n < 10 || n > 1000000 || duration_ns <= 0)
		return EXIT_FAILURE;
	slower = calloc((size_t)n, sizeof(*slower));
	if (!slower)
		return EXIT_FAILURE;
	for (long i = 0; i < n; i++) {
		int first = i % 2 ? SIGCONT : SIGSTOP;
		double before = count_while(pid, first, duration_ns);
		double after = count_while(pid, first == SIGSTOP ? SIGCONT : SIGSTOP, duration_ns);

		slower[i] = first == SIGSTOP ? before / after - 1 : after / before - 1;
	}
	kill(pid, SIGCONT);
	qsort(slower, (size_t)n, sizeof(*slower), compare);
	/* Binomial: the rank of a median is spread by sqrt(n) / 2. */
	edge = (long)(0.98 * sqrt((double)n));
	printf("%.6f %.6f %.6f\n", slower[n / 2], slower[n / 2 - edge], slower[n / 2 + edge]);
	free(slower);
	return EXIT_SUCCESS;
}
