# SPDX-License-Identifier: BSD-3-Clause
"""`./oratorio wheel`: makes the wheel and the archive of the sources for PyPI."""

import platform
import subprocess
import sys
from pathlib import Path

from oratorio.paths import BUILD, ROOT
from oratorio_dev import aarch64


def make(out: Path, machine: str = platform.machine()) -> tuple[Path, Path]:
    """Makes the wheel and the archive in the folder `out`; returns their paths. Raises LookupError,
    SourceError and subprocess.CalledProcessError."""
    sys.path.insert(0, str(ROOT / "dev/release"))
    import backend  # noqa: PLC0415
    import pack  # noqa: PLC0415

    tag, strip = pack.portable_tag(machine), "strip"
    if machine == platform.machine():
        subprocess.run(["cmake", "--build", BUILD, "--target", "portable"], check=True, stdout=sys.stderr)
        libraries = BUILD / "portable"
    elif machine == aarch64.MACHINE:
        libraries, strip = aarch64.portable_libraries(), aarch64.STRIP
    else:
        raise LookupError(f"wheels for {machine} are made on such a machine only")
    return pack.write_wheel(libraries, out, tag, strip), out / backend.build_sdist(out)
