# SPDX-License-Identifier: BSD-3-Clause
"""Shows where the time of Oratorio's passes goes, from the library's counts at each close."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from rich.table import Table

from oratorio_lab.bench.arms import is_oratorios
from oratorio_lab.bench.run import Run, Settings

COPIES = ("bytes_packed", "bytes_placed", "bytes_shared", "bytes_reached", "bytes_merged")


@dataclass(frozen=True)
class Profile:
    """Medians of an arm's measured passes in one direction, summed over all ranks."""

    storage_calls: float
    transferred: float  # bytes moved between storage and memory for each byte of data
    copied: float  # bytes copied from memory to memory for each byte of data
    storage_ms: float
    copy_ms: float
    other_ms: float  # time of planning, messages and waiting for other ranks
    raw_ms: float | None  # time of the reference arm, if it was measured
    pieces: int

    @property
    def copy_ns_a_piece(self) -> float:
        return 1e6 * self.copy_ms / max(self.pieces, 1)


def profile_of(run: Run, settings: Settings, arm: str, direction: str) -> Profile | None:
    """Returns the profile of an arm in one direction; None if no successful pass has counts."""
    samples = [s for s in run.measured(arm, direction) if s["account"]]
    accounts = [s["account"] for s in samples]
    if not accounts:
        return None

    def middle(*rows: str) -> float:
        return median(sum(account.get(row, 0) for row in rows) for account in accounts)

    data = samples[0]["bytes"]
    storage, copying = middle("storage_time"), middle("copy_time")
    raw = [s["seconds"] for s in run.measured(settings.reference, direction)]
    return Profile(
        storage_calls=middle("storage_calls", "mappings"),
        transferred=middle("bytes_loaded", "bytes_stored") / data,
        copied=middle(*COPIES) / data,
        storage_ms=storage,
        copy_ms=copying,
        other_ms=max(0.0, middle("access_time") - storage - copying),
        raw_ms=1e3 * median(raw) * run.ranks if raw else None,
        pieces=run.setup["pieces"],
    )


def table(runs: Sequence[Run], settings: Settings) -> Table:
    """Returns a table with a row for each of Oratorio's arms in each direction."""
    shown = Table(
        title="Milliseconds, summed over all ranks; bytes transferred and copied per byte of data",
        title_justify="left",
    )
    for name in ("workload", "direction", "arm"):
        shown.add_column(name)
    numbers = ("ranks", "B a piece", "storage calls", "transferred", "copied", settings.reference)
    for name in (*numbers, "storage", "copying", "other", "copying, ns a piece"):
        shown.add_column(name, justify="right")
    for run in runs:
        for direction in settings.directions:
            for arm in filter(is_oratorios, settings.arms):
                if found := profile_of(run, settings, arm, direction):
                    shown.add_row(run.label, direction, arm, *_cells(run, found))
    return shown


def _cells(run: Run, found: Profile) -> list[str]:
    raw = "-" if found.raw_ms is None else f"{found.raw_ms:.1f}"
    return [
        str(run.ranks), f"{run.setup['bytes'] / max(found.pieces, 1):.0f}", f"{found.storage_calls:.0f}",
        f"{found.transferred:.2f}", f"{found.copied:.2f}", raw, f"{found.storage_ms:.1f}",
        f"{found.copy_ms:.1f}", f"{found.other_ms:.1f}", f"{found.copy_ns_a_piece:.1f}",
    ]  # fmt: skip
