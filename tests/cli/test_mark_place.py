# SPDX-License-Identifier: MIT
"""Where recordings listen: a directory that is this user's alone, whoever that is, and what is said where there is none."""

import os
import re
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

import pytest

from conftest import clean_env, command_path, run_wattle, wait_for

NOBODY = 65534
# A machine's /run of one's own: nothing of this test is left in the real one.
OWN_RUN = 'mount -t tmpfs -o mode=0755 none /run && mkdir -p -m 700 /run/user/0 && exec "$@"'
SAYS_WHERE = ("sh", "-c", 'echo "$WATTLE_MARK"')


@pytest.fixture(name="home")
def homes():
    """A short path, for sockets."""
    if run_wattle("record", "--stop", "/no/such/file").code == 2:
        pytest.skip("this wattle was built without recordings")
    home = Path(tempfile.mkdtemp(prefix="wt-", dir="/tmp"))
    yield home
    shutil.rmtree(home)


def as_root(*args):
    """The words that run these as root of a mount namespace."""
    if subprocess.run(["unshare", "-rm", "sh", "-c", OWN_RUN, "sh", "true"], check=False, capture_output=True).returncode:
        pytest.skip("no mount namespace of one's own can be made here")
    return ["unshare", "-rm", "sh", "-c", OWN_RUN, "sh", *map(str, args)]


def as_nobody(home, *args):
    """The words that run these as a user without privileges, whose the home becomes."""
    if os.geteuid() != 0:
        return [*map(str, args)]
    subprocess.run(["chown", "-Rh", f"{NOBODY}:{NOBODY}", home], check=True)
    return ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", *map(str, args)]


def run(words, home, **env):
    variables = {"XDG_RUNTIME_DIR": None, "XDG_STATE_HOME": None, "HOME": None, "WATTLE_MARK": None, **env}
    return subprocess.run(words, check=False, capture_output=True, text=True, timeout=60, cwd=home, env=clean_env(**variables))


def recording(home, name="a.wattle"):
    return (command_path(), "record", "-q", "--no-processes", "-o", home / name, "--", *SAYS_WHERE)


def directory(told, boot):
    """Of the socket, whose name has to end as it should."""
    socket = told.stdout.strip()
    assert told.returncode == 0 and socket, told
    number = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii")[:8]
    assert re.fullmatch(rf"record-\d+{'[.]' + number if boot else ''}[.]sock", os.path.basename(socket)), socket
    return os.path.dirname(socket)


STATE = ".local/state/wattle/marks"


@pytest.mark.parametrize("env,place", [
    ({"XDG_RUNTIME_DIR": "run"}, "run/wattle"),
    ({"XDG_RUNTIME_DIR": "run", "HOME": ""}, "run/wattle"),
    ({"HOME": ""}, STATE),
    ({"HOME": "new"}, f"new/{STATE}"),
    ({"HOME": "", "XDG_STATE_HOME": "state"}, "state/wattle/marks"),
    ({"HOME": "", "XDG_STATE_HOME": "state", "XDG_RUNTIME_DIR": "none"}, "state/wattle/marks"),
    ({"HOME": "", "XDG_RUNTIME_DIR": "link"}, STATE),  # its directory is none
    ({"HOME": "", "XDG_RUNTIME_DIR": "file"}, STATE),
    ({"HOME": "", "XDG_RUNTIME_DIR": "others"}, STATE),  # anybody could replace what is in it
    ({"HOME": "", "XDG_RUNTIME_DIR": "loose"}, STATE),  # anybody can put a socket there
    ({"HOME": "", "XDG_RUNTIME_DIR": "x" * 90}, STATE),
])
def test_a_user(home, env, place):
    (home / "run").mkdir(mode=0o700)
    (home / "others").mkdir()
    (home / "others").chmod(0o1777)
    (home / "loose" / "wattle").mkdir(parents=True)
    (home / "loose" / "wattle").chmod(0o777)
    (home / "link").mkdir()
    (home / "link" / "wattle").symlink_to("../run")
    (home / "file").mkdir()
    (home / "file" / "wattle").touch()
    (home / ("x" * 90)).mkdir()
    words = as_nobody(home, *recording(home))
    told = run(words, home, **{name: f"{home}/{path}".rstrip("/") for name, path in env.items()})
    assert directory(told, boot="marks" in place) == f"{home}/{place}"
    assert (home / place).stat().st_mode & 0o777 == 0o700
    assert os.listdir(home / place) == []


