// SPDX-License-Identifier: BSD-3-Clause
// Memory that a node's ranks and its agents share. Ranks make their requests in it, and agents put
// the data of reads there, so that neither descriptions nor data are sent. The messages determine
// which side may use a request's bytes.
#pragma once

#include <atomic>
#include <cstdint>
#include <new>
#include <optional>
#include <span>

#include "base/extent.hpp"

namespace oratorio {

/// A view of memory owned elsewhere; empty by default.
class SharedBuffers {
  public:
    /// Returns the size for `ranks` ranks with `each` bytes per rank.
    [[nodiscard]] static Bytes bytes_needed(std::int64_t ranks, Bytes each) {
        return kHead + ranks * each;
    }
    SharedBuffers() = default;
    explicit SharedBuffers(std::span<std::byte> all) : all_(all) {}

    /// Returns the area of one rank.
    [[nodiscard]] std::span<std::byte> area(std::int64_t rank, Bytes each) const {
        return all_.subspan(static_cast<std::size_t>(kHead + rank * each),
                            static_cast<std::size_t>(each));
    }
    /// Returns the offset of `memory`, which is the same at any mapping address; nothing if
    /// `memory` isn't part of the shared memory.
    [[nodiscard]] std::optional<std::uint64_t> place_of(std::span<const std::byte> memory) const {
        const auto begin = reinterpret_cast<std::uintptr_t>(all_.data());
        const auto at = reinterpret_cast<std::uintptr_t>(memory.data());
        if (at < begin || at - begin > all_.size() || memory.size() > all_.size() - (at - begin))
            return std::nullopt;
        return at - begin;
    }
    [[nodiscard]] std::optional<std::span<std::byte>> at(std::uint64_t address,
                                                         std::uint64_t bytes) const {
        if (address < kHead || address > all_.size() || bytes > all_.size() - address)
            return std::nullopt;
        return all_.subspan(address, bytes);
    }
    /// Orders accesses to the memory with the message that announces them. Both sides call it:
    /// after their accesses and before the message is sent, and after the message is received.
    /// Memory order: both change one word with acquire and release, so the later of two fences sees
    /// all accesses before the earlier one.
    void fence() const {
        if (!all_.empty())
            std::launder(reinterpret_cast<std::atomic<std::uint64_t>*>(all_.data()))
                ->fetch_add(1, std::memory_order_acq_rel);
    }

  private:
    static constexpr Bytes kHead = 64;  ///< zero at first; holds the count of fences
    std::span<std::byte> all_;
};

}  // namespace oratorio
