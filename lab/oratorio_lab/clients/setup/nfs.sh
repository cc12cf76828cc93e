#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# NFSv4.2: the first kernel serves an ext4 file system in memory as /export, and is a client of itself. Defines the
# steps of step.sh. The file system is not a tmpfs: with one, the server of Linux 6.1 returns wrong bytes to reads that
# cross several holes.
prepare() { modprobe -a nfs nfsv4; }

create() {
    modprobe nfsd
    modprobe brd rd_nr=1 rd_size=524288
    mkfs.ext4 -q /dev/ram0
    mkdir -p /export
    mount -t ext4 -o discard /dev/ram0 /export
    chmod 777 /export
    mount -t tmpfs tmpfs /var/lib/nfs
    mkdir -p /var/lib/nfs/rpc_pipefs /var/lib/nfs/v4recovery
    mount -t rpc_pipefs rpc_pipefs /var/lib/nfs/rpc_pipefs
    mount -t nfsd nfsd /proc/fs/nfsd
    rpcbind
    touch /var/lib/nfs/etab /var/lib/nfs/rmtab
    exportfs -i -o rw,no_root_squash,no_subtree_check,fsid=0,sync '*:/export'
    rpc.mountd --no-nfs-version 3
    # The lease is short, so that a dead client soon loses its locks.
    echo 15 >/proc/fs/nfsd/nfsv4leasetime
    rpc.nfsd --no-nfs-version 3 4
    # Ends the grace period at once: until then the server refuses locks, and no client has any to reclaim.
    echo Y >/proc/fs/nfsd/v4_end_grace
}

attach() {
    mkdir -p "$1"
    mount -t nfs4 -o "vers=4.2$OPTIONS" 10.77.0.1:/ "$1"
}
