# SPDX-License-Identifier: MIT
"""wattle profile diff: two profiles side by side."""

import os
import re
import subprocess
import sys
from decimal import Decimal

import pytest

from conftest import REPO, parse_csv, parse_json, run_wattle
from test_profile import built_program  # noqa: F401 (a fixture)


@pytest.fixture(name="pair", scope="session")
def taken_once(program, tmp_path_factory):
    """600 ms in heavy, light and innermost, and 200 ms in heavy and recursive."""
    folder = tmp_path_factory.mktemp("pair")
    for name, word in (("a", "two"), ("b", "deep")):
        result = run_wattle("profile", "-q", "-o", folder / f"{name}.wprof", "--", program, word)
        assert result.code == 0, result
    return folder / "a.wprof", folder / "b.wprof"


def diff(*words):
    result = run_wattle("profile", "diff", "-f", "json", *words)
    assert result.code == 0 and result.err == "", result
    found = parse_json(result.out)
    return found, {row["function"]: row for row in found["functions"]}


def test_seconds_and_joules(pair):
    found, functions = diff(*pair)
    light = functions["light"]
    assert float(light["a_cpu_s"]) == pytest.approx(0.15, abs=0.05) and light["b_cpu_s"] == 0
    assert light["cpu_change_s"] == -light["a_cpu_s"] and light["cpu_significant"]
    assert functions["recursive"]["a_cpu_s"] == 0 and functions["recursive"]["cpu_change_s"] > 0
    assert float(found["total"]["cpu_change_s"]) == pytest.approx(-0.4, abs=0.15) and found["total"]["cpu_significant"]
    for figure in ("own_energy_change_j", "own_cpu_change_s"):
        assert sum(row[figure] for row in found["functions"]) == found["total"][figure]
    changes = [abs(row["own_energy_change_j"]) for row in found["functions"]]
    assert changes == sorted(changes, reverse=True)


def test_nothing_differs_from_itself(pair):
    found, functions = diff(pair[0], pair[0])
    assert found["total"]["own_energy_change_j"] == 0 and not any(row["cpu_significant"] for row in functions.values())


def test_several_runs(pair):
    found, _ = diff(pair[0], pair[0], "--", pair[1], pair[1], pair[1])
    assert (found["a_runs"], found["b_runs"]) == (2, 3)
    assert float(found["total"]["cpu_change_s"]) == pytest.approx(-0.4, abs=0.15)
    one = run_wattle("profile", "diff", *pair).out
    assert "One run a side: how much runs differ is not known" in one
    assert "One run a side" not in run_wattle("profile", "diff", pair[0], "--", pair[1], pair[1]).out


def test_text_and_csv(pair, tmp_path):
    text = run_wattle("profile", "diff", *pair)
    assert text.code == 0 and text.out.startswith("A: 1 run of ") and " two\n" in text.out
    assert re.search(r"-0\.\d+\*  all of the program$", text.out, re.M), text.out
    run_wattle("profile", "diff", *pair, "-o", tmp_path / "d.csv")
    assert "heavy" in seconds_are_below_their_header(text.out)
    table = parse_csv((tmp_path / "d.csv").read_text())
    assert {"light", "recursive"} <= {row["function"] for row in table}
    run_wattle("profile", "show", pair[0], "-o", tmp_path / "p.csv")
    assert {(row["own_wait_s"], row["wait_s"]) for row in parse_csv((tmp_path / "p.csv").read_text())} == {("", "")}


def seconds_are_below_their_header(text):
    """The rows, by what they are of."""
    header, *lines = re.search(r"^ A own .*\n(?:.+\n)+", text, re.M).group().splitlines()
    end = header.index("CPU [s]") + len("CPU [s]")
    assert all(re.search(r" [+-]\d+\.\d{3}$", line[:end]) and line[end] in " *" for line in lines), text
    return {line[end:].lstrip("* "): line for line in lines}


