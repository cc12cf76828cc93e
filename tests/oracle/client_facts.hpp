// SPDX-License-Identifier: BSD-3-Clause
// ClientFacts: how the simulated clients of a network or cluster file system behave, by kind.
#pragma once

#include <string_view>

namespace oratorio::oracle {

enum class ClientKind {
    none,          ///< no caches: all nodes see the file itself
    nfs,           ///< direct I/O of any bytes
    nfs_by_pages,  ///< can't be opened for direct I/O
    nfs_refusing,  ///< refuses direct transfers of some bytes
    fuse,          ///< a daemon behind the system keeps direct writes until they are flushed
    ocfs2,         ///< caches in step; a lock is visible on its own node only (o2cb)
    ceph,          ///< caches in step; a read behind the size that its node knows fails oddly
    smb,           ///< as nfs; locks are mandatory, and a size that others shrink stays
    moose,         ///< as fuse; a size that others shrink stays
    ninep,         ///< as nfs; a lock is visible on its own node only (9p over TCP)
};

/// What is the same for all clients of a kind.
struct ClientFacts {
    std::string_view word;         ///< on the command line
    std::string_view name;         ///< for people
    long file_system = 0;          ///< what statfs says
    bool fuse = false;             ///< a daemon behind the system has a cache of its own
    bool in_step = false;          ///< the caches of all nodes agree
    bool locks_of_node = false;    ///< a lock is visible on its own node only
    bool mandatory_locks = false;  ///< a lock denies transfers
    bool size_stays = false;       ///< a size that others shrink stays, until this node changes it
    bool odd_reads = false;        ///< of Linux's CephFS client: see Client::read_in_step
};
const ClientFacts& facts_of(ClientKind kind);
/// ClientKind::none if it is no kind's.
ClientKind client_of(std::string_view word);

}  // namespace oratorio::oracle
