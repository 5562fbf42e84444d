# SPDX-License-Identifier: MIT
"""Whom `wattle run` must not take for the command's: children that wattle had before, and what an earlier run left
behind; and whom it must know under another namespace's /proc, or however its end falls between two questions."""

import os
import shlex
import shutil
import subprocess

import pytest

from conftest import TIMEOUT, clean_env, command_path, parse_json, run_wattle
from test_consumers import BURN, attributed, folder_for_everybody, python  # noqa: F401 (the fixture)
from test_top import screens  # noqa: F401 (the fixture "screen")
from test_ledger import ALL, NOBODY, check_ledger

# Of CPU time: far more than the commands here use themselves, and far less than what they are not to have.
BURNT_S, OWN_S = 0.8, 0.4


def measure(shell, *, before=(), env=None, code=0):
    """What a shell's line came to, in which $wattle is `wattle run` with what these tests want of it."""
    wattle = (command_path(), "run", "-o", "-", "-q", "-i", "20", "-f", "json", *ALL)
    done = subprocess.run([*before, "bash", "-c", shell.replace("$wattle", shlex.join(map(str, wattle)))],
                          capture_output=True, text=True, env=env or clean_env(), cwd="/", timeout=TIMEOUT, check=False)
    if before and done.returncode in (126, 127):
        pytest.skip("others cannot run this build")
    assert done.returncode == code, done.stderr
    report = parse_json(done.stdout)
    for one in report.get("runs", [report]):
        if "processes" in one:
            check_ledger(one)
    return report


def burner(*lines):
    return shlex.join(python("import os, time", BURN, *lines))


def check_is_small(report):
    """Neither by the kernel's account nor by wattle's has the command what it did not use."""
    energy = attributed(report)
    assert float(energy["cpu_s"]) < OWN_S, energy
    assert float(energy["attributed_cpu_s"]) < OWN_S, energy
    assert not [row for row in report["processes"] if row["in_command"] and float(row["cpu_s"]) >= OWN_S]


def wait_for(fifo):
    return f"open({str(fifo)!r}).read()"


@pytest.fixture(name="fifos")
def three_fifos(tmp_path):
    """burnt: the stranger has. go: it may go on. gone: at its end when the stranger, which holds its other end, is no
    more."""
    paths = [tmp_path / name for name in ("burnt", "go", "gone")]
    for path in paths:
        os.mkfifo(path)
    return paths


def wait_until_gone(go, gone):
    """The command's, in a shell. It goes on for a little: the stranger is waited for, and is no zombie any more."""
    return f"exec 4<{gone}; echo >{go}; cat <&4; sleep 0.2"


@pytest.mark.parametrize("when", ("before", "meanwhile"))
def test_older_child_is_not_the_commands(fifos, when):
    """A shell that becomes wattle leaves it a child, which burns before the command runs or meanwhile, and ends in
    either case while it does."""
    burnt, go, gone = fifos
    burn = f"burn({BURNT_S})"
    lines = [burn, f"open({str(burnt)!r}, 'w').close()", wait_for(go)] if when == "before" else [wait_for(go), burn]
    wait = f"cat {burnt};" if when == "before" else ""
    command = shlex.join(("sh", "-c", wait_until_gone(go, gone)))
    check_is_small(measure(f"{burner(*lines)} 3<>{gone} & {wait} exec $wattle -- {command}"))


def test_orphan_of_an_earlier_run(fifos, tmp_path):
    """The first run leaves one behind, which burns and ends during the second."""
    _, go, gone = fifos
    first = tmp_path / "first"
    first.touch()
    orphan = f"{burner(wait_for(go), f'burn({BURNT_S})')} 3<>{gone} >/dev/null 2>&1 &"
    command = f"if [ -e {first} ]; then rm {first}; {orphan} else {wait_until_gone(go, gone)}; fi"
    for report in measure(f"exec $wattle --repeat 2 -- sh -c {shlex.quote(command)}")["runs"]:
        check_is_small(report)


