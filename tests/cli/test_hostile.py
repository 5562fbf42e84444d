# SPDX-License-Identifier: MIT
"""Text from outside never reaches a terminal or a file raw, and no locale changes a figure."""

import os
import re
import subprocess

import pytest

from conftest import ROOTS, parse_csv, parse_json, run_wattle

XEON = ("--root", ROOTS / "xeon-2s-dram")
# Control characters of any kind, but for the newline and, in CSV, the carriage return in a quoted cell.
RAW = re.compile("[\x00-\x08\x0b-\x1f\x7f\x80-\x9f\u202a-\u202e\u2066-\u2069]")
NASTY = [
    b"\x1b[2J\x1b]0;owned\x07",
    b"two\nlines\rand\ttabs",
    b"\xff\xfe\x80 not utf-8 \xc3",
    "\u009b31mC1 \u202egnirts".encode(),
    b"=cmd|' /C calc'!A0",
    b'quote " and , comma',
    "ünïcödé ± 漢字".encode(),
]


def clean(text, form):
    assert not RAW.search(text), (form, RAW.search(text))
    text.encode("utf-8")


@pytest.mark.parametrize("words", [[nasty] for nasty in NASTY] + [NASTY, [b""], [b" ", b"\\"]])
@pytest.mark.parametrize("form", ["text", "json", "csv"])
def test_words_of_the_command(words, form, tmp_path):
    path = tmp_path / "report"
    result = run_wattle("run", *XEON, "-f", form, "-o", path, "--", "true", *words)
    assert result.code == 0, result
    clean(path.read_bytes().decode("utf-8"), form)
    if form == "json":
        assert len(parse_json(path.read_text())["command"]) == 1 + len(words)
    if form == "csv":
        rows = parse_csv(path.read_bytes().decode())
        assert len(rows) == 5
        assert not any(cell[:1] in "=+-@" and cell[:1] and not re.fullmatch(r"-?[\d.]+", cell)
                       for row in rows for cell in row.values())


def test_words_that_are_text_survive_in_json():
    words = ["ünïcödé ± 漢字", 'quote " \\ slash', "two\nlines", "\x1b[1m", ""]
    result = run_wattle("run", *XEON, "-f", "json", "--", "true", *words)
    assert result.json["command"] == ["true", *words]


@pytest.mark.parametrize("nasty", NASTY)
def test_names_in_error_lines(nasty, tmp_path):
    for args in ((b"run", b"--", nasty), (b"run", b"--" + nasty), (b"run", b"-f", nasty), (nasty,),
                 (b"run", b"--location", nasty, b"true"), (b"run", b"-o", b"/no/" + nasty, b"--", b"true"),
                 (b"run", b"--root", nasty, b"--", b"true"), (b"doctor", nasty), (b"help", nasty),
                 (b"run", b"--tape", nasty), (b"run", b"--fault", nasty, b"true"),
                 (b"run", b"--nvml", nasty, b"-q", b"-o", b"/dev/null", b"--", b"false")):
        result = run_wattle(*args, cwd=tmp_path)
        assert result.code != 0
        clean(result.err, args)
        assert result.err.count("\n") <= 1


@pytest.mark.parametrize("form", ["text", "json", "csv"])
def test_names_of_devices(machine, form):
    """A hwmon chip and its label, a zone and a processor that would like to paint the screen."""
    server = machine("arm-server")
    for path in list(server.path.glob("sys/class/hwmon/*/")):
        folder = path.resolve()
        for name in ("name", "energy1_label", "power1_label", "device/name"):
            if (folder / name).exists():
                (folder / name).write_bytes(b"\x1b[31m\x9b" + b"evil\r\xff\xc2\x9b" * 40 + b"\n")
    server.put("proc/cpuinfo", b"processor\t: 0\nmodel name\t: \x1b]0;own\x07\xff\x9b2J CPU\n")
    server.put("sys/class/dmi/id/product_name", b"\x1b[5mblink\xe2\x80\xae\n")
    for command in (["run", "-v"], ["doctor"]):
        result = run_wattle(*command, "--root", server.path, "-f", form,
                            *(["--", "true"] if command[0] == "run" else []))
        assert result.code in (0, 3)
        clean(result.out, form)
        clean(result.err, form)


def test_names_of_gpus(gpus):
    text = "driver 550.54.15\ngpu \x1b[31mEvil\x9b GPU\n  bus 00000000:17:00.0\n  cc 8.0\n" \
           "  power 0 const 100\n  sensor counter gpu 20\n  sensor instant gpu 20\n  sensor usage gpu 20\n"
    for form in ("text", "json", "csv"):
        result = gpus(text=text).run("--root", ROOTS / "vm-nothing", "-v", "-f", form, "--", "true")
        assert result.code == 0
        clean(result.out, form)
        clean(result.err, form)


@pytest.mark.parametrize("locale", ["C", "POSIX", "de_DE.UTF-8", "tr_TR.UTF-8", "nonsense"])
def test_no_locale_changes_a_figure(locale):
    env = {"LC_ALL": locale, "LANG": locale}
    report = run_wattle("run", *XEON, "--location", "56.04", "-f", "json", "--", "true", env=env)
    assert report.code == 0
    assert report.json["carbon"]["intensity_g_per_kwh"].as_tuple().digits == (5, 6, 0, 4, 0)
    rows = run_wattle("run", *XEON, "-f", "csv", "--", "true", env=env).csv
    # A counter that stands still while a busy machine starts `true` has no figure.
    assert all(re.fullmatch(r"(\d+\.\d{6})?", row["energy_j"]) for row in rows)
    assert all(re.fullmatch(r"\d+\.\d+", row["duration_s"]) for row in rows)
    text = run_wattle("run", *XEON, "--until", "0.5", "--pue", "1.25", "--", "true", env=env)
    assert text.code == 0
    assert not re.search(r"\d,\d", text.out)


def test_a_german_locale_that_is_there():
    there = subprocess.run(["locale", "-a"], stdout=subprocess.PIPE, check=False).stdout.decode().lower()
    if "de_de" not in there:
        pytest.skip("de_DE is not there")
    test_no_locale_changes_a_figure("de_DE.UTF-8")


def test_ascii_on_request(tmp_path):
    for args in (["run", *XEON, "--ascii", "-v", "--", "true", "±"], ["doctor", *XEON, "--ascii"],
                 ["run", *XEON, "--ascii", "-r", "2", "--", "true", "漢"]):
        run_wattle(*args).out_bytes.decode("ascii")
    assert os.listdir(tmp_path) == []
