// SPDX-License-Identifier: BSD-3-Clause
// GroupSource: the data of a group, for which the local aggregator sends and receives. In writes,
// the data is gathered from the ranks of the group during the exchange; in reads, it is distributed
// to them.
#pragma once

#include "exchange/data_port.hpp"

namespace oratorio {

class GroupSource : public DataPort {
  public:
    /// Makes progress without waiting. An error comes from the transport.
    virtual Result<Step> step() = 0;
    /// Returns true if no data is held and no answer is in flight.
    [[nodiscard]] virtual bool finished() const = 0;
    /// Returns true if some rank follows a different plan.
    [[nodiscard]] virtual bool differs() const = 0;
    /// Returns the error of the first message that couldn't be used. The exchange continues without
    /// its data.
    [[nodiscard]] virtual const Error& failed() const = 0;

  protected:
    /// Returns the buffer arguments of DataPort::copy as one value. `mask` may be null.
    [[nodiscard]] static RoundBuffer buffer_of(const Region& region, std::byte* buffer,
                                               std::byte* mask) {
        const auto bytes = static_cast<std::size_t>(region.count * region.length);
        return {{buffer, bytes}, mask == nullptr ? std::span<std::byte>() : std::span(mask, bytes)};
    }
};

}  // namespace oratorio
