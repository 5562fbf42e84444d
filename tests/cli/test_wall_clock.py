# SPDX-License-Identifier: MIT
"""A clock that was set while it was recorded: text, JSON, CSV and pictures tell the same times, those that the clock showed."""

import os
import re
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from conftest import REPO, command_path, run_wattle
from test_plot_recording import Place, curves, moment, shifted, span

S = 10**9
# The machine of busy-thread.tape: 12 s. Where the clock is set, how far, and where the machine sleeps for how long.
LASTS_S = 12
STEPS = {
    "back-late": (8.05, -7200, None),
    "forward-early": (3.05, 7200, None),
    "back-early": (3.05, -5400, None),
    "forward-late": (8.05, 86400, None),
    "back-and-slept": (8.05, -7200, (4.05, 30)),
    "slept-and-forward": (3.05, 7200, (6.05, 30)),
}


class Step:
    def __init__(self, place, name):
        self.place, self.name = place, name
        self.at_s, self.by_s, sleep = STEPS[name]
        self.sleep_at_s, self.slept_s = sleep or (0, 0)
        shifted(f"{name}.tape", place, self.clocks)
        self.path = place.record(f"{name}.wattle", "--tape", f"{name}.tape")
        self.report = place.run("report", "-f", "json", self.path).json

    def clocks(self, since_ns, clocks):
        mono, boot, utc, *rest = clocks
        slept = self.slept_s * S * (self.slept_s > 0 and since_ns > self.sleep_at_s * S)
        return [mono, boot + slept, utc + slept + self.by_s * S * (since_ns > self.at_s * S), *rest]

    def slept(self, since_s):
        return self.slept_s if self.slept_s and since_s > self.sleep_at_s else 0

    def shown(self, since_s):
        """What the clock showed so long after the start."""
        begin = instant(self.report["start_utc"])
        return begin + timedelta(seconds=since_s + self.slept(since_s) + (self.by_s if since_s > self.at_s else 0))

    @property
    def axis_by_s(self):
        """How far the clock that held for longest was from the first one."""
        return self.by_s if self.at_s < LASTS_S / 2 else 0


def instant(text):
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


def is_near(one, other, seconds=0.3):
    return abs((one - other).total_seconds()) <= seconds


@pytest.fixture(name="place", scope="module")
def places(tmp_path_factory):
    err = run_wattle("plot", "nothing.wattle", "-o", "nothing.svg").err + run_wattle("report", "nothing.wattle").err
    if "built without" in err:
        pytest.skip(err.strip())
    return Place(tmp_path_factory.mktemp("clocks"), tmp_path_factory.mktemp("s"))


@pytest.fixture(name="step", scope="module", params=STEPS)
def steps(place, request):
    return Step(place, request.param)


@pytest.fixture(name="even", scope="module")
def evenly(place):
    """The same with a clock that nobody set."""
    path = place.record("even.wattle", "--tape", shifted("even.tape", place, lambda since, clocks: clocks))
    return place.run("report", "-f", "json", path).json


def test_report(step, even):
    report = step.report
    assert report["start_utc"] == even["start_utc"] and report["duration_s"] == even["duration_s"]
    assert is_near(instant(report["end_utc"]), step.shown(float(report["duration_s"])), 0.002)
    assert is_near(instant(even["end_utc"]) - instant(even["start_utc"]) + datetime.min,
                   datetime.min + timedelta(seconds=float(even["duration_s"])), 0.002)
    begin, end = instant(report["start_utc"]), instant(report["end_utc"])
    text = step.place.run("report", step.path).out
    day = "" if begin.date() == end.date() else f"{end:%Y-%m-%d} "
    assert re.search(rf"^  time +12\.0\d* s, {begin:%Y-%m-%d %H:%M:%S} to {day}{end:%H:%M:%S}\s+UTC", text, re.MULTILINE), text


def clock_notes(report):
    return [note for note in report["notes"] if note.startswith("The clock was set")]


def by_how_much(seconds):
    words = {-7200: "back by 2 h 00 min 00 s", 7200: "forward by 2 h 00 min 00 s", -5400: "back by 1 h 30 min 00 s"}
    return words.get(seconds, "forward by ")