def test_one_side_has_no_energy(program, pair, tmp_path):
    """It does not use less: that is not known, and they differ by CPU time alone."""
    none = tmp_path / "none.wprof"
    assert run_wattle("profile", "-q", "--root", REPO / "tests" / "fixtures" / "roots" / "rubbish", "-o", none, "--", program, "brief").code == 0
    done = run_wattle("profile", "diff", pair[0], none, "--fail-if", "total < 1 J")
    assert done.code == 0 and "is not decided: no energy is known" in done.err and "compared by CPU time" in done.out, done
    for words in (("show", none), ("diff", pair[0], none)):
        strict = run_wattle("profile", *words, "--fail-if", "total < 1 J", "--fail-strict")
        assert strict.code == 124 and "is not decided, which fails by --fail-strict: no energy is known" in strict.complaint(), strict
    assert seconds_are_below_their_header(done.out)["heavy"].split()[:4] == ["-"] * 4, done.out
    found, _ = diff(pair[0], none)
    assert not [key for key in found["total"] if "energy" in key] and "a_cpu_s" in found["total"]


def rows_of(result):
    """Own and with calls in J, and CPU time in s, each B - A."""
    found = re.findall(r"^ +\S+ +\S+ +([+-]\d+\.\d+) ± .*? ([+-]\d+\.\d+) ± .*? ([+-]\d+\.\d{3})\*?  +(?!all of the)", result.out, re.M)
    return [tuple(abs(float(number)) for number in row) for row in found]


@pytest.mark.parametrize("sort, column", [("energy", 0), ("calls", 1), ("cpu", 2)])
def test_rows_and_their_order(pair, sort, column):
    everything = run_wattle("profile", "diff", "--sort", sort, *pair)
    changes = [row[column] for row in rows_of(everything)]
    assert changes == sorted(changes, reverse=True) and len(changes) > 3
    few = run_wattle("profile", "diff", "--sort", sort, "--rows", "2", *pair)
    assert rows_of(few) == rows_of(everything)[:2] and f"{len(changes) - 2} more functions than --rows 2" in few.out


@pytest.mark.parametrize("words, says", [
    ((), "two files"), (("a",), "two files"), (("a", "b", "c"), "two files"), (("a", "--"), "two files"), (("--", "a", "b"), "two files"),
    (("a", "--", "b", "--", "c"), "of one '--'"), (("a", "--", "--", "b"), "of one '--'"),
    (("--table", "a", "b"), "--table is for show"), (("--sort", "samples", "a", "b"), "--sort samples is for show"),
    (("--fail-strict", "a", "b"), "--fail-strict is for"), (("none.wprof", "b"), "No such file"), (("a", "b", "-f", "svg"), "text, json or csv"), (("-o", "d.html", "a", "b"), "text, json or csv"),
])
def test_what_diff_does_not_take(words, says, tmp_path):
    result = run_wattle("profile", "diff", *words, cwd=tmp_path)
    assert result.code == 125 and says in result.complaint() and list(tmp_path.iterdir()) == []


# ---- --fail-if ----

@pytest.mark.parametrize("bound, fails", [
    ("heavy > 0.1 s", True), ("heavy > 1 s", False), ("heavy < 0.1 s", False), ("heavy < 10 s", True), ("total>0.2s", True),
    ("total > 1000 kJ", False), ("total > 1000 gCO2e", False), ("main > 50 %", None), ("light < 90 %", None), ("operator> > c > 1 s", False),
])
def test_bounds(pair, bound, fails, tmp_path):
    """The exit status says so, one line says which, and all is written before."""
    shown = run_wattle("profile", "show", pair[0], "--fail-if", bound, "-o", tmp_path / "p.json")
    assert (tmp_path / "p.json").exists()
    if fails is None:  # energy may be 0 here
        assert shown.code in (0, 124)
        return
    assert shown.code == (124 if fails else 0), shown
    assert not fails or (shown.err.count("\n") == 1 and bound in shown.complaint())


