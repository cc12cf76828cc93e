// SPDX-License-Identifier: BSD-3-Clause
// DeviceMemory: a user's buffer that is wholly or partly device memory, and copies between it and
// host memory, made by the driver. Parts in host memory are copied the same way.
#pragma once

#include <memory>
#include <span>

#include "device/driver.hpp"
#include "type/conversion.hpp"
#include "type/cursor.hpp"

namespace oratorio {

struct DeviceMemory {
    DeviceDriver* driver = nullptr;    ///< the driver that owns some of the memory
    const std::byte* owned = nullptr;  ///< a byte of the layout that the driver owns
    std::byte* base = nullptr;         ///< address of the layout's offset 0
    Layout layout;

    /// Opens a queue for copies.
    [[nodiscard]] Result<std::unique_ptr<DeviceQueue>> open() const { return driver->open(owned); }
};

/// Starts a copy of `rows`, piece by piece if the driver can't copy with such strides. Fails if
/// there are no rows, because a loop over a layout that ends too early would otherwise never end.
[[nodiscard]] Error start_rows(DeviceQueue& queue, const CopyRows& rows);
/// Starts to copy the next out.size() data bytes at the cursor to `out`. All of them are in `out`
/// after the queue's wait(). Equally spaced pieces are one copy by the driver. Small pieces that
/// lie close together are copied through `window`, together with the bytes between them, unless
/// `window` is empty. `base` is DeviceMemory::base.
[[nodiscard]] Error gather_from_device(DeviceQueue& queue, Cursor& memory, const std::byte* base,
                                       std::span<std::byte> out, std::span<std::byte> window);
/// Starts to copy `in` to the next in.size() data bytes at the cursor. Doesn't touch the bytes
/// between these.
[[nodiscard]] Error scatter_to_device(DeviceQueue& queue, Cursor& memory, std::byte* base,
                                      std::span<const std::byte> in);

/// Returns a conversion that moves all data of an access through host memory, and converts it there
/// if `inner` isn't null. Errors are those of the copies and of `inner`, or no_memory.
[[nodiscard]] std::shared_ptr<Conversion> stage_whole(DeviceMemory memory,
                                                      std::shared_ptr<Conversion> inner);

}  // namespace oratorio
