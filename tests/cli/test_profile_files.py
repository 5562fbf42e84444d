# SPDX-License-Identifier: MIT
"""The files of wattle profile: what is in them, and the tools that open them where these are installed.

tests/python/test_profile_files.py has the tools that pip installs. Those of npm are looked for in build-node:
npm install --prefix build-node speedscope@1.25.0 @firefox-devtools/profiler-cli@0.10.0
"""

import base64
import gzip
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from xml.etree import ElementTree

import pytest

from conftest import REPO, command_path, run_wattle
from test_profile import built_program  # noqa: F401 (a fixture)

NODE = REPO / "build-node" / "node_modules"
HOSTILE = "\"é</script>\\\n-->"
SECONDS = pytest.approx(0.75, abs=0.2)  # of CPU time: the program takes 0.6 s, and on a busy machine its start some more


@pytest.fixture(name="written", scope="session")
def all_files(program, tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")

    def write(name):
        path = folder / name
        if not path.exists():
            result = run_wattle("profile", "-q", "-o", path, "--location", "360", "--", program, "two", "", HOSTILE)
            assert result.code == 0 and result.out == "", result
        return path
    return write


def run(*words, cwd=None):
    done = subprocess.run(list(map(str, words)), check=False, capture_output=True, text=True, timeout=60, cwd=cwd)
    assert done.returncode == 0, done
    return done.stdout


def need(name):
    if not shutil.which(name):
        pytest.skip(f"{name} is not installed")


def test_folded(written):
    """Its grammar, as flamegraph.pl and inferno have it: frames with semicolons between them, and a whole number."""
    stacks = [re.fullmatch(r"([^;]+(?:;[^;]+)*) ([1-9][0-9]*)", line).groups() for line in written("p.folded").read_text().splitlines()]
    assert any(stack.endswith("main;heavy;middle;innermost") for stack, _ in stacks)
    assert len({stack for stack, _ in stacks}) == len(stacks)


def test_folded_by_flamegraph(written):
    """That of Debian's libdevel-nytprof-perl 6.12 was tried."""
    tool = shutil.which("flamegraph.pl") or "/usr/share/perl5/Devel/NYTProf/flamegraph.pl"
    if not os.path.exists(tool):
        pytest.skip("flamegraph.pl is not installed")
    root = ElementTree.fromstring(run("perl", tool, "--countname", "uJ", written("p.folded")))
    titles = [node.text for node in root.iter("{http://www.w3.org/2000/svg}title")]
    assert any(re.match(r"innermost \([\d,]+ uJ, ", title) for title in titles), titles


def test_formats_by_name(program, tmp_path):
    folded = run_wattle("profile", "-q", "-f", "folded", "-o", tmp_path / "what", "--", program, "brief")
    assert folded.code == 0 and ";main;heavy" in (tmp_path / "what").read_text()
    assert ";main;heavy" in run_wattle("profile", "-q", "-f", "folded", "-o", "-", "--", program, "brief").out
    assert run_wattle("profile", "-q", "-o", tmp_path / "callgrind.out.7", "--", program, "brief").code == 0
    assert (tmp_path / "callgrind.out.7").read_text().startswith("# callgrind format\n")


# ---- pprof ----

def fields(data):
    """(field, value) of a protocol buffer: numbers, and bytes."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte, at = data[at], at + 1
            value |= (byte & 0x7f) << shift
            shift += 7
            if byte < 0x80:
                return value
    while at < len(data):
        key = varint()
        if key & 7 == 0:
            yield key >> 3, varint()
        else:
            assert key & 7 == 2
            size = varint()
            yield key >> 3, data[at:at + size]
            at += size
    assert at == len(data)


def packed(data):
    return [value for _, value in fields(b"".join(b"\x08" + part for part in re.findall(rb"[\x80-\xff]*[\x00-\x7f]", data)))]


def test_pprof_says(written):
    whole = list(fields(gzip.decompress(written("p.pb.gz").read_bytes())))
    strings = [value.decode() for field, value in whole if field == 6]
    assert strings[0] == ""
    types = [[strings[value] for _, value in fields(part)] for field, part in whole if field == 1]
    assert types[:4] == [["samples", "count"], ["cpu", "nanoseconds"], ["energy", "microjoules"], ["co2e", "micrograms"]]
    assert strings[next(value for field, value in whole if field == 14)] == "energy"
    functions = {dict(fields(part))[1]: strings[dict(fields(part))[2]] for field, part in whole if field == 5}
    locations = {}
    for field, part in whole:
        if field == 4:
            location = dict(fields(part))
            line = dict(fields(location[4]))
            locations[location[1]] = functions[line[1]], line[2]
    samples = [dict(fields(part)) for field, part in whole if field == 2]
    sums = [sum(column) for column in zip(*(packed(sample[2]) for sample in samples))]
    assert sums[1] / 1e9 == SECONDS and len(sums) == len(types)
    leafs = {locations[packed(sample[1])[0]] for sample in samples}
    assert any(name == "innermost" and line > 0 for name, line in leafs)
    # 360 g/kWh is 100 µg/J.
    assert sums[3] == pytest.approx(sums[2] / 1e4, abs=1)


def test_pprof_by_go(written):
    """go tool pprof 1.19 to 1.26 were tried. Of itself it tells all in µs, if a caller has some µs of its own."""
    need("go")
    top = run("go", "tool", "pprof", "-top", "-unit=ms", "-sample_index=cpu", written("p.pb.gz"))
    assert re.search(r"Type: cpu\n(.*\n)*.*ms .* innermost", top), top
    assert "microjoules" in run("go", "tool", "pprof", "-top", written("p.pb.gz"))


def test_python_names_in_pprof(tmp_path):
    """pprof leaves names as they are: those in angle brackets are Python's."""
    need("go")
    script = tmp_path / "uses.py"
    script.write_text("import time\ndef until(s):\n    while time.process_time() < s:\n        pass\n(lambda: until(0.4))()\n")
    assert run_wattle("profile", "-q", "-o", tmp_path / "p.pb.gz", "--", sys.executable, script).code == 0
    top = run("go", "tool", "pprof", "-top", "-cum", "-sample_index=cpu", tmp_path / "p.pb.gz")
    assert re.search(r" <module>$", top, re.M) and re.search(r" <lambda>$", top, re.M) and "<unknown>" not in top, top


# ---- Callgrind ----

def test_callgrind_says(written):
    text = written("p.callgrind").read_text()
    events = re.search(r"^events: (.+)$", text, re.M)[1].split()
    assert events[:4] == ["energy_uJ", "cpu_us", "samples", "co2e_ug"]
    totals = list(map(int, re.search(r"^totals: (.+)$", text, re.M)[1].split()))
    assert totals[1] / 1e6 == SECONDS and totals[3] == pytest.approx(totals[0] / 1e4, abs=1)
    own, is_call = [0] * len(events), False
    for line in text.splitlines():
        if re.match(r"\d+( \d+)+$", line) and not is_call:
            own = [a + int(b) for a, b in zip(own, line.split()[1:])]
        is_call = line.startswith("calls=")
    assert own[0] == totals[0] and own[2] == totals[2]
    assert own[1] == pytest.approx(totals[1], abs=text.count("\n"))  # parts of microseconds are cut off
    # What has no source has a program alone: readers would print machine code.
    assert re.search(r"^ob=.*/profiled\nfl=.*/profiled\.c\nfn=\(\d+\) heavy$", text, re.M), text
    programs, sources = (set(re.findall(rf"^(?:{kinds})=(.*)$", text, re.M)) - {"???"} for kinds in ("ob|cob", "fl|cfi"))
    assert not programs & sources, (programs, sources)


def test_callgrind_by_annotate(written):
    """valgrind 3.19 was tried."""
    need("callgrind_annotate")
    shown = run("callgrind_annotate", "--threshold=100", written("p.callgrind"))
    assert re.search(r"^ *[\d,]+ \(.*profiled\.c:innermost", shown, re.M), shown
    sources = re.findall(r"^-- Auto-annotated source: (.*)$", shown, re.M)
    assert sources and all(source.endswith((".c", ".h")) for source in sources), sources


# ---- Tools of browsers ----

def test_speedscope_says(written):
    file = json.loads(written("p.speedscope.json").read_text())
    names = [frame["name"] for frame in file["shared"]["frames"]]
    profiles = {profile["name"]: profile for profile in file["profiles"]}
    assert file["profiles"][file["activeProfileIndex"]]["name"] == "energy [J]"
    for profile in profiles.values():
        assert len(profile["samples"]) == len(profile["weights"])
        assert sum(profile["weights"]) == pytest.approx(profile["endValue"])
        assert all(0 <= frame < len(names) for stack in profile["samples"] for frame in stack)
    assert profiles["CPU time [s]"]["endValue"] == SECONDS
    stacks = [[names[frame] for frame in stack] for stack in profiles["CPU time [s]"]["samples"]]
    assert any(stack[-4:] == ["main", "heavy", "middle", "innermost"] for stack in stacks)
    assert file["name"].endswith("profiled two '' '\"é</script>\\?-->'")


def test_speedscope_by_itself(written, tmp_path):
    need("chromium")
    page = NODE / "speedscope" / "dist" / "release" / "index.html"
    if not page.exists():
        pytest.skip("speedscope is not in build-node")
    data = base64.b64encode(written("p.speedscope.json").read_bytes()).decode()
    (tmp_path / "load.js").write_text(f"speedscope.loadFileFromBase64('p.speedscope.json', '{data}')")
    dom = run("chromium", "--headless", "--no-sandbox", "--disable-gpu", "--allow-file-access-from-files", "--virtual-time-budget=8000",
        f"--user-data-dir={tmp_path}/chromium", "--dump-dom", f"file://{page}#localProfilePath={tmp_path}/load.js")
    assert "energy [J]" in dom and "profiled two" in dom


def test_firefox_says(written):
    file = json.loads(written("p.firefox.json").read_text())
    shared = file["shared"]
    assert file["meta"]["preprocessedProfileVersion"] == 60 and file["meta"]["gramsOfCO2ePerKWh"] == 360
    for name in ("funcTable", "frameTable", "stackTable", "sources"):
        assert all(len(column) == shared[name]["length"] for key, column in shared[name].items() if key != "length"), name
    thread, = file["threads"]
    samples = thread["samples"]
    assert len(samples["stack"]) == len(samples["time"]) == len(samples["threadCPUDelta"]) == samples["length"]
    assert samples["time"] == sorted(samples["time"]) and sum(samples["threadCPUDelta"]) / 1e9 == SECONDS
    leafs = [shared["stringArray"][shared["funcTable"]["name"][shared["frameTable"]["func"][shared["stackTable"]["frame"][stack]]]]
        for stack in samples["stack"]]
    assert leafs.count("innermost") > 0.8 * len(leafs)
    for counter in file["counters"]:
        assert counter["category"] == "power" and len(counter["samples"]["count"]) == counter["samples"]["length"]


def test_firefox_by_its_profiler(written, tmp_path):
    """Its command-line tool upgrades and analyses files as profiler.firefox.com does."""
    need("node")
    tool = NODE / "@firefox-devtools" / "profiler-cli" / "dist" / "profiler-cli.js"
    if not tool.exists():
        pytest.skip("the Firefox Profiler is not in build-node")

    def ask(*words):
        return run("env", f"HOME={tmp_path}", "node", tool, *words, cwd=tmp_path)
    words = ["env", f"HOME={tmp_path}", "node", tool, "load", written("p.firefox.json")]
    loaded = subprocess.run(list(map(str, words)), check=False, capture_output=True, text=True, timeout=60, cwd=tmp_path)
    slow = re.search(r"still be running as pid (\d+)", loaded.stderr)
    if slow:
        os.kill(int(slow[1]), signal.SIGTERM)
        pytest.skip("the Firefox Profiler's daemon gave up on this busy machine")
    assert loaded.returncode == 0, loaded
    try:
        assert re.search(r"energy of .*Wh .*CO₂e", ask("profile", "info"))
        assert re.search(r"innermost - self: \d+", ask("thread", "samples"))
    finally:
        ask("stop")


def test_trace_says(written):
    """https://perfetto.dev/docs/getting-started/other-formats: phases M, C and X, microseconds."""
    events = json.loads(written("p.trace.json").read_text())["traceEvents"]
    assert {event["ph"] for event in events} == {"M", "C", "X"}
    assert sum(event["dur"] for event in events if event["ph"] == "X") / 1e6 == SECONDS
    assert all(event["ts"] >= 0 for event in events)
    names = {event["pid"]: event["args"]["name"] for event in events if event["name"] == "process_name"}
    assert names == {event["pid"]: "energy" if event["pid"] == 0 else "profiled" for event in events}
    powers = [event for event in events if event["ph"] == "C" and event["name"].endswith(" power")]
    assert powers and all(event["args"]["W"] >= 0 for event in powers)


# ---- Pictures ----

def test_html_says(written):
    """One page, which asks nobody; the figures of all of it add up."""
    page = written("p.html").read_text()
    assert "default-src 'none'" in page and not re.search(r"https?://|<link|<img|src=|@import|innerHTML", page)
    assert page.count("</script>") == 2
    data = json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)[1])
    assert data["command"].endswith("'\"é</script>\\?-->'")
    titles = [metric["title"] for metric in data["metrics"]]
    assert titles[:4] == ["samples", "CPU time", "energy", "emissions"]
    assert sum(data["nodes"]["own"][1]) / 1e9 == SECONDS
    parts = [int(joules.replace(".", "")) for _, joules, is_sum in data["sums"] if not is_sum]
    assert [sum(parts)] == [int(joules.replace(".", "")) for _, joules, is_sum in data["sums"] if is_sum]
    assert sum(data["nodes"]["own"][2]) <= sum(parts)
    assert all(parent < i + 1 for i, parent in enumerate(data["nodes"]["parent"]))