def test_a_bound_that_is_not_decided(pair):
    """A limit within the ±: it is said, and fails only if that is asked for; so is a function that was not seen."""
    row = diff("-f", "json", pair[0], pair[0])[1]["light"]
    for bound in (f"light > {row['a_cpu_s']} s", f"light < {row['a_cpu_s']} s", "no_such_function > 1 J"):
        shown = run_wattle("profile", "show", pair[0], "--fail-if", bound)
        assert shown.code == 0 and "not decided" in shown.err and shown.err.count("\n") == 1, shown
        strict = run_wattle("profile", "show", pair[0], "--fail-if", bound, "--fail-strict")
        assert strict.code == 124 and "not decided" in strict.complaint()


def test_a_bound_knows_what_is_not_known(tmp_path):
    """Whatever no function is known of may be the one: here processes that end before they are sampled."""
    (tmp_path / "a.c").write_text("""
#define _GNU_SOURCE
#include <sched.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
static double ran(void) { struct timespec t; clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t); return t.tv_sec + t.tv_nsec / 1e9; }
__attribute__((noipa)) void work(double s) { while (ran() < s) for (volatile int i = 0; i < 100000; i++); }
/* Each processor counts the time between samples for itself. */
static void stay(void) { cpu_set_t one; CPU_ZERO(&one); CPU_SET(sched_getcpu(), &one); sched_setaffinity(0, sizeof(one), &one); }
int main(void) { stay(); for (int i = 0; i < 4; i++) { if (fork() == 0) { work(0.15); _exit(0); } wait(NULL); } work(0.35); return 0; }
""")
    if subprocess.run(["gcc", "-g", "-O1", "-o", "a", "a.c"], check=False, cwd=tmp_path).returncode:
        pytest.skip("no compiler")
    kept = tmp_path / "a.wprof"
    assert run_wattle("profile", "-q", "--rate", "4", "-o", kept, "--", tmp_path / "a").code == 0
    words = ("profile", "show", "-q", kept, "--fail-if")
    for bound in ("work < 0.6 s", "work > 0.6 s"):
        shown = run_wattle(*words, bound)
        assert (shown.code, run_wattle(*words, bound, "--fail-strict").code) == (0, 124), shown
        assert re.search(r"not decided: it is 0\.3.* ± .* s, and may be up to 0\.(6|59)\d* s more: of so much no function is known", shown.complaint()), shown
    assert run_wattle(*words, "work < 20 s").code == 124 and run_wattle(*words, "work > 20 s").err == ""
    same = run_wattle("profile", "diff", kept, kept, "--fail-if", "work < 0.3 s", "--fail-if", "work > -0.3 s")
    assert same.code == 0 and same.err.count("not decided") == 2, same
    far = run_wattle("profile", "diff", kept, kept, "--fail-if", "work < -20 s", "--fail-if", "work > 20 s")
    assert (far.code, far.err) == (0, "")


def test_bounds_of_what_runs(program):
    def take(*words):
        return run_wattle("profile", "-q", "--fail-if", "total > 50 kJ", "--fail-if", "heavy > 0.1 s", "--", program, *words)
    over = take("two")
    assert over.code == 124 and "heavy > 0.1 s" in over.err and "measured in all" in over.err
    assert take("none", "0").code == 0
    assert take("none", "7").code == 7


def test_bounds_of_differences(pair):
    def differs(bound, *options):
        return run_wattle("profile", "diff", *reversed(pair), "--fail-if", bound, *options).code
    assert differs("light > 0.05 s") == 124 and differs("total > 0.1 s") == 124
    assert differs("recursive > 0 s") == 0 and differs("total > 10 s") == 0
    assert differs("total > 1000000 %", "--fail-strict") == 0


