# SPDX-License-Identifier: BSD-3-Clause
"""The papers' figures: the workload of each, the swept value, the methods, and the paper's claims.

This is only a table: lab/oratorio_lab/papers/measure.py measures and draws the figures, and
docs/research/papers.md explains them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from oratorio_lab.papers import claims
from oratorio_lab.papers.claims import Claim

RANKS = "ranks"  # a sweep over the numbers of --ranks; all other sweeps use the largest of these numbers
RANKS_OF_NODE = "ranks_of_node"  # a sweep over the number of ranks on a pretended node
Values = tuple[int | str, ...]


@dataclass(frozen=True)
class Sweep:
    """A part of a figure, with a panel for each direction: a workload over one value, with a line for each
    arm."""

    figure: str  # the paper's number, if it has one, and what the figure shows
    title: str
    workload: str
    axis: str
    over: str  # RANKS, RANKS_OF_NODE, a parameter of the workload, or else an info key
    arms: tuple[str, ...]
    values: Values = ()
    full: Values = ()  # the values with --full, as in the paper
    given: Mapping[str, str] = field(default_factory=dict)
    # with --full, added to `given` or replacing its entries
    full_given: Mapping[str, str] = field(default_factory=dict)
    directions: tuple[str, ...] = ("write", "read")
    # hints for all MPI-IO arms; the host's get only keys that are not Oratorio's
    hints: Mapping[str, str] = field(default_factory=dict)
    arm_hints: tuple[tuple[str, str, str], ...] = ()  # arm, key, value
    ranks_of_node: int = 0


@dataclass(frozen=True)
class Paper:
    """The figures of one paper."""

    year: str
    title: str
    sweeps: tuple[Sweep, ...]
    claims: tuple[Claim, ...]
    modes: tuple[str, ...] = ("buffered",)
    ranks: tuple[int, ...] = (2, 4, 8)  # the default of --ranks
    figures: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "figures", tuple(dict.fromkeys(sweep.figure for sweep in self.sweeps)))


BLOCKS = ("128", "1KiB", "8KiB", "64KiB", "1MiB")
ALL_BLOCKS = ("128", "256", "512", "1KiB", "2KiB", "4KiB", "8KiB", "16KiB", "32KiB", "64KiB", "128KiB",
              "256KiB", "512KiB", "1MiB")  # fmt: skip
DISTRIBUTIONS = ("cyclic", "block3d", "random")


def _array(figure: str, distribution: str, *arms: str) -> Sweep:
    return Sweep(
        figure, distribution, "array", "bytes of a piece", "block", (*arms, "raw"), BLOCKS, ALL_BLOCKS,
        {"dist": distribution, "bytes": "2MiB"}, {"bytes": "16MiB"},
    )  # fmt: skip


BUFFERING = ("naive", "one_writer", "cb_block", "cb_file_layout", "cb_cyclic", "cb_gather", "auto")

PAPER_1995 = Paper(
    "1995",
    "Nitzberg and Fineberg, Parallel I/O Algorithms",
    (
        *(_array("naive", distribution, "naive", "auto") for distribution in DISTRIBUTIONS),
        Sweep(
            "grouping", "CYCLIC(4 KiB)", "array", "ranks at once", "oratorio_group", ("naive", "grouping",
            "raw"),
            (1, 2, 4), (1, 2, 3, 4, 6, 8), {"block": "4KiB", "bytes": "4MiB"}, {"bytes": "16MiB"},
        ),
        _array("disk-directed", "cyclic", "naive", "disk_directed"),
        *(_array("buffering", distribution, *BUFFERING) for distribution in ("cyclic", "block3d")),
    ),
    (
        Claim(
            "Data access size yields orders-of-magnitude differences (p. 6)", "naive", "write",
            "naive, fastest to slowest size", claims.spread("naive"), 10, partly=3,
        ),
        Claim(
            "Data distribution yields at most a 2x performance difference, at the low end (p. 6)", "naive",
            "write",
            "naive at the smallest size, fastest to slowest distribution", claims.between_curves("naive"), 0,
            2,
        ),
        Claim(
            "8x performance improvement by grouping on iPSC/860 CFS (p. 21)", "grouping", "read",
            "grouping to naive, at most", claims.times("grouping", "naive"), 8, partly=1.1, needs="disk",
        ),
        Claim(
            "Disk-directed I/O is up to 16 times faster than Naive (p. 26, simulated)", "disk-directed",
            "read",
            "disk_directed to naive, at most", claims.times("disk_directed", "naive"), 16, partly=1.1,
            needs="disk",
        ),
        Claim(
            "Disk-directed I/O has ~90% of peak (p. 26, simulated)", "disk-directed", "read",
            "disk_directed, per cent of raw I/O, at most", claims.of_raw("disk_directed"), 90, partly=50,
            needs="disk",
        ),
        Claim(
            "BLOCK target: order-of-magnitude improvements for small sizes (p. 34)", "buffering", "write",
            "cb_block to naive at the smallest size", claims.at_first("cb_block", "naive"), 10, partly=1.5,
        ),
        Claim(
            "File layout target: similar performance to BLOCK (p. 38)", "buffering", "write",
            "cb_file_layout to cb_block, typically", claims.typically("cb_file_layout", "cb_block"), 0.8,
        ),
        Claim(
            "With scatter/gather, performance is uniform across all data block sizes (p. 41, 46)",
            "buffering",
            "write", "cb_gather, fastest to slowest size", claims.spread("cb_gather"), 1, 2,
        ),
    ),
)  # fmt: skip

PAPER_2001 = Paper(
    "2001",
    "Prost et al., MPI-IO/GPFS",
    (
        Sweep(
            "2-data-shipping", "4 KiB blocks, each rank alone", "ship", "ranks", RANKS,
            ("list_io", "sieve", "data_shipping", "datatype_io", "raw"), full_given={"blocks": "10000"},
        ),
        Sweep(
            "4-prefetch", "pieces of 100 blocks", "mar", "max_acc", "oratorio_max_acc",
            ("list_io", "prefetch", "raw"), (0, 1, 2, 4, 6, 8),
        ),
        Sweep(
            "6-sparse", "nodes of 2 ranks, pretended", "sparse", "% of the stripes", "sparsity",
            ("two_phase", "sparse", "auto"), (100, 50, 25, 10, 1), given={"count": "16"},
            full_given={"count": "100"}, ranks_of_node=2,
        ),
        Sweep(
            "8-double-buffering", "discontiguous", "discontig", "ranks", RANKS, ("two_phase",
            "double_buffer", "raw"),
            given={"region": "16MiB"}, full_given={"region": "1GiB"}, hints={"cb_buffer_size": "2097152"},
        ),
        Sweep(
            "10-ranks-of-a-node", "discontiguous", "discontig", "ranks of a pretended node", RANKS_OF_NODE,
            ("two_phase", "auto"), (1, 2, 4, 8), given={"region": "16MiB"}, full_given={"region": "1GiB"},
        ),
    ),
    (
        Claim(
            "For reads, there is an advantage in enabling GPFS data shipping in addition to MPI-IO data "
            "shipping (4.3.1)", "2-data-shipping", "read",
            "data_shipping to list_io, typically", claims.typically("data_shipping", "list_io"), 1.05,
            needs="gpfs",
        ),
        Claim(
            "For writes, there is a degradation when GPFS data shipping is turned on, particularly as task "
            "counts increase (4.3.1)", "2-data-shipping", "write",
            "list_io to data_shipping, typically", claims.typically("list_io", "data_shipping"), 1.05,
            needs="gpfs",
        ),
        Claim(
            "For reads, controlled prefetching is a winner, especially when max_acc is one (4.3.2)",
            "4-prefetch",
            "read", "prefetch to list_io, typically", claims.typically("prefetch", "list_io"), 1.05,
            needs="disk",
        ),
        Claim(
            "For writes, a very limited benefit of controlled prefetching (4.3.2)", "4-prefetch", "write",
            "prefetch to list_io, typically", claims.typically("prefetch", "list_io"), 0.9, 1.2,
        ),
        Claim(
            "The benefit of the sparse access hint becomes significant with truly sparse patterns (4.3.3)",
            "6-sparse", "write", "sparse to two_phase at 1 %", claims.at_last("sparse", "two_phase"), 1.1,
        ),
        Claim(
            "The benefit of the sparse access hint becomes significant with truly sparse patterns (4.3.3)",
            "6-sparse", "read", "sparse to two_phase at 1 %", claims.at_last("sparse", "two_phase"), 1.1,
        ),
        Claim(
            "As the pattern becomes more dense, performance is better without the hint (4.3.3)", "6-sparse",
            "write",
            "two_phase to sparse at 100 %", claims.at_first("two_phase", "sparse"), 1.0,
        ),
        Claim(
            "Double buffering brings noticeable benefit for writes (4.3.4)", "8-double-buffering", "write",
            "double_buffer to two_phase, typically", claims.typically("double_buffer", "two_phase"), 1.05,
            needs="core",
        ),
        Claim(
            "... and substantial benefit for reads (4.3.4)", "8-double-buffering", "read",
            "double_buffer to two_phase, typically", claims.typically("double_buffer", "two_phase"), 1.2,
            needs="core",
        ),
        Claim(
            "Allocating more tasks per node decreases the bandwidth (4.3.5)", "10-ranks-of-a-node", "write",
            "two_phase, one rank of a node to all", claims.first_to_last("two_phase"), 1.05, needs="network",
        ),
    ),
    ranks=(2, 4, 16),
)  # fmt: skip

# The methods that are measured for this paper's figures. The paper's list I/O passes lists to the file
# system, as data_shipping does where agents don't combine requests; list_io makes one call for each piece.
METHODS_2006 = ("sieve", "two_phase", "data_shipping", "datatype_io", "mmap", "shared_data",
                "shared_buffer_list", "shared_buffer")  # fmt: skip
ARMS_2006 = ("host", *METHODS_2006, "auto", "raw")
OLD_2006 = ("host", "sieve", "two_phase", "data_shipping")
LISTS_2006 = tuple(("data_shipping", f"romio_cb_{way}", "disable") for way in ("read", "write"))

PAPER_2006 = Paper(
    "2006",
    "Hastings and Choudhary, Exploiting Shared Memory to Improve Parallel I/O Performance",
    (
        Sweep(
            "1-coll_perf", "3-D blocks of ints", "coll_perf", "ranks", RANKS, ARMS_2006, given={"n": "160"},
            full_given={"n": "600"}, arm_hints=LISTS_2006,
        ),
        Sweep(
            "2-tile", "tile reader", "tile", "ranks", RANKS, ARMS_2006, given={"frames": "2"},
            full_given={"frames": "1"}, directions=("read",), arm_hints=LISTS_2006,
        ),
        Sweep(
            "3-flash", "block sizes", "flash", "cells along a block's edge", "nxb", ARMS_2006, (4, 6, 8),
            (8, 12, 16, 20, 24, 28, 32, 36), directions=("write",), arm_hints=LISTS_2006,
        ),
        Sweep(
            "3-flash", "numbers of ranks", "flash", "ranks", RANKS, ARMS_2006, given={"nxb": "6"},
            full_given={"nxb": "20"}, directions=("write",), arm_hints=LISTS_2006,
        ),
    ),
    (
        Claim(
            "3-D block test: collective shared buffer achieves the best write performance (3.1)",
            "1-coll_perf",
            "write", "shared_buffer to the best older method, typically",
            claims.typically("shared_buffer", *OLD_2006), 1.0,
        ),
        Claim(
            "... and the best read performance (3.1)", "1-coll_perf", "read",
            "shared_buffer to the best older method, typically",
            claims.typically("shared_buffer", *OLD_2006), 1.0,
        ),
        Claim(
            "Tile reader: it consistently outperforms the other methods (3.2)", "2-tile", "read",
            "shared_buffer to the best older method, typically",
            claims.typically("shared_buffer", *OLD_2006), 1.0,
        ),
        Claim(
            "FLASH: a 5x improvement over the best existing method, two-phase collective (3.3)", "3-flash",
            "write",
            "shared_buffer to the host's two-phase, at most", claims.times("shared_buffer", "host"), 5,
            partly=1.5,
        ),
        Claim(
            "FLASH: over 90% of the available disk bandwidth (3.3)", "3-flash", "write",
            "shared_buffer, per cent of raw I/O, at most", claims.of_raw("shared_buffer"), 90, partly=60,
        ),
        Claim(
            "Datatype iterators rather than lists: the best aggregate performance (4)", "3-flash", "write",
            "shared_buffer to shared_buffer_list, typically",
            claims.typically("shared_buffer", "shared_buffer_list"), 1.0,
        ),
    ),
    modes=("buffered", "direct"),
)  # fmt: skip

SLOTS = ("multithreaded@2", "multithreaded@4", "multithreaded@8")

PAPER_2014 = Paper(
    "2014",
    "Tsujita et al., Multithreaded Two-Phase I/O",
    (
        Sweep(
            "5-slots", "HPIO with gaps", "hpio", "collective buffer (the smaller, the more cycles)",
            "cb_buffer_size",
            ("host", "two_phase", "double_buffer", *SLOTS, "raw"), ("16MiB", "4MiB", "1MiB"),
            ("64MiB", "32MiB", "16MiB", "8MiB", "4MiB", "2MiB", "1MiB"), {"count": "16000"},
            {"count": "1544676"},
            arm_hints=tuple(
                hint
                for arm in SLOTS
                for hint in (
                    (arm, "oratorio_slots", arm.partition("@")[2]),
                    (arm, "oratorio_buffer_per_slot", "true"),
                )
            ),
        ),
    ),
    (
        Claim(
            "Performance improvements up to about 60% relative to the original (III-C)", "5-slots", "write",
            "multithreaded to two_phase, at most",
            lambda curves: max(filter(None, (claims.times(arm, "two_phase")(curves) for arm in SLOTS)),
            default=None),
            1.6, partly=1.1, needs="core",
        ),
        Claim(
            "Performance improved as the number of slots increased at almost all the cycles (III-C)",
            "5-slots",
            "write", "share of steps to more slots that are faster", claims.rising(*SLOTS), 0.75,
            needs="core",
        ),
    ),
)  # fmt: skip

LOCALS = "oratorio_local_aggregators_per_node"
LAYERS = (
    "two_phase",
    "two_layer",
    "two_layer_overlapped",
    "two_layer_shared",
    "two_layer_shared_overlapped",
    "auto",
)


def _layers(
    figure: str, title: str, workload: str, given: Mapping[str, str], full: Mapping[str, str]
) -> Sweep:
    return Sweep(
        figure, title, workload, "local aggregators of a node", LOCALS, LAYERS, (1, 2), (1, 2, 4), given,
        full,
        directions=("write",), ranks_of_node=4,
    )  # fmt: skip


def _bandwidth(figure: str, said: str) -> Claim:
    return Claim(
        said,
        figure,
        "write",
        "two_layer to two_phase, at most",
        claims.times("two_layer", "two_phase"),
        3,
        partly=1.1,
        needs="network",
    )


PAPER_2019 = Paper(
    "2019",
    "Kang et al., Improving MPI Collective I/O Performance With Intra-node Request Aggregation",
    (
        _layers("4-e3sm_g", "E3SM G", "e3sm_g", {"columns": "96"}, {"columns": "387"}),
        _layers("5-e3sm_f", "E3SM F", "e3sm_f", {"columns": "36"}, {"columns": "144"}),
        _layers("6-btio", "BTIO", "btio", {"n": "48", "variables": "4"}, {"n": "96", "variables": "10"}),
        _layers("7-s3d", "S3D-IO", "s3d", {"n": "64"}, {"n": "128"}),
    ),
    (
        *(
            _bandwidth(figure, f"{name}: 3 to 29 times faster than two-phase I/O (I, V)")
            for figure, name in (("4-e3sm_g", "E3SM G"), ("5-e3sm_f", "E3SM F"), ("6-btio", "BTIO"),
            ("7-s3d", "S3D-IO"))
        ),
        *(
            Claim(
                f"{name}: shared memory in place of messages would do better (VI, future work)", figure,
                "write",
                "two_layer_shared to two_layer, typically", claims.typically("two_layer_shared",
                "two_layer"), 1.05,
            )
            for figure, name in (("6-btio", "BTIO"), ("7-s3d", "S3D-IO"))
        ),
        Claim(
            "Overlap with the I/O would do better (VI, future work)", "7-s3d", "write",
            "two_layer_overlapped to two_layer, typically", claims.typically("two_layer_overlapped",
            "two_layer"), 1.05, needs="core",
        ),
    ),
    ranks=(16,),
)  # fmt: skip

PAPERS = {paper.year: paper for paper in (PAPER_1995, PAPER_2001, PAPER_2006, PAPER_2014, PAPER_2019)}
