// SPDX-License-Identifier: BSD-3-Clause
// Striping: how a file system distributes a file over its storage targets, and how a new file
// should be distributed. The interface is the extended attribute "lustre.lov" on Lustre (ioctl(2)
// for the number of targets), and ioctl(2) on BeeGFS; on GPFS, only the block size can be read.
// This code has never run on any of these file systems: the tests simulate their answers.
#pragma once

#include <span>
#include <string>

#include "base/extent.hpp"
#include "base/result.hpp"
#include "store/target_rule.hpp"

namespace oratorio {

struct Striping {
    Bytes unit = 0;            ///< contiguous bytes on one target; 0: the file system's choice
    std::int64_t targets = 0;  ///< number of targets; 0: likewise
    std::int64_t first = -1;   ///< target of the file's first bytes; -1: likewise

    bool operator==(const Striping&) const = default;
};

/// Returns the striping of the file `path`; its unit is 0 if unknown. `file_system` is an f_type,
/// here and below. If parts of the file are striped differently, returns the striping of the last
/// part, which is the largest.
[[nodiscard]] Striping striping_of(const std::string& path, long file_system);

struct StripedFile {
    bool made = false;  ///< this call made an empty file
    Error refused;      ///< why the file isn't striped as requested
};
/// Makes the file `path` with the striping `wanted`, if the file system supports striping and the
/// file doesn't exist; otherwise does nothing. `permissions` are those of open(2).
[[nodiscard]] StripedFile make_striped(const std::string& path, long file_system, int permissions,
                                       const Striping& wanted);
/// Like make_striped(), but with a layout of several parts, which only Lustre has (version 2.10 and
/// later).
[[nodiscard]] StripedFile make_in_parts(const std::string& path, long file_system, int permissions,
                                        std::span<const LayoutPart> parts);

/// Returns the number of targets of the file system that contains the folder of `path`; 0 if
/// unknown. Only Lustre reports that number.
[[nodiscard]] std::int64_t targets_of(const std::string& path, long file_system);
/// Returns true if somebody may have chosen a layout for new files in the folder of `path`. Returns
/// false only on Lustre, where the new files get the file system's default layout and that layout
/// has one part.
[[nodiscard]] bool has_chosen_layout(const std::string& path, long file_system);

}  // namespace oratorio