def test_bounds_of_a_name_that_libraries_have_too(tmp_path):
    """`main` is the program's, though site-packages have one as well. Two of the program's own are not told apart."""
    spin = "def main():\n    import time\n    end = time.process_time() + {}\n    while time.process_time() < end:\n        sum(range(999))\n"
    for path, seconds in (("site-packages/one.py", 0.1), ("two.py", 0.4), ("three.py", 0.1)):
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(spin.format(seconds))
    code = f"import sys; sys.path[:0] = [{str(tmp_path)!r}, {str(tmp_path / 'site-packages')!r}]; import one, two, three; one.main(); two.main()"
    for name, more in (("a", ""), ("b", "; two.main()"), ("c", "; three.main()")):
        made = run_wattle("profile", "-q", "-o", tmp_path / f"{name}.wprof", "--", sys.executable, "-c", code + more)
        assert made.code == 0, made
    a, b, c = (tmp_path / f"{name}.wprof" for name in "abc")
    for words in (("show", a), ("diff", a, b)):
        for bound, code in (("main > 0.25 s", 124), ("main > 3 s", 0)):
            result = run_wattle("profile", *words, "--fail-if", bound)
            assert result.code == code, result
    for words in (("show", c), ("diff", a, c)):
        several = run_wattle("profile", *words, "--fail-if", "main > 1 s")
        assert several.code == 125 and re.search(r"which one\? 'main \(.*(two|three).py.*' or 'main \(.*(two|three).py", several.err), several


def test_bounds_of_files_by_their_paths(tmp_path):
    """Whole or its last parts, also where no path is shown. `diff` knows Python's files by their names alone."""
    spin = "def fit():\n    import time\n    end = time.process_time() + 0.2\n    while time.process_time() < end:\n        sum(range(999))\n"
    for path, text in (("old/fitm.py", spin), ("new/fitm.py", "\n" + spin), ("main.py", "import importlib.util\ndef load(name):\n"
                       f"    spec = importlib.util.spec_from_file_location(name, '{tmp_path}/' + name + '/fitm.py')\n"
                       "    made = importlib.util.module_from_spec(spec)\n    spec.loader.exec_module(made)\n    return made\ndef train():\n"
                       "    load('old').fit()\n    load('new').fit()\ntrain()\n")):
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)
    kept = tmp_path / "a.wprof"
    assert run_wattle("profile", "-q", "-o", kept, "--", sys.executable, tmp_path / "main.py").code == 0

    def told(name, *words):
        return run_wattle("profile", *words, "--fail-if", f"{name} < 100 s")
    for name in (f"train ({tmp_path}/main.py:7)", f"train ({tmp_path}/main.py)", f"train ({tmp_path.name}/main.py)", "fit (old/fitm.py)", "fit (old/fitm.py:1)",
                 f"fit ({tmp_path}/new/fitm.py:2)", "fit (new/fitm.py)", "fit (fitm.py:2)"):
        done = told(name, "show", "-q", "-o", tmp_path / "a.json", kept)
        assert done.code == 124 and "fails: it is" in done.complaint(), (name, done)
    for name in ("train (/main.py)", "train (/else/main.py)", "train (ain.py)", "fit (old/fitm.py:2)", "fit (/new/fitm.py)"):
        assert "no such function was seen" in told(name, "show", "-q", "-o", tmp_path / "a.json", kept).err, name
    for name in ("fit", "fit (fitm.py)"):
        several = told(name, "show", "-q", "-o", tmp_path / "a.json", kept)
        assert several.code == 125 and "which one? 'fit (" in several.complaint(), several
    for name in (f"train ({tmp_path}/main.py)", "train (main.py)", "fit (old/fitm.py)"):
        assert told(name, "diff", kept, kept).code == 124, name
    assert "no such function was seen" in told("train (/else/ain.py)", "diff", kept, kept).err


