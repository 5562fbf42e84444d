# SPDX-License-Identifier: MIT
"""The checks of tools/ fire on bad trees and stay silent on good ones."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TOOLS = ROOT / "tools"
sys.dont_write_bytecode = True
sys.path.insert(0, str(TOOLS))

import mkdata  # noqa: E402

# From below; a set's members are siblings. Who includes a layer that stands before it in a row, and nobody else.
ORDERS = (
    "base energy gpu sensors meter replay report cli commands".split(),
    "base energy gpu workload meter replay report cli commands".split(),
    "base energy record replay report cli commands".split(),
    "base energy document text report cli commands".split(),
    "base energy document draw cli commands".split(),
    "base energy document smi cli commands".split(),
    "base energy gpu sensors meter replay import commands".split(),
    "base energy gpu workload meter replay import commands".split(),
    "base energy record replay import commands".split(),
    "base energy document smi import commands".split(),
    "base energy profile commands".split(),
    "base energy neural commands".split(),
    "base energy client commands".split(),
)
LAYERS = sorted({layer for order in ORDERS for layer in order})


def put(root, path, text):
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return file


def put_source(root, path, text):
    """A C file of src/ that its layer's meson.build lists."""
    file = put(root, path, text)
    listing = file.parent / "meson.build"
    listing.write_text((listing.read_text() if listing.exists() else "") + f"'{file.name}',\n")


def run_tool(name, *args, cwd=None):
    return subprocess.run([sys.executable, "-B", TOOLS / name, *map(str, args)], capture_output=True, text=True, cwd=cwd)


def layers(root):
    done = run_tool("check-layers.py", root)
    assert done.stderr == ""
    return done.returncode, done.stdout.splitlines()


# ---- check-layers.py ----


def allowed(layer, other):
    return any(other in order[: order.index(layer) + 1] for order in ORDERS if layer in order)


@pytest.mark.parametrize("layer", LAYERS)
def test_who_may_include_whom(tmp_path, layer):
    put_source(tmp_path, f"src/{layer}/a.c", "#include <stdio.h>\n" + "".join(f'#include "{other}/a.h"\n' for other in LAYERS))
    breaches = [f"src/{layer}/a.c:{line}: {layer} may not include {other} ({other}/a.h)" for line, other in enumerate(LAYERS, 2)
        if not allowed(layer, other)]
    assert layers(tmp_path) == ((1, breaches) if breaches else (0, ["layers: no breach"]))


def test_commands_know_the_others_that_are_listed(tmp_path):
    put_source(tmp_path, "src/commands/doctor.c", '#include "commands/run/a.h"\n')
    put(tmp_path, "src/commands/plot/a.h", '#include "commands/plot/b.h"\n#include "commands/top/b.h"\n')
    put(tmp_path, "src/cli/a.h", '#include "commands/run/a.h"\n')
    assert layers(tmp_path) == (
        1,
        [
            "src/cli/a.h:1: cli may not include commands (commands/run/a.h)",
            "src/commands/doctor.c:1: the command doctor may not include run (commands/run/a.h)",
        ],
    )


def test_headers_are_checked_too(tmp_path):
    put(tmp_path, "src/base/a.h", '#  include "meter/b.h"\n')
    assert layers(tmp_path) == (1, ["src/base/a.h:1: base may not include meter (meter/b.h)"])


def test_an_include_is_written_from_src(tmp_path):
    put(tmp_path, "src/base/a.h", '#include "b.h"\n#include "../energy/c.h"\n#include "nowhere/d.h"\n')
    status, lines = layers(tmp_path)
    assert status == 1
    assert [line.split(": ")[0] for line in lines] == ["src/base/a.h:1", "src/base/a.h:2", "src/base/a.h:3"]
    assert "not written from src/" in lines[0]
    assert "no known layer" in lines[1] and "no known layer" in lines[2]


def test_a_file_in_no_layer(tmp_path):
    put(tmp_path, "src/misc/a.h", "\n")
    put(tmp_path, "src/b.h", "\n")
    status, lines = layers(tmp_path)
    assert status == 1
    assert sorted(lines) == ["src/b.h:1: lies in no known layer", "src/misc/a.h:1: lies in no known layer"]


