#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What `wattle top` costs: time to its first picture, CPU time and memory beside many processes.

Each figure stands beside a baseline of the same run. Prints the targets of the issue, and never fails for being slow.
"""

import fcntl
import os
import pty
import select
import statistics
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

REPO = Path(__file__).resolve().parents[1]
BUILD = Path(os.environ.get("WATTLE_BUILD_ROOT", REPO / "build"))
WATTLE = os.environ.get("WATTLE", str(BUILD / "wattle"))
PROCESSES = int(os.environ.get("PROCESSES", "1000"))
SECONDS = float(os.environ.get("SECONDS_WATCHED", "10"))
PAIRS = int(os.environ.get("PAIRS", "11"))


def start(*command):
    """The command on a terminal of 120 x 40."""
    pid, fd = pty.fork()
    if pid == 0:
        env = dict(os.environ, LANG="C.UTF-8", TERM="xterm-256color", XDG_CONFIG_HOME="/nonexistent", LINES="40", COLUMNS="120")
        os.execvpe(command[0], command, env)
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    return pid, fd


def until(fd, text, seconds=20.0):
    seen, end = b"", time.perf_counter() + seconds
    while text not in seen:
        ready, _, _ = select.select([fd], [], [], max(0.0, end - time.perf_counter()))
        if not ready:
            sys.exit(f"{text!r} did not come: {seen!r}")
        seen += os.read(fd, 65536)
    return seen


def drain(fd, seconds):
    """Takes what comes for so long; the number of bytes."""
    n, end = 0, time.perf_counter() + seconds
    while (left := end - time.perf_counter()) > 0:
        ready, _, _ = select.select([fd], [], [], left)
        if ready:
            n += len(os.read(fd, 65536))
    return n


def stop(pid, fd):
    os.write(fd, b"q")
    try:
        while os.read(fd, 65536):
            pass
    except OSError:
        pass
    os.waitpid(pid, 0)
    os.close(fd)


def first_picture(*command):
    begin = time.perf_counter()
    pid, fd = start(*command)
    until(fd, b"DOMAIN")
    took = time.perf_counter() - begin
    stop(pid, fd)
    return took


def first_word():
    """The same for a shell that only says a word: what a terminal and a start cost."""
    begin = time.perf_counter()
    pid, fd = start("/bin/sh", "-c", "echo DOMAIN; read x")
    until(fd, b"DOMAIN")
    took = time.perf_counter() - begin
    os.write(fd, b"\n")
    os.waitpid(pid, 0)
    os.close(fd)
    return took


def cpu_s(pid):
    """Of all threads, to the nanosecond: the ticks of /proc/PID/stat are too coarse for half a percent."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return sum(int((task / "schedstat").read_text(encoding="utf-8").split()[0]) for task in tasks) / 1e9


def memory_kib(pid):
    lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
    return int(next(line for line in lines if line.startswith("VmRSS:")).split()[1])


def read_all_stats():
    """CPU time of one pass over every /proc/PID/stat."""
    buffer = bytearray(4096)
    begin = time.process_time()
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            fd = os.open(f"/proc/{name}/stat", os.O_RDONLY)
        except OSError:
            continue
        try:
            os.readv(fd, [buffer])
        except OSError:
            pass
        os.close(fd)
    return time.process_time() - begin


def watch(*options):
    pid, fd = start(WATTLE, "top", *options)
    until(fd, b"DOMAIN")
    drain(fd, 10.0)  # names and memory are read at first
    before = cpu_s(pid)
    written = drain(fd, SECONDS)
    spent, kib = (cpu_s(pid) - before) / SECONDS, memory_kib(pid)
    stop(pid, fd)
    return spent, kib, written / SECONDS


def main():
    plain = statistics.median(first_word() for _ in range(PAIRS))
    picture = statistics.median(first_picture(WATTLE, "top") for _ in range(PAIRS))
    print(f"first picture: {picture * 1e3:.1f} ms, {picture / plain:.1f} times a shell's first word (target: 50 ms)")

    sleepers = [subprocess.Popen(("sleep", "1000")) for _ in range(PROCESSES)]
    try:
        reading = statistics.median(read_all_stats() for _ in range(5))
        for name, options, target in (("1 s", ("-i", "1000", "-d", "1000"), " (target: 0.5 %, 10 MB)"), ("as it comes", (), "")):
            spent, kib, written = watch(*options)
            print(f"{PROCESSES} processes, {name}: {100 * spent:.2f} % of a CPU{target}, {spent / reading:.2f} times one reading of "
                  f"every /proc/PID/stat a second, {kib / 1024:.1f} MiB, {written / 1024:.1f} KiB/s to the terminal")
    finally:
        for sleeper in sleepers:
            sleeper.kill()
            sleeper.wait()


if __name__ == "__main__":
    main()
