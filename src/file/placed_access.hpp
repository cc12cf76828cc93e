// SPDX-License-Identifier: BSD-3-Clause
// PlacedAccess: what a call asks for, and where its data lies in the file. Private to src/file.
#pragma once

#include <optional>

#include "device/device_memory.hpp"
#include "engine/run.hpp"

namespace oratorio {

struct PlacedAccess {
    Access access;
    Offset etypes = 0;  ///< how far the access moves its file pointer
    /// The user's memory; `access` then has one run of that length.
    std::optional<DeviceMemory> device;
    bool looked_for_devices = false;  ///< describe() has looked for device drivers
};

}  // namespace oratorio
