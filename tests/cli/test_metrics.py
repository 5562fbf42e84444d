# SPDX-License-Identifier: MIT
"""/metrics of `wattle serve`: as text and OpenMetrics, end to end, and as a real Prometheus takes it."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

import pytest

from api_server import Server, tape_server
from serving import Agent, Moving
from conftest import REPO, clean_env, command_path, fake_library, finish, run_wattle, start_wattle, wait_for

sys.path.insert(0, str(REPO / "tests" / "sim"))

import trial  # noqa: E402

OPEN = "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5,*/*;q=0.1"
COMPAT = ("kepler", "dcgm", "scaphandre", "node", "aipowermeter")
EVERYTHING = ("--per-process", *(word for name in COMPAT for word in ("--compat", name)))
SHARE = REPO / "share"
SAMPLE = re.compile(r'(\w+)(?:\{((?:\w+="(?:[^"\\\n]|\\["\\n])*",?)*)\})? (-?[\d.]+)')
LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
EIGHTH = 0.125


def parse(text):
    """{(name, labels): value}; every line is in order, and no series is there twice."""
    series = {}
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        match = SAMPLE.fullmatch(line)
        assert match, line
        key = (match.group(1), tuple(sorted(LABEL.findall(match.group(2) or ""))))
        assert key not in series, line
        series[key] = float(match.group(3))
    return series


def values(series, name):
    """[(labels, value)] of a name."""
    return [(dict(labels), value) for (own, labels), value in series.items() if own == name]


# ---- Both formats, on tapes whose figures are the same everywhere ----

@pytest.fixture(name="played", scope="module", params=["busy-thread", "server"])
def played_tape(request):
    with tape_server(request.param, *EVERYTHING, "--weight", "cpu-time") as server:
        yield request.param, server


def without_cost(text):
    """What wattle itself costs is different each time."""
    return re.sub(r"^(wattle_self_(?:cpu_seconds_total|resident_memory_max_bytes|scrape_seconds)) .*$", r"\1 …", text, flags=re.M)


def check_golden(name, text):
    path = REPO / "tests" / "golden" / name
    if os.environ.get("WATTLE_GOLDEN_UPDATE"):
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


def test_golden(played):
    name, server = played
    status, headers, body = server.request("/metrics")
    assert (status, headers["Content-Type"]) == (200, "text/plain; version=0.0.4; charset=utf-8")
    check_golden(f"metrics-{name}.txt", without_cost(body.decode()))


def test_open_metrics_is_the_same(played):
    """The same samples in the same order; and what only this format has."""
    _, server = played
    status, headers, body = server.request("/metrics", Accept=OPEN)
    assert (status, headers["Content-Type"]) == (200, "application/openmetrics-text; version=1.0.0; charset=utf-8")
    text, lines = server.text("/metrics"), without_cost(body.decode()).splitlines()
    assert lines[-1] == "# EOF"
    assert [x for x in lines if x[0] != "#"] == [x for x in without_cost(text).splitlines() if x[0] != "#"]
    types = dict(re.findall(r"^# TYPE (\w+) (\w+)$", body.decode(), re.M))
    for family, unit in re.findall(r"^# UNIT (\w+) (\w+)$", body.decode(), re.M):
        assert family.endswith("_" + unit) and family in types
    for line in lines:
        if line[0] != "#":
            sample = re.match(r"\w+", line).group()
            family = re.sub(r"_total$|_info$", "", sample)
            assert types.get(family if family in types else sample) in ("counter", "gauge", "info", "unknown"), line
            assert (types.get(family) == "counter") == sample.endswith("_total"), line


def check_ledger(series):
    """The ledger's identity as it is after rounding: 1/8 J a series."""
    info = {labels["domain"]: labels for labels, _ in values(series, "wattle_domain_info")}
    processes = {}
    for labels, energy in values(series, "wattle_domain_energy_joules_total"):
        accounts = {own["account"]: value for own, value in values(series, "wattle_ledger_energy_joules_total")
                    if own["domain"] == labels["domain"]}
        assert 0 <= energy - sum(accounts.values()) < len(accounts) * EIGHTH, (labels, energy, accounts)
        if info[labels["domain"]]["in_total"] == "1":
            processes[labels["domain"]] = accounts["processes"]
    for kind in ("user", "unit", "container", "pod", "job", "command"):
        groups = values(series, f"wattle_{kind}_energy_joules_total")
        for domain in processes if groups else ():
            dynamic = [value for own, value in groups if own["domain"] == domain and own["part"] == "dynamic"]
            dynamic += [value for own, value in values(series, "wattle_retired_energy_joules")
                        if own["domain"] == domain and own["part"] == "dynamic" and own["grouping"].split("_")[0] == kind]
            # Groups below 1/8 J are not told.
            assert -EIGHTH < processes[domain] - sum(dynamic) < 66 * EIGHTH, (kind, domain, processes[domain], dynamic)
    return processes


