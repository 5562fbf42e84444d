# SPDX-License-Identifier: MIT
"""The page of `wattle serve` in Debian's Chromium: its figures against the API's, and that everybody can use it."""

import os
import re
import sys
import time
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "cli"))
from api_server import Mover, Server, tape_server  # noqa: E402
from conftest import fake_gpus, machine_copies, run_wattle  # noqa: E402,F401 # pylint: disable=unused-import

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: make test-page")
axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe is not installed: make test-page")

CHROMIUM = os.environ.get("WATTLE_CHROMIUM", "/usr/bin/chromium")
VIOLATIONS = """window.violations = [];
document.addEventListener("securitypolicyviolation", e => window.violations.push(`${e.violatedDirective} ${e.blockedURI} ${e.sourceFile}:${e.lineNumber}`));"""
SIZES = {"light": {"viewport": {"width": 1200, "height": 900}},
         "dark": {"viewport": {"width": 1200, "height": 900}, "color_scheme": "dark"},
         "phone": {"viewport": {"width": 360, "height": 740}}}


@pytest.fixture(name="browser", scope="module")
def debian_chromium():
    if not os.access(CHROMIUM, os.X_OK):
        pytest.skip(f"there is no browser at {CHROMIUM}")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"] if os.geteuid() == 0 else [])
        yield browser
        browser.close()


@pytest.fixture(name="played", scope="module")
def played_tape():
    with tape_server() as server:
        yield server


def until(page, expression, timeout=15):
    """The value of an expression once it is true. (The policy of the page forbids wait_for_function's eval.)"""
    end = time.monotonic() + timeout
    while True:
        value = page.evaluate(expression)
        if value:
            return value
        assert time.monotonic() < end, (expression, page.evaluate("document.body.innerText"))
        time.sleep(0.05)


@pytest.fixture(name="opened")
def opened_pages(browser):
    """opened(server): its page, drawn. Nothing may go wrong in it, and nothing be asked of others, while it is open."""
    contexts, wrong = [], []

    def open_page(server, context=None, path="/", **options):
        if context is None:
            context = browser.new_context(**options)
            context.add_init_script(VIOLATIONS)
            contexts.append(context)
        page = context.new_page()
        # A server that ends cuts its stream short, which is no fault of the page's.
        page.on("console", lambda message: wrong.append(message.text)
                if message.type in ("error", "warning") and "net::ERR_" not in message.text else None)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("request", lambda request: None if request.url.startswith(server.url) else wrong.append(request.url))
        page.goto(server.url + path)
        until(page, "typeof known !== 'undefined' && known.live && known.curve && known.use && document.querySelector('#graph canvas') !== null")
        return page
    yield open_page
    for context in contexts:
        for page in context.pages:
            wrong += page.evaluate("window.violations")
        context.close()
    assert not wrong, wrong


def table(page, name):
    """Its rows as texts."""
    return page.evaluate(f"[...document.querySelectorAll('#{name} tbody tr')].map(r => [...r.cells].map(c => c.textContent))")


def shown(page, value, uncertainty=0, unit="W"):
    """A figure as the page prints it: test_figures_as_the_command_prints_them holds that against the command."""
    return page.evaluate("([v, u, unit]) => measure(v, u, unit)", [float(value), float(uncertainty or 0), unit])


def test_same_figures_as_the_api(played, opened):
    page, live = opened(played), played.json("/api/v1/live")
    use = page.evaluate("known.use")
    total = live["total"]
    assert page.inner_text("#total") == shown(page, total["power_w"], total["power_uncertainty_w"])
    rows = table(page, "domains")
    assert [r[1] for r in rows] == ["total"] + [d["name"] for d in live["domains"]]
    for row, domain in zip(rows[1:], live["domains"]):
        assert row[2] == shown(page, domain["power_w"], domain["power_uncertainty_w"])
        assert row[6] == shown(page, domain["idle_w"], domain["idle_uncertainty_w"])
        assert row[7] == shown(page, domain["energy_j"], 0, "J")
    assert [r[1] for r in table(page, "accounts")] == \
        [shown(page, v, 0, "J") for v in (*use["accounts"].values(), use["energy_j"])]
    assert abs(use["energy_j"] - float(total["energy_j"])) < 0.01  # both in steps of 1 mJ, of other parts
    for by, groups in use["groups"].items():
        page.select_option("#by", by)
        names = {g["name"] or "(in none)": g["energy_j"] for g in groups}
        rows = table(page, "groups")
        assert {r[0]: r[2] for r in rows if r[0] in names} == {n: shown(page, e, 0, "J") for n, e in names.items()}, by
        assert rows[-2][0] == "no process" and rows[-1][2] == shown(page, use["energy_j"], 0, "J")
    processes = table(page, "processes")
    assert [(r[0], r[1]) for r in processes] == [(str(p["pid"]), p["name"]) for p in live["processes"]]
    assert f"{live['carbon']['intensity_g_per_kwh']:f}".rstrip("0") in page.inner_text("#carbon-note")
    assert "nobody said where" in page.inner_text("#carbon-note").lower()
    for miss in live["missing"]:
        assert miss["reason"] in page.inner_text("#missing")