def test_own_orphan_is_the_commands():
    """One of the command's that loses its parent, and ends before the command does, is still told to wattle alone."""
    command = python("import os, time", BURN, "r, w = os.pipe()",
                     "if os.fork() == 0:",
                     f" if os.fork() == 0: burn({BURNT_S}); os._exit(0)",
                     " os._exit(0)",
                     "os.wait(); os.close(w); os.read(r, 1); time.sleep(0.2)")
    energy = attributed(measure(f"exec $wattle -- {shlex.join(command)}"))
    assert float(energy["cpu_s"]) >= BURNT_S
    assert float(energy["attributed_cpu_s"]) == pytest.approx(float(energy["cpu_s"]), rel=0.03)


# ---- /proc of another PID namespace ----

def unshared():
    before = ("unshare", "-pf")
    if not shutil.which("unshare") or subprocess.run([*before, "true"], capture_output=True, check=False).returncode:
        pytest.skip("no PID namespace can be made here")
    return before


def test_proc_of_another_namespace():
    """/proc is the outer one's: wattle and the command have other numbers there than the system calls say."""
    report = measure(f"exec $wattle -- {burner(f'burn({BURNT_S})', 'time.sleep(0.2)')}", before=unshared())
    energy = attributed(report)
    mine = [row for row in report["processes"] if row["in_command"] and "pid" in row]
    assert energy["processes"] == len(mine) == 1, report["processes"]
    assert mine[0]["name"].startswith("python") and mine[0]["pid"] > 2
    assert float(energy["attributed_cpu_s"]) == pytest.approx(float(energy["cpu_s"]), abs=0.05)


def test_orphan_under_the_proc_of_another_namespace():
    command = python("import os, time", BURN, "r, w = os.pipe()",
                     "if os.fork() == 0:",
                     f" if os.fork() == 0: burn({BURNT_S}); time.sleep(1.2); os._exit(0)",
                     " os._exit(0)",
                     # Its end of the pipe is closed a moment before it has ended.
                     "os.wait(); os.close(w); os.read(r, 1); time.sleep(0.3)")
    report = measure(f"exec $wattle -- {shlex.join(command)}", before=unshared())
    energy = attributed(report)
    assert 1 <= energy["processes"] <= 3, energy
    assert float(energy["attributed_cpu_s"]) == pytest.approx(float(energy["cpu_s"]), abs=0.1)
    assert float(energy["cpu_s"]) >= BURNT_S


# ---- An end between two questions ----

