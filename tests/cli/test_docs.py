# SPDX-License-Identifier: MIT
"""What README.md and docs/ show is what the command does: pasted output, options, commands, links.

A block of output stands below a comment, and begins with the command as a reader would type it:

    <!-- output of: wattle run --tape tests/fixtures/tapes/server.tape -->
    ```
    $ wattle run --tape tests/fixtures/tapes/server.tape
    wattle: this machine
    ```

`lines of the output of:` instead: a part of it, with "…" for lines left out. `(exit 3)` before the
colon: the exit status, if it is not 0. Started as a program this file pastes the outputs anew:

    python3 tests/cli/test_docs.py --paste WATTLE NVML
"""

import os
import re
import shlex
import sys
from pathlib import Path

import pytest

from conftest import REPO, ROOTS, command_path, fake_library, run_wattle

PAGES = sorted([REPO / "README.md", *(REPO / "docs").glob("*.md")])
FIXTURE_PAGES = [REPO / "tests" / "fixtures" / "tapes" / "README.md"]
# Formats and bounds explained by made-up examples; their own tests hold them against the code.
MADE_UP = {"compare.md", "format-text.md", "format-json.md", "format-csv.md", "integration.md", "tape.md", "uncertainty.md", "c-api.md",
    "profile.md"}
FOREIGN_OPTIONS = {"--web", "--long",   # docker, groupadd, nvidia-smi, udevadm, pkg-config, this file, node, and an example's own command
    "--gpus", "--cap-add", "--cgroup-parent", "--security-opt", "--gpu-reset", "--reload", "--subsystem-match", "--action",
    "--cflags", "--libs", "--paste", "--epochs", "--name", "--m", "--pid", "--wattle", "--load", "--system", "--perf-basic-prof",
    "--allocations", "--rows", "--sort", "--torch",  # of python -m wattle.profile, and of examples/autoencoder.py
    "--gaps", "--seconds", "--repeat", "--only",  # of bench/bench_profile_peers.py
}
FAKE_NVML = "build/tests/fake/libnvidia-ml.so.1"  # as a reader has it

MARK = re.compile(r"<!-- (?P<part>lines of the )?output of(?: \(exit (?P<exit>\d+)\))?: (?P<command>[^\n]*?) -->\n+"
                  r"```\n\$ (?P<shown>[^\n]*)\n(?P<text>.*?)```\n", re.DOTALL)
PYTHON = re.compile(r"^```python\n.*?^```\n(?:\n^```text\n.*?^```\n)?", re.DOTALL | re.MULTILINE)  # tests/python/test_docs.py runs these
FENCE = re.compile(r"^```[^\n]*\n(.*?)^```$", re.DOTALL | re.MULTILINE)
FIGURE = re.compile(r"±|\+/-|\d (?:[mµk]?J|[mµk]?Wh?|mg|g/kWh)\b|\"[a-z_]+_[jw]\":")
SELF = re.compile(r"^wattle itself: .* of CPU, .*, (?=\d+ samples)", re.MULTILINE)
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z")
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")
LINK = re.compile(r"(?<!!)\[[^\]\n]*\]\(([^)\s]+)\)")
COMMAND = re.compile(r"^(?:[A-Z_]+=\S+ )*wattle ((?!itself:|profile:)[a-z][^\n]*)$", re.MULTILINE)


def name(page):
    return str(page.relative_to(REPO))


def marks():
    return [pytest.param(match, id=f"{page.name}-{i}") for page in PAGES
            for i, match in enumerate(MARK.finditer(page.read_text(encoding="utf-8")))]


def run_shown(command):
    """Runs a command line of a page in the repository's root."""
    words = shlex.split(command)
    env = {"TZ": "UTC"}
    while "=" in words[0]:
        key, value = words.pop(0).split("=", 1)
        env[key] = value
    assert words[0] == "wattle", command
    words = [fake_library() if word == FAKE_NVML else word for word in words[1:]]
    return run_wattle(*words, env=env, cwd=REPO, as_typed=True)


def comparable(text, command):
    """Without what cannot be the same twice."""
    text = SELF.sub("wattle itself: … ", text)
    if "--tape" in command:
        return text
    # Where time is real a figure may be 9.9 or 10.0, and the column is as wide as its longest.
    return re.sub(r" {2,}", "  ", TIME.sub("TIME", text))


def chunks(text):
    """The stretches of a part of an output between the lines left out."""
    return [chunk for chunk in re.split(r"^\s*…\n", text, flags=re.MULTILINE) if chunk]


@pytest.mark.parametrize("match", marks())
def test_pasted_output_is_the_commands(match):
    command = match["command"]
    assert match["shown"] == command
    result = run_shown(command)
    assert result.code == int(match["exit"] or 0), result
    out, shown = comparable(result.out, command), comparable(match["text"], command)
    if not match["part"]:
        assert shown == out
        return
    at = 0
    for chunk in chunks(shown):
        found = ("\n" + out).find("\n" + chunk, at)
        assert found >= 0, f"not in the output, or not in this order:\n{chunk}\n---\n{out}"
        at = found + len(chunk)


def test_there_are_pasted_outputs():
    assert len(marks()) >= 10
    assert MARK.search((REPO / "README.md").read_text(encoding="utf-8"))


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_mark_has_its_block(page):
    text = page.read_text(encoding="utf-8")
    assert len(re.findall(r"<!-- (?:lines of the )?output of", text)) == len(MARK.findall(text))


