// SPDX-License-Identifier: BSD-3-Clause
// Striping: how a file system spreads a file over its storage targets, and how a new file is to be.
// Lustre is asked and told by the attribute "lustre.lov", BeeGFS by ioctl(2); GPFS has blocks.
// Never run on any of them: the tests answer in their place.
#pragma once

#include <string>

#include "base/extent.hpp"
#include "base/result.hpp"

namespace oratorio {

struct Striping {
    Bytes unit = 0;            ///< bytes that lie together on a target; 0: the file system's choice
    std::int64_t targets = 0;  ///< 0: as above
    std::int64_t first = -1;   ///< target of the file's first bytes; -1: as above

    bool operator==(const Striping&) const = default;
};

/// Of the file at `path`, on a file system with that f_type; unit 0 where nobody tells. Of a file
/// whose parts are striped differently that of its last part, which is the largest.
[[nodiscard]] Striping striping_of(const std::string& path, long file_system);

struct StripedFile {
    bool made = false;  ///< an empty one, by this call
    Error refused;      ///< why it isn't striped as wanted
};
/// Makes the file `path` with that striping where the file system takes one and there is no such
/// file yet; else does nothing. `permissions` as of open(2).
[[nodiscard]] StripedFile make_striped(const std::string& path, long file_system, int permissions,
                                       const Striping& wanted);

}  // namespace oratorio