def test_html_in_a_browser(written, tmp_path):
    need("chromium")
    page = tmp_path / "page.html"
    page.write_text(written("p.html").read_text().replace("</body>", """<script>
        invert(); search("middle"); choose(tree.children[0]); move("ArrowDown"); zoom(chosen); $("reset").click(); metric = 1; refresh();
        document.body.dataset.boxes = boxes.length;
        const amount = text => parseFloat(text) * ({ m: 1e-3, "µ": 1e-6 }[text.split(" ")[1][0]] || 1);
        const inner = functions.find(one => data.names[one.name] === "innermost");
        document.body.dataset.doubts = [2, 3].map(i => { metric = i; return amount(doubt(inner)); });
        metric = 1;</script></body>"""))
    dom = run("chromium", "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=3000", f"--user-data-dir={tmp_path}/chromium",
        "--dump-dom", page.as_uri())
    assert int(re.search(r'data-boxes="(\d+)"', dom)[1]) >= 5
    row = next(row for row in json.loads(written("p.json").read_text())["functions"] if row["function"] == "innermost")
    energy_j, co2e_g = map(float, re.search(r'data-doubts="([^"]+)"', dom)[1].split(","))
    assert energy_j / row["own_energy_j"] == pytest.approx(co2e_g / row["own_co2e_g"], rel=0.1), "what it emits is known no better"
    assert re.search(r'<td class="name">innermost</td><td>\d+(\.\d+)? m?s</td>', dom), dom[-3000:]
    assert "é&lt;/script&gt;" in dom


