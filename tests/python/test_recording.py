# SPDX-License-Identifier: MIT
"""Recordings from Python: read, made, marked, and joined, of machines whose counters the test moves."""

import ctypes
import json
import os
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from random import Random

import pytest
from conftest import BUILD, ROOTS, Machine

import wattle
from wattle import _abi, _lib, _recorder

WATTLE = os.environ.get("WATTLE", str(BUILD / "wattle"))
ZONES = ("intel-rapl:0", "intel-rapl:1")
J = 10**6
PACKAGE = os.path.dirname(os.path.dirname(wattle.__file__))


@pytest.fixture(autouse=True)
def runtime(tmp_path_factory, monkeypatch):
    """No recording of somebody else's, and sockets of our own."""
    runtime = tmp_path_factory.mktemp("run")  # a socket's path is short
    runtime.chmod(0o700)
    monkeypatch.delenv("WATTLE_MARK", raising=False)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
    for name in ("LOCAL_RANK", "SLURM_LOCALID", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(_recorder, "_warned", set())
    return runtime


def node(path, number):
    """A machine of its own: another id, another boot."""
    shutil.copytree(ROOTS / "xeon-2s-dram", path, symlinks=True)
    (path / "etc").mkdir(exist_ok=True)
    (path / "etc" / "machine-id").write_text(f"{number:032x}\n")
    boot = path / "proc" / "sys" / "kernel" / "random"
    boot.mkdir(parents=True, exist_ok=True)
    (boot / "boot_id").write_text(f"{number:08x}-0000-4000-8000-000000000000\n")
    return Machine(path)


def options(machine, **more):
    return {"root": machine.path, "nvml": "", "interval_s": 0.02, "attribution": False, **more}


def let_pass(seconds=0.1):
    time.sleep(seconds)


def moved(machine, joules):
    """The machine uses so many joules, in two equal sockets: a counter that stands still is taken for broken."""
    for zone in ZONES:
        machine.add(zone, joules * J // 2)
    let_pass()


def fed(path, times_ms, lacks=(), names=(b"package-0", b"package-1"), is_energy=1, facts=()):
    """Records two counters (or powers) of t and 3 t µJ in t µs, at such times; the second lacks the samples of ``lacks``."""
    library, recording = _lib.load(), _lib.load_recording()
    channels, meter, recorder = _lib.new_array(_abi.Channel, 2), ctypes.c_void_p(), ctypes.c_void_p()
    for channel, name in zip(channels, names):
        channel.domain, channel.source, channel.is_energy, channel.in_total = name, b"fed", is_energy, 1
    _lib.check(library.wattle_meter_open_fed(channels, 2, None, meter, None))
    for i, ms in enumerate(times_ms):
        us = ms * 1000
        statuses = (ctypes.c_int * 2)(0, _abi.STATUS_FAILED if ms in lacks else 0)
        values = (ctypes.c_uint64 * 2)(us, 3 * us) if is_energy else (ctypes.c_uint64 * 2)(J, 3 * J)
        _lib.check(library.wattle_meter_feed(meter, 10**18 + us * 1000, us * 1000, values, statuses, 2))
        if i == 0:
            _lib.check(recording.wattle_recorder_open(str(path).encode(), meter, None, recorder, None))
            for key, value in ((b"boot-id", b"b"), (b"machine-id", b"m"), *facts):
                _lib.check(recording.wattle_recorder_fact(recorder, key, value))
    _lib.check(recording.wattle_recorder_close(recorder, None))
    library.wattle_meter_close(meter)
    return path


@pytest.fixture
def made(tmp_path, machine):
    """A recording with two windows, and the figures that the program saw."""
    path = tmp_path / "made.wattle"
    with wattle.record(path, **options(machine, interval_s=0.05), facts={"job": "42"}) as recorder:
        with recorder.window("first") as first:
            moved(machine, 3)
        recorder.begin("second")
        moved(machine, 4)
        second = recorder.end("second")
    return path, first, second


def test_what_is_recorded_is_what_was_measured(made):
    path, first, second = made
    with wattle.read(path) as recording:
        assert recording.is_whole and recording.facts["command"].startswith("python ")
        assert recording.fact("job") == "42" and "host" not in recording.facts  # it is another machine
        assert [w.name for w in recording] == ["first", "second", "recording"]
        for live in (first, second):
            window = recording.window(live.name)
            assert (window.energy_uj, window.uncertainty_j) == (live.energy_uj, live.uncertainty_j)
            assert window.domains["package-0"].energy_uj == live.domains["package-0"].energy_uj
        assert first.domains["package-0"].energy_uj == 3 * J // 2 and second.domains["package-1"].energy_uj == 2 * J
        assert recording.total.energy_uj == 7 * J and recording.total.name == "recording"
        assert recording.total.gco2e > 0
        with pytest.raises(KeyError, match="first.*recording.*second"):
            recording["third"]
    assert recording.total.energy_uj == 7 * J  # it opens again


def test_a_closed_recording_holds_no_file(made):
    def held():
        return [link for link in map(os.path.realpath, (f"/proc/self/fd/{fd}" for fd in os.listdir("/proc/self/fd"))) if "made" in link]

    recording = wattle.read(made[0])
    assert recording.total.energy_uj == 7 * J and held()
    recording.close()
    assert not held()
    assert recording.fact("job") == "42" and recording.fact("none") is None and not held()


def test_total_is_the_window_of_that_name(tmp_path, meter, machine):
    recorder = wattle.record(tmp_path / "a.wattle", meter)
    meter.begin("late")
    moved(machine, 2)
    recorder.close()
    meter.end("late")
    assert wattle.read(tmp_path / "a.wattle").total.name == "recording"


def test_frames(made):
    pandas = pytest.importorskip("pandas")
    recording = wattle.read(made[0])
    for frame in (recording.energy(0.05), recording.energy(None), recording.energy()):
        assert str(frame.begin_utc.dtype) == "datetime64[ns, UTC]" and frame.domain.dtype == "category"
        parts = frame[frame.in_total]
        assert parts.energy_j.sum() == pytest.approx(7)
        assert frame[frame.domain == "total"].energy_j.sum() == pytest.approx(7)
        assert set(parts.domain) == {"package-0", "package-1", "dram-0", "dram-1"}
        assert set(frame.method[frame.energy_j.notna()]) == {"counter"} and not frame.is_lost.any()
        assert (parts.groupby("domain", observed=True).duration_s.sum() > 0.2).all()
    power = recording.power(60)
    package = power[power.domain == "package-0"]
    assert (package.mean_w * package.duration_s).sum() == pytest.approx(3.5, rel=0.01)
    assert (package.uncertainty_w > 0).any() and "energy_j" not in power
    assert abs(package.begin_utc.iloc[0] - pandas.Timestamp.now(tz="UTC")) < pandas.Timedelta(minutes=1)
    with pytest.raises(ValueError, match="interval_s is -1"):
        recording.energy(interval_s=-1)
    windows = recording.windows().set_index(["window", "domain"])
    assert windows.loc[("second", "package-0")].energy_j == 2
    assert windows.loc[("recording", "total")].energy_j == 7
    assert windows.pid.isna().all()


def test_processes(tmp_path):
    pytest.importorskip("pandas")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", wattle.WattleWarning)
        with wattle.record(tmp_path / "a.wattle", nvml="", idle_file="", interval_s=0.05):
            until = time.monotonic() + 1.3
            while time.monotonic() < until:
                pass
    recording = wattle.read(tmp_path / "a.wattle")
    users = recording.processes()
    assert os.getpid() in set(users.pid.dropna()) and users.pid.dtype == "Int64"
    assert users.full_j.sum() == pytest.approx(recording.consumers().ledger().total_uj / 1e6)
    assert recording.processes("package-0").domain.iloc[0] == "package-0"
    with pytest.raises(KeyError, match="package-0"):
        recording.processes("gpu-7")


def test_the_commands_read_it(made, tmp_path):
    report = json.loads(subprocess.check_output([WATTLE, "report", "-f", "json", made[0]]))
    assert "the program recorded itself" in json.dumps(report)
    text = subprocess.check_output([WATTLE, "report", made[0]], text=True)
    assert "first" in text and "second" in text
    cost = text[text.index("recording took ") :]
    assert " µs " in cost or " ms " in cost or " us " in cost  # not the CPU time of all this program
    subprocess.check_call([WATTLE, "report", "--check", made[0]])
    subprocess.check_call([WATTLE, "plot", made[0], "-o", tmp_path / "a.svg"])


def test_reading_imports_no_pandas(made, python):
    done = python(
        "import sys, wattle; r = wattle.read(sys.argv[1]); print(r, r.total, r._repr_html_(), 'pandas' in sys.modules, 'numpy' in sys.modules)",
        made[0],
    )
    assert done.stdout.endswith("False False\n") and "<table>" in done.stdout


def test_what_is_not_installed_is_said(made, python):
    program = """
import sys, wattle
sys.modules.update(dict.fromkeys(("numpy", "pandas", "matplotlib")))
recording = wattle.read(sys.argv[1])
for ask in (recording.energy, recording.windows, recording.processes, wattle.merge(sys.argv[1]).frame, lambda: wattle.plot(recording)):
    try:
        ask()
    except ImportError as error:
        print(error)
"""
    frames, plots = "frames need pandas: pip install 'wattle[pandas]'\n", "plots need matplotlib: pip install 'wattle[plot]'\n"
    assert python(program, made[0]).stdout == 4 * frames + plots


def test_built_without_recordings(tmp_path, monkeypatch):
    (tmp_path / "libwattle.so.0").symlink_to(os.path.join(_lib._HERE, "libwattle.so.0"))
    monkeypatch.setattr(_lib, "_HERE", str(tmp_path))
    with pytest.raises(wattle.Error, match="this package was built without recordings: .*libsqlite3-dev"):
        wattle.read(tmp_path / "a.wattle")


def test_no_recording(tmp_path):
    (tmp_path / "text").write_text("no recording")
    (tmp_path / "empty").touch()
    for name in ("text", "empty", "nowhere", ""):
        with pytest.raises(wattle.Error) as raised:
            wattle.read(tmp_path / name)
        assert str(tmp_path) in str(raised.value) and "\n" not in str(raised.value)


PROGRAM = """
import sys, time, wattle
recorder = wattle.record(sys.argv[1], root=sys.argv[2], nvml="", attribution=False, interval_s=0.02)
recorder.begin("whole")
with recorder.window("part"):
    time.sleep(0.1)
print("ready", flush=True)
time.sleep(60)
"""


def test_being_written_and_killed(tmp_path, machine):
    pytest.importorskip("pandas")
    path = tmp_path / "a.wattle"
    with subprocess.Popen([sys.executable, "-c", PROGRAM, path, machine.path], stdout=subprocess.PIPE) as program:
        program.stdout.readline()
        time.sleep(2.5)
        live = wattle.read(path)
        assert not live.is_whole and live.total.duration_s > 0.5 and [w.name for w in live] == ["part"]
        program.send_signal(signal.SIGKILL)
    killed = wattle.read(path)
    assert not killed.is_whole and "not ended" in repr(killed)
    assert killed.total.duration_s >= live.total.duration_s and len(killed.energy()) > 0
    again = wattle.record(tmp_path / "b.wattle", **options(machine))  # nothing is left that would be in the way
    again.close()


def test_damage_is_marked(tmp_path):
    """Wherever a file is damaged: one clear error, or what is left, with the rows marked that are not whole."""
    pytest.importorskip("pandas")
    random = Random(1)
    data = fed(tmp_path / "a.wattle", (1000 + 50 * k + random.randint(0, 40) for k in range(8000))).read_bytes()
    errors, marked, damaged = 0, 0, tmp_path / "b.wattle"
    for begin in range(0, len(data), 8192):
        damaged.write_bytes(data[:begin] + b"\xa5" * 1000 + data[begin + 1000 :])
        try:
            frame = wattle.read(damaged).energy(10)
        except wattle.Error as error:
            errors += 1
            assert str(damaged) in str(error) and "\n" not in str(error)
            continue
        total = frame[frame.domain == "total"]
        if total.is_lost.any():
            marked += 1
            assert total[~total.is_lost].energy_j.sum() > 0
        whole = total[~total.is_lost & (total.gap_s == 0)]
        assert whole.energy_j.sum() == pytest.approx(4 * whole.duration_s.sum(), rel=1e-3)
    assert errors and marked


# ---- Made from code ----


def test_end_of_the_program_ends_it(tmp_path, machine, python):
    python(
        "import sys, wattle; r = wattle.record(sys.argv[1], root=sys.argv[2], nvml='', attribution=False); r.begin('open')",
        tmp_path / "a.wattle",
        machine.path,
    )
    assert wattle.read(tmp_path / "a.wattle").is_whole


def test_the_meter_may_close_first(tmp_path, meter, machine):
    recorder = wattle.record(tmp_path / "a.wattle", meter)
    with pytest.raises(wattle.Error, match="being recorded"):
        wattle.record(tmp_path / "b.wattle", meter)
    with meter.window("job"):
        moved(machine, 2)
    meter.close()
    assert recorder.status == "closed" and recorder.reason is None
    recorder.close()
    assert wattle.read(tmp_path / "a.wattle").window("job").energy_uj == 2 * J
    with pytest.raises(wattle.Error, match="closed"):
        wattle.record(tmp_path / "c.wattle", meter)


def test_cannot_be_made(tmp_path, meter, made):
    with pytest.raises(wattle.Error, match="made.wattle: .* put the date"):
        wattle.record(made[0], meter)
    with pytest.raises(wattle.Error, match="nowhere"):
        wattle.record(tmp_path / "nowhere" / "a.wattle", meter)
    meter.begin("goes on")
    assert meter.end("goes on").energy_uj is not None
    with pytest.raises(ValueError, match="node"):
        wattle.record(tmp_path / "a.wattle", meter, ranks="all")
    with pytest.raises(ValueError, match="{date} in .*only {host}"):
        wattle.record(tmp_path / "{host}-{date}.wattle", meter)
    with pytest.raises(TypeError, match="interval_s"):
        wattle.record(tmp_path / "a.wattle", meter, interval_s=1)
    assert not (tmp_path / "a.wattle").exists() and "WATTLE_MARK" not in os.environ


def test_facts_that_cannot_be(tmp_path, meter):
    for facts in ({"": "x"}, {"x" * 96: "y"}, {7: "x"}):
        with pytest.raises(ValueError, match="fact"):
            wattle.record(tmp_path / "a.wattle", meter, facts=facts)
    wattle.record(tmp_path / "a.wattle", meter, facts={"epochs": 10}).close()
    assert wattle.read(tmp_path / "a.wattle").fact("epochs") == "10"


def test_an_exception_leaves_no_recording(tmp_path, meter, monkeypatch):
    recording = _lib.load_recording()

    class Broken:
        def __getattr__(self, name):
            if name == "wattle_recorder_fact":
                raise KeyboardInterrupt
            return getattr(recording, name)

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(_recorder, "load_recording", Broken)
        wattle.record(tmp_path / "a.wattle", meter)
    assert not list(tmp_path.glob("a.wattle*"))
    wattle.record(tmp_path / "a.wattle", meter).close()


FULL = """
import resource, signal, sys, time, warnings, wattle
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
recorder = wattle.record(sys.argv[1], root=sys.argv[2], nvml="", attribution=False, interval_s=0.001)
recorder.begin("job")
time.sleep(1.5)
resource.setrlimit(resource.RLIMIT_FSIZE, (1, 1))
until = time.monotonic() + 20
while recorder.status == "recording" and time.monotonic() < until:
    time.sleep(0.1)
assert recorder.status == "failed" and recorder.reason, recorder.status
before = recorder.meter.cost()["ticks"]
time.sleep(0.1)
assert recorder.meter.cost()["ticks"] > before  # the meter goes on
assert recorder.end("job").duration_s > 1.5
try:
    recorder.close()
except wattle.Error as error:
    print(error)
assert recorder.status == "failed"
"""


def test_full_disk(tmp_path, machine, python):
    done = python(FULL, tmp_path / "a.wattle", machine.path)
    assert done.stdout.strip()
    assert wattle.read(tmp_path / "a.wattle").total.duration_s > 0.3


def test_a_fork_leaves_it_alone(tmp_path, machine):
    path = tmp_path / "a.wattle"
    with wattle.record(path, **options(machine)) as recorder:
        child = os.fork()
        if child == 0:
            code = 1
            try:
                with recorder.window("child"):
                    time.sleep(0.05)
                recorder.close()
                code = 0 if recorder.status == "elsewhere" else 2
            finally:
                os._exit(code)
        assert os.waitpid(child, 0)[1] == 0
        assert recorder.status == "recording"
        moved(machine, 2)
    recording = wattle.read(path)
    assert recording.is_whole and recording.total.energy_uj == 2 * J
    assert [w.name for w in recording] == [f"rank {child}: child", "recording"]


# ---- Marks ----


def test_marks_in_the_recording_of_a_command(tmp_path, machine):
    path = tmp_path / "a.wattle"
    program = "import wattle, time\nwith wattle.mark('epoch 1') as m: assert m.is_marked; time.sleep(0.1)\n"
    command = [WATTLE, "run", "--root", machine.path, "--record", path, "--", sys.executable, "-c", program]
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    window = wattle.read(path).window("epoch 1")
    assert window.pid is not None and window.duration_s >= 0.1


def test_marks_in_a_recording_from_code(tmp_path, machine, runtime):
    path = tmp_path / "a.wattle"
    with wattle.record(path, **options(machine)) as recorder:
        with wattle.mark("outer"):
            subprocess.run([WATTLE, "mark", "begin", "from a shell"], check=True)
            moved(machine, 6)
            assert "from a shell" in subprocess.check_output([WATTLE, "mark", "list"], text=True)
            subprocess.run([WATTLE, "mark", "end", "from a shell"], check=True)
            with pytest.raises(wattle.WindowError, match="open"):
                wattle.mark("outer").begin()
        with recorder.window("ours"), pytest.raises(wattle.WindowError, match="ours"):
            wattle.mark("ours").end()  # not theirs
        with pytest.raises(wattle.WindowError):
            wattle.mark("recording").end()
        with pytest.raises(ValueError, match="x"):
            wattle.mark("x" * 64).begin()
    assert "WATTLE_MARK" not in os.environ
    assert wattle.read(path).window("from a shell").energy_uj == 6 * J
    assert not [name for name in os.listdir(runtime / "wattle") if "record" in name]


OWN_RUN = 'mount -t tmpfs -o mode=0755 none /run && mkdir -p -m 700 /run/user/0 && exec "$@"'


@pytest.mark.parametrize("user", ["root", "nobody"])
@pytest.mark.parametrize(
    "env",
    [
        {},
        {"HOME": "/home"},
        {"HOME": "/new"},
        {"HOME": "/home", "XDG_STATE_HOME": "/state"},
        {"HOME": "/home", "XDG_RUNTIME_DIR": "/run"},
        {"HOME": "/home", "XDG_RUNTIME_DIR": "/none"},
        {"HOME": "/home", "XDG_RUNTIME_DIR": "/link"},
        {"HOME": "/home", "XDG_RUNTIME_DIR": "/file"},
        {"HOME": "/home", "XDG_RUNTIME_DIR": "/loose"},
        {"HOME": "/home", "XDG_RUNTIME_DIR": "/others"},
        *({"HOME": "/home", "XDG_RUNTIME_DIR": f"/{n}"} for n in range(81, 85)),
    ],
)
def test_marks_listen_where_the_command_does(env, user):
    """Whoever the user is, and whatever the environment says."""
    words = ["unshare", "-rm", "sh", "-c", OWN_RUN, "sh"] if user == "root" else []
    if words and subprocess.run([*words, "true"], capture_output=True).returncode:
        pytest.skip("no mount namespace of one's own can be made here")
    with tempfile.TemporaryDirectory(prefix="wt-", dir="/tmp") as name:
        base = Path(name)
        for made in ("home", "run", "link", "file", "others", "loose/wattle"):
            (base / made).mkdir(parents=True, mode=0o700)
        (base / "link" / "wattle").symlink_to("../run")
        (base / "file" / "wattle").touch()
        (base / "others").chmod(0o1777)
        (base / "loose" / "wattle").chmod(0o777)
        own = {key: f"{base}{value}" for key, value in env.items()}
        runtime = own.get("XDG_RUNTIME_DIR", "")
        if runtime[len(name) + 1 :].isdigit():  # so long is the directory's name
            own["XDG_RUNTIME_DIR"] = f"{base}/{'x' * (int(runtime[len(name) + 1 :]) - len(name) - len('//wattle'))}"
            os.mkdir(own["XDG_RUNTIME_DIR"])
        if user == "nobody" and os.geteuid() == 0:
            subprocess.run(["chown", "-Rh", "65534:65534", base], check=True)
            words = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("XDG_", "WATTLE_MARK", "HOME"))}
        command = [WATTLE, "record", "-q", "--no-processes", "-o", base / "a.wattle", "--", "sh", "-c", 'echo "$WATTLE_MARK"']
        told = subprocess.run([*words, *command], env={**kept, **own}, capture_output=True, text=True, check=True).stdout.strip()
        program = "from wattle import _recorder\ntry: print(_recorder._socket_of('/x'))\nexcept _recorder.Error: print()"
        ours = subprocess.run(
            [*words, sys.executable, "-B", "-c", program], env={**kept, **own, "PYTHONPATH": PACKAGE}, capture_output=True, text=True, check=True
        ).stdout.strip()
        assert os.path.dirname(ours) == os.path.dirname(told)
        assert ours.count(".") == told.count(".")
        assert not ours or len(os.path.basename(ours)) == len("record-0123456789ab.sock") + (9 if "marks" in told else 0)