def test_curve_is_the_history(played, opened):
    page, history = opened(played), played.json("/api/v1/history?seconds=300")
    drawn = page.evaluate("known.curve.rows.map(r => r.of.map(o => o && o[0]))")
    wanted = [[None if d["power_w"][i] is None else float(d["power_w"][i]) for d in (history["total"], *history["domains"])]
              for i in range(history["steps"])]
    assert drawn == wanted
    # The band is the ±: what dygraphs draws, point by point.
    last = page.evaluate("graph.file_[graph.file_.length - 1].slice(1)")
    total = history["total"]
    assert last[0] == pytest.approx([float(total["power_w"][-1] - total["uncertainty_w"][-1]), float(total["power_w"][-1]),
                                     float(total["power_w"][-1] + total["uncertainty_w"][-1])])
    page.check("input[value=extremes]")
    assert page.evaluate("graph.file_[graph.file_.length - 1][1]") == \
        pytest.approx([float(total[k][-1]) for k in ("least_w", "power_w", "most_w")])


def test_figures_as_the_command_prints_them(played, opened):
    """The figures of a report's text, from the figures of its JSON."""
    page = opened(played)
    tape = Path(__file__).resolve().parents[1] / "fixtures/tapes/busy-thread.tape"
    report = run_wattle("run", "--tape", tape, "-f", "json").json
    text = run_wattle("run", "--tape", tape, "-f", "text").out
    figures = [shown(page, report["total"]["energy_j"], report["total"]["uncertainty_j"], "J")]
    figures += [shown(page, d["energy_j"], d["uncertainty_j"], "J") for d in report["domains"]]
    for figure in figures:
        assert figure.split(" ±")[0] in text, (figure, text)
    assert [page.evaluate(f"measure({v}, {u}, '{unit}')") for v, u, unit in (
        (4213, 126, "J"), (0, 0, "J"), (0.0421, 0.0013, "W"), (12345678, 0, "J"), (85.8321, 5.1, "W"), (1e-5, 0, "g"))] == \
        ["4210 ± 130 J", "0 J", "42.1 ± 1.3 mW", "12.35 MJ", "85.8 ± 5.1 W", "10 µg"]


def test_choosing_a_stretch(played, opened):
    page = opened(played)
    page.click("text=20 s")
    until(page, "known.curve.rows.length === 21")
    assert page.get_attribute("#ranges button[value='20']", "aria-pressed") == "true"
    page.click("text=24 h")
    until(page, "known.curve.step === 120000")
    begin = time.monotonic()
    page.evaluate("draw()")
    assert time.monotonic() - begin < 2  # 200 ms on a machine that does nothing else
    page.click("text=20 s")
    until(page, "known.curve.step === 1000")
    end = page.evaluate("end()")
    page.evaluate(f"graph.updateOptions({{dateWindow: [{end - 8000}, {end - 3000}]}}); chosen.zoom = [{end - 8000}, {end - 3000}]; choose()")
    until(page, "known.curve.rows.length === 6")
    assert page.get_attribute("#ranges button[value='20']", "aria-pressed") == "false"
    page.click("text=1 min")
    until(page, "known.curve.rows.length === 61")


def test_by_keyboard(played, opened):
    page = opened(played)
    for _ in range(30):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.value") == "60":
            break
    page.keyboard.press("Enter")
    until(page, "known.curve.rows.length === 61")
    page.focus("#domains input[data-column='1']")
    page.keyboard.press("Space")
    until(page, "!graph.getLabels().includes('package-0')")
    assert page.evaluate("document.activeElement.dataset.column") == "1"


