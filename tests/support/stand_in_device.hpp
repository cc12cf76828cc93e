// SPDX-License-Identifier: BSD-3-Clause
// StandInDevice: loads a library that stands in for a device driver, and manages the simulated
// device memory, which this process cannot touch (tests/unit/device/stand_in_memory.h).
#pragma once

#include <dlfcn.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <span>

namespace oratorio::test {

enum class StandInKind : int { host, device, managed };

/// The stand-in library's counts of its calls and, from `fails_at` on, a test's settings for it.
/// REQUIRES: the library defines the same struct.
struct StandInCounts {
    long copies, row_copies, bytes, waits, streams, pins, retained;
    long fails_at;
    int fails_late;
    int uninitialised;
    int version;
};

class StandInDevice {
  public:
    /// Loads the library and resets its counts.
    explicit StandInDevice(const char* path) : library_(dlopen(path, RTLD_NOW | RTLD_LOCAL)) {
        if (library_ == nullptr) std::abort();
        counts() = {};
    }
    ~StandInDevice() {
        reinterpret_cast<void (*)()>(call("stand_in_free_all"))();
        counts() = {};
        dlclose(library_);
    }
    StandInDevice(const StandInDevice&) = delete;
    StandInDevice& operator=(const StandInDevice&) = delete;

    [[nodiscard]] StandInCounts& counts() const {
        return *static_cast<StandInCounts*>(dlsym(library_, "stand_in"));
    }
    [[nodiscard]] std::byte* allocate(std::size_t bytes, StandInKind kind = StandInKind::device,
                                      int home = 0) const {
        using Allocate = void* (*)(std::size_t, int, int);
        return static_cast<std::byte*>(reinterpret_cast<Allocate>(call("stand_in_allocate"))(
            bytes, static_cast<int>(kind), home));
    }
    /// Allocates two blocks of device memory, the second `gap` bytes after the end of the first.
    /// REQUIRES: both numbers are multiples of the page size.
    [[nodiscard]] std::byte* allocate_two(std::size_t bytes, std::size_t gap) const {
        using Allocate = void* (*)(std::size_t, std::size_t);
        return static_cast<std::byte*>(
            reinterpret_cast<Allocate>(call("stand_in_allocate_two"))(bytes, gap));
    }
    /// Returns host memory that holds the bytes behind a device address.
    [[nodiscard]] std::byte* data(const std::byte* address) const {
        using Data = std::byte* (*)(const void*);
        return reinterpret_cast<Data>(call("stand_in_data"))(address);
    }
    /// Returns the address of a function of the library, and aborts if there is none.
    [[nodiscard]] void* call(const char* name) const {
        void* const found = dlsym(library_, name);
        if (found == nullptr) std::abort();
        return found;
    }

  private:
    void* library_;
};

}  // namespace oratorio::test
