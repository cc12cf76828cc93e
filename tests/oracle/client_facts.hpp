// SPDX-License-Identifier: BSD-3-Clause
// ClientFacts: the behaviour of the simulated clients of a network or cluster file system, by kind.
#pragma once

#include <string_view>

namespace oratorio::oracle {

enum class ClientKind {
    none,          ///< no caches: all nodes see the file itself
    nfs,           ///< an NFS client that does direct I/O with any offset and length
    nfs_by_pages,  ///< an NFS client that cannot open the file for direct I/O
    nfs_refusing,  ///< an NFS client that refuses direct I/O of other than whole 512-byte units
    fuse,          ///< a FUSE client, with a daemon that may keep writes until a flush
    ocfs2,         ///< coherent caches; a lock is visible on its own node only (o2cb)
    /// Coherent caches; a read past the file's size as the node knows it returns a wrong count.
    ceph,
    /// Like nfs, but locks are mandatory, and the node still sees the old size after other nodes
    /// shrink the file.
    smb,
    /// Like fuse, but the node still sees the old size after other nodes shrink the file.
    moose,
    /// Like nfs, but a lock is visible on its own node only (9p over TCP).
    ninep,
};

/// Properties that all clients of a kind share.
struct ClientFacts {
    std::string_view word;       ///< name on the command line
    std::string_view name;       ///< name in messages
    long file_system = 0;        ///< magic number that statfs reports
    bool fuse = false;           ///< a daemon behind the system has a cache of its own
    bool in_step = false;        ///< the caches of all nodes agree
    bool locks_of_node = false;  ///< a lock is visible on its own node only
    /// An exclusive lock makes the transfers of other owners fail, a shared one all writes.
    bool mandatory_locks = false;
    /// After other nodes shrink the file, this node sees the old size until it changes the size
    /// itself.
    bool size_stays = false;
    /// Reads have the fault of Linux's CephFS client that Client::read_in_step simulates.
    bool odd_reads = false;
};
const ClientFacts& facts_of(ClientKind kind);
/// Returns the kind with that name on the command line; ClientKind::none if there is none.
ClientKind client_of(std::string_view word);

}  // namespace oratorio::oracle