def test_bounds_of_names_as_compilers_make_them(tmp_path):
    """`work` is work.constprop.0 as well, or ask which file's; and a shell's own `main` is not what is asked for."""
    (tmp_path / "a.c").write_text("""
static __attribute__((noinline)) double work(double x, int n) { for (int i = 0; i < n; i++) x = x * 1.0000001 + 1e-9; return x; }
int main(int argc, char **argv) { double s = 0; for (int i = 0; i < 300; i++) s += work(argc + i, 300000); return s == 1.5; }
""")
    (tmp_path / "b.c").write_text((tmp_path / "a.c").read_text().replace("300000", "300001"))
    kept = {}
    for name, options in (("plain", "-O1"), ("copied", "-O2")):
        if subprocess.run(["gcc", "-g", options, "-o", name, "a.c"], check=False, cwd=tmp_path).returncode:
            pytest.skip("no compiler")
        kept[name] = tmp_path / f"{name}.wprof"
        assert run_wattle("profile", "-q", "-o", kept[name], "--", tmp_path / name).code == 0
    for words in (("show", kept["copied"]), ("diff", kept["plain"], kept["copied"])):
        result = run_wattle("profile", *words, "-q", "--fail-if", "work < 100 s")
        assert (result.code, "fails: it is" in result.err) == (124, True), result
    assert {name for name in diff(kept["plain"], kept["copied"])[1] if "work" in name} == {"work"}
    subprocess.run(["gcc", "-g", "-O1", "-o", "other", "b.c"], check=True, cwd=tmp_path)
    both = run_wattle("profile", "-q", "--fail-if", "work > 0.01 s", "--fail-if", "main (b.c) < 100 s", "--", "sh", "-c", f"{tmp_path}/plain; {tmp_path}/other")
    assert both.code == 125 and re.search(r"which one\? 'work \([ab]\.c\)' or 'work \([ab]\.c\)'", both.err), both
    for path in ("b.c", f"{tmp_path}/b.c", f"{tmp_path.name}/b.c"):
        one = run_wattle("profile", "-q", "--fail-if", f"main ({path}) < 100 s", "--", "sh", "-c", f"{tmp_path}/plain; {tmp_path}/other")
        assert one.code == 124, one
    (tmp_path / "t.py").write_text("def main():\n    return sum(i * i for i in range(12_000_000))\nmain()\n")
    shell = run_wattle("profile", "-q", "--fail-if", "main > 0.1 s", "--", "bash", "-c", f"for ((i = 0; i < 9999; i++)); do :; done; {sys.executable} {tmp_path}/t.py; true")
    assert shell.code == 124, shell


def test_a_copy_that_its_function_calls(tmp_path):
    """What both use is told once."""
    (tmp_path / "a.c").write_text("""
double part(double x) __asm__("work.part.0");
__attribute__((noipa)) double part(double x) { for (int i = 0; i < 300000; i++) x = x * 1.0000001 + 1e-9; return x; }
__attribute__((noipa)) double work(double x) { for (int i = 0; i < 300000; i++) x = x * 1.0000001 + 1e-9; return part(x) + 1; }
int main(void) { double s = 1; for (int i = 0; i < 200; i++) s += work(i); return s == 1.5; }
""")
    if subprocess.run(["gcc", "-g", "-O1", "-o", "a", "a.c"], check=False, cwd=tmp_path).returncode:
        pytest.skip("no compiler")
    assert run_wattle("profile", "-q", "-o", tmp_path / "a.wprof", "--", tmp_path / "a").code == 0
    found, rows = diff(tmp_path / "a.wprof", tmp_path / "a.wprof")
    assert found["total"]["a_cpu_s"] * Decimal("0.5") < rows["work"]["a_cpu_s"] <= found["total"]["a_cpu_s"], rows["work"]
    assert rows["work"]["a_cpu_s"] == rows["work"]["a_own_cpu_s"] and "work.part.0" not in rows


def test_quiet_hides_no_bound(pair):
    """A name that is mistyped passes CI otherwise."""
    shown = run_wattle("profile", "show", "-q", pair[0], "--fail-if", "no_such_function > 1 J")
    assert shown.code == 0 and "not decided: no such function was seen" in shown.complaint()


@pytest.mark.parametrize("bound", ["", "x", "x > 1", "x > J", "> 1 J", "x = 1 J", "x > 1 W", "x > nan J"])
def test_what_is_no_bound(bound, tmp_path):
    result = run_wattle("profile", "--fail-if", bound, "--", "touch", "ran", cwd=tmp_path)
    assert result.code == 125 and "train > 300 J" in result.complaint() and "gCO2e or %" in result.complaint() and list(tmp_path.iterdir()) == []

