#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Change the core at random, one place at a time, and see whether the unit tests notice.

usage: mutants.py [-n N] [--seed SEED] [--paths PATH...]

Works on a copy in build-mutants. There the tests are linked against one shared library, so that a mutant costs one
compilation and one link. gcov says which test reaches which line; a mutant is given to those tests only, quick and
successful ones first, until one fails twice or takes too long, and does not without the change; then to the quick
ones among them with clang's sanitizers, as `make test` does. A mutant that does not compile, or that makes the same
machine code, is replaced by another. Prints the survivors as `path:line: kind: before -> after` and exits 1 if
fewer than 90 % were noticed. Tests that replace functions when they are linked (--wrap) are left out.
"""

import argparse
import hashlib
import json
import os
import random
import re
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

PATHS = ("src/energy", "src/meter", "src/workload", "src/record", "src/replay")
ENOUGH_PERCENT = 90
WORKERS = 2
TIMEOUT_S = 10  # and ten times what the test takes
LEARN_TIMEOUT_S = 1200  # with gcov's counts, on a busy machine
MEMORY_BYTES = 4 << 30
SANITIZED_TESTS, SANITIZED_S = 8, 10  # of those that reach the line: so many, and more while all take no longer without
FLAGS = "-Dc_args=-g0 -w -fPIC -fvisibility=default -fno-semantic-interposition"
SANITIZE = "-Db_sanitize=address,undefined -Db_lundef=false -Doptimization=0".split()
SANITIZERS = {
    "ASAN_OPTIONS": f"detect_leaks=1:allocator_may_return_null=1:hard_rss_limit_mb={MEMORY_BYTES >> 20}",
    "UBSAN_OPTIONS": "halt_on_error=1",
}
COVERAGE_FLAGS = "-O0 -U_FORTIFY_SOURCE --coverage -fprofile-update=atomic"
# What a test's child reaches counts, too: most of them end by _exit(), without writing their counts.
COVERED_EXIT = """#include <sys/syscall.h>
#include <unistd.h>
void __gcov_dump(void);
void _exit(int code)
{
	__gcov_dump();
	for (;;)
		syscall(SYS_exit_group, code);
}
"""

NOT_CODE = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL)
BODY = re.compile(r"^\{\n.*?^\}", re.MULTILINE | re.DOTALL)
# A little more room changes nothing.
ROOM = re.compile(r"\b(?:calloc|malloc|realloc|wtl_array_(?:reserve|resize)|wtl_buf_(?:reserve|init))\(")
# Calls that word a message: a change inside them is a change of text.
WORDING = re.compile(r"\b(?:wtl_log_line|wtl_err_set|wtl_err_text|snprintf|complain|wtl_buf_printf|wtl_buf_puts)\(")
DECLARATION = re.compile(r"^\t+(?!return\b|goto\b|case\b|else\b)(?:\w+ )+[^=;()]*;$", re.MULTILINE)
# Calls whose absence only a sanitizer, a race or a reader of the log would show.
TIDYING = re.compile(r"(?:wtl_log_line|free|close|\w+_(?:free|done|close|finalize|lock|unlock|signal|broadcast|destroy))\(")
STATEMENT = re.compile(
    r"^\t+((?:(?!(?:return|if|for|while|switch|else|do|goto|case)\b)\w+\(|"
    r"\**[A-Za-z_](?:[\w.]|->|\[[^\]\n]*\])*(?: (?:[-+*/%&|^]|<<|>>)?= |\+\+;|--;))[^;{}]*;?)",
    re.MULTILINE,
)
SWAPS = (
    ("junction", re.compile(r"&&|\|\|"), {"&&": "||", "||": "&&"}),
    (
        "comparison",
        re.compile(r"(?<= )(?:<=|>=|==|!=|<|>)(?=\s)"),
        {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="},
    ),
    (
        "arithmetic",
        re.compile(r"(?<= )(?:[-+*/]|[-+]=)(?=\s)"),
        {"+": "-", "-": "+", "*": "/", "/": "*", "+=": "-=", "-=": "+="},
    ),
    ("boolean", re.compile(r"(?<== )(?:true|false)(?=;)|(?<=return )(?:true|false)(?=;)"), {"true": "false", "false": "true"}),
)
CONSTANT = re.compile(r"(?<![\w.-])(\d+)[uU]?[lL]{0,2}(?![\w.])")  # of -1, which stands for none, only the sign is asked for
# The greater or lesser of two, and a difference or nothing: whether equal ones are greater changes nothing.
WORD = r"(?:\((?:double|u?int64_t|wtl_u128)\))?([\w.\[\]]+(?:->[\w.\[\]]+)*)"
ONE, OTHER = (rf"(?:\(\w+\))?\{group}" for group in (1, 3))
EITHER = re.compile(
    rf"(?<![\w.>)\]]){WORD}( [<>]=?) {WORD}"
    rf"(?: \?\s+(?:{ONE}\s+: {OTHER}|{OTHER}\s+: {ONE}|(?:{ONE} - {OTHER}|{OTHER} - {ONE})\s+: 0(?:\.0)?)(?![\w.(\[-])|\)\s+(?:\1 = \3|\3 = \1);)"
)
# Which of two is sorted first: of equal ones, either.
ORDER = re.compile(r"\(([^()]+) > ([^()]+)\) - \(\1 < \2\)")
# Only the sign of these is asked for, another mutant is made of what is returned, and a nanosecond is next to nothing.
SIGN = re.compile(r"-1 : 1\b|\breturn \d+;|_(?:ns|uj|uw) (?:>|<=) 0\b")
CONDITION = re.compile(r"\b(?:if|while) (\()")
RETURN = re.compile(r"\breturn ([^;]+);")
OWN_LIBRARY = re.compile(r"libwtl_\w+\.a$|libwattle[\w-]*\.so")


def code_only(text):
    """`text` with comments, strings and characters blanked out; every place keeps its offset."""
    return NOT_CODE.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)


def closing(code, opening):
    """The offset of the parenthesis that closes the one at `opening`."""
    depth = 0
    for at in range(opening, len(code)):
        depth += (code[at] == "(") - (code[at] == ")")
        if depth == 0:
            return at
    return len(code)


def changes_in(text, code, first, last):
    """(kind, start, end, replacement) of everything that can be changed in one function's body."""
    left_out = [(match.start(), closing(code, match.end() - 1)) for match in WORDING.finditer(code, first, last)]
    left_out += [match.span() for match in DECLARATION.finditer(code, first, last)]
    left_out += [match.span(2) for match in EITHER.finditer(code, first, last)]
    left_out += [match.span() for match in ORDER.finditer(code, first, last)]

    def places(pattern):
        for match in pattern.finditer(code, first, last):
            if not any(start <= match.start() < end for start, end in left_out):
                yield match

    for kind, pattern, swap in SWAPS:
        for match in places(pattern):
            yield kind, *match.span(), swap[match.group()]
    rooms = [(match.start(), closing(code, match.end() - 1)) for match in ROOM.finditer(code, first, last)]
    rooms += [match.span() for match in SIGN.finditer(code, first, last)]
    for match in places(CONSTANT):
        if any(start <= match.start() < end for start, end in rooms):
            continue
        value = int(match.group(1))
        yield "constant", *match.span(1), str(value - 1 if value > 1 else value + 1)
    for match in places(CONDITION):
        start, end = match.start(1), closing(code, match.start(1)) + 1
        yield "negation", start, end, f"(!{text[start:end]})"
        if code[match.start()] == "i":
            yield "branch removed", start, end, "(0)"
    for match in places(STATEMENT):
        before = code[: match.start()].rstrip()
        is_whole = match.group(1).endswith(";") and (before[-1] in ";{}):" or before.endswith("else"))
        if is_whole and not TIDYING.match(match.group(1)):
            yield "statement removed", *match.span(1), ";"
    for match in RETURN.finditer(code, first, last):
        if match.group(1) not in ("true", "false"):
            yield "return", *match.span(1), "-1" if match.group(1) == "0" else "0"


