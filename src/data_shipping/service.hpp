// SPDX-License-Identifier: BSD-3-Clause
// Service: performs requests to an agent, one at a time, on the agent's store. Keeps nothing
// afterwards: the file system has a write's data before its reply is made
// (docs/internals/decisions/data-shipping.md).
#pragma once

#include <vector>

#include "data_shipping/blocks.hpp"
#include "data_shipping/message.hpp"
#include "store/transfer.hpp"

namespace oratorio {

/// REQUIRES: one thread at a time uses a Service and its store.
class Service {
  public:
    /// `agent` is this agent's index among the agents that the file's blocks are assigned to.
    Service(Store& store, const Binding& binding, int agent)
        : store_(store), binding_(binding), agent_(agent) {}

    /// Performs a request. `data` has head.data bytes: what a write stores, or the room for what a
    /// read returns. An invalid request gets the error `internal` and touches nothing.
    [[nodiscard]] ReplyHead serve(const RequestHead& head, std::span<const std::byte> description,
                                  std::span<std::byte> data);

  private:
    class Job;

    Store& store_;
    Binding binding_;
    int agent_;
};

}  // namespace oratorio