def test_svg(written):
    text = written("p.svg").read_text()
    root = ElementTree.fromstring(text)
    titles = [node.text for node in root.iter("{http://www.w3.org/2000/svg}title")]
    assert any(re.match(r"heavy \d+\.\d+ J, \d", title) for title in titles) and len(titles) > 5
    for node in root.iter("{http://www.w3.org/2000/svg}rect"):
        if node.get("x"):
            assert float(node.get("x")) + float(node.get("width")) <= 1191


# ---- Graphs ----

def test_dot(written):
    """Graphviz 2.42 was tried."""
    text = written("p.dot").read_text()
    nodes = dict(re.findall(r'^\t(n\d+) \[label="([^"\\]+)', text, re.M))
    edges = [(nodes[a], nodes[b]) for a, b in re.findall(r"^\t(n\d+) -> (n\d+) ", text, re.M)]
    assert ("main", "heavy") in edges and ("middle", "innermost") in edges
    if shutil.which("dot"):
        assert "<svg" in run("dot", "-Tsvg", written("p.dot"))


def test_pyinstrument_says(written):
    """Of its sessions: the sum, and frames of three parts. The tool itself: tests/python."""
    file = json.loads(written("p.pyisession").read_text())
    assert sum(joules for _, joules in file["frame_records"]) == pytest.approx(file["duration"])
    assert all(len(frame.split("\0")) == 3 for stack, _ in file["frame_records"] for frame in stack)
    assert file["cpu_time"] == SECONDS


