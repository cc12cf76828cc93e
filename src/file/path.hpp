// SPDX-License-Identifier: BSD-3-Clause
// Paths: their fixed form, ROMIO's file system prefixes, and the file system that a path is on.
#pragma once

#include <string>
#include <string_view>

#include "base/descriptor.hpp"
#include "plan/costs.hpp"
#include "store/file_system_types.hpp"

namespace oratorio {

/// A path that names the same file after the program has changed its working directory.
struct FixedPath {
    std::string path;
    /// The working directory at the time of the call, kept open if it has no name of its own or a
    /// name that is too long. `path` then leads through this descriptor.
    Descriptor folder{-1};
};

/// Returns the fixed form of a path that the program has just given; the path itself if the working
/// directory has no usable name and can't be reached through a descriptor either.
[[nodiscard]] FixedPath fix_path(const std::string& path);

/// Which of ROMIO's prefixes ("ufs:", "nfs:", "lustre:" ...) are not part of a file's name. Host
/// MPIs differ in this; a file gets the name that the host MPI in use would give it.
enum class Prefixes { kept, in_small_letters, in_any_letters };

/// Returns `path` without a leading prefix that `dropped` covers. Other colons are part of the
/// name.
[[nodiscard]] std::string_view without_prefix(std::string_view path, Prefixes dropped);

/// Returns the system's f_type of the file, or of its folder if there is no such file; 0 if the
/// system doesn't say.
[[nodiscard]] long file_system_type(const std::string& path);

/// Returns where the calls on a file of this file system go. `asks_server`: the file's store is one
/// for file systems with incoherent client caches.
[[nodiscard]] Storage storage_of(long file_system, bool asks_server);
/// Returns the same for the store that files are opened with by default on that file system.
[[nodiscard]] inline Storage storage_of(long file_system) {
    return storage_of(file_system, is_incoherent(file_system));
}

}  // namespace oratorio
