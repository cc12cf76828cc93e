// SPDX-License-Identifier: BSD-3-Clause
// Service: what an agent does with one request, on a store of its own. Holds nothing afterwards:
// what a write gave is with the file system before its reply is made (docs/decisions/0023).
#pragma once

#include <vector>

#include "agent/blocks.hpp"
#include "agent/message.hpp"
#include "store/transfer.hpp"

namespace oratorio {

/// Used by one thread at a time, and so is its store.
class Service {
  public:
    /// `agent` of those that the file's blocks are bound to.
    Service(Store& store, const Binding& binding, int agent)
        : store_(store), binding_(binding), agent_(agent) {}

    /// `data`: what a write gives, or where what is read goes; head.data bytes. A request that
    /// can't be right is `internal` and touches nothing.
    [[nodiscard]] ReplyHead serve(const RequestHead& head, std::span<const std::byte> description,
                                  std::span<std::byte> data);

  private:
    class Job;

    Store& store_;
    Binding binding_;
    int agent_;
};

}  // namespace oratorio
