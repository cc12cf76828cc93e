// SPDX-License-Identifier: BSD-3-Clause
// Place: where a range of file bytes lies on the device.
#pragma once

#include "base/extent.hpp"

namespace oratorio {

/// Bytes that are contiguous in the file and on the device.
struct Place {
    Extent file;
    Offset device = 0;  ///< of the first byte

    bool operator==(const Place&) const = default;
};

}  // namespace oratorio
