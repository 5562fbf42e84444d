# SPDX-License-Identifier: MIT
"""wattle report --intensity electricity-maps:ZONE and uk-grid, against a server that answers well, badly, or not at all."""

import contextlib
import http.server
import json
import socket
import ssl
import threading
import time
from datetime import datetime, timedelta, timezone
from urllib.parse import parse_qs, urlsplit

import pytest

from conftest import REPO, run_wattle
from engines import certificate, free_port

RECORDING = REPO / "tests" / "fixtures" / "recorded" / "server.wattle"


@pytest.fixture(autouse=True)
def is_built():
    if "electricity-maps" not in run_wattle("report", "--help").out:
        pytest.skip("this wattle was built without libcurl")


def text_of(when):
    return when.strftime("%Y-%m-%dT%H:%MZ")


def when_of(text):
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


def recorded():
    """The hour that the recording lies in."""
    report = run_wattle("report", "-f", "json", RECORDING).json
    begin = when_of(report["start_utc"])
    return begin.replace(minute=0, second=0, microsecond=0)


def hours(query, grams=56, zone=None, **more):
    """What Electricity Maps answers for the hours that were asked for."""
    at, end, rows = when_of(query["start"]), when_of(query["end"]), []
    while at < end:
        rows.append({"zone": zone or query["zone"], "carbonIntensity": grams, "datetime": at.strftime("%Y-%m-%dT%H:%M:%S.000Z"),
                     "emissionFactorType": "lifecycle", "isEstimated": False, **more})
        at += timedelta(hours=1)
    return {"zone": zone or query["zone"], "data": rows}


class Api(contextlib.AbstractContextManager):
    """Answers as it is told to, and keeps what was asked."""

    def __init__(self, answer, wrap=None):
        self.asked, self.tokens = [], []
        api = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                api.asked.append(self.path)
                api.tokens.append(self.headers.get("auth-token"))
                parts = urlsplit(self.path)
                query = {key: values[0] for key, values in parse_qs(parts.query).items()}
                status, headers, body = answer(parts.path, query)
                body = body if isinstance(body, bytes) else json.dumps(body).encode()
                with contextlib.suppress(OSError):
                    self.send_response(status)
                    for name, value in headers.items():
                        self.send_header(name, value)
                    self.send_header("Content-Length", str(len(body)))
                    self.end_headers()
                    self.wfile.write(body)

            def log_message(self, *args):  # pylint: disable=arguments-differ
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http{'s' if wrap else ''}://127.0.0.1:{self.server.server_port}"
        if wrap:
            self.server.socket = wrap(self.server.socket)
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def __exit__(self, *what):
        self.server.shutdown()
        self.server.server_close()


def good(grams=56, **more):
    return lambda path, query: (200, {}, hours(query, grams, **more))


@pytest.fixture(name="ask")
def asking(tmp_path):
    token = tmp_path / "token"
    token.write_text("secret-7\nnot this\n")

    def ask(url, *options, source="electricity-maps:FR", form="json", recording=RECORDING):
        return run_wattle("report", "-f", form, "--intensity", source, "--intensity-token", token, "--intensity-cache", tmp_path / "cache",
                          *(("--intensity-url", url) if url else ()), *options, recording)

    return ask


def grams(result):
    return result.json["carbon"]["gco2e"]


def by_number(number):
    return run_wattle("report", "-f", "json", "--location", number, RECORDING).json["carbon"]["gco2e"]


def test_electricity_maps(ask):
    with Api(good(56.04)) as api:
        result = ask(api.url)
        assert result.code == 0 and result.err == "", result
        assert grams(result) == by_number("56.04")
        assert result.json["intensity"]["file"] == "electricity-maps:FR" and result.json["intensity"]["missing_s"] == 0
        assert api.tokens == ["secret-7"]
        query = parse_qs(urlsplit(api.asked[0]).query)
        assert query["zone"] == ["FR"] and query["shouldUseFallbackCallerLookup"] == ["false"] and query["emissionFactorType"] == ["lifecycle"]
        assert query["start"] == [text_of(recorded())] and api.asked[0].startswith("/v3/carbon-intensity/past-range?")
        # What is final is kept, and nothing is asked of it again: not even that there is an API.
        assert grams(ask(api.url)) == grams(result) and len(api.asked) == 1
    assert grams(ask(api.url)) == grams(result)
    text = ask(api.url, form="text").out
    assert "electricity-maps:FR)" in text


