# SPDX-License-Identifier: MIT
"""What debian/ says of wattle is so: versions, libraries, files, symbols. `make deb-check` builds and installs the packages."""

import json
import os
import re
import subprocess
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

REPO = Path(__file__).resolve().parents[2]
DEBIAN = REPO / "debian"
SYSTEMD = REPO / "packaging" / "systemd"
# Debian's name of the headers, by what meson.build asks for.
HEADERS = {"jansson": "libjansson-dev", "libmicrohttpd": "libmicrohttpd-dev", "ncursesw": "libncurses-dev",
    "cairo": "libcairo2-dev", "sqlite3": "libsqlite3-dev", "libzstd": "libzstd-dev", "libdw": "libdw-dev",
    "gnutls": "libgnutls28-dev", "yaml-0.1": "libyaml-dev", "zlib": "zlib1g-dev", "expat": "libexpat1-dev",
    "libcurl": "libcurl4-gnutls-dev"}
# Packages that are not called as their libraries are.
CALLED = {"libz1": "zlib1g", "libcurl-gnutls4": "libcurl3-gnutls", "libsnappy1": "libsnappy1v5"}
NOT_IN_THE_PACKAGE = {"threads", "cmocka"}


def paragraphs(text):
    """Fields of each paragraph of a control file."""
    text = re.sub(r"^#.*\n", "", text, flags=re.M)
    return [dict(re.findall(r"^([\w-]+):((?:.*\n(?:[ \t].*\n?)*))", part + "\n", re.M)) for part in re.split(r"\n\n+", text.strip())]


CONTROL = paragraphs((DEBIAN / "control").read_text())
PACKAGES = {fields["Package"].strip(): fields for fields in CONTROL[1:]}


def relations(field):
    """The packages that a field names, with the lowest version."""
    return dict(re.findall(r"([a-z0-9][a-z0-9.+-]+)(?::any)?(?: \(>?= ([^)]+)\))?\s*,", field + ","))


def numbers(version):
    return tuple(map(int, version.split(".")))


def asked_by_meson():
    calls = re.findall(r"dependency\('([\w.-]+)'(?:, version: '>= ([\d.]+)')?", (REPO / "meson.build").read_text())
    return {name: version for name, version in calls if name not in NOT_IN_THE_PACKAGE}


def test_version_is_mesons():
    version = re.search(r"^  version: '(.+)'", (REPO / "meson.build").read_text(), re.M)[1]
    assert re.match(r"wattle \((.+?)\) ", (DEBIAN / "changelog").read_text())[1] == version


def test_build_needs_what_meson_asks_for():
    needed = relations(CONTROL[0]["Build-Depends"])
    asked = asked_by_meson()
    assert len(asked) >= 5
    for name, version in asked.items():
        assert needed[HEADERS[name]] == version, name
    meson = re.search(r"meson_version: '>= (.+)'", (REPO / "meson.build").read_text())[1]
    assert needed["meson"] == meson
    installed = re.findall(r'^(?:run|deb)=["\'](.*)["\']', (REPO / "tools" / "install-deps.sh").read_text(), re.M)
    assert not set(needed) - set(" ".join(installed).split()) - {"debhelper-compat", "dh-sequence-installsysusers"}


def test_the_package_has_every_feature():
    options = re.search(r"dh_auto_configure -- (.*)", (DEBIAN / "rules").read_text())[1].split()
    assert "-Dauto_features=enabled" in options
    assert [option for option in options if "disabled" in option] == ["-Dtests=disabled"]


def test_libraries_that_are_loaded_late():
    """No tool sees those."""
    sources = "".join(path.read_text() for path in (REPO / "src").rglob("*.c"))
    late = set(re.findall(r'(?:dlopen\(|#define \w*LIBRARY +|\{)"(lib[\w-]+)\.so\.(\d+)"', sources))
    assert len(late) == len(set(re.findall(r'"(lib[\w-]+\.so\.\d+)"', sources))) >= 4
    related = {name: version for field in ("Depends", "Recommends", "Suggests")
        for name, version in relations(PACKAGES["wattle"][field]).items()}
    lowest = {HEADERS[name].removesuffix("-dev"): version for name, version in asked_by_meson().items()}
    for name, number in late:
        package = f"{name}-{number}" if name[-1].isdigit() else name + number
        package = CALLED.get(package, package)
        assert package in related, package
        low = lowest.get(name) or lowest.get(package)
        assert not low or numbers(related[package]) >= numbers(low), package
    # Not of Debian itself: nothing may recommend it.
    assert "libnvidia-ml1" in relations(PACKAGES["wattle"]["Suggests"])
    assert "libnvidia-ml1" in relations(PACKAGES["libwattle0"]["Suggests"])


