# SPDX-License-Identifier: BSD-3-Clause
"""The table of file systems that can be set up here.

A frame says what the two clients are. `two`: two Linux kernels in user mode on a bridge. `namespaces`: two
mounts without a kernel of their own (FUSE). `kernel`: one kernel in user mode, which isn't a client
of a server.
"""

from __future__ import annotations

from dataclasses import dataclass

from oratorio.errors import OratorioError

NFS_PACKAGES = ("nfs-kernel-server", "nfs-common", "rpcbind", "keyutils", "e2fsprogs")
CEPH_PACKAGES = ("ceph-mon", "ceph-osd", "ceph-mds", "ceph-common", "ceph-fuse")
# Maps each layer to the packages that are unpacked into it. A kind with a kernel needs KERNEL_PACKAGES.
KERNEL_PACKAGES = ("user-mode-linux", "kmod")
PACKAGES = {
    "disk": (*KERNEL_PACKAGES, "dmsetup", "e2fsprogs"),
    "nfs": (*KERNEL_PACKAGES, *NFS_PACKAGES),
    "gluster": ("glusterfs-server", "glusterfs-client"),
    "ceph": (*KERNEL_PACKAGES, *CEPH_PACKAGES),
    "moose": ("moosefs-master", "moosefs-chunkserver", "moosefs-client"),
    "ocfs2": (*KERNEL_PACKAGES, "ocfs2-tools"),
    "gfs2": (*KERNEL_PACKAGES, "gfs2-utils", "dlm-controld", "corosync"),
    "smb": (*KERNEL_PACKAGES, "samba", "cifs-utils"),
    "9p": (*KERNEL_PACKAGES, "diod"),
}


@dataclass(frozen=True)
class Kind:
    """A file system and its clients."""

    name: str
    title: str
    frame: str  # two, kernel or namespaces
    layer: str  # a key of PACKAGES
    script: str  # name of a script in setup/, without .sh
    options: str = ""  # more mount options
    third: str = ""  # a third mount, on the server or of a third client; empty: none

    @property
    def has_kernel(self) -> bool:
        """True if Linux in user mode is booted."""
        return self.frame != "namespaces"


# DISK is for tests of failing disks. It has one client, so it is not one of KINDS.
DISK = Kind("disk", "ext4 on disks with injected failures", "kernel", "disk", "disk")
KINDS = (
    Kind("nfs", "NFSv4.2, Linux's server and client", "two", "nfs", "nfs", third="/export"),
    Kind("gluster", "GlusterFS, two bricks, FUSE", "namespaces", "gluster", "gluster", third="/export"),
    Kind("ceph", "CephFS, Linux's client", "two", "ceph", "ceph"),
    Kind("ceph-fuse", "CephFS, FUSE", "namespaces", "ceph", "ceph_fuse", third="/export"),
    Kind("moose", "MooseFS, FUSE", "namespaces", "moose", "moose", third="/export"),
    Kind("ocfs2", "OCFS2 with o2cb, a disk that two kernels share", "two", "ocfs2", "ocfs2"),
    Kind("gfs2", "GFS2 with dlm, a disk that two kernels share", "two", "gfs2", "gfs2"),
    Kind("smb", "SMB 3.1.1, Samba and Linux's client, locks mandatory", "two", "smb", "smb"),
    Kind(
        "smb-nobrl",
        "SMB 3.1.1, Samba and Linux's client, locks not passed to the server",
        "two",
        "smb",
        "smb",
        options=",nobrl",
    ),
    Kind("9p", "9p, diod and Linux's client", "two", "9p", "9p"),
)


def find_kind(name: str) -> Kind:
    """Returns the one of KINDS named `name`. Raises OratorioError if there is none."""
    for kind in KINDS:
        if kind.name == name:
            return kind
    raise OratorioError(f"no kind named {name}; the kinds are " + ", ".join(kind.name for kind in KINDS))
