# SPDX-License-Identifier: MIT
"""nvtop, another monitor of GPUs: the one that is installed, or Debian's (contrib), unpacked."""

import shutil
import subprocess

VERSION = "3.0.1-1"


class Missing(Exception):
    """Why there is none."""


def find(folder):
    """Its path. What is fetched is put into the folder."""
    if shutil.which("nvtop"):
        return shutil.which("nvtop")
    (folder / "lists/partial").mkdir(parents=True)
    (folder / "sources.list").write_text("deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] "
                                         "http://deb.debian.org/debian bookworm contrib\n")
    apt = ["apt-get", "-qq", *(f"-oDir::{key}={folder / value}" for key, value in {
        "Etc::sourcelist": "sources.list", "Etc::sourceparts": "none", "State::lists": "lists", "Cache": "cache"}.items()),
           "-oAPT::Sandbox::User=", "-oAcquire::http::Timeout=20", "-oAcquire::Retries=0"]
    for args in ([*apt, "update"], [*apt, "download", f"nvtop={VERSION}"], ["sh", "-c", "dpkg -x nvtop_*.deb ."],
                 [folder / "usr/bin/nvtop", "--version"]):
        try:
            done = subprocess.run(args, cwd=folder, capture_output=True, text=True, timeout=60, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise Missing(f"nvtop is neither installed nor to be had from Debian here: {error}") from None
        if done.returncode:
            raise Missing(f"nvtop is neither installed nor to be had from Debian here: {done.stderr.strip()}")
    return folder / "usr/bin/nvtop"
