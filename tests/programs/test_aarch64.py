# SPDX-License-Identifier: BSD-3-Clause
"""The floors that need no MPI work on 64-bit ARM: Debian's cross compiler makes some of their tests, and its
emulator runs them (cmake/aarch64.cmake)."""

import os
import re
import subprocess
from pathlib import Path

import pytest
from oratorio.paths import PRIVATE, ROOT

# Where the packages were unpacked to, if they aren't installed.
PLACE = os.environ.get("ORATORIO_AARCH64_ROOT", "")
NEEDED = {
    "usr/bin/aarch64-linux-gnu-g++-12": "g++-12-aarch64-linux-gnu",
    "usr/bin/qemu-aarch64": "qemu-user",
    "usr/src/googletest/CMakeLists.txt": "googletest",
}
# Where processors differ: their own instructions, orders and sizes. Not those that take the emulator minutes.
PROGRAMS = ["base_bell", "base_shared_segment", "base_served_counter", "type_kernels", "type_external32"]
PROGRAMS += ["type_run_table", "type_shape_codec"]
TESTS = 49  # of all these; none is skipped


def missing_packages() -> list[str]:
    return [
        package
        for file, package in NEEDED.items()
        if not any(Path(place, file).exists() for place in (f"{PLACE}/", "/"))
    ]


def checked(*words: str | Path) -> str:
    libraries = f"{PLACE}/usr/lib/x86_64-linux-gnu:" if PLACE else ""
    env = os.environ | {"LD_LIBRARY_PATH": libraries + os.environ.get("LD_LIBRARY_PATH", "")}
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True, env=env)
    assert done.returncode == 0, (done.stdout + done.stderr)[-6000:]
    return done.stdout


def test_the_floors_work_on_64_bit_arm():
    missing = missing_packages()
    if missing:
        pytest.skip(f"no cross compiler or emulator for aarch64: apt-get install {' '.join(missing)}")
    build = PRIVATE / "aarch64"
    options = ["--toolchain", ROOT / "cmake/aarch64.cmake", f"-DORATORIO_AARCH64_ROOT={PLACE}"]
    options += ["-DORATORIO_MPI=OFF", "-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_CXX_FLAGS_DEBUG=-O0"]
    # Debian has this processor's liburing only for who adds its architecture to the system. No program
    # here uses a ring, so an empty archive links as well.
    archive = build / "no-rings/liburing.a"
    archive.parent.mkdir(parents=True, exist_ok=True)
    checked(f"{PLACE}/usr/bin/aarch64-linux-gnu-ar", "rcs", archive)
    options += [f"-DLIBURING_STATIC={archive}", "-DLIBURING_INCLUDE=/usr/include"]
    checked("cmake", "-S", ROOT, "-B", build, "-G", "Ninja", *options)
    checked("ninja", "-C", build, *(f"unit_{name}_test" for name in PROGRAMS))
    run = 0
    for name in PROGRAMS:
        emulator = f"{PLACE}/usr/bin/qemu-aarch64"
        told = checked(emulator, "-L", f"{PLACE}/usr/aarch64-linux-gnu", build / f"tests/unit_{name}_test")
        run += int(re.search(r"\[  PASSED  \] (\d+) test", told)[1])
    assert run == TESTS
