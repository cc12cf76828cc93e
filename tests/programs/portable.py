# SPDX-License-Identifier: BSD-3-Clause
"""Checks what the wheel's libraries need of a machine: glibc 2.28, and no C++ library."""

import re
import subprocess
import sys
from pathlib import Path

from oratorio.paths import ROOT

sys.path.insert(0, str(ROOT / "dev/release"))
import stubs

NEWEST = (2, 28)
SYSTEM = ("libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "librt.so.1")
LOADERS = {"x86_64": "ld-linux-x86-64.so.2", "aarch64": "ld-linux-aarch64.so.1"}


def call(*words, **options) -> subprocess.CompletedProcess[str]:
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, **options)
    assert done.returncode == 0, f"{words}\n{done.stdout}{done.stderr}"
    return done


def require_only_glibc_2_28(library: Path, machine: str) -> None:
    """Checks that a library needs only libraries that the manylinux policies allow, and only symbol
    versions that glibc 2.28 has."""
    told = call("readelf", "-dVW", library).stdout
    assert set(re.findall(r"NEEDED.*\[(.+)\]", told)) <= {*SYSTEM, LOADERS[machine], "libgcc_s.so.1"}
    versions = {tuple(map(int, text.split("."))) for text in re.findall(r"GLIBC_([\d.]+)", told)}
    assert versions and max(versions) <= NEWEST
    assert not re.search(r"GLIBCXX|CXXABI|GLIBC_PRIVATE", told)
    table = stubs.read_table((ROOT / f"dev/release/glibc-2.28-{machine}.txt").read_text())
    rows = [row for versions in table.values() for row in versions.items()]
    known = {f"{symbol}@{version}" for version, symbols in rows for symbol in symbols}
    used = set(re.findall(r"UND (\w+@GLIBC_[\w.]+)", call("readelf", "--dyn-syms", "-W", library).stdout))
    assert used and used <= known, used - known


def link_all_of_the_c_plus_plus_library(compilers: str, machine: str, stub_folder: Path, scratch: Path):
    """Links all of the C++ library, which fails if an older glibc lacks a name. `compilers` has {} for gcc
    and g++."""
    (scratch / "empty.cpp").touch()
    c, c_plus_plus = compilers.format("gcc"), compilers.format("g++")
    call(c, "-fPIC", "-c", "-o", scratch / "compat.o", ROOT / "dev/release/compat.c")
    whole = ["-Wl,--whole-archive", "-l:libstdc++.a", "-Wl,--no-whole-archive", "-Wl,--no-undefined"]
    names = [f"-l:{name}" for name in (*SYSTEM, LOADERS[machine])]
    links = ["-nodefaultlibs", f"-L{stub_folder}", *names, "-lgcc_s", "-lgcc"]
    objects = [scratch / "empty.cpp", scratch / "compat.o"]
    call(c_plus_plus, "-shared", "-fPIC", "-o", scratch / "whole.so", *objects, *whole, *links)