def test_nothing_is_asked_unasked(tmp_path):
    """Without --intensity the network is left alone, whatever is kept; and without a token nothing is asked for."""
    result = run_wattle("report", "--intensity", "electricity-maps:FR", RECORDING, env={"XDG_CACHE_HOME": tmp_path})
    assert result.code == 1 and "wants a token: --intensity-token FILE" in result.complaint()
    assert not list(tmp_path.iterdir())


def test_the_last_day(ask, machine, tmp_path):
    """Who has a token for nothing may ask for that alone, by another path."""
    path = tmp_path / "now.wattle"
    server = machine("nvidia-server")
    assert run_wattle("record", "-q", "--root", server.path, "--nvml", "", "--duration", "1s", "-o", path).code == 0
    hour = datetime.now(timezone.utc).replace(minute=0, second=0, microsecond=0)

    def answer(at, query):
        rows = [{"carbonIntensity": 80 + i, "datetime": (hour - timedelta(hours=i)).isoformat().replace("+00:00", ".000Z"), "isEstimated": True}
                for i in range(24)]
        return 200, {}, {"zone": query["zone"], "history": rows}

    with Api(answer) as api:
        result = ask(api.url, recording=path)
        assert result.code == 0, result
        assert "figures are estimates or forecasts, which may still be corrected" in result.complaint()
        assert "/v3/carbon-intensity/history?" in api.asked[0] and "start=" not in api.asked[0]
        assert 80 <= result.json["intensity"]["min_g_per_kwh"] <= 81


def half_hours(path, **more):
    words = path.split("/")
    first = words.index("intensity") + 1
    at, end, rows = when_of(words[first]), when_of(words[first + 1]), []
    at -= timedelta(minutes=30)  # it answers for the half hour before, too
    while at < end:
        rows.append({"from": text_of(at), "to": text_of(at + timedelta(minutes=30)), "intensity": {"forecast": 200, "index": "low", **more}})
        at += timedelta(minutes=30)
    return rows


def test_uk_grid(ask):
    with Api(lambda path, query: (200, {}, {"data": half_hours(path, actual=123)})) as api:
        result = ask(api.url, source="uk-grid")
        assert result.code == 0 and result.err == "" and grams(result) == by_number("123")
        assert api.asked[0].startswith("/intensity/") and api.tokens == ["secret-7"]
    with Api(lambda path, query: (200, {}, {"data": half_hours(path, actual=None)})) as api:
        result = ask(api.url, source="uk-grid")
        assert grams(result) == by_number("200") and "estimates or forecasts" in result.complaint()


def test_region_of_the_uk_grid(ask):
    with Api(lambda path, query: (200, {}, {"data": {"regionid": 13, "data": half_hours(path)}})) as api:
        assert grams(ask(api.url, source="uk-grid:13")) == by_number("200")
        assert api.asked[0].endswith("/regionid/13")
        result = ask(api.url, source="uk-grid:3")
        assert result.code == 1 and "it answers for another region than 3" in result.complaint()


