# SPDX-License-Identifier: BSD-3-Clause
"""The look of each arm in all pictures: colour, marker and name in the legend."""

import zlib
from dataclasses import dataclass

from oratorio_lab.bench.arms import RAW, is_host

PAGE_INCHES = 8.0  # width of a picture
DOTS_PER_INCH = 110  # makes pictures 880 pixels wide, which a README shows without scaling


@dataclass(frozen=True)
class Look:
    """The style of one arm."""

    color: str
    marker: str
    label: str


def _named(color: str, marker: str) -> Look:
    """Returns a style that shows the arm's own name in the legend."""
    return Look(color, marker, "")


# Oratorio's own choice is the strongest blue. Five methods that `auto` may take (list_io, mmap,
# shared_buffer, two_phase and sieve) have the colours of Okabe and Ito, which can be distinguished with every
# kind of colour vision. The host's own MPI-IO is grey.
LOOKS = {
    "auto": Look("#0072B2", "o", "Oratorio"),
    "list_io": _named("#56B4E9", "^"),
    "mmap": _named("#D55E00", "D"),
    "shared_buffer": _named("#E69F00", "s"),
    "two_phase": _named("#CC79A7", "v"),
    "sieve": _named("#009E73", "P"),
    "shared_buffer_list": _named("#8C564B", "X"),
    "shared_data": _named("#882255", "p"),
    "double_buffer": _named("#AA66DD", "<"),
    "multithreaded": _named("#332288", ">"),
    "cb_cyclic": _named("#999933", "h"),
    "cb_file_layout": _named("#117733", "H"),
    "one_writer": _named("#E8505B", "d"),
    "naive": _named("#7FE0C8", "8"),
    "cb_gather": _named("#5E7FB0", "X"),
    "cb_block": _named("#7F0000", "H"),
    "sparse": _named("#3AEA00", "d"),
    "disk_directed": _named("#7500EA", "h"),
    "grouping": _named("#C9C93E", "<"),
    "prefetch": _named("#00C9A7", ">"),
    "data_shipping": _named("#5C4B00", "P"),
    "datatype_io": _named("#A67B00", "X"),
    "two_layer": _named("#EA00C3", "v"),
    "two_layer_overlapped": _named("#F28AE0", "v"),
    "two_layer_shared": _named("#1F1FE0", "s"),
    "two_layer_shared_overlapped": _named("#8080F5", "s"),
    "multithreaded@2": Look("#88CCEE", "2", "multithreaded, 2 slots"),
    "multithreaded@4": Look("#4477AA", "3", "multithreaded, 4 slots"),
    "multithreaded@8": Look("#223355", "4", "multithreaded, 8 slots"),
    "prefetch@0": Look("#F20000", "1", "prefetch, max_acc 0"),
    "prefetch@1": Look("#6DF26D", "2", "prefetch, max_acc 1"),
    "prefetch@2": Look("#00F250", "3", "prefetch, max_acc 2"),
    "prefetch@4": Look("#00F2F2", "4", "prefetch, max_acc 4"),
    "prefetch@6": Look("#A1F200", "+", "prefetch, max_acc 6"),
    "prefetch@8": Look("#A529A5", "x", "prefetch, max_acc 8"),
    "shared_buffer@1": Look("#F2F200", "1", "shared_buffer, 1 sub-buffer"),
    "shared_buffer@2": Look("#F20050", "2", "shared_buffer, 2 sub-buffers"),
    "shared_buffer@4": Look("#00A1F2", "3", "shared_buffer, 4 sub-buffers"),
    "shared_buffer@8": Look("#F23CF2", "4", "shared_buffer, 8 sub-buffers"),
    "by_hand": Look("#6B3E12", "x", "two phases by hand"),
    "bare": Look("#003300", "|", "bare program"),
    "bare_avx2": Look("#335C00", "1", "bare program, AVX2"),
    "bare_avx512": Look("#668F33", "2", "bare program, AVX-512"),
    "host": Look("#9AA2AB", "*", "host's MPI-IO"),
    "host_tuned": Look("#5B636D", "*", "host's, tuned"),
    "host_cb": _named("#C9CED4", "1"),
    "host_cb_small": _named("#A9A192", "2"),
    "host_cb_large": _named("#7A7468", "3"),
    "host_pieces": _named("#DDD8CC", "4"),
    "host_sieve": _named("#3B4148", "+"),
    "raw": Look("#000000", "", "raw POSIX I/O"),
    "raw_direct": Look("#000000", "", "raw direct I/O"),
}
# Colours of arms that are not in LOOKS, because the user named them. A hash of the name picks the colour, so
# a name always has the same colour.
OTHERS = ("#B0B7BF", "#6C7782", "#8F8879", "#4E4A42")


def look_of(arm: str) -> Look:
    """Returns the style of an arm, the same in every picture."""
    known = LOOKS.get(arm)
    if known is None:
        return Look(OTHERS[zlib.crc32(arm.encode()) % len(OTHERS)], "*" if is_host(arm) else "o", arm)
    return known if known.label else Look(known.color, known.marker, arm)


def line_style(arm: str) -> dict[str, object]:
    """Returns matplotlib's options for an arm's line: raw I/O is dashed, and Oratorio's line is on top."""
    look = look_of(arm)
    if arm in RAW:
        return {"color": look.color, "linestyle": (0, (4, 2)), "linewidth": 1.2, "label": look.label}
    first = arm == "auto"
    return {
        "color": look.color,
        "marker": look.marker,
        "markersize": 6 if first else 5,
        "linewidth": 2.6 if first else 1.5,
        "zorder": 3 if first else 2,
        "label": look.label,
    }