ODD = ("a\x01", "a\x02", "a\n", " a", "a\u200b", "\udc80", "\udc81", "y" * 70, "y" * 71, "a\u00a0b", "a\u3164", "a\ufe0f")
PLAIN = ("a", "a?", "größe \\ 'x' \U0001f50b")


def test_no_two_windows_have_the_same_name(tmp_path, machine):
    """Whatever they are called; plain text stays as it is."""
    path = tmp_path / "a.wattle"
    with wattle.record(path, **options(machine)) as recorder:
        for name in (*ODD, *PLAIN):
            recorder.begin(name)
        for name in (*ODD, *PLAIN):
            assert recorder.end(name).name == name
        for name in ODD:
            with pytest.raises(ValueError, match="window"):
                wattle.mark(name).begin()
        for name in PLAIN:
            with wattle.mark(name):
                assert name in subprocess.check_output([WATTLE, "mark", "list"], text=True)
        for odd in (b"a\xff", b"a\0", b"a\x01"):
            with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as client:
                client.connect(os.environ["WATTLE_MARK"])
                client.send(b"begin " + odd)
                assert b"plain text in UTF-8" in client.recv(1000)
        assert "and ends with it" in subprocess.run([WATTLE, "record", "--stop"], capture_output=True, text=True).stderr
    names = [window.name for window in wattle.read(path)]
    assert len({name for name in names if name not in PLAIN}) == len(ODD) + 1
    assert sorted(name for name in names if name in PLAIN) == sorted(2 * PLAIN)