class Mutant:
    def __init__(self, path, text, kind, start, end, replacement):
        self.path = path
        self.line = text.count("\n", 0, start) + 1
        # The lines keep their numbers.
        self.text = text[:start] + replacement + "\n" * text.count("\n", start, end) + text[end:]
        before, after = (version.splitlines()[self.line - 1].strip() for version in (text, self.text))
        self.words = f"{path}:{self.line}: {kind}: {before} -> {after}"


def all_mutants(root, paths):
    for place in paths:
        files = sorted((root / place).rglob("*.c")) if (root / place).is_dir() else [root / place]
        for file in files:
            text = file.read_text(encoding="utf-8")
            code = code_only(text)
            for body in BODY.finditer(code):
                for change in changes_in(text, code, *body.span()):
                    yield Mutant(str(file.relative_to(root)), text, *change)


def output_of(command, cwd, **more):
    return subprocess.run(command, cwd=cwd, stdout=subprocess.PIPE, check=True, **more).stdout


def link(command, cwd):
    """What the linker says is told only where it fails: gold warns of each of the sanitizers' own symbols."""
    done = subprocess.run(command, cwd=cwd, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
    if done.returncode:
        sys.exit(done.stderr.decode(errors="replace"))


def copy_tree(root, tree):
    """Makes the copy anew. Only a file that is not what it was in the copy gets a new time, so that little is built."""
    listed = output_of(["git", "ls-files", "-zco", "--exclude-standard"], root)
    packed = output_of(["tar", "-c", "--null", "--no-recursion", "--ignore-failed-read", "-T", "-"], root, input=listed)
    old = tree.with_name("tree.old")
    shutil.rmtree(old, ignore_errors=True)
    if tree.exists():
        tree.rename(old)
    tree.mkdir(parents=True)
    output_of(["tar", "-x", "-m"], tree, input=packed)
    for file in old.rglob("*"):
        new = tree / file.relative_to(old)
        if file.is_file() and not file.is_symlink() and new.is_file() and new.read_bytes() == file.read_bytes():
            os.utime(new, ns=(file.stat().st_atime_ns, file.stat().st_mtime_ns))
    return hashlib.sha256(packed).hexdigest()


class Build:
    """The copy's build directory: its commands, and the tests, linked against one shared library."""

    def __init__(self, root, name, compiler, *options):
        self.top = root / "build-mutants" / name
        self.tree, self.dir = root / "build-mutants" / "tree", self.top / "build"
        self.compiler, self.is_sanitized = compiler, bool(options)
        self.shared_data = str((root / ".." / "shared" / "data").resolve())
        if not (self.dir / "build.ninja").exists():
            setup = ["meson", "setup", self.dir, "-Dtests=enabled", "-Db_pie=false", FLAGS, *options]
            output_of(setup, self.tree, env={**os.environ, "CC": compiler})
        output_of(["ninja", "--quiet", "build.ninja"], self.dir)
        commands = json.loads(output_of(["ninja", "-t", "compdb", "-x"], self.dir))
        self.commands = {entry["output"]: shlex.split(entry["command"]) for entry in commands}
        self.objects = [name for name in self.commands if re.fullmatch(r"(?:src/libwtl_\w+\.a|wattle)\.p/.*\.o", name)]
        self.object_of = {os.path.relpath(self.commands[name][-1], "../../tree"): name for name in self.objects}
        self.tests, self.libraries, self.linked, self.lock = {}, set(), set(), threading.Lock()
        targets = json.loads(output_of(["meson", "introspect", "--targets"], self.dir))
        self.file_of = {target["id"]: os.path.relpath(target["filename"][0], self.dir) for target in targets}
        for test in json.loads(output_of(["meson", "introspect", "--tests"], self.dir)):
            test["exe"] = os.path.relpath(test["cmd"][0], self.dir)
            words = self.commands.get(test["exe"])
            if words and not any("--wrap" in word for word in words):
                self.tests[test["name"]] = test
                self.libraries.update(word for word in words if re.match(r"/.*\.so|-l|-pthread", word) and "cmocka" not in word)
        output_of(["ninja", "--quiet", *self.objects], self.dir)
        self.link(self.top, {})

    def link(self, folder, replaced):
        """Links the shared library into `folder`, with {object: its replacement}."""
        objects = [str(replaced.get(name, name)) for name in self.objects]
        (folder / "objects").write_text("\n".join(objects))
        command = [self.compiler, "-shared", "-o", folder / "libwtl_core.so", "-Wl,-soname,libwtl_core.so", f"@{folder}/objects"]
        more = ["-fsanitize=address,undefined"] if self.is_sanitized else []
        if len(replaced) > 1:
            (folder / "exit.c").write_text(COVERED_EXIT)
            output_of([self.compiler, "-c", "-fPIC", "-o", folder / "exit.o", folder / "exit.c"], self.dir)
            more = ["--coverage", folder / "exit.o"]
        link([*command, *more, *sorted(self.libraries)], self.dir)

    def prepare(self, names):
        """Builds these tests, and what they need, as far as it was not done yet."""
        with self.lock:
            tests = [self.tests[name] for name in names if name not in self.linked]
            words = {
                test["exe"]: [word for word in self.commands[test["exe"]] if not OWN_LIBRARY.search(word)]
                for test in tests
            }
            needed = {word for of_one in words.values() for word in of_one if word in self.commands}
            needed.update(self.file_of[target] for test in tests for target in test["depends"])
            if tests:
                output_of(["ninja", "--quiet", *sorted(needed - words.keys())], self.dir)

            def link_test(exe):
                words[exe][words[exe].index("-o") + 1] = exe + ".mutant"
                link([*words[exe], self.top / "libwtl_core.so"], self.dir)

            with ThreadPoolExecutor(WORKERS) as pool:
                list(pool.map(link_test, words))
            self.linked.update(names)

    def compile(self, name, source, output, flags=()):
        """Compiles `source` as the object `name` is, into `output`; False where it is not C."""
        words = list(self.commands[name])
        words[words.index("-o") + 1], words[-1] = output, source
        for option in ("-MF", "-MQ"):
            at = words.index(option)
            del words[at : at + 2]
        words.remove("-MD")
        return subprocess.run([*words, *flags], cwd=self.dir, capture_output=True).returncode == 0

    def run(self, name, library, timeout_s, **more):
        """Runs a test against the library in that folder: "ok", "failed" or "too long"."""
        test = self.tests[name]
        env = {**os.environ, **test["env"], "WATTLE_SHARED_DATA": self.shared_data, "LD_LIBRARY_PATH": str(library), **more}
        # The sanitizers reserve more than there is, and have a limit of their own.
        limit = [] if self.is_sanitized else ["prlimit", f"--as={MEMORY_BYTES}"]
        process = subprocess.Popen(
            [*limit, test["cmd"][0] + ".mutant", *test["cmd"][1:]], cwd=test["workdir"] or self.dir, env={**SANITIZERS, **env},
            start_new_session=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            return "ok" if process.wait(timeout_s) in (0, 77) else "failed"
        except subprocess.TimeoutExpired:
            return "too long"
        finally:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            process.wait()


def counted_lines(folder):
    """{path: {line: whether it was reached}} of the counts in `folder`. What is compiled elsewhere has none."""
    found = {}
    counts = sorted(file.name for file in folder.glob("*.gcda"))
    for document in output_of(["gcov", "--json-format", "--stdout", *counts], folder).splitlines() if counts else ():
        for file in json.loads(document)["files"]:
            lines = found.setdefault(os.path.relpath(file["file"], "../../tree"), {})
            for line in file["lines"]:
                lines[line["line_number"]] = lines.get(line["line_number"]) or line["count"] > 0
    return found


def learn(build, digest, paths):
    """{"tests": {test: {"seconds", "lines": {path: lines}}}, "lines": {path: lines that can be reached}}."""
    kept = build.top / "reached.json"
    key = [digest, sorted(paths)]
    if kept.exists() and (known := json.loads(kept.read_text())).get("key") == key:
        return known
    print("finding out which test reaches what …", file=sys.stderr)
    build.prepare(build.tests)
    folder = build.top / "coverage"
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "objects.d").mkdir(parents=True)
    wanted = [path for path in build.object_of if path.startswith(tuple(paths))]
    replaced = {build.object_of[path]: folder / "objects.d" / (path.replace("/", "_")[:-1] + "o") for path in wanted}
    known = {"key": key, "tests": {}, "lines": {}}

    def instrument(name):
        if not build.compile(name, build.commands[name][-1], replaced[name], COVERAGE_FLAGS.split()):
            sys.exit(f"{name}: cannot be compiled for gcov")

    def watch(name):
        own = folder / name
        own.mkdir()
        own.chmod(0o777)  # a child may have become somebody else
        for note in (folder / "objects.d").glob("*.gcno"):
            (own / note.name).symlink_to(note)
        start = time.monotonic()
        outcome = build.run(name, folder, LEARN_TIMEOUT_S, GCOV_PREFIX=str(own), GCOV_PREFIX_STRIP="99")
        seconds = time.monotonic() - start
        # Where a test counts open files, those of gcov may be too many. One that was stopped has counted nothing.
        if outcome == "too long" or (outcome != "ok" and build.run(name, build.top, LEARN_TIMEOUT_S) != "ok"):
            print(f"{name}: {outcome} as it is, so it is left out", file=sys.stderr)
            return
        lines = counted_lines(own)
        shutil.rmtree(own)
        known["lines"].update((path, sorted(counts)) for path, counts in lines.items())
        reached = {path: [line for line in counts if counts[line]] for path, counts in lines.items()}
        known["tests"][name] = {"seconds": seconds, "lines": reached}

    with ThreadPoolExecutor(WORKERS) as pool:
        list(pool.map(instrument, replaced))
        build.link(folder, replaced)
        list(pool.map(watch, build.tests))
    kept.write_text(json.dumps(known))
    return known


class Hunt:
    """What the workers share: the mutants that wait, and what became of the others."""

    def __init__(self, builds, known, mutants, n):
        self.builds, self.known, self.mutants, self.n = builds, known, iter(mutants), n
        self.lock = threading.Condition()
        self.running, self.noticed, self.survived, self.redrawn = 0, 0, 0, 0
        self.seen, self.caught = set(), {}

    def draw(self):
        with self.lock:
            while self.running and self.noticed + self.survived + self.running >= self.n:
                self.lock.wait()
            if self.noticed + self.survived >= self.n:
                return None
            mutant = next(self.mutants, None)
            self.running += mutant is not None
            return mutant

    def settle(self, mutant, outcome):
        with self.lock:
            self.running -= 1
            self.redrawn += outcome == "redrawn"
            self.noticed += outcome == "noticed"
            if outcome == "survived":
                self.survived += 1
                print(mutant.words, "" if self.reaching(mutant) else "(no test reaches it)", flush=True)
            self.lock.notify_all()

    def reaching(self, mutant):
        """The names of the tests that reach it, in the order in which to ask them."""
        caught = self.caught.setdefault(mutant.path, {})
        # The rest of a statement counts as its first line does.
        line = max((line for line in self.known["lines"].get(mutant.path, ()) if line <= mutant.line), default=0)
        reached = {name: test for name, test in self.known["tests"].items() if line in test["lines"].get(mutant.path, ())}
        return sorted(reached, key=lambda name: reached[name]["seconds"] / (1 + 4 * caught.get(name, 0)))

    def quick_ones(self, mutant):
        """Those to ask with the sanitizers: what writes behind the end of something may be none of the first."""
        tests, seconds = [], 0
        for name in self.reaching(mutant):
            seconds += self.known["tests"][name]["seconds"]
            if len(tests) < SANITIZED_TESTS or seconds <= SANITIZED_S:
                tests.append(name)
        return tests

    def fails(self, build, name, folder):
        timeout_s = TIMEOUT_S + (30 if build.is_sanitized else 10) * self.known["tests"][name]["seconds"]
        outcome = build.run(name, folder, timeout_s)
        # A busy machine makes other things fail or take long: hardly twice, and without the change, too.
        if outcome == "failed":
            outcome = build.run(name, folder, timeout_s)
        return outcome != "ok" and build.run(name, build.top, timeout_s) == "ok"

    def judge(self, mutant, number):
        for build in self.builds:
            if build.is_sanitized and not self.reaching(mutant):
                break
            folder = build.top / f"worker-{number}"
            folder.mkdir(exist_ok=True)
            name = build.object_of[mutant.path]
            source, output = folder / Path(mutant.path).name, folder / "mutant.o"
            source.write_text(mutant.text, encoding="utf-8")
            if not build.compile(name, source, output):
                return "redrawn"
            made = output.read_bytes()
            with self.lock:
                if not build.is_sanitized and (made in self.seen or made == (build.dir / name).read_bytes()):
                    return "redrawn"
                self.seen.add(made)
            build.link(folder, {name: output})
            tests = self.quick_ones(mutant) if build.is_sanitized else self.reaching(mutant)
            build.prepare(tests)
            for test in tests:
                if self.fails(build, test, folder):
                    self.caught[mutant.path][test] = self.caught[mutant.path].get(test, 0) + 1
                    return "noticed"
        return "survived"

    def work(self, number):
        while mutant := self.draw():
            outcome = "redrawn"
            try:
                outcome = self.judge(mutant, number)
            finally:
                self.settle(mutant, outcome)


def main(argv):
    parser = argparse.ArgumentParser(usage=__doc__.replace("%", "%%"))
    parser.add_argument("-n", type=int, default=200)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 31))
    parser.add_argument("--paths", nargs="+", default=list(PATHS))
    options = parser.parse_args(argv[1:])
    root = Path(__file__).resolve().parents[1]
    mutants = list(all_mutants(root, options.paths))
    random.Random(options.seed).shuffle(mutants)
    print(f"seed {options.seed}, {len(mutants)} possible mutants", flush=True)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    digest = copy_tree(root, root / "build-mutants" / "tree")
    builds = [Build(root, "plain", "gcc"), Build(root, "sanitized", "clang-14", *SANITIZE)]
    # Tests that fail leave their files: those go with the folder.
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None) as files:
        os.chmod(files, 0o1777)  # a child may have become somebody else
        os.environ["TMPDIR"] = files
        hunt = Hunt(builds, learn(builds[0], digest, options.paths), mutants, options.n)
        with ThreadPoolExecutor(WORKERS) as pool:
            list(pool.map(hunt.work, range(WORKERS)))
    judged = hunt.noticed + hunt.survived
    print(f"{hunt.noticed} noticed of {judged} ({hunt.redrawn} others changed nothing or did not compile), seed {options.seed}")
    return 0 if judged and 100 * hunt.noticed >= ENOUGH_PERCENT * judged else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv))
