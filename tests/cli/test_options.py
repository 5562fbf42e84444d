# SPDX-License-Identifier: MIT
"""Options: what is wrong with them is one line; help, man pages and completion tell the same."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from conftest import clean_env, command_path, run_wattle

TAPES = Path(__file__).resolve().parents[1] / "fixtures" / "tapes"
COMMANDS = ["run", "compare", "record", "report", "export", "import", "mark", "calibrate", "top", "plot", "profile", "serve", "doctor", "query", "limit", "estimate", "help"]
USAGE = {"run": 125, "compare": 125, "record": 2, "report": 2, "export": 2, "import": 2, "mark": 2, "calibrate": 2, "top": 2, "plot": 2, "profile": 125, "serve": 2, "doctor": 2, "query": 2, "limit": 125,
         "estimate": 2, "help": 2}
HUGE = "99999999999999999999"


def refused(*args, says):
    result = run_wattle(*args)
    assert result.code == USAGE[args[0]], result
    assert result.out == ""
    line = result.complaint()
    assert line.startswith(f"wattle: {args[0]}: ")
    for word in says:
        assert word in line, line
    return line


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("option", ["--nonsense", "--nonsense=1", "-Z", "-qZ", "--=", "-é", "---"])
def test_unknown_options(command, option):
    refused(command, option, says=[f"unknown option '{option}'", f"see 'wattle {command} --help'"])


def test_an_unknown_option_in_the_middle_is_the_one_named():
    refused("run", "-f", "json", "--nope", "-q", "--", "true", says=["'--nope'"])
    refused("run", "--interval=5", "-vZv", "--", "true", says=["'-vZv'"])


@pytest.mark.parametrize("words", [["--format"], ["-f"], ["-qf"], ["--form"], ["-q", "--format"]])
def test_a_value_that_is_missing(words):
    refused("run", *words, says=["--format needs a value: FORMAT"])


def test_a_value_that_is_too_much():
    refused("run", "--quiet=3", "--", "true", says=["--quiet takes no value"])


def test_an_abbreviation_that_means_one_option_is_fine():
    assert run_wattle("run", "--form", "csv", "--loc=FRA", "--", "true").code == 0


@pytest.mark.parametrize("option,form", [("interval", "1 to 60000"), ("repeat", "1 to 1000"),
                                         ("max-repeat", "1 to 1000")])
@pytest.mark.parametrize("value", ["0", "-1", "+1", "1e3", "1.5", HUGE, "-" + HUGE, "", " ",
                                   "5x", "0x10", "nan", "60001", "１"])
def test_whole_numbers(option, form, value):
    refused("run", f"--{option}={value}", "--", "true", says=[f"--{option}", form, f"not '{value}'"])


@pytest.mark.parametrize("value", ["0", "-1", "0.99", "10.1", HUGE, "", "x", "1,5", "nan", "inf", "1.5x"])
def test_pue(value):
    refused("run", f"--pue={value}", "--", "true", says=["--pue", "1 to 10", f"not '{value}'"])


@pytest.mark.parametrize("value", ["0", "-0.1", "101%", "1.1", HUGE, "", "%", "x", "nan", "inf", "1e-9",
                                   "2%%", "%2"])
def test_until(value):
    refused("run", f"--until={value}", "--", "true", says=["--until", f"not '{value}'"])


@pytest.mark.parametrize("value", ["", "xml", "JSON", "json,csv", "text "])
def test_format(value):
    for command in ("run", "doctor"):
        refused(command, f"--format={value}", says=["--format takes text, json, ndjson or csv", f"'{value}'"])


@pytest.mark.parametrize("name, begins", [("a.json", '{\n'), ("a.ndjson", '{"'), ("a.csv", "command,"), ("a.md", "2 commands"), ("a.markdown", "2 commands"),
                                          ("a.txt", "wattle: "), ("json", "wattle: "), ("a.json/b", "wattle: "), ("a.JSON", "wattle: ")])
def test_format_by_the_suffix_of_the_file(name, begins, tmp_path):
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    assert run_wattle("compare", "-r", "1", "-o", path, "true", "true").code == 0
    assert path.read_text(encoding="utf-8").startswith(begins)
    assert run_wattle("compare", "-r", "1", "-f", "csv", "-o", path, "true", "true").code == 0
    assert path.read_text(encoding="utf-8").startswith("command,")


def test_format_by_a_suffix_that_a_command_does_not_write(tmp_path):
    run_wattle("doctor", "-o", tmp_path / "a.md")
    assert (tmp_path / "a.md").read_text(encoding="utf-8").startswith("wattle")


@pytest.mark.parametrize("value", ["", "XXX", "France", "FRA ", "gcp:", "gcp:nowhere", "-5", "10001", "nan",
                                   "1e3x", HUGE, "56,04"])
def test_location(value):
    refused("run", f"--location={value}", "--", "true", says=["--location", f"'{value}'", "FRA"])


def test_location_of_a_provider_that_is_not_known():
    refused("run", "--location=aws:eu-west-3", "--", "true", says=["--location", "'aws:eu-west-3'", "known: gcp"])


@pytest.mark.parametrize("value", ["FRA", "USA", "DEU", "world", "gcp:europe-west9", "0", "56.04", "10000"])
def test_locations_that_are_known(value):
    report = run_wattle("run", "--location", value, "-f", "json", "--", "true")
    assert report.code == 0, report
    assert report.json["carbon"]["intensity_g_per_kwh"] >= 0


def test_options_that_do_not_go_together():
    refused("run", "--append", "--", "true", says=["--append needs -o FILE"])
    refused("run", "--max-repeat", "5", "--", "true", says=["--max-repeat", "--until"])
    refused("run", "--repeat", "5", "--until", "2%", "--", "true", says=["--repeat", "--until"])
    refused("doctor", "--tape", "/dev/null", "--root", "/", says=["--tape", "--root"])


@pytest.mark.parametrize("one,other,words,says", [
    ("F", "F", "run -o {} --tape-record {}", ["what -o writes", "the tape of --tape-record"]),
    ("./F", "F", "run --record {} -o {}", ["what -o writes", "the recording"]),
    ("F", "D/../F", "run --record {} --tape-record {}", ["the recording", "the tape"]),
    ("F", "L/F", "run -o {} --append --tape-record {}", ["what -o writes", "the tape"]),
    ("F", "F", "run -o {} --idle-file {}", ["what -o writes", "the idle power of --idle-file"]),
    ("F", "F", "doctor -o {} --tape-record {}", ["what -o writes", "the tape"]),
    ("F", "F", "record -o {} --tape-record {}", ["the recording", "the tape"]),
    ("old", "link", "run -o {} --tape-record {}", ["what -o writes", "the tape"]),
])
def test_one_file_for_two_outputs(one, other, words, says, tmp_path):
    (tmp_path / "D").mkdir()
    (tmp_path / "L").symlink_to(".")
    (tmp_path / "old").write_text("kept")
    os.link(tmp_path / "old", tmp_path / "link")
    before = sorted(tmp_path.iterdir())
    words = words.format(f"{tmp_path}/{one}", f"{tmp_path}/{other}").split()
    if words[0] == "run":
        words += ["--", "touch", str(tmp_path / "ran")]
    refused(*words, says=[*says, "cannot be one file", "give one of them another name"])
    assert sorted(tmp_path.iterdir()) == before
    assert (tmp_path / "old").read_text() == "kept"


def test_two_outputs_that_only_look_like_one(tmp_path):
    (tmp_path / "D").mkdir()
    result = run_wattle("run", "-o", tmp_path / "F", "--tape-record", tmp_path / "D" / "F", "--", "true")
    assert result.code == 0 and result.err == "", result
    assert "wattle: true" in (tmp_path / "F").read_text()
    assert (tmp_path / "D" / "F").read_text() and "wattle: true" not in (tmp_path / "D" / "F").read_text()
    # No file, so nothing that is in it is lost.
    assert run_wattle("run", "-o", "/dev/null", "--tape-record", "/dev/null", "--", "true").code == 0


def test_a_root_that_is_none():
    for path in ("/no/such/root", "/etc/passwd"):
        for command, code in (("run", 125), ("doctor", 1)):
            result = run_wattle(command, "--root", path, *(["--", "true"] if command == "run" else []))
            assert result.code == code
            assert path in result.complaint()


def test_words_that_are_too_much():
    refused("doctor", "what", says=["'what'", "one word too many"])
    refused("help", "what", says=["there is no command 'what'"])
    refused("help", "--man", "what", says=["'what'"])
    refused("help", "--man", "wattle-what", says=["'wattle-what'"])
    refused("help", "--completion", "tcsh", says=["'tcsh'", "bash, zsh and fish"])


@pytest.mark.parametrize("args, meant", [
    (["reprot"], "did you mean 'report'?"), (["help", "rnu"], "did you mean 'run'?"),
    (["run", "--repeta", "3", "--", "true"], "did you mean '--repeat'?"), (["top", "--srot=cpu"], "did you mean '--sort'?"),
    (["run", "-f", "jsno", "--", "true"], "did you mean 'json'?"), (["run", "--weight", "cpu-tme", "--", "true"], "did you mean 'cpu-time'?"),
    (["run", "--location", "germany", "--", "true"], "did you mean DEU, Germany?"),
    (["top", "--sort", "gpuw"], "did you mean 'gpu_w'?"), (["top", "--filter", "thread > 2"], "did you mean 'threads'?"),
    (["top", "--sort", "dynmic"], "there is no field 'dynmic': such as w, gpu_w, j, cpu or mem"),
    (["run", "--location", "europe-west9", "--", "true"], "did you mean gcp:europe-west9, Paris?"),
], ids=lambda value: "-".join(value) if isinstance(value, list) else "")
def test_what_was_meant(args, meant):
    result = run_wattle(*args)
    assert result.code in (2, 125) and result.complaint().endswith(meant)


@pytest.mark.parametrize("args", [["xyz"], ["run", "--zzz"], ["run", "-Z"], ["run", "-f", "pdf", "--", "true"], ["run", "--location", "xx", "--", "true"]],
                         ids="-".join)
def test_no_wild_guesses(args):
    assert "did you mean" not in run_wattle(*args).complaint()


def test_two_letters_of_a_country():
    two, three = (run_wattle("run", "-f", "json", "--location", code, "--", "true").json["carbon"] for code in ("de", "DEU"))
    assert two["location"] == three["location"] == "DEU" and two["intensity_g_per_kwh"] == three["intensity_g_per_kwh"]


@pytest.mark.parametrize("args", [["help"], ["--help"], ["run", "--help"], ["help", "--man", "wattle-run"], ["help", "--completion", "zsh"]], ids="-".join)
def test_help_may_be_left(args):
    """By its reader, who has seen enough."""
    with subprocess.Popen([command_path(), *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as wattle:
        wattle.stdout.close()
        assert (wattle.wait(20), wattle.stderr.read()) == (0, b"")


@pytest.mark.parametrize("args", [
    ("query", "--tape", "TAPE"), ("query", "--help-query-gpu"), ("doctor", "--tape", "TAPE"), ("top", "--once", "--tape", "TAPE"),
    ("estimate", "--list-devices")], ids=" ".join)
def test_results_may_be_left(args):
    """As by head. The status tells that not all was read."""
    args = [str(TAPES / "server.tape") if arg == "TAPE" else arg for arg in args]
    nobody, pipe = os.pipe()
    os.close(nobody)
    result = run_wattle(*args, stdout=pipe)
    os.close(pipe)
    assert (result.code, result.err) == (1, "")


def test_ascii_in_a_pipe():
    """A locale without UTF-8 is meant for pipes and files as well."""
    for environment in ({"LC_ALL": "C"}, {"LANG": None}):
        assert run_wattle("run", "--", "true", env=environment).out.isascii()
    assert "±" in run_wattle("run", "--", "true", env={"LANG": "de_DE.UTF-8"}).out


@pytest.mark.parametrize("args", [
    ("run", "--full", "--tape", "TAPE"), ("run", "-I", "4", "--tape", "TAPE"), ("top", "--once", "--tape", "TAPE"),
    ("profile", "-o", "-", "--", "sh", "-c", "head -c 5M /dev/zero | gzip >/dev/null"), ("profile", "--table", "--", "sha256sum", command_path()), ("run", "--location", "Ü±…", "--", "true"),
    *((command, "--help-all") for command in COMMANDS),
], ids=" ".join)
def test_nothing_is_beyond_ascii(args):
    args = [str(TAPES / "busy-thread.tape") if arg == "TAPE" else arg for arg in args]
    result = run_wattle(*args, env={"LC_ALL": "C"})
    assert result.out + result.err and result.out.isascii() and result.err.isascii()


def test_commands():
    result = run_wattle("measure")
    assert (result.code, result.out) == (2, "")
    assert result.complaint() == "wattle: there is no command 'measure': see 'wattle --help'"
    result = run_wattle()
    assert result.code == 2
    assert "Usage: wattle COMMAND" in result.out
    for word in ("--help", "-h", "help"):
        result = run_wattle(word)
        assert (result.code, result.err) == (0, "")
        for command in COMMANDS:
            assert f"\n  {command} " in result.out
    for word in ("--version", "-V"):
        result = run_wattle(word)
        assert result.code == 0
        assert re.fullmatch(r"wattle \d+\.\d+\.\d+\n", result.out)


def test_a_long_word_does_not_hide_the_advice():
    word = "n" * 5000
    result = run_wattle("run", "--format", word, "--", "true")
    assert "--format takes" in result.complaint()


# ---- Help ----

def help_options(command):
    """name -> (letter, argument, text) as --help tells it."""
    text = run_wattle(command, "--help-all").out
    options = {}
    part = re.search(r"\nOptions:\n(.*?)(?:\n\n[A-Z]|\Z)", text, re.S).group(1)
    for entry in re.split(r"\n(?=  (?:-\w, |    )--)", "\n" + part)[1:]:
        head, doc = re.match(r"  (?:-(\w), |    )(--\S+)(.*)", entry, re.S).group(2, 3)
        letter = re.match(r"  -(\w), ", entry)
        name, _, argument = head[2:].partition("=")
        options[name] = (letter and letter.group(1), argument, " ".join(doc.split()))
    return options


def unroff(text):
    return text.replace("\\-", "-").replace("\\&", "").replace("\\e", "\\")


def man_options(command):
    """The same as the man page tells it."""
    page = run_wattle("help", "--man", f"wattle-{command}").out
    part = page.split(".SH OPTIONS\n")[1].split(".SH ")[0]
    options = {}
    for entry in part.split(".TP\n")[1:]:
        head, doc = entry.split("\n", 1)
        head = unroff(re.sub(r"\\f[BRI]", "", head))
        match = re.fullmatch(r"\.B (?:-(\w), )?--([\w-]+)(?:=(.*))?", head)
        assert match, head
        options[match.group(2)] = (match.group(1), match.group(3) or "", " ".join(unroff(doc).split()))
    return options


@pytest.mark.parametrize("command", COMMANDS)
def test_help_and_man_page_tell_the_same(command):
    told = help_options(command)
    assert told == man_options(command)
    assert {"help", "quiet", "verbose"} <= set(told)
    assert not re.search(r"(?m)^      --(root|tape|nvml|fault|help-all)(?![-\w])", run_wattle(command, "--help").out)
    for name, (_, _, doc) in told.items():
        assert doc and not doc.endswith("."), name
    assert run_wattle("help", command).out == run_wattle(command, "--help").out
    assert run_wattle(command, "-h").out == run_wattle(command, "--help").out


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_of_help_is_known(command, tmp_path):
    """With a value where it takes one, none where it does not."""
    for name, (letter, argument, _) in help_options(command).items():
        if name == "help":
            continue
        without = run_wattle(command, f"--{name}", "--nonsense", "--more-nonsense", cwd=tmp_path)
        assert f"unknown option '--{name}'" not in without.err
        if argument:
            assert f"--{name} needs a value" in run_wattle(command, f"--{name}").err
        else:
            assert f"--{name} takes no value" in run_wattle(command, f"--{name}=x").err
        if letter:
            assert f"unknown option '-{letter}'" not in run_wattle(command, f"-{letter}", "--nonsense", "--more-nonsense",
                                                                         cwd=tmp_path).err


@pytest.mark.parametrize("command", COMMANDS)
def test_help_fits_a_terminal(command):
    for line in run_wattle(command, "--help").out.splitlines():
        assert len(line) <= 80, line
        assert line == line.rstrip()


@pytest.mark.skipif(not shutil.which("groff"), reason="groff is not there")
@pytest.mark.parametrize("page", ["wattle", *(f"wattle-{command}" for command in COMMANDS)])
def test_man_pages_have_no_mistakes(page):
    roff = run_wattle("help", "--man", page).out
    done = subprocess.run(["groff", "-ww", "-man", "-Tutf8", "-rF0"], input=roff.encode(), check=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert done.stderr == b""
    shown = re.sub(r"\x1b\[[0-9;]*m|.\x08", "", done.stdout.decode())
    for section in ("NAME", "SYNOPSIS", "DESCRIPTION"):
        assert f"\n{section}\n" in "\n" + shown
    assert f"{page}" in shown.replace("‐", "-")


@pytest.mark.skipif(not shutil.which("man"), reason="man is not there")
@pytest.mark.parametrize("page", ["wattle", *(f"wattle-{command}" for command in COMMANDS)])
def test_man_shows_them_without_a_warning(page, tmp_path):
    path = tmp_path / f"{page}.1"
    path.write_text(run_wattle("help", "--man", page).out)
    done = subprocess.run(["man", "--warnings", "-l", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          env=clean_env(MANWIDTH="80", MANPAGER="cat"), check=False)
    if b"NAME" not in done.stdout:
        pytest.skip("this man shows no pages (a minimized system)")
    assert done.returncode == 0
    assert done.stderr == b""


# ---- Completion ----

def complete(*words):
    """What bash offers for the last of the words."""
    script = run_wattle("help", "--completion", "bash").out
    quoted = " ".join(f"'{w}'" for w in words)
    code = f"""set -u
{script}
COMP_WORDS=({quoted}); COMP_CWORD=$(({len(words)} - 1)); COMP_LINE="${{COMP_WORDS[*]}}"; COMP_POINT=${{#COMP_LINE}}
_wattle
for word in ${{COMPREPLY[@]+"${{COMPREPLY[@]}}"}}; do echo "$word"; done
"""
    done = subprocess.run(["bash", "--norc", "--noprofile", "-c", code], stdout=subprocess.PIPE, check=True,
                          stderr=subprocess.PIPE, text=True)
    assert done.stderr == ""
    return done.stdout.split()


def offered_by_fish(tmp_path, line):
    script = tmp_path / "wattle.fish"
    script.write_text(run_wattle("help", "--completion", "fish").out)
    done = subprocess.run(["fish", "-c", f"source {script}; complete -C '{line}'"], capture_output=True, text=True,
                          check=True, env={**os.environ, "HOME": str(tmp_path)})
    assert done.stderr == ""
    return [offer.split("\t")[0] for offer in done.stdout.splitlines()]


@pytest.mark.skipif(not shutil.which("fish"), reason="fish is not there")
def test_completion_for_fish(tmp_path):
    assert offered_by_fish(tmp_path, "wattle ru") == ["run"]
    assert set(COMMANDS) <= set(offered_by_fish(tmp_path, "wattle "))
    assert offered_by_fish(tmp_path, "wattle run --form") == ["--format"]
    assert offered_by_fish(tmp_path, "wattle run --format ") == ["csv", "json", "ndjson", "text"]
    assert offered_by_fish(tmp_path, "wattle help expo") == ["export"]
    assert offered_by_fish(tmp_path, "wattle query --query-gpu=name,power.draw.i") == ["--query-gpu=name,power.draw.instant"]
    assert "--all" in offered_by_fish(tmp_path, "wattle run -- ls --al")
    (tmp_path / "some.wattle").touch()
    assert offered_by_fish(tmp_path, f"wattle report {tmp_path}/some") == [f"{tmp_path}/some.wattle"]


ZSH = """zmodload zsh/zpty
zpty shell 'PROMPT=; cd %s; exec zsh -f -i'
zpty -w shell 'PROMPT=; unsetopt zle_bracketed_paste; fpath=(%s $fpath); autoload -U compinit; compinit -u -D; zstyle ":completion:*" list-prompt ""; LISTMAX=0; echo re''ady'
zpty -r -m shell seen '*ready*'
zpty -w -n shell $'%s\t\t'
for try in {1..150}; do
    while zpty -r -t shell more; do seen+=$more; done
    [[ %s ]] && break
    sleep 0.2
done
print -r -- $seen
"""


@pytest.mark.skipif(not shutil.which("zsh"), reason="zsh is not there")
@pytest.mark.parametrize("line, offers", [("wattle repo", ["wattle report"]), ("wattle run --form", ["--format="]), ("wattle limit --persistence o", ["on", "off"]),
                                          ("wattle query --query-gpu=name,power.draw.i", ["name,power.draw.instant"]),
                                          ("wattle run -- ls --al", ["--all", "--almost-all"])])
def test_completion_for_zsh(tmp_path, line, offers):
    (tmp_path / "_wattle").write_text(run_wattle("help", "--completion", "zsh").out)
    all_seen = " && ".join(f'$seen == *"{offer}"*' for offer in offers)
    done = subprocess.run(["zsh", "-f", "-c", ZSH % (tmp_path, tmp_path, line, all_seen)], capture_output=True, text=True, timeout=60, check=False,
                          env={**os.environ, "TERM": "dumb", "HOME": str(tmp_path)})
    for offer in offers:
        assert offer in done.stdout, (done.stdout, done.stderr)


@pytest.mark.skipif(not shutil.which("bash"), reason="bash is not there")
def test_completion():
    assert complete("wattle", "ru") == ["run"]
    assert set(COMMANDS) <= set(complete("wattle", ""))
    assert complete("wattle", "run", "--fo") == ["--format="]
    assert complete("wattle", "run", "--nonsense") == []
    assert complete("wattle", "doctor", "--rep") == []
    assert complete("wattle", "run", "--", "--fo") == []
    assert complete("wattle", "what", "--fo") == []
    for command in COMMANDS:
        offered = {word.strip("-=") for word in complete("wattle", command, "--")}
        assert offered == set(help_options(command))


@pytest.mark.skipif(not shutil.which("bash"), reason="bash is not there")
def test_completion_of_values():
    formats = ["text", "json", "ndjson", "csv"]
    assert complete("wattle", "run", "-f", "") == formats
    assert complete("wattle", "run", "--format", "j") == ["json"]
    # Bash gives --format=j as three words.
    assert complete("wattle", "run", "--format", "=") == formats
    assert complete("wattle", "doctor", "-q", "--format", "=", "c") == ["csv"]
    assert complete("wattle", "run", "--weight", "c") == ["cpu-time", "cycles"]
    assert complete("wattle", "run", "--location", "DE") == ["DEU"]
    assert complete("wattle", "estimate", "--device", "lo") == ["loihi1-davies", "loihi1-sanafe", "loihi2"]
    assert complete("wattle", "run", "--root", "/et") == ["/etc"]
    assert complete("wattle", "help", "") == COMMANDS
    assert complete("wattle", "help", "doc") == ["doctor"]


# What each command offers as an option's value is what that command takes.
VALUES = [
    ("run", "--format", "text json ndjson csv"), ("report", "-f", "text json ndjson csv"), ("query", "--format", "text json ndjson csv"),
    ("doctor", "--format", "text json ndjson csv"),
    ("plot", "--format", "svg png pdf"), ("plot", "--what", "power processes windows memory runs emissions"),
    ("plot", "--by", "process user container unit"),
    ("report", "--by", "process user command container pod unit job cgroup window"),
    ("export", "--format", "csv json ndjson"), ("export", "--what", "samples power processes windows gaps devices"),
    ("export", "--to", "tables codecarbon aipowermeter zeus influx perfetto prometheus"),
    ("import", "--from", "auto nvidia-smi-xml powermetrics codecarbon zeus-monitor zeus omegawatt perf nvidia-smi dmon prometheus wattmeter aipowermeter scaphandre"),
    ("run", "--weight", "cpu-time instructions cycles learned"), ("top", "--weight", "cpu-time instructions cycles learned"),
    ("limit", "--persistence", "on off"), ("help", "--completion", "bash zsh fish"),
    ("report", "--to", ""), ("plot", "--from", ""), ("plot", "--to", ""), ("top", "--at", ""), ("run", "--pue", ""),
    ("query", "-i", ""), ("run", "--until", ""), ("record", "--duration", ""),
]


@pytest.mark.skipif(not shutil.which("bash"), reason="bash is not there")
@pytest.mark.parametrize("command,option,values", VALUES)
def test_completion_of_a_commands_own_values(command, option, values):
    assert complete("wattle", command, option, "") == values.split()
    assert complete("wattle", command, option, "=") == values.split()
    for value in values.split():
        assert value in complete("wattle", command, "-v", option, "=", value[:2])
        assert " takes " not in run_wattle(command, option, value, "--nonsense").err


@pytest.mark.skipif(not shutil.which("bash"), reason="bash is not there")
def test_completion_of_lists():
    fields = complete("wattle", "query", "--query-gpu", "")
    assert {"name", "power.draw", "energy.total"} <= set(fields) and "gpu.base.current" not in fields
    assert run_wattle("query", "--query-gpu", ",".join(fields), "--nonsense").complaint().startswith("wattle: query: unknown option")
    assert complete("wattle", "query", "--query-gpu", "=", "name,power.dr") == ["name,power.draw", "name,power.draw.average", "name,power.draw.instant"]
    assert complete("wattle", "query", "-d", "POWER,UT") == ["POWER,UTILIZATION"]


@pytest.mark.skipif(not shutil.which("bash"), reason="bash is not there")
def test_completion_of_words():
    assert complete("wattle", "mark", "") == ["begin", "end", "list"]
    assert complete("wattle", "query", "p") == ["pmon"]
    assert complete("wattle", "query", "-q", "-i", "0", "d") == ["dmon"]
    assert complete("wattle", "doctor", "") == []


@pytest.mark.skipif(not shutil.which("bash"), reason="bash is not there")
def test_completion_of_the_command():
    for before in ([], ["--"], ["-q"], ["-f", "json"], ["--format", "=", "json"], ["-o", "run", "--"]):
        assert "seq" in complete("wattle", "run", *before, "se"), before
    for command in ("record", "limit"):
        assert "seq" in complete("wattle", command, "--", "se")
        assert "seq" in complete("wattle", command, "se")
    assert complete("wattle", "run", "ls", "--fo") == []
    assert complete("wattle", "doctor", "se") == []


@pytest.mark.skipif(not shutil.which("bash"), reason="bash is not there")
def test_completion_beside_files():
    """A word that is no option is a file, which is bash's to complete; options may stand behind it."""
    assert complete("wattle", "report", "ni") == []
    assert complete("wattle", "report", "night.wattle", "--fr") == ["--from="]
    assert complete("wattle", "report", "night.wattle", "--format", "=", "j") == ["json"]
    assert complete("wattle", "export", "night.wattle", "--ou") == ["--output="]
    script = run_wattle("help", "--completion", "bash").out
    assert "\t\trun|record|profile|limit)\n" in script


@pytest.mark.parametrize("words,says", [
    (("plot", "", "-o", "x.svg"), "FILE is the path of a recording, report or .dat, not ''"),
    (("report", "", "x"), "FILE is the path of a recording, not ''"),
    (("export", ""), "FILE is the path of a recording, not ''"),
    (("import", "", "-o", "x"), "FILE is the path of a file, not ''"),
    (("record", "--stop", ""), "--stop takes the path of a recording, not ''"),
    (("record", "--output="), "--output takes the path of a file, not ''"),
    (("run", "--record=", "--", "true"), "--record takes the path of a file, not ''"),
])
def test_a_path_that_is_empty(words, says, tmp_path):
    """As of a variable that is not set: said before anything runs or is made."""
    result = run_wattle(*words, cwd=tmp_path)
    assert result.code == USAGE[words[0]], result
    assert result.complaint() == f"wattle: {words[0]}: {says}"
    assert result.out == "" and list(tmp_path.iterdir()) == []


def test_the_overview_names_only_pages_that_there_are():
    page = run_wattle("help", "--man", "wattle").out
    named = set(re.findall(r"wattle\\-(\w+) \(1\)", page))
    assert named == set(COMMANDS) - {"help"}
    for command in named:
        assert f".TH WATTLE\\-{command.upper()} 1 " in run_wattle("help", "--man", f"wattle-{command}").out


def test_a_library_that_cannot_be_loaded_is_told(tmp_path):
    for path in ("/nonexistent.so", "/etc/passwd"):
        done = run_wattle("run", "--nvml", path, "--", "true")
        assert done.code == 0
        assert any("--nvml gives nothing" in line and path in line for line in done.err.splitlines()), done.err
    assert "nvml" not in run_wattle("run", "--nvml", "", "--", "true").err
    assert "nvml" not in run_wattle("run", "-q", "--nvml", "/nonexistent.so", "--", "true").err
