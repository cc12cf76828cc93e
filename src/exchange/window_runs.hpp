// SPDX-License-Identifier: BSD-3-Clause
// WindowRuns: the data of a group as its local aggregator has it in windows of the node's memory,
// where each rank of the group puts or finds its own. Writes: what was given of a window is sent,
// straight from there where it is one run. Reads: what of a window is within the group's hull is
// asked for as one run, and comes there.
#pragma once

#include <array>

#include "exchange/spoken_runs.hpp"
#include "exchange/windows.hpp"

namespace oratorio {

class WindowRuns final : public SpokenRuns {
  public:
    /// `own` and all in `context` outlive it.
    WindowRuns(const ExchangeContext& context, Runs& own);

    Result<bool> step() override;
    [[nodiscard]] bool finished() const override;
    [[nodiscard]] bool differs() const override { return false; }
    [[nodiscard]] const Error& failed() const override { return failed_; }

    bool ready(const Region& region) override;
    std::size_t next(const Region& region, std::span<std::byte> table_and_payload,
                     Chunk& chunk) override;
    /// Nobody asks: groups whose contents would have to be asked for send messages.
    std::optional<RoundContents> contents(const Region&) override { return RoundContents{}; }
    void pack(const Chunk& chunk, std::span<std::byte> payload) override;
    Bytes unpack(const Chunk& chunk, std::span<const std::byte> payload) override;
    void sent(const Chunk& chunk) override;
    Copied copy(const Region& region, std::byte* buffer, std::byte* given,
                Offset valid_until) override;

  private:
    /// Of a window: the ranks give to it, or it is being sent from, or filled by the aggregator, or
    /// the ranks take from it.
    enum class State { free, filling, leaving, coming, emptying };
    struct Place {
        State state = State::free;
        std::int64_t number = 0;
        Region window;
        Extent extent;  ///< what of it is within the group's hull
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
    [[nodiscard]] Extent next_given(const Place& window, Offset from) const;
    void take_written(Place& window, std::span<std::byte> table_and_payload,
                      class RunJoiner& joiner, Chunk& chunk);
    Bytes copy_written(Place& window, const Region& region, const RoundBuffer& buffer);
    Bytes copy_read(const Region& region, const RoundBuffer& buffer, Offset valid_until);

    const ExchangeContext context_;
    const Plan& plan_;
    Runs& own_;
    std::vector<Extent> others_;  ///< hulls of the group's other ranks
    WindowPlaces places_;
    Windows filling_;  ///< writes: the next to be filled
    Windows at_;       ///< the next to be taken
    std::array<Place, Layers::windows_max> windows_;
    bool begun_ = false;  ///< writes: something of the window at_ was taken
    Offset from_ = 0;     ///< and what begins here wasn't
    Extent packed_;       ///< what the chunk has of its window
    Error failed_;
};

}  // namespace oratorio
