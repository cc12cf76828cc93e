# SPDX-License-Identifier: BSD-3-Clause
"""The demo's report: one HTML file."""

from pathlib import Path

from oratorio.report import html_page
from oratorio.report.html_page import text

Rows = dict[tuple[str, str], tuple[float, int]]  # (layout, phase) -> (seconds, bytes)
SUMS = ("all fields", "total")


def _bars(layout: str, host: str, theirs: Rows, ours: Rows) -> str:
    """Returns a pair of bars for each phase of a layout; the longest bar fills the width."""
    names = [name for its, name in theirs if its == layout and name not in SUMS]
    longest = max(rows[layout, name][0] for rows in (theirs, ours) for name in names)
    drawn = ""
    for name in names:
        for who, color, rows in ((host, "host", theirs), ("Oratorio", "ours", ours)):
            seconds = rows[layout, name][0]
            spans = [(color, 0.0, seconds / longest, f"{seconds:.3f} s")]
            drawn += html_page.bar(f"{name}, {who}", spans, f"{seconds:.3f} s")
    return f'<h2>{text(layout)} datasets</h2><div class="names">{drawn}</div>'


def write(file: Path, host, geometry, theirs: Rows, ours: Rows, unequal: list[str]) -> Path:
    """Writes the report of a demo run under `host` with `geometry`. Raises OratorioError."""
    mib = geometry.bytes_per_field / 2**20
    summary = (
        f"8 ranks as 2 x 2 x 2, {geometry.cells}^3 cells each, surrounded by ghost cells, fields of "
        f"{mib:.0f} MiB, {geometry.steps} steps, under {host.name} {host.version}. "
        "Times are of the slowest rank."
    )
    verdict = f"Files differ: {', '.join(unequal)}" if unequal else "All files are equal byte for byte."
    cells = [
        [layout, name, f"{before:.3f}", f"{ours[layout, name][0]:.3f}",
         f"{before / ours[layout, name][0]:.2f} x" if ours[layout, name][0] else ""]
        for (layout, name), (before, _) in theirs.items()
    ]  # fmt: skip
    shown = html_page.page(
        "Oratorio: HDF5 checkpoint",
        "<h1>HDF5 checkpoint with and without Oratorio</h1>",
        f"<p>{text(summary)}</p><p><b>{text(verdict)}</b></p>",
        *(_bars(layout, host.name, theirs, ours) for layout in dict.fromkeys(layout for layout, _ in theirs)),
        html_page.table(("layout", "phase", f"{host.name} s", "Oratorio s", "faster by"), cells, left=2),
    )
    html_page.write(shown, file)
    return file
