// SPDX-License-Identifier: BSD-3-Clause
#include "oracle/client_facts.hpp"

#include <linux/magic.h>

#include <algorithm>
#include <array>

namespace oratorio::oracle {

namespace {

constexpr long kFuse = 0x65735546;
constexpr long kCeph = 0x00C36400;
constexpr long kSmb2 = 0xFE534D42;

/// The facts of all kinds of clients, indexed by ClientKind.
constexpr std::array kFacts{
    ClientFacts{.word = "none", .name = "none"},
    ClientFacts{.word = "nfs", .name = "NFS", .file_system = NFS_SUPER_MAGIC},
    ClientFacts{.word = "nfs-by-pages", .name = "NFS by pages", .file_system = NFS_SUPER_MAGIC},
    ClientFacts{.word = "nfs-refusing",
                .name = "NFS that refuses some bytes",
                .file_system = NFS_SUPER_MAGIC},
    ClientFacts{.word = "fuse", .name = "FUSE", .file_system = kFuse, .fuse = true},
    ClientFacts{.word = "ocfs2",
                .name = "OCFS2",
                .file_system = OCFS2_SUPER_MAGIC,
                .in_step = true,
                .locks_of_node = true},
    ClientFacts{
        .word = "ceph", .name = "CephFS", .file_system = kCeph, .in_step = true, .odd_reads = true},
    ClientFacts{.word = "smb",
                .name = "SMB",
                .file_system = kSmb2,
                .mandatory_locks = true,
                .size_stays = true},
    ClientFacts{
        .word = "moose", .name = "MooseFS", .file_system = kFuse, .fuse = true, .size_stays = true},
    ClientFacts{.word = "9p", .name = "9p", .file_system = V9FS_MAGIC, .locks_of_node = true},
};

}  // namespace

const ClientFacts& facts_of(ClientKind kind) {
    return kFacts[static_cast<std::size_t>(kind)];
}

ClientKind client_of(std::string_view word) {
    const auto found = std::ranges::find(kFacts, word, &ClientFacts::word);
    return found == kFacts.end() ? ClientKind::none
                                 : static_cast<ClientKind>(found - kFacts.begin());
}

}  // namespace oratorio::oracle
