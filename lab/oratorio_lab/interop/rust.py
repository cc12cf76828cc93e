# SPDX-License-Identifier: BSD-3-Clause
"""Builds the test program in Rust. cargo fetches rsmpi from crates.io, and pip fetches libclang, which
building rsmpi needs."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from oratorio.launch.hosts import Host
from oratorio_lab.interop.model import MissingError
from oratorio_lab.interop.releases import HOME

BUILD_SECONDS = 600
LIBCLANG = "libclang==18.1.1"


def version(project: Path) -> str:
    """Returns the version of rsmpi that the project requires."""
    found = re.search(r'^mpi = .*"=([0-9.]+)"', (project / "Cargo.toml").read_text(), re.MULTILINE)
    return found[1] if found else ""


def fetch() -> None:
    """Fetches libclang. If that fails, the row of rsmpi reports that it is missing."""
    command = [sys.executable, "-m", "pip", "install", "--no-deps", "-q", "-t", HOME / "libclang", LIBCLANG]
    if not (HOME / "libclang").exists():
        subprocess.run(command, check=False)


def built(project: Path, host: Host) -> Path:
    """Builds the program and returns its path. Raises MissingError."""
    cargo = shutil.which("cargo")
    if cargo is None:
        raise MissingError("this machine has no cargo")
    (clang, *_) = [*(HOME / "libclang").glob("clang/native"), None]
    if clang is None:
        raise MissingError("`oratorio neighbours --fetch` downloads libclang, which rsmpi needs")
    target = HOME / "programs" / host.name / "rust"
    include = subprocess.run(["cc", "-print-file-name=include"], capture_output=True, text=True, check=False)
    env = {
        **os.environ,
        "LIBCLANG_PATH": str(clang),
        "BINDGEN_EXTRA_CLANG_ARGS": f"-I{include.stdout.strip()}",
        "MPICC": str(host.mpicc),
        "CARGO_TARGET_DIR": str(target),
    }
    # A copy is built, because cargo would write a Cargo.lock into the checkout.
    copy = HOME / "rust" / project.name
    shutil.copytree(project, copy, dirs_exist_ok=True)
    done = subprocess.run(
        [cargo, "build", "-q"], cwd=copy, env=env, capture_output=True, text=True, check=False,
        timeout=BUILD_SECONDS,
    )  # fmt: skip
    if done.returncode:
        raise MissingError(f"cargo: {done.stderr.strip().splitlines()[-1]}")
    return target / "debug" / project.name
