// SPDX-License-Identifier: BSD-3-Clause
// Place: where bytes of a file lie on the device.
#pragma once

#include "base/extent.hpp"

namespace oratorio {

/// Bytes that lie together there.
struct Place {
    Extent file;
    Offset device = 0;  ///< of the first one

    bool operator==(const Place&) const = default;
};

}  // namespace oratorio