@pytest.mark.parametrize("size", SIZES)
def test_everybody_can_use_it(played, opened, size):
    page = opened(played, **SIZES[size])
    page.click("details summary")
    found = axe.Axe().run(page)
    assert found.violations_count == 0, found.generate_report()
    assert page.evaluate("document.documentElement.scrollWidth") <= SIZES[size]["viewport"]["width"]
    shots = os.environ.get("WATTLE_SCREENSHOTS")
    if shots:
        page.screenshot(path=f"{shots}/{size}.png", full_page=True)


def test_live_and_one_stream_for_all_tabs(machine, opened):
    """Tabs of one browser share a stream: one leads, and when it is closed another one does."""
    root = machine("nvidia-server").without_perf()
    with Mover(root, {"intel-rapl:0": 40, "intel-rapl:1": 30}), Server("--no-store", "--root", root.path) as server:
        server.live(lambda live: live["total"].get("power_w"))
        first = opened(server)
        second = opened(server, context=first.context)
        first.bring_to_front()
        number = first.evaluate("known.live.number")
        until(first, f"known.live.number > {number} + 1")
        until(second, f"known.live.number > {number} + 1")
        assert [p.evaluate("source !== null") for p in (first, second)] == [True, False]
        # As shown: about 70 W, and the newest point of the curve.
        live = first.evaluate("[known.live.total.power_w, document.getElementById('total').textContent]")
        assert 50 < live[0] < 90 and live[1].endswith("W")
        first.close()
        until(second, "source !== null")
        number = second.evaluate("known.live.number")
        until(second, f"known.live.number > {number}")
        assert "Live" in second.inner_text("#state")
        server.stop()
        until(second, "document.getElementById('state').textContent.startsWith('Not connected')")
        second.evaluate("leave()")
        second.close()


# How much more there may be at the end than once the page has settled: nothing grows by the frame.
GROWTH = {"heap": 1_000_000, "nodes": 1000, "listeners": 10, "server": 1_000_000}


# Counts frames, and gives each other processes: with those of a machine the agent looks once a second only.
SEE_FRAMES = """const taking = take;
window.framesSeen = 0;
take = frame => {
    const first = ++window.framesSeen * 10;
    frame.processes = Array.from({length: 10}, (_, i) => ({pid: first + i, name: `process-${first + i}`, user: "somebody", cpu_percent: i, power_w: i, energy_j: first}));
    taking(frame);
};
chosen.seconds = 20;
choose();"""


def page_holds(page, cdp, server):
    """What there is in the page once its garbage is gone, and the server's memory; how many frames came, and how many did not."""
    page.evaluate("chosen.paused = true")
    cdp.send("HeapProfiler.collectGarbage")
    metrics = {m["name"]: m["value"] for m in cdp.send("Performance.getMetrics")["metrics"]}
    pages = int(Path(f"/proc/{server.process.pid}/statm").read_text(encoding="ascii").split()[1])
    seen = page.evaluate("chosen.paused = false, {points: known.curve.rows.length, frames: window.framesSeen, lost: known.lost}")
    return {"heap": metrics["JSHeapUsedSize"], "nodes": metrics["Nodes"], "listeners": metrics["JSEventListeners"],
            "server": pages * os.sysconf("SC_PAGE_SIZE"), **seen}