TWIN = """
static __attribute__((noipa)) double work(double x) { for (int i = 0; i < 30000000; i++) x = x * 1.0000001 + 1e-9; return x; }
double run_NAME(double x) { return work(x) + 1; }
"""
TWINS_MAIN = """
double run_a(double x), run_b(double x);
int main(int argc, char **argv) { double s = argc; for (char *c = argv[1]; *c; c++) s = *c == 'a' ? run_a(s) : run_b(s); return s == 1.5; }
"""


@pytest.fixture(name="twins")
def profiles_of_twins(tmp_path):
    """take("ab", ...) profiles a program whose a.c and b.c each have a static `work`, and calls one after the other."""
    def build(folder="src", name="twins", options=("-g",), shared=False):
        (tmp_path / folder).mkdir(exist_ok=True)
        paths = {"main": tmp_path / folder / "main.c"}
        paths["main"].write_text(TWINS_MAIN)
        for twin in "ab":
            paths[twin] = tmp_path / folder / f"{twin}.c"
            paths[twin].write_text(TWIN.replace("NAME", twin))
            if shared:
                library = tmp_path / folder / f"lib{twin}.so"
                gcc(*options, "-shared", "-fPIC", "-o", library, paths[twin])
                paths[twin] = library
        gcc(*options, "-o", tmp_path / folder / name, *paths.values())
        return tmp_path / folder / name

    def gcc(*words):
        if subprocess.run(["gcc", "-O1", *words], check=False).returncode:
            pytest.skip("no compiler")

    def take(calls, **how):
        program = build(**how)
        path = tmp_path / f"{len(list(tmp_path.glob('*.wprof')))}.wprof"
        assert run_wattle("profile", "-q", "-o", path, "--", program, calls).code == 0
        return path
    return take


def seen_of(name, *words):
    """Of each function of that name: whether A used time in it, and B."""
    return {key: (row["a_cpu_s"] > 0, row["b_cpu_s"] > 0) for key, row in diff(*words)[1].items() if key == name or key.startswith(name + " ")}


def test_two_functions_of_one_name(twins):
    """A function is the same by its name and file, whatever else a run has seen."""
    a, ab, b = (twins(calls) for calls in ("a", "ab", "b"))
    assert seen_of("work", a, ab) == {"work (a.c)": (True, True), "work (b.c)": (False, True)}
    assert seen_of("work", a, b) == {"work (a.c)": (True, False), "work (b.c)": (False, True)}
    assert seen_of("work", a, a) == {"work": (True, True)}
    assert seen_of("work", a, ab, a, "--", ab, b, b) == {"work (a.c)": (True, True), "work (b.c)": (True, True)}
    for words in (("show", a), ("show", ab), ("diff", b, a), ("diff", b, ab), ("diff", a, a)):
        for bound, code in (("work (a.c) > 100 s", 0), ("work (a.c) < 100 s", 124)):
            result = run_wattle("profile", *words, "-q", "--fail-if", bound) if words[0] == "show" else run_wattle("profile", "diff", "--fail-if", bound, *words[1:])
            assert result.code == code and "not decided" not in result.err, (words, result)
    several = run_wattle("profile", "diff", "--fail-if", "work > 1 s", a, ab)
    assert several.code == 125 and re.search(r"which one\? 'work \([ab]\.c\)' or 'work \([ab]\.c\)'", several.err), several


def test_a_function_that_moved(twins):
    """Another checkout, another name of the program, and a build without debug information."""
    a, ab = twins("a"), twins("ab")
    for moved in (twins("ab", folder="new"), twins("ab", folder="new", name="renamed")):
        assert seen_of("work", ab, moved) == {"work (a.c)": (True, True), "work (b.c)": (True, True)}
        assert seen_of("work", a, moved) == {"work (a.c)": (True, True), "work (b.c)": (False, True)}
    assert seen_of("work", a, twins("a", options=(), name="small")) == {"work": (True, True)}
    assert seen_of("main", a, twins("a", options=(), name="small")) == {"main": (True, True)}


