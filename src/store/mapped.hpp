// SPDX-License-Identifier: BSD-3-Clause
// Mapped: a range of a file as memory. Store::map makes it, the caller owns it, its end takes the
// mapping away. The bytes are touched inside guarded() only, so that a bus error becomes an Error.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>

#include "base/direction.hpp"
#include "base/result.hpp"

namespace oratorio {

/// Whether every page of a mapping will be touched: then the kernel is asked to bring them all at
/// once. Of a write, pages never touched would get storage for nothing.
enum class Populate { no, yes };

/// A function to call once, with its argument; what a callable becomes to cross into a .cpp file.
struct Touch {
    void (*call)(void* argument);
    void* argument;
};

/// What lies behind a mapped range; made by a store. Its end gives the range back.
class MappedWindow {
  public:
    virtual ~MappedWindow() = default;
    MappedWindow() = default;
    MappedWindow(const MappedWindow&) = delete;
    MappedWindow& operator=(const MappedWindow&) = delete;

    /// See Mapped::guarded.
    virtual Result<void> guarded(const Touch& touch) = 0;
};

class Mapped {
  public:
    Mapped() = default;
    /// `bytes` are those of the file from `begin` on, and live as long as `window`.
    Mapped(Offset begin, std::span<std::byte> bytes, std::unique_ptr<MappedWindow> window)
        : begin_(begin), bytes_(bytes), window_(std::move(window)) {}

    /// Of a read it ends with the file, so it may be shorter than asked for, and empty.
    [[nodiscard]] std::span<std::byte> bytes() const { return bytes_; }
    [[nodiscard]] Extent range() const {
        return {begin_, begin_ + static_cast<Bytes>(bytes_.size())};
    }

    /// Calls `copy()`, which reads or writes bytes(). Where the file system can't give or take a
    /// page (full disk, input/output error, a file cut short by somebody else) `copy` is abandoned
    /// there, by siglongjmp: it may copy plain bytes and nothing else, that is hold no object with
    /// a destructor, take no lock, allocate nothing, not throw. The error has the file offset of
    /// that page, or of the range's begin when the page began before it: of a copy in ascending
    /// order everything before that offset is done.
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

/// Maps `range` of an open regular file; the promises are those of Store::map.
Result<Mapped> map_file(int descriptor, Extent range, Direction direction, Populate populate);
/// Whether the regular file of a descriptor can be mapped, for writing too when `write`.
[[nodiscard]] bool is_mappable(int descriptor, bool write);

}  // namespace oratorio
