// SPDX-License-Identifier: BSD-3-Clause
// Memory that the ranks of a node make their requests in and that its agents see, so that neither
// description nor data need be sent. Whose turn it is with a request's bytes the messages tell.
#pragma once

#include <atomic>
#include <cstdint>
#include <new>
#include <optional>
#include <span>

#include "base/extent.hpp"

namespace oratorio {

/// A view of memory that somebody else owns; empty by default.
class SharedBuffers {
  public:
    /// For so many ranks, `each` bytes for one.
    [[nodiscard]] static Bytes bytes_needed(std::int64_t ranks, Bytes each) {
        return kHead + ranks * each;
    }
    SharedBuffers() = default;
    explicit SharedBuffers(std::span<std::byte> all) : all_(all) {}

    /// Of one of the ranks.
    [[nodiscard]] std::span<std::byte> area(std::int64_t rank, Bytes each) const {
        return all_.subspan(static_cast<std::size_t>(kHead + rank * each),
                            static_cast<std::size_t>(each));
    }
    /// Where it lies, for who has the memory at another address. Nothing when it isn't in here.
    [[nodiscard]] std::optional<std::uint64_t> place_of(std::span<const std::byte> memory) const {
        const auto begin = reinterpret_cast<std::uintptr_t>(all_.data());
        const auto at = reinterpret_cast<std::uintptr_t>(memory.data());
        if (at < begin || at - begin > all_.size() || memory.size() > all_.size() - (at - begin))
            return std::nullopt;
        return at - begin;
    }
    [[nodiscard]] std::optional<std::span<std::byte>> at(std::uint64_t place,
                                                         std::uint64_t bytes) const {
        if (place < kHead || place > all_.size() || bytes > all_.size() - place)
            return std::nullopt;
        return all_.subspan(place, bytes);
    }
    /// Between one's own accesses and the message that tells of them, and the other way round.
    void fence() const {
        if (!all_.empty())
            std::launder(reinterpret_cast<std::atomic<std::uint64_t>*>(all_.data()))
                ->fetch_add(1, std::memory_order_acq_rel);
    }

  private:
    static constexpr Bytes kHead = 64;  ///< of zeros at first: a count of fences
    std::span<std::byte> all_;
};

}  // namespace oratorio