def test_mark_without_a_recording():
    with pytest.warns(wattle.WattleWarning, match="WATTLE_MARK.*wattle run --record run.wattle -- python") as told:
        for _ in range(3):
            with wattle.mark("epoch") as mark:
                assert not mark.is_marked
    assert len(told) == 1


# ---- Ranks and nodes ----

RANK = """
import os, sys, time, wattle
path, root, flag, ranks = sys.argv[1:]
rank = os.environ["LOCAL_RANK"]
recorder = wattle.record(path, root=root, nvml="", attribution=False, interval_s=0.02, ranks=ranks or None)
recorder.begin("epoch")
open(f"{flag}.{rank}", "w").close()
while not os.path.exists(flag):
    time.sleep(0.01)
time.sleep(0.1)
with recorder.window("odd\\tname"):
    pass
window = recorder.end("epoch")
if rank != "0" and ranks:
    assert window.energy_j is None and window.reasons == (f"its figures are in {path}, of the window 'rank {rank}: epoch'",)
if rank == "0" and ranks:
    time.sleep(0.5)
recorder.close()
"""


def run_ranks(tmp_path, machine, n, ranks, joules=6, name="{rank}"):
    """N processes record one machine that uses so many joules."""
    flag = tmp_path / f"flag-{machine.path.name}-{n}-{ranks}"
    paths = [tmp_path / f"{machine.path.name}-{n}-{0 if ranks else rank}-{ranks}.wattle" for rank in range(n)]
    programs = []
    for rank, path in enumerate(paths):
        command = [sys.executable, "-c", RANK, *map(str, (path, machine.path, flag, ranks))]
        programs.append(subprocess.Popen(command, env={**os.environ, "LOCAL_RANK": str(rank)}))
    until = time.monotonic() + 60
    while not all(os.path.exists(f"{flag}.{rank}") for rank in range(n)) and time.monotonic() < until:
        time.sleep(0.02)
    let_pass()
    machine.add(ZONES[0], joules * J)
    machine.add(ZONES[1], 2 * joules * J)
    let_pass()
    flag.touch()
    assert [program.wait(60) for program in programs] == [0] * n
    return sorted(set(paths))