# ---- Memory ----

def test_memory(program, tmp_path):
    """24 MiB are touched in grows(); all that is charged is what was read."""
    done = run_wattle("profile", "--memory", "-o", tmp_path / "p.json", "--", program, "grows")
    assert done.code == 0 and "peak RSS" in done.err and "while on the stack" in done.err
    memory = json.loads((tmp_path / "p.json").read_text())["memory"]
    rows = {row["function"]: row for row in memory["functions"]}
    assert 22 << 20 < rows["grows"]["grown_bytes"] < 26 << 20
    assert rows["main"]["grown_bytes"] >= rows["grows"]["grown_bytes"]
    assert rows.get("heavy", {"grown_bytes": 0})["grown_bytes"] < 1 << 20
    assert [process["name"] for process in memory["processes"]] == ["profiled"]
    assert 24 << 20 < memory["processes"][0]["peak_rss_bytes"] < 32 << 20


def test_memory_of_many_processes(program, tmp_path):
    """More of them than files may be open."""
    n = 200
    (tmp_path / "script.py").write_text(f"""import os, signal, time
done, ready = os.pipe()
def child():
    while time.process_time() < 0.02:
        pass
    os.write(ready, b".")
    signal.pause()
children = []
for _ in range({n}):
    children.append(os.fork() or child())
for _ in children:
    os.read(done, 1)
for number in children:
    os.kill(number, signal.SIGKILL)
    os.waitpid(number, 0)
""")
    done = subprocess.run(["bash", "-c", 'ulimit -n 150; exec "$@"', "bash", command_path(), "profile", "-q", "--memory", "-o",
                           tmp_path / "p.json", "--", "/usr/bin/python3", tmp_path / "script.py"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=200, check=False)
    assert done.returncode == 0, done
    memory = json.loads((tmp_path / "p.json").read_text())["memory"]
    assert len(memory["processes"]) > n - 20
    assert len({row["pid"] for row in memory["processes"]}) == len(memory["processes"])


def test_memory_in_files(program, tmp_path):
    """Growth is a further cost of each format that has several, and the page's switch; peaks, which do not add up, are told beside."""
    done = run_wattle("profile", "-q", "--memory", "--keep", tmp_path / "p.wprof", "-o", tmp_path / "p.json", "--", program, "grows")
    assert done.code == 0, done
    told = json.loads((tmp_path / "p.json").read_text())["memory"]
    grows = next(row for row in told["functions"] if row["function"] == "grows")
    all_grown = sum(row["own_grown_bytes"] for row in told["functions"]) + told["unseen_grown_bytes"]
    assert 24 << 20 < grows["peak_rss_bytes"] <= told["processes"][0]["peak_rss_bytes"]
    for name in ("p.pb.gz", "p.html", "p.speedscope.json", "p.callgrind"):
        assert run_wattle("profile", "show", tmp_path / "p.wprof", "-o", tmp_path / name).code == 0
    whole = list(fields(gzip.decompress((tmp_path / "p.pb.gz").read_bytes())))
    strings = [value.decode() for field, value in whole if field == 6]
    types = [[strings[value] for _, value in fields(part)] for field, part in whole if field == 1]
    samples = [list(fields(part)) for field, part in whole if field == 2]
    assert types[-1] == ["memory_growth", "bytes"]
    assert sum(packed(dict(sample)[2])[-1] for sample in samples) == all_grown
    labels = [dict(fields(part)) for sample in samples for field, part in sample if field == 3]
    assert {(strings[label[1]], strings[label[4]]) for label in labels} == {("peak_rss", "bytes")}
    assert max(label[3] for label in labels) <= told["processes"][0]["peak_rss_bytes"]
    data = json.loads(re.search(r'id="data">(.*?)</script>', (tmp_path / "p.html").read_text(), re.S)[1])
    assert (data["metrics"][-1]["unit"], sum(data["nodes"]["own"][-1])) == ("B", all_grown)
    assert data["peaks"][data["names"].index("grows")] == grows["peak_rss_bytes"]
    last = json.loads((tmp_path / "p.speedscope.json").read_text())["profiles"][-1]
    assert last["unit"] == "bytes" and sum(last["weights"]) == last["endValue"] == all_grown
    assert "memory_growth_bytes\n" in (tmp_path / "p.callgrind").read_text()
    if shutil.which("go"):
        top = run("go", "tool", "pprof", "-top", "-sample_index=memory_growth", tmp_path / "p.pb.gz")
        assert re.search(r"Type: memory_growth\n(.*\n)*.*[kM]B .* grows", top), top


def test_memory_is_told_on_request(program):
    assert "RSS" not in run_wattle("profile", "--", program, "brief").err


def test_mprof(program, tmp_path):
    """As memory-profiler writes it: a size in MiB and seconds since 1970; descendants by their numbers."""
    path = tmp_path / "p.dat"
    done = run_wattle("profile", "-o", path, "--", program, "children")
    assert done.code == 0 and "peak RSS" in done.err
    lines = path.read_text().splitlines()
    assert lines[0].startswith("CMDLINE ") and lines[0].endswith("profiled children")
    own = [line for line in lines[1:] if line.startswith("MEM ")]
    children = [line for line in lines[1:] if line.startswith("CHLD ")]
    assert len(own) + len(children) == len(lines) - 1
    for line in own + children:
        assert re.fullmatch(r"(MEM|CHLD \d+) \d+\.\d{6} \d{10}\.\d{4}", line)
    assert len({line.split()[1] for line in children}) == 2
