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
    /// The user's memory, set if it is a device's and its data moves in pieces (DevicePipe). The
    /// memory of `access` is then one run of the same length.
    std::optional<DeviceMemory> device;
    bool looked_for_devices = false;  ///< describe() has looked for device drivers
};

}  // namespace oratorio
