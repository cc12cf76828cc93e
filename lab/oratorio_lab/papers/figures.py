# SPDX-License-Identifier: BSD-3-Clause
"""The papers' figures (workload, swept value and methods), and the papers' claims about them.

This is only a table: lab/oratorio_lab/papers/measure.py measures and draws the figures, and
docs/research/papers.md explains them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from oratorio_lab.papers import claims
from oratorio_lab.papers.arithmetic import COUNTED, Fact
from oratorio_lab.papers.claims import Claim

# A sweep over the numbers of --ranks. Other sweeps use the largest of these numbers, unless `ranks` or
# `each_ranks` is set.
RANKS = "ranks"
# A sweep over the number of cycles in which the aggregators write the file. The size of the
# collective buffer follows from it.
CYCLES = "cycles"
Values = tuple[int | str, ...]


@dataclass(frozen=True)
class Sweep:
    """A part of a figure, with a panel for each mode and direction: a workload over one value, with a line
    for each arm."""

    figure: str  # the paper's number, if it has one, and what the figure shows
    title: str
    workload: str
    axis: str
    over: str  # RANKS, CYCLES, a parameter of the workload, or else an info key
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
    # parameters that are multiplied by the number of ranks, and their values with --full
    by_ranks: Mapping[str, int] = field(default_factory=dict)
    full_by_ranks: Mapping[str, int] = field(default_factory=dict)
    keys_of: tuple[str, ...] = ()  # the arms that get the swept info key; all if empty
    ranks: int = 0  # the number of ranks; 0: the largest of --ranks
    each_ranks: bool = False  # a panel for each number of --ranks
    relative_to: str = ""  # the arm that has rate 1 in the picture; empty: the picture shows MiB/s


@dataclass(frozen=True)
class Paper:
    """The figures of one paper."""

    year: str
    title: str
    sweeps: tuple[Sweep, ...]
    claims: tuple[Claim, ...]
    modes: tuple[str, ...] = ("buffered",)
    ranks: tuple[int, ...] = (2, 4, 8)  # the default of --ranks
    their_ranks: str = ""  # the numbers of ranks in the paper
    counted: tuple[Fact, ...] = ()  # numbers of the paper that arithmetic yields
    absent: tuple[str, ...] = ()  # figures and tables that are not measured, and the reason or another place
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


def _target(figure: str, axis: str, key: str, values: Values, full: Values) -> Sweep:
    """Returns a sweep over a parameter of the CYCLIC target; BLOCK and raw I/O are for comparison."""
    return Sweep(
        figure, "CYCLIC(1 KiB)", "array", axis, key, ("cb_cyclic", "cb_block", "raw"),
        values, full, {"block": "1KiB", "bytes": "2MiB"}, {"bytes": "16MiB"},
        keys_of=("cb_cyclic",),
    )  # fmt: skip


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
        Sweep(
            "nodes", "CYCLIC(4 KiB)", "array", "compute nodes (ranks)", RANKS,
            ("naive", "grouping", "cb_block", "cb_file_layout", "cb_cyclic", "raw"),
            given={"block": "4KiB", "bytes": "4MiB"}, full_given={"bytes": "16MiB"},
        ),
        _target("target-nodes", "target nodes", "cb_nodes", (1, 2, 4, 8), ()),
        _target("target-buffer", "target buffer of a node", "cb_buffer_size", ("64KiB", "1MiB", "4MiB"),
                ("64KiB", "256KiB", "1MiB", "4MiB", "16MiB")),
        _target("target-block", "block of the target distribution", "oratorio_cyclic_block",
                ("4KiB", "64KiB", "1MiB"), ("4KiB", "16KiB", "64KiB", "256KiB", "1MiB", "4MiB")),
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
            "Scatter/gather: peak performance is achieved across all data block sizes (p. 41, simulated)",
            "buffering",
            "write", "cb_gather at its slowest size to the fastest method at any size",
            claims.lowest_to_peak("cb_gather", *BUFFERING), 0.8, partly=0.5,
        ),
        Claim(
            "With scatter/gather, performance is uniform (p. 46)", "buffering", "write",
            "cb_gather, fastest to slowest size", claims.spread("cb_gather"), 1, 2,
        ),
        Claim(
            "CYCLIC target: CB performance with limited resources (p. 39)", "target-buffer", "write",
            "cb_cyclic with the smallest buffer to cb_block", claims.at_first("cb_cyclic", "cb_block"), 0.8,
            partly=0.5,
        ),
    ),
    their_ranks="32 compute nodes in the titles of the graphs that name a number",
    absent=(
        "p. 7 to 30, drawings of the algorithms: docs/user/methods.md",
        "p. 19, 20, thrashing of CFS: the figure `nodes` has its axis; a page cache has no thrashing to show",
        "BLOCK distribution, naive algorithm: one piece for each rank, so no size to vary",
        "Paragon PFS and SP2 PIOFS side by side: one file system at a time; use --dir",
    ),
)  # fmt: skip

PREFETCH = tuple(f"prefetch@{ranges}" for ranges in (0, 1, 2, 4, 6, 8))  # max_acc; 0: no prefetching

PAPER_2001 = Paper(
    "2001",
    "Prost et al., MPI-IO/GPFS",
    (
        Sweep(
            "2-data-shipping", "4 KiB blocks, each rank alone", "ship", "ranks", RANKS,
            ("list_io", "sieve", "data_shipping", "datatype_io", "raw"), full_given={"blocks": "10000"},
        ),
        Sweep(
            "4-prefetch", "pieces of 100 blocks", "mar", "ranks", RANKS, (*PREFETCH, "list_io", "raw"),
            hints={"striping_unit": "262144"},
            arm_hints=tuple((arm, "oratorio_max_acc", arm.partition("@")[2]) for arm in PREFETCH),
        ),
        *(
            Sweep(
                "6-sparse", f"{percent} % of the stripes", "sparse", "ranks", RANKS,
                ("two_phase", "sparse", "auto"), given={"sparsity": str(percent)},
                by_ranks={"count": -(-percent // 8)}, full_by_ranks={"count": percent}, ranks_of_node=1,
            )
            for percent in (100, 50, 25, 10, 1)
        ),
        Sweep(
            "8-double-buffering", "discontiguous", "discontig", "ranks", RANKS, ("two_phase",
            "double_buffer", "raw"),
            given={"region": "16MiB"}, full_given={"region": "1GiB"}, hints={"cb_buffer_size": "2097152"},
        ),
        *(
            Sweep(
                "10-ranks-of-a-node", f"ranks of a pretended node: {of_node}", "discontig", "ranks", RANKS,
                ("two_phase", "auto"), given={"region": "16MiB"}, full_given={"region": "1GiB"},
                ranks_of_node=of_node,
            )
            for of_node in (1, 2, 4, 8)
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
            "read", "max_acc 1 to 0, typically", claims.typically("prefetch@1", "prefetch@0"), 1.05,
            needs="disk",
        ),
        Claim(
            "For writes, a very limited benefit of controlled prefetching (4.3.2)", "4-prefetch", "write",
            "max_acc 1 to 0, typically", claims.typically("prefetch@1", "prefetch@0"), 0.9, 1.2,
        ),
        Claim(
            "The benefit of the sparse access hint becomes significant at 16 or more tasks and with truly "
            "sparse patterns (4.3.3)",
            "6-sparse", "write", "sparse to two_phase at 1 % and most ranks",
            claims.at_last("sparse", "two_phase"), 1.1, panel="1 % of the stripes",
        ),
        Claim(
            "The benefit of the sparse access hint becomes significant at 16 or more tasks and with truly "
            "sparse patterns (4.3.3)",
            "6-sparse", "read", "sparse to two_phase at 1 % and most ranks",
            claims.at_last("sparse", "two_phase"), 1.1, panel="1 % of the stripes",
        ),
        Claim(
            "As the pattern becomes more dense, performance is better without the hint (4.3.3)", "6-sparse",
            "write",
            "two_phase to sparse at 100 %, typically", claims.typically("two_phase", "sparse"), 1.0,
            panel="100 % of the stripes",
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
            "Allocating more tasks per node, for both reads and writes, decreases the aggregated bandwidth "
            "(4.3.5)", "10-ranks-of-a-node", "write",
            "two_phase, fewest ranks of a node to most", claims.first_panel_to_last("two_phase"), 1.05,
            needs="network",
        ),
    ),
    ranks=(2, 4, 16),
    their_ranks="2 to 32, up to 12 in figures 2 and 3, up to 16 in 4 and 5, 4 to 128 in 10 and 11",
    absent=(
        "Figure 1, blocks dealt to agents: tests/unit/data_shipping/blocks_test.cpp asserts the order",
        "Figures 2 and 3, GPFS data shipping on and off: needs GPFS; the figure compares methods instead",
    ),
)  # fmt: skip

# The methods that are measured for this paper's figures. The paper's list I/O passes lists to the file
# system, as data_shipping does where agents don't combine requests; list_io makes one call for each piece.
METHODS_2006 = ("sieve", "two_phase", "data_shipping", "datatype_io", "mmap", "shared_data",
                "shared_buffer_list", "shared_buffer")  # fmt: skip
ARMS_2006 = ("host", *METHODS_2006, "auto", "raw")
OLD_2006 = ("host", "sieve", "two_phase", "data_shipping")
SUB_BUFFERS = tuple(f"shared_buffer@{number}" for number in (1, 2, 4, 8))
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
        Sweep(
            "sub-buffers", "FLASH, one aggregator", "flash", "ranks", RANKS, (*SUB_BUFFERS, "raw"),
            given={"nxb": "8"}, full_given={"nxb": "20"}, directions=("write",), hints={"cb_nodes": "1"},
            arm_hints=tuple((arm, "oratorio_slots", arm.partition("@")[2]) for arm in SUB_BUFFERS),
        ),
        Sweep(
            "aggregators", "FLASH", "flash", "aggregators", "cb_nodes",
            ("shared_buffer", "shared_buffer_list", "two_phase", "raw"), (1, 2, 4, 8), given={"nxb": "8"},
            full_given={"nxb": "20"}, directions=("write",),
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
        Claim(
            "A 40-90% performance improvement on FLASH by enabling sub-buffering (2)", "sub-buffers",
            "write", "shared_buffer with 2, 4 or 8 sub-buffers to 1, at most",
            claims.best_of(SUB_BUFFERS[1:], SUB_BUFFERS[0]), 1.4, partly=1.1, needs="core",
        ),
        Claim(
            "A single aggregator offered the best aggregate performance (4)", "aggregators", "write",
            "shared_buffer with one aggregator to the best of more", claims.first_to_best("shared_buffer"),
            1.0, partly=0.95,
        ),
    ),
    modes=("buffered", "direct"),
    their_ranks="4 to 24; 22 for FLASH's block sizes",
    counted=COUNTED["2006"],
)  # fmt: skip

AGGREGATORS = 2  # 30 in the paper
SLOTS = ("multithreaded@2", "multithreaded@4", "multithreaded@8")

PAPER_2014 = Paper(
    "2014",
    "Tsujita et al., Multithreaded Two-Phase I/O",
    (
        Sweep(
            "5-slots", "HPIO with gaps", "hpio", "cycles of the aggregators", CYCLES,
            ("host", "two_phase", "double_buffer", *SLOTS, "raw"), (5, 10, 20, 40), (5, 10, 20, 40, 80),
            {"count": "8000"}, {"count": "1544676"}, directions=("write",),
            hints={"cb_nodes": str(AGGREGATORS)}, each_ranks=True, relative_to="two_phase",
            arm_hints=(
                ("double_buffer", "oratorio_buffer_per_slot", "true"),
                *((arm, "oratorio_buffer_per_slot", "true") for arm in SLOTS),
                *((arm, "oratorio_slots", arm.partition("@")[2]) for arm in SLOTS),
            ),
        ),
    ),
    (
        Claim(
            "Performance improvements up to about 60% relative to the original (III-C)", "5-slots", "write",
            "multithreaded to two_phase, at most",
            claims.best_of(SLOTS, "two_phase"), 1.6, partly=1.1, needs="core",
        ),
        Claim(
            "Performance improved as the number of slots increased at almost all the cycles (III-C)",
            "5-slots",
            "write", "share of steps to more slots that are faster", claims.rising(*SLOTS), 0.75,
            needs="core",
        ),
    ),
    their_ranks="64, 128 and 256, with 30 aggregators",
    counted=COUNTED["2014"],
    absent=(
        "Figures 1 to 4, drawings of the cycles, queues and regions: docs/user/methods.md and workloads.md",
        "Table I, the paper's machine: the page names this one",
        "Means of 20 iterations: the median of --repeat passes",
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


BTIO = ({"n": "48", "variables": "4"}, {"n": "512", "variables": "40"})  # default and the paper's
S3D = ({"n": "64"}, {"n": "800"})


def _scaling(title: str, workload: str, given: Mapping[str, str], full: Mapping[str, str]) -> Sweep:
    return Sweep(
        "3-bandwidth", title, workload, "ranks", RANKS, ("two_phase", "two_layer", "two_layer_shared", "auto",
        "raw"),
        given=given, full_given=full, directions=("write",), ranks_of_node=4,
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
        _layers("6-btio", "BTIO", "btio", *BTIO),
        _layers("7-s3d", "S3D-IO", "s3d", *S3D),
        _scaling("E3SM G", "e3sm_g", {"columns": "96"}, {"columns": "387"}),
        _scaling("E3SM F", "e3sm_f", {"columns": "36"}, {"columns": "144"}),
        _scaling("BTIO", "btio", *BTIO),
        _scaling("S3D-IO", "s3d", *S3D),
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
        Claim(
            "For E3SM, two-phase I/O drops its bandwidth as the number of processes grows (V)", "3-bandwidth",
            "write", "two_phase, fewest ranks to most", claims.first_to_last("two_phase"), 1.05,
            needs="network", panel="E3SM G",
        ),
    ),
    ranks=(4, 16),
    their_ranks="256 to 16 384, on nodes of 64",
    absent=(
        "Figures 1 and 2, drawings of the aggregators and layers: docs/user/methods.md",
        "Sizes and pieces of the cases (V): counted by `oratorio count 2019`",
        "Figure 3 at 256 to 16 384 processes: `oratorio simulate`, docs/research/simulate.md",
        "The time of each step in figures 4 to 7: --profile lists storage, copying and the rest, and "
        "`simulate --plot` draws gather, exchange and storage at the paper's size; nothing times merging and "
        "posting alone",
    ),
)  # fmt: skip

PAPERS = {paper.year: paper for paper in (PAPER_1995, PAPER_2001, PAPER_2006, PAPER_2014, PAPER_2019)}
