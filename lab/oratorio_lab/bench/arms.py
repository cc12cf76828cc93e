# SPDX-License-Identifier: BSD-3-Clause
"""The arms of a comparison, that is, the ways of file access that are compared: Oratorio's methods, the host
MPI's own MPI-IO with several sets of hints, two-phase I/O without MPI-IO, and raw POSIX I/O."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from oratorio.library.method_table import methods
from oratorio_lab.bench.workloads import BenchError

RAW = ("raw", "raw_direct")
# two-phase I/O as users write it by hand, without MPI-IO; for workloads in which ranks form rows of a grid
BY_HAND = "by_hand"
# Two-phase I/O by a bare program that knows everything in advance (lab/bench/bare.hpp). Arm -> the flag in
# /proc/cpuinfo of the instructions that it needs.
BARE = {"bare": "", "bare_avx2": "avx2", "bare_avx512": "avx512f"}
# arms that use no MPI-IO
WITHOUT_MPI_IO = (*RAW, BY_HAND, *BARE)
Hints = Mapping[str, str]


def is_host(arm: str) -> bool:
    return arm == "host" or arm.startswith("host_")


def is_oratorios(arm: str) -> bool:
    return not is_host(arm) and arm not in WITHOUT_MPI_IO


def method_of(arm: str) -> str:
    """Returns the method of an Oratorio arm. METHOD@WORD names another arm with the same method, but
    hints of its own."""
    return arm.partition("@")[0]


def _collective(**more: str) -> Hints:
    """Returns hints for two-phase I/O (collective buffering) with one aggregator for each core."""
    cores = str(len(os.sched_getaffinity(0)))
    return {
        "romio_cb_write": "enable",
        "romio_cb_read": "enable",
        "cb_config_list": f"*:{cores}",
        "cb_nodes": cores,
        **more,
    }


def _independent(sieving: str) -> Hints:
    """Returns hints for independent access by each rank, with or without data sieving."""
    keys = ("romio_cb_write", "romio_cb_read", "romio_ds_write", "romio_ds_read")
    return dict(zip(keys, ("disable", "disable", sieving, sieving), strict=True))


# The keys are hints of ROMIO, MPICH's MPI-IO. Open MPI's own MPI-IO (OMPIO) knows only two of them: cb_nodes
# and cb_buffer_size.
TUNINGS: dict[str, Hints] = {
    "host_cb": _collective(),
    "host_cb_small": _collective(cb_buffer_size=str(1 << 20)),
    "host_cb_large": _collective(cb_buffer_size=str(128 << 20)),
    "host_pieces": _independent("disable"),
    "host_sieve": _independent("enable"),
}
# The fastest tunings with 4 ranks and MPICH 5 on tmpfs: workload -> (tuning for writes, tuning for reads).
BEST = {
    "coll_perf": ("host_pieces", "host_pieces"),
    "tile": ("host_sieve", "host_pieces"),
    "flash": ("host_cb_large", "host_sieve"),
    "hpio": ("host_cb", "host_sieve"),
    "discontig": ("host_cb_small", "host_pieces"),
    "sparse": ("host_pieces", "host_pieces"),
    "mar": ("host_pieces", "host_pieces"),
    "ship": ("host_pieces", "host_pieces"),
    "array": ("host_pieces", "host_pieces"),
    "array of small pieces": ("host_cb_small", "host_sieve"),
    "btio": ("host_pieces", "host_pieces"),
    "s3d": ("host_pieces", "host_pieces"),
    "lattice": ("host_pieces", "host_pieces"),
    "transposed": ("host_cb", "host_pieces"),
    "e3sm_f": ("host_sieve", "host_sieve"),
    "e3sm_g": ("host_cb", "host_sieve"),
    "vec8": ("host_sieve", "host_sieve"),
}
SMALL_PIECE = 1024


def _best(workload: str, parameters: Mapping[str, object]) -> Hints:
    small = workload == "array" and parameters["dist"] != "block" and parameters["block"] < SMALL_PIECE
    write, read = (TUNINGS[name] for name in BEST["array of small pieces" if small else workload])
    of_writes = {key: value for key, value in write.items() if not key.endswith("read")}
    of_reads = {key: value for key, value in read.items() if not key.endswith("write")}
    return of_reads | of_writes


def arm_hints(
    arm: str,
    workload: str,
    parameters: Mapping[str, object],
    given: Sequence[tuple[str, str, str]],
    direct: bool,
) -> Hints:
    """Returns an arm's info keys in a workload: the hints in `given` for this arm, or else the arm's tuning.
    With `direct`, adds the keys for direct I/O to arms of MPI-IO."""
    own = {key: value for name, key, value in given if name == arm}
    if arm in WITHOUT_MPI_IO:
        return own
    past_cache = {"direct_read": "true", "direct_write": "true"} if direct else {}
    tuning = _best(workload, parameters) if arm == "host_tuned" else TUNINGS.get(arm, {})
    return past_cache | (own or tuning)


def bare_arms(cpuinfo: str) -> list[str]:
    """Returns the arms of BARE that the processor which `cpuinfo` describes can run."""
    flags = {word for line in cpuinfo.splitlines() if line.startswith("flags") for word in line.split()}
    return [arm for arm, flag in BARE.items() if not flag or flag in flags]


def expand(text: str | None, with_oratorio: bool, direct: bool) -> tuple[str, ...]:
    """Returns the arms that `text`, the value of --method, names; if it is None, the default arms. Raises
    BenchError."""
    default = "host,host_tuned,auto,raw" if with_oratorio else "host,host_tuned,raw"
    groups = {
        "methods": methods(),
        "hosts": ["host", "host_tuned", *TUNINGS],
        "raw": ["raw_direct" if direct else "raw"],
        "bare": bare_arms(Path("/proc/cpuinfo").read_text()),
    }
    words = [word for word in (default if text is None else text).split(",") if word]
    arms = list(dict.fromkeys(arm for word in words for arm in groups.get(word, [word])))
    if not arms:
        raise BenchError("--method is empty: name what to measure")
    missing = [arm for arm in arms if is_oratorios(arm)]
    if missing and not with_oratorio:
        raise BenchError(f"the Oratorio library is not built, so there is no method {', '.join(missing)}")
    strangers = {method_of(arm) for arm in missing} - set(methods())
    if strangers:
        raise BenchError(
            f"there is no method {', '.join(sorted(strangers))}; the methods are {', '.join(methods())}"
        )
    return tuple(arms)


def parse_hints(texts: Sequence[str], arms: Sequence[str]) -> tuple[tuple[str, str, str], ...]:
    """Returns (arm, key, value) of each `[ARM:]key=value`, by default for host_tuned. Raises BenchError if a
    hint is malformed, if its arm does not run, or if a host arm has no hint and is not in this module's
    list."""
    hints = []
    for text in texts:
        left, equals, value = text.partition("=")
        arm, colon, key = left.rpartition(":")
        if not (key and equals):
            raise BenchError(f"a hint must be [METHOD:]key=value, not {text}")
        hints.append((arm if colon else "host_tuned", key, value))
    strangers = {arm for arm, _, _ in hints} - set(arms)
    if strangers:
        raise BenchError(f"--hint names an arm that --method does not select: {', '.join(sorted(strangers))}")
    named = {"host", "host_tuned", *TUNINGS} | {arm for arm, _, _ in hints}
    bare = [arm for arm in arms if is_host(arm) and arm not in named]
    if bare:
        raise BenchError(f"arm {', '.join(bare)} has no hints; pass some with --hint {bare[0]}:key=value")
    return tuple(hints)