def test_a_page_left_open(machine, opened):
    """Whatever comes with a frame is gone with the next. WATTLE_PAGE_FRAMES=86400 is a day of them, or as many as come in 40 minutes."""
    frames = int(os.environ.get("WATTLE_PAGE_FRAMES", "1200"))
    root = machine("nvidia-server").without_perf()
    held = []
    with Mover(root, {"intel-rapl:0": 40, "intel-rapl:1": 30}), \
            Server("--no-store", "--root", root.path, "--no-processes", "--interval", "25ms", "--socket", "none") as server:
        server.live(lambda live: live["total"].get("power_w"))
        page = opened(server, **SIZES["phone"])
        cdp = page.context.new_cdp_session(page)
        cdp.send("Performance.enable")
        page.evaluate(SEE_FRAMES)
        end = time.monotonic() + max(frames / 36, 60)
        while not held or (held[-1]["frames"] < frames and time.monotonic() < end):
            seen, again = held[-1]["frames"] if held else 0, time.monotonic() + max(frames / 36, 60) / 12
            while time.monotonic() < again and page.evaluate("window.framesSeen") < seen + frames / 12:
                time.sleep(0.5)
            held.append(page_holds(page, cdp, server))
            print(held[-1], flush=True)
        until(page, "document.getElementById('state').textContent.startsWith('Live')")
    # The first quarter is the page's and the server's to settle in.
    grown = {what: held[-1][what] - held[len(held) // 4][what] for what in GROWTH}
    assert all(grown[what] <= most for what, most in GROWTH.items()), (grown, held)
    # Points of 20 s, one a snapshot where the machine is too busy to read the curve again.
    assert all(now["points"] <= 20 / 0.025 + 50 for now in held), held


def test_what_was_missed_is_told_for_a_minute(played, opened):
    page = opened(played)
    page.evaluate("""window.later = [];
        window.setTimeout = (call, ms) => later.push({call, ms});
        tell({lost: 2});
        tell({lost: 1});
        showState();""")
    assert "3 snapshots were missed" in page.inner_text("#state")
    page.evaluate("later.filter(l => l.ms === 60000).at(-1).call(); showState();")
    assert page.inner_text("#state") == "Live"


def test_slow_answers_count(machine, opened):
    """They take longer than until the curve is to be read again."""
    root = machine("nvidia-server").without_perf()
    with Mover(root, {"intel-rapl:0": 40, "intel-rapl:1": 30}), \
            Server("--no-store", "--root", root.path, "--no-processes", "--interval", "100ms", "--socket", "none") as server:
        server.live(lambda live: live["total"].get("power_w"))
        page = opened(server)
        page.evaluate("""const asked = ask;
            ask = async path => { await new Promise(resolve => setTimeout(resolve, 2000)); return asked(path); };
            window.before = known.curve;""")
        until(page, "known.curve !== window.before", timeout=60)


def test_without_locks(played, opened, browser):
    """Where a browser has none (a plain address that is not this machine's), each tab has its own stream."""
    context = browser.new_context()
    context.add_init_script(VIOLATIONS + "Object.defineProperty(navigator, 'locks', {value: undefined});")
    pages = [opened(played, context=context) for _ in range(2)]
    assert [p.evaluate("source !== null") for p in pages] == [True, True]
    until(pages[0], "known.connected && document.getElementById('state').textContent === 'Live'")
    context.close()


def test_names_from_outside_are_text(machine, opened):
    root = machine("nvidia-server").without_perf()
    with Server("--no-store", "--root", root.path) as server:
        server.live()
        page = opened(server)
        # The next snapshot would take it back.
        page.evaluate("""chosen.paused = true; known.live.missing.push({source: "<img src=x onerror=violations.push(1)>", status: "absent", reason: "<b>no</b>"});
            known.live.domains[0].name = "<script>1</script>"; show();""")
        assert "<b>no</b>" in page.inner_text("#missing")
        assert page.evaluate("document.querySelectorAll('#missing b, #missing img, #domains script').length") == 0


def test_modelled_parts_are_called_so(machine, opened):
    """They have a figure, so that "ok" in a list of what is not measured would be a riddle."""
    with Server("--no-store", "--root", machine("vm-nothing").path) as server:
        server.live()
        items = opened(server).evaluate("[...document.querySelectorAll('#missing li')].map(i => i.textContent)")
    assert any(re.match("package-0: modelled: .*virtual machine", item) for item in items), items
    assert not any(": ok: " in item for item in items), items


def test_idle_that_is_not_known_is_no_nothing(played, opened):
    page = opened(played)
    assert table(page, "accounts")[2][1:] != ["–", "–"]
    page.evaluate("""chosen.paused = true;
        known.use.accounts.idle_j = 0;
        for (const domain of known.live.domains)
            delete domain.idle_w;
        show();""")
    assert [row[:3] for row in table(page, "accounts")][2] == ["idle", "–", "–"]


def test_unchanged_files_are_not_sent_again(played):
    for path in ("/", "/wattle.js", "/wattle.css", "/dygraph.min.js", "/dygraph.min.css", "/icon.svg"):
        status, headers, body = played.request(path, Accept_Encoding="gzip")
        assert (status, headers["Content-Encoding"]) == (200, "gzip") and body[:2] == b"\x1f\x8b"
        status, again, body = played.request(path, Accept_Encoding="gzip", If_None_Match=headers["ETag"])
        assert (status, body, again["ETag"]) == (304, b"", headers["ETag"])
        assert played.request(path, Accept_Encoding="identity")[0] == 406