def test_everything_adds_up(played):
    name, server = played
    series = parse(server.text("/metrics"))
    counted = check_ledger(series)
    energies = {labels["domain"]: v for labels, v in values(series, "wattle_domain_energy_joules_total")}
    [(_, host)] = values(series, "wattle_host_energy_joules_total")
    assert 0 <= host - sum(energies[domain] for domain in counted) < len(counted) * EIGHTH
    for (metric, _), value in series.items():
        if re.match(r"wattle_.*_(joules_total|joules|watts)$", metric):
            assert value * 8 == int(value * 8), metric
    if name == "busy-thread":
        [(labels, watts)] = [x for x in values(series, "wattle_process_power_watts") if x[0]["command"] == "python3"]
        assert labels == {"pid": "4711", "command": "python3", "user": "1000"} and watts > 100


def test_processes_only_where_they_are_asked_for():
    with tape_server("busy-thread") as server:
        text = server.text("/metrics")
    assert 'wattle_command_energy_joules_total{command="python3",' in text
    assert "pid=" not in text and "kepler" not in text


# ---- promtool ----

def test_whose_machine_it_is():
    with Agent("--no-store", "--compat", "kepler") as agent:
        told = wait_for(lambda: values(parse(agent.scrape()), "kepler_node_cpu_watts"), "power")
        live = json.loads(agent.ask("/api/v1/live")[2])
    assert live["host"] == socket.gethostname()
    assert {labels["node_name"] for labels, _ in told} == {socket.gethostname()}


def promtool(*args, stdin=""):
    tool = shutil.which("promtool")
    if not tool:
        pytest.skip("promtool (Debian's package prometheus) is not there")
    return subprocess.run([tool, *map(str, args)], input=stdin, capture_output=True, text=True, check=False, timeout=60)


@pytest.mark.parametrize("options", [(), ("--per-process",), *(("--compat", name) for name in COMPAT)], ids=" ".join)
def test_promtool(options):
    with tape_server("server", *options) as server:
        done = promtool("check", "metrics", stdin=server.text("/metrics"))
    if options[-1:] in (("dcgm",), ("scaphandre",)):  # their own names are not in order
        remarks = (done.stdout + done.stderr).splitlines()
        assert done.returncode == 3 and remarks
        assert all(line.startswith(("DCGM_FI_DEV_", "scaph_host_energy_microjoules")) or "microwatts" in line for line in remarks), remarks
    else:
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_rules():
    assert promtool("check", "rules", SHARE / "prometheus" / "wattle.rules.yml").returncode == 0
    done = promtool("test", "rules", REPO / "tests" / "prometheus" / "wattle.test.yml")
    assert done.returncode == 0, done.stdout + done.stderr


# ---- Names of strangers ----

HOSTILE = r"""
import sys
open("/proc/self/comm", "wb").write(bytes.fromhex(sys.argv[1]))
while True:
    pass
"""
NAMES = (b"\xff\xfe\x80", b'a"b\\c', b"line\nline\t\r", b"__overflow__", b"__retired__", b"{x=\"1\"} 7", b"\xe2\x80\xaex", b"# HELP x", b"\xc3")


def test_hostile_names():
    """Anybody may call a process anything: a scrape is in order all the same, and energy is there under some name."""
    spinners = [subprocess.Popen([sys.executable, "-S", "-E", "-c", HOSTILE, name.hex(), "y" * 4096 + name.hex()]) for name in NAMES]
    try:
        with Server("--no-store", *EVERYTHING) as server:
            def spin():
                text = server.request("/metrics")[2].decode()
                return text if 'wattle_command_energy_joules_total{command="a\\"b\\\\c"' in text else None
            text = wait_for(spin, "a process's energy")
            series = parse(text)
            parse(server.request("/metrics", Accept=OPEN)[2].decode())
            done = promtool("check", "metrics", stdin=text)
    finally:
        for spinner in spinners:
            spinner.kill()
            spinner.wait()
    assert done.returncode in (0, 3), done.stderr
    commands = {labels["command"] for labels, _ in values(series, "wattle_process_power_watts")}
    assert {"???", 'a\\"b\\\\c', "__overflow__"} <= commands, commands
    assert all(name.isprintable() and len(name) < 40 for name in commands)
    check_ledger(series)


