// SPDX-License-Identifier: BSD-3-Clause
// DeviceDriver: a driver of devices with memory of their own, found at run time, and the copies
// that the driver makes. The library is not linked to any driver. See docs/user/devices.md.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "base/result.hpp"
#include "device/staging_blocks.hpp"

namespace oratorio {

/// `count` pieces of `length` bytes, equally spaced on both sides. Each side may be host or device
/// memory.
struct CopyRows {
    std::byte* to = nullptr;
    Bytes to_stride = 0;
    const std::byte* from = nullptr;
    Bytes from_stride = 0;
    Bytes length = 0;
    std::int64_t count = 1;
};

/// A queue of copies, which the driver makes one after the other in the order in which they were
/// started. Errors are ErrorKind::buffer and name the driver's call and its code. REQUIRES: used by
/// one thread at a time, which may change.
class DeviceQueue {
  public:
    /// Ends the queue. The memory that it was opened for stays as it is.
    virtual ~DeviceQueue() = default;
    DeviceQueue() = default;
    DeviceQueue(const DeviceQueue&) = delete;
    DeviceQueue& operator=(const DeviceQueue&) = delete;

    /// Starts a copy. REQUIRES: neither side is touched by others before wait(); if there are
    /// several pieces, strides are at least `length`, and at most kPitchMost.
    virtual Error start(const CopyRows& rows) = 0;
    /// Waits until all copies that were started have completed or failed.
    virtual Error wait() = 0;
    /// Pins host memory, which makes copies to and from it faster, if the driver can.
    virtual void pin(std::span<std::byte> memory) = 0;
};

/// The longest stride that the drivers' strided copies accept.
inline constexpr Bytes kPitchMost = INT32_MAX;

/// A driver. The process has one object for each kind of driver. Thread-safe.
class DeviceDriver {
  public:
    virtual ~DeviceDriver() = default;
    DeviceDriver() = default;
    DeviceDriver(const DeviceDriver&) = delete;
    DeviceDriver& operator=(const DeviceDriver&) = delete;

    /// Returns the name that users know: "CUDA".
    [[nodiscard]] virtual const char* name() const = 0;
    /// Returns true if the byte at `address` is device memory that the CPU can't or shouldn't
    /// touch. Returns false for memory that CPU and device share (managed memory), and for host
    /// memory that the driver knows.
    [[nodiscard]] virtual bool owns(const std::byte* address) const = 0;
    /// Opens a queue for copies from and to memory of the device that `address` belongs to.
    /// REQUIRES: the driver owns the byte at `address`.
    [[nodiscard]] virtual Result<std::unique_ptr<DeviceQueue>> open(
        const std::byte* address) const = 0;
    /// Returns the bounce buffers in host memory that copies go through.
    [[nodiscard]] StagingBlocks& blocks() { return blocks_; }

  private:
    StagingBlocks blocks_;
};

/// A byte of device memory, and the driver that owns it.
struct OwnedByte {
    DeviceDriver* driver;
    const std::byte* address;
};

/// Returns the error of a driver's call that failed.
[[nodiscard]] inline Error refused_by_driver(const char* call, int code) {
    return Error::make(ErrorKind::buffer,
                       "memory of a device can't be copied: " + std::string(call) + " returned " +
                           std::to_string(code));
}

}  // namespace oratorio
