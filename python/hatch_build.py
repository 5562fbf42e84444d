# SPDX-License-Identifier: MIT
"""Builds the C side: the two libraries go into the package, the command becomes one of the wheel's scripts.

The C sources are beside this directory, or in c/ of a source distribution. WATTLE_WHEEL_BUILD names a directory to build in
that is kept, so that the next build is quick. WATTLE_RECORDINGS=no builds without SQLite and zstd.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SOURCES = ["LICENSE", "meson.build", "meson_options.txt", "include", "src", "data", "share/estimate", "web",
           "tools/mkdata.py", "tools/mkfile.py", "tools/mkweb.py"]
# Of what is in the libraries and the command, by the names that they get: wattle, its tables, and (from Debian) linked libraries.
LICENSES = {"wattle": "LICENSE", "codecarbon": "data/LICENSE.codecarbon", "region-carbon-info": "data/LICENSE.region-carbon-info",
    **{name: f"/usr/share/doc/{name}-dev/copyright" for name in ("libjansson", "libncurses", "libsqlite3", "libzstd")}}


class WattleBuildHook(BuildHookInterface):  # type: ignore[type-arg]
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        package = Path(self.root)
        tree = package / "c" if (package / "c").is_dir() else package.parent
        if not (tree / "src" / "wattle.map").is_file():
            self.fail("the C sources are neither beside this directory nor in it: build in a whole tree of wattle")
        if self.target_name == "sdist":
            build_data["force_include"].update({str(tree / name): f"c/{name}" for name in SOURCES})
            return
        kept = os.environ.get("WATTLE_WHEEL_BUILD")
        self.scratch = None if kept else tempfile.TemporaryDirectory(prefix="wattle-build-")
        built = self.build(tree, Path(kept or self.scratch.name))
        build_data["pure_python"] = False
        build_data["tag"] = "py3-none-" + sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["shared_scripts"] = {str(built.pop("wattle")): "wattle"}
        if version == "editable":
            self.place(built, package / "wattle" / "_lib")
        else:
            licenses = f"{self.build_config.builder.artifact_project_id}.dist-info/licenses"
            build_data["force_include"].update({
                **{str(path): f"wattle/_lib/{name}" for name, path in built.items()},
                **{str(tree / path): f"{licenses}/LICENSE.{name}" for name, path in LICENSES.items() if (tree / path).is_file()},
            })

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        if getattr(self, "scratch", None):
            self.scratch.cleanup()

    def build(self, tree: Path, directory: Path) -> dict[str, Path]:
        """Build the tree in the directory, and say what lies where: the command, and the libraries by their sonames."""
        if not (directory / "build.ninja").is_file():
            recordings = "disabled" if os.environ.get("WATTLE_RECORDINGS") == "no" else "enabled"
            self.run("meson", "setup", str(directory), str(tree), "-Dtests=disabled", "-Dlate-libraries=false",
                f"-Dc_link_args=-s {os.environ.get('LDFLAGS', '')}", "-Dpacked-relocations=false", "-Dxml=disabled", f"-Drecordings={recordings}")
        targets = {(target["name"], target["type"]): Path(target["filename"][0])
            for target in json.loads(self.run("meson", "introspect", "--targets", str(directory)))}
        built = {"wattle": targets["wattle", "executable"], "libwattle.so.0": targets["wattle", "shared library"]}
        if ("wattle-recording", "shared library") in targets:
            built["libwattle-recording.so.0"] = targets["wattle-recording", "shared library"]
        self.run("ninja", "-C", str(directory), *(os.path.relpath(path, directory) for path in built.values()))
        return built

    def run(self, *words: str) -> str:
        program = shutil.which(words[0])
        if not program:
            self.fail(f"{words[0]} is needed: pip install {words[0]}")
        done = subprocess.run([program, *words[1:]], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode:
            lines = [line for line in done.stdout.splitlines() if "error:" in line.lower()] or done.stdout.splitlines()[-1:]
            if any("Unknown compiler" in line or "cannot compile" in line for line in lines):
                self.fail("a C compiler that works is needed (Debian: gcc libc6-dev)")
            if any("sqlite3" in line or "libzstd" in line for line in lines):
                self.fail("recordings need pkg-config and the headers of SQLite and zstd (Debian: pkg-config libsqlite3-dev "
                    "libzstd-dev); WATTLE_RECORDINGS=no in the environment installs without recordings")
            self.fail(f"{' '.join(words[:2])}: {lines[0].strip()}")
        return done.stdout

    def place(self, built: dict[str, Path], directory: Path) -> None:
        """For an editable installation; a link that a developer made stays as it is."""
        if directory.is_symlink():
            return
        directory.mkdir(exist_ok=True)
        for name, path in built.items():
            shutil.copy2(path, directory / name)

    def fail(self, text: str) -> None:
        self.app.abort(f"wattle: {text}")