def test_the_other_half(tmp_path):
    """The exporter half tells what its reader knows."""
    shared = ("--socket", tmp_path / "s")
    reader = start_wattle("serve", "--reader", "--no-store", *shared)
    try:
        wait_for((tmp_path / "s").exists, "the reader")
        with Server("--exporter", *shared, *EVERYTHING) as exporter:
            def told():
                text = exporter.request("/metrics")[2].decode()
                return text if "kepler_process_cpu_watts" in text and "wattle_user_energy_joules_total" in text else None
            check_ledger(parse(wait_for(told, "energy of users")))
    finally:
        reader.terminate()
        finish(reader)


# ---- A real Prometheus, on a machine that is simulated ----

SCENARIO = """
seed 1
duration 90
socket idle=74 dram=4
socket idle=69 dram=4
others 20
gpu idle=55 full=300 memory=81920
worker steady watts=20 dram=1 duty=0.3
worker early watts=20 duty=0.2 socket=1 stop=4
worker late watts=32 duty=0.2 start=5
storm storm watts=20 children=300 ms=5 start=1
gpu-use steady sm=60 memory=20000
"""
CONFIG = """
global: {{scrape_interval: 250ms, evaluation_interval: 500ms, scrape_timeout: 250ms}}
rule_files: [{rules}]
scrape_configs:
  - job_name: wattle
    static_configs: [{{targets: ["localhost:{wattle}"]}}]
"""


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as found:
        return found.getsockname()[1]


