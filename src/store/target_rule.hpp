// SPDX-License-Identifier: BSD-3-Clause
// Computes how many storage targets a file should have on a file system that stripes files (Lustre,
// BeeGFS). Pure. docs/internals/decisions/opening.md has the sources of the rule.
#pragma once

#include <cstdint>
#include <vector>

#include "base/extent.hpp"

namespace oratorio {

/// What limits the number of targets of a file.
struct TargetLimits {
    std::int64_t targets = 0;  ///< targets of the file system; 0: unknown
    int nodes = 1;             ///< nodes whose ranks access the file
};

/// Returns how many targets a file of `size` bytes should have: one per GiB and at least one, but
/// at most eight per node, at most 2000 in all, and at most as many as the file system has.
[[nodiscard]] std::int64_t proposed_targets(Bytes size, const TargetLimits& limits);

/// A part of a file that has its own number of targets.
struct LayoutPart {
    Bytes end = 0;  ///< offset at which the next part begins; INT64_MAX: this is the last part
    std::int64_t targets = 1;

    bool operator==(const LayoutPart&) const = default;
};
/// Returns a layout for a file of unknown size. Each part has the number of targets that
/// proposed_targets() returns for a file that ends where the part ends; the last part has the
/// largest number that the limits allow. REQUIRES: limits.targets is known.
[[nodiscard]] std::vector<LayoutPart> growing_layout(const TargetLimits& limits);

}  // namespace oratorio