@pytest.mark.parametrize("env,place,boot", [
    ({}, "/run/wattle", False),
    ({"HOME": "."}, "/run/wattle", False),
    ({"XDG_RUNTIME_DIR": "/run/user/0"}, "/run/wattle", False),  # that goes away with the login
    ({"XDG_RUNTIME_DIR": "/tmp"}, "/run/wattle", False),
    ({"XDG_RUNTIME_DIR": "."}, "./wattle", False),
])
def test_root(home, env, place, boot):
    told = run(as_root(*recording(home)), home, **{name: path.replace(".", str(home)) for name, path in env.items()})
    assert directory(told, boot) == place.replace(".", str(home))


def test_root_without_a_run(home):
    words = as_root("sh", "-c", 'mount -t tmpfs -o ro,mode=755 none /run && exec "$@"', "sh", *recording(home))
    assert directory(run(words, home, HOME=home), boot=True) == f"{home}/{STATE}"


# ---- What cannot be stopped by --stop ----


def test_nowhere(home):
    """Nothing is promised that cannot be kept."""
    process, words = None, as_nobody(home, command_path(), "record", "--no-processes", "-o", "a.wattle", "--background")
    told = run(words, home, XDG_RUNTIME_DIR="/tmp", HOME="/tmp")
    try:
        process = int(re.search(r"^kill (\d+) ends it$", told.stdout, re.MULTILINE)[1])
        assert told.returncode == 0 and "--stop" not in told.stdout, told
        assert re.fullmatch(rf"wattle: no windows can be marked from outside, and --stop cannot end it \(kill {process} does\): "
                            "no directory is this user's own: set XDG_RUNTIME_DIR, or HOME\n", told.stderr), told
        told = run(as_nobody(home, command_path(), "record", "--stop", "a.wattle"), home, XDG_RUNTIME_DIR="/tmp", HOME="/tmp")
        assert told.returncode == 1 and f"process {process} has it open" in told.stderr and f"kill {process} ends it" in told.stderr, told
    finally:
        if process:
            os.kill(process, signal.SIGINT)
    wait_for(lambda: not Path(f"/proc/{process}/fd").exists() or not os.path.exists(f"/proc/{process}/exe"), "its end")
    told = run(as_nobody(home, command_path(), "report", "--check", "a.wattle"), home)
    assert told.returncode == 0, told
    assert not os.path.lexists(f"/tmp/wattle-{NOBODY}")


def test_too_long(home):
    deep = home / ("x" * 90)
    deep.mkdir()
    told = run(as_nobody(home, *recording(home)[:2], *recording(home)[3:]), home, XDG_RUNTIME_DIR=deep, HOME="/tmp")
    assert told.returncode == 0 and told.stdout.splitlines()[0] == "", told
    assert f"{deep}/wattle: is too long: with its name a socket's path has at most 107 bytes; set XDG_RUNTIME_DIR to a shorter one" in told.stderr
    assert re.search(r"kill \d+ does", told.stderr)


@pytest.mark.parametrize("length", range(79, 86))
def test_about_as_long_as_may_be(home, length):
    """Whatever its length: it can be marked, or that is said."""
    runtime = home / ("x" * (length - len("/wattle") - len(str(home)) - 1))
    runtime.mkdir()
    marks = f'{command_path()} mark begin x && {command_path()} mark end x'
    told = run(as_nobody(home, *recording(home)[:2], "--no-processes", "-o", "a.wattle", "--", "sh", "-c", f'[ -z "$WATTLE_MARK" ] || {{ {marks}; }}'),
               home, XDG_RUNTIME_DIR=runtime)
    assert told.returncode == 0 and ("is too long" in told.stderr) == (length > 82), told


def test_a_socket_of_another_machine(home):
    """The home directory may be another machine's as well: what nobody listens at here is let alone there."""
    place = home / STATE
    place.mkdir(parents=True, mode=0o700)
    theirs, dead = place / "record-1.00000000.sock", place / recorded_name(2)
    for path in (theirs, dead):
        subprocess.run(["python3", "-c", "import socket, sys; socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET).bind(sys.argv[1])", path], check=True)
    told = run(as_nobody(home, *recording(home)), home, HOME=home)
    assert directory(told, boot=True) == str(place)
    assert theirs.exists() and not dead.exists()


def recorded_name(number):
    return f"record-{number}.{Path('/proc/sys/kernel/random/boot_id').read_text(encoding='ascii')[:8]}.sock"


def test_of_a_run(home):
    told = run(as_nobody(home, command_path(), "run", "--record", "a.wattle", "--", command_path(), "record", "--stop"), home, HOME=home)
    assert re.search(r"is of 'wattle run', and ends with it: kill \d+ ends both", told.stderr), told