class Simulated:
    """wattle serve on the simulated machine."""

    def __init__(self, folder):
        simulator = Path(os.environ["WATTLE_BUILD_ROOT"]) / "tests" / "sim" / "sim"
        (folder / "given.sim").write_text(SCENARIO)
        idle = trial.idle_file(folder / "idle", {"package-0": 74, "package-1": 69, "dram-0": 4, "dram-1": 4, "gpu-0": 55})
        self.port = free_port()
        self.sim = subprocess.Popen(
            [simulator, folder / "given.sim", folder / "machine", "--", command_path(), "serve", "--no-store", "--port", str(self.port),
             "--interval", "100", "--idle-file", idle, *EVERYTHING], env=clean_env(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)

    def scrape(self):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/metrics", timeout=10) as answer:
                return answer.read().decode()
        except OSError:
            return None

    def close(self):
        os.killpg(self.sim.pid, signal.SIGTERM)
        try:
            self.sim.communicate(timeout=10)
        except subprocess.TimeoutExpired:
            os.killpg(self.sim.pid, signal.SIGKILL)
            self.sim.communicate()


@pytest.fixture(name="simulated", scope="module")
def simulated_machine(tmp_path_factory):
    fake_library()
    machine = Simulated(tmp_path_factory.mktemp("simulated"))
    try:
        end = time.monotonic() + 20
        while not machine.scrape():
            if machine.sim.poll() is not None or time.monotonic() > end:
                pytest.skip(f"there is no simulated machine here: {machine.sim.communicate(timeout=5)[1].decode()}")
            time.sleep(0.1)
        yield machine
    finally:
        machine.close()


class Prometheus:
    def __init__(self, folder, wattle_port):
        binary = shutil.which("prometheus")
        if not binary:
            pytest.skip("Prometheus (Debian's package prometheus) is not there")
        self.port = free_port()
        (folder / "prometheus.yml").write_text(
            CONFIG.format(wattle=wattle_port, rules=SHARE / "prometheus" / "wattle.rules.yml"))
        self.process = subprocess.Popen(
            [binary, f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data",
             f"--web.listen-address=127.0.0.1:{self.port}", "--log.level=error"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=folder)

    def ask(self, path, **arguments):
        url = f"http://127.0.0.1:{self.port}/api/v1/{path}?{urllib.parse.urlencode(arguments)}"
        try:
            with urllib.request.urlopen(url, timeout=30) as answer:
                return json.load(answer)["data"]
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{arguments}: {error.read().decode()}") from error

    def query(self, query):
        return self.ask("query", query=query)["result"]

    def is_up(self):
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{self.port}/-/ready", timeout=10).close()
            return self.query("count(wattle_user_power_watts) and count(wattle_domain_idle_watts) and count(count_over_time(wattle_host_power_watts[1m]) > 20)")
        except OSError:
            return None

    def close(self):
        self.process.terminate()
        self.process.wait(30)


@pytest.fixture(name="prometheus", scope="module")
def real_prometheus(simulated, tmp_path_factory):
    server = Prometheus(tmp_path_factory.mktemp("prometheus"), simulated.port)
    try:
        wait_for(server.is_up, "scrapes")
        yield server
    finally:
        server.close()


def test_every_scrape_adds_up(simulated):
    """Processes come and go; counters never fall."""
    before, steady = {}, 0
    end = time.monotonic() + 4
    while time.monotonic() < end:
        series = parse(simulated.scrape())
        check_ledger(series)
        for key, value in series.items():
            if key[0].endswith("_total"):
                assert value >= before.get(key, 0), key
                before[key] = value
        steady += any(labels["command"] == "steady" for labels, _ in values(series, "wattle_command_power_watts"))
        time.sleep(0.05)
    assert steady > 10


def test_prometheus_takes_all(prometheus, simulated):
    """Not a sample is refused, and what it has is what was told."""
    [target] = prometheus.ask("targets")["activeTargets"]
    assert (target["health"], target["lastError"]) == ("up", "")
    told = {key for key in parse(simulated.scrape()) if not key[0].startswith("wattle_process")}
    names = set(prometheus.ask("label/__name__/values"))
    assert {name for name, _ in told} <= names
    metadata = prometheus.ask("targets/metadata", metric="wattle_domain_energy_joules_total") or \
        prometheus.ask("targets/metadata", metric="wattle_domain_energy_joules")
    assert (metadata[0]["type"], metadata[0]["unit"]) == ("counter", "joules")
    # 74 + 69 + 8 W at rest, and the GPU's 55.
    [row] = prometheus.query("sum(wattle_host_power_watts)")
    assert 150 < float(row["value"][1]) < 700
    assert prometheus.query("count(up == 0)") == []


# Of the simulated machine: it has no such groups, and nothing is wrong with it.
MAY_BE_EMPTY = re.compile(r"wattle_(unit|container|pod|job|push)_|_throttled|_up\{|> 60$|== 0")


def fill_in(query):
    for name, value in {"$__rate_interval": "4s", "$__range": "10s", "$instance": ".*"}.items():
        query = query.replace(name, value)
    return query.replace('instance=".*"', 'instance=~".*"')


@pytest.mark.parametrize("path", [SHARE / "grafana" / f"wattle-{name}.json" for name in ("fleet", "machine")], ids=lambda path: path.stem)
def test_dashboards(prometheus, path):
    """Each query of each panel is understood, and has an answer. That of machines that push: test_push.py."""
    board = json.loads(path.read_text())
    assert len({panel["id"] for panel in board["panels"]}) == len(board["panels"])
    empty = []
    for panel in board["panels"]:
        for target in panel["targets"]:
            query = fill_in(target["expr"])
            if not MAY_BE_EMPTY.search(query) and not wait_for(lambda q=query: prometheus.query(q) or "", query, timeout=10):
                empty.append(query)
    assert not empty


def test_recording_rules(prometheus):
    rules = [rule for group in prometheus.ask("rules")["groups"] for rule in group["rules"]]
    assert len(rules) == 30
    wait_for(lambda: all(rule["health"] == "ok" for group in prometheus.ask("rules")["groups"] for rule in group["rules"]), "rules")
    for rule in rules:
        if rule["type"] == "recording" and not MAY_BE_EMPTY.search(rule["query"]):
            wait_for(lambda name=rule["name"]: prometheus.query(name), rule["name"], timeout=20)


KNOWN_QUERIES = {  # as their dashboards ask
    "kepler": ["sum(kepler_node_cpu_watts{zone=~\"package|dram\"})", "sum by (comm) (kepler_process_cpu_watts)", "kepler_node_gpu_watts",
               "rate(kepler_node_cpu_joules_total[10s])", "kepler_node_cpu_active_watts", "kepler_node_cpu_idle_watts"],
    "dcgm": ["avg(DCGM_FI_DEV_GPU_UTIL) by (gpu)", "DCGM_FI_DEV_POWER_USAGE", "rate(DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION[10s]) / 1000",
             "DCGM_FI_DEV_FB_USED / (DCGM_FI_DEV_FB_USED + DCGM_FI_DEV_FB_FREE)"],
    "scaphandre": ["scaph_host_power_microwatts / 1000000", "sum(scaph_process_power_consumption_microwatts{exe=~\".*steady.*\"}) / 1000000",
                   "scaph_socket_power_microwatts", "sum(scaph_domain_power_microwatts) / 1000000", "rate(scaph_host_energy_microjoules[10s])"],
    "node": ["rate(node_rapl_package_joules_total[10s])", "sum without (index, path) (rate(node_rapl_dram_joules_total[10s]))"],
    "aipowermeter": ["power_draw_cpu", "intel_power", "mem_used_cpu", "mem_used_gpu", "power_draw_gpu"],
}


@pytest.mark.parametrize("name", COMPAT)
def test_queries_of_other_dashboards(prometheus, name):
    for query in KNOWN_QUERIES[name]:
        wait_for(lambda q=query: prometheus.query(q), query, timeout=10)


# ---- Batch jobs ----

def test_jobs_of_slurm(machine, tmp_path):
    """Whose a job is: not root's, who has a helper in each step. Its steps are one group."""
    root = machine("xeon-2s-dram")
    ours = "0::/system.slice/slurmstepd.scope/job_41/step_"
    with Moving(root, processes=4):
        for i, (uid, path) in enumerate(((0, f"{ours}0/slurm"), (4711, f"{ours}0/user/task_0"), (4711, f"{ours}batch/user/task_0"),
                                         (0, "0::/system.slice/cron.service"))):
            root.put(f"proc/{1000 + i}/cgroup", path + "\n")
            root.put(f"proc/{1000 + i}/status", f"Name:\tx\nUid:\t{uid}\t{uid}\t{uid}\t{uid}\n")
        with Agent("--root", root.path, "--store", tmp_path / "store") as agent:
            def jobs():
                told = parse(agent.scrape())
                known = {labels["user"] for labels, _ in values(told, "wattle_job_info")}
                return told if "4711" in known and len(values(told, "wattle_job_power_watts")) > 1 else None
            told = wait_for(jobs, "a job")
            agent.end()
        [recording] = (tmp_path / "store").glob("*.wattle")
    assert values(told, "wattle_job_info") == [({"job_id": "slurm/41", "user": "4711"}, 1)]
    assert {labels["job_id"] for labels, _ in values(told, "wattle_job_power_watts")} == {"slurm/41", ""}
    report = run_wattle("report", "-f", "json", recording).json
    assert {process.get("step") for process in report["processes"] if process.get("job") == "slurm/41"} == {"0", "batch"}


# ---- Kubernetes ----

def test_names_of_pods(machine, tmp_path):
    """The kubelet's folders of logs say what a pod is called."""
    uid, unknown = "01234567-89ab-cdef-0123-456789abcdef", "11111111-89ab-cdef-0123-456789abcdef"
    root = machine("xeon-2s-dram")
    (root.path / f"var/log/pods/team-a_trainer-0_{uid}").mkdir(parents=True)
    (root.path / "var/log/pods/not-a-pod").mkdir()
    with Moving(root, processes=2):
        for i, pod in enumerate((uid, unknown)):
            root.put(f"proc/{1000 + i}/cgroup", f"0::/kubepods.slice/kubepods-pod{pod.replace('-', '_')}.slice/cri-containerd-{'3f' * 32}.scope\n")
        with Agent("--root", root.path, "--store", tmp_path / "store", "--compat", "kepler") as agent:
            def pods():
                told = parse(agent.scrape())
                return told if len(values(told, "wattle_pod_energy_joules_total")) >= 2 else None
            told = wait_for(pods, "two pods")
            live = json.loads(agent.ask("/api/v1/live")[2])
    assert values(told, "wattle_pod_info") == [({"pod_id": uid, "namespace": "team-a", "pod": "trainer-0"}, 1)]
    assert {pod["name"]: pod.get("title") for pod in live["groups"]["pod"] if pod["name"]} == {uid: "team-a/trainer-0", unknown: None}
    assert {(labels["pod_id"], labels["pod_namespace"], labels["pod_name"]) for labels, _ in values(told, "kepler_pod_cpu_watts")} \
        == {(uid, "team-a", "trainer-0"), (unknown, "", unknown)}