def test_base_does_not_know_the_public_header(tmp_path):
    put(tmp_path, "src/base/a.h", '#include "wattle.h"\n')
    put(tmp_path, "src/meter/b.h", '#include "wattle.h"\n')
    status, lines = layers(tmp_path)
    assert status == 1 and len(lines) == 1 and lines[0].startswith("src/base/a.h:1: ")


@pytest.mark.parametrize(
    "name",
    "printf fprintf vprintf vfprintf puts putchar perror exit _exit abort getenv secure_getenv signal sigaction".split(),
)
def test_only_the_command_prints_and_exits(tmp_path, name):
    text = f"void f(void)\n{{\n\t(void){name} (0);\n}}\n"
    put_source(tmp_path, "src/meter/a.c", text)
    put_source(tmp_path, "src/cli/a.c", text)
    assert layers(tmp_path) == (1, [f"src/meter/a.c:3: {name}() outside the command"])


def test_what_only_looks_like_a_call(tmp_path):
    put_source(
        tmp_path,
        "src/base/a.c",
        """/* exit() and
 * abort() */
int f(char *b, const struct ops *ops, struct ops own) __attribute__((format(printf, 1, 2)));
int f(char *b, const struct ops *ops, struct ops own)
{
	// getenv("A")
	snprintf(b, 5, "exit(1) \\" abort()");
	vsnprintf(b, 5, "x", 0);
	my_exit(1);
	ops->exit(1);
	own.abort();
	return 'x';
}
""",
    )
    assert layers(tmp_path) == (0, ["layers: no breach"])


def test_a_call_after_a_quote_in_a_comment(tmp_path):
    put_source(tmp_path, "src/base/a.c", "/* don't */\nint x = '\"';\nvoid f(void) { abort(); } /* it's */\n")
    assert layers(tmp_path) == (1, ["src/base/a.c:3: abort() outside the command"])


def test_the_public_header_includes_the_system_only(tmp_path):
    put(tmp_path, "src/base/a.h", "\n")
    put(tmp_path, "include/wattle.h", '#include <stdint.h>\n#include "base/buf.h"\n')
    assert layers(tmp_path) == (1, ['include/wattle.h:2: the public header includes "base/buf.h"'])


def test_a_source_that_is_not_built(tmp_path):
    put(tmp_path, "src/base/a.c", "\n")
    put(tmp_path, "src/base/meson.build", "files('aa.c')\n")
    assert layers(tmp_path) == (1, ["src/base/a.c:1: not listed in src/base/meson.build"])
    put(tmp_path, "src/base/meson.build", "files('a.c')\n")
    assert layers(tmp_path)[0] == 0


def calls(name, other):
    return f"int {name}(void)\n{{\n\treturn {other}();\n}}\n"


CIRCLES = {
    "two sources": ({"a.c": calls("one", "two"), "b.c": calls("two", "one")}, "a.c -> b.c (two) -> a.c (one)"),
    "a table": (
        {"a.c": "const struct ops *const all[] = {&row};\n" + calls("one", "f"), "b.c": "const struct ops row = {\n\t.f = one,\n};\n"},
        "a.c -> b.c (row) -> a.c (one)",
    ),
    "two headers": ({"a.h": '#include "meter/b.h"\n', "b.h": '#include "meter/a.h"\n'}, "a.h -> b.h (meter/b.h) -> a.h (meter/a.h)"),
    "one way": ({"a.c": calls("one", "two"), "b.c": calls("two", "three")}, None),
    "a name of its own": ({"a.c": calls("one", "two"), "b.c": "static " + calls("one", "f") + calls("two", "one")}, None),
    "members and words": ({"a.c": calls("one", "two"), "b.c": calls("two", "/* one */ p->one(v.one), one_more")}, None),
}


@pytest.mark.parametrize("name", CIRCLES)
def test_a_circle_inside_a_folder(tmp_path, name):
    files, circle = CIRCLES[name]
    for file, text in files.items():
        put_source(tmp_path, f"src/meter/{file}", text)
    assert layers(tmp_path) == ((1, [f"src/meter/{circle.split()[0]}:1: circle: {circle}"]) if circle else (0, ["layers: no breach"]))


def test_layers_of_no_tree(tmp_path):
    done = run_tool("check-layers.py", tmp_path)
    assert done.returncode == 1 and "usage" in done.stderr


# ---- check-limits.py ----

needs_pmccabe = pytest.mark.skipif(shutil.which("pmccabe") is None, reason="pmccabe is not installed")


