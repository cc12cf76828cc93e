// SPDX-License-Identifier: BSD-3-Clause
// ClientFacts: the behaviour of the simulated clients of a network or cluster file system, by kind.
#pragma once

#include <string_view>

namespace oratorio::oracle {

enum class ClientKind {
    none,          ///< no caches: all nodes see the file itself
    nfs,           ///< direct I/O of any bytes
    nfs_by_pages,  ///< can't be opened for direct I/O
    nfs_refusing,  ///< refuses direct transfers of some bytes
    fuse,          ///< a daemon behind the system keeps direct writes until they are flushed
    ocfs2,         ///< coherent caches; a lock is visible on its own node only (o2cb)
    ceph,          ///< coherent caches; a read behind the size that its node knows fails oddly
    smb,  ///< as nfs; locks are mandatory, and the node still sees the old size after others shrink
          ///< the file
    moose,  ///< as fuse; the node still sees the old size after others shrink the file
    ninep,  ///< as nfs; a lock is visible on its own node only (9p over TCP)
};

/// Properties that all clients of a kind share.
struct ClientFacts {
    std::string_view word;         ///< name on the command line
    std::string_view name;         ///< name in messages
    long file_system = 0;          ///< magic number that statfs reports
    bool fuse = false;             ///< a daemon behind the system has a cache of its own
    bool in_step = false;          ///< the caches of all nodes agree
    bool locks_of_node = false;    ///< a lock is visible on its own node only
    bool mandatory_locks = false;  ///< a lock denies transfers
    bool size_stays = false;  ///< the node sees the old size after others shrink the file, until it
                              ///< changes the size itself
    /// The fault of Linux's CephFS client that Client::read_in_step simulates.
    bool odd_reads = false;
};
const ClientFacts& facts_of(ClientKind kind);
/// Returns ClientKind::none if no kind has that name.
ClientKind client_of(std::string_view word);

}  // namespace oratorio::oracle