BAD = {
    "401": ((401, {}, {"message": "Invalid auth-token"}), "answers 401, Invalid auth-token: is the token right"),
    "403": ((403, {}, b""), "answers 403: is the token right"),
    "404": ((404, {}, {"error": {"code": "404", "message": "no \x1b[31m such zone"}}), "answers 404, no ?[31m such zone"),
    "429": ((429, {"Retry-After": "30"}, b"slow down"), "answers 429: too many requests; ask again in 30 s"),
    "500": ((500, {}, b"<html>"), "answers 500"),
    "redirection": ((302, {"Location": "http://127.0.0.1:1/"}, b""), "answers 302"),
    "no JSON": ((200, {}, b"<html>login</html>"), "what it answers is no JSON"),
    "half of it": ((200, {}, b'{"zone":"FR","data":[{"zone":"FR","carbonInt'), "what it answers is no JSON"),
    "a list": ((200, {}, b"[]"), "what it answers is JSON, but no object"),
    "nothing": ((200, {}, b""), "what it answers is no JSON"),
    "nested": ((200, {}, b"[" * 100000), "what it answers is no JSON"),
    "no hours": ((200, {}, {"zone": "FR"}), "has no list of hours"),
    "none of them": ((200, {}, {"zone": "FR", "data": []}), "it has no figure of that time"),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_answers(ask, what):
    """Each is told in one line, and no other figure takes its place."""
    answer, words = BAD[what]
    with Api(lambda path, query: answer) as api:
        result = ask(api.url)
        assert result.code == 1 and result.out == "", result
        line = result.complaint()
        assert "--intensity electricity-maps:FR: " in line and words in line and "no emissions can be told by it" in line, line
        assert "secret" not in line and len(api.asked) == 1


@pytest.mark.parametrize("change,words", [
    ({"zone": "DE"}, "it answers for DE instead of FR"),
    ({"carbonIntensity": -3}, "no intensity from 0 to 10000"),
    ({"carbonIntensity": "56"}, "no intensity from 0 to 10000"),
    ({"carbonIntensity": 1e9}, "no intensity from 0 to 10000"),
    ({"datetime": "yesterday"}, "has no time"),
    ({"emissionFactorType": "direct"}, "answers with 'direct' factors"),
])
def test_answers_that_are_not_to_be_trusted(ask, change, words):
    """Nothing of such an answer is taken, nor kept."""

    def answer(path, query):
        whole = hours(query)
        whole["data"].append({**whole["data"][0], **change})
        return 200, {}, whole

    with Api(answer) as api:
        for _ in range(2):
            result = ask(api.url)
            assert result.code == 1 and words in result.complaint(), result
        assert len(api.asked) == 2


def test_who_does_not_say_the_zone_is_not_believed(ask):
    def answer(path, query):
        whole = hours(query)
        del whole["zone"]
        for row in whole["data"]:
            del row["zone"]
        return 200, {}, whole

    with Api(answer) as api:
        assert "it does not say which zone its answer is of" in ask(api.url).complaint()


def test_nobody_there(ask):
    result = ask(f"http://127.0.0.1:{free_port()}")
    assert result.code == 1 and "connect" in result.complaint()
    result = ask("http://no-such-host.invalid")
    assert result.code == 1 and "resolve" in result.complaint()


def test_who_does_not_answer(ask):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        begin = time.monotonic()
        result = ask(f"http://127.0.0.1:{silent.getsockname()[1]}")
        assert result.code == 1 and "imeout" in result.complaint() and time.monotonic() - begin < 50


@pytest.mark.parametrize("served,trusted,works", [("here", True, True), ("here", False, False), ("elsewhere", True, False)])
def test_certificates(ask, served, trusted, works, tmp_path):
    both = certificate(tmp_path, served)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(both)
    with Api(good(), wrap=lambda sock: context.wrap_socket(sock, server_side=True)) as api:
        result = ask(api.url, *(("--intensity-ca", both) if trusted else ()))
        if works:
            assert result.code == 0 and len(api.asked) == 1
        else:
            assert result.code == 1 and "ertificate" in result.complaint() and not api.asked


def kept_file(folder):
    return next((folder / "cache").glob("intensity-*"))


def test_what_is_kept_and_out_of_date(ask, tmp_path):
    """What was only an estimate is asked for again after an hour; where it cannot be had, it is used, and that is told."""
    with Api(good(56)) as api:
        ask(api.url)
        file = kept_file(tmp_path)
        lines = file.read_text().splitlines()
        assert lines[0].startswith("# wattle-intensity/1 electricity-maps:FR@") and lines[1].startswith(f"{recorded().strftime('%Y-%m-%dT%H')}:00:00Z,56.000,measured,")
        hour = recorded() + timedelta(hours=1)
        old = "\n".join([lines[0]] + [f"{line.split(',')[0]},77.000,estimated,{hour.strftime('%Y-%m-%dT%H:%M:%SZ')}" for line in lines[1:]]) + "\n"
        file.write_text(old)
        assert grams(ask(api.url)) == by_number("56") and len(api.asked) == 2
        file.write_text(old)
    result = ask(api.url)
    assert result.code == 0 and grams(result) == by_number("77")
    assert "connect" in result.err and "emissions are by what is kept, some of it out of date" in result.err
    assert file.read_text() == old or "estimated" in file.read_text()
    file.write_text(old.replace("FR@", "DE@"))
    result = ask(api.url)
    assert result.code == 1 and "connect" in result.err


@pytest.mark.parametrize("text", ["", "rubbish\n" * 100, "\0" * 50, "# wattle-intensity/1 electricity-maps:DE\n"])
def test_what_is_kept_and_damaged(ask, tmp_path, text):
    with Api(good(56)) as api:
        ask(api.url)
        file = kept_file(tmp_path)
        head = file.read_text().splitlines()[0] + "\n"
        for damaged in (text, head + text, head + file.read_text().splitlines()[1][:-3]):
            file.write_text(damaged)
            result = ask(api.url)
            assert result.code == 0 and grams(result) == by_number("56"), result
        assert file.read_text().startswith(head) and ",56.000,measured," in file.read_text()


def test_nothing_is_kept_where_that_is_asked_for(ask, tmp_path):
    with Api(good(56)) as api:
        for _ in range(2):
            assert ask(api.url, "--intensity-cache", "").code == 0
        assert len(api.asked) == 2 and not (tmp_path / "cache").exists()
        (tmp_path / "cache").write_text("a file")
        result = ask(api.url)
        assert result.code == 0 and "cannot be written" in result.err


def test_hours_without_a_figure(ask):
    """What is not known is told apart; it is not asked for each time."""

    def answer(path, query):
        whole = hours(query)
        whole["data"][0]["carbonIntensity"] = None
        return 200, {}, whole

    with Api(answer) as api:
        result = ask(api.url)
        if result.code == 0:  # the recording goes over an hour's end
            assert result.json["intensity"]["missing_j"] > 0
        else:
            assert "it has no figure of that time" in result.complaint()
        ask(api.url)
        assert len(api.asked) == 1


@pytest.mark.parametrize("args,words", [
    (("--intensity", "electricity-maps:"), "takes a file, electricity-maps:ZONE"),
    (("--intensity", "electricity-maps:F/../x"), "takes a file, electricity-maps:ZONE"),
    (("--intensity", "electricity-maps:" + "F" * 40), "takes a file, electricity-maps:ZONE"),
    (("--intensity", "uk-grid:18"), "a region from 1 to 17"),
    (("--intensity", "uk-grid:x"), "a region from 1 to 17"),
    (("--intensity", "uk-grid", "--intensity-url", "ftp://x"), "--intensity-url takes a URL"),
    (("--intensity", "uk-grid", "--intensity-token", "/no/such"), "'/no/such' cannot be read"),
    (("--intensity", "uk-grid", "--intensity-token", "/dev/null"), "is no token"),
])
def test_what_cannot_be_asked(args, words):
    result = run_wattle("report", *args, RECORDING)
    assert result.code == 1 and words in result.complaint()


@pytest.mark.parametrize("option", ["token", "url", "cache", "ca"])
def test_options_of_asking_alone(option):
    result = run_wattle("report", f"--intensity-{option}", "x", RECORDING)
    assert result.code == 2 and f"--intensity-{option} says how to ask" in result.complaint()
    result = run_wattle("report", f"--intensity-{option}", "x", "--intensity", "grid.csv", RECORDING)
    assert result.code == 2 and f"--intensity-{option} says how to ask" in result.complaint()