def test_functions_without_files(twins):
    """Those of one build are told apart by where they are, those of libraries by the library."""
    a, ab, b = (twins(calls, options=()) for calls in ("a", "ab", "b"))
    assert sorted(seen_of("work", a, ab).values()) == [(False, True), (True, True)]
    assert sorted(seen_of("work", a, b, "--", ab).values()) == [(True, True), (True, True)]
    a, b = (twins(calls, options=(), shared=True) for calls in "ab")
    assert seen_of("work", a, b) == {"work (liba.so)": (True, False), "work (libb.so)": (False, True)}


CXX = """
#include <vector>
#define NOIPA __attribute__((noipa))
static NOIPA double spin(double x) { for (int i = 0; i < 20000000; i++) x = x * 1.0000001 + 1e-9; return x; }
namespace phys { namespace {
template <int N> struct Kernel { template <class F> NOIPA double operator()(F f) { return spin(f(N)); } };
template <class T, class U = std::vector<T>> NOIPA T reduce(U &v) { return (T)spin(v[0]); }
} }
[[gnu::abi_tag("one")]] NOIPA double tagged(double x) { return spin(x); }
struct Vec {
	double x;
	NOIPA double operator<(Vec o) const { return spin(o.x); }
	NOIPA double operator<<(Vec o) const { return spin(o.x); }
	NOIPA Vec *operator->() { x = spin(x); return this; }
	NOIPA double operator()(double y) const { return spin(y); }
	NOIPA operator bool() const { return spin(x) > 0; }
};
template <class T> NOIPA double operator>(Vec a, T b) { return spin(a.x + b); }
int main() {
	Vec a{1}, b{2};
	std::vector<float> v{1};
	double s = phys::Kernel<7>{}([](int i) { return i * 1.5; }) + phys::Kernel<9>{}([](int i) { return i * .5; });
	return s + phys::reduce<float>(v) + (a < b) + (a << b) + a->x + a(1) + (a > 1) + tagged(1) + (a ? 1 : 0) == 1.5;
}
"""


def test_bounds_of_names_of_cxx(tmp_path):
    (tmp_path / "a.cpp").write_text(CXX)
    if subprocess.run(["g++", "-g", "-O1", "-o", "a", "a.cpp"], check=False, cwd=tmp_path).returncode:
        pytest.skip("no compiler")
    assert run_wattle("profile", "-q", "-o", tmp_path / "a.wprof", "--", tmp_path / "a").code == 0

    def told(*names):
        return run_wattle("profile", "show", "-q", "-o", tmp_path / "a.json", tmp_path / "a.wprof", *(word for name in names for word in ("--fail-if", f"{name} < 100 s")))
    for name in ("Vec::operator<", "operator<", "operator<<", "Vec::operator->", "Vec::operator()", "operator bool", "Vec::operator bool", "operator>", "operator><int>",
                 "phys::reduce", "reduce<float>", "phys::reduce<float>", "Kernel<7>::operator()", "phys::Kernel<9>::operator()", "tagged", "tagged[abi:one]",
                 "reduce(std::vector<float, std::allocator<float>>&)", "float reduce<float>(std::vector<float, std::allocator<float> >&)", "Vec::operator()(double) const"):
        done = told(name)
        assert (done.code, done.err.count("\n")) == (124, 1) and "fails: it is" in done.err, (name, done)
    for name in ("operator<=", "operator-", "phys::operator<", "reduce<int>", "Kernel<8>::operator()", "bool", "reduce(float)", "int reduce<float>(std::vector<float, std::allocator<float> >&)"):
        assert "no such function was seen" in told(name).err, name
    several = told("Kernel::operator()")
    assert several.code == 125 and "Kernel<7>" in several.err and "Kernel<9>" in several.err, several


