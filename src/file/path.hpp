// SPDX-License-Identifier: BSD-3-Clause
// Paths: ROMIO's file system prefixes, and what kind of file system a path is on.
#pragma once

#include <string>
#include <string_view>

#include "base/descriptor.hpp"
#include "store/file_system_types.hpp"

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

}  // namespace oratorio
