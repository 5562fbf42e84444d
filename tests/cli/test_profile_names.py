# SPDX-License-Identifier: MIT
"""wattle profile: one function of a compiled program is one row, and two are two, however the compiler divided or copied them."""

import os
import re
import shutil
import subprocess

import pytest

from conftest import parse_json, run_wattle
from test_profile import NOT_READ, built_program, taken  # noqa: F401 (fixtures)

SPIN = """
#include <time.h>
static volatile double sink;
static inline __attribute__((always_inline)) void spin(double s)
{
	clock_t end = clock() + (clock_t)(s * CLOCKS_PER_SEC);
	do
		for (int i = 0; i < 20000; i++)
			sink += i;
	while (clock() < end);
}
"""


@pytest.fixture(name="build")
def builder(tmp_path):
    """Compiles sources into one program."""
    def build(*options, **sources):
        compiler = "gcc" if "c" in {name.split("_")[-1] for name in sources} else "g++"
        if not shutil.which(compiler):
            pytest.skip(f"{compiler} is not there")
        files = []
        for name, text in sources.items():
            files.append(tmp_path / name.replace("_", "."))
            files[-1].write_text(SPIN + text)
        subprocess.run([compiler, *options, "-o", tmp_path / "built", *files], check=True)
        return tmp_path / "built"
    return build


def like(profile, word):
    return {name: float(row["cpu_s"]) for name, row in profile.functions.items() if word in name}


# What is called by a cold function only is in the cold part of its caller.
WITH_PARTS = """
__attribute__((noinline, cold)) STATIC void seldom(void) { spin(0.002); }
__attribute__((noinline, noclone)) STATIC void train(int n)
{
	for (int i = 0; i < n; i++) {
		if (i & 1) {
			seldom();
			sink += n;
		} else {
			spin(0.002);
		}
	}
	sink++;
}
"""


@pytest.mark.parametrize("options", [("-g",), (), ("-g", "-flto"), ("-s", "-rdynamic")])
@pytest.mark.parametrize("language, name", [("c", "train"), ("cpp", "train(int)")])
def test_cold_parts(build, profile, options, language, name):
    """The compiler put what runs seldom elsewhere: the same function all the same. Without a symbol of its own it is not known."""
    program = build("-O2", *options, **{f"a_{language}": f"#define STATIC\n{WITH_PARTS}int main(void) {{ train(200); sink++; return 0; }}"})
    if "-s" not in options:
        assert ".cold" in subprocess.run(["nm", program], check=True, capture_output=True, text=True).stdout
    seen = profile(program=program)
    assert like(seen, "cold") == {} and list(like(seen, "train")) == [name], seen.functions
    if "-s" not in options:
        assert 0.3 < seen.cpu_s(name) + seen.cpu_s("[not seen]"), seen.functions


@pytest.mark.parametrize("options, rows", [(("-g",), ["train (a.c)", "train (b.c)"]), ((), ["train", "train", "train.cold", "train.cold"])])
def test_cold_parts_of_two_functions_of_one_name(build, profile, options, rows):
    """Whose they are only debug information says."""
    call = "void {}(void) {{ train(100); sink++; }}"
    program = build("-O2", *options, a_c="#define STATIC static\n" + WITH_PARTS + call.format("a"), b_c="#define STATIC static\n" + WITH_PARTS + call.format("b"),
                    main_c="void a(void); void b(void); int main(void) { a(); b(); return 0; }")
    seen = profile(program=program)
    if "-g" not in options:
        assert sorted(name.split(" (")[0] for name in like(seen, "train")) == rows, seen.functions
        return
    assert sorted(like(seen, "train")) == rows, seen.functions
    assert all(0.15 < used + seen.cpu_s("[not seen]") for used in like(seen, "train").values()), seen.functions


def test_names_with_dots(build, profile):
    """In Go and Zig, cold is a function of main."""
    functions = [f'__attribute__((noinline)) void f{i}(void) __asm__("main.{name}"); void f{i}(void) {{ spin(0.1); sink++; }}'
                 for i, name in enumerate(("main", "cold"))]
    seen = profile(program=build("-O1", a_c="\n".join([*functions, "int main(void) { f0(); f1(); sink++; return 0; }"])))
    assert {"main", "main.main", "main.cold"} <= set(seen.functions), seen.functions