def limits(root, *args):
    done = run_tool("check-limits.py", root, *args)
    assert done.stderr == ""
    return done.returncode, done.stdout.splitlines()


def function(name, lines):
    """A function of that many lines, from its first to its closing brace."""
    return f"int {name}(int x)\n{{\n" + "\tx++;\n" * (lines - 4) + "\treturn x;\n}\n"


def branches(name, count):
    return f"int {name}(int x)\n{{\n" + "".join(f"\tif (x == {i})\n\t\tx++;\n" for i in range(count)) + "\treturn x;\n}\n"


GOOD = 0, ["ceilings: no breach"]


@needs_pmccabe
def test_length_of_a_file(tmp_path):
    put(tmp_path, "src/base/a.c", "/* */\n" * 800)
    assert limits(tmp_path) == GOOD
    put(tmp_path, "src/base/a.c", "/* */\n" * 801)
    assert limits(tmp_path) == (1, ["src/base/a.c:801: 801 lines, at most 800"])


@needs_pmccabe
def test_length_of_the_public_header(tmp_path):
    put(tmp_path, "include/wattle.h", "/* */\n" * 800)
    put(tmp_path, "src/base/a.c", "int f(void);\n")
    assert limits(tmp_path) == GOOD
    put(tmp_path, "include/wattle.h", "/* */\n" * 801)
    assert limits(tmp_path) == (1, ["include/wattle.h:801: 801 lines, at most 800"])


@needs_pmccabe
def test_length_of_a_function(tmp_path):
    put(tmp_path, "src/base/a.c", function("f", 70))
    assert limits(tmp_path) == GOOD
    put(tmp_path, "src/base/a.c", function("g", 10) + function("f", 71))
    assert limits(tmp_path) == (1, ["src/base/a.c:11: f has 71 lines, at most 70"])


@needs_pmccabe
def test_complexity_of_a_function(tmp_path):
    put(tmp_path, "src/base/a.c", branches("f", 14))
    assert limits(tmp_path) == GOOD
    put(tmp_path, "src/base/a.c", branches("f", 15))
    assert limits(tmp_path) == (1, ["src/base/a.c:1: f has complexity 16, at most 15"])


@needs_pmccabe
def test_a_file_that_pmccabe_cannot_read(tmp_path):
    put(tmp_path, "src/base/a.c", "int f(void)\n{\n\tif (1) {\n\treturn 0;\n}\n")
    status, lines = limits(tmp_path)
    assert status == 1 and "pmccabe" in lines[0]


def compiled(root, path, text):
    """Compiles one source as Meson lays objects out."""
    source = put(root, path, text)
    name = "_".join(source.relative_to(root / "src").parts) + ".o"
    target = root / "build" / "src" / "x.p" / name
    target.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["gcc", "-fPIC", "-fcommon", "-O1", "-c", source, "-o", target], check=True)


MUTABLE = {
    "data": "int kept = 5;\n",
    "bss": "long kept;\nlong *f(void) { return &kept; }\n",
    "static": "static int kept;\nint f(void) { return kept++; }\n",
    "local": "int f(void)\n{\n\tstatic int kept;\n\treturn kept++;\n}\n",
    "thread": "_Thread_local int kept = 5;\n",
    "pointer": 'const char *kept = "x";\n',
}


@needs_pmccabe
@pytest.mark.parametrize("kind", MUTABLE)
@pytest.mark.parametrize("layer", ("gpu", "meter", "replay"))
def test_a_mutable_global_in_the_library(tmp_path, layer, kind):
    compiled(tmp_path, f"src/{layer}/a.c", MUTABLE[kind])
    status, lines = limits(tmp_path, "--objects", tmp_path / "build")
    assert status == 1 and len(lines) == 1
    number = MUTABLE[kind][: MUTABLE[kind].index("kept")].count("\n") + 1
    assert lines[0].startswith(f"src/{layer}/a.c:{number}: mutable global kept")


@needs_pmccabe
def test_constants_are_no_globals(tmp_path):
    compiled(
        tmp_path,
        "src/meter/a.c",
        """static int first(void) { return 1; }
const int number = 5;
const char *const names[] = {"a", "b"};
struct ops { int (*f)(void); const char *name; };
const struct ops table = {first, "x"};
const struct ops *const tables[] = {&table};
const char *pick(int i) { static const char *const inner[] = {"c", "d"}; return inner[i]; }
""",
    )
    assert limits(tmp_path, "--objects", tmp_path / "build") == GOOD


