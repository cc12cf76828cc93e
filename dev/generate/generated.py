# SPDX-License-Identifier: BSD-3-Clause
"""The common parts of the programs that make pages."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# The programs that make pages import the package oratorio, which may not be on the path yet.
sys.path.insert(0, str(ROOT / "cli"))


def keep(page: Path, text: str) -> int:
    """Writes the page, or with --check reports whether it is current. Returns the exit code."""
    if "--check" not in sys.argv[1:]:
        page.parent.mkdir(exist_ok=True)
        page.write_text(text)
        return 0
    if page.exists() and page.read_text() == text:
        return 0
    maker = Path(sys.argv[0]).resolve().relative_to(ROOT)
    print(f"{page.relative_to(ROOT)} is not current: run {maker}", file=sys.stderr)
    return 1
