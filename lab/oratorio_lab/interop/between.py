# SPDX-License-Identifier: BSD-3-Clause
"""Tests of code between a program and its MPI, such as profilers, and of programs into which Oratorio cannot
be loaded."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from oratorio.launch.hosts import Host, preload_library
from oratorio.launch.programs import needs_of
from oratorio.quantity import counted
from oratorio_lab.interop.model import RANKS, MissingError, WrongError
from oratorio_lab.interop.sessions import SECONDS, patiently
from oratorio_lab.interop.trial import accesses, both_ways, compiled, host_of, oratorio_says, run

Run = Callable[[Path], str]
BLOCK_BYTES = 4000
COUNTED = f"profiler: 1 opens, 1 collective writes, {BLOCK_BYTES} bytes by pwrite"
BYPASSED = "Oratorio was bypassed"
# The environment that `oratorio run` needs if root starts Open MPI on few cores.
OPENMPI = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
OPENMPI |= {"OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_hwloc_base_binding_policy": "none"}


def gio_is_told(program: Path) -> str:
    """Checks that `oratorio run` warns of GIO and names the hint that disables it, and does not mention GIO
    if the hint is set. Raises WrongError."""
    _, said = oratorio_says("run", "--dry-run", program)
    _, with_hint = oratorio_says("run", "--dry-run", program, env={"PNETCDF_HINTS": "nc_driver=mpiio"})
    if "nc_driver=mpiio" not in said or "GIO" in with_hint:
        raise WrongError("`oratorio run` does not warn of GIO, or warns although a hint disables it")
    return "`oratorio run` warns of it"


def _profiler(host: Host) -> Path:
    return compiled(host, "profiler_next.c", "", "-shared", "-fPIC", "-ldl", name="libprofiler_next.so")


def _profiled(host: Host, program: Path, preload: Sequence[Path], folder: Path) -> str:
    """Runs a program with `oratorio explain` and these libraries preloaded. Raises WrongError unless the
    profiler's counts are right on all ranks and Oratorio saw the accesses."""
    env = {**OPENMPI, **host.env, "LD_PRELOAD": ":".join(map(str, preload))}
    code, said = oratorio_says("explain", host.mpiexec, "-n", str(RANKS), program, folder, env=env)
    if code:
        raise WrongError(f"exit code {code}: {said.strip().splitlines()[-1]}")
    if said.count(COUNTED) != RANKS or not accesses(said):
        raise WrongError(
            f"the profiler's counts are right on {said.count(COUNTED)} of {RANKS} ranks; Oratorio saw "
            f"{counted(accesses(said), 'access')}"
        )
    seen = counted(accesses(said), "access")
    return f"its counts are right (opens, writes, bytes by pwrite), {seen} seen"


def profiler_before(place: str) -> Run:
    def trial(folder: Path) -> str:
        host = host_of(place)
        return _profiled(host, compiled(host, "written_block.c"), [_profiler(host)], folder)

    return trial


def profiler_behind(place: str) -> Run:
    def trial(folder: Path) -> str:
        host = host_of(place)
        program, order = compiled(host, "written_block.c"), [preload_library(), _profiler(host)]
        mended = _profiled(host, program, order, folder)
        # Without `oratorio run` the order stays wrong, and Oratorio must warn.
        env = {"LD_PRELOAD": ":".join(map(str, order))}
        said = run(host, [program, folder], preload=False, env=env)
        if "profiler:" in said or "is loaded after Oratorio" not in said:
            raise WrongError("without `oratorio run` there is no warning about the order")
        return f"`oratorio run` loads it before Oratorio: {mended}; without `oratorio run`: a warning"

    return trial


def profiler_linked(place: str) -> Run:
    def trial(folder: Path) -> str:
        host = host_of(place)
        library = _profiler(host)
        flags = ["-Wl,--no-as-needed", str(library), f"-Wl,-rpath,{library.parent}"]
        program = compiled(host, "written_block.c", "", *flags, name="profiled_block")
        if needs_of(program).profilers != (library,):
            raise WrongError("`oratorio run` doesn't notice the profiler")
        return f"`oratorio run` loads it before Oratorio: {_profiled(host, program, [], folder)}"

    return trial


def _sessions(host: Host, words: Sequence, preload: bool) -> str:
    return patiently(lambda: run(host, words, preload=preload, seconds=SECONDS))


def sessions(place: str) -> Run:
    def trial(folder: Path) -> str:
        host = host_of(place)
        program = compiled(host, "sessions.c", "", "-rdynamic", "-ldl", "-pthread")
        said = _sessions(host, [program, folder, "session"], preload=True)
        numbers = b"".join(rank.to_bytes(4, sys.byteorder) for rank in range(RANKS))
        if (folder / "numbers.dat").read_bytes() != numbers or not accesses(said):
            raise WrongError(
                "the bytes are wrong, or Oratorio did not move them: "
                f"{counted(accesses(said), 'access')} seen"
            )
        seen = f"right bytes, {counted(accesses(said), 'access')} seen"
        try:
            _sessions(host, [program, folder, "session"], preload=False)
        except WrongError as wrong:
            return f"{seen}; without Oratorio: {str(wrong).rpartition(': ')[2]} fails"
        return seen

    return trial


def own_choice(place: str) -> Run:
    def trial(folder: Path) -> str:
        host = host_of(place)
        program = compiled(host, "own_choice.c", "", "-Wl,--as-needed", "-ldl")

        def words(out: Path, library: str) -> list:
            return [program, library, out, "lazy", "write"]

        if both_ways(host, lambda out: words(out, "libmpi.so.12"), folder / "mpi"):
            raise WrongError("Oratorio saw accesses, which were not expected")
        said = run(host, words(folder, "libmpi.so.12"), preload=True)
        if BYPASSED not in said:
            raise WrongError("there is no message that Oratorio was bypassed")
        return "same bytes, no access seen; a message says so when the program ends"

    return trial


def both_named(place: str) -> Run:
    """Returns a run of a program that looks names up in an empty library. The library depends on Oratorio's
    and then on the MPI's, so each name is found in Oratorio's library if that defines it."""

    def trial(folder: Path) -> str:
        host = host_of(place)
        program = compiled(host, "own_choice.c", "", "-Wl,--as-needed", "-ldl")
        ours = preload_library()
        flags = ["-shared", "-Wl,--no-as-needed", str(ours), f"-Wl,-rpath,{ours.parent}"]
        library = compiled(host, "own_choice_both.c", "", *flags, name="libmpi_oratorio.so")
        said = run(host, [program, library, folder, "lazy", "write"], preload=False)
        numbers = b"".join(rank.to_bytes(4, sys.byteorder) for rank in range(RANKS))
        if (folder / "own.dat").read_bytes() != numbers or not accesses(said):
            raise WrongError(
                "the bytes are wrong, or Oratorio did not move them: "
                f"{counted(accesses(said), 'access')} seen"
            )
        return f"right bytes, {counted(accesses(said), 'access')} seen"

    return trial


def static(place: str) -> Run:
    def trial(folder: Path) -> str:
        folder.mkdir(parents=True, exist_ok=True)
        source, program = folder / "program.c", folder / "program"
        source.write_text("int main(void) { return 0; }\n")
        done = subprocess.run(["cc", "-static", "-o", program, source], capture_output=True, check=False)
        if done.returncode:
            raise MissingError("cc can't link statically here")
        code, said = oratorio_says("run", host_of(place).mpiexec, "-n", "2", program, env=OPENMPI)
        if code != 2 or "is linked statically" not in said:
            raise WrongError(f"exit code {code}: {said}")
        return "`oratorio run` refuses it and says why"

    return trial
