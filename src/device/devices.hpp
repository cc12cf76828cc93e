// SPDX-License-Identifier: BSD-3-Clause
// Devices: the drivers of devices that the process has loaded so far. The class loads no libraries
// itself. There is one object per process. See docs/user/devices.md.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>

#include "device/driver.hpp"
#include "type/shape.hpp"

namespace oratorio {

/// Thread-safe.
class Devices {
  public:
    /// Returns true if a driver was found. Costs one load from memory.
    [[nodiscard]] bool any() const { return count_.load(std::memory_order_relaxed) > 0; }
    /// Looks for drivers among the loaded libraries, if any was loaded since the last look.
    void look();
    /// Returns a byte of the layout that is device memory; nothing if none is found. Asks the
    /// drivers about both ends of the layout and, if the layout lists parts, about each part that
    /// doesn't begin in the same 64 KiB block as the part before it.
    [[nodiscard]] std::optional<OwnedByte> owned_by_device(const std::byte* base,
                                                           const Layout& memory) const;

  private:
    static constexpr std::size_t kKinds = 2;

    std::mutex looking_;  ///< held while drivers are added; guards taken_
    /// Number of libraries ever loaded, as of the last look(). Its release store follows that of
    /// count_, so that a thread that finds the number unchanged sees all drivers.
    std::atomic<unsigned long long> libraries_{0};
    std::array<bool, kKinds> taken_{};
    /// The drivers in the order in which they were found.
    std::array<std::unique_ptr<DeviceDriver>, kKinds> drivers_;
    /// Number of drivers; none is ever removed. The release store in look() publishes the drivers
    /// to the acquire load in owned_by_device(). any() is relaxed, because it touches no driver.
    std::atomic<std::size_t> count_{0};
};

}  // namespace oratorio
