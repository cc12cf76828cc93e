# SPDX-License-Identifier: BSD-3-Clause
"""Finds the file system that a path lies on, in this machine's list of mounts."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

LIST = Path("/proc/self/mountinfo")
# The kernel's type of a file system -> the library's name (src/store/file_system_types.cpp). Types that
# begin with fuse are FUSE, all others UFS.
NAMES = {
    "nfs": "NFS", "nfs4": "NFS", "lustre": "LUSTRE", "gpfs": "GPFS", "xfs": "XFS", "tmpfs": "TMPFS",
    "panfs": "PANFS", "beegfs": "BEEGFS", "ceph": "CEPH",
}  # fmt: skip
LOCAL = {"ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs", "tmpfs", "overlay"}
ONE_MACHINE = {
    "ramfs", "hugetlbfs", "zfs", "bcachefs", "jfs", "vfat", "exfat", "ntfs", "ntfs3", "udf", "hostfs",
    "squashfs", "erofs", "iso9660", "cramfs",
}  # fmt: skip
IN_STEP = {"lustre", "gpfs", "panfs", "ceph", "gfs2", "ocfs2"}


@dataclass(frozen=True)
class Mount:
    """The mount that a path lies on."""

    folder: str
    kind: str  # the kernel's name of the type

    @property
    def name(self) -> str:
        """The name that the library and the files of costs use."""
        return "FUSE" if self.kind.startswith("fuse") else NAMES.get(self.kind, "UFS")

    @property
    def is_local(self) -> bool:
        return self.kind in LOCAL or self.kind in ONE_MACHINE

    @property
    def has_locks_of_one_machine(self) -> bool:
        """True if no other kernel mounts the file system, so that its locks exclude all other users of a
        file. False for hostfs of user-mode Linux, because processes of the host may use the files."""
        return self.is_local and self.kind != "hostfs"

    @property
    def is_coherent(self) -> bool:
        """True if what one client writes is visible to all other clients at once."""
        return self.is_local or self.kind in IN_STEP


def _plain(text: str) -> str:
    """Decodes the octal escapes of mountinfo(5)."""
    return re.sub(r"\\(\d{3})", lambda found: chr(int(found[1], 8)), text)


def mounts_of(text: str) -> list[Mount]:
    """Parses the text of mountinfo(5)."""
    found = []
    for line in text.splitlines():
        left, _, right = line.partition(" - ")
        if len(left.split()) > 4 and right:
            found.append(Mount(_plain(left.split()[4]), right.split()[0]))
    return found


def mount_of(path: str | Path, listed: str | None = None) -> Mount | None:
    """Returns the mount of a path, which need not exist; None if unknown. `listed` replaces the text of
    LIST."""
    try:
        text = LIST.read_text() if listed is None else listed
    except OSError:
        return None
    real = os.path.realpath(path)
    best = None
    for mount in mounts_of(text):
        inside = mount.folder in ("/", real) or real.startswith(mount.folder + "/")
        if inside and (best is None or len(mount.folder) >= len(best.folder)):
            best = mount
    return best