def test_run(step, even):
    """A report that is made at once has all its times by one clock, that of its start, and says so."""
    run = step.place.run("run", "-f", "json", "--top", "1000", "--tape", f"{step.name}.tape").json
    plain = step.place.run("run", "-f", "json", "--top", "1000", "--tape", "even.tape").json
    assert run["start_utc"] == plain["start_utc"] == even["start_utc"] and run["duration_s"] == plain["duration_s"]
    starts = {process["pid"]: process["start_utc"] for process in plain["processes"] if "pid" in process}
    told = {process["pid"]: process["start_utc"] for process in run["processes"] if "pid" in process}
    assert told == starts and len(told) > 3
    (note,) = clock_notes(run)
    assert note.startswith(f"The clock was set {by_how_much(step.by_s)}") and note.endswith("as it was at the start.")
    assert not clock_notes(plain)
    text = " ".join(step.place.run("run", "--tape", f"{step.name}.tape").out.split())
    assert "- " + note in text


def test_note_of_a_recording(step, even):
    """Beside the gap, which says when it was."""
    (note,) = clock_notes(step.report)
    assert note.startswith(f"The clock was set {by_how_much(step.by_s)}") and note.endswith("what it showed then.")
    assert not clock_notes(even)
    assert [gap for gap in step.report["gaps"] if gap["kind"] == "clock-step"]
    for part, is_in in (("+1", "+2"), False), (("+2", "+11"), True):
        report = step.place.run("report", "-f", "json", "--from", part[0], "--to", part[1], step.path).json
        assert bool(clock_notes(report)) is is_in
        assert bool([gap for gap in report["gaps"] if gap["kind"] == "clock-step"]) is is_in
    # Hours that it was set by are not hours that this took.
    after = step.place.run("report", "-f", "json", "--from", "+10.5", step.path).json
    assert not clock_notes(after) and not [gap for gap in after["gaps"] if gap["kind"] == "clock-step"]


def test_parts(step):
    """Both ends of a part are what the clock showed."""
    for since_s, until_s in ((1, 1.9), (4.5, 5.6), (9.5, 10.5)):
        part = step.place.run("report", "-f", "json", "--from", f"+{since_s}", "--to", f"+{until_s}", step.path).json
        # It begins with the first look from then on.
        assert is_near(instant(part["start_utc"]), step.shown(since_s), 1.2)
        begun_s = since_s + (instant(part["start_utc"]) - step.shown(since_s)).total_seconds()
        assert is_near(instant(part["end_utc"]), step.shown(begun_s + float(part["duration_s"])), 0.1)
        text = step.place.run("report", "--from", f"+{since_s}", "--to", f"+{until_s}", step.path).out
        assert f"to {instant(part['end_utc']):%H:%M:%S} UTC" in " ".join(text.split())


def test_idle_was_seen_before_the_end(step, even):
    """How long before the end idle power was seen has nothing to do with clocks that were set, but for the sleep."""
    ages = {domain["name"]: domain["idle_age_s"] for domain in even["domains"] if "idle_age_s" in domain}
    assert ages
    for domain in step.report["domains"]:
        if domain["name"] in ages:
            age_s = float(domain["idle_age_s"])
            # Nobody slept while the machine was idle.
            slept_s = step.slept(LASTS_S) - step.slept(LASTS_S - float(ages[domain["name"]]))
            assert abs(age_s - float(ages[domain["name"]]) - slept_s) < 0.01, (domain, ages)
            seen = instant(step.report["end_utc"]) - instant(domain["idle_t_utc"])
            assert abs(seen.total_seconds() - age_s) < 0.01


def test_processes(step, even):
    """Who started before the clock was set did so at the time that it showed then."""
    starts = {process["pid"]: process["start_utc"] for process in even["processes"] if "pid" in process}
    told = {process["pid"]: process["start_utc"] for process in step.report["processes"] if "pid" in process}
    begin = instant(even["start_utc"])
    assert told.keys() == starts.keys() and len(told) > 3
    for pid, start in starts.items():
        since_s = (instant(start) - begin).total_seconds()
        if since_s < 0:
            assert is_near(instant(told[pid]), instant(start), 0.02), (pid, start)
        else:
            assert is_near(instant(told[pid]), step.shown(since_s), 0.02), (pid, start)
    rows = step.place.run("export", "--what", "processes", step.path).csv
    exported = {int(row["pid"]): row["start_utc"] for row in rows if row["pid"] and row["start_utc"]}
    for pid, start in told.items():
        assert exported[pid] == start


