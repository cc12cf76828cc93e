// SPDX-License-Identifier: BSD-3-Clause
// Devices: the drivers of devices that the process has loaded by now. Nothing is loaded for it. One
// per process. docs/devices.md
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>

#include "device/driver.hpp"
#include "type/shape.hpp"

namespace oratorio {

/// Thread-safe.
class Devices {
  public:
    /// There is a driver. Costs a load.
    [[nodiscard]] bool any() const { return count_.load(std::memory_order_relaxed) > 0; }
    /// Looks for drivers among the libraries that were loaded since it last did.
    void look();
    /// The driver of the memory, if any of it is memory of a device. Looked at are the ends of the
    /// layout and, where it lists its parts, each part in another 64 KiB than the one before.
    [[nodiscard]] DeviceDriver* owner_of(const std::byte* base, const Layout& memory) const;

  private:
    static constexpr std::size_t kKinds = 2;

    std::mutex looking_;
    std::atomic<unsigned long long> libraries_{0};  ///< ever loaded, of which it knows
    std::array<bool, kKinds> taken_{};
    std::array<std::unique_ptr<DeviceDriver>, kKinds> drivers_;  ///< in the order they were found
    std::atomic<std::size_t> count_{0};                          ///< of them; they never go
};

}  // namespace oratorio
