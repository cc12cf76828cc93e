# SPDX-License-Identifier: BSD-3-Clause
"""The checks of `oratorio doctor` that look at the machine: a folder's file system, shared memory, limits and
settings of the kernel."""

from __future__ import annotations

import fcntl
import mmap
import os
import platform
import resource
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from oratorio.doctor.doctor import BAD, NOTE, OK, Finding
from oratorio.machine import costs
from oratorio.machine.mounts import Mount, mount_of
from oratorio.quantity import amount

MIB = 1 << 20
SHARED_LEAST = 16 * MIB  # with less free space, /dev/shm can't hold the buffers of a few aggregators
SHARED_GOOD = 256 * MIB
FREE_GOOD = 1 << 30
UNLIMITED = resource.RLIM_INFINITY


def _kind(mount: Mount | None, folder: Path) -> Finding:
    if mount is None:
        return Finding(NOTE, "file system", f"the file system of {folder} is unknown")
    name = f"{folder} is on {mount.kind}, which Oratorio calls {mount.name}"
    if mount.is_local:
        return Finding(OK, "file system", f"{name}: local to this machine")
    if mount.is_coherent:
        return Finding(OK, "file system", f"{name}: its clients keep their caches coherent")
    return Finding(NOTE, "file system", f"{name}: its clients have their own caches, which Oratorio bypasses",
                   "write collectively; docs/user/network-file-systems.md")  # fmt: skip


def _locks(descriptor: int) -> Finding:
    try:
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, 1)
        fcntl.lockf(descriptor, fcntl.LOCK_UN, 1)
    except OSError as error:
        return Finding(BAD, "locks", f"the file system refuses locks: {error.strerror}",
                       "writes with holes need them; mount it with locks (Lustre: -o flock)")  # fmt: skip
    return Finding(OK, "locks", "a range of a file can be locked")


# File system type -> what is known about its locks between nodes. On other file systems, each job tests
# whether nodes see each other's locks.
BETWEEN_NODES = {
    "cifs": "its locks are mandatory, so nodes use the job's own locks",
    "smb3": "its locks are mandatory, so nodes use the job's own locks",
    "9p": "a lock on a range holds the whole file, so ranks use the job's own locks",
}


def _reach(mount: Mount | None) -> list[Finding]:
    """Reports what is known about locks between nodes, because doctor runs on one node and can't test whether
    other nodes see its locks."""
    if mount is None or mount.has_locks_of_one_machine:
        return []
    known = BETWEEN_NODES.get(mount.kind)
    if known:
        return [Finding(NOTE, "locks", f"{mount.kind}: {known}", "docs/user/network-file-systems.md")]
    says = "each job tests whether nodes see each other's locks, and uses locks of its own if they don't"
    return [Finding(NOTE, "locks", says, "run oratorio doctor mpiexec ... on two nodes to see which it uses")]


def _mapping(descriptor: int) -> list[Finding]:
    try:
        mmap.mmap(descriptor, mmap.PAGESIZE).close()
    except OSError as error:
        return [
            Finding(
                NOTE,
                "mappings",
                f"files can't be mapped ({error.strerror}), so the method mmap is not available",
            )
        ]
    return []


