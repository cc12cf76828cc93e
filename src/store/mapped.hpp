// SPDX-License-Identifier: BSD-3-Clause
// Mapped: a range of a file as memory (mmap). Store::map makes it, the caller owns it, and its
// destructor unmaps it. Its bytes may only be touched inside guarded(), which turns a bus error
// into an Error.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>

#include "base/direction.hpp"
#include "base/result.hpp"

namespace oratorio {

/// Whether the kernel may populate all pages of a mapping at once. `yes` promises that every page
/// will be touched: for a write, populating allocates storage even for pages that are never
/// touched.
enum class Populate { no, yes };

/// A function and its argument, called once. Passes a callable of any type to code in a .cpp file.
struct Touch {
    void (*call)(void* argument);
    void* argument;
};

/// The mapping behind a Mapped; made by a store. Its destructor unmaps the range.
class MappedWindow {
  public:
    virtual ~MappedWindow() = default;
    MappedWindow() = default;
    MappedWindow(const MappedWindow&) = delete;
    MappedWindow& operator=(const MappedWindow&) = delete;

    /// Calls `touch` and turns a bus error into an Error, as Mapped::guarded does.
    virtual Result<void> guarded(const Touch& touch) = 0;
};

class Mapped {
  public:
    Mapped() = default;
    /// `bytes` are the bytes of the file from `begin` on, and live as long as `window`.
    Mapped(Offset begin, std::span<std::byte> bytes, std::unique_ptr<MappedWindow> window)
        : begin_(begin), bytes_(bytes), window_(std::move(window)) {}

    /// Returns the mapped bytes. The range of a read ends with the file, so it may be shorter than
    /// requested, or empty.
    [[nodiscard]] std::span<std::byte> bytes() const { return bytes_; }
    [[nodiscard]] Extent range() const {
        return {begin_, begin_ + static_cast<Bytes>(bytes_.size())};
    }

    /// Calls `copy()`, which reads or writes bytes(). If a page isn't available (full disk, I/O
    /// error, another process truncated the file), `copy` is abandoned there by siglongjmp. So it
    /// may only copy plain bytes: hold no object with a destructor, take no lock, allocate nothing,
    /// throw nothing. The error holds the offset of the unavailable page, or range().begin if the
    /// page begins before the range. A copy in ascending order has completed everything before that
    /// offset.
    template <class Copy>
    Result<void> guarded(Copy&& copy) {
        if (window_ == nullptr) return {};
        using Callable = std::remove_reference_t<Copy>;
        const auto call = [](void* argument) { (*static_cast<Callable*>(argument))(); };
        return window_->guarded({call, const_cast<void*>(static_cast<const void*>(&copy))});
    }

  private:
    Offset begin_ = 0;
    std::span<std::byte> bytes_;
    std::unique_ptr<MappedWindow> window_;
};

/// Maps `range` of an open regular file, with the guarantees of Store::map.
Result<Mapped> map_file(int descriptor, Extent range, Direction direction, Populate populate);
/// Returns true if the descriptor's regular file can be mapped for reading, and also for writing if
/// `write` is set.
[[nodiscard]] bool is_mappable(int descriptor, bool write);

}  // namespace oratorio
