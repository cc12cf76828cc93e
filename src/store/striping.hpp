// SPDX-License-Identifier: BSD-3-Clause
// Striping: how a file system distributes a file over its storage targets, and how a new file
// should be distributed. Lustre uses the attribute "lustre.lov", BeeGFS ioctl(2); GPFS has blocks.
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

/// Returns the striping of the file at `path`, on a file system with that f_type; unit 0 if
/// unknown. If parts of the file are striped differently, returns that of the last part, which is
/// the largest.
[[nodiscard]] Striping striping_of(const std::string& path, long file_system);

struct StripedFile {
    bool made = false;  ///< this call made an empty file
    Error refused;      ///< why it isn't striped as requested
};
/// Makes the file `path` with that striping, if the file system supports it and the file doesn't
/// exist; otherwise does nothing. `permissions` as in open(2).
[[nodiscard]] StripedFile make_striped(const std::string& path, long file_system, int permissions,
                                       const Striping& wanted);
/// Does the same with a layout of several parts, which only Lustre has (version 2.10 and later).
[[nodiscard]] StripedFile make_in_parts(const std::string& path, long file_system, int permissions,
                                        std::span<const LayoutPart> parts);

/// Returns the number of targets of the file system that has the folder of `path`; 0 if it is
/// unknown. Only Lustre reports it.
[[nodiscard]] std::int64_t targets_of(const std::string& path, long file_system);
/// Returns false if it is certain that new files in the folder of `path` get the file system's
/// default layout, and that this layout has only one part. Only Lustre reports that.
[[nodiscard]] bool has_chosen_layout(const std::string& path, long file_system);

}  // namespace oratorio