@pytest.mark.parametrize("name", ["wattle", "wattle-recording"])
def test_library_packages(name):
    build = os.environ.get("WATTLE_BUILD_ROOT")
    if not build or not (Path(build) / "src" / f"lib{name}.so").exists():
        pytest.skip("that library is not built")
    dynamic = subprocess.run(["readelf", "-d", f"{build}/src/lib{name}.so"], capture_output=True, text=True, check=True).stdout
    soname = re.search(r"SONAME.*\[(.+)\]", dynamic)[1]
    stem, number = soname.split(".so.")
    package = PACKAGES[stem + number]
    header = (DEBIAN / f"{stem}{number}.symbols").read_text().splitlines()[0]
    assert header == f"{soname} {stem}{number} #MINVER#"
    assert (DEBIAN / f"{stem}{number}.install").read_text() == f"usr/lib/*/{soname}*\n"
    # Private symbols of the other library: it must be of the same release.
    assert ("libwattle.so.0" in re.findall(r"NEEDED.*\[(.+)\]", dynamic)) == ("libwattle0 (= ${binary:Version})" in package["Depends"])


@pytest.mark.parametrize("name", ["wattle", "wattle-recording"])
def test_symbols_are_those_of_the_map(name):
    text = re.sub(r"/\*.*?\*/", "", (REPO / "src" / f"{name}.map").read_text(), flags=re.DOTALL)
    nodes = dict(re.findall(r"^(\w[\w.]*) \{(.*?)^\}", text, re.M | re.S))
    public = {f"{symbol}@{node}" for node, body in nodes.items() if "PRIVATE" not in node
        for symbol in [node, *re.findall(r"^\t(\w+);$", body, re.M)]}
    lines = (DEBIAN / f"lib{name}0.symbols").read_text().splitlines()
    assert {line.split()[0] for line in lines if re.match(r" \w", line)} == public


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """What meson installs, as debian/rules has it configured."""
    build = tmp_path_factory.mktemp("build")
    options = re.search(r"dh_auto_configure -- (.*)", (DEBIAN / "rules").read_text())[1].split()
    subprocess.run(["meson", "setup", build, REPO, "--prefix=/usr", "--libdir=lib/x86_64-linux-gnu", *options],
        check=True, capture_output=True, timeout=300)
    listed = subprocess.run(["meson", "introspect", "--installed", build], check=True, capture_output=True, text=True).stdout
    files = {path.lstrip("/") for path in json.loads(listed).values()}
    # meson does not tell of the links.
    return files | {path.rsplit(".0.", 1)[0] + end for path in files for end in ("", ".0") if ".so.0." in path}


def test_every_file_is_in_one_package(installed):
    taken = {}
    for path in DEBIAN.glob("*.install"):
        assert path.stem in PACKAGES
        for line in path.read_text().splitlines():
            pattern = line.split()[0]
            found = {name for name in installed if fnmatchcase(name, pattern) or name.startswith(pattern + "/")}
            assert found, f"{path.name}: {line}"
            for name in found:
                assert taken.setdefault(name, path.stem) == path.stem, name
    assert set(taken) == installed


def test_every_unit_is_installed():
    listed = re.search(r"^units = server \? \[(.*?)^\]", (REPO / "packaging" / "meson.build").read_text(), re.M | re.S)[1]
    assert sorted(re.findall(r"^  '(.+)',", listed, re.M)) == sorted(path.stem for path in SYSTEMD.glob("*.in"))


def test_rule_is_the_documented_one():
    assert (SYSTEMD / "70-wattle.rules").read_text() in (REPO / "docs" / "permissions.md").read_text()


def test_copyright_names_the_tables_of_others():
    stanzas = paragraphs((DEBIAN / "copyright").read_text())
    named = {path: fields["License"].strip() for fields in stanzas if "Files" in fields for path in fields["Files"].split()}
    licences = {"MIT": "Expat", "Apache-2.0": "Apache-2.0", "CC-BY-4.0 (Ember)": "CC-BY-4.0",
                "published figures (SPEC)": "SPEC-figures"}
    rows = re.findall(r"^\| `(\w+\.csv)` \|.*\| ([^|]+) \|$", (REPO / "data" / "README.md").read_text(), re.M)
    assert len(rows) >= 4
    for name, licence in rows:
        assert named[f"data/{name}"] == licences[licence]
    assert all(path == "*" or (REPO / path).exists() for path in named)