def test_export(step):
    rows = step.place.run("export", "--what", "power", step.path).csv
    begin, end = instant(step.report["start_utc"]), instant(step.report["end_utc"])
    assert is_near(instant(rows[0]["t_utc"]), begin) and is_near(instant(rows[-1]["t_utc"]), end)
    (window,) = {(row["begin_utc"], row["duration_s"]) for row in step.place.run("export", "--what", "windows", step.path).csv}
    assert window[0] == step.report["start_utc"]


def axis(picture):
    """The time at an x: from the labels of the time axis, which are hours, minutes and seconds of its first day."""
    (title,) = [words for words in picture.words if words.startswith("Time (UTC), ")]
    day = moment(title.split()[-1] + " 00:00:00")
    ticks = []
    for words, x, _, element in picture.texts:
        if re.fullmatch(r"\d\d:\d\d(:\d\d)?", words) and element.get("text-anchor") != "end":
            hours, minutes, seconds = map(int, (words + ":00").split(":")[:3])
            at = day + timedelta(hours=hours, minutes=minutes, seconds=seconds)
            while ticks and at < ticks[-1][1]:
                at += timedelta(days=1)
            ticks.append((x, at))
    (x0, t0), (x1, t1) = ticks[0], ticks[-1]
    assert x1 > x0 and len(ticks) >= 3, picture.words
    return lambda x: t0 + (t1 - t0) * ((x - x0) / (x1 - x0))


@pytest.mark.parametrize("what", ["power", "processes"])
def test_plot(step, what):
    begin, end = instant(step.report["start_utc"]), instant(step.report["end_utc"])
    picture = step.place.plot(step.path, "--what", what, *(["--domain", "package-0"] if what == "power" else []))
    # What stands above it is what the report says.
    head = span(picture)
    assert is_near(head[0], begin, 1.1) and is_near(head[1], end, 1.1)
    # The axis rises evenly, and says what the clock said for longest.
    (note,) = [words for words in picture.words if words.startswith("The clock was set meanwhile")]
    day, since, last_day, until = re.search(r"from (\S+) ([\d:]{8}) to (\d{4}\S+ )?([\d:]{8}) UTC\.$", note).groups()
    since, until = moment(f"{day} {since}"), moment(f"{(last_day or day).strip()} {until}")
    axis_begin = begin + timedelta(seconds=step.axis_by_s)
    step_s = step.at_s + step.slept(step.at_s)
    if step.axis_by_s:
        # That it was set is seen within a second.
        assert is_near(since, axis_begin + timedelta(seconds=step_s), 2.1) and is_near(until, end, 1.1)
    else:
        assert is_near(since, begin, 1.1) and is_near(until, axis_begin + timedelta(seconds=step_s), 2.1)
    if what == "power":
        lines = sorted(curves(picture, least=21))
        assert len(lines) == (2 if step.slept_s else 1)
        at = axis(picture)
        width_s = LASTS_S + step.slept_s
        near_s = 0.3 + width_s / 100
        assert is_near(at(lines[0][0][0]), axis_begin, near_s)
        assert is_near(at(lines[-1][-1][0]), axis_begin + timedelta(seconds=width_s), near_s)


def test_part_of_a_plot(step):
    """A time is the moment that showed it, in the report as in the picture."""
    for since_s in (1.5, 9.5):
        text = f"{step.shown(since_s):%Y-%m-%dT%H:%M:%S.%f}Z"
        part = step.place.plot(step.path, "--from", text)
        if step.by_s < 0 or since_s < step.at_s or not step.slept_s:
            assert is_near(span(part)[0], step.shown(since_s), 1.1), (since_s, text)
        assert is_near(span(part)[1], instant(step.report["end_utc"]), 1.1)
    if step.by_s < 0:
        # A time of day that the clock was set back to is none of the next day's.
        part = step.place.plot(step.path, "--from", f"{step.shown(9.5):%H:%M:%S}")
        assert is_near(span(part)[0], step.shown(9.5), 1.1)
    whole = span(step.place.plot(step.path, "--from", "+2", "--to", "+11"))
    assert is_near(whole[0], step.shown(2), 1.1) and is_near(whole[1], step.shown(11), 1.1)
    result = step.place.run("plot", step.path, "--to", f"{step.shown(0) - timedelta(days=2):%Y-%m-%dT%H:%M:%SZ}")
    assert result.code == 1 and "nothing of it lies in that stretch" in result.complaint()