@needs_pmccabe
def test_the_command_may_have_two_globals(tmp_path):
    compiled(tmp_path, "src/cli/a.c", "int one = 1;\nint two = 2;\n")
    assert limits(tmp_path, "--objects", tmp_path / "build") == GOOD
    compiled(tmp_path, "src/cli/b.c", "int three = 3;\n")
    status, lines = limits(tmp_path, "--objects", tmp_path / "build")
    assert status == 1 and len(lines) == 3
    assert all("one of 3 in the command" in line for line in lines)


def test_objects_must_be_there(tmp_path):
    put(tmp_path, "src/base/a.h", "int a;\n")
    done = run_tool("check-limits.py", tmp_path, "--objects", tmp_path)
    assert done.returncode == 1 and "build first" in done.stderr


# ---- mkdata.py ----


@pytest.mark.parametrize(
    "name, key",
    [
        ("Intel(R) Xeon(R) CPU E5-2650 v4 @ 2.20GHz", "xeon e5 2650 v4"),
        ("Intel Xeon W-2145", "xeon w 2145"),
        ("13th Gen Intel(R) Core(TM) i9-13900K", "core i9 13900k"),
        ("AMD Ryzen 7 7840HS w/ Radeon 780M Graphics", "ryzen 7 7840hs"),
        ("AMD Ryzen 5 6600HS\u200b", "ryzen 5 6600hs"),
        ("Intel Core\u00a0i7-2720QM", "core i7 2720qm"),
        ("AMD EPYC 7763 64-Core Processor", "epyc 7763"),
        ("AMD 3020e", "amd 3020e"),
        ("AMD EPYC", "amd epyc"),
        ("Intel Core i9-7900X X-series", "core i9 7900x"),
        ("broken (name", "broken"),
        ("x" * 127, "x" * 127),
        ("x" * 128, ""),
        ("", ""),
    ],
)
def test_processor_keys(name, key):
    assert mkdata.cpu_key(name) == key


@pytest.mark.parametrize(
    "text, value",
    [("65", 65000), ("65.0", 65000), ("0.65", 650), ("0.001", 1), ("0.0001", None), ("0", None), ("0.0", None)]
    + [("-5", None), ("27.29.5", None), ("", None), ("nan", None), ("inf", None)],
)
def test_figures_are_exact_or_left_out(text, value):
    assert mkdata.scaled(text, 1000) == value


def test_literals_cannot_break_out():
    assert mkdata.c_string('a"b\\c?') == "a\\042b\\134c\\077"
    assert mkdata.c_string("Zürich") == "Z\\303\\274rich"


def test_rows_that_contradict_each_other_are_left_out(tmp_path):
    csv = put(tmp_path, "tdp.csv", "Name,TDP\nAMD X 1,65\nAMD X 1 APU,95\nAMD X 2,65\nIntel X 2,65.0\n6140,115\nAMD X 3,1.2.3\n")
    found, bad, bare, conflicts = mkdata.tdp_rows(csv)
    assert (found, bad, bare, conflicts) == ({"x 2": 65000}, 1, 1, {"x 1"})


def put_carbon_tables(tmp_path, regions):
    put(tmp_path, "c.csv", "code,place,g_co2e_per_kwh,year,alias\nUSA,States,369.5,2023,US\nCAF,None,0.0,2022,CF\nFRA,France,56.039,2023,FR\n")
    put(tmp_path, "g.csv", "code,place,g_co2e_per_kwh,year\n" + regions)
    return put(tmp_path, "carbon.csv",
               'provider,table,uncertainty_percent,dataset\n,c.csv,10,"World, in Data"\nnew,g.csv,20,Regions\naaa,g.csv,30,Others\n')


