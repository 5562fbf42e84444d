#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What `wattle top` costs: time to its first picture, CPU time and memory beside many processes, and all of that beside nvtop.

Each figure stands beside a baseline of the same run, and never fails for being slow.

nvtop (installed, or fetched from Debian) and wattle watch the same fake library, eight GPUs with sixteen processes, each at a
picture a second, in turn, in a PID namespace of their own: nvtop looks at the GPUs' processes alone, wattle at everybody's, and what
else runs here shall not decide.
"""

import contextlib
import fcntl
import os
import pty
import select
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import time
from pathlib import Path

REPO = Path(__file__).resolve().parents[1]
sys.path.append(str(REPO / "tests" / "cli"))

import nvtop  # noqa: E402

BUILD = Path(os.environ.get("WATTLE_BUILD_ROOT", REPO / "build"))
WATTLE = os.environ.get("WATTLE", str(BUILD / "wattle"))
PROCESSES = int(os.environ.get("PROCESSES", "1000"))
SECONDS = float(os.environ.get("SECONDS_WATCHED", "10"))
PAIRS = int(os.environ.get("PAIRS", "11"))
ROUNDS = int(os.environ.get("ROUNDS", "3"))
FAKE = BUILD / "tests" / "fake" / "libnvidia-ml.so.1"
INSIDE = "BENCH_TOP_INSIDE"
GPUS, GPU_PROCESSES = 8, 16
GPU = """\
gpu NVIDIA H100 80GB HBM3
  bus 00000000:{bus:02X}:00.0
  uuid GPU-{bus:08x}-0000-4000-8000-000000000000
  power 0 const 312
  sensor counter gpu 100
  sensor average gpu 100 1000
  sensor usage gpu 100
  memory 81559 600 0
  temperature 58
  utilization 81 34 0 0
  clocks 1710 1710 2619 1500 1980 1980 2619 1950
  pcie 100000 200000
  state 0 - 0
  limit 700 700 200 700
"""


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
    """Of all threads, also those that ended, by the process's clock: the ticks of /proc/PID/stat are too coarse for half a percent."""
    return time.clock_gettime((~pid << 3) | 2)


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


# ---- Beside nvtop ----

def gpus_script(pids):
    text = "driver 550.54.15\n"
    for i in range(GPUS):
        text += GPU.format(bus=16 + i)
        text += "".join(f"  process {pid} C {1500 + k} {40 + k} 20 0 0\n" for k, pid in enumerate(pids[i::GPUS]))
    return text


@contextlib.contextmanager
def gpu_users(folder):
    """The driver's process numbers are those of the host. wattle takes them for its own only where process 2 is kthreadd. In a PID
    namespace of its own, process 2 is the first one that is started here, so it is given that name."""
    second = Path(folder) / "kthreadd"
    if not second.exists():
        second.symlink_to(shutil.which("sleep"))
    users = [subprocess.Popen(command) for command in ((second, "1000"), *[("sleep", "4321")] * GPU_PROCESSES)]
    try:
        yield [user.pid for user in users[1:]]
    finally:
        for user in users:
            user.kill()
            user.wait()


def start_alone():
    """CPU time of a program that does nothing, with what starting it on a terminal costs."""
    pid, fd = start("true")
    with contextlib.suppress(OSError):
        while os.read(fd, 65536):
            pass
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    spent = cpu_s(pid)
    os.waitpid(pid, 0)
    os.close(fd)
    return spent


def look_once(command, mark):
    """Milliseconds to the first picture of the GPUs, and to one with a GPU's process: that passed, and of CPU time."""
    begin = time.perf_counter()
    pid, fd = start(*command)
    seen = until(fd, mark)
    gpus, gpus_cpu = time.perf_counter(), cpu_s(pid)
    if b"4321" not in seen:
        until(fd, b"4321")
    users, users_cpu = time.perf_counter(), cpu_s(pid)
    stop(pid, fd)
    alone = start_alone()
    return tuple(value * 1e3 for value in (gpus - begin, users - begin, gpus_cpu - alone, users_cpu - alone))