@pytest.mark.parametrize("page", [p for p in PAGES if p.name not in MADE_UP], ids=name)
def test_no_figures_without_their_command(page):
    text = page.read_text(encoding="utf-8")
    for block in FENCE.findall(PYTHON.sub("", MARK.sub("", text))):
        assert not FIGURE.search(block), f"a block of figures without its command:\n{block}"
    assert "@SAMPLE@" not in text


@pytest.fixture(name="options", scope="module")
def known_options():
    """Every option of every command, by the command; "" for those of wattle itself."""
    known = {"": {"--help", "--version"}}
    overview = run_wattle("help").out
    for command in re.findall(r"^  ([a-z]+) ", overview, re.MULTILINE):
        known[command] = set(OPTION.findall(run_wattle(command, "--help-all").out))
    assert {"run", "doctor", "help"} <= set(known)
    return known


@pytest.mark.parametrize("page", PAGES + FIXTURE_PAGES, ids=name)
def test_every_option_exists(page, options):
    known = set().union(*options.values(), FOREIGN_OPTIONS)
    text = re.sub(r"<!--.*?-->", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert set(OPTION.findall(text)) <= known


@pytest.mark.parametrize("page", PAGES + FIXTURE_PAGES, ids=name)
def test_command_lines_are_right(page, options):
    """The lines of code blocks that call wattle: an existing command, with options of its own."""
    for block in FENCE.findall(MARK.sub("```\n\\g<command>\n```\n", page.read_text(encoding="utf-8"))):
        for line in COMMAND.findall(block):
            command, *words = re.split(r"\s{2,}", line)[0].split()
            assert command in options, line
            words = words[:words.index("--")] if "--" in words else words
            given = {word.split("=")[0] for word in words if word.startswith("--")}
            assert given <= options[command], line


def slug(heading):
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


@pytest.mark.parametrize("page", PAGES + FIXTURE_PAGES, ids=name)
def test_links_lead_somewhere(page):
    for target in LINK.findall(page.read_text(encoding="utf-8")):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        assert file.exists(), f"{page.name}: {target}"
        if anchor:
            headings = re.findall(r"^#+ (.*)$", file.read_text(encoding="utf-8"), re.MULTILINE)
            assert anchor in map(slug, headings), f"{page.name}: {target}"


def test_index_names_every_page():
    index = (REPO / "docs" / "README.md").read_text(encoding="utf-8")
    for page in (REPO / "docs").glob("*.md"):
        assert page.name == "README.md" or f"]({page.name})" in index, page.name


def remedies(root):
    doctor = run_wattle("doctor", "--root", root, "--nvml", "", "-f", "json").json
    return " ".join(entry.get("remedy", "") for entry in doctor["domains"] + doctor["sources"])


def test_permissions_page_says_what_doctor_says(machine):
    page = " ".join((REPO / "docs" / "permissions.md").read_text(encoding="utf-8").split())
    perf = remedies(ROOTS / "eacces")
    setcap = ("w=$(readlink -f $(command -v wattle)) && sudo chgrp $(id -gn) $w && sudo chmod 750 $w && "
              "sudo setcap cap_perfmon,cap_net_admin+ep $w")
    assert setcap in perf and setcap in page
    assert perf.count("setcap") == perf.count(setcap), perf
    assert "sudo sysctl kernel.perf_event_paranoid=0" in perf and "sudo sysctl kernel.perf_event_paranoid=0" in page
    powercap = re.search(r"sudo chgrp .*?/energy_uj && sudo chmod .*?/energy_uj",
                         remedies(machine("eacces").without_perf().path))
    assert powercap and powercap[0] in page
    masked = remedies(ROOTS / "container-masked")
    for option in ("--cap-add PERFMON", "--security-opt systempaths=unconfined"):
        assert option in masked and option in page


def test_model_page_has_the_constants():
    page = " ".join((REPO / "docs" / "model.md").read_text(encoding="utf-8").split())
    header = (REPO / "src" / "energy" / "model.h").read_text(encoding="utf-8")
    constants = {name: int(value) for name, value in re.findall(r"WTL_MODEL_(\w+) = (\d+),", header)}
    idle = constants["IDLE_PERCENT"] / 100
    for words in (f"P = TDP × ({idle} + {1 - idle} × √u)", f"standard uncertainty is {constants['UNCERTAINTY_PERCENT']} %",
                  f"{constants['CPU_MW'] / 1000:g} W for each logical CPU",
                  f"{constants['DIMM_MW'] / 1000:g} W for each ({constants['DIMM_ARM_MW'] / 1000:g} W with ARM",
                  f"{constants['VM_GIB_MW'] / 1000:g} W for each GiB"):
        assert words in page, words


def paste(page):
    def renew(match):
        text = match["text"]
        result = run_shown(match["command"])
        if match["part"]:
            print(f"{name(page)}: look at the part of the output of {match['command']}")
        elif comparable(text, match["command"]) != comparable(result.out, match["command"]):
            text = result.out
            print(f"{name(page)}: new output of {match['command']}")
        start, end = match.start("text") - match.start(), match.end("text") - match.start()
        return match[0][:start] + text + match[0][end:]
    old = page.read_text(encoding="utf-8")
    new = MARK.sub(renew, old)
    if new != old:
        page.write_text(new, encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 4 or sys.argv[1] != "--paste":
        sys.exit(__doc__)
    os.environ["WATTLE"], os.environ["WATTLE_NVML_LIBRARY"] = map(os.path.abspath, sys.argv[2:])
    assert command_path()
    for one in PAGES:
        paste(one)