LATE = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/wait.h>
#include <time.h>
/* The first answer that nobody has ended comes so late that the command has, meanwhile. */
int waitid(idtype_t type, id_t id, siginfo_t *info, int options)
{
	static int (*real)(idtype_t, id_t, siginfo_t *, int);
	static int n;
	struct timespec pause = {1, 200000000};
	int rc;

	if (!real)
		real = (int (*)(idtype_t, id_t, siginfo_t *, int))dlsym(RTLD_NEXT, "waitid");
	rc = real(type, id, info, options);
	if (rc == 0 && info->si_pid == 0 && n++ == 0)
		nanosleep(&pause, NULL);
	return rc;
}
"""


def test_end_between_two_questions(open_folder):
    """Whatever has ended by then, the command is not waited for before its use is told: without privilege, and much too
    short to be looked at, all that is known of it is what the kernel tells whoever waits."""
    if os.geteuid() != 0 or not shutil.which("setpriv") or not shutil.which("cc"):
        pytest.skip("needs root and setpriv to give privilege up, and a C compiler")
    source, late = open_folder / "late.c", open_folder / "late.so"
    source.write_text(LATE)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", late, source, "-ldl"], check=True)
    report = measure(f"exec $wattle -- {burner(f'burn({OWN_S})')}", before=NOBODY,
                     env=clean_env(LD_PRELOAD=late, HOME=None))
    energy = attributed(report)
    assert float(energy["cpu_s"]) >= OWN_S
    assert float(energy["attributed_cpu_s"]) == pytest.approx(float(energy["cpu_s"]), rel=0.01, abs=0.001)


def test_command_under_the_proc_of_an_inner_namespace():
    """wattle is nobody in that /proc: the command has no account, and that is said."""
    if not shutil.which("nsenter"):
        pytest.skip("needs nsenter")
    inner = subprocess.Popen([*unshared(), "--mount-proc", "sh", "-c", "echo; exec sleep 60"], stdout=subprocess.PIPE)
    try:
        inner.stdout.readline()
        children = f"/proc/{inner.pid}/task/{inner.pid}/children"
        pid = open(children, encoding="ascii").read().split()[0]
        report = measure(f"exec $wattle -- {burner(f'burn({OWN_S})')}", before=("nsenter", "-m", "-t", pid))
    finally:
        inner.kill()
        inner.wait()
        subprocess.run(["kill", "-9", pid], check=False)
    assert any("PID namespace" in note for note in report["notes"]), report["notes"]
    assert "attributed_cpu_s" not in attributed(report)
    assert not any(row["in_command"] for row in report["processes"])


# ---- What was lost ----

def lost(*options, at):
    fault = f"exits:{at}:ENOBUFS"
    return run_wattle(*options[:1], "-q", "--fault", fault, *options[1:])


def needs_exits():
    ways = {way["way"]: way for way in run_wattle("doctor", "-f", "json").json["ways"]}
    if not ways["exit records"]["is_used"]:
        pytest.skip("there are no exit records without privilege")


def test_lost_records_are_told():
    """The kernel drops some where more come than are taken: told by the run that it happened in, in every format that
    has notes."""
    needs_exits()
    children = ("--", "sh", "-c", "i=0; while [ $i -lt 500 ]; do /bin/true; i=$((i+1)); done")
    report = lost("run", "-f", "json", *children, at=250).json
    assert [note for note in report["notes"] if note.startswith("Records of processes that ended were lost (1 time")]
    text = lost("run", *children, at=250).out
    assert "Records of processes that ended were lost (1 time" in " ".join(text.split())
    runs = lost("run", "-f", "json", "--repeat", "2", *children, at=250).json["runs"]
    told = [any("ended were lost" in note for note in run["notes"]) for run in runs]
    assert told == [True, False]
    assert not [note for note in lost("run", "-f", "json", "--", "true", at=10 ** 9).json["notes"] if "lost" in note]


def test_lost_records_are_told_of_a_recording(tmp_path):
    """Where it was is a gap; what follows from it is a note, as in the report that is made at once."""
    needs_exits()
    children = ("--", "sh", "-c", "i=0; while [ $i -lt 500 ]; do /bin/true; i=$((i+1)); done; sleep 0.2")
    lost("run", "-o", "/dev/null", "--record", tmp_path / "lost.wattle", *children, at=250)
    report = run_wattle("report", "-f", "json", tmp_path / "lost.wattle").json
    assert [gap for gap in report["gaps"] if gap["kind"] == "exits"]
    (note,) = [note for note in report["notes"] if note.startswith("Records of processes that ended were lost (because")]
    text = run_wattle("report", tmp_path / "lost.wattle").out
    assert "- " + note in " ".join(text.split())
    run_wattle("run", "-o", "/dev/null", "--record", tmp_path / "none.wattle", "--", "true")
    assert not [note for note in run_wattle("report", "-f", "json", tmp_path / "none.wattle").json["notes"] if "lost" in note]


def test_top_tells_of_lost_records(screen):
    """For some seconds, where the keys stand otherwise."""
    needs_exits()
    top = screen("--fault", "exits:30:ENOBUFS")
    top.wait("Records of ended processes were lost 1 time")
    top.wait("F10Quit")


def test_doctor_tells_of_lost_records():
    needs_exits()
    ways = {way["way"]: way for way in lost("doctor", "-f", "json", at=2).json["ways"]}
    assert ways["exit records"]["is_used"]
    assert "some were lost" in ways["exit records"]["reason"]
    assert "some were lost" in " ".join(lost("doctor", at=2).out.split())