def test_carbon_table(tmp_path):
    index = put_carbon_tables(tmp_path, "eu-1,Zürich,15.05,2024\n")
    out = tmp_path / "out.c"
    assert run_tool("mkdata.py", "carbon", out, index, tmp_path / "out.d").returncode == 0
    text = out.read_text()
    places = ['{"aaa:eu-1", "Z\\303\\274rich", 15050, 2024, 2, ""}', '{"FRA", "France", 56039, 2023, 0, "FR"}',
              '{"new:eu-1", "Z\\303\\274rich", 15050, 2024, 1, ""}', '{"USA", "States", 369500, 2023, 0, "US"}']
    assert sorted(places, key=text.index) == places
    assert "CAF" not in text and "wtl_carbon_row_count = 4;" in text
    assert '{"World, in Data", 10}' in text and 'wtl_carbon_providers[] = "aaa, new";' in text
    assert (tmp_path / "out.d").read_text() == f"{out}: {tmp_path}/c.csv {tmp_path}/g.csv {tmp_path}/g.csv\n"


@pytest.mark.parametrize("regions, message", [("a,A,1,2024\nA,A,2,2024\n", "new:A has a figure already"),
                                              (f"{'a' * 33},A,1,2024\n", "too long")])
def test_carbon_tables_that_cannot_be(tmp_path, regions, message):
    index = put_carbon_tables(tmp_path, regions)
    done = run_tool("mkdata.py", "carbon", tmp_path / "out.c", index, tmp_path / "out.d")
    assert done.returncode == 1 and message in done.stderr
    assert not (tmp_path / "out.c").exists()


@pytest.mark.parametrize(
    "text, message", [("Name,Watts\nA 1,5\n", ":1: the header"), ("Name,TDP\nA 1,5,6\n", ":2: 3 columns"), ("", ":1: the header")]
)
def test_a_csv_of_another_shape(tmp_path, text, message):
    csv = put(tmp_path, "tdp.csv", text)
    done = run_tool("mkdata.py", "tdp", tmp_path / "out.c", csv)
    assert done.returncode == 1 and message in done.stderr
    assert not (tmp_path / "out.c").exists()


def test_mkdata_usage():
    for args in ([], ["tdp"], ["tdp", "out.c"], ["rubbish", "out.c", "in.csv"]):
        done = run_tool("mkdata.py", *args)
        assert done.returncode == 1 and "usage" in done.stderr


# ---- install-deps.sh ----


def program(folder, name, text):
    file = put(folder, name, "#!/bin/sh\n" + text)
    file.chmod(0o755)


def install(tmp_path, *args):
    """install-deps.sh with a package system of our own and the few tools it needs."""
    for tool in ("id", "env", "sh"):
        if not (tmp_path / "bin" / tool).exists():
            (tmp_path / "bin").mkdir(exist_ok=True)
            (tmp_path / "bin" / tool).symlink_to(shutil.which(tool))
    env = dict(os.environ, PATH=str(tmp_path / "bin"), LOG=str(tmp_path / "log"))
    shell = shutil.which("sh")
    return subprocess.run([shell, TOOLS / "install-deps.sh", *args], env=env, capture_output=True, text=True)


def test_nothing_is_installed_when_all_is_there(tmp_path):
    program(tmp_path / "bin", "dpkg-query", "echo installed\n")
    program(tmp_path / "bin", "apt-get", 'echo "$@" >>"$LOG"\n')
    done = install(tmp_path, "test")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert not (tmp_path / "log").exists()


def test_what_is_missing_is_installed(tmp_path):
    program(tmp_path / "bin", "dpkg-query", 'case $4 in meson) exit 1 ;; gcc) echo config-files ;; *) echo installed ;; esac\n')
    program(tmp_path / "bin", "apt-get", 'echo "$@" >>"$LOG"\n')
    program(tmp_path / "bin", "sudo", '"$@"\n')
    done = install(tmp_path, "run")
    assert done.returncode == 0, done.stderr
    update, command = (tmp_path / "log").read_text().splitlines()
    assert update.startswith("update")
    assert command.split()[-2:] == ["gcc", "meson"]


def test_a_failing_installation_fails(tmp_path):
    program(tmp_path / "bin", "dpkg-query", "exit 1\n")
    program(tmp_path / "bin", "apt-get", "exit 100\n")
    program(tmp_path / "bin", "sudo", '"$@"\n')
    assert install(tmp_path, "run").returncode != 0


def test_another_system_is_told_what_is_needed(tmp_path):
    done = install(tmp_path, "run")
    assert done.returncode == 0 and "meson" in done.stderr


def test_install_usage(tmp_path):
    for args in ([], ["everything"]):
        done = install(tmp_path, *args)
        assert done.returncode == 2 and "usage" in done.stderr