def test_ranks_of_a_node(tmp_path):
    one = wattle.merge(run_ranks(tmp_path, node(tmp_path / "a", 1), 1, ""))
    node_paths = run_ranks(tmp_path, node(tmp_path / "b", 2), 3, "node")
    own_paths = run_ranks(tmp_path, node(tmp_path / "c", 3), 3, "")
    assert len(node_paths) == 1 and len(own_paths) == 3
    assert one.energy_uj == 18 * J
    assert wattle.merge(node_paths).energy_uj == 18 * J
    apart = wattle.merge(own_paths)
    assert apart.energy_uj == 18 * J
    machine = next(iter(apart.machines.values()))
    assert len(machine.paths) == 3 and machine.domains["package-1"].energy_uj == 12 * J
    for domain in machine.domains.values():
        spans = domain.spans
        assert all(a[2] <= b[1] + 1e-3 for a, b in zip(spans, spans[1:]))  # UTC may be slewed meanwhile
        assert domain.gap_s >= sum(end - begin for begin, end in domain.missing) - 1e-5
    windows = [w.name for w in wattle.read(node_paths[0])]
    assert len({name for name in windows if "odd?name~" in name}) == 3
    assert sorted(name for name in windows if "odd" not in name) == ["epoch", "rank 1: epoch", "rank 2: epoch", "recording"]

    nodes = wattle.merge([*node_paths, *own_paths])
    assert len(nodes.machines) == 2 and nodes.energy_uj == 36 * J and nodes.reasons == []
    assert nodes.uncertainty_uj == sum(machine.uncertainty_uj for machine in nodes.machines.values())
    assert nodes.uncertainty_uj >= apart.uncertainty_uj