def test_a_name_of_cxx_that_only_inlined_calls_have(tmp_path):
    """It has no parameters and no namespace, but is no more whole than one that has: which one is meant?"""
    (tmp_path / "a.cpp").write_text("""
extern double once_b(double), part_b(double);
static double spin(double x) { for (int i = 0; i < 60000000; i++) x = x * 1.0000001 + 1e-9; return x; }
__attribute__((always_inline)) static inline double once(double x) { return spin(x) + 1; }
namespace { __attribute__((always_inline)) inline double part(double x) { return spin(x + 2); } }
int main(int argc, char **) { return once(argc) + part(argc) + once_b(argc) + part_b(argc) == 1.5; }
""")
    (tmp_path / "b.cpp").write_text("""
static double spin(double x) { for (int i = 0; i < 60000000; i++) x = x * 1.0000001 + 1e-9; return x; }
__attribute__((noipa)) static double once(double x) { return spin(x) + 1; }
namespace { __attribute__((noipa)) double part(double x) { return spin(x) + 2; } }
double once_b(double x) { return once(x) + 1; }
double part_b(double x) { return part(x) + 1; }
""")
    if subprocess.run(["g++", "-g", "-O1", "-o", "a", "a.cpp", "b.cpp"], check=False, cwd=tmp_path).returncode:
        pytest.skip("no compiler")
    kept = tmp_path / "a.wprof"
    assert run_wattle("profile", "-q", "-o", kept, "--", tmp_path / "a").code == 0
    for words in (("show", "-q", "-o", tmp_path / "a.json", kept), ("diff", kept, kept)):
        for name, other in (("once", "once(double)"), ("part", "(anonymous namespace)::part(double)")):
            several = run_wattle("profile", *words, "--fail-if", f"{name} < 100 s")
            assert several.code == 125 and f"'{name}'" in several.err and f"'{other}'" in several.err, several
            for one in (f"{name} (a.cpp)", f"{name} (b.cpp)", other):
                assert run_wattle("profile", *words, "--fail-if", f"{one} < 100 s").code == 124, one


def left(*words, **options):
    """As by a reader who has seen enough: nobody reads `stdout` or `stderr`."""
    nobody, pipe = os.pipe()
    os.close(nobody)
    try:
        return run_wattle("profile", *words, **{options.pop("which", "stdout"): pipe})
    finally:
        os.close(pipe)


@pytest.mark.parametrize("words", [("show",), ("show", "-f", "json"), ("show", "--table"), ("diff",), ("diff", "-f", "csv")], ids=" ".join)
def test_results_of_files_may_be_left(pair, words):
    """The status tells that not all was read, but a bound that is not kept comes first."""
    files = pair if words[0] == "diff" else pair[:1]
    result = left(*words, *files)
    assert (result.code, result.err) == (1, "")
    over = left(*words, *files, "--fail-if", "total < 100 s")
    assert over.code == 124 and "fails: it is" in over.complaint()
    assert left(*words, *files, "--fail-if", "total < -100 s").code == 1


def test_what_ran_is_told_somewhere():
    """It cannot be had again: on standard error, or on standard output if that is closed."""
    for words in ((), ("-f", "json")):
        done = left("-o", "-", *words, "--", "true")
        assert done.code == 125 and "to standard output: Broken pipe" in done.err and "measured in all" in done.err, done
    done = left("--", "true", which="stderr")
    assert done.code == 125 and "measured in all" in done.out, done


def test_options_behind_the_files(pair, tmp_path):
    for number, files in enumerate(((pair[0], pair[1]), (pair[0], "--", pair[1]), (pair[0], pair[1], "--", pair[1], pair[0]))):
        path = tmp_path / f"{number}.json"
        result = run_wattle("profile", "diff", *files, "-o", path)
        assert (result.code, result.out, result.err) == (0, "", ""), result
        found = parse_json(path.read_text())
        assert found["a_runs"] + found["b_runs"] == len([word for word in files if word != "--"])
    wrong = run_wattle("profile", "diff", pair[0], "--", pair[1], "--rowz", "3")
    assert wrong.code == 125 and "did you mean '--rows'" in wrong.complaint()
