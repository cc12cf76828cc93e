// SPDX-License-Identifier: BSD-3-Clause
// DiskExtent: where a range of file bytes lies on the device.
#pragma once

#include "base/extent.hpp"

namespace oratorio {

/// Bytes that are contiguous in the file and on the device.
struct DiskExtent {
    Extent file;
    Offset device = 0;  ///< where the first byte lies on the device

    bool operator==(const DiskExtent&) const = default;
};

}  // namespace oratorio