# ---- Clocks that are set to what cannot be kept ----

YEAR_2300, YEAR_2262, YEAR_2115, MONTH_2114 = 10413792000, 9223372035, 4575744000, 4573065600


def set_to(seconds):
    shim = Path(os.environ.get("WATTLE_BUILD_ROOT") or ".") / "tests/gate/libotherclock.so"
    if not shim.exists():
        pytest.skip("WATTLE_BUILD_ROOT does not name a build with the other clock")
    return {"LD_PRELOAD": str(shim), "WATTLE_TEST_CLOCK": str(seconds)}


@pytest.mark.parametrize("seconds,begins,kept", [
    (MONTH_2114, "2114-12-", True),
    (YEAR_2115 - 2, "2114-12-31T23:59:5", True),  # it goes beyond while it is measured
    (YEAR_2115, "19", False),
    (YEAR_2262, "19", False),
    (YEAR_2262 + 1, "19", False),
    (YEAR_2300, "19", False),
    (253402300800, "19", False),  # 10000
    (-1000, "19", False),
])
def test_a_clock_that_is_far_ahead(tmp_path, seconds, begins, kept):
    """Energy does not go by it: it is measured and kept, with other dates, and that is said."""
    env, path = set_to(seconds), tmp_path / "a.wattle"
    run = run_wattle("run", "-f", "json", "--record", path, "--", "sleep", "2.2", env=env)
    assert run.code == 0, run
    assert run.json["start_utc"].startswith(begins) and ("clock is set to before 1970 or after 2114" in run.err) != kept, run
    if "built without" in run.err:
        pytest.skip("this wattle was built without recordings")
    for words in (["report", "--check", path], ["export", path], ["top", "--replay", path, "--once"]):
        told = run_wattle(*words, env=env)
        assert told.code == 0, told
    told = run_wattle("report", path, "-f", "json")
    assert told.code == 0 and told.json["start_utc"] == run.json["start_utc"], told
    begin = datetime.fromisoformat(told.json["start_utc"].replace("Z", "+00:00"))
    part = run_wattle("report", path, "-f", "json", "--from", (begin + timedelta(seconds=0.3)).isoformat())
    assert part.code == 0 and 0 < part.json["duration_s"] < told.json["duration_s"], part


def test_a_recording_is_listed(tmp_path):
    """Its begin and this clock have nothing to do with each other."""
    env = set_to(YEAR_2300)
    result = run_wattle("record", "-o", tmp_path / "a.wattle", "--", command_path(), "mark", "list", env=env)
    assert result.code == 0 and re.search(rf"^{tmp_path}/a\.wattle \(process \d+\)$", result.out, re.MULTILINE), result


@pytest.mark.parametrize("words", [("--from", "2300-01-01"), ("--to", "2262-01-01T00:00Z"), ("--from", "1969-12-31")])
def test_dates_that_there_are_not(words):
    result = run_wattle("report", *words, "a.wattle")
    assert result.code == 2 and "from 1970 to 2261" in result.complaint() and repr(words[1]) in result.complaint()


def test_a_tape_of_later(tmp_path):
    """A tape holds dates as long as recordings do."""
    text = (REPO / "tests/fixtures/tapes/busy-thread.tape").read_text()
    first = re.search(r"^@ \d+ \d+ (\d+)$", text, re.MULTILINE)[1]
    ahead = MONTH_2114 * S - int(first)
    text = re.sub(r"^(@ \d+ \d+) (\d+)", lambda m: f"{m[1]} {int(m[2]) + ahead}", text, flags=re.MULTILINE)
    (tmp_path / "a.tape").write_text(text)
    result = run_wattle("run", "--tape", tmp_path / "a.tape", "-f", "json")
    assert result.code == 0 and result.json["start_utc"].startswith("2114-12-"), result