# Each is inlined where it says so, and called elsewhere.
LOCAL = """
static double helper(double s) { spin(s); return s; }
namespace { namespace ns {
struct S { int k; __attribute__((always_inline)) double step(double s) { spin(s); return k; } };
template <int N> struct T { double step(double s) { spin(s); return N; } };
}}
typedef double (*function)(double);
typedef double (ns::S::*member)(double);
volatile function helps = helper;
volatile member steps = &ns::S::step;
__attribute__((noinline, flatten)) void inlines(double s) { ns::S x{3}; sink += helper(s) + x.step(s); }
__attribute__((noinline)) void calls(double s) { ns::S x{3}; member m = steps; sink += helps(s) + (x.*m)(s); }
__attribute__((noinline, flatten)) void both(double s) { ns::T<1> x; ns::T<2> y; sink += x.step(s) + y.step(s); }
int main() { inlines(0.1); calls(0.1); both(0.1); sink += 1; }
"""


@pytest.mark.parametrize("options", ["-O2", "-O3", "-O2 -flto", "-O2 -gz", "-O2 -gdwarf-4"])
def test_cpp_functions_of_one_file_inlined_and_called(build, profile, options):
    """gcc writes no linkage name of them: where they are inlined, they are called as where they are compiled for themselves."""
    seen = profile(program=build("-g", *options.split(), a_cpp=LOCAL))
    assert list(like(seen, "helper")) == ["helper(double)"], seen.functions
    assert sorted(like(seen, "step")) == ["(anonymous namespace)::ns::S::step(double)", "T<1>::step", "T<2>::step"], seen.functions
    for name in ("helper(double)", "(anonymous namespace)::ns::S::step(double)"):
        assert 0.15 < seen.cpu_s(name) + seen.cpu_s("[not seen]"), seen.functions


# The last is inlined in go() and is called there as well.
LAMBDAS = """
struct Solver { double k; double go(double s); };
double Solver::go(double s)
{
	auto called = [this](double s) { spin(s); return k; };
	auto calls = [&](double s) __attribute__((flatten)) { return called(s) + 1; };
	return called(s) + called(s / 2) + calls(s);
}
int main()
{
	auto one = [](double s) __attribute__((always_inline)) { spin(s); return 1; }; auto two = [](double s) __attribute__((always_inline)) { spin(s); return 2; };
	Solver x{1};
	sink += one(0.1); sink += two(0.1);
	sink += x.go(0.1);
	return sink < 0;
}
"""


@pytest.mark.parametrize("options, called", [
    ("-O2 -fno-inline", r"Solver::go\(double\)::{lambda\(double\)#1}::operator\(\)\(double\) const"), ("-O2", r"{lambda:16:\d+}::operator\(\)"),
    ("-O2 -flto", r"Solver::go\(double\)::{lambda\(double\)#1}::operator\(\)\(double\) const")])
def test_lambdas(build, profile, options, called):
    """Each is a row: by its line and column, unless it is compiled for itself as well."""
    seen = profile(program=build("-g", *options.split(), a_cpp=LAMBDAS))
    found = like(seen, "lambda")
    assert len(found) == 4 and len([name for name in found if re.fullmatch(r"{lambda:22:\d+}::operator\(\)", name)]) == 2, found
    used = [used for name, used in found.items() if re.fullmatch(called, name)]
    assert len(used) == 1 and 0.2 < used[0] + seen.cpu_s("[not seen]"), found
    assert all(seen.functions[name]["file"].endswith("a.cpp") for name in found if name.startswith("{")), seen.functions


@pytest.mark.parametrize("version", ["4", "5"])
def test_debug_information_in_files_of_their_own(build, tmp_path, version):
    """Those are not opened, as opening may wait for ever, and it is said so."""
    program = build("-O1", "-g", f"-gdwarf-{version}", "-gsplit-dwarf", a_c="int main(void) { spin(0.1); return sink < 0; }")
    apart, = tmp_path.glob("*.dwo")
    apart.unlink()
    os.mkfifo(apart)
    done = run_wattle("profile", "-q", "-o", tmp_path / "p.json", "--", program)
    told = parse_json((tmp_path / "p.json").read_text())
    assert done.code == 0 and done.err == NOT_READ.format(program) and told["lines_not_read"] == [str(program)], done
    assert "main" in {row["function"] for row in told["functions"]}