def watch_once(command, mark):
    """Milliseconds of CPU time a second, and MiB: resident, and of that what is no file's. A share of the files' pages (PSS) would say
    more of who else uses them: nvtop's is 2.6 MiB while a second nvtop runs, and 3.2 MiB else."""
    pid, fd = start(*command)
    until(fd, mark)
    drain(fd, 4.0)
    before = cpu_s(pid)
    drain(fd, SECONDS)
    spent = (cpu_s(pid) - before) / SECONDS * 1e3
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="utf-8").splitlines()
    own = int(next(line for line in lines if line.startswith("Anonymous:")).split()[1])
    kib = memory_kib(pid)
    stop(pid, fd)
    return spent, kib / 1024, own / 1024


def beside(monitor):
    """Both in turn."""
    tools = {
        "nvtop": ((str(monitor),), b"Device %d" % (GPUS - 1)),
        "wattle top": ((WATTLE, "top", "-i", "1000", "-d", "1000", "--nvml", str(FAKE)), b"gpu-%d" % (GPUS - 1)),
        "not drawn": ((WATTLE, "top", "-i", "1000", "-d", "10000", "--nvml", str(FAKE)), b"gpu-%d" % (GPUS - 1)),
        "without processes": ((WATTLE, "top", "-i", "1000", "-d", "1000", "--no-processes", "--nvml", str(FAKE)), b"gpu-%d" % (GPUS - 1)),
    }
    watched = list(tools)[:2]
    firsts = {name: [] for name in watched}
    costs = {name: [] for name in tools}
    for _ in range(PAIRS):
        for name in watched:
            firsts[name].append(look_once(*tools[name]))
    for _ in range(ROUNDS):
        for name, tool in tools.items():
            costs[name].append(watch_once(*tool))
    rows = {name: [statistics.median(values) for values in zip(*costs[name])] for name in tools}
    for name in watched:
        rows[name] = [statistics.median(values) for values in zip(*firsts[name])] + rows[name]
    for name in list(tools)[2:]:
        rows[name] = [None] * 4 + rows[name]
    print(f"{GPUS} GPUs, {GPU_PROCESSES} processes, a picture a second: median, and times nvtop's")
    for i, what in enumerate(("first picture of the GPUs, ms", "first with their processes, ms", "CPU time to the first, ms",
                              "CPU time to their processes, ms", "CPU time, ms/s", "RSS, MiB", "of it anonymous, MiB")):
        for name, row in rows.items():
            if row[i] is not None:
                print(f"  {what:32} {name:18} {row[i]:7.2f}  {row[i] / rows['nvtop'][i]:5.2f}")


def inside():
    monitor, folder = sys.argv[1:]
    with gpu_users(folder) as pids:
        script = Path(folder) / "gpus.nvml"
        script.write_text(gpus_script(pids), encoding="utf-8")
        os.environ.update(WATTLE_FAKE_NVML=str(script), LD_LIBRARY_PATH=str(FAKE.parent), XDG_STATE_HOME=folder, XDG_CACHE_HOME=folder)
        beside(monitor)


def beside_nvtop():
    with tempfile.TemporaryDirectory() as folder:
        try:
            monitor = nvtop.find(Path(folder))
        except nvtop.Missing as why:
            print(why)
            return
        enter = ["unshare", *(() if os.geteuid() == 0 else ("--map-root-user",)), "--pid", "--fork", "--mount-proc"]
        if subprocess.run([*enter, "true"], capture_output=True, check=False).returncode != 0:
            print("(no PID namespace can be had: other processes count)")
            enter = []
        subprocess.run([*enter, sys.executable, "-B", __file__, str(monitor), folder], env=dict(os.environ, **{INSIDE: "1"}), check=True)


def main():
    if os.environ.get(INSIDE):
        inside()
        return
    beside_nvtop()
    if os.environ.get("ONLY_NVTOP"):
        return
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
