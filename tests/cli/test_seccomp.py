# SPDX-License-Identifier: MIT
"""In containers whose seccomp profile denies system calls: wattle does without, or says why not; it never hangs or spins."""

import errno
import os
import platform
import resource
import subprocess
import sys

import pytest

from conftest import ROOTS, clean_env, command_path, parse_json

XEON = ("--root", ROOTS / "xeon-2s-dram")
CALLS = {  # x86-64's numbers
    "fstatfs": 138, "getrusage": 98, "ioctl": 16, "kill": 62, "wait4": 61, "link": 86, "flock": 73, "sysinfo": 99, "statfs": 137, "prctl": 157,
    "sched_getaffinity": 204, "clock_gettime": 228, "epoll_wait": 232, "epoll_ctl": 233, "waitid": 247, "readlinkat": 267, "fallocate": 285,
    "timerfd_create": 283, "timerfd_settime": 286, "signalfd4": 289, "epoll_create1": 291, "perf_event_open": 298, "prlimit64": 302,
    "getrandom": 318, "memfd_create": 319, "statx": 332, "pidfd_send_signal": 424, "pidfd_open": 434, "openat2": 437, "socket": 41, "bind": 49,
}
# Denies the calls with that error, and becomes the command (prctl(2), seccomp(2): PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP).
LAUNCHER = """
import ctypes, os, struct, sys
error, numbers = int(sys.argv[1]), [int(number) for number in sys.argv[2].split(",")]
steps = [(0x20, 0, 0, 0)]
for number in numbers:
    steps += [(0x15, 0, 1, number), (0x06, 0, 0, 0x00050000 | error)]
steps.append((0x06, 0, 0, 0x7fff0000))
code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
program = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(steps), ctypes.addressof(code)))
libc = ctypes.CDLL(None)
if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, program):
    sys.exit(99)
os.execv(sys.argv[3], sys.argv[3:])
"""


@pytest.fixture(name="deny", autouse=True)
def denied(tmp_path):
    """deny(("waitid",), errno.EPERM, words...): what wattle came to, soon; with so many files open at the most."""
    def start(calls, error, *words, files=None):
        numbers = ",".join(str(CALLS[call]) for call in calls)
        done = subprocess.run([sys.executable, "-S", "-E", "-c", LAUNCHER, str(error), numbers, command_path(), *map(str, words)], check=False,
                              capture_output=True, text=True, timeout=120, cwd=tmp_path, env=clean_env(XDG_STATE_HOME=tmp_path),
                              stdin=subprocess.DEVNULL, preexec_fn=files and (lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))))
        assert "loading shared libraries" not in done.stderr, done
        return done
    if platform.machine() != "x86_64":
        pytest.skip("the numbers of system calls here are x86-64's")
    if subprocess.run([sys.executable, "-S", "-E", "-c", LAUNCHER, "1", "10000", "/bin/true"], check=False).returncode == 99:
        pytest.skip("no seccomp filter can be set here")
    return start


# Without these, all that matters is there all the same.
LIGHT = ["waitid", "wait4", "perf_event_open", "pidfd_open", "pidfd_send_signal", "memfd_create", "statx", "openat2", "getrandom", "sched_getaffinity",
         "sysinfo", "getrusage", "clock_gettime", "socket", "bind", "prctl", "prlimit64", "fallocate", "statfs", "fstatfs", "flock", "link", "readlinkat",
         "ioctl", "kill"]


@pytest.mark.parametrize("error", [errno.EPERM, errno.ENOSYS])
@pytest.mark.parametrize("call", LIGHT)
def test_done_without(deny, call, error, tmp_path):
    done = deny([call], error, "run", "-f", "json", "-o", "report", *XEON, "--", "sh", "-c", "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; exit 7")
    assert done.returncode == 7, done
    report = parse_json((tmp_path / "report").read_text())
    assert report["exit_status"] == 7 and report["command_energy"]["cpu_s"] > 0, report
    done = deny([call], error, "run", "-f", "json", "-o", "-", *XEON, "--", "sh", "-c", "kill -9 $$" if call != "kill" else "exit 137")
    assert done.returncode == 137 and parse_json(done.stdout).get("exit_signal") in (9, None), done
    done = deny([call], error, "compare", "-f", "json", "-r", "2", *XEON, "true", "exit 0")  # the shell's own: it has to wait for others
    assert done.returncode == 0 and len(parse_json(done.stdout)["commands"]) == 2, done
    done = deny([call], error, "record", "-o", "a.wattle", "--duration", "0.2")
    if "built without" not in done.stderr:
        assert done.returncode == 0, done
        assert deny([call], error, "report", "a.wattle", "-f", "json").returncode == 0
    if call in ("perf_event_open", "clock_gettime", "socket", "prctl"):
        assert deny([call], error, "top", "--once", *XEON).returncode == 0
        assert deny([call], error, "doctor", *XEON).returncode in (0, 3)


@pytest.mark.parametrize("error", [errno.EPERM, errno.ENOSYS])
@pytest.mark.parametrize("calls,says", [
    (["waitid", "wait4"], "cannot run 'true': its end could not be seen, as waitid and wait4 are denied here: "),
    (["epoll_wait"], "cannot set up the sampling loop: "),
    (["epoll_ctl"], "cannot set up the sampling loop: "),
    (["epoll_create1"], "cannot set up the sampling loop: "),
    (["timerfd_create"], "cannot set up the sampling loop: "),
    (["timerfd_settime"], "cannot set up the sampling loop: "),
    (["signalfd4"], "cannot set up the sampling loop: "),
])
def test_not_without(deny, calls, says, error):
    done = deny(calls, error, "run", *XEON, "--", "true")
    assert done.returncode == 125 and done.stderr == f"wattle: run: {says}{os.strerror(error)}\n", done
    done = deny(calls, error, "compare", "-r", "1", *XEON, "true", "true")
    assert done.returncode == 125 and says.replace("'true'", "'sh'") in done.stderr, done
    done = deny(calls, error, "record", "-o", "a.wattle", "--", "true")
    assert done.returncode == 125 and (says in done.stderr or "built without" in done.stderr), done


def test_cpu_clocks_of_others(deny):
    """Without them there are steps of 10 ms, of every process, and that is said."""
    done = deny(["clock_gettime"], errno.EPERM, "doctor")
    assert "CPU time in steps of 10 ms" in " ".join(done.stdout.split()), done
    done = deny(["clock_gettime"], errno.EPERM, "run", "-f", "json", "-o", "-", "--", "sh", "-c", "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done")
    assert parse_json(done.stdout)["command_energy"]["cpu_s"] > 0, done