def folder(where: Path, environ: Mapping[str, str], listed: str | None = None) -> list[Finding]:
    """Checks a folder: its file system, locks, mappings, free space and costs. `listed` replaces the text of
    this machine's list of mounts."""
    if not where.is_dir():
        return [Finding(BAD, "folder", f"{where} is not a folder", "name one with --dir")]
    try:
        file = tempfile.NamedTemporaryFile(prefix=".oratorio-", dir=where)  # noqa: SIM115  closed below
    except OSError as error:
        return [
            Finding(
                BAD, "folder", f"{where} can't be written to: {error.strerror}", "name another with --dir"
            )
        ]
    where = where.resolve()
    mount = mount_of(where, listed)
    found = [_kind(mount, where)]
    with file:
        file.truncate(mmap.PAGESIZE)
        found += [_locks(file.fileno()), *_reach(mount), *_mapping(file.fileno())]
    facts = os.statvfs(where)
    free = facts.f_bavail * facts.f_frsize
    if free < FREE_GOOD:
        found.append(Finding(NOTE, "space", f"{amount(free)} are free in {where}"))
    name = mount.name if mount else "UFS"
    text, source = costs.in_force(environ, costs.names_of(platform.node(), name))
    if text:
        found.append(Finding(OK, "costs", f"auto uses {source}"))
    else:
        found.append(Finding(NOTE, "costs", f"auto uses built-in costs for {name}",
                             f"run once: oratorio calibrate --dir {where}"))  # fmt: skip
    return found


def shared_memory(where: Path = Path("/dev/shm")) -> list[Finding]:
    """Checks the free space of the file system in which ranks of a node share buffers."""
    try:
        facts = os.statvfs(where)
    except OSError as error:
        return [Finding(BAD, "shared memory", f"{where}: {error.strerror}",
                        "mount a tmpfs there; without it ranks of a node exchange data by "
                        "messages")]  # fmt: skip
    size, free = facts.f_blocks * facts.f_frsize, facts.f_bavail * facts.f_frsize
    told = f"{where} has {amount(free)} free of {amount(size)}"
    if free < SHARED_LEAST:
        return [
            Finding(
                BAD,
                "shared memory",
                told,
                "delete files there, or mount a larger tmpfs there (Docker: --shm-size=1g)",
            )
        ]
    if free < SHARED_GOOD:
        return [Finding(NOTE, "shared memory", told, "many ranks need more (Docker: --shm-size=1g)")]
    return [Finding(OK, "shared memory", told)]


# (name, limit, soft limit that is enough, what a lower one hinders, what raises it)
LIMITS = (
    ("processes", resource.RLIMIT_NPROC, 1024, "ranks may lack helper threads", "ulimit -u"),
    ("open files", resource.RLIMIT_NOFILE, 256, "ranks can't open many files at the same time", "ulimit -n"),
    ("file size", resource.RLIMIT_FSIZE, UNLIMITED, "ranks can't write larger files", "ulimit -f unlimited"),
    ("memory", resource.RLIMIT_AS, UNLIMITED, "allocating buffers may fail", "ulimit -v unlimited"),
    ("locked memory", resource.RLIMIT_MEMLOCK, 8 * MIB, "direct I/O can't register buffers", "ulimit -l"),
)


def limits(asked: Callable[[int], tuple[int, int]] = resource.getrlimit) -> list[Finding]:
    """Checks the limits of this process. Ranks inherit them if the launcher runs on this machine."""
    found = []
    for name, limit, enough, hinders, do in LIMITS:
        soft, _ = asked(limit)
        if soft != UNLIMITED and (enough == UNLIMITED or soft < enough):
            found.append(Finding(NOTE, "limits", f"{name}: {soft}, so {hinders}", f"raise it ({do})"))
    return found or [Finding(OK, "limits", "no limit is too low")]


# (file in /proc/sys, values that hinder, consequence)
KERNEL = (
    ("kernel/io_uring_disabled", ("1", "2"), "io_uring is not available: direct I/O uses the store posix"),
    (
        "kernel/yama/ptrace_scope",
        ("2", "3"),
        "ranks can't access each other's memory, so the method shared_data is not available",
    ),
)


def kernel(settings: Path = Path("/proc/sys")) -> list[Finding]:
    """Reports kernel settings that forbid something that Oratorio uses. Settings that allow it are not
    reported."""
    found = []
    for name, hindering, told in KERNEL:
        try:
            value = (settings / name).read_text().strip()
        except OSError:
            continue
        if value in hindering:
            found.append(Finding(NOTE, "kernel", f"{name} is {value}: {told}"))
    return found
