# SPDX-License-Identifier: BSD-3-Clause
"""`oratorio trace`: shows the accesses of a run from the trace that ORATORIO_TRACE wrote."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from oratorio.trace import table, trace
from oratorio_lab.trace import plot as trace_plot

WIDTH = 180  # columns if the output is no terminal


def _chosen(files: list[trace.File], name: str | None) -> list[trace.File]:
    found = [file for file in files if name is None or name in file.path]
    if not found:
        raise trace.TraceError(
            f"there is no file whose name has '{name}' in it" if name else "it has no file"
        )
    return found


def trace_command(
    path: Annotated[Path, typer.Argument(metavar="FILE", help="What ORATORIO_TRACE named.")],
    markdown: Annotated[bool, typer.Option("--markdown", help="Tables for a page.")] = False,
    plot: Annotated[
        Path | None, typer.Option(metavar="PNG", help="Draw what each rank did when, of the first file.")
    ] = None,
    file: Annotated[
        str | None, typer.Option(metavar="NAME", help="Only files whose path has this in it.")
    ] = None,
) -> None:
    """Show a trace: a table per file, a row per access, a column per phase."""
    try:
        files = _chosen(trace.read(path), file)
        if plot:
            trace_plot.draw(files[0], plot)
    except trace.TraceError as error:
        Console(stderr=True, highlight=False).print(f"oratorio: {error}", markup=False, soft_wrap=True)
        raise typer.Exit(1) from error
    if markdown:
        print(table.markdown(files))
        return
    console = Console(highlight=False)
    table.show(files, console if console.is_terminal else Console(highlight=False, width=WIDTH))