def test_merge_fills_in(tmp_path):
    """One recording ends, another goes on; the time between is missing, what both tell counts once."""
    machine = node(tmp_path / "a", 1)
    paths = [tmp_path / f"{i}.wattle" for i in range(3)]
    with wattle.Meter(**options(machine)) as a, wattle.Meter(**options(machine)) as b:
        first = wattle.record(paths[0], a)
        moved(machine, 2)
        second = wattle.record(paths[1], b)
        moved(machine, 4)
        first.close()
        let_pass()
        moved(machine, 8)
        second.close()
        moved(machine, 16)  # nobody records
        let_pass(0.3)
        with wattle.record(paths[2], a):
            moved(machine, 32)
    for order in (paths, paths[::-1]):
        merged = wattle.merge(order)
        assert merged.energy_uj == 46 * J
        domain = merged.machines[next(iter(merged.machines))].domains["package-0"]
        assert (domain.spans[0][0], domain.spans[-1][0]) == (str(paths[0]), str(paths[2]))
        longest = max(end - begin for begin, end in domain.missing)
        assert 0.3 < longest < 2 and domain.method == "counter"
    pytest.importorskip("pandas")
    frame = merged.frame()
    assert merged.gap_s == max(frame.gap_s)  # not as often as there are domains
    assert frame[frame.in_total].energy_j.sum() == 46 and "missing" in repr(merged)


