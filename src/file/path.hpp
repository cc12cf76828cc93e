// SPDX-License-Identifier: BSD-3-Clause
// Paths: ROMIO's file system prefixes, and what kind of file system a path is on.
#pragma once

#include <string>
#include <string_view>

#include "base/descriptor.hpp"

namespace oratorio {

/// A path that names the same file after the program has changed its working directory.
struct FixedPath {
    std::string path;
    /// The working directory of the call, kept open where it has no name of its own or a name that
    /// is too long: `path` leads through this descriptor then.
    Descriptor folder{-1};
};

/// The fixed form of a path that the program has just given. The path itself where not even the
/// working directory can be opened.
[[nodiscard]] FixedPath fix_path(const std::string& path);

/// Which of ROMIO's prefixes ("ufs:", "nfs:", "lustre:" ...) are no part of a file's name. Hosts
/// differ in that, and a file has the name that the host gives it.
enum class Prefixes { kept, in_small_letters, in_any_letters };

/// `path` without a leading prefix of those. Other colons are part of the name.
[[nodiscard]] std::string_view without_prefix(std::string_view path, Prefixes dropped);

/// Number of the system's f_type, of the folder while there is no such file; 0 when it can't be
/// asked.
[[nodiscard]] long file_system_type(const std::string& path);
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
