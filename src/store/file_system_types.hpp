// SPDX-License-Identifier: BSD-3-Clause
// Properties of file systems, by their statfs(2) number (f_type).
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace oratorio {

/// Returns "NFS", "LUSTRE", "GPFS", ...; "UFS" for all others.
[[nodiscard]] std::string_view file_system_name(long type);
/// Returns an f_type for each name that file_system_name() may return.
[[nodiscard]] std::vector<long> named_file_systems();
/// Returns true for a local file system: its page cache on this node is the only one.
[[nodiscard]] bool is_local(long type);
/// Returns true for a file system whose client caches are incoherent or of unknown coherence: a
/// client may write back more bytes than its program wrote, and read stale ones.
[[nodiscard]] bool is_incoherent(long type);
/// Returns true if this machine's kernel knows every lock on a file of the file system: it belongs
/// to one machine, and no other kernel has it mounted.
[[nodiscard]] bool has_locks_of_one_machine(long type);
/// Returns true if a lock denies the conflicting accesses of all other handles, and a shared lock
/// also the writes of its owner.
[[nodiscard]] bool has_mandatory_locks(long type);
/// Returns true for GFS2: pages that posix_fadvise(POSIX_FADV_WILLNEED) reads there enter the page
/// cache without the cluster's lock, so they stay there when another node changes them.
[[nodiscard]] bool reads_ahead_without_lock(long type);
/// Returns true for 9p: its server diod locks the whole file for any range, and releases that lock
/// when any range is released. A client that has to wait asks again after 30 s.
[[nodiscard]] bool has_whole_file_locks(long type);
/// Returns a name for messages: "ocfs2", "nfs"; "this file system" for unknown ones.
[[nodiscard]] std::string lower_case_name(long type);
/// Returns true if all clients know a file by the same number (st_ino).
[[nodiscard]] bool has_common_numbers(long type);
/// Returns false for NFS, where ranks on other nodes may not see a write yet when the call returns;
/// returns true for all other types, even unknown ones.
[[nodiscard]] bool visible_at_once(long type);

}  // namespace oratorio
