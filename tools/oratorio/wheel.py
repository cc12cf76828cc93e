# SPDX-License-Identifier: BSD-3-Clause
"""`./oratorio wheel`: the wheel and the archive of the sources, as PyPI takes them."""

import subprocess
import sys
from pathlib import Path

from oratorio.paths import BUILD, ROOT


def make(out: Path) -> tuple[Path, Path]:
    """Both, in the folder `out`. Raises subprocess.CalledProcessError."""
    subprocess.run(["cmake", "--build", BUILD, "--target", "portable"], check=True, stdout=sys.stderr)
    sys.path.insert(0, str(ROOT / "tools/wheel"))
    import backend  # noqa: PLC0415
    import pack  # noqa: PLC0415

    wheel = pack.write_wheel(BUILD / "portable", out)
    return wheel, out / backend.build_sdist(out)
