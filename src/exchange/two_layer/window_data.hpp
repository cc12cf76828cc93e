// SPDX-License-Identifier: BSD-3-Clause
// WindowData: a group's data as its local aggregator sees it, in windows of node memory that each
// rank of the group fills or reads. In writes, it sends the bytes of a window that the write mask
// marks, directly from the window if they are contiguous. In reads, it requests the part of a
// window in the group's hull as one run, and receives that part in the window.
#pragma once

#include <array>

#include "exchange/two_layer/group_source.hpp"
#include "exchange/two_layer/windows.hpp"

namespace oratorio {

class WindowData final : public GroupSource {
  public:
    /// `own` and everything in `context` outlive the object.
    WindowData(const ExchangeContext& context, DataPort& own);

    Result<Step> step() override;
    [[nodiscard]] bool finished() const override;
    [[nodiscard]] bool differs() const override { return false; }
    [[nodiscard]] const Error& failed() const override { return failed_; }

    bool ready(const Region& region) override;
    std::size_t next(const Region& region, std::span<std::byte> table_and_payload,
                     Chunk& chunk) override;
    /// Never called: a plan with windows doesn't ask for contents.
    std::optional<RoundContents> contents(const Region&) override { return RoundContents{}; }
    void pack(const Chunk& chunk, std::span<std::byte> payload) override;
    Bytes unpack(const Chunk& chunk, std::span<const std::byte> payload) override;
    void sent(const Chunk& chunk) override;
    Copied copy(const Region& region, std::byte* buffer, std::byte* mask,
                Offset valid_until) override;

  private:
    /// The state of a window. In writes, ranks fill the window (filling), then it is sent
    /// (leaving). In reads, the aggregator's reply arrives in the window (coming), then ranks read
    /// from it (emptying).
    enum class State { free, filling, leaving, coming, emptying };
    struct Place {
        State state = State::free;
        std::int64_t number = 0;
        Region window;
        Extent extent;  ///< the part of the window in the group's hull
    };
    [[nodiscard]] bool reading() const { return plan_.direction == Direction::read; }
    [[nodiscard]] Place& place(std::int64_t number) {
        return windows_[static_cast<std::size_t>(number % Layers::windows_max)];
    }
    [[nodiscard]] bool is_in(const Region& region) const {
        return !at_.at_end() && at_.region().begin == region.begin;
    }
    Place& take(const Windows& at, State state);
    void show(const Place& window, Offset valid_until);
    bool fill();
    bool release_emptied();
    [[nodiscard]] bool filled();
    [[nodiscard]] std::span<std::byte> bytes_of(const Place& window, Extent extent) const;
    [[nodiscard]] Extent next_written(const Place& window, Offset from) const;
    void take_written(Place& window, std::span<std::byte> table_and_payload,
                      class RunJoiner& joiner, Chunk& chunk);
    Bytes copy_written(Place& window, const Region& region, const RoundBuffer& buffer);
    Bytes copy_read(const Region& region, const RoundBuffer& buffer, Offset valid_until);

    const ExchangeContext context_;
    const Plan& plan_;
    DataPort& own_;
    std::vector<Extent> others_;  ///< hulls of the group's other ranks
    WindowPlaces places_;
    Windows filling_;  ///< writes: the next window to fill
    Windows at_;       ///< the next window to take
    std::array<Place, Layers::windows_max> windows_;
    bool begun_ = false;  ///< writes: part of window at_ was taken
    Offset from_ = 0;     ///< writes: where the rest of window at_ begins
    Extent packed_;       ///< the part of the window that the chunk contains
    Error failed_;
};

}  // namespace oratorio
