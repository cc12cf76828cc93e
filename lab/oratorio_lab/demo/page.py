# SPDX-License-Identifier: BSD-3-Clause
"""The demo's report: one HTML file with its chart inside."""

import base64
import html
import io
from pathlib import Path

from oratorio_lab.bench.styles import look_of

Rows = dict[tuple[str, str], tuple[float, int]]  # (layout, phase) -> (seconds, bytes)

PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Oratorio: HDF5 checkpoint</title>
<style>
body {{ font: 15px/1.5 sans-serif; max-width: 60em; margin: 2em auto; padding: 0 1em; color: #222 }}
table {{ border-collapse: collapse }} th, td {{ padding: .15em .8em; text-align: right }}
th:nth-child(-n+2), td:nth-child(-n+2) {{ text-align: left }} tr.sum {{ font-weight: bold }}
th {{ border-bottom: 1px solid #888 }} img {{ max-width: 100% }}
</style>
<h1>HDF5 checkpoint with and without Oratorio</h1>
<p>{summary}</p><p><b>{verdict}</b></p>
<img alt="Seconds per phase" src="data:image/png;base64,{chart}">
<table><tr><th>layout<th>phase<th>{host} s<th>Oratorio s<th>faster by</tr>
{rows}</table></html>
"""


def _chart(host: str, theirs: Rows, ours: Rows) -> bytes:
    """Returns a PNG with one panel for each layout and a pair of bars for each phase."""
    # Imported here because the import takes longer than everything else in the command line.
    from matplotlib import pyplot  # noqa: PLC0415

    pyplot.switch_backend("Agg")
    layouts = list(dict.fromkeys(layout for layout, _ in theirs))
    figure, panels = pyplot.subplots(1, len(layouts), figsize=(11, 4), sharey=True)
    for panel, layout in zip(panels, layouts, strict=True):
        names = [n for its, n in theirs if its == layout and n not in ("all fields", "total")]
        places = range(len(names))
        for shift, rows, label, color in (
            (-0.2, theirs, f"{host}'s MPI-IO", look_of("host").color),
            (0.2, ours, look_of("auto").label, look_of("auto").color),
        ):
            seconds = [rows[layout, name][0] for name in names]
            panel.bar([place + shift for place in places], seconds, 0.4, label=label, color=color)
        panel.set_title(f"{layout} datasets")
        panel.set_xticks(list(places), names, rotation=40, ha="right")
        panel.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylabel("seconds, all steps")
    panels[0].legend(frameon=False)
    figure.tight_layout()
    image = io.BytesIO()
    figure.savefig(image, format="png", dpi=110)
    pyplot.close(figure)
    return image.getvalue()


def _table_rows(theirs: Rows, ours: Rows) -> str:
    lines = []
    for (layout, name), (before, _) in theirs.items():
        after, _ = ours[layout, name]
        kind = ' class="sum"' if name in ("all fields", "total") else ""
        ratio = f"{before / after:.2f} x" if after else ""
        cells = (layout, name, f"{before:.3f}", f"{after:.3f}", ratio)
        lines.append(f"<tr{kind}>" + "".join(f"<td>{html.escape(cell)}" for cell in cells) + "</tr>")
    return "\n".join(lines)


def write(file: Path, host, geometry, theirs: Rows, ours: Rows, unequal: list[str]) -> Path:
    """Writes the report of a demo run under `host` with `geometry`."""
    mib = geometry.bytes_per_field / 2**20
    summary = (
        f"8 ranks as 2 x 2 x 2, {geometry.cells}<sup>3</sup> cells each with ghost cells around, fields of "
        f"{mib:.0f} MiB, {geometry.steps} steps, under {html.escape(host.name)} {html.escape(host.version)}. "
        "Times are of the slowest rank."
    )
    verdict = "All files are equal byte for byte."
    if unequal:
        verdict = "Files differ: " + html.escape(", ".join(unequal))
    chart = base64.b64encode(_chart(host.name, theirs, ours)).decode()
    page = PAGE.format(
        summary=summary, verdict=verdict, chart=chart, host=html.escape(host.name),
        rows=_table_rows(theirs, ours),
    )  # fmt: skip
    file.write_text(page)
    return file
