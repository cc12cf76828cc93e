// SPDX-License-Identifier: BSD-3-Clause
// What is known of types of file systems, by the number that statfs(2) has of them (f_type).
#pragma once

#include <string>
#include <string_view>

namespace oratorio {

/// "NFS", "LUSTRE", "GPFS", ...; "UFS" for all that need no care.
[[nodiscard]] std::string_view file_system_name(long type);
/// A file system of one node's own, whose page cache is the only one.
[[nodiscard]] bool is_local(long type);
/// A file system whose clients have page caches that know nothing of each other, or one we don't
/// know: a client then may write back more bytes than it was given, and read old ones.
[[nodiscard]] bool is_incoherent(long type);
/// Every lock on a file of such a file system is known to this machine's kernel: it is one
/// machine's own, and no other kernel has it mounted.
[[nodiscard]] bool has_locks_of_one_machine(long type);
/// A lock there denies accesses of all others, and a shared one writes of its owner, too.
[[nodiscard]] bool has_mandatory_locks(long type);
/// A wait for a lock there takes up to half a minute.
[[nodiscard]] bool has_slow_locks(long type);
/// For sentences: "ocfs2", "nfs"; "this file system" for those without a name here.
[[nodiscard]] std::string lower_case_name(long type);
/// All clients know a file by one number (st_ino).
[[nodiscard]] bool has_common_numbers(long type);
/// What one rank writes is seen by ranks on other nodes as soon as the call returns.
[[nodiscard]] bool visible_at_once(long type);

}  // namespace oratorio
