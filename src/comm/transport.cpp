// SPDX-License-Identifier: BSD-3-Clause
// The blocking forms of the transport's operations, and the defaults of a transport without shared
// counter or node services.
#include "comm/transport.hpp"

#include "comm/node_services.hpp"

namespace oratorio {
namespace {

/// The counter of a transport that has no shared counter; all its calls fail.
class NoCounter final : public SharedCounter {
  public:
    Result<std::int64_t> fetch_add(std::int64_t) override { return no_number(); }
    Result<void> set(std::int64_t) override { return no_number(); }

  private:
    static Error no_number() {
        return Error::make(ErrorKind::internal, "these ranks have no shared counter");
    }
};

Result<void> finish(Transport& transport, const Result<Ticket>& started) {
    if (!started) return started.error();
    auto completion = wait(transport, *started);
    if (!completion) return completion.error();
    return {};
}

}  // namespace

SharedCounter& Transport::counter() {
    static NoCounter none;
    return none;
}

std::span<std::byte> list_of_node(Transport& transport, std::size_t bytes) {
    const NodeServices* const node = transport.node_services();
    return node != nullptr ? node->list(bytes) : std::span<std::byte>();
}

Result<Completion> wait(Transport& transport, Ticket ticket) {
    for (;;) {
        auto completion = transport.test(ticket);
        if (!completion || completion->done) return completion;
        transport.idle();
    }
}

Result<void> reduce(Transport& transport, std::span<std::uint64_t> values, ReduceOp op) {
    return finish(transport, transport.reduce(values, op));
}

Result<void> broadcast(Transport& transport, Rank root, std::span<std::byte> data) {
    return finish(transport, transport.broadcast(root, data));
}

Result<void> gather(Transport& transport, std::span<const std::byte> mine,
                    std::span<std::byte> all) {
    return finish(transport, transport.gather(mine, all));
}

}  // namespace oratorio