def test_merge_is_exact(tmp_path):
    """Of random recordings that overlap and have gaps: what is told is what the counters rose by, and no time is told twice."""
    random = Random(13)
    for case in range(60):
        paths, covered_ms, edges_ms = [], set(), 0
        for i in range(random.randint(1, 4)):
            begin, step = random.randint(1, 20000), random.choice((50, 100, 330, 1000))
            times = [begin + k * step + random.randint(0, step // 5) for k in range(random.randint(2, 200))]
            gap = random.choice(times)
            lacks = {t for t in times if gap <= t < gap + 3000 and random.random() < 0.5 and t != times[0]}
            paths.append(fed(tmp_path / f"{case}-{i}.wattle", times, lacks))
            covered_ms |= set(range(times[0], times[-1]))
            edges_ms += 2 * step  # at both ends of it there may be another one's, at other times
        random.shuffle(paths)
        merged = wattle.merge(paths)
        assert list(merged.machines) == ["m"] and merged.reasons == []
        for name, rate in (("package-0", 1), ("package-1", 3)):
            domain = merged.machines["m"].domains[name]
            told_us = sum(round((end - begin) * 1e6) for _, begin, end in domain.spans)
            hidden_us = round((domain.gap_s - sum(end - begin for begin, end in domain.missing)) * 1e6)
            assert all(a[2] <= b[1] + 1e-6 for a, b in zip(domain.spans, domain.spans[1:])), (case, name)
            assert domain.energy_uj == pytest.approx(rate * (told_us - hidden_us), abs=3 * 60), (case, name)
            assert told_us <= len(covered_ms) * 1000 + 10
            assert told_us >= (len(covered_ms) - edges_ms) * 1000 or name == "package-1"


@pytest.mark.parametrize("is_energy", (0, 1))
def test_merge_fills_a_gap(tmp_path, is_energy):
    """A stretch that another recording's samples do not fit into by a few milliseconds is taken but for those."""
    a = fed(tmp_path / "a.wattle", range(1000, 61000, 100), range(11000, 41000, 100), is_energy=is_energy)
    b = fed(tmp_path / "b.wattle", range(1050, 61050, 100), is_energy=is_energy)
    domain = wattle.merge([a, b]).machines["m"].domains["package-1"]
    assert 3 * 59.5 <= domain.energy_j <= 3 * 59.951
    assert len(domain.spans) == (1 if is_energy else 3)  # a counter goes on over a hole in its readings
    best = wattle.merge([b]).machines["m"].domains["package-1"]
    assert domain.uncertainty_uj <= 3 * best.uncertainty_uj + 3 * J  # not one for each sample


def test_merge_keeps_what_a_counter_bridges(tmp_path):
    a = fed(tmp_path / "a.wattle", range(1000, 31000, 100), range(11000, 15300, 100))
    b = fed(tmp_path / "b.wattle", range(1050, 5050, 100))
    c = fed(tmp_path / "c.wattle", range(12050, 13050, 100))
    d = fed(tmp_path / "d.wattle", range(900, 14050, 100))  # it ends in the hole
    for others in ([b], [c], [b, c], [d], [b, c, d]):
        assert wattle.merge([a, *others]).energy_j >= wattle.merge([a]).energy_j - 4 * 0.1 * len(others)


def test_merge_is_no_less_than_its_best_part(tmp_path):
    random = Random(3)
    for case in range(60):
        paths, ends_ms = [], []
        for i in range(random.randint(2, 3)):
            begin = random.randrange(1000, 5000, 10)
            times = range(begin, begin + random.randrange(3000, 20000, 10), 100)
            first = random.randrange(5, len(times) - 12)
            lacks = times[first : min(len(times) - 3, first + random.randrange(1, 60))] if random.random() < 0.6 else ()
            paths.append(fed(tmp_path / f"{case}-{i}.wattle", times, lacks, is_energy=case % 2))
            ends_ms += [times[0], times[-1]]
        best = max(wattle.merge([path]).machines["m"].domains["package-1"].energy_j for path in paths)
        domain = wattle.merge(paths).machines["m"].domains["package-1"]
        seams = 2 * len(domain.spans) - 1
        assert best - 3 * 0.1 * seams <= domain.energy_j <= 3 * (max(ends_ms) - min(ends_ms)) / 1000 + 1e-3, case


def test_merge_takes_a_counter_before_a_model(tmp_path):
    """The first rank may not read RAPL, and began first: its model of the packages is not what they used."""
    machine = node(tmp_path / "a", 1)
    shutil.copytree(machine.path, tmp_path / "b", symlinks=True)
    for name in ("sys/class/powercap", "sys/devices/virtual/powercap"):
        shutil.rmtree(tmp_path / "b" / name, ignore_errors=True)
    paths = [tmp_path / "0.wattle", tmp_path / "1.wattle"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", wattle.WattleWarning)
        with wattle.record(paths[0], marks=False, **{**options(machine), "root": tmp_path / "b"}):
            let_pass()
            with wattle.record(paths[1], marks=False, **options(machine)):
                for _ in range(12):
                    moved(machine, 4)
    assert wattle.merge(paths[:1]).energy_uj != 48 * J
    for order in (paths, paths[::-1]):
        merged = wattle.merge(order)
        assert merged.energy_uj == 48 * J and "0.wattle only has a model" in merged.reasons[0]
        assert {d.method for d in next(iter(merged.machines.values())).domains.values()} <= {"counter", "none"}


def test_merge_of_a_gpu_whose_uuid_one_does_not_say(tmp_path):
    names, uuid = (b"gpu-0", b"gpu-1"), [(b"channel.0.serial", b"GPU-1")]
    a = fed(tmp_path / "a.wattle", range(1000, 11000, 100), names=names)
    b = fed(tmp_path / "b.wattle", range(1050, 11050, 100), names=names, facts=uuid)
    for order in ([a, b], [b, a]):
        merged = wattle.merge(order)
        assert merged.energy_j == pytest.approx(4 * 9.9) and merged.reasons == []
        assert [(d.name, d.uuid) for d in merged.machines["m"].domains.values()] == [("gpu-0", "GPU-1"), ("gpu-1", None)]
    both = [*uuid, (b"channel.1.serial", b"GPU-1")]
    c = fed(tmp_path / "c.wattle", range(1000, 11000, 100), names=names, facts=both)  # which cannot be
    domains = wattle.merge([c]).machines["m"].domains
    assert [round(d.energy_j, 1) for d in domains.values()] == [9.9, 29.7]
    d = fed(tmp_path / "d.wattle", range(1000, 11000, 100), names=names, facts=[(b"channel.0.serial", b"GPU-2")])
    assert "does not say which gpu-0" in wattle.merge([a, b, d]).reasons[0]


def test_gpus_by_uuid(tmp_path, fake_nvml):
    """Each rank sees one GPU, and calls it what it likes; the sockets are counted once."""
    machine = node(tmp_path / "a", 1)
    library = fake_nvml("two")
    paths = []
    for rank in range(2):
        paths.append(tmp_path / f"{rank}.wattle")
    with wattle.Meter(**options(machine, nvml=library, gpus=[0])) as a, wattle.Meter(**options(machine, nvml=library, gpus=[1])) as b:
        with wattle.record(paths[0], a), wattle.record(paths[1], b):
            moved(machine, 6)
            let_pass(0.5)
    merged = wattle.merge(paths)
    machine = next(iter(merged.machines.values()))
    gpus = [d for d in machine.domains.values() if d.uuid and d.in_total]
    assert len({gpu.uuid for gpu in gpus}) == len(gpus) == 2
    assert all(gpu.energy_uj > 0 for gpu in gpus)
    assert machine.domains["package-0"].energy_uj == 3 * J


def test_merge_of_what_says_no_machine(made, tmp_path):
    with pytest.raises(ValueError, match="nothing"):
        wattle.merge([])
    twice = tmp_path / "copy.wattle"
    shutil.copy(made[0], twice)
    merged = wattle.merge([made[0], twice])  # its root has no machine id
    assert len(merged.reasons) == 2 and merged.energy_uj == 14 * J
    assert wattle.merge(made[0]).energy_uj == wattle.merge(str(made[0])).energy_uj == 7 * J


def test_other_ranks_without_the_first(tmp_path, monkeypatch):
    monkeypatch.setenv("LOCAL_RANK", "1")
    monkeypatch.setattr(_recorder, "_WAIT_S", 1.2)
    recorder = wattle.record(tmp_path / "a.wattle", ranks="node")
    assert recorder.status == "elsewhere" and recorder.meter is None
    with pytest.warns(wattle.WattleWarning) as told:
        with recorder.window("epoch") as window:
            pass
    assert [str(one.message) for one in told] == [
        "wattle: waits 1.2 s for this machine's first rank to record",
        "wattle: windows are not marked: this machine's first rank has not begun to record within 1.2 s",
    ]
    recorder.begin("epoch")
    for window in (window, recorder.end("epoch")):
        assert window.energy_j is None and window.duration_s is None and "nobody records" in window.reasons[0]
    with pytest.raises(wattle.WindowError):
        recorder.end("epoch")
    recorder.close()
