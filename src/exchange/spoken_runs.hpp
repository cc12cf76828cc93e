// SPDX-License-Identifier: BSD-3-Clause
// SpokenRuns: runs of others that a local aggregator speaks for. They have to be gathered, and in
// reads dealt, while the exchange goes on.
#pragma once

#include "exchange/runs.hpp"

namespace oratorio {

class SpokenRuns : public Runs {
  public:
    /// Moves on without waiting; an error is the transport's.
    virtual Result<bool> step() = 0;
    /// All has been dealt.
    [[nodiscard]] virtual bool finished() const = 0;
    /// Some rank was seen to work by another plan.
    [[nodiscard]] virtual bool differs() const = 0;
    /// A message that couldn't be used. All else goes on.
    [[nodiscard]] virtual const Error& failed() const = 0;

  protected:
    /// What Runs::copy is given, as one value. `given` may be null.
    [[nodiscard]] static RoundBuffer buffer_of(const Region& region, std::byte* buffer,
                                               std::byte* given) {
        const auto bytes = static_cast<std::size_t>(region.count * region.length);
        return {{buffer, bytes},
                given == nullptr ? std::span<std::byte>() : std::span(given, bytes)};
    }
};

}  // namespace oratorio
